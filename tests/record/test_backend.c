// Backends: who is started, flushed and stopped, and when.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

static const ts_session_desc plain;
static char said[256]; // the calls so far, a letter each

static void note(const char *what)
{
    strncat(said, what, sizeof said - strlen(said) - 1);
}

static ts_result start_a(char *why, size_t room)
{
    assert_string_equal(why, "on");
    note("A");
    TS_MARK("started");
    return TS_OK;
}
static void flush_a(void)
{
    note("f");
    TS_MARK("flushed");
}
static void stop_a(void)
{
    note("a");
    TS_MARK("stopped");
}
static const ts_backend backend_a = { "first", start_a, flush_a, stop_a };

static ts_result start_b(char *why, size_t room)
{
    snprintf(why, room, "libnone.so is not there");
    note("B");
    return TS_ERR_NOT_FOUND;
}
static void stop_b(void)
{
    note("b");
}
static const ts_backend backend_b = { "second", start_b, NULL, stop_b };
static const ts_backend backend_c = { .name = "third" };

// For each test, which may be the only one.
static int add_two(void **state)
{
    said[0] = 0;
    return ts_backend_add(&backend_a) || ts_backend_add(&backend_b);
}

static void assert_status(const rt_trace *trace, const char *key,
                          const char *expected)
{
    ts_metadata metadata;
    assert_true(ts_reader_metadata(trace->reader, 0, key, &metadata));
    assert_int_equal(metadata.type, TS_VALUE_TEXT);
    rt_assert_text(metadata.text, expected);
}

UNIT_TEST_WITHIN(a_backend_runs_with_the_session_and_may_record, add_two,
                 rt_stop)
{
    assert_int_equal(ts_backend_add(&backend_a), TS_OK); // known
    assert_string_equal(said, "");
    const char *const path = rt_start("backends.sbt", plain);
    assert_string_equal(said, "AB");
    assert_int_equal(ts_session_start(&plain), TS_ERR_STATE);
    assert_int_equal(ts_session_flush(), TS_OK);
    assert_string_equal(said, "ABf");
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_string_equal(said, "ABfa"); // one that is not on is not stopped
    assert_int_equal(ts_session_stop(), TS_ERR_STATE);
    assert_string_equal(said, "ABfa");
    rt_trace trace = rt_read(path);
    assert_int_equal(rt_count(&trace, TS_EVENT_MARK, "started"), 1);
    assert_int_equal(rt_count(&trace, TS_EVENT_MARK, "flushed"), 1);
    assert_int_equal(rt_count(&trace, TS_EVENT_MARK, "stopped"), 1);
    assert_status(&trace, "backend.first", "on");
    assert_status(&trace, "backend.second", "libnone.so is not there");
    rt_close(&trace);
}

UNIT_TEST_WITHIN(one_that_comes_late_starts_at_once, add_two, rt_stop)
{
    const char *const path = rt_start("late.sbt", plain);
    assert_string_equal(said, "AB");
    assert_int_equal(ts_backend_add(&backend_c), TS_OK);
    assert_int_equal(ts_session_snapshot(rt_path("late.snapshot.sbt")), TS_OK);
    assert_string_equal(said, "ABf");
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_string_equal(said, "ABfa");
    rt_trace trace = rt_read(path);
    assert_status(&trace, "backend.third", "on");
    rt_close(&trace);
}

static void exit_in_session(void *path)
{
    const ts_session_desc desc = { .path = path };
    RT_CHECK(ts_session_start(&desc) == TS_OK);
    exit(0); // not _exit: what runs at exit does
}

UNIT_TEST_WITHIN(exit_stops_backends_too, add_two, rt_stop)
{
    char path[300];
    snprintf(path, sizeof path, "%s", rt_path("exit.sbt"));
    assert_int_equal(rt_wait(rt_fork(exit_in_session, path)), 0);
    rt_trace trace = rt_read(path);
    assert_true(trace.info->finished);
    assert_int_equal(rt_count(&trace, TS_EVENT_MARK, "stopped"), 1);
    rt_close(&trace);
}

/* ---- Two threads -------------------------------------------------------- */

static int inside, overlaps, running;

static void call(int change)
{
    if (__atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST)) overlaps++;
    usleep(50);
    running += change; // no atomic: one call at a time
    __atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST);
}

static ts_result start_c(char *why, size_t room)
{
    call(1);
    return TS_OK;
}

static void flush_c(void)
{
    call(0);
}

static void stop_c(void)
{
    call(-1);
}

static void *start_and_stop(void *path)
{
    const ts_session_desc desc = { .path = path };
    for (int i = 0; i < 30; i++) {
        ts_session_start(&desc);
        ts_session_flush();
        ts_session_stop();
    }
    return NULL;
}

static const ts_backend counted = { "c", start_c, flush_c, stop_c };

UNIT_TEST_WITHIN(nobody_is_called_by_two_threads_at_once, add_two, rt_stop)
{
    pthread_t other;
    assert_int_equal(ts_backend_add(&counted), TS_OK);
    const char *const path = rt_path("two.sbt");
    pthread_create(&other, NULL, start_and_stop, (void *)(uintptr_t)path);
    start_and_stop((void *)(uintptr_t)path);
    pthread_join(other, NULL);
    ts_session_stop();
    assert_int_equal(overlaps, 0);
    assert_int_equal(running, 0);
}

UNIT_TEST_WITHIN(the_list_is_bounded_and_bad_ones_are_refused, add_two, rt_stop)
{
    static ts_backend more[16];
    assert_int_equal(ts_backend_add(NULL), TS_ERR_USAGE);
    assert_int_equal(ts_backend_add(&more[0]), TS_ERR_USAGE);
    int added = 0;
    assert_int_equal(ts_backend_add(&backend_c), TS_OK);
    assert_int_equal(ts_backend_add(&counted), TS_OK);
    for (int i = 0; i < 16; i++) {
        more[i].name = "more";
        added += ts_backend_add(&more[i]) == TS_OK;
    }
    assert_int_equal(added, 12); // and the four of the other tests
    assert_int_equal(ts_backend_add(&more[15]), TS_ERR_MEMORY);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
