/*
    test_scene_area.c - flame graphs and durations of an area
*/
#include "tests/tools/studio/scene_fixture.h"
#include "tools/studio/scene/parts.h"

// A tree as text: a node's name, total and count, indented by its depth.
static void expect_tree(staged *t, scene_flame_by by, const uint32_t *rows,
                        size_t row_count, int64_t from_ns, int64_t to_ns,
                        const char *expected)
{
    scene_flame tree;
    char text[1024] = "";
    assert_int_equal(TS_OK, scene_flame_open(t->s, &tree, by, rows, row_count,
                                             from_ns, to_ns));
    for (size_t i = 0; i < tree.count; i++) {
        const scene_flame_node *const n = &tree.nodes[i];
        uint32_t parent = n->parent;
        for (; parent != UINT32_MAX; parent = tree.nodes[parent].parent)
            strcat(text, "  ");
        const size_t size = strlen(text);
        snprintf(text + size, sizeof text - size,
                 "%.*s %" PRId64 " %" PRIu64 "\n", (int)n->text.size,
                 n->text.text, n->total_ns, n->count);
    }
    assert_string_equal(expected, text);
    scene_flame_close(&tree);
}

UNIT_TEST(boxes_in_boxes_are_a_tree)
{
    staged t = staged_late();
    const uint32_t rows[] = { staged_row(&t, SCENE_ZONES, HOST, 0),
                              staged_row(&t, SCENE_ZONES, HOST, 1),
                              staged_row(&t, SCENE_CALLS, HOST, 0),
                              staged_row(&t, SCENE_WORK, S0, 0) };
    expect_tree(&t, SCENE_FLAME_BOXES, rows, 4, 0, 100,
                "thread 2 56 1\n"
                "  load 56 1\n"
                "    read 20 1\n"
                "stream 1 on GPU 0 20 2\n"
                "  a 10 1\n"
                "  b 10 1\n");
    expect_tree(&t, SCENE_FLAME_BOXES, rows, 2, 40, 45,
                "thread 2 5 1\n"
                "  load 5 1\n"
                "    read 5 1\n");
    staged_close(&t);
}

UNIT_TEST(calls_are_shown_where_there_are_no_zones)
{
    staged t;
    made_begin(&t.m, 0);
    made_launch(&t.m, S0, "a", 0, 10, 20);
    made_launch(&t.m, S0, "a", 4, 30, 40);
    staged_open(&t);
    const uint32_t row = staged_row(&t, SCENE_CALLS, HOST, 0);
    expect_tree(&t, SCENE_FLAME_BOXES, &row, 1, 0, 100,
                "thread 2 4 2\n"
                "  launch 4 2\n");
    staged_close(&t);
}

static void add_kernel(staged *t, const char *name, uint32_t site,
                       uint32_t stack, int64_t from, int64_t to)
{
    const ts_launch_entry launch = { .name = made_name(&t->m, name) };
    const ts_writer_value values[] = {
        { TS_COLUMN_LAUNCH, ts_writer_launch(t->m.w, &launch) },
        { TS_COLUMN_SITE, site },
        { TS_COLUMN_STACK, stack },
    };
    made_operation(&t->m, TS_EVENT_KERNEL, S0, from, to, values, 3);
}

UNIT_TEST(operations_are_summed_by_the_zone_and_the_stack_that_launched_them)
{
    staged t;
    made_begin(&t.m, 0);
    const ts_site_entry site = { .name = made_name(&t.m, "forward") };
    const uint32_t zone = ts_writer_site(t.m.w, &site);
    const ts_module_entry module = { .path = made_name(&t.m, "app") };
    const uint32_t app = ts_writer_module(t.m.w, &module, NULL, 0);
    const ts_frame_entry frames[] = { { .module = app, .offset = 0x10 },
                                      { .module = app, .offset = 0x20 } };
    const uint32_t stack = ts_writer_stack(t.m.w, frames, 2);
    add_kernel(&t, "k", zone, stack, 10, 20);
    add_kernel(&t, "k", zone, stack, 20, 25);
    add_kernel(&t, "m", 0, 0, 30, 33);
    staged_open(&t);
    const uint32_t row = staged_row(&t, SCENE_WORK, S0, 0);
    expect_tree(&t, SCENE_FLAME_ZONES, &row, 1, 0, 100,
                "forward 15 2\n"
                "  k 15 2\n"
                "in no zone 3 1\n"
                "  m 3 1\n");
    expect_tree(&t, SCENE_FLAME_STACKS, &row, 1, 0, 100,
                "app+0x20 15 2\n"
                "  app+0x10 15 2\n"
                "    k 15 2\n"
                "no stack is recorded 3 1\n"
                "  m 3 1\n");
    staged_close(&t);
}

UNIT_TEST(a_full_tree_keeps_the_time)
{
    enum { NAMES = SCENE_MOST_FLAME + 10 };
    staged t;
    scene_flame tree;
    made_begin(&t.m, 0);
    staged_zones(&t, NAMES);
    staged_open(&t);
    assert_true(scene_load(t.s, 0, 10 * NAMES));
    const uint32_t row = staged_row(&t, SCENE_ZONES, HOST, 0);
    assert_int_equal(TS_OK, scene_flame_open(t.s, &tree, SCENE_FLAME_BOXES,
                                             &row, 1, 0, 10 * NAMES));
    assert_int_equal(SCENE_MOST_FLAME, tree.count);
    assert_true(tree.full);
    assert_int_equal(5 * NAMES, tree.nodes[0].total_ns);
    scene_flame_close(&tree);
    staged_close(&t);
}

UNIT_TEST(a_full_tree_counts_what_lies_inside_once)
{
    enum { NAMES = SCENE_MOST_FLAME + 10, ALL = 10 * NAMES };
    staged t;
    scene_flame tree;
    made_begin(&t.m, 0);
    staged_zones(&t, NAMES);
    made_zone(&t.m, HOST, "outer", 0, ALL);
    staged_open(&t);
    assert_true(scene_load(t.s, 0, ALL));
    const uint32_t row = staged_row(&t, SCENE_ZONES, HOST, 0);
    assert_int_equal(TS_OK, scene_flame_open(t.s, &tree, SCENE_FLAME_BOXES,
                                             &row, 1, 0, ALL));
    assert_true(tree.full);
    assert_int_equal(ALL, tree.nodes[0].total_ns);
    assert_int_equal(ALL, tree.nodes[1].total_ns); // outer
    assert_int_equal(1, tree.nodes[1].count);
    scene_flame_close(&tree);
    staged_close(&t);
}

// The node of a text at the top of a tree.
static const scene_flame_node *root_of(const scene_flame *tree,
                                       const char *text)
{
    for (size_t i = 0; i < tree->count; i++) {
        const scene_flame_node *const n = &tree->nodes[i];
        if (n->parent == UINT32_MAX && n->text.size == strlen(text) &&
            !memcmp(n->text.text, text, n->text.size))
            return n;
    }
    fail_msg("no node of %s", text);
    return NULL;
}

// The roots of a tree have all that is counted. In a full one "others" has what
// lies in no other.
static void expect_all(const scene_flame *tree, int64_t ns, uint64_t count)
{
    for (size_t i = 0; i < tree->count; i++) {
        const scene_flame_node *const n = &tree->nodes[i];
        if (n->parent != UINT32_MAX) continue;
        ns -= n->total_ns;
        count -= n->count;
    }
    assert_int_equal(0, ns);
    assert_int_equal(0, count);
    assert_true(root_of(tree, "others")->count > 0);
}

// In the stacks there is a frame of its own around a frame that is also the
// outermost of another stack.
UNIT_TEST(a_full_tree_says_nothing_wrong_of_what_launched)
{
    enum { LAUNCHERS = SCENE_MOST_FLAME / 2 + 10 };
    staged t;
    scene_flame tree;
    char name[32];
    made_begin(&t.m, 0);
    const ts_module_entry module = { .path = made_name(&t.m, "app") };
    const uint32_t app = ts_writer_module(t.m.w, &module, NULL, 0);
    ts_frame_entry frames[] = { { .module = app, .offset = 0x10 },
                                { .module = app } };
    add_kernel(&t, "k", 0, 0, 0, 5);
    add_kernel(&t, "k", 0, ts_writer_stack(t.m.w, frames, 1), 10, 15);
    for (int i = 2; i < LAUNCHERS; i++) {
        snprintf(name, sizeof name, "zone %d", i);
        const ts_site_entry site = { .name = made_name(&t.m, name) };
        frames[1].offset = 0x100 + (uint64_t)i;
        add_kernel(&t, "k", ts_writer_site(t.m.w, &site),
                   ts_writer_stack(t.m.w, frames, 2), 10 * i, 10 * i + 5);
    }
    staged_open(&t);
    assert_true(scene_load(t.s, 0, 10 * LAUNCHERS));
    const uint32_t row = staged_row(&t, SCENE_WORK, S0, 0);
    for (int by = SCENE_FLAME_ZONES; by <= SCENE_FLAME_STACKS; by++) {
        assert_int_equal(TS_OK, scene_flame_open(t.s, &tree, (scene_flame_by)by,
                                                 &row, 1, 0, 10 * LAUNCHERS));
        assert_false(tree.share.behind);
        assert_int_equal(SCENE_MOST_FLAME + 1, tree.count);
        assert_true(tree.full);
        expect_all(&tree, 5 * LAUNCHERS, LAUNCHERS);
        const bool zones = by == SCENE_FLAME_ZONES;
        const scene_flame_node *const none =
            root_of(&tree, zones ? "in no zone" : "no stack is recorded");
        assert_int_equal(zones ? 2 : 1, none->count);
        assert_int_equal(zones ? 10 : 5, none->total_ns);
        if (!zones) assert_int_equal(5, root_of(&tree, "app+0x10")->total_ns);
        scene_flame_close(&tree);
    }
    staged_close(&t);
}

/* ---- Durations ----------------------------------------------------------- */

UNIT_TEST(bins_of_durations_follow_each_other)
{
    for (uint32_t bin = 0; bin < SCENE_BINS - 9; bin++)
        assert_true(scene_bin_ns(bin + 1) > scene_bin_ns(bin));
    assert_int_equal(16, scene_bin_ns(16));
    assert_int_equal(1024, scene_bin_ns(64));
}

UNIT_TEST(durations_of_a_name_have_bins_and_shares)
{
    staged t;
    scene_histogram *const h = malloc(sizeof *h);
    assert_non_null(h);
    made_begin(&t.m, 0);
    for (int i = 0; i < 100; i++)
        made_zone(&t.m, HOST, "x", 10000 * i, 10000 * i + 1 + i);
    made_zone(&t.m, HOST, "y", 5000, 6000);
    staged_open(&t);
    assert_true(scene_load(t.s, 0, 1000000));
    const uint32_t row = staged_row(&t, SCENE_ZONES, HOST, 0);
    scene_item item;
    assert_true(scene_pick(t.s, row, 0, 0, &item));
    assert_int_equal(
        TS_OK, scene_histogram_of(t.s, h, item.label, &row, 1, 0, 1000000));
    assert_int_equal(100, h->count);
    assert_int_equal(5050, h->total_ns);
    assert_int_equal(1, h->least_ns);
    assert_int_equal(50, h->p50_ns);
    assert_int_equal(90, h->p90_ns);
    assert_int_equal(99, h->p99_ns);
    assert_int_equal(100, h->most_ns);
    uint64_t count = 0;
    for (uint32_t i = 0; i < SCENE_BINS; i++) {
        const scene_bin *const bin = &h->bins[i];
        count += bin->count;
        if (!bin->count) continue;
        const int64_t longest = scene_item_ns(&bin->longest);
        assert_in_range(longest, scene_bin_ns(i), scene_bin_ns(i + 1) - 1);
    }
    assert_int_equal(100, count);
    // The second half of the time only.
    assert_int_equal(TS_OK, scene_histogram_of(t.s, h, item.label, &row, 1,
                                               500000, 1000000));
    assert_int_equal(50, h->count);
    assert_int_equal(TS_OK,
                     scene_histogram_of(t.s, h, item.label, &row, 1, 7, 7));
    assert_int_equal(0, h->count);
    free(h);
    staged_close(&t);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
