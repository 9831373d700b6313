/*
    export_expect.h - what an export of a trace must hold

    Made from the trace's columns and docs/sbt-format.md, without the cursor
    and without anything of tools/export: sorted arrays and plain searches,
    for traces that fit into memory many times.
*/
#ifndef EXPORT_EXPECT_H
#define EXPORT_EXPECT_H

#include "tracesmith_replay.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct expect_text {
    char *text;
    size_t size, room;
} expect_text;

// S: slice or instant. C: sample. F: arrow, args is "NAME\x1fSTART" of its
// head.
typedef struct expect_item {
    char type;
    int64_t start_ns, duration_ns;
    expect_text name, category;
    expect_text args; // KEY=VALUE\x1f..., in order of KEY
} expect_item;

typedef struct expect_event { // a row, copied
    ts_event_kind kind;
    uint32_t track, clock, chunk, row;
    int64_t start_ns, duration_ns;
    uint64_t tick;
    uint64_t values[TS_COLUMN_LIMIT];
    expect_text text;
} expect_event;

typedef struct expect {
    ts_reader *reader;
    expect_event *events; // in order of start, then as in the file
    size_t event_count, event_room;
    expect_item *items;
    size_t item_count, item_room;
    int64_t end_ns;
} expect;

/* ---- Texts -------------------------------------------------------------- */

static inline void expect_add(expect_text *to, const char *bytes, size_t size)
{
    if (to->size + size + 1 > to->room) {
        to->room = 2 * (to->size + size) + 32;
        to->text = realloc(to->text, to->room);
        if (!to->text) abort();
    }
    if (size) memcpy(to->text + to->size, bytes, size);
    to->size += size;
    to->text[to->size] = 0;
}

// How many bytes of `at` are one character; 0 for what is none.
static inline size_t expect_character(const unsigned char *at, size_t size)
{
    uint32_t code = 0;
    size_t count = 1;
    if (at[0] == 0) return 0;
    if (at[0] < 0x80) return 1;
    if ((at[0] & 0xE0) == 0xC0)
        count = 2, code = at[0] & 0x1F;
    else if ((at[0] & 0xF0) == 0xE0)
        count = 3, code = at[0] & 0x0F;
    else if ((at[0] & 0xF8) == 0xF0)
        count = 4, code = at[0] & 0x07;
    else
        return 0;
    if (count > size) return 0;
    for (size_t i = 1; i < count; i++) {
        if ((at[i] & 0xC0) != 0x80) return 0;
        code = code << 6 | (at[i] & 0x3F);
    }
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    if (code < least[count] || code > 0x10FFFF) return 0;
    return code >= 0xD800 && code <= 0xDFFF ? 0 : count;
}

// Adds a text with U+FFFD for every byte that is no UTF-8, and for zeros.
static inline void expect_clean(expect_text *to, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size;) {
        const size_t count =
            expect_character((const unsigned char *)bytes + i, size - i);
        if (count)
            expect_add(to, bytes + i, count);
        else
            expect_add(to, "\xEF\xBF\xBD", 3);
        i += count ? count : 1;
    }
}

static inline void expect_clean_text(expect_text *to, ts_text text)
{
    expect_clean(to, text.text, text.size);
}

__attribute__((format(printf, 2, 3))) static inline void
expect_print(expect_text *to, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    const int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    expect_add(to, text, (size_t)size);
}

/* ---- Items -------------------------------------------------------------- */

static inline expect_item *expect_new(expect *e, char type, int64_t start_ns,
                                      int64_t end_ns)
{
    if (e->item_count == e->item_room) {
        e->item_room = e->item_room ? e->item_room * 2 : 256;
        e->items = realloc(e->items, e->item_room * sizeof *e->items);
        if (!e->items) abort();
    }
    expect_item *const item = &e->items[e->item_count++];
    memset(item, 0, sizeof *item);
    item->type = type;
    item->start_ns = start_ns;
    item->duration_ns = end_ns - start_ns;
    expect_add(&item->args, "", 0);
    expect_add(&item->name, "", 0);
    expect_add(&item->category, "", 0);
    return item;
}

static inline void expect_arg_u(expect_item *item, const char *key, uint64_t v)
{
    expect_print(&item->args, "%s=%" PRIu64 "\x1f", key, v);
}

static inline void expect_arg_p(expect_item *item, const char *key, uint64_t v)
{
    expect_print(&item->args, "%s=0x%" PRIx64 "\x1f", key, v);
}

static inline void expect_arg_t(expect_item *item, const char *key,
                                ts_text text)
{
    if (!text.size) return;
    expect_print(&item->args, "%s=", key);
    expect_clean_text(&item->args, text);
    expect_add(&item->args, "\x1f", 1);
}

static inline ts_text expect_static(const char *text)
{
    return (ts_text){ text, strlen(text) };
}

static inline void expect_name(expect_item *item, ts_text name)
{
    expect_clean_text(&item->name, name);
}

static inline ts_text expect_track_name(expect *e, uint32_t id,
                                        char made[static 64])
{
    ts_track track = { .id = id };
    static const char *const types[] = { "track",  "process", "thread",
                                         "device", "context", "stream",
                                         "counter" };
    if (ts_reader_track(e->reader, id, &track) && track.name.size)
        return track.name;
    snprintf(made, 64, "%s %" PRIu64, types[track.type],
             track.type ? track.number : id);
    return expect_static(made);
}

static inline void expect_arg_track(expect *e, expect_item *item,
                                    const char *key, uint64_t id)
{
    char made[64];
    if (id) expect_arg_t(item, key, expect_track_name(e, (uint32_t)id, made));
}

// Name, category, place and colour of a site.
static inline void expect_site(expect *e, expect_item *item, uint64_t id)
{
    const ts_site_entry *const site = ts_reader_site(e->reader, (uint32_t)id);
    const ts_text name = ts_reader_site_name(e->reader, (uint32_t)id);
    expect_name(item, name.size ? name : expect_static("unnamed"));
    if (!site) return;
    expect_clean_text(&item->category,
                      ts_reader_name(e->reader, site->category));
    char color[16];
    snprintf(color, sizeof color, "#%06X", site->color);
    if (site->color) expect_arg_t(item, "color", expect_static(color));
    expect_arg_t(item, "source.file_name",
                 ts_reader_name(e->reader, site->file));
    expect_arg_t(item, "source.function_name",
                 ts_reader_name(e->reader, site->function));
    if (site->line) expect_arg_u(item, "source.line_number", site->line);
}

/* ---- Loading ------------------------------------------------------------ */

static inline void expect_chunk(expect *e, const ts_columns *columns)
{
    for (uint32_t row = 0; row < columns->count; row++) {
        if (e->event_count == e->event_room) {
            e->event_room = e->event_room ? e->event_room * 2 : 256;
            e->events = realloc(e->events, e->event_room * sizeof *e->events);
            if (!e->events) abort();
        }
        expect_event *const event = &e->events[e->event_count++];
        memset(event, 0, sizeof *event);
        event->kind = columns->kind;
        event->track = columns->tracks ? columns->tracks[row] : columns->track;
        event->clock = columns->clock;
        event->chunk = (uint32_t)columns->chunk;
        event->row = row;
        event->start_ns = columns->start_ns[row];
        event->duration_ns = columns->duration_ns[row];
        event->tick = columns->start_ticks[row];
        for (int c = 0; c < TS_COLUMN_LIMIT; c++)
            if (columns->values[c]) event->values[c] = columns->values[c][row];
        expect_add(&event->text, "", 0);
        if (columns->text_sizes)
            expect_add(&event->text, columns->texts[row],
                       columns->text_sizes[row]);
    }
}

static inline int expect_by_start(const void *a, const void *b)
{
    const expect_event *const x = a, *const y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    if (x->track != y->track) return x->track < y->track ? -1 : 1;
    if (x->chunk != y->chunk) return x->chunk < y->chunk ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* ---- Events to items ---------------------------------------------------- */

static inline bool expect_owns(const expect_event *zone,
                               const expect_event *arg)
{
    return (zone->kind == TS_EVENT_ZONE || zone->kind == TS_EVENT_ZONE_OPEN) &&
           zone->track == arg->track && zone->tick == arg->tick &&
           zone->values[TS_COLUMN_SITE] == arg->values[TS_COLUMN_SITE];
}

static inline void expect_zone(expect *e, const expect_event *zone)
{
    const bool open = zone->kind == TS_EVENT_ZONE_OPEN;
    expect_item *const item =
        expect_new(e, 'S', zone->start_ns,
                   open ? e->end_ns : zone->start_ns + zone->duration_ns);
    expect_site(e, item, zone->values[TS_COLUMN_SITE]);
    if (open) expect_arg_t(item, "unfinished", expect_static("true"));
    for (size_t i = 0; i < e->event_count; i++) {
        const expect_event *const arg = &e->events[i];
        if (arg->start_ns > zone->start_ns) break;
        if (arg->kind != TS_EVENT_ZONE_ARG || !expect_owns(zone, arg)) continue;
        const ts_text name =
            ts_reader_name(e->reader, (uint32_t)arg->values[TS_COLUMN_NAME]);
        const uint64_t value = arg->values[TS_COLUMN_VALUE];
        expect_clean_text(&item->args, name);
        if (arg->values[TS_COLUMN_TYPE] == TS_VALUE_INT) {
            expect_print(&item->args, "=%" PRIu64 "\x1f", value);
        } else if (arg->values[TS_COLUMN_TYPE] == TS_VALUE_DOUBLE) {
            double real;
            memcpy(&real, &value, 8);
            expect_print(&item->args, "=%.17g\x1f", real);
        } else {
            if (!name.size) expect_add(&item->args, "text", 4);
            expect_add(&item->args, "=", 1);
            expect_clean(&item->args, arg->text.text, arg->text.size);
            expect_add(&item->args, "\x1f", 1);
        }
    }
}

static inline void expect_frame(expect *e, size_t index)
{
    const expect_event *const frame = &e->events[index];
    const ts_text name =
        ts_reader_site_name(e->reader, (uint32_t)frame->values[TS_COLUMN_SITE]);
    uint64_t number = 0;
    int64_t end_ns = e->end_ns;
    bool finished = false;
    for (size_t i = 0; i < e->event_count && !finished; i++) {
        const expect_event *const other = &e->events[i];
        if (other->kind != TS_EVENT_FRAME || other->track != frame->track ||
            ts_reader_site_name(e->reader,
                                (uint32_t)other->values[TS_COLUMN_SITE])
                    .text != name.text)
            continue;
        if (i < index) number++;
        if (i > index) end_ns = other->start_ns, finished = true;
    }
    expect_item *const item = expect_new(e, 'S', frame->start_ns, end_ns);
    expect_site(e, item, frame->values[TS_COLUMN_SITE]);
    expect_arg_u(item, "frame", number);
    if (!finished) expect_arg_t(item, "unfinished", expect_static("true"));
}

// The end of a span that event `index` starts: of the ends with this id that
// follow, the first that no later start takes.
static inline void expect_span(expect *e, size_t index)
{
    const expect_event *const span = &e->events[index];
    const bool starts = span->values[TS_COLUMN_PHASE] == TS_PHASE_START;
    int depth = 0;
    size_t other = index;
    for (;;) {
        if (starts ? ++other == e->event_count : other-- == 0) break;
        const expect_event *const o = &e->events[other];
        if (o->kind != TS_EVENT_SPAN ||
            o->values[TS_COLUMN_ID] != span->values[TS_COLUMN_ID])
            continue;
        const bool same =
            (o->values[TS_COLUMN_PHASE] == TS_PHASE_START) == starts;
        if (!same && !depth) break;
        depth += same ? 1 : -1;
    }
    const bool alone = starts ? other == e->event_count : other == SIZE_MAX;
    if (!starts && !alone) return;
    const int64_t end_ns = !starts ? span->start_ns
                           : alone ? e->end_ns
                                   : e->events[other].start_ns;
    expect_item *const item = expect_new(e, 'S', span->start_ns, end_ns);
    expect_arg_u(item, "id", span->values[TS_COLUMN_ID]);
    if (starts) {
        expect_site(e, item, span->values[TS_COLUMN_SITE]);
        expect_arg_track(e, item, "thread", span->track);
        if (alone) expect_arg_t(item, "unfinished", expect_static("true"));
    } else {
        expect_name(item, expect_static("span end without a start"));
        expect_clean_text(&item->category, expect_static("span"));
    }
}

static inline void expect_live(expect *e, size_t index)
{
    // The sum over all addresses of the size of the last allocation that was
    // not given back, in this event's pool.
    const expect_event *const event = &e->events[index];
    uint64_t live = 0;
    for (size_t i = 0; i <= index; i++) {
        const expect_event *const a = &e->events[i];
        const bool gpu = event->kind >= TS_EVENT_GPU_FIRST;
        if (a->kind != (gpu ? TS_EVENT_GPU_ALLOC : TS_EVENT_ALLOC) ||
            a->values[TS_COLUMN_POOL] != event->values[TS_COLUMN_POOL])
            continue;
        bool is_live = true;
        for (size_t k = i + 1; k <= index && is_live; k++) {
            const expect_event *const f = &e->events[k];
            const bool about =
                f->kind == (gpu ? TS_EVENT_GPU_ALLOC : TS_EVENT_ALLOC) ||
                f->kind == (gpu ? TS_EVENT_GPU_FREE : TS_EVENT_FREE);
            is_live =
                !about ||
                f->values[TS_COLUMN_POOL] != a->values[TS_COLUMN_POOL] ||
                f->values[TS_COLUMN_ADDRESS] != a->values[TS_COLUMN_ADDRESS];
        }
        if (is_live) live += a->values[TS_COLUMN_SIZE];
    }
    const int64_t at = event->start_ns + event->duration_ns;
    expect_item *const item = expect_new(e, 'C', at, at);
    expect_name(item, expect_static("live bytes"));
    expect_print(&item->args, "%" PRIu64, live);
}

static inline void expect_memory(expect *e, size_t index)
{
    const expect_event *const event = &e->events[index];
    const bool alloc = event->kind == TS_EVENT_ALLOC;
    expect_item *const item =
        expect_new(e, 'S', event->start_ns, event->start_ns);
    expect_name(item, expect_static(alloc ? "alloc" : "free"));
    expect_clean_text(&item->category, expect_static("memory"));
    expect_arg_p(item, "address", event->values[TS_COLUMN_ADDRESS]);
    if (alloc) expect_arg_u(item, "bytes", event->values[TS_COLUMN_SIZE]);
    expect_arg_t(
        item, "category",
        ts_reader_name(e->reader, (uint32_t)event->values[TS_COLUMN_CATEGORY]));
    if (event->values[TS_COLUMN_SITE])
        expect_arg_t(item, "zone",
                     ts_reader_site_name(
                         e->reader, (uint32_t)event->values[TS_COLUMN_SITE]));
    expect_arg_track(e, item, "thread", event->track);
    expect_live(e, index);
}

static inline void expect_counter(expect *e, const expect_event *event)
{
    char made[64];
    expect_item *const item =
        expect_new(e, 'C', event->start_ns, event->start_ns);
    expect_name(item, expect_track_name(e, event->track, made));
    const uint64_t bits = event->values[TS_COLUMN_VALUE];
    double real;
    memcpy(&real, &bits, 8);
    if (event->values[TS_COLUMN_TYPE] == TS_VALUE_DOUBLE)
        expect_print(&item->args, "%.17g", real);
    else
        expect_print(&item->args, "%" PRId64, (int64_t)bits);
}

static inline void expect_delay(expect *e, expect_item *item, const char *key,
                                const expect_event *event, int column)
{
    const uint64_t ticks = event->values[column];
    if (!ticks) return;
    const int64_t then =
        ts_reader_time_ns(e->reader, event->clock, event->tick - (ticks - 1));
    expect_print(&item->args, "%s=%" PRId64 "\x1f", key,
                 event->start_ns - then);
}

static inline void expect_triple(expect_item *item, const char *key,
                                 const uint32_t v[3])
{
    if (v[0] || v[1] || v[2])
        for (int i = 0; i < 3; i++)
            expect_print(&item->args, "%s[%d]=%" PRIu32 "\x1f", key, i, v[i]);
}

static inline void expect_memory_kind(expect_item *item, const char *key,
                                      uint64_t kind)
{
    static const char *const kinds[] = { "",       "pageable", "pinned",
                                         "device", "managed",  "array" };
    if (kind < 6) expect_arg_t(item, key, expect_static(kinds[kind]));
}

static inline void expect_operation_name(expect *e, expect_item *item,
                                         const expect_event *event)
{
    const uint64_t *const v = event->values;
    static const char *const copies[] = { "memcpy",     "memcpy h2d",
                                          "memcpy d2h", "memcpy d2d",
                                          "memcpy h2h", "memcpy p2p" };
    const ts_launch_entry *const launch =
        ts_reader_launch(e->reader, (uint32_t)v[TS_COLUMN_LAUNCH]);
    ts_text name = ts_reader_name(e->reader, (uint32_t)v[TS_COLUMN_NAME]);
    if (event->kind == TS_EVENT_KERNEL && launch)
        name = ts_reader_name(e->reader, launch->name);
    if (event->kind == TS_EVENT_MEMCPY && v[TS_COLUMN_TYPE] < 6)
        name = expect_static(copies[v[TS_COLUMN_TYPE]]);
    if (!name.size) name = expect_static(ts_event_name(event->kind));
    expect_name(item, name);
}

static inline void expect_operation(expect *e, size_t index)
{
    const expect_event *const event = &e->events[index];
    const uint64_t *const v = event->values;
    expect_item *const item = expect_new(e, 'S', event->start_ns,
                                         event->start_ns + event->duration_ns);
    expect_operation_name(e, item, event);
    expect_clean_text(&item->category,
                      expect_static(ts_event_name(event->kind)));
    static const struct {
        int column;
        const char *key;
    } plain[] = { { TS_COLUMN_CORRELATION, "correlation" },
                  { TS_COLUMN_GRAPH, "graph" },
                  { TS_COLUMN_GRAPH_NODE, "graph_node" },
                  { TS_COLUMN_ID, "id" },
                  { TS_COLUMN_RECORD, "record" },
                  { TS_COLUMN_SEQUENCE, "sequence" },
                  { TS_COLUMN_RANKS, "ranks" } };
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (v[plain[i].column])
            expect_arg_u(item, plain[i].key, v[plain[i].column]);
    if (v[TS_COLUMN_SOURCE]) expect_arg_p(item, "source", v[TS_COLUMN_SOURCE]);
    if (v[TS_COLUMN_ADDRESS])
        expect_arg_p(item, "address", v[TS_COLUMN_ADDRESS]);
    if (v[TS_COLUMN_COMMUNICATOR])
        expect_arg_p(item, "communicator", v[TS_COLUMN_COMMUNICATOR]);
    if (event->kind == TS_EVENT_MEMCPY || event->kind == TS_EVENT_MEMSET ||
        event->kind == TS_EVENT_COLLECTIVE || event->kind == TS_EVENT_GPU_ALLOC)
        expect_arg_u(item, "bytes", v[TS_COLUMN_SIZE]);
    if (event->kind == TS_EVENT_MEMSET)
        expect_arg_u(item, "value", v[TS_COLUMN_VALUE]);
    if (event->kind == TS_EVENT_COLLECTIVE) {
        static const char *const elements[] = { "",    "i8",  "u8",  "i32",
                                                "u32", "i64", "u64", "f16",
                                                "f32", "f64", "bf16" };
        expect_arg_t(item, "element",
                     expect_static(elements[v[TS_COLUMN_TYPE] % 11]));
    }
    if (event->kind == TS_EVENT_MEMCPY) {
        static const char *const copies[] = { "",    "h2d", "d2h",
                                              "d2d", "h2h", "p2p" };
        expect_arg_t(item, "copy",
                     expect_static(copies[v[TS_COLUMN_TYPE] % 6]));
        expect_memory_kind(item, "source_memory", v[TS_COLUMN_MEMORY] & 15);
        expect_memory_kind(item, "destination_memory",
                           v[TS_COLUMN_MEMORY] >> 4 & 15);
    }
    if (event->kind == TS_EVENT_GPU_ALLOC)
        expect_memory_kind(item, "memory", v[TS_COLUMN_MEMORY] >> 4 & 15);
    const ts_launch_entry *const launch =
        ts_reader_launch(e->reader, (uint32_t)v[TS_COLUMN_LAUNCH]);
    if (launch) {
        expect_triple(item, "grid", launch->grid);
        expect_triple(item, "block", launch->block);
        expect_triple(item, "cluster", launch->cluster);
        if (launch->registers)
            expect_arg_u(item, "registers", launch->registers);
        if (launch->static_shared)
            expect_arg_u(item, "static_shared_bytes", launch->static_shared);
        if (launch->dynamic_shared)
            expect_arg_u(item, "dynamic_shared_bytes", launch->dynamic_shared);
        if (launch->local) expect_arg_u(item, "local_bytes", launch->local);
    }
    expect_arg_t(item, "pool",
                 ts_reader_name(e->reader, (uint32_t)v[TS_COLUMN_POOL]));
    expect_arg_track(e, item, "peer", v[TS_COLUMN_PEER]);
    expect_arg_track(e, item, "thread", v[TS_COLUMN_THREAD]);
    if (v[TS_COLUMN_SITE])
        expect_arg_t(
            item, "zone",
            ts_reader_site_name(e->reader, (uint32_t)v[TS_COLUMN_SITE]));
    expect_delay(e, item, "queued_ns", event, TS_COLUMN_QUEUED);
    expect_delay(e, item, "submitted_ns", event, TS_COLUMN_SUBMITTED);
    if (event->kind == TS_EVENT_GPU_ALLOC || event->kind == TS_EVENT_GPU_FREE)
        expect_live(e, index);
}

static inline void expect_call(expect *e, const expect_event *event)
{
    expect_item *const item = expect_new(e, 'S', event->start_ns,
                                         event->start_ns + event->duration_ns);
    expect_name(item, ts_reader_name(e->reader,
                                     (uint32_t)event->values[TS_COLUMN_NAME]));
    expect_clean_text(&item->category, expect_static("api_call"));
    if (event->values[TS_COLUMN_CORRELATION])
        expect_arg_u(item, "correlation", event->values[TS_COLUMN_CORRELATION]);
    expect_arg_u(item, "result", event->values[TS_COLUMN_RESULT]);
}

static inline void expect_point(expect *e, const expect_event *event)
{
    static const char *const phases[] = { "flow", "flow start", "flow step",
                                          "flow end" };
    expect_item *const item =
        expect_new(e, 'S', event->start_ns, event->start_ns);
    if (event->kind == TS_EVENT_FLOW) {
        const uint64_t phase = event->values[TS_COLUMN_PHASE];
        expect_name(item, expect_static(phases[phase < 4 ? phase : 0]));
        expect_clean_text(&item->category, expect_static("flow"));
        expect_arg_u(item, "id", event->values[TS_COLUMN_ID]);
        return;
    }
    expect_site(e, item, event->values[TS_COLUMN_SITE]);
    if (event->kind != TS_EVENT_MESSAGE) return;
    item->name.size = item->category.size = 0;
    expect_clean(&item->name, event->text.text, event->text.size);
    if (!item->name.size) expect_name(item, expect_static("message"));
    expect_clean_text(&item->category, expect_static("message"));
}

/* ---- Arrows ------------------------------------------------------------- */

static inline void expect_arrow(expect *e, const expect_event *from,
                                const expect_event *to)
{
    expect_item *const item =
        expect_new(e, 'F', from->start_ns, from->start_ns);
    expect_item head = { 0 };
    if (from->kind == TS_EVENT_FLOW) {
        expect_name(item, expect_static("flow"));
        expect_name(&head, expect_static("flow"));
    } else {
        const bool call = from->kind == TS_EVENT_API_CALL;
        expect_name(
            item,
            call ? ts_reader_name(e->reader,
                                  (uint32_t)from->values[TS_COLUMN_NAME])
                 : ts_reader_site_name(e->reader,
                                       (uint32_t)from->values[TS_COLUMN_SITE]));
        expect_operation_name(e, &head, to);
    }
    expect_add(&item->args, head.name.text, head.name.size);
    expect_print(&item->args, "\x1f%" PRId64, to->start_ns);
    free(head.name.text);
}

static inline void expect_launch(expect *e, const expect_event *op)
{
    const uint64_t *const v = op->values;
    const expect_event *best = NULL;
    for (size_t i = 0; i < e->event_count; i++) {
        const expect_event *const call = &e->events[i];
        if (v[TS_COLUMN_CORRELATION] && call->kind == TS_EVENT_API_CALL &&
            call->values[TS_COLUMN_CORRELATION] == v[TS_COLUMN_CORRELATION] &&
            (!v[TS_COLUMN_THREAD] || v[TS_COLUMN_THREAD] == call->track)) {
            expect_arrow(e, call, op);
            return;
        }
    }
    const uint64_t before =
        v[TS_COLUMN_QUEUED] ? v[TS_COLUMN_QUEUED] : v[TS_COLUMN_SUBMITTED];
    if (!before || !v[TS_COLUMN_THREAD]) return;
    const int64_t then =
        ts_reader_time_ns(e->reader, op->clock, op->tick - (before - 1));
    for (size_t i = 0; i < e->event_count; i++) {
        const expect_event *const zone = &e->events[i];
        const bool open = zone->kind == TS_EVENT_ZONE_OPEN;
        if ((zone->kind != TS_EVENT_ZONE && !open) ||
            zone->track != v[TS_COLUMN_THREAD] || zone->start_ns > then ||
            (open ? e->end_ns : zone->start_ns + zone->duration_ns) <= then)
            continue;
        if (!best || zone->start_ns > best->start_ns) best = zone;
    }
    if (best) expect_arrow(e, best, op);
}

static inline void expect_flow(expect *e, size_t index)
{
    const expect_event *const to = &e->events[index];
    for (size_t i = index; i-- > 0;) {
        const expect_event *const from = &e->events[i];
        if (from->kind != TS_EVENT_FLOW ||
            from->values[TS_COLUMN_ID] != to->values[TS_COLUMN_ID])
            continue;
        if (from->values[TS_COLUMN_PHASE] != TS_PHASE_END &&
            to->values[TS_COLUMN_PHASE] != TS_PHASE_START)
            expect_arrow(e, from, to);
        return;
    }
}

/* ---- All ---------------------------------------------------------------- */

static inline void expect_losses(expect *e)
{
    ts_loss_row row;
    for (size_t i = 0; ts_reader_loss(e->reader, i, &row); i++) {
        const bool stall = row.cause >= TS_LOSS_STALL_FIRST;
        expect_item *const item = expect_new(e, 'S', row.first_ns, row.last_ns);
        expect_print(&item->name, "%s: %s", stall ? "stalled" : "lost",
                     ts_loss_name(row.cause));
        expect_clean_text(&item->category,
                          expect_static(stall ? "stall" : "loss"));
        expect_arg_u(item, "count", row.count);
        expect_arg_u(item, "cause", row.cause);
        expect_arg_t(item, "detail", ts_reader_name(e->reader, row.detail));
        if (row.stall_ns) expect_arg_u(item, "stall_ns", row.stall_ns);
    }
}

static inline void expect_event_items(expect *e, size_t i)
{
    const expect_event *const event = &e->events[i];
    switch ((int)event->kind) {
    case TS_EVENT_ZONE:
    case TS_EVENT_ZONE_OPEN: expect_zone(e, event); break;
    case TS_EVENT_ZONE_ARG: break;
    case TS_EVENT_FRAME: expect_frame(e, i); break;
    case TS_EVENT_SPAN: expect_span(e, i); break;
    case TS_EVENT_ALLOC:
    case TS_EVENT_FREE: expect_memory(e, i); break;
    case TS_EVENT_COUNTER: expect_counter(e, event); break;
    case TS_EVENT_API_CALL: expect_call(e, event); break;
    case TS_EVENT_FLOW:
        expect_flow(e, i);
        expect_point(e, event);
        break;
    case TS_EVENT_MARK:
    case TS_EVENT_MESSAGE: expect_point(e, event); break;
    default:
        expect_operation(e, i);
        expect_launch(e, event);
        break;
    }
}

static inline void expect_open(expect *e, ts_reader *reader)
{
    memset(e, 0, sizeof *e);
    e->reader = reader;
    e->end_ns = ts_reader_info(reader)->last_ns;
    ts_columns columns;
    memset(&columns, 0, sizeof columns);
    const size_t count = ts_reader_chunk_count(reader);
    for (size_t i = 0; i < count; i++) {
        ts_chunk_info info;
        if (!ts_reader_chunk(reader, i, &info) ||
            info.header.kind != TS_CHUNK_EVENTS)
            continue;
        if (ts_reader_decode(reader, i, &columns) == TS_OK)
            expect_chunk(e, &columns);
    }
    ts_columns_close(reader, &columns);
    if (e->event_count)
        qsort(e->events, e->event_count, sizeof *e->events, expect_by_start);
    for (size_t i = 0; i < e->event_count; i++)
        expect_event_items(e, i);
    expect_losses(e);
}

static inline void expect_close(expect *e)
{
    for (size_t i = 0; i < e->event_count; i++)
        free(e->events[i].text.text);
    for (size_t i = 0; i < e->item_count; i++) {
        free(e->items[i].name.text);
        free(e->items[i].category.text);
        free(e->items[i].args.text);
    }
    free(e->events);
    free(e->items);
}

#endif // EXPORT_EXPECT_H
