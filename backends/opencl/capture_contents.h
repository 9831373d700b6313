/*
    opencl/capture_contents.h - reads the contents of memory objects

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__OPENCL_CAPTURE_CONTENTS_H
#define TS__OPENCL_CAPTURE_CONTENTS_H

#include "abi.h"
#include "capture_state.h"
#include "capture_waits.h"
#include "objects.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static ts__cl_handle ts__cl_context_of(ts__cl_handle queue)
{
    ts__cl_handle context = NULL;
    ts__cl.next.clGetCommandQueueInfo(queue, TS__CL_QUEUE_CONTEXT,
                                      sizeof context, &context, NULL);
    return context;
}

// Returns TraceSmith's own queue on the device and in the context of the
// program's queue. It is released after each command, because it keeps the
// context alive.
static ts__cl_handle ts__cl_reader(void)
{
    ts__cl_handle device = NULL;
    int32_t error;
    if (ts__cl_cap.queue) return ts__cl_cap.queue;
    ts__cl.next.clGetCommandQueueInfo(ts__cl_cap.app_queue, TS__CL_QUEUE_DEVICE,
                                      sizeof device, &device, NULL);
    ts__cl_handle const context = ts__cl_context_of(ts__cl_cap.app_queue);
    if (context && device && ts__cl.next.clCreateCommandQueue)
        ts__cl_cap.queue =
            ts__cl.next.clCreateCommandQueue(context, device, 0, &error);
    return ts__cl_cap.queue;
}

enum { TS__CL_AHEAD = 1 << 20 };

static uint8_t *ts__cl_shadow_room(uint64_t size)
{
    ts__cl_cap.shadow.of = NULL;
    if (size <= ts__cl_cap.shadow.room) return ts__cl_cap.shadow.bytes;
    uint8_t *const more =
        (uint8_t *)realloc(ts__cl_cap.shadow.bytes, (size_t)size);
    if (!more) return NULL;
    ts__cl_cap.shadow.room = size;
    return ts__cl_cap.shadow.bytes = more;
}

static void ts__cl_reader_close(void)
{
    if (ts__cl_cap.queue) ts__cl.next.clReleaseCommandQueue(ts__cl_cap.queue);
    ts__cl_cap.queue = NULL;
    ts__cl_cap.shadow.of = NULL;
    if (ts__cl_cap.shadow.room <= TS__CL_AHEAD) return;
    free(ts__cl_cap.shadow.bytes);
    ts__cl_cap.shadow.bytes = NULL;
    ts__cl_cap.shadow.room = 0;
}

static bool ts__cl_read(ts__cl_handle buffer, uint64_t offset, uint64_t size,
                        void *bytes)
{
    ts__cl_handle const queue = ts__cl_reader();
    return queue && ts__cl.next.clEnqueueReadBuffer(
                        queue, buffer, 1, (size_t)offset, (size_t)size, bytes,
                        0, NULL, NULL) == TS__CL_SUCCESS;
}

// Reads memory that the program created as not readable by the host
// (HOST_NO_ACCESS, HOST_WRITE_ONLY): it is copied to a readable buffer first.
static bool ts__cl_read_around(const ts__cl_object *o, uint64_t offset,
                               uint64_t size, void *bytes)
{
    static const size_t origin[3];
    int32_t error = 0;
    ts__cl_handle const queue = ts__cl_reader();
    ts__cl_handle const copy =
        queue ? ts__cl.next.clCreateBuffer(ts__cl_context_of(queue), 1,
                                           (size_t)size, NULL, &error)
              : NULL;
    if (!copy) return false;
    const size_t region[3] = { (size_t)o->region[0], (size_t)o->region[1],
                               (size_t)o->region[2] };
    ts__cl_handle ran = NULL;
    const int32_t result =
        o->image ? ts__cl.next.clEnqueueCopyImageToBuffer(
                       queue, o->handle, copy, origin, region, 0, 0, NULL, &ran)
                 : ts__cl.next.clEnqueueCopyBuffer(queue, o->handle, copy,
                                                   (size_t)offset, 0,
                                                   (size_t)size, 0, NULL, &ran);
    const bool read =
        result == TS__CL_SUCCESS && ts__cl_read(copy, 0, size, bytes);
    const bool done = ran && ts__cl_status(ran) == 0;
    if (ran) ts__cl.next.clReleaseEvent(ran);
    ts__cl.next.clReleaseMemObject(copy);
    return read && done;
}

static bool ts__cl_read_image(const ts__cl_object *o, void *bytes)
{
    static const size_t origin[3];
    ts__cl_handle const queue = ts__cl_reader();
    const size_t region[3] = { (size_t)o->region[0], (size_t)o->region[1],
                               (size_t)o->region[2] };
    return queue && ts__cl.next.clEnqueueReadImage(queue, o->handle, 1, origin,
                                                   region, 0, 0, bytes, 0, NULL,
                                                   NULL) == TS__CL_SUCCESS;
}

// Reads an image as a whole. Of a buffer it reads larger and larger parts while
// requests come in order, because each read has a fixed cost.
static bool ts__cl_shadow_fill(const ts__cl_object *o, uint64_t offset,
                               uint64_t size)
{
    const bool in_order =
        ts__cl_cap.shadow.of == o &&
        offset == ts__cl_cap.shadow.first + ts__cl_cap.shadow.size;
    uint64_t ahead = in_order ? 2 * ts__cl_cap.shadow.size : size;
    if (ahead > TS__CL_AHEAD) ahead = TS__CL_AHEAD;
    if (ahead > o->size - offset) ahead = o->size - offset;
    if (ahead < size) ahead = size;
    if (o->image) {
        offset = 0;
        ahead = o->size;
    }
    uint8_t *const bytes = ts__cl_shadow_room(ahead);
    if (!bytes || (!(o->image ? ts__cl_read_image(o, bytes)
                              : ts__cl_read(o->handle, offset, ahead, bytes)) &&
                   !ts__cl_read_around(o, offset, ahead, bytes)))
        return false;
    ts__cl_cap.shadow.of = o;
    ts__cl_cap.shadow.first = offset;
    ts__cl_cap.shadow.size = ahead;
    return true;
}

static const void *ts__cl_view(void *user, uint64_t address, uint64_t size,
                               void *scratch)
{
    (void)user, (void)scratch;
    for (size_t i = 0; i < ts__cl_cap.object_count; i++) {
        const ts__cl_object *const o = &ts__cl_cap.objects[i];
        const uint64_t offset = address - o->address;
        if (offset >= o->size || size > o->size - offset) continue;
        const uint64_t from = offset - ts__cl_cap.shadow.first;
        const bool there = ts__cl_cap.shadow.of == o &&
                           from < ts__cl_cap.shadow.size &&
                           size <= ts__cl_cap.shadow.size - from;
        if (!there && !ts__cl_shadow_fill(o, offset, size)) return NULL;
        return ts__cl_cap.shadow.bytes + (offset - ts__cl_cap.shadow.first);
    }
    return NULL; // an object of an earlier command; not requested
}

#endif // TS__OPENCL_CAPTURE_CONTENTS_H
