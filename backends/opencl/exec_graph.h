/*
    opencl/exec_graph.h - commands that go into a graph

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    A graph is a command buffer of cl_khr_command_buffer: for one queue, in
    which each stream is a chain of sync points. Its commands cannot use
    memory of the host: what a copy reads of it is in a buffer from the
    start, and what a copy writes to it is fetched from a buffer at the end.

    Source: cl_khr_command_buffer 0.9.
*/
#ifndef TS__OPENCL_EXEC_GRAPH_H
#define TS__OPENCL_EXEC_GRAPH_H

#include "tracesmith_replay.h"
#include "exec_abi.h"
#include "exec_memory.h"
#include "exec_queues.h"
#include "exec_state.h"

#include <stdlib.h>
#include <string.h>

// Called after each command of a graph: the next one of its stream waits for
// it.
static ts_result ts__ox_noted(ts__ox *x, ts__ox_queue *q, int32_t error)
{
    if (error) return ts__ox_result(error);
    q->points[0] = x->point;
    q->point_count = 1;
    return TS_OK;
}

// Arguments for the sync points that a command waits for and signals.
#define TS__OX_POINTS \
    q->point_count, q->point_count ? q->points : NULL, &x->point, NULL

// Enqueues a command, or adds it to the graph. The arguments exclude those for
// the order.
#define TS__OX_PUT(name, ...) \
    (x->graph ? ts__ox_noted(x, q, \
                             x->graphs.clCommand##name##KHR( \
                                 x->graph, NULL, __VA_ARGS__, TS__OX_POINTS)) \
              : ts__ox_ran(x, q, \
                           x->cl.clEnqueue##name(q->queue, __VA_ARGS__, 0, \
                                                 NULL, &x->event)))

// Functions since 0.9.5 have one more parameter and are not used.
// Source: revision history of cl_khr_command_buffer; CL_MAKE_VERSION.
static bool ts__ox_graph_version(const ts__ox *x)
{
    const uint32_t least = 9 << 12, beyond = least + 5; // 0.9.0, 0.9.5
    const ts__ox_handle device = x->devices[0];
    size_t size = 0;
    bool found = false;
    if (x->cl.clGetDeviceInfo(device, TS__OX_DEVICE_EXTENSIONS_WITH_VERSION, 0,
                              NULL, &size))
        return false;
    const size_t count = size / sizeof(ts__ox_extension);
    ts__ox_extension *const all = calloc(count + 1, sizeof *all);
    if (all &&
        !x->cl.clGetDeviceInfo(device, TS__OX_DEVICE_EXTENSIONS_WITH_VERSION,
                               count * sizeof *all, all, NULL))
        for (size_t i = 0; i < count; i++)
            found |= !strncmp(all[i].name, "cl_khr_command_buffer",
                              sizeof all[i].name) &&
                     all[i].version >= least && all[i].version < beyond;
    free(all);
    return found;
}

static bool ts__ox_has_graphs(ts__ox *x)
{
    // A command buffer is used with one device only.
    bool all = x->device_count == 1 &&
               x->cl.clGetExtensionFunctionAddressForPlatform &&
               ts__ox_graph_version(x);
#define TS__X(type, name, params) \
    void *const found_##name = \
        all ? x->cl.clGetExtensionFunctionAddressForPlatform(x->platform, \
                                                             #name) \
            : NULL; \
    memcpy(&x->graphs.name, &found_##name, sizeof x->graphs.name); \
    all = all && found_##name;
    TS__OX_GRAPH_CALLS(TS__X)
#undef TS__X
    return all;
}

static ts_result ts__ox_graph_begin(void *state, uint64_t stream)
{
    static const uint64_t again[] = { TS__OX_COMMAND_BUFFER_FLAGS,
                                      TS__OX_COMMAND_BUFFER_SIMULTANEOUS_USE,
                                      0 };
    ts__ox *const x = state;
    ts__ox_queue *const q = ts__ox_queue_of(x, stream);
    ts__ox_queue *const queues = x->queues.items;
    uint64_t can = 0;
    int32_t error = 0;
    if (!q) return TS_ERR_USAGE;
    if (!ts__ox_has_graphs(x)) return TS_ERR_UNSUPPORTED;
    x->cl.clGetDeviceInfo(x->devices[0], TS__OX_COMMAND_BUFFER_CAPABILITIES,
                          sizeof can, &can, NULL);
    x->overlaps = can & TS__OX_CAPABILITY_SIMULTANEOUS_USE;
    x->graph = x->graphs.clCreateCommandBufferKHR(
        1, &q->queue, x->overlaps ? again : NULL, &error);
    for (size_t i = 0; i < x->queues.count; i++)
        queues[i].point_count = 0;
    return x->graph ? TS_OK : ts__ox_result(error);
}

static ts_result ts__ox_graph_end(void *state, uint64_t stream, uint64_t *graph)
{
    ts__ox *const x = state;
    const ts__ox_handle made = x->graph;
    (void)stream;
    x->graph = NULL;
    x->reason = TS_REASON_NONE;
    if (!made) return TS_ERR_USAGE;
    const int32_t error = x->graphs.clFinalizeCommandBufferKHR(made);
    ts__ox_graph *const kept =
        error ? NULL : ts__ox_add(&x->graph_list, sizeof *kept);
    if (kept) kept->graph = made;
    if (!kept) x->graphs.clReleaseCommandBufferKHR(made);
    // Drops the fetches of a graph that was not completed.
    const ts__ox_fetch *const fetches = x->fetches.items;
    while (!kept && x->fetches.count &&
           fetches[x->fetches.count - 1].graph == x->graph_list.count)
        x->fetches.count--;
    *graph = x->graph_list.count;
    return error ? ts__ox_result(error) : kept ? TS_OK : TS_ERR_MEMORY;
}

static ts_result ts__ox_graph_launch(void *state, uint64_t stream,
                                     uint64_t graph)
{
    ts__ox *const x = state;
    ts__ox_queue *const q = ts__ox_queue_of(x, stream);
    ts__ox_graph *const graphs = x->graph_list.items;
    if (!q || !graph || graph > x->graph_list.count) return TS_ERR_USAGE;
    if (!x->overlaps && q->last && ts__ox_status(x, q->last) > 0)
        return TS_ERR_BUSY;
    graphs[graph - 1].ran = true;
    const int32_t error = x->graphs.clEnqueueCommandBufferKHR(
        1, &q->queue, graphs[graph - 1].graph, 0, NULL, &x->event);
    return ts__ox_ran(x, q, error);
}

static ts_result ts__ox_graph_event(ts__ox *x, const ts__ox_queue *q,
                                    uint64_t *event)
{
    ts__ox_point *const made = ts__ox_add(&x->points, sizeof *made);
    if (!made) return TS_ERR_MEMORY;
    memcpy(made->points, q->points, sizeof made->points);
    made->count = q->point_count;
    *event = x->points.count;
    return TS_OK;
}

// Makes the next command of the stream wait for another point.
static ts_result ts__ox_graph_join(ts__ox *x, ts__ox_queue *q, uint32_t point)
{
    for (uint32_t i = 0; i < q->point_count; i++)
        if (q->points[i] == point) return TS_OK;
    if (q->point_count == sizeof q->points / sizeof *q->points) {
        const ts_result result =
            ts__ox_noted(x, q,
                         x->graphs.clCommandBarrierWithWaitListKHR(
                             x->graph, NULL, TS__OX_POINTS));
        if (result != TS_OK) return result;
    }
    q->points[q->point_count++] = point;
    return TS_OK;
}

static ts_result ts__ox_graph_wait(ts__ox *x, ts__ox_queue *q, uint64_t event)
{
    const ts__ox_point *const points = x->points.items;
    ts_result result = TS_OK;
    if (!event || event > x->points.count) return TS_ERR_USAGE;
    const ts__ox_point *const other = &points[event - 1];
    for (uint32_t i = 0; i < other->count && result == TS_OK; i++)
        result = ts__ox_graph_join(x, q, other->points[i]);
    return result;
}

// Gives an end of a copy a buffer in place of host memory from `first` on.
static ts_result ts__ox_stage(ts__ox *x, ts__ox_end *end, uint64_t first,
                              uint64_t size, bool reads)
{
    uint64_t all = 0;
    int32_t error = 0;
    // CPU drivers allocate more memory than exists.
    if (__builtin_add_overflow(first, size, &all) || all > x->most ||
        x->bytes > x->most - all)
        return TS_ERR_MEMORY;
    const ts__ox_queue *const q = ts__ox_any_queue(x);
    if (!q) return TS_ERR_IO;
    end->buffer = x->cl.clCreateBuffer(x->context, TS__OX_MEM_READ_WRITE,
                                       (size_t)all, NULL, &error);
    if (!end->buffer) return ts__ox_result(error);
    if (!ts__ox_keep(x, end->buffer, TS__OX_MEMORY)) return TS_ERR_MEMORY;
    x->bytes += all;
    x->staged += all;
    return reads ? ts__ox_result(x->cl.clEnqueueWriteBuffer(
                       q->queue, end->buffer, 1, (size_t)first, (size_t)size,
                       end->host + first, 0, NULL, NULL))
                 : TS_OK;
}

// Notes bytes that a graph leaves in a buffer for the host.
static ts_result ts__ox_fetch_later(ts__ox *x, const ts__ox_end *end,
                                    const size_t region[3], bool box)
{
    ts__ox_fetch *const made = ts__ox_add(&x->fetches, sizeof *made);
    if (!made) return TS_ERR_MEMORY;
    made->graph = x->graph_list.count; // the graph that is being built
    made->end = *end;
    made->box = box;
    memcpy(made->region, region, sizeof made->region);
    return TS_OK;
}

// Fetches the bytes, unless a command failed; then none is fetched later
// either.
static ts_result ts__ox_fetch_all(ts__ox *x, bool failed)
{
    const ts__ox_fetch *const all = x->fetches.items;
    ts__ox_graph *const graphs = x->graph_list.items;
    const ts__ox_queue *const q = ts__ox_any_queue(x);
    int32_t error = 0;
    for (size_t i = 0; !failed && !error && i < x->fetches.count; i++) {
        if (all[i].graph >= x->graph_list.count || !graphs[all[i].graph].ran)
            continue;
        const ts__ox_end *const end = &all[i].end;
        const size_t *const region = all[i].region;
        error = all[i].box ? x->cl.clEnqueueReadBufferRect(
                                 q->queue, end->buffer, 1, end->origin,
                                 end->origin, region, end->row, end->slice,
                                 end->row, end->slice, end->host, 0, NULL, NULL)
                           : x->cl.clEnqueueReadBuffer(q->queue, end->buffer, 1,
                                                       0, region[0], end->host,
                                                       0, NULL, NULL);
    }
    for (size_t i = 0; i < x->graph_list.count; i++)
        graphs[i].ran = false;
    return failed ? TS_ERR_IO : ts__ox_result(error);
}

#endif // TS__OPENCL_EXEC_GRAPH_H
