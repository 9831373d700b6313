/*
    events.h - the virtual table of events: plans and indexes
*/
#ifndef TS_TOOLS_QUERY_EVENTS_H
#define TS_TOOLS_QUERY_EVENTS_H

#include "tools/query/tables.h"

#ifdef TRACESMITH_SQLITE

enum { QUERY_TESTS_MOST = 16, QUERY_ORDERS_MOST = 8 };

typedef struct query_plan {
    uint64_t uses; // bit set of raw numbers that the query needs
    double rows;   // expected rows
    struct {
        uint32_t column, op;
    } tests[QUERY_TESTS_MOST];
    query_order orders[QUERY_ORDERS_MOST];
    uint32_t test_count, order_count;
    int lookup; // the test that an index answers; -1: none
} query_plan;

// An index: all rows of a table, sorted by one raw number.
typedef struct query_index {
    uint32_t raw, users;
    uint64_t uses;
    query_rows rows;
    int64_t *keys; // sorted, in the order of rows.order
} query_index;

typedef struct query_vtab {
    query_vtab_base of;
    query_chunk *chunks;
    size_t chunk_count;
    uint64_t rows;
    query_plan *plans;
    size_t plan_count;
    query_index *indexes[RAW_LIMIT];
    bool looked[RAW_LIMIT]; // a lookup scanned once: the next makes an index
} query_vtab;

// Describes a chunk of a file. False: it is not of the table.
bool query_chunk_of(const query *q, const query_table *table, uint32_t file,
                    size_t index, query_chunk *chunk);
uint64_t query_column_uses(const query_column *c);
int query_plan_best(sqlite3_vtab *base, sqlite3_index_info *info);

#endif // TRACESMITH_SQLITE
#endif // TS_TOOLS_QUERY_EVENTS_H
