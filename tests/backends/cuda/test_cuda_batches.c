// Captures of CUDA: batches of copies made by one call.
#define _GNU_SOURCE
#include "tests/backends/cuda/cuda_graph_fixture.h"

#define BATCH_CALLS(X) \
    X(cuMemcpyBatchAsync, (uint64_t *, uint64_t *, size_t *, size_t, \
                           const void *, size_t *, size_t, size_t *, void *)) \
    X(cuMemcpyBatchAsync_v2, (uint64_t *, uint64_t *, size_t *, size_t, \
                              const void *, size_t *, size_t, void *)) \
    X(cuMemcpy3DBatchAsync_v2, \
      (size_t, const ts__cuda_batch *, unsigned long long, void *))
BATCH_CALLS(CU_DECLARE)

static int start_batches(void **user)
{
    if (start_graphs(user)) return -1;
    BATCH_CALLS(CU_FIND)
    return 0;
}

// From the host, within the device, and back.
UNIT_TEST(a_batch_of_copies_is_one_operation)
{
    static const uint32_t attributes[6] = { 1 };
    static uint32_t host[COUNT], back[COUNT];
    uint64_t to[3] = { others, others + BYTES / 2, (uintptr_t)back };
    uint64_t from[3] = { (uintptr_t)host, numbers, numbers };
    size_t sizes[3] = { BYTES / 2, BYTES / 2, 64 }, first = 0;
    begin_graphs();
    to[0] = others;
    to[1] = others + BYTES / 2;
    from[1] = from[2] = numbers;
    host[0] = 33;
    ok(cuMemcpyBatchAsync_v2(to, from, sizes, 3, attributes, &first, 1,
                             stream));
    host[0] = 34;
    ok(cuMemcpyBatchAsync(to, from, sizes, 2, attributes, &first, 1, sizes,
                          stream));
    assert_int_equal(number_at(others), 34);
    assert_int_equal(number_at(others + BYTES / 2), 10);
    assert_int_equal(back[0], 10);
    host[0] = 0; // it is in the trace
    end_graphs();
    assert_int_equal(ts_reader_capture_count(trace.reader), 2);
    const ts_capture c = capture_at(0), old = capture_at(1);
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(nodes_of(&c, TS_EVENT_MEMCPY), 3);
    assert_int_equal(nodes_of(&old, TS_EVENT_MEMCPY), 2);
    runs_the_same(2, 0, 2);
    runs_the_same(2, 1, 2);
    rt_close(&trace);
}

static ts__cuda_operand at_memory(uint64_t address, size_t row, size_t height)
{
    ts__cuda_operand o = { .type = TS__CUDA_POINTER };
    o.as.pointer.address = address;
    o.as.pointer.row = row;
    o.as.pointer.height = height;
    return o;
}

UNIT_TEST(boxes_of_a_batch_keep_their_rows)
{
    ts__cuda_batch boxes[2];
    begin_graphs();
    memset(boxes, 0, sizeof boxes);
    for (int i = 0; i < 2; i++)
        boxes[i].order = 1;
    // Two rows of 16 bytes of two slices, and a layout without padding.
    boxes[0].from = at_memory(numbers, 32, 4);
    boxes[0].to = at_memory(others, 64, 0);
    memcpy(boxes[0].extent, (const size_t[]){ 16, 2, 2 }, 24);
    boxes[1].from = at_memory(numbers + 1024, 0, 0);
    boxes[1].to = at_memory(others + 1024, 0, 0);
    memcpy(boxes[1].extent, (const size_t[]){ 256, 1, 1 }, 24);
    ok(cuMemsetD32Async(others, 3, COUNT, stream));
    ok(cuMemcpy3DBatchAsync_v2(2, boxes, 0, stream));
    assert_int_equal(number_at(others + 12), 10);
    assert_int_equal(number_at(others + 16), 3);
    assert_int_equal(number_at(others + 3 * 64 + 12), 10);
    boxes[1].from.type = TS__CUDA_ARRAY;
    assert_int_not_equal(cuMemcpy3DBatchAsync_v2(2, boxes, 0, stream), 0);
    end_graphs();
    const ts_capture c = capture_at(1);
    assert_int_equal(nodes_of(&c, TS_EVENT_MEMCPY), 2);
    for (size_t i = 0; i < 2; i++)
        runs_the_same(2, i, 2);
    assert_int_equal(capture_at(2).head.state, TS_CAPTURE_DECLINED);
    rt_close(&trace);
}

int main(void)
{
    return unit_run(start_batches, finish);
}
