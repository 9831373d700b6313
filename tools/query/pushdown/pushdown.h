/*
    pushdown.h - aggregates that are answered from columns

    SQLite asks a virtual table for one row after another. A statement that only
    adds up rows of one table of events is given sums instead:

        SELECT name, count(*), avg(duration_ns) FROM zone
        WHERE start_ns > 5 GROUP BY name ORDER BY 2 DESC

    becomes

        SELECT "t0", coalesce(sum("a0"), 0), (CAST(sum("a1") AS REAL) /
        sum("a2")) FROM ts_sums AS zone
        WHERE "f0" > 5 GROUP BY "t0" ORDER BY 2 DESC

    where a row of ts_sums stands for all rows of `zone` with the same texts
    t0, t1, ... and numbers i0, i1, ...: a0, a1, ... are their count, sum, least
    or greatest value, counted on all cores. SQLite still evaluates, groups,
    sorts and limits, so that whatever it does with the values is as before.
    What is not fully understood is left as it is.

    Rows that are printed as CSV are formatted on all cores, too: then a row of
    ts_sums is the text of many rows, a0, and their number, a1, and conditions
    on texts are tested for each row as well. top.h has the first rows in order.
*/
#ifndef TS_TOOLS_QUERY_PUSHDOWN_H
#define TS_TOOLS_QUERY_PUSHDOWN_H

#include "tools/query/tables.h"

#ifdef TRACESMITH_SQLITE

// The columns of ts_sums, in this order.
enum {
    PUSH_TEXTS = 10,   // t0 ...: columns of type TEXT
    PUSH_NUMBERS = 10, // i0 ...: of type INTEGER
    PUSH_FILTERS = 8,  // f0 ...: compared with values in WHERE, never shown
    PUSH_SUMS = 16,    // a0 ...
    PUSH_COLUMNS = PUSH_TEXTS + PUSH_NUMBERS + PUSH_FILTERS + PUSH_SUMS,
    PUSH_JOINS = 4
};

typedef enum push_what {
    PUSH_ROWS,
    PUSH_COUNT, // of values that are not NULL
    PUSH_SUM,
    PUSH_EXACT, // a sum of which all parts are exact as a double
    PUSH_MIN,
    PUSH_MAX
} push_what;

typedef struct push_sum {
    push_what what;
    uint32_t column;
} push_sum;

typedef struct push_list {
    uint32_t columns[PUSH_TEXTS], count; // columns of the table
} push_list;

// What ts_sums stands for while a statement is prepared and runs.
typedef struct query_push {
    const query_table *table;
    push_list texts, numbers, filters;
    push_sum sums[PUSH_SUMS];
    uint32_t sum_count;
    const query_table *joins[PUSH_JOINS]; // dictionaries joined with it
    uint32_t join_count;
    bool lines;         // its rows are texts of many rows
    uint32_t shown[64]; // of these columns; with top: that are decoded, too
    uint32_t shown_count;
    bool top; // it has one row, the last number of so many rows in order
    bool top_descends;
    uint32_t top_column, top_rows;
} query_push;

extern const sqlite3_module query_push_module;

// Returns whether a column is an integer of each row, perhaps NULL, and not
// one that is looked up in a dictionary.
bool query_push_is_number(const query_column *column);

// Rewrites a statement for ts_sums. Returns the SQL, to be freed with
// sqlite3_free, and what it means; NULL: the statement is another.
char *query_push_rewrite(const query *q, const char *sql, query_push *push);

// The same for a statement whose rows are printed as CSV as they are; plain:
// the statement, prepared.
char *query_push_rewrite_lines(const query *q, sqlite3_stmt *plain,
                               query_push *push);

// Prepares what answers `plain` from columns; NULL: nothing does. While it
// runs, q->push is what it means.
sqlite3_stmt *query_push_prepare(query *q, sqlite3_stmt *plain);
void query_push_end(query *q);
// Whether a temporary table or view has the name of a table that is read.
bool query_push_is_hidden(const query *q, const query_push *push);

#endif // TRACESMITH_SQLITE
#endif // TS_TOOLS_QUERY_PUSHDOWN_H
