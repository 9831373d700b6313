/*
    steps.h - steps, marked or found, and which of them are slow

    Steps are time spans of one device, the one with the most work. If the trace
    marks at least STEPS_LEAST steps (ts_replay_steps), these are used.
    Otherwise the steps are the iterations of the outermost loop in the launches
    of its busiest stream.
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_TIME_STEPS_H
#define TS_TOOLS_ANALYZE_FIGURES_TIME_STEPS_H

#include "tools/analyze/figures/base/groups.h"
#include "tools/analyze/job/sums.h"

enum { STEPS_LEAST = 3 };

// By what a slow step exceeds the median step.
typedef struct steps_excess {
    int64_t idle_ns; // excess idle time of one cause
    ts_idle cause;
    int64_t work_ns; // excess time of operations of one group of names
    uint32_t group;
} steps_excess;

typedef struct steps_step {
    ts_text name;             // name of the marker; empty: found
    uint64_t number;          // number of ts_step; found: from 0
    size_t mark;              // index in ts_replay_steps
    int64_t start_ns, end_ns; // the next step begins at end_ns
    // Operations of all devices that start in it.
    uint64_t operations;
    int64_t busy_ns;                 // busy time of the device
    int64_t cause_ns[TS_IDLE_LIMIT]; // idle time of the device
    bool slow, fast;
    steps_excess excess; // set for slow steps
} steps_step;

typedef struct steps_result {
    bool marked;
    uint64_t left_out; // marked steps in which no work ended
    // Number of marked steps if below STEPS_LEAST and so not used.
    uint64_t few;
    steps_step *steps;
    size_t count;
    // Tracks; stream: the one in which the loop was found.
    uint32_t file, device;
    uint32_t stream;
    uint32_t length, likeness; // as in period
    uint32_t *of; // step of each operation; TS_NODE_NONE: before or after all
    // Statistics of the durations of steps.
    int64_t min_ns, median_ns, deviation_ns, max_ns, sum_ns;
    // A step is slow or fast if it differs from the median by more than this.
    int64_t limit_ns;
    // Time of the operations of one name in one step of the device: key is
    // group * count + step; sorted by key.
    sums works;
} steps_result;

// Finds the steps; count is 0 if there are none. Returns false if memory runs
// out. Call steps_close in any case.
bool steps_open(steps_result *result, ts_replay *replay,
                const ts_timeline *timeline, const names_index *names);
// Frees the result; allowed after a search that failed or found no step.
void steps_close(steps_result *result);

// Reads only the marked steps, as recorded and independent of the last run:
// numbers, names and times. Steps in which no work ended have no time and are
// skipped. All tools take marked steps from here. Call steps_close in any case.
bool steps_marked(steps_result *result, ts_replay *replay);

// Returns the name of a step: "ProfilerStep#12", "frame 12"; if it was found:
// "number 12".
cli_text steps_words(const steps_step *step);

#endif // TS_TOOLS_ANALYZE_FIGURES_TIME_STEPS_H
