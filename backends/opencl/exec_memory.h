/*
    opencl/exec_memory.h - memory of devices, under the addresses of the
    trace

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__OPENCL_EXEC_MEMORY_H
#define TS__OPENCL_EXEC_MEMORY_H

#include "tracesmith_replay.h"
#include "exec_abi.h"
#include "exec_devices.h"
#include "exec_state.h"

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
    (void)device; // memory belongs to the context
    x->reason = TS_REASON_NONE;
    // CPU drivers allocate more memory than exists.
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

// Appends a queue to the list.
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

// Returns any queue, because nothing else runs.
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

// Keeps an object until nothing runs any more. Returns false if out of memory.
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

// Returns the memory from an address on as an object: the whole buffer, or a
// sub-buffer to its end.
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

#endif // TS__OPENCL_EXEC_MEMORY_H
