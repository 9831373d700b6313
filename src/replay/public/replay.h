/* ==== Replay ============================================================= */

/*
    The GPU operations of a trace, the host calls that launched them and what
    waited for what, as a graph; and that graph run again as an integer
    discrete-event simulation. Traces of several processes, one file each,
    make one graph: tracks, correlations and events belong to their file, and
    times are put on the axis of the first.

    A *node* is a point in time that depends on others. Nodes are numbered:
    first the operations in their total order (start, device, stream, place in
    the stream), then the host calls in order of time, then the helpers: the
    end of every node that waits for others, and joins, which stand for "all
    work of these streams so far". A node starts as late as the latest edge
    into it says, plus its *gap*: what the record shows beyond its
    dependencies, possibly negative. With recorded durations every operation
    must come out at its recorded nanosecond; anything else is an error of the
    loader or of the graph, and is reported.

    Host calls are those whose correlation an operation has, and those that
    may block the host by their name, whoever has their correlation; calls
    that poll in a row are one. For operations without a call but with a
    thread and a queued time, a call of no duration stands in. Times of order
    on the host are: start of the call, else queued, else submitted. If any
    operation has none of these, starts (for waits: ends) order all of them.

    What depends on what:
    - within a stream, first in, first out. Where the record overlaps, the
      later operation depends on the start of the one before, and the next
      that does not overlap on the ends of both;
    - an event wait on the record that `record` names, else on the latest
      record of that event before the wait; none: the wait waits for nothing;
    - on a legacy default stream, an operation on what was issued before to
      blocking streams of its context, and what is issued to these after it
      on the operation. A stream that ever ran beside it is not blocking;
    - what the trace itself says (events of kind dependency);
    - operations of one call, the nodes of a graph launch, on each other as
      their times tell, its roots alone on the call and on what was on the
      launch stream before;
    - a launch on the start of the operation queue_depth launches before it on
      its stream;
    - a collective ends, on every rank of which there is a trace, after all of
      them have begun it; so do a send and its receive. Their join begins when
      the last one arrives and lasts as long as the shortest of them did;
    - a host sync ends after what it waited for, a call after its sync or its
      copy if the record shows that it outlasted it, and the next call of a
      thread comes after the one before.
    What nothing of this explains is inferred from times, and flagged so: an
    operation that begins later than usual just after one on another stream
    of its device ended, calls that wait for a stream or event that the record
    does not name, threads of a process that launch in turns, and work of
    another stream before a wait of which the record has but the call.
    A sync or legacy edge that the record contradicts (it did not wait) is
    left out and counted, and so is what would close a circle, unless `record`
    says so.
*/
#define TS_EDGES(X) \
    X(SELF, 0, "self") \
    X(HOST_ORDER, 1, "host_order") \
    X(LAUNCH, 2, "launch") \
    X(STREAM_ORDER, 3, "stream_order") \
    X(EVENT, 4, "event") \
    X(SYNC, 5, "sync") \
    X(LEGACY_DEFAULT, 6, "legacy_default") \
    X(GRAPH, 7, "graph") \
    X(COLLECTIVE, 8, "collective") \
    X(QUEUE, 9, "queue_full") \
    X(P2P, 10, "point_to_point") \
    X(USER, 11, "user")

// SELF ties a node to the helper that is its end; it is never counted.
typedef enum ts_edge_kind {
#define TS__X(name, value, text) TS_EDGE_##name = value,
    TS_EDGES(TS__X)
#undef TS__X
} ts_edge_kind;
#define TS_EDGE_LIMIT 12

// Why an operation is not replayed.
#define TS_SKIPS(X) \
    X(NOT, 0, "not_skipped") \
    X(STREAM, 1, "other_stream") \
    X(DEVICE, 2, "other_device") \
    X(TIME, 3, "outside_time") \
    X(BAD_TIME, 4, "bad_time") \
    X(UNMET, 5, "unmet_dependency") \
    X(REMOVED, 6, "removed") \
    X(RANGE, 7, "outside_range") \
    X(ZONE, 8, "other_zone")

typedef enum ts_skip {
#define TS__X(name, value, text) TS_SKIP_##name = value,
    TS_SKIPS(TS__X)
#undef TS__X
} ts_skip;
#define TS_SKIP_LIMIT 9

// "host_order", "other_stream", ...; an unknown number gives "unknown".
TS_API const char *ts_edge_name(uint32_t kind);
TS_API const char *ts_skip_name(uint32_t skip);

// What a partial replay makes of operations that are not selected.
typedef enum ts_deps {
    TS_DEPS_FROZEN = 0,  // they happen when they were recorded
    TS_DEPS_CLOSURE = 1, // those that selected ones depend on are added
    TS_DEPS_NONE = 2     // they do not exist
} ts_deps;

typedef struct ts_replay ts_replay;

typedef struct ts_replay_desc {
    // stream_count tracks on which operations lie
    const uint32_t *streams TS__UNSET;
    size_t stream_count TS__UNSET;     // (0: all)
    const uint32_t *devices TS__UNSET; // device_count tracks
    size_t device_count TS__UNSET;     // (0: all)
    // what touches [from, to) (both 0: all)
    int64_t from_ns TS__UNSET, to_ns TS__UNSET;
    ts_deps deps TS__UNSET;           // (TS_DEPS_FROZEN)
    uint32_t threads TS__UNSET;       // for loading (the reader's)
    ts_allocator allocator TS__UNSET; // (malloc and free)
    // more_count further traces, replayed jointly
    ts_reader *const *more TS__UNSET;
    size_t more_count TS__UNSET;
    // file of each of `streams` (NULL: 0)
    const uint32_t *stream_files TS__UNSET;
    const uint32_t *device_files TS__UNSET; // likewise of `devices`
    // Asked about each operation that the fields above select, in their order;
    // TS_SKIP_NOT selects it, another value is why not. (NULL: all)
    ts_skip (*choose)(const ts_replay *replay, size_t index,
                      void *user) TS__UNSET;
    void *choose_user TS__UNSET;
    // launches that a stream holds before they begin; the next one waits in its
    // call (1024)
    uint32_t queue_depth TS__UNSET;
    // hardware queues of a device, which its streams share (0: one for each
    // stream)
    uint32_t connections TS__UNSET;
    bool no_inference TS__UNSET; // only what the record says (false)
    // What does not touch [load_from_ns, load_to_ns) is not loaded at all, but
    // for the calls of what does (both 0: all). See below.
    int64_t load_from_ns TS__UNSET, load_to_ns TS__UNSET;
    // how long before the window these are looked for (0: from the beginning)
    int64_t load_before_ns TS__UNSET;
    // load collectives alone, to put clocks right: see ts_replay_file_at. None
    // is no failure (false)
    bool clocks_only TS__UNSET;
} ts_replay_desc;

/*
    A *window* of a long trace costs no more memory than it holds: only chunks
    whose time range touches it are decoded. Nothing outside exists: waits for
    records before it miss them (missing_records, never never_recorded), the
    first operation of each stream has none before it, what the host did
    before it is not known, and what is usual, the medians that inference goes
    by, is of the window. So begin it early enough. What launched an operation
    of the window is known however long ago that was, unless load_before_ns
    says otherwise; a stream holds queue_depth launches at most, so that as
    many operations of each stream go by meanwhile, no more. Times of the
    window are those of the first file, before collectives put the clocks of
    further files right. stats.loaded counts what touches the window;
    operations with impossible times touch none.
*/

/*
    Loads the operations of a trace, builds the graph and selects. The plan
    is then in the stats. *replay is NULL on failure. Damaged chunks are left
    out and stand in the reader's list.

    Memory:  for each operation with its call about 220 bytes while it loads,
             134 after.
    Errors:  TS_ERR_NOT_FOUND (no GPU operation in the trace, or in the
             window), TS_ERR_USAGE (to before from, an empty window, a
             negative load_before_ns), TS_ERR_UNSUPPORTED (2^31 operations or
             more, 65,536 files or more), TS_ERR_MEMORY.
    Lifetime: the readers must outlive the replay.
*/
TS_API ts_result ts_replay_open(ts_replay **replay, ts_reader *reader,
                                const ts_replay_desc *desc);
TS_API void ts_replay_close(ts_replay *replay); // NULL is allowed

/*
    Files are numbered as they were given, from 0, which is `reader`. The time
    axis is that of the first: offset_ns is added to all times of a file.
    Files of one boot of one machine (metadata `boot_id`) share its clock,
    which tells exactly how they lie to each other. What lies to the first file
    by that is right. The others lie by the Unix time at which both started, if
    both know it, and by the ends of the `matched` collectives that they, or
    files of the same machine, share with files that are right: the median of
    the differences. Where none is left that does, the next file that is not
    right yet counts as right. residual_ns is the median distance from it.
*/
typedef struct ts_replay_file {
    ts_reader *reader;
    int64_t offset_ns;
    bool realtime; // this and the first know the Unix time of their start
    uint64_t matched;
    int64_t residual_ns;
    uint32_t clock; // the first file with the same clock: itself, if none has
} ts_replay_file;
TS_API bool ts_replay_file_at(const ts_replay *replay, size_t index,
                              ts_replay_file *file);
TS_API ts_reader *ts_replay_reader(const ts_replay *replay, uint32_t file);

// What is replayed as a process of its own: a file, or a part of one that was
// made of several, in order of the files. What was said of its session is
// metadata of its process track.
typedef struct ts_replay_part {
    uint32_t file;
    uint32_t process; // 0: the session, which is no part
} ts_replay_part;
TS_API bool ts_replay_part_at(const ts_replay *replay, size_t index,
                              ts_replay_part *part);

// How to run. All zeros is exactly as recorded.
typedef struct ts_replay_run_desc {
    // of every operation that ts_replay_operation gives, in its order, 0 or
    // more (NULL: as recorded)
    const int64_t *durations_ns TS__UNSET;
    uint32_t mode TS__UNSET; // ts_replay_mode (TS_REPLAY_EXACT)
    // Only in TS_REPLAY_MODEL:
    const struct ts_change *changes TS__UNSET; // what if: change_count of them
    size_t change_count TS__UNSET;
    // of each direction of a device (as many as were busy at once in the
    // record)
    uint32_t copy_engines TS__UNSET;
    // kernels share the multiprocessors of a device: those that find no room
    // wait (false: they overlap as they come, as recorded). So do collectives
    // whose launch is known, which have their part while they wait for others,
    // too
    bool share_compute TS__UNSET;
} ts_replay_run_desc;

/*
    Runs the selected operations (desc NULL: exactly as recorded). What waits
    takes as long as what it waits for, whatever its duration. Operations that
    wait for each other in a circle do not run: see ts_replay_cycle. May be
    called again; the last schedule counts.

    Errors:  TS_ERR_NOT_FOUND (nothing is selected), TS_ERR_USAGE (a negative
             duration, a change that is none or outside of a model),
             TS_ERR_MEMORY.
*/
TS_API ts_result ts_replay_run(ts_replay *replay,
                               const ts_replay_run_desc *desc);

typedef struct ts_replay_stats {
    // The plan.
    uint64_t loaded;     // operations that the trace, or its window, holds
    uint64_t operations; // selected; after a run those that ran
    uint64_t calls;      // host calls that launched them or may block
    uint64_t added;      // operations that TS_DEPS_CLOSURE added
    uint64_t skipped[TS_SKIP_LIMIT];
    uint64_t edges[TS_EDGE_LIMIT]; // between selected nodes
    uint64_t cut_edges;            // into the selection from outside
    uint64_t contradicted;         // left out because the record shows no wait
    uint64_t never_recorded;       // waits for an event that has no record
    uint64_t missing_records;      // waits whose `record` the trace lacks, and
                                   // those whose event nobody can tell or may
                                   // have been recorded before the window
    uint64_t overlaps; // kernels that began before the one before them on
                       // their stream had ended: dependent launches
    uint64_t inferred[TS_EDGE_LIMIT]; // of the edges above, by times alone
    uint64_t rendezvous;         // collectives and pairs of send and receive
    uint64_t rendezvous_partial; // ranks are missing: low confidence. Nobody
                                 // meets alone: so too where no other is there
    uint64_t lost;           // records the ledger misses on what was selected
    int64_t unknown_host_ns; // of threads that launch work, summed up: between
                             // two calls while another thread of the process
                             // called: they may have waited for it, and no
                             // edge says so. And before the first call, while
                             // there was work that had been queued before, and
                             // in synchronisations with what is not recorded
    uint64_t shared_syncs;   // waits for a device to which several threads had
                             // launched: for what hangs on who came first
    int64_t recorded_start_ns, recorded_end_ns; // of the selection
    // The run.
    int64_t start_ns, end_ns;
    int64_t busy_from_ns, busy_to_ns; // first to last work on a device
    int64_t start_error_p50_ns, start_error_p95_ns, start_error_max_ns;
    uint64_t different;     // operations that start or end at another time
    uint64_t digest;        // XXH3 of identity, start and end in total order
    uint64_t unexplained;   // model: nodes that keep a recorded delay
    int64_t unexplained_ns; // what these delays differ from the model's
    uint64_t rendezvous_guessed; // by name and order, as no communicator is
                                 // known, and the members do not end together
} ts_replay_stats;

// Lifetime: until close. Figures of the run are 0 before it.
TS_API const ts_replay_stats *ts_replay_result(const ts_replay *replay);
// Whether unknown_host_ns is so much of the run, more than one part in 50, that
// what is said of it is often wrong: tests/checks/truth.sh measures it.
TS_API bool ts_replay_host_unknown(const ts_replay_stats *stats);

typedef struct ts_operation {
    ts_event_kind kind;
    uint32_t track, device, thread; // tracks; 0 unknown
    uint32_t call;                  // node that launched it, or TS_NODE_NONE
    uint32_t label;                 // private: see ts_operation_label
    uint64_t correlation;
    int64_t recorded_start_ns, recorded_end_ns;
    int64_t start_ns, end_ns; // 0 if it did not run
    ts_skip skip;             // TS_SKIP_NOT: selected
    uint32_t file;
    uint32_t row;  // its place among the GPU operations of the file, which
                   // are counted chunk by chunk, damaged ones too
    uint32_t part; // see ts_replay_part_at
} ts_operation;

// 0 <= index < stats.loaded less those with a bad time, in total order of
// the record. False past the end.
TS_API bool ts_replay_operation(const ts_replay *replay, size_t index,
                                ts_operation *operation);
// A kernel's, collective's or host function's name, else the kind. The
// reader is that of the operation's file.
TS_API ts_text ts_operation_label(const ts_reader *reader,
                                  const ts_operation *operation);

// What a stream, context or device did in the run. Only those on which
// operations of the trace lie, by device, then stream.
typedef struct ts_lane {
    uint32_t track, device;            // tracks; device 0: unknown
    uint64_t operations;               // that ran
    int64_t start_ns, end_ns, busy_ns; // busy: union over its work
    uint32_t file;
} ts_lane;
TS_API size_t ts_replay_lane_count(const ts_replay *replay);
TS_API bool ts_replay_lane(const ts_replay *replay, size_t index,
                           ts_lane *lane);
// Devices likewise; their busy time is the union over all their streams.
// Divide it by busy_to_ns - busy_from_ns of the stats.
TS_API size_t ts_replay_device_count(const ts_replay *replay);
TS_API bool ts_replay_device(const ts_replay *replay, size_t index,
                             ts_lane *device);

#define TS_NODE_NONE 0xFFFFFFFFu

// The graph: edges of node n are offsets[n] to offsets[n + 1] - 1.
typedef struct ts_graph {
    uint32_t node_count, operation_count, call_count, edge_count;
    const uint32_t *offsets; // node_count + 1
    const uint32_t *targets; // nodes
    const uint8_t *kinds;    // TS_EDGE_KIND(kind) is a ts_edge_kind
} ts_graph;
enum {
    TS_EDGE_INFERRED = 64,   // guessed from times: no record says so
    TS_EDGE_FROM_START = 128 // from the node's start, not its end
};
#define TS_EDGE_KIND(kind) \
    ((uint8_t)(kind) & (uint8_t) ~(TS_EDGE_INFERRED | TS_EDGE_FROM_START))
TS_API ts_graph ts_replay_graph(const ts_replay *replay);

typedef enum ts_node_type {
    TS_NODE_OPERATION = 0,
    TS_NODE_CALL = 1,
    TS_NODE_END = 2, // of an operation or call that waits for others
    TS_NODE_JOIN = 3
} ts_node_type;

typedef struct ts_node {
    ts_node_type type;
    uint32_t owner; // TS_NODE_END: whose end it is; else the node itself
    uint32_t track; // stream or thread; 0: a join, or unknown
    uint32_t name;  // of a call's function; 0 unknown
    int64_t recorded_ns, duration_ns;
    int64_t gap_ns; // beyond its dependencies; set by the run
    bool selected;
    uint32_t file;
    int64_t start_ns, end_ns; // in the run; both 0 if it did not run
} ts_node;
TS_API bool ts_replay_node(const ts_replay *replay, size_t index,
                           ts_node *node);

// After a run: operations and calls that wait for each other, each for the
// one before it and the first for the last. Returns how many; 0: all ran.
TS_API size_t ts_replay_cycle(const ts_replay *replay, const uint32_t **nodes);
