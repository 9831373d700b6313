/* ---- Timeline: access to figures ---------------------------------------- */

TS_API const char *ts_state_name(uint32_t state)
{
    TS__NAME_IN(TS_STATES, state);
}

TS_API const char *ts_idle_name(uint32_t idle)
{
    TS__NAME_IN(TS_IDLES, idle);
}

TS_API const char *ts_work_name(uint32_t work)
{
    TS__NAME_IN(TS_WORKS, work);
}

TS_API const ts_timeline_figures *ts_timeline_total(const ts_timeline *timeline)
{
    return &timeline->total;
}

TS_API const ts_timeline_figures *
ts_timeline_device(const ts_timeline *timeline, size_t device)
{
    if (device >= timeline->devices.count) return NULL;
    return &ts__tl_device_at(timeline, device)->figures;
}

TS_API size_t ts_timeline_concurrency(const ts_timeline *timeline,
                                      size_t device, const int64_t **times_ns)
{
    *times_ns = NULL;
    if (device >= timeline->devices.count) return 0;
    const ts__rvec *const levels =
        &ts__tl_device_at(timeline, device)->concurrency;
    *times_ns = ts__tl_i64(levels);
    return levels->count;
}

TS_API uint32_t ts_timeline_queue(const ts_timeline *timeline, size_t device,
                                  int64_t time_ns)
{
    if (device >= timeline->devices.count) return 0;
    return ts__tl_depth(timeline, ts__tl_device_at(timeline, device), time_ns);
}

// The depth peaks when an operation is issued, or at the start of the interval.
TS_API uint32_t ts_timeline_queue_most(const ts_timeline *timeline,
                                       size_t device, int64_t from_ns,
                                       int64_t to_ns)
{
    if (device >= timeline->devices.count || to_ns <= from_ns) return 0;
    const ts__tl_device *const d = ts__tl_device_at(timeline, device);
    const int64_t *const issues = ts__tl_i64(&timeline->issues);
    uint32_t most = ts__tl_depth(timeline, d, from_ns);
    size_t at = d->first, end = d[1].first;
    while (at < end)
        ts__halve(&at, &end, issues[ts__middle(at, end)] <= from_ns);
    for (; at < d[1].first && issues[at] < to_ns; at++) {
        const uint32_t depth = ts__tl_depth(timeline, d, issues[at]);
        if (depth > most) most = depth;
    }
    return most;
}

TS_API int64_t ts_timeline_issued(const ts_timeline *timeline,
                                  uint32_t operation)
{
    if (operation >= timeline->replay->op_count) return INT64_MIN;
    const bool queued = ts__tl_covers(timeline, operation) &&
                        !ts__tl_is_synthesized(timeline, operation);
    return queued ? ts__tl_issue(timeline, operation)
                  : ts__tl_begin(timeline, operation);
}

TS_API size_t ts_timeline_gap_count(const ts_timeline *timeline, size_t device)
{
    if (device >= timeline->devices.count) return 0;
    return ts__tl_device_at(timeline, device)->gap_count;
}

TS_API bool ts_timeline_gap(const ts_timeline *timeline, size_t device,
                            size_t index, ts_gap *gap)
{
    if (index >= ts_timeline_gap_count(timeline, device)) return false;
    const size_t first = ts__tl_device_at(timeline, device)->gap_first;
    *gap = ((const ts_gap *)timeline->gaps.data)[first + index];
    return true;
}

TS_API uint32_t ts_timeline_culprit(const ts_timeline *timeline, uint32_t node,
                                    uint8_t *edge, bool *inferred)
{
    const ts_replay *const r = timeline->replay;
    const uint32_t calls_end = r->op_count + r->call_count;
    *edge = TS_EDGE_SELF;
    *inferred = false;
    if (node >= r->node_count) return TS_NODE_NONE;
    // Work waits before it begins; every other operation waits before it ends.
    const bool works =
        node < r->op_count && ts__kind_works(ts__replay_op(r, node)->kind);
    const uint32_t at =
        works || node >= calls_end ? node : ts__replay_end_node(r, node);
    if (ts__tl_is_call(r, at)) return TS_NODE_NONE; // calls have no root
    const ts__tl_root *const root = ts__tl_root_at(timeline, at);
    if (root->culprit == node) return TS_NODE_NONE; // it waited for nothing
    *edge = root->edge;
    *inferred = root->inferred;
    return root->culprit;
}
