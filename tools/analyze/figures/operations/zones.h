/*
    zones.h - host and device time of zones by name
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_ZONES_H
#define TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_ZONES_H

#include "tools/analyze/figures/base/zone_paths.h"
#include "tools/analyze/figures/base/stats_rows.h"

typedef struct zone_times {
    int64_t inclusive_ns, exclusive_ns; // host time; recursion counts once
    int64_t gpu_ns;     // summed run time of work launched in the zone
    int64_t gpu_own_ns; // the part launched in no inner zone
} zone_times;

typedef struct zones {
    analyze_job *job;
    path_tree paths;
    stats_map map;
    stats_scan scan;
    stats_rows rows;   // by name: counts and quantiles of single zones
    zone_times *times; // by name of the paths
    int64_t gpu_all_ns, gpu_none_ns; // all work; work launched outside zones
    bool has_gpu;                    // the trace has operations and a graph
} zones;

// Computes the figures. Returns false if memory runs out. Call zones_close in
// any case.
bool zones_open(zones *z, analyze_job *job);
// Frees the figures; call it before the job's traces are closed.
void zones_close(zones *z);
// Returns the times of a row.
const zone_times *zones_times(const zones *z, const stats_row *row);

#endif // TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_ZONES_H
