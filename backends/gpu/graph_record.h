/*
    gpu/graph_record.h - writes the nodes of a graph into a captured
    operation

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__GPU_GRAPH_RECORD_H
#define TS__GPU_GRAPH_RECORD_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "graph.h"
#include "memory.h"
#include "modules.h"
#include "operations.h"
#include "state.h"
#include "textures.h"

#include <stdlib.h>
#include <string.h>

static void ts__cs_put_kernel(const ts__cs_call *c, ts_capture_op *op,
                              const ts__cs_node *n, uint8_t *args, uint32_t at)
{
    ts_capture_operation head = n->head;
    ts__cs_module *const m = n->code;
    const ts__cs_layout layout = { n->parameter_count, n->head.args_size,
                                   n->parameters };
    const uint32_t device = m ? ts__cs_device_of(c, m) : c->device;
    head.image = m && (device || !c->device) ? ts__cs_image(c, m) : 0;
    head.name = ts_name_define(n->name);
    if (device != c->device) head.track = device;
    if (!head.image) ts_capture_decline(op, TS_REASON_IMAGE_MISSING);
    if (n->head.args_size) memcpy(args + at, n->args, n->head.args_size);
    ts_capture_node_add(op, &head, n->after, n->after_count);
    ts__cs_attributes_copy(&ts__cs.code, n->function, op);
    for (uint32_t i = 0; i < n->attribute_count; i++)
        ts_capture_attribute_add(op, TS_ATTRIBUTE_CUDA_LAUNCH,
                                 &n->attributes[i], sizeof *n->attributes);
    ts__cs_parameters(op, &layout, args + at, at);
    ts__cs_textures_used(op, args + at, n->head.args_size, at);
    // Tensor maps hidden in the arguments become attributes.
    for (uint32_t i = 0; i + TS_CAPTURE_HIDDEN <= n->head.args_size;
         i += TS_CAPTURE_ALIGNED)
        ts__cs_hidden(NULL, op, args + at + i, TS_CAPTURE_BY_ARGUMENT, at + i);
}

// A box of one row is a linear copy that begins where the row begins.
static bool ts__cs_is_plain(ts_capture_operation *head,
                            const ts_capture_geometry *g)
{
    if (g->region[1] != 1 || g->region[2] != 1) return false;
    head->source += g->source_origin[0] + g->source_origin[1] * g->source_row +
                    g->source_origin[2] * g->source_slice;
    head->destination += g->destination_origin[0] +
                         g->destination_origin[1] * g->destination_row +
                         g->destination_origin[2] * g->destination_slice;
    return true;
}

static void ts__cs_put_move(const ts__cs_call *c, ts_capture_op *op,
                            const ts__cs_node *n)
{
    ts_capture_operation head = n->head;
    const bool copy = head.kind == TS_EVENT_MEMCPY;
    const bool plain =
        copy ? ts__cs_is_plain(&head, &n->boxes) : !n->boxes.region[1];
    const ts__cs_range *const to = ts__cs_range_of(head.destination);
    if (copy) ts__cs_check_end(c, op, head.source, true);
    ts__cs_check_end(c, op, head.destination, true);
    if (!copy && to && to->host) ts_capture_decline(op, to->reason);
    ts_capture_node_add(op, &head, n->after, n->after_count);
    if (!copy && n->width > 1)
        ts_capture_attribute_add(op, TS_ATTRIBUTE_PATTERN, &n->value, n->width);
    if (!plain)
        ts_capture_attribute_add(op, TS_ATTRIBUTE_GEOMETRY, &n->boxes,
                                 sizeof n->boxes);
}

static void ts__cs_put_node(const ts__cs_call *c, ts_capture_op *op,
                            const ts__cs_node *n, uint8_t *args, uint32_t at)
{
    ts_capture_operation order;
    memset(&order, 0, sizeof order);
    if (n->off || !n->head.kind)
        ts_capture_node_add(op, &order, n->after, n->after_count);
    else if (n->head.kind == TS_EVENT_KERNEL)
        ts__cs.vendor->graphs->put_kernel(c, op, n, args, at);
    else
        ts__cs_put_move(c, op, n);
}

static uint32_t ts__cs_aligned(uint32_t size)
{
    return (size + TS_CAPTURE_NODE_ALIGNED - 1) &
           ~(uint32_t)(TS_CAPTURE_NODE_ALIGNED - 1);
}

static void ts__cs_put_nodes(const ts__cs_call *c, ts_capture_op *op,
                             const ts__cs_graph *g, uint8_t **args)
{
    uint64_t size = 0;
    uint32_t at = 0;
    for (size_t i = 0; i < g->count; i++) {
        const ts__cs_node *const n = &g->nodes[i];
        if (n->reason && !n->off) ts_capture_decline(op, n->reason);
        if (n->reason && !n->off) return;
        size += n->off ? 0 : ts__cs_aligned(n->head.args_size);
    }
    *args = size < 1 << 30 ? (uint8_t *)calloc(1, (size_t)size + 8) : NULL;
    if (!*args) {
        ts_capture_decline(op, TS_REASON_NO_MEMORY);
        return;
    }
    op->args = *args;
    op->head.args_size = (uint32_t)size;
    for (size_t i = 0; i < g->count; i++) {
        ts__cs_put_node(c, op, &g->nodes[i], *args, at);
        at += g->nodes[i].off ? 0 : ts__cs_aligned(g->nodes[i].head.args_size);
    }
}

#endif // TS__GPU_GRAPH_RECORD_H
