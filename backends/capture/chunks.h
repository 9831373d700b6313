/*
    capture/chunks.h - one chunk: its hash, and whether the trace gets its
    bytes

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#include "../ts_capture.h" // all of it, in its order

#ifndef TS__CAPTURE_CHUNKS_H
#define TS__CAPTURE_CHUNKS_H

#include "tracesmith.h"
#include "memory.h"

#include <pthread.h>

// Hashes `size` bytes and stores them in the trace unless it has them already,
// the capture keeps hashes only, or the budget is spent. bytes NULL: `hash` is
// already computed, and the bytes are not stored. Returns TS__CAP_... flags.
static inline uint8_t ts__cap_keep(const void *bytes, size_t size,
                                   uint64_t hash[2])
{
    ts__cap_state *const s = &ts__cap_now;
    bool keep = ts_blob_find(bytes, size, hash) != TS_OK;
    pthread_mutex_lock(&s->lock);
    const uint64_t budget = s->desc.budget_bytes;
    const bool known = !keep, early = !s->figures.over_budget;
    s->figures.looked_bytes += size;
    if (!bytes) s->figures.device_bytes += size;
    if (keep && s->desc.hashes_only) keep = false;
    if (keep && size > budget - s->figures.kept_bytes) {
        s->figures.over_budget = true;
        keep = false;
    }
    if (!bytes) keep = false; // the budget changed since the caller checked
    if (keep) s->figures.kept_bytes += size;
    if (keep && !s->on) s->sums.kept_bytes += size; // see ts__cap_count
    const bool reached = early && s->figures.over_budget;
    pthread_mutex_unlock(&s->lock);
    if (reached)
        ts_metadata_int(0, "capture.budget_reached_bytes", (int64_t)budget);
    const bool kept =
        known || (keep && ts_blob_put(bytes, size, hash) == TS_OK);
    return kept ? TS__CAP_HASHED | TS__CAP_KEPT : TS__CAP_HASHED;
}

// Returns whether a chunk must be hashed again. If not, *kept is whether the
// trace has its bytes.
static inline bool ts__cap_stale(const ts_capture_memory *memory,
                                 const ts__cap_range *range, uint64_t chunk,
                                 bool *kept)
{
    const uint8_t state = range->state[chunk];
    if (!state || memory->vendor->host_visible) return true;
    if (state & TS__CAP_KEPT) return false;
    *kept = false;
    return !ts__cap_now.desc.hashes_only;
}

#endif // TS__CAPTURE_CHUNKS_H
