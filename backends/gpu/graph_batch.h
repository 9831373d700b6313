/*
    gpu/graph_batch.h - a batch of copies, captured as a graph

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    A batch of copies is a graph to the device: its nodes have no
    dependencies, and it is launched once.
*/
#ifndef TS__GPU_GRAPH_BATCH_H
#define TS__GPU_GRAPH_BATCH_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "cuda_abi.h"
#include "functions.h"
#include "graph.h"
#include "graph_record.h"
#include "operations.h"

#include <stdlib.h>
#include <string.h>

// Converts an operand of CUDA 12.8's batches to one end of a CUDA_MEMCPY3D.
// Returns false for arrays.
static bool ts__cs_batch_end(const ts__cuda_operand *operand,
                             const size_t extent[3], ts__cuda_end *end)
{
    if (operand->type != TS__CUDA_POINTER) return false;
    end->type = TS__CUDA_DEVICE; // device or host memory: the address decides
    end->device = operand->as.pointer.address;
    end->pitch = operand->as.pointer.row;
    end->height = operand->as.pointer.height;
    if (!end->pitch) end->pitch = extent[0];
    if (!end->height) end->height = extent[1];
    return true;
}

// Converts copy number `at` of the call to a node.
static void ts__cs_batch_node(const ts__cs_call *c, size_t at, ts__cs_node *n)
{
    const uint64_t first = ts__cs_argument(c, 0),
                   second = ts__cs_argument(c, 8);
    const ts__cuda_batch *const boxes =
        (const ts__cuda_batch *)(uintptr_t)second;
    ts__cuda_box box;
    memset(&box, 0, sizeof box);
    box.height = box.depth = 1;
    if (c->rule->kind == TS__CS_BATCH) {
        const size_t *const sizes =
            (const size_t *)(uintptr_t)ts__cs_argument(c, 16);
        box.width = sizes[at];
        box.to.type = box.from.type = TS__CUDA_DEVICE;
        box.to.device = ((const uint64_t *)(uintptr_t)first)[at];
        box.from.device = ((const uint64_t *)(uintptr_t)second)[at];
        ts__cs_node_copy(n, &box);
        return;
    }
    box.width = boxes[at].extent[0];
    box.height = boxes[at].extent[1];
    box.depth = boxes[at].extent[2];
    if (ts__cs_batch_end(&boxes[at].from, boxes[at].extent, &box.from) &&
        ts__cs_batch_end(&boxes[at].to, boxes[at].extent, &box.to))
        ts__cs_node_copy(n, &box);
    else
        n->reason = TS_REASON_TEXTURE_BINDLESS;
}

static void ts__cs_batch(const ts__cs_call *c, ts_capture_op *op,
                         uint8_t **args)
{
    const bool flat = c->rule->kind == TS__CS_BATCH;
    // The driver refuses a call without its lists.
    const bool whole = ts__cs_argument(c, 8) && ts__cs_argument(c, 0) &&
                       (!flat || ts__cs_argument(c, 16));
    const uint64_t count = whole ? ts__cs_argument(c, flat ? 24 : 0) : 0;
    ts__cs_graph g;
    memset(&g, 0, sizeof g);
    for (uint64_t i = 0; i < count && !g.reason; i++) {
        ts__cs_node *const n = ts__cs_node_add(&g);
        if (n) ts__cs_batch_node(c, (size_t)i, n);
    }
    if (g.reason)
        ts_capture_decline(op, g.reason);
    else
        ts__cs_put_nodes(c, op, &g, args);
    free(g.nodes);
}

#endif // TS__GPU_GRAPH_BATCH_H
