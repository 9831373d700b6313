/*
    zones.h - zones by name: time on the host, and of devices
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_WORK_ZONES_H
#define TS_TOOLS_ANALYZE_FIGURES_WORK_ZONES_H

#include "tools/analyze/figures/base/zone_paths.h"
#include "tools/analyze/figures/base/stats_rows.h"

typedef struct zone_times {
    int64_t inclusive_ns, exclusive_ns; // on the host; recursion counts once
    int64_t gpu_ns;     // work launched from within, all of it summed up
    int64_t gpu_own_ns; // of that, in no zone further in
} zone_times;

typedef struct zones {
    analyze_job *job;
    path_tree paths;
    stats_map map;
    stats_scan scan;
    stats_rows rows;   // by name: counts and quantiles of single zones
    zone_times *times; // of each name of the paths
    int64_t gpu_all_ns, gpu_none_ns; // all work; launched in no zone
    bool has_gpu;                    // there are operations, and a graph
} zones;

// False without memory; close in any case.
bool zones_open(zones *z, analyze_job *job);
void zones_close(zones *z);
// Of a row.
const zone_times *zones_times(const zones *z, const stats_row *row);

#endif // TS_TOOLS_ANALYZE_FIGURES_WORK_ZONES_H
