// The filter of backends: kinds, names, stacks.
#include "backends/ts_filter.h"
#include <setjmp.h>
#include <stdarg.h>

#include "tests/unit.h"

static void set(const char *kinds, const char *names)
{
    const ts_filter_desc desc = { .kinds = kinds, .names = names };
    assert_int_equal(TS_OK, ts_filter_set(&desc));
}

static bool takes(const char *name)
{
    return ts_filter_name(name, strlen(name));
}

UNIT_TEST(everything_is_captured_by_default)
{
    assert_int_equal(TS_OK, ts_filter_set(NULL));
    for (int kind = 1; kind < TS_EVENT_LIMIT; kind++)
        assert_true(ts_filter_kind((ts_event_kind)kind));
    assert_true(takes(""));
    assert_true(takes("kernel"));
    assert_int_equal(0, ts_filter_stack_depth());
}

UNIT_TEST(a_list_of_kinds_takes_these_alone)
{
    set("kernel,zone", NULL);
    assert_true(ts_filter_kind(TS_EVENT_KERNEL));
    assert_true(ts_filter_kind(TS_EVENT_ZONE));
    assert_false(ts_filter_kind(TS_EVENT_MEMCPY));
    assert_false(ts_filter_kind(TS_EVENT_ZONE_ARG));
}

UNIT_TEST(a_list_that_leaves_out_takes_the_rest)
{
    set("-api_call,-gpu", NULL);
    assert_false(ts_filter_kind(TS_EVENT_API_CALL));
    assert_false(ts_filter_kind(TS_EVENT_KERNEL));
    assert_false(ts_filter_kind(TS_EVENT_GPU_FREE));
    assert_true(ts_filter_kind(TS_EVENT_ZONE));
    assert_true(ts_filter_kind(TS_EVENT_ACCESS));
    set("gpu,-memset,mark", NULL);
    assert_true(ts_filter_kind(TS_EVENT_COLLECTIVE));
    assert_false(ts_filter_kind(TS_EVENT_MEMSET));
    assert_true(ts_filter_kind(TS_EVENT_MARK));
    assert_false(ts_filter_kind(TS_EVENT_API_CALL));
}

UNIT_TEST(every_kind_has_its_name_and_a_group)
{
    uint64_t all = 0;
    for (int kind = 1; kind < TS_EVENT_LIMIT; kind++) {
        const char *const name = ts_event_name((uint32_t)kind);
        if (!strcmp(name, "unknown")) continue;
        // What communicates is a kernel to a device.
        const uint64_t more =
            kind == TS_EVENT_KERNEL ? UINT64_C(1) << TS_EVENT_COLLECTIVE : 0;
        assert_int_equal(UINT64_C(1) << kind | more, ts_filter_kinds(name));
        all |= UINT64_C(1) << kind;
    }
    assert_int_equal(all, all & ts_filter_kinds("host,gpu"));
    assert_int_equal(ts_filter_kinds("all"), ts_filter_kinds("host,gpu"));
    assert_int_equal(0, ts_filter_kinds("host") & ts_filter_kinds("gpu"));
}

UNIT_TEST(wrong_filters_change_nothing)
{
    static const char *const wrong[] = {
        "kernels", "kernel,", ",", "-", "kernel,-kernel", " kernel"
    };
    static char names[TS_FILTER_NAMES_MAX + 1];
    ts_filter_desc desc = { .kinds = "mark" };
    set("mark", "a");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        desc.kinds = wrong[i];
        assert_int_equal(TS_ERR_USAGE, ts_filter_set(&desc));
    }
    desc.kinds = "zone";
    desc.stack_depth = TS_FILTER_STACK_MAX + 1;
    assert_int_equal(TS_ERR_USAGE, ts_filter_set(&desc));
    desc.stack_depth = 0;
    memset(names, 'n', sizeof names - 1);
    desc.names = names;
    assert_int_equal(TS_ERR_USAGE, ts_filter_set(&desc));
    assert_true(ts_filter_kind(TS_EVENT_MARK));
    assert_false(ts_filter_kind(TS_EVENT_ZONE));
    assert_false(takes("b"));
    names[TS_FILTER_NAMES_MAX - 1] = 0;
    assert_int_equal(TS_OK, ts_filter_set(&desc));
    assert_true(takes(names));
}

UNIT_TEST(names_are_matched_as_a_whole)
{
    set(NULL, "gemm");
    assert_true(takes("gemm"));
    assert_false(takes("gemm2"));
    assert_false(takes("sgemm"));
    assert_false(takes(""));
    set(NULL, "*gemm*,copy?");
    assert_true(takes("sgemm_128"));
    assert_true(takes("copy1"));
    assert_false(takes("copy"));
    assert_false(takes("copy12"));
    set(NULL, "a*b*c");
    assert_true(takes("abbc_bc"));
    assert_false(takes("acb"));
    set(NULL, "*");
    assert_true(takes(""));
}

UNIT_TEST(a_name_that_is_left_out_is_left_out)
{
    set(NULL, "-nccl*");
    assert_false(takes("ncclAllReduce"));
    assert_true(takes("gemm"));
    set(NULL, "nccl*,-*Reduce*");
    assert_true(takes("ncclSend"));
    assert_false(takes("ncclAllReduce"));
    assert_false(takes("gemm"));
}

UNIT_TEST(a_backslash_takes_the_meaning_away)
{
    set(NULL, "f<int\\,long>,\\-x,\\*p,q\\?");
    assert_true(takes("f<int,long>"));
    assert_true(takes("-x"));
    assert_true(takes("*p"));
    assert_false(takes("pp"));
    assert_true(takes("q?"));
    assert_false(takes("qq"));
    set(NULL, "end\\");
    assert_true(takes("end\\"));
}

UNIT_TEST(matching_takes_no_exponential_time)
{
    char text[3000];
    memset(text, 'a', sizeof text);
    set(NULL, "*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b");
    assert_false(ts_filter_name(text, sizeof text));
}

UNIT_TEST(names_may_hold_any_byte)
{
    set(NULL, "a?b");
    assert_true(ts_filter_name("a\0b", 3));
    assert_false(ts_filter_name("a\0b", 2));
    assert_true(ts_filter_name("a\xff"
                               "b",
                               3));
}

UNIT_TEST(a_depth_of_stacks_is_reported)
{
    const ts_filter_desc desc = { .stack_depth = 32 };
    assert_int_equal(TS_OK, ts_filter_set(&desc));
    assert_int_equal(32, ts_filter_stack_depth());
    assert_int_equal(TS_OK, ts_filter_set(NULL));
    assert_int_equal(0, ts_filter_stack_depth());
}

int main(void)
{
    return unit_run(NULL, NULL);
}
