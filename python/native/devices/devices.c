/*
    devices.c - the backends of vendors, and the entries that loaders look for

    A library of its own, which record(gpu=True) loads: the loaders of OpenCL
    and NVTX find it by a variable of the environment, also in child processes
    that are no Python and have no session, where it does nothing.
*/
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define TRACESMITH_CUPTI_IMPLEMENTATION
#define TRACESMITH_HIP_IMPLEMENTATION
#define TRACESMITH_NVTX_IMPLEMENTATION
#define TRACESMITH_OPENCL_IMPLEMENTATION
#include <limits.h>
#include "tracesmith.h"
#include "backends/ts_cupti.h"
#include "backends/ts_hip.h"
#include "backends/ts_nvtx.h"
#include "backends/ts_opencl.h"

#define ENTRY __attribute__((visibility("default")))

// Adds the backends to all later sessions; a second call does nothing.
ENTRY ts_result tracesmith_devices_add(void);
ts_result tracesmith_devices_add(void)
{
    static const ts_backend *const all[] = {
        &ts_cupti_backend,
        &ts_mcpti_backend,
        &ts_hip_backend,
        &ts_nvtx_backend,
    };
    static bool added;
    for (size_t i = 0; !added && i < sizeof all / sizeof *all; i++) {
        const ts_result result = ts_backend_add(all[i]);
        if (result != TS_OK) return result;
    }
    added = true;
    return TS_OK;
}

/* ---- OpenCL (OPENCL_LAYERS) ---------------------------------------------- */

ENTRY int32_t clGetLayerInfo(uint32_t what, size_t room, void *value,
                             size_t *size);
int32_t clGetLayerInfo(uint32_t what, size_t room, void *value, size_t *size)
{
    return ts_opencl_layer_info(what, room, value, size);
}

ENTRY int32_t clInitLayer(uint32_t count, const void *const *target,
                          uint32_t *count_out, const void *const **table);
int32_t clInitLayer(uint32_t count, const void *const *target,
                    uint32_t *count_out, const void *const **table)
{
    ts_stats stats;
    const bool on = ts_session_stats(&stats) == TS_OK && stats.generation;
    return ts_opencl_layer_init(count, target, count_out, table, on);
}

// Khronos' loader since 2024 looks for these in place of clInitLayer.
ENTRY int32_t clInitLayerWithProperties(uint32_t count,
                                        const void *const *target,
                                        uint32_t *count_out,
                                        const void *const **table,
                                        const void *properties);
int32_t clInitLayerWithProperties(uint32_t count, const void *const *target,
                                  uint32_t *count_out,
                                  const void *const **table,
                                  const void *properties)
{
    (void)properties;
    return clInitLayer(count, target, count_out, table);
}

ENTRY int32_t clDeinitLayer(void);
int32_t clDeinitLayer(void)
{
    ts_opencl_layer_end();
    return 0;
}

/* ---- NVTX (NVTX_INJECTION64_PATH) ---------------------------------------- */

ENTRY int InitializeInjectionNvtx2(ts_nvtx_get_table get_table);
int InitializeInjectionNvtx2(ts_nvtx_get_table get_table)
{
    return ts_nvtx_initialize(get_table);
}

ENTRY int InitializeInjectionNvtxExtension(void *module_info);
int InitializeInjectionNvtxExtension(void *module_info)
{
    return ts_nvtx_extension(module_info);
}
