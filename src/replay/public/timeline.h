/* ==== Timeline =========================================================== */

/*
    A timeline shows what every stream and device did at which time, and why a
    device had nothing to do. Its times are those of the record or those of the
    last run. *Work* is kernels, copies, memsets and collectives. A device is
    *busy* while any of its work runs, and *idle* in the rest of its span, from
    the start of its first work to the end of its last: what it did before and
    after may lie outside of the record.

    From its first call to the end of the timeline a stream is in one state:
    RUNNING   an operation of its own runs, host functions included;
    WAITING   nothing runs, and it is in an event wait, or its next operation is
              issued but a dependency other than its call is not done;
    PENDING   nothing runs, an operation is issued, and nothing is known to
              delay it;
    IDLE      nothing runs, and every issued operation has begun;
    FINISHED  its last operation has ended.
    An operation whose call is unknown counts as issued when it begins.
*/
#define TS_STATES(X) \
    X(IDLE, 0, "idle") \
    X(PENDING, 1, "dispatch_pending") \
    X(RUNNING, 2, "running") \
    X(WAITING, 3, "waiting") \
    X(FINISHED, 4, "finished")

typedef enum ts_state {
#define TS__X(name, value, text) TS_STATE_##name = value,
    TS_STATES(TS__X)
#undef TS__X
} ts_state;
#define TS_STATE_LIMIT 5

/*
    Why a device is idle. A *gap* is a maximal interval without work. It ends
    when an operation X begins, and is charged as a whole to one cause. The
    search starts at X and follows, backwards, the edge that was satisfied last,
    through nodes that are not work (event waits, records, joins), to the
    *culprit*: a host call, or other work. Of edges satisfied at the same moment
    recorded ones come before inferred ones, then the higher ts_edge_kind, then
    the earlier source. Work of no duration does not count as work. An event
    wait of no duration was delayed by its event or its predecessor, not by its
    call.

    LATE_START      X was ready long before it began: its launch and the culprit
                    were done longer before than TS_TIMELINE_SLOW_NS and 8 times
                    the median launch latency of the device. So the device, its
                    driver, or the thread of a device in software began it late.
                    A call is done at its end; its delay must also exceed the
                    time from the start of the gap to the call.
    UNEXPLAINED     There is no culprit; or the same, but the record does not
                    prove that X was ready: its call or enqueue time is not
                    known, an edge on the way is inferred, records were lost
                    or left out by choice, or waits are not recorded. They are
                    if the trace has event waits or dependencies, and the
                    records of all waits, or if the device has a single stream.
                    In a merged trace that holds for the part of the device.
    X's own call takes the place of work that was done before the call began, or
    that was done too long ago if the call was not.
    If the culprit is the call that launched X:
    LAUNCH_LATENCY  It began before the gap, or with it.
    HOST_SYNC       It began in the gap, and at least half of that delay its
                    thread was blocked in synchronisations that ended in the
                    gap: without them it would have been half as late.
    QUEUE_FULL      The same, blocked in launches that waited for room in a
                    queue. Such a launch counts as made when it had room.
    HOST_LATE       It began in the gap for other reasons. The same cause is
                    given if X waited for a host function of its stream.
    If the culprit is work:
    LAUNCH_LATENCY  It ran on X's own stream: the gap between two consecutive
                    operations is the time it takes to dispatch the second.
    COPY            It was a copy or a memset on another stream or device.
    COLLECTIVE      It was a collective on another stream or device.
    OTHER_STREAM    It was a kernel on another stream or device.
    If a late call was blocked in both ways, the longer one is the cause.
*/
#define TS_IDLES(X) \
    X(HOST_LATE, 0, "host_late") \
    X(LAUNCH_LATENCY, 1, "launch_latency") \
    X(OTHER_STREAM, 2, "other_stream") \
    X(COPY, 3, "copy") \
    X(COLLECTIVE, 4, "collective") \
    X(HOST_SYNC, 5, "host_sync") \
    X(QUEUE_FULL, 6, "queue_full") \
    X(UNEXPLAINED, 7, "unexplained") \
    X(LATE_START, 8, "late_start")

typedef enum ts_idle {
#define TS__X(name, value, text) TS_IDLE_##name = value,
    TS_IDLES(TS__X)
#undef TS__X
} ts_idle;
#define TS_IDLE_LIMIT 9
enum { TS_TIMELINE_SLOW_NS = 20000 };

// Kinds of work, in order of precedence: see ts_timeline_figures.only_ns.
// COPY includes memsets.
#define TS_WORKS(X) \
    X(KERNEL, 0, "kernel") \
    X(COLLECTIVE, 1, "collective") \
    X(COPY, 2, "copy")

typedef enum ts_work {
#define TS__X(name, value, text) TS_WORK_##name = value,
    TS_WORKS(TS__X)
#undef TS__X
} ts_work;
#define TS_WORK_LIMIT 3

// Returns the name of a ts_state, such as "running"; "unknown" for any other
// number. Static.
TS_API const char *ts_state_name(uint32_t state);

// Returns the name of a ts_idle, such as "host_late"; "unknown" for any other
// number. Static.
TS_API const char *ts_idle_name(uint32_t idle);

// Returns the name of a ts_work, such as "kernel"; "unknown" for any other
// number. Static.
TS_API const char *ts_work_name(uint32_t work);

// What a timeline shows. All zeros is the whole record.
typedef struct ts_timeline_desc {
    bool replayed TS__UNSET; // times of the last run (false: of the record)
    // compute the figures of [from, to) (both 0: of everything)
    int64_t from_ns TS__UNSET, to_ns TS__UNSET;
    // for each file: the time since which its devices had no other work, if
    // that is before the selection; INT64_MAX: not known (NULL: the metadata
    // cut.begin_ns, which traces cut from a step have)
    const int64_t *begin_ns TS__UNSET;
    ts_allocator allocator TS__UNSET; // (malloc and free)
} ts_timeline_desc;

// The analysed times of a replay. Opaque; read-only once it is open.
typedef struct ts_timeline ts_timeline;

/*
    Analyses the selected operations of a replay, or, with `replayed`, those
    that ran (desc NULL: all defaults). Causes are found by the edges of the
    record, whatever a model changed. *timeline is NULL on failure.

    Threads:  any number of threads may read a timeline.
    Memory:   about 65 bytes for each operation.
    Errors:   TS_ERR_NOT_FOUND there is no such operation
              TS_ERR_STATE     `replayed`, but there was no run
              TS_ERR_USAGE     `to` is not after `from`
              TS_ERR_CORRUPT   sums do not add up: a bug of this library
              TS_ERR_MEMORY
    Lifetime: the replay must outlive it, and must not be run meanwhile.
    Free:     ts_timeline_close.
*/
TS_API ts_result ts_timeline_open(ts_timeline **timeline,
                                  const ts_replay *replay,
                                  const ts_timeline_desc *desc);

// Frees a timeline and everything that it returned. NULL is allowed.
TS_API void ts_timeline_close(ts_timeline *timeline);

// The figures of one device, or the sums and extremes over all devices. Only
// times within [from, to) count.
typedef struct ts_timeline_figures {
    uint32_t file, track;     // the device; track 0: unknown, or all devices
    uint64_t operations;      // of work
    int64_t start_ns, end_ns; // span; of all devices: from first to last
    int64_t busy_ns, idle_ns; // add up to the span
    // by ts_work: time during which work of that kind ran; kinds may overlap
    int64_t work_ns[TS_WORK_LIMIT];
    // by ts_work: time during which it ran and no kind before it in TS_WORKS
    // did; add up to busy_ns
    int64_t only_ns[TS_WORK_LIMIT];
    int64_t cause_ns[TS_IDLE_LIMIT]; // by ts_idle; add up to idle_ns
    uint64_t causes[TS_IDLE_LIMIT];  // gaps by ts_idle
    // Part of cause_ns of LAUNCH_LATENCY in which X was already in the queue of
    // its stream: the work before it on the stream ended the median launch
    // latency of the device, or later, after X's call had begun. In the rest
    // the launch of X was still on its way.
    int64_t dispatch_ns;
    // idle time charged by recorded edges alone, by inferred edges as well, and
    // to no cause; add up to idle_ns
    int64_t explicit_ns, inferred_ns, unexplained_ns;
    // launch latency: from a call to its operation, where the call was the last
    // dependency; percentiles are 0 in the figures of all devices
    uint64_t launches;
    int64_t launch_p50_ns, launch_p95_ns, launch_max_ns;
    // queue depth: operations issued but not begun. Its maximum, and its
    // integral over time from the first work on
    uint32_t queue_max;
    int64_t queue_ns; // divide by the span for the mean depth
} ts_timeline_figures;

// Returns the figures of all devices. Lifetime: until close.
TS_API const ts_timeline_figures *
ts_timeline_total(const ts_timeline *timeline);

// Returns the figures of a device, numbered as by ts_replay_device; NULL past
// the end. Lifetime: until close.
TS_API const ts_timeline_figures *
ts_timeline_device(const ts_timeline *timeline, size_t device);

// Gets how long exactly k operations of a device ran at once: (*times_ns)[k],
// 0 <= k < the number returned. 0 and NULL if there is no such device.
// Lifetime: until close.
TS_API size_t ts_timeline_concurrency(const ts_timeline *timeline,
                                      size_t device, const int64_t **times_ns);

// Returns the queue depth of a device at a time: operations that are issued but
// have not begun. 0 if there is no such device.
TS_API uint32_t ts_timeline_queue(const ts_timeline *timeline, size_t device,
                                  int64_t time_ns);

// Returns the maximum queue depth of a device in [from, to).
TS_API uint32_t ts_timeline_queue_most(const ts_timeline *timeline,
                                       size_t device, int64_t from_ns,
                                       int64_t to_ns);

// Returns when an operation was issued, as the queue depth counts it: when its
// call began, else its recorded enqueue time, at most its start. One that is in
// no queue, such as a wait of the host, is issued when it starts. Returns
// INT64_MIN past the last operation.
TS_API int64_t ts_timeline_issued(const ts_timeline *timeline,
                                  uint32_t operation);

// An interval in which a device was idle.
typedef struct ts_gap {
    int64_t start_ns, end_ns; // all of it, also beyond [from, to)
    uint32_t operation;       // that ended it
    uint32_t culprit;         // node that the operation waited for. HOST_SYNC,
                              // QUEUE_FULL: the call that blocked the thread
                              // longest. TS_NODE_NONE: unknown
    uint8_t edge;             // on the way from the operation to the culprit:
                              // ts_edge_kind of the first edge that is not
                              // stream order
    bool inferred;            // some edge on the way is inferred
    ts_idle cause;
} ts_gap;

// Gets gap number `index` of a device, of those that touch [from, to), in order
// of time. False past the end.
TS_API bool ts_timeline_gap(const ts_timeline *timeline, size_t device,
                            size_t index, ts_gap *gap);

// Returns the number of gaps of a device that touch [from, to); 0 if there is
// no such device.
TS_API size_t ts_timeline_gap_count(const ts_timeline *timeline, size_t device);

// Returns the node that a node waited for last, found as for a gap, and sets
// *edge and *inferred as in ts_gap. TS_NODE_NONE: it did not wait.
TS_API uint32_t ts_timeline_culprit(const ts_timeline *timeline, uint32_t node,
                                    uint8_t *edge, bool *inferred);

// An interval that a stream spends in one state.
typedef struct ts_state_span {
    ts_state state;
    int64_t start_ns, end_ns;
    uint32_t operation; // RUNNING: the first that runs; else the next one;
                        // TS_NODE_NONE: none
    uint32_t culprit;   // WAITING: node that it waits for, or TS_NODE_NONE
    uint8_t edge;       // WAITING: as in ts_gap
    bool inferred;      // likewise
} ts_state_span;

// An iterator over the state spans of a stream. It needs no close.
typedef struct ts_state_spans {
    const ts_timeline *timeline; // private, like all fields
    size_t at, end;
    int64_t now_ns, busy_ns, wait_ns;
    int64_t begin_ns, finish_ns, issue_ns; // of the next operation
    uint32_t next_op;
    uint8_t next_kind;
    uint32_t runs, waits;
    bool more, kept;
    ts_state_span next;
} ts_state_spans;

// Begins an iteration over the state spans of a stream, numbered as by
// ts_replay_lane. A stream without operations has none. Spans are not clipped
// to [from, to). Lifetime: the timeline must outlive it.
TS_API ts_state_spans ts_timeline_state_spans(const ts_timeline *timeline,
                                              size_t stream);

// Gets the next state span, in order of time, each beginning where the one
// before ends. False at the end.
TS_API bool ts_state_spans_next(ts_state_spans *spans, ts_state_span *span);

/*
    An overview computes the figures of a whole trace of any length in little
    memory: window after window (see ts_replay_desc), each loaded with a margin
    before and after it, several in parallel.

    These figures are exact for the whole trace: span, busy and idle time,
    work_ns, only_ns, operations and gaps. A gap belongs to the window in which
    it ends, with all of its time, even if it began several windows earlier. Its
    cause is found in that window. It is the same as in the graph of the whole
    trace if everything that it rests on lies in the window or its margin:
    medians of launch latencies and delays are those of the window, waits and
    calls before the margin are unknown, and the call of an operation is known
    if it was made at most one window earlier. The same holds for launches and
    queues.

    Windows are cut by the number of operations in the chunks, so that the
    figures do not depend on the number of threads.
*/
typedef struct ts_overview_desc {
    uint32_t window_operations TS__UNSET; // in a window, about (50,000)
    // in each margin, about (a tenth of window_operations)
    uint32_t margin_operations TS__UNSET;
    uint32_t gap_count TS__UNSET; // how many of the longest gaps to keep (100)
    uint32_t threads TS__UNSET;   // (the reader's)
    // as in ts_replay_desc
    uint32_t queue_depth TS__UNSET, connections TS__UNSET;
    bool no_inference TS__UNSET;
    ts_allocator allocator TS__UNSET; // used by all threads (malloc and free)
} ts_overview_desc;

// The figures of a whole trace. Opaque; read-only once it is open.
typedef struct ts_overview ts_overview;

/*
    Computes the overview of a trace (desc NULL: all defaults). *overview is
    NULL on failure.

    Threads:  any number of threads may read an overview.
    Memory:   about 350 bytes for each operation of a window and its margins
              on each thread, and 4 for each operation of the trace.
    Errors:   TS_ERR_NOT_FOUND there is no GPU operation
              TS_ERR_USAGE     an argument is NULL
              TS_ERR_CORRUPT   sums do not add up: a bug of this library
              TS_ERR_MEMORY
    Lifetime: the reader must outlive it.
    Free:     ts_overview_close.
*/
TS_API ts_result ts_overview_open(ts_overview **overview, ts_reader *reader,
                                  const ts_overview_desc *desc);

// Frees an overview and everything that it returned. NULL is allowed.
TS_API void ts_overview_close(ts_overview *overview);

// Returns the figures of all devices. Lifetime: until close.
TS_API const ts_timeline_figures *
ts_overview_total(const ts_overview *overview);

// Returns the figures of a device, numbered as by ts_replay_device of the whole
// trace; NULL past the end. launch_p50_ns and launch_p95_ns are capped at 4 s.
// Lifetime: until close.
TS_API const ts_timeline_figures *
ts_overview_device(const ts_overview *overview, size_t device);

// Gets gap number `index` of the longest gaps of all devices: longest first, of
// equal ones the earlier first. `operation`, and `culprit` if it is one, are
// numbered as by ts_replay_operation of the whole trace. False past the end.
TS_API bool ts_overview_gap(const ts_overview *overview, size_t index,
                            size_t *device, ts_gap *gap);

// One window of an overview and the figures of its graph.
typedef struct ts_overview_window {
    int64_t from_ns, to_ns; // the first window has no beginning, the last no
                            // end
    uint64_t operations;    // that begin in it, of any kind
    ts_replay_stats plan;   // of the graph, margins included
} ts_overview_window;

// Gets window number `index`, in order of time. False past the end.
TS_API bool ts_overview_window_at(const ts_overview *overview, size_t index,
                                  ts_overview_window *window);
