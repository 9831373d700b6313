// Captures of CUDA, on doubles of the driver and of CUPTI.
#include "tests/cupti_fixture.h"

enum { COUNT = 1024, BYTES = 4 * COUNT };

#define CALLS(X) \
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
    X(cuMemcpyDtoHAsync_v2, (void *, uint64_t, size_t, void *)) \
    X(cuMemsetD32Async, (uint64_t, unsigned, size_t, void *)) \
    X(cuLaunchKernel, \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
       unsigned, void *, void **, void **)) \
    X(cuLaunchKernelEx, (const void *, void *, void **, void **)) \
    X(cuStreamCreate, (void **, unsigned)) \
    X(cuStreamBeginCapture_v2, (void *, int)) \
    X(cuStreamEndCapture, (void *, void **))

#define X(name, parameters) static int(*name) parameters;
CALLS(X)
#undef X

static const char *path;
static void *cubin, *module, *add, *stream;
static uint64_t numbers;
static rt_trace trace;

static void ok(int result)
{
    assert_int_equal(result, 0);
}

static char *beside(const char *name)
{
    static char file[PATH_MAX + 64];
    const ssize_t size = readlink("/proc/self/exe", file, PATH_MAX);
    assert_true(size > 0);
    file[size] = 0;
    snprintf(strrchr(file, '/'), 64, "/doubles/%s", name);
    return file;
}

static int start(void **user)
{
    (void)user;
    cu_load("libcupti.so");
    cu_set("version", 130001);
    void *const driver = dlopen(beside("libcuda.so"), RTLD_NOW | RTLD_GLOBAL);
    FILE *const file = fopen(beside("libcubin.so"), "rb");
    if (!driver || !file || fseek(file, 0, SEEK_END)) return -1;
    const size_t size = (size_t)ftell(file);
    rewind(file);
    cubin = malloc(size);
    if (!cubin || fread(cubin, 1, size, file) != size) return -1;
    fclose(file);
#define X(name, parameters) \
    { \
        void *const symbol = cu_symbol(driver, #name); \
        memcpy(&name, &symbol, sizeof name); \
    }
    CALLS(X)
#undef X
    ts_cupti_initialize();
    return 0;
}

static int finish(void **user)
{
    (void)user;
    free(cubin);
    return 0;
}

// A session whose captures may begin at any time, with one that has begun.
static void begin_with(const ts_snapshot_desc *what)
{
    const ts_cupti_desc operations = { .operations = true };
    path = rt_path("capture.sbt");
    const ts_session_desc session = { .path = path };
    ok(ts_cupti_configure(&operations));
    ok(ts_session_start(&session));
    ok(cuModuleLoadData(&module, cubin));
    ok(cuModuleGetFunction(&add, module, "add"));
    ok(cuStreamCreate(&stream, 1));
    ok(cuMemAlloc_v2(&numbers, BYTES));
    ok(ts_snapshot_start(what));
}

static void begin(void)
{
    const ts_snapshot_desc hasty = { .drain_ms = 300 };
    begin_with(&hasty);
}

static void end(void)
{
    ts_snapshot_stop();
    ok(cuMemFree_v2(numbers));
    trace = cu_end(path);
}

static int launch(void *function, uint64_t address, uint32_t value)
{
    void *arguments[] = { &address, &value };
    return cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, stream, arguments,
                          NULL);
}

static ts_capture capture_at(size_t index)
{
    ts_capture c;
    assert_true(ts_reader_capture(trace.reader, index, &c));
    return c;
}

// The first number of what a region held.
static uint32_t first_of(const uint64_t list[2])
{
    const void *hashes, *bytes;
    size_t size;
    uint64_t hash[2];
    uint32_t value;
    ok(ts_reader_blob(trace.reader, list, &hashes, &size));
    memcpy(hash, hashes, sizeof hash);
    ok(ts_reader_blob(trace.reader, hash, &bytes, &size));
    memcpy(&value, bytes, sizeof value);
    return value;
}

/* ---- What is kept ------------------------------------------------------- */

static void a_kernel_is_kept_with_code_arguments_and_memory(void **user)
{
    ts_capture_image image;
    const void *bytes;
    size_t size;
    (void)user;
    begin();
    ok(cuMemsetD32Async(numbers, 40, COUNT, stream));
    ok(launch(add, numbers + 8, 2));
    end();
    assert_int_equal(ts_reader_capture_count(trace.reader), 2);
    const ts_capture c = capture_at(1);
    assert_int_equal(c.head.kind, TS_EVENT_KERNEL);
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(c.head.grid[0], 4);
    assert_int_equal(c.head.block[0], 256);
    assert_int_equal(c.head.args_size, 12);
    assert_int_equal(c.head.param_count, 2);
    assert_int_equal(c.params[0].type, TS_PARAM_POINTER);
    assert_int_equal(c.params[1].type, TS_PARAM_UNKNOWN);
    assert_int_equal(c.regions[0].address, numbers);
    assert_int_equal(c.regions[0].size, BYTES);
    assert_int_equal(first_of(c.regions[0].before), 40);
    assert_int_equal(c.params[1].offset, 8);
    assert_true(ts_reader_image(trace.reader, c.head.image, &image));
    assert_int_equal(image.form, TS_CAPTURE_CUBIN);
    ok(ts_reader_blob(trace.reader, image.hash, &bytes, &size));
    assert_memory_equal(bytes, cubin, size);
    // It lies where the operation does, and has its correlation.
    const rt_row *const row = rt_only(&trace, TS_EVENT_KERNEL, "add");
    assert_int_equal(row->track, c.head.track);
    assert_int_equal(row->values[TS_COLUMN_CORRELATION], c.head.correlation);
    rt_close(&trace);
}

static void reads_of_the_capture_are_no_operations(void **user)
{
    (void)user;
    begin();
    for (int i = 0; i < 5; i++)
        ok(launch(add, numbers, 1));
    end();
    assert_int_equal(rt_rows(&trace, TS_EVENT_MEMCPY, NULL), 0);
    assert_int_equal(rt_rows(&trace, TS_EVENT_DEVICE_SYNC, NULL), 0);
    cu_assert_nothing_lost(&trace);
    assert_int_equal(cu_fact(&trace, "capture.whole"), 5);
    rt_close(&trace);
}

static void copies_keep_the_hosts_bytes(void **user)
{
    const uint32_t in = 77;
    uint32_t out = 0;
    (void)user;
    begin();
    ok(cuMemcpyHtoD_v2(numbers, &in, 4));
    ok(cuMemcpyDtoHAsync_v2(&out, numbers, 4, stream));
    end();
    assert_int_equal(out, 77);
    const ts_capture to = capture_at(0), from = capture_at(1);
    assert_int_equal(to.head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(to.head.destination, numbers);
    assert_int_equal(to.head.source, (uintptr_t)&in);
    assert_int_equal(first_of(from.regions[1].after), 77);
    rt_close(&trace);
}

static void attributes_are_kept_as_they_are(void **user)
{
    const struct {
        uint32_t id, pad, value[16];
    } cluster = { 4, 0, { 2, 1, 1 } };
    const struct {
        uint32_t grid[3], block[3], shared;
        void *stream;
        const void *attributes;
        uint32_t count;
    } how = { { 2, 1, 1 }, { 32, 1, 1 }, 60 << 10, stream, &cluster, 1 };
    uint32_t value = 1;
    void *arguments[] = { &numbers, &value };
    ts_attribute a;
    (void)user;
    begin();
    ok(cuFuncSetAttribute(add, 8, 64 << 10));
    ok(cuLaunchKernelEx(&how, add, arguments, NULL));
    end();
    const ts_capture c = capture_at(0);
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(c.head.shared, 60 << 10);
    assert_true(
        ts_attribute_find(&c.attributes, TS_ATTRIBUTE_CUDA_LAUNCH, 72, &a));
    assert_memory_equal(a.bytes, &cluster, sizeof cluster);
    assert_true(ts_attribute_find(&c.attributes, TS_ATTRIBUTE_FUNCTION, 8, &a));
    assert_int_equal(((const int32_t *)a.bytes)[1], 64 << 10);
    rt_close(&trace);
}

static void a_kernel_of_a_library_is_found_when_it_is_launched(void **user)
{
    void *library, *kernel;
    (void)user;
    begin();
    ok(cuLibraryLoadData(&library, cubin, NULL, NULL, 0, NULL, NULL, 0));
    ok(cuLibraryGetKernel(&kernel, library, "add"));
    ok(launch(kernel, numbers, 5));
    end();
    assert_int_equal(capture_at(0).head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(capture_at(0).head.param_count, 2);
    rt_close(&trace);
}

// Nobody saw it being allocated; the driver knows it.
static void memory_of_before_the_session_is_asked_for(void **user)
{
    uint64_t old;
    (void)user;
    ok(cuMemAlloc_v2(&old, BYTES));
    begin();
    ok(launch(add, old, 1));
    end();
    const ts_capture c = capture_at(0);
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(c.regions[0].address, old);
    ok(cuMemFree_v2(old));
    rt_close(&trace);
}

static void a_trigger_finds_modules_of_before_it(void **user)
{
    const ts_snapshot_desc one = { .operations = 1 };
    const ts_session_desc session = { .path = rt_path("trigger.sbt") };
    (void)user;
    ok(ts_cupti_configure(NULL));
    ok(ts_snapshot_arm(&one));
    ok(ts_session_start(&session));
    ok(cuModuleLoadData(&module, cubin));
    ok(cuModuleGetFunction(&add, module, "add"));
    ok(cuMemAlloc_v2(&numbers, BYTES));
    ok(launch(add, numbers, 1));
    ts_snapshot_trigger();
    ok(launch(add, numbers, 1));
    ok(launch(add, numbers, 1));
    path = session.path;
    end();
    assert_int_equal(ts_reader_capture_count(trace.reader), 1);
    assert_int_equal(capture_at(0).head.state, TS_CAPTURE_WHOLE);
    rt_close(&trace);
}

static void what_is_not_wanted_is_looked_at_again(void **user)
{
    const ts_snapshot_desc second = { .kernels = "add", .first = 1 };
    (void)user;
    begin_with(&second);
    ok(launch(add, numbers, 1));
    ok(launch(add, numbers, 1));
    ok(launch(add, numbers, 1));
    end();
    assert_int_equal(ts_reader_capture_count(trace.reader), 2);
    const ts_capture c = capture_at(1);
    const uint32_t before = first_of(c.regions[0].before);
    assert_int_equal(first_of(c.regions[0].after), before + 1);
    rt_close(&trace);
}

/* ---- What is declined --------------------------------------------------- */

static void declined_for(size_t index, ts_reason reason)
{
    const ts_capture c = capture_at(index);
    assert_int_equal(c.head.state, TS_CAPTURE_DECLINED);
    assert_string_equal(ts_reason_name(c.head.reason), ts_reason_name(reason));
}

static void managed_memory_and_recorded_streams_are_declined(void **user)
{
    uint64_t managed;
    void *graph;
    (void)user;
    begin();
    ok(cuMemAllocManaged(&managed, BYTES, 1));
    ok(launch(add, managed, 1));
    ok(cuStreamBeginCapture_v2(stream, 0));
    ok(launch(add, numbers, 1));
    ok(cuStreamEndCapture(stream, &graph));
    ok(launch(add, numbers, 1));
    ok(cuMemFree_v2(managed));
    end();
    declined_for(0, TS_REASON_UVM);
    declined_for(1, TS_REASON_IN_CAPTURE);
    assert_int_equal(capture_at(2).head.state, TS_CAPTURE_WHOLE);
    rt_close(&trace);
}

static void a_launch_that_fails_is_declined_and_says_so(void **user)
{
    (void)user;
    begin();
    assert_int_not_equal(
        cuLaunchKernel(add, 0, 1, 1, 1, 1, 1, 0, stream, NULL, NULL), 0);
    ok(launch(add, numbers, 1));
    end();
    declined_for(0, TS_REASON_DEVICE_FAILED);
    assert_int_equal(capture_at(1).head.state, TS_CAPTURE_WHOLE);
    rt_close(&trace);
}

// It would stop for ever otherwise: the program goes on after a while.
static void a_driver_that_locks_is_found_out_once(void **user)
{
    (void)user;
    begin();
    setenv("DOUBLE_CUDA_LOCK", "1", 1);
    for (int i = 0; i < 20; i++)
        ok(launch(add, numbers, 1));
    unsetenv("DOUBLE_CUDA_LOCK");
    end();
    for (size_t i = 0; i < 20; i++)
        declined_for(i, TS_REASON_DEVICE_FAILED);
    CU_ASSERT_SAYS(&trace, "capture.cuda", "does not answer");
    rt_close(&trace);
}

static void *launch_many(void *user)
{
    for (int i = 0; i < 20; i++) {
        uint64_t own;
        ok(cuMemAlloc_v2(&own, BYTES));
        ok(launch(user, own, 1));
        ok(cuMemFree_v2(own));
    }
    return NULL;
}

static void threads_take_turns(void **user)
{
    const ts_snapshot_desc patient = { .drain_ms = 60000 };
    pthread_t threads[3];
    (void)user;
    begin_with(&patient);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, launch_many, add),
                         0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    end();
    assert_int_equal(cu_fact(&trace, "capture.whole"), 60);
    for (size_t i = 0; i < 60; i++) {
        const ts_capture c = capture_at(i);
        assert_int_equal(first_of(c.regions[0].after),
                         first_of(c.regions[0].before) + 1);
    }
    rt_close(&trace);
}

// The last one: nothing of this driver works afterwards.
static void a_device_that_hangs_costs_its_bound(void **user)
{
    (void)user;
    begin();
    ok(launch(add, numbers, 1));
    setenv("DOUBLE_CUDA_HANG", "add", 1);
    for (int i = 0; i < 5; i++)
        ok(launch(add, numbers, 1));
    unsetenv("DOUBLE_CUDA_HANG");
    end();
    assert_int_equal(capture_at(0).head.state, TS_CAPTURE_WHOLE);
    for (size_t i = 1; i < 6; i++)
        declined_for(i, TS_REASON_DRAIN_TIMEOUT);
    rt_close(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_is_kept_with_code_arguments_and_memory),
        cmocka_unit_test(reads_of_the_capture_are_no_operations),
        cmocka_unit_test(copies_keep_the_hosts_bytes),
        cmocka_unit_test(attributes_are_kept_as_they_are),
        cmocka_unit_test(a_kernel_of_a_library_is_found_when_it_is_launched),
        cmocka_unit_test(memory_of_before_the_session_is_asked_for),
        cmocka_unit_test(a_trigger_finds_modules_of_before_it),
        cmocka_unit_test(what_is_not_wanted_is_looked_at_again),
        cmocka_unit_test(managed_memory_and_recorded_streams_are_declined),
        cmocka_unit_test(a_launch_that_fails_is_declined_and_says_so),
        cmocka_unit_test(a_driver_that_locks_is_found_out_once),
        cmocka_unit_test(threads_take_turns),
        cmocka_unit_test(a_device_that_hangs_costs_its_bound),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
