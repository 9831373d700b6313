/* ---- Timeline: busy, idle, concurrency ---------------------------------- */

static ts_work ts__tl_work(uint8_t kind)
{
    return kind == TS_EVENT_KERNEL       ? TS_WORK_KERNEL
           : kind == TS_EVENT_COLLECTIVE ? TS_WORK_COLLECTIVE
                                         : TS_WORK_COPY;
}

// Returns how much of [from, to) lies in the window.
static int64_t ts__tl_clip(const ts_timeline *t, int64_t from, int64_t to)
{
    if (t->windowed) {
        if (from < t->from_ns) from = t->from_ns;
        if (to > t->to_ns) to = t->to_ns;
    }
    return to > from ? to - from : 0;
}

// Whether a time lies in the window.
static bool ts__tl_inside(const ts_timeline *t, int64_t time)
{
    return !t->windowed || (time >= t->from_ns && time < t->to_ns);
}

// Returns how much of [from, to) counts in the window. An overview counts an
// interval as a whole in the window in which it ends, so that no other window
// counts it again.
static int64_t ts__tl_share(const ts_timeline *t, int64_t from, int64_t to)
{
    if (!t->reach) return ts__tl_clip(t, from, to);
    return to > from && ts__tl_inside(t, to) ? to - from : 0;
}

// Sweeps over the operations of one device in order of time.
typedef struct ts__tl_sweep {
    ts_timeline *timeline;
    ts__tl_device *device;
    int64_t now;
    uint32_t running[TS_WORK_LIMIT], all;
    ts__rvec ends; // heap of ts__ready whose `place` is a ts_work
} ts__tl_sweep;

// Adds the time from `now` to `to` to the figures of what is running.
static bool ts__tl_advance(ts__tl_sweep *s, int64_t to)
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

static bool ts__tl_advance_ends(ts__tl_sweep *s, int64_t until)
{
    while (s->ends.count && ((const ts__ready *)s->ends.data)->time <= until) {
        const ts__ready end = ts__ready_pop(&s->ends);
        if (!ts__tl_advance(s, end.time)) return false;
        s->running[end.place]--;
        s->all--;
    }
    return true;
}

// Adds the gap that ends when `op` begins.
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

// Advances to the begin of an operation and adds the operation to what runs.
static bool ts__tl_sweep_op(ts__tl_sweep *s, uint32_t op)
{
    const ts_timeline *const t = s->timeline;
    const uint8_t kind = ts__replay_op(t->replay, op)->kind;
    const int64_t begin = ts__tl_begin(t, op), end = ts__tl_finish(t, op);
    if (end <= begin || !ts__tl_advance_ends(s, begin)) return end <= begin;
    if (!s->all && begin > s->now && !ts__tl_gap_add(s, op, begin))
        return false;
    if (!ts__tl_advance(s, begin)) return false;
    const ts_work work = ts__tl_work(kind);
    const ts__ready item = { end, (uint64_t)work };
    s->running[work]++;
    s->all++;
    return ts__ready_push(&t->allocator, &s->ends, item);
}

// Returns when the span of a device begins: with its first work, or when the
// cut or the selection begins, if that is earlier.
static int64_t ts__tl_span_start(const ts_timeline *t, const ts__tl_device *d,
                                 uint32_t file)
{
    const ts_replay_file *const f = ts__replay_file(t->replay, file);
    ts_metadata m;
    int64_t begin = INT64_MAX;
    if (t->file_begin)
        begin = t->file_begin[file];
    else if (ts_reader_metadata(f->reader, 0, "cut.begin_ns", &m) &&
             m.type == TS_VALUE_INT && ts__replay_time_ok((int64_t)m.number))
        begin = (int64_t)m.number;
    if (t->replayed || t->reach || begin == INT64_MAX) return d->start_ns;
    begin = ts__replay_add(begin, f->offset_ns);
    return begin < d->start_ns ? begin : d->start_ns;
}

static bool ts__tl_sweep_device(ts_timeline *t, size_t index)
{
    ts__tl_device *const d = ts__tl_device_at(t, index);
    ts_timeline_figures *const f = &d->figures;
    const ts_lane *const lane =
        (const ts_lane *)t->replay->device_results.data + index;
    int64_t start = d->start_ns, end = d->end_ns;
    if (start != end) start = ts__tl_span_start(t, d, lane->file);
    ts__tl_sweep s = { t, d, start, { 0 }, 0, { 0 } };
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
    ok = ok && ts__tl_advance_ends(&s, end);
    ts__rvec_close(&t->allocator, &s.ends);
    d->gap_count = t->gaps.count - d->gap_first;
    if (t->windowed && start < t->from_ns) start = t->from_ns;
    if (t->windowed && end > t->to_ns) end = t->to_ns;
    f->start_ns = start;
    f->end_ns = end > start ? end : start;
    return ok;
}
