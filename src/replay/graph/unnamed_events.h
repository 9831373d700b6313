/* ---- Graph: events without a name --------------------------------------- */

/*
    Waits for events whose record is not known. A program usually records an
    event on the stream to which it has just issued work, and lets another
    stream wait for it. So the wait is for the last work on another stream at
    the time of the thread's last call that recorded an event, or else at the
    time of the wait. If the waiting stream is unknown, it is the stream of the
    thread's next work. These edges are inferred, and left out where the record
    contradicts them.
*/
static void ts__unnamed_work(ts__builder *b, ts__group *device, uint32_t op)
{
    const uint32_t *const lanes = ts__replay_lanes(b->replay);
    const uint32_t last = device->worked[0];
    if (last != TS_NODE_NONE && lanes[last] != lanes[op])
        device->worked[1] = last;
    device->worked[0] = op;
}

static void ts__unnamed_edge(ts__builder *b, const uint32_t last[2],
                             uint32_t lane, uint32_t to)
{
    const ts_replay *const r = b->replay;
    if (r->no_inference || last[0] == TS_NODE_NONE) return;
    const uint32_t from = last[ts__replay_lanes(r)[last[0]] == lane];
    if (from != TS_NODE_NONE && ts__replay_lanes(r)[from] != lane &&
        ts__replay_end(r, from) <= ts__replay_time(r)[to])
        ts__builder_edge(b, from, to, TS_EDGE_EVENT | TS_EDGE_INFERRED);
}

// Notes the last work on the device that a call is for.
static void ts__unnamed_note(ts__builder *b, uint32_t call,
                             ts__lane_state *host)
{
    const uint32_t used = ts__builder_used(b, call);
    host->noted[0] = TS_NODE_NONE;
    if (used == TS_NODE_NONE) return;
    const ts__group *const device = ts__builder_group(
        b, ts__builder_lane(b, used)->group[TS__SCOPE_DEVICE]);
    memcpy(host->noted, device->worked, sizeof host->noted);
}

// Counts a wait whose record is missing, by the node that waits or its call.
static void ts__unnamed_missing(ts_replay *r, uint32_t node)
{
    r->stats.missing_records++;
    ts__replay_part(r, ts__replay_part_of(r, node))->misses = true;
}

static void ts__unnamed_call(ts__builder *b, uint32_t call, uint8_t type)
{
    ts__lane_state *const host =
        ts__builder_lane(b, ts__replay_lanes(b->replay)[call]);
    host->waits_for_noted |= type == TS__CALL_WAITS;
    if (type == TS__CALL_WAITS) ts__unnamed_missing(b->replay, call);
    if (type == TS__CALL_RECORDS || !host->records)
        ts__unnamed_note(b, call, host);
    host->records |= type == TS__CALL_RECORDS;
}

// Handles an event wait operation. Sources may record when the host issued the
// wait, not when it took effect: the next operation of the stream waits.
static void ts__unnamed_wait(ts__builder *b, uint32_t op)
{
    const ts_replay *const r = b->replay;
    ts__lane_state *const state = ts__builder_lane(b, ts__replay_lanes(r)[op]);
    const uint32_t call = ts__replay_op(r, op)->call;
    const uint32_t *last =
        ts__builder_group(b, state->group[TS__SCOPE_DEVICE])->worked;
    if (call != TS_NODE_NONE) {
        const ts__lane_state *const host =
            ts__builder_lane(b, ts__replay_lanes(r)[call]);
        if (host->records) last = host->noted;
    }
    memcpy(state->noted, last, sizeof state->noted);
    state->waits_for_noted = true;
}

static void ts__unnamed_next(ts__builder *b, ts__lane_state *waiter,
                             uint32_t lane, uint32_t op)
{
    if (waiter->waits_for_noted) ts__unnamed_edge(b, waiter->noted, lane, op);
    waiter->waits_for_noted = false;
}

static void ts__builder_wait_event(ts__builder *b, uint32_t op,
                                   ts_edge_kind kind)
{
    ts_replay *const r = b->replay;
    const ts__event_op *const wait =
        ts__replay_event(r, ts__replay_op(r, op)->label);
    const uint32_t end = ts__replay_end_node(r, op);
    uint32_t found;
    if (wait->record) {
        found = ts__builder_named(b, wait);
        if (found == TS_NODE_NONE) ts__unnamed_missing(r, op);
    } else if (wait->id && !ts__builder_is_unnamed(b, op)) {
        found = ts__rmap_get(ts__builder_events(b, op), wait->id);
        if (found == TS_NODE_NONE && r->windowed) ts__unnamed_missing(r, op);
        r->stats.never_recorded += found == TS_NODE_NONE && !r->windowed;
    } else { // its event may have been recorded: unknown
        found = TS_NODE_NONE;
        ts__unnamed_missing(r, op);
        if (kind == TS_EDGE_EVENT) ts__unnamed_wait(b, op);
    }
    if (found == TS_NODE_NONE) return;
    const ts__event_op *const record = ts__replay_event(r, found);
    ts__builder_edge(b, record->op, end,
                     (uint32_t)kind | (wait->record ? TS__EDGE_NAMED : 0));
    ts__builder_wait(b, record->after, end, kind);
}

// Handles an event record. If its time was taken on the host, earlier work may
// end after it; a wait for the event then waits for that work, too.
static void ts__builder_record(ts__builder *b, uint32_t op,
                               const ts__replay_lane *lane,
                               const ts__lane_state *state)
{
    ts_replay *const r = b->replay;
    const uint32_t index = ts__replay_op(r, op)->label;
    ts__event_op *const event = ts__replay_event(r, index);
    const uint32_t longest = state->issued.longest;
    if (longest != TS_NODE_NONE && !(lane->flags & TS_STREAM_OUT_OF_ORDER) &&
        ts__replay_end(r, longest) > ts__replay_end(r, op))
        event->after = longest;
    if (event->id && !ts__rmap_put(b->allocator, ts__builder_events(b, op),
                                   event->id, index))
        b->failed = true;
}
