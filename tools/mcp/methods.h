/*
    methods.h - the methods of the protocol that a client may call
*/
#ifndef TS_TOOLS_MCP_METHODS_H
#define TS_TOOLS_MCP_METHODS_H

#include "tools/mcp/protocol.h"

// Codes of errors. Source: JSON-RPC 2.0, section 5.1; the specification of the
// protocol, revision 2026-07-28, "Error codes"; the resource's is of earlier
// ones.
enum {
    MCP_BAD_JSON = -32700,
    MCP_BAD_REQUEST = -32600,
    MCP_NO_METHOD = -32601,
    MCP_BAD_PARAMS = -32602,
    MCP_INTERNAL = -32603,
    MCP_NO_RESOURCE = -32002,
    MCP_UNSUPPORTED_VERSION = -32022
};

typedef struct mcp_request {
    mcp_server *server;
    const char *method;
    const mcp_value *params; // an object, or NULL
    mcp_revision revision;   // that it speaks
    const char *version;     // that it names itself; or NULL
    const atomic_bool *cancelled;
    cli_json json; // the result, an object that is open
    int code;      // of the error; 0: none
    char why[1200];
} mcp_request;

typedef struct mcp_method {
    const char *name;
    // Writes the members of the result. False: refused, see `code`.
    bool (*answer)(mcp_request *request);
    mcp_revision first, last; // revisions that have it
    bool before;              // may come before the client has initialised
} mcp_method;

// The method of a request; NULL, refused, if there is none.
const mcp_method *mcp_method_find(mcp_request *request);

// Refuses a request. Returns false.
__attribute__((format(printf, 3, 4))) bool
mcp_refuse(mcp_request *request, int code, const char *format, ...);

// "2025-06-18"
const char *mcp_version(mcp_revision revision);
// Writes all of them, the newest first.
void mcp_put_versions(cli_json *json, const char *key);
// Ends a result with what the newest revision wants in each.
void mcp_put_identity(mcp_request *request);

#endif // TS_TOOLS_MCP_METHODS_H
