/*
    ts_nvtx.h - what programs and libraries say through NVTX

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: none. NVTX is a header of NVIDIA's that programs compile
                    in; it looks for a handler, which this is.
    Checked with:   NVTX 3 of CUDA 13.0, x86-64, November 2026.

    WHAT IT DOES
        Ranges that are pushed and popped become zones, those that start and
        end anywhere spans, marks marks. Domains and categories are their
        categories and colours are kept, payloads become values of the zone.
        Threads get their names; those of streams, devices and events are kept
        for the backends that know these. A lock that is waited for is a zone, a
        lock that is given back a mark.

    WHAT IT DOES NOT DO
        Payload schemas and counters are in nvtx/payload.h and counters.h. It
        keeps no resources. It never calls NVTX, so it cannot call itself.
        (Programs that nobody changed: docs/capture.md.)

    USE
        #define TRACESMITH_IMPLEMENTATION // in one C11 file of a program
        #define TRACESMITH_NVTX           // that uses NVTX
        #include "tracesmith.h"

        #include "backends/ts_nvtx.h"

    CONTENTS                            search for "==== 2." to jump
        1. Options
        2. Handler
        3. Names of other things
        4. Implementation               private
*/
#if defined(TRACESMITH_NVTX_IMPLEMENTATION) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE // before the first system header
#endif
#ifndef TS_NVTX_H
#define TS_NVTX_H

#include "tracesmith.h"

/* ==== 1. Options ========================================================= */

/*
    TRACESMITH_NVTX_IMPLEMENTATION  in one C11 file: the functions
    TRACESMITH_NVTX                 the same, beside TRACESMITH_IMPLEMENTATION,
                                    and this program's own NVTX finds them
                                    without an environment variable
*/

/* ==== 2. Handler ========================================================= */

/*
    What a copy of NVTX calls when it is used first; every shared object may
    have one. get_table: gives its tables by number. Returns 1: handled.
    Source: nvtxDetail/nvtxTypes.h and nvtxInit.h of NVTX 3.
    Threads: any, several at once.
*/
typedef const void *(*ts_nvtx_get_table)(uint32_t table);
TS_API int ts_nvtx_initialize(ts_nvtx_get_table get_table);

// The same where another handler wants to be called too: `other` is what NVTX
// would have called in it.
TS_API int ts_nvtx_initialize_both(ts_nvtx_get_table get_table,
                                   int (*other)(ts_nvtx_get_table));

// What a copy of one of NVTX's extensions calls when it is used first: payload
// schemas and counters are handled. module_info: an nvtxExtModuleInfo_t.
TS_API int ts_nvtx_extension(void *module_info);

// Says in the metadata how many copies of NVTX reported.
extern const ts_backend ts_nvtx_backend;

/* ==== 3. Names of other things =========================================== */

typedef enum ts_nvtx_kind {
    TS_NVTX_CU_DEVICE = 1, // driver API: the device's number
    TS_NVTX_CU_CONTEXT,    // the others by handle
    TS_NVTX_CU_STREAM,
    TS_NVTX_CU_EVENT,
    TS_NVTX_CUDA_DEVICE, // runtime API
    TS_NVTX_CUDA_STREAM,
    TS_NVTX_CUDA_EVENT,
    TS_NVTX_CL_DEVICE,
    TS_NVTX_CL_CONTEXT,
    TS_NVTX_CL_QUEUE,
    TS_NVTX_CL_MEMORY,
    TS_NVTX_CL_SAMPLER,
    TS_NVTX_CL_PROGRAM,
    TS_NVTX_CL_EVENT
} ts_nvtx_kind;

// Called with each name that the program gives, on its thread; the name stays
// for as long as the process. Set before the first copy of NVTX reports.
extern void (*ts_nvtx_named)(ts_nvtx_kind kind, uint64_t handle,
                             const char *name);

// The name that the program gave; NULL: none. Lifetime: the process.
TS_API const char *ts_nvtx_name_of(ts_nvtx_kind kind, uint64_t handle);

#endif // TS_NVTX_H

#if !defined(TS__NVTX_IMPLEMENTED) && !defined(TRACESMITH_DISABLE) && \
    (defined(TRACESMITH_NVTX_IMPLEMENTATION) || \
     (defined(TRACESMITH_NVTX) && defined(TRACESMITH_IMPLEMENTATION)))
#define TS__NVTX_IMPLEMENTED
#include "nvtx/chain.h"
#include "nvtx/session.h"
#endif // implementation
