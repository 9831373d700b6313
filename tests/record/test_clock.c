// Times against the clocks of the system.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

static const ts_session_desc plain;

UNIT_TEST(durations_are_those_of_the_system)
{
    // By the clock, from inside the zone and from outside: it lies between,
    // however long the machine is busy with something else.
    uint64_t least[5], most[5];
    const char *const path = rt_start("durations.sbt", plain);
    for (int i = 0; i < 5; i++) {
        const uint64_t before = rt_now_ns(CLOCK_MONOTONIC);
        {
            TS_ZONE("sleep");
            const uint64_t begin = rt_now_ns(CLOCK_MONOTONIC);
            rt_sleep_ms(20 + 10 * i);
            least[i] = rt_now_ns(CLOCK_MONOTONIC) - begin;
        }
        most[i] = rt_now_ns(CLOCK_MONOTONIC) - before;
    }
    rt_trace trace = rt_end(path);
    assert_false(trace.info->clock_estimated);
    for (size_t i = 0; i < 5; i++) {
        const uint64_t shown =
            (uint64_t)rt_nth(&trace, TS_EVENT_ZONE, "sleep", i)->duration_ns;
        assert_in_range(shown, least[i] - least[i] / 100,
                        most[i] + most[i] / 100);
    }
    rt_close(&trace);
}

UNIT_TEST(trace_time_is_unix_time_with_another_zero)
{
    const uint64_t before = rt_now_ns(CLOCK_REALTIME);
    const char *const path = rt_start("unix.sbt", plain);
    const uint64_t after = rt_now_ns(CLOCK_REALTIME);
    rt_sleep_ms(30);
    const uint64_t mark_before = rt_now_ns(CLOCK_REALTIME);
    TS_MARK("now");
    const uint64_t mark_after = rt_now_ns(CLOCK_REALTIME);
    rt_trace trace = rt_end(path);
    assert_in_range(trace.info->start_realtime_ns, before, after);
    const rt_row *const mark = rt_only(&trace, TS_EVENT_MARK, "now");
    const uint64_t time = ts_reader_realtime_ns(trace.reader, mark->start_ns);
    assert_in_range(time, mark_before - 1000000, mark_after + 1000000);
    rt_close(&trace);
}

UNIT_TEST(ticks_never_fall)
{
    uint64_t last = ts_tick_now();
    for (int i = 0; i < 1000000; i++) {
        const uint64_t tick = ts_tick_now();
        assert_true(tick >= last);
        last = tick;
    }
}

UNIT_TEST(a_tick_has_a_trace_time)
{
    const char *const path = rt_start("ticks.sbt", plain);
    const uint64_t tick = ts_tick_now();
    TS_MARK("between");
    const uint64_t later = ts_tick_now();
    rt_trace trace = rt_end(path);
    const int64_t time = rt_only(&trace, TS_EVENT_MARK, NULL)->start_ns;
    assert_true(ts_reader_time_ns(trace.reader, 0, tick) <= time);
    assert_true(ts_reader_time_ns(trace.reader, 0, later) >= time);
    assert_true(time >= 0);
    rt_close(&trace);
}

static uint32_t clock_samples(const rt_trace *trace)
{
    uint32_t count = 0;
    ts_chunk_info info;
    for (size_t i = 0; ts_reader_chunk(trace->reader, i, &info); i++)
        if (info.header.kind == TS_CHUNK_CLOCK) count += info.header.count;
    return count;
}

UNIT_TEST(the_clock_is_sampled_at_both_ends_and_each_second)
{
    const char *path = rt_start("short.sbt", plain);
    rt_trace trace = rt_end(path);
    assert_true(clock_samples(&trace) >= 2);
    rt_close(&trace);
    path = rt_start("seconds.sbt", plain);
    rt_sleep_ms(2300);
    trace = rt_end(path);
    assert_true(clock_samples(&trace) >= 3); // of a thread that may be late
    rt_close(&trace);
}

UNIT_TEST(a_file_cut_after_its_first_events_has_a_rate)
{
    static const ts_session_desc descs[] = {
        { .flush_ms = 0 }, // written at the end
        { .flush_ms = 1 },
        { .drain = TS_DRAIN_MANUAL, .flush_ms = 1 },
    };
    for (size_t i = 0; i < sizeof descs / sizeof *descs; i++) {
        const char *const path = rt_start("cut.sbt", descs[i]);
        TS_MARK("first");
        rt_sleep_ms(5);
        if (descs[i].flush_ms) assert_int_equal(ts_session_flush(), TS_OK);
        assert_int_equal(ts_session_stop(), TS_OK);
        rt_trace trace = rt_open(path);
        ts_chunk_info info;
        uint32_t clocks = 0;
        for (size_t c = 0; ts_reader_chunk(trace.reader, c, &info) &&
                           info.header.kind != TS_CHUNK_EVENTS;
             c++)
            if (info.header.kind == TS_CHUNK_CLOCK) clocks += info.header.count;
        assert_true(clocks >= 2);
        rt_close(&trace);
    }
}

UNIT_TEST(a_device_clock_that_steps_back_is_no_damage)
{
    const char *const path = rt_start("back.sbt", plain);
    const uint32_t clock = ts_clock_define("device");
    const uint64_t now = ts_tick_now();
    char key[32];
    ts_clock_sample(clock, 1000000, now, 10);
    ts_clock_sample(clock, 900000, now + 1000, 10); // it was set
    ts_clock_sample(clock, 2000000, now + 2000, 10);
    ts_clock_sample(clock, 3000000, now - (now >> 4), 10); // the host did
    rt_trace trace = rt_end(path);
    ts_metadata m;
    assert_int_equal(0, ts_reader_damage_count(trace.reader));
    snprintf(key, sizeof key, "clock.%u.backwards", (unsigned)clock);
    assert_true(ts_reader_metadata(trace.reader, 0, key, &m));
    assert_int_equal(2, m.number);
    rt_close(&trace);
    const char *const next = rt_start("on.sbt", plain);
    ts_clock_sample(clock, 1, ts_tick_now(), 10);
    trace = rt_end(next);
    assert_false(ts_reader_metadata(trace.reader, 0, key, &m)); // none here
    rt_close(&trace);
}

static uint64_t *lasts; // lower and upper bound; shared memory

static void die_at_once(void *user)
{
    rt_start(user, plain);
    const uint64_t before = rt_now_ns(CLOCK_MONOTONIC);
    {
        TS_ZONE("sleep");
        const uint64_t begin = rt_now_ns(CLOCK_MONOTONIC);
        rt_sleep_ms(50);
        lasts[0] = rt_now_ns(CLOCK_MONOTONIC) - begin;
    }
    lasts[1] = rt_now_ns(CLOCK_MONOTONIC) - before;
    raise(SIGKILL);
}

UNIT_TEST(a_salvaged_trace_has_true_times)
{
    const char *const path = rt_path("salvaged.sbt");
    lasts = rt_shared(2 * sizeof *lasts);
    rt_wait(rt_fork(die_at_once, "salvaged.sbt"));
    rt_trace trace = rt_read(path);
    assert_false(trace.info->clock_estimated);
    assert_in_range(rt_only(&trace, TS_EVENT_ZONE, "sleep")->duration_ns,
                    lasts[0] - lasts[0] / 100, lasts[1] + lasts[1] / 100);
    rt_close(&trace);
    munmap(lasts, 2 * sizeof *lasts);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
