/* ---- Graph: edges under construction ------------------------------------ */

// An edge between two nodes.
typedef struct ts__edge {
    uint32_t from, to;
    uint8_t kind;
} ts__edge;

// Flag of a kind of edge: the record states it by correlation, so that it is
// never left out.
enum { TS__EDGE_NAMED = 32 };

// Of a sequence of nodes: the last one, and the one with the latest end.
typedef struct ts__chain {
    uint32_t last, longest;
} ts__chain;

// The streams that a join covers: all of a device, all of a context, or the
// blocking ones of a context.
typedef enum ts__join_scope {
    TS__SCOPE_DEVICE,
    TS__SCOPE_CONTEXT,
    TS__SCOPE_BLOCKING
} ts__join_scope;

// The state of a stream or thread while edges are added in the order of issue.
typedef struct ts__lane_state {
    ts__chain host, order, issued;
    uint32_t step;     // out-of-order stream: its last ts__step
    uint32_t group[3]; // by ts__join_scope
    uint32_t next[3];  // by ts__join_scope: next dirty lane; TS_NODE_NONE: none
    bool dirty[3];     // by ts__join_scope: it has work since the last join
    uint32_t epoch;    // of the legacy operation it last waited for
    uint32_t graph;    // launch whose nodes came last, or TS_NODE_NONE
    ts__chain before;  // what it had before these nodes
    bool free;         // non-blocking: ignores the legacy default stream
    uint32_t used;     // thread: lane that it last issued to
    uint32_t recent;   // thread: its last operation there
    uint32_t noted[2]; // see ts__unnamed_note
    bool records;      // `noted` was set when the thread recorded an event
    bool waits_for_noted; // the next operation may wait for what is `noted`
} ts__lane_state;

// The state of a device or a context.
typedef struct ts__group {
    uint32_t join[3];  // by ts__join_scope: node at whose end all work was done
    uint32_t dirty[3]; // by ts__join_scope: first lane with work since then
    uint32_t legacy;   // last operation on its legacy default stream
    uint32_t epoch;    // number of such operations so far
    uint32_t worked[2]; // the last work, and the last on another stream
    int64_t latest;     // latest end of any work so far
    bool has_legacy;
} ts__group;

// A call that waits for something unknown, and its thread's last operation.
typedef struct ts__event_query {
    uint32_t call, recent;
} ts__event_query;

// An operation issued to an out-of-order stream: `join` stands for it and all
// before it; `before` is the previous step of the stream.
typedef struct ts__step {
    uint32_t join, op, before;
} ts__step;

// What is needed to build the edges.
typedef struct ts__builder {
    ts_replay *replay;
    const ts_allocator *allocator;
    ts__rvec edges, lanes, groups;
    ts__rmap group_of; // by part and track
    ts__rvec event_of; // ts__rmap of each file: event to its latest record
    ts__rvec named;    // uint32_t: records by correlation
    ts__rvec only;     // uint32_t of each part: a lane of its only device
    ts__rvec unnamed_records; // bool of each part: its records have no names
    ts__rvec event_queries; // ts__event_query: calls that wait for the unknown
    ts__rvec steps;         // ts__step
    ts__rvec hardware;      // uint32_t: last operation of each hardware queue
    ts__rsort sort;
    bool failed; // out of memory
} ts__builder;

static ts__lane_state *ts__builder_lane(const ts__builder *b, uint32_t lane)
{
    return (ts__lane_state *)b->lanes.data + lane;
}
static ts__group *ts__builder_group(const ts__builder *b, uint32_t group)
{
    return (ts__group *)b->groups.data + group;
}

static void ts__builder_edge(ts__builder *b, uint32_t from, uint32_t to,
                             uint32_t kind)
{
    ts__edge *const edge =
        (ts__edge *)ts__rvec_push(b->allocator, &b->edges, sizeof *edge);
    if (!edge) {
        b->failed = true;
        return;
    }
    edge->from =
        kind & TS_EDGE_FROM_START ? from : ts__replay_end_node(b->replay, from);
    edge->to = to;
    edge->kind = (uint8_t)kind;
}

// Adds edges from a chain to a node that starts no earlier than its last node.
static void ts__builder_after(ts__builder *b, const ts__chain *chain,
                              uint32_t node, ts_edge_kind kind)
{
    const ts_replay *const r = b->replay;
    const int64_t time = ts__replay_time(r)[node];
    if (chain->last == TS_NODE_NONE) return;
    const bool ended = ts__replay_end(r, chain->last) <= time;
    ts__builder_edge(b, chain->last, node,
                     (uint32_t)kind | (ended ? 0 : TS_EDGE_FROM_START));
    if (chain->longest != chain->last &&
        ts__replay_end(r, chain->longest) <= time)
        ts__builder_edge(b, chain->longest, node, kind);
}

static void ts__builder_extend(ts__builder *b, ts__chain *chain, uint32_t node)
{
    const ts_replay *const r = b->replay;
    chain->last = node;
    if (chain->longest == TS_NODE_NONE ||
        ts__replay_end(r, node) >= ts__replay_end(r, chain->longest))
        chain->longest = node;
}

// Returns the lane of the thread that performs an operation itself.
static uint32_t ts__builder_host_lane(const ts__builder *b, const ts__rmap *map,
                                      uint32_t node)
{
    const ts_replay *const r = b->replay;
    if (node >= r->op_count) return ts__replay_lanes(r)[node];
    const ts__op *const op = ts__replay_op(r, node);
    const bool fifo = ts__replay_lane_at(r, ts__replay_lanes(r)[node])->fifo;
    if (!op->thread || op->call != TS_NODE_NONE ||
        !ts__kind_of_host(op->kind, fifo))
        return TS_NODE_NONE;
    const uint32_t file = ts__replay_file_of(r, node);
    return ts__rmap_get(map, ts__replay_key(file, op->thread));
}

// Adds the order of each thread: its calls and operations of its own, merged in
// order of start.
static void ts__builder_hosts(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    ts__rmap map = { { 0 }, 0 };
    for (uint32_t i = 0; i < r->lanes.count; i++)
        if (!ts__rmap_put(b->allocator, &map,
                          ts__replay_key(ts__replay_lane_at(r, i)->file,
                                         ts__replay_lane_at(r, i)->track),
                          i))
            b->failed = true;
    const int64_t *const time = ts__replay_time(r);
    const uint32_t calls_end = r->op_count + r->call_count;
    uint32_t call = r->op_count, op = 0;
    while (!b->failed && (call < calls_end || op < r->op_count)) {
        const bool take_call =
            op == r->op_count || (call < calls_end && time[call] <= time[op]);
        const uint32_t node = take_call ? call++ : op++;
        const uint32_t lane = ts__builder_host_lane(b, &map, node);
        if (lane == TS_NODE_NONE) continue;
        ts__chain *const host = &ts__builder_lane(b, lane)->host;
        ts__builder_after(b, host, node, TS_EDGE_HOST_ORDER);
        ts__builder_extend(b, host, node);
    }
    ts__rvec_close(b->allocator, &map.entries);
}

// Adds an edge, unless the record shows that `to` (a helper, or the start of an
// operation) came before the end of `from`. Returns whether it did.
static bool ts__builder_wait(ts__builder *b, uint32_t from, uint32_t to,
                             ts_edge_kind kind)
{
    if (from == TS_NODE_NONE) return false;
    if (ts__replay_end(b->replay, from) > ts__replay_time(b->replay)[to]) {
        b->replay->stats.contradicted++;
        return false;
    }
    ts__builder_edge(b, from, to, kind);
    return true;
}

// Adds an edge from the last and one from the longest of a chain.
static void ts__builder_wait_chain(ts__builder *b, const ts__chain *chain,
                                   uint32_t to, ts_edge_kind kind)
{
    ts__builder_wait(b, chain->last, to, kind);
    if (chain->longest != chain->last)
        ts__builder_wait(b, chain->longest, to, kind);
}
