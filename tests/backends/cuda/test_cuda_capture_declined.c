// Captures of CUDA: what is declined; threads; drivers that hang.
#define TRACESMITH_CUPTI_IMPLEMENTATION // the test looks inside
#include "tests/backends/cuda/cuda_capture_fixture.h"

UNIT_TEST(managed_memory_is_declined_and_what_is_recorded_passes)
{
    uint64_t managed;
    void *graph;
    begin();
    ok(cuMemAllocManaged(&managed, BYTES, 2)); // of the host first
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

// The host must not touch it while it is read.
UNIT_TEST(managed_memory_of_a_device_that_does_not_share_it)
{
    uint64_t managed, unseen;
    setenv("DOUBLE_CUDA_MANAGED", "0", 1);
    ok(cuMemAllocManaged(&unseen, BYTES, 1));
    begin();
    ok(cuMemAllocManaged(&managed, BYTES, 1));
    ok(launch(add, managed, 1));
    ok(launch(add, unseen, 1));
    ok(cuMemFree_v2(managed));
    ok(cuMemFree_v2(unseen));
    end();
    unsetenv("DOUBLE_CUDA_MANAGED");
    declined_for(0, TS_REASON_UVM);
    declined_for(1, TS_REASON_UVM);
    rt_close(&trace);
}

UNIT_TEST(a_launch_that_fails_is_declined_and_says_so)
{
    begin();
    assert_int_not_equal(
        cuLaunchKernel(add, 0, 1, 1, 1, 1, 1, 0, stream, NULL, NULL), 0);
    ok(launch(add, numbers, 1));
    end();
    declined_for(0, TS_REASON_DEVICE_FAILED);
    assert_int_equal(capture_at(1).head.state, TS_CAPTURE_WHOLE);
    rt_close(&trace);
}

// The next capture does not wait for long.
static void hurry(const char *kernels)
{
    const ts_capture_desc hasty = { .kernels = kernels, .drain_ms = 300 };
    ts_capture_stop();
    ok(ts_capture_start(&hasty));
}

// The program goes on after a while instead of hanging.
UNIT_TEST(a_driver_that_locks_is_found_out_once)
{
    begin_hasty();
    setenv("DOUBLE_CUDA_LOCK", "2", 1);
    for (int i = 0; i < 20; i++)
        ok(launch(add, numbers, 1));
    unsetenv("DOUBLE_CUDA_LOCK");
    end();
    for (size_t i = 0; i < 20; i++)
        declined_for(i, TS_REASON_DEVICE_FAILED);
    CU_ASSERT_SAYS(&trace, "capture.cuda", "does not respond");
    rt_close(&trace);
}

// Then the calling thread queries the driver, and its state is restored.
UNIT_TEST(a_driver_that_locks_is_asked_by_who_calls)
{
    void *before, *after;
    int (*now)(void **);
    void *const symbol = cu_symbol(RTLD_DEFAULT, "cuCtxGetCurrent");
    memcpy(&now, &symbol, sizeof now);
    begin_hasty();
    ok(now(&before));
    setenv("DOUBLE_CUDA_LOCK", "1", 1);
    for (int i = 0; i < 3; i++)
        ok(launch(add, numbers, 1));
    unsetenv("DOUBLE_CUDA_LOCK");
    ok(now(&after));
    end();
    assert_ptr_equal(before, after);
    CU_ASSERT_SAYS(&trace, "capture.thread", "the program's");
    assert_int_equal(ts_reader_capture_count(trace.reader), 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(capture_at(i).head.state, TS_CAPTURE_WHOLE);
    const ts_capture c = capture_at(2);
    assert_int_equal(first_of(c.regions[0].after),
                     first_of(c.regions[0].before) + 1);
    // None of it is the program's: its own calls are three.
    assert_int_equal(rt_rows(&trace, TS_EVENT_API_CALL, "cuLaunchKernel"), 3);
    assert_int_equal(rt_rows(&trace, TS_EVENT_MEMCPY, NULL), 0);
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

UNIT_TEST(threads_alternate)
{
    pthread_t threads[3];
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

// Finds what it is asked about, as nobody else does.
static bool find_object(ts__cs_job *job)
{
    job->found = job->object;
    return true;
}

static void *ask_many(void *user)
{
    ts__cs_job job;
    uintptr_t wrong = 0;
    memset(&job, 0, sizeof job);
    job.what = TS__CS_OWN;
    job.own = find_object;
    job.context = ts__cs.context;
    for (uintptr_t i = 1; i <= 300; i++) {
        job.object = (void *)((uintptr_t)user + i);
        wrong += !ts__cs_request(&ts__cs.driver, &job, ts__cs_until()) ||
                 job.found != job.object;
    }
    return (void *)wrong;
}

UNIT_TEST(threads_get_their_own_answers)
{
    pthread_t threads[4];
    void *wrong;
    begin();
    ok(launch(add, numbers, 1));
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, ask_many, (void *)(i << 20)), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    end();
    rt_close(&trace);
}

static int (*copy_down)(void *, uint64_t, size_t, void *);
static pthread_t intruder;

static void *allocate(void *user)
{
    uint64_t own;
    ok(cuMemAlloc_v2(&own, BYTES));
    ok(cuMemFree_v2(own));
    return user;
}

// While memory is read, another thread waits in vain for the lock.
static int copy_around(void *to, uint64_t from, size_t size, void *where)
{
    ts__cs.driver.call.to_host = copy_down;
    ts__cap_now.desc.drain_ms = 1;
    if (pthread_create(&intruder, NULL, allocate, NULL)) return 1;
    while (!ts__cs_is_disturbed(NULL))
        usleep(1000);
    ts__cap_now.desc.drain_ms = 60000;
    return copy_down(to, from, size, where);
}

UNIT_TEST(what_did_not_run_alone_is_declined)
{
    begin();
    ok(launch(add, numbers, 1));
    copy_down = ts__cs.driver.call.to_host;
    ts__cs.driver.call.to_host = copy_around;
    ok(launch(add, numbers, 1));
    assert_ptr_equal(ts__cs.driver.call.to_host, copy_down);
    pthread_join(intruder, NULL);
    ok(launch(add, numbers, 1));
    end();
    assert_int_equal(capture_at(0).head.state, TS_CAPTURE_WHOLE);
    declined_for(1, TS_REASON_DRAIN_TIMEOUT);
    assert_int_equal(capture_at(2).head.state, TS_CAPTURE_WHOLE);
    rt_close(&trace);
}

static bool is_busy(void)
{
    pthread_mutex_lock(&ts__cs.driver.lock);
    const bool busy = ts__cs.driver.busy;
    pthread_mutex_unlock(&ts__cs.driver.lock);
    return busy;
}

// Nobody can ask it any more: the context is waited for, once. old: as before
// CUDA 12.5, whose drivers do not come back before it is over.
static void work_without_a_stream_is_waited_for(bool old)
{
    const ts_capture_desc biased = { .kernels = "biased", .drain_ms = 60000 };
    uint64_t to = 0;
    uint32_t value = 1;
    void *other, *function, *arguments[] = { &to, &numbers, &value };
    begin_with(&biased);
    ok(cuModuleGetFunction(&function, module, "biased"));
    ok(cuMemAlloc_v2(&to, BYTES));
    ok(cuStreamCreate(&other, 1));
    ok(cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, stream, arguments,
                      NULL)); // what was before the session is waited for
    if (old) ts__cs.driver.call.record_all = NULL;
    hurry("biased");
    setenv("DOUBLE_CUDA_HANG", "add", 1);
    void *add_arguments[] = { &numbers, &value };
    ok(cuLaunchKernel(add, 4, 1, 1, 256, 1, 1, 0, other, add_arguments, NULL));
    ok(cuStreamDestroy_v2(other));
    for (int i = 0; i < 2; i++)
        ok(cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, stream, arguments,
                          NULL));
    if (old) assert_true(is_busy());
    while (!old && is_busy()) // it comes back while the other still runs
        usleep(1000);
    unsetenv("DOUBLE_CUDA_HANG");
    // Until the driver answers again.
    for (int i = 0; i < 10000 && ts_capture_result().whole < 1; i++) {
        usleep(1000);
        ok(cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, stream, arguments,
                          NULL));
    }
    assert_int_equal(ts_capture_result().whole, 1);
    ok(cuMemFree_v2(to));
    end();
    assert_int_equal(capture_at(0).head.state, TS_CAPTURE_WHOLE);
    declined_for(1, TS_REASON_DRAIN_TIMEOUT);
    declined_for(2, TS_REASON_DRAIN_TIMEOUT);
    rt_close(&trace);
}

UNIT_TEST(work_of_a_stream_that_is_gone_is_waited_for)
{
    work_without_a_stream_is_waited_for(false);
}

UNIT_TEST(drivers_without_an_event_for_all_hold_up_captures)
{
    work_without_a_stream_is_waited_for(true);
}

// The last one: nothing of this driver works afterwards.
UNIT_TEST(a_device_that_hangs_costs_its_bound)
{
    begin();
    ok(launch(add, numbers, 1));
    hurry(NULL);
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
    return unit_run_alone(start, finish);
}
