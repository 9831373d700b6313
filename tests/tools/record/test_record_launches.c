// ts-record counts launches whose work was seen.
#define TRACESMITH_WRITER
#include "tools/record/record.h"
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include "tests/unit.h"

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

UNIT_TEST(launches_are_known_by_their_names)
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
    begin();
    for (uint64_t i = 0; i < 10; i++)
        call(launching[i], i + 1, 0);
    for (uint64_t i = 0; i < 4; i++)
        call(others[i], i + 20, 0);
    for (uint64_t i = 1; i < 8; i++)
        kernel(i);
    // A kernel that was lost is not there because it was waited for.
    const ts_writer_value waited = { TS_COLUMN_CORRELATION, 9 };
    ts_writer_event(writer, TS_EVENT_EVENT_RECORD, 2, 98, 0, &waited, 1);
    const record_launches count = counted();
    assert_int_equal(count.called, 10);
    assert_int_equal(count.recorded, 7);
    assert_false(count.graphs);
}

UNIT_TEST(a_call_that_failed_launched_nothing)
{
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
UNIT_TEST(launches_into_graphs_are_counted_as_such)
{
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

UNIT_TEST(without_calls_nothing_is_claimed)
{
    begin();
    kernel(1);
    assert_int_equal(counted().called, 0);
}

// Each is told by its name and error, of all processes together.
UNIT_TEST(calls_that_failed_are_known_by_their_errors)
{
    record_launches sum = { .called = 0 };
    begin();
    for (uint64_t i = 1; i < 4; i++)
        call("clEnqueueNDRangeKernel", i, i == 2 ? 5 : 54);
    call("cudaMalloc", 9, 2);
    const record_launches count = counted();
    assert_int_equal(count.called, 0);
    assert_int_equal(count.failed, 4);
    record_launches_add(&sum, &count);
    record_launches_add(&sum, &count);
    assert_int_equal(sum.failed, 8);
    static const record_failure want[] = {
        { "clEnqueueNDRangeKernel", -54, 4 },
        { "clEnqueueNDRangeKernel", -5, 2 },
        { "cudaMalloc", 2, 2 },
    };
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(want[i].call, sum.failures[i].call);
        assert_int_equal(want[i].error, sum.failures[i].error);
        assert_int_equal(want[i].count, sum.failures[i].count);
    }
    assert_int_equal(0, sum.failures[3].count);
}

UNIT_TEST(more_errors_than_are_named_still_count)
{
    record_launches sum = { .called = 0 };
    begin();
    for (uint64_t i = 1; i < 21; i++)
        call("cudaMemcpyAsync", i, i);
    const record_launches count = counted();
    record_launches_add(&sum, &count);
    assert_int_equal(sum.failed, 20);
    assert_int_equal(sum.failures[RECORD_FAILURES - 1].count, 1);
}

// Five were called, of which three are lost, calls or kernels.
UNIT_TEST(lost_calls_are_known_by_the_number_of_the_backend)
{
    for (int reported = 1; reported >= 0; reported--) {
        begin();
        call("clEnqueueNDRangeKernel", 1, 0);
        call("clEnqueueNDRangeKernel", 2, 0);
        kernel(1);
        kernel(3);
        kernel(4);
        ts_writer_stall(writer, 1, TS_LOSS_DISK_FULL, 0, 5, 0, 0, 0);
        if (reported)
            ts_writer_metadata(writer, 0, "opencl.launches", TS_VALUE_INT, 5);
        const record_launches count = counted();
        assert_int_equal(count.called, reported ? 5 : 3);
        assert_int_equal(count.recorded, 3);
        assert_int_equal(count.more, !reported);
    }
}

// What a backend could not see is no call.
UNIT_TEST(a_loss_of_a_backend_leaves_calls_as_they_are)
{
    begin();
    call("cudaLaunchKernel", 1, 0);
    ts_writer_metadata(writer, 0, "cupti.launches", TS_VALUE_INT, 5);
    ts_writer_stall(writer, 2, TS_LOSS_BACKEND, 0, 1, 0, 0, 0);
    const record_launches count = counted();
    assert_int_equal(count.called, 1);
    assert_int_equal(count.recorded, 0);
    assert_false(count.more);
}

int main(void)
{
    close(mkstemp(path));
    return unit_run(NULL, NULL);
}
