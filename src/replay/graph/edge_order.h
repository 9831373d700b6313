/* ---- Graph: the order in which edges are found -------------------------- */

// Returns the group for a device or context of a part; adds it if needed.
static uint32_t ts__builder_group_of(ts__builder *b, uint32_t part,
                                     uint32_t track)
{
    const uint64_t key = ts__replay_key(part, track);
    const uint32_t known = ts__rmap_get(&b->group_of, key);
    if (known != TS_NODE_NONE) return known;
    ts__group *const group =
        (ts__group *)ts__rvec_push(b->allocator, &b->groups, sizeof *group);
    const uint32_t index = (uint32_t)b->groups.count - 1;
    if (!group || !ts__rmap_put(b->allocator, &b->group_of, key, index)) {
        b->failed = true;
        return TS_NODE_NONE;
    }
    memset(group, 0xFF, sizeof *group); // TS_NODE_NONE everywhere
    group->epoch = 0;
    group->latest = TS__NO_TIME;
    group->has_legacy = false;
    return index;
}

// Finds the device of parts that use only one.
static void ts__builder_only(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    uint32_t *const only = (uint32_t *)b->only.data;
    for (uint32_t i = (uint32_t)r->lanes.count; i-- > 0;) {
        const ts__replay_lane *const lane = ts__replay_lane_at(r, i);
        if (!lane->operations) continue;
        const uint32_t other = only[lane->part];
        if (other != TS_NODE_NONE - 1)
            only[lane->part] =
                other == TS_NODE_NONE ||
                        ts__replay_lane_at(r, other)->device == lane->device
                    ? i
                    : TS_NODE_NONE - 1; // several devices
    }
    for (size_t i = 0; i < r->parts.count; i++)
        if (only[i] == TS_NODE_NONE - 1) only[i] = TS_NODE_NONE;
}

static bool ts__builder_lanes(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    if (!ts__rvec_fill(b->allocator, &b->lanes, sizeof(ts__lane_state),
                       r->lanes.count, 0xFF) ||
        !ts__rvec_fill(b->allocator, &b->event_of, sizeof(ts__rmap),
                       r->files.count, 0) ||
        !ts__rvec_fill(b->allocator, &b->only, sizeof(uint32_t), r->parts.count,
                       0xFF) ||
        !ts__rvec_fill(b->allocator, &b->unnamed_records, sizeof(bool),
                       r->parts.count, 0) ||
        !ts__rvec_fill(b->allocator, &b->hardware, sizeof(uint32_t),
                       r->device_results.count * r->connections, 0xFF))
        return false;
    ts__builder_only(b);
    ts__builder_find_unnamed(b);
    for (uint32_t i = 0; i < r->lanes.count && !b->failed; i++) {
        const ts__replay_lane *const lane = ts__replay_lane_at(r, i);
        ts__lane_state *const state = ts__builder_lane(b, i);
        memset(state->dirty, 0, sizeof state->dirty);
        state->epoch = 0;
        state->free = lane->flags & TS_STREAM_NON_BLOCKING;
        state->records = state->waits_for_noted = false;
        state->group[TS__SCOPE_DEVICE] =
            ts__builder_group_of(b, lane->part, lane->device_track);
        state->group[TS__SCOPE_CONTEXT] = state->group[TS__SCOPE_BLOCKING] =
            ts__builder_group_of(b, lane->part, lane->context_track);
        if (!b->failed && lane->operations && lane->fifo &&
            lane->flags & TS_STREAM_LEGACY_DEFAULT)
            ts__builder_group(b, state->group[TS__SCOPE_BLOCKING])->has_legacy =
                true;
    }
    return !b->failed;
}

// Lists the work on legacy default streams by context, in order of start.
static bool ts__legacy_list(ts__builder *b, ts__rvec *first, ts__rvec *list)
{
    const ts_replay *const r = b->replay;
    const size_t groups = b->groups.count;
    if (!ts__rvec_fill(b->allocator, first, sizeof(uint32_t), groups + 1, 0))
        return false;
    uint32_t *const at = (uint32_t *)first->data;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < r->op_count; i++) {
            const uint32_t lane = ts__replay_lanes(r)[i];
            if (!(ts__replay_lane_at(r, lane)->flags &
                  TS_STREAM_LEGACY_DEFAULT) ||
                !ts__kind_works(ts__replay_op(r, i)->kind))
                continue;
            const uint32_t group =
                ts__builder_lane(b, lane)->group[TS__SCOPE_BLOCKING];
            if (pass == 0)
                at[group + 1]++;
            else
                ((uint32_t *)list->data)[at[group]++] = i;
        }
        for (size_t i = 1; pass == 0 && i <= groups; i++)
            at[i] += at[i - 1];
        if (pass == 0 &&
            !ts__rvec_reserve(b->allocator, list, sizeof(uint32_t), at[groups]))
            return false;
    }
    for (size_t i = groups; i > 0; i--)
        at[i] = at[i - 1];
    at[0] = 0;
    return true;
}

// Returns whether an operation overlaps work of its legacy default stream by
// more than the rounding of times. Only the last work that began before it and
// the next one are compared.
static bool ts__legacy_overlaps(const ts_replay *r, const uint32_t *legacy,
                                size_t count, uint32_t op)
{
    const int64_t start = ts__replay_time(r)[op], end = ts__replay_end(r, op);
    size_t low = 0, high = count;
    while (low < high)
        ts__halve(&low, &high,
                  ts__replay_time(r)[legacy[ts__middle(low, high)]] <= start);
    for (size_t i = low ? low - 1 : low; i < count && i <= low; i++) {
        const int64_t from = ts__replay_time(r)[legacy[i]];
        const int64_t to = ts__replay_end(r, legacy[i]);
        const int64_t both =
            (to < end ? to : end) - (from > start ? from : start);
        int64_t rounded = to - from < end - start ? to - from : end - start;
        rounded = rounded / 2 < 1000 ? rounded / 2 : 1000;
        if (both > rounded) return true;
    }
    return false;
}

/*
    Finds non-blocking streams, which traces seldom identify: a stream whose
    work ever overlaps work of the legacy default stream of its context must be
    one.
*/
static bool ts__builder_non_blocking(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    bool any = false;
    for (size_t i = 0; i < b->groups.count; i++)
        any |= ts__builder_group(b, (uint32_t)i)->has_legacy;
    if (!any) return true;
    ts__rvec first = { 0 }, list = { 0 };
    const bool ok = ts__legacy_list(b, &first, &list);
    for (uint32_t i = 0; ok && i < r->op_count; i++) {
        const uint32_t lane = ts__replay_lanes(r)[i];
        ts__lane_state *const state = ts__builder_lane(b, lane);
        if (state->free || !ts__kind_works(ts__replay_op(r, i)->kind) ||
            ts__replay_lane_at(r, lane)->flags & TS_STREAM_LEGACY_DEFAULT)
            continue;
        const uint32_t *const at =
            (const uint32_t *)first.data + state->group[TS__SCOPE_BLOCKING];
        if (!ts__legacy_overlaps(r, (const uint32_t *)list.data + at[0],
                                 at[1] - at[0], i))
            continue;
        state->free = true;
        b->replay->stats.contradicted++;
    }
    ts__rvec_close(b->allocator, &first);
    ts__rvec_close(b->allocator, &list);
    return ok;
}

// Sorts event records by correlation, if any wait names one.
static bool ts__builder_name_records(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    bool any = false;
    for (size_t i = 0; i < r->events.count; i++)
        any |= ts__replay_event(r, i)->record != 0;
    if (!any) return true;
    if (!ts__rsort_open(b->allocator, &b->sort, r->events.count)) return false;
    size_t count = 0;
    for (uint32_t i = 0; i < r->events.count; i++) {
        const ts__op *const op = ts__replay_op(r, ts__replay_event(r, i)->op);
        if (op->kind != TS_EVENT_EVENT_RECORD || !op->correlation) continue;
        ts__rsort_keys(&b->sort)[count] = op->correlation;
        ts__rsort_index(&b->sort)[count++] = i;
    }
    ts__rsort_run(&b->sort, count);
    for (size_t i = 0; i < count; i++) {
        const uint32_t event = ts__rsort_index(&b->sort)[i];
        ts__rsort_keys(&b->sort)[i] =
            ts__replay_file_of(r, ts__replay_event(r, event)->op);
    }
    ts__rsort_run(&b->sort, count);
    if (!ts__rvec_reserve(b->allocator, &b->named, sizeof(uint32_t), count))
        return false;
    memcpy(b->named.data, ts__rsort_index(&b->sort), count * sizeof(uint32_t));
    b->named.count = count;
    return true;
}

/*
    Computes when the host issued each operation. As streams are first in, first
    out, an operation without a known time was issued no earlier than the one
    before it on its stream, and no later than the next one. If a whole stream
    has no known times, starts are used, for waits their ends. guessed: one flag
    for each operation.
*/
static void ts__builder_issues(const ts__builder *b, uint64_t *keys,
                               bool *guessed, int64_t *nearest)
{
    const ts_replay *const r = b->replay;
    for (size_t i = 0; i < r->lanes.count; i++)
        nearest[i] = TS__NO_TIME;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        const uint32_t lane = ts__replay_lanes(r)[i];
        int64_t issue = op->issue;
        const bool queues =
            ts__replay_lane_at(r, lane)->fifo && !ts__kind_syncs(op->kind);
        if (issue == TS__NO_TIME && queues) issue = nearest[lane];
        if (queues && issue > nearest[lane]) nearest[lane] = issue;
        guessed[i] = issue == TS__NO_TIME;
        keys[i] = ts__rsort_time(issue);
    }
    for (size_t i = 0; i < r->lanes.count; i++)
        nearest[i] = TS__REPLAY_SUM_MAX;
    for (uint32_t i = r->op_count; i-- > 0;) {
        const uint32_t lane = ts__replay_lanes(r)[i];
        const bool waits = ts__replay_flags(r)[i] & TS__NODE_WAITS;
        const bool queues = ts__replay_lane_at(r, lane)->fifo &&
                            !ts__kind_syncs(ts__replay_op(r, i)->kind);
        int64_t time = waits ? ts__replay_end(r, i) : ts__replay_time(r)[i];
        if (queues && nearest[lane] < time) time = nearest[lane];
        if (guessed[i]) keys[i] = ts__rsort_time(time);
        guessed[i] &= waits;
        const int64_t issue = ts__replay_op(r, i)->issue;
        if (queues && issue != TS__NO_TIME) nearest[lane] = issue;
    }
}

// Puts the order of issue into the sorter, of operations and of calls that wait
// although they launched nothing. At equal times waits with a guessed time come
// last.
static bool ts__builder_order(ts__builder *b, size_t *count)
{
    const ts_replay *const r = b->replay;
    ts__rvec guesses = { 0 }, nearest = { 0 }, issues = { 0 };
    size_t most = r->op_count;
    for (uint32_t i = 0; i < r->call_count; i++)
        most +=
            (ts__replay_flags(r)[r->op_count + i] & TS__NODE_CALL_ONLY) != 0;
    bool ok =
        ts__rsort_open(b->allocator, &b->sort, most) &&
        ts__rvec_reserve(b->allocator, &issues, sizeof(uint64_t),
                         r->op_count) &&
        ts__rvec_reserve(b->allocator, &guesses, sizeof(bool), r->op_count) &&
        ts__rvec_reserve(b->allocator, &nearest, sizeof(int64_t),
                         r->lanes.count);
    uint32_t *const index = ts__rsort_index(&b->sort);
    uint64_t *const keys = ts__rsort_keys(&b->sort);
    uint64_t *const issue = (uint64_t *)issues.data;
    const bool *const guessed = (const bool *)guesses.data;
    size_t at = 0;
    if (ok)
        ts__builder_issues(b, issue, (bool *)guesses.data,
                           (int64_t *)nearest.data);
    for (int last = 0; ok && last < 2; last++) {
        for (uint32_t i = 0; i < r->op_count; i++) {
            if (guessed[i] != (last == 1)) continue;
            keys[at] = issue[i];
            index[at++] = i;
        }
        for (uint32_t i = 0; last && i < r->call_count; i++) {
            const uint32_t call = r->op_count + i;
            if (!(ts__replay_flags(r)[call] & TS__NODE_CALL_ONLY)) continue;
            keys[at] = ts__rsort_time(ts__replay_time(r)[call]);
            index[at++] = call;
        }
    }
    if (ok) ts__rsort_run(&b->sort, at);
    *count = at;
    ts__rvec_close(b->allocator, &issues);
    ts__rvec_close(b->allocator, &guesses);
    ts__rvec_close(b->allocator, &nearest);
    return ok;
}
