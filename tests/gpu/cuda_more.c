/*
    cuda_more.c - operations that are kept and run again, one kind at a time

    By the driver found at run time and kernels as PTX text, so that it builds
    anywhere. Each part checks its own results.

    cuda_more updates     a graph that is updated from another one, has a graph
                          within it exchanged and single nodes changed
    cuda_more branches    a graph of 12 kernels, 10 of which may run together
    cuda_more textures    a kernel that reads by a texture of linear memory
    cuda_more maps        a kernel that loads and stores by a tensor map
    cuda_more batches     copies that one call makes together
    Exit status 77: no GPU, or it or its driver has none of this.
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/cuda_kernels.h"

enum { NO_GPU = 77, COUNT = 1024, BYTES = 4 * COUNT, BLOCK = 64 };

// numbers[i] += value, and to[i] = the texture at i, + 1
static const char plain[] = PTX_BEGIN PTX_ADD
    ".visible .entry textured(.param .u64 t_t, .param .u64 t_to)\n{\n"
    "    .reg .u32 %r<12>;\n    .reg .u64 %rd<8>;\n"
    "    ld.param.u64 %rd1, [t_t];\n    ld.param.u64 %rd2, [t_to];\n"
    "    cvta.to.global.u64 %rd2, %rd2;\n" PTX_INDEX
    "    tex.1d.v4.u32.s32 {%r5, %r6, %r7, %r8}, [%rd1, {%r4}];\n"
    "    add.u32 %r5, %r5, 1;\n"
    "    add.u64 %rd2, %rd2, %rd4;\n    st.global.u32 [%rd2], %r5;\n"
    "    ret;\n}\n";

// Each block of 64 threads adds to the 64 numbers that are its own, which come
// and go by the tensor map alone.
static const char mapped_ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry mapped(.param .align 64 .b8 m_map[128], "
    ".param .u32 m_v)\n{\n"
    "    .reg .pred %p<4>;\n    .reg .u32 %r<12>;\n    .reg .u64 %rd<8>;\n"
    "    .shared .align 128 .b8 tile[256];\n"
    "    .shared .align 8 .b64 bar;\n"
    "    mov.u64 %rd1, m_map;\n    cvta.param.u64 %rd2, %rd1;\n"
    "    ld.param.u32 %r1, [m_v];\n    mov.u32 %r2, %ctaid.x;\n"
    "    shl.b32 %r3, %r2, 6;\n    mov.u32 %r4, %tid.x;\n"
    "    mov.u32 %r5, tile;\n    mov.u32 %r6, bar;\n"
    "    setp.ne.u32 %p1, %r4, 0;\n    @%p1 bra loaded;\n"
    "    mbarrier.init.shared.b64 [%r6], 1;\n"
    "    fence.proxy.async.shared::cta;\n"
    "    mbarrier.arrive.expect_tx.shared.b64 %rd3, [%r6], 256;\n"
    "    cp.async.bulk.tensor.1d.shared::cluster.global"
    ".mbarrier::complete_tx::bytes [%r5], [%rd2, {%r3}], [%r6];\n"
    "loaded:\n    bar.sync 0;\n"
    "again:\n"
    "    mbarrier.try_wait.parity.shared.b64 %p2, [%r6], 0;\n"
    "    @!%p2 bra again;\n"
    "    shl.b32 %r7, %r4, 2;\n    add.u32 %r7, %r5, %r7;\n"
    "    ld.shared.u32 %r8, [%r7];\n    add.u32 %r8, %r8, %r1;\n"
    "    st.shared.u32 [%r7], %r8;\n"
    "    fence.proxy.async.shared::cta;\n    bar.sync 0;\n"
    "    @%p1 bra stored;\n"
    "    cp.async.bulk.tensor.1d.global.shared::cta.bulk_group "
    "[%rd2, {%r3}], [%r5];\n"
    "    cp.async.bulk.commit_group;\n    cp.async.bulk.wait_group 0;\n"
    "stored:\n    ret;\n}\n";

/* ---- The driver --------------------------------------------------------- */

typedef struct kernel_node { // CUDA_KERNEL_NODE_PARAMS_v2
    void *function;
    uint32_t grid[3], block[3], shared;
    void **arguments, **more;
    void *kernel, *context;
} kernel_node;

#define CALLS(X) \
    X(cuInit, (unsigned)) \
    X(cuDeviceGet, (int *, int)) \
    X(cuDevicePrimaryCtxRetain, (void **, int)) \
    X(cuCtxSetCurrent, (void *)) \
    X(cuModuleLoadData, (void **, const void *)) \
    X(cuModuleGetFunction, (void **, void *, const char *)) \
    X(cuMemAlloc_v2, (uint64_t *, size_t)) \
    X(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t)) \
    X(cuMemcpyDtoH_v2, (void *, uint64_t, size_t)) \
    X(cuLaunchKernel, \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
       unsigned, void *, void **, void **)) \
    X(cuStreamCreate, (void **, unsigned)) \
    X(cuStreamSynchronize, (void *)) \
    X(cuGraphCreate, (void **, unsigned)) \
    X(cuGraphAddKernelNode_v2, \
      (void **, void *, void *const *, size_t, const kernel_node *)) \
    X(cuGraphAddChildGraphNode, \
      (void **, void *, void *const *, size_t, void *)) \
    X(cuGraphExecKernelNodeSetParams_v2, \
      (void *, void *, const kernel_node *)) \
    X(cuGraphExecChildGraphNodeSetParams, (void *, void *, void *)) \
    X(cuGraphExecUpdate_v2, (void *, void *, void *)) \
    X(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long)) \
    X(cuGraphLaunch, (void *, void *)) \
    X(cuTexObjectCreate, \
      (uint64_t *, const void *, const void *, const void *)) \
    X(cuTexObjectDestroy, (uint64_t))

#include "tests/gpu/cuda_driver.h"

// Of a newer driver; ends the program where there is none.
static void want(void *to, const char *name)
{
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    void *const symbol = library ? dlsym(library, name) : NULL;
    memcpy(to, &symbol, sizeof symbol);
    if (symbol) return;
    printf("this driver has no %s\n", name);
    exit(NO_GPU);
}

/* ---- Parts -------------------------------------------------------------- */

static void *add, *stream;
static uint64_t numbers, others;
static uint32_t host[COUNT];

static void check(const char *what, uint64_t address, uint32_t expected)
{
    NEED(cuStreamSynchronize(stream));
    NEED(cuMemcpyDtoH_v2(host, address, BYTES));
    for (int i = 0; i < COUNT; i++)
        if (host[i] != expected) {
            printf("%s: element %d is %u, not %u\n", what, i, host[i],
                   expected);
            exit(1);
        }
}

static void fill(uint64_t address, uint32_t value)
{
    for (int i = 0; i < COUNT; i++)
        host[i] = value;
    NEED(cuMemcpyHtoD_v2(address, host, BYTES));
}

// A kernel that adds, behind others; `update`: what a node is told instead.
static void *add_node(void *graph, void *const *after, size_t count,
                      uint64_t address, uint32_t value, void *update)
{
    void *arguments[] = { &address, &value }, *node = NULL;
    const kernel_node kernel = { .function = add,
                                 .grid = { COUNT / BLOCK, 1, 1 },
                                 .block = { BLOCK, 1, 1 },
                                 .arguments = arguments };
    if (update)
        NEED(cuGraphExecKernelNodeSetParams_v2(graph, update, &kernel));
    else
        NEED(cuGraphAddKernelNode_v2(&node, graph, after, count, &kernel));
    return node;
}

// A kernel, a graph of one within, and a kernel.
static void *three(uint32_t first, uint32_t within, uint32_t last, void **child,
                   void **end)
{
    void *inner, *graph;
    NEED(cuGraphCreate(&inner, 0));
    add_node(inner, NULL, 0, numbers, within, NULL);
    NEED(cuGraphCreate(&graph, 0));
    void *const begin = add_node(graph, NULL, 0, numbers, first, NULL);
    NEED(cuGraphAddChildGraphNode(child, graph, &begin, 1, inner));
    *end = add_node(graph, child, 1, numbers, last, NULL);
    return graph;
}

static void updates(void)
{
    void *child, *last, *ready, *other, *inner;
    void *const graph = three(1, 2, 3, &child, &last);
    fill(numbers, 0);
    NEED(cuGraphInstantiateWithFlags(&ready, graph, 0));
    NEED(cuGraphLaunch(ready, stream));
    check("as it was made", numbers, 6);
    struct {
        int result;
        void *node, *from;
    } how;
    NEED(cuGraphExecUpdate_v2(ready, three(10, 20, 30, &other, &inner), &how));
    NEED(cuGraphLaunch(ready, stream));
    check("updated", numbers, 66);
    add_node(ready, NULL, 0, numbers, 100, last);
    NEED(cuGraphLaunch(ready, stream));
    check("a node of it changed", numbers, 196);
    NEED(cuGraphCreate(&inner, 0));
    add_node(inner, NULL, 0, numbers, 1000, NULL);
    NEED(cuGraphExecChildGraphNodeSetParams(ready, child, inner));
    NEED(cuGraphLaunch(ready, stream));
    check("a graph within exchanged", numbers, 196 + 1110);
}

// One kernel, ten behind it that touch 64 numbers each, and one behind all.
static void branches(void)
{
    void *graph, *ready, *middle[10];
    fill(numbers, 5);
    NEED(cuGraphCreate(&graph, 0));
    void *const first = add_node(graph, NULL, 0, numbers, 1, NULL);
    for (uint32_t i = 0; i < 10; i++) {
        uint64_t address = numbers + i * 4 * BLOCK;
        uint32_t value = i;
        void *arguments[] = { &address, &value };
        const kernel_node one = { .function = add,
                                  .grid = { 1, 1, 1 },
                                  .block = { BLOCK, 1, 1 },
                                  .arguments = arguments };
        NEED(cuGraphAddKernelNode_v2(&middle[i], graph, &first, 1, &one));
    }
    add_node(graph, middle, 10, numbers, 2, NULL);
    NEED(cuGraphInstantiateWithFlags(&ready, graph, 0));
    NEED(cuGraphLaunch(ready, stream));
    NEED(cuStreamSynchronize(stream));
    NEED(cuMemcpyDtoH_v2(host, numbers, BYTES));
    for (uint32_t i = 0; i < COUNT; i++) {
        const uint32_t branch = i / BLOCK < 10 ? i / BLOCK : 0;
        if (host[i] == 8 + branch) continue;
        printf("branches: element %u is %u\n", i, host[i]);
        exit(1);
    }
}

static void textures(void *module)
{
    // Linear memory of 32-bit numbers without a sign, read as they are.
    const uint64_t resource[18] = { 2, numbers, 3 | UINT64_C(1) << 32, BYTES };
    const uint32_t how[26] = { 1, 1, 1, 0, 1 };
    uint64_t texture;
    void *textured;
    fill(numbers, 40);
    fill(others, 0);
    NEED(cuModuleGetFunction(&textured, module, "textured"));
    NEED(cuTexObjectCreate(&texture, resource, how, NULL));
    void *arguments[] = { &texture, &others };
    NEED(cuLaunchKernel(textured, COUNT / BLOCK, 1, 1, BLOCK, 1, 1, 0, stream,
                        arguments, NULL));
    check("by a texture", others, 41);
    NEED(cuTexObjectDestroy(texture));
}

static void maps(void)
{
    int (*encode)(void *map, int type, uint32_t rank, uint64_t address,
                  const uint64_t *dims, const uint64_t *strides,
                  const uint32_t *box, const uint32_t *steps, int interleave,
                  int swizzle, int promotion, int fill);
    static const uint64_t dims[1] = { COUNT }, strides[1] = { 0 };
    static const uint32_t box[1] = { BLOCK }, steps[1] = { 1 };
    _Alignas(128) uint64_t map[16] = { 0 };
    void *module, *mapped;
    uint32_t value = 2;
    want(&encode, "cuTensorMapEncodeTiled");
    // 2: 32-bit numbers without a sign.
    const int result =
        encode(map, 2, 1, numbers, dims, strides, box, steps, 0, 0, 0, 0);
    if (result || cuModuleLoadData(&module, mapped_ptx)) {
        printf("tensor maps are not for this device (%d)\n", result);
        exit(NO_GPU);
    }
    fill(numbers, 7);
    NEED(cuModuleGetFunction(&mapped, module, "mapped"));
    void *arguments[] = { map, &value };
    NEED(cuLaunchKernel(mapped, COUNT / BLOCK, 1, 1, BLOCK, 1, 1, 0, stream,
                        arguments, NULL));
    check("by a tensor map", numbers, 9);
}

static void batches(void)
{
    int (*copy)(uint64_t * to, uint64_t * from, size_t * sizes, size_t count,
                const void *attributes, size_t *first, size_t attribute_count,
                void *stream);                   // of CUDA 13.0
    static const uint32_t attributes[6] = { 1 }; // in the stream's order
    want(&copy, "cuMemcpyBatchAsync_v2");
    fill(numbers, 70);
    fill(others, 0);
    uint64_t to[2] = { others, others + BYTES / 2 };
    uint64_t from[2] = { numbers, numbers };
    size_t sizes[2] = { BYTES / 2, BYTES / 2 }, first = 0;
    NEED(copy(to, from, sizes, 2, attributes, &first, 1, stream));
    check("by a batch", others, 70);
}

int main(int argc, char **argv)
{
    const char *const part = argc == 2 ? argv[1] : "";
    void *context, *module;
    int device;
    if (!load()) return NO_GPU;
    if (cuInit(0) || cuDeviceGet(&device, 0)) {
        puts("no GPU: cuInit does not find one");
        return NO_GPU;
    }
    NEED(cuDevicePrimaryCtxRetain(&context, device));
    NEED(cuCtxSetCurrent(context));
    NEED(cuModuleLoadData(&module, plain));
    NEED(cuModuleGetFunction(&add, module, "add"));
    NEED(cuStreamCreate(&stream, 1));
    NEED(cuMemAlloc_v2(&numbers, BYTES));
    NEED(cuMemAlloc_v2(&others, BYTES));
    if (!strcmp(part, "updates"))
        updates();
    else if (!strcmp(part, "branches"))
        branches();
    else if (!strcmp(part, "textures"))
        textures(module);
    else if (!strcmp(part, "maps"))
        maps();
    else if (!strcmp(part, "batches"))
        batches();
    else
        return 2;
    puts("done");
    return 0;
}
