/*
    parts.h - the parts of a report, for the renderers
*/
#ifndef TS_TOOLS_ANALYZE_REPORT_PARTS_H
#define TS_TOOLS_ANALYZE_REPORT_PARTS_H

#include "tools/analyze/report/report.h"

// The report's memory is a list of pieces that never move, so that texts stay
// valid.
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
    uint64_t all;      // number of rows in the trace; row_count or more
    bool has_evidence; // a row has evidence
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
    uint32_t parent;             // flame: node; lanes: colour
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
    bool lanes;         // a series drawn as lanes: see report_lanes_begin
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
    bool trusted; // the topic set a confidence
    report_confidence confidence;
    report_line *reasons, *notes;
    report_figure_line *figures;
    size_t figure_count, figure_capacity;
    report_finding *findings;
    size_t finding_count, finding_capacity;
    report_table *tables;
    report_chart *charts;
};

// The time range of the report. from_ns and to_ns are both 0 if it was not set.
typedef struct report_window {
    int64_t from_ns, to_ns; // the record
    bool works;             // a device executed work
    // From the start of the first operation to the end of the last one.
    int64_t work_from_ns, work_to_ns;
    ts_text selected; // how a part of the trace was selected; empty: all of it
    ts_text words;    // the window in one clause
} report_window;

// Window and losses apply to the whole report.
struct report {
    report_window window;
    // The user chose no topics: topics without an answer are printed last.
    bool all;
    report_section *sections, **last;
    report_line *losses; // one sentence each
    report_piece *pieces;
    bool failed;
};

// Returns the shortened texts of the first rows of a column, as cli_cut_names
// makes them; NULL if all texts fit or memory runs out.
char **report_cuts(const report_table *t, size_t column, size_t rows,
                   uint32_t width, const char *dots);

// Returns memory that is valid until the report is closed. Without memory it
// returns NULL and the report has failed (report_failed).
void *report_take(report *r, size_t size);
// Copies a text, which is then valid as long as the report.
ts_text report_keep(report *r, ts_text text);
// Adds a sentence about a loss.
__attribute__((format(printf, 2, 3))) void report_loss(report *r,
                                                       const char *format, ...);

// Sets the window. The caller fills all texts except `words`, which this
// function makes.
void report_window_set(report *r, report_window window);

// Sorts all tables that have a column with this key, the largest value first.
// Returns false if no table has one.
bool report_sort(report *r, const char *key);

// These return the words for a severity ("info", "warning", "severe") and a
// unit ("ns", "bytes", ...).
const char *report_severity_name(report_severity severity);
// Returns the unit as the "unit" of --json has it: a contract.
const char *report_unit_name(report_unit unit);

// Computes for each node the sum of its own weight and those of all nodes below
// it. Renderers call it.
void report_flame_sum(const report_chart *c);

#endif // TS_TOOLS_ANALYZE_REPORT_PARTS_H
