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

uint64_t query_rows_columns(uint64_t uses)
{
    static const struct {
        uint64_t raw, columns;
    } more[] = {
        { RAW_START, TS_COLUMN_BIT(START) },
        { RAW_END, TS_COLUMN_BIT(START) | TS_COLUMN_BIT(DURATION) },
        { RAW_DURATION, TS_COLUMN_BIT(DURATION) },
        { RAW_TRACK, TS_COLUMN_BIT(TRACK) },
        { RAW_LABEL, TS_COLUMN_BIT(LAUNCH) | TS_COLUMN_BIT(NAME) },
        { RAW_QUEUED_NS, TS_COLUMN_BIT(QUEUED) | TS_COLUMN_BIT(START) },
        { RAW_SUBMITTED_NS, TS_COLUMN_BIT(SUBMITTED) | TS_COLUMN_BIT(START) },
        { RAW_COPY, TS_COLUMN_BIT(TYPE) },
        { RAW_ELEMENT, TS_COLUMN_BIT(TYPE) },
        { RAW_TEXT, TS_COLUMN_BIT(TEXT) },
    };
    uint64_t columns = uses & (RAW_BIT(TS_COLUMN_LIMIT) - 1);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (uses >> more[i].raw & 1) columns |= more[i].columns;
    return columns;
}

int query_rows_prepare(query *q, uint64_t uses)
{
    int code = SQLITE_OK;
    for (uint32_t i = 0; uses & NESTING && i < q->file_count; i++)
        if (code == SQLITE_OK) code = query_nesting_make(q, &q->files[i]);
    return code;
}

static void begin(query_rows *rows, const query_chunk *chunk)
{
    rows->count = rows->total = 0;
    rows->order = NULL;
    rows->first_row = chunk->first_row;
    rows->columns_file = chunk->file;
}

bool query_rows_show(query *q, query_rows *rows, const query_chunk *chunk,
                     const ts_columns *columns, uint64_t uses)
{
    begin(rows, chunk);
    rows->columns = *columns;
    const bool filled = fill(q, rows, chunk, uses);
    rows->columns = (ts_columns){ 0 }; // they are the caller's
    return filled;
}

int query_rows_load(query *q, query_rows *rows, const query_chunk *chunk,
                    uint64_t uses)
{
    ts_reader *const reader = q->files[chunk->file].trace.reader;
    begin(rows, chunk);
    const int nested = uses & NESTING
                           ? query_nesting_make(q, &q->files[chunk->file])
                           : SQLITE_OK;
    if (nested != SQLITE_OK) return nested;
    const ts_result result = ts_reader_decode_columns(
        reader, chunk->index, query_rows_columns(uses), &rows->columns);
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

// Keeps those of the first `count` picked rows that pass a test.
static uint32_t pick(const query *q, const query_rows *rows, query_test *test,
                     uint32_t count)
{
    const uint32_t file = (uint32_t)rows->constant[RAW_FILE];
    const uint64_t *const values = rows->values[test->raw];
    uint32_t *const picked = rows->picked;
    uint32_t kept = 0;
    if (query_test_is_range(test) && values) {
        // Without branches: which rows pass cannot be foreseen.
        const uint64_t low = (uint64_t)test->low;
        const uint64_t span = (uint64_t)test->high - low;
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t row = picked[i];
            picked[kept] = row;
            kept += values[row] - low <= span;
        }
        return kept;
    }
    for (uint32_t i = 0; i < count; i++)
        if (query_test_row(q, test, file,
                           query_raw(rows, test->raw, picked[i])))
            picked[kept++] = picked[i];
    return kept;
}

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
    uint32_t left = rows->total;
    for (uint32_t i = 0; i < left; i++)
        picked[i] = i;
    for (size_t t = 0; t < count; t++)
        left = pick(q, rows, &tests[t], left);
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
