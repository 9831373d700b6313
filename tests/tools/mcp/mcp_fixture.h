/*
    mcp_fixture.h - a server whose answers are remembered, as a tree
*/
#ifndef MCP_FIXTURE_H
#define MCP_FIXTURE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tools/mcp/methods.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "tests/unit.h"
#include <unistd.h>

static const cli_tool mcp_tool = { .name = "ts-mcp" };

typedef struct client {
    mcp_server *server;
    mcp_text line;  // the last answer; empty: there was none
    mcp_json json;  // it, read
    uint64_t lines; // answers so far
} client;

static inline void client_take(void *user, const char *line, size_t size)
{
    client *const c = user;
    c->line.size = 0;
    c->lines++;
    assert_null(memchr(line, '\n', size));
    assert_true(mcp_text_add(&c->line, line, size));
}

static inline void client_open(client *c, const char *const *paths,
                               size_t count)
{
    *c = (client){ .server = NULL };
    c->server = mcp_open(&mcp_tool, paths, count, client_take, c);
    assert_non_null(c->server);
}

static inline void client_close(client *c)
{
    mcp_close(c->server);
    mcp_json_close(&c->json);
    free(c->line.text);
}

// Sends bytes and reads the answer; NULL: there is none.
static inline const mcp_value *send_bytes(client *c, const char *bytes,
                                          size_t size)
{
    mcp_json_close(&c->json);
    c->line.size = 0;
    mcp_take_line(c->server, bytes, size);
    if (!c->line.size) return NULL;
    if (!mcp_json_read(&c->json, c->line.text, c->line.size))
        fail_msg("%s: %s", c->json.why, c->line.text);
    return c->json.root;
}

static inline const mcp_value *send_line(client *c, const char *line)
{
    return send_bytes(c, line, strlen(line));
}

static inline int64_t integer_at(const mcp_value *value, const char *key)
{
    int64_t number;
    if (!mcp_integer(mcp_at(value, key), &number)) fail_msg("no %s", key);
    return number;
}

static inline int64_t code_of(const mcp_value *answer)
{
    return integer_at(mcp_at(answer, "error"), "code");
}

// Initialises with a version, or none.
static inline const mcp_value *client_begin(client *c, const char *version)
{
    char line[300];
    snprintf(line, sizeof line,
             "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
             "\"params\":{\"protocolVersion\":\"%s\",\"capabilities\":{},"
             "\"clientInfo\":{\"name\":\"test\",\"version\":\"1\"}}}",
             version);
    return mcp_at(send_line(c, line), "result");
}

// Calls a tool; arguments: JSON, with ' for ".
static inline const mcp_value *client_call(client *c, const char *tool,
                                           const char *arguments)
{
    char line[4096];
    const int size = snprintf(
        line, sizeof line,
        "{'jsonrpc':'2.0','id':'x','method':'tools/call','params':{'name':"
        "'%s','arguments':%s}}",
        tool, arguments);
    assert_in_range(size, 1, sizeof line - 1);
    for (char *at = line; (at = strchr(at, '\'')) != NULL;)
        *at = '"';
    return mcp_at(send_line(c, line), "result");
}

// Calls it and expects an answer.
static inline const mcp_value *ask(client *c, const char *tool,
                                   const char *arguments)
{
    const mcp_value *const result = client_call(c, tool, arguments);
    const mcp_value *const answer = mcp_at(result, "structuredContent");
    if (!answer) fail_msg("%s", c->line.text);
    return answer;
}

// Calls it and expects an error that says so.
#define assert_refused(c, tool, arguments, words) \
    do { \
        const mcp_value *const got = client_call(c, tool, arguments); \
        assert_true(mcp_at(got, "isError")->truth); \
        assert_null(mcp_at(got, "structuredContent")); \
        const char *const said = \
            mcp_string_at(mcp_at(got, "content")->first, "text"); \
        if (!strstr(said, words)) \
            fail_msg("'%s' says nothing of '%s'", said, words); \
    } while (0)

#endif // MCP_FIXTURE_H
