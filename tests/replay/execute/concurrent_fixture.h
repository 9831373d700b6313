/*
    concurrent_fixture.h - what tests of operations that run concurrently share
*/
#ifndef CONCURRENT_FIXTURE_H
#define CONCURRENT_FIXTURE_H

#include "tests/replay/execute/execute_fixture.h"

static ts_execution_item items[64];
static ts_execution_whole whole;
static char why[200];

static ts_result run_concurrently(ts_execution_desc desc, size_t count,
                                  const ts_execution_edge *edges,
                                  size_t edge_count, bool graph)
{
    ok(ts_execution_open(&execution, reader, positions, count, &desc, why,
                         sizeof why));
    memset(items, 0x55, sizeof items); // whatever is there
    return ts_execution_run_concurrent(execution, edges, edge_count, graph,
                                       items, &whole, why, sizeof why);
}

#endif // CONCURRENT_FIXTURE_H
