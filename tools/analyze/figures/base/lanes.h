/*
    lanes.h - streams and devices by their tracks
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_BASE_LANES_H
#define TS_TOOLS_ANALYZE_FIGURES_BASE_LANES_H

#include "tools/cli/cli.h"

typedef struct lanes_key {
    uint64_t key;
    uint32_t index;
} lanes_key;

// As ts_replay_lane and ts_replay_device count them.
typedef struct lanes {
    lanes_key *streams, *devices; // in order of the key
    size_t stream_count, device_count;
    lanes_key last; // stream that was found last
} lanes;

// False without memory. Close it in any case.
bool lanes_open(lanes *l, const ts_replay *replay);
void lanes_close(lanes *l);

// The number of an operation's stream or device; the count: it has none.
size_t lanes_stream(lanes *l, const ts_operation *op);
size_t lanes_device(const lanes *l, uint32_t file, uint32_t track);

#endif // TS_TOOLS_ANALYZE_FIGURES_BASE_LANES_H
