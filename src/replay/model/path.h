/* ---- Model: critical path ----------------------------------------------- */

typedef struct ts__bound { // the edge that held a node back, and its source
    uint32_t from, edge;
} ts__bound;

typedef struct ts__walk {
    ts_replay *replay;
    ts__model *model;
    ts__rrun run; // the graph of the run, its delays and durations
    ts__rvec bounds;
    bool modelled;
    int64_t until; // from here on, every ns belongs to a part
    bool failed;
} ts__walk;

// Returns the start of a node; nodes that were not selected have that of the
// record.
static int64_t ts__walk_start(const ts__walk *w, uint32_t node)
{
    const ts_replay *const r = w->replay;
    return ts__replay_selected(r, node) ? ts__run_start(r)[node]
                                        : ts__replay_time(r)[node];
}

static int64_t ts__walk_end(const ts__walk *w, uint32_t node)
{
    const int64_t start = ts__walk_start(w, node);
    if (!ts__replay_selected(w->replay, node))
        return ts__replay_add(start, ts__replay_duration(w->replay)[node]);
    if (start == TS__NO_TIME) return start;
    return ts__replay_add(start, w->run.duration[node]);
}

static int64_t ts__walk_source(const ts__walk *w, uint32_t node, uint8_t kind)
{
    return kind & TS_EDGE_FROM_START ? ts__walk_start(w, node)
                                     : ts__walk_end(w, node);
}

// Returns the delay of an edge. For a run as recorded, it is the usual delay of
// its class: work that ended just now holds back less than a launch a moment
// earlier.
static int64_t ts__walk_delay(const ts__walk *w, uint32_t from, uint32_t e)
{
    if (w->run.delay) return w->run.delay[e];
    const uint32_t class_of = ts__model_edge_class(w->model, e);
    return ts__model_fixed(w->replay, w->model, from, e) +
           (class_of == TS_NODE_NONE
                ? 0
                : ts__model_class(w->model, class_of)->pub.delay_ns);
}

// Returns when an edge lets its target start.
static int64_t ts__walk_at(const ts__walk *w, ts__bound edge)
{
    return ts__replay_add(
        ts__walk_source(w, edge.from, w->run.kinds[edge.edge]),
        ts__walk_delay(w, edge.from, edge.edge));
}

static bool ts__walk_bounds(ts__walk *w)
{
    const ts_replay *const r = w->replay;
    if (!ts__rvec_fill(&r->allocator, &w->bounds, sizeof(ts__bound),
                       r->node_count, 0xFF))
        return false;
    ts__bound *const bounds = (ts__bound *)w->bounds.data;
    for (uint32_t i = 0; i < r->node_count; i++) {
        if (!ts__rrun_counts(r, i) || ts__walk_start(w, i) == TS__NO_TIME)
            continue;
        for (uint32_t e = w->run.offsets[i]; e < w->run.offsets[i + 1]; e++) {
            ts__bound *const bound = &bounds[w->run.targets[e]];
            const ts__bound found = { i, e };
            // On a tie the launch edge is chosen, as in ts__calibrate_holds.
            const bool launches =
                !w->modelled && TS_EDGE_KIND(w->run.kinds[e]) == TS_EDGE_LAUNCH;
            if (bound->from != TS_NODE_NONE) {
                const int64_t at = ts__walk_at(w, found);
                const int64_t before = ts__walk_at(w, *bound);
                if (at < before || (at == before && !launches)) continue;
            }
            *bound = found;
        }
    }
    return true;
}

// Returns the node to name in a part: for a join the member that determines its
// cost.
static uint32_t ts__walk_owner(const ts_replay *r, uint32_t node)
{
    const uint32_t cost = ts__replay_cost_of(r, node);
    return cost == TS_NODE_NONE ? ts__node_owner(r, node) : cost;
}

static ts_cost ts__cost_of_node(const ts_replay *r, uint32_t node)
{
    if (node >= r->join_first) return TS_COST_COMMUNICATION;
    if (node >= r->op_count) return TS_COST_HOST;
    switch (ts__replay_op(r, node)->kind) {
    case TS_EVENT_KERNEL: return TS_COST_COMPUTE;
    case TS_EVENT_MEMCPY:
    case TS_EVENT_MEMSET: return TS_COST_COPY;
    case TS_EVENT_COLLECTIVE: return TS_COST_COMMUNICATION;
    case TS_EVENT_GRAPH_LAUNCH: return TS_COST_LAUNCH;
    case TS_EVENT_EVENT_RECORD:
    case TS_EVENT_EVENT_WAIT:
    case TS_EVENT_STREAM_SYNC:
    case TS_EVENT_DEVICE_SYNC:
    case TS_EVENT_EVENT_SYNC: return TS_COST_SYNC;
    default: return TS_COST_HOST;
    }
}

// Returns the category of the time between the end of an edge's source and its
// target.
static ts_cost ts__cost_of_edge(const ts__walk *w, uint32_t from, uint32_t to,
                                uint8_t kind)
{
    const ts_replay *const r = w->replay;
    switch (TS_EDGE_KIND(kind)) {
    case TS_EDGE_HOST_ORDER:
    case TS_EDGE_USER: return TS_COST_HOST;
    case TS_EDGE_SELF: return ts__cost_of_node(r, from);
    case TS_EDGE_LAUNCH:
        return to < r->op_count && ts__kind_syncs(ts__replay_op(r, to)->kind)
                   ? TS_COST_HOST
                   : TS_COST_LAUNCH;
    case TS_EDGE_STREAM_ORDER:
        return kind & TS_EDGE_FROM_START ? ts__cost_of_node(r, from)
                                         : TS_COST_LAUNCH;
    case TS_EDGE_GRAPH:
    case TS_EDGE_QUEUE: return TS_COST_LAUNCH;
    case TS_EDGE_COLLECTIVE:
    case TS_EDGE_P2P: return TS_COST_COMMUNICATION;
    default: return TS_COST_SYNC;
    }
}

// Adds a part from `start` to the beginning of the last added part.
static void ts__walk_part(ts__walk *w, int64_t start, uint32_t node,
                          uint32_t edge, bool waits, ts_cost cost)
{
    const int64_t first = w->replay->stats.start_ns;
    if (start < first) start = first;
    if (start >= w->until) return;
    ts_path_part *const part = (ts_path_part *)ts__rvec_push(
        &w->replay->allocator, &w->model->parts, sizeof *part);
    if (!part) {
        w->failed = true;
        return;
    }
    const ts_path_part found = { start, w->until, node, edge, waits, cost };
    *part = found;
    w->model->path.cost_ns[cost] += w->until - start;
    w->until = start;
}

// Returns when a node would have begun if its wait, from `source` on, had taken
// the usual time. Nothing explains the time after that.
static int64_t ts__walk_usual_start(const ts__walk *w, uint32_t node,
                                    int64_t source)
{
    if (!ts__model_is_held(w->model, node)) return w->until;
    const int64_t more = ((const int64_t *)w->model->residual.data)[node];
    const int64_t usual = ts__walk_start(w, node) - (more > 0 ? more : 0);
    return usual > source ? usual : source;
}

// Returns the first time at which the record shows anything of the thread of a
// call. The time before that is no work of the call.
static int64_t ts__walk_thread_begin(const ts_replay *r, uint32_t call)
{
    const ts__replay_lane *const lane =
        ts__replay_lane_at(r, ts__replay_lanes(r)[call]);
    const ts_replay_file *const file = ts__replay_file(r, lane->file);
    int64_t first = ts__replay_time(r)[call] - file->offset_ns;
    ts_chunk_info chunk;
    for (size_t i = 0; ts_reader_chunk(file->reader, i, &chunk); i++) {
        const ts_chunk_header *const h = &chunk.header;
        const bool host = h->event == TS_EVENT_ZONE ||
                          h->event == TS_EVENT_ZONE_OPEN ||
                          h->event == TS_EVENT_API_CALL;
        // A chunk with several tracks may contain the thread, too.
        if (h->kind == TS_CHUNK_EVENTS && host &&
            (!h->track || h->track == lane->track) && chunk.first_ns < first)
            first = chunk.first_ns;
    }
    return first + file->offset_ns;
}

// Whether the delay of an edge rests on too few samples. In a changed graph,
// edges have no class.
static bool ts__walk_assumes(const ts__walk *w, uint32_t e)
{
    if (w->model->offsets.count) return false;
    const uint32_t class_of = ts__model_edge_class(w->model, e);
    if (class_of == TS_NODE_NONE) return false;
    const uint32_t of = ts__model_class(w->model, class_of)->of;
    return ts__model_class(w->model, of)->kept < TS__CLASS_SAMPLES;
}

// Adds the parts between a node and what held it, and returns the latter;
// TS_NODE_NONE: nothing did.
static uint32_t ts__walk_back(ts__walk *w, uint32_t node, bool *from_start)
{
    const uint32_t *const held = (const uint32_t *)w->model->held.data;
    if (w->modelled && w->model->held.count && held[node] != TS_NODE_NONE) {
        *from_start = false;
        return held[node];
    }
    const ts__bound *const bound = (const ts__bound *)w->bounds.data + node;
    const uint32_t owner = ts__walk_owner(w->replay, node);
    if (bound->from == TS_NODE_NONE) {
        if (owner >= w->replay->op_count)
            ts__walk_part(w, ts__walk_thread_begin(w->replay, owner), owner,
                          TS_EDGE_SELF, true, TS_COST_HOST);
        ts__walk_part(w, INT64_MIN, owner, TS_EDGE_SELF, true,
                      TS_COST_UNEXPLAINED);
        return TS_NODE_NONE;
    }
    const uint8_t kind = w->run.kinds[bound->edge];
    *from_start = kind & TS_EDGE_FROM_START;
    const int64_t source = ts__walk_source(w, bound->from, kind);
    ts__walk_part(w,
                  w->modelled ? ts__walk_at(w, *bound)
                              : ts__walk_usual_start(w, node, source),
                  owner, TS_EDGE_KIND(kind), true, TS_COST_UNEXPLAINED);
    if (w->modelled && w->until > source && ts__walk_assumes(w, bound->edge))
        w->model->path.assumed_ns += w->until - source;
    ts__walk_part(w, source, owner, TS_EDGE_KIND(kind), true,
                  ts__cost_of_edge(w, bound->from, node, kind));
    return bound->from;
}

// Returns the end that comes last; on a tie that of the first operation in
// order.
static uint32_t ts__walk_last(const ts__walk *w)
{
    const ts_replay *const r = w->replay;
    uint32_t last = TS_NODE_NONE;
    int64_t latest = 0;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (ts__replay_skips(r)[i] != TS_SKIP_NOT) continue;
        const uint32_t end = ts__replay_end_node(r, i);
        const int64_t at = ts__walk_end(w, end);
        if (last != TS_NODE_NONE && at <= latest) continue;
        last = end;
        latest = at;
    }
    return last;
}

static void ts__walk_all(ts__walk *w)
{
    const ts_replay *const r = w->replay;
    uint32_t node = ts__walk_last(w);
    if (node == TS_NODE_NONE) return;
    w->until = r->stats.end_ns;
    bool from_start = false;
    // Every step goes to an earlier node, so there are at most node_count
    // steps, except where the record has cycles among nodes that are not
    // selected.
    uint32_t last = node;
    for (uint32_t i = 0; i < r->node_count && node != TS_NODE_NONE; i++) {
        if (w->until <= r->stats.start_ns) break;
        last = node;
        if (!from_start)
            ts__walk_part(w, ts__walk_start(w, node), ts__walk_owner(r, node),
                          TS_EDGE_SELF, false, ts__cost_of_node(r, node));
        node = ts__walk_back(w, node, &from_start);
    }
    ts__walk_part(w, r->stats.start_ns, ts__walk_owner(r, last), TS_EDGE_SELF,
                  true, TS_COST_UNEXPLAINED);
}

static void ts__walk_reverse(ts__rvec *parts)
{
    ts_path_part *const all = (ts_path_part *)parts->data;
    for (size_t i = 0, k = parts->count; i + 1 < k; i++) {
        const ts_path_part part = all[i];
        all[i] = all[--k];
        all[k] = part;
    }
}

static ts__model *ts__model_of(ts_replay *r)
{
    if (r->model) return r->model;
    ts__model *const m =
        (ts__model *)r->allocator.resize(r->allocator.user, NULL, 0, sizeof *m);
    if (m) memset(m, 0, sizeof *m);
    return r->model = m;
}

static void ts__model_close(ts_replay *r);
// Returns the calibrated model; NULL: out of memory.
static ts__model *ts__model_calibrated(ts_replay *r)
{
    ts__model *const m = ts__model_of(r);
    if (!m || m->calibrated || ts__model_calibrate(r, m)) return m;
    ts__model_close(r);
    return NULL;
}

// Returns the graph that the last run used.
static ts__rrun ts__model_graph(ts_replay *r)
{
    ts__rrun run = ts__rrun_of(r);
    const ts__model *const m = r->model;
    if (!m->ran) return run;
    run.delay = (const int64_t *)m->delay.data;
    if (!m->offsets.count) return run;
    run.offsets = (const uint32_t *)m->offsets.data;
    run.targets = (const uint32_t *)m->targets.data;
    run.kinds = (const uint8_t *)m->kinds.data;
    return run;
}

TS_API ts_result ts_replay_path(ts_replay *replay, ts_path *path)
{
    if (!replay || !path) return TS_ERR_USAGE;
    if (!replay->start.count) return TS_ERR_STATE;
    ts__model *const m = ts__model_calibrated(replay);
    if (!m) return TS_ERR_MEMORY;
    if (!m->has_path) {
        ts__walk w = { 0 };
        w.replay = replay;
        w.model = m;
        w.run = ts__model_graph(replay);
        w.modelled = m->ran;
        m->parts.count = 0;
        memset(&m->path, 0, sizeof m->path);
        w.failed = !ts__walk_bounds(&w);
        if (!w.failed) ts__walk_all(&w);
        ts__rvec_close(&replay->allocator, &w.bounds);
        if (w.failed) return TS_ERR_MEMORY;
        ts__walk_reverse(&m->parts);
        for (uint32_t i = 0; i < TS_COST_LIMIT; i++)
            if (m->path.cost_ns[i] > m->path.cost_ns[m->path.bound])
                m->path.bound = (ts_cost)i;
        m->has_path = true;
    }
    m->path.parts = (const ts_path_part *)m->parts.data;
    m->path.count = m->parts.count;
    *path = m->path;
    return TS_OK;
}
