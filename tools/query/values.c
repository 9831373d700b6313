/*
    values.c - converts raw numbers to SQL values
*/
#include "tools/query/tables.h"

#ifdef TRACESMITH_SQLITE

static query_cell one_of(const char *const *names, size_t count, uint64_t at)
{
    return at < count && names[at] ? query_string(names[at]) : query_null;
}
#define ONE_OF(names, at) one_of(names, sizeof(names) / sizeof *(names), at)

static query_cell show_element(uint64_t raw)
{
    const char *const name = ts_element_name(raw);
    return one_of(&name, 1, 0);
}

static query_cell show_word(uint32_t show, uint64_t raw)
{
    static const char *const copies[] = {
        NULL,           "host_to_device", "device_to_host", "device_to_device",
        "host_to_host", "peer_to_peer"
    };
    static const char *const memories[] = { NULL,     "pageable", "pinned",
                                            "device", "managed",  "array" };
    static const char *const phases[] = { NULL, "start", "step", "end" };
    static const char *const dependencies[] = { "unknown", "control", "data" };
    static const char *const types[] = { NULL, "integer", "real", "text" };
    static const char *const modes[] = {
        NULL, "read",         "write",         "read+write",
        NULL, "read, coarse", "write, coarse", "read+write, coarse"
    };
    switch (show) {
    case SHOW_COPY: return ONE_OF(copies, raw);
    case SHOW_MEMORY_FROM: return ONE_OF(memories, raw & 15);
    case SHOW_MEMORY_TO: return ONE_OF(memories, raw >> 4 & 15);
    case SHOW_ELEMENT: return show_element(raw);
    case SHOW_PHASE: return ONE_OF(phases, raw);
    case SHOW_DEPENDENCY: return ONE_OF(dependencies, raw);
    case SHOW_VALUE_TYPE: return ONE_OF(types, raw);
    default: return ONE_OF(modes, raw & 7);
    }
}

static query_cell show_site(const ts_reader *reader, uint32_t show,
                            uint64_t raw)
{
    const ts_site_entry *const site = ts_reader_site(reader, (uint32_t)raw);
    if (!site) return query_null;
    switch (show) {
    case SHOW_SITE_NAME:
        return query_text(ts_reader_site_name(reader, (uint32_t)raw));
    case SHOW_SITE_CATEGORY:
        return query_text(ts_reader_name(reader, site->category));
    case SHOW_SITE_FUNCTION:
        return query_text(ts_reader_name(reader, site->function));
    case SHOW_SITE_SOURCE:
        return query_text(ts_reader_name(reader, site->file));
    default: return site->line ? query_integer(site->line) : query_null;
    }
}

static query_cell track_number(int64_t number)
{
    return number < 0 ? query_null : query_integer(number);
}

static query_cell show_track(const query_file *file, uint32_t show,
                             uint64_t raw)
{
    const query_track *const track = query_track_find(file, (uint32_t)raw);
    if (!track) return query_null;
    switch (show) {
    case SHOW_TRACK_NAME: return query_text(track->name);
    case SHOW_TRACK_UNIT: return query_text(track->unit);
    case SHOW_THREAD:
        return track->type == TS_TRACK_THREAD
                   ? query_integer((int64_t)track->number)
                   : query_null;
    case SHOW_PROCESS: return track_number(track->process);
    case SHOW_DEVICE: return track_number(track->device);
    case SHOW_CONTEXT: return track_number(track->context);
    default: return track_number(track->stream);
    }
}

static query_cell show_launch(const ts_reader *reader, uint32_t show,
                              uint64_t raw)
{
    const ts_launch_entry *const l = ts_reader_launch(reader, (uint32_t)raw);
    if (!l) return query_null;
    const uint32_t values[] = {
        l->grid[0],    l->grid[1],   l->grid[2],       l->block[0],
        l->block[1],   l->block[2],  l->cluster[0],    l->cluster[1],
        l->cluster[2], l->registers, l->static_shared, l->dynamic_shared,
        l->local
    };
    return query_integer(values[show - SHOW_LAUNCH]);
}

static query_cell show_kind(uint32_t show, uint64_t raw)
{
    const bool alloc = raw == TS_EVENT_ALLOC || raw == TS_EVENT_GPU_ALLOC;
    if (show == SHOW_MEMORY_EVENT)
        return query_string(alloc ? "alloc" : "free");
    if (show == SHOW_MEMORY_PLACE)
        return query_string(raw < TS_EVENT_GPU_FIRST ? "host" : "device");
    return query_string(ts_event_name((uint32_t)raw));
}

query_cell query_show_cell(const query *q, uint32_t file, uint32_t show,
                           uint64_t raw)
{
    const ts_reader *const reader = q->files[file].trace.reader;
    if (show >= SHOW_LAUNCH && show < SHOW_LAUNCH_END)
        return show_launch(reader, show, raw);
    switch ((query_show)show) {
    case SHOW_NUMBER: return query_integer((int64_t)raw);
    case SHOW_OPTION: return raw ? query_integer((int64_t)raw) : query_null;
    case SHOW_MOMENT:
        return raw == RAW_NEVER ? query_null : query_integer((int64_t)raw);
    case SHOW_RANK: return raw ? query_integer((int64_t)raw - 1) : query_null;
    case SHOW_NAME: return query_text(ts_reader_name(reader, (uint32_t)raw));
    case SHOW_LABEL:
        return raw >= LABEL_KIND
                   ? show_kind(SHOW_KIND, raw - LABEL_KIND)
                   : query_text(ts_reader_name(reader, (uint32_t)raw));
    case SHOW_LABEL_NAME:
        return raw && raw < LABEL_KIND ? query_integer((int64_t)raw)
                                       : query_null;
    case SHOW_SITE_NAME:
    case SHOW_SITE_CATEGORY:
    case SHOW_SITE_FUNCTION:
    case SHOW_SITE_SOURCE:
    case SHOW_SITE_LINE: return show_site(reader, show, raw);
    case SHOW_TRACK_NAME:
    case SHOW_TRACK_UNIT:
    case SHOW_THREAD:
    case SHOW_PROCESS:
    case SHOW_DEVICE:
    case SHOW_CONTEXT:
    case SHOW_STREAM: return show_track(&q->files[file], show, raw);
    case SHOW_KIND:
    case SHOW_MEMORY_EVENT:
    case SHOW_MEMORY_PLACE: return show_kind(show, raw);
    case SHOW_FILE: return query_string(q->files[file].path);
    default: return show_word(show, raw);
    }
}

bool query_show_is_text(uint32_t show)
{
    static const uint64_t texts =
        UINT64_C(1) << SHOW_NAME | UINT64_C(1) << SHOW_LABEL |
        UINT64_C(1) << SHOW_SITE_NAME | UINT64_C(1) << SHOW_SITE_CATEGORY |
        UINT64_C(1) << SHOW_SITE_FUNCTION | UINT64_C(1) << SHOW_SITE_SOURCE |
        UINT64_C(1) << SHOW_TRACK_NAME | UINT64_C(1) << SHOW_TRACK_UNIT |
        UINT64_C(1) << SHOW_KIND | UINT64_C(1) << SHOW_MEMORY_EVENT |
        UINT64_C(1) << SHOW_MEMORY_PLACE | UINT64_C(1) << SHOW_COPY |
        UINT64_C(1) << SHOW_MEMORY_FROM | UINT64_C(1) << SHOW_MEMORY_TO |
        UINT64_C(1) << SHOW_ELEMENT | UINT64_C(1) << SHOW_PHASE |
        UINT64_C(1) << SHOW_DEPENDENCY | UINT64_C(1) << SHOW_ACCESS |
        UINT64_C(1) << SHOW_VALUE_TYPE | UINT64_C(1) << SHOW_FILE;
    return show < SHOW_LAUNCH && texts >> show & 1;
}

int query_cell_order(const query_cell *a, const query_cell *b)
{
    if (a->type != b->type || a->type == CELL_REAL)
        return (a->type > b->type) - (a->type < b->type);
    if (a->type == CELL_INTEGER)
        return (a->number > b->number) - (a->number < b->number);
    const size_t least =
        a->text.size < b->text.size ? a->text.size : b->text.size;
    const int order = least ? memcmp(a->text.text, b->text.text, least) : 0;
    if (order) return order;
    return (a->text.size > b->text.size) - (a->text.size < b->text.size);
}

void query_result(sqlite3_context *context, const query_cell *cell)
{
    switch (cell->type) {
    case CELL_INTEGER: sqlite3_result_int64(context, cell->number); break;
    case CELL_REAL: sqlite3_result_double(context, cell->real); break;
    case CELL_TEXT:
        // The size fits an int: names have at most 65,535 bytes, texts of
        // events are smaller than chunks.
        sqlite3_result_text(context, cell->text.text, (int)cell->text.size,
                            SQLITE_STATIC);
        break;
    default: sqlite3_result_null(context);
    }
}

#endif
