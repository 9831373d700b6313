/*
    advice.h - what the rules of ts-analyze's advice share

    A rule looks at the trace and, where its thresholds are passed, leaves
    findings: what it saw, what to do, and one or more changes for a what-if
    replay, from which the gain is computed later. It computes none itself.

    All times are on the axis of the replay; operations, calls and nodes are
    numbered as the replay numbers them.
*/
#ifndef TS_TOOLS_ANALYZE_ADVICE_ADVICE_H
#define TS_TOOLS_ANALYZE_ADVICE_ADVICE_H

#include "tools/analyze/job/job.h"
#include "tools/analyze/figures/base/call_class.h"
#include "tools/analyze/figures/work/occupancy.h"

/* ==== 1. The trace, as rules see it ====================================== */

typedef struct advice_op {
    int64_t start_ns, end_ns; // as recorded
    uint64_t size;            // bytes of copies, sets, collectives
    uint32_t call;            // node, or TS_NODE_NONE
    uint32_t before;          // operation before it on its stream, or NONE
    uint32_t launch;          // of kernels and collectives
    uint32_t stream, device;  // as ts_replay_lane, ts_replay_device count
    uint32_t file, row, thread;
    uint8_t kind;         // ts_event_kind
    uint8_t type, memory; // of copies; type also of collectives
    bool skipped;         // times that make no sense
} advice_op;

// What the host did, or waited for, on the critical path of the model.
typedef struct advice_part {
    uint32_t file, thread;
    int64_t from_ns, to_ns; // as recorded
} advice_part;

typedef struct advice_call {
    uint32_t file, thread, name;
    call_class class_of;
    int64_t start_ns, end_ns;
} advice_call;

// A call that waited for a device, and for what.
typedef struct advice_wait {
    uint32_t call;   // node
    uint32_t source; // operation: a sync, a copy, work; TS_NODE_NONE: several
    uint32_t last;   // operation that its thread issued last; TS_NODE_NONE
    uint32_t file, thread;
    int64_t start_ns, end_ns;
    bool final; // the last one of its thread
} advice_wait;

// What a device can hold; 0: unknown.
typedef struct advice_device {
    uint64_t multiprocessors, threads, registers, shared, warp, memory;
    uint64_t compute_major;
    bool has_limits;
    occupancy_limits limits;
} advice_device;

typedef struct advice_rule advice_rule;
typedef struct advice_finding advice_finding;

typedef struct advice {
    analyze_job *job;
    ts_replay *replay, *model; // of the record; the model, unchanged at first
    ts_timeline *timeline;     // of the record
    ts_graph graph;
    advice_op *ops;
    size_t op_count;
    size_t stream_count, device_count;
    advice_device *devices;
    int64_t start_ns, end_ns; // of the record
    int64_t recorded_ns;      // from its start to its end
    size_t process_count;     // with operations
    int64_t process_ns;       // sum of the lengths of each: of sums over them
    // Of the critical path of the record, as question `path` tells of it.
    int64_t cost_ns[TS_COST_LIMIT];
    ts_cost bound;
    // Of the unchanged model.
    int64_t makespan_ns;
    int64_t assumed_ns; // of its critical path: see ts_path
    bool stuck;         // operations wait in a cycle: it has no times
    int64_t *path_ns;   // of each operation and call: on the critical path
    int64_t *wait_ns;   // likewise what is on it directly before they begin
    advice_part *parts; // in order of file, thread, time; apart
    size_t part_count;
    advice_part longest; // of them, before they were put together
    advice_call *calls;  // that are of a class, by file, thread, start
    size_t call_count;
    bool has_calls;     // they were looked for
    advice_wait *waits; // in order of their calls
    size_t wait_count;
    struct memory *memory; // its blocks; NULL: they were not looked at
    uint32_t *call_op;     // first operation of each call, or TS_NODE_NONE
    bool has_waits;
    advice_finding *findings;
    size_t finding_count, finding_room;
    struct advice_dropped *dropped; // the largest gain first
    size_t dropped_count; // gain below advice.min-gain, or below what it is of
    uint64_t unrun;       // kept without a run: the budget was used up
    uint64_t runs;
    bool failed; // no memory
} advice;

// False without memory, or if the model cannot be run. Close it in any case.
bool advice_open(advice *a, analyze_job *job);
void advice_close(advice *a);

// The classified calls, loaded once (calls.c).
void advice_load_calls(advice *a);
// Calls that waited for a device, loaded once (waits.c).
void advice_load_waits(advice *a);
// Frees the blocks of memory, which only rules look at.
void advice_close_memory(advice *a);

// A column of an operation; 0 if the trace has none.
uint64_t advice_value(const advice *a, uint32_t op, ts_column column);
const ts_launch_entry *advice_launch(const advice *a, uint32_t op);
// Cut, with dots, if it is long.
ts_text advice_short(const advice *a, ts_text text);
ts_text advice_label(const advice *a, uint32_t op);    // as people read it
ts_text advice_raw_name(const advice *a, uint32_t op); // as recorded
// The node of an operation's call, or of a call: recorded times.
ts_node advice_node(const advice *a, uint32_t node);
static inline bool advice_is_call(const advice *a, uint32_t node)
{
    return node >= a->op_count && node < a->op_count + a->graph.call_count;
}
static inline bool advice_works(const advice_op *op)
{
    return !op->skipped &&
           (op->kind == TS_EVENT_KERNEL || op->kind == TS_EVENT_MEMCPY ||
            op->kind == TS_EVENT_MEMSET || op->kind == TS_EVENT_COLLECTIVE);
}
static inline bool advice_communicates(const advice_op *op)
{
    return op->kind == TS_EVENT_COLLECTIVE && !op->skipped;
}
static inline int64_t advice_length(const advice_op *op)
{
    return op->end_ns - op->start_ns;
}
// ", in 'ZONE'" of the operation's launch, or "".
ts_text advice_in_zone(const advice *a, uint32_t op);
// Whether a name holds one of several words, which end with NULL.
bool advice_has_word(ts_text name, const char *const *words);

/* ==== 2. Rules =========================================================== */

struct advice_rule {
    const char *id, *family;
    const char *about; // what it finds, one clause
    const char *gain;  // the what-if that computes it; "none": see `about`
    void (*check)(advice *a, const advice_rule *rule);
};

extern const advice_rule advice_rules[]; // ends with { 0 }
extern const analyze_setting advice_settings[];

// A threshold of a rule; shares are in hundredths of a percent.
int64_t advice_limit(const advice *a, const advice_rule *rule,
                     const char *name);
// "of the time", or "of the time of the 8 processes": of process_ns.
cli_text advice_of_processes(const advice *a);
// Whether part is at least the share of whole that a threshold says.
bool advice_reaches(const advice *a, const advice_rule *rule, const char *name,
                    int64_t part, int64_t whole);

/* ==== 3. Findings ======================================================== */

enum { ADVICE_CHANGES = 4 };
struct advice_finding {
    const advice_rule *rule;
    size_t turn; // when it was found
    ts_text title, what, todo, how;
    report_confidence confidence;
    report_severity severity; // of a finding without gain
    bool trust;               // about the trace itself: comes last
    bool assumed;             // the gain rests on an assumed speed-up
    report_evidence evidence;
    int64_t longest_ns; // of what is evidence
    ts_change changes[ADVICE_CHANGES];
    size_t change_count;
    uint32_t copy_engines;
    int64_t *durations_ns;
    int64_t at_most_ns; // no gain is larger; INT64_MAX: not known
    bool has_gain;
    int64_t gain_ns;
    bool never_ran;  // the what-if deadlocks
    int64_t held_ns; // host time that a gain is expected of; 0: any will do
    bool stays;      // a fact worth knowing, however little it gains
    bool of_host;    // of all that the host does: see is_waiting
    int64_t free_ns; // of_host: gain if the host took no time at all
};

// A finding that was dropped, and what it would have gained.
typedef struct advice_dropped {
    const advice_rule *rule;
    ts_text title;
    bool has_gain; // else at most gain_ns
    bool waits;    // its host time only waits: see held_ns
    int64_t gain_ns, held_ns;
} advice_dropped;

void advice_finding_close(advice_finding *f);
// A new finding; never NULL, even without memory.
advice_finding *advice_find(advice *a, const advice_rule *rule);
// As printf; the texts live as long as the job.
#define ADVICE_SAY(a, f, field, ...) \
    ((f)->field = analyze_format((a)->job, __VA_ARGS__))

// Adds an operation to the evidence; the longest ones are kept, first, and the
// time to zoom to is that of the longest.
void advice_show_op(const advice *a, advice_finding *f, uint32_t op);
void advice_show_time(advice_finding *f, uint32_t file, int64_t from_ns,
                      int64_t to_ns);

// A change that means no operation yet: set `means` for each. Gains are at
// most what these, and their calls, have of the critical path.
typedef struct advice_mask {
    bool *means; // of each operation
    uint64_t count;
    int64_t ns; // of work
} advice_mask;
advice_mask advice_mask_open(advice *a);
void advice_mask_add(const advice *a, advice_mask *mask, uint32_t op);
void advice_mask_close(advice_mask *mask);
// All of its operations as evidence.
void advice_show_mask(const advice *a, advice_finding *f,
                      const advice_mask *mask);
// Takes the mask, which is then empty. It may be used for one change only.
ts_change *advice_change(advice *a, advice_finding *f, ts_change_type type,
                         advice_mask *mask);
// What a mask and the calls of its operations hold of the critical path.
int64_t advice_path_of(const advice *a, const advice_mask *mask);

// Host time that a finding would spare.
typedef struct advice_spans {
    ts_host_span *list;
    size_t count, room;
    int64_t ns;
} advice_spans;
void advice_span_add(advice *a, advice_spans *spans, uint32_t file,
                     uint32_t thread, int64_t from_ns, int64_t to_ns);
// Takes the spans, which are then empty.
void advice_spare(advice *a, advice_finding *f, advice_spans *spans);

// Computes the gains, drops what is too small, sorts: the largest gain first,
// then gains that rest on an assumed speed-up, then what has none, then what
// is about the trace.
void advice_run(advice *a);

#endif // TS_TOOLS_ANALYZE_ADVICE_ADVICE_H
