/*
    test_scene_flows.c - arrows between boxes of a trace made by hand
*/
#include "tests/tools/studio/scene_fixture.h"
#include "tools/studio/scene/parts.h"

typedef scene_flows arrows;

static arrows ask(staged *t, const scene_flow_desc *desc)
{
    arrows a;
    assert_int_equal(TS_OK, scene_flows_find(t->s, desc, &a));
    return a;
}

static arrows of_event(staged *t, uint32_t row, int64_t time_ns)
{
    scene_item item;
    assert_true(scene_pick(t->s, row, time_ns, 0, &item));
    const scene_flow_desc desc = { .of = SCENE_FLOWS_EVENT, .ref = item.ref };
    assert_int_equal(TS_OK, scene_graph(t->s));
    return ask(t, &desc);
}

static const scene_flow *arrow_of(const arrows *a, ts_edge_kind edge)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->items[i].edge == edge) return &a->items[i];
    fail_msg("no arrow of edge %s among %zu", ts_edge_name(edge), a->count);
    return NULL;
}

UNIT_TEST(a_kernel_has_arrows_from_its_launch_and_from_the_one_before)
{
    staged t = staged_late();
    const uint32_t work = staged_row(&t, SCENE_WORK, S0, 0);
    const uint32_t calls = staged_row(&t, SCENE_CALLS, HOST, 0);
    const arrows a = of_event(&t, work, 85);
    assert_int_equal(2, a.count);
    assert_int_equal(2, a.total);
    const scene_flow *const launch = arrow_of(&a, TS_EDGE_LAUNCH);
    assert_int_equal(calls, launch->from.row);
    assert_int_equal(70, launch->from.ns);
    assert_string_equal("launch", staged_label(&t, launch->from.label));
    assert_int_equal(work, launch->to.row);
    assert_int_equal(80, launch->to.ns);
    assert_true(launch->last); // kernel a ended at 20 already
    const scene_flow *const order = arrow_of(&a, TS_EDGE_STREAM_ORDER);
    assert_int_equal(20, order->from.ns);
    assert_string_equal("a", staged_label(&t, order->from.label));
    assert_false(order->last);
    assert_false(order->inferred);
    free(a.items);
    staged_close(&t);
}

UNIT_TEST(a_call_has_an_arrow_to_what_it_launched)
{
    staged t = staged_late();
    const arrows a = of_event(&t, staged_row(&t, SCENE_CALLS, HOST, 0), 71);
    const scene_flow *const launch = arrow_of(&a, TS_EDGE_LAUNCH);
    assert_string_equal("b", staged_label(&t, launch->to.label));
    free(a.items);
    staged_close(&t);
}

UNIT_TEST(an_area_has_the_arrows_that_lead_into_it)
{
    staged t = staged_late();
    const uint32_t row = staged_row(&t, SCENE_WORK, S0, 0);
    scene_flow_desc desc = { .of = SCENE_FLOWS_AREA,
                             .from_ns = 0,
                             .to_ns = 50,
                             .pixels = 100,
                             .rows = &row,
                             .row_count = 1 };
    const arrows early = ask(&t, &desc); // of kernel a alone
    assert_int_equal(1, early.count);
    assert_int_equal(10, early.items[0].to.ns);
    free(early.items);
    desc.to_ns = 100;
    const arrows all = ask(&t, &desc);
    assert_int_equal(3, all.count);
    free(all.items);
    desc.from_ns = desc.to_ns;
    arrows none;
    assert_int_equal(TS_ERR_USAGE, scene_flows_find(t.s, &desc, &none));
    staged_close(&t);
}

// Of more arrows than pixels some are left out, and all are counted.
UNIT_TEST(a_pixel_has_few_arrows)
{
    enum { KERNELS = 50 };
    staged t;
    made_begin(&t.m, 0);
    for (int i = 0; i < KERNELS; i++)
        made_launch(&t.m, S0, "k", 10 * i, 1000 + 10 * i, 1005 + 10 * i);
    staged_open(&t);
    assert_true(scene_load(t.s, 0, 2000));
    const uint32_t row = staged_row(&t, SCENE_WORK, S0, 0);
    const scene_flow_desc desc = { .of = SCENE_FLOWS_AREA,
                                   .to_ns = 2000,
                                   .pixels = 2,
                                   .rows = &row,
                                   .row_count = 1 };
    const arrows a = ask(&t, &desc);
    assert_int_equal(SCENE_PIXEL_FLOWS, a.count); // all end in one half
    assert_int_equal(2 * KERNELS - 1, a.total);
    assert_false(a.more);
    free(a.items);
    t.s->limits.flows = KERNELS; // counting ends there, and it says so
    const arrows few = ask(&t, &desc);
    assert_int_equal(KERNELS, few.total);
    assert_true(few.more);
    free(few.items);
    staged_close(&t);
}

UNIT_TEST(the_critical_path_is_arrows_from_box_to_box)
{
    staged t = staged_late();
    const scene_flow_desc desc = {
        .of = SCENE_FLOWS_PATH, .from_ns = 0, .to_ns = 100, .pixels = 100
    };
    const arrows a = ask(&t, &desc);
    assert_true(a.count > 0);
    const scene_flow *const last = &a.items[a.count - 1];
    assert_string_equal("launch", staged_label(&t, last->from.label));
    assert_string_equal("b", staged_label(&t, last->to.label));
    assert_int_equal(80, last->to.ns);
    for (size_t i = 1; i < a.count; i++)
        assert_true(a.items[i].to.ns >= a.items[i - 1].to.ns);
    free(a.items);
    staged_close(&t);
}

// A device synchronisation waits for both streams through a join, which has no
// box: two arrows lead to it.
UNIT_TEST(an_arrow_goes_through_a_join)
{
    staged t;
    made_begin(&t.m, 0);
    made_launch(&t.m, S0, "a", 0, 10, 20);
    made_launch(&t.m, S1, "b", 4, 12, 30);
    made_call(&t.m, HOST, "sync", 8, 40);
    made_operation(&t.m, TS_EVENT_DEVICE_SYNC, D0, 8, 38, NULL, 0);
    made_launch(&t.m, S0, "c", 50, 60, 70);
    staged_open(&t);
    const arrows a = of_event(&t, staged_row(&t, SCENE_CALLS, HOST, 0), 9);
    size_t waits = 0;
    for (size_t i = 0; i < a.count; i++)
        waits += a.items[i].edge == TS_EDGE_SYNC;
    assert_true(waits >= 1);
    free(a.items);
    staged_close(&t);
}

UNIT_TEST(what_has_no_operation_has_no_arrow)
{
    staged t = staged_late();
    const arrows a = of_event(&t, staged_row(&t, SCENE_ZONES, HOST, 0), 5);
    assert_int_equal(0, a.count);
    staged_close(&t);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
