/*
    gpu/mapped_memory.h - memory that is mapped piece by piece

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Allocators that grow reserve addresses and map memory there, one piece
    after the other; a tensor may span several. So pieces that touch in one
    reservation are one range: what reaches one of them may reach all.
*/
#ifndef TS__GPU_MAPPED_MEMORY_H
#define TS__GPU_MAPPED_MEMORY_H

#include "../ts_capture.h"
#include "memory.h"
#include "modules.h"
#include "state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static void ts__cs_reserved(uint64_t address)
{
    uint64_t *const more = (uint64_t *)ts__cs_more(
        ts__cs.seams, &ts__cs.seam_capacity, ts__cs.seam_count, sizeof *more);
    // Without memory its pieces may be merged with those before it.
    if (!more) return;
    ts__cs.seams = more;
    more[ts__cs.seam_count++] = address;
}

static void ts__cs_unreserved(uint64_t address)
{
    for (size_t i = 0; i < ts__cs.seam_count; i++)
        if (ts__cs.seams[i] == address)
            ts__cs.seams[i] = ts__cs.seams[--ts__cs.seam_count];
}

// Returns whether the range that ends at `at` and the one that begins there
// belong together.
static bool ts__cs_goes_on(const ts__cs_range *a, const ts__cs_range *b,
                           uint64_t at)
{
    if (!a || !b || !a->mapped || !b->mapped || a->device != b->device ||
        a->address + a->size != at || b->address != at)
        return false;
    for (size_t i = 0; i < ts__cs.seam_count; i++)
        if (ts__cs.seams[i] == at) return false;
    return true;
}

static void ts__cs_mapped(ts__cs_range range)
{
    const uint64_t at = range.address, end = at + range.size;
    range.mapped = true;
    const ts__cs_range *const after = ts__cs_range_of(end);
    if (ts__cs_goes_on(&range, after, end)) {
        range.size += after->size;
        ts__cs_range_remove(end);
    }
    const size_t before = ts__cs_after(at);
    ts__cs_range *const r = before ? &ts__cs.ranges[before - 1] : NULL;
    if (!ts__cs_goes_on(r, &range, at)) {
        ts__cs_range_add(&range);
        return;
    }
    r->size += range.size;
    ts_capture_grow(&ts__cs.memory, r->address, r->size);
}

// One call unmaps exactly its size; the rest of a range remains mapped.
static void ts__cs_unmapped(uint64_t address, uint64_t size)
{
    const uint64_t end = address + size;
    while (size) {
        const size_t after = ts__cs_after(end - 1);
        if (!after) return;
        const ts__cs_range r = ts__cs.ranges[after - 1];
        if (!r.mapped || r.address + r.size <= address) return;
        ts__cs_range left = r, right = r;
        left.size = address > r.address ? address - r.address : 0;
        right.address = end;
        right.size = r.address + r.size > end ? r.address + r.size - end : 0;
        ts__cs_range_remove(r.address);
        ts__cs_range_add(&left); // adds nothing if its size is 0
        ts__cs_range_add(&right);
        if (left.size) return;
    }
}

#endif // TS__GPU_MAPPED_MEMORY_H
