/*
    perfetto.h - what the parts of Perfetto's format share

    Field numbers are those of perfetto's protos/perfetto/trace/:
    trace_packet, track_event, debug_annotation, interned_data and others.
*/
#ifndef TS_EXPORT_PERFETTO_H
#define TS_EXPORT_PERFETTO_H

#include "tools/export/export.h"
#include "tools/export/export_proto.h"

enum { // TracePacket
    PACKET = 1,
    PACKET_CLOCKS = 6,
    PACKET_TIME = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_TIME_CLOCK = 58,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK = 60,
    PACKET_ATTRIBUTES = 126
};

enum { // InternedData
    INTERNED_CATEGORY = 1,
    INTERNED_NAME = 2,
    INTERNED_ARG_NAME = 3,
    INTERNED_PLACE = 4,
    INTERNED_FUNCTION = 5,
    INTERNED_FRAME = 6,
    INTERNED_STACK = 7,
    INTERNED_LOG = 20,
    INTERNED_KINDS = 21
};

enum { CLOCK_BOOT = 6, CLOCK_REAL = 1, CLOCK_OURS = 64 };

// What a sequence knows of a site, so that a zone costs one look-up.
typedef struct known_site {
    uint32_t name, category, place;
} known_site;

typedef struct bit_set { // of any numbers
    uint64_t *words;
    size_t count; // of words
} bit_set;

typedef struct sequence {
    uint32_t id;
    bool begun;
    int64_t last_ns;
    // Packets of one lane are alike: they go into the block some at a time.
    export_buffer packets;
    struct shared_mark {
        uint32_t at, form;
    } * marks; // where in `packets` a form stands
    size_t mark_count, mark_capacity;
    bit_set forms;        // those whose names are defined
    uint64_t arg_names;   // bit n: our name n is defined
    const char *category; // the last one, and its number
    uint32_t category_number;
    bit_set defined[INTERNED_ARG_NAME + 1]; // categories, names, argument names
    uint32_t counts[INTERNED_KINDS];        // of the others: numbers given out
    export_map stacks;                      // stack -> number
    export_map sites;                       // site -> index + 1
    known_site *known;
    size_t known_count, known_capacity;
} sequence;

// A kernel's name and category, and the arguments that it shares with others,
// as they stand in each event; or the arguments alone.
typedef struct shared_form {
    export_buffer bytes;
    uint64_t arg_names;      // bits, as in a sequence
    ts_text name, category;  // empty: not in it
    uint32_t block, last_at; // where it last stood, in the block of that number
} shared_form;

typedef struct perfetto {
    const export_target *target;
    ts_reader *reader;
    export_out *out;
    export_block block; // whole packets
    uint32_t block_number;
    uint32_t lane_count;
    export_buffer event;              // TrackEvent that is being made
    export_buffer interned;           // InternedData of its packet
    export_map texts;                 // address of a text and kind -> number
    uint32_t counts[INTERNED_KINDS];  // numbers given out to them
    shared_form *forms;               // by twice the number of what is shared,
    size_t form_count, form_capacity; // plus 1 with a kernel's name
    bool no_args;
} perfetto;

// Hands on a full block.
static inline void perfetto_flush(perfetto *p)
{
    if (p->block.bytes.size < EXPORT_BLOCK_BYTES) return;
    export_out_block(p->out, &p->block);
    p->block_number++;
}

static inline void perfetto_packet_end(perfetto *p, size_t packet)
{
    proto_end(&p->block.bytes, packet);
    perfetto_flush(p);
}

static inline uint64_t perfetto_time(const perfetto *p, int64_t time_ns)
{
    return (uint64_t)time_ns + (uint64_t)p->target->shift_ns;
}

// perfetto_tracks.c: clocks and what is known about the session; the track of
// a lane, with its sequence; an entry of a ClockSnapshot.
void perfetto_head(perfetto *p);
void perfetto_lane(void *self, export_lane *lane);
void perfetto_put_clock(export_buffer *b, uint32_t clock, uint64_t time);

/* ---- perfetto_intern.c -------------------------------------------------- */

// Adds a number; false if it was there.
bool perfetto_bit_set_add(bit_set *set, uint32_t number);
// Defines a text in the packet that is being made.
void perfetto_define_as(perfetto *p, uint32_t kind, uint32_t number,
                        ts_text text);
// The same with a new number, which it returns.
uint32_t perfetto_define(perfetto *p, sequence *s, uint32_t kind, ts_text text);
// The number of a text that lives as long as the trace, 0 for an empty one.
uint32_t perfetto_number_of(perfetto *p, uint32_t kind, ts_text text);
// The same for use on a lane, where it is defined by its first use.
uint32_t perfetto_intern(perfetto *p, sequence *s, uint32_t kind, ts_text text);
uint32_t perfetto_intern_category(perfetto *p, sequence *s, ts_text text);
known_site perfetto_intern_site(perfetto *p, sequence *s, uint32_t id);
uint32_t perfetto_intern_stack(perfetto *p, sequence *s, uint32_t stack);

#endif // TS_EXPORT_PERFETTO_H
