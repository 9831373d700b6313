/*
    idle.h - why devices idled, from gaps to sums
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_TIME_IDLE_H
#define TS_TOOLS_ANALYZE_FIGURES_TIME_IDLE_H

#include "tools/analyze/figures/base/host_activity.h"
#include "tools/analyze/figures/work/launch.h"

typedef struct idle_gap {
    size_t device; // as ts_timeline_device counts
    ts_gap gap;
    uint32_t file, thread; // that launched what ended it; thread 0: unknown
    // What that thread was in. Only of the first IDLE_DETAILS gaps.
    hold held;
} idle_gap;

enum {
    IDLE_LENGTHS = 9, // below 1 us, 10 us, ... 10 s, above
    IDLE_DETAILS = 1000
};

typedef struct idle_result {
    idle_gap *gaps; // the longest first
    size_t count;
    uint64_t lengths[IDLE_LENGTHS]; // gaps
    int64_t lengths_ns[IDLE_LENGTHS];
    // By group of names; `most` is a gap. Of zones and calls: of the gaps for
    // which the host is to blame and whose thread is known, by the innermost,
    // so each of the two adds up to host_ns. Key TS_NODE_NONE: in none.
    sums zones, calls;
    sums ends; // by what ended the gap: key is group * TS_IDLE_LIMIT + cause
    int64_t host_ns;
    // While the host launched too late, by the innermost calls; a part of
    // `calls`. Those that held the host so long that launches among them must
    // have loaded code are in long_calls.
    sums late_calls, long_calls;
    int64_t loading_ns; // causes TS_IDLE_LAUNCH_LATENCY during such a launch
} idle_result;

// `names` gets groups of zones and calls. False without memory. Close it in
// any case.
bool idle_open(idle_result *result, const ts_replay *replay,
               const ts_timeline *timeline, names_index *names);
void idle_close(idle_result *result);

// Idle time that late launches cost: the host made the call only then, or it
// was made and on its way. Not what a host that was blocked cost, and not what
// dispatching the next one of a stream takes. This is what all who speak of
// late launches mean.
int64_t idle_late(const ts_timeline_figures *figures);

// Whether the host is to blame.
bool idle_by_host(ts_idle cause);

#endif // TS_TOOLS_ANALYZE_FIGURES_TIME_IDLE_H
