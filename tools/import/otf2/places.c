/*
    places.c - locations and their groups as tracks; which location a rank is
*/
#include "tools/import/otf2/otf2.h"

#ifdef TRACESMITH_OTF2

uint32_t otf2_group_of(const otf2 *o, uint64_t location)
{
    const otf2_row *const place = otf2_find(o, OTF2_PLACE, location);
    return place ? (uint32_t)place->v[3] : OTF2_UNDEFINED_LOCATION_GROUP;
}

bool otf2_is_stream(const otf2 *o, uint64_t location)
{
    const otf2_row *const place = otf2_find(o, OTF2_PLACE, location);
    return place && place->v[2] == OTF2_LOCATION_TYPE_ACCELERATOR_STREAM;
}

/* ---- Devices ------------------------------------------------------------- */

// A node of the system that is a device, so that processes share it; else the
// group itself.
static uint64_t device_of(const otf2 *o, const otf2_row *group)
{
    const otf2_row *const node = otf2_find(o, OTF2_NODE, group->v[3]);
    return node && node->v[1] &&
                   group->v[2] == OTF2_LOCATION_GROUP_TYPE_ACCELERATOR
               ? group->v[3] | UINT64_C(1) << 32
               : group->v[0];
}

// Devices have the numbers 0, 1, ... in the order of their first use.
static int64_t device_number(otf2 *o, const otf2_row *group)
{
    const uint64_t *const own =
        otf2_find_property(o, true, group->v[0], OTF2_PROPERTY_NUMBER);
    if (own) return (int64_t)*own;
    const uint64_t device = device_of(o, group);
    if (!cli_map_find(&o->devices, device))
        o->no_memory |= !cli_map_set(&o->devices, device, o->devices.count);
    const uint64_t *const number = cli_map_find(&o->devices, device);
    return number ? (int64_t)*number : 0;
}

static uint32_t device_track(otf2 *o, const otf2_row *group)
{
    const uint32_t track = import_device(o->job, device_number(o, group));
    const ts_text name = otf2_text(o, group->v[1]);
    if (group->v[2] == OTF2_LOCATION_GROUP_TYPE_ACCELERATOR && name.size)
        import_track_name(o->job, track, name.text, name.size);
    return track;
}

static uint32_t stream_track(otf2 *o, const otf2_row *place,
                             const otf2_row *group)
{
    static const otf2_row unknown = { .v = { UINT64_MAX } };
    const uint64_t id = place->v[0];
    const uint64_t *const number =
        otf2_find_property(o, false, id, OTF2_PROPERTY_NUMBER);
    const uint64_t *const type =
        otf2_find_property(o, false, id, OTF2_PROPERTY_TYPE);
    const uint64_t *const context =
        otf2_find_property(o, false, id, OTF2_PROPERTY_CONTEXT);
    const uint64_t *const flags =
        otf2_find_property(o, false, id, OTF2_PROPERTY_FLAGS);
    if (!group) group = &unknown;
    const uint32_t above = device_track(o, group);
    const int64_t device = device_number(o, group);
    if (type && *type == TS_TRACK_DEVICE) return above;
    if (type && number && *type == TS_TRACK_CONTEXT)
        return import_context(o->job, device, (int64_t)*number);
    const uint32_t track =
        import_stream(o->job, device, context ? (int64_t)*context : IMPORT_NONE,
                      (int64_t)(number ? *number : id));
    if (flags) import_track_flags(o->job, track, *flags);
    return track;
}

/* ---- Tracks -------------------------------------------------------------- */

// Returns the process of a group; IMPORT_NONE: it is none.
static int64_t process_of(const otf2 *o, const otf2_row *group)
{
    if (!group || otf2_find_property(o, true, group->v[0], OTF2_PROPERTY_NONE))
        return IMPORT_NONE;
    const uint64_t *const number =
        otf2_find_property(o, true, group->v[0], OTF2_PROPERTY_NUMBER);
    return (int64_t)(number ? *number : group->v[0]);
}

uint32_t otf2_group_track(otf2 *o, uint64_t group)
{
    const otf2_row *const row = otf2_find(o, OTF2_GROUP, group);
    if (row && row->v[2] == OTF2_LOCATION_GROUP_TYPE_ACCELERATOR)
        return device_track(o, row);
    const int64_t process = process_of(o, row);
    if (process == IMPORT_NONE) return 0;
    const uint32_t track = import_process(o->job, process);
    const ts_text name = otf2_text(o, row->v[1]);
    if (name.size) import_track_name(o->job, track, name.text, name.size);
    return track;
}

static uint32_t thread_track(otf2 *o, uint64_t id, const otf2_row *group,
                             ts_text name)
{
    const uint64_t *const number =
        otf2_find_property(o, false, id, OTF2_PROPERTY_NUMBER);
    const uint32_t above = group ? otf2_group_track(o, group->v[0]) : 0;
    if (number && !*number && name.size) // one without a number
        return import_lane(o->job, above, name.text, name.size);
    return import_thread(o->job, process_of(o, group),
                         (int64_t)(number ? *number : id));
}

uint32_t otf2_location_track(otf2 *o, uint64_t location)
{
    const otf2_row *const place = otf2_find(o, OTF2_PLACE, location);
    if (!place) return import_thread(o->job, IMPORT_NONE, (int64_t)location);
    const otf2_row *const group = otf2_find(o, OTF2_GROUP, place->v[3]);
    const ts_text name = otf2_text(o, place->v[1]);
    if (place->v[2] == OTF2_LOCATION_TYPE_METRIC)
        return otf2_group_track(o, place->v[3]);
    const uint32_t track = place->v[2] == OTF2_LOCATION_TYPE_ACCELERATOR_STREAM
                               ? stream_track(o, place, group)
                               : thread_track(o, location, group, name);
    if (name.size) import_track_name(o->job, track, name.text, name.size);
    return track;
}

void otf2_go_to(otf2 *o, uint64_t location)
{
    for (size_t i = 0; i < o->open_count; i++)
        import_bad(o->job, "begin_without_end", o->open[i].start_ns);
    for (size_t i = 0; i < o->copy_count; i++)
        import_bad(o->job, "begin_without_end",
                   o->copies[i].operation.start_ns);
    o->open_count = o->copy_count = o->arg_count = 0;
    o->entered = 0;
    cli_map_close(&o->posted);
    o->is_located = true;
    o->location = location;
    o->track = otf2_location_track(o, location);
    o->is_stream = otf2_is_stream(o, location);
}

/* ---- Ranks --------------------------------------------------------------- */

// Ranks are positions in a group of positions in the group of all locations
// that communicate. Source: OTF2_GroupType in OTF2_Definitions.h.
bool otf2_rank(const otf2 *o, uint64_t comm, uint64_t rank, uint64_t *location)
{
    const otf2_row *const c = otf2_find(o, OTF2_COMM, comm);
    const otf2_row *group = c ? otf2_find(o, OTF2_MEMBERS, c->v[1]) : NULL;
    if (!group) return false;
    if (group->v[1] == OTF2_GROUP_TYPE_COMM_SELF && !rank) {
        *location = o->location;
        return true;
    }
    if (group->v[1] == OTF2_GROUP_TYPE_COMM_GROUP) {
        const uint32_t row = cli_map_row(&o->communicating, group->v[3]);
        if (row == CLI_NONE) return false;
        if (!group->v[2]) rank = otf2_member(o, group, rank, 8);
        group = &o->tables[OTF2_MEMBERS].rows[row];
    }
    if (group->v[1] != OTF2_GROUP_TYPE_COMM_LOCATIONS) return false;
    *location = otf2_member(o, group, rank, 8);
    return *location != UINT64_MAX;
}

#else
typedef int otf2_places_need_otf2; // a file of C has a declaration
#endif
