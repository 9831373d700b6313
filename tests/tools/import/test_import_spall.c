/*
    test_import_spall.c - spall's binary traces become zones

    The sources are put together here from the structs of spall.h.
*/
#include "tests/tools/import/import_fixture.h"
#include "tools/import/import.h"
#include <math.h>

static uint8_t bytes[100000];
static size_t size;

static void put(uint64_t value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes[size++] = (uint8_t)(value >> 8 * i);
}

static void put_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(bits, 8);
}

static void put_text(const char *text)
{
    memcpy(bytes + size, text, strlen(text));
    size += strlen(text);
}

static void put_header(uint64_t version, double unit)
{
    size = 0;
    put(0x0BADF00D, 8);
    put(version, 8);
    put_double(unit);
    put(0, 8);
}

static size_t begin_buffer(uint32_t process, uint32_t thread)
{
    put(0, 4);
    put(thread, 4);
    put(process, 4);
    put(0, 8);
    return size;
}

static void end_buffer(size_t from)
{
    const size_t end = size;
    size = from - 20;
    put(end - from, 4);
    size = end;
}

static void put_begin(uint64_t ticks, const char *name, const char *args)
{
    put(3, 1);
    put(ticks, 8);
    put(strlen(name), 1);
    put(strlen(args), 1);
    put_text(name);
    put_text(args);
}

static void put_end(uint64_t ticks)
{
    put(4, 1);
    put(ticks, 8);
}

static void put_name(uint8_t type, const char *name)
{
    put(type, 1);
    put(strlen(name), 1);
    put_text(name);
}

static void put_old_begin(uint32_t process, uint32_t thread, double time,
                          const char *name)
{
    put(3, 1);
    put(0, 1);
    put(process, 4);
    put(thread, 4);
    put_double(time);
    put(strlen(name), 1);
    put(0, 1);
    put_text(name);
}

static void put_old_end(uint32_t process, uint32_t thread, double time)
{
    put(4, 1);
    put(process, 4);
    put(thread, 4);
    put_double(time);
}

static const char *save(void)
{
    return fixture_save(bytes, size);
}

#define ON_5 "on process 1 app/thread 5 main"

UNIT_TEST(zones_of_version_3_nest_on_their_threads)
{
    put_header(3, 0.5);
    size_t buffer = begin_buffer(1, 5);
    put_name(8, "app");
    put_name(9, "main");
    put_begin(2000, "outer", "");
    put_begin(2010, "inner", "n=1");
    end_buffer(buffer);
    buffer = begin_buffer(2, 5);
    put_begin(2001, "other", "");
    put_end(2004);
    end_buffer(buffer);
    buffer = begin_buffer(1, 5);
    put_end(2031);
    put_end(2100);
    put_begin(2102, "open", "");
    end_buffer(buffer);
    import_expect(save(), "1000+50 zone " ON_5 " site=outer\n"
                          "1001+1 zone on process 2/thread 5 site=other\n"
                          "1005+11 zone " ON_5 " site=inner\n"
                          "1005+0 zone_arg " ON_5
                          " site=inner name=args type=3 \"n=1\"\n"
                          "1051+0 zone_open " ON_5 " site=open\n");
}

UNIT_TEST(of_zones_of_the_same_time_the_outer_one_stays_outside)
{
    put_header(3, 1);
    const size_t buffer = begin_buffer(1, 5);
    for (const char *name = "abcd"; *name; name += 2) {
        const char outer[] = { name[0], 0 }, inner[] = { name[1], 0 };
        put_begin(1000, outer, "");
        put_begin(1000, inner, "");
        put_end(1000);
        put_end(1000);
    }
    end_buffer(buffer);
    import_expect(save(), "1000+0 zone on process 1/thread 5 site=a\n"
                          "1000+0 zone on process 1/thread 5 site=b\n"
                          "1000+0 zone on process 1/thread 5 site=c\n"
                          "1000+0 zone on process 1/thread 5 site=d\n");
}

UNIT_TEST(ticks_of_a_long_uptime_keep_their_ns)
{
    put_header(3, 1);
    const size_t buffer = begin_buffer(1, 5);
    put_begin(9007199254740993, "a", ""); // 2^53 + 1 is no double
    put_end(9007199254740996);
    end_buffer(buffer);
    import_expect(save(),
                  "9007199254740993+3 zone on process 1/thread 5 site=a\n");
}

UNIT_TEST(times_of_version_1_are_microseconds_of_the_unit)
{
    put_header(1, 0.001);
    put_old_begin(1, 5, 3000000000000001, "a");
    put_old_begin(1, 6, 3000000000000002, "b");
    put_old_end(1, 5, 3000000000000008);
    put_old_end(1, 6, 3000000000000009);
    import_expect(save(),
                  "3000000000000001+7 zone on process 1/thread 5 site=a\n"
                  "3000000000000002+7 zone on process 1/thread 6 site=b\n");
}

UNIT_TEST(rows_that_cannot_be_are_counted)
{
    put_header(3, 1);
    size_t buffer = begin_buffer(1, 5);
    put_end(900);
    put_begin(1000, "back", "");
    put_end(999);
    put_begin(UINT64_MAX, "never", "");
    put(6, 1); // of spall.h, without a size
    put(1, 8);
    end_buffer(buffer);
    buffer = begin_buffer(1, 5);
    put_begin(1000, "a", "");
    put_end(1001);
    put(3, 1); // ends with the buffer
    end_buffer(buffer);
    import_expect(save(), "1000+1 zone on process 1/thread 5 site=a\n"
                          "bad end_without_begin 1\n"
                          "bad reversed_time 1\n"
                          "bad bad_time 1\n"
                          "bad broken_buffer 2\n");
}

UNIT_TEST(an_end_of_a_zone_without_a_time_ends_no_other_one)
{
    put_header(1, 1);
    put_old_begin(1, 5, 1, "outer");
    put_old_begin(1, 5, NAN, "bad begin");
    put_old_begin(1, 5, 2, "inner");
    put_old_end(1, 5, 3);
    put_old_end(1, 5, 5);
    put_old_begin(1, 5, 6, "bad end");
    put_old_end(1, 5, NAN);
    put_old_end(1, 5, 10);
    import_expect(save(), "1000+9000 zone on process 1/thread 5 site=outer\n"
                          "2000+1000 zone on process 1/thread 5 site=inner\n"
                          "bad bad_time 2\n");
}

UNIT_TEST(an_end_of_a_zone_that_is_too_deep_ends_no_other_one)
{
    enum { DEEPEST = 4096, BEYOND = 2 };
    put_header(3, 1);
    const size_t buffer = begin_buffer(1, 5);
    for (uint64_t i = 0; i < DEEPEST + BEYOND; i++)
        put_begin(i, i ? "" : "main", "");
    for (uint64_t i = DEEPEST + BEYOND; i-- > 0;)
        put_end(10000 - i);
    end_buffer(buffer);
    imported i = import_into(save(), fixture_path(1, "o"));
    assert_int_equal(DEEPEST, i.job->events[TS_EVENT_ZONE]);
    assert_int_equal(BEYOND, import_tallied(&i.job->bad, "too_much_begun"));
    assert_int_equal(BEYOND, i.job->bad.total);
    char *const text = import_dump(&i);
    static const char main[] = "0+10000 zone on process 1/thread 5 site=main\n";
    assert_memory_equal(main, text, sizeof main - 1);
    free(text);
    import_done(&i);
}

UNIT_TEST(version_1_is_read_up_to_an_event_of_unknown_size)
{
    put_header(1, 1);
    put_old_begin(1, 5, 1, "a");
    put_old_end(1, 5, 2);
    put(1, 1);
    put_old_begin(1, 5, 3, "b");
    imported i = import_into(save(), fixture_path(1, "o"));
    assert_int_equal(1, i.job->events[TS_EVENT_ZONE]);
    assert_int_equal(1, import_tallied(&i.job->bad, "unknown_event"));
    assert_true(i.job->is_cut);
    import_done(&i);
}

UNIT_TEST(every_truncation_gives_what_is_before)
{
    for (uint64_t version = 1; version <= 3; version += 2) {
        put_header(version, 1);
        const size_t buffer = version == 3 ? begin_buffer(1, 5) : 0;
        for (uint64_t i = 1; i < 9; i++) {
            if (version == 1) put_old_begin(1, 5, 2. * (double)i, "a");
            if (version == 1) put_old_end(1, 5, 2. * (double)i + 1);
            if (version == 3) put_begin(2 * i, "a", "text");
            if (version == 3) put_end(2 * i + 1);
        }
        if (buffer) end_buffer(buffer);
        const size_t whole = size, event = version == 3 ? 25 : 38;
        for (size = version == 3 ? 53 : 33; size < whole; size++) {
            imported i = import_into(save(), fixture_path(1, "o"));
            const size_t zones = (size - (version == 3 ? 52 : 32)) / event;
            assert_int_equal(zones, i.job->events[TS_EVENT_ZONE]);
            assert_true(version == 1 || i.job->is_cut);
            import_done(&i);
        }
    }
}

static void expect_refused(const char *said)
{
    char *const text = import_refused(save());
    char wanted[600];
    snprintf(wanted, sizeof wanted, "test: %s: %s\n", fixture_path(0, "source"),
             said);
    assert_string_equal(wanted, text);
    free(text);
}

UNIT_TEST(what_cannot_be_read_is_said)
{
    put_header(2, 1);
    expect_refused("it is a spall trace of version 2, which is not supported; "
                   "versions 1 and 3 are");
    put_header(3, -1);
    expect_refused("its unit of time is no positive number");
    size = 20;
    expect_refused("the file ends in its header");
    put_header(1, 1);
    bytes[3] = 0xAB;
    expect_refused("it is a trace of spall's native version, which is not "
                   "supported; record with spall.h instead");
}

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}
