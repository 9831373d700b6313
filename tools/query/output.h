/*
    output.h - rows of a query, printed
*/
#ifndef TS_TOOLS_QUERY_OUTPUT_H
#define TS_TOOLS_QUERY_OUTPUT_H

#include "tools/query/tables.h"

#ifdef TRACESMITH_SQLITE

typedef struct query_output query_output;

// Of one statement. NULL: no memory.
query_output *query_output_open(query *q, sqlite3_stmt *statement);
// The row on which the statement stands. False: no memory.
bool query_output_row(query_output *o);
// complete: there are no more. Returns how many rows there were.
uint64_t query_output_close(query_output *o, bool complete);

#endif // TRACESMITH_SQLITE
#endif // TS_TOOLS_QUERY_OUTPUT_H
