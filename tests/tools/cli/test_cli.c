// What all tools share: times, lists, numbers, UTF-8, JSON.
#include "tools/cli/cli.h"
#include "tools/analyze/output/html.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "tests/unit.h"
#include <math.h>
#include <signal.h>
#include <unistd.h>

static int64_t time_of(const char *text)
{
    int64_t ns = -1;
    assert_true(cli_parse_time(text, &ns));
    return ns;
}

UNIT_TEST(a_time_needs_a_unit_and_is_exact)
{
    assert_int_equal(100, time_of("100ns"));
    assert_int_equal(20000, time_of("20us"));
    assert_int_equal(20000, time_of("20\u00b5s"));
    assert_int_equal(1500000, time_of("1.5ms"));
    assert_int_equal(-3000000000, time_of("-3s"));
    assert_int_equal(1, time_of("0.000000001s"));
    assert_int_equal(1, time_of("0.0000000019s"));
    assert_int_equal(INT64_C(123456789012345678),
                     time_of("123456789.012345678s"));
    assert_int_equal(INT64_C(120000000000), time_of("2min"));
    assert_int_equal(INT64_C(5400000000000), time_of("1.5h"));
    assert_int_equal(0, time_of("0"));
    assert_int_equal(0, time_of("0.0"));
}

UNIT_TEST(what_is_no_time_is_refused)
{
    static const char *const wrong[] = {
        "",        "5",     "ms",   "1.5",         "1,5ms",
        "1.5.2ms", "1 ms",  "1mss", "0x5ms",       "--1ms",
        ".5ms",    "1e3ms", "nan",  "9999999999h", "9999999999999999999ns",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int64_t ns = 0;
        if (cli_parse_time(wrong[i], &ns)) fail_msg("\"%s\"", wrong[i]);
    }
}

static bool has(const char *list, const char *name)
{
    return cli_list_has(list, name, strlen(name));
}

UNIT_TEST(a_list_has_patterns)
{
    assert_true(has("main", "main"));
    assert_true(has("a,main,b", "main"));
    assert_true(has("work*", "worker 1"));
    assert_true(has("*a*b*c", "xxaxbxbxc"));
    assert_true(has("*", ""));
    assert_false(has("main", "mainly"));
    assert_false(has("a,b", "a,b"));
    assert_false(has("*a*b*c", "xxaxcxb"));
    assert_false(has("", "x"));
    // No exponential search.
    assert_false(
        has("*a*a*a*a*a*a*a*a*a*b",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

static bool matches(const char *regex, const char *name)
{
    regex_t compiled;
    cli_text why;
    assert_true(cli_regex_open(&compiled, regex, strlen(regex), &why));
    const ts_text text = { name, strlen(name) };
    const bool yes = cli_regex_matches(&compiled, text);
    regfree(&compiled);
    return yes;
}

UNIT_TEST(an_expression_matches_a_part_of_a_name)
{
    assert_true(matches("nccl", "void ncclKernel<int>()"));
    assert_true(matches("^void nccl", "void ncclKernel<int>()"));
    assert_false(matches("^nccl", "void ncclKernel<int>()"));
    assert_true(matches("^gemm$", "gemm"));
    assert_false(matches("^gemm$", "gemms"));
    assert_true(matches("ge+m|relu", "my relu"));
    // Only the given bytes count, not what follows them.
    regex_t compiled;
    cli_text why;
    assert_true(cli_regex_open(&compiled, "gemm=2", 4, &why));
    assert_true(cli_regex_matches(&compiled, (ts_text){ "gemm2", 4 }));
    regfree(&compiled);
    assert_false(cli_regex_open(&compiled, "(", 1, &why));
    assert_non_null(strstr(why.s, "("));
}

UNIT_TEST(an_expression_matches_a_mangled_name_as_either)
{
    char *const read = cli_demangle("_Z4gemmIfEvPT_");
    if (!read) skip(); // without a C++ library
    free(read);
    assert_true(matches("^_Z4gemmIf", "_Z4gemmIfEvPT_"));
    assert_true(matches("gemm<float>", "_Z4gemmIfEvPT_"));
    assert_false(matches("gemm<double>", "_Z4gemmIfEvPT_"));
}

UNIT_TEST(numbers_are_short_and_have_units)
{
    assert_string_equal("0", cli_count(0).s);
    assert_string_equal("999", cli_count(999).s);
    assert_string_equal("1,234,567", cli_count(1234567).s);
    assert_string_equal("18,446,744,073,709,551,615", cli_count(UINT64_MAX).s);
    assert_string_equal("1023 B", cli_bytes(1023).s);
    assert_string_equal("1.500 KiB", cli_bytes(1536).s);
    assert_string_equal("999 ns", cli_time(999).s);
    assert_string_equal("1.000 us", cli_time(1000).s);
    assert_string_equal("12.35 ms", cli_time(12345678).s);
    assert_string_equal("-123.5 s", cli_time(-123456789012).s);
    assert_string_equal("2023-11-14 22:13:20.000000001 UTC",
                        cli_date(UINT64_C(1700000000000000001)).s);
}

static uint32_t code_of(const char *text, size_t size, size_t used)
{
    uint32_t code;
    assert_int_equal(used, cli_utf8(text, size, &code));
    return code;
}

UNIT_TEST(what_rounds_to_nothing_has_no_sign)
{
    assert_string_equal("0.00 %", cli_change(-8.0 / 84490000, 2).s);
    assert_string_equal("0.00 %", cli_change(0.00004, 2).s);
    assert_string_equal("0.0 %", cli_change(-0.0, 1).s);
    assert_string_equal("-0.01 %", cli_change(-0.0001, 2).s);
    assert_string_equal("+0.1 %", cli_change(0.001, 1).s);
    assert_string_equal("+100.0 %", cli_change(1, 1).s);
    assert_string_equal("-33.3 %", cli_change(-1.0 / 3, 1).s);
    assert_string_equal("0.0 %", cli_percent(-0.0001).s);
    assert_string_equal("-10.0 %", cli_percent(-0.1).s);
    assert_string_equal("100.0 %", cli_percent(1).s);
}

UNIT_TEST(invalid_utf_8_is_one_byte_at_a_time)
{
    assert_int_equal('a', code_of("a", 1, 1));
    assert_int_equal(0xE9, code_of("\xc3\xa9", 2, 2));
    assert_int_equal(0x20AC, code_of("\xe2\x82\xac", 3, 3));
    assert_int_equal(0x10FFFF, code_of("\xf4\x8f\xbf\xbf", 4, 4));
    assert_int_equal(0xFFFD, code_of("\xc3", 1, 1));             // cut
    assert_int_equal(0xFFFD, code_of("\xc0\xaf", 2, 1));         // overlong
    assert_int_equal(0xFFFD, code_of("\xe0\x80\xaf", 3, 1));     // overlong
    assert_int_equal(0xFFFD, code_of("\xed\xa0\x80", 3, 1));     // surrogate
    assert_int_equal(0xFFFD, code_of("\xf4\x90\x80\x80", 4, 1)); // too large
    assert_int_equal(0xFFFD, code_of("\x80", 1, 1));
    assert_int_equal(0xFFFD, code_of("\xff", 1, 1));
    code_of("", 0, 0);
}

static const char *shown(const char *text, bool html)
{
    static char got[128];
    FILE *const out = tmpfile();
    if (html)
        html_string(out, text);
    else
        cli_put_text(out, text, strlen(text));
    rewind(out);
    got[fread(got, 1, sizeof got - 1, out)] = 0;
    fclose(out);
    return got;
}

// U+202E and its like reverse what follows; U+2028 ends a line.
UNIT_TEST(nothing_turns_the_direction_of_a_text)
{
    static const char *const harmful[] = { "\u061c", "\u200e", "\u200f",
                                           "\u2028", "\u202a", "\u202e",
                                           "\u2066", "\u2069" };
    for (size_t i = 0; i < sizeof harmful / sizeof *harmful; i++) {
        char text[32];
        snprintf(text, sizeof text, "a%sb", harmful[i]);
        assert_string_equal(cli_unicode() ? "a\uFFFDb" : "a?b",
                            shown(text, false));
        assert_string_equal("a\uFFFDb", shown(text, true));
    }
    // Hebrew, a joiner of emoji and a word joiner are text.
    static const char text[] = "\u05d0\u200d\u2060\u2065\u2027\u202f";
    assert_string_equal(text, shown(text, false));
    assert_string_equal(text, shown(text, true));
}

UNIT_TEST(json_is_escaped_and_complete)
{
    char *text = NULL;
    size_t size = 0;
    cli_json json = { .out = open_memstream(&text, &size), .lines = 1 };
    assert_non_null(json.out);
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "a\"b", "\"\\\n\t\x01\x7f\xff\xc3\xa9\0!", 11);
    cli_json_open(&json, "list", '[');
    cli_json_int(&json, NULL, INT64_MIN);
    cli_json_uint(&json, NULL, UINT64_MAX);
    cli_json_real(&json, NULL, 0.1);
    cli_json_real(&json, NULL, NAN);
    cli_json_bool(&json, NULL, true);
    cli_json_open(&json, NULL, '{');
    cli_json_close(&json, '}');
    cli_json_close(&json, ']');
    cli_json_close(&json, '}');
    fclose(json.out);
    assert_string_equal("{\n"
                        "  \"a\\\"b\": \"\\\"\\\\\\n\\t\\u0001\\u007f\uFFFD"
                        "\u00e9\\u0000!\",\n"
                        "  \"list\": [-9223372036854775808, "
                        "18446744073709551615, 0.1, null, true, {}]\n"
                        "}\n",
                        text);
    free(text);
}

UNIT_TEST(a_real_number_reads_back_as_itself)
{
    static const double numbers[] = {
        1.0 / 3, 1e300, 5e-324, 123456789.125, -0.0001, 1e15 + 0.5, 3.0
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char *text = NULL;
        size_t size = 0;
        cli_json json = { .out = open_memstream(&text, &size) };
        assert_non_null(json.out);
        cli_json_real(&json, NULL, numbers[i]);
        fclose(json.out);
        const double back = strtod(text, NULL);
        assert_memory_equal(&numbers[i], &back, sizeof back);
        free(text);
    }
}

UNIT_TEST(a_short_name_is_that_of_the_function)
{
    static const char *const names[][2] = {
        { "void ns::f<int>(char *)", "f" },
        { "std::enable_if<(((8)>(0)))&&T<c10::Half>::exists, void>::type "
          "ns::norm<c10::Half, 8>(c10::Half *, int)",
          "norm" },
        { "std::enable_if<(1<2), void>::type g<(3>2)>(int)", "g" },
        { "ns::(anonymous namespace)::h(int)", "h" },
        { "f<a->b>(int)", "f" },
        { "((((", "((((" },
        { "plain", "plain" },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const ts_text name = { names[i][0], strlen(names[i][0]) };
        const ts_text got = cli_short_name(name);
        assert_int_equal(strlen(names[i][1]), got.size);
        assert_memory_equal(names[i][1], got.text, got.size);
    }
}

UNIT_TEST(a_program_is_run_as_from_a_shell_and_keeps_nohup)
{
    static const char *const argv[] = { "sh", "-c", "kill -HUP $$; exit 3",
                                        NULL };
    signal(SIGHUP, SIG_DFL);
    assert_int_equal(128 + SIGHUP, cli_program_run(argv, STDERR_FILENO));
    signal(SIGHUP, SIG_IGN);
    assert_int_equal(3, cli_program_run(argv, STDERR_FILENO));
    signal(SIGHUP, SIG_DFL);
}

UNIT_TEST(an_errno_is_the_result_that_names_its_cause)
{
    assert_int_equal(TS_ERR_MEMORY, cli_errno_result(ENOMEM));
    assert_int_equal(TS_ERR_DISK_FULL, cli_errno_result(ENOSPC));
    assert_int_equal(TS_ERR_DISK_FULL, cli_errno_result(EDQUOT));
    assert_int_equal(TS_ERR_IO, cli_errno_result(EIO));
    assert_int_equal(TS_ERR_IO, cli_errno_result(EACCES));
}

UNIT_TEST(a_trace_is_written_by_as_many_threads_as_are_of_use)
{
    assert_int_equal(1, cli_writers(1));
    assert_int_equal(3, cli_writers(3));
    assert_int_equal(4, cli_writers(4));
    assert_int_equal(4, cli_writers(192));
    assert_in_range(cli_processors(), 1, 1 << 16);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
