/*
    top.c - the first rows in order of a number
*/
#include "tools/query/pushdown/top.h"
#include "tools/query/pushdown/statement.h"

#ifdef TRACESMITH_SQLITE

enum { ROWS_MOST = 1 << 16 };

/* ---- The greatest numbers ----------------------------------------------- */

// A heap: no number is less than the one at (i - 1) / 2.
static void sift_down(int64_t *heap, uint32_t count, int64_t number)
{
    uint32_t at = 0;
    for (uint32_t next; (next = 2 * at + 1) < count; at = next) {
        next += next + 1 < count && heap[next + 1] < heap[next];
        if (heap[next] >= number) break;
        heap[at] = heap[next];
    }
    heap[at] = number;
}

static void sift_up(int64_t *heap, uint32_t at, int64_t number)
{
    for (; at && heap[(at - 1) / 2] > number; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = number;
}

// In ascending order the least numbers are wanted: ~ turns the order around.
static int64_t turned(const query_push *p, uint64_t raw)
{
    return (int64_t)(p->top_descends ? raw : ~raw);
}

bool push_top_add(push_groups *g)
{
    const query_push *const p = g->push;
    const uint32_t raw = p->table->columns[p->top_column].raw;
    if (!g->top) g->top = malloc(p->top_rows * sizeof *g->top);
    if (!g->top) return false;
    for (uint32_t i = 0; i < g->rows.count; i++) {
        const uint32_t row = g->rows.order ? g->rows.order[i] : i;
        const int64_t number = turned(p, query_raw(&g->rows, raw, row));
        if (g->top_count < p->top_rows)
            sift_up(g->top, g->top_count++, number);
        else if (number > g->top[0])
            sift_down(g->top, g->top_count, number);
    }
    return true;
}

bool push_top_last(const push_groups *groups, uint32_t threads, int64_t *last)
{
    const query_push *const p = groups[0].push;
    int64_t *const heap = malloc(p->top_rows * sizeof *heap);
    uint32_t count = 0;
    for (uint32_t t = 0; heap && t < threads; t++)
        for (uint32_t i = 0; i < groups[t].top_count; i++)
            if (count < p->top_rows)
                sift_up(heap, count++, groups[t].top[i]);
            else if (groups[t].top[i] > heap[0])
                sift_down(heap, count, groups[t].top[i]);
    const bool full = heap && count == p->top_rows;
    if (full) *last = turned(p, (uint64_t)heap[0]);
    free(heap);
    return full;
}

/* ---- The statement ------------------------------------------------------ */

// Reads LIMIT number [OFFSET number].
static bool read_limit(rewriting *r)
{
    const part p = r->limit;
    const ptrdiff_t count = p.last - p.first;
    uint64_t rows = 0;
    if (count != 1 && !(count == 3 && sql_is(p.first + 1, "offset")))
        return false;
    for (ptrdiff_t i = 0; i < count; i += 2) {
        if (p.first[i].type != SQL_NUMBER || p.first[i].size > 6) return false;
        for (uint32_t d = 0; d < p.first[i].size; d++)
            if (p.first[i].text[d] < '0' || p.first[i].text[d] > '9')
                return false;
        rows += strtoull(p.first[i].text, NULL, 10);
    }
    r->push->top_rows = (uint32_t)rows;
    return rows && rows <= ROWS_MOST;
}

// Reads the first term of ORDER BY: a number of each row that is never NULL.
static bool read_order(rewriting *r)
{
    reference ref;
    part p = { r->order.first, sql_part_end(r->order.first, r->order.last) };
    if (p.first == p.last) return false;
    r->push->top_descends = sql_is(p.last - 1, "desc");
    if (r->push->top_descends || sql_is(p.last - 1, "asc")) p.last--;
    const item *const named =
        p.last == p.first + 1 ? sql_find_alias(r, p.first) : NULL;
    if (named) p = named->value;
    if (!sql_read_reference(r, p.first, p.last, &ref) ||
        p.first + ref.tokens != p.last)
        return false;
    const query_column *const column = sql_event_column(r, &ref);
    r->push->top_column = ref.column;
    // By ascending start, rows are given in order anyway.
    return column->show == SHOW_NUMBER &&
           (column->raw != RAW_START || r->push->top_descends);
}

// Without parameters, which have no values yet, and without aggregates, which
// need all rows.
static bool is_plain(const sql_token *t)
{
    for (; t->type != SQL_END; t++) {
        if (t->type == SQL_VALUE) return false;
        const bool extreme = sql_is(t, "min") || sql_is(t, "max");
        if (extreme ||
            (sql_is(t + 1, "(") && sql_is_name(t) && !sql_is_function(t)))
            return false;
    }
    return true;
}

// The scan decodes every column that the statement names: a chunk of which one
// is malformed has no rows for the statement, and must have none for the scan.
static bool use_named_columns(query_push *p, const sql_token *first)
{
    enum { MOST = sizeof p->shown / sizeof *p->shown };
    for (uint32_t c = 0; c < p->table->column_count; c++) {
        const char *const name = p->table->columns[c].name;
        const sql_token *t = first;
        while (t->type != SQL_END && !sql_is(t, "*") && !sql_names(t, name))
            t++;
        if (t->type == SQL_END) continue;
        if (p->shown_count == MOST) return false;
        p->shown[p->shown_count++] = c;
    }
    return true;
}

static bool put_scan(rewriting *r, const sql_token *t)
{
    if (sql_is(t, "explain")) {
        if (!sql_is(t + 1, "query") || !sql_is(t + 2, "plan")) return false;
        t += 3;
    }
    if (!sql_is(t, "select") || !is_plain(t) || sql_has_other_words(t + 1) ||
        !sql_split(r, t + 1) || r->group.first || r->having.first ||
        !r->order.first || !r->limit.first || !sql_read_from(r) ||
        r->source_count != 1)
        return false;
    const bool all =
        r->list.last == r->list.first + 1 && sql_is(r->list.first, "*");
    if (!all && !sql_read_items(r)) return false;
    if (!read_limit(r) || !read_order(r) || !use_named_columns(r->push, t))
        return false;
    sqlite3_str_appendall(r->out, "SELECT \"a0\" FROM ts_sums");
    return query_push_put_tests(r);
}

static void append(sqlite3_str *out, part p)
{
    for (const sql_token *t = p.first; t < p.last; t++)
        sqlite3_str_appendf(out, " %.*s", (int)t->size, t->text);
}

// The statement with one condition more.
static char *with_last(const query *q, const rewriting *r, bool explain,
                       int64_t last)
{
    const query_push *const p = r->push;
    sqlite3_str *const out = sqlite3_str_new(q->db);
    if (explain) sqlite3_str_appendall(out, "EXPLAIN QUERY PLAN ");
    sqlite3_str_appendall(out, "SELECT");
    append(out, r->list);
    sqlite3_str_appendall(out, " FROM");
    append(out, r->from);
    sqlite3_str_appendf(out, " WHERE \"%w\" %s %lld",
                        p->table->columns[p->top_column].name,
                        p->top_descends ? ">=" : "<=", (long long)last);
    if (r->where.first) {
        sqlite3_str_appendall(out, " AND (");
        append(out, r->where);
        sqlite3_str_appendall(out, ")");
    }
    sqlite3_str_appendall(out, " ORDER BY");
    append(out, r->order);
    sqlite3_str_appendall(out, " LIMIT");
    append(out, r->limit);
    return sqlite3_str_finish(out);
}

// Runs the scan. False: too few rows, or it cannot run.
static bool find_last(const query *q, const char *sql, int64_t *last)
{
    sqlite3_stmt *statement = NULL;
    bool found =
        sqlite3_prepare_v2(q->db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW;
    if (found) *last = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return found;
}

sqlite3_stmt *query_push_top(query *q, sqlite3_stmt *plain, query_push *push)
{
    size_t count;
    int64_t last;
    sqlite3_stmt *statement = NULL;
    sql_token *const tokens = sql_tokens(sqlite3_sql(plain), &count);
    if (!tokens) return NULL;
    *push = (query_push){ .top = true };
    rewriting r = { .push = push, .out = sqlite3_str_new(q->db) };
    const bool good = put_scan(&r, tokens) && !r.failed;
    char *const scan = sqlite3_str_finish(r.out);
    q->push = push;
    if (good && scan && !query_push_is_hidden(q, push) &&
        find_last(q, scan, &last)) {
        char *const sql = with_last(q, &r, sql_is(tokens, "explain"), last);
        if (sql) sqlite3_prepare_v2(q->db, sql, -1, &statement, NULL);
        sqlite3_free(sql);
    }
    sqlite3_free(scan);
    free(tokens);
    return statement;
}

#endif
