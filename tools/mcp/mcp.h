/*
    mcp.h - a server of the Model Context Protocol over traces

    One JSON-RPC message a line comes in, one a line goes out. Requests are
    answered one after the other, by a thread that keeps what it has computed of
    the traces; another one reads, so that a request can be cancelled and a ping
    is answered while a long one runs. All that is known of a trace comes
    through tracesmith_tools.h and tracesmith_replay.h.

    Source: modelcontextprotocol.io, specification, revisions 2024-11-05 to
    2026-07-28; JSON-RPC 2.0.
*/
#ifndef TS_TOOLS_MCP_MCP_H
#define TS_TOOLS_MCP_MCP_H

#include "tools/cli/cli.h"

// A message, and a line of the output, may have so many bytes.
enum { MCP_LINE_MOST = 4 << 20 };

typedef struct mcp_server mcp_server;

/*
    Opens a server for traces. NULL, with the reason on stderr, if one cannot be
    read or this build lacks a library. send: takes one message, a line without
    its line break; it may be called by two threads, but not at once.
*/
mcp_server *mcp_open(const cli_tool *tool, const char *const *paths,
                     size_t count,
                     void (*send)(void *user, const char *line, size_t size),
                     void *user);
void mcp_close(mcp_server *server);

// Answers one line, for a caller that has no threads.
void mcp_take_line(mcp_server *server, const char *line, size_t size);

// Reads lines from a descriptor and answers them until its end. Returns CLI_OK,
// or CLI_FAILED if it cannot be read.
int mcp_serve(mcp_server *server, int from);

#endif // TS_TOOLS_MCP_MCP_H
