/* ---- Graph: edges that the source names --------------------------------- */

// A node and the correlation that refers to it.
typedef struct ts__numbered {
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

static size_t ts__user_find(const ts__rvec *list, const ts__numbered *key)
{
    const ts__numbered *const all = (const ts__numbered *)list->data;
    size_t low = 0, high = list->count;
    while (low < high)
        ts__halve(&low, &high,
                  ts__numbered_compare(&all[ts__middle(low, high)], key) < 0);
    return low;
}

// Finds the nodes of a correlation: its operations, or else its calls, which
// are sorted behind them.
static const ts__numbered *ts__user_nodes(const ts_replay *r,
                                          const ts__rvec *list, uint32_t file,
                                          uint64_t number, size_t *count)
{
    const ts__numbered *const all = (const ts__numbered *)list->data;
    ts__numbered key = { number, file, 0 };
    const size_t first = ts__user_find(list, &key);
    key.node = first < list->count && all[first].number == number &&
                       all[first].node < r->op_count
                   ? r->op_count
                   : UINT32_MAX;
    *count = ts__user_find(list, &key) - first;
    return all + first;
}

/*
    Adds an edge from the end of a node, unless the record shows that the target
    began before. If the source is a call, the target may begin while the call
    still runs: then the edge is from its start. If the target is a host wait,
    the edge leads to its end.
*/
static void ts__user_edge(ts__builder *b, uint32_t from, uint32_t to)
{
    ts_replay *const r = b->replay;
    const int64_t start = ts__replay_time(r)[to];
    const uint32_t end = ts__replay_end_node(r, to);
    if (from == to) return;
    if (end != to && ts__replay_end(r, from) <= ts__replay_end(r, to))
        ts__builder_edge(b, from, end, TS_EDGE_SYNC);
    else if (ts__replay_end(r, from) <= start)
        ts__builder_edge(b, from, to, TS_EDGE_USER);
    else if (from >= r->op_count && from < r->join_first &&
             ts__replay_time(r)[from] <= start)
        ts__builder_edge(b, from, to, TS_EDGE_USER | TS_EDGE_FROM_START);
    else
        r->stats.contradicted++;
}

// Adds a dependency of many nodes on many nodes, through a join, so that there
// are no more edges than nodes.
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

/*
    Correlations that more than a few nodes share get two joins: one of the
    sources of their nodes, and one of their nodes, which is extended from
    dependency to dependency. So the number of edges is at most the number of
    nodes plus that of dependencies.
*/
enum { TS__USER_FEW = 8 };

// The nodes of a correlation, and the join of their sources.
typedef struct ts__user_entry {
    const ts__numbered *to;
    size_t to_count;
    ts__join join;
} ts__user_entry;

typedef struct ts__user_many {
    const ts__numbered *from;
    size_t from_count, entry;
    int64_t before; // earliest start of the targets
} ts__user_many;

static int ts__user_compare(const void *left, const void *right)
{
    const ts__user_many *const a = (const ts__user_many *)left;
    const ts__user_many *const b = (const ts__user_many *)right;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    if (a->before != b->before) return a->before < b->before ? -1 : 1;
    return (a->entry > b->entry) - (a->entry < b->entry);
}

typedef struct ts__user_end {
    int64_t end;
    uint32_t node;
} ts__user_end;

static int ts__user_end_compare(const void *left, const void *right)
{
    const ts__user_end *const a = (const ts__user_end *)left;
    const ts__user_end *const b = (const ts__user_end *)right;
    if (a->end != b->end) return a->end < b->end ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

// Notes a dependency. Those with the same `to` must be consecutive.
static void ts__user_note(ts__builder *b, ts__rvec *entries, ts__rvec *many,
                          const ts__user_many *dep, const ts__numbered *to,
                          size_t to_count)
{
    const int64_t *const time = ts__replay_time(b->replay);
    ts__user_entry *entry = (ts__user_entry *)entries->data;
    if (!entries->count || entry[entries->count - 1].to != to) {
        entry = (ts__user_entry *)ts__rvec_push(b->allocator, entries,
                                                sizeof *entry);
        if (!entry) {
            b->failed = true;
            return;
        }
        const ts__join none = { TS_NODE_NONE, false, time[to[0].node],
                                TS_EDGE_USER };
        entry->to = to;
        entry->to_count = to_count;
        entry->join = none;
        for (size_t i = 1; i < to_count; i++)
            if (time[to[i].node] < entry->join.before)
                entry->join.before = time[to[i].node];
    } else {
        entry += entries->count - 1;
    }
    ts__user_many *const one =
        (ts__user_many *)ts__rvec_push(b->allocator, many, sizeof *one);
    if (!one) {
        b->failed = true;
        return;
    }
    *one = *dep;
    one->entry = entries->count - 1;
    one->before = entry->join.before;
}

// The nodes of a correlation as a source: a join of those that ended so far.
typedef struct ts__user_source {
    ts__rvec ends; // ts__user_end, sorted
    size_t done;
    ts__join join;
} ts__user_source;

static void ts__user_source_open(ts__builder *b, ts__user_source *source,
                                 const ts__user_many *dep)
{
    source->done = 0;
    source->join.node = TS_NODE_NONE;
    if (!ts__rvec_reserve(b->allocator, &source->ends, sizeof(ts__user_end),
                          dep->from_count)) {
        b->failed = true;
        return;
    }
    ts__user_end *const ends = (ts__user_end *)source->ends.data;
    for (size_t i = 0; i < dep->from_count; i++) {
        ends[i].node = dep->from[i].node;
        ends[i].end = ts__replay_end(b->replay, ends[i].node);
    }
    source->ends.count = dep->from_count;
    qsort(ends, dep->from_count, sizeof *ends, ts__user_end_compare);
}

static uint32_t ts__user_source_until(ts__builder *b, ts__user_source *source,
                                      int64_t before)
{
    const ts__user_end *const ends = (const ts__user_end *)source->ends.data;
    const size_t count = source->ends.count;
    if (source->done < count && ends[source->done].end <= before) {
        ts__join next = { TS_NODE_NONE, false, before, TS_EDGE_USER };
        ts__join_add(b, &next, source->join.node);
        while (source->done < count && ends[source->done].end <= before &&
               !b->failed)
            ts__join_add(b, &next, ends[source->done++].node);
        source->join = next;
    }
    b->replay->stats.contradicted += count - source->done;
    return source->join.node;
}

static void ts__user_many_edges(ts__builder *b, ts__user_entry *entry,
                                const ts__user_many *dep,
                                ts__user_source *source)
{
    if (dep->from_count <= TS__USER_FEW) {
        for (size_t i = 0; i < dep->from_count && !b->failed; i++)
            ts__join_add(b, &entry->join, dep->from[i].node);
        return;
    }
    const uint32_t node = ts__user_source_until(b, source, dep->before);
    if (node == TS_NODE_NONE) return;
    if (entry->to_count > TS__USER_FEW) {
        ts__join_add(b, &entry->join, node);
        return;
    }
    for (size_t i = 0; i < entry->to_count; i++)
        if (node != entry->to[i].node)
            ts__builder_edge(b, node, entry->to[i].node, TS_EDGE_USER);
}

static void ts__builder_many(ts__builder *b, const ts__rvec *entries,
                             const ts__rvec *many)
{
    ts__user_many *const deps = (ts__user_many *)many->data;
    ts__user_entry *const all = (ts__user_entry *)entries->data;
    ts__user_source source = { { 0 }, 0, { 0 } };
    if (many->count) qsort(deps, many->count, sizeof *deps, ts__user_compare);
    for (size_t i = 0; i < many->count && !b->failed; i++) {
        if (deps[i].from_count > TS__USER_FEW &&
            (!i || deps[i].from != deps[i - 1].from))
            ts__user_source_open(b, &source, &deps[i]);
        if (!b->failed)
            ts__user_many_edges(b, &all[deps[i].entry], &deps[i], &source);
    }
    for (size_t i = 0; i < entries->count && !b->failed; i++)
        for (size_t k = 0;
             k < all[i].to_count && all[i].join.node != TS_NODE_NONE; k++)
            if (all[i].join.node != all[i].to[k].node)
                ts__builder_edge(b, all[i].join.node, all[i].to[k].node,
                                 TS_EDGE_USER);
    ts__rvec_close(b->allocator, &source.ends);
}

static void ts__builder_users(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    ts__rvec list = { 0 }, entries = { 0 }, many = { 0 };
    if (r->deps_named.count && !ts__user_numbers(b, &list)) b->failed = true;
    for (size_t i = 0; i < r->deps_named.count && !b->failed; i++) {
        const ts__named_dep *const dep =
            (const ts__named_dep *)r->deps_named.data + i;
        size_t to_count;
        ts__user_many one = { 0 };
        one.from =
            ts__user_nodes(r, &list, dep->file, dep->from, &one.from_count);
        const ts__numbered *const to =
            ts__user_nodes(r, &list, dep->file, dep->to, &to_count);
        if (one.from_count <= TS__USER_FEW && to_count <= TS__USER_FEW)
            ts__user_dependency(b, one.from, one.from_count, to, to_count);
        else if (one.from_count && to_count && dep->from != dep->to)
            ts__user_note(b, &entries, &many, &one, to, to_count);
    }
    ts__builder_many(b, &entries, &many);
    ts__rvec_close(b->allocator, &list);
    ts__rvec_close(b->allocator, &entries);
    ts__rvec_close(b->allocator, &many);
}
