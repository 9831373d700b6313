/*
    test_replay_host.c - host, default stream, cycles, computed by hand

    Each test first replays its trace as recorded, where every nanosecond must
    come out, and then with one operation longer or shorter: only what depends
    on it may move.
*/
#include "tests/replay/graph/replay_forge.h"

/* ---- Legacy default stream ---------------------------------------------- */

UNIT_TEST(the_legacy_default_stream_stands_between_blocking_streams)
{
    const op ops[] = {
        { K, S0, 1, 10, 0, 0, 0, 0, HOST },
        { K, FREE, 2, 100, 1, 0, 0, 0, HOST },
        { K, T0, 2, 100, 2, 0, 0, 0, HOST }, // another context
        { K, LEGACY, 12, 20, 3, 0, 0, 0, HOST },
        { K, S0 + 1, 21, 30, 4, 0, 0, 0, HOST },
        { K, FREE, 100, 110, 5, 0, 0, 0, HOST },
        { K, T0, 100, 110, 6, 0, 0, 0, HOST },
    };
    fixture x = WORK(ops);
    work_change(&x, S0, 1, 59);
    work_expect(&x, LEGACY, 12, 62, 70);
    work_expect(&x, S0 + 1, 21, 71, 80);
    work_expect(&x, FREE, 100, 100, 110);
    work_expect(&x, T0, 100, 100, 110);
    assert_int_equal(2, stats(&x)->edges[TS_EDGE_LEGACY_DEFAULT]);
    work_close(&x);
}

UNIT_TEST(a_legacy_edge_that_the_record_contradicts_is_left_out)
{
    const op ops[] = {
        { K, S0, 1, 50, 0, 0, 0, 0, HOST },
        { K, LEGACY, 12, 20, 1, 0, 0, 0, HOST }, // did not wait
    };
    fixture x = WORK(ops);
    work_change(&x, S0, 1, 99);
    work_expect(&x, LEGACY, 12, 12, 20);
    assert_int_equal(1, stats(&x)->contradicted);
    work_close(&x);
}

/* ---- The host ----------------------------------------------------------- */

// A sync, and what the thread launches after it.
static void sync_moves(uint8_t kind, uint32_t track, uint32_t from)
{
    const op ops[] = {
        { K, from, 2, 50, 0, 0, 0, 0, HOST },
        { R, from, 50, 50, 1, 0, 7, 0, HOST },
        { kind, track, 3, 53, 3, 0, 7, 0, HOST },
        { K, S0 + 3, 58, 60, 55, 0, 0, 0, HOST },
        { K, S0 + 4, 59, 60, 54, 0, 0, 0, OTHER }, // another thread
    };
    fixture x = WORK(ops);
    work_change(&x, from, 2, 98);
    work_expect(&x, track, 3, 3, 103);
    work_expect(&x, S0 + 3, 58, 108, 110);
    work_expect(&x, S0 + 4, 59, 59, 60);
    work_close(&x);
}

UNIT_TEST(a_sync_holds_its_thread)
{
    sync_moves(SS, S0, S0);
    sync_moves(DS, D0, S0);
    sync_moves(DS, C0, S0 + 1);
    sync_moves(ES, D0, S0 + 2);
    sync_moves(SS, LEGACY, S0); // it waits for blocking streams, too
}

UNIT_TEST(a_sync_waits_only_for_its_own)
{
    const op ops[] = {
        { K, S0, 2, 50, 0, 0, 0, 0, HOST },
        { K, S0 + 1, 2, 10, 1, 0, 0, 0, HOST },
        { K, T0, 2, 10, 2, 0, 0, 0, HOST },
        { SS, S0 + 1, 3, 12, 3, 0, 0, 0, HOST },
        { DS, D1, 13, 14, 13, 0, 0, 0, HOST },
        { K, S0 + 1, 20, 30, 15, 0, 0, 0, HOST }, // after the first sync
    };
    fixture x = WORK(ops);
    work_change(&x, S0, 2, 98);
    work_expect(&x, S0 + 1, 3, 3, 12);
    work_expect(&x, D1, 13, 13, 14);
    work_expect(&x, S0 + 1, 20, 20, 30);
    work_close(&x);
}

UNIT_TEST(calls_launch_in_the_order_of_their_thread)
{
    const op ops[] = {
        { K, S0, 10, 20, UNKNOWN, 1, 0, 0, 0 },
        { TS_EVENT_MEMCPY, S0, 21, 40, UNKNOWN, 2, 0, 0, 0 }, // synchronous
        { K, S0 + 1, 55, 60, UNKNOWN, 3, 0, 0, 0 },
        { K, S0 + 2, 7, 9, UNKNOWN, 4, 0, 0, 0 },
    };
    const call calls[] = {
        { HOST, 0, 5, 1 },    { HOST, 6, 45, 2 },  { HOST, 50, 51, 3 },
        { OTHER, 3, 4, 4 },   { OTHER, 5, 6, 77 }, // launched nothing
        { OTHER, 56, 57, 3 }, // the same number, but later: not taken
    };
    fixture x = WORK_CALLS(ops, calls);
    assert_int_equal(4, stats(&x)->calls);
    work_change(&x, S0, 10, 110);
    work_expect(&x, S0, 21, 121, 140);
    work_expect(&x, S0 + 1, 55, 155, 160); // its call waits for the copy's
    work_expect(&x, S0 + 2, 7, 7, 9);
    assert_int_equal(4, stats(&x)->edges[TS_EDGE_LAUNCH]);
    assert_int_equal(2, stats(&x)->edges[TS_EDGE_HOST_ORDER]);
    assert_int_equal(1, stats(&x)->edges[TS_EDGE_SYNC]);
    work_close(&x);
}

UNIT_TEST(a_number_used_twice_finds_the_call_of_its_time_and_thread)
{
    const op ops[] = {
        { K, S0, 10, 20, UNKNOWN, 1, 0, 0, HOST },
        { K, S0, 110, 120, UNKNOWN, 1, 0, 0, HOST },
        { K, S0 + 1, 111, 120, UNKNOWN, 1, 0, 0, OTHER },
    };
    const call calls[] = {
        { HOST, 0, 5, 1 },
        { HOST, 100, 105, 1 },
        { OTHER, 101, 105, 1 },
    };
    fixture x = WORK_CALLS(ops, calls);
    const struct {
        uint32_t track;
        int64_t start, launched;
    } expected[] = { { S0, 10, 0 }, { S0, 110, 100 }, { S0 + 1, 111, 101 } };
    work_same(&x);
    for (size_t i = 0; i < 3; i++) {
        ts_operation o;
        ts_node n;
        const uint32_t at = work_find(&x, expected[i].track, expected[i].start);
        assert_true(ts_replay_operation(x.replay, at, &o));
        assert_true(ts_replay_node(x.replay, o.call, &n));
        assert_int_equal(TS_NODE_CALL, n.type);
        assert_int_equal(expected[i].launched, n.recorded_ns);
    }
    work_close(&x);
}

UNIT_TEST(the_nodes_of_a_graph_come_after_its_launch)
{
    const op ops[] = {
        { TS_EVENT_GRAPH_LAUNCH, S0, 10, 12, 1, 5, 0, 0, HOST },
        { K, S0, 20, 40, 1, 5, 0, 0, HOST },
        { K, S0 + 1, 21, 30, 1, 5, 0, 0, HOST },
        { K, S0 + 2, 21, 30, 2, 6, 0, 0, HOST },
    };
    fixture x = WORK(ops);
    work_same(&x);
    assert_int_equal(2, stats(&x)->edges[TS_EDGE_GRAPH]);
    work_close(&x);
}

/* ---- Cycles ------------------------------------------------------------ */

UNIT_TEST(a_cycle_is_named_and_never_hangs)
{
    const op ops[] = {
        { W, S0, 1, 5, 1, 11, 1, 24, HOST }, // for the record on the other
        { R, S0, 6, 6, 2, 12, 2, 0, HOST },
        { W, S0 + 1, 1, 5, 3, 13, 2, 12, HOST }, // and that for this one
        { R, S0 + 1, 6, 6, 4, 24, 1, 0, HOST },
        { K, S0 + 1, 7, 9, 5, 14, 0, 0, HOST },
        { K, S0 + 2, 7, 9, 6, 15, 0, 0, HOST },
    };
    fixture x = WORK(ops);
    assert_int_equal(TS_OK, ts_replay_run(x.replay, NULL));
    assert_int_equal(1, stats(&x)->operations);
    assert_int_equal(5, stats(&x)->skipped[TS_SKIP_UNMET]);
    assert_int_equal(5, stats(&x)->different);
    const uint32_t *nodes;
    assert_int_equal(4, ts_replay_cycle(x.replay, &nodes));
    // Waits for the other's record, which comes after the other's wait, ...
    const uint64_t numbers[] = { 11, 24, 13, 12 };
    for (size_t i = 0; i < 4; i++) {
        ts_operation o;
        assert_true(ts_replay_operation(x.replay, nodes[i], &o));
        assert_int_equal(numbers[i], o.correlation);
    }
    work_close(&x);
}

UNIT_TEST(a_wait_for_a_record_behind_it_waits_for_itself)
{
    const op ops[] = {
        { W, S0, 1, 5, 1, 11, 1, 12, HOST },
        { R, S0, 6, 6, 2, 12, 1, 0, HOST },
    };
    fixture x = WORK(ops);
    assert_int_equal(TS_OK, ts_replay_run(x.replay, NULL));
    assert_int_equal(0, stats(&x)->operations);
    assert_int_equal(2, stats(&x)->skipped[TS_SKIP_UNMET]);
    const uint32_t *nodes;
    for (int i = 0; i < 2; i++) { // still no hang
        assert_int_equal(TS_OK, ts_replay_run(x.replay, NULL));
        assert_int_equal(2, ts_replay_cycle(x.replay, &nodes));
        assert_int_equal(0, nodes[0]); // the first of them leads
        assert_int_equal(1, nodes[1]);
    }
    work_close(&x);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
