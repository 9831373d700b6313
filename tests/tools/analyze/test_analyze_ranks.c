/*
    test_analyze_ranks.c - arrivals at collectives, computed by hand
*/
#include "tests/tools/analyze/time_fixture.h"
#include "tools/analyze/figures/time/ranks.h"

// Of what the last call launched.
static void made_rendezvous(made *m, uint32_t stream, int64_t from, int64_t to,
                            uint64_t sequence)
{
    const ts_writer_value values[] = { { TS_COLUMN_NAME,
                                         made_name(m, "reduce") },
                                       { TS_COLUMN_COMMUNICATOR, 7 },
                                       { TS_COLUMN_SEQUENCE, sequence },
                                       { TS_COLUMN_RANKS, 2 } };
    made_operation(m, TS_EVENT_COLLECTIVE, stream, from, to, values, 4);
}

static void collective(made *m, uint32_t stream, int64_t from, int64_t to,
                       uint64_t sequence)
{
    made_call(m, HOST, "launch", from - 5, from - 3);
    made_rendezvous(m, stream, from, to, sequence);
}

/*
    Two devices of one file. First: they arrive at 100 and 150, both end at
    200. Second: 300 and 320 the other way round, end 400. Third: together.
*/
UNIT_TEST(who_comes_last_makes_the_others_wait)
{
    made m;
    ranks_result r;
    made_begin(&m, 0);
    collective(&m, S0, 100, 200, 1);
    collective(&m, T0, 150, 200, 1);
    collective(&m, T0, 300, 400, 2);
    collective(&m, S0, 320, 400, 2);
    collective(&m, S0, 500, 600, 3);
    collective(&m, T0, 500, 600, 3);
    made_open(&m);
    assert_true(ranks_open(&r, m.replay, m.timeline, &m.names));
    assert_int_equal(3, r.rendezvous_count);
    assert_int_equal(2, r.rank_count);
    assert_int_equal(70, r.waited_ns);
    assert_int_equal(50, r.rendezvous[0].waited_ns);
    assert_int_equal(100, r.rendezvous[0].first_ns);
    assert_int_equal(150, r.rendezvous[0].last_ns);
    assert_int_equal(2, r.rendezvous[0].members);
    assert_int_equal(1, r.rendezvous[0].last); // device 1
    assert_int_equal(0, r.rendezvous[1].last);
    assert_int_equal(0, r.rendezvous[2].waited_ns);
    assert_int_equal(50, r.ranks[0].waited_ns);
    assert_int_equal(20, r.ranks[0].caused_ns);
    assert_int_equal(20, r.ranks[1].waited_ns);
    assert_int_equal(50, r.ranks[1].caused_ns);
    assert_int_equal(100 + 80 + 100, r.ranks[0].in_ns);
    assert_int_equal(3, r.ranks[0].rendezvous);
    assert_int_equal(2, r.pairs.count);
    assert_int_equal(50, r.pairs.rows[0].ns);
    assert_int_equal((uint64_t)0 << 32 | 1, r.pairs.rows[0].key);
    assert_int_equal(1, r.names.count);
    assert_int_equal(70, r.names.rows[0].ns);
    ranks_close(&r);
    REPORT(m.path, "ranks");
    made_close(&m);
}

// Two processes of one machine: the one began 7,000 ns after the other, and
// that is why it comes as much later to the first collective, not to the
// second.
UNIT_TEST(a_late_start_is_distinguished_from_a_clock_offset)
{
    enum { UNIX = 1000000, HEAD = 7000 };
    made m, other;
    ranks_result r;
    made_begin(&m, UNIX);
    collective(&m, S0, 100, HEAD + 200, 1);
    collective(&m, S0, HEAD + 300, HEAD + 400, 2);
    made_begin(&other, UNIX + HEAD);
    collective(&other, S0, 110, 200, 1);
    made_zone(&other, HOST, "resize", 210, 350);
    collective(&other, S0, 360, 400, 2);
    made_read(&other);
    made_read(&m);
    made_join(&m, &other, 1);
    assert_true(ranks_open(&r, m.replay, m.timeline, &m.names));
    assert_int_equal(2, r.rendezvous_count);
    assert_int_equal(HEAD + 10,
                     r.rendezvous[0].last_ns - r.rendezvous[0].first_ns);
    assert_int_equal(HEAD + 10, r.rendezvous[0].head_ns);
    assert_int_equal(60, r.rendezvous[1].last_ns - r.rendezvous[1].first_ns);
    assert_int_equal(0, r.rendezvous[1].head_ns);
    assert_int_equal(made_group(&m, "resize"), r.rendezvous[1].held.zone);
    assert_int_equal(HEAD + 10, r.ranks[1].began_ns - r.ranks[0].began_ns);
    ranks_close(&r);
    const char *const paths[] = { m.path, other.path };
    const ts_analysis_desc both = { .paths = paths, .path_count = 2, .top = 2 };
    report_expected(__FILE__, __func__, &both);
    made_close(&m);
    ts_reader_close(other.reader);
    unlink(other.path);
}

// The clocks of files are put together by the ends of their collectives.
UNIT_TEST(ranks_in_files_of_their_own_share_one_axis)
{
    enum { LATE = 1000000 };
    made m, other;
    ranks_result r;
    made_begin(&m, 0);
    collective(&m, S0, 100, 200, 1);
    collective(&m, S0, 300, 400, 2);
    made_begin(&other, 0);
    collective(&other, S0, LATE + 160, LATE + 200, 1);
    collective(&other, S0, LATE + 310, LATE + 400, 2);
    made_read(&other);
    made_read(&m);
    made_join(&m, &other, 1);
    assert_true(ranks_open(&r, m.replay, m.timeline, &m.names));
    assert_int_equal(2, r.rendezvous_count);
    assert_int_equal(60 + 10, r.waited_ns);
    assert_int_equal(70, r.ranks[0].waited_ns);
    assert_int_equal(2, r.ranks[1].lasts);
    assert_int_equal(1, r.ranks[1].file);
    assert_int_equal(0, r.rendezvous[0].end_spread_ns);
    ranks_close(&r);
    const char *const paths[] = { m.path, other.path };
    const ts_analysis_desc both = { .paths = paths, .path_count = 2, .top = 2 };
    report_expected(__FILE__, __func__, &both);
    made_close(&m);
    ts_reader_close(other.reader);
    unlink(other.path);
}

/*
    Both ranks run relu and then reduce. The one loads a batch for 400 ns
    before it launches: relu is late for that, and reduce for relu. Then its
    relu takes 300 ns longer.
*/
UNIT_TEST(the_first_event_that_was_late_is_the_cause)
{
    made m;
    ranks_result r;
    made_begin(&m, 0);
    made_call(&m, HOST, "launch", 100, 102);
    made_kernel(&m, S0, "relu", 110, 150);
    made_call(&m, HOST, "launch", 103, 105);
    made_rendezvous(&m, S0, 150, 600, 1);
    made_zone(&m, OTHER, "load_batch", 90, 495);
    made_call(&m, OTHER, "launch", 500, 502);
    made_kernel(&m, T0, "relu", 510, 550);
    made_call(&m, OTHER, "launch", 503, 505);
    made_rendezvous(&m, T0, 550, 600, 1);
    made_call(&m, HOST, "launch", 700, 702);
    made_kernel(&m, S0, "relu", 710, 750);
    made_call(&m, HOST, "launch", 703, 705);
    made_rendezvous(&m, S0, 750, 1100, 2);
    made_call(&m, OTHER, "launch", 701, 702);
    made_kernel(&m, T0, "relu", 711, 1060);
    made_call(&m, OTHER, "launch", 703, 705);
    made_rendezvous(&m, T0, 1060, 1100, 2);
    made_open(&m);
    assert_true(ranks_open(&r, m.replay, m.timeline, &m.names));
    assert_int_equal(2, r.rendezvous_count);
    ts_node cause;
    assert_true(ts_replay_node(m.replay, r.rendezvous[0].cause, &cause));
    assert_int_equal(TS_NODE_CALL, cause.type);
    assert_int_equal(500, cause.recorded_ns);
    assert_int_equal(400, r.rendezvous[0].held.length_ns);
    assert_int_equal(made_group(&m, "load_batch"), r.rendezvous[0].held.zone);
    assert_true(ts_replay_node(m.replay, r.rendezvous[1].cause, &cause));
    assert_int_equal(711, cause.recorded_ns);
    assert_int_equal(0, r.rendezvous[1].held.length_ns);
    ranks_close(&r);
    REPORT(m.path, "ranks");
    made_close(&m);
}

// A collective that was over before the last one began, which cannot be, or is
// matched wrongly: nobody waits longer than his own lasts.
UNIT_TEST(who_had_gone_before_the_last_came_did_not_wait)
{
    made m;
    ranks_result r;
    made_begin(&m, 0);
    collective(&m, S0, 100, 110, 1);
    collective(&m, T0, 900, 1000, 1);
    made_open(&m);
    assert_true(ranks_open(&r, m.replay, m.timeline, &m.names));
    assert_int_equal(1, r.rendezvous_count);
    assert_int_equal(0, r.waited_ns);
    assert_int_equal(0, r.ranks[1].caused_ns);
    assert_int_equal(0, r.pairs.count);
    ranks_close(&r);
    REPORT(m.path, "ranks");
    made_close(&m);
}

UNIT_TEST(alone_nobody_waits)
{
    made m;
    ranks_result r;
    made_begin(&m, 0);
    collective(&m, S0, 100, 200, 1);
    made_open(&m);
    assert_true(ranks_open(&r, m.replay, m.timeline, &m.names));
    assert_int_equal(0, r.rendezvous_count);
    ranks_close(&r);
    REPORT(m.path, "ranks");
    made_close(&m);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
