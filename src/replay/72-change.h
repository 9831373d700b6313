/* ---- 10.32 Replay: changes ----------------------------------------------- */

enum {
    TS__ALTER_REMOVED = 1,  // takes no time, what leads to it no delay
    TS__ALTER_LAUNCHED = 2, // launches arrive at once
    TS__ALTER_FUSED = 4,    // needs no launch
    TS__ALTER_FREE = 8      // a call that waits for nothing any more
};

typedef struct ts__alter {
    ts_replay *replay;
    ts__model *model;
    const ts_replay_run_desc *desc;
    int64_t *duration; // of each node
    int64_t *delay;    // of each edge
    uint8_t *flags;    // of each node
    ts_ratio *host;    // of each part
    uint32_t *lane_of; // of each operation, NULL: where it was
    ts__rvec durations, flag_bytes, hosts, lanes_moved;
    ts__rvec edges; // ts__alter_edge: what changes add
    ts__rvec spans; // ts_host_span: sorted, apart from each other
    ts__rvec cuts;  // uint16_t of each operation: kinds of edges
    ts__rsort sort;
} ts__alter;

typedef struct ts__alter_edge {
    uint32_t from, to;
    uint8_t kind;
    int64_t delay;
} ts__alter_edge;

static bool ts__change_means(const ts_change *change, uint32_t op)
{
    return !change->operations || change->operations[op];
}

// value * num / den, half up, also below zero; at most the largest time.
static int64_t ts__ratio_of(ts_ratio ratio, int64_t value)
{
    if (!ratio.den || ratio.num == ratio.den) return value;
    const bool minus = value < 0;
    const uint64_t v = minus ? (uint64_t)-value : (uint64_t)value;
    // Less than 2^96: neither the product nor twice it overflows.
    const ts__uint128 product = (ts__uint128)v * ratio.num * 2;
    const ts__uint128 sum =
        (product + ratio.den - (minus ? 1 : 0)) / ((ts__uint128)ratio.den * 2);
    if (sum > (ts__uint128)TS__REPLAY_SUM_MAX)
        return minus ? -TS__REPLAY_SUM_MAX : TS__REPLAY_SUM_MAX;
    return minus ? -(int64_t)sum : (int64_t)sum;
}

// value * num / den, half up, without overflow; num and den not negative.
static int64_t ts__share_of(int64_t value, int64_t num, int64_t den)
{
    // The high halves are cut off together: 31 bits of a share are enough.
    while (num > INT32_MAX || den > INT32_MAX) {
        num /= 2;
        den = den > 1 ? den / 2 : 1;
    }
    const ts_ratio ratio = { (uint32_t)num, (uint32_t)den };
    return ts__ratio_of(ratio, value);
}

// The delay of a class that an edge would have.
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

/* Time of the host that is spared. */

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

// Sorts the spans of all changes; those that touch become one.
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

// The first span of a node's thread that ends after a moment.
static size_t ts__alter_span_after(const ts__alter *a, uint32_t file,
                                   uint32_t thread, int64_t time)
{
    const ts_host_span *const all = (const ts_host_span *)a->spans.data;
    size_t low = 0, high = a->spans.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const ts_host_span *const s = &all[middle];
        if (s->file < file || (s->file == file && s->thread < thread) ||
            (s->file == file && s->thread == thread && s->end_ns <= time))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// How much of [from, to) the thread of a node is spared.
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

// Calls become shorter; those that return in a span wait for nothing.
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

// What a call that waits takes itself, when it is free: all that it took and
// is not spared.
static int64_t ts__alter_free(const ts__alter *a, uint32_t call)
{
    const ts_replay *const r = a->replay;
    const int64_t start = ts__replay_time(r)[call];
    const int64_t end = ts__replay_time(r)[ts__replay_end_node(r, call)];
    return end - start - ts__alter_spared(a, call, start, end);
}

/* Edges that are cut. */

static bool ts__alter_cut(ts__alter *a, const ts_change *change)
{
    const ts_replay *const r = a->replay;
    if (!a->cuts.count && !ts__rvec_fill(&r->allocator, &a->cuts,
                                         sizeof(uint16_t), r->op_count, 0))
        return false;
    uint16_t *const cuts = (uint16_t *)a->cuts.data;
    for (uint32_t i = 0; i < r->op_count; i++)
        if (ts__change_means(change, i)) cuts[i] |= (uint16_t)change->edges;
    return true;
}

static bool ts__alter_is_cut(const ts__alter *a, uint32_t from, uint32_t to,
                             uint32_t base)
{
    const ts_replay *const r = a->replay;
    if (!a->cuts.count || base == TS_EDGE_SELF) return false;
    const uint16_t *const cuts = (const uint16_t *)a->cuts.data;
    const uint32_t one = ts__settle_owner(r, from);
    const uint32_t other = ts__settle_owner(r, to);
    return (one < r->op_count && cuts[one] >> base & 1) ||
           (other < r->op_count && cuts[other] >> base & 1);
}

/* Durations. */

// Those who met take as long as the meeting took: what they waited is none of
// their own.
static void ts__alter_meetings(const ts__alter *a)
{
    const ts_replay *const r = a->replay;
    for (size_t i = 0; i < r->joined.count; i++) {
        const uint32_t join = r->join_first + (uint32_t)i;
        const int64_t least = a->duration[ts__replay_cost_of(r, join)];
        for (uint32_t e = ts__replay_offsets(r)[join];
             e < ts__replay_offsets(r)[join + 1]; e++)
            a->duration[ts__settle_owner(r, ts__replay_target(r, e))] = least;
    }
}

typedef struct ts__alter_group { // of transfers
    int64_t least, most;
    uint64_t small, large;      // the least and the most bytes of one,
    int64_t small_ns, large_ns; // and the shortest of these
} ts__alter_group;

static void ts__alter_group_add(ts__alter_group *g, int64_t ns, uint64_t size)
{
    if (ns < g->least) g->least = ns;
    if (ns > g->most) g->most = ns;
    if (size < g->small || (size == g->small && ns < g->small_ns)) {
        g->small = size;
        g->small_ns = ns;
    }
    if (size > g->large || (size == g->large && ns < g->large_ns)) {
        g->large = size;
        g->large_ns = ns;
    }
}

/*
    What a transfer of no bytes would take, by those of the least and of the
    most bytes. Where sizes are not known or all alike, that is no more than
    the shortest; where all are about as long, nothing tells what it is, and
    all of each counts as transfer.
*/
static int64_t ts__alter_latency(const ts__alter_group *g)
{
    const uint64_t more = g->large - g->small;
    if (!g->small || more < g->small || more > INT64_MAX)
        return g->most / 2 >= g->least ? g->least : 0;
    if (g->large_ns <= g->small_ns) return g->small_ns;
    const int64_t moved = ts__share_of(g->large_ns - g->small_ns,
                                       (int64_t)g->small, (int64_t)more);
    return moved < g->small_ns ? g->small_ns - moved : 0;
}

// The direction and device of a copy; the communicator of a collective, or, if
// that is not known, its device. `*coll` goes along with ascending operations.
static uint64_t ts__alter_group_key(const ts_replay *r, uint32_t op,
                                    size_t *coll)
{
    const ts__op *const o = ts__replay_op(r, op);
    const ts__coll_op *const all = (const ts__coll_op *)r->collectives.data;
    uint64_t parts[3] = {
        o->kind, ts__replay_lane_at(r, ts__replay_lanes(r)[op])->device, 0
    };
    if (o->kind == TS_EVENT_MEMCPY) {
        parts[2] = o->label;
    } else {
        while (all[*coll].op < op)
            ++*coll;
        parts[2] = all[*coll].communicator;
        if (parts[2]) parts[1] = 0;
    }
    return XXH3_64bits(parts, sizeof parts);
}

static bool ts__alter_is_transfer(const ts_replay *r, const ts_change *change,
                                  uint32_t op)
{
    const uint8_t kind = ts__replay_op(r, op)->kind;
    return (kind == TS_EVENT_MEMCPY || kind == TS_EVENT_COLLECTIVE) &&
           ts__change_means(change, op);
}

static int64_t ts__alter_transferred(const ts_change *change,
                                     const ts__alter_group *g, int64_t own)
{
    int64_t fixed = ts__alter_latency(g);
    if (change->has_ns && fixed == 0 && change->ns < own)
        fixed = change->ns < 0 ? 0 : change->ns;
    if (fixed > own) fixed = own;
    return ts__replay_add(change->has_ns ? change->ns : fixed,
                          ts__ratio_of(change->factor, own - fixed));
}

static bool ts__alter_transfer(ts__alter *a, const ts_change *change)
{
    const ts_replay *const r = a->replay;
    ts__rmap known = { { 0 }, 0 };
    ts__rvec groups = { 0 };
    bool ok = true;
    for (int pass = 0; ok && pass < 2; pass++) {
        size_t coll = 0;
        for (uint32_t i = 0; ok && i < r->op_count; i++) {
            if (!ts__alter_is_transfer(r, change, i)) continue;
            const uint64_t key = ts__alter_group_key(r, i, &coll);
            uint32_t at = ts__rmap_get(&known, key);
            int64_t *const own = &a->duration[i];
            const uint64_t size = change->sizes ? change->sizes[i] : 0;
            if (at == TS_NODE_NONE) {
                const ts__alter_group fresh = { *own, *own, size,
                                                size, *own, *own };
                ts__alter_group *const group = (ts__alter_group *)ts__rvec_push(
                    &r->allocator, &groups, sizeof *group);
                at = (uint32_t)groups.count - 1;
                ok = group && ts__rmap_put(&r->allocator, &known, key, at);
                if (group) *group = fresh;
                continue;
            }
            ts__alter_group *const g = (ts__alter_group *)groups.data + at;
            if (pass)
                *own = ts__alter_transferred(change, g, *own);
            else
                ts__alter_group_add(g, *own, size);
        }
    }
    ts__rvec_close(&r->allocator, &known.entries);
    ts__rvec_close(&r->allocator, &groups);
    return ok;
}

static void ts__alter_scale(const ts__alter *a, const ts_change *change)
{
    for (uint32_t i = 0; i < a->replay->op_count; i++)
        if (ts__change_means(change, i))
            a->duration[i] = ts__ratio_of(change->factor, a->duration[i]);
}

// Calls all of whose operations have a flag get one themselves.
static bool ts__alter_calls(ts__alter *a, uint8_t of_ops, uint8_t of_calls)
{
    const ts_replay *const r = a->replay;
    ts__rvec mixed = { 0 };
    if (!ts__rvec_fill(&r->allocator, &mixed, sizeof(bool), r->call_count, 0))
        return false;
    bool *const other = (bool *)mixed.data;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < r->op_count; i++) {
            const uint32_t call = ts__replay_op(r, i)->call;
            if (call == TS_NODE_NONE) continue;
            const bool has = a->flags[i] & of_ops;
            if (!pass)
                other[call - r->op_count] |= !has;
            else if (has && !other[call - r->op_count])
                a->flags[call] |= of_calls;
        }
    ts__rvec_close(&r->allocator, &mixed);
    return true;
}

static bool ts__alter_remove(ts__alter *a, const ts_change *change)
{
    for (uint32_t i = 0; i < a->replay->op_count; i++) {
        if (!ts__change_means(change, i)) continue;
        a->flags[i] |= TS__ALTER_REMOVED;
        a->duration[i] = 0;
    }
    return ts__alter_calls(a, TS__ALTER_REMOVED, TS__ALTER_REMOVED);
}

static bool ts__alter_no_launch(ts__alter *a, const ts_change *change)
{
    const ts_replay *const r = a->replay;
    for (uint32_t i = 0; i < r->op_count; i++)
        if (ts__change_means(change, i) &&
            !ts__kind_syncs(ts__replay_op(r, i)->kind))
            a->flags[i] |= TS__ALTER_LAUNCHED;
    return ts__alter_calls(a, TS__ALTER_LAUNCHED, TS__ALTER_LAUNCHED);
}

static bool ts__alter_can_follow(const ts_replay *r, uint32_t op)
{
    return ts__kind_works(ts__replay_op(r, op)->kind);
}

// What is inserted behind an operation is held by it: it lasts longer.
static bool ts__alter_insert(ts__alter *a, const ts_change *change,
                             uint32_t index)
{
    ts_replay *const r = a->replay;
    ts__model *const m = a->model;
    if (!ts__rvec_reserve(&r->allocator, &m->extra, sizeof(int64_t),
                          r->op_count))
        return false;
    int64_t *const extra = (int64_t *)m->extra.data;
    if (!m->extra.count) memset(extra, 0, r->op_count * sizeof *extra);
    m->extra.count = r->op_count;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (!ts__change_means(change, i) || !ts__alter_can_follow(r, i) ||
            !ts__replay_selected(r, i))
            continue;
        ts_inserted *const to = (ts_inserted *)ts__rvec_push(
            &r->allocator, &m->inserted, sizeof *to);
        if (!to) return false;
        const int64_t gap =
            ts__alter_class_delay(a, i, i, TS_EDGE_STREAM_ORDER);
        to->after = i;
        to->change = index;
        to->start_ns = ts__replay_add(extra[i], gap); // after its end, so far
        to->end_ns = extra[i] = ts__replay_add(to->start_ns, change->ns);
        const uint32_t call = ts__replay_op(r, i)->call;
        if (call != TS_NODE_NONE &&
            !(ts__replay_flags(r)[call] & TS__NODE_WAITS))
            a->duration[call] =
                ts__replay_add(a->duration[call], ts__replay_duration(r)[call]);
    }
    return true;
}

static void ts__alter_host(const ts__alter *a, const ts_change *change)
{
    for (uint32_t i = 0; i < a->replay->parts.count; i++) {
        if (change->one_part && change->part != i) continue;
        ts_ratio *const h = &a->host[i];
        // Two of these are rare; what does not fit is cut down.
        uint64_t num = (uint64_t)h->num * change->factor.num;
        uint64_t den = (uint64_t)h->den * change->factor.den;
        if (!change->factor.den) continue;
        while (num > UINT32_MAX || den > UINT32_MAX) {
            num /= 2;
            den = den > 1 ? den / 2 : 1;
        }
        h->num = (uint32_t)num;
        h->den = (uint32_t)den;
    }
}

// Of two that follow each other in a stream and are both meant, the second
// needs no launch of its own.
static bool ts__alter_fuse(ts__alter *a, const ts_change *change)
{
    const ts_replay *const r = a->replay;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (!ts__change_means(change, i) || !ts__alter_can_follow(r, i))
            continue;
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++) {
            const uint32_t to = ts__replay_target(r, e);
            if (ts__replay_kind(r, e) == TS_EDGE_STREAM_ORDER &&
                to < r->op_count && ts__change_means(change, to) &&
                ts__alter_can_follow(r, to))
                a->flags[to] |= TS__ALTER_FUSED;
        }
    }
    return ts__alter_calls(a, TS__ALTER_FUSED, TS__ALTER_REMOVED);
}

static bool ts__alter_times(ts__alter *a, const ts_change *change,
                            uint32_t index)
{
    switch (change->type) {
    case TS_CHANGE_SCALE: ts__alter_scale(a, change); return true;
    case TS_CHANGE_REMOVE: return ts__alter_remove(a, change);
    case TS_CHANGE_INSERT: return ts__alter_insert(a, change, index);
    case TS_CHANGE_TRANSFER: return ts__alter_transfer(a, change);
    case TS_CHANGE_FUSE: return ts__alter_fuse(a, change);
    case TS_CHANGE_NO_LAUNCH: return ts__alter_no_launch(a, change);
    case TS_CHANGE_HOST: ts__alter_host(a, change); return true;
    case TS_CHANGE_CUT: return ts__alter_cut(a, change);
    case TS_CHANGE_SPARE: return ts__alter_spare(a, change);
    default: return true;
    }
}

/* Delays. */

static int64_t ts__alter_host_time(const ts__alter *a, uint32_t node,
                                   int64_t time)
{
    return ts__ratio_of(a->host[ts__replay_part_of(a->replay, node)], time);
}

// A part of an operation, where that takes longer or shorter.
static int64_t ts__alter_share(const ts__alter *a, uint32_t op, int64_t part)
{
    const int64_t recorded = ts__replay_duration(a->replay)[op];
    const int64_t now = a->duration[op];
    if (now == recorded || !recorded) return part;
    return ts__share_of(part, now, recorded);
}

// What an edge adds in this run.
static int64_t ts__alter_delay(const ts__alter *a, uint32_t from, uint32_t e)
{
    const ts_replay *const r = a->replay;
    const uint8_t kind = ts__replay_kind(r, e);
    const uint32_t to = ts__replay_target(r, e), base = TS_EDGE_KIND(kind);
    const uint32_t class_of = ts__model_classes(a->model)[e];
    const int64_t fixed = ts__model_fixed(a->model)[e];
    const int64_t own = class_of == TS_NODE_NONE
                            ? 0
                            : ts__model_class(a->model, class_of)->pub.delay_ns;
    if (ts__alter_is_cut(a, from, to, base)) return TS__EDGE_OFF;
    if (ts__edge_is_host(kind)) {
        const int64_t at = ts__rrun_source(r, from, kind);
        return ts__alter_host_time(
            a, to, fixed - ts__alter_spared(a, to, at, at + fixed));
    }
    const uint8_t flags = a->flags[ts__settle_owner(r, to)];
    if (flags & TS__ALTER_REMOVED) return 0;
    if (flags & TS__ALTER_FREE && ts__settle_owner(r, to) != to)
        return base == TS_EDGE_SELF
                   ? ts__alter_host_time(a, to, ts__alter_free(a, from))
                   : TS__EDGE_OFF;
    if (base == TS_EDGE_SELF && from >= r->op_count)
        return ts__alter_host_time(a, to, ts__replay_add(fixed, own));
    if (base == TS_EDGE_SELF && class_of == TS_NODE_NONE &&
        ts__kind_works(ts__replay_op(r, from)->kind))
        return ts__alter_share(a, from, fixed); // it met nobody in the end
    if (flags & TS__ALTER_FUSED && base == TS_EDGE_LAUNCH) return TS__EDGE_OFF;
    if (flags & TS__ALTER_FUSED && kind == TS_EDGE_STREAM_ORDER) return 0;
    if (base == TS_EDGE_LAUNCH) {
        if (flags & TS__ALTER_LAUNCHED) return 0;
        return fixed ? ts__replay_add(a->duration[from], own) : own;
    }
    if (ts__edge_overlaps(r, from, to, kind))
        return ts__alter_share(a, from, fixed);
    return ts__replay_add(fixed, own);
}

static void ts__alter_calls_last(const ts__alter *a)
{
    const ts_replay *const r = a->replay;
    for (uint32_t i = r->op_count; i < r->op_count + r->call_count; i++) {
        a->duration[i] = a->flags[i] & (uint8_t)~TS__ALTER_FREE
                             ? 0
                             : ts__alter_host_time(a, i, a->duration[i]);
    }
}

/* Order. */

// When the host asked for an operation, for its place among others.
static int64_t ts__alter_issue(const ts_replay *r, uint32_t op)
{
    const int64_t issue = ts__replay_op(r, op)->issue;
    return issue == TS__NO_TIME ? ts__replay_time(r)[op] : issue;
}

static bool ts__alter_in_order(const ts_replay *r, uint32_t op)
{
    return ts__replay_lane_at(r, ts__replay_lanes(r)[op])->fifo &&
           !ts__kind_syncs(ts__replay_op(r, op)->kind);
}

// Takes away the stream order of what moves.
static void ts__alter_unchain(const ts__alter *a)
{
    const ts_replay *const r = a->replay;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const uint32_t owner = ts__settle_owner(r, i);
        for (uint32_t e = ts__replay_offsets(r)[i];
             owner < r->op_count && e < ts__replay_offsets(r)[i + 1]; e++) {
            const uint32_t to = ts__replay_target(r, e);
            if (TS_EDGE_KIND(ts__replay_kind(r, e)) == TS_EDGE_STREAM_ORDER &&
                (a->lane_of[owner] != ts__replay_lanes(r)[owner] ||
                 a->lane_of[to] != ts__replay_lanes(r)[to]))
                a->delay[e] = TS__EDGE_OFF;
        }
    }
}

typedef struct ts__alter_lane {
    uint32_t last;       // operation
    bool gap;            // the one behind it in the record has left
    uint32_t of_kind[2]; // last copy, last collective
} ts__alter_lane;

static bool ts__alter_lanes_open(const ts_replay *r, ts__rvec *lanes)
{
    return ts__rvec_fill(&r->allocator, lanes, sizeof(ts__alter_lane),
                         r->lanes.count, 0xFF);
}

/*
    The place of a node among others: by issue and by time, neither before that
    of what it waits for in the record, then in an order that fits the edges.
    By issue alone, a queue could hold what its own front waits for.
*/
typedef struct ts__alter_place {
    int64_t issue, time;
    uint32_t missing, order;
} ts__alter_place;

static void ts__alter_places_begin(const ts_replay *r, ts__alter_place *places,
                                   int64_t *latest)
{
    for (uint32_t i = 0; i < r->node_count; i++) {
        places[i].issue = places[i].time = TS__NO_TIME;
        places[i].missing = 0;
        places[i].order = i;
    }
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (!ts__alter_in_order(r, i)) continue;
        int64_t *const last = latest + ts__replay_lanes(r)[i];
        const int64_t issue = ts__alter_issue(r, i);
        if (issue > *last) *last = issue;
        places[i].issue = *last; // those of one lane as they lie there
        places[i].time = ts__replay_time(r)[i];
    }
    for (uint32_t e = 0; e < ts__replay_offsets(r)[r->node_count]; e++)
        places[ts__replay_target(r, e)].missing++;
}

// `queue` has room for all nodes.
static void ts__alter_places_fill(const ts_replay *r, ts__alter_place *places,
                                  uint32_t *queue)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->node_count; i++)
        if (!places[i].missing) queue[count++] = i;
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t from = queue[k];
        places[from].order = k;
        for (uint32_t e = ts__replay_offsets(r)[from];
             e < ts__replay_offsets(r)[from + 1]; e++) {
            ts__alter_place *const to = &places[ts__replay_target(r, e)];
            if (places[from].issue > to->issue) to->issue = places[from].issue;
            if (places[from].time > to->time) to->time = places[from].time;
            if (!--to->missing) queue[count++] = ts__replay_target(r, e);
        }
    }
}

// A wait lies where it ends. A collective does not: to wait for others is no
// reason to let pass what was issued behind it.
static const ts__alter_place *ts__alter_place_of(const ts_replay *r,
                                                 const ts__alter_place *places,
                                                 uint32_t op)
{
    return ts__kind_works(ts__replay_op(r, op)->kind)
               ? &places[op]
               : &places[ts__replay_end_node(r, op)];
}

// Sorts the operations by one part of their places.
static void ts__alter_sort_by(ts__alter *a, const ts__alter_place *places,
                              size_t count, int part)
{
    for (size_t k = 0; k < count; k++) {
        const ts__alter_place *const p =
            ts__alter_place_of(a->replay, places, ts__rsort_index(&a->sort)[k]);
        ts__rsort_keys(&a->sort)[k] = part == 0   ? p->order
                                      : part == 1 ? ts__rsort_time(p->time)
                                                  : ts__rsort_time(p->issue);
    }
    ts__rsort_run(&a->sort, count);
}

// Operations in order of their places.
static bool ts__alter_sort(ts__alter *a, size_t *count)
{
    const ts_replay *const r = a->replay;
    const ts_allocator *const memory = &r->allocator;
    ts__rvec latest = { 0 }, places = { 0 }, queue = { 0 };
    const bool ok =
        ts__rvec_fill(memory, &latest, sizeof(int64_t), r->lanes.count, 0x80) &&
        ts__rvec_reserve(memory, &places, sizeof(ts__alter_place),
                         r->node_count) &&
        ts__rvec_reserve(memory, &queue, sizeof(uint32_t), r->node_count) &&
        ts__rsort_open(memory, &a->sort, r->op_count);
    *count = 0;
    if (ok) {
        ts__alter_place *const all = (ts__alter_place *)places.data;
        ts__alter_places_begin(r, all, (int64_t *)latest.data);
        ts__alter_places_fill(r, all, (uint32_t *)queue.data);
        for (uint32_t i = 0; i < r->op_count; i++)
            if (ts__alter_in_order(r, i))
                ts__rsort_index(&a->sort)[(*count)++] = i;
        for (int part = 0; part < 3; part++)
            ts__alter_sort_by(a, all, *count, part);
    }
    ts__rvec_close(memory, &latest);
    ts__rvec_close(memory, &places);
    ts__rvec_close(memory, &queue);
    return ok;
}

static bool ts__alter_follow(ts__alter *a, uint32_t from, uint32_t to)
{
    return ts__alter_edge_add(
        a, ts__replay_end_node(a->replay, from), to, TS_EDGE_STREAM_ORDER,
        ts__alter_class_delay(a, from, to, TS_EDGE_STREAM_ORDER));
}

// Chains every lane that something left or came to. What comes takes its
// place by issue.
static bool ts__alter_chain(ts__alter *a)
{
    const ts_replay *const r = a->replay;
    ts__rvec lanes = { 0 };
    size_t count = 0;
    bool ok = ts__alter_lanes_open(r, &lanes) && ts__alter_sort(a, &count);
    ts__alter_lane *const all = (ts__alter_lane *)lanes.data;
    for (size_t k = 0; ok && k < lanes.count; k++)
        all[k].gap = false;
    for (size_t k = 0; ok && k < count; k++) {
        const uint32_t i = ts__rsort_index(&a->sort)[k];
        const uint32_t old = ts__replay_lanes(r)[i];
        ts__alter_lane *const lane = &all[a->lane_of[i]];
        const uint32_t from = lane->last;
        if (from != TS_NODE_NONE &&
            (lane->gap || a->lane_of[i] != old ||
             a->lane_of[from] != ts__replay_lanes(r)[from]))
            ok = ts__alter_follow(a, from, i);
        lane->last = i;
        lane->gap = false;
        if (a->lane_of[i] != old) all[old].gap = true;
    }
    ts__rvec_close(&r->allocator, &lanes);
    return ok;
}

static uint32_t ts__alter_find_lane(const ts_replay *r, uint32_t file,
                                    uint32_t track)
{
    for (uint32_t i = 0; i < r->lanes.count; i++) {
        const ts__replay_lane *const lane = ts__replay_lane_at(r, i);
        if (lane->operations && lane->file == file && lane->track == track)
            return i;
    }
    return TS_NODE_NONE;
}

// Writes down where operations go; returns false if nothing moves.
static bool ts__alter_move(ts__alter *a, const ts_change *change)
{
    const ts_replay *const r = a->replay;
    bool any = false;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (!ts__change_means(change, i) || !ts__alter_in_order(r, i)) continue;
        const ts__replay_lane *const lane =
            ts__replay_lane_at(r, ts__replay_lanes(r)[i]);
        uint32_t to = a->lane_of[i];
        if (change->type == TS_CHANGE_SERIALISE) {
            while (to && ts__replay_lane_at(r, to - 1)->operations &&
                   ts__replay_lane_at(r, to - 1)->device == lane->device)
                to--; // lanes of a device lie side by side
        } else {
            to = ts__alter_find_lane(r, lane->file, change->track);
        }
        if (to == TS_NODE_NONE || to == a->lane_of[i]) continue;
        a->lane_of[i] = to;
        any = true;
    }
    return any;
}

static bool ts__alter_moves(ts__alter *a)
{
    const ts_replay *const r = a->replay;
    const ts_replay_run_desc *const desc = a->desc;
    bool any = false;
    for (size_t i = 0; i < desc->change_count; i++) {
        const ts_change *const change = &desc->changes[i];
        if (change->type != TS_CHANGE_MOVE &&
            change->type != TS_CHANGE_SERIALISE)
            continue;
        if (!a->lane_of) {
            if (!ts__rvec_reserve(&r->allocator, &a->lanes_moved,
                                  sizeof(uint32_t), r->op_count))
                return false;
            a->lane_of = (uint32_t *)a->lanes_moved.data;
            memcpy(a->lane_of, ts__replay_lanes(r),
                   r->op_count * sizeof(uint32_t));
        }
        any |= ts__alter_move(a, change);
    }
    if (!any) return true;
    ts__alter_unchain(a);
    return ts__alter_chain(a);
}

/* Overlap. */

// 0: a copy, 1: a collective, 2: neither.
static uint32_t ts__alter_hidden(const ts_replay *r, uint32_t node)
{
    if (node >= r->op_count) return 2;
    const uint8_t kind = ts__replay_op(r, node)->kind;
    return kind == TS_EVENT_MEMCPY ? 0 : kind == TS_EVENT_COLLECTIVE ? 1 : 2;
}

// What waits for the end of a hidden operation, on a device, goes on as soon
// as that has started.
static bool ts__alter_hide(ts__alter *a, const ts_change *change, uint32_t node)
{
    const ts_replay *const r = a->replay;
    const uint32_t owner = ts__settle_owner(r, node);
    const uint32_t hidden = ts__alter_hidden(r, owner);
    if (hidden == 2 || !ts__change_means(change, owner)) return true;
    for (uint32_t e = ts__replay_offsets(r)[node];
         e < ts__replay_offsets(r)[node + 1]; e++) {
        const uint8_t kind = ts__replay_kind(r, e), base = TS_EDGE_KIND(kind);
        const uint32_t to = ts__replay_target(r, e);
        if (kind & TS_EDGE_FROM_START || ts__alter_hidden(r, to) == hidden ||
            (base != TS_EDGE_STREAM_ORDER && base != TS_EDGE_EVENT &&
             base != TS_EDGE_LEGACY_DEFAULT))
            continue;
        a->delay[e] = TS__EDGE_OFF;
        if (!ts__alter_edge_add(a, owner, to,
                                (uint32_t)kind | TS_EDGE_FROM_START, 0))
            return false;
    }
    return true;
}

// They still follow each other, one of a kind after another of its stream.
static bool ts__alter_overlap(ts__alter *a, const ts_change *change)
{
    const ts_replay *const r = a->replay;
    ts__rvec lanes = { 0 };
    bool ok = ts__alter_lanes_open(r, &lanes);
    for (uint32_t i = 0; ok && i < r->op_count; i++) {
        const uint32_t hidden = ts__alter_hidden(r, i);
        ts__alter_lane *const lane =
            (ts__alter_lane *)lanes.data + ts__replay_lanes(r)[i];
        if (hidden < 2 && ts__change_means(change, i)) {
            const uint32_t from = lane->of_kind[hidden];
            if (from != TS_NODE_NONE && from != lane->last)
                ok = ts__alter_follow(a, from, i);
            lane->of_kind[hidden] = i;
        }
        lane->last = i;
    }
    for (uint32_t i = 0; ok && i < r->join_first; i++)
        ok = ts__alter_hide(a, change, i);
    ts__rvec_close(&r->allocator, &lanes);
    return ok;
}

/* The graph of the run. */

static bool ts__alter_pack(ts__alter *a)
{
    const ts_replay *const r = a->replay;
    ts__model *const m = a->model;
    const ts_allocator *const memory = &r->allocator;
    const size_t nodes = r->node_count;
    const size_t count = r->targets.count + a->edges.count;
    ts__rvec delay = { 0 };
    if (count >= UINT32_MAX ||
        !ts__rvec_fill(memory, &m->offsets, sizeof(uint32_t), nodes + 1, 0) ||
        !ts__rvec_reserve(memory, &m->targets, sizeof(uint32_t), count) ||
        !ts__rvec_reserve(memory, &m->kinds, 1, count) ||
        !ts__rvec_reserve(memory, &delay, sizeof(int64_t), count))
        return false;
    uint32_t *const offsets = (uint32_t *)m->offsets.data;
    const ts__alter_edge *const more = (const ts__alter_edge *)a->edges.data;
    for (size_t i = 0; i < a->edges.count; i++)
        offsets[more[i].from]++;
    uint32_t sum = 0;
    for (uint32_t i = 0; i <= nodes; i++) {
        sum += offsets[i];
        // Ends of the added edges: the loop below counts down.
        offsets[i] = sum + (i < nodes ? ts__replay_offsets(r)[i + 1]
                                      : ts__replay_offsets(r)[i]);
    }
    uint32_t *const targets = (uint32_t *)m->targets.data;
    uint8_t *const kinds = (uint8_t *)m->kinds.data;
    int64_t *const delays = (int64_t *)delay.data;
    for (size_t i = a->edges.count; i-- > 0;) {
        const uint32_t at = --offsets[more[i].from];
        targets[at] = more[i].to;
        kinds[at] = more[i].kind;
        delays[at] = more[i].delay;
    }
    for (uint32_t i = 0; i < nodes; i++) {
        const uint32_t first = ts__replay_offsets(r)[i];
        const uint32_t own = ts__replay_offsets(r)[i + 1] - first;
        offsets[i] -= own;
        for (uint32_t k = 0; k < own; k++) {
            targets[offsets[i] + k] = ts__replay_target(r, first + k);
            kinds[offsets[i] + k] = ts__replay_kind(r, first + k);
            delays[offsets[i] + k] = a->delay[first + k];
        }
    }
    ts__rvec_close(memory, &m->delay);
    m->delay = delay;
    m->offsets.count = nodes + 1;
    m->targets.count = m->kinds.count = m->delay.count = count;
    return true;
}

static bool ts__alter_open(ts__alter *a)
{
    ts_replay *const r = a->replay;
    ts__model *const m = a->model;
    const ts_allocator *const memory = &r->allocator;
    m->extra.count = m->inserted.count = m->offsets.count = 0;
    if (!ts__rvec_reserve(memory, &r->changed, sizeof(int64_t),
                          r->node_count) ||
        !ts__rvec_reserve(memory, &m->delay, sizeof(int64_t),
                          r->targets.count) ||
        !ts__rvec_fill(memory, &a->flag_bytes, 1, r->node_count, 0) ||
        !ts__rvec_reserve(memory, &a->hosts, sizeof(ts_ratio), r->parts.count))
        return false;
    a->duration = (int64_t *)r->changed.data;
    a->delay = (int64_t *)m->delay.data;
    a->flags = (uint8_t *)a->flag_bytes.data;
    a->host = (ts_ratio *)a->hosts.data;
    const int64_t *const given = a->desc->durations_ns;
    memcpy(a->duration, ts__replay_duration(r),
           r->node_count * sizeof(int64_t));
    for (uint32_t i = 0; given && i < r->op_count; i++)
        a->duration[i] =
            given[i] < TS__REPLAY_SUM_MAX ? given[i] : TS__REPLAY_SUM_MAX;
    r->changed.count = r->node_count;
    for (size_t i = 0; i < r->parts.count; i++)
        a->host[i].num = a->host[i].den = 1;
    return true;
}

static void ts__alter_close(ts__alter *a)
{
    const ts_allocator *const memory = &a->replay->allocator;
    ts__rvec_close(memory, &a->flag_bytes);
    ts__rvec_close(memory, &a->hosts);
    ts__rvec_close(memory, &a->lanes_moved);
    ts__rvec_close(memory, &a->edges);
    ts__rvec_close(memory, &a->spans);
    ts__rvec_close(memory, &a->cuts);
    ts__rsort_close(memory, &a->sort);
}

// A launch that comes late because its call took long, and is no case of its
// class, keeps less of that delay if the call takes less.
static int64_t ts__alter_late(const ts__alter *a, uint32_t op, int64_t gap)
{
    const ts_replay *const r = a->replay;
    const uint32_t call = ts__replay_op(r, op)->call;
    if (gap <= 0 || call == TS_NODE_NONE || call < r->op_count) return gap;
    const int64_t start = ts__replay_time(r)[call];
    const int64_t end = ts__replay_end(r, call);
    if (end > ts__replay_time(r)[op]) return gap;
    const int64_t spared = ts__alter_spared(a, call, start, end);
    return gap > spared ? gap - spared : 0;
}

// What is removed keeps no recorded delay either.
static bool ts__alter_gaps(ts__alter *a)
{
    const ts_replay *const r = a->replay;
    ts__model *const m = a->model;
    if (!ts__rvec_reserve(&r->allocator, &m->gap, sizeof(int64_t),
                          r->node_count))
        return false;
    int64_t *const gap = (int64_t *)m->gap.data;
    memcpy(gap, m->residual.data, r->node_count * sizeof *gap);
    for (uint32_t i = 0; i < r->node_count; i++) {
        const uint32_t owner = ts__settle_owner(r, i);
        const uint8_t flags = a->flags[owner];
        if (!ts__model_is_held(m, i)) continue;
        if (flags & (TS__ALTER_REMOVED | TS__ALTER_FUSED))
            gap[i] = 0;
        else if (flags & TS__ALTER_FREE && owner != i)
            gap[i] = 0; // what it waited for does not matter any more
        else if (a->spans.count && i < r->op_count)
            gap[i] = ts__alter_late(a, i, gap[i]);
    }
    return true;
}

// Leaves durations in ts_replay.changed, delays and a changed graph in the
// model.
static bool ts__alter_all(ts__alter *a)
{
    const ts_replay *const r = a->replay;
    const ts_replay_run_desc *const desc = a->desc;
    if (!ts__alter_open(a)) return false;
    ts__alter_meetings(a);
    for (size_t i = 0; i < desc->change_count; i++)
        if (!ts__alter_times(a, &desc->changes[i], (uint32_t)i)) return false;
    ts__alter_spans_merge(a);
    ts__alter_spare_calls(a);
    ts__alter_calls_last(a);
    const int64_t *const extra = (const int64_t *)a->model->extra.data;
    for (uint32_t i = 0; a->model->extra.count && i < r->op_count; i++)
        a->duration[i] = ts__replay_add(a->duration[i], extra[i]);
    ts__rrun_meet(r);
    for (uint32_t i = 0; i < r->node_count; i++)
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++)
            a->delay[e] = ts__alter_delay(a, i, e);
    if (!ts__alter_gaps(a) || !ts__alter_moves(a)) return false;
    for (size_t i = 0; i < desc->change_count; i++)
        if (desc->changes[i].type == TS_CHANGE_OVERLAP &&
            !ts__alter_overlap(a, &desc->changes[i]))
            return false;
    return !a->edges.count || ts__alter_pack(a);
}
