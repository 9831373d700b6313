/*
    top.h - the first rows in order of a number

    Of a statement with ORDER BY a number of each row and LIMIT, all rows past
    the last number that can be in the result are of no use. A scan on all cores
    finds that number; the statement then runs with a condition more.
*/
#ifndef TS_TOOLS_QUERY_PUSHDOWN_TOP_H
#define TS_TOOLS_QUERY_PUSHDOWN_TOP_H

#include "tools/query/pushdown/groups.h"

#ifdef TRACESMITH_SQLITE

// Adds the picked rows of g->rows. False: no memory.
bool push_top_add(push_groups *g);
// Returns the last number that can be in the result, in *last. False: there are
// fewer rows than that.
bool push_top_last(const push_groups *groups, uint32_t threads, int64_t *last);

// Returns a statement as it is but for that condition, prepared; NULL: it is
// another, or has too few rows.
sqlite3_stmt *query_push_top(query *q, sqlite3_stmt *plain, query_push *push);

#endif // TRACESMITH_SQLITE
#endif // TS_TOOLS_QUERY_PUSHDOWN_TOP_H
