/*
    why.c - the tool why: what an operation waited for, and what that waited for
*/
#include "tools/mcp/graph.h"

enum { STEPS_MOST = 64 };

// One step back from a node to what was satisfied last before it.
typedef struct wait {
    uint32_t node, after;
    uint8_t edge;
    bool inferred;
} wait;

static size_t walk_back(const ts_timeline *timeline, uint32_t node, wait *waits)
{
    size_t count = 0;
    while (count < STEPS_MOST) {
        wait *const w = &waits[count];
        *w = (wait){ .node = node };
        w->after = ts_timeline_culprit(timeline, node, &w->edge, &w->inferred);
        if (w->after == TS_NODE_NONE || w->after == node) break;
        node = w->after;
        count++;
    }
    return count;
}

static bool gap_before(const mcp_call *call, const ts_operation *operation,
                       uint32_t number, ts_gap *gap)
{
    const ts_timeline *const timeline = call->set->timeline;
    ts_lane device;
    for (size_t d = 0; ts_replay_device(call->set->replay, d, &device); d++) {
        if (device.track != operation->device || device.file != operation->file)
            continue;
        size_t low = 0, high = ts_timeline_gap_count(timeline, d);
        while (low < high) { // gaps are in order of time
            const size_t middle = low + (high - low) / 2;
            if (!ts_timeline_gap(timeline, d, middle, gap)) return false;
            if (gap->end_ns < operation->recorded_start_ns)
                low = middle + 1;
            else
                high = middle;
        }
        return ts_timeline_gap(timeline, d, low, gap) &&
               gap->operation == number;
    }
    return false;
}

static int64_t start_of(const mcp_call *call, uint32_t number)
{
    ts_node node = { .recorded_ns = 0 };
    ts_replay_node(call->set->replay, number, &node);
    return node.recorded_ns;
}

// When a node no longer kept others waiting.
static int64_t end_of(const mcp_call *call, uint32_t number)
{
    ts_node node = { .recorded_ns = 0 };
    ts_replay_node(call->set->replay, number, &node);
    return node.recorded_ns + node.duration_ns;
}

// A launch may run before the call that made it returns.
static int64_t delay_of(const mcp_call *call, const wait *w)
{
    const int64_t from = w->edge == TS_EDGE_LAUNCH ? start_of(call, w->after)
                                                   : end_of(call, w->after);
    return start_of(call, w->node) - from;
}

static const char *what_of(const ts_node *node, uint8_t edge)
{
    return edge == TS_EDGE_LAUNCH       ? "the start of the call"
           : node->type == TS_NODE_CALL ? "the end of the call"
                                        : "the end of the operation";
}

static void put_answer(mcp_call *call, const wait *first, size_t count,
                       const ts_gap *gap)
{
    char text[MCP_PROSE];
    ts_node node;
    if (!count || !ts_replay_node(call->set->replay, first->after, &node)) {
        mcp_put_string(call, &call->answer.json, "answer",
                       "The record shows nothing that it waited for.");
        return;
    }
    const int64_t delay_ns = delay_of(call, first);
    const size_t size = (size_t)snprintf(
        text, sizeof text, "It %s %s %s %s%s (%s%s).",
        delay_ns < 0 ? "waited" : "began",
        cli_time(delay_ns < 0 ? -delay_ns : delay_ns).s,
        delay_ns < 0 ? "for" : "after", what_of(&node, first->edge),
        delay_ns < 0 ? "" : " that it waited for last",
        ts_edge_name(first->edge), first->inferred ? ", inferred" : "");
    if (gap)
        snprintf(text + size, sizeof text - size,
                 " Its device had been idle for %s, because of %s: %s.",
                 cli_time(gap->end_ns - gap->start_ns).s,
                 ts_idle_name(gap->cause), mcp_cause_meaning(gap->cause));
    mcp_put_string(call, &call->answer.json, "answer", text);
}

static bool put_trust(mcp_call *call, const wait *waits, size_t count,
                      const ts_gap *gap)
{
    const char *because[2] = { NULL };
    ts_confidence confidence = TS_CONFIDENCE_HIGH;
    bool inferred = false;
    for (size_t i = 0; i < count; i++)
        inferred |= waits[i].inferred;
    if (inferred) {
        confidence = TS_CONFIDENCE_MEDIUM;
        because[0] = "some of the waits are inferred from times";
    }
    if (!count || (gap && gap->cause == TS_IDLE_UNEXPLAINED)) {
        confidence = TS_CONFIDENCE_LOW;
        because[0] = "nothing in the record explains when it began";
    }
    return mcp_put_trust(call, confidence, because);
}

static void put_operation(mcp_call *call, uint32_t number,
                          const ts_operation *o)
{
    cli_json *const json = &call->answer.json;
    cli_json_open(json, "operation", '{');
    cli_json_uint(json, "operation", number);
    cli_json_string(json, "kind", ts_event_name(o->kind));
    mcp_put_operation_name(call, json, "name", o);
    mcp_put_track(call, json, "device", o->file, o->device);
    mcp_put_track(call, json, "stream", o->file, o->track);
    cli_json_int(json, "start_ns", o->recorded_start_ns);
    cli_json_int(json, "end_ns", o->recorded_end_ns);
    cli_json_int(json, "duration_ns",
                 o->recorded_end_ns - o->recorded_start_ns);
    cli_json_close(json, '}');
    mcp_put_node(call, json, "call", o->call);
}

static void put_gap(mcp_call *call, const ts_gap *gap)
{
    cli_json *const json = &call->answer.json;
    if (!gap) {
        cli_json_null(json, "idle_before");
        return;
    }
    cli_json_open(json, "idle_before", '{');
    cli_json_int(json, "idle_ns", gap->end_ns - gap->start_ns);
    cli_json_int(json, "start_ns", gap->start_ns);
    cli_json_string(json, "cause", ts_idle_name(gap->cause));
    cli_json_string(json, "meaning", mcp_cause_meaning(gap->cause));
    cli_json_close(json, '}');
}

static bool put_waits(mcp_call *call, const wait *waits, size_t count)
{
    cli_json *const row = &call->answer.row;
    mcp_list_begin(call, "waits");
    for (size_t i = call->answer.first; i < count; i++) {
        if (!mcp_row_begin(call, i, '{')) break;
        mcp_put_node(call, row, "after", waits[i].after);
        cli_json_string(row, "edge", ts_edge_name(waits[i].edge));
        cli_json_bool(row, "inferred", waits[i].inferred);
        cli_json_int(row, "delay_ns", delay_of(call, &waits[i]));
        if (!mcp_row_end(call, '}')) break;
    }
    return mcp_answer_end(call, false);
}

bool mcp_why(mcp_call *call)
{
    const int64_t number = mcp_integer_of(call, "operation", -1);
    ts_operation operation;
    ts_gap gap;
    wait waits[STEPS_MOST];
    if (!mcp_need_timeline(call->models, call->set, &call->error)) return false;
    const uint32_t count = ts_replay_graph(call->set->replay).operation_count;
    if (!ts_replay_operation(call->set->replay, (size_t)number, &operation))
        return mcp_fail(call, TS_ERR_NOT_FOUND,
                        "operation: there is no operation %" PRId64 "; they "
                        "are numbered from 0 to %" PRIu32,
                        number, count - 1);
    const uint32_t node = (uint32_t)number;
    const size_t steps = walk_back(call->set->timeline, node, waits);
    const ts_gap *const before =
        gap_before(call, &operation, node, &gap) ? &gap : NULL;
    if (!mcp_answer_begin(call)) return false;
    put_answer(call, waits, steps, before);
    if (!put_trust(call, waits, steps, before)) return false;
    put_operation(call, node, &operation);
    put_gap(call, before);
    return put_waits(call, waits, steps);
}
