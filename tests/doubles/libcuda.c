/*
    libcuda.c - a double of CUDA's driver, for the dry run of tests/gpu/run.sh

    What tests/gpu/cuda_work.c calls. Nothing is computed; the double of CUPTI
    is told, if it is in the process. cuInit loads what CUDA_INJECTION64_PATH
    names.
*/
#define _GNU_SOURCE
#include "cupti_double.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DRIVER(name, ...) \
    __attribute__((visibility("default"))) int name(__VA_ARGS__); \
    int name(__VA_ARGS__)

static double_run_function run;
static uint32_t objects, nodes, capturing;

static void *symbol(const char *library, int how, const char *name)
{
    void *const handle = dlopen(library, how);
    return handle ? dlsym(handle, name) : NULL;
}

static int tell(double_what what, void *stream, uint64_t bytes)
{
    const double_op op = { .what = what,
                           .stream = (uint32_t)(uintptr_t)stream,
                           .bytes = bytes,
                           .event = 1,
                           .ns = 500,
                           .name = "add" };
    if (!run) { // in the process since, perhaps
        void *const found =
            symbol("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD, "double_run");
        memcpy(&run, &found, sizeof run);
    }
    if (run) run(&op);
    return 0;
}

static int make(void **object)
{
    *object = (void *)(uintptr_t)++objects;
    return 0;
}

DRIVER(cuInit, unsigned flags)
{
    const char *const path = getenv("CUDA_INJECTION64_PATH");
    void *const found =
        path ? symbol(path, RTLD_NOW, "InitializeInjection") : NULL;
    int (*function)(void);
    memcpy(&function, &found, sizeof function);
    if (found) function();
    return (int)flags;
}

DRIVER(cuDeviceGet, int *device, int number)
{
    *device = number;
    return 0;
}

DRIVER(cuDeviceGetName, char *name, int size, int device)
{
    snprintf(name, (size_t)size, "a double, not a GPU (%d)", device);
    return 0;
}

DRIVER(cuDevicePrimaryCtxRetain, void **context, int device)
{
    *context = NULL;
    return device;
}

DRIVER(cuCtxSetCurrent, void *context)
{
    return context != NULL;
}

DRIVER(cuCtxSynchronize, void)
{
    return tell(DOUBLE_DEVICE_SYNC, NULL, 0);
}

DRIVER(cuModuleLoadData, void **module, const void *image)
{
    return image ? make(module) : 1;
}

DRIVER(cuModuleGetFunction, void **function, void *module, const char *name)
{
    return module && name ? make(function) : 1;
}

DRIVER(cuMemAlloc_v2, uint64_t *address, size_t size)
{
    *address = 4096;
    return tell(DOUBLE_MALLOC, NULL, size);
}

DRIVER(cuMemFree_v2, uint64_t address)
{
    return tell(DOUBLE_FREE, NULL, address);
}

DRIVER(cuMemcpyHtoDAsync_v2, uint64_t to, const void *from, size_t size,
       void *stream)
{
    return to && from ? tell(DOUBLE_COPY, stream, size) : 1;
}

DRIVER(cuMemcpyDtoHAsync_v2, void *to, uint64_t from, size_t size, void *stream)
{
    return to && from ? tell(DOUBLE_COPY, stream, size) : 1;
}

DRIVER(cuMemsetD32Async, uint64_t to, unsigned value, size_t count,
       void *stream)
{
    return to && value ? tell(DOUBLE_SET, stream, count * 4) : 1;
}

DRIVER(cuLaunchKernel, void *function, unsigned gx, unsigned gy, unsigned gz,
       unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
       void **arguments, void **more)
{
    (void)arguments;
    (void)more;
    if (!function || !(gx && gy && gz && bx && by && bz) || shared) return 1;
    if (capturing) nodes++;
    return capturing ? 0 : tell(DOUBLE_DRIVER_LAUNCH, stream, 0);
}

DRIVER(cuStreamCreate, void **stream, unsigned flags)
{
    static uintptr_t streams;
    (void)flags;
    *stream = (void *)++streams;
    return 0;
}

DRIVER(cuStreamSynchronize, void *stream)
{
    usleep(20); // until all that was launched is over
    return tell(DOUBLE_STREAM_SYNC, stream, 0);
}

DRIVER(cuStreamWaitEvent, void *stream, void *event, unsigned flags)
{
    return event ? tell(DOUBLE_STREAM_WAIT, stream, flags) : 1;
}

DRIVER(cuEventCreate, void **event, unsigned flags)
{
    (void)flags;
    return make(event);
}

DRIVER(cuEventRecord, void *event, void *stream)
{
    return event ? tell(DOUBLE_EVENT_RECORD, stream, 0) : 1;
}

DRIVER(cuEventSynchronize, void *event)
{
    return event ? tell(DOUBLE_EVENT_SYNC, NULL, 0) : 1;
}

DRIVER(cuStreamBeginCapture_v2, void *stream, int mode)
{
    capturing = stream && !mode;
    return 0;
}

DRIVER(cuStreamEndCapture, void *stream, void **graph)
{
    capturing = 0;
    return stream ? make(graph) : 1;
}

DRIVER(cuGraphInstantiateWithFlags, void **ready, void *graph,
       unsigned long long flags)
{
    return graph && !flags ? make(ready) : 1;
}

DRIVER(cuGraphLaunch, void *ready, void *stream)
{
    for (uint32_t i = 0; ready && i < nodes; i++)
        tell(DOUBLE_GRAPH, stream, 0);
    return 0;
}
