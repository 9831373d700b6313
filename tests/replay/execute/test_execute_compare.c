// When a value counts as the expected one: tolerances, types, NaN and infinity.
#define _GNU_SOURCE
#include "tests/replay/execute/execute_fixture.h"
#include <math.h>

static uint64_t expected_bits, found_bits; // of every element

static void fill(void *to, uint64_t bits, uint32_t width)
{
    for (uint32_t i = 0; i < 64; i += width)
        memcpy((char *)to + i, &bits, width);
}

// Writes values that the record does not predict.
static uint32_t element_width;

static void put(const void *args, const ts_vdev_block *block)
{
    fill(*(void *const *)args, found_bits, element_width);
}

// Records an operation that leaves elements of these bytes, ...
static void record(uint32_t element, uint64_t bits)
{
    begin();
    element_width = ts_element_size(element);
    const ts_vdev_kernel kernel = vt_kernel("put", put, sizeof(void *), 0);
    const char *const path = rt_start("compare.sbt", plain);
    void *const to = vt_memory(0, 64);
    const ts_vdev_launch_desc launch = { .args = &to };
    expected_bits = found_bits = bits;
    ok(ts_capture_start(NULL));
    ok(ts_vdev_launch(vdev, 0, kernel, &launch));
    finish(path);
    load_only(put);
}

// ... and replays it with another result.
static ts_execution_item replayed(ts_execution_desc desc, uint64_t bits)
{
    ts_execution_item item;
    char why[200];
    found_bits = bits;
    desc.executor = &executor;
    ok(ts_execution_open(&execution, reader, positions, 1, &desc, why,
                         sizeof why));
    ts_execution_run(execution, 0, &item);
    close_execution();
    assert_int_equal(TS_OUTCOME_EXECUTED, item.outcome);
    assert_true(item.compared);
    return item;
}

static bool passes(ts_execution_desc desc, uint64_t bits)
{
    return !replayed(desc, bits).diverged;
}

static ts_execution_desc rule(ts_compare compare, uint32_t element,
                              double tolerance, double absolute)
{
    const ts_execution_desc desc = { .compare = compare,
                                     .element = element,
                                     .tolerance = tolerance,
                                     .absolute = absolute };
    return desc;
}

static uint64_t f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t f64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

UNIT_TEST(an_infinity_passes_for_itself_alone)
{
    record(TS_ELEMENT_F32, f32(INFINITY));
    const ts_execution_desc rules[] = {
        rule(TS_COMPARE_RTOL, TS_ELEMENT_F32, 0.5, 0),
        rule(TS_COMPARE_RTOL, TS_ELEMENT_F32, 0, 1e30),
        rule(TS_COMPARE_ULP, TS_ELEMENT_F32, 1e9, 1e30),
    };
    for (size_t i = 0; i < 3; i++) {
        assert_true(passes(rules[i], f32(INFINITY)));
        assert_false(passes(rules[i], f32(1)));
        assert_false(passes(rules[i], f32(3.4e38f)));
        assert_false(passes(rules[i], f32(-INFINITY)));
        assert_false(passes(rules[i], f32(NAN)));
    }
    ts_reader_close(reader);
    record(TS_ELEMENT_F32, f32(3.4e38f));
    for (size_t i = 0; i < 3; i++)
        assert_false(passes(rules[i], f32(INFINITY)));
    ts_reader_close(reader);
}

UNIT_TEST(nan_passes_for_nan)
{
    record(TS_ELEMENT_F32, 0x7FC00000);
    const ts_execution_desc rtol = rule(TS_COMPARE_RTOL, TS_ELEMENT_F32, 9, 9);
    const ts_execution_desc ulp = rule(TS_COMPARE_ULP, TS_ELEMENT_F32, 9, 9);
    assert_true(passes(rtol, 0xFFC00001));
    assert_true(passes(ulp, 0xFFC00001));
    assert_false(passes(rtol, f32(1)));
    assert_false(passes(ulp, 0x7F800000));
    assert_false(passes(rule(TS_COMPARE_EXACT, 0, 0, 0), 0x7FC00001));
    ts_reader_close(reader);
    record(TS_ELEMENT_F32, f32(1));
    assert_false(passes(rtol, 0x7FC00000));
    ts_reader_close(reader);
}

UNIT_TEST(absolute_adds_to_relative)
{
    record(TS_ELEMENT_F64, f64(-8));
    const uint32_t e = TS_ELEMENT_F64;
    assert_true(passes(rule(TS_COMPARE_RTOL, e, 0, 0.5), f64(-8.5)));
    assert_false(passes(rule(TS_COMPARE_RTOL, e, 0, 0.5), f64(-8.625)));
    assert_true(passes(rule(TS_COMPARE_RTOL, e, 0.25, 0), f64(-6)));
    assert_false(passes(rule(TS_COMPARE_RTOL, e, 0.25, 0), f64(-5.5)));
    assert_true(passes(rule(TS_COMPARE_RTOL, e, 0.25, 0.5), f64(-5.5)));
    assert_false(passes(rule(TS_COMPARE_RTOL, e, 0.25, 0.5), f64(-5.25)));
    const ts_execution_item item =
        replayed(rule(TS_COMPARE_RTOL, e, 0.25, 0.5), f64(-5.25));
    assert_float_equal(2.75, item.largest, 0);
    assert_int_equal(8, item.elements);
    ts_reader_close(reader);
}

UNIT_TEST(absolute_or_representable_values)
{
    record(TS_ELEMENT_F32, f32(0));
    const uint32_t e = TS_ELEMENT_F32;
    assert_true(passes(rule(TS_COMPARE_ULP, e, 0, 0), f32(-0.0f)));
    assert_true(passes(rule(TS_COMPARE_ULP, e, 2, 0), 0x80000002));
    assert_false(passes(rule(TS_COMPARE_ULP, e, 2, 0), 0x80000003));
    assert_false(passes(rule(TS_COMPARE_ULP, e, 2, 0), f32(1e-6f)));
    assert_true(passes(rule(TS_COMPARE_ULP, e, 2, 1e-5), f32(1e-6f)));
    ts_reader_close(reader);
}

// Of each type a value, the value two representable ones further, and their
// distance.
UNIT_TEST(every_type_has_its_distances)
{
    static const struct {
        const char *name;
        uint64_t expected, found;
        double value, tolerance;
    } types[] = {
        { "i8", 0xFF, 0x01, -1, 2 },
        { "u8", 0xFF, 0xFD, 255, 2 },
        { "i32", 0xFFFFFFFF, 0x00000001, -1, 2 },
        { "u32", 0xFFFFFFFF, 0xFFFFFFFD, 4294967295.0, 2 },
        { "i64", UINT64_MAX, 1, -1, 2 },
        { "u64", UINT64_C(1) << 63, (UINT64_C(1) << 63) + 2,
          9223372036854775808.0, 2 },
        { "f16", 0x3C00, 0x3C02, 1, 0x1p-9 },
        { "f32", 0x3F800000, 0x3F800002, 1, 0x1p-22 },
        { "f64", UINT64_C(0x3FF) << 52, (UINT64_C(0x3FF) << 52) + 2, 1,
          0x1p-51 },
        { "bf16", 0x3F80, 0x3F82, 1, 0x1p-6 },
        { "f8e4m3", 0x38, 0x3A, 1, 0.25 },
        { "f8e5m2", 0x3C, 0x3E, 1, 0.5 },
    };
    for (uint32_t e = 1; e < TS_ELEMENT_LIMIT; e++) {
        const uint64_t expected = types[e - 1].expected;
        assert_string_equal(types[e - 1].name, ts_element_name(e));
        assert_float_equal(types[e - 1].value, ts_element_value(e, &expected),
                           0);
        record(e, expected);
        const double tolerance = types[e - 1].tolerance;
        const uint64_t found = types[e - 1].found;
        assert_true(passes(rule(TS_COMPARE_ULP, e, 2, 0), found));
        assert_false(passes(rule(TS_COMPARE_ULP, e, 1, 0), found));
        assert_true(passes(rule(TS_COMPARE_RTOL, e, 0, tolerance), found));
        const ts_execution_item item =
            replayed(rule(TS_COMPARE_RTOL, e, 0, tolerance / 2), found);
        assert_true(item.diverged);
        assert_float_equal(tolerance, item.largest, 0);
        assert_int_equal(64 / ts_element_size(e), item.elements);
        ts_reader_close(reader);
    }
    assert_null(ts_element_name(0));
    assert_null(ts_element_name(TS_ELEMENT_LIMIT));
    assert_int_equal(0, ts_element_size(TS_ELEMENT_LIMIT));
}

UNIT_TEST(narrow_floats_are_what_their_formats_say)
{
    static const struct {
        uint32_t element;
        uint64_t bits;
        double value;
    } values[] = {
        { 7, 0x7BFF, 65504 },        { 7, 0x0001, 0x1p-24 },
        { 7, 0xFC00, -INFINITY },    { 10, 0x7F7F, 0x1.FEp127 },
        { 10, 0x8001, -0x1p-133 },   { 10, 0x7F80, INFINITY },
        { 11, 0x7E, 448 },           { 11, 0x78, 256 },
        { 11, 0x01, 0x1p-9 },        { 12, 0x7B, 57344 },
        { 12, 0x01, 0x1p-16 },       { 12, 0x7C, INFINITY },
        { 8, 0x00000001, 0x1p-149 },
    };
    static const struct {
        uint32_t element;
        uint64_t bits;
    } none[] = { { 7, 0x7C01 }, { 10, 0xFFC0 }, { 11, 0x7F },
                 { 11, 0xFF },  { 12, 0x7D },   { 8, 0x7F800001 } };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        assert_true(values[i].value ==
                    ts_element_value(values[i].element, &values[i].bits));
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_true(isnan(ts_element_value(none[i].element, &none[i].bits)));
}

UNIT_TEST(a_type_that_is_none_is_refused)
{
    record(TS_ELEMENT_F32, 0);
    const ts_execution_desc desc = { .executor = &executor,
                                     .element = TS_ELEMENT_LIMIT };
    char why[200];
    assert_int_equal(TS_ERR_USAGE,
                     ts_execution_open(&execution, reader, positions, 1, &desc,
                                       why, sizeof why));
    assert_null(execution);
    ts_reader_close(reader);
}

int main(void)
{
    NEED_ADDRESSES();
    return unit_run(NULL, NULL);
}
