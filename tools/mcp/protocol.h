/*
    protocol.h - messages of the protocol: requests, notifications, batches
*/
#ifndef TS_TOOLS_MCP_PROTOCOL_H
#define TS_TOOLS_MCP_PROTOCOL_H

#include "tools/mcp/call.h"
#include "tools/mcp/mcp.h"
#include <pthread.h>

// Revisions of the protocol, in order.
typedef enum mcp_revision {
    MCP_NONE = -1, // no client has initialised
    MCP_2024_11 = 0,
    MCP_2025_03, // annotations of tools, batches
    MCP_2025_06, // structured results, no batches
    MCP_2025_11,
    MCP_2026_07, // no session: each request says what it speaks
    MCP_REVISIONS
} mcp_revision;

struct mcp_server {
    const cli_tool *tool;
    mcp_models models;
    mcp_json catalog; // of the tools
    mcp_revision revision;
    void (*send)(void *user, const char *line, size_t size);
    void *user;
    pthread_mutex_t sending;
};

// A message that came in, which another thread may cancel.
typedef struct mcp_message {
    struct mcp_message *next; // in a queue
    mcp_json json;
    atomic_bool *cancelled; // one for each request of it
} mcp_message;

// Reads a line. NULL without memory; if it is no JSON, json.root is NULL.
mcp_message *mcp_message_read(const char *line, size_t size);
void mcp_message_close(mcp_message *message);
// Cancels what a request of the message asks for. False: it has none with this
// id.
bool mcp_message_cancel(mcp_message *message, const mcp_value *id);
// Answers a message.
void mcp_message_answer(mcp_server *server, const mcp_message *message);

// Whether a message is a notification or a request of this method.
bool mcp_message_is(const mcp_value *message, const char *method);
// Writes the answer to a ping.
void mcp_pong(mcp_server *server, const mcp_value *id);

// Says that a line is longer than MCP_LINE_MOST.
void mcp_too_long(mcp_server *server);

#endif // TS_TOOLS_MCP_PROTOCOL_H
