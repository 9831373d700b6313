// The CUPTI backend when reports are missing: calls, records, objects that
// existed before; and times that a stream should not have.
#include "tests/backends/cupti/cupti_fixture.h"

static const char *begin(void)
{
    return rt_start("gaps.sbt", cu_plain);
}

// They are in the trace, without a thread and a stack.
UNIT_TEST(operations_whose_call_was_not_reported_are_counted)
{
    const char *const path = begin();
    CU_LAUNCH(.name = "told", .ns = 10);
    cu_set("silent_calls", 3);
    CU_LAUNCH(.name = "not_reported", .ns = 10, .repeat = 3);
    rt_trace trace = cu_end(path);
    rt_only(&trace, TS_EVENT_API_CALL, NULL);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "not_reported"), 3);
    const rt_row *const row =
        rt_nth(&trace, TS_EVENT_KERNEL, "not_reported", 0);
    assert_int_equal(row->values[TS_COLUMN_THREAD], 0);
    assert_int_equal(cu_lost(&trace, "calls that launched operations"), 3);
    assert_int_equal(cu_lost(&trace, ""), 3);
    assert_int_equal(cu_fact(&trace, "cupti.launches"), 1);
    assert_int_equal(cu_fact(&trace, "cupti.kernels"), 4);
    rt_close(&trace);
}

// As the device reports it, plausible or not.
UNIT_TEST(kernels_that_overlap_on_a_stream_stay_so)
{
    const char *const path = begin();
    const uint64_t minute = rt_past_ns(UINT64_C(60000000000));
    CU_LAUNCH(.name = "within", .stream = 8, .ns = 9000);
    CU_LAUNCH(.name = "around", .stream = 8, .ns = minute, .early = minute);
    rt_trace trace = cu_end(path);
    const rt_row *const within = rt_only(&trace, TS_EVENT_KERNEL, "within");
    const rt_row *const around = rt_only(&trace, TS_EVENT_KERNEL, "around");
    assert_int_equal(within->track, around->track);
    assert_int_equal(within->duration_ns, 9000);
    assert_int_equal(around->duration_ns, minute);
    assert_true(around->start_ns < within->start_ns);
    assert_true(around->start_ns + around->duration_ns >
                within->start_ns + within->duration_ns);
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
}

// Objects that existed before are reported on request.
UNIT_TEST(who_comes_late_knows_the_device_as_well)
{
    CU_LAUNCH(.device = 5, .stream = 11, .ns = 10);
    const char *const path = begin();
    CU_LAUNCH(.device = 5, .stream = 11, .ns = 10);
    rt_trace trace = cu_end(path);
    ts_track device;
    const rt_row *const kernel = rt_only(&trace, TS_EVENT_KERNEL, NULL);
    const uint32_t context = cu_parent(&trace, kernel->track);
    assert_true(
        ts_reader_track(trace.reader, cu_parent(&trace, context), &device));
    rt_assert_text(device.name, "NVIDIA Double");
    assert_int_equal(device.number, 5);
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
}

// Buffers that never come: each launch is a loss.
UNIT_TEST(a_flush_that_fails_is_a_loss_and_no_more)
{
    const char *const path = begin();
    cu_set("flush", 999);
    CU_LAUNCH(.ns = 10, .repeat = 4);
    rt_trace trace = cu_end(path);
    cu_set("flush", 0);
    assert_int_equal(rt_rows(&trace, TS_EVENT_API_CALL, NULL), 4);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 0);
    assert_int_equal(cu_lost(&trace, "launches without a report"), 4);
    CU_ASSERT_SAYS(&trace, "cupti.warning", "none was reported");
    rt_close(&trace);
    const char *const after = begin(); // what was kept back is not of it
    CU_LAUNCH(.name = "next", .ns = 10);
    trace = cu_end(after);
    rt_only(&trace, TS_EVENT_KERNEL, "next");
    rt_close(&trace);
}

int main(void)
{
    cu_load_newest();
    return unit_run(NULL, NULL);
}
