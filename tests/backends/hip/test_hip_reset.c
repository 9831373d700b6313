// Captures of HIP: a device is reset, which destroys all that belongs to it.
#define CALLS(X) \
    X(hipSetDevice) \
    X(hipModuleLoadData) \
    X(hipModuleGetFunction) \
    X(hipStreamCreateWithFlags) \
    X(hipMalloc) \
    X(hipFree) \
    X(hipDeviceReset)
#include "tests/backends/hip/hip_capture_fixture.h"

static void *reset(void *unused)
{
    ok(call_hipDeviceReset());
    return NULL;
}

static void ask_or_not(bool busy)
{
    ts__cs_driver *const d = &ts__cs.driver;
    pthread_mutex_lock(&d->lock);
    d->busy = busy;
    d->at = ts__hs_context(0);
    pthread_cond_broadcast(&d->done);
    pthread_mutex_unlock(&d->lock);
}

static bool it_waits(void)
{
    pthread_mutex_lock(&ts__cs.driver.lock);
    const bool waits = ts__cs.driver.going != NULL;
    pthread_mutex_unlock(&ts__cs.driver.lock);
    return waits;
}

// A capture waits for all calls in flight: none of these may wait for it.
UNIT_TEST(who_resets_is_not_inside_while_it_waits)
{
    pthread_t thread;
    begin();
    assert_int_equal(ts__cs.range_count, 2);
    ask_or_not(true); // somebody looks at memory of the device
    assert_int_equal(pthread_create(&thread, NULL, reset, NULL), 0);
    for (int i = 0; i < 6000 && !it_waits(); i++)
        rt_sleep_ms(10);
    assert_true(it_waits());
    pthread_mutex_lock(&ts__cs.exclusive_lock);
    const uint32_t inside = ts__cs.inside;
    pthread_mutex_unlock(&ts__cs.exclusive_lock);
    ask_or_not(false);
    pthread_join(thread, NULL);
    assert_int_equal(inside, 0);
    assert_int_equal(ts__cs.range_count, 0);
    ok(call_hipMalloc((void **)&numbers, BYTES));
    ok(call_hipMalloc((void **)&others, BYTES));
    end();
    rt_close(&trace);
}

int main(void)
{
    return unit_run(start, finish);
}
