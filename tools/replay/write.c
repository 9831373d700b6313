/*
    write.c - ts-replay -o: a schedule as a trace of its own
*/
#include "tools/replay/write.h"

typedef struct writing {
    const replay_job *job;
    ts_writer *writer;
    warp *warp;
    copy copy;          // of the current file
    copy_merge merge;   // if there are several
    uint32_t file;      // the current file
    uint32_t *index_of; // operation by row of its GPU events, or TS_NODE_NONE
    uint32_t row_count;
    uint64_t undefined, left_out, unknown;
    whatif_changes changes; // only moves to other streams matter here
} writing;

/* ---- Operations ---------------------------------------------------------- */

// Fills index_of for a file.
static bool find_operations(writing *w, uint32_t file)
{
    ts_reader *const reader = replay_reader(w->job, file);
    const uint64_t rows = cli_operation_rows(reader, NULL);
    free(w->index_of);
    w->row_count = (uint32_t)rows;
    w->index_of = malloc((rows + 1) * sizeof *w->index_of);
    if (!w->index_of) return false;
    memset(w->index_of, 0xFF, (size_t)rows * sizeof *w->index_of);
    ts_operation op;
    for (uint32_t i = 0; ts_replay_operation(w->job->replay, i, &op); i++)
        if (op.file == file && op.row < rows) w->index_of[op.row] = i;
    return true;
}

// The stream to which a what-if moved an operation; 0: not moved.
static uint32_t moved_to(const writing *w, uint32_t index)
{
    uint32_t track = 0;
    for (size_t i = 0; i < w->changes.count; i++) {
        const ts_change *const change = &w->changes.list[i];
        if (change->type == TS_CHANGE_MOVE &&
            (!change->operations || change->operations[index]))
            track = change->track;
    }
    return track;
}

// Whether an operation is in the new trace, with its track and times.
// Unselected ones are kept, as recorded, only with frozen dependencies.
static bool place_operation(writing *w, uint32_t row, uint32_t *track,
                            int64_t *start_ns, int64_t *duration_ns)
{
    ts_operation op;
    const uint32_t index = row < w->row_count ? w->index_of[row] : TS_NODE_NONE;
    if (!ts_replay_operation(w->job->replay, index, &op)) return true;
    if (op.skip == TS_SKIP_NOT) {
        *start_ns = op.start_ns;
        *duration_ns = op.end_ns - op.start_ns;
        const uint32_t other = moved_to(w, index);
        if (other) *track = other;
        return true;
    }
    const bool gone = op.skip == TS_SKIP_UNMET || op.skip == TS_SKIP_REMOVED ||
                      w->job->deps != TS_DEPS_FROZEN;
    w->left_out += gone;
    return !gone;
}

/* ---- Events -------------------------------------------------------------- */

static int64_t host_time(void *user, uint32_t thread, int64_t then_ns)
{
    const writing *const w = user;
    return warp_time(w->warp, w->file, thread, then_ns);
}

// Sets the new time of each event, or drops it.
static bool place_events(void *user, copy_batch *batch)
{
    writing *const w = user;
    const bool gpu = batch->columns->kind >= TS_EVENT_GPU_FIRST;
    for (uint32_t i = 0; i < batch->count; i++) {
        int64_t *const start = &batch->start_ns[i];
        int64_t *const duration = &batch->duration_ns[i];
        if (gpu) {
            batch->keep[i] = place_operation(
                w, batch->gpu_row + i, &batch->tracks[i], start, duration);
        } else if (w->warp) {
            const int64_t end_ns = *start + *duration;
            const uint32_t track = batch->tracks[i];
            *start = warp_time(w->warp, w->file, track, *start);
            *duration = warp_time(w->warp, w->file, track, end_ns) - *start;
        }
    }
    return true;
}

// Writes the operations that a what-if inserted: kernels without a launch.
static void write_inserted(writing *w)
{
    const char *const name = "inserted";
    ts_inserted in;
    ts_operation op;
    for (size_t i = 0; ts_replay_inserted(w->job->replay, i, &in); i++) {
        if (!ts_replay_operation(w->job->replay, in.after, &op) ||
            op.file != w->file)
            continue;
        const ts_launch_entry launch = {
            .name = ts_writer_name(w->writer, name, strlen(name)),
        };
        const ts_writer_value value = { TS_COLUMN_LAUNCH,
                                        ts_writer_launch(w->writer, &launch) };
        ts_writer_event(w->writer, TS_EVENT_KERNEL,
                        copy_track_id(&w->copy, op.track), in.start_ns,
                        in.end_ns - in.start_ns, &value, 1);
    }
}

/* ---- Files --------------------------------------------------------------- */

static ts_result write_file(writing *w, uint32_t file, cli_progress *progress)
{
    ts_replay_file place;
    const copy_hooks hooks = { .edit = place_events,
                               .host_time = w->warp ? host_time : NULL,
                               .user = w };
    copy_counts counts = { 0 };
    copy *const c = &w->copy;
    memset(c, 0, sizeof *c);
    w->file = file;
    c->reader = replay_reader(w->job, file);
    c->writer = w->writer;
    c->path = w->job->files[file].path;
    c->merge = w->job->file_count > 1 ? &w->merge : NULL;
    c->offset_ns =
        ts_replay_file_at(w->job->replay, file, &place) ? place.offset_ns : 0;
    ts_result result = TS_ERR_MEMORY;
    if (find_operations(w, file) && copy_begin(c)) {
        copy_tracks(c);
        copy_metadata(c);
        copy_losses(c);
        copy_blobs(c);
        if (!file) copy_clocks(c);
        result = copy_events(c, &hooks, &counts, progress);
        write_inserted(w);
    }
    w->undefined += c->undefined;
    w->unknown += counts.unknown;
    copy_end(c);
    return result;
}

// Writes metadata about how the trace was made.
static void note_all(writing *w)
{
    const replay_job *const job = w->job;
    const ts_replay_stats *const s = ts_replay_result(job->replay);
    char key[48];
    copy_note_text(w->writer, 0, "replay.mode", replay_mode_name(job->mode));
    copy_note_text(w->writer, 0, "replay.deps", replay_deps_name(job->deps));
    for (uint32_t i = 0; i < job->file_count; i++) {
        const char *const path = job->files[i].path;
        const char *const slash = strrchr(path, '/');
        snprintf(key, sizeof key, i ? "replay.of.%" PRIu32 : "replay.of", i);
        copy_note_text(w->writer, 0, key, slash ? slash + 1 : path);
    }
    for (size_t i = 0; i < job->what_if_count; i++) {
        snprintf(key, sizeof key, "replay.what_if.%zu", i + 1);
        copy_note_text(w->writer, 0, key, job->what_ifs[i].text);
    }
    copy_note_text(w->writer, 0, "replay.digest",
                   cli_format("%016" PRIx64, s->digest).s);
    copy_note_number(w->writer, 0, "replay.operations", (int64_t)s->operations);
    copy_note_number(w->writer, 0, "replay.left_out", (int64_t)w->left_out);
    copy_note_number(w->writer, 0, "replay.makespan_ns",
                     s->end_ns - s->start_ns);
    copy_note_number(w->writer, 0, "replay.recorded_makespan_ns",
                     s->recorded_end_ns - s->recorded_start_ns);
}

// A session id that differs from the record's and is the same for one schedule.
static void name_session(const replay_job *job, ts_writer_desc *desc)
{
    const ts_info *const info = job->files[0].trace.info;
    const uint64_t digest = ts_replay_result(job->replay)->digest;
    copy_session(replay_reader(job, 0), &digest, sizeof digest, desc->session);
    desc->process = info->process;
    desc->start_realtime_ns = info->start_realtime_ns;
    ts_reader_boot(replay_reader(job, 0), &desc->start_raw_ns,
                   &desc->start_boottime_ns);
}

// Writes once what all files share.
static bool write_common(writing *w)
{
    const uint32_t count = w->job->file_count;
    ts_reader **const readers = calloc(count, sizeof *readers);
    for (uint32_t i = 0; readers && i < count; i++)
        readers[i] = replay_reader(w->job, i);
    if (readers && count > 1) copy_common(&w->merge, w->writer, readers, count);
    free(readers);
    return readers != NULL;
}

// Computes the changes of the what-ifs again; they were valid before.
static bool find_changes(writing *w)
{
    const replay_job *const job = w->job;
    const char *why;
    for (size_t i = 0; i < job->what_if_count; i++)
        if (!whatif_apply(&job->what_ifs[i], job->replay, &w->changes, &why))
            return false;
    return true;
}

bool replay_write(const replay_job *job, const char *path)
{
    writing w = { .job = job };
    ts_writer_desc desc = { .path = path };
    cli_progress progress = { .what = "writing" };
    name_session(job, &desc);
    errno = 0; // from here on errno is the reason of a failure
    ts_result result = ts_writer_open(&w.writer, &desc);
    int failed = w.writer ? 0 : errno;
    if (result == TS_OK) {
        if (!find_changes(&w) || !warp_open(&w.warp, job->replay) ||
            !write_common(&w))
            result = TS_ERR_MEMORY;
        for (uint32_t i = 0; i < job->file_count && result == TS_OK; i++)
            result = write_file(&w, i, &progress);
        note_all(&w);
        errno = 0;
        if (result == TS_OK)
            result = ts_writer_close(w.writer);
        else
            ts_writer_abandon(w.writer);
        failed = errno;
    }
    cli_progress_end(&progress);
    warp_close(w.warp);
    whatif_changes_close(&w.changes);
    copy_merge_end(&w.merge);
    free(w.index_of);
    copy_warn(job->tool, path, w.unknown, w.undefined);
    if (result != TS_OK)
        cli_error(job->tool, path, "cannot be written: %s",
                  result == TS_ERR_IO && failed ? strerror(failed)
                                                : ts_result_text(result));
    return result == TS_OK;
}
