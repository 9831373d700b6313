/*
    gpu/memory.h - the allocations of a program, and how they are read

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Knows each live allocation of device memory, by the calls that made it
    or by a query to the driver, and shows their contents to ts_capture.h.
*/
#ifndef TS__GPU_MEMORY_H
#define TS__GPU_MEMORY_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "../capture/memory.h"
#include "driver.h"
#include "driver_requests.h"
#include "modules.h"
#include "state.h"
#include "tensor_maps.h"

#include <string.h>

// Returns the index after the last range that begins at or before an address.
static size_t ts__cs_after(uint64_t address)
{
    return ts_capture_range_after(ts__cs.ranges, ts__cs.range_count,
                                  sizeof *ts__cs.ranges, address);
}

static const ts__cs_range *ts__cs_range_of(uint64_t address)
{
    const size_t after = ts__cs_after(address);
    if (!after) return NULL;
    const ts__cs_range *const r = &ts__cs.ranges[after - 1];
    return address - r->address < r->size ? r : NULL;
}

static void ts__cs_range_remove(uint64_t address)
{
    const size_t after = ts__cs_after(address);
    if (!after || ts__cs.ranges[after - 1].address != address) return;
    if (!ts__cs.ranges[after - 1].host)
        ts_capture_free(&ts__cs.memory, address);
    memmove(&ts__cs.ranges[after - 1], &ts__cs.ranges[after],
            (ts__cs.range_count-- - after) * sizeof *ts__cs.ranges);
}

// Applies the driver's answer to a range. Managed memory that the host may read
// at any time is captured like other memory, but hashed again each time.
static void ts__cs_range_manage(ts__cs_range *range, ts__cs_managed managed)
{
    range->managed = managed == TS__CS_MANAGED && ts__cs.vendor->managed;
    if (managed && !range->managed) range->reason = TS_REASON_UVM;
    ts__cs.managed |= range->managed;
}

static void ts__cs_range_add(const ts__cs_range *range)
{
    // A range on no device would be read as host memory.
    if (!range->address || !range->size || (!range->device && !range->host))
        return;
    ts__cs_range_remove(range->address); // in case its free was not seen
    ts__cs_range *const more =
        (ts__cs_range *)ts__cs_more(ts__cs.ranges, &ts__cs.range_capacity,
                                    ts__cs.range_count, sizeof *more);
    if (!more) return;
    ts__cs.ranges = more;
    const size_t at = ts__cs_after(range->address);
    memmove(&more[at + 1], &more[at],
            (ts__cs.range_count++ - at) * sizeof *more);
    more[at] = *range;
    if (!range->host)
        ts_capture_alloc(&ts__cs.memory, range->address, range->size,
                         range->device);
}

// Returns the context in which to read an address: the one that owns the
// memory, because kernels of another context may not access it, and a failed
// access would be reported to the program. NULL: no context is known in which
// kernels can hash it.
static void *ts__cs_context_at(uint64_t address)
{
    const ts__cs_range *const r = ts__cs_range_of(address);
    if (r && r->context) return r->context;
    return r && r->device == ts__cs.device ? ts__cs.context : NULL;
}

static const void *ts__cs_view(void *user, uint64_t address, uint64_t size,
                               void *scratch)
{
    ts__cs_job job;
    (void)user;
    job.what = TS__CS_READ;
    job.context = ts__cs_context_at(address);
    // Copies work in any context.
    if (!job.context) job.context = ts__cs.context;
    job.address = address;
    job.size = size;
    if (!ts__cs_request(&ts__cs.driver, &job, ts__cs.reads_until_ns))
        return NULL;
    memcpy(scratch, ts__cs.driver.bounce, (size_t)size);
    return scratch;
}

// Returns whether an address is in an allocation or in a variable of code that
// was needed.
static bool ts__cs_is_known(uint64_t address)
{
    return ts__cs_range_of(address) || ts__cap_find(&ts__cs.memory, address);
}

// Queries the driver for memory whose allocation was not seen.
static void ts__cs_look_up(uint64_t address)
{
    ts__cs_job job;
    if (address < 1 << 16 || ts__cs_is_known(address)) return;
    job.what = TS__CS_ALLOCATION;
    job.context = ts__cs.context;
    job.address = address;
    if (!ts__cs_request(&ts__cs.driver, &job, ts__cs.reads_until_ns)) return;
    if (ts__cs.call && ts__cs.vendor->variable &&
        ts__cs.vendor->variable(ts__cs.call, address))
        return;
    const bool reported = job.device >= 0 && ts__cs.vendor->device;
    ts__cs_range range = { job.address,
                           job.size,
                           job.owner,
                           reported
                               ? ts__cs.vendor->device((uint32_t)job.device)
                               : ts__cs.device,
                           TS_REASON_NONE,
                           false,
                           false,
                           false };
    ts__cs_range_manage(&range, job.managed);
    ts__cs_range_add(&range);
}

// If the bytes hold a tensor map, adds the memory that the map points to,
// because the operation can reach it.
static inline void ts__cs_hidden(void *user, ts_capture_op *op,
                                 const void *bytes, ts_capture_found found,
                                 uint32_t from)
{
    uint64_t map[16];
    (void)user;
    if (!ts__cs.tensors.count) return;
    memcpy(map, bytes, sizeof map);
    ts__cs_tensor *const t = ts__cs_tensor_find(&ts__cs.tensors, map);
    if (!t) return;
    if (!t->how.address) ts_capture_decline(op, TS_REASON_TEXTURE_BINDLESS);
    ts__cs_look_up(t->how.address);
    ts_capture_reach(&ts__cs.memory, op, t->how.address, found, from);
    if (t->seen != op->head.order)
        ts_capture_attribute_add(op, TS_ATTRIBUTE_TENSOR_MAP, &t->how,
                                 sizeof t->how);
    t->seen = op->head.order;
}

// Adds all allocations to a capture that has just begun.
static void ts__cs_fresh(void)
{
    ts__cs.memory.vendor = &ts__cs.vendor->memory;
    if (!ts_capture_fresh(&ts__cs.memory)) return;
    ts__cs.vendor->fresh();
    ts__cs.touched = false;
    for (size_t i = 0; i < ts__cs.range_count; i++) {
        const ts__cs_range *const r = &ts__cs.ranges[i];
        if (!r->host)
            ts_capture_alloc(&ts__cs.memory, r->address, r->size, r->device);
    }
}

#endif // TS__GPU_MEMORY_H
