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

/* ---- Graph: cycles of the record ---------------------------------------- */

/*
    Edges may form cycles, because clocks of host and device disagree, numbers
    are reused, or events are recorded after the wait that found them. Edges of
    a cycle are then left out: first inferred ones, then those that the record
    contradicts, then those between equal times that go against the total order.
    Only a cycle through a record that a wait names can remain. It is reported.
*/
typedef enum ts__doubt {
    TS__DOUBT_GUESS, // an inferred edge
    TS__DOUBT_LATER, // the source came later than the target
    TS__DOUBT_ORDER  // same time, but the source is behind in the total order
} ts__doubt;

// Sorts nodes topologically. missing[node] becomes the number of its sources
// that were not reached. Returns how many nodes are neither in a cycle nor
// behind one.
static uint32_t ts__topological_sort(const ts_replay *r, uint32_t *missing,
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

// Returns the node that represents a node in the total order: the owner of an
// end.
static uint32_t ts__node_owner(const ts_replay *r, uint32_t node)
{
    const uint32_t first = r->op_count + r->call_count;
    if (node < first || node >= r->join_first) return node;
    return ((const uint32_t *)r->waiters.data)[node - first];
}

static bool ts__edge_is_doubtful(const ts_replay *r, uint32_t from, uint32_t to,
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
    return time == then && ts__node_owner(r, from) >= ts__node_owner(r, to);
}

// Leaves out edges of one class of doubt between nodes that were not reached.
static void ts__cycles_drop_edges(ts_replay *r, const uint32_t *missing,
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
                ts__edge_is_doubtful(r, i, targets[e], kinds[e], doubt)) {
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
    Returns whether every edge goes forward in time, or at equal times in the
    total order of owners. (An edge from a node to its own end goes forward by
    definition.) Such a graph, as most are, has no cycle.
*/
static bool ts__edges_go_forward(const ts_replay *r)
{
    const uint32_t *const offsets = (const uint32_t *)r->offsets.data;
    const uint32_t *const targets = (const uint32_t *)r->targets.data;
    const uint8_t *const kinds = (const uint8_t *)r->kinds.data;
    const int64_t *const time = ts__replay_time(r);
    for (uint32_t i = 0; i < r->node_count; i++) {
        const int64_t end = ts__replay_end(r, i);
        const uint32_t owner = ts__node_owner(r, i);
        for (uint32_t e = offsets[i]; e < offsets[i + 1]; e++) {
            const int64_t at = kinds[e] & TS_EDGE_FROM_START ? time[i] : end;
            const int64_t then = time[targets[e]];
            if (at < then) continue;
            if (at > then) return false;
            const uint32_t other = ts__node_owner(r, targets[e]);
            if (owner > other || (owner == other && i >= targets[e]))
                return false;
        }
    }
    return true;
}

static bool ts__replay_drop_cycles(ts_replay *r)
{
    ts__rvec missing = { 0 }, queue = { 0 };
    const size_t size = sizeof(uint32_t);
    const bool plain = r->acyclic = ts__edges_go_forward(r);
    const bool ok =
        plain ||
        (ts__rvec_reserve(&r->allocator, &missing, size, r->node_count) &&
         ts__rvec_reserve(&r->allocator, &queue, size, r->node_count));
    for (int doubt = plain ? TS__DOUBT_ORDER + 1 : TS__DOUBT_GUESS;
         ok && doubt <= TS__DOUBT_ORDER; doubt++) {
        if (ts__topological_sort(r, (uint32_t *)missing.data,
                                 (uint32_t *)queue.data) == r->node_count) {
            r->acyclic = true;
            break;
        }
        ts__cycles_drop_edges(r, (const uint32_t *)missing.data,
                              (ts__doubt)doubt);
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
    ts__rvec_close(b->allocator, &b->unnamed_records);
    ts__rvec_close(b->allocator, &b->event_queries);
    ts__rvec_close(b->allocator, &b->steps);
    ts__rvec_close(b->allocator, &b->hardware);
    ts__rvec_close(b->allocator, &b->named);
    ts__rsort_close(b->allocator, &b->sort);
}

static bool ts__builder_edges(ts__builder *b)
{
    if (!ts__builder_lanes(b) || !ts__builder_name_records(b) ||
        !ts__builder_non_blocking(b))
        return false;
    ts__graphs graphs = { 0 };
    ts__builder_rendezvous_all(b);
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
    if (!b->failed) ts__builder_alternations(b);
    if (!b->failed) ts__builder_infer(b);
    if (!b->failed) ts__builder_unmet(b);
    return !b->failed;
}

static ts_result ts__replay_build(ts_replay *r)
{
    ts__builder b = { 0 };
    b.replay = r;
    b.allocator = &r->allocator;
    ts_result result = TS_ERR_MEMORY;
    // Most nodes have one relevant edge, and most calls two.
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
    if (result == TS_OK && !ts__replay_drop_cycles(r)) result = TS_ERR_MEMORY;
    return result;
}
