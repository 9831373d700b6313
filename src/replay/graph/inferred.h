/* ---- Graph: edges inferred from times ----------------------------------- */

/*
    Infers edges that are not recorded, flagged TS_EDGE_INFERRED, only where the
    record does not explain a start:

    - If an operation begins later than its launch and predecessors allow, given
      the usual delays of its device (medians of the trace) plus 2 us, it waited
      for the last operation on another stream of its device that ended before,
      at most 8 us earlier. Without a known launch nothing is inferred, as the
      host may have been late.
    - A call that waits for something that is not recorded returned because of
      the operation of its process that ended last before, at most 30 us
      earlier, preferably the last operation of its own thread. A call that
      returned at once comes after the last operation of its thread.

    Source: limits as in docs/replay.md; both delays are a few microseconds in
    all traces seen.
*/
#define TS__INFER_SLACK_NS  2000
#define TS__INFER_WINDOW_NS 8000
#define TS__INFER_RETURN_NS 30000
#define TS__INFER_STEPS     64 // maximum number of operations to look back

typedef struct ts__infer {
    ts__rvec ended;  // uint32_t: work, in order of end
    ts__rvec device; // uint32_t: work by device, in order of end
    ts__rvec first;  // uint32_t: first of each device in `device`
    ts__rvec bound;  // int64_t: when the edges allow each operation to start
    ts__rvec by;     // uint8_t: kind of the edge that was satisfied last
    ts__rvec delays; // int64_t: two medians for each device
} ts__infer;

static uint32_t ts__infer_device(const ts_replay *r, uint32_t op)
{
    return ts__replay_lane_at(r, ts__replay_lanes(r)[op])->device;
}

// Lists work in order of end, of each device and of all. Only called for traces
// that need inference, which most do not.
static bool ts__infer_ends(ts__builder *b, ts__infer *f)
{
    const ts_replay *const r = b->replay;
    const size_t devices = r->device_results.count;
    if (f->ended.data) return true;
    if (!ts__rsort_open(b->allocator, &b->sort, r->op_count) ||
        !ts__rvec_fill(b->allocator, &f->first, sizeof(uint32_t), devices + 1,
                       0))
        return false;
    size_t count = 0;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (!ts__kind_works(ts__replay_op(r, i)->kind)) continue;
        ts__rsort_keys(&b->sort)[count] = ts__rsort_time(ts__replay_end(r, i));
        ts__rsort_index(&b->sort)[count++] = i;
    }
    ts__rsort_run(&b->sort, count);
    if (!ts__rvec_reserve(b->allocator, &f->ended, sizeof(uint32_t), count) ||
        !ts__rvec_reserve(b->allocator, &f->device, sizeof(uint32_t), count))
        return false;
    f->ended.count = f->device.count = count;
    uint32_t *const first = (uint32_t *)f->first.data;
    for (size_t i = 0; i < count; i++) {
        const uint32_t op = ts__rsort_index(&b->sort)[i];
        ((uint32_t *)f->ended.data)[i] = op;
        first[ts__infer_device(r, op) + 1]++;
    }
    for (size_t i = 1; i <= devices; i++)
        first[i] += first[i - 1];
    for (size_t i = 0; i < count; i++) {
        const uint32_t op = ((const uint32_t *)f->ended.data)[i];
        ((uint32_t *)f->device.data)[first[ts__infer_device(r, op)]++] = op;
    }
    for (size_t i = devices; i > 0; i--)
        first[i] = first[i - 1];
    if (devices) first[0] = 0;
    return true;
}

static int64_t ts__infer_source(const ts_replay *r, const ts__edge *edge)
{
    return edge->kind & TS_EDGE_FROM_START ? ts__replay_time(r)[edge->from]
                                           : ts__replay_end(r, edge->from);
}

static size_t ts__infer_which(const ts__infer *f, const ts_replay *r,
                              uint32_t op)
{
    return (size_t)ts__infer_device(r, op) * 2 +
           (((const uint8_t *)f->by.data)[op] == TS_EDGE_LAUNCH);
}

// Finds the edge into each operation that was satisfied last.
static bool ts__infer_bounds(ts__builder *b, ts__infer *f)
{
    const ts_replay *const r = b->replay;
    if (!ts__rvec_reserve(b->allocator, &f->bound, sizeof(int64_t),
                          r->op_count) ||
        !ts__rvec_fill(b->allocator, &f->by, sizeof(uint8_t), r->op_count, 0))
        return false;
    int64_t *const bound = (int64_t *)f->bound.data;
    for (uint32_t i = 0; i < r->op_count; i++)
        bound[i] = TS__NO_TIME;
    for (size_t i = 0; i < b->edges.count; i++) {
        const ts__edge *const edge = (const ts__edge *)b->edges.data + i;
        if (edge->to >= r->op_count) continue;
        const int64_t at = ts__infer_source(r, edge);
        if (at < bound[edge->to]) continue;
        bound[edge->to] = at;
        ((uint8_t *)f->by.data)[edge->to] = TS_EDGE_KIND(edge->kind);
    }
    return true;
}

// Computes, for each device, the median delays of operations after the edge
// that was satisfied last: delays[2 * device + 1] if that was a launch, else
// delays[2 * device]. Tens of thousands of samples are as good as all.
static bool ts__infer_delays(ts__builder *b, ts__infer *f)
{
    const ts_replay *const r = b->replay;
    if (!ts__rvec_fill(b->allocator, &f->delays, sizeof(int64_t),
                       r->device_results.count * 2, 0))
        return false;
    size_t count = 0;
    const int64_t *const bound = (const int64_t *)f->bound.data;
    const uint32_t step = 1 + (r->op_count >> 16);
    for (uint32_t i = 0; i < r->op_count; i += step) {
        if (bound[i] == TS__NO_TIME || bound[i] > ts__replay_time(r)[i] ||
            !ts__kind_works(ts__replay_op(r, i)->kind))
            continue;
        const int64_t delay = ts__replay_time(r)[i] - bound[i];
        ts__rsort_keys(&b->sort)[count] = (uint64_t)delay;
        ts__rsort_index(&b->sort)[count++] = i;
    }
    ts__rsort_run(&b->sort, count);
    for (size_t i = 0; i < count; i++)
        ts__rsort_keys(&b->sort)[i] =
            ts__infer_which(f, r, ts__rsort_index(&b->sort)[i]);
    ts__rsort_run(&b->sort, count);
    const uint64_t *const keys = ts__rsort_keys(&b->sort);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && keys[end] == keys[first];)
            end++;
        const uint32_t op =
            ts__rsort_index(&b->sort)[first + (end - first - 1) / 2];
        ((int64_t *)f->delays.data)[keys[first]] =
            ts__replay_time(r)[op] - bound[op];
    }
    return true;
}

// Returns how many operations of a list in order of end had ended by a time.
static size_t ts__infer_ended_by(const ts_replay *r, const uint32_t *ops,
                                 size_t count, int64_t time)
{
    size_t low = 0, high = count;
    while (low < high)
        ts__halve(&low, &high,
                  ts__replay_end(r, ops[ts__middle(low, high)]) <= time);
    return low;
}

// Returns when an operation could have begun according to the record.
static int64_t ts__infer_allowed(const ts_replay *r, const ts__infer *f,
                                 uint32_t op)
{
    const int64_t *const delays =
        (const int64_t *)f->delays.data + (size_t)ts__infer_device(r, op) * 2;
    const bool launched = ((const uint8_t *)f->by.data)[op] == TS_EDGE_LAUNCH;
    int64_t time = ((const int64_t *)f->bound.data)[op] + delays[launched];
    const uint32_t call = ts__replay_op(r, op)->call;
    if (call != TS_NODE_NONE && ts__replay_time(r)[call] + delays[1] > time)
        time = ts__replay_time(r)[call] + delays[1];
    return time;
}

static void ts__infer_operation(ts__builder *b, ts__infer *f, uint32_t op)
{
    const ts_replay *const r = b->replay;
    const int64_t start = ts__replay_time(r)[op];
    if (!ts__kind_works(ts__replay_op(r, op)->kind) ||
        ts__replay_op(r, op)->call == TS_NODE_NONE ||
        ((const int64_t *)f->bound.data)[op] == TS__NO_TIME ||
        start <= ts__infer_allowed(r, f, op) + TS__INFER_SLACK_NS)
        return;
    if (!ts__infer_ends(b, f)) {
        b->failed = true;
        return;
    }
    const uint32_t *const first =
        (const uint32_t *)f->first.data + ts__infer_device(r, op);
    const uint32_t *const ops = (const uint32_t *)f->device.data + first[0];
    size_t at = ts__infer_ended_by(r, ops, first[1] - first[0], start);
    for (int step = 0; at && step < TS__INFER_STEPS; step++) {
        const uint32_t from = ops[--at];
        if (ts__replay_end(r, from) < start - TS__INFER_WINDOW_NS) return;
        if (from == op || ts__replay_lanes(r)[from] == ts__replay_lanes(r)[op])
            continue;
        ts__builder_edge(b, from, op, TS_EDGE_EVENT | TS_EDGE_INFERRED);
        return;
    }
}

// Finds the operation that a call waited for: issued before the call, and ended
// just before it returned.
static uint32_t ts__infer_answer(const ts_replay *r, const ts__infer *f,
                                 const ts__event_query *query)
{
    const int64_t start = ts__replay_time(r)[query->call];
    const int64_t end = ts__replay_end(r, query->call);
    const int64_t soonest =
        start > end - TS__INFER_RETURN_NS ? start : end - TS__INFER_RETURN_NS;
    const uint32_t recent = query->recent;
    const int64_t done =
        recent == TS_NODE_NONE ? TS__NO_TIME : ts__replay_end(r, recent);
    if (done >= soonest && done <= end) return recent;
    const uint32_t part = ts__replay_part_of(r, query->call);
    const uint32_t *const ops = (const uint32_t *)f->ended.data;
    size_t at = ts__infer_ended_by(r, ops, f->ended.count, end);
    for (int step = 0; at && step < TS__INFER_STEPS; step++) {
        const uint32_t op = ops[--at];
        if (ts__replay_end(r, op) < soonest) break;
        if (ts__replay_part_of(r, op) == part &&
            ts__replay_op(r, op)->issue <= start)
            return op;
    }
    return done <= end ? recent : TS_NODE_NONE;
}

// Prepares the lists, unless there is nothing to infer: without calls no edge
// between operations is inferred.
static bool ts__infer_prepare(ts__builder *b, ts__infer *f)
{
    return (!b->replay->call_count ||
            (ts__infer_bounds(b, f) && ts__infer_delays(b, f))) &&
           (!b->event_queries.count || ts__infer_ends(b, f));
}

static void ts__builder_infer(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    if (r->no_inference) return;
    ts__infer f = { 0 };
    if (!ts__infer_prepare(b, &f)) b->failed = true;
    for (uint32_t i = 0; r->call_count && i < r->op_count && !b->failed; i++)
        ts__infer_operation(b, &f, i);
    for (size_t i = 0; i < b->event_queries.count && !b->failed; i++) {
        const ts__event_query *const query =
            (const ts__event_query *)b->event_queries.data + i;
        const uint32_t from = ts__infer_answer(r, &f, query);
        if (from != TS_NODE_NONE)
            ts__builder_edge(b, from, ts__replay_end_node(r, query->call),
                             TS_EDGE_SYNC | TS_EDGE_INFERRED);
    }
    ts__rsort_close(b->allocator, &b->sort);
    ts__rvec_close(b->allocator, &f.ended);
    ts__rvec_close(b->allocator, &f.device);
    ts__rvec_close(b->allocator, &f.first);
    ts__rvec_close(b->allocator, &f.bound);
    ts__rvec_close(b->allocator, &f.by);
    ts__rvec_close(b->allocator, &f.delays);
}
