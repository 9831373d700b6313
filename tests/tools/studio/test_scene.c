/*
    test_scene.c - rows, views, search, sums and reasons of a trace made by hand
*/
#include "tests/tools/studio/scene_fixture.h"
#include "tools/studio/scene/parts.h"

UNIT_TEST(nested_zones_lie_on_rows_by_depth)
{
    staged t = staged_late();
    canvas c;
    canvas_draw(t.s, &c, staged_row(&t, SCENE_ZONES, HOST, 0), 0, 100, 100);
    assert_int_equal(1, c.v.box_count);
    assert_string_equal("load", staged_label(&t, c.v.boxes[0].label));
    free(c.v.boxes);
    canvas_draw(t.s, &c, staged_row(&t, SCENE_ZONES, HOST, 1), 0, 100, 100);
    assert_int_equal(1, c.v.box_count);
    assert_string_equal("read", staged_label(&t, c.v.boxes[0].label));
    assert_int_equal(30, c.v.boxes[0].start_ns);
    assert_int_equal(50, c.v.boxes[0].end_ns);
    free(c.v.boxes);
    staged_close(&t);
}

UNIT_TEST(a_pixel_shows_the_share_that_is_covered)
{
    staged t = staged_late();
    canvas c;
    // Ten nanoseconds a pixel: `read` is in pixels 3 and 4, and in no other.
    const uint32_t row = staged_row(&t, SCENE_ZONES, HOST, 1);
    canvas_draw(t.s, &c, row, 0, 100, 10);
    const uint8_t whole[10] = { [3] = 255, [4] = 255 };
    assert_memory_equal(whole, c.busy, 10);
    assert_int_equal(0, c.v.box_count); // two pixels wide
    // Forty a pixel: 10 of the first, 10 of the second.
    canvas_draw(t.s, &c, row, 0, 80, 2);
    assert_int_equal(63, c.busy[0]);
    assert_int_equal(63, c.busy[1]);
    assert_int_equal(c.hue[0], c.hue[1]);
    staged_close(&t);
}

UNIT_TEST(what_is_shorter_than_a_pixel_is_seen)
{
    staged t = staged_late();
    canvas c;
    canvas_draw(t.s, &c, staged_row(&t, SCENE_CALLS, HOST, 0), -1000000,
                1000000, 4);
    assert_int_equal(1, c.busy[2]);
    assert_int_equal(0, c.busy[0]);
    staged_close(&t);
}

UNIT_TEST(a_box_is_picked_by_time)
{
    staged t = staged_late();
    scene_item item;
    const uint32_t row = staged_row(&t, SCENE_WORK, S0, 0);
    assert_true(scene_pick(t.s, row, 15, 0, &item));
    assert_string_equal("a", staged_label(&t, item.label));
    assert_false(scene_pick(t.s, row, 50, 5, &item));
    assert_true(scene_pick(t.s, row, 50, 30, &item)); // a ends at 20
    assert_string_equal("a", staged_label(&t, item.label));
    assert_true(scene_pick(t.s, row, 51, 30, &item)); // b begins at 80
    assert_string_equal("b", staged_label(&t, item.label));
    staged_close(&t);
}

UNIT_TEST(a_search_goes_from_box_to_box)
{
    staged t = staged_late();
    bool matches[64];
    uint32_t row;
    scene_item item;
    assert_int_equal(1, scene_search(t.s, (ts_text){ "OAD", 3 }, matches));
    assert_true(scene_next(t.s, matches, false, -5, 0, &row, &item));
    assert_int_equal(4, item.start_ns);
    assert_false(
        scene_next(t.s, matches, false, item.start_ns, row, &row, &item));
    assert_true(scene_next(t.s, matches, true, 100, 0, &row, &item));
    assert_int_equal(4, item.start_ns);
    assert_int_equal(0, scene_search(t.s, (ts_text){ "loads", 5 }, matches));
    staged_close(&t);
}

UNIT_TEST(an_area_clips_and_leaves_out_what_is_inside)
{
    staged t = staged_late();
    const uint32_t rows[] = { staged_row(&t, SCENE_ZONES, HOST, 0),
                              staged_row(&t, SCENE_ZONES, HOST, 1) };
    scene_area_sums area;
    assert_int_equal(TS_OK, scene_area(t.s, rows, 2, 40, 100, 1000, &area));
    const scene_sum *const sums = area.sums;
    assert_int_equal(2, area.count);
    assert_int_equal(2, area.boxes);
    assert_string_equal("load", staged_label(&t, sums[0].label));
    assert_int_equal(20, sums[0].total_ns); // 40 to 60
    assert_int_equal(10, sums[0].self_ns);  // without `read`, 40 to 50
    assert_string_equal("read", staged_label(&t, sums[1].label));
    assert_int_equal(10, sums[1].total_ns);
    free(area.sums);
    staged_close(&t);
}

UNIT_TEST(a_gap_is_explained_by_its_chain)
{
    staged t = staged_late();
    scene_reason reasons[SCENE_REASONS];
    assert_int_equal(TS_OK, scene_graph(t.s));
    const size_t count = scene_why(t.s, SCENE_REF_GAP, reasons);
    assert_int_equal(4, count);
    assert_string_equal("GPU 0 was idle for 60 ns: the host launched too late.",
                        reasons[0].text);
    assert_int_equal(20, reasons[0].start_ns);
    assert_int_equal(80, reasons[0].end_ns);
    assert_string_equal(
        "The next operation was kernel 'b' on stream 1 on GPU 0.",
        reasons[1].text);
    assert_string_equal("It was launched by call 'launch' on thread 2, which "
                        "began 50 ns after the device became idle.",
                        reasons[2].text);
    assert_string_equal("Meanwhile the launching thread spent 20 ns of 50 ns "
                        "in zone 'read'.",
                        reasons[3].text);
    staged_close(&t);
}

UNIT_TEST(the_row_of_a_device_is_busy_or_idle_by_cause)
{
    staged t = staged_late();
    canvas c;
    assert_int_equal(TS_OK, scene_graph(t.s));
    canvas_draw(t.s, &c, staged_row(&t, SCENE_DEVICE, D0, 0), 0, 100, 100);
    assert_int_equal(3, c.v.box_count);
    assert_string_equal("busy", staged_label(&t, c.v.boxes[0].label));
    assert_string_equal("host_late", staged_label(&t, c.v.boxes[1].label));
    assert_true(c.v.boxes[1].ref & SCENE_REF_GAP);
    assert_string_equal("busy", staged_label(&t, c.v.boxes[2].label));
    free(c.v.boxes);
    staged_close(&t);
}

UNIT_TEST(a_what_if_has_a_ghost_and_a_makespan)
{
    staged t = staged_late();
    const scene_change faster = { .type = TS_CHANGE_SCALE, .factor = { 1, 2 } };
    scene_outcome o;
    scene_item item;
    assert_int_equal(TS_OK, scene_whatif(t.s, NULL, 0, &o));
    assert_int_equal(o.model_ns, o.changed_ns);
    assert_int_equal(TS_OK, scene_whatif(t.s, &faster, 1, &o));
    assert_true(o.changed_ns < o.model_ns);
    const uint32_t ghost = staged_row(&t, SCENE_GHOST, S0, 0);
    assert_int_equal(2, scene_row_at(t.s, ghost)->count);
    assert_true(scene_pick(t.s, ghost, 1000, 1000, &item));
    assert_string_equal("b", staged_label(&t, item.label));
    assert_true(item.end_ns < 90);
    assert_int_equal(TS_OK, scene_whatif(t.s, NULL, 0, &o));
    assert_int_equal(0, scene_row_at(t.s, ghost)->count);
    staged_close(&t);
}

UNIT_TEST(the_critical_path_is_a_row_and_marks_operations)
{
    staged t = staged_late();
    ts_path path;
    scene_item item;
    int64_t sum = 0;
    assert_int_equal(TS_OK, scene_path(t.s, &path));
    const uint32_t row = staged_row(&t, SCENE_PATH, 0, 0);
    for (int i = 0; i < TS_COST_LIMIT; i++)
        sum += path.cost_ns[i];
    assert_int_equal(80, sum); // from 10 to 90
    assert_true(scene_pick(t.s, row, 85, 0, &item));
    assert_string_equal("compute", staged_label(&t, item.label));
    assert_true(
        scene_pick(t.s, staged_row(&t, SCENE_WORK, S0, 0), 85, 0, &item));
    assert_int_equal(SCENE_ON_PATH, item.flags & SCENE_ON_PATH);
    staged_close(&t);
}

UNIT_TEST(an_event_tells_all_that_is_known_of_it)
{
    staged t = staged_late();
    scene_item item;
    facts to = { "" };
    assert_true(
        scene_pick(t.s, staged_row(&t, SCENE_CALLS, HOST, 0), 41, 0, &item));
    assert_true(scene_event(t.s, item.ref, add_fact, &to));
    assert_string_equal("kind=api_call;track=thread 2;name=open;correlation=2;",
                        to.text);
    assert_false(scene_event(t.s, SCENE_REF_NONE, add_fact, &to));
    assert_false(scene_event(t.s, UINT64_C(1) << 40, add_fact, &to));
    staged_close(&t);
}

UNIT_TEST(a_kernel_tells_how_it_was_launched)
{
    staged t;
    scene_item item;
    facts to = { "" };
    made_begin(&t.m, 0);
    const ts_launch_entry launch = { .name = made_name(&t.m, "gemm"),
                                     .grid = { 4, 1, 1 },
                                     .block = { 32, 1, 1 },
                                     .static_shared = 1024,
                                     .dynamic_shared = 512 };
    const ts_writer_value value = { TS_COLUMN_LAUNCH,
                                    ts_writer_launch(t.m.w, &launch) };
    made_call(&t.m, HOST, "launch", 0, 2);
    made_operation(&t.m, TS_EVENT_KERNEL, S0, 10, 20, &value, 1);
    staged_open(&t);
    assert_true(
        scene_pick(t.s, staged_row(&t, SCENE_WORK, S0, 0), 15, 0, &item));
    assert_true(scene_event(t.s, item.ref, add_fact, &to));
    if (!strstr(to.text, "shared memory=1536 bytes, 512 of it dynamic;"))
        fail_msg("%s", to.text);
    staged_close(&t);
}

static void add_span(staged *t, uint32_t thread, int64_t time, uint64_t id,
                     uint32_t phase)
{
    const ts_site_entry entry = { .name = made_name(&t->m, "request") };
    const ts_writer_value values[] = {
        { TS_COLUMN_SITE, ts_writer_site(t->m.w, &entry) },
        { TS_COLUMN_ID, id },
        { TS_COLUMN_PHASE, phase },
    };
    ts_writer_event(t->m.w, TS_EVENT_SPAN, thread, time, 0, values, 3);
}

// Two overlap and end on the other thread; the third never ends.
UNIT_TEST(spans_end_on_any_thread)
{
    staged t;
    scene_item item;
    made_begin(&t.m, 0);
    add_span(&t, HOST, 10, 7, TS_PHASE_START);
    add_span(&t, HOST, 20, 8, TS_PHASE_START);
    add_span(&t, OTHER, 50, 7, TS_PHASE_END);
    add_span(&t, OTHER, 60, 8, TS_PHASE_END);
    add_span(&t, OTHER, 70, 9, TS_PHASE_START);
    made_zone(&t.m, HOST, "x", 0, 90);
    staged_open(&t);
    const uint32_t row = staged_row(&t, SCENE_FRAMES, 0, 0);
    assert_true(scene_pick(t.s, row, 10, 0, &item));
    assert_int_equal(50, item.end_ns);
    assert_true(scene_pick(t.s, row, 70, 0, &item));
    assert_int_equal(90, item.end_ns);
    assert_true(
        scene_pick(t.s, staged_row(&t, SCENE_FRAMES, 0, 1), 20, 0, &item));
    assert_int_equal(60, item.end_ns);
    staged_close(&t);
}

// Overlapping zones, which only a hostile or odd trace has, overlap nowhere.
UNIT_TEST(boxes_of_a_row_do_not_overlap)
{
    staged t;
    uint64_t seed = 88172645463325252u;
    made_begin(&t.m, 0);
    for (int i = 0; i < 3000; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        const int64_t start = (int64_t)(seed % 10000);
        made_zone(&t.m, HOST, seed & 64 ? "x" : "y", start,
                  start + (int64_t)(seed >> 40) % 90);
    }
    staged_open(&t);
    uint64_t count = 0;
    for (size_t i = 0; i < t.s->row_count; i++) {
        const strip *const r = &t.s->rows[i];
        count += r->count;
        for (size_t k = 1; k < r->count; k++)
            assert_true(r->items[k].start_ns >= r->items[k - 1].end_ns);
    }
    assert_int_equal(3000, count);
    staged_close(&t);
}

// Any pixel agrees with what a walk over all boxes finds.
UNIT_TEST(sums_and_longest_agree_with_a_walk)
{
    staged t;
    uint64_t seed = 2463534242u;
    int64_t at = 0;
    made_begin(&t.m, 0);
    for (int i = 0; i < 5000; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        at += (int64_t)(seed % 50);
        const int64_t end = at + (int64_t)(seed >> 20) % 100;
        made_zone(&t.m, HOST, "x", at, end);
        at = end;
    }
    staged_open(&t);
    const strip *const r = &t.s->rows[staged_row(&t, SCENE_ZONES, HOST, 0)];
    for (size_t from = 0; from + 1 < r->count; from += 61)
        for (size_t to = from + 1; to <= r->count; to += 97) {
            int64_t most = -1;
            for (size_t i = from; i < to; i++)
                if (scene_item_ns(&r->items[i]) > most)
                    most = scene_item_ns(&r->items[i]);
            assert_int_equal(
                most, scene_item_ns(&r->items[scene_row_longest(r, from, to)]));
        }
    for (int64_t time = 0; time < at; time += 977) {
        int64_t covered = 0;
        for (size_t i = 0; i < r->count && r->items[i].start_ns < time; i++)
            covered += (r->items[i].end_ns < time ? r->items[i].end_ns : time) -
                       r->items[i].start_ns;
        assert_int_equal(
            covered, scene_row_covered(r, time, scene_row_before(r, time, 0)));
    }
    staged_close(&t);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
