/*
    sums.c - the virtual table ts_sums: rows of events added up by column

    Chunks are decoded on all cores. Each thread adds up what it gets in groups
    of its own, which are given to SQLite one after another: SQLite adds up
    those of equal values anyway, see pushdown.h.
*/
#include "tools/query/events.h"
#include "tools/query/pushdown/pushdown.h"
#include "tools/query/pushdown/groups.h"
#include "tools/query/pushdown/lines.h"
#include "tools/query/pushdown/sums_plan.h"
#include "tools/query/pushdown/top.h"

#ifdef TRACESMITH_SQLITE
#include <unistd.h>

enum { THREADS_MOST = 64 };

typedef struct sums_vtab {
    query_vtab_base of;
    sums_plan *plans; // by number; those of other statements, too
    size_t count, room;
} sums_vtab;

typedef struct sums_cursor {
    sqlite3_vtab_cursor base;
    sums_plan plan;
    push_groups *groups; // of each thread
    uint32_t threads, thread;
    uint32_t at;
    push_lines *lines; // instead of groups
    bool full;         // `last` is the only row, see top.h
    int64_t last;
    bool filled; // without tests: the same rows every time
} sums_cursor;

/* ---- The table ---------------------------------------------------------- */

static int sums_disconnect(sqlite3_vtab *base)
{
    free(((sums_vtab *)base)->plans);
    free(base);
    return SQLITE_OK;
}

static void declare_some(sqlite3_str *text, char letter, int count,
                         const char *type)
{
    for (int i = 0; i < count; i++)
        sqlite3_str_appendf(text, "%s%c%d %s", letter == 't' && !i ? "" : ", ",
                            letter, i, type);
}

static int sums_connect(sqlite3 *db, void *aux, int count,
                        const char *const *values, sqlite3_vtab **made,
                        char **error)
{
    sums_vtab *const v = calloc(1, sizeof *v);
    sqlite3_str *const text = sqlite3_str_new(db);
    (void)count, (void)values, (void)error;
    sqlite3_str_appendall(text, "CREATE TABLE x(");
    declare_some(text, 't', PUSH_TEXTS, "TEXT");
    declare_some(text, 'i', PUSH_NUMBERS, "INTEGER");
    declare_some(text, 'f', PUSH_FILTERS, "INTEGER");
    declare_some(text, 'a', PUSH_SUMS, "");
    sqlite3_str_appendall(text, ")");
    char *const sql = sqlite3_str_finish(text);
    int code = v && sql ? query_declare(aux, sql) : SQLITE_NOMEM;
    sqlite3_free(sql);
    if (code != SQLITE_OK) {
        free(v);
        return code;
    }
    v->of.q = aux;
    *made = &v->of.base;
    return SQLITE_OK;
}

/* ---- Plans -------------------------------------------------------------- */

// Returns the column of the table of events that a column before the sums is.
static uint32_t column_of(const query_push *push, uint32_t column)
{
    if (column < PUSH_TEXTS) return push->texts.columns[column];
    column -= PUSH_TEXTS;
    if (column < PUSH_NUMBERS) return push->numbers.columns[column];
    return push->filters.columns[column - PUSH_NUMBERS];
}

// Whether SQLite cannot test a column itself.
static bool is_filter(const query_push *push, uint32_t column)
{
    if (push->lines || push->top) return column < PUSH_COLUMNS - PUSH_SUMS;
    return column >= PUSH_TEXTS + PUSH_NUMBERS &&
           column < PUSH_TEXTS + PUSH_NUMBERS + PUSH_FILTERS;
}

static bool is_range(uint8_t op)
{
    return op == SQLITE_INDEX_CONSTRAINT_EQ ||
           op == SQLITE_INDEX_CONSTRAINT_GT ||
           op == SQLITE_INDEX_CONSTRAINT_GE ||
           op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE;
}

static bool can_filter(uint8_t op)
{
    return is_range(op) || op == SQLITE_INDEX_CONSTRAINT_NE ||
           op == SQLITE_INDEX_CONSTRAINT_ISNULL ||
           op == SQLITE_INDEX_CONSTRAINT_ISNOTNULL;
}

// A condition on a text that is tested here exactly.
static bool can_compare(sqlite3_index_info *info, int i)
{
    const uint8_t op = info->aConstraint[i].op;
    return (is_range(op) || op == SQLITE_INDEX_CONSTRAINT_LIKE ||
            op == SQLITE_INDEX_CONSTRAINT_GLOB) &&
           !sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY");
}

// A value that is known now, so that the table is not scanned for each of many.
static bool is_constant(sqlite3_index_info *info, int i)
{
#if SQLITE_VERSION_NUMBER >= 3038000
    sqlite3_value *value;
    return sqlite3_vtab_rhs_value(info, i, &value) == SQLITE_OK && value;
#else
    (void)info, (void)i;
    return false;
#endif
}

static bool can_test(sqlite3_index_info *info, int i, const query_column *c)
{
    const uint8_t op = info->aConstraint[i].op;
    if (!is_range(op) && !query_show_is_text(c->show)) return false;
    return can_compare(info, i) && is_constant(info, i);
}

static void take(const query_push *push, sums_plan *plan,
                 sqlite3_index_info *info, int i, bool must)
{
    const uint32_t at = plan->test_count++;
    plan->tests[at].column =
        column_of(push, (uint32_t)info->aConstraint[i].iColumn);
    plan->tests[at].op = info->aConstraint[i].op;
    plan->tests[at].must = must;
    info->aConstraintUsage[i].argvIndex = (int)at + 1;
    info->aConstraintUsage[i].omit = must;
}

// Takes the conditions that are tested here. False: one that has to be cannot.
static bool take_tests(const query_push *push, sqlite3_index_info *info,
                       sums_plan *plan)
{
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *const one =
            &info->aConstraint[i];
        const uint32_t column = (uint32_t)one->iColumn;
        const bool room = plan->test_count < QUERY_TESTS_MOST;
        if (one->iColumn < 0 || column >= PUSH_COLUMNS - PUSH_SUMS) continue;
        // Of LIKE, SQLite makes comparisons that need not be tested. Where it
        // has to test a text itself, reading the text fails.
        if ((push->lines || push->top) && column < PUSH_TEXTS &&
            !can_compare(info, i))
            continue;
        if (is_filter(push, column)) {
            if (!one->usable || !room ||
                (column >= PUSH_TEXTS && !can_filter(one->op)))
                return false;
            take(push, plan, info, i, true);
        } else if (one->usable && room &&
                   can_test(info, i,
                            &push->table->columns[column_of(push, column)])) {
            take(push, plan, info, i, false);
        }
    }
    return true;
}

static int keep_plan(sums_vtab *v, const sums_plan *plan, int *number)
{
    for (size_t i = 0; i < v->count; i++) {
        *number = (int)i;
        if (!memcmp(&v->plans[i], plan, sizeof *plan)) return SQLITE_OK;
    }
    if (!cli_grow(&v->plans, &v->room, v->count + 1, sizeof *v->plans))
        return SQLITE_NOMEM;
    *number = (int)v->count;
    v->plans[v->count++] = *plan;
    return SQLITE_OK;
}

static int sums_best(sqlite3_vtab *base, sqlite3_index_info *info)
{
    sums_vtab *const v = (sums_vtab *)base;
    const query *const q = v->of.q;
    sums_plan plan;
    memset(&plan, 0, sizeof plan); // clear padding: plans are compared as bytes
    if (!q->push) {                // only rewritten statements read it
        sqlite3_free(base->zErrMsg);
        base->zErrMsg = sqlite3_mprintf("no such table: ts_sums");
        return SQLITE_ERROR;
    }
    if (!take_tests(q->push, info, &plan)) return SQLITE_CONSTRAINT;
    info->estimatedRows = 100;
    info->estimatedCost = 1000;
    info->idxStr = sums_plan_text(q, &plan);
    info->needToFreeIdxStr = 1;
    return keep_plan(v, &plan, &info->idxNum);
}

/* ---- Adding up ---------------------------------------------------------- */

// A chunk's place in the table, by its index in the file.
typedef struct sums_job {
    query *q;
    sums_cursor *cursor;
    const query_chunk *chunks; // those of one file, by index
    uint64_t uses, rows;
    size_t called, total;
    bool stopped;
} sums_job;

static void add_chunk(const ts_columns *columns, uint32_t thread, void *user)
{
    sums_job *const job = user;
    push_groups *const g = &job->cursor->groups[thread];
    const size_t done = __atomic_add_fetch(&job->called, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&job->rows, columns->count, __ATOMIC_RELAXED);
    if (!thread && query_stops(job->q))
        __atomic_store_n(&job->stopped, true, __ATOMIC_RELAXED);
    if (g->failed || g->many ||
        __atomic_load_n(&job->stopped, __ATOMIC_RELAXED))
        return;
    if (!thread) cli_progress_show(&job->q->progress, done, job->total);
    if (!query_rows_show(job->q, &g->rows, &job->chunks[columns->chunk],
                         columns, job->uses) ||
        query_rows_pick(job->q, &g->rows, g->tests, g->test_count) != SQLITE_OK)
        g->failed = true;
    else if (g->push->top)
        g->failed = !push_top_add(g);
    else
        push_groups_add(g);
}

// Adds up the chunks of a file that can have rows that pass.
static int add_file(sums_cursor *c, uint32_t file, uint64_t uses)
{
    query *const q = ((sums_vtab *)c->base.pVtab)->of.q;
    ts_reader *const reader = q->files[file].trace.reader;
    const size_t count = ts_reader_chunk_count(reader);
    query_chunk *const chunks = calloc(count + 1, sizeof *chunks);
    size_t *const wanted = malloc((count + 1) * sizeof *wanted);
    sums_job job = { .q = q, .cursor = c, .chunks = chunks, .uses = uses };
    for (size_t i = 0; chunks && wanted && i < count; i++) {
        bool pass = query_chunk_of(q, q->push->table, file, i, &chunks[i]);
        for (uint32_t t = 0; pass && t < c->groups[0].test_count; t++)
            pass = query_test_chunk(q, &c->groups[0].tests[t], &chunks[i]);
        if (pass && chunks[i].count) wanted[job.total++] = i;
    }
    const ts_scan_desc desc = { .chunks = wanted,
                                .chunk_count = job.total,
                                .columns = query_rows_columns(uses),
                                .threads = c->threads,
                                .call = add_chunk,
                                .user = &job };
    ts_result result = TS_ERR_MEMORY;
    if (chunks && wanted) result = ts_reader_scan_columns(reader, &desc);
    q->counts.chunks += job.total;
    q->counts.rows += job.rows;
    q->counts.damaged += job.total - job.called;
    free(chunks);
    free(wanted);
    return job.stopped               ? SQLITE_INTERRUPT
           : result == TS_ERR_MEMORY ? SQLITE_NOMEM
                                     : SQLITE_OK;
}

// What the columns in use are made of; RAW_FILE tells files apart.
static uint64_t uses_of(const query *q, const sums_plan *plan)
{
    const query_push *const p = q->push;
    const query_column *const columns = p->table->columns;
    uint64_t uses = q->file_count > 1 ? RAW_BIT(RAW_FILE) : 0;
    for (uint32_t i = 0; i < p->texts.count; i++)
        uses |= query_column_uses(&columns[p->texts.columns[i]]);
    for (uint32_t i = 0; i < p->numbers.count; i++)
        uses |= query_column_uses(&columns[p->numbers.columns[i]]);
    if (p->top) uses |= query_column_uses(&columns[p->top_column]);
    for (uint32_t i = 0; i < p->shown_count; i++)
        uses |= query_column_uses(&columns[p->shown[i]]);
    for (uint32_t i = 0; i < p->sum_count; i++)
        if (p->sums[i].what != PUSH_ROWS)
            uses |= query_column_uses(&columns[p->sums[i].column]);
    for (uint32_t i = 0; i < plan->test_count; i++)
        uses |= query_column_uses(&columns[plan->tests[i].column]);
    return uses;
}

/* ---- Cursors ------------------------------------------------------------ */

static int sums_open(sqlite3_vtab *base, sqlite3_vtab_cursor **made)
{
    (void)base;
    sums_cursor *const c = calloc(1, sizeof *c);
    if (!c) return SQLITE_NOMEM;
    *made = &c->base;
    return SQLITE_OK;
}

static void forget(sums_cursor *c)
{
    query *const q = ((sums_vtab *)c->base.pVtab)->of.q;
    push_lines_close(c->lines);
    c->lines = NULL;
    for (uint32_t i = 0; i < c->threads; i++)
        push_groups_close(q, &c->groups[i]);
    free(c->groups);
    c->groups = NULL;
    c->threads = 0;
}

static int sums_close(sqlite3_vtab_cursor *base)
{
    forget((sums_cursor *)base);
    free(base);
    return SQLITE_OK;
}

// Values are converted here, not on several threads.
static int open_tests(push_groups *g, const sums_plan *plan,
                      const query_table *table, sqlite3_value **values)
{
    for (uint32_t i = 0; i < plan->test_count; i++) {
        const query_column *const c = &table->columns[plan->tests[i].column];
        query_test *const test = &g->tests[i];
        const int code = query_test_open(test, c->raw, c->show,
                                         (uint8_t)plan->tests[i].op, values[i]);
        if (code != SQLITE_OK) return code;
        g->test_count++;
        if (test->pass && plan->tests[i].must) return SQLITE_MISMATCH;
        if (test->value) sqlite3_value_text(test->value);
    }
    return SQLITE_OK;
}

static int open_threads(sums_cursor *c, sqlite3_value **values)
{
    const sums_vtab *const v = (const sums_vtab *)c->base.pVtab;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const uint32_t threads = cores < 1              ? 1
                             : cores > THREADS_MOST ? THREADS_MOST
                                                    : (uint32_t)cores;
    c->groups = calloc(threads, sizeof *c->groups);
    if (!c->groups) return SQLITE_NOMEM;
    int code = SQLITE_OK;
    for (; code == SQLITE_OK && c->threads < threads; c->threads++)
        if (!push_groups_open(v->of.q, &c->groups[c->threads]))
            code = SQLITE_NOMEM;
        else
            code = open_tests(&c->groups[c->threads], &c->plan,
                              v->of.q->push->table, values);
    return code;
}

static void skip_empty(sums_cursor *c)
{
    while (c->thread < c->threads &&
           c->at >= push_groups_count(&c->groups[c->thread])) {
        c->thread++;
        c->at = 0;
    }
}

static int fill(sums_cursor *c, sqlite3_value **values)
{
    const sums_vtab *const v = (const sums_vtab *)c->base.pVtab;
    query *const q = v->of.q;
    const uint64_t uses = uses_of(q, &c->plan);
    forget(c);
    int code = open_threads(c, values);
    if (code == SQLITE_OK) code = query_rows_prepare(q, uses);
    if (code == SQLITE_OK && q->push->lines)
        return push_lines_open(&c->lines, q, c->groups, c->threads, uses);
    for (uint32_t f = 0; code == SQLITE_OK && f < q->file_count; f++)
        code = add_file(c, f, uses);
    for (uint32_t i = 0; code == SQLITE_OK && i < c->threads; i++)
        if (c->groups[i].failed)
            code = SQLITE_NOMEM;
        else if (c->groups[i].many)
            code = SQLITE_MISMATCH;
    if (code == SQLITE_OK && q->push->top)
        c->full = push_top_last(c->groups, c->threads, &c->last);
    if (code == SQLITE_OK && !push_groups_exact(q, c->groups, c->threads))
        code = SQLITE_MISMATCH;
    return code;
}

static int sums_filter(sqlite3_vtab_cursor *base, int number, const char *text,
                       int count, sqlite3_value **values)
{
    sums_cursor *const c = (sums_cursor *)base;
    (void)text;
    c->plan = ((const sums_vtab *)base->pVtab)->plans[number];
    if (!c->filled || count) {
        const int code = fill(c, values);
        if (code != SQLITE_OK) return code;
        c->filled = true;
    }
    c->thread = c->at = 0;
    if (c->lines) return push_lines_next(c->lines);
    if (!c->full) skip_empty(c);
    return SQLITE_OK;
}

static int sums_next(sqlite3_vtab_cursor *base)
{
    sums_cursor *const c = (sums_cursor *)base;
    if (c->lines) return push_lines_next(c->lines);
    c->full = false;
    c->at++;
    skip_empty(c);
    return SQLITE_OK;
}

static int sums_eof(sqlite3_vtab_cursor *base)
{
    const sums_cursor *const c = (const sums_cursor *)base;
    return c->lines ? push_lines_end(c->lines) : c->thread >= c->threads;
}

static int sums_column(sqlite3_vtab_cursor *base, sqlite3_context *context,
                       int column)
{
    sums_cursor *const c = (sums_cursor *)base;
    const query *const q = ((sums_vtab *)base->pVtab)->of.q;
    const uint32_t i = (uint32_t)column;
    if (c->lines && i >= PUSH_COLUMNS - PUSH_SUMS) {
        push_lines_result(c->lines, i - (PUSH_COLUMNS - PUSH_SUMS), context);
        return SQLITE_OK;
    }
    if (c->full && i >= PUSH_COLUMNS - PUSH_SUMS) {
        sqlite3_result_int64(context, c->last);
        return SQLITE_OK;
    }
    const push_groups *const g = &c->groups[c->thread];
    if (is_filter(q->push, i)) return SQLITE_MISMATCH; // it has no value
    query_cell cell;
    if (i >= PUSH_COLUMNS - PUSH_SUMS)
        cell = push_groups_sum(g, c->at, i - (PUSH_COLUMNS - PUSH_SUMS));
    else
        cell = push_groups_key(
            q, g, c->at,
            i < PUSH_TEXTS ? i : q->push->texts.count + i - PUSH_TEXTS);
    query_result(context, &cell);
    return SQLITE_OK;
}

static int sums_rowid(sqlite3_vtab_cursor *base, sqlite_int64 *rowid)
{
    *rowid = ((const sums_cursor *)base)->at;
    return SQLITE_OK;
}

const sqlite3_module query_push_module = {
    .iVersion = 1,
    .xConnect = sums_connect,
    .xBestIndex = sums_best,
    .xDisconnect = sums_disconnect,
    .xOpen = sums_open,
    .xClose = sums_close,
    .xFilter = sums_filter,
    .xNext = sums_next,
    .xEof = sums_eof,
    .xColumn = sums_column,
    .xRowid = sums_rowid,
};

#endif
