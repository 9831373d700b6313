/* ---- Model: changes ----------------------------------------------------- */

enum {
    TS__ALTER_REMOVED =
        TS__RUN_REMOVED,    // has no duration and no delays before it
    TS__ALTER_LAUNCHED = 2, // its launch has no latency
    TS__ALTER_FUSED = 4,    // needs no launch
    TS__ALTER_FREE = 8,     // a blocking call that no longer waits
    TS__ALTER_LED = 16      // an edge of the run leads to it
};

typedef struct ts__alter {
    ts_replay *replay;
    ts__model *model;
    const ts_replay_run_desc *desc;
    int64_t *duration; // of each node
    int64_t *delay;    // of each edge of the record
    uint8_t *flags;    // of each node
    ts_ratio *host;    // of each part: factor for time of the host
    uint32_t *lane_of; // of each operation; NULL: no operation moves
    ts__rvec flag_bytes, hosts, lanes_moved;
    ts__rvec edges; // ts__alter_edge: added by changes
    ts__rvec spans; // ts_host_span: sorted, disjoint
    ts__rvec cuts;  // uint16_t of each operation: bits of edge kinds
    ts__rsort sort;
    bool plain; // no edge is cut, no host time spared or scaled
} ts__alter;

typedef struct ts__alter_edge {
    uint32_t from, to;
    uint8_t kind;
    int64_t delay;
} ts__alter_edge;

static bool ts__change_selects(const ts_change *change, uint32_t op)
{
    return !change->operations || change->operations[op];
}

// Returns value * num / den rounded half up, also below zero, and clamped to
// the largest time.
static int64_t ts__ratio_of(ts_ratio ratio, int64_t value)
{
    if (!ratio.den || ratio.num == ratio.den) return value;
    const bool minus = value < 0;
    const uint64_t v = minus ? (uint64_t)-value : (uint64_t)value;
    // v is below 2^63 and num below 2^32, so the doubled product is below 2^96.
    const ts__wide product =
        ts__wide_product((int64_t)v, ratio.num * UINT64_C(2));
    const ts__wide sum =
        ts__wide_divide(ts__wide_add(product, (int64_t)ratio.den - minus),
                        ratio.den * UINT64_C(2));
    const int64_t result = ts__wide_clamp(sum, TS__REPLAY_SUM_MAX);
    return minus ? -result : result;
}

// Returns value * num / den rounded half up, without overflow. num and den must
// not be negative.
static int64_t ts__share_of(int64_t value, int64_t num, int64_t den)
{
    // Both are shifted down together; 31 bits of the ratio are precise enough.
    while (num > INT32_MAX || den > INT32_MAX) {
        num /= 2;
        den = den > 1 ? den / 2 : 1;
    }
    const ts_ratio ratio = { (uint32_t)num, (uint32_t)den };
    return ts__ratio_of(ratio, value);
}

// Returns the delay that the class of an edge would give it.
static int64_t ts__alter_class_delay(const ts__alter *a, uint32_t from,
                                     uint32_t to, uint8_t kind)
{
    ts__class_key key = ts__class_of_edge(a->replay, from, to, kind);
    for (;;) {
        const uint32_t at =
            ts__rmap_get(&a->model->known, XXH3_64bits(&key, sizeof key));
        if (at != TS_NODE_NONE)
            return ts__model_class(a->model, at)->pub.delay_ns;
        if (key.level == 2) return ts__edge_assumed(TS_EDGE_KIND(kind));
        key = ts__class_coarser(&key);
    }
}

static bool ts__alter_edge_add(ts__alter *a, uint32_t from, uint32_t to,
                               uint32_t kind, int64_t delay)
{
    ts__alter_edge *const edge = (ts__alter_edge *)ts__rvec_push(
        &a->replay->allocator, &a->edges, sizeof *edge);
    if (!edge) return false;
    edge->from = from;
    edge->to = to;
    edge->kind = (uint8_t)kind;
    edge->delay = delay;
    return true;
}

/* Host time that a change saves. */

static int ts__span_compare(const void *left, const void *right)
{
    const ts_host_span *const a = (const ts_host_span *)left;
    const ts_host_span *const b = (const ts_host_span *)right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static bool ts__alter_spare(ts__alter *a, const ts_change *change)
{
    for (size_t i = 0; i < change->span_count; i++) {
        ts_host_span *const to = (ts_host_span *)ts__rvec_push(
            &a->replay->allocator, &a->spans, sizeof *to);
        if (!to) return false;
        *to = change->spans[i];
    }
    return true;
}

// Sorts the spans of all changes and merges those that touch.
static void ts__alter_spans_merge(ts__alter *a)
{
    ts_host_span *const all = (ts_host_span *)a->spans.data;
    size_t count = 0;
    if (!a->spans.count) return;
    qsort(all, a->spans.count, sizeof *all, ts__span_compare);
    for (size_t i = 1; i < a->spans.count; i++) {
        ts_host_span *const last = &all[count];
        if (all[i].file != last->file || all[i].thread != last->thread ||
            all[i].start_ns > last->end_ns)
            all[++count] = all[i];
        else if (all[i].end_ns > last->end_ns)
            last->end_ns = all[i].end_ns;
    }
    a->spans.count = count + 1;
}

// Returns the index of the first span of a thread that ends after `time`.
static size_t ts__alter_span_after(const ts__alter *a, uint32_t file,
                                   uint32_t thread, int64_t time)
{
    const ts_host_span *const all = (const ts_host_span *)a->spans.data;
    size_t low = 0, high = a->spans.count;
    while (low < high) {
        const size_t middle = ts__middle(low, high);
        const ts_host_span *const s = &all[middle];
        ts__halve(
            &low, &high,
            s->file < file || (s->file == file && s->thread < thread) ||
                (s->file == file && s->thread == thread && s->end_ns <= time));
    }
    return low;
}

// Returns how much of [from, to) a change saves on the thread of a node.
static int64_t ts__alter_spared(const ts__alter *a, uint32_t node, int64_t from,
                                int64_t to)
{
    if (!a->spans.count || to <= from) return 0;
    const ts_replay *const r = a->replay;
    const ts__replay_lane *const lane =
        ts__replay_lane_at(r, ts__replay_lanes(r)[node]);
    const ts_host_span *const all = (const ts_host_span *)a->spans.data;
    int64_t sum = 0;
    for (size_t i = ts__alter_span_after(a, lane->file, lane->track, from);
         i < a->spans.count; i++) {
        if (all[i].file != lane->file || all[i].thread != lane->track ||
            all[i].start_ns >= to)
            break;
        const int64_t first = all[i].start_ns > from ? all[i].start_ns : from;
        const int64_t last = all[i].end_ns < to ? all[i].end_ns : to;
        sum += last - first;
    }
    return sum;
}

// Shortens calls by the time saved in them. A blocking call that returned
// within a span no longer waits.
static void ts__alter_spare_calls(const ts__alter *a)
{
    const ts_replay *const r = a->replay;
    for (uint32_t i = r->op_count; i < r->op_count + r->call_count; i++) {
        const int64_t start = ts__replay_time(r)[i], end = ts__replay_end(r, i);
        const bool waits = ts__replay_flags(r)[i] & TS__NODE_WAITS;
        if (!waits)
            a->duration[i] -= ts__alter_spared(a, i, start, end);
        else if (ts__alter_spared(a, i, end - 1, end))
            a->flags[i] |= TS__ALTER_FREE;
        if (a->duration[i] < 0) a->duration[i] = 0;
    }
}

// Returns the duration of a blocking call that no longer waits: its recorded
// duration less the time saved.
static int64_t ts__alter_free(const ts__alter *a, uint32_t call)
{
    const ts_replay *const r = a->replay;
    const int64_t start = ts__replay_time(r)[call];
    const int64_t end = ts__replay_time(r)[ts__replay_end_node(r, call)];
    return end - start - ts__alter_spared(a, call, start, end);
}

/* Edges that a change removes. */

static bool ts__alter_cut(ts__alter *a, const ts_change *change)
{
    const ts_replay *const r = a->replay;
    if (!a->cuts.count && !ts__rvec_fill(&r->allocator, &a->cuts,
                                         sizeof(uint16_t), r->op_count, 0))
        return false;
    uint16_t *const cuts = (uint16_t *)a->cuts.data;
    for (uint32_t i = 0; i < r->op_count; i++)
        if (ts__change_selects(change, i)) cuts[i] |= (uint16_t)change->edges;
    return true;
}

static bool ts__alter_is_cut(const ts__alter *a, uint32_t from, uint32_t to,
                             uint32_t base)
{
    const ts_replay *const r = a->replay;
    if (!a->cuts.count || base == TS_EDGE_SELF) return false;
    const uint16_t *const cuts = (const uint16_t *)a->cuts.data;
    const uint32_t one = ts__node_owner(r, from);
    const uint32_t other = ts__node_owner(r, to);
    return (one < r->op_count && cuts[one] >> base & 1) ||
           (other < r->op_count && cuts[other] >> base & 1);
}

/* Durations. */

// Sets the duration of each member of a rendezvous to that of the rendezvous,
// since the time spent waiting for the others is not part of its own work.
static void ts__alter_rendezvous(const ts__alter *a)
{
    const ts_replay *const r = a->replay;
    for (size_t i = 0; i < r->joined.count; i++) {
        const uint32_t join = r->join_first + (uint32_t)i;
        const int64_t least = a->duration[ts__replay_cost_of(r, join)];
        for (uint32_t e = ts__replay_offsets(r)[join];
             e < ts__replay_offsets(r)[join + 1]; e++)
            a->duration[ts__node_owner(r, ts__replay_target(r, e))] = least;
    }
}
