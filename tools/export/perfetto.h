/*
    perfetto.h - what the files of the Perfetto format share

    Source of the field numbers: perfetto's protos/perfetto/trace/:
    trace_packet, track_event, debug_annotation, interned_data and others.
*/
#ifndef TS_EXPORT_PERFETTO_H
#define TS_EXPORT_PERFETTO_H

#include "tools/export/export.h"
#include "tools/export/proto.h"

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
    PACKET_PERF_SAMPLE = 66,
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

enum { // TrackEvent
    EVENT_CATEGORY = 3,
    EVENT_ARG = 4,
    EVENT_TYPE = 9,
    EVENT_NAME_ID = 10,
    EVENT_TRACK = 11,
    EVENT_LOG = 21,
    EVENT_NAME = 23,
    EVENT_INT = 30,
    EVENT_PLACE = 34,
    EVENT_DOUBLE = 44,
    EVENT_FLOW = 47,
    EVENT_LAST_FLOW = 48,
    EVENT_STACK = 56
};

enum { // PerfSample
    PERF_SAMPLE_PROCESS = 2,
    PERF_SAMPLE_THREAD = 3,
    PERF_SAMPLE_STACK = 4
};

enum { BEGIN = 1, FINISH = 2, INSTANT = 3, SAMPLE = 4 }; // EVENT_TYPE

enum { // DebugAnnotation
    ARG_NAME_ID = 1,
    ARG_BOOL = 2,
    ARG_UINT = 3,
    ARG_INT = 4,
    ARG_DOUBLE = 5,
    ARG_TEXT = 6,
    ARG_POINTER = 7,
    ARG_NAME = 10,
    ARG_ARRAY = 12
};

enum { CLOCK_BOOT = 6, CLOCK_REAL = 1, CLOCK_OURS = 64 };

// A site as a sequence has defined it; a zone then costs one lookup.
enum { SHORT_EVENT = 24 };
typedef struct known_site {
    uint32_t name, category, place;
    // The TrackEvent of a slice or an instant that has nothing else; size 0:
    // the site has a colour, so there is more.
    uint8_t size, event[SHORT_EVENT];
} known_site;

typedef struct bit_set { // a set of numbers
    uint64_t *words;
    size_t count; // of words
} bit_set;

/*
    A template of the packets of a lane's kernels, to be filled with numbers.
    Each number takes as many bytes as the widest of its kind on the lane so
    far, so that packets have one size and compress well.
*/
enum { STENCIL_ARGS = 6 };

typedef struct stencil {
    struct stencil_piece { // the bytes before each number; the last: the rest
        uint8_t bytes[16], size;
    } pieces[STENCIL_ARGS + 2], end[2];
    struct stencil_arg {
        uint64_t most; // largest number that fits the width
        uint8_t name;
        uint8_t type;
        uint8_t width;
    } args[STENCIL_ARGS];
    uint32_t arg_count;
    uint32_t size;    // bytes of a packet up to its form
    uint8_t event_at; // offset of the event's size
    bool has_arrow;
    bool last; // the last slice was made from it
    // Widest so far, in bytes: times, durations, arguments by name.
    uint8_t time, duration, widths[EXPORT_ARG_LIMIT];
} stencil;

typedef struct sequence {
    uint32_t id;
    bool begun;
    uint8_t head_size, head[8]; // between a packet's time and its event's size
    int64_t last_ns;
    // Packets of one lane are similar and compress best together, so they are
    // moved to the block in groups.
    export_buffer packets;
    stencil stencil;
    bit_set forms;        // forms whose names are defined
    uint64_t arg_names;   // bit n: export_arg_name n is defined
    const char *category; // the last one, and its number
    uint32_t category_number;
    bit_set defined[INTERNED_ARG_NAME + 1]; // categories, names, argument names
    uint32_t counts[INTERNED_KINDS]; // of the other kinds: numbers in use
    export_map stacks;               // stack -> number
    export_map sites;                // site -> index + 1
    known_site *known;
    size_t known_count, known_capacity;
} sequence;

// The encoded bytes of an export_shared as they appear in each event: a
// kernel's name and category with the shared arguments, or the arguments alone.
typedef struct shared_form {
    export_buffer bytes;
    uint64_t arg_names;     // bit set, as in a sequence
    ts_text name, category; // empty: not encoded
} shared_form;

typedef struct perfetto {
    const export_target *target;
    ts_reader *reader;
    export_out *out;
    export_buffer block; // whole packets
    uint32_t lane_count;
    size_t pending;      // bytes of a lane's packets from which they are moved
    export_buffer event; // the TrackEvent in progress
    export_buffer interned;           // the InternedData of its packet
    export_map texts;                 // address and kind of a text -> number
    uint32_t counts[INTERNED_KINDS];  // numbers in use
    shared_form *forms;               // by twice the number of what is shared,
    size_t form_count, form_capacity; // plus 1 with a kernel's name
    bool no_args;
} perfetto;

// Passes a full block to the output.
static inline void perfetto_flush(perfetto *p)
{
    if (p->block.size < EXPORT_BLOCK_BYTES) return;
    export_out_block(p->out, &p->block);
}

static inline void perfetto_packet_end(perfetto *p, size_t packet)
{
    proto_end(&p->block, packet);
    perfetto_flush(p);
}

static inline uint64_t perfetto_time(const perfetto *p, int64_t time_ns)
{
    return (uint64_t)time_ns + (uint64_t)p->target->shift_ns;
}

// perfetto_tracks.c: writes the clocks and the facts about the session.
void perfetto_head(perfetto *p);
// Defines the track of a lane, with its sequence.
void perfetto_lane(void *self, export_lane *lane);
// Adds an entry to a ClockSnapshot.
void perfetto_put_clock(export_buffer *b, uint32_t clock, uint64_t time);

// perfetto.c: moves a lane's packets into the block.
void perfetto_flush_lane(perfetto *p, sequence *s);

enum { PENDING_LANE = 4u << 10, PENDING_ALL = 16u << 20 };

static inline void perfetto_packet_added(perfetto *p, sequence *s)
{
    if (s->packets.size >= p->pending) perfetto_flush_lane(p, s);
}

// perfetto_stencil.c. Writes the start of a kernel's slice from the lane's
// stencil; false if the item does not fit it (no kernel, names that are not
// defined yet, arguments other than numbers).
bool perfetto_stencil_slice(perfetto *p, sequence *s, const export_item *item);
// Writes the end of the slice that was begun by it; false if the duration
// is too long for a stencil.
bool perfetto_stencil_end(perfetto *p, sequence *s, int64_t time_ns);

// Writes an event of a type if it has its name, category and place from a site
// that the lane knows, and nothing else; false if not.
bool perfetto_short_event(perfetto *p, sequence *s, const export_item *item,
                          uint32_t type);
// Writes the end of a slice that has begun.
void perfetto_short_end(perfetto *p, sequence *s, int64_t time_ns);

/* ---- perfetto_intern.c -------------------------------------------------- */

static inline bool perfetto_bit_set_has(const bit_set *set, uint32_t number)
{
    const size_t at = number / 64;
    return at < set->count && set->words[at] >> number % 64 & 1;
}

// Adds a number; false if the set had it.
bool perfetto_bit_set_add(bit_set *set, uint32_t number);
// Defines a text in the packet in progress, with this number.
void perfetto_define_as(perfetto *p, uint32_t kind, uint32_t number,
                        ts_text text);
// The same with a new number, which is returned.
uint32_t perfetto_define(perfetto *p, sequence *s, uint32_t kind, ts_text text);
// Returns the number of a text that lives as long as the trace; 0 if it is
// empty.
uint32_t perfetto_number_of(perfetto *p, uint32_t kind, ts_text text);
// The same for a lane: defines the text at its first use there.
uint32_t perfetto_intern(perfetto *p, sequence *s, uint32_t kind, ts_text text);
uint32_t perfetto_intern_category(perfetto *p, sequence *s, ts_text text);
known_site perfetto_intern_site(perfetto *p, sequence *s, uint32_t id);
uint32_t perfetto_intern_stack(perfetto *p, sequence *s, uint32_t stack);

#endif // TS_EXPORT_PERFETTO_H
