/*
    events.c - the virtual tables of events

    A cursor reads chunks in file order and returns the rows that pass the tests
    of its plan. For ORDER BY and GROUP BY it first copies and sorts the rows,
    which is several times faster than SQLite's sorter; for an order by start,
    only the rows of overlapping chunks. A column that a join looks up
    repeatedly gets an index.
*/
#include "tools/query/events.h"

#ifdef TRACESMITH_SQLITE

typedef struct memo {
    bool valid;
    uint32_t file;
    uint64_t raw;
    query_cell cell;
} memo;

typedef struct cursor {
    sqlite3_vtab_cursor base;
    query_plan plan;
    query_test tests[QUERY_TESTS_MOST];
    size_t test_count;
    const query_chunk **chunks; // chunks that can have rows of the result
    size_t chunk_count, next;
    query_rows rows;
    const query_rows *at_rows; // &rows, or the rows of an index
    query_index *index;
    uint32_t at, row, last; // position, its row, end position
    memo *memos;            // one for each column
} cursor;

/* ---- Tables ------------------------------------------------------------- */

bool query_chunk_of(const query *q, const query_table *table, uint32_t file,
                    size_t index, query_chunk *chunk)
{
    ts_chunk_info info;
    if (!ts_reader_chunk(q->files[file].trace.reader, index, &info))
        return false;
    const ts_chunk_header *const h = &info.header;
    if (h->kind != TS_CHUNK_EVENTS || h->event >= TS_EVENT_LIMIT ||
        !(table->kinds >> h->event & 1))
        return false;
    *chunk = (query_chunk){ .file = file,
                            .index = (uint32_t)index,
                            .count = h->count,
                            .track = h->track,
                            .kind = h->event,
                            .first_ns = info.first_ns,
                            .last_ns = info.last_ns };
    return true;
}

static bool list_chunks(sqlite3_vtab *base)
{
    query_vtab *const vtab = (query_vtab *)base;
    const query *const q = vtab->of.q;
    size_t most = 0;
    for (uint32_t f = 0; f < q->file_count; f++)
        most += ts_reader_chunk_count(q->files[f].trace.reader);
    vtab->chunks = malloc((most ? most : 1) * sizeof *vtab->chunks);
    if (!vtab->chunks) return false;
    for (uint32_t f = 0; f < q->file_count; f++) {
        const size_t count = ts_reader_chunk_count(q->files[f].trace.reader);
        for (size_t i = 0; i < count; i++) {
            query_chunk *const chunk = &vtab->chunks[vtab->chunk_count];
            if (!query_chunk_of(q, vtab->of.table, f, i, chunk)) continue;
            chunk->first_row = vtab->rows;
            vtab->rows += chunk->count;
            vtab->chunk_count++;
        }
    }
    return true;
}

static void release(query *q, query_index *index)
{
    if (!index || --index->users) return;
    query_rows_close(q, &index->rows);
    free(index->keys);
    free(index);
}

static int event_disconnect(sqlite3_vtab *base)
{
    query_vtab *const vtab = (query_vtab *)base;
    for (uint32_t raw = 0; raw < RAW_LIMIT; raw++)
        release(vtab->of.q, vtab->indexes[raw]);
    free(vtab->chunks);
    free(vtab->plans);
    free(vtab);
    return SQLITE_OK;
}

static int event_connect(sqlite3 *db, void *aux, int count,
                         const char *const *values, sqlite3_vtab **made,
                         char **error)
{
    (void)db;
    (void)count;
    (void)values;
    (void)error;
    return query_connect(aux, sizeof(query_vtab), list_chunks, event_disconnect,
                         made);
}

/* ---- Cursors ------------------------------------------------------------ */

static int event_open(sqlite3_vtab *base, sqlite3_vtab_cursor **made)
{
    const query_vtab *const vtab = (const query_vtab *)base;
    cursor *const c = calloc(1, sizeof *c);
    if (!c) return SQLITE_NOMEM;
    c->memos = calloc(vtab->of.table->column_count, sizeof *c->memos);
    c->chunks = malloc((vtab->chunk_count + 1) * sizeof(query_chunk *));
    if (!c->memos || !c->chunks) {
        free(c->memos);
        free(c->chunks);
        free(c);
        return SQLITE_NOMEM;
    }
    *made = &c->base;
    return SQLITE_OK;
}

static void forget(cursor *c)
{
    query_vtab *const vtab = (query_vtab *)c->base.pVtab;
    for (size_t i = 0; i < c->test_count; i++)
        query_test_close(&c->tests[i]);
    c->test_count = 0;
    release(vtab->of.q, c->index);
    c->index = NULL;
    c->at = c->last = 0;
    c->chunk_count = c->next = 0;
}

static int event_close(sqlite3_vtab_cursor *base)
{
    cursor *const c = (cursor *)base;
    query_vtab *const vtab = (query_vtab *)base->pVtab;
    forget(c);
    query_rows_close(vtab->of.q, &c->rows);
    free(c->memos);
    free(c->chunks);
    free(c);
    return SQLITE_OK;
}

/* ---- Going on ----------------------------------------------------------- */

static void give(cursor *c, const query_rows *rows, uint32_t first,
                 uint32_t last)
{
    c->at_rows = rows;
    c->at = first;
    c->last = last;
    if (first < last) c->row = rows->order ? rows->order[first] : first;
}

static bool ordered_by_start(const query_plan *plan)
{
    return plan->order_count == 1 && plan->orders[0].raw == RAW_START &&
           !plan->orders[0].desc;
}

// Returns the end index of the run of overlapping chunks that begins at
// c->next.
static size_t overlapping(const cursor *c)
{
    int64_t last = c->chunks[c->next]->last_ns;
    size_t end = c->next + 1;
    for (; end < c->chunk_count && c->chunks[end]->first_ns <= last; end++)
        if (c->chunks[end]->last_ns > last) last = c->chunks[end]->last_ns;
    return end;
}

static int load_ordered(cursor *c)
{
    query *const q = ((query_vtab *)c->base.pVtab)->of.q;
    const size_t first = c->next;
    c->next = ordered_by_start(&c->plan) ? overlapping(c) : c->chunk_count;
    int code =
        query_rows_gather(q, &c->rows, c->chunks + first, c->next - first,
                          c->plan.uses, c->tests, c->test_count);
    if (code == SQLITE_OK)
        code =
            query_rows_sort(q, &c->rows, c->plan.orders, c->plan.order_count);
    q->counts.sorts++;
    return code;
}

static int load_next(cursor *c)
{
    query *const q = ((query_vtab *)c->base.pVtab)->of.q;
    if (query_stops(q)) return SQLITE_INTERRUPT;
    if (c->plan.order_count) return load_ordered(c);
    cli_progress_show(&q->progress, c->next, c->chunk_count);
    int code = query_rows_load(q, &c->rows, c->chunks[c->next++], c->plan.uses);
    if (code == SQLITE_OK)
        code = query_rows_pick(q, &c->rows, c->tests, c->test_count);
    return code;
}

// Loads chunks until there is a row or no chunk is left.
static int load_some(cursor *c)
{
    c->at = c->last = 0;
    while (c->next < c->chunk_count) {
        const int code = load_next(c);
        if (code != SQLITE_OK) return code;
        give(c, &c->rows, 0, c->rows.count);
        if (c->last) break;
    }
    return SQLITE_OK;
}

// Skips rows of an index that fail the other tests.
static void skip_failing(cursor *c)
{
    const query *const q = ((query_vtab *)c->base.pVtab)->of.q;
    for (; c->at < c->last; c->at++) {
        c->row = c->at_rows->order ? c->at_rows->order[c->at] : c->at;
        const uint32_t file = (uint32_t)query_raw(c->at_rows, RAW_FILE, c->row);
        bool pass = true;
        for (size_t i = 0; pass && i < c->test_count; i++)
            pass =
                query_test_row(q, &c->tests[i], file,
                               query_raw(c->at_rows, c->tests[i].raw, c->row));
        if (pass) return;
    }
}

static int event_next(sqlite3_vtab_cursor *base)
{
    cursor *const c = (cursor *)base;
    c->at++;
    if (c->index) {
        skip_failing(c);
        return SQLITE_OK;
    }
    if (c->at < c->last) {
        c->row = c->at_rows->order ? c->at_rows->order[c->at] : c->at;
        return SQLITE_OK;
    }
    return load_some(c);
}

static int event_eof(sqlite3_vtab_cursor *base)
{
    const cursor *const c = (const cursor *)base;
    return c->at >= c->last;
}

/* ---- Looking up --------------------------------------------------------- */

static int make_index(query_vtab *vtab, uint32_t raw, uint64_t uses)
{
    query_index *const old = vtab->indexes[raw];
    query_index *const index = calloc(1, sizeof *index);
    const query_chunk **const all =
        malloc((vtab->chunk_count + 1) * sizeof(query_chunk *));
    int code = index && all ? SQLITE_OK : SQLITE_NOMEM;
    for (size_t i = 0; code == SQLITE_OK && i < vtab->chunk_count; i++)
        all[i] = &vtab->chunks[i];
    if (code == SQLITE_OK) {
        *index = (query_index){ .raw = raw, .users = 1 };
        index->uses = uses | RAW_BIT(raw) | (old ? old->uses : 0);
        code = query_rows_gather(vtab->of.q, &index->rows, all,
                                 vtab->chunk_count, index->uses, NULL, 0);
    }
    if (code == SQLITE_OK)
        code = query_rows_index(&index->rows, raw, &index->keys);
    free(all);
    if (code != SQLITE_OK) {
        release(vtab->of.q, index);
        return code;
    }
    vtab->of.q->counts.indexes++;
    release(vtab->of.q, old);
    vtab->indexes[raw] = index;
    return SQLITE_OK;
}

// Returns the first position whose key is not less.
static uint32_t search(const query_index *index, int64_t key)
{
    uint32_t low = 0, high = index->rows.total;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (index->keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int look_up(cursor *c, uint32_t raw, const query_test *test)
{
    query_vtab *const vtab = (query_vtab *)c->base.pVtab;
    query_index *index = vtab->indexes[raw];
    if (!index || (index->uses & c->plan.uses) != c->plan.uses) {
        const int code = make_index(vtab, raw, c->plan.uses);
        if (code != SQLITE_OK) return code;
        index = vtab->indexes[raw];
    }
    index->users++;
    c->index = index;
    const uint32_t first = search(index, test->low);
    const uint32_t last = test->high < INT64_MAX ? search(index, test->high + 1)
                                                 : index->rows.total;
    give(c, &index->rows, first, last);
    skip_failing(c);
    return SQLITE_OK;
}

/* ---- Filters ------------------------------------------------------------ */

static int by_start(const void *a, const void *b)
{
    const query_chunk *const x = *(const query_chunk *const *)a;
    const query_chunk *const y = *(const query_chunk *const *)b;
    if (x->first_ns != y->first_ns) return x->first_ns < y->first_ns ? -1 : 1;
    return (x->first_row > y->first_row) - (x->first_row < y->first_row);
}

static void choose_chunks(cursor *c)
{
    const query_vtab *const vtab = (const query_vtab *)c->base.pVtab;
    for (size_t i = 0; i < vtab->chunk_count; i++) {
        const query_chunk *const chunk = &vtab->chunks[i];
        bool wanted = chunk->count > 0;
        for (size_t t = 0; wanted && t < c->test_count; t++)
            wanted = query_test_chunk(vtab->of.q, &c->tests[t], chunk);
        if (wanted) c->chunks[c->chunk_count++] = chunk;
    }
    if (ordered_by_start(&c->plan) && c->chunk_count)
        qsort(c->chunks, c->chunk_count, sizeof *c->chunks, by_start);
}

static int open_tests(cursor *c, sqlite3_value **values)
{
    const query_vtab *const vtab = (const query_vtab *)c->base.pVtab;
    for (uint32_t i = 0; i < c->plan.test_count; i++) {
        const query_column *const column =
            &vtab->of.table->columns[c->plan.tests[i].column];
        const uint8_t op = (uint8_t)c->plan.tests[i].op;
        const char *const text =
            op == SQLITE_INDEX_CONSTRAINT_REGEXP
                ? (const char *)sqlite3_value_text(values[i])
                : NULL;
        bool matches;
        if (text && !query_regexp(vtab->of.q, text, "", &matches)) {
            sqlite3_free(c->base.pVtab->zErrMsg);
            c->base.pVtab->zErrMsg =
                sqlite3_mprintf("'%s' is not a valid extended regular "
                                "expression",
                                text);
            return SQLITE_ERROR;
        }
        const int code = query_test_open(&c->tests[i], column->raw,
                                         column->show, op, values[i]);
        if (code != SQLITE_OK) return code;
        c->test_count++;
    }
    return SQLITE_OK;
}

static int event_filter(sqlite3_vtab_cursor *base, int number, const char *text,
                        int count, sqlite3_value **values)
{
    cursor *const c = (cursor *)base;
    query_vtab *const vtab = (query_vtab *)base->pVtab;
    (void)text;
    (void)count;
    forget(c);
    c->plan = vtab->plans[number];
    const int code = open_tests(c, values);
    if (code != SQLITE_OK) return code;
    if (c->plan.lookup >= 0) {
        const query_test *const test = &c->tests[c->plan.lookup];
        if (test->low > test->high) return SQLITE_OK;
        if (!test->pass && vtab->looked[test->raw])
            return look_up(c, test->raw, test);
        vtab->looked[test->raw] = true;
    }
    choose_chunks(c);
    return load_some(c);
}

/* ---- Values ------------------------------------------------------------- */

static void result_text(const query_rows *rows, uint32_t row,
                        sqlite3_context *context)
{
    // SQLite copies the text, because the chunk may be freed before it.
    if (rows->text_sizes)
        sqlite3_result_text(context, rows->texts[row],
                            (int)rows->text_sizes[row], SQLITE_TRANSIENT);
    else
        sqlite3_result_text(context, "", 0, SQLITE_STATIC);
}

static void result_value(const query_rows *rows, uint32_t row,
                         sqlite3_context *context)
{
    const uint64_t type = query_raw(rows, TS_COLUMN_TYPE, row);
    const uint64_t value = query_raw(rows, TS_COLUMN_VALUE, row);
    double real;
    memcpy(&real, &value, sizeof real);
    if (type == TS_VALUE_TEXT)
        result_text(rows, row, context);
    else if (type == TS_VALUE_DOUBLE)
        sqlite3_result_double(context, real);
    else
        sqlite3_result_int64(context, (int64_t)value);
}

static int event_column(sqlite3_vtab_cursor *base, sqlite3_context *context,
                        int i)
{
    cursor *const c = (cursor *)base;
    const query_vtab *const vtab = (const query_vtab *)base->pVtab;
    const query_column *const column = &vtab->of.table->columns[i];
    const query_rows *const rows = c->at_rows;
    const uint64_t raw = query_raw(rows, column->raw, c->row);
    if (column->show <= SHOW_LAST_NUMBER) {
        sqlite3_result_int64(context, (int64_t)raw);
    } else if (column->show == SHOW_TEXT) {
        result_text(rows, c->row, context);
    } else if (column->show == SHOW_VALUE) {
        result_value(rows, c->row, context);
    } else {
        const uint32_t file = (uint32_t)query_raw(rows, RAW_FILE, c->row);
        memo *const m = &c->memos[i];
        if (!m->valid || m->raw != raw || m->file != file) {
            m->cell = query_show_cell(vtab->of.q, file, column->show, raw);
            m->valid = true;
            m->raw = raw;
            m->file = file;
        }
        query_result(context, &m->cell);
    }
    return SQLITE_OK;
}

static int event_rowid(sqlite3_vtab_cursor *base, sqlite_int64 *rowid)
{
    const cursor *const c = (const cursor *)base;
    const query_rows *const rows = c->at_rows;
    const uint32_t row = rows->origin ? rows->origin[c->row] : c->row;
    *rowid = rows->numbers ? (sqlite_int64)rows->numbers[row]
                           : (sqlite_int64)(rows->first_row + row);
    return SQLITE_OK;
}

const sqlite3_module query_event_module = {
    .iVersion = 1,
    .xCreate = event_connect,
    .xConnect = event_connect,
    .xBestIndex = query_plan_best,
    .xDisconnect = event_disconnect,
    .xDestroy = event_disconnect,
    .xOpen = event_open,
    .xClose = event_close,
    .xFilter = event_filter,
    .xNext = event_next,
    .xEof = event_eof,
    .xColumn = event_column,
    .xRowid = event_rowid,
};

#endif
