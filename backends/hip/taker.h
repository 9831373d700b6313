/*
    hip/taker.h - caches of a thread that hands records over

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    A profiling library hands records over on few threads. What such a
    thread has looked up once it need not look up again.
*/
#ifndef TS__HIP_TAKER_H
#define TS__HIP_TAKER_H

#include "../gpu/records.h"
#include "state.h"

#include <stdint.h>
#include <stdlib.h>

enum { TS__HIP_LAUNCHES = 1024, TS__HIP_RECENT = 16 };

typedef struct ts__hip_recent {   // a stream found without a search
    const ts__hip_stream *stream; // NULL: none
    uint32_t number, track;
} ts__hip_recent;

// The state of one thread that delivers records. It caches dictionary entries,
// so that the thread need not look them up again.
typedef struct ts__hip_taker {
    ts__launch launches[TS__HIP_LAUNCHES]; // epoch: the session
    // Names of the launches; NULL: the name has an id.
    char *names[TS__HIP_LAUNCHES];
    ts__hip_recent recent[TS__HIP_RECENT];
    // Counts not yet added to ts__hip.
    uint64_t kernels, ran, without_launch, before_launch;
} ts__hip_taker;

static void ts__hip_taker_free(ts__hip_taker *taker)
{
    for (uint32_t i = 0; taker && i < TS__HIP_LAUNCHES; i++)
        free(taker->names[i]);
    free(taker);
}

#endif // TS__HIP_TAKER_H
