/*
    opencl/capture_objects.h - what a memory object is, and where its
    contents lie

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__OPENCL_CAPTURE_OBJECTS_H
#define TS__OPENCL_CAPTURE_OBJECTS_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "abi.h"
#include "calls.h"
#include "capture_state.h"
#include "memory.h"
#include "objects.h"

#include <stdlib.h>
#include <string.h>

static uint64_t ts__cl_image_size(ts__cl_handle image, uint32_t what)
{
    size_t size = 0;
    ts__cl.next.clGetImageInfo(image, what, sizeof size, &size, NULL);
    return size;
}

// Describes an image and the layout of its contents: packed, or as in the
// buffer that it was created from.
static bool ts__cl_image_about(ts__cl_object *o, uint32_t type, bool within)
{
    ts_capture_object *const a = &o->about;
    uint32_t format[2] = { 0, 0 };
    ts__cl.next.clGetImageInfo(o->handle, TS__CL_IMAGE_FORMAT, sizeof format,
                               format, NULL);
    a->order = format[0];
    a->type = format[1];
    a->object_type = type;
    a->width = ts__cl_image_size(o->handle, TS__CL_IMAGE_WIDTH);
    a->height = ts__cl_image_size(o->handle, TS__CL_IMAGE_HEIGHT);
    a->depth = ts__cl_image_size(o->handle, TS__CL_IMAGE_DEPTH);
    a->array_size = ts__cl_image_size(o->handle, TS__CL_IMAGE_ARRAY_SIZE);
    const uint64_t element =
        ts__cl_image_size(o->handle, TS__CL_IMAGE_ELEMENT_SIZE);
    o->element = element;
    const bool lines = type == TS__CL_MEM_OBJECT_IMAGE1D_ARRAY;
    o->region[0] = a->width;
    o->region[1] = lines ? a->array_size : a->height;
    o->region[2] =
        type == TS__CL_MEM_OBJECT_IMAGE2D_ARRAY ? a->array_size : a->depth;
    for (int i = 1; i < 3; i++)
        if (!o->region[i]) o->region[i] = 1;
    a->row_pitch = a->width * element;
    if (within)
        a->row_pitch = ts__cl_image_size(o->handle, TS__CL_IMAGE_ROW_PITCH);
    if (a->row_pitch < a->width * element) a->row_pitch = a->width * element;
    a->slice_pitch = a->row_pitch * (lines ? 1 : o->region[1]);
    const uint64_t size = a->row_pitch * o->region[1] * o->region[2];
    const bool fits = within || size <= o->at_size + 4096;
    if (!within) o->at_size = size;
    return a->width && element && fits;
}

// Returns whether the image has several mip levels or samples.
static bool ts__cl_image_layered(ts__cl_handle image)
{
    uint32_t levels = 0, samples = 0;
    ts__cl.next.clGetImageInfo(image, TS__CL_IMAGE_NUM_MIP_LEVELS,
                               sizeof levels, &levels, NULL);
    ts__cl.next.clGetImageInfo(image, TS__CL_IMAGE_NUM_SAMPLES, sizeof samples,
                               &samples, NULL);
    return levels > 1 || samples > 1;
}

// Describes an object and the memory that contains it. Returns why it cannot be
// read: it was created before captures began or by an unknown function, or it
// is an image with several levels or samples.
static ts_reason ts__cl_object_read(ts__cl_handle handle, ts__cl_object *o)
{
    ts__cl_memory m;
    uint32_t type = 0;
    uint64_t flags = 0;
    memset(o, 0, sizeof *o);
    if (!ts__cl_memory_get(TS__CL_MEMORY, handle, &m))
        return TS_REASON_ATTACHED_LATE;
    o->handle = handle;
    o->at = m.address;
    o->at_size = m.size;
    ts__cl.next.clGetMemObjectInfo(handle, TS__CL_MEM_TYPE, sizeof type, &type,
                                   NULL);
    const bool image = type != TS__CL_MEM_OBJECT_BUFFER;
    ts__cl_handle whole = handle;
    for (int depth = 0; depth < 4; depth++) {
        ts__cl_handle above = NULL;
        ts__cl.next.clGetMemObjectInfo(whole, TS__CL_MEM_ASSOCIATED_MEMOBJECT,
                                       sizeof above, &above, NULL);
        if (!above) break;
        whole = above;
    }
    if (image && ts__cl_image_layered(handle))
        return TS_REASON_PARAM_LAYOUT_UNKNOWN;
    if (type == TS__CL_MEM_OBJECT_PIPE ||
        (image && !ts__cl_image_about(o, type, whole != handle)) ||
        !ts__cl_memory_get(TS__CL_MEMORY, whole, &m))
        return TS_REASON_ATTACHED_LATE;
    o->about.address = o->at;
    o->image = image && whole == handle;
    o->handle = whole;
    o->address = m.address;
    o->size = o->image ? o->at_size : m.size;
    ts__cl.next.clGetMemObjectInfo(whole, TS__CL_MEM_FLAGS, sizeof flags,
                                   &flags, NULL);
    o->shared = flags & TS__CL_MEM_USE_HOST_PTR;
    o->unread = flags & TS__CL_MEM_WRITE_ONLY;
    return o->at >= o->address && o->at - o->address <= o->size
               ? TS_REASON_NONE
               : TS_REASON_ATTACHED_LATE;
}

// Adds an object of the command, or returns why it cannot be captured. Objects
// already added are not moved.
static ts_reason ts__cl_object_add(const ts__cl_call *call,
                                   ts__cl_handle handle,
                                   const ts__cl_object **added)
{
    if (ts__cl_cap.object_count == ts__cl_cap.object_room) {
        const size_t room = ts__cl_cap.object_room * 2 + 64;
        ts__cl_object *const more =
            (ts__cl_object *)realloc(ts__cl_cap.objects, room * sizeof *more);
        if (!more) return TS_REASON_NO_MEMORY;
        ts__cl_cap.objects = more;
        ts__cl_cap.object_room = room;
    }
    ts__cl_object *const o = &ts__cl_cap.objects[ts__cl_cap.object_count];
    const ts_reason reason = ts__cl_object_read(handle, o);
    if (reason) return reason;
    *added = o;
    ts__cl_cap.object_count++;
    ts_capture_memory *const memory = &ts__cl_cap.memory;
    if (!ts_capture_size(memory, o->address))
        ts_capture_alloc(memory, o->address, o->size,
                         call->queue->device->track);
    if (o->shared) ts_capture_touch(memory, o->address, 0);
    return TS_REASON_NONE;
}

// Marks an object that an uncaptured command may write.
static void ts__cl_object_touch(ts__cl_handle handle)
{
    ts__cl_object o;
    if (!handle) return;
    if (!ts__cl_object_read(handle, &o))
        ts_capture_touch(&ts__cl_cap.memory, o.address, 0);
}

#endif // TS__OPENCL_CAPTURE_OBJECTS_H
