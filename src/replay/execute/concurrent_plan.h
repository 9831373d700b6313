/* ---- Execution: plan of concurrent operations --------------------------- */

// Recorded contents of a chunk that no replayed operation produces, put in
// place before an operation. The contents that they replace are fetched first
// and compared as if they were final.
typedef struct ts__ex_patch {
    // Operation that needs it; the last one to write there before.
    size_t op, last;
    uint32_t last_region;
    bool expected; // the record has a hash of the replaced contents:
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
    uint8_t *marks;    // of each operation: TS__EX_... flags
    uint64_t *events;  // of operations with TS__EX_HAS_EVENT
    uint64_t barrier;  // event that everything submitted later waits for ...
    uint32_t barriers; // ... number of barriers so far; 0: none
    uint64_t origin;   // the stream on which a graph is built
    bool no_graphs;    // this device does not support graphs
    ts_execution_whole *whole;
} ts__ex_plan;

enum {
    TS__EX_WANTS_EVENT = 1, // others wait for it
    TS__EX_HAS_EVENT = 2,
    TS__EX_RUNS = 4
};

/* Planning: which operations run in a part, and from which contents. */

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
        .hash = { r->recorded[2 * chunk], r->recorded[2 * chunk + 1] },
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

// Prepares what a region must contain before the operation. The contents are
// put in place now, unless an earlier operation of this part uses the region.
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
        if (!ts__ex_needs_recorded(e, r, k, list + 16 * k)) continue;
        // Patches are applied later, so their bytes must stay valid.
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
        memcpy(&r->recorded[2 * k], list + 16 * k, 16);
        ts__ex_set_known(r, k, TS__EX_RECORDED);
    }
    return TS_REASON_NONE;
}

// Notes what a region contains after the operation, as far as the record shows
// it.
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
    // Host memory that a copy only reads is no result.
    r->batch = region->device || writes ? e->batch : 0;
    if (!writes) return;
    for (uint64_t k = 0; k < ts__ex_chunks(r->size); k++) {
        if (list) memcpy(&r->recorded[2 * k], list + 16 * k, 16);
        ts__ex_set_known(r, k, list ? TS__EX_RECORDED : 0);
    }
}

// Plans one operation. Returns TS__EX_OVERLAPS if it belongs into the next
// part.
static ts_reason ts__ex_plan_one(ts_execution *e, ts__ex_plan *p,
                                 ts_execution_item *item)
{
    ts_reason reason = ts__ex_prepare(e, item);
    if (reason != TS__EX_OVERLAPS) ts__ex_advance(e);
    item->digest = e->now.head.order;
    for (uint32_t i = 0; !reason && i < e->now.head.region_count; i++)
        reason =
            ts__ex_plan_before(e, p, &e->now.regions[i], e->regions[i], item);
    for (uint32_t i = 0; !reason && i < e->now.head.region_count; i++)
        ts__ex_plan_after(e, &e->now.regions[i], i, e->regions[i]);
    return reason;
}

// Plans a part from one operation on. Returns the first operation of the next
// part.
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
        if (reason == TS__EX_OVERLAPS) break;
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

// Makes a stream wait for all others of this part.
static ts_result ts__ex_join_streams(ts_execution *e, ts__ex_plan *p,
                                     uint64_t stream)
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

// Makes everything submitted from now on wait for the current work of a stream.
static ts_result ts__ex_barrier(ts_execution *e, ts__ex_plan *p,
                                uint64_t stream)
{
    p->barriers++;
    return ts__ex_event(e, p, stream, &p->barrier);
}

// Applies the patches up to the current operation. This includes those of
// operations that cannot run after all, since later plans rely on them.
static ts_result ts__ex_patches(ts_execution *e, ts__ex_plan *p,
                                ts__ex_stream *own)
{
    const ts_executor *const x = e->desc.executor;
    if (p->patch_at == p->patch_count || p->patches[p->patch_at].op > e->op)
        return TS_OK;
    ts_result result = ts__ex_join_streams(e, p, own->stream);
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

// Makes the stream wait for the operations that have an edge to the current
// one.
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

// Looks up the operation's memory again, all of which exists.
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

// Submits the operations of a part. After a failure, all later ones fail, too.
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
    e->device_hash_end = 0; // those were of another range
    for (uint64_t k = 0; k < ts__ex_chunks(r->size); k++) {
        const size_t size = (size_t)ts__ex_chunk_size(r->size, k);
        const bool recorded = r->known[k] & TS__EX_RECORDED;
        const uint8_t *const hash_after =
            recorded ? (const uint8_t *)&r->recorded[2 * k] : NULL;
        const uint8_t *found;
        const ts_result result =
            ts__ex_hash_chunk(e, item, r, k, &blank, hash_after, &found);
        if (result != TS_OK) return result;
        if (!recorded) continue;
        compared = true;
        ts__ex_compare(e, item, r, r->last_region, k, hash_after, found, size);
    }
    item->compared |= compared;
    p->whole->regions += compared;
    p->whole->regions_different += item->chunks_different != different;
    return TS_OK;
}
