/* ---- Timeline: root causes of waits -------------------------------------- */

// Returns the index of a node when calls are left out; calls have no bonds
// here.
static uint32_t ts__tl_index(const ts_replay *r, uint32_t node)
{
    return node < r->op_count ? node : node - r->call_count;
}
static ts__tl_binding *ts__tl_binding_of(const ts_timeline *t, uint32_t node)
{
    return (ts__tl_binding *)t->bindings.data + ts__tl_index(t->replay, node);
}

// Whether an edge takes precedence over another one satisfied at the same time.
static bool ts__tl_prefers(uint8_t kind, uint8_t other)
{
    const uint8_t guess = kind & TS_EDGE_INFERRED;
    if (guess != (other & TS_EDGE_INFERRED)) return !guess;
    return TS_EDGE_KIND(kind) > TS_EDGE_KIND(other);
}

// Notes which calls were blocked by a wait or by a full queue.
static void ts__tl_hold(ts_timeline *t, uint32_t node, uint8_t kind)
{
    const ts_replay *const r = t->replay;
    const uint32_t first = r->op_count + r->call_count;
    const uint8_t edge = TS_EDGE_KIND(kind);
    if (node < first || node >= r->join_first ||
        (edge != TS_EDGE_SYNC && edge != TS_EDGE_QUEUE))
        return;
    ((uint8_t *)t->held.data)[node - first] |=
        edge == TS_EDGE_QUEUE     ? TS__HELD_QUEUE
        : kind & TS_EDGE_INFERRED ? TS__HELD_GUESS
                                  : TS__HELD_SYNC;
}

// Whether an operation is an event wait of zero duration. Its recorded time may
// be when the stream reached it or when its event completed.
static bool ts__tl_is_instant(const ts_timeline *t, uint32_t op)
{
    return op < t->replay->op_count &&
           ts__replay_op(t->replay, op)->kind == TS_EVENT_EVENT_WAIT &&
           ts__tl_begin(t, op) == ts__tl_finish(t, op);
}

// Binds such a wait to its event, unless the stream reached it later. The edge
// from its own begin was ignored before, since that time is ambiguous.
static void ts__tl_bind_instants(ts_timeline *t)
{
    const ts_replay *const r = t->replay;
    for (size_t i = 0; i < r->waiters.count; i++) {
        const uint32_t op = ts__tl_u32(&r->waiters)[i];
        if (!ts__tl_is_instant(t, op)) continue;
        const ts__tl_binding *const own = ts__tl_binding_of(t, op);
        ts__tl_binding *const end =
            ts__tl_binding_of(t, ts__replay_end_node(r, op));
        if (end->source != TS_NODE_NONE &&
            (own->source == TS_NODE_NONE || own->at_ns <= end->at_ns))
            continue;
        end->at_ns = ts__tl_begin(t, op);
        end->source = op;
        end->kind = TS_EDGE_SELF | TS_EDGE_FROM_START;
    }
}

// Finds for each node the edge that was satisfied last.
static bool ts__tl_bind(ts_timeline *t)
{
    const ts_replay *const r = t->replay;
    const ts_allocator *const a = &t->allocator;
    if (!ts__rvec_fill(a, &t->bindings, sizeof(ts__tl_binding),
                       r->node_count - r->call_count, 0xFF) ||
        !ts__rvec_fill(a, &t->held, sizeof(uint8_t), r->waiters.count, 0))
        return false;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const int64_t begin = ts__tl_begin(t, i), end = ts__tl_finish(t, i);
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++) {
            const uint32_t to = ts__replay_target(r, e);
            if (ts__tl_is_call(r, to)) continue;
            const uint8_t kind = ts__replay_kind(r, e);
            const int64_t at = kind & TS_EDGE_FROM_START ? begin : end;
            ts__tl_binding *const binding = ts__tl_binding_of(t, to);
            ts__tl_hold(t, to, kind);
            if (TS_EDGE_KIND(kind) == TS_EDGE_SELF && ts__tl_is_instant(t, i))
                continue;
            if (binding->source != TS_NODE_NONE &&
                (at < binding->at_ns || (at == binding->at_ns &&
                                         !ts__tl_prefers(kind, binding->kind))))
                continue;
            binding->at_ns = at;
            binding->source = i;
            binding->kind = kind;
        }
    }
    ts__tl_bind_instants(t);
    return true;
}

// Returns the kind of edge that a node is bound by; TS_EDGE_SELF if there is
// none.
static uint8_t ts__tl_bound_by(const ts_timeline *t, uint32_t node)
{
    const ts__tl_binding *const binding = ts__tl_binding_of(t, node);
    return binding->source == TS_NODE_NONE ? TS_EDGE_SELF
                                           : TS_EDGE_KIND(binding->kind);
}

// Whether a node can be a root cause: a host call, an operation of the host, or
// an operation that takes time on a stream.
static bool ts__tl_is_root(const ts_timeline *t, uint32_t node)
{
    const ts_replay *const r = t->replay;
    if (node >= r->op_count) return ts__tl_is_call(r, node);
    const uint8_t kind = ts__replay_op(r, node)->kind;
    const uint32_t lane = ts__replay_lanes(r)[node];
    if (ts__kind_works(kind) || kind == TS_EVENT_HOST_FUNCTION)
        return ts__tl_finish(t, node) > ts__tl_begin(t, node);
    return ts__kind_of_host(kind, ts__replay_lane_at(r, lane)->fifo);
}

// Returns the node that `node` was bound by, TS_NODE_NONE if there is none.
// *stops: it is a root cause (for an end node its owner is returned).
static uint32_t ts__tl_previous(const ts_timeline *t, uint32_t node,
                                bool *stops)
{
    const ts_replay *const r = t->replay;
    *stops = true;
    const uint32_t from = ts__tl_binding_of(t, node)->source;
    if (from == TS_NODE_NONE) return TS_NODE_NONE;
    const uint32_t owner = ts__node_owner(r, from);
    // At the end of a synchronisation, continue with what the synchronisation
    // waited for.
    const bool through = owner != from && owner < r->op_count &&
                         ts__kind_syncs(ts__replay_op(r, owner)->kind) &&
                         ts__tl_bound_by(t, from) != TS_EDGE_SELF;
    if (!through && ts__tl_is_root(t, owner)) return owner;
    *stops = false;
    return from;
}

static ts__tl_root *ts__tl_root_at(const ts_timeline *t, uint32_t node)
{
    return (ts__tl_root *)t->roots.data + ts__tl_index(t->replay, node);
}

// Returns the root of `node`, given the root of the node it was bound by.
static ts__tl_root ts__tl_root_from(const ts_timeline *t, uint32_t node,
                                    uint32_t back, bool stops)
{
    ts__tl_root root = { TS_NODE_NONE, TS_EDGE_SELF, false, true };
    if (back == TS_NODE_NONE) return root;
    const uint8_t kind = ts__tl_binding_of(t, node)->kind;
    const uint8_t edge = TS_EDGE_KIND(kind);
    root.culprit = back;
    root.edge = edge;
    if (!stops) {
        const ts__tl_root *const behind = ts__tl_root_at(t, back);
        root.culprit = behind->culprit;
        root.inferred = behind->inferred;
        if (edge == TS_EDGE_SELF || edge == TS_EDGE_STREAM_ORDER)
            root.edge = behind->edge;
    }
    root.inferred |= (kind & TS_EDGE_INFERRED) != 0;
    return root;
}

// Prefetches the node that binds an operation; it may be anywhere in memory.
static void ts__tl_prefetch(const ts_timeline *t, uint32_t op)
{
    const ts_replay *const r = t->replay;
    const uint32_t from = ts__tl_binding_of(t, op)->source;
    if (from >= r->op_count) return;
    __builtin_prefetch(ts__replay_op(r, from));
    __builtin_prefetch(&ts__replay_time(r)[from]);
    __builtin_prefetch(&ts__replay_duration(r)[from]);
}

/*
    Finds the root cause of every node. Each step is taken once, since a path
    that reaches an earlier one ends there. Cycles exist only in damaged
    records; a path ends where it closes one. What calls wait for is not
    followed.
*/
static bool ts__tl_find_roots(ts_timeline *t)
{
    const ts_replay *const r = t->replay;
    const ts_allocator *const a = &t->allocator;
    ts__rvec path = { 0 };
    if (!ts__rvec_fill(a, &t->roots, sizeof(ts__tl_root),
                       r->node_count - r->call_count, 0))
        return false;
    bool ok = true;
    for (uint32_t i = 0; ok && i < r->node_count; i++) {
        uint32_t node = i;
        if (ts__tl_is_call(r, i)) continue;
        if (i + 16 < r->op_count) ts__tl_prefetch(t, i + 16);
        bool stops = false;
        uint32_t back = ts__tl_previous(t, node, &stops);
        if (stops) { // most do
            *ts__tl_root_at(t, node) = ts__tl_root_from(t, node, back, true);
            continue;
        }
        for (path.count = 0; ok && !stops && !ts__tl_root_at(t, node)->known;) {
            uint32_t *const step =
                (uint32_t *)ts__rvec_push(a, &path, sizeof *step);
            ok = step != NULL;
            if (!ok) break;
            *step = node;
            ts__tl_root_at(t, node)->known = true;
            ts__tl_root_at(t, node)->culprit = TS_NODE_NONE;
            back = ts__tl_previous(t, node, &stops);
            if (!stops) node = back;
        }
        while (ok && path.count) {
            const uint32_t step = ts__tl_u32(&path)[--path.count];
            back = ts__tl_previous(t, step, &stops);
            *ts__tl_root_at(t, step) = ts__tl_root_from(t, step, back, stops);
        }
    }
    ts__rvec_close(a, &path);
    return ok;
}
