// Zones that end late, twice, in another order, or not at all.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

static const ts_session_desc plain;

static void assert_inside(const rt_row *inner, const rt_row *outer)
{
    assert_int_equal(inner->track, outer->track);
    assert_true(inner->start_ns >= outer->start_ns);
    assert_true(inner->start_ns + inner->duration_ns <=
                outer->start_ns + outer->duration_ns);
}

static void a_zone_ends_once(void **state)
{
    (void)state;
    const char *const path = rt_start("once.sbt", plain);
    TS_ZONE_BEGIN(one, "by hand", "manual", 0x00FF00);
    TS_ZONE_END(one);
    TS_ZONE_END(one);
    TS_ZONE_END(one);
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_trace trace = rt_read(path);
    const rt_row *const row = rt_only(&trace, TS_EVENT_ZONE, "by hand");
    const ts_site_entry *const site =
        ts_reader_site(trace.reader, (uint32_t)row->values[TS_COLUMN_SITE]);
    assert_int_equal(site->color, 0x00FF00);
    assert_int_equal(trace.count, 1);
    rt_close(&trace);
}

static void zones_that_overlap_without_nesting_are_kept(void **state)
{
    (void)state;
    const char *const path = rt_start("cross.sbt", plain);
    TS_ZONE_BEGIN(first, "first");
    TS_ZONE_BEGIN(second, "second");
    TS_ZONE_END(first);
    TS_ZONE_BEGIN(third, "third");
    TS_ZONE_END(second);
    TS_ZONE_END(third);
    {
        TS_ZONE("after");
    }
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_trace trace = rt_read(path);
    assert_int_equal(trace.count, 4);
    const rt_row *const a = rt_only(&trace, TS_EVENT_ZONE, "first");
    const rt_row *const b = rt_only(&trace, TS_EVENT_ZONE, "second");
    const rt_row *const c = rt_only(&trace, TS_EVENT_ZONE, "third");
    assert_true(b->start_ns >= a->start_ns);
    assert_true(b->start_ns + b->duration_ns >= a->start_ns + a->duration_ns);
    assert_true(c->start_ns >= a->start_ns + a->duration_ns);
    rt_close(&trace);
}

static void a_zone_open_at_the_stop_is_marked_open(void **state)
{
    (void)state;
    const char *const path = rt_start("open.sbt", plain);
    TS_ZONE_BEGIN(outer, "outer");
    TS_ZONE_BEGIN(inner, "inner");
    {
        TS_ZONE("closed");
    }
    assert_int_equal(ts_session_stop(), TS_OK);
    const char *const next = rt_start("next.sbt", plain);
    TS_ZONE_END(inner); // from the session before
    TS_ZONE_END(outer);
    {
        TS_ZONE("fresh");
    }
    assert_int_equal(ts_session_stop(), TS_OK);

    rt_trace trace = rt_read(path);
    const rt_row *const out = rt_only(&trace, TS_EVENT_ZONE_OPEN, "outer");
    const rt_row *const in = rt_only(&trace, TS_EVENT_ZONE_OPEN, "inner");
    assert_int_equal(out->values[TS_COLUMN_DEPTH], 0);
    assert_int_equal(in->values[TS_COLUMN_DEPTH], 1);
    assert_true(in->start_ns >= out->start_ns);
    rt_only(&trace, TS_EVENT_ZONE, "closed");
    assert_int_equal(trace.count, 3);
    rt_close(&trace);
    trace = rt_read(next);
    rt_only(&trace, TS_EVENT_ZONE, "fresh");
    assert_int_equal(trace.count, 1);
    assert_int_equal(rt_lost(&trace, TS_LOSS_STALE), 2);
    rt_close(&trace);
}

static void zones_across_a_pause_are_kept(void **state)
{
    (void)state;
    const char *const path = rt_start("pause.sbt", plain);
    TS_ZONE_BEGIN(over, "over");
    TS_ZONE_BEGIN(into, "into");
    ts_session_pause();
    TS_ZONE_END(into);
    TS_ZONE_BEGIN(within, "within");
    TS_ZONE_END(within);
    TS_ZONE_BEGIN(from, "from");
    ts_session_resume();
    TS_ZONE_END(from);
    {
        TS_ZONE("later");
    }
    TS_ZONE_END(over);
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_trace trace = rt_read(path);
    const rt_row *const whole = rt_only(&trace, TS_EVENT_ZONE, "over");
    assert_inside(rt_only(&trace, TS_EVENT_ZONE, "into"), whole);
    assert_inside(rt_only(&trace, TS_EVENT_ZONE, "later"), whole);
    assert_int_equal(trace.count, 3);
    assert_int_equal(trace.info->lost, 0);
    rt_close(&trace);
}

// The ring is full when the session pauses: the end must be counted.
static void zones_that_end_in_a_pause_on_a_full_ring_are_counted(void **state)
{
    (void)state;
    const ts_session_desc desc = { .policy = TS_POLICY_DROP,
                                   .drain = TS_DRAIN_MANUAL,
                                   .ring_bytes = 32768 };
    const char *const path = rt_start("full.sbt", desc);
    TS_ZONE_BEGIN(over, "over");
    for (int i = 0; i < 5000; i++) {
        TS_ZONE("filler");
    }
    ts_session_pause();
    TS_ZONE_END(over);
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_trace trace = rt_read(path);
    assert_true(trace.info->lost > 0);
    assert_int_equal(trace.count + trace.info->lost, 5001);
    rt_close(&trace);
}

static void deep(int left)
{
    TS_ZONE("deep");
    TS_ZONE_VALUE("down", left);
    rt_next_tick();
    if (left > 1) deep(left - 1);
    TS_ZONE_VALUE("up", left);
}

static void two_hundred_levels_are_kept_with_their_values(void **state)
{
    (void)state;
    const char *const path = rt_start("deep.sbt", plain);
    deep(200);
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_trace trace = rt_read(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "deep"), 200);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE_ARG, NULL), 400);
    size_t zone = 0;
    for (size_t i = 0; i < trace.count; i++) { // rows are by start
        const rt_row *const row = &trace.rows[i];
        if (row->kind == TS_EVENT_ZONE) {
            zone++;
            continue;
        }
        // both values of level n start with the n-th zone
        assert_int_equal(row->values[TS_COLUMN_VALUE], 200 - zone + 1);
    }
    rt_close(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_zone_ends_once),
        cmocka_unit_test(zones_that_overlap_without_nesting_are_kept),
        cmocka_unit_test(a_zone_open_at_the_stop_is_marked_open),
        cmocka_unit_test(zones_across_a_pause_are_kept),
        cmocka_unit_test(zones_that_end_in_a_pause_on_a_full_ring_are_counted),
        cmocka_unit_test(two_hundred_levels_are_kept_with_their_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
