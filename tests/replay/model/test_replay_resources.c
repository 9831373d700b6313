/*
    test_replay_resources.c - what-ifs about engines, networks and streams, by
    hand
*/
#include "tests/replay/model/model_forge.h"

/* ---- Order and resources ------------------------------------------------ */

#define OP(kind_, track_, from, to) \
    { \
        .kind = kind_, .track = track_, .start = (from)*US, .end = (to)*US, \
        .queued = UNKNOWN, .type = 1 \
    }
#define C TS_EVENT_MEMCPY

UNIT_TEST(copies_wait_for_an_engine)
{
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

UNIT_TEST(transfers_keep_their_latency)
{
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
UNIT_TEST(collectives_keep_the_latency_of_their_communicator)
{
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

UNIT_TEST(equal_transfers_tell_no_latency)
{
    const op ops[] = { OP(C, S0, 0, 10), OP(C, S0 + 1, 0, 12) };
    fixture x = WORK(ops);
    const ts_change change = { .type = TS_CHANGE_TRANSFER, .factor = half };
    assert_int_equal(6, with(&x, change));
    work_close(&x);
}

UNIT_TEST(streams_can_be_merged)
{
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
UNIT_TEST(serialised_streams_do_not_wait_for_themselves)
{
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
UNIT_TEST(what_waits_for_nothing_any_more_starts_when_it_did)
{
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
    bool first[3] = { false };
    first[work_find(&x, S0, 0)] = true;
    const ts_change longer[] = {
        { .type = TS_CHANGE_SCALE, .operations = first, .factor = { 9, 1 } },
        { .type = TS_CHANGE_MOVE, .operations = first, .track = S0 + 1 },
    };
    model(&x, longer, 2);
    work_expect(&x, S0, 0, 0, 90 * US);
    work_expect(&x, S0, 20 * US, 20 * US, 30 * US);
    work_close(&x);
}

UNIT_TEST(ratios_of_long_times_are_exact)
{
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

UNIT_TEST(ideal_overlap_hides_copies_behind_kernels)
{
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

int main(void)
{
    return unit_run(NULL, NULL);
}
