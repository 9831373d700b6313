/*
    opencl/exec_devices.h - the library, and devices that fit

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__OPENCL_EXEC_DEVICES_H
#define TS__OPENCL_EXEC_DEVICES_H

#include "tracesmith_replay.h"
#include "exec_abi.h"
#include "exec_state.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef TS__OX_FIND // tests replace it
#define TS__OX_OPEN() dlopen("libOpenCL.so.1", RTLD_NOW)

#define TS__OX_FIND(library, name) dlsym(library, name)
#endif

static bool ts__ox_load_library(ts__ox *x, char *why, size_t room)
{
    const char *missing = NULL;
    x->library = TS__OX_OPEN();
    if (!x->library) {
        snprintf(why, room,
                 "OpenCL is not installed on this machine: libOpenCL.so.1 "
                 "cannot be loaded (install a loader and a driver, such as "
                 "pocl-opencl-icd)");
        return false;
    }
    // Copied as bytes, because ISO C does not allow the cast.
#define TS__X(type, name, params) \
    void *const found_##name = TS__OX_FIND(x->library, #name); \
    memcpy(&x->cl.name, &found_##name, sizeof x->cl.name);
    TS__OX_CALLS(TS__X)
    TS__OX_LATER(TS__X)
#undef TS__X
#define TS__X(type, name, params) \
    if (!x->cl.name) missing = #name;
    TS__OX_CALLS(TS__X)
#undef TS__X
    if (missing)
        snprintf(why, room,
                 "the OpenCL version of this machine is too old: it has no %s",
                 missing);
    return !missing;
}

typedef struct ts__ox_device {
    ts__ox_handle platform, device;
    char name[128];
} ts__ox_device;

// Lists the devices of all platforms, up to TS__OX_DEVICES.
static uint32_t ts__ox_all_devices(const ts__ox *x, ts__ox_device *all)
{
    ts__ox_handle platforms[16], devices[TS__OX_DEVICES];
    uint32_t platform_count = 0, count = 0, found = 0;
    if (x->cl.clGetPlatformIDs(16, platforms, &platform_count) != 0) return 0;
    if (platform_count > 16) platform_count = 16;
    for (uint32_t p = 0; p < platform_count; p++) {
        if (x->cl.clGetDeviceIDs(platforms[p], TS__OX_DEVICE_TYPE_ALL,
                                 TS__OX_DEVICES, devices, &found) != 0)
            continue;
        for (uint32_t i = 0; i < found && count < TS__OX_DEVICES; i++) {
            ts__ox_device *const d = &all[count++];
            memset(d, 0, sizeof *d);
            d->platform = platforms[p];
            d->device = devices[i];
            if (x->cl.clGetDeviceInfo(devices[i], TS__OX_DEVICE_NAME,
                                      sizeof d->name - 1, d->name, NULL) != 0)
                d->name[0] = 0;
        }
    }
    return count;
}

// Chooses a device for a recorded one: the one the user requests, else an
// unused one with the same name, else any with that name, else the only device.
// Returns `count` if none fits.
static uint32_t ts__ox_choose(const ts__ox *x, const ts__ox_device *all,
                              uint32_t count, const char *recorded)
{
    const char *const requested = getenv("TRACESMITH_OPENCL_DEVICE");
    uint32_t best = count;
    for (uint32_t i = 0; i < count; i++) {
        const bool fits = requested && *requested
                              ? strstr(all[i].name, requested) != NULL
                              : recorded && !strcmp(all[i].name, recorded);
        bool taken = false;
        for (uint32_t k = 0; k < x->device_count; k++)
            taken = taken || x->devices[k] == all[i].device;
        if (fits && (best == count || !taken)) best = i;
        if (fits && !taken) break;
    }
    if (best == count && count == 1 && !(requested && *requested)) best = 0;
    return best;
}

static void ts__ox_list_devices(const ts__ox_device *all, uint32_t count,
                                const char *recorded, char *why, size_t room)
{
    const char *const requested = getenv("TRACESMITH_OPENCL_DEVICE");
    int at = snprintf(why, room, "this machine has no OpenCL device '%s'",
                      requested && *requested ? requested
                      : recorded              ? recorded
                                              : "");
    for (uint32_t i = 0; i < count && at > 0 && (size_t)at < room; i++)
        at += snprintf(why + at, room - (size_t)at, "%s '%s'",
                       i ? "," : ", but", all[i].name);
    if (count && at > 0 && (size_t)at < room)
        snprintf(why + at, room - (size_t)at,
                 "; TRACESMITH_OPENCL_DEVICE=NAME chooses one");
}

static void ts__ox_bound(ts__ox *x, ts__ox_handle device)
{
    uint64_t size = 0;
    if (x->cl.clGetDeviceInfo(device, TS__OX_DEVICE_GLOBAL_MEM_SIZE,
                              sizeof size, &size, NULL) == 0 &&
        size && size < x->most)
        x->most = size;
}

// Opens the devices of a replay, in the order of the trace.
static bool ts__ox_devices(ts__ox *x, uint32_t device_count,
                           const ts_executor_range *ranges, size_t count,
                           char *why, size_t room)
{
    ts__ox_device all[TS__OX_DEVICES];
    const uint32_t there = ts__ox_all_devices(x, all);
    ts__ox_handle platform = NULL;
    x->most = UINT64_MAX;
    for (uint32_t i = 0; i < device_count; i++) {
        const char *recorded = NULL;
        for (size_t k = 0; k < count && !recorded; k++)
            if (ranges[k].device == i) recorded = ranges[k].name;
        const uint32_t at = ts__ox_choose(x, all, there, recorded);
        if (at == there) {
            ts__ox_list_devices(all, there, recorded, why, room);
            return false;
        }
        if (platform && platform != all[at].platform) {
            snprintf(why, room,
                     "its devices belong to several platforms on this machine, "
                     "which cannot share memory");
            return false;
        }
        platform = x->platform = all[at].platform;
        x->devices[x->device_count++] = all[at].device;
        ts__ox_bound(x, all[at].device);
    }
    return true;
}

static bool ts__ox_make_context(ts__ox *x, char *why, size_t room)
{
    ts__ox_handle devices[TS__OX_DEVICES];
    uint32_t count = 0;
    int32_t error = 0;
    for (uint32_t i = 0; i < x->device_count; i++) {
        uint32_t k = 0;
        while (k < count && devices[k] != x->devices[i])
            k++;
        if (k == count) devices[count++] = x->devices[i];
    }
    x->context =
        x->cl.clCreateContext(NULL, count, devices, NULL, NULL, &error);
    if (!x->context)
        snprintf(why, room, "OpenCL cannot create a context (error %d)",
                 (int)error);
    return x->context != NULL;
}

static void ts__ox_release_thing(const ts__ox *x, const ts__ox_thing *thing)
{
    switch (thing->kind) {
    case TS__OX_MEMORY: x->cl.clReleaseMemObject(thing->handle); break;
    case TS__OX_SAMPLER: x->cl.clReleaseSampler(thing->handle); break;
    case TS__OX_KERNEL: x->cl.clReleaseKernel(thing->handle); break;
    }
}

static void ts__ox_release_things(ts__ox *x)
{
    const ts__ox_thing *const things = x->things.items;
    for (size_t i = x->things.count; i-- > 0;)
        ts__ox_release_thing(x, &things[i]);
    x->things.count = 0;
    x->bytes -= x->staged;
    x->staged = 0;
}

static void ts__ox_hash_close(const ts__ox *x)
{
    const ts__ox_hasher *const h = &x->hasher;
    if (h->queue) x->cl.clReleaseCommandQueue(h->queue);
    if (h->hashes) x->cl.clReleaseMemObject(h->hashes);
    if (h->kernel) x->cl.clReleaseKernel(h->kernel);
}

static void ts__ox_release_all(ts__ox *x)
{
    const ts__ox_queue *const queues = x->queues.items;
    const ts__ox_kernel *const kernels = x->kernels.items;
    const ts__ox_block *const blocks = x->blocks.items;
    const ts__ox_handle *const modules = x->modules.items;
    const ts__ox_handle *const events = x->events.items;
    const ts__ox_graph *const graphs = x->graph_list.items;
    for (size_t i = 0; i < x->graph_list.count; i++)
        x->graphs.clReleaseCommandBufferKHR(graphs[i].graph);
    ts__ox_hash_close(x);
    ts__ox_release_things(x);
    for (size_t i = 0; i < x->events.count; i++)
        if (events[i]) x->cl.clReleaseEvent(events[i]);
    for (size_t i = 0; i < x->queues.count; i++) {
        if (queues[i].last) x->cl.clReleaseEvent(queues[i].last);
        x->cl.clReleaseCommandQueue(queues[i].queue);
    }
    for (size_t i = 0; i < x->kernels.count; i++)
        x->cl.clReleaseKernel(kernels[i].kernel);
    for (size_t i = 0; i < x->modules.count; i++)
        x->cl.clReleaseProgram(modules[i]);
    for (size_t i = 0; i < x->blocks.count; i++)
        x->cl.clReleaseMemObject(blocks[i].buffer);
    if (x->context) x->cl.clReleaseContext(x->context);
}

static void ts__ox_close(void *state)
{
    ts__ox *const x = state;
    if (!x) return;
    if (x->context) ts__ox_release_all(x);
    free(x->blocks.items);
    free(x->kernels.items);
    free(x->queues.items);
    free(x->things.items);
    free(x->modules.items);
    free(x->events.items);
    free(x->graph_list.items);
    free(x->points.items);
    free(x->fetches.items);
    // The library is not unloaded, because drivers have threads and exit
    // handlers.
    free(x);
}

static ts_result ts__ox_open(void **state, uint32_t device_count,
                             const ts_executor_range *ranges, size_t count,
                             char *why, size_t room)
{
    *state = NULL;
    if (device_count > TS__OX_DEVICES) return TS_ERR_UNSUPPORTED;
    ts__ox *const x = calloc(1, sizeof *x);
    if (!x) return TS_ERR_MEMORY;
    if (ts__ox_load_library(x, why, room) &&
        ts__ox_devices(x, device_count, ranges, count, why, room) &&
        ts__ox_make_context(x, why, room)) {
        *state = x;
        return TS_OK;
    }
    ts__ox_close(x);
    return TS_ERR_UNSUPPORTED;
}

#endif // TS__OPENCL_EXEC_DEVICES_H
