// Turns a list of edges between so many nodes into offsets, targets and kinds.
static bool ts__edges_pack(const ts_allocator *a, const ts__rvec *list,
                           size_t nodes, ts__rvec *offsets, ts__rvec *targets,
                           ts__rvec *kinds)
{
    const ts__edge *const edges = (const ts__edge *)list->data;
    const size_t count = list->count;
    if (!ts__rvec_fill(a, offsets, sizeof(uint32_t), nodes + 1, 0) ||
        !ts__rvec_reserve(a, targets, sizeof(uint32_t), count) ||
        !ts__rvec_reserve(a, kinds, sizeof(uint8_t), count))
        return false;
    uint32_t *const first = (uint32_t *)offsets->data;
    for (size_t i = 0; i < count; i++)
        first[edges[i].from]++;
    ts__offsets_sum(first, nodes);
    for (size_t i = count; i-- > 0;) {
        const uint32_t at = --first[edges[i].from];
        ((uint32_t *)targets->data)[at] = edges[i].to;
        ((uint8_t *)kinds->data)[at] = edges[i].kind;
    }
    targets->count = kinds->count = count;
    return true;
}

/* ---- 10.24 Replay: circles of the record --------------------------------- */

/*
    Clocks of host and device disagree, numbers are used twice, events are
    recorded after the wait that found them: edges may form circles. Where
    they do, guesses are left out, then those that the record contradicts, then
    those between equal times that go against the total order. What remains
    can only be a circle through a record that a wait names, and is reported.
*/
typedef enum ts__doubt {
    TS__DOUBT_GUESS, // an inferred edge
    TS__DOUBT_LATER, // the source came later than the target
    TS__DOUBT_ORDER  // at the same time, but behind it in the total order
} ts__doubt;

// Sorts nodes by their edges; leaves what is still missing of each node.
// Returns how many nodes are in no circle and behind none.
static uint32_t ts__settle_count(const ts_replay *r, uint32_t *missing,
                                 uint32_t *queue)
{
    const uint32_t *const offsets = (const uint32_t *)r->offsets.data;
    const uint32_t *const targets = (const uint32_t *)r->targets.data;
    memset(missing, 0, r->node_count * sizeof *missing);
    for (uint32_t e = 0; e < offsets[r->node_count]; e++)
        missing[targets[e]]++;
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->node_count; i++)
        if (!missing[i]) queue[count++] = i;
    for (uint32_t done = 0; done < count; done++)
        for (uint32_t e = offsets[queue[done]]; e < offsets[queue[done] + 1];
             e++)
            if (!--missing[targets[e]]) queue[count++] = targets[e];
    return count;
}

// The node that stands for a helper in the total order.
static uint32_t ts__settle_owner(const ts_replay *r, uint32_t node)
{
    const uint32_t first = r->op_count + r->call_count;
    if (node < first || node >= r->join_first) return node;
    return ((const uint32_t *)r->waiters.data)[node - first];
}

static bool ts__settle_doubts(const ts_replay *r, uint32_t from, uint32_t to,
                              uint8_t kind, ts__doubt doubt)
{
    if (doubt == TS__DOUBT_GUESS) return kind & TS_EDGE_INFERRED;
    if (kind & TS__EDGE_NAMED ||
        (kind & (uint8_t)~TS_EDGE_FROM_START) == TS_EDGE_SELF)
        return false;
    const int64_t time = kind & TS_EDGE_FROM_START ? ts__replay_time(r)[from]
                                                   : ts__replay_end(r, from);
    const int64_t then = ts__replay_time(r)[to];
    if (doubt == TS__DOUBT_LATER) return time > then;
    return time == then && ts__settle_owner(r, from) >= ts__settle_owner(r, to);
}

// Leaves out the doubtful edges between nodes that miss something.
static void ts__settle_drop(ts_replay *r, const uint32_t *missing,
                            ts__doubt doubt)
{
    uint32_t *const offsets = (uint32_t *)r->offsets.data;
    uint32_t *const targets = (uint32_t *)r->targets.data;
    uint8_t *const kinds = (uint8_t *)r->kinds.data;
    uint32_t kept = 0, first = 0;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const uint32_t end = offsets[i + 1];
        for (uint32_t e = first; e < end; e++) {
            if (missing[i] &&
                ts__settle_doubts(r, i, targets[e], kinds[e], doubt)) {
                r->stats.contradicted += doubt != TS__DOUBT_GUESS;
                continue;
            }
            targets[kept] = targets[e];
            kinds[kept++] = kinds[e];
        }
        first = end;
        offsets[i + 1] = kept;
    }
    r->targets.count = r->kinds.count = kept;
}

/*
    Whether every edge goes forward in time or, at one moment, in the total
    order of owners, which no circle can do. (From an owner to its own end it
    goes to what is later by definition.) Most graphs are like that.
*/
static bool ts__settle_is_plain(const ts_replay *r)
{
    const uint32_t *const offsets = (const uint32_t *)r->offsets.data;
    const uint32_t *const targets = (const uint32_t *)r->targets.data;
    const uint8_t *const kinds = (const uint8_t *)r->kinds.data;
    const int64_t *const time = ts__replay_time(r);
    for (uint32_t i = 0; i < r->node_count; i++) {
        const int64_t end = ts__replay_end(r, i);
        const uint32_t owner = ts__settle_owner(r, i);
        for (uint32_t e = offsets[i]; e < offsets[i + 1]; e++) {
            const int64_t at = kinds[e] & TS_EDGE_FROM_START ? time[i] : end;
            const int64_t then = time[targets[e]];
            if (at < then) continue;
            if (at > then) return false;
            const uint32_t other = ts__settle_owner(r, targets[e]);
            if (owner > other || (owner == other && i >= targets[e]))
                return false;
        }
    }
    return true;
}

static bool ts__replay_settle(ts_replay *r)
{
    ts__rvec missing = { 0 }, queue = { 0 };
    const size_t size = sizeof(uint32_t);
    const bool plain = ts__settle_is_plain(r);
    const bool ok =
        plain ||
        (ts__rvec_reserve(&r->allocator, &missing, size, r->node_count) &&
         ts__rvec_reserve(&r->allocator, &queue, size, r->node_count));
    for (int doubt = plain ? TS__DOUBT_ORDER + 1 : TS__DOUBT_GUESS;
         ok && doubt <= TS__DOUBT_ORDER; doubt++) {
        if (ts__settle_count(r, (uint32_t *)missing.data,
                             (uint32_t *)queue.data) == r->node_count)
            break;
        ts__settle_drop(r, (const uint32_t *)missing.data, (ts__doubt)doubt);
    }
    for (size_t e = 0; e < r->kinds.count; e++)
        ((uint8_t *)r->kinds.data)[e] &= (uint8_t)~TS__EDGE_NAMED;
    ts__rvec_close(&r->allocator, &missing);
    ts__rvec_close(&r->allocator, &queue);
    return ok;
}

static void ts__builder_close(ts__builder *b)
{
    ts__rvec_close(b->allocator, &b->edges);
    ts__rvec_close(b->allocator, &b->lanes);
    ts__rvec_close(b->allocator, &b->groups);
    ts__rvec_close(b->allocator, &b->group_of.entries);
    for (size_t i = 0; i < b->event_of.count; i++)
        ts__rvec_close(b->allocator,
                       &((ts__rmap *)b->event_of.data + i)->entries);
    ts__rvec_close(b->allocator, &b->event_of);
    ts__rvec_close(b->allocator, &b->only);
    ts__rvec_close(b->allocator, &b->silent);
    ts__rvec_close(b->allocator, &b->asks);
    ts__rvec_close(b->allocator, &b->steps);
    ts__rvec_close(b->allocator, &b->hardware);
    ts__rvec_close(b->allocator, &b->named);
    ts__rsort_close(b->allocator, &b->sort);
}

static bool ts__builder_edges(ts__builder *b)
{
    if (!ts__builder_lanes(b) || !ts__builder_name_records(b) ||
        !ts__builder_defy(b))
        return false;
    ts__graphs graphs = { 0 };
    ts__builder_meetings(b);
    ts__builder_hosts(b);
    if (!b->failed) ts__graphs_find(b, &graphs);
    if (!b->failed) ts__builder_launches(b, &graphs);
    if (!b->failed) ts__builder_streams(b, &graphs);
    ts__graphs_close(b, &graphs);
    size_t count = 0;
    if (b->failed || !ts__builder_order(b, &count)) return false;
    for (size_t i = 0; i < count && !b->failed; i++)
        ts__builder_step(b, ts__rsort_index(&b->sort)[i]);
    if (!b->failed) ts__builder_users(b);
    if (!b->failed) ts__builder_turns(b);
    if (!b->failed) ts__builder_infer(b);
    return !b->failed;
}

static ts_result ts__replay_build(ts_replay *r)
{
    ts__builder b = { 0 };
    b.replay = r;
    b.allocator = &r->allocator;
    ts_result result = TS_ERR_MEMORY;
    // Most nodes have one edge that matters, and most calls two.
    const size_t edges =
        (size_t)r->node_count + r->op_count / 4 + r->call_count;
    if (ts__rvec_reserve(b.allocator, &b.edges, sizeof(ts__edge), edges) &&
        ts__builder_edges(&b))
        result = b.edges.count >= UINT32_MAX || r->node_count >= UINT32_MAX
                     ? TS_ERR_UNSUPPORTED
                 : ts__edges_pack(&r->allocator, &b.edges, r->node_count,
                                  &r->offsets, &r->targets, &r->kinds)
                     ? TS_OK
                     : TS_ERR_MEMORY;
    ts__builder_close(&b);
    if (result == TS_OK && !ts__replay_settle(r)) result = TS_ERR_MEMORY;
    return result;
}

/* ---- 10.25 Replay: selection --------------------------------------------- */

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
    // A moment touches [from, to) if it lies in it.
    const int64_t start = ts__replay_time(r)[op], end = ts__replay_end(r, op);
    const bool touches =
        start < desc->to_ns && (end > desc->from_ns || start >= desc->from_ns);
    return touches ? TS_SKIP_NOT : TS_SKIP_TIME;
}

static bool ts__replay_choose(ts_replay *r, const ts_replay_desc *desc)
{
    ts__rvec device_chosen = { 0 };
    if (!ts__rvec_fill(&r->allocator, &device_chosen, sizeof(bool),
                       r->lanes.count, 0))
        return false;
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
        ts__op *const op = ts__replay_op(r, i);
        op->skip = (uint8_t)ts__replay_skip(r, desc, i, chosen);
        if (op->skip == TS_SKIP_NOT && desc->choose)
            op->skip = (uint8_t)desc->choose(r, i, desc->choose_user);
        if (op->skip == TS_SKIP_NOT)
            ts__replay_flags(r)[i] |= TS__NODE_SELECTED;
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

// Calls that launched nothing go with their thread, or with everything.
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
        if (ts__replay_flags(r)[i] & TS__NODE_ALONE &&
            chosen[ts__replay_lanes(r)[i]])
            ts__replay_flags(r)[i] |= TS__NODE_SELECTED;
    ts__rvec_close(&r->allocator, &threads);
    return true;
}

// The calls of the selected operations, and the ends of both.
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

// Joins lead to later joins, to operations and to ends: going backwards,
// what a join leads to is known when its turn comes.
static void ts__replay_select_joins(ts_replay *r)
{
    for (uint32_t i = r->node_count; i-- > r->join_first;) {
        const uint32_t end = ts__replay_offsets(r)[i + 1];
        for (uint32_t e = ts__replay_offsets(r)[i]; e < end; e++)
            if (ts__replay_selected(r, ts__replay_target(r, e)))
                ts__replay_flags(r)[i] |= TS__NODE_SELECTED;
    }
}

// Where the rest of the world does not exist, a join of nothing is nothing.
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

// All edges turned round: sources[offsets[n]...] are what n depends on.
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
    ts__replay_op(r, node)->skip = TS_SKIP_NOT;
    r->stats.added++;
    return true;
}

// Selects all that the selection depends on. The end of what is selected
// counts as selected, so what a wait waits for is among it.
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

/* ---- 10.25.1 Replay: what a node waited for ------------------------------ */

// The node from which each edge comes.
static inline bool ts__replay_sources(const ts_replay *r, ts__rvec *sources)
{
    if (!ts__rvec_reserve(&r->allocator, sources, sizeof(uint32_t),
                          r->targets.count))
        return false;
    for (uint32_t i = 0; i < r->node_count; i++)
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++)
            ((uint32_t *)sources->data)[e] = i;
    sources->count = r->targets.count;
    return true;
}

/*
    The edge into each node that was satisfied last in the record, or
    TS_NODE_NONE: what it waited for. Of edges of one moment: what is recorded
    before what is inferred, then in the order of ts_edge_kind, then of the
    sources. binding[node] is the number of an edge.
*/
static inline bool ts__replay_bindings(const ts_replay *r, ts__rvec *binding)
{
    ts__rvec latest = { 0 };
    if (!ts__rvec_fill(&r->allocator, binding, sizeof(uint32_t), r->node_count,
                       0xFF) ||
        !ts__rvec_reserve(&r->allocator, &latest, sizeof(int64_t),
                          r->node_count))
        return false;
    uint32_t *const bound = (uint32_t *)binding->data;
    int64_t *const time = (int64_t *)latest.data;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const int64_t start = ts__replay_time(r)[i];
        const int64_t end = ts__replay_end(r, i);
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++) {
            const uint8_t kind = ts__replay_kind(r, e);
            const uint32_t to = ts__replay_target(r, e);
            const int64_t at = kind & TS_EDGE_FROM_START ? start : end;
            const bool none = bound[to] == TS_NODE_NONE;
            const uint8_t rank = kind & (uint8_t)~TS_EDGE_FROM_START;
            const uint8_t other = none ? 0
                                       : ts__replay_kind(r, bound[to]) &
                                             (uint8_t)~TS_EDGE_FROM_START;
            if (!none && (at < time[to] || (at == time[to] && rank >= other)))
                continue;
            bound[to] = e;
            time[to] = at;
        }
    }
    ts__rvec_close(&r->allocator, &latest);
    return true;
}
