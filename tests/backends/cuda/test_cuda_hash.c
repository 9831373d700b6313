// Captures of CUDA with hashes by the device: what is kept, what is copied.
#define TRACESMITH_CUPTI_IMPLEMENTATION // the test looks inside
#include "tests/backends/cuda/cuda_capture_fixture.h"

enum { CHUNKS = 40, LARGE = CHUNKS * TS_CAPTURE_CHUNK + 100 };

typedef struct kept_run {
    uint64_t hash[2], looked, by_device;
    char how[512];
} kept_run;

static uint64_t large;

// Three kernels that change one chunk of many, and one that restores it. Hashes
// of earlier contexts are forgotten, so that the kernel is loaded again.
static kept_run run_as(ts_capture_hash where)
{
    const ts_capture_desc what = { .drain_ms = 60000, .hash = where };
    static uint32_t fives[16384];
    const uint32_t seven = 7;
    kept_run run;
    ts__cs.driver.own_count = 0;
    begin_with(&what);
    if (!large) ok(cuMemAlloc_v2(&large, LARGE));
    for (uint32_t i = 0; i < CHUNKS; i++)
        ok(cuMemsetD32Async(large + i * TS_CAPTURE_CHUNK, i, 16384, stream));
    for (int i = 0; i < 3; i++)
        ok(launch(add, large + 5 * TS_CAPTURE_CHUNK, 1));
    for (uint32_t i = 0; i < 16384; i++)
        fives[i] = 5;
    ok(cuMemcpyHtoD_v2(large + 5 * TS_CAPTURE_CHUNK, fives, sizeof fives));
    ok(cuMemcpyHtoD_v2(large + LARGE - 4, &seven, 4));
    ok(launch(add, numbers, 1)); // too small to be hashed there
    const ts_capture_figures f = ts_capture_result();
    end();
    run.looked = f.looked_bytes;
    run.by_device = f.device_bytes;
    hash_captures(CHUNKS + 6, run.hash);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 4);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "ts_hash_chunks"), 0);
    assert_int_equal(rt_rows(&trace, TS_EVENT_MEMCPY, NULL), 2);
    cu_assert_nothing_lost(&trace);
    snprintf(run.how, sizeof run.how, "%s",
             cu_text(&trace, "capture.hash.cuda"));
    rt_close(&trace);
    return run;
}

// The first run finds memory that no other one left.
static kept_run run_on_host(void)
{
    run_as(TS_CAPTURE_HASH_HOST);
    return run_as(TS_CAPTURE_HASH_HOST);
}

UNIT_TEST(what_is_kept_is_the_same_and_less_is_copied)
{
    const kept_run host = run_on_host();
    const kept_run some = run_as(TS_CAPTURE_HASH_AUTO);
    const kept_run all = run_as(TS_CAPTURE_HASH_DEVICE);
    assert_string_equal(host.how, "on the host");
    assert_string_equal(some.how, "on the device");
    assert_string_equal(all.how, "on the device");
    assert_int_equal(host.by_device, 0);
    assert_int_equal(host.looked, some.looked);
    assert_int_equal(host.looked, all.looked);
    // Of each kernel all but the chunk that it changed; under 256 KiB nothing
    // is hashed there unless it is to be.
    assert_true(some.by_device > (uint64_t)3 * (CHUNKS - 1) * TS_CAPTURE_CHUNK);
    assert_int_equal(all.by_device - some.by_device, TS_CAPTURE_CHUNK);
    assert_memory_equal(host.hash, some.hash, 16);
    assert_memory_equal(host.hash, all.hash, 16);
}

UNIT_TEST(a_driver_that_does_not_take_the_kernel_is_no_hindrance)
{
    const kept_run host = run_on_host();
    setenv("DOUBLE_CUDA_HASH", "/nowhere", 1);
    const kept_run run = run_as(TS_CAPTURE_HASH_DEVICE);
    unsetenv("DOUBLE_CUDA_HASH");
    assert_string_equal(run.how,
                        "on the host: the driver cannot load the kernel");
    assert_int_equal(run.by_device, 0);
    assert_memory_equal(host.hash, run.hash, 16);
}

UNIT_TEST(a_device_that_hashes_wrongly_is_found_out)
{
    const kept_run host = run_on_host();
    setenv("DOUBLE_HASH_WRONG", "1", 1);
    const kept_run run = run_as(TS_CAPTURE_HASH_DEVICE);
    unsetenv("DOUBLE_HASH_WRONG");
    assert_string_equal(run.how,
                        "on the host: the device computes wrong hashes");
    assert_int_equal(run.by_device, 0);
    assert_memory_equal(host.hash, run.hash, 16);
}

int main(void)
{
    return unit_run(start, finish);
}
