/*
    test_replay_model.c - constants of models and critical paths, by hand
*/
#include "tests/replay/model/model_forge.h"

/* ---- Calibration -------------------------------------------------------- */

UNIT_TEST(constants_of_a_regular_trace_give_its_own_times)
{
    fixture x = steady();
    work_same(&x);
    assert_int_equal(390, model(&x, NULL, 0));
    assert_int_equal(0, stats(&x)->different);
    assert_int_equal(0, stats(&x)->unexplained);
    assert_int_equal(6 * US, delay_of(&x, TS_EDGE_LAUNCH).delay_ns);
    // No two kernels show the gap of the device alone.
    assert_true(delay_of(&x, TS_EDGE_STREAM_ORDER).assumed);
    work_close(&x);
    x = burst();
    assert_int_equal(238, model(&x, NULL, 0));
    assert_int_equal(0, stats(&x)->different);
    const ts_delay d = delay_of(&x, TS_EDGE_STREAM_ORDER);
    assert_int_equal(2 * US, d.delay_ns);
    assert_int_equal(KERNELS - 1, d.samples);
    work_close(&x);
}

UNIT_TEST(the_mean_of_a_class_keeps_the_sum)
{
    op ops[KERNELS];
    call calls[KERNELS];
    steady_work(ops, calls);
    uint64_t at = 6 * US;
    for (uint32_t i = 0; i < KERNELS; i++) {
        calls[i].start = 5 * US * (uint64_t)i;
        calls[i].end = calls[i].start + 4 * US;
        ops[i].start = at;
        ops[i].end = at + 10 * US;
        at += (i % 2 ? 12u : 13u) * US; // gaps of 3 and 2 us; the median is one
    }
    fixture x = WORK_CALLS(ops, calls);
    const ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL };
    assert_int_equal(TS_OK, ts_replay_run(x.replay, &desc));
    // 10 gaps of 3 and 9 of 2: 2526 each, half a nanosecond lost on each.
    assert_int_equal(2526, delay_of(&x, TS_EDGE_STREAM_ORDER).delay_ns);
    assert_int_equal(stats(&x)->recorded_end_ns - 6, stats(&x)->end_ns);
    work_close(&x);
}

enum { LAUNCHES = 12, NODES = 8, GRAPH_OPS = LAUNCHES * (2 * NODES + 1) };

// Two graphs, each launched again and again ahead of the device; nodes of the
// first, which are NODES, lie 1 us apart, those of the second, one more, 3 us.
static fixture two_graphs(void)
{
    static op ops[GRAPH_OPS];
    static call calls[2 * LAUNCHES];
    uint64_t at = 10 * US;
    uint32_t node = 0;
    for (uint32_t i = 0; i < 2 * LAUNCHES; i++) {
        const uint64_t gap = i < LAUNCHES ? 1 * US : 3 * US;
        const call c = {
            HOST,  8 * US * (uint64_t)i, (8 * (uint64_t)i + 4) * US,
            i + 1, "cudaGraphLaunch",    0
        };
        calls[i] = c;
        for (uint32_t k = 0; k < NODES + i / LAUNCHES; k++) {
            const op one = { .kind = K,
                             .track = S0,
                             .start = at,
                             .end = at + 10 * US,
                             .queued = UNKNOWN,
                             .correlation = i + 1 };
            ops[node++] = one;
            at = one.end + gap;
        }
        at += 2 * US - gap; // between launches it is always the same
    }
    return WORK_CALLS(ops, calls);
}

UNIT_TEST(each_graph_has_gaps_of_its_own)
{
    fixture x = two_graphs();
    work_same(&x);
    const ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL };
    assert_int_equal(TS_OK, ts_replay_run(x.replay, &desc));
    assert_int_equal(0, stats(&x)->different);
    assert_int_equal(0, stats(&x)->unexplained);
    work_close(&x);
}

UNIT_TEST(what_no_class_explains_stays_and_is_counted)
{
    op ops[KERNELS];
    call calls[KERNELS];
    steady_work(ops, calls);
    for (uint32_t i = 10; i < KERNELS; i++) {
        ops[i].start = (306 + 11 * ((uint64_t)i - 10)) * US;
        ops[i].end = ops[i].start + 10 * US;
    }
    fixture x = WORK_CALLS(ops, calls);
    assert_int_equal(409, model(&x, NULL, 0));
    assert_int_equal(0, stats(&x)->different);
    assert_int_equal(1, stats(&x)->unexplained);
    assert_int_equal(100 * US, stats(&x)->unexplained_ns);
    // 194 to the call at 200, 6 as after every other; then 9 gaps of 1.
    expect_costs(&x, 194, 15, 100, 0, 0);
    assert_int_equal(100 * US, path_of(&x).cost_ns[TS_COST_UNEXPLAINED]);
    assert_int_equal(TS_OK, ts_replay_run(x.replay, NULL)); // as recorded: too
    expect_costs(&x, 194, 15, 100, 0, 0);
    assert_int_equal(100 * US, path_of(&x).cost_ns[TS_COST_UNEXPLAINED]);
    work_close(&x);
    x = WORK_CALLS(ops, calls); // with no model before
    assert_int_equal(TS_OK, ts_replay_run(x.replay, NULL));
    assert_int_equal(100 * US, path_of(&x).cost_ns[TS_COST_UNEXPLAINED]);
    assert_int_equal(0, stats(&x)->unexplained);
    work_close(&x);
}

UNIT_TEST(a_long_call_delays_its_launch)
{
    op ops[KERNELS];
    call calls[KERNELS];
    steady_work(ops, calls);
    for (uint32_t i = 0; i < KERNELS; i++) {
        // Calls of 4 to 13 us; kernels start 2 us after their end.
        calls[i].start *= 2;
        calls[i].end = calls[i].start + (4 + i % 10) * US;
        ops[i].start = calls[i].end + 2 * US;
        ops[i].end = ops[i].start + 10 * US;
    }
    fixture x = WORK_CALLS(ops, calls);
    model(&x, NULL, 0);
    assert_int_equal(0, stats(&x)->different);
    assert_int_equal(2 * US, delay_of(&x, TS_EDGE_LAUNCH).delay_ns);
    work_close(&x);
}

/* ---- Critical path ------------------------------------------------------ */

UNIT_TEST(the_path_of_a_host_bound_trace_is_the_host)
{
    fixture x = steady();
    work_same(&x); // as recorded, too
    expect_costs(&x, 374, 6, 10, 0, 0);
    model(&x, NULL, 0);
    expect_costs(&x, 374, 6, 10, 0, 0);
    const ts_path path = path_of(&x);
    assert_int_equal(TS_COST_HOST, path.bound);
    assert_false(path.parts[path.count - 1].waits);
    assert_int_equal(TS_COST_COMPUTE, path.parts[path.count - 1].cost);
    work_close(&x);
}

UNIT_TEST(faster_kernels_of_a_host_bound_trace_gain_nothing)
{
    fixture x = steady();
    const ts_change change = { .type = TS_CHANGE_SCALE, .factor = half };
    assert_int_equal(385, with(&x, change)); // only the last one counts
    expect_costs(&x, 374, 6, 5, 0, 0);
    work_close(&x);
}

UNIT_TEST(the_path_needs_a_run)
{
    fixture x = steady();
    ts_path path;
    const ts_step *steps;
    size_t count;
    assert_int_equal(TS_ERR_STATE, ts_replay_path(x.replay, &path));
    assert_int_equal(TS_ERR_STATE, ts_replay_steps(x.replay, &steps, &count));
    work_same(&x);
    assert_int_equal(TS_OK, ts_replay_steps(x.replay, &steps, &count));
    assert_int_equal(0, count);
    work_close(&x);
}

UNIT_TEST(every_run_of_a_model_gives_the_same_digest)
{
    uint64_t first = 0;
    for (int round = 0; round < 8; round++) {
        op ops[KERNELS];
        call calls[KERNELS];
        steady_work(ops, calls);
        const ts_replay_desc how = { .threads = 1 + (uint32_t)round % 4 };
        fixture x = work_with(ops, KERNELS, calls, KERNELS, &how, round);
        const ts_change change = { .type = TS_CHANGE_SCALE, .factor = triple };
        with(&x, change);
        if (!round) first = stats(&x)->digest;
        assert_int_equal(first, stats(&x)->digest);
        work_close(&x);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
