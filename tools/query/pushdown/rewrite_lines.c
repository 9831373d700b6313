/*
    rewrite_lines.c - rewrites statements whose rows are printed as they are
*/
#include "tools/query/pushdown/statement.h"

#ifdef TRACESMITH_SQLITE

// Adds a column of the result by its name, which is a column's.
static bool show_column(rewriting *r, const char *name)
{
    query_push *const p = r->push;
    uint32_t i = 0;
    while (i < p->table->column_count &&
           sqlite3_stricmp(p->table->columns[i].name, name) != 0)
        i++;
    if (i == p->table->column_count || p->shown_count == 64) return sql_fail(r);
    p->shown[p->shown_count++] = i;
    return true;
}

static bool show_items(rewriting *r, sqlite3_stmt *plain)
{
    reference ref;
    if (r->list.last == r->list.first + 1 && sql_is(r->list.first, "*")) {
        for (int i = 0; i < sqlite3_column_count(plain); i++)
            if (!show_column(r, sqlite3_column_name(plain, i))) return false;
        return true;
    }
    if (!sql_read_items(r)) return false;
    for (uint32_t i = 0; i < r->item_count; i++) {
        const part value = r->items[i].value;
        if (!sql_read_reference(r, value.first, value.last, &ref) ||
            value.first + ref.tokens != value.last)
            return sql_fail(r);
        if (!show_column(r, r->push->table->columns[ref.column].name))
            return false;
    }
    return true;
}

// Puts a condition on a text of each row: column op 'text'.
static bool put_text_test(rewriting *r, part p)
{
    static const char *const ops[] = { "=",  "==",   "<",    "<=", ">",
                                       ">=", "like", "glob", NULL };
    reference ref;
    if (!sql_read_reference(r, p.first, p.last, &ref)) return sql_fail(r);
    const sql_token *const op = p.first + ref.tokens;
    const query_column *const column = sql_event_column(r, &ref);
    if (p.last != op + 2 || !sql_one_of(op, ops) ||
        (op[1].type != SQL_STRING && op[1].type != SQL_VALUE) ||
        column->type != QUERY_TEXT || column->show >= SHOW_VALUE)
        return sql_fail(r);
    const int at = sql_place(&r->push->texts, PUSH_TEXTS, ref.column);
    if (at < 0) return sql_fail(r);
    sqlite3_str_appendf(r->out, " \"t%d\"", at);
    sql_put_token(r, op);
    sql_put_token(r, op + 1);
    return true;
}

bool query_push_put_tests(rewriting *r)
{
    if (r->where.first || r->view) sqlite3_str_appendall(r->out, " WHERE");
    if (r->view && !query_push_put_kind(r)) return false;
    if (r->where.first && r->view) sqlite3_str_appendall(r->out, " AND");
    for (const sql_token *t = r->where.first; t < r->where.last; t++) {
        const part term = { t, sql_term_end(t, r->where.last) };
        if (!sql_put_test(r, term) && !put_text_test(r, term)) return false;
        t = term.last;
        if (t < r->where.last) sql_put_token(r, t);
    }
    return true;
}

static bool rewrite_lines(rewriting *r, const sql_token *t, sqlite3_stmt *plain)
{
    if (!sql_is(t, "select") || sql_has_other_words(t + 1) ||
        !sql_split(r, t + 1) || r->group.first || r->having.first ||
        r->order.first || r->limit.first || !sql_read_from(r) ||
        r->source_count != 1 || !show_items(r, plain))
        return false;
    sqlite3_str_appendall(r->out, "SELECT \"a0\", \"a1\" FROM ts_sums");
    return query_push_put_tests(r);
}

char *query_push_rewrite_lines(const query *q, sqlite3_stmt *plain,
                               query_push *push)
{
    size_t count;
    sql_token *const tokens = sql_tokens(sqlite3_sql(plain), &count);
    if (!tokens) return NULL;
    *push = (query_push){ .lines = true };
    rewriting r = { .push = push, .out = sqlite3_str_new(q->db) };
    const bool done = rewrite_lines(&r, tokens, plain) && !r.failed &&
                      (int)push->shown_count == sqlite3_column_count(plain);
    char *text = sqlite3_str_finish(r.out);
    free(tokens);
    if (done) return text;
    sqlite3_free(text);
    return NULL;
}

#endif
