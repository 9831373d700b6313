// The NVTX handler against a double of what NVTX compiles into a program:
// its two tables, as nvtxInit.h lays them out. The handler is linked in.
#define _GNU_SOURCE
#define TRACESMITH_NVTX_IMPLEMENTATION
#include "tests/record/record_fixture.h"

#include "tests/backends/nvtx/nvtx_client.h"

static const ts_session_desc plain;

/* ---- Tests -------------------------------------------------------------- */

UNIT_TEST(every_slot_of_every_module_is_filled)
{
    assert_int_equal(ts_nvtx_initialize(NULL), 0);
    assert_int_equal(ts_nvtx_initialize(get_table), 1);
    assert_int_equal(handler_version, 3);
    for (int m = CORE; m < MODULES; m++)
        for (unsigned i = 1; i < sizes[m]; i++)
            assert_non_null(slots[m][i]);
}

UNIT_TEST(a_client_of_an_older_version_gets_what_it_has)
{
    void (*const last)(void) = slots[CORE][11];
    slots[CORE][10] = slots[CORE][11] = NULL;
    sizes[CORE] = 11; // it knows functions 1 to 10
    assert_int_equal(ts_nvtx_initialize(get_table), 1);
    assert_non_null(slots[CORE][10]);
    assert_null(slots[CORE][11]);
    slots[CORE][11] = last;
    sizes[CORE] = 16;
    // A table that ends before the functions that are needed is ignored.
    for (version_size = 0; version_size <= 16; version_size += 16) {
        handler_version = 0;
        assert_int_equal(ts_nvtx_initialize(get_table), 1);
        assert_int_equal(handler_version, 0);
    }
    version_size = 24;
    for (callbacks_size = 0; callbacks_size <= 8; callbacks_size += 8)
        assert_int_equal(ts_nvtx_initialize(get_table), 0);
    callbacks_size = 16;
}

UNIT_TEST(ranges_nest_by_domain_and_end_in_any_order)
{
    const char *const path = rt_start("order.sbt", plain);
    void *const a = DOMAIN("a"), *const b = DOMAIN("b");
    const ts__nv_attributes text = attributes("range");
    assert_int_equal(DOMAIN_PUSH(a, &text), 0);
    assert_int_equal(DOMAIN_PUSH(b, &text), 0);
    assert_int_equal(DOMAIN_PUSH(a, &text), 1);
    assert_int_equal(DOMAIN_POP(b), 0);
    assert_int_equal(DOMAIN_POP(a), 1);
    assert_int_equal(DOMAIN_POP(a), 0);
    assert_int_equal(DOMAIN_POP(a), -2);
    assert_int_equal(POP(), -2);
    {
        TS_ZONE("after");
    }
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "range"), 3);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "after"), 1);
    // Nothing is left open, and what came in between is not cut.
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE_OPEN, NULL), 0);
    const rt_row *const outer = rt_nth(&trace, TS_EVENT_ZONE, "range", 0);
    const rt_row *const inner = rt_nth(&trace, TS_EVENT_ZONE, "range", 2);
    assert_true(outer->start_ns + outer->duration_ns >=
                inner->start_ns + inner->duration_ns);
    rt_close(&trace);
}

// They may overlap in any way, and end in another thread.
UNIT_TEST(ranges_of_the_process_are_spans)
{
    static const char *const names[] = { "first", "second", NULL, NULL };
    static const size_t starts[] = { 0, 1, 0, 1 };
    uint64_t ids[4];
    const char *const path = rt_start("spans.sbt", plain);
    void *const domain = DOMAIN("jobs");
    const ts__nv_attributes second = attributes("second");
    ids[0] = CALL(uint64_t(*)(const char *), CORE, 5)("first");
    ids[1] = CALL(uint64_t(*)(void *, const ts__nv_attributes *), CORE2,
                  2)(domain, &second);
    CALL(void (*)(uint64_t), CORE, 7)(ids[0]);
    CALL(void (*)(void *, uint64_t), CORE2, 3)(domain, ids[1]);
    rt_trace trace = rt_end(path);
    assert_true(ids[0] != ids[1]);
    assert_int_equal(rt_rows(&trace, TS_EVENT_SPAN, NULL), 4);
    for (size_t i = 0; i < 4; i++) {
        const rt_row *const row = rt_nth(&trace, TS_EVENT_SPAN, NULL, i);
        assert_true(row->values[TS_COLUMN_ID] == ids[starts[i]]);
        assert_int_equal(row->values[TS_COLUMN_PHASE],
                         names[i] ? TS_PHASE_START : TS_PHASE_END);
        if (names[i]) assert_string_equal(row->name, names[i]);
    }
    rt_close(&trace);
}

UNIT_TEST(payloads_are_values_of_their_zone)
{
    const char *const path = rt_start("payload.sbt", plain);
    void *const domain = DOMAIN("values");
    ts__nv_attributes a = attributes("valued");
    static const int64_t expected[] = { 9, -2, 0, 7, -5, 0 };
    for (int type = TS__NV_U64; type <= TS__NV_F32; type++) {
        a.payload_type = type;
        a.payload.u64 = 0;
        if (type == TS__NV_U64) a.payload.u64 = 9;
        if (type == TS__NV_I64) a.payload.i64 = -2;
        if (type == TS__NV_F64) a.payload.f64 = 2.5;
        if (type == TS__NV_U32) a.payload.u32 = 7;
        if (type == TS__NV_I32) a.payload.i32 = -5;
        if (type == TS__NV_F32) a.payload.f32 = 0.5f;
        DOMAIN_PUSH(domain, &a);
        DOMAIN_POP(domain);
    }
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE_ARG, NULL), 6);
    for (size_t i = 0; i < 6; i++) {
        const rt_row *const row = rt_nth(&trace, TS_EVENT_ZONE_ARG, NULL, i);
        const uint64_t value = row->values[TS_COLUMN_VALUE];
        if (i == 2 || i == 5)
            assert_true(rt_double(value) == (i == 2 ? 2.5 : 0.5));
        else
            assert_int_equal((int64_t)value, expected[i]);
    }
    rt_close(&trace);
}

static const ts_site_entry *site_of(const rt_trace *trace, const rt_row *row)
{
    const ts_site_entry *const site =
        ts_reader_site(trace->reader, (uint32_t)row->values[TS_COLUMN_SITE]);
    assert_non_null(site);
    return site;
}

static uint32_t color_of(const rt_trace *trace, const char *name)
{
    return site_of(trace, rt_only(trace, TS_EVENT_ZONE, name))->color;
}

// No colour, or one of an unknown type, is none.
UNIT_TEST(colours_are_kept)
{
    static const struct {
        const char *name;
        int type;
        uint32_t color;
    } pushed[] = { { "blue", TS__NV_COLOR_ARGB, 0xFF3366CC },
                   { "none", 0, 0xFF3366CC },
                   { "odd", 99, 0xFF3366CC },
                   { "red", TS__NV_COLOR_ARGB, 0xFFCC0000 } };
    const char *const path = rt_start("colours.sbt", plain);
    void *const domain = DOMAIN("colours");
    for (size_t i = 0; i < sizeof pushed / sizeof *pushed; i++) {
        ts__nv_attributes a = attributes(pushed[i].name);
        a.color_type = pushed[i].type;
        a.color = pushed[i].color;
        DOMAIN_PUSH(domain, &a);
        DOMAIN_POP(domain);
    }
    rt_trace trace = rt_end(path);
    assert_int_equal(color_of(&trace, "blue") & 0xFFFFFF, 0x3366CC);
    assert_int_equal(color_of(&trace, "red") & 0xFFFFFF, 0xCC0000);
    assert_int_equal(color_of(&trace, "none"), 0);
    assert_int_equal(color_of(&trace, "odd"), 0);
    rt_close(&trace);
}

UNIT_TEST(short_attributes_are_read_as_far_as_they_go)
{
    const char *const path = rt_start("short.sbt", plain);
    ts__nv_attributes a = attributes("cut off");
    a.size = offsetof(ts__nv_attributes, message_type);
    DOMAIN_PUSH(NULL, &a);
    DOMAIN_POP(NULL);
    DOMAIN_PUSH(NULL, NULL);
    DOMAIN_POP(NULL);
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, NULL), 2);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "cut off"), 0);
    rt_close(&trace);
}

static void push_text(void *domain, char *buffer, const char *text)
{
    ts__nv_attributes a = attributes(buffer);
    strcpy(buffer, text);
    if (domain)
        DOMAIN_PUSH(domain, &a);
    else
        PUSH(buffer);
    if (domain)
        DOMAIN_POP(domain);
    else
        POP();
}

// A thread remembers what a text was the last time, and where.
UNIT_TEST(each_text_that_one_buffer_has_is_a_name)
{
    char buffer[200], longer[2][200];
    const char *const path = rt_start("buffer.sbt", plain);
    void *const domain = DOMAIN("of a domain");
    memset(longer, 'x', sizeof longer);
    strcpy(&longer[0][60], "first");
    strcpy(&longer[1][60], "second");
    for (int i = 0; i < 5; i++) {
        push_text(NULL, buffer, "a");
        push_text(domain, buffer, "a");
        push_text(NULL, buffer, "ab");
        push_text(NULL, buffer, "ac");
        push_text(NULL, buffer, longer[0]);
        push_text(NULL, buffer, longer[1]);
    }
    for (int i = 0; i < 5; i++)
        push_text(i % 2 ? domain : NULL, buffer, "both");
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "a"), 10);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "ab"), 5);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "ac"), 5);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, longer[0]), 5);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, longer[1]), 5);
    for (size_t i = 0; i < 5; i++) {
        const rt_row *const row = rt_nth(&trace, TS_EVENT_ZONE, "both", i);
        const uint32_t category = site_of(&trace, row)->category;
        assert_int_equal(i % 2, category != 0);
        assert_int_equal(i % 2 ? strlen("of a domain") : 0,
                         ts_reader_name(trace.reader, category).size);
    }
    rt_close(&trace);
}

UNIT_TEST(deep_ranges_are_all_there)
{
    const char *const path = rt_start("deep.sbt", plain);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(PUSH("deep"), i);
    for (int i = 1000; i-- > 0;)
        assert_int_equal(POP(), i);
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "deep"), 1000);
    rt_close(&trace);
}

static uint64_t named;
static const char *its_name;

static void hear_name(ts_nvtx_kind kind, uint64_t handle, const char *name)
{
    if (kind != TS_NVTX_CU_STREAM) return;
    named = handle;
    its_name = name;
}

UNIT_TEST(names_of_other_things_are_kept)
{
    int thing;
    ts_nvtx_named = hear_name;
    CALL(void (*)(void *, const char *), CUDA, 5)(&thing, "compute");
    CALL(void (*)(int, const wchar_t *), CUDART, 2)(3, L"Ger\u00E4t");
    const uint64_t handle = (uint64_t)(uintptr_t)&thing;
    assert_string_equal(ts_nvtx_name_of(TS_NVTX_CU_STREAM, handle), "compute");
    assert_string_equal(ts_nvtx_name_of(TS_NVTX_CUDA_DEVICE, 3), "Gerät");
    assert_null(ts_nvtx_name_of(TS_NVTX_CUDA_STREAM, handle));
    CALL(void (*)(void *, const char *), CUDA, 5)(&thing, "copies");
    assert_string_equal(ts_nvtx_name_of(TS_NVTX_CU_STREAM, handle), "copies");
    assert_true(named == handle);
    assert_string_equal(its_name, "copies");
    ts_nvtx_named = NULL;
}

UNIT_TEST(without_a_session_nothing_breaks)
{
    assert_int_equal(PUSH("before"), 0);
    const char *const path = rt_start("before.sbt", plain);
    assert_int_equal(PUSH("inside"), 1);
    assert_int_equal(POP(), 1);
    assert_int_equal(POP(), 0);
    assert_int_equal(PUSH("cut"), 0);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_int_equal(POP(), 0);
    rt_trace trace = rt_read(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, NULL), 1);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE_OPEN, "cut"), 1);
    rt_close(&trace);
}

static void *push_and_pop(void *gate)
{
    pthread_barrier_wait(gate); // to spin would keep it from being opened
    char text[32];
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "range %d", i % 10);
        PUSH(text);
        POP();
    }
    return NULL;
}

UNIT_TEST(two_hundred_threads_lose_nothing)
{
    enum { THREADS = 200 };
    static pthread_t threads[THREADS];
    static pthread_barrier_t gate;
    const char *const path = rt_start("threads.sbt", plain);
    assert_int_equal(pthread_barrier_init(&gate, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, push_and_pop, &gate),
                         0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_trace trace = rt_open(path);
    assert_int_equal(trace.info->counts[TS_EVENT_ZONE], THREADS * 1000);
    assert_int_equal(trace.info->lost, 0);
    rt_close(&trace);
}

// What has no message is shown so, not by a number.
UNIT_TEST(what_says_nothing_has_a_name)
{
    const char *const path = rt_start("nothing.sbt", plain);
    void *const domain = DOMAIN("silent");
    ts__nv_attributes a = attributes("");
    CALL(void (*)(const char *), CORE, 2)("");
    CALL(void (*)(const char *), CORE, 2)(NULL);
    CALL(void (*)(const wchar_t *), CORE, 3)(L"");
    CALL(void (*)(const wchar_t *), CORE, 3)(NULL);
    PUSH(NULL);
    POP();
    DOMAIN_PUSH(domain, &a);
    DOMAIN_POP(domain);
    a.message_type = 0;
    a.payload_type = TS__NV_U32;
    a.payload.u32 = 7;
    CALL(void (*)(void *, const ts__nv_attributes *), CORE2, 1)(domain, &a);
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_MARK, "(no message)"), 5);
    assert_int_equal(rt_rows(&trace, TS_EVENT_MARK, NULL), 5);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "(no message)"), 2);
    assert_string_equal("(no message): payload=7",
                        rt_nth(&trace, TS_EVENT_MESSAGE, NULL, 0)->text);
    rt_close(&trace);
}

// As NVTX does when the program makes its first call.
static int connect_handler(void **state)
{
    return ts_nvtx_initialize(get_table) == 1 ? 0 : -1;
}

int main(void)
{
    return unit_run(connect_handler, NULL);
}
