/*
    record_trace.c - one trace of those that the processes left
*/
#include "tools/cut/cut.h"
#include "tools/merge/merge.h"
#include "tools/record/record.h"
#include <unistd.h>

static bool move(const record_job *job, const char *from, const char *to)
{
    if (rename(from, to) == 0) return true;
    cli_error(job->tool, to, "%s", strerror(errno));
    return false;
}

static bool join(const record_job *job, char **paths, size_t count,
                 const char *out)
{
    if (count == 1) return move(job, paths[0], out);
    merge_job merge = { .tool = job->tool, .out = out, .warn = CLI_WARN_NONE };
    const bool done = merge_open(&merge, paths, (uint32_t)count) &&
                      merge_place(&merge) && merge_write(&merge);
    merge_close(&merge);
    return done;
}

// The last moments of what rings hold, which are as old as there was room.
static bool cut_last(const record_job *job, const char *whole, const char *out)
{
    cli_trace trace;
    char what[64];
    if (!cli_trace_open(&trace, job->tool, whole, NULL, CLI_WARN_NONE))
        return false;
    const int64_t from_ns = trace.info->last_ns - job->wish.flight_ns;
    snprintf(what, sizeof what, "(the last %s)",
             cli_time(job->wish.flight_ns).s);
    cut_job cut = { .tool = job->tool,
                    .path = whole,
                    .out = out,
                    .trace = &trace,
                    .wish = { .timed = true,
                              .from_ns = from_ns,
                              .to_ns = INT64_MAX,
                              .what = what } };
    const bool done = from_ns <= trace.info->first_ns ? move(job, whole, out)
                                                      : cut_write(&cut);
    cli_trace_close(&trace);
    return done;
}

bool record_put_together(const record_job *job, const char *out)
{
    char whole[RECORD_PATH + 16];
    size_t count = 0;
    char **const paths = calloc(job->part_count + 1, sizeof *paths);
    for (size_t i = 0; paths && i < job->part_count; i++)
        if (!job->parts[i].live) paths[count++] = job->parts[i].path;
    snprintf(whole, sizeof whole, "%s/whole", job->folder);
    const bool flight = job->wish.flight_ns != 0;
    bool done = count && join(job, paths, count, flight ? whole : out);
    if (done && flight) {
        done = cut_last(job, whole, out);
        if (!done && count == 1)
            move(job, whole, paths[0]); // it is all there is
        else
            unlink(whole);
    }
    free(paths);
    return done;
}

bool record_cut_parts(const record_job *job)
{
    char whole[RECORD_PATH + 16];
    bool done = true;
    snprintf(whole, sizeof whole, "%s/whole", job->folder);
    for (size_t i = 0; i < job->part_count && done; i++) {
        const record_part *const part = &job->parts[i];
        if (part->live) continue;
        if (!move(job, part->path, whole)) return false;
        done = cut_last(job, whole, part->path);
        if (done)
            unlink(whole);
        else
            move(job, whole, part->path); // it is all there is
    }
    return done;
}

// "run.sbt" gives "run.1.sbt".
static void numbered(const record_job *job, char *path, size_t room)
{
    const size_t size = strlen(job->out);
    const bool sbt = size > 4 && !strcmp(job->out + size - 4, ".sbt");
    snprintf(path, room, "%.*s.%" PRIu32 "%s", (int)(size - (sbt ? 4 : 0)),
             job->out, job->snapshots, sbt ? ".sbt" : "");
}

// The next one that is not there: those of an earlier run stay.
static void next_path(record_job *job, char *path, size_t room)
{
    do {
        job->snapshots++;
        numbered(job, path, room);
    } while (access(path, F_OK) == 0 && job->snapshots < UINT32_MAX);
}

void record_snapshot(record_job *job)
{
    static const char prefix[] = "snapshot-";
    record_job shot = *job;
    char path[RECORD_PATH + 16];
    shot.parts = NULL;
    shot.part_count = 0;
    const bool all = record_snapshot_ask(job);
    if (!record_parts_find(&shot, prefix)) {
        record_parts_close(&shot);
        return;
    }
    next_path(job, path, sizeof path);
    const bool done = shot.part_count && record_put_together(&shot, path);
    if (!job->quiet)
        fprintf(stderr, "%s: %s%s%s\n", job->tool->name,
                done ? "what the rings held is in "
                     : "nothing to write, or no process answered",
                done ? path : "",
                done && !all ? "; a process did not answer in time" : "");
    for (size_t i = 0; i < shot.part_count; i++)
        unlink(shot.parts[i].path);
    record_parts_close(&shot);
}
