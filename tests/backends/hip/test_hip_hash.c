// Captures of HIP with hashes by the device, whose kernel hiprtc compiles.
#define CALLS(X) \
    X(hipSetDevice) \
    X(hipModuleLoadData) \
    X(hipModuleGetFunction) \
    X(hipStreamCreateWithFlags) \
    X(hipMalloc) \
    X(hipFree) \
    X(hipMemsetD32Async) \
    X(hipModuleLaunchKernel) \
    X(hipDeviceSynchronize)
#include "tests/backends/hip/hip_capture_fixture.h"

enum { CHUNKS = 40, LARGE = CHUNKS * TS_CAPTURE_CHUNK + 100 };

typedef struct kept_run {
    uint64_t hash[2], by_device;
    char how[200];
} kept_run;

static int times_compiled(void)
{
    int (*compiled)(void);
    void *const double_of = dlopen(double_path("libhiprtc.so"), RTLD_NOW);
    assert_non_null(double_of);
    void *const symbol = dlsym(double_of, "double_hiprtc_compiled");
    memcpy(&compiled, &symbol, sizeof compiled);
    return compiled();
}

static void read_how(kept_run *run)
{
    ts_metadata m;
    for (size_t i = 0; i < ts_reader_metadata_count(trace.reader); i++)
        if (ts_reader_metadata_at(trace.reader, i, &m) &&
            !strcmp(m.key.text, "capture.hash.hip"))
            snprintf(run->how, sizeof run->how, "%s", m.text.text);
}

// Kernels that change one chunk of many. Contexts are as if nothing had been
// hashed in them yet.
static kept_run run_as(ts_capture_hash where)
{
    const ts_capture_desc what = { .drain_ms = 60000, .hash = where };
    kept_run run = { { 0, 0 }, 0, "" };
    uint32_t *large, value = 1;
    void *arguments[] = { &large, &value };
    ts__cs.driver.own_count = 0;
    begin();
    ts_capture_stop();
    ok(ts_capture_arm(&what));
    ts_capture_trigger();
    ok(call_hipMalloc((void **)&large, LARGE));
    memset(large, 0, LARGE);
    for (int i = 0; i < 3; i++)
        ok(call_hipModuleLaunchKernel(add, 4, 1, 1, 256, 1, 1, 0, stream,
                                      arguments, NULL));
    ok(call_hipMemsetD32Async(large + 16384, 7, 16384, stream));
    run.by_device = ts_capture_result().device_bytes;
    ok(call_hipDeviceSynchronize());
    ok(call_hipFree(large));
    end();
    hash_captures(4, run.hash);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 3);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "ts_hash_chunks"), 0);
    read_how(&run);
    runs_the_same(4, 2, 0);
    rt_close(&trace);
    return run;
}

UNIT_TEST(what_is_kept_is_the_same_and_less_is_copied)
{
    ts__hs_hash.architecture[0] = '?'; // as if it was for another device
    const int before = times_compiled();
    const kept_run host = run_as(TS_CAPTURE_HASH_HOST);
    assert_string_equal(host.how, "on the host");
    assert_int_equal(host.by_device, 0);
    const kept_run device = run_as(TS_CAPTURE_HASH_AUTO);
    assert_string_equal(device.how, "on the device");
    assert_true(device.by_device > (uint64_t)(CHUNKS - 1) * TS_CAPTURE_CHUNK);
    assert_memory_equal(device.hash, host.hash, 16);
    const int times = times_compiled();
    assert_int_equal(times, before + 1);
    assert_string_equal(run_as(TS_CAPTURE_HASH_DEVICE).how, "on the device");
    assert_int_equal(times_compiled(), times); // its code is known
}

UNIT_TEST(without_a_compiler_the_host_hashes_and_it_is_said)
{
    ts__hs_hash.architecture[0] = '?'; // as if it was for another device
    setenv("DOUBLE_HIP_HASH", "/nowhere", 1);
    const kept_run run = run_as(TS_CAPTURE_HASH_AUTO);
    unsetenv("DOUBLE_HIP_HASH");
    assert_string_equal(run.how,
                        "on the host: hiprtc cannot compile the kernel");
    assert_int_equal(run.by_device, 0);
}

UNIT_TEST(a_device_that_hashes_wrongly_is_found_out)
{
    setenv("DOUBLE_HASH_WRONG", "1", 1);
    const kept_run run = run_as(TS_CAPTURE_HASH_AUTO);
    unsetenv("DOUBLE_HASH_WRONG");
    assert_string_equal(run.how,
                        "on the host: the device computes wrong hashes");
    assert_int_equal(run.by_device, 0);
}

int main(void)
{
    return unit_run(start, finish);
}
