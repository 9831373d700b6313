/* ---- Execution: dependencies between streams ----------------------------- */

/*
    Visits the graph with a clock of what is complete before each node. The
    chains of the clocks are the streams of the selected operations. An
    operation has to wait for what its clock has beyond that of its predecessor
    on the stream.
*/
typedef struct ts__stream_order {
    const ts_replay *replay;
    const uint32_t *operations;
    size_t count;
    ts__vclocks clocks;
    ts__vclock **in;   // of each node not yet visited
    ts__vclock **at;   // of each selected operation
    uint32_t *missing; // of each node: predecessors not yet visited
    uint32_t *ready;   // nodes without missing predecessors
    // Of each node: its index in `operations`, else TS_NODE_NONE.
    uint32_t *place;
    uint32_t *chain_of; // of each lane
    uint32_t chains;
    size_t ready_count, done;
} ts__stream_order;

static void *ts__stream_order_fill(const ts__stream_order *a, size_t count,
                                   size_t size, int byte)
{
    void *const made = ts__mem_get(&a->replay->allocator, (count + 1) * size);
    if (made) memset(made, byte, (count + 1) * size);
    return made;
}

static bool ts__stream_order_open(ts__stream_order *a)
{
    const ts_replay *const r = a->replay;
    const size_t nodes = r->node_count;
    a->clocks.allocator = &r->allocator;
    a->in = ts__stream_order_fill(a, nodes, sizeof *a->in, 0);
    a->at = ts__stream_order_fill(a, a->count, sizeof *a->at, 0);
    a->missing = ts__stream_order_fill(a, nodes, sizeof *a->missing, 0);
    a->ready = ts__stream_order_fill(a, nodes, sizeof *a->ready, 0);
    a->place = ts__stream_order_fill(a, nodes, sizeof *a->place, 0xFF);
    a->chain_of =
        ts__stream_order_fill(a, r->lanes.count, sizeof *a->chain_of, 0xFF);
    if (!a->in || !a->at || !a->missing || !a->ready || !a->place ||
        !a->chain_of)
        return false;
    for (uint32_t e = 0; e < ts__replay_offsets(r)[nodes]; e++)
        a->missing[ts__replay_target(r, e)]++;
    for (uint32_t i = 0; i < nodes; i++)
        if (!a->missing[i]) a->ready[a->ready_count++] = i;
    for (size_t i = 0; i < a->count; i++) {
        if (a->operations[i] >= r->op_count) continue;
        a->place[a->operations[i]] = (uint32_t)i;
        uint32_t *const chain =
            &a->chain_of[ts__replay_lanes(r)[a->operations[i]]];
        if (*chain == TS_NODE_NONE) *chain = a->chains++;
    }
    return true;
}

static void ts__stream_order_close(ts__stream_order *a)
{
    const ts_allocator *const m = &a->replay->allocator;
    const size_t nodes = a->replay->node_count + (size_t)1;
    ts__vclocks_close(&a->clocks); // frees all clocks
    ts__mem_put(m, a->in, nodes * sizeof *a->in);
    ts__mem_put(m, a->at, (a->count + 1) * sizeof *a->at);
    ts__mem_put(m, a->missing, nodes * sizeof *a->missing);
    ts__mem_put(m, a->ready, nodes * sizeof *a->ready);
    ts__mem_put(m, a->place, nodes * sizeof *a->place);
    ts__mem_put(m, a->chain_of,
                (a->replay->lanes.count + 1) * sizeof *a->chain_of);
}

// Visits a node and passes its clock on to its successors.
static void ts__stream_order_step(ts__stream_order *a, uint32_t node)
{
    const ts_replay *const r = a->replay;
    ts__vclock *const in = a->in[node], *out = ts__vclock_ref(in);
    const uint32_t place = a->place[node];
    a->in[node] = NULL;
    if (place != TS_NODE_NONE) {
        a->at[place] = ts__vclock_ref(in);
        out = ts__vclock_set(&a->clocks, out,
                             a->chain_of[ts__replay_lanes(r)[node]], place + 1);
    }
    for (uint32_t e = ts__replay_offsets(r)[node];
         e < ts__replay_offsets(r)[node + 1] && !a->clocks.failed; e++) {
        const uint32_t to = ts__replay_target(r, e);
        const uint8_t kind = ts__replay_kind(r, e);
        bool whole;
        if (ts__order_keeps(r, NULL, node, to, kind, &whole))
            a->in[to] =
                ts__vclock_join(&a->clocks, a->in[to], whole ? out : in);
        if (!--a->missing[to]) a->ready[a->ready_count++] = to;
    }
    ts__vclock_unref(&a->clocks, in);
    ts__vclock_unref(&a->clocks, out);
    a->done++;
}

typedef struct ts__stream_order_list {
    ts_execution_edge *edges;
    size_t count, capacity;
} ts__stream_order_list;

static bool ts__stream_order_add(const ts__stream_order *a,
                                 ts__stream_order_list *list, size_t before,
                                 size_t after)
{
    ts_execution_edge *const more =
        ts__mem_more(&a->replay->allocator, list->edges, &list->capacity,
                     list->count, sizeof *more);
    if (!more) return false;
    const ts_execution_edge edge = { before, after };
    list->edges = more;
    more[list->count++] = edge;
    return true;
}

// Adds the edges to one operation. last: its predecessor on the stream.
static bool ts__stream_order_edges(const ts__stream_order *a,
                                   ts__stream_order_list *list, size_t index,
                                   size_t last)
{
    const uint32_t lane = ts__replay_lanes(a->replay)[a->operations[index]];
    const ts__vclock *const before = last < index ? a->at[last] : NULL;
    for (uint32_t c = 0; c < a->chains; c++) {
        const uint32_t epoch = ts__vclock_get(a->at[index], c);
        if (c == a->chain_of[lane] || !epoch || epoch > index ||
            epoch <= ts__vclock_get(before, c))
            continue;
        if (!ts__stream_order_add(a, list, epoch - 1, index)) return false;
    }
    // If nodes wait in a cycle, fall back to the order of the list.
    return a->done == a->replay->node_count || !index ||
           ts__stream_order_add(a, list, index - 1, index);
}

// Lists the edges of all selected operations.
static bool ts__stream_order_collect(const ts__stream_order *a,
                                     ts__stream_order_list *list)
{
    size_t *const last =
        ts__stream_order_fill(a, a->chains, sizeof *last, 0xFF);
    bool ok = last != NULL;
    for (size_t i = 0; ok && i < a->count; i++) {
        if (a->operations[i] >= a->replay->op_count) continue;
        const uint32_t chain =
            a->chain_of[ts__replay_lanes(a->replay)[a->operations[i]]];
        ok = ts__stream_order_edges(a, list, i, last[chain]);
        last[chain] = i;
    }
    ts__mem_put(&a->replay->allocator, last, (a->chains + 1) * sizeof *last);
    return ok;
}

TS_API ts_result ts_execution_edges(const ts_replay *replay,
                                    const uint32_t *operations, size_t count,
                                    ts_execution_edge **edges,
                                    size_t *edge_count)
{
    if (!replay || !edges || !edge_count || (count && !operations))
        return TS_ERR_USAGE;
    ts__stream_order a = { .replay = replay,
                           .operations = operations,
                           .count = count };
    ts__stream_order_list list = { 0 };
    bool ok = count < TS_NODE_NONE && ts__stream_order_open(&a);
    while (ok && a.ready_count && !a.clocks.failed)
        ts__stream_order_step(&a, a.ready[--a.ready_count]);
    ok = ok && !a.clocks.failed && ts__stream_order_collect(&a, &list);
    ts__stream_order_close(&a);
    *edges = NULL;
    *edge_count = 0;
    if (ok && list.count) {
        // ts_execution_edges_free relies on this size.
        *edges = ts__mem_get(&replay->allocator, list.count * sizeof **edges);
        ok = *edges != NULL;
        if (ok) memcpy(*edges, list.edges, list.count * sizeof **edges);
        if (ok) *edge_count = list.count;
    }
    ts__mem_put(&replay->allocator, list.edges,
                list.capacity * sizeof *list.edges);
    return ok ? TS_OK : TS_ERR_MEMORY;
}

TS_API void ts_execution_edges_free(const ts_replay *replay,
                                    ts_execution_edge *edges, size_t count)
{
    if (replay) ts__mem_put(&replay->allocator, edges, count * sizeof *edges);
}

#endif // TRACESMITH_REPLAY_IMPLEMENTATION
