/* ==== Replay ============================================================= */

/*
    A replay is a graph of the GPU operations of a trace, of the host calls
    that launched them, and of what waited for what. The graph can be run again
    as a discrete-event simulation in integer nanoseconds. Traces of several
    processes, one file each, form one graph: tracks, correlations and events
    belong to their file; times are converted to the time axis of the first.

    A *node* is a point in time that depends on others. Nodes are numbered:
    first the operations in their total order (start, device, stream, place in
    the stream), then the host calls in order of time, then two kinds of helper
    nodes: the end of every node that waits for others, and joins, which stand
    for "all work of these streams so far". A node starts at the time that the
    latest edge into it allows, plus its *gap*: the recorded delay beyond its
    dependencies, which may be negative. With recorded durations every operation
    must run at its recorded nanosecond; any difference is a bug of the loader
    or of the graph, and is reported.

    Host calls in the graph are those that share the correlation of an
    operation, and those that may block the host according to their name.
    Consecutive calls that poll for the same thing count as one. An operation
    that has a thread and a queued time but no call gets a call of no duration
    as a stand-in. The order of operations on the host is the order of the
    starts of their calls, else of their queued times, else of their submitted
    times. If any operation has none of these, the starts of operations (for
    waits: their ends) order all of them.

    Dependencies that the record states:
    - Within a stream operations run first in, first out. Where they overlap in
      the record, the later one depends on the start of the earlier one, and
      the next one that does not overlap depends on the ends of both.
    - An event wait depends on the record that its column `record` names, else
      on the latest record of that event before the wait. If there is none, it
      waits for nothing.
    - An operation on a legacy default stream depends on everything issued
      before it to the blocking streams of its context, and everything issued
      to them after it depends on it. A stream whose work ever overlapped that
      of the default stream is not blocking.
    - Events of kind `dependency` are edges of their own.
    - Operations of one call are the nodes of a graph launch. Their times show
      their order; only its roots depend on the call and on what was on the
      launch stream before.
    - A launch depends on the start of the operation that was launched
      queue_depth launches before it on its stream.
    - A collective ends, on every rank that has a trace, after all of them have
      begun it. The same holds for a send and its receive. Their join begins
      when the last one arrives, and lasts as long as the shortest of them did.
    - A host synchronisation ends after what it waited for. A call ends after
      its synchronisation or copy if it outlasted that in the record. Each call
      of a thread comes after the one before it.

    Where none of these explains a start, edges are inferred from times, and
    flagged as inferred:
    - for an operation that begins later than usual, just after an operation on
      another stream of its device ended;
    - for calls that wait for a stream or an event that the record does not
      name;
    - for threads of a process that launch in alternation;
    - for an event wait of which the record has only the call: from the last
      work on another stream.

    A sync or legacy edge that the record contradicts (its target did not wait)
    is left out and counted. So is an edge that would close a cycle, unless
    `record` states it.
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

// An edge of kind SELF ties a node to the helper node that is its end. It is
// never counted.
typedef enum ts_edge_kind {
#define TS__X(name, value, text) TS_EDGE_##name = value,
    TS_EDGES(TS__X)
#undef TS__X
} ts_edge_kind;
#define TS_EDGE_LIMIT 12

// Why an operation is not replayed. NOT means that it is.
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

// Returns the name of a ts_edge_kind, such as "host_order"; "unknown" for any
// other number. Static.
TS_API const char *ts_edge_name(uint32_t kind);

// Returns the name of a ts_skip, such as "other_stream"; "unknown" for any
// other number. Static.
TS_API const char *ts_skip_name(uint32_t skip);

// How a partial replay treats operations that are not selected.
typedef enum ts_deps {
    TS_DEPS_FROZEN = 0,  // they run at their recorded times
    TS_DEPS_CLOSURE = 1, // dependencies of selected ones are selected as well
    TS_DEPS_NONE = 2     // they do not exist
} ts_deps;

// A loaded graph with its selection and its last run. Opaque.
typedef struct ts_replay ts_replay;

// What to load and to select. All zeros loads and selects everything.
typedef struct ts_replay_desc {
    // select the operations on these stream_count tracks
    const uint32_t *streams TS__UNSET;
    size_t stream_count TS__UNSET;     // (0: all)
    const uint32_t *devices TS__UNSET; // likewise, device_count tracks
    size_t device_count TS__UNSET;     // (0: all)
    // select operations that touch [from, to) (both 0: all)
    int64_t from_ns TS__UNSET, to_ns TS__UNSET;
    ts_deps deps TS__UNSET;           // (TS_DEPS_FROZEN)
    uint32_t threads TS__UNSET;       // for loading (the reader's)
    ts_allocator allocator TS__UNSET; // (malloc and free)
    // more_count further traces, replayed with the first
    ts_reader *const *more TS__UNSET;
    size_t more_count TS__UNSET;
    // the file that each of `streams` belongs to (NULL: all to file 0)
    const uint32_t *stream_files TS__UNSET;
    const uint32_t *device_files TS__UNSET; // likewise for `devices`
    // Called for each operation that the fields above select, in their order.
    // Returns TS_SKIP_NOT to select it, else the reason to skip it (NULL: all)
    ts_skip (*choose)(const ts_replay *replay, size_t index,
                      void *user) TS__UNSET;
    void *choose_user TS__UNSET;
    // launches that a stream's queue holds before they begin; the call of the
    // next one blocks (1024)
    uint32_t queue_depth TS__UNSET;
    // hardware queues of a device, which its streams share (0: one for each
    // stream)
    uint32_t connections TS__UNSET;
    bool no_inference TS__UNSET; // use recorded edges only (false)
    // Load only what touches the window [load_from_ns, load_to_ns) and the
    // calls of these operations (both 0: everything). See below.
    int64_t load_from_ns TS__UNSET, load_to_ns TS__UNSET;
    // how long before the window such calls are looked for (0: from the
    // beginning of the trace)
    int64_t load_before_ns TS__UNSET;
    // load only collectives, to align the clocks of files: see
    // ts_replay_file_at. A trace without collectives is then no error (false)
    bool clocks_only TS__UNSET;
} ts_replay_desc;

/*
    A *window* of a long trace needs memory only for what it holds: only chunks
    whose time range touches it are decoded. Nothing outside of it exists:
    - an event wait whose record lies before the window misses it (it counts as
      missing_records, never as never_recorded);
    - the first operation of each stream has no predecessor;
    - what the host did before the window is not known;
    - the medians that inference rests on are those of the window.
    So begin it early enough. The calls of the window's operations are found
    however early they were made, unless load_before_ns limits that: as a stream
    holds at most queue_depth launches, no more than that many operations of
    each stream can lie between a call and its operation. Times of the window
    are those of the first file, before collectives align the clocks of further
    files. stats.loaded counts what touches the window; operations with
    impossible times touch no window.
*/

/*
    Loads the operations of a trace, builds the graph and selects. Afterwards
    the first half of ts_replay_result is set. desc may be NULL. *replay is NULL
    on failure. Damaged chunks are left out; the reader lists them.

    Threads:  loading uses desc.threads threads. A replay may be read by many
              threads at once; ts_replay_run, _path, _steps and _close need it
              alone.
    Memory:   about 220 bytes for each operation with its call while it loads,
              134 afterwards.
    Errors:   TS_ERR_NOT_FOUND   no GPU operation in the trace, or the window
              TS_ERR_USAGE       `to` before `from`, an empty window, a negative
                                 load_before_ns
              TS_ERR_UNSUPPORTED 2^31 operations or more, 65,536 files or more
              TS_ERR_MEMORY
    Lifetime: the readers must outlive the replay.
    Free:     ts_replay_close.
*/
TS_API ts_result ts_replay_open(ts_replay **replay, ts_reader *reader,
                                const ts_replay_desc *desc);

/*
    Opens another replay of the same graph and selection. Each has its own runs,
    so that the results of one stay while the other predicts something; the
    graph is in memory once. The fork has no run yet.

    Threads:  as those of two replays that were opened separately; `of` must not
              run during the call.
    Errors:   TS_ERR_MEMORY
    Lifetime: `of` must outlive the fork.
    Free:     ts_replay_close.
*/
TS_API ts_result ts_replay_fork(ts_replay **fork, const ts_replay *of);

// Frees a replay and everything that it returned. NULL is allowed.
TS_API void ts_replay_close(ts_replay *replay);

/*
    A file of a replay. Files are numbered in the order given, `reader` is file
    0. All times are on the axis of file 0: offset_ns is added to the times of
    the file.

    Alignment: files of one boot of one machine (metadata `boot_id`) share its
    clock, which gives their offset exactly; those that share it with file 0 are
    aligned. The others are placed by the Unix time of their start, if file 0
    and they have it, and then shifted by the median difference between the ends
    of the `matched` collectives that they, or files of the same machine, have
    in common with aligned files. If no file is left that has any in common, the
    next file counts as aligned where it is. residual_ns is the median distance
    from the median: a measure of the error.
*/
typedef struct ts_replay_file {
    ts_reader *reader;
    int64_t offset_ns;
    bool realtime;       // it and file 0 have the Unix time of their start
    uint64_t matched;    // collectives that aligned it
    int64_t residual_ns; // see above
    uint32_t clock;      // first file that shares its clock; else itself
} ts_replay_file;

// Gets file number `index`. False past the end.
TS_API bool ts_replay_file_at(const ts_replay *replay, size_t index,
                              ts_replay_file *file);

// Returns the reader of a file; NULL if there is no such file.
TS_API ts_reader *ts_replay_reader(const ts_replay *replay, uint32_t file);

// A part is replayed as a process of its own. It is a file, or one of the
// traces that were merged into a file; metadata of such a trace's session are
// then metadata of its process track.
typedef struct ts_replay_part {
    uint32_t file;
    uint32_t process; // process track of the part; 0: it is the whole file
} ts_replay_part;

// Gets part number `index`, in the order of files. False past the end.
TS_API bool ts_replay_part_at(const ts_replay *replay, size_t index,
                              ts_replay_part *part);

// How to run. All zeros is exactly as recorded.
typedef struct ts_replay_run_desc {
    // the duration of every operation, in the order of ts_replay_operation, 0
    // or more (NULL: as recorded)
    const int64_t *durations_ns TS__UNSET;
    uint32_t mode TS__UNSET; // ts_replay_mode (TS_REPLAY_EXACT)
    // The following only apply to TS_REPLAY_MODEL:
    const struct ts_change *changes TS__UNSET; // change_count what-ifs
    size_t change_count TS__UNSET;
    // copy engines for each direction of a device (as many as were ever busy at
    // once in the record)
    uint32_t copy_engines TS__UNSET;
    // kernels of a device compete for its multiprocessors: one that finds no
    // room waits. So do collectives whose launch is known; they occupy their
    // share while they wait for other ranks, too (false: kernels overlap
    // freely, as recorded)
    bool share_compute TS__UNSET;
    // Only start_ns, end_ns, `operations`, the skipped ones and what stays
    // unexplained are computed; an exact run also counts `different` and the
    // operations of ts_replay_lane and _device. The busy times, errors and the
    // digest are 0, and so are the times of ts_replay_lane and _device, and
    // ts_node.gap_ns (false)
    bool brief TS__UNSET;
} ts_replay_run_desc;

/*
    Runs the selected operations (desc NULL: exactly as recorded). An operation
    that waits lasts until what it waits for is done, whatever its duration
    says. Operations in a cycle do not run: see ts_replay_cycle. A further run
    replaces the schedule of the one before.

    Errors: TS_ERR_NOT_FOUND nothing is selected
            TS_ERR_USAGE     a negative duration, an invalid change, or a change
                             without TS_REPLAY_MODEL
            TS_ERR_MEMORY
*/
TS_API ts_result ts_replay_run(ts_replay *replay,
                               const ts_replay_run_desc *desc);

typedef struct ts_replay_stats {
    // The graph and the selection.
    uint64_t loaded;     // operations in the trace, or in its window
    uint64_t operations; // selected; after a run those that ran
    uint64_t calls;      // host calls that launched them or may block
    uint64_t added;      // operations that TS_DEPS_CLOSURE added
    uint64_t skipped[TS_SKIP_LIMIT]; // operations not replayed, by reason
    uint64_t edges[TS_EDGE_LIMIT];   // between selected nodes, by kind
    uint64_t cut_edges;              // into the selection from outside
    uint64_t contradicted;           // edges left out: the record shows no wait
    uint64_t never_recorded;  // waits for an event that was never recorded
    uint64_t missing_records; // waits whose `record` the trace lacks, whose
                              // event is unknown, or whose event may have been
                              // recorded before the window
    uint64_t overlaps; // kernels that began before the end of their predecessor
                       // on the stream: programmatic dependent launches
    uint64_t inferred[TS_EDGE_LIMIT]; // of `edges`: inferred from times
    uint64_t rendezvous;         // collectives, and pairs of send and receive
    uint64_t rendezvous_partial; // of these: ranks are missing, so confidence
                                 // is low; one without any other rank counts
    uint64_t lost; // records that the loss ledger misses on what was selected
    // Time of threads that launch work, summed up, of which the dependencies
    // are not known: between two calls while another thread of the process
    // called (the thread may have waited for it), before the first call while
    // earlier work was in its queue, and in synchronisations with work that is
    // not recorded.
    int64_t unknown_host_ns;
    uint64_t shared_syncs; // waits for a device to which several threads had
                           // launched: their length depends on which was first
    int64_t recorded_start_ns, recorded_end_ns; // of the selection
    // The last run.
    int64_t start_ns, end_ns;         // of the schedule
    int64_t busy_from_ns, busy_to_ns; // first to last work on a device
    // distance of operations from their recorded start
    int64_t start_error_p50_ns, start_error_p95_ns, start_error_max_ns;
    uint64_t different;     // operations that start or end at another time
    uint64_t digest;        // XXH3 of identity, start and end in total order
    uint64_t unexplained;   // model: nodes that keep a recorded delay
    int64_t unexplained_ns; // difference of these delays from the model's
    // Of the graph again:
    uint64_t rendezvous_guessed; // matched by name and order, as their
                                 // communicator is not known, although their
                                 // members do not end together
} ts_replay_stats;

// Returns the figures of the graph and of the last run (0 before the first).
// Lifetime: until close; a run changes them.
TS_API const ts_replay_stats *ts_replay_result(const ts_replay *replay);

// Returns whether unknown_host_ns is more than 1/50 of the recorded time. Above
// that, what the model says of a run is often wrong (measured by
// tests/checks/truth.sh).
TS_API bool ts_replay_host_unknown(const ts_replay_stats *stats);

// An operation: what a device, or its stream, did for one request.
typedef struct ts_operation {
    ts_event_kind kind;
    uint32_t track, device, thread; // tracks; 0 unknown
    uint32_t call;                  // node that launched it, or TS_NODE_NONE
    uint32_t label;                 // private: see ts_operation_label
    uint64_t correlation;
    int64_t recorded_start_ns, recorded_end_ns;
    int64_t start_ns, end_ns; // in the last run; 0 if it did not run
    ts_skip skip;             // TS_SKIP_NOT: selected
    uint32_t file;
    uint32_t row;  // its number among the GPU operations of the file, counted
                   // chunk by chunk, damaged chunks included
    uint32_t part; // see ts_replay_part_at
} ts_operation;

// Gets operation number `index` in the total order of the record. There are
// stats.loaded of them, less those with an impossible time. False past the end.
TS_API bool ts_replay_operation(const ts_replay *replay, size_t index,
                                ts_operation *operation);

// Returns the name of a kernel, collective or host function, else of its kind.
// reader: that of the operation's file. Lifetime: as long as it is open.
TS_API ts_text ts_operation_label(const ts_reader *reader,
                                  const ts_operation *operation);

// What a stream, context or device did in the last run. Only tracks that have
// operations in the trace are listed.
typedef struct ts_lane {
    uint32_t track, device;            // tracks; device 0: unknown
    uint64_t operations;               // that ran
    int64_t start_ns, end_ns, busy_ns; // busy: union of its work
    uint32_t file;
} ts_lane;

// Returns the number of streams, and other tracks, that have operations.
TS_API size_t ts_replay_lane_count(const ts_replay *replay);

// Gets stream number `index`, in order of device, then stream. False past the
// end.
TS_API bool ts_replay_lane(const ts_replay *replay, size_t index,
                           ts_lane *lane);

// Returns the number of devices that have operations.
TS_API size_t ts_replay_device_count(const ts_replay *replay);

// Gets device number `index`. Its busy time is the union over its streams;
// divide it by busy_to_ns - busy_from_ns of the stats for the utilisation.
// False past the end.
TS_API bool ts_replay_device(const ts_replay *replay, size_t index,
                             ts_lane *device);

#define TS_NODE_NONE 0xFFFFFFFFu

// The graph in compressed rows: edges offsets[n] to offsets[n + 1] - 1 lead
// from node n to their `targets`.
typedef struct ts_graph {
    uint32_t node_count, operation_count, call_count, edge_count;
    const uint32_t *offsets; // node_count + 1
    const uint32_t *targets; // edge_count nodes
    const uint8_t *kinds;    // edge_count; TS_EDGE_KIND(kind) is a ts_edge_kind
} ts_graph;

// Flags of ts_graph.kinds.
enum {
    TS_EDGE_INFERRED = 64,   // inferred from times: no record states it
    TS_EDGE_FROM_START = 128 // from the node's start, not its end
};
#define TS_EDGE_KIND(kind) \
    ((uint8_t)(kind) & (uint8_t) ~(TS_EDGE_INFERRED | TS_EDGE_FROM_START))

// Returns the graph of all nodes, selected or not. Lifetime: until close.
TS_API ts_graph ts_replay_graph(const ts_replay *replay);

typedef enum ts_node_type {
    TS_NODE_OPERATION = 0,
    TS_NODE_CALL = 1,
    TS_NODE_END = 2, // of an operation or call that waits for others
    TS_NODE_JOIN = 3
} ts_node_type;

typedef struct ts_node {
    ts_node_type type;
    uint32_t owner; // TS_NODE_END: the node whose end it is; else itself
    uint32_t track; // stream or thread; 0: a join, or unknown
    uint32_t name;  // of the function of a call; 0 unknown
    int64_t recorded_ns, duration_ns;
    int64_t gap_ns; // delay beyond its dependencies; 0 after a brief run
    bool selected;
    uint32_t file;
    int64_t start_ns, end_ns; // in the last run; both 0 if it did not run
} ts_node;

// Gets node number `index`. False past the end.
TS_API bool ts_replay_node(const ts_replay *replay, size_t index,
                           ts_node *node);

/*
    Gets a cycle that kept operations from running in the last run: operations
    and calls that each wait for the one before, and the first for the last.
    Returns their number; 0: there is no cycle, everything ran.

    Lifetime: until the next run or close.
*/
TS_API size_t ts_replay_cycle(const ts_replay *replay, const uint32_t **nodes);
