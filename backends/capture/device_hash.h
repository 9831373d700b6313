/*
    capture/device_hash.h - hashes that a device computes

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    A device hashes memory faster than the memory can be copied. So the
    device hashes all stale chunks of a row at once, and only chunks that
    the trace needs are viewed. What is viewed is hashed by the host, too:
    after one difference the device's hashes are not used any more.
*/
#include "../ts_capture.h" // all of it, in its order

#ifndef TS__CAPTURE_DEVICE_HASH_H
#define TS__CAPTURE_DEVICE_HASH_H

#include "tracesmith.h"
#include "chunks.h"
#include "memory.h"

#include <pthread.h>

// The chunks that the device was requested to hash.
typedef struct ts__cap_query {
    uint64_t first, end;
    bool known; // the device has returned the hashes
} ts__cap_query;

static inline uint64_t ts__cap_size(const ts__cap_range *range, uint64_t chunk)
{
    const uint64_t left = range->size - chunk * TS_CAPTURE_CHUNK;
    return left < TS_CAPTURE_CHUNK ? left : TS_CAPTURE_CHUNK;
}

// Requests the hashes of the stale chunks from `first` on, up to the first
// chunk that is not stale.
static inline void ts__cap_hash_request(ts_capture_memory *memory,
                                        const ts__cap_range *range,
                                        uint64_t first, ts__cap_query *reported)
{
    const uint64_t chunks = ts__cap_chunks(range->size);
    uint64_t end = first, size = 0;
    bool held;
    while (end < chunks && end - first < TS__CAP_HASHES_MAX &&
           ts__cap_size(range, end) > 240 &&
           ts__cap_stale(memory, range, end, &held))
        size += ts__cap_size(range, end++);
    reported->first = first;
    reported->end = end;
    reported->known =
        size && memory->vendor->hash(memory->user,
                                     range->address + first * TS_CAPTURE_CHUNK,
                                     size, memory->reported);
}

// Returns the hash of a chunk that the device computed, or NULL.
static inline const uint64_t *ts__cap_hash_of(ts_capture_memory *memory,
                                              const ts__cap_range *range,
                                              uint64_t chunk,
                                              ts__cap_query *reported)
{
    if (!memory->reported || memory->device_wrong) return NULL;
    if (chunk >= reported->end)
        ts__cap_hash_request(memory, range, chunk, reported);
    if (!reported->known || chunk >= reported->end) return NULL;
    return &memory->reported[2 * (chunk - reported->first)];
}

// Returns whether bytes with this hash are to be stored in the trace.
static inline bool ts__cap_bytes_requested(size_t size, uint64_t hash[2])
{
    ts__cap_state *const s = &ts__cap_now;
    if (ts_blob_find(NULL, size, hash) == TS_OK) return false;
    pthread_mutex_lock(&s->lock);
    const bool room = !s->desc.hashes_only &&
                      size <= s->desc.budget_bytes - s->figures.kept_bytes;
    pthread_mutex_unlock(&s->lock);
    return room;
}

// Called when the host's hash of a chunk differs from the device's: the
// device's hashes are not used again.
static inline void ts__cap_hash_mismatch(ts_capture_memory *memory)
{
    memory->device_wrong = true;
    ts__cap_hash_report(memory,
                        "on the host: the device computed a different hash");
}

#endif // TS__CAPTURE_DEVICE_HASH_H
