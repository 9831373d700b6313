/* ---- Graph: state ------------------------------------------------------- */

// What a replay keeps of an operation besides its node.
typedef struct ts__op {
    int64_t issue; // place in the order of the host, or TS__NO_TIME
    uint64_t correlation;
    uint32_t thread; // track
    uint32_t label;  // launch, name or copy type; of event kinds: ts__event_op
    uint32_t call;   // node
    uint8_t kind, skip;
    uint8_t memory; // of a copy: kinds of source and destination
} ts__op;

// What event records, waits and syncs have besides.
typedef struct ts__event_op {
    uint32_t op;
    uint32_t after; // a record: work before it that outlasts it in the record
    uint64_t id, record;
} ts__event_op;

// What collectives have besides.
typedef struct ts__coll_op {
    uint32_t op, launch; // launch: of the kernel that does it; 0 not known
    uint64_t communicator;
} ts__coll_op;

/*
    Operations that wait for each other: a collective, or a send and its
    receive. Those of more than one member have a join, whose start is the
    latest of the members' starts and whose duration is what the transfer
    takes once all are there: the shortest of the recorded durations, that of
    the operation `cost`. The ends of the members depend on its end.
*/
typedef struct ts__rendezvous {
    uint32_t first, count; // of ts_replay.members
    uint32_t expected;     // ranks that take part; 0 unknown
    uint32_t join, cost;   // nodes; TS_NODE_NONE: of one member alone
    uint8_t kind;          // TS_EDGE_COLLECTIVE or TS_EDGE_P2P
    bool guessed;          // no communicator and no peers are known
} ts__rendezvous;

typedef struct ts__met { // in order of op
    uint32_t op, rendezvous;
} ts__met;

/*
    A process, or several that one trace holds: what shares correlations,
    events and a rank. A trace is one part, unless it was made of several
    (metadata `merge.part`); then it is as many as if they were read apart.
*/
typedef struct ts__origin {
    uint32_t file, local; // its number among those of the file
    uint32_t process;     // the first process track of it; 0: the session
} ts__origin;

typedef struct ts__replay_lane {
    uint32_t file, track;
    uint32_t part;          // the file's first until all are loaded
    uint32_t device;        // index of ts_replay.devices
    uint32_t device_track;  // 0 unknown
    uint32_t context_track; // the device's if there is none
    uint64_t device_number, number, flags;
    ts_track_type type;
    bool operations; // some lie here; else it is a thread that calls
    bool fifo;       // a stream
    bool selected;
} ts__replay_lane;

enum {
    TS__NODE_WAITS = 1,
    TS__NODE_SELECTED = 2,
    TS__NODE_ALONE = 4 // a call that launched no operation
};

// What a host call does besides launching, by its name.
typedef enum ts__call_class {
    TS__CALL_PLAIN,
    TS__CALL_SYNCS_STREAM,
    TS__CALL_SYNCS_EVENT,
    TS__CALL_SYNCS_DEVICE,
    TS__CALL_QUERIES, // polls an event or a stream, until it is done
    TS__CALL_COPIES,
    TS__CALL_COPIES_ASYNC,
    TS__CALL_FREES,        // waits for the device before it frees
    TS__CALL_RECORDS,      // an event, of which the source says no more
    TS__CALL_WAITS,        // makes a stream wait for one, likewise
    TS__CALL_UNKNOWN = 255 // not asked yet
} ts__call_class;

struct ts_replay {
    ts_reader *reader;   // of the first file
    ts__rvec files;      // ts_replay_file
    ts__rvec parts;      // ts__origin, by file
    ts__rvec part_first; // uint32_t: that of each file
    ts__rmap part_of;    // those of process tracks, by file and track
    ts_allocator allocator;
    ts_deps deps;
    uint32_t queue_depth, connections;
    bool no_inference;
    bool clocks_only;
    bool windowed;              // only what touches [load_from, load_to) is
    int64_t load_from, load_to; // loaded, and its calls no earlier than
    int64_t calls_from;         // this
    uint32_t op_count, call_count, join_first, node_count;
    ts__rvec ops;          // ts__op
    ts__rvec places;       // uint32_t, of each operation in its file
    ts__rvec call_names;   // uint32_t, of their file
    ts__rvec call_classes; // uint8_t: ts__call_class
    ts__rvec events;       // ts__event_op
    ts__rvec collectives;  // ts__coll_op, by operation
    ts__rvec rendezvous;   // ts__rendezvous
    ts__rvec members;      // uint32_t: operations, by rendezvous
    ts__rvec met;          // ts__met
    ts__rvec joined;     // uint32_t: rendezvous, of join_first and those after
    ts__rvec queued;     // ts__queued, while the graph is built
    ts__rvec deps_named; // ts__named_dep, while the graph is built
    ts__rvec call_numbers; // uint64_t: correlations of calls, if any names one
    ts__rvec lanes;        // ts__replay_lane
    ts__rvec waiters;      // nodes that have an end of their own, ascending
    ts__rvec ends;         // uint32_t: where each operation and call ends
    // Of each node: recorded time and duration, lane, flags.
    ts__rvec time, duration, lane, flags;
    ts__rvec offsets, targets, kinds; // edges
    ts__rvec start, gap;              // of each node, by the run
    ts__rvec changed;        // durations of nodes that the run used, if others
    struct ts__model *model; // by the first run that needs one
    ts__rvec lane_results, device_results; // ts_lane
    ts__rvec cycle;                        // nodes
    ts_replay_stats stats;
};

// Typed looks into the vectors above.
static ts__op *ts__replay_op(const ts_replay *r, size_t i)
{
    return (ts__op *)r->ops.data + i;
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
static ts__origin *ts__replay_part(const ts_replay *r, uint32_t part)
{
    return (ts__origin *)r->parts.data + part;
}
// A file and a number that means something in it alone.
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
// Keeps a device busy.
static bool ts__kind_works(uint8_t kind)
{
    return kind == TS_EVENT_KERNEL || kind == TS_EVENT_MEMCPY ||
           kind == TS_EVENT_MEMSET || kind == TS_EVENT_COLLECTIVE;
}
// The host does it itself: no stream runs it.
static bool ts__kind_of_host(uint8_t kind, bool fifo)
{
    if (ts__kind_syncs(kind)) return true;
    return !fifo && (kind == TS_EVENT_GPU_ALLOC || kind == TS_EVENT_GPU_FREE);
}
