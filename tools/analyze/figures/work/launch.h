/*
    launch.h - what launching work costs, and whether that matters
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_WORK_LAUNCH_H
#define TS_TOOLS_ANALYZE_FIGURES_WORK_LAUNCH_H

#include "tools/analyze/figures/base/groups.h"
#include "tools/analyze/job/sums.h"

// Of many times: in order of size once all are there.
typedef struct launch_times {
    int64_t *ns;
    size_t count, room;
    int64_t sum_ns;
} launch_times;

// No launch of code that is loaded takes so long.
enum { LAUNCH_LOADS_NS = 1000000 };

typedef struct launch_device {
    // From the start of the call to that of the work: where nothing but the
    // call was waited for, and where something else was (time in the queue).
    launch_times latency, queued;
    uint64_t unknown; // work without a call
} launch_device;

// Calls of one function that launched work.
typedef struct launch_function {
    uint32_t group; // of names
    launch_times calls;
    uint64_t operations;
    uint64_t blocked; // calls that waited for room in a queue
    int64_t blocked_ns;
    uint32_t longest; // node of a call
    int64_t longest_ns;
} launch_function;

typedef struct launch_result {
    launch_device *devices; // as ts_timeline_device counts
    size_t device_count;
    launch_function *functions; // the one that took longest first
    size_t function_count;
    uint64_t calls; // that launched work
    int64_t call_ns;
    uint64_t blocked;
    int64_t blocked_ns;
    // Kernels that ran for less than the median call of their function takes,
    // by name; `most` is an operation. Calls that launched several are left
    // out, as graph launches are.
    sums tiny;
    uint64_t kernels, tiny_count;
    int64_t kernel_ns, tiny_ns, tiny_call_ns;
} launch_result;

// `names` gets groups of calls. False without memory. Close it in any case.
bool launch_open(launch_result *result, const ts_replay *replay,
                 const ts_timeline *timeline, names_index *names);
void launch_close(launch_result *result);

// Whether calls of a group of names launched work.
bool launch_is_function(const launch_result *result, uint32_t group);

#endif // TS_TOOLS_ANALYZE_FIGURES_WORK_LAUNCH_H
