// Captures of CUDA: graphs with nodes in contexts of two devices.
#define _GNU_SOURCE
#include "tests/backends/cuda/cuda_graph_fixture.h"

#define DEVICE_CALLS(X) \
    X(cuCtxCreate_v2, (void **, unsigned, int)) \
    X(cuCtxDestroy_v2, (void *)) \
    X(cuCtxSetCurrent, (void *)) \
    X(cuDevicePrimaryCtxRetain, (void **, int)) \
    X(cuMemcpyPeerAsync, (uint64_t, void *, uint64_t, void *, size_t, void *)) \
    X(cuModuleUnload, (void *)) \
    X(cuLibraryUnload, (void *)) \
    X(cuModuleGetGlobal_v2, (uint64_t *, size_t *, void *, const char *))
DEVICE_CALLS(CU_DECLARE)

static void *first, *second, *far_module, *far_biased;
static uint64_t far_numbers;

static int start_devices(void **user)
{
    setenv("DOUBLE_CUDA_DEVICES", "2", 1);
    if (start_graphs(user)) return -1;
    DEVICE_CALLS(CU_FIND)
    return cuDevicePrimaryCtxRetain(&first, 0);
}

static void set_bias(void *of, uint32_t value)
{
    uint64_t bias;
    size_t size;
    ok(cuModuleGetGlobal_v2(&bias, &size, of, "bias"));
    *(uint32_t *)(uintptr_t)bias = value;
}

// The same code on both devices, with a variable that differs.
static void begin_devices(void)
{
    ok(cuCtxSetCurrent(first)); // executions leave their own
    begin_graphs();
    ok(cuCtxCreate_v2(&second, 0, 1));
    ok(cuModuleLoadData(&far_module, cubin));
    ok(cuModuleGetFunction(&far_biased, far_module, "biased"));
    ok(cuMemAlloc_v2(&far_numbers, BYTES));
    memset((void *)(uintptr_t)far_numbers, 0, BYTES);
    ok(cuCtxSetCurrent(first));
    set_bias(module, 100);
    set_bias(far_module, 200);
}

static void end_devices(void)
{
    ok(cuCtxSetCurrent(second));
    ok(cuMemFree_v2(far_numbers));
    ok(cuCtxSetCurrent(first));
    ok(cuCtxDestroy_v2(second));
    end_graphs();
}

// numbers[i] + value + bias of its module
static void *add_biased(void *function, uint64_t address, uint32_t value)
{
    void *arguments[] = { &address, &address, &value }, *node;
    const ts__cuda_kernel_node kernel = { .function = function,
                                          .grid = { 4, 1, 1 },
                                          .block = { 256, 1, 1 },
                                          .arguments = arguments };
    ok(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &kernel));
    return node;
}

static uint32_t device_number(uint32_t track)
{
    ts_track t;
    assert_true(ts_reader_track(trace.reader, track, &t));
    assert_int_equal(t.type, TS_TRACK_DEVICE);
    return (uint32_t)t.number;
}

UNIT_TEST(a_node_is_of_the_device_of_its_context)
{
    begin_devices();
    ok(cuGraphCreate(&graph, 0));
    add_biased(biased, numbers, 1);
    add_biased(far_biased, far_numbers, 2);
    make_ready();
    ok(cuGraphLaunch(ready, stream));
    assert_int_equal(number_at(numbers), 111);
    assert_int_equal(number_at(far_numbers), 202);
    end_devices();
    const ts_capture c = capture_at(0);
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    ts_capture_node node = { .index = 0 };
    uint32_t near_count = 0, far_count = 0, variables[2] = { 0, 0 };
    while (ts_capture_node_next(&c, &node)) {
        near_count += !node.head.track;
        if (!node.head.track) continue;
        assert_int_equal(device_number(node.head.track), 1);
        far_count++;
    }
    assert_int_equal(near_count, 1);
    assert_int_equal(far_count, 1);
    // Each module's variables lie where its context's device has them.
    for (uint32_t i = 0; i < c.head.region_count; i++)
        if (c.regions[i].found == TS_CAPTURE_BY_GLOBAL)
            variables[device_number(c.regions[i].device)]++;
    assert_true(variables[0]);
    assert_int_equal(variables[0], variables[1]);
    runs_the_same(1, 0, 2);
    rt_close(&trace);
}

// Its context may be gone with it, so that its place cannot be queried.
UNIT_TEST(a_node_of_code_that_went_elsewhere_is_declined)
{
    begin_devices();
    ok(cuGraphCreate(&graph, 0));
    add_biased(far_biased, far_numbers, 2);
    make_ready();
    ok(cuModuleUnload(far_module));
    ok(cuGraphLaunch(ready, stream));
    end_devices();
    declined_for(0, TS_REASON_IMAGE_MISSING);
    rt_close(&trace);
}

// A kernel of a library exists in each context. The node says in which one it
// runs, where it may not have been loaded before.
UNIT_TEST(a_node_of_a_library_is_of_its_context)
{
    void *library, *kernel, *node;
    uint32_t value = 5;
    begin_devices();
    ok(cuLibraryLoadData(&library, cubin, NULL, NULL, 0, NULL, NULL, 0));
    ok(cuLibraryGetKernel(&kernel, library, "add"));
    void *arguments[] = { &far_numbers, &value };
    const ts__cuda_kernel_node far = { .grid = { 4, 1, 1 },
                                       .block = { 256, 1, 1 },
                                       .arguments = arguments,
                                       .kernel = kernel,
                                       .context = second };
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &far));
    ok(cuGraphInstantiateWithFlags(&ready, graph, 0));
    ok(cuGraphLaunch(ready, stream));
    assert_int_equal(number_at(far_numbers), 5);
    value = 7;
    ok(cuGraphExecKernelNodeSetParams_v2(ready, node, &far));
    ok(cuGraphLaunch(ready, stream));
    assert_int_equal(number_at(far_numbers), 12);
    ok(cuLibraryUnload(library));
    end_devices();
    for (size_t i = 0; i < 2; i++) {
        const ts_capture c = capture_at(i);
        ts_capture_node n = { .index = 0 };
        assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
        assert_true(ts_capture_node_next(&c, &n));
        assert_int_equal(device_number(n.head.track), 1);
    }
    rt_close(&trace);
}

// The context is that of the stream, not that of the thread.
UNIT_TEST(a_kernel_of_a_library_is_of_its_streams_context)
{
    void *library, *kernel, *far;
    uint32_t value = 5, variables = 0;
    begin_devices();
    ok(cuLibraryLoadData(&library, cubin, NULL, NULL, 0, NULL, NULL, 0));
    ok(cuLibraryGetKernel(&kernel, library, "biased"));
    ok(cuCtxSetCurrent(second));
    ok(cuStreamCreate(&far, 1));
    ok(cuCtxSetCurrent(first));
    void *arguments[] = { &far_numbers, &far_numbers, &value };
    ok(cuLaunchKernel(kernel, 4, 1, 1, 256, 1, 1, 0, far, arguments, NULL));
    assert_int_equal(number_at(far_numbers), 8);
    end_devices();
    const ts_capture c = capture_at(0);
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    for (uint32_t i = 0; i < c.head.region_count; i++) {
        if (c.regions[i].found != TS_CAPTURE_BY_GLOBAL) continue;
        assert_int_equal(device_number(c.regions[i].device), 1);
        variables++;
    }
    assert_true(variables);
    rt_close(&trace);
}

static uint32_t device_of_region(const ts_capture *c, uint64_t address)
{
    uint32_t i = 0;
    while (i < c->head.region_count && c->regions[i].address != address)
        i++;
    assert_int_not_equal(i, c->head.region_count);
    return device_number(c->regions[i].device);
}

// What hashes it is a kernel: in the context of the other device's memory.
UNIT_TEST(a_copy_between_devices_is_kept_and_runs_again)
{
    enum { MANY = 300 << 10 };
    const ts_capture_desc what = { .drain_ms = 60000,
                                   .hash = TS_CAPTURE_HASH_DEVICE };
    uint64_t unseen;
    ok(cuCtxCreate_v2(&second, 0, 1));
    ok(cuMemAlloc_v2(&unseen, MANY)); // nobody sees that
    ok(cuCtxSetCurrent(first));
    begin_with(&what);
    ok(cuMemAlloc_v2(&others, MANY));
    memset((void *)(uintptr_t)others, 7, MANY);
    memset((void *)(uintptr_t)unseen, 9, MANY);
    ok(cuMemcpyPeerAsync(unseen, second, others, first, MANY / 2, stream));
    ok(launch(add, numbers, 1)); // the device is well
    ok(cuMemFree_v2(others));
    end();
    assert_int_equal(((uint8_t *)(uintptr_t)unseen)[MANY / 2 - 1], 7);
    assert_int_equal(((uint8_t *)(uintptr_t)unseen)[MANY / 2], 9);
    const ts_capture c = capture_at(0);
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(capture_at(1).head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(device_of_region(&c, others), 0);
    assert_int_equal(device_of_region(&c, unseen), 1);
    assert_string_equal(cu_text(&trace, "capture.hash.cuda"), "on the device");
    runs_the_same(1, 0, 2);
    ok(cuCtxDestroy_v2(second));
    ok(cuCtxSetCurrent(first));
    rt_close(&trace);
}

// What runs there may write what is looked at.
UNIT_TEST(a_default_stream_of_another_device_is_waited_for)
{
    uint32_t value = 1;
    ok(cuCtxSetCurrent(first));
    begin_hasty();
    ok(launch(add, numbers, 1));
    ok(cuCtxCreate_v2(&second, 0, 1));
    ok(cuModuleLoadData(&far_module, cubin));
    ok(cuModuleGetFunction(&far_biased, far_module, "biased"));
    ok(cuMemAlloc_v2(&far_numbers, BYTES));
    ok(cuMemsetD32Async(far_numbers, 1, COUNT, NULL)); // it is known now
    void *arguments[] = { &far_numbers, &far_numbers, &value };
    setenv("DOUBLE_CUDA_HANG", "biased", 1);
    ok(cuLaunchKernel(far_biased, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    ok(cuCtxSetCurrent(first));
    ok(launch(add, numbers, 1));
    unsetenv("DOUBLE_CUDA_HANG");
    ok(launch(add, numbers, 1));
    end();
    assert_int_equal(capture_at(0).head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(capture_at(1).head.state, TS_CAPTURE_WHOLE);
    declined_for(2, TS_REASON_DRAIN_TIMEOUT);
    declined_for(3, TS_REASON_DRAIN_TIMEOUT);
    assert_int_equal(capture_at(4).head.state, TS_CAPTURE_WHOLE);
    ok(cuCtxDestroy_v2(second));
    ok(cuCtxSetCurrent(first));
    rt_close(&trace);
}

int main(void)
{
    return unit_run(start_devices, finish);
}
