// Parts of ts-view: maps, percentiles, names, lines.
#define _GNU_SOURCE // mkstemp
#include "tools/view/samples.h"
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "tests/unit.h"
#include <unistd.h>

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13; // xorshift64
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

UNIT_TEST(a_map_keeps_what_was_put_in)
{
    cli_map map = { 0 };
    assert_int_equal(CLI_NONE, cli_map_row(&map, 0));
    for (uint32_t i = 0; i < 5000; i++)
        view_map_set(&map, (uint64_t)i << 32, i);
    for (uint32_t i = 0; i < 5000; i += 2)
        cli_map_remove(&map, (uint64_t)i << 32);
    cli_map_remove(&map, 12345);
    for (uint32_t i = 0; i < 5000; i++)
        assert_int_equal(i % 2 ? i : CLI_NONE,
                         cli_map_row(&map, (uint64_t)i << 32));
    assert_int_equal(2500, map.count);
    view_map_set(&map, 0, 7);
    view_map_set(&map, 0, 8);
    assert_int_equal(8, cli_map_row(&map, 0));
    assert_int_equal(2501, map.count);
    cli_map_close(&map);
}

UNIT_TEST(a_copy_of_a_map_is_its_own)
{
    cli_map map = { 0 }, copy = { 0 };
    assert_true(cli_map_copy(&copy, &map));
    assert_int_equal(CLI_NONE, cli_map_row(&copy, 3));
    view_map_set(&map, 3, 30);
    view_map_set(&map, CLI_NO_KEY, 40);
    assert_true(cli_map_copy(&copy, &map));
    cli_map_remove(&map, 3);
    assert_int_equal(30, cli_map_row(&copy, 3));
    assert_int_equal(40, cli_map_row(&copy, CLI_NO_KEY));
    cli_map_close(&map);
    cli_map_close(&copy);
    cli_index index = { 0 }, other = { 0 };
    size_t at = 0;
    assert_true(cli_index_add(&index, 17, 5) && cli_index_copy(&other, &index));
    cli_index_clear(&index);
    assert_int_equal(5, cli_index_next(&other, 17, &at));
    assert_int_equal(CLI_NONE, cli_index_next(&other, 17, &at));
    cli_index_close(&index);
    cli_index_close(&other);
}

static int by_value(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

enum { COUNT = 1237 };

// Values of several sizes, many of them equal, in several orders.
static void fill(int64_t *values, uint64_t seed)
{
    for (size_t i = 0; i < COUNT; i++) {
        const uint64_t r = next_random(&seed);
        values[i] = (int64_t)(r >> (r % 61 + 2)) / (seed % 3 ? 1 : 1000);
    }
    if (seed % 4 == 0) qsort(values, COUNT, sizeof *values, by_value);
}

UNIT_TEST(percentiles_are_those_of_a_sorted_list)
{
    for (uint64_t seed = 1; seed < 40; seed++) {
        int64_t values[COUNT];
        view_samples samples = { 0 };
        fill(values, seed);
        for (size_t i = 0; i < COUNT; i++)
            view_samples_add(&samples, values[i]);
        qsort(values, COUNT, sizeof *values, by_value);
        for (uint32_t percent = 1; percent <= 100; percent++) {
            const size_t rank = (COUNT * (size_t)percent + 99) / 100 - 1;
            assert_int_equal(values[rank],
                             view_samples_percentile(&samples, percent));
        }
        view_samples_free(&samples);
    }
}

UNIT_TEST(rounded_percentiles_are_close)
{
    for (uint64_t seed = 1; seed < 20; seed++) {
        int64_t values[COUNT];
        view_samples samples = { 0 };
        fill(values, seed);
        for (size_t i = 0; i < COUNT; i++) {
            if (i == COUNT / 2) view_samples_round(&samples);
            view_samples_add(&samples, values[i]);
        }
        qsort(values, COUNT, sizeof *values, by_value);
        for (uint32_t percent = 1; percent <= 100; percent++) {
            const size_t rank = (COUNT * (size_t)percent + 99) / 100 - 1;
            const double truth = (double)values[rank];
            const double got =
                (double)view_samples_percentile(&samples, percent);
            assert_true(got >= truth * 0.996 && got <= truth * 1.004);
        }
        view_samples_free(&samples);
    }
}

UNIT_TEST(percentiles_of_nothing_and_of_one)
{
    view_samples samples = { 0 };
    assert_int_equal(0, view_samples_percentile(&samples, 50));
    view_samples_add(&samples, 42);
    assert_int_equal(42, view_samples_percentile(&samples, 1));
    assert_int_equal(42, view_samples_percentile(&samples, 99));
    view_samples_free(&samples);
}

static void check_short(const char *name, uint32_t columns, const char *wanted)
{
    char buffer[256];
    const ts_text text =
        view_shorten((ts_text){ name, strlen(name) }, columns, buffer);
    assert_int_equal(strlen(wanted), text.size);
    assert_memory_equal(wanted, text.text, text.size);
}

UNIT_TEST(a_long_name_loses_what_tells_least)
{
    static const char name[] = "void app::math::matmul<float, 4>(float const*)";
    check_short(name, 80, name);
    check_short(name, 32, "void app::math::matmul<float, 4>");
    check_short(name, 22, "void app::math::matmul");
    check_short(name, 20, "app::math::matmul");
    check_short(name, 12, "math::matmul");
    check_short(name, 6, "matmul");
    check_short(name, 3, "matmul");
    check_short("load the level", 5, "load the level");
    check_short("(anonymous)", 5, "(anonymous)");
    check_short("<a<b>", 3, "<a");
    check_short("a::", 1, "a::");
}

static void check_line(bool unicode, const char *text, uint32_t end,
                       const char *wanted)
{
    view_glyph glyphs[12];
    view_line line = { .width = 12, .unicode = unicode, .glyphs = glyphs };
    char *printed = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&printed, &size);
    assert_non_null(out);
    view_line_clear(&line);
    view_put_string(&line, 1, end, text, (view_style){ .fg = 3 });
    view_line_print(&line, out, false);
    fclose(out);
    assert_string_equal(wanted, printed);
    free(printed);
}

UNIT_TEST(a_line_cuts_and_never_steers_the_terminal)
{
    check_line(true, "name", 12, " name\n");
    check_line(true, "a long name", 8, " a long\u2026\n");
    check_line(false, "a long name", 8, " a long~\n");
    check_line(true, "a\x1b[31m\x07\xff", 12, " a\uFFFD[31m\uFFFD\uFFFD\n");
    check_line(false, "a\x1b\u00e9", 12, " a??\n");
    check_line(true, "\u6f22\u5b57\u6f22", 6, " \u6f22\u5b57\u2026\n");
    check_line(true, "\u6f22\u5b57", 4, " \u6f22\u2026\n");
    check_line(true, "e\u0301x", 12, " ex\n");
    check_line(true, "anything", 1, "\n");
}

#define NAMED(text) \
    { \
        text, sizeof(text) - 1 \
    }
#define A_LONG_NAME "a thread with a name that leaves no room for more."

UNIT_TEST(threads_of_one_name_are_distinguished_by_number)
{
    enum { PROCESS = 1, OTHER };
    ts_track tracks[] = {
        { .type = TS_TRACK_THREAD,
          .parent = PROCESS,
          .number = 11,
          .name = NAMED("worker") },
        { .type = TS_TRACK_THREAD,
          .parent = PROCESS,
          .number = 12,
          .name = NAMED("main") },
        { .type = TS_TRACK_THREAD,
          .parent = PROCESS,
          .number = 13,
          .name = NAMED("worker") },
        { .type = TS_TRACK_THREAD,
          .parent = OTHER,
          .number = 14,
          .name = NAMED("worker") },
        { .type = TS_TRACK_STREAM,
          .parent = PROCESS,
          .number = 15,
          .name = NAMED("worker") },
        { .type = TS_TRACK_THREAD, .parent = PROCESS, .number = 16 },
        { .type = TS_TRACK_THREAD, .parent = PROCESS, .number = 17 },
        { .type = TS_TRACK_THREAD,
          .parent = PROCESS,
          .number = 18,
          .name = NAMED(A_LONG_NAME) },
        { .type = TS_TRACK_THREAD,
          .parent = PROCESS,
          .number = 19,
          .name = NAMED(A_LONG_NAME) },
    };
    static const char *const names[] = {
        "worker (11)", "main",      "worker (13)", "worker",   "worker",
        "thread 16",   "thread 17", A_LONG_NAME,   A_LONG_NAME
    };
    view v = { .tracks = tracks, .track_count = 9 };
    view_twins_find(&v);
    for (size_t i = 0; i < v.track_count; i++) {
        cli_text made;
        const ts_text name = view_track_name(&v, &tracks[i], &made);
        assert_int_equal(strlen(names[i]), name.size);
        assert_memory_equal(names[i], name.text, name.size);
    }
    free(v.track_twin);
}

UNIT_TEST(short_times_have_seven_columns)
{
    assert_string_equal("999 ns", cli_short_time(999).s);
    assert_string_equal("1.00 us", cli_short_time(1000).s);
    assert_string_equal("99.9 us", cli_short_time(99940).s);
    assert_string_equal("100 us", cli_short_time(99960).s);
    assert_string_equal("1.00 ms", cli_short_time(999600).s);
    assert_string_equal("12.3 s", cli_short_time(12345678901).s);
    for (int64_t ns = 1; ns < INT64_MAX / 7; ns = ns * 7 + 3)
        assert_true(strlen(cli_short_time(ns).s) <= 7);
}

static void put_line(const view_value *value, void *user)
{
    char *const text = user;
    const size_t size = strlen(text);
    if (value->type == VIEW_TEXT)
        snprintf(text + size, 200 - size, "%s=%.*s ", value->name,
                 (int)value->text.size, value->text.text);
    else
        snprintf(text + size, 200 - size, "%s=%" PRIu64 " ", value->name,
                 value->number);
}

// As a trace is whose dictionaries were damaged or cut off.
UNIT_TEST(names_and_tracks_that_are_missing_are_numbers)
{
    char path[] = "/tmp/ts_view_XXXXXX", text[200] = "";
    const ts_writer_desc desc = { .path = path };
    const ts_track_entry device = { .type = TS_TRACK_DEVICE, .number = 3 };
    close(mkstemp(path));
    ts_writer *w;
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    ts_writer_track(w, 1, &device);
    const uint32_t heap = ts_writer_name(w, "heap", 4);
    const ts_writer_value to[] = { { TS_COLUMN_PEER, 1 } },
                          away[] = { { TS_COLUMN_PEER, 77 } },
                          known[] = { { TS_COLUMN_POOL, heap } },
                          lost[] = { { TS_COLUMN_POOL, 99 } };
    ts_writer_event(w, TS_EVENT_MEMCPY, 1, 10, 1, to, 1);
    ts_writer_event(w, TS_EVENT_MEMCPY, 1, 20, 1, away, 1);
    ts_writer_event(w, TS_EVENT_ALLOC, 1, 30, 0, known, 1);
    ts_writer_event(w, TS_EVENT_ALLOC, 1, 40, 0, lost, 1);
    assert_int_equal(TS_OK, ts_writer_close(w));
    view v = { 0 };
    const ts_reader_desc from = { .path = path };
    ts_cursor *cursor;
    ts_event event;
    assert_int_equal(TS_OK, ts_reader_open(&v.trace.reader, &from));
    assert_int_equal(TS_OK, ts_cursor_open(&cursor, v.trace.reader, NULL));
    while (ts_cursor_next(cursor, &event))
        view_values(&v, &event, put_line, text);
    assert_string_equal("peer=device 3 peer=77 pool=heap pool=99 ", text);
    ts_cursor_close(cursor);
    ts_reader_close(v.trace.reader);
    unlink(path);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
