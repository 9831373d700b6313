/*
    test_diff_samples.c - sums of samples, tested against chance
*/
#include "tests/unit.h"
#include "tools/diff/diff.h"

typedef struct forged {
    diff_weights w;
    double slices[DIFF_SLICES];
} forged;

// Adds samples of a weight to a slice.
static void put(forged *f, size_t slice, double count, double weight)
{
    f->w.slices = f->slices;
    f->slices[slice] += count * weight;
    f->w.total += count * weight;
    f->w.squares += count * weight * weight;
}

// Every `stride`-th slice has as many samples.
static forged even(double count, size_t stride, double weight)
{
    forged f = { .w = { 0 } };
    for (size_t i = 0; i < DIFF_SLICES; i += stride)
        put(&f, i, count, weight);
    return f;
}

static uint64_t test(forged *a, forged *b, int toward)
{
    int got, back;
    a->w.slices = a->slices;
    b->w.slices = b->slices;
    const uint64_t p = diff_weights_test(&a->w, &b->w, &got);
    assert_int_equal(p, diff_weights_test(&b->w, &a->w, &back));
    assert_int_equal(toward, got);
    assert_int_equal(-toward, back);
    return p;
}

// In hundredths of 1 %.
static uint64_t parts(uint64_t p)
{
    return p / (DIFF_CERTAIN / 10000);
}

UNIT_TEST(a_sum_that_is_the_same_is_no_difference)
{
    forged a = even(10, 1, 1), b = even(20, 2, 1);
    assert_int_equal(DIFF_CERTAIN, test(&a, &b, 0));
}

// 10,240 and 10,496: z = 255 / 144.
UNIT_TEST(even_samples_have_the_variance_of_their_number)
{
    forged a = even(80, 1, 1), b = even(82, 1, 1);
    assert_int_equal(766, parts(test(&a, &b, 1)));
}

UNIT_TEST(a_weight_is_the_unit_of_samples)
{
    forged a = even(80, 1, 1000), b = even(82, 1, 1000);
    assert_int_equal(766, parts(test(&a, &b, 1)));
    // A tenth of the samples with ten times the weight: z = 250 / 339.
    forged c = even(8.2, 1, 10000);
    assert_int_equal(4607, parts(test(&a, &c, 1)));
}

// 4 against 0: exactly 12.5 %. Six are 3.1 %.
UNIT_TEST(few_samples_against_none_are_chance)
{
    forged none = { .w = { 0 } }, some = none;
    put(&some, 0, 4, 1);
    assert_int_equal(1336, parts(test(&none, &some, 1)));
    put(&some, 0, 2, 1);
    assert_int_equal(412, parts(test(&none, &some, 1)));
    put(&some, 0, 194, 1);
    assert_int_equal(0, parts(test(&none, &some, 1)));
}

// Where the bursts are differs between A and B, and in most neighbours.
UNIT_TEST(bursts_are_as_many_chances_as_bursts)
{
    forged a = { .w = { 0 } }, b = a;
    for (size_t i = 0; i < 40; i++)
        put(&a, (i * 37) % DIFF_SLICES, 20, 1);
    for (size_t i = 0; i < 52; i++)
        put(&b, (i * 53 + 7) % DIFF_SLICES, 20, 1);
    // As single samples z would be 5.6.
    assert_true(parts(test(&a, &b, 1)) > 500);
}

UNIT_TEST(phases_of_both_sides_are_no_bursts)
{
    forged a = even(100, 4, 1), b = even(120, 4, 1);
    assert_int_equal(0, parts(test(&a, &b, 1)));
}

// The phase of B is longer: of its neighbours only those at its end differ.
UNIT_TEST(a_phase_that_grows_is_no_burst)
{
    forged a = even(1, 1, 1), b = even(1, 1, 1);
    for (size_t i = 0; i < 10; i++)
        put(&a, i, 100, 1);
    for (size_t i = 0; i < 13; i++)
        put(&b, i, 100, 1);
    assert_int_equal(0, parts(test(&a, &b, 1)));
}

UNIT_TEST(weights_of_nothing_are_not_tested)
{
    forged a = { .w = { 0 } }, b = even(1, 1, 1);
    assert_int_equal(DIFF_CERTAIN, test(&a, &a, 0));
    forged c = a;
    assert_int_equal(DIFF_CERTAIN, test(&a, &c, 0));
    // The squares of such weights are 0.
    forged d = even(1, 1, 1e-200), e = even(2, 1, 1e-200);
    assert_int_equal(DIFF_CERTAIN, test(&d, &e, 1));
    assert_int_equal(0, parts(test(&d, &b, 1)));
    assert_int_equal(0, parts(test(&a, &b, 1)));
}

int main(void)
{
    return unit_run(NULL, NULL);
}
