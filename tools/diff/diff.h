/*
    diff.h - the comparison of two traces of one program

    Each side has one or more files (ranks). A *row* is a thing to compare: a
    kernel name, a launch configuration, a zone, a cause of idle time, ... It
    has a *part* on each side. Rows of the sides match by subject and name.
*/
#ifndef TS_TOOLS_DIFF_DIFF_H
#define TS_TOOLS_DIFF_DIFF_H

#include "tools/analyze/job/job.h"
#include "tools/analyze/figures/time/steps.h"

#define DIFF_SUBJECTS(X) \
    X(MAKESPAN, "makespan") \
    X(STEP, "step") \
    X(KERNEL, "kernel") \
    X(COPY, "copy") \
    X(COLLECTIVE, "collective") \
    X(CONFIG, "config") \
    X(ZONE_WORK, "zone-work") \
    X(STACK, "stack") \
    X(ZONE, "zone") \
    X(API, "api") \
    X(IDLE, "idle") \
    X(LATENCY, "launch") \
    X(MEMORY, "memory") \
    X(SAMPLE, "sample") \
    X(SAMPLE_STACK, "sample-stack")
typedef enum diff_subject {
#define X(name, text) DIFF_##name,
    DIFF_SUBJECTS(X)
#undef X
        DIFF_SUBJECT_LIMIT
} diff_subject;
// Returns the name of a subject as in gates and JSON: "kernel", "zone-work".
const char *diff_subject_name(diff_subject subject);

typedef struct diff_sample { // time of a row in one step
    uint32_t step;
    int64_t ns;
} diff_sample;

// The weights of the samples of profiles in a row.
typedef struct diff_weights {
    double total, squares; // sums of the weights and of their squares
    int64_t first_ns, last_ns;
    double *slices; // sums by equal parts of that time; NULL: not needed
} diff_weights;

// The part of a row on one side.
typedef struct diff_part {
    uint64_t count, in_steps;
    int64_t total;   // in ns; of memory in bytes
    int64_t *values; // every stride-th duration, sorted
    size_t value_count, value_room;
    uint32_t stride;
    diff_sample *steps; // sums by step, without steps that have none
    size_t step_count, step_room;
    diff_weights weights; // of samples of profiles only
    int64_t median;       // median of the durations
    int64_t deviation;    // median distance of the samples from `center`
    int64_t center;       // median of the samples
    size_t sample_count;
    int64_t longest_ns, longest_from_ns; // the longest event
    // Operation; TS_NODE_NONE: not an operation.
    uint32_t longest_file, longest;
} diff_part;

// The unit of p-values: p = 1.
#define DIFF_CERTAIN UINT64_C(1000000000000)

typedef struct diff_row {
    diff_subject subject;
    ts_text name; // valid as long as the jobs
    diff_part parts[2];
    bool by_step; // samples are sums by step, else single durations
    bool tested;  // there are enough samples for a test
    // In DIFF_CERTAIN; adjusted for all rows of the subject.
    uint64_t p, adjusted;
    int toward;          // 1: samples of B are larger, -1: those of A
    bool by_chance;      // of samples: one side has some, within the noise
    bool tested_singles; // the same test on single durations
    uint64_t p_singles;
    int toward_singles;
} diff_row;

typedef struct diff_stream { // a stream that both sides have
    ts_text name;
    uint64_t counts[2];  // number of operations
    uint64_t pairs_gone; // adjacent pairs in A that B lacks
    uint64_t pairs_new;
    bool same;         // same operations in the same order
    uint32_t first[2]; // first difference; TS_NODE_NONE: the end
} diff_stream;

typedef struct diff_side {
    analyze_job job;
    names_index names;
    steps_result steps;       // count 0: no steps
    int64_t start_ns, end_ns; // its makespan is end_ns - start_ns
    ts_timeline_figures total;
    bool has_work, has_memory;
    uint64_t lost, operations, devices;
} diff_side;

typedef struct diff_sampled { // samples of profiles
    uint64_t counts[2];
    ts_text names[2]; // what they measure
    bool alike;       // the same on both sides: only then there are rows
    bool timed;       // both sides have times: only then rows are tested
    report_unit unit;
    int64_t parts; // rows have so many parts of a unit
} diff_sampled;

typedef struct diff {
    const cli_tool *tool;
    diff_side sides[2];
    diff_row *rows; // sorted by subject, then by first use
    size_t row_count, row_room;
    cli_map index;
    bool alike;     // both sides have comparable steps
    bool by_step;   // and at least DIFF_STEPS_LEAST of them
    uint64_t alpha; // in DIFF_CERTAIN: the largest significant p
    diff_stream *streams;
    size_t stream_count, stream_room;
    uint64_t only[2];        // streams that one side lacks
    size_t paired;           // devices matched despite different names
    ts_text paired_names[2]; // names of the first such pair
    diff_sampled sampled;
    bool thinned;         // only a part of the durations was kept
    bool thinned_samples; // only a part of the weights of samples was kept
} diff;

enum {
    DIFF_STEPS_LEAST = 8,   // on each side, for samples by step
    DIFF_SAMPLES_LEAST = 4, // on each side, for any test
    DIFF_SAMPLES_MOST = 4096,
    DIFF_VALUES_MOST = 1 << 16,
    DIFF_SLICES = 128 // of the time of a row, for samples of profiles
};

/* ---- Comparing ---------------------------------------------------------- */

// Opens both sides. Returns false with the reason on stderr. Call diff_close in
// any case.
bool diff_open(diff *d, char **a, uint32_t a_count, char **b, uint32_t b_count);
// Frees rows, figures and the jobs of both sides.
void diff_close(diff *d);
// Fills rows and streams. Returns false if memory runs out.
bool diff_compare(diff *d);

// Returns the row of a name, which it creates if needed; NULL if memory runs
// out. The text of `name` must be valid as long as the jobs.
diff_row *diff_row_of(diff *d, diff_subject subject, ts_text name);
// One event of a row.
typedef struct diff_one {
    int64_t from_ns, ns; // on the axis of the first file
    uint32_t step;       // TS_NODE_NONE: in no step
    uint32_t file, operation;
} diff_one;
// Adds an event to a row. Returns false if memory runs out.
bool diff_add(diff_row *row, int side, const diff_one *one);
// Returns the step at a time, or TS_NODE_NONE.
uint32_t diff_step_at(const diff_side *side, int64_t time_ns);
// Private: the parts of diff_compare. They return false if memory runs out.
bool diff_collect(diff *d, int side);      // from the graph and the timeline
bool diff_collect_host(diff *d, int side); // zones, calls
// Adds a row for the peak of each memory pool of a side (0 or 1). False without
// memory.
bool diff_collect_memory(diff *d, int side);
bool diff_collect_spans(diff *d, int side); // makespan, steps
// Adds the samples of profiles of both sides. False without memory.
bool diff_collect_samples(diff *d);
// Whether a row is of samples: their number is chance.
bool diff_is_sample(const diff_row *row);
// Private: compares the order of operations on each stream (order.c).
bool diff_schedules(diff *d);
// Private: tests all rows (rows.c).
bool diff_test_rows(diff *d);

// What is compared: a total (by step if samples are), a median, a count. A
// value is number / of.
typedef enum diff_metric {
    DIFF_TOTAL = 0,
    DIFF_MEDIAN,
    DIFF_COUNT
} diff_metric;
typedef struct diff_number {
    int64_t number, of;
} diff_number;
// Returns the figure of a row on a side as a fraction: a mean per step has the
// number of steps as `of`, everything else 1.
diff_number diff_value(const diff *d, const diff_row *row, diff_metric metric,
                       int side);
// Returns the value of B minus that of A.
int64_t diff_change(const diff *d, const diff_row *row, diff_metric metric);

/* ---- Statistics --------------------------------------------------------- */

/*
    Mann and Whitney's U test, two-sided, by the normal approximation with
    corrections for ties and continuity. Returns the probability that samples
    differ as much if both sides are alike, in units of DIFF_CERTAIN. It uses
    integers only, so that results are equal on all machines. Sorts both arrays.
    toward: 1 if the samples of b are larger, -1 if those of a are.
    Source: Mann, Whitney, 1947; Lehmann, Nonparametrics, 1975, section 1.2.
*/
uint64_t diff_u_test(int64_t *a, size_t a_count, int64_t *b, size_t b_count,
                     int *toward);
// Returns the probability that a normal deviate has at least such a square.
uint64_t diff_tail(double square);
/*
    Tests the difference of two sums of samples: by the normal approximation of
    Poisson's distribution, times the dispersion over the slices, which is at
    least 1. Returns the probability in units of DIFF_CERTAIN.
    toward: 1 if the sum of b is larger, -1 if that of a is.
    Source: McCullagh, Nelder, Generalized Linear Models, 1989, section 6.2.3.
*/
uint64_t diff_weights_test(const diff_weights *a, const diff_weights *b,
                           int *toward);
// Adjusts the p-values of several tests by Benjamini and Hochberg's method: of
// the values below a limit at most that share is noise. Returns false if memory
// runs out.
bool diff_adjust(const uint64_t *p, uint64_t *adjusted, size_t count);

/* ---- Gates -------------------------------------------------------------- */

typedef enum diff_limit_unit {
    DIFF_LIMIT_SHARE, // in millionths of the value of A
    DIFF_LIMIT_NS,
    DIFF_LIMIT_BYTES,
    DIFF_LIMIT_COUNT
} diff_limit_unit;
typedef struct diff_limit {
    diff_limit_unit unit;
    int64_t value;
} diff_limit;

typedef enum diff_verdict {
    DIFF_WITHIN = 0, // within the limit
    DIFF_NOISE,      // beyond it, but it may be noise
    DIFF_UNTESTED,   // beyond it, with too few samples for a test
    DIFF_BLIND,      // within it, but the sides did different work
    DIFF_REGRESSED
} diff_verdict;

typedef struct diff_hit { // a row that a gate matches
    uint32_t row;
    diff_verdict verdict;
    uint64_t p; // adjusted for those rows of the gate that are beyond the limit
} diff_hit;

enum { DIFF_LIMITS = 3 };
typedef struct diff_gate {
    char *text;        // the gate as the user wrote it
    bool optional;     // "?...": it may match nothing
    uint32_t subjects; // bit set of subjects
    char *pattern;     // pattern of names; NULL: all
    diff_metric metric;
    diff_limit limits[DIFF_LIMITS]; // a row regresses if it exceeds all of them
    size_t limit_count;
    diff_hit *hits; // regressed rows first, then by change
    size_t hit_count;
    uint64_t verdicts[DIFF_REGRESSED + 1];
} diff_gate;

typedef struct diff_gates {
    diff_gate *items;
    size_t count, room;
    bool untested_fails; // untested rows fail like regressed ones
} diff_gates;

// Parses and adds a gate such as "kernel:gemm* total +5%"; "?kernel:..." may
// match nothing. `where` is the origin to name in errors ("--gate", or a file
// and line). Returns false with the reason on stderr.
bool diff_gate_add(diff_gates *gates, const cli_tool *tool, const char *where,
                   const char *text);
// Reads a file of gates, one per line; # begins a comment. Returns false with
// the reason on stderr.
bool diff_gate_file(diff_gates *gates, const cli_tool *tool, const char *path);
// Warns on stderr if a gate matches nothing or cannot detect a change.
void diff_gate_warn(const diff_gate *g, const diff *d, const cli_tool *tool);
// Parses a significance level such as "0.1%" (NULL: 5 %) in units of
// DIFF_CERTAIN. Returns false with the reason on stderr.
bool diff_alpha_read(const cli_tool *tool, const char *text, uint64_t *alpha);
// Evaluates all gates. Returns false if memory runs out.
bool diff_gates_check(diff_gates *gates, const diff *d);
// Whether a gate found a regression, or an untested row if these fail.
bool diff_gate_failed(const diff_gates *gates, const diff_gate *g);
// Whether any gate failed.
bool diff_gates_failed(const diff_gates *gates);
// Whether a gate that is not optional matches nothing.
bool diff_gate_missed(const diff_gate *g);
// Whether the pattern matches only a part of some name, but not a whole name as
// it must.
bool diff_gate_is_part(const diff_gate *g, const diff *d);
// Whether a gate compares totals of different work, such as different numbers
// of steps. Such a gate could pass although the program became slower, as
// traces of equal duration have equal totals.
bool diff_gate_blind(const diff_gate *g);
// Whether the sides have different numbers of steps and so different work. For
// found steps the numbers of operations must differ too.
bool diff_steps_unequal(const diff *d);
// Returns why totals of A and B are of different work; NULL if no difference is
// known.
const char *diff_unequal(const diff *d);
// Returns the model of a device, "Tesla V100".
ts_text diff_model(const ts_reader *reader, const ts_track *device);
// Whether two numbers differ by at most a fiftieth of the larger one.
bool diff_about_same(uint64_t a, uint64_t b);
// Whether any gate matches nothing, or compares totals of different work.
bool diff_gates_missed(const diff_gates *gates);
// Frees the gates with their patterns and hits.
void diff_gates_close(diff_gates *gates);

/* ---- Reporting ---------------------------------------------------------- */

// Returns a change as text: "+12.3 %", "new", "gone".
cli_text diff_percent(const diff *d, const diff_row *row, diff_metric metric);
// Returns a p-value as text.
cli_text diff_p(uint64_t p);
// Whether a row was tested and its adjusted p-value is at most alpha.
bool diff_is_significant(const diff *d, const diff_row *row);
bool diff_is_new(const diff_row *row);  // only B has it
bool diff_is_gone(const diff_row *row); // only A has it

// Fills the report: the answer and all tables.
void diff_report(diff *d, const diff_gates *gates, report *r);
// Writes the gates as JUnit XML, one test case for each.
void diff_junit(const diff *d, const diff_gates *gates, FILE *out);
// Writes the gates and the report as Markdown.
void diff_markdown(const diff *d, const diff_gates *gates, const report *r,
                   FILE *out);

#endif // TS_TOOLS_DIFF_DIFF_H
