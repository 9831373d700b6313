/*
    places.c - tracks as locations and their groups
*/
#include "tools/export/otf2/otf2.h"

#ifdef TRACESMITH_OTF2

/* ---- Groups -------------------------------------------------------------- */

// Returns the nearest track of a type, from the track itself upwards.
static bool above(const otf2_out *o, uint32_t id, ts_track_type type,
                  ts_track *found)
{
    enum { DEEPEST = 8 }; // parents may form a cycle
    for (int i = 0; i < DEEPEST && ts_reader_track(o->reader, id, found); i++) {
        if (found->type == type) return true;
        id = found->parent;
    }
    return false;
}

// Returns the number of the group of a track that is one; 0: of what has none.
static OTF2_LocationGroupRef group_at(otf2_out *o, uint32_t track)
{
    uint64_t *const known = export_map_at(&o->group_of, track);
    if (!*known) {
        *known = o->group_count + 1;
        o->groups = export_grow(o->groups, &o->group_room, o->group_count,
                                sizeof *o->groups);
        o->groups[o->group_count++] = track;
    }
    return (OTF2_LocationGroupRef)*known - 1;
}

// Threads below a device are of no process: its group has streams only.
static OTF2_LocationGroupRef group_of(otf2_out *o, const otf2_lane *lane)
{
    ts_track track;
    const bool is_thread = lane->type == OTF2_LOCATION_TYPE_CPU_THREAD;
    if (!is_thread && above(o, lane->track, TS_TRACK_DEVICE, &track))
        return group_at(o, track.id);
    if (above(o, lane->track, TS_TRACK_PROCESS, &track))
        return group_at(o, track.id);
    return group_at(o, 0);
}

/* ---- Lanes --------------------------------------------------------------- */

static uint32_t add_lane(otf2_out *o, uint32_t track, uint8_t type)
{
    o->lanes =
        export_grow(o->lanes, &o->lane_room, o->lane_count, sizeof *o->lanes);
    o->lanes[o->lane_count] = (otf2_lane){ .track = track,
                                           .type = type,
                                           .at_ns = INT64_MIN,
                                           .writer = OTF2_Archive_GetEvtWriter(
                                               o->archive, o->lane_count) };
    if (!o->lanes[o->lane_count].writer) o->has_failed = true;
    return (uint32_t)o->lane_count++;
}

// Counters of a track have a lane of their own.
uint32_t otf2_lane_at(otf2_out *o, uint32_t track, uint8_t type)
{
    const uint64_t key = track | (uint64_t)(type == OTF2_LOCATION_TYPE_METRIC)
                                     << 32;
    uint64_t *const known = export_map_at(&o->lane_of, key);
    if (!*known) *known = (uint64_t)add_lane(o, track, type) + 1;
    return (uint32_t)*known - 1;
}

uint32_t otf2_another_lane(otf2_out *o, uint32_t lane)
{
    if (!o->lanes[lane].next) {
        const uint32_t added =
            add_lane(o, o->lanes[lane].track, o->lanes[lane].type);
        o->lanes[lane].next = added + 1;
    }
    return o->lanes[lane].next - 1;
}

/* ---- Definitions --------------------------------------------------------- */

static void put_number(otf2_out *o, bool is_group, uint64_t of,
                       const char *name, uint64_t number)
{
    const OTF2_AttributeValue value = { .uint64 = number };
    const OTF2_StringRef text = otf2_put_text(o, export_text(name));
    otf2_check(o, is_group
                      ? OTF2_GlobalDefWriter_WriteLocationGroupProperty(
                            o->definitions, (OTF2_LocationGroupRef)of, text,
                            OTF2_TYPE_UINT64, value)
                      : OTF2_GlobalDefWriter_WriteLocationProperty(
                            o->definitions, of, text, OTF2_TYPE_UINT64, value));
}

static OTF2_StringRef name_of(otf2_out *o, uint32_t id)
{
    ts_track track;
    if (!ts_reader_track(o->reader, id, &track)) track.name = export_text("");
    return otf2_put_text(o, track.name);
}

// The first group that is none of a device: who uses the devices is not known.
static OTF2_LocationGroupRef creator_of(const otf2_out *o)
{
    ts_track track;
    for (size_t i = 0; i < o->group_count; i++)
        if (!ts_reader_track(o->reader, o->groups[i], &track) ||
            track.type == TS_TRACK_PROCESS)
            return (OTF2_LocationGroupRef)i;
    return OTF2_UNDEFINED_LOCATION_GROUP;
}

static void put_group(otf2_out *o, size_t i)
{
    ts_track track = { 0 };
    const bool is_track = ts_reader_track(o->reader, o->groups[i], &track);
    const bool is_device = is_track && track.type == TS_TRACK_DEVICE;
    otf2_check(
        o,
        OTF2_GlobalDefWriter_WriteLocationGroup(
            o->definitions, (OTF2_LocationGroupRef)i, name_of(o, o->groups[i]),
            is_device ? OTF2_LOCATION_GROUP_TYPE_ACCELERATOR
                      : OTF2_LOCATION_GROUP_TYPE_PROCESS,
            0, is_device ? creator_of(o) : OTF2_UNDEFINED_LOCATION_GROUP));
    if (is_track)
        put_number(o, true, i, "TraceSmith::number", track.number);
    else
        put_number(o, true, i, "TraceSmith::none", 1);
}

static void put_location(otf2_out *o, size_t i, OTF2_LocationGroupRef group)
{
    const otf2_lane *const lane = &o->lanes[i];
    ts_track track, context;
    uint64_t events = 0;
    otf2_check(o, OTF2_EvtWriter_GetNumberOfEvents(lane->writer, &events));
    otf2_check(o, OTF2_GlobalDefWriter_WriteLocation(
                      o->definitions, i, name_of(o, lane->track), lane->type,
                      events, group));
    if (!ts_reader_track(o->reader, lane->track, &track)) return;
    put_number(o, false, i, "TraceSmith::number", track.number);
    put_number(o, false, i, "TraceSmith::type", track.type);
    if (track.flags) put_number(o, false, i, "TraceSmith::flags", track.flags);
    if (above(o, track.parent, TS_TRACK_CONTEXT, &context))
        put_number(o, false, i, "TraceSmith::context", context.number);
}

void otf2_put_places(otf2_out *o)
{
    OTF2_LocationGroupRef *const groups =
        export_zeroed(o->lane_count + 1, sizeof *groups);
    const OTF2_StringRef name = otf2_put_text(o, export_text("machine"));
    otf2_check(
        o, OTF2_GlobalDefWriter_WriteSystemTreeNode(
               o->definitions, 0, name, name, OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    for (size_t i = 0; i < o->lane_count; i++)
        groups[i] = group_of(o, &o->lanes[i]);
    for (size_t i = 0; i < o->group_count; i++)
        put_group(o, i);
    for (size_t i = 0; i < o->lane_count; i++)
        put_location(o, i, groups[i]);
    export_resize(groups, 0);
}

#else
typedef int otf2_places_need_otf2; // a file of C has a declaration
#endif
