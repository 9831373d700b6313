// Zones that end late, twice, in another order, or not at all.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

static const ts_session_desc plain;

UNIT_TEST(a_zone_ends_once)
{
    const char *const path = rt_start("once.sbt", plain);
    TS_ZONE_BEGIN(one, "by hand", "manual", 0x00FF00);
    TS_ZONE_END(one);
    TS_ZONE_END(one);
    TS_ZONE_END(one);
    rt_trace trace = rt_end(path);
    const rt_row *const row = rt_only(&trace, TS_EVENT_ZONE, "by hand");
    const ts_site_entry *const site =
        ts_reader_site(trace.reader, (uint32_t)row->values[TS_COLUMN_SITE]);
    assert_int_equal(site->color, 0x00FF00);
    assert_int_equal(trace.count, 1);
    rt_close(&trace);
}

UNIT_TEST(zones_that_overlap_without_nesting_are_kept)
{
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
    rt_trace trace = rt_end(path);
    assert_int_equal(trace.count, 4);
    const rt_row *const a = rt_only(&trace, TS_EVENT_ZONE, "first");
    const rt_row *const b = rt_only(&trace, TS_EVENT_ZONE, "second");
    const rt_row *const c = rt_only(&trace, TS_EVENT_ZONE, "third");
    assert_true(b->start_ns >= a->start_ns);
    assert_true(b->start_ns + b->duration_ns >= a->start_ns + a->duration_ns);
    assert_true(c->start_ns >= a->start_ns + a->duration_ns);
    rt_close(&trace);
}

UNIT_TEST(a_zone_open_at_the_stop_is_marked_open)
{
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

    rt_trace trace = rt_end(path);
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

UNIT_TEST(zones_across_a_pause_are_kept)
{
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
    rt_trace trace = rt_end(path);
    const rt_row *const whole = rt_only(&trace, TS_EVENT_ZONE, "over");
    rt_assert_inside(rt_only(&trace, TS_EVENT_ZONE, "into"), whole);
    rt_assert_inside(rt_only(&trace, TS_EVENT_ZONE, "later"), whole);
    assert_int_equal(trace.count, 3);
    assert_int_equal(trace.info->lost, 0);
    rt_close(&trace);
}

// The ring is full when the session pauses: the end must be counted.
UNIT_TEST(zones_that_end_in_a_pause_on_a_full_ring_are_counted)
{
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
    rt_trace trace = rt_end(path);
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

UNIT_TEST(two_hundred_levels_are_kept_with_their_values)
{
    const char *const path = rt_start("deep.sbt", plain);
    deep(200);
    rt_trace trace = rt_end(path);
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
    return unit_run(NULL, NULL);
}
