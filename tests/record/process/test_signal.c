// Signal handlers that record while they interrupt the recorder.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

#include <sys/time.h>

// Zones as counted by the program; handlers may run on several threads.
static uint64_t handled, interrupted;
static bool errno_spoiled;

static uint64_t handled_so_far(void)
{
    return __atomic_load_n(&handled, __ATOMIC_RELAXED);
}

static void count_handler(int errno_before)
{
    if (errno != errno_before)
        __atomic_store_n(&errno_spoiled, true, __ATOMIC_RELAXED);
    errno = errno_before;
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static void on_alarm(int number)
{
    const int errno_before = errno;
    TS_ZONE("handler");
    TS_COUNTER("alarms", handled_so_far());
    {
        TS_ZONE("handler inner");
    }
    count_handler(errno_before);
}

// Marks, texts, names: also what takes the slow paths.
static void on_alarm_slow(int number)
{
    const int errno_before = errno;
    char name[32];
    snprintf(name, sizeof name, "made %d", (int)(handled_so_far() % 50));
    TS_ZONE_NAME(name);
    TS_ZONE_VALUE("handled", handled_so_far());
    TS_MESSAGE("a message from a handler that takes more than one slot");
    TS_MARK("handler mark");
    TS_FLOW_STEP(handled_so_far());
    count_handler(errno_before);
}

static void alarm_every_us(long us, void (*handler)(int))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    const struct itimerval timer = { { 0, us }, { 0, us } };
    assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

static void alarm_stop(void)
{
    const struct itimerval none = { { 0, 0 }, { 0, 0 } };
    setitimer(ITIMER_REAL, &none, NULL);
    signal(SIGALRM, SIG_IGN);
    assert_false(errno_spoiled);
}

// Goes on until there were enough signals.
static bool for_ms(uint64_t ms)
{
    if (handled_so_far() <= 100) return true;
    static uint64_t until;
    const uint64_t now = rt_now_ns(CLOCK_MONOTONIC);
    if (!until) until = now + ms * 1000000;
    if (now < until) return true;
    until = 0;
    return false;
}

static void work(void)
{
    for (int i = 0; i < 1000; i++) {
        TS_ZONE("outer");
        TS_ZONE("inner");
        interrupted++;
    }
}

UNIT_TEST(handlers_that_interrupt_zones_are_exact)
{
    static const ts_policy policies[] = { TS_POLICY_HELP, TS_POLICY_BLOCK };
    for (int i = 0; i < 2; i++) {
        const ts_session_desc desc = { .ring_bytes = i ? 32768 : 0,
                                       .policy = policies[i] };
        const char *const path = rt_start("exact.sbt", desc);
        handled = interrupted = 0;
        alarm_every_us(50, on_alarm);
        while (for_ms(200))
            work();
        alarm_stop();
        assert_int_equal(ts_session_stop(), TS_OK);
        rt_trace trace = rt_open(path);
        assert_true(handled > 100);
        assert_int_equal(trace.info->lost, 0);
        assert_int_equal(rt_count(&trace, TS_EVENT_ZONE, "outer"), interrupted);
        assert_int_equal(rt_count(&trace, TS_EVENT_ZONE, "inner"), interrupted);
        assert_int_equal(rt_count(&trace, TS_EVENT_ZONE, "handler"), handled);
        assert_int_equal(rt_count(&trace, TS_EVENT_ZONE, "handler inner"),
                         handled);
        assert_int_equal(rt_count(&trace, TS_EVENT_COUNTER, NULL), handled);
        rt_close(&trace);
    }
}

UNIT_TEST(full_rings_under_handlers_are_counted_exactly)
{
    static const ts_policy policies[] = { TS_POLICY_DROP, TS_POLICY_OVERWRITE };
    for (int i = 0; i < 2; i++) {
        const ts_session_desc desc = { .ring_bytes = 32768,
                                       .policy = policies[i] };
        const char *const path = rt_start("counted.sbt", desc);
        handled = interrupted = 0;
        alarm_every_us(50, on_alarm);
        while (for_ms(200))
            work();
        alarm_stop();
        assert_int_equal(ts_session_stop(), TS_OK);
        rt_trace trace = rt_open(path);
        const uint64_t kept = rt_count(&trace, TS_EVENT_ZONE, NULL) +
                              rt_count(&trace, TS_EVENT_COUNTER, NULL);
        assert_true(trace.info->lost > 0);
        assert_int_equal(kept + trace.info->lost,
                         2 * interrupted + 3 * handled);
        rt_close(&trace);
    }
}

// Slow paths inside slow paths may lose records, but must count them.
UNIT_TEST(handlers_with_everything_are_counted_exactly)
{
    const ts_session_desc desc = { .ring_bytes = 32768 };
    const char *const path = rt_start("slow.sbt", desc);
    handled = interrupted = 0;
    alarm_every_us(80, on_alarm_slow);
    uint64_t named = 0;
    while (for_ms(200)) {
        char name[32];
        snprintf(name, sizeof name, "item %d", (int)(named % 1000));
        TS_ZONE_NAME(name);
        TS_ZONE_TEXT(name);
        TS_MESSAGE("a message of the program that takes more than one slot");
        named++;
    }
    alarm_stop();
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_trace trace = rt_open(path);
    uint64_t events = 0;
    for (int kind = 1; kind < TS_EVENT_LIMIT; kind++)
        events += rt_count(&trace, (ts_event_kind)kind, NULL);
    assert_true(handled > 100);
    assert_int_equal(events + trace.info->lost, 3 * named + 5 * handled);
    assert_int_equal(trace.info->lost, rt_lost(&trace, TS_LOSS_REENTRANT));
    assert_int_equal(rt_count(&trace, TS_EVENT_MARK, "handler mark"), handled);
    rt_close(&trace);
}

static void first_ever(int number)
{
    TS_ZONE("first ever");
    TS_MESSAGE("from a thread that never recorded");
}

static void *record_nothing(void *user)
{
    rt_sleep_ms(1);
    raise(SIGUSR1);
    return user;
}

UNIT_TEST(a_handler_may_be_a_threads_first_record)
{
    const ts_session_desc desc = { 0 };
    const char *const path = rt_start("first.sbt", desc);
    signal(SIGUSR1, first_ever);
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, record_nothing, NULL)) abort();
        pthread_join(thread, NULL);
    }
    signal(SIGUSR1, SIG_DFL);
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "first ever"), 10);
    assert_int_equal(rt_rows(&trace, TS_EVENT_MESSAGE, NULL), 10);
    rt_close(&trace);
}

static void *many_starts(void *user)
{
    TS_ZONE("short thread");
    return user;
}

// Handlers that hit threads while they get their ring or give it back.
UNIT_TEST(handlers_at_the_edges_of_threads_lose_nothing_uncounted)
{
    const ts_session_desc desc = { 0 };
    const char *const path = rt_start("edges.sbt", desc);
    handled = 0;
    alarm_every_us(40, on_alarm);
    uint64_t started = 0;
    while (for_ms(200)) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            if (pthread_create(&threads[i], NULL, many_starts, NULL)) abort();
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
        started += 4;
    }
    alarm_stop();
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_trace trace = rt_open(path);
    const uint64_t events = rt_count(&trace, TS_EVENT_ZONE, NULL) +
                            rt_count(&trace, TS_EVENT_COUNTER, NULL);
    assert_int_equal(trace.info->lost, rt_lost(&trace, TS_LOSS_REENTRANT));
    assert_int_equal(events + trace.info->lost, started + 3 * handled);
    rt_close(&trace);
}

// The drain thread must not take the program's signals.
UNIT_TEST(the_drain_thread_takes_no_signals)
{
    const ts_session_desc desc = { 0 };
    sigset_t block, before;
    sigemptyset(&block);
    sigaddset(&block, SIGUSR1);
    rt_start("blocked.sbt", desc);
    pthread_sigmask(SIG_BLOCK, &block, &before);
    signal(SIGUSR1, first_ever);
    kill(getpid(), SIGUSR1); // only the drain thread could take it
    rt_sleep_ms(20);
    sigset_t pending;
    sigpending(&pending);
    assert_int_equal(sigismember(&pending, SIGUSR1), 1);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    signal(SIGUSR1, SIG_DFL);
    assert_int_equal(ts_session_stop(), TS_OK);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
