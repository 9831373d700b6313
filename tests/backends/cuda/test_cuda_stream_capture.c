// Captures of CUDA while streams are captured into graphs.
#include "tests/backends/cuda/cuda_capture_fixture.h"

#define RECORD_CALLS(X) \
    X(cuStreamWaitEvent, (void *, void *, unsigned)) \
    X(cuEventCreate, (void **, unsigned)) \
    X(cuEventRecord, (void *, void *)) \
    X(cuGraphGetNodes, (void *, void **, size_t *))
RECORD_CALLS(CU_DECLARE)

static void *other;

static int start_recorded(void **user)
{
    if (start(user)) return -1;
    RECORD_CALLS(CU_FIND)
    return 0;
}

static int launch_on(void *on, uint32_t value)
{
    void *arguments[] = { &numbers, &value };
    return cuLaunchKernel(add, 4, 1, 1, 256, 1, 1, 0, on, arguments, NULL);
}

static void records(void *on, size_t nodes)
{
    void *graph;
    size_t count = 0;
    ok(cuStreamEndCapture(on, &graph)); // nobody spoiled it
    ok(cuGraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, nodes);
}

UNIT_TEST(others_are_captured_while_a_stream_is_recorded)
{
    begin();
    ok(cuStreamCreate(&other, 1));
    ok(launch_on(other, 1)); // streams of before the session are waited for
    ok(cuStreamBeginCapture_v2(stream, 0)); // of all threads
    ok(launch_on(stream, 1));
    ok(launch_on(other, 2));
    ok(launch_on(stream, 1));
    records(stream, 2);
    end();
    // What was recorded is none.
    assert_int_equal(ts_reader_capture_count(trace.reader), 2);
    const ts_capture c = capture_at(1);
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(first_of(c.regions[0].after),
                     first_of(c.regions[0].before) + 2);
    rt_close(&trace);
}

// The default stream would wait for it and cannot be queried.
UNIT_TEST(a_stream_that_blocks_others_is_not_spoiled)
{
    void *blocking;
    begin();
    ok(cuStreamCreate(&blocking, 0));
    ok(cuStreamBeginCapture_v2(blocking, 1));
    ok(launch_on(blocking, 1));
    ok(launch_on(stream, 2));
    records(blocking, 1);
    ok(launch_on(stream, 2));
    end();
    assert_int_equal(ts_reader_capture_count(trace.reader), 2);
    declined_for(0, TS_REASON_IN_CAPTURE);
    assert_int_equal(capture_at(1).head.state, TS_CAPTURE_WHOLE);
    rt_close(&trace);
}

// What it did before it was recorded with another one may still run.
UNIT_TEST(a_stream_that_joined_a_recording_is_not_asked)
{
    void *third, *event;
    begin();
    ok(cuStreamCreate(&other, 1));
    ok(cuStreamCreate(&third, 1));
    ok(cuEventCreate(&event, 0));
    ok(cuStreamBeginCapture_v2(stream, 2));
    ok(launch_on(stream, 1));
    ok(cuEventRecord(event, stream));
    ok(cuStreamWaitEvent(other, event, 0));
    ok(launch_on(other, 1));
    ok(launch_on(third, 2));
    ok(cuEventRecord(event, other));
    ok(cuStreamWaitEvent(stream, event, 0));
    records(stream, 2);
    ok(launch_on(third, 2));
    end();
    assert_int_equal(ts_reader_capture_count(trace.reader), 2);
    declined_for(0, TS_REASON_IN_CAPTURE);
    assert_int_equal(capture_at(1).head.state, TS_CAPTURE_WHOLE);
    rt_close(&trace);
}

// Its begin was not seen, so the driver is queried.
UNIT_TEST(a_recording_of_before_the_session_passes)
{
    void *early;
    ok(cuStreamCreate(&early, 1));
    ok(cuStreamBeginCapture_v2(early, 2)); // it may allocate meanwhile
    begin();
    ok(launch_on(early, 1));
    ok(launch_on(stream, 2));
    records(early, 1);
    ok(launch_on(early, 2));
    end();
    assert_int_equal(ts_reader_capture_count(trace.reader), 2);
    declined_for(0, TS_REASON_IN_CAPTURE); // what ran before nobody knows
    assert_int_equal(capture_at(1).head.state, TS_CAPTURE_WHOLE);
    rt_close(&trace);
}

// It began in the session, on an older stream, before any capture: its context
// must not be synchronized.
UNIT_TEST(a_recording_on_an_unknown_stream_is_not_spoiled)
{
    const ts_cupti_desc operations = { .operations = true };
    const ts_session_desc session = { .path = path = rt_path("capture.sbt") };
    const ts_capture_desc patient = { .drain_ms = 60000 };
    void *early;
    ok(cuStreamCreate(&early, 1));
    ok(ts_cupti_configure(&operations));
    ok(ts_session_start(&session));
    ok(cuModuleLoadData(&module, cubin));
    ok(cuModuleGetFunction(&add, module, "add"));
    ok(cuStreamCreate(&stream, 1));
    ok(cuMemAlloc_v2(&numbers, BYTES));
    ok(cuStreamBeginCapture_v2(early, 0));
    ok(launch_on(early, 1));
    ok(ts_capture_start(&patient));
    ok(launch_on(stream, 2));
    records(early, 1);
    ok(launch_on(stream, 2));
    end();
    assert_int_equal(ts_reader_capture_count(trace.reader), 2);
    declined_for(0, TS_REASON_IN_CAPTURE);
    assert_int_equal(capture_at(1).head.state, TS_CAPTURE_WHOLE);
    rt_close(&trace);
}

int main(void)
{
    return unit_run(start_recorded, finish);
}
