/*
    calc_copies.h - copies and sets by kind, memory and size
*/
#ifndef TS_CALC_COPIES_H
#define TS_CALC_COPIES_H

#include "tools/analyze/stats_rows.h"

enum { COPIES_KIND, COPIES_MEMORY, COPIES_SIZE, COPIES_MAPS };

typedef struct copies {
    analyze_job *job;
    stats_map maps[COPIES_MAPS];
    stats_rows kinds;    // "host to device", "set"
    stats_rows memories; // "host to device, pageable"
    stats_rows sizes;    // "host to device, to 64 KiB"
    stats_scan scan;
    // Of copies between host and device whose host memory is known.
    stats_group pageable, pinned;
} copies;

// all: by memory and size too, with quantiles. False without memory; close in
// any case.
bool copies_open(copies *c, analyze_job *job, bool all);
void copies_close(copies *c);

#endif // TS_CALC_COPIES_H
