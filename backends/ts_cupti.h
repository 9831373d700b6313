/*
    ts_cupti.h - records what NVIDIA GPUs do, by CUPTI, and MetaX GPUs, by MCPTI

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: libcupti.so of CUDA 11.0 to 13.x, found at run time;
                    libmcpti.so of MACA.
    Checked with:   doubles of both libraries (tests/doubles/); the layouts
                    against the headers of CUDA 11.8, 12.4 and 13.0, names of
                    functions and the start without a device against NVIDIA's
                    own libraries of these (tests/checks/nvidia.sh). November
                    2026. One H200, driver 580.159, CUPTI 13.0.

    WHAT IT DOES
        Kernels, copies, memsets, synchronisation, events, allocations and
        graphs with the times of the device, each tied to the call, thread, zone
        and stack that launched it, and calls of the runtime and the driver. A
        vendor whose interface has CUPTI's shape is a table, in cupti/vendors.h.

    WHAT IT DOES NOT DO
        It reads no counters and takes no samples. It never calls
        cuptiFinalize. In a child made by fork it records nothing, as CUDA does
        not work there. (Programs that nobody changed: docs/capture.md.)

    USE
        #define TRACESMITH_IMPLEMENTATION // in one C11 file of a program
        #define TRACESMITH_CUPTI          // that uses CUDA
        #include "tracesmith.h"

        #include "backends/ts_cupti.h"

    CONTENTS                            search for "==== 2." to jump
        1. Options
        2. Backends
        3. Implementation               private: cupti/README.md
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
    TRACESMITH_CUPTI                 the same, with TRACESMITH_IMPLEMENTATION;
                                     sessions of the program record CUDA
                                     without a further call

    Which kinds, names and stacks: ts_filter.h.
*/
typedef struct ts_cupti_desc {
    // a graph_launch for each launch of a graph, and none of its kernels
    // (false: its kernels)
    bool whole_graphs TS__UNSET;
    // `queued` and `submitted` of kernels, which costs time at each launch
    // (false)
    bool latency TS__UNSET;
    // size of a buffer that the vendor fills, 64 KiB to 16 MiB (2 MiB)
    uint32_t buffer_bytes TS__UNSET;
    uint32_t buffer_count TS__UNSET; // 2 to 32 (16)
    // how often complete records are fetched, up to 60,000 (200)
    uint32_t flush_ms TS__UNSET;
    // how long a stop waits for the vendor, up to 60,000 (2000)
    uint32_t stop_ms TS__UNSET;
    // CUPTI is left to another profiler that requests it and has this text in
    // its name or the name of its file; "all": to any (NULL: to none)
    const char *yield TS__UNSET;
    // sessions follow modules and memory from their start, so that
    // ts_capture_start may come later (false: only if it came before)
    bool operations TS__UNSET;
} ts_cupti_desc;

/*
    Sets the options of sessions that start from now on; NULL: all defaults.
    `yield` is not copied.

    Threads: one, while no session runs.
    Errors:  TS_ERR_USAGE (a value out of range): nothing changes.
*/
TS_API ts_result ts_cupti_configure(const ts_cupti_desc *desc);

/* ==== 2. Backends ======================================================== */

/*
    For ts_backend_add. The trace's metadata has `backend.cupti`: "on", or the
    reason why not; `cupti.launches` and `cupti.kernels` count the launches and
    those of which the kernel was reported.

    One profiler at a time can use CUPTI in a process. While another one does,
    calls are recorded, and the operations that they start are counted as lost;
    captures end. `backend.cupti` names a profiler that was there first,
    `cupti.asked` one that requested CUPTI later.

    Source: NVIDIA CUPTI documentation, "CUPTI Activity API" and "CUPTI Callback
            API".
*/
extern const ts_backend ts_cupti_backend;

/*
    The same for devices of MetaX, whose MCPTI has CUPTI's interface under other
    names. The metadata has `mcpti` in place of `cupti`.

    Source: none of the vendor's; cupti/vendors.h says what its table rests on.
*/
extern const ts_backend ts_mcpti_backend;

/*
    Adds ts_cupti_backend. A library that CUDA_INJECTION64_PATH names exports a
    function InitializeInjection, which calls this and returns what it returns:
    1.

    Threads: the one that initialises CUDA's driver.
    Source:  NVIDIA CUPTI documentation, "Injection".
*/
TS_API int ts_cupti_initialize(void);

/*
    Names the track of a stream of CUDA, by its handle, as NVTX does. If an
    operation of it was recorded before, the name is a metadata entry of the
    track, `name`. Without a session it does nothing.

    Threads:  any.
    Lifetime: `name` is not copied, and must be valid until the process ends.
*/
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
