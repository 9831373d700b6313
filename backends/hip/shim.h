/*
    hip/shim.h - calls of HIP where no interface reports them

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: any that has the functions of HIP, libamdhip64.so.
    Checked with:   a double (tests/doubles/amdhip64.c) without a hook. Not
                    run on hardware.

    Puts functions of ours between the program and HIP, in the tables of
    addresses through which loaded files call functions of others. They note
    the call and call the real function. They persist until the process
    ends; without a session they only pass on.

    They know no times of the device, so there are no kernels and copies in
    the trace. Files that are loaded later and functions that are looked up
    by name are not seen.
*/
#ifndef TS__HIP_SHIM_H
#define TS__HIP_SHIM_H

#include "../gpu/patch.h"
#include "calls.h"
#include "roctracer.h"
#include "state.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ==== 1. Functions ======================================================= */

typedef struct ts__shim_dim3 { // passed by value as HIP's dim3
    uint32_t x, y, z;
} ts__shim_dim3;

// Columns: name, members of a struct of the needed arguments, parameters,
// arguments of the call, values of the struct.
#define TS__SHIM_FUNCTIONS(X) \
    X(hipMalloc, (void **a; size_t b;), (void **a, size_t b), (a, b), (a, b)) \
    X(hipFree, (void *a;), (void *a), (a), (a)) \
    X(hipMemcpy, (void *a; const void *b; size_t c; int d;), \
      (void *a, const void *b, size_t c, int d), (a, b, c, d), (a, b, c, d)) \
    X(hipMemcpyAsync, (void *a; const void *b; size_t c; int d; void *e;), \
      (void *a, const void *b, size_t c, int d, void *e), (a, b, c, d, e), \
      (a, b, c, d, e)) \
    X(hipMemset, (void *a; int b; size_t c;), (void *a, int b, size_t c), \
      (a, b, c), (a, b, c)) \
    X(hipMemsetAsync, (void *a; int b; size_t c; void *d;), \
      (void *a, int b, size_t c, void *d), (a, b, c, d), (a, b, c, d)) \
    X(hipSetDevice, (int a;), (int a), (a), (a)) \
    X(hipStreamCreate, (void **a;), (void **a), (a), (a)) \
    X(hipStreamCreateWithFlags, (void **a; unsigned b;), \
      (void **a, unsigned b), (a, b), (a, b)) \
    X(hipStreamDestroy, (void *a;), (void *a), (a), (a)) \
    X(hipStreamSynchronize, (void *a;), (void *a), (a), (a)) \
    X(hipDeviceSynchronize, (char none;), (void), (), (0)) \
    X(hipEventRecord, (void *a; void *b;), (void *a, void *b), (a, b), (a, b)) \
    X(hipEventSynchronize, (void *a;), (void *a), (a), (a)) \
    X(hipStreamWaitEvent, (void *a; void *b; unsigned c;), \
      (void *a, void *b, unsigned c), (a, b, c), (a, b, c)) \
    X(hipGraphLaunch, (void *a; void *b;), (void *a, void *b), (a, b), (a, b)) \
    X(hipLaunchKernel, \
      (const void *a; ts__shim_dim3 b; ts__shim_dim3 c; void **d; size_t e; \
       void *f;), \
      (const void *a, ts__shim_dim3 b, ts__shim_dim3 c, void **d, size_t e, \
       void *f), \
      (a, b, c, d, e, f), (a, b, c, d, e, f)) \
    X(hipModuleLaunchKernel, \
      (void *a; ts__shim_dim3 b; ts__shim_dim3 c; unsigned d; void *e;), \
      (void *a, unsigned b1, unsigned b2, unsigned b3, unsigned c1, \
       unsigned c2, unsigned c3, unsigned d, void *e, void **f, void **g), \
      (a, b1, b2, b3, c1, c2, c3, d, e, f, g), \
      (a, { b1, b2, b3 }, { c1, c2, c3 }, d, e)) \
    X(hipExtModuleLaunchKernel, \
      (void *a; ts__shim_dim3 b; ts__shim_dim3 c; size_t d; void *e;), \
      (void *a, uint32_t b1, uint32_t b2, uint32_t b3, uint32_t c1, \
       uint32_t c2, uint32_t c3, size_t d, void *e, void **f, void **g, \
       void *h, void *i, uint32_t j), \
      (a, b1, b2, b3, c1, c2, c3, d, e, f, g, h, i, j), \
      (a, { b1, b2, b3 }, { c1, c2, c3 }, d, e))

enum {
#define TS__X(name, members, parameters, call, fill) TS__SHIM_##name,
    TS__SHIM_FUNCTIONS(TS__X)
#undef TS__X
        TS__SHIM_COUNT
};

static void *ts__shim_real[TS__SHIM_COUNT];
static uint64_t ts__shim_correlation;

static void ts__shim_begin(uint32_t number, const void *arguments)
{
    if (ts__hip_listens())
        ts__hip_enter(
            number,
            __atomic_add_fetch(&ts__shim_correlation, 1, __ATOMIC_RELAXED),
            arguments, false);
}

static int ts__shim_end(uint32_t number, int result)
{
    if (!ts__hip.dead) ts__hip_leave(number, (uint64_t)(unsigned)result);
    return result;
}

#define TS__SHIM_LIST(...) __VA_ARGS__
#define TS__X(name, members, parameters, call, fill) \
    static int ts__shim_##name parameters \
    { \
        const struct { \
            TS__SHIM_LIST members \
        } arguments = { TS__SHIM_LIST fill }; \
        int(*real) parameters; \
        memcpy(&real, &ts__shim_real[TS__SHIM_##name], sizeof real); \
        ts__shim_begin(TS__SHIM_##name, &arguments); \
        return ts__shim_end(TS__SHIM_##name, real call); \
    }
TS__SHIM_FUNCTIONS(TS__X)
#undef TS__X

static const ts__patch ts__shims[] = {
#define TS__X(name, members, parameters, call, fill) \
    { #name, (void (*)(void))ts__shim_##name },
    TS__SHIM_FUNCTIONS(TS__X)
#undef TS__X
};

/* ==== 2. The way ========================================================= */

static bool ts__shim_start(char *why, size_t room)
{
    void *const runtime = ts__hip_runtime();
    ts__patch there[TS__SHIM_COUNT];
    ts__patch_set set = {
        "hip", there, ts__shim_real, TS__SHIM_COUNT, { NULL }
    };
    memset(ts__hip_apis, 0, sizeof ts__hip_apis);
    for (uint32_t i = 0; runtime && i < TS__SHIM_COUNT; i++) {
        ts__shim_real[i] = dlsym(runtime, ts__shims[i].name);
        there[i] = ts__shims[i];
        if (ts__shim_real[i]) {
            set.spare[0] = ts__shim_real[i];
            ts__hip_api_define(i, ts__shims[i].name);
        } else {
            there[i].name = NULL;
        }
    }
    if (!set.spare[0]) {
        snprintf(why, room, "the program has not loaded libamdhip64.so");
        return false;
    }
    ts__hip.lack = "calls only: the times of operations are unknown";
    ts__activity_devices(false);
    ts__patch_files(&set);
    return true;
}

static void ts__shim_nothing(void)
{
}

static const ts__hip_way ts__shim_way = { "shim",
                                          ts__shim_start,
                                          ts__shim_nothing,
                                          ts__shim_nothing,
                                          ts__rt_gone,
                                          ts__hip_boottime_ns,
                                          false };

#endif // TS__HIP_SHIM_H
