/*
    lines.c - rows of events as CSV, chunk after chunk

    A batch of chunks is decoded and formatted on all cores; SQLite gets their
    texts in the order of the file.
*/
#include "tools/query/pushdown/lines.h"
#include "tools/query/csv.h"

#ifdef TRACESMITH_SQLITE
#include <math.h>

enum { BATCH = 32, CACHE = 256, CACHED_BYTES = 48 };

// What a raw number of a dictionary looks like as CSV.
typedef struct cached {
    uint64_t raw;
    uint32_t file;
    uint8_t size, used;
    char text[CACHED_BYTES];
} cached;

typedef struct block {
    csv_buffer text;
    uint64_t rows;
} block;

struct push_lines {
    query *q;
    push_groups *groups; // of each thread: its rows and tests
    cached *caches;      // of each thread: CACHE for each column
    uint32_t threads;
    uint64_t uses;
    query_chunk *chunks;
    size_t count, next;  // next: the first one of the next batch
    size_t first;        // of this batch
    size_t at;           // the present one
    block blocks[BATCH]; // of this batch
    size_t called, batch;
    bool stopped, failed;
};

/* ---- Values ------------------------------------------------------------- */

static void put_cell(csv_buffer *to, const query_cell *cell)
{
    if (cell->type == CELL_INTEGER) csv_put_integer(to, cell->number);
    if (cell->type == CELL_TEXT)
        csv_put_text(to, cell->text.text, cell->text.size);
}

static void put_shown(const push_lines *l, cached *cache, csv_buffer *to,
                      uint32_t file, const query_column *column, uint64_t raw)
{
    cached *const c = &cache[raw % CACHE];
    if (c->used && c->raw == raw && c->file == file) {
        csv_put_bytes(to, c->text, c->size);
        return;
    }
    const size_t before = to->size;
    const query_cell cell = query_show_cell(l->q, file, column->show, raw);
    put_cell(to, &cell);
    const size_t size = to->size - before;
    if (to->failed || size > CACHED_BYTES) return;
    *c = (cached){ .raw = raw, .file = file, .size = (uint8_t)size, .used = 1 };
    if (size) memcpy(c->text, to->data + before, size);
}

static void put_row_text(csv_buffer *to, const query_rows *rows, uint32_t row)
{
    if (rows->text_sizes)
        csv_put_text(to, rows->texts[row], rows->text_sizes[row]);
}

// A value whose type is the row's; SQL has no NaN.
static void put_value(csv_buffer *to, const query_rows *rows, uint32_t row)
{
    const uint64_t type = query_raw(rows, TS_COLUMN_TYPE, row);
    const uint64_t value = query_raw(rows, TS_COLUMN_VALUE, row);
    double real;
    memcpy(&real, &value, sizeof real);
    if (type == TS_VALUE_TEXT)
        put_row_text(to, rows, row);
    else if (type != TS_VALUE_DOUBLE)
        csv_put_integer(to, (int64_t)value);
    else if (!isnan(real))
        csv_put_real(to, real);
}

static void put_column(const push_lines *l, cached *cache, csv_buffer *to,
                       const query_rows *rows, const query_column *column,
                       uint32_t row)
{
    if (column->show == SHOW_TEXT) {
        put_row_text(to, rows, row);
        return;
    }
    if (column->show == SHOW_VALUE) {
        put_value(to, rows, row);
        return;
    }
    const uint64_t raw = query_raw(rows, column->raw, row);
    int64_t number;
    if (!query_push_is_number(column))
        put_shown(l, cache, to, rows->columns_file, column, raw);
    else if (query_show_number(column->show, raw, &number))
        csv_put_integer(to, number);
}

static void put_rows(const push_lines *l, uint32_t thread, csv_buffer *to)
{
    const query_push *const p = l->q->push;
    const query_rows *const rows = &l->groups[thread].rows;
    cached *const caches = l->caches + (size_t)thread * p->shown_count * CACHE;
    for (uint32_t i = 0; i < rows->count; i++) {
        const uint32_t row = rows->order ? rows->order[i] : i;
        for (uint32_t c = 0; c < p->shown_count; c++) {
            if (c) csv_put_bytes(to, ",", 1);
            put_column(l, caches + (size_t)c * CACHE, to, rows,
                       &p->table->columns[p->shown[c]], row);
        }
        csv_put_bytes(to, "\n", 1);
    }
}

/* ---- Batches ------------------------------------------------------------ */

static void put_chunk(const ts_columns *columns, uint32_t thread, void *user)
{
    push_lines *const l = user;
    push_groups *const g = &l->groups[thread];
    size_t i = 0;
    __atomic_add_fetch(&l->called, 1, __ATOMIC_RELAXED);
    if (!thread && query_stops(l->q))
        __atomic_store_n(&l->stopped, true, __ATOMIC_RELAXED);
    if (__atomic_load_n(&l->stopped, __ATOMIC_RELAXED)) return;
    while (l->chunks[l->first + i].index != columns->chunk)
        i++;
    block *const b = &l->blocks[i];
    if (!query_rows_show(l->q, &g->rows, &l->chunks[l->first + i], columns,
                         l->uses) ||
        query_rows_pick(l->q, &g->rows, g->tests, g->test_count) != SQLITE_OK) {
        __atomic_store_n(&l->failed, true, __ATOMIC_RELAXED);
        return;
    }
    put_rows(l, thread, &b->text);
    b->rows = g->rows.count;
    if (b->text.failed) __atomic_store_n(&l->failed, true, __ATOMIC_RELAXED);
}

static int next_batch(push_lines *l)
{
    size_t wanted[BATCH];
    query *const q = l->q;
    const uint32_t file = l->chunks[l->next].file;
    l->first = l->next;
    l->called = 0;
    for (l->batch = 0; l->batch < BATCH && l->next < l->count &&
                       l->chunks[l->next].file == file;
         l->batch++) {
        l->blocks[l->batch].text.size = 0;
        l->blocks[l->batch].rows = 0;
        wanted[l->batch] = l->chunks[l->next++].index;
        q->counts.rows += l->chunks[l->next - 1].count;
    }
    cli_progress_show(&q->progress, l->first, l->count);
    const ts_scan_desc desc = { .chunks = wanted,
                                .chunk_count = l->batch,
                                .columns = query_rows_columns(l->uses),
                                .threads = l->threads,
                                .call = put_chunk,
                                .user = l };
    const ts_result result =
        ts_reader_scan_columns(q->files[file].trace.reader, &desc);
    q->counts.chunks += l->batch;
    q->counts.damaged += l->batch - l->called;
    if (result == TS_ERR_MEMORY || l->failed) return SQLITE_NOMEM;
    return l->stopped ? SQLITE_INTERRUPT : SQLITE_OK;
}

int push_lines_next(push_lines *l)
{
    for (l->at++;; l->at++) {
        if (l->at >= l->batch) {
            if (l->next >= l->count) return SQLITE_OK;
            const int code = next_batch(l);
            if (code != SQLITE_OK) return code;
            l->at = 0;
        }
        if (l->blocks[l->at].rows) return SQLITE_OK;
    }
}

bool push_lines_end(const push_lines *l)
{
    return l->at >= l->batch;
}

void push_lines_result(const push_lines *l, uint32_t column,
                       sqlite3_context *context)
{
    const block *const b = &l->blocks[l->at];
    if (column)
        sqlite3_result_int64(context, (sqlite3_int64)b->rows);
    else
        sqlite3_result_blob64(context, b->text.data, b->text.size,
                              SQLITE_STATIC);
}

/* ---- Opening ------------------------------------------------------------ */

static bool list_chunks(push_lines *l)
{
    const query *const q = l->q;
    size_t most = 1;
    for (uint32_t f = 0; f < q->file_count; f++)
        most += ts_reader_chunk_count(q->files[f].trace.reader);
    l->chunks = malloc(most * sizeof *l->chunks);
    for (uint32_t f = 0; l->chunks && f < q->file_count; f++) {
        const size_t count = ts_reader_chunk_count(q->files[f].trace.reader);
        for (size_t i = 0; i < count; i++) {
            query_chunk *const chunk = &l->chunks[l->count];
            bool pass = query_chunk_of(q, q->push->table, f, i, chunk);
            for (uint32_t t = 0; pass && t < l->groups[0].test_count; t++)
                pass = query_test_chunk(q, &l->groups[0].tests[t], chunk);
            l->count += pass && chunk->count;
        }
    }
    return l->chunks != NULL;
}

int push_lines_open(push_lines **made, query *q, push_groups *groups,
                    uint32_t threads, uint64_t uses)
{
    push_lines *const l = calloc(1, sizeof *l);
    *made = l;
    if (!l) return SQLITE_NOMEM;
    l->q = q;
    l->groups = groups;
    l->threads = threads;
    l->uses = uses;
    l->caches = calloc((size_t)threads * q->push->shown_count * CACHE,
                       sizeof *l->caches);
    return l->caches && list_chunks(l) ? SQLITE_OK : SQLITE_NOMEM;
}

void push_lines_close(push_lines *l)
{
    if (!l) return;
    for (size_t i = 0; i < BATCH; i++)
        csv_close(&l->blocks[i].text);
    free(l->chunks);
    free(l->caches);
    free(l);
}

#endif
