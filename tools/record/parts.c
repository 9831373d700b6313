/*
    parts.c - the traces that the processes of a program left
*/
#include "tools/record/record.h"
#include <dirent.h>
#include <time.h>
#include <unistd.h>

// The backends that may be both in the program and in the injected library.
static uint32_t backends_of(const ts_reader *reader)
{
    static const char *const names[] = { "backend.cupti", "backend.mcpti",
                                         "backend.hip", "backend.opencl" };
    const ts_info *const info = ts_reader_info(reader);
    ts_metadata m;
    uint64_t event_count = info->counts[TS_EVENT_API_CALL];
    uint32_t bits = 0;
    for (uint32_t i = TS_EVENT_GPU_FIRST; i < TS_EVENT_LIMIT; i++)
        event_count += info->counts[i];
    for (uint32_t i = 0; event_count && i < sizeof names / sizeof *names; i++)
        if (ts_reader_metadata(reader, 0, names[i], &m) &&
            m.type == TS_VALUE_TEXT && m.text.size == 2 &&
            !memcmp(m.text.text, "on", 2))
            bits |= 1u << i;
    return bits;
}

// Reads the figures for the summary. Opening salvages the trace of a dead
// process.
static bool look_at(const record_job *job, record_part *part)
{
    cli_trace trace;
    if (!cli_trace_open(&trace, job->tool, part->path, NULL, CLI_WARN_NONE))
        return false;
    part->start_ns = trace.info->start_realtime_ns;
    part->end_ns = part->start_ns + (uint64_t)trace.info->last_ns;
    part->live = trace.info->live;
    part->events = trace.info->lost + trace.info->unknown_events +
                   cli_event_count(trace.info);
    part->launches = record_launches_of(trace.reader);
    part->kept = record_kept_of(trace.reader);
    part->backends = backends_of(trace.reader);
    part->process = (long)trace.info->process;
    part->main = part->process == (long)job->pid;
    cli_trace_close(&trace);
    return true;
}

// Order for qsort: first parts of the injected library, then the program's own
// traces; in each the main process first, then by time of start.
static int in_order(const void *a, const void *b)
{
    const record_part *const x = a, *const y = b;
    if (x->own != y->own) return x->own ? 1 : -1;
    if (x->main != y->main) return x->main ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return strcmp(x->path, y->path);
}

// Removes a part from the folder; the program's own trace is not touched.
static void forget(const record_job *job, const record_part *part)
{
    char link[RECORD_PATH + sizeof part->link];
    snprintf(link, sizeof link, "%s/%s", job->folder, part->link);
    unlink(part->own ? link : part->path);
}

// Finds the path of a trace in the folder. False if there is none.
static bool find_path(record_job *job, const char *name, record_part *part)
{
    part->own = record_own_is(name);
    part->foreign = !part->own && record_spool_foreign(name);
    if (!part->own)
        return snprintf(part->path, sizeof part->path, "%s/%s", job->folder,
                        name) < (int)sizeof part->path;
    if (record_own_find(job, name, part)) return true;
    forget(job, part);
    job->gone++;
    return false;
}

static bool add(record_job *job, const char *name)
{
    record_part part = { .events = 0 };
    record_part *const more =
        realloc(job->parts, (job->part_count + 1) * sizeof *more);
    if (!more) return false;
    job->parts = more;
    if (find_path(job, name, &part) && look_at(job, &part))
        job->parts[job->part_count++] = part;
    return true;
}

// Drops parts without events. That of the main process is kept if no other
// ended process has events.
static void drop_silent(record_job *job)
{
    size_t kept = 0;
    bool some = false;
    for (size_t i = 0; i < job->part_count; i++)
        some = some || (job->parts[i].events && !job->parts[i].live);
    for (size_t i = 0; i < job->part_count; i++) {
        const record_part *const part = &job->parts[i];
        if (part->events || part->live || (!some && part->main)) {
            job->parts[kept++] = *part;
        } else {
            forget(job, part);
            job->silent++;
        }
    }
    job->part_count = kept;
}

// "123.sbt", and "123-1.sbt" after an exec; "snapshot-1-123.sbt". The
// program's own flight recorder gets no request for a dump.
static bool is_trace(const char *name, const char *prefix)
{
    const size_t size = strlen(name), first = strlen(prefix);
    if (!first && record_own_is(name)) return true;
    return size > first + 4 && !strncmp(name, prefix, first) &&
           name[first] >= '0' && name[first] <= '9' &&
           !strcmp(name + size - 4, ".sbt");
}

bool record_parts_find(record_job *job, const char *prefix)
{
    if (!*prefix) record_spool_bring(job);
    if (!*prefix) record_own_bring(job);
    DIR *const folder = opendir(job->folder);
    if (!folder) {
        cli_error(job->tool, job->folder, "%s", strerror(errno));
        return false;
    }
    const struct dirent *entry;
    bool done = true;
    while (done && (entry = readdir(folder)) != NULL)
        if (is_trace(entry->d_name, prefix)) done = add(job, entry->d_name);
    closedir(folder);
    if (!done) cli_error(job->tool, NULL, "out of memory");
    if (job->part_count)
        qsort(job->parts, job->part_count, sizeof *job->parts, in_order);
    drop_silent(job);
    record_own_compare(job);
    return done;
}

bool record_parts_ended(const record_job *job)
{
    for (size_t i = 0; i < job->part_count; i++)
        if (!job->parts[i].live) return true;
    return false;
}

void record_parts_remove(const record_job *job)
{
    for (size_t i = 0; i < job->part_count; i++)
        if (!job->parts[i].live) forget(job, &job->parts[i]);
    record_spool_remove(job);
    record_own_remove(job);
    if (!job->awaited) rmdir(job->folder);
}

size_t record_process_count(const record_job *job)
{
    size_t count = 0;
    for (size_t i = 0; i < job->part_count; i++) {
        bool seen = job->parts[i].live;
        for (size_t k = 0; k < i && !seen; k++)
            seen = job->parts[k].process == job->parts[i].process;
        count += !seen;
    }
    return count;
}

void record_parts_close(record_job *job)
{
    free(job->parts);
    job->parts = NULL;
    job->part_count = 0;
}
