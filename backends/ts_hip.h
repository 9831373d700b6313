/*
    ts_hip.h - records what AMD GPUs do, through HIP

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: librocprofiler-sdk.so, else libroctracer64.so, else
                    libamdhip64.so itself; found at run time.
    Checked with:   doubles of these (tests/doubles), November 2026. Layouts
                    compared with the headers of rocprofiler-sdk 1.0.0,
                    roctracer 4.1 and HIP 5.2.3 to 6.2.2. Not run on hardware.

    WHAT IT DOES
        Kernels with name, grid, block, registers and memory, copies, memsets,
        synchronisation, events, allocations and the calls of HIP, each tied
        to the thread, zone and stack that launched it. Of four interfaces it
        takes the first one that is there, and the trace says which and why:

        rocprofiler-sdk  everything; ROCm 6.2 and later
        roctracer        the same without registers and scratch
        hook             what the runtime reports by itself when neither
                         library is there: both generations of it
        shim             the calls alone, without times of the device

        With rocprofiler-sdk operations can be captured (ts_capture.h), if the
        capture is started or armed before the session.

    WHAT IT DOES NOT DO
        No counters, no sampling, no HSA calls; a program that uses HSA
        without HIP shows its kernels only. In a child made by fork it records
        nothing, as HIP does not work there.

    USE
        #define TRACESMITH_IMPLEMENTATION // in one C11 file of a program
        #define TRACESMITH_HIP            // that uses HIP
        #include "tracesmith.h"

        #include "backends/ts_hip.h"

        static ts_result start(const ts_session_desc *desc)
        {
            ts_backend_add(&ts_hip_backend); // before HIP is used first
            return ts_session_start(desc);
        }

    CONTENTS                            search for "==== 2." to jump
        1. Options
        2. Backend
        3. Implementation               private: hip/README.md
*/
#if (defined(TRACESMITH_HIP_IMPLEMENTATION) || defined(TRACESMITH_HIP)) && \
    !defined(_GNU_SOURCE)
#define _GNU_SOURCE // before the first system header
#endif
#ifndef TS_HIP_H
#define TS_HIP_H

#include "tracesmith.h"

/* ==== 1. Options ========================================================= */

/*
    TRACESMITH_HIP_IMPLEMENTATION  in one C11 file: the functions
    TRACESMITH_HIP                 the same, with TRACESMITH_IMPLEMENTATION

    Which kinds, names and stacks: ts_filter.h.
*/

/* ==== 2. Backend ========================================================= */

/*
    For ts_backend_add. Its start tries the interfaces in the order above and
    returns TS_ERR_NOT_FOUND if none is there. The trace's metadata has
    `hip.interface`, and in `hip.because` why no better one was used.
*/
extern const ts_backend ts_hip_backend;

/*
    Adds ts_hip_backend, and registers it with rocprofiler-sdk. A library that
    is to be found by rocprofiler-sdk exports a function rocprofiler_configure,
    which passes its parameters to this and returns what it returns: a
    rocprofiler_tool_configure_result_t, valid until the process ends.

    Threads: the one that loads HIP's runtime.
    Source:  rocprofiler-sdk/registration.h.
*/
TS_API void *ts_hip_configure(uint32_t version, const char *runtime_version,
                              uint32_t priority, void *client);

/*
    Adds ts_hip_backend. For runtimes of ROCm without rocprofiler-sdk: a library
    that HSA_TOOLS_LIB names exports a function OnLoad, which calls this and
    returns true.

    Threads: the one that loads HIP's runtime.
    Source:  hsa-runtime, Runtime::LoadTools.
*/
TS_API void ts_hip_on_load(void);

#endif // TS_HIP_H

#if !defined(TS__HIP_IMPLEMENTED) && !defined(TRACESMITH_DISABLE) && \
    (defined(TRACESMITH_HIP_IMPLEMENTATION) || \
     (defined(TRACESMITH_HIP) && defined(TRACESMITH_IMPLEMENTATION)))
#define TS__HIP_IMPLEMENTED
#if defined(__cplusplus) || __STDC_VERSION__ < 201112L
#error "ts_hip.h: the implementation is C11; give it a .c file"
#endif
#include "hip/session.h"
#endif // implementation
