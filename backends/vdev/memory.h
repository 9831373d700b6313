/*
    vdev/memory.h - memory of devices

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__VDEV_MEMORY_H
#define TS__VDEV_MEMORY_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "calls.h"
#include "machine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void ts__vd_memory_report(const ts__vd_call *call, ts_event_kind kind,
                                 const ts__vd_device *device,
                                 const ts__vd_range *range)
{
    ts_gpu_op op;
    memset(&op, 0, sizeof op);
    op.kind = kind;
    op.track = device->context;
    op.queued = call->start;
    op.submitted = op.start = op.end = ts_tick_now();
    op.correlation = call->correlation;
    op.origin = call->origin;
    op.u.memory.address = range->begin;
    op.u.memory.size = range->size;
    op.u.memory.memory = 3 << 4; // device
    ts_gpu_op_record(&op);
}

static bool ts__vd_ranges_grow(ts__vd_device *d)
{
    if (d->range_count < d->range_room) return true;
    const size_t room = d->range_room ? d->range_room * 2 : 64;
    ts__vd_range *const ranges = realloc(d->ranges, room * sizeof *ranges);
    if (!ranges) return false;
    d->ranges = ranges;
    d->range_room = room;
    return true;
}

// Inserts a range into the list.
static void ts__vd_range_add(const ts__vd_call *call, ts__vd_device *d,
                             size_t at, ts__vd_range range)
{
    memmove(&d->ranges[at + 1], &d->ranges[at],
            (d->range_count++ - at) * sizeof range);
    d->ranges[at] = range;
    ts_capture_alloc(&call->v->known_memory, range.begin, range.size, d->track);
    ts__vd_memory_report(call, TS_EVENT_GPU_ALLOC, d, &range);
}

// Makes the pages of a range accessible, if addresses were requested.
static bool ts__vd_range_open(const ts__vd_device *d, ts__vd_range range)
{
    const uint64_t first = range.begin & ~(uint64_t)4095;
    const uint64_t size = range.begin + range.size - first;
    return !d->given ||
           mprotect(ts__vd_pointer(first), size, PROT_READ | PROT_WRITE) == 0;
}

// Returns the pages that only a freed range used to the system, so that later
// accesses to them fault.
static void ts__vd_range_close(const ts__vd_device *d, ts__vd_range range)
{
    const uint64_t first = (range.begin + 4095) & ~(uint64_t)4095;
    const uint64_t last = (range.begin + range.size) & ~(uint64_t)4095;
    if (!d->given || last <= first) return;
    void *const at = ts__vd_pointer(first);
    const int flags = MAP_PRIVATE | MAP_FIXED | 0x4020; // as in ts__vd_map
    if (mmap(at, last - first, PROT_NONE, flags, -1, 0) == MAP_FAILED)
        (void)mprotect(at, last - first, PROT_NONE);
}

ts_result ts_vdev_malloc(void **ptr, ts_vdev *vdev, uint32_t device,
                         uint64_t size)
{
    ts__vd_call call;
    if (ptr) *ptr = NULL;
    if (!ts__vd_enter(&call, vdev, "vdevMalloc")) return call.result;
    if (!ptr || !size || device >= vdev->desc.device_count)
        return ts__vd_leave(&call, TS_ERR_USAGE);
    ts__vd_device *const d = &vdev->devices[device];
    if (!ts__vd_ranges_grow(d)) return ts__vd_leave(&call, TS_ERR_MEMORY);
    size_t at;
    const ts__vd_range range = { ts__vd_gap_find(vdev, d, size, &at), size };
    if (!range.begin || !ts__vd_range_open(d, range))
        return ts__vd_leave(&call, TS_ERR_MEMORY);
    *ptr = ts__vd_pointer(range.begin);
    ts__vd_range_add(&call, d, at, range);
    return ts__vd_leave(&call, TS_OK);
}

ts_result ts_vdev_malloc_at(void *ptr, ts_vdev *vdev, uint32_t device,
                            uint64_t size)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevMallocAt")) return call.result;
    if (!size || device >= vdev->desc.device_count)
        return ts__vd_leave(&call, TS_ERR_USAGE);
    ts__vd_device *const d = &vdev->devices[device];
    const ts__vd_range range = { (uintptr_t)ptr, size };
    const uint64_t offset = range.begin - d->memory;
    if (offset >= vdev->desc.memory_bytes ||
        size > vdev->desc.memory_bytes - offset || !ts__vd_ranges_grow(d))
        return ts__vd_leave(&call, TS_ERR_MEMORY);
    const size_t before = ts__vd_range_at(d, range.begin);
    const size_t at = before == SIZE_MAX ? 0 : before + 1;
    const bool taken =
        (at &&
         range.begin - d->ranges[at - 1].begin < d->ranges[at - 1].size) ||
        (at < d->range_count && d->ranges[at].begin - range.begin < size);
    if (taken || !ts__vd_range_open(d, range))
        return ts__vd_leave(&call, TS_ERR_MEMORY);
    ts__vd_range_add(&call, d, at, range);
    return ts__vd_leave(&call, TS_OK);
}

ts_result ts_vdev_global_register(ts_vdev *vdev, uint32_t device, void *ptr,
                                  uint64_t size)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevGlobalRegister")) return call.result;
    if (!ptr || !size || device >= vdev->desc.device_count)
        return ts__vd_leave(&call, TS_ERR_USAGE);
    ts__vd_global *const more = realloc(
        vdev->globals, (vdev->global_count + 1) * sizeof *vdev->globals);
    if (!more) return ts__vd_leave(&call, TS_ERR_MEMORY);
    vdev->globals = more;
    const ts__vd_global global = { (uintptr_t)ptr, size, device };
    vdev->globals[vdev->global_count++] = global;
    vdev->known_memory.capture = 0; // adds it to the next capture
    return ts__vd_leave(&call, TS_OK);
}

ts_result ts_vdev_free(ts_vdev *vdev, void *ptr)
{
    ts__vd_call call;
    if (vdev && !ptr) return TS_OK;
    if (!ts__vd_enter(&call, vdev, "vdevFree")) return call.result;
    ts__vd_device *const d = ts__vd_owner(vdev, ptr);
    size_t at = d ? ts__vd_range_at(d, (uintptr_t)ptr) : SIZE_MAX;
    if (at == SIZE_MAX || d->ranges[at].begin != (uintptr_t)ptr)
        return ts__vd_leave(&call, TS_ERR_USAGE);
    if (ts__vd_sync_device(&call, 0, d) != TS_OK)
        return ts__vd_leave(&call, TS_ERR_MEMORY);
    // Another thread may have freed it meanwhile.
    at = ts__vd_range_at(d, (uintptr_t)ptr);
    if (at == SIZE_MAX || d->ranges[at].begin != (uintptr_t)ptr)
        return ts__vd_leave(&call, TS_ERR_USAGE);
    const ts__vd_range range = d->ranges[at];
    memmove(&d->ranges[at], &d->ranges[at + 1],
            (--d->range_count - at) * sizeof range);
    ts_capture_free(&vdev->known_memory, range.begin);
    ts__vd_range_close(d, range);
    ts__vd_memory_report(&call, TS_EVENT_GPU_FREE, d, &range);
    return ts__vd_leave(&call, TS_OK);
}

int32_t ts_vdev_pointer_device(const ts_vdev *vdev, const void *ptr)
{
    const ts__vd_device *const owner = vdev ? ts__vd_owner(vdev, ptr) : NULL;
    return owner ? (int32_t)(owner - vdev->devices) : -1;
}

#endif // TS__VDEV_MEMORY_H
