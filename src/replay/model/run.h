/* ---- Model: the run ----------------------------------------------------- */

/*
    Without limits on resources, when a node starts depends on its edges alone
    and not on the order in which nodes are looked at, so they are taken from a
    plain queue as they become ready: first in, first out keeps close to the
    order in memory. Limits need the order of time, see 7.33.
*/
typedef struct ts__rrun {
    ts_replay *replay;
    // The graph that runs: the replay's own, or a changed one.
    const uint32_t *offsets, *targets;
    const uint8_t *kinds;
    const int64_t *delay;    // of each edge (NULL: none)
    const int64_t *duration; // of each node
    uint32_t *missing;       // of each node: edges that have not fired
    int64_t *start;          // likewise: the latest that has, then the start
    int64_t *gap;            // the latest edge of the record, then the gap
    const bool *removed;     // operations that a change took away (NULL: none)
    uint64_t ran;
} ts__rrun;

// A node that is not selected is never ready.
#define TS__RUN_NEVER (UINT32_C(1) << 31)

// Whether an edge from `node` is heeded: fired by it, or by the record.
static bool ts__rrun_heeds(const ts_replay *r, uint32_t node)
{
    return ts__replay_selected(r, node) || r->deps != TS_DEPS_NONE;
}

static int64_t ts__rrun_source(const ts_replay *r, uint32_t node, uint8_t kind)
{
    return kind & TS_EDGE_FROM_START ? ts__replay_time(r)[node]
                                     : ts__replay_end(r, node);
}

// An edge that a change took away. No sum with a time comes near it.
#define TS__EDGE_OFF (-TS__REPLAY_SUM_MAX)

// When an edge lets its target start. One that was taken away still fires, but
// a node that has no other does not start at the beginning of time.
static int64_t ts__rrun_at(const ts__rrun *run, uint32_t e, int64_t source)
{
    if (!run->delay) return source;
    if (run->delay[e] == TS__EDGE_OFF) return TS__NO_TIME;
    return ts__replay_add(source, run->delay[e]);
}

// Counts the edges into every node. `gap` becomes the latest of the record,
// `start` the latest that the run will not fire: frozen, it is what it was.
static void ts__rrun_edges(ts__rrun *run)
{
    const ts_replay *const r = run->replay;
    for (uint32_t i = 0; i < r->node_count; i++) {
        if (!ts__rrun_heeds(r, i)) continue;
        const bool fires = ts__replay_selected(r, i);
        const uint32_t end = run->offsets[i + 1];
        for (uint32_t e = run->offsets[i]; e < end; e++) {
            const uint32_t to = run->targets[e];
            const int64_t at =
                ts__rrun_at(run, e, ts__rrun_source(r, i, run->kinds[e]));
            if (at > run->gap[to]) run->gap[to] = at;
            if (fires)
                run->missing[to]++;
            else if (at > run->start[to])
                run->start[to] = at;
        }
    }
}

// What the record shows of every node beyond its latest edge.
static void ts__rrun_gaps(ts__rrun *run)
{
    const int64_t *const time = ts__replay_time(run->replay);
    for (uint32_t i = 0; i < run->replay->node_count; i++) {
        const int64_t at = run->gap[i];
        run->gap[i] = time[i] - (at == TS__NO_TIME ? 0 : at);
    }
}

// Returns how many nodes are ready before the first one runs, in `queue`.
static uint32_t ts__rrun_begin(ts__rrun *run, uint32_t *queue)
{
    const ts_replay *const r = run->replay;
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->node_count; i++) {
        if (!ts__replay_selected(r, i))
            run->missing[i] |= TS__RUN_NEVER;
        else if (!run->missing[i])
            queue[count++] = i;
    }
    return count;
}

// When a node starts whose edges have all fired.
static int64_t ts__rrun_start(const ts__rrun *run, uint32_t node)
{
    const int64_t at = run->start[node];
    return ts__replay_add(at == TS__NO_TIME ? 0 : at, run->gap[node]);
}

// Runs a node; appends what becomes ready to `queue`, returns its new count.
static uint32_t ts__rrun_fire(ts__rrun *run, uint32_t node, int64_t start,
                              uint32_t *queue, uint32_t count)
{
    const int64_t end = ts__replay_add(start, run->duration[node]);
    run->start[node] = start;
    run->ran++;
    const uint32_t last = run->offsets[node + 1];
    for (uint32_t e = run->offsets[node]; e < last; e++) {
        const uint32_t to = run->targets[e];
        const int64_t at = ts__rrun_at(
            run, e, run->kinds[e] & TS_EDGE_FROM_START ? start : end);
        if (at > run->start[to]) run->start[to] = at;
        if (--run->missing[to] == 0) queue[count++] = to;
    }
    return count;
}

static bool ts__rrun_loop(ts__rrun *run)
{
    const ts_allocator *const a = &run->replay->allocator;
    ts__rvec ready = { 0 };
    if (!ts__rvec_reserve(a, &ready, sizeof(uint32_t), run->replay->node_count))
        return false;
    uint32_t *const queue = (uint32_t *)ready.data;
    uint32_t count = ts__rrun_begin(run, queue);
    for (uint32_t i = 0; i < count; i++)
        count = ts__rrun_fire(run, queue[i], ts__rrun_start(run, queue[i]),
                              queue, count);
    ts__rvec_close(a, &ready);
    return true;
}

// Marks what did not run.
static void ts__rrun_stuck(ts__rrun *run)
{
    ts_replay *const r = run->replay;
    r->stats.skipped[TS_SKIP_UNMET] = r->stats.skipped[TS_SKIP_REMOVED] = 0;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const bool stuck = ts__replay_selected(r, i) && run->missing[i];
        if (stuck || !ts__replay_selected(r, i)) run->start[i] = TS__NO_TIME;
        if (i >= r->op_count || !ts__replay_selected(r, i)) continue;
        const uint32_t end = ts__replay_end_node(r, i);
        const bool ends = !run->missing[i] && !run->missing[end];
        ts__replay_op(r, i)->skip = ends ? TS_SKIP_NOT : TS_SKIP_UNMET;
        r->stats.skipped[TS_SKIP_UNMET] += !ends;
        if (!ends || !run->removed || !run->removed[i]) continue;
        ts__replay_op(r, i)->skip = TS_SKIP_REMOVED;
        r->stats.skipped[TS_SKIP_REMOVED]++;
    }
}

/*
    Every stuck node waits for another stuck one, so following any such edge
    backwards comes round. `before` is filled with one of each node's.
*/
static bool ts__rrun_cycle(ts__rrun *run)
{
    ts_replay *const r = run->replay;
    ts__rvec before = { 0 };
    if (!ts__rvec_fill(&r->allocator, &before, sizeof(uint32_t), r->node_count,
                       0xFF))
        return false;
    uint32_t *const from = (uint32_t *)before.data;
    uint32_t node = TS_NODE_NONE;
    for (uint32_t i = 0; i < r->node_count; i++) {
        if (!ts__replay_selected(r, i) || !run->missing[i]) continue;
        if (node == TS_NODE_NONE) node = i;
        const uint32_t end = run->offsets[i + 1];
        for (uint32_t e = run->offsets[i]; e < end; e++)
            from[run->targets[e]] = i;
    }
    for (uint32_t i = 0; i < r->node_count; i++)
        node = from[node]; // now surely inside the circle
    const uint32_t first = node;
    const uint32_t ends_at = r->op_count + r->call_count;
    bool ok = true;
    do {
        uint32_t owner = node;
        if (node >= ends_at && node < r->join_first)
            owner = ((const uint32_t *)r->waiters.data)[node - ends_at];
        const uint32_t *const list = (const uint32_t *)r->circle.data;
        const bool again =
            r->circle.count && list[r->circle.count - 1] == owner;
        if (owner < r->join_first && !again) {
            uint32_t *const to = (uint32_t *)ts__rvec_push(
                &r->allocator, &r->circle, sizeof *to);
            if (to) *to = owner;
            ok = to != NULL;
        }
        node = from[node];
    } while (ok && node != first);
    ts__rvec_close(&r->allocator, &before);
    return ok;
}

static void ts__cycle_reverse(ts__rvec *circle)
{
    uint32_t *const list = (uint32_t *)circle->data;
    size_t count = circle->count, least = 0;
    // The walk may have begun between the two halves of one node.
    if (count > 1 && list[0] == list[count - 1]) circle->count = --count;
    for (size_t i = 1; i < count; i++)
        if (list[i] < list[least]) least = i;
    while (least--) {
        const uint32_t head = list[0];
        memmove(list, list + 1, (count - 1) * sizeof *list);
        list[count - 1] = head;
    }
}
