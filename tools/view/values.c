/*
    values.c - the values of an event, for text and JSON alike
*/
#include "tools/view/view.h"
#include "tools/common/symbolize/symbolize.h"

typedef struct sink {
    void (*put)(const view_value *value, void *user);
    void *user;
} sink;

static void put_text(const sink *to, const char *name, ts_text text)
{
    const view_value value = { .name = name, .type = VIEW_TEXT, .text = text };
    to->put(&value, to->user);
}

static void put_string(const sink *to, const char *name, const char *text)
{
    put_text(to, name, (ts_text){ text, strlen(text) });
}

static void put_uint(const sink *to, const char *name, uint64_t number)
{
    const view_value value = { .name = name,
                               .type = VIEW_UINT,
                               .number = number };
    to->put(&value, to->user);
}

static void put_hex(const sink *to, const char *name, uint64_t number)
{
    const view_value value = { .name = name,
                               .type = VIEW_HEX,
                               .number = number };
    to->put(&value, to->user);
}

// Puts a name of the trace; its number if the trace does not define it.
static void put_name(const view *v, const sink *to, const char *name,
                     uint64_t id)
{
    const ts_text text = ts_reader_name(v->trace.reader, (uint32_t)id);
    if (text.size)
        put_text(to, name, text);
    else
        put_uint(to, name, id);
}

static void put_track(const view *v, const sink *to, const char *name,
                      uint64_t id)
{
    ts_track track;
    cli_text made;
    if (ts_reader_track(v->trace.reader, (uint32_t)id, &track))
        put_text(to, name, cli_track_name(&track, &made));
    else
        put_uint(to, name, id);
}

static void put_number(const sink *to, const char *name, uint64_t type,
                       uint64_t bits)
{
    view_value value = { .name = name };
    if (type == TS_VALUE_DOUBLE) {
        value.type = VIEW_REAL;
        memcpy(&value.real, &bits, sizeof bits);
    } else {
        value.type = VIEW_INT;
        value.signed_number = (int64_t)bits;
    }
    to->put(&value, to->user);
}

// Puts the source position of a site, and its name if the label differs.
static void put_site(const view *v, const sink *to, ts_event_kind kind,
                     uint32_t id)
{
    const ts_site_entry *const site = ts_reader_site(v->trace.reader, id);
    if (!site) {
        put_uint(to, "site", id);
        return;
    }
    const ts_text name = ts_reader_site_name(v->trace.reader, id);
    const ts_text file = ts_reader_name(v->trace.reader, site->file);
    const bool own = kind < TS_EVENT_ALLOC && kind != TS_EVENT_ZONE_ARG &&
                     kind != TS_EVENT_MESSAGE;
    if (!own && kind != TS_EVENT_SPAN && name.size) put_text(to, "zone", name);
    if (!own && kind != TS_EVENT_SPAN) return;
    if (site->category) put_name(v, to, "category", site->category);
    if (file.size) put_text(to, "file", file);
    if (file.size && site->line) put_uint(to, "line", site->line);
}

static void put_triple(const sink *to, const char *name, const uint32_t n[3])
{
    if (!n[0] && !n[1] && !n[2]) return;
    cli_text text;
    snprintf(text.s, sizeof text.s, "%" PRIu32 "x%" PRIu32 "x%" PRIu32, n[0],
             n[1], n[2]);
    put_string(to, name, text.s);
}

static void put_launch(const view *v, const sink *to, uint32_t id)
{
    const ts_launch_entry *const l = ts_reader_launch(v->trace.reader, id);
    if (!l) {
        put_uint(to, "launch", id);
        return;
    }
    put_triple(to, "grid", l->grid);
    put_triple(to, "block", l->block);
    put_triple(to, "cluster", l->cluster);
    if (l->registers) put_uint(to, "registers", l->registers);
    if (l->static_shared) put_uint(to, "static_shared", l->static_shared);
    if (l->dynamic_shared) put_uint(to, "dynamic_shared", l->dynamic_shared);
    if (l->local) put_uint(to, "local", l->local);
}

static const char *memory_name(uint64_t kind)
{
    static const char *const names[] = { "unknown", "pageable", "pinned",
                                         "device",  "managed",  "array" };
    return names[kind < sizeof names / sizeof *names ? kind : 0];
}

static void put_memory(const sink *to, ts_event_kind kind, uint64_t memory)
{
    if (kind == TS_EVENT_MEMCPY)
        put_string(to, "source_memory", memory_name(memory & 15));
    put_string(to, "memory", memory_name(memory >> 4 & 15));
}

static void put_type(const sink *to, ts_event_kind kind, uint64_t type)
{
    static const char *const modes[] = { "none", "read", "write",
                                         "read+write" };
    if (kind == TS_EVENT_ACCESS) {
        const cli_text mode = cli_format(
            "%s%s", modes[type & 3], type & TS_ACCESS_COARSE ? ", coarse" : "");
        put_string(to, "mode", mode.s);
    }
    const char *const element = ts_element_name(type);
    if (kind == TS_EVENT_COLLECTIVE)
        put_string(to, "type", element ? element : "unknown");
}

static const char *phase_name(uint64_t phase)
{
    return phase == TS_PHASE_START  ? "start"
           : phase == TS_PHASE_STEP ? "step"
           : phase == TS_PHASE_END  ? "end"
                                    : "unknown";
}

// Puts the time from a moment `ticks` - 1 ticks before the start to the start.
static void put_before(const view *v, const sink *to, const ts_event *event,
                       const char *name, uint64_t ticks)
{
    const ts_columns *const c = event->columns;
    const int64_t then = ts_reader_time_ns(
        v->trace.reader, c->clock, c->start_ticks[event->row] - (ticks - 1));
    const view_value value = { .name = name,
                               .type = VIEW_NS,
                               .signed_number = event->start_ns - then };
    to->put(&value, to->user);
}

// Puts a stack as "inner < middle < outer", cut to the available room.
static void put_stack(const view *v, const sink *to, uint32_t stack)
{
    char text[512];
    size_t size = 0;
    const ts_reader *const reader = v->trace.reader;
    const ts_frame_entry *frames;
    const uint32_t count = ts_reader_stack(reader, stack, &frames);
    if (!count) put_uint(to, "stack", stack);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < symbolize_depth(reader, &frames[i]); k++) {
            const ts_text one = symbolize_text(reader, &frames[i], k);
            const size_t room = sizeof text - size;
            if (one.size + 8 > room) {
                memcpy(text + size, " < ...", 6);
                put_text(to, "stack", (ts_text){ text, size + 6 });
                return;
            }
            memcpy(text + size, " < ", 3);
            if (size) size += 3;
            memcpy(text + size, one.text, one.size);
            size += one.size;
        }
    if (count) put_text(to, "stack", (ts_text){ text, size });
}

static void put_column(const view *v, const sink *to, const ts_event *event,
                       ts_column column, uint64_t n)
{
    const ts_event_kind kind = event->kind;
    const char *const name = ts_column_name(column);
    switch (column) {
    case TS_COLUMN_SITE: put_site(v, to, kind, (uint32_t)n); break;
    case TS_COLUMN_LAUNCH: put_launch(v, to, (uint32_t)n); break;
    case TS_COLUMN_POOL:
    case TS_COLUMN_UNIT:
    case TS_COLUMN_CATEGORY: put_name(v, to, name, n); break;
    case TS_COLUMN_THREAD:
    case TS_COLUMN_PEER: put_track(v, to, name, n); break;
    case TS_COLUMN_ADDRESS:
    case TS_COLUMN_SOURCE: put_hex(to, name, n); break;
    case TS_COLUMN_MEMORY: put_memory(to, kind, n); break;
    case TS_COLUMN_TYPE: put_type(to, kind, n); break;
    case TS_COLUMN_PHASE: put_string(to, name, phase_name(n)); break;
    case TS_COLUMN_QUEUED:
    case TS_COLUMN_SUBMITTED: put_before(v, to, event, name, n); break;
    case TS_COLUMN_STACK: put_stack(v, to, (uint32_t)n); break;
    case TS_COLUMN_NAME: break; // already in the label
    default: put_uint(to, name, n);
    }
}

void view_values(const view *v, const ts_event *event,
                 void (*put)(const view_value *value, void *user), void *user)
{
    const sink to = { put, user };
    const uint8_t *column = ts_event_columns(event->kind);
    const uint64_t type = ts_event_value(event, TS_COLUMN_TYPE);
    const ts_text text = ts_event_text(event);
    for (; column && *column; column++) {
        const uint64_t n = ts_event_value(event, (ts_column)*column);
        const bool sample = event->kind == TS_EVENT_COUNTER ||
                            event->kind == TS_EVENT_ZONE_ARG ||
                            event->kind == TS_EVENT_SAMPLE;
        if (*column == TS_COLUMN_VALUE && sample && type != TS_VALUE_TEXT)
            put_number(&to, "value", type, n);
        else if (*column == TS_COLUMN_TEXT && (text.size || !sample))
            put_text(&to, "text", text);
        else if (*column != TS_COLUMN_START && *column != TS_COLUMN_DURATION &&
                 *column != TS_COLUMN_NEST && *column != TS_COLUMN_LEAD &&
                 *column != TS_COLUMN_TAIL && *column != TS_COLUMN_TEXT && n &&
                 !(sample && *column == TS_COLUMN_TYPE))
            put_column(v, &to, event, (ts_column)*column, n);
    }
}
