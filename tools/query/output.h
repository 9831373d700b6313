/*
    output.h - printing the rows of a query
*/
#ifndef TS_TOOLS_QUERY_OUTPUT_H
#define TS_TOOLS_QUERY_OUTPUT_H

#include "tools/query/tables.h"

#ifdef TRACESMITH_SQLITE

typedef struct query_output query_output;

// Opens the output of one statement; `named` names its columns. NULL: no
// memory.
query_output *query_output_open(query *q, sqlite3_stmt *statement,
                                sqlite3_stmt *named);
// Prints the statement's current row. False: no memory.
bool query_output_row(query_output *o);
// Prints rows that are CSV already.
void query_output_lines(query_output *o, const void *text, size_t size,
                        uint64_t rows);
// Closes the output and returns its number of rows. complete: all rows were
// printed.
uint64_t query_output_close(query_output *o, bool complete);

#endif // TRACESMITH_SQLITE
#endif // TS_TOOLS_QUERY_OUTPUT_H
