/* ---- Execution: submitting ---------------------------------------------- */

// Finds or makes the stream of a track. Returns NULL if out of memory, or if
// the device cannot make one.
static ts__ex_stream *ts__ex_stream_find(ts_execution *e, uint32_t track)
{
    for (size_t i = 0; i < e->stream_count; i++)
        if (e->streams[i].track == track) return &e->streams[i];
    ts__ex_stream *const more =
        ts__mem_more(&e->desc.allocator, e->streams, &e->stream_capacity,
                     e->stream_count, sizeof *more);
    if (!more) return NULL;
    e->streams = more;
    ts_track t;
    ts__ex_stream made = { .track = track };
    uint64_t flags = 0;
    if (ts_reader_track(e->reader, track, &t)) flags = t.flags;
    made.device = ts__ex_device(e, ts__ex_device_track(e, track));
    // In a graph all edges are explicit, so streams have no legacy semantics.
    if (e->as_graph)
        flags = (flags & ~(uint64_t)TS_STREAM_LEGACY_DEFAULT) |
                TS_STREAM_NON_BLOCKING;
    if (e->desc.executor->stream(e->state, made.device, flags, &made.stream) !=
        TS_OK)
        return NULL;
    more[e->stream_count] = made;
    return &more[e->stream_count++];
}

static ts_result ts__ex_launch(ts_execution *e, uint64_t stream,
                               const ts_capture_node *n)
{
    const ts_capture_operation *const h = &n->head;
    const ts__ex_module *const m = ts__ex_module_find(e, h->image);
    if (!m || m->reason) return TS_ERR_NOT_FOUND;
    const ts_executor_launch launch = {
        .module = m->module,
        .function = h->function,
        .name = ts_reader_name(e->reader, h->name).text,
        .grid = h->grid,
        .block = h->block,
        .shared = h->shared,
        .args_size = h->args_size,
        .param_count = n->index ? 0 : h->param_count,
        .args = e->args + n->args_at,
        .params = n->index ? NULL : e->now.params,
        .attributes = n->attributes,
    };
    return e->desc.executor->launch(e->state, stream, &launch);
}

// Submits an operation or a node of a graph.
static ts_result ts__ex_submit_node(ts_execution *e, uint64_t stream,
                                    const ts_capture_node *n)
{
    const ts_capture_operation *const h = &n->head;
    const ts_executor *const x = e->desc.executor;
    if (!h->kind) return TS_OK; // an empty node, which only orders others
    if (h->kind == TS_EVENT_KERNEL) return ts__ex_launch(e, stream, n);
    // A map operation, for example, may move nothing.
    if (!h->size && !e->now.head.region_count) return TS_OK;
    ts__ex_end to, from;
    if (!ts__ex_translate(e, n, false, &to)) return TS_ERR_CORRUPT;
    if (h->kind == TS_EVENT_MEMSET) {
        const ts_executor_set set = { to.actual, h->size, h->value,
                                      n->attributes };
        return x->set(e->state, stream, &set);
    }
    if (!ts__ex_translate(e, n, true, &from)) return TS_ERR_CORRUPT;
    const ts_executor_copy copy = {
        .destination = to.actual,
        .source = from.actual,
        .size = h->size,
        .to_host = to.host,
        .from_host = from.host,
        .attributes = n->attributes,
    };
    return x->copy(e->state, stream, &copy);
}

/*
    Branches of a graph run concurrently, each on a stream. A node goes to the
    lane of a predecessor that no other node follows yet; otherwise to a lane
    without nodes of this launch; otherwise to the lane whose last node is the
    oldest. It waits by events for its predecessors on other lanes.
*/

typedef struct ts__ex_step { // a node of a graph
    uint32_t lane;
    uint32_t waiting; // number of lanes that still have to wait for its event
    uint64_t event;
} ts__ex_step;

typedef struct ts__ex_launched { // a launch of a graph in progress
    ts__ex_step *steps;
    uint32_t count;
    uint64_t owner; // the launch's own stream, which is lane `own`
    size_t own;
    uint64_t begin; // event before the first node
    bool has_begun; // `begin` is valid
} ts__ex_launched;

// Adds a lane to a launch, on the launch's own stream or on a new one. Returns
// NULL if out of memory, or if the device cannot make a stream.
static ts__ex_lane *ts__ex_lane_add(ts_execution *e, uint64_t owner,
                                    uint32_t device, bool own)
{
    ts__ex_lane *const more =
        ts__mem_more(&e->desc.allocator, e->lanes, &e->lane_capacity,
                     e->lane_count, sizeof *more);
    if (!more) return NULL;
    e->lanes = more;
    ts__ex_lane lane = { .owner = owner, .stream = owner, .device = device };
    if (!own &&
        e->desc.executor->stream(e->state, device, TS_STREAM_NON_BLOCKING,
                                 &lane.stream) != TS_OK)
        return NULL;
    more[e->lane_count] = lane;
    return &more[e->lane_count++];
}

// Returns the lane for a node that cannot continue the lane of a predecessor.
static size_t ts__ex_lane_free(ts_execution *e, const ts__ex_launched *l,
                               uint32_t device)
{
    size_t used = 0, oldest = SIZE_MAX;
    for (size_t i = 0; i < e->lane_count; i++) {
        const ts__ex_lane *const lane = &e->lanes[i];
        if (lane->owner != l->owner) continue;
        used += lane->tail != 0;
        if (lane->device != device) continue;
        if (oldest == SIZE_MAX || lane->tail < e->lanes[oldest].tail)
            oldest = i;
    }
    // Prefer an existing lane that has no node of this launch yet.
    const bool room = used < TS__EX_LANES || oldest == SIZE_MAX;
    if (oldest != SIZE_MAX && (!e->lanes[oldest].tail || !room)) return oldest;
    const ts__ex_lane *const made = ts__ex_lane_add(e, l->owner, device, false);
    return made ? (size_t)(made - e->lanes) : oldest;
}

// Returns the lane for a node; SIZE_MAX: none.
static size_t ts__ex_lane_of(ts_execution *e, const ts__ex_launched *l,
                             const ts_capture_node *n, uint32_t device)
{
    size_t found = SIZE_MAX;
    uint32_t latest = 0;
    for (uint32_t i = 0; i < n->after_count; i++) {
        const uint32_t before = n->after[i];
        const uint32_t lane = l->steps[before].lane;
        if (e->lanes[lane].tail != before + 1 || before + 1 <= latest ||
            e->lanes[lane].device != device)
            continue;
        latest = before + 1;
        found = lane;
    }
    return found != SIZE_MAX ? found : ts__ex_lane_free(e, l, device);
}

// Sets `needed` of each other lane to the last node there that this node waits
// for, counted from 1; 0: none.
static void ts__ex_find_predecessors(ts_execution *e, const ts__ex_launched *l,
                                     const ts_capture_node *n)
{
    for (size_t i = 0; i < e->lane_count; i++)
        e->lanes[i].needed = 0;
    for (uint32_t i = 0; i < n->after_count; i++) {
        const uint32_t before = n->after[i];
        ts__ex_lane *const lane = &e->lanes[l->steps[before].lane];
        if (l->steps[before].lane != l->steps[n->index - 1].lane &&
            before + 1 > lane->needed)
            lane->needed = before + 1;
    }
}

// Returns the device of a node; a node has a track if its device differs from
// the launch's.
static uint32_t ts__ex_node_device(const ts_execution *e,
                                   const ts_capture_node *n, uint32_t own)
{
    for (uint32_t i = 0; n->head.track && i < e->device_count; i++)
        if (e->devices[i] == n->head.track) return i;
    return own;
}

// Assigns a lane to each node, and counts how many wait for each.
static bool ts__ex_branch(ts_execution *e, ts__ex_launched *l, uint32_t device)
{
    ts_capture_node n = { .index = 0 };
    for (size_t i = 0; i < e->lane_count; i++)
        e->lanes[i].tail = 0;
    while (ts_capture_node_next(&e->now, &n)) {
        const size_t lane =
            ts__ex_lane_of(e, l, &n, ts__ex_node_device(e, &n, device));
        if (lane == SIZE_MAX) return false;
        l->steps[n.index - 1].lane = (uint32_t)lane;
        e->lanes[lane].tail = n.index;
        ts__ex_find_predecessors(e, l, &n);
        for (size_t i = 0; i < e->lane_count; i++)
            if (e->lanes[i].needed) l->steps[e->lanes[i].needed - 1].waiting++;
    }
    return true;
}

// Records an event after the current work of a lane. Spare events of the same
// device are reused.
static ts_result ts__ex_record_event(ts_execution *e, const ts__ex_lane *lane,
                                     uint64_t *event)
{
    const ts_executor *const x = e->desc.executor;
    for (size_t i = 0; i < e->event_count; i++) {
        if (e->events[i].device != lane->device) continue;
        *event = e->events[i].event;
        e->events[i] = e->events[--e->event_count];
        return x->event_again(e->state, lane->stream, *event);
    }
    *event = 0;
    return x->event(e->state, lane->stream, event);
}

// Makes an event spare after everything that waits for it has been submitted.
static void ts__ex_spare_event(ts_execution *e, uint32_t device, uint64_t event)
{
    ts__ex_spare *const more =
        ts__mem_more(&e->desc.allocator, e->events, &e->event_capacity,
                     e->event_count, sizeof *more);
    if (!more) return; // the event is not reused
    e->events = more;
    more[e->event_count++] = (ts__ex_spare){ event, device };
}

// Makes a lane wait for the predecessors of a node on other lanes.
static ts_result ts__ex_wait_nodes(ts_execution *e, ts__ex_launched *l,
                                   const ts_capture_node *n)
{
    const ts_executor *const x = e->desc.executor;
    const size_t own = l->steps[n->index - 1].lane;
    const ts__ex_lane *const lane = &e->lanes[own];
    ts_result result = TS_OK;
    ts__ex_find_predecessors(e, l, n);
    if (!n->after_count && own != l->own && !lane->tail)
        result = x->event_wait(e->state, lane->stream, l->begin);
    for (size_t i = 0; i < e->lane_count && result == TS_OK; i++) {
        if (!e->lanes[i].needed) continue;
        ts__ex_step *const step = &l->steps[e->lanes[i].needed - 1];
        result = x->event_wait(e->state, lane->stream, step->event);
        if (--step->waiting == 0)
            ts__ex_spare_event(e, e->lanes[i].device, step->event);
        if (own == l->own) e->lanes[i].joined = e->lanes[i].needed;
    }
    return result;
}

static ts_result ts__ex_submit_branches(ts_execution *e, ts__ex_launched *l)
{
    ts_capture_node n = { .index = 0 };
    ts_result result = TS_OK;
    for (size_t i = 0; i < e->lane_count; i++) {
        l->has_begun |= e->lanes[i].tail && i != l->own;
        e->lanes[i].tail = e->lanes[i].joined = 0;
    }
    // Recorded before all nodes: other lanes begin after this event.
    if (l->has_begun)
        result = ts__ex_record_event(e, &e->lanes[l->own], &l->begin);
    while (result == TS_OK && ts_capture_node_next(&e->now, &n)) {
        ts__ex_step *const step = &l->steps[n.index - 1];
        ts__ex_lane *const lane = &e->lanes[step->lane];
        result = ts__ex_wait_nodes(e, l, &n);
        if (result == TS_OK) result = ts__ex_submit_node(e, lane->stream, &n);
        lane->tail = n.index;
        if (result == TS_OK && step->waiting)
            result = ts__ex_record_event(e, lane, &step->event);
    }
    return result;
}

// Makes the launch's own stream wait for all of its lanes.
static ts_result ts__ex_join_branches(ts_execution *e, const ts__ex_launched *l)
{
    ts_result result = TS_OK;
    uint64_t event;
    for (size_t i = 0; i < e->lane_count && result == TS_OK; i++) {
        const ts__ex_lane *const lane = &e->lanes[i];
        if (i == l->own || !lane->tail || lane->joined == lane->tail) continue;
        result = ts__ex_record_event(e, lane, &event);
        if (result == TS_OK)
            result = e->desc.executor->event_wait(e->state, l->owner, event);
        if (result == TS_OK) ts__ex_spare_event(e, lane->device, event);
    }
    if (result == TS_OK && l->has_begun)
        ts__ex_spare_event(e, e->lanes[l->own].device, l->begin);
    return result;
}

// Submits the nodes of a graph launch with its branches on several streams.
static ts_result ts__ex_submit_graph(ts_execution *e, uint64_t stream,
                                     uint32_t device)
{
    const ts_allocator *const a = &e->desc.allocator;
    ts_capture_node n = { .index = 0 };
    ts__ex_launched l = { .owner = stream, .own = 0 };
    while (ts_capture_node_next(&e->now, &n))
        l.count = n.index;
    while (l.own < e->lane_count && e->lanes[l.own].stream != stream)
        l.own++;
    if (l.own == e->lane_count && !ts__ex_lane_add(e, stream, device, true))
        return TS_ERR_MEMORY;
    const size_t size = ((size_t)l.count + 1) * sizeof *l.steps;
    l.steps = ts__mem_get(a, size);
    if (!l.steps) return TS_ERR_MEMORY;
    memset(l.steps, 0, size);
    ts_result result = ts__ex_branch(e, &l, device) ? TS_OK : TS_ERR_MEMORY;
    if (result == TS_OK) result = ts__ex_submit_branches(e, &l);
    if (result == TS_OK) result = ts__ex_join_branches(e, &l);
    ts__mem_put(a, l.steps, size);
    return result;
}

static ts_result ts__ex_submit(ts_execution *e)
{
    const ts_capture *const c = &e->now;
    const ts__ex_stream *const own = ts__ex_stream_find(e, c->head.track);
    if (!own) return TS_ERR_IO;
    const uint64_t stream = own->stream;
    ts_capture_node node = { .index = 0 };
    ts_result result = TS_OK;
    if (c->head.kind != TS_EVENT_GRAPH_LAUNCH) {
        node.head = c->head;
        node.attributes = c->attributes;
        return ts__ex_submit_node(e, stream, &node);
    }
    if (e->desc.executor->event_again)
        return ts__ex_submit_graph(e, stream, own->device);
    // One after another: the list is in an order that all edges allow.
    while (result == TS_OK && ts_capture_node_next(c, &node))
        result = ts__ex_submit_node(e, stream, &node);
    return result;
}
