/* ---- 10.54 Timeline: busy, idle, concurrency ----------------------------- */

static ts_work ts__tl_work(uint8_t kind)
{
    return kind == TS_EVENT_KERNEL       ? TS_WORK_KERNEL
           : kind == TS_EVENT_COLLECTIVE ? TS_WORK_COLLECTIVE
                                         : TS_WORK_COPY;
}

// What of [from, to) lies in the window.
static int64_t ts__tl_clip(const ts_timeline *t, int64_t from, int64_t to)
{
    if (t->windowed) {
        if (from < t->from_ns) from = t->from_ns;
        if (to > t->to_ns) to = t->to_ns;
    }
    return to > from ? to - from : 0;
}

// Whether a moment lies in the window. What happens as a whole belongs in a
// survey to the window in which it ends: no other one has it.
static bool ts__tl_inside(const ts_timeline *t, int64_t time)
{
    return !t->windowed || (time >= t->from_ns && time < t->to_ns);
}
static int64_t ts__tl_share(const ts_timeline *t, int64_t from, int64_t to)
{
    if (!t->reach) return ts__tl_clip(t, from, to);
    return to > from && ts__tl_inside(t, to) ? to - from : 0;
}

// A device passing through time.
typedef struct ts__tl_sweep {
    ts_timeline *timeline;
    ts__tl_device *device;
    int64_t now;
    uint32_t running[TS_WORK_LIMIT], all;
    ts__rvec ends; // a heap of ts__ready; place: ts_work
} ts__tl_sweep;

// Time goes on with what runs.
static bool ts__tl_pass(ts__tl_sweep *s, int64_t to)
{
    ts_timeline *const t = s->timeline;
    const int64_t part = ts__tl_clip(t, s->now, to);
    s->now = to;
    ts__rvec *const levels = &s->device->concurrency;
    while (levels->count <= s->all) {
        int64_t *const level =
            (int64_t *)ts__rvec_push(&t->allocator, levels, sizeof *level);
        if (!level) return false;
        *level = 0;
    }
    ((int64_t *)levels->data)[s->all] += part;
    if (!s->all) return true;
    ts_timeline_figures *const f = &s->device->figures;
    f->busy_ns += part;
    bool first = true;
    for (int i = 0; i < TS_WORK_LIMIT; i++) {
        if (!s->running[i]) continue;
        f->work_ns[i] += part;
        if (first) f->only_ns[i] += part;
        first = false;
    }
    return true;
}

static bool ts__tl_pass_ends(ts__tl_sweep *s, int64_t until)
{
    while (s->ends.count && ((const ts__ready *)s->ends.data)->time <= until) {
        const ts__ready end = ts__ready_pop(&s->ends);
        if (!ts__tl_pass(s, end.time)) return false;
        s->running[end.place]--;
        s->all--;
    }
    return true;
}

// The operation ends a gap.
static bool ts__tl_gap_add(ts__tl_sweep *s, uint32_t op, int64_t begin)
{
    ts_timeline *const t = s->timeline;
    const int64_t part = ts__tl_share(t, s->now, begin);
    s->device->figures.idle_ns += part;
    if (!part) return true;
    ts_gap *const gap =
        (ts_gap *)ts__rvec_push(&t->allocator, &t->gaps, sizeof *gap);
    if (!gap) return false;
    memset(gap, 0, sizeof *gap);
    gap->start_ns = s->now;
    gap->end_ns = begin;
    gap->operation = op;
    return true;
}

static bool ts__tl_sweep_op(ts__tl_sweep *s, uint32_t op)
{
    const ts_timeline *const t = s->timeline;
    const uint8_t kind = ts__replay_op(t->replay, op)->kind;
    const int64_t begin = ts__tl_begin(t, op), end = ts__tl_finish(t, op);
    if (end <= begin || !ts__tl_pass_ends(s, begin)) return end <= begin;
    if (!s->all && begin > s->now && !ts__tl_gap_add(s, op, begin))
        return false;
    if (!ts__tl_pass(s, begin)) return false;
    const ts_work work = ts__tl_work(kind);
    const ts__ready item = { end, (uint64_t)work };
    s->running[work]++;
    s->all++;
    return ts__ready_push(&t->allocator, &s->ends, item);
}

static bool ts__tl_sweep_device(ts_timeline *t, size_t index)
{
    ts__tl_device *const d = ts__tl_device_at(t, index);
    ts_timeline_figures *const f = &d->figures;
    const ts_lane *const lane =
        (const ts_lane *)t->replay->device_results.data + index;
    ts__tl_sweep s = { t, d, d->start_ns, { 0 }, 0, { 0 } };
    int64_t start = d->start_ns, end = d->end_ns;
    if (t->reach && t->reach[index] != TS__NO_TIME) s.now = t->reach[index];
    f->file = lane->file;
    f->track = lane->track;
    d->gap_first = t->gaps.count;
    if (start == end) return true;
    bool ok = true;
    for (uint32_t i = d->first; ok && i < d[1].first; i++) {
        const uint32_t op = ts__tl_u32(&t->by_device)[i];
        if (!ts__kind_works(ts__replay_op(t->replay, op)->kind)) continue;
        const int64_t begin = ts__tl_begin(t, op);
        f->operations +=
            ts__tl_inside(t, begin) || (!t->reach && begin < t->from_ns &&
                                        ts__tl_finish(t, op) > t->from_ns);
        ok = ts__tl_sweep_op(&s, op);
    }
    ok = ok && ts__tl_pass_ends(&s, end);
    ts__rvec_close(&t->allocator, &s.ends);
    d->gap_count = t->gaps.count - d->gap_first;
    if (t->windowed && start < t->from_ns) start = t->from_ns;
    if (t->windowed && end > t->to_ns) end = t->to_ns;
    f->start_ns = start;
    f->end_ns = end > start ? end : start;
    return ok;
}

/* ---- 10.55 Timeline: queues and launches --------------------------------- */

// The value at a place of the sorted values, without sorting them: by digits
// of 11 bits, from the highest down.
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

// What an operation was launched by, if that is what it waited for. Without a
// call of its own the time of the queue counts.
static bool ts__tl_by_launch(const ts_timeline *t, uint32_t op, int64_t issue)
{
    const ts__tl_bond *const bond = ts__tl_bond_of(t, op);
    if (bond->source != TS_NODE_NONE &&
        TS_EDGE_KIND(bond->kind) == TS_EDGE_LAUNCH)
        return true;
    const ts__op *const o = ts__replay_op(t->replay, op);
    return o->call == TS_NODE_NONE && o->issue != TS__NO_TIME &&
           (bond->source == TS_NODE_NONE || bond->at_ns <= issue);
}

// The record of an event that was made for a wait has the call of what it
// waited for, and was not launched besides.
static bool ts__tl_is_echo(const ts_timeline *t, uint32_t op)
{
    const ts_replay *const r = t->replay;
    const ts__op *const o = ts__replay_op(r, op);
    const uint32_t source = ts__tl_bond_of(t, op)->source;
    return o->kind == TS_EVENT_EVENT_RECORD && o->call != TS_NODE_NONE &&
           source < r->op_count && ts__replay_op(r, source)->call == o->call;
}

/*
    Goes through a device's operations once: for the span of its work that
    takes time, and for what their calls tell: when they were issued, and the
    launch latencies. latencies: receives those of all, then those of the
    window, which are a part of them. Returns how many of each.
*/
static void ts__tl_survey(ts_timeline *t, ts__tl_device *d, uint64_t *latencies,
                          size_t counts[2])
{
    int64_t *const issues = (int64_t *)t->issues.data;
    uint64_t *const inside = latencies + (d[1].first - d->first);
    bool any = false;
    d->own_ns = TS__NO_TIME;
    for (uint32_t i = d->first; i < d[1].first; i++) {
        const uint32_t op = ts__tl_u32(&t->by_device)[i];
        const int64_t begin = ts__tl_begin(t, op), end = ts__tl_finish(t, op);
        const int64_t issue = issues[i] =
            ts__tl_is_echo(t, op) ? begin : ts__tl_issue(t, op);
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

// Time in queues within the span, of which it is the mean: not before the
// first work, which in a survey may lie in an earlier window.
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
    ts__tl_survey(t, d, (uint64_t *)values.data, counts);
    ts__tl_queued(t, d, device);
    ts__tl_latency(t, d, (const uint64_t *)values.data, counts);
    ts__rvec_close(&t->allocator, &values);
    return true;
}

// How many operations are issued and not begun; the issues are sorted.
static uint32_t ts__tl_depth(const ts_timeline *t, const ts__tl_device *d,
                             int64_t time_ns)
{
    uint32_t issued = d->first, begun = d->first, end = d[1].first;
    while (issued < end) {
        const uint32_t middle = issued + (end - issued) / 2;
        if (ts__tl_i64(&t->issues)[middle] <= time_ns)
            issued = middle + 1;
        else
            end = middle;
    }
    for (end = d[1].first; begun < end;) {
        const uint32_t middle = begun + (end - begun) / 2;
        const uint32_t op = ts__tl_u32(&t->by_device)[middle];
        if (ts__tl_begin(t, op) <= time_ns)
            begun = middle + 1;
        else
            end = middle;
    }
    return issued - begun;
}

// The most operations that were issued and not begun at once.
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
        // What is issued as this begins comes after it.
        for (; issued < d[1].first && issues[issued] < begin; issued++) {
            if (ts__tl_inside(t, issues[issued]) &&
                issued + 1 - begun > d->figures.queue_max)
                d->figures.queue_max = issued + 1 - begun;
        }
        if (issued <= begun) issued = begun + 1;
    }
    ts__rsort_close(&t->allocator, &sort);
    if (t->windowed) { // and what was there before
        const uint32_t depth = ts__tl_depth(t, d, t->from_ns);
        if (depth > d->figures.queue_max) d->figures.queue_max = depth;
    }
    return true;
}

/* ---- 10.56 Timeline: the cause of a gap ---------------------------------- */

// Whether work that was free to begin at `ready` took so long that something
// else must have held it up.
static bool ts__tl_is_slow(const ts__tl_device *d, const ts_gap *gap,
                           int64_t ready)
{
    return ready < gap->end_ns && gap->end_ns - ready > d->slow_ns;
}

// X waited for its call.
static ts_idle ts__tl_cause_call(const ts_timeline *t, const ts__tl_device *d,
                                 ts_gap *gap)
{
    const ts_replay *const r = t->replay;
    const uint32_t call = gap->culprit;
    int64_t made = ts__tl_issue(t, gap->operation), done = made;
    if (call != TS_NODE_NONE) {
        const uint32_t end = ts__replay_end_node(r, call);
        made = ts__tl_begin(t, call);
        done = ts__tl_finish(t, call);
        if (end != call && ts__tl_bound_by(t, end) == TS_EDGE_QUEUE)
            made = done < gap->end_ns ? done : gap->end_ns;
    }
    const int64_t late = made - gap->start_ns;
    if (ts__tl_is_slow(d, gap, done) && gap->end_ns - done > late)
        return TS_IDLE_UNEXPLAINED;
    if (late <= 0) return TS_IDLE_LAUNCH_LATENCY;
    if (call == TS_NODE_NONE) return TS_IDLE_HOST_LATE;
    const ts__tl_block *longest[TS__BLOCKS];
    int64_t blocked[TS__BLOCKS];
    for (int i = 0; i < TS__BLOCKS; i++)
        blocked[i] = ts__tl_blocked(t, i, ts__replay_lanes(r)[call],
                                    gap->start_ns, made, &longest[i]);
    if (ts__replay_add(blocked[0], blocked[1]) < late) return TS_IDLE_HOST_LATE;
    const int sort = blocked[TS__BLOCK_QUEUE] > blocked[TS__BLOCK_SYNC];
    gap->culprit = longest[sort]->node;
    gap->inferred |= longest[sort]->inferred;
    return sort == TS__BLOCK_QUEUE ? TS_IDLE_QUEUE_FULL : TS_IDLE_HOST_SYNC;
}

static ts_idle ts__tl_cause_work(const ts_timeline *t, const ts__tl_device *d,
                                 ts_gap *gap)
{
    const ts_replay *const r = t->replay;
    const uint8_t kind = ts__replay_op(r, gap->culprit)->kind;
    const uint32_t call = ts__replay_op(r, gap->operation)->call;
    const int64_t done = ts__tl_finish(t, gap->culprit);
    const bool late = call != TS_NODE_NONE && ts__tl_begin(t, call) > done;
    if (!late && kind == TS_EVENT_HOST_FUNCTION) return TS_IDLE_HOST_LATE;
    if (!late && ts__kind_syncs(kind)) return TS_IDLE_HOST_SYNC;
    if (late || ts__tl_is_slow(d, gap, done)) {
        if (call == TS_NODE_NONE ||
            (!late && ts__tl_is_slow(d, gap, ts__tl_finish(t, call))))
            return TS_IDLE_UNEXPLAINED;
        gap->culprit = call; // which took as long, or began later
        gap->edge = TS_EDGE_LAUNCH;
        gap->inferred = false;
        return ts__tl_cause_call(t, d, gap);
    }
    if (ts__replay_lanes(r)[gap->culprit] ==
        ts__replay_lanes(r)[gap->operation])
        return TS_IDLE_LAUNCH_LATENCY;
    if (gap->edge == TS_EDGE_COLLECTIVE || gap->edge == TS_EDGE_P2P ||
        kind == TS_EVENT_COLLECTIVE)
        return TS_IDLE_COLLECTIVE;
    return kind == TS_EVENT_KERNEL ? TS_IDLE_OTHER_STREAM : TS_IDLE_COPY;
}

// Whether an operation lay in its queue, its launch done, when the work before
// it on its stream ended.
static bool ts__tl_was_queued(const ts_timeline *t, const ts__tl_device *d,
                              const ts_gap *gap)
{
    if (gap->culprit == TS_NODE_NONE || ts__tl_is_call(t->replay, gap->culprit))
        return false;
    return ts__replay_add(ts__tl_issue(t, gap->operation), d->launch_ns) <=
           ts__tl_finish(t, gap->culprit);
}

static void ts__tl_charge(const ts_timeline *t, ts__tl_device *d, ts_gap *gap)
{
    const ts_replay *const r = t->replay;
    const ts__tl_root *const root = ts__tl_root_at(t, gap->operation);
    ts_timeline_figures *const f = &d->figures;
    gap->culprit = root->culprit;
    gap->edge = root->edge;
    gap->inferred = root->inferred;
    if (ts__replay_op(r, gap->operation)->call == TS_NODE_NONE &&
        ts__tl_by_launch(t, gap->operation, ts__tl_issue(t, gap->operation))) {
        gap->culprit = TS_NODE_NONE;
        gap->edge = TS_EDGE_LAUNCH;
        gap->inferred = false;
        gap->cause = ts__tl_cause_call(t, d, gap);
    } else if (gap->culprit == TS_NODE_NONE) {
        gap->cause = TS_IDLE_UNEXPLAINED;
    } else if (ts__tl_is_call(r, gap->culprit)) {
        // Of two launches the later one arrives later.
        const uint32_t call = ts__replay_op(r, gap->operation)->call;
        if (call != TS_NODE_NONE &&
            ts__tl_begin(t, call) > ts__tl_begin(t, gap->culprit))
            gap->culprit = call;
        gap->cause = ts__tl_cause_call(t, d, gap);
    } else {
        gap->cause = ts__tl_cause_work(t, d, gap);
    }
    const int64_t part = ts__tl_share(t, gap->start_ns, gap->end_ns);
    f->cause_ns[gap->cause] += part;
    f->causes[gap->cause]++;
    if (gap->cause == TS_IDLE_LAUNCH_LATENCY && ts__tl_was_queued(t, d, gap))
        f->dispatch_ns += part;
    if (gap->cause == TS_IDLE_UNEXPLAINED)
        f->unexplained_ns += part;
    else if (gap->inferred)
        f->inferred_ns += part;
    else
        f->explicit_ns += part;
}

/* ---- 10.57 Timeline: all of it ------------------------------------------- */

// Whether the parts of a device's time add up.
static bool ts__tl_adds_up(const ts_timeline_figures *f)
{
    int64_t idle = 0, busy = 0;
    for (int i = 0; i < TS_IDLE_LIMIT; i++)
        idle += f->cause_ns[i];
    for (int i = 0; i < TS_WORK_LIMIT; i++)
        busy += f->only_ns[i];
    return idle == f->idle_ns && busy == f->busy_ns &&
           busy + idle == f->end_ns - f->start_ns &&
           f->explicit_ns + f->inferred_ns + f->unexplained_ns == idle;
}

static void ts__tl_add(int64_t *to, int64_t value)
{
    *to = ts__replay_add(*to, value);
}

static void ts__tl_sum(ts_timeline_figures *all, const ts_timeline_figures *f,
                       bool *any)
{
    if (f->end_ns > f->start_ns) {
        if (!*any || f->start_ns < all->start_ns) all->start_ns = f->start_ns;
        if (!*any || f->end_ns > all->end_ns) all->end_ns = f->end_ns;
        *any = true;
    }
    all->operations += f->operations;
    ts__tl_add(&all->busy_ns, f->busy_ns);
    ts__tl_add(&all->idle_ns, f->idle_ns);
    for (int i = 0; i < TS_WORK_LIMIT; i++) {
        ts__tl_add(&all->work_ns[i], f->work_ns[i]);
        ts__tl_add(&all->only_ns[i], f->only_ns[i]);
    }
    for (int i = 0; i < TS_IDLE_LIMIT; i++) {
        ts__tl_add(&all->cause_ns[i], f->cause_ns[i]);
        all->causes[i] += f->causes[i];
    }
    ts__tl_add(&all->dispatch_ns, f->dispatch_ns);
    ts__tl_add(&all->explicit_ns, f->explicit_ns);
    ts__tl_add(&all->inferred_ns, f->inferred_ns);
    ts__tl_add(&all->unexplained_ns, f->unexplained_ns);
    all->launches += f->launches;
    if (f->launch_max_ns > all->launch_max_ns)
        all->launch_max_ns = f->launch_max_ns;
    if (f->queue_max > all->queue_max) all->queue_max = f->queue_max;
    ts__tl_add(&all->queue_ns, f->queue_ns);
}

static ts_result ts__tl_devices(ts_timeline *t)
{
    bool any = false;
    for (size_t i = 0; i < t->devices.count; i++) {
        ts__tl_device *const d = ts__tl_device_at(t, i);
        if (!ts__tl_launches(t, i) || !ts__tl_queue(t, d)) return TS_ERR_MEMORY;
    }
    // There are no more gaps than operations, and most often far fewer.
    if (!ts__rvec_reserve(&t->allocator, &t->gaps, sizeof(ts_gap),
                          t->order.count))
        return TS_ERR_MEMORY;
    for (size_t i = 0; i < t->devices.count; i++) {
        ts__tl_device *const d = ts__tl_device_at(t, i);
        if (!ts__tl_sweep_device(t, i)) return TS_ERR_MEMORY;
        for (size_t k = 0; k < d->gap_count; k++)
            ts__tl_charge(t, d, (ts_gap *)t->gaps.data + d->gap_first + k);
        if (!t->reach && !ts__tl_adds_up(&d->figures)) return TS_ERR_CORRUPT;
        ts__tl_sum(&t->total, &d->figures, &any);
    }
    ts__rvec_trim(&t->allocator, &t->gaps);
    return TS_OK;
}

// reach: of a survey, or NULL.
static ts_result ts__timeline_open(ts_timeline **timeline,
                                   const ts_replay *replay,
                                   const ts_timeline_desc *desc,
                                   const int64_t *reach)
{
    static const ts_timeline_desc none = { 0 };
    if (!timeline) return TS_ERR_USAGE;
    *timeline = NULL;
    if (!desc) desc = &none;
    const bool windowed = desc->from_ns || desc->to_ns;
    if (!replay || (windowed && desc->to_ns <= desc->from_ns))
        return TS_ERR_USAGE;
    if (desc->replayed && !replay->start.count) return TS_ERR_STATE;
    // What the replay needed while it loaded is free by now.
    const bool share =
        !desc->allocator.resize && replay->allocator.resize == ts__arena_resize;
    const ts_allocator allocator =
        ts__arena_open(share ? &replay->allocator : &desc->allocator);
    ts_timeline *const t = (ts_timeline *)allocator.resize(
        allocator.user, NULL, 0, sizeof(ts_timeline));
    if (!t) {
        ts__arena_close(&allocator);
        return TS_ERR_MEMORY;
    }
    memset(t, 0, sizeof *t);
    t->replay = replay;
    t->allocator = allocator;
    t->replayed = desc->replayed;
    t->windowed = windowed;
    t->from_ns = desc->from_ns;
    t->to_ns = desc->to_ns;
    t->reach = reach;
    ts_result result = TS_ERR_MEMORY;
    if (ts__tl_times(t) && ts__tl_order(t) && ts__tl_bind(t) &&
        ts__tl_follow(t) && ts__tl_blocks(t) && ts__tl_lists(t))
        result = t->order.count ? ts__tl_devices(t) : TS_ERR_NOT_FOUND;
    if (result != TS_OK) {
        ts_timeline_close(t);
        return result;
    }
    *timeline = t;
    return TS_OK;
}

TS_API ts_result ts_timeline_open(ts_timeline **timeline,
                                  const ts_replay *replay,
                                  const ts_timeline_desc *desc)
{
    return ts__timeline_open(timeline, replay, desc, NULL);
}

TS_API void ts_timeline_close(ts_timeline *timeline)
{
    if (!timeline) return;
    const ts_allocator a = timeline->allocator;
    for (size_t i = 0; i < timeline->devices.count; i++)
        ts__rvec_close(&a, &ts__tl_device_at(timeline, i)->concurrency);
    ts__rvec *const vecs[] = { &timeline->begin,       &timeline->finish,
                               &timeline->bonds,       &timeline->roots,
                               &timeline->held,        &timeline->order,
                               &timeline->by_device,   &timeline->issues,
                               &timeline->by_lane,     &timeline->lane_first,
                               &timeline->devices,     &timeline->gaps,
                               &timeline->blocks[0],   &timeline->blocks[1],
                               &timeline->lane_issues, &timeline->lane_kinds };
    for (size_t i = 0; i < sizeof vecs / sizeof vecs[0]; i++)
        ts__rvec_close(&a, vecs[i]);
    a.resize(a.user, timeline, sizeof *timeline, 0);
    ts__arena_close(&a);
}

/* ---- 10.58 Timeline: looking at it --------------------------------------- */

TS_API const char *ts_state_name(uint32_t state)
{
    switch (state) {
#define TS__X(name, value, text) \
    case value: return text;
        TS_STATES(TS__X)
#undef TS__X
    default: return "unknown";
    }
}

TS_API const char *ts_idle_name(uint32_t idle)
{
    switch (idle) {
#define TS__X(name, value, text) \
    case value: return text;
        TS_IDLES(TS__X)
#undef TS__X
    default: return "unknown";
    }
}

TS_API const char *ts_work_name(uint32_t work)
{
    switch (work) {
#define TS__X(name, value, text) \
    case value: return text;
        TS_WORKS(TS__X)
#undef TS__X
    default: return "unknown";
    }
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

// It is the most when one of them is issued, or at the beginning.
TS_API uint32_t ts_timeline_queue_most(const ts_timeline *timeline,
                                       size_t device, int64_t from_ns,
                                       int64_t to_ns)
{
    if (device >= timeline->devices.count || to_ns <= from_ns) return 0;
    const ts__tl_device *const d = ts__tl_device_at(timeline, device);
    const int64_t *const issues = ts__tl_i64(&timeline->issues);
    uint32_t most = ts__tl_depth(timeline, d, from_ns);
    uint32_t at = d->first, end = d[1].first;
    while (at < end) {
        const uint32_t middle = at + (end - at) / 2;
        if (issues[middle] <= from_ns)
            at = middle + 1;
        else
            end = middle;
    }
    for (; at < d[1].first && issues[at] < to_ns; at++) {
        const uint32_t depth = ts__tl_depth(timeline, d, issues[at]);
        if (depth > most) most = depth;
    }
    return most;
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
    // Work waits before it begins, all else before it ends.
    const bool works =
        node < r->op_count && ts__kind_works(ts__replay_op(r, node)->kind);
    const uint32_t at =
        works || node >= calls_end ? node : ts__replay_end_node(r, node);
    if (ts__tl_is_call(r, at)) return TS_NODE_NONE; // it never waits
    const ts__tl_root *const root = ts__tl_root_at(timeline, at);
    if (root->culprit == node) return TS_NODE_NONE; // it did not wait
    *edge = root->edge;
    *inferred = root->inferred;
    return root->culprit;
}

/* ---- 10.59 Timeline: states of a stream ---------------------------------- */

// The operations of a stream lie anywhere: those to come are fetched ahead.
static void ts__stays_load(ts_stays *s)
{
    const ts_timeline *const t = s->timeline;
    const uint32_t *const ops = ts__tl_u32(&t->by_lane);
    if (s->at >= s->end) return;
    if (s->at + 8 < s->end) {
        const uint32_t ahead = ops[s->at + 8];
        __builtin_prefetch(&ts__replay_time(t->replay)[ahead]);
        __builtin_prefetch(&ts__replay_duration(t->replay)[ahead]);
    }
    s->next_op = ops[s->at];
    s->begin_ns = ts__tl_begin(t, s->next_op);
    s->finish_ns = ts__tl_finish(t, s->next_op);
    s->issue_ns = ts__tl_i64(&t->lane_issues)[s->at];
    s->next_kind = ((const uint8_t *)t->lane_kinds.data)[s->at];
}

TS_API ts_stays ts_timeline_stays(const ts_timeline *timeline, size_t stream)
{
    const ts_replay *const r = timeline->replay;
    ts_stays stays;
    memset(&stays, 0, sizeof stays);
    stays.timeline = timeline;
    if (stream >= r->lane_results.count) return stays;
    const uint32_t *const first =
        ts__tl_u32(&timeline->lane_first) +
        (r->lanes.count - r->lane_results.count + stream);
    if (first[0] == first[1]) return stays;
    stays.more = true;
    stays.at = first[0];
    stays.end = first[1];
    ts__stays_load(&stays);
    stays.now_ns = stays.issue_ns;
    stays.busy_ns = stays.wait_ns = stays.now_ns;
    stays.runs = stays.waits = TS_NODE_NONE;
    return stays;
}

// Puts what a node waited for into a stay, until *until.
static void ts__stays_hold(const ts_timeline *t, uint32_t node, int64_t *until,
                           ts_stay *stay)
{
    const int64_t at = ts__tl_bond_of(t, node)->at_ns;
    if (at <= *until) return;
    const ts__tl_root *const root = ts__tl_root_at(t, node);
    *until = at;
    stay->culprit = root->culprit;
    stay->edge = root->edge;
    stay->inferred = root->inferred;
}

// The next operation begins.
static void ts__stays_begin(ts_stays *s)
{
    const uint8_t kind = s->next_kind & (TS__TL_BEGIN_HELD - 1);
    if ((ts__kind_works(kind) || kind == TS_EVENT_HOST_FUNCTION) &&
        s->finish_ns > s->busy_ns) {
        if (s->busy_ns <= s->now_ns) s->runs = s->next_op;
        s->busy_ns = s->finish_ns;
    }
    if (kind == TS_EVENT_EVENT_WAIT && s->finish_ns > s->wait_ns) {
        s->wait_ns = s->finish_ns;
        s->waits = ts__replay_end_node(s->timeline->replay, s->next_op);
    }
    s->at++;
    ts__stays_load(s);
}

// What a stream does while nothing of its runs and it has more to do.
static int64_t ts__stays_before(ts_stays *s, ts_stay *stay)
{
    const ts_timeline *const t = s->timeline;
    const uint32_t op = s->next_op;
    int64_t until = s->now_ns;
    stay->state = TS_STATE_IDLE;
    // As many are begun as come before this one: the next to be issued.
    if (s->issue_ns > until) return s->issue_ns;
    if (s->next_kind & TS__TL_BEGIN_HELD) ts__stays_hold(t, op, &until, stay);
    if (s->next_kind & TS__TL_END_HELD)
        ts__stays_hold(t, ts__replay_end_node(t->replay, op), &until, stay);
    stay->state = until > s->now_ns ? TS_STATE_WAITING : TS_STATE_PENDING;
    return until > s->now_ns ? until : s->begin_ns;
}

// One stay, not joined with the next; it may be empty. False at the end.
static bool ts__stays_step(ts_stays *s, ts_stay *stay)
{
    const ts_timeline *const t = s->timeline;
    const bool next = s->at < s->end;
    const int64_t begin = next ? s->begin_ns : t->end_ns;
    const ts_stay none = {
        TS_STATE_FINISHED, s->now_ns, begin, next ? s->next_op : TS_NODE_NONE,
        TS_NODE_NONE,      0,         false
    };
    *stay = none;
    if (next && begin <= s->now_ns) {
        ts__stays_begin(s);
        stay->end_ns = s->now_ns;
        return true;
    }
    int64_t until = begin;
    if (s->busy_ns > s->now_ns) {
        stay->state = TS_STATE_RUNNING;
        stay->operation = s->runs;
        until = s->busy_ns;
    } else if (s->wait_ns > s->now_ns) {
        stay->state = TS_STATE_WAITING;
        stay->operation = ts__settle_owner(t->replay, s->waits);
        until = s->wait_ns;
        const ts__tl_root *const root = ts__tl_root_at(t, s->waits);
        stay->culprit = root->culprit;
        stay->edge = root->edge;
        stay->inferred = root->inferred;
    } else if (next) {
        until = ts__stays_before(s, stay);
    } else if (s->now_ns >= begin) {
        return false;
    }
    if (next && until > begin) until = begin;
    stay->end_ns = s->now_ns = until;
    return true;
}

TS_API bool ts_stays_next(ts_stays *stays, ts_stay *stay)
{
    if (!stays->more) return false;
    while (ts__stays_step(stays, stay)) {
        if (stay->start_ns == stay->end_ns) continue;
        ts_stay *const kept = &stays->next;
        const bool same =
            stays->kept && kept->state == stay->state &&
            (stay->state != TS_STATE_WAITING ||
             (kept->culprit == stay->culprit && kept->edge == stay->edge));
        if (same) {
            kept->end_ns = stay->end_ns;
            // What they lead to is the last, what runs the first.
            if (stay->state != TS_STATE_RUNNING)
                kept->operation = stay->operation;
            continue;
        }
        const ts_stay done = *kept;
        const bool any = stays->kept;
        *kept = *stay;
        stays->kept = true;
        *stay = done;
        if (any) return true;
    }
    *stay = stays->next;
    stays->more = false;
    return stays->kept;
}
