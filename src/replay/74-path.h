/* ---- 10.34 Replay: critical path and steps ------------------------------- */

typedef struct ts__bound { // what held a node
    int64_t at;
    uint32_t from, edge;
} ts__bound;

typedef struct ts__walk {
    ts_replay *replay;
    ts__model *model;
    ts__rrun run; // its graph, delays and durations
    ts__rvec bounds;
    bool modelled;
    int64_t until; // all from here on has its part
    bool failed;
} ts__walk;

// Times of what was not selected are those of the record.
static int64_t ts__walk_start(const ts__walk *w, uint32_t node)
{
    const ts_replay *const r = w->replay;
    return ts__replay_selected(r, node) ? ((const int64_t *)r->start.data)[node]
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

// What an edge adds. In the record that is what its class usually takes: work
// that ended just now holds back less than a launch a moment before.
static int64_t ts__walk_delay(const ts__walk *w, uint32_t e)
{
    if (w->run.delay) return w->run.delay[e];
    const uint32_t class_of = ts__model_classes(w->model)[e];
    return ts__model_fixed(w->model)[e] +
           (class_of == TS_NODE_NONE
                ? 0
                : ts__model_class(w->model, class_of)->pub.delay_ns);
}

static bool ts__walk_bounds(ts__walk *w)
{
    const ts_replay *const r = w->replay;
    if (!ts__rvec_fill(&r->allocator, &w->bounds, sizeof(ts__bound),
                       r->node_count, 0xFF))
        return false;
    ts__bound *const bounds = (ts__bound *)w->bounds.data;
    for (uint32_t i = 0; i < r->node_count; i++) {
        if (!ts__rrun_heeds(r, i) || ts__walk_start(w, i) == TS__NO_TIME)
            continue;
        for (uint32_t e = w->run.offsets[i]; e < w->run.offsets[i + 1]; e++) {
            ts__bound *const bound = &bounds[w->run.targets[e]];
            int64_t at = ts__walk_source(w, i, w->run.kinds[e]);
            at = ts__replay_add(at, ts__walk_delay(w, e));
            // At equal times it is the launch, as where delays are found.
            const bool launches =
                !w->modelled && TS_EDGE_KIND(w->run.kinds[e]) == TS_EDGE_LAUNCH;
            if (bound->from != TS_NODE_NONE &&
                (at < bound->at || (at == bound->at && !launches)))
                continue;
            const ts__bound found = { at, i, e };
            *bound = found;
        }
    }
    return true;
}

// What stands for a node in a part: a meeting's measure for its join.
static uint32_t ts__walk_owner(const ts_replay *r, uint32_t node)
{
    const uint32_t cost = ts__replay_cost_of(r, node);
    return cost == TS_NODE_NONE ? ts__settle_owner(r, node) : cost;
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

// The time between what held a node and the node.
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

// Everything from `start` up to what has its part already.
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

// When a node would have begun if its wait, from `source` on, had been as long
// as such waits are: what comes after that, nothing explains.
static int64_t ts__walk_usual(const ts__walk *w, uint32_t node, int64_t source)
{
    if (!ts__model_is_held(w->model, node)) return w->until;
    const int64_t more = ((const int64_t *)w->model->residual.data)[node];
    const int64_t usual = ts__walk_start(w, node) - (more > 0 ? more : 0);
    return usual > source ? usual : source;
}

// When the record shows anything of the thread of a call for the first time;
// what was before is no work of the call.
static int64_t ts__walk_begun(const ts_replay *r, uint32_t call)
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
        // One of several tracks may have it, too.
        if (h->kind == TS_CHUNK_EVENTS && host &&
            (!h->track || h->track == lane->track) && chunk.first_ns < first)
            first = chunk.first_ns;
    }
    return first + file->offset_ns;
}

// Whether the record shows too few cases of the delay of an edge. Edges that
// changes move have no class.
static bool ts__walk_assumes(const ts__walk *w, uint32_t e)
{
    if (w->model->offsets.count) return false;
    const uint32_t class_of = ts__model_classes(w->model)[e];
    if (class_of == TS_NODE_NONE) return false;
    const uint32_t of = ts__model_class(w->model, class_of)->of;
    return ts__model_class(w->model, of)->kept < TS__CLASS_SAMPLES;
}

// From a node to what held it; TS_NODE_NONE: nothing did.
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
            ts__walk_part(w, ts__walk_begun(w->replay, owner), owner,
                          TS_EDGE_SELF, true, TS_COST_HOST);
        ts__walk_part(w, INT64_MIN, owner, TS_EDGE_SELF, true,
                      TS_COST_UNEXPLAINED);
        return TS_NODE_NONE;
    }
    const uint8_t kind = w->run.kinds[bound->edge];
    *from_start = kind & TS_EDGE_FROM_START;
    const int64_t source = ts__walk_source(w, bound->from, kind);
    ts__walk_part(w, w->modelled ? bound->at : ts__walk_usual(w, node, source),
                  owner, TS_EDGE_KIND(kind), true, TS_COST_UNEXPLAINED);
    if (w->modelled && w->until > source && ts__walk_assumes(w, bound->edge))
        w->model->path.assumed_ns += w->until - source;
    ts__walk_part(w, source, owner, TS_EDGE_KIND(kind), true,
                  ts__cost_of_edge(w, bound->from, node, kind));
    return bound->from;
}

// The end that comes last, of the operation first in order.
static uint32_t ts__walk_last(const ts__walk *w)
{
    const ts_replay *const r = w->replay;
    uint32_t last = TS_NODE_NONE;
    int64_t latest = 0;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (ts__replay_op(r, i)->skip != TS_SKIP_NOT) continue;
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
    // Every step goes to a node before: more than there are cannot be, except
    // where the record has circles in what is frozen.
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

static void ts__walk_turn(ts__rvec *parts)
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
// One that knows what is usual; NULL: out of memory.
static ts__model *ts__model_calibrated(ts_replay *r)
{
    ts__model *const m = ts__model_of(r);
    if (!m || m->calibrated || ts__model_calibrate(r, m)) return m;
    ts__model_close(r);
    return NULL;
}

// The graph that the last run used.
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
        ts__walk_turn(&m->parts);
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

/* Steps. */

typedef struct ts__step_zone {
    int64_t start_ns;
    uint64_t number;
    ts_text name;
} ts__step_zone;

// "ProfilerStep#12"
static bool ts__step_number(ts_text name, uint64_t *number)
{
    static const char begin[] = "ProfilerStep#";
    const size_t size = sizeof begin - 1;
    if (name.size <= size || memcmp(name.text, begin, size)) return false;
    *number = 0;
    for (size_t i = size; i < name.size; i++) {
        if (name.text[i] < '0' || name.text[i] > '9') return false;
        *number = *number * 10 + (uint64_t)(name.text[i] - '0');
    }
    return true;
}

static bool ts__steps_any_zone(const ts_reader *reader)
{
    const ts_info *const info = ts_reader_info(reader);
    uint64_t number;
    uint32_t found = 0;
    for (uint32_t i = 1; found < info->site_count; i++) {
        if (!ts_reader_site(reader, i)) {
            if (i > info->site_count) break;
            continue;
        }
        found++;
        if (ts__step_number(ts_reader_site_name(reader, i), &number))
            return true;
    }
    return false;
}

// The steps of a file in order of start, one of each number.
static bool ts__steps_read(ts_replay *r, ts__model *m, uint32_t file)
{
    const ts_replay_file *const f = ts__replay_file(r, file);
    const bool zones = ts__steps_any_zone(f->reader);
    if (!zones && !ts_reader_info(f->reader)->counts[TS_EVENT_FRAME])
        return true;
    const ts_filter filter = { .kinds =
                                   zones ? TS_FILTER(ZONE) : TS_FILTER(FRAME) };
    ts_cursor *cursor;
    if (ts_cursor_open(&cursor, f->reader, &filter) != TS_OK) return false;
    ts_event event;
    bool ok = true;
    while (ok && ts_cursor_next(cursor, &event)) {
        ts__step_zone zone = { ts__replay_add(event.start_ns, f->offset_ns),
                               m->step_zones.count,
                               { "frame", 5 } };
        if (zones) {
            zone.name = ts_reader_site_name(
                f->reader, (uint32_t)ts_event_value(&event, TS_COLUMN_SITE));
            if (!ts__step_number(zone.name, &zone.number)) continue;
        }
        const size_t count = m->step_zones.count;
        const ts__step_zone *const all = m->step_zones.data;
        // The profiler marks a step on the host's and the device's side.
        if (count && all[count - 1].number == zone.number) continue;
        ts__step_zone *const to = (ts__step_zone *)ts__rvec_push(
            &r->allocator, &m->step_zones, sizeof *to);
        ok = to != NULL;
        if (ok) *to = zone;
    }
    ts_cursor_close(cursor);
    return ok;
}

// The step in which the host issued an operation.
static size_t ts__steps_find(const ts__model *m, int64_t issue)
{
    const ts__step_zone *const zones =
        (const ts__step_zone *)m->step_zones.data;
    size_t low = 0, high = m->step_zones.count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (zones[middle].start_ns <= issue)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void ts__steps_times(const ts_replay *r, ts__model *m)
{
    ts_step *const steps = (ts_step *)m->steps.data;
    const size_t count = m->steps.count;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        if (op->skip != TS_SKIP_NOT) continue;
        ts_step *const step = &steps[ts__steps_find(m, ts__alter_issue(r, i))];
        const int64_t end = ts__op_end(r, i), was = ts__replay_end(r, i);
        if (!step->operations++ || end > step->end_ns) step->end_ns = end;
        if (step->operations == 1 || was > step->recorded_ns)
            step->recorded_ns = was;
    }
    int64_t last = r->stats.start_ns, was = r->stats.recorded_start_ns;
    for (size_t i = 0; i < count; i++) {
        ts_step *const step = &steps[i];
        step->start_ns = last;
        if (!step->operations || step->end_ns < last) step->end_ns = last;
        const int64_t recorded = step->operations && step->recorded_ns > was
                                     ? step->recorded_ns
                                     : was;
        step->recorded_ns = recorded - was;
        last = step->end_ns;
        was = recorded;
    }
}

static void ts__steps_costs(const ts_path *path, ts_step *steps, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < path->count; i++) {
        int64_t from = path->parts[i].start_ns;
        const int64_t to = path->parts[i].end_ns;
        while (from < to && at < count) {
            const int64_t end = to < steps[at].end_ns ? to : steps[at].end_ns;
            if (end > from)
                steps[at].cost_ns[path->parts[i].cost] += end - from;
            if (end > from) from = end;
            if (from >= steps[at].end_ns) at++;
        }
    }
}

TS_API ts_result ts_replay_steps(ts_replay *replay, const ts_step **steps,
                                 size_t *count)
{
    ts_path path;
    if (!replay || !steps || !count) return TS_ERR_USAGE;
    *count = 0;
    *steps = NULL;
    if (!replay->start.count) return TS_ERR_STATE;
    ts__model *const m = ts__model_of(replay);
    if (!m) return TS_ERR_MEMORY;
    for (uint32_t i = 0; !m->looked_for_steps && i < replay->files.count; i++) {
        if (!ts__steps_read(replay, m, i)) return TS_ERR_MEMORY;
        if (m->step_zones.count) break;
    }
    m->looked_for_steps = true;
    // Without steps nobody wants the path, which takes time and memory.
    if (!m->step_zones.count) return TS_OK;
    const ts_result result = ts_replay_path(replay, &path);
    if (result != TS_OK) return result;
    if (!m->has_steps) {
        const size_t zones = m->step_zones.count;
        if (!ts__rvec_fill(&replay->allocator, &m->steps, sizeof(ts_step),
                           zones, 0))
            return TS_ERR_MEMORY;
        for (size_t i = 0; i < zones; i++) {
            const ts__step_zone *const zone =
                (const ts__step_zone *)m->step_zones.data + i;
            ((ts_step *)m->steps.data)[i].name = zone->name;
            ((ts_step *)m->steps.data)[i].number = zone->number;
        }
        if (zones) ts__steps_times(replay, m);
        ts__steps_costs(&path, (ts_step *)m->steps.data, zones);
        m->has_steps = true;
    }
    *steps = (const ts_step *)m->steps.data;
    *count = m->steps.count;
    return TS_OK;
}

/* ---- 10.35 Replay: the run of a model ------------------------------------ */

static void ts__model_forget(ts_replay *r)
{
    ts__model *const m = r->model;
    if (!m) return;
    m->ran = m->has_path = m->has_steps = false;
    m->held.count = m->extra.count = m->inserted.count = m->offsets.count = 0;
}

static void ts__model_close(ts_replay *r)
{
    ts__model *const m = r->model;
    if (!m) return;
    ts__rvec *const vecs[] = {
        &m->classes,  &m->edge_class, &m->fixed,         &m->hold,
        &m->residual, &m->is_held,    &m->known.entries, &m->offsets,
        &m->targets,  &m->kinds,      &m->delay,         &m->gap,
        &m->held,     &m->parts,      &m->extra,         &m->inserted,
        &m->steps,    &m->step_zones
    };
    for (size_t i = 0; i < sizeof vecs / sizeof vecs[0]; i++)
        ts__rvec_close(&r->allocator, vecs[i]);
    r->allocator.resize(r->allocator.user, m, sizeof *m, 0);
    r->model = NULL;
}

static bool ts__change_ok(const ts_replay *r, const ts_change *change)
{
    if (change->factor.num && !change->factor.den) return false;
    if ((change->type == TS_CHANGE_INSERT || change->has_ns) &&
        (change->ns < 0 || change->ns > TS__REPLAY_TIME_MAX))
        return false;
    if (change->one_part && change->part >= r->parts.count) return false;
    for (size_t i = 0; change->sooner_ns && i < r->parts.count; i++)
        if (change->sooner_ns[i] < 0 ||
            change->sooner_ns[i] > TS__REPLAY_TIME_MAX)
            return false;
    for (size_t i = 0; i < change->span_count; i++)
        if (change->spans[i].end_ns < change->spans[i].start_ns) return false;
    return change->type >= TS_CHANGE_SCALE && change->type <= TS_CHANGE_BEGIN;
}

static int64_t ts__model_extra(const ts_replay *r, uint32_t op)
{
    if (!r->model || !r->model->extra.count) return 0;
    return ((const int64_t *)r->model->extra.data)[op];
}

// How much sooner than in the record a node begins to which no edge leads.
static int64_t ts__model_sooner(const ts_replay *r, uint32_t node,
                                const ts_replay_run_desc *desc)
{
    int64_t sum = 0;
    for (size_t i = 0; i < desc->change_count; i++) {
        const ts_change *const change = &desc->changes[i];
        if (change->type == TS_CHANGE_BEGIN && change->sooner_ns &&
            node < r->op_count + r->call_count)
            sum = ts__replay_add(
                sum, change->sooner_ns[ts__replay_part_of(r, node)]);
    }
    return sum;
}

// What no edge of the record leads to starts when it did, or later if a
// change or a selection gave it something to wait for.
static void ts__model_gaps(ts__rrun *run, const ts__model *m,
                           const ts_replay_run_desc *desc)
{
    const ts_replay *const r = run->replay;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const bool led_to = run->gap[i] != TS__NO_TIME;
        run->gap[i] = 0;
        if (ts__model_is_held(m, i) && led_to) {
            run->gap[i] = ((const int64_t *)m->gap.data)[i];
            continue;
        }
        const int64_t begin = ts__replay_add(ts__replay_time(r)[i],
                                             -ts__model_sooner(r, i, desc));
        if (run->start[i] < begin) run->start[i] = begin;
    }
}

// An operation that once began sooner than usual still comes after the end of
// what was before it on its stream. In the record it did, so that this
// changes nothing there.
static void ts__model_fifo(const ts__rrun *run, ts__model *m)
{
    const ts_replay *const r = run->replay;
    const int64_t *const gap = (const int64_t *)m->gap.data;
    int64_t *const delay = (int64_t *)m->delay.data;
    for (uint32_t e = 0; e < run->offsets[r->node_count]; e++) {
        const uint32_t to = run->targets[e];
        if (run->kinds[e] == TS_EDGE_STREAM_ORDER && gap[to] < 0 &&
            ts__model_is_held(m, to) && delay[e] != TS__EDGE_OFF &&
            delay[e] < -gap[to])
            delay[e] = -gap[to];
    }
}

static bool ts__model_loop(ts__rrun *run, const ts_replay_run_desc *desc)
{
    ts_replay *const r = run->replay;
    ts__limits limits;
    bool ok = ts__limits_open(&limits, r, desc);
    if (ok && !limits.any) {
        ok = ts__rrun_loop(run);
    } else if (ok) {
        ts__rvec *const held = &r->model->held;
        ok = ts__rvec_fill(&r->allocator, held, sizeof(uint32_t), r->node_count,
                           0xFF) &&
             ts__rrun_timed(run, &limits, (uint32_t *)held->data);
    }
    ts__limits_close(&limits);
    return ok;
}

// What was inserted comes after the end of what it follows.
static void ts__model_inserted(ts_replay *r)
{
    const ts__model *const m = r->model;
    ts_inserted *const all = (ts_inserted *)m->inserted.data;
    for (size_t i = 0; i < m->inserted.count; i++) {
        const int64_t after = ts__op_end(r, all[i].after);
        all[i].start_ns = ts__replay_add(after, all[i].start_ns);
        all[i].end_ns = ts__replay_add(after, all[i].end_ns);
    }
}

static bool ts__model_go(ts_replay *r, const ts_replay_run_desc *desc)
{
    ts__alter alter = { 0 };
    alter.replay = r;
    alter.model = r->model;
    alter.desc = desc;
    bool ok = ts__alter_all(&alter);
    r->model->ran = ok;
    ts__rrun run = ts__model_graph(r);
    if (ok) ok = ts__rrun_open(&run);
    if (ok) {
        ts__model_fifo(&run, r->model);
        ts__rrun_edges(&run);
        ts__model_gaps(&run, r->model, desc);
        ok = ts__model_loop(&run, desc);
    }
    ts__rvec removed = { 0 };
    ok = ok &&
         ts__rvec_reserve(&r->allocator, &removed, sizeof(bool), r->op_count);
    run.removed = (const bool *)removed.data;
    for (uint32_t i = 0; ok && i < r->op_count; i++)
        ((bool *)removed.data)[i] = alter.flags[i] & TS__ALTER_REMOVED;
    ok = ok && ts__rrun_finish(&run);
    if (ok) ts__model_inserted(r);
    ts__rvec_close(&r->allocator, &removed);
    ts__rrun_close(&run);
    ts__alter_close(&alter);
    return ok;
}

static ts_result ts__model_run(ts_replay *r, const ts_replay_run_desc *desc)
{
    for (size_t i = 0; i < desc->change_count; i++)
        if (!ts__change_ok(r, &desc->changes[i])) return TS_ERR_USAGE;
    const ts__model *const m = ts__model_calibrated(r);
    if (!m) return TS_ERR_MEMORY;
    r->stats.unexplained = m->unexplained;
    r->stats.unexplained_ns = m->unexplained_ns;
    return ts__model_go(r, desc) ? TS_OK : TS_ERR_MEMORY;
}

TS_API bool ts_replay_delay(const ts_replay *replay, size_t index,
                            ts_delay *delay)
{
    const ts__model *const m = replay->model;
    if (!m || !m->calibrated || index >= m->classes.count) return false;
    *delay = ts__model_class(m, index)->pub;
    return true;
}

TS_API bool ts_replay_inserted(const ts_replay *replay, size_t index,
                               ts_inserted *inserted)
{
    const ts__model *const m = replay->model;
    if (!m || index >= m->inserted.count) return false;
    *inserted = ((const ts_inserted *)m->inserted.data)[index];
    return true;
}

TS_API const char *ts_cost_name(uint32_t cost)
{
    switch (cost) {
#define TS__X(name, value, text) \
    case value: return text;
        TS_COSTS(TS__X)
#undef TS__X
    default: return "unknown";
    }
}
