/*
    lanes.h - indices of streams and devices by their tracks
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_BASE_LANES_H
#define TS_TOOLS_ANALYZE_FIGURES_BASE_LANES_H

#include "tools/cli/cli.h"

typedef struct lanes_key {
    uint64_t key;
    uint32_t index;
} lanes_key;

enum { LANES_SEEN = 2048 };
typedef struct lanes_seen {
    uint64_t key;
    size_t rank;
} lanes_seen;

// The indices are those of ts_replay_lane and ts_replay_device.
typedef struct lanes {
    lanes_key *streams, *devices; // sorted by key
    size_t stream_count, device_count;
    lanes_seen seen[LANES_SEEN]; // cache: the last streams found
} lanes;

// Returns false if memory runs out. Call lanes_close in any case.
bool lanes_open(lanes *l, const ts_replay *replay);
// Frees both indices; allowed after lanes_open failed.
void lanes_close(lanes *l);

// Return the index of an operation's stream or of a device; stream_count or
// device_count if it has none.
size_t lanes_stream(lanes *l, const ts_operation *op);
// Returns the place of an operation's stream in the order of file and track;
// stream_count if it has none.
size_t lanes_stream_rank(lanes *l, const ts_operation *op);
// Returns the index of the device with this track; device_count if the replay
// has none. Thread-safe: it only reads.
size_t lanes_device(const lanes *l, uint32_t file, uint32_t track);

#endif // TS_TOOLS_ANALYZE_FIGURES_BASE_LANES_H
