/*
    json.h - JSON that somebody else wrote, as a tree

    Texts come from a client or from a report of our own. Nothing here recurses
    further than DEPTH, and a document that is too large is refused, whatever
    the bytes are.
*/
#ifndef TS_TOOLS_MCP_JSON_H
#define TS_TOOLS_MCP_JSON_H

#include "tools/cli/cli.h"

enum { MCP_DEPTH_MOST = 64, MCP_VALUES_MOST = 200000 };

typedef enum mcp_type {
    MCP_NULL,
    MCP_BOOL,
    MCP_NUMBER,
    MCP_STRING,
    MCP_ARRAY,
    MCP_OBJECT
} mcp_type;

typedef struct mcp_value {
    mcp_type type;
    bool truth;                     // of MCP_BOOL
    ts_text key;                    // in an object; with a zero behind it
    ts_text text;                   // MCP_STRING; MCP_NUMBER as it was written
    struct mcp_value *next;         // the next element of the array or object
    struct mcp_value *first, *last; // elements
    size_t count;
} mcp_value;

typedef struct mcp_json {
    const mcp_value *root; // NULL: it is no JSON, see `why`
    char why[200];         // what is wrong and where, one clause
    struct mcp_block *blocks;
} mcp_json;

// Whether this build can read JSON.
bool mcp_json_readable(void);
// Parses one value. Close it also after a failure.
bool mcp_json_read(mcp_json *json, const char *text, size_t size);
void mcp_json_close(mcp_json *json);

// The element of an object with this key, the first of several; NULL: there is
// none, or `value` is NULL or no object.
const mcp_value *mcp_at(const mcp_value *value, const char *key);
// The string with this key; NULL: there is none. It has a zero behind it.
const char *mcp_string_at(const mcp_value *value, const char *key);
bool mcp_is(const mcp_value *value, mcp_type type);
bool mcp_equals(const mcp_value *value, const char *text);
// Gets an integer; false if it is none, or beyond 64 bits.
bool mcp_integer(const mcp_value *value, int64_t *number);
// What an object with "$ref" stands for: the member of `defs` (NULL: none) with
// the last word of the reference. Other values stand for themselves.
const mcp_value *mcp_resolve(const mcp_value *value, const mcp_value *defs);
// Writes a value as it was read; references in it are resolved.
void mcp_json_put(cli_json *json, const char *key, const mcp_value *value,
                  const mcp_value *defs);

#endif // TS_TOOLS_MCP_JSON_H
