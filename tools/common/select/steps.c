/*
    steps.c - steps by ts-analyze's numbers, marked or detected
*/
#include "tools/common/select/resolve.h"
#include "tools/analyze/figures/time/steps.h"

// Detects the loop of the whole trace as ts-analyze does. False without memory.
static bool find_loop(steps_result *r, ts_reader *reader)
{
    const ts_replay_desc exact = { 0 };
    const ts_timeline_desc all = { 0 };
    ts_replay *replay = NULL;
    ts_timeline *timeline = NULL;
    names_index names = { 0 };
    memset(r, 0, sizeof *r);
    ts_result result = ts_replay_open(&replay, reader, &exact);
    if (result == TS_OK) result = ts_replay_run(replay, NULL);
    if (result == TS_OK) result = ts_timeline_open(&timeline, replay, &all);
    if (result == TS_OK && (!names_open(&names, replay) ||
                            !steps_open(r, replay, timeline, &names)))
        result = TS_ERR_MEMORY;
    names_close(&names);
    ts_timeline_close(timeline);
    ts_replay_close(replay);
    return result != TS_ERR_MEMORY;
}

static bool take_found(cut_job *job, const steps_result *r, const char *text)
{
    cut_options *const w = &job->options;
    uint64_t first, last;
    const bool range = cut_range(text, &first, &last);
    if (last == UINT64_MAX) last = r->count - 1;
    if (!range || first >= r->count || last >= r->count) {
        cli_fail(job->tool, TS_ERR_NOT_FOUND, job->path,
                 "--step %s: no steps are marked; ts-analyze detects steps 0 "
                 "to %zu",
                 text, r->count - 1);
        return false;
    }
    const int64_t from_ns = r->steps[first].start_ns;
    const int64_t to_ns = r->steps[last].end_ns;
    if (!w->timed || from_ns > w->from_ns) w->from_ns = from_ns;
    if (!w->timed || to_ns < w->to_ns) w->to_ns = to_ns;
    w->timed = w->begun = true;
    return true;
}

bool select_steps(cut_job *job, const char *text)
{
    steps_result r;
    // Prefers markers, which need little memory; detecting a loop needs the
    // whole graph.
    if (cut_step_count(job) >= STEPS_LEAST) return cut_steps(job, text);
    bool ok = find_loop(&r, job->trace->reader);
    if (!ok)
        cli_out_of_memory(job->tool);
    else if (r.count && !r.marked)
        ok = take_found(job, &r, text);
    else
        ok = cut_steps(job, text);
    steps_close(&r);
    return ok;
}
