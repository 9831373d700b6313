/*
    report.h - the results of topics, independent of the output format

    A topic fills a section of a report; three renderers (text, JSON, HTML)
    print it, so that all of them show the same. Texts are copied and may hold
    any bytes of a trace: the renderers escape them.

    Errors are reported once, at the end: without memory functions return NULL
    or do nothing, all of them accept NULL for an object that could not be made,
    and report_failed returns true.
*/
#ifndef TS_TOOLS_ANALYZE_REPORT_REPORT_H
#define TS_TOOLS_ANALYZE_REPORT_REPORT_H

#include "tools/cli/cli.h"

/* ==== 1. Values ========================================================== */

typedef enum report_unit {
    REPORT_TEXT = 0,
    REPORT_COUNT,  // 1,234
    REPORT_NS,     // a duration, "1.50 ms"
    REPORT_TIME,   // a time on the trace's axis, "1.234567 s"
    REPORT_BYTES,  // "1.50 MiB"
    REPORT_SHARE,  // number of `of`, "12.5 %"
    REPORT_RATE,   // number bytes in `of` ns, "12.3 GB/s"
    REPORT_FACTOR, // number over `of`, "1.25"
    REPORT_FLOPS   // number operations in `of` ns, "1.2 TFLOP/s"
} report_unit;

typedef struct report_value {
    report_unit unit;
    bool unknown; // printed as "-", null in JSON
    int64_t number, of;
    ts_text text;
} report_value;

// A value of any unit, which is `number`, or `number` by `of`.
static inline report_value report_number(report_unit unit, int64_t number,
                                         int64_t of)
{
    const report_value value = { unit, false, number, of, { NULL, 0 } };
    return value;
}
// Saturates a size, since a trace may hold any 64-bit value.
static inline int64_t report_clip(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}
// A number of things.
static inline report_value report_count(uint64_t count)
{
    return report_number(REPORT_COUNT, report_clip(count), 0);
}
// A duration.
static inline report_value report_ns(int64_t ns)
{
    return report_number(REPORT_NS, ns, 0);
}
// A moment, on the axis of the first file.
static inline report_value report_time(int64_t ns)
{
    return report_number(REPORT_TIME, ns, 0);
}
// A size.
static inline report_value report_bytes(uint64_t size)
{
    return report_number(REPORT_BYTES, report_clip(size), 0);
}
// A share of 0 is unknown; so are the next three values if they would divide by
// 0.
static inline report_value report_share(int64_t part, int64_t whole)
{
    return report_number(REPORT_SHARE, part, whole);
}
// Whether a share would print as "0.0 %", so that a sentence about it can be
// left out.
static inline bool report_is_none(int64_t part, int64_t whole)
{
    return (double)part * 2000 < (double)whole;
}
// Bytes by time.
static inline report_value report_rate(uint64_t bytes, int64_t ns)
{
    return report_number(REPORT_RATE, report_clip(bytes), ns);
}
// A factor, number / of.
static inline report_value report_factor(int64_t number, int64_t of)
{
    return report_number(REPORT_FACTOR, number, of);
}
// Operations of floating point by time.
static inline report_value report_flops(uint64_t operations, int64_t ns)
{
    return report_number(REPORT_FLOPS, report_clip(operations), ns);
}
// A text, which a figure or a row of a table copies.
static inline report_value report_text(ts_text text)
{
    const report_value value = { REPORT_TEXT, false, 0, 0, text };
    return value;
}
// A text that ends with a zero byte, likewise.
static inline report_value report_string(const char *text)
{
    const ts_text t = { text, strlen(text) };
    return report_text(t);
}
// A value of this unit that is not known.
static inline report_value report_unknown(report_unit unit)
{
    const report_value value = { unit, true, 0, 0, { NULL, 0 } };
    return value;
}

// Formats a value for people; REPORT_TEXT gives "". Use .s of the result with
// %s.
cli_text report_words(report_value value);
bool report_is_unknown(report_value value); // also if it would divide by 0

/* ==== 2. Sections ======================================================== */

typedef struct report report;
typedef struct report_section report_section;
typedef struct report_table report_table;
typedef struct report_chart report_chart;

typedef enum report_confidence {
    REPORT_HIGH = 0,
    REPORT_MEDIUM,
    REPORT_LOW
} report_confidence;

// A place in the trace: a time range to zoom to, and operations by their number
// in ts_replay_operation.
enum { REPORT_EVIDENCE_MOST = 4 };
typedef struct report_evidence {
    uint32_t file;
    bool has_time;
    int64_t from_ns, to_ns; // on the axis of the first file
    uint32_t operations[REPORT_EVIDENCE_MOST];
    uint32_t operation_count;
} report_evidence;

// Evidence: a range of time, on the axis of the first file.
static inline report_evidence report_from_to(uint32_t file, int64_t from_ns,
                                             int64_t to_ns)
{
    const report_evidence e = { file, true, from_ns, to_ns, { 0 }, 0 };
    return e;
}
// Adds an operation to evidence, which keeps the first REPORT_EVIDENCE_MOST.
static inline void report_evidence_add(report_evidence *e, uint32_t operation)
{
    if (e->operation_count < REPORT_EVIDENCE_MOST)
        e->operations[e->operation_count++] = operation;
}

// Returns the duration of a place in ns, INT64_MAX if it overflows.
int64_t report_length(const report_evidence *e);

// Makes an empty report; NULL if memory runs out. Close it.
report *report_open(void);
void report_close(report *r); // NULL is allowed
// Whether memory ran out at any time, so that the report is incomplete.
bool report_failed(const report *r);

// Begins the section of a topic. `name` is its key in JSON: a static text, as
// all keys are.
report_section *report_begin(report *r, const char *name, const char *title);
// Adds to the answer, which should have one or two sentences in all.
__attribute__((format(printf, 2, 3))) void
report_answer(report_section *s, const char *format, ...);
// Sets the confidence in the answer, with a reason. The lowest confidence of
// several calls counts, and all reasons are kept; the job adds what was lost.
__attribute__((format(printf, 3, 4))) void
report_trust(report_section *s, report_confidence confidence,
             const char *format, ...);
// report_trusted returns the confidence set so far, for rows that deserve less.
report_confidence report_trusted(const report_section *s);
// Returns the name of a confidence, such as "high". Static.
const char *report_confidence_name(report_confidence confidence);
// Adds a note, a sentence below the figures of the section.
__attribute__((format(printf, 2, 3))) void report_note(report_section *s,
                                                       const char *format, ...);
// Marks the topic as not applicable to this trace. The sentence given becomes
// the only one of the section; it says why and what to record.
__attribute__((format(printf, 2, 3))) void
report_not_applicable(report_section *s, const char *format, ...);
// Adds a single figure with a label.
void report_figure(report_section *s, const char *key, const char *label,
                   report_value value);

/* ==== 3. Tables ========================================================== */

typedef struct report_column {
    const char *key, *label;
    report_unit unit;
} report_column;

// Begins a table. Its rows keep the order in which they are added; text and
// HTML show the first --top, JSON the first --rows.
report_table *report_table_begin(report_section *s, const char *key,
                                 const char *title,
                                 const report_column *columns, size_t count);
// Adds a row with one value for each column. evidence: its place in the trace,
// or NULL.
void report_row(report_table *t, const report_value *values,
                const report_evidence *evidence);
// Marks a table as data for --json, which text and HTML leave out.
void report_table_data(report_table *t);
// Sets the total number of rows, if not all of them are added.
void report_rows_of(report_table *t, uint64_t count);

/* ==== 4. Charts ========================================================== */

// Begins a chart with a bar for each label.
report_chart *report_bars_begin(report_section *s, const char *key,
                                const char *title, report_unit unit);
// Adds a bar.
void report_bar(report_chart *c, ts_text label, report_value value);

enum { REPORT_PARTS = 16 };
// Begins a chart of stacked bars. The parts have `part_count` names, at most
// REPORT_PARTS.
report_chart *report_stacked_begin(report_section *s, const char *key,
                                   const char *title, report_unit unit,
                                   const char *const *parts, size_t part_count);
// Adds a bar; `parts` has a value for each part.
void report_stacked_bar(report_chart *c, ts_text label, const int64_t *parts);

// Begins a chart of lines over time. A line keeps its value until its next
// point (steps).
report_chart *report_series_begin(report_section *s, const char *key,
                                  const char *title, report_unit unit);
// Adds a line and returns its number.
uint32_t report_series_line(report_chart *c, ts_text label);
// Adds a point to a line; time_ns is on the axis of the first file.
void report_series_add(report_chart *c, uint32_t line, int64_t time_ns,
                       int64_t value);

// Begins a chart of lanes over time: each lane shows the busy time of one track
// in slots of equal length. Text leaves it out.
report_chart *report_lanes_begin(report_section *s, const char *key,
                                 const char *title);
// Adds a lane and returns its number. host: a thread, else a stream.
uint32_t report_lane(report_chart *c, ts_text label, bool host);

enum { REPORT_ROOT = 0 }; // the node that each flame graph begins with
// Begins a flame graph: a tree of labels with their own weights. The weight of
// a box includes all nodes below it.
report_chart *report_flame_begin(report_section *s, const char *key,
                                 const char *title, report_unit unit);
// Adds a node below `parent`, which must have been added before, and returns
// its number.
uint32_t report_flame_add(report_chart *c, uint32_t parent, ts_text label,
                          int64_t own);

// Writes a chart as SVG. alone: as a complete file with its own colours; else
// as a part of a page.
void report_svg(FILE *out, const report_chart *c, bool alone);

/* ==== 5. Findings ======================================================== */

typedef enum report_severity {
    REPORT_INFO = 0,
    REPORT_WARNING,
    REPORT_SEVERE
} report_severity;

enum { REPORT_LIMITS = 4 };
typedef struct report_limit { // a threshold that --set can change
    const char *key;
    report_value value;
} report_limit;

typedef struct report_finding {
    const char *id;    // a stable name, "launch-bound"
    const char *title; // what is wrong, one clause
    report_severity severity;
    report_confidence confidence;
    ts_text what; // observation: one or two sentences with figures
    ts_text todo; // recommendation
    ts_text how;  // how the gain was computed: "replay without ..."
    report_limit limits[REPORT_LIMITS];
    size_t limit_count;
    bool has_gain;
    int64_t gain_ns, of_ns; // the gain, out of this makespan
    report_evidence evidence;
} report_finding;
// Adds a finding; its texts `what`, `todo` and `how` are copied.
void report_finding_add(report_section *s, const report_finding *finding);

#endif // TS_TOOLS_ANALYZE_REPORT_REPORT_H
