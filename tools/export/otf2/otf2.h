/*
    otf2.h - what the files of this folder share: an archive that is written

    A track is a location, or more if its slices overlap without nesting, as a
    location's regions cannot. Definitions are written where they are first
    needed, but for locations, whose numbers of events are known at the end.
*/
#ifndef TS_TOOLS_EXPORT_OTF2_OTF2_H
#define TS_TOOLS_EXPORT_OTF2_OTF2_H

#include "tools/export/otf2/archive.h"

#ifdef TRACESMITH_OTF2
#include <otf2/otf2.h>

typedef struct otf2_string { // where its text is in `texts`
    size_t at, size;
} otf2_string;

typedef struct otf2_attribute {
    uint64_t key; // of attribute_of
    OTF2_AttributeRef id;
    OTF2_Type type;
    OTF2_AttributeValue value;
} otf2_attribute;

typedef struct otf2_held { // an enter or a leave that is not written yet
    int64_t time_ns;
    uint32_t region, site;
    bool is_leave;
    otf2_attribute *attributes;
    size_t count, room;
} otf2_held;

typedef struct otf2_slice {
    int64_t end_ns;
    uint32_t region;
} otf2_slice;

typedef struct otf2_lane {
    uint32_t track, next; // next: another lane of the track, plus 1; 0: none
    uint8_t type;         // OTF2_LocationType
    OTF2_EvtWriter *writer;
    otf2_slice *open; // innermost last
    size_t depth, room;
    otf2_held *held; // in order; what may still get attributes is of `at_ns`
    size_t count, held_room;
    int64_t at_ns;
} otf2_lane;

typedef struct otf2_out {
    ts_reader *reader;
    const otf2_export *desc;
    export_counts *counts;
    OTF2_Archive *archive;
    OTF2_GlobalDefWriter *definitions;
    OTF2_AttributeList *list;
    int64_t first_ns; // the zero of the archive's clock
    bool has_failed;
    export_buffer texts, scratch;
    otf2_string *strings;
    size_t string_count, string_room;
    export_map string_of;    // from hashes
    export_map attribute_of; // from strings, types, how often before
    export_map region_of;    // from what, see regions.c
    export_map metric_of;    // from tracks of counters
    export_map lane_of;      // from tracks, the first lane plus 1
    export_map group_of;     // from tracks; 0: of what has no process
    uint32_t region_count, metric_count;
    otf2_lane *lanes;
    size_t lane_count, lane_room;
    uint32_t *groups; // tracks
    size_t group_count, group_room;
} otf2_out;

// Returns the number of a text.
OTF2_StringRef otf2_put_text(otf2_out *o, ts_text text);
// Return the number of a region: of a zone's site, a call's name, an operation.
uint32_t otf2_put_site(otf2_out *o, uint32_t site);
uint32_t otf2_put_call(otf2_out *o, uint32_t name);
uint32_t otf2_put_operation(otf2_out *o, const ts_event *event);
// Appends an attribute.
void otf2_put_attribute(otf2_out *o, otf2_held *to, ts_text name,
                        OTF2_Type type, uint64_t bits);
void otf2_put_columns(otf2_out *o, otf2_held *to, const ts_event *event);

// Returns the index of the first lane of a track.
uint32_t otf2_lane_at(otf2_out *o, uint32_t track, uint8_t type);
uint32_t otf2_another_lane(otf2_out *o, uint32_t lane);
// Writes the definitions of all groups and locations.
void otf2_put_places(otf2_out *o);

void otf2_check(otf2_out *o, OTF2_ErrorCode code);
#endif

#endif // TS_TOOLS_EXPORT_OTF2_OTF2_H
