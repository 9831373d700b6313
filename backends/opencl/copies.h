/*
    opencl/copies.h - commands that move and fill memory

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__OPENCL_COPIES_H
#define TS__OPENCL_COPIES_H

#include "tracesmith.h"
#include "abi.h"
#include "calls.h"
#include "capture.h"
#include "capture_copies.h"
#include "capture_state.h"
#include "commands.h"
#include "memory.h"
#include "objects.h"

#include <stdlib.h>
#include <string.h>

enum { TS__CL_H2D = 1, TS__CL_D2H = 2, TS__CL_D2D = 3, TS__CL_H2H = 4 };

static ts__cl_end_of ts__cl_in_buffer(ts__cl_handle memory, uint64_t offset)
{
    ts__cl_memory m;
    ts__cl_end_of end;
    memset(&end, 0, sizeof end);
    end.device = true;
    end.memory = memory;
    end.origin[0] = offset;
    if (!ts__cl_memory_get(TS__CL_MEMORY, memory, &m)) return end;
    end.base = m.address;
    end.address = m.address + offset;
    return end;
}

static ts__cl_end_of ts__cl_in_host(const void *memory)
{
    ts__cl_end_of end;
    memset(&end, 0, sizeof end);
    end.base = end.address = (uint64_t)(uintptr_t)memory;
    return end;
}

// SVM is recognized only by its first address; an address inside counts as host
// memory.
static ts__cl_end_of ts__cl_in_svm(const void *memory)
{
    ts__cl_memory m;
    ts__cl_end_of end = ts__cl_in_host(memory);
    end.svm = true;
    end.device = ts__cl_memory_get(TS__CL_SVM, memory, &m);
    return end;
}

// Returns the offset of a region of a rectangle. A pitch of 0 means contiguous
// rows or planes.
static uint64_t ts__cl_rect_offset(const size_t *origin, const size_t *region,
                                   size_t row, size_t plane)
{
    if (!origin || !region) return 0;
    if (!row) row = region[0];
    if (!plane) plane = region[1] * row;
    return origin[0] + origin[1] * row + origin[2] * plane;
}

// Turns an end into a rectangle that begins there.
static ts__cl_end_of ts__cl_in_rect(ts__cl_end_of end, const size_t *origin,
                                    const size_t *region, size_t row,
                                    size_t plane)
{
    if (!origin || !region) return end;
    for (int i = 0; i < 3; i++) {
        end.origin[i] = origin[i];
        end.region[i] = region[i];
    }
    end.row = row;
    end.slice = plane;
    end.address += ts__cl_rect_offset(origin, region, row, plane);
    return end;
}

static uint64_t ts__cl_rect_size(const size_t *region)
{
    return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

static ts__cl_end_of ts__cl_in_image(ts__cl_handle image, const size_t *origin,
                                     const size_t *region, uint64_t *size)
{
    ts__cl_memory m;
    ts__cl_end_of end = ts__cl_in_buffer(image, 0);
    if (!ts__cl_memory_get(TS__CL_MEMORY, image, &m)) return end;
    if (size) *size = ts__cl_rect_size(region) * m.element;
    for (int i = 0; origin && region && i < 3; i++) {
        end.origin[i] = origin[i] * (i ? 1 : m.element);
        end.region[i] = region[i] * (i ? 1 : m.element);
    }
    if (origin)
        end.address +=
            origin[0] * m.element + origin[1] * m.row + origin[2] * m.plane;
    return end;
}

// Fills the fields of a copy.
static void ts__cl_copied(const ts__cl_call *call, ts__cl_end_of from,
                          ts__cl_end_of to, uint64_t size)
{
    ts__cl_command *const c = call->command;
    if (!c) return;
    c->op.u.memcpy.type = from.device ? (to.device ? TS__CL_D2D : TS__CL_D2H)
                                      : (to.device ? TS__CL_H2D : TS__CL_H2H);
    c->op.u.memcpy.memory = (from.device ? 3u : 2u) | (to.device ? 3u : 2u)
                                                          << 4;
    c->op.u.memcpy.size = size;
    c->op.u.memcpy.source = from.address;
    c->op.u.memcpy.destination = to.address;
}

static void ts__cl_copy(ts__cl_call *call, ts__cl_end_of from, ts__cl_end_of to,
                        uint64_t size)
{
    ts__cl_copied(call, from, to, size);
    ts__cl_seen_copy(call, from, to, size);
}

static void ts__cl_fill(ts__cl_call *call, ts__cl_end_of to, uint64_t size,
                        const void *pattern, size_t pattern_size)
{
    ts__cl_command *const c = call->command;
    ts__cl_seen_fill(call, to, size, pattern, pattern_size);
    if (!c) return;
    c->op.u.memset.destination = to.address;
    c->op.u.memset.size = size;
    if (pattern && !to.region[0]) // the color of an image is not a byte pattern
        memcpy(&c->op.u.memset.value, pattern,
               pattern_size < 8 ? pattern_size : 8);
}

// A map transfers what the host will read, an unmap what it has written. With
// shared memory this takes no time.
static void ts__cl_map(const ts__cl_call *call, ts__cl_end_of memory,
                       const void *mapped, uint64_t flags, uint64_t size)
{
    const bool reads = flags & (TS__CL_MAP_READ | TS__CL_MAP_WRITE);
    ts__cl_copied(call, memory, ts__cl_in_host(mapped), reads ? size : 0);
}

static int32_t ts__cl_clEnqueueReadBuffer(ts__cl_handle queue,
                                          ts__cl_handle buffer,
                                          uint32_t blocking, size_t offset,
                                          size_t size, void *host,
                                          TS__CL_QUEUED)
{
    TS__CL_BEGIN(clEnqueueReadBuffer, TS_EVENT_MEMCPY);
    call.blocking = blocking;
    ts__cl_copy(&call, ts__cl_in_buffer(buffer, offset), ts__cl_in_host(host),
                size);
    TS__CL_END(ts__cl.next.clEnqueueReadBuffer(queue, buffer, blocking, offset,
                                               size, host, waits, list, at));
}

static int32_t ts__cl_clEnqueueWriteBuffer(ts__cl_handle queue,
                                           ts__cl_handle buffer,
                                           uint32_t blocking, size_t offset,
                                           size_t size, const void *host,
                                           TS__CL_QUEUED)
{
    TS__CL_BEGIN(clEnqueueWriteBuffer, TS_EVENT_MEMCPY);
    call.blocking = blocking;
    ts__cl_copy(&call, ts__cl_in_host(host), ts__cl_in_buffer(buffer, offset),
                size);
    TS__CL_END(ts__cl.next.clEnqueueWriteBuffer(queue, buffer, blocking, offset,
                                                size, host, waits, list, at));
}

static int32_t ts__cl_clEnqueueCopyBuffer(ts__cl_handle queue,
                                          ts__cl_handle from, ts__cl_handle to,
                                          size_t from_offset, size_t to_offset,
                                          size_t size, TS__CL_QUEUED)
{
    TS__CL_BEGIN(clEnqueueCopyBuffer, TS_EVENT_MEMCPY);
    ts__cl_copy(&call, ts__cl_in_buffer(from, from_offset),
                ts__cl_in_buffer(to, to_offset), size);
    TS__CL_END(ts__cl.next.clEnqueueCopyBuffer(
        queue, from, to, from_offset, to_offset, size, waits, list, at));
}

static int32_t
ts__cl_clEnqueueReadBufferRect(ts__cl_handle queue, ts__cl_handle buffer,
                               uint32_t blocking, const size_t *origin,
                               const size_t *host_origin, const size_t *region,
                               size_t pitch, size_t slice, size_t host_pitch,
                               size_t host_slice, void *host, TS__CL_QUEUED)
{
    TS__CL_BEGIN(clEnqueueReadBufferRect, TS_EVENT_MEMCPY);
    call.blocking = blocking;
    ts__cl_copy(&call,
                ts__cl_in_rect(ts__cl_in_buffer(buffer, 0), origin, region,
                               pitch, slice),
                ts__cl_in_rect(ts__cl_in_host(host), host_origin, region,
                               host_pitch, host_slice),
                ts__cl_rect_size(region));
    TS__CL_END(ts__cl.next.clEnqueueReadBufferRect(
        queue, buffer, blocking, origin, host_origin, region, pitch, slice,
        host_pitch, host_slice, host, waits, list, at));
}

static int32_t ts__cl_clEnqueueWriteBufferRect(
    ts__cl_handle queue, ts__cl_handle buffer, uint32_t blocking,
    const size_t *origin, const size_t *host_origin, const size_t *region,
    size_t pitch, size_t slice, size_t host_pitch, size_t host_slice,
    const void *host, TS__CL_QUEUED)
{
    TS__CL_BEGIN(clEnqueueWriteBufferRect, TS_EVENT_MEMCPY);
    call.blocking = blocking;
    ts__cl_copy(&call,
                ts__cl_in_rect(ts__cl_in_host(host), host_origin, region,
                               host_pitch, host_slice),
                ts__cl_in_rect(ts__cl_in_buffer(buffer, 0), origin, region,
                               pitch, slice),
                ts__cl_rect_size(region));
    TS__CL_END(ts__cl.next.clEnqueueWriteBufferRect(
        queue, buffer, blocking, origin, host_origin, region, pitch, slice,
        host_pitch, host_slice, host, waits, list, at));
}

static int32_t
ts__cl_clEnqueueCopyBufferRect(ts__cl_handle queue, ts__cl_handle from,
                               ts__cl_handle to, const size_t *from_origin,
                               const size_t *to_origin, const size_t *region,
                               size_t from_pitch, size_t from_slice,
                               size_t to_pitch, size_t to_slice, TS__CL_QUEUED)
{
    TS__CL_BEGIN(clEnqueueCopyBufferRect, TS_EVENT_MEMCPY);
    ts__cl_copy(&call,
                ts__cl_in_rect(ts__cl_in_buffer(from, 0), from_origin, region,
                               from_pitch, from_slice),
                ts__cl_in_rect(ts__cl_in_buffer(to, 0), to_origin, region,
                               to_pitch, to_slice),
                ts__cl_rect_size(region));
    TS__CL_END(ts__cl.next.clEnqueueCopyBufferRect(
        queue, from, to, from_origin, to_origin, region, from_pitch, from_slice,
        to_pitch, to_slice, waits, list, at));
}

static int32_t ts__cl_clEnqueueReadImage(ts__cl_handle queue,
                                         ts__cl_handle image, uint32_t blocking,
                                         const size_t *origin,
                                         const size_t *region, size_t pitch,
                                         size_t slice, void *host,
                                         TS__CL_QUEUED)
{
    uint64_t size = 0;
    TS__CL_BEGIN(clEnqueueReadImage, TS_EVENT_MEMCPY);
    call.blocking = blocking;
    const ts__cl_end_of from = ts__cl_in_image(image, origin, region, &size);
    ts__cl_end_of to = ts__cl_in_host(host);
    to.row = pitch;
    to.slice = slice;
    ts__cl_copy(&call, from, to, size);
    TS__CL_END(ts__cl.next.clEnqueueReadImage(queue, image, blocking, origin,
                                              region, pitch, slice, host, waits,
                                              list, at));
}

static int32_t
ts__cl_clEnqueueWriteImage(ts__cl_handle queue, ts__cl_handle image,
                           uint32_t blocking, const size_t *origin,
                           const size_t *region, size_t pitch, size_t slice,
                           const void *host, TS__CL_QUEUED)
{
    uint64_t size = 0;
    TS__CL_BEGIN(clEnqueueWriteImage, TS_EVENT_MEMCPY);
    call.blocking = blocking;
    const ts__cl_end_of to = ts__cl_in_image(image, origin, region, &size);
    ts__cl_end_of from = ts__cl_in_host(host);
    from.row = pitch;
    from.slice = slice;
    ts__cl_copy(&call, from, to, size);
    TS__CL_END(ts__cl.next.clEnqueueWriteImage(queue, image, blocking, origin,
                                               region, pitch, slice, host,
                                               waits, list, at));
}

static int32_t ts__cl_clEnqueueCopyImage(ts__cl_handle queue,
                                         ts__cl_handle from, ts__cl_handle to,
                                         const size_t *from_origin,
                                         const size_t *to_origin,
                                         const size_t *region, TS__CL_QUEUED)
{
    uint64_t size = 0;
    TS__CL_BEGIN(clEnqueueCopyImage, TS_EVENT_MEMCPY);
    const ts__cl_end_of source =
        ts__cl_in_image(from, from_origin, region, &size);
    ts__cl_copy(&call, source, ts__cl_in_image(to, to_origin, region, NULL),
                size);
    TS__CL_END(ts__cl.next.clEnqueueCopyImage(
        queue, from, to, from_origin, to_origin, region, waits, list, at));
}

static int32_t ts__cl_clEnqueueCopyImageToBuffer(
    ts__cl_handle queue, ts__cl_handle from, ts__cl_handle to,
    const size_t *origin, const size_t *region, size_t offset, TS__CL_QUEUED)
{
    uint64_t size = 0;
    TS__CL_BEGIN(clEnqueueCopyImageToBuffer, TS_EVENT_MEMCPY);
    const ts__cl_end_of source = ts__cl_in_image(from, origin, region, &size);
    ts__cl_copy(&call, source, ts__cl_in_buffer(to, offset), size);
    TS__CL_END(ts__cl.next.clEnqueueCopyImageToBuffer(
        queue, from, to, origin, region, offset, waits, list, at));
}

static int32_t ts__cl_clEnqueueCopyBufferToImage(
    ts__cl_handle queue, ts__cl_handle from, ts__cl_handle to, size_t offset,
    const size_t *origin, const size_t *region, TS__CL_QUEUED)
{
    uint64_t size = 0;
    TS__CL_BEGIN(clEnqueueCopyBufferToImage, TS_EVENT_MEMCPY);
    const ts__cl_end_of target = ts__cl_in_image(to, origin, region, &size);
    ts__cl_copy(&call, ts__cl_in_buffer(from, offset), target, size);
    TS__CL_END(ts__cl.next.clEnqueueCopyBufferToImage(
        queue, from, to, offset, origin, region, waits, list, at));
}

static int32_t ts__cl_clEnqueueFillBuffer(ts__cl_handle queue,
                                          ts__cl_handle buffer,
                                          const void *pattern,
                                          size_t pattern_size, size_t offset,
                                          size_t size, TS__CL_QUEUED)
{
    TS__CL_BEGIN(clEnqueueFillBuffer, TS_EVENT_MEMSET);
    ts__cl_fill(&call, ts__cl_in_buffer(buffer, offset), size, pattern,
                pattern_size);
    TS__CL_END(ts__cl.next.clEnqueueFillBuffer(
        queue, buffer, pattern, pattern_size, offset, size, waits, list, at));
}

static int32_t ts__cl_clEnqueueFillImage(ts__cl_handle queue,
                                         ts__cl_handle image, const void *color,
                                         const size_t *origin,
                                         const size_t *region, TS__CL_QUEUED)
{
    uint64_t size = 0;
    TS__CL_BEGIN(clEnqueueFillImage, TS_EVENT_MEMSET);
    const ts__cl_end_of to = ts__cl_in_image(image, origin, region, &size);
    ts__cl_fill(&call, to, size, color, 16);
    TS__CL_END(ts__cl.next.clEnqueueFillImage(queue, image, color, origin,
                                              region, waits, list, at));
}

static void *ts__cl_clEnqueueMapBuffer(ts__cl_handle queue,
                                       ts__cl_handle buffer, uint32_t blocking,
                                       uint64_t flags, size_t offset,
                                       size_t size, TS__CL_QUEUED,
                                       int32_t *error)
{
    int32_t own = 0, *const result = error ? error : &own;
    TS__CL_BEGIN(clEnqueueMapBuffer, TS_EVENT_MEMCPY);
    call.blocking = blocking;
    ts__cl_seen_nothing(&call);
    void *const mapped = ts__cl.next.clEnqueueMapBuffer(
        queue, buffer, blocking, flags, offset, size, waits, list, at, result);
    const ts__cl_end_of from = ts__cl_in_buffer(buffer, offset);
    ts__cl_map(&call, from, mapped, flags, size);
    ts__cl_seen_mapped(&call, from, mapped, flags, size, NULL, NULL);
    ts__cl_end(&call, *result, at, waits, list);
    return mapped;
}

static void *ts__cl_clEnqueueMapImage(ts__cl_handle queue, ts__cl_handle image,
                                      uint32_t blocking, uint64_t flags,
                                      const size_t *origin,
                                      const size_t *region, size_t *pitch,
                                      size_t *slice, TS__CL_QUEUED,
                                      int32_t *error)
{
    int32_t own = 0, *const result = error ? error : &own;
    uint64_t size = 0;
    TS__CL_BEGIN(clEnqueueMapImage, TS_EVENT_MEMCPY);
    call.blocking = blocking;
    ts__cl_seen_nothing(&call);
    void *const mapped = ts__cl.next.clEnqueueMapImage(
        queue, image, blocking, flags, origin, region, pitch, slice, waits,
        list, at, result);
    const ts__cl_end_of from = ts__cl_in_image(image, origin, region, &size);
    ts__cl_map(&call, from, mapped, flags, size);
    ts__cl_seen_mapped(&call, from, mapped, flags, size, pitch, slice);
    ts__cl_end(&call, *result, at, waits, list);
    return mapped;
}

// Only the driver knows how much is written back; the trace has 0 bytes.
static int32_t ts__cl_clEnqueueUnmapMemObject(ts__cl_handle queue,
                                              ts__cl_handle memory,
                                              void *mapped, TS__CL_QUEUED)
{
    TS__CL_BEGIN(clEnqueueUnmapMemObject, TS_EVENT_MEMCPY);
    ts__cl_copied(&call, ts__cl_in_host(mapped), ts__cl_in_buffer(memory, 0),
                  0);
    ts__cl_seen_unmap(&call, memory, mapped);
    TS__CL_END(ts__cl.next.clEnqueueUnmapMemObject(queue, memory, mapped, waits,
                                                   list, at));
}

static int32_t ts__cl_clEnqueueMigrateMemObjects(ts__cl_handle queue,
                                                 uint32_t count,
                                                 const ts__cl_handle *memory,
                                                 uint64_t flags, TS__CL_QUEUED)
{
    uint64_t size = 0;
    ts__cl_memory m;
    TS__CL_BEGIN(clEnqueueMigrateMemObjects, TS_EVENT_MEMCPY);
    for (uint32_t i = 0; call.command && memory && i < count; i++)
        if (ts__cl_memory_get(TS__CL_MEMORY, memory[i], &m)) size += m.size;
    if (flags & TS__CL_MIGRATE_UNDEFINED) size = 0;
    const ts__cl_end_of device =
        ts__cl_in_buffer(memory && count ? memory[0] : NULL, 0);
    const bool home = flags & TS__CL_MIGRATE_HOST;
    ts__cl_copied(&call, home ? device : ts__cl_in_host(NULL),
                  home ? ts__cl_in_host(NULL) : device, size);
    ts__cl_seen_migrate(&call, count, memory, flags & TS__CL_MIGRATE_UNDEFINED);
    TS__CL_END(ts__cl.next.clEnqueueMigrateMemObjects(queue, count, memory,
                                                      flags, waits, list, at));
}

static int32_t ts__cl_clEnqueueSVMMemcpy(ts__cl_handle queue, uint32_t blocking,
                                         void *to, const void *from,
                                         size_t size, TS__CL_QUEUED)
{
    TS__CL_BEGIN(clEnqueueSVMMemcpy, TS_EVENT_MEMCPY);
    call.blocking = blocking;
    ts__cl_copy(&call, ts__cl_in_svm(from), ts__cl_in_svm(to), size);
    TS__CL_END(ts__cl.next.clEnqueueSVMMemcpy(queue, blocking, to, from, size,
                                              waits, list, at));
}

static int32_t ts__cl_clEnqueueSVMMemFill(ts__cl_handle queue, void *memory,
                                          const void *pattern,
                                          size_t pattern_size, size_t size,
                                          TS__CL_QUEUED)
{
    TS__CL_BEGIN(clEnqueueSVMMemFill, TS_EVENT_MEMSET);
    ts__cl_fill(&call, ts__cl_in_svm(memory), size, pattern, pattern_size);
    TS__CL_END(ts__cl.next.clEnqueueSVMMemFill(
        queue, memory, pattern, pattern_size, size, waits, list, at));
}

static int32_t ts__cl_clEnqueueSVMMap(ts__cl_handle queue, uint32_t blocking,
                                      uint64_t flags, void *memory, size_t size,
                                      TS__CL_QUEUED)
{
    TS__CL_BEGIN(clEnqueueSVMMap, TS_EVENT_MEMCPY);
    call.blocking = blocking;
    ts__cl_seen_decline(&call, TS_REASON_UVM);
    ts__cl_map(&call, ts__cl_in_svm(memory), memory, flags, size);
    TS__CL_END(ts__cl.next.clEnqueueSVMMap(queue, blocking, flags, memory, size,
                                           waits, list, at));
}

static int32_t ts__cl_clEnqueueSVMUnmap(ts__cl_handle queue, void *memory,
                                        TS__CL_QUEUED)
{
    TS__CL_BEGIN(clEnqueueSVMUnmap, TS_EVENT_MEMCPY);
    ts__cl_copy(&call, ts__cl_in_host(memory), ts__cl_in_svm(memory), 0);
    TS__CL_END(ts__cl.next.clEnqueueSVMUnmap(queue, memory, waits, list, at));
}

static int32_t ts__cl_clEnqueueSVMMigrateMem(ts__cl_handle queue,
                                             uint32_t count,
                                             const void **memory,
                                             const size_t *sizes,
                                             uint64_t flags, TS__CL_QUEUED)
{
    uint64_t size = 0;
    TS__CL_BEGIN(clEnqueueSVMMigrateMem, TS_EVENT_MEMCPY);
    for (uint32_t i = 0; sizes && i < count; i++)
        size += sizes[i];
    if (flags & TS__CL_MIGRATE_UNDEFINED) size = 0;
    ts__cl_end_of here = ts__cl_in_svm(memory && count ? memory[0] : NULL);
    ts__cl_end_of there = here;
    here.device = flags & TS__CL_MIGRATE_HOST;
    there.device = !here.device;
    ts__cl_copy(&call, here, there, size);
    TS__CL_END(ts__cl.next.clEnqueueSVMMigrateMem(queue, count, memory, sizes,
                                                  flags, waits, list, at));
}

// Memory is freed when the queue reaches the command, and its address may be
// reused at that moment. So it is removed from the table now.
static int32_t ts__cl_clEnqueueSVMFree(ts__cl_handle queue, uint32_t count,
                                       void **memory,
                                       void (*function)(ts__cl_handle, uint32_t,
                                                        void **, void *),
                                       void *user, TS__CL_QUEUED)
{
    TS__CL_BEGIN(clEnqueueSVMFree, TS_EVENT_GPU_FREE);
    ts__cl_command *const c = memory && count ? call.command : NULL;
    if (c) {
        c->op.u.memory.address = (uint64_t)(uintptr_t)memory[0];
        c->frees = (uint64_t *)calloc(count, sizeof *c->frees);
        for (uint32_t i = 1; c->frees && i < count; i++)
            c->frees[c->free_count++] = (uint64_t)(uintptr_t)memory[i];
    }
    // Also without recording, because addresses in the table count as SVM.
    const bool known = memory && count && !TS__LOAD(&ts__cl.off);
    ts__cl_memory **const taken =
        known ? (ts__cl_memory **)calloc(count, sizeof *taken) : NULL;
    for (uint32_t i = 0; taken && i < count; i++)
        taken[i] = ts__cl_svm_take(memory[i]);
    const int32_t result = ts__cl.next.clEnqueueSVMFree(
        queue, count, memory, function, user, waits, list, at);
    for (uint32_t i = 0; taken && i < count; i++) {
        if (result != TS__CL_SUCCESS && taken[i])
            ts__cl_memory_set(TS__CL_SVM, taken[i]);
        else
            free(taken[i]);
    }
    free(taken);
    TS__CL_END(result);
}

#endif // TS__OPENCL_COPIES_H
