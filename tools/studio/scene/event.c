/*
    event.c - everything that is known of an event, as names and values
*/
#include <stdarg.h>
#include "tools/studio/scene/parts.h"

typedef struct listing {
    scene *s;
    const ts_columns *c;
    uint32_t row;
    scene_put *put;
    void *user;
} listing;

static void put_text(const listing *l, const char *name, ts_text text)
{
    l->put(name, text, l->user);
}

__attribute__((format(printf, 3, 4))) static void
put(const listing *l, const char *name, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    const int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put_text(l, name,
             (ts_text){ text, size < (int)sizeof text ? (size_t)size
                                                      : sizeof text - 1 });
}

static uint64_t value(const listing *l, ts_column column)
{
    return l->c->values[column] ? l->c->values[column][l->row] : 0;
}

static void put_name(const listing *l, const char *name, uint64_t id)
{
    const ts_text text = ts_reader_name(l->s->reader, (uint32_t)id);
    if (text.size)
        put_text(l, name, scene_readable(l->s, text));
    else
        put(l, name, "%" PRIu64, id);
}

static void put_track(const listing *l, const char *name, uint64_t id)
{
    put_text(l, name, scene_track_name(l->s, (uint32_t)id));
}

static void put_site(const listing *l, uint64_t id)
{
    const ts_reader *const reader = l->s->reader;
    const ts_site_entry *const site = ts_reader_site(reader, (uint32_t)id);
    if (!site) {
        put(l, "site", "%" PRIu64, id);
        return;
    }
    const ts_text name = ts_reader_site_name(reader, (uint32_t)id);
    if (scene_row_of_kind(l->c->kind) == SCENE_WORK)
        put_text(l, "zone", scene_readable(l->s, name));
    if (site->category) put_name(l, "category", site->category);
    if (site->function) put_name(l, "function", site->function);
    if (site->file) put_name(l, "file", site->file);
    if (site->line) put(l, "line", "%" PRIu32, site->line);
}

static void put_triple(const listing *l, const char *name, const uint32_t n[3])
{
    if (n[0] || n[1] || n[2])
        put(l, name, "%" PRIu32 " x %" PRIu32 " x %" PRIu32, n[0], n[1], n[2]);
}

static void put_launch(const listing *l, uint64_t id)
{
    const ts_launch_entry *const e =
        ts_reader_launch(l->s->reader, (uint32_t)id);
    if (!e) return;
    put_triple(l, "grid", e->grid);
    put_triple(l, "block", e->block);
    put_triple(l, "cluster", e->cluster);
    if (e->registers) put(l, "registers", "%" PRIu32, e->registers);
    if (e->static_shared || e->dynamic_shared)
        put(l, "shared memory", "%" PRIu32 " bytes, %" PRIu32 " of it dynamic",
            e->static_shared + e->dynamic_shared, e->dynamic_shared);
    if (e->local) put(l, "local memory", "%" PRIu32 " bytes", e->local);
}

static void put_symbol(const listing *l, const ts_frame_entry *frame)
{
    const ts_reader *const reader = l->s->reader;
    const ts_line_entry *lines;
    const uint32_t count = ts_reader_symbol(reader, frame, &lines);
    for (uint32_t i = 0; i < count; i++)
        put_name(l, "frame", lines[i].function);
    if (count) return;
    const ts_module_entry *const module =
        ts_reader_module(reader, frame->module);
    const ts_text path = ts_reader_name(reader, module ? module->path : 0);
    put(l, "frame", "%.*s+0x%" PRIx64, (int)(path.size < 200 ? path.size : 200),
        path.text, frame->offset);
}

static void put_stack(const listing *l, uint64_t id)
{
    const ts_frame_entry *frames;
    const uint32_t count = ts_reader_stack(l->s->reader, (uint32_t)id, &frames);
    for (uint32_t i = 0; i < count && i < 32; i++)
        put_symbol(l, &frames[i]);
}

static void put_before(const listing *l, const char *name, uint64_t ticks)
{
    const int64_t then = ts_reader_time_ns(
        l->s->reader, l->c->clock, l->c->start_ticks[l->row] - (ticks - 1));
    put(l, name, "%" PRId64 " ns before", l->c->start_ns[l->row] - then);
}

static const char *memory_name(uint64_t kind)
{
    static const char *const names[] = { "unknown", "pageable", "pinned",
                                         "device",  "managed",  "array" };
    return names[kind < 6 ? kind : 0];
}

static void put_sample(const listing *l, uint64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    if (value(l, TS_COLUMN_TYPE) == TS_VALUE_DOUBLE)
        put(l, "value", "%.17g", real);
    else
        put(l, "value", "%" PRId64, (int64_t)bits);
}

static void put_column(const listing *l, ts_column column, uint64_t n)
{
    const char *const name = ts_column_name(column);
    switch (column) {
    case TS_COLUMN_SITE: put_site(l, n); break;
    case TS_COLUMN_LAUNCH: put_launch(l, n); break;
    case TS_COLUMN_NAME:
    case TS_COLUMN_POOL:
    case TS_COLUMN_UNIT:
    case TS_COLUMN_CATEGORY: put_name(l, name, n); break;
    case TS_COLUMN_THREAD:
    case TS_COLUMN_PEER: put_track(l, name, n); break;
    case TS_COLUMN_ADDRESS:
    case TS_COLUMN_SOURCE: put(l, name, "0x%" PRIx64, n); break;
    case TS_COLUMN_SIZE: put(l, name, "%" PRIu64 " bytes", n); break;
    case TS_COLUMN_MEMORY:
        put(l, "memory", "%s to %s", memory_name(n & 15),
            memory_name(n >> 4 & 15));
        break;
    case TS_COLUMN_QUEUED:
    case TS_COLUMN_SUBMITTED: put_before(l, name, n); break;
    case TS_COLUMN_STACK: put_stack(l, n); break;
    case TS_COLUMN_VALUE: put_sample(l, n); break;
    case TS_COLUMN_TYPE: break; // it is in the label, or of the value
    default: put(l, name, "%" PRIu64, n);
    }
}

// Bytes that a copy moved each second.
static void put_rate(const listing *l)
{
    const uint64_t size = value(l, TS_COLUMN_SIZE);
    const int64_t ns = l->c->duration_ns[l->row];
    if (l->c->kind == TS_EVENT_MEMCPY && size && ns > 0)
        put(l, "rate", "%.3f GB/s", (double)size / (double)ns);
}

const ts_columns *scene_decode(scene *s, scene_ref ref, uint32_t *row)
{
    ts_columns *const c = &s->columns;
    const size_t chunk = (size_t)(ref >> 32);
    *row = (uint32_t)ref;
    if (ref & (SCENE_REF_GAP | SCENE_REF_PART | SCENE_REF_STEP)) return NULL;
    if ((!c->count || c->chunk != chunk) &&
        ts_reader_decode(s->reader, chunk, c) != TS_OK) {
        c->count = 0;
        return NULL;
    }
    return *row < c->count ? c : NULL;
}

// The name in the trace, if it is shown as it is read.
static void put_raw(const listing *l)
{
    const uint32_t label = scene_label_row(l->s, l->c, l->row);
    if (label == CLI_NONE) return;
    const ts_text raw = scene_label_raw(l->s, label);
    if (raw.text != l->s->labels[label].text.text) put_text(l, "symbol", raw);
}

bool scene_event(scene *s, scene_ref ref, scene_put *to, void *user)
{
    listing l = { .s = s, .put = to, .user = user };
    if ((ref & (SCENE_REF_GAP | SCENE_REF_PART | SCENE_REF_STEP)) ==
        SCENE_REF_STEP)
        return scene_step_facts(s, ref, to, user);
    l.c = scene_decode(s, ref, &l.row);
    if (!l.c) return false;
    const uint32_t track = l.c->tracks ? l.c->tracks[l.row] : l.c->track;
    put(&l, "kind", "%s", ts_event_name(l.c->kind));
    put_track(&l, "track", track);
    const uint8_t *column = ts_event_columns(l.c->kind);
    for (; column && *column; column++) {
        const uint64_t n = value(&l, (ts_column)*column);
        if (*column == TS_COLUMN_TEXT && l.c->text_sizes)
            put_text(&l, "text",
                     (ts_text){ l.c->texts[l.row], l.c->text_sizes[l.row] });
        else if (n && *column < TS_COLUMN_LIMIT)
            put_column(&l, (ts_column)*column, n);
    }
    put_rate(&l);
    put_raw(&l);
    return true;
}
