/*
    ts_cupti.h - what NVIDIA's CUPTI reports, and MetaX's MCPTI

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: libcupti.so of CUDA 11.0 to 13.x, found at run time;
                    libmcpti.so of MACA.
    Checked with:   doubles of both libraries (tests/doubles/); the layouts
                    against the headers of CUDA 11.8, 12.4 and 13.0, names of
                    functions and the start without a device against NVIDIA's
                    own libraries of these (tests/checks/nvidia.sh). November
                    2026. Not yet run on a GPU.

    WHAT IT DOES
        Kernels, copies, memsets, synchronisation, events, allocations and
        graphs with the times of the device, each tied to the call, thread, zone
        and stack that launched it, and calls of the runtime and the driver. A
        vendor whose interface has CUPTI's shape is a table, in cupti/vendors.h.

    WHAT IT DOES NOT DO
        It reads no counters and takes no samples. It never calls
        cuptiFinalize. In a child made by fork it is silent, as CUDA is.
        (Programs that nobody changed: docs/capture.md.)

    USE
        #define TRACESMITH_IMPLEMENTATION // in one C11 file of a program
        #define TRACESMITH_CUPTI          // that uses CUDA
        #include "tracesmith.h"

        #include "backends/ts_cupti.h"

    CONTENTS                            search for "==== 2." to jump
        1. Options
        2. Capture
        3. Tables of vendors            cupti/vendors.h; private, as all
                                        that follows
        4. Calls                        cupti/calls.h
        5. Records                      cupti/records.h
        6. Another profiler             cupti/other_profiler.h
        7. Buffers and the worker
        8. Start and stop
*/
#if (defined(TRACESMITH_CUPTI_IMPLEMENTATION) || defined(TRACESMITH_CUPTI)) && \
    !defined(_GNU_SOURCE)
#define _GNU_SOURCE // before the first system header
#endif
#ifndef TS_CUPTI_H
#define TS_CUPTI_H

#include "tracesmith.h"

/* ==== 1. Options ========================================================= */

/*
    TRACESMITH_CUPTI_IMPLEMENTATION  in one C11 file: the functions
    TRACESMITH_CUPTI                 the same, beside
                                     TRACESMITH_IMPLEMENTATION; sessions of the
                                     program capture without a further call

    Which kinds, names and stacks: ts_filter.h.
*/
typedef struct ts_cupti_desc {
    // a graph_launch for each launch of a graph, and none of its kernels
    // (false: its kernels)
    bool whole_graphs TS__UNSET;
    // `queued` and `submitted` of kernels, which costs time at each launch
    // (false)
    bool latency TS__UNSET;
    // that the vendor fills, 64 KiB to 16 MiB (2 MiB)
    uint32_t buffer_bytes TS__UNSET;
    uint32_t buffer_count TS__UNSET; // of them, 2 to 32 (16)
    uint32_t flush_ms TS__UNSET; // what is complete is fetched so often (200)
    // a stop waits at most so long for the vendor (2000)
    uint32_t stop_ms TS__UNSET;
    // CUPTI is given up to whoever asks for it and has this in the name of the
    // profiler or its file, "all": to anybody (NULL: to nobody)
    const char *yield TS__UNSET;
    // sessions look after modules and memory from their start, so that
    // ts_capture_start may come later (false: only if it came before)
    bool operations TS__UNSET;
} ts_cupti_desc;

// From the next session on; NULL: all defaults.
// Threads: while no session runs. Errors: TS_ERR_USAGE (out of range).
TS_API ts_result ts_cupti_configure(const ts_cupti_desc *desc);

/* ==== 2. Capture ========================================================= */

/*
    For ts_backend_add. The session's metadata say `backend.cupti`: "on", or
    why not; `cupti.launches` and `cupti.kernels` say of how many launches the
    kernel was reported.

    Only one profiler can have CUPTI in a process: while another one has it,
    calls are recorded, and what they started is a loss; captures end.
    `backend.cupti` says who was first, `cupti.asked` who asked for it later.
*/
extern const ts_backend ts_cupti_backend;
extern const ts_backend ts_mcpti_backend;

// What the CUDA driver calls in a library that CUDA_INJECTION64_PATH names.
// Returns 1: handled.
TS_API int ts_cupti_initialize(void);

// A name of a stream of CUDA, by its handle, for its track: as NVTX gives it.
// If work of it was recorded before, the name is a fact of its track, `name`.
// Lifetime: `name` stays for as long as the process.
TS_API void ts_cupti_stream_name(void *stream, const char *name);

#endif // TS_CUPTI_H

#if !defined(TS__CUPTI_IMPLEMENTED) && !defined(TRACESMITH_DISABLE) && \
    (defined(TRACESMITH_CUPTI_IMPLEMENTATION) || \
     (defined(TRACESMITH_CUPTI) && defined(TRACESMITH_IMPLEMENTATION)))
#define TS__CUPTI_IMPLEMENTED
#if defined(__cplusplus) || __STDC_VERSION__ < 201112L
#error "ts_cupti.h: the implementation is C11; give it a .c file"
#endif
#include <dlfcn.h>
#ifndef RTLD_NEXT
#error "ts_cupti.h: define _GNU_SOURCE before any #include"
#endif
#include "cupti/session.h"
#endif // implementation
