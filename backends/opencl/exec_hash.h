/*
    opencl/exec_hash.h - hashes that a device computes, for executions

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    The kernel of capture/hash.cl, built when memory is first hashed, and
    tested on bytes of which the hashes are known. It has a queue of its
    own, as nothing else runs meanwhile. On devices that share the host's
    memory it is not used.
*/
#ifndef TS__OPENCL_EXEC_HASH_H
#define TS__OPENCL_EXEC_HASH_H

#include "tracesmith_replay.h"
#include "exec_abi.h"
#include "exec_memory.h"
#include "exec_queues.h"
#include "exec_state.h"
#include "hash_text.h"

#include <stdlib.h>
#include <string.h>

enum {
    TS__OX_HASH_CHUNKS = 1024,          // at once
    TS__OX_PAYS = 4 * TS_CAPTURE_CHUNK, // copying less to the host is faster
    TS__OX_HASH_ITEMS = 128, // work-items of a group; one group per chunk
    TS__OX_TRIED = TS_CAPTURE_CHUNK + 777
};

// Source: CL/cl.h of OpenCL 3.0.
static bool ts__ox_hash_pays(const ts__ox *x)
{
    for (uint32_t i = 0; i < x->device_count; i++) {
        uint64_t type = 0;
        uint32_t unified = 0;
        x->cl.clGetDeviceInfo(x->devices[i], TS__OX_DEVICE_TYPE, sizeof type,
                              &type, NULL);
        x->cl.clGetDeviceInfo(x->devices[i], TS__OX_DEVICE_HOST_UNIFIED_MEMORY,
                              sizeof unified, &unified, NULL);
        if (unified || type & TS__OX_DEVICE_TYPE_CPU) return false;
    }
    return x->device_count != 0;
}

static bool ts__ox_hash_build(ts__ox *x)
{
    ts__ox_hasher *const h = &x->hasher;
    const char *text[sizeof ts__cl_hash_text / sizeof *ts__cl_hash_text];
    int32_t error = 0;
    memcpy(text, ts__cl_hash_text, sizeof text);
    const ts__ox_handle program = x->cl.clCreateProgramWithSource(
        x->context, sizeof text / sizeof *text, text, NULL, &error);
    if (!program) return false;
    if (!x->cl.clBuildProgram(program, 1, x->devices, "", NULL, NULL))
        h->kernel = x->cl.clCreateKernel(program, "ts_hash_chunks", &error);
    x->cl.clReleaseProgram(program); // the kernel retains it
    if (!h->kernel) return false;
    h->hashes = x->cl.clCreateBuffer(x->context, TS__OX_MEM_READ_WRITE,
                                     TS__OX_HASH_CHUNKS * 16, NULL, &error);
    h->queue = x->cl.clCreateCommandQueue(x->context, x->devices[0], 0, &error);
    return h->hashes && h->queue;
}

static bool ts__ox_hash_run(const ts__ox *x, ts__ox_handle memory,
                            uint64_t offset, uint64_t size, uint64_t *hashes)
{
    const ts__ox_hasher *const h = &x->hasher;
    const size_t chunks =
        (size_t)((size + TS_CAPTURE_CHUNK - 1) / TS_CAPTURE_CHUNK);
    const size_t items = TS__OX_HASH_ITEMS, global = items * chunks;
    ts__ox_handle ran = NULL;
    if (x->cl.clSetKernelArg(h->kernel, 0, sizeof memory, &memory) ||
        x->cl.clSetKernelArg(h->kernel, 1, sizeof offset, &offset) ||
        x->cl.clSetKernelArg(h->kernel, 2, sizeof size, &size) ||
        x->cl.clSetKernelArg(h->kernel, 3, sizeof h->hashes, &h->hashes) ||
        x->cl.clEnqueueNDRangeKernel(h->queue, h->kernel, 1, NULL, &global,
                                     &items, 0, NULL, &ran))
        return false;
    // The queue is in order. After a failed kernel the buffer has old hashes.
    const bool read = !x->cl.clEnqueueReadBuffer(
        h->queue, h->hashes, 1, 0, chunks * 16, hashes, 0, NULL, NULL);
    const bool done = ts__ox_status(x, ran) == 0;
    x->cl.clReleaseEvent(ran);
    return read && done;
}

// Returns whether it computes the known XXH3-128 hashes of a whole chunk and of
// one whose last bytes are at an odd address.
static bool ts__ox_hash_tried(const ts__ox *x)
{
    static const uint64_t right[4] = { UINT64_C(0x32152AA15C5FF65A),
                                       UINT64_C(0x463AE68F708EE101),
                                       UINT64_C(0xDA784831821A68AF),
                                       UINT64_C(0x16A7484B9E85400D) };
    uint64_t reported[4] = { 0 };
    int32_t error = 0;
    uint8_t *const bytes = malloc(TS__OX_TRIED);
    const ts__ox_handle memory =
        bytes ? x->cl.clCreateBuffer(x->context, TS__OX_MEM_READ_WRITE,
                                     TS__OX_TRIED, NULL, &error)
              : NULL;
    for (uint32_t i = 0; memory && i < TS__OX_TRIED; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    const bool ran =
        memory &&
        !x->cl.clEnqueueWriteBuffer(x->hasher.queue, memory, 1, 0, TS__OX_TRIED,
                                    bytes, 0, NULL, NULL) &&
        ts__ox_hash_run(x, memory, 0, TS__OX_TRIED, reported);
    if (memory) x->cl.clReleaseMemObject(memory);
    free(bytes);
    return ran && !memcmp(reported, right, sizeof reported);
}

static ts_result ts__ox_hash(void *state, uint64_t address, uint64_t size,
                             uint64_t *hashes)
{
    ts__ox *const x = state;
    ts__ox_hasher *const h = &x->hasher;
    const ts__ox_block *const b = ts__ox_find(x, address);
    x->reason = TS_REASON_NONE;
    if (!h->known)
        h->usable =
            ts__ox_hash_pays(x) && ts__ox_hash_build(x) && ts__ox_hash_tried(x);
    h->known = true;
    if (!h->usable || !b || size > b->size - (address - b->address) ||
        size < TS__OX_PAYS ||
        size > (uint64_t)TS__OX_HASH_CHUNKS * TS_CAPTURE_CHUNK)
        return TS_ERR_UNSUPPORTED;
    h->usable =
        ts__ox_hash_run(x, b->buffer, address - b->address, size, hashes);
    return h->usable ? TS_OK : TS_ERR_IO;
}

#endif // TS__OPENCL_EXEC_HASH_H
