/* ---- Timeline: state ---------------------------------------------------- */

typedef struct ts__tl_device {
    ts_timeline_figures figures;
    int64_t slow_ns;    // work that begins later than this had another cause
    int64_t launch_ns;  // median launch latency; 0: unknown
    bool records_waits; // see TS_IDLE_LATE_START
    uint32_t streams;   // number of its stream tracks
    uint32_t first;     // index of its first operation in ts_timeline.by_device
    int64_t start_ns, end_ns; // span of its work; equal: it has none
    // Begin of its first work in the window of an overview; TS__NO_TIME: none.
    int64_t own_ns;
    size_t gap_first, gap_count;
    ts__rvec concurrency; // int64_t
} ts__tl_device;

// The edge into a node that was satisfied last: the node is bound by it.
typedef struct ts__tl_binding {
    int64_t at_ns;
    uint32_t source; // TS_NODE_NONE: no edge
    uint8_t kind;
} ts__tl_binding;

// The root cause of a node's wait: see ts_timeline_culprit.
typedef struct ts__tl_root {
    uint32_t culprit;
    uint8_t edge;
    bool inferred, known;
} ts__tl_root;

// An interval in which a thread was blocked. Blocks of one thread and sort do
// not overlap.
typedef struct ts__tl_block {
    int64_t start_ns, end_ns;
    uint32_t lane, node;
    bool inferred;
} ts__tl_block;

enum { TS__BLOCK_SYNC, TS__BLOCK_QUEUE, TS__BLOCKS };
// Flags in lane_kinds: something other than call and stream delayed the begin
// or the end.
enum { TS__TL_BEGIN_HELD = 64, TS__TL_END_HELD = 128 };
enum { TS__HELD_SYNC = 1, TS__HELD_QUEUE = 2, TS__HELD_GUESS = 4 };

struct ts_timeline {
    const ts_replay *replay;
    ts_allocator allocator;
    bool replayed;
    bool windowed;
    int64_t from_ns, to_ns;
    const int64_t *file_begin; // see ts_timeline_desc.begin_ns
    // In an overview: for each device the end of all work that began before
    // from_ns, or TS__NO_TIME.
    const int64_t *reach;
    ts__rvec begin, finish; // int64_t of each node, if replayed
    ts__rvec bindings;      // ts__tl_binding of each node but calls
    ts__rvec roots;         // ts__tl_root of each node but calls
    ts__rvec held;          // uint8_t of each waiter: TS__HELD_...
    ts__rvec order;         // uint32_t: operations in order of begin
    ts__rvec by_device;     // uint32_t: the same, sorted by device
    ts__rvec issues;        // int64_t, sorted for each device
    ts__rvec by_lane;       // uint32_t: the same, sorted by lane
    // int64_t, sorted within each lane. Equal to the issue time of the
    // operation in by_lane unless the record breaks the first in, first out
    // order.
    ts__rvec lane_issues;
    ts__rvec lane_kinds; // uint8_t of each in by_lane: kind and TS__TL_...
    // uint32_t: first index in by_lane of each lane, and the end.
    ts__rvec lane_first;
    ts__rvec devices;            // ts__tl_device
    ts__rvec gaps;               // ts_gap, by device
    ts__rvec evidence;           // ts__tl_evidence of each part of the replay
    ts__rvec blocks[TS__BLOCKS]; // ts__tl_block, by thread
    int64_t end_ns;              // end of the last operation
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

// Returns when the host issued an operation, at most its begin.
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

// Fills in the times of the run; nodes that did not run keep those of the
// record.
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
    const int64_t *const start = ts__run_start(r);
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

// Whether the timeline covers an operation.
static bool ts__tl_covers(const ts_timeline *t, uint32_t op)
{
    const ts_replay *const r = t->replay;
    const uint32_t lane = ts__replay_lanes(r)[op];
    if (!ts__replay_selected(r, op) ||
        ts__kind_of_host(ts__replay_op(r, op)->kind,
                         ts__replay_lane_at(r, lane)->fifo))
        return false;
    return !t->replayed || ts__replay_skips(r)[op] == TS_SKIP_NOT;
}

// Sorts the operations by their begin in the run.
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

// Lists the operations in order of begin, then of the record, which is the
// order of their numbers.
static bool ts__tl_order(ts_timeline *t)
{
    const ts_replay *const r = t->replay;
    if (!ts__rvec_reserve(&t->allocator, &t->order, sizeof(uint32_t),
                          r->op_count))
        return false;
    uint32_t *const order = (uint32_t *)t->order.data;
    size_t count = 0;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (!ts__tl_covers(t, i)) continue;
        order[count++] = i;
        const int64_t finish = ts__tl_finish(t, i);
        if (count == 1 || finish > t->end_ns) t->end_ns = finish;
    }
    t->order.count = count;
    return !t->replayed || ts__tl_reorder(t);
}
