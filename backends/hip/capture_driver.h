/*
    hip/capture_driver.h - HIP's functions in the place of CUDA's driver

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: libamdhip64.so, as it is in the process. A context is a
                    device.

    A context is a device.
*/
#ifndef TS__HIP_CAPTURE_DRIVER_H
#define TS__HIP_CAPTURE_DRIVER_H

#include "../gpu/cuda_abi.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static struct {
    int (*device_set)(int);
    int (*about)(uint32_t *, int, uint64_t);
    int (*symbol)(uint64_t *, const void *);
    const char *(*name)(const void *, void *);
    int (*version)(int *);
    // Types of memory are numbered differently since HIP 6.
    bool requested, renumbered;
    uint32_t device; // the current device of the calling thread
} ts__hs_call;

// A context is the device's number + 1, because NULL means none.
static void *ts__hs_context(uint32_t device)
{
    return (void *)((uintptr_t)device + 1);
}

static uint32_t ts__hs_device_of(const void *context)
{
    return (uint32_t)((uintptr_t)context - 1);
}

static int ts__hs_device_set(void *context)
{
    ts__hs_call.device = ts__hs_device_of(context);
    return ts__hs_call.device_set((int)ts__hs_call.device);
}

// A device is never replaced by another, so its id is constant.
static int ts__hs_device_id(void *context, uint64_t *id)
{
    *id = (uintptr_t)context;
    return 0;
}

// Gets the type of memory in CUDA's numbering, from which HIP's differed before
// HIP 6. Runs on the thread that calls HIP, as all these functions do.
// Source: hipMemoryType of HIP 5 and 6.
static int ts__hs_about(void *type, int what, uint64_t address)
{
    static const uint32_t types[2][5] = {
        { TS__CUDA_HOST, TS__CUDA_DEVICE, 3, TS__CUDA_UNIFIED,
          TS__CUDA_UNIFIED },
        { 0, TS__CUDA_HOST, TS__CUDA_DEVICE, TS__CUDA_UNIFIED, 0 }
    };
    uint32_t value = 0;
    int version = 0;
    if (what != 2) return 1; // the owning context: contexts are devices
    const int result = ts__hs_call.about(&value, what, address);
    if (!ts__hs_call.requested && ts__hs_call.version)
        ts__hs_call.version(&version);
    ts__hs_call.renumbered |= version >= 60000000;
    ts__hs_call.requested = true;
    value = value < 5 ? types[ts__hs_call.renumbered][value] : 0;
    memcpy(type, &value, sizeof value);
    return result;
}

static void ts__hs_symbol(void *library, const char *name, void *to)
{
    void *const symbol = dlsym(library, name);
    memcpy(to, &symbol, sizeof symbol);
}

#endif // TS__HIP_CAPTURE_DRIVER_H
