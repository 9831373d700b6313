/*
    processes.h - which process an event is about

    Each process has addresses of its own, so that equal ones of two processes
    in a merged trace mean nothing.
*/
#ifndef TS_TOOLS_CLI_PROCESSES_H
#define TS_TOOLS_CLI_PROCESSES_H

#include "tracesmith_replay.h"

// The process that a track belongs to; 0: none is known.
static inline uint32_t cli_track_process(const ts_reader *reader,
                                         uint32_t track)
{
    ts_track t; // parents may form a circle
    for (int i = 0; i < 8 && ts_reader_track(reader, track, &t); i++) {
        if (t.type == TS_TRACK_PROCESS) return t.id;
        track = t.parent;
    }
    return 0;
}

// The process of an event: of its track, else of the thread that called, since
// several processes may use one device; 0: none is known.
static inline uint32_t cli_event_process(const ts_reader *reader,
                                         const ts_event *event)
{
    const uint32_t process = cli_track_process(reader, event->track);
    const uint64_t thread = event->kind < TS_EVENT_GPU_FIRST
                                ? 0
                                : ts_event_value(event, TS_COLUMN_THREAD);
    return process || !thread ? process
                              : cli_track_process(reader, (uint32_t)thread);
}

// Whether a trace has tracks of more than one process.
static inline bool cli_has_processes(const ts_reader *reader)
{
    size_t count = 0;
    ts_track t;
    for (size_t i = 0; count < 2 && ts_reader_track_at(reader, i, &t); i++)
        count += t.type == TS_TRACK_PROCESS;
    return count > 1;
}

#endif // TS_TOOLS_CLI_PROCESSES_H
