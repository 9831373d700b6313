/* ---- 10.86 Execution: operations beside each other ----------------------- */

// Contents that nobody who is replayed made, put in place before an operation.
// What was there until then is looked at as what is there at the end is.
typedef struct ts__ex_patch {
    size_t op, last; // last: what wrote there before
    uint32_t last_region;
    bool expected; // the record has a hash of that:
    uint64_t hash[2];
    ts__ex_range *range;
    uint64_t chunk, size;
    const uint8_t *bytes;
    uint8_t *found;
} ts__ex_patch;

typedef struct ts__ex_plan {
    ts_execution_item *items;
    const ts_execution_edge *edges;
    size_t edge_count, edge_at;
    ts__ex_patch *patches;
    size_t patch_count, patch_capacity, patch_at;
    uint8_t *marks;    // of each operation: TS__EX_...
    uint64_t *events;  // of those with TS__EX_HAS_EVENT
    uint64_t barrier;  // event that what is submitted later waits for ...
    uint32_t barriers; // ... if there was one
    uint64_t origin;   // of a graph
    bool no_graphs;    // this device has none
    ts_execution_whole *whole;
} ts__ex_plan;

enum {
    TS__EX_WANTS_EVENT = 1, // others wait for it
    TS__EX_HAS_EVENT = 2,
    TS__EX_RUNS = 4
};

/* Planning: what runs in a part, from which contents. */

static bool ts__ex_plan_patch(ts_execution *e, ts__ex_plan *p, ts__ex_range *r,
                              uint64_t chunk, const uint8_t *bytes)
{
    const ts_allocator *const a = &e->desc.allocator;
    ts__ex_patch *const more = ts__mem_more(a, p->patches, &p->patch_capacity,
                                            p->patch_count, sizeof *more);
    if (!more) return false;
    p->patches = more;
    ts__ex_patch *const patch = &more[p->patch_count];
    const ts__ex_patch one = {
        .op = e->op,
        .last = r->last,
        .last_region = r->last_region,
        .expected = r->known[chunk] & TS__EX_RECORDED,
        .hash = { r->was[2 * chunk], r->was[2 * chunk + 1] },
        .range = r,
        .chunk = chunk,
        .size = ts__ex_chunk_size(r->size, chunk),
        .bytes = bytes,
    };
    *patch = one;
    if (one.expected) patch->found = ts__mem_get(a, (size_t)one.size);
    p->patch_count += !one.expected || patch->found;
    return !one.expected || patch->found;
}

static void ts__ex_patches_free(ts_execution *e, ts__ex_plan *p)
{
    for (size_t i = 0; i < p->patch_count; i++) {
        const ts__ex_patch *const patch = &p->patches[i];
        if (patch->found)
            ts__mem_put(&e->desc.allocator, patch->found, (size_t)patch->size);
    }
    p->patch_count = p->patch_at = 0;
}

// What a region has to hold before the operation: put there now, if nothing of
// this part uses it earlier.
static ts_reason ts__ex_plan_before(ts_execution *e, ts__ex_plan *p,
                                    const ts_capture_region *region,
                                    ts__ex_range *r, ts_execution_item *item)
{
    if (!ts__ex_is_input(region)) return TS_REASON_NONE;
    const uint8_t *const list = ts__ex_list(e, region->before, region->size);
    ts__ex_blank blank = { 0, false };
    for (uint64_t k = 0; list && k < ts__ex_chunks(r->size); k++) {
        const uint64_t size = ts__ex_chunk_size(r->size, k);
        const bool known = (r->known[k] & ~TS__EX_WRITTEN) != 0;
        if (!ts__ex_wanted(e, r, k, list + 16 * k)) continue;
        // What is put in place later has to stay.
        const bool later = r->batch == e->batch;
        const uint8_t *const bytes =
            ts__ex_bytes(e, list + 16 * k, size, later);
        if (!bytes) return TS_REASON_MEMORY_MISSING;
        p->whole->patched += known || later;
        if (known || later) ts__ex_note_patch(item, r, k);
        if (later) {
            if (!ts__ex_plan_patch(e, p, r, k, bytes))
                return TS_REASON_NO_MEMORY;
        } else if (ts__ex_put(e, r, k, bytes, size, &blank) != TS_OK) {
            return TS_REASON_DEVICE_FAILED;
        }
        memcpy(&r->was[2 * k], list + 16 * k, 16);
        ts__ex_know(r, k, TS__EX_RECORDED);
    }
    return TS_REASON_NONE;
}

// What it holds after the operation, as far as the record knows.
static void ts__ex_plan_after(ts_execution *e, const ts_capture_region *region,
                              uint32_t index, ts__ex_range *r)
{
    const bool changed = memcmp(region->before, region->after, 16);
    const bool writes = region->access & TS_ACCESS_WRITE;
    const uint8_t *const list = ts__ex_list(e, region->after, region->size);
    if (r->batch != e->batch || (writes && changed)) {
        r->last = e->op;
        r->last_region = index;
    }
    // What a copy reads from the host is no result.
    r->batch = region->device || writes ? e->batch : 0;
    if (!writes) return;
    for (uint64_t k = 0; k < ts__ex_chunks(r->size); k++) {
        if (list) memcpy(&r->was[2 * k], list + 16 * k, 16);
        ts__ex_know(r, k, list ? TS__EX_RECORDED : 0);
    }
}

// One operation; TS__EX_MEETS: it belongs into the next part.
static ts_reason ts__ex_plan_one(ts_execution *e, ts__ex_plan *p,
                                 ts_execution_item *item)
{
    ts_reason reason = ts__ex_prepare(e, item);
    if (reason != TS__EX_MEETS) ts__ex_advance(e);
    item->digest = e->now.head.order;
    for (uint32_t i = 0; !reason && i < e->now.head.region_count; i++)
        reason =
            ts__ex_plan_before(e, p, &e->now.regions[i], e->regions[i], item);
    for (uint32_t i = 0; !reason && i < e->now.head.region_count; i++)
        ts__ex_plan_after(e, &e->now.regions[i], i, e->regions[i]);
    return reason;
}

// Everything from one operation to before another, which begins a new part.
static size_t ts__ex_plan_part(ts_execution *e, ts__ex_plan *p, size_t from)
{
    e->batch++;
    ts__ex_patches_free(e, p);
    for (e->op = from; e->op < e->count; e->op++) {
        ts_execution_item *const item = &p->items[e->op];
        memset(item, 0, sizeof *item);
        if (!ts_reader_capture(e->reader, e->captures[e->op], &e->now)) {
            ts__ex_settle(e, item, TS_REASON_BAD_CAPTURE);
            continue;
        }
        if (ts__ex_is_done(&e->now, item)) continue;
        const ts_reason reason = ts__ex_plan_one(e, p, item);
        if (reason == TS__EX_MEETS) break;
        if (reason)
            ts__ex_settle(e, item, reason);
        else
            p->marks[e->op] |= TS__EX_RUNS;
    }
    return e->op;
}

/* Submitting. */

static ts_result ts__ex_event(ts_execution *e, ts__ex_plan *p, uint64_t stream,
                              uint64_t *event)
{
    p->whole->events++;
    return e->desc.executor->event(e->state, stream, event);
}

// A stream waits for all others of this part.
static ts_result ts__ex_gather(ts_execution *e, ts__ex_plan *p, uint64_t stream)
{
    ts_result result = TS_OK;
    for (size_t i = 0; i < e->stream_count && result == TS_OK; i++) {
        const ts__ex_stream *const other = &e->streams[i];
        uint64_t event;
        if (other->batch != e->batch || other->stream == stream) continue;
        result = ts__ex_event(e, p, other->stream, &event);
        if (result == TS_OK)
            result = e->desc.executor->event_wait(e->state, stream, event);
    }
    return result;
}

// What is submitted from now on waits for what the stream has so far.
static ts_result ts__ex_barrier(ts_execution *e, ts__ex_plan *p,
                                uint64_t stream)
{
    p->barriers++;
    return ts__ex_event(e, p, stream, &p->barrier);
}

// Also those of operations before it that cannot run after all: what was
// planned since counts on them.
static ts_result ts__ex_patches(ts_execution *e, ts__ex_plan *p,
                                ts__ex_stream *own)
{
    const ts_executor *const x = e->desc.executor;
    if (p->patch_at == p->patch_count || p->patches[p->patch_at].op > e->op)
        return TS_OK;
    ts_result result = ts__ex_gather(e, p, own->stream);
    for (; result == TS_OK && p->patch_at < p->patch_count &&
           p->patches[p->patch_at].op <= e->op;
         p->patch_at++) {
        const ts__ex_patch *const patch = &p->patches[p->patch_at];
        const uint64_t place =
            patch->range->actual + patch->chunk * TS_CAPTURE_CHUNK;
        const ts_executor_copy fetch = { .destination = (uintptr_t)patch->found,
                                         .source = place,
                                         .size = patch->size,
                                         .to_host = true };
        const ts_executor_copy put = { .destination = place,
                                       .source = (uintptr_t)patch->bytes,
                                       .size = patch->size,
                                       .from_host = true };
        if (patch->found) result = x->copy(e->state, own->stream, &fetch);
        if (result == TS_OK) result = x->copy(e->state, own->stream, &put);
    }
    if (result == TS_OK) result = ts__ex_barrier(e, p, own->stream);
    own->barrier = p->barriers;
    return result;
}

// Lets the operation wait for what it has edges from.
static ts_result ts__ex_edges(ts_execution *e, ts__ex_plan *p, uint64_t stream)
{
    ts_result result = TS_OK;
    while (p->edge_at < p->edge_count && p->edges[p->edge_at].after < e->op)
        p->edge_at++;
    for (; result == TS_OK && p->edge_at < p->edge_count &&
           p->edges[p->edge_at].after == e->op;
         p->edge_at++) {
        const size_t before = p->edges[p->edge_at].before;
        if (p->marks[before] & TS__EX_HAS_EVENT)
            result = e->desc.executor->event_wait(e->state, stream,
                                                  p->events[before]);
    }
    return result;
}

static ts_result ts__ex_submit_one(ts_execution *e, ts__ex_plan *p)
{
    ts__ex_stream *const own = ts__ex_stream_find(e, e->now.head.track);
    ts_result result = own ? TS_OK : TS_ERR_IO;
    if (own && own->batch != e->batch) {
        own->batch = e->batch;
        own->barrier = 0;
        p->whole->streams++;
    }
    if (own && own->barrier != p->barriers)
        result =
            e->desc.executor->event_wait(e->state, own->stream, p->barrier);
    if (own) own->barrier = p->barriers;
    if (result == TS_OK) result = ts__ex_patches(e, p, own);
    if (result == TS_OK) result = ts__ex_edges(e, p, own->stream);
    if (result == TS_OK) result = ts__ex_submit(e);
    if (result != TS_OK || !(p->marks[e->op] & TS__EX_WANTS_EVENT))
        return result;
    p->marks[e->op] |= TS__EX_HAS_EVENT;
    return ts__ex_event(e, p, own->stream, &p->events[e->op]);
}

// Finds the operation's memory again; nothing of it is new.
static bool ts__ex_resume(ts_execution *e, ts_execution_item *item)
{
    if (!ts_reader_capture(e->reader, e->captures[e->op], &e->now))
        return false;
    const ts_capture_operation *const h = &e->now.head;
    if (h->args_size) memcpy(e->args, e->now.args, h->args_size);
    for (uint32_t i = 0; i < h->region_count; i++)
        if (ts__ex_find(e, &e->now.regions[i], &e->regions[i])) return false;
    return !ts__ex_has_args(h) || !ts__ex_rewrite(e, item);
}

// What did not go out takes everything behind it along.
static ts_result ts__ex_submit_part(ts_execution *e, ts__ex_plan *p,
                                    size_t from, size_t to)
{
    ts_result result = TS_OK;
    e->host_at = 0;
    for (e->op = from; e->op < to; e->op++) {
        ts_execution_item *const item = &p->items[e->op];
        if (!(p->marks[e->op] & TS__EX_RUNS)) continue;
        if (result == TS_OK) {
            result = ts__ex_resume(e, item) ? ts__ex_submit_one(e, p)
                                            : TS_ERR_MEMORY;
            if (result == TS_OK)
                __atomic_store_n(&item->running, 1, __ATOMIC_RELEASE);
            else
                ts__ex_settle(e, item, ts__ex_reason(e, result));
        } else {
            ts__ex_settle(e, item, TS_REASON_DEVICE_FAILED);
        }
        if (result != TS_OK) p->marks[e->op] &= (uint8_t)~TS__EX_RUNS;
    }
    if (result == TS_OK && e->stream_count)
        result = ts__ex_patches(e, p, &e->streams[0]);
    return result;
}

/* Afterwards. */

static ts_result ts__ex_end_range(ts_execution *e, ts__ex_plan *p,
                                  ts__ex_range *r)
{
    ts_execution_item *const item = &p->items[r->last];
    const uint64_t different = item->chunks_different;
    bool compared = false;
    ts__ex_blank blank = { 0, false };
    e->told_end = 0; // of other memory
    for (uint64_t k = 0; k < ts__ex_chunks(r->size); k++) {
        const size_t size = (size_t)ts__ex_chunk_size(r->size, k);
        const bool recorded = r->known[k] & TS__EX_RECORDED;
        const uint8_t *const want =
            recorded ? (const uint8_t *)&r->was[2 * k] : NULL;
        const uint8_t *found;
        const ts_result result =
            ts__ex_take(e, item, r, k, &blank, want, &found);
        if (result != TS_OK) return result;
        if (!recorded) continue;
        compared = true;
        ts__ex_compare(e, item, r, r->last_region, k, want, found, size);
    }
    item->compared |= compared;
    p->whole->regions += compared;
    p->whole->regions_different += item->chunks_different != different;
    return TS_OK;
}

// Looks at what a patch took the place of.
static void ts__ex_end_patch(ts_execution *e, ts__ex_plan *p,
                             const ts__ex_patch *patch)
{
    ts_execution_item *const item = &p->items[patch->last];
    const XXH128_hash_t sum = XXH3_128bits(patch->found, (size_t)patch->size);
    const uint64_t is[2] = { sum.low64, sum.high64 };
    if (!(p->marks[patch->last] & TS__EX_RUNS) ||
        !memcmp(is, patch->hash, sizeof is))
        return;
    p->items[patch->op].patched_different++;
    memcpy(&patch->range->is[2 * patch->chunk], is, sizeof is);
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

// Looks at what a part left, in the order of operations: the digest has one.
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

/* All of it. */

// How long all of them may take, `count` times: told to who watches.
static uint32_t ts__ex_limit(const ts_execution *e, ts_execution_whole *whole,
                             uint32_t count)
{
    const uint64_t once = e->desc.timeout_ms + whole->alone_ns / 500000;
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

// Declines all but what ended the device.
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
    One after another. False: one of them ended the device, and all are
    declined. Otherwise nothing is left of it but what the device has learned.
*/
static bool ts__ex_alone(ts_execution *e, ts_execution_item *items,
                         ts_execution_whole *whole)
{
    const uint32_t loops = e->desc.loops;
    e->desc.loops = 1;
    for (size_t i = 0; i < e->count; i++) {
        const uint64_t begin = ts__ex_now();
        ts_execution_run(e, i, &items[i]);
        whole->alone_ns += ts__ex_now() - begin;
        __atomic_add_fetch(&whole->alone, 1, __ATOMIC_RELEASE);
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
    e->order = 0; // from the beginning
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
    if (result == TS_OK) result = ts__ex_gather(e, p, p->origin);
    // It has to end whatever became of it.
    const ts_result ended = x->graph_end(e->state, p->origin, graph);
    return result != TS_OK ? result : ended;
}

/*
    A device may refuse a graph that still runs: then the launch before is
    given the time of one, and looked at closely, as what launches take is
    measured. *left: those that may not be over.
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
    // One that failed leaves those before it, which use memory of the host.
    const ts_result waited = ts__ex_wait(e, once * (left ? left : 1));
    return waited != TS_OK ? waited : result;
}

// Once to compare, and then for the time.
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

// Nothing runs any more on a device that does not answer.
static void ts__ex_give_up(ts_execution *e, ts__ex_plan *p, size_t from)
{
    for (size_t i = from; i < e->count; i++) {
        p->items[i].outcome = TS_OUTCOME_DECLINED;
        p->items[i].reason = TS_REASON_DEVICE_FAILED;
    }
}

static ts_result ts__ex_parts(ts_execution *e, ts__ex_plan *p, char *why,
                              size_t room)
{
    for (size_t from = 0, to; from < e->count; from = to) {
        to = ts__ex_plan_part(e, p, from);
        p->whole->parts++;
        if (e->as_graph && to < e->count) {
            snprintf(why, room,
                     "memory was freed and taken again before operation %zu "
                     "of them, so that they are more than one graph",
                     to);
            return TS_ERR_UNSUPPORTED;
        }
        ts_result result = e->as_graph ? ts__ex_run_graph(e, p, to)
                                       : ts__ex_run_part(e, p, from, to);
        if (p->no_graphs) {
            snprintf(why, room, "this device of %s has no graphs",
                     e->desc.executor->name);
            return TS_ERR_UNSUPPORTED;
        }
        if (result == TS_OK && !e->as_graph) result = ts__ex_end_part(e, p);
        ts__ex_settle_part(e, p, from, to, result);
        if (e->lost) {
            ts__ex_give_up(e, p, to);
            return TS_OK; // the items say it
        }
        ts__ex_drop_hosts(e);
    }
    return TS_OK;
}

TS_API ts_result ts_execution_run_together(ts_execution *e,
                                           const ts_execution_edge *edges,
                                           size_t edge_count, bool graph,
                                           ts_execution_item *items,
                                           ts_execution_whole *whole, char *why,
                                           size_t room)
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
        if (ts__ex_alone(e, items, whole))
            result = ts__ex_parts(e, &p, why, room);
    }
    ts__mem_put(a, p.marks, e->count + 1);
    ts__mem_put(a, p.events, (e->count + 1) * sizeof *p.events);
    if (!e->lost) ts__ex_patches_free(e, &p); // else it may yet be written
    ts__mem_put(a, p.patches, p.patch_capacity * sizeof *p.patches);
    return result;
}
