/*
    cuda/exec_memory.h - the driver, and memory at its recorded addresses

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Windows around the recorded addresses are reserved as soon as the driver has
    started, before it places memory of its own.
*/
#ifndef TS__CUDA_EXEC_MEMORY_H
#define TS__CUDA_EXEC_MEMORY_H

#include "tracesmith_replay.h"
#include "../gpu/cuda_abi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ==== 1. The driver ====================================================== */

// Columns: name here, CUDA's name, HIP's name (NULL: none, never called),
// parameters. Source of HIP's: hip/hip_runtime_api.h of HIP 6.2.
#define TS__CX_CALLS(X) \
    X(init, "cuInit", "hipInit", (unsigned)) \
    X(device_count, "cuDeviceGetCount", "hipGetDeviceCount", (int *)) \
    X(device, "cuDeviceGet", NULL, (int *, int)) \
    X(context, "cuDevicePrimaryCtxRetain", NULL, (void **, int)) \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", NULL, (int)) \
    X(context_set, "cuCtxSetCurrent", NULL, (void *)) \
    X(device_set, NULL, "hipSetDevice", (int)) \
    X(granularity, "cuMemGetAllocationGranularity", \
      "hipMemGetAllocationGranularity", \
      (size_t *, const ts__cuda_memory *, int)) \
    X(reserve, "cuMemAddressReserve", "hipMemAddressReserve", \
      (uint64_t *, size_t, size_t, uint64_t, unsigned long long)) \
    X(unreserve, "cuMemAddressFree", "hipMemAddressFree", (uint64_t, size_t)) \
    X(create, "cuMemCreate", "hipMemCreate", \
      (uint64_t *, size_t, const ts__cuda_memory *, unsigned long long)) \
    X(destroy, "cuMemRelease", "hipMemRelease", (uint64_t)) \
    X(map, "cuMemMap", "hipMemMap", \
      (uint64_t, size_t, size_t, uint64_t, unsigned long long)) \
    X(unmap, "cuMemUnmap", "hipMemUnmap", (uint64_t, size_t)) \
    X(access, "cuMemSetAccess", "hipMemSetAccess", \
      (uint64_t, size_t, const ts__cuda_access *, size_t)) \
    X(alloc, "cuMemAlloc_v2", "hipMalloc", (uint64_t *, size_t)) \
    X(free, "cuMemFree_v2", "hipFree", (uint64_t)) \
    X(write, "cuMemcpyHtoD_v2", "hipMemcpyHtoD", \
      (uint64_t, const void *, size_t)) \
    X(read, "cuMemcpyDtoH_v2", "hipMemcpyDtoH", (void *, uint64_t, size_t)) \
    X(load, "cuModuleLoadData", "hipModuleLoadData", (void **, const void *)) \
    X(unload, "cuModuleUnload", "hipModuleUnload", (void *)) \
    X(function, "cuModuleGetFunction", "hipModuleGetFunction", \
      (void **, void *, const char *)) \
    X(global, "cuModuleGetGlobal_v2", "hipModuleGetGlobal", \
      (uint64_t *, size_t *, void *, const char *)) \
    X(stream, "cuStreamCreateWithPriority", "hipStreamCreateWithPriority", \
      (void **, unsigned, int)) \
    X(stream_gone, "cuStreamDestroy_v2", "hipStreamDestroy", (void *)) \
    X(query, "cuStreamQuery", "hipStreamQuery", (void *)) \
    X(launch, "cuLaunchKernel", "hipModuleLaunchKernel", \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
       unsigned, void *, void **, void **)) \
    X(to_device, "cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync", \
      (uint64_t, const void *, size_t, void *)) \
    X(to_host, "cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync", \
      (void *, uint64_t, size_t, void *)) \
    X(within, "cuMemcpyDtoDAsync_v2", "hipMemcpyDtoDAsync", \
      (uint64_t, uint64_t, size_t, void *)) \
    X(set8, "cuMemsetD8Async", "hipMemsetD8Async", \
      (uint64_t, unsigned char, size_t, void *)) \
    X(set16, "cuMemsetD16Async", "hipMemsetD16Async", \
      (uint64_t, unsigned short, size_t, void *)) \
    X(set32, "cuMemsetD32Async", "hipMemsetD32Async", \
      (uint64_t, unsigned, size_t, void *)) \
    X(event, "cuEventCreate", "hipEventCreateWithFlags", (void **, unsigned)) \
    X(event_gone, "cuEventDestroy_v2", "hipEventDestroy", (void *)) \
    X(event_record, "cuEventRecord", "hipEventRecord", (void *, void *)) \
    X(event_wait, "cuStreamWaitEvent", "hipStreamWaitEvent", \
      (void *, void *, unsigned))

// Optional functions: without them, only some operations cannot run.
#define TS__CX_MORE_CALLS(X) \
    X(launch_how, "cuLaunchKernelEx", "hipDrvLaunchKernelEx", \
      (const ts__cuda_launch *, void *, void **, void **)) \
    X(attribute, "cuFuncSetAttribute", NULL, (void *, int, int)) \
    X(box, "cuMemcpy3DAsync_v2", NULL, (const ts__cuda_box *, void *)) \
    X(peer, "cuMemcpyPeerAsync", NULL, \
      (uint64_t, void *, uint64_t, void *, size_t, void *)) \
    X(launch_cooperative, NULL, "hipModuleLaunchCooperativeKernel", \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
       unsigned, void *, void **)) \
    X(rows, NULL, "hipMemcpy2DAsync", \
      (uint64_t, size_t, uint64_t, size_t, size_t, size_t, int, void *)) \
    X(texture, "cuTexObjectCreate", NULL, \
      (uint64_t *, const void *, const void *, const void *)) \
    X(texture_gone, "cuTexObjectDestroy", NULL, (uint64_t)) \
    X(tiled, "cuTensorMapEncodeTiled", NULL, \
      (void *, uint32_t, uint32_t, void *, const uint64_t *, const uint64_t *, \
       const uint32_t *, const uint32_t *, uint32_t, uint32_t, uint32_t, \
       uint32_t)) \
    X(columns, "cuTensorMapEncodeIm2col", NULL, \
      (void *, uint32_t, uint32_t, void *, const uint64_t *, const uint64_t *, \
       const int32_t *, const int32_t *, uint32_t, uint32_t, const uint32_t *, \
       uint32_t, uint32_t, uint32_t, uint32_t)) \
    X(wide, "cuTensorMapEncodeIm2colWide", NULL, \
      (void *, uint32_t, uint32_t, void *, const uint64_t *, const uint64_t *, \
       int32_t, int32_t, uint32_t, uint32_t, const uint32_t *, uint32_t, \
       uint32_t, uint32_t, uint32_t, uint32_t)) \
    X(set8_rows, "cuMemsetD2D8Async", "hipMemsetD2D8Async", \
      (uint64_t, size_t, unsigned char, size_t, size_t, void *)) \
    X(set16_rows, "cuMemsetD2D16Async", "hipMemsetD2D16Async", \
      (uint64_t, size_t, unsigned short, size_t, size_t, void *)) \
    X(set32_rows, "cuMemsetD2D32Async", "hipMemsetD2D32Async", \
      (uint64_t, size_t, unsigned, size_t, size_t, void *)) \
    X(graph_begin, "cuStreamBeginCapture_v2", "hipStreamBeginCapture", \
      (void *, int)) \
    X(graph_end, "cuStreamEndCapture", "hipStreamEndCapture", \
      (void *, void **)) \
    X(graph_ready, "cuGraphInstantiateWithFlags", \
      "hipGraphInstantiateWithFlags", (void **, void *, unsigned long long)) \
    X(graph_launch, "cuGraphLaunch", "hipGraphLaunch", (void *, void *)) \
    X(error, "cuGetErrorName", "hipDrvGetErrorName", (int, const char **))

typedef struct ts__cx_calls {
#define TS__X(name, cuda, hip, arguments) int(*name) arguments;
    TS__CX_CALLS(TS__X)
    TS__CX_MORE_CALLS(TS__X)
#undef TS__X
} ts__cx_calls;

enum { // sizes of tables
    TS__CX_DEVICES = 64,
    TS__CX_MODULES = 4096,
    TS__CX_FUNCTIONS = 16384,
    TS__CX_STREAMS = 4096,
    TS__CX_EVENTS = 65536,
    TS__CX_TEXTURE_TRIES = 256,
    TS__CX_TRIES = 5
};
#define TS__CX_GRANULE (UINT64_C(2) << 20)

/*
    NVIDIA's driver reserves small ranges within blocks of its own, wherever it
    has these. It takes the requested address for ranges of 32 MiB and more at
    multiples of that, unless something was there when the driver started, even
    if it is gone since. Seen on an H200, driver 580.159.
*/
#define TS__CX_WINDOW (UINT64_C(32) << 20)

typedef struct ts__cx_window { // addresses that are reserved at once
    uint64_t address, size;
    bool ours;
} ts__cx_window;

typedef struct ts__cx_span { // contiguous granules that contain captured memory
    uint64_t address, size, handle;
    uint32_t device, users;
} ts__cx_span;

typedef struct ts__cx_other { // memory that is at another address than recorded
    uint64_t address, size, requested;
    uint32_t device;
} ts__cx_other;

typedef struct ts__cx_texture {
    ts__cuda_texture recorded;
    uint64_t handle; // our handle
    uint32_t device;
} ts__cx_texture;

typedef struct ts__cx_module {
    uint8_t *bytes; // with a terminating zero
    uint64_t size;
    void *loaded[TS__CX_DEVICES];
} ts__cx_module;

typedef struct ts__cx_function {
    uint64_t module;
    uint32_t device;
    void *function;
    char *name;
} ts__cx_function;

typedef struct ts__cx_stream {
    void *handle, *recorded; // recorded: the stream used while a graph is built
    uint32_t device;
} ts__cx_stream;

typedef struct ts__cx {
    bool is_hip, graph; // graph: a graph is being built
    void *library;
    ts__cx_calls call;
    uint32_t device_count;
    void *contexts[TS__CX_DEVICES];
    ts__cx_span *spans;
    size_t span_count;
    ts__cx_window *windows; // sorted, not overlapping
    size_t window_count;
    ts__cx_texture *textures;
    size_t texture_count, texture_capacity;
    ts__cx_other *others;
    size_t other_count, other_capacity;
    ts__cx_module *modules;
    size_t module_count;
    ts__cx_function *functions;
    size_t function_count;
    ts__cx_stream *streams;
    size_t stream_count;
    void **events;
    size_t event_count;
    ts_reason reason;
    int failed; // the error after which the device is unusable
} ts__cx;

static bool ts__cx_symbol(ts__cx *x, const char *name, void *to, bool needed,
                          char *why, size_t room)
{
    void *const symbol = name ? dlsym(x->library, name) : NULL;
    memcpy(to, &symbol, sizeof symbol);
    if (symbol || !needed) return true;
    snprintf(why, room, "this driver has no %s", name);
    return false;
}

static bool ts__cx_load(ts__cx *x, char *why, size_t room)
{
    static const char *const names[2][3] = {
        { "libcuda.so.1", "libcuda.so", NULL },
        { "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so" },
    };
    const char *symbol;
    for (int i = 0; i < 3 && !x->library && names[x->is_hip][i]; i++)
        x->library = dlopen(names[x->is_hip][i], RTLD_NOW | RTLD_LOCAL);
    if (!x->library) {
        snprintf(why, room,
                 x->is_hip ? "libamdhip64.so is not there: no driver of AMD's "
                             "is installed"
                           : "libcuda.so.1 is not there: no driver of NVIDIA's "
                             "is installed");
        return false;
    }
#define TS__X(name, cuda, hip, arguments) \
    symbol = x->is_hip ? hip : cuda; \
    if (!ts__cx_symbol(x, symbol, &x->call.name, symbol != NULL, why, room)) \
        return false;
    TS__CX_CALLS(TS__X)
#undef TS__X
#define TS__X(name, cuda, hip, arguments) \
    ts__cx_symbol(x, x->is_hip ? hip : cuda, &x->call.name, false, why, room);
    TS__CX_MORE_CALLS(TS__X)
#undef TS__X
    return true;
}

static const char *ts__cx_error(const ts__cx *x, int error)
{
    const char *name = NULL;
    if (x->call.error && x->call.error(error, &name) != 0) name = NULL;
    return name ? name : "an error";
}

// Converts a driver's error to a result. After a kernel accessed an invalid
// address, exceeded a display device's time limit or failed an assertion,
// nothing works on the device any more.
static ts_result ts__cx_result(ts__cx *x, int error)
{
    x->reason = TS_REASON_NONE;
    if (error == TS__CUDA_OK) return TS_OK;
    if (error == TS__CUDA_NO_MEMORY) return TS_ERR_MEMORY;
    const bool astray = error == 700 || error == 702 || error == 710 ||
                        (error >= 714 && error <= 719);
    if (astray) x->failed = error;
    x->reason = astray ? TS_REASON_ESCAPE : TS_REASON_DEVICE_FAILED;
    return TS_ERR_IO;
}

static ts_reason ts__cx_reason(void *state)
{
    return ((const ts__cx *)state)->reason;
}

// Makes a device the current one. HIP has only primary contexts.
static int ts__cx_use(const ts__cx *x, uint32_t device)
{
    if (device >= x->device_count) device = 0;
    return x->is_hip ? x->call.device_set((int)device)
                     : x->call.context_set(x->contexts[device]);
}

/* ==== 2. Addresses ======================================================= */

// Computes the granules that the ranges touch; ranges are sorted by device and
// address. Adjacent spans are not merged, so that memory is present only while
// it is used.
static bool ts__cx_spans(ts__cx *x, const ts_executor_range *ranges,
                         size_t count)
{
    x->spans = calloc(count + 1, sizeof *x->spans);
    for (size_t i = 0; x->spans && i < count; i++) {
        const uint64_t from = ranges[i].address & ~(TS__CX_GRANULE - 1);
        const uint64_t end = ranges[i].address + ranges[i].size;
        const uint64_t to = (end + TS__CX_GRANULE - 1) & ~(TS__CX_GRANULE - 1);
        ts__cx_span *const last =
            x->span_count ? &x->spans[x->span_count - 1] : NULL;
        // The range ends at the top of the address space.
        if (to <= from) continue;
        if (last && last->device == ranges[i].device &&
            from < last->address + last->size) {
            if (to > last->address + last->size)
                last->size = to - last->address;
            continue;
        }
        ts__cx_span *const s = &x->spans[x->span_count++];
        s->address = from;
        s->size = to - from;
        s->device = ranges[i].device;
    }
    return x->spans != NULL;
}

static int ts__cx_by_address(const void *left, const void *right)
{
    const ts__cx_window *const a = left, *const b = right;
    return (a->address > b->address) - (a->address < b->address);
}

// Computes the windows around all spans; those that overlap become one.
static bool ts__cx_windows(ts__cx *x)
{
    const uint64_t mask = TS__CX_WINDOW - 1;
    ts__cx_window *const all = calloc(x->span_count + 1, sizeof *all);
    size_t count = 0;
    x->windows = all;
    if (!all) return false;
    for (size_t i = 0; i < x->span_count; i++) {
        const ts__cx_span *const s = &x->spans[i];
        const uint64_t from = s->address & ~mask;
        all[i].address = from;
        all[i].size = (s->address + s->size - from + mask) & ~mask;
    }
    if (x->span_count)
        qsort(all, x->span_count, sizeof *all, ts__cx_by_address);
    for (size_t i = 0; i < x->span_count; i++) {
        ts__cx_window *const last = count ? &all[count - 1] : NULL;
        const uint64_t end = all[i].address + all[i].size;
        if (!last || all[i].address >= last->address + last->size)
            all[count++] = all[i];
        else if (end > last->address + last->size)
            last->size = end - last->address;
    }
    x->window_count = count;
    return true;
}

// The address is only a hint to the driver. Other ranges that it returns are
// held until the next try is done, so that it does not return them again.
static void ts__cx_reserve(ts__cx *x, ts__cx_window *w)
{
    uint64_t instead[TS__CX_TRIES];
    size_t count = 0;
    while (!w->ours && count < TS__CX_TRIES) {
        uint64_t got = 0;
        if (x->call.reserve(&got, w->size, 0, w->address, 0) != 0) break;
        w->ours = got == w->address;
        if (!w->ours) instead[count++] = got;
    }
    while (count)
        x->call.unreserve(instead[--count], w->size);
}

static void ts__cx_unreserve(ts__cx *x)
{
    for (size_t i = 0; i < x->window_count; i++) {
        ts__cx_window *const w = &x->windows[i];
        if (w->ours) x->call.unreserve(w->address, w->size);
        w->ours = false;
    }
}

// Returns whether all addresses of a span are reserved.
static bool ts__cx_is_reserved(const ts__cx *x, const ts__cx_span *s)
{
    for (size_t i = 0; i < x->window_count; i++) {
        const ts__cx_window *const w = &x->windows[i];
        if (s->address - w->address < w->size)
            return w->ours && s->size <= w->address + w->size - s->address;
    }
    return false;
}

static ts__cuda_memory ts__cx_memory(const ts__cx *x, uint32_t device)
{
    ts__cuda_memory memory;
    (void)x;
    memset(&memory, 0, sizeof memory);
    memory.type = 1;
    memory.place.type = 1;
    memory.place.id = (int32_t)device;
    return memory;
}

static ts_result ts__cx_devices(ts__cx *x, uint32_t requested, char *why,
                                size_t room)
{
    int count = 0, error = x->call.init(0);
    for (size_t i = 0; !error && i < x->window_count; i++)
        ts__cx_reserve(x, &x->windows[i]);
    if (!error) error = x->call.device_count(&count);
    if (error || !count) {
        snprintf(why, room, "the driver finds no device: %s",
                 ts__cx_error(x, error ? error : TS__CUDA_NO_DEVICE));
        return TS_ERR_UNSUPPORTED;
    }
    if (requested > (uint32_t)count || requested > TS__CX_DEVICES) {
        snprintf(why, room,
                 "the trace uses %u devices, but this machine has "
                 "%d",
                 (unsigned)requested, count);
        return TS_ERR_UNSUPPORTED;
    }
    for (uint32_t i = 0; i < requested && !error; i++) {
        int device = 0;
        if (!x->is_hip) error = x->call.device(&device, (int)i);
        if (!x->is_hip && !error)
            error = x->call.context(&x->contexts[i], device);
        if (!error) x->device_count++;
    }
    if (!error) error = ts__cx_use(x, 0);
    if (error)
        snprintf(why, room, "a device cannot be opened: %s",
                 ts__cx_error(x, error));
    return error ? TS_ERR_UNSUPPORTED : TS_OK;
}

static void ts__cx_unmap(ts__cx *x, ts__cx_span *s)
{
    if (!s->handle) return;
    x->call.unmap(s->address, s->size);
    x->call.destroy(s->handle);
    s->handle = 0;
}

static ts__cx_span *ts__cx_span_of(ts__cx *x, uint64_t address)
{
    for (size_t i = 0; i < x->span_count; i++)
        if (address - x->spans[i].address < x->spans[i].size)
            return &x->spans[i];
    return NULL;
}

static ts_result ts__cx_map(ts__cx *x, ts__cx_span *s)
{
    const ts__cuda_memory memory = ts__cx_memory(x, s->device);
    ts__cuda_access access = { { 1, (int32_t)s->device }, 3 };
    int error = x->call.create(&s->handle, s->size, &memory, 0);
    if (error) {
        s->handle = 0;
        return ts__cx_result(x, error);
    }
    error = x->call.map(s->address, s->size, 0, s->handle, 0);
    if (!error) {
        error = x->call.access(s->address, s->size, &access, 1);
        for (uint32_t i = 0; !error && i < x->device_count; i++) {
            access.place.id = (int32_t)i; // peer devices, if they have access
            if (i != s->device) x->call.access(s->address, s->size, &access, 1);
        }
        if (error) x->call.unmap(s->address, s->size);
    }
    if (error) x->call.destroy(s->handle);
    if (error) s->handle = 0;
    return ts__cx_result(x, error);
}

static ts_result ts__cx_elsewhere(ts__cx *x, uint32_t device, uint64_t *address,
                                  uint64_t size)
{
    if (x->other_count == x->other_capacity) {
        const size_t capacity = x->other_capacity * 2 + 16;
        ts__cx_other *const more = realloc(x->others, capacity * sizeof *more);
        if (!more) return TS_ERR_MEMORY;
        x->others = more;
        x->other_capacity = capacity;
    }
    const uint64_t requested = *address;
    ts__cx_use(x, device);
    const int error = x->call.alloc(address, size);
    if (error) return ts__cx_result(x, error);
    x->others[x->other_count++] =
        (ts__cx_other){ *address, size, requested, device };
    return TS_OK;
}

static ts_result ts__cx_allocate(void *state, uint32_t device,
                                 uint64_t *address, uint64_t size)
{
    ts__cx *const x = state;
    ts__cx_span *const s = ts__cx_span_of(x, *address);
    x->reason = TS_REASON_NONE;
    if (s && ts__cx_is_reserved(x, s) && s->device == device &&
        size <= s->address + s->size - *address) {
        if (s->users || ts__cx_map(x, s) == TS_OK) {
            s->users++;
            return TS_OK;
        }
        if (x->failed) return TS_ERR_IO;
    }
    return ts__cx_elsewhere(x, device, address, size);
}

static ts_result ts__cx_release(void *state, uint64_t address)
{
    ts__cx *const x = state;
    for (size_t i = 0; i < x->other_count; i++) {
        if (x->others[i].address != address) continue;
        x->others[i] = x->others[--x->other_count];
        return ts__cx_result(x, x->call.free(address));
    }
    ts__cx_span *const s = ts__cx_span_of(x, address);
    if (!s || !s->users) return TS_ERR_USAGE;
    if (--s->users == 0) ts__cx_unmap(x, s);
    return TS_OK;
}

static void ts__cx_close(void *state)
{
    ts__cx *const x = state;
    if (!x) return; // a device that did not open has nothing but its tables
    for (size_t i = 0; i < x->span_count; i++)
        ts__cx_unmap(x, &x->spans[i]);
    ts__cx_unreserve(x);
    for (size_t i = 0; i < x->texture_count; i++) {
        ts__cx_use(x, x->textures[i].device);
        x->call.texture_gone(x->textures[i].handle);
    }
    for (size_t i = 0; i < x->other_count; i++)
        x->call.free(x->others[i].address);
    for (size_t i = 0; i < x->module_count; i++) {
        for (uint32_t d = 0; d < x->device_count; d++)
            if (x->modules[i].loaded[d])
                x->call.unload(x->modules[i].loaded[d]);
        free(x->modules[i].bytes);
    }
    for (size_t i = 0; i < x->function_count; i++)
        free(x->functions[i].name);
    for (size_t i = 0; i < x->event_count; i++)
        x->call.event_gone(x->events[i]);
    for (size_t i = 0; i < x->stream_count; i++) {
        ts__cx_use(x, x->streams[i].device);
        // Otherwise it may be busy for ever.
        if (!x->call.query(x->streams[i].recorded))
            x->call.stream_gone(x->streams[i].recorded);
    }
    for (uint32_t i = 0; !x->is_hip && i < x->device_count; i++)
        x->call.context_release((int)i);
    free(x->spans);
    free(x->windows);
    free(x->others);
    free(x->textures);
    free(x->modules);
    free(x->functions);
    free(x->streams);
    free(x->events);
    free(x); // the library is not unloaded, because drivers do not support that
}

static ts_result ts__cx_open(void **state, bool is_hip, uint32_t device_count,
                             const ts_executor_range *ranges, size_t count,
                             char *why, size_t room)
{
    ts__cx *const x = calloc(1, sizeof *x);
    size_t granule = 0;
    *state = NULL;
    if (!x) return TS_ERR_MEMORY;
    x->is_hip = is_hip;
    ts_result result = TS_ERR_UNSUPPORTED;
    if (ts__cx_load(x, why, room)) {
        const bool enough =
            ts__cx_spans(x, ranges, count) && ts__cx_windows(x) &&
            (x->modules = calloc(TS__CX_MODULES, sizeof *x->modules)) &&
            (x->functions = calloc(TS__CX_FUNCTIONS, sizeof *x->functions)) &&
            (x->streams = calloc(TS__CX_STREAMS, sizeof *x->streams)) &&
            (x->events = calloc(TS__CX_EVENTS, sizeof *x->events));
        result =
            enough ? ts__cx_devices(x, device_count, why, room) : TS_ERR_MEMORY;
    }
    if (result != TS_OK) {
        ts__cx_close(x);
        return result;
    }
    const ts__cuda_memory memory = ts__cx_memory(x, 0);
    x->call.granularity(&granule, &memory, 0);
    // Then no memory can be mapped at some of the addresses.
    if (!granule || TS__CX_GRANULE % granule) ts__cx_unreserve(x);
    *state = x;
    return TS_OK;
}

static ts_result ts__cx_open_cuda(void **state, uint32_t device_count,
                                  const ts_executor_range *ranges, size_t count,
                                  char *why, size_t room)
{
    return ts__cx_open(state, false, device_count, ranges, count, why, room);
}

static ts_result ts__cx_open_hip(void **state, uint32_t device_count,
                                 const ts_executor_range *ranges, size_t count,
                                 char *why, size_t room)
{
    return ts__cx_open(state, true, device_count, ranges, count, why, room);
}

#endif // TS__CUDA_EXEC_MEMORY_H
