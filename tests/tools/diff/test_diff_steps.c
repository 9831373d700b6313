/*
    test_diff_steps.c - what is compared where runs are not of one shape
*/
#include "tests/tools/diff/diff_forge.h"
#include "tools/diff/diff.h"

UNIT_TEST(runs_of_other_lengths_are_compared_by_step)
{
    for (int marked = 0; marked < 2; marked++) {
        story a = run_with(20, 1, 10000, 2, marked),
              b = run_with(30, 2, 10000, 2, marked);
        diff d;
        compare(&d, &a, &b);
        assert_true(d.by_step);
        const diff_row *const gemm = row_of(&d, DIFF_KERNEL, "gemm");
        const diff_row *const relu = row_of(&d, DIFF_KERNEL, "relu");
        assert_true(gemm->by_step && relu->by_step);
        assert_int_equal(20, gemm->parts[0].count);
        assert_int_equal(30, gemm->parts[1].count);
        const int64_t gemm_change = diff_change(&d, gemm, DIFF_TOTAL);
        const int64_t relu_change = diff_change(&d, relu, DIFF_TOTAL);
        assert_true(gemm_change > -100 && gemm_change < 100);
        assert_true(relu_change > -100 && relu_change < 100);
        assert_int_equal(DIFF_WITHIN, judge(&d, "kernel:* total +5%"));
        assert_int_equal(DIFF_WITHIN, judge(&d, "kernel:* count +0"));
        // The whole is longer, whatever a step takes.
        assert_true(diff_change(&d, row_of(&d, DIFF_MAKESPAN, "makespan"),
                                DIFF_TOTAL) > 200000);
        done(&d, &a, &b);
    }
}

// A kernel in each step, and one in every second.
static story with_rare(int steps)
{
    story s = story_begin();
    for (int i = 0; i < steps; i++) {
        char name[32];
        const int64_t at = 1000 + i * 20000;
        snprintf(name, sizeof name, "ProfilerStep#%d", i);
        story_kernel(&s, S0, at + 100, at + 10100, "gemm", HOST, at + 10);
        if (i % 2 == 1)
            story_kernel(&s, S0, at + 11000, at + 11500, "rare", HOST, at + 20);
        story_zone(&s, HOST, at, at + 19000, name);
    }
    return s;
}

UNIT_TEST(steps_without_a_kernel_are_samples_too)
{
    story a = with_rare(21), b = with_rare(31);
    diff d;
    compare(&d, &a, &b);
    const diff_row *const gemm = row_of(&d, DIFF_KERNEL, "gemm");
    const diff_row *const rare = row_of(&d, DIFF_KERNEL, "rare");
    assert_true(gemm->by_step && rare->by_step);
    for (int side = 0; side < 2; side++) {
        const diff_part *const p = &rare->parts[side];
        assert_int_equal(side ? 31 : 21, p->sample_count);
        assert_int_equal(10000, gemm->parts[side].center);
        assert_int_equal(500, p->median);
        assert_int_equal(0, p->center);
        assert_int_equal(0, p->deviation);
    }
    done(&d, &a, &b);
}

// Two windows of the same length, fewer steps in the second: each takes longer,
// and the makespan cannot tell.
UNIT_TEST(a_gate_that_cannot_see_a_change_does_not_hold)
{
    story a = run_with(17, 1, 10000, 2, true),
          b = run_with(15, 2, 12600, 2, true);
    diff d;
    compare(&d, &a, &b);
    assert_true(diff_steps_unequal(&d));
    assert_int_equal(DIFF_BLIND, judge(&d, "makespan +3%"));
    assert_int_equal(DIFF_REGRESSED, judge(&d, "step +3%"));
    assert_int_equal(DIFF_WITHIN, judge(&d, "step +30%"));
    assert_int_equal(DIFF_WITHIN, judge(&d, "kernel:relu total +3%"));
    diff_gates gates = { 0 };
    assert_true(diff_gate_add(&gates, &tool, "--gate", "makespan +3%"));
    assert_true(diff_gates_check(&gates, &d));
    assert_false(diff_gates_failed(&gates));
    assert_true(diff_gates_missed(&gates)); // exit code 2
    diff_gates_close(&gates);
    done(&d, &a, &b);
}

UNIT_TEST(what_lies_outside_of_steps_is_compared_as_a_whole)
{
    story runs[2];
    for (int side = 0; side < 2; side++) {
        story *const s = &runs[side];
        *s = run_of(1, 10000, 2, true);
        for (int i = 0; i < 6; i++) // behind the last step
            story_kernel(s, S1, 900000 + 3000 * i,
                         900000 + 3000 * i + 1000 + 200 * side, "save", HOST,
                         890000 + i);
    }
    diff d;
    compare(&d, &runs[0], &runs[1]);
    assert_true(d.by_step);
    const diff_row *const save = row_of(&d, DIFF_KERNEL, "save");
    assert_true(row_of(&d, DIFF_KERNEL, "gemm")->by_step);
    assert_int_equal(1200, diff_change(&d, save, DIFF_TOTAL));
    assert_int_equal(DIFF_REGRESSED, judge(&d, "kernel:save total +5%"));
    done(&d, &runs[0], &runs[1]);
}

// A step has what begins with it, not what begins with the next.
UNIT_TEST(a_step_begins_with_its_first_moment)
{
    story runs[2];
    for (int side = 0; side < 2; side++) {
        story *const s = &runs[side];
        *s = story_begin();
        for (int i = 0; i < STEPS; i++) {
            const int64_t begin = 1000 * (i + 1);
            char name[32];
            snprintf(name, sizeof name, "ProfilerStep#%d", i);
            story_zone(s, HOST, begin, begin + 1000, name);
            story_kernel(s, S0, begin, begin + 500 + side, "gemm", HOST, begin);
        }
    }
    diff d;
    compare(&d, &runs[0], &runs[1]);
    assert_true(d.by_step);
    const diff_side *const one = &d.sides[0];
    assert_int_equal(STEPS, one->steps.count);
    for (uint32_t i = 0; i < STEPS; i++) {
        assert_int_equal(i, diff_step_at(one, one->steps.steps[i].start_ns));
        assert_int_equal(i, diff_step_at(one, one->steps.steps[i].end_ns - 1));
    }
    const int64_t end = one->steps.steps[STEPS - 1].end_ns;
    assert_int_equal(TS_NODE_NONE,
                     diff_step_at(one, one->steps.steps[0].start_ns - 1));
    assert_int_equal(TS_NODE_NONE, diff_step_at(one, end));
    done(&d, &runs[0], &runs[1]);
}

UNIT_TEST(few_steps_are_no_samples)
{
    story a = run_with(6, 1, 10000, 2, true),
          b = run_with(6, 2, 12000, 2, true);
    diff d;
    compare(&d, &a, &b);
    assert_false(d.by_step);
    // Six launches of each are enough for a test by operation.
    const diff_row *const gemm = row_of(&d, DIFF_KERNEL, "gemm");
    assert_true(gemm->tested && !gemm->by_step);
    assert_int_equal(6, gemm->parts[0].sample_count);
    assert_int_equal(DIFF_REGRESSED, judge(&d, "kernel:gemm total +5%"));
    done(&d, &a, &b);
}

UNIT_TEST(streams_of_one_side_are_counted)
{
    story a = story_begin(), b = story_begin();
    for (int i = 0; i < 3; i++) {
        story_kernel(&a, S0, 100 * i + 50, 100 * i + 90, "k", HOST, 100 * i);
        story_kernel(&b, S0, 100 * i + 50, 100 * i + 90, "k", HOST, 100 * i);
        story_kernel(&b, T0, 100 * i + 60, 100 * i + 90, "k", HOST,
                     100 * i + 10);
    }
    diff d;
    compare(&d, &a, &b);
    assert_int_equal(1, d.stream_count);
    assert_true(d.streams[0].same);
    assert_int_equal(0, d.only[0]);
    assert_int_equal(1, d.only[1]);
    done(&d, &a, &b);
}

UNIT_TEST(order_is_compared_by_neighbours)
{
    static const char *const first[] = { "a", "b", "c", "d" };
    static const char *const second[] = { "a", "c", "b", "d" };
    story a = story_begin(), b = story_begin();
    for (int i = 0; i < 4; i++) {
        story_kernel(&a, S0, 100 * i + 50, 100 * i + 90, first[i], HOST,
                     100 * i);
        story_kernel(&b, S0, 100 * i + 50, 100 * i + 90, second[i], HOST,
                     100 * i);
    }
    diff d;
    compare(&d, &a, &b);
    assert_false(d.streams[0].same);
    assert_int_equal(3, d.streams[0].pairs_gone); // ab, bc, cd
    assert_int_equal(3, d.streams[0].pairs_new);  // ac, cb, bd
    assert_int_equal(1, d.streams[0].first[0]);
    assert_int_equal(1, d.streams[0].first[1]);
    for (size_t i = 0; i < d.row_count; i++)
        if (d.rows[i].subject == DIFF_KERNEL)
            assert_int_equal(0, diff_change(&d, &d.rows[i], DIFF_TOTAL));
    done(&d, &a, &b);
}

UNIT_TEST(the_host_alone_can_be_compared)
{
    story a = story_begin(), b = story_begin();
    for (int i = 0; i < 8; i++) {
        story_zone(&a, HOST, 100 * i, 100 * i + 40 + i, "work");
        story_zone(&b, HOST, 100 * i, 100 * i + 60 + i, "work");
    }
    diff d;
    compare(&d, &a, &b);
    assert_false(d.sides[0].has_work || d.by_step);
    const diff_row *const work = row_of(&d, DIFF_ZONE, "work");
    assert_int_equal(160, diff_change(&d, work, DIFF_TOTAL));
    assert_true(diff_is_significant(&d, work));
    assert_int_equal(DIFF_REGRESSED, judge(&d, "zone:work total +20%"));
    done(&d, &a, &b);
}

UNIT_TEST(more_durations_than_are_kept_are_thinned_alike)
{
    diff d = { .tool = &tool };
    const ts_text name = { "many", 4 };
    diff_row *const row = diff_row_of(&d, DIFF_ZONE, name);
    assert_non_null(row);
    assert_ptr_equal(row, diff_row_of(&d, DIFF_ZONE, name));
    const int64_t count = 3 * DIFF_VALUES_MOST;
    for (int64_t i = 0; i < count; i++) {
        const diff_one one = { i, i, TS_NODE_NONE, 0, TS_NODE_NONE };
        assert_true(diff_add(row, 0, &one));
    }
    const diff_part *const p = &row->parts[0];
    assert_int_equal(count, p->count);
    assert_int_equal(count * (count - 1) / 2, p->total);
    assert_int_equal(4, p->stride);
    assert_int_equal(count / 4, p->value_count);
    for (size_t i = 0; i < p->value_count; i++)
        assert_int_equal(4 * i, p->values[i]);
    assert_true(diff_test_rows(&d));
    assert_true(d.thinned);
    diff_close(&d);
}

/* ---- Files --------------------------------------------------------------- */

static char *text_of(const char *path)
{
    static char text[8192];
    FILE *const in = fopen(path, "rb");
    assert_non_null(in);
    text[fread(text, 1, sizeof text - 1, in)] = 0;
    fclose(in);
    unlink(path);
    return text;
}

UNIT_TEST(names_from_traces_break_no_file)
{
    static const char name[] = "k<\"a\">&]]>|`x`\xff\x01\u202e\n*\xc3\xa9";
    story runs[2];
    for (int side = 0; side < 2; side++) {
        runs[side] = story_begin();
        for (int i = 0; i < 5; i++)
            story_kernel(&runs[side], S0, 1000 * i + 100,
                         1000 * i + 200 + 100 * side, name, HOST, 1000 * i);
    }
    diff d;
    compare(&d, &runs[0], &runs[1]);
    diff_gates gates = { 0 };
    assert_true(diff_gate_add(&gates, &tool, "--gate", "kernel:k<* +5% +1ns"));
    assert_true(diff_gate_add(&gates, &tool, "--gate", "?copy:none +5%"));
    assert_true(diff_gate_add(&gates, &tool, "--gate", "copy:nothing +5%"));
    assert_true(diff_gate_add(&gates, &tool, "--gate", "makespan +90%"));
    assert_true(diff_gates_check(&gates, &d));
    char path[48];
    snprintf(path, sizeof path, "%s.out", runs[0].path);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    diff_junit(&d, &gates, out);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  "
        "<testsuite name=\"ts-diff\" tests=\"4\" failures=\"1\" errors=\"1\" "
        "skipped=\"1\">\n    <testcase classname=\"ts-diff\" "
        "name=\"kernel:k&lt;* +5% +1ns\">\n      <failure message=\"1 of 1 "
        "beyond the limit\" type=\"regression\">\nkernel "
        "k&lt;&quot;a&quot;&gt;&amp;]]&gt;|`x`??? *\xc3\xa9: +100.0 % (500 ns "
        "to 1.000 us), p 0.004\n      </failure>\n    </testcase>\n    "
        "<testcase classname=\"ts-diff\" name=\"?copy:none +5%\">\n      "
        "<skipped message=\"neither trace contains a match\"/>\n    "
        "</testcase>\n    <testcase classname=\"ts-diff\" name=\"copy:nothing "
        "+5%\">\n      <error message=\"neither trace contains a match\" "
        "type=\"usage\"/>\n    </testcase>\n    <testcase "
        "classname=\"ts-diff\" name=\"makespan +90%\"/>\n  "
        "</testsuite>\n</testsuites>\n",
        text_of(path));
    report *const r = report_open();
    diff_report(&d, &gates, r);
    out = fopen(path, "w");
    assert_non_null(out);
    diff_markdown(&d, &gates, r, out);
    assert_int_equal(fclose(out), 0);
    const char *const page = text_of(path);
    assert_non_null(strstr(page, "| k\\<\"a\"\\>\\&\\]\\]\\>\\|\\`x\\`"
                                 "??\?\?\\*\xc3\xa9 |"));
    report_close(r);
    diff_gates_close(&gates);
    done(&d, &runs[0], &runs[1]);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
