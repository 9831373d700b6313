/* ---- 10.50 Timeline: what is held ---------------------------------------- */

typedef struct ts__tl_device {
    ts_timeline_figures figures;
    int64_t slow_ns;          // what begins later than this had another reason
    int64_t launch_ns;        // middle launch latency; 0: not known
    uint32_t first;           // of its operations in ts_timeline.by_device
    int64_t start_ns, end_ns; // of its work; equal: it has none
    int64_t own_ns;           // its first work that begins in the window of
                              // a survey; TS__NO_TIME: none
    size_t gap_first, gap_count;
    ts__rvec concurrency; // int64_t
} ts__tl_device;

// The edge into a node that was satisfied last.
typedef struct ts__tl_bond {
    int64_t at_ns;
    uint32_t source; // TS_NODE_NONE: no edge
    uint8_t kind;
} ts__tl_bond;

// What a node goes back to: see ts_timeline_culprit.
typedef struct ts__tl_root {
    uint32_t culprit;
    uint8_t edge;
    bool inferred, known;
} ts__tl_root;

// A time that a thread was held up. Those of a thread and sort do not meet.
typedef struct ts__tl_block {
    int64_t start_ns, end_ns;
    uint32_t lane, node;
    bool inferred;
} ts__tl_block;

enum { TS__BLOCK_SYNC, TS__BLOCK_QUEUE, TS__BLOCKS };
// What is held by something else than its call and its stream.
enum { TS__TL_BEGIN_HELD = 64, TS__TL_END_HELD = 128 };
enum { TS__HELD_SYNC = 1, TS__HELD_QUEUE = 2, TS__HELD_GUESS = 4 };

struct ts_timeline {
    const ts_replay *replay;
    ts_allocator allocator;
    bool replayed;
    bool windowed;
    int64_t from_ns, to_ns;
    const int64_t *reach;   // in a survey: when all work of each device that
                            // began before from_ns had ended, or TS__NO_TIME
    ts__rvec begin, finish; // int64_t of each node, if replayed
    ts__rvec bonds;         // ts__tl_bond of each node but calls
    ts__rvec roots;         // ts__tl_root of each node but calls
    ts__rvec held;          // uint8_t of each waiter: TS__HELD_...
    ts__rvec order;         // uint32_t: operations in order of their begin
    ts__rvec by_device;     // the same, sorted by device
    ts__rvec issues;        // int64_t, sorted for each device
    ts__rvec by_lane;       // uint32_t: the same, sorted by lane
    ts__rvec lane_issues;   // int64_t, sorted for each lane: of as many
                            // operations as come before one the latest was
                            // issued then; its own, but for records that
                            // overtake
    ts__rvec lane_kinds;    // uint8_t, likewise: kind and TS__TL_...
    ts__rvec lane_first;    // uint32_t of each lane, and one more
    ts__rvec devices;       // ts__tl_device
    ts__rvec gaps;          // ts_gap, by device
    ts__rvec blocks[TS__BLOCKS]; // ts__tl_block, by thread
    int64_t end_ns;              // of everything
    ts_timeline_figures total;
};

static ts__tl_device *ts__tl_device_at(const ts_timeline *t, size_t i)
{
    return (ts__tl_device *)t->devices.data + i;
}
static const uint32_t *ts__tl_u32(const ts__rvec *v)
{
    return (const uint32_t *)v->data;
}
static const int64_t *ts__tl_i64(const ts__rvec *v)
{
    return (const int64_t *)v->data;
}

static int64_t ts__tl_begin(const ts_timeline *t, uint32_t node)
{
    return t->replayed ? ts__tl_i64(&t->begin)[node]
                       : ts__replay_time(t->replay)[node];
}
static int64_t ts__tl_finish(const ts_timeline *t, uint32_t node)
{
    return t->replayed ? ts__tl_i64(&t->finish)[node]
                       : ts__replay_end(t->replay, node);
}

static bool ts__tl_is_call(const ts_replay *r, uint32_t node)
{
    return node >= r->op_count && node < r->op_count + r->call_count;
}

// When the host asked for an operation; no later than it began.
static int64_t ts__tl_issue(const ts_timeline *t, uint32_t op)
{
    const ts_replay *const r = t->replay;
    const ts__op *const o = ts__replay_op(r, op);
    const int64_t begin = ts__tl_begin(t, op);
    int64_t issue = begin;
    if (o->call != TS_NODE_NONE)
        issue = ts__tl_begin(t, o->call);
    else if (o->issue != TS__NO_TIME)
        issue = begin - (ts__replay_time(r)[op] - o->issue);
    return issue < begin ? issue : begin;
}

// The times of the run; what did not run has those of the record.
static bool ts__tl_times(ts_timeline *t)
{
    const ts_replay *const r = t->replay;
    if (!t->replayed) return true;
    const size_t size = sizeof(int64_t);
    if (!ts__rvec_reserve(&t->allocator, &t->begin, size, r->node_count) ||
        !ts__rvec_reserve(&t->allocator, &t->finish, size, r->node_count))
        return false;
    int64_t *const begin = (int64_t *)t->begin.data;
    int64_t *const finish = (int64_t *)t->finish.data;
    const int64_t *const start = ts__tl_i64(&r->start);
    const int64_t *const duration = r->changed.count == r->node_count
                                        ? ts__tl_i64(&r->changed)
                                        : ts__replay_duration(r);
    const uint32_t calls_end = r->op_count + r->call_count;
    for (uint32_t i = 0; i < r->node_count; i++) {
        begin[i] = ts__replay_time(r)[i];
        finish[i] = ts__replay_end(r, i);
        if (start[i] == TS__NO_TIME) continue;
        begin[i] = start[i];
        const uint32_t end = i < calls_end ? ts__replay_end_node(r, i) : i;
        if (end != i && start[end] == TS__NO_TIME) continue;
        finish[i] = i < r->op_count ? ts__op_end(r, i)
                    : end != i      ? start[end]
                                    : ts__replay_add(start[i], duration[i]);
    }
    return true;
}

// Whether an operation is one that the timeline is about.
static bool ts__tl_wants(const ts_timeline *t, uint32_t op)
{
    const ts_replay *const r = t->replay;
    const uint32_t lane = ts__replay_lanes(r)[op];
    if (!ts__replay_selected(r, op) ||
        ts__kind_of_host(ts__replay_op(r, op)->kind,
                         ts__replay_lane_at(r, lane)->fifo))
        return false;
    return !t->replayed || ts__replay_op(r, op)->skip == TS_SKIP_NOT;
}

// Sorts the operations by their begin in a run.
static bool ts__tl_reorder(ts_timeline *t)
{
    uint32_t *const order = (uint32_t *)t->order.data;
    const size_t count = t->order.count;
    ts__rsort sort = { 0 };
    const bool ok = ts__rsort_open(&t->allocator, &sort, count);
    for (size_t i = 0; ok && i < count; i++) {
        ts__rsort_keys(&sort)[i] = ts__rsort_time(ts__tl_begin(t, order[i]));
        ts__rsort_index(&sort)[i] = order[i];
    }
    if (ok) ts__rsort_run(&sort, count);
    if (ok && count)
        memcpy(order, ts__rsort_index(&sort), count * sizeof *order);
    ts__rsort_close(&t->allocator, &sort);
    return ok;
}

// Operations in order of their begin, then of the record, as which they come.
static bool ts__tl_order(ts_timeline *t)
{
    const ts_replay *const r = t->replay;
    if (!ts__rvec_reserve(&t->allocator, &t->order, sizeof(uint32_t),
                          r->op_count))
        return false;
    uint32_t *const order = (uint32_t *)t->order.data;
    size_t count = 0;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (!ts__tl_wants(t, i)) continue;
        order[count++] = i;
        const int64_t finish = ts__tl_finish(t, i);
        if (count == 1 || finish > t->end_ns) t->end_ns = finish;
    }
    t->order.count = count;
    return !t->replayed || ts__tl_reorder(t);
}

/* ---- 10.51 Timeline: what each node waited for --------------------------- */

// The place of a node among all but the calls, which wait for nothing here.
static uint32_t ts__tl_place(const ts_replay *r, uint32_t node)
{
    return node < r->op_count ? node : node - r->call_count;
}
static ts__tl_bond *ts__tl_bond_of(const ts_timeline *t, uint32_t node)
{
    return (ts__tl_bond *)t->bonds.data + ts__tl_place(t->replay, node);
}

// Whether an edge satisfied at the same moment as another one goes first.
static bool ts__tl_prefers(uint8_t kind, uint8_t other)
{
    const uint8_t guess = kind & TS_EDGE_INFERRED;
    if (guess != (other & TS_EDGE_INFERRED)) return !guess;
    return TS_EDGE_KIND(kind) > TS_EDGE_KIND(other);
}

// Notes which calls were held up by a wait or by a full queue.
static void ts__tl_hold(ts_timeline *t, uint32_t node, uint8_t kind)
{
    const ts_replay *const r = t->replay;
    const uint32_t first = r->op_count + r->call_count;
    const uint8_t edge = TS_EDGE_KIND(kind);
    if (node < first || node >= r->join_first ||
        (edge != TS_EDGE_SYNC && edge != TS_EDGE_QUEUE))
        return;
    ((uint8_t *)t->held.data)[node - first] |=
        edge == TS_EDGE_QUEUE     ? TS__HELD_QUEUE
        : kind & TS_EDGE_INFERRED ? TS__HELD_GUESS
                                  : TS__HELD_SYNC;
}

// An event wait that takes no time: it may stand where it was reached, or
// where it was satisfied.
static bool ts__tl_is_moment(const ts_timeline *t, uint32_t op)
{
    return op < t->replay->op_count &&
           ts__replay_op(t->replay, op)->kind == TS_EVENT_EVENT_WAIT &&
           ts__tl_begin(t, op) == ts__tl_finish(t, op);
}

// Such a wait is bound by its event, unless what it came after is later. Its
// own begin says nothing, and was left out.
static void ts__tl_bind_moments(ts_timeline *t)
{
    const ts_replay *const r = t->replay;
    for (size_t i = 0; i < r->waiters.count; i++) {
        const uint32_t op = ts__tl_u32(&r->waiters)[i];
        if (!ts__tl_is_moment(t, op)) continue;
        const ts__tl_bond *const own = ts__tl_bond_of(t, op);
        ts__tl_bond *const end = ts__tl_bond_of(t, ts__replay_end_node(r, op));
        if (end->source != TS_NODE_NONE &&
            (own->source == TS_NODE_NONE || own->at_ns <= end->at_ns))
            continue;
        end->at_ns = ts__tl_begin(t, op);
        end->source = op;
        end->kind = TS_EDGE_SELF | TS_EDGE_FROM_START;
    }
}

static bool ts__tl_bind(ts_timeline *t)
{
    const ts_replay *const r = t->replay;
    const ts_allocator *const a = &t->allocator;
    if (!ts__rvec_fill(a, &t->bonds, sizeof(ts__tl_bond),
                       r->node_count - r->call_count, 0xFF) ||
        !ts__rvec_fill(a, &t->held, sizeof(uint8_t), r->waiters.count, 0))
        return false;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const int64_t begin = ts__tl_begin(t, i), end = ts__tl_finish(t, i);
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++) {
            const uint32_t to = ts__replay_target(r, e);
            if (ts__tl_is_call(r, to)) continue;
            const uint8_t kind = ts__replay_kind(r, e);
            const int64_t at = kind & TS_EDGE_FROM_START ? begin : end;
            ts__tl_bond *const bond = ts__tl_bond_of(t, to);
            ts__tl_hold(t, to, kind);
            if (TS_EDGE_KIND(kind) == TS_EDGE_SELF && ts__tl_is_moment(t, i))
                continue;
            if (bond->source != TS_NODE_NONE &&
                (at < bond->at_ns ||
                 (at == bond->at_ns && !ts__tl_prefers(kind, bond->kind))))
                continue;
            bond->at_ns = at;
            bond->source = i;
            bond->kind = kind;
        }
    }
    ts__tl_bind_moments(t);
    return true;
}

// The kind of edge that a node is bound by; SELF if there is none.
static uint8_t ts__tl_bound_by(const ts_timeline *t, uint32_t node)
{
    const ts__tl_bond *const bond = ts__tl_bond_of(t, node);
    return bond->source == TS_NODE_NONE ? TS_EDGE_SELF
                                        : TS_EDGE_KIND(bond->kind);
}

// Where a way back ends: host calls, the host's own operations, and what
// takes time on a stream.
static bool ts__tl_is_root(const ts_timeline *t, uint32_t node)
{
    const ts_replay *const r = t->replay;
    if (node >= r->op_count) return ts__tl_is_call(r, node);
    const uint8_t kind = ts__replay_op(r, node)->kind;
    const uint32_t lane = ts__replay_lanes(r)[node];
    if (ts__kind_works(kind) || kind == TS_EVENT_HOST_FUNCTION)
        return ts__tl_finish(t, node) > ts__tl_begin(t, node);
    return ts__kind_of_host(kind, ts__replay_lane_at(r, lane)->fifo);
}

// The node behind the one that binds `node`: the owner of an end if the way
// stops there. TS_NODE_NONE: there is none.
static uint32_t ts__tl_back(const ts_timeline *t, uint32_t node, bool *stops)
{
    const ts_replay *const r = t->replay;
    *stops = true;
    const uint32_t from = ts__tl_bond_of(t, node)->source;
    if (from == TS_NODE_NONE) return TS_NODE_NONE;
    const uint32_t owner = ts__settle_owner(r, from);
    // The end of a synchronisation goes on to what that waited for.
    const bool through = owner != from && owner < r->op_count &&
                         ts__kind_syncs(ts__replay_op(r, owner)->kind) &&
                         ts__tl_bound_by(t, from) != TS_EDGE_SELF;
    if (!through && ts__tl_is_root(t, owner)) return owner;
    *stops = false;
    return from;
}

static ts__tl_root *ts__tl_root_at(const ts_timeline *t, uint32_t node)
{
    return (ts__tl_root *)t->roots.data + ts__tl_place(t->replay, node);
}

// What `node` goes back to, given what the node behind it does.
static ts__tl_root ts__tl_join(const ts_timeline *t, uint32_t node,
                               uint32_t back, bool stops)
{
    ts__tl_root root = { TS_NODE_NONE, TS_EDGE_SELF, false, true };
    if (back == TS_NODE_NONE) return root;
    const uint8_t kind = ts__tl_bond_of(t, node)->kind;
    const uint8_t edge = TS_EDGE_KIND(kind);
    root.culprit = back;
    root.edge = edge;
    if (!stops) {
        const ts__tl_root *const behind = ts__tl_root_at(t, back);
        root.culprit = behind->culprit;
        root.inferred = behind->inferred;
        if (edge == TS_EDGE_SELF || edge == TS_EDGE_STREAM_ORDER)
            root.edge = behind->edge;
    }
    root.inferred |= (kind & TS_EDGE_INFERRED) != 0;
    return root;
}

// What an operation is bound by may lie anywhere; it is on its way soon.
static void ts__tl_fetch(const ts_timeline *t, uint32_t op)
{
    const ts_replay *const r = t->replay;
    const uint32_t from = ts__tl_bond_of(t, op)->source;
    if (from >= r->op_count) return;
    __builtin_prefetch(ts__replay_op(r, from));
    __builtin_prefetch(&ts__replay_time(r)[from]);
    __builtin_prefetch(&ts__replay_duration(r)[from]);
}

/*
    Follows every node back. Each step is taken once: a way that meets an
    earlier one ends there. A circle, which only damaged records make, ends
    where it closes. What calls wait for is not asked.
*/
static bool ts__tl_follow(ts_timeline *t)
{
    const ts_replay *const r = t->replay;
    const ts_allocator *const a = &t->allocator;
    ts__rvec path = { 0 };
    if (!ts__rvec_fill(a, &t->roots, sizeof(ts__tl_root),
                       r->node_count - r->call_count, 0))
        return false;
    bool ok = true;
    for (uint32_t i = 0; ok && i < r->node_count; i++) {
        uint32_t node = i;
        if (ts__tl_is_call(r, i)) continue;
        if (i + 16 < r->op_count) ts__tl_fetch(t, i + 16);
        bool stops = false;
        uint32_t back = ts__tl_back(t, node, &stops);
        if (stops) { // as most do
            *ts__tl_root_at(t, node) = ts__tl_join(t, node, back, true);
            continue;
        }
        for (path.count = 0; ok && !stops && !ts__tl_root_at(t, node)->known;) {
            uint32_t *const step =
                (uint32_t *)ts__rvec_push(a, &path, sizeof *step);
            ok = step != NULL;
            if (!ok) break;
            *step = node;
            ts__tl_root_at(t, node)->known = true;
            ts__tl_root_at(t, node)->culprit = TS_NODE_NONE;
            back = ts__tl_back(t, node, &stops);
            if (!stops) node = back;
        }
        while (ok && path.count) {
            const uint32_t step = ts__tl_u32(&path)[--path.count];
            back = ts__tl_back(t, step, &stops);
            *ts__tl_root_at(t, step) = ts__tl_join(t, step, back, stops);
        }
    }
    ts__rvec_close(a, &path);
    return ok;
}

/* ---- 10.52 Timeline: when a thread was held up --------------------------- */

static bool ts__tl_block_add(ts_timeline *t, int sort, uint32_t node,
                             uint32_t lane, bool inferred)
{
    ts__tl_block *const block = (ts__tl_block *)ts__rvec_push(
        &t->allocator, &t->blocks[sort], sizeof *block);
    if (!block) return false;
    block->start_ns = ts__tl_begin(t, node);
    block->end_ns = ts__tl_finish(t, node);
    block->lane = lane;
    block->node = node;
    block->inferred = inferred;
    return true;
}

// Calls that were held up, and synchronisations. The calls come first, so
// that of a call and its synchronisation the call is named.
static bool ts__tl_block_list(ts_timeline *t)
{
    const ts_replay *const r = t->replay;
    ts__rmap threads = { { 0 }, 0 };
    bool ok = true;
    for (size_t i = 0; ok && i < r->waiters.count; i++) {
        const uint32_t owner = ts__tl_u32(&r->waiters)[i];
        const uint8_t held = ((const uint8_t *)t->held.data)[i];
        if (!held || !ts__tl_is_call(r, owner)) continue;
        const uint32_t end = ts__replay_end_node(r, owner);
        const bool queue = ts__tl_bound_by(t, end) == TS_EDGE_QUEUE;
        if (!queue && held == TS__HELD_QUEUE) continue; // not what it took
        // One that asks, or comes after it was done, is held up by nothing.
        if (ts__tl_bond_of(t, end)->at_ns <= ts__tl_begin(t, owner)) continue;
        ok = ts__tl_block_add(t, queue ? TS__BLOCK_QUEUE : TS__BLOCK_SYNC,
                              owner, ts__replay_lanes(r)[owner],
                              !queue && !(held & TS__HELD_SYNC));
    }
    for (uint32_t i = 0; ok && i < r->lanes.count; i++) {
        const ts__replay_lane *const lane = ts__replay_lane_at(r, i);
        ok = ts__rmap_put(&t->allocator, &threads,
                          ts__replay_key(lane->file, lane->track), i);
    }
    for (uint32_t i = 0; ok && i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        if (!ts__kind_syncs(op->kind) || !op->thread) continue;
        const uint32_t lane = ts__rmap_get(
            &threads, ts__replay_key(ts__replay_file_of(r, i), op->thread));
        if (lane != TS_NODE_NONE)
            ok = ts__tl_block_add(t, TS__BLOCK_SYNC, i, lane, false);
    }
    ts__rvec_close(&t->allocator, &threads.entries);
    return ok;
}

// Sorts blocks by thread and start, and makes one of those that overlap.
static bool ts__tl_block_sort(ts_timeline *t, ts__rvec *blocks)
{
    const size_t count = blocks->count;
    if (!count) return true;
    const ts__tl_block *const from = (const ts__tl_block *)blocks->data;
    ts__rsort sort = { 0 };
    ts__rvec sorted = { 0 };
    const bool ok =
        ts__rsort_open(&t->allocator, &sort, count) &&
        ts__rvec_reserve(&t->allocator, &sorted, sizeof *from, count);
    for (int key = 0; ok && key < 2; key++) {
        for (size_t i = 0; i < count; i++) {
            if (!key) ts__rsort_index(&sort)[i] = (uint32_t)i;
            const ts__tl_block *const b = &from[ts__rsort_index(&sort)[i]];
            ts__rsort_keys(&sort)[i] =
                key ? b->lane : ts__rsort_time(b->start_ns);
        }
        ts__rsort_run(&sort, count);
    }
    ts__tl_block *const to = (ts__tl_block *)sorted.data;
    size_t kept = 0;
    for (size_t i = 0; ok && i < count; i++) {
        const ts__tl_block b = from[ts__rsort_index(&sort)[i]];
        ts__tl_block *const last = kept ? &to[kept - 1] : NULL;
        if (last && last->lane == b.lane && b.start_ns <= last->end_ns) {
            last->inferred &= b.inferred;
            if (b.end_ns > last->end_ns) last->end_ns = b.end_ns;
            continue;
        }
        to[kept++] = b;
    }
    ts__rsort_close(&t->allocator, &sort);
    if (!ok) return false;
    ts__rvec_close(&t->allocator, blocks);
    *blocks = sorted;
    blocks->count = kept;
    return true;
}

static bool ts__tl_blocks(ts_timeline *t)
{
    return ts__tl_block_list(t) && ts__tl_block_sort(t, &t->blocks[0]) &&
           ts__tl_block_sort(t, &t->blocks[1]);
}

// The first block of a thread, or of a later one, that ends at or after a time
// (or, if `after`, after it).
static size_t ts__tl_block_find(const ts__rvec *blocks, uint32_t lane,
                                int64_t time, bool after)
{
    const ts__tl_block *const list = (const ts__tl_block *)blocks->data;
    size_t low = 0, high = blocks->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const ts__tl_block *const b = &list[middle];
        const bool less =
            b->lane != lane ? b->lane < lane
                            : b->end_ns < time || (after && b->end_ns == time);
        if (less)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// How long a thread was held up in blocks that end in [from, to]. *longest is
// the first of the longest of them, NULL if there is none.
static int64_t ts__tl_blocked(const ts_timeline *t, int sort, uint32_t lane,
                              int64_t from, int64_t to,
                              const ts__tl_block **longest)
{
    const ts__rvec *const blocks = &t->blocks[sort];
    const ts__tl_block *const list = (const ts__tl_block *)blocks->data;
    const size_t end = ts__tl_block_find(blocks, lane, to, true);
    int64_t sum = 0, most = -1;
    *longest = NULL;
    for (size_t i = ts__tl_block_find(blocks, lane, from, false); i < end;
         i++) {
        const int64_t length = list[i].end_ns - list[i].start_ns;
        sum = ts__replay_add(sum, length);
        if (length <= most) continue;
        most = length;
        *longest = &list[i];
    }
    return sum;
}

/* ---- 10.53 Timeline: lists by device and stream -------------------------- */

// Whether what a node is bound by is neither its call nor what came before it
// on its stream.
static bool ts__tl_is_held(const ts_timeline *t, uint32_t node)
{
    const uint8_t edge = ts__tl_bound_by(t, node);
    return edge != TS_EDGE_SELF && edge != TS_EDGE_LAUNCH &&
           edge != TS_EDGE_STREAM_ORDER;
}

static uint8_t ts__tl_kind_of(const ts_timeline *t, uint32_t op)
{
    uint8_t kind = ts__replay_op(t->replay, op)->kind;
    const bool waits = kind == TS_EVENT_EVENT_WAIT;
    const uint32_t end = waits ? ts__replay_end_node(t->replay, op) : op;
    if (ts__tl_is_held(t, op)) kind |= TS__TL_BEGIN_HELD;
    if (end != op && ts__tl_is_held(t, end)) kind |= TS__TL_END_HELD;
    return kind;
}

// Turns numbers of each of `count` into where each begins, at the end of its
// part: what is put in goes backwards.
static void ts__tl_sum_up(uint32_t *counts, size_t count)
{
    uint32_t sum = 0;
    for (size_t i = 0; i <= count; i++)
        counts[i] = sum += counts[i];
}

// Sorts the operations by device and by lane, which keeps them in order.
static bool ts__tl_split(ts_timeline *t, ts__rvec *device_first)
{
    const ts_replay *const r = t->replay;
    const ts_allocator *const a = &t->allocator;
    const size_t ops = t->order.count, devices = r->device_results.count;
    if (!ts__rvec_reserve(a, &t->by_device, sizeof(uint32_t), ops) ||
        !ts__rvec_reserve(a, &t->by_lane, sizeof(uint32_t), ops) ||
        !ts__rvec_reserve(a, &t->lane_issues, sizeof(int64_t), ops) ||
        !ts__rvec_reserve(a, &t->lane_kinds, sizeof(uint8_t), ops) ||
        !ts__rvec_fill(a, device_first, sizeof(uint32_t), devices + 1, 0) ||
        !ts__rvec_fill(a, &t->lane_first, sizeof(uint32_t), r->lanes.count + 1,
                       0))
        return false;
    uint32_t *const by_device = (uint32_t *)device_first->data;
    uint32_t *const by_lane = (uint32_t *)t->lane_first.data;
    for (size_t i = 0; i < ops; i++)
        by_lane[ts__replay_lanes(r)[ts__tl_u32(&t->order)[i]]]++;
    for (size_t i = 0; i < r->lanes.count; i++)
        if (by_lane[i])
            by_device[ts__replay_lane_at(r, i)->device] += by_lane[i];
    ts__tl_sum_up(by_device, devices);
    ts__tl_sum_up(by_lane, r->lanes.count);
    for (size_t i = ops; i-- > 0;) {
        const uint32_t op = ts__tl_u32(&t->order)[i];
        const uint32_t lane = ts__replay_lanes(r)[op];
        const uint32_t device = ts__replay_lane_at(r, lane)->device;
        const uint32_t at = --by_lane[lane];
        ((uint32_t *)t->by_lane.data)[at] = op;
        ((int64_t *)t->lane_issues.data)[at] = ts__tl_issue(t, op);
        ((uint8_t *)t->lane_kinds.data)[at] = ts__tl_kind_of(t, op);
        ((uint32_t *)t->by_device.data)[--by_device[device]] = op;
    }
    t->by_lane.count = t->lane_issues.count = t->by_device.count = ops;
    return true;
}

// Sorts times. Most are in order already, or nearly; what takes more than a
// few moves for each goes to the sorter.
static bool ts__tl_sort_times(const ts_timeline *t, ts__rsort *sort,
                              int64_t *times, size_t count)
{
    size_t moves = 16 * count;
    for (size_t i = 1; i < count; i++) {
        const int64_t time = times[i];
        size_t at = i;
        for (; at && times[at - 1] > time && moves; at--, moves--)
            times[at] = times[at - 1];
        times[at] = time;
    }
    if (moves) return true;
    if (!ts__rsort_open(&t->allocator, sort, count)) return false;
    for (size_t i = 0; i < count; i++) {
        ts__rsort_keys(sort)[i] = ts__rsort_time(times[i]);
        ts__rsort_index(sort)[i] = 0;
    }
    ts__rsort_run(sort, count);
    for (size_t i = 0; i < count; i++)
        times[i] = (int64_t)(ts__rsort_keys(sort)[i] ^ UINT64_C(1) << 63);
    return true;
}

// Streams are first in, first out; where the record disagrees, the times of
// issue of each lane are sorted.
static bool ts__tl_sort_lanes(ts_timeline *t)
{
    ts__rsort sort = { 0 };
    bool ok = true;
    for (size_t i = 0; ok && i < t->replay->lanes.count; i++) {
        const uint32_t *const first = ts__tl_u32(&t->lane_first) + i;
        ok = ts__tl_sort_times(t, &sort,
                               (int64_t *)t->lane_issues.data + first[0],
                               first[1] - first[0]);
    }
    ts__rsort_close(&t->allocator, &sort);
    return ok;
}

static bool ts__tl_lists(ts_timeline *t)
{
    const size_t devices = t->replay->device_results.count;
    ts__rvec first = { 0 };
    const bool ok = ts__rvec_fill(&t->allocator, &t->devices,
                                  sizeof(ts__tl_device), devices + 1, 0) &&
                    ts__tl_split(t, &first) && ts__tl_sort_lanes(t) &&
                    ts__rvec_reserve(&t->allocator, &t->issues, sizeof(int64_t),
                                     t->order.count);
    for (size_t i = 0; ok && i <= devices; i++)
        ts__tl_device_at(t, i)->first = ts__tl_u32(&first)[i];
    t->devices.count = ok ? devices : 0;
    ts__rvec_close(&t->allocator, &first);
    return ok;
}
