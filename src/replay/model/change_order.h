/* ---- Model: changed orders and lanes ------------------------------------ */

typedef struct ts__alter_lane {
    uint32_t last; // last operation placed on the lane
    bool gap; // the operation after `last` in the record moved to another lane
    uint32_t of_kind[2]; // last copy and last collective
} ts__alter_lane;

static bool ts__alter_lanes_open(const ts_replay *r, ts__rvec *lanes)
{
    return ts__rvec_fill(&r->allocator, lanes, sizeof(ts__alter_lane),
                         r->lanes.count, 0xFF);
}

/*
    The sort key of a node in a changed order: by issue, then by time, then by
    an order that fits the edges. Neither issue nor time is earlier than that of
    any predecessor in the record. With the issue time alone, an operation could
    be queued behind one that waits for it.
*/
typedef struct ts__alter_place {
    int64_t issue, time;
    uint32_t missing, order;
} ts__alter_place;

// Initializes the places of all nodes, before edges are followed.
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
        places[i].issue = *last; // keeps the order within a lane
        places[i].time = ts__replay_time(r)[i];
    }
    for (uint32_t e = 0; e < ts__replay_offsets(r)[r->node_count]; e++)
        places[ts__replay_target(r, e)].missing++;
}

// Computes the places. `queue` has room for all nodes.
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

// Returns the place of an operation. A wait is placed where it ends. A
// collective is not, since later operations on the stream must not overtake it
// while it waits for others.
static const ts__alter_place *ts__alter_place_of(const ts_replay *r,
                                                 const ts__alter_place *places,
                                                 uint32_t op)
{
    return ts__kind_works(ts__replay_op(r, op)->kind)
               ? &places[op]
               : &places[ts__replay_end_node(r, op)];
}

// Sorts the operations by one component of their places.
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

// Sorts the operations by place; the index of the sorter receives them.
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

// Adds the stream order of every lane that an operation left or moved to. Moved
// operations are placed by issue.
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

// Records the new lane of each operation that a change moves. Returns false if
// none moves.
static bool ts__alter_move(ts__alter *a, const ts_change *change)
{
    const ts_replay *const r = a->replay;
    bool any = false;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (!ts__change_selects(change, i) || !ts__alter_in_order(r, i))
            continue;
        const ts__replay_lane *const lane =
            ts__replay_lane_at(r, ts__replay_lanes(r)[i]);
        uint32_t to = a->lane_of[i];
        if (change->type == TS_CHANGE_SERIALISE) {
            while (to && ts__replay_lane_at(r, to - 1)->operations &&
                   ts__replay_lane_at(r, to - 1)->device == lane->device)
                to--; // the lanes of a device are adjacent
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

// Returns which kind of operation is hidden: 0 for a copy, 1 for a collective,
// 2 for none.
static uint32_t ts__alter_hidden(const ts_replay *r, uint32_t node)
{
    if (node >= r->op_count) return 2;
    const uint8_t kind = ts__replay_op(r, node)->kind;
    return kind == TS_EVENT_MEMCPY ? 0 : kind == TS_EVENT_COLLECTIVE ? 1 : 2;
}

// Makes what waits on a device for the end of a hidden operation wait for its
// start instead.
static bool ts__alter_hide(ts__alter *a, const ts_change *change, uint32_t node)
{
    const ts_replay *const r = a->replay;
    const uint32_t owner = ts__node_owner(r, node);
    const uint32_t hidden = ts__alter_hidden(r, owner);
    if (hidden == 2 || !ts__change_selects(change, owner)) return true;
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

// Overlaps the copies and collectives that a change selects. Those of one kind
// on a stream still follow each other.
static bool ts__alter_overlap(ts__alter *a, const ts_change *change)
{
    const ts_replay *const r = a->replay;
    ts__rvec lanes = { 0 };
    bool ok = ts__alter_lanes_open(r, &lanes);
    for (uint32_t i = 0; ok && i < r->op_count; i++) {
        const uint32_t hidden = ts__alter_hidden(r, i);
        ts__alter_lane *const lane =
            (ts__alter_lane *)lanes.data + ts__replay_lanes(r)[i];
        if (hidden < 2 && ts__change_selects(change, i)) {
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
        // Each offset becomes the end of the node's added edges, as the loop
        // below counts down.
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
