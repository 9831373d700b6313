/* ---- 10.23 Replay: edges ------------------------------------------------- */

typedef struct ts__edge {
    uint32_t from, to;
    uint8_t kind;
} ts__edge;

enum { TS__EDGE_NAMED = 32 }; // by its correlation: never left out

// The last of a row of nodes and the one with the latest end.
typedef struct ts__chain {
    uint32_t last, longest;
} ts__chain;

// Streams with work since the last join: of all of a device, all of a
// context, the blocking ones of a context.
typedef enum ts__reach {
    TS__REACH_DEVICE,
    TS__REACH_CONTEXT,
    TS__REACH_BLOCKING
} ts__reach;

typedef struct ts__lane_state {
    ts__chain host, order, issued;
    uint32_t step;     // the last of an out-of-order stream
    uint32_t group[3]; // by scope
    uint32_t next[3];  // lane with work, by scope; TS_NODE_NONE: the last
    bool dirty[3];
    uint32_t epoch;    // of the legacy operation it last waited for
    uint32_t graph;    // whose nodes came last, or TS_NODE_NONE
    ts__chain before;  // what was there before them
    bool free;         // not tied to the legacy default stream
    uint32_t used;     // a thread: lane that it last issued to
    uint32_t recent;   // and the operation
    uint32_t noted[2]; // see ts__blind_note
    bool records;      // noted when the thread recorded an event
    bool asked; // the next operation of a thread or stream may wait for that
} ts__lane_state;

typedef struct ts__group { // a device or a context
    uint32_t join[3];      // node at whose end all before it was done
    uint32_t dirty[3];     // first lane with work since
    uint32_t legacy;       // last operation on its legacy default stream
    uint32_t epoch;        // counts these
    uint32_t worked[2];    // the last work, and the last on another stream
    int64_t latest;        // end of all work so far
    bool has_legacy;
} ts__group;

// A call that waits for something, and the last operation of its thread.
typedef struct ts__ask {
    uint32_t call, recent;
} ts__ask;

// What an out-of-order stream was given: the join that it made, and the step
// before.
typedef struct ts__step {
    uint32_t join, op, before;
} ts__step;

typedef struct ts__builder {
    ts_replay *replay;
    const ts_allocator *allocator;
    ts__rvec edges, lanes, groups;
    ts__rmap group_of; // part and track
    ts__rvec event_of; // ts__rmap of each file: event to its latest record
    ts__rvec named;    // uint32_t: records by correlation
    ts__rvec only;     // uint32_t of each part: a lane of its only device
    ts__rvec silent;   // bool of each part: of its records it has only calls
    ts__rvec asks;     // ts__ask: calls that wait for what nobody tells
    ts__rvec steps;    // ts__step
    ts__rvec hardware; // uint32_t: last operation of each hardware queue
    ts__rsort sort;
    bool failed; // out of memory
} ts__builder;

static ts__lane_state *ts__builder_lane(const ts__builder *b, uint32_t lane)
{
    return (ts__lane_state *)b->lanes.data + lane;
}
static ts__group *ts__builder_group(const ts__builder *b, uint32_t group)
{
    return (ts__group *)b->groups.data + group;
}

static void ts__builder_edge(ts__builder *b, uint32_t from, uint32_t to,
                             uint32_t kind)
{
    ts__edge *const edge =
        (ts__edge *)ts__rvec_push(b->allocator, &b->edges, sizeof *edge);
    if (!edge) {
        b->failed = true;
        return;
    }
    edge->from =
        kind & TS_EDGE_FROM_START ? from : ts__replay_end_node(b->replay, from);
    edge->to = to;
    edge->kind = (uint8_t)kind;
}

// A node, which starts no earlier than the last of a chain, comes after it.
static void ts__builder_after(ts__builder *b, const ts__chain *chain,
                              uint32_t node, ts_edge_kind kind)
{
    const ts_replay *const r = b->replay;
    const int64_t time = ts__replay_time(r)[node];
    if (chain->last == TS_NODE_NONE) return;
    const bool apart = ts__replay_end(r, chain->last) <= time;
    ts__builder_edge(b, chain->last, node,
                     (uint32_t)kind | (apart ? 0 : TS_EDGE_FROM_START));
    if (chain->longest != chain->last &&
        ts__replay_end(r, chain->longest) <= time)
        ts__builder_edge(b, chain->longest, node, kind);
}

static void ts__builder_extend(ts__builder *b, ts__chain *chain, uint32_t node)
{
    const ts_replay *const r = b->replay;
    chain->last = node;
    if (chain->longest == TS_NODE_NONE ||
        ts__replay_end(r, node) >= ts__replay_end(r, chain->longest))
        chain->longest = node;
}

// Lane of the thread on which an operation is itself what the host does.
static uint32_t ts__builder_host_lane(const ts__builder *b, const ts__rmap *map,
                                      uint32_t node)
{
    const ts_replay *const r = b->replay;
    if (node >= r->op_count) return ts__replay_lanes(r)[node];
    const ts__op *const op = ts__replay_op(r, node);
    const bool fifo = ts__replay_lane_at(r, ts__replay_lanes(r)[node])->fifo;
    if (!op->thread || op->call != TS_NODE_NONE ||
        !ts__kind_of_host(op->kind, fifo))
        return TS_NODE_NONE;
    const uint32_t file = ts__replay_file_of(r, node);
    return ts__rmap_get(map, ts__replay_key(file, op->thread));
}

// Calls and the host's own operations, merged in order of start.
static void ts__builder_hosts(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    ts__rmap map = { { 0 }, 0 };
    for (uint32_t i = 0; i < r->lanes.count; i++)
        if (!ts__rmap_put(b->allocator, &map,
                          ts__replay_key(ts__replay_lane_at(r, i)->file,
                                         ts__replay_lane_at(r, i)->track),
                          i))
            b->failed = true;
    const int64_t *const time = ts__replay_time(r);
    const uint32_t calls_end = r->op_count + r->call_count;
    uint32_t call = r->op_count, op = 0;
    while (!b->failed && (call < calls_end || op < r->op_count)) {
        const bool take_call =
            op == r->op_count || (call < calls_end && time[call] <= time[op]);
        const uint32_t node = take_call ? call++ : op++;
        const uint32_t lane = ts__builder_host_lane(b, &map, node);
        if (lane == TS_NODE_NONE) continue;
        ts__chain *const host = &ts__builder_lane(b, lane)->host;
        ts__builder_after(b, host, node, TS_EDGE_HOST_ORDER);
        ts__builder_extend(b, host, node);
    }
    ts__rvec_close(b->allocator, &map.entries);
}

// Edge unless the record shows that `to`, a helper or an operation's start,
// came before the end of `from`.
static bool ts__builder_wait(ts__builder *b, uint32_t from, uint32_t to,
                             ts_edge_kind kind)
{
    if (from == TS_NODE_NONE) return false;
    if (ts__replay_end(b->replay, from) > ts__replay_time(b->replay)[to]) {
        b->replay->stats.contradicted++;
        return false;
    }
    ts__builder_edge(b, from, to, kind);
    return true;
}

// Both the last and the longest of a chain.
static void ts__builder_wait_chain(ts__builder *b, const ts__chain *chain,
                                   uint32_t to, ts_edge_kind kind)
{
    ts__builder_wait(b, chain->last, to, kind);
    if (chain->longest != chain->last)
        ts__builder_wait(b, chain->longest, to, kind);
}

/*
    A join under construction: the first source stands for itself, a second
    one makes a node. So the edges of all joins together are no more than the
    work between them, however many streams there are.
*/
typedef struct ts__join {
    uint32_t node;  // TS_NODE_NONE: no source yet
    bool made;      // a node of its own
    int64_t before; // sources that end later contradict the record
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

// Joins what a scope did since its last join, and that; TS_NODE_NONE: none.
static uint32_t ts__builder_join(ts__builder *b, ts__group *group,
                                 ts__reach scope, int64_t before,
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

static void ts__builder_dirty(ts__builder *b, uint32_t index, ts__reach scope)
{
    ts__lane_state *const lane = ts__builder_lane(b, index);
    if (lane->dirty[scope]) return;
    ts__group *const group = ts__builder_group(b, lane->group[scope]);
    lane->dirty[scope] = true;
    lane->next[scope] = group->dirty[scope];
    group->dirty[scope] = index;
}

// Nodes of one graph launch on several streams: the graph alone orders them.
static bool ts__builder_is_launched_with(const ts__builder *b, uint32_t op,
                                         uint32_t other)
{
    const ts_replay *const r = b->replay;
    return other != TS_NODE_NONE &&
           ts__replay_op(r, op)->call != TS_NODE_NONE &&
           ts__replay_op(r, op)->call == ts__replay_op(r, other)->call;
}

// An operation on a stream, as the legacy default stream sees it.
static void ts__builder_legacy(ts__builder *b, uint32_t op,
                               const ts__replay_lane *lane,
                               ts__lane_state *state)
{
    ts__group *const group =
        ts__builder_group(b, state->group[TS__REACH_BLOCKING]);
    if (!group->has_legacy) return;
    const bool with = ts__builder_is_launched_with(b, op, group->legacy);
    if (lane->flags & TS_STREAM_LEGACY_DEFAULT && with) {
        group->legacy = op;
        group->epoch++;
    } else if (lane->flags & TS_STREAM_LEGACY_DEFAULT) {
        // What came before the last join is before the last legacy operation.
        group->join[TS__REACH_BLOCKING] = TS_NODE_NONE;
        const uint32_t join = ts__builder_join(b, group, TS__REACH_BLOCKING,
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

// Where threads share a stream, another's work may have come between the call
// of a sync and its turn: then it waited at least for the thread's own.
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

// Out of order, the last join may hold what other threads asked for at about
// the time of the sync, which did not wait for it. Then an older one does, and
// what came after that and ended in time.
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
        ts__builder_group(b, state->group[TS__REACH_BLOCKING]);
    const uint32_t join =
        ts__builder_join(b, group, TS__REACH_BLOCKING,
                         ts__replay_time(b->replay)[end], TS_EDGE_SYNC);
    ts__builder_wait(b, join, end, TS_EDGE_SYNC);
}

static void ts__builder_sync_device(ts__builder *b, uint32_t op,
                                    const ts__replay_lane *lane,
                                    const ts__lane_state *state)
{
    const ts__reach scope =
        lane->type == TS_TRACK_CONTEXT ? TS__REACH_CONTEXT : TS__REACH_DEVICE;
    const uint32_t end = ts__replay_end_node(b->replay, op);
    const uint32_t join =
        ts__builder_join(b, ts__builder_group(b, state->group[scope]), scope,
                         ts__replay_time(b->replay)[end], TS_EDGE_SYNC);
    ts__builder_wait(b, join, end, TS_EDGE_SYNC);
}

// The record that a wait names by its correlation; the one of the same event
// if several have it.
static uint32_t ts__builder_named(const ts__builder *b,
                                  const ts__event_op *wait)
{
    const ts_replay *const r = b->replay;
    const uint32_t *const named = (const uint32_t *)b->named.data;
    const uint32_t file = ts__replay_file_of(r, wait->op);
    size_t low = 0, high = b->named.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const uint32_t op = ts__replay_event(r, named[middle])->op;
        const uint32_t own = ts__replay_file_of(r, op);
        if (own != file ? own < file
                        : ts__replay_op(r, op)->correlation < wait->record)
            low = middle + 1;
        else
            high = middle;
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

// Events of the file of an operation.
static ts__rmap *ts__builder_events(const ts__builder *b, uint32_t op)
{
    return (ts__rmap *)b->event_of.data + ts__replay_file_of(b->replay, op);
}

// Calls record events, but the source does not say which.
static void ts__builder_silence(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    bool *const silent = (bool *)b->silent.data;
    for (uint32_t i = 0, last = TS_NODE_NONE; i < r->parts.count; i++) {
        const uint32_t file = ts__replay_part(r, i)->file;
        silent[i] = file == last
                        ? silent[i - 1]
                        : ts__file_calls(ts__replay_file(r, file)->reader,
                                         "EventRecord");
        last = file;
    }
    for (uint32_t i = 0; i < r->events.count; i++) {
        const uint32_t op = ts__replay_event(r, i)->op;
        if (ts__replay_op(r, op)->kind == TS_EVENT_EVENT_RECORD)
            silent[ts__replay_part_of(r, op)] = false;
    }
}

static bool ts__builder_silent(const ts__builder *b, uint32_t op)
{
    return ((const bool *)b->silent.data)[ts__replay_part_of(b->replay, op)];
}

// The lane of a device to which a thread issues, as far as that is known.
static uint32_t ts__builder_used(const ts__builder *b, uint32_t call)
{
    const ts_replay *const r = b->replay;
    const uint32_t used = ts__builder_lane(b, ts__replay_lanes(r)[call])->used;
    if (used != TS_NODE_NONE) return used;
    return ((const uint32_t *)b->only.data)[ts__replay_part_of(r, call)];
}

/*
    Waits for an event of which no record is known. A program records an event
    on the stream to which it has just given work, and lets another stream wait
    for it: so the wait is for the last work on another stream at the time when
    the thread last called to record an event, or else of the wait. Where not
    even the stream is known that waits, it is that of the next work of the
    thread. A guess, and none where the record contradicts it.
*/
static void ts__blind_work(ts__builder *b, ts__group *device, uint32_t op)
{
    const uint32_t *const lanes = ts__replay_lanes(b->replay);
    const uint32_t last = device->worked[0];
    if (last != TS_NODE_NONE && lanes[last] != lanes[op])
        device->worked[1] = last;
    device->worked[0] = op;
}

static void ts__blind_edge(ts__builder *b, const uint32_t last[2],
                           uint32_t lane, uint32_t to)
{
    const ts_replay *const r = b->replay;
    if (r->no_inference || last[0] == TS_NODE_NONE) return;
    const uint32_t from = last[ts__replay_lanes(r)[last[0]] == lane];
    if (from != TS_NODE_NONE && ts__replay_lanes(r)[from] != lane &&
        ts__replay_end(r, from) <= ts__replay_time(r)[to])
        ts__builder_edge(b, from, to, TS_EDGE_EVENT | TS_EDGE_INFERRED);
}

// Notes what work there is on the device that a call is for.
static void ts__blind_note(ts__builder *b, uint32_t call, ts__lane_state *host)
{
    const uint32_t used = ts__builder_used(b, call);
    host->noted[0] = TS_NODE_NONE;
    if (used == TS_NODE_NONE) return;
    const ts__group *const device = ts__builder_group(
        b, ts__builder_lane(b, used)->group[TS__REACH_DEVICE]);
    memcpy(host->noted, device->worked, sizeof host->noted);
}

static void ts__blind_call(ts__builder *b, uint32_t call, uint8_t type)
{
    ts__lane_state *const host =
        ts__builder_lane(b, ts__replay_lanes(b->replay)[call]);
    host->asked |= type == TS__CALL_WAITS;
    b->replay->stats.missing_records += type == TS__CALL_WAITS;
    if (type == TS__CALL_RECORDS || !host->records)
        ts__blind_note(b, call, host);
    host->records |= type == TS__CALL_RECORDS;
}

// Sources may tell when the host asked for a wait, not when its turn came:
// what is next on the stream waits.
static void ts__blind_wait(ts__builder *b, uint32_t op)
{
    const ts_replay *const r = b->replay;
    ts__lane_state *const state = ts__builder_lane(b, ts__replay_lanes(r)[op]);
    const uint32_t call = ts__replay_op(r, op)->call;
    const uint32_t *last =
        ts__builder_group(b, state->group[TS__REACH_DEVICE])->worked;
    if (call != TS_NODE_NONE) {
        const ts__lane_state *const host =
            ts__builder_lane(b, ts__replay_lanes(r)[call]);
        if (host->records) last = host->noted;
    }
    memcpy(state->noted, last, sizeof state->noted);
    state->asked = true;
}

static void ts__blind_next(ts__builder *b, ts__lane_state *asked, uint32_t lane,
                           uint32_t op)
{
    if (asked->asked) ts__blind_edge(b, asked->noted, lane, op);
    asked->asked = false;
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
        r->stats.missing_records += found == TS_NODE_NONE;
    } else if (wait->id && !ts__builder_silent(b, op)) {
        found = ts__rmap_get(ts__builder_events(b, op), wait->id);
        r->stats.missing_records += found == TS_NODE_NONE && r->windowed;
        r->stats.never_recorded += found == TS_NODE_NONE && !r->windowed;
    } else { // its event may well have been recorded: nobody knows
        found = TS_NODE_NONE;
        r->stats.missing_records++;
        if (kind == TS_EDGE_EVENT) ts__blind_wait(b, op);
    }
    if (found == TS_NODE_NONE) return;
    const ts__event_op *const record = ts__replay_event(r, found);
    ts__builder_edge(b, record->op, end,
                     (uint32_t)kind | (wait->record ? TS__EDGE_NAMED : 0));
    ts__builder_wait(b, record->after, end, kind);
}

// Work that the record, taken on the host, outran: a wait for the record
// waits for that too.
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

static void ts__builder_ask(ts__builder *b, uint32_t call)
{
    const uint32_t host = ts__replay_lanes(b->replay)[call];
    ts__ask *const ask =
        (ts__ask *)ts__rvec_push(b->allocator, &b->asks, sizeof *ask);
    if (!ask) {
        b->failed = true;
        return;
    }
    ask->call = call;
    ask->recent = ts__builder_lane(b, host)->recent;
}

/*
    A call that waits, of which the trace has no operation. Freeing memory
    waits for the whole device, or, where the record shows that it did not,
    for nothing.
*/
static void ts__builder_call(ts__builder *b, uint32_t call)
{
    const ts_replay *const r = b->replay;
    const uint8_t type =
        ((const uint8_t *)r->call_classes.data)[call - r->op_count];
    if (type == TS__CALL_RECORDS || type == TS__CALL_WAITS)
        ts__blind_call(b, call, type);
    if (!(ts__replay_flags(r)[call] & TS__NODE_WAITS)) return;
    const bool all = type == TS__CALL_SYNCS_DEVICE || type == TS__CALL_FREES;
    const uint32_t used = all ? ts__builder_used(b, call) : TS_NODE_NONE;
    if (used == TS_NODE_NONE) {
        if (type != TS__CALL_FREES) ts__builder_ask(b, call);
        return;
    }
    const uint32_t end = ts__replay_end_node(r, call);
    const int64_t time = ts__replay_time(r)[end];
    ts__group *const group = ts__builder_group(
        b, ts__builder_lane(b, used)->group[TS__REACH_DEVICE]);
    if (type == TS__CALL_FREES && group->latest > time) return;
    const uint32_t join =
        ts__builder_join(b, group, TS__REACH_DEVICE, time, TS_EDGE_SYNC);
    ts__builder_wait(b, join, end, TS_EDGE_SYNC);
}

/*
    With a limited number of hardware queues per device, streams share them,
    in turn by their numbers: an operation cannot begin before the one that
    was put into its queue before it.
*/
static void ts__builder_share(ts__builder *b, uint32_t op, uint32_t lane)
{
    const ts_replay *const r = b->replay;
    const uint32_t count = r->connections;
    if (!count || ts__kind_syncs(ts__replay_op(r, op)->kind)) return;
    uint32_t place = 0; // of the stream among those of its device
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
    Adds to what a stream was given. In order its last and its longest stand
    for all; out of order a join does, of what came before and this.
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
        if (ts__kind_works(kind)) ts__blind_next(b, host, index, op);
    }
    ts__group *const device =
        ts__builder_group(b, state->group[TS__REACH_DEVICE]);
    if (ts__kind_works(kind)) {
        ts__blind_next(b, state, index, op);
        ts__blind_work(b, device, op);
    }
    if (ts__replay_end(r, op) > device->latest)
        device->latest = ts__replay_end(r, op);
    ts__builder_share(b, op, index);
    ts__builder_legacy(b, op, lane, state);
    ts__builder_issued(b, op, lane, state);
    ts__builder_dirty(b, index, TS__REACH_DEVICE);
    ts__builder_dirty(b, index, TS__REACH_CONTEXT);
    if (!(lane->flags & TS_STREAM_LEGACY_DEFAULT) && !state->free)
        ts__builder_dirty(b, index, TS__REACH_BLOCKING);
}

// A device or context of a part.
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

// The device of parts that use one alone.
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
                    : TS_NODE_NONE - 1; // several
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
        !ts__rvec_fill(b->allocator, &b->silent, sizeof(bool), r->parts.count,
                       0) ||
        !ts__rvec_fill(b->allocator, &b->hardware, sizeof(uint32_t),
                       r->device_results.count * r->connections, 0xFF))
        return false;
    ts__builder_only(b);
    ts__builder_silence(b);
    for (uint32_t i = 0; i < r->lanes.count && !b->failed; i++) {
        const ts__replay_lane *const lane = ts__replay_lane_at(r, i);
        ts__lane_state *const state = ts__builder_lane(b, i);
        memset(state->dirty, 0, sizeof state->dirty);
        state->epoch = 0;
        state->free = lane->flags & TS_STREAM_NON_BLOCKING;
        state->records = state->asked = false;
        state->group[TS__REACH_DEVICE] =
            ts__builder_group_of(b, lane->part, lane->device_track);
        state->group[TS__REACH_CONTEXT] = state->group[TS__REACH_BLOCKING] =
            ts__builder_group_of(b, lane->part, lane->context_track);
        if (!b->failed && lane->operations && lane->fifo &&
            lane->flags & TS_STREAM_LEGACY_DEFAULT)
            ts__builder_group(b, state->group[TS__REACH_BLOCKING])->has_legacy =
                true;
    }
    return !b->failed;
}

// Work on the legacy default streams of a context, in order of start.
static bool ts__defy_list(ts__builder *b, ts__rvec *first, ts__rvec *list)
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
                ts__builder_lane(b, lane)->group[TS__REACH_BLOCKING];
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

// Whether an operation runs beside work of its legacy default stream, by more
// than times are rounded. The last that began before it and the next count.
static bool ts__defy_beside(const ts_replay *r, const uint32_t *legacy,
                            size_t count, uint32_t op)
{
    const int64_t start = ts__replay_time(r)[op], end = ts__replay_end(r, op);
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ts__replay_time(r)[legacy[middle]] <= start)
            low = middle + 1;
        else
            high = middle;
    }
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
    Traces seldom say which streams are non-blocking. One whose work ever runs
    beside work of the legacy default stream of its context must be.
*/
static bool ts__builder_defy(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    bool any = false;
    for (size_t i = 0; i < b->groups.count; i++)
        any |= ts__builder_group(b, (uint32_t)i)->has_legacy;
    if (!any) return true;
    ts__rvec first = { 0 }, list = { 0 };
    const bool ok = ts__defy_list(b, &first, &list);
    for (uint32_t i = 0; ok && i < r->op_count; i++) {
        const uint32_t lane = ts__replay_lanes(r)[i];
        ts__lane_state *const state = ts__builder_lane(b, lane);
        if (state->free || !ts__kind_works(ts__replay_op(r, i)->kind) ||
            ts__replay_lane_at(r, lane)->flags & TS_STREAM_LEGACY_DEFAULT)
            continue;
        const uint32_t *const at =
            (const uint32_t *)first.data + state->group[TS__REACH_BLOCKING];
        if (!ts__defy_beside(r, (const uint32_t *)list.data + at[0],
                             at[1] - at[0], i))
            continue;
        state->free = true;
        b->replay->stats.contradicted++;
    }
    ts__rvec_close(b->allocator, &first);
    ts__rvec_close(b->allocator, &list);
    return ok;
}

// Records by correlation, if any wait names one.
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
    When the host asked for each operation. Streams are first in, first out:
    one of which that is not known was asked for no earlier than the one
    before it on its stream, and no later than the next. Where a stream tells
    nothing, starts do, for waits ends. guessed: of each operation.
*/
static void ts__builder_issues(const ts__builder *b, uint64_t *keys,
                               bool *guessed, int64_t *near)
{
    const ts_replay *const r = b->replay;
    for (size_t i = 0; i < r->lanes.count; i++)
        near[i] = TS__NO_TIME;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        const uint32_t lane = ts__replay_lanes(r)[i];
        int64_t issue = op->issue;
        const bool queues =
            ts__replay_lane_at(r, lane)->fifo && !ts__kind_syncs(op->kind);
        if (issue == TS__NO_TIME && queues) issue = near[lane];
        if (queues && issue > near[lane]) near[lane] = issue;
        guessed[i] = issue == TS__NO_TIME;
        keys[i] = ts__rsort_time(issue);
    }
    for (size_t i = 0; i < r->lanes.count; i++)
        near[i] = TS__REPLAY_SUM_MAX;
    for (uint32_t i = r->op_count; i-- > 0;) {
        const uint32_t lane = ts__replay_lanes(r)[i];
        const bool waits = ts__replay_flags(r)[i] & TS__NODE_WAITS;
        const bool queues = ts__replay_lane_at(r, lane)->fifo &&
                            !ts__kind_syncs(ts__replay_op(r, i)->kind);
        int64_t time = waits ? ts__replay_end(r, i) : ts__replay_time(r)[i];
        if (queues && near[lane] < time) time = near[lane];
        if (guessed[i]) keys[i] = ts__rsort_time(time);
        guessed[i] &= waits;
        const int64_t issue = ts__replay_op(r, i)->issue;
        if (queues && issue != TS__NO_TIME) near[lane] = issue;
    }
}

// Leaves the operations, and the calls that wait for something although they
// launched nothing, in the order of the host in the sorter. At one moment
// waits whose place is a guess come last.
static bool ts__builder_order(ts__builder *b, size_t *count)
{
    const ts_replay *const r = b->replay;
    ts__rvec guesses = { 0 }, near = { 0 }, issues = { 0 };
    size_t most = r->op_count;
    for (uint32_t i = 0; i < r->call_count; i++)
        most += (ts__replay_flags(r)[r->op_count + i] & TS__NODE_ALONE) != 0;
    bool ok =
        ts__rsort_open(b->allocator, &b->sort, most) &&
        ts__rvec_reserve(b->allocator, &issues, sizeof(uint64_t),
                         r->op_count) &&
        ts__rvec_reserve(b->allocator, &guesses, sizeof(bool), r->op_count) &&
        ts__rvec_reserve(b->allocator, &near, sizeof(int64_t), r->lanes.count);
    uint32_t *const index = ts__rsort_index(&b->sort);
    uint64_t *const keys = ts__rsort_keys(&b->sort);
    uint64_t *const issue = (uint64_t *)issues.data;
    const bool *const guessed = (const bool *)guesses.data;
    size_t at = 0;
    if (ok)
        ts__builder_issues(b, issue, (bool *)guesses.data,
                           (int64_t *)near.data);
    for (int last = 0; ok && last < 2; last++) {
        for (uint32_t i = 0; i < r->op_count; i++) {
            if (guessed[i] != (last == 1)) continue;
            keys[at] = issue[i];
            index[at++] = i;
        }
        for (uint32_t i = 0; last && i < r->call_count; i++) {
            const uint32_t call = r->op_count + i;
            if (!(ts__replay_flags(r)[call] & TS__NODE_ALONE)) continue;
            keys[at] = ts__rsort_time(ts__replay_time(r)[call]);
            index[at++] = call;
        }
    }
    if (ok) ts__rsort_run(&b->sort, at);
    *count = at;
    ts__rvec_close(b->allocator, &issues);
    ts__rvec_close(b->allocator, &guesses);
    ts__rvec_close(b->allocator, &near);
    return ok;
}
