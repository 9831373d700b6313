/*
    statement.c - the parts of a SELECT
*/
#include "tools/query/pushdown/statement.h"

#ifdef TRACESMITH_SQLITE

bool sql_fail(rewriting *r)
{
    r->failed = true;
    return false;
}

bool sql_one_of(const sql_token *token, const char *const *list)
{
    for (; *list; list++)
        if (sql_is(token, *list)) return true;
    return false;
}

static bool is_keyword(const sql_token *token)
{
    static const char *const words[] = {
        "and",  "or",    "not",    "is",      "null",   "isnull", "notnull",
        "in",   "like",  "glob",   "regexp",  "escape", "case",   "when",
        "then", "else",  "end",    "asc",     "desc",   "nulls",  "first",
        "last", "true",  "false",  "between", "as",     "on",     "join",
        "by",   "inner", "offset", NULL
    };
    return sql_one_of(token, words);
}

bool sql_is_name(const sql_token *token)
{
    return token->type == SQL_QUOTED ||
           (token->type == SQL_WORD && !is_keyword(token));
}

bool sql_is_function(const sql_token *t)
{
    static const char *const names[] = {
        "abs",       "bytes_text", "cast",       "ceil",    "char",
        "coalesce",  "demangle",   "floor",      "format",  "glob",
        "hex",       "ifnull",     "iif",        "instr",   "length",
        "like",      "lower",      "ltrim",      "max",     "min",
        "nullif",    "printf",     "quote",      "replace", "round",
        "rtrim",     "sign",       "short_name", "substr",  "substring",
        "time_text", "trim",       "typeof",     "unicode", "upper",
        NULL
    };
    return sql_one_of(t, names);
}

/* ---- Clauses ------------------------------------------------------------ */

bool sql_has_other_words(const sql_token *token)
{
    static const char *const words[] = {
        "select", "distinct", "all",   "union",   "intersect", "except",
        "values", "with",     "over",  "filter",  "window",    "exists",
        "using",  "collate",  "match", "natural", "left",      "right",
        "full",   "cross",    "outer", "indexed", "rowid",     "raise",
        "oid",    "_rowid_",  NULL
    };
    for (; token->type != SQL_END; token++)
        if (sql_one_of(token, words)) return true;
    return false;
}

static part *clause_of(rewriting *r, const sql_token *token)
{
    const bool by = sql_is(token + 1, "by");
    if (token->depth) return NULL;
    if (sql_is(token, "from")) return &r->from;
    if (sql_is(token, "where")) return &r->where;
    if (sql_is(token, "group") && by) return &r->group;
    if (sql_is(token, "having")) return &r->having;
    if (sql_is(token, "order") && by) return &r->order;
    return sql_is(token, "limit") ? &r->limit : NULL;
}

bool sql_split(rewriting *r, const sql_token *token)
{
    part *now = &r->list;
    now->first = token;
    for (; token->type != SQL_END; token++) {
        part *const next = clause_of(r, token);
        if (!next) continue;
        if (next <= now) return sql_fail(r); // SQLite would have refused it
        now->last = token;
        now = next;
        now->first = token + 1 + sql_is(token + 1, "by");
    }
    now->last = token;
    return r->from.first || sql_fail(r);
}

const sql_token *sql_part_end(const sql_token *token, const sql_token *last)
{
    const uint32_t depth = token->depth;
    while (token < last && !(token->depth == depth && sql_is(token, ",")))
        token++;
    return token;
}

const sql_token *sql_term_end(const sql_token *t, const sql_token *last)
{
    bool between = false;
    for (; t < last; t++) {
        if (t->depth) continue;
        if (sql_is(t, "between")) between = true;
        if (!sql_is(t, "and")) continue;
        if (!between) break;
        between = false;
    }
    return t;
}

/* ---- FROM --------------------------------------------------------------- */

static const query_table *event_table(const sql_token *name)
{
    for (const query_table *t = query_event_tables; t->name; t++)
        if (sql_names(name, t->name)) return t;
    return NULL;
}

// Accepts a view whose columns are those of a table of events, of one kind:
// SELECT column, ... FROM table WHERE kind = 'kind'.
static const query_table *table_of_view(const query_view *view)
{
    size_t count;
    const query_table *table = NULL;
    sql_token *const tokens = sql_tokens(view->sql, &count);
    if (!tokens) return NULL;
    size_t i = 1;
    while (i + 1 < count && sql_is_name(&tokens[i]) &&
           sql_is(&tokens[i + 1], ","))
        i += 2;
    const sql_token *const t = &tokens[i];
    if (i + 7 == count && sql_is(&t[1], "from") && sql_is(&t[3], "where") &&
        sql_is(&t[4], "kind") && sql_is(&t[5], "=") && t[6].type == SQL_STRING)
        table = event_table(&t[2]);
    free(tokens);
    return table;
}

static const query_view *find_view(const sql_token *name)
{
    for (const query_view *v = query_views; v->name; v++)
        if (sql_names(name, v->name)) return v;
    return NULL;
}

// Tables of which few rows belong to each row of events.
static const query_table *dictionary(const sql_token *name)
{
    static const char *const names[] = { "name", "site", "track", "launch",
                                         NULL };
    for (const query_table *t = query_small_tables; t->name; t++)
        for (size_t i = 0; names[i]; i++)
            if (!strcmp(t->name, names[i]) && sql_names(name, t->name))
                return t;
    return NULL;
}

static bool add_source(rewriting *r, const sql_token *name)
{
    if (r->source_count == SOURCES || !sql_is_name(name)) return sql_fail(r);
    source *const s = &r->sources[r->source_count];
    const query_view *const view = find_view(name);
    s->name = name;
    s->table = view ? table_of_view(view) : event_table(name);
    if (s->table && !r->push->table) {
        r->push->table = s->table;
        r->view = view;
        r->events = r->source_count;
    } else {
        s->table = dictionary(name);
        if (!s->table || r->push->join_count == PUSH_JOINS) return sql_fail(r);
        r->push->joins[r->push->join_count++] = s->table;
    }
    r->source_count++;
    return true;
}

static bool joins(const sql_token *token)
{
    return sql_is(token, "join") || sql_is(token, "inner");
}

bool sql_read_from(rewriting *r)
{
    const sql_token *t = r->from.first, *const last = r->from.last;
    for (;;) {
        if (t == last || !add_source(r, t++)) return sql_fail(r);
        source *const s = &r->sources[r->source_count - 1];
        if (t < last && sql_is(t, "as")) t++;
        if (t < last && sql_is_name(t)) s->name = t++;
        if (t < last && sql_is(t, "on")) {
            s->on.first = ++t;
            while (t < last && (t->depth || !(joins(t) || sql_is(t, ","))))
                t++;
            s->on.last = t;
        }
        if (t == last) return r->push->table || sql_fail(r);
        if (sql_is(t, "inner")) t++;
        if (t == last || !(sql_is(t, "join") || sql_is(t, ",")))
            return sql_fail(r);
        t++;
    }
}

/* ---- Columns ------------------------------------------------------------ */

static bool find_in(const source *s, const sql_token *name, uint32_t *column)
{
    for (*column = 0; *column < s->table->column_count; (*column)++)
        if (sql_names(name, s->table->columns[*column].name)) return true;
    return false;
}

bool sql_read_reference(const rewriting *r, const sql_token *t,
                        const sql_token *last, reference *to)
{
    const bool qualified =
        t + 2 < last && sql_is(t + 1, ".") && sql_is_name(t + 2);
    if (t >= last || !sql_is_name(t)) return false;
    to->tokens = qualified ? 3 : 1;
    for (to->source = 0; to->source < r->source_count; to->source++) {
        const source *const s = &r->sources[to->source];
        char name[64];
        const uint32_t quotes = s->name->type == SQL_QUOTED;
        snprintf(name, sizeof name, "%.*s", (int)(s->name->size - 2 * quotes),
                 s->name->text + quotes);
        if (qualified && !sql_names(t, name)) continue;
        if (find_in(s, qualified ? t + 2 : t, &to->column)) return true;
    }
    return false;
}

const query_column *sql_event_column(const rewriting *r, const reference *ref)
{
    return ref->source == r->events ? &r->push->table->columns[ref->column]
                                    : NULL;
}

bool query_push_is_number(const query_column *column)
{
    return column->show <= SHOW_RANK;
}

int sql_place(push_list *list, uint32_t most, uint32_t column)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->columns[i] == column) return (int)i;
    if (list->count == most) return -1;
    list->columns[list->count] = column;
    return (int)list->count++;
}

/* ---- The list ----------------------------------------------------------- */

const item *sql_find_alias(const rewriting *r, const sql_token *t)
{
    for (uint32_t i = 0; i < r->item_count; i++) {
        const sql_token *const alias = r->items[i].alias;
        char name[64];
        if (!alias) continue;
        const uint32_t quotes = alias->type == SQL_QUOTED;
        snprintf(name, sizeof name, "%.*s", (int)(alias->size - 2 * quotes),
                 alias->text + quotes);
        if (sql_names(t, name)) return &r->items[i];
    }
    return NULL;
}

static bool is_operand_end(const sql_token *t)
{
    return sql_is_name(t) || t->type == SQL_STRING || t->type == SQL_NUMBER ||
           t->type == SQL_VALUE || sql_is(t, ")") || sql_is(t, "end") ||
           sql_is(t, "null");
}

static void read_alias(item *it)
{
    const sql_token *const last = it->whole.last;
    const ptrdiff_t count = last - it->whole.first;
    it->value = it->whole;
    if (count < 2 || !sql_is_name(last - 1)) return;
    if (count > 2 && sql_is(last - 2, "as") && !last[-2].depth)
        it->value.last -= 2;
    else if (is_operand_end(last - 2))
        it->value.last--;
    else
        return;
    it->alias = last - 1;
}

// An alias that is also the name of another column could mean either.
static bool is_ambiguous(const rewriting *r, const item *it)
{
    reference named, shown;
    if (!it->alias || !sql_read_reference(r, it->alias, it->alias + 1, &named))
        return false;
    return !(sql_read_reference(r, it->value.first, it->value.last, &shown) &&
             it->value.first + shown.tokens == it->value.last &&
             shown.source == named.source && shown.column == named.column);
}

bool sql_read_items(rewriting *r)
{
    for (const sql_token *t = r->list.first; t < r->list.last; t++) {
        if (r->item_count == ITEMS || sql_is(t, "*")) return sql_fail(r);
        item *const it = &r->items[r->item_count++];
        it->whole = (part){ t, sql_part_end(t, r->list.last) };
        t = it->whole.last;
        if (it->whole.first == t) return sql_fail(r);
        read_alias(it);
        if (is_ambiguous(r, it)) return sql_fail(r);
    }
    return r->item_count > 0 || sql_fail(r);
}

/* ---- Conditions --------------------------------------------------------- */

void sql_put_token(rewriting *r, const sql_token *t)
{
    sqlite3_str_appendf(r->out, " %.*s", (int)t->size, t->text);
}

// A value that no row changes: numbers, parameters and what + - * / make of
// them.
static bool is_value(const sql_token *t, const sql_token *last)
{
    static const char *const signs[] = { "+", "-", "*", "/", "(", ")", NULL };
    if (t == last) return false;
    for (; t < last; t++)
        if (t->type != SQL_NUMBER && t->type != SQL_VALUE &&
            !sql_one_of(t, signs))
            return false;
    return true;
}

static bool is_comparison(const sql_token *t)
{
    static const char *const signs[] = { "=",  "==", "<>", "!=", "<",
                                         "<=", ">",  ">=", NULL };
    return sql_one_of(t, signs);
}

// What follows a column in a condition that ts_sums can test for each row.
static bool is_tested(const sql_token *t, const sql_token *last)
{
    const ptrdiff_t count = last - t;
    if (count < 1) return false;
    if (is_comparison(t)) return is_value(t + 1, last);
    if (sql_is(t, "between")) {
        const sql_token *at = t;
        while (at < last && !sql_is(at, "and"))
            at++;
        return at < last && is_value(t + 1, at) && is_value(at + 1, last);
    }
    if (count == 1) return sql_is(t, "isnull") || sql_is(t, "notnull");
    return sql_is(t, "is") && sql_is(last - 1, "null") &&
           (count == 2 || (count == 3 && sql_is(t + 1, "not")));
}

bool sql_put_test(rewriting *r, part p)
{
    reference ref;
    const sql_token *at = p.first;
    if (sql_read_reference(r, at, p.last, &ref)) {
        if (!is_tested(at + ref.tokens, p.last)) return false;
    } else {
        while (at < p.last && !is_comparison(at))
            at++;
        if (at == p.last || !is_value(p.first, at) ||
            !sql_read_reference(r, ++at, p.last, &ref) ||
            at + ref.tokens != p.last)
            return false;
    }
    const query_column *const column = sql_event_column(r, &ref);
    if (!column || !query_push_is_number(column)) return false;
    const int number = sql_place(&r->push->filters, PUSH_FILTERS, ref.column);
    if (number < 0) return false;
    for (const sql_token *t = p.first; t < p.last; t++)
        if (t == at) {
            sqlite3_str_appendf(r->out, " \"f%d\"", number);
            t += ref.tokens - 1;
        } else {
            sql_put_token(r, t);
        }
    return true;
}

#endif
