/* ---- Model: the run ----------------------------------------------------- */

/*
    Without limits on resources, the start of a node depends on its edges alone
    and not on the order in which nodes are processed. So they are taken from a
    plain queue as they become ready: first in, first out stays close to the
    order in memory. With limits, nodes run in order of time: see
    ts__rrun_timed.
*/
typedef struct ts__rrun {
    ts_replay *replay;
    // The graph that runs: the replay's own or a changed one.
    const uint32_t *offsets, *targets;
    const uint8_t *kinds;
    const int64_t *delay;    // of each edge (NULL: none)
    const int64_t *duration; // of each node
    uint32_t *missing;       // of each node: edges that have not fired yet
    int64_t *start; // of each node: first its latest fired edge, then its start
    // Of each node: its gap; in an exact run first its latest edge.
    int64_t *gap;
    const uint8_t *flags; // of each node: TS__RUN_REMOVED (NULL: none)
    uint64_t ran;
} ts__rrun;

// Of ts__rrun.flags: a change removed the operation.
enum { TS__RUN_REMOVED = 1 };

// Added to `missing` of nodes that are not selected, so that they are never
// ready.
#define TS__RUN_NEVER (UINT32_C(1) << 31)

// Whether edges from `node` count: it fires them or, if it is not selected, its
// recorded time does.
static bool ts__rrun_counts(const ts_replay *r, uint32_t node)
{
    return ts__replay_selected(r, node) || r->deps != TS_DEPS_NONE;
}

static int64_t ts__rrun_source(const ts_replay *r, uint32_t node, uint8_t kind)
{
    return kind & TS_EDGE_FROM_START ? ts__replay_time(r)[node]
                                     : ts__replay_end(r, node);
}

// The delay of an edge that a change removed. No sum of times comes near it.
#define TS__EDGE_OFF (-TS__REPLAY_SUM_MAX)

// Returns when an edge lets its target start. A removed edge still fires, but
// has no time.
static int64_t ts__rrun_at(const ts__rrun *run, uint32_t e, int64_t source)
{
    if (!run->delay) return source;
    if (run->delay[e] == TS__EDGE_OFF) return TS__NO_TIME;
    return ts__replay_add(source, run->delay[e]);
}

// Counts the edges into every node. `gap` becomes the latest of all edges at
// their recorded times, `start` the latest of those that the run does not fire,
// which keep their recorded times.
static void ts__rrun_edges(ts__rrun *run)
{
    const ts_replay *const r = run->replay;
    for (uint32_t i = 0; i < r->node_count; i++) {
        if (!ts__rrun_counts(r, i)) continue;
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

// Computes for every node the recorded time between its latest edge and its
// start.
static void ts__rrun_gaps(ts__rrun *run)
{
    const int64_t *const time = ts__replay_time(run->replay);
    for (uint32_t i = 0; i < run->replay->node_count; i++) {
        const int64_t at = run->gap[i];
        run->gap[i] = time[i] - (at == TS__NO_TIME ? 0 : at);
    }
}

// Stores the nodes that are ready at first in `queue`, and returns how many.
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

// Returns the start of a node all of whose edges have fired.
static int64_t ts__rrun_start(const ts__rrun *run, uint32_t node)
{
    const int64_t at = run->start[node];
    return ts__replay_add(at == TS__NO_TIME ? 0 : at, run->gap[node]);
}

// Runs a node, appends the nodes that become ready to `queue`, and returns its
// new count.
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

// Runs the nodes as they become ready, without limits on resources.
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

// Marks the nodes that did not run, and why.
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
        ts__replay_skips(r)[i] = ends ? TS_SKIP_NOT : TS_SKIP_UNMET;
        r->stats.skipped[TS_SKIP_UNMET] += !ends;
        if (!ends || !run->flags || !(run->flags[i] & TS__RUN_REMOVED))
            continue;
        ts__replay_skips(r)[i] = TS_SKIP_REMOVED;
        r->stats.skipped[TS_SKIP_REMOVED]++;
    }
}

/*
    Finds a cycle. Every stuck node waits for another stuck one, so following
    such edges backwards ends up in a cycle. `before` receives one stuck
    predecessor of each node.
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
        node = from[node]; // now inside the cycle for certain
    const uint32_t first = node;
    const uint32_t ends_at = r->op_count + r->call_count;
    bool ok = true;
    do {
        uint32_t owner = node;
        if (node >= ends_at && node < r->join_first)
            owner = ((const uint32_t *)r->waiters.data)[node - ends_at];
        const uint32_t *const list = (const uint32_t *)r->cycle.data;
        const bool again = r->cycle.count && list[r->cycle.count - 1] == owner;
        if (owner < r->join_first && !again) {
            uint32_t *const to =
                (uint32_t *)ts__rvec_push(&r->allocator, &r->cycle, sizeof *to);
            if (to) *to = owner;
            ok = to != NULL;
        }
        node = from[node];
    } while (ok && node != first);
    ts__rvec_close(&r->allocator, &before);
    return ok;
}

static void ts__cycle_reverse(ts__rvec *cycle)
{
    uint32_t *const list = (uint32_t *)cycle->data;
    size_t count = cycle->count, least = 0;
    // The walk may have started between an operation and its end.
    if (count > 1 && list[0] == list[count - 1]) cycle->count = --count;
    for (size_t i = 1; i < count; i++)
        if (list[i] < list[least]) least = i;
    while (least--) {
        const uint32_t head = list[0];
        memmove(list, list + 1, (count - 1) * sizeof *list);
        list[count - 1] = head;
    }
}
