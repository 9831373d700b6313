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

typedef struct ts__hip_recent {   // a stream that is found without a search
    const ts__hip_stream *stream; // NULL: none
    uint32_t number, track;
} ts__hip_recent;

// A library hands records over on few threads. What such a thread has found
// in the dictionaries it need not look for again.
typedef struct ts__hip_taker {
    ts__launch launches[TS__HIP_LAUNCHES]; // epoch: the session
    char *names[TS__HIP_LAUNCHES];         // of each; NULL: it has an id
    ts__hip_recent recent[TS__HIP_RECENT];
    uint64_t kernels, ran, without_launch, before_launch; // not in ts__hip yet
} ts__hip_taker;

static void ts__hip_taker_free(ts__hip_taker *taker)
{
    for (uint32_t i = 0; taker && i < TS__HIP_LAUNCHES; i++)
        free(taker->names[i]);
    free(taker);
}

#endif // TS__HIP_TAKER_H
