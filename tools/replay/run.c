/*
    run.c - opening the traces and running the replay
*/
#include "tools/replay/replay.h"

bool replay_check_output(const replay_job *job, const char *path)
{
    for (uint32_t i = 0; i < job->file_count; i++) {
        const char *const input = job->files[i].path;
        if (!cli_output_check(job->tool, path, &input, 1)) return false;
    }
    return true;
}

bool replay_files_open(replay_job *job, char **paths, uint32_t count)
{
    job->path = paths[0];
    if (!cli_inputs_check(job->tool, (const char *const *)paths, count))
        return false;
    job->files = calloc(count, sizeof *job->files);
    if (!job->files) return cli_out_of_memory(job->tool);
    for (; job->file_count < count; job->file_count++) {
        replay_file *const file = &job->files[job->file_count];
        file->path = paths[job->file_count];
        if (!cli_trace_open(&file->trace, job->tool, file->path, NULL,
                            CLI_WARN_ALL))
            return false;
    }
    replay_name_files(job);
    return cli_traces_distinct(job->tool, &job->files->trace, count,
                               sizeof *job->files);
}

bool replay_what_ifs(replay_job *job, const cli_list *texts)
{
    job->what_ifs = calloc(texts->count + 1, sizeof *job->what_ifs);
    if (!job->what_ifs) return cli_out_of_memory(job->tool);
    for (; job->what_if_count < texts->count; job->what_if_count++)
        if (!whatif_read(job->tool, texts->items[job->what_if_count],
                         &job->what_ifs[job->what_if_count]))
            return false;
    return true;
}

void replay_files_close(replay_job *job)
{
    for (size_t i = 0; i < job->what_if_count; i++)
        whatif_close(&job->what_ifs[i]);
    free(job->what_ifs);
    whatif_report_close(&job->report);
    for (uint32_t i = 0; i < job->file_count; i++)
        cli_trace_close(&job->files[i].trace);
    free(job->files);
    free(job->loops.ns);
    free(job->spans_ns);
}

// Opens the replay of all files; reports damage.
ts_result replay_open(replay_job *job, ts_replay_desc desc)
{
    const uint32_t count = job->file_count;
    ts_reader **const readers = calloc(count, sizeof *readers);
    size_t *const damaged = calloc(count, sizeof *damaged);
    ts_result result = TS_ERR_MEMORY;
    if (readers && damaged) {
        for (uint32_t i = 0; i < count; i++) {
            readers[i] = replay_reader(job, i);
            damaged[i] = ts_reader_damage_count(readers[i]);
        }
        desc.more = readers + 1;
        desc.more_count = count - 1;
        result = ts_replay_open(&job->replay, readers[0], &desc);
        for (uint32_t i = 0; i < count; i++)
            cli_trace_damage(&job->files[i].trace, job->tool,
                             job->files[i].path, damaged[i]);
    }
    free(readers);
    free(damaged);
    return result;
}

/* ---- Runs ---------------------------------------------------------------- */

static int by_size(const void *left, const void *right)
{
    const uint64_t *const a = left, *const b = right;
    return (*a > *b) - (*a < *b);
}

// Afterwards the replay has the schedule of all what-ifs combined.
static ts_result run_once(replay_job *job)
{
    if (job->mode == TS_REPLAY_EXACT) return ts_replay_run(job->replay, NULL);
    whatif_report_close(&job->report);
    return whatif_run(job->replay, job->what_ifs, job->what_if_count,
                      &job->report);
}

// Runs once, or as often as --loops says; all runs must have the same digest.
ts_result replay_run(replay_job *job, uint64_t loops)
{
    if (!loops) return run_once(job);
    replay_loops *const l = &job->loops;
    uint64_t digest = 0;
    l->ns = calloc(loops, sizeof *l->ns);
    if (!l->ns) return TS_ERR_MEMORY;
    for (l->same = true; l->count < loops; l->count++) {
        const uint64_t from = cli_now_ns();
        const ts_result result = run_once(job);
        if (result != TS_OK) return result;
        l->ns[l->count] = cli_now_ns() - from;
        const uint64_t got = ts_replay_result(job->replay)->digest;
        if (l->count && got != digest) l->same = false;
        digest = got;
    }
    qsort(l->ns, loops, sizeof *l->ns, by_size);
    return TS_OK;
}
