/* ---- Races: happens-before order ----------------------------------------- */

typedef struct ts__hb_item {
    int64_t time;
    uint32_t node;
} ts__hb_item;

typedef struct ts__hb_chain {
    uint32_t epoch;  // epoch of its last event
    ts__vclock *out; // clock after its last event; only kept while exploring
} ts__hb_chain;

/*
    The happens-before order (hb): visits all nodes so that each comes after all
    that happens before it, with the clock of what happened before. Otherwise
    nodes come in recorded order. Only nodes that access memory have an epoch.
*/
typedef struct ts__hb {
    ts_races *races;
    const ts_allocator *allocator;
    ts__vclocks clocks;
    ts__rvec in;                      // ts__vclock * of each node
    ts__rvec missing;                 // uint32_t: predecessors not yet visited
    ts__rvec heap;                    // ts__hb_item
    ts__rvec offsets, targets, kinds; // edges in addition to those of the graph
    ts__rvec chains;                  // ts__hb_chain
    ts__rvec chain_of;                // uint32_t of each lane
    bool keep_out, too_many;
    // Called for each node with actors, after their chain and epoch are set.
    bool (*visit)(void *user, uint32_t node, const ts__vclock *in);
    void *user;
} ts__hb;

static bool ts__hb_less(const ts__hb_item *a, const ts__hb_item *b)
{
    return a->time != b->time ? a->time < b->time : a->node < b->node;
}

static void ts__hb_sift_up(ts__hb_item *heap, size_t at, ts__hb_item item)
{
    for (; at && ts__hb_less(&item, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = item;
}

// Removes the first item of the heap and returns its node.
static uint32_t ts__hb_take(ts__rvec *items)
{
    ts__hb_item *const heap = (ts__hb_item *)items->data;
    const uint32_t node = heap[0].node;
    const ts__hb_item item = heap[--items->count];
    const size_t count = items->count;
    size_t at = 0;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        child +=
            child + 1 < count && ts__hb_less(&heap[child + 1], &heap[child]);
        if (!ts__hb_less(&heap[child], &item)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = item;
    return node;
}

static bool ts__hb_push(ts__hb *o, uint32_t node)
{
    const ts_races *const x = o->races;
    const uint32_t head = ((const uint32_t *)x->heads.data)[node];
    ts__hb_item item = { ts__races_time(x, node), node };
    // A call performs its access when that was recorded, not when the call
    // returns.
    if (head != TS_NODE_NONE) item.time = ts__races_actor(x, head)->start;
    if (!ts__rvec_push(o->allocator, &o->heap, sizeof item)) return false;
    ts__hb_sift_up((ts__hb_item *)o->heap.data, o->heap.count - 1, item);
    return true;
}

// Whether a call waits until its copy is done: because this kind of call has
// to, not because it did in the record. copies: TS__COPY_... of each operation,
// or NULL.
static bool ts__order_copy_waits(const ts_replay *r, const uint8_t *copies,
                                 uint32_t op)
{
    if (copies && copies[op]) return copies[op] & TS__COPY_BACK;
    const uint32_t call = ts__replay_op(r, op)->call;
    const uint32_t name =
        ((const uint32_t *)r->call_names.data)[call - r->op_count];
    const ts_text text = ts_reader_name(
        ts__replay_file(r, ts__replay_file_of(r, call))->reader, name);
    if (ts__text_has(text, "clEnqueue")) return ts__text_has(text, "(blocking");
    return !ts__text_has(text, "Async");
}

// Whether an edge orders its target after what happened before its source;
// *whole: also after the access of the source itself.
static bool ts__order_keeps(const ts_replay *r, const uint8_t *copies,
                            uint32_t from, uint32_t to, uint8_t kind,
                            bool *whole)
{
    const uint8_t type = TS_EDGE_KIND(kind);
    // Streams and threads do one thing at a time, even where recorded times
    // overlap. The ranks of a collective only wait for each other to begin it.
    *whole = !(kind & TS_EDGE_FROM_START) ||
             (type != TS_EDGE_COLLECTIVE && type != TS_EDGE_P2P);
    if (kind & TS_EDGE_INFERRED || type == TS_EDGE_QUEUE) return false;
    if (type != TS_EDGE_SYNC || from >= r->op_count) return true;
    const ts__op *const op = ts__replay_op(r, from);
    if (op->kind != TS_EVENT_MEMCPY || op->call == TS_NODE_NONE ||
        ts__replay_end_node(r, op->call) != to)
        return true;
    return ts__order_copy_waits(r, copies, from);
}

static uint32_t ts__hb_lane(const ts__hb *o, uint32_t node)
{
    const ts_replay *const r = o->races->replay;
    if (node < r->node_count) return ts__replay_lanes(r)[node];
    return ((const uint32_t *)o->races->hosts.data)[node - r->node_count];
}

// Assigns a chain and an epoch to a node's actors. The chain is that of the
// stream or thread if its last event happened before, as it should; otherwise
// it is a new one.
static bool ts__hb_tick(ts__hb *o, uint32_t node, const ts__vclock *in)
{
    ts_races *const x = o->races;
    const uint32_t lane = ts__hb_lane(o, node);
    uint32_t *const chain_of = (uint32_t *)o->chain_of.data;
    uint32_t chain = chain_of[lane];
    ts__hb_chain *chains = (ts__hb_chain *)o->chains.data;
    if (chain == TS_NODE_NONE ||
        ts__vclock_get(in, chain) != chains[chain].epoch) {
        if (o->chains.count == TS__CHAINS_MAX) {
            o->too_many = true;
            return false;
        }
        ts__hb_chain *const made = (ts__hb_chain *)ts__rvec_push(
            o->allocator, &o->chains, sizeof *made);
        if (!made) return false;
        memset(made, 0, sizeof *made);
        chain_of[lane] = chain = (uint32_t)o->chains.count - 1;
        chains = (ts__hb_chain *)o->chains.data;
    }
    const uint32_t epoch = ++chains[chain].epoch;
    uint32_t i = ((const uint32_t *)x->heads.data)[node];
    for (; i != TS_NODE_NONE; i = ts__races_actor(x, i)->next) {
        ts__races_actor(x, i)->chain = chain;
        ts__races_actor(x, i)->epoch = epoch;
    }
    return true;
}

// Passes the clocks of a node on to the target of an edge, which becomes ready
// with its last edge.
static bool ts__hb_arrive(ts__hb *o, uint32_t from, uint32_t to, uint8_t kind,
                          ts__vclock *in, ts__vclock *out)
{
    bool whole;
    ts__vclock **const at = (ts__vclock **)o->in.data + to;
    if (ts__order_keeps(o->races->replay,
                        (const uint8_t *)o->races->copies.data, from, to, kind,
                        &whole))
        *at = ts__vclock_join(&o->clocks, *at, whole ? out : in);
    if (o->clocks.failed) return false;
    return --((uint32_t *)o->missing.data)[to] || ts__hb_push(o, to);
}

static bool ts__hb_leave(ts__hb *o, uint32_t node, ts__vclock *in,
                         ts__vclock *out)
{
    const ts_replay *const r = o->races->replay;
    bool ok = true;
    if (node < r->node_count)
        for (uint32_t e = ts__replay_offsets(r)[node];
             ok && e < ts__replay_offsets(r)[node + 1]; e++)
            ok = ts__hb_arrive(o, node, ts__replay_target(r, e),
                               ts__replay_kind(r, e), in, out);
    const uint32_t *const offsets = (const uint32_t *)o->offsets.data;
    for (uint32_t e = offsets[node]; ok && e < offsets[node + 1]; e++)
        ok = ts__hb_arrive(o, node, ((const uint32_t *)o->targets.data)[e],
                           ((const uint8_t *)o->kinds.data)[e], in, out);
    return ok;
}

// Visits a node: `in` is the clock before it, `out` the clock after it.
static bool ts__hb_step(ts__hb *o, uint32_t node)
{
    const ts_races *const x = o->races;
    ts__vclock *const in = ((ts__vclock **)o->in.data)[node];
    ((ts__vclock **)o->in.data)[node] = NULL;
    const uint32_t head = ((const uint32_t *)x->heads.data)[node];
    ts__vclock *out = ts__vclock_ref(in);
    bool ok = true;
    if (head != TS_NODE_NONE) {
        ok = ts__hb_tick(o, node, in) && o->visit(o->user, node, in);
        const ts__actor *const actor = ts__races_actor(x, head);
        if (ok)
            out = ts__vclock_set(&o->clocks, out, actor->chain, actor->epoch);
        if (ok && o->keep_out) {
            ts__hb_chain *const chain =
                (ts__hb_chain *)o->chains.data + actor->chain;
            ts__vclock_unref(&o->clocks, chain->out);
            chain->out = ts__vclock_ref(out);
        }
    }
    ok = ok && !o->clocks.failed && ts__hb_leave(o, node, in, out);
    ts__vclock_unref(&o->clocks, in);
    ts__vclock_unref(&o->clocks, out);
    return ok;
}

// Packs the additional edges by source, and counts the edges into each node.
static bool ts__hb_edges(ts__hb *o)
{
    const ts_races *const x = o->races;
    const ts_replay *const r = x->replay;
    const size_t nodes = x->heads.count;
    const ts__edge *const edges = (const ts__edge *)x->edges.data;
    if (!ts__rvec_fill(o->allocator, &o->missing, sizeof(uint32_t), nodes, 0))
        return false;
    uint32_t *const missing = (uint32_t *)o->missing.data;
    for (uint32_t e = 0; e < ts__replay_offsets(r)[r->node_count]; e++)
        missing[ts__replay_target(r, e)]++;
    for (size_t i = 0; i < x->edges.count; i++)
        missing[edges[i].to]++;
    return ts__edges_pack(o->allocator, &x->edges, nodes, &o->offsets,
                          &o->targets, &o->kinds);
}

static void ts__hb_close(ts__hb *o)
{
    const ts_allocator *const a = o->allocator;
    ts__vclocks_close(&o->clocks);
    ts__rvec_close(a, &o->in);
    ts__rvec_close(a, &o->missing);
    ts__rvec_close(a, &o->heap);
    ts__rvec_close(a, &o->offsets);
    ts__rvec_close(a, &o->targets);
    ts__rvec_close(a, &o->kinds);
    ts__rvec_close(a, &o->chains);
    ts__rvec_close(a, &o->chain_of);
}

// left: receives the number of nodes that wait in cycles.
static ts_result ts__hb_run(ts__hb *o, uint32_t *left)
{
    const ts_races *const x = o->races;
    const size_t nodes = x->heads.count;
    const size_t lanes = x->replay->lanes.count + x->hosts.count;
    o->allocator = o->clocks.allocator = &x->allocator;
    bool ok =
        ts__hb_edges(o) &&
        ts__rvec_fill(o->allocator, &o->in, sizeof(ts__vclock *), nodes, 0) &&
        ts__rvec_fill(o->allocator, &o->chain_of, sizeof(uint32_t), lanes,
                      0xFF);
    const uint32_t *const missing = (const uint32_t *)o->missing.data;
    uint32_t done = 0;
    for (uint32_t i = 0; ok && i < nodes; i++)
        if (!missing[i]) ok = ts__hb_push(o, i);
    for (; ok && o->heap.count; done++)
        ok = ts__hb_step(o, ts__hb_take(&o->heap));
    *left = (uint32_t)nodes - done;
    const bool too_many = o->too_many;
    ts__hb_close(o);
    return ok ? TS_OK : too_many ? TS_ERR_UNSUPPORTED : TS_ERR_MEMORY;
}
