/* ---- Graph: edges, one operation after another -------------------------- */

// Notes a call that waits for something unknown; ts__builder_infer may find it.
static void ts__builder_query(ts__builder *b, uint32_t call)
{
    const uint32_t host = ts__replay_lanes(b->replay)[call];
    ts__event_query *const query = (ts__event_query *)ts__rvec_push(
        b->allocator, &b->event_queries, sizeof *query);
    if (!query) {
        b->failed = true;
        return;
    }
    query->call = call;
    query->recent = ts__builder_lane(b, host)->recent;
}

/*
    Adds the edges of a waiting call that has no operation in the trace. A call
    that frees memory waits for the whole device, or, if the record shows that
    it did not, for nothing.
*/
static void ts__builder_call(ts__builder *b, uint32_t call)
{
    const ts_replay *const r = b->replay;
    const uint8_t type =
        ((const uint8_t *)r->call_classes.data)[call - r->op_count];
    if (type == TS__CALL_RECORDS || type == TS__CALL_WAITS)
        ts__unnamed_call(b, call, type);
    if (!(ts__replay_flags(r)[call] & TS__NODE_WAITS)) return;
    const bool all = type == TS__CALL_SYNCS_DEVICE || type == TS__CALL_FREES;
    const uint32_t used = all ? ts__builder_used(b, call) : TS_NODE_NONE;
    if (used == TS_NODE_NONE) {
        if (type != TS__CALL_FREES) ts__builder_query(b, call);
        return;
    }
    const uint32_t end = ts__replay_end_node(r, call);
    const int64_t time = ts__replay_time(r)[end];
    ts__group *const group = ts__builder_group(
        b, ts__builder_lane(b, used)->group[TS__SCOPE_DEVICE]);
    if (type == TS__CALL_FREES && group->latest > time) return;
    const uint32_t join =
        ts__builder_join(b, group, TS__SCOPE_DEVICE, time, TS_EDGE_SYNC);
    ts__builder_wait(b, join, end, TS_EDGE_SYNC);
}

/*
    With a limited number of hardware queues per device, streams are assigned to
    them round robin by number. An operation cannot begin before the previous
    one of its queue.
*/
static void ts__builder_hardware_queue(ts__builder *b, uint32_t op,
                                       uint32_t lane)
{
    const ts_replay *const r = b->replay;
    const uint32_t count = r->connections;
    if (!count || ts__kind_syncs(ts__replay_op(r, op)->kind)) return;
    uint32_t place = 0; // number of the stream on its device
    const uint32_t device = ts__replay_lane_at(r, lane)->device;
    while (place < lane &&
           ts__replay_lane_at(r, lane - place - 1)->device == device)
        place++;
    uint32_t *const last =
        (uint32_t *)b->hardware.data + (size_t)device * count + place % count;
    if (*last != TS_NODE_NONE && ts__replay_lanes(r)[*last] != lane &&
        ts__replay_time(r)[*last] <= ts__replay_time(r)[op])
        ts__builder_edge(b, *last, op, TS_EDGE_QUEUE | TS_EDGE_FROM_START);
    *last = op;
}

static void ts__builder_step_add(ts__builder *b, uint32_t join, uint32_t op,
                                 ts__lane_state *state)
{
    ts__step *const step =
        (ts__step *)ts__rvec_push(b->allocator, &b->steps, sizeof *step);
    if (!step) {
        b->failed = true;
        return;
    }
    step->join = join;
    step->op = op;
    step->before = state->step;
    state->step = (uint32_t)b->steps.count - 1;
}

/*
    Adds an operation to those issued to a stream. For an in-order stream the
    last and the longest represent all of them, for an out-of-order stream a
    join of the earlier ones and this one.
*/
static void ts__builder_issued(ts__builder *b, uint32_t op,
                               const ts__replay_lane *lane,
                               ts__lane_state *state)
{
    const ts_replay *const r = b->replay;
    const bool any = lane->flags & TS_STREAM_OUT_OF_ORDER;
    uint32_t last = op;
    if (any && state->issued.last != TS_NODE_NONE) {
        ts__join join = { TS_NODE_NONE, false, INT64_MAX, TS_EDGE_SYNC };
        ts__join_add(b, &join, state->issued.last);
        ts__join_add(b, &join, op);
        last = join.node;
    }
    if (any) ts__builder_step_add(b, last, op, state);
    state->issued.last = last;
    if (any || state->issued.longest == TS_NODE_NONE ||
        ts__replay_end(r, op) >= ts__replay_end(r, state->issued.longest))
        state->issued.longest = last;
}

static void ts__builder_step(ts__builder *b, uint32_t op)
{
    const ts_replay *const r = b->replay;
    if (op >= r->op_count) {
        ts__builder_call(b, op);
        return;
    }
    const uint32_t index = ts__replay_lanes(r)[op];
    const ts__replay_lane *const lane = ts__replay_lane_at(r, index);
    ts__lane_state *const state = ts__builder_lane(b, index);
    const uint8_t kind = ts__replay_op(r, op)->kind;
    switch (kind) {
    case TS_EVENT_STREAM_SYNC:
        ts__builder_sync_stream(b, op, lane, state);
        return;
    case TS_EVENT_DEVICE_SYNC:
        ts__builder_sync_device(b, op, lane, state);
        return;
    case TS_EVENT_EVENT_SYNC:
        ts__builder_wait_event(b, op, TS_EDGE_SYNC);
        return;
    case TS_EVENT_EVENT_WAIT:
        ts__builder_wait_event(b, op, TS_EDGE_EVENT);
        break;
    case TS_EVENT_EVENT_RECORD: ts__builder_record(b, op, lane, state); break;
    default: break;
    }
    if (!lane->fifo) return;
    const uint32_t call = ts__replay_op(r, op)->call;
    if (call != TS_NODE_NONE) {
        ts__lane_state *const host =
            ts__builder_lane(b, ts__replay_lanes(r)[call]);
        host->used = index;
        host->recent = op;
        if (ts__kind_works(kind)) ts__unnamed_next(b, host, index, op);
    }
    ts__group *const device =
        ts__builder_group(b, state->group[TS__SCOPE_DEVICE]);
    if (ts__kind_works(kind)) {
        ts__unnamed_next(b, state, index, op);
        ts__unnamed_work(b, device, op);
    }
    if (ts__replay_end(r, op) > device->latest)
        device->latest = ts__replay_end(r, op);
    ts__builder_hardware_queue(b, op, index);
    ts__builder_legacy(b, op, lane, state);
    ts__builder_issued(b, op, lane, state);
    ts__builder_dirty(b, index, TS__SCOPE_DEVICE);
    ts__builder_dirty(b, index, TS__SCOPE_CONTEXT);
    if (!(lane->flags & TS_STREAM_LEGACY_DEFAULT) && !state->free)
        ts__builder_dirty(b, index, TS__SCOPE_BLOCKING);
}
