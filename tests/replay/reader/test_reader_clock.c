// Clocks: from ticks to nanoseconds, exactly and at the edges.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "tests/unit.h"

#include "tests/replay/reader/sbt_forge_events.h"
#include "tracesmith_replay.h"

__extension__ typedef __int128 wide;

static ts_reader *open_forge(forge *f)
{
    ts_reader *reader;
    forge_end_chunk(f);
    const ts_reader_desc desc = { .bytes = f->bytes, .size = f->size };
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    return reader;
}

static void close_both(ts_reader *reader, forge *f)
{
    ts_reader_close(reader);
    forge_close(f);
}

static int64_t floor_div(wide a, wide b)
{
    return (int64_t)(a / b - (a % b < 0));
}

UNIT_TEST(between_two_samples_time_is_linear_and_rounds_down)
{
    forge f;
    forge_open(&f, 1000);
    forge_sample(&f, 0, 1, 1000, 500, 0);
    forge_sample(&f, 0, 1, 1000 + 30, 500 + 10, 0);
    forge_sample(&f, 0, 1, 1000 + 40, 500 + 20, 0);
    ts_reader *const reader = open_forge(&f);
    assert_false(ts_reader_info(reader)->clock_estimated);
    for (int64_t x = -100; x < 200; x++) {
        const int64_t wanted = x < 30 ? floor_div(x * 10, 30) : 10 + (x - 30);
        const uint64_t tick = (uint64_t)(1000 + x);
        assert_int_equal(ts_reader_time_ns(reader, 0, tick), wanted);
    }
    close_both(reader, &f);
}

// The decoder's fast way against plain wide arithmetic.
UNIT_TEST(decoded_times_equal_exact_division)
{
    enum { ROWS = 300 };
    static const uint64_t ratios[][2] = {
        { 2999999999, 1000000000 }, // ticks, ns: a processor
        { 1000000000, 1000000000 },
        { 24000000, 1000000000 }, // slower than nanoseconds
        { 3, 1 },
        { 1, UINT64_C(1) << 40 },
        { UINT64_C(0x7ffffffffffffff1), UINT64_C(0x3fffffffffffffe7) },
        { 1000003, 0 }, // stands still
    };
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) {
        const uint64_t ticks = ratios[i][0], ns = ratios[i][1];
        uint64_t starts[ROWS], random = 88172645463325252u;
        forge f;
        forge_open(&f, 7);
        forge_sample(&f, 0, 1, 7, 100, 0);
        forge_sample(&f, 0, 1, 7 + ticks, 100 + ns, 0);
        const uint64_t range = ticks < UINT64_C(1) << 32 ? 3 * ticks : ticks;
        for (int row = 0; row < ROWS; row++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            starts[row] = 7 + random % range;
        }
        starts[0] = 7;
        starts[1] = 7 + range;
        forge_events(&f, 4, 2, ROWS, 7, 7 + range);
        forge_column(&f, 1, FORGE_PACK, FORGE_PLAIN, starts);
        forge_events_end(&f);
        ts_reader *const reader = open_forge(&f);
        ts_columns columns = { 0 };
        assert_int_equal(ts_reader_decode(reader, 2, &columns), TS_OK);
        for (int row = 0; row < ROWS; row++) {
            const wide x = (wide)(starts[row] - 7);
            assert_int_equal(columns.start_ns[row],
                             floor_div(x * (wide)ns, (wide)ticks));
            assert_int_equal(columns.start_ns[row],
                             ts_reader_time_ns(reader, 0, starts[row]));
        }
        ts_columns_close(reader, &columns);
        close_both(reader, &f);
    }
}

UNIT_TEST(rows_may_lie_in_several_segments)
{
    const uint64_t starts[] = { 1300, 900, 1100, 1250, 1000, 1200, 1150 };
    forge f;
    forge_open(&f, 1000);
    forge_sample(&f, 0, 1, 1000, 0, 0);
    forge_sample(&f, 0, 1, 1100, 100, 0);
    forge_sample(&f, 0, 1, 1200, 400, 0);
    forge_events(&f, 4, 2, 7, 900, 1300);
    forge_column(&f, 1, FORGE_PACK, FORGE_DELTA, starts);
    forge_events_end(&f);
    ts_reader *const reader = open_forge(&f);
    const int64_t wanted[] = { 700, -100, 100, 550, 0, 400, 250 };
    ts_columns columns = { 0 };
    assert_int_equal(ts_reader_decode(reader, 3, &columns), TS_OK);
    for (int row = 0; row < 7; row++)
        assert_int_equal(columns.start_ns[row], wanted[row]);
    ts_columns_close(reader, &columns);
    close_both(reader, &f);
}

UNIT_TEST(one_sample_counts_by_type_or_frequency)
{
    const uint64_t hz[] = { 1, 1, 2000000000 };
    for (uint8_t type = 1; type <= 4; type++)
        for (int known = 0; known < 2; known++) {
            forge f;
            forge_open(&f, 1000);
            forge_sample(&f, 0, type, 1000, 500, 0);
            forge_name(&f, 1, "clock.hz");
            forge_begin(&f, FORGE_METADATA);
            if (known) forge_numbers(&f, 0, 2, 3, hz);
            forge_end(&f);
            ts_reader *const reader = open_forge(&f);
            const bool counter = type <= 2;
            assert_int_equal(ts_reader_time_ns(reader, 0, 1101),
                             counter && known ? 50 : 101);
            assert_int_equal(ts_reader_time_ns(reader, 0, 999),
                             counter && known ? -1 : -1);
            assert_int_equal(ts_reader_info(reader)->clock_estimated, counter);
            close_both(reader, &f);
        }
}

UNIT_TEST(without_any_sample_ticks_count_from_the_start)
{
    forge f;
    forge_open(&f, 1000);
    ts_reader *const reader = open_forge(&f);
    assert_int_equal(ts_reader_time_ns(reader, 0, 1234), 234);
    assert_true(ts_reader_info(reader)->clock_estimated);
    assert_int_equal(ts_reader_damage_count(reader), 0);
    close_both(reader, &f);
}

UNIT_TEST(a_device_has_a_clock_of_its_own)
{
    forge f;
    forge_open(&f, 1000);
    forge_sample(&f, 0, 1, 1000, 5000, 0);
    forge_sample(&f, 5, 4, 70, 5100, 0);
    forge_sample(&f, 0, 1, 3000, 6000, 0);
    forge_sample(&f, 5, 4, 80, 5200, 0);
    ts_reader *const reader = open_forge(&f);
    assert_int_equal(ts_reader_time_ns(reader, 0, 2000), 500);
    assert_int_equal(ts_reader_time_ns(reader, 5, 70), 100);
    assert_int_equal(ts_reader_time_ns(reader, 5, 75), 150);
    assert_int_equal(ts_reader_time_ns(reader, 5, 60), 0);
    assert_false(ts_reader_info(reader)->clock_estimated);
    close_both(reader, &f);
}

// In whatever order the samples of several clocks are in the file: those of one
// are put together, each clock's from the first to the last.
UNIT_TEST(samples_of_many_clocks_may_be_mixed)
{
    enum { CLOCKS = 7, SAMPLES = 6 };
    forge f;
    forge_open(&f, 0);
    for (uint32_t i = 0; i < SAMPLES; i++)
        for (uint32_t id = CLOCKS; id-- > 0;)
            forge_sample(&f, id, 4, 10 * i, (id + 1) * 100 * i * i, 0);
    ts_reader *const reader = open_forge(&f);
    assert_int_equal(ts_reader_damage_count(reader), 0);
    for (uint32_t id = 0; id < CLOCKS; id++)
        for (uint32_t i = 0; i < SAMPLES; i++)
            assert_int_equal(ts_reader_time_ns(reader, id, 10 * i),
                             (id + 1) * 100 * i * i);
    close_both(reader, &f);
}

UNIT_TEST(samples_that_run_backwards_are_skipped_and_reported)
{
    forge f;
    forge_open(&f, 1000);
    forge_sample(&f, 0, 1, 1000, 500, 0);
    forge_sample(&f, 0, 1, 1000, 500, 0); // the same again is harmless
    forge_sample(&f, 0, 1, 900, 600, 0);
    forge_sample(&f, 0, 1, 1100, 400, 0);
    forge_sample(&f, 0, 1, 1200, 700, 0);
    ts_reader *const reader = open_forge(&f);
    ts_damage damage;
    assert_int_equal(ts_reader_time_ns(reader, 0, 1100), 100);
    assert_int_equal(ts_reader_damage_count(reader), 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(ts_reader_damage(reader, i, &damage));
        assert_int_equal(damage.offset, f.chunks[2 + i]);
        assert_string_equal(damage.text, "a sample of a clock runs backwards");
    }
    close_both(reader, &f);
}

UNIT_TEST(ticks_may_pass_zero)
{
    const uint64_t start = UINT64_MAX - 99;
    const uint64_t starts[] = { start + 50, start + 150 };
    forge f;
    forge_open(&f, start);
    forge_sample(&f, 0, 1, start, 0, 0);
    forge_sample(&f, 0, 1, start + 200, 400, 0);
    forge_events(&f, 4, 2, 2, start, start + 150);
    forge_column(&f, 1, FORGE_PACK, FORGE_DELTA, starts);
    forge_events_end(&f);
    ts_reader *const reader = open_forge(&f);
    ts_columns columns = { 0 };
    assert_int_equal(ts_reader_decode(reader, 2, &columns), TS_OK);
    assert_int_equal(columns.start_ns[0], 100);
    assert_int_equal(columns.start_ns[1], 300);
    ts_columns_close(reader, &columns);
    close_both(reader, &f);
}

UNIT_TEST(times_out_of_range_stay_at_the_range)
{
    const int64_t most = INT64_C(1) << 62;
    forge f;
    forge_open(&f, 1);
    forge_sample(&f, 0, 1, 1, 0, 0);
    forge_sample(&f, 0, 1, 2, UINT64_C(1) << 60, 0);
    ts_reader *const reader = open_forge(&f);
    assert_int_equal(ts_reader_time_ns(reader, 0, 4), INT64_C(3) << 60);
    assert_int_equal(ts_reader_time_ns(reader, 0, 1000), most);
    assert_int_equal(ts_reader_time_ns(reader, 0, (UINT64_C(1) << 63) + 5),
                     -most);
    close_both(reader, &f);
}

UNIT_TEST(unix_time_follows_the_samples)
{
    forge f;
    forge_open(&f, 1000);
    forge_sample(&f, 0, 3, 1000, 5000, 900000);
    forge_sample(&f, 0, 3, 2000, 6000, 901010); // corrected by 10 ns
    ts_reader *const reader = open_forge(&f);
    assert_int_equal(ts_reader_realtime_ns(reader, 0), 900000);
    assert_int_equal(ts_reader_realtime_ns(reader, 500), 900505);
    assert_int_equal(ts_reader_realtime_ns(reader, 1000), 901010);
    assert_int_equal(ts_reader_realtime_ns(reader, 1500), 901510);
    assert_int_equal(ts_reader_realtime_ns(reader, -100), 899900);
    close_both(reader, &f);
}

// Long segments, borders and rows far from each other, as a scan sees them: in
// blocks that the decoder converts at once, one by one, and half and half.
UNIT_TEST(a_column_of_times_is_that_of_its_ticks)
{
    enum { ROWS = 1000, SEGMENTS = 5 };
    static const uint64_t spans[SEGMENTS][2] = {
        { 2600000001, 1000000000 },
        { UINT64_C(1) << 40, (UINT64_C(1) << 40) + 12345 },
        { 77, 1000 },
        { 1000000007, 3000000011 },
        { 25000000000, 9999999967 },
    };
    uint64_t starts[ROWS], random = 88172645463325252u, tick = 9, ns = 100;
    forge f;
    forge_open(&f, 9);
    forge_sample(&f, 0, 1, tick, ns, 0);
    for (size_t i = 0; i < SEGMENTS; i++) {
        tick += spans[i][0];
        ns += spans[i][1];
        forge_sample(&f, 0, 1, tick, ns, 0);
    }
    const uint64_t last = tick + 5000000000;
    uint64_t at = 9;
    for (int row = 0; row < ROWS; row++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        at += random % 50 ? random % 1000 : random % (last / 20);
        if (at > last) at = 9 + random % (last - 9);
        starts[row] = at;
    }
    forge_events(&f, 4, 2, ROWS, 9, last);
    forge_column(&f, 1, FORGE_PACK, FORGE_PLAIN, starts);
    forge_events_end(&f);
    ts_reader *const reader = open_forge(&f);
    ts_columns columns = { 0 };
    assert_int_equal(ts_reader_decode(reader, 1 + SEGMENTS, &columns), TS_OK);
    for (int row = 0; row < ROWS; row++)
        assert_int_equal(columns.start_ns[row],
                         ts_reader_time_ns(reader, 0, starts[row]));
    ts_columns_close(reader, &columns);
    close_both(reader, &f);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
