/*
    test_analyze_words.c - sentences of ts-analyze that only rare traces get
*/
#include "tests/tools/analyze/advice_fixture.h"
#include "tools/analyze/advice/advice.h"

// Advice about a trace.
#define ADVISE(trace) REPORT(trace, "advice")

/* ---- Advice -------------------------------------------------------------- */

// Twelve small collectives, each issued in a zone of its own.
UNIT_TEST(collectives_in_zones_are_joined_with_their_zones)
{
    made m;
    made_begin(&m, 0);
    for (int64_t i = 0; i < 12; i++) {
        call_at(&m, HOST, "ncclAllReduce", 10 * i + 1, 10 * i + 2);
        collective_at(&m, S0, (uint64_t)i + 1, 4096, 8, 10 * i + 4, 10 * i + 9);
        zone_at(&m, HOST, "all_reduce", 10 * i, 10 * i + 3);
    }
    assert_int_equal(TS_OK, ts_writer_close(m.w));
    ADVISE(m.path);
    unlink(m.path);
}

// Each of six steps allocates memory of the host that is never freed.
UNIT_TEST(a_heap_that_grows_is_named)
{
    made m;
    made_begin(&m, 0);
    for (int64_t i = 0; i < 6; i++) {
        const ts_writer_value values[] = {
            { TS_COLUMN_ADDRESS, 0x1000000 * (uint64_t)(i + 1) },
            { TS_COLUMN_SIZE, MIB },
        };
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%d", (int)i);
        launch_at(&m, "k", 100 * i, 50);
        ts_writer_event(m.w, TS_EVENT_ALLOC, HOST, (100 * i + 50) * US, 0,
                        values, 2);
        zone_at(&m, HOST, name, 100 * i, 100 * i + 99);
    }
    assert_int_equal(TS_OK, ts_writer_close(m.w));
    ADVISE(m.path);
    unlink(m.path);
}

// One of twelve allocations takes most of their time.
UNIT_TEST(one_setup_call_that_takes_most_is_told)
{
    made m;
    made_begin(&m, 0);
    for (int64_t i = 0; i < 12; i++) {
        const int64_t at = 1000 * i;
        launch_at(&m, "k", at, 2);
        call_at(&m, HOST, "cudaMalloc", at + 10, at + (i == 5 ? 700 : 20));
    }
    assert_int_equal(TS_OK, ts_writer_close(m.w));
    ADVISE(m.path);
    unlink(m.path);
}

static void event_at(made *m, ts_event_kind kind, uint32_t stream,
                     uint64_t correlation, uint64_t record, int64_t at)
{
    const ts_writer_value values[] = { { TS_COLUMN_ID, 1 },
                                       { TS_COLUMN_RECORD, record } };
    m->correlation = correlation;
    made_operation(m, kind, stream, at * US, at * US, values, record ? 2 : 1);
}

// Two streams wait for each other; a kernel of another one takes all the time.
UNIT_TEST(a_change_gains_nothing_where_the_model_deadlocks)
{
    made m;
    made_begin(&m, 0);
    launch_at(&m, "k", 0, 500);
    event_at(&m, TS_EVENT_EVENT_WAIT, S1, 11, 24, 20);
    event_at(&m, TS_EVENT_EVENT_RECORD, S1, 12, 0, 30);
    event_at(&m, TS_EVENT_EVENT_WAIT, T0, 13, 12, 20);
    event_at(&m, TS_EVENT_EVENT_RECORD, T0, 24, 0, 30);
    assert_int_equal(TS_OK, ts_writer_close(m.w));
    ADVISE(m.path);
    unlink(m.path);
}

/* ---- Idle time ----------------------------------------------------------- */

// The thread waits for space in a queue of another stream.
UNIT_TEST(a_full_queue_is_the_largest_cause)
{
    enum { DEPTH = 1024 };
    made m;
    made_begin(&m, 0);
    launch_at(&m, "first", 0, 10);
    for (int64_t i = 0; i <= DEPTH; i++) {
        made_call(&m, HOST, "launch", 10 * US + 20 * i,
                  i == DEPTH ? 130 * US : 10 * US + 20 * i + 10);
        made_kernel(&m, T0, "small", i ? (150 + i) * US : 40 * US,
                    i ? (151 + i) * US : 120 * US);
    }
    launch_at(&m, "after", 131, 10);
    made_open(&m);
    REPORT(m.path, "idle");
    made_close(&m);
}

UNIT_TEST(operations_at_impossible_times_are_none)
{
    made m;
    made_begin(&m, 0);
    made_launch(&m, S0, "k", 0, INT64_C(1) << 61, (INT64_C(1) << 61) + 10);
    assert_int_equal(TS_OK, ts_writer_close(m.w));
    REPORT(m.path, "idle");
    unlink(m.path);
}

// The host waits for each kernel, which begins 100 us after its launch.
UNIT_TEST(launches_that_take_long_are_what_to_change_next)
{
    made m;
    made_begin(&m, 0);
    for (int64_t i = 0; i < 10; i++) {
        const int64_t at = 110 * i;
        call_at(&m, HOST, "cudaLaunchKernel", at, at + 2);
        kernel_at(&m, S0, "k", at + 102, at + 104);
        sync_at(&m, TS_EVENT_STREAM_SYNC, S0, at + 2, at + 105);
    }
    assert_int_equal(TS_OK, ts_writer_close(m.w));
    REPORT(m.path, NULL);
    unlink(m.path);
}

/* ---- Several files ------------------------------------------------------- */

// A collective without a communicator, whose members end apart.
static void put_unnamed(made *m, uint32_t stream, int64_t from, int64_t to)
{
    const ts_writer_value name = { TS_COLUMN_NAME, made_name(m, "reduce") };
    made_call(m, HOST, "launch", from - 5, from - 3);
    made_operation(m, TS_EVENT_COLLECTIVE, stream, from, to, &name, 1);
}

UNIT_TEST(collectives_that_end_apart_are_matched_by_name_and_order)
{
    made m;
    made_begin(&m, 0);
    put_unnamed(&m, S0, 100, 200);
    put_unnamed(&m, T0, 150, 400);
    made_open(&m);
    REPORT(m.path, "path,ranks");
    made_close(&m);
}

// Ranks whose clocks are 70 us apart; the one marks its steps, the other comes
// `late` to each collective.
static void put_rank(made *m, int64_t rank, int64_t late)
{
    made_begin(m, UINT64_C(1000000000) + (uint64_t)rank * 1000);
    fact(m, 0, "rank", (uint64_t)rank);
    for (int64_t i = 0; i < 6; i++) {
        const int64_t at = 500 * i + 70 * rank;
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%d", (int)i);
        call_at(m, HOST, "ncclAllReduce", at + late, at + late + 2);
        collective_at(m, S0, (uint64_t)i + 1, MIB, 2, at + late + 10, at + 300);
        if (!rank) zone_at(m, HOST, name, at, at + 400);
    }
    assert_int_equal(TS_OK, ts_writer_close(m->w));
}

UNIT_TEST(the_rank_that_others_wait_for_is_what_to_look_at_next)
{
    made m, other;
    put_rank(&m, 0, 0);
    put_rank(&other, 1, 100);
    const char *const paths[] = { m.path, other.path };
    const ts_analysis_desc all = { .paths = paths, .path_count = 2 };
    const ts_analysis_desc steps = { .paths = paths,
                                     .path_count = 2,
                                     .only = "steps" };
    report_expected(__FILE__, __func__, &all);
    report_expected(__FILE__, __func__, &steps);
    unlink(m.path);
    unlink(other.path);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
