/* ---- Graph: launches of graphs ------------------------------------------ */

/*
    Operations that share a call are the nodes of one graph launch. Their
    streams mean little: nodes of one stream may overlap. A node depends on all
    nodes that ended before it began and on which no other node depends yet; if
    there is none, on the node that ended last. Across streams such an edge is
    inferred. Nodes without a dependency are roots: they come after the call,
    after earlier operations of the launch stream, and after the graph_launch
    operation, if there is one. That operation also identifies the launch
    stream. The next operation on the launch stream waits for all nodes.
*/
typedef struct ts__launched {
    uint32_t first, count; // in the list of nodes
    uint32_t launch;       // the graph_launch operation, or TS_NODE_NONE
    uint32_t lane;         // the launch stream
    uint32_t sinks, sink_count;
    ts__chain before; // earlier operations on that stream
    bool begun, left;
} ts__launched;

typedef struct ts__graphs {
    ts__rvec launched;       // ts__launched
    ts__rvec nodes;          // uint32_t, by launch, in total order
    ts__rvec sinks;          // uint32_t, by launch: nobody depends on them
    ts__rvec graph_of, root; // for each operation: uint32_t, bool
    ts__rvec open;           // a heap of ts__graph_end
} ts__graphs;

typedef struct ts__graph_end {
    int64_t end;
    uint32_t op;
} ts__graph_end;

static bool ts__graph_node_kind(uint8_t kind)
{
    return !ts__kind_syncs(kind) && kind != TS_EVENT_GRAPH_LAUNCH;
}

// Numbers the calls that launched graphs: of[call]; TS_NODE_NONE for others.
static bool ts__graphs_number(ts__builder *b, ts__graphs *g, uint32_t *of)
{
    const ts_replay *const r = b->replay;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        if (op->call == TS_NODE_NONE) continue;
        if (op->kind == TS_EVENT_GRAPH_LAUNCH)
            of[op->call - r->op_count] += 2; // a graph may have one node
        else if (ts__graph_node_kind(op->kind))
            of[op->call - r->op_count]++;
    }
    uint32_t sum = 0;
    for (uint32_t i = 0; i < r->call_count; i++) {
        const uint32_t count = of[i];
        of[i] = TS_NODE_NONE;
        if (count < 2) continue;
        ts__launched *const one = (ts__launched *)ts__rvec_push(
            b->allocator, &g->launched, sizeof *one);
        if (!one) return false;
        memset(one, 0, sizeof *one);
        of[i] = (uint32_t)g->launched.count - 1;
        one->first = sum;
        one->launch = one->lane = TS_NODE_NONE;
        one->before.last = one->before.longest = TS_NODE_NONE;
        sum += count;
    }
    return ts__rvec_reserve(b->allocator, &g->nodes, sizeof(uint32_t), sum) &&
           ts__rvec_reserve(b->allocator, &g->sinks, sizeof(uint32_t), sum);
}

static bool ts__graphs_list(ts__builder *b, ts__graphs *g, const uint32_t *of)
{
    const ts_replay *const r = b->replay;
    if (!ts__rvec_fill(b->allocator, &g->graph_of, sizeof(uint32_t),
                       r->op_count, 0xFF) ||
        !ts__rvec_fill(b->allocator, &g->root, sizeof(bool), r->op_count, 0))
        return false;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        const uint32_t graph = op->call == TS_NODE_NONE
                                   ? TS_NODE_NONE
                                   : of[op->call - r->op_count];
        if (graph == TS_NODE_NONE) continue;
        ts__launched *const one = (ts__launched *)g->launched.data + graph;
        if (op->kind == TS_EVENT_GRAPH_LAUNCH) {
            if (one->launch == TS_NODE_NONE) one->launch = i;
        } else if (ts__graph_node_kind(op->kind)) {
            ((uint32_t *)g->graph_of.data)[i] = graph;
            ((uint32_t *)g->nodes.data)[one->first + one->count++] = i;
        }
    }
    return true;
}

static bool ts__graph_end_before(const ts__graph_end *a, const ts__graph_end *b)
{
    return a->end != b->end ? a->end < b->end : a->op < b->op;
}

static bool ts__graph_open(ts__builder *b, ts__rvec *heap, ts__graph_end item)
{
    if (!ts__rvec_push(b->allocator, heap, sizeof item)) return false;
    ts__graph_end *const items = (ts__graph_end *)heap->data;
    size_t at = heap->count - 1;
    for (; at && ts__graph_end_before(&item, &items[(at - 1) / 2]);
         at = (at - 1) / 2)
        items[at] = items[(at - 1) / 2];
    items[at] = item;
    return true;
}

static uint32_t ts__graph_close(ts__rvec *heap)
{
    ts__graph_end *const items = (ts__graph_end *)heap->data;
    const uint32_t op = items[0].op;
    const ts__graph_end item = items[--heap->count];
    size_t at = 0;
    for (size_t next; (next = at * 2 + 1) < heap->count; at = next) {
        if (next + 1 < heap->count &&
            ts__graph_end_before(&items[next + 1], &items[next]))
            next++;
        if (!ts__graph_end_before(&items[next], &item)) break;
        items[at] = items[next];
    }
    items[at] = item;
    return op;
}

// Adds an edge between nodes of a launch. Operations that only order others may
// share the call of one of them: an event record that serves to wait for one
// kernel does not make the two a graph.
static void ts__graph_edge(ts__builder *b, uint32_t from, uint32_t to)
{
    const uint32_t *const lanes = ts__replay_lanes(b->replay);
    const uint32_t guess = lanes[from] == lanes[to] ? 0 : TS_EDGE_INFERRED;
    const bool order =
        !guess && ts__replay_op(b->replay, to)->kind == TS_EVENT_EVENT_RECORD;
    ts__builder_edge(b, from, to,
                     (order ? TS_EDGE_STREAM_ORDER : TS_EDGE_GRAPH) | guess);
}

// Adds the edges within one launch.
static void ts__graph_inside(ts__builder *b, ts__graphs *g, ts__launched *one)
{
    const ts_replay *const r = b->replay;
    const uint32_t *const nodes = (const uint32_t *)g->nodes.data + one->first;
    uint32_t latest = TS_NODE_NONE; // of those that another node depends on
    g->open.count = 0;
    for (uint32_t i = 0; i < one->count && !b->failed; i++) {
        const int64_t start = ts__replay_time(r)[nodes[i]];
        bool any = false;
        while (g->open.count &&
               ((const ts__graph_end *)g->open.data)->end <= start) {
            latest = ts__graph_close(&g->open);
            ts__graph_edge(b, latest, nodes[i]);
            any = true;
        }
        if (!any && latest != TS_NODE_NONE) ts__graph_edge(b, latest, nodes[i]);
        ((bool *)g->root.data)[nodes[i]] = latest == TS_NODE_NONE;
        const ts__graph_end end = { ts__replay_end(r, nodes[i]), nodes[i] };
        if (!ts__graph_open(b, &g->open, end)) b->failed = true;
    }
    one->sinks = (uint32_t)g->sinks.count;
    while (g->open.count && !b->failed)
        ((uint32_t *)g->sinks.data)[g->sinks.count++] =
            ts__graph_close(&g->open);
    one->sink_count = (uint32_t)g->sinks.count - one->sinks;
    const uint32_t at = one->launch != TS_NODE_NONE ? one->launch : nodes[0];
    one->lane = ts__replay_lanes(r)[at];
}

// Finds the launches and adds the edges among their nodes.
static void ts__graphs_find(ts__builder *b, ts__graphs *g)
{
    const ts_replay *const r = b->replay;
    ts__rvec of = { 0 };
    if (!ts__rvec_fill(b->allocator, &of, sizeof(uint32_t), r->call_count, 0) ||
        !ts__graphs_number(b, g, (uint32_t *)of.data) ||
        (g->launched.count &&
         !ts__graphs_list(b, g, (const uint32_t *)of.data)))
        b->failed = true;
    for (size_t i = 0; i < g->launched.count && !b->failed; i++) {
        ts__launched *const one = (ts__launched *)g->launched.data + i;
        if (one->count) ts__graph_inside(b, g, one);
    }
    ts__rvec_close(b->allocator, &of);
}

static void ts__graphs_close(ts__builder *b, ts__graphs *g)
{
    ts__rvec_close(b->allocator, &g->launched);
    ts__rvec_close(b->allocator, &g->nodes);
    ts__rvec_close(b->allocator, &g->sinks);
    ts__rvec_close(b->allocator, &g->graph_of);
    ts__rvec_close(b->allocator, &g->root);
    ts__rvec_close(b->allocator, &g->open);
}

static uint32_t ts__graph_of(const ts__graphs *g, uint32_t op)
{
    return g->graph_of.count ? ((const uint32_t *)g->graph_of.data)[op]
                             : TS_NODE_NONE;
}

static bool ts__graph_is_inner(const ts__graphs *g, uint32_t op)
{
    return ts__graph_of(g, op) != TS_NODE_NONE &&
           !((const bool *)g->root.data)[op];
}

// Updates a stream for a node of a launch on it.
static void ts__graph_place(ts__builder *b, ts__graphs *g, uint32_t op,
                            uint32_t lane)
{
    const uint32_t graph = ts__graph_of(g, op);
    const bool root = !ts__graph_is_inner(g, op);
    ts__launched *const one = (ts__launched *)g->launched.data + graph;
    ts__lane_state *const state = ts__builder_lane(b, lane);
    if (!one->begun) one->before = ts__builder_lane(b, one->lane)->order;
    one->begun = true;
    if (state->graph != graph) { // the first node on this stream
        state->graph = graph;
        state->before = state->order;
        ts__builder_after(b, &state->before, op, TS_EDGE_STREAM_ORDER);
    } else if (root) {
        ts__builder_after(b, &state->before, op, TS_EDGE_STREAM_ORDER);
    }
    if (root && one->launch != TS_NODE_NONE && one->launch < op)
        ts__builder_edge(b, one->launch, op,
                         TS_EDGE_GRAPH | TS_EDGE_FROM_START);
    else if (root && lane != one->lane)
        ts__builder_after(b, &one->before, op, TS_EDGE_GRAPH);
    ts__builder_extend(b, &state->order, op);
}

// Adds the edges of the first operation on a stream after nodes of a launch.
static void ts__graph_leave(ts__builder *b, ts__graphs *g, uint32_t op,
                            uint32_t lane)
{
    const ts_replay *const r = b->replay;
    ts__lane_state *const state = ts__builder_lane(b, lane);
    ts__launched *const one = (ts__launched *)g->launched.data + state->graph;
    state->graph = TS_NODE_NONE;
    if (lane != one->lane || one->left) return;
    one->left = true;
    for (uint32_t i = 0; i < one->sink_count; i++) {
        const uint32_t sink = ((const uint32_t *)g->sinks.data)[one->sinks + i];
        if (sink != state->order.last && sink != state->order.longest &&
            ts__replay_end(r, sink) <= ts__replay_time(r)[op])
            ts__builder_edge(b, sink, op, TS_EDGE_GRAPH);
    }
}

static bool ts__kind_computes(uint8_t kind)
{
    return kind == TS_EVENT_KERNEL || kind == TS_EVENT_COLLECTIVE;
}

static void ts__builder_streams(ts__builder *b, ts__graphs *g)
{
    ts_replay *const r = b->replay;
    for (uint32_t i = 0; i < r->op_count && !b->failed; i++) {
        const uint32_t lane = ts__replay_lanes(r)[i];
        const uint8_t kind = ts__replay_op(r, i)->kind;
        if (!ts__replay_lane_at(r, lane)->fifo || ts__kind_syncs(kind))
            continue;
        if (ts__graph_of(g, i) != TS_NODE_NONE) {
            ts__graph_place(b, g, i, lane);
            continue;
        }
        ts__lane_state *const state = ts__builder_lane(b, lane);
        // Operations of one call are in order on any stream.
        if (ts__replay_lane_at(r, lane)->flags & TS_STREAM_OUT_OF_ORDER) {
            const uint32_t before = state->order.last;
            if (before != TS_NODE_NONE &&
                ts__replay_op(r, i)->call != TS_NODE_NONE &&
                ts__replay_op(r, before)->call == ts__replay_op(r, i)->call)
                ts__builder_wait(b, before, i, TS_EDGE_STREAM_ORDER);
            ts__builder_extend(b, &state->order, i);
            continue;
        }
        if (state->graph != TS_NODE_NONE) ts__graph_leave(b, g, i, lane);
        const uint32_t last = state->order.last;
        if (last != TS_NODE_NONE && ts__kind_computes(kind) &&
            ts__kind_computes(ts__replay_op(r, last)->kind) &&
            ts__replay_end(r, last) > ts__replay_time(r)[i])
            r->stats.overlaps++;
        ts__builder_after(b, &state->order, i, TS_EDGE_STREAM_ORDER);
        ts__builder_extend(b, &state->order, i);
    }
}

static void ts__builder_launches(ts__builder *b, const ts__graphs *g)
{
    const ts_replay *const r = b->replay;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const uint32_t call = ts__replay_op(r, i)->call;
        if (call == TS_NODE_NONE) continue;
        if (!ts__graph_is_inner(g, i))
            ts__builder_edge(b, call, i, TS_EDGE_LAUNCH | TS_EDGE_FROM_START);
        if (ts__call_outlasts(r, i))
            ts__builder_edge(b, i, ts__replay_end_node(r, call), TS_EDGE_SYNC);
    }
    for (size_t i = 0; i < r->waiters.count; i++) {
        const uint32_t waiter = ((const uint32_t *)r->waiters.data)[i];
        ts__builder_edge(b, waiter, ts__replay_end_node(r, waiter),
                         TS_EDGE_SELF | TS_EDGE_FROM_START);
    }
    for (size_t i = 0; i < r->queued.count; i++) {
        const ts__queued *const q = (const ts__queued *)r->queued.data + i;
        ts__builder_edge(b, q->from,
                         q->end ? ts__replay_end_node(r, q->call) : q->call,
                         TS_EDGE_QUEUE | TS_EDGE_FROM_START);
    }
}
