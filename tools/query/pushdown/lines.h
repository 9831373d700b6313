/*
    lines.h - rows of events as CSV, chunk after chunk
*/
#ifndef TS_TOOLS_QUERY_PUSHDOWN_LINES_H
#define TS_TOOLS_QUERY_PUSHDOWN_LINES_H

#include "tools/query/pushdown/groups.h"

#ifdef TRACESMITH_SQLITE

typedef struct push_lines push_lines;

// Prepares the rows of q->push that pass the tests of `groups`, of each thread.
// Returns SQLITE_OK or SQLITE_NOMEM.
int push_lines_open(push_lines **made, query *q, push_groups *groups,
                    uint32_t threads, uint64_t uses);
void push_lines_close(push_lines *lines); // NULL is allowed

// Goes to the next chunk with rows. Returns an SQLite code.
int push_lines_next(push_lines *lines);
bool push_lines_end(const push_lines *lines);
// Returns the text of the chunk's rows (0) or their number (1).
void push_lines_result(const push_lines *lines, uint32_t column,
                       sqlite3_context *context);

#endif // TRACESMITH_SQLITE
#endif // TS_TOOLS_QUERY_PUSHDOWN_LINES_H
