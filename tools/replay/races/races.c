/*
    races.c - ts-replay --races and --explore
*/
#include "tools/replay/races/races.h"

static bool progress(void *user, uint64_t done)
{
    const races_job *const job = ((void **)user)[0];
    cli_progress_show(((void **)user)[1], done, job->options.orders);
    return true;
}

static ts_result explore(races_job *job)
{
    cli_progress shown = { .what = "exploring" };
    void *user[] = { job, &shown };
    const ts_explore_desc desc = { .orders = job->options.orders,
                                   .seed = job->options.seed,
                                   .progress = progress,
                                   .user = user };
    const ts_result result =
        ts_races_explore(job->races, &desc, &job->exploration);
    cli_progress_end(&shown);
    if (result == TS_OK) races_vdev(job);
    return result;
}

static int print_failure(const replay_job *job, ts_result result)
{
    cli_error(job->tool, job->path, "%s", ts_result_text(result));
    return result == TS_ERR_UNSUPPORTED ? REPLAY_UNSUPPORTED : REPLAY_BAD;
}

// Without operations the result is a failure, not "no races".
static int print_nothing(const replay_job *job, const ts_races_stats *s)
{
    cli_error(job->tool, job->path,
              "races cannot be found: for none of the %s operations does the "
              "trace record which memory it accesses (imported traces seldom "
              "do)",
              cli_count(s->operations).s);
    return REPLAY_UNSUPPORTED;
}

static int look(races_job *job)
{
    const ts_races_stats *const s = ts_races_result(job->races);
    if (!s->known) return print_nothing(job->replay, s);
    const ts_result result = job->options.explore ? explore(job) : TS_OK;
    if (result != TS_OK) return print_failure(job->replay, result);
    job->options.json ? races_json(job) : races_text(job);
    const ts_exploration *const e = &job->exploration;
    if (job->vdev_orders && job->vdev_differs != e->differs)
        cli_error(job->replay->tool, job->replay->path,
                  "the virtual device and the symbolic memory disagree");
    const bool raced = job->options.races && s->instances;
    return raced || e->differs || job->vdev_differs ? REPLAY_DIVERGED
                                                    : REPLAY_SAME;
}

int races_run(const replay_job *job, const races_options *options)
{
    races_job own = { .replay = job, .options = *options };
    const ts_result result = ts_races_open(&own.races, job->replay);
    const int code = result == TS_OK ? look(&own) : print_failure(job, result);
    ts_races_close(own.races);
    return code;
}
