/*
    test_replay_model.c - models and what-ifs, worked out by hand

    Times are in microseconds here. `steady` is a thread that launches a kernel
    of 10 us every 20 us, each of which starts 6 us after its call began;
    `burst` one that launches every 5 us, so that kernels follow each other
    2 us apart.
*/
#include "tests/replay_forge.h"

enum { KERNELS = 20, US = 1000 };

static void steady_work(op *ops, call *calls)
{
    for (uint32_t i = 0; i < KERNELS; i++) {
        const uint64_t at = 20 * US * (uint64_t)i;
        const call c = { HOST, at, at + 4 * US, i + 1, "launch", 0 };
        const op k = { .kind = K,
                       .track = S0,
                       .start = at + 6 * US,
                       .end = at + 16 * US,
                       .queued = UNKNOWN,
                       .correlation = i + 1 };
        calls[i] = c;
        ops[i] = k;
    }
}

static fixture steady(void)
{
    op ops[KERNELS];
    call calls[KERNELS];
    steady_work(ops, calls);
    return WORK_CALLS(ops, calls);
}

static fixture burst(void)
{
    op ops[KERNELS];
    call calls[KERNELS];
    steady_work(ops, calls);
    for (uint32_t i = 0; i < KERNELS; i++) {
        calls[i].start = 5 * US * (uint64_t)i;
        calls[i].end = calls[i].start + 4 * US;
        ops[i].start = (6 + 12 * (uint64_t)i) * US;
        ops[i].end = ops[i].start + 10 * US;
    }
    return WORK_CALLS(ops, calls);
}

static int64_t model(fixture *x, const ts_change *changes, size_t count)
{
    const ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL,
                                      .changes = changes,
                                      .change_count = count };
    assert_int_equal(TS_OK, ts_replay_run(x->replay, &desc));
    assert_int_equal(0, (stats(x)->end_ns - stats(x)->start_ns) % US);
    return (stats(x)->end_ns - stats(x)->start_ns) / US;
}

static int64_t with(fixture *x, ts_change change)
{
    return model(x, &change, 1);
}

static ts_path path_of(fixture *x)
{
    ts_path path;
    assert_int_equal(TS_OK, ts_replay_path(x->replay, &path));
    int64_t sum = 0, at = stats(x)->start_ns;
    for (uint32_t i = 0; i < TS_COST_LIMIT; i++)
        sum += path.cost_ns[i];
    assert_int_equal(stats(x)->end_ns - stats(x)->start_ns, sum);
    for (size_t i = 0; i < path.count; i++) {
        assert_int_equal(at, path.parts[i].start_ns);
        assert_true(path.parts[i].end_ns > at);
        at = path.parts[i].end_ns;
    }
    assert_int_equal(stats(x)->end_ns, at);
    return path;
}

static void expect_costs(fixture *x, int64_t host, int64_t launch,
                         int64_t compute, int64_t copy, int64_t sync)
{
    const ts_path path = path_of(x);
    assert_int_equal(host * US, path.cost_ns[TS_COST_HOST]);
    assert_int_equal(launch * US, path.cost_ns[TS_COST_LAUNCH]);
    assert_int_equal(compute * US, path.cost_ns[TS_COST_COMPUTE]);
    assert_int_equal(copy * US, path.cost_ns[TS_COST_COPY]);
    assert_int_equal(sync * US, path.cost_ns[TS_COST_SYNC]);
}

static ts_delay delay_of(const fixture *x, ts_edge_kind kind)
{
    ts_delay d;
    for (size_t i = 0; ts_replay_delay(x->replay, i, &d); i++)
        if (d.kind == (uint32_t)kind && d.device) return d;
    fail_msg("no delay of %s", ts_edge_name(kind));
    return d;
}

static const ts_ratio half = { 1, 2 }, triple = { 3, 1 };

/* ---- Calibration -------------------------------------------------------- */

static void constants_of_a_regular_trace_give_its_own_times(void **state)
{
    (void)state;
    fixture x = steady();
    work_same(&x);
    assert_int_equal(390, model(&x, NULL, 0));
    assert_int_equal(0, stats(&x)->different);
    assert_int_equal(0, stats(&x)->unexplained);
    assert_int_equal(6 * US, delay_of(&x, TS_EDGE_LAUNCH).delay_ns);
    // Nothing shows what the device alone would take between two kernels.
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

static void the_mean_of_a_class_keeps_the_sum(void **state)
{
    (void)state;
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

static void what_no_class_explains_stays_and_is_counted(void **state)
{
    (void)state;
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

static void a_long_call_delays_its_launch(void **state)
{
    (void)state;
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

static void the_path_of_a_host_bound_trace_is_the_host(void **state)
{
    (void)state;
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

static void faster_kernels_of_a_host_bound_trace_gain_nothing(void **state)
{
    (void)state;
    fixture x = steady();
    const ts_change change = { .type = TS_CHANGE_SCALE, .factor = half };
    assert_int_equal(385, with(&x, change)); // only the last one counts
    expect_costs(&x, 374, 6, 5, 0, 0);
    work_close(&x);
}

static void the_path_needs_a_run(void **state)
{
    (void)state;
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

/* ---- Changes ------------------------------------------------------------ */

static void slower_kernels_queue_up(void **state)
{
    (void)state;
    fixture x = steady();
    const ts_change change = { .type = TS_CHANGE_SCALE, .factor = triple };
    assert_int_equal(619, with(&x, change)); // 20 of 30, 1 us between
    expect_costs(&x, 0, 19, 600, 0, 0);
    assert_int_equal(390, model(&x, NULL, 0)); // nothing of it remains
    work_close(&x);
}

// The tenth needed 5 us less than usual to begin. What it saves is not taken
// from the end of what is before it on its stream.
static void what_once_began_early_still_waits_for_its_stream(void **state)
{
    (void)state;
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

static void a_scale_means_what_it_names_and_rounds_half_up(void **state)
{
    (void)state;
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

static void a_faster_host_moves_the_bound_to_the_device(void **state)
{
    (void)state;
    fixture x = steady();
    const ts_change change = { .type = TS_CHANGE_HOST, .factor = half };
    assert_int_equal(219, with(&x, change));
    expect_costs(&x, 0, 19, 200, 0, 0);
    work_close(&x);
}

static void without_launch_overhead_calls_take_no_time(void **state)
{
    (void)state;
    fixture x = steady();
    const ts_change change = { .type = TS_CHANGE_NO_LAUNCH };
    assert_int_equal(314, with(&x, change));
    work_expect(&x, S0, 26 * US, 16 * US, 26 * US);
    work_close(&x);
}

static void what_is_removed_takes_its_call_along(void **state)
{
    (void)state;
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

static void removed_operations_are_bridged(void **state)
{
    (void)state;
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

static void what_is_inserted_runs_and_is_launched(void **state)
{
    (void)state;
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

static void fused_kernels_follow_each_other_without_launches(void **state)
{
    (void)state;
    fixture x = steady();
    const ts_change change = { .type = TS_CHANGE_FUSE };
    assert_int_equal(200, with(&x, change));
    expect_costs(&x, 0, 0, 200, 0, 0);
    work_close(&x);
}

static void changes_add_up_in_their_order(void **state)
{
    (void)state;
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

static void a_sync_ends_with_what_it_waits_for(void **state)
{
    (void)state;
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

static void threads_that_take_turns_wait_for_each_other(void **state)
{
    (void)state;
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
    for (uint32_t i = 0; i < 3 * RUN; i++) // both at the same time: no turns
        calls[i].thread = i % 2 ? OTHER : HOST;
    x = WORK_CALLS(ops, calls);
    assert_int_equal(0, stats(&x)->inferred[TS_EDGE_HOST_ORDER]);
    work_close(&x);
}

/* ---- Order and resources ------------------------------------------------ */

#define OP(kind_, track_, from, to) \
    { \
        .kind = kind_, .track = track_, .start = (from)*US, .end = (to)*US, \
        .queued = UNKNOWN, .type = 1 \
    }
#define C TS_EVENT_MEMCPY

static void copies_wait_for_an_engine(void **state)
{
    (void)state;
    const op ops[] = {
        OP(C, S0, 0, 10),
        OP(C, S0 + 1, 0, 10),
        OP(C, S0 + 2, 5, 9),
        OP(K, S0 + 3, 0, 3),
    };
    fixture x = WORK(ops);
    ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL };
    assert_int_equal(TS_OK, ts_replay_run(x.replay, &desc));
    assert_int_equal(0, stats(&x)->different); // three engines, it seems
    desc.copy_engines = 1;
    assert_int_equal(TS_OK, ts_replay_run(x.replay, &desc));
    work_expect(&x, S0, 0, 0, 10 * US);
    work_expect(&x, S0 + 1, 0, 10 * US, 20 * US);
    work_expect(&x, S0 + 2, 5 * US, 20 * US, 24 * US);
    work_expect(&x, S0 + 3, 0, 0, 3 * US);
    expect_costs(&x, 0, 0, 0, 24, 0);
    desc.copy_engines = 2;
    assert_int_equal(TS_OK, ts_replay_run(x.replay, &desc));
    work_expect(&x, S0 + 2, 5 * US, 10 * US, 14 * US);
    work_close(&x);
}

static void transfers_keep_their_latency(void **state)
{
    (void)state;
    const op ops[] = {
        OP(C, S0, 0, 10),
        OP(C, S0 + 1, 0, 20),
        OP(C, S0 + 2, 0, 30),
    };
    fixture x = WORK(ops);
    ts_change change = { .type = TS_CHANGE_TRANSFER, .factor = half };
    assert_int_equal(20, with(&x, change));
    work_expect(&x, S0, 0, 0, 10 * US); // the shortest is all latency
    work_expect(&x, S0 + 1, 0, 0, 15 * US);
    change.has_ns = true;
    change.ns = 4 * US; // a new latency
    assert_int_equal(14, with(&x, change));
    work_expect(&x, S0, 0, 0, 4 * US);
    work_close(&x);
}

// Whatever they are called and whichever device they run on.
static void collectives_keep_the_latency_of_their_communicator(void **state)
{
    (void)state;
    op ops[] = {
        OP(TS_EVENT_COLLECTIVE, S0, 0, 10), OP(TS_EVENT_COLLECTIVE, T0, 0, 30),
        OP(TS_EVENT_COLLECTIVE, S0 + 1, 0, 40),
        OP(C, S0 + 2, 0, 2), // has nothing to do with them
    };
    static const char *const names[] = { "all_gather", "all_reduce",
                                         "all_reduce" };
    for (size_t i = 0; i < 3; i++) {
        ops[i].name = names[i];
        ops[i].communicator = i < 2 ? 5 : 6;
    }
    fixture x = WORK(ops);
    const ts_change change = { .type = TS_CHANGE_TRANSFER, .factor = half };
    assert_int_equal(20, with(&x, change));
    work_expect(&x, S0, 0, 0, 10 * US);     // the shortest of communicator 5
    work_expect(&x, T0, 0, 0, 20 * US);     // 10 + (30 - 10) / 2
    work_expect(&x, S0 + 1, 0, 0, 20 * US); // alone in communicator 6
    work_close(&x);
}

static void equal_transfers_tell_no_latency(void **state)
{
    (void)state;
    const op ops[] = { OP(C, S0, 0, 10), OP(C, S0 + 1, 0, 12) };
    fixture x = WORK(ops);
    const ts_change change = { .type = TS_CHANGE_TRANSFER, .factor = half };
    assert_int_equal(6, with(&x, change));
    work_close(&x);
}

static void streams_can_be_put_together(void **state)
{
    (void)state;
    const op ops[] = {
        OP(K, S0, 0, 10),      OP(K, S0, 11, 21), OP(K, S0 + 1, 5, 25),
        OP(K, S0 + 1, 26, 30), OP(K, T0, 0, 7),
    };
    fixture x = WORK(ops);
    assert_int_equal(30, model(&x, NULL, 0));
    const ts_change all = { .type = TS_CHANGE_SERIALISE };
    // 10 + 20 + 10 + 4 and three gaps of 1; the other device is on its own.
    assert_int_equal(47, with(&x, all));
    work_expect(&x, S0 + 1, 5 * US, 11 * US, 31 * US);
    work_expect(&x, S0, 11 * US, 32 * US, 42 * US);
    work_expect(&x, S0 + 1, 26 * US, 43 * US, 47 * US);
    work_expect(&x, T0, 0, 0, 7 * US);
    bool last[5] = { false };
    last[work_find(&x, S0 + 1, 26 * US)] = true;
    const ts_change move = { .type = TS_CHANGE_MOVE,
                             .operations = last,
                             .track = S0 + 2 };
    assert_int_equal(30, with(&x, move)); // no such stream has work: it stays
    const ts_change onto = { .type = TS_CHANGE_MOVE,
                             .operations = last,
                             .track = S0 };
    assert_int_equal(26, with(&x, onto));
    work_expect(&x, S0 + 1, 26 * US, 22 * US, 26 * US);
    work_close(&x);
}

// A wait that was issued before its record, and what is behind the record.
static void serialised_streams_do_not_wait_for_themselves(void **state)
{
    (void)state;
    const call calls[] = { { HOST, 0, 1 * US, 1, "wait", 0 },
                           { HOST, 2 * US, 3 * US, 2, "launch", 0 },
                           { HOST, 4 * US, 5 * US, 3, "record", 0 },
                           { HOST, 6 * US, 7 * US, 4, "launch", 0 } };
    const op ops[] = {
        { .kind = W,
          .track = S0 + 1,
          .start = 1 * US,
          .end = 20 * US,
          .queued = UNKNOWN,
          .correlation = 1,
          .id = 9,
          .record = 3 },
        { .kind = K,
          .track = S0,
          .start = 8 * US,
          .end = 19 * US,
          .queued = UNKNOWN,
          .correlation = 2 },
        { .kind = R,
          .track = S0,
          .start = 20 * US,
          .end = 20 * US,
          .queued = UNKNOWN,
          .correlation = 3,
          .id = 9 },
        { .kind = K,
          .track = S0 + 1,
          .start = 21 * US,
          .end = 30 * US,
          .queued = UNKNOWN,
          .correlation = 4 },
    };
    fixture x = WORK_CALLS(ops, calls);
    const ts_change all = { .type = TS_CHANGE_SERIALISE };
    with(&x, all);
    assert_int_equal(0, stats(&x)->skipped[TS_SKIP_UNMET]);
    assert_int_equal(4, stats(&x)->operations);
    work_close(&x);
}

// Its only edge is gone: nothing but the record says when it starts.
static void what_waits_for_nothing_any_more_starts_when_it_did(void **state)
{
    (void)state;
    const op ops[] = { OP(K, S0, 0, 10), OP(K, S0, 20, 30),
                       OP(K, S0 + 1, 100, 110) };
    fixture x = WORK(ops);
    bool second[3] = { false };
    second[work_find(&x, S0, 20 * US)] = true;
    const ts_change move = { .type = TS_CHANGE_MOVE,
                             .operations = second,
                             .track = S0 + 1 };
    assert_int_equal(110, with(&x, move));
    work_expect(&x, S0, 20 * US, 20 * US, 30 * US);
    work_expect(&x, S0 + 1, 100 * US, 100 * US, 110 * US);
    work_close(&x);
}

static void ratios_of_long_times_are_exact(void **state)
{
    (void)state;
    const uint64_t later = UINT64_C(3500000) * US; // 3.5 s
    const call calls[] = { { HOST, 0, 5 * US, 1, "launch", 0 },
                           { HOST, later, later + 5 * US, 2, "launch", 0 } };
    const op ops[] = { { K, S0, 10 * US, 20 * US, UNKNOWN, 1 },
                       { K, S0, later + 10 * US, later + 20 * US, UNKNOWN,
                         2 } };
    fixture x = WORK_CALLS(ops, calls);
    const ts_change slower[] = {
        { .type = TS_CHANGE_HOST, .factor = { 65000, 65100 } },
        { .type = TS_CHANGE_HOST, .factor = { 65000, 65100 } },
    };
    ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL,
                                .changes = slower,
                                .change_count = 2 };
    assert_int_equal(TS_OK, ts_replay_run(x.replay, &desc));
    // 3.5 s * (650 / 651)^2 is 3.489255570 s.
    const int64_t took = stats(&x)->end_ns - stats(&x)->start_ns;
    assert_in_range(took, 3489255570 - 20 * US, 3489255570 + 20 * US);
    work_close(&x);
}

static void ideal_overlap_hides_copies_behind_kernels(void **state)
{
    (void)state;
    const op ops[] = {
        OP(K, S0, 0, 10),
        OP(C, S0, 11, 31),
        OP(K, S0, 32, 42),
        OP(C, S0, 43, 53),
    };
    fixture x = WORK(ops);
    assert_int_equal(53, model(&x, NULL, 0));
    const ts_change change = { .type = TS_CHANGE_OVERLAP };
    // The second kernel starts with the copy, the second copy follows both.
    assert_int_equal(42, with(&x, change));
    work_expect(&x, S0, 32 * US, 11 * US, 21 * US);
    work_expect(&x, S0, 43 * US, 32 * US, 42 * US);
    work_close(&x);
}

static void impossible_changes_are_refused(void **state)
{
    (void)state;
    fixture x = steady();
    const ts_change bad[] = {
        { .type = (ts_change_type)0 },
        { .type = (ts_change_type)99 },
        { .type = TS_CHANGE_SCALE, .factor = { 1, 0 } },
        { .type = TS_CHANGE_INSERT, .ns = -1 },
        { .type = TS_CHANGE_HOST, .factor = half, .one_part = true, .part = 1 },
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

static void every_run_of_a_model_gives_the_same_digest(void **state)
{
    (void)state;
    uint64_t first = 0;
    for (int turn = 0; turn < 8; turn++) {
        op ops[KERNELS];
        call calls[KERNELS];
        steady_work(ops, calls);
        const ts_replay_desc how = { .threads = 1 + (uint32_t)turn % 4 };
        fixture x = work_with(ops, KERNELS, calls, KERNELS, &how, turn);
        const ts_change change = { .type = TS_CHANGE_SCALE, .factor = triple };
        with(&x, change);
        if (!turn) first = stats(&x)->digest;
        assert_int_equal(first, stats(&x)->digest);
        work_close(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_of_a_regular_trace_give_its_own_times),
        cmocka_unit_test(the_mean_of_a_class_keeps_the_sum),
        cmocka_unit_test(what_no_class_explains_stays_and_is_counted),
        cmocka_unit_test(a_long_call_delays_its_launch),
        cmocka_unit_test(the_path_of_a_host_bound_trace_is_the_host),
        cmocka_unit_test(faster_kernels_of_a_host_bound_trace_gain_nothing),
        cmocka_unit_test(the_path_needs_a_run),
        cmocka_unit_test(slower_kernels_queue_up),
        cmocka_unit_test(what_once_began_early_still_waits_for_its_stream),
        cmocka_unit_test(a_scale_means_what_it_names_and_rounds_half_up),
        cmocka_unit_test(a_faster_host_moves_the_bound_to_the_device),
        cmocka_unit_test(without_launch_overhead_calls_take_no_time),
        cmocka_unit_test(what_is_removed_takes_its_call_along),
        cmocka_unit_test(removed_operations_are_bridged),
        cmocka_unit_test(what_is_inserted_runs_and_is_launched),
        cmocka_unit_test(fused_kernels_follow_each_other_without_launches),
        cmocka_unit_test(changes_add_up_in_their_order),
        cmocka_unit_test(a_sync_ends_with_what_it_waits_for),
        cmocka_unit_test(threads_that_take_turns_wait_for_each_other),
        cmocka_unit_test(copies_wait_for_an_engine),
        cmocka_unit_test(transfers_keep_their_latency),
        cmocka_unit_test(collectives_keep_the_latency_of_their_communicator),
        cmocka_unit_test(equal_transfers_tell_no_latency),
        cmocka_unit_test(streams_can_be_put_together),
        cmocka_unit_test(serialised_streams_do_not_wait_for_themselves),
        cmocka_unit_test(what_waits_for_nothing_any_more_starts_when_it_did),
        cmocka_unit_test(ratios_of_long_times_are_exact),
        cmocka_unit_test(ideal_overlap_hides_copies_behind_kernels),
        cmocka_unit_test(impossible_changes_are_refused),
        cmocka_unit_test(every_run_of_a_model_gives_the_same_digest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
