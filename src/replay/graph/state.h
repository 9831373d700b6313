/* ---- Graph: state ------------------------------------------------------- */

// An operation; its times are those of its node.
typedef struct ts__op {
    int64_t issue; // when the host issued it, or TS__NO_TIME
    uint64_t correlation;
    uint32_t thread; // track
    uint32_t label;  // launch, name or copy type; event kinds: ts__event_op
    uint32_t call;   // node
    uint8_t kind;
    uint8_t memory; // copies: kinds of memory of source and destination
} ts__op;

// Further fields of event records, waits and syncs.
typedef struct ts__event_op {
    uint32_t op;
    uint32_t after; // event record: earlier work that ended later
    uint64_t id, record;
} ts__event_op;

// Further fields of collectives.
typedef struct ts__coll_op {
    uint32_t op, launch; // launch: of its kernel; 0 unknown
    uint64_t communicator;
} ts__coll_op;

/*
    A rendezvous: operations that wait for each other, namely a collective, or a
    send and its receive. With more than one member it has a join. The join
    starts at the latest start of a member and lasts as long as the transfer
    takes once all have arrived: the shortest recorded duration, which is that
    of the member `cost`. The ends of the members depend on its end.
*/
typedef struct ts__rendezvous {
    uint32_t first, count; // in ts_replay.members
    uint32_t expected;     // number of ranks that take part; 0 unknown
    uint32_t join, cost;   // nodes; TS_NODE_NONE: there is only one member
    uint8_t kind;          // TS_EDGE_COLLECTIVE or TS_EDGE_P2P
    bool guessed;          // no communicator and no peers are known
} ts__rendezvous;

// The rendezvous of an operation. Sorted by op.
typedef struct ts__rendezvous_member {
    uint32_t op, rendezvous;
} ts__rendezvous_member;

/*
    A part: what shares correlations, events and a rank. A trace is one part,
    unless several traces were merged into it (metadata `merge.part`): then it
    has as many parts as if they were separate files.
*/
typedef struct ts__trace_part {
    uint32_t file, local; // local: number among the parts of the file
    uint32_t process;     // its first process track; 0: it is the whole file
    bool misses;          // the records that some of its waits are for
} ts__trace_part;

// A track of a file that has operations or calls: a stream, thread, ...
typedef struct ts__replay_lane {
    uint32_t file, track;
    uint32_t part;          // until all are loaded: the first of the file
    uint32_t device;        // index of ts_replay.devices
    uint32_t device_track;  // 0 unknown
    uint32_t context_track; // the device if there is no context
    uint64_t device_number, number, flags;
    ts_track_type type;
    bool operations; // it has operations; else only calls
    bool fifo;       // it is a stream
    bool selected;
} ts__replay_lane;

// Flags of nodes.
enum {
    TS__NODE_WAITS = 1, // it has an end node of its own
    TS__NODE_SELECTED = 2,
    TS__NODE_CALL_ONLY = 4 // a call that launched no operation
};

// What a host call does besides launching, according to its name.
typedef enum ts__call_class {
    TS__CALL_PLAIN,
    TS__CALL_SYNCS_STREAM,
    TS__CALL_SYNCS_EVENT,
    TS__CALL_SYNCS_DEVICE,
    TS__CALL_QUERIES, // polls an event or a stream, until it is done
    TS__CALL_COPIES,
    TS__CALL_COPIES_ASYNC,
    TS__CALL_FREES,        // waits for the device before it frees
    TS__CALL_RECORDS,      // records an event that the trace does not name
    TS__CALL_WAITS,        // lets a stream wait for such an event
    TS__CALL_UNKNOWN = 255 // not classified yet
} ts__call_class;

struct ts_replay {
    ts_reader *reader;   // of the first file
    ts__rvec files;      // ts_replay_file
    ts__rvec parts;      // ts__trace_part, by file
    ts__rvec part_first; // uint32_t: first part of each file
    ts__rmap part_of;    // parts of process tracks, by file and track
    ts_allocator allocator;
    ts_deps deps;
    uint32_t queue_depth, connections;
    bool no_inference;
    bool clocks_only;
    // windowed: only what touches [load_from, load_to) is loaded, and its calls
    // from calls_from on
    bool windowed;
    int64_t load_from, load_to;
    int64_t calls_from;
    uint32_t op_count, call_count, join_first, node_count;
    // By ts_replay_fork: it owns only what is marked with an asterisk, which is
    // what its runs change.
    bool forked;
    ts__rvec ops;          // ts__op
    ts__rvec skips;        // *uint8_t: ts_skip of each operation
    ts__rvec places;       // uint32_t: row number of each operation in its file
    ts__rvec call_names;   // uint32_t: names in their file
    ts__rvec call_classes; // uint8_t: ts__call_class
    ts__rvec events;       // ts__event_op
    ts__rvec collectives;  // ts__coll_op, by operation
    ts__rvec rendezvous;   // ts__rendezvous
    ts__rvec members;      // uint32_t: operations of each rendezvous
    ts__rvec member_rendezvous; // ts__rendezvous_member
    ts__rvec joined; // uint32_t: rendezvous of join_first, join_first + 1 ...
    ts__rvec queued; // ts__queued, while the graph is built
    ts__rvec deps_named;   // ts__named_dep, while the graph is built
    ts__rvec call_numbers; // uint64_t: correlations of calls, if needed
    ts__rvec lanes;        // ts__replay_lane
    ts__rvec waiters;      // nodes with an end node of their own, ascending
    ts__rvec ends;         // uint32_t: end node of each operation and call
    // for each node: recorded time and duration, lane, flags
    ts__rvec time, duration, lane, flags;
    ts__rvec offsets, targets, kinds; // edges
    ts__rvec start, gap;              // *for each node, set by the run
    // *All nodes ran when they did in the record: `start` has a count, but no
    // times of its own.
    bool as_recorded;
    bool acyclic;            // no cycle among the edges, for certain
    ts__rvec changed;        // *durations that the run used, if not as recorded
    struct ts__model *model; // *built by the first run that needs one
    ts__rvec lane_results, device_results; // *ts_lane
    ts__rvec cycle;                        // *nodes of a cycle
    ts_replay_stats stats;
};

// Typed access to the vectors above.
static ts__op *ts__replay_op(const ts_replay *r, size_t i)
{
    return (ts__op *)r->ops.data + i;
}
static uint8_t *ts__replay_skips(const ts_replay *r)
{
    return (uint8_t *)r->skips.data;
}
static ts__replay_lane *ts__replay_lane_at(const ts_replay *r, size_t i)
{
    return (ts__replay_lane *)r->lanes.data + i;
}
static ts_replay_file *ts__replay_file(const ts_replay *r, uint32_t file)
{
    return (ts_replay_file *)r->files.data + file;
}
static ts__event_op *ts__replay_event(const ts_replay *r, size_t i)
{
    return (ts__event_op *)r->events.data + i;
}
static int64_t *ts__replay_time(const ts_replay *r)
{
    return (int64_t *)r->time.data;
}
// Returns when each node started in the last run, if there was one.
static const int64_t *ts__run_start(const ts_replay *r)
{
    return r->as_recorded ? ts__replay_time(r) : (const int64_t *)r->start.data;
}
static int64_t *ts__replay_duration(const ts_replay *r)
{
    return (int64_t *)r->duration.data;
}
static uint32_t *ts__replay_lanes(const ts_replay *r)
{
    return (uint32_t *)r->lane.data;
}
static uint8_t *ts__replay_flags(const ts_replay *r)
{
    return (uint8_t *)r->flags.data;
}
static uint32_t ts__replay_file_of(const ts_replay *r, uint32_t node)
{
    return ts__replay_lane_at(r, ts__replay_lanes(r)[node])->file;
}
static uint32_t ts__replay_part_of(const ts_replay *r, uint32_t node)
{
    return ts__replay_lane_at(r, ts__replay_lanes(r)[node])->part;
}
static ts__trace_part *ts__replay_part(const ts_replay *r, uint32_t part)
{
    return (ts__trace_part *)r->parts.data + part;
}
// Returns a map key for a number that is only unique within its file.
static uint64_t ts__replay_key(uint32_t file, uint32_t number)
{
    return (uint64_t)file << 32 | number;
}
static int64_t ts__replay_end(const ts_replay *r, uint32_t node)
{
    return ts__replay_time(r)[node] + ts__replay_duration(r)[node];
}

static bool ts__kind_syncs(uint8_t kind)
{
    return kind == TS_EVENT_STREAM_SYNC || kind == TS_EVENT_DEVICE_SYNC ||
           kind == TS_EVENT_EVENT_SYNC;
}
static bool ts__kind_has_event(uint8_t kind)
{
    return kind == TS_EVENT_EVENT_RECORD || kind == TS_EVENT_EVENT_WAIT ||
           kind == TS_EVENT_EVENT_SYNC;
}
// Returns whether operations of a kind are work: they keep a device busy.
static bool ts__kind_works(uint8_t kind)
{
    return kind == TS_EVENT_KERNEL || kind == TS_EVENT_MEMCPY ||
           kind == TS_EVENT_MEMSET || kind == TS_EVENT_COLLECTIVE;
}
// Returns whether the host does the operation itself, not a stream.
static bool ts__kind_of_host(uint8_t kind, bool fifo)
{
    if (ts__kind_syncs(kind)) return true;
    return !fifo && (kind == TS_EVENT_GPU_ALLOC || kind == TS_EVENT_GPU_FREE);
}
