/*
    record_parts.c - the traces that the processes of a program left
*/
#include "tools/record/record.h"
#include <dirent.h>
#include <time.h>
#include <unistd.h>

// Reads what the summary needs; opening saves what a dead process left.
static bool look_at(const record_job *job, record_part *part, const char *name)
{
    cli_trace trace;
    if (!cli_trace_open(&trace, job->tool, part->path, NULL, CLI_WARN_NONE))
        return false;
    part->start_ns = trace.info->start_realtime_ns;
    part->live = trace.info->live;
    part->events = trace.info->lost + trace.info->unknown_events +
                   cli_event_count(trace.info);
    // "123.sbt", and "123-1.sbt" after an exec.
    part->launches = record_launches_of(trace.reader);
    part->kept = record_kept_of(trace.reader);
    part->process = strtol(name, NULL, 10);
    part->main = part->process == (long)job->pid;
    cli_trace_close(&trace);
    return true;
}

// The program itself first, then by the time at which they began.
static int in_order(const void *a, const void *b)
{
    const record_part *const x = a, *const y = b;
    if (x->main != y->main) return x->main ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return strcmp(x->path, y->path);
}

static bool add(record_job *job, const char *name, const char *prefix)
{
    record_part part = { .events = 0 };
    record_part *const more =
        realloc(job->parts, (job->part_count + 1) * sizeof *more);
    if (!more) return false;
    job->parts = more;
    const int size =
        snprintf(part.path, sizeof part.path, "%s/%s", job->folder, name);
    if (size < (int)sizeof part.path &&
        look_at(job, &part, name + strlen(prefix)))
        job->parts[job->part_count++] = part;
    return true;
}

// The program's own process stays if no other that has ended said anything.
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
            unlink(part->path);
            job->silent++;
        }
    }
    job->part_count = kept;
}

// "123.sbt", "snapshot-1-123.sbt".
static bool is_trace(const char *name, const char *prefix)
{
    const size_t size = strlen(name), first = strlen(prefix);
    return size > first + 4 && !strncmp(name, prefix, first) &&
           name[first] >= '0' && name[first] <= '9' &&
           !strcmp(name + size - 4, ".sbt");
}

bool record_parts_find(record_job *job, const char *prefix)
{
    DIR *const folder = opendir(job->folder);
    if (!folder) {
        cli_error(job->tool, job->folder, "%s", strerror(errno));
        return false;
    }
    const struct dirent *entry;
    bool done = true;
    while (done && (entry = readdir(folder)) != NULL)
        if (is_trace(entry->d_name, prefix))
            done = add(job, entry->d_name, prefix);
    closedir(folder);
    if (!done) cli_error(job->tool, NULL, "out of memory");
    if (job->part_count)
        qsort(job->parts, job->part_count, sizeof *job->parts, in_order);
    drop_silent(job);
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
        if (!job->parts[i].live) unlink(job->parts[i].path);
    if (!job->awaited) rmdir(job->folder);
}

// Whether a process was started with our variables, as the system shows it.
static bool is_ours(const record_job *job, const char *process)
{
    char path[300], want[RECORD_PATH + 32], *value = NULL;
    size_t room = 0;
    snprintf(path, sizeof path, "/proc/%s/environ", process);
    snprintf(want, sizeof want, "TRACESMITH_LOG=%s/log", job->folder);
    FILE *const file = fopen(path, "r");
    bool ours = false;
    while (file && !ours && getdelim(&value, &room, 0, file) > 0)
        ours = !strcmp(value, want);
    if (file) fclose(file);
    free(value);
    return ours;
}

static bool one_is_ours(const record_job *job)
{
    DIR *const folder = opendir("/proc");
    const struct dirent *entry;
    bool ours = false;
    while (folder && !ours && (entry = readdir(folder)) != NULL)
        ours = *entry->d_name >= '1' && *entry->d_name <= '9' &&
               is_ours(job, entry->d_name);
    if (folder) closedir(folder);
    return ours;
}

// Those that are about to end are given a moment.
void record_parts_await(record_job *job)
{
    const struct timespec wait = { 0, 20000000 };
    for (int i = 0; i < 5; i++) {
        job->awaited = one_is_ours(job);
        if (!job->awaited) return;
        nanosleep(&wait, NULL);
    }
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
