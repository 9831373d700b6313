/* ---- 10.63 Races: vector clocks ------------------------------------------ */

/*
    A clock tells how far each chain has got in what happened before: its
    *epoch*, 0 nothing. Chains are streams and threads, thousands of them, and
    most clocks differ in few places from the one that they came from. So a
    clock is a tree of shared nodes: what is equal is one node, and joining
    stops where both sides are the same.

                    level 1: 16 below, of 32 epochs each
                   /                 |
          level 0: 32 epochs      (NULL: all zero)
*/
typedef struct ts__vclock {
    uint32_t refs, level;
    union {
        struct ts__vclock *below[16];
        uint32_t epochs[32];
    } u;
} ts__vclock;

enum { TS__VCLOCK_SLAB = 256, TS__CHAINS_MAX = 65536 };

typedef struct ts__vclocks { // where they come from
    const ts_allocator *allocator;
    ts__rvec slabs;   // ts__vclock *
    ts__vclock *free; // linked by u.below[0]
    bool failed;
} ts__vclocks;

static ts__vclock *ts__vclock_new(ts__vclocks *c, uint32_t level)
{
    if (!c->free) {
        const ts_allocator *const a = c->allocator;
        ts__vclock **const slab =
            (ts__vclock **)ts__rvec_push(a, &c->slabs, sizeof *slab);
        if (!slab) return NULL;
        *slab = (ts__vclock *)a->resize(a->user, NULL, 0,
                                        TS__VCLOCK_SLAB * sizeof(ts__vclock));
        if (!*slab) {
            c->slabs.count--;
            return NULL;
        }
        for (size_t i = 0; i < TS__VCLOCK_SLAB; i++) {
            (*slab)[i].u.below[0] = c->free;
            c->free = &(*slab)[i];
        }
    }
    ts__vclock *const clock = c->free;
    c->free = clock->u.below[0];
    memset(clock, 0, sizeof *clock);
    clock->refs = 1;
    clock->level = level;
    return clock;
}

static ts__vclock *ts__vclock_ref(ts__vclock *clock)
{
    if (clock) clock->refs++;
    return clock;
}

static void ts__vclock_unref(ts__vclocks *c, ts__vclock *clock)
{
    if (!clock || --clock->refs) return;
    for (int i = 0; clock->level && i < 16; i++)
        ts__vclock_unref(c, clock->u.below[i]);
    clock->u.below[0] = c->free;
    c->free = clock;
}

static void ts__vclocks_close(ts__vclocks *c)
{
    for (size_t i = 0; i < c->slabs.count; i++)
        c->allocator->resize(c->allocator->user,
                             ((ts__vclock **)c->slabs.data)[i],
                             TS__VCLOCK_SLAB * sizeof(ts__vclock), 0);
    ts__rvec_close(c->allocator, &c->slabs);
    c->free = NULL;
}

static uint32_t ts__vclock_get(const ts__vclock *clock, uint32_t chain)
{
    if (!clock || chain >> (5 + 4 * clock->level)) return 0;
    while (clock && clock->level) {
        const uint32_t shift = 5 + 4 * (clock->level - 1);
        clock = clock->u.below[chain >> shift & 15];
    }
    return clock ? clock->u.epochs[chain & 31] : 0;
}

// A clock of one's own that says the same. Takes the reference.
static ts__vclock *ts__vclock_own(ts__vclocks *c, ts__vclock *clock)
{
    if (!clock || clock->refs == 1) return clock;
    ts__vclock *const own = ts__vclock_new(c, clock->level);
    if (!own) {
        c->failed = true;
        return clock;
    }
    own->u = clock->u;
    for (int i = 0; own->level && i < 16; i++)
        ts__vclock_ref(own->u.below[i]);
    clock->refs--;
    return own;
}

// The same clock with a root of a higher level. Takes the reference.
static ts__vclock *ts__vclock_raise(ts__vclocks *c, ts__vclock *clock,
                                    uint32_t level)
{
    while (clock->level < level) {
        ts__vclock *const root = ts__vclock_new(c, clock->level + 1);
        if (!root) {
            c->failed = true;
            return clock;
        }
        root->u.below[0] = clock;
        clock = root;
    }
    return clock;
}

// Takes the reference to `clock` (NULL: a new one) and gives one back.
static ts__vclock *ts__vclock_set(ts__vclocks *c, ts__vclock *clock,
                                  uint32_t chain, uint32_t epoch)
{
    uint32_t level = 0;
    while (chain >> (5 + 4 * level))
        level++;
    if (!clock) clock = ts__vclock_new(c, level);
    if (clock && clock->level < level)
        clock = ts__vclock_raise(c, clock, level);
    clock = ts__vclock_own(c, clock);
    ts__vclock *at = clock;
    while (at && at->level && !c->failed) {
        const uint32_t shift = 5 + 4 * (at->level - 1);
        ts__vclock **const below = &at->u.below[chain >> shift & 15];
        *below = *below ? ts__vclock_own(c, *below)
                        : ts__vclock_new(c, at->level - 1);
        at = *below;
    }
    if (!at) c->failed = true;
    if (!c->failed) at->u.epochs[chain & 31] = epoch;
    return clock;
}

// The later of both everywhere. Takes the reference to `a`, not that to `b`.
static ts__vclock *ts__vclock_join(ts__vclocks *c, ts__vclock *a, ts__vclock *b)
{
    if (a == b || !b || c->failed) return a;
    if (!a) return ts__vclock_ref(b);
    if (a->level < b->level) a = ts__vclock_raise(c, a, b->level);
    a = ts__vclock_own(c, a);
    if (c->failed) return a;
    if (a->level > b->level) { // b has nothing beyond the first child
        ts__vclock *at = a;
        while (at->level > b->level + 1) {
            at->u.below[0] = at->u.below[0] ? ts__vclock_own(c, at->u.below[0])
                                            : ts__vclock_new(c, at->level - 1);
            at = at->u.below[0];
            if (!at) c->failed = true;
            if (c->failed) return a;
        }
        at->u.below[0] = ts__vclock_join(c, at->u.below[0], b);
    } else if (a->level) {
        for (int i = 0; i < 16; i++)
            a->u.below[i] = ts__vclock_join(c, a->u.below[i], b->u.below[i]);
    } else {
        for (int i = 0; i < 32; i++)
            if (b->u.epochs[i] > a->u.epochs[i])
                a->u.epochs[i] = b->u.epochs[i];
    }
    return a;
}

/* ---- 10.64 Races: the host's place in the order -------------------------- */

// Something that a thread does: a node of the graph, or one beyond it.
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

// The lane of a thread; threads that launch nothing get new ones.
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

// All steps of threads on which something lies beyond the graph.
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
    // First, so that at equal times they come before calls.
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

// Where a thread is while its steps are gone through.
typedef struct ts__host_place {
    uint32_t lane;
    uint32_t call, longest; // last node of the graph; that with the latest end
    uint32_t own;           // last step beyond the graph
    bool fresh;             // `own` came after `call`
} ts__host_place;

// Ties a step beyond the graph to the calls before it: to their ends, or
// between the start and the end of one that is still going on.
static bool ts__hosts_tie(ts_races *x, ts__host_place *p,
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
    if (step->node >= r->node_count) return ts__hosts_tie(x, p, step);
    const uint32_t own = p->own;
    const bool fresh = p->fresh;
    p->call = step->node;
    p->fresh = false;
    if (p->longest == TS_NODE_NONE ||
        ts__replay_end(r, step->node) >= ts__replay_end(r, p->longest))
        p->longest = step->node;
    return !fresh || ts__races_edge(x, own, step->node, TS_EDGE_HOST_ORDER);
}

// Puts what the host does between its calls.
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

/* ---- 10.65 Races: what happens before what ------------------------------- */

typedef struct ts__precede_item {
    int64_t time;
    uint32_t node;
} ts__precede_item;

typedef struct ts__precede_chain {
    uint32_t epoch;  // of the last
    ts__vclock *out; // behind the last; only kept while exploring
} ts__precede_chain;

/*
    Goes through all nodes so that each comes after what happens before it, as
    recorded otherwise, with the clock of what happened before each. Only what
    touches memory has an epoch.
*/
typedef struct ts__precede {
    ts_races *races;
    const ts_allocator *allocator;
    ts__vclocks clocks;
    ts__rvec in;                      // ts__vclock *, of each node
    ts__rvec missing;                 // uint32_t: predecessors still to come
    ts__rvec heap;                    // ts__precede_item
    ts__rvec offsets, targets, kinds; // edges beyond the graph's
    ts__rvec chains;                  // ts__precede_chain
    ts__rvec chain_of;                // uint32_t, of each lane
    bool keep_out, too_many;
    // Called for each node with actors, whose chain and epoch are set.
    bool (*visit)(void *user, uint32_t node, const ts__vclock *in);
    void *user;
} ts__precede;

static bool ts__precede_less(const ts__precede_item *a,
                             const ts__precede_item *b)
{
    return a->time != b->time ? a->time < b->time : a->node < b->node;
}

static void ts__precede_sift_up(ts__precede_item *heap, size_t at,
                                ts__precede_item item)
{
    for (; at && ts__precede_less(&item, &heap[(at - 1) / 2]);
         at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = item;
}

// Takes the first out.
static uint32_t ts__precede_take(ts__rvec *items)
{
    ts__precede_item *const heap = (ts__precede_item *)items->data;
    const uint32_t node = heap[0].node;
    const ts__precede_item item = heap[--items->count];
    const size_t count = items->count;
    size_t at = 0;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count &&
                 ts__precede_less(&heap[child + 1], &heap[child]);
        if (!ts__precede_less(&heap[child], &item)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = item;
    return node;
}

static bool ts__precede_push(ts__precede *o, uint32_t node)
{
    const ts_races *const x = o->races;
    const uint32_t head = ((const uint32_t *)x->heads.data)[node];
    ts__precede_item item = { ts__races_time(x, node), node };
    // What a call does it does at its moment, not when the call returns.
    if (head != TS_NODE_NONE) item.time = ts__races_actor(x, head)->start;
    if (!ts__rvec_push(o->allocator, &o->heap, sizeof item)) return false;
    ts__precede_sift_up((ts__precede_item *)o->heap.data, o->heap.count - 1,
                        item);
    return true;
}

// Whether a call waits until its copy is done: not because it did, but
// because it is one that must. copies: what is known of them, or NULL.
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

// Whether an edge orders; *whole: also behind what its source itself does.
static bool ts__order_keeps(const ts_replay *r, const uint8_t *copies,
                            uint32_t from, uint32_t to, uint8_t kind,
                            bool *whole)
{
    const uint8_t type = TS_EDGE_KIND(kind);
    // Streams and threads do one thing after another, even where the record
    // overlaps. Ranks only meet in a collective.
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

static uint32_t ts__precede_lane(const ts__precede *o, uint32_t node)
{
    const ts_replay *const r = o->races->replay;
    if (node < r->node_count) return ts__replay_lanes(r)[node];
    return ((const uint32_t *)o->races->hosts.data)[node - r->node_count];
}

// Gives a node's actors their chain: that of the stream or thread, if what is
// last on it happened before, as it should; else a new one.
static bool ts__precede_tick(ts__precede *o, uint32_t node,
                             const ts__vclock *in)
{
    ts_races *const x = o->races;
    const uint32_t lane = ts__precede_lane(o, node);
    uint32_t *const chain_of = (uint32_t *)o->chain_of.data;
    uint32_t chain = chain_of[lane];
    ts__precede_chain *chains = (ts__precede_chain *)o->chains.data;
    if (chain == TS_NODE_NONE ||
        ts__vclock_get(in, chain) != chains[chain].epoch) {
        if (o->chains.count == TS__CHAINS_MAX) {
            o->too_many = true;
            return false;
        }
        ts__precede_chain *const made = (ts__precede_chain *)ts__rvec_push(
            o->allocator, &o->chains, sizeof *made);
        if (!made) return false;
        memset(made, 0, sizeof *made);
        chain_of[lane] = chain = (uint32_t)o->chains.count - 1;
        chains = (ts__precede_chain *)o->chains.data;
    }
    const uint32_t epoch = ++chains[chain].epoch;
    uint32_t i = ((const uint32_t *)x->heads.data)[node];
    for (; i != TS_NODE_NONE; i = ts__races_actor(x, i)->next) {
        ts__races_actor(x, i)->chain = chain;
        ts__races_actor(x, i)->epoch = epoch;
    }
    return true;
}

static bool ts__precede_arrive(ts__precede *o, uint32_t from, uint32_t to,
                               uint8_t kind, ts__vclock *in, ts__vclock *out)
{
    bool whole;
    ts__vclock **const at = (ts__vclock **)o->in.data + to;
    if (ts__order_keeps(o->races->replay,
                        (const uint8_t *)o->races->copies.data, from, to, kind,
                        &whole))
        *at = ts__vclock_join(&o->clocks, *at, whole ? out : in);
    if (o->clocks.failed) return false;
    return --((uint32_t *)o->missing.data)[to] || ts__precede_push(o, to);
}

static bool ts__precede_leave(ts__precede *o, uint32_t node, ts__vclock *in,
                              ts__vclock *out)
{
    const ts_replay *const r = o->races->replay;
    bool ok = true;
    if (node < r->node_count)
        for (uint32_t e = ts__replay_offsets(r)[node];
             ok && e < ts__replay_offsets(r)[node + 1]; e++)
            ok = ts__precede_arrive(o, node, ts__replay_target(r, e),
                                    ts__replay_kind(r, e), in, out);
    const uint32_t *const offsets = (const uint32_t *)o->offsets.data;
    for (uint32_t e = offsets[node]; ok && e < offsets[node + 1]; e++)
        ok = ts__precede_arrive(o, node, ((const uint32_t *)o->targets.data)[e],
                                ((const uint8_t *)o->kinds.data)[e], in, out);
    return ok;
}

static bool ts__precede_step(ts__precede *o, uint32_t node)
{
    const ts_races *const x = o->races;
    ts__vclock *const in = ((ts__vclock **)o->in.data)[node];
    ((ts__vclock **)o->in.data)[node] = NULL;
    const uint32_t head = ((const uint32_t *)x->heads.data)[node];
    ts__vclock *out = ts__vclock_ref(in);
    bool ok = true;
    if (head != TS_NODE_NONE) {
        ok = ts__precede_tick(o, node, in) && o->visit(o->user, node, in);
        const ts__actor *const actor = ts__races_actor(x, head);
        if (ok)
            out = ts__vclock_set(&o->clocks, out, actor->chain, actor->epoch);
        if (ok && o->keep_out) {
            ts__precede_chain *const chain =
                (ts__precede_chain *)o->chains.data + actor->chain;
            ts__vclock_unref(&o->clocks, chain->out);
            chain->out = ts__vclock_ref(out);
        }
    }
    ok = ok && !o->clocks.failed && ts__precede_leave(o, node, in, out);
    ts__vclock_unref(&o->clocks, in);
    ts__vclock_unref(&o->clocks, out);
    return ok;
}

// The edges beyond the graph's by their source, and how many lead to a node.
static bool ts__precede_edges(ts__precede *o)
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

static void ts__precede_close(ts__precede *o)
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

// left: how many nodes wait in circles.
static ts_result ts__precede_run(ts__precede *o, uint32_t *left)
{
    const ts_races *const x = o->races;
    const size_t nodes = x->heads.count;
    const size_t lanes = x->replay->lanes.count + x->hosts.count;
    o->allocator = o->clocks.allocator = &x->allocator;
    bool ok =
        ts__precede_edges(o) &&
        ts__rvec_fill(o->allocator, &o->in, sizeof(ts__vclock *), nodes, 0) &&
        ts__rvec_fill(o->allocator, &o->chain_of, sizeof(uint32_t), lanes,
                      0xFF);
    const uint32_t *const missing = (const uint32_t *)o->missing.data;
    uint32_t done = 0;
    for (uint32_t i = 0; ok && i < nodes; i++)
        if (!missing[i]) ok = ts__precede_push(o, i);
    for (; ok && o->heap.count; done++)
        ok = ts__precede_step(o, ts__precede_take(&o->heap));
    *left = (uint32_t)nodes - done;
    const bool too_many = o->too_many;
    ts__precede_close(o);
    return ok ? TS_OK : too_many ? TS_ERR_UNSUPPORTED : TS_ERR_MEMORY;
}
