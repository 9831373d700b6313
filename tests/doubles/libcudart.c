/*
    libcudart.c - a double of CUDA's runtime, with the driver behind it

    What tests/checks/capture/cuda_program.c calls, and what compilers of CUDA
    make of tests/gpu/cuda_runtime.cu. Kernels are C functions that run at
    once; those that a compiler registered do nothing. Like the driver it loads
    what CUDA_INJECTION64_PATH names, at the first call, and like the runtime it
    does not know CUPTI: if the double of CUPTI is in the process, calls are
    reported to that.
*/
#define _GNU_SOURCE
#include "cupti_double.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DOUBLE_API __attribute__((visibility("default")))

static double_run_function run;

static void *symbol(const char *library, int how, const char *name)
{
    void *const handle = dlopen(library, how);
    return handle ? dlsym(handle, name) : NULL;
}

static void initialise(void)
{
    const char *const path = getenv("CUDA_INJECTION64_PATH");
    void *const injection =
        path ? symbol(path, RTLD_NOW, "InitializeInjection") : NULL;
    int (*function)(void);
    memcpy(&function, &injection, sizeof function);
    if (injection) function();
    void *const found =
        symbol("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD, "double_run");
    memcpy(&run, &found, sizeof run);
}

static void notify(const double_op *op)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialise);
    if (run) run(op);
}

DOUBLE_API int cudaMalloc(void **pointer, size_t size)
{
    const double_op op = { .what = DOUBLE_MALLOC, .bytes = size };
    *pointer = malloc(size);
    notify(&op);
    return *pointer ? 0 : 2;
}

DOUBLE_API int cudaFree(void *pointer)
{
    const double_op op = { .what = DOUBLE_FREE };
    notify(&op);
    free(pointer);
    return 0;
}

DOUBLE_API int cudaMemcpyAsync(void *to, const void *from, size_t size,
                               int kind, void *stream)
{
    const double_op op = { .what = DOUBLE_COPY,
                           .bytes = size,
                           .stream = (uint32_t)(uintptr_t)stream,
                           .ns = size };
    memcpy(to, from, size);
    notify(&op);
    return 0;
}

typedef struct dimensions {
    unsigned x, y, z;
} dimensions;

// What a compiler registered: code of a device, which is not run.
static struct kernel {
    const void *function;
    const char *name;
} kernels[16];
static unsigned kernel_count;
static const void *recorded; // stream that is recorded into the one graph
static unsigned nodes;

static int launch_registered(const struct kernel *kernel, double_what what,
                             void *stream)
{
    const bool node = recorded && recorded == stream;
    const double_op op = { .what = node ? DOUBLE_CAPTURE : what,
                           .event = node ? ++nodes : 0,
                           .name = kernel->name,
                           .stream = (uint32_t)(uintptr_t)stream,
                           .ns = 1000 };
    notify(&op);
    return 0;
}

static int launch(double_what what, const void *function, dimensions grid,
                  void **arguments, void *stream)
{
    void (*body)(void **, unsigned);
    Dl_info about;
    const char *name = "kernel";
    const struct kernel *const k = function;
    if (k >= kernels && k < kernels + kernel_count)
        return launch_registered(k, what, stream);
    memcpy(&body, &function, sizeof body);
    if (dladdr(function, &about) && about.dli_sname) name = about.dli_sname;
    for (unsigned i = 0; i < grid.x; i++)
        body(arguments, i);
    const double_op op = { .what = what,
                           .name = name,
                           .grid = grid.x,
                           .stream = (uint32_t)(uintptr_t)stream,
                           .ns = 1000 };
    notify(&op);
    return 0;
}

#define LAUNCH(name, what) \
    DOUBLE_API int name(const void *function, dimensions grid, \
                        dimensions block, void **arguments, size_t shared, \
                        void *stream) \
    { \
        (void)block; \
        (void)shared; \
        return launch(what, function, grid, arguments, stream); \
    }
LAUNCH(cudaLaunchKernel, DOUBLE_LAUNCH)
LAUNCH(__cudaLaunchKernel, DOUBLE_INNER_LAUNCH)

DOUBLE_API int cudaGetLastError(void)
{
    const double_op op = { .what = DOUBLE_GET_ERROR };
    notify(&op);
    return 0;
}

DOUBLE_API int cudaDeviceSynchronize(void)
{
    const double_op op = { .what = DOUBLE_DEVICE_SYNC, .ns = 100 };
    notify(&op);
    return 0;
}

/* ---- What compilers call ------------------------------------------------ */

DOUBLE_API void **__cudaRegisterFatBinary(void *code)
{
    static void *handle;
    handle = code;
    return &handle;
}

DOUBLE_API void __cudaRegisterFatBinaryEnd(void **handle)
{
}

DOUBLE_API void __cudaUnregisterFatBinary(void **handle)
{
}

DOUBLE_API char __cudaInitModule(void **handle)
{
    return 0;
}

DOUBLE_API void __cudaRegisterFunction(void **handle, const char *function,
                                       char *device, const char *name)
{
    if (kernel_count < 16)
        kernels[kernel_count++] = (struct kernel){ function, name };
}

DOUBLE_API int __cudaGetKernel(const void **kernel, const void *function)
{
    for (unsigned i = 0; i < kernel_count; i++)
        if (kernels[i].function == function) {
            *kernel = &kernels[i];
            return 0;
        }
    return 98;
}

static _Thread_local struct {
    dimensions grid, block;
    size_t shared;
    void *stream;
} pushed;

DOUBLE_API unsigned __cudaPushCallConfiguration(dimensions grid,
                                                dimensions block, size_t shared,
                                                void *stream)
{
    pushed.grid = grid;
    pushed.block = block;
    pushed.shared = shared;
    pushed.stream = stream;
    return 0;
}

DOUBLE_API int __cudaPopCallConfiguration(dimensions *grid, dimensions *block,
                                          size_t *shared, void **stream)
{
    *grid = pushed.grid;
    *block = pushed.block;
    *shared = pushed.shared;
    *stream = pushed.stream;
    return 0;
}

/* ---- Streams and a graph ------------------------------------------------ */

DOUBLE_API int cudaMemcpy(void *to, const void *from, size_t size, int kind)
{
    return cudaMemcpyAsync(to, from, size, kind, NULL);
}

DOUBLE_API int cudaStreamCreate(void **stream)
{
    static uintptr_t count;
    *stream = (void *)++count;
    return 0;
}

DOUBLE_API int cudaStreamSynchronize(void *stream)
{
    const double_op op = { .what = DOUBLE_STREAM_SYNC,
                           .stream = (uint32_t)(uintptr_t)stream };
    notify(&op);
    return 0;
}

DOUBLE_API int cudaStreamBeginCapture(void *stream, int mode)
{
    recorded = stream;
    return 0;
}

DOUBLE_API int cudaStreamEndCapture(void *stream, void **graph)
{
    recorded = NULL;
    *graph = &nodes;
    return 0;
}

DOUBLE_API int cudaGraphInstantiateWithFlags(void **ready, void *graph,
                                             unsigned long long flags)
{
    *ready = graph;
    return 0;
}

DOUBLE_API int cudaGraphLaunch(void *ready, void *stream)
{
    const double_op op = { .what = DOUBLE_GRAPH,
                           .event = nodes,
                           .name = "node",
                           .stream = (uint32_t)(uintptr_t)stream,
                           .ns = 1000 };
    notify(&op);
    return 0;
}
