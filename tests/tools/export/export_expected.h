/*
    export_expected.h - what an export of a trace must hold

    Made from the trace's columns and docs/sbt-format.md, without the cursor
    and without anything of tools/export: sorted arrays and plain searches,
    for traces that fit into memory many times.
*/
#ifndef EXPORT_EXPECTED_H
#define EXPORT_EXPECTED_H

#include "tracesmith_replay.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct expected_text {
    char *text;
    size_t size, room;
} expected_text;

// S: slice or instant. C: sample. F: arrow, args is "NAME\x1fSTART" of its
// head.
typedef struct expected_item {
    char type;
    int64_t start_ns, duration_ns;
    expected_text name, category;
    expected_text place; // where it lies: "PARENT/NAME", a thread's name
    expected_text args;  // KEY=VALUE\x1f..., in order of KEY
} expected_item;

typedef struct expected_event { // a row, copied
    ts_event_kind kind;
    uint32_t track, clock, chunk, row;
    int64_t start_ns, duration_ns;
    uint64_t tick;
    uint64_t values[TS_COLUMN_LIMIT];
    expected_text text;
} expected_event;

typedef struct expected {
    ts_reader *reader;
    expected_event *events; // in order of start, then as in the file
    size_t event_count, event_room;
    expected_item *items;
    size_t item_count, item_room;
    int64_t end_ns;
} expected;

/* ---- Texts -------------------------------------------------------------- */

static inline void expected_add(expected_text *to, const char *bytes,
                                size_t size)
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
static inline size_t expected_character(const unsigned char *at, size_t size)
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
static inline void expected_clean(expected_text *to, const char *bytes,
                                  size_t size)
{
    for (size_t i = 0; i < size;) {
        const size_t count =
            expected_character((const unsigned char *)bytes + i, size - i);
        if (count)
            expected_add(to, bytes + i, count);
        else
            expected_add(to, "\xEF\xBF\xBD", 3);
        i += count ? count : 1;
    }
}

static inline void expected_clean_text(expected_text *to, ts_text text)
{
    expected_clean(to, text.text, text.size);
}

__attribute__((format(printf, 2, 3))) static inline void
expected_print(expected_text *to, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    const int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    expected_add(to, text, (size_t)size);
}

/* ---- Items -------------------------------------------------------------- */

static inline expected_item *expected_new(expected *e, char type,
                                          int64_t start_ns, int64_t end_ns)
{
    if (e->item_count == e->item_room) {
        e->item_room = e->item_room ? e->item_room * 2 : 256;
        e->items = realloc(e->items, e->item_room * sizeof *e->items);
        if (!e->items) abort();
    }
    expected_item *const item = &e->items[e->item_count++];
    memset(item, 0, sizeof *item);
    item->type = type;
    item->start_ns = start_ns;
    item->duration_ns = end_ns - start_ns;
    expected_add(&item->args, "", 0);
    expected_add(&item->name, "", 0);
    expected_add(&item->category, "", 0);
    expected_add(&item->place, "", 0);
    return item;
}

static inline void expected_arg_u(expected_item *item, const char *key,
                                  uint64_t v)
{
    expected_print(&item->args, "%s=%" PRIu64 "\x1f", key, v);
}

static inline void expected_arg_p(expected_item *item, const char *key,
                                  uint64_t v)
{
    expected_print(&item->args, "%s=0x%" PRIx64 "\x1f", key, v);
}

static inline void expected_arg_t(expected_item *item, const char *key,
                                  ts_text text)
{
    if (!text.size) return;
    expected_print(&item->args, "%s=", key);
    expected_clean_text(&item->args, text);
    expected_add(&item->args, "\x1f", 1);
}

static inline ts_text expected_static(const char *text)
{
    return (ts_text){ text, strlen(text) };
}

static inline void expected_name(expected_item *item, ts_text name)
{
    expected_clean_text(&item->name, name);
}

static inline ts_text expected_track_name(expected *e, uint32_t id,
                                          char made[static 256])
{
    ts_track track = { .id = id };
    static const char *const types[] = { "track",  "process", "thread",
                                         "device", "context", "stream",
                                         "counter" };
    const bool has_name =
        ts_reader_track(e->reader, id, &track) && track.name.size;
    if (has_name && track.type != TS_TRACK_DEVICE) return track.name;
    if (has_name)
        snprintf(made, 256, "%.*s (%" PRIu64 ")", (int)track.name.size,
                 track.name.text, track.number);
    else
        snprintf(made, 256, "%s %" PRIu64, types[track.type],
                 track.type ? track.number : id);
    return expected_static(made);
}

// The track that a track of the trace is shown below; 0 for the process.
static inline uint32_t expected_parent(expected *e, uint32_t id)
{
    ts_track track, parent, other;
    size_t contexts = 0;
    if (!ts_reader_track(e->reader, id, &track) ||
        !ts_reader_track(e->reader, track.parent, &parent) ||
        parent.type == TS_TRACK_PROCESS || parent.type == TS_TRACK_THREAD)
        return 0;
    for (size_t i = 0; ts_reader_track_at(e->reader, i, &other); i++)
        contexts +=
            other.type == TS_TRACK_CONTEXT && other.parent == parent.parent;
    const bool is_only = parent.type == TS_TRACK_CONTEXT && contexts == 1;
    return track.type == TS_TRACK_STREAM && is_only ? parent.parent : parent.id;
}

static inline void expected_place(expected *e, expected_item *item, uint32_t id)
{
    char made[256];
    ts_track track = { .id = id };
    ts_reader_track(e->reader, id, &track);
    const uint32_t parent = expected_parent(e, id);
    if (parent)
        expected_clean_text(&item->place, expected_track_name(e, parent, made));
    if (track.type != TS_TRACK_THREAD) expected_add(&item->place, "/", 1);
    expected_clean_text(&item->place, expected_track_name(e, id, made));
}

static inline void expected_place_named(expected_item *item, const char *group,
                                        ts_text name)
{
    expected_print(&item->place, "%s/", group);
    expected_clean_text(&item->place, name);
}

static inline void expected_arg_track(expected *e, expected_item *item,
                                      const char *key, uint64_t id)
{
    char made[256];
    if (id)
        expected_arg_t(item, key, expected_track_name(e, (uint32_t)id, made));
}

// "FILE+0xOFFSET;..." with the innermost frame first.
static inline void expected_stack(expected *e, expected_item *item,
                                  uint64_t stack)
{
    const ts_frame_entry *frames;
    const uint32_t count =
        stack ? ts_reader_stack(e->reader, (uint32_t)stack, &frames) : 0;
    for (uint32_t i = 0; i < count; i++) {
        const ts_module_entry *const module =
            ts_reader_module(e->reader, frames[i].module);
        const char *path =
            module ? ts_reader_name(e->reader, module->path).text : "";
        if (strrchr(path, '/')) path = strrchr(path, '/') + 1;
        expected_print(&item->args, "%s", i ? ";" : "stack=");
        expected_clean(&item->args, path, strlen(path));
        expected_print(&item->args, "%s0x%" PRIx64, *path ? "+" : "",
                       frames[i].offset);
    }
    if (count) expected_add(&item->args, "\x1f", 1);
}

// Name, category, place and colour of a site.
static inline void expected_site(expected *e, expected_item *item, uint64_t id)
{
    const ts_site_entry *const site = ts_reader_site(e->reader, (uint32_t)id);
    const ts_text name = ts_reader_site_name(e->reader, (uint32_t)id);
    expected_name(item, name.size ? name : expected_static("unnamed"));
    if (!site) return;
    expected_clean_text(&item->category,
                        ts_reader_name(e->reader, site->category));
    char color[16];
    snprintf(color, sizeof color, "#%06X", site->color);
    if (site->color) expected_arg_t(item, "color", expected_static(color));
    expected_arg_t(item, "source.file_name",
                   ts_reader_name(e->reader, site->file));
    expected_arg_t(item, "source.function_name",
                   ts_reader_name(e->reader, site->function));
    if (site->line) expected_arg_u(item, "source.line_number", site->line);
}

/* ---- Loading ------------------------------------------------------------ */

static inline void expected_chunk(expected *e, const ts_columns *columns)
{
    for (uint32_t row = 0; row < columns->count; row++) {
        if (e->event_count == e->event_room) {
            e->event_room = e->event_room ? e->event_room * 2 : 256;
            e->events = realloc(e->events, e->event_room * sizeof *e->events);
            if (!e->events) abort();
        }
        expected_event *const event = &e->events[e->event_count++];
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
        expected_add(&event->text, "", 0);
        if (columns->text_sizes)
            expected_add(&event->text, columns->texts[row],
                         columns->text_sizes[row]);
    }
}

static inline int expected_by_start(const void *a, const void *b)
{
    const expected_event *const x = a, *const y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    if (x->track != y->track) return x->track < y->track ? -1 : 1;
    if (x->chunk != y->chunk) return x->chunk < y->chunk ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* ---- Events to items ---------------------------------------------------- */

static inline bool expected_owns(const expected_event *zone,
                                 const expected_event *arg)
{
    return (zone->kind == TS_EVENT_ZONE || zone->kind == TS_EVENT_ZONE_OPEN) &&
           zone->track == arg->track && zone->tick == arg->tick &&
           zone->values[TS_COLUMN_SITE] == arg->values[TS_COLUMN_SITE];
}

static inline ts_text expected_arg_name(expected *e, const expected_event *arg)
{
    const bool is_text = arg->values[TS_COLUMN_TYPE] == TS_VALUE_TEXT;
    const ts_text name =
        ts_reader_name(e->reader, (uint32_t)arg->values[TS_COLUMN_NAME]);
    return name.size ? name : expected_static(is_text ? "text" : "value");
}

// An argument of a zone, the first of its name, or "NAME 2", ...
static inline void expected_zone_arg(expected *e, expected_item *item,
                                     const expected_event *arg)
{
    const uint64_t value = arg->values[TS_COLUMN_VALUE];
    const ts_text name = expected_arg_name(e, arg);
    int number = 1;
    for (const expected_event *before = e->events; before < arg; before++) {
        if (before->kind != TS_EVENT_ZONE_ARG || before->track != arg->track ||
            before->tick != arg->tick ||
            before->values[TS_COLUMN_SITE] != arg->values[TS_COLUMN_SITE])
            continue;
        const ts_text other = expected_arg_name(e, before);
        number += other.size == name.size &&
                  !memcmp(other.text, name.text, name.size);
    }
    expected_clean_text(&item->args, name);
    if (number > 1) expected_print(&item->args, " %d", number);
    if (arg->values[TS_COLUMN_TYPE] == TS_VALUE_INT) {
        expected_print(&item->args, "=%" PRIu64 "\x1f", value);
    } else if (arg->values[TS_COLUMN_TYPE] == TS_VALUE_DOUBLE) {
        double real;
        memcpy(&real, &value, 8);
        expected_print(&item->args, "=%.17g\x1f", real);
    } else {
        expected_add(&item->args, "=", 1);
        expected_clean(&item->args, arg->text.text, arg->text.size);
        expected_add(&item->args, "\x1f", 1);
    }
}

static inline void expected_zone(expected *e, const expected_event *zone)
{
    const bool open = zone->kind == TS_EVENT_ZONE_OPEN;
    expected_item *const item =
        expected_new(e, 'S', zone->start_ns,
                     open ? e->end_ns : zone->start_ns + zone->duration_ns);
    expected_place(e, item, zone->track);
    expected_site(e, item, zone->values[TS_COLUMN_SITE]);
    if (open) expected_arg_t(item, "unfinished", expected_static("true"));
    for (size_t i = 0; i < e->event_count; i++) {
        const expected_event *const arg = &e->events[i];
        if (arg->start_ns > zone->start_ns) break;
        if (arg->kind == TS_EVENT_ZONE_ARG && expected_owns(zone, arg))
            expected_zone_arg(e, item, arg);
    }
}

// An argument whose zone is missing is an instant.
static inline void expected_lone_arg(expected *e, const expected_event *arg)
{
    for (size_t i = 0; i < e->event_count; i++)
        if (expected_owns(&e->events[i], arg)) return;
    expected_item *const item =
        expected_new(e, 'S', arg->start_ns, arg->start_ns);
    expected_place(e, item, arg->track);
    expected_clean_text(&item->name, expected_static("zone_arg"));
    expected_clean_text(&item->category, expected_static("zone_arg"));
    expected_zone_arg(e, item, arg);
}

static inline void expected_frame(expected *e, size_t index)
{
    const expected_event *const frame = &e->events[index];
    const ts_text name =
        ts_reader_site_name(e->reader, (uint32_t)frame->values[TS_COLUMN_SITE]);
    uint64_t number = 0;
    int64_t end_ns = e->end_ns;
    bool finished = false;
    for (size_t i = 0; i < e->event_count && !finished; i++) {
        const expected_event *const other = &e->events[i];
        if (other->kind != TS_EVENT_FRAME || other->track != frame->track ||
            ts_reader_site_name(e->reader,
                                (uint32_t)other->values[TS_COLUMN_SITE])
                    .text != name.text)
            continue;
        if (i < index) number++;
        if (i > index) end_ns = other->start_ns, finished = true;
    }
    expected_item *const item = expected_new(e, 'S', frame->start_ns, end_ns);
    expected_place_named(item, "Frames", name);
    expected_site(e, item, frame->values[TS_COLUMN_SITE]);
    expected_arg_u(item, "frame", number);
    if (!finished) expected_arg_t(item, "unfinished", expected_static("true"));
}

// The other end of a span: what stands between them is balanced. Its index,
// event_count if there is none.
static inline size_t expected_partner(const expected *e, size_t index)
{
    const expected_event *const span = &e->events[index];
    const bool starts = span->values[TS_COLUMN_PHASE] == TS_PHASE_START;
    int depth = 0;
    for (size_t i = index; starts ? ++i < e->event_count : i-- > 0;) {
        const expected_event *const other = &e->events[i];
        const uint64_t phase = other->values[TS_COLUMN_PHASE];
        if (other->kind != TS_EVENT_SPAN ||
            (phase != TS_PHASE_START && phase != TS_PHASE_END) ||
            other->values[TS_COLUMN_ID] != span->values[TS_COLUMN_ID])
            continue;
        const bool same = (phase == TS_PHASE_START) == starts;
        if (!same && !depth) return i;
        depth += same ? 1 : -1;
    }
    return e->event_count;
}

// A span lies where the outermost one of its id does.
static inline void expected_place_span(expected *e, expected_item *item,
                                       size_t index)
{
    const uint64_t id = e->events[index].values[TS_COLUMN_ID];
    size_t outermost = index, depth = 0;
    for (size_t i = 0; i <= index; i++) {
        const expected_event *const other = &e->events[i];
        const uint64_t phase = other->values[TS_COLUMN_PHASE];
        if (other->kind != TS_EVENT_SPAN || other->values[TS_COLUMN_ID] != id)
            continue;
        if (phase == TS_PHASE_START && !depth++) outermost = i;
        if (phase == TS_PHASE_END && depth) depth--;
    }
    const uint64_t site = e->events[outermost].values[TS_COLUMN_SITE];
    expected_place_named(item, "Spans",
                         ts_reader_site_name(e->reader, (uint32_t)site));
}

static inline void expected_span(expected *e, size_t index)
{
    const expected_event *const span = &e->events[index];
    const uint64_t phase = span->values[TS_COLUMN_PHASE];
    const bool starts = phase == TS_PHASE_START;
    const bool known = starts || phase == TS_PHASE_END;
    const size_t partner = known ? expected_partner(e, index) : e->event_count;
    const bool alone = partner == e->event_count;
    if (!starts && !alone) return; // the start is the item
    int64_t end_ns = span->start_ns;
    if (starts) end_ns = alone ? e->end_ns : e->events[partner].start_ns;
    expected_item *const item = expected_new(e, 'S', span->start_ns, end_ns);
    expected_arg_u(item, "id", span->values[TS_COLUMN_ID]);
    if (starts) {
        expected_place_span(e, item, index);
        expected_site(e, item, span->values[TS_COLUMN_SITE]);
        expected_arg_track(e, item, "thread", span->track);
        if (alone) expected_arg_t(item, "unfinished", expected_static("true"));
        return;
    }
    expected_place(e, item, span->track);
    expected_name(item,
                  expected_static(known ? "span end without a start" : "span"));
    expected_clean_text(&item->category, expected_static("span"));
}

// The device above a track of a GPU.
static inline uint32_t expected_device(expected *e, const expected_event *event)
{
    ts_track track;
    uint32_t id = event->track;
    for (int i = 0; i < 16 && ts_reader_track(e->reader, id, &track); i++) {
        if (track.type == TS_TRACK_DEVICE) return id;
        id = track.parent;
    }
    return 0;
}

// Whether two events take memory from one pool, or give it back.
static inline bool expected_one_pool(expected *e, const expected_event *a,
                                     const expected_event *b)
{
    const bool gpu = a->kind >= TS_EVENT_GPU_FIRST;
    if (b->kind != (gpu ? TS_EVENT_GPU_ALLOC : TS_EVENT_ALLOC) &&
        b->kind != (gpu ? TS_EVENT_GPU_FREE : TS_EVENT_FREE))
        return false;
    return a->values[TS_COLUMN_POOL] == b->values[TS_COLUMN_POOL] &&
           (!gpu || expected_device(e, a) == expected_device(e, b));
}

// The sum of the sizes of what was allocated up to an event, but for what
// another event about the same address followed.
static inline void expected_live(expected *e, size_t index)
{
    const expected_event *const event = &e->events[index];
    uint64_t live = 0;
    for (size_t i = 0; i <= index; i++) {
        const expected_event *const a = &e->events[i];
        bool is_live =
            expected_one_pool(e, event, a) &&
            (a->kind == TS_EVENT_ALLOC || a->kind == TS_EVENT_GPU_ALLOC);
        for (size_t k = i + 1; k <= index && is_live; k++)
            is_live = !expected_one_pool(e, event, &e->events[k]) ||
                      e->events[k].values[TS_COLUMN_ADDRESS] !=
                          a->values[TS_COLUMN_ADDRESS];
        if (is_live) live += a->values[TS_COLUMN_SIZE];
    }
    const int64_t at = event->start_ns + event->duration_ns;
    expected_item *const item = expected_new(e, 'C', at, at);
    expected_name(item, expected_static("live bytes"));
    expected_print(&item->args, "%" PRIu64, live);
}

static inline void expected_memory(expected *e, size_t index)
{
    const expected_event *const event = &e->events[index];
    const bool alloc = event->kind == TS_EVENT_ALLOC;
    expected_item *const item =
        expected_new(e, 'S', event->start_ns, event->start_ns);
    const ts_text pool =
        ts_reader_name(e->reader, (uint32_t)event->values[TS_COLUMN_POOL]);
    expected_place_named(item, "Memory",
                         pool.size ? pool : expected_static("heap"));
    expected_name(item, expected_static(alloc ? "alloc" : "free"));
    expected_clean_text(&item->category, expected_static("memory"));
    expected_arg_p(item, "address", event->values[TS_COLUMN_ADDRESS]);
    if (alloc) expected_arg_u(item, "bytes", event->values[TS_COLUMN_SIZE]);
    expected_arg_t(
        item, "category",
        ts_reader_name(e->reader, (uint32_t)event->values[TS_COLUMN_CATEGORY]));
    if (event->values[TS_COLUMN_SITE])
        expected_arg_t(item, "zone",
                       ts_reader_site_name(
                           e->reader, (uint32_t)event->values[TS_COLUMN_SITE]));
    expected_arg_track(e, item, "thread", event->track);
    expected_stack(e, item, event->values[TS_COLUMN_STACK]);
    expected_live(e, index);
}

static inline void expected_counter(expected *e, const expected_event *event)
{
    char made[256];
    expected_item *const item =
        expected_new(e, 'C', event->start_ns, event->start_ns);
    expected_name(item, expected_track_name(e, event->track, made));
    const uint64_t bits = event->values[TS_COLUMN_VALUE];
    double real;
    memcpy(&real, &bits, 8);
    if (event->values[TS_COLUMN_TYPE] == TS_VALUE_DOUBLE)
        expected_print(&item->args, "%.17g", real);
    else
        expected_print(&item->args, "%" PRId64, (int64_t)bits);
}

static inline void expected_delay(expected *e, expected_item *item,
                                  const char *key, const expected_event *event,
                                  int column)
{
    const uint64_t ticks = event->values[column];
    if (!ticks) return;
    const int64_t then =
        ts_reader_time_ns(e->reader, event->clock, event->tick - (ticks - 1));
    expected_print(&item->args, "%s=%" PRId64 "\x1f", key,
                   event->start_ns - then);
}

static inline void expected_triple(expected_item *item, const char *key,
                                   const uint32_t v[3])
{
    if (v[0] || v[1] || v[2])
        for (int i = 0; i < 3; i++)
            expected_print(&item->args, "%s[%d]=%" PRIu32 "\x1f", key, i, v[i]);
}

static inline void expected_memory_kind(expected_item *item, const char *key,
                                        uint64_t kind)
{
    static const char *const kinds[] = { "",       "pageable", "pinned",
                                         "device", "managed",  "array" };
    if (kind < 6) expected_arg_t(item, key, expected_static(kinds[kind]));
}

static inline void expected_operation_name(expected *e, expected_item *item,
                                           const expected_event *event)
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
        name = expected_static(copies[v[TS_COLUMN_TYPE]]);
    if (!name.size) name = expected_static(ts_event_name(event->kind));
    expected_name(item, name);
}

static inline void expected_operation(expected *e, size_t index)
{
    const expected_event *const event = &e->events[index];
    const uint64_t *const v = event->values;
    expected_item *const item = expected_new(
        e, 'S', event->start_ns, event->start_ns + event->duration_ns);
    expected_place(e, item, event->track);
    expected_operation_name(e, item, event);
    expected_clean_text(&item->category,
                        expected_static(ts_event_name(event->kind)));
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
            expected_arg_u(item, plain[i].key, v[plain[i].column]);
    if (v[TS_COLUMN_SOURCE])
        expected_arg_p(item, "source", v[TS_COLUMN_SOURCE]);
    if (v[TS_COLUMN_ADDRESS])
        expected_arg_p(item, "address", v[TS_COLUMN_ADDRESS]);
    if (v[TS_COLUMN_COMMUNICATOR])
        expected_arg_p(item, "communicator", v[TS_COLUMN_COMMUNICATOR]);
    if (event->kind == TS_EVENT_MEMCPY || event->kind == TS_EVENT_MEMSET ||
        event->kind == TS_EVENT_COLLECTIVE || event->kind == TS_EVENT_GPU_ALLOC)
        expected_arg_u(item, "bytes", v[TS_COLUMN_SIZE]);
    if (event->kind == TS_EVENT_MEMSET)
        expected_arg_u(item, "value", v[TS_COLUMN_VALUE]);
    if (event->kind == TS_EVENT_COLLECTIVE) {
        static const char *const elements[] = { "",    "i8",  "u8",  "i32",
                                                "u32", "i64", "u64", "f16",
                                                "f32", "f64", "bf16" };
        expected_arg_t(item, "element",
                       expected_static(elements[v[TS_COLUMN_TYPE] % 11]));
    }
    if (event->kind == TS_EVENT_MEMCPY) {
        static const char *const copies[] = { "",    "h2d", "d2h",
                                              "d2d", "h2h", "p2p" };
        expected_arg_t(item, "copy",
                       expected_static(copies[v[TS_COLUMN_TYPE] % 6]));
        expected_memory_kind(item, "source_memory", v[TS_COLUMN_MEMORY] & 15);
        expected_memory_kind(item, "destination_memory",
                             v[TS_COLUMN_MEMORY] >> 4 & 15);
    }
    if (event->kind == TS_EVENT_GPU_ALLOC)
        expected_memory_kind(item, "memory", v[TS_COLUMN_MEMORY] >> 4 & 15);
    const ts_launch_entry *const launch =
        ts_reader_launch(e->reader, (uint32_t)v[TS_COLUMN_LAUNCH]);
    if (launch) {
        expected_triple(item, "grid", launch->grid);
        expected_triple(item, "block", launch->block);
        expected_triple(item, "cluster", launch->cluster);
        if (launch->registers)
            expected_arg_u(item, "registers", launch->registers);
        if (launch->static_shared)
            expected_arg_u(item, "static_shared_bytes", launch->static_shared);
        if (launch->dynamic_shared)
            expected_arg_u(item, "dynamic_shared_bytes",
                           launch->dynamic_shared);
        if (launch->local) expected_arg_u(item, "local_bytes", launch->local);
    }
    expected_arg_t(item, "pool",
                   ts_reader_name(e->reader, (uint32_t)v[TS_COLUMN_POOL]));
    expected_arg_track(e, item, "peer", v[TS_COLUMN_PEER]);
    expected_arg_track(e, item, "thread", v[TS_COLUMN_THREAD]);
    if (v[TS_COLUMN_SITE])
        expected_arg_t(
            item, "zone",
            ts_reader_site_name(e->reader, (uint32_t)v[TS_COLUMN_SITE]));
    expected_stack(e, item, v[TS_COLUMN_STACK]);
    expected_delay(e, item, "queued_ns", event, TS_COLUMN_QUEUED);
    expected_delay(e, item, "submitted_ns", event, TS_COLUMN_SUBMITTED);
    if (event->kind == TS_EVENT_GPU_ALLOC || event->kind == TS_EVENT_GPU_FREE)
        expected_live(e, index);
}

static inline void expected_call(expected *e, const expected_event *event)
{
    expected_item *const item = expected_new(
        e, 'S', event->start_ns, event->start_ns + event->duration_ns);
    expected_place(e, item, event->track);
    expected_name(
        item,
        ts_reader_name(e->reader, (uint32_t)event->values[TS_COLUMN_NAME]));
    expected_clean_text(&item->category, expected_static("api_call"));
    if (event->values[TS_COLUMN_CORRELATION])
        expected_arg_u(item, "correlation",
                       event->values[TS_COLUMN_CORRELATION]);
    expected_arg_u(item, "result", event->values[TS_COLUMN_RESULT]);
    expected_stack(e, item, event->values[TS_COLUMN_STACK]);
}

static inline void expected_access(expected *e, const expected_event *event)
{
    static const char *const names[] = { "access", "read", "write",
                                         "read and write" };
    const uint64_t *const v = event->values;
    expected_item *const item =
        expected_new(e, 'S', event->start_ns, event->start_ns);
    expected_place(e, item, event->track);
    expected_name(item, expected_static(names[v[TS_COLUMN_TYPE] & 3]));
    expected_clean_text(&item->category, expected_static("access"));
    if (v[TS_COLUMN_CORRELATION])
        expected_arg_u(item, "correlation", v[TS_COLUMN_CORRELATION]);
    expected_arg_p(item, "address", v[TS_COLUMN_ADDRESS]);
    expected_arg_u(item, "bytes", v[TS_COLUMN_SIZE]);
}

static inline void expected_point(expected *e, const expected_event *event)
{
    static const char *const phases[] = { "flow", "flow start", "flow step",
                                          "flow end" };
    expected_item *const item =
        expected_new(e, 'S', event->start_ns, event->start_ns);
    expected_place(e, item, event->track);
    if (event->kind == TS_EVENT_FLOW) {
        const uint64_t phase = event->values[TS_COLUMN_PHASE];
        expected_name(item, expected_static(phases[phase < 4 ? phase : 0]));
        expected_clean_text(&item->category, expected_static("flow"));
        expected_arg_u(item, "id", event->values[TS_COLUMN_ID]);
        return;
    }
    expected_site(e, item, event->values[TS_COLUMN_SITE]);
    if (event->kind != TS_EVENT_MESSAGE) return;
    item->name.size = item->category.size = 0;
    expected_clean(&item->name, event->text.text, event->text.size);
    if (!item->name.size) expected_name(item, expected_static("message"));
    expected_clean_text(&item->category, expected_static("message"));
}

/* ---- Arrows ------------------------------------------------------------- */

static inline void expected_arrow(expected *e, const expected_event *from,
                                  const expected_event *to)
{
    expected_item *const item =
        expected_new(e, 'F', from->start_ns, from->start_ns);
    expected_item head = { 0 };
    if (from->kind == TS_EVENT_FLOW) {
        expected_name(item, expected_static("flow"));
        expected_name(&head, expected_static("flow"));
    } else {
        const bool call = from->kind == TS_EVENT_API_CALL;
        expected_name(
            item,
            call ? ts_reader_name(e->reader,
                                  (uint32_t)from->values[TS_COLUMN_NAME])
                 : ts_reader_site_name(e->reader,
                                       (uint32_t)from->values[TS_COLUMN_SITE]));
        expected_operation_name(e, &head, to);
    }
    expected_add(&item->args, head.name.text, head.name.size);
    expected_print(&item->args, "\x1f%" PRId64, to->start_ns);
    free(head.name.text);
}

// The record of an event for a wait: other work has its call.
static inline bool expected_is_echo(const expected *e,
                                    const expected_event *record)
{
    const uint64_t correlation = record->values[TS_COLUMN_CORRELATION];
    if (record->kind != TS_EVENT_EVENT_RECORD || !correlation) return false;
    for (size_t i = 0; i < e->event_count; i++) {
        const expected_event *const op = &e->events[i];
        if (op->kind >= TS_EVENT_GPU_FIRST &&
            op->kind != TS_EVENT_EVENT_RECORD &&
            op->values[TS_COLUMN_CORRELATION] == correlation &&
            op->values[TS_COLUMN_THREAD] == record->values[TS_COLUMN_THREAD])
            return true;
    }
    return false;
}

static inline void expected_launch(expected *e, const expected_event *op)
{
    const uint64_t *const v = op->values;
    const expected_event *best = NULL;
    for (size_t i = 0; i < e->event_count; i++) {
        const expected_event *const call = &e->events[i];
        if (v[TS_COLUMN_CORRELATION] && call->kind == TS_EVENT_API_CALL &&
            call->values[TS_COLUMN_CORRELATION] == v[TS_COLUMN_CORRELATION] &&
            (!v[TS_COLUMN_THREAD] || v[TS_COLUMN_THREAD] == call->track)) {
            if (!expected_is_echo(e, op)) expected_arrow(e, call, op);
            return;
        }
    }
    const uint64_t before =
        v[TS_COLUMN_QUEUED] ? v[TS_COLUMN_QUEUED] : v[TS_COLUMN_SUBMITTED];
    if (!before || !v[TS_COLUMN_THREAD]) return;
    const int64_t then =
        ts_reader_time_ns(e->reader, op->clock, op->tick - (before - 1));
    for (size_t i = 0; i < e->event_count; i++) {
        const expected_event *const zone = &e->events[i];
        const bool open = zone->kind == TS_EVENT_ZONE_OPEN;
        if ((zone->kind != TS_EVENT_ZONE && !open) ||
            zone->track != v[TS_COLUMN_THREAD] || zone->start_ns > then ||
            (open ? e->end_ns : zone->start_ns + zone->duration_ns) <= then)
            continue;
        if (!best || zone->start_ns > best->start_ns) best = zone;
    }
    if (best) expected_arrow(e, best, op);
}

static inline void expected_flow(expected *e, size_t index)
{
    const expected_event *const to = &e->events[index];
    for (size_t i = index; i-- > 0;) {
        const expected_event *const from = &e->events[i];
        if (from->kind != TS_EVENT_FLOW ||
            from->values[TS_COLUMN_ID] != to->values[TS_COLUMN_ID])
            continue;
        if (from->values[TS_COLUMN_PHASE] != TS_PHASE_END &&
            to->values[TS_COLUMN_PHASE] != TS_PHASE_START)
            expected_arrow(e, from, to);
        return;
    }
}

/* ---- All ---------------------------------------------------------------- */

// Below the track that lost, or the process.
static inline void expected_place_loss(expected *e, expected_item *item,
                                       uint32_t id)
{
    char made[256];
    if (id) expected_clean_text(&item->place, expected_track_name(e, id, made));
    expected_add(&item->place, "/lost", 5);
}

static inline void expected_losses(expected *e)
{
    ts_loss_row row;
    for (size_t i = 0; ts_reader_loss(e->reader, i, &row); i++) {
        const bool stall = row.cause >= TS_LOSS_STALL_FIRST;
        expected_item *const item =
            expected_new(e, 'S', row.first_ns, row.last_ns);
        expected_place_loss(e, item, row.track);
        expected_print(&item->name, "%s: %s", stall ? "stalled" : "lost",
                       ts_loss_name(row.cause));
        expected_clean_text(&item->category,
                            expected_static(stall ? "stall" : "loss"));
        expected_arg_u(item, "count", row.count);
        expected_arg_u(item, "cause", row.cause);
        expected_arg_t(item, "detail", ts_reader_name(e->reader, row.detail));
        if (row.stall_ns) expected_arg_u(item, "stall_ns", row.stall_ns);
    }
}

static inline void expected_event_items(expected *e, size_t i)
{
    const expected_event *const event = &e->events[i];
    switch ((int)event->kind) {
    case TS_EVENT_ZONE:
    case TS_EVENT_ZONE_OPEN: expected_zone(e, event); break;
    case TS_EVENT_ZONE_ARG: expected_lone_arg(e, event); break;
    case TS_EVENT_FRAME: expected_frame(e, i); break;
    case TS_EVENT_SPAN: expected_span(e, i); break;
    case TS_EVENT_ALLOC:
    case TS_EVENT_FREE: expected_memory(e, i); break;
    case TS_EVENT_COUNTER: expected_counter(e, event); break;
    case TS_EVENT_API_CALL: expected_call(e, event); break;
    case TS_EVENT_DEPENDENCY: break;
    case TS_EVENT_ACCESS: expected_access(e, event); break;
    case TS_EVENT_FLOW:
        expected_flow(e, i);
        expected_point(e, event);
        break;
    case TS_EVENT_MARK:
    case TS_EVENT_MESSAGE: expected_point(e, event); break;
    default:
        expected_operation(e, i);
        expected_launch(e, event);
        break;
    }
}

static inline void expected_open(expected *e, ts_reader *reader)
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
            expected_chunk(e, &columns);
    }
    ts_columns_close(reader, &columns);
    if (e->event_count)
        qsort(e->events, e->event_count, sizeof *e->events, expected_by_start);
    for (size_t i = 0; i < e->event_count; i++)
        expected_event_items(e, i);
    expected_losses(e);
}

static inline void expected_close(expected *e)
{
    for (size_t i = 0; i < e->event_count; i++)
        free(e->events[i].text.text);
    for (size_t i = 0; i < e->item_count; i++) {
        free(e->items[i].name.text);
        free(e->items[i].category.text);
        free(e->items[i].place.text);
        free(e->items[i].args.text);
    }
    free(e->events);
    free(e->items);
}

#endif // EXPORT_EXPECTED_H
