/*
    report.h - what a question found, before anybody prints it

    A question fills a report; three renderers (text, JSON, HTML) print it, so
    that all of them say the same. Texts given are copied and may hold any
    bytes of a trace: the renderers make them harmless.

    Nothing here fails visibly: without memory functions return NULL or do
    nothing, all of them take NULL in place of what was not made, and
    report_failed says so at the end.
*/
#ifndef TS_TOOLS_ANALYZE_REPORT_REPORT_H
#define TS_TOOLS_ANALYZE_REPORT_REPORT_H

#include "tools/cli/cli.h"

/* ==== 1. Values ========================================================== */

typedef enum report_unit {
    REPORT_TEXT = 0,
    REPORT_COUNT,  // 1,234
    REPORT_NS,     // a length of time, "1.50 ms"
    REPORT_TIME,   // a moment on the trace's axis, "1.234567 s"
    REPORT_BYTES,  // "1.50 MiB"
    REPORT_SHARE,  // number of `of`, "12.5 %"
    REPORT_RATE,   // number bytes in `of` ns, "12.3 GB/s"
    REPORT_FACTOR, // number over `of`, "1.25"
    REPORT_FLOPS   // number operations in `of` ns, "1.2 TFLOP/s"
} report_unit;

typedef struct report_value {
    report_unit unit;
    bool unknown; // shown as "-", null in JSON
    int64_t number, of;
    ts_text text;
} report_value;

static inline report_value report_number(report_unit unit, int64_t number,
                                         int64_t of)
{
    const report_value value = { unit, false, number, of, { NULL, 0 } };
    return value;
}
// Sizes of a trace may be any: more than an integer holds is that much.
static inline int64_t report_clip(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}
static inline report_value report_count(uint64_t count)
{
    return report_number(REPORT_COUNT, report_clip(count), 0);
}
static inline report_value report_ns(int64_t ns)
{
    return report_number(REPORT_NS, ns, 0);
}
static inline report_value report_time(int64_t ns)
{
    return report_number(REPORT_TIME, ns, 0);
}
static inline report_value report_bytes(uint64_t size)
{
    return report_number(REPORT_BYTES, report_clip(size), 0);
}
// Of nothing it is unknown, and so are the next three.
static inline report_value report_share(int64_t part, int64_t whole)
{
    return report_number(REPORT_SHARE, part, whole);
}
// Whether a share reads "0.0 %": a sentence that says so says nothing.
static inline bool report_is_none(int64_t part, int64_t whole)
{
    return (double)part * 2000 < (double)whole;
}
static inline report_value report_rate(uint64_t bytes, int64_t ns)
{
    return report_number(REPORT_RATE, report_clip(bytes), ns);
}
static inline report_value report_factor(int64_t number, int64_t of)
{
    return report_number(REPORT_FACTOR, number, of);
}
static inline report_value report_flops(uint64_t operations, int64_t ns)
{
    return report_number(REPORT_FLOPS, report_clip(operations), ns);
}
static inline report_value report_text(ts_text text)
{
    const report_value value = { REPORT_TEXT, false, 0, 0, text };
    return value;
}
static inline report_value report_string(const char *text)
{
    const ts_text t = { text, strlen(text) };
    return report_text(t);
}
static inline report_value report_unknown(report_unit unit)
{
    const report_value value = { unit, true, 0, 0, { NULL, 0 } };
    return value;
}

// As text for people; REPORT_TEXT gives "". In an answer: %s of .s.
cli_text report_words(report_value value);
bool report_is_unknown(report_value value); // or a part of nothing

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

// Where in the trace: a time to zoom to, and operations as
// ts_replay_operation numbers them.
enum { REPORT_EVIDENCE_MOST = 4 };
typedef struct report_evidence {
    uint32_t file;
    bool has_time;
    int64_t from_ns, to_ns; // on the axis of the first file
    uint32_t operations[REPORT_EVIDENCE_MOST];
    uint32_t operation_count;
} report_evidence;

static inline report_evidence report_from_to(uint32_t file, int64_t from_ns,
                                             int64_t to_ns)
{
    const report_evidence e = { file, true, from_ns, to_ns, { 0 }, 0 };
    return e;
}
static inline void report_evidence_add(report_evidence *e, uint32_t operation)
{
    if (e->operation_count < REPORT_EVIDENCE_MOST)
        e->operations[e->operation_count++] = operation;
}

// When it begins, as --from takes it ("1.234567s"), and how long it lasts.
int64_t report_length(const report_evidence *e);

report *report_open(void);
void report_close(report *r); // NULL is allowed
bool report_failed(const report *r);

// One a question. name: the key in JSON; a static text, as all keys are.
report_section *report_begin(report *r, const char *name, const char *title);
// The answer, one or two sentences; a second call adds to it.
__attribute__((format(printf, 2, 3))) void
report_answer(report_section *s, const char *format, ...);
// How far to trust it, and why. The lowest of several calls counts, and all
// of the reasons; the frame adds what was lost.
__attribute__((format(printf, 3, 4))) void
report_trust(report_section *s, report_confidence confidence,
             const char *format, ...);
// As it is so far, for a row that is trusted less; and as a word.
report_confidence report_trusted(const report_section *s);
const char *report_confidence_name(report_confidence confidence);
__attribute__((format(printf, 2, 3))) void report_note(report_section *s,
                                                       const char *format, ...);
// The question does not apply to this trace: the only sentence of its section
// says why and what to record.
__attribute__((format(printf, 2, 3))) void
report_not_applicable(report_section *s, const char *format, ...);
// A single figure with a name.
void report_figure(report_section *s, const char *key, const char *label,
                   report_value value);

/* ==== 3. Tables ========================================================== */

typedef struct report_column {
    const char *key, *label;
    report_unit unit;
} report_column;

// Rows in the order given; text and HTML show the first --top, JSON --rows.
report_table *report_table_begin(report_section *s, const char *key,
                                 const char *title,
                                 const report_column *columns, size_t count);
// values: one of each column. evidence: where it is, or NULL.
void report_row(report_table *t, const report_value *values,
                const report_evidence *evidence);
// Only for --json: the text and the page leave it out.
void report_table_data(report_table *t);
// How many there are in all, if not every one was given as a row.
void report_rows_of(report_table *t, uint64_t count);

/* ==== 4. Charts ========================================================== */

// A bar for each label.
report_chart *report_bars_begin(report_section *s, const char *key,
                                const char *title, report_unit unit);
void report_bar(report_chart *c, ts_text label, report_value value);

// Bars made of parts, which have `part_count` names, at most REPORT_PARTS.
enum { REPORT_PARTS = 16 };
report_chart *report_stacked_begin(report_section *s, const char *key,
                                   const char *title, report_unit unit,
                                   const char *const *parts, size_t part_count);
void report_stacked_bar(report_chart *c, ts_text label, const int64_t *parts);

// Lines over time, which keep a value until the next point (steps).
report_chart *report_series_begin(report_section *s, const char *key,
                                  const char *title, report_unit unit);
uint32_t report_series_line(report_chart *c, ts_text label);
void report_series_add(report_chart *c, uint32_t line, int64_t time_ns,
                       int64_t value);

// Lanes over time: lines of their own each, of busy time in slots of one
// length. Text leaves them out.
report_chart *report_lanes_begin(report_section *s, const char *key,
                                 const char *title);
uint32_t report_lane(report_chart *c, ts_text label, bool host);

// A tree of labels with weights of their own; what is below adds to them.
enum { REPORT_ROOT = 0 };
report_chart *report_flame_begin(report_section *s, const char *key,
                                 const char *title, report_unit unit);
// Returns the number of the new node. Parents first.
uint32_t report_flame_add(report_chart *c, uint32_t parent, ts_text label,
                          int64_t own);

// The picture alone. alone: a whole file, with colours of its own; else for
// within a page.
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
    const char *id;    // "launch-bound"
    const char *title; // what is wrong, one clause
    report_severity severity;
    report_confidence confidence;
    ts_text what; // one or two sentences with figures
    ts_text todo; // what to do
    ts_text how;  // how the gain was computed: "replay without ..."
    report_limit limits[REPORT_LIMITS];
    size_t limit_count;
    bool has_gain;
    int64_t gain_ns, of_ns; // of the makespan
    report_evidence evidence;
} report_finding;
void report_finding_add(report_section *s, const report_finding *finding);

#endif // TS_TOOLS_ANALYZE_REPORT_REPORT_H
