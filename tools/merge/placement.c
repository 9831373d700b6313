/*
    placement.c - finds the offset of each file on the first one's time axis
*/
#include "tools/merge/merge.h"
#include "tools/cli/context.h"
#include <sys/resource.h>

const char *merge_how_name(merge_how how)
{
    static const char *const names[] = {
        "first", "given", "clock", "collectives", "time_of_day", "nothing"
    };
    return names[how];
}

// Raises the limit of open files, because every rank of a large job has a file.
// Not in the library: the limits of a calling program are its own.
static void allow_files(uint32_t count)
{
    struct rlimit limit;
    if (!cli_is_tool || getrlimit(RLIMIT_NOFILE, &limit) ||
        limit.rlim_cur >= 2 * count + 64)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

// Returns whether a path is not the same file as an earlier one.
static bool is_new(const merge_job *job, const char *path)
{
    for (uint32_t i = 0; i < job->file_count; i++) {
        if (!cli_same_file(job->files[i].path, path)) continue;
        cli_fail(job->tool, TS_ERR_STATE, path, "is given twice");
        return false;
    }
    return true;
}

bool merge_open(merge_job *job, char **paths, uint32_t count)
{
    job->files = calloc(count, sizeof *job->files);
    if (!job->files) return cli_out_of_memory(job->tool);
    allow_files(count);
    for (uint32_t i = 0; i < count; i++) {
        merge_file *const file = &job->files[i];
        file->path = paths[i];
        if (!is_new(job, paths[i]) ||
            !cli_output_check(job->tool, job->out, &file->path, 1) ||
            !cli_trace_open(&file->trace, job->tool, paths[i], NULL, job->warn))
            return false;
        job->file_count++;
        file->parts = copy_part_count(file->trace.reader);
    }
    return true;
}

void merge_close(merge_job *job)
{
    for (uint32_t i = 0; i < job->file_count; i++)
        cli_trace_close(&job->files[i].trace);
    free(job->files);
}

/* ---- By hand ------------------------------------------------------------- */

static const char *base_of(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_called(const char *path, const char *name, size_t size,
                      bool whole)
{
    const char *const text = whole ? path : base_of(path);
    return strlen(text) == size && !memcmp(text, name, size);
}

// Returns the file with this path, else the only file with this name.
static merge_file *find(const merge_job *job, const char *name, size_t size)
{
    merge_file *found = NULL;
    for (uint32_t i = 0; i < job->file_count; i++)
        if (is_called(job->files[i].path, name, size, true))
            return &job->files[i];
    for (uint32_t i = 0; i < job->file_count; i++) {
        if (!is_called(job->files[i].path, name, size, false)) continue;
        if (found) return NULL;
        found = &job->files[i];
    }
    return found;
}

bool merge_offsets(merge_job *job, const cli_list *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        const char *const text = texts->items[i];
        const char *const equals = strrchr(text, '=');
        merge_file *const file =
            equals ? find(job, text, (size_t)(equals - text)) : NULL;
        const char *why = NULL;
        if (!equals || !cli_parse_time(equals + 1, &job->files[0].given_ns))
            why = "must be FILE=TIME, such as b.sbt=-1.5ms";
        else if (!file)
            why = "matches no file, or several";
        else if (file == job->files)
            why = "the first file defines the time axis; only others can have "
                  "an offset";
        if (why) {
            cli_fail(job->tool, TS_ERR_USAGE, NULL, "--offset %s: %s", text,
                     why);
            return false;
        }
        file->given = true;
        file->given_ns = job->files[0].given_ns;
    }
    return true;
}

// Applies the offset given for a file to all files of its machine.
static void apply_given(merge_job *job)
{
    for (uint32_t i = 1; i < job->file_count; i++) {
        merge_file *const file = &job->files[i];
        const merge_file *by = file->given ? file : NULL;
        for (uint32_t k = 1; k < job->file_count && !by; k++)
            if (job->files[k].given && job->files[k].clock == file->clock &&
                file->how != MERGE_CLOCK)
                by = &job->files[k];
        if (!by) continue;
        const int64_t distance = file->offset_ns - by->offset_ns;
        file->how = MERGE_GIVEN;
        file->given_ns = by->given_ns + (by == file ? 0 : distance);
    }
    for (uint32_t i = 1; i < job->file_count; i++) {
        merge_file *const file = &job->files[i];
        if (file->how != MERGE_GIVEN) continue;
        file->offset_ns = file->given_ns;
        file->matched = 0;
        file->residual_ns = 0;
    }
}

/* ---- By clocks and collectives ------------------------------------------- */

static void take(merge_job *job, const ts_replay *replay)
{
    for (uint32_t i = 0; i < job->file_count; i++) {
        merge_file *const file = &job->files[i];
        ts_replay_file place;
        if (!ts_replay_file_at(replay, i, &place)) continue;
        file->offset_ns = place.offset_ns;
        file->matched = place.matched;
        file->residual_ns = place.residual_ns;
        file->clock = place.clock;
        file->how = !i                 ? MERGE_FIRST
                    : place.clock == 0 ? MERGE_CLOCK
                    : place.matched    ? MERGE_COLLECTIVES
                    : place.realtime   ? MERGE_DATE
                                       : MERGE_NOTHING;
    }
}

// Warns about files that may be copies or parts of each other. Not an error:
// some sources do not give sessions unique ids.
static void warn_same(const merge_job *job)
{
    for (uint32_t i = 1; i < job->file_count; i++)
        for (uint32_t k = 0; k < i; k++) {
            if (memcmp(job->files[i].trace.info->session,
                       job->files[k].trace.info->session, 16) != 0)
                continue;
            cli_error(job->tool, job->files[i].path,
                      "belongs to the same session as %s: one of them is "
                      "redundant",
                      job->files[k].path);
            break;
        }
}

static void warn_untied(const merge_job *job)
{
    for (uint32_t i = 0; i < job->file_count; i++) {
        const merge_file *const file = &job->files[i];
        if (file->how == MERGE_NOTHING)
            cli_error(job->tool, file->path,
                      "it cannot be aligned with %s: no common clock, time of "
                      "day or collective; both begin at 0. Use --offset to "
                      "place it",
                      job->files[0].path);
        if (file->residual_ns > 1000000)
            cli_error(job->tool, file->path,
                      "the ends of its collectives differ by %s from those of "
                      "the others; times cannot be compared across files",
                      cli_time(file->residual_ns).s);
    }
}

/* ---- Recordings of other times ------------------------------------------- */

__extension__ typedef __int128 wide;

// Returns the time between two recordings; 0: they overlap or touch.
static int64_t gap_between(const merge_file *a, const merge_file *b)
{
    const ts_info *const left = a->trace.info, *const right = b->trace.info;
    const wide after =
        (wide)right->first_ns + b->offset_ns - left->last_ns - a->offset_ns;
    const wide before =
        (wide)left->first_ns + a->offset_ns - right->last_ns - b->offset_ns;
    const wide gap = after > before ? after : before;
    return gap < 0 ? 0 : gap > INT64_MAX ? INT64_MAX : (int64_t)gap;
}

// Returns the time between a file and the nearest tied one; INT64_MAX: none is
// tied.
static int64_t gap_of(const merge_job *job, const bool *tied, uint32_t file)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < job->file_count && least; i++) {
        if (!tied[i]) continue;
        const int64_t gap = gap_between(&job->files[i], &job->files[file]);
        if (gap < least) least = gap;
    }
    return least;
}

static void warn_gap(const merge_job *job, uint32_t file, int64_t gap_ns)
{
    const int64_t days = gap_ns / 86400000000000;
    cli_error(job->tool, job->files[file].path,
              "it is aligned with the others only by the time of day, and the "
              "recordings are %s apart. If they belong to one job, use "
              "--offset to place it",
              days < 2 ? cli_time(gap_ns).s
                       : cli_format("%s days", cli_count((uint64_t)days).s).s);
}

// Warns about recordings that overlap no other one by time of day: the clock
// was wrong, or they are from another run. A file that overlaps a tied one is
// tied.
static bool report_separate(const merge_job *job)
{
    bool *const tied = calloc(job->file_count, sizeof *tied);
    bool more = true;
    if (!tied) return false;
    for (uint32_t i = 0; i < job->file_count; i++)
        tied[i] = job->files[i].how != MERGE_DATE;
    while (more) {
        more = false;
        for (uint32_t i = 0; i < job->file_count; i++) {
            if (tied[i] || gap_of(job, tied, i)) continue;
            tied[i] = more = true;
        }
    }
    for (uint32_t i = 0; i < job->file_count; i++)
        if (!tied[i]) warn_gap(job, i, gap_of(job, tied, i));
    free(tied);
    return true;
}

bool merge_place(merge_job *job)
{
    ts_reader **const more = calloc(job->file_count, sizeof *more);
    ts_replay_desc desc = { .more = more,
                            .more_count = job->file_count - 1,
                            .clocks_only = true };
    ts_replay *replay = NULL;
    ts_result result = TS_ERR_MEMORY;
    if (more) {
        for (uint32_t i = 1; i < job->file_count; i++)
            more[i - 1] = job->files[i].trace.reader;
        result = ts_replay_open(&replay, job->files[0].trace.reader, &desc);
    }
    if (result == TS_OK) {
        take(job, replay);
        apply_given(job);
        warn_same(job);
        warn_untied(job);
        if (!report_separate(job)) result = TS_ERR_MEMORY;
    }
    if (result != TS_OK) {
        cli_fail(job->tool, result, NULL, "the clocks cannot be compared: %s",
                 ts_result_text(result));
    }
    ts_replay_close(replay);
    free(more);
    return result == TS_OK;
}
