/*
    sync.c - needless and overly wide synchronisations

    The operations that the host issued and its synchronisations are read in
    order of time. For each stream the state holds when all work issued to it
    ends; for each device, which of its streams received work since it was last
    waited for.
*/
#include "tools/analyze/figures/time/sync.h"

#include "tools/analyze/figures/base/call_class.h"
#include "tools/analyze/figures/base/lanes.h"

typedef struct sync_stream {
    int64_t end_ns; // end of all work issued so far
    bool listed;    // it is in the list of its device
    bool any;       // work was issued since the last wait for it
    size_t next;    // next listed stream of the device, plus 1
} sync_stream;

typedef struct sync_event { // an event of the host
    int64_t time_ns;
    // Operation issued; TS_NODE_NONE: a synchronisation begins.
    uint32_t operation;
    size_t item;
} sync_event;

typedef struct sync_walk {
    sync_result *r;
    const ts_replay *replay;
    const ts_timeline *timeline;
    names_index *names;
    ts_graph graph;
    lanes lanes;
    sync_stream *streams; // one more for operations without a stream
    size_t *devices;      // first listed stream, plus 1; one more as well
    uint32_t *item_of;    // item by operation and call, plus 1
    // By call: it launched a kernel, or several operations.
    bool *launches;
    sync_event *events;
    size_t event_count;
    bool failed;
    size_t item_room;
} sync_walk;

static bool is_sync(ts_event_kind kind)
{
    return kind == TS_EVENT_STREAM_SYNC || kind == TS_EVENT_DEVICE_SYNC ||
           kind == TS_EVENT_EVENT_SYNC;
}

/* ---- Items --------------------------------------------------------------- */

static bool add_item(sync_walk *w, sync_item item)
{
    sync_result *const r = w->r;
    if (item.function == TS_NODE_NONE) return false;
    if (call_class_of(w->names->groups[item.function].text) == CALL_QUERY)
        item.finding = SYNC_POLL;
    if (!cli_grow(&r->items, &w->item_room, r->count + 1, sizeof *r->items))
        return false;
    item.zone = item.waited_for = TS_NODE_NONE;
    r->items[r->count++] = item;
    w->item_of[item.node] = (uint32_t)r->count;
    return true;
}

static uint32_t function_of(const sync_walk *w, const ts_node *call)
{
    return names_add(w->names, w->replay, call->file, TS_EVENT_API_CALL,
                     call->name);
}

// Adds a synchronisation that is an operation of the trace. It lasts as long as
// its call.
static bool add_operation(sync_walk *w, uint32_t index, const ts_operation *op)
{
    ts_node call;
    sync_item item = { .node = index,
                       .file = op->file,
                       .thread = op->thread,
                       .function = w->names->of[index],
                       .start_ns = op->recorded_start_ns,
                       .end_ns = op->recorded_end_ns };
    if (op->call != TS_NODE_NONE &&
        ts_replay_node(w->replay, op->call, &call) && call.name) {
        item.function = function_of(w, &call);
        item.thread = call.track;
        item.start_ns = call.recorded_ns;
        item.end_ns = call.recorded_ns + call.duration_ns;
        if (item.end_ns < op->recorded_end_ns)
            item.end_ns = op->recorded_end_ns;
    }
    if (!add_item(w, item)) return false;
    if (op->call != TS_NODE_NONE) w->item_of[op->call] = (uint32_t)w->r->count;
    return true;
}

// Marks calls that launch kernels or graphs, whose duration is no wait.
static bool mark_launches(sync_walk *w)
{
    const uint32_t first = w->graph.operation_count;
    ts_operation op;
    bool *const any = calloc((size_t)w->graph.call_count + 1, 1);
    w->launches = calloc((size_t)w->graph.call_count + 1, 1);
    for (size_t i = 0;
         any && w->launches && ts_replay_operation(w->replay, i, &op); i++) {
        if (op.call == TS_NODE_NONE || !names_works(op.kind)) continue;
        w->launches[op.call - first] |= any[op.call - first] ||
                                        op.kind == TS_EVENT_KERNEL ||
                                        op.kind == TS_EVENT_COLLECTIVE;
        any[op.call - first] = true;
    }
    const bool ok = any && w->launches;
    free(any);
    return ok;
}

// Adds a blocking call, known from the graph, without an operation of its own.
static bool add_call(sync_walk *w, uint32_t node)
{
    ts_node call;
    if (w->item_of[node] || w->launches[node - w->graph.operation_count] ||
        !ts_replay_node(w->replay, node, &call))
        return true;
    const sync_item item = { .node = node,
                             .file = call.file,
                             .thread = call.track,
                             .function = function_of(w, &call),
                             .start_ns = call.recorded_ns,
                             .end_ns = call.recorded_ns + call.duration_ns };
    return add_item(w, item);
}

static bool take_items(sync_walk *w)
{
    const ts_graph *const g = &w->graph;
    ts_operation op;
    ts_node end;
    for (uint32_t i = 0; ts_replay_operation(w->replay, i, &op); i++)
        if (is_sync(op.kind) && !add_operation(w, i, &op)) return false;
    for (uint32_t i = 0; i < g->node_count; i++)
        for (uint32_t e = g->offsets[i]; e < g->offsets[i + 1]; e++)
            if (TS_EDGE_KIND(g->kinds[e]) == TS_EDGE_SYNC &&
                ts_replay_node(w->replay, g->targets[e], &end) &&
                end.type == TS_NODE_END && end.owner >= g->operation_count &&
                !add_call(w, end.owner))
                return false;
    return true;
}

/* ---- Streams ------------------------------------------------------------- */

static bool take_streams(sync_walk *w)
{
    if (!lanes_open(&w->lanes, w->replay)) return false;
    w->streams = calloc(w->lanes.stream_count + 1, sizeof *w->streams);
    w->devices = calloc(w->lanes.device_count + 1, sizeof *w->devices);
    if (!w->streams || !w->devices) return false;
    for (size_t i = 0; i <= w->lanes.stream_count; i++)
        w->streams[i].end_ns = INT64_MIN;
    return true;
}

static void issue(sync_walk *w, const ts_operation *op)
{
    const size_t at = lanes_stream(&w->lanes, op);
    sync_stream *const s = &w->streams[at];
    size_t *const first =
        &w->devices[lanes_device(&w->lanes, op->file, op->device)];
    if (op->recorded_end_ns > s->end_ns) s->end_ns = op->recorded_end_ns;
    s->any = true;
    if (s->listed) return;
    s->listed = true;
    s->next = *first;
    *first = at + 1;
}

/* ---- Findings ------------------------------------------------------------ */

// Counts the streams of a device that still run work, or received work since
// the last wait.
static void look_at_device(sync_walk *w, const sync_item *item, uint32_t track,
                           uint32_t *working, uint32_t *issued)
{
    size_t *const first =
        &w->devices[lanes_device(&w->lanes, item->file, track)];
    *working = *issued = 0;
    for (size_t at = *first; at;) {
        sync_stream *const s = &w->streams[at - 1];
        *working += s->end_ns > item->start_ns;
        *issued += s->any;
        at = s->next;
        s->any = s->listed = false;
        s->next = 0;
    }
    *first = 0;
}

// Whether it took long although it had nothing to wait for.
static bool is_slow(const sync_item *item)
{
    return item->end_ns - item->start_ns > TS_TIMELINE_SLOW_NS;
}

static sync_finding needless(const sync_item *item, bool issued)
{
    if (is_slow(item)) return SYNC_UNKNOWN;
    return issued ? SYNC_IDLE : SYNC_AGAIN;
}

static void find_by_culprit(const sync_walk *w, sync_item *item)
{
    ts_node node;
    if (!ts_replay_node(w->replay, item->waited_for, &node))
        item->finding = SYNC_UNKNOWN;
    else if (node.recorded_ns + node.duration_ns > item->start_ns)
        item->finding = SYNC_WAITED;
    else
        item->finding = needless(item, true);
}

static void find(sync_walk *w, sync_item *item)
{
    ts_operation op = { 0 };
    uint8_t edge;
    bool inferred;
    item->waited_for =
        ts_timeline_culprit(w->timeline, item->node, &edge, &inferred);
    ts_replay_operation(w->replay, item->node, &op);
    if (item->finding == SYNC_POLL) return;
    if (item->node < w->graph.operation_count &&
        op.kind == TS_EVENT_DEVICE_SYNC) {
        uint32_t issued;
        look_at_device(w, item, op.device, &item->streams, &issued);
        item->finding = item->streams > 1    ? SYNC_WAITED
                        : item->streams == 1 ? SYNC_WIDE
                                             : needless(item, issued);
    } else if (item->node < w->graph.operation_count &&
               op.kind == TS_EVENT_STREAM_SYNC) {
        sync_stream *const s = &w->streams[lanes_stream(&w->lanes, &op)];
        item->finding =
            s->end_ns > item->start_ns ? SYNC_WAITED : needless(item, s->any);
        s->any = false;
    } else {
        find_by_culprit(w, item);
    }
}

static int by_time(const void *left, const void *right)
{
    const sync_event *const a = left, *const b = right;
    if (a->time_ns != b->time_ns) return a->time_ns < b->time_ns ? -1 : 1;
    if (a->operation != b->operation)
        return a->operation < b->operation ? -1 : 1;
    return (a->item > b->item) - (a->item < b->item);
}

static uint64_t time_of(const void *event)
{
    return cli_sort_signed(((const sync_event *)event)->time_ns);
}

static bool go_through(sync_walk *w)
{
    ts_operation op;
    ts_node call;
    w->events = malloc((w->graph.operation_count + w->r->count + 1) *
                       sizeof *w->events);
    if (!w->events) return false;
    for (uint32_t i = 0; ts_replay_operation(w->replay, i, &op); i++) {
        if (!names_works(op.kind) && op.kind != TS_EVENT_HOST_FUNCTION)
            continue;
        const bool known = op.call != TS_NODE_NONE &&
                           ts_replay_node(w->replay, op.call, &call);
        const sync_event event = { known ? call.recorded_ns
                                         : op.recorded_start_ns,
                                   i, 0 };
        w->events[w->event_count++] = event;
    }
    for (size_t i = 0; i < w->r->count; i++) {
        const sync_event event = { w->r->items[i].start_ns, TS_NODE_NONE, i };
        w->events[w->event_count++] = event;
    }
    cli_sort_by(w->events, w->event_count, sizeof *w->events, time_of, by_time);
    for (size_t i = 0; i < w->event_count; i++) {
        const sync_event *const e = &w->events[i];
        if (e->operation == TS_NODE_NONE)
            find(w, &w->r->items[e->item]);
        else if (ts_replay_operation(w->replay, e->operation, &op))
            issue(w, &op);
    }
    return true;
}

/* ---- Costs --------------------------------------------------------------- */

// Charges the idle time of gaps to their synchronisations.
static void take_gaps(sync_walk *w)
{
    ts_gap gap;
    for (size_t d = 0; ts_timeline_device(w->timeline, d); d++)
        for (size_t i = 0; ts_timeline_gap(w->timeline, d, i, &gap); i++) {
            if (gap.cause != TS_IDLE_HOST_SYNC || gap.culprit == TS_NODE_NONE)
                continue;
            const uint32_t item = w->item_of[gap.culprit];
            if (item)
                w->r->items[item - 1].idle_ns += gap.end_ns - gap.start_ns;
            if (!item || w->r->items[item - 1].finding != SYNC_POLL)
                w->r->idle_ns += gap.end_ns - gap.start_ns;
        }
}

static void take_zone(void *user, const inside_span *span, int64_t from,
                      int64_t to, const inside_frame *frames, uint32_t depth)
{
    sync_walk *const w = user;
    const inside_frame *const zone = inside_zone(frames, depth);
    sync_item *const item = &w->r->items[span->index];
    (void)from;
    (void)to;
    if (w->failed || !zone || item->zone != TS_NODE_NONE) return;
    item->zone =
        names_add(w->names, w->replay, span->file, TS_EVENT_ZONE, zone->id);
    w->failed = item->zone == TS_NODE_NONE;
}

static bool take_zones(sync_walk *w)
{
    inside_span *const spans = malloc((w->r->count + 1) * sizeof *spans);
    size_t count = 0;
    if (!spans) return false;
    for (size_t i = 0; i < w->r->count; i++) {
        const sync_item *const item = &w->r->items[i];
        const inside_span span = {
            item->file, item->thread, item->start_ns, item->start_ns + 1, i, 0
        };
        if (item->thread) spans[count++] = span;
    }
    const bool ok =
        inside_parts(w->replay, spans, count, take_zone, w) && !w->failed;
    free(spans);
    return ok;
}

static int longer_first(const void *left, const void *right)
{
    const sync_site *const a = left, *const b = right;
    if (a->blocked_ns != b->blocked_ns)
        return a->blocked_ns > b->blocked_ns ? -1 : 1;
    return (a->longest > b->longest) - (a->longest < b->longest);
}

static void add_to_site(sync_site *s, const sync_item *item, size_t index,
                        const sync_item *longest)
{
    const int64_t ns = item->end_ns - item->start_ns;
    if (!s->count || ns > longest->end_ns - longest->start_ns)
        s->longest = index;
    s->count++;
    s->blocked_ns += ns;
    s->idle_ns += item->idle_ns;
    s->wide += item->finding == SYNC_WIDE;
    s->polls += item->finding == SYNC_POLL;
    if (!sync_is_needless(item->finding)) return;
    s->needless++;
    s->needless_ns += ns;
}

static bool take_sites(sync_walk *w)
{
    sync_result *const r = w->r;
    sums keys = { 0 };
    bool ok = true;
    for (size_t i = 0; ok && i < r->count; i++) // assigns indices to the sites
        ok = sums_add(&keys,
                      (uint64_t)r->items[i].function << 32 | r->items[i].zone,
                      0, keys.count);
    r->sites = calloc(keys.count + 1, sizeof *r->sites);
    ok = ok && r->sites;
    for (size_t i = 0; ok && i < r->count; i++) {
        const sync_item *const item = &r->items[i];
        const uint64_t key = (uint64_t)item->function << 32 | item->zone;
        const size_t at = (size_t)(sums_find(&keys, key) - keys.rows);
        sync_site *const s = &r->sites[at];
        s->function = item->function;
        s->zone = item->zone;
        add_to_site(s, item, i, &r->items[s->longest]);
        r->counts[item->finding]++;
        r->blocked_ns[item->finding] += item->end_ns - item->start_ns;
    }
    if (ok) r->site_count = keys.count;
    if (ok && r->site_count)
        qsort(r->sites, r->site_count, sizeof *r->sites, longer_first);
    sums_close(&keys);
    return ok;
}

bool sync_open(sync_result *r, const ts_replay *replay,
               const ts_timeline *timeline, names_index *names)
{
    memset(r, 0, sizeof *r);
    sync_walk w = { .r = r,
                    .replay = replay,
                    .timeline = timeline,
                    .names = names,
                    .graph = ts_replay_graph(replay) };
    w.item_of = calloc((size_t)w.graph.node_count + 1, sizeof *w.item_of);
    bool ok = w.item_of && mark_launches(&w) && take_items(&w) &&
              take_streams(&w) && go_through(&w) && take_zones(&w);
    if (ok) take_gaps(&w);
    ok = ok && take_sites(&w) && sync_take_waits(r, replay);
    free(w.item_of);
    free(w.launches);
    free(w.streams);
    free(w.devices);
    lanes_close(&w.lanes);
    free(w.events);
    return ok;
}

void sync_close(sync_result *r)
{
    free(r->items);
    free(r->sites);
    free(r->needless_waits);
    memset(r, 0, sizeof *r);
}

/* ---- Runs without synchronisations --------------------------------------- */

bool sync_without(const sync_result *r, ts_replay *model, bool all,
                  model_figures *figures)
{
    ts_host_span *const spans = malloc((r->count + 1) * sizeof *spans);
    size_t count = 0;
    if (!spans) return false;
    for (size_t i = 0; i < r->count; i++) {
        const sync_item *const item = &r->items[i];
        const ts_host_span span = { item->file, item->thread, item->start_ns,
                                    item->end_ns };
        if (item->thread && (sync_is_needless(item->finding) ||
                             (all && item->finding != SYNC_UNKNOWN &&
                              item->finding != SYNC_POLL)))
            spans[count++] = span;
    }
    const ts_change change = { .type = TS_CHANGE_SPARE,
                               .spans = spans,
                               .span_count = count };
    const bool ok = model_makespan(model, &change, 1, figures);
    free(spans);
    return ok;
}
