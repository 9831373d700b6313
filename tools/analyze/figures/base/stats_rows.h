/*
    stats_rows.h - groups with equal texts, joined to rows of a table
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_BASE_STATS_ROWS_H
#define TS_TOOLS_ANALYZE_FIGURES_BASE_STATS_ROWS_H

#include "tools/analyze/job/job.h"
#include "tools/analyze/job/stats.h"

typedef struct stats_row {
    // Key and file are those of the group with the longest event.
    stats_group sum;
    ts_text text;
} stats_row;

typedef struct stats_rows {
    stats_row *rows; // the largest total first, then by text
    size_t count;
    uint32_t *number; // row of each group of the map
} stats_rows;

/*
    Joins the groups of a map whose texts are equal. `text` returns the text of
    a group, which must stay valid as long as the rows. Returns false if memory
    runs out. Call stats_rows_close in any case.
*/
bool stats_rows_open(stats_rows *rows, const stats_map *map,
                     ts_text (*text)(const stats_group *group, void *user),
                     void *user);
// Frees the rows, not the groups that they point to.
void stats_rows_close(stats_rows *rows);

// Computes p50_ns and p95_ns of all rows: see stats_quantiles. Returns false if
// memory runs out.
bool stats_rows_quantiles(stats_rows *rows, analyze_job *job,
                          const stats_scan *scan, size_t which,
                          const stats_map *map);

// Runs a scan over all files. Returns false if memory runs out.
bool stats_run_all(analyze_job *job, const stats_scan *scan, stats_map *maps);

// Returns the sum of all rows: totals and counts.
stats_group stats_rows_sum(const stats_rows *rows);

// Returns the longest event of a group as evidence.
report_evidence stats_longest(analyze_job *job, const stats_group *group);

// Returns the bytes of a group by its time; unknown if no size was recorded.
report_value stats_rate(const stats_group *group);
// Adds a row to a table with these columns. Their keys say what is shown:
// count, total_ns, share (of all_ns), mean_ns, p50_ns, p95_ns, min_ns, max_ns,
// first_ns, last_ns, bytes, rate; any other: the text.
void stats_row_put(analyze_job *job, report_table *t,
                   const report_column *columns, size_t count,
                   const stats_row *row, int64_t all_ns);

#endif // TS_TOOLS_ANALYZE_FIGURES_BASE_STATS_ROWS_H
