/* ---- Races: order of host accesses --------------------------------------- */

// One step of a thread: a node of the graph or an additional one.
typedef struct ts__host_step {
    uint32_t lane, node;
    int64_t time;
} ts__host_step;

static int64_t ts__races_time(const ts_races *x, uint32_t node)
{
    const uint32_t count = x->replay->node_count;
    if (node < count) return ts__replay_time(x->replay)[node];
    const uint32_t *const heads = (const uint32_t *)x->heads.data;
    return ts__races_actor(x, heads[node])->start;
}

// Returns the lane of a thread. Threads that launch nothing get new lanes.
static uint32_t ts__hosts_lane(ts_races *x, ts__rmap *lanes, uint32_t file,
                               uint32_t track)
{
    const uint64_t key = ts__replay_key(file, track);
    const uint32_t known = ts__rmap_get(lanes, key);
    if (known != TS_NODE_NONE) return known;
    const uint32_t lane = (uint32_t)lanes->used;
    return ts__rmap_put(&x->allocator, lanes, key, lane) ? lane : TS_NODE_NONE;
}

static bool ts__hosts_push(ts_races *x, ts__rvec *steps, uint32_t lane,
                           uint32_t node)
{
    ts__host_step *const step =
        (ts__host_step *)ts__rvec_push(&x->allocator, steps, sizeof *step);
    if (!step || lane == TS_NODE_NONE) return false;
    step->lane = lane;
    step->node = node;
    step->time = ts__races_time(x, node);
    return true;
}

// Lists all steps of the threads that have additional nodes.
static bool ts__hosts_steps(ts_races *x, ts__rvec *steps, uint32_t beyond)
{
    const ts_replay *const r = x->replay;
    ts__rmap lanes = { { 0 }, 0 };
    bool ok = true;
    for (uint32_t i = 0; ok && i < r->lanes.count; i++) {
        const ts__replay_lane *const lane = ts__replay_lane_at(r, i);
        const uint64_t key = ts__replay_key(lane->file, lane->track);
        ok = ts__rmap_put(&x->allocator, &lanes, key, i);
    }
    const uint32_t *const heads = (const uint32_t *)x->heads.data;
    // These come first, so that they precede calls at equal times.
    for (uint32_t i = 0; ok && i < beyond; i++) {
        const uint32_t node = r->node_count + i;
        const ts__actor *const actor = ts__races_actor(x, heads[node]);
        const uint32_t lane =
            ts__hosts_lane(x, &lanes, actor->file, actor->track);
        ((uint32_t *)x->hosts.data)[i] = lane;
        ok = ts__hosts_push(x, steps, lane, node);
    }
    const uint32_t calls_end = r->op_count + r->call_count;
    for (uint32_t i = 0; ok && i < calls_end; i++) {
        uint32_t lane = ts__replay_lanes(r)[i];
        if (i < r->op_count) {
            const ts__op *const op = ts__replay_op(r, i);
            const bool fifo = ts__replay_lane_at(r, lane)->fifo;
            if (!op->thread || op->call != TS_NODE_NONE ||
                !ts__kind_of_host(op->kind, fifo))
                continue;
            lane = ts__rmap_get(
                &lanes,
                ts__replay_key(ts__replay_lane_at(r, lane)->file, op->thread));
            if (lane == TS_NODE_NONE) continue;
        }
        ok = ts__hosts_push(x, steps, lane, i);
    }
    ts__rvec_close(&x->allocator, &lanes.entries);
    return ok;
}

static bool ts__races_edge(ts_races *x, uint32_t from, uint32_t to,
                           uint32_t kind)
{
    ts__edge *const edge =
        (ts__edge *)ts__rvec_push(&x->allocator, &x->edges, sizeof *edge);
    if (!edge) return false;
    edge->from = from;
    edge->to = to;
    edge->kind = (uint8_t)kind;
    return true;
}

// The state of a thread while its steps are processed in order.
typedef struct ts__host_place {
    uint32_t lane;
    // Last node of the graph, and the one with the latest end.
    uint32_t call, longest;
    uint32_t own; // last additional node
    bool fresh;   // `own` came after `call`
} ts__host_place;

// Orders an additional node among the calls before it: after the end of each,
// or between start and end of a call that has not returned.
static bool ts__hosts_order(ts_races *x, ts__host_place *p,
                            const ts__host_step *step)
{
    const ts_replay *const r = x->replay;
    bool ok = true;
    if (p->own != TS_NODE_NONE)
        ok = ts__races_edge(x, p->own, step->node, TS_EDGE_HOST_ORDER);
    const uint32_t before[] = { p->call, p->longest };
    for (int i = 0; ok && i < 2 && before[i] != TS_NODE_NONE; i++) {
        const uint32_t end = ts__replay_end_node(r, before[i]);
        const bool done = ts__replay_end(r, before[i]) <= step->time;
        ok = ts__races_edge(x, done ? end : before[i], step->node,
                            TS_EDGE_HOST_ORDER);
        if (ok && !done && end != before[i])
            ok = ts__races_edge(x, step->node, end, TS_EDGE_HOST_ORDER);
    }
    p->own = step->node;
    p->fresh = true;
    return ok;
}

static bool ts__hosts_step(ts_races *x, ts__host_place *p,
                           const ts__host_step *step)
{
    const ts_replay *const r = x->replay;
    if (p->lane != step->lane) {
        memset(p, 0xFF, sizeof *p);
        p->lane = step->lane;
        p->fresh = false;
    }
    if (step->node >= r->node_count) return ts__hosts_order(x, p, step);
    const uint32_t own = p->own;
    const bool fresh = p->fresh;
    p->call = step->node;
    p->fresh = false;
    if (p->longest == TS_NODE_NONE ||
        ts__replay_end(r, step->node) >= ts__replay_end(r, p->longest))
        p->longest = step->node;
    return !fresh || ts__races_edge(x, own, step->node, TS_EDGE_HOST_ORDER);
}

// Orders the accesses of the host among its calls.
static bool ts__races_place_hosts(ts_races *x)
{
    const ts_allocator *const a = &x->allocator;
    const uint32_t beyond = (uint32_t)x->stats.host;
    if (!ts__rvec_fill(a, &x->hosts, sizeof(uint32_t), beyond, 0xFF))
        return false;
    if (!beyond) return true;
    ts__rvec steps = { 0 };
    ts__rsort sort = { 0 };
    bool ok = ts__hosts_steps(x, &steps, beyond) &&
              ts__rsort_open(a, &sort, steps.count);
    const ts__host_step *const list = (const ts__host_step *)steps.data;
    for (size_t i = 0; ok && i < steps.count; i++) {
        ts__rsort_keys(&sort)[i] = ts__rsort_time(list[i].time);
        ts__rsort_index(&sort)[i] = (uint32_t)i;
    }
    if (ok) ts__rsort_run(&sort, steps.count);
    for (size_t i = 0; ok && i < steps.count; i++)
        ts__rsort_keys(&sort)[i] = list[ts__rsort_index(&sort)[i]].lane;
    if (ok) ts__rsort_run(&sort, steps.count);
    ts__host_place place;
    memset(&place, 0xFF, sizeof place);
    for (size_t i = 0; ok && i < steps.count; i++)
        ok = ts__hosts_step(x, &place, &list[ts__rsort_index(&sort)[i]]);
    ts__rsort_close(a, &sort);
    ts__rvec_close(a, &steps);
    return ok;
}
