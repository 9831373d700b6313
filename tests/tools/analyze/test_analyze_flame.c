/*
    test_analyze_flame.c - trees of what launched what, by hand-made programs
*/
#include "tests/tools/analyze/story_analyze.h"
#include "tools/analyze/topics/flame.h"
#include "tools/analyze/report/parts.h"

typedef struct scene {
    story s;
    analyze_job job;
} scene;

static void close_scene(scene *x)
{
    analyze_close(&x->job);
    story_end(&x->s);
}

// What flame_folded writes, in memory of its own.
static char *folded(const path_tree *p)
{
    char *text = NULL;
    size_t size;
    flame_tree t;
    FILE *const out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_true(flame_open(&t, p));
    flame_folded(&t, out);
    fclose(out);
    flame_close(&t);
    return text;
}

static void expect_devices(scene *x, const char *wanted, flame_sums *sums)
{
    path_tree p;
    assert_true(flame_of_devices(&x->job, &p, sums));
    char *const text = folded(&p);
    assert_string_equal(wanted, text);
    free(text);
    paths_close(&p);
}

UNIT_TEST(time_on_devices_goes_to_the_zones_that_launched)
{
    scene x = { .s = story_begin() };
    story_zone(&x.s, HOST, 0, 1000, "train");
    story_zone(&x.s, HOST, 100, 200, "forward");
    story_zone(&x.s, HOST, 300, 400, "backward");
    // They run long after their zones.
    story_kernel(&x.s, S0, 5000, 5100, "gemm", HOST, 150);
    story_kernel(&x.s, S0, 6000, 6200, "gemm", HOST, 350);
    story_kernel(&x.s, S0, 7000, 7050, "gemm", HOST, 360);
    story_kernel(&x.s, S0, 8000, 8010, "relu", HOST, 500);
    story_kernel(&x.s, S0, 9000, 9001, "relu", OTHER, 150);
    story_open(&x.s, &x.job, false);
    flame_sums sums;
    expect_devices(&x,
                   "train;backward;gemm 250\n"
                   "train;forward;gemm 100\n"
                   "train;relu 10\n"
                   "relu 1\n",
                   &sums);
    assert_int_equal(5, sums.operations);
    assert_int_equal(4, sums.by_zone);
    assert_int_equal(1, sums.by_nothing);
    REPORT(x.s.path, "flame");
    close_scene(&x);
}

UNIT_TEST(a_stack_counts_more_than_zones)
{
    scene x = { .s = story_begin() };
    const ts_module_entry module = { .path = story_name(&x.s, "/lib/app;so"),
                                     .size = 4096 };
    const uint32_t m = ts_writer_module(x.s.writer, &module, NULL, 0);
    const ts_frame_entry frames[] = { { m, 0, 0x20 }, { m, 0, 0x10 } };
    const uint32_t stack = ts_writer_stack(x.s.writer, frames, 2);
    story_zone(&x.s, HOST, 0, 1000, "train");
    story_call(&x.s, HOST, 100, "launch");
    story_operation(&x.s, TS_EVENT_KERNEL, S0, 2000, 2030, "gemm", HOST, stack);
    story_call(&x.s, HOST, 200, "copy");
    story_operation(&x.s, TS_EVENT_MEMCPY, S0, 3000, 3007, NULL, HOST, 0);
    story_open(&x.s, &x.job, false);
    flame_sums sums;
    expect_devices(&x,
                   "app,so+0x10;app,so+0x20;gemm 30\n"
                   "train;memcpy 7\n",
                   &sums);
    assert_int_equal(1, sums.by_stack);
    assert_int_equal(1, sums.by_zone);
    REPORT(x.s.path, "flame");
    close_scene(&x);
}

UNIT_TEST(steps_of_one_loop_are_one_place)
{
    scene x = { .s = story_begin() };
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%d", i);
        story_zone(&x.s, HOST, 100 * i, 100 * i + 90, name);
        story_kernel(&x.s, S0, 100 * i + 20, 100 * i + 30, "gemm", HOST,
                     100 * i + 10);
    }
    story_open(&x.s, &x.job, false);
    flame_sums sums;
    expect_devices(&x, "ProfilerStep;gemm 30\n", &sums);
    path_tree p;
    assert_true(flame_of_zones(&x.job, &p));
    char *const text = folded(&p);
    assert_string_equal("ProfilerStep 270\n", text);
    free(text);
    paths_close(&p);
    REPORT(x.s.path, "flame");
    close_scene(&x);
}

// More than half is most; two halves are two places.
UNIT_TEST(what_launched_half_is_not_the_place)
{
    static const struct {
        int64_t more;
        const char *answer;
    } all[] = {
        { 0, "200 ns of work on the devices; no single place on the host "
             "launched more than half of it." },
        { 2,
          "50.5 % of 202 ns of work on the devices was launched by forward." },
    };
    for (size_t i = 0; i < 2; i++) {
        scene x = { .s = story_begin() };
        story_zone(&x.s, HOST, 100, 200, "forward");
        story_zone(&x.s, HOST, 300, 400, "backward");
        story_kernel(&x.s, S0, 5000, 5100 + all[i].more, "gemm", HOST, 150);
        story_kernel(&x.s, S0, 6000, 6100, "gemm", HOST, 350);
        story_open(&x.s, &x.job, false);
        report *const r = report_open();
        assert_true(analyze_run(&x.job, "flame", r));
        assert_string_equal(all[i].answer, r->sections->answer.text);
        report_close(r);
        REPORT(x.s.path, "flame");
        close_scene(&x);
    }
}

/* ---- Cutting ------------------------------------------------------------ */

static uint32_t grow(path_tree *p, uint32_t parent, const char *name,
                     int64_t own_ns)
{
    const ts_text text = { name, strlen(name) };
    const uint32_t node = paths_child(p, parent, paths_name(p, text));
    p->nodes[node].own_ns += own_ns;
    return node;
}

UNIT_TEST(what_is_cut_is_counted_and_keeps_its_weight)
{
    path_tree p;
    flame_tree t;
    flame_node *nodes;
    size_t count;
    assert_true(paths_open(&p));
    const uint32_t main_node = grow(&p, PATHS_ROOT, "main", 10);
    grow(&p, main_node, "a", 500);
    const uint32_t b = grow(&p, main_node, "b", 3);
    grow(&p, b, "c", 2);
    grow(&p, main_node, "d", 4);
    const uint32_t e = grow(&p, main_node, "e", 200);
    grow(&p, e, "f", 281);
    assert_true(flame_open(&t, &p));
    assert_int_equal(1000, t.totals[PATHS_ROOT]);
    // At least a hundredth, two levels.
    assert_true(flame_cut(&t, 100, 2, &nodes, &count));
    assert_int_equal(5, count);
    const int64_t own[] = { 10, 500, 200, 9, 281 };
    const uint32_t parents[] = { CLI_NONE, 0, 0, 0, 1 };
    const uint32_t counts[] = { 0, 0, 0, 3, 1 };
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(own[i], nodes[i].own);
        assert_int_equal(counts[i], nodes[i].count);
        if (i < 4) assert_int_equal(parents[i], nodes[i].parent);
        sum += nodes[i].own;
    }
    assert_int_equal(2, nodes[4].parent); // e, below which is too deep
    assert_int_equal(CLI_NONE, nodes[3].node);
    assert_int_equal(1000, sum);
    free(nodes);
    flame_close(&t);
    paths_close(&p);
}

UNIT_TEST(names_that_all_share_are_one)
{
    path_tree p;
    flame_tree t;
    flame_node *nodes;
    size_t count;
    uint32_t node = PATHS_ROOT;
    assert_true(paths_open(&p));
    for (int i = 0; i < 20; i++)
        node = grow(&p, node, "python", 0);
    grow(&p, node, "a", 7);
    grow(&p, node, "b", 8);
    assert_true(flame_open(&t, &p));
    assert_true(flame_cut(&t, 1000, 60, &nodes, &count));
    assert_int_equal(3, count);
    assert_int_equal(19, nodes[0].count);
    assert_int_equal(node, nodes[0].node);
    assert_int_equal(8, nodes[1].own);
    assert_int_equal(7, nodes[2].own);
    free(nodes);
    flame_close(&t);
    paths_close(&p);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
