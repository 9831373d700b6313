/*
    ts_opencl.h - what OpenCL runs

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: libOpenCL, the loader that every vendor shares: ocl-icd or
                    Khronos'.
    Checked with:   PoCL 3.1 (OpenCL 3.0), ocl-icd 2.3.1 of Debian 12, and
                    Khronos' loader of August 2026, x86-64, November 2026. No
                    GPU yet.

    WHAT IT DOES
        Every command of a queue becomes a GPU operation with the times of its
        event: kernels with their launch configuration, copies, fills, maps,
        migrations, host functions, markers and barriers (event_record). Wait
        lists, barriers and user events become dependencies, waits of the host
        syncs, and calls API calls that are tied to what they launched.
        Buffers, images and SVM are allocations; arguments of kernels that are
        memory are accesses. Queues are given CL_QUEUE_PROFILING_ENABLE, which
        the program does not see. Commands are kept to be run again where
        ts_capture.h was asked to (docs/execution.md).

    WHAT IT DOES NOT DO
        Nothing of extensions (command buffers, unified memory, OpenGL), and
        nothing of a program that calls a driver without the loader. OpenCL
        tells no addresses: each buffer gets some of its own, from 2^56 on.
        Copies of a part of an image or of a rectangle tell how many bytes,
        not which.

    USE
        #define TRACESMITH_IMPLEMENTATION // in one C11 file of a program
        #define TRACESMITH_OPENCL         // that links with -lOpenCL
        #include "tracesmith.h"

        #include "backends/ts_opencl.h"

    CONTENTS                            search for "==== 2." to jump
        1. Options
        2. Layer
        3. Backend
        4. Implementation               private: opencl/README.md
*/
#if defined(TRACESMITH_OPENCL_IMPLEMENTATION) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE // before the first system header
#endif
#ifndef TS_OPENCL_H
#define TS_OPENCL_H

#include "tracesmith.h"

/* ==== 1. Options ========================================================= */

/*
    TRACESMITH_OPENCL_IMPLEMENTATION  in one C11 file: the functions
    TRACESMITH_OPENCL                 the same, with TRACESMITH_IMPLEMENTATION,
                                      and the calls of OpenCL of this program
                                      and its libraries go through them
*/

/* ==== 2. Layer =========================================================== */

/*
    The functions of a layer that OPENCL_LAYERS names. A library exports four
    functions of the loader's names that call these, and must not be unloaded.
    Results are OpenCL's: 0 is CL_SUCCESS.

    Source: cl_layer.h of OpenCL 3.0: clGetLayerInfo, clInitLayer; since 2024
            also clInitLayerWithProperties, which has one argument more, always
            NULL, and clDeinitLayer.
*/

/*
    For clGetLayerInfo: writes a property of the layer to `value` (NULL: only
    the size is needed). what: a cl_layer_info. room: bytes of `value`. *size:
    receives those of the property (NULL: not needed).

    Threads: any.
    Errors:  CL_INVALID_VALUE (no such property, or no room).
*/
TS_API int32_t ts_opencl_layer_info(uint32_t what, size_t room, void *value,
                                    size_t *size);

/*
    For clInitLayer: begins. target has `count` functions of the loader, in its
    order; *table becomes a table of *count_out functions, in which ours take
    their places. listen: false: calls pass through as if there were no layer.

    Threads:  one, before the program calls OpenCL.
    Lifetime: *table is valid until the process ends.
*/
TS_API int32_t ts_opencl_layer_init(uint32_t count, const void *const *target,
                                    uint32_t *count_out,
                                    const void *const **table, bool listen);

/*
    For clDeinitLayer: the loader is being unloaded, and its drivers with it, so
    that commands in flight are lost. ts_opencl_layer_init may be called again.

    Threads: one, when no call of OpenCL is active.
*/
TS_API void ts_opencl_layer_end(void);

/* ==== 3. Backend ========================================================= */

// It adds itself when the program first uses OpenCL. A flush of the session
// reports commands that are complete; a stop waits up to 2 s for the others.
extern const ts_backend ts_opencl_backend;

#endif // TS_OPENCL_H

#if !defined(TS__OPENCL_IMPLEMENTED) && !defined(TRACESMITH_DISABLE) && \
    (defined(TRACESMITH_OPENCL_IMPLEMENTATION) || \
     (defined(TRACESMITH_OPENCL) && defined(TRACESMITH_IMPLEMENTATION)))
#define TS__OPENCL_IMPLEMENTED
#if defined(__cplusplus) || __STDC_VERSION__ < 201112L
#error "ts_opencl.h: the implementation is C11; give it a .c file"
#endif
#include "opencl/session.h"
#endif // implementation
