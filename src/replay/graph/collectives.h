/* ---- Graph: collectives and point-to-point ------------------------------ */

// Lists the members of every rendezvous, in total order.
static bool ts__rendezvous_all(ts_replay *r)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < r->rendezvous.count; i++) {
        ts__rendezvous *const m = (ts__rendezvous *)r->rendezvous.data + i;
        m->first = sum;
        sum += m->count;
        m->count = 0;
    }
    if (!ts__rvec_reserve(&r->allocator, &r->members, sizeof(uint32_t), sum))
        return false;
    for (size_t i = 0; i < r->member_rendezvous.count; i++) {
        const ts__rendezvous_member *const entry =
            (const ts__rendezvous_member *)r->member_rendezvous.data + i;
        ts__rendezvous *const m =
            (ts__rendezvous *)r->rendezvous.data + entry->rendezvous;
        ((uint32_t *)r->members.data)[m->first + m->count++] = entry->op;
    }
    r->members.count = sum;
    return true;
}

// Returns the latest arrival, and sets m->cost to the member with the shortest
// duration. A member that ended before the latest arrival did not wait for it
// and cannot serve as a measure.
static int64_t ts__rendezvous_measure(const ts_replay *r, ts__rendezvous *m)
{
    const uint32_t *const members =
        (const uint32_t *)r->members.data + m->first;
    int64_t latest = ts__replay_time(r)[members[0]];
    for (uint32_t i = 1; i < m->count; i++) {
        const int64_t start = ts__replay_time(r)[members[i]];
        if (start > latest) latest = start;
    }
    const int64_t *const duration = ts__replay_duration(r);
    for (uint32_t i = 0; i < m->count; i++) {
        if (ts__replay_end(r, members[i]) < latest) continue;
        if (m->cost == TS_NODE_NONE || duration[members[i]] < duration[m->cost])
            m->cost = members[i];
    }
    return latest; // its own member ends no earlier, so that `cost` is set
}

// Returns whether a match by name and order is doubtful. Members of one
// collective end within the time that it takes once all have arrived.
static bool ts__rendezvous_doubted(const ts_replay *r, const ts__rendezvous *m)
{
    const uint32_t *const members =
        (const uint32_t *)r->members.data + m->first;
    int64_t first = ts__replay_end(r, members[0]), last = first;
    for (uint32_t i = 1; i < m->count; i++) {
        const int64_t end = ts__replay_end(r, members[i]);
        if (end < first) first = end;
        if (end > last) last = end;
    }
    return m->guessed && last - first > ts__replay_duration(r)[m->cost];
}

static void ts__builder_rendezvous(ts__builder *b, uint32_t index)
{
    ts_replay *const r = b->replay;
    ts__rendezvous *const m = (ts__rendezvous *)r->rendezvous.data + index;
    const int64_t latest = ts__rendezvous_measure(r, m);
    r->stats.rendezvous_guessed += ts__rendezvous_doubted(r, m);
    uint32_t *const joined =
        (uint32_t *)ts__rvec_push(b->allocator, &r->joined, sizeof *joined);
    if (joined) *joined = index;
    m->join = r->node_count;
    if (!joined || !ts__node_push(r, latest, ts__replay_duration(r)[m->cost],
                                  ts__replay_lanes(r)[m->cost], 0)) {
        b->failed = true;
        return;
    }
    for (uint32_t i = 0; i < m->count; i++) {
        const uint32_t op = ((const uint32_t *)r->members.data)[m->first + i];
        ts__builder_edge(b, op, m->join,
                         (uint32_t)m->kind | TS_EDGE_FROM_START);
        // It ended before the last arrived: a root that only sends, or a wrong
        // match.
        if (ts__replay_end(r, op) < latest)
            r->stats.contradicted++;
        else
            ts__builder_edge(b, m->join, ts__replay_end_node(r, op), m->kind);
    }
}

// Adds the joins of all rendezvous. They are the first joins.
static void ts__builder_rendezvous_all(ts__builder *b)
{
    ts_replay *const r = b->replay;
    if (!ts__rendezvous_all(r)) b->failed = true;
    for (uint32_t i = 0; i < r->rendezvous.count && !b->failed; i++) {
        const ts__rendezvous *const m =
            (const ts__rendezvous *)r->rendezvous.data + i;
        r->stats.rendezvous++;
        r->stats.rendezvous_partial += m->count < m->expected;
        if (m->count > 1) ts__builder_rendezvous(b, i);
    }
}

// Returns the operation whose duration a join has; TS_NODE_NONE: the join has
// no duration.
static inline uint32_t ts__replay_cost_of(const ts_replay *r, uint32_t join)
{
    const size_t at = (size_t)join - r->join_first;
    if (join < r->join_first || at >= r->joined.count) return TS_NODE_NONE;
    const uint32_t rendezvous = ((const uint32_t *)r->joined.data)[at];
    return ((const ts__rendezvous *)r->rendezvous.data + rendezvous)->cost;
}
