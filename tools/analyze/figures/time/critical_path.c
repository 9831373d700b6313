/*
    critical_path.c - the critical path by name, by zone, and without its costs
*/
#include "tools/analyze/figures/time/critical_path.h"

typedef struct path_walk {
    path_result *r;
    const ts_replay *replay;
    names_index *names;
    path_zone zone;
    void *user;
    inside_span *spans; // host spans whose zones are needed
    size_t span_count;
    uint32_t *others; // see inside_others
    uint32_t *place;  // index among the longest parts, plus 1, by part; 0: none
    hold_tally tally; // tally of the longest parts
    // Bits by operation or call: the keys under which it was counted.
    uint16_t *counted;
    bool failed;
} path_walk;

static void add_zone(path_walk *w, uint32_t group, int64_t ns, size_t part)
{
    if (!sums_add(&w->r->zones, group, ns, part)) w->failed = true;
}

// Returns the group of the operation or call of a part.
static uint32_t group_of(path_walk *w, const ts_node *node)
{
    if (node->owner < w->names->op_count) return w->names->of[node->owner];
    const uint32_t group =
        names_add(w->names, w->replay, node->file, TS_EVENT_API_CALL,
                  node->type == TS_NODE_JOIN ? 0 : node->name);
    if (group == TS_NODE_NONE) w->failed = true;
    return group;
}

// Adds a part by name. An operation or call may have several parts on the path.
static void add_name(path_walk *w, uint32_t index, const ts_node *owner,
                     size_t part)
{
    const ts_path_part *const p = &w->r->parts[part];
    const bool before = path_before(p, owner);
    const uint32_t group =
        path_unrecorded(p) ? TS_NODE_NONE : group_of(w, owner);
    const uint64_t key = path_key(group, p->cost, before);
    const uint16_t bit = (uint16_t)(1u << (2 * p->cost + before));
    const bool known = w->counted[index] & bit;
    w->counted[index] |= bit;
    if (!(known ? sums_extend : sums_add)(&w->r->names, key,
                                          p->end_ns - p->start_ns, part))
        w->failed = true;
}
_Static_assert(2 * TS_COST_LIMIT <= 16, "a bit for each key");

// Looks up the zones of a thread. launched: at the time of a launch, which
// decides for the whole part.
static void query_host(path_walk *w, const ts_node *call, int64_t from,
                       int64_t to, size_t part, bool launched)
{
    const uint32_t other =
        launched ? 0 : w->others[call->owner - w->names->op_count];
    const inside_span span = { call->file, call->track,         from,
                               to,         2 * part + launched, other };
    w->spans[w->span_count++] = span;
}

// Adds a part to the zone that its operation recorded.
static void take_known(path_walk *w, uint32_t zone, int64_t ns, size_t part)
{
    add_zone(w, zone, ns, part);
    if (w->place[part] && zone != TS_NODE_NONE &&
        !sums_add(&w->tally.open, (uint64_t)(w->place[part] - 1) << 32 | zone,
                  ns, 0))
        w->failed = true;
}

// Adds a part on a device: to the zone its operation recorded, else to that of
// its call.
static void take_operation(path_walk *w, uint32_t index, int64_t ns,
                           size_t part)
{
    ts_operation op;
    ts_node call;
    const uint32_t zone = w->zone ? w->zone(w->user, index) : TS_NODE_NONE;
    if (zone == TS_NODE_NONE && ts_replay_operation(w->replay, index, &op) &&
        ts_replay_node(w->replay, op.call, &call) && call.track)
        query_host(w, &call, call.recorded_ns, call.recorded_ns + 1, part,
                   true);
    else
        take_known(w, zone, ns, part);
}

// Adds host time before a call to the zone of the host.
static void add_host(path_walk *w, uint32_t zone, int64_t ns, size_t part)
{
    const ts_path_part *const p = &w->r->parts[part];
    ts_node node, owner;
    add_zone(w, zone, ns, part);
    if (ts_replay_node(w->replay, p->node, &node) &&
        ts_replay_node(w->replay, node.owner, &owner) &&
        path_of_host(p, &owner) &&
        !sums_add(&w->r->names, path_key(zone, p->cost, true), ns, part))
        w->failed = true;
}

// Returns the call of an operation; a node of another type if it is unknown.
static ts_node call_of(const path_walk *w, uint32_t operation)
{
    ts_operation op;
    ts_node call = { .type = TS_NODE_JOIN };
    if (ts_replay_operation(w->replay, operation, &op))
        ts_replay_node(w->replay, op.call, &call);
    return call;
}

static void take_part(path_walk *w, size_t index)
{
    const ts_path_part *const p = &w->r->parts[index];
    const int64_t ns = p->end_ns - p->start_ns;
    ts_node node, owner;
    if (!ts_replay_node(w->replay, p->node, &node) ||
        !ts_replay_node(w->replay, node.owner, &owner)) {
        add_zone(w, TS_NODE_NONE, ns, index);
        return;
    }
    const bool host = path_of_host(p, &owner);
    ts_node call = owner;
    if (host && owner.type == TS_NODE_OPERATION) call = call_of(w, node.owner);
    if (!host) add_name(w, node.owner, &owner, index);
    if (owner.type == TS_NODE_OPERATION && !host)
        take_operation(w, node.owner, ns, index);
    else if (call.type == TS_NODE_CALL && call.track)
        query_host(w, &call, p->start_ns, p->end_ns, index, false);
    else
        add_host(w, TS_NODE_NONE, ns, index);
}

static void take_host(void *user, const inside_span *span, int64_t from,
                      int64_t to, const inside_frame *frames, uint32_t depth)
{
    path_walk *const w = user;
    const size_t part = span->index / 2;
    const ts_path_part *const p = &w->r->parts[part];
    const inside_frame *const f = inside_zone(frames, depth);
    uint32_t group = TS_NODE_NONE;
    if (w->failed) return;
    if (f) {
        group =
            names_add(w->names, w->replay, span->file, TS_EVENT_ZONE, f->id);
        if (group == TS_NODE_NONE) w->failed = true;
    }
    const bool launched = span->index & 1;
    const int64_t ns = launched ? p->end_ns - p->start_ns : to - from;
    (launched ? add_zone : add_host)(w, group, ns, part);
    if (!w->place[part]) return;
    inside_span longest = *span;
    longest.index = w->place[part] - 1;
    w->failed |= !hold_note(&w->tally, &longest, ns, frames, depth);
}

/* ---- Order --------------------------------------------------------------- */

typedef struct path_rank {
    int64_t ns;
    uint32_t part;
} path_rank;

static int longer_first(const void *left, const void *right)
{
    const path_rank *const a = left, *const b = right;
    if (a->ns != b->ns) return a->ns > b->ns ? -1 : 1;
    return (a->part > b->part) - (a->part < b->part);
}

// Sorts the longest parts. Parts that exceed the last of the `most` longest are
// buffered at the end of the list until there are as many of them.
static bool sort_parts(path_result *r, size_t most)
{
    if (most > r->part_count) most = r->part_count;
    path_rank *const ranks = malloc((2 * most + 1) * sizeof *ranks);
    size_t count = 0;
    r->longest = malloc((most + 1) * sizeof *r->longest);
    for (uint32_t i = 0; ranks && r->longest && i < r->part_count; i++) {
        const path_rank one = { r->parts[i].end_ns - r->parts[i].start_ns, i };
        // A part must exceed the last of the sorted ones.
        if (!most || (r->longest_count && one.ns <= ranks[most - 1].ns))
            continue;
        ranks[count++] = one;
        if (count < 2 * most) continue;
        qsort(ranks, count, sizeof *ranks, longer_first);
        r->longest_count = count = most;
    }
    const bool ok = ranks && r->longest;
    if (ok && count) qsort(ranks, count, sizeof *ranks, longer_first);
    r->longest_count = count < most ? count : most;
    for (size_t i = 0; ok && i < r->longest_count; i++)
        r->longest[i] = ranks[i].part;
    free(ranks);
    return ok;
}

static bool copy_parts(path_result *r, ts_replay *replay, size_t most)
{
    ts_path path;
    if (ts_replay_path(replay, &path) != TS_OK) return false;
    r->parts = malloc((path.count + 1) * sizeof *r->parts);
    if (!r->parts) return false;
    if (path.count) // else there is nothing to copy
        memcpy(r->parts, path.parts, path.count * sizeof *r->parts);
    r->part_count = path.count;
    memcpy(r->cost_ns, path.cost_ns, sizeof r->cost_ns);
    r->bound = path.bound;
    for (int i = 0; i < TS_COST_LIMIT; i++)
        r->makespan_ns += r->cost_ns[i];
    return sort_parts(r, most);
}

// Finds the zones and calls of the longest parts.
static void take_holds(path_walk *w)
{
    path_result *const r = w->r;
    for (size_t i = 0; i < r->longest_count; i++) {
        const ts_path_part *const p = &r->parts[r->longest[i]];
        r->held[i].length_ns = p->end_ns - p->start_ns;
    }
    hold_choose(&w->tally, r->held, r->longest_count);
}

static bool open_walk(path_walk *w)
{
    path_result *const r = w->r;
    w->spans = malloc((r->part_count + 1) * sizeof *w->spans);
    w->place = calloc(r->part_count + 1, sizeof *w->place);
    w->others = inside_others(w->replay);
    w->counted = calloc((size_t)ts_replay_graph(w->replay).node_count + 1,
                        sizeof *w->counted);
    r->held = calloc(r->longest_count + 1, sizeof *r->held);
    if (!w->spans || !w->place || !w->others || !w->counted || !r->held)
        return false;
    for (size_t i = 0; i < r->longest_count; i++)
        w->place[r->longest[i]] = (uint32_t)i + 1;
    return true;
}

bool path_open(path_result *r, ts_replay *replay, names_index *names,
               path_zone zone, void *user, size_t most)
{
    memset(r, 0, sizeof *r);
    path_walk w = { .r = r,
                    .replay = replay,
                    .names = names,
                    .zone = zone,
                    .user = user,
                    .tally = { .replay = replay, .names = names } };
    bool ok = copy_parts(r, replay, most) && open_walk(&w);
    for (size_t i = 0; ok && i < r->part_count; i++)
        take_part(&w, i);
    ok = ok && inside_parts(replay, w.spans, w.span_count, take_host, &w) &&
         !w.failed;
    if (ok) take_holds(&w);
    free(w.spans);
    free(w.place);
    free(w.others);
    free(w.counted);
    sums_close(&w.tally.open);
    sums_sort(&r->names);
    sums_sort(&r->zones);
    return ok;
}

/* ---- Runs without a category --------------------------------------------- */

// Marks the operations whose costs are removed.
static void mark(const ts_replay *model, ts_cost cost, bool *operations)
{
    ts_operation op;
    for (size_t i = 0; ts_replay_operation(model, i, &op); i++)
        operations[i] = cost == TS_COST_COMPUTE ? op.kind == TS_EVENT_KERNEL
                        : cost == TS_COST_COPY  ? op.kind == TS_EVENT_MEMCPY ||
                                                     op.kind == TS_EVENT_MEMSET
                                               : op.kind == TS_EVENT_COLLECTIVE;
}

// Whether a category is the cost of operations, not of what is between them.
static bool is_of_operations(ts_cost cost)
{
    return cost == TS_COST_COMPUTE || cost == TS_COST_COPY ||
           cost == TS_COST_COMMUNICATION;
}

static bool change_for(ts_cost cost, const bool *operations, ts_change *change)
{
    const ts_ratio nothing = { 0, 1 };
    memset(change, 0, sizeof *change);
    change->factor = nothing;
    switch (cost) {
    case TS_COST_HOST: change->type = TS_CHANGE_HOST; return true;
    case TS_COST_LAUNCH: change->type = TS_CHANGE_NO_LAUNCH; return true;
    case TS_COST_COMPUTE:
    case TS_COST_COPY:
    case TS_COST_COMMUNICATION:
        change->type = TS_CHANGE_SCALE;
        change->operations = operations;
        return true;
    case TS_COST_SYNC:
        change->type = TS_CHANGE_CUT;
        change->edges = 1u << TS_EDGE_SYNC;
        return true;
    default: return false;
    }
}

bool path_without(path_result *r, ts_replay *model)
{
    const uint32_t count = ts_replay_graph(model).operation_count;
    bool *const operations = malloc(count + 1);
    bool ok = operations;
    for (int i = 0; ok && i < TS_COST_LIMIT; i++) {
        ts_change change;
        if (!r->cost_ns[i]) continue;
        if (is_of_operations((ts_cost)i)) mark(model, (ts_cost)i, operations);
        if (change_for((ts_cost)i, operations, &change))
            ok = model_run(model, &change, 1, &r->free[i]);
        // A run with less work may end later, because other work may come
        // first.
        if (r->free[i].makespan_ns > r->model.makespan_ns)
            r->free[i].makespan_ns = r->model.makespan_ns;
    }
    free(operations);
    return ok;
}

void path_close(path_result *r)
{
    sums_close(&r->names);
    sums_close(&r->zones);
    free(r->longest);
    free(r->parts);
    free(r->held);
    memset(r, 0, sizeof *r);
}
