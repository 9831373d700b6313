/*
    arguments.c - arguments of a tool, by its schema
*/
#include "tools/mcp/call.h"

// The number of a keyword of a schema; `normal` without it.
static int64_t keyword(const mcp_value *schema, const char *key, int64_t normal)
{
    int64_t number;
    return mcp_integer(mcp_at(schema, key), &number) ? number : normal;
}

static bool has_type(const mcp_value *value, const char *type)
{
    int64_t number;
    if (!strcmp(type, "integer")) return mcp_integer(value, &number);
    if (!strcmp(type, "string")) return value->type == MCP_STRING;
    if (!strcmp(type, "array")) return value->type == MCP_ARRAY;
    return !strcmp(type, "object") && value->type == MCP_OBJECT;
}

static bool check_integer(mcp_call *call, const char *name,
                          const mcp_value *value, const mcp_value *schema)
{
    int64_t number = 0;
    const int64_t least = keyword(schema, "minimum", INT64_MIN);
    const int64_t most = keyword(schema, "maximum", INT64_MAX);
    mcp_integer(value, &number);
    if (number < least)
        return mcp_fail(call, TS_ERR_USAGE, "%s: it is at least %" PRId64, name,
                        least);
    return number <= most || mcp_fail(call, TS_ERR_USAGE,
                                      "%s: it is at most %" PRId64, name, most);
}

static bool check_string(mcp_call *call, const char *name,
                         const mcp_value *value, const mcp_value *schema)
{
    const int64_t size = (int64_t)value->text.size;
    const int64_t most = keyword(schema, "maxLength", INT64_MAX);
    if (memchr(value->text.text, 0, value->text.size))
        return mcp_fail(call, TS_ERR_USAGE, "%s: it holds a zero byte", name);
    if (size < keyword(schema, "minLength", 0))
        return mcp_fail(call, TS_ERR_USAGE, "%s: it is empty", name);
    return size <= most ||
           mcp_fail(call, TS_ERR_USAGE,
                    "%s: it has more than %" PRId64 " bytes", name, most);
}

static bool check(mcp_call *call, const char *name, const mcp_value *value,
                  const mcp_value *schema);

static bool check_array(mcp_call *call, const char *name,
                        const mcp_value *value, const mcp_value *schema)
{
    const int64_t count = (int64_t)value->count;
    const int64_t most = keyword(schema, "maxItems", INT64_MAX);
    if (count < keyword(schema, "minItems", 0))
        return mcp_fail(call, TS_ERR_USAGE, "%s: it is empty", name);
    if (count > most)
        return mcp_fail(call, TS_ERR_USAGE,
                        "%s: it has more than %" PRId64 " elements", name,
                        most);
    for (const mcp_value *v = value->first; v; v = v->next)
        if (!check(call, name, v, mcp_at(schema, "items"))) return false;
    return true;
}

static bool check(mcp_call *call, const char *name, const mcp_value *value,
                  const mcp_value *schema)
{
    const char *const type = mcp_string_at(schema, "type");
    if (!type) return true;
    if (!has_type(value, type))
        return mcp_fail(call, TS_ERR_USAGE, "%s: it is %s %s", name,
                        strchr("aio", *type) ? "an" : "a", type);
    switch (value->type) {
    case MCP_NUMBER: return check_integer(call, name, value, schema);
    case MCP_STRING: return check_string(call, name, value, schema);
    case MCP_ARRAY: return check_array(call, name, value, schema);
    default: return true;
    }
}

// Says which arguments there are.
static bool fail_unknown(mcp_call *call, const mcp_value *argument,
                         const mcp_value *properties)
{
    char names[300] = "";
    size_t size = 0;
    for (const mcp_value *v = properties->first; v; v = v->next)
        size += (size_t)snprintf(names + size, sizeof names - size, "%s%s",
                                 size ? ", " : "", v->key.text);
    return mcp_fail(call, TS_ERR_USAGE, "%s has no argument %.60s; it has %s",
                    call->tool, argument->key.text, names);
}

static bool is_given(const mcp_value *arguments, const char *name)
{
    const mcp_value *const v = mcp_at(arguments, name);
    return v && v->type != MCP_NULL;
}

bool mcp_arguments_check(mcp_call *call, const mcp_value *schema,
                         const mcp_value *defs)
{
    const mcp_value *const properties = mcp_at(schema, "properties");
    const mcp_value *const required = mcp_at(schema, "required");
    const mcp_value *const given = call->arguments;
    for (const mcp_value *v = given ? given->first : NULL; v; v = v->next) {
        const mcp_value *const of = mcp_at(properties, v->key.text);
        if (!of) return fail_unknown(call, v, properties);
        if (v->type == MCP_NULL) continue; // as if it were left out
        if (!check(call, v->key.text, v, mcp_resolve(of, defs))) return false;
    }
    for (const mcp_value *v = required ? required->first : NULL; v; v = v->next)
        if (!is_given(given, v->text.text))
            return mcp_fail(call, TS_ERR_USAGE, "%s needs the argument %s",
                            call->tool, v->text.text);
    return true;
}

int64_t mcp_integer_of(const mcp_call *call, const char *key, int64_t normal)
{
    return keyword(call->arguments, key, normal);
}

mcp_set *mcp_set_of(mcp_call *call, const char *key, uint32_t normal)
{
    const mcp_value *const given = mcp_at(call->arguments, key);
    const mcp_value *const list = mcp_is(given, MCP_ARRAY) ? given : NULL;
    uint32_t files[MCP_FILES_MOST], count = 0;
    if (!list) files[count++] = normal - 1;
    for (const mcp_value *v = list ? list->first : NULL; v; v = v->next) {
        int64_t number = 0;
        mcp_integer(v, &number);
        files[count++] =
            number > UINT32_MAX ? UINT32_MAX : (uint32_t)number - 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (files[i] >= call->models->file_count) {
            mcp_fail(call, TS_ERR_NOT_FOUND,
                     "%s: there is no trace %" PRIu32 "; they are numbered "
                     "from 1 to %" PRIu32,
                     key, files[i] + 1, call->models->file_count);
            return NULL;
        }
        for (uint32_t j = 0; j < i; j++)
            if (files[j] == files[i]) {
                mcp_fail(call, TS_ERR_USAGE,
                         "%s: trace %" PRIu32 " is there "
                         "twice",
                         key, files[i] + 1);
                return NULL;
            }
    }
    return mcp_models_set(call->models, files, count);
}
