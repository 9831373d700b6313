/*
    gpu/graph_launch.h - a launch of a graph is one captured operation

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__GPU_GRAPH_LAUNCH_H
#define TS__GPU_GRAPH_LAUNCH_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "functions.h"
#include "graph.h"
#include "graph_batch.h"
#include "graph_changes.h"
#include "graph_record.h"
#include "operations.h"
#include "state.h"

#include <pthread.h>

// Adds the names of the graph's kernels, for captures selected by kernel name.
static void ts__cs_graph_named(const ts__cs_call *c, ts_capture_op *op)
{
    pthread_mutex_lock(&ts__cs_ready.lock);
    const ts__cs_graph *const g = ts__cs_graph_of(ts__cs_argument(c, 0), NULL);
    if (g) op->names = g->names;
    if (g) op->name_count = g->name_count;
    pthread_mutex_unlock(&ts__cs_ready.lock);
}

static void ts__cs_graph_launch(const ts__cs_call *c, ts_capture_op *op,
                                bool exclusive, uint8_t **args)
{
    if (!exclusive) return;
    if (c->rule->kind != TS__CS_GRAPH) {
        ts__cs_batch(c, op, args);
        return;
    }
    pthread_mutex_lock(&ts__cs_ready.lock);
    const ts__cs_graph *const g = ts__cs_graph_of(ts__cs_argument(c, 0), NULL);
    if (!g || g->reason)
        ts_capture_decline(op, g ? g->reason : TS_REASON_ATTACHED_LATE);
    else
        ts__cs_put_nodes(c, op, g, args);
    pthread_mutex_unlock(&ts__cs_ready.lock);
}

static const ts__cs_graph_calls ts__cs_graphs = {
    .named = ts__cs_graph_named,
    .launch = ts__cs_graph_launch,
    .completed = ts__cs_graph_call_completed,
    .gone = ts__cs_graph_gone,
    .forget = ts__cs_graphs_forget,
    .arguments = ts__cs_node_arguments,
    .put_kernel = ts__cs_put_kernel,
    .left = ts__cs_graphs_left,
};

#endif // TS__GPU_GRAPH_LAUNCH_H
