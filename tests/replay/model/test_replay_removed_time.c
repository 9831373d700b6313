/*
    test_replay_removed_time.c - what-ifs without some time of the host, and
                                 without some edges, computed by hand

    Times are in microseconds. `synced` is a thread that launches a kernel of
    10 us (6 us after the call began), waits for it, and after 10 us of its own
    does so again.
*/
#include "tests/replay/graph/replay_forge.h"

enum { ROUNDS = 4, US = 1000 };

static fixture synced(void)
{
    op ops[2 * ROUNDS];
    call calls[2 * ROUNDS];
    for (uint32_t i = 0; i < ROUNDS; i++) {
        const uint64_t at = 30 * US * (uint64_t)i;
        const call launch = { HOST, at, at + 4 * US, 2 * i + 1, "launch", 0 };
        const call sync = { HOST,      at + 8 * US, at + 20 * US,
                            2 * i + 2, "sync",      0 };
        const op kernel = { .kind = K,
                            .track = S0,
                            .start = at + 6 * US,
                            .end = at + 16 * US,
                            .queued = UNKNOWN,
                            .correlation = 2 * i + 1 };
        const op wait = { .kind = SS,
                          .track = S0,
                          .start = at + 9 * US,
                          .end = at + 18 * US,
                          .queued = UNKNOWN,
                          .correlation = 2 * i + 2 };
        calls[2 * i] = launch;
        calls[2 * i + 1] = sync;
        ops[2 * i] = kernel;
        ops[2 * i + 1] = wait;
    }
    return WORK_CALLS(ops, calls);
}

static int64_t with(fixture *x, ts_change change)
{
    const ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL,
                                      .changes = &change,
                                      .change_count = 1 };
    assert_int_equal(TS_OK, ts_replay_run(x->replay, &desc));
    return stats(x)->end_ns - stats(x)->start_ns;
}

static int64_t without_spans(fixture *x, const ts_host_span *spans,
                             size_t count)
{
    const ts_change change = { .type = TS_CHANGE_SPARE,
                               .spans = spans,
                               .span_count = count };
    return with(x, change);
}

// From the first kernel at 6 to the return of the last sync op at 108.
enum { MAKESPAN = 102 };

UNIT_TEST(nothing_spared_is_the_record)
{
    fixture x = synced();
    assert_int_equal(MAKESPAN * US, without_spans(&x, NULL, 0));
    const ts_host_span elsewhere[] = { { 0, OTHER, 0, 1000 * US },
                                       { 0, HOST, 50 * US, 50 * US } };
    assert_int_equal(MAKESPAN * US, without_spans(&x, elsewhere, 2));
    work_close(&x);
}

UNIT_TEST(time_between_calls_is_spared)
{
    fixture x = synced();
    // 7 us of the 10 between the first sync and the second launch, in two
    // overlapping parts, and 4 behind the launch, where the host has to wait
    // for the kernel anyway.
    const ts_host_span spans[] = { { 0, HOST, 25 * US, 29 * US },
                                   { 0, HOST, 22 * US, 27 * US },
                                   { 0, HOST, 34 * US, 38 * US } };
    assert_int_equal((MAKESPAN - 7) * US, without_spans(&x, spans, 3));
    work_close(&x);
}

UNIT_TEST(a_spared_wait_is_none)
{
    fixture x = synced();
    // The sync of 12 us is gone: the second launch comes 12 us earlier.
    const ts_host_span sync = { 0, HOST, 8 * US, 20 * US };
    assert_int_equal((MAKESPAN - 12) * US, without_spans(&x, &sync, 1));
    work_expect(&x, S0, 36 * US, 24 * US, 34 * US);
    // All but 2 us of it: it takes those, and waits for nothing.
    const ts_host_span most = { 0, HOST, 10 * US, 20 * US };
    assert_int_equal((MAKESPAN - 10) * US, without_spans(&x, &most, 1));
    // Not its end: it waits as before.
    const ts_host_span first = { 0, HOST, 8 * US, 19 * US };
    assert_int_equal(MAKESPAN * US, without_spans(&x, &first, 1));
    work_close(&x);
}

UNIT_TEST(a_span_that_ends_before_it_begins_is_refused)
{
    fixture x = synced();
    const ts_host_span wrong = { 0, HOST, 2, 1 };
    const ts_change change = { .type = TS_CHANGE_SPARE,
                               .spans = &wrong,
                               .span_count = 1 };
    const ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL,
                                      .changes = &change,
                                      .change_count = 1 };
    assert_int_equal(TS_ERR_USAGE, ts_replay_run(x.replay, &desc));
    work_close(&x);
}

// A kernel on the legacy default stream between two on a blocking one.
UNIT_TEST(edges_of_a_kind_are_cut)
{
    static const op ops[] = {
        { K, S0, 10 * US, 50 * US, 0, 1, 0, 0, HOST },
        { K, LEGACY, 51 * US, 91 * US, 2 * US, 2, 0, 0, HOST },
        { K, S0, 92 * US, 132 * US, 4 * US, 3, 0, 0, HOST },
    };
    fixture x = WORK(ops);
    const ts_change none = { .type = TS_CHANGE_CUT };
    assert_int_equal(122 * US, with(&x, none));
    const ts_change cut = { .type = TS_CHANGE_CUT,
                            .edges = 1u << TS_EDGE_LEGACY_DEFAULT };
    // What is left is the order of the stream: 40 us and 40 us behind them.
    assert_true(with(&x, cut) < 85 * US);
    const bool last[] = { false, false, true };
    const ts_change other = { .type = TS_CHANGE_CUT,
                              .operations = last,
                              .edges = 1u << TS_EDGE_EVENT };
    assert_int_equal(122 * US, with(&x, other));
    work_close(&x);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
