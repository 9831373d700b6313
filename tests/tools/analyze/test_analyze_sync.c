/*
    test_analyze_sync.c - synchronisations, needless and not, by hand
*/
#include "tests/tools/analyze/time_fixture.h"
#include "tools/analyze/figures/time/sync.h"

// A call that synchronises, and its row.
static void host_sync(made *m, ts_event_kind kind, uint32_t track, int64_t from,
                      int64_t to)
{
    made_call(m, HOST,
              kind == TS_EVENT_DEVICE_SYNC ? "device_sync" : "stream_sync",
              from, to);
    made_operation(m, kind, track, from, to, NULL, 0);
}

static const sync_item *item_at(const sync_result *r, int64_t start)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->items[i].start_ns == start) return &r->items[i];
    fail_msg("no synchronisation begins at %d", (int)start);
    return NULL;
}

static sync_finding finding(const sync_result *r, int64_t start)
{
    return item_at(r, start)->finding;
}

/*
    Kernels on stream S0 10-50 and S1 10-90. The host waits for S0 at 20-52,
    for S0 again at 54-56, for the device at 58-92 (S1 works), again at 94-96;
    then launches on S0 at 100 a kernel 110-120, and waits for the device at
    104-122 (S0 alone works), for S1 at 130-132 (done long ago), and at 150 for
    S0 (done, and waited for).
*/
static void make(made *m)
{
    made_begin(m, 0);
    made_launch(m, S0, "a", 0, 10, 50);
    made_launch(m, S1, "b", 4, 10, 90);
    host_sync(m, TS_EVENT_STREAM_SYNC, S0, 20, 52);
    host_sync(m, TS_EVENT_STREAM_SYNC, S0, 54, 56);
    host_sync(m, TS_EVENT_DEVICE_SYNC, D0, 58, 92);
    host_sync(m, TS_EVENT_DEVICE_SYNC, D0, 94, 96);
    made_launch(m, S0, "c", 100, 110, 120);
    made_zone(m, HOST, "wait", 103, 123);
    host_sync(m, TS_EVENT_DEVICE_SYNC, D0, 104, 122);
    made_launch(m, S1, "d", 124, 126, 128);
    host_sync(m, TS_EVENT_STREAM_SYNC, S1, 130, 132);
    host_sync(m, TS_EVENT_STREAM_SYNC, S0, 150, 152);
    made_open(m);
}

UNIT_TEST(needless_and_wide_ones_are_distinguished)
{
    made m;
    sync_result r;
    make(&m);
    assert_true(sync_open(&r, m.replay, m.timeline, &m.names));
    assert_int_equal(7, r.count);
    assert_int_equal(SYNC_WAITED, finding(&r, 20));
    assert_int_equal(SYNC_AGAIN, finding(&r, 54));
    assert_int_equal(SYNC_WIDE, finding(&r, 58)); // S0 was done
    assert_int_equal(SYNC_AGAIN, finding(&r, 94));
    assert_int_equal(SYNC_WIDE, finding(&r, 104));
    assert_int_equal(SYNC_IDLE, finding(&r, 130));
    assert_int_equal(SYNC_AGAIN, finding(&r, 150));
    assert_int_equal(1, r.counts[SYNC_WAITED]);
    assert_int_equal(32, r.blocked_ns[SYNC_WAITED]);
    assert_int_equal(6, r.blocked_ns[SYNC_AGAIN]);
    assert_int_equal(2, r.blocked_ns[SYNC_IDLE]);
    sync_close(&r);
    REPORT(m.path, "sync");
    made_close(&m);
}

UNIT_TEST(both_streams_at_work_need_the_device)
{
    made m;
    sync_result r;
    made_begin(&m, 0);
    made_launch(&m, S0, "a", 0, 10, 50);
    made_launch(&m, S1, "b", 4, 10, 90);
    made_launch(&m, T0, "c", 6, 10, 200); // another device
    host_sync(&m, TS_EVENT_DEVICE_SYNC, D0, 20, 92);
    made_open(&m);
    assert_true(sync_open(&r, m.replay, m.timeline, &m.names));
    assert_int_equal(SYNC_WAITED, finding(&r, 20));
    assert_int_equal(2, item_at(&r, 20)->streams);
    sync_close(&r);
    REPORT(m.path, "sync");
    made_close(&m);
}

// One that takes long for nothing waited for what the trace does not have.
UNIT_TEST(a_long_wait_for_nothing_is_not_called_needless)
{
    made m;
    sync_result r;
    made_begin(&m, 0);
    made_launch(&m, S0, "a", 0, 10, 50);
    host_sync(&m, TS_EVENT_STREAM_SYNC, S0, 100, 100 + TS_TIMELINE_SLOW_NS + 1);
    made_open(&m);
    assert_true(sync_open(&r, m.replay, m.timeline, &m.names));
    assert_int_equal(SYNC_UNKNOWN, finding(&r, 100));
    sync_close(&r);
    REPORT(m.path, "sync");
    made_close(&m);
}

// Two queries that the timeline sees wait, and a synchronisation: the queries
// took time, but did not block.
UNIT_TEST(polls_are_no_synchronisations)
{
    made m;
    sync_result r;
    made_begin(&m, 0);
    made_launch(&m, S0, "a", 0, 10, 50);
    made_call(&m, HOST, "cudaEventQuery", 20, 30);
    made_operation(&m, TS_EVENT_EVENT_SYNC, S0, 20, 30, NULL, 0);
    made_call(&m, HOST, "cudaStreamQuery", 32, 40);
    made_operation(&m, TS_EVENT_STREAM_SYNC, S0, 32, 40, NULL, 0);
    host_sync(&m, TS_EVENT_STREAM_SYNC, S0, 42, 52);
    made_open(&m);
    assert_true(sync_open(&r, m.replay, m.timeline, &m.names));
    assert_int_equal(3, r.count);
    assert_int_equal(2, r.counts[SYNC_POLL]);
    assert_int_equal(18, r.blocked_ns[SYNC_POLL]);
    assert_int_equal(1, r.counts[SYNC_WAITED]);
    assert_int_equal(10, r.blocked_ns[SYNC_WAITED]);
    for (size_t i = 0; i < r.site_count; i++)
        assert_true(!r.sites[i].polls || r.sites[i].polls == r.sites[i].count);
    sync_close(&r);
    REPORT(m.path, "sync");
    made_close(&m);
}

UNIT_TEST(time_is_summed_by_call_and_zone_with_what_idled_for_it)
{
    made m;
    sync_result r;
    make(&m);
    assert_true(sync_open(&r, m.replay, m.timeline, &m.names));
    assert_int_equal(3, r.site_count);
    // Streams, no zone: 32 + 2 + 2 + 2; devices, none: 34 + 2; `wait`: 18.
    assert_int_equal(38, r.sites[0].blocked_ns);
    assert_int_equal(4, r.sites[0].count);
    assert_int_equal(3, r.sites[0].needless);
    assert_int_equal(6, r.sites[0].needless_ns);
    assert_int_equal(36, r.sites[1].blocked_ns);
    assert_int_equal(1, r.sites[1].wide);
    assert_int_equal(18, r.sites[2].blocked_ns);
    assert_int_equal(made_group(&m, "wait"), r.sites[2].zone);
    // Idle from 90 to 110 and 120 to 126, as the host was blocked.
    int64_t idle = 0;
    for (size_t i = 0; i < r.site_count; i++)
        idle += r.sites[i].idle_ns;
    assert_int_equal(r.idle_ns, idle);
    assert_int_equal(26, r.idle_ns);
    sync_close(&r);
    REPORT(m.path, "sync");
    made_close(&m);
}

UNIT_TEST(leaving_needless_ones_out_gains_their_time)
{
    made m;
    sync_result r;
    model_figures base, needless, all;
    make(&m);
    assert_true(sync_open(&r, m.replay, m.timeline, &m.names));
    assert_true(model_run(m.replay, NULL, 0, &base));
    assert_true(sync_without(&r, m.replay, false, &needless));
    assert_true(sync_without(&r, m.replay, true, &all));
    assert_true(base.known && needless.known && all.known);
    assert_true(model_gain(&base, &needless) >= 0);
    assert_true(model_gain(&base, &all) > model_gain(&base, &needless));
    sync_close(&r);
    REPORT(m.path, "sync");
    made_close(&m);
}

/* ---- Waits of streams ---------------------------------------------------- */

static uint64_t record(made *m, uint32_t stream, int64_t at, uint64_t event)
{
    const ts_writer_value id = { TS_COLUMN_ID, event };
    made_call(m, HOST, "record", at, at + 1);
    made_operation(m, TS_EVENT_EVENT_RECORD, stream, at + 1, at + 1, &id, 1);
    return m->correlation;
}

static void stream_wait(made *m, uint32_t stream, int64_t at, uint64_t event,
                        uint64_t of)
{
    const ts_writer_value values[] = { { TS_COLUMN_ID, event },
                                       { TS_COLUMN_RECORD, of } };
    made_call(m, HOST, "wait", at, at + 1);
    made_operation(m, TS_EVENT_EVENT_WAIT, stream, at + 1, at + 1, values, 2);
}

UNIT_TEST(waits_that_stream_order_has_done_are_needless)
{
    made m;
    sync_result r;
    made_begin(&m, 0);
    made_launch(&m, S0, "a", 0, 3, 5);
    const uint64_t first = record(&m, S0, 10, 1);
    stream_wait(&m, S0, 12, 1, first); // 0: its own stream
    stream_wait(&m, S1, 14, 1, first); // needed
    stream_wait(&m, S1, 16, 1, first); // 1: again
    const uint64_t second = record(&m, S1, 18, 2);
    stream_wait(&m, T0, 20, 2, second); // needed; S1 knew `first`
    stream_wait(&m, T0, 22, 1, first);  // 2: by way of S1
    const uint64_t third = record(&m, S0, 24, 1);
    stream_wait(&m, T0, 26, 1, third); // needed: a later record
    stream_wait(&m, T1, 28, 9, 0);     // never recorded
    made_launch(&m, S0, "b", 30, 33, 35);
    made_open(&m);
    assert_true(sync_open(&r, m.replay, m.timeline, &m.names));
    assert_int_equal(7, r.waits);
    assert_int_equal(1, r.same_stream);
    assert_int_equal(2, r.known_before);
    assert_int_equal(1, r.no_record);
    ts_operation op;
    const int64_t times[] = { 13, 17, 23 };
    for (size_t i = 0; i < 3; i++) {
        assert_true(
            ts_replay_operation(m.replay, r.needless_waits[i].operation, &op));
        assert_int_equal(times[i], op.recorded_start_ns);
        assert_int_equal(i == 0, r.needless_waits[i].same_stream);
    }
    sync_close(&r);
    REPORT(m.path, "sync");
    made_close(&m);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
