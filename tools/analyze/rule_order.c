/*
    rule_order.c - advice: waits between streams that need not be
*/
#include "tools/analyze/rule.h"

/* ---- default-stream ------------------------------------------------------ */

// What the legacy default stream holds up, by the edges of the graph.
void rule_default_stream(advice *a, const advice_rule *rule)
{
    const ts_graph *const g = &a->graph;
    advice_finding *f = NULL;
    uint64_t held = 0;
    for (uint32_t i = 0; i < g->node_count; i++)
        for (uint32_t e = g->offsets[i]; e < g->offsets[i + 1]; e++) {
            if (TS_EDGE_KIND(g->kinds[e]) != TS_EDGE_LEGACY_DEFAULT) continue;
            if (g->targets[e] >= a->op_count) continue;
            if (!f) f = advice_find(a, rule);
            held++;
            advice_show_op(a, f, g->targets[e]);
        }
    if (!f) return;
    ts_change *const change = advice_change(a, f, TS_CHANGE_CUT, NULL);
    change->edges = 1u << TS_EDGE_LEGACY_DEFAULT;
    ADVICE_SAY(a, f, title, "the default stream holds other streams up");
    ADVICE_SAY(a, f, what,
               "%s operations wait because one side is on the legacy default "
               "stream, which waits for all blocking streams and they for it.",
               cli_count(held).s);
    ADVICE_SAY(a, f, todo,
               "Create streams as non-blocking, compile with a default stream "
               "per thread, or put this work on a stream of its own; order "
               "by events what depends on each other.");
    ADVICE_SAY(a, f, how,
               "replay without the order that the default stream "
               "imposes");
    f->confidence = REPORT_MEDIUM; // some of it may be needed
}

/* ---- redundant-wait ------------------------------------------------------ */

// The record behind each event wait, from the graph.
static uint32_t *records_of_waits(const advice *a)
{
    const ts_graph *const g = &a->graph;
    uint32_t *const of = malloc((a->op_count + 1) * sizeof *of);
    for (size_t i = 0; of && i < a->op_count; i++)
        of[i] = TS_NODE_NONE;
    for (uint32_t i = 0; of && i < g->node_count; i++)
        for (uint32_t e = g->offsets[i]; e < g->offsets[i + 1]; e++)
            if (TS_EDGE_KIND(g->kinds[e]) == TS_EDGE_EVENT) {
                const uint32_t to = advice_node(a, g->targets[e]).owner;
                const uint32_t from = advice_node(a, i).owner;
                if (to < a->op_count && from < a->op_count &&
                    a->ops[from].kind == TS_EVENT_EVENT_RECORD)
                    of[to] = from;
            }
    return of;
}

// The latest record on one stream that another one has waited for.
typedef struct seen {
    uint64_t pair;
    int64_t time_ns;
} seen;

static bool covers(seen *list, size_t *count, uint64_t pair, int64_t time_ns)
{
    enum { MOST = 4096 };
    for (size_t i = 0; i < *count; i++) {
        if (list[i].pair != pair) continue;
        if (list[i].time_ns >= time_ns) return true;
        list[i].time_ns = time_ns;
        return false;
    }
    if (*count == MOST) return false;
    const seen fresh = { pair, time_ns };
    list[(*count)++] = fresh;
    return false;
}

void rule_redundant_wait(advice *a, const advice_rule *rule)
{
    uint32_t *const of = records_of_waits(a);
    seen *const list = calloc(4096, sizeof *list);
    advice_mask mask = advice_mask_open(a);
    uint64_t same = 0;
    size_t count = 0;
    for (uint32_t i = 0; of && list && i < a->op_count; i++) {
        const advice_op *const w = &a->ops[i];
        if (w->kind != TS_EVENT_EVENT_WAIT || of[i] == TS_NODE_NONE) continue;
        const advice_op *const r = &a->ops[of[i]];
        const uint64_t pair = (uint64_t)r->stream << 32 | w->stream;
        const bool own = r->stream == w->stream;
        if (!own && !covers(list, &count, pair, r->start_ns)) continue;
        advice_mask_add(a, &mask, i);
        same += own;
    }
    if (!of || !list) a->failed = true;
    if (mask.count && (int64_t)mask.count >= advice_limit(a, rule, "count")) {
        advice_finding *const f = advice_find(a, rule);
        const uint64_t waits = mask.count;
        for (uint32_t i = 0; i < a->op_count; i++)
            if (mask.means[i]) advice_show_op(a, f, i);
        advice_change(a, f, TS_CHANGE_REMOVE, &mask);
        ADVICE_SAY(a, f, title, "streams wait for what they have waited for");
        ADVICE_SAY(a, f, what,
                   "%s event waits order nothing: %s wait for a record on "
                   "their own stream, the others for one no later than what "
                   "the stream has waited for before.",
                   cli_count(waits).s, cli_count(same).s);
        ADVICE_SAY(a, f, todo,
                   "Leave these waits out: each costs a call on the host and "
                   "a command on the device.");
        ADVICE_SAY(a, f, how, "replay without these waits and their calls");
    }
    advice_mask_close(&mask);
    free(of);
    free(list);
}

/* ---- queue-full ---------------------------------------------------------- */

void rule_queue_full(advice *a, const advice_rule *rule)
{
    const ts_graph *const g = &a->graph;
    advice_finding *f = NULL;
    uint64_t count = 0;
    int64_t blocked = 0, longest = 0;
    for (uint32_t i = 0; i < a->op_count; i++)
        for (uint32_t e = g->offsets[i]; e < g->offsets[i + 1]; e++) {
            if (TS_EDGE_KIND(g->kinds[e]) != TS_EDGE_QUEUE) continue;
            const ts_node to = advice_node(a, g->targets[e]);
            if (to.type != TS_NODE_END) continue;
            const ts_node call = advice_node(a, to.owner);
            if (!f) f = advice_find(a, rule);
            count++;
            blocked += call.duration_ns;
            if (call.duration_ns <= longest) continue;
            longest = call.duration_ns;
            advice_show_time(f, call.file, call.recorded_ns,
                             call.recorded_ns + call.duration_ns);
        }
    if (!f) return;
    ts_change *const change = advice_change(a, f, TS_CHANGE_CUT, NULL);
    change->edges = 1u << TS_EDGE_QUEUE;
    ADVICE_SAY(a, f, title, "launches wait for room in a full queue");
    ADVICE_SAY(a, f, what,
               "%s launches are blocked for %s until the device has begun "
               "earlier work.",
               cli_count(count).s, cli_time(blocked).s);
    ADVICE_SAY(a, f, todo,
               "Feed other devices and streams from other threads, so that "
               "this one may block; or launch larger kernels and graphs.");
    ADVICE_SAY(a, f, how, "replay with queues that never are full");
}
