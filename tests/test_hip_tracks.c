// The HIP backend's devices and streams, where programs name them in ways
// that no double does.
#define _GNU_SOURCE
#define TRACESMITH_HIP_IMPLEMENTATION
#include "tests/rectest.h"

#include "backends/ts_hip.h"

static const ts_session_desc plain;

// The kernel counts processors too: the first GPU may have the number 1.
static void a_device_that_is_not_there_is_one_of_its_own(void **state)
{
    (void)state;
    static const ts__hip_facts facts;
    const char *const path = rt_start("devices.sbt", plain);
    alarm(20); // it went on for ever
    pthread_mutex_lock(&ts__hip.lock);
    ts__hip_device_add(1, &facts);
    pthread_mutex_unlock(&ts__hip.lock);
    const uint32_t first = ts__hip_device_track(0);
    const uint32_t none = ts__hip_device_track(1); // as hipSetDevice(1) says
    alarm(0);
    assert_int_equal(first, ts__hip.devices[ts__hip_device_of(1)].track);
    assert_int_not_equal(none, first);
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_trace trace = rt_read(path);
    rt_close(&trace);
}

static void the_default_stream_is_one_by_either_handle(void **state)
{
    (void)state;
    const char *const path = rt_start("streams.sbt", plain);
    const uint32_t null = ts__hip_stream_track(0, 0, false);
    assert_int_equal(ts__hip_stream_track(0, 1, false), null);
    assert_int_not_equal(ts__hip_stream_track(0, 2, false), null);
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_trace trace = rt_read(path);
    rt_close(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_that_is_not_there_is_one_of_its_own),
        cmocka_unit_test(the_default_stream_is_one_by_either_handle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
