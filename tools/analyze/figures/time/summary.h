/*
    summary.h - the figures of a run as a whole
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_TIME_SUMMARY_H
#define TS_TOOLS_ANALYZE_FIGURES_TIME_SUMMARY_H

#include "tools/analyze/job/job.h"

enum { SUMMARY_LEVELS = 9 }; // the last: as many at once, or more

typedef struct summary_copies {
    uint64_t count, bytes;
    int64_t ns;
} summary_copies;

typedef struct summary_figures {
    const ts_timeline_figures *total; // NULL: no GPU operation
    const ts_timeline_figures **devices;
    size_t device_count;
    uint64_t windows; // 0: the whole graph; else it was cut into so many
    bool has_levels;
    int64_t level_ns[SUMMARY_LEVELS]; // devices with k operations at work
    ts_gap longest[TS_IDLE_LIMIT];    // of each cause; end_ns 0: none
    uint32_t longest_file[TS_IDLE_LIMIT];
    ts_overview *survey; // private
} summary_figures;

/*
    Of the timeline, where the graph is loaded or the trace small; else of
    windows, one after another, which takes less time and little memory.
    False: analyze_why says why. Close it in any case.
*/
bool summary_open(summary_figures *f, analyze_job *job);
void summary_close(summary_figures *f);

// What most of the time of the devices goes to.
typedef enum summary_bound {
    SUMMARY_KERNELS,
    SUMMARY_COMMUNICATION, // that nothing hides
    SUMMARY_COPIES,        // likewise
    SUMMARY_HOST,          // idle, the host launched too late
    SUMMARY_LAUNCH,        // idle, launches took their time
    SUMMARY_WAITS,         // idle, other streams, copies, collectives
    SUMMARY_SYNC,          // idle, the host was blocked
    SUMMARY_UNKNOWN,       // idle, nothing recorded says why
    SUMMARY_BOUNDS
} summary_bound;
// parts: receives SUMMARY_BOUNDS times that add up to the spans.
summary_bound summary_parts(const ts_timeline_figures *f, int64_t *parts);

#endif // TS_TOOLS_ANALYZE_FIGURES_TIME_SUMMARY_H
