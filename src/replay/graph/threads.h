/* ---- Graph: threads that wait for each other ---------------------------- */

/*
    Infers that a thread waits for another one of its process, as a training
    loop waits for the thread that computes gradients; no call shows that. If
    all launches of a process come from one thread for a while, and then from
    another, at least eight each, the first call of the second run comes after
    the last call of the first run. That may be a call of any kind, as a thread
    that waited often queries something before it launches. Threads that launch
    at the same time show no such runs: see unknown_host_ns.
*/
#define TS__ALTERNATION_CALLS 8

// The runs of launches of a part.
typedef struct ts__alternation {
    uint32_t lane, first, last, count; // current run: thread and calls
    uint32_t before;       // last call of the previous run, if long enough
    uint32_t other, ahead; // another thread, and its first call since `last`
} ts__alternation;

static bool ts__alternation_launching(const ts__builder *b, ts__rvec *launches)
{
    const ts_replay *const r = b->replay;
    if (!ts__rvec_fill(b->allocator, launches, sizeof(bool), r->call_count, 0))
        return false;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const uint32_t call = ts__replay_op(r, i)->call;
        if (call != TS_NODE_NONE && ts__kind_works(ts__replay_op(r, i)->kind))
            ((bool *)launches->data)[call - r->op_count] = true;
    }
    return true;
}

// Adds the edge between two runs, now that the second one is long enough, too.
static void ts__alternation_found(ts__builder *b, const ts__alternation *runs,
                                  bool *ordered)
{
    const ts_replay *const r = b->replay;
    if (runs->before == TS_NODE_NONE ||
        ts__replay_end(r, runs->before) > ts__replay_time(r)[runs->first])
        return;
    ts__builder_edge(b, runs->before, runs->first,
                     TS_EDGE_HOST_ORDER | TS_EDGE_INFERRED);
    ordered[runs->first - r->op_count] = true;
}

static void ts__alternation_call(ts__builder *b, ts__alternation *runs,
                                 uint32_t call, bool *ordered)
{
    const uint32_t lane = ts__replay_lanes(b->replay)[call];
    if (lane != runs->lane) {
        runs->before =
            runs->count >= TS__ALTERNATION_CALLS ? runs->last : TS_NODE_NONE;
        runs->first = runs->other == lane ? runs->ahead : call;
        runs->lane = lane;
        runs->count = 0;
    }
    runs->last = call;
    runs->other = TS_NODE_NONE;
    if (++runs->count == TS__ALTERNATION_CALLS)
        ts__alternation_found(b, runs, ordered);
}

// Notes a call that launches nothing: it may be the first call of a run.
static void ts__alternation_ahead(const ts__builder *b, ts__alternation *runs,
                                  uint32_t call)
{
    const uint32_t lane = ts__replay_lanes(b->replay)[call];
    if (lane == runs->lane)
        runs->other = TS_NODE_NONE;
    else if (lane != runs->other) {
        runs->other = lane;
        runs->ahead = call;
    }
}

// The calls of a process so far: start of the first; thread, start and end of
// the last; last start or end of a call on any other thread.
typedef struct ts__process_calls {
    uint32_t lane; // UINT32_MAX: none
    int64_t first_ns, last_ns, last_end_ns, other_ns;
    int64_t queued_ns; // first work without a known call; INT64_MAX: none
} ts__process_calls;

// Finds work that was queued before the record began. Until the first call it
// is not known whether a thread waits for it.
static void ts__pauses_queued(const ts_replay *r, ts__process_calls *processes)
{
    for (uint32_t i = 0; i < r->parts.count; i++) {
        processes[i].lane = UINT32_MAX;
        processes[i].queued_ns = INT64_MAX;
    }
    for (uint32_t i = 0; i < r->op_count; i++) {
        int64_t *const first = &processes[ts__replay_part_of(r, i)].queued_ns;
        if (ts__replay_op(r, i)->call == TS_NODE_NONE &&
            ts__kind_works(ts__replay_op(r, i)->kind) &&
            ts__replay_time(r)[i] < *first)
            *first = ts__replay_time(r)[i];
    }
}

/*
    Adds up the time between two calls of a thread in which another thread of
    its process began or ended a call: the thread may have waited for the other
    one without an edge. Calls with an edge from an alternation are excluded.
    The time before the first call of a process is treated alike. Threads that
    launch nothing, such as one that polls for NCCL, delay no work.
    ended_ns: end of the last call of each thread; TS__NO_TIME: none yet.
*/
static void ts__pauses_add(ts__builder *b, const bool *ordered,
                           const bool *works, ts__process_calls *processes,
                           int64_t *ended_ns)
{
    const ts_replay *const r = b->replay;
    for (uint32_t i = 0; i < r->call_count; i++) {
        const uint32_t call = r->op_count + i;
        const uint32_t lane = ts__replay_lanes(r)[call];
        const int64_t start = ts__replay_time(r)[call];
        const int64_t end = ts__replay_end(r, call);
        ts__process_calls *const p = &processes[ts__replay_part_of(r, call)];
        if (p->lane == UINT32_MAX) {
            *p = (ts__process_calls){ lane,  start,       start,
                                      start, TS__NO_TIME, p->queued_ns };
            if (p->queued_ns < start)
                b->replay->stats.unknown_host_ns += start - p->queued_ns;
        }
        if (p->lane != lane)
            p->other_ns = p->last_end_ns > start ? p->last_ns : p->last_end_ns;
        const int64_t from =
            ended_ns[lane] == TS__NO_TIME ? p->first_ns : ended_ns[lane];
        if (works[lane] && !ordered[i] && start > from &&
            p->other_ns != TS__NO_TIME && p->other_ns >= from)
            b->replay->stats.unknown_host_ns += start - from;
        p->lane = lane;
        p->last_ns = start;
        p->last_end_ns = end;
        if (end > from || ended_ns[lane] == TS__NO_TIME) ended_ns[lane] = end;
    }
}

// Counts waits for a device to which several threads launch: what they wait for
// differs from run to run.
static void ts__builder_shared_syncs(ts__builder *b)
{
    // of each device: 0: no thread; else the lane of its thread plus 1
    const uint32_t several = UINT32_MAX;
    ts_replay *const r = b->replay;
    ts__rvec threads = { 0 };
    if (!ts__rvec_fill(b->allocator, &threads, sizeof(uint32_t), r->lanes.count,
                       0)) {
        b->failed = true;
        return;
    }
    uint32_t *const of = (uint32_t *)threads.data; // by device
    for (uint32_t i = 0; i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        const uint32_t device =
            ts__replay_lane_at(r, ts__replay_lanes(r)[i])->device;
        if (op->call == TS_NODE_NONE || device >= r->lanes.count) continue;
        const uint32_t thread = ts__replay_lanes(r)[op->call] + 1;
        if (op->kind == TS_EVENT_DEVICE_SYNC)
            r->stats.shared_syncs += of[device] == several;
        else if (ts__kind_works(op->kind))
            of[device] = !of[device] || of[device] == thread ? thread : several;
    }
    ts__rvec_close(b->allocator, &threads);
}

// Computes when the sources of each node were done, without the node's own
// start. TS__NO_TIME: the node has no sources.
static bool ts__unmet_latest(const ts__builder *b, ts__rvec *latest)
{
    const ts_replay *const r = b->replay;
    if (!ts__rvec_reserve(b->allocator, latest, sizeof(int64_t), r->node_count))
        return false;
    int64_t *const all = (int64_t *)latest->data;
    for (uint32_t i = 0; i < r->node_count; i++)
        all[i] = TS__NO_TIME;
    for (size_t i = 0; i < b->edges.count; i++) {
        const ts__edge *const edge = (const ts__edge *)b->edges.data + i;
        if (TS_EDGE_KIND(edge->kind) == TS_EDGE_SELF) continue;
        const int64_t at = ts__infer_source(r, edge);
        if (at > all[edge->to]) all[edge->to] = at;
    }
    return true;
}

/*
    Adds up the time of synchronisations that blocked without an edge that shows
    what they waited for: work that was queued before the record, or that the
    record lacks.
*/
static void ts__builder_unmet(ts__builder *b)
{
    ts_replay *const r = b->replay;
    ts__rvec latest = { 0 };
    if (!ts__unmet_latest(b, &latest)) {
        b->failed = true;
        return;
    }
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (!ts__kind_syncs(ts__replay_op(r, i)->kind)) continue;
        const uint32_t end = ts__replay_end_node(r, i);
        const int64_t start = ts__replay_time(r)[i];
        const int64_t ns = ts__replay_time(r)[end] - start;
        if (end != i && ns > TS__INFER_RETURN_NS &&
            ((const int64_t *)latest.data)[end] <= start)
            r->stats.unknown_host_ns += ns;
    }
    ts__rvec_close(b->allocator, &latest);
}

static void ts__builder_pauses(ts__builder *b, const ts__rvec *ordered,
                               const bool *launches)
{
    const ts_replay *const r = b->replay;
    ts__rvec processes = { 0 }, ended = { 0 }, works = { 0 };
    if (!ts__rvec_fill(b->allocator, &works, sizeof(bool), r->lanes.count, 0) ||
        !ts__rvec_fill(b->allocator, &processes, sizeof(ts__process_calls),
                       r->parts.count, 0xFF) ||
        !ts__rvec_fill(b->allocator, &ended, sizeof(int64_t), r->lanes.count,
                       0))
        b->failed = true;
    for (size_t i = 0; i < r->lanes.count && !b->failed; i++)
        ((int64_t *)ended.data)[i] = TS__NO_TIME;
    for (uint32_t i = 0; i < r->call_count && !b->failed; i++)
        if (launches[i])
            ((bool *)works.data)[ts__replay_lanes(r)[r->op_count + i]] = true;
    if (!b->failed) ts__pauses_queued(r, processes.data);
    if (!b->failed)
        ts__pauses_add(b, ordered->data, works.data, processes.data,
                       ended.data);
    ts__rvec_close(b->allocator, &works);
    ts__rvec_close(b->allocator, &processes);
    ts__rvec_close(b->allocator, &ended);
}

static void ts__builder_alternations(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    ts__rvec launches = { 0 }, alternations = { 0 }, ordered = { 0 };
    if (!ts__alternation_launching(b, &launches) ||
        !ts__rvec_fill(b->allocator, &ordered, sizeof(bool), r->call_count,
                       0) ||
        !ts__rvec_fill(b->allocator, &alternations, sizeof(ts__alternation),
                       r->parts.count, 0xFF))
        b->failed = true;
    for (uint32_t i = 0; i < r->parts.count && !b->failed; i++)
        ((ts__alternation *)alternations.data)[i].count = 0;
    for (uint32_t i = 0; i < r->call_count && !b->failed; i++) {
        const uint32_t call = r->op_count + i;
        ts__alternation *const runs =
            (ts__alternation *)alternations.data + ts__replay_part_of(r, call);
        if (((const bool *)launches.data)[i])
            ts__alternation_call(b, runs, call, ordered.data);
        else
            ts__alternation_ahead(b, runs, call);
    }
    if (!b->failed) ts__builder_pauses(b, &ordered, launches.data);
    if (!b->failed) ts__builder_shared_syncs(b);
    ts__rvec_close(b->allocator, &launches);
    ts__rvec_close(b->allocator, &alternations);
    ts__rvec_close(b->allocator, &ordered);
}
