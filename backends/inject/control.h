/*
    inject/control.h - what ts-record and the injected library share

    A page of memory in a file that TRACESMITH_CONTROL names: the tool says
    when to begin, when to end and when to write, processes say how far they
    are. Both come from one build; `layout` tells where they do not. And which
    rank a process is.
*/
#ifndef TS__INJECT_CONTROL_H
#define TS__INJECT_CONTROL_H

#include <stdint.h>
#include <stdlib.h>

typedef enum ts_inject_state {
    TS_INJECT_FREE = 0,
    TS_INJECT_WAITS,   // for the delay to end
    TS_INJECT_RECORDS, //
    TS_INJECT_ENDED    // by the user
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

// Memory of each thread's flight recorder: by default, and at most.
enum { TS_INJECT_FLIGHT = 4 << 20, TS_INJECT_FLIGHT_MOST = 64 << 20 };

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

/*
    Which of how many processes of a job this one is, as launchers say it, the
    user's word first. get: getenv or its like. world: 0 if it is not known.
    Source: the manuals of torchrun, Open MPI, MPICH's Hydra, PMIx, MVAPICH and
    Slurm.
*/
static inline int ts_inject_rank(char *(*get)(const char *), uint32_t *rank,
                                 uint32_t *world)
{
    static const char *const names[][2] = {
        { "TRACESMITH_RANK", "" },
        { "RANK", "WORLD_SIZE" },
        { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
        { "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE" },
        { "PMI_RANK", "PMI_SIZE" },
        { "PMIX_RANK", "" },
        { "SLURM_PROCID", "SLURM_NTASKS" },
        { "LOCAL_RANK", "LOCAL_WORLD_SIZE" },
    };
    *rank = *world = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *const text = get(names[i][0]);
        char *end = NULL;
        if (!text || *text < '0' || *text > '9') continue;
        const unsigned long long number = strtoull(text, &end, 10);
        if (*end || number > UINT32_MAX) continue;
        const char *const size = *names[i][1] ? get(names[i][1]) : NULL;
        const unsigned long long count = size ? strtoull(size, NULL, 10) : 0;
        *rank = (uint32_t)number;
        *world = count <= UINT32_MAX ? (uint32_t)count : 0;
        return 1;
    }
    return 0;
}

#endif // TS__INJECT_CONTROL_H
