/*
    groups.h - rows added up in groups, by one thread
*/
#ifndef TS_TOOLS_QUERY_PUSHDOWN_GROUPS_H
#define TS_TOOLS_QUERY_PUSHDOWN_GROUPS_H

#include "tools/query/events.h"
#include "tools/query/pushdown/pushdown.h"

#ifdef TRACESMITH_SQLITE

// A value of a column after those of the columns before it.
typedef struct push_node {
    uint32_t parent, depth;
    uint64_t raw;
} push_node;

typedef struct push_cell {
    int64_t value; // the sum, the least or the greatest
    uint64_t count;
} push_cell;

typedef struct push_groups {
    query_rows rows; // of the present chunk
    query_test tests[QUERY_TESTS_MOST];
    uint32_t test_count;
    bool failed; // no memory
    bool many;   // so many groups that nothing is gained
    // Private.
    const query_push *push;
    uint8_t raws[PUSH_TEXTS + PUSH_NUMBERS + 1]; // that groups differ in
    uint32_t raw_count;
    push_node *nodes; // the first is the root; those of full depth are groups
    uint32_t *slots;  // a hash table of nodes: number + 1
    push_cell *cells; // of each node, PUSH_SUMS in use
    uint32_t *leaves; // the groups
    uint32_t node_count, leaf_count;
    size_t node_room, slot_room, cell_room, leaf_room;
    struct push_near *near; // a cache of lookups
    uint32_t *owners;       // the node of each row
    int64_t *numbers;       // values that are not NULL
    uint32_t *holders;      // and their nodes
    uint32_t row_room;
    double sizes[PUSH_SUMS]; // sum of the absolute values
    int64_t *top;            // see top.h
    uint32_t top_count;
} push_groups;

// Prepares for q->push. False: no memory.
bool push_groups_open(const query *q, push_groups *g);
void push_groups_close(query *q, push_groups *g);

// Adds the picked rows of g->rows.
void push_groups_add(push_groups *g);

uint32_t push_groups_count(const push_groups *g);
// Returns a value of a group: texts come before numbers.
query_cell push_groups_key(const query *q, const push_groups *g, uint32_t group,
                           uint32_t key);
query_cell push_groups_sum(const push_groups *g, uint32_t group, uint32_t sum);

// Returns whether all sums are what SQLite gets by adding row after row: no
// part of them overflows an integer, or a double's 53 bits for an average.
bool push_groups_exact(query *q, const push_groups *groups, uint32_t count);

#endif // TRACESMITH_SQLITE
#endif // TS_TOOLS_QUERY_PUSHDOWN_GROUPS_H
