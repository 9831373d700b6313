// Captures of CUDA: contexts that are destroyed, with all that belongs to them.
#define TRACESMITH_CUPTI_IMPLEMENTATION // the test looks inside
#include "tests/backends/cuda/cuda_capture_fixture.h"

#define CONTEXT_CALLS(X) \
    X(cuCtxCreate_v2, (void **, unsigned, int)) \
    X(cuCtxDestroy_v2, (void *)) \
    X(cuCtxSetCurrent, (void *)) \
    X(cuDevicePrimaryCtxRetain, (void **, int)) \
    X(cuDevicePrimaryCtxRelease_v2, (int)) \
    X(cuDevicePrimaryCtxReset_v2, (int)) \
    X(cuStreamQuery, (void *)) \
    X(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long)) \
    X(cuGraphLaunch, (void *, void *))
CONTEXT_CALLS(CU_DECLARE)

static int start_contexts(void **user)
{
    if (start(user)) return -1;
    CONTEXT_CALLS(CU_FIND)
    return 0;
}

// What a program makes in a context.
typedef struct scene {
    void *context, *module, *add, *stream;
    uint64_t numbers;
} scene;

// In the one that the thread is in.
static void furnish(scene *s)
{
    ok(cuModuleLoadData(&s->module, cubin));
    ok(cuModuleGetFunction(&s->add, s->module, "add"));
    ok(cuStreamCreate(&s->stream, 1));
    ok(cuMemAlloc_v2(&s->numbers, BYTES));
}

static scene scene_made(void)
{
    scene s;
    ok(cuCtxCreate_v2(&s.context, 0, 0));
    furnish(&s);
    return s;
}

static int launch_in(const scene *s, uint32_t value)
{
    uint64_t to = s->numbers;
    void *arguments[] = { &to, &value };
    return cuLaunchKernel(s->add, 4, 1, 1, 256, 1, 1, 0, s->stream, arguments,
                          NULL);
}

static uint64_t texture_of(uint64_t memory)
{
    const uint32_t how[26] = { 1, 1, 1, 0, 1 };
    const uint64_t resource[18] = { TS__CUDA_LINEAR, memory,
                                    3 | UINT64_C(1) << 32, BYTES };
    uint64_t handle;
    ok(cuTexObjectCreate(&handle, resource, how, NULL));
    return handle;
}

static void *graph_of(const scene *s)
{
    void *graph, *ready;
    ok(cuStreamBeginCapture_v2(s->stream, 0));
    ok(launch_in(s, 3));
    ok(cuStreamEndCapture(s->stream, &graph));
    ok(cuGraphInstantiateWithFlags(&ready, graph, 0));
    return ready;
}

typedef struct kept { // the size of what captures know
    size_t streams, owns, ranges, textures, graphs, modules, attributes;
    uint64_t bytes;
} kept;

static kept kept_now(void)
{
    kept k;
    memset(&k, 0, sizeof k);
    for (size_t i = 0; i < ts__cs.driver.own_count; i++)
        k.owns += ts__cs.driver.owns[i].stream != NULL;
    k.streams = ts__cs.driver.stream_count;
    k.ranges = ts__cs.range_count;
    k.textures = ts__cs.texture_count;
    k.graphs = ts__cs_ready.count;
    k.modules = ts__cs.code.module_count;
    k.attributes = ts__cs.code.attribute_count;
    k.bytes = ts__cs.code.bytes;
    return k;
}

UNIT_TEST(a_context_that_goes_takes_what_is_of_it)
{
    uint64_t managed, there, handle;
    const uint64_t piece = 2 << 20;
    begin();
    ok(launch(add, numbers, 1));
    const kept before = kept_now();
    const scene s = scene_made();
    ok(cuMemAllocManaged(&managed, BYTES, 1));
    ok(cuFuncSetAttribute(s.add, 8, 64 << 10));
    texture_of(s.numbers);
    ok(cuGraphLaunch(graph_of(&s), s.stream));
    ok(launch_in(&s, 1));
    const kept within = kept_now();
    assert_int_equal(within.streams, before.streams + 1);
    assert_int_equal(within.owns, before.owns + 1);
    assert_int_equal(within.ranges, before.ranges + 2);
    assert_int_equal(within.textures, before.textures + 1);
    assert_int_equal(within.graphs, before.graphs + 1);
    assert_int_equal(within.modules, before.modules + 1);
    assert_int_equal(within.attributes, before.attributes + 1);
    // What is mapped is of no context.
    ok(cuMemAddressReserve(&there, piece, 0, 0, 0));
    ok(cuMemCreate(&handle, piece, &there, 0));
    ok(cuMemMap(there, piece, 0, handle, 0));
    ok(cuCtxDestroy_v2(s.context));
    assert_non_null(ts__cs_range_of(there));
    ok(cuMemUnmap(there, piece));
    ok(cuMemRelease(handle));
    ok(cuMemAddressFree(there, piece));
    const kept after = kept_now();
    assert_memory_equal(&after, &before, sizeof after);
    ok(launch(add, numbers, 1));
    end();
    assert_int_equal(ts_reader_capture_count(trace.reader), 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(capture_at(i).head.state, TS_CAPTURE_WHOLE);
    rt_close(&trace);
}

// More of them than there are places for at a time; each is hashed by a kernel
// that is loaded into it.
UNIT_TEST(contexts_with_handles_of_before_are_others)
{
    enum { MANY = 20 };
    const ts_capture_desc what = { .drain_ms = 60000,
                                   .hash = TS_CAPTURE_HASH_DEVICE };
    uint64_t so_far = 0;
    scene first;
    begin_with(&what);
    for (uint32_t i = 0; i < MANY; i++) {
        const scene s = scene_made();
        if (!i) first = s;
        assert_ptr_equal(s.context, first.context);
        assert_ptr_equal(s.stream, first.stream);
        assert_int_equal(s.numbers, first.numbers);
        ok(cuMemsetD32Async(s.numbers, 10 * i, COUNT, s.stream));
        ok(launch_in(&s, 1));
        ok(launch_in(&s, 0)); // so there is something that is as it was
        assert_true(ts_capture_result().device_bytes > so_far);
        so_far = ts_capture_result().device_bytes;
        ok(cuCtxDestroy_v2(s.context));
    }
    end();
    assert_int_equal(ts_reader_capture_count(trace.reader), 3 * MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        const ts_capture c = capture_at(3 * i + 1);
        assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
        assert_int_equal(first_of(c.regions[0].before), 10 * i);
        assert_int_equal(first_of(c.regions[0].after), 10 * i + 1);
    }
    // Operations of the captures themselves are not recorded.
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 2 * MANY);
    assert_int_equal(rt_rows(&trace, TS_EVENT_MEMCPY, NULL), 0);
    assert_string_equal(cu_text(&trace, "capture.hash.cuda"), "on the device");
    rt_close(&trace);
}

UNIT_TEST(a_reset_ends_the_first_context)
{
    void *context;
    begin();
    const kept none = { 0 };
    ok(launch(add, numbers, 1));
    ok(cuDevicePrimaryCtxReset_v2(0));
    const kept after = kept_now();
    assert_memory_equal(&after, &none, sizeof after);
    assert_int_not_equal(launch(add, numbers, 1), 0);
    ok(cuDevicePrimaryCtxRetain(&context, 0));
    scene s;
    furnish(&s);
    numbers = s.numbers; // to be freed
    ok(cuMemsetD32Async(s.numbers, 5, COUNT, s.stream));
    ok(launch_in(&s, 1));
    end();
    assert_int_equal(ts_reader_capture_count(trace.reader), 4);
    assert_int_equal(capture_at(0).head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(capture_at(1).head.state, TS_CAPTURE_DECLINED);
    assert_int_equal(capture_at(3).head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(first_of(capture_at(3).regions[0].after), 6);
    rt_close(&trace);
}

UNIT_TEST(who_lets_go_last_ends_a_primary_context)
{
    void *context;
    scene s;
    begin();
    ok(cuDevicePrimaryCtxRetain(&context, 1));
    ok(cuDevicePrimaryCtxRetain(&context, 1));
    ok(cuCtxSetCurrent(context));
    const kept before = kept_now();
    furnish(&s);
    ok(launch_in(&s, 1));
    ok(cuDevicePrimaryCtxRelease_v2(1));
    ok(launch_in(&s, 1));
    ok(cuDevicePrimaryCtxRelease_v2(1));
    const kept after = kept_now();
    assert_memory_equal(&after, &before, sizeof after);
    ok(cuCtxSetCurrent(NULL));
    ok(launch(add, numbers, 1));
    end();
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(capture_at(i).head.state, TS_CAPTURE_WHOLE);
    rt_close(&trace);
}

static void *launch_for_ever(void *user)
{
    const scene *const s = user;
    ok(cuCtxSetCurrent(s->context));
    ok(launch_in(s, 1));
    return NULL;
}

// The bound is longer than any run of this test.
UNIT_TEST(who_asks_about_a_context_that_goes_waits_no_longer)
{
    const ts_capture_desc patient = { .drain_ms = 3600000 };
    pthread_t thread;
    begin_with(&patient);
    scene s = scene_made();
    ok(launch_in(&s, 1));
    setenv("DOUBLE_CUDA_HANG", "add", 1);
    ok(pthread_create(&thread, NULL, launch_for_ever, &s));
    while (cuStreamQuery(s.stream) != TS__CUDA_NOT_READY)
        usleep(1000);
    ok(cuCtxDestroy_v2(s.context));
    ok(pthread_join(thread, NULL));
    unsetenv("DOUBLE_CUDA_HANG");
    assert_false(ts__cs.late); // which hurries nothing else
    ok(launch(add, numbers, 1));
    end();
    assert_int_equal(capture_at(0).head.state, TS_CAPTURE_WHOLE);
    declined_for(1, TS_REASON_DRAIN_TIMEOUT);
    assert_int_equal(capture_at(2).head.state, TS_CAPTURE_WHOLE);
    rt_close(&trace);
}

// It waits for operations that are launched after it, so it is not waited for,
// which would take an hour.
UNIT_TEST(a_kernel_that_needs_others_is_let_through)
{
    const ts_capture_desc patient = { .drain_ms = 3600000 };
    begin_with(&patient);
    scene s = scene_made();
    ok(launch_in(&s, 1));
    ok(cuModuleGetFunction(&s.add, s.module, "ncclDevKernel_Double"));
    setenv("DOUBLE_CUDA_HANG", "ncclDevKernel_Double", 1);
    ok(launch_in(&s, 0));
    ok(launch_in(&s, 0));
    unsetenv("DOUBLE_CUDA_HANG");
    ok(cuCtxDestroy_v2(s.context));
    ok(launch(add, numbers, 1));
    end();
    assert_int_equal(ts_reader_capture_count(trace.reader), 4);
    assert_int_equal(capture_at(0).head.state, TS_CAPTURE_WHOLE);
    declined_for(1, TS_REASON_COLLECTIVE);
    declined_for(2, TS_REASON_COLLECTIVE);
    assert_int_equal(capture_at(3).head.state, TS_CAPTURE_WHOLE);
    rt_close(&trace);
}

static bool capture_goes_on(bool goes_on)
{
    pthread_mutex_lock(&ts__cs.exclusive_lock);
    const bool disturbed = ts__cs.disturbed;
    ts__cs.capturing = goes_on;
    ts__cs.disturbed = false;
    pthread_mutex_unlock(&ts__cs.exclusive_lock);
    return disturbed;
}

// A capture on another thread may wait for a kernel that waits for this thread.
// Waiting for that capture would take an hour, too.
UNIT_TEST(what_others_need_waits_for_no_capture)
{
    const ts_capture_desc patient = { .drain_ms = 3600000 };
    void *function, *graph, *ready;
    begin_with(&patient);
    ok(cuModuleGetFunction(&function, module, "ncclDevKernel_Double"));
    ok(cuStreamBeginCapture_v2(stream, 0));
    ok(launch(add, numbers, 0));
    ok(launch(function, numbers, 0));
    ok(cuStreamEndCapture(stream, &graph));
    ok(cuGraphInstantiateWithFlags(&ready, graph, 0));
    capture_goes_on(true);
    ok(launch(function, numbers, 0));
    assert_true(capture_goes_on(false));
    ok(launch(function, numbers, 0));
    assert_false(capture_goes_on(true));
    ok(cuGraphLaunch(ready, stream));
    assert_true(capture_goes_on(false));
    end();
    assert_int_equal(ts_reader_capture_count(trace.reader), 3);
    for (size_t i = 0; i < 3; i++)
        declined_for(i, TS_REASON_COLLECTIVE);
    rt_close(&trace);
}

static void *come_and_go(void *user)
{
    for (int i = 0; i < 10; i++) {
        uint64_t own;
        void *context, *other;
        ok(cuCtxCreate_v2(&context, 0, 0));
        ok(cuStreamCreate(&other, 1));
        ok(cuMemAlloc_v2(&own, BYTES));
        ok(cuMemsetD32Async(own, 1, COUNT, other));
        ok(cuCtxDestroy_v2(context));
    }
    return user;
}

UNIT_TEST(contexts_are_destroyed_during_captures)
{
    pthread_t threads[3];
    begin();
    for (int i = 0; i < 3; i++)
        ok(pthread_create(&threads[i], NULL, come_and_go, NULL));
    for (int i = 0; i < 10; i++)
        ok(launch(add, numbers, 1));
    for (int i = 0; i < 3; i++)
        ok(pthread_join(threads[i], NULL));
    end();
    assert_int_equal(ts_reader_capture_count(trace.reader), 40);
    for (size_t i = 0; i < 40; i++)
        assert_int_equal(capture_at(i).head.state, TS_CAPTURE_WHOLE);
    rt_close(&trace);
}

// A session with a capture in a context that is then destroyed unseen.
static scene scene_of_before(void)
{
    begin();
    const scene s = scene_made();
    ok(cuFuncSetAttribute(s.add, 8, 64 << 10));
    ok(launch_in(&s, 1));
    ok(cuCtxSetCurrent(NULL));
    end();
    rt_close(&trace);
    ok(cuCtxDestroy_v2(s.context));
    begin();
    return s;
}

UNIT_TEST(a_context_that_went_between_sessions_is_another)
{
    const scene before = scene_of_before();
    ok(launch(add, numbers, 1));
    const scene s = scene_made();
    assert_ptr_equal(s.context, before.context);
    ok(launch_in(&s, 1));
    ok(launch_in(&s, 1));
    ok(cuCtxDestroy_v2(s.context));
    end();
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(capture_at(i).head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 3);
    rt_close(&trace);
}

// The driver is asked for the first time when the other one has a module.
UNIT_TEST(what_it_loaded_before_anybody_asked_stays)
{
    ts_attribute a;
    const scene before = scene_of_before(), s = scene_made();
    assert_ptr_equal(s.context, before.context);
    ok(launch_in(&s, 1));
    assert_ptr_equal(add, before.add); // what was said of that one is over
    ok(launch(add, numbers, 1));
    ok(cuCtxDestroy_v2(s.context));
    end();
    const ts_capture c = capture_at(1);
    assert_int_equal(capture_at(0).head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    assert_false(
        ts_attribute_find(&c.attributes, TS_ATTRIBUTE_FUNCTION, 8, &a));
    rt_close(&trace);
}

static bool find_nothing(ts__cs_driver *d)
{
    return false;
}

UNIT_TEST(another_vendor_begins_anew)
{
    static const ts__cs_vendor other = { .refusal = "capture.other",
                                         .find = find_nothing };
    begin();
    ok(launch(add, numbers, 1));
    assert_true(ts__cs.driver.own_count > 0);
    end();
    rt_close(&trace);
    assert_true(ts__cs_start(&other, UINT32_MAX));
    const kept now = kept_now();
    assert_int_equal(now.streams, 0);
    assert_int_equal(now.owns, 0);
    assert_null(ts__cs.driver.made);
    ts__cs_stop(&other);
    begin(); // and so does the first one after it
    ok(launch(add, numbers, 1));
    end();
    assert_int_equal(capture_at(0).head.state, TS_CAPTURE_WHOLE);
    rt_close(&trace);
}

int main(void)
{
    return unit_run(start_contexts, finish);
}
