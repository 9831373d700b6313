/* ---- 9.22.2 Replay: full launch queues ----------------------------------- */

/*
    A stream holds a limited number of launches that have not begun. Launch k
    of a stream has to wait until launch k - depth began, inside its call. The
    edge goes to the call's start where the record lets it (which spares a
    node), else to its end. A stream that ever held more has no such limit.
*/
typedef struct ts__queued {
    uint32_t from, call;
    bool end; // the call's end waits, not its start
} ts__queued;

typedef struct ts__launch_list {
    uint32_t first, count, last; // last: call
} ts__launch_list;

// Counts the launches of each lane, and lists the first operation of each if
// there is room for a list.
static void ts__queue_list(const ts_replay *r, ts__launch_list *lists,
                           uint32_t *list)
{
    for (uint32_t i = 0; i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        const uint32_t lane = ts__replay_lanes(r)[i];
        ts__launch_list *const of = &lists[lane];
        if (op->call == TS_NODE_NONE || op->call == of->last ||
            ts__kind_syncs(op->kind) || !ts__replay_lane_at(r, lane)->fifo)
            continue;
        of->last = op->call;
        if (list && of->first != TS_NODE_NONE) list[of->first + of->count] = i;
        of->count++;
    }
}

static bool ts__queue_holds_more(const ts_replay *r, const uint32_t *ops,
                                 uint32_t count)
{
    const uint32_t depth = r->queue_depth;
    for (uint32_t k = depth; k < count; k++)
        if (ts__replay_time(r)[ops[k - depth]] >
            ts__replay_end(r, ts__replay_op(r, ops[k])->call))
            return true;
    return false;
}

static bool ts__queue_note(ts_replay *r, const uint32_t *ops, uint32_t count)
{
    const uint32_t depth = r->queue_depth;
    if (ts__queue_holds_more(r, ops, count)) return true;
    for (uint32_t k = depth; k < count; k++) {
        ts__queued *const queued = (ts__queued *)ts__rvec_push(
            &r->allocator, &r->queued, sizeof *queued);
        if (!queued) return false;
        queued->from = ops[k - depth];
        queued->call = ts__replay_op(r, ops[k])->call;
        queued->end =
            ts__replay_time(r)[queued->from] > ts__replay_time(r)[queued->call];
        if (queued->end) ts__replay_flags(r)[queued->call] |= TS__NODE_WAITS;
    }
    return true;
}

static bool ts__replay_queue(ts_replay *r)
{
    ts__rvec lists = { 0 }, ops = { 0 };
    const size_t lanes = r->lanes.count;
    const ts_allocator *const a = &r->allocator;
    if (!ts__rvec_fill(a, &lists, sizeof(ts__launch_list), lanes, 0xFF))
        return false;
    ts__launch_list *const of = (ts__launch_list *)lists.data;
    for (size_t i = 0; i < lanes; i++)
        of[i].count = 0;
    ts__queue_list(r, of, NULL);
    uint32_t sum = 0;
    for (size_t i = 0; i < lanes; i++) {
        if (of[i].count > r->queue_depth) {
            of[i].first = sum;
            sum += of[i].count;
        }
        of[i].count = 0;
        of[i].last = TS_NODE_NONE;
    }
    bool ok = !sum || ts__rvec_reserve(a, &ops, sizeof(uint32_t), sum);
    if (ok && sum) ts__queue_list(r, of, (uint32_t *)ops.data);
    for (size_t i = 0; ok && sum && i < lanes; i++)
        if (of[i].first != TS_NODE_NONE)
            ok = ts__queue_note(r, (const uint32_t *)ops.data + of[i].first,
                                of[i].count);
    ts__rvec_close(a, &lists);
    ts__rvec_close(a, &ops);
    return ok;
}
