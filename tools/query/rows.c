/*
    rows.c - loads the rows of a chunk
*/
#ifdef __linux__
#define _DEFAULT_SOURCE // madvise
#endif
#include "tools/query/tables.h"

#ifdef TRACESMITH_SQLITE

/* ---- What is no column of the trace ------------------------------------- */

static uint64_t *make_column(query_rows *rows, uint32_t raw)
{
    rows->values[raw] = rows->made[raw];
    return rows->made[raw];
}

static void make_ends(query_rows *rows)
{
    const uint64_t *const starts = rows->values[RAW_START];
    const uint64_t *const durations = rows->values[RAW_DURATION];
    uint64_t *const ends = make_column(rows, RAW_END);
    for (uint32_t i = 0; i < rows->total; i++)
        ends[i] = starts[i] + durations[i];
}

static void make_tracks(query_rows *rows)
{
    rows->constant[RAW_TRACK] = rows->columns.track;
    if (!rows->columns.tracks) return;
    uint64_t *const tracks = make_column(rows, RAW_TRACK);
    for (uint32_t i = 0; i < rows->total; i++)
        tracks[i] = rows->columns.tracks[i];
}

static void make_operations(query_rows *rows, const query_file *file)
{
    uint64_t *const numbers = make_column(rows, RAW_OPERATION);
    const uint64_t first = file->operations[rows->columns.chunk];
    for (uint32_t i = 0; i < rows->total; i++)
        numbers[i] = first + i;
}

static void make_nesting(query_rows *rows, uint64_t uses,
                         const query_nesting *n)
{
    const uint32_t first = n->first[rows->columns.chunk];
    for (uint32_t raw = RAW_ZONE; raw <= RAW_SELF; raw++) {
        if (!(uses >> raw & 1)) continue;
        uint64_t *const values = make_column(rows, raw);
        for (uint32_t i = 0; i < rows->total; i++) {
            const uint32_t at = first + i;
            values[i] = raw == RAW_ZONE     ? at
                        : raw == RAW_PARENT ? n->parents[at]
                        : raw == RAW_DEPTH  ? n->depths[at]
                                            : (uint64_t)n->self_ns[at];
        }
    }
}

// Caches the last launch's name, because launches repeat.
static void make_labels(query_rows *rows, const ts_reader *reader)
{
    const ts_columns *const c = &rows->columns;
    const bool kernel = c->kind == TS_EVENT_KERNEL;
    const bool named =
        c->kind == TS_EVENT_COLLECTIVE || c->kind == TS_EVENT_HOST_FUNCTION;
    const uint64_t none = LABEL_KIND + (uint64_t)c->kind;
    const uint64_t *const ids = kernel  ? c->values[TS_COLUMN_LAUNCH]
                                : named ? c->values[TS_COLUMN_NAME]
                                        : NULL;
    rows->constant[RAW_LABEL] = none;
    if (!ids) return;
    uint64_t *const labels = make_column(rows, RAW_LABEL);
    uint64_t last = 0, label = none;
    for (uint32_t i = 0; i < rows->total; i++) {
        if (ids[i] != last) {
            const ts_launch_entry *const launch =
                kernel ? ts_reader_launch(reader, (uint32_t)ids[i]) : NULL;
            last = ids[i];
            label = !kernel ? last : launch ? launch->name : 0;
            if (!label) label = none;
        }
        labels[i] = label;
    }
}

// Converts a time that is stored as ticks before the start, plus 1.
static void make_moments(query_rows *rows, const ts_reader *reader,
                         uint32_t raw, ts_column column)
{
    const ts_columns *const c = &rows->columns;
    const uint64_t *const before = c->values[column];
    rows->constant[raw] = RAW_NEVER;
    if (!before) return;
    uint64_t *const moments = make_column(rows, raw);
    for (uint32_t i = 0; i < rows->total; i++)
        moments[i] = before[i] ? (uint64_t)ts_reader_time_ns(
                                     reader, c->clock,
                                     c->start_ticks[i] - (before[i] - 1))
                               : RAW_NEVER;
}

#define NESTING \
    (RAW_BIT(RAW_ZONE) | RAW_BIT(RAW_PARENT) | RAW_BIT(RAW_DEPTH) | \
     RAW_BIT(RAW_SELF))

// Allocates the computed columns, for `count` rows each.
static bool room_for(query_rows *rows, uint64_t uses, uint32_t count)
{
    static const uint64_t own = RAW_BIT(RAW_END) | RAW_BIT(RAW_TRACK) |
                                RAW_BIT(RAW_OPERATION) | RAW_BIT(RAW_LABEL) |
                                RAW_BIT(RAW_QUEUED_NS) |
                                RAW_BIT(RAW_SUBMITTED_NS) | NESTING;
    const bool grow = count > rows->made_room;
    if (grow || !rows->made_room) rows->made_room = count ? count : 1;
    for (uint32_t raw = 0; raw < RAW_LIMIT; raw++) {
        if (!((uses & own) >> raw & 1) || (rows->made[raw] && !grow)) continue;
        free(rows->made[raw]);
        rows->made[raw] = malloc(rows->made_room * sizeof(uint64_t));
        if (!rows->made[raw]) return false;
    }
    return true;
}

static bool fill(query *q, query_rows *rows, const query_chunk *chunk,
                 uint64_t uses)
{
    const ts_columns *const c = &rows->columns;
    const ts_reader *const reader = q->files[chunk->file].trace.reader;
    if (!room_for(rows, uses, c->count)) return false;
    memset(rows->values, 0, sizeof rows->values);
    memset(rows->constant, 0, sizeof rows->constant);
    memcpy(rows->values, c->values, sizeof c->values);
    rows->values[RAW_START] = (const uint64_t *)c->start_ns;
    rows->values[RAW_DURATION] = (const uint64_t *)c->duration_ns;
    if (c->kind == TS_EVENT_MEMCPY)
        rows->values[RAW_COPY] = c->values[TS_COLUMN_TYPE];
    if (c->kind == TS_EVENT_COLLECTIVE)
        rows->values[RAW_ELEMENT] = c->values[TS_COLUMN_TYPE];
    rows->constant[RAW_KIND] = c->kind;
    rows->constant[RAW_FILE] = chunk->file;
    rows->total = rows->count = c->count;
    rows->texts = c->texts;
    rows->text_sizes = c->text_sizes;
    if (uses & RAW_BIT(RAW_END)) make_ends(rows);
    if (uses & RAW_BIT(RAW_TRACK)) make_tracks(rows);
    if (uses & RAW_BIT(RAW_LABEL)) make_labels(rows, reader);
    if (uses & RAW_BIT(RAW_OPERATION))
        make_operations(rows, &q->files[chunk->file]);
    if (uses & NESTING) make_nesting(rows, uses, q->files[chunk->file].nesting);
    if (uses & RAW_BIT(RAW_QUEUED_NS))
        make_moments(rows, reader, RAW_QUEUED_NS, TS_COLUMN_QUEUED);
    if (uses & RAW_BIT(RAW_SUBMITTED_NS))
        make_moments(rows, reader, RAW_SUBMITTED_NS, TS_COLUMN_SUBMITTED);
    return true;
}

int query_rows_load(query *q, query_rows *rows, const query_chunk *chunk,
                    uint64_t uses)
{
    ts_reader *const reader = q->files[chunk->file].trace.reader;
    rows->count = rows->total = 0;
    rows->order = NULL;
    rows->first_row = chunk->first_row;
    rows->columns_file = chunk->file;
    const int nested =
        uses & NESTING ? query_nesting_make(&q->files[chunk->file]) : SQLITE_OK;
    if (nested != SQLITE_OK) return nested;
    const ts_result result =
        ts_reader_decode(reader, chunk->index, &rows->columns);
    if (result == TS_ERR_MEMORY) return SQLITE_NOMEM;
    q->counts.chunks++;
    if (result != TS_OK) {
        q->counts.damaged++;
        return SQLITE_OK;
    }
    q->counts.rows += rows->columns.count;
    return fill(q, rows, chunk, uses) ? SQLITE_OK : SQLITE_NOMEM;
}

/* ---- Choosing ----------------------------------------------------------- */

int query_rows_pick(const query *q, query_rows *rows, query_test *tests,
                    size_t count)
{
    if (!count || !rows->total) return SQLITE_OK;
    if (rows->room < rows->total) {
        free(rows->picked);
        rows->picked = malloc(rows->total * sizeof *rows->picked);
        rows->room = rows->picked ? rows->total : 0;
        if (!rows->picked) return SQLITE_NOMEM;
    }
    uint32_t *const picked = rows->picked;
    uint32_t left = 0;
    const uint32_t file = (uint32_t)rows->constant[RAW_FILE];
    for (uint32_t i = 0; i < rows->total; i++)
        if (query_test_row(q, &tests[0], file,
                           query_raw(rows, tests[0].raw, i)))
            picked[left++] = i;
    for (size_t t = 1; t < count; t++) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < left; i++)
            if (query_test_row(q, &tests[t], file,
                               query_raw(rows, tests[t].raw, picked[i])))
                picked[kept++] = picked[i];
        left = kept;
    }
    rows->order = picked;
    rows->count = left;
    return SQLITE_OK;
}

void query_rows_close(query *q, query_rows *rows)
{
    ts_columns_close(q->files[rows->columns_file].trace.reader, &rows->columns);
    for (size_t i = 0; i < rows->kept_count; i++)
        ts_columns_close(q->files[rows->kept_files[i]].trace.reader,
                         &rows->kept[i]);
    for (uint32_t raw = 0; raw < RAW_LIMIT; raw++)
        free(rows->made[raw]);
    for (uint32_t raw = 0; raw < RAW_LIMIT; raw++)
        free(rows->made_narrow[raw]);
    free(rows->picked);
    free(rows->sorted);
    free(rows->kept_numbers);
    free(rows->kept_texts);
    free(rows->kept_sizes);
    free(rows->kept);
    free(rows->kept_files);
    *rows = (query_rows){ 0 };
}

#endif
