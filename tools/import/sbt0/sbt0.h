/*
    sbt0.h - events of TraceSmith 0.x, from its SBT or its JSON, to the job

    Source: the headers and exporters of chenxingqiang/TraceSmith 0.11.1
    (types.hpp, sbt_format, perfetto_exporter).
*/
#ifndef TS_TOOLS_IMPORT_SBT0_SBT0_H
#define TS_TOOLS_IMPORT_SBT0_SBT0_H

#include "tools/import/import.h"
#include "tools/import/map.h"

typedef enum sbt0_type {
    SBT0_UNKNOWN,
    SBT0_KERNEL_LAUNCH,
    SBT0_KERNEL_COMPLETE,
    SBT0_COPY_TO_DEVICE,
    SBT0_COPY_TO_HOST,
    SBT0_COPY_ON_DEVICE,
    SBT0_MEMSET,
    SBT0_STREAM_SYNC,
    SBT0_DEVICE_SYNC,
    SBT0_EVENT_RECORD,
    SBT0_EVENT_SYNC,
    SBT0_STREAM_CREATE,
    SBT0_STREAM_DESTROY,
    SBT0_CONTEXT_CREATE,
    SBT0_CONTEXT_DESTROY,
    SBT0_ALLOC,
    SBT0_FREE,
    SBT0_MARKER,
    SBT0_RANGE_START,
    SBT0_RANGE_END,
    SBT0_COLLECTIVE_START,
    SBT0_COLLECTIVE_END,
    SBT0_TYPES,
    SBT0_CUSTOM = 255
} sbt0_type;

typedef struct sbt0_event {
    int64_t time_ns, duration_ns; // duration 0: not recorded
    int64_t device, stream, process;
    int64_t thread; // 0: not recorded
    uint64_t correlation;
    uint64_t source, address, size; // has_memory
    ts_text name;                   // until sbt0_take returns
    ts_launch_entry launch;         // without its name
    uint32_t stack;
    uint8_t type; // sbt0_type
    bool has_memory;
} sbt0_event;

typedef struct sbt0_open sbt0_open; // an event without its end so far

// Starts from { .job = job }.
typedef struct sbt0 {
    import_job *job;
    cli_map open; // private: by key the row + 1 of the last one
    sbt0_open *rows;
    size_t count, room, unused;   // unused: a row + 1 to be used again
    struct import_strings *names; // private: of open collectives; NULL: none
    bool no_memory;
} sbt0;

// Takes the next event of the source.
void sbt0_take(sbt0 *s, const sbt0_event *event);
// Takes events that never ended, and frees. False: out of memory.
bool sbt0_end(sbt0 *s);

#endif // TS_TOOLS_IMPORT_SBT0_SBT0_H
