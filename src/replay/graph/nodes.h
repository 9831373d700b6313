/* ---- Graph: lanes and nodes --------------------------------------------- */

// Returns the lane of a track of the file being loaded; adds it if needed.
// TS_NODE_NONE without memory.
static uint32_t ts__loader_lane(ts__loader *l, uint32_t track)
{
    const uint64_t key = ts__replay_key(l->file, track);
    uint32_t index = ts__rmap_get(&l->lanes, key);
    if (index != TS_NODE_NONE) return index;
    ts_replay *const r = l->replay;
    ts__replay_lane *const lane =
        (ts__replay_lane *)ts__rvec_push(l->allocator, &r->lanes, sizeof *lane);
    if (!lane) return TS_NODE_NONE;
    memset(lane, 0, sizeof *lane);
    lane->file = l->file;
    lane->track = track;
    index = (uint32_t)(r->lanes.count - 1);
    lane->device = index; // until lanes are sorted
    return ts__rmap_put(l->allocator, &l->lanes, key, index) ? index
                                                             : TS_NODE_NONE;
}

// Finds the device and context of a track. The parents in a hostile file may
// form a cycle.
static void ts__replay_lane_describe(const ts_replay *r, ts__replay_lane *lane)
{
    const ts_reader *const reader = ts__replay_file(r, lane->file)->reader;
    ts_track track;
    lane->part = ts__parts_find(r, lane->file, lane->track);
    lane->type = TS_TRACK_STREAM; // also for undefined tracks
    if (ts_reader_track(reader, lane->track, &track)) {
        if (track.type) lane->type = track.type;
        lane->number = track.number;
        lane->flags = track.flags;
        for (int depth = 0; depth < 8; depth++) {
            if (track.type == TS_TRACK_CONTEXT && !lane->context_track)
                lane->context_track = track.id;
            if (track.type == TS_TRACK_DEVICE) {
                lane->device_track = track.id;
                lane->device_number = track.number;
                break;
            }
            if (!ts_reader_track(reader, track.parent, &track)) break;
        }
    } else {
        lane->number = lane->track;
    }
    if (!lane->context_track) lane->context_track = lane->device_track;
    lane->fifo =
        lane->type != TS_TRACK_DEVICE && lane->type != TS_TRACK_CONTEXT;
}

// Order of lanes: threads first, then devices of each part; on one device by
// type of track, then by number.
static int ts__replay_lane_compare(const void *left, const void *right)
{
    const ts__replay_lane *const a = (const ts__replay_lane *)left;
    const ts__replay_lane *const b = (const ts__replay_lane *)right;
    const uint64_t of_a[] = { a->operations,     a->part,
                              a->device_number,  a->device_track,
                              (uint64_t)a->type, a->number,
                              a->track };
    const uint64_t of_b[] = { b->operations,     b->part,
                              b->device_number,  b->device_track,
                              (uint64_t)b->type, b->number,
                              b->track };
    for (size_t i = 0; i < sizeof of_a / sizeof of_a[0]; i++)
        if (of_a[i] != of_b[i]) return of_a[i] < of_b[i] ? -1 : 1;
    return 0;
}

// Replaces the tracks of what was loaded of the file by lanes.
static bool ts__loader_assign_lanes(ts__loader *l)
{
    uint32_t track = 0, lane = TS_NODE_NONE, thread = 0;
    for (size_t i = l->row_first; i < l->rows.count; i++) {
        ts__row *const row = ts__loader_row(l, i);
        if (lane == TS_NODE_NONE || row->track != track) {
            track = row->track;
            lane = ts__loader_lane(l, track);
            if (lane == TS_NODE_NONE) return false;
            ts__replay_lane_at(l->replay, lane)->operations = true;
        }
        row->track = lane;
        const uint32_t by = ts__loader_op(l, i)->thread;
        if (by != thread && ts__loader_lane(l, by) == TS_NODE_NONE)
            return false;
        thread = by;
    }
    lane = TS_NODE_NONE;
    for (size_t i = l->call_first; i < l->calls.count; i++) {
        ts__row_call *const call = ts__loader_call(l, i);
        if (lane == TS_NODE_NONE || call->track != track)
            lane = ts__loader_lane(l, track = call->track);
        if (lane == TS_NODE_NONE) return false;
        call->track = lane;
    }
    return true;
}

// Sorts the lanes and updates the lane numbers of operations and calls.
static bool ts__loader_lanes(ts__loader *l)
{
    ts_replay *const r = l->replay;
    ts__rvec ranks = { 0 };
    if (!ts__rvec_reserve(l->allocator, &ranks, sizeof(uint32_t),
                          r->lanes.count))
        return false;
    uint32_t *const rank = (uint32_t *)ranks.data;
    for (size_t i = 0; i < r->lanes.count; i++)
        ts__replay_lane_describe(r, ts__replay_lane_at(r, i));
    if (r->lanes.count)
        qsort(r->lanes.data, r->lanes.count, sizeof(ts__replay_lane),
              ts__replay_lane_compare);
    for (size_t i = 0; i < r->lanes.count; i++)
        rank[ts__replay_lane_at(r, i)->device] = (uint32_t)i;
    for (size_t i = 0; i < l->rows.count; i++) {
        ts__row *const row = ts__loader_row(l, i);
        row->track = rank[row->track];
    }
    for (size_t i = 0; i < l->calls.count; i++) {
        ts__row_call *const call = ts__loader_call(l, i);
        call->track = rank[call->track];
    }
    ts__rvec_close(l->allocator, &ranks);
    return true;
}

// Adds a result for each lane with operations, and for each device with such
// lanes.
static bool ts__replay_results(ts_replay *r)
{
    uint32_t device = TS_NODE_NONE, part = 0;
    for (size_t i = 0; i < r->lanes.count; i++) {
        ts__replay_lane *const lane = ts__replay_lane_at(r, i);
        lane->device = TS_NODE_NONE;
        if (!lane->operations) continue;
        ts_lane result = { 0 };
        result.file = lane->file;
        result.track = lane->track;
        result.device = lane->device_track;
        ts_lane *const own = (ts_lane *)ts__rvec_push(
            &r->allocator, &r->lane_results, sizeof *own);
        if (!own) return false;
        *own = result;
        if (r->device_results.count && device == lane->device_track &&
            part == lane->part) {
            lane->device = (uint32_t)r->device_results.count - 1;
            continue;
        }
        ts_lane *const shared = (ts_lane *)ts__rvec_push(
            &r->allocator, &r->device_results, sizeof *shared);
        if (!shared) return false;
        *shared = result;
        shared->track = device = lane->device_track;
        part = lane->part;
        lane->device = (uint32_t)r->device_results.count - 1;
    }
    return true;
}

/*
    The order of rows. At equal starts on one stream the row that ends first
    comes first, then the one that was issued first, so that an event record of
    no duration comes before a kernel that starts at the same time. Then the
    order of the file counts.
*/
static bool ts__loader_before(const ts__loader *l, uint32_t a, uint32_t b)
{
    const ts__row *const x = ts__loader_row(l, a);
    const ts__row *const y = ts__loader_row(l, b);
    if (x->track != y->track) return x->track < y->track;
    if (x->duration != y->duration) return x->duration < y->duration;
    const int64_t issue = ts__loader_op(l, a)->issue;
    const int64_t other = ts__loader_op(l, b)->issue;
    if (issue != other) return issue < other;
    return a < b;
}

static void ts__loader_order_run(ts__loader *l, uint32_t *index, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const uint32_t moved = index[i];
        size_t at = i;
        for (; at && ts__loader_before(l, moved, index[at - 1]); at--)
            index[at] = index[at - 1];
        index[at] = moved;
    }
}

typedef enum ts__row_key {
    TS__ROW_ISSUE,
    TS__ROW_DURATION,
    TS__ROW_LANE,
    TS__ROW_START
} ts__row_key;

static void ts__loader_row_sort(ts__loader *l, ts__row_key first)
{
    for (int key = (int)first; key <= TS__ROW_START; key++) {
        uint64_t *const keys = ts__rsort_keys(&l->sort);
        const uint32_t *const index = ts__rsort_index(&l->sort);
        for (size_t i = 0; i < l->rows.count; i++) {
            const ts__row *const row = ts__loader_row(l, index[i]);
            keys[i] = key == TS__ROW_ISSUE
                          ? ts__rsort_time(ts__loader_op(l, index[i])->issue)
                      : key == TS__ROW_DURATION ? (uint64_t)row->duration
                      : key == TS__ROW_LANE     ? row->track
                                                : ts__rsort_time(row->start);
        }
        ts__rsort_run(&l->sort, l->rows.count);
    }
}

// Puts the total order of the rows into the sorter; their tracks must be lanes.
// Long runs of equal starts, which are rare, cost three more sorts.
static bool ts__loader_order(ts__loader *l)
{
    const size_t count = l->rows.count;
    if (!ts__rsort_open(l->allocator, &l->sort, count)) return false;
    for (size_t i = 0; i < count; i++)
        ts__rsort_index(&l->sort)[i] = (uint32_t)i;
    ts__loader_row_sort(l, TS__ROW_START);
    uint32_t *const index = ts__rsort_index(&l->sort);
    const uint64_t *const starts = ts__rsort_keys(&l->sort);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && starts[end] == starts[first];)
            end++;
        if (end - first > 32) {
            for (size_t i = 0; i < count; i++)
                ts__rsort_index(&l->sort)[i] = (uint32_t)i;
            ts__loader_row_sort(l, TS__ROW_ISSUE);
            return true;
        }
        ts__loader_order_run(l, index + first, end - first);
    }
    return true;
}

static bool ts__nodes_reserve(ts_replay *r, size_t count)
{
    const ts_allocator *const a = &r->allocator;
    return ts__rvec_reserve(a, &r->time, sizeof(int64_t), count) &&
           ts__rvec_reserve(a, &r->duration, sizeof(int64_t), count) &&
           ts__rvec_reserve(a, &r->lane, sizeof(uint32_t), count) &&
           ts__rvec_reserve(a, &r->flags, sizeof(uint8_t), count);
}

// Appends a node; the room is reserved.
static void ts__node_add(ts_replay *r, int64_t time, int64_t duration,
                         uint32_t lane, uint8_t flags)
{
    const uint32_t node = r->node_count++;
    ts__replay_time(r)[node] = time;
    ts__replay_duration(r)[node] = duration;
    ts__replay_lanes(r)[node] = lane;
    ts__replay_flags(r)[node] = flags;
}

static bool ts__node_push(ts_replay *r, int64_t time, int64_t duration,
                          uint32_t lane, uint8_t flags)
{
    const size_t count = r->node_count;
    if (count == r->flags.capacity &&
        !ts__nodes_reserve(r, count + count / 4 + 64))
        return false;
    ts__node_add(r, time, duration, lane, flags);
    return true;
}

// Adds the event columns of the next operation.
static bool ts__loader_add_event(ts__loader *l, ts__op *op)
{
    ts_replay *const r = l->replay;
    const ts__row_event *const from =
        (const ts__row_event *)l->events.data + op->label;
    ts__event_op *const event =
        (ts__event_op *)ts__rvec_push(l->allocator, &r->events, sizeof *event);
    if (!event) return false;
    op->label = (uint32_t)(r->events.count - 1);
    event->op = r->op_count;
    event->after = TS_NODE_NONE;
    event->id = from->id;
    event->record = from->record;
    return true;
}

// Adds the collective columns of the next operation. *waits: whether it waits
// for other members.
static bool ts__loader_add_coll(ts__loader *l, ts__op *op, bool *waits)
{
    ts_replay *const r = l->replay;
    const ts__coll *const coll = (const ts__coll *)l->colls.data + op->label;
    ts__coll_op *const to =
        (ts__coll_op *)ts__rvec_push(l->allocator, &r->collectives, sizeof *to);
    if (!to) return false;
    op->label = coll->name;
    to->op = r->op_count;
    to->launch = coll->launch;
    to->communicator = coll->communicator;
    if (!coll->rendezvous) return true;
    ts__rendezvous_member *const entry = (ts__rendezvous_member *)ts__rvec_push(
        l->allocator, &r->member_rendezvous, sizeof *entry);
    if (!entry) return false;
    entry->op = r->op_count;
    entry->rendezvous = coll->rendezvous - 1;
    *waits =
        ((ts__rendezvous *)r->rendezvous.data + entry->rendezvous)->count > 1;
    return true;
}

// Adds the node of the next operation, and its event or collective columns.
static bool ts__loader_add_op(ts__loader *l, const ts__row *row)
{
    ts_replay *const r = l->replay;
    ts__op *const op = ts__replay_op(r, r->op_count);
    bool waits = ts__kind_syncs(op->kind) || op->kind == TS_EVENT_EVENT_WAIT;
    if (ts__kind_has_event(op->kind) && !ts__loader_add_event(l, op))
        return false;
    if (op->kind == TS_EVENT_COLLECTIVE && !ts__loader_add_coll(l, op, &waits))
        return false;
    ((uint32_t *)r->places.data)[r->op_count++] = row->place;
    ts__node_add(r, row->start, row->duration, row->track,
                 waits ? TS__NODE_WAITS : 0);
    return true;
}

// Sorts the arrays of operations one after the other, so that only one of them
// exists twice at a time.
static bool ts__loader_ops(ts__loader *l)
{
    ts_replay *const r = l->replay;
    const size_t count = l->rows.count;
    if (!ts__loader_order(l)) return false;
    ts__rsort_keep_order(l->allocator, &l->sort);
    const uint32_t *const index = ts__rsort_index(&l->sort);
    if (!ts__rvec_reserve(l->allocator, &r->ops, sizeof(ts__op), count))
        return false;
    // Rows are in random order: prefetch the next ones.
    for (size_t i = 0; i < count; i++) {
        if (i + 8 < count) __builtin_prefetch(ts__loader_op(l, index[i + 8]));
        *ts__replay_op(r, i) = *ts__loader_op(l, index[i]);
    }
    r->ops.count = count;
    ts__rvec_close(l->allocator, &l->ops);
    // Waits need a second node for their end; add a share for joins.
    const size_t nodes = count + l->calls.count + l->events.count;
    if (!ts__rvec_reserve(l->allocator, &r->places, sizeof(uint32_t), count) ||
        !ts__rvec_reserve(l->allocator, &r->events, sizeof(ts__event_op),
                          l->events.count) ||
        !ts__nodes_reserve(r, nodes + nodes / 8))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (i + 8 < count) __builtin_prefetch(ts__loader_row(l, index[i + 8]));
        if (!ts__loader_add_op(l, ts__loader_row(l, index[i]))) return false;
    }
    r->places.count = count;
    ts__rvec_close(l->allocator, &l->rows);
    ts__rvec_close(l->allocator, &l->events);
    return true;
}

// Adds the calls in order of start and sets the calls of the operations.
static bool ts__loader_add_calls(ts__loader *l)
{
    ts_replay *const r = l->replay;
    const size_t count = l->calls.count;
    const bool named = r->deps_named.count != 0;
    if (!ts__loader_call_sort(l, 0) ||
        !ts__rvec_reserve(l->allocator, &r->call_names, sizeof(uint32_t),
                          count) ||
        !ts__rvec_reserve(l->allocator, &r->call_classes, sizeof(uint8_t),
                          count) ||
        (named && !ts__rvec_reserve(l->allocator, &r->call_numbers,
                                    sizeof(uint64_t), count)))
        return false;
    for (size_t i = 0; i < count; i++) {
        ts__row_call *const call =
            ts__loader_call(l, ts__rsort_index(&l->sort)[i]);
        call->rank = r->node_count;
        ((uint32_t *)r->call_names.data)[i] = call->name;
        ((uint8_t *)r->call_classes.data)[i] = call->type;
        if (named) ((uint64_t *)r->call_numbers.data)[i] = call->correlation;
        ts__node_add(r, call->start, call->duration, call->track,
                     call->call_only ? TS__NODE_CALL_ONLY : 0);
    }
    r->call_names.count = r->call_classes.count = count;
    r->call_count = (uint32_t)count;
    for (size_t i = 0; i < r->op_count; i++) {
        ts__op *const op = ts__replay_op(r, i);
        if (op->call != TS_NODE_NONE)
            op->call = ts__loader_call(l, op->call)->rank;
    }
    ts__rvec_close(l->allocator, &l->calls);
    ts__rsort_close(l->allocator, &l->sort);
    return true;
}

/*
    Returns whether the host may wait for a copy inside its call. The call of an
    asynchronous copy returns at once for pinned memory, after staging for a
    copy from pageable memory, and at the end of a copy into pageable memory.
*/
static bool ts__copy_holds(const ts_replay *r, const ts__op *op)
{
    enum { UNKNOWN_MEMORY, PAGEABLE, TO_DEVICE = 1, TO_HOST };
    const uint8_t type =
        ((const uint8_t *)r->call_classes.data)[op->call - r->op_count];
    if (type != TS__CALL_COPIES_ASYNC) return true;
    const uint8_t from = op->memory & 15, to = op->memory >> 4;
    const uint8_t host = op->label == TO_DEVICE ? from
                         : op->label == TO_HOST ? to
                                                : 255;
    return host == PAGEABLE || host == UNKNOWN_MEMORY;
}

// Returns whether the call that launched an operation waited for its end.
static bool ts__call_outlasts(const ts_replay *r, uint32_t op)
{
    const ts__op *const o = ts__replay_op(r, op);
    if (o->call == TS_NODE_NONE ||
        ts__replay_end(r, op) > ts__replay_end(r, o->call))
        return false;
    return ts__kind_syncs(o->kind) ||
           (o->kind == TS_EVENT_MEMCPY && ts__copy_holds(r, o));
}

// Returns whether a call waits although none of its operations shows that.
static bool ts__call_waits(const ts_replay *r, uint32_t call)
{
    const uint8_t type =
        ((const uint8_t *)r->call_classes.data)[call - r->op_count];
    return ts__replay_flags(r)[call] & TS__NODE_CALL_ONLY &&
           type != TS__CALL_PLAIN && type != TS__CALL_COPIES &&
           type != TS__CALL_COPIES_ASYNC && type != TS__CALL_RECORDS &&
           type != TS__CALL_WAITS;
}

// Adds the ends of all nodes that wait for others.
static bool ts__replay_ends(ts_replay *r)
{
    uint8_t *flags = ts__replay_flags(r);
    for (uint32_t i = 0; i < r->op_count; i++)
        if (ts__call_outlasts(r, i))
            flags[ts__replay_op(r, i)->call] |= TS__NODE_WAITS;
    for (uint32_t i = r->op_count; i < r->op_count + r->call_count; i++)
        if (ts__call_waits(r, i)) flags[i] |= TS__NODE_WAITS;
    const uint32_t count = r->node_count;
    if (!ts__rvec_reserve(&r->allocator, &r->ends, sizeof(uint32_t), count))
        return false;
    uint32_t *const ends = (uint32_t *)r->ends.data;
    for (uint32_t i = 0; i < count; i++) {
        const bool waits = ts__replay_flags(r)[i] & TS__NODE_WAITS;
        ends[i] = waits ? r->node_count : i;
        if (!waits) continue;
        uint32_t *const waiter = (uint32_t *)ts__rvec_push(
            &r->allocator, &r->waiters, sizeof *waiter);
        if (!waiter) return false;
        *waiter = i;
        if (!ts__node_push(r, ts__replay_end(r, i), 0, ts__replay_lanes(r)[i],
                           0))
            return false;
    }
    r->join_first = r->node_count;
    return true;
}

// Returns the node that is the end of a node: the node itself, or its helper.
static uint32_t ts__replay_end_node(const ts_replay *r, uint32_t node)
{
    const uint32_t with_ends = r->op_count + r->call_count;
    return node < with_ends ? ((const uint32_t *)r->ends.data)[node] : node;
}
