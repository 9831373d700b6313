/*
    ranks.c - which ranks wait for which in collectives
*/
#include "tools/analyze/figures/time/ranks.h"

#include "tools/analyze/figures/base/lanes.h"

enum { RANKS_STEPS = 256 }; // maximum steps back from a late collective

typedef struct ranks_member {
    uint32_t join, operation;
} ranks_member;

static int by_join(const void *left, const void *right)
{
    const ranks_member *const a = left, *const b = right;
    if (a->join != b->join) return a->join < b->join ? -1 : 1;
    return (a->operation > b->operation) - (a->operation < b->operation);
}

// Lists the members. Each has an edge to the join node of its rendezvous.
static ranks_member *list_members(const ts_replay *replay, size_t *count)
{
    const ts_graph g = ts_replay_graph(replay);
    ranks_member *members = NULL;
    size_t room = 0;
    ts_node node;
    *count = 0;
    for (uint32_t i = 0; i < g.operation_count; i++)
        for (uint32_t e = g.offsets[i]; e < g.offsets[i + 1]; e++) {
            const uint8_t kind = TS_EDGE_KIND(g.kinds[e]);
            if ((kind != TS_EDGE_COLLECTIVE && kind != TS_EDGE_P2P) ||
                !ts_replay_node(replay, g.targets[e], &node) ||
                node.type != TS_NODE_JOIN)
                continue;
            if (!cli_grow(&members, &room, *count + 1, sizeof *members)) {
                free(members);
                return NULL;
            }
            const ranks_member member = { g.targets[e], i };
            members[(*count)++] = member;
        }
    if (!members) return malloc(sizeof(ranks_member));
    qsort(members, *count, sizeof *members, by_join);
    return members;
}

static int64_t began_of(const ts_replay *replay, uint32_t file)
{
    ts_replay_file of;
    if (!ts_replay_file_at(replay, file, &of)) return 0;
    return of.offset_ns + ts_reader_info(of.reader)->first_ns;
}

static bool take_ranks(ranks_result *r, const ts_replay *replay)
{
    ts_lane device;
    r->rank_count = ts_replay_device_count(replay);
    r->ranks = calloc(r->rank_count + 1, sizeof *r->ranks);
    if (!r->ranks) return false;
    for (size_t i = 0; ts_replay_device(replay, i, &device); i++) {
        r->ranks[i].file = device.file;
        r->ranks[i].device = device.track;
        r->ranks[i].began_ns = began_of(replay, device.file);
    }
    return true;
}

// Takes arrivals and ends; waiting times follow when the last arrival is known.
static void take_members(ranks_rendezvous *m, const ts_replay *replay,
                         const lanes *l, const names_index *names,
                         const ranks_member *members, size_t count)
{
    int64_t first_end = INT64_MAX;
    ts_operation op;
    memset(m, 0, sizeof *m);
    m->first_ns = INT64_MAX;
    m->last_ns = m->end_ns = INT64_MIN;
    m->members = (uint32_t)count;
    m->group = names->of[members->operation];
    for (size_t i = 0; i < count; i++) {
        ts_replay_operation(replay, members[i].operation, &op);
        const int64_t start = op.recorded_start_ns, end = op.recorded_end_ns;
        if (start < m->first_ns) {
            m->first_ns = start;
            m->earliest = members[i].operation;
        }
        if (start > m->last_ns) {
            m->last_ns = start;
            m->last = (uint32_t)lanes_device(l, op.file, op.device);
            m->operation = members[i].operation;
        }
        if (end > m->end_ns) m->end_ns = end;
        if (end < first_end) first_end = end;
    }
    m->end_spread_ns = m->end_ns - first_end;
}

static bool charge(ranks_result *r, ranks_rendezvous *m, size_t index,
                   const ts_replay *replay, const lanes *l,
                   const ranks_member *members)
{
    ts_operation op;
    for (size_t i = 0; i < m->members; i++) {
        ts_replay_operation(replay, members[i].operation, &op);
        const size_t rank = lanes_device(l, op.file, op.device);
        ranks_rank *const of = &r->ranks[rank];
        // A member that ended before the last arrival did not wait for it.
        const int64_t waited = op.recorded_end_ns < m->last_ns
                                   ? 0
                                   : m->last_ns - op.recorded_start_ns;
        of->rendezvous++;
        of->in_ns += op.recorded_end_ns - op.recorded_start_ns;
        of->lasts += members[i].operation == m->operation;
        if (!waited) continue;
        of->waited_ns += waited;
        r->ranks[m->last].caused_ns += waited;
        m->waited_ns += waited;
        if (!sums_add(&r->pairs, (uint64_t)rank << 32 | m->last, waited,
                      m->operation))
            return false;
    }
    r->waited_ns += m->waited_ns;
    return sums_add(&r->names, m->group, m->waited_ns, index);
}

static int dearest_first(const void *left, const void *right)
{
    const ranks_rendezvous *const a = left, *const b = right;
    if (a->waited_ns != b->waited_ns)
        return a->waited_ns > b->waited_ns ? -1 : 1;
    return (a->operation > b->operation) - (a->operation < b->operation);
}

static bool take_rendezvous(ranks_result *r, const ts_replay *replay,
                            const lanes *l, const names_index *names,
                            const ranks_member *members, size_t count)
{
    r->rendezvous = malloc((count / 2 + 1) * sizeof *r->rendezvous);
    if (!r->rendezvous) return false;
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && members[end].join == members[i].join)
            end++;
        if (end - i > 1) {
            ranks_rendezvous *const m = &r->rendezvous[r->rendezvous_count];
            take_members(m, replay, l, names, members + i, end - i);
            if (!charge(r, m, r->rendezvous_count, replay, l, members + i))
                return false;
            r->rendezvous_count++;
        }
        i = end;
    }
    qsort(r->rendezvous, r->rendezvous_count, sizeof *r->rendezvous,
          dearest_first);
    sums_sort(&r->pairs);
    sums_sort(&r->names);
    return true;
}

/* ---- Causes of late members ---------------------------------------------- */

static bool is_call(const ts_replay *replay, uint32_t node, ts_node *call)
{
    return node != TS_NODE_NONE && ts_replay_node(replay, node, call) &&
           call->type == TS_NODE_CALL;
}

// Returns what an operation waited for.
static uint32_t behind(const ts_timeline *timeline, uint32_t node)
{
    uint8_t edge;
    bool inferred;
    return node == TS_NODE_NONE
               ? TS_NODE_NONE
               : ts_timeline_culprit(timeline, node, &edge, &inferred);
}

static int64_t start_of(const ts_replay *replay, uint32_t node)
{
    ts_node n;
    return ts_replay_node(replay, node, &n) ? n.recorded_ns : 0;
}

// Whether two operations are the same step of two ranks.
static bool is_same(const ts_replay *replay, const names_index *names,
                    uint32_t a, uint32_t b)
{
    ts_node call;
    if (a == TS_NODE_NONE || b == TS_NODE_NONE) return false;
    const bool calls = is_call(replay, a, &call);
    if (calls || is_call(replay, b, &call))
        return calls && is_call(replay, b, &call);
    return a < names->op_count && b < names->op_count &&
           names->of[a] == names->of[b];
}

/*
    Goes back from the last member to the first late event: a call, or an
    operation that began in time and took long. The due time of an event is when
    the first rank did the same, as far as both did the same, else when that
    rank arrived. An event counts as late if it is late by at least half of the
    skew. since_ns: of a call, the time from which it was late.
*/
static uint32_t cause_of(const ts_replay *replay, const ts_timeline *timeline,
                         const names_index *names, const ranks_rendezvous *m,
                         int64_t *since_ns)
{
    const int64_t half = (m->last_ns - m->first_ns + 1) / 2;
    uint32_t node = m->operation, other = m->earliest;
    *since_ns = m->first_ns;
    for (uint32_t step = 0; step < RANKS_STEPS; step++) {
        const uint32_t next = behind(timeline, node);
        if (next == TS_NODE_NONE) break;
        other = behind(timeline, other);
        if (!is_same(replay, names, next, other)) other = TS_NODE_NONE;
        const int64_t due =
            other == TS_NODE_NONE ? m->first_ns : start_of(replay, other);
        *since_ns = due;
        node = next;
        if (next >= names->op_count || // a call
            names->groups[names->of[next]].kind == TS_EVENT_COLLECTIVE ||
            start_of(replay, next) - due < half)
            break;
    }
    return node == m->operation ? TS_NODE_NONE : node;
}

// Makes the host span of a late call. Returns false if its thread is unknown.
static bool late_span(const ts_replay *replay, const ranks_rendezvous *m,
                      size_t index, int64_t since_ns, const uint32_t *others,
                      inside_span *span)
{
    ts_operation op;
    ts_node call;
    uint32_t node = m->cause;
    if (node == TS_NODE_NONE) {
        if (!ts_replay_operation(replay, m->operation, &op)) return false;
        node = op.call;
    }
    if (m->first_ns == m->last_ns || !is_call(replay, node, &call) ||
        !call.track || call.recorded_ns <= since_ns)
        return false;
    const uint32_t other =
        others[node - ts_replay_graph(replay).operation_count];
    const inside_span of = { call.file,        call.track, since_ns,
                             call.recorded_ns, index,      other };
    *span = of;
    return true;
}

// Returns how much of the skew of the first rendezvous is due to one record
// beginning later than the other, if that is most of it. Later rendezvous do
// not have this skew.
static int64_t head_of(const ts_replay *replay, const ranks_rendezvous *m)
{
    ts_operation last, first;
    if (!ts_replay_operation(replay, m->operation, &last) ||
        !ts_replay_operation(replay, m->earliest, &first))
        return 0;
    const int64_t late = m->last_ns - m->first_ns;
    const int64_t head =
        began_of(replay, last.file) - began_of(replay, first.file);
    return head >= (late + 1) / 2 ? head : 0;
}

static bool explain(ranks_result *r, const ts_replay *replay,
                    const ts_timeline *timeline, names_index *names)
{
    hold_tally tally = { .replay = replay, .names = names };
    inside_span *const spans =
        malloc((r->rendezvous_count + 1) * sizeof *spans);
    hold *const holds = calloc(r->rendezvous_count + 1, sizeof *holds);
    uint32_t *const others = inside_others(replay);
    size_t count = 0;
    bool ok = spans && holds && others;
    for (size_t i = 0; ok && i < r->rendezvous_count; i++) {
        ranks_rendezvous *const m = &r->rendezvous[i];
        int64_t since_ns;
        m->cause = cause_of(replay, timeline, names, m, &since_ns);
        count += late_span(replay, m, i, since_ns, others, &spans[count]);
    }
    ok = ok && hold_find(&tally, spans, count, holds, r->rendezvous_count);
    size_t first = 0;
    for (size_t i = 0; ok && i < r->rendezvous_count; i++) {
        r->rendezvous[i].held = holds[i];
        if (r->rendezvous[i].first_ns < r->rendezvous[first].first_ns)
            first = i;
    }
    if (ok && r->rendezvous_count)
        r->rendezvous[first].head_ns = head_of(replay, &r->rendezvous[first]);
    free(spans);
    free(holds);
    free(others);
    return ok;
}

bool ranks_open(ranks_result *r, const ts_replay *replay,
                const ts_timeline *timeline, names_index *names)
{
    lanes l = { 0 };
    size_t count;
    memset(r, 0, sizeof *r);
    ranks_member *const members = list_members(replay, &count);
    const bool ok = members && lanes_open(&l, replay) &&
                    take_ranks(r, replay) &&
                    take_rendezvous(r, replay, &l, names, members, count) &&
                    (!timeline || explain(r, replay, timeline, names));
    lanes_close(&l);
    free(members);
    return ok;
}

void ranks_close(ranks_result *r)
{
    free(r->ranks);
    free(r->rendezvous);
    sums_close(&r->pairs);
    sums_close(&r->names);
    memset(r, 0, sizeof *r);
}
