/*
    json.c - makes rows of yajl's callbacks
*/
#include "tools/import/kineto/kineto.h"

#ifdef TRACESMITH_YAJL
#include "tools/import/kineto/parser.h"

/* ---- Texts of a row ----------------------------------------------------- */

static void append(kineto_parser *p, const void *bytes, size_t size)
{
    if (size > TEXT - p->text_size) {
        size = TEXT - p->text_size;
        p->full = true;
    }
    memcpy(p->text + p->text_size, bytes, size);
    p->text_size += size;
}

static const char *keep(kineto_parser *p, const void *bytes, size_t size)
{
    const char *const at = p->text + p->text_size;
    append(p, bytes, size > VALUE ? VALUE : size);
    return at;
}

// Appends a part of a nested value, if the value is kept.
static void put(kineto_parser *p, const void *bytes, size_t size)
{
    kineto_value *const into = p->into;
    if (!into) return;
    const size_t before = p->text_size;
    append(p, bytes, into->size + size > VALUE ? VALUE - into->size : size);
    into->size += p->text_size - before;
}

// Appends a JSON string, escaping only what must be.
static void put_string(kineto_parser *p, const uint8_t *bytes, size_t size)
{
    size_t from = 0;
    put(p, "\"", 1);
    for (size_t i = 0; i < size; i++) {
        char escape[8];
        if (bytes[i] >= ' ' && bytes[i] != '"' && bytes[i] != '\\') continue;
        put(p, bytes + from, i - from);
        put(p, escape,
            (size_t)snprintf(escape, sizeof escape,
                             bytes[i] < ' ' ? "\\u%04x" : "\\%c", bytes[i]));
        from = i + 1;
    }
    put(p, bytes + from, size - from);
    put(p, "\"", 1);
}

// Queues the completed row and starts the next one.
static void give(kineto_parser *p)
{
    kineto_flow_give(p->flow, p->text_size);
    p->row = kineto_flow_row(p->flow);
    p->text = kineto_flow_text(p->flow);
    p->text_size = 0;
}

static void begin_row(kineto_parser *p, kineto_place kind)
{
    p->list = p->place;
    p->place = kind == KINETO_EVENT ? IN_ROW : IN_ARGS;
    p->row->place = kind;
    p->row->arg_count = 0;
    memset(p->row->fields, 0, sizeof p->row->fields);
    if (kind != KINETO_OBJECT) p->text_size = 0;
    p->full = false;
    p->into = NULL;
    p->field = -1;
    p->row_open = kind == KINETO_EVENT;
    // The bracket is already consumed.
    p->row_at = p->at + yajl_get_bytes_consumed(p->yajl) - 1;
    p->row_lost = false;
}

static void end_row(kineto_parser *p)
{
    p->place = p->list;
    p->row_open = false;
    p->is_done = true;
    if (p->full) kineto_note(p->flow, KINETO_FLAW, "long_row");
    give(p);
}

/* ---- What yajl finds ---------------------------------------------------- */

static void separate(kineto_parser *p)
{
    if (p->comma) put(p, ",", 1);
    p->comma = true;
}

static void set(kineto_parser *p, kineto_value *into, kineto_type type,
                const void *bytes, size_t size)
{
    into->text = keep(p, bytes, size);
    into->size = (size_t)(p->text + p->text_size - into->text);
    into->type = type;
}

// Returns where to store a value outside traceEvents.
static kineto_value *metadata_value(kineto_parser *p)
{
    kineto_arg *const arg = &p->row->args[0];
    p->row->place = KINETO_SCALAR;
    p->row->arg_count = 1;
    arg->key = p->row->key;
    arg->key_size = p->row->key_size;
    return &arg->value;
}

// Handles a value that is no array or object. False: it is not allowed there.
static int value(kineto_parser *p, kineto_type type, const void *bytes,
                 size_t size)
{
    p->last_fed = p->fed;
    switch (p->place) {
    case IN_NESTED:
        separate(p);
        if (type == KINETO_TEXT)
            put_string(p, bytes, size);
        else
            put(p, bytes, size);
        break;
    case IN_ROW:
    case IN_ARGS:
        if (!p->into) break;
        set(p, p->into, type, bytes, size);
        break;
    case AT_TOP:
        set(p, metadata_value(p), type, bytes, size);
        give(p);
        break;
    case AT_START: return 0;
    default: kineto_note(p->flow, KINETO_BAD, "not_an_object");
    }
    return 1;
}

static int on_null(void *user)
{
    return value(user, KINETO_NULL, "null", 4);
}

static int on_boolean(void *user, int is)
{
    return is ? value(user, KINETO_TRUE, "true", 4)
              : value(user, KINETO_FALSE, "false", 5);
}

static int on_number(void *user, const char *text, size_t size)
{
    return value(user, KINETO_NUMBER, text, size);
}

static int on_string(void *user, const unsigned char *text, size_t size)
{
    return value(user, KINETO_TEXT, text, size);
}

static kineto_value *next_arg(kineto_parser *p, const unsigned char *key,
                              size_t size)
{
    if (p->row->arg_count == KINETO_ARGS) {
        kineto_note(p->flow, KINETO_HOMELESS, "arguments beyond the 64th");
        return NULL;
    }
    kineto_arg *const arg = &p->row->args[p->row->arg_count++];
    arg->key = keep(p, key, size);
    arg->key_size = (size_t)(p->text + p->text_size - arg->key);
    memset(&arg->value, 0, sizeof arg->value);
    return &arg->value;
}

static int on_key(void *user, const unsigned char *key, size_t size)
{
    kineto_parser *const p = user;
    p->last_fed = p->fed;
    if (p->place == IN_NESTED) {
        separate(p);
        put_string(p, key, size);
        put(p, ":", 1);
        p->comma = false;
    } else if (p->place == IN_ARGS) {
        p->into = next_arg(p, key, size);
    } else if (p->place == IN_ROW) {
        p->field = kineto_field_of(key, size);
        p->into = p->field >= 0 && p->field < KINETO_FIELDS
                      ? &p->row->fields[p->field]
                      : NULL;
    } else {
        p->text_size = 0;
        p->row->key = keep(p, key, size);
        p->row->key_size = p->text_size;
    }
    return 1;
}

static void begin_nested(kineto_parser *p, const char *bracket)
{
    if (p->place != IN_NESTED) {
        p->outside = p->place;
        p->depth = 0;
        p->comma = false;
        if (p->place == AT_TOP) p->into = metadata_value(p);
        if (p->place == IN_EVENTS || p->place == IN_DEVICES) {
            kineto_note(p->flow, KINETO_BAD, "not_an_object");
            p->into = NULL;
        }
        if (p->into) {
            p->into->type = KINETO_NESTED;
            p->into->text = p->text + p->text_size;
            p->into->size = 0;
        }
        p->place = IN_NESTED;
    }
    separate(p);
    put(p, bracket, 1);
    p->comma = false;
    p->depth++;
}

static void end_nested(kineto_parser *p, const char *bracket)
{
    put(p, bracket, 1);
    p->comma = true;
    if (--p->depth) return;
    p->place = p->outside;
    p->into = NULL;
    if (p->place == AT_TOP) give(p);
}

static bool key_is(const kineto_parser *p, const char *key)
{
    return p->row->key_size == strlen(key) &&
           !memcmp(p->row->key, key, p->row->key_size);
}

static int on_begin_map(void *user)
{
    kineto_parser *const p = user;
    p->last_fed = p->fed;
    switch (p->place) {
    case AT_START: p->place = AT_TOP; break;
    case AT_TOP: begin_row(p, KINETO_OBJECT); break;
    case IN_EVENTS: begin_row(p, KINETO_EVENT); break;
    case IN_DEVICES: begin_row(p, KINETO_DEVICE); break;
    case IN_ROW:
        if (p->field == KINETO_FIELDS)
            p->place = IN_ARGS;
        else
            begin_nested(p, "{");
        break;
    default: begin_nested(p, "{");
    }
    return p->depth < DEPTH;
}

static int on_end_map(void *user)
{
    kineto_parser *const p = user;
    if (p->place == IN_NESTED) {
        end_nested(p, "}");
    } else if (p->place == IN_ARGS && p->row->place == KINETO_EVENT) {
        p->place = IN_ROW;
        p->into = NULL;
    } else if (p->place == IN_ARGS || p->place == IN_ROW) {
        end_row(p);
    } else {
        p->place = AT_END;
    }
    return 1;
}

static int on_begin_list(void *user)
{
    kineto_parser *const p = user;
    p->last_fed = p->fed;
    if (p->place == AT_START ||
        (p->place == AT_TOP && key_is(p, "traceEvents"))) {
        p->is_array |= p->place == AT_START;
        p->events_seen = true;
        p->place = IN_EVENTS;
    } else if (p->place == AT_TOP && key_is(p, "deviceProperties")) {
        p->place = IN_DEVICES;
    } else {
        begin_nested(p, "[");
    }
    return p->depth < DEPTH;
}

static int on_end_list(void *user)
{
    kineto_parser *const p = user;
    if (p->place == IN_NESTED)
        end_nested(p, "]");
    else
        p->place = p->is_array ? AT_END : AT_TOP;
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

/* ---- Starting anew ------------------------------------------------------ */

bool kineto_parser_start(kineto_parser *p)
{
    if (p->yajl) yajl_free(p->yajl);
    p->yajl = yajl_alloc(&callbacks, NULL, p);
    if (!p->yajl) return false;
    // Names may contain any bytes; bytes after the end are ignored.
    yajl_config(p->yajl, yajl_dont_validate_strings, 1);
    yajl_config(p->yajl, yajl_allow_trailing_garbage, 1);
    p->place = AT_START;
    p->row_open = false;
    p->depth = 0;
    p->last_fed = p->fed;
    return true;
}

// The same, but inside the array of events.
bool kineto_parser_start_in_events(kineto_parser *p)
{
    static const char head[] = "{\"traceEvents\":[";
    return kineto_parser_start(p) &&
           yajl_parse(p->yajl, (const unsigned char *)head, sizeof head - 1) ==
               yajl_status_ok;
}

#endif // TRACESMITH_YAJL
