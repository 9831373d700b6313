/*
    idle.h - gaps of devices and their causes, summed up
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_TIME_IDLE_H
#define TS_TOOLS_ANALYZE_FIGURES_TIME_IDLE_H

#include "tools/analyze/figures/base/host_activity.h"
#include "tools/analyze/figures/operations/launch.h"

typedef struct idle_gap {
    size_t device; // index of ts_timeline_device
    ts_gap gap;
    // Thread that launched the operation which ended the gap; 0: unknown.
    uint32_t file, thread;
    // What that thread was in; only for the first IDLE_DETAILS gaps.
    hold held;
} idle_gap;

enum {
    IDLE_LENGTHS = 9, // classes: below 1 us, 10 us, ... 10 s, above
    IDLE_DETAILS = 1000
};

typedef struct idle_result {
    idle_gap *gaps; // sorted, the longest first
    size_t count;
    uint64_t lengths[IDLE_LENGTHS]; // number of gaps of each class
    int64_t lengths_ns[IDLE_LENGTHS];
    // By innermost zone and by innermost call: gaps that the host caused and
    // whose thread is known, so that each of the two adds up to host_ns. The
    // key is a group of names, TS_NODE_NONE: none; `most` is a gap.
    sums zones, calls;
    // By the operation that ended the gap: key is group * TS_IDLE_LIMIT +
    // cause.
    sums ends;
    int64_t host_ns;
    // Gaps while the host launched too late, by innermost call; a part of
    // `calls`. long_calls has those of calls so long that their launches must
    // have loaded code.
    sums late_calls, long_calls;
    // Gaps of cause TS_IDLE_LAUNCH_LATENCY during such a launch.
    int64_t loading_ns;
} idle_result;

// Computes the figures. `names` receives groups of zones and calls. Returns
// false if memory runs out. Call idle_close in any case.
bool idle_open(idle_result *result, const ts_replay *replay,
               const ts_timeline *timeline, names_index *names);
// Frees the result; allowed after idle_open failed.
void idle_close(idle_result *result);

// Returns the idle time that late launches cause: the host made the call too
// late, or the launch was in flight. It excludes time when the host was blocked
// and the dispatch time of the next operation on a stream. All topics and rules
// use this definition of late launches.
int64_t idle_late(const ts_timeline_figures *figures);

// Whether the host causes this kind of idle time.
bool idle_by_host(ts_idle cause);

#endif // TS_TOOLS_ANALYZE_FIGURES_TIME_IDLE_H
