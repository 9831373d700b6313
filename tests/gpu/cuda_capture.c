/*
    cuda_capture.c - a program whose operations are kept and run again

    By the driver found at run time and kernels as PTX text, so that it builds
    anywhere. It uses what captures have to bear: pointers in memory and in
    packed structs, a variable of the module, several streams, all kinds of
    copies and sets, attributes, memory that is freed and used again, graphs
    that are recorded, made by hand and changed; and what they decline: managed
    memory.

    cuda_capture          everything, once; checks its results
    cuda_capture probe    prints the device's name; 77: there is none
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/cuda_kernels.h"

enum { NO_GPU = 77, COUNT = 100000, BYTES = 4 * COUNT, BLOCK = 250 };

static const char ptx[] = PTX_BEGIN PTX_ADD PTX_BIASED
    ".visible .entry nothing()\n{\n    ret;\n}\n"
    // *list[i] += i + 1, for 2 of them
    ".visible .entry through(.param .u64 t_list, .param .u32 t_count)\n{\n"
    "    .reg .u32 %r<8>;\n    .reg .u64 %rd<8>;\n"
    "    ld.param.u64 %rd1, [t_list];\n    cvta.to.global.u64 %rd1, %rd1;\n"
    "    ld.global.u64 %rd2, [%rd1];\n    ld.global.u64 %rd3, [%rd1+8];\n"
    "    cvta.to.global.u64 %rd2, %rd2;\n    cvta.to.global.u64 %rd3, %rd3;\n"
    "    ld.global.u32 %r1, [%rd2];\n    add.u32 %r1, %r1, 1;\n"
    "    st.global.u32 [%rd2], %r1;\n"
    "    ld.global.u32 %r1, [%rd3];\n    add.u32 %r1, %r1, 2;\n"
    "    st.global.u32 [%rd3], %r1;\n    ret;\n}\n";

/* ---- The driver --------------------------------------------------------- */

typedef struct how { // CUlaunchConfig
    uint32_t grid[3], block[3], shared;
    void *stream;
    void *attributes;
    uint32_t count;
} how;

typedef struct kernel_node { // CUDA_KERNEL_NODE_PARAMS_v2
    void *function;
    uint32_t grid[3], block[3], shared;
    void **arguments, **more;
    void *kernel, *context;
} kernel_node;

typedef struct set_node { // CUDA_MEMSET_NODE_PARAMS
    uint64_t to;
    size_t pitch;
    uint32_t value, width;
    size_t count, rows;
} set_node;

#define CALLS(X) \
    X(cuInit, (unsigned)) \
    X(cuDeviceGet, (int *, int)) \
    X(cuDeviceGetName, (char *, int, int)) \
    X(cuDevicePrimaryCtxRetain, (void **, int)) \
    X(cuCtxSetCurrent, (void *)) \
    X(cuCtxSynchronize, (void)) \
    X(cuModuleLoadData, (void **, const void *)) \
    X(cuModuleGetFunction, (void **, void *, const char *)) \
    X(cuLibraryLoadData, (void **, const void *, void *, void **, unsigned, \
                          void *, void **, unsigned)) \
    X(cuLibraryGetKernel, (void **, void *, const char *)) \
    X(cuFuncSetAttribute, (void *, int, int)) \
    X(cuMemAlloc_v2, (uint64_t *, size_t)) \
    X(cuMemAllocManaged, (uint64_t *, size_t, unsigned)) \
    X(cuMemFree_v2, (uint64_t)) \
    X(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t)) \
    X(cuMemcpyDtoH_v2, (void *, uint64_t, size_t)) \
    X(cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, void *)) \
    X(cuMemcpyDtoHAsync_v2, (void *, uint64_t, size_t, void *)) \
    X(cuMemcpyDtoDAsync_v2, (uint64_t, uint64_t, size_t, void *)) \
    X(cuMemsetD8Async, (uint64_t, unsigned char, size_t, void *)) \
    X(cuMemsetD32Async, (uint64_t, unsigned, size_t, void *)) \
    X(cuLaunchKernel, \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
       unsigned, void *, void **, void **)) \
    X(cuLaunchKernelEx, (const how *, void *, void **, void **)) \
    X(cuLaunchCooperativeKernel, \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
       unsigned, void *, void **)) \
    X(cuStreamCreate, (void **, unsigned)) \
    X(cuStreamSynchronize, (void *)) \
    X(cuStreamWaitEvent, (void *, void *, unsigned)) \
    X(cuEventCreate, (void **, unsigned)) \
    X(cuEventRecord, (void *, void *)) \
    X(cuStreamBeginCapture_v2, (void *, int)) \
    X(cuStreamEndCapture, (void *, void **)) \
    X(cuGraphCreate, (void **, unsigned)) \
    X(cuGraphAddKernelNode_v2, \
      (void **, void *, void *const *, size_t, const kernel_node *)) \
    X(cuGraphAddMemsetNode, \
      (void **, void *, void *const *, size_t, const set_node *, void *)) \
    X(cuGraphAddChildGraphNode, \
      (void **, void *, void *const *, size_t, void *)) \
    X(cuGraphExecKernelNodeSetParams_v2, \
      (void *, void *, const kernel_node *)) \
    X(cuGraphExecDestroy, (void *)) \
    X(cuGraphDestroy, (void *)) \
    X(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long)) \
    X(cuGraphLaunch, (void *, void *))

#include "tests/gpu/cuda_driver.h"

/* ---- Work --------------------------------------------------------------- */

static void *add, *biased, *through, *nothing, *streams[2], *event;
static uint64_t a, b, list;
static uint32_t host[COUNT];

static void launch_add(uint64_t numbers, uint32_t value, void *stream)
{
    void *arguments[] = { &numbers, &value };
    NEED(cuLaunchKernel(add, COUNT / BLOCK, 1, 1, BLOCK, 1, 1, 0, stream,
                        arguments, NULL));
}

// The arguments in one piece.
static void launch_biased(uint64_t to, uint64_t from, uint32_t value)
{
    struct {
        uint64_t to, from;
        uint32_t value;
    } block = { to, from, value };
    size_t size = 20;
    void *more[] = { (void *)1, &block, (void *)2, &size, NULL };
    NEED(cuLaunchKernel(biased, COUNT / BLOCK, 1, 1, BLOCK, 1, 1, 0, streams[1],
                        NULL, more));
}

static void check(const char *what, uint64_t numbers, uint32_t expected)
{
    NEED(cuMemcpyDtoH_v2(host, numbers, BYTES));
    for (int i = 1; i < COUNT; i++)
        if (host[i] != expected) {
            printf("%s: element %d is %u, not %u\n", what, i, host[i],
                   expected);
            exit(1);
        }
}

static void streams_and_copies(void)
{
    for (int i = 0; i < COUNT; i++)
        host[i] = 10;
    NEED(cuMemcpyHtoDAsync_v2(a, host, BYTES, streams[0]));
    launch_add(a, 5, streams[0]);
    NEED(cuEventRecord(event, streams[0]));
    NEED(cuStreamWaitEvent(streams[1], event, 0));
    launch_biased(b, a, 100);
    NEED(cuStreamSynchronize(streams[1]));
    check("biased", b, 118);
    NEED(cuMemsetD32Async(a, 7, COUNT, streams[0]));
    NEED(cuMemsetD8Async(a, 1, 4, streams[0]));
    launch_add(a, 1, NULL); // waits for all
    NEED(cuCtxSynchronize());
    check("set", a, 8);
    NEED(cuMemcpyDtoDAsync_v2(b, a, BYTES, streams[1]));
    NEED(cuStreamSynchronize(streams[1]));
    check("copy", b, 8);
}

static void pointers(void)
{
    const uint64_t both[2] = { a + 400, b + 800 };
    uint32_t count = 2;
    void *arguments[] = { &list, &count };
    NEED(cuMemcpyHtoD_v2(list, both, sizeof both));
    NEED(cuLaunchKernel(through, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    NEED(cuMemcpyDtoH_v2(host, a + 400, 4));
    NEED(cuMemcpyDtoH_v2(host + 1, b + 800, 4));
    if (host[0] == 9 && host[1] == 10) return;
    printf("through: %u and %u, not 9 and 10\n", host[0], host[1]);
    exit(1);
}

static void attributes(void)
{
    const how plain = {
        { 1, 1, 1 }, { 32, 1, 1 }, 60 << 10, streams[0], NULL, 0
    };
    uint32_t value = 4;
    void *arguments[] = { &b, &value };
    NEED(cuFuncSetAttribute(nothing, 8, 64 << 10)); // dynamic shared memory
    NEED(cuLaunchKernelEx(&plain, nothing, NULL, NULL));
    NEED(cuLaunchCooperativeKernel(add, 4, 1, 1, BLOCK, 1, 1, 0, streams[0],
                                   arguments));
    NEED(cuStreamSynchronize(streams[0]));
}

// What was freed has the address of something new, mostly.
static void again(void)
{
    NEED(cuMemFree_v2(a));
    NEED(cuMemAlloc_v2(&a, BYTES));
    NEED(cuMemsetD32Async(a, 1, COUNT, streams[0]));
    launch_add(a, 1, streams[0]);
    NEED(cuStreamSynchronize(streams[0]));
    check("again", a, 2);
}

// A kernel of a library, whose code is loaded when it is launched.
static void library(void)
{
    void *code, *kernel;
    uint32_t value = 40;
    void *arguments[] = { &a, &value };
    NEED(cuLibraryLoadData(&code, ptx, NULL, NULL, 0, NULL, NULL, 0));
    NEED(cuLibraryGetKernel(&kernel, code, "add"));
    NEED(cuLaunchKernel(kernel, COUNT / BLOCK, 1, 1, BLOCK, 1, 1, 0, streams[0],
                        arguments, NULL));
    NEED(cuStreamSynchronize(streams[0]));
    check("library", a, 45);
}

// Two streams that are recorded together; launched twice.
static void recorded_graph(void)
{
    void *graph, *ready;
    NEED(cuStreamBeginCapture_v2(streams[0], 0));
    launch_add(a, 1, streams[0]);
    NEED(cuEventRecord(event, streams[0]));
    NEED(cuStreamWaitEvent(streams[1], event, 0));
    NEED(cuMemsetD32Async(b, 30, COUNT, streams[1]));
    NEED(cuEventRecord(event, streams[1]));
    NEED(cuStreamWaitEvent(streams[0], event, 0));
    launch_add(b, 1, streams[0]);
    NEED(cuStreamEndCapture(streams[0], &graph));
    NEED(cuGraphInstantiateWithFlags(&ready, graph, 0));
    NEED(cuGraphDestroy(graph));
    NEED(cuGraphLaunch(ready, streams[0]));
    NEED(cuStreamSynchronize(streams[0]));
    check("graph", a, 3);
    NEED(cuGraphLaunch(ready, streams[1]));
    NEED(cuStreamSynchronize(streams[1]));
    check("graph again", a, 4);
    check("graph, the other stream", b, 31);
    NEED(cuGraphExecDestroy(ready));
    launch_add(a, 1, streams[0]); // behind it
    NEED(cuStreamSynchronize(streams[0]));
    check("behind the graph", a, 5);
}

// A graph within a graph, of which a kernel is changed between two launches.
static void graph_by_hand(void *context)
{
    uint32_t value = 2;
    void *arguments[] = { &b, &value };
    kernel_node kernel = { .function = add,
                           .grid = { COUNT / BLOCK, 1, 1 },
                           .block = { BLOCK, 1, 1 },
                           .arguments = arguments };
    const set_node set = { b, 0, 50, 4, COUNT, 1 };
    void *inner, *graph, *ready, *first, *child, *last;
    NEED(cuGraphCreate(&inner, 0));
    NEED(cuGraphAddKernelNode_v2(&first, inner, NULL, 0, &kernel));
    NEED(cuGraphCreate(&graph, 0));
    NEED(cuGraphAddMemsetNode(&first, graph, NULL, 0, &set, context));
    NEED(cuGraphAddChildGraphNode(&child, graph, &first, 1, inner));
    NEED(cuGraphAddKernelNode_v2(&last, graph, &child, 1, &kernel));
    NEED(cuGraphInstantiateWithFlags(&ready, graph, 0));
    NEED(cuGraphLaunch(ready, streams[0]));
    NEED(cuStreamSynchronize(streams[0]));
    check("graph by hand", b, 54);
    value = 10;
    NEED(cuGraphExecKernelNodeSetParams_v2(ready, last, &kernel));
    NEED(cuGraphLaunch(ready, streams[0]));
    NEED(cuStreamSynchronize(streams[0]));
    check("graph that was changed", b, 62);
}

static void what_is_declined(void)
{
    uint64_t managed;
    NEED(cuMemAllocManaged(&managed, BYTES, 2));
    launch_add(managed, 1, streams[0]);
    NEED(cuStreamSynchronize(streams[0]));
    NEED(cuMemFree_v2(managed));
}

int main(int argc, char **argv)
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
    NEED(cuModuleGetFunction(&add, module, "add"));
    NEED(cuModuleGetFunction(&biased, module, "biased"));
    NEED(cuModuleGetFunction(&through, module, "through"));
    NEED(cuModuleGetFunction(&nothing, module, "nothing"));
    for (int i = 0; i < 2; i++)
        NEED(cuStreamCreate(&streams[i], (unsigned)i));
    NEED(cuEventCreate(&event, 2));
    NEED(cuMemAlloc_v2(&a, BYTES));
    NEED(cuMemAlloc_v2(&b, BYTES));
    NEED(cuMemAlloc_v2(&list, 16));
    streams_and_copies();
    pointers();
    attributes();
    again();
    recorded_graph();
    graph_by_hand(context);
    what_is_declined();
    library();
    puts("done");
    return 0;
}
