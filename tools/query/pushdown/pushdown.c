/*
    pushdown.c - rewrites statements for ts_sums

    A small grammar, strictly: whatever is not in it leaves the statement as it
    is. SQLite has prepared the statement before, so its names and types are
    right; what has to be found out here is where each column is used. A column
    outside of an aggregate must be one of GROUP BY's, or a condition's: then
    rows with equal values of it may be given as one.
*/
#include "tools/query/pushdown/statement.h"
#include "tools/query/pushdown/top.h"

#ifdef TRACESMITH_SQLITE

// Columns that differ from row to row: nothing is gained by grouping.
static bool is_wide(const query_column *column)
{
    static const uint64_t wide =
        RAW_BIT(RAW_START) | RAW_BIT(RAW_END) | RAW_BIT(RAW_DURATION) |
        RAW_BIT(RAW_QUEUED_NS) | RAW_BIT(RAW_SUBMITTED_NS) |
        RAW_BIT(RAW_OPERATION) | RAW_BIT(RAW_ZONE) | RAW_BIT(RAW_PARENT) |
        RAW_BIT(RAW_SELF) | RAW_BIT(TS_COLUMN_CORRELATION) |
        RAW_BIT(TS_COLUMN_ADDRESS) | RAW_BIT(TS_COLUMN_SOURCE) |
        RAW_BIT(TS_COLUMN_ID) | RAW_BIT(TS_COLUMN_RECORD) |
        RAW_BIT(TS_COLUMN_SEQUENCE);
    return wide >> column->raw & 1 && query_push_is_number(column);
}

// Puts a column of events by whose values rows are grouped.
static bool put_key(rewriting *r, uint32_t column)
{
    const query_column *const c = &r->push->table->columns[column];
    const bool text = c->type == QUERY_TEXT;
    if (c->show >= SHOW_VALUE || is_wide(c) ||
        (!text && c->type != QUERY_INTEGER))
        return sql_fail(r);
    const int at = text ? sql_place(&r->push->texts, PUSH_TEXTS, column)
                        : sql_place(&r->push->numbers, PUSH_NUMBERS, column);
    if (at < 0) return sql_fail(r);
    sqlite3_str_appendf(r->out, " \"%c%d\"", text ? 't' : 'i', at);
    return true;
}

/* ---- Aggregates --------------------------------------------------------- */

static bool put_sum(rewriting *r, const char *before, push_what what,
                    uint32_t column, const char *after)
{
    query_push *const p = r->push;
    uint32_t at = 0;
    while (at < p->sum_count &&
           !(p->sums[at].what == what && p->sums[at].column == column))
        at++;
    if (at == PUSH_SUMS) return sql_fail(r);
    if (at == p->sum_count)
        p->sums[p->sum_count++] = (push_sum){ what, column };
    sqlite3_str_appendf(r->out, " %s\"a%d\"%s", before, (int)at, after);
    return true;
}

// An aggregate of what rows are grouped by: each is given with its count.
static bool put_of_key(rewriting *r, const char *name, uint32_t column)
{
    if (!strcmp(name, "count")) {
        sqlite3_str_appendall(r->out, " coalesce(sum(CASE WHEN");
        return put_key(r, column) &&
               put_sum(r, "IS NOT NULL THEN ", PUSH_ROWS, 0, " END), 0)");
    }
    if (strcmp(name, "min") != 0 && strcmp(name, "max") != 0)
        return sql_fail(r);
    sqlite3_str_appendf(r->out, " %s(", name);
    const bool put = put_key(r, column);
    sqlite3_str_appendall(r->out, ")");
    return put;
}

static bool put_of_number(rewriting *r, const char *name, uint32_t column)
{
    if (!strcmp(name, "count"))
        return put_sum(r, "coalesce(sum(", PUSH_COUNT, column, "), 0)");
    if (!strcmp(name, "sum")) return put_sum(r, "sum(", PUSH_SUM, column, ")");
    if (!strcmp(name, "min")) return put_sum(r, "min(", PUSH_MIN, column, ")");
    if (!strcmp(name, "max")) return put_sum(r, "max(", PUSH_MAX, column, ")");
    return put_sum(r, "(CAST(sum(", PUSH_EXACT, column, ") AS REAL) /") &&
           put_sum(r, "sum(", PUSH_COUNT, column, "))");
}

// Returns the token behind a function's closing parenthesis.
static const sql_token *call_end(const sql_token *t)
{
    const uint32_t depth = t->depth;
    for (t += 2; !(t->depth == depth && sql_is(t, ")"));)
        t++;
    return t + 1;
}

static const char *aggregate_name(const sql_token *t)
{
    static const char *const names[] = { "count", "sum", "avg", "min", "max" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (sql_is(t, names[i])) return names[i];
    return NULL;
}

// min(a, b) and max(a, b) are no aggregates.
static bool has_comma(const sql_token *t, const sql_token *end)
{
    const uint32_t depth = t->depth + 1;
    for (t += 2; t < end; t++)
        if (t->depth == depth && sql_is(t, ",")) return true;
    return false;
}

static bool put_aggregate(rewriting *r, const char *name, const sql_token *t,
                          const sql_token *end)
{
    reference ref;
    if (!strcmp(name, "count") && end == t + 4 && sql_is(t + 2, "*"))
        return put_sum(r, "coalesce(sum(", PUSH_ROWS, 0, "), 0)");
    if (!sql_read_reference(r, t + 2, end - 1, &ref) ||
        t + 2 + ref.tokens != end - 1)
        return sql_fail(r);
    const query_column *const column = sql_event_column(r, &ref);
    if (!column || column->show >= SHOW_VALUE) return sql_fail(r);
    return query_push_is_number(column) ? put_of_number(r, name, ref.column)
                                        : put_of_key(r, name, ref.column);
}

/* ---- Expressions -------------------------------------------------------- */

static bool is_grouped(const rewriting *r, const reference *ref)
{
    for (uint32_t i = 0; i < r->grouped_count; i++)
        if (r->grouped[i].source == ref->source &&
            r->grouped[i].column == ref->column)
            return true;
    return false;
}

typedef enum rule {
    ANY = 0,    // any column that rows may be grouped by
    BOUND = 1,  // only columns of GROUP BY, and aggregates
    ALIASES = 2 // names of the result, too
} rule;

// Puts what begins at a name. Returns the token behind it; NULL: failed.
static const sql_token *put_name(rewriting *r, const sql_token *t,
                                 const sql_token *last, unsigned rules)
{
    reference ref;
    if (t + 1 < last && sql_is(t + 1, "(") && t->type == SQL_WORD) {
        const sql_token *const end = call_end(t);
        const char *const name = aggregate_name(t);
        if (name && (name[0] != 'm' || !has_comma(t, end)))
            return rules & BOUND && put_aggregate(r, name, t, end) ? end : NULL;
        if (!sql_is_function(t)) return NULL;
        sql_put_token(r, t);
        return t + 1;
    }
    const bool alias = rules & ALIASES && sql_find_alias(r, t) &&
                       !(t + 1 < last && sql_is(t + 1, "."));
    if (alias) {
        sql_put_token(r, t);
        return t + 1;
    }
    if (!sql_read_reference(r, t, last, &ref)) return NULL;
    if (rules & BOUND && !is_grouped(r, &ref)) return NULL;
    if (ref.source == r->events) {
        if (!put_key(r, ref.column)) return NULL;
    } else {
        for (uint32_t i = 0; i < ref.tokens; i++)
            sqlite3_str_appendf(r->out, "%s%.*s", i ? "" : " ", (int)t[i].size,
                                t[i].text);
    }
    return t + ref.tokens;
}

static bool put_part(rewriting *r, part p, unsigned rules)
{
    for (const sql_token *t = p.first; t < p.last;) {
        if (sql_is_name(t)) {
            t = put_name(r, t, p.last, rules);
            if (!t) return sql_fail(r);
            continue;
        }
        sql_put_token(r, t);
        // CAST(x AS type): the type is no column.
        if (sql_is(t, "as")) {
            if (!t->depth || t + 1 >= p.last) return sql_fail(r);
            sql_put_token(r, ++t);
        }
        t++;
    }
    return !r->failed;
}

/* ---- The list and GROUP BY ---------------------------------------------- */

static bool same_tokens(part a, part b)
{
    if (a.last - a.first != b.last - b.first) return false;
    for (ptrdiff_t i = 0; i < a.last - a.first; i++)
        if (a.first[i].size != b.first[i].size ||
            memcmp(a.first[i].text, b.first[i].text, a.first[i].size) != 0)
            return false;
    return true;
}

// A number in GROUP BY is that of an item; an alias is its item.
static item *item_of(rewriting *r, part term)
{
    if (term.last != term.first + 1) return NULL;
    if (term.first->type == SQL_NUMBER) {
        const long number = strtol(term.first->text, NULL, 10);
        return number > 0 && number <= (long)r->item_count
                   ? &r->items[number - 1]
                   : NULL;
    }
    return (item *)(uintptr_t)sql_find_alias(r, term.first);
}

static bool add_grouped(rewriting *r, part value)
{
    reference ref;
    if (!sql_read_reference(r, value.first, value.last, &ref) ||
        value.first + ref.tokens != value.last)
        return false;
    if (r->grouped_count == GROUPED) return sql_fail(r);
    r->grouped[r->grouped_count++] = ref;
    return true;
}

static bool read_group(rewriting *r)
{
    for (const sql_token *t = r->group.first; t < r->group.last; t++) {
        const part term = { t, sql_part_end(t, r->group.last) };
        item *const it = item_of(r, term);
        t = term.last;
        if (add_grouped(r, it ? it->value : term) || r->failed) continue;
        if (it) it->grouped = true;
        for (uint32_t i = 0; i < r->item_count; i++)
            r->items[i].grouped |= same_tokens(r->items[i].value, term);
    }
    return !r->failed;
}

static bool put_items(rewriting *r)
{
    for (uint32_t i = 0; i < r->item_count; i++) {
        const item *const it = &r->items[i];
        if (i) sqlite3_str_appendall(r->out, ",");
        if (!put_part(r, it->value, it->grouped ? ANY : BOUND)) return false;
        if (!it->alias) continue;
        sqlite3_str_appendall(r->out, " AS");
        sql_put_token(r, it->alias);
    }
    return true;
}

/* ---- Conditions --------------------------------------------------------- */

static bool put_where(rewriting *r)
{
    bool either = false;
    for (const sql_token *t = r->where.first; t < r->where.last; t++)
        either |= !t->depth && sql_is(t, "or");
    if (either) return put_part(r, r->where, ANY);
    for (const sql_token *t = r->where.first; t < r->where.last; t++) {
        const part term = { t, sql_term_end(t, r->where.last) };
        if (!sql_put_test(r, term) && !put_part(r, term, ANY)) return false;
        t = term.last;
        if (t < r->where.last) sql_put_token(r, t);
    }
    return true;
}

bool query_push_put_kind(rewriting *r)
{
    const char *const at = strrchr(r->view->sql, '=');
    uint32_t column = 0;
    while (strcmp(r->push->table->columns[column].name, "kind") != 0)
        column++;
    if (!put_key(r, column)) return false;
    sqlite3_str_appendf(r->out, " %s", at);
    return true;
}

/* ---- The statement ------------------------------------------------------ */

static bool put_from(rewriting *r)
{
    sqlite3_str_appendall(r->out, " FROM");
    for (uint32_t i = 0; i < r->source_count; i++) {
        const source *const s = &r->sources[i];
        sqlite3_str_appendf(r->out, "%s %s AS", i ? " JOIN" : "",
                            i == r->events ? "ts_sums" : s->table->name);
        sql_put_token(r, s->name);
        if (!s->on.first) continue;
        sqlite3_str_appendall(r->out, " ON");
        if (!put_part(r, s->on, ANY)) return false;
    }
    return true;
}

static bool put_clause(rewriting *r, const char *word, part p, unsigned rules)
{
    if (!p.first) return true;
    sqlite3_str_appendf(r->out, " %s", word);
    return put_part(r, p, rules);
}

static bool put_all(rewriting *r)
{
    const bool where = r->where.first != NULL;
    sqlite3_str_appendall(r->out, "SELECT");
    if (!put_items(r) || !put_from(r)) return false;
    if (where || r->view) sqlite3_str_appendall(r->out, " WHERE");
    if (r->view && !query_push_put_kind(r)) return false;
    if (where && r->view) sqlite3_str_appendall(r->out, " AND (");
    if (where && !put_where(r)) return false;
    if (where && r->view) sqlite3_str_appendall(r->out, ")");
    return put_clause(r, "GROUP BY", r->group, ALIASES) &&
           put_clause(r, "HAVING", r->having, BOUND | ALIASES) &&
           put_clause(r, "ORDER BY", r->order, BOUND | ALIASES) &&
           put_clause(r, "LIMIT", r->limit, BOUND);
}

static bool rewrite(rewriting *r, const sql_token *t)
{
    if (sql_is(t, "explain")) {
        if (!sql_is(t + 1, "query") || !sql_is(t + 2, "plan"))
            return sql_fail(r);
        sqlite3_str_appendall(r->out, "EXPLAIN QUERY PLAN ");
        t += 3;
    }
    if (!sql_is(t, "select") || sql_has_other_words(t + 1)) return sql_fail(r);
    if (!sql_split(r, t + 1) || !sql_read_from(r) || !sql_read_items(r) ||
        !read_group(r) || !put_all(r))
        return false;
    return r->group.first || r->push->sum_count ||
           sql_fail(r); // rows, not sums of them
}

char *query_push_rewrite(const query *q, const char *sql, query_push *push)
{
    size_t count;
    sql_token *const tokens = sql_tokens(sql, &count);
    if (!tokens) return NULL;
    *push = (query_push){ 0 };
    rewriting r = { .push = push, .out = sqlite3_str_new(q->db) };
    bool done = rewrite(&r, tokens) && !r.failed;
    // With several files a number of a dictionary means nothing alone.
    if (push->join_count && q->file_count > 1) done = false;
    char *text = sqlite3_str_finish(r.out);
    free(tokens);
    if (done) return text;
    sqlite3_free(text);
    return NULL;
}

/* ---- Preparing ---------------------------------------------------------- */

// The query may have made a temporary table or view of the same name.
static bool is_hidden(const query *q, const char *name)
{
    sqlite3_stmt *statement = NULL;
    const int code = sqlite3_prepare_v2(
        q->db,
        "SELECT 1 FROM sqlite_temp_master WHERE name = ?1 COLLATE NOCASE", -1,
        &statement, NULL);
    if (code == SQLITE_OK)
        sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    const bool found =
        code != SQLITE_OK || sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_finalize(statement);
    return found;
}

// Whether rows are printed as CSV, all of them and whatever their size.
static bool prints_lines(const query *q)
{
    return q->mode == QUERY_CSV && !q->limits.rows && !q->limits.skip_rows &&
           !q->limits.value_bytes;
}

bool query_push_is_hidden(const query *q, const query_push *push)
{
    bool hidden = is_hidden(q, push->table->name);
    for (uint32_t i = 0; !hidden && i < push->join_count; i++)
        hidden = is_hidden(q, push->joins[i]->name);
    for (const query_view *v = query_views; !hidden && v->name; v++)
        hidden = is_hidden(q, v->name);
    return hidden;
}

sqlite3_stmt *query_push_prepare(query *q, sqlite3_stmt *plain)
{
    query_push *const push =
        q->push_off || !sqlite3_sql(plain) ? NULL : malloc(sizeof *push);
    sqlite3_stmt *statement = NULL;
    if (!push) return NULL;
    char *text = query_push_rewrite(q, sqlite3_sql(plain), push);
    if (!text && prints_lines(q))
        text = query_push_rewrite_lines(q, plain, push);
    q->push = push;
    const int columns = text && push->lines ? 2 : sqlite3_column_count(plain);
    if (text && !query_push_is_hidden(q, push) &&
        (sqlite3_prepare_v2(q->db, text, -1, &statement, NULL) != SQLITE_OK ||
         sqlite3_column_count(statement) != columns)) {
        sqlite3_finalize(statement);
        statement = NULL;
    }
    if (!text) statement = query_push_top(q, plain, push);
    sqlite3_free(text);
    if (!statement) query_push_end(q);
    return statement;
}

void query_push_end(query *q)
{
    free(q->push);
    q->push = NULL;
}

#endif
