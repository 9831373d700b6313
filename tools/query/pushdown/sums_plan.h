/*
    sums_plan.h - query plans of ts_sums
*/
#ifndef TS_TOOLS_QUERY_PUSHDOWN_SUMS_PLAN_H
#define TS_TOOLS_QUERY_PUSHDOWN_SUMS_PLAN_H

#include "tools/query/events.h"
#include "tools/query/pushdown/pushdown.h"

#ifdef TRACESMITH_SQLITE

// The conditions that are tested here, in the order of their values.
typedef struct sums_plan {
    struct {
        uint32_t column, op; // column: of the table of events
        bool must;           // SQLite cannot test it again
    } tests[QUERY_TESTS_MOST];
    uint32_t test_count;
} sums_plan;

// What EXPLAIN QUERY PLAN shows of q->push; free it with sqlite3_free.
char *sums_plan_text(const query *q, const sums_plan *plan);

#endif // TRACESMITH_SQLITE
#endif // TS_TOOLS_QUERY_PUSHDOWN_SUMS_PLAN_H
