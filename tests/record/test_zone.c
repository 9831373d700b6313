// Zones: names, nesting, values, texts, places, pauses.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

static const ts_session_desc plain;

UNIT_TEST(zones_nest_as_their_blocks_do)
{
    const char *const path = rt_start("nest.sbt", plain);
    {
        TS_ZONE("a");
        {
            TS_ZONE("b");
            TS_ZONE("c");
        }
        TS_ZONE("d");
    }
    rt_trace trace = rt_end(path);
    assert_int_equal(trace.count, 4);
    const rt_row *const a = rt_only(&trace, TS_EVENT_ZONE, "a");
    const rt_row *const b = rt_only(&trace, TS_EVENT_ZONE, "b");
    const rt_row *const c = rt_only(&trace, TS_EVENT_ZONE, "c");
    const rt_row *const d = rt_only(&trace, TS_EVENT_ZONE, "d");
    rt_assert_inside(b, a);
    rt_assert_inside(c, b);
    rt_assert_inside(d, a);
    assert_true(d->start_ns >= b->start_ns + b->duration_ns);
    rt_close(&trace);
}

static ts_text site_text(const rt_trace *trace, uint32_t name)
{
    return ts_reader_name(trace->reader, name);
}

static const ts_site_entry *site_of(const rt_trace *trace, const rt_row *row)
{
    const ts_site_entry *const site =
        ts_reader_site(trace->reader, (uint32_t)row->values[TS_COLUMN_SITE]);
    assert_non_null(site);
    return site;
}

UNIT_TEST(a_zone_knows_its_place_category_and_colour)
{
    const char *const path = rt_start("place.sbt", plain);
    const int line = __LINE__ + 2;
    {
        TS_ZONE("painted", "rendering", 0xFF8000);
    }
    {
        TS_ZONE("sorted", "sorting");
    }
    {
        TS_ZONE("bare");
    }
    {
        TS_FUNCTION();
    }
    rt_trace trace = rt_end(path);
    const ts_site_entry *site =
        site_of(&trace, rt_only(&trace, TS_EVENT_ZONE, "painted"));
    assert_int_equal(site->color, 0xFF8000);
    assert_int_equal(site->line, line);
    rt_assert_text(site_text(&trace, site->category), "rendering");
    rt_assert_text(site_text(&trace, site->function), __func__);
    rt_assert_text(site_text(&trace, site->file), __FILE__);
    site = site_of(&trace, rt_only(&trace, TS_EVENT_ZONE, "sorted"));
    assert_int_equal(site->color, 0);
    rt_assert_text(site_text(&trace, site->category), "sorting");
    site = site_of(&trace, rt_only(&trace, TS_EVENT_ZONE, "bare"));
    assert_int_equal(site->category, 0);
    rt_only(&trace, TS_EVENT_ZONE, __func__);
    rt_close(&trace);
}

UNIT_TEST(names_made_at_run_time_are_kept)
{
    const char *const path = rt_start("named.sbt", plain);
    for (int i = 0; i < 300; i++) {
        char name[32];
        snprintf(name, sizeof name, "item %d", i % 100);
        TS_ZONE_NAME(name);
        memset(name, 'x', sizeof name - 1);
    }
    {
        TS_ZONE_NAME("");
        TS_ZONE_NAME("caf\xC3\xA9 \"quoted\" \\ \x01");
    }
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, NULL), 302);
    for (int i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "item %d", i);
        assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, name), 3);
    }
    rt_only(&trace, TS_EVENT_ZONE, "caf\xC3\xA9 \"quoted\" \\ \x01");
    const ts_site_entry *const site =
        site_of(&trace, rt_nth(&trace, TS_EVENT_ZONE, "item 7", 0));
    rt_assert_text(site_text(&trace, site->function), __func__);
    assert_true(trace.info->site_count < 150); // looked up, not made anew
    rt_close(&trace);
}

// A site is a name and a place: equal names in two places are two sites, also
// when each has been looked up before, and in a second session.
UNIT_TEST(equal_names_made_at_run_time_keep_their_places)
{
    for (int session = 0; session < 2; session++) {
        const char *const path = rt_start("places.sbt", plain);
        const uint64_t line = __LINE__ + 3; // of the first
        for (int i = 0; i < 6; i++) {
            if (i % 2 == 0) {
                TS_ZONE_NAME("equal");
            } else {
                TS_ZONE_NAME("equal");
            }
            rt_next_tick();
        }
        assert_int_equal(ts_session_stop(), TS_OK);
        rt_trace trace = rt_read(path);
        assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "equal"), 6);
        for (size_t i = 0; i < 6; i++) {
            const ts_site_entry *const site =
                site_of(&trace, rt_nth(&trace, TS_EVENT_ZONE, NULL, i));
            assert_int_equal(site->line, line + 2 * (i % 2));
        }
        rt_close(&trace);
    }
}

UNIT_TEST(long_names_are_kept_up_to_their_limit)
{
    static char name[70001];
    memset(name, 'n', sizeof name - 1);
    const char *const path = rt_start("long.sbt", plain);
    {
        TS_ZONE_NAME(name);
    }
    rt_trace trace = rt_end(path);
    const rt_row *const zone = rt_only(&trace, TS_EVENT_ZONE, NULL);
    const ts_text text = ts_reader_site_name(
        trace.reader, (uint32_t)zone->values[TS_COLUMN_SITE]);
    assert_int_equal(text.size, 65535);
    assert_memory_equal(text.text, name, text.size);
    rt_close(&trace);
}

static const rt_row *arg(const rt_trace *trace, const char *name)
{
    for (size_t i = 0; i < trace->count; i++) {
        const rt_row *const row = &trace->rows[i];
        if (row->kind != TS_EVENT_ZONE_ARG) continue;
        const ts_text text = ts_reader_name(
            trace->reader, (uint32_t)row->values[TS_COLUMN_NAME]);
        if (!strcmp(text.text, name)) return row;
    }
    fail_msg("no argument %s", name);
    return NULL;
}

static void assert_int_arg(const rt_trace *trace, const char *name,
                           int64_t value)
{
    const rt_row *const row = arg(trace, name);
    assert_int_equal(row->values[TS_COLUMN_TYPE], TS_VALUE_INT);
    if ((int64_t)row->values[TS_COLUMN_VALUE] != value)
        fail_msg("%s is %" PRId64, name, (int64_t)row->values[TS_COLUMN_VALUE]);
}

static void assert_double_arg(const rt_trace *trace, const char *name,
                              double value)
{
    const rt_row *const row = arg(trace, name);
    assert_int_equal(row->values[TS_COLUMN_TYPE], TS_VALUE_DOUBLE);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (row->values[TS_COLUMN_VALUE] != bits)
        fail_msg("%s is %g", name, rt_double(row->values[TS_COLUMN_VALUE]));
}

UNIT_TEST(zones_carry_numbers_of_every_type)
{
    const char *const path = rt_start("values.sbt", plain);
    {
        TS_ZONE("valued");
        TS_ZONE_VALUE("int", -7);
        TS_ZONE_VALUE("zero", 0);
        TS_ZONE_VALUE("unsigned", 4000000000u);
        TS_ZONE_VALUE("short", (short)-300);
        TS_ZONE_VALUE("char", (signed char)-3);
        TS_ZONE_VALUE("lowest", INT64_MIN);
        TS_ZONE_VALUE("highest", INT64_MAX);
        TS_ZONE_VALUE("size_t", (size_t)123456789012u);
        TS_ZONE_VALUE("huge", (size_t)1 << 63 | 1 << 30);
        TS_ZONE_VALUE("double", 2.5);
        TS_ZONE_VALUE("float", 0.5f);
        TS_ZONE_VALUE("minus", -0.0);
        TS_ZONE_VALUE("infinite", (double)INFINITY);
        TS_ZONE_VALUE("nan", (double)NAN);
    }
    rt_trace trace = rt_end(path);
    assert_int_arg(&trace, "int", -7);
    assert_int_arg(&trace, "zero", 0);
    assert_int_arg(&trace, "unsigned", 4000000000);
    assert_int_arg(&trace, "short", -300);
    assert_int_arg(&trace, "char", -3);
    assert_int_arg(&trace, "lowest", INT64_MIN);
    assert_int_arg(&trace, "highest", INT64_MAX);
    assert_int_arg(&trace, "size_t", 123456789012);
    assert_double_arg(&trace, "huge",
                      (double)((UINT64_C(1) << 63) + (1 << 30)));
    assert_double_arg(&trace, "double", 2.5);
    assert_double_arg(&trace, "float", 0.5);
    assert_double_arg(&trace, "minus", -0.0);
    assert_double_arg(&trace, "infinite", (double)INFINITY);
    const double nan = rt_double(arg(&trace, "nan")->values[TS_COLUMN_VALUE]);
    assert_true(nan != nan);
    // each belongs to its zone
    const rt_row *const zone = rt_only(&trace, TS_EVENT_ZONE, "valued");
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE_ARG, "valued"), 14);
    for (size_t i = 0; i < 14; i++) {
        const rt_row *const row =
            rt_nth(&trace, TS_EVENT_ZONE_ARG, "valued", i);
        assert_int_equal(row->start_tick, zone->start_tick);
        assert_int_equal(row->start_ns, zone->start_ns);
        assert_int_equal(row->track, zone->track);
    }
    rt_close(&trace);
}

UNIT_TEST(zones_carry_texts)
{
    static char big[9001];
    memset(big, 't', sizeof big - 1);
    const char *const path = rt_start("texts.sbt", plain);
    {
        TS_ZONE("empty");
        TS_ZONE_TEXT("");
    }
    {
        TS_ZONE("short");
        char text[] = "a text that changes later";
        TS_ZONE_TEXT(text);
        memset(text, 0, sizeof text);
    }
    {
        TS_ZONE("big");
        TS_ZONE_TEXT(big);
    }
    rt_trace trace = rt_end(path);
    const rt_row *row = rt_only(&trace, TS_EVENT_ZONE_ARG, "empty");
    assert_int_equal(row->text_size, 0);
    assert_int_equal(row->values[TS_COLUMN_TYPE], TS_VALUE_TEXT);
    row = rt_only(&trace, TS_EVENT_ZONE_ARG, "short");
    assert_string_equal(row->text, "a text that changes later");
    row = rt_only(&trace, TS_EVENT_ZONE_ARG, "big");
    assert_int_equal(row->text_size, 8000);
    assert_memory_equal(row->text, big, 8000);
    assert_int_equal(row->start_tick,
                     rt_only(&trace, TS_EVENT_ZONE, "big")->start_tick);
    rt_close(&trace);
}

UNIT_TEST(values_outside_a_zone_are_no_harm)
{
    const char *const path = rt_start("outside.sbt", plain);
    TS_ZONE_VALUE("stray", 1);
    TS_ZONE_TEXT("stray");
    TS_ZONE_VALUE("stray", 1.0);
    TS_ZONE_TEXT(NULL);
    {
        TS_ZONE("fine");
        TS_ZONE_TEXT(NULL);
    }
    rt_trace trace = rt_end(path);
    rt_only(&trace, TS_EVENT_ZONE, "fine");
    rt_close(&trace);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
