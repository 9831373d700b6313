/*
    cuda_work.c - a program that knows what it does on a GPU

    By the driver found at run time and kernels as PTX text, so that it builds
    anywhere.

    cuda_work                 one of everything, some times; prints what it did
                              as lines "KIND COUNT", and checks the results
    cuda_work rate COUNT      tiny kernels; prints launches per second
    cuda_work probe           prints the device's name; 77: there is none

    With -DZONES it is linked with TraceSmith and records itself, each step in
    a zone that waits for it: cuda_work TRACE.
*/
#define _GNU_SOURCE
#ifdef ZONES
#define TRACESMITH_IMPLEMENTATION
#define TRACESMITH_CUPTI
#include "tracesmith.h"

#include "backends/ts_cupti.h"
#else
#define TS_ZONE(name) ((void)0)
#endif
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NO_GPU = 77, COUNT = 1 << 16, STEPS = 50, NODES = 20, LAUNCHES = 30 };

static const char ptx[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry nothing()\n{\n    ret;\n}\n"
    ".visible .entry add(.param .u64 add_p, .param .u32 add_v)\n"
    "{\n"
    "    .reg .u32 %r<6>;\n    .reg .u64 %rd<4>;\n"
    "    ld.param.u64 %rd1, [add_p];\n    ld.param.u32 %r1, [add_v];\n"
    "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n"
    "    mov.u32 %r4, %tid.x;\n    mad.lo.u32 %r4, %r2, %r3, %r4;\n"
    "    cvta.to.global.u64 %rd1, %rd1;\n"
    "    mul.wide.u32 %rd2, %r4, 4;\n    add.u64 %rd3, %rd1, %rd2;\n"
    "    ld.global.u32 %r5, [%rd3];\n    add.u32 %r5, %r5, %r1;\n"
    "    st.global.u32 [%rd3], %r5;\n    ret;\n}\n";

/* ---- The driver --------------------------------------------------------- */

#define CALLS(X) \
    X(cuInit, (unsigned flags)) \
    X(cuDeviceGet, (int *device, int number)) \
    X(cuDeviceGetName, (char *name, int size, int device)) \
    X(cuDevicePrimaryCtxRetain, (void **context, int device)) \
    X(cuCtxSetCurrent, (void *context)) \
    X(cuCtxSynchronize, (void)) \
    X(cuModuleLoadData, (void **module, const void *image)) \
    X(cuModuleGetFunction, (void **function, void *module, const char *name)) \
    X(cuMemAlloc_v2, (uint64_t * address, size_t size)) \
    X(cuMemFree_v2, (uint64_t address)) \
    X(cuMemcpyHtoDAsync_v2, \
      (uint64_t to, const void *from, size_t size, void *stream)) \
    X(cuMemcpyDtoHAsync_v2, \
      (void *to, uint64_t from, size_t size, void *stream)) \
    X(cuMemsetD32Async, \
      (uint64_t to, unsigned value, size_t count, void *stream)) \
    X(cuLaunchKernel, (void *function, unsigned gx, unsigned gy, unsigned gz, \
                       unsigned bx, unsigned by, unsigned bz, unsigned shared, \
                       void *stream, void **arguments, void **more)) \
    X(cuStreamCreate, (void **stream, unsigned flags)) \
    X(cuStreamSynchronize, (void *stream)) \
    X(cuStreamWaitEvent, (void *stream, void *event, unsigned flags)) \
    X(cuEventCreate, (void **event, unsigned flags)) \
    X(cuEventRecord, (void *event, void *stream)) \
    X(cuEventSynchronize, (void *event)) \
    X(cuStreamBeginCapture_v2, (void *stream, int mode)) \
    X(cuStreamEndCapture, (void *stream, void **graph)) \
    X(cuGraphInstantiateWithFlags, \
      (void **executable, void *graph, unsigned long long flags)) \
    X(cuGraphLaunch, (void *executable, void *stream))

#include "tests/gpu/cuda_driver.h"

/* ---- Work --------------------------------------------------------------- */

enum {
    KERNEL,
    MEMCPY,
    MEMSET,
    RECORD,
    WAIT,
    STREAM,
    DEVICE,
    EVENT,
    ALLOC,
    FREE
};
static const char *const kinds[] = {
    "kernel",      "memcpy",      "memset",     "event_record", "event_wait",
    "stream_sync", "device_sync", "event_sync", "gpu_alloc",    "gpu_free"
};
static unsigned done[10];
static void *streams[2], *event, *nothing, *add;
static uint64_t memory;
static uint32_t host[COUNT];

static void launch(void *stream, uint32_t value)
{
    void *arguments[] = { &memory, &value };
    NEED(cuLaunchKernel(add, COUNT / 256, 1, 1, 256, 1, 1, 0, stream, arguments,
                        NULL));
}

static void step(int i)
{
    void *const stream = streams[i % 2], *const other = streams[1 - i % 2];
    TS_ZONE("step");
    launch(stream, 1);
    NEED(cuEventRecord(event, stream));
    NEED(cuStreamWaitEvent(other, event, 0));
    launch(other, 2);
    NEED(cuStreamSynchronize(other));
    done[KERNEL] += 2, done[RECORD]++, done[WAIT]++, done[STREAM]++;
}

static void graph(void)
{
    void *made, *ready;
    NEED(cuStreamBeginCapture_v2(streams[0], 0));
    for (int i = 0; i < NODES; i++)
        launch(streams[0], 1);
    NEED(cuStreamEndCapture(streams[0], &made));
    NEED(cuGraphInstantiateWithFlags(&ready, made, 0));
    for (int i = 0; i < LAUNCHES; i++)
        NEED(cuGraphLaunch(ready, streams[0]));
    NEED(cuEventRecord(event, streams[0]));
    NEED(cuEventSynchronize(event));
    done[KERNEL] += NODES * LAUNCHES, done[RECORD]++, done[EVENT]++;
}

static int everything(void)
{
    NEED(cuMemAlloc_v2(&memory, sizeof host));
    NEED(cuMemsetD32Async(memory, 5, COUNT, streams[0]));
    NEED(cuStreamSynchronize(streams[0]));
    done[ALLOC]++, done[MEMSET]++, done[STREAM]++;
    for (int i = 0; i < STEPS; i++)
        step(i);
    graph();
    NEED(cuMemcpyDtoHAsync_v2(host, memory, sizeof host, streams[0]));
    NEED(cuCtxSynchronize());
    const uint32_t expected = 5 + 3 * STEPS + NODES * LAUNCHES;
    for (int i = 0; i < COUNT; i++)
        if (host[i] != expected && !getenv("TS_GPU_DRY")) {
            printf("element %d is %u, not %u\n", i, host[i], expected);
            return 1;
        }
    NEED(cuMemcpyHtoDAsync_v2(memory, host, sizeof host, streams[0]));
    NEED(cuStreamSynchronize(streams[0]));
    NEED(cuMemFree_v2(memory));
    done[MEMCPY] += 2, done[DEVICE]++, done[STREAM]++, done[FREE]++;
    for (int i = 0; i < 10; i++)
        printf("%s %u\n", kinds[i], done[i]);
    return 0;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// The best of five, after one that warms up.
static int rate(int count)
{
    double best = 0;
    for (int round = 0; round < 6; round++) {
        const double start = now();
        for (int i = 0; i < count; i++)
            NEED(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, streams[0], NULL,
                                NULL));
        NEED(cuStreamSynchronize(streams[0]));
        const double rate = count / (now() - start);
        if (round && rate > best) best = rate;
    }
    printf("%.0f\n", best);
    return 0;
}

static int run(int argc, char **argv)
{
    char name[128] = "";
    void *context, *module;
    int device;
    if (!load()) return NO_GPU;
    const int result = cuInit(0);
    if (result || cuDeviceGet(&device, 0)) {
        printf("no GPU: cuInit gives %d\n", result);
        return NO_GPU;
    }
    NEED(cuDeviceGetName(name, sizeof name, device));
    if (argc == 2 && !strcmp(argv[1], "probe")) {
        puts(name);
        return 0;
    }
    NEED(cuDevicePrimaryCtxRetain(&context, device));
    NEED(cuCtxSetCurrent(context));
    NEED(cuModuleLoadData(&module, ptx));
    NEED(cuModuleGetFunction(&nothing, module, "nothing"));
    NEED(cuModuleGetFunction(&add, module, "add"));
    for (int i = 0; i < 2; i++)
        NEED(cuStreamCreate(&streams[i], 1)); // not tied to the default one
    NEED(cuEventCreate(&event, 2));           // no times
    if (argc == 3 && !strcmp(argv[1], "rate")) return rate(atoi(argv[2]));
    return everything();
}

int main(int argc, char **argv)
{
#ifdef ZONES
    const ts_session_desc desc = { .path = argv[argc - 1] };
    if (argc != 2 || ts_session_start(&desc) != TS_OK) return 1;
    const int status = run(1, argv);
    return ts_session_stop() != TS_OK ? 1 : status;
#else
    return run(argc, argv);
#endif
}
