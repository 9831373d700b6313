/*
    launch.h - the cost of launches, and whether it matters
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_LAUNCH_H
#define TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_LAUNCH_H

#include "tools/analyze/figures/base/groups.h"
#include "tools/analyze/job/sums.h"

// A list of times, sorted when it is complete.
typedef struct launch_times {
    int64_t *ns;
    size_t count, room;
    int64_t sum_ns;
} launch_times;

// A launch that takes longer must have loaded code.
enum { LAUNCH_LOADS_NS = 1000000 };

typedef struct launch_device {
    // Time from the start of the call to the start of the work. `latency`: the
    // work waited for nothing but the call; `queued`: it waited for something
    // else too.
    launch_times latency, queued;
    uint64_t unknown; // operations without a recorded call
} launch_device;

// The calls of one function that launched work.
typedef struct launch_function {
    uint32_t group; // group of names
    launch_times calls;
    uint64_t operations;
    uint64_t blocked; // calls blocked because a queue was full
    int64_t blocked_ns;
    uint32_t longest; // node of the longest call
    int64_t longest_ns;
} launch_function;

typedef struct launch_result {
    launch_device *devices; // indexed like ts_timeline_device
    size_t device_count;
    launch_function *functions; // sorted by time, the longest first
    size_t function_count;
    uint64_t calls; // calls that launched work
    int64_t call_ns;
    uint64_t blocked;
    int64_t blocked_ns;
    // Kernels that ran for less time than the median call of their function
    // took, by name; `most` is an operation. Calls that launched several
    // operations, such as graph launches, are excluded.
    sums tiny;
    uint64_t kernels, tiny_count;
    int64_t kernel_ns, tiny_ns, tiny_call_ns;
} launch_result;

// Computes the figures. `names` receives groups of calls. Returns false if
// memory runs out. Call launch_close in any case.
bool launch_open(launch_result *result, const ts_replay *replay,
                 const ts_timeline *timeline, names_index *names);
// Frees the result; allowed after launch_open failed.
void launch_close(launch_result *result);

// Whether calls of a group of names launched work.
bool launch_is_function(const launch_result *result, uint32_t group);

#endif // TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_LAUNCH_H
