/* ==== Timeline =========================================================== */

/*
    What every stream and device did when, and why a device had nothing to do.
    Two sets of times can be looked at: those of the record and those of the
    last run. *Work* is kernels, copies, sets and collectives; a device is
    *busy* while any of its work runs and *idle* for the rest of its span,
    which goes from the begin of its first work to the end of its last: what
    came before is known for neither, and may lie outside of the record.

    A stream is, at every moment from its first call to the end of the
    timeline, in one state. With nothing of its own running (its host
    functions count here) it is
    WAITING   in an event wait, or while the next operation is issued but what
              it depends on, other than its call, is not done;
    PENDING   while an operation is issued and nothing is known to hold it up;
    IDLE      while nothing is issued that has not begun;
    FINISHED  after its last operation.
    An operation whose call is unknown is issued when it begins.
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
    Why a device idles. A *gap* is a longest time without work; it ends when
    an operation X begins, and is charged as a whole to one cause. From X one
    goes back along the edge that was satisfied last, and on through what is
    no work itself (event waits, records, joins), to the *culprit*: a host
    call, or other work. (Of edges satisfied at one moment: recorded before
    inferred ones, then the higher ts_edge_kind, then the earlier source. Work
    that takes no time is none. An event wait that takes no time is bound by
    its event or by what it came after, not by where it stands.)

    UNEXPLAINED     there is no culprit, or it was done long before X began:
                    longer ago than TS_TIMELINE_SLOW_NS and 8 times the middle
                    launch latency of the device. A call is done at its end;
                    X's own is the culprit where other work is done too long
                    ago and the call is not, and where that was done, or the
                    culprit is a call that was made, before it began.
    The culprit is the call that launched X, and
    LAUNCH_LATENCY  it began before the gap or as the gap did;
    HOST_SYNC       it began in the gap, and its thread had been blocked in
                    synchronisations which ended in the gap for half as long
                    or more: without them it would have been half as late;
    QUEUE_FULL      likewise, in launches that waited for room in a queue.
                    Such a launch counts as made when it had room;
    HOST_LATE       it began later than that. So does X if it waited for a
                    host function of its stream.
    The culprit is work, and
    LAUNCH_LATENCY  of X's own stream: the gap between two operations in a row
                    is what it takes to dispatch the second;
    COPY            a copy or a set elsewhere: on another stream or device;
    COLLECTIVE      a collective elsewhere;
    OTHER_STREAM    a kernel elsewhere.
    Where blocked times of both sorts are behind a late call, the longer one is
    the cause.
*/
#define TS_IDLES(X) \
    X(HOST_LATE, 0, "host_late") \
    X(LAUNCH_LATENCY, 1, "launch_latency") \
    X(OTHER_STREAM, 2, "other_stream") \
    X(COPY, 3, "copy") \
    X(COLLECTIVE, 4, "collective") \
    X(HOST_SYNC, 5, "host_sync") \
    X(QUEUE_FULL, 6, "queue_full") \
    X(UNEXPLAINED, 7, "unexplained")

typedef enum ts_idle {
#define TS__X(name, value, text) TS_IDLE_##name = value,
    TS_IDLES(TS__X)
#undef TS__X
} ts_idle;
#define TS_IDLE_LIMIT 8
enum { TS_TIMELINE_SLOW_NS = 20000 };

// Kinds of work, the more wanted ones first.
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

// "running", "host_late", "kernel"; an unknown number gives "unknown".
TS_API const char *ts_state_name(uint32_t state);
TS_API const char *ts_idle_name(uint32_t idle);
TS_API const char *ts_work_name(uint32_t work);

typedef struct ts_timeline_desc {
    bool replayed TS__UNSET; // the times of the last run (false: the record's)
    // figures are of [from, to) (both 0: of all)
    int64_t from_ns TS__UNSET, to_ns TS__UNSET;
    // of each file: since when its devices had nothing else to do, if that is
    // before what is selected; INT64_MAX: not known (NULL: what the metadata
    // cut.begin_ns says, which parts of a step have)
    const int64_t *begin_ns TS__UNSET;
    ts_allocator allocator TS__UNSET; // (malloc and free)
} ts_timeline_desc;

typedef struct ts_timeline ts_timeline;

/*
    Works out all that is below for the selected operations of a replay; with
    `replayed` for those that ran. *timeline is NULL on failure.
    Causes go by the edges of the record, whatever a model changed.

    Memory:  about 65 bytes for each operation.
    Errors:  TS_ERR_NOT_FOUND (there is no such operation), TS_ERR_STATE
             (`replayed`, but there was no run), TS_ERR_USAGE (to not after
             from), TS_ERR_CORRUPT (parts do not add up: a bug),
             TS_ERR_MEMORY.
    Lifetime: the replay must outlive it and not be run meanwhile.
*/
TS_API ts_result ts_timeline_open(ts_timeline **timeline,
                                  const ts_replay *replay,
                                  const ts_timeline_desc *desc);
TS_API void ts_timeline_close(ts_timeline *timeline); // NULL is allowed

// Of a device, or the sums and extremes over all. Times are within [from, to).
typedef struct ts_timeline_figures {
    uint32_t file, track;            // of the device; track 0: unknown, or all
    uint64_t operations;             // work
    int64_t start_ns, end_ns;        // span; of all: from first to last
    int64_t busy_ns, idle_ns;        // add up to the span
    int64_t work_ns[TS_WORK_LIMIT];  // while such work ran
    int64_t only_ns[TS_WORK_LIMIT];  // while such ran, and none before it in
                                     // TS_WORKS: these add up to busy_ns
    int64_t cause_ns[TS_IDLE_LIMIT]; // add up to idle_ns
    uint64_t causes[TS_IDLE_LIMIT];  // gaps
    // Of LAUNCH_LATENCY: after work of the same stream that ended the middle
    // launch latency of the device, or more, after X's call had begun: X lay
    // in its queue. Where it had not, its launch was on the way.
    int64_t dispatch_ns;
    // Idle time charged by way of recorded edges alone, by way of inferred
    // ones too, and to nothing; add up to idle_ns.
    int64_t explicit_ns, inferred_ns, unexplained_ns;
    // From a call to its operation, where the call was what it waited for;
    // p50 and p95 of devices only.
    uint64_t launches;
    int64_t launch_p50_ns, launch_p95_ns, launch_max_ns;
    // Operations issued but not begun: the most at once, and the integral from
    // the first work on.
    uint32_t queue_max;
    int64_t queue_ns; // divide by the span for the mean
} ts_timeline_figures;

// Of all devices. Lifetime: until close.
TS_API const ts_timeline_figures *
ts_timeline_total(const ts_timeline *timeline);
// Devices are numbered as by ts_replay_device.
TS_API const ts_timeline_figures *
ts_timeline_device(const ts_timeline *timeline, size_t device); // or NULL

// Time with k operations at work, 0 <= k < the number returned.
TS_API size_t ts_timeline_concurrency(const ts_timeline *timeline,
                                      size_t device, const int64_t **times_ns);

// Operations of the device that are issued and not begun at a moment.
TS_API uint32_t ts_timeline_queue(const ts_timeline *timeline, size_t device,
                                  int64_t time_ns);
// The most of them at once in [from, to).
TS_API uint32_t ts_timeline_queue_most(const ts_timeline *timeline,
                                       size_t device, int64_t from_ns,
                                       int64_t to_ns);

typedef struct ts_gap {
    int64_t start_ns, end_ns; // all of it, also beyond [from, to)
    uint32_t operation;       // that ended it
    uint32_t culprit;         // node: what it waited for. HOST_SYNC,
                              // QUEUE_FULL: what blocked the thread longest.
                              // TS_NODE_NONE: nothing known
    uint8_t edge;             // ts_edge_kind of the first edge on the way
                              // that leads out of the stream's order, and
    bool inferred;            // one on the way was inferred
    ts_idle cause;
} ts_gap;

// Those that touch [from, to), in order of time. False past the end.
TS_API bool ts_timeline_gap(const ts_timeline *timeline, size_t device,
                            size_t index, ts_gap *gap);
TS_API size_t ts_timeline_gap_count(const ts_timeline *timeline, size_t device);

// What a node waited for last, found as for a gap; TS_NODE_NONE: nothing.
TS_API uint32_t ts_timeline_culprit(const ts_timeline *timeline, uint32_t node,
                                    uint8_t *edge, bool *inferred);

// One stay of a stream in a state.
typedef struct ts_state_span {
    ts_state state;
    int64_t start_ns, end_ns;
    uint32_t operation; // that runs first, or comes next; TS_NODE_NONE: none
    uint32_t culprit;   // WAITING: the node waited for, or TS_NODE_NONE
    uint8_t edge;       // WAITING: ts_edge_kind that leads there
    bool inferred;
} ts_state_span;

// Goes through the stays of a stream, numbered as by ts_replay_lane, in order
// of time. They leave no gap; a stream without operations of its own has none.
// They are not cut to [from, to).
typedef struct ts_state_spans {
    const ts_timeline *timeline; // private, as all of it
    size_t at, end;
    int64_t now_ns, busy_ns, wait_ns;
    int64_t begin_ns, finish_ns, issue_ns; // of the next operation
    uint32_t next_op;
    uint8_t next_kind;
    uint32_t runs, waits;
    bool more, kept;
    ts_state_span next;
} ts_state_spans;
TS_API ts_state_spans ts_timeline_state_spans(const ts_timeline *timeline,
                                              size_t stream);
TS_API bool ts_state_spans_next(ts_state_spans *stays, ts_state_span *stay);

/*
    The figures of a whole trace of any length in little memory: window after
    window, each loaded with a margin before and after it (a window of
    ts_replay_desc), on as many threads as there are.

    Of the whole trace to the nanosecond are: span, busy and idle time, work_ns
    and only_ns, operations and gaps. A gap belongs to the window in which it
    ends, with all of its time, however many windows it began earlier; its
    cause is found there. That is the cause that the whole graph tells, as far
    as what it goes back to lies in the window or its margin: what is usual
    (medians of launch latency and of delays) is of the window, waits and calls
    before the margin are not known, and a call is known if it was made at most
    one window before it. Likewise for launches and queues.

    Windows are cut by the numbers of operations in the chunks, not by threads:
    the figures are the same for any number of these.
*/
typedef struct ts_overview_desc {
    uint32_t window_operations TS__UNSET; // of each window, about (50,000)
    // before and after it, about (a tenth)
    uint32_t margin_operations TS__UNSET;
    uint32_t gap_count TS__UNSET; // longest gaps that are kept (100)
    uint32_t threads TS__UNSET;   // (the reader's)
    // as of ts_replay_desc
    uint32_t queue_depth TS__UNSET, connections TS__UNSET;
    bool no_inference TS__UNSET;
    ts_allocator allocator TS__UNSET; // used by all threads (malloc and free)
} ts_overview_desc;

typedef struct ts_overview ts_overview;

/*
    *overview is NULL on failure.

    Memory:  about 350 bytes for each operation of a window and its margins
             on each thread, 4 for each operation of the trace.
    Errors:  TS_ERR_NOT_FOUND (there is no GPU operation), TS_ERR_USAGE,
             TS_ERR_CORRUPT (parts do not add up: a bug), TS_ERR_MEMORY.
    Lifetime: the reader must outlive it.
*/
TS_API ts_result ts_overview_open(ts_overview **overview, ts_reader *reader,
                                  const ts_overview_desc *desc);
TS_API void ts_overview_close(ts_overview *overview); // NULL is allowed

// As of a timeline; devices by their numbers. launch_p50_ns and launch_p95_ns
// are at most 4 s. Lifetime: until close.
TS_API const ts_timeline_figures *
ts_overview_total(const ts_overview *overview);
TS_API const ts_timeline_figures *
ts_overview_device(const ts_overview *overview,
                   size_t device); // or NULL

// The longest gaps of all devices, longest first; of equal ones the earlier.
// operation, and culprit where it is an operation, are numbers in the whole
// trace, as of ts_replay_operation. False past the end.
TS_API bool ts_overview_gap(const ts_overview *overview, size_t index,
                            size_t *device, ts_gap *gap);

// What was cut out of the trace, and what its graphs were.
typedef struct ts_overview_window {
    int64_t from_ns, to_ns; // the first has no beginning, the last no end
    uint64_t operations;    // that begin in it, whatever their kind
    ts_replay_stats plan;   // of the graph, margins included
} ts_overview_window;
TS_API bool ts_overview_window_at(const ts_overview *overview, size_t index,
                                  ts_overview_window *window);
