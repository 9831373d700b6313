/* ---- Timeline: the cause of a gap --------------------------------------- */

// Whether work that was ready at `ready` began so late that something else must
// have delayed it.
static bool ts__tl_is_slow(const ts__tl_device *d, const ts_gap *gap,
                           int64_t ready)
{
    return ready < gap->end_ns && gap->end_ns - ready > d->slow_ns;
}

// Returns the cause of a gap whose operation began long after all that it is
// known to have waited for.
static ts_idle ts__tl_cause_late(const ts_timeline *t, const ts__tl_device *d,
                                 const ts_gap *gap)
{
    const int64_t issue = ts__tl_issue(t, gap->operation);
    return d->records_waits && !gap->inferred && ts__tl_is_slow(d, gap, issue)
               ? TS_IDLE_LATE_START
               : TS_IDLE_UNEXPLAINED;
}

// Returns the cause of a gap whose operation waited for its call.
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
        return ts__tl_cause_late(t, d, gap);
    if (late <= 0) return TS_IDLE_LAUNCH_LATENCY;
    if (call == TS_NODE_NONE) return TS_IDLE_HOST_LATE;
    const ts__tl_block *longest[TS__BLOCKS];
    int64_t blocked[TS__BLOCKS];
    for (int i = 0; i < TS__BLOCKS; i++)
        blocked[i] = ts__tl_blocked(t, i, ts__replay_lanes(r)[call],
                                    gap->start_ns, made, &longest[i]);
    if (ts__replay_add(blocked[0], blocked[1]) < late - late / 2)
        return TS_IDLE_HOST_LATE;
    const int sort = blocked[TS__BLOCK_QUEUE] > blocked[TS__BLOCK_SYNC];
    gap->culprit = longest[sort]->node;
    gap->inferred |= longest[sort]->inferred;
    return sort == TS__BLOCK_QUEUE ? TS_IDLE_QUEUE_FULL : TS_IDLE_HOST_SYNC;
}

// Returns the cause of a gap whose operation waited for an operation.
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
            return ts__tl_cause_late(t, d, gap);
        gap->culprit = call; // it took as long, or began later
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

// Whether an operation was already in its queue, with its launch finished, when
// the previous work on its stream ended.
static bool ts__tl_was_queued(const ts_timeline *t, const ts__tl_device *d,
                              const ts_gap *gap)
{
    if (gap->culprit == TS_NODE_NONE || ts__tl_is_call(t->replay, gap->culprit))
        return false;
    return ts__replay_add(ts__tl_issue(t, gap->operation), d->launch_ns) <=
           ts__tl_finish(t, gap->culprit);
}

// Charges a gap to one cause, and its time to the figures of the device.
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
        // With two launches, the later one arrives later.
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
