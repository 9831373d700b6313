/*
    calc_ranks.c - who waits for whom in collectives
*/
#include "tools/analyze/calc_ranks.h"

#include "tools/analyze/calc_lanes.h"

typedef struct ranks_member {
    uint32_t join, operation;
} ranks_member;

static int by_join(const void *left, const void *right)
{
    const ranks_member *const a = left, *const b = right;
    if (a->join != b->join) return a->join < b->join ? -1 : 1;
    return (a->operation > b->operation) - (a->operation < b->operation);
}

// Members lead to the join of their rendezvous.
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
            if (*count == room) {
                room = room ? 2 * room : 256;
                ranks_member *const more =
                    realloc(members, room * sizeof *more);
                if (!more) {
                    free(members);
                    return NULL;
                }
                members = more;
            }
            const ranks_member member = { g.targets[e], i };
            members[(*count)++] = member;
        }
    if (!members) return malloc(sizeof(ranks_member));
    qsort(members, *count, sizeof *members, by_join);
    return members;
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
    }
    return true;
}

// Arrivals and ends; what waits for what comes after, when the last is known.
static void meet(ranks_rendezvous *m, const ts_replay *replay, const lanes *l,
                 const names_index *names, const ranks_member *members,
                 size_t count)
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
        const int64_t waited = m->last_ns - op.recorded_start_ns;
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

static bool take_meetings(ranks_result *r, const ts_replay *replay,
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
            ranks_rendezvous *const m = &r->rendezvous[r->meeting_count];
            meet(m, replay, l, names, members + i, end - i);
            if (!charge(r, m, r->meeting_count, replay, l, members + i))
                return false;
            r->meeting_count++;
        }
        i = end;
    }
    qsort(r->rendezvous, r->meeting_count, sizeof *r->rendezvous,
          dearest_first);
    sums_sort(&r->pairs);
    sums_sort(&r->names);
    return true;
}

static int64_t began_of(const ts_replay *replay, uint32_t file)
{
    ts_replay_file of;
    if (!ts_replay_file_at(replay, file, &of)) return 0;
    return of.offset_ns + ts_reader_info(of.reader)->first_ns;
}

// A span of the host that launched the last one, which was late from the
// arrival of the first on. False: its thread is not known.
static bool late_span(const ts_replay *replay, const ranks_rendezvous *m,
                      size_t index, const uint32_t *others, inside_span *span)
{
    ts_operation op;
    ts_node call;
    if (m->first_ns == m->last_ns ||
        !ts_replay_operation(replay, m->operation, &op) ||
        op.call == TS_NODE_NONE || !ts_replay_node(replay, op.call, &call) ||
        !call.track || call.recorded_ns <= m->first_ns)
        return false;
    const uint32_t other =
        others[op.call - ts_replay_graph(replay).operation_count];
    const inside_span of = { op.file,          call.track, m->first_ns,
                             call.recorded_ns, index,      other };
    *span = of;
    return true;
}

// How much of the skew of the first rendezvous is that the one began later than
// the other, if that is most of it. Later on they are even.
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
                    names_index *names)
{
    hold_tally tally = { .replay = replay, .names = names };
    inside_span *const spans = malloc((r->meeting_count + 1) * sizeof *spans);
    hold *const holds = calloc(r->meeting_count + 1, sizeof *holds);
    uint32_t *const others = inside_others(replay);
    size_t count = 0;
    bool ok = spans && holds && others;
    for (size_t i = 0; ok && i < r->meeting_count; i++)
        count += late_span(replay, &r->rendezvous[i], i, others, &spans[count]);
    ok = ok && hold_find(&tally, spans, count, holds, r->meeting_count);
    size_t first = 0;
    for (size_t i = 0; ok && i < r->meeting_count; i++) {
        r->rendezvous[i].held = holds[i];
        if (r->rendezvous[i].first_ns < r->rendezvous[first].first_ns)
            first = i;
    }
    if (ok && r->meeting_count)
        r->rendezvous[first].head_ns = head_of(replay, &r->rendezvous[first]);
    for (size_t i = 0; i < r->rank_count; i++)
        r->ranks[i].began_ns = began_of(replay, r->ranks[i].file);
    free(spans);
    free(holds);
    free(others);
    return ok;
}

bool ranks_open(ranks_result *r, const ts_replay *replay, names_index *names)
{
    lanes l = { 0 };
    size_t count;
    memset(r, 0, sizeof *r);
    ranks_member *const members = list_members(replay, &count);
    const bool ok = members && lanes_open(&l, replay) &&
                    take_ranks(r, replay) &&
                    take_meetings(r, replay, &l, names, members, count) &&
                    explain(r, replay, names);
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
