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
    TS_INJECT_WAITS,   // waits for the end of the delay
    TS_INJECT_RECORDS, //
    TS_INJECT_ENDED    // ended by the user
} ts_inject_state;

// The state of one process, also across exec. The process writes and the tool
// reads; each field is consistent only by itself.
typedef struct ts_inject_process {
    uint32_t process, state;
    uint32_t written; // number of times it wrote the contents of its rings
    uint32_t threads;
    uint64_t records, lost, bytes;
    uint32_t capturing; // ts_inject_capture
    uint32_t unused;
    uint64_t kept; // operations captured
} ts_inject_process;

typedef enum ts_inject_capture {
    TS_INJECT_OFF = 0,
    TS_INJECT_FRAME, // begins at the next frame
    TS_INJECT_ON
} ts_inject_capture;

// maximum; further processes have no figures.
enum { TS_INJECT_PROCESSES = 1024 };

// Bytes of each thread's flight recorder: default and maximum.
enum { TS_INJECT_FLIGHT = 4 << 20, TS_INJECT_FLIGHT_MOST = 64 << 20 };

typedef struct ts_inject_control {
    uint32_t layout;  // sizeof *this, to detect other builds
    uint32_t command; // incremented after `write` or `capture`; a futex
    uint32_t write;   // incremented to request that rings are written
    uint32_t capture; // incremented to begin or end a capture
    // The size limit was reached, and no process records any more.
    uint32_t full;
    uint32_t count;    // number of processes, also those beyond the table
    uint64_t start_ns; // CLOCK_MONOTONIC; delay and duration begin here
    uint64_t live_ms;  // period of the figures (0: none)
    uint32_t captures; // 1: captures wait for requests (--capture-on)
    uint32_t unused;
    ts_inject_process processes[TS_INJECT_PROCESSES];
} ts_inject_control;

// Gets the rank of this process and the number of processes of its job from the
// environment: the user's variable first, then those of launchers. get: getenv
// or a substitute. *world: 0 if unknown.
// Source: the manuals of torchrun, Open MPI, MPICH's Hydra, PMIx, MVAPICH and
// Slurm.
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
