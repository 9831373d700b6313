/*
    ts_cuda_exec.h - runs captured operations on NVIDIA's and AMD's devices

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: libcuda.so.1, by its driver interface; libamdhip64.so,
                    whose functions of the same shape take its place.
    Checked with:   CUDA: one H200, driver 580.159, November 2026
                    (docs/capture.md). Both: doubles (tests/doubles/libcuda.c,
                    amdhip64.c), Debian 12, x86-64, gcc 12 and clang 14.
                    HIP has not run on a GPU yet.

    WHAT IT DOES
        The executors of tracesmith_replay.h for both vendors. Memory gets its
        recorded addresses if they are free: windows around them are reserved as
        soon as the driver has started, with retries; an allocation that cannot
        have its address gets another one, and the result says so.
        Modules are loaded from the trace, functions are found in them by name
        and launched with the recorded arguments.

    WHAT IT DOES NOT DO
        It does not ask before it runs code of a trace. A device that has failed
        remains failed until the process ends, as the vendors document.

    USE
        #define TRACESMITH_CUDA_EXEC_IMPLEMENTATION // in one C11 file
        #include "backends/ts_cuda_exec.h"

        static const ts_execution_desc on_a_gpu = {
            .executor = &ts_cuda_executor
        };

    CONTENTS                            search for "==== 1." to jump
        1. Executors
        2. Implementation               private: cuda/README.md
*/
#if defined(TRACESMITH_CUDA_EXEC_IMPLEMENTATION) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE // before the first system header
#endif
#ifndef TS_CUDA_EXEC_H
#define TS_CUDA_EXEC_H

#include "tracesmith_replay.h"

/* ==== 1. Executors ======================================================= */

/*
    For ts_execution_desc.executor. Each opens the vendor's library when it is
    used first.

    Threads: one execution at a time in a process.
    Source:  CUDA Driver API (memory management, virtual memory, modules,
             execution control, graphs); HIP Runtime API, the same sections.
*/

#ifdef __cplusplus
extern "C" const ts_executor ts_cuda_executor, ts_hip_executor;
#else
extern const ts_executor ts_cuda_executor, ts_hip_executor;
#endif

#endif // TS_CUDA_EXEC_H

#if defined(TRACESMITH_CUDA_EXEC_IMPLEMENTATION) && \
    !defined(TS__CUDA_EXEC_IMPLEMENTED)
#define TS__CUDA_EXEC_IMPLEMENTED
#include "cuda/executor.h"
#endif // implementation
