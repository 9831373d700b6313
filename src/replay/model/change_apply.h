/* ---- Model: applying changes -------------------------------------------- */

static bool ts__alter_open(ts__alter *a)
{
    ts_replay *const r = a->replay;
    ts__model *const m = a->model;
    const ts_allocator *const memory = &r->allocator;
    m->extra.count = m->inserted.count = m->offsets.count = 0;
    if (!ts__rvec_reserve(memory, &r->changed, sizeof(int64_t),
                          r->node_count) ||
        !ts__rvec_reserve(memory, &m->delay, sizeof(int64_t),
                          r->targets.count) ||
        !ts__rvec_fill(memory, &a->flag_bytes, 1, r->node_count, 0) ||
        !ts__rvec_reserve(memory, &a->hosts, sizeof(ts_ratio), r->parts.count))
        return false;
    a->duration = (int64_t *)r->changed.data;
    a->delay = (int64_t *)m->delay.data;
    a->flags = (uint8_t *)a->flag_bytes.data;
    a->host = (ts_ratio *)a->hosts.data;
    const int64_t *const given = a->desc->durations_ns;
    memcpy(a->duration, ts__replay_duration(r),
           r->node_count * sizeof(int64_t));
    for (uint32_t i = 0; given && i < r->op_count; i++)
        a->duration[i] =
            given[i] < TS__REPLAY_SUM_MAX ? given[i] : TS__REPLAY_SUM_MAX;
    r->changed.count = r->node_count;
    for (size_t i = 0; i < r->parts.count; i++)
        a->host[i].num = a->host[i].den = 1;
    return true;
}

static void ts__alter_close(ts__alter *a)
{
    const ts_allocator *const memory = &a->replay->allocator;
    ts__rvec_close(memory, &a->flag_bytes);
    ts__rvec_close(memory, &a->hosts);
    ts__rvec_close(memory, &a->lanes_moved);
    ts__rvec_close(memory, &a->edges);
    ts__rvec_close(memory, &a->spans);
    ts__rvec_close(memory, &a->cuts);
    ts__rsort_close(memory, &a->sort);
}

// Returns the residual of a launch that came late because its call took long:
// it shrinks by the time that a change saves in the call.
static int64_t ts__alter_late_launch(const ts__alter *a, uint32_t op,
                                     int64_t gap)
{
    const ts_replay *const r = a->replay;
    const uint32_t call = ts__replay_op(r, op)->call;
    if (gap <= 0 || call == TS_NODE_NONE || call < r->op_count) return gap;
    const int64_t start = ts__replay_time(r)[call];
    const int64_t end = ts__replay_end(r, call);
    if (end > ts__replay_time(r)[op]) return gap;
    const int64_t spared = ts__alter_spared(a, call, start, end);
    return gap > spared ? gap - spared : 0;
}

// Copies the residuals to ts_replay.gap; removed and fused operations keep
// none.
static bool ts__alter_gaps(ts__alter *a)
{
    ts_replay *const r = a->replay;
    const ts__model *const m = a->model;
    if (!ts__rvec_reserve(&r->allocator, &r->gap, sizeof(int64_t),
                          r->node_count))
        return false;
    int64_t *const gap = (int64_t *)r->gap.data;
    memcpy(gap, m->residual.data, r->node_count * sizeof *gap);
    for (uint32_t i = 0; i < r->node_count; i++) {
        const uint32_t owner = ts__node_owner(r, i);
        const uint8_t flags = a->flags[owner];
        if (!ts__model_is_held(m, i)) continue;
        if (flags & (TS__ALTER_REMOVED | TS__ALTER_FUSED))
            gap[i] = 0;
        else if (flags & TS__ALTER_FREE && owner != i)
            gap[i] = 0; // the delay came from a wait that the change removed
        else if (a->spans.count && i < r->op_count)
            gap[i] = ts__alter_late_launch(a, i, gap[i]);
    }
    return true;
}

// Applies all changes. The durations go to ts_replay.changed, the delays and
// the changed graph to the model.
static bool ts__alter_all(ts__alter *a)
{
    const ts_replay *const r = a->replay;
    const ts_replay_run_desc *const desc = a->desc;
    if (!ts__alter_open(a)) return false;
    ts__alter_rendezvous(a);
    for (size_t i = 0; i < desc->change_count; i++)
        if (!ts__alter_times(a, &desc->changes[i], (uint32_t)i)) return false;
    ts__alter_spans_merge(a);
    ts__alter_spare_calls(a);
    ts__alter_calls_last(a);
    a->plain = !a->cuts.count && !a->spans.count;
    for (size_t i = 0; i < r->parts.count; i++)
        a->plain &= a->host[i].num == a->host[i].den;
    const int64_t *const extra = (const int64_t *)a->model->extra.data;
    for (uint32_t i = 0; a->model->extra.count && i < r->op_count; i++)
        a->duration[i] = ts__replay_add(a->duration[i], extra[i]);
    ts__rrun_rendezvous(r);
    for (uint32_t i = 0; i < r->node_count; i++)
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++)
            a->delay[e] = ts__alter_delay(a, i, e);
    if (!ts__alter_gaps(a) || !ts__alter_moves(a)) return false;
    for (size_t i = 0; i < desc->change_count; i++)
        if (desc->changes[i].type == TS_CHANGE_OVERLAP &&
            !ts__alter_overlap(a, &desc->changes[i]))
            return false;
    return !a->edges.count || ts__alter_pack(a);
}
