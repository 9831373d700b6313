/*
    ts_nvtx.h - records what programs and libraries report through NVTX

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: none. NVTX is a header of NVIDIA's that programs compile
                    in; it looks for a handler, and this is one.
    Checked with:   NVTX 3 of CUDA 13.0, x86-64, November 2026.

    WHAT IT DOES
        Ranges that are pushed and popped become zones, those that start and
        end anywhere become spans, marks become marks. Domains and categories
        become categories; colours are kept, payloads become values of the
        zone. Threads get their names; names of streams, devices and events are
        kept for the backends of these. A wait for a lock becomes a zone, the
        release of a lock a mark.

    WHAT IT DOES NOT DO
        It keeps no resources. It never calls NVTX, so it cannot call itself.
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
        4. Implementation               private: nvtx/README.md
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
    TRACESMITH_NVTX                 the same, with TRACESMITH_IMPLEMENTATION,
                                    and this program's own NVTX finds them
                                    without an environment variable
*/

/* ==== 2. Handler ========================================================= */

// Returns the table of functions with a number; NULL: the copy has none.
typedef const void *(*ts_nvtx_get_table)(uint32_t table);

/*
    Fills in the tables of a copy of NVTX, which calls this when it is used
    first; every shared object of a process may have a copy. get_table: returns
    the table of a number. Returns 1: handled; 0: the tables are of an unknown
    layout.

    Threads: any, concurrently.
    Source:  nvtxDetail/nvtxTypes.h and nvtxInit.h of NVTX 3.
*/
TS_API int ts_nvtx_initialize(ts_nvtx_get_table get_table);

/*
    The same where another handler shall be called too: `other` is the function
    of it that NVTX would have called. Each call of the program goes to both.
*/
TS_API int ts_nvtx_initialize_both(ts_nvtx_get_table get_table,
                                   int (*other)(ts_nvtx_get_table));

/*
    Fills in the tables of one of NVTX's extensions: payload schemas and
    counters are handled. module_info: an nvtxExtModuleInfo_t. Returns 1:
    handled; 0: it is another extension.

    Threads: any, concurrently.
    Source:  nvtxDetail/nvtxExtTypes.h of NVTX 3.2.
*/
TS_API int ts_nvtx_extension(void *module_info);

// For ts_backend_add: its stop writes the number of copies of NVTX that were
// handled into the trace's metadata, `nvtx.copies`.
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

/*
    Called with each name that the program gives, on the thread that gives it;
    NULL: nothing is called. Set it before the first copy of NVTX reports.

    Lifetime: `name` is valid until the process ends.
*/
extern void (*ts_nvtx_named)(ts_nvtx_kind kind, uint64_t handle,
                             const char *name);

/*
    The last name that the program gave, by number or handle; NULL: none.

    Threads:  any.
    Lifetime: valid until the process ends.
*/
TS_API const char *ts_nvtx_name_of(ts_nvtx_kind kind, uint64_t handle);

#endif // TS_NVTX_H

#if !defined(TS__NVTX_IMPLEMENTED) && !defined(TRACESMITH_DISABLE) && \
    (defined(TRACESMITH_NVTX_IMPLEMENTATION) || \
     (defined(TRACESMITH_NVTX) && defined(TRACESMITH_IMPLEMENTATION)))
#define TS__NVTX_IMPLEMENTED
#include "nvtx/chain.h"
#include "nvtx/session.h"
#endif // implementation
