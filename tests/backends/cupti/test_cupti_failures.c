// The CUPTI backend when CUPTI misbehaves in the ways that are known: no more
// is lost than must be, it is counted, and the trace says so.
#define TRACESMITH_CUPTI_IMPLEMENTATION // the test looks inside
#include "tests/backends/cupti/cupti_fixture.h"

static const char *begin(void)
{
    return rt_start("failure.sbt", cu_plain);
}

/* ---- Who does not answer ------------------------------------------------ */

static void assert_refused(const char *part)
{
    const char *const path = begin();
    CU_LAUNCH(.ns = 10);
    {
        TS_ZONE("host");
    }
    rt_trace trace = cu_end(path);
    CU_ASSERT_SAYS(&trace, "backend.cupti", part);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 0);
    assert_int_equal(rt_rows(&trace, TS_EVENT_API_CALL, NULL), 0);
    rt_only(&trace, TS_EVENT_ZONE, "host"); // the rest goes on
    assert_int_equal(cu_get("subscribed"), 0);
    rt_close(&trace);
}

UNIT_TEST(without_a_driver_the_session_goes_on)
{
    cu_set("real_driver", 0);
    assert_refused("no driver responds to CUPTI (CUPTI_ERROR_UNKNOWN)");
    cu_set("real_driver", 1);
}

UNIT_TEST(another_profiler_is_named)
{
    cu_set("subscribe", 39);
    cu_owner("kineto");
    assert_refused("another profiler (kineto) uses CUPTI");
    cu_owner(""); // versions that do not tell
    assert_refused("(which does not report its name) uses CUPTI");
    cu_set("subscribe", 12);
    assert_refused("uses CUPTI in this process");
    cu_set("subscribe", 2);
    assert_refused("uses CUPTI in this process");
    cu_set("subscribe", 35);
    assert_refused("CUPTI fails: an error (35)");
    cu_set("subscribe", 0);
}

UNIT_TEST(a_version_that_is_too_old_is_refused)
{
    cu_set("version", 12);
    assert_refused("too old: version 12");
    cu_set("version", 130100);
}

UNIT_TEST(buffers_that_are_refused_end_it)
{
    cu_set("callbacks", 999);
    assert_refused("CUPTI does not accept buffers");
    cu_set("callbacks", 0);
}

UNIT_TEST(without_kernels_there_is_nothing)
{
    cu_set("enable_10", 8);
    assert_refused("CUPTI cannot report kernels: an error (8)");
    cu_set("enable_10", 0);
}

UNIT_TEST(without_a_lesser_kind_the_others_are_there)
{
    cu_set("enable_49", 27);
    const char *const path = begin();
    CU_LAUNCH(.ns = 10);
    CU_RUN(.what = DOUBLE_MALLOC, .bytes = 10);
    rt_trace trace = cu_end(path);
    rt_only(&trace, TS_EVENT_KERNEL, NULL);
    assert_int_equal(rt_rows(&trace, TS_EVENT_GPU_ALLOC, NULL), 0);
    CU_ASSERT_SAYS(&trace, "cupti.missing", "memory (27)");
    rt_close(&trace);
    cu_set("enable_49", 0);
}

UNIT_TEST(without_names_every_function_is_recorded)
{
    cu_set("no_call_names", 1);
    const char *const path = begin();
    CU_RUN(.what = DOUBLE_GET_ERROR);
    CU_LAUNCH(.ns = 10);
    rt_trace trace = cu_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_API_CALL, NULL), 2);
    rt_only(&trace, TS_EVENT_API_CALL, "cudaGetLastError");
    rt_only(&trace, TS_EVENT_KERNEL, NULL);
    rt_close(&trace);
    cu_set("no_call_names", 0);
}

/* ---- Records ------------------------------------------------------------ */

UNIT_TEST(every_version_of_the_records_is_read)
{
    static const uint32_t versions[] = {
        13, 14, 15, 16, 17, 18,     19,     20,     21,     22,
        23, 24, 26, 27, 28, 130000, 130001, 130100, 130200, 130400
    };
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        cu_set("version", versions[i]);
        const char *const path = begin();
        CU_LAUNCH(.name = "k", .stream = 1, .grid = 9, .ns = 500, .repeat = 3);
        CU_RUN(.what = DOUBLE_COPY, .bytes = 10, .ns = 20, .repeat = 2);
        CU_RUN(.what = DOUBLE_PEER_COPY, .bytes = 10, .ns = 20);
        CU_RUN(.what = DOUBLE_SET, .bytes = 10, .ns = 20);
        CU_RUN(.what = DOUBLE_EVENT_RECORD, .event = 1, .sync = 5);
        CU_RUN(.what = DOUBLE_STREAM_WAIT, .stream = 1, .event = 1, .sync = 5);
        CU_RUN(.what = DOUBLE_GRAPH, .event = 6, .name = "n", .ns = 10);
        rt_trace trace = cu_end(path);
        assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "k"), 3);
        const rt_row *const node = rt_only(&trace, TS_EVENT_KERNEL, "n");
        const ts_launch_entry *const launch = ts_reader_launch(
            trace.reader, (uint32_t)node->values[TS_COLUMN_LAUNCH]);
        assert_int_equal(node->values[TS_COLUMN_GRAPH_NODE], 6);
        // Fields that a later version appended are not read from older records.
        assert_int_equal(launch->cluster[0], versions[i] >= 18 ? 2 : 0);
        assert_int_equal(rt_rows(&trace, TS_EVENT_MEMCPY, NULL), 3);
        assert_int_equal(rt_rows(&trace, TS_EVENT_MEMSET, NULL), 1);
        const rt_row *const record =
            rt_only(&trace, TS_EVENT_EVENT_RECORD, NULL);
        const rt_row *const wait = rt_only(&trace, TS_EVENT_EVENT_WAIT, NULL);
        assert_int_equal(wait->values[TS_COLUMN_RECORD],
                         record->values[TS_COLUMN_CORRELATION]);
        cu_assert_nothing_lost(&trace);
        rt_close(&trace);
    }
    cu_set("version", 130100);
}

// CUDA 13.0, before its Update 1: it has no records of these, and may hang if
// kernels are disabled.
UNIT_TEST(waits_without_records_are_counted)
{
    for (uint32_t version = 130000; version < 130002; version++) {
        cu_set("version", version);
        const char *const path = rt_start("deaf.sbt", cu_plain);
        CU_LAUNCH(.ns = 10);
        CU_RUN(.what = DOUBLE_DEVICE_SYNC, .repeat = 3);
        CU_RUN(.what = DOUBLE_DEVICE_SYNC, .result = 700);
        rt_trace trace = cu_end(path);
        const uint64_t missing = version == 130000 ? 3 : 0;
        assert_int_equal(rt_rows(&trace, TS_EVENT_DEVICE_SYNC, NULL),
                         3 - missing);
        assert_int_equal(cu_lost(&trace, "waits for a device"), missing);
        assert_int_equal(cu_lost(&trace, ""), missing);
        rt_only(&trace, TS_EVENT_KERNEL, NULL);
        rt_close(&trace);
    }
}

// Before CUDA 13.1 Update 1, from the second session on; only if there were
// any.
UNIT_TEST(kernels_of_graphs_may_name_the_wrong_launch)
{
    static const uint32_t versions[] = { 130100, 130101, 130100 };
    rt_trace first = cu_end(begin());
    rt_close(&first);
    for (size_t i = 0; i < 3; i++) {
        cu_set("version", versions[i]);
        const char *const path = rt_start("fault.sbt", cu_plain);
        CU_RUN(.what = i < 2 ? DOUBLE_GRAPH : DOUBLE_LAUNCH, .event = 4);
        rt_trace trace = cu_end(path);
        assert_true(ts__cupti.generation > 1);
        if (i == 0)
            CU_ASSERT_SAYS(&trace, "cupti.fault", "refer to the wrong launch");
        else
            assert_string_equal(cu_text(&trace, "cupti.fault"), "");
        rt_close(&trace);
    }
    cu_set("version", 130100);
}

UNIT_TEST(kernels_without_times_are_counted)
{
    const char *const path = begin();
    cu_set("zero_times", 3);
    CU_LAUNCH(.ns = 10, .repeat = 5);
    cu_set("reverse_times", 2);
    CU_LAUNCH(.ns = 10, .repeat = 5);
    cu_set("far_times", 1);
    CU_LAUNCH(.ns = 10, .repeat = 5);
    rt_trace trace = cu_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 9);
    assert_int_equal(cu_lost(&trace, "without times"), 3);
    assert_int_equal(cu_lost(&trace, "end before they start"), 2);
    assert_int_equal(cu_lost(&trace, "outside of the session"), 1);
    assert_int_equal(cu_lost(&trace, "without a report"), 0);
    assert_int_equal(cu_fact(&trace, "cupti.kernels"), 15);
    rt_close(&trace);
}

UNIT_TEST(launches_without_a_report_are_counted)
{
    const char *const path = begin();
    cu_set("lose_kernels", 7);
    CU_LAUNCH(.ns = 10, .repeat = 20);
    rt_trace trace = cu_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 13);
    assert_int_equal(cu_lost(&trace, "launches without a report"), 7);
    assert_int_equal(cu_fact(&trace, "cupti.launches"), 20);
    assert_int_equal(cu_fact(&trace, "cupti.kernels"), 13);
    rt_close(&trace);
}

UNIT_TEST(that_no_kernel_is_reported_is_said)
{
    const char *const path = begin();
    cu_set("lose_kernels", 5);
    CU_LAUNCH(.ns = 10, .repeat = 5);
    rt_trace trace = cu_end(path);
    assert_int_equal(cu_lost(&trace, "launches without a report"), 5);
    CU_ASSERT_SAYS(&trace, "cupti.warning", "none was reported");
    rt_close(&trace);
}

// The process may be killed before the end.
UNIT_TEST(that_none_is_reported_is_said_before_the_end)
{
    const char *const path = begin();
    ts__cupti.patience_ms = 1;
    assert_int_equal(ts__cupti.silent_ns, 0);
    cu_set("lose_kernels", 200);
    CU_LAUNCH(.ns = 10, .repeat = 150);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ts_session_flush(), TS_OK);
        rt_sleep_ms(5);
    }
    assert_true(ts__cupti.silent_ns == TS__CU_SILENCE_SAID);
    cu_set("lose_kernels", 0);
    CU_LAUNCH(.ns = 10); // one comes after all
    rt_trace trace = cu_end(path);
    assert_string_equal(cu_text(&trace, "cupti.warning"), "none");
    rt_close(&trace);
    ts__cupti.patience_ms = 0;
}

// A session without kernels loses none.
UNIT_TEST(that_none_is_asked_for_is_no_failure)
{
    const ts_filter_desc calls = { .kinds = "api_call" };
    assert_int_equal(ts_filter_set(&calls), TS_OK);
    const char *const path = begin();
    ts__cupti.patience_ms = 1;
    CU_LAUNCH(.ns = 10, .repeat = 150);
    ts__cupti.launches += 150; // as of calls that are told of otherwise
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ts_session_flush(), TS_OK);
        rt_sleep_ms(5);
    }
    assert_int_equal(ts__cupti.silent_ns, 0);
    ts__cupti.launches -= 150;
    rt_trace trace = cu_end(path);
    assert_string_equal(cu_text(&trace, "cupti.warning"), "");
    rt_close(&trace);
    ts__cupti.patience_ms = 0;
    assert_int_equal(ts_filter_set(NULL), TS_OK);
}

UNIT_TEST(kernels_of_streams_that_are_too_many_are_lost_once)
{
    enum { STREAMS = TS__CU_STREAMS + 100 };
    const char *const path = begin();
    for (uint32_t i = 1; i <= STREAMS; i++) {
        CU_LAUNCH(.ns = 1, .stream = 1000 + i);
        // For each new one all of its batch is looked through.
        if (i % 100 == 0) assert_int_equal(ts_session_flush(), TS_OK);
    }
    rt_trace trace = cu_end(path);
    const size_t there = rt_rows(&trace, TS_EVENT_KERNEL, NULL);
    assert_true(cu_lost(&trace, "beyond the maximum number") >= 100);
    assert_int_equal(cu_lost(&trace, ""), STREAMS - there);
    rt_close(&trace);
}

UNIT_TEST(dropped_records_are_counted)
{
    const char *const path = begin();
    CU_LAUNCH(.ns = 10);
    cu_set("drop", 44);
    rt_trace trace = cu_end(path);
    assert_int_equal(cu_lost(&trace, "the vendor dropped"), 44);
    rt_close(&trace);
}

UNIT_TEST(kernels_that_begin_before_their_launch_are_counted)
{
    const char *const path = begin();
    CU_LAUNCH(.ns = 10, .stream = 5, .repeat = 4);
    CU_LAUNCH(.ns = 10, .stream = 6, .early = 5000000);
    rt_trace trace = cu_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 5);
    assert_int_equal(cu_fact(&trace, "cupti.kernels_before_launch"), 1);
    rt_close(&trace);
}

UNIT_TEST(what_still_runs_at_the_end_is_counted)
{
    const char *const path = begin();
    CU_LAUNCH(.name = "short", .stream = 7, .ns = 10);
    CU_LAUNCH(.name = "long", .stream = 7, .ns = 3000000000);
    rt_trace trace = cu_end(path);
    rt_only(&trace, TS_EVENT_KERNEL, "short");
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "long"), 0);
    assert_int_equal(cu_lost(&trace, "still running"), 1);
    assert_int_equal(cu_lost(&trace, "without a report"), 0);
    rt_close(&trace);
}

UNIT_TEST(a_record_that_cannot_be_read_costs_its_buffer_s_rest)
{
    const char *const path = begin();
    CU_LAUNCH(.ns = 10);
    rt_sleep_ms(1);
    cu_set("bad_record", 1);
    rt_trace trace = cu_end(path);
    rt_only(&trace, TS_EVENT_KERNEL, NULL);
    assert_int_equal(cu_lost(&trace, "could not be read"), 1);
    rt_close(&trace);
}

UNIT_TEST(a_layout_of_somebody_else_is_refused)
{
    const char *const path = begin();
    cu_set("wrong_layout", 1);
    CU_LAUNCH(.ns = 10, .repeat = 5);
    rt_trace trace = cu_end(path);
    cu_set("wrong_layout", 0);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 0);
    assert_int_equal(rt_rows(&trace, TS_EVENT_API_CALL, NULL), 5);
    CU_ASSERT_SAYS(&trace, "backend.cupti", "unexpected layout");
    assert_int_equal(cu_lost(&trace, "unexpected layout"), 1);
    rt_close(&trace);
}

UNIT_TEST(a_name_s_address_may_be_used_again)
{
    char name[] = "before";
    const char *const path = begin();
    CU_LAUNCH(.name = name, .ns = 10);
    assert_int_equal(ts_session_flush(), TS_OK);
    CU_RUN(.what = DOUBLE_UNLOAD);
    memcpy(name, "behind", sizeof name);
    CU_LAUNCH(.name = name, .ns = 10);
    rt_sleep_ms(1);
    rt_trace trace = cu_end(path);
    rt_only(&trace, TS_EVENT_KERNEL, "before");
    rt_only(&trace, TS_EVENT_KERNEL, "behind");
    rt_close(&trace);
}

UNIT_TEST(facts_may_come_behind_what_they_are_about)
{
    cu_set("late_facts", 1);
    const char *const path = begin();
    CU_LAUNCH(.device = 3, .stream = 9, .ns = 0);
    rt_trace trace = cu_end(path);
    cu_set("late_facts", 0);
    ts_track device;
    const rt_row *const kernel = rt_only(&trace, TS_EVENT_KERNEL, NULL);
    const uint32_t context = cu_parent(&trace, kernel->track);
    assert_true(
        ts_reader_track(trace.reader, cu_parent(&trace, context), &device));
    rt_assert_text(device.name, "NVIDIA Double");
    assert_int_equal(device.number, 3);
    rt_close(&trace);
}

/* ---- Buffers and flushes ------------------------------------------------ */

UNIT_TEST(without_a_free_buffer_records_are_counted)
{
    const ts_cupti_desc small = { .buffer_bytes = 65536, .buffer_count = 2 };
    assert_int_equal(ts_cupti_configure(&small), TS_OK);
    const char *const path = begin();
    cu_set("hold_buffers", 1);
    CU_LAUNCH(.ns = 1, .repeat = 40000);
    ts_session_flush();
    cu_set("hold_buffers", 0);
    rt_trace trace = cu_end(path);
    assert_true(cu_lost(&trace, "no buffer was free") > 0);
    assert_int_equal(rt_rows(&trace, TS_EVENT_API_CALL, NULL), 40000);
    const size_t there = rt_rows(&trace, TS_EVENT_KERNEL, NULL);
    assert_int_equal(cu_lost(&trace, "launches without a report") + there,
                     40000);
    rt_close(&trace);
    assert_int_equal(ts_cupti_configure(NULL), TS_OK);
}

// A full buffer wakes the thread that fetches; it is decoded without a flush.
UNIT_TEST(it_is_fetched_as_often_as_is_asked_for)
{
    const ts_cupti_desc seldom = { .buffer_bytes = 65536, .flush_ms = 4295 };
    assert_int_equal(ts_cupti_configure(&seldom), TS_OK);
    const char *const path = begin();
    const uint64_t flushes = cu_get("flushes");
    for (int i = 0; i < 5; i++) {
        CU_RUN(.what = DOUBLE_EVENT_RECORD, .event = 1, .repeat = 2000);
        rt_sleep_ms(5);
    }
    assert_int_equal(cu_get("flushes"), flushes);
    rt_trace trace = cu_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_EVENT_RECORD, NULL), 10000);
    rt_close(&trace);
    assert_int_equal(ts_cupti_configure(NULL), TS_OK);
}

// Numbers of nodes rise; there may be any number of them in a process.
UNIT_TEST(nodes_of_graphs_make_room_for_later_ones)
{
    rt_trace trace = cu_end(begin()); // there is a table now
    rt_close(&trace);
    const uint64_t count = 3 * TS__CU_NODES;
    for (uint64_t id = 1; id <= count; id++) {
        ts__cu_node *const n = ts__cu_node_at(&ts__cupti, id << 32, true);
        assert_non_null(n);
        n->stack = (uint32_t)id;
    }
    for (uint64_t id = count - 1000; id <= count; id++)
        assert_int_equal(ts__cu_node_stack(&ts__cupti, id << 32), id);
    assert_int_equal(ts__cu_node_stack(&ts__cupti, 1), 0);
}

UNIT_TEST(the_request_takes_no_memory)
{
    uint8_t *buffer = NULL;
    size_t size = 0, count = 1;
    rt_trace trace = cu_end(begin()); // there are buffers now
    rt_close(&trace);
    const uint32_t free_before = ts__cupti.free;
    ts__cupti.requested(&buffer, &size, &count);
    assert_non_null(buffer);
    assert_int_equal((uintptr_t)buffer % 8, 0);
    assert_int_equal(count, 0);
    for (size_t i = 0; i < size; i++)
        if (buffer[i]) fail_msg("byte %zu is not zero", i);
    assert_int_equal(__builtin_popcount(free_before),
                     __builtin_popcount(ts__cupti.free) + 1);
    ts__cupti.free = 0;
    uint8_t *none = NULL;
    ts__cupti.requested(&none, &size, &count);
    assert_ptr_equal(none, ts__cupti.discard); // not NULL: that crashes some
    ts__cupti.free = free_before;
}

// Captures wait for a device, and copy, on a thread of their own.
UNIT_TEST(what_captures_do_is_not_the_programs)
{
    const char *const path = rt_start("own.sbt", cu_plain);
    CU_LAUNCH(.ns = 10);
    ts__cs_mine = true;
    CU_RUN(.what = DOUBLE_DEVICE_SYNC, .ns = 100);
    ts__cs_mine = false;
    CU_RUN(.what = DOUBLE_DEVICE_SYNC, .ns = 200);
    rt_trace trace = cu_end(path);
    assert_int_equal(rt_only(&trace, TS_EVENT_DEVICE_SYNC, NULL)->duration_ns,
                     200);
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
}

int main(void)
{
    cu_load_newest();
    return unit_run_alone(NULL, NULL);
}
