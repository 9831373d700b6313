/*
    test_replay_inferred.c - edges inferred from times, computed by hand

    Every inference is flagged and counted, and none is made where the record
    explains the time.
*/
#include "tests/replay/graph/replay_forge.h"

#define KERNEL(at, from, to, by) \
    { \
        .kind = K, .track = at, .start = from, .end = to, .correlation = by, \
        .queued = UNKNOWN \
    }

// Eight kernels in a row on two streams, so that usual delays are known:
// 5,000 after a launch, 1,000 after the one before. Then what `last` says.
static fixture usual_with(uint32_t track, op last, uint64_t other_end,
                          uint64_t launched, bool no_inference)
{
    op ops[10];
    call calls[10];
    for (uint64_t i = 0; i < 8; i++) {
        const uint64_t start = 10000 + i * 100000;
        const op one = KERNEL(S0, start, start + 50000, i + 1);
        const call by = { HOST, start - 5000, start - 4000, i + 1 };
        ops[i] = one;
        calls[i] = by;
        if (i % 2 == 0) continue;
        ops[i].start = ops[i - 1].end + 1000; // launched early
        ops[i].end = ops[i].start + 30000;
        calls[i].start = calls[i - 1].end;
        calls[i].end = calls[i].start + 1000;
    }
    const op other = KERNEL(track, 905000, other_end, 9);
    const call its = { OTHER, 900000, 901000, 9 };
    const call that = { HOST, launched, launched + 1000, 10 };
    ops[8] = other;
    ops[9] = last;
    calls[8] = its;
    calls[9] = that;
    const ts_replay_desc desc = { .no_inference = no_inference };
    return work_with(ops, 10, calls, 10, &desc, 0);
}

static fixture usual(op last, uint64_t other_end, uint64_t launched,
                     bool no_inference)
{
    return usual_with(S0 + 1, last, other_end, launched, no_inference);
}

// Neither for kernels nor for collectives, whose joins are known.
UNIT_TEST(nothing_is_guessed_from_other_devices)
{
    const op last = KERNEL(S0, 1003000, 1010000, 10);
    op collective = last;
    collective.kind = TS_EVENT_COLLECTIVE;
    collective.communicator = 7;
    const op lasts[] = { last, collective };
    for (size_t i = 0; i < 4; i++) {
        const bool same = i % 2;
        fixture x = usual_with(same ? S0 + 1 : T0, lasts[i / 2], 1000000,
                               950000, false);
        work_same(&x);
        assert_int_equal(same, stats(&x)->inferred[TS_EDGE_EVENT]);
        work_close(&x);
    }
}

UNIT_TEST(a_late_start_is_charged_to_what_ended_just_before)
{
    const op last = KERNEL(S0, 1003000, 1010000, 10);
    const struct {
        uint64_t other_end, launched;
        bool no_inference;
        uint64_t inferred;
    } cases[] = {
        { 1000000, 950000, false, 1 }, { 995000, 950000, false, 1 },
        { 994999, 950000, false, 0 },  // more than 8 us before
        { 1003001, 950000, false, 0 }, // not yet ended
        { 1000000, 996000, false, 0 }, // launched 7 us before: as usual
        { 1000000, 995999, false, 1 }, // more than usual and 2 us
        { 1000000, 950000, true, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture x = usual(last, cases[i].other_end, cases[i].launched,
                          cases[i].no_inference);
        work_same(&x);
        if (cases[i].inferred != stats(&x)->inferred[TS_EDGE_EVENT])
            fail_msg("case %zu", i);
        assert_int_equal(cases[i].inferred, stats(&x)->edges[TS_EDGE_EVENT]);
        work_close(&x);
    }
}

UNIT_TEST(a_guess_moves_what_it_explains)
{
    const op last = KERNEL(S0, 1003000, 1010000, 10);
    fixture x = usual(last, 1000000, 950000, false);
    work_change(&x, S0 + 1, 905000, 195000); // 100,000 longer
    work_expect(&x, S0, 1003000, 1103000, 1110000);
    const ts_graph graph = ts_replay_graph(x.replay);
    size_t flagged = 0;
    for (uint32_t e = 0; e < graph.edge_count; e++)
        if (graph.kinds[e] & TS_EDGE_INFERRED) {
            assert_int_equal(TS_EDGE_EVENT, TS_EDGE_KIND(graph.kinds[e]));
            flagged++;
        }
    assert_int_equal(1, flagged);
    work_close(&x);
}

UNIT_TEST(an_event_that_explains_leaves_nothing_to_guess)
{
    const op ops[] = {
        KERNEL(S0, 10000, 1000000, 1),
        { R, S0, 1000000, 1000000, UNKNOWN, 2, 7, 0, 0 },
        { W, S0 + 1, 20000, 1001000, UNKNOWN, 3, 7, 0, 0 },
        KERNEL(S0 + 1, 1002000, 1010000, 4),
        KERNEL(S0 + 2, 10000, 1001500, 5), // ended even later, by chance
    };
    const call calls[] = { { HOST, 5000, 6000, 1 },
                           { HOST, 7000, 8000, 2 },
                           { HOST, 9000, 10000, 3 },
                           { HOST, 11000, 12000, 4 },
                           { OTHER, 5000, 6000, 5 } };
    fixture x = WORK_CALLS(ops, calls);
    work_same(&x);
    assert_int_equal(1, stats(&x)->edges[TS_EDGE_EVENT]);
    assert_int_equal(0, stats(&x)->inferred[TS_EDGE_EVENT]);
    work_close(&x);
}

// The stream or event is not recorded; it is inferred from what ended before
// the call returned.
UNIT_TEST(a_call_that_asks_waits_for_what_ended_before_it_returned)
{
    const struct {
        const char *name;
        uint64_t from, to; // of the call
        uint32_t moves;    // stream whose kernel moves it
    } cases[] = {
        { "cudaStreamSynchronize", 20000, 110000, S0 },    // its own, just now
        { "cudaEventSynchronize", 20000, 210000, S0 + 1 }, // the other'state
        { "cudaEventQuery", 20000, 110000, S0 },
        { "cudaStreamSynchronize", 160000, 161000, S0 }, // nothing to wait for
        { "cudaStreamSynchronize", 20000, 90000, 0 },    // nothing had ended
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const op ops[] = { KERNEL(S0, 10000, 100000, 1),
                           KERNEL(S0 + 1, 10000, 200000, 2),
                           KERNEL(S0 + 2, 400000, 410000, 3) };
        const call calls[] = { { HOST, 5000, 6000, 1 },
                               { OTHER, 5000, 6000, 2 },
                               { HOST, cases[i].from, cases[i].to, 0,
                                 cases[i].name },
                               { HOST, 390000, 391000, 3 } };
        const int64_t durations[] = { 90000, 190000 };
        fixture x = WORK_CALLS(ops, calls);
        for (uint32_t k = 0; k < 2; k++) {
            work_change(&x, S0 + k, 10000, durations[k] + 300000);
            const int64_t later = cases[i].moves == S0 + k ? 1 : 0;
            const int64_t start = work_start_of(&x, S0 + 2, 400000);
            assert_int_equal(later, start > 400000);
        }
        assert_int_equal(cases[i].moves != 0,
                         stats(&x)->inferred[TS_EDGE_SYNC]);
        work_close(&x);
    }
}

// A thread may have waited for another one before it calls. That of one which
// launches nothing holds up no work.
UNIT_TEST(who_only_polls_holds_up_nothing)
{
    for (int launches = 0; launches < 2; launches++) {
        const op ops[] = { KERNEL(S0, 10000, 11000, 1),
                           KERNEL(S0, 12000, 13000, 2),
                           KERNEL(S0 + 1, 14000, 15000, launches ? 3 : 0) };
        const call calls[] = { { HOST, 5000, 6000, 1 },
                               { HOST, 7000, 8000, 2 },
                               { OTHER, 9000, 9100, 3,
                                 launches ? NULL : "cudaEventQuery" },
                               { OTHER, 50000, 50100, 0, "cudaEventQuery" } };
        fixture x = WORK_CALLS(ops, calls);
        assert_int_equal(launches ? 4000 : 0, stats(&x)->unknown_host_ns);
        work_close(&x);
    }
}

// Work on two streams, launched with waits between that only calls tell of.
#define CALL(at, by, name) \
    { \
        HOST, at, (at) + 5, by, name \
    }
static const op turns[] = {
    KERNEL(S0, 1000, 2000, 1),
    KERNEL(S0 + 1, 2010, 3000, 2),
    KERNEL(S0, 3010, 4000, 3),
};

UNIT_TEST(calls_that_wait_tie_streams_that_alternate)
{
    const call calls[] = { CALL(100, 1, "cudaLaunchKernel"),
                           CALL(110, 7, "cudaStreamWaitEvent"),
                           CALL(120, 2, "cudaLaunchKernel"),
                           CALL(130, 8, "cudaStreamWaitEvent_v3020"),
                           CALL(140, 3, "cudaLaunchKernel") };
    fixture x = WORK_CALLS(turns, calls);
    assert_int_equal(2, stats(&x)->missing_records);
    assert_int_equal(0, stats(&x)->never_recorded);
    assert_int_equal(2, stats(&x)->edges[TS_EDGE_EVENT]);
    assert_int_equal(2, stats(&x)->inferred[TS_EDGE_EVENT]);
    // The first takes 500 longer: so do both that came after it.
    work_change(&x, S0, 1000, 1500);
    work_expect(&x, S0 + 1, 2010, 2510, 3500);
    work_expect(&x, S0, 3010, 3510, 4500);
    work_close(&x);
    const ts_replay_desc sure = { .no_inference = true };
    x = work_with(turns, 3, calls, 5, &sure, 0);
    assert_int_equal(0, stats(&x)->edges[TS_EDGE_EVENT]);
    work_close(&x);
}

// What was in the record of the event counts, not what was launched by the time
// of the wait, and nothing that the record contradicts.
UNIT_TEST(calls_that_record_tell_what_is_waited_for)
{
    const op ops[] = {
        KERNEL(S0, 1000, 2000, 1),
        KERNEL(S0 + 2, 1500, 6000, 2),
        { W, S0 + 1, 130, 130, UNKNOWN, 4, 77, 0, HOST },
        KERNEL(S0 + 1, 2010, 3000, 3),
        KERNEL(S0, 2100, 2200, 5),
    };
    const call calls[] = {
        CALL(100, 1, "hipLaunchKernel"), CALL(110, 6, "hipEventRecord"),
        CALL(120, 2, "hipLaunchKernel"), CALL(130, 4, "hipStreamWaitEvent"),
        CALL(140, 3, "hipLaunchKernel"), CALL(150, 9, "hipEventRecord"),
        CALL(170, 5, "hipLaunchKernel")
    };
    fixture x = WORK_CALLS(ops, calls);
    assert_int_equal(1, stats(&x)->missing_records);
    assert_int_equal(1, stats(&x)->inferred[TS_EDGE_EVENT]);
    work_change(&x, S0, 1000, 1500);
    work_expect(&x, S0 + 1, 2010, 2510, 3500);
    work_close(&x);
    op early[] = { ops[0], ops[2], ops[3] };
    early[2].start = 1999; // while the other still runs
    x = work_with(early, 3, calls, 5, NULL, 0);
    assert_int_equal(1, stats(&x)->missing_records);
    assert_int_equal(0, stats(&x)->edges[TS_EDGE_EVENT]);
    work_close(&x);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
