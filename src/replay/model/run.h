/* ---- Model: the run of a model ------------------------------------------ */

static void ts__model_forget(ts_replay *r)
{
    ts__model *const m = r->model;
    if (!m) return;
    m->ran = m->has_path = m->has_steps = false;
    ts__rvec_close(&r->allocator, &m->parts);
    m->held.count = m->extra.count = m->inserted.count = m->offsets.count = 0;
}

static void ts__model_close(ts_replay *r)
{
    ts__model *const m = r->model;
    if (!m) return;
    ts__rvec *const vecs[] = { &m->classes,   &m->edge_class, &m->hold,
                               &m->residual,  &m->is_held,    &m->known.entries,
                               &m->offsets,   &m->targets,    &m->kinds,
                               &m->delay,     &m->held,       &m->parts,
                               &m->extra,     &m->inserted,   &m->steps,
                               &m->step_zones };
    for (size_t i = 0; i < sizeof vecs / sizeof vecs[0]; i++)
        ts__rvec_close(&r->allocator, vecs[i]);
    r->allocator.resize(r->allocator.user, m, sizeof *m, 0);
    r->model = NULL;
}

static bool ts__change_ok(const ts_replay *r, const ts_change *change)
{
    if (change->factor.num && !change->factor.den) return false;
    if ((change->type == TS_CHANGE_INSERT || change->has_ns) &&
        (change->ns < 0 || change->ns > TS__REPLAY_TIME_MAX))
        return false;
    if (change->one_part && change->part >= r->parts.count) return false;
    for (size_t i = 0; change->sooner_ns && i < r->parts.count; i++)
        if (change->sooner_ns[i] < 0 ||
            change->sooner_ns[i] > TS__REPLAY_TIME_MAX)
            return false;
    for (size_t i = 0; i < change->span_count; i++)
        if (change->spans[i].end_ns < change->spans[i].start_ns) return false;
    return change->type >= TS_CHANGE_SCALE && change->type <= TS_CHANGE_BEGIN;
}

static int64_t ts__model_extra(const ts_replay *r, uint32_t op)
{
    if (!r->model || !r->model->extra.count) return 0;
    return ((const int64_t *)r->model->extra.data)[op];
}

// Returns how much earlier than in the record a node without predecessors
// begins.
static int64_t ts__model_sooner(const ts_replay *r, uint32_t node,
                                const ts_replay_run_desc *desc)
{
    int64_t sum = 0;
    for (size_t i = 0; i < desc->change_count; i++) {
        const ts_change *const change = &desc->changes[i];
        if (change->type == TS_CHANGE_BEGIN && change->sooner_ns &&
            node < r->op_count + r->call_count)
            sum = ts__replay_add(
                sum, change->sooner_ns[ts__replay_part_of(r, node)]);
    }
    return sum;
}

/*
    Counts the edges into every node, and finds the latest of those that the run
    does not fire, as ts__rrun_edges does.

    Keeps streams first in, first out: an operation that began sooner than usual
    in the record still starts after the end of its predecessor on the stream.
    The record itself satisfies this, so an unchanged run stays the same.
*/
static void ts__model_edges(ts__rrun *run, const ts__model *m, uint8_t *flags)
{
    const ts_replay *const r = run->replay;
    int64_t *const delay = (int64_t *)m->delay.data;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const bool counts = ts__rrun_counts(r, i);
        const bool fires = ts__replay_selected(r, i);
        for (uint32_t e = run->offsets[i]; e < run->offsets[i + 1]; e++) {
            const uint32_t to = run->targets[e];
            if (run->kinds[e] == TS_EDGE_STREAM_ORDER && run->gap[to] < 0 &&
                ts__model_is_held(m, to) && delay[e] != TS__EDGE_OFF &&
                delay[e] < -run->gap[to])
                delay[e] = -run->gap[to];
            if (!counts) continue;
            if (delay[e] != TS__EDGE_OFF) flags[to] |= TS__ALTER_LED;
            run->missing[to] += fires;
            if (fires) continue;
            const int64_t at =
                ts__rrun_at(run, e, ts__rrun_source(r, i, run->kinds[e]));
            if (at > run->start[to]) run->start[to] = at;
        }
    }
}

// Leaves the residuals of the nodes to which an edge leads. A node without
// edges in the record starts when it did there, or later if a change or a
// selection made it wait for something.
static void ts__model_gaps(ts__rrun *run, const ts__model *m,
                           const ts_replay_run_desc *desc, const uint8_t *flags)
{
    const ts_replay *const r = run->replay;
    for (uint32_t i = 0; i < r->node_count; i++) {
        if (ts__model_is_held(m, i) && flags[i] & TS__ALTER_LED) continue;
        run->gap[i] = 0;
        const int64_t begin = ts__replay_add(ts__replay_time(r)[i],
                                             -ts__model_sooner(r, i, desc));
        if (run->start[i] < begin) run->start[i] = begin;
    }
}

static bool ts__model_loop(ts__rrun *run, const ts_replay_run_desc *desc)
{
    ts_replay *const r = run->replay;
    ts__limits limits;
    bool ok = ts__limits_open(&limits, r, desc);
    if (ok && !limits.any) {
        ok = ts__rrun_loop(run);
    } else if (ok) {
        ts__rvec *const held = &r->model->held;
        ok = ts__rvec_fill(&r->allocator, held, sizeof(uint32_t), r->node_count,
                           0xFF) &&
             ts__rrun_timed(run, &limits, (uint32_t *)held->data);
    }
    ts__limits_close(&limits);
    return ok;
}

// Makes the times of inserted operations absolute: they were relative to the
// end of the operation before.
static void ts__model_inserted(ts_replay *r)
{
    const ts__model *const m = r->model;
    ts_inserted *const all = (ts_inserted *)m->inserted.data;
    for (size_t i = 0; i < m->inserted.count; i++) {
        const int64_t after = ts__op_end(r, all[i].after);
        all[i].start_ns = ts__replay_add(after, all[i].start_ns);
        all[i].end_ns = ts__replay_add(after, all[i].end_ns);
    }
}

static bool ts__model_run_changed(ts_replay *r, const ts_replay_run_desc *desc)
{
    ts__alter alter = { 0 };
    alter.replay = r;
    alter.model = r->model;
    alter.desc = desc;
    bool ok = ts__alter_all(&alter);
    r->model->ran = ok;
    ts__rrun run = ts__model_graph(r);
    if (ok) ok = ts__rrun_open(&run);
    if (ok) {
        ts__model_edges(&run, r->model, alter.flags);
        ts__model_gaps(&run, r->model, desc, alter.flags);
        run.flags = alter.flags;
        ok = ts__model_loop(&run, desc) && ts__rrun_finish(&run, desc->brief);
    }
    if (ok) ts__model_inserted(r);
    ts__rrun_close(&run);
    ts__alter_close(&alter);
    return ok;
}

static ts_result ts__model_run(ts_replay *r, const ts_replay_run_desc *desc)
{
    for (size_t i = 0; i < desc->change_count; i++)
        if (!ts__change_ok(r, &desc->changes[i])) return TS_ERR_USAGE;
    const ts__model *const m = ts__model_calibrated(r);
    if (!m) return TS_ERR_MEMORY;
    r->stats.unexplained = m->unexplained;
    r->stats.unexplained_ns = m->unexplained_ns;
    return ts__model_run_changed(r, desc) ? TS_OK : TS_ERR_MEMORY;
}

TS_API bool ts_replay_delay(const ts_replay *replay, size_t index,
                            ts_delay *delay)
{
    const ts__model *const m = replay->model;
    if (!m || !m->calibrated || index >= m->classes.count) return false;
    *delay = ts__model_class(m, index)->pub;
    return true;
}

TS_API bool ts_replay_inserted(const ts_replay *replay, size_t index,
                               ts_inserted *inserted)
{
    const ts__model *const m = replay->model;
    if (!m || index >= m->inserted.count) return false;
    *inserted = ((const ts_inserted *)m->inserted.data)[index];
    return true;
}

TS_API const char *ts_cost_name(uint32_t cost)
{
    TS__NAME_IN(TS_COSTS, cost);
}
