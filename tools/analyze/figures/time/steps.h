/*
    steps.h - iterations, marked or found, and which of them are slow

    Steps are times of one device: that with the most work. Where the trace has
    steps of its own (ts_replay_steps), at least STEPS_LEAST of them, these are
    taken; else the outermost loop in what its busiest stream was given to do.
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_TIME_STEPS_H
#define TS_TOOLS_ANALYZE_FIGURES_TIME_STEPS_H

#include "tools/analyze/figures/base/groups.h"
#include "tools/analyze/job/sums.h"

enum { STEPS_LEAST = 3 };

// What a slow step has more of than the median step.
typedef struct steps_excess {
    int64_t idle_ns; // idle time of one cause
    ts_idle cause;
    int64_t work_ns; // time of operations of one group of names
    uint32_t group;
} steps_excess;

typedef struct steps_step {
    ts_text name;                    // of the marker; empty: found
    uint64_t number;                 // as ts_step has it; found: from 0
    size_t mark;                     // index, as of ts_replay_steps
    int64_t start_ns, end_ns;        // the next begins where it ends
    uint64_t operations;             // of all devices, by their start
    int64_t busy_ns;                 // of the device
    int64_t cause_ns[TS_IDLE_LIMIT]; // idle time of the device
    bool slow, fast;
    steps_excess excess; // of slow ones
} steps_step;

typedef struct steps_result {
    bool marked;
    uint64_t left_out; // marked ones in which no work ended
    uint64_t few;      // marked ones, fewer than STEPS_LEAST: not taken
    steps_step *steps;
    size_t count;
    uint32_t file, device; // tracks; the stream of which the loop was found
    uint32_t stream;
    uint32_t length, likeness; // as period has them
    uint32_t *of; // step of each operation; TS_NODE_NONE: before or after
    // Of the durations of steps.
    int64_t min_ns, median_ns, deviation_ns, max_ns, sum_ns;
    int64_t limit_ns; // further from the median than that: slow, or fast
    // Time of operations of one name in one step of the device: key is
    // group * count + step, in order of the key.
    sums works;
} steps_result;

// False without memory. Close it in any case. Count is 0 if there are none.
bool steps_open(steps_result *result, ts_replay *replay,
                const ts_timeline *timeline, const names_index *names);
void steps_close(steps_result *result);

// Those that the trace marks, as recorded, whatever the last run was: numbers,
// names and times alone. Steps in which no work ended have no time and are left
// out. All who speak of marked steps take these. Close it in any case.
bool steps_marked(steps_result *result, ts_replay *replay);

// "ProfilerStep#12", "frame 12"; found: "number 12".
cli_text steps_words(const steps_step *step);

#endif // TS_TOOLS_ANALYZE_FIGURES_TIME_STEPS_H
