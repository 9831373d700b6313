/* ---- Model: calibration ------------------------------------------------- */

typedef struct ts__calibration {
    ts_replay *replay;
    ts__model *model;
    // uint64_t of each call: identifies the graph that it launched.
    ts__rvec graphs;
    ts__rsort sort;
    bool failed;
} ts__calibration;

static bool ts__edge_is_host(uint8_t kind)
{
    const uint8_t k = TS_EDGE_KIND(kind);
    return k == TS_EDGE_HOST_ORDER || k == TS_EDGE_USER;
}

// Whether an edge leads to work that overlapped its predecessor on the stream.
// Such work keeps its offset from the start of the predecessor.
static bool ts__edge_overlaps(const ts_replay *r, uint32_t from, uint32_t to,
                              uint8_t kind)
{
    return kind & TS_EDGE_FROM_START &&
           TS_EDGE_KIND(kind) == TS_EDGE_STREAM_ORDER && to < r->op_count &&
           ts__kind_works(ts__replay_op(r, to)->kind) &&
           ts__kind_works(ts__replay_op(r, from)->kind);
}

typedef enum ts__edge_set {
    TS__EDGES_HOST,  // program order on the host
    TS__EDGES_OTHERS // all others except a node's edge to its own end
} ts__edge_set;

// Finds for each node the latest source among the edges of a set. It is where
// the residual will be.
static void ts__calibrate_latest(ts__calibration *c, ts__edge_set set)
{
    const ts_replay *const r = c->replay;
    int64_t *const latest = (int64_t *)c->model->residual.data;
    for (uint32_t i = 0; i < r->node_count; i++)
        latest[i] = TS__NO_TIME;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const uint32_t end = ts__replay_offsets(r)[i + 1];
        for (uint32_t e = ts__replay_offsets(r)[i]; e < end; e++) {
            const uint8_t kind = ts__replay_kind(r, e);
            if (set == TS__EDGES_HOST ? !ts__edge_is_host(kind)
                                      : TS_EDGE_KIND(kind) == TS_EDGE_SELF)
                continue;
            const int64_t at = ts__rrun_source(r, i, kind);
            int64_t *const to = &latest[ts__replay_target(r, e)];
            if (at > *to) *to = at;
        }
    }
}

/*
    Whether an edge has a fixed delay rather than the delay of a class. Fixed
    delays are: time of the host (after the later of two calls; the edge from
    the earlier one only orders), the offset of an overlap, and the duration of
    calls that nothing blocked.
*/
static bool ts__calibrate_is_fixed(const ts__calibration *c, uint32_t from,
                                   uint32_t to, uint8_t kind, ts__edge_set set,
                                   ts__fixed *delay)
{
    const ts_replay *const r = c->replay;
    const int64_t at = ts__rrun_source(r, from, kind);
    const int64_t latest = ((const int64_t *)c->model->residual.data)[to];
    *delay = TS__FIXED_NONE;
    if (ts__edge_is_host(kind)) {
        if (set == TS__EDGES_HOST && at == latest) *delay = TS__FIXED_RECORDED;
        return true;
    }
    if (to >= r->join_first) return true;
    if (TS_EDGE_KIND(kind) == TS_EDGE_QUEUE &&
        ts__node_role(r, to) != TS__AT_CALL_END)
        return true; // the queue had room: the edge only orders
    if (TS_EDGE_KIND(kind) == TS_EDGE_SELF) {
        const bool blocked = latest > at;
        if (!blocked) *delay = TS__FIXED_RECORDED;
        return !blocked;
    }
    if (kind & TS_EDGE_FROM_START &&
        TS_EDGE_KIND(kind) == TS_EDGE_STREAM_ORDER) {
        if (ts__edge_overlaps(r, from, to, kind)) *delay = TS__FIXED_RECORDED;
        return true;
    }
    return false;
}

/*
    Identifies graphs by a sum over the nodes of a launch, since launches of one
    graph have the same nodes whatever the order in which these ran. Gaps
    between nodes are specific to a graph: a single mean over several graphs
    would give the right sum, but wrong times for as long as one graph is
    launched repeatedly.
*/
static void ts__calibrate_graphs(ts__calibration *c)
{
    const ts_replay *const r = c->replay;
    uint64_t *const graphs = (uint64_t *)c->graphs.data;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        const uint32_t node[2] = { op->kind, op->label };
        if (op->call != TS_NODE_NONE && ts__kind_works(op->kind))
            graphs[op->call - r->op_count] += XXH3_64bits(node, sizeof node);
    }
}

static uint32_t ts__calibrate_graph_of(const ts__calibration *c, uint32_t node)
{
    const ts_replay *const r = c->replay;
    if (node >= r->op_count) return 0;
    const uint32_t call = ts__replay_op(r, node)->call;
    if (call == TS_NODE_NONE) return 0;
    const uint64_t graph = ((uint64_t *)c->graphs.data)[call - r->op_count];
    return (uint32_t)(graph ^ graph >> 32);
}

static void ts__calibrate_edge(ts__calibration *c, uint32_t from, uint32_t e,
                               ts__edge_set set)
{
    const ts_replay *const r = c->replay;
    const uint8_t kind = ts__replay_kind(r, e);
    const uint32_t to = ts__replay_target(r, e);
    if (ts__edge_is_host(kind) != (set == TS__EDGES_HOST)) return;
    ts__fixed fixed;
    uint32_t class_of = TS__CLASS_NONE;
    if (!ts__calibrate_is_fixed(c, from, to, kind, set, &fixed)) {
        ts__class_key key = ts__class_of_edge(r, from, to, kind);
        if (key.kind == TS_EDGE_GRAPH) key.part = ts__calibrate_graph_of(c, to);
        class_of = ts__class_find(c->replay, c->model, &key);
        if (class_of == TS_NODE_NONE) {
            c->failed = true;
            return;
        }
    }
    ts__model_edge_set(c->model, e, class_of, fixed);
}

// Gives every edge its class or its fixed delay.
static void ts__calibrate_edges(ts__calibration *c)
{
    const ts_replay *const r = c->replay;
    for (int set = TS__EDGES_HOST; set <= TS__EDGES_OTHERS; set++) {
        ts__calibrate_latest(c, (ts__edge_set)set);
        for (uint32_t i = 0; i < r->node_count && !c->failed; i++)
            for (uint32_t e = ts__replay_offsets(r)[i];
                 e < ts__replay_offsets(r)[i + 1]; e++)
                ts__calibrate_edge(c, i, e, (ts__edge_set)set);
    }
}

// Returns the recorded delay of an edge beyond its fixed part.
static int64_t ts__calibrate_sample(const ts__calibration *c, uint32_t from,
                                    uint32_t e)
{
    const ts_replay *const r = c->replay;
    return ts__replay_time(r)[ts__replay_target(r, e)] -
           ts__rrun_source(r, from, ts__replay_kind(r, e)) -
           ts__model_fixed(r, c->model, from, e);
}

// Finds the edge that holds each node back, with the guards of the classes as
// delays. On a tie the launch edge is chosen, since the delay of the stream
// cannot be measured then.
static void ts__calibrate_holds(ts__calibration *c)
{
    const ts_replay *const r = c->replay;
    ts__hold *const holds = ts__model_holds(c->model);
    for (uint32_t i = 0; i < r->node_count; i++) {
        holds[i].at = TS__NO_TIME;
        holds[i].edge = TS_NODE_NONE;
    }
    for (uint32_t i = 0; i < r->node_count; i++) {
        const uint32_t end = ts__replay_offsets(r)[i + 1];
        for (uint32_t e = ts__replay_offsets(r)[i]; e < end; e++) {
            const uint8_t kind = ts__replay_kind(r, e);
            const uint32_t class_of = ts__model_edge_class(c->model, e);
            int64_t at = ts__rrun_source(r, i, kind) +
                         ts__model_fixed(r, c->model, i, e);
            if (class_of != TS_NODE_NONE)
                at += ts__model_class(c->model, class_of)->guard;
            ts__hold *const hold = &holds[ts__replay_target(r, e)];
            if (at < hold->at || (at == hold->at && hold->at != TS__NO_TIME &&
                                  TS_EDGE_KIND(kind) != TS_EDGE_LAUNCH))
                continue;
            hold->at = at;
            hold->edge = e;
            hold->class_of = class_of;
        }
    }
}

typedef void (*ts__sample_call)(ts__calibration *c, uint32_t class_of,
                                int64_t sample);

typedef enum ts__sampled {
    TS__SAMPLE_ALL,
    TS__SAMPLE_LAUNCHES,
    TS__SAMPLE_OTHERS
} ts__sampled;

static bool ts__sample_is(ts__sampled which, uint32_t kind)
{
    return which == TS__SAMPLE_ALL ||
           (kind == TS_EDGE_LAUNCH) == (which == TS__SAMPLE_LAUNCHES);
}

// Calls `call` for the holding edge of each node, once for its class and once
// for each coarser class.
static void ts__calibrate_each(ts__calibration *c, ts__sampled which,
                               ts__sample_call call)
{
    const ts_replay *const r = c->replay;
    const int64_t *const time = ts__replay_time(r);
    for (uint32_t i = 0; i < r->node_count; i++) {
        const ts__hold *const hold = &ts__model_holds(c->model)[i];
        if (hold->edge == TS_NODE_NONE || hold->class_of == TS_NODE_NONE)
            continue;
        uint32_t k = hold->class_of;
        const ts__class *const class_of = ts__model_class(c->model, k);
        if (!ts__sample_is(which, class_of->pub.kind)) continue;
        const int64_t sample = time[i] - (hold->at - class_of->guard);
        if (sample > TS__CLASS_MOST_NS || sample < -TS__CLASS_MOST_NS) continue;
        for (; k != TS_NODE_NONE; k = ts__model_class(c->model, k)->parent)
            call(c, k, sample);
    }
}

static void ts__sample_count(ts__calibration *c, uint32_t class_of,
                             int64_t sample)
{
    (void)sample;
    ts__model_class(c->model, class_of)->pub.samples++;
}

// Adds every n-th sample of a class to the sorter; the class is the high part
// of the key.
static void ts__sample_pick(ts__calibration *c, uint32_t class_of,
                            int64_t sample)
{
    ts__class *const k = ts__model_class(c->model, class_of);
    const uint64_t stride = k->pub.samples / TS__CLASS_SORTED + 1;
    if (k->seen++ % stride) return;
    const int64_t edge = (INT64_C(1) << 39) - 1;
    if (sample > edge) sample = edge;
    if (sample < -edge) sample = -edge;
    ts__rvec *const keys = &c->sort.keys[0];
    uint64_t *const to =
        (uint64_t *)ts__rvec_push(&c->replay->allocator, keys, sizeof *to);
    if (!to)
        c->failed = true;
    else
        *to = (uint64_t)class_of << 40 | (uint64_t)(sample + edge + 1);
}

static void ts__sample_sum(ts__calibration *c, uint32_t class_of,
                           int64_t sample)
{
    ts__class *const k = ts__model_class(c->model, class_of);
    if (sample < k->pub.low_ns || sample > k->pub.high_ns) return;
    k->sum = ts__replay_add(k->sum, sample);
    k->kept++;
}
