// Threads that come and go before, during and after a session.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

static const ts_session_desc plain;

static pthread_t launch(void *(*run)(void *), void *user)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, user)) abort();
    return thread;
}

/* ---- Before, during, after ---------------------------------------------- */

static pthread_barrier_t step;

// Lives through two sessions and records in, between and outside of them.
static void *longlived(void *user)
{
    for (int i = 0; i < 5; i++) {
        pthread_barrier_wait(&step);
        for (int k = 0; k < 10; k++) {
            TS_ZONE("long lived");
        }
        pthread_barrier_wait(&step);
    }
    return user;
}

static void let_it_record(void)
{
    pthread_barrier_wait(&step);
    pthread_barrier_wait(&step);
}

UNIT_TEST(a_thread_may_outlive_sessions_on_both_sides)
{
    pthread_barrier_init(&step, NULL, 2);
    const pthread_t thread = launch(longlived, NULL);
    let_it_record(); // before any session
    const char *const first = rt_start("first.sbt", plain);
    let_it_record();
    assert_int_equal(ts_session_stop(), TS_OK);
    let_it_record(); // between
    const char *const second = rt_start("second.sbt", plain);
    let_it_record();
    assert_int_equal(ts_session_stop(), TS_OK);
    let_it_record(); // after
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&step);
    const char *const paths[] = { first, second };
    for (int i = 0; i < 2; i++) {
        rt_trace trace = rt_read(paths[i]);
        assert_int_equal(trace.count, 10);
        assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "long lived"), 10);
        assert_int_equal(trace.info->lost, 0);
        rt_close(&trace);
    }
}

static void *one_zone(void *user)
{
    {
        TS_ZONE("one zone");
    }
    return user;
}

UNIT_TEST(a_thread_that_ended_before_the_stop_is_kept)
{
    const ts_session_desc slow = { .flush_ms = 600000 };
    const char *const path = rt_start("ended.sbt", slow);
    for (int i = 0; i < 3; i++)
        pthread_join(launch(one_zone, NULL), NULL);
    assert_int_equal(ts_session_stop(), TS_OK);
    pthread_join(launch(one_zone, NULL), NULL); // after the session
    rt_trace trace = rt_read(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "one zone"), 3);
    // three threads, three tracks, even if one ring served them all
    assert_int_not_equal(trace.rows[0].track, trace.rows[1].track);
    assert_int_not_equal(trace.rows[1].track, trace.rows[2].track);
    assert_int_not_equal(trace.rows[0].track, trace.rows[2].track);
    rt_close(&trace);
}

/* ---- Many --------------------------------------------------------------- */

enum { MANY = 200, EACH = 500 };

static void *storm(void *user)
{
    char name[32];
    snprintf(name, sizeof name, "storm %d", (int)(intptr_t)user);
    TS_THREAD_NAME(name);
    pthread_barrier_wait(&step);
    for (int i = 0; i < EACH; i++) {
        TS_ZONE("storm");
        TS_ZONE("inner");
        if (i % 100 == 0) TS_COUNTER("shared", i);
    }
    pthread_barrier_wait(&step);
    return NULL;
}

// Zones of each track.
static void count_zones(const rt_trace *trace, uint32_t *zones, size_t size)
{
    for (size_t i = 0; i < trace->count; i++) {
        assert_true(trace->rows[i].track < size);
        zones[trace->rows[i].track] += trace->rows[i].kind == TS_EVENT_ZONE;
    }
}

UNIT_TEST(two_hundred_threads_record_at_once)
{
    pthread_t threads[MANY];
    const char *const path = rt_start("many.sbt", plain);
    pthread_barrier_init(&step, NULL, MANY);
    for (intptr_t i = 0; i < MANY; i++)
        threads[i] = launch(storm, (void *)i);
    for (int i = 0; i < MANY; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&step);
    assert_int_equal(ts_session_stop(), TS_OK);
    ts_stats stats;
    ts_session_stats(&stats);
    assert_int_equal(stats.threads, MANY);
    assert_int_equal(stats.lost, 0);
    rt_trace trace = rt_read(path);
    assert_int_equal(trace.info->lost, 0);
    assert_int_equal(rt_rows(&trace, TS_EVENT_COUNTER, "shared"), MANY * 5);
    int found = 0;
    uint32_t zones[16 * MANY] = { 0 };
    count_zones(&trace, zones, sizeof zones / sizeof *zones);
    for (size_t i = 0; i < trace.info->track_count; i++) {
        ts_track track;
        assert_true(ts_reader_track_at(trace.reader, i, &track));
        if (track.type != TS_TRACK_THREAD ||
            strncmp(track.name.text, "storm ", 6))
            continue;
        assert_in_range(track.id, 1, 16 * MANY - 1);
        assert_int_equal(zones[track.id], 2 * EACH);
        found++;
    }
    assert_int_equal(found, MANY);
    rt_close(&trace);
}

UNIT_TEST(a_thousand_short_threads_share_few_rings)
{
    enum { ROUNDS = 250, AT_ONCE = 4 };
    const char *const path = rt_start("short.sbt", plain);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_t threads[AT_ONCE];
        for (int k = 0; k < AT_ONCE; k++)
            threads[k] = launch(one_zone, NULL);
        for (int k = 0; k < AT_ONCE; k++)
            pthread_join(threads[k], NULL);
    }
    ts_stats stats;
    ts_session_stats(&stats);
    assert_true(stats.rings <= 64);
    assert_true(stats.memory_bytes <= 64 * 65536);
    assert_int_equal(ts_session_stop(), TS_OK);
    ts_session_stats(&stats);
    assert_int_equal(stats.threads, ROUNDS * AT_ONCE);
    rt_trace trace = rt_read(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "one zone"),
                     ROUNDS * AT_ONCE);
    assert_int_equal(trace.info->lost, 0);
    // every one has a track of its own
    uint32_t tracks = 0;
    for (size_t i = 0; i < trace.info->track_count; i++) {
        ts_track track;
        assert_true(ts_reader_track_at(trace.reader, i, &track));
        if (track.type == TS_TRACK_THREAD) tracks++;
    }
    assert_in_range(tracks, ROUNDS * AT_ONCE, ROUNDS * AT_ONCE + 1);
    rt_close(&trace);
}

/* ---- Moved and left open ------------------------------------------------ */

static void *end_elsewhere(void *user)
{
    TS_ZONE("around");
    ts_zone_end(user);
    return NULL;
}

static void *end_as_the_first_thing(void *user)
{
    ts_zone_end(user);
    return NULL;
}

UNIT_TEST(a_zone_that_moves_is_recorded_where_it_ends)
{
    const char *const path = rt_start("moved.sbt", plain);
    TS_ZONE_BEGIN(one, "moved");
    pthread_join(launch(end_elsewhere, &one), NULL);
    TS_ZONE_BEGIN(two, "moved too");
    pthread_join(launch(end_as_the_first_thing, &two), NULL);
    {
        TS_ZONE("here");
    }
    const uint32_t here = ts_thread_track();
    rt_trace trace = rt_end(path);
    const rt_row *const moved = rt_only(&trace, TS_EVENT_ZONE, "moved");
    assert_int_equal(moved->track,
                     rt_only(&trace, TS_EVENT_ZONE, "around")->track);
    assert_int_not_equal(moved->track, here);
    assert_int_not_equal(rt_only(&trace, TS_EVENT_ZONE, "moved too")->track,
                         here);
    assert_int_equal(rt_only(&trace, TS_EVENT_ZONE, "here")->track, here);
    rt_close(&trace);
}

static void *leave_open(void *user)
{
    TS_ZONE_BEGIN(left, "left open");
    pthread_exit(user);
    TS_ZONE_END(left);
}

UNIT_TEST(a_zone_left_open_by_a_thread_harms_no_other)
{
    const char *const path = rt_start("left.sbt", plain);
    for (int i = 0; i < 3; i++) {
        pthread_join(launch(leave_open, NULL), NULL);
        pthread_join(launch(one_zone, NULL), NULL);
    }
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "one zone"), 3);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE_OPEN, "left open"), 3);
    assert_int_equal(trace.count, 6);
    rt_close(&trace);
}

/* ---- errno -------------------------------------------------------------- */

static void *watch_errno(void *user)
{
    bool *const kept = user;
    errno = 12345;
    for (int i = 0; i < 20000; i++) { // gets a ring, larger ones, and helps
        char name[32];
        TS_ZONE("watched");
        TS_MESSAGE("a text that takes a few slots of the ring");
        snprintf(name, sizeof name, "name %d", i);
        TS_ZONE_NAME(name);
        TS_COUNTER("watched", i);
        if (errno != 12345) *kept = false;
    }
    return NULL;
}

// Without a drain thread sixteen of them help, and wait for each other.
UNIT_TEST(recording_leaves_errno_alone)
{
    enum { COUNT = 16 };
    bool kept[COUNT];
    pthread_t threads[COUNT];
    const ts_session_desc desc = { .ring_bytes = 32768,
                                   .drain = TS_DRAIN_MANUAL };
    rt_start("errno.sbt", desc);
    for (int i = 0; i < COUNT; i++) {
        kept[i] = true;
        threads[i] = launch(watch_errno, &kept[i]);
    }
    for (int i = 0; i < COUNT; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(ts_session_stop(), TS_OK);
    for (int i = 0; i < COUNT; i++)
        assert_true(kept[i]);
}

/* ---- A session under running threads ------------------------------------ */

static bool go_on;
static uint64_t emitted[4];

static void *record_until_stopped(void *user)
{
    uint64_t *const count = user;
    while (__atomic_load_n(&go_on, __ATOMIC_RELAXED)) {
        TS_ZONE("endless");
        TS_FLOW_STEP(__atomic_add_fetch(count, 1, __ATOMIC_RELAXED));
    }
    return NULL;
}

// All events are those that the threads record, as many as the trace says.
static void check_endless(const rt_trace *trace)
{
    uint64_t zones = 0, flows = 0;
    ts_cursor *cursor;
    ts_event event;
    assert_int_equal(ts_cursor_open(&cursor, trace->reader, NULL), TS_OK);
    while (ts_cursor_next(cursor, &event)) {
        const ts_text name = ts_event_label(trace->reader, &event);
        flows += event.kind == TS_EVENT_FLOW;
        zones += event.kind == TS_EVENT_ZONE && name.size == 7 &&
                 memcmp(name.text, "endless", 7) == 0;
    }
    assert_int_equal(ts_cursor_result(cursor), TS_OK);
    ts_cursor_close(cursor);
    assert_int_equal(zones, trace->info->counts[TS_EVENT_ZONE]);
    assert_int_equal(flows, trace->info->counts[TS_EVENT_FLOW]);
    // only zones of the session before may be missing
    assert_int_equal(trace->info->lost, rt_lost(trace, TS_LOSS_STALE));
}

UNIT_TEST(sessions_start_and_stop_under_running_threads)
{
    pthread_t threads[4];
    __atomic_store_n(&go_on, true, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++)
        threads[i] = launch(record_until_stopped, &emitted[i]);
    const char *paths[8];
    for (int i = 0; i < 8; i++) {
        char name[32];
        snprintf(name, sizeof name, "under-%d.sbt", i);
        paths[i] = rt_start(name, plain);
        rt_sleep_ms(5);
        ts_session_pause();
        ts_session_resume();
        ts_session_flush();
        rt_sleep_ms(5);
        assert_int_equal(ts_session_stop(), TS_OK);
    }
    __atomic_store_n(&go_on, false, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 8; i++) {
        rt_trace trace = rt_open(paths[i]);
        check_endless(&trace);
        rt_close(&trace);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
