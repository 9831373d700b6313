/*
    replay_write.c - ts-replay -o: a schedule as a trace of its own
*/
#include "tools/replay/replay_write.h"

typedef struct writing {
    const replay_job *job;
    ts_writer *writer;
    warp *warp;
    copy copy;          // of the file at hand
    int64_t offset_ns;  // of it
    uint32_t *index_of; // of its GPU operations by row, TS_NODE_NONE
    uint32_t row_count;
    uint64_t undefined, left_out;
    whatif_changes changes; // those that move operations matter here
} writing;

// What an event becomes.
typedef struct moment {
    int64_t start_ns, duration_ns;
} moment;

/* ---- Operations ---------------------------------------------------------- */

// Numbers of operations by their row in a file.
static bool find_operations(writing *w, uint32_t file)
{
    ts_reader *const reader = replay_reader(w->job, file);
    ts_chunk_info info;
    uint64_t rows = 0;
    for (size_t i = 0; ts_reader_chunk(reader, i, &info); i++)
        if (info.header.kind == TS_CHUNK_EVENTS &&
            info.header.event >= TS_EVENT_GPU_FIRST &&
            info.header.event < TS_EVENT_LIMIT)
            rows += info.header.count;
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

// The stream on which a what-if put an operation; 0: its own.
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

// Whether an operation stands in the trace, where and when. What was not
// selected is there as it was recorded if the replay saw it so.
static bool place_operation(writing *w, uint32_t row, ts_event *event,
                            moment *at)
{
    ts_operation op;
    const uint32_t index = row < w->row_count ? w->index_of[row] : TS_NODE_NONE;
    if (!ts_replay_operation(w->job->replay, index, &op)) return true;
    if (op.skip == TS_SKIP_NOT) {
        at->start_ns = op.start_ns;
        at->duration_ns = op.end_ns - op.start_ns;
        const uint32_t track = moved_to(w, index);
        if (track) event->track = track;
        return true;
    }
    const bool gone = op.skip == TS_SKIP_UNMET || op.skip == TS_SKIP_REMOVED ||
                      w->job->deps != TS_DEPS_FROZEN;
    w->left_out += gone;
    return !gone;
}

// `queued` and `submitted`: a distance from the start, in ticks there, in
// nanoseconds here. The moment is the host's.
static uint64_t place_issue(const writing *w, const ts_event *event,
                            uint64_t ticks, int64_t start_ns)
{
    const ts_columns *const c = event->columns;
    if (!ticks) return 0;
    const int64_t then =
        ts_reader_time_ns(w->copy.reader, c->clock,
                          c->start_ticks[event->row] - (ticks - 1)) +
        w->offset_ns;
    const uint64_t thread = ts_event_value(event, TS_COLUMN_THREAD);
    const int64_t now =
        warp_time(w->warp, w->copy.file, (uint32_t)thread, then);
    return now < start_ns ? (uint64_t)(start_ns - now) + 1 : 1;
}

/* ---- Events -------------------------------------------------------------- */

static void write_event(writing *w, const ts_event *event, moment at)
{
    const uint8_t *const columns = ts_event_columns(event->kind);
    const uint32_t track = copy_track_id(&w->copy, event->track);
    ts_writer_value values[TS_COLUMN_LIMIT];
    size_t count = 0;
    bool text = false;
    for (int i = 0; columns[i]; i++) {
        const ts_column column = (ts_column)columns[i];
        if (column == TS_COLUMN_TEXT) text = true;
        uint64_t value = ts_event_value(event, column);
        if (!value) continue; // START, DURATION and TEXT are none here
        values[count].column = column;
        values[count++].value =
            column == TS_COLUMN_QUEUED || column == TS_COLUMN_SUBMITTED
                ? place_issue(w, event, value, at.start_ns)
                : copy_value(&w->copy, event->kind, column, value);
    }
    if (text) {
        const ts_text t = ts_event_text(event);
        ts_writer_event_text(w->writer, event->kind, track, at.start_ns,
                             at.duration_ns, values, count, t.text, t.size);
    } else {
        ts_writer_event(w->writer, event->kind, track, at.start_ns,
                        at.duration_ns, values, count);
    }
}

static void write_row(writing *w, ts_event *event, uint32_t gpu_row)
{
    const int64_t start_ns = event->start_ns + w->offset_ns;
    moment at = { start_ns, event->duration_ns };
    if (event->kind >= TS_EVENT_GPU_FIRST) {
        if (!place_operation(w, gpu_row, event, &at)) return;
    } else if (w->warp) {
        const uint32_t file = w->copy.file;
        at.start_ns = warp_time(w->warp, file, event->track, start_ns);
        at.duration_ns = warp_time(w->warp, file, event->track,
                                   start_ns + event->duration_ns) -
                         at.start_ns;
    }
    write_event(w, event, at);
}

// What cannot be read is lost to whoever reads the trace, too.
static void write_loss(writing *w, const ts_chunk_info *info)
{
    static const char why[] = "damaged chunk";
    const uint32_t track = info->header.track;
    ts_writer_loss(
        w->writer, track == TS_TRACK_MIXED ? 0 : copy_track_id(&w->copy, track),
        TS_LOSS_BAD_RECORD, ts_writer_name(w->writer, why, sizeof why - 1),
        info->header.count, info->first_ns + w->offset_ns,
        info->last_ns + w->offset_ns);
}

// In the order of the file, which is that of recording.
static ts_result write_events(writing *w, cli_progress *progress)
{
    ts_reader *const reader = w->copy.reader;
    ts_columns columns = { 0 };
    ts_chunk_info info;
    uint32_t gpu_row = 0;
    ts_result result = TS_OK;
    const size_t chunks = ts_reader_chunk_count(reader);
    for (size_t i = 0; i < chunks && result == TS_OK; i++) {
        if (!ts_reader_chunk(reader, i, &info) ||
            info.header.kind != TS_CHUNK_EVENTS ||
            info.header.event >= TS_EVENT_LIMIT)
            continue;
        const bool gpu = info.header.event >= TS_EVENT_GPU_FIRST;
        const ts_result got = ts_reader_decode(reader, i, &columns);
        ts_event event = { .kind = columns.kind, .columns = &columns };
        for (uint32_t k = 0; got == TS_OK && k < columns.count; k++) {
            event.row = k;
            event.track = columns.tracks ? columns.tracks[k] : columns.track;
            event.start_ns = columns.start_ns[k];
            event.duration_ns = columns.duration_ns[k];
            write_row(w, &event, gpu_row + k);
        }
        gpu_row += gpu ? info.header.count : 0;
        if (got == TS_ERR_MEMORY)
            result = got;
        else if (got != TS_OK)
            write_loss(w, &info);
        if (ts_writer_error(w->writer) != TS_OK) break;
        cli_progress_show(progress, i, chunks);
    }
    ts_columns_close(reader, &columns);
    return result;
}

// What a what-if put in: kernels that nobody launched.
static void write_inserted(writing *w)
{
    const char *const name = "inserted";
    ts_inserted in;
    ts_operation op;
    for (size_t i = 0; ts_replay_inserted(w->job->replay, i, &in); i++) {
        if (!ts_replay_operation(w->job->replay, in.after, &op) ||
            op.file != w->copy.file)
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

static uint32_t last_track(const ts_reader *reader)
{
    const uint32_t count = ts_reader_info(reader)->track_count;
    ts_track track = { 0 };
    if (count) ts_reader_track_at(reader, count - 1, &track);
    return track.id;
}

static ts_result write_file(writing *w, uint32_t file, cli_progress *progress)
{
    ts_replay_file place;
    const uint32_t base = file ? copy_next_base(&w->copy) : 0;
    memset(&w->copy, 0, sizeof w->copy);
    w->copy.reader = replay_reader(w->job, file);
    w->copy.writer = w->writer;
    w->copy.file = file;
    w->copy.track_base = base;
    w->copy.last_track = last_track(w->copy.reader);
    w->copy.merged = w->job->file_count > 1;
    w->offset_ns =
        ts_replay_file_at(w->job->replay, file, &place) ? place.offset_ns : 0;
    if (!find_operations(w, file)) return TS_ERR_MEMORY;
    copy_tracks(&w->copy);
    copy_metadata(&w->copy);
    copy_losses(&w->copy, w->offset_ns);
    const ts_result result = write_events(w, progress);
    write_inserted(w);
    w->undefined += w->copy.undefined;
    return result;
}

static void note_text(writing *w, const char *key, const char *text)
{
    ts_writer_metadata(w->writer, 0, key, TS_VALUE_TEXT,
                       ts_writer_name(w->writer, text, strlen(text)));
}

static void note_number(writing *w, const char *key, int64_t value)
{
    ts_writer_metadata(w->writer, 0, key, TS_VALUE_INT, (uint64_t)value);
}

// How the trace was made, for whoever finds it.
static void note_all(writing *w)
{
    const replay_job *const job = w->job;
    const ts_replay_stats *const s = ts_replay_result(job->replay);
    char key[48];
    note_text(w, "replay.mode", replay_mode_name(job->mode));
    note_text(w, "replay.deps", replay_deps_name(job->deps));
    for (uint32_t i = 0; i < job->file_count; i++) {
        const char *const path = job->files[i].path;
        const char *const slash = strrchr(path, '/');
        snprintf(key, sizeof key, i ? "replay.of.%" PRIu32 : "replay.of", i);
        note_text(w, key, slash ? slash + 1 : path);
    }
    for (size_t i = 0; i < job->what_if_count; i++) {
        snprintf(key, sizeof key, "replay.what_if.%zu", i + 1);
        note_text(w, key, job->what_ifs[i].text);
    }
    note_text(w, "replay.digest", cli_format("%016" PRIx64, s->digest).s);
    note_number(w, "replay.operations", (int64_t)s->operations);
    note_number(w, "replay.left_out", (int64_t)w->left_out);
    note_number(w, "replay.makespan_ns", s->end_ns - s->start_ns);
    note_number(w, "replay.recorded_makespan_ns",
                s->recorded_end_ns - s->recorded_start_ns);
}

// Another trace than the recorded one, but always the same for one schedule.
static void name_session(const replay_job *job, ts_writer_desc *desc)
{
    const ts_info *const info = job->files[0].trace.info;
    const uint64_t digest = ts_replay_result(job->replay)->digest;
    memcpy(desc->session, info->session, sizeof desc->session);
    for (size_t i = 0; i < sizeof desc->session; i++)
        desc->session[i] ^= (uint8_t)(digest >> 8 * (i % 8));
    desc->process = info->process;
    desc->start_realtime_ns = info->start_realtime_ns;
}

static void say_undefined(const writing *w, const char *path)
{
    if (!w->undefined) return;
    cli_error(w->job->tool, path,
              "%s numbers that nothing in the trace defines are left out",
              cli_count(w->undefined).s);
}

// What the what-ifs of the schedule mean; they were understood before.
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
    errno = 0; // from here on it is the system's reason
    ts_result result = ts_writer_open(&w.writer, &desc);
    int failed = w.writer ? 0 : errno;
    if (result == TS_OK) {
        if (!find_changes(&w) || !warp_open(&w.warp, job->replay))
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
    free(w.index_of);
    say_undefined(&w, path);
    if (result != TS_OK)
        cli_error(job->tool, path, "cannot be written: %s",
                  result == TS_ERR_IO && failed ? strerror(failed)
                                                : ts_result_text(result));
    return result == TS_OK;
}
