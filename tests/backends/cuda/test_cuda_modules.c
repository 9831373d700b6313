// Captures of CUDA: modules that are unloaded.
#define TRACESMITH_CUPTI_IMPLEMENTATION // the test looks inside
#include "tests/backends/cuda/cuda_capture_fixture.h"

#define MODULE_CALLS(X) \
    X(cuModuleUnload, (void *)) \
    X(cuLibraryUnload, (void *)) \
    X(cuKernelSetAttribute, (int, int, void *, int)) \
    X(cuModuleGetGlobal_v2, (uint64_t *, size_t *, void *, const char *)) \
    X(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long)) \
    X(cuGraphLaunch, (void *, void *)) \
    X(cuGraphExecDestroy, (void *))
MODULE_CALLS(CU_DECLARE)

static char *changed; // the cubin, but for a byte that does not matter
static size_t cubin_size;

static int start_modules(void **user)
{
    static const uint32_t about[] = { 0x000C1704, 0, 0, 8 << 18 };
    if (start(user)) return -1;
    MODULE_CALLS(CU_FIND)
    cubin_size = ts_cuda_code_size(cubin);
    changed = malloc(cubin_size);
    if (!changed) return -1;
    memcpy(changed, cubin, cubin_size);
    // The index of a parameter, which nobody reads.
    char *const at = memmem(changed, cubin_size, about, sizeof about);
    if (at) at[4] = 1;
    return at ? 0 : -1;
}

static int finish_modules(void **user)
{
    free(changed);
    return finish(user);
}

static void *function_of(void *of, const char *name)
{
    void *found;
    ok(cuModuleGetFunction(&found, of, name));
    return found;
}

static void code_is(size_t index, const void *wanted)
{
    const ts_capture c = capture_at(index);
    ts_capture_image image;
    const void *bytes;
    size_t size;
    ts_capture_node node = { .index = 0 };
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    const uint32_t number =
        ts_capture_node_next(&c, &node) ? node.head.image : c.head.image;
    assert_true(ts_reader_image(trace.reader, number, &image));
    ok(ts_reader_blob(trace.reader, image.hash, &bytes, &size));
    assert_int_equal(size, cubin_size);
    assert_memory_equal(bytes, wanted, size);
}

UNIT_TEST(modules_that_go_are_freed)
{
    enum { MANY = 10000, SIZE = 4096 };
    begin();
    const uint64_t bytes = ts__cs.code.bytes;
    const size_t count = ts__cs.code.module_count;
    for (uint32_t i = 0; i < MANY; i++) {
        CU_RUN(.what = DOUBLE_MODULE, .event = 1000 + i, .bytes = SIZE,
               .parameters = cubin);
        assert_int_equal(ts__cs.code.bytes, bytes + SIZE);
        CU_RUN(.what = DOUBLE_UNLOAD, .event = 1000 + i);
    }
    assert_int_equal(ts__cs.code.bytes, bytes);
    assert_int_equal(ts__cs.code.module_count, count);
    end();
    rt_close(&trace);
}

// It is reported once, and what an earlier trace has of it is not in this one.
UNIT_TEST(modules_of_an_earlier_session_are_known)
{
    begin();
    void *const early = add;
    ok(launch(early, numbers, 1));
    end();
    rt_close(&trace);
    begin();
    ok(cuMemsetD32Async(numbers, 1, COUNT, stream));
    ok(launch(early, numbers, 1));
    end();
    code_is(1, cubin);
    rt_close(&trace);
}

// Its handles are used again, for other code.
UNIT_TEST(what_was_launched_before_keeps_its_code)
{
    void *one, *other;
    begin();
    ok(cuModuleLoadData(&one, cubin));
    ok(launch(function_of(one, "add"), numbers, 1));
    ok(cuModuleUnload(one));
    ok(cuModuleLoadData(&other, changed));
    assert_ptr_equal(other, one);
    ok(launch(function_of(other, "add"), numbers, 1));
    ok(cuModuleUnload(other));
    ok(launch(add, numbers, 1));
    end();
    code_is(0, cubin);
    code_is(1, changed);
    code_is(2, cubin);
    rt_close(&trace);
}

UNIT_TEST(variables_go_with_their_module)
{
    uint64_t bias, to;
    size_t size;
    uint32_t value = 1;
    void *one;
    begin();
    ok(cuMemAlloc_v2(&to, BYTES));
    ok(cuModuleLoadData(&one, cubin));
    ok(cuModuleGetGlobal_v2(&bias, &size, one, "bias"));
    void *arguments[] = { &to, &numbers, &value };
    ok(cuLaunchKernel(function_of(one, "biased"), 4, 1, 1, 256, 1, 1, 0, stream,
                      arguments, NULL));
    assert_int_equal(ts_capture_size(&ts__cs.memory, bias), size);
    ok(cuModuleUnload(one));
    ok(launch(add, numbers, 1));
    assert_int_equal(ts_capture_size(&ts__cs.memory, bias), 0);
    ok(cuMemFree_v2(to));
    end();
    assert_int_equal(capture_at(0).head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(capture_at(1).head.state, TS_CAPTURE_WHOLE);
    rt_close(&trace);
}

static bool has_attribute(size_t index)
{
    const ts_capture c = capture_at(index);
    ts_attribute a;
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    return ts_attribute_find(&c.attributes, TS_ATTRIBUTE_FUNCTION, 8, &a);
}

// The next module gets its handles, and those of its functions.
UNIT_TEST(attributes_go_with_their_module)
{
    void *one, *function;
    begin();
    ok(cuModuleLoadData(&one, cubin));
    function = function_of(one, "add");
    ok(cuFuncSetAttribute(function, 8, 64 << 10));
    ok(launch(function, numbers, 1));
    ok(cuModuleUnload(one));
    ok(cuModuleLoadData(&one, cubin));
    assert_ptr_equal(function_of(one, "add"), function);
    ok(launch(function, numbers, 1));
    ok(cuModuleUnload(one));
    end();
    assert_true(has_attribute(0));
    assert_false(has_attribute(1));
    rt_close(&trace);
}

UNIT_TEST(attributes_of_kernels_go_with_their_library)
{
    void *one, *kernel, *again;
    begin();
    ok(cuLibraryLoadData(&one, cubin, NULL, NULL, 0, NULL, NULL, 0));
    ok(cuLibraryGetKernel(&kernel, one, "add"));
    ok(cuKernelSetAttribute(8, 64 << 10, kernel, 0));
    ok(launch(kernel, numbers, 1));
    ok(cuLibraryUnload(one));
    ok(cuLibraryLoadData(&one, cubin, NULL, NULL, 0, NULL, NULL, 0));
    ok(cuLibraryGetKernel(&again, one, "add"));
    assert_ptr_equal(again, kernel);
    ok(launch(kernel, numbers, 1));
    ok(cuLibraryUnload(one));
    end();
    assert_true(has_attribute(0));
    assert_false(has_attribute(1));
    rt_close(&trace);
}

// As long as the driver runs it.
UNIT_TEST(a_graph_that_is_ready_holds_its_code)
{
    void *one, *graph, *ready;
    begin();
    const uint64_t bytes = ts__cs.code.bytes;
    ok(cuModuleLoadData(&one, changed));
    void *const function = function_of(one, "add");
    ok(cuStreamBeginCapture_v2(stream, 0));
    ok(launch(function, numbers, 3));
    ok(cuStreamEndCapture(stream, &graph));
    ok(cuGraphInstantiateWithFlags(&ready, graph, 0));
    ok(cuModuleUnload(one));
    assert_true(ts__cs.code.bytes > bytes);
    ok(cuMemsetD32Async(numbers, 4, COUNT, stream));
    ok(cuGraphLaunch(ready, stream));
    ok(cuGraphExecDestroy(ready));
    assert_int_equal(ts__cs.code.bytes, bytes);
    end();
    code_is(1, changed);
    assert_int_equal(first_of(capture_at(1).regions[0].after), 7);
    rt_close(&trace);
}

int main(void)
{
    return unit_run(start_modules, finish_modules);
}
