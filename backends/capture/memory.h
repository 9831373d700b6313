/*
    capture/memory.h - the allocations that a backend reports, and their
    state

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#include "../ts_capture.h" // all of it, in its order

#ifndef TS__CAPTURE_MEMORY_H
#define TS__CAPTURE_MEMORY_H

#include "tracesmith.h"
#include "../ts_filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef TRACESMITH_DISABLE
#define TS__CAP_SESSION() 0
#else
#define TS__CAP_SESSION() TS__LOAD(&ts__here.gate)
#endif

#ifndef TS__STATIC
__attribute__((weak))
ts__cap_state ts__cap_now = { .lock = PTHREAD_MUTEX_INITIALIZER };
#endif

// KEPT: the trace has the bytes of the chunk
enum { TS__CAP_HASHED = 1, TS__CAP_KEPT = 2 };

static inline uint64_t ts__cap_chunks(uint64_t size)
{
    return size / TS_CAPTURE_CHUNK + (size % TS_CAPTURE_CHUNK != 0);
}

static inline void ts__cap_forget(ts__cap_range *range)
{
    free(range->hashes);
    free(range->state);
}

static inline bool ts__cap_tables(ts__cap_range *range)
{
    const uint64_t chunks = ts__cap_chunks(range->size);
    if (range->hashes) return true;
    if (chunks > SIZE_MAX / 16) return false;
    range->hashes = calloc((size_t)chunks, 16);
    range->state = calloc((size_t)chunks, 1);
    if (range->hashes && range->state) return true;
    ts__cap_forget(range);
    range->hashes = NULL;
    range->state = NULL;
    return false;
}

TS__WEAK_API void ts_capture_close(ts_capture_memory *memory)
{
    for (size_t i = 0; i < memory->count; i++)
        ts__cap_forget(&memory->ranges[i]);
    free(memory->ranges);
    free(memory->scratch);
    free(memory->reported);
    memory->ranges = NULL;
    memory->scratch = NULL;
    memory->reported = NULL;
    memory->count = memory->capacity = 0;
    memory->low = memory->high = 0;
    memory->capture = 0;
}

// Records in the trace's metadata where a backend's memory is hashed and why.
static inline void ts__cap_hash_report(const ts_capture_memory *memory,
                                       const char *where)
{
    char key[64];
    snprintf(key, sizeof key, "capture.hash.%.40s", memory->vendor->name);
    ts_metadata_text(0, key, where);
}

// The host computes the hashes until the backend reports that the device does.
static inline void ts__cap_hash_open(ts_capture_memory *memory)
{
    memory->device_wrong = false;
    if (!memory->vendor->hash) return;
    ts__cap_hash_report(memory, "on the host");
    if (ts__cap_now.desc.hash != TS_CAPTURE_HASH_HOST)
        memory->reported = malloc((size_t)TS__CAP_HASHES_MAX * 16);
}

TS__WEAK_API bool ts_capture_fresh(ts_capture_memory *memory)
{
    const uint32_t on = TS__LOAD(&ts__cap_now.on);
    const uint32_t session = TS__CAP_SESSION();
    char key[64];
    if (!on || (memory->capture == on && memory->session == session))
        return false;
    snprintf(key, sizeof key, "capture.by.%.40s", memory->vendor->name);
    ts_metadata_text(0, key, "on");
    ts_capture_close(memory);
    memory->scratch = malloc(TS_CAPTURE_CHUNK + TS_CAPTURE_HIDDEN);
    ts__cap_hash_open(memory);
    memory->capture = on;
    memory->session = session;
    memory->freed_at = 0;
    memset(memory->freed, 0, sizeof memory->freed);
    return true;
}

// Returns the index after the last range that begins at or before `address`.
// Ranges are sorted, `size` bytes each, and start with their 64-bit address.
static inline size_t ts_capture_range_after(const void *ranges, size_t count,
                                            size_t size, uint64_t address)
{
    size_t low = 0;
    while (low < count) {
        const size_t middle = low + (count - low) / 2;
        uint64_t begin;
        memcpy(&begin, (const char *)ranges + middle * size, sizeof begin);
        if (begin <= address)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

static inline size_t ts__cap_after(const ts_capture_memory *memory,
                                   uint64_t address)
{
    return ts_capture_range_after(memory->ranges, memory->count,
                                  sizeof *memory->ranges, address);
}

static inline ts__cap_range *ts__cap_find(const ts_capture_memory *memory,
                                          uint64_t address)
{
    if (address - memory->low >= memory->high - memory->low) return NULL;
    const size_t after = ts__cap_after(memory, address);
    if (!after) return NULL;
    ts__cap_range *const range = &memory->ranges[after - 1];
    return address - range->address < range->size ? range : NULL;
}

TS__WEAK_API void ts_capture_global(ts_capture_memory *memory, uint64_t address,
                                    uint64_t size, uint32_t device,
                                    uint32_t image, uint64_t offset)
{
    if (!memory->capture || !size) return;
    if (memory->count == memory->capacity) {
        const size_t capacity = memory->capacity ? memory->capacity * 2 : 64;
        ts__cap_range *const more =
            realloc(memory->ranges, capacity * sizeof *more);
        // An unrecorded allocation is one that replays cannot reach.
        if (!more) return;
        memory->ranges = more;
        memory->capacity = capacity;
    }
    const size_t at = ts__cap_after(memory, address);
    memmove(&memory->ranges[at + 1], &memory->ranges[at],
            (memory->count++ - at) * sizeof *memory->ranges);
    ts__cap_range *const range = &memory->ranges[at];
    memset(range, 0, sizeof *range);
    range->address = address;
    range->size = size;
    range->device = device;
    range->image = image;
    range->offset = offset;
    memory->low = memory->ranges[0].address;
    const ts__cap_range *const last = &memory->ranges[memory->count - 1];
    memory->high = last->address + last->size;
}

TS__WEAK_API void ts_capture_alloc(ts_capture_memory *memory, uint64_t address,
                                   uint64_t size, uint32_t device)
{
    ts_capture_global(memory, address, size, device, 0, 0);
}

TS__WEAK_API void ts_capture_free(ts_capture_memory *memory, uint64_t address)
{
    const size_t after = ts__cap_after(memory, address);
    if (!after || memory->ranges[after - 1].address != address) return;
    ts__cap_range *const range = &memory->ranges[after - 1];
    uint64_t *const freed = memory->freed[memory->freed_at++ % 64];
    freed[0] = range->address;
    freed[1] = range->size;
    ts__cap_forget(range);
    memmove(range, range + 1, (memory->count - after) * sizeof *range);
    memory->count--;
}

TS__WEAK_API void ts_capture_grow(ts_capture_memory *memory, uint64_t address,
                                  uint64_t size)
{
    ts__cap_range *const range = ts__cap_find(memory, address);
    if (!range || range->address != address || size <= range->size) return;
    const uint64_t had = range->hashes ? range->size / TS_CAPTURE_CHUNK : 0;
    ts__cap_range old = *range;
    range->size = size;
    range->version++;
    range->listed = false;
    range->hashes = NULL;
    range->state = NULL;
    // Chunks that were whole keep their hashes. Without memory for the tables
    // every chunk is hashed again.
    if (had && ts__cap_tables(range)) {
        memcpy(range->hashes, old.hashes, (size_t)had * 16);
        memcpy(range->state, old.state, (size_t)had);
    }
    ts__cap_forget(&old);
    const ts__cap_range *const last = &memory->ranges[memory->count - 1];
    memory->high = last->address + last->size;
}

TS__WEAK_API uint64_t ts_capture_size(const ts_capture_memory *memory,
                                      uint64_t address)
{
    const ts__cap_range *const range = ts__cap_find(memory, address);
    return range && range->address == address ? range->size : 0;
}

static inline bool ts__cap_is_freed(const ts_capture_memory *memory,
                                    uint64_t address)
{
    for (size_t i = 0; i < 64; i++)
        if (address - memory->freed[i][0] < memory->freed[i][1]) return true;
    return false;
}

TS__WEAK_API void ts_capture_touch(ts_capture_memory *memory, uint64_t address,
                                   uint64_t size)
{
    ts__cap_range *const range = ts__cap_find(memory, address);
    if (!range) return;
    uint64_t from = address - range->address;
    if (!size) from = 0;
    if (!size || size > range->size - from) size = range->size - from;
    range->version++;
    range->listed = false;
    if (!range->state || !size) return;
    const uint64_t last = (from + size - 1) / TS_CAPTURE_CHUNK;
    for (uint64_t i = from / TS_CAPTURE_CHUNK; i <= last; i++)
        range->state[i] = 0;
}

#endif // TS__CAPTURE_MEMORY_H
