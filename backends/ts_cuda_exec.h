/*
    ts_cuda_exec.h - runs captured operations on NVIDIA's and AMD's devices

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: libcuda.so.1, by its driver interface; libamdhip64.so,
                    whose functions of the same shape take its place.
    Checked with:   doubles of both (tests/doubles/libcuda.c, amdhip64.c),
                    Debian 12, x86-64, gcc 12 and clang 14, November 2026.
                    Neither has run on a GPU yet.

    WHAT IT DOES
        The executors of tracesmith_replay.h for both. Memory comes back at
        its recorded addresses: they are kept free before the driver starts,
        and reserved one by one afterwards, with some tries; what cannot have
        its address lies elsewhere, and says so. Modules are loaded from the
        trace, functions found in them by name, launched with the recorded
        bytes as they are.

    WHAT IT DOES NOT DO
        It asks nobody: code of a trace runs. A device that has failed remains
        so until the process ends, as the vendors say.

    USE
        #define TRACESMITH_CUDA_EXEC_IMPLEMENTATION // in one C11 file
        #include "backends/ts_cuda_exec.h"

        static const ts_execution_desc on_a_gpu = {
            .executor = &ts_cuda_executor
        };

    CONTENTS                            search for "==== 2." to jump
        1. Executors
        2. The driver                   cuda/exec_memory.h; private, as
                                        all that follows
        3. Addresses
        4. Contents and code
        5. Streams and launches         cuda/exec_handles.h: what
                                        arguments hide
        6. Copies and sets
        7. Waiting, graphs
*/
#if defined(TRACESMITH_CUDA_EXEC_IMPLEMENTATION) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE // before the first system header
#endif
#ifndef TS_CUDA_EXEC_H
#define TS_CUDA_EXEC_H

#include "tracesmith_replay.h"

/* ==== 1. Executors ======================================================= */

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
