/*
    test_replay_files.c - several traces replayed as one, and calls that block

    Each test first replays as recorded, where every nanosecond must come out,
    and then with one operation longer or shorter: only what depends on it may
    move.
*/
#include "tests/replay/graph/replay_forge.h"

/* ---- Several files ------------------------------------------------------ */

static void close_all(fixture *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        work_close(&parts[i]);
}

// Equal numbers of tracks, correlations and events in two files are unrelated.
UNIT_TEST(tracks_correlations_and_events_belong_to_their_file)
{
    const op first[] = {
        { .kind = K, .track = S0, .start = 10, .end = 50, .correlation = 1 },
        { .kind = R,
          .track = S0,
          .start = 50,
          .end = 50,
          .correlation = 2,
          .id = 7 },
        { .kind = W,
          .track = S0 + 1,
          .start = 5,
          .end = 52,
          .correlation = 3,
          .id = 7,
          .record = 2 },
    };
    const op second[] = {
        { .kind = K, .track = S0, .start = 20, .end = 60, .correlation = 1 },
        { .kind = R,
          .track = S0,
          .start = 60,
          .end = 60,
          .correlation = 2,
          .id = 7 },
        { .kind = W,
          .track = S0 + 1,
          .start = 6,
          .end = 62,
          .correlation = 3,
          .id = 7,
          .record = 2 },
        { .kind = W, .track = S0 + 2, .start = 61, .end = 70, .id = 7 },
    };
    fixture parts[] = { PART(first, 0), PART(second, 0) };
    work_join(parts, 2, NULL);
    work_change(&parts[0], OF(1, S0), 20, 140);
    work_expect(&parts[0], S0, 10, 10, 50);
    work_expect(&parts[0], S0 + 1, 5, 5, 52);
    work_expect(&parts[0], OF(1, S0), 60, 160, 160);
    work_expect(&parts[0], OF(1, S0 + 1), 6, 6, 162);
    work_expect(&parts[0], OF(1, S0 + 2), 61, 61, 169); // 9 after
    assert_int_equal(5, ts_replay_lane_count(parts[0].replay));
    assert_int_equal(2, ts_replay_device_count(parts[0].replay));
    ts_lane lane;
    assert_true(ts_replay_lane(parts[0].replay, 4, &lane));
    assert_int_equal(1, lane.file);
    assert_int_equal(S0 + 2, lane.track);
    close_all(parts, 2);
}

UNIT_TEST(calls_launch_only_what_is_in_their_file)
{
    const op ops[] = {
        { .kind = K, .track = S0, .start = 10, .end = 50, .correlation = 1 },
    };
    const call calls[] = { { HOST, 2, 4, 1, NULL, 0 } };
    fixture parts[] = { PART(ops, 0), work_part(ops, 1, calls, 1, 0) };
    work_join(parts, 2, NULL);
    work_same(&parts[0]);
    ts_operation o;
    ts_node n;
    assert_true(ts_replay_operation(parts[0].replay, 0, &o));
    assert_int_equal(0, o.file);
    assert_int_equal(TS_NODE_NONE, o.call);
    assert_true(ts_replay_operation(parts[0].replay, 1, &o));
    assert_int_equal(1, o.file);
    assert_true(ts_replay_node(parts[0].replay, o.call, &n));
    assert_int_equal(HOST, n.track);
    assert_int_equal(1, n.file);
    close_all(parts, 2);
}

UNIT_TEST(times_are_put_on_the_axis_of_the_first)
{
    const op ops[] = {
        { .kind = K, .track = S0, .start = 10, .end = 50, .queued = UNKNOWN },
    };
    const op late[] = {
        { .kind = K, .track = S0, .start = 7, .end = 9, .queued = UNKNOWN },
    };
    fixture parts[] = { PART(ops, 5000), PART(late, 5100), PART(ops, 4000),
                        PART(late, 0), PART(ops, UINT64_C(1) << 63) };
    work_join(parts, 5, NULL);
    work_same(&parts[0]);
    const int64_t offsets[] = { 0, 100, -1000, 0, 0 };
    const bool known[] = { true, true, true, false, false };
    for (uint32_t i = 0; i < 5; i++) {
        ts_replay_file file;
        assert_true(ts_replay_file_at(parts[0].replay, i, &file));
        assert_int_equal(offsets[i], file.offset_ns);
        assert_int_equal(known[i], file.realtime);
        assert_ptr_equal(parts[i].reader, file.reader);
        assert_ptr_equal(parts[i].reader, ts_replay_reader(parts[0].replay, i));
    }
    ts_replay_file none;
    assert_false(ts_replay_file_at(parts[0].replay, 5, &none));
    assert_null(ts_replay_reader(parts[0].replay, 5));
    work_find(&parts[0], OF(1, S0), 107);
    work_find(&parts[0], OF(2, S0), -990);
    close_all(parts, 5);
}

UNIT_TEST(a_selection_names_files)
{
    const op ops[] = {
        { .kind = K, .track = S0, .start = 10, .end = 50, .queued = UNKNOWN },
        { .kind = K, .track = T0, .start = 10, .end = 50, .queued = UNKNOWN },
    };
    const uint32_t tracks[] = { S0, T0 }, files[] = { 1, 0 };
    const uint32_t devices[] = { D0 }, second[] = { 1 };
    const ts_replay_desc descs[] = {
        { .streams = tracks, .stream_count = 2 },
        { .streams = tracks, .stream_count = 2, .stream_files = files },
        { .devices = devices, .device_count = 1, .device_files = second },
    };
    const uint64_t selected[3][2] = { { 2, 0 }, { 1, 1 }, { 0, 1 } };
    for (size_t i = 0; i < 3; i++) {
        fixture parts[] = { PART(ops, 0), PART(ops, 0) };
        uint64_t counts[2] = { 0, 0 };
        work_join(parts, 2, &descs[i]);
        work_same(&parts[0]);
        ts_operation o;
        for (size_t k = 0; ts_replay_operation(parts[0].replay, k, &o); k++)
            counts[o.file] += o.skip == TS_SKIP_NOT;
        assert_int_equal(selected[i][0], counts[0]);
        assert_int_equal(selected[i][1], counts[1]);
        close_all(parts, 2);
    }
}

UNIT_TEST(files_without_operations_are_allowed_but_not_all)
{
    const op ops[] = {
        { .kind = K, .track = S0, .start = 10, .end = 50, .queued = UNKNOWN },
    };
    fixture parts[] = { work_part(ops, 0, NULL, 0, 0), PART(ops, 0),
                        work_part(ops, 0, NULL, 0, 0) };
    work_join(parts, 2, NULL);
    work_same(&parts[0]);
    assert_int_equal(1, stats(&parts[0])->operations);
    ts_replay *none;
    ts_reader *const more[] = { parts[2].reader, NULL };
    ts_replay_desc desc = { .more = more, .more_count = 1 };
    assert_int_equal(TS_ERR_NOT_FOUND,
                     ts_replay_open(&none, parts[0].reader, &desc));
    desc.more_count = 2;
    assert_int_equal(TS_ERR_USAGE,
                     ts_replay_open(&none, parts[0].reader, &desc));
    close_all(parts, 3);
}

// The digest tells ranks apart, whatever their tracks are.
UNIT_TEST(the_order_of_files_is_part_of_the_digest)
{
    const op a[] = {
        { .kind = K, .track = S0, .start = 10, .end = 50, .queued = UNKNOWN },
    };
    const op b[] = {
        { .kind = K, .track = S0, .start = 20, .end = 30, .queued = UNKNOWN },
    };
    uint64_t digests[3];
    for (int round = 0; round < 3; round++) {
        fixture parts[2];
        parts[round & 1] = work_part(a, 1, NULL, 0, 0);
        parts[!(round & 1)] = work_part(b, 1, NULL, 0, 0);
        work_join(parts, 2, NULL);
        work_same(&parts[0]);
        digests[round] = stats(&parts[0])->digest;
        close_all(parts, 2);
    }
    assert_int_equal(digests[0], digests[2]);
    assert_int_not_equal(digests[0], digests[1]);
}

/* ---- Calls that block --------------------------------------------------- */

static size_t calls_of(const fixture *x, int64_t *starts, int64_t *durations)
{
    const ts_graph graph = ts_replay_graph(x->replay);
    for (uint32_t i = 0; i < graph.call_count; i++) {
        ts_node n;
        assert_true(ts_replay_node(x->replay, graph.operation_count + i, &n));
        starts[i] = n.recorded_ns;
        durations[i] = n.duration_ns;
    }
    return graph.call_count;
}

UNIT_TEST(calls_that_may_block_are_known_by_their_names)
{
    const struct {
        const char *name;
        size_t count;
    } cases[] = {
        { "cudaDeviceSynchronize", 1 },
        { "cudaStreamSynchronize", 1 },
        { "cudaEventSynchronize_v3020", 1 },
        { "cuCtxSynchronize", 1 },
        { "hipStreamSynchronize", 1 },
        { "hipMemcpyWithStream", 1 },
        { "cudaMemcpyAsync", 1 },
        { "cuMemcpyDtoH_v2", 1 },
        { "cudaFree", 1 },
        { "hipFree", 1 },
        { "cuMemFree_v2", 1 },
        { "cudaEventQuery", 1 },
        { "cuStreamQuery_ptsz", 1 },
        { "clFinish", 1 },
        { "clWaitForEvents", 1 },
        { "zeCommandQueueSynchronize", 1 },
        { "zeEventHostSynchronize", 1 },
        { "zeEventQueryStatus", 1 },
        { "aclrtSynchronizeStream", 1 },
        { "cudaFreeAsync", 0 },
        { "cudaMalloc", 0 },
        { "cudaLaunchHostFunc", 0 },
        { "cudaEventRecord", 0 },
        { "cuFuncGetAttribute", 0 },
        { "", 0 },
        // These do not block. Where nothing but the calls is known, they tell
        // what waits for what; names of earlier traces are in later ones.
        { "cudaStreamWaitEvent", 1 },
        { "cudaEventRecord", 1 },
    };
    const op ops[] = {
        { .kind = K, .track = S0, .start = 10, .end = 50, .correlation = 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const call calls[] = { { HOST, 60, 70, 99, cases[i].name, 0 } };
        fixture x = WORK_CALLS(ops, calls);
        int64_t starts[4], durations[4];
        work_same(&x);
        if (calls_of(&x, starts, durations) != cases[i].count)
            fail_msg("%s: not %zu call", cases[i].name, cases[i].count);
        assert_int_equal(cases[i].count, stats(&x)->calls);
        work_close(&x);
    }
}

UNIT_TEST(a_blocking_call_keeps_its_place_on_its_thread)
{
    const op ops[] = {
        { .kind = K, .track = S0, .start = 10, .end = 50, .correlation = 1 },
        { .kind = K,
          .track = S0 + 1,
          .start = 90,
          .end = 99,
          .correlation = 3 },
    };
    const call calls[] = { { HOST, 2, 4, 1, "cudaLaunchKernel", 0 },
                           { HOST, 5, 80, 2, "cudaDeviceSynchronize", 0 },
                           { HOST, 82, 84, 3, "cudaLaunchKernel", 0 },
                           { OTHER, 5, 80, 0, "cudaFree", 0 } };
    fixture x = WORK_CALLS(ops, calls);
    work_same(&x);
    assert_int_equal(4, stats(&x)->calls);
    assert_int_equal(2, stats(&x)->edges[TS_EDGE_HOST_ORDER]);
    work_close(&x);
    // Of a part of the trace it is the threads that launched that part.
    const uint32_t streams[] = { S0 };
    const ts_replay_desc desc = { .streams = streams, .stream_count = 1 };
    x = work_with(ops, 2, calls, 4, &desc, 0);
    work_same(&x);
    assert_int_equal(2, stats(&x)->calls);
    work_close(&x);
}

UNIT_TEST(polling_is_one_wait_until_the_first_success)
{
    const op ops[] = {
        { .kind = K, .track = S0, .start = 10, .end = 50, .correlation = 1 },
    };
    const call calls[] = {
        { HOST, 20, 21, 0, "cudaEventQuery", 600 },
        { OTHER, 20, 21, 0, "cudaEventQuery", 600 }, // another thread
        { HOST, 30, 31, 0, "cudaEventQuery", 600 },
        { HOST, 9000, 9002, 0, "cudaEventQuery", 0 },
        { HOST, 9003, 9004, 0, "cudaEventQuery", 0 },    // another wait
        { HOST, 9005, 9006, 0, "cudaStreamQuery", 600 }, // never done
    };
    int64_t starts[8], durations[8];
    fixture x = WORK_CALLS(ops, calls);
    work_same(&x);
    assert_int_equal(2, calls_of(&x, starts, durations));
    assert_int_equal(20, starts[0]);
    assert_int_equal(9002 - 20, durations[0]);
    assert_int_equal(9003, starts[1]);
    assert_int_equal(1, durations[1]);
    work_close(&x);
}

UNIT_TEST(polling_without_results_is_one_wait_while_nothing_else_is_done)
{
    const op ops[] = {
        { .kind = K, .track = S0, .start = 10, .end = 50, .correlation = 1 },
    };
    const call calls[] = {
        { HOST, 100, 300, 0, "hipEventQuery", 0 },
        { HOST, 900, 1200, 0, "hipEventQuery", 0 },
        { HOST, 1300, 1500, 0, "hipEventQuery", 0 },
        { HOST, 1500, 1510, 0, "hipDeviceSynchronize", 0 },
        { HOST, 1600, 1700, 0, "hipEventQuery", 0 },
        { HOST, 99000, 99100, 0, "hipEventQuery", 0 }, // much later
    };
    const int64_t expected[4][2] = {
        { 100, 1400 }, { 1500, 10 }, { 1600, 100 }, { 99000, 100 }
    };
    int64_t starts[8], durations[8];
    fixture x = WORK_CALLS(ops, calls);
    work_same(&x);
    assert_int_equal(4, calls_of(&x, starts, durations));
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(expected[i][0], starts[i]);
        assert_int_equal(expected[i][1], durations[i]);
    }
    work_close(&x);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
