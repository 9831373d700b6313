// ts-record counts launches whose work was seen.
#define TRACESMITH_WRITER
#include "tools/record/record.h"
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/ts-launches-XXXXXX";
static ts_writer *writer;

static void call(const char *name, uint64_t correlation, uint64_t result)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_NAME, ts_writer_name(writer, name, strlen(name)) },
        { TS_COLUMN_CORRELATION, correlation },
        { TS_COLUMN_RESULT, result },
    };
    ts_writer_event(writer, TS_EVENT_API_CALL, 1, (int64_t)correlation * 10, 5,
                    values, 3);
}

static void kernel(uint64_t correlation)
{
    const ts_writer_value value = { TS_COLUMN_CORRELATION, correlation };
    ts_writer_event(writer, TS_EVENT_KERNEL, 2, (int64_t)correlation * 10 + 5,
                    3, &value, 1);
}

static record_launches counted(void)
{
    ts_reader *reader;
    const ts_reader_desc desc = { .path = path };
    assert_int_equal(ts_writer_close(writer), TS_OK);
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    const record_launches count = record_launches_of(reader);
    ts_reader_close(reader);
    unlink(path);
    return count;
}

static void begin(void)
{
    const ts_writer_desc desc = { .path = path };
    const ts_track_entry thread = { .type = TS_TRACK_THREAD };
    const ts_track_entry stream = { .type = TS_TRACK_STREAM };
    assert_int_equal(ts_writer_open(&writer, &desc), TS_OK);
    ts_writer_track(writer, 1, &thread);
    ts_writer_track(writer, 2, &stream);
}

static void launches_are_known_by_their_names(void **state)
{
    static const char *const launching[] = {
        "cudaLaunchKernel",   "cudaLaunchKernelExC",
        "cuLaunchKernelEx",   "cudaLaunchCooperativeKernel",
        "cudaGraphLaunch",    "hipModuleLaunchKernel",
        "hipExtLaunchKernel", "clEnqueueNDRangeKernel",
        "clEnqueueTask",      "mcLaunchKernel"
    };
    static const char *const others[] = { "cudaMalloc", "cudaLaunchHostFunc",
                                          "cuGraphAddKernelNode", "" };
    (void)state;
    begin();
    for (uint64_t i = 0; i < 10; i++)
        call(launching[i], i + 1, 0);
    for (uint64_t i = 0; i < 4; i++)
        call(others[i], i + 20, 0);
    for (uint64_t i = 1; i < 8; i++)
        kernel(i);
    const record_launches count = counted();
    assert_int_equal(count.called, 10);
    assert_int_equal(count.recorded, 7);
    assert_false(count.graphs);
}

static void a_call_that_failed_launched_nothing(void **state)
{
    (void)state;
    begin();
    call("cudaLaunchKernel", 1, 98);
    call("cudaLaunchKernel", 2, 0);
    kernel(2);
    kernel(2); // the nodes of a graph share a call
    const record_launches count = counted();
    assert_int_equal(count.called, 1);
    assert_int_equal(count.recorded, 1);
}

// The backend knows which they were; calls do not show it.
static void launches_into_graphs_are_counted_as_such(void **state)
{
    (void)state;
    begin();
    for (uint64_t i = 1; i < 8; i++)
        call("cudaLaunchKernel", i, 0);
    for (uint64_t i = 1; i < 4; i++)
        kernel(i);
    ts_writer_metadata(writer, 0, "cupti.into_graphs", TS_VALUE_INT, 3);
    record_launches count = counted();
    assert_int_equal(count.called, 7);
    assert_int_equal(count.recorded, 3);
    assert_int_equal(count.into_graphs, 3);
    // No more than there can be.
    begin();
    call("cudaLaunchKernel", 1, 0);
    call("cudaLaunchKernel", 2, 0);
    kernel(1);
    ts_writer_metadata(writer, 0, "cupti.into_graphs", TS_VALUE_INT, 3);
    count = counted();
    assert_int_equal(count.into_graphs, 1);
}

static void without_calls_nothing_is_claimed(void **state)
{
    (void)state;
    begin();
    kernel(1);
    assert_int_equal(counted().called, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_are_known_by_their_names),
        cmocka_unit_test(a_call_that_failed_launched_nothing),
        cmocka_unit_test(launches_into_graphs_are_counted_as_such),
        cmocka_unit_test(without_calls_nothing_is_claimed),
    };
    close(mkstemp(path));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
