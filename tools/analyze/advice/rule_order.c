/*
    rule_order.c - advice: needless waits between streams
*/
#include "tools/analyze/figures/time/sync.h"
#include "tools/analyze/advice/rule.h"

/* ---- default-stream ------------------------------------------------------ */

// Finds operations that the legacy default stream holds up, from the edges of
// the graph.
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
    ADVICE_SAY(a, f, title, "the default stream blocks other streams");
    ADVICE_SAY(a, f, what,
               "%s because one of the operations is on the legacy default "
               "stream: this stream and all blocking streams wait for each "
               "other.",
               cli_counted(held, "operation waits", "operations wait").s);
    ADVICE_SAY(a, f, todo,
               "Create streams as non-blocking, compile with a per-thread "
               "default stream, or move these operations to another stream; "
               "order dependent operations with events.");
    ADVICE_SAY(a, f, how,
               "replay without the order that the default stream "
               "imposes");
    f->confidence = REPORT_MEDIUM; // some of the waits may be needed
}

/* ---- redundant-wait ------------------------------------------------------ */

void rule_redundant_wait(advice *a, const advice_rule *rule)
{
    sync_result sync = { 0 };
    if (!sync_take_waits(&sync, a->replay)) a->failed = true;
    advice_mask mask = advice_mask_open(a);
    const uint64_t waits = sync.same_stream + sync.known_before;
    const uint64_t same = sync.same_stream;
    for (uint64_t i = 0; !a->failed && i < waits; i++)
        advice_mask_add(a, &mask, sync.needless_waits[i].operation);
    if (!a->failed && mask.count &&
        (int64_t)mask.count >= advice_limit(a, rule, "count")) {
        advice_finding *const f = advice_find_mask(a, rule, &mask);
        advice_change(a, f, TS_CHANGE_REMOVE, &mask);
        ADVICE_SAY(a, f, title, "streams wait again for completed work");
        ADVICE_SAY(a, f, what,
                   "%s have no effect: %s wait for a record on their own "
                   "stream, the others for operations that are always complete "
                   "by then.",
                   cli_counted(waits, "event wait", "event waits").s,
                   cli_count(same).s);
        ADVICE_SAY(a, f, todo,
                   "Remove these waits: each costs a call on the host and a "
                   "command on the device.");
        ADVICE_SAY(a, f, how, "replay without these waits and their calls");
    }
    advice_mask_close(&mask);
    sync_close(&sync);
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
    ADVICE_SAY(a, f, title, "launches wait for space in a full queue");
    ADVICE_SAY(a, f, what,
               "%s blocked for %s until the device started earlier operations.",
               cli_counted(count, "launch is", "launches are").s,
               cli_time(blocked).s);
    ADVICE_SAY(a, f, todo,
               "Launch to other devices and streams from other threads, so "
               "that only this thread blocks; or launch larger kernels and "
               "graphs.");
    ADVICE_SAY(a, f, how, "replay with queues that are never full");
}
