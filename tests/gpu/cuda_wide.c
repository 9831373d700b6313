/*
    cuda_wide.c - operations that are kept and run again, of more than a plain
                  launch: two devices, clusters, memory of device and host

    By the driver found at run time and kernels as PTX text, so that it builds
    anywhere. Each part checks its own results.

    cuda_wide devices     two devices: copies between them, events, a variable
                          and a library that each has for itself, a graph
    cuda_wide clusters    blocks in clusters, and a launch that may begin early
    cuda_wide managed     memory that the host writes between launches
    cuda_wide pools       memory of a pool, which comes and goes in a stream
    Exit status 77: no GPU, or it or its driver has none of this.
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/cuda_kernels.h"

enum { NO_GPU = 77, COUNT = 1 << 17, BYTES = 4 * COUNT, BLOCK = 256 };

static const char plain[] = PTX_BEGIN PTX_ADD PTX_BIASED;

// numbers[i] += value for each block of a cluster
static const char clustered_ptx[] =
    ".version 7.8\n.target sm_90\n.address_size 64\n"
    ".visible .entry clustered(.param .u64 c_p, .param .u32 c_v)\n{\n"
    "    .reg .u32 %r<8>;\n    .reg .u64 %rd<8>;\n"
    "    ld.param.u64 %rd1, [c_p];\n    ld.param.u32 %r1, [c_v];\n"
    "    cvta.to.global.u64 %rd1, %rd1;\n"
    "    mov.u32 %r6, %cluster_nctarank;\n"
    "    mul.lo.u32 %r1, %r1, %r6;\n" PTX_INDEX
    "    add.u64 %rd1, %rd1, %rd4;\n    ld.global.u32 %r5, [%rd1];\n"
    "    add.u32 %r5, %r5, %r1;\n    st.global.u32 [%rd1], %r5;\n"
    "    ret;\n}\n";

/* ---- The driver --------------------------------------------------------- */

typedef struct attribute { // CUlaunchAttribute
    uint32_t id, pad, value[16];
} attribute;

typedef struct how { // CUlaunchConfig
    uint32_t grid[3], block[3], shared;
    void *stream;
    attribute *attributes;
    uint32_t count;
} how;

#define CALLS(X) \
    X(cuInit, (unsigned)) \
    X(cuDeviceGetCount, (int *)) \
    X(cuDevicePrimaryCtxRetain, (void **, int)) \
    X(cuCtxSetCurrent, (void *)) \
    X(cuCtxSynchronize, (void)) \
    X(cuModuleLoadData, (void **, const void *)) \
    X(cuModuleGetFunction, (void **, void *, const char *)) \
    X(cuModuleGetGlobal_v2, (uint64_t *, size_t *, void *, const char *)) \
    X(cuLibraryLoadData, (void **, const void *, void *, void **, unsigned, \
                          void *, void **, unsigned)) \
    X(cuLibraryGetKernel, (void **, void *, const char *)) \
    X(cuMemAlloc_v2, (uint64_t *, size_t)) \
    X(cuMemAllocManaged, (uint64_t *, size_t, unsigned)) \
    X(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t)) \
    X(cuMemcpyDtoH_v2, (void *, uint64_t, size_t)) \
    X(cuMemcpyPeerAsync, (uint64_t, void *, uint64_t, void *, size_t, void *)) \
    X(cuMemsetD32Async, (uint64_t, unsigned, size_t, void *)) \
    X(cuLaunchKernel, \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
       unsigned, void *, void **, void **)) \
    X(cuLaunchKernelEx, (const how *, void *, void **, void **)) \
    X(cuStreamCreate, (void **, unsigned)) \
    X(cuStreamSynchronize, (void *)) \
    X(cuStreamWaitEvent, (void *, void *, unsigned)) \
    X(cuEventCreate, (void **, unsigned)) \
    X(cuEventRecord, (void *, void *)) \
    X(cuStreamBeginCapture_v2, (void *, int)) \
    X(cuStreamEndCapture, (void *, void **)) \
    X(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long)) \
    X(cuGraphLaunch, (void *, void *))

#include "tests/gpu/cuda_driver.h"

/* ---- Parts -------------------------------------------------------------- */

typedef struct place { // a device, and what the program has there
    void *context, *module, *add, *biased, *stream, *event;
    uint64_t numbers;
} place;

static place here, there;
static uint32_t host[COUNT];

static void furnish(place *p, int device)
{
    NEED(cuDevicePrimaryCtxRetain(&p->context, device));
    NEED(cuCtxSetCurrent(p->context));
    NEED(cuModuleLoadData(&p->module, plain));
    NEED(cuModuleGetFunction(&p->add, p->module, "add"));
    NEED(cuModuleGetFunction(&p->biased, p->module, "biased"));
    NEED(cuStreamCreate(&p->stream, 1));
    NEED(cuEventCreate(&p->event, 2));
    NEED(cuMemAlloc_v2(&p->numbers, BYTES));
}

static void check(const char *what, const place *p, uint32_t expected)
{
    NEED(cuCtxSetCurrent(p->context));
    NEED(cuCtxSynchronize());
    NEED(cuMemcpyDtoH_v2(host, p->numbers, BYTES));
    for (int i = 0; i < COUNT; i++)
        if (host[i] != expected) {
            printf("%s: element %d is %u, not %u\n", what, i, host[i],
                   expected);
            exit(1);
        }
}

static void launch_add(const place *p, void *function, uint64_t numbers,
                       uint32_t value)
{
    void *arguments[] = { &numbers, &value };
    NEED(cuCtxSetCurrent(p->context));
    NEED(cuLaunchKernel(function, COUNT / BLOCK, 1, 1, BLOCK, 1, 1, 0,
                        p->stream, arguments, NULL));
}

static void launch_biased(const place *p, uint32_t bias)
{
    uint64_t variable, to = p->numbers, from = p->numbers;
    uint32_t value = 1;
    void *arguments[] = { &to, &from, &value };
    size_t size;
    NEED(cuCtxSetCurrent(p->context));
    NEED(cuModuleGetGlobal_v2(&variable, &size, p->module, "bias"));
    NEED(cuMemcpyHtoD_v2(variable, &bias, sizeof bias));
    NEED(cuLaunchKernel(p->biased, COUNT / BLOCK, 1, 1, BLOCK, 1, 1, 0,
                        p->stream, arguments, NULL));
}

static void send(const place *from, const place *to)
{
    NEED(cuMemcpyPeerAsync(to->numbers, to->context, from->numbers,
                           from->context, BYTES, from->stream));
}

// What comes next on a stream waits for the other one.
static void follow(const place *first, const place *next)
{
    NEED(cuEventRecord(first->event, first->stream));
    NEED(cuStreamWaitEvent(next->stream, first->event, 0));
}

static void devices(void)
{
    void *library, *kernel, *graph, *ready;
    int count = 0;
    NEED(cuDeviceGetCount(&count));
    if (count < 2) {
        puts("there is one device only");
        exit(NO_GPU);
    }
    furnish(&there, 1);
    NEED(cuCtxSetCurrent(here.context));
    NEED(cuMemsetD32Async(here.numbers, 5, COUNT, here.stream));
    launch_biased(&here, 10); // 16
    send(&here, &there);
    follow(&here, &there);
    launch_biased(&there, 20); // 37
    check("the first device", &here, 16);
    check("the second device", &there, 37);
    NEED(cuLibraryLoadData(&library, plain, NULL, NULL, 0, NULL, NULL, 0));
    NEED(cuLibraryGetKernel(&kernel, library, "add"));
    launch_add(&here, kernel, here.numbers, 1);     // 17
    launch_add(&there, kernel, there.numbers, 2);   // 39
    NEED(cuStreamBeginCapture_v2(there.stream, 2)); // nobody else's
    launch_add(&there, there.add, there.numbers, 1);
    follow(&there, &here);
    launch_add(&here, here.add, here.numbers, 3);
    follow(&here, &there);
    NEED(cuCtxSetCurrent(there.context));
    NEED(cuStreamEndCapture(there.stream, &graph));
    NEED(cuGraphInstantiateWithFlags(&ready, graph, 0));
    NEED(cuGraphLaunch(ready, there.stream));
    check("the graph's second device", &there, 40);
    check("the graph's first device", &here, 20);
    follow(&there, &here);
    NEED(cuCtxSetCurrent(there.context));
    send(&there, &here);
    check("the way back", &here, 40);
}

static void clusters(void)
{
    attribute two[] = { { .id = 4, .value = { 2, 1, 1 } } }; // dimensions
    attribute early[] = { { .id = 6, .value = { 1 } } };
    how plan = {
        { COUNT / BLOCK, 1, 1 }, { BLOCK, 1, 1 }, 0, here.stream, two, 1
    };
    uint32_t value = 3;
    void *arguments[] = { &here.numbers, &value }, *module, *clustered;
    if (cuModuleLoadData(&module, clustered_ptx)) {
        puts("clusters are not for this device");
        exit(NO_GPU);
    }
    NEED(cuModuleGetFunction(&clustered, module, "clustered"));
    NEED(cuMemsetD32Async(here.numbers, 1, COUNT, here.stream));
    NEED(cuLaunchKernelEx(&plan, clustered, arguments, NULL));
    check("two blocks in a cluster", &here, 7);
    plan.attributes = early;
    NEED(cuLaunchKernelEx(&plan, here.add, arguments, NULL));
    check("a launch that may begin early", &here, 10);
}

static void managed(void)
{
    uint64_t shared;
    NEED(cuMemAllocManaged(&shared, BYTES, 1));
    uint32_t *const numbers = (uint32_t *)(uintptr_t)shared;
    for (uint32_t round = 1; round < 4; round++) {
        for (int i = 0; i < COUNT; i++)
            numbers[i] = 100 * round;
        launch_add(&here, here.add, shared, round);
        NEED(cuCtxSynchronize());
        for (int i = 0; i < COUNT; i++)
            if (numbers[i] != 101 * round) {
                printf("managed: element %d is %u\n", i, numbers[i]);
                exit(1);
            }
    }
}

static void pools(void)
{
    int (*take)(uint64_t * address, size_t size, void *stream);
    int (*leave)(uint64_t address, void *stream);
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    void *const symbols[] = { dlsym(library, "cuMemAllocAsync"),
                              dlsym(library, "cuMemFreeAsync") };
    memcpy(&take, &symbols[0], sizeof take);
    memcpy(&leave, &symbols[1], sizeof leave);
    if (!take || !leave) {
        puts("this driver has no pools");
        exit(NO_GPU);
    }
    for (uint32_t round = 1; round < 4; round++) {
        place p = here;
        NEED(take(&p.numbers, BYTES, p.stream));
        NEED(cuMemsetD32Async(p.numbers, round, COUNT, p.stream));
        launch_add(&p, p.add, p.numbers, 1);
        check("of a pool", &p, round + 1);
        NEED(leave(p.numbers, p.stream));
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = { { "devices", devices },
                  { "clusters", clusters },
                  { "managed", managed },
                  { "pools", pools } };
    if (!load()) return NO_GPU;
    if (cuInit(0)) {
        puts("no GPU: cuInit does not find one");
        return NO_GPU;
    }
    furnish(&here, 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (argc != 2 || strcmp(argv[1], parts[i].name)) continue;
        parts[i].run();
        puts("done");
        return 0;
    }
    return 2;
}
