/*
    summary.h - figures of a whole run
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_TIME_SUMMARY_H
#define TS_TOOLS_ANALYZE_FIGURES_TIME_SUMMARY_H

#include "tools/analyze/job/job.h"

enum { SUMMARY_LEVELS = 9 }; // the last level: that many operations or more

typedef struct summary_copies {
    uint64_t count, bytes;
    int64_t ns;
} summary_copies;

typedef struct summary_figures {
    const ts_timeline_figures *total; // NULL: no GPU operations
    const ts_timeline_figures **devices;
    size_t device_count;
    uint64_t windows; // number of windows the graph was cut into; 0: not cut
    bool has_levels;
    int64_t level_ns[SUMMARY_LEVELS]; // device time with k operations in flight
    // Longest gap of each cause; end_ns 0: none.
    ts_gap longest[TS_IDLE_LIMIT];
    uint32_t longest_file[TS_IDLE_LIMIT];
    ts_overview *overview; // private
} summary_figures;

/*
    Computes the figures from the timeline if the graph is loaded or the trace
    is small; otherwise from consecutive windows, which takes less time and
    little memory. Returns false if it fails; analyze_why gives the reason. Call
    summary_close in any case.
*/
bool summary_open(summary_figures *f, analyze_job *job);
// Frees the figures that summary_open collected.
void summary_close(summary_figures *f);

// The cause that takes most of the device time.
typedef enum summary_bound {
    SUMMARY_KERNELS,
    SUMMARY_COMMUNICATION, // exposed
    SUMMARY_COPIES,        // exposed
    SUMMARY_HOST,          // idle: the host launched too late
    SUMMARY_LAUNCH,        // idle: launch latency
    SUMMARY_WAITS,         // idle: waits for other streams, copies, collectives
    SUMMARY_SYNC,          // idle: the host was blocked
    SUMMARY_UNKNOWN,       // idle: unexplained by the record
    SUMMARY_LATE_START,    // idle: work was ready, but started late
    SUMMARY_BOUNDS
} summary_bound;
// Returns the largest cause. parts receives SUMMARY_BOUNDS times that add up to
// the spans.
summary_bound summary_parts(const ts_timeline_figures *f, int64_t *parts);

#endif // TS_TOOLS_ANALYZE_FIGURES_TIME_SUMMARY_H
