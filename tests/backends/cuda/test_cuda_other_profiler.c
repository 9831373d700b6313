// Captures of CUDA while another profiler has CUPTI: they end or do not begin,
// and the trace says so.
#define TRACESMITH_CUPTI_IMPLEMENTATION // the test looks inside
#include "tests/backends/cuda/cuda_capture_fixture.h"

static void hear(void *user, uint32_t domain, uint32_t id, const void *data)
{
}

// A session that gives CUPTI up, with one captured operation.
static void begin_to_yield(void)
{
    const ts_cupti_desc giving = { .operations = true,
                                   .yield = "all",
                                   .stop_ms = 60000 };
    const ts_session_desc session = { .path = path = rt_path("yield.sbt") };
    ok(ts_cupti_configure(&giving));
    ok(ts_session_start(&session));
    ok(cuModuleLoadData(&module, cubin));
    ok(cuModuleGetFunction(&add, module, "add"));
    ok(cuStreamCreate(&stream, 1));
    ok(cuMemAlloc_v2(&numbers, BYTES));
}

UNIT_TEST(who_gets_it_ends_captures)
{
    const ts_capture_desc patient = { .drain_ms = 60000 };
    void *handle = NULL;
    begin_to_yield();
    ok(ts_capture_start(&patient));
    ok(launch(add, numbers, 1));
    ok(ts__ca_cuptiSubscribe(&handle, hear, NULL));
    ok(launch(add, numbers, 2));
    ok(ts__cupti.call.unsubscribe(handle));
    end();
    ts_capture c;
    ts_loss_row row;
    assert_true(ts_reader_capture(trace.reader, 0, &c));
    assert_false(ts_reader_capture(trace.reader, 1, &c));
    CU_ASSERT_SAYS(&trace, "capture.cuda", "ended: another profiler took over");
    assert_int_equal(cu_lost(&trace, "captures of operations ended"), 1);
    assert_true(ts_reader_loss(trace.reader, 0, &row));
    assert_int_equal(row.first_ns, row.last_ns); // the moment it ended
    assert_true(row.first_ns > 0);
    rt_close(&trace);
}

// A session without captures loses nothing.
UNIT_TEST(what_was_not_requested_is_no_loss)
{
    void *handle = NULL;
    begin_to_yield();
    ok(ts__ca_cuptiSubscribe(&handle, hear, NULL));
    ok(ts__cupti.call.unsubscribe(handle));
    end();
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
}

UNIT_TEST(another_that_was_first_leaves_no_captures)
{
    const ts_capture_desc all = { .drain_ms = 60000 };
    const ts_session_desc session = { .path = path = rt_path("first.sbt") };
    cu_set("subscribe", 39);
    ok(ts_cupti_configure(NULL));
    ok(ts_capture_start(&all));
    ok(ts_session_start(&session));
    ok(cuMemAlloc_v2(&numbers, BYTES));
    end();
    cu_set("subscribe", 0);
    CU_ASSERT_SAYS(&trace, "capture.cuda", "declined: another profiler uses");
    assert_int_equal(cu_lost(&trace, "captures of operations declined"), 1);
    rt_close(&trace);
}

int main(void)
{
    return unit_run(start, finish);
}
