/*
    ts_hip.h - what AMD's accelerators did, through HIP

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: librocprofiler-sdk.so, else libroctracer64.so, else
                    libamdhip64.so itself; found at run time.
    Checked with:   doubles of these (tests/doubles), November 2026. Layouts
                    compared with the headers of rocprofiler-sdk 1.0.0,
                    roctracer 4.1 and HIP 5.2.3 to 6.2.2. Not run on hardware.

    WHAT IT DOES
        Kernels with name, grid, block, registers and memory, copies, memsets,
        synchronisation, events, allocations and the calls of HIP, each tied
        to the thread, zone and stack that asked for it. It takes the best of
        four interfaces that is there, and the trace says which and why:

        rocprofiler-sdk  everything; ROCm 6.2 and later
        roctracer        the same without registers and scratch
        hook             what the runtime tells by itself when neither library
                         is there: both generations of it
        shim             the calls alone, without times of the device

        With rocprofiler-sdk operations can be kept to be run again
        (ts_capture.h), if that is asked for before the session starts.

    WHAT IT DOES NOT DO
        No counters, no sampling, no HSA calls; a program that uses HSA
        without HIP shows its kernels only. A child made by fork is not
        followed: HIP does not survive fork.

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
        3. Implementation               private, and the ways in
                                        hip/streams.h, hip/calls.h,
                                        hip/operations.h,
                                        hip/rocprofiler.h,
                                        hip/roctracer.h, hip/hook.h,
                                        hip/shim.h; captures:
                                        hip/capture.h
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
    TRACESMITH_HIP                 the same, beside TRACESMITH_IMPLEMENTATION

    What is captured of it: backends/ts_filter.h.
*/

/* ==== 2. Backend ========================================================= */

// Its start looks for the ways; TS_ERR_NOT_FOUND, and why, if none is.
extern const ts_backend ts_hip_backend;

/*
    What rocprofiler-sdk calls in every library that has a function
    rocprofiler_configure; a library that has one calls this in it. Returns
    what that one is to return. Adds the backend.
    Source: rocprofiler-sdk/registration.h.
*/
TS_API void *ts_hip_configure(uint32_t version, const char *runtime_version,
                              uint32_t priority, void *client);

/*
    What a runtime of ROCm that knows no rocprofiler-sdk calls in libraries
    that HSA_TOOLS_LIB names: a library that has a function OnLoad calls this
    in it, and returns true. Adds the backend.
    Source: hsa-runtime, Runtime::LoadTools.
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
