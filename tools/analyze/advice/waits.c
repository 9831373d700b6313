/*
    waits.c - finds the host calls that waited for a device
*/
#include "tools/analyze/advice/advice.h"

static bool is_sync(uint8_t kind)
{
    return kind == TS_EVENT_STREAM_SYNC || kind == TS_EVENT_DEVICE_SYNC ||
           kind == TS_EVENT_EVENT_SYNC;
}

// Whether a source is a better choice than another one. A call may wait for
// several: its own sync is preferred, else the one that ended last.
static bool is_better(const advice *a, uint32_t source, uint32_t than)
{
    if (than == TS_NODE_NONE) return true;
    const advice_op *const s = &a->ops[source], *const t = &a->ops[than];
    if (is_sync(s->kind) != is_sync(t->kind)) return is_sync(s->kind);
    return s->end_ns > t->end_ns;
}

// Finds the sources of all waiting calls; `waits` has an element for each call.
static void find_sources(const advice *a, uint32_t *source, bool *waits)
{
    const ts_graph *const g = &a->graph;
    for (uint32_t i = 0; i < g->node_count; i++)
        for (uint32_t e = g->offsets[i]; e < g->offsets[i + 1]; e++) {
            if (TS_EDGE_KIND(g->kinds[e]) != TS_EDGE_SYNC) continue;
            const ts_node to = advice_node(a, g->targets[e]);
            if (to.type != TS_NODE_END || !advice_is_call(a, to.owner))
                continue;
            const uint32_t call = to.owner - (uint32_t)a->op_count;
            const uint32_t from = advice_node(a, i).owner;
            waits[call] = true;
            if (from < a->op_count && is_better(a, from, source[call]))
                source[call] = from;
        }
}

static uint32_t thread_slot(uint32_t *threads, uint32_t *count, uint32_t file,
                            uint32_t thread)
{
    uint32_t i = 0;
    while (i < *count &&
           (threads[2 * i] != file || threads[2 * i + 1] != thread))
        i++;
    if (i == *count && i < 255) {
        threads[2 * i] = file;
        threads[2 * i + 1] = thread;
        ++*count;
    }
    return i < 255 ? i : 255; // all further threads share one
}

static void list_waits(advice *a, const uint32_t *source, const bool *waits)
{
    uint32_t threads[512], count = 0, last[256];
    size_t final[256];
    memset(last, 0xFF, sizeof last);
    memset(final, 0xFF, sizeof final);
    for (uint32_t i = 0; i < a->graph.call_count; i++) {
        const uint32_t call = (uint32_t)a->op_count + i;
        const ts_node n = advice_node(a, call);
        const uint32_t slot = thread_slot(threads, &count, n.file, n.track);
        const uint32_t op = a->call_op[i];
        if (op != TS_NODE_NONE && advice_works(&a->ops[op])) last[slot] = op;
        if (!waits[i] || !n.selected) continue;
        // A call ends at its end node: it has no duration of its own.
        const advice_wait wait = { call,
                                   source[i],
                                   last[slot],
                                   n.file,
                                   n.track,
                                   n.recorded_ns,
                                   n.recorded_ns + n.duration_ns,
                                   false };
        final[slot] = a->wait_count;
        a->waits[a->wait_count++] = wait;
    }
    for (size_t i = 0; i < 256; i++)
        if (final[i] != SIZE_MAX) a->waits[final[i]].final = true;
}

void advice_load_waits(advice *a)
{
    if (a->has_waits) return;
    a->has_waits = true;
    const size_t calls = a->graph.call_count;
    a->waits = calloc(calls + 1, sizeof *a->waits);
    a->call_op = malloc((calls + 1) * sizeof *a->call_op);
    uint32_t *const source = malloc((calls + 1) * sizeof *source);
    bool *const waits = calloc(calls + 1, sizeof *waits);
    if (a->waits && a->call_op && source && waits) {
        memset(a->call_op, 0xFF, calls * sizeof *a->call_op);
        memset(source, 0xFF, calls * sizeof *source);
        for (uint32_t i = (uint32_t)a->op_count; i-- > 0;)
            if (advice_is_call(a, a->ops[i].call))
                a->call_op[a->ops[i].call - a->op_count] = i;
        find_sources(a, source, waits);
        list_waits(a, source, waits);
    } else {
        a->failed = true;
    }
    free(source);
    free(waits);
}
