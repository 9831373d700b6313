/* ---- Model: changed times ----------------------------------------------- */

typedef struct ts__alter_group { // of transfers between the same endpoints
    int64_t least, most;
    uint64_t small, large; // bytes of the smallest and of the largest transfer
    int64_t small_ns, large_ns; // the shortest durations of these sizes
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
    Estimates the duration of a transfer of no bytes by extrapolating from the
    smallest and the largest transfer. If sizes are unknown or all alike, it is
    the shortest duration. But if the durations hardly differ either, the
    latency cannot be told from the transfer and is taken as 0.
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

// Returns a key: direction and device of a copy, or the communicator of a
// collective (its device if the communicator is unknown). Call it with
// ascending operations; `*coll` keeps the position in the list of collectives.
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
           ts__change_selects(change, op);
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
        if (ts__change_selects(change, i))
            a->duration[i] = ts__ratio_of(change->factor, a->duration[i]);
}

// Sets the flags `of_calls` of each call whose operations all have a flag of
// `of_ops`.
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
        if (!ts__change_selects(change, i)) continue;
        a->flags[i] |= TS__ALTER_REMOVED;
        a->duration[i] = 0;
    }
    return ts__alter_calls(a, TS__ALTER_REMOVED, TS__ALTER_REMOVED);
}

static bool ts__alter_no_launch(ts__alter *a, const ts_change *change)
{
    const ts_replay *const r = a->replay;
    for (uint32_t i = 0; i < r->op_count; i++)
        if (ts__change_selects(change, i) &&
            !ts__kind_syncs(ts__replay_op(r, i)->kind))
            a->flags[i] |= TS__ALTER_LAUNCHED;
    return ts__alter_calls(a, TS__ALTER_LAUNCHED, TS__ALTER_LAUNCHED);
}

static bool ts__alter_can_follow(const ts_replay *r, uint32_t op)
{
    return ts__kind_works(ts__replay_op(r, op)->kind);
}

// Inserts an operation behind each selected one. It is modelled by extending
// the duration of the operation before it.
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
        if (!ts__change_selects(change, i) || !ts__alter_can_follow(r, i) ||
            !ts__replay_selected(r, i))
            continue;
        ts_inserted *const to = (ts_inserted *)ts__rvec_push(
            &r->allocator, &m->inserted, sizeof *to);
        if (!to) return false;
        const int64_t gap =
            ts__alter_class_delay(a, i, i, TS_EDGE_STREAM_ORDER);
        to->after = i;
        to->change = index;
        // Relative to the end of the operation.
        to->start_ns = ts__replay_add(extra[i], gap);
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
        // Changes of the same part rarely combine. If the product does not fit,
        // precision is dropped.
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

// Marks the second of two selected operations that follow each other on a
// stream as fused: it needs no launch of its own.
static bool ts__alter_fuse(ts__alter *a, const ts_change *change)
{
    const ts_replay *const r = a->replay;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (!ts__change_selects(change, i) || !ts__alter_can_follow(r, i))
            continue;
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++) {
            const uint32_t to = ts__replay_target(r, e);
            if (ts__replay_kind(r, e) == TS_EDGE_STREAM_ORDER &&
                to < r->op_count && ts__change_selects(change, to) &&
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

// Scales a part of an operation's duration as a change scaled the duration.
static int64_t ts__alter_share(const ts__alter *a, uint32_t op, int64_t part)
{
    const int64_t recorded = ts__replay_duration(a->replay)[op];
    const int64_t now = a->duration[op];
    if (now == recorded || !recorded) return part;
    return ts__share_of(part, now, recorded);
}

// Returns the delay of an edge in this run.
static int64_t ts__alter_delay(const ts__alter *a, uint32_t from, uint32_t e)
{
    const ts_replay *const r = a->replay;
    const uint8_t kind = ts__replay_kind(r, e);
    const uint32_t to = ts__replay_target(r, e), base = TS_EDGE_KIND(kind);
    const uint32_t class_of = ts__model_edge_class(a->model, e);
    const int64_t fixed = ts__model_fixed(r, a->model, from, e);
    const int64_t own = class_of == TS_NODE_NONE
                            ? 0
                            : ts__model_class(a->model, class_of)->pub.delay_ns;
    const uint8_t flags = a->flags[ts__node_owner(r, to)];
    if (a->plain && !flags && a->duration[from] == ts__replay_duration(r)[from])
        return ts__replay_add(fixed, own); // no change reaches it
    if (ts__alter_is_cut(a, from, to, base)) return TS__EDGE_OFF;
    if (ts__edge_is_host(kind)) {
        const int64_t at = ts__rrun_source(r, from, kind);
        return ts__alter_host_time(
            a, to, fixed - ts__alter_spared(a, to, at, at + fixed));
    }
    if (flags & TS__ALTER_REMOVED) return 0;
    if (flags & TS__ALTER_FREE && ts__node_owner(r, to) != to)
        return base == TS_EDGE_SELF
                   ? ts__alter_host_time(a, to, ts__alter_free(a, from))
                   : TS__EDGE_OFF;
    if (base == TS_EDGE_SELF && from >= r->op_count)
        return ts__alter_host_time(a, to, ts__replay_add(fixed, own));
    if (base == TS_EDGE_SELF && class_of == TS_NODE_NONE &&
        ts__kind_works(ts__replay_op(r, from)->kind))
        return ts__alter_share(a, from, fixed); // it waited for no one
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

// Returns when the host issued an operation, which determines its place on a
// lane.
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

// Removes the stream order edges of the operations that move.
static void ts__alter_unchain(const ts__alter *a)
{
    const ts_replay *const r = a->replay;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const uint32_t owner = ts__node_owner(r, i);
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
