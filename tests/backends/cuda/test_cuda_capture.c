// Captures of CUDA: the contents and attributes that are captured.
#define TRACESMITH_CUPTI_IMPLEMENTATION // the test looks inside
#include "tests/backends/cuda/cuda_capture_fixture.h"

UNIT_TEST(a_kernel_is_kept_with_code_arguments_and_memory)
{
    ts_capture_image image;
    const void *bytes;
    size_t size;
    begin();
    ok(cuMemsetD32Async(numbers, 40, COUNT, stream));
    ok(launch(add, numbers + 8, 2));
    end();
    assert_int_equal(ts_reader_capture_count(trace.reader), 2);
    const ts_capture c = capture_at(1);
    assert_int_equal(c.head.kind, TS_EVENT_KERNEL);
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(c.head.grid[0], 4);
    assert_int_equal(c.head.block[0], 256);
    assert_int_equal(c.head.args_size, 12);
    assert_int_equal(c.head.param_count, 2);
    assert_int_equal(c.params[0].type, TS_PARAM_POINTER);
    assert_int_equal(c.params[1].type, TS_PARAM_UNKNOWN);
    assert_int_equal(c.regions[0].address, numbers);
    assert_int_equal(c.regions[0].size, BYTES);
    assert_int_equal(first_of(c.regions[0].before), 40);
    assert_int_equal(c.params[1].offset, 8);
    assert_true(ts_reader_image(trace.reader, c.head.image, &image));
    assert_int_equal(image.form, TS_CAPTURE_CUBIN);
    ok(ts_reader_blob(trace.reader, image.hash, &bytes, &size));
    assert_memory_equal(bytes, cubin, size);
    // It lies where the operation does, and has its correlation.
    const rt_row *const row = rt_only(&trace, TS_EVENT_KERNEL, "add");
    assert_int_equal(row->track, c.head.track);
    assert_int_equal(row->values[TS_COLUMN_CORRELATION], c.head.correlation);
    rt_close(&trace);
}

UNIT_TEST(reads_of_the_capture_are_no_operations)
{
    begin();
    for (int i = 0; i < 5; i++)
        ok(launch(add, numbers, 1));
    end();
    assert_int_equal(rt_rows(&trace, TS_EVENT_MEMCPY, NULL), 0);
    assert_int_equal(rt_rows(&trace, TS_EVENT_DEVICE_SYNC, NULL), 0);
    assert_int_equal(rt_rows(&trace, TS_EVENT_STREAM_SYNC, NULL), 0);
    assert_int_equal(rt_rows(&trace, TS_EVENT_EVENT_SYNC, NULL), 0);
    assert_int_equal(rt_rows(&trace, TS_EVENT_EVENT_RECORD, NULL), 0);
    cu_assert_nothing_lost(&trace);
    assert_int_equal(cu_fact(&trace, "capture.whole"), 5);
    rt_close(&trace);
}

// CUPTI reports queries like waits.
UNIT_TEST(queries_are_no_waits)
{
    void *event;
    begin();
    ok(cuEventCreate(&event, 0));
    ok(launch(add, numbers, 1));
    ok(cuEventRecord(event, stream));
    for (int i = 0; i < 3; i++) {
        ok(cuStreamQuery(stream));
        ok(cuEventQuery(event));
    }
    ok(cuStreamSynchronize(stream));
    end();
    assert_int_equal(rt_rows(&trace, TS_EVENT_STREAM_SYNC, NULL), 1);
    assert_int_equal(rt_rows(&trace, TS_EVENT_EVENT_SYNC, NULL), 0);
    assert_int_equal(rt_rows(&trace, TS_EVENT_EVENT_RECORD, NULL), 1);
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
}

UNIT_TEST(copies_keep_the_hosts_bytes)
{
    const uint32_t in = 77;
    uint32_t out = 0;
    begin();
    ok(cuMemcpyHtoD_v2(numbers, &in, 4));
    ok(cuMemcpyDtoHAsync_v2(&out, numbers, 4, stream));
    end();
    assert_int_equal(out, 77);
    const ts_capture to = capture_at(0), from = capture_at(1);
    assert_int_equal(to.head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(to.head.destination, numbers);
    assert_int_equal(to.head.source, (uintptr_t)&in);
    assert_int_equal(first_of(from.regions[1].after), 77);
    rt_close(&trace);
}

UNIT_TEST(attributes_are_kept_as_they_are)
{
    const struct {
        uint32_t id, pad, value[16];
    } cluster = { 4, 0, { 2, 1, 1 } };
    const struct {
        uint32_t grid[3], block[3], shared;
        void *stream;
        const void *attributes;
        uint32_t count;
    } how = { { 2, 1, 1 }, { 32, 1, 1 }, 60 << 10, stream, &cluster, 1 };
    uint32_t value = 1;
    void *arguments[] = { &numbers, &value };
    ts_attribute a;
    begin();
    ok(cuFuncSetAttribute(add, 8, 64 << 10));
    ok(cuLaunchKernelEx(&how, add, arguments, NULL));
    end();
    const ts_capture c = capture_at(0);
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(c.head.shared, 60 << 10);
    assert_true(
        ts_attribute_find(&c.attributes, TS_ATTRIBUTE_CUDA_LAUNCH, 72, &a));
    assert_memory_equal(a.bytes, &cluster, sizeof cluster);
    assert_true(ts_attribute_find(&c.attributes, TS_ATTRIBUTE_FUNCTION, 8, &a));
    assert_int_equal(((const int32_t *)a.bytes)[1], 64 << 10);
    rt_close(&trace);
}

UNIT_TEST(a_kernel_of_a_library_is_found_when_it_is_launched)
{
    void *library, *kernel;
    begin();
    ok(cuLibraryLoadData(&library, cubin, NULL, NULL, 0, NULL, NULL, 0));
    ok(cuLibraryGetKernel(&kernel, library, "add"));
    ok(launch(kernel, numbers, 5));
    end();
    assert_int_equal(capture_at(0).head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(capture_at(0).head.param_count, 2);
    rt_close(&trace);
}

// Its allocation was not seen; the driver knows it.
UNIT_TEST(memory_of_before_the_session_is_asked_for)
{
    uint64_t old;
    ok(cuMemAlloc_v2(&old, BYTES));
    begin();
    ok(launch(add, old, 1));
    end();
    const ts_capture c = capture_at(0);
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(c.regions[0].address, old);
    ok(cuMemFree_v2(old));
    rt_close(&trace);
}

UNIT_TEST(a_trigger_finds_modules_of_before_it)
{
    const ts_capture_desc one = { .operations = 1 };
    const ts_session_desc session = { .path = rt_path("trigger.sbt") };
    ok(ts_cupti_configure(NULL));
    ok(ts_capture_arm(&one));
    ok(ts_session_start(&session));
    ok(cuModuleLoadData(&module, cubin));
    ok(cuModuleGetFunction(&add, module, "add"));
    ok(cuMemAlloc_v2(&numbers, BYTES));
    ok(launch(add, numbers, 1));
    ts_capture_trigger();
    ok(launch(add, numbers, 1));
    ok(launch(add, numbers, 1));
    path = session.path;
    end();
    assert_int_equal(ts_reader_capture_count(trace.reader), 1);
    assert_int_equal(capture_at(0).head.state, TS_CAPTURE_WHOLE);
    rt_close(&trace);
}

UNIT_TEST(what_is_not_wanted_is_looked_at_again)
{
    const ts_capture_desc odd = { .kernels = "add", .first = 1 };
    begin_with(&odd);
    ok(launch(add, numbers, 1));
    ok(cuMemsetD32Async(numbers, 20, COUNT, stream));
    ok(launch(add, numbers, 1));
    ok(cuMemsetD32Async(numbers, 40, COUNT, stream));
    ok(launch(add, numbers, 1));
    end();
    assert_int_equal(ts_reader_capture_count(trace.reader), 2);
    for (size_t i = 0; i < 2; i++) {
        const ts_capture c = capture_at(i);
        assert_int_equal(first_of(c.regions[0].before), 20 + 20 * i);
        assert_int_equal(first_of(c.regions[0].after), 21 + 20 * i);
    }
    rt_close(&trace);
}

// Its free was not seen: the known contents are no longer valid.
UNIT_TEST(an_address_that_is_allocated_again_is_looked_at_again)
{
    begin();
    ok(cuMemsetD32Async(numbers, 20, COUNT, stream));
    ok(launch(add, numbers, 1));
    const ts__cs_range seen = *ts__cs_range_of(numbers);
    *(uint32_t *)(uintptr_t)numbers = 70;
    ts__cs_range_add(&seen);
    ok(launch(add, numbers, 1));
    end();
    assert_int_equal(first_of(capture_at(2).regions[0].before), 70);
    rt_close(&trace);
}

UNIT_TEST(pinned_memory_is_copied_like_any_other_of_the_host)
{
    uint64_t pinned;
    begin();
    ok(cuMemAllocHost_v2(&pinned, BYTES));
    memset((void *)(uintptr_t)pinned, 1, BYTES);
    ok(cuMemcpyHtoD_v2(numbers, (const void *)(uintptr_t)pinned, BYTES));
    ok(launch(add, pinned, 1));
    ok(cuMemFreeHost(pinned));
    end();
    const ts_capture c = capture_at(0);
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(first_of(c.regions[0].before), 0x01010101);
    assert_int_equal(capture_at(1).head.reason, TS_REASON_EXTERNAL_MEMORY);
    rt_close(&trace);
}

// Before CUDA 12.4; the cubin tells it.
UNIT_TEST(a_driver_that_knows_no_parameters_is_no_hindrance)
{
    begin();
    ok(launch(add, numbers, 1)); // the driver is looked for here
    ts__cs.driver.call.parameter = NULL;
    ok(launch(add, numbers, 1));
    end();
    const ts_capture c = capture_at(1);
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(c.head.args_size, 12);
    assert_int_equal(c.head.param_count, 2);
    assert_int_equal(c.params[0].type, TS_PARAM_POINTER);
    assert_int_equal(c.params[1].offset, 8);
    rt_close(&trace);
}

// By what the driver tells, and by what the cubin does.
UNIT_TEST(more_than_4_kib_of_arguments_are_kept)
{
    static uint32_t values[1250], last = 40;
    void *large, *arguments[] = { &numbers, values, &last };
    values[1249] = 2;
    begin();
    ok(cuModuleGetFunction(&large, module, "large"));
    for (int i = 0; i < 2; i++) {
        ok(cuLaunchKernel(large, 4, 1, 1, 256, 1, 1, 0, stream, arguments,
                          NULL));
        ts__cs.driver.call.parameter = NULL;
    }
    end();
    for (size_t i = 0; i < 2; i++) {
        const ts_capture c = capture_at(i);
        assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
        assert_int_equal(c.head.args_size, 5012);
        assert_int_equal(c.head.param_count, 3);
        assert_memory_equal((const char *)c.args + 5008, &last, sizeof last);
        assert_int_equal(first_of(c.regions[0].after),
                         first_of(c.regions[0].before) + 42);
    }
    rt_close(&trace);
}

UNIT_TEST(one_call_unmaps_all_that_it_names)
{
    enum { GRANULE = 2 << 20 };
    uint64_t at, handle;
    begin();
    const size_t before = ts__cs.range_count;
    ok(cuMemAddressReserve(&at, 3 * GRANULE, 0, 0, 0));
    ok(cuMemCreate(&handle, GRANULE, &at, 0));
    for (uint64_t i = 0; i < 3; i++)
        ok(cuMemMap(at + i * GRANULE, GRANULE, 0, handle, 0));
    assert_int_equal(ts__cs.range_count, before + 1);
    assert_int_equal(ts__cs_range_of(at)->size, 3 * GRANULE);
    ok(cuMemUnmap(at + GRANULE, GRANULE));
    assert_int_equal(ts__cs.range_count, before + 2);
    assert_int_equal(ts__cs_range_of(at)->size, GRANULE);
    assert_int_equal(ts__cs_range_of(at + 2 * GRANULE)->size, GRANULE);
    ok(cuMemMap(at + GRANULE, GRANULE, 0, handle, 0));
    assert_int_equal(ts__cs_range_of(at)->size, 3 * GRANULE);
    ok(cuMemUnmap(at, 2 * GRANULE));
    assert_int_equal(ts__cs.range_count, before + 1);
    ok(cuMemUnmap(at + 2 * GRANULE, GRANULE));
    assert_int_equal(ts__cs.range_count, before);
    ok(cuMemRelease(handle));
    ok(cuMemAddressFree(at, 3 * GRANULE));
    end();
    rt_close(&trace);
}

enum { PIECE = 2 << 20 };

static uint64_t map_piece(uint64_t at)
{
    const int how[3] = { 1, 0, 3 };
    uint64_t handle;
    ok(cuMemCreate(&handle, PIECE, &at, 0));
    ok(cuMemMap(at, PIECE, 0, handle, 0));
    ok(cuMemSetAccess(at, PIECE, how, 1));
    return handle;
}

// As allocators do that grow: what was there is not looked at again.
UNIT_TEST(a_tensor_in_several_maps_is_kept_whole)
{
    uint64_t at, handles[2];
    begin();
    ok(cuMemAddressReserve(&at, 2 * PIECE, 0, 0, 0));
    handles[0] = map_piece(at);
    ok(cuMemsetD32Async(at, 3, PIECE / 4, stream));
    const uint64_t looked = ts_capture_result().looked_bytes;
    handles[1] = map_piece(at + PIECE);
    ok(launch(add, at + PIECE - BYTES / 2, 2)); // half of it in each
    const uint64_t more = ts_capture_result().looked_bytes - looked;
    ok(cuMemUnmap(at, 2 * PIECE));
    ok(cuMemRelease(handles[0]));
    ok(cuMemRelease(handles[1]));
    ok(cuMemAddressFree(at, 2 * PIECE));
    end();
    const ts_capture c = capture_at(1);
    const void *list;
    size_t size;
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(c.regions[0].address, at);
    assert_int_equal(c.regions[0].size, 2 * PIECE);
    ok(ts_reader_blob(trace.reader, c.regions[0].after, &list, &size));
    assert_int_equal(size, 2 * PIECE / TS_CAPTURE_CHUNK * 16);
    // Before it the new piece, and after it all of both; then what little some
    // bytes take for a pointer.
    assert_in_range(more, 3 * PIECE, 3 * PIECE + 4 * TS_CAPTURE_CHUNK);
    rt_close(&trace);
}

UNIT_TEST(adjacent_reservations_are_separate)
{
    uint64_t at, behind, handles[2];
    begin();
    ok(cuMemAddressReserve(&at, PIECE, 0, 0, 0));
    ok(cuMemAddressReserve(&behind, PIECE, 0, at + PIECE, 0));
    assert_int_equal(behind, at + PIECE);
    handles[1] = map_piece(behind);
    handles[0] = map_piece(at);
    ok(launch(add, at, 1));
    assert_int_not_equal(cuMemUnmap(at, PIECE / 2), 0); // not a part of one
    assert_int_not_equal(cuMemAddressFree(at, PIECE), 0);
    for (int i = 0; i < 2; i++) {
        ok(cuMemUnmap(at + (uint64_t)i * PIECE, PIECE));
        ok(cuMemRelease(handles[i]));
        ok(cuMemAddressFree(at + (uint64_t)i * PIECE, PIECE));
    }
    assert_int_equal(ts__cs.seam_count, 0);
    end();
    assert_int_equal(capture_at(0).regions[0].address, at);
    assert_int_equal(capture_at(0).regions[0].size, PIECE);
    rt_close(&trace);
}

int main(void)
{
    return unit_run(start, finish);
}
