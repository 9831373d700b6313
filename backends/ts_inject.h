/*
    ts_inject.h - what ts-record and the injected library share

    A page of memory in a file that TRACESMITH_CONTROL names: the tool says
    when to begin, when to end and when to write, processes say how far they
    are. Both come from one build; `layout` tells where they do not.
*/
#ifndef TS_INJECT_H
#define TS_INJECT_H

#include <stdint.h>

typedef enum ts_inject_state {
    TS_INJECT_FREE = 0,
    TS_INJECT_WAITS,   // for the delay to end
    TS_INJECT_RECORDS, //
    TS_INJECT_ENDED    // by a wish of the user
} ts_inject_state;

// Of one process, or of what it was before it called exec. It writes, the
// tool reads; each field by itself.
typedef struct ts_inject_process {
    uint32_t process, state;
    uint32_t written; // how often it wrote what its rings held
    uint32_t threads;
    uint64_t records, lost, bytes;
    uint32_t capturing; // ts_inject_capture
    uint32_t unused;
    uint64_t kept; // operations
} ts_inject_process;

typedef enum ts_inject_capture {
    TS_INJECT_OFF = 0,
    TS_INJECT_FRAME, // begins with the next frame
    TS_INJECT_ON
} ts_inject_capture;

enum { TS_INJECT_PROCESSES = 1024 }; // of others there are no figures

typedef struct ts_inject_control {
    uint32_t layout;   // sizeof *this
    uint32_t command;  // grows with the two below; a futex
    uint32_t write;    // grows: write what the rings hold
    uint32_t capture;  // grows: begin or end to keep operations
    uint32_t full;     // the size limit was reached: nobody records on
    uint32_t count;    // of processes, also beyond the table
    uint64_t start_ns; // CLOCK_MONOTONIC: delay and duration begin
    uint64_t live_ms;  // how often figures are wanted (0: never)
    ts_inject_process processes[TS_INJECT_PROCESSES];
} ts_inject_control;

#endif // TS_INJECT_H
