/*
    cuda_graph_fixture.h - tests of launches of graphs of CUDA: made by hand,
                           captured, run again on the double of its driver
*/
#ifndef CUDA_GRAPH_FIXTURE_H
#define CUDA_GRAPH_FIXTURE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define EXECUTOR ts_cuda_executor
#include "backends/gpu/cuda_abi.h"
#include "backends/ts_cuda_exec.h"
#include "tests/backends/cuda/cuda_capture_fixture.h"

#include <sys/mman.h>

#define GRAPH_CALLS(X) \
    X(cuStreamIsCapturing, (void *, int *)) \
    X(cuStreamWaitEvent, (void *, void *, unsigned)) \
    X(cuEventCreate, (void **, unsigned)) \
    X(cuEventRecord, (void *, void *)) \
    X(cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, void *)) \
    X(cuGraphCreate, (void **, unsigned)) \
    X(cuGraphDestroy, (void *)) \
    X(cuGraphAddKernelNode_v2, \
      (void **, void *, void *const *, size_t, const ts__cuda_kernel_node *)) \
    X(cuGraphAddMemcpyNode, \
      (void **, void *, void *const *, size_t, const ts__cuda_box *, void *)) \
    X(cuGraphAddMemsetNode, (void **, void *, void *const *, size_t, \
                             const ts__cuda_set_node *, void *)) \
    X(cuGraphAddChildGraphNode, \
      (void **, void *, void *const *, size_t, void *)) \
    X(cuGraphAddNode_v2, \
      (void **, void *, void *const *, const void *, size_t, const int *)) \
    X(cuGraphKernelNodeSetAttribute, (void *, int, const void *)) \
    X(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long)) \
    X(cuGraphExecKernelNodeSetParams_v2, \
      (void *, void *, const ts__cuda_kernel_node *)) \
    X(cuGraphExecMemsetNodeSetParams, \
      (void *, void *, const ts__cuda_set_node *, void *)) \
    X(cuGraphExecChildGraphNodeSetParams, (void *, void *, void *)) \
    X(cuGraphExecNodeSetParams, (void *, void *, const ts__cuda_any_node *)) \
    X(cuGraphChildGraphNodeGetGraph, (void *, void **)) \
    X(cuGraphGetNodes, (void *, void **, size_t *)) \
    X(cuGraphNodeSetEnabled, (void *, void *, unsigned)) \
    X(cuGraphExecUpdate_v2, (void *, void *, void *)) \
    X(cuGraphExecDestroy, (void *)) \
    X(cuGraphLaunch, (void *, void *))
GRAPH_CALLS(CU_DECLARE)

static void *graph, *ready, *biased;
static uint64_t others;

static int start_graphs(void **user)
{
    if (start(user)) return -1;
    GRAPH_CALLS(CU_FIND)
    return 0;
}

RT_UNUSED static void begin_graphs(void)
{
    begin();
    ok(cuModuleGetFunction(&biased, module, "biased"));
    ok(cuMemAlloc_v2(&others, BYTES));
    for (int i = 0; i < COUNT; i++)
        ((uint32_t *)(uintptr_t)numbers)[i] = 10;
}

RT_UNUSED static void end_graphs(void)
{
    ok(cuMemFree_v2(others));
    end();
}

RT_UNUSED static uint32_t number_at(uint64_t address)
{
    return *(const uint32_t *)(uintptr_t)address;
}

/* ---- Graphs by hand ----------------------------------------------------- */

RT_UNUSED static void *add_kernel(void *const *after, size_t count,
                                  uint64_t address, uint32_t value)
{
    void *arguments[] = { &address, &value }, *node;
    const ts__cuda_kernel_node kernel = { .function = add,
                                          .grid = { 4, 1, 1 },
                                          .block = { 256, 1, 1 },
                                          .arguments = arguments };
    ok(cuGraphAddKernelNode_v2(&node, graph, after, count, &kernel));
    return node;
}

RT_UNUSED static void *add_set(void *const *after, size_t count,
                               uint64_t address, uint32_t value)
{
    const ts__cuda_set_node set = {
        .to = address, .value = value, .width = 4, .count = COUNT, .rows = 1
    };
    void *node;
    ok(cuGraphAddMemsetNode(&node, graph, after, count, &set, &node));
    return node;
}

RT_UNUSED static void *add_copy(void *const *after, size_t count,
                                ts__cuda_end to, ts__cuda_end from)
{
    ts__cuda_box box = {
        .from = from, .to = to, .width = BYTES, .height = 1, .depth = 1
    };
    void *node;
    ok(cuGraphAddMemcpyNode(&node, graph, after, count, &box, &node));
    return node;
}

RT_UNUSED static void make_ready(void)
{
    ok(cuGraphInstantiateWithFlags(&ready, graph, 0));
    ok(cuGraphDestroy(graph));
}

RT_UNUSED static uint32_t nodes_of(const ts_capture *c, uint32_t kind)
{
    ts_capture_node node = { .index = 0 };
    uint32_t count = 0;
    while (ts_capture_node_next(c, &node))
        count += node.head.kind == kind;
    return count;
}

/* ---- Running them again ------------------------------------------------- */

// The allocations at the earlier addresses are gone or exist again: the driver
// gives the rest of these granules to others.
RT_UNUSED static void set_free(bool is_free)
{
    const uint64_t granule = UINT64_C(2) << 20;
    for (int i = 0; i < 2; i++) {
        void *const at =
            (void *)(uintptr_t)((i ? others : numbers) & ~(granule - 1));
        if (is_free)
            munmap(at, granule);
        else
            mmap(at, granule, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
}

#endif // CUDA_GRAPH_FIXTURE_H
