/*
    advice.h - data and functions that the rules of advice share

    A rule examines the trace. Where its thresholds are exceeded, it leaves
    findings: an observation, a recommendation, and one or more changes for a
    what-if replay. advice_run computes the gain from these changes later; a
    rule computes none itself.

    All times are on the axis of the replay; operations, calls and nodes have
    the numbers of the replay.
*/
#ifndef TS_TOOLS_ANALYZE_ADVICE_ADVICE_H
#define TS_TOOLS_ANALYZE_ADVICE_ADVICE_H

#include "tools/analyze/job/job.h"
#include "tools/analyze/figures/base/call_class.h"
#include "tools/analyze/figures/operations/occupancy.h"

/* ==== 1. The trace and its figures ======================================= */

typedef struct advice_op {
    int64_t start_ns, end_ns; // as recorded
    uint32_t call;            // node, or TS_NODE_NONE
    uint32_t before; // previous operation on its stream, or TS_NODE_NONE
    uint32_t stream, device; // indices of ts_replay_lane and ts_replay_device
    uint32_t file, row, thread;
    uint8_t kind;         // ts_event_kind
    uint8_t type, memory; // of copies; type also of collectives
    bool skipped;         // its recorded times are invalid
} advice_op;

// Host work or waiting time on the critical path of the model.
typedef struct advice_part {
    uint32_t file, thread;
    int64_t from_ns, to_ns; // as recorded
} advice_part;

typedef struct advice_call {
    uint32_t file, thread, name;
    call_class class_of;
    int64_t start_ns, end_ns;
} advice_call;

// A call that waited for a device.
typedef struct advice_wait {
    uint32_t call; // node
    // Operation it waited for: a sync, a copy, work; TS_NODE_NONE: several.
    uint32_t source;
    uint32_t last; // last operation that its thread had issued, or TS_NODE_NONE
    uint32_t file, thread;
    int64_t start_ns, end_ns;
    bool final; // the last wait of its thread
} advice_wait;

// Limits of a device; 0: unknown.
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
    ts_replay *replay, *model; // exact replay; model, at first unchanged
    ts_timeline *timeline;     // of the exact replay
    ts_graph graph;
    advice_op *ops;
    size_t op_count;
    size_t stream_count, device_count;
    advice_device *devices;
    int64_t start_ns, end_ns; // first and last time of the record
    int64_t recorded_ns;      // end_ns - start_ns
    size_t process_count;     // processes with operations
    // Sum of their durations: what sums over processes relate to.
    int64_t process_ns;
    // Costs on the critical path of the record, as topic `path` reports them.
    int64_t cost_ns[TS_COST_LIMIT];
    ts_cost bound;
    // Results of the unchanged model.
    int64_t makespan_ns;
    int64_t assumed_ns; // assumed delays on its critical path: see ts_path
    bool stuck;         // operations wait in a cycle: the model has no times
    int64_t *path_ns;   // time of each operation on the critical path
    // The same of each operation and call, with the waiting time on the path
    // directly before it begins.
    int64_t *spent_ns;
    advice_part *parts; // disjoint; sorted by file, thread, time
    size_t part_count;
    advice_part longest; // the longest part, before adjoining ones were merged
    advice_call *calls; // those of a known class; sorted by file, thread, start
    size_t call_count;
    bool has_calls;     // the calls were loaded
    advice_wait *waits; // sorted by call
    size_t wait_count;
    struct memory *memory; // blocks of memory; NULL: not computed
    uint32_t *call_op;     // first operation of each call, or TS_NODE_NONE
    bool has_waits;
    advice_finding *findings;
    size_t finding_count, finding_room;
    struct advice_dropped *dropped; // the largest gain first
    size_t dropped_count; // below advice.min-gain or the rule's own threshold
    uint64_t unrun; // findings kept without a what-if: the budget was used up
    uint64_t runs;
    bool failed; // memory ran out
} advice;

// Returns false if memory runs out or the model cannot be run. Call
// advice_close in any case.
bool advice_open(advice *a, analyze_job *job);
// Frees everything that advice_open and the rules made, findings included; also
// after advice_open failed. The job keeps the replay, the model and the
// timeline.
void advice_close(advice *a);

// Loads the calls of known classes, once (calls.c).
void advice_load_calls(advice *a);
// Loads the calls that waited for a device, once (waits.c).
void advice_load_waits(advice *a);
// Frees the blocks of memory, which only rules use.
void advice_close_memory(advice *a);

// Returns the value of a column for an operation; 0 if the trace has none.
uint64_t advice_value(const advice *a, uint32_t op, ts_column column);
// Returns the bytes of a copy, a memset or a collective.
uint64_t advice_size(const advice *a, const advice_op *op);
// Returns the number of the launch entry of a kernel or a collective; 0: none.
uint32_t advice_launch_id(const advice *a, const advice_op *op);
// Returns the launch entry of an operation; NULL if it is unknown.
const ts_launch_entry *advice_launch(const advice *a, uint32_t op);
// Shortens a long text with dots.
ts_text advice_short(const advice *a, ts_text text);
ts_text advice_label(const advice *a, uint32_t op);    // for display
ts_text advice_raw_name(const advice *a, uint32_t op); // as recorded
// Returns the node of a call, or of the call of an operation, with recorded
// times.
ts_node advice_node(const advice *a, uint32_t node);
// Whether a node is a call. Nodes are numbered operations first, then calls,
// then ends of calls; TS_NODE_NONE is none of them.
static inline bool advice_is_call(const advice *a, uint32_t node)
{
    return node >= a->op_count && node < a->op_count + a->graph.call_count;
}
// Whether an operation is work of a device whose recorded times are valid.
static inline bool advice_works(const advice_op *op)
{
    return !op->skipped &&
           (op->kind == TS_EVENT_KERNEL || op->kind == TS_EVENT_MEMCPY ||
            op->kind == TS_EVENT_MEMSET || op->kind == TS_EVENT_COLLECTIVE);
}
// Whether an operation is a collective whose recorded times are valid.
static inline bool advice_communicates(const advice_op *op)
{
    return op->kind == TS_EVENT_COLLECTIVE && !op->skipped;
}
// Returns the recorded duration in nanoseconds, which may be negative if the
// operation is `skipped`.
static inline int64_t advice_length(const advice_op *op)
{
    return op->end_ns - op->start_ns;
}
// Returns ", in 'ZONE'" for the zone that launched the operation, or "".
ts_text advice_in_zone(const advice *a, uint32_t op);
// Whether a name contains one of several words. The list ends with NULL.
bool advice_has_word(ts_text name, const char *const *words);

/* ==== 2. Rules =========================================================== */

struct advice_rule {
    const char *id, *family;
    const char *about; // what the rule finds, in one clause
    const char *gain; // the what-if that computes the gain; "none": see `about`
    void (*check)(advice *a, const advice_rule *rule);
};

extern const advice_rule advice_rules[]; // ends with { 0 }
extern const analyze_setting advice_settings[];

// Returns a threshold of a rule. Shares are in hundredths of a percent.
int64_t advice_limit(const advice *a, const advice_rule *rule,
                     const char *name);
// Returns "of the time", or "of the time of the 8 processes", as the unit of
// shares of process_ns.
cli_text advice_of_processes(const advice *a);
// Whether part / whole reaches the share that a threshold sets.
bool advice_reaches(const advice *a, const advice_rule *rule, const char *name,
                    int64_t part, int64_t whole);

/* ==== 3. Findings ======================================================== */

enum { ADVICE_CHANGES = 4 };
struct advice_finding {
    const advice_rule *rule;
    size_t found_index; // order in which it was found
    ts_text title, what, todo, how;
    report_confidence confidence;
    report_severity severity; // severity of a finding without a gain
    bool trust;   // it concerns the trace itself, and is listed last
    bool assumed; // the gain rests on an assumed speed-up
    report_evidence evidence;
    int64_t longest_ns; // duration of the longest evidence
    ts_change changes[ADVICE_CHANGES];
    size_t change_count;
    uint32_t copy_engines;
    int64_t *durations_ns;
    int64_t at_most_ns; // upper bound of the gain; INT64_MAX: unknown
    bool has_gain;
    int64_t gain_ns;
    bool never_ran;   // the what-if deadlocks
    int64_t held_ns;  // host time that the gain must come from; 0: any
    bool always_kept; // kept even if its gain is small
    bool of_host;     // concerns all host work: see is_waiting
    int64_t free_ns;  // of_host: the gain if the host took no time at all
};

// A finding that was dropped, with its gain.
typedef struct advice_dropped {
    const advice_rule *rule;
    ts_text title;
    bool has_gain; // false: gain_ns is an upper bound
    bool waits;    // its host time is only waiting: see held_ns
    int64_t gain_ns, held_ns;
} advice_dropped;

// Frees the changes and durations of a finding; its texts belong to the job.
void advice_finding_close(advice_finding *f);
// Adds a finding. Never returns NULL, even without memory.
advice_finding *advice_find(advice *a, const advice_rule *rule);
// Formats a text of a finding like printf. The text is valid as long as the
// job.
#define ADVICE_SAY(a, f, field, ...) \
    ((f)->field = analyze_format((a)->job, __VA_ARGS__))

// Adds an operation to the evidence. The longest operations are kept, the
// longest first; it also sets the time to zoom to.
void advice_show_op(const advice *a, advice_finding *f, uint32_t op);
// Sets the time to zoom to.
void advice_show_time(advice_finding *f, uint32_t file, int64_t from_ns,
                      int64_t to_ns);

// The operations that a change applies to: set `means` of each. The gain is at
// most the time that they and their calls have on the critical path.
typedef struct advice_mask {
    bool *means; // whether the change applies, by operation
    uint64_t count;
    int64_t ns; // run time of its operations
} advice_mask;
// Makes an empty mask. Close it, unless advice_change takes it.
advice_mask advice_mask_open(advice *a);
// Adds an operation to a mask.
void advice_mask_add(const advice *a, advice_mask *mask, uint32_t op);
// Frees a mask. Allowed after advice_change took its operations, and required
// if it did not.
void advice_mask_close(advice_mask *mask);
// Adds all operations of a mask to the evidence.
void advice_show_mask(const advice *a, advice_finding *f,
                      const advice_mask *mask);
// Adds a finding, and all operations of a mask to its evidence.
advice_finding *advice_find_mask(advice *a, const advice_rule *rule,
                                 const advice_mask *mask);
// Adds a change to a finding. Takes ownership of `means`: use a mask for one
// change only, and before that for the evidence. Its count and time stay.
ts_change *advice_change(advice *a, advice_finding *f, ts_change_type type,
                         advice_mask *mask);
// Returns the time that the operations of a mask and their calls have on the
// critical path.
int64_t advice_path_of(const advice *a, const advice_mask *mask);

// Spans of host time that a finding would save.
typedef struct advice_spans {
    ts_host_span *list;
    size_t count, room;
    int64_t ns;
} advice_spans;
// Adds a span of a thread; times are on the axis of the replay.
void advice_span_add(advice *a, advice_spans *spans, uint32_t file,
                     uint32_t thread, int64_t from_ns, int64_t to_ns);
// Adds the spans to a finding. Takes ownership of the list; their count and
// time stay.
void advice_spare(advice *a, advice_finding *f, advice_spans *spans);

// Computes the gains, drops small findings and sorts the rest: by gain, then
// those whose gain rests on an assumed speed-up, then those without a gain,
// then those about the trace itself.
void advice_run(advice *a);

#endif // TS_TOOLS_ANALYZE_ADVICE_ADVICE_H
