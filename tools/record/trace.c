/*
    trace.c - merges the parts into one trace
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

// Parts of one process share its tracks.
static void pair(const record_job *job, merge_job *merge, const size_t *parts,
                 size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t partner = record_own_partner(job, parts[i]);
        size_t k = 0;
        while (k < i && parts[k] != partner)
            k++;
        if (k < i) merge->files[i].joins = (uint32_t)k + 1;
    }
}

static bool join(const record_job *job, const size_t *parts, size_t count,
                 const char *out)
{
    merge_job merge = { .tool = job->tool, .out = out, .warn = CLI_WARN_NONE };
    const record_part *const first = &job->parts[parts[0]];
    if (count == 1 && !first->own) return move(job, first->path, out);
    char **const paths = calloc(count, sizeof *paths);
    for (size_t i = 0; paths && i < count; i++)
        paths[i] = job->parts[parts[i]].path;
    bool done = paths && merge_open(&merge, paths, (uint32_t)count);
    if (done) pair(job, &merge, parts, count);
    done = done && merge_place(&merge) && merge_write(&merge);
    if (paths) merge_close(&merge);
    free(paths);
    return done;
}

// Cuts a dump to the last flight_ns: rings may hold older records.
static bool cut_last(const record_job *job, const char *whole, const char *out)
{
    cli_trace trace;
    char what[64];
    if (!cli_trace_open(&trace, job->tool, whole, NULL, CLI_WARN_NONE))
        return false;
    const int64_t from_ns = trace.info->last_ns - job->options.flight_ns;
    snprintf(what, sizeof what, "(the last %s)",
             cli_time(job->options.flight_ns).s);
    cut_job cut = { .tool = job->tool,
                    .path = whole,
                    .out = out,
                    .trace = &trace,
                    .options = { .timed = true,
                                 .from_ns = from_ns,
                                 .to_ns = INT64_MAX,
                                 .what = what } };
    const bool done = from_ns <= trace.info->first_ns ? move(job, whole, out)
                                                      : cut_write(&cut);
    cli_trace_close(&trace);
    return done;
}

// Chooses the parts to merge. *there: one of them is at the path of the trace.
static size_t choose(const record_job *job, size_t *parts, const char *out,
                     bool *there)
{
    size_t count = 0;
    *there = false;
    for (size_t i = 0; i < job->part_count; i++) {
        const record_part *const part = &job->parts[i];
        if (part->live || part->left) continue;
        *there |= cli_same_file(part->path, out);
        parts[count++] = i;
    }
    return count;
}

bool record_assemble(const record_job *job, const char *out)
{
    char whole[RECORD_PATH + 16];
    bool there;
    size_t *const parts = calloc(job->part_count + 1, sizeof *parts);
    const size_t count = parts ? choose(job, parts, out, &there) : 0;
    snprintf(whole, sizeof whole, "%s/whole", job->folder);
    const bool flight = job->options.flight_ns != 0;
    bool done = count != 0;
    // The program's own trace may have the name of the merged one.
    if (count && (count > 1 || !there || flight)) {
        const bool aside = flight || there;
        done = join(job, parts, count, aside ? whole : out);
        if (done && aside)
            done = flight ? cut_last(job, whole, out) : move(job, whole, out);
        if (!done && flight && count == 1 && !job->parts[parts[0]].own)
            move(job, whole, job->parts[parts[0]].path); // keep the only trace
        else if (aside)
            unlink(whole);
    }
    free(parts);
    return done;
}

bool record_cut_parts(const record_job *job)
{
    char whole[RECORD_PATH + 16];
    bool done = true;
    snprintf(whole, sizeof whole, "%s/whole", job->folder);
    for (size_t i = 0; i < job->part_count && done; i++) {
        const record_part *const part = &job->parts[i];
        if (part->live || part->own) continue;
        if (!move(job, part->path, whole)) return false;
        done = cut_last(job, whole, part->path);
        if (done)
            unlink(whole);
        else
            move(job, whole, part->path); // keep the only trace
    }
    return done;
}

// Makes a numbered name: "run.sbt" gives "run.1.sbt".
static void numbered(const record_job *job, char *path, size_t room)
{
    const size_t size = strlen(job->out);
    const bool sbt = size > 4 && !strcmp(job->out + size - 4, ".sbt");
    snprintf(path, room, "%.*s.%" PRIu32 "%s", (int)(size - (sbt ? 4 : 0)),
             job->out, job->snapshots, sbt ? ".sbt" : "");
}

// Makes the next free name, so that dumps of earlier runs are kept.
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
    const bool all = record_dump_request(job);
    if (!record_parts_find(&shot, prefix)) {
        record_parts_close(&shot);
        return;
    }
    next_path(job, path, sizeof path);
    const bool done = shot.part_count && record_assemble(&shot, path);
    if (!job->quiet)
        fprintf(stderr, "%s: %s%s%s\n", job->tool->name,
                done ? "dump written to "
                     : "no dump written: there were no events, or no process "
                       "answered",
                done ? path : "",
                done && !all ? "; a process did not answer in time" : "");
    for (size_t i = 0; i < shot.part_count; i++)
        unlink(shot.parts[i].path);
    record_parts_close(&shot);
}
