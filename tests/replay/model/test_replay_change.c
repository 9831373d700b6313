/*
    test_replay_change.c - what-ifs that change operations and the host, by
    hand
*/
#include "tests/replay/model/model_forge.h"

/* ---- Changes ------------------------------------------------------------ */

UNIT_TEST(slower_kernels_queue_up)
{
    fixture x = steady();
    const ts_change change = { .type = TS_CHANGE_SCALE, .factor = triple };
    assert_int_equal(619, with(&x, change)); // 20 of 30, 1 us between
    expect_costs(&x, 0, 19, 600, 0, 0);
    assert_int_equal(390, model(&x, NULL, 0)); // nothing of it remains
    work_close(&x);
}

// The tenth kernel began 5 us sooner than usual. These are not subtracted from
// the end of the kernel before it on its stream.
UNIT_TEST(what_once_began_early_still_waits_for_its_stream)
{
    op ops[KERNELS];
    call calls[KERNELS];
    steady_work(ops, calls);
    ops[10].start -= 5 * US;
    ops[10].end -= 5 * US;
    fixture x = WORK_CALLS(ops, calls);
    const ts_change change = { .type = TS_CHANGE_SCALE, .factor = triple };
    assert_int_equal(390, model(&x, NULL, 0));
    work_expect(&x, S0, 201 * US, 201 * US, 211 * US);
    with(&x, change); // 1 us between kernels of 30 us
    work_expect(&x, S0, 186 * US, 285 * US, 315 * US);
    work_expect(&x, S0, 201 * US, 315 * US, 345 * US);
    work_expect(&x, S0, 226 * US, 346 * US, 376 * US);
    work_close(&x);
}

UNIT_TEST(a_scale_means_what_it_names_and_rounds_half_up)
{
    fixture x = steady();
    bool which[KERNELS] = { [3] = true };
    ts_change change = { .type = TS_CHANGE_SCALE,
                         .operations = which,
                         .factor = { 1, 4000 } }; // 2.5 ns
    assert_int_equal(390, with(&x, change));
    work_expect(&x, S0, 66 * US, 66 * US, 66 * US + 3);
    work_expect(&x, S0, 86 * US, 86 * US, 96 * US);
    work_close(&x);
}

UNIT_TEST(a_faster_host_moves_the_bound_to_the_device)
{
    fixture x = steady();
    const ts_change change = { .type = TS_CHANGE_HOST, .factor = half };
    assert_int_equal(219, with(&x, change));
    expect_costs(&x, 0, 19, 200, 0, 0);
    work_close(&x);
}

UNIT_TEST(without_launch_overhead_calls_take_no_time)
{
    fixture x = steady();
    const ts_change change = { .type = TS_CHANGE_NO_LAUNCH };
    assert_int_equal(314, with(&x, change));
    work_expect(&x, S0, 26 * US, 16 * US, 26 * US);
    work_close(&x);
}

UNIT_TEST(what_is_removed_takes_its_call_along)
{
    fixture x = steady();
    bool odd[KERNELS];
    for (uint32_t i = 0; i < KERNELS; i++)
        odd[i] = i % 2;
    const ts_change change = { .type = TS_CHANGE_REMOVE, .operations = odd };
    assert_int_equal(334, with(&x, change));
    assert_int_equal(10, stats(&x)->skipped[TS_SKIP_REMOVED]);
    assert_int_equal(10, stats(&x)->operations);
    work_same(&x);
    assert_int_equal(0, stats(&x)->skipped[TS_SKIP_REMOVED]);
    assert_int_equal(KERNELS, stats(&x)->operations);
    work_close(&x);
}

UNIT_TEST(removed_operations_are_bridged)
{
    fixture x = burst();
    bool all[KERNELS];
    for (uint32_t i = 0; i < KERNELS; i++)
        all[i] = i > 0 && i < KERNELS - 1;
    const ts_change change = { .type = TS_CHANGE_REMOVE, .operations = all };
    // The calls: 4, then gaps of 1 us, 19 of them; the last kernel follows the
    // first 2 us after its end or its call at 23.
    assert_int_equal(33, with(&x, change));
    work_expect(&x, S0, 234 * US, 29 * US, 39 * US);
    work_close(&x);
}

UNIT_TEST(what_is_inserted_runs_and_is_launched)
{
    fixture x = steady();
    bool first[KERNELS] = { true };
    const ts_change change = { .type = TS_CHANGE_INSERT,
                               .operations = first,
                               .ns = 30 * US };
    assert_int_equal(394, with(&x, change));
    work_expect(&x, S0, 6 * US, 6 * US, 16 * US);
    work_expect(&x, S0, 26 * US, 48 * US, 58 * US);
    work_expect(&x, S0, 46 * US, 59 * US, 69 * US);
    ts_inserted in;
    assert_true(ts_replay_inserted(x.replay, 0, &in));
    assert_int_equal(0, in.after);
    assert_int_equal(17 * US, in.start_ns);
    assert_int_equal(47 * US, in.end_ns);
    assert_false(ts_replay_inserted(x.replay, 1, &in));
    work_same(&x);
    assert_false(ts_replay_inserted(x.replay, 0, &in));
    work_close(&x);
}

UNIT_TEST(fused_kernels_follow_each_other_without_launches)
{
    fixture x = steady();
    const ts_change change = { .type = TS_CHANGE_FUSE };
    assert_int_equal(200, with(&x, change));
    expect_costs(&x, 0, 0, 200, 0, 0);
    work_close(&x);
}

UNIT_TEST(changes_add_up_in_their_order)
{
    fixture x = steady();
    const ts_change changes[] = {
        { .type = TS_CHANGE_HOST, .factor = half },
        { .type = TS_CHANGE_SCALE, .factor = half },
        { .type = TS_CHANGE_SCALE, .factor = half },
    };
    // A call every 10 us, kernels of 2.5.
    bool none[KERNELS] = { false };
    const ts_change nothing = { .type = TS_CHANGE_REMOVE, .operations = none };
    const ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL,
                                      .changes = changes,
                                      .change_count = 3 };
    assert_int_equal(TS_OK, ts_replay_run(x.replay, &desc));
    assert_int_equal(192500, stats(&x)->end_ns - stats(&x)->start_ns);
    assert_int_equal(390, with(&x, nothing));
    work_close(&x);
}

UNIT_TEST(a_sync_ends_with_what_it_waits_for)
{
    enum { ROUNDS = 10 };
    op ops[2 * ROUNDS];
    call calls[ROUNDS];
    for (uint32_t i = 0; i < ROUNDS; i++) {
        const uint64_t at = 112 * US * (uint64_t)i;
        const call c = { HOST, at, at + 4 * US, i + 1, "launch", 0 };
        const op k = { K,       S0,    at + 6 * US, at + 106 * US,
                       UNKNOWN, i + 1, 0,           0,
                       0,       NULL,  0,           0,
                       0,       0,     0,           0 };
        const op s = { .kind = SS,
                       .track = S0,
                       .start = at + 5 * US,
                       .end = at + 110 * US,
                       .queued = at + 5 * US,
                       .thread = HOST };
        calls[i] = c;
        ops[2 * i] = k;
        ops[2 * i + 1] = s;
    }
    fixture x = WORK_CALLS(ops, calls);
    work_same(&x);
    // From 5, when the first sync begins.
    assert_int_equal(112 * ROUNDS - 2 - 5, model(&x, NULL, 0));
    assert_int_equal(0, stats(&x)->different);
    bool kernels[2 * ROUNDS];
    ts_operation o;
    for (uint32_t i = 0; ts_replay_operation(x.replay, i, &o); i++)
        kernels[i] = o.kind == K;
    const ts_change change = { .type = TS_CHANGE_SCALE,
                               .operations = kernels,
                               .factor = half };
    assert_int_equal(62 * ROUNDS - 2 - 5, with(&x, change));
    // 4 us to return, 2 between, 6 to launch; 50 to compute.
    expect_costs(&x, 2 * (ROUNDS - 1), 6 * ROUNDS - 5, 50 * ROUNDS, 0,
                 4 * ROUNDS);
    work_close(&x);
}

UNIT_TEST(alternating_threads_wait_for_each_other)
{
    enum { RUN = 8 };
    op ops[3 * RUN];
    call calls[3 * RUN];
    for (uint32_t i = 0; i < 3 * RUN; i++) {
        const uint64_t at = (300 * (i / RUN) + 20 * (i % RUN)) * US;
        const call c = {
            i / RUN == 1 ? OTHER : HOST, at, at + 4 * US, i + 1, "launch", 0
        };
        const op k = { .kind = K,
                       .track = S0,
                       .start = at + 6 * US,
                       .end = at + 16 * US,
                       .queued = UNKNOWN,
                       .correlation = i + 1 };
        calls[i] = c;
        ops[i] = k;
    }
    fixture x = WORK_CALLS(ops, calls);
    work_same(&x);
    assert_int_equal(2, stats(&x)->inferred[TS_EDGE_HOST_ORDER]);
    const ts_change change = { .type = TS_CHANGE_HOST, .factor = { 2, 1 } };
    with(&x, change);
    work_expect(&x, S0, 306 * US, 606 * US, 616 * US);
    work_expect(&x, S0, 606 * US, 1206 * US, 1216 * US);
    work_close(&x);
    for (uint32_t i = 0; i < 3 * RUN; i++) // both at the same time: no order
        calls[i].thread = i % 2 ? OTHER : HOST;
    x = WORK_CALLS(ops, calls);
    assert_int_equal(0, stats(&x)->inferred[TS_EDGE_HOST_ORDER]);
    work_close(&x);
}

// A thread that waited often makes a call before it launches: all its work
// comes after the last launch of the other.
UNIT_TEST(the_first_call_of_an_iteration_need_not_launch)
{
    enum { RUN = 8, ASK = 295 };
    op ops[2 * RUN];
    call calls[2 * RUN + 1];
    for (uint32_t i = 0; i < 2 * RUN; i++) {
        const uint64_t at = (300 * (i / RUN) + 20 * (i % RUN)) * US;
        const call c = {
            i / RUN ? OTHER : HOST, at, at + 4 * US, i + 1, "launch", 0
        };
        const op k = { .kind = K,
                       .track = S0,
                       .start = at + 6 * US,
                       .end = at + 16 * US,
                       .queued = UNKNOWN,
                       .correlation = i + 1 };
        calls[i] = c;
        ops[i] = k;
    }
    calls[2 * RUN] =
        (call){ OTHER, ASK * US, (ASK + 1) * US, 99, "cudaEventQuery", 0 };
    fixture x = WORK_CALLS(ops, calls);
    const ts_graph g = ts_replay_graph(x.replay);
    uint32_t turns = 0;
    for (uint32_t e = 0; e < g.edge_count; e++) {
        ts_node node;
        if (g.kinds[e] != (TS_EDGE_HOST_ORDER | TS_EDGE_INFERRED)) continue;
        assert_true(ts_replay_node(x.replay, g.targets[e], &node));
        assert_int_equal(ASK * US, node.recorded_ns);
        turns++;
    }
    assert_int_equal(1, turns);
    work_close(&x);
}

UNIT_TEST(impossible_changes_are_refused)
{
    fixture x = steady();
    const int64_t later = -1;
    const ts_change bad[] = {
        { .type = (ts_change_type)0 },
        { .type = (ts_change_type)99 },
        { .type = TS_CHANGE_SCALE, .factor = { 1, 0 } },
        { .type = TS_CHANGE_INSERT, .ns = -1 },
        { .type = TS_CHANGE_HOST, .factor = half, .one_part = true, .part = 1 },
        { .type = TS_CHANGE_BEGIN, .sooner_ns = &later },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL,
                                    .changes = &bad[i],
                                    .change_count = 1 };
        assert_int_equal(TS_ERR_USAGE, ts_replay_run(x.replay, &desc));
    }
    const ts_change fine = { .type = TS_CHANGE_FUSE };
    ts_replay_run_desc desc = { .changes = &fine, .change_count = 1 };
    assert_int_equal(TS_ERR_USAGE, ts_replay_run(x.replay, &desc)); // exact
    desc.change_count = 0;
    desc.mode = 7;
    assert_int_equal(TS_ERR_USAGE, ts_replay_run(x.replay, &desc));
    work_close(&x);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
