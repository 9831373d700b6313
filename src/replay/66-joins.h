/* ---- 9.23.1 Replay: collectives and point-to-point ----------------------- */

// The members of every meeting, in total order.
static bool ts__meetings_list(ts_replay *r)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < r->meetings.count; i++) {
        ts__meeting *const m = (ts__meeting *)r->meetings.data + i;
        m->first = sum;
        sum += m->count;
        m->count = 0;
    }
    if (!ts__rvec_reserve(&r->allocator, &r->members, sizeof(uint32_t), sum))
        return false;
    for (size_t i = 0; i < r->met.count; i++) {
        const ts__met *const met = (const ts__met *)r->met.data + i;
        ts__meeting *const m = (ts__meeting *)r->meetings.data + met->meeting;
        ((uint32_t *)r->members.data)[m->first + m->count++] = met->op;
    }
    r->members.count = sum;
    return true;
}

// The last to arrive, and who had the least to do once all were there. Who
// ended before did not wait for the last: it is of no use as a measure.
static int64_t ts__meeting_measure(const ts_replay *r, ts__meeting *m)
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
    return latest; // its operation ends no earlier: there is a cost
}

static void ts__builder_meeting(ts__builder *b, uint32_t index)
{
    ts_replay *const r = b->replay;
    ts__meeting *const m = (ts__meeting *)r->meetings.data + index;
    const int64_t latest = ts__meeting_measure(r, m);
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
        // It ended without the last: a root that only sends, a wrong match.
        if (ts__replay_end(r, op) < latest)
            r->stats.contradicted++;
        else
            ts__builder_edge(b, m->join, ts__replay_end_node(r, op), m->kind);
    }
}

// Joins of meetings are the first of all joins.
static void ts__builder_meetings(ts__builder *b)
{
    ts_replay *const r = b->replay;
    if (!ts__meetings_list(r)) b->failed = true;
    for (uint32_t i = 0; i < r->meetings.count && !b->failed; i++) {
        const ts__meeting *const m = (const ts__meeting *)r->meetings.data + i;
        r->stats.meetings++;
        r->stats.meetings_partial += m->count < m->expected;
        if (m->count > 1) ts__builder_meeting(b, i);
    }
}

// The operation whose duration a join has; TS_NODE_NONE: it has none.
static inline uint32_t ts__replay_cost_of(const ts_replay *r, uint32_t join)
{
    const size_t at = (size_t)join - r->join_first;
    if (join < r->join_first || at >= r->joined.count) return TS_NODE_NONE;
    const uint32_t meeting = ((const uint32_t *)r->joined.data)[at];
    return ((const ts__meeting *)r->meetings.data + meeting)->cost;
}

// The meeting of a collective; NULL: it has met nobody.
static inline const ts__meeting *ts__replay_meeting(const ts_replay *r,
                                                    uint32_t op)
{
    const ts__met *const met = (const ts__met *)r->met.data;
    size_t low = 0, high = r->met.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (met[middle].op < op)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == r->met.count || met[low].op != op) return NULL;
    return (const ts__meeting *)r->meetings.data + met[low].meeting;
}

/* ---- 9.23.4 Replay: what the source says ---- */

typedef struct ts__numbered { // a node by the number that stands for it
    uint64_t number;
    uint32_t file, node;
} ts__numbered;

static int ts__numbered_compare(const void *left, const void *right)
{
    const ts__numbered *const a = (const ts__numbered *)left;
    const ts__numbered *const b = (const ts__numbered *)right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->number != b->number) return a->number < b->number ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

static bool ts__user_numbers(ts__builder *b, ts__rvec *list)
{
    const ts_replay *const r = b->replay;
    const uint32_t end = r->op_count + r->call_count;
    if (!ts__rvec_reserve(b->allocator, list, sizeof(ts__numbered), end))
        return false;
    for (uint32_t i = 0; i < end; i++) {
        const uint64_t number =
            i < r->op_count
                ? ts__replay_op(r, i)->correlation
                : ((const uint64_t *)r->call_numbers.data)[i - r->op_count];
        if (!number) continue;
        ts__numbered *const one =
            (ts__numbered *)ts__rvec_push(b->allocator, list, sizeof *one);
        if (!one) return false;
        one->number = number;
        one->file = ts__replay_file_of(r, i);
        one->node = i;
    }
    if (list->count)
        qsort(list->data, list->count, sizeof(ts__numbered),
              ts__numbered_compare);
    return true;
}

// The nodes of a number: operations, or else calls. They come in this order.
static const ts__numbered *ts__user_nodes(const ts_replay *r,
                                          const ts__rvec *list, uint32_t file,
                                          uint64_t number, size_t *count)
{
    const ts__numbered *const all = (const ts__numbered *)list->data;
    const ts__numbered wanted = { number, file, 0 };
    size_t low = 0, high = list->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ts__numbered_compare(&all[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *count = 0;
    for (size_t i = low; i < list->count; i++) {
        if (all[i].file != file || all[i].number != number ||
            (*count && all[low].node < r->op_count &&
             all[i].node >= r->op_count))
            break;
        ++*count;
    }
    return all + low;
}

/*
    After its end, unless the record shows that it began before. What a call
    is named for may begin while the call still runs: after its start, then.
*/
static void ts__user_edge(ts__builder *b, uint32_t from, uint32_t to)
{
    ts_replay *const r = b->replay;
    const int64_t start = ts__replay_time(r)[to];
    if (from == to) return;
    if (ts__replay_end(r, from) <= start)
        ts__builder_edge(b, from, to, TS_EDGE_USER);
    else if (from >= r->op_count && from < r->join_first &&
             ts__replay_time(r)[from] <= start)
        ts__builder_edge(b, from, to, TS_EDGE_USER | TS_EDGE_FROM_START);
    else
        r->stats.contradicted++;
}

// Many for many go through a join, so that edges are no more than nodes.
static void ts__user_dependency(ts__builder *b, const ts__numbered *from,
                                size_t from_count, const ts__numbered *to,
                                size_t to_count)
{
    ts_replay *const r = b->replay;
    if (from_count > 1 && to_count > 1) {
        int64_t before = ts__replay_time(r)[to[0].node];
        for (size_t i = 1; i < to_count; i++)
            if (ts__replay_time(r)[to[i].node] < before)
                before = ts__replay_time(r)[to[i].node];
        ts__join join = { TS_NODE_NONE, false, before, TS_EDGE_USER };
        for (size_t i = 0; i < from_count && !b->failed; i++)
            ts__join_add(b, &join, from[i].node);
        for (size_t i = 0; i < to_count && join.node != TS_NODE_NONE; i++)
            if (join.node != to[i].node)
                ts__builder_edge(b, join.node, to[i].node, TS_EDGE_USER);
        return;
    }
    for (size_t i = 0; i < from_count; i++)
        for (size_t k = 0; k < to_count; k++)
            ts__user_edge(b, from[i].node, to[k].node);
}

static void ts__builder_users(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    ts__rvec list = { 0 };
    if (r->deps_named.count && !ts__user_numbers(b, &list)) b->failed = true;
    for (size_t i = 0; i < r->deps_named.count && !b->failed; i++) {
        const ts__named_dep *const dep =
            (const ts__named_dep *)r->deps_named.data + i;
        size_t from_count, to_count;
        const ts__numbered *const from =
            ts__user_nodes(r, &list, dep->file, dep->from, &from_count);
        const ts__numbered *const to =
            ts__user_nodes(r, &list, dep->file, dep->to, &to_count);
        ts__user_dependency(b, from, from_count, to, to_count);
    }
    ts__rvec_close(b->allocator, &list);
}
