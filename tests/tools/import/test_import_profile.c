/*
    test_import_profile.c - profiles of other tools become samples

    Sources are written by hand, by the descriptions of their formats.
*/
#include "tests/tools/import/import_fixture.h"
#include "tools/import/profile/profile.h"

static void expect(const char *source, const char *events)
{
    import_expect(fixture_save(source, strlen(source)), events);
}

// The name of the format that recognises a text; "" if none does.
static const char *format_of(const void *bytes, size_t size)
{
    import_input *const input =
        import_input_open(&fixture_tool, fixture_save(bytes, size));
    assert_non_null(input);
    import_source *const source = import_input_next(input);
    const import_format *const *format = import_formats;
    while (source && *format && !(*format)->recognise(source))
        format++;
    const char *const name = source && *format ? (*format)->name : "";
    import_input_close(input);
    return name;
}

static void expect_format(const char *name, const char *text)
{
    assert_string_equal(name, format_of(text, strlen(text)));
}

#define ON "sample on thread 1 source"

/* ---- Folded stacks ------------------------------------------------------- */

UNIT_TEST(folded_stacks_are_samples_at_time_0)
{
    expect("# a remark\n"
           "main;work;leaf 12\r\n"
           "\n"
           "main;work with blanks 0.5\n"
           "main -3\n"
           "main;work;leaf 12\n"
           "; 7\n",
           "0+0 " ON
           " type=1 value=12 stack=leaf@profile<work@profile<main@profile\n"
           "0+0 " ON " type=2 value=4602678819172646912 "
           "stack=work with blanks@profile<main@profile\n"
           "0+0 " ON " type=1 value=-3 stack=main@profile\n"
           "0+0 " ON
           " type=1 value=12 stack=leaf@profile<work@profile<main@profile\n"
           "0+0 " ON
           " type=1 value=7 stack=[unknown]@profile<[unknown]@profile\n");
}

UNIT_TEST(functions_of_folded_stacks_may_begin_like_remarks)
{
    expect("# a remark\n"
           "// another one\n"
           "#1 in foo;a 10\n"
           "//x 3\n",
           "0+0 " ON " type=1 value=10 stack=a@profile<#1 in foo@profile\n"
           "0+0 " ON " type=1 value=3 stack=//x@profile\n");
}

UNIT_TEST(of_a_difference_of_folded_stacks_the_second_weight_is_taken)
{
    expect("main;a 10 20\n"
           "main;b 3 4.5\n",
           "0+0 " ON " type=1 value=20 stack=a@profile<main@profile\n"
           "0+0 " ON " type=2 value=4616752568008179712 "
           "stack=b@profile<main@profile\n"
           "flawed first_weight_dropped 2\n");
    expect("main;a 10 20\n"
           "main;b 3\n",
           "0+0 " ON " type=1 value=20 stack=a 10@profile<main@profile\n"
           "0+0 " ON " type=1 value=3 stack=b@profile<main@profile\n");
}

UNIT_TEST(broken_lines_of_folded_stacks_are_counted)
{
    char text[4096];
    int size = snprintf(text, sizeof text, "a;b 1\n");
    for (int i = 0; i < 100; i++)
        size += snprintf(text + size, sizeof text - (size_t)size, "a;b 0\n");
    snprintf(text + size, sizeof text - (size_t)size,
             "a;b\na;b nan\n 1\na;b 12345678901234567890\na;b 1e999\n");
    imported i =
        import_into(fixture_save(text, strlen(text)), fixture_path(1, "o"));
    assert_int_equal(102, i.job->events[TS_EVENT_SAMPLE]);
    assert_int_equal(4, import_tallied(&i.job->bad, "broken_row"));
    assert_int_equal(106, i.job->rows);
    import_done(&i);
}

UNIT_TEST(a_stack_that_is_too_deep_keeps_its_innermost_functions)
{
    const size_t size = 3 * (PROFILE_FRAMES_MOST + 10);
    char *const text = malloc(size + 8);
    assert_non_null(text);
    for (size_t i = 0; i < size; i += 3)
        memcpy(text + i, "ab;", 3);
    memcpy(text + size, "leaf 1\n", 8);
    imported i =
        import_into(fixture_save(text, size + 7), fixture_path(1, "o"));
    assert_int_equal(1, i.job->events[TS_EVENT_SAMPLE]);
    assert_int_equal(1, import_tallied(&i.job->flawed, "deep_stack"));
    const ts_frame_entry *frames;
    const ts_line_entry *line;
    assert_int_equal(PROFILE_FRAMES_MOST,
                     ts_reader_stack(i.reader, 1, &frames));
    assert_int_equal(1, ts_reader_symbol(i.reader, &frames[0], &line));
    const ts_text name = ts_reader_name(i.reader, line->function);
    assert_int_equal(4, name.size);
    assert_memory_equal("leaf", name.text, 4);
    import_done(&i);
    free(text);
}

/* ---- perf script --------------------------------------------------------- */

UNIT_TEST(samples_of_perf_have_thread_time_event_and_period)
{
    expect("# ========\n"
           "# captured on: today\n"
           "\n"
           "V8 Worker 1 24636/25607 [003] 94564.109216:     100 cycles:u: \n"
           "\t    7f1e214c24d9 operator()(int (*)(char))+0x1f (/lib/a b.so)\n"
           "\t             40 main (/app)\n"
           "\n"
           "swapper     0 [000]     1.5:  cpu-clock:  extra: words\n"
           "\tffffffff8104f45a [unknown] ([kernel.kallsyms])\n"
           "\n"
           "app 7 2.000000001:    250000 task-clock:ppp:\n"
           "\t 40 inner (inlined)\n"
           "\t 40 outer+0xffff018fd5dce000 (/app)\n"
           "\t 50  (/app)\n",
           "1500000000+0 sample on thread 0 swapper name=cpu-clock type=1 "
           "value=1 stack=[unknown]@[kernel.kallsyms]\n"
           "2000000001+0 sample on thread 7 app name=task-clock:ppp unit=ns "
           "type=1 value=250000 "
           "stack=inner@profile<outer@/app<[unknown]@/app\n"
           "94564109216000+0 sample on process 24636/thread 25607 V8 Worker 1 "
           "name=cycles:u type=1 value=100 "
           "stack=operator()(int (*)(char))@/lib/a b.so<main@/app\n"
           "flawed text_behind_event 1\n");
}

UNIT_TEST(samples_of_perf_may_have_a_calendars_times_and_modes)
{
    expect("py thon 123/124 [000] U 1700000001.5:  25 cycles: \n"
           "\t 401000 main+0x1 (/bin/ls)\n"
           "\n"
           "x [000] 9300000000.5: 25 cycles: \n", // no thread, no time
           "1700000001500000000+0 sample on process 123/thread 124 py thon "
           "name=cycles type=1 value=25 stack=main@/bin/ls\n"
           "bad broken_row 1\n");
}

UNIT_TEST(samples_of_perf_without_stacks_have_one_function)
{
    expect("ls 123 [000] 7.5:     2 cpu-clock:pppH:    ff8100 do_x+0x1f ([k])\n"
           "ls 123 [000] 8.5:     3 cpu-clock:pppH:    401abc work (/bin/ls)\n"
           "ls 123 cycles:    401abc work (/bin/ls)\n",
           "0+0 sample on thread 123 ls name=cycles type=1 value=1 "
           "stack=work@/bin/ls\n"
           "7500000000+0 sample on thread 123 ls name=cpu-clock:pppH unit=ns "
           "type=1 value=2 stack=do_x@[k]\n"
           "8500000000+0 sample on thread 123 ls name=cpu-clock:pppH unit=ns "
           "type=1 value=3 stack=work@/bin/ls\n"
           "flawed no_time 1\n");
}

UNIT_TEST(files_of_perf_may_have_parentheses)
{
    expect("ls 1 7.5: 2 cycles:\n"
           "\t401 f(int (*)(int))+0x3 (/a b/c (deleted))\n"
           "\t402 g (/a(b)\n"
           "\t403 h)\n",
           "7500000000+0 sample on thread 1 ls name=cycles type=1 value=2 "
           "stack=f(int (*)(int))@/a b/c (deleted)<g@/a(b<h)@profile\n");
}

UNIT_TEST(samples_of_perf_without_times_lie_at_0)
{
    expect("java  3244 cpu-clock: \n"
           "    7f1e SpinPause (/libjvm.so)\n"
           "java  3244 cpu-clock:\n"
           "    7f1g wrong (/libjvm.so)\n",
           "0+0 sample on thread 3244 java name=cpu-clock type=1 value=1 "
           "stack=SpinPause@/libjvm.so\n"
           "0+0 sample on thread 3244 java name=cpu-clock type=1 value=1\n"
           "bad broken_row 1\n"
           "flawed no_time 2\n");
}

/* ---- speedscope ---------------------------------------------------------- */

UNIT_TEST(sampled_profiles_follow_each_other_in_time)
{
    expect("{\"profiles\":[{\"type\":\"sampled\",\"name\":\"one\","
           "\"unit\":\"milliseconds\",\"weights\":[2,0.5,1],"
           "\"samples\":[[0,1],[0],[]],\"startValue\":10,\"endValue\":13},"
           "{\"type\":\"sampled\",\"name\":\"two\",\"unit\":\"bytes\","
           "\"startValue\":0,\"samples\":[[1]],\"weights\":[4096]}],"
           "\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
           "\"shared\":{\"frames\":[{\"name\":\"main\",\"file\":\"m.c\","
           "\"line\":3,\"col\":9},{\"name\":\"f\"}]}}",
           "0+0 sample on thread 2 two unit=bytes type=1 value=4096 "
           "stack=f@profile\n"
           "10000000+0 sample on thread 1 one unit=milliseconds type=1 value=2 "
           "stack=f@profile<main@profile(m.c:3)\n"
           "12000000+0 sample on thread 1 one unit=milliseconds type=2 "
           "value=4602678819172646912 stack=main@profile(m.c:3)\n"
           "12500000+0 sample on thread 1 one unit=milliseconds type=1 "
           "value=1\n");
}

UNIT_TEST(evented_profiles_are_samples_between_their_events)
{
    expect("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\""
           ",\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":\"b\"}]},"
           "\"profiles\":[{\"type\":\"evented\",\"name\":\"t\","
           "\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":30,"
           "\"events\":[{\"type\":\"O\",\"frame\":0,\"at\":5},"
           "{\"type\":\"O\",\"frame\":1,\"at\":7},"
           "{\"type\":\"C\",\"frame\":1,\"at\":10},"
           "{\"type\":\"O\",\"frame\":1,\"at\":10},"
           "{\"type\":\"C\",\"frame\":0,\"at\":11},"
           "{\"type\":\"C\",\"frame\":1,\"at\":12},"
           "{\"type\":\"C\",\"frame\":0,\"at\":9},"
           "{\"type\":\"O\",\"frame\":5,\"at\":14}]}]}",
           "5+0 sample on thread 1 t unit=nanoseconds type=1 value=2 "
           "stack=a@profile\n"
           "7+0 sample on thread 1 t unit=nanoseconds type=1 value=3 "
           "stack=b@profile<a@profile\n"
           "10+0 sample on thread 1 t unit=nanoseconds type=1 value=1 "
           "stack=b@profile<a@profile\n"
           "11+0 sample on thread 1 t unit=nanoseconds type=1 value=1 "
           "stack=b@profile<a@profile\n"
           "12+0 sample on thread 1 t unit=nanoseconds type=1 value=2 "
           "stack=a@profile\n"
           "bad unmatched_close 1\n"
           "bad reversed_time 1\n"
           "flawed open_frame 1\n"
           "flawed unknown_frame 1\n");
}

#define BEGIN \
    "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\"," \
    "\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":\"b\"}]},\"profiles\":["

// A double has no single ns of a time since 1970.
UNIT_TEST(whole_times_of_speedscope_keep_each_ns)
{
    expect(BEGIN "{\"type\":\"evented\",\"unit\":\"nanoseconds\",\"events\":["
                 "{\"type\":\"O\",\"frame\":0,\"at\":1700000000000000001},"
                 "{\"type\":\"O\",\"frame\":1,\"at\":1700000000000000102},"
                 "{\"type\":\"C\",\"frame\":1,\"at\":1700000000000000201},"
                 "{\"type\":\"C\",\"frame\":0,\"at\":1700000000000000200}]},"
                 "{\"type\":\"sampled\",\"unit\":\"nanoseconds\","
                 "\"startValue\":1700000000000000001,\"samples\":[[0],[1]],"
                 "\"weights\":[103,9223372036854775807,6]}]}",
           "1700000000000000001+0 sample on thread 1 unit=nanoseconds type=1 "
           "value=101 stack=a@profile\n"
           "1700000000000000001+0 sample on thread 2 unit=nanoseconds type=1 "
           "value=103 stack=a@profile\n"
           "1700000000000000102+0 sample on thread 1 unit=nanoseconds type=1 "
           "value=99 stack=b@profile<a@profile\n"
           "1700000000000000104+0 sample on thread 2 unit=nanoseconds type=1 "
           "value=9223372036854775807 stack=b@profile\n"
           "bad reversed_time 1\n"
           "bad extra_weight 1\n"
           "flawed open_frame 1\n");
}

UNIT_TEST(events_of_speedscope_need_a_type_a_time_and_a_frame)
{
    expect(BEGIN "{\"type\":\"evented\",\"unit\":\"none\",\"events\":["
                 "{\"type\":\"O\",\"frame\":0,\"at\":1},"
                 "{\"type\":\"Close\",\"frame\":0,\"at\":2},"
                 "{\"frame\":0,\"at\":3},"
                 "{\"type\":\"C\",\"at\":4},"
                 "{\"type\":\"C\",\"frame\":0},"
                 "{\"type\":\"C\",\"frame\":0,\"at\":6}]}]}",
           "0+0 sample on thread 1 type=1 value=5 stack=a@profile\n"
           "bad broken_event 4\n");
}

UNIT_TEST(a_text_of_speedscope_that_has_no_end_is_broken)
{
    static const char begin[] = BEGIN "],\"name\":\"";
    const size_t size = (size_t)20 << 20;
    char *const text = malloc(size);
    assert_non_null(text);
    memset(text, 'x', size);
    memcpy(text, begin, sizeof begin - 1);
    memcpy(text + size - 2, "\"}", 2);
    imported i = import_into(fixture_save(text, size), fixture_path(1, "o"));
    assert_int_equal(1, import_tallied(&i.job->bad, "broken_json"));
    assert_true(i.job->is_cut);
    import_done(&i);
    free(text);
}

UNIT_TEST(a_cut_profile_of_speedscope_keeps_what_was_read)
{
    static const char text[] =
        "{\"shared\":{\"frames\":[{\"name\":\"a\"}]},\"profiles\":["
        "{\"type\":\"wrong\",\"unit\":\"none\"},"
        "{\"type\":\"sampled\",\"name\":\"t\",\"unit\":\"none\","
        "\"weights\":[1,true,\"2\",{\"a\":[[[[[[[[[[[[[[[3]]]]]]]]]]]]]]]},2],"
        "\"samples\":[[0],[0],[0],[0";
    imported i =
        import_into(fixture_save(text, strlen(text)), fixture_path(1, "o"));
    assert_int_equal(2, i.job->events[TS_EVENT_SAMPLE]);
    assert_int_equal(1, import_tallied(&i.job->bad, "broken_json"));
    assert_int_equal(1, import_tallied(&i.job->bad, "no_weight"));
    assert_int_equal(1, import_tallied(&i.job->bad, "unknown_profile"));
    assert_true(i.job->is_cut);
    import_done(&i);
}

/* ---- pprof --------------------------------------------------------------- */

typedef struct bytes {
    uint8_t data[4096];
    size_t size;
} bytes;

static void varint(bytes *b, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        b->data[b->size++] = (uint8_t)(value | 0x80);
    b->data[b->size++] = (uint8_t)value;
}

static void number(bytes *b, uint32_t field, uint64_t value)
{
    varint(b, field << 3);
    varint(b, value);
}

static void put(bytes *b, uint32_t field, const void *data, size_t size)
{
    varint(b, field << 3 | 2);
    varint(b, size);
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

// A message of numbers: field 1, 2, ...
static void numbers(bytes *b, uint32_t field, const uint64_t *values,
                    uint32_t count)
{
    bytes m = { .size = 0 };
    for (uint32_t i = 0; i < count; i++)
        if (values[i]) number(&m, i + 1, values[i]);
    put(b, field, m.data, m.size);
}
#define NUMBERS(b, field, ...) \
    numbers(b, field, (const uint64_t[]){ __VA_ARGS__ }, \
            sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8)

static void packed(bytes *b, uint32_t field, uint64_t one, uint64_t two)
{
    bytes m = { .size = 0 };
    varint(&m, one);
    varint(&m, two);
    put(b, field, m.data, m.size);
}

static const char *const strings[] = { "",        "samples",     "count",
                                       "cpu",     "nanoseconds", "/bin/app",
                                       "0a1b",    "main.f",      "main.g",
                                       "main.go", "tag",         "f(int)" };

// Two types, a location with two functions (one of them inlined), one without.
static bytes pprof_begin(void)
{
    bytes b = { .size = 0 };
    number(&b, 9, 1700000000000000000);
    NUMBERS(&b, 1, 1, 2);
    NUMBERS(&b, 1, 3, 4);
    number(&b, 10, 5000);
    NUMBERS(&b, 11, 3, 4);
    number(&b, 12, 10000000);
    NUMBERS(&b, 3, 1, 0x400000, 0x500000, 0x1000, 5, 6);
    bytes location = { .size = 0 };
    number(&location, 1, 7);
    number(&location, 2, 1);
    number(&location, 3, 0x400010);
    NUMBERS(&location, 4, 2, 33);
    NUMBERS(&location, 4, 1, 44);
    put(&b, 4, location.data, location.size);
    NUMBERS(&b, 4, 8, 1, 0x400020);
    NUMBERS(&b, 4, 9, 0, 0x77);
    NUMBERS(&b, 5, 1, 7, 11, 9);
    NUMBERS(&b, 5, 2, 8, 0, 9);
    return b;
}

static void pprof_end(bytes *b)
{
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        put(b, 6, strings[i], strlen(strings[i]));
}

UNIT_TEST(each_value_of_a_sample_of_pprof_is_a_sample)
{
    bytes b = pprof_begin(), s = { .size = 0 }, t = { .size = 0 };
    packed(&s, 1, 8, 7);
    packed(&s, 2, 2, 20000000);
    NUMBERS(&s, 3, 10, 2);
    put(&b, 2, s.data, s.size);
    number(&t, 1, 9); // not packed
    number(&t, 2, 1);
    number(&t, 2, (uint64_t)-5);
    put(&b, 2, t.data, t.size);
    pprof_end(&b);
    import_expect(
        fixture_save(b.data, b.size),
        "0+0 " ON " name=samples unit=count type=1 value=2 "
        "stack=0x1020@/bin/app<main.g@/bin/app(main.go:33)<"
        "main.f@/bin/app(main.go:44)\n"
        "0+0 " ON " name=cpu unit=nanoseconds type=1 value=20000000 "
        "stack=0x1020@/bin/app<main.g@/bin/app(main.go:33)<"
        "main.f@/bin/app(main.go:44)\n"
        "0+0 " ON " name=samples unit=count type=1 value=1 stack=0x77@\n"
        "0+0 " ON " name=cpu unit=nanoseconds type=1 value=-5 stack=0x77@\n"
        "no place tag 1\n");
}

UNIT_TEST(what_is_wrong_in_a_profile_of_pprof_is_counted)
{
    bytes b = pprof_begin(), s = { .size = 0 }, t = { .size = 0 };
    bytes location = { .size = 0 };
    number(&location, 1, 20);
    NUMBERS(&location, 4, 99, 1);
    put(&b, 4, location.data, location.size);
    packed(&s, 1, 100, 20);
    number(&s, 2, 1);
    put(&b, 2, s.data, s.size);
    packed(&t, 2, 1, 2);
    number(&t, 2, 3);
    put(&b, 2, t.data, t.size);
    pprof_end(&b);
    b.size--; // inside of the last string
    imported i =
        import_into(fixture_save(b.data, b.size), fixture_path(1, "o"));
    assert_int_equal(3, i.job->events[TS_EVENT_SAMPLE]);
    assert_int_equal(1, import_tallied(&i.job->bad, "no_value"));
    assert_int_equal(1, import_tallied(&i.job->bad, "extra_value"));
    assert_int_equal(1, import_tallied(&i.job->bad, "broken_message"));
    assert_int_equal(1, import_tallied(&i.job->flawed, "unknown_location"));
    assert_int_equal(1, import_tallied(&i.job->flawed, "unknown_function"));
    assert_true(i.job->is_cut);
    import_done(&i);
}

// Looked up once, its 50 lines are counted once, and not for each of 100 uses.
UNIT_TEST(a_location_of_pprof_is_looked_up_once)
{
    bytes b = pprof_begin(), s = { .size = 0 }, location = { .size = 0 };
    uint8_t uses[100];
    number(&location, 1, 20);
    for (int i = 0; i < 50; i++)
        NUMBERS(&location, 4, 99, 1);
    put(&b, 4, location.data, location.size);
    memset(uses, 20, sizeof uses);
    put(&s, 1, uses, sizeof uses);
    packed(&s, 2, 1, 2);
    put(&b, 2, s.data, s.size);
    pprof_end(&b);
    imported i =
        import_into(fixture_save(b.data, b.size), fixture_path(1, "o"));
    const ts_frame_entry *frames;
    assert_int_equal(PROFILE_FRAMES_MOST,
                     ts_reader_stack(i.reader, 1, &frames));
    assert_int_equal(1, import_tallied(&i.job->flawed, "deep_stack"));
    assert_int_equal(50, import_tallied(&i.job->flawed, "unknown_function"));
    import_done(&i);
}

UNIT_TEST(a_mapping_of_pprof_keeps_its_size)
{
    bytes b = pprof_begin(), s = { .size = 0 };
    packed(&s, 1, 8, 7);
    packed(&s, 2, 1, 2);
    put(&b, 2, s.data, s.size);
    pprof_end(&b);
    imported i =
        import_into(fixture_save(b.data, b.size), fixture_path(1, "o"));
    const ts_module_entry *const module = ts_reader_module(i.reader, 1);
    assert_non_null(module);
    assert_int_equal(0x3ff000, module->address);
    assert_int_equal(0x101000, module->size);
    import_done(&i);
}

UNIT_TEST(a_file_that_is_no_profile_for_its_size_is_refused)
{
    const size_t most = profile_bytes_most;
    bytes b = pprof_begin();
    profile_bytes_most = 1 << 10;
    char *const said = import_refused(fixture_save(b.data, b.size));
    profile_bytes_most = most;
    assert_non_null(
        strstr(said, "is larger than any profile of pprof (1 GiB)"));
    free(said);
}

/* ---- Recognition --------------------------------------------------------- */

UNIT_TEST(profiles_are_recognised_by_their_content)
{
    bytes b = pprof_begin();
    pprof_end(&b);
    assert_string_equal("pprof", format_of(b.data, b.size));
    expect_format("folded", "main;f 1");
    expect_format("perf", "a 1 2.5: cycles:\n");
    expect_format("perf", "# remark\na 1/2 [0] cycles:\n");
    expect_format("", "main 1\n"); // no function below it
    expect_format("", "a;b\n");    // no weight
    expect_format("", "heap profile: 3: 4 [1: 5] @ heap/1048576\n");
    expect_format("", "Copyright 2024 words: more\n");
    expect_format("kineto", "{\"traceEvents\":[]}");
    expect_format("speedscope",
                  "{\"profiles\":[{\"type\":\"sampled\"}],\"shared\":{}}");
}

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}
