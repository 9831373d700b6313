/*
    graph.h - what the tools say of operations and calls
*/
#ifndef TS_TOOLS_MCP_GRAPH_H
#define TS_TOOLS_MCP_GRAPH_H

#include "tools/mcp/call.h"

// An operation, call or join of the set's replay; null for TS_NODE_NONE.
void mcp_put_node(mcp_call *call, cli_json *json, const char *key,
                  uint32_t node);
// The name of an operation.
void mcp_put_operation_name(mcp_call *call, cli_json *json, const char *key,
                            const ts_operation *operation);
// What a cause of idle time means, a clause.
const char *mcp_cause_meaning(ts_idle cause);

#endif // TS_TOOLS_MCP_GRAPH_H
