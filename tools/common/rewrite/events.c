/*
    events.c - copies events to another trace, a chunk at a time
*/
#include "tools/common/rewrite/rewrite.h"

enum { COPY_COLUMNS = 16 }; // the most columns of a kind, besides times

// Buffers for one batch.
typedef struct buffers {
    int64_t start_ns[COPY_ROWS], duration_ns[COPY_ROWS];
    uint32_t tracks[COPY_ROWS], rows[COPY_ROWS];
    uint32_t text_sizes[COPY_ROWS];
    const char *texts[COPY_ROWS];
    bool keep[COPY_ROWS];
    uint64_t values[COPY_COLUMNS][COPY_ROWS];
    char *renamed; // texts
    size_t renamed_size, renamed_capacity;
} buffers;

typedef struct copying {
    copy *c;
    const copy_hooks *hooks;
    copy_counts *counts;
    buffers *b;
    ts_columns columns;
} copying;

// Converts a `queued` or `submitted` value, which is a distance from the start:
// from ticks of the file to nanoseconds. The time is one of the host.
static uint64_t issue_of(const copying *g, uint32_t row, uint64_t ticks,
                         int64_t start_ns)
{
    const ts_columns *const c = &g->columns;
    if (!ticks) return 0;
    int64_t then = ts_reader_time_ns(g->c->reader, c->clock,
                                     c->start_ticks[row] - (ticks - 1)) +
                   g->c->offset_ns;
    if (g->hooks->host_time) {
        const uint64_t *const threads = c->values[TS_COLUMN_THREAD];
        then = g->hooks->host_time(g->hooks->user,
                                   threads ? (uint32_t)threads[row] : 0, then);
    }
    return then < start_ns ? (uint64_t)(start_ns - then) + 1 : 1;
}

// Keeps the capture of an operation that is kept.
static void keep_capture(const copying *g, uint32_t row)
{
    const ts_columns *const c = &g->columns;
    const uint64_t *const ids = c->values[TS_COLUMN_CORRELATION];
    if (g->c->captures && ts_event_has_contents(c->kind) && ids)
        copy_captures_keep(g->c, c->tracks ? c->tracks[row] : c->track,
                           ids[row]);
}

// Collects the kept rows in b->rows and compacts their times and tracks.
static uint32_t gather(const copying *g, const copy_batch *batch)
{
    buffers *const b = g->b;
    uint32_t count = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        if (!b->keep[i]) continue;
        b->rows[count] = batch->first + i;
        keep_capture(g, batch->first + i);
        b->start_ns[count] = b->start_ns[i];
        b->duration_ns[count] = b->duration_ns[i];
        b->tracks[count++] = b->tracks[i];
    }
    return count;
}

// Sets the columns of the kept rows.
static void set_columns(const copying *g, ts_rows *rows)
{
    const uint8_t *const columns = ts_event_columns(rows->kind);
    buffers *const b = g->b;
    uint32_t used = 0;
    for (int i = 0; columns[i]; i++) {
        const ts_column column = (ts_column)columns[i];
        const uint64_t *const from = g->columns.values[column];
        if (!from || used == COPY_COLUMNS) continue;
        uint64_t *const to = b->values[used++];
        rows->values[column] = to;
        if (column == TS_COLUMN_QUEUED || column == TS_COLUMN_SUBMITTED)
            for (uint32_t k = 0; k < rows->count; k++)
                to[k] =
                    issue_of(g, b->rows[k], from[b->rows[k]], b->start_ns[k]);
        else
            copy_values(g->c, rows->kind, column, from, b->rows, rows->count,
                        to);
    }
}

// Stores a renamed text until the batch is written.
static bool rename_text(const copying *g, uint32_t row, ts_text *text)
{
    buffers *const b = g->b;
    text->text = g->columns.texts[row];
    text->size = g->columns.text_sizes[row];
    if (!text->size) return true;
    *text = g->c->rename(g->c->rename_user, COPY_TEXT, *text);
    const size_t need = b->renamed_size + text->size;
    if (need > b->renamed_capacity) {
        char *const more = realloc(b->renamed, 2 * need);
        if (!more) return false;
        b->renamed = more;
        b->renamed_capacity = 2 * need;
    }
    memcpy(b->renamed + b->renamed_size, text->text, text->size);
    b->renamed_size = need;
    return true;
}

static bool set_texts(const copying *g, ts_rows *rows)
{
    buffers *const b = g->b;
    ts_text text;
    b->renamed_size = 0;
    if (!g->columns.text_sizes) return true;
    for (uint32_t i = 0; i < rows->count; i++) {
        b->texts[i] = g->columns.texts[b->rows[i]];
        b->text_sizes[i] = g->columns.text_sizes[b->rows[i]];
        if (!g->c->rename) continue;
        if (!rename_text(g, b->rows[i], &text)) return false;
        b->text_sizes[i] = (uint32_t)text.size;
    }
    const char *at = b->renamed;
    for (uint32_t i = 0; g->c->rename && i < rows->count; i++) {
        b->texts[i] = at;
        at += b->text_sizes[i];
    }
    rows->text_sizes = b->text_sizes;
    rows->texts = b->texts;
    return true;
}

// Converts the tracks; if all rows have the same, sets a single one.
static void set_tracks(const copying *g, ts_rows *rows)
{
    buffers *const b = g->b;
    bool mixed = false;
    for (uint32_t i = 1; i < rows->count; i++)
        mixed |= b->tracks[i] != b->tracks[0];
    rows->track = copy_track_id(g->c, b->tracks[0]);
    if (!mixed) return;
    uint32_t last = b->tracks[0], to = rows->track;
    for (uint32_t i = 0; i < rows->count; i++) {
        if (b->tracks[i] != last) to = copy_track_id(g->c, last = b->tracks[i]);
        b->tracks[i] = to;
    }
    rows->tracks = b->tracks;
}

// Converts ticks with the clock samples of the other file of the process, so
// that events inside one of its zones stay inside.
static void set_times(const copying *g, uint32_t first, uint32_t count)
{
    const copy *const c = g->c;
    buffers *const b = g->b;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t start = g->columns.start_ticks[first + i];
        const uint64_t end = g->columns.end_ticks[first + i];
        b->start_ns[i] = ts_reader_time_ns(c->axis, 0, start);
        b->duration_ns[i] = ts_reader_time_ns(c->axis, 0, end) - b->start_ns[i];
        b->start_ns[i] += c->axis_ns;
    }
}

static bool copy_batch_rows(const copying *g, uint32_t first, uint32_t count,
                            uint32_t gpu_row)
{
    const ts_columns *const c = &g->columns;
    buffers *const b = g->b;
    copy_batch batch = { .columns = c,
                         .first = first,
                         .count = count,
                         .gpu_row = gpu_row,
                         .start_ns = b->start_ns,
                         .duration_ns = b->duration_ns,
                         .tracks = b->tracks,
                         .keep = b->keep };
    for (uint32_t i = 0; i < count; i++) {
        b->start_ns[i] = c->start_ns[first + i] + g->c->offset_ns;
        b->duration_ns[i] = c->duration_ns[first + i];
        b->tracks[i] = c->tracks ? c->tracks[first + i] : c->track;
        b->keep[i] = true;
    }
    if (g->c->axis && !c->clock) set_times(g, first, count);
    const bool wanted =
        !g->hooks->edit || g->hooks->edit(g->hooks->user, &batch);
    ts_rows rows = { .kind = c->kind,
                     .count = wanted ? gather(g, &batch) : 0,
                     .start_ns = b->start_ns,
                     .duration_ns = b->duration_ns };
    g->counts->kept += rows.count;
    g->counts->left_out += count - rows.count;
    if (!rows.count) return true;
    set_columns(g, &rows);
    set_tracks(g, &rows);
    if (!set_texts(g, &rows)) return false;
    ts_writer_rows(g->c->writer, &rows);
    return !g->c->no_memory;
}

// Writes a damaged chunk as a loss of the new trace.
static void lose(copy *c, const ts_chunk_info *info, const char *why)
{
    const uint32_t track = info->header.track;
    ts_writer_loss(
        c->writer,
        track == TS_TRACK_MIXED ? c->process : copy_track_id(c, track),
        TS_LOSS_BAD_RECORD, ts_writer_name(c->writer, why, strlen(why)),
        info->header.count, info->first_ns + c->offset_ns,
        info->last_ns + c->offset_ns);
}

static ts_result copy_chunk(copying *g, size_t index, const ts_chunk_info *info,
                            uint32_t gpu_row)
{
    if (info->header.event >= TS_EVENT_LIMIT ||
        !ts_event_columns(info->header.event)) {
        g->counts->unknown += info->header.count;
        return TS_OK;
    }
    if (g->hooks->takes && !g->hooks->takes(g->hooks->user, info)) {
        g->counts->left_out += info->header.count;
        return TS_OK;
    }
    const ts_result got = ts_reader_decode(g->c->reader, index, &g->columns);
    if (got == TS_ERR_MEMORY) return got;
    if (got != TS_OK) {
        lose(g->c, info, "damaged chunk");
        return TS_OK;
    }
    const uint32_t count = g->columns.count;
    for (uint32_t first = 0; first < count; first += COPY_ROWS) {
        const uint32_t left = count - first;
        if (!copy_batch_rows(g, first, left < COPY_ROWS ? left : COPY_ROWS,
                             gpu_row + first))
            return TS_ERR_MEMORY;
    }
    return TS_OK;
}

ts_result copy_events(copy *c, const copy_hooks *hooks, copy_counts *counts,
                      cli_progress *progress)
{
    static const copy_hooks none = { 0 };
    copy_counts ignored = { 0 };
    copying g = { .c = c,
                  .hooks = hooks ? hooks : &none,
                  .counts = counts ? counts : &ignored,
                  .b = malloc(sizeof *g.b) };
    const size_t chunks = ts_reader_chunk_count(c->reader);
    ts_chunk_info info;
    ts_result result = g.b ? TS_OK : TS_ERR_MEMORY;
    uint32_t gpu_row = 0;
    if (g.b) g.b->renamed = NULL, g.b->renamed_capacity = 0;
    for (size_t i = 0; i < chunks && result == TS_OK; i++) {
        if (!ts_reader_chunk(c->reader, i, &info) ||
            info.header.kind != TS_CHUNK_EVENTS)
            continue;
        result = copy_chunk(&g, i, &info, gpu_row);
        if (cli_has_operations(&info.header)) gpu_row += info.header.count;
        if (ts_writer_error(c->writer) != TS_OK) break;
        if (progress) cli_progress_show(progress, i, chunks);
    }
    ts_columns_close(c->reader, &g.columns);
    if (g.b) free(g.b->renamed);
    free(g.b);
    return result;
}

void copy_warn(const cli_tool *tool, const char *path, uint64_t unknown,
               uint64_t undefined)
{
    if (unknown)
        cli_error(tool, path,
                  "%s of kinds that this version does not know %s "
                  "skipped",
                  cli_counted(unknown, "event", "events").s,
                  unknown == 1 ? "is" : "are");
    if (undefined)
        cli_error(tool, path, "%s skipped",
                  cli_counted(undefined,
                              "reference to an undefined dictionary entry is",
                              "references to undefined dictionary entries are")
                      .s);
}
