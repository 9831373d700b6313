/*
    copies.h - copies and memsets by kind, memory and size
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_COPIES_H
#define TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_COPIES_H

#include "tools/analyze/figures/base/stats_rows.h"

enum { COPIES_KIND, COPIES_MEMORY, COPIES_SIZE, COPIES_MAPS };

typedef struct copies {
    analyze_job *job;
    stats_map maps[COPIES_MAPS];
    stats_rows kinds;    // "host to device", "memset"
    stats_rows memories; // "host to device, pageable"
    stats_rows sizes;    // "host to device, to 64 KiB"
    stats_scan scan;
    // Copies between host and device whose kind of host memory is known.
    stats_group pageable, pinned;
    struct copies_one *longest; // the longest first
    size_t longest_count;
    uint64_t single_count; // number of copies in the trace
} copies;

typedef struct copies_one { // a copy, never a memset
    uint32_t file, track;
    int64_t start_ns, ns; // on the time axis of its file
    uint64_t size, type, memory;
} copies_one;

// Finds the `most` longest copies. Returns false if memory runs out.
bool copies_find_longest(copies *c, size_t most);
// Returns the kind of a copy: "host to device, pageable".
ts_text copies_one_text(const copies *c, const copies_one *one);

// all: also by memory and size, with quantiles. Returns false if memory runs
// out. Call copies_close in any case.
bool copies_open(copies *c, analyze_job *job, bool all);
// Frees the figures; call it before the job's traces are closed.
void copies_close(copies *c);

#endif // TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_COPIES_H
