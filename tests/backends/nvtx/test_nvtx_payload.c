// Extensions of NVTX, against a double of what they compile into a program: a
// module with slots. Schemas that are wrong, recursive or too short.
#define _GNU_SOURCE
#define TRACESMITH_NVTX_IMPLEMENTATION
#include "tests/record/record_fixture.h"

#include "backends/ts_nvtx.h"

/* ---- The double --------------------------------------------------------- */

static intptr_t payload_slots[63], counter_slots[6];

static int load(uint16_t number, intptr_t *slots, size_t count)
{
    ts__nv_segment segment = { 0, count, slots };
    ts__nv_module module = { .version = 3,
                             .size = sizeof module,
                             .module = number,
                             .segment_count = 1,
                             .segments = &segment };
    return ts_nvtx_extension(&module);
}

typedef uint64_t (*register_schema)(void *, const ts__nv_schema_attributes *);
typedef int (*push_payload)(void *, const ts__nv_data *, size_t);
#define SCHEMA(a)  ((register_schema)payload_slots[0])(NULL, a)
#define PUSH(data) ((push_payload)payload_slots[3])(NULL, data, 1)
#define POP()      ((push_payload)payload_slots[4])(NULL, NULL, 0)

static const ts_session_desc plain;

static uint64_t schema(const ts__nv_entry *entries, size_t count, uint64_t type,
                       uint64_t id)
{
    ts__nv_schema_attributes a = { .mask = TS__NV_HAS_TYPE |
                                           TS__NV_HAS_ENTRIES |
                                           TS__NV_HAS_COUNT | TS__NV_HAS_NAME,
                                   .name = "schema",
                                   .type = type,
                                   .entries = entries,
                                   .count = count };
    a.id = id;
    if (id) a.mask |= TS__NV_HAS_ID;
    return SCHEMA(&a);
}

static void push(uint64_t id, const void *bytes, size_t size)
{
    const ts__nv_data data = { id, size, bytes };
    PUSH(&data);
    POP();
}

/* ---- Tests -------------------------------------------------------------- */

UNIT_TEST(every_slot_that_is_known_is_filled)
{
    for (int i = 0; i < 6; i++)
        assert_non_null((void *)counter_slots[i]);
    for (int i = 0; i < 10; i++)
        assert_non_null((void *)payload_slots[i]);
    assert_null((void *)payload_slots[10]); // sources of timers: not handled
    assert_int_equal(((uint8_t(*)(void *))payload_slots[7])(NULL), 1);
}

UNIT_TEST(an_older_or_unknown_module_is_left_alone)
{
    intptr_t slots[4] = { 0, 0, 0, 77 };
    assert_int_equal(load(2, slots, 3), 1);
    assert_non_null((void *)slots[2]);
    assert_int_equal(slots[3], 77);
    assert_int_equal(load(1, slots, 3), 0); // memory
    assert_int_equal(ts_nvtx_extension(NULL), 0);
}

UNIT_TEST(fields_are_read_where_c_puts_them)
{
    static const ts__nv_entry entries[] = { { .type = 12, .name = "byte" },
                                            { .type = 18, .name = "long" },
                                            { .type = 13, .name = "short" },
                                            { .type = 42, .name = "half" },
                                            { .type = 50, .name = "brain" } };
    static const struct {
        uint8_t byte;
        uint64_t wide;
        int16_t narrow;
        uint16_t half, brain;
    } bytes = { 200, 1ull << 40, -2, 0x3E00, 0x4020 }; // 1.5 and 2.5
    const char *const path = rt_start("fields.sbt", plain);
    push(schema(entries, 5, TS__NV_STATIC, 0), &bytes, sizeof bytes);
    rt_trace t = rt_end(path);
    static const int64_t whole[] = { 200, 1ll << 40, -2 };
    static const double real[] = { 1.5, 2.5 };
    for (size_t i = 0; i < 5; i++) {
        const rt_row *const row = rt_nth(&t, TS_EVENT_ZONE_ARG, NULL, i);
        rt_assert_text(
            ts_reader_name(t.reader, (uint32_t)row->values[TS_COLUMN_NAME]),
            entries[i].name);
        if (i < 3)
            assert_int_equal((int64_t)row->values[TS_COLUMN_VALUE], whole[i]);
        else
            assert_true(rt_double(row->values[TS_COLUMN_VALUE]) == real[i - 3]);
    }
    rt_close(&t);
}

UNIT_TEST(half_floats_are_exact)
{
    assert_true(ts__np_half(0x3C00) == 1);
    assert_true(ts__np_half(0xC000) == -2);
    assert_true(ts__np_half(0x7BFF) == 65504);
    assert_true(ts__np_half(0x0001) == 1.0 / (1 << 24));
    assert_true(ts__np_half(0) == 0);
    // Infinities and NaN.
    assert_true(ts__np_half(0x7C00) > 1e300 && ts__np_half(0xFC00) < -1e300);
    assert_true(ts__np_half(0x7E00) != ts__np_half(0x7E00));
}

UNIT_TEST(what_is_beyond_the_payload_is_not_read)
{
    static const ts__nv_entry entries[] = {
        { .type = 16, .name = "count" },
        { .flags = TS__NV_BY_ENTRY, .type = 18, .name = "list", .detail = 0 },
        { .flags = TS__NV_FIXED, .type = 1, .name = "text", .detail = 4000 },
        { .type = 18, .name = "far", .offset = 1u << 30 },
    };
    // At the end of a page, so that a byte too many is a fault.
    uint8_t *const pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(mprotect(pages + 4096, 4096, PROT_NONE), 0);
    const uint64_t id = schema(entries, 4, TS__NV_DYNAMIC, 0);
    const char *const path = rt_start("short.sbt", plain);
    for (size_t size = 0; size <= 24; size++) {
        memset(pages, 0xFF, 4096); // a count of four thousand millions
        push(id, pages + 4096 - size, size);
    }
    rt_trace t = rt_end(path);
    assert_int_equal(rt_rows(&t, TS_EVENT_ZONE, "schema"), 25);
    rt_close(&t);
    munmap(pages, 8192);
}

UNIT_TEST(a_schema_that_holds_itself_ends)
{
    enum { ID = 1 << 25, MANY = 60 };
    ts__nv_entry entries[MANY];
    static uint8_t bytes[4096];
    memset(entries, 0, sizeof entries);
    for (int i = 0; i < MANY; i++)
        entries[i].type = ID;
    rt_start("endless.sbt", plain);
    push(schema(entries, MANY, TS__NV_STATIC, ID), bytes, sizeof bytes);
    for (int i = 0; i < MANY; i++)
        entries[i].type = ID + 1;
    push(schema(entries, MANY, TS__NV_DYNAMIC, ID + 1), bytes, sizeof bytes);
    assert_int_equal(ts_session_stop(), TS_OK);
}

UNIT_TEST(a_pointer_is_followed_only_if_it_may_be)
{
    static const int32_t there = 77;
    const struct {
        const void *known, *wild;
    } bytes = { &there, (const void *)(uintptr_t)8 };
    const ts__nv_entry entries[] = {
        { .flags = TS__NV_POINTER | TS__NV_DEEP, .type = 15, .name = "deep" },
        { .flags = TS__NV_POINTER, .type = 15, .name = "address" }
    };
    const char *const path = rt_start("pointer.sbt", plain);
    push(schema(entries, 2, TS__NV_STATIC, 0), &bytes, sizeof bytes);
    rt_trace t = rt_end(path);
    const rt_row *row = rt_nth(&t, TS_EVENT_ZONE_ARG, NULL, 0);
    assert_int_equal(row->values[TS_COLUMN_VALUE], 77);
    row = rt_nth(&t, TS_EVENT_ZONE_ARG, NULL, 1);
    assert_int_equal(row->values[TS_COLUMN_VALUE], 8);
    rt_close(&t);
}

// The text of a mark whose payload has this schema.
static void mark_text(const char *file, uint64_t id, const void *bytes,
                      size_t size, char text[200])
{
    const ts__nv_data data = { id, size, bytes };
    const char *const path = rt_start(file, plain);
    ((int (*)(void *, const ts__nv_data *, size_t))payload_slots[2])(NULL,
                                                                     &data, 1);
    rt_trace t = rt_end(path);
    snprintf(text, 200, "%s", rt_nth(&t, TS_EVENT_MESSAGE, NULL, 0)->text);
    rt_close(&t);
}

static uint64_t enumeration(const ts__nv_enum_value *values, size_t count)
{
    const ts__nv_enum_attributes a = { .mask = TS__NV_ENUM_ENTRIES |
                                               TS__NV_ENUM_COUNT |
                                               TS__NV_ENUM_SIZE,
                                       .entries = values,
                                       .count = count,
                                       .size = 4 };
    return ((uint64_t(*)(
        void *, const ts__nv_enum_attributes *))payload_slots[1])(NULL, &a);
}

UNIT_TEST(numbers_of_an_enumeration_have_its_names)
{
    static const ts__nv_enum_value level[] = { { "low", 1, 0 },
                                               { "high", 7, 0 } };
    static const ts__nv_enum_value access[] = { { "read", 1, 1 },
                                                { "write", 2, 1 },
                                                { "run", 4, 1 } };
    const uint64_t levels = enumeration(level, 2);
    const uint64_t accesses = enumeration(access, 3);
    const ts__nv_entry entries[] = { { .type = 16, .name = "first" },
                                     { .type = levels, .name = "level" },
                                     { .type = levels, .name = "other" },
                                     { .type = accesses, .name = "access" },
                                     { .type = accesses, .name = "none" } };
    static const uint32_t bytes[] = { 7, 1, 3, 2 | 4, 8 };
    char text[200];
    mark_text("enumeration.sbt", schema(entries, 5, TS__NV_STATIC, 0), bytes,
              sizeof bytes, text);
    assert_string_equal(text, "schema: first=7 level=low other=3 "
                              "access=write|run none=8");
}

UNIT_TEST(texts_of_every_width_are_utf_8)
{
    static const uint16_t wide[] = { 'G', 0xE4, 0xD83D, 0xDE00, 0 };
    const struct {
        const char *narrow;
        const uint16_t *wide;
        const wchar_t *widest;
        uint8_t after;
    } bytes = { "one", wide, L"dr\u00E4i", 5 };
    static const ts__nv_entry entries[] = { { .type = 75, .name = "a" },
                                            { .type = 77, .name = "b" },
                                            { .type = 78, .name = "c" },
                                            { .type = 12, .name = "d" } };
    char text[200];
    mark_text("texts.sbt", schema(entries, 4, TS__NV_STATIC, 0), &bytes,
              sizeof bytes, text);
    assert_string_equal(text, "schema: a=one b=Gä😀 c=dräi d=5");
}

UNIT_TEST(long_arrays_are_identified_by_begin_and_count)
{
    static const ts__nv_entry entries[] = {
        { .flags = TS__NV_FIXED, .type = 14, .name = "n", .detail = 1000 },
        { .type = 12, .name = "after" }
    };
    static struct {
        uint16_t numbers[1000];
        uint8_t after;
    } bytes = { .after = 5 };
    const char *const path = rt_start("long.sbt", plain);
    push(schema(entries, 2, TS__NV_STATIC, 0), &bytes, sizeof bytes);
    rt_trace t = rt_end(path);
    assert_int_equal(rt_rows(&t, TS_EVENT_ZONE_ARG, NULL), TS__NV_SHOWN + 2);
    const rt_row *row = rt_nth(&t, TS_EVENT_ZONE_ARG, NULL, TS__NV_SHOWN);
    assert_int_equal(row->values[TS_COLUMN_VALUE], 1000);
    row = rt_nth(&t, TS_EVENT_ZONE_ARG, NULL, TS__NV_SHOWN + 1);
    assert_int_equal(row->values[TS_COLUMN_VALUE], 5);
    rt_close(&t);
}

UNIT_TEST(what_is_left_out_by_name_says_nothing)
{
    static const ts__nv_entry entries[] = { { .type = 12, .name = "byte" } };
    static const uint8_t byte = 3;
    const ts__nv_data data = { schema(entries, 1, TS__NV_STATIC, 0), 1, &byte };
    const ts_filter_desc others = { .names = "-schema" };
    const char *const path = rt_start("left_out.sbt", plain);
    for (int i = 0; i < 2; i++) { // all of it, then nothing
        ts__nv_MarkPayload(NULL, &data, 1);
        ts__nv_RangeEndPayload(NULL, ts__nv_RangeStartPayload(NULL, &data, 1),
                               &data, 1);
        assert_int_equal(ts_filter_set(&others), TS_OK);
    }
    assert_int_equal(ts_filter_set(NULL), TS_OK);
    rt_trace t = rt_end(path);
    assert_int_equal(rt_rows(&t, TS_EVENT_MARK, NULL), 1);
    assert_int_equal(rt_rows(&t, TS_EVENT_MESSAGE, NULL), 3);
    rt_close(&t);
}

UNIT_TEST(batches_are_counted_as_lost)
{
    const char *const path = rt_start("batch.sbt", plain);
    ((void (*)(void *, const void *))payload_slots[17])(NULL, NULL);
    ((void (*)(void *, const void *))counter_slots[5])(NULL, NULL);
    rt_trace t = rt_end(path);
    assert_int_equal(rt_lost(&t, TS_LOSS_BACKEND), 2);
    rt_close(&t);
}

static int load_extensions(void **state)
{
    return load(2, payload_slots, 63) == 1 && load(4, counter_slots, 6) == 1
               ? 0
               : -1;
}

int main(void)
{
    return unit_run(load_extensions, NULL);
}
