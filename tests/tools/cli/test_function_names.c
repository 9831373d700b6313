/*
    test_function_names.c - names of functions: read, collapsed, made brief
*/
#include "tools/cli/cli.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include "tests/unit.h"

// A machine without a C++ library reads none.
static bool reads_names(void)
{
    char *const text = cli_demangle("_Z1fv");
    const bool reads = text != NULL;
    free(text);
    return reads;
}

static void ignore(int number)
{
}

// Whether a child of this process catches a signal; -1: it is not known.
static int child_catches(int number)
{
    char path[64], line[256];
    unsigned long long caught;
    int child = 0, found = -1;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%d", &child) != 1) child = 0;
    if (file) fclose(file);
    snprintf(path, sizeof path, "/proc/%d/status", child);
    file = child ? fopen(path, "r") : NULL;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "SigCgt: %llx", &caught) == 1)
            found = caught >> (number - 1) & 1;
    if (file) fclose(file);
    return found;
}

// It has to be the first: the helper process starts with the first name.
UNIT_TEST(the_helper_keeps_no_file_and_no_signal_handler_of_its_parent)
{
    int line[2];
    assert_int_equal(0, pipe(line));
    signal(SIGUSR1, ignore);
    const bool reads = reads_names();
    close(line[1]);
    struct pollfd end = { .fd = line[0], .events = POLLIN };
    assert_int_equal(1, poll(&end, 1, 0)); // nobody else can write
    assert_true(end.revents & POLLHUP);
    close(line[0]);
    // An emulator catches all signals: then it catches this one, too.
    if (reads) assert_int_equal(child_catches(SIGUSR2), child_catches(SIGUSR1));
    signal(SIGUSR1, SIG_DFL);
}

static void expect_read(const char *mangled, const char *wanted)
{
    char *const text = cli_demangle(mangled);
    assert_string_equal(wanted, text ? text : "(none)");
    free(text);
}

UNIT_TEST(names_of_c_plus_plus_are_read)
{
    if (!reads_names()) skip();
    expect_read("_ZlsRSoRK3foo", "operator<<(std::ostream&, foo const&)");
    expect_read("_ZN2at6kernelILi4EfEEviT0_",
                "void at::kernel<4, float>(int, float)");
}

UNIT_TEST(names_of_rust_lose_their_hash)
{
#ifndef TRACESMITH_IBERTY
    skip();
#endif
    expect_read("_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE",
                "core::fmt::Formatter::write_str");
    expect_read("_ZN17_$LT$T$u20$as$GT$3foo17h0123456789abcdefE",
                "<T as>::foo");
}

UNIT_TEST(what_is_no_mangled_name_is_left_alone)
{
    const char *const names[] = {
        "", "_Z", "_ZZZ", "gemm", "_Z1", "_ZN1aE\xff"
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_null(cli_demangle(names[i]));
    char *const endless = malloc(100001);
    memset(endless, 'P', 100000);
    endless[100000] = 0;
    memcpy(endless, "_Z1f", 4);
    assert_null(cli_demangle(endless));
    free(endless);
}

// A pair of pairs of pairs: each letter doubles the text.
UNIT_TEST(a_name_that_stands_for_terabytes_is_given_up)
{
    if (!reads_names()) skip();
    char bomb[1024] = "_Z1f1AIiiES_IS0_S0_E";
    for (int i = 1; i < 34; i++) {
        char digit[8];
        snprintf(digit, sizeof digit, "S%c_", i < 10 ? '0' + i : 'A' + i - 10);
        snprintf(bomb + strlen(bomb), sizeof bomb - strlen(bomb), "S_I%s%sE",
                 digit, digit);
    }
    assert_null(cli_demangle(bomb));
    // Others are still read.
    expect_read("_Z1fv", "f()");
}

static void expect_collapsed(const char *name, const char *wanted)
{
    char *const text = cli_collapse_name(name, strlen(name));
    assert_string_equal(wanted, text);
    free(text);
}

UNIT_TEST(instances_of_a_template_collapse_to_one)
{
    expect_collapsed("void at::f<float, 4>(int, float const*)", "at::f<...>");
    expect_collapsed("void at::f<half, g<(int)1> >(half*)", "at::f<...>");
    expect_collapsed("a::(anonymous namespace)::f<int>()",
                     "a::(anonymous namespace)::f<...>");
    expect_collapsed("x::operator()<int>(foo) const", "x::operator()<...>");
    expect_collapsed("operator<<(std::ostream&, foo const&)", "operator<<");
    expect_collapsed("operator->", "operator->");
    expect_collapsed("f<&g::operator->>(int)", "f<...>");
    expect_collapsed("gemm_128x64_nt", "gemm_128x64_nt");
    expect_collapsed("a < b", "a < b");
    expect_collapsed("std::enable_if<(((8)>(0)))&&a<b>::c, void>::type "
                     "ns::f<c10::Half, 8>(int, char)",
                     "ns::f<...>");
    expect_collapsed("unsigned int f<int>(int)", "f<...>");
    expect_collapsed("a::operator unsigned int() const",
                     "a::operator unsigned int");
    expect_collapsed("", "");
    expect_collapsed("((((", "((((");
}

static void expect_brief(const char *name, const char *wanted)
{
    char *const text = cli_brief_name(name, strlen(name));
    assert_string_equal(wanted, text);
    free(text);
}

UNIT_TEST(brief_names_say_what_not_where_from)
{
    expect_brief("void at::native::f<4, at::g<float> >(int)",
                 "f<4, g<float> >");
    expect_brief("a::(anonymous namespace)::f(int, char)", "f");
    expect_brief("ns::type::operator()(int) const", "type::operator() const");
    expect_brief("std::enable_if<(((8)>(0)))&&a<b>::c, void>::type "
                 "ns::f<c10::Half, 8>(int, char)",
                 "f<Half, 8>");
    expect_brief("PyTorch Profiler (0)", "PyTorch Profiler (0)");
    expect_brief("aten::copy_", "copy_");
    expect_brief("::", "");
    expect_brief("a<<<<b", "a<<<<b");
}

// Each bracket that nothing closes would be looked for to the end.
UNIT_TEST(brackets_without_end_take_no_time)
{
    enum { SIZE = 60000 };
    static const char signs[] = "<([{>";
    char *const name = malloc(SIZE + 1);
    for (size_t i = 0; i < sizeof signs - 1; i++) {
        memset(name, signs[i], SIZE);
        memcpy(name, "f ", 2);
        name[SIZE] = 0;
        char *const a = cli_collapse_name(name, SIZE);
        char *const b = cli_brief_name(name, SIZE);
        assert_true(a && b);
        free(a);
        free(b);
    }
    // Zero bytes are no brackets.
    char *const zero = cli_brief_name("a\0::b", 5);
    assert_int_equal('b', *zero);
    free(zero);
    free(name);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
