/*
    parts.h - what a report is made of, for those that print it
*/
#ifndef TS_TOOLS_ANALYZE_REPORT_PARTS_H
#define TS_TOOLS_ANALYZE_REPORT_PARTS_H

#include "tools/analyze/report/report.h"

// Texts live in pieces that never move.
typedef struct report_piece {
    struct report_piece *next;
    size_t used, size;
    char bytes[];
} report_piece;

typedef struct report_figure_line {
    const char *key, *label;
    report_value value;
} report_figure_line;

struct report_table {
    report *owner;
    report_table *next;
    const char *key, *title;
    report_column *columns;
    size_t column_count;
    report_value *values; // row_count times column_count
    report_evidence *evidence;
    size_t row_count, capacity;
    uint64_t all;      // rows there are; row_count or more
    bool has_evidence; // of any row
    bool data;         // only for --json
};

typedef enum report_chart_kind {
    REPORT_BARS,
    REPORT_STACKED,
    REPORT_SERIES,
    REPORT_FLAME
} report_chart_kind;

typedef struct report_item {
    ts_text label;
    report_value value;          // bars
    int64_t parts[REPORT_PARTS]; // stacked
    uint32_t parent;             // flame; of lanes the colour
    int64_t own, total;          // flame
} report_item;

typedef struct report_point {
    uint32_t line;
    int64_t time_ns, value;
} report_point;

struct report_chart {
    report *owner;
    report_chart *next;
    report_chart_kind kind;
    const char *key, *title;
    report_unit unit;
    const char *parts[REPORT_PARTS];
    size_t part_count;
    bool lanes;         // of series: see report_lanes_begin
    report_item *items; // bars, lines, nodes (0: the root)
    size_t count, capacity;
    report_point *points; // of series
    size_t point_count, point_capacity;
};

typedef struct report_line {
    struct report_line *next;
    ts_text text;
} report_line;

struct report_section {
    report *owner;
    report_section *next;
    const char *name, *title;
    ts_text answer;
    bool not_applicable;
    bool trusted; // a confidence was given
    report_confidence confidence;
    report_line *reasons, *notes;
    report_figure_line *figures;
    size_t figure_count, figure_capacity;
    report_finding *findings;
    size_t finding_count, finding_capacity;
    report_table *tables;
    report_chart *charts;
};

// What the report is about. to_ns 0 with from_ns 0: nobody said.
typedef struct report_window {
    int64_t from_ns, to_ns;           // the record
    bool works;                       // a device did something:
    int64_t work_from_ns, work_to_ns; // its first work to the end of the last
    ts_text selected;                 // how a part was made; empty: all
    ts_text words;                    // all of it in one clause
} report_window;

// Window and losses are of the report as a whole.
struct report {
    report_window window;
    bool all; // nobody chose questions: what has no answer comes last
    report_section *sections, **last;
    report_line *losses; // one sentence each
    report_piece *pieces;
    bool failed;
};

// What the texts in the first rows of a column are cut to, as cli_cut_names
// does; NULL: all fit, or there is no memory.
char **report_cuts(const report_table *t, size_t column, size_t rows,
                   uint32_t width, const char *dots);

// Memory that lives as long as the report; NULL without, and it has failed.
void *report_take(report *r, size_t size);
ts_text report_keep(report *r, ts_text text);
// A sentence about what was lost.
__attribute__((format(printf, 2, 3))) void report_loss(report *r,
                                                       const char *format, ...);

// With all texts but `words`, which it makes.
void report_window_set(report *r, report_window window);

// Sorts all tables that have a column of this key: the largest first. False
// if none has.
bool report_sort(report *r, const char *key);

// "high", "medium", "low"; "info", "warning", "severe"; "ns", "bytes", ...
const char *report_severity_name(report_severity severity);
const char *report_unit_name(report_unit unit);

// The sum of a node and what is below it, for all nodes. Done by renderers.
void report_flame_sum(const report_chart *c);

#endif // TS_TOOLS_ANALYZE_REPORT_PARTS_H
