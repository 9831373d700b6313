/*
    ts_opencl_exec.h - runs captured operations on devices of OpenCL

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: libOpenCL.so.1 (any loader, or a driver that is one),
                    loaded when it is used; OpenCL 1.2 and later.
    Checked with:   PoCL 3.1, ocl-icd 2.3.1; Debian 12, x86-64, gcc 12 and
                    clang 14, November 2026.

    WHAT IT DOES
        The executor of tracesmith_replay.h for OpenCL: chooses the device that
        has the recorded name, builds programs from source, intermediate
        language or binary with the recorded options, and launches kernels of
        them. OpenCL has no addresses. Captures number memory as if it had, and
        here a number finds its object again: all addresses are as recorded.
        TRACESMITH_OPENCL_DEVICE in the environment chooses another device, by
        a part of its name.

    WHAT IT DOES NOT DO
        It asks nobody: programs are code of whoever made the trace. Shared
        virtual memory and pipes are not run; captures decline them. Kernels
        that launch kernels do not work: captures do not tell them apart.

    USE
        #define TRACESMITH_OPENCL_EXEC_IMPLEMENTATION // in one C11 file
        #include "backends/ts_opencl_exec.h"

        static ts_result run_first(ts_reader *reader, ts_execution_item *item)
        {
            const ts_execution_desc desc = { .executor = &ts_opencl_executor };
            const size_t first = 0;
            char why[200];
            ts_execution *execution;
            const ts_result result = ts_execution_open(
                &execution, reader, &first, 1, &desc, why, sizeof why);
            if (result == TS_OK) ts_execution_run(execution, 0, item);
            ts_execution_close(execution);
            return result;
        }

    CONTENTS                            search for "==== 2." to jump
        1. Executor
        2. Implementation               private
*/
#ifndef TS_OPENCL_EXEC_H
#define TS_OPENCL_EXEC_H

#include "tracesmith_replay.h"

/* ==== 1. Executor ======================================================== */

#ifdef __cplusplus
extern "C"
#else
extern
#endif
    const ts_executor ts_opencl_executor;

#endif // TS_OPENCL_EXEC_H

/* ==== 2. Implementation ================================================== */

#if defined(TRACESMITH_OPENCL_EXEC_IMPLEMENTATION) && \
    !defined(TS__OPENCL_EXEC_IMPLEMENTED)
#define TS__OPENCL_EXEC_IMPLEMENTED
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "opencl/exec_abi.h"

enum { TS__OX_DEVICES = 64 };

typedef struct ts__ox_block { // memory, under its number
    uint64_t address, size;
    ts__ox_handle buffer;
} ts__ox_block;

typedef struct ts__ox_kernel {
    uint64_t module;
    ts__ox_handle kernel;
    uint32_t arg_count;
    char name[256];
} ts__ox_kernel;

typedef struct ts__ox_queue {
    ts__ox_handle queue, last; // last: event of the last command
    uint32_t points[8];        // what the next one of a graph waits for
    uint32_t point_count;
} ts__ox_queue;

typedef struct ts__ox_point { // an event in a graph
    uint32_t points[8], count;
} ts__ox_point;

typedef struct ts__ox_end {
    ts__ox_handle buffer; // NULL: the host's
    char *host;
    size_t offset;
    uint64_t left; // bytes of the buffer from there on
    size_t origin[3], row, slice;
} ts__ox_end;

typedef struct ts__ox_graph {
    ts__ox_handle graph;
    bool ran; // since bytes for the host were fetched
} ts__ox_graph;

typedef struct ts__ox_fetch { // bytes of a graph for the host
    size_t graph;             // in the list
    ts__ox_end end;
    size_t region[3];
    bool box;
} ts__ox_fetch;

// Something that is wanted as long as commands run.
typedef enum ts__ox_kind {
    TS__OX_MEMORY,
    TS__OX_SAMPLER,
    TS__OX_KERNEL
} ts__ox_kind;

typedef struct ts__ox_thing {
    ts__ox_handle handle;
    ts__ox_kind kind;
} ts__ox_thing;

// The kernel that hashes; see opencl/exec_hash.h.
typedef struct ts__ox_hasher {
    ts__ox_handle queue, kernel, hashes;
    bool known, tells; // tells: it is there, and right
} ts__ox_hasher;

// Arrays that grow.
typedef struct ts__ox_list {
    void *items;
    size_t count, capacity;
} ts__ox_list;

typedef struct ts__ox {
    ts__ox_calls cl;
    void *library;
    ts__ox_handle context, devices[TS__OX_DEVICES];
    uint32_t device_count;
    uint64_t bytes, most; // of memory: in use, and of the smallest device
    ts__ox_handle platform;
    ts__ox_list blocks, kernels, queues, things;
    ts__ox_list modules, events; // ts__ox_handle
    ts_reason reason;            // why the last call failed, where it is known
    ts__ox_hasher hasher;
    // Graphs; see opencl/exec_graph.h.
    ts__ox_graph_calls graphs;
    ts__ox_list graph_list, points, fetches;
    ts__ox_handle graph; // that is made, else NULL
    uint64_t staged;     // bytes of x->bytes that are in things
    bool failed;         // a command, since the last wait
    bool overlaps;       // it may run more than once at a time
    uint32_t point;      // of the last command ...
    ts__ox_handle event; // ... and its event, in a queue
} ts__ox;

// Room for one more at the end, zeroed; NULL: no memory.
static void *ts__ox_add(ts__ox_list *list, size_t size)
{
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity ? list->capacity * 2 : 16;
        void *const more = realloc(list->items, capacity * size);
        if (!more) return NULL;
        list->items = more;
        list->capacity = capacity;
    }
    void *const made = (char *)list->items + list->count++ * size;
    memset(made, 0, size);
    return made;
}

static ts_result ts__ox_result(int32_t error)
{
    switch (error) {
    case TS__OX_SUCCESS: return TS_OK;
    case TS__OX_MEM_OBJECT_ALLOCATION_FAILURE:
    case TS__OX_OUT_OF_RESOURCES:
    case TS__OX_OUT_OF_HOST_MEMORY:
    case TS__OX_INVALID_BUFFER_SIZE: return TS_ERR_MEMORY;
    default: return TS_ERR_IO;
    }
}

static ts_result ts__ox_fail(ts__ox *x, ts_reason reason)
{
    x->reason = reason;
    return TS_ERR_UNSUPPORTED;
}

static ts_reason ts__ox_reason(void *state)
{
    return state ? ((ts__ox *)state)->reason : TS_REASON_NONE;
}

#include "opencl/exec_devices.h" // 2.1

/* ---- 2.2 Memory --------------------------------------------------------- */

static ts__ox_block *ts__ox_find(const ts__ox *x, uint64_t address)
{
    ts__ox_block *const blocks = x->blocks.items;
    for (size_t i = 0; i < x->blocks.count; i++)
        if (address - blocks[i].address < blocks[i].size) return &blocks[i];
    return NULL;
}

static ts_result ts__ox_allocate(void *state, uint32_t device,
                                 uint64_t *address, uint64_t size)
{
    ts__ox *const x = state;
    int32_t error = 0;
    (void)device; // memory is the context's
    x->reason = TS_REASON_NONE;
    // Drivers on the host's memory give what is not there.
    if (size > x->most || x->bytes > x->most - size) return TS_ERR_MEMORY;
    const ts__ox_handle buffer = x->cl.clCreateBuffer(
        x->context, TS__OX_MEM_READ_WRITE, (size_t)size, NULL, &error);
    if (!buffer) return ts__ox_result(error);
    ts__ox_block *const made = ts__ox_add(&x->blocks, sizeof *made);
    if (!made) {
        x->cl.clReleaseMemObject(buffer);
        return TS_ERR_MEMORY;
    }
    made->address = *address;
    made->size = size;
    made->buffer = buffer;
    x->bytes += size;
    return TS_OK;
}

static ts_result ts__ox_release(void *state, uint64_t address)
{
    ts__ox *const x = state;
    ts__ox_block *const b = ts__ox_find(x, address);
    ts__ox_block *const blocks = x->blocks.items;
    x->reason = TS_REASON_NONE;
    if (!b || b->address != address) return TS_ERR_USAGE;
    x->cl.clReleaseMemObject(b->buffer);
    x->bytes -= b->size;
    *b = blocks[--x->blocks.count];
    return TS_OK;
}

// Another queue, the last one of the list.
static ts_result ts__ox_queue_make(ts__ox *x, uint32_t device)
{
    int32_t error = 0;
    const ts__ox_handle queue =
        x->cl.clCreateCommandQueue(x->context, x->devices[device], 0, &error);
    if (!queue) return ts__ox_result(error);
    ts__ox_queue *const made = ts__ox_add(&x->queues, sizeof *made);
    if (made)
        made->queue = queue;
    else
        x->cl.clReleaseCommandQueue(queue);
    return made ? TS_OK : TS_ERR_MEMORY;
}

// Any queue will do: nothing runs meanwhile.
static ts__ox_queue *ts__ox_any_queue(ts__ox *x)
{
    return x->queues.count || ts__ox_queue_make(x, 0) == TS_OK ? x->queues.items
                                                               : NULL;
}

static ts_result ts__ox_write(void *state, uint64_t address, const void *bytes,
                              uint64_t size)
{
    ts__ox *const x = state;
    const ts__ox_block *const b = ts__ox_find(x, address);
    const ts__ox_queue *const q = ts__ox_any_queue(x);
    x->reason = TS_REASON_NONE;
    if (!b || !q) return TS_ERR_IO;
    return ts__ox_result(x->cl.clEnqueueWriteBuffer(
        q->queue, b->buffer, 1, (size_t)(address - b->address), (size_t)size,
        bytes, 0, NULL, NULL));
}

static ts_result ts__ox_read(void *state, void *bytes, uint64_t address,
                             uint64_t size)
{
    ts__ox *const x = state;
    const ts__ox_block *const b = ts__ox_find(x, address);
    const ts__ox_queue *const q = ts__ox_any_queue(x);
    x->reason = TS_REASON_NONE;
    if (!b || !q) return TS_ERR_IO;
    return ts__ox_result(x->cl.clEnqueueReadBuffer(
        q->queue, b->buffer, 1, (size_t)(address - b->address), (size_t)size,
        bytes, 0, NULL, NULL));
}

// Takes care of an object until nothing runs any more. False: no memory.
static bool ts__ox_keep(ts__ox *x, ts__ox_handle handle, ts__ox_kind kind)
{
    const ts__ox_thing thing = { handle, kind };
    ts__ox_thing *const made = ts__ox_add(&x->things, sizeof *made);
    if (made)
        *made = thing;
    else
        ts__ox_release_thing(x, &thing);
    return made != NULL;
}

// The memory from an address on, as an object: the whole, or a part that
// reaches to its end.
static ts_result ts__ox_memory_at(ts__ox *x, uint64_t address,
                                  ts__ox_handle *memory)
{
    const ts__ox_block *const b = ts__ox_find(x, address);
    int32_t error = 0;
    if (!b) return ts__ox_fail(x, TS_REASON_MEMORY_MISSING);
    *memory = b->buffer;
    const ts__ox_part part = { (size_t)(address - b->address),
                               (size_t)(b->size - (address - b->address)) };
    if (!part.origin) return TS_OK;
    *memory = x->cl.clCreateSubBuffer(
        b->buffer, 0, TS__OX_BUFFER_CREATE_TYPE_REGION, &part, &error);
    if (!*memory) return ts__ox_result(error);
    return ts__ox_keep(x, *memory, TS__OX_MEMORY) ? TS_OK : TS_ERR_MEMORY;
}

#include "opencl/exec_programs.h" // 2.3

/* ---- 2.4 Streams -------------------------------------------------------- */

static ts_result ts__ox_stream(void *state, uint32_t device, uint64_t flags,
                               uint64_t *stream)
{
    ts__ox *const x = state;
    (void)flags;
    x->reason = TS_REASON_NONE;
    if (device >= x->device_count) return TS_ERR_USAGE;
    const ts_result result = ts__ox_queue_make(x, device);
    *stream = x->queues.count;
    return result;
}

static ts__ox_queue *ts__ox_queue_of(ts__ox *x, uint64_t stream)
{
    ts__ox_queue *const queues = x->queues.items;
    x->reason = TS_REASON_NONE;
    return stream && stream <= x->queues.count ? &queues[stream - 1] : NULL;
}

// Behind every command: its event is what is waited for.
static ts_result ts__ox_queued(ts__ox *x, ts__ox_queue *q, int32_t error,
                               ts__ox_handle event)
{
    if (error) return ts__ox_result(error);
    if (q->last) x->cl.clReleaseEvent(q->last);
    q->last = event;
    return ts__ox_result(x->cl.clFlush(q->queue));
}

// 1: it runs, 0: it is done, below: it failed.
static int32_t ts__ox_status(const ts__ox *x, ts__ox_handle event)
{
    int32_t status = 0;
    const int32_t error = x->cl.clGetEventInfo(
        event, TS__OX_EVENT_EXECUTION_STATUS, sizeof status, &status, NULL);
    return error < 0 ? error : status > TS__OX_COMPLETE ? 1 : status;
}

// The same of a command whose event is x->event.
static ts_result ts__ox_ran(ts__ox *x, ts__ox_queue *q, int32_t error)
{
    return ts__ox_queued(x, q, error, x->event);
}

#include "opencl/exec_graph.h"

// Drops the events of queues that are done; one that failed is done as well.
static ts_result ts__ox_ask(void *state)
{
    ts__ox *const x = state;
    ts__ox_queue *const queues = x->queues.items;
    for (size_t i = 0; i < x->queues.count; i++) {
        const int32_t status =
            queues[i].last ? ts__ox_status(x, queues[i].last) : 0;
        if (status > 0) return TS_ERR_BUSY;
        x->failed |= status < 0;
        if (queues[i].last) x->cl.clReleaseEvent(queues[i].last);
        queues[i].last = NULL;
    }
    return TS_OK;
}

// Never clFinish, which has no end if a kernel has none.
static ts_result ts__ox_wait(void *state, uint32_t timeout_ms)
{
    ts__ox *const x = state;
    x->reason = TS_REASON_NONE;
    if (ts_executor_poll(ts__ox_ask, x, timeout_ms) != TS_OK)
        return TS_ERR_BUSY;
    const bool failed = x->failed;
    x->failed = false;
    if (!x->graph_list.count) ts__ox_release_things(x); // graphs run again
    return ts__ox_fetch_all(x, failed);
}

static ts_result ts__ox_event(void *state, uint64_t stream, uint64_t *event)
{
    ts__ox *const x = state;
    ts__ox_queue *const q = ts__ox_queue_of(x, stream);
    ts__ox_handle made = NULL;
    x->reason = TS_REASON_NONE;
    if (!q) return TS_ERR_USAGE;
    if (x->graph) return ts__ox_graph_event(x, q, event);
    ts__ox_handle *const slot = ts__ox_add(&x->events, sizeof made);
    if (!slot) return TS_ERR_MEMORY;
    const int32_t error =
        x->cl.clEnqueueMarkerWithWaitList(q->queue, 0, NULL, &made);
    if (error) return ts__ox_result(error);
    *slot = made;
    *event = x->events.count;
    return ts__ox_result(x->cl.clFlush(q->queue));
}

static ts_result ts__ox_event_wait(void *state, uint64_t stream, uint64_t event)
{
    ts__ox *const x = state;
    ts__ox_queue *const q = ts__ox_queue_of(x, stream);
    const ts__ox_handle *const events = x->events.items;
    ts__ox_handle made = NULL;
    if (q && x->graph) return ts__ox_graph_wait(x, q, event);
    if (!q || !event || event > x->events.count) return TS_ERR_USAGE;
    if (!events[event - 1]) return TS_OK; // never recorded: nothing to wait for
    const int32_t error = x->cl.clEnqueueBarrierWithWaitList(
        q->queue, 1, &events[event - 1], &made);
    return ts__ox_queued(x, q, error, made);
}

#include "opencl/exec_commands.h"

#include "opencl/exec_hash.h"

static const uint32_t ts__ox_attributes[] = {
    TS_ATTRIBUTE_GLOBAL_OFFSET, TS_ATTRIBUTE_GLOBAL_SIZE, TS_ATTRIBUTE_IMAGE,
    TS_ATTRIBUTE_SAMPLER,       TS_ATTRIBUTE_GEOMETRY,    TS_ATTRIBUTE_PATTERN,
    TS_ATTRIBUTE_COPY_IMAGE,    TS_ATTRIBUTE_DIMENSIONS,  0
};

const ts_executor ts_opencl_executor = {
    .name = "opencl",
    .attributes = ts__ox_attributes,
    .open = ts__ox_open,
    .close = ts__ox_close,
    .reason = ts__ox_reason,
    .allocate = ts__ox_allocate,
    .release = ts__ox_release,
    .write = ts__ox_write,
    .read = ts__ox_read,
    .load = ts__ox_load,
    .global = ts__ox_global,
    .stream = ts__ox_stream,
    .launch = ts__ox_launch,
    .copy = ts__ox_copy,
    .set = ts__ox_set,
    .wait = ts__ox_wait,
    .event = ts__ox_event,
    .event_wait = ts__ox_event_wait,
    .graph_begin = ts__ox_graph_begin,
    .graph_end = ts__ox_graph_end,
    .graph_launch = ts__ox_graph_launch,
    .hash = ts__ox_hash,
};

#endif // implementation
