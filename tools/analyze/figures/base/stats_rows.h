/*
    stats_rows.h - groups that read the same, as the rows of a table
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_BASE_STATS_ROWS_H
#define TS_TOOLS_ANALYZE_FIGURES_BASE_STATS_ROWS_H

#include "tools/analyze/job/job.h"
#include "tools/analyze/job/stats.h"

typedef struct stats_row {
    stats_group sum; // key and file: of its longest event's group
    ts_text text;
} stats_row;

typedef struct stats_rows {
    stats_row *rows; // the largest total first, then by text
    size_t count;
    uint32_t *number; // the row of each group of the map
} stats_rows;

/*
    Joins the groups of a map whose texts are equal. text: of a group; it must
    live as long as the rows. False without memory; close in any case.
*/
bool stats_rows_open(stats_rows *rows, const stats_map *map,
                     ts_text (*text)(const stats_group *group, void *user),
                     void *user);
void stats_rows_close(stats_rows *rows);

// p50_ns and p95_ns of all rows: see stats_quantiles. False without memory.
bool stats_rows_quantiles(stats_rows *rows, analyze_job *job,
                          const stats_scan *scan, size_t which,
                          const stats_map *map);

// Runs a scan over all files. False without memory.
bool stats_run_all(analyze_job *job, const stats_scan *scan, stats_map *maps);

// The sum of all totals, and of all counts.
stats_group stats_rows_sum(const stats_rows *rows);

// The longest event of a row, as evidence.
report_evidence stats_longest(analyze_job *job, const stats_group *group);

#endif // TS_TOOLS_ANALYZE_FIGURES_BASE_STATS_ROWS_H
