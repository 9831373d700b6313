/*
    kineto.h - JSON as the PyTorch profiler (Kineto) writes it

    A row is an event; its category tells readers what it is: "kernel",
    "cuda_runtime", "cpu_op". Rows refer to each other by numbers: a call and
    its operation by "correlation", an operator and its operations by "External
    id", a wait and what it waits for by the correlation of the record.

    Names begin with `torch_`: `kineto_` is the importer's.

    Memory: about 50 bytes for each GPU operation and each live allocation.

    Source: pytorch/kineto, libkineto/src/output_json.cpp; HTA's trace parser.
*/
#ifndef TS_TOOLS_EXPORT_KINETO_H
#define TS_TOOLS_EXPORT_KINETO_H

#include "tools/export/args.h"
#include "tools/export/json.h"

// A zone whose arguments may follow.
typedef struct torch_zone {
    ts_event event; // its columns are not valid any more
    uint32_t site;
    uint64_t tick;
    bool is_open;
    uint64_t external; // "External id" + 1
    export_buffer args;
} torch_zone;

// A "[memory]" row whose totals may follow.
typedef struct torch_memory {
    uint32_t track, category;
    uint64_t address;
    int64_t bytes, type, device;
    bool has[2]; // total allocated, reserved
    int64_t totals[2];
} torch_memory;

// A sample of such a total.
typedef struct torch_total {
    uint32_t track;
    int64_t value;
    int which; // index in `totals`
    bool taken;
} torch_total;

// The operators that are open on a thread, the outermost first.
typedef struct torch_thread {
    struct torch_outer {
        int64_t end_ns;
        uint64_t external;
    } * outer;
    size_t count, room;
} torch_thread;

typedef struct torch_export {
    ts_reader *reader;
    const export_options *options;
    export_out *out;
    export_counts *counts;
    int64_t shift_ns; // added to every time
    export_buffer block;
    bool filled; // a row was written
    // Where rows are, as text; by track.
    export_map place_of;
    export_buffer *places;
    size_t place_count, place_room;
    // What operations are there, by correlation.
    export_map launched;  // of a call: 1
    export_map record_of; // of a record: its track
    export_map used;      // of a record that a wait names: 1
    export_map waits;     // of an event sync: the correlation of its record
    export_map loose;     // of a wait on the device: its event, if it names no
                          // record, else 0
    export_map loose_on;  // of a wait that names none: the track it waits for
    export_map call_ns, call_duration_ns; // of such a wait
    export_map records;  // time and event of a record without one: its track
    export_map recorded; // of those, which a wait names: 1
    export_map external; // of a call: "External id" + 1
    // Zones that begin at group_ns on group_track.
    torch_zone *zones;
    size_t zone_count, zone_room;
    int64_t group_ns;
    uint32_t group_track;
    export_map thread_of; // track -> index + 1
    torch_thread *threads;
    size_t thread_count, thread_room;
    // Memory at memory_ns.
    torch_memory *memory;
    torch_total *totals;
    size_t memory_count, memory_room, total_count, total_room;
    int64_t memory_ns;
    export_map live; // address, pool and process -> size
} torch_export;

/* ---- Rows (kineto.c) ----------------------------------------------------- */

void torch_put(torch_export *k, const char *text);
// Begins a row: phase, category, name, where it is and when.
void torch_begin(torch_export *k, const char *phase, ts_text category,
                 ts_text name, uint32_t track, int64_t time_ns);
void torch_duration(torch_export *k, int64_t duration_ns);
void torch_end(torch_export *k);
// Appends "KEY": with a comma before it; *filled: whether it is not the first.
void torch_key(torch_export *k, bool *filled, const char *key);
void torch_key_uint(torch_export *k, bool *filled, const char *key,
                    uint64_t number);
void torch_key_text(torch_export *k, bool *filled, const char *key,
                    const char *text);
// Appends a value: a text that is JSON itself as it is.
void torch_value(export_buffer *b, ts_value_type type, uint64_t bits,
                 ts_text text);
// Counts an event that the format has no place for.
void torch_left_out(torch_export *k, const ts_event *event);
// The arrow from a call to an operation, at one of its ends.
void torch_arrow(torch_export *k, const char *phase, uint32_t track,
                 int64_t time_ns, uint64_t correlation);
// Returns the first of a track and its parents that has a type; false: none.
bool torch_above(const torch_export *k, uint32_t track, ts_track_type type,
                 ts_track *found);

/* ---- Rows of threads (host.c) -------------------------------------------- */

void torch_take_zone(torch_export *k, const ts_event *event);
void torch_take_zone_arg(torch_export *k, const ts_event *event);
void torch_flush_zones(torch_export *k);
void torch_take_call(torch_export *k, const ts_event *event);
void torch_take_point(torch_export *k, const ts_event *event);
void torch_take_counter(torch_export *k, const ts_event *event);
void torch_take_flow(torch_export *k, const ts_event *event);
void torch_take_span(torch_export *k, const ts_event *event);
void torch_take_memory(torch_export *k, const ts_event *event);
void torch_flush_memory(torch_export *k);

/* ---- Rows of devices (gpu.c) --------------------------------------------- */

// Lists what later rows refer to.
ts_result torch_list_operations(torch_export *k, const ts_filter *filter);
void torch_take_operation(torch_export *k, const ts_event *event);

/* ---- Around the rows (facts.c) ------------------------------------------- */

void torch_put_head(torch_export *k);
void torch_put_tail(torch_export *k);

#endif // TS_TOOLS_EXPORT_KINETO_H
