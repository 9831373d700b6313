/*
    nvtx/tables.h - the functions that each copy of NVTX gets

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__NVTX_TABLES_H
#define TS__NVTX_TABLES_H

#include "../ts_nvtx.h"
#include "callbacks.h"
#include "state.h"

#include <stddef.h>
#include <stdint.h>

typedef void (*ts__nv_function)(void);

// Indexed by NvtxCallbackModule; functions in the order of NvtxCallbackId...,
// from 1.
#define TS__NV(name) (ts__nv_function) ts__nv_##name
#define TS__NV2(name) \
    (ts__nv_function) ts__nv_##name##A, (ts__nv_function)ts__nv_##name##W
static const ts__nv_function ts__nv_core[] = {
    TS__NV(MarkEx),       TS__NV2(Mark),    TS__NV(RangeStartEx),
    TS__NV2(RangeStart),  TS__NV(RangeEnd), TS__NV(RangePushEx),
    TS__NV2(RangePush),   TS__NV(RangePop), TS__NV2(NameCategory),
    TS__NV2(NameOsThread)
};
static const ts__nv_function ts__nv_cuda[] = { TS__NV2(NameCuDevice),
                                               TS__NV2(NameCuContext),
                                               TS__NV2(NameCuStream),
                                               TS__NV2(NameCuEvent) };
static const ts__nv_function ts__nv_opencl[] = {
    TS__NV2(NameClDevice),       TS__NV2(NameClContext),
    TS__NV2(NameClCommandQueue), TS__NV2(NameClMemObject),
    TS__NV2(NameClSampler),      TS__NV2(NameClProgram),
    TS__NV2(NameClEvent)
};
static const ts__nv_function ts__nv_cudart[] = { TS__NV2(NameCudaDevice),
                                                 TS__NV2(NameCudaStream),
                                                 TS__NV2(NameCudaEvent) };
static const ts__nv_function ts__nv_core2[] = {
    TS__NV(DomainMarkEx),          TS__NV(DomainRangeStartEx),
    TS__NV(DomainRangeEnd),        TS__NV(DomainRangePushEx),
    TS__NV(DomainRangePop),        TS__NV(DomainResourceCreate),
    TS__NV(DomainResourceDestroy), TS__NV2(DomainNameCategory),
    TS__NV2(DomainRegisterString), TS__NV2(DomainCreate),
    TS__NV(DomainDestroy),         TS__NV(Initialize)
};
static const ts__nv_function ts__nv_sync[] = {
    TS__NV(DomainSyncUserCreate),         TS__NV(DomainSyncUserDestroy),
    TS__NV(DomainSyncUserAcquireStart),   TS__NV(DomainSyncUserAcquireFailed),
    TS__NV(DomainSyncUserAcquireSuccess), TS__NV(DomainSyncUserReleasing)
};
static const struct {
    const ts__nv_function *functions;
    size_t count;
} ts__nv_modules[] = {
    { NULL, 0 },
    { ts__nv_core, sizeof ts__nv_core / sizeof *ts__nv_core },
    { ts__nv_cuda, sizeof ts__nv_cuda / sizeof *ts__nv_cuda },
    { ts__nv_opencl, sizeof ts__nv_opencl / sizeof *ts__nv_opencl },
    { ts__nv_cudart, sizeof ts__nv_cudart / sizeof *ts__nv_cudart },
    { ts__nv_core2, sizeof ts__nv_core2 / sizeof *ts__nv_core2 },
    { ts__nv_sync, sizeof ts__nv_sync / sizeof *ts__nv_sync }
};

// Position of each module's functions in the list of all functions in
// nvtx/chain.h, where functions that name objects come last.
static const uint8_t ts__nv_places[] = { 0, 0, 36, 50, 44, 15, 30 };

// Fills the tables of a copy of NVTX with our functions, or with those that
// also call the other handler.
static int ts__nv_begin(ts_nvtx_get_table get_table,
                        const ts__nv_function *both)
{
    const ts__nv_callbacks *const callbacks =
        get_table ? (const ts__nv_callbacks *)get_table(1) : NULL;
    const ts__nv_version *const version =
        get_table ? (const ts__nv_version *)get_table(3) : NULL;
    if (!callbacks || callbacks->size < sizeof *callbacks) return 0;
    for (uint32_t m = 1; m < sizeof ts__nv_modules / sizeof *ts__nv_modules;
         m++) {
        ts__nv_function **table = NULL;
        unsigned size = 0;
        if (!callbacks->module_table(m, &table, &size) || !table) continue;
        const ts__nv_function *const ours =
            both ? both + ts__nv_places[m] : ts__nv_modules[m].functions;
        for (uint32_t i = 0; i < ts__nv_modules[m].count; i++)
            if (i + 1 < size && table[i + 1]) *table[i + 1] = ours[i];
    }
    if (version && version->size >= sizeof *version &&
        version->set_handler_version)
        version->set_handler_version(3);
    __atomic_add_fetch(&ts__nv.copies, 1, __ATOMIC_RELAXED);
    return 1;
}

int ts_nvtx_initialize(ts_nvtx_get_table get_table)
{
    return ts__nv_begin(get_table, NULL);
}

#endif // TS__NVTX_TABLES_H
