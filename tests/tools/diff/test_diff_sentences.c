/*
    test_diff_sentences.c - what ts-diff says in sentences: where it belongs,
    and nowhere else
*/
#include "tests/tools/diff/diff_forge.h"
#include "tools/analyze/report/parts.h"
#include "tools/diff/report_parts.h"

static void add(char *text, ts_text more)
{
    const size_t size = strlen(text);
    snprintf(text + size, 2000 - size, "%s%.*s", size ? "\n" : "",
             (int)more.size, more.text);
}

// Answer, reasons for the confidence and notes of a section, a line each;
// empty if there is no such section.
static void says(diff *d, const diff_gates *gates, const char *name,
                 const char *wanted)
{
    char text[2000] = "";
    report *const r = report_open();
    diff_report(d, gates, r);
    for (const report_section *s = r->sections; s; s = s->next) {
        if (strcmp(s->name, name)) continue;
        add(text, s->answer);
        for (const report_line *l = s->reasons; l; l = l->next)
            add(text, l->text);
        for (const report_line *l = s->notes; l; l = l->next)
            add(text, l->text);
    }
    assert_string_equal(text, wanted);
    report_close(r);
}

static const diff_gates none;
#define SAYS(name, text) says(&d, &none, name, text)

static void equal_runs_differ_in_nothing(void **state)
{
    (void)state;
    story a = run_of(1, 10000, 2, true), b = run_of(1, 10000, 2, true);
    diff d;
    compare(&d, &a, &b);
    SAYS("compared",
         "Devices, ranks and kind of steps are the same, according to the "
         "traces.");
    SAYS("diff",
         "No difference: the same operations in the same order took the "
         "same time.\n"
         "all figures are equal");
    SAYS("kernels", "");
    done(&d, &a, &b);
}

static void noise_is_no_difference(void **state)
{
    (void)state;
    story a = run_of(1, 10000, 30, true), b = run_of(2, 10300, 30, true);
    diff d;
    compare(&d, &a, &b);
    SAYS("compared",
         "Devices, ranks and kind of steps are the same, according to the "
         "traces.");
    SAYS("diff",
         "No significant difference: a step takes 21.39 us instead of "
         "21.02 us (+1.8 %), which may be noise. "
         "The whole run takes 426.3 us instead of 418.6 us (+1.8 %). "
         "No kernel, copy or collective differs by more than noise. "
         "The device works 7.684 us more and is idle 0 ns more. "
         "The largest part is gemm +3.9 % (+389 ns), which may be noise.\n"
         "tested by step: 20 of A, 20 of B; a single trace does not show "
         "the noise between runs");
    SAYS("kernels", "None of 2 kernels differs by more than noise.");
    done(&d, &a, &b);
}

static void a_slower_kernel_is_what_changed(void **state)
{
    (void)state;
    story a = run_of(1, 10000, 1, false), b = run_of(2, 12000, 1, false);
    diff d;
    compare(&d, &a, &b);
    SAYS("compared",
         "Devices, ranks and kind of steps are the same, according to the "
         "traces.");
    SAYS("diff",
         "B is 9.5 % slower: a detected step takes 23.00 us instead of "
         "21.00 us. "
         "The whole run takes 459.0 us instead of 419.0 us (+9.5 %). "
         "The device works 39.97 us more and is idle 0 ns more. "
         "What changed: gemm +20.0 % (+1.997 us).\n"
         "tested by step: 20 of A, 20 of B, detected by repetition, not "
         "marked; a single trace does not show the noise between runs");
    SAYS("kernels", "Of 2 kernels, 1 differs by more than noise.");
    SAYS("schedule", "1 of 1 stream does the same in the same order.");
    done(&d, &a, &b);
}

static void other_numbers_of_steps_are_a_warning(void **state)
{
    (void)state;
    story a = run_with(20, 1, 10000, 2, true),
          b = run_with(30, 2, 10000, 2, true);
    diff d;
    compare(&d, &a, &b);
    diff_gates gates = { 0 };
    assert_true(diff_gate_add(&gates, &tool, "--gate", "makespan +90%"));
    assert_true(diff_gates_check(&gates, &d));
    SAYS("compared",
         "A has 20 steps, B has 30: total times cannot be compared, but "
         "times per step can.");
    SAYS("diff",
         "No significant difference: a step takes 21.00 us instead of "
         "20.98 us (+0.1 %), which may be noise. "
         "The whole run takes 629.3 us instead of 418.8 us (+50.3 %). "
         "No kernel, copy or collective differs by more than noise. "
         "The device works 200.5 us more and is idle 10.00 us more. "
         "The largest part is gemm +0.2 % (+23 ns), which may be noise. "
         "The order of operations differs on 1 stream.\n"
         "tested by step: 20 of A, 30 of B; a single trace does not show "
         "the noise between runs");
    says(&d, &gates, "gates",
         "1 of 1 gate cannot detect a change: A and B have different "
         "numbers of steps, so that totals cannot be compared; compare a "
         "step (step +3%).");
    diff_gates_close(&gates);
    done(&d, &a, &b);
}

static void steps_that_are_not_alike_are_a_warning(void **state)
{
    (void)state;
    story a = run_with(20, 1, 10000, 2, true), b = story_begin();
    for (int i = 0; i < 20; i++) {
        const int64_t at = 1000 + i * 20000;
        story_kernel(&b, S0, at + 100, at + 10100, "gemm", HOST, at + 10);
        story_zone(&b, HOST, at, at + 19000, "epoch");
    }
    diff d;
    compare(&d, &a, &b);
    SAYS("compared",
         "The steps of A and B differ in kind and are not compared.");
    SAYS("diff",
         "B takes 390.0 us, A 418.8 us (-6.9 %): there are too few steps "
         "to test whether this is noise. "
         "The device works 199.8 us less and is idle 171.0 us more. "
         "What changed: 1 kernel gone (200.0 us). "
         "The order of operations differs on 1 stream.\n"
         "tested by operation: with fewer than 8 comparable steps on both "
         "sides, the noise between steps is unknown");
    SAYS("schedule",
         "0 of 1 stream does the same in the same order.\n"
         "Pairs: operations that directly follow each other on a stream.");
    done(&d, &a, &b);
}

// A kernel, on one device or on two, with facts of its own.
static story one_kernel(int devices, int64_t rank, bool left_out)
{
    story s = story_begin();
    story_kernel(&s, S0, 100, 300, "k", HOST, 0);
    if (devices > 1) story_kernel(&s, T0, 100, 300, "k", HOST, 20);
    if (rank >= 0)
        ts_writer_metadata(s.writer, 0, "rank", TS_VALUE_INT, (uint64_t)rank);
    if (left_out)
        ts_writer_metadata(s.writer, 0, "cut.left_out", TS_VALUE_INT, 5);
    return s;
}

static void other_devices_ranks_and_parts_are_warnings(void **state)
{
    (void)state;
    story a = one_kernel(1, 0, false), b = one_kernel(2, 1, true);
    diff d;
    compare(&d, &a, &b);
    SAYS("compared",
         "A and B differ by rank: this alone may cause the following "
         "differences. "
         "A ran on 1 device, B on 2. "
         "B is a part of a trace (ts-cut), A is not: totals cannot be "
         "compared.");
    SAYS("diff",
         "B takes as long as A: it takes 200 ns instead of 200 ns. "
         "The devices together work 200 ns more and are idle 0 ns more. "
         "What changed: k +100.0 % (+200 ns).\n"
         "tested by operation: with fewer than 8 comparable steps on both "
         "sides, the noise between steps is unknown");
    SAYS("schedule", "1 of 1 stream does the same in the same order. "
                     "1 stream is only in B.");
    done(&d, &a, &b);
}

static void a_side_without_a_device_is_compared_on_the_host(void **state)
{
    (void)state;
    story a = story_begin(), b = one_kernel(1, -1, false);
    story_zone(&a, HOST, 0, 100, "work");
    story_zone(&b, HOST, 0, 150, "work");
    diff d;
    compare(&d, &a, &b);
    SAYS("compared", "A ran on 0 devices, B on 1.");
    SAYS("diff",
         "Only the host can be compared: A has no operations of a device.\n"
         "tested by operation: with fewer than 8 comparable steps on both "
         "sides, the noise between steps is unknown");
    done(&d, &a, &b);
    a = story_begin();
    b = story_begin();
    story_zone(&a, HOST, 0, 100, "work");
    story_zone(&b, HOST, 0, 150, "work");
    compare(&d, &a, &b);
    SAYS("diff",
         "Only the host can be compared: both have no operations of a "
         "device.\n"
         "tested by operation: with fewer than 8 comparable steps on both "
         "sides, the noise between steps is unknown");
    done(&d, &a, &b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_runs_differ_in_nothing),
        cmocka_unit_test(noise_is_no_difference),
        cmocka_unit_test(a_slower_kernel_is_what_changed),
        cmocka_unit_test(other_numbers_of_steps_are_a_warning),
        cmocka_unit_test(steps_that_are_not_alike_are_a_warning),
        cmocka_unit_test(other_devices_ranks_and_parts_are_warnings),
        cmocka_unit_test(a_side_without_a_device_is_compared_on_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
