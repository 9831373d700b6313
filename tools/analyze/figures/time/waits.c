/*
    waits.c - waits of streams for events that are complete in any case

    The state holds, for each stream, how far every other stream must be before
    the next operation issued to it can begin: up to the event records it waited
    for, and what those streams had waited for when they recorded. All of it
    follows the order of issue, never the times of execution.
*/
#include "tools/analyze/figures/base/lanes.h"
#include "tools/analyze/figures/time/sync.h"

// Limit of the state that is kept. Beyond it only the direct waits of a stream
// are known.
enum { KEPT_MOST = 1 << 24 };

typedef struct waits_walk {
    sync_result *r;
    const ts_replay *replay;
    ts_graph graph;
    uint32_t *stream, *place; // stream of each operation, and its place there
    uint32_t *record;         // by wait: the record it waits for, or none
    uint32_t *known;          // by stream: places of all streams, plus 1
    uint32_t *kept;           // the same state at each record
    uint32_t *slot;           // by record: index in `kept`
    size_t streams, room;
} waits_walk;

// Numbers the streams, and the operations of each in order.
static bool number(waits_walk *w)
{
    lanes l;
    ts_operation op;
    bool ok = lanes_open(&l, w->replay);
    uint32_t *const next = calloc(l.stream_count + 1, sizeof *next);
    ok = ok && next;
    for (uint32_t i = 0; ok && ts_replay_operation(w->replay, i, &op); i++) {
        w->stream[i] = (uint32_t)lanes_stream(&l, &op);
        w->place[i] = ++next[w->stream[i]];
    }
    w->streams = l.stream_count + 1;
    free(next);
    lanes_close(&l);
    return ok;
}

// Finds the record that each wait waits for, from the edges of the graph.
static void find_records(waits_walk *w)
{
    const ts_graph *const g = &w->graph;
    ts_node node;
    for (uint32_t i = 0; i < g->operation_count; i++)
        for (uint32_t e = g->offsets[i]; e < g->offsets[i + 1]; e++)
            if (TS_EDGE_KIND(g->kinds[e]) == TS_EDGE_EVENT &&
                !(g->kinds[e] & TS_EDGE_INFERRED) &&
                ts_replay_node(w->replay, g->targets[e], &node) &&
                node.owner < g->operation_count)
                w->record[node.owner] = i;
}

static void learn(uint32_t *known, const uint32_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (from[i] > known[i]) known[i] = from[i];
}

static void take_wait(waits_walk *w, uint32_t index)
{
    sync_result *const r = w->r;
    const uint32_t record = w->record[index];
    r->waits++;
    if (record == TS_NODE_NONE) {
        r->no_record++;
        return;
    }
    const uint32_t from = w->stream[record], to = w->stream[index];
    uint32_t *const known = w->known + to * w->streams;
    const bool same = from == to;
    if (same || known[from] >= w->place[record]) {
        const struct sync_wait wait = { index, same };
        r->needless_waits[r->same_stream + r->known_before] = wait;
        *(same ? &r->same_stream : &r->known_before) += 1;
    }
    if (same) return;
    if (known[from] < w->place[record]) known[from] = w->place[record];
    if (w->kept && w->slot[record] != TS_NODE_NONE)
        learn(known, w->kept + w->slot[record] * w->streams, w->streams);
}

// Sorts the operations by the order in which the host issued them.
static bool order(const waits_walk *w, uint64_t (**sorted)[2], size_t *count)
{
    ts_operation op;
    ts_node call;
    *sorted = malloc(((size_t)w->graph.operation_count + 1) * sizeof **sorted);
    *count = 0;
    if (!*sorted) return false;
    for (uint32_t i = 0; ts_replay_operation(w->replay, i, &op); i++) {
        if (op.kind != TS_EVENT_EVENT_WAIT && op.kind != TS_EVENT_EVENT_RECORD)
            continue;
        const bool known = op.call != TS_NODE_NONE &&
                           ts_replay_node(w->replay, op.call, &call);
        const int64_t time = known ? call.recorded_ns : op.recorded_start_ns;
        (*sorted)[*count][0] = (uint64_t)time ^ UINT64_C(1) << 63;
        (*sorted)[(*count)++][1] = i;
    }
    return true;
}

static int by_time(const void *left, const void *right)
{
    const uint64_t *const a = left, *const b = right;
    if (a[0] != b[0]) return a[0] < b[0] ? -1 : 1;
    return a[1] < b[1] ? -1 : a[1] > b[1];
}

static bool walk(waits_walk *w)
{
    uint64_t(*sorted)[2];
    size_t count;
    uint32_t slots = 0;
    ts_operation op;
    if (!order(w, &sorted, &count)) return false;
    cli_sort(sorted, count, sizeof *sorted, by_time);
    w->r->needless_waits = malloc((count + 1) * sizeof *w->r->needless_waits);
    const bool keep = count <= KEPT_MOST / w->streams;
    if (keep) w->kept = malloc((count * w->streams + 1) * sizeof *w->kept);
    const bool ok = w->r->needless_waits && (!keep || w->kept);
    for (size_t i = 0; ok && i < count; i++) {
        const uint32_t index = (uint32_t)sorted[i][1];
        if (!ts_replay_operation(w->replay, index, &op)) continue;
        if (op.kind == TS_EVENT_EVENT_WAIT) {
            take_wait(w, index);
        } else if (keep) {
            w->slot[index] = slots;
            memcpy(w->kept + slots++ * w->streams,
                   w->known + w->stream[index] * w->streams,
                   w->streams * sizeof *w->known);
        }
    }
    free(sorted);
    return ok;
}

static bool any_waits(const ts_replay *replay)
{
    ts_operation op;
    for (size_t i = 0; ts_replay_operation(replay, i, &op); i++)
        if (op.kind == TS_EVENT_EVENT_WAIT) return true;
    return false;
}

bool sync_take_waits(sync_result *r, const ts_replay *replay)
{
    waits_walk w = { .r = r,
                     .replay = replay,
                     .graph = ts_replay_graph(replay) };
    const size_t count = (size_t)w.graph.operation_count + 1;
    if (!any_waits(replay)) return true;
    w.stream = malloc(count * sizeof *w.stream);
    w.place = malloc(count * sizeof *w.place);
    w.record = malloc(count * sizeof *w.record);
    w.slot = malloc(count * sizeof *w.slot);
    bool ok = w.stream && w.place && w.record && w.slot && number(&w);
    if (ok) w.known = calloc(w.streams * w.streams + 1, sizeof *w.known);
    if (ok && w.known) {
        memset(w.record, 0xFF, count * sizeof *w.record);
        memset(w.slot, 0xFF, count * sizeof *w.slot);
        find_records(&w);
    }
    ok = ok && w.known && walk(&w);
    free(w.stream);
    free(w.place);
    free(w.record);
    free(w.slot);
    free(w.known);
    free(w.kept);
    return ok;
}
