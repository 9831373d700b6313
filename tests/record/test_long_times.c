// Times that a real clock would take days to reach, with a clock of the test.
#define _GNU_SOURCE
#include <stdint.h>

static uint64_t tick_now = 1000;
static uint64_t tick_next(void)
{
    return __atomic_load_n(&tick_now, __ATOMIC_RELAXED);
}
#define TRACESMITH_TICK() tick_next()
#define TRACESMITH_IMPLEMENTATION
#define TRACESMITH_SALVAGE // the reader in the library uses it
#include "tests/record/record_fixture.h"

static const ts_session_desc plain;

static void pass(uint64_t ticks)
{
    __atomic_fetch_add(&tick_now, ticks, __ATOMIC_RELAXED);
}

UNIT_TEST(times_are_the_ticks_to_the_nanosecond)
{
    const uint64_t start = tick_now;
    const char *const path = rt_start("exact.sbt", plain);
    pass(10);
    {
        TS_ZONE("outer");
        pass(5);
        {
            TS_ZONE("inner");
            pass(7);
        }
        TS_MARK("mark");
        pass(3);
    }
    {
        TS_ZONE("no time");
    }
    assert_int_equal(ts_tick_now(), start + 25);
    rt_trace trace = rt_end(path);
    const rt_row *row = rt_only(&trace, TS_EVENT_ZONE, "outer");
    assert_int_equal(row->start_tick, start + 10);
    assert_int_equal(row->start_ns, 10);
    assert_int_equal(row->duration_ns, 15);
    row = rt_only(&trace, TS_EVENT_ZONE, "inner");
    assert_int_equal(row->start_ns, 15);
    assert_int_equal(row->duration_ns, 7);
    assert_int_equal(rt_only(&trace, TS_EVENT_MARK, "mark")->start_ns, 22);
    row = rt_only(&trace, TS_EVENT_ZONE, "no time");
    assert_int_equal(row->start_ns, 25);
    assert_int_equal(row->duration_ns, 0);
    rt_close(&trace);
}

// Durations around the 32 bits that a record of one slot has for them.
UNIT_TEST(zones_may_last_longer_than_32_bits)
{
    static const uint64_t durations[] = {
        UINT32_MAX - UINT64_C(1), UINT32_MAX,        UINT64_C(1) << 32,
        (UINT64_C(1) << 32) + 1,  UINT64_C(1) << 40, UINT64_C(1) << 54
    };
    enum { COUNT = sizeof durations / sizeof *durations };
    tick_now = 5000;
    const char *const path = rt_start("long.sbt", plain);
    {
        TS_ZONE("around");
        TS_ZONE_VALUE("of around", 1);
        for (size_t i = 0; i < COUNT; i++) {
            TS_ZONE("long");
            TS_ZONE_VALUE("of long", i);
            pass(durations[i]);
        }
    }
    rt_trace trace = rt_end(path);
    uint64_t sum = 0;
    for (size_t i = 0; i < COUNT; i++) {
        const rt_row *const row = rt_nth(&trace, TS_EVENT_ZONE, "long", i);
        assert_int_equal(row->start_tick, 5000 + sum);
        assert_int_equal(row->duration_ns, durations[i]);
        assert_int_equal(
            rt_nth(&trace, TS_EVENT_ZONE_ARG, "long", i)->start_tick,
            row->start_tick);
        sum += durations[i];
    }
    assert_int_equal(rt_only(&trace, TS_EVENT_ZONE, "around")->duration_ns,
                     sum);
    assert_int_equal(trace.count, 2 * COUNT + 2);
    rt_close(&trace);
}

// Both ends of the pause are inside the zone; then only its beginning is.
UNIT_TEST(long_zones_may_end_in_a_pause)
{
    tick_now = 5000;
    const char *const path = rt_start("pause.sbt", plain);
    TS_ZONE_BEGIN(over, "over");
    TS_ZONE_BEGIN(into, "into");
    pass(UINT64_C(1) << 33);
    ts_session_pause();
    pass(10);
    TS_ZONE_END(into);
    ts_session_resume();
    TS_ZONE_END(over);
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_only(&trace, TS_EVENT_ZONE, "into")->duration_ns,
                     (UINT64_C(1) << 33) + 10);
    assert_int_equal(rt_only(&trace, TS_EVENT_ZONE, "over")->duration_ns,
                     (UINT64_C(1) << 33) + 10);
    rt_close(&trace);
}

// A record holds 56 bits of its time: nine months of a 3 GHz counter.
UNIT_TEST(the_counter_may_be_old)
{
    static const uint64_t starts[] = { (UINT64_C(1) << 56) - 500,
                                       (UINT64_C(1) << 56) + 12345,
                                       (UINT64_C(3) << 56) - 300,
                                       (UINT64_C(1) << 63) - 400 };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        tick_now = starts[i];
        const char *const path = rt_start("old.sbt", plain);
        TS_ZONE_BEGIN(around, "around");
        for (int k = 0; k < 100; k++) {
            TS_ZONE("step");
            TS_MARK("mark");
            TS_COUNTER("k", k);
            TS_MESSAGE("text");
            pass(10);
        }
        TS_ZONE_END(around);
        rt_trace trace = rt_end(path);
        assert_int_equal(rt_only(&trace, TS_EVENT_ZONE, "around")->duration_ns,
                         1000);
        for (size_t k = 0; k < 100; k++) {
            const uint64_t tick = starts[i] + 10 * k;
            const rt_row *const zone = rt_nth(&trace, TS_EVENT_ZONE, "step", k);
            assert_int_equal(zone->start_tick, tick);
            assert_int_equal(zone->start_ns, 10 * k);
            assert_int_equal(zone->duration_ns, 10);
            assert_int_equal(rt_nth(&trace, TS_EVENT_MARK, NULL, k)->start_tick,
                             tick);
            assert_int_equal(
                rt_nth(&trace, TS_EVENT_COUNTER, NULL, k)->start_tick, tick);
            assert_int_equal(
                rt_nth(&trace, TS_EVENT_MESSAGE, NULL, k)->start_tick, tick);
        }
        rt_close(&trace);
    }
}

static void kill_late(void *user)
{
    rt_start(user, plain);
    for (int k = 0; k < 100; k++) {
        TS_ZONE("step");
        pass(10);
    }
    raise(SIGKILL);
}

UNIT_TEST(an_old_counter_survives_a_crash)
{
    tick_now = (UINT64_C(1) << 56) - 500;
    const char *const path = rt_path("late.sbt");
    rt_wait(rt_fork(kill_late, "late.sbt"));
    rt_trace trace = rt_read(path);
    assert_int_equal(trace.count, 100);
    for (size_t k = 0; k < 100; k++)
        assert_int_equal(trace.rows[k].start_tick,
                         (UINT64_C(1) << 56) - 500 + 10 * k);
    rt_close(&trace);
}

UNIT_TEST(nothing_happens_for_a_long_time)
{
    tick_now = 777;
    const char *const path = rt_start("gap.sbt", plain);
    TS_MARK("before");
    assert_int_equal(ts_session_flush(), TS_OK); // as the drain would by then
    pass(UINT64_C(1) << 60);                     // 36 years
    TS_MARK("after");
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_only(&trace, TS_EVENT_MARK, "before")->start_ns, 0);
    assert_int_equal(rt_only(&trace, TS_EVENT_MARK, "after")->start_ns,
                     UINT64_C(1) << 60);
    rt_close(&trace);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
