// The CUPTI backend with the library of CUDA 11.0, in which the functions and
// kinds of later versions are missing.
#include "tests/backends/cupti/cupti_fixture.h"

UNIT_TEST(what_a_version_lacks_is_said_and_done_without)
{
    const char *const path = rt_start("old.sbt", cu_plain);
    {
        TS_ZONE("host");
        CU_LAUNCH(.name = "k", .stream = 1, .ns = 2000);
        CU_RUN(.what = DOUBLE_EVENT_RECORD, .stream = 1, .event = 4);
        CU_RUN(.what = DOUBLE_EVENT_RECORD, .stream = 1, .event = 5);
        CU_RUN(.what = DOUBLE_STREAM_WAIT, .stream = 2, .event = 4);
        CU_RUN(.what = DOUBLE_EVENT_RECORD, .stream = 1, .event = 4);
        rt_sleep_ms(1);
    }
    rt_trace trace = cu_end(path);
    const rt_row *const zone = rt_only(&trace, TS_EVENT_ZONE, "host");
    const rt_row *const kernel = rt_only(&trace, TS_EVENT_KERNEL, "k");
    const rt_row *const wait = rt_only(&trace, TS_EVENT_EVENT_WAIT, NULL);
    const rt_row *const record = rt_nth(&trace, TS_EVENT_EVENT_RECORD, NULL, 0);
    assert_string_equal(cu_text(&trace, "backend.cupti"), "on");
    assert_int_equal(cu_fact(&trace, "cupti.version"), 13);
    CU_ASSERT_SAYS(&trace, "cupti.clock", "sampled");
    assert_true(kernel->start_ns >= zone->start_ns - 20000);
    assert_true(kernel->start_ns <= zone->start_ns + zone->duration_ns);
    // Without numbers of their own the order of calls tells which record.
    assert_int_equal(record->values[TS_COLUMN_ID], 4);
    assert_int_equal(wait->values[TS_COLUMN_RECORD],
                     record->values[TS_COLUMN_CORRELATION]);
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
}

UNIT_TEST(later_sessions_have_samples_of_their_own)
{
    for (int session = 0; session < 3; session++) {
        const char *const path = rt_start("again.sbt", cu_plain);
        CU_LAUNCH(.name = "k", .stream = 1, .ns = 2000, .repeat = 10);
        rt_sleep_ms(1);
        rt_trace trace = cu_end(path);
        assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "k"), 10);
        cu_assert_nothing_lost(&trace);
        rt_close(&trace);
    }
}

static void assert_a_step_is_followed(uint64_t ns, bool looked_at)
{
    const char *const path = rt_start("step.sbt", cu_plain);
    CU_LAUNCH(.name = "before", .stream = 1, .ns = 2000);
    rt_sleep_ms(5);
    if (looked_at) assert_int_equal(ts_session_flush(), TS_OK);
    cu_set("clock_step", cu_get("clock_step") + ns);
    {
        TS_ZONE("host");
        CU_LAUNCH(.name = "after", .stream = 1, .ns = 2000);
        rt_sleep_ms(2);
    }
    rt_trace trace = cu_end(path);
    const rt_row *const zone = rt_only(&trace, TS_EVENT_ZONE, "host");
    const rt_row *const before = rt_only(&trace, TS_EVENT_KERNEL, "before");
    const rt_row *const after = rt_only(&trace, TS_EVENT_KERNEL, "after");
    assert_true(cu_fact(&trace, "cupti.clock_steps") >= 1);
    assert_true(before->start_ns < zone->start_ns);
    // Between the looks around the step times are as good as these.
    const int64_t ms = 1000000;
    assert_true(after->start_ns > zone->start_ns - 10 * ms);
    assert_true(after->start_ns <
                zone->start_ns + zone->duration_ns + 300 * ms);
    rt_close(&trace);
}

UNIT_TEST(a_clock_that_is_set_is_said_and_followed)
{
    const uint64_t step = 5000000000;
    assert_a_step_is_followed(step, true);
    assert_a_step_is_followed(step, false); // the first sample is the last
    assert_a_step_is_followed(-step, true);
    assert_a_step_is_followed(-step, false);
}

UNIT_TEST(a_clock_that_fails_is_no_clock_that_was_set)
{
    const char *const path = rt_start("silent.sbt", cu_plain);
    {
        TS_ZONE("host");
        CU_LAUNCH(.name = "k", .stream = 1, .ns = 2000);
        rt_sleep_ms(5);
        assert_int_equal(ts_session_flush(), TS_OK);
    }
    cu_set("no_time", 1);
    rt_trace trace = cu_end(path);
    cu_set("no_time", 0);
    const rt_row *const zone = rt_only(&trace, TS_EVENT_ZONE, "host");
    const rt_row *const kernel = rt_only(&trace, TS_EVENT_KERNEL, "k");
    assert_true(cu_fact(&trace, "cupti.clock_steps") <= 0);
    assert_true(kernel->start_ns >= zone->start_ns - 20000);
    assert_true(kernel->start_ns <= zone->start_ns + zone->duration_ns);
    rt_close(&trace);
}

int main(void)
{
    cu_load("old/libcupti.so");
    ts_cupti_initialize();
    return unit_run(NULL, NULL);
}
