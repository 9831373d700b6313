/* ---- Reader: numbers of 128 bits ---------------------------------------- */

/*
    Signed numbers of 128 bits. 32-bit compilers have none: there a number is
    two parts, of which `high` has the sign.
*/
#if defined(__SIZEOF_INT128__) && !defined(TS__WIDE_PARTS)
__extension__ typedef __int128 ts__wide;
__extension__ typedef unsigned __int128 ts__uwide;

static inline ts__wide ts__wide_product(int64_t a, uint64_t b)
{
    return (ts__wide)a * (ts__wide)b;
}

static inline ts__wide ts__wide_add(ts__wide a, int64_t b)
{
    return a + b;
}

static inline ts__wide ts__wide_subtract(ts__wide a, int64_t b)
{
    return a - b;
}

// Rounds down, also below zero.
static inline ts__wide ts__wide_divide(ts__wide a, uint64_t b)
{
    const ts__wide quotient = a / (ts__wide)b;
    return quotient - (a % (ts__wide)b < 0);
}

// Limits a number to +-limit.
static inline int64_t ts__wide_clamp(ts__wide a, int64_t limit)
{
    return (int64_t)(a > limit ? limit : a < -limit ? -limit : a);
}

static inline uint64_t ts__wide_low(ts__wide a)
{
    return (uint64_t)a;
}

// a * b / 2^64
static inline uint64_t ts__product_high(uint64_t a, uint64_t b)
{
    return (uint64_t)((ts__uwide)a * b >> 64);
}

// a * 2^64 / b, for a < b
static inline uint64_t ts__fraction(uint64_t a, uint64_t b)
{
    return (uint64_t)(((ts__uwide)a << 64) / b);
}

#else

typedef struct ts__wide {
    uint64_t low, high;
} ts__wide;

static inline uint64_t ts__product_high(uint64_t a, uint64_t b)
{
    const uint64_t a0 = (uint32_t)a, a1 = a >> 32;
    const uint64_t b0 = (uint32_t)b, b1 = b >> 32;
    const uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    const uint64_t other = a0 * b1 + (uint32_t)middle;
    return a1 * b1 + (middle >> 32) + (other >> 32);
}

static inline ts__wide ts__wide_negative(ts__wide a)
{
    const ts__wide result = { ~a.low + 1, ~a.high + !a.low };
    return result;
}

static inline ts__wide ts__wide_product(int64_t a, uint64_t b)
{
    const uint64_t size = a < 0 ? ~(uint64_t)a + 1 : (uint64_t)a;
    const ts__wide product = { size * b, ts__product_high(size, b) };
    return a < 0 ? ts__wide_negative(product) : product;
}

static inline ts__wide ts__wide_add(ts__wide a, int64_t b)
{
    const uint64_t low = a.low + (uint64_t)b;
    const ts__wide sum = { low, a.high - (b < 0) + (low < a.low) };
    return sum;
}

static inline ts__wide ts__wide_subtract(ts__wide a, int64_t b)
{
    const uint64_t low = a.low - (uint64_t)b;
    const ts__wide rest = { low, a.high + (b < 0) - (low > a.low) };
    return rest;
}

// high * 2^64 + low by b, for high < b, bit by bit; *rest: what is left.
static inline uint64_t ts__divide_bits(uint64_t high, uint64_t low, uint64_t b,
                                       uint64_t *rest)
{
    uint64_t quotient = 0;
    for (int i = 63; i >= 0; i--) {
        const bool carry = high >> 63;
        high = high << 1 | (low >> i & 1);
        quotient <<= 1;
        if (!carry && high < b) continue;
        high -= b;
        quotient |= 1;
    }
    *rest = high;
    return quotient;
}

static inline uint64_t ts__fraction(uint64_t a, uint64_t b)
{
    uint64_t rest;
    return ts__divide_bits(a, 0, b, &rest);
}

static inline ts__wide ts__wide_divide(ts__wide a, uint64_t b)
{
    const bool minus = a.high >> 63;
    const ts__wide size = minus ? ts__wide_negative(a) : a;
    uint64_t rest;
    const uint64_t low = ts__divide_bits(size.high % b, size.low, b, &rest);
    const ts__wide quotient = { low, size.high / b };
    if (!minus) return quotient;
    return ts__wide_subtract(ts__wide_negative(quotient), rest > 0);
}

static inline int64_t ts__wide_clamp(ts__wide a, int64_t limit)
{
    const int64_t low = (int64_t)a.low;
    const bool minus = a.high >> 63;
    const bool fits = a.high == (low < 0 ? UINT64_MAX : 0);
    if (fits && low <= limit && low >= -limit) return low;
    return minus ? -limit : limit;
}

static inline uint64_t ts__wide_low(ts__wide a)
{
    return a.low;
}
#endif
