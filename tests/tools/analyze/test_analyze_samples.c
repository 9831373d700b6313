/*
    test_analyze_samples.c - functions by the samples of hand-made profiles
*/
#include "tests/tools/analyze/story_analyze.h"
#include "tools/analyze/figures/operations/samples.h"

// A stack of functions by their letters, outermost first.
static uint32_t stack_of(story *s, const char *letters)
{
    const ts_module_entry app = { .path = story_name(s, "/app") };
    const uint32_t module = ts_writer_module(s->writer, &app, NULL, 0);
    ts_frame_entry frames[16];
    uint32_t count = 0;
    for (size_t i = strlen(letters); i-- > 0;) {
        const char name[] = { letters[i], 0 };
        const ts_frame_entry frame = { module, 0,
                                       (uint64_t)(uint8_t)letters[i] };
        const ts_line_entry line = { .function = story_name(s, name) };
        ts_writer_symbol(s->writer, &frame, &line, 1);
        frames[count++] = frame;
    }
    return count ? ts_writer_stack(s->writer, frames, count) : 0;
}

static void put_sample(story *s, const char *name, const char *unit,
                       ts_value_type type, uint64_t weight, const char *stack)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_NAME, *name ? story_name(s, name) : 0 },
        { TS_COLUMN_UNIT, *unit ? story_name(s, unit) : 0 },
        { TS_COLUMN_TYPE, type },
        { TS_COLUMN_VALUE, weight },
        { TS_COLUMN_STACK, stack_of(s, stack) },
    };
    ts_writer_event(s->writer, TS_EVENT_SAMPLE, HOST, 100, 0, values, 5);
}

static void put_real(story *s, const char *unit, double weight,
                     const char *stack)
{
    uint64_t bits;
    memcpy(&bits, &weight, sizeof bits);
    put_sample(s, "wall", unit, TS_VALUE_DOUBLE, bits, stack);
}

static void expect_function(const samples *s, const samples_function *f,
                            const char *name, int64_t self, int64_t total)
{
    const ts_text text = s->paths.names[f->name];
    assert_int_equal(strlen(name), text.size);
    assert_memory_equal(name, text.text, text.size);
    assert_int_equal(self, f->self);
    assert_int_equal(total, f->total);
}

UNIT_TEST(a_function_that_calls_itself_counts_once_in_its_total)
{
    story s = story_begin();
    analyze_job job;
    put_sample(&s, "cpu", "ns", TS_VALUE_INT, 30, "mab");
    put_sample(&s, "cpu", "ns", TS_VALUE_INT, 20, "maa");
    put_sample(&s, "cpu", "ns", TS_VALUE_INT, 7, "m");
    story_open(&s, &job, false);
    samples all;
    samples_function *list;
    size_t count;
    assert_true(samples_open(&all, &job));
    assert_int_equal(3, all.count);
    samples_weigh(&all, samples_main(&all));
    assert_true(samples_functions(&all, &list, &count));
    assert_int_equal(3, count);
    expect_function(&all, &list[0], "b", 30, 30);
    expect_function(&all, &list[1], "a", 20, 50);
    expect_function(&all, &list[2], "m", 7, 57);
    free(list);
    samples_close(&all);
    REPORT(s.path, "samples");
    analyze_close(&job);
    story_end(&s);
}

UNIT_TEST(weights_are_shown_in_their_unit)
{
    story s = story_begin();
    analyze_job job;
    put_real(&s, "milliseconds", 1.5, "a");
    put_real(&s, "milliseconds", 0.0000004, "b");
    put_real(&s, "milliseconds", -3, "b");
    put_sample(&s, "heap", "bytes", TS_VALUE_INT, 4096, "ab");
    put_sample(&s, "", "", TS_VALUE_INT, 2, "");
    put_sample(&s, "", "", TS_VALUE_INT, 1, "a");
    story_open(&s, &job, false);
    samples all;
    assert_true(samples_open(&all, &job));
    assert_int_equal(3, all.type_count);
    assert_ptr_equal(&all.types[0], samples_main(&all));
    assert_int_equal(REPORT_NS, all.types[0].shown);
    assert_int_equal(REPORT_BYTES, all.types[1].shown);
    assert_int_equal(REPORT_COUNT, all.types[2].shown);
    assert_int_equal(1, all.types[2].without_stack);
    samples_close(&all);
    REPORT(s.path, "samples");
    analyze_close(&job);
    story_end(&s);
}

UNIT_TEST(samples_without_a_stack_are_counted)
{
    story s = story_begin();
    analyze_job job;
    put_sample(&s, "cycles", "", TS_VALUE_INT, 2, "");
    put_sample(&s, "cycles", "", TS_VALUE_INT, 1, "a");
    story_open(&s, &job, false);
    REPORT(s.path, "samples");
    analyze_close(&job);
    story_end(&s);
}

UNIT_TEST(samples_may_have_no_weight)
{
    story s = story_begin();
    analyze_job job;
    put_sample(&s, "cycles", "", TS_VALUE_INT, 0, "a");
    put_sample(&s, "cycles", "", TS_VALUE_INT, (uint64_t)-1, "a");
    story_open(&s, &job, false);
    REPORT(s.path, "samples");
    analyze_close(&job);
    story_end(&s);
}

UNIT_TEST(small_fractions_of_weights_are_not_rounded_away)
{
    story s = story_begin();
    analyze_job job;
    put_real(&s, "", 0.4, "ma");
    put_real(&s, "", 0.3, "mb");
    put_real(&s, "", 0.2, "mc");
    story_open(&s, &job, false);
    REPORT(s.path, "samples");
    analyze_close(&job);
    story_end(&s);
}

// Of the types with the most samples it is the last, as in pprof.
UNIT_TEST(types_beyond_the_most_are_left_out)
{
    story s = story_begin();
    analyze_job job;
    for (int i = 0; i < SAMPLES_TYPES + 2; i++) {
        char name[8];
        snprintf(name, sizeof name, "t%d", i);
        put_sample(&s, name, "", TS_VALUE_INT, 1, "a");
    }
    story_open(&s, &job, false);
    samples all;
    assert_true(samples_open(&all, &job));
    assert_int_equal(SAMPLES_TYPES, all.type_count);
    assert_int_equal(2, all.left_out);
    assert_ptr_equal(&all.types[SAMPLES_TYPES - 1], samples_main(&all));
    samples_close(&all);
    REPORT(s.path, "samples");
    analyze_close(&job);
    story_end(&s);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
