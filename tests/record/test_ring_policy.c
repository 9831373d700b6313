// What happens when rings are full: help, drop, overwrite, block.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

enum { PRODUCERS = 8, ROUNDS = 30000 };

// Every producer records all shapes of records: one slot, several, texts.
static void *produce(void *user)
{
    const uint64_t base = (uint64_t)(uintptr_t)user << 32;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        TS_ZONE("produced");
        TS_FLOW_STEP(base | i);
        if (i % 16 == 0) TS_MESSAGE("a text of more than one or two slots");
        if (i % 1000 == 0) TS_ZONE_VALUE("i", i);
    }
    return NULL;
}
enum {
    MESSAGES = (ROUNDS + 15) / 16,
    VALUES = (ROUNDS + 999) / 1000,
    PER_PRODUCER = 2 * ROUNDS + MESSAGES + VALUES
};

static void run_producers(void)
{
    pthread_t threads[PRODUCERS];
    for (uintptr_t i = 0; i < PRODUCERS; i++)
        if (pthread_create(&threads[i], NULL, produce, (void *)(i + 1)))
            abort();
    for (int i = 0; i < PRODUCERS; i++)
        pthread_join(threads[i], NULL);
}

// All flows of each producer must be there, once and in order.
static void assert_flows_complete(const rt_trace *trace)
{
    const ts_filter filter = { .kinds = TS_FILTER(FLOW) };
    uint32_t next[PRODUCERS + 1] = { 0 };
    ts_cursor *cursor;
    ts_event event;
    assert_int_equal(ts_cursor_open(&cursor, trace->reader, &filter), TS_OK);
    while (ts_cursor_next(cursor, &event)) {
        const uint64_t id = ts_event_value(&event, TS_COLUMN_ID);
        assert_in_range(id >> 32, 1, PRODUCERS);
        assert_int_equal((uint32_t)id, next[id >> 32]);
        next[id >> 32]++;
    }
    ts_cursor_close(cursor);
    for (int i = 1; i <= PRODUCERS; i++)
        assert_int_equal(next[i], ROUNDS);
}

static void assert_complete(const char *path)
{
    rt_trace trace = rt_open(path);
    assert_int_equal(trace.info->lost, 0);
    assert_int_equal(rt_count(&trace, TS_EVENT_ZONE, "produced"),
                     PRODUCERS * ROUNDS);
    assert_int_equal(rt_count(&trace, TS_EVENT_MESSAGE, NULL),
                     PRODUCERS * MESSAGES);
    assert_int_equal(rt_count(&trace, TS_EVENT_ZONE_ARG, "produced"),
                     PRODUCERS * VALUES);
    assert_flows_complete(&trace);
    rt_close(&trace);
}

UNIT_TEST(help_loses_nothing)
{
    const ts_session_desc desc = { .ring_bytes = 32768 };
    const char *const path = rt_start("help.sbt", desc);
    run_producers();
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_complete(path);
}

UNIT_TEST(help_loses_nothing_without_a_drain_thread)
{
    const ts_session_desc desc = { .ring_bytes = 32768,
                                   .drain = TS_DRAIN_MANUAL };
    const char *const path = rt_start("manual.sbt", desc);
    run_producers();
    assert_int_equal(ts_session_stop(), TS_OK);
    ts_stats stats;
    ts_session_stats(&stats);
    assert_true(stats.helped >= PRODUCERS);
    assert_true(stats.stall_ns > 0);
    assert_int_equal(stats.records, PRODUCERS * PER_PRODUCER);
    assert_complete(path);
}

UNIT_TEST(block_loses_nothing)
{
    const ts_session_desc desc = { .ring_bytes = 32768,
                                   .policy = TS_POLICY_BLOCK };
    const char *const path = rt_start("block.sbt", desc);
    run_producers();
    assert_int_equal(ts_session_stop(), TS_OK);
    ts_stats stats;
    ts_session_stats(&stats);
    assert_true(stats.blocked > 0);
    assert_true(stats.stall_ns > 0);
    assert_complete(path);
    rt_trace trace = rt_open(path);
    assert_int_equal(rt_lost(&trace, TS_LOSS_BLOCKED), stats.blocked);
    rt_close(&trace);
}

static uint64_t events_of(const rt_trace *trace)
{
    uint64_t sum = 0;
    for (int kind = 0; kind < TS_EVENT_LIMIT; kind++)
        if (trace->info->counts[kind])
            sum += rt_count(trace, (ts_event_kind)kind, NULL);
    return sum;
}

UNIT_TEST(drop_counts_what_it_loses)
{
    const ts_session_desc desc = { .ring_bytes = 32768,
                                   .policy = TS_POLICY_DROP,
                                   .drain = TS_DRAIN_MANUAL };
    const char *const path = rt_start("drop.sbt", desc);
    const uint64_t before = ts_tick_now();
    run_producers();
    const uint64_t after = ts_tick_now();
    ts_stats stats;
    ts_session_stats(&stats);
    const uint64_t lost_before_stop = stats.lost_by[TS_LOSS_RING_FULL];
    assert_true(lost_before_stop > 0);
    assert_int_equal(ts_session_stop(), TS_OK);
    ts_session_stats(&stats);
    assert_int_equal(stats.lost_by[TS_LOSS_RING_FULL], lost_before_stop);
    rt_trace trace = rt_open(path);
    const uint64_t kept = events_of(&trace);
    assert_true(kept > 1000);
    assert_int_equal(kept + stats.lost, PRODUCERS * PER_PRODUCER);
    assert_int_equal(trace.info->lost, stats.lost);
    assert_int_equal(rt_lost(&trace, TS_LOSS_RING_FULL), stats.lost);
    const int64_t from = ts_reader_time_ns(trace.reader, 0, before);
    const int64_t to = ts_reader_time_ns(trace.reader, 0, after);
    ts_loss_row row;
    for (size_t i = 0; ts_reader_loss(trace.reader, i, &row); i++) {
        ts_track track; // each loss names its thread and its time
        assert_true(ts_reader_track(trace.reader, row.track, &track));
        assert_int_equal(track.type, TS_TRACK_THREAD);
        assert_true(row.first_ns >= from - 1000);
        assert_true(row.last_ns <= to + 1000);
        assert_true(row.first_ns <= row.last_ns);
    }
    rt_close(&trace);
}

UNIT_TEST(drop_under_a_running_drain_stays_exact)
{
    const ts_session_desc desc = { .ring_bytes = 32768,
                                   .policy = TS_POLICY_DROP };
    const char *const path = rt_start("dropping.sbt", desc);
    run_producers();
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_trace trace = rt_open(path);
    assert_int_equal(events_of(&trace) + trace.info->lost,
                     PRODUCERS * PER_PRODUCER);
    rt_close(&trace);
}

UNIT_TEST(dropped_records_leave_the_others_in_order)
{
    const ts_session_desc desc = { .ring_bytes = 32768,
                                   .policy = TS_POLICY_DROP,
                                   .drain = TS_DRAIN_MANUAL };
    const char *const path = rt_start("newest.sbt", desc);
    for (uint64_t i = 0; i < 100000; i++)
        TS_FLOW_STEP(i);
    assert_int_equal(ts_session_flush(), TS_OK);
    for (uint64_t i = 100000; i < 100100; i++) // there is room again
        TS_FLOW_STEP(i);
    rt_trace trace = rt_end(path);
    assert_true(trace.count > 200);
    const size_t old = trace.count - 100;
    for (size_t i = 0; i < trace.count; i++)
        assert_int_equal(trace.rows[i].values[TS_COLUMN_ID],
                         i < old ? i : 100000 + i - old);
    assert_int_equal(trace.info->lost, 100000 - old);
    rt_close(&trace);
}

UNIT_TEST(overwrite_is_exact_with_many_threads)
{
    const ts_session_desc desc = { .ring_bytes = 32768,
                                   .policy = TS_POLICY_OVERWRITE };
    const char *const path = rt_start("over.sbt", desc);
    run_producers();
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_trace trace = rt_open(path);
    assert_int_equal(events_of(&trace) + trace.info->lost,
                     PRODUCERS * PER_PRODUCER);
    assert_int_equal(trace.info->lost, rt_lost(&trace, TS_LOSS_OVERWRITTEN));
    rt_close(&trace);
}

static bool go_on;
static uint64_t endless_count;

static void *endless(void *user)
{
    while (__atomic_load_n(&go_on, __ATOMIC_RELAXED)) {
        TS_ZONE("endless");
        __atomic_fetch_add(&endless_count, 1, __ATOMIC_RELAXED);
    }
    return user;
}

// Producers that wait for the drain thread are woken.
UNIT_TEST(a_stop_frees_producers_that_wait)
{
    const ts_session_desc desc = { .ring_bytes = 32768,
                                   .policy = TS_POLICY_BLOCK };
    pthread_t threads[4];
    for (int round = 0; round < 5; round++) {
        const char *const path = rt_start("freed.sbt", desc);
        __atomic_store_n(&go_on, true, __ATOMIC_RELAXED);
        for (int i = 0; i < 4; i++)
            if (pthread_create(&threads[i], NULL, endless, NULL)) abort();
        rt_sleep_ms(20);
        assert_int_equal(ts_session_stop(), TS_OK);
        __atomic_store_n(&go_on, false, __ATOMIC_RELAXED);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
        rt_trace trace = rt_open(path);
        assert_int_equal(trace.info->lost, 0);
        rt_close(&trace);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
