/*
    statement.h - the parts of a SELECT, for those who rewrite it

    A small grammar, strictly: SQLite has prepared the statement before, so its
    names and types are right, and what is not in the grammar is refused. What
    has to be found out is where each column is used.
*/
#ifndef TS_TOOLS_QUERY_PUSHDOWN_STATEMENT_H
#define TS_TOOLS_QUERY_PUSHDOWN_STATEMENT_H

#include "tools/query/pushdown/pushdown.h"
#include "tools/query/pushdown/tokens.h"

#ifdef TRACESMITH_SQLITE

enum { SOURCES = 1 + PUSH_JOINS, ITEMS = 40, GROUPED = 24 };

typedef struct part {
    const sql_token *first, *last; // last: behind it
} part;

// A table in FROM; the first is that of events.
typedef struct source {
    const query_table *table;
    const sql_token *name; // by which columns are qualified
    part on;               // its condition; empty: none
} source;

typedef struct reference {
    uint32_t source, column;
    uint32_t tokens; // that it takes: 1 or 3
} reference;

typedef struct item {
    part whole, value;      // with and without its alias
    const sql_token *alias; // NULL: none
    bool grouped;           // the same expression is one of GROUP BY's
} item;

typedef struct rewriting {
    query_push *push;
    sqlite3_str *out;
    source sources[SOURCES];
    uint32_t source_count, events; // events: the source of events
    const query_view *view;        // that the source of events is; NULL: none
    item items[ITEMS];
    uint32_t item_count;
    reference grouped[GROUPED];
    uint32_t grouped_count;
    part list, from, where, group, having, order, limit;
    bool failed;
} rewriting;

// Notes that the statement is refused; false.
bool sql_fail(rewriting *r);

bool sql_one_of(const sql_token *token, const char *const *list);
// A word that is no keyword, or anything in the quotes of names.
bool sql_is_name(const sql_token *token);
// Functions whose result depends on their arguments alone; with one argument,
// min and max are aggregates.
bool sql_is_function(const sql_token *token);
// What changes the meaning of rows that stand for several, or is not needed.
bool sql_has_other_words(const sql_token *token);

// Splits what follows SELECT into its clauses.
bool sql_split(rewriting *r, const sql_token *token);
// Returns the end of the part of a list that begins at `token`.
const sql_token *sql_part_end(const sql_token *token, const sql_token *last);
// Returns the end of the first of several conditions that all have to hold.
const sql_token *sql_term_end(const sql_token *t, const sql_token *last);
// Reads table [[AS] alias] {, | [INNER] JOIN table [[AS] alias] [ON ...]}.
bool sql_read_from(rewriting *r);
// Reads the list, without `*`.
bool sql_read_items(rewriting *r);

// Reads a column at a token, qualified or not.
bool sql_read_reference(const rewriting *r, const sql_token *t,
                        const sql_token *last, reference *to);
// Returns a column of events; NULL: it is another table's.
const query_column *sql_event_column(const rewriting *r, const reference *ref);
const item *sql_find_alias(const rewriting *r, const sql_token *t);
// Returns the place of a column in a list, which it is added to; -1: no room.
int sql_place(push_list *list, uint32_t most, uint32_t column);

void sql_put_token(rewriting *r, const sql_token *t);
// Puts a condition on a number of each row: column op value, or the reverse.
// False: it is another, and nothing was put.
bool sql_put_test(rewriting *r, part p);

// Puts the condition that a view is made by (pushdown.c).
bool query_push_put_kind(rewriting *r);
// Puts the conditions as tests of each row, with their WHERE (rewrite_lines.c).
bool query_push_put_tests(rewriting *r);

#endif // TRACESMITH_SQLITE
#endif // TS_TOOLS_QUERY_PUSHDOWN_STATEMENT_H
