// Numbers of 128 bits in two parts, as 32-bit compilers need them, against the
// compiler's own.
#define TS__WIDE_PARTS
#include <stdbool.h>
#include <stdint.h>

#include "src/replay/reader/wide.h"
#include "tests/unit.h"

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

static uint64_t state = 1;

// Numbers of all sizes, and those beside powers of two.
static uint64_t number(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const uint64_t some = state >> (state & 63);
    const uint64_t edge = (UINT64_C(1) << (state >> 8 & 63)) + some % 3 - 1;
    return state >> 20 & 1 ? some : edge;
}

static wide value(ts__wide w)
{
    return (wide)((uwide)w.high << 64 | w.low);
}

UNIT_TEST(products_sums_and_quotients_are_those_of_the_compiler)
{
    for (int i = 0; i < 200000; i++) {
        const int64_t a = (int64_t)number(), c = (int64_t)number();
        const uint64_t b = number(), by = number() | 1;
        const ts__wide product = ts__wide_product(a, b);
        const wide expected = (wide)a * (wide)b;
        assert_true(value(product) == expected);
        assert_true(value(ts__wide_add(product, c)) == expected + c);
        assert_true(value(ts__wide_subtract(product, c)) == expected - c);
        const wide quotient = expected / (wide)by;
        assert_true(value(ts__wide_divide(product, by)) ==
                    quotient - (expected % (wide)by < 0));
        assert_int_equal(ts__wide_low(product), (uint64_t)expected);
    }
}

UNIT_TEST(clamped_numbers_are_those_of_the_compiler)
{
    const int64_t limits[] = { 0, 5, INT64_C(1) << 62, INT64_MAX };
    for (int i = 0; i < 200000; i++) {
        const int64_t a = (int64_t)number(), limit = limits[i & 3];
        const uint64_t b = number() >> (i & 63);
        const wide w = (wide)a * (wide)b;
        const wide expected = w > limit ? limit : w < -limit ? -limit : w;
        assert_true(ts__wide_clamp(ts__wide_product(a, b), limit) == expected);
    }
}

UNIT_TEST(high_products_and_fractions_are_those_of_the_compiler)
{
    for (int i = 0; i < 200000; i++) {
        const uint64_t a = number(), b = number() | 1;
        assert_int_equal(ts__product_high(a, b),
                         (uint64_t)((uwide)a * b >> 64));
        assert_int_equal(ts__fraction(a % b, b),
                         (uint64_t)(((uwide)(a % b) << 64) / b));
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
