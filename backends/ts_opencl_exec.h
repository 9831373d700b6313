/*
    ts_opencl_exec.h - runs captured operations on devices of OpenCL

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: libOpenCL.so.1 (any loader, or a driver that is one),
                    loaded when it is used; OpenCL 1.2 and later.
    Checked with:   PoCL 3.1, ocl-icd 2.3.1; Debian 12, x86-64, gcc 12 and
                    clang 14, November 2026.

    WHAT IT DOES
        The executor of tracesmith_replay.h for OpenCL: chooses the device that
        has the recorded name, builds programs from source, intermediate
        language or binary with the recorded options, and launches kernels of
        them. Objects of OpenCL have no addresses: captures give them numbers
        in the place of addresses, and the executor finds its own objects by
        these numbers. TRACESMITH_OPENCL_DEVICE in the environment chooses
        another device, by a part of its name.

    WHAT IT DOES NOT DO
        It does not ask before it runs programs of a trace. Shared virtual
        memory and pipes are not run; captures decline them. Kernels that
        launch kernels do not work: captures do not detect them.

    USE
        #define TRACESMITH_OPENCL_EXEC_IMPLEMENTATION // in one C11 file
        #include "backends/ts_opencl_exec.h"

        static ts_result run_first(ts_reader *reader, ts_execution_item *item)
        {
            const ts_execution_desc desc = { .executor = &ts_opencl_executor };
            const size_t first = 0;
            char why[200];
            ts_execution *execution;
            const ts_result result = ts_execution_open(
                &execution, reader, &first, 1, &desc, why, sizeof why);
            if (result == TS_OK) ts_execution_run(execution, 0, item);
            ts_execution_close(execution);
            return result;
        }

    CONTENTS                            search for "==== 2." to jump
        1. Executor
        2. Implementation               private: opencl/README.md
*/
#ifndef TS_OPENCL_EXEC_H
#define TS_OPENCL_EXEC_H

#include "tracesmith_replay.h"

/* ==== 1. Executor ======================================================== */

/*
    For ts_execution_desc.executor. It opens libOpenCL.so.1 when it is used.

    Threads: one thread at a time for each execution.
    Source:  The OpenCL Specification 3.0; cl_khr_command_buffer 0.9 (graphs).
*/

#ifdef __cplusplus
extern "C"
#else
extern
#endif
    const ts_executor ts_opencl_executor;

#endif // TS_OPENCL_EXEC_H

#if defined(TRACESMITH_OPENCL_EXEC_IMPLEMENTATION) && \
    !defined(TS__OPENCL_EXEC_IMPLEMENTED)
#define TS__OPENCL_EXEC_IMPLEMENTED
#include "opencl/executor.h"
#endif // implementation
