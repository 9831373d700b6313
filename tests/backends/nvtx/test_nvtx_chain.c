// Another NVTX tool behind ours: both receive every call, each with handles of
// its own.
#define _GNU_SOURCE
#define TRACESMITH_NVTX_IMPLEMENTATION
#include "tests/record/record_fixture.h"

#include "tests/backends/nvtx/nvtx_client.h"
#include "tests/doubles/double_file.h"
#include <dlfcn.h>

typedef int (*other_begin)(ts_nvtx_get_table);
static other_begin other;
static const char *(*other_said)(void);

static void load(void)
{
    void *const library = dlopen(double_path("libnvtx_other.so"), RTLD_NOW);
    void *symbols[2] = { NULL, NULL };
    if (library) {
        symbols[0] = dlsym(library, "InitializeInjectionNvtx2");
        symbols[1] = dlsym(library, "other_said");
    }
    if (!symbols[0] || !symbols[1]) abort();
    memcpy(&other, &symbols[0], sizeof other);
    memcpy(&other_said, &symbols[1], sizeof other_said);
}

static void clear(void)
{
    memset(slots, 0, sizeof slots);
    other_said();
}

#define TEXT(d, s) CALL(void *(*)(void *, const char *), CORE2, 10)(d, s)
#define DOMAIN_CALL(type, slot, d, a) \
    CALL(type (*)(void *, const ts__nv_attributes *), CORE2, slot)(d, a)

UNIT_TEST(both_hear_every_call)
{
    const ts_session_desc plain = { 0 };
    clear();
    assert_int_equal(ts_nvtx_initialize_both(get_table, other), 1);
    for (int m = CORE; m < MODULES; m++)
        for (unsigned i = 1; i < sizes[m]; i++)
            assert_non_null(slots[m][i]);
    const char *const path = rt_start("both.sbt", plain);
    assert_int_equal(PUSH("outer"), 0); // as deep as it is, not 77
    assert_int_equal(PUSH("inner"), 1);
    assert_int_equal(POP(), 1);
    assert_int_equal(POP(), 0);
    CALL(void (*)(const char *), CORE, 2)("mark");
    CALL(void (*)(void *, const char *), CUDART, 3)((void *)9, "nine");
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_string_equal(other_said(), "push outer\npush inner\npop\npop\n"
                                      "mark mark\nstream 9 is nine\n");
    assert_string_equal(ts_nvtx_name_of(TS_NVTX_CUDA_STREAM, 9), "nine");
    rt_trace trace = rt_read(path);
    rt_only(&trace, TS_EVENT_ZONE, "outer");
    rt_only(&trace, TS_EVENT_ZONE, "inner");
    rt_only(&trace, TS_EVENT_MARK, "mark");
    rt_close(&trace);
}

UNIT_TEST(each_has_handles_of_its_own)
{
    const ts_session_desc plain = { 0 };
    clear();
    assert_int_equal(ts_nvtx_initialize_both(get_table, other), 1);
    const char *const path = rt_start("handles.sbt", plain);
    void *const domain = DOMAIN("library");  // 1
    void *const text = TEXT(domain, "text"); // 2
    ts__nv_attributes a = attributes("?");
    a.message_type = TS__NV_REGISTERED;
    a.message.registered = text;
    DOMAIN_CALL(int, 4, domain, &a);
    DOMAIN_CALL(void, 1, NULL, &a);
    CALL(int (*)(void *), CORE2, 5)(domain);
    const uint64_t first = DOMAIN_CALL(uint64_t, 2, domain, &a);           // 3
    const uint64_t second = CALL(uint64_t(*)(const char *), CORE, 5)("b"); // 4
    CALL(void (*)(uint64_t), CORE, 7)(second);
    CALL(void (*)(uint64_t), CORE, 7)(second); // no such range any more
    CALL(void (*)(void *, uint64_t), CORE2, 3)(domain, first);
    ts__nv_lock_attributes l = {
        1, sizeof l, TS__NV_REGISTERED, { .registered = text }
    };
    void *const lock =
        CALL(void *(*)(void *, const void *), SYNC, 1)(domain, &l); // 5
    CALL(void (*)(void *), SYNC, 3)(lock);
    CALL(void (*)(void *), SYNC, 5)(lock);
    const uint64_t none[4] = { 1 | 32 << 16 };
    void *const resource =
        CALL(void *(*)(void *, const void *), CORE2, 6)(domain, none); // 6
    CALL(void (*)(void *), CORE2, 7)(resource);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_string_equal(
        other_said(),
        "domain library\ndomain 1 string text\ndomain 1 push string 2\n"
        "domain 0 mark string 2\ndomain 1 pop\ndomain 1 start 3 string 2\n"
        "start 4 b\nend 4\ndomain 1 end 3\ndomain 1 lock string 2\n"
        "lock 5 wanted\nlock 5 taken\ndomain 1 resource new\n"
        "resource 6 ends\n");
    rt_trace trace = rt_read(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "text"), 2); // range, lock
    rt_only(&trace, TS_EVENT_MARK, "text");
    rt_close(&trace);
}

// The other tool does not know its schema.
UNIT_TEST(a_payload_of_a_schema_stays_here)
{
    clear();
    assert_int_equal(ts_nvtx_initialize_both(get_table, other), 1);
    ts__nv_attributes a = attributes("plain");
    a.payload_type = TS__NV_EXT;
    CALL(void (*)(const ts__nv_attributes *), CORE, 1)(&a);
    assert_int_equal(a.payload_type, TS__NV_EXT);
    a.payload_type = TS__NV_U64;
    CALL(void (*)(const ts__nv_attributes *), CORE, 1)(&a);
    assert_string_equal(other_said(),
                        "mark plain, payload 0\nmark plain, payload 1\n");
}

UNIT_TEST(more_ranges_than_are_kept_end_here)
{
    enum { MORE = 1000 };
    clear();
    assert_int_equal(ts_nvtx_initialize_both(get_table, other), 1);
    uint64_t first = 0;
    for (int i = 0; i < TS__NV_PAIRS + MORE; i++) {
        const uint64_t id = CALL(uint64_t(*)(const char *), CORE, 5)("r");
        if (!first) first = id;
    }
    other_said();
    for (uint64_t i = 0; i < TS__NV_PAIRS + MORE; i++) {
        uint64_t theirs;
        assert_int_equal(ts__nv_pair_take(first + i, &theirs),
                         i < TS__NV_PAIRS);
    }
}

UNIT_TEST(without_the_other_one_ours_goes_on)
{
    clear();
    setenv("OTHER_REFUSES", "1", 1);
    assert_int_equal(ts_nvtx_initialize_both(get_table, other), 1);
    unsetenv("OTHER_REFUSES");
    assert_int_equal(PUSH("alone"), 0);
    assert_int_equal(POP(), 0);
    assert_string_equal(other_said(), "");
    assert_int_equal(ts_nvtx_initialize_both(get_table, NULL), 1);
    assert_int_equal(ts_nvtx_initialize_both(NULL, other), 0);
}

int main(void)
{
    load();
    return unit_run(NULL, NULL);
}
