/*
    json.c - execution traces as PyTorch's observer writes them

    An object with "schema", "pid" and "nodes". From schema 1.0.2 on a node has
    its id in "attrs", a list of objects with name and value, and "inputs" and
    "outputs" are objects of "values", "shapes" and "types"; before, all of it
    was fields of the node.
*/
#include "tools/import/execution/execution.h"

bool execution_is_json(const uint8_t *head, size_t size)
{
    size_t at = size >= 3 && !memcmp(head, "\xEF\xBB\xBF", 3) ? 3 : 0;
    while (at < size && head[at] && strchr(" \t\r\n", head[at]))
        at++;
    return at < size && head[at] == '{' &&
           import_has(head, size, "\"nodes\"") &&
           import_has(head, size, "\"schema\"") &&
           import_has(head, size, "\"rf_id\"") &&
           !import_has(head, size, "\"traceEvents\"");
}

#ifdef TRACESMITH_YAJL
#include <yajl/yajl_parse.h>

typedef enum place {
    AT_START,
    AT_TOP,
    IN_NODES,
    IN_NODE,
    IN_GROUP, // inputs or outputs
    IN_ATTRS,
    IN_ATTR,
    IN_VALUE, // in an array or object that is kept as text
    AT_END
} place;

enum { PIECE = 64 << 10, DEPTH = 256, KEY = EXECUTION_KEY + 1 };

typedef struct parser {
    execution_file *file;
    place place, outside; // outside: the place after IN_VALUE
    char key[KEY];        // of the node, or of the group before an underscore
    char inner[KEY];      // of the group or attribute
    char name[KEY];       // of an attribute
    char *text;           // of the value or attribute; size
    size_t size, room;
    execution_type type; // of an attribute's value
    uint32_t depth;
    bool comma;
} parser;

static int put(parser *p, const void *bytes, size_t size)
{
    // One byte more shows that it is truncated.
    if (p->size + size > EXECUTION_TEXT + 1)
        size = EXECUTION_TEXT + 1 - p->size;
    if (!cli_grow(&p->text, &p->room, p->size + size, 1)) {
        p->file->no_memory = true;
        return 0;
    }
    if (size) memcpy(p->text + p->size, bytes, size);
    p->size += size;
    return 1;
}

// Appends a JSON string, escaping only what must be.
static int put_string(parser *p, const unsigned char *bytes, size_t size)
{
    int ok = put(p, "\"", 1);
    for (size_t i = 0; ok && i < size; i++) {
        char escape[8];
        const bool plain =
            bytes[i] >= ' ' && bytes[i] != '"' && bytes[i] != '\\';
        const int count =
            plain ? 1
                  : snprintf(escape, sizeof escape,
                             bytes[i] < ' ' ? "\\u%04x" : "\\%c", bytes[i]);
        ok = put(p, plain ? (const char *)bytes + i : escape, (size_t)count);
    }
    return ok && put(p, "\"", 1);
}

static bool is(const char *key, const char *word)
{
    return !strcmp(key, word);
}

// Takes a complete value at the current place.
static void take(parser *p, execution_type type, const char *text, size_t size)
{
    char key[2 * KEY];
    if (p->place == AT_TOP && is(p->key, "schema") && type == EXECUTION_STRING)
        snprintf(p->file->schema, sizeof p->file->schema, "%.*s",
                 size < 63 ? (int)size : 63, text);
    if (p->place == AT_TOP && is(p->key, "pid") && type == EXECUTION_NUMBER &&
        size && size < 19) {
        p->file->process = 0;
        for (size_t i = 0; i < size && p->file->process >= 0; i++)
            p->file->process = text[i] < '0' || text[i] > '9'
                                   ? IMPORT_NONE
                                   : p->file->process * 10 + (text[i] - '0');
    }
    if (p->place == IN_NODE)
        execution_node_value(p->file,
                             is(p->key, "parent") ? "ctrl_deps" : p->key, type,
                             text, size);
    if (p->place == IN_GROUP) { // as the first schemas name them
        if (is(p->inner, "values"))
            snprintf(key, sizeof key, "%s", p->key);
        else
            snprintf(key, sizeof key, "%.*s_%s", (int)strlen(p->key) - 1,
                     p->key, p->inner);
        execution_node_value(p->file, key, type, text, size);
    }
    if (p->place == IN_ATTR && is(p->inner, "name"))
        snprintf(p->name, sizeof p->name, "%.*s",
                 size < KEY - 1 ? (int)size : KEY - 1, text);
    if (p->place == IN_ATTR && is(p->inner, "value")) {
        p->type = type;
        if (text == p->text) return; // nested: it is there already
        p->size = 0;
        put(p, text, size);
    }
}

static int value(parser *p, execution_type type, const char *text, size_t size)
{
    if (p->place == AT_START || p->place == AT_END) return 0;
    if (p->place != IN_VALUE) {
        take(p, type, text, size);
        return !p->file->no_memory;
    }
    const int ok = !p->comma || put(p, ",", 1);
    p->comma = true;
    return ok && (type == EXECUTION_STRING
                      ? put_string(p, (const unsigned char *)text, size)
                      : put(p, text, size));
}

static int on_null(void *user)
{
    parser *const p = user;
    if (p->place != IN_VALUE) return p->place != AT_START;
    return value(p, EXECUTION_NUMBER, "null", 4);
}

static int on_boolean(void *user, int is_true)
{
    return is_true ? value(user, EXECUTION_TRUE, "true", 4)
                   : value(user, EXECUTION_FALSE, "false", 5);
}

static int on_number(void *user, const char *text, size_t size)
{
    return value(user, EXECUTION_NUMBER, text, size);
}

static int on_string(void *user, const unsigned char *text, size_t size)
{
    return value(user, EXECUTION_STRING, (const char *)text, size);
}

static int on_key(void *user, const unsigned char *text, size_t size)
{
    parser *const p = user;
    if (p->place == IN_VALUE) {
        const int ok = (!p->comma || put(p, ",", 1)) &&
                       put_string(p, text, size) && put(p, ":", 1);
        p->comma = false;
        return ok;
    }
    char *const key =
        p->place == IN_GROUP || p->place == IN_ATTR ? p->inner : p->key;
    if (size >= KEY) size = KEY - 1;
    memcpy(key, text, size);
    key[size] = 0;
    return 1;
}

static int nest(parser *p, const char *bracket)
{
    if (p->place != IN_VALUE) {
        p->outside = p->place;
        p->place = IN_VALUE;
        p->depth = 0;
        p->comma = false;
        p->size = 0;
    }
    const int ok = (!p->comma || put(p, ",", 1)) && put(p, bracket, 1);
    p->comma = false;
    return ok && ++p->depth < DEPTH;
}

static int unnest(parser *p, const char *bracket)
{
    const int ok = put(p, bracket, 1);
    p->comma = true;
    if (--p->depth) return ok;
    p->place = p->outside;
    take(p, EXECUTION_STRING, p->text, p->size);
    return ok;
}

static int on_begin_map(void *user)
{
    parser *const p = user;
    switch (p->place) {
    case AT_START: p->place = AT_TOP; return 1;
    case IN_NODES:
        p->place = IN_NODE;
        execution_node_begin(p->file);
        return 1;
    case IN_ATTRS:
        p->place = IN_ATTR;
        p->size = 0;
        *p->name = 0;
        p->type = EXECUTION_STRING;
        return 1;
    case IN_NODE:
        if (!is(p->key, "inputs") && !is(p->key, "outputs")) break;
        p->place = IN_GROUP;
        return 1;
    default: break;
    }
    return nest(p, "{");
}

static int on_end_map(void *user)
{
    parser *const p = user;
    switch (p->place) {
    case AT_TOP: p->place = AT_END; return 1;
    case IN_GROUP: p->place = IN_NODE; return 1;
    case IN_ATTR:
        p->place = IN_ATTRS;
        if (*p->name)
            execution_node_value(p->file, p->name, p->type, p->text, p->size);
        return !p->file->no_memory;
    case IN_NODE:
        p->place = IN_NODES;
        execution_node_end(p->file);
        return !p->file->no_memory;
    default: return unnest(p, "}");
    }
}

static int on_begin_list(void *user)
{
    parser *const p = user;
    if (p->place == AT_START) return 0;
    if (p->place == AT_TOP && is(p->key, "nodes"))
        p->place = IN_NODES;
    else if (p->place == IN_NODE && is(p->key, "attrs"))
        p->place = IN_ATTRS;
    else
        return nest(p, "[");
    return 1;
}

static int on_end_list(void *user)
{
    parser *const p = user;
    if (p->place == IN_VALUE) return unnest(p, "]");
    p->place = p->place == IN_ATTRS ? IN_NODE : AT_TOP;
    return 1;
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_begin_map,
    .yajl_map_key = on_key,
    .yajl_end_map = on_end_map,
    .yajl_start_array = on_begin_list,
    .yajl_end_array = on_end_list,
};

const char *execution_read_json(execution_file *file, import_source *source)
{
    parser p = { .file = file };
    yajl_handle yajl = yajl_alloc(&callbacks, NULL, &p);
    uint8_t *const piece = malloc(PIECE);
    file->no_memory |= !yajl || !piece;
    yajl_status status = yajl_status_ok;
    if (yajl) yajl_config(yajl, yajl_dont_validate_strings, 1);
    if (yajl) yajl_config(yajl, yajl_allow_trailing_garbage, 1);
    for (size_t size; !file->no_memory && status == yajl_status_ok &&
                      (size = import_source_read(source, piece, PIECE));)
        status = yajl_parse(yajl, piece, size);
    free(piece);
    free(p.text);
    if (yajl) yajl_free(yajl);
    return status != yajl_status_ok
               ? "it is no valid JSON of an execution trace"
           : p.place != AT_END ? "the file is truncated"
                               : NULL;
}

#else

// Not called: the core looks at `missing` first.
const char *execution_read_json(execution_file *file, import_source *source)
{
    (void)file, (void)source;
    return NULL;
}
#endif

/* ---- Alone -------------------------------------------------------------- */

static bool recognise(import_source *source)
{
    size_t size;
    const uint8_t *const head = import_source_head(source, &size);
    return execution_is_json(head, size);
}

static bool refuse(import_job *job)
{
    return import_fail(job, "an execution trace has no times; give it with the "
                            "profiler's trace of the same run: ts-import -o "
                            "OUT TRACE.json EXECUTION.json");
}

const import_format import_torch_execution = {
    .name = "torch-et",
    .title = "execution trace of PyTorch, with its Kineto trace",
#ifndef TRACESMITH_YAJL
    .missing = "yajl",
#endif
    .recognise = recognise,
    .import = refuse,
};
