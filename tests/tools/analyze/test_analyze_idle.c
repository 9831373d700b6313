/*
    test_analyze_idle.c - idle time by cause, zone and call, computed by hand
*/
#include "tests/tools/analyze/time_fixture.h"
#include "tools/analyze/figures/time/idle.h"

/*
    One stream. The first kernel is launched at 0 and runs 10 to 20. The host
    is in zone `load` from 4 to 60, in `read` within it from 30 to 50, calls
    `open` from 40 to 46, and launches the second kernel at 70, which begins
    at 80. One gap: 20 to 80 (late).
*/
static void make_late(made *m)
{
    made_begin(m, 0);
    made_launch(m, S0, "a", 0, 10, 20);
    made_call(m, HOST, "open", 40, 46);
    made_zone(m, HOST, "read", 30, 50);
    made_zone(m, HOST, "load", 4, 60);
    made_launch(m, S0, "b", 70, 80, 90);
    made_open(m);
}

static int64_t sum_of(const sums *s, uint32_t group)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->rows[i].key == group) return s->rows[i].ns;
    return -1;
}

UNIT_TEST(gaps_are_in_order_of_length_with_what_the_host_was_in)
{
    made m;
    idle_result r;
    make_late(&m);
    assert_true(idle_open(&r, m.replay, m.timeline, &m.names));
    assert_int_equal(1, r.count);
    assert_int_equal(20, r.gaps[0].gap.start_ns);
    assert_int_equal(80, r.gaps[0].gap.end_ns);
    assert_int_equal(TS_IDLE_HOST_LATE, r.gaps[0].gap.cause);
    assert_int_equal(HOST, r.gaps[0].thread);
    // `load` covers 40 of 60, `read` only 20.
    assert_int_equal(made_group(&m, "load"), r.gaps[0].held.zone);
    assert_int_equal(40, r.gaps[0].held.zone_ns);
    assert_int_equal(TS_NODE_NONE, r.gaps[0].held.call);
    idle_close(&r);
    REPORT(m.path, "idle");
    made_close(&m);
}

UNIT_TEST(idle_time_is_divided_among_zones_and_among_calls)
{
    made m;
    idle_result r;
    make_late(&m);
    assert_true(idle_open(&r, m.replay, m.timeline, &m.names));
    assert_int_equal(60, r.host_ns);
    // Innermost: `load` 20-30 and 50-60, `read` 30-50.
    assert_int_equal(20, sum_of(&r.zones, made_group(&m, "load")));
    assert_int_equal(20, sum_of(&r.zones, made_group(&m, "read")));
    assert_int_equal(20, sum_of(&r.zones, TS_NODE_NONE));
    // `launch` 70-72.
    assert_int_equal(6, sum_of(&r.calls, made_group(&m, "open")));
    assert_int_equal(2, sum_of(&r.calls, made_group(&m, "launch")));
    assert_int_equal(52, sum_of(&r.calls, TS_NODE_NONE));
    assert_int_equal(0, ts_timeline_total(m.timeline)->dispatch_ns);
    assert_int_equal(60, idle_late(ts_timeline_total(m.timeline)));
    assert_int_equal(60, ts_timeline_total(m.timeline)->idle_ns);
    idle_close(&r);
    REPORT(m.path, "idle");
    made_close(&m);
}

UNIT_TEST(gaps_are_distinguished_by_cause)
{
    made m;
    idle_result r;
    make_late(&m);
    assert_true(idle_open(&r, m.replay, m.timeline, &m.names));
    assert_int_equal(1, r.ends.count);
    assert_int_equal(60, r.ends.rows[0].ns);
    assert_int_equal(made_group(&m, "b") * TS_IDLE_LIMIT + TS_IDLE_HOST_LATE,
                     r.ends.rows[0].key);
    assert_int_equal(1, r.lengths[0]);
    assert_int_equal(60, r.lengths_ns[0]);
    idle_close(&r);
    REPORT(m.path, "idle");
    made_close(&m);
}

UNIT_TEST(a_gap_of_seconds_has_a_length_of_its_own)
{
    made m;
    made_begin(&m, 0);
    made_launch(&m, S0, "a", 0, 10, 20);
    made_launch(&m, S0, "b", INT64_C(12000000000), INT64_C(12000000010),
                INT64_C(12000000020));
    made_open(&m);
    REPORT(m.path, "idle");
    made_close(&m);
}

/* ---- Spans --------------------------------------------------------------- */

typedef struct parts {
    char text[256];
    size_t size;
} parts;

static void add_part(void *user, const inside_span *span, int64_t from,
                     int64_t to, const inside_frame *frames, uint32_t depth)
{
    parts *const t = user;
    t->size += (size_t)snprintf(t->text + t->size, sizeof t->text - t->size,
                                "%zu:%d-%d@%u ", span->index, (int)from,
                                (int)to, depth);
}

UNIT_TEST(parts_of_spans_that_overlap_add_up_each)
{
    made m;
    parts t = { "", 0 };
    make_late(&m);
    inside_span spans[] = {
        { 0, HOST, 25, 45, 0, 0 }, // none, read, open
        { 0, HOST, 20, 35, 1, 0 },
        { 0, OTHER, 0, 9, 2, 0 },      // a thread without events
        { 0, HOST, 55, 55, 3, 0 },     // of no length
        { 0, OTHER, 26, 32, 4, HOST }, // another thread knows more
    };
    assert_true(inside_parts(m.replay, spans, 5, add_part, &t));
    assert_string_equal("1:20-30@1 0:25-30@1 1:30-35@2 0:30-40@2 0:40-45@3 "
                        "2:0-9@0 4:26-30@1 4:30-32@2 ",
                        t.text);
    REPORT(m.path, "idle");
    made_close(&m);
}

// Zones of an import may overlap without nesting.
UNIT_TEST(zones_that_do_not_nest_end_when_what_lies_on_them_has)
{
    made m;
    parts t = { "", 0 };
    made_begin(&m, 0);
    made_launch(&m, S0, "a", 0, 10, 20);
    made_zone(&m, HOST, "x", 10, 30);
    made_call(&m, HOST, "y", 20, 40);
    made_open(&m);
    inside_span span = { 0, HOST, 5, 50, 0, 0 };
    assert_true(inside_parts(m.replay, &span, 1, add_part, &t));
    assert_string_equal("0:5-10@0 0:10-20@1 0:20-40@2 0:40-50@0 ", t.text);
    REPORT(m.path, "idle");
    made_close(&m);
}

/* ---- Sums ---------------------------------------------------------------- */

UNIT_TEST(sums_are_sorted_and_quantiles_are_members)
{
    sums s = { 0 };
    for (uint64_t i = 0; i < 1000; i++)
        assert_true(sums_add(&s, i % 100, (int64_t)(i % 100), i));
    sums_sort(&s);
    assert_int_equal(100, s.count);
    assert_int_equal(99, s.rows[0].key);
    assert_int_equal(990, s.rows[0].ns);
    assert_int_equal(10, s.rows[0].count);
    assert_int_equal(99, s.rows[0].most); // the first of equals
    sums_close(&s);
    int64_t values[] = { 9, 1, 5, 3 }, room[4];
    cli_sort_numbers(values, 4);
    assert_int_equal(1, sums_quantile(values, 4, 0));
    assert_int_equal(3, sums_quantile(values, 4, 500));
    assert_int_equal(9, sums_quantile(values, 4, 1000));
    assert_int_equal(0, sums_quantile(values, 0, 500));
    // Distances from 3: 2, 0, 2, 6.
    assert_int_equal(2, sums_deviation(values, 4, 3, room));
}

int main(void)
{
    return unit_run(NULL, NULL);
}
