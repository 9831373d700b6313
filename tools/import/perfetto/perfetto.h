/*
    perfetto.h - what the files of the Perfetto importer share

    perfetto.c  the format; reads packets, also compressed ones
    state.c     what a packet sequence has defined: texts, defaults, clocks
    tracks.c    descriptors of tracks become tracks
    events.c    track events and stages of GPUs become events

    A trace is a list of packets. Those of one sequence are in order and may
    refer to texts by numbers that earlier packets of the sequence defined.
    Source of the field numbers: perfetto's protos/perfetto/trace/.
*/
#ifndef TS_TOOLS_IMPORT_PERFETTO_PERFETTO_H
#define TS_TOOLS_IMPORT_PERFETTO_PERFETTO_H

#include "tools/import/import.h"
#include "tools/import/map.h"
#include "tools/import/wire.h"

// Kinds of texts that have numbers; a key has three bits for the kind.
typedef enum perfetto_kind {
    PERFETTO_CATEGORY,
    PERFETTO_NAME,
    PERFETTO_ARG_NAME,
    PERFETTO_ARG_TEXT,
    PERFETTO_GPU_STAGE
} perfetto_kind;

enum {
    PERFETTO_EXTRA = 8
}; // counters that an event may sample besides its own

typedef struct perfetto_sequence {
    uint32_t id;
    bool has_state; // its definitions are complete
    uint64_t clock; // of its packets without one; 0: the trace's
    uint64_t track; // of its events without one
    uint64_t extra[PERFETTO_EXTRA]; // tracks of extra counters
    size_t extra_count;
    cli_map texts; // by number << 3 | kind: index into texts + 1
} perfetto_sequence;

typedef struct perfetto_text {
    char *text;
    size_t size;
} perfetto_text;

typedef struct perfetto_clock {
    int64_t own_ns, trace_ns; // the same moment
    int64_t unit_ns;
    bool is_incremental; // times are differences
} perfetto_clock;

typedef struct perfetto_flow {
    uint64_t id;
    int64_t time_ns;
    uint32_t track;
    bool is_last;
} perfetto_flow;

// A zone that has not ended.
typedef struct perfetto_open {
    struct perfetto_open *below;
    int64_t start_ns;
    uint32_t site, depth;
} perfetto_open;

typedef struct perfetto_track {
    uint64_t id, parent;
    bool is_process, is_thread, is_counter, is_incremental;
    int64_t process, thread;
    int64_t unit;              // multiplies values; 0: 1
    int64_t sum;               // of an incremental counter
    char name[256], units[32]; // truncated
    uint32_t track;            // 0: none yet
    perfetto_open *open;
    uint64_t unkept; // begun in the innermost open one, and not kept
} perfetto_track;

typedef struct perfetto {
    import_job *job;
    perfetto_sequence *sequences; // sequence_count
    size_t sequence_count, sequence_room;
    cli_map sequence_of; // by id: index + 1
    perfetto_text *texts;
    size_t text_count, text_room;
    perfetto_clock *clocks;
    size_t clock_count, clock_room;
    cli_map clock_of; // by sequence << 8 | id: index + 1
    uint64_t trace_clock;
    perfetto_track *tracks;
    size_t track_count, track_room;
    cli_map track_of; // by uuid: index + 1
    cli_map lane_of;  // by track of the trace: uuid of the lane's owner
    perfetto_flow *flows;
    size_t flow_count, flow_room;
    uint8_t *packet, *plain; // the packet being read; what it unpacked to
    size_t packet_room, plain_room;
    bool is_unpacking;
    uint64_t unpacked; // bytes of compressed packets
    bool out_of_memory;
} perfetto;

// A packet while it is read.
typedef struct perfetto_packet {
    size_t sequence; // index
    uint64_t time, clock, flags;
    bool has_time, has_clock;
    import_wire event, gpu, interned, defaults, clocks, track, tree;
} perfetto_packet;

// Returns the index of a sequence, which is added at its first packet.
size_t perfetto_sequence_of(perfetto *p, uint32_t id);
// Forgets what a sequence has defined.
void perfetto_clear(perfetto *p, size_t sequence);
// Reads InternedData.
void perfetto_take_texts(perfetto *p, size_t sequence, import_wire w);
// Reads TracePacketDefaults.
void perfetto_take_defaults(perfetto *p, size_t sequence, import_wire w);
// Returns the text with a number; empty, and a flaw, if it is not defined.
ts_text perfetto_text_of(perfetto *p, size_t sequence, perfetto_kind kind,
                         uint64_t number);
// Reads a ClockSnapshot.
void perfetto_take_clocks(perfetto *p, size_t sequence, import_wire w);
// Returns the packet's time on the trace's clock.
int64_t perfetto_time_of(perfetto *p, const perfetto_packet *packet);

// Reads a TrackDescriptor.
void perfetto_take_track(perfetto *p, import_wire w);
// Reads names of processes and threads from a ProcessTree.
void perfetto_take_tree(perfetto *p, import_wire w);
// Returns the index of a track by its uuid. SIZE_MAX: no memory.
size_t perfetto_track_of(perfetto *p, uint64_t id);
// Returns the trace's track for events of a track.
uint32_t perfetto_place(perfetto *p, size_t track);

// Reads a TrackEvent.
void perfetto_take_event(perfetto *p, const perfetto_packet *packet);
// Reads a GpuRenderStageEvent.
void perfetto_take_gpu(perfetto *p, const perfetto_packet *packet);
// Writes the flows, and the zones that never ended.
void perfetto_events_end(perfetto *p);

#endif // TS_TOOLS_IMPORT_PERFETTO_PERFETTO_H
