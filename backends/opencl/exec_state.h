/*
    opencl/exec_state.h - the state of the executor

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__OPENCL_EXEC_STATE_H
#define TS__OPENCL_EXEC_STATE_H

#include "tracesmith_replay.h"
#include "exec_abi.h"

#include <stdlib.h>
#include <string.h>

enum { TS__OX_DEVICES = 64 };

typedef struct ts__ox_block { // memory at a recorded address
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
    // Sync points that the next command of a graph waits for.
    uint32_t points[8];
    uint32_t point_count;
} ts__ox_queue;

typedef struct ts__ox_point { // an event in a graph
    uint32_t points[8], count;
} ts__ox_point;

typedef struct ts__ox_end {
    ts__ox_handle buffer; // NULL: host memory
    char *host;
    size_t offset;
    uint64_t left; // bytes of the buffer from there on
    size_t origin[3], row, slice;
} ts__ox_end;

typedef struct ts__ox_graph {
    ts__ox_handle graph;
    bool ran; // it ran since its bytes for the host were fetched
} ts__ox_graph;

typedef struct ts__ox_fetch { // bytes of a graph for the host
    size_t graph;             // index in the list
    ts__ox_end end;
    size_t region[3];
    bool box;
} ts__ox_fetch;

// Objects that must exist as long as commands run.
typedef enum ts__ox_kind {
    TS__OX_MEMORY,
    TS__OX_SAMPLER,
    TS__OX_KERNEL
} ts__ox_kind;

typedef struct ts__ox_thing {
    ts__ox_handle handle;
    ts__ox_kind kind;
} ts__ox_thing;

// The kernel that hashes memory; see opencl/exec_hash.h.
typedef struct ts__ox_hasher {
    ts__ox_handle queue, kernel, hashes;
    bool known, usable; // tells: the kernel was built and is correct
} ts__ox_hasher;

// A growing array.
typedef struct ts__ox_list {
    void *items;
    size_t count, capacity;
} ts__ox_list;

typedef struct ts__ox {
    ts__ox_calls cl;
    void *library;
    ts__ox_handle context, devices[TS__OX_DEVICES];
    uint32_t device_count;
    uint64_t bytes, most; // bytes in use, and memory of the smallest device
    ts__ox_handle platform;
    ts__ox_list blocks, kernels, queues, things;
    ts__ox_list modules, events; // ts__ox_handle
    ts_reason reason;            // why the last call failed, if known
    ts__ox_hasher hasher;
    // Graphs; see opencl/exec_graph.h.
    ts__ox_graph_calls graphs;
    ts__ox_list graph_list, points, fetches;
    ts__ox_handle graph; // the graph being built, else NULL
    uint64_t staged;     // bytes of x->bytes that are in `things`
    bool failed;         // a command failed since the last wait
    bool overlaps;       // a graph may run several times concurrently
    uint32_t point;      // sync point of the last command ...
    ts__ox_handle event; // ... or its event, in a queue
} ts__ox;

// Appends a zeroed element. Returns NULL if out of memory.
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

#endif // TS__OPENCL_EXEC_STATE_H
