/* ---- Graph: full launch queues ------------------------------------------ */

/*
    A stream holds a limited number of launches that have not begun. Launch k of
    a stream waits, inside its call, until launch k - depth has begun. The edge
    leads to the start of the call if the record allows it (which saves a node),
    else to its end. A stream that ever held more launches has no such limit.
    Where no launch had to wait, only some get an edge, which represents the
    launches after it: the calls of a thread wait for each other anyway, and the
    true depth of a queue is not known exactly.
*/
enum { TS__QUEUE_PARTS = 64 };

typedef struct ts__queued {
    uint32_t from, call;
    bool end; // the end of the call waits, not its start
} ts__queued;

// The last launches of a stream, as many as its queue holds.
typedef struct ts__launch_queue {
    uint32_t first;       // number of its ring buffer
    uint32_t count, last; // launches so far; call of the last one
    bool holds_more;
} ts__launch_queue;

typedef struct ts__launch_held {
    int64_t start;
    uint32_t op;
} ts__launch_held;

// Returns whether an operation is a new launch on its stream.
static bool ts__queue_launches(const ts_replay *r, const ts__launch_queue *of,
                               uint32_t i)
{
    const ts__op *const op = ts__replay_op(r, i);
    return op->call != TS_NODE_NONE && op->call != of->last &&
           !ts__kind_syncs(op->kind) &&
           ts__replay_lane_at(r, ts__replay_lanes(r)[i])->fifo;
}

// Counts the launches of every stream. Returns how many streams have more than
// a queue holds: each of them gets a ring buffer.
static uint32_t ts__queue_count(const ts_replay *r, ts__launch_queue *queues)
{
    for (uint32_t i = 0; i < r->op_count; i++) {
        ts__launch_queue *const of = &queues[ts__replay_lanes(r)[i]];
        if (!ts__queue_launches(r, of, i)) continue;
        of->last = ts__replay_op(r, i)->call;
        of->count++;
    }
    uint32_t rings = 0;
    for (size_t i = 0; i < r->lanes.count; i++) {
        queues[i].first = TS_NODE_NONE;
        if (queues[i].count > r->queue_depth) queues[i].first = rings++;
        queues[i].count = 0;
        queues[i].last = TS_NODE_NONE;
    }
    return rings;
}

// Notes which launch had to begin before this one.
static bool ts__queue_note(ts_replay *r, ts__launch_queue *of,
                           const ts__launch_held *held, uint32_t op)
{
    const uint32_t call = ts__replay_op(r, op)->call;
    const int64_t start = ts__replay_time(r)[call];
    if (held->start > ts__replay_end(r, call)) of->holds_more = true;
    const bool end = held->start > start;
    if (!end && of->count % (r->queue_depth / TS__QUEUE_PARTS + 1)) return true;
    ts__queued *const queued =
        (ts__queued *)ts__rvec_push(&r->allocator, &r->queued, sizeof *queued);
    if (!queued) return false;
    queued->from = held->op;
    queued->call = call;
    queued->end = end;
    return true;
}

static bool ts__queue_walk(ts_replay *r, ts__launch_queue *queues,
                           ts__launch_held *rings)
{
    const uint32_t depth = r->queue_depth;
    for (uint32_t i = 0; i < r->op_count; i++) {
        ts__launch_queue *const of = &queues[ts__replay_lanes(r)[i]];
        if (of->first == TS_NODE_NONE || of->holds_more ||
            !ts__queue_launches(r, of, i))
            continue;
        ts__launch_held *const held =
            &rings[(size_t)of->first * depth + of->count % depth];
        if (of->count >= depth && !ts__queue_note(r, of, held, i)) return false;
        held->start = ts__replay_time(r)[i];
        held->op = i;
        of->last = ts__replay_op(r, i)->call;
        of->count++;
    }
    return true;
}

// Drops the notes of streams that turned out to hold more launches.
static void ts__queue_finish(ts_replay *r, const ts__launch_queue *queues)
{
    ts__queued *const all = (ts__queued *)r->queued.data;
    size_t kept = 0;
    for (size_t i = 0; i < r->queued.count; i++) {
        if (queues[ts__replay_lanes(r)[all[i].from]].holds_more) continue;
        if (all[i].end) ts__replay_flags(r)[all[i].call] |= TS__NODE_WAITS;
        all[kept++] = all[i];
    }
    r->queued.count = kept;
}

static bool ts__replay_queue(ts_replay *r)
{
    ts__rvec queues = { 0 }, rings = { 0 };
    const ts_allocator *const a = &r->allocator;
    if (!ts__rvec_fill(a, &queues, sizeof(ts__launch_queue), r->lanes.count,
                       0xFF))
        return false;
    ts__launch_queue *const of = (ts__launch_queue *)queues.data;
    for (size_t i = 0; i < r->lanes.count; i++) {
        of[i].count = 0;
        of[i].holds_more = false;
    }
    const uint32_t count = ts__queue_count(r, of);
    const bool ok =
        !count || (ts__rvec_reserve(a, &rings, sizeof(ts__launch_held),
                                    (size_t)count * r->queue_depth) &&
                   ts__queue_walk(r, of, (ts__launch_held *)rings.data));
    if (ok) ts__queue_finish(r, of);
    ts__rvec_close(a, &queues);
    ts__rvec_close(a, &rings);
    return ok;
}
