/*
    test_scene.c - rows, views, search, sums and reasons of a trace made by hand
*/
#include "tests/tools/studio/scene_fixture.h"
#include "tools/studio/scene/parts.h"

typedef struct canvas {
    scene_view v;
    uint8_t busy[400], hue[400];
    float low[400], high[400];
} canvas;

static void draw(staged *t, canvas *c, uint32_t row, int64_t from_ns,
                 int64_t to_ns, uint32_t pixels)
{
    memset(c, 0, sizeof *c);
    c->v = (scene_view){ .from_ns = from_ns,
                         .to_ns = to_ns,
                         .pixels = pixels,
                         .busy = c->busy,
                         .hue = c->hue,
                         .low = c->low,
                         .high = c->high };
    assert_int_equal(TS_OK, scene_draw(t->s, row, &c->v));
}

static void nested_zones_lie_on_rows_by_depth(void **state)
{
    (void)state;
    staged t = staged_late();
    canvas c;
    draw(&t, &c, staged_row(&t, SCENE_ZONES, HOST, 0), 0, 100, 100);
    assert_int_equal(1, c.v.box_count);
    assert_string_equal("load", staged_label(&t, c.v.boxes[0].label));
    free(c.v.boxes);
    draw(&t, &c, staged_row(&t, SCENE_ZONES, HOST, 1), 0, 100, 100);
    assert_int_equal(1, c.v.box_count);
    assert_string_equal("read", staged_label(&t, c.v.boxes[0].label));
    assert_int_equal(30, c.v.boxes[0].start_ns);
    assert_int_equal(50, c.v.boxes[0].end_ns);
    free(c.v.boxes);
    staged_close(&t);
}

static void a_pixel_shows_the_share_that_is_covered(void **state)
{
    (void)state;
    staged t = staged_late();
    canvas c;
    // Ten nanoseconds a pixel: `read` is in pixels 3 and 4, and in no other.
    const uint32_t row = staged_row(&t, SCENE_ZONES, HOST, 1);
    draw(&t, &c, row, 0, 100, 10);
    const uint8_t whole[10] = { [3] = 255, [4] = 255 };
    assert_memory_equal(whole, c.busy, 10);
    assert_int_equal(0, c.v.box_count); // two pixels wide
    // Forty a pixel: 10 of the first, 10 of the second.
    draw(&t, &c, row, 0, 80, 2);
    assert_int_equal(63, c.busy[0]);
    assert_int_equal(63, c.busy[1]);
    assert_int_equal(c.hue[0], c.hue[1]);
    staged_close(&t);
}

static void what_is_shorter_than_a_pixel_is_seen(void **state)
{
    (void)state;
    staged t = staged_late();
    canvas c;
    draw(&t, &c, staged_row(&t, SCENE_CALLS, HOST, 0), -1000000, 1000000, 4);
    assert_int_equal(1, c.busy[2]);
    assert_int_equal(0, c.busy[0]);
    staged_close(&t);
}

static void a_box_is_picked_by_time(void **state)
{
    (void)state;
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

static void a_search_goes_from_box_to_box(void **state)
{
    (void)state;
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

static void an_area_clips_and_leaves_out_what_is_inside(void **state)
{
    (void)state;
    staged t = staged_late();
    const uint32_t rows[] = { staged_row(&t, SCENE_ZONES, HOST, 0),
                              staged_row(&t, SCENE_ZONES, HOST, 1) };
    scene_sum *sums;
    size_t count;
    assert_int_equal(TS_OK, scene_area(t.s, rows, 2, 40, 100, &sums, &count));
    assert_int_equal(2, count);
    assert_string_equal("load", staged_label(&t, sums[0].label));
    assert_int_equal(20, sums[0].total_ns); // 40 to 60
    assert_int_equal(10, sums[0].self_ns);  // without `read`, 40 to 50
    assert_string_equal("read", staged_label(&t, sums[1].label));
    assert_int_equal(10, sums[1].total_ns);
    free(sums);
    staged_close(&t);
}

static void a_gap_is_explained_by_its_chain(void **state)
{
    (void)state;
    staged t = staged_late();
    scene_reason reasons[SCENE_REASONS];
    assert_int_equal(TS_OK, scene_graph(t.s));
    const size_t count = scene_why(t.s, SCENE_REF_GAP, reasons);
    assert_int_equal(4, count);
    assert_string_equal("GPU 0 was idle for 60 ns: the host launched too late.",
                        reasons[0].text);
    assert_int_equal(20, reasons[0].start_ns);
    assert_int_equal(80, reasons[0].end_ns);
    assert_string_equal("It went on with kernel 'b' on stream 1 on GPU 0.",
                        reasons[1].text);
    assert_string_equal("Its launch, call 'launch' on thread 2, began "
                        "only 50 ns after the device had become idle.",
                        reasons[2].text);
    assert_string_equal("Meanwhile its thread spent 20 ns of 50 ns in zone "
                        "'read'.",
                        reasons[3].text);
    staged_close(&t);
}

static void the_row_of_a_device_is_busy_or_idle_by_cause(void **state)
{
    (void)state;
    staged t = staged_late();
    canvas c;
    assert_int_equal(TS_OK, scene_graph(t.s));
    draw(&t, &c, staged_row(&t, SCENE_DEVICE, D0, 0), 0, 100, 100);
    assert_int_equal(3, c.v.box_count);
    assert_string_equal("busy", staged_label(&t, c.v.boxes[0].label));
    assert_string_equal("host_late", staged_label(&t, c.v.boxes[1].label));
    assert_true(c.v.boxes[1].ref & SCENE_REF_GAP);
    assert_string_equal("busy", staged_label(&t, c.v.boxes[2].label));
    free(c.v.boxes);
    staged_close(&t);
}

static void a_what_if_has_a_ghost_and_a_makespan(void **state)
{
    (void)state;
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

static void the_critical_path_is_a_row_and_marks_operations(void **state)
{
    (void)state;
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

typedef struct told {
    char text[1024];
} told;

static void tell(const char *name, ts_text value, void *user)
{
    told *const to = user;
    const size_t size = strlen(to->text);
    snprintf(to->text + size, sizeof to->text - size, "%s=%.*s;", name,
             (int)value.size, value.text);
}

static void an_event_tells_all_that_is_known_of_it(void **state)
{
    (void)state;
    staged t = staged_late();
    scene_item item;
    told to = { "" };
    assert_true(
        scene_pick(t.s, staged_row(&t, SCENE_CALLS, HOST, 0), 41, 0, &item));
    assert_true(scene_event(t.s, item.ref, tell, &to));
    assert_string_equal("kind=api_call;track=thread 2;name=open;correlation=2;",
                        to.text);
    assert_false(scene_event(t.s, SCENE_REF_NONE, tell, &to));
    assert_false(scene_event(t.s, UINT64_C(1) << 40, tell, &to));
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
static void spans_end_on_any_thread(void **state)
{
    (void)state;
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
static void boxes_of_a_row_do_not_overlap(void **state)
{
    (void)state;
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
static void sums_and_longest_agree_with_a_walk(void **state)
{
    (void)state;
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_zones_lie_on_rows_by_depth),
        cmocka_unit_test(a_pixel_shows_the_share_that_is_covered),
        cmocka_unit_test(what_is_shorter_than_a_pixel_is_seen),
        cmocka_unit_test(a_box_is_picked_by_time),
        cmocka_unit_test(a_search_goes_from_box_to_box),
        cmocka_unit_test(an_area_clips_and_leaves_out_what_is_inside),
        cmocka_unit_test(a_gap_is_explained_by_its_chain),
        cmocka_unit_test(the_row_of_a_device_is_busy_or_idle_by_cause),
        cmocka_unit_test(a_what_if_has_a_ghost_and_a_makespan),
        cmocka_unit_test(the_critical_path_is_a_row_and_marks_operations),
        cmocka_unit_test(an_event_tells_all_that_is_known_of_it),
        cmocka_unit_test(spans_end_on_any_thread),
        cmocka_unit_test(boxes_of_a_row_do_not_overlap),
        cmocka_unit_test(sums_and_longest_agree_with_a_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
