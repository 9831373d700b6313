/*
    export_deflate.c - a small and fast deflate encoder

    Traces are made of a few skeletons with small numbers in between. Greedy
    matching with two probes per position and one set of Huffman codes per
    block get zones to a tenth, no worse than a general library's fast levels
    and faster, and the same bytes come out on every machine. Where the caller
    knows what a part resembles, nothing is searched at all.

    Source: RFC 1951.
*/
#include "tools/export/export.h"

#define HASH_BITS  14
#define WINDOW     32768
#define MATCH_MIN  4
#define MATCH_MAX  258
#define TOKENS_MAX 65536 // per block

enum { LITERALS = 286, DISTANCES = 30, LENGTHS = 19, END = 256 };

#define IS_MATCH (1u << 31)

typedef struct code {
    uint32_t count[LITERALS]; // how often each symbol stands in the block
    uint32_t coded[LITERALS]; // bits << 4 | size
} code;

typedef struct encoder_bits {
    uint8_t *to;
    uint64_t pending; // bits not written yet, the first one lowest
    uint32_t pending_size;
} encoder_bits;

typedef struct encoder {
    // Last positions, plus WINDOW + 1, by hashes of as many bytes.
    uint32_t by_five[1u << HASH_BITS], by_eight[1u << HASH_BITS];
    uint32_t tokens[TOKENS_MAX]; // literal, or IS_MATCH | length - 3 << 16 |
                                 // distance - 1
    uint32_t count;
    code literal, distance, length;
    // Of lengths, less 3: symbol << 16 | extra bits << 8 | their count.
    uint32_t length_symbols[MATCH_MAX - 2];
    encoder_bits bits;
} encoder;

const size_t export_deflate_scratch = sizeof(encoder);

/* ---- Symbols ------------------------------------------------------------ */

static uint32_t log2_of(uint32_t value)
{
    return 31u - (uint32_t)__builtin_clz(value);
}

// RFC 1951, 3.2.5. Lengths 3 to 258: symbols 257 to 285.
static void list_lengths(encoder *e)
{
    for (uint32_t n = 0; n < 256; n++) {
        const uint32_t log = n < 8 ? 2 : log2_of(n), size = log - 2;
        const uint32_t symbol = n < 8 ? n : (log - 1) * 4 + (n >> size & 3);
        e->length_symbols[n] =
            (257 + symbol) << 16 | (n & ((1u << size) - 1)) << 8 | size;
    }
    e->length_symbols[255] = 285u << 16;
}

// Distances 1 to 32768: symbols 0 to 29.
static inline uint32_t distance_symbol(uint32_t distance, uint32_t *extra_size,
                                       uint32_t *extra)
{
    const uint32_t n = distance - 1;
    *extra_size = *extra = 0;
    if (n < 4) return n;
    const uint32_t log = log2_of(n);
    *extra_size = log - 1;
    *extra = n & ((1u << *extra_size) - 1);
    return log * 2 + ((n >> (log - 1)) & 1);
}

/* ---- Codes -------------------------------------------------------------- */

// By count, then by number; both go into one word for that.
static void sort_symbols(const code *c, uint32_t *order, uint32_t used)
{
    static const uint32_t gaps[] = { 57, 23, 10, 4, 1 }; // Ciura's
    _Static_assert(TOKENS_MAX < 1u << 22, "a count and a symbol fit a word");
    for (uint32_t i = 0; i < used; i++)
        order[i] |= c->count[order[i]] << 9;
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++) {
        for (uint32_t i = gaps[g]; i < used; i++) {
            const uint32_t moving = order[i];
            uint32_t at = i;
            for (; at >= gaps[g] && order[at - gaps[g]] > moving; at -= gaps[g])
                order[at] = order[at - gaps[g]];
            order[at] = moving;
        }
    }
    for (uint32_t i = 0; i < used; i++)
        order[i] &= 511;
}

/*
    Code sizes from counts: Huffman by two queues over the sorted symbols. A
    leaf deeper than `limit` is put beside the deepest one that is not, which
    goes down by one level for it; that keeps the code complete.
*/
static void code_sizes(code *c, uint32_t symbols, uint32_t limit)
{
    uint32_t order[LITERALS], used = 0;
    memset(c->coded, 0, sizeof c->coded);
    for (uint32_t s = 0; s < symbols; s++)
        if (c->count[s]) order[used++] = s;
    if (used < 2) { // decoders want two codes of one bit
        const uint32_t s = used ? order[0] : 0;
        c->coded[s] = c->coded[s ? 0 : 1] = 1;
        return;
    }
    sort_symbols(c, order, used);

    // Nodes 0 to used - 1 are leaves, the others inner ones in order.
    uint64_t weight[2 * LITERALS];
    uint16_t parent[2 * LITERALS];
    uint32_t leaf = 0, inner = used, next = used;
    for (uint32_t i = 0; i < used; i++)
        weight[i] = c->count[order[i]];
    for (; next < 2 * used - 1; next++) {
        weight[next] = 0;
        for (int child = 0; child < 2; child++) {
            const bool from_leaves =
                leaf < used && (inner == next || weight[leaf] <= weight[inner]);
            const uint32_t node = from_leaves ? leaf++ : inner++;
            weight[next] += weight[node];
            parent[node] = (uint16_t)next;
        }
    }
    uint16_t depth[2 * LITERALS];
    depth[next - 1] = 0;
    for (uint32_t node = next - 1; node--;)
        depth[node] = (uint16_t)(depth[parent[node]] + 1);

    uint32_t sized[16] = { 0 }; // codes of each size
    uint32_t excess = 0;        // of the Kraft sum, in units of 2^-limit
    for (uint32_t i = 0; i < used; i++) {
        const uint32_t size = depth[i] < limit ? depth[i] : limit;
        sized[size]++;
        excess += 1u << (limit - size);
    }
    for (excess -= 1u << limit; excess; excess--) {
        uint32_t size = limit - 1;
        while (!sized[size])
            size--;
        sized[size]--;
        sized[size + 1] += 2;
        sized[limit]--;
    }
    for (uint32_t i = 0, size = limit; i < used; i++) { // rarest, longest
        while (!sized[size])
            size--;
        sized[size]--;
        c->coded[order[i]] = size;
    }
}

// Canonical codes, bits reversed because deflate sends their top bit first.
static void code_bits(code *c, uint32_t symbols)
{
    uint32_t sized[16] = { 0 }, next[16] = { 0 };
    for (uint32_t s = 0; s < symbols; s++)
        if (c->coded[s]) sized[c->coded[s]]++;
    for (uint32_t size = 1; size < 16; size++)
        next[size] = (next[size - 1] + sized[size - 1]) << 1;
    for (uint32_t s = 0; s < symbols; s++) {
        const uint32_t size = c->coded[s];
        uint32_t bits = next[size]++, reversed = 0;
        for (uint32_t i = 0; i < size; i++, bits >>= 1)
            reversed = reversed << 1 | (bits & 1);
        c->coded[s] = reversed << 4 | size;
    }
}

static void code_build(code *c, uint32_t symbols, uint32_t limit)
{
    code_sizes(c, symbols, limit);
    code_bits(c, symbols);
}

/* ---- Bits --------------------------------------------------------------- */

static inline void put_bits(encoder_bits *b, uint32_t bits, uint32_t size)
{
    b->pending |= (uint64_t)bits << b->pending_size;
    b->pending_size += size;
}

// Leaves at most 7 bits pending.
static inline void flush_bits(encoder_bits *b)
{
    memcpy(b->to, &b->pending, 8); // little-endian, as the whole format
    const uint32_t whole = b->pending_size >> 3;
    b->to += whole;
    b->pending = whole == 8 ? 0 : b->pending >> (whole * 8);
    b->pending_size &= 7;
}

static inline void put_symbol(encoder_bits *b, const code *c, uint32_t symbol)
{
    put_bits(b, c->coded[symbol] >> 4, c->coded[symbol] & 15);
}

static uint32_t size_of(const code *c, uint32_t symbol)
{
    return c->coded[symbol] & 15;
}

// An empty stored block brings the stream to a byte boundary.
static void align(encoder_bits *b)
{
    put_bits(b, 0, 3);
    put_bits(b, 0, (8 - (b->pending_size & 7)) & 7);
    flush_bits(b);
    memcpy(b->to, "\x00\x00\xFF\xFF", 4);
    b->to += 4;
}

/* ---- Blocks ------------------------------------------------------------- */

// RFC 1951, 3.2.7. The code sizes go out one by one: runs are not worth it.
static void put_codes(encoder *e)
{
    static const uint8_t order[LENGTHS] = { 16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                            11, 4,  12, 3, 13, 2, 14, 1, 15 };
    encoder_bits *const b = &e->bits;
    memset(e->length.count, 0, sizeof e->length.count);
    for (uint32_t s = 0; s < LITERALS; s++)
        e->length.count[size_of(&e->literal, s)]++;
    for (uint32_t s = 0; s < DISTANCES; s++)
        e->length.count[size_of(&e->distance, s)]++;
    code_build(&e->length, LENGTHS, 7);

    put_bits(b, LITERALS - 257, 5);
    put_bits(b, DISTANCES - 1, 5);
    put_bits(b, LENGTHS - 4, 4);
    for (uint32_t i = 0; i < LENGTHS; i++) {
        put_bits(b, size_of(&e->length, order[i]), 3);
        flush_bits(b);
    }
    for (uint32_t s = 0; s < LITERALS; s++) {
        put_symbol(b, &e->length, size_of(&e->literal, s));
        flush_bits(b);
    }
    for (uint32_t s = 0; s < DISTANCES; s++) {
        put_symbol(b, &e->length, size_of(&e->distance, s));
        flush_bits(b);
    }
}

static inline void put_match_bits(const encoder *e, encoder_bits *b,
                                  uint32_t token)
{
    // At most 15 + 5 + 15 + 13 bits.
    if (b->pending_size > 16) flush_bits(b);
    const uint32_t length = e->length_symbols[token >> 16];
    put_symbol(b, &e->literal, length >> 16);
    put_bits(b, length >> 8 & 0xFF, length & 0xFF);
    uint32_t size, extra;
    put_symbol(b, &e->distance,
               distance_symbol((token & 0xFFFF) + 1, &size, &extra));
    put_bits(b, extra, size);
}

static void put_all_tokens(encoder *e)
{
    encoder_bits b = e->bits;
    for (uint32_t i = 0; i < e->count; i++) {
        const uint32_t token = e->tokens[i];
        if (token & IS_MATCH)
            put_match_bits(e, &b, token & ~IS_MATCH);
        else
            put_symbol(&b, &e->literal, token);
        if (b.pending_size > 48) flush_bits(&b);
    }
    flush_bits(&b);
    put_symbol(&b, &e->literal, END);
    flush_bits(&b);
    e->bits = b;
    e->count = 0;
}

static void put_block(encoder *e, bool final)
{
    e->literal.count[END] = 1;
    code_build(&e->literal, LITERALS, 15);
    code_build(&e->distance, DISTANCES, 15);
    put_bits(&e->bits, final ? 1 : 0, 1);
    put_bits(&e->bits, 2, 2); // with codes of its own
    flush_bits(&e->bits);
    put_codes(e);
    put_all_tokens(e);
    memset(e->literal.count, 0, sizeof e->literal.count);
    memset(e->distance.count, 0, sizeof e->distance.count);
}

static inline void put_token(encoder *e, uint32_t token)
{
    if (e->count == TOKENS_MAX) put_block(e, false);
    e->tokens[e->count++] = token;
}

static inline void put_literal(encoder *e, uint8_t byte)
{
    put_token(e, byte);
    e->literal.count[byte]++;
}

// At most four.
static inline void put_literals(encoder *e, const uint8_t *bytes,
                                uint32_t count)
{
    if (e->count > TOKENS_MAX - 4) put_block(e, false);
    for (uint32_t i = 0; i < count; i++) {
        e->tokens[e->count++] = bytes[i];
        e->literal.count[bytes[i]]++;
    }
}

static inline void put_match(encoder *e, uint32_t length, uint32_t distance)
{
    uint32_t size, extra;
    put_token(e, IS_MATCH | (length - 3) << 16 | (distance - 1));
    e->literal.count[e->length_symbols[length - 3] >> 16]++;
    e->distance.count[distance_symbol(distance, &size, &extra)]++;
}

/* ---- Matching ----------------------------------------------------------- */

static inline uint64_t load64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, 8);
    return value;
}

// The place in a table for the lowest `count` bytes.
static inline uint32_t *table_at(uint32_t *table, uint64_t eight, int count)
{
    const uint64_t bytes = eight << (64 - 8 * count);
    return &table[bytes * UINT64_C(0x9E3779B97F4A7C15) >> (64 - HASH_BITS)];
}

static inline uint32_t match_size(const uint8_t *a, const uint8_t *b,
                                  uint32_t limit)
{
    uint32_t size = 0;
    while (size + 8 <= limit) {
        const uint64_t differ = load64(a + size) ^ load64(b + size);
        if (differ) return size + ((uint32_t)__builtin_ctzll(differ) >> 3);
        size += 8;
    }
    while (size < limit && a[size] == b[size])
        size++;
    return size;
}

// How much of what is at `at` stood `distance` before, where eight bytes can
// be read. No more than a match may have.
static inline uint32_t match_at(const uint8_t *src, uint32_t size, uint32_t at,
                                uint32_t distance, uint64_t eight)
{
    if (distance > WINDOW) return 0;
    const uint64_t differ = load64(src + at - distance) ^ eight;
    if (differ) return (uint32_t)__builtin_ctzll(differ) >> 3;
    const uint32_t left = size - at;
    return match_size(src + at - distance, src + at,
                      left < MATCH_MAX ? left : MATCH_MAX);
}

// Puts a match of any length from MATCH_MIN on.
static void put_long_match(encoder *e, uint32_t length, uint32_t distance)
{
    while (length > MATCH_MAX) {
        // What is left must not be too short for a match of its own.
        const uint32_t left = length - MATCH_MAX;
        const uint32_t part =
            left < MATCH_MIN ? MATCH_MAX - MATCH_MIN : MATCH_MAX;
        put_match(e, part, distance);
        length -= part;
    }
    put_match(e, length, distance);
}

// Puts a part of the block that resembles an earlier one: what is equal is
// copied, all else differs from anything. The last copy goes as far as it
// goes. Returns where that ends; `at` if the part is none or too far away.
static uint32_t put_known(encoder *e, const export_block *block, uint32_t at,
                          const export_copy *known)
{
    const uint8_t *const src = block->bytes.data;
    const uint32_t size = (uint32_t)block->bytes.size;
    const uint32_t distance = known->at - known->from;
    const uint32_t end = known->at + known->size;
    _Static_assert(MATCH_MIN == 4, "a match is four bytes that are equal");
    if (!distance || distance > WINDOW || at < known->at) return at;
    while (at < end && at + 8 <= size) {
        const uint64_t differ = load64(src + at - distance) ^ load64(src + at);
        if (!(uint32_t)differ) {
            const uint32_t length =
                match_size(src + at - distance, src + at, size - at);
            put_long_match(e, length, distance);
            at += length;
            continue;
        }
        // Four equal bytes begin behind the last one of these that differs.
        const uint32_t last = 3 - (uint32_t)__builtin_clz((uint32_t)differ) / 8;
        const uint32_t stop = at + last < end ? at + last + 1 : end;
        put_literals(e, src + at, stop - at);
        at = stop;
    }
    return at;
}

// Greedy, up to `until` or somewhat further. The last place with the same
// eight bytes is likely to go on in the same way; where there is none, the
// last one with the same five does. Returns where it got to.
static uint32_t put_found(encoder *e, const uint8_t *src, uint32_t size,
                          uint32_t at, uint32_t until)
{
    while (at < until && at + 8 <= size) {
        const uint64_t eight = load64(src + at);
        uint32_t *const far = table_at(e->by_eight, eight, 8);
        uint32_t *const near = table_at(e->by_five, eight, 5);
        const uint32_t here = at + WINDOW + 1; // tables begin with too far away
        uint32_t distance = here - *far;
        uint32_t length = match_at(src, size, at, distance, eight);
        if (length < 8) {
            distance = here - *near;
            length = match_at(src, size, at, distance, eight);
        }
        *far = *near = here;
        const bool found = length >= MATCH_MIN;
        if (found)
            put_match(e, length, distance);
        else
            put_literal(e, eight & 0xFF);
        at += found ? length : 1;
    }
    return at;
}

static void put_tokens(encoder *e, const export_block *block)
{
    const uint8_t *const src = block->bytes.data;
    const uint32_t size = (uint32_t)block->bytes.size;
    memset(e->by_five, 0, sizeof e->by_five);
    memset(e->by_eight, 0, sizeof e->by_eight);
    uint32_t at = 0;
    for (size_t i = 0; i < block->copy_count; i++) {
        at = put_found(e, src, size, at, block->copies[i].at);
        at = put_known(e, block, at, &block->copies[i]);
    }
    at = put_found(e, src, size, at, size);
    while (at < size)
        put_literal(e, src[at++]);
}

// A literal takes at most 15 bits; codes take less than 400 bytes a block.
size_t export_deflate_bound(size_t size)
{
    return size * 2 + (size / TOKENS_MAX + 2) * 400 + 64;
}

size_t export_deflate(void *scratch, uint8_t *dst, const export_block *block,
                      bool final)
{
    encoder *const e = scratch;
    e->bits = (encoder_bits){ .to = dst };
    e->count = 0;
    memset(e->literal.count, 0, sizeof e->literal.count);
    memset(e->distance.count, 0, sizeof e->distance.count);
    list_lengths(e);
    put_tokens(e, block);
    put_block(e, final);
    if (!final)
        align(&e->bits);
    else if (e->bits.pending_size)
        *e->bits.to++ = (uint8_t)e->bits.pending;
    return (size_t)(e->bits.to - dst);
}
