/* ---- Execution: concurrent operations ----------------------------------- */

// Compares the contents that a patch replaced with the record.
static void ts__ex_end_patch(ts_execution *e, ts__ex_plan *p,
                             const ts__ex_patch *patch)
{
    ts_execution_item *const item = &p->items[patch->last];
    const XXH128_hash_t sum = XXH3_128bits(patch->found, (size_t)patch->size);
    const uint64_t current[2] = { sum.low64, sum.high64 };
    if (!(p->marks[patch->last] & TS__EX_RUNS) ||
        !memcmp(current, patch->hash, sizeof current))
        return;
    p->items[patch->op].patched_different++;
    memcpy(&patch->range->current[2 * patch->chunk], current, sizeof current);
    ts__ex_compare(e, item, patch->range, patch->last_region, patch->chunk,
                   (const uint8_t *)patch->hash, patch->found,
                   (size_t)patch->size);
}

static int ts__ex_order_last(const void *left, const void *right)
{
    const ts__ex_range *const a = *(ts__ex_range *const *)left;
    const ts__ex_range *const b = *(ts__ex_range *const *)right;
    if (a->last != b->last) return a->last < b->last ? -1 : 1;
    return (a->last_region > b->last_region) -
           (a->last_region < b->last_region);
}

// Compares what a part left with the record, in the order of operations, on
// which the digest depends.
static ts_result ts__ex_end_part(ts_execution *e, ts__ex_plan *p)
{
    ts_result result = TS_OK;
    for (size_t i = 0; i < p->patch_count; i++)
        if (p->patches[i].found) ts__ex_end_patch(e, p, &p->patches[i]);
    if (e->range_count)
        ts__sort(e->ranges, e->range_count, sizeof *e->ranges,
                 ts__ex_order_last);
    for (size_t i = 0; i < e->range_count && result == TS_OK; i++)
        if (e->ranges[i]->batch == e->batch)
            result = ts__ex_end_range(e, p, e->ranges[i]);
    for (size_t i = 0; i < e->host_count && result == TS_OK; i++)
        if (e->hosts[i]->batch == e->batch)
            result = ts__ex_end_range(e, p, e->hosts[i]);
    return result;
}

static void ts__ex_settle_part(ts_execution *e, ts__ex_plan *p, size_t from,
                               size_t to, ts_result result)
{
    const ts_reason reason = ts__ex_reason(e, result);
    for (size_t i = from; i < to; i++) {
        ts_execution_item *const item = &p->items[i];
        if (!(p->marks[i] & TS__EX_RUNS)) continue;
        if (result != TS_ERR_BUSY)
            __atomic_store_n(&item->running, 0, __ATOMIC_RELEASE);
        item->level = item->level ? item->level : 1;
        ts_reader_capture(e->reader, e->captures[i], &e->now);
        ts__ex_settle(e, item, reason);
    }
}

/* Running all operations. */

// Computes how long `count` runs of all operations may take, and reports it to
// whoever watches the process.
static uint32_t ts__ex_limit(const ts_execution *e, ts_execution_whole *whole,
                             uint32_t count)
{
    const uint64_t once = e->desc.timeout_ms + whole->sequential_ns / 500000;
    const uint32_t ms =
        once < UINT32_MAX / count ? (uint32_t)once * count : UINT32_MAX;
    __atomic_store_n(&whole->limit_ms, ms, __ATOMIC_RELEASE);
    return ms;
}

static ts_result ts__ex_wait(ts_execution *e, uint32_t ms)
{
    const ts_result result = e->desc.executor->wait(e->state, ms);
    if (result == TS_ERR_BUSY) e->lost = true;
    return result;
}

// Declines all operations but the one that made the device fail.
static void ts__ex_decline_others(ts_execution *e, ts_execution_item *items,
                                  size_t except)
{
    for (size_t i = 0; i < e->count; i++) {
        if (i == except) continue;
        memset(&items[i], 0, sizeof items[i]);
        items[i].outcome = TS_OUTCOME_DECLINED;
        items[i].reason = TS_REASON_DEVICE_FAILED;
    }
}

/*
    Runs the operations one after another. Returns false if one of them made the
    device fail, in which case all others are declined. Otherwise the results
    are discarded, and only what the executor has loaded and cached is kept.
*/
static bool ts__ex_run_serially(ts_execution *e, ts_execution_item *items,
                                ts_execution_whole *whole)
{
    const uint32_t loops = e->desc.loops;
    e->desc.loops = 1;
    for (size_t i = 0; i < e->count; i++) {
        const uint64_t begin = ts__ex_now();
        ts_execution_run(e, i, &items[i]);
        whole->sequential_ns += ts__ex_now() - begin;
        __atomic_add_fetch(&whole->completed, 1, __ATOMIC_RELEASE);
        if (items[i].reason != TS_REASON_TIMEOUT &&
            items[i].reason != TS_REASON_ESCAPE)
            continue;
        ts__ex_decline_others(e, items, i);
        return false;
    }
    e->desc.loops = loops;
    while (e->range_count)
        ts__ex_drop(e, e->range_count - 1);
    memset(items, 0, e->count * sizeof *items);
    e->order = 0; // start over
    return true;
}

static ts_result ts__ex_run_part(ts_execution *e, ts__ex_plan *p, size_t from,
                                 size_t to)
{
    const uint64_t begin = ts__ex_now();
    p->barriers = 0;
    const ts_result submitted = ts__ex_submit_part(e, p, from, to);
    const ts_result waited = ts__ex_wait(e, ts__ex_limit(e, p->whole, 1));
    p->whole->ns += ts__ex_now() - begin;
    return waited != TS_OK ? waited : submitted;
}

static ts_result ts__ex_build_graph(ts_execution *e, ts__ex_plan *p, size_t to,
                                    uint64_t *graph)
{
    const ts_executor *const x = e->desc.executor;
    p->barriers = 0;
    ts_result result =
        x->stream(e->state, 0, TS_STREAM_NON_BLOCKING, &p->origin);
    if (result == TS_OK) result = x->graph_begin(e->state, p->origin);
    p->no_graphs = result == TS_ERR_UNSUPPORTED;
    if (result != TS_OK) return result;
    result = ts__ex_barrier(e, p, p->origin);
    if (result == TS_OK) result = ts__ex_submit_part(e, p, 0, to);
    if (result == TS_OK) result = ts__ex_join_streams(e, p, p->origin);
    // A graph that was begun has to be ended even after a failure.
    const ts_result ended = x->graph_end(e->state, p->origin, graph);
    return result != TS_OK ? result : ended;
}

/*
    Launches the graph once more. A device may refuse a graph that still runs.
    Then retry for as long as one launch may take, at short intervals, since the
    time of launches is measured. *left: number of launches that may still run.
*/
static ts_result ts__ex_launch_next(ts_execution *e, const ts__ex_plan *p,
                                    uint64_t graph, uint32_t once,
                                    uint32_t *left)
{
    const ts_executor *const x = e->desc.executor;
    const struct timespec pause = { 0, 20000 };
    const uint64_t until = ts__ex_now() + UINT64_C(1000000) * once;
    ts_result result = x->graph_launch(e->state, p->origin, graph);
    if (result == TS_ERR_BUSY) *left = 0;
    while (result == TS_ERR_BUSY && ts__ex_now() < until) {
        nanosleep(&pause, NULL);
        result = x->graph_launch(e->state, p->origin, graph);
    }
    e->lost = result == TS_ERR_BUSY;
    *left += result == TS_OK;
    return result;
}

static ts_result ts__ex_launch_graph(ts_execution *e, ts__ex_plan *p,
                                     uint64_t graph, uint32_t count)
{
    const uint32_t once = ts__ex_limit(e, p->whole, count) / count;
    uint32_t left = 0;
    ts_result result = TS_OK;
    for (uint32_t i = 0; i < count && result == TS_OK; i++)
        result = ts__ex_launch_next(e, p, graph, once, &left);
    if (e->lost) return result;
    // The launches before a failed one still use memory of the host.
    const ts_result waited = ts__ex_wait(e, once * (left ? left : 1));
    return waited != TS_OK ? waited : result;
}

// Runs the graph once for comparison, and then repeatedly to measure its time.
static ts_result ts__ex_run_graph(ts_execution *e, ts__ex_plan *p, size_t to)
{
    const uint32_t loops = e->desc.loops ? e->desc.loops : 1;
    uint64_t graph;
    ts_result result = ts__ex_build_graph(e, p, to, &graph);
    uint64_t begin = ts__ex_now();
    if (result == TS_OK) result = ts__ex_launch_graph(e, p, graph, 1);
    p->whole->ns = ts__ex_now() - begin;
    if (result == TS_OK) result = ts__ex_end_part(e, p);
    begin = ts__ex_now();
    if (result == TS_OK) result = ts__ex_launch_graph(e, p, graph, loops);
    if (result == TS_OK) p->whole->graph_ns = (ts__ex_now() - begin) / loops;
    return result;
}

// Declines the operations from `from` on, since the device does not respond.
static void ts__ex_give_up(ts_execution *e, ts__ex_plan *p, size_t from)
{
    for (size_t i = from; i < e->count; i++) {
        p->items[i].outcome = TS_OUTCOME_DECLINED;
        p->items[i].reason = TS_REASON_DEVICE_FAILED;
    }
}

// Plans, runs and compares the operations part by part.
static ts_result ts__ex_parts(ts_execution *e, ts__ex_plan *p, char *why,
                              size_t room)
{
    for (size_t from = 0, to; from < e->count; from = to) {
        to = ts__ex_plan_part(e, p, from);
        p->whole->parts++;
        if (e->as_graph && to < e->count) {
            snprintf(why, room,
                     "memory was freed and allocated again before operation "
                     "%zu, so that the operations do not form a single graph",
                     to);
            return TS_ERR_UNSUPPORTED;
        }
        ts_result result = e->as_graph ? ts__ex_run_graph(e, p, to)
                                       : ts__ex_run_part(e, p, from, to);
        if (p->no_graphs) {
            snprintf(why, room, "this device of %s does not support graphs",
                     e->desc.executor->name);
            return TS_ERR_UNSUPPORTED;
        }
        if (result == TS_OK && !e->as_graph) result = ts__ex_end_part(e, p);
        ts__ex_settle_part(e, p, from, to, result);
        if (e->lost) {
            ts__ex_give_up(e, p, to);
            return TS_OK; // the items report it
        }
        ts__ex_drop_hosts(e);
    }
    return TS_OK;
}

TS_API ts_result ts_execution_run_concurrent(ts_execution *e,
                                             const ts_execution_edge *edges,
                                             size_t edge_count, bool graph,
                                             ts_execution_item *items,
                                             ts_execution_whole *whole,
                                             char *why, size_t room)
{
    if (!e || !items || !whole || (edge_count && !edges)) return TS_ERR_USAGE;
    const ts_executor *const x = e->desc.executor;
    memset(whole, 0, sizeof *whole);
    if (!x->event || (graph && !x->graph_begin)) {
        snprintf(why, room, "%s has no %s", x->name,
                 x->event ? "graphs" : "events");
        return TS_ERR_UNSUPPORTED;
    }
    const ts_allocator *const a = &e->desc.allocator;
    ts__ex_plan p = {
        .items = items, .edges = edges, .edge_count = edge_count, .whole = whole
    };
    p.marks = ts__mem_get(a, e->count + 1);
    p.events = ts__mem_get(a, (e->count + 1) * sizeof *p.events);
    ts_result result = p.marks && p.events ? TS_OK : TS_ERR_MEMORY;
    if (result == TS_OK) {
        memset(p.marks, 0, e->count + 1);
        memset(items, 0, e->count * sizeof *items);
        for (size_t i = 0; i < edge_count; i++)
            if (edges[i].before < e->count)
                p.marks[edges[i].before] |= TS__EX_WANTS_EVENT;
        e->desc.chain = true;
        e->as_graph = graph;
        if (ts__ex_run_serially(e, items, whole))
            result = ts__ex_parts(e, &p, why, room);
    }
    ts__mem_put(a, p.marks, e->count + 1);
    ts__mem_put(a, p.events, (e->count + 1) * sizeof *p.events);
    // A lost device may still write to them.
    if (!e->lost) ts__ex_patches_free(e, &p);
    ts__mem_put(a, p.patches, p.patch_capacity * sizeof *p.patches);
    return result;
}
