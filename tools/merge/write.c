/*
    write.c - writes the merged trace
*/
#include "tools/merge/merge.h"

// The result is compressed if the input is.
static bool is_compressed(const merge_job *job)
{
    ts_chunk_info info;
    for (uint32_t i = 0; i < job->file_count; i++) {
        ts_reader *const reader = job->files[i].trace.reader;
        for (size_t k = 0; ts_reader_chunk(reader, k, &info); k++)
            if (info.header.flags & 1) return true;
    }
    return false;
}

static bool same_text(const ts_reader *a, const ts_reader *b, const char *key)
{
    ts_metadata x, y;
    const bool in_a = ts_reader_metadata(a, 0, key, &x);
    const bool in_b = ts_reader_metadata(b, 0, key, &y);
    if (!in_a || !in_b) return in_a == in_b;
    return x.text.size == y.text.size &&
           !memcmp(x.text.text, y.text.text, x.text.size);
}

static bool has_hosts(const merge_job *job)
{
    for (uint32_t i = 1; i < job->file_count; i++)
        if (!same_text(job->files[0].trace.reader, job->files[i].trace.reader,
                       "host"))
            return true;
    return false;
}

// The session id depends only on the files and their offsets, so that equal
// ones give equal bytes.
static bool describe(const merge_job *job, ts_writer_desc *desc)
{
    const cli_trace *const first = &job->files[0].trace;
    uint64_t *const salt = calloc(job->file_count, 3 * sizeof *salt);
    if (!salt) return false;
    for (uint32_t i = 0; i < job->file_count; i++) {
        memcpy(&salt[3 * i], job->files[i].trace.info->session, 16);
        salt[3 * i + 2] = (uint64_t)job->files[i].offset_ns;
    }
    copy_session(first->reader, salt, job->file_count * 3 * sizeof *salt,
                 desc->session);
    free(salt);
    desc->path = job->out;
    desc->threads = cli_writers(cli_processors());
    desc->process = first->info->process;
    desc->start_realtime_ns = first->info->start_realtime_ns;
    desc->compress = is_compressed(job);
    ts_reader_boot(first->reader, &desc->start_raw_ns,
                   &desc->start_boottime_ns);
    return true;
}

// Adds metadata on the source file to its process; a merged file already has
// it.
static void note(const copy *c, const merge_file *file)
{
    ts_writer *const w = c->writer;
    const char *const slash = strrchr(file->path, '/');
    const uint32_t track = c->merge ? c->process : 0;
    if (file->parts > 1) return;
    copy_note_text(w, track, "merge.of", slash ? slash + 1 : file->path);
    copy_note_number(w, track, "merge.offset_ns", file->offset_ns);
    copy_note_text(w, track, "merge.found_by", merge_how_name(file->how));
    if (file->how != MERGE_COLLECTIVES) return;
    copy_note_number(w, track, "merge.collectives", (int64_t)file->matched);
    copy_note_number(w, track, "merge.residual_ns", file->residual_ns);
}

// Returns the type of the host's clock; -1: unknown.
static int tick_type(const ts_reader *reader)
{
    ts_clock_point point;
    for (size_t i = 0; ts_reader_clock_at(reader, i, &point); i++)
        if (!point.clock) return point.entry.type;
    return -1;
}

// Sets the file whose clock converts the times of a file that joins another.
static void set_axis(const merge_job *job, const merge_file *file, copy *c)
{
    const merge_file *axis = file;
    while (axis->joins && axis->joins - 1 < (size_t)(axis - job->files))
        axis = &job->files[axis->joins - 1];
    const int type = tick_type(axis->trace.reader);
    if (axis == file || axis->clock != file->clock || type < 0 ||
        type == TS_CLOCK_OTHER || type != tick_type(c->reader))
        return;
    c->axis = axis->trace.reader;
    c->axis_ns = axis->offset_ns;
}

static ts_result write_file(merge_job *job, ts_writer *writer,
                            copy_merge *merge, merge_file *file,
                            cli_progress *progress)
{
    copy c = { .reader = file->trace.reader,
               .writer = writer,
               .path = file->path,
               .offset_ns = file->offset_ns,
               .merge = merge,
               .file = (uint32_t)(file - job->files),
               .joins = file->joins };
    const size_t damaged = ts_reader_damage_count(c.reader);
    ts_result result = TS_ERR_MEMORY;
    set_axis(job, file, &c);
    if (copy_begin(&c) && copy_captures_find(&c)) {
        copy_tracks(&c);
        copy_metadata(&c);
        note(&c, file);
        copy_losses(&c);
        copy_blobs(&c);
        if (file == job->files) copy_clocks(&c);
        result = copy_events(&c, NULL, &file->counts, progress);
        if (result == TS_OK) result = copy_captures_write(&c, true);
    }
    cli_progress_end(progress);
    cli_trace_damage(&file->trace, job->tool, file->path, damaged);
    job->undefined += c.undefined;
    copy_end(&c);
    return result;
}

static ts_result write_all(merge_job *job, ts_writer *writer)
{
    const uint32_t count = job->file_count;
    copy_merge *const merge = calloc(1, sizeof *merge);
    ts_reader **const readers = calloc(count, sizeof *readers);
    cli_progress progress = { .what = "merging" };
    ts_result result = merge && readers ? TS_OK : TS_ERR_MEMORY;
    if (result == TS_OK && count > 1) {
        for (uint32_t i = 0; i < count; i++)
            readers[i] = job->files[i].trace.reader;
        merge->shared_flows = job->shared_flows;
        merge->hosts = has_hosts(job);
        copy_common(merge, writer, readers, count);
        copy_note_number(writer, 0, "merge.files", count);
    }
    for (uint32_t i = 0; i < count && result == TS_OK; i++)
        result = write_file(job, writer, count > 1 ? merge : NULL,
                            &job->files[i], &progress);
    if (merge) copy_merge_end(merge);
    free(merge);
    free(readers);
    return result;
}

// Returns whether the result may count as this user's own, so that its captured
// code may run. Blobs are shared by hash, so a foreign file could supply one
// for an own capture: all files must be own, even those without captures.
static bool is_own(const merge_job *job)
{
    size_t captures = 0;
    for (uint32_t i = 0; i < job->file_count; i++)
        captures += ts_reader_capture_count(job->files[i].trace.reader);
    if (!captures) return false; // there is no code to run
    for (uint32_t i = 0; i < job->file_count; i++)
        if (!cli_trace_is_own(job->files[i].trace.reader)) return false;
    return true;
}

static void warn_left_out(const merge_job *job)
{
    uint64_t unknown = 0;
    for (uint32_t i = 0; i < job->file_count; i++)
        unknown += job->files[i].counts.unknown;
    copy_warn(job->tool, job->out, unknown, job->undefined);
}

bool merge_write(merge_job *job)
{
    ts_writer_desc desc = { 0 };
    ts_writer *writer = NULL;
    errno = 0; // set by failing system calls from here on
    ts_result result =
        describe(job, &desc) ? ts_writer_open(&writer, &desc) : TS_ERR_MEMORY;
    if (result == TS_OK) result = write_all(job, writer);
    if (result == TS_OK)
        result = ts_writer_close(writer);
    else
        ts_writer_abandon(writer);
    const int failed = errno;
    if (result == TS_OK && is_own(job)) cli_trace_own(job->out);
    warn_left_out(job);
    if (result != TS_OK)
        cli_fail(job->tool, result, job->out, "cannot be written: %s",
                 result == TS_ERR_IO && failed ? strerror(failed)
                                               : ts_result_text(result));
    return result == TS_OK;
}
