/* ---- Graph: selection --------------------------------------------------- */

static bool ts__list_has(const uint32_t *list, const uint32_t *files,
                         size_t count, uint32_t file, uint32_t track)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == track && (files ? files[i] : 0) == file) return true;
    return count == 0;
}

static ts_skip ts__replay_skip(const ts_replay *r, const ts_replay_desc *desc,
                               uint32_t op, const bool *device_chosen)
{
    const uint32_t index = ts__replay_lanes(r)[op];
    const ts__replay_lane *const lane = ts__replay_lane_at(r, index);
    if (!device_chosen[index]) return TS_SKIP_DEVICE;
    if (!lane->selected) return TS_SKIP_STREAM;
    if (!desc->from_ns && !desc->to_ns) return TS_SKIP_NOT;
    // A node of no duration touches [from, to) if it lies in it.
    const int64_t start = ts__replay_time(r)[op], end = ts__replay_end(r, op);
    const bool touches =
        start < desc->to_ns && (end > desc->from_ns || start >= desc->from_ns);
    return touches ? TS_SKIP_NOT : TS_SKIP_TIME;
}

static bool ts__replay_choose(ts_replay *r, const ts_replay_desc *desc)
{
    ts__rvec device_chosen = { 0 };
    if (!ts__rvec_fill(&r->allocator, &device_chosen, sizeof(bool),
                       r->lanes.count, 0) ||
        !ts__rvec_fill(&r->allocator, &r->skips, sizeof(uint8_t), r->op_count,
                       TS_SKIP_NOT)) {
        ts__rvec_close(&r->allocator, &device_chosen);
        return false;
    }
    bool *const chosen = (bool *)device_chosen.data;
    for (size_t i = 0; i < r->lanes.count; i++) {
        ts__replay_lane *const lane = ts__replay_lane_at(r, i);
        lane->selected =
            ts__list_has(desc->streams, desc->stream_files, desc->stream_count,
                         lane->file, lane->track);
        chosen[i] =
            ts__list_has(desc->devices, desc->device_files, desc->device_count,
                         lane->file, lane->device_track);
    }
    for (uint32_t i = 0; i < r->op_count; i++) {
        uint8_t *const skip = &ts__replay_skips(r)[i];
        *skip = (uint8_t)ts__replay_skip(r, desc, i, chosen);
        if (*skip == TS_SKIP_NOT && desc->choose)
            *skip = (uint8_t)desc->choose(r, i, desc->choose_user);
        if (*skip == TS_SKIP_NOT) ts__replay_flags(r)[i] |= TS__NODE_SELECTED;
    }
    ts__rvec_close(&r->allocator, &device_chosen);
    return true;
}

static bool ts__replay_selected(const ts_replay *r, uint32_t node)
{
    return ts__replay_flags(r)[node] & TS__NODE_SELECTED;
}
static const uint32_t *ts__replay_offsets(const ts_replay *r)
{
    return (const uint32_t *)r->offsets.data;
}
static uint32_t ts__replay_target(const ts_replay *r, uint32_t edge)
{
    return ((const uint32_t *)r->targets.data)[edge];
}
static uint8_t ts__replay_kind(const ts_replay *r, uint32_t edge)
{
    return ((const uint8_t *)r->kinds.data)[edge];
}

// Selects calls that launched nothing: all of them, or those of threads with
// selected calls.
static bool ts__replay_select_alone(ts_replay *r, bool all)
{
    ts__rvec threads = { 0 };
    if (!ts__rvec_fill(&r->allocator, &threads, sizeof(bool), r->lanes.count,
                       all))
        return false;
    bool *const chosen = (bool *)threads.data;
    const uint32_t calls_end = r->op_count + r->call_count;
    for (uint32_t i = r->op_count; i < calls_end; i++)
        if (ts__replay_selected(r, i)) chosen[ts__replay_lanes(r)[i]] = true;
    for (uint32_t i = r->op_count; i < calls_end; i++)
        if (ts__replay_flags(r)[i] & TS__NODE_CALL_ONLY &&
            chosen[ts__replay_lanes(r)[i]])
            ts__replay_flags(r)[i] |= TS__NODE_SELECTED;
    ts__rvec_close(&r->allocator, &threads);
    return true;
}

// Selects the calls of the selected operations, and the ends of both.
static bool ts__replay_select_ends(ts_replay *r)
{
    bool all = true;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const uint32_t call = ts__replay_op(r, i)->call;
        if (ts__replay_selected(r, i) && call != TS_NODE_NONE)
            ts__replay_flags(r)[call] |= TS__NODE_SELECTED;
        all &= ts__replay_selected(r, i);
    }
    if (!ts__replay_select_alone(r, all)) return false;
    const uint32_t first = r->op_count + r->call_count;
    for (uint32_t i = 0; i < r->waiters.count; i++)
        if (ts__replay_selected(r, ((const uint32_t *)r->waiters.data)[i]))
            ts__replay_flags(r)[first + i] |= TS__NODE_SELECTED;
    return true;
}

// Selects joins that lead to selected nodes. Joins lead to later joins, to
// operations and to ends, so that one backward pass is enough.
static void ts__replay_select_joins(ts_replay *r)
{
    for (uint32_t i = r->node_count; i-- > r->join_first;) {
        const uint32_t end = ts__replay_offsets(r)[i + 1];
        for (uint32_t e = ts__replay_offsets(r)[i]; e < end; e++)
            if (ts__replay_selected(r, ts__replay_target(r, e)))
                ts__replay_flags(r)[i] |= TS__NODE_SELECTED;
    }
}

// With TS_DEPS_NONE, deselects joins without a selected source.
static bool ts__replay_prune_joins(ts_replay *r)
{
    ts__rvec live = { 0 };
    if (!ts__rvec_fill(&r->allocator, &live, sizeof(bool), r->node_count, 0))
        return false;
    bool *const has = (bool *)live.data;
    for (uint32_t i = 0; i < r->node_count; i++) {
        if (i >= r->join_first && !has[i])
            ts__replay_flags(r)[i] &= (uint8_t)~TS__NODE_SELECTED;
        if (!ts__replay_selected(r, i)) continue;
        const uint32_t end = ts__replay_offsets(r)[i + 1];
        for (uint32_t e = ts__replay_offsets(r)[i]; e < end; e++)
            has[ts__replay_target(r, e)] = true;
    }
    ts__rvec_close(&r->allocator, &live);
    return true;
}

// The reversed edges: sources[offsets[n]...] are the nodes that n depends on.
typedef struct ts__reverse {
    ts__rvec offsets, sources, todo;
} ts__reverse;

static void ts__reverse_close(ts_replay *r, ts__reverse *v)
{
    ts__rvec_close(&r->allocator, &v->offsets);
    ts__rvec_close(&r->allocator, &v->sources);
    ts__rvec_close(&r->allocator, &v->todo);
}

static bool ts__reverse_open(ts_replay *r, ts__reverse *v)
{
    const size_t count = r->targets.count;
    if (!ts__rvec_fill(&r->allocator, &v->offsets, sizeof(uint32_t),
                       (size_t)r->node_count + 1, 0) ||
        !ts__rvec_reserve(&r->allocator, &v->sources, sizeof(uint32_t), count))
        return false;
    uint32_t *const offsets = (uint32_t *)v->offsets.data;
    for (uint32_t e = 0; e < count; e++)
        offsets[ts__replay_target(r, e)]++;
    ts__offsets_sum(offsets, r->node_count);
    for (uint32_t i = 0; i < r->node_count; i++)
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++)
            ((uint32_t *)v->sources.data)[--offsets[ts__replay_target(r, e)]] =
                i;
    return true;
}

static bool ts__reverse_visit(ts_replay *r, ts__reverse *v, uint32_t node)
{
    uint8_t *const flags = &ts__replay_flags(r)[node];
    if (*flags & TS__NODE_SELECTED) return true;
    uint32_t *const to =
        (uint32_t *)ts__rvec_push(&r->allocator, &v->todo, sizeof *to);
    if (!to) return false;
    *to = node;
    *flags |= TS__NODE_SELECTED;
    if (node >= r->op_count) return true;
    ts__replay_skips(r)[node] = TS_SKIP_NOT;
    r->stats.added++;
    return true;
}

// Selects everything that the selection depends on. Ends of selected nodes
// count as selected, so that what a wait waits for is included.
static bool ts__replay_close_over(ts_replay *r)
{
    ts__reverse v = { { 0 }, { 0 }, { 0 } };
    bool ok = ts__reverse_open(r, &v);
    for (uint32_t i = 0; ok && i < r->op_count; i++) {
        if (!ts__replay_selected(r, i)) continue;
        const uint64_t added = r->stats.added;
        ts__replay_flags(r)[i] &= (uint8_t)~TS__NODE_SELECTED;
        ok = ts__reverse_visit(r, &v, i);
        r->stats.added = added;
    }
    while (ok && v.todo.count) {
        const uint32_t node = ((const uint32_t *)v.todo.data)[--v.todo.count];
        const uint32_t *const offsets = (const uint32_t *)v.offsets.data;
        const uint32_t end = ts__replay_end_node(r, node);
        if (end != node) ok = ts__reverse_visit(r, &v, end);
        for (uint32_t e = offsets[node]; ok && e < offsets[node + 1]; e++)
            ok =
                ts__reverse_visit(r, &v, ((const uint32_t *)v.sources.data)[e]);
    }
    ts__reverse_close(r, &v);
    return ok;
}

static bool ts__replay_select(ts_replay *r, const ts_replay_desc *desc)
{
    if (!ts__replay_choose(r, desc)) return false;
    if (r->deps == TS_DEPS_CLOSURE) return ts__replay_close_over(r);
    if (!ts__replay_select_ends(r)) return false;
    ts__replay_select_joins(r);
    return r->deps != TS_DEPS_NONE || ts__replay_prune_joins(r);
}
