/* ---- Graph: joins and synchronisation ----------------------------------- */

/*
    A join under construction. A single source needs no node; the second source
    creates one. So all joins together have no more edges than there is work
    between them, however many streams there are.
*/
typedef struct ts__join {
    uint32_t node;  // TS_NODE_NONE: no source yet
    bool made;      // it has a node of its own
    int64_t before; // a source that ends later contradicts the record
    ts_edge_kind kind;
} ts__join;

static void ts__join_add(ts__builder *b, ts__join *join, uint32_t from)
{
    ts_replay *const r = b->replay;
    if (from == TS_NODE_NONE) return;
    const int64_t end = ts__replay_end(r, from);
    if (end > join->before) {
        r->stats.contradicted++;
        return;
    }
    if (join->node == TS_NODE_NONE) {
        join->node = from;
        return;
    }
    if (!join->made) {
        const uint32_t first = join->node;
        join->node = r->node_count;
        join->made = true;
        if (!ts__node_push(r, ts__replay_end(r, first), 0,
                           ts__replay_lanes(r)[first], 0)) {
            b->failed = true;
            return;
        }
        ts__builder_edge(b, first, join->node, join->kind);
    }
    int64_t *const time = &ts__replay_time(r)[join->node];
    if (end > *time) *time = end;
    ts__builder_edge(b, from, join->node, join->kind);
}

// Joins the last join of a scope and all work since then. Returns the node;
// TS_NODE_NONE: there is no work.
static uint32_t ts__builder_join(ts__builder *b, ts__group *group,
                                 ts__join_scope scope, int64_t before,
                                 ts_edge_kind kind)
{
    ts__join join = { TS_NODE_NONE, false, before, kind };
    ts__join_add(b, &join, group->join[scope]);
    for (uint32_t i = group->dirty[scope]; i != TS_NODE_NONE && !b->failed;) {
        ts__lane_state *const lane = ts__builder_lane(b, i);
        ts__join_add(b, &join, lane->issued.longest);
        if (lane->issued.last != lane->issued.longest)
            ts__join_add(b, &join, lane->issued.last);
        lane->dirty[scope] = false;
        i = lane->next[scope];
    }
    group->dirty[scope] = TS_NODE_NONE;
    group->join[scope] = join.node;
    return join.node;
}

static void ts__builder_dirty(ts__builder *b, uint32_t index,
                              ts__join_scope scope)
{
    ts__lane_state *const lane = ts__builder_lane(b, index);
    if (lane->dirty[scope]) return;
    ts__group *const group = ts__builder_group(b, lane->group[scope]);
    lane->dirty[scope] = true;
    lane->next[scope] = group->dirty[scope];
    group->dirty[scope] = index;
}

// Returns whether two operations are nodes of one graph launch: then only the
// graph orders them, not their streams.
static bool ts__builder_is_launched_with(const ts__builder *b, uint32_t op,
                                         uint32_t other)
{
    const ts_replay *const r = b->replay;
    return other != TS_NODE_NONE &&
           ts__replay_op(r, op)->call != TS_NODE_NONE &&
           ts__replay_op(r, op)->call == ts__replay_op(r, other)->call;
}

// Adds the edges between an operation and the legacy default stream.
static void ts__builder_legacy(ts__builder *b, uint32_t op,
                               const ts__replay_lane *lane,
                               ts__lane_state *state)
{
    ts__group *const group =
        ts__builder_group(b, state->group[TS__SCOPE_BLOCKING]);
    if (!group->has_legacy) return;
    const bool with = ts__builder_is_launched_with(b, op, group->legacy);
    if (lane->flags & TS_STREAM_LEGACY_DEFAULT && with) {
        group->legacy = op;
        group->epoch++;
    } else if (lane->flags & TS_STREAM_LEGACY_DEFAULT) {
        // The last legacy operation comes after everything of the last join.
        group->join[TS__SCOPE_BLOCKING] = TS_NODE_NONE;
        const uint32_t join = ts__builder_join(b, group, TS__SCOPE_BLOCKING,
                                               ts__replay_time(b->replay)[op],
                                               TS_EDGE_LEGACY_DEFAULT);
        ts__builder_wait(b, join, op, TS_EDGE_LEGACY_DEFAULT);
        group->legacy = op;
        group->epoch++;
    } else if (!state->free && !with) {
        if (state->epoch != group->epoch &&
            ts__builder_wait(b, group->legacy, op, TS_EDGE_LEGACY_DEFAULT))
            state->epoch = group->epoch;
    }
}

// Adds the edges of a sync that ended before the work of its stream. If threads
// share the stream, work of another thread may have been issued after the call
// of the sync: then the sync waited at least for the thread's own work.
static void ts__builder_sync_own(ts__builder *b, uint32_t op, uint32_t end,
                                 const ts__lane_state *state)
{
    const ts_replay *const r = b->replay;
    const uint32_t call = ts__replay_op(r, op)->call;
    const ts__lane_state *const host =
        call == TS_NODE_NONE ? NULL
                             : ts__builder_lane(b, ts__replay_lanes(r)[call]);
    if (host && host->used == ts__replay_lanes(r)[op] &&
        host->recent != TS_NODE_NONE &&
        ts__replay_end(r, host->recent) <= ts__replay_time(r)[end])
        ts__builder_edge(b, host->recent, end, TS_EDGE_SYNC);
    else
        ts__builder_wait_chain(b, &state->issued, end, TS_EDGE_SYNC);
}

// Adds the edges of a sync of an out-of-order stream. The last join may contain
// work that other threads issued at about the time of the sync, which did not
// wait for it. Then an older join is used, and later work that ended in time.
static void ts__builder_sync_any(ts__builder *b, uint32_t end,
                                 const ts__lane_state *state)
{
    enum { TRIES = 64 };
    ts_replay *const r = b->replay;
    const int64_t time = ts__replay_time(r)[end];
    uint32_t at = state->step;
    for (uint32_t i = 0; at != TS_NODE_NONE && i < TRIES; i++) {
        const ts__step *const step = (const ts__step *)b->steps.data + at;
        const bool all = ts__replay_end(r, step->join) <= time;
        const uint32_t from = all ? step->join : step->op;
        if (ts__replay_end(r, from) <= time)
            ts__builder_edge(b, from, end, TS_EDGE_SYNC);
        if (all) return;
        at = step->before;
    }
    if (state->step != TS_NODE_NONE) r->stats.contradicted++;
}

static void ts__builder_sync_stream(ts__builder *b, uint32_t op,
                                    const ts__replay_lane *lane,
                                    ts__lane_state *state)
{
    const ts_replay *const r = b->replay;
    const uint32_t end = ts__replay_end_node(r, op);
    const uint32_t longest = state->issued.longest;
    if (lane->flags & TS_STREAM_OUT_OF_ORDER)
        ts__builder_sync_any(b, end, state);
    else if (longest != TS_NODE_NONE &&
             ts__replay_end(r, longest) > ts__replay_time(r)[end])
        ts__builder_sync_own(b, op, end, state);
    else
        ts__builder_wait_chain(b, &state->issued, end, TS_EDGE_SYNC);
    if (!(lane->flags & TS_STREAM_LEGACY_DEFAULT)) return;
    ts__group *const group =
        ts__builder_group(b, state->group[TS__SCOPE_BLOCKING]);
    const uint32_t join =
        ts__builder_join(b, group, TS__SCOPE_BLOCKING,
                         ts__replay_time(b->replay)[end], TS_EDGE_SYNC);
    ts__builder_wait(b, join, end, TS_EDGE_SYNC);
}

static void ts__builder_sync_device(ts__builder *b, uint32_t op,
                                    const ts__replay_lane *lane,
                                    const ts__lane_state *state)
{
    const ts__join_scope scope =
        lane->type == TS_TRACK_CONTEXT ? TS__SCOPE_CONTEXT : TS__SCOPE_DEVICE;
    const uint32_t end = ts__replay_end_node(b->replay, op);
    const uint32_t join =
        ts__builder_join(b, ts__builder_group(b, state->group[scope]), scope,
                         ts__replay_time(b->replay)[end], TS_EDGE_SYNC);
    ts__builder_wait(b, join, end, TS_EDGE_SYNC);
}

// Returns the event record that a wait names by correlation; if several have
// that correlation, the one of the same event.
static uint32_t ts__builder_named(const ts__builder *b,
                                  const ts__event_op *wait)
{
    const ts_replay *const r = b->replay;
    const uint32_t *const named = (const uint32_t *)b->named.data;
    const uint32_t file = ts__replay_file_of(r, wait->op);
    size_t low = 0, high = b->named.count;
    while (low < high) {
        const size_t middle = ts__middle(low, high);
        const uint32_t op = ts__replay_event(r, named[middle])->op;
        const uint32_t own = ts__replay_file_of(r, op);
        ts__halve(&low, &high,
                  own != file
                      ? own < file
                      : ts__replay_op(r, op)->correlation < wait->record);
    }
    uint32_t found = TS_NODE_NONE;
    for (size_t tries = 0; low < b->named.count && tries < 16; low++, tries++) {
        const ts__event_op *const event = ts__replay_event(r, named[low]);
        if (ts__replay_op(r, event->op)->correlation != wait->record ||
            ts__replay_file_of(r, event->op) != file)
            break;
        if (found == TS_NODE_NONE || event->id == wait->id) found = named[low];
        if (event->id == wait->id) break;
    }
    return found;
}

// Returns the events of an operation's file.
static ts__rmap *ts__builder_events(const ts__builder *b, uint32_t op)
{
    return (ts__rmap *)b->event_of.data + ts__replay_file_of(b->replay, op);
}

// Finds parts in which calls record events that the trace does not name.
static void ts__builder_find_unnamed(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    bool *const unnamed_records = (bool *)b->unnamed_records.data;
    for (uint32_t i = 0, last = TS_NODE_NONE; i < r->parts.count; i++) {
        const uint32_t file = ts__replay_part(r, i)->file;
        unnamed_records[i] =
            file == last ? unnamed_records[i - 1]
                         : ts__file_calls(ts__replay_file(r, file)->reader,
                                          "EventRecord");
        last = file;
    }
    for (uint32_t i = 0; i < r->events.count; i++) {
        const uint32_t op = ts__replay_event(r, i)->op;
        if (ts__replay_op(r, op)->kind == TS_EVENT_EVENT_RECORD)
            unnamed_records[ts__replay_part_of(r, op)] = false;
    }
}

static bool ts__builder_is_unnamed(const ts__builder *b, uint32_t op)
{
    return ((const bool *)
                b->unnamed_records.data)[ts__replay_part_of(b->replay, op)];
}

// Returns the lane to which the thread of a call last issued work, else a lane
// of the only device of its part, else TS_NODE_NONE.
static uint32_t ts__builder_used(const ts__builder *b, uint32_t call)
{
    const ts_replay *const r = b->replay;
    const uint32_t used = ts__builder_lane(b, ts__replay_lanes(r)[call])->used;
    if (used != TS_NODE_NONE) return used;
    return ((const uint32_t *)b->only.data)[ts__replay_part_of(r, call)];
}
