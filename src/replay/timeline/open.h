/* ---- Timeline: open and close ------------------------------------------- */

// Whether the busy and idle parts of a device add up to its span.
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

// Adds the figures of a device to those of all; *any: the span is set.
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
    // There are never more gaps than operations, and usually far fewer.
    if (!ts__rvec_reserve(&t->allocator, &t->gaps, sizeof(ts_gap),
                          t->order.count))
        return TS_ERR_MEMORY;
    for (size_t i = 0; i < t->devices.count; i++) {
        if (!ts__tl_sweep_device(t, i)) return TS_ERR_MEMORY;
    }
    if (!ts__tl_find_evidence(t)) return TS_ERR_MEMORY;
    for (size_t i = 0; i < t->devices.count; i++) {
        ts__tl_device *const d = ts__tl_device_at(t, i);
        for (size_t k = 0; k < d->gap_count; k++)
            ts__tl_charge(t, d, (ts_gap *)t->gaps.data + d->gap_first + k);
        if (!t->reach && !ts__tl_adds_up(&d->figures)) return TS_ERR_CORRUPT;
        ts__tl_sum(&t->total, &d->figures, &any);
    }
    ts__rvec_trim(&t->allocator, &t->gaps);
    return TS_OK;
}

// reach: one time for each device if an overview opens the timeline, else NULL.
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
    // The memory that the replay needed while loading is free by now.
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
    t->file_begin = desc->begin_ns;
    t->reach = reach;
    ts_result result = TS_ERR_MEMORY;
    if (ts__tl_times(t) && ts__tl_order(t) && ts__tl_bind(t) &&
        ts__tl_find_roots(t) && ts__tl_blocks(t) && ts__tl_lists(t))
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
    ts__rvec *const vecs[] = {
        &timeline->begin,       &timeline->finish,    &timeline->bindings,
        &timeline->roots,       &timeline->held,      &timeline->order,
        &timeline->by_device,   &timeline->issues,    &timeline->by_lane,
        &timeline->lane_first,  &timeline->devices,   &timeline->gaps,
        &timeline->blocks[0],   &timeline->blocks[1], &timeline->evidence,
        &timeline->lane_issues, &timeline->lane_kinds
    };
    for (size_t i = 0; i < sizeof vecs / sizeof vecs[0]; i++)
        ts__rvec_close(&a, vecs[i]);
    a.resize(a.user, timeline, sizeof *timeline, 0);
    ts__arena_close(&a);
}
