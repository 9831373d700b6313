/*
    json.c - reading JSON into a tree
*/
#include "tools/mcp/json.h"

#ifdef TRACESMITH_YAJL
#include <yajl/yajl_parse.h>

// Values and texts lie in blocks, which are freed one after the other.
enum { BLOCK_BYTES = 16384 };
typedef struct mcp_block {
    struct mcp_block *next;
    size_t used, size;
    _Alignas(16) char bytes[];
} mcp_block;

typedef struct parser {
    mcp_json *json;
    mcp_value root; // an array around the value
    mcp_value *open[MCP_DEPTH_MOST + 1];
    size_t depth, values;
    ts_text key;
    bool failed;
} parser;

static void *allot(mcp_json *json, size_t size)
{
    mcp_block *block = json->blocks;
    size = (size + 15) & ~(size_t)15;
    if (!block || block->size - block->used < size) {
        const size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        block = malloc(sizeof *block + room);
        if (!block) return NULL;
        *block = (mcp_block){ .next = json->blocks, .size = room };
        json->blocks = block;
    }
    void *const at = block->bytes + block->used;
    block->used += size;
    return at;
}

// Gives up. Returns 0, which ends yajl's work.
static int fail(parser *p, const char *why)
{
    p->failed = true;
    snprintf(p->json->why, sizeof p->json->why, "%s", why);
    return 0;
}

static bool keep(parser *p, const void *bytes, size_t size, ts_text *kept)
{
    char *const copy = allot(p->json, size + 1);
    if (!copy) return false;
    memcpy(copy, bytes, size);
    copy[size] = 0;
    *kept = (ts_text){ copy, size };
    return true;
}

static mcp_value *add(parser *p, mcp_type type)
{
    mcp_value *const into = p->open[p->depth];
    mcp_value *const v =
        p->values < MCP_VALUES_MOST ? allot(p->json, sizeof *v) : NULL;
    if (p->values++ >= MCP_VALUES_MOST) fail(p, "it has over 200,000 values");
    if (!v) {
        if (!p->failed) fail(p, "not enough memory");
        return NULL;
    }
    *v = (mcp_value){ .type = type, .key = p->key };
    p->key = (ts_text){ "", 0 };
    if (into->last)
        into->last->next = v;
    else
        into->first = v;
    into->last = v;
    into->count++;
    return v;
}

static int open_value(parser *p, mcp_type type)
{
    mcp_value *const v = add(p, type);
    if (!v) return 0;
    if (p->depth == MCP_DEPTH_MOST)
        return fail(p, "it is nested more than 64 deep");
    p->open[++p->depth] = v;
    return 1;
}

static int add_text(parser *p, mcp_type type, const void *bytes, size_t size)
{
    mcp_value *const v = add(p, type);
    if (!v) return 0;
    return keep(p, bytes, size, &v->text) || fail(p, "not enough memory");
}

static int on_null(void *p)
{
    return add(p, MCP_NULL) != NULL;
}
static int on_bool(void *p, int truth)
{
    mcp_value *const v = add(p, MCP_BOOL);
    if (v) v->truth = truth;
    return v != NULL;
}
static int on_number(void *p, const char *bytes, size_t size)
{
    return add_text(p, MCP_NUMBER, bytes, size);
}
static int on_string(void *p, const unsigned char *bytes, size_t size)
{
    return add_text(p, MCP_STRING, bytes, size);
}
static int on_key(void *user, const unsigned char *bytes, size_t size)
{
    parser *const p = user;
    return keep(p, bytes, size, &p->key) || fail(p, "not enough memory");
}
static int on_object(void *p)
{
    return open_value(p, MCP_OBJECT);
}
static int on_array(void *p)
{
    return open_value(p, MCP_ARRAY);
}
static int on_end(void *user)
{
    parser *const p = user;
    p->depth--;
    return 1;
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_bool,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_object,
    .yajl_map_key = on_key,
    .yajl_end_map = on_end,
    .yajl_start_array = on_array,
    .yajl_end_array = on_end,
};

bool mcp_json_readable(void)
{
    return true;
}

// Turns yajl's message, a line, into a clause with the place.
static void say_error(parser *p, yajl_handle yajl, size_t at)
{
    unsigned char *const text = yajl_get_error(yajl, 0, NULL, 0);
    const char *said = text ? (const char *)text : "not enough memory";
    const char *const colon = strstr(said, ": ");
    if (colon) said = colon + 2;
    snprintf(p->json->why, sizeof p->json->why, "%.*s (after byte %zu)",
             (int)strcspn(said, "\n"), said, at);
    if (text) yajl_free_error(yajl, text);
}

bool mcp_json_read(mcp_json *json, const char *text, size_t size)
{
    *json = (mcp_json){ 0 };
    parser p = { .json = json, .key = { "", 0 } };
    p.open[0] = &p.root;
    const yajl_handle yajl = yajl_alloc(&callbacks, NULL, &p);
    if (!yajl) return fail(&p, "not enough memory");
    yajl_status status = yajl_parse(yajl, (const unsigned char *)text, size);
    size_t at = yajl_get_bytes_consumed(yajl);
    if (status == yajl_status_ok) {
        status = yajl_complete_parse(yajl);
        at = size;
    }
    if (status != yajl_status_ok && !p.failed) say_error(&p, yajl, at);
    yajl_free(yajl);
    if (status != yajl_status_ok) return false;
    if (!p.root.first) return fail(&p, "there is no value");
    json->root = p.root.first;
    return true;
}

void mcp_json_close(mcp_json *json)
{
    while (json->blocks) {
        mcp_block *const next = json->blocks->next;
        free(json->blocks);
        json->blocks = next;
    }
    json->root = NULL;
}

#else

bool mcp_json_readable(void)
{
    return false;
}
bool mcp_json_read(mcp_json *json, const char *text, size_t size)
{
    (void)text;
    (void)size;
    *json = (mcp_json){ .why = "this build cannot read JSON" };
    return false;
}
void mcp_json_close(mcp_json *json)
{
    json->root = NULL;
}

#endif

/* ---- Looking up ---------------------------------------------------------- */

const mcp_value *mcp_at(const mcp_value *value, const char *key)
{
    if (!mcp_is(value, MCP_OBJECT)) return NULL;
    const size_t size = strlen(key);
    for (const mcp_value *v = value->first; v; v = v->next)
        if (v->key.size == size && !memcmp(v->key.text, key, size)) return v;
    return NULL;
}

bool mcp_is(const mcp_value *value, mcp_type type)
{
    return value && value->type == type;
}

bool mcp_equals(const mcp_value *value, const char *text)
{
    return mcp_is(value, MCP_STRING) && value->text.size == strlen(text) &&
           !memcmp(value->text.text, text, value->text.size);
}

const char *mcp_string_at(const mcp_value *value, const char *key)
{
    const mcp_value *const v = mcp_at(value, key);
    return mcp_is(v, MCP_STRING) ? v->text.text : NULL;
}

bool mcp_integer(const mcp_value *value, int64_t *number)
{
    if (!mcp_is(value, MCP_NUMBER)) return false;
    char *end;
    errno = 0;
    *number = strtoll(value->text.text, &end, 10);
    if (errno) return false;
    if (!*end) return true;
    // 3.0 is an integer, too, as long as no digit of it was rounded.
    const double real = strtod(value->text.text, &end);
    if (*end || !(real >= -0x1p53 && real <= 0x1p53)) return false;
    *number = (int64_t)real;
    return !((double)*number < real) && !((double)*number > real);
}

/* ---- Writing ------------------------------------------------------------- */

const mcp_value *mcp_resolve(const mcp_value *value, const mcp_value *defs)
{
    const char *const reference = defs ? mcp_string_at(value, "$ref") : NULL;
    const char *const name = reference ? strrchr(reference, '/') : NULL;
    const mcp_value *const found = name ? mcp_at(defs, name + 1) : NULL;
    return found ? found : value;
}

void mcp_json_put(cli_json *json, const char *key, const mcp_value *value,
                  const mcp_value *defs)
{
    value = mcp_resolve(value, defs);
    const bool object = value->type == MCP_OBJECT;
    switch (value->type) {
    case MCP_NULL: cli_json_null(json, key); return;
    case MCP_BOOL: cli_json_bool(json, key, value->truth); return;
    case MCP_NUMBER:
        cli_json_raw(json, key, value->text.text, value->text.size);
        return;
    case MCP_STRING:
        cli_json_text(json, key, value->text.text, value->text.size);
        return;
    default: break;
    }
    cli_json_open(json, key, object ? '{' : '[');
    for (const mcp_value *v = value->first; v; v = v->next)
        mcp_json_put(json, object ? v->key.text : NULL, v, defs);
    cli_json_close(json, object ? '}' : ']');
}
