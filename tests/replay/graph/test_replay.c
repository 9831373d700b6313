/*
    test_replay.c - order within streams and between them, computed by hand

    Each test first replays its trace as recorded, where every nanosecond must
    come out, and then with one operation longer or shorter: only what depends
    on it may move.
*/
#include "tests/replay/graph/replay_forge.h"

/* ---- Streams ------------------------------------------------------------ */

UNIT_TEST(operations_of_a_stream_follow_each_other)
{
    const op ops[] = {
        { K, S0, 0, 10, UNKNOWN, 0, 0, 0, 0 },
        { K, S0, 15, 20, UNKNOWN, 0, 0, 0, 0 },
        { K, S0 + 1, 16, 30, UNKNOWN, 0, 0, 0, 0 },
    };
    fixture x = WORK(ops);
    work_change(&x, S0, 0, 30);
    work_expect(&x, S0, 15, 35, 40); // the gap of 5 stays
    work_expect(&x, S0 + 1, 16, 16, 30);
    assert_int_equal(1, stats(&x)->edges[TS_EDGE_STREAM_ORDER]);
    work_close(&x);
}

UNIT_TEST(overlap_within_a_stream_is_legal)
{
    const op ops[] = {
        { K, S0, 0, 100, UNKNOWN, 0, 0, 0, 0 },
        { K, S0, 10, 20, UNKNOWN, 0, 0, 0, 0 },
        { K, S0, 120, 130, UNKNOWN, 0, 0, 0, 0 },
    };
    fixture x = WORK(ops);
    work_change(&x, S0, 0, 150);
    work_expect(&x, S0, 10, 10, 20);
    work_expect(&x, S0, 120, 170, 180); // waits for the longest
    work_change(&x, S0, 10, 110);
    work_expect(&x, S0, 120, 140, 150); // and for the last
    work_close(&x);
}

UNIT_TEST(operations_of_no_duration_keep_their_order)
{
    const op ops[] = {
        { K, S0, 5, 9, 3, 0, 0, 0, 0 },
        { R, S0, 5, 5, 2, 0, 7, 0, 0 },
        { K, S0, 5, 5, 1, 0, 0, 0, 0 },
        { K, S0 + 1, 5, 5, 0, 0, 0, 0, 0 },
    };
    fixture x = WORK(ops);
    work_same(&x);
    ts_operation o;
    const ts_event_kind kinds[] = { K, R, K, K };
    for (size_t i = 0; i < 4; i++) {
        assert_true(ts_replay_operation(x.replay, i, &o));
        assert_int_equal(kinds[i], o.kind);
        assert_int_equal(5, o.start_ns);
        assert_int_equal(i == 2 ? 9 : 5, o.end_ns);
    }
    work_close(&x);
}

UNIT_TEST(thousands_of_streams_cost_no_more_edges_than_work)
{
    enum { STREAMS = 2000, SYNCS = 50 };
    static op ops[STREAMS + SYNCS];
    for (uint32_t i = 0; i < STREAMS; i++) {
        const op kernel = { K, 1000 + i, i + 1, i + 10, i, 0, 0, 0, HOST };
        ops[i] = kernel;
    }
    for (uint32_t i = 0; i < SYNCS; i++) {
        const op sync = { DS, D0, 3000 + i, 3001 + i, 3000 + i, 0, 0, 0, HOST };
        ops[STREAMS + i] = sync;
    }
    fixture x;
    work_begin(&x, STREAMS);
    add_kind(&x.f, ops, STREAMS + SYNCS, K, false);
    add_kind(&x.f, ops, STREAMS + SYNCS, DS, false);
    work_open(&x, NULL);
    work_same(&x);
    // The first sync joins all streams, the others find nothing new.
    assert_int_equal(STREAMS + SYNCS, stats(&x)->edges[TS_EDGE_SYNC]);
    work_close(&x);
}

/* ---- Events ------------------------------------------------------------- */

static const op waiting[] = {
    { K, S0, 2, 50, 0, 1, 0, 0, HOST },
    { R, S0, 50, 50, 1, 2, 7, 0, HOST },
    { W, S0 + 1, 5, 52, 2, 3, 7, 0, HOST },
    { K, S0 + 1, 55, 60, 3, 4, 0, 0, HOST },
};

UNIT_TEST(a_wait_holds_its_stream_until_the_record)
{
    fixture x = WORK(waiting);
    work_change(&x, S0, 2, 98);
    work_expect(&x, S0, 50, 100, 100);
    work_expect(&x, S0 + 1, 5, 5, 102);
    work_expect(&x, S0 + 1, 55, 105, 110);
    work_change(&x, S0, 2, 8);
    work_expect(&x, S0 + 1, 5, 5, 12);
    work_expect(&x, S0 + 1, 55, 15, 20);
    assert_int_equal(1, stats(&x)->edges[TS_EDGE_EVENT]);
    work_close(&x);
}

UNIT_TEST(a_later_record_does_not_move_a_wait)
{
    const op ops[] = {
        { K, S0, 2, 50, 0, 0, 0, 0, HOST },
        { R, S0, 50, 50, 1, 0, 7, 0, HOST },
        { W, S0 + 1, 5, 50, 2, 0, 7, 0, HOST },
        { K, S0, 51, 90, 3, 0, 0, 0, HOST },
        { R, S0, 90, 90, 4, 0, 7, 0, HOST }, // the same event again
        { W, S0 + 2, 6, 90, 5, 0, 7, 0, HOST },
    };
    fixture x = WORK(ops);
    work_change(&x, S0, 51, 139);
    work_expect(&x, S0 + 1, 5, 5, 50);
    work_expect(&x, S0 + 2, 6, 6, 190);
    assert_int_equal(2, stats(&x)->edges[TS_EDGE_EVENT]);
    work_close(&x);
}

UNIT_TEST(a_wait_for_an_event_never_recorded_waits_for_nothing)
{
    const op ops[] = {
        { W, S0 + 1, 1, 1, 0, 0, 7, 0, HOST },
        { K, S0, 2, 50, 1, 0, 0, 0, HOST },
        { R, S0, 50, 50, 2, 0, 7, 0, HOST }, // too late
        { W, S0 + 1, 3, 3, 3, 0, 8, 0, HOST },
    };
    fixture x = WORK(ops);
    work_change(&x, S0, 2, 98);
    work_expect(&x, S0 + 1, 1, 1, 1);
    work_expect(&x, S0 + 1, 3, 3, 3);
    assert_int_equal(0, stats(&x)->edges[TS_EDGE_EVENT]);
    assert_int_equal(2, stats(&x)->never_recorded);
    work_close(&x);
}

UNIT_TEST(a_wait_may_name_its_record)
{
    const op ops[] = {
        { R, S0, 10, 10, 1, 31, 7, 0, HOST },
        { K, S0, 11, 20, 2, 32, 0, 0, HOST },
        { R, S0, 20, 20, 3, 33, 7, 0, HOST },
        { W, S0 + 1, 5, 10, 4, 34, 7, 31, HOST }, // not the latest
        { W, S0 + 2, 5, 6, 5, 35, 7, 99, HOST },  // not in the trace
    };
    fixture x = WORK(ops);
    work_change(&x, S0, 11, 900);
    work_expect(&x, S0 + 1, 5, 5, 10);
    assert_int_equal(1, stats(&x)->edges[TS_EDGE_EVENT]);
    assert_int_equal(1, stats(&x)->missing_records);
    work_close(&x);
}

UNIT_TEST(a_wait_that_names_no_event_misses_its_record)
{
    const op ops[] = {
        { R, S0, 10, 10, 1, 31, 0, 0, HOST },
        { W, S0 + 1, 15, 15, 2, 32, 0, 0, HOST },
    };
    fixture x = WORK(ops);
    work_same(&x);
    assert_int_equal(1, stats(&x)->missing_records);
    assert_int_equal(0, stats(&x)->never_recorded);
    work_close(&x);
}

UNIT_TEST(a_record_that_is_only_a_call_is_missing)
{
    const op ops[] = { { W, S0 + 1, 15, 15, 2, 32, 7, 0, HOST } };
    const call calls[] = { { HOST, 5, 6, 31, "cudaEventRecord", 0 } };
    fixture x = WORK_CALLS(ops, calls);
    work_same(&x);
    assert_int_equal(1, stats(&x)->missing_records);
    assert_int_equal(0, stats(&x)->never_recorded);
    work_close(&x);
}

UNIT_TEST(every_wait_counts_not_only_the_last)
{
    const op ops[] = {
        { K, S0, 1, 50, 0, 0, 0, 0, HOST },
        { R, S0, 50, 50, 1, 0, 7, 0, HOST },
        { K, S0 + 1, 1, 40, 2, 0, 0, 0, HOST },
        { R, S0 + 1, 40, 40, 3, 0, 8, 0, HOST },
        { W, S0 + 2, 5, 50, 4, 0, 7, 0, HOST },
        { W, S0 + 2, 50, 50, 5, 0, 8, 0, HOST },
        { K, S0 + 2, 50, 60, 6, 0, 0, 0, HOST },
    };
    fixture x = WORK(ops);
    ts_operation o;
    work_change(&x, S0 + 1, 1, 99);
    assert_true(ts_replay_operation(x.replay, 6, &o));
    assert_int_equal(K, o.kind);
    assert_int_equal(100, o.start_ns);
    work_close(&x);
}

UNIT_TEST(events_cross_devices)
{
    const op ops[] = {
        { K, S0, 2, 50, 0, 0, 0, 0, HOST },
        { R, S0, 50, 50, 1, 0, 7, 0, HOST },
        { W, T0, 5, 52, 2, 0, 7, 0, HOST },
        { K, T0, 55, 60, 3, 0, 0, 0, HOST },
    };
    fixture x = WORK(ops);
    work_change(&x, S0, 2, 98);
    work_expect(&x, T0, 55, 105, 110);
    work_close(&x);
}

// Where no operation says when it was queued, starts and ends must do.
UNIT_TEST(events_are_found_without_queue_times)
{
    op ops[4];
    for (size_t i = 0; i < 4; i++) {
        ops[i] = waiting[i];
        ops[i].queued = UNKNOWN;
    }
    fixture x = WORK(ops);
    work_change(&x, S0, 2, 98);
    work_expect(&x, S0 + 1, 55, 105, 110);
    assert_int_equal(0, stats(&x)->calls);
    work_close(&x);
}

// Some interfaces give a record the time at which the host asked for it.
UNIT_TEST(a_record_that_outran_its_stream_stands_for_the_work_before)
{
    const op ops[] = {
        { K, S0, 2, 50, 0, 0, 0, 0, HOST },
        { R, S0, 3, 3, 1, 0, 7, 0, HOST },
        { W, S0 + 1, 5, 52, 2, 0, 7, 0, HOST },
    };
    fixture x = WORK(ops);
    work_change(&x, S0, 2, 98);
    work_expect(&x, S0 + 1, 5, 5, 102);
    work_close(&x);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
