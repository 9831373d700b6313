/*
    diff.h - two traces of one program, compared

    Each side is one or more files (ranks). What can be compared is a *row*:
    a kernel name, a launch configuration, a zone, a cause of idle time, ...
    with a *part* on each side. Rows of the sides match by subject and name.
*/
#ifndef TS_TOOLS_DIFF_DIFF_H
#define TS_TOOLS_DIFF_DIFF_H

#include "tools/analyze/job/job.h"
#include "tools/analyze/figures/time/steps.h"

#define DIFF_SUBJECTS(X) \
    X(MAKESPAN, "makespan", "makespan") \
    X(STEP, "step", "steps") \
    X(KERNEL, "kernel", "kernels") \
    X(COPY, "copy", "copies") \
    X(COLLECTIVE, "collective", "collectives") \
    X(CONFIG, "config", "launch configurations") \
    X(ZONE_WORK, "zone-work", "zones, by the work launched in them") \
    X(STACK, "stack", "stacks, by the work launched from them") \
    X(ZONE, "zone", "zones of the host") \
    X(API, "api", "API calls") \
    X(IDLE, "idle", "idle time, by cause") \
    X(LATENCY, "launch", "launch latency") \
    X(MEMORY, "memory", "memory held at the peak")
typedef enum diff_subject {
#define X(name, text, title) DIFF_##name,
    DIFF_SUBJECTS(X)
#undef X
        DIFF_SUBJECT_LIMIT
} diff_subject;
const char *diff_subject_name(diff_subject subject);

typedef struct diff_sample { // of a row in a step
    uint32_t step;
    int64_t ns;
} diff_sample;

// What a row is on one side.
typedef struct diff_part {
    uint64_t count, in_steps;
    int64_t total;   // ns; memory: bytes
    int64_t *values; // durations, in order; every stride-th of them
    size_t value_count, value_room;
    uint32_t stride;
    diff_sample *steps; // sums of steps in which there are any
    size_t step_count, step_room;
    int64_t median;    // of the durations
    int64_t deviation; // median distance of the samples from their median
    int64_t center;    // median of the samples
    size_t sample_count;
    int64_t longest_ns, longest_from_ns; // where it is
    uint32_t longest_file, longest;      // operation, TS_NODE_NONE: it is none
} diff_part;

// Of a p-value: 1 is certain to be noise.
#define DIFF_CERTAIN UINT64_C(1000000000000)

typedef struct diff_row {
    diff_subject subject;
    ts_text name; // lives as long as the jobs
    diff_part parts[2];
    bool by_step;         // samples are sums of steps, else single durations
    bool tested;          // there are samples enough
    uint64_t p, adjusted; // of DIFF_CERTAIN; adjusted for the subject's rows
    int toward;           // 1: samples of B are the larger ones, -1: of A
    bool tested_singles;  // likewise of the durations, whatever the samples
    uint64_t p_singles;
    int toward_singles;
} diff_row;

typedef struct diff_stream { // one that both sides have
    ts_text name;
    uint64_t counts[2];  // operations
    uint64_t pairs_gone; // neighbours in A that are none in B
    uint64_t pairs_new;
    bool same;         // the same operations in the same order
    uint32_t first[2]; // the first that differ; TS_NODE_NONE: the end
} diff_stream;

typedef struct diff_side {
    analyze_job job;
    names_index names;
    steps_result steps;       // count 0: none
    int64_t start_ns, end_ns; // makespan
    ts_timeline_figures total;
    bool has_work, has_memory;
    uint64_t lost, operations, devices;
} diff_side;

typedef struct diff {
    const cli_tool *tool;
    diff_side sides[2];
    diff_row *rows; // by subject; within one as they were found
    size_t row_count, row_room;
    cli_map index;
    bool alike;     // both sides have steps that can be compared
    bool by_step;   // and there are DIFF_STEPS_LEAST of them
    uint64_t alpha; // of DIFF_CERTAIN: p below it is no noise
    diff_stream *streams;
    size_t stream_count, stream_room;
    uint64_t only[2];        // streams that only one side has
    size_t paired;           // devices, with one of another name
    ts_text paired_names[2]; // the first of them
    bool thinned;            // not all durations were kept
} diff;

enum {
    DIFF_STEPS_LEAST = 8,   // of both sides, for samples by step
    DIFF_SAMPLES_LEAST = 4, // of both sides, for any test
    DIFF_SAMPLES_MOST = 4096,
    DIFF_VALUES_MOST = 1 << 16
};

/* ---- Comparing ---------------------------------------------------------- */

// Opens both sides; false with the reason on stderr. Close it in any case.
bool diff_open(diff *d, char **a, uint32_t a_count, char **b, uint32_t b_count);
void diff_close(diff *d);
// Fills rows and streams. False: no memory.
bool diff_compare(diff *d);

// The row of a name; NULL: no memory. `text` must live as long as the jobs.
diff_row *diff_row_of(diff *d, diff_subject subject, ts_text name);
// One more of a row. Where: file and operation (TS_NODE_NONE: none) and when.
typedef struct diff_one {
    int64_t from_ns, ns; // on the axis of the first file
    uint32_t step;       // TS_NODE_NONE: in none
    uint32_t file, operation;
} diff_one;
// False: no memory.
bool diff_add(diff_row *row, int side, const diff_one *one);
// The step that holds a moment, or TS_NODE_NONE.
uint32_t diff_step_at(const diff_side *side, int64_t time_ns);
// Private: what diff_compare is made of.
bool diff_collect(diff *d, int side);      // from the graph and the timeline
bool diff_collect_host(diff *d, int side); // zones, calls
bool diff_collect_memory(diff *d, int side);
bool diff_collect_spans(diff *d, int side); // makespan, steps
bool diff_schedules(diff *d);
bool diff_test_rows(diff *d);

// What is compared of a row: totals, by step if samples are. `of`: divide.
typedef enum diff_metric {
    DIFF_TOTAL = 0,
    DIFF_MEDIAN,
    DIFF_COUNT
} diff_metric;
typedef struct diff_number {
    int64_t number, of;
} diff_number;
diff_number diff_value(const diff *d, const diff_row *row, diff_metric metric,
                       int side);
// B less A.
int64_t diff_change(const diff *d, const diff_row *row, diff_metric metric);

/* ---- Statistics --------------------------------------------------------- */

/*
    Mann and Whitney's U test, two-sided, by the normal approximation with
    corrections for ties and continuity: how likely samples so far apart are
    if both sides are alike. In integers, so that every machine says the same.
    Sorts both. toward: 1 if those of b are the larger ones, -1 those of a.
    Source: Mann, Whitney, 1947; Lehmann, Nonparametrics, 1975, section 1.2.
*/
uint64_t diff_u_test(int64_t *a, size_t a_count, int64_t *b, size_t b_count,
                     int *toward);
// Benjamini and Hochberg's: p-values of several tests, so that of those below
// a limit at most that share is noise. False: no memory.
bool diff_adjust(const uint64_t *p, uint64_t *adjusted, size_t count);

/* ---- Gates -------------------------------------------------------------- */

typedef enum diff_limit_unit {
    DIFF_LIMIT_SHARE, // in millionths of A
    DIFF_LIMIT_NS,
    DIFF_LIMIT_BYTES,
    DIFF_LIMIT_COUNT
} diff_limit_unit;
typedef struct diff_limit {
    diff_limit_unit unit;
    int64_t value;
} diff_limit;

typedef enum diff_verdict {
    DIFF_WITHIN = 0, // of the limit
    DIFF_NOISE,      // beyond it, but that may be noise
    DIFF_UNTESTED,   // beyond it, with too few samples to tell
    DIFF_BLIND,      // not beyond it, but of different work
    DIFF_REGRESSED
} diff_verdict;

typedef struct diff_hit { // a row that a gate looks at
    uint32_t row;
    diff_verdict verdict;
    uint64_t p; // adjusted for the rows of this gate that are beyond
} diff_hit;

enum { DIFF_LIMITS = 3 };
typedef struct diff_gate {
    char *text;        // as given
    bool optional;     // "?...": neither trace need have anything like it
    uint32_t subjects; // bits
    char *pattern;     // of names; NULL: all
    diff_metric metric;
    diff_limit limits[DIFF_LIMITS]; // all must be passed
    size_t limit_count;
    diff_hit *hits; // those that regressed first, then by change
    size_t hit_count;
    uint64_t verdicts[DIFF_REGRESSED + 1];
} diff_gate;

typedef struct diff_gates {
    diff_gate *items;
    size_t count, room;
    bool untested_fails; // as what regressed does
} diff_gates;

// "kernel:gemm* total +5%", "?kernel:..." if there may be none; where: what to
// name in an error ("--gate", or a file and line). False with the reason on
// stderr.
bool diff_gate_add(diff_gates *gates, const cli_tool *tool, const char *where,
                   const char *text);
// A file of gates: one a line, # begins a comment.
bool diff_gate_file(diff_gates *gates, const cli_tool *tool, const char *path);
// Says on stderr why a gate matches nothing or can see no change, if so.
void diff_gate_warn(const diff_gate *g, const diff *d, const cli_tool *tool);
// "5%", "0.1%" (NULL: 5 %), of DIFF_CERTAIN. False with the reason on stderr.
bool diff_alpha_read(const cli_tool *tool, const char *text, uint64_t *alpha);
// False: no memory.
bool diff_gates_check(diff_gates *gates, const diff *d);
bool diff_gate_failed(const diff_gates *gates, const diff_gate *g);
bool diff_gates_failed(const diff_gates *gates);
// Whether nothing is like a gate that asks for something.
bool diff_gate_missed(const diff_gate *g);
// Whether its pattern is a part of a name, of which it would have to be all.
bool diff_gate_is_part(const diff_gate *g, const diff *d);
// Whether it compares totals of different work, such as of different numbers of
// steps: it would hold whatever became slower, where traces last equally long.
bool diff_gate_blind(const diff_gate *g);
bool diff_steps_unequal(const diff *d);
// Why totals of A and B are of different work; NULL: nothing says so.
const char *diff_unequal(const diff *d);
// What a device is, "Tesla V100".
ts_text diff_model(const ts_reader *reader, const ts_track *device);
bool diff_about_same(uint64_t a, uint64_t b);
bool diff_gates_missed(const diff_gates *gates);
void diff_gates_close(diff_gates *gates);

/* ---- Telling ------------------------------------------------------------ */

// "+12.3 %"; "new", "gone".
cli_text diff_percent(const diff *d, const diff_row *row, diff_metric metric);
// Of any p.
cli_text diff_p(uint64_t p);
bool diff_is_significant(const diff *d, const diff_row *row);
bool diff_is_new(const diff_row *row);  // A has none of it
bool diff_is_gone(const diff_row *row); // B has none

// The answer and all tables.
void diff_report(diff *d, const diff_gates *gates, report *r);
void diff_junit(const diff *d, const diff_gates *gates, FILE *out);
void diff_markdown(const diff *d, const diff_gates *gates, const report *r,
                   FILE *out);

#endif // TS_TOOLS_DIFF_DIFF_H
