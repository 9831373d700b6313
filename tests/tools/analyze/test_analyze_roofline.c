/*
    test_analyze_roofline.c - what is computed, from rules and from shapes
*/
#include "tests/tools/analyze/time_fixture.h"
#include "tools/analyze/figures/operations/roofline.h"

static ts_text text_of(const char *string)
{
    const ts_text text = { string, strlen(string) };
    return text;
}

UNIT_TEST(rules_say_what_a_launch_computes)
{
    roofline_rule rule;
    assert_true(roofline_rule_read(&rule, "gemm|conv=2.5G"));
    assert_int_equal(2500000000, rule.flops);
    assert_int_equal(ROOFLINE_LAUNCH, rule.flops_per);
    assert_int_equal(0, rule.bytes);
    assert_int_equal(0, regexec(&rule.regex, "my_conv", 0, NULL, 0));
    roofline_rule_close(&rule);
    assert_true(roofline_rule_read(&rule, "a=b=3/thread,0.5k/block"));
    assert_int_equal(3, rule.flops);
    assert_int_equal(ROOFLINE_THREAD, rule.flops_per);
    assert_int_equal(500, rule.bytes);
    assert_int_equal(ROOFLINE_BLOCK, rule.bytes_per);
    roofline_rule_close(&rule);
    const char *const wrong[] = { "",     "a",    "=1",     "a=",
                                  "a=x",  "a=1x", "a=1,",   "a=1/warp",
                                  "(=1",  "a=-1", "a=1,2,", "a=9999999999999",
                                  "a=1e9" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(roofline_rule_read(&rule, wrong[i]));
    static const char *const why[][2] = {
        { "[=1", "expression is invalid" }, { "x=1e400", "too large" },
        { "x=9999999999999", "too large" }, { "x=1,y", "not a number" },
        { "x=1e9", "not a number" },        { "x", "REGEX=FLOPS" },
    };
    for (size_t i = 0; i < sizeof why / sizeof *why; i++) {
        assert_false(roofline_rule_read(&rule, why[i][0]));
        assert_non_null(strstr(rule.wrong, why[i][1]));
    }
}

static void expect(const char *name, const char *dims, const char *types,
                   uint64_t flops, uint64_t bytes, const char *shown)
{
    roofline_product p;
    assert_true(
        roofline_product_of(&p, text_of(name), text_of(dims), text_of(types)));
    assert_int_equal(flops, p.flops);
    assert_int_equal(bytes, p.bytes);
    assert_string_equal(shown, p.text);
}

UNIT_TEST(shapes_say_what_a_matrix_product_computes)
{
    // 2 * 2 * 3 * 4 operations; 6 + 12 + 8 elements.
    expect("aten::mm", "[[2,3],[3,4]]", "[\"float\",\"float\"]", 48, 26 * 4,
           "2x3x4");
    expect("aten::addmm", "[[4],[2,3],[3,4],[],[]]",
           "[\"float\",\"c10::Half\",\"c10::Half\",\"Scalar\",\"Scalar\"]", 48,
           26 * 2, "2x3x4");
    expect("aten::bmm", "[[5,2,3],[5,3,4]]", "[\"c10::BFloat16\",\"\"]", 240,
           26 * 5 * 2, "5x 2x3x4");
    expect("aten::baddbmm", "[[1],[5,2,3],[5,3,4]]", "[]", 240, 0, "5x 2x3x4");
    expect("aten::mm", "[[2, 3], [3, 4]]", "[\"what\",\"float\"]", 48, 0,
           "2x3x4");
    const char *const wrong[] = { "",
                                  "[",
                                  "[[2,3]]",
                                  "[[2,3],[4,3]]",
                                  "[[2],[3,4]]",
                                  "[[[2,3]],[[3,4]]]",
                                  "[[99999999999,3],[3,4]]",
                                  "[[2,3],[3,4" };
    roofline_product p;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(roofline_product_of(&p, text_of("aten::mm"),
                                         text_of(wrong[i]), text_of("[]")));
}

// A zone of an operator with its arguments.
static void product(made *m, const char *dims, const char *types, int64_t from,
                    int64_t to)
{
    made_zone(m, HOST, "aten::mm", from, to);
    const char *const texts[] = { types, dims };
    const char *const names[] = { "Input type", "Input Dims" };
    const ts_site_entry entry = { .name = made_name(m, "aten::mm") };
    for (int i = 0; i < 2; i++) {
        const ts_writer_value values[] = {
            { TS_COLUMN_SITE, ts_writer_site(m->w, &entry) },
            { TS_COLUMN_NAME, made_name(m, names[i]) },
            { TS_COLUMN_TYPE, TS_VALUE_TEXT },
        };
        ts_writer_event_text(m->w, TS_EVENT_ZONE_ARG, HOST, from, 0, values, 3,
                             texts[i], strlen(texts[i]));
    }
}

/*
    Two equal products, of which the second launches two kernels (splitting and
    adding up), one of another shape, a kernel on its own, which a rule names,
    and one of which nothing is known.
*/
UNIT_TEST(work_is_charged_to_the_kernels_that_do_it)
{
    made m;
    roofline_rule rule;
    roofline_result r;
    made_begin(&m, 0);
    product(&m, "[[2,3],[3,4]]", "[\"float\",\"float\"]", 0, 20);
    made_launch(&m, S0, "gemm", 4, 100, 150);
    product(&m, "[[2,3],[3,4]]", "[\"float\",\"float\"]", 30, 50);
    made_launch(&m, S0, "split", 34, 150, 170);
    made_launch(&m, S0, "add", 40, 170, 180);
    product(&m, "[[8,8],[8,8]]", "[\"float\",\"float\"]", 60, 70);
    made_launch(&m, S0, "gemm", 64, 180, 190);
    made_launch(&m, S0, "saxpy", 80, 190, 194); // one block of 32
    made_launch(&m, S0, "unknown", 90, 194, 200);
    made_open(&m);
    assert_true(roofline_rule_read(&rule, "^saxpy$=2/thread,384"));
    assert_true(roofline_open(&r, m.replay, &m.names, &rule, 1));
    assert_int_equal(3, r.count);
    assert_int_equal(3, r.operators);
    assert_int_equal(100, r.kernel_ns);
    assert_int_equal(94, r.known_ns);
    assert_string_equal("aten::mm 2x3x4", r.rows[0].text);
    assert_int_equal(2, r.rows[0].count);
    assert_int_equal(3, r.rows[0].kernels);
    assert_int_equal(80, r.rows[0].work_ns);
    assert_int_equal(96, r.rows[0].flops);
    assert_int_equal(2 * 104, r.rows[0].bytes);
    assert_string_equal("aten::mm 8x8x8", r.rows[1].text);
    assert_int_equal(1024, r.rows[1].flops);
    assert_string_equal("saxpy", r.rows[2].text);
    assert_true(r.rows[2].rule);
    assert_int_equal(64, r.rows[2].flops);
    assert_int_equal(384, r.rows[2].bytes);
    assert_int_equal(96 + 1024 + 64, r.flops);
    roofline_close(&r);
    roofline_rule_close(&rule);
    REPORT(m.path, "roofline");
    made_close(&m);
}

UNIT_TEST(a_device_with_limits_has_a_ridge)
{
    made m;
    made_begin(&m, 0);
    product(&m, "[[8,8],[8,8]]", "[\"float\",\"float\"]", 0, 20);
    made_launch(&m, S0, "gemm", 4, 100, 150);
    // Of types of PyTorch, by their size; those of C have other names.
    product(&m, "[[8,8],[8,8]]", "[\"signed char\",\"unsigned char\"]", 30, 50);
    made_launch(&m, S0, "gemm", 34, 150, 180);
    made_open(&m);
    const char *const paths[] = { m.path };
    const char *const sets[] = { "roofline.peak=100", "roofline.bandwidth=20" };
    report_expected(__FILE__, __func__,
                    &(const ts_analysis_desc){ .paths = paths,
                                               .path_count = 1,
                                               .only = "roofline",
                                               .settings = sets,
                                               .setting_count = 2 });
    made_close(&m);
}

UNIT_TEST(a_trace_without_shapes_has_no_rows)
{
    made m;
    roofline_result r;
    made_begin(&m, 0);
    made_zone(&m, HOST, "aten::mm", 0, 20);
    made_launch(&m, S0, "gemm", 4, 100, 150);
    made_open(&m);
    assert_true(roofline_open(&r, m.replay, &m.names, NULL, 0));
    assert_int_equal(0, r.count);
    assert_int_equal(1, r.operators);
    roofline_close(&r);
    REPORT(m.path, "roofline");
    made_close(&m);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
