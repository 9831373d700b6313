// The CUPTI backend when CUPTI hangs or finalizes itself.
#define TRACESMITH_CUPTI_IMPLEMENTATION // the test looks inside
#include "tests/backends/cupti/cupti_fixture.h"

static const char *begin(void)
{
    return rt_start("end.sbt", cu_plain);
}

UNIT_TEST(a_flush_that_hangs_delays_the_end_by_its_bound)
{
    const ts_cupti_desc hasty = { .stop_ms = 300, .flush_ms = 60000 };
    assert_int_equal(ts_cupti_configure(&hasty), TS_OK);
    const char *path = begin();
    CU_LAUNCH(.ns = 10, .repeat = 3);
    while (TS__LOAD(&ts__cupti.kernels) < 3) // a busy machine may take longer
        assert_int_equal(ts_session_flush(), TS_OK);
    cu_set("hang_flush", 1);
    CU_LAUNCH(.ns = 10, .repeat = 2);
    rt_trace trace = cu_end(path); // comes back, though the flush does not
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 3);
    assert_int_equal(cu_lost(&trace, "did not respond in time"), 1);
    assert_int_equal(cu_lost(&trace, "launches without a report"), 2);
    rt_close(&trace);
    // It still hangs: the next session does without CUPTI.
    path = begin();
    trace = cu_end(path);
    CU_ASSERT_SAYS(&trace, "backend.cupti", "has not returned");
    rt_close(&trace);
    cu_set("hang_flush", 0);
    while (ts__worker_hangs(&ts__cupti.worker))
        rt_sleep_ms(1);
    assert_int_equal(ts_cupti_configure(NULL), TS_OK);
    path = begin();
    CU_LAUNCH(.ns = 10);
    trace = cu_end(path);
    assert_string_equal(cu_text(&trace, "backend.cupti"), "on");
    assert_true(rt_rows(&trace, TS_EVENT_KERNEL, NULL) >= 1);
    rt_close(&trace);
}

// The program hands over 600 records while the vendor hangs, of which 512 fill
// a buffer; then the walk through that buffer hangs too, or does not.
static rt_trace hang_at_the_end(uint64_t next)
{
    const ts_cupti_desc hasty = { .buffer_bytes = 64 << 10,
                                  .stop_ms = 200,
                                  .flush_ms = 60000 };
    assert_int_equal(ts_cupti_configure(&hasty), TS_OK);
    const char *const path = begin();
    cu_set("hang_flush", 1);
    ts_session_flush();
    cu_set("hang_next", next);
    CU_RUN(.what = DOUBLE_MALLOC, .bytes = 1, .repeat = 600);
    rt_trace trace = cu_end(path);
    cu_set("hang_flush", 0);
    cu_set("hang_next", 0);
    while (ts__worker_hangs(&ts__cupti.worker) ||
           ts__worker_hangs(&ts__cupti.rescue))
        rt_sleep_ms(1);
    assert_int_equal(ts_cupti_configure(NULL), TS_OK);
    return trace;
}

UNIT_TEST(what_came_before_a_hang_is_decoded_if_it_can_be)
{
    rt_trace trace = hang_at_the_end(0);
    assert_true(rt_rows(&trace, TS_EVENT_GPU_ALLOC, NULL) >= 500);
    assert_int_equal(cu_lost(&trace, "did not respond in time"), 1);
    rt_close(&trace);
    trace = hang_at_the_end(1);
    assert_int_equal(rt_rows(&trace, TS_EVENT_GPU_ALLOC, NULL), 0);
    assert_int_equal(cu_lost(&trace, "did not respond in time"), 1);
    rt_close(&trace);
}

static void wait_for_lock(void)
{
    while (pthread_mutex_trylock(&ts__cupti.decode) == 0) {
        pthread_mutex_unlock(&ts__cupti.decode);
        rt_sleep_ms(1);
    }
}

// A call of a program that is captured asks where its operation will lie.
UNIT_TEST(a_call_does_not_wait_for_records_that_hang)
{
    static char context;
    static const ts__cs_stream stream;
    const ts_cupti_desc hasty = { .stop_ms = 100, .flush_ms = 60000 };
    assert_int_equal(ts_cupti_configure(&hasty), TS_OK);
    const char *const path = begin();
    CU_LAUNCH(.ns = 10);
    cu_set("hang_next", 1);
    ts_session_flush();
    wait_for_lock();
    alarm(60); // it waited for ever
    for (int i = 0; i < 3; i++)
        assert_int_equal(
            ts__cu_keep_track(&ts__cupti, &context, &stream, false), 0);
    ts__cu_keep_device(&ts__cupti, 0);
    alarm(0);
    cu_set("hang_next", 0);
    while (!ts__cu_keep_track(&ts__cupti, &context, &stream, false))
        rt_sleep_ms(1);
    rt_trace trace = cu_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 1);
    rt_close(&trace);
    assert_int_equal(ts_cupti_configure(NULL), TS_OK);
}

static rt_trace begin_and_launch(uint32_t count)
{
    const char *const path = begin();
    CU_LAUNCH(.ns = 10, .repeat = count);
    rt_sleep_ms(1);
    return cu_end(path);
}

UNIT_TEST(a_fatal_error_ends_the_capture_not_the_session)
{
    const char *const path = begin();
    CU_LAUNCH(.ns = 10);
    ts_session_flush();
    const uint64_t flushes = cu_get("flushes");
    const uint64_t unsubscribed = cu_get("unsubscribed");
    CU_RUN(.what = DOUBLE_FATAL);
    {
        TS_ZONE("host");
    }
    rt_trace trace = cu_end(path);
    rt_only(&trace, TS_EVENT_ZONE, "host");
    rt_only(&trace, TS_EVENT_KERNEL, NULL);
    CU_ASSERT_SAYS(&trace, "cupti.error", "CUPTI: out of memory (8)");
    assert_int_equal(cu_lost(&trace, "stopped after an error"), 1);
    assert_int_equal(cu_get("flushes"), flushes);
    assert_int_equal(cu_get("unsubscribed"), unsubscribed);
    rt_close(&trace);
    // It can begin anew, with a clock that is given again.
    trace = begin_and_launch(2);
    assert_string_equal(cu_text(&trace, "backend.cupti"), "on");
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 2);
    assert_int_equal(cu_lost(&trace, "stopped after an error"), 0);
    rt_close(&trace);
}

// A program that continues after its recording has no further cost.
UNIT_TEST(after_the_end_the_vendor_records_nothing)
{
    assert_int_equal(ts_cupti_configure(NULL), TS_OK);
    rt_trace trace = begin_and_launch(2);
    rt_close(&trace);
    const uint64_t records = cu_get("records"), requests = cu_get("requests");
    assert_true(records && requests);
    assert_int_equal(cu_get("subscribed"), 0);
    CU_LAUNCH(.ns = 10, .repeat = 100);
    CU_RUN(.what = DOUBLE_MALLOC, .bytes = 1, .repeat = 10);
    assert_int_equal(cu_get("records"), records);
    assert_int_equal(cu_get("requests"), requests);
}

int main(void)
{
    cu_load_newest();
    return unit_run(NULL, NULL);
}
