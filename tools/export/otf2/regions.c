/*
    regions.c - texts, regions and attributes of an archive
*/
#include "tools/export/otf2/otf2.h"
#include "tools/cli/map.h"

#ifdef TRACESMITH_OTF2

/* ---- Texts --------------------------------------------------------------- */

// The archive ends texts with a zero.
OTF2_StringRef otf2_put_text(otf2_out *o, ts_text text)
{
    o->scratch.size = 0;
    export_put_utf8(&o->scratch, text.text, text.size);
    const size_t size = o->scratch.size;
    export_put(&o->scratch, "", 1);
    uint64_t key = cli_hash(o->scratch.data, size) >> 1;
    for (uint64_t *at; (at = export_map_find(&o->string_of, key)); key++) {
        const otf2_string *const s = &o->strings[*at];
        if (s->size == size &&
            !memcmp(o->texts.data + s->at, o->scratch.data, size))
            return (OTF2_StringRef)*at;
    }
    o->strings = export_grow(o->strings, &o->string_room, o->string_count,
                             sizeof *o->strings);
    o->strings[o->string_count] = (otf2_string){ o->texts.size, size };
    export_put(&o->texts, o->scratch.data, size);
    const OTF2_StringRef number = (OTF2_StringRef)o->string_count++;
    *export_map_at(&o->string_of, key) = number;
    otf2_check(o, OTF2_GlobalDefWriter_WriteString(
                      o->definitions, number, (const char *)o->scratch.data));
    return number;
}

static OTF2_StringRef put_name(otf2_out *o, uint32_t name)
{
    return otf2_put_text(o, ts_reader_name(o->reader, name));
}

/* ---- Regions ------------------------------------------------------------- */

enum { SITE = 1, CALL, KERNEL, COLLECTIVE, OTHER }; // what a region is of

// Returns where the number of a region is; 0: it is to be written.
static uint64_t *find(otf2_out *o, uint64_t what, uint32_t id)
{
    return export_map_at(&o->region_of, what << 32 | id);
}

static uint32_t put_region(otf2_out *o, OTF2_StringRef name,
                           OTF2_StringRef function, OTF2_StringRef category,
                           OTF2_RegionRole role, OTF2_Paradigm paradigm,
                           OTF2_StringRef file, uint32_t line)
{
    const uint32_t number = o->region_count++;
    otf2_check(o, OTF2_GlobalDefWriter_WriteRegion(
                      o->definitions, number, name, function, category, role,
                      paradigm, OTF2_REGION_FLAG_NONE, file, line, line));
    return number;
}

uint32_t otf2_put_site(otf2_out *o, uint32_t id)
{
    const ts_site_entry none = { 0 };
    const ts_site_entry *site = ts_reader_site(o->reader, id);
    const uint64_t known = *find(o, SITE, id);
    if (known) return (uint32_t)known - 1;
    if (!site) site = &none;
    const OTF2_StringRef name = put_name(o, site->name);
    const OTF2_StringRef function = put_name(o, site->function);
    const OTF2_StringRef category = put_name(o, site->category);
    const OTF2_StringRef file = put_name(o, site->file);
    const uint32_t number =
        put_region(o, name, function, category, OTF2_REGION_ROLE_FUNCTION,
                   OTF2_PARADIGM_USER, o->desc->no_args ? put_name(o, 0) : file,
                   o->desc->no_args ? 0 : site->line);
    *find(o, SITE, id) = number + 1;
    return number;
}

static OTF2_Paradigm paradigm_of(ts_text name)
{
    if (name.size > 3 && !memcmp(name.text, "hip", 3)) return OTF2_PARADIGM_HIP;
    if (name.size > 2 && !memcmp(name.text, "cl", 2))
        return OTF2_PARADIGM_OPENCL;
    return OTF2_PARADIGM_CUDA;
}

uint32_t otf2_put_call(otf2_out *o, uint32_t name)
{
    const uint64_t known = *find(o, CALL, name);
    if (known) return (uint32_t)known - 1;
    const OTF2_StringRef text = put_name(o, name);
    const uint32_t number = put_region(
        o, text, put_name(o, 0), put_name(o, 0), OTF2_REGION_ROLE_WRAPPER,
        paradigm_of(ts_reader_name(o->reader, name)), put_name(o, 0), 0);
    *find(o, CALL, name) = number + 1;
    return number;
}

static OTF2_RegionRole role_of(uint32_t kind)
{
    switch (kind) {
    case TS_EVENT_MEMCPY: return OTF2_REGION_ROLE_DATA_TRANSFER;
    case TS_EVENT_STREAM_SYNC:
    case TS_EVENT_DEVICE_SYNC:
    case TS_EVENT_EVENT_SYNC: return OTF2_REGION_ROLE_BARRIER;
    case TS_EVENT_COLLECTIVE: return OTF2_REGION_ROLE_COLL_OTHER;
    case TS_EVENT_GPU_ALLOC: return OTF2_REGION_ROLE_ALLOCATE;
    case TS_EVENT_GPU_FREE: return OTF2_REGION_ROLE_DEALLOCATE;
    default: return OTF2_REGION_ROLE_FUNCTION;
    }
}

uint32_t otf2_put_operation(otf2_out *o, const ts_event *event)
{
    const uint32_t own = (uint32_t)ts_event_value(event, TS_COLUMN_NAME);
    const ts_launch_entry *const launch = ts_reader_launch(
        o->reader, (uint32_t)ts_event_value(event, TS_COLUMN_LAUNCH));
    const bool is_kernel = event->kind == TS_EVENT_KERNEL && launch;
    const bool is_named = event->kind == TS_EVENT_COLLECTIVE;
    const uint64_t what = is_kernel ? KERNEL : is_named ? COLLECTIVE : OTHER;
    const uint32_t id = is_kernel ? launch->name : is_named ? own : event->kind;
    const uint64_t known = *find(o, what, id);
    if (known) return (uint32_t)known - 1;
    const OTF2_StringRef name =
        is_kernel || is_named
            ? put_name(o, id)
            : otf2_put_text(o, export_text(ts_event_name(event->kind)));
    const uint32_t number = put_region(
        o, name, put_name(o, 0), put_name(o, 0), role_of(event->kind),
        OTF2_PARADIGM_UNKNOWN, put_name(o, 0), 0);
    *find(o, what, id) = number + 1;
    return number;
}

/* ---- Attributes ---------------------------------------------------------- */

// A list has each attribute once: for a name that comes again there are more.
void otf2_put_attribute(otf2_out *o, otf2_held *to, ts_text name,
                        OTF2_Type type, uint64_t bits)
{
    const OTF2_StringRef text = otf2_put_text(o, name);
    const OTF2_StringRef none = otf2_put_text(o, export_text(""));
    uint64_t key = (uint64_t)type << 32 | text;
    for (size_t i = 0; i < to->count; i++)
        if (to->attributes[i].key == key) key += UINT64_C(1) << 40;
    uint64_t *const known = export_map_at(&o->attribute_of, key);
    if (!*known) {
        *known = o->attribute_of.count;
        otf2_check(o, OTF2_GlobalDefWriter_WriteAttribute(
                          o->definitions, (OTF2_AttributeRef)*known - 1, text,
                          none, type));
    }
    otf2_attribute a = { .key = key,
                         .id = (OTF2_AttributeRef)*known - 1,
                         .type = type };
    if (type == OTF2_TYPE_STRING || type == OTF2_TYPE_REGION)
        a.value.uint32 = (uint32_t)bits;
    else
        a.value.uint64 = bits;
    to->attributes = export_grow(to->attributes, &to->room, to->count,
                                 sizeof *to->attributes);
    to->attributes[to->count++] = a;
}

static void put_uint(otf2_out *o, otf2_held *to, const char *name,
                     uint64_t value)
{
    if (value)
        otf2_put_attribute(o, to, export_text(name), OTF2_TYPE_UINT64, value);
}

static void put_launch(otf2_out *o, otf2_held *to, const ts_event *event)
{
    static const char *const names[] = {
        "grid_x",    "grid_y",    "grid_z",        "block_x",
        "block_y",   "block_z",   "cluster_x",     "cluster_y",
        "cluster_z", "registers", "static_shared", "dynamic_shared",
        "local"
    };
    const ts_launch_entry *const launch = ts_reader_launch(
        o->reader, (uint32_t)ts_event_value(event, TS_COLUMN_LAUNCH));
    if (!launch) return;
    if (event->kind != TS_EVENT_KERNEL) // whose region has its name
        otf2_put_attribute(o, to, export_text("kernel"), OTF2_TYPE_STRING,
                           put_name(o, launch->name));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        put_uint(o, to, names[i], (&launch->grid[0])[i]);
}

// How long before its start; 1 more, as in the column.
static void put_delay(otf2_out *o, otf2_held *to, const ts_event *event,
                      ts_column column)
{
    const uint64_t ticks = ts_event_value(event, column);
    const ts_columns *const c = event->columns;
    if (!ticks) return;
    const int64_t then = ts_reader_time_ns(
        o->reader, c->clock, c->start_ticks[event->row] - (ticks - 1));
    put_uint(o, to, ts_column_name(column),
             (uint64_t)event->start_ns - (uint64_t)then + 1);
}

static uint64_t track_number(const otf2_out *o, uint64_t id)
{
    ts_track track;
    return ts_reader_track(o->reader, (uint32_t)id, &track) ? track.number : 0;
}

// All columns of an operation but its stack, by their names.
void otf2_put_columns(otf2_out *o, otf2_held *to, const ts_event *event)
{
    put_uint(o, to, "kind", event->kind);
    for (const uint8_t *at = ts_event_columns(event->kind); *at; at++) {
        const ts_column column = (ts_column)*at;
        const uint64_t value = ts_event_value(event, column);
        const ts_text name = export_text(ts_column_name(column));
        if (!value) continue;
        switch ((int)column) {
        case TS_COLUMN_START:
        case TS_COLUMN_DURATION:
        case TS_COLUMN_STACK: break;
        case TS_COLUMN_QUEUED:
        case TS_COLUMN_SUBMITTED: put_delay(o, to, event, column); break;
        case TS_COLUMN_LAUNCH: put_launch(o, to, event); break;
        case TS_COLUMN_SITE:
            otf2_put_attribute(o, to, name, OTF2_TYPE_REGION,
                               otf2_put_site(o, (uint32_t)value));
            break;
        case TS_COLUMN_NAME:
        case TS_COLUMN_POOL:
            otf2_put_attribute(o, to, name, OTF2_TYPE_STRING,
                               put_name(o, (uint32_t)value));
            break;
        case TS_COLUMN_THREAD:
            otf2_put_attribute(o, to, name, OTF2_TYPE_LOCATION,
                               otf2_lane_at(o, (uint32_t)value,
                                            OTF2_LOCATION_TYPE_CPU_THREAD));
            break;
        case TS_COLUMN_PEER:
            put_uint(o, to, "peer",
                     event->kind == TS_EVENT_MEMCPY ? track_number(o, value) + 1
                                                    : value);
            break;
        default: put_uint(o, to, ts_column_name(column), value);
        }
    }
}

#else
typedef int otf2_regions_need_otf2; // a file of C has a declaration
#endif
