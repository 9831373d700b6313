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

UNIT_TEST(equal_runs_differ_in_nothing)
{
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

UNIT_TEST(noise_is_no_difference)
{
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

UNIT_TEST(a_slower_kernel_is_what_changed)
{
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

UNIT_TEST(other_numbers_of_steps_are_a_warning)
{
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

UNIT_TEST(steps_that_are_not_alike_are_a_warning)
{
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

UNIT_TEST(other_devices_ranks_and_parts_are_warnings)
{
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

UNIT_TEST(a_side_without_a_device_is_compared_on_the_host)
{
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

// A device called so, and a rank; the sides differ in both.
static story named_device(const char *model, int rank)
{
    story s = one_kernel(1, rank, rank > 0);
    ts_writer_metadata(s.writer, D0, "name", TS_VALUE_TEXT,
                       story_name(&s, model));
    // Longer in one, and without a name, as the zone is.
    const ts_writer_value value = { TS_COLUMN_CORRELATION, 99 };
    ts_writer_event(s.writer, TS_EVENT_API_CALL, HOST, 50, 10 + 5 * rank,
                    &value, 1);
    story_zone(&s, HOST, 0, 400 + 100 * rank, "");
    return s;
}

UNIT_TEST(devices_of_other_models_are_paired)
{
    story a = named_device("V100", 1), b = named_device("A100", 0);
    diff d;
    compare(&d, &a, &b);
    done(&d, &a, &b);
}

UNIT_TEST(a_device_of_another_number_is_paired)
{
    story a = one_kernel(1, -1, false), b = story_begin();
    story_kernel(&b, T0, 100, 400, "k", HOST, 0);
    diff d;
    compare(&d, &a, &b);
    done(&d, &a, &b);
}

// Half of the time, and other launches.
UNIT_TEST(a_faster_run_takes_less_time)
{
    story a = run_of(1, 20000, 1, true), b = run_of(2, 10000, 1, true);
    diff d;
    compare(&d, &a, &b);
    done(&d, &a, &b);
}

static story with_stacks(int64_t longer)
{
    story s = story_begin();
    for (uint32_t i = 0; i < 20; i++) {
        const ts_frame_entry frame = { .offset = 0x400 + i % 2 };
        const int64_t at = 1000 * i;
        const uint32_t stack = ts_writer_stack(s.writer, &frame, 1);
        story_zone(&s, HOST, at, at + 900, "step");
        story_call(&s, HOST, at, "launch");
        story_operation(&s, TS_EVENT_KERNEL, S0, at + 100, at + 200 + longer,
                        "k", HOST, stack);
    }
    return s;
}

UNIT_TEST(stacks_zones_and_configurations_are_compared)
{
    story a = with_stacks(0), b = with_stacks(100);
    diff d;
    compare(&d, &a, &b);
    done(&d, &a, &b);
}

// A device of each of two models.
static story named_devices(const char *one, const char *two)
{
    story s = one_kernel(2, -1, false);
    const char *const models[] = { one, two };
    for (uint32_t i = 0; i < 2; i++)
        ts_writer_metadata(s.writer, D0 + 10 * i, "name", TS_VALUE_TEXT,
                           story_name(&s, models[i]));
    return s;
}

UNIT_TEST(several_devices_of_other_models_are_paired_in_order)
{
    story a = named_devices("V100", "P100"), b = named_devices("A100", "H100");
    diff d;
    compare(&d, &a, &b);
    done(&d, &a, &b);
}

UNIT_TEST(several_devices_of_other_numbers_are_paired_in_order)
{
    story a = one_kernel(2, -1, false), b = story_begin();
    for (uint32_t i = 2; i < 4; i++) {
        story_track(b.writer, 300 + i, TS_TRACK_DEVICE, PROCESS, i);
        story_track(b.writer, 310 + i, TS_TRACK_STREAM, 300 + i, 1);
        story_kernel(&b, 310 + i, 100, 350, "k", HOST, 0);
    }
    diff d;
    compare(&d, &a, &b);
    done(&d, &a, &b);
}

// A launch of a kernel with `grid` blocks.
static void put_launch(story *s, uint32_t grid, int64_t from, int64_t to)
{
    const ts_launch_entry launch = { .name = story_name(s, "gemm"),
                                     .grid = { grid, 1, 1 },
                                     .block = { 32, 1, 1 } };
    const ts_writer_value value = { TS_COLUMN_LAUNCH,
                                    ts_writer_launch(s->writer, &launch) };
    ts_writer_event(s->writer, TS_EVENT_KERNEL, S0, from, to - from, &value, 1);
}

static void put_copy(story *s, uint32_t type, int64_t from, int64_t to)
{
    const ts_writer_value value = { TS_COLUMN_TYPE, type };
    ts_writer_event(s->writer, TS_EVENT_MEMCPY, S1, from, to - from, &value, 1);
}

// Two configurations of a kernel; kinds of copies that one side has; a zone of
// each step, and a kernel of some.
static story configured(bool is_b)
{
    story s = run_of(1 + is_b, 10000, 1, true);
    const int64_t longer = is_b ? 700 : 0;
    for (int i = 0; i < 20; i++) {
        const int64_t at = 500000 + 2000 * i;
        put_launch(&s, 8, at, at + 500);
        put_launch(&s, 64, at + 500, at + 1000 + longer);
        put_copy(&s, is_b ? 1 : 2, at, at + 100);
        put_copy(&s, is_b ? 3 : 4, at + 100, at + 200);
    }
    if (is_b)
        ts_writer_metadata(s.writer, 0, "import.estimated.start_time",
                           TS_VALUE_INT, 1);
    return s;
}

UNIT_TEST(configurations_kinds_and_what_differs_between_steps)
{
    story a = configured(false), b = configured(true);
    diff d;
    compare(&d, &a, &b);
    done(&d, &a, &b);
}

UNIT_TEST(very_many_durations_of_a_name_are_thinned)
{
    story a = story_begin(), b = story_begin();
    for (int64_t i = 0; i <= DIFF_VALUES_MOST; i++) {
        story_zone(&a, HOST, i * 10, i * 10 + 4, "tick");
        story_zone(&b, HOST, i * 10, i * 10 + 5, "tick");
    }
    diff d;
    compare(&d, &a, &b);
    done(&d, &a, &b);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
