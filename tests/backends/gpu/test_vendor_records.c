// What backends share that read records of a vendor's library.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

#include "backends/gpu/records.h"

typedef struct note {
    uint64_t a, b;
} note;

UNIT_TEST(a_note_is_found_until_its_place_is_needed)
{
    ts__notes notes = { 0 };
    note n = { 0, 0 };
    assert_false(ts__notes_get(&notes, 7, &n, sizeof n, false));
    assert_true(ts__notes_open(&notes, 16, sizeof n));
    assert_false(ts__notes_get(&notes, 7, &n, sizeof n, false));
    const note first = { 1, 2 }, second = { 3, 4 };
    ts__notes_put(&notes, 7, &first, sizeof first, false);
    assert_true(ts__notes_get(&notes, 7, &n, sizeof n, false) && n.a == 1 &&
                n.b == 2);
    assert_true(ts__notes_get(&notes, 7, &n, sizeof n,
                              false)); // many records of one call
    ts__notes_put(&notes, 7 + 16, &second, sizeof second, false);
    assert_false(ts__notes_get(&notes, 7, &n, sizeof n, false));
    assert_true(ts__notes_get(&notes, 7 + 16, &n, sizeof n, false) &&
                n.a == 3 && n.b == 4);
    assert_false(ts__notes_get(&notes, 0, &n, sizeof n, false));
    assert_true(ts__notes_open(&notes, 16, sizeof n)); // all is forgotten
    assert_false(ts__notes_get(&notes, 7 + 16, &n, sizeof n, false));
    munmap(notes.slots, 16 * notes.stride);
}

UNIT_TEST(who_waits_for_an_operation_is_counted_once)
{
    ts__notes notes = { 0 };
    note n = { 1, 2 };
    assert_true(ts__notes_open(&notes, 16, sizeof n));
    for (uint64_t key = 1; key <= 8; key++)
        ts__notes_put(&notes, key, &n, sizeof n, key <= 6);
    assert_int_equal(ts__notes_waiting(&notes), 6);
    assert_true(ts__notes_get(&notes, 1, &n, sizeof n, true));
    assert_true(ts__notes_get(&notes, 1, &n, sizeof n, true)); // one call
    assert_true(ts__notes_get(&notes, 2, &n, sizeof n, false));
    ts__notes_settle(&notes, 3, sizeof n);
    ts__notes_settle(&notes, 4 + 16, sizeof n); // another one
    assert_int_equal(ts__notes_waiting(&notes), 4);
    ts__notes_put(&notes, 2, &n, sizeof n, true); // the same call, told again
    assert_int_equal(notes.unreported, 0);
    ts__notes_put(&notes, 2 + 16, &n, sizeof n, false);
    assert_int_equal(notes.unreported, 1);
    assert_int_equal(ts__notes_waiting(&notes), 3);
    munmap(notes.slots, 16 * notes.stride);
}

static ts__notes shared;

static void *write_notes(void *start)
{
    for (uint64_t key = (uintptr_t)start; key < 40000; key += 2) {
        const note n = { key, ~key };
        ts__notes_put(&shared, key, &n, sizeof n, false);
    }
    return NULL;
}

UNIT_TEST(a_note_is_whole_while_others_write)
{
    pthread_t threads[2];
    note n;
    uint64_t found = 0;
    assert_true(ts__notes_open(&shared, 8, sizeof n));
    for (uintptr_t i = 0; i < 2; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, write_notes, (void *)(i + 1)), 0);
    for (uint64_t key = 1; key < 40000; key++)
        if (ts__notes_get(&shared, key, &n, sizeof n, false)) {
            assert_true(n.a == key && n.b == ~key);
            found++;
        }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (uint64_t key = 39990; key < 40000; key++)
        found += ts__notes_get(&shared, key, &n, sizeof n, false);
    assert_true(found > 0);
    munmap(shared.slots, 8 * shared.stride);
}

UNIT_TEST(losses_reach_the_ledger_once_by_cause)
{
    static const char *const texts[] = { "no time", "none", NULL };
    static ts__losses lost = { .vendor = "vendor", .texts = texts };
    const ts_session_desc desc = { 0 };
    const char *const path = rt_start("lost.sbt", desc);
    ts_loss_row row;
    ts__losses_begin(&lost);
    ts__lose(&lost, 0, 0, 2);
    ts__lose(&lost, 0, 0, 3);
    ts__losses_report(&lost);
    ts__losses_report(&lost); // nothing new
    rt_trace trace = rt_end(path);
    assert_int_equal(trace.info->lost, 5);
    assert_true(ts_reader_loss(trace.reader, 0, &row));
    rt_assert_text(ts_reader_name(trace.reader, row.detail), "vendor: no time");
    assert_false(ts_reader_loss(trace.reader, 1, &row));
    rt_close(&trace);
}

/* ---- Clocks ------------------------------------------------------------- */

static uint64_t ahead; // of CLOCK_MONOTONIC_RAW; 0: it does not tell

static uint64_t vendor_ns(void *unused)
{
    return ahead ? ts__clock_now_ns(CLOCK_MONOTONIC_RAW) + ahead : 0;
}

static ts__follower follow(uint64_t by)
{
    ts__follower f = { .now_ns = vendor_ns, .name = "vendor" };
    ahead = by;
    ts__follow_begin(&f, ts_clock_define("vendor"), false);
    assert_false(ts__follow(&f, true));
    rt_sleep_ms(2);
    assert_false(ts__follow(&f, true));
    return f;
}

UNIT_TEST(a_clock_that_is_set_back_is_another_one)
{
    const ts_session_desc desc = { 0 };
    const char *const path = rt_start("clock.sbt", desc);
    ts__follower f = follow(UINT64_C(7200000000000));
    const uint32_t clock = f.clock;
    const uint64_t late = f.last.ns; // an operation's, reported later
    ahead += 1000000000;             // on it goes, by more than time went
    assert_false(ts__follow(&f, true));
    assert_int_equal(f.clock, clock);
    assert_int_equal(f.steps, 1);
    ahead = 1;
    assert_true(ts__follow(&f, true));
    assert_int_not_equal(f.clock, clock);
    assert_int_equal(ts__follow_clock_of(&f, late), clock);
    assert_int_equal(ts__follow_clock_of(&f, f.last.ns), f.clock);
    assert_int_equal(f.steps, 2);
    ahead = 0; // it fails: that is no step
    assert_false(ts__follow(&f, true));
    assert_int_equal(f.steps, 2);
    rt_trace trace = rt_end(path); // samples that run backwards are damage
    rt_close(&trace);
}

UNIT_TEST(a_clock_that_is_set_back_too_often_is_a_loss)
{
    const ts_session_desc desc = { 0 };
    const char *const path = rt_start("clocks.sbt", desc);
    ts__follower f = follow(UINT64_C(7200000000000));
    uint32_t times = 0;
    for (uint32_t last = 0; f.clock != last; times++) {
        last = f.clock;
        ahead -= 1000000000;
        assert_true(ts__follow(&f, true));
        assert_true(times < 100);
    }
    rt_trace trace = rt_end(path);
    ts_loss_row row;
    assert_int_equal(trace.info->lost, 1);
    assert_true(ts_reader_loss(trace.reader, 0, &row));
    rt_assert_text(ts_reader_name(trace.reader, row.detail),
                   "vendor: times of all operations from here on: its clock "
                   "was set back too often");
    rt_close(&trace);
}

static uint32_t looks;

static uint64_t interrupted_ns(void *unused)
{
    if (looks++) rt_sleep_ms(3); // others have the processor
    return vendor_ns(unused);
}

UNIT_TEST(a_look_that_is_interrupted_is_no_step)
{
    const ts_session_desc desc = { 0 };
    rt_start("interrupted.sbt", desc);
    ts__follower f = follow(UINT64_C(7200000000000));
    f.now_ns = interrupted_ns;
    for (int i = 0; i < 3; i++) {
        looks = 0;
        assert_false(ts__follow(&f, true));
    }
    assert_int_equal(f.steps, 0);
    assert_int_equal(ts_session_stop(), TS_OK);
}

UNIT_TEST(ticks_and_times_are_one_moment)
{
    const ts_session_desc desc = { 0 };
    rt_start("moment.sbt", desc);
    const ts__follower f = follow(1000);
    for (uint64_t ns = f.last.ns - 5000000; ns < f.last.ns + 5000000;
         ns += 999983) {
        const uint64_t tick = ts__follow_tick(&f, ns);
        const uint64_t back = ts__follow_ns(&f, tick);
        assert_true(back + 1000 > ns && back < ns + 1000);
        assert_true(ts__follow_before(&f, ns - 2000, tick));
        assert_false(ts__follow_before(&f, ns + 2000, tick));
    }
    assert_int_equal(ts_session_stop(), TS_OK);
}

/* ---- Calls that hang ---------------------------------------------------- */

static int pipe_ends[2];
static uint32_t fetched, finished, hangs;

static void fetch(void *unused)
{
    char byte;
    __atomic_add_fetch(&fetched, 1, __ATOMIC_RELAXED);
    if (TS__LOAD(&hangs) && read(pipe_ends[0], &byte, 1) != 1) abort();
}

static void finish(void *unused)
{
    __atomic_add_fetch(&finished, 1, __ATOMIC_RELAXED);
}

UNIT_TEST(a_worker_fetches_when_it_is_asked_and_finishes)
{
    static ts__worker w = {
        .fetch = fetch, .finish = finish, .period_ms = 60000, .limit_ms = 60000
    };
    assert_false(ts__worker_flush(&w)); // it does not run
    assert_false(ts__worker_stop(&w));
    for (uint32_t session = 1; session < 4; session++) {
        assert_true(ts__worker_start(&w));
        assert_true(ts__worker_flush(&w));
        assert_true(ts__worker_stop(&w));
        assert_false(ts__worker_hangs(&w));
        assert_int_equal(fetched, session);
        assert_int_equal(finished, session);
    }
}

UNIT_TEST(a_call_that_hangs_is_left_behind)
{
    static ts__worker w = {
        .fetch = fetch, .finish = finish, .period_ms = 60000, .limit_ms = 10
    };
    finished = 0;
    hangs = 1;
    const uint32_t before = fetched;
    assert_int_equal(pipe(pipe_ends), 0);
    assert_true(ts__worker_start(&w));
    assert_false(ts__worker_flush(&w));
    while (TS__LOAD(&fetched) == before) // it has hardly begun
        usleep(1000);
    assert_false(ts__worker_stop(&w));
    assert_true(ts__worker_hangs(&w));
    assert_int_equal(TS__LOAD(&finished), 0);
    assert_int_equal(write(pipe_ends[1], "", 1), 1); // it ends by itself
    while (ts__worker_hangs(&w))
        usleep(1000);
    assert_int_equal(TS__LOAD(&finished), 1);
}

int main(void)
{
    return unit_run_alone(NULL, NULL);
}
