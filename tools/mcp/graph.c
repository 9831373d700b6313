/*
    graph.c - what the tools say of operations and calls
*/
#include "tools/mcp/graph.h"

const char *mcp_cause_meaning(ts_idle cause)
{
    static const char *const meanings[TS_IDLE_LIMIT] = {
        "the host launched the next operation too late: it did something else",
        "the next operation was launched and on its way",
        "the next operation waited for a kernel of another stream or device",
        "the next operation waited for a copy of another stream or device",
        "the next operation waited for a collective",
        "the thread that launches was blocked in a synchronisation",
        "the thread that launches was blocked, as a queue was full",
        "nothing in the record explains it",
        "the next operation was ready, but the device started it late",
    };
    return meanings[cause];
}

void mcp_put_operation_name(mcp_call *call, cli_json *json, const char *key,
                            const ts_operation *operation)
{
    const ts_reader *const reader =
        ts_replay_reader(call->set->replay, operation->file);
    mcp_put_name(call, json, key, ts_operation_label(reader, operation));
}

static const char *type_of(const ts_node *node)
{
    return node->type == TS_NODE_OPERATION ? "operation"
           : node->type == TS_NODE_CALL    ? "call"
                                           : "join";
}

static void put_name(mcp_call *call, cli_json *json, uint32_t number,
                     const ts_node *node)
{
    const ts_replay *const replay = call->set->replay;
    const ts_reader *const reader = ts_replay_reader(replay, node->file);
    ts_operation operation;
    if (node->type == TS_NODE_OPERATION &&
        ts_replay_operation(replay, number, &operation))
        mcp_put_operation_name(call, json, "name", &operation);
    else if (node->type == TS_NODE_CALL && reader)
        mcp_put_name(call, json, "name", ts_reader_name(reader, node->name));
    else
        cli_json_string(json, "name", "");
}

void mcp_put_node(mcp_call *call, cli_json *json, const char *key,
                  uint32_t number)
{
    const ts_replay *const replay = call->set->replay;
    ts_node node;
    if (number == TS_NODE_NONE || !ts_replay_node(replay, number, &node)) {
        cli_json_null(json, key);
        return;
    }
    if (node.type == TS_NODE_END) {
        mcp_put_node(call, json, key, node.owner);
        return;
    }
    cli_json_open(json, key, '{');
    cli_json_uint(json, "node", number);
    cli_json_string(json, "type", type_of(&node));
    put_name(call, json, number, &node);
    mcp_put_track(call, json, "track", node.file, node.track);
    cli_json_int(json, "start_ns", node.recorded_ns);
    cli_json_int(json, "end_ns", node.recorded_ns + node.duration_ns);
    cli_json_close(json, '}');
}
