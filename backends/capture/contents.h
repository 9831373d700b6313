/*
    capture/contents.h - which contents changed, chunk by chunk

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#include "../ts_capture.h" // all of it, in its order

#ifndef TS__CAPTURE_CONTENTS_H
#define TS__CAPTURE_CONTENTS_H

#include "tracesmith.h"
#include "chunks.h"
#include "device_hash.h"
#include "memory.h"

#include <string.h>

// Untouched memory reads as zeros, so all whole chunks of it share one hash.
typedef struct ts__cap_blank {
    uint64_t end; // every chunk before this one has the same `blank`
    bool blank, known;
    uint64_t hash[2]; // valid if `known`
    uint8_t state;
} ts__cap_blank;

static inline bool ts__cap_is_blank(const ts_capture_memory *memory,
                                    const ts__cap_range *range, uint64_t chunk,
                                    ts__cap_blank *b)
{
    const ts_capture_vendor *const vendor = memory->vendor;
    const uint64_t at = chunk * TS_CAPTURE_CHUNK;
    if (!vendor->blank || ts__cap_size(range, chunk) < TS_CAPTURE_CHUNK)
        return false;
    if (chunk >= b->end)
        b->end = chunk +
                 ts__cap_chunks(vendor->blank(memory->user, range->address + at,
                                              range->size - at, &b->blank));
    if (b->blank && !b->known) {
        memset(memory->scratch, 0, TS_CAPTURE_CHUNK);
        b->state = ts__cap_keep(memory->scratch, TS_CAPTURE_CHUNK, b->hash);
        b->known = true;
    }
    return b->blank;
}

// Stores the hash and the state of a chunk. *kept becomes false if the trace
// does not have its bytes.
static inline void ts__cap_note(ts__cap_range *range, uint64_t chunk,
                                const uint64_t hash[2], uint8_t state,
                                bool *kept)
{
    uint64_t *const known = &range->hashes[2 * chunk];
    if (!range->state[chunk] || memcmp(hash, known, 16)) range->listed = false;
    memcpy(known, hash, 16);
    range->state[chunk] = state;
    *kept &= (state & TS__CAP_KEPT) != 0;
}

// Hashes each chunk that may have changed. Returns false if the memory cannot
// be read. *kept becomes false if the trace lacks the bytes of a chunk.
static inline bool ts__cap_look(ts_capture_memory *memory, ts__cap_range *range,
                                bool *kept)
{
    const uint64_t chunks = ts__cap_chunks(range->size);
    ts__cap_query reported = { 0, 0, false };
    ts__cap_blank blank;
    memset(&blank, 0, sizeof blank);
    if (!memory->scratch || !ts__cap_tables(range)) return false;
    for (uint64_t i = 0; i < chunks; i++) {
        const uint64_t at = i * TS_CAPTURE_CHUNK, size = ts__cap_size(range, i);
        const void *bytes = NULL;
        uint64_t hash[2];
        bool held = true;
        if (!ts__cap_stale(memory, range, i, &held)) {
            *kept &= held;
            continue;
        }
        if (ts__cap_is_blank(memory, range, i, &blank)) {
            ts__cap_note(range, i, blank.hash, blank.state, kept);
            continue;
        }
        const uint64_t *const by = ts__cap_hash_of(memory, range, i, &reported);
        if (by) memcpy(hash, by, sizeof hash);
        if (!by || ts__cap_bytes_requested((size_t)size, hash)) {
            bytes = memory->vendor->view(memory->user, range->address + at,
                                         size, memory->scratch);
            if (!bytes) return false;
        }
        const uint8_t state = ts__cap_keep(bytes, (size_t)size, hash);
        if (by && memcmp(hash, by, 16)) ts__cap_hash_mismatch(memory);
        ts__cap_note(range, i, hash, state, kept);
    }
    return true;
}

// Stores the hash of the range's present list of chunk hashes in `list`; {0, 0}
// if the memory cannot be read.
static inline void ts__cap_list(ts_capture_memory *memory, ts__cap_range *range,
                                uint64_t list[2], bool *kept)
{
    list[0] = list[1] = 0;
    if (!ts__cap_look(memory, range, kept)) {
        *kept = false;
        return;
    }
    if (!range->listed)
        range->listed =
            ts_blob_put(range->hashes, (size_t)ts__cap_chunks(range->size) * 16,
                        range->list) == TS_OK;
    if (range->listed) memcpy(list, range->list, 16);
    if (!range->listed) *kept = false;
}

#endif // TS__CAPTURE_CONTENTS_H
