// Captures of CUDA: what is declined, and threads, and drivers that hang.
#include "tests/cuda_capture_fixture.h"

static void managed_memory_is_declined_and_what_is_recorded_passes(void **user)
{
    uint64_t managed;
    void *graph;
    (void)user;
    begin();
    ok(cuMemAllocManaged(&managed, BYTES, 1));
    ok(launch(add, managed, 1));
    ok(cuStreamBeginCapture_v2(stream, 0));
    ok(launch(add, numbers, 1));
    assert_int_not_equal(cuStreamEndCapture(NULL, &graph), 0); // another one
    ok(launch(add, numbers, 1));
    ok(cuStreamEndCapture(stream, &graph));
    ok(launch(add, numbers, 1));
    ok(cuMemFree_v2(managed));
    end();
    declined_for(0, TS_REASON_UVM);
    // What was recorded did not run.
    assert_int_equal(ts_reader_capture_count(trace.reader), 2);
    assert_int_equal(capture_at(1).head.state, TS_CAPTURE_WHOLE);
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
    begin_hasty();
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
    pthread_t threads[3];
    (void)user;
    begin();
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

// Nobody can ask it any more: the context is waited for, once.
static void work_of_a_stream_that_is_gone_is_waited_for(void **user)
{
    const ts_snapshot_desc biased = { .kernels = "biased", .drain_ms = 300 };
    uint64_t to = 0;
    uint32_t value = 1;
    void *other, *function, *arguments[] = { &to, &numbers, &value };
    (void)user;
    begin_with(&biased);
    ok(cuModuleGetFunction(&function, module, "biased"));
    ok(cuMemAlloc_v2(&to, BYTES));
    ok(cuStreamCreate(&other, 1));
    ok(cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, stream, arguments,
                      NULL)); // what was before the session is waited for
    setenv("DOUBLE_CUDA_HANG", "add", 1);
    void *add_arguments[] = { &numbers, &value };
    ok(cuLaunchKernel(add, 4, 1, 1, 256, 1, 1, 0, other, add_arguments, NULL));
    ok(cuStreamDestroy_v2(other));
    for (int i = 0; i < 2; i++)
        ok(cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, stream, arguments,
                          NULL));
    unsetenv("DOUBLE_CUDA_HANG");
    // Until the driver answers again.
    for (int i = 0; i < 10000 && ts_snapshot_result().whole < 2; i++) {
        usleep(1000);
        ok(cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, stream, arguments,
                          NULL));
    }
    assert_int_equal(ts_snapshot_result().whole, 2);
    ok(cuMemFree_v2(to));
    end();
    assert_int_equal(capture_at(0).head.state, TS_CAPTURE_WHOLE);
    declined_for(1, TS_REASON_DRAIN_TIMEOUT);
    declined_for(2, TS_REASON_DRAIN_TIMEOUT);
    rt_close(&trace);
}

// The last one: nothing of this driver works afterwards.
static void a_device_that_hangs_costs_its_bound(void **user)
{
    (void)user;
    begin_hasty();
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
        cmocka_unit_test(
            managed_memory_is_declined_and_what_is_recorded_passes),
        cmocka_unit_test(a_launch_that_fails_is_declined_and_says_so),
        cmocka_unit_test(a_driver_that_locks_is_found_out_once),
        cmocka_unit_test(threads_take_turns),
        cmocka_unit_test(work_of_a_stream_that_is_gone_is_waited_for),
        cmocka_unit_test(a_device_that_hangs_costs_its_bound),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
