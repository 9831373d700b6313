/*
    opencl/exec_commands.h - images, launches, copies and fills

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    CONTENTS                            search for "==== 2." to jump
        1. Images
        2. Launches
        3. Copies and fills
*/
#ifndef TS__OPENCL_EXEC_COMMANDS_H
#define TS__OPENCL_EXEC_COMMANDS_H

#include "tracesmith_replay.h"
#include "exec_abi.h"
#include "exec_graph.h"
#include "exec_memory.h"
#include "exec_programs.h"
#include "exec_queues.h"
#include "exec_state.h"

#include <string.h>

/* ==== 1. Images ========================================================== */

// The contents of an image are in a buffer, row by row. For a kernel or a fill
// an image is created from them, and copied back afterwards.
typedef struct ts__ox_view {
    uint64_t address;
    ts__ox_handle image, packed; // packed: the contents without gaps
    size_t offset;               // offset of the image in `packed`
    size_t region[3];            // in elements, rows, slices
    bool back; // it may have been written, so it is copied back
    // Rows whose pitch is too large are gathered here first.
    ts__ox_handle standalone; // NULL: not gathered
    size_t origin[3], bytes[3], row, slice, packed_row;
} ts__ox_view;

// Finds the description of an image by its address.
static bool ts__ox_object(const ts_attributes *all, uint64_t address,
                          ts_capture_object *found)
{
    ts_attribute one;
    for (uint64_t at = 0; ts_attribute_next(all, &at, &one);) {
        if (one.id != TS_ATTRIBUTE_IMAGE || one.size < sizeof *found) continue;
        memcpy(found, one.bytes, sizeof *found);
        if (found->address == address) return true;
    }
    return false;
}

// Gets the extent of a whole image in elements, rows and slices. Returns false
// if it is empty or too large for any memory.
static bool ts__ox_extent(const ts_capture_object *o, size_t region[3])
{
    const uint64_t most = UINT64_C(1) << 32;
    uint64_t rows = 1, slices = 1;
    switch (o->object_type) {
    case TS__OX_MEM_OBJECT_IMAGE1D_BUFFER:
    case TS__OX_MEM_OBJECT_IMAGE1D: break;
    case TS__OX_MEM_OBJECT_IMAGE1D_ARRAY: rows = o->array_size; break;
    case TS__OX_MEM_OBJECT_IMAGE2D: rows = o->height; break;
    case TS__OX_MEM_OBJECT_IMAGE2D_ARRAY:
        rows = o->height;
        slices = o->array_size;
        break;
    case TS__OX_MEM_OBJECT_IMAGE3D:
        rows = o->height;
        slices = o->depth;
        break;
    default: return false;
    }
    region[0] = (size_t)o->width;
    region[1] = (size_t)rows;
    region[2] = (size_t)slices;
    return o->width && rows && slices && o->width < most && rows < most &&
           slices < most && rows * slices < most &&
           o->width < (UINT64_C(1) << 56) / (rows * slices);
}

// Gets the bytes between rows and between slices in the buffer.
static bool ts__ox_pitches(const ts__ox *x, const ts_capture_object *o,
                           size_t *row, size_t *slice)
{
    size_t region[3];
    const ts__ox_block *const b = ts__ox_find(x, o->address);
    if (!b || !ts__ox_extent(o, region)) return false;
    uint64_t wide = o->row_pitch, high = o->slice_pitch;
    if (!wide) { // packed, and its memory contains nothing else
        wide = b->size / ((uint64_t)region[1] * region[2]);
        if (wide % region[0] || !wide) return false;
    }
    if (!high && __builtin_mul_overflow(wide, (uint64_t)region[1], &high))
        return false;
    *row = (size_t)wide;
    *slice = (size_t)high;
    return wide <= b->size && high <= INT64_MAX;
}

// Creates an image on the memory of a buffer, which needs no copies.
static ts_result ts__ox_buffer_image(ts__ox *x, const ts_capture_object *o,
                                     ts__ox_view *view)
{
    const ts__ox_format format = { o->order, o->type };
    ts__ox_desc desc = { .type = TS__OX_MEM_OBJECT_IMAGE1D_BUFFER,
                         .width = (size_t)o->width };
    int32_t error = 0;
    const ts_result result = ts__ox_memory_at(x, o->address, &desc.buffer);
    if (result != TS_OK) return result;
    view->image =
        x->cl.clCreateImage(x->context, 0, &format, &desc, NULL, &error);
    if (!view->image) return ts__ox_result(error);
    return ts__ox_keep(x, view->image, TS__OX_MEMORY) ? TS_OK : TS_ERR_MEMORY;
}

static ts_result ts__ox_make_image(ts__ox *x, const ts_capture_object *o,
                                   ts__ox_view *view)
{
    static const uint64_t flags[] = { TS__OX_MEM_READ_WRITE,
                                      TS__OX_MEM_READ_ONLY,
                                      TS__OX_MEM_WRITE_ONLY };
    const ts__ox_format format = { o->order, o->type };
    const ts__ox_desc desc = { .type = o->object_type,
                               .width = (size_t)o->width,
                               .height = (size_t)o->height,
                               .depth = (size_t)o->depth,
                               .array_size = (size_t)o->array_size };
    int32_t error = 0;
    for (size_t i = 0; i < 3 && !view->image; i++) {
        view->image = x->cl.clCreateImage(x->context, flags[i], &format, &desc,
                                          NULL, &error);
        view->back = flags[i] != TS__OX_MEM_READ_ONLY;
    }
    if (!view->image) return ts__ox_result(error);
    return ts__ox_keep(x, view->image, TS__OX_MEMORY) ? TS_OK : TS_ERR_MEMORY;
}

// Gathers rows with gaps in memory of their own.
static ts_result ts__ox_gather(ts__ox *x, ts__ox_queue *q, ts__ox_view *view,
                               const ts__ox_block *b)
{
    static const size_t zero[3];
    int32_t error = 0;
    view->standalone = b->buffer;
    view->origin[0] = view->offset;
    view->offset = 0;
    view->packed = x->cl.clCreateBuffer(
        x->context, TS__OX_MEM_READ_WRITE,
        view->bytes[0] * view->bytes[1] * view->bytes[2], NULL, &error);
    if (!view->packed) return ts__ox_result(error);
    if (!ts__ox_keep(x, view->packed, TS__OX_MEMORY)) return TS_ERR_MEMORY;
    return TS__OX_PUT(CopyBufferRect, view->standalone, view->packed,
                      view->origin, zero, view->bytes, view->row, view->slice,
                      view->bytes[0], view->bytes[0] * view->bytes[1]);
}

// Creates the image and queries its size.
static ts_result ts__ox_view_image(ts__ox *x, const ts_capture_object *o,
                                   ts__ox_view *view)
{
    size_t element = 0;
    const ts_result result = o->object_type == TS__OX_MEM_OBJECT_IMAGE1D_BUFFER
                                 ? ts__ox_buffer_image(x, o, view)
                                 : ts__ox_make_image(x, o, view);
    if (result != TS_OK) return result;
    const int32_t error = x->cl.clGetImageInfo(
        view->image, TS__OX_IMAGE_ELEMENT_SIZE, sizeof element, &element, NULL);
    if (error) return ts__ox_result(error);
    for (int i = 0; i < 3; i++)
        view->bytes[i] = view->region[i] * (i ? 1 : element);
    return element && element <= 64 ? TS_OK : TS_ERR_IO;
}

static ts_result ts__ox_view_open(ts__ox *x, ts__ox_queue *q,
                                  const ts_capture_object *o, ts__ox_view *view)
{
    static const size_t zero[3];
    memset(view, 0, sizeof *view);
    view->address = o->address;
    const ts__ox_block *const b = ts__ox_find(x, o->address);
    if (!b) return ts__ox_fail(x, TS_REASON_MEMORY_MISSING);
    if (!ts__ox_extent(o, view->region)) return TS_ERR_CORRUPT;
    ts_result result = ts__ox_view_image(x, o, view);
    if (result != TS_OK || o->object_type == TS__OX_MEM_OBJECT_IMAGE1D_BUFFER)
        return result;
    if (!ts__ox_pitches(x, o, &view->row, &view->slice) ||
        view->row < view->bytes[0])
        return TS_ERR_CORRUPT;
    view->packed = b->buffer;
    view->offset = (size_t)(o->address - b->address);
    if (view->row != view->bytes[0] ||
        (view->region[2] > 1 && view->slice != view->row * view->region[1]))
        result = ts__ox_gather(x, q, view, b);
    if (result != TS_OK) return result;
    return TS__OX_PUT(CopyBufferToImage, view->packed, view->image,
                      view->offset, zero, view->region);
}

static ts_result ts__ox_view_close(ts__ox *x, ts__ox_queue *q,
                                   const ts__ox_view *view)
{
    static const size_t zero[3];
    if (!view->back) return TS_OK;
    const ts_result result =
        TS__OX_PUT(CopyImageToBuffer, view->image, view->packed, zero,
                   view->region, view->offset);
    if (result != TS_OK || !view->standalone) return result;
    return TS__OX_PUT(CopyBufferRect, view->packed, view->standalone, zero,
                      view->origin, view->bytes, view->bytes[0],
                      view->bytes[0] * view->bytes[1], view->row, view->slice);
}

/* ==== 2. Launches ======================================================== */

typedef struct ts__ox_views {
    ts__ox_view items[32];
    uint32_t count;
} ts__ox_views;

static ts_result ts__ox_sampler(ts__ox *x, const ts_executor_launch *l,
                                uint64_t number, ts__ox_handle *sampler)
{
    ts_capture_sampler s;
    ts_attribute one;
    int32_t error = 0;
    for (uint64_t at = 0; ts_attribute_next(&l->attributes, &at, &one);) {
        if (one.id != TS_ATTRIBUTE_SAMPLER || one.size < sizeof s) continue;
        memcpy(&s, one.bytes, sizeof s);
        if (s.number != number) continue;
        *sampler = x->cl.clCreateSampler(x->context, s.normalized, s.addressing,
                                         s.filter, &error);
        if (!*sampler) return ts__ox_result(error);
        return ts__ox_keep(x, *sampler, TS__OX_SAMPLER) ? TS_OK : TS_ERR_MEMORY;
    }
    return TS_ERR_CORRUPT;
}

static ts_result ts__ox_image(ts__ox *x, ts__ox_queue *q,
                              const ts_executor_launch *l, uint64_t address,
                              ts__ox_views *views, ts__ox_handle *image)
{
    ts_capture_object object;
    // An image is created once per launch.
    for (uint32_t i = 0; i < views->count; i++) {
        *image = views->items[i].image;
        if (views->items[i].address == address) return TS_OK;
    }
    if (!ts__ox_object(&l->attributes, address, &object)) return TS_ERR_CORRUPT;
    if (views->count == 32) return ts__ox_fail(x, TS_REASON_TOO_MANY);
    ts__ox_view *const view = &views->items[views->count++];
    const ts_result result = ts__ox_view_open(x, q, &object, view);
    *image = view->image;
    return result;
}

static ts_result ts__ox_argument(ts__ox *x, ts__ox_queue *q,
                                 const ts_executor_launch *l, uint32_t index,
                                 ts__ox_handle kernel, ts__ox_views *views)
{
    const ts_capture_param *const p = &l->params[index];
    const uint8_t *const bytes = (const uint8_t *)l->args + p->offset;
    ts__ox_handle object = NULL;
    size_t size = sizeof object;
    const void *value = &object;
    ts_result result = TS_OK;
    uint64_t number = 0;
    if (p->type != TS_PARAM_UNKNOWN) memcpy(&number, bytes, sizeof number);
    switch (p->type) {
    case TS_PARAM_UNKNOWN:
        size = p->size;
        value = bytes;
        break;
    case TS_PARAM_POINTER:
        if (number) result = ts__ox_memory_at(x, number, &object);
        break;
    case TS_PARAM_LOCAL:
        size = (size_t)number;
        value = NULL;
        break;
    case TS_PARAM_SAMPLER:
        result = ts__ox_sampler(x, l, number, &object);
        break;
    case TS_PARAM_OBJECT:
        result = ts__ox_image(x, q, l, number, views, &object);
        break;
    default: return TS_ERR_CORRUPT;
    }
    if (result != TS_OK) return result;
    return ts__ox_result(x->cl.clSetKernelArg(kernel, index, size, value));
}

static bool ts__ox_three(const ts_attributes *all, uint32_t id,
                         uint64_t values[3])
{
    ts_attribute one;
    if (!ts_attribute_find(all, id, 24, &one)) return false;
    memcpy(values, one.bytes, 24);
    return true;
}

// Computes global and local sizes. Returns false if they are invalid.
static bool ts__ox_range(const ts_executor_launch *l, size_t offset[3],
                         size_t global[3], size_t local[3],
                         uint32_t *dimensions)
{
    uint64_t threads[3] = { 0 }, first[3] = { 0 };
    ts_attribute one;
    ts__ox_three(&l->attributes, TS_ATTRIBUTE_GLOBAL_OFFSET, first);
    const bool reported =
        ts__ox_three(&l->attributes, TS_ATTRIBUTE_GLOBAL_SIZE, threads);
    *dimensions = 1;
    for (uint32_t i = 0; i < 3; i++) {
        const uint64_t groups = l->grid[i] ? l->grid[i] : 1;
        local[i] = l->block[i] ? l->block[i] : 1;
        if (!reported) threads[i] = groups * local[i];
        global[i] = (size_t)threads[i];
        offset[i] = (size_t)first[i];
        if (threads[i] > 1 || first[i]) *dimensions = i + 1;
    }
    if (ts_attribute_find(&l->attributes, TS_ATTRIBUTE_DIMENSIONS, 4, &one))
        memcpy(dimensions, one.bytes, 4);
    return *dimensions >= 1 && *dimensions <= 3;
}

static ts_result ts__ox_enqueue(ts__ox *x, ts__ox_queue *q,
                                const ts_executor_launch *l,
                                ts__ox_handle kernel)
{
    size_t offset[3], global[3], local[3];
    uint32_t dimensions;
    if (!ts__ox_range(l, offset, global, local, &dimensions))
        return TS_ERR_CORRUPT;
    // A launch without work-items does nothing; older drivers refuse it.
    for (uint32_t i = 0; i < dimensions; i++)
        if (!global[i]) return TS_OK;
    const bool grouped = l->block[0] || l->block[1] || l->block[2];
    const size_t *const groups = grouped ? local : NULL;
    if (x->graph) // this function has one more argument
        return ts__ox_noted(x, q,
                            x->graphs.clCommandNDRangeKernelKHR(
                                x->graph, NULL, NULL, kernel, dimensions,
                                offset, global, groups, TS__OX_POINTS));
    return ts__ox_ran(x, q,
                      x->cl.clEnqueueNDRangeKernel(q->queue, kernel, dimensions,
                                                   offset, global, groups, 0,
                                                   NULL, &x->event));
}

static ts_result ts__ox_launch(void *state, uint64_t stream,
                               const ts_executor_launch *l)
{
    ts__ox *const x = state;
    ts__ox_queue *const q = ts__ox_queue_of(x, stream);
    ts__ox_kernel *kernel;
    ts__ox_views views;
    views.count = 0;
    if (!q) return TS_ERR_USAGE;
    ts_result result = ts__ox_kernel_find(x, l, &kernel);
    if (result != TS_OK) return result;
    ts__ox_handle own = kernel->kernel;
    // Drivers may keep arguments with the kernel, so each launch of a graph has
    // its own.
    if (x->graph) {
        int32_t error = 0;
        own = x->cl.clCreateKernel(
            ((ts__ox_handle *)x->modules.items)[l->module - 1], kernel->name,
            &error);
        if (!own) return ts__ox_result(error);
        if (!ts__ox_keep(x, own, TS__OX_KERNEL)) return TS_ERR_MEMORY;
    }
    // Otherwise arguments of an earlier launch would be used.
    if (kernel->arg_count != l->param_count) return TS_ERR_CORRUPT;
    for (uint32_t i = 0; result == TS_OK && i < l->param_count; i++)
        result = ts__ox_argument(x, q, l, i, own, &views);
    if (result == TS_OK) result = ts__ox_enqueue(x, q, l, own);
    for (uint32_t i = 0; result == TS_OK && i < views.count; i++)
        result = ts__ox_view_close(x, q, &views.items[i]);
    return result;
}

/* ==== 3. Copies and fills ================================================ */

static ts_result ts__ox_end_at(const ts__ox *x, uint64_t address, bool host,
                               ts__ox_end *end)
{
    memset(end, 0, sizeof *end);
    end->host = (char *)(uintptr_t)address;
    if (host) return TS_OK;
    const ts__ox_block *const b = ts__ox_find(x, address);
    if (!b) return TS_ERR_CORRUPT;
    end->buffer = b->buffer;
    end->offset = (size_t)(address - b->address);
    end->left = b->size - end->offset;
    return TS_OK;
}

// Returns whether an end of a copy is an image, and its description.
static bool ts__ox_copy_image(const ts_attributes *all, uint32_t which,
                              ts_capture_object *object)
{
    ts_capture_copy_image image;
    ts_attribute one;
    for (uint64_t at = 0; ts_attribute_next(all, &at, &one);) {
        if (one.id != TS_ATTRIBUTE_COPY_IMAGE || one.size < sizeof image)
            continue;
        memcpy(&image, one.bytes, sizeof image);
        if (image.which == which)
            return ts__ox_object(all, image.address, object);
    }
    return false;
}

// Computes where a box begins in an end and its pitches.
static ts_result ts__ox_box(const ts__ox *x, const ts_attributes *all,
                            uint32_t which, const ts_capture_geometry *g,
                            ts__ox_end *end)
{
    const uint64_t *const origin =
        which ? g->destination_origin : g->source_origin;
    ts_capture_object object;
    uint64_t first, size;
    end->row = (size_t)(which ? g->destination_row : g->source_row);
    end->slice = (size_t)(which ? g->destination_slice : g->source_slice);
    for (int i = 0; i < 3; i++)
        end->origin[i] = (size_t)origin[i];
    if (ts__ox_copy_image(all, which, &object)) {
        if (!end->buffer || !ts__ox_pitches(x, &object, &end->row, &end->slice))
            return TS_ERR_CORRUPT;
    }
    // OpenCL replaces a pitch of 0, but the check below would use 0.
    if ((!end->row && (g->region[1] > 1 || origin[1])) ||
        (!end->slice && (g->region[2] > 1 || origin[2])))
        return TS_ERR_CORRUPT;
    if (end->buffer && (!ts_capture_span(origin, g->region, end->row,
                                         end->slice, &first, &size) ||
                        first > end->left || size > end->left - first))
        return TS_ERR_CORRUPT;
    // The slice pitch of an array of 1D images is its row pitch, which OpenCL
    // would refuse here; one slice needs none.
    if (g->region[2] == 1 && !origin[2]) end->slice = 0;
    end->origin[0] += end->offset;
    return TS_OK;
}

static ts_result ts__ox_copy_box(ts__ox *x, ts__ox_queue *q,
                                 const ts__ox_end *to, const ts__ox_end *from,
                                 const size_t region[3])
{
    if (!from->buffer)
        return ts__ox_ran(x, q,
                          x->cl.clEnqueueWriteBufferRect(
                              q->queue, to->buffer, 0, to->origin, from->origin,
                              region, to->row, to->slice, from->row,
                              from->slice, from->host, 0, NULL, &x->event));
    if (!to->buffer)
        return ts__ox_ran(x, q,
                          x->cl.clEnqueueReadBufferRect(
                              q->queue, from->buffer, 0, from->origin,
                              to->origin, region, from->row, from->slice,
                              to->row, to->slice, to->host, 0, NULL,
                              &x->event));
    return TS__OX_PUT(CopyBufferRect, from->buffer, to->buffer, from->origin,
                      to->origin, region, from->row, from->slice, to->row,
                      to->slice);
}

static ts_result ts__ox_copy_line(ts__ox *x, ts__ox_queue *q,
                                  const ts__ox_end *to, const ts__ox_end *from,
                                  size_t size)
{
    if (!from->buffer)
        return ts__ox_ran(
            x, q,
            x->cl.clEnqueueWriteBuffer(q->queue, to->buffer, 0, to->offset,
                                       size, from->host, 0, NULL, &x->event));
    if (!to->buffer)
        return ts__ox_ran(
            x, q,
            x->cl.clEnqueueReadBuffer(q->queue, from->buffer, 0, from->offset,
                                      size, to->host, 0, NULL, &x->event));
    return TS__OX_PUT(CopyBuffer, from->buffer, to->buffer, from->offset,
                      to->offset, size);
}

// In a graph host memory is replaced by a buffer.
static ts_result ts__ox_stage_end(ts__ox *x, ts__ox_end *end,
                                  const size_t region[3], bool box, bool reads)
{
    const uint64_t origin[3] = { end->origin[0], end->origin[1],
                                 end->origin[2] };
    const uint64_t sizes[3] = { region[0], region[1], region[2] };
    uint64_t first = 0, size = region[0];
    if (!x->graph || end->buffer) return TS_OK;
    if (box &&
        !ts_capture_span(origin, sizes, end->row, end->slice, &first, &size))
        return TS_ERR_CORRUPT;
    const ts_result result = ts__ox_stage(x, end, first, size, reads);
    return result == TS_OK && !reads ? ts__ox_fetch_later(x, end, region, box)
                                     : result;
}

static ts_result ts__ox_copy(void *state, uint64_t stream,
                             const ts_executor_copy *copy)
{
    ts__ox *const x = state;
    ts__ox_queue *const q = ts__ox_queue_of(x, stream);
    ts__ox_end to, from;
    ts_attribute one;
    ts_capture_geometry g;
    size_t region[3] = { (size_t)copy->size, 1, 1 };
    if (!q) return TS_ERR_USAGE;
    // OpenCL has no copy between two places in host memory.
    if (copy->to_host && copy->from_host) return TS_ERR_CORRUPT;
    ts_result result = ts__ox_end_at(x, copy->destination, copy->to_host, &to);
    if (result == TS_OK)
        result = ts__ox_end_at(x, copy->source, copy->from_host, &from);
    const bool box = ts_attribute_find(&copy->attributes, TS_ATTRIBUTE_GEOMETRY,
                                       sizeof g, &one);
    if (box) {
        memcpy(&g, one.bytes, sizeof g);
        for (int i = 0; i < 3; i++)
            region[i] = (size_t)g.region[i];
        if (result == TS_OK)
            result = ts__ox_box(x, &copy->attributes, 1, &g, &to);
        if (result == TS_OK)
            result = ts__ox_box(x, &copy->attributes, 0, &g, &from);
    }
    if (result == TS_OK) result = ts__ox_stage_end(x, &to, region, box, false);
    if (result == TS_OK) result = ts__ox_stage_end(x, &from, region, box, true);
    if (result != TS_OK) return result;
    return box ? ts__ox_copy_box(x, q, &to, &from, region)
               : ts__ox_copy_line(x, q, &to, &from, region[0]);
}

// Fills a box of an image with a color of four components.
static ts_result ts__ox_fill_image(ts__ox *x, ts__ox_queue *q,
                                   const ts_executor_set *set,
                                   const ts_capture_object *object)
{
    ts_attribute color, one;
    ts_capture_geometry g;
    ts__ox_view view;
    size_t origin[3], region[3];
    if (!ts_attribute_find(&set->attributes, TS_ATTRIBUTE_PATTERN, 16,
                           &color) ||
        !ts_attribute_find(&set->attributes, TS_ATTRIBUTE_GEOMETRY, sizeof g,
                           &one))
        return TS_ERR_CORRUPT;
    memcpy(&g, one.bytes, sizeof g);
    ts_result result = ts__ox_view_open(x, q, object, &view);
    if (result != TS_OK) return result;
    const uint64_t element = view.bytes[0] / view.region[0];
    for (int i = 0; i < 3; i++) {
        origin[i] = (size_t)(g.destination_origin[i] / (i ? 1 : element));
        region[i] = (size_t)(g.region[i] / (i ? 1 : element));
    }
    result = TS__OX_PUT(FillImage, view.image, color.bytes, origin, region);
    return result == TS_OK ? ts__ox_view_close(x, q, &view) : result;
}

static ts_result ts__ox_set(void *state, uint64_t stream,
                            const ts_executor_set *set)
{
    ts__ox *const x = state;
    ts__ox_queue *const q = ts__ox_queue_of(x, stream);
    const ts__ox_block *const b = ts__ox_find(x, set->destination);
    const uint8_t byte = (uint8_t)set->value;
    const ts_attribute plain = { 0, 1, &byte };
    ts_attribute pattern;
    ts_capture_object object;
    if (!q || !b) return TS_ERR_CORRUPT;
    if (ts__ox_copy_image(&set->attributes, 1, &object))
        return ts__ox_fill_image(x, q, set, &object);
    if (!ts_attribute_find(&set->attributes, TS_ATTRIBUTE_PATTERN, 1, &pattern))
        pattern = plain;
    return TS__OX_PUT(FillBuffer, b->buffer, pattern.bytes, pattern.size,
                      (size_t)(set->destination - b->address),
                      (size_t)set->size);
}

#endif // TS__OPENCL_EXEC_COMMANDS_H
