// Jumps out of zones past their ends, and ends of threads and of the program.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

#include <semaphore.h>

static const ts_session_desc plain;

static jmp_buf back;

__attribute__((noinline)) static void jump_out(void)
{
    TS_ZONE("jumped over");
    {
        TS_ZONE("jumped over");
        TS_ZONE("jumped over");
        longjmp(back, 1);
    }
}

// In a function without zones, so that no compiler has to keep their variables.
__attribute__((noinline)) static void jump_once(void)
{
    if (!setjmp(back)) jump_out();
}

UNIT_TEST(a_longjmp_leaves_zones_without_harm)
{
    const char *const path = rt_start("jump.sbt", plain);
    {
        TS_ZONE("around");
        for (int i = 0; i < 100; i++)
            jump_once();
        TS_ZONE_VALUE("after the jumps", 1);
    }
    {
        TS_ZONE("after");
        TS_ZONE_VALUE("inside", 2);
    }
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "jumped over"), 0);
    rt_only(&trace, TS_EVENT_ZONE, "around");
    rt_only(&trace, TS_EVENT_ZONE, "after");
    rt_only(&trace, TS_EVENT_ZONE_ARG, "after");
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE_OPEN, NULL), 0);
    rt_close(&trace);
}

static void *exit_inside(void *user)
{
    TS_ZONE("exits inside");
    pthread_exit(user);
}

UNIT_TEST(pthread_exit_inside_a_zone_is_no_harm)
{
    const char *const path = rt_start("exit.sbt", plain);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, exit_inside, NULL)) abort();
        pthread_join(thread, NULL);
    }
    rt_trace trace = rt_end(path);
    // ended by the compiler's clean-up, if it was asked to make one, or open
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "exits inside") +
                         rt_rows(&trace, TS_EVENT_ZONE_OPEN, "exits inside"),
                     20);
    rt_close(&trace);
}

static void *wait_inside(void *user)
{
    TS_ZONE("cancelled inside");
    sem_post(user);
    while (user)
        pause();
    return NULL;
}

UNIT_TEST(a_cancelled_thread_is_no_harm)
{
    sem_t ready;
    sem_init(&ready, 0, 0);
    const char *const path = rt_start("cancel.sbt", plain);
    for (int i = 0; i < 5; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, wait_inside, &ready)) abort();
        sem_wait(&ready);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    sem_destroy(&ready);
    rt_trace trace = rt_end(path);
    assert_int_equal(
        rt_rows(&trace, TS_EVENT_ZONE, "cancelled inside") +
            rt_rows(&trace, TS_EVENT_ZONE_OPEN, "cancelled inside"),
        5);
    rt_close(&trace);
}

/* ---- Thread-local destructors ------------------------------------------- */

static pthread_key_t early, late; // made before and after the first record

static void record_at_end(void *value)
{
    TS_ZONE("in a destructor");
    // once more: glibc calls up to four rounds of destructors
    if (value == (void *)1) pthread_setspecific(late, (void *)2);
}

static void *with_destructors(void *user)
{
    pthread_setspecific(early, (void *)2);
    {
        TS_ZONE("before the destructors");
    }
    pthread_setspecific(late, (void *)1);
    return user;
}

UNIT_TEST(destructors_of_threads_may_record)
{
    pthread_key_create(&early, record_at_end);
    const char *const path = rt_start("tls.sbt", plain);
    {
        TS_ZONE("makes the recorder's own key");
    }
    pthread_key_create(&late, record_at_end);
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, with_destructors, NULL)) abort();
        pthread_join(thread, NULL);
    }
    ts_stats stats;
    ts_session_stats(&stats);
    assert_true(stats.rings <= 16); // and their rings come back
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "before the destructors"),
                     50);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "in a destructor"), 150);
    assert_int_equal(trace.info->lost, 0);
    rt_close(&trace);
    pthread_key_delete(early);
    pthread_key_delete(late);
}

/* ---- The end of the program --------------------------------------------- */

static void record_at_exit(void)
{
    TS_ZONE("at exit");
}

static void exit_with_handlers(void *user)
{
    atexit(record_at_exit); // before the recorder's: runs after its stop
    rt_start(user, plain);
    {
        TS_ZONE("in the program");
    }
    atexit(record_at_exit); // after it: runs before
    exit(7);
}

UNIT_TEST(handlers_of_exit_may_record)
{
    const char *const path = rt_path("exit-handlers.sbt");
    const int status =
        rt_wait(rt_fork(exit_with_handlers, "exit-handlers.sbt"));
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    rt_trace trace = rt_read(path);
    rt_only(&trace, TS_EVENT_ZONE, "in the program");
    assert_in_range(rt_rows(&trace, TS_EVENT_ZONE, "at exit"), 1, 2);
    rt_close(&trace);
}

static int recorded; // zones that ended

static void *record_for_ever(void *user)
{
    for (;;) {
        {
            TS_ZONE("still running");
            TS_MESSAGE("a thread that nobody joins");
        }
        __atomic_fetch_add(&recorded, 1, __ATOMIC_RELAXED);
    }
    return user;
}

static void exit_under_load(void *user)
{
    const ts_session_desc desc = { .ring_bytes = 32768 };
    rt_start(user, desc);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, record_for_ever, NULL)) abort();
    }
    while (__atomic_load_n(&recorded, __ATOMIC_RELAXED) < 1000)
        rt_sleep_ms(1);
    exit(3);
}

UNIT_TEST(exit_while_others_record_ends_and_is_valid)
{
    const char *const path = rt_path("loaded.sbt");
    for (int i = 0; i < 5; i++) {
        const int status = rt_wait(rt_fork(exit_under_load, "loaded.sbt"));
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 3);
        rt_trace trace = rt_open(path);
        assert_true(rt_count(&trace, TS_EVENT_ZONE, "still running") > 0);
        assert_int_equal(trace.info->salvaged, 0);
        assert_int_equal(trace.info->lost, 0);
        rt_close(&trace);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
