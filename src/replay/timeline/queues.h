/* ---- Timeline: queues and launches -------------------------------------- */

// Returns the value at index `place` of the sorted values without sorting them:
// a radix selection with digits of 11 bits, from the highest down.
static uint64_t ts__tl_select(const uint64_t *values, size_t count,
                              size_t place)
{
    uint64_t most = 0, prefix = 0, mask = 0;
    for (size_t i = 0; i < count; i++)
        most |= values[i];
    for (int shift = 55; shift >= 0; shift -= 11) {
        if (!(most >> shift)) continue;
        size_t counts[2048] = { 0 };
        for (size_t i = 0; i < count; i++)
            if ((values[i] & mask) == prefix)
                counts[values[i] >> shift & 2047]++;
        uint64_t digit = 0;
        while (place >= counts[digit])
            place -= counts[digit++];
        prefix |= digit << shift;
        mask |= UINT64_C(2047) << shift;
    }
    return prefix;
}

// Whether an operation waited for its launch. Without a call of its own the
// recorded enqueue time counts.
static bool ts__tl_by_launch(const ts_timeline *t, uint32_t op, int64_t issue)
{
    const ts__tl_binding *const binding = ts__tl_binding_of(t, op);
    if (binding->source != TS_NODE_NONE &&
        TS_EDGE_KIND(binding->kind) == TS_EDGE_LAUNCH)
        return true;
    const ts__op *const o = ts__replay_op(t->replay, op);
    return o->call == TS_NODE_NONE && o->issue != TS__NO_TIME &&
           (binding->source == TS_NODE_NONE || binding->at_ns <= issue);
}

// Whether an event record was synthesized for a wait: it then has the call of
// the operation that it follows, and was not launched itself.
static bool ts__tl_is_synthesized(const ts_timeline *t, uint32_t op)
{
    const ts_replay *const r = t->replay;
    const ts__op *const o = ts__replay_op(r, op);
    const uint32_t source = ts__tl_binding_of(t, op)->source;
    return o->kind == TS_EVENT_EVENT_RECORD && o->call != TS_NODE_NONE &&
           source < r->op_count && ts__replay_op(r, source)->call == o->call;
}

/*
    Walks over a device's operations once and computes the span of its work, the
    issue time of each operation, and the launch latencies. `latencies` receives
    those of all operations, followed by those of the window's operations, a
    subset; counts receives the size of both lists.
*/
static void ts__tl_scan_device(ts_timeline *t, ts__tl_device *d,
                               uint64_t *latencies, size_t counts[2])
{
    int64_t *const issues = (int64_t *)t->issues.data;
    uint64_t *const inside = latencies + (d[1].first - d->first);
    bool any = false;
    d->own_ns = TS__NO_TIME;
    for (uint32_t i = d->first; i < d[1].first; i++) {
        const uint32_t op = ts__tl_u32(&t->by_device)[i];
        const int64_t begin = ts__tl_begin(t, op), end = ts__tl_finish(t, op);
        const int64_t issue = issues[i] =
            ts__tl_is_synthesized(t, op) ? begin : ts__tl_issue(t, op);
        if (!ts__kind_works(ts__replay_op(t->replay, op)->kind)) continue;
        if (end > begin) {
            if (!any) d->start_ns = begin;
            if (!any || end > d->end_ns) d->end_ns = end;
            any = true;
            if (d->own_ns == TS__NO_TIME && ts__tl_inside(t, begin))
                d->own_ns = begin;
        }
        if (!ts__tl_by_launch(t, op, issue)) continue;
        latencies[counts[0]++] = (uint64_t)(begin - issue);
        if (t->windowed && ts__tl_inside(t, begin))
            inside[counts[1]++] = (uint64_t)(begin - issue);
    }
}

// Sums up the time that operations spent in queues within the span. It does not
// count time before the device's first work, which in an overview may lie in an
// earlier window.
static void ts__tl_queued(const ts_timeline *t, ts__tl_device *d, size_t device)
{
    const bool began = t->reach && t->reach[device] != TS__NO_TIME;
    const bool works = d->end_ns > d->start_ns;
    for (uint32_t i = d->first; (works || began) && i < d[1].first; i++) {
        const int64_t issue = ts__tl_i64(&t->issues)[i];
        const int64_t begin = ts__tl_begin(t, ts__tl_u32(&t->by_device)[i]);
        const int64_t from = began || issue > d->start_ns ? issue : d->start_ns;
        if (from < begin)
            d->figures.queue_ns = ts__replay_add(d->figures.queue_ns,
                                                 ts__tl_share(t, from, begin));
    }
}

// Computes the latency figures. Slow means over 8 times the median, and over
// TS_TIMELINE_SLOW_NS.
static void ts__tl_latency(const ts_timeline *t, ts__tl_device *d,
                           const uint64_t *latencies, const size_t counts[2])
{
    d->slow_ns = TS_TIMELINE_SLOW_NS;
    d->launch_ns = 0;
    if (counts[0]) {
        const uint64_t middle =
            ts__tl_select(latencies, counts[0], (counts[0] - 1) / 2);
        if (middle < (uint64_t)TS__REPLAY_TIME_MAX)
            d->launch_ns = (int64_t)middle;
        if (middle > TS_TIMELINE_SLOW_NS / 8)
            d->slow_ns = middle < (uint64_t)TS__REPLAY_TIME_MAX / 8
                             ? (int64_t)middle * 8
                             : TS__REPLAY_TIME_MAX;
    }
    const size_t count = counts[t->windowed];
    const uint64_t *const v =
        latencies + (t->windowed ? d[1].first - d->first : 0);
    ts_timeline_figures *const f = &d->figures;
    f->launches = count;
    if (!count) return;
    f->launch_p50_ns =
        (int64_t)ts__tl_select(v, count, (count * 50 + 99) / 100 - 1);
    f->launch_p95_ns =
        (int64_t)ts__tl_select(v, count, (count * 95 + 99) / 100 - 1);
    f->launch_max_ns = (int64_t)ts__tl_select(v, count, count - 1);
}

static bool ts__tl_launches(ts_timeline *t, size_t device)
{
    ts__tl_device *const d = ts__tl_device_at(t, device);
    ts__rvec values = { 0 };
    size_t counts[2] = { 0, 0 };
    const size_t ops = d[1].first - d->first;
    if (!ts__rvec_reserve(&t->allocator, &values, sizeof(uint64_t),
                          ops * (t->windowed ? 2 : 1)))
        return false;
    ts__tl_scan_device(t, d, (uint64_t *)values.data, counts);
    ts__tl_queued(t, d, device);
    ts__tl_latency(t, d, (const uint64_t *)values.data, counts);
    ts__rvec_close(&t->allocator, &values);
    return true;
}

// Returns how many operations are issued but have not begun. The issue times
// must be sorted.
static uint32_t ts__tl_depth(const ts_timeline *t, const ts__tl_device *d,
                             int64_t time_ns)
{
    const int64_t *const issues = ts__tl_i64(&t->issues);
    const uint32_t *const ops = ts__tl_u32(&t->by_device);
    size_t issued = d->first, begun = d->first, end = d[1].first;
    while (issued < end)
        ts__halve(&issued, &end, issues[ts__middle(issued, end)] <= time_ns);
    for (end = d[1].first; begun < end;)
        ts__halve(&begun, &end,
                  ts__tl_begin(t, ops[ts__middle(begun, end)]) <= time_ns);
    return (uint32_t)(issued - begun);
}

// Finds the highest number of operations that were issued but had not begun.
static bool ts__tl_queue(ts_timeline *t, ts__tl_device *d)
{
    int64_t *const issues = (int64_t *)t->issues.data;
    const uint32_t *const ops = ts__tl_u32(&t->by_device);
    ts__rsort sort = { 0 };
    if (!ts__tl_sort_times(t, &sort, issues + d->first,
                           d[1].first - d->first)) {
        ts__rsort_close(&t->allocator, &sort);
        return false;
    }
    uint32_t issued = d->first;
    for (uint32_t begun = d->first; begun < d[1].first; begun++) {
        const int64_t begin = ts__tl_begin(t, ops[begun]);
        // An operation issued exactly when this one begins counts as issued
        // afterwards.
        for (; issued < d[1].first && issues[issued] < begin; issued++) {
            if (ts__tl_inside(t, issues[issued]) &&
                issued + 1 - begun > d->figures.queue_max)
                d->figures.queue_max = issued + 1 - begun;
        }
        if (issued <= begun) issued = begun + 1;
    }
    ts__rsort_close(&t->allocator, &sort);
    if (t->windowed) { // also count what was queued when the window began
        const uint32_t depth = ts__tl_depth(t, d, t->from_ns);
        if (depth > d->figures.queue_max) d->figures.queue_max = depth;
    }
    return true;
}
