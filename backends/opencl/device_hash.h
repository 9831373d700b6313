/*
    opencl/device_hash.h - hashes that a device computes, for captures

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    The kernel of capture/hash.cl, built once for a device of a context when
    its memory is first hashed, and tested on bytes that the host hashes
    too. A kernel keeps its context alive, so it is released with the
    program's last reference to the context; after that the host hashes. The
    capturing thread takes it out of the list while it calls the driver,
    which may call the program, and that us: no lock is held then.
*/
#ifndef TS__OPENCL_DEVICE_HASH_H
#define TS__OPENCL_DEVICE_HASH_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "../capture/memory.h"
#include "abi.h"
#include "capture_contents.h"
#include "capture_state.h"
#include "capture_waits.h"
#include "hash_text.h"
#include "objects.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    TS__CL_HASHES = TS__CAP_HASHES_MAX * 16,
    TS__CL_PAYS = 4 * TS_CAPTURE_CHUNK // copying less to the host is faster
};

typedef struct ts__cl_hasher { // the hash kernel of a device in a context
    ts__cl_handle device, kernel, hashes;
    size_t items; // work-items per group
    bool pays;    // copies from the device take longer
    bool known;   // the device was queried
    // In use by the capturing thread, which owns its objects meanwhile.
    bool lent;
    const char *wrong;
} ts__cl_hasher;

typedef struct ts__cl_held { // a context that the program holds
    ts__cl_handle context;
    uint64_t refs;
    ts__cl_hasher hashers[4]; // device NULL: the entry is free
} ts__cl_held;

static struct {
    pthread_mutex_t lock;
    ts__cl_held *held;
    size_t count, room;
    uint32_t said; // the last capture whose metadata reports the hashing
} ts__cl_hashing = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void ts__cl_hasher_free(const ts__cl_hasher *h)
{
    if (h->kernel) ts__cl.next.clReleaseKernel(h->kernel);
    if (h->hashes) ts__cl.next.clReleaseMemObject(h->hashes);
}

static ts__cl_held *ts__cl_held_of(ts__cl_handle context)
{
    for (size_t i = 0; i < ts__cl_hashing.count; i++)
        if (ts__cl_hashing.held[i].context == context)
            return &ts__cl_hashing.held[i];
    return NULL;
}

// The program created a context. If the table is full, its memory is hashed on
// the host.
static void ts__cl_held_new(ts__cl_handle context)
{
    pthread_mutex_lock(&ts__cl_hashing.lock);
    ts__cl_held *held = ts__cl_held_of(context);
    if (!held && ts__cl_hashing.count == ts__cl_hashing.room) {
        const size_t room = ts__cl_hashing.room * 2 + 4;
        ts__cl_held *const more =
            (ts__cl_held *)realloc(ts__cl_hashing.held, room * sizeof *more);
        if (more) ts__cl_hashing.held = more;
        if (more) ts__cl_hashing.room = room;
    }
    if (!held && ts__cl_hashing.count < ts__cl_hashing.room)
        held = &ts__cl_hashing.held[ts__cl_hashing.count++];
    if (held) memset(held, 0, sizeof *held);
    if (held) held->context = context;
    if (held) held->refs = 1;
    pthread_mutex_unlock(&ts__cl_hashing.lock);
}

static int32_t ts__cl_clRetainContext(ts__cl_handle context)
{
    const int32_t result = ts__cl.next.clRetainContext(context);
    if (TS__LOAD(&ts__cl.off)) return result;
    pthread_mutex_lock(&ts__cl_hashing.lock);
    ts__cl_held *const held = ts__cl_held_of(context);
    if (held && result == TS__CL_SUCCESS) held->refs++;
    pthread_mutex_unlock(&ts__cl_hashing.lock);
    return result;
}

// No lock is held, because the driver may call the program when it destroys an
// object.
static int32_t ts__cl_clReleaseContext(ts__cl_handle context)
{
    ts__cl_held goes;
    if (TS__LOAD(&ts__cl.off)) return ts__cl.next.clReleaseContext(context);
    memset(&goes, 0, sizeof goes);
    pthread_mutex_lock(&ts__cl_hashing.lock);
    ts__cl_held *const held = ts__cl_held_of(context);
    if (held && !--held->refs) {
        goes = *held;
        *held = ts__cl_hashing.held[--ts__cl_hashing.count];
    }
    pthread_mutex_unlock(&ts__cl_hashing.lock);
    for (int i = 0; i < 4; i++)
        if (!goes.hashers[i].lent) ts__cl_hasher_free(&goes.hashers[i]);
    return ts__cl.next.clReleaseContext(context);
}

// The driver was unloaded with its objects.
static void ts__cl_hash_end(void)
{
    pthread_mutex_lock(&ts__cl_hashing.lock);
    ts__cl_hashing.count = 0;
    pthread_mutex_unlock(&ts__cl_hashing.lock);
}

static bool ts__cl_hash_build(ts__cl_hasher *h, ts__cl_handle context)
{
    int32_t error = 0;
    const char *text[sizeof ts__cl_hash_text / sizeof *ts__cl_hash_text];
    memcpy(text, ts__cl_hash_text, sizeof text);
    ts__cl_handle const program = ts__cl.next.clCreateProgramWithSource(
        context, sizeof text / sizeof *text, text, NULL, &error);
    if (!program) return false;
    if (ts__cl.next.clBuildProgram(program, 1, &h->device, "", NULL, NULL) ==
        TS__CL_SUCCESS)
        h->kernel =
            ts__cl.next.clCreateKernel(program, "ts_hash_chunks", &error);
    ts__cl.next.clReleaseProgram(program); // the kernel retains it
    return h->kernel != NULL;
}

// Runs one group per chunk. Returns false if the kernel did not run or failed.
static bool ts__cl_hash_run(const ts__cl_hasher *h, ts__cl_handle queue,
                            ts__cl_handle memory, uint64_t offset,
                            uint64_t size, uint64_t *hashes)
{
    const size_t chunks = (size_t)ts__cap_chunks(size);
    const size_t global = h->items * chunks;
    ts__cl_handle ran = NULL;
    const struct {
        size_t size;
        const void *value;
    } args[] = { { sizeof memory, &memory },
                 { sizeof offset, &offset },
                 { sizeof size, &size },
                 { sizeof h->hashes, &h->hashes } };
    for (uint32_t i = 0; i < 4; i++)
        if (ts__cl.next.clSetKernelArg(h->kernel, i, args[i].size,
                                       args[i].value) != TS__CL_SUCCESS)
            return false;
    if (ts__cl.next.clEnqueueNDRangeKernel(queue, h->kernel, 1, NULL, &global,
                                           &h->items, 0, NULL,
                                           &ran) != TS__CL_SUCCESS)
        return false;
    // The queue is in order. After a failed kernel the buffer has old hashes.
    const bool read = ts__cl.next.clEnqueueReadBuffer(
                          queue, h->hashes, 1, 0, chunks * 16, hashes, 0, NULL,
                          NULL) == TS__CL_SUCCESS;
    const bool done = ran && ts__cl_status(ran) == 0;
    if (ran) ts__cl.next.clReleaseEvent(ran);
    return read && done;
}

enum { TS__CL_TRIED = TS_CAPTURE_CHUNK + 777 };

// Returns whether the device's hashes equal the host's, for a whole chunk and
// for one whose last bytes are at an odd address.
static bool ts__cl_hash_tried(const ts__cl_hasher *h, ts__cl_handle context,
                              ts__cl_handle queue)
{
    uint64_t reported[4], right[4] = { 0 };
    int32_t error = 0;
    uint8_t *const bytes = (uint8_t *)malloc(TS__CL_TRIED);
    ts__cl_handle const memory =
        bytes
            ? ts__cl.next.clCreateBuffer(context, 4, TS__CL_TRIED, NULL, &error)
            : NULL;
    for (uint32_t i = 0; memory && i < TS__CL_TRIED; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    const bool ran =
        memory &&
        ts__cl.next.clEnqueueWriteBuffer(queue, memory, 1, 0, TS__CL_TRIED,
                                         bytes, 0, NULL,
                                         NULL) == TS__CL_SUCCESS &&
        ts__cl_hash_run(h, queue, memory, 0, TS__CL_TRIED, reported);
    if (ran) {
        ts_blob_find(bytes, TS_CAPTURE_CHUNK, right);
        ts_blob_find(bytes + TS_CAPTURE_CHUNK, TS__CL_TRIED - TS_CAPTURE_CHUNK,
                     right + 2);
    }
    if (memory) ts__cl.next.clReleaseMemObject(memory);
    free(bytes);
    return ran && !memcmp(reported, right, sizeof reported);
}

// Queries a device once.
// Source: CL/cl.h of OpenCL 3.0.
static void ts__cl_hasher_new(ts__cl_hasher *h, ts__cl_handle context,
                              ts__cl_handle device, ts__cl_handle queue)
{
    uint64_t type = 0;
    uint32_t unified = 0;
    int32_t error = 0;
    memset(h, 0, sizeof *h);
    h->device = device;
    h->known = true;
    ts__cl.next.clGetDeviceInfo(device, TS__CL_DEVICE_TYPE, sizeof type, &type,
                                NULL);
    ts__cl.next.clGetDeviceInfo(device, TS__CL_DEVICE_HOST_UNIFIED_MEMORY,
                                sizeof unified, &unified, NULL);
    h->pays = !unified && !(type & TS__CL_DEVICE_TYPE_CPU);
    if (!h->pays && ts__cap_now.desc.hash == TS_CAPTURE_HASH_AUTO) return;
    if (!ts__cl_hash_build(h, context)) {
        h->wrong = "on the host: the driver cannot build the kernel";
        return;
    }
    ts__cl.next.clGetKernelWorkGroupInfo(h->kernel, device,
                                         TS__CL_KERNEL_WORK_GROUP_SIZE,
                                         sizeof h->items, &h->items, NULL);
    h->items = h->items < 128 ? h->items / 8 * 8 : 128;
    h->hashes =
        ts__cl.next.clCreateBuffer(context, 1, TS__CL_HASHES, NULL, &error);
    if (!h->items || !h->hashes)
        h->wrong = "on the host: the device has not enough memory";
    else if (!ts__cl_hash_tried(h, context, queue))
        h->wrong = "on the host: the device computes wrong hashes";
}

// Takes the hash kernel for a device out of the list; a new entry has only the
// device. Returns false if there is no entry and no room.
static bool ts__cl_hasher_take(ts__cl_handle context, ts__cl_handle device,
                               ts__cl_hasher *h)
{
    ts__cl_hasher *at = NULL;
    pthread_mutex_lock(&ts__cl_hashing.lock);
    ts__cl_held *const held = ts__cl_held_of(context);
    for (int i = 0; held && device && !at && i < 4; i++)
        if (!held->hashers[i].device || held->hashers[i].device == device)
            at = &held->hashers[i];
    if (at) at->device = device;
    if (at) *h = *at;
    if (at) at->lent = true;
    pthread_mutex_unlock(&ts__cl_hashing.lock);
    return at != NULL;
}

// Puts it back, unless the program has released the context meanwhile. A new
// context with the same handle has no entry that is lent.
static void ts__cl_hasher_put(ts__cl_handle context, const ts__cl_hasher *h)
{
    bool kept = false;
    pthread_mutex_lock(&ts__cl_hashing.lock);
    ts__cl_held *const held = ts__cl_held_of(context);
    for (int i = 0; held && i < 4; i++) {
        if (!held->hashers[i].lent) continue;
        held->hashers[i] = *h; // *h is not marked as lent
        kept = true;
    }
    pthread_mutex_unlock(&ts__cl_hashing.lock);
    if (!kept && !TS__LOAD(&ts__cl.off)) ts__cl_hasher_free(h);
}

// Returns whether the device is to hash and can.
static bool ts__cl_hasher_ready(ts__cl_hasher *h, ts__cl_handle context,
                                ts__cl_handle queue)
{
    const bool all = ts__cap_now.desc.hash == TS_CAPTURE_HASH_DEVICE;
    // If it did not pay, it was not built before.
    if (!h->known || (all && !h->kernel && !h->wrong))
        ts__cl_hasher_new(h, context, h->device, queue);
    if (!h->pays && !all) return false;
    if (ts__cl_hashing.said != ts__cl_cap.memory.capture)
        ts__cap_hash_report(&ts__cl_cap.memory,
                            h->wrong ? h->wrong : "on the device");
    ts__cl_hashing.said = ts__cl_cap.memory.capture;
    return !h->wrong;
}

static bool ts__cl_object_hash(const ts__cl_object *o, uint64_t offset,
                               uint64_t size, uint64_t *hashes)
{
    ts__cl_hasher h;
    ts__cl_handle device = NULL;
    ts__cl_handle const queue = ts__cl_reader();
    if (!queue) return false;
    ts__cl_handle const context = ts__cl_context_of(queue);
    ts__cl.next.clGetCommandQueueInfo(queue, TS__CL_QUEUE_DEVICE, sizeof device,
                                      &device, NULL);
    if (!ts__cl_hasher_take(context, device, &h)) return false;
    const bool reported =
        ts__cl_hasher_ready(&h, context, queue) &&
        ts__cl_hash_run(&h, queue, o->handle, offset, size, hashes);
    ts__cl_hasher_put(context, &h);
    return reported;
}

// Implements `hash` of ts_capture_vendor.
static bool ts__cl_hash(void *user, uint64_t address, uint64_t size,
                        uint64_t *hashes)
{
    (void)user;
    if (size < TS__CL_PAYS && ts__cap_now.desc.hash == TS_CAPTURE_HASH_AUTO)
        return false;
    for (size_t i = 0; i < ts__cl_cap.object_count; i++) {
        const ts__cl_object *const o = &ts__cl_cap.objects[i];
        const uint64_t offset = address - o->address;
        if (offset >= o->size || size > o->size - offset) continue;
        return !o->image && !o->shared && !o->unread &&
               ts__cl_object_hash(o, offset, size, hashes);
    }
    return false;
}

#endif // TS__OPENCL_DEVICE_HASH_H
