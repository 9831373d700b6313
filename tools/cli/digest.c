/*
    digest.c - BLAKE2b, of 32 bytes

    Identifies contents that may come from an attacker. The format's own hash
    (XXH3) only detects accidental damage: its collisions can be constructed.
    Source: RFC 7693, section 3 and appendix A.
*/
#include "tools/cli/cli.h"

enum { BLOCK = 128, ROUNDS = 12 };

static const uint64_t origin[8] = {
    UINT64_C(0x6A09E667F3BCC908), UINT64_C(0xBB67AE8584CAA73B),
    UINT64_C(0x3C6EF372FE94F82B), UINT64_C(0xA54FF53A5F1D36F1),
    UINT64_C(0x510E527FADE682D1), UINT64_C(0x9B05688C2B3E6C1F),
    UINT64_C(0x1F83D9ABFB41BD6B), UINT64_C(0x5BE0CD19137E2179),
};

// The order in which each round mixes in the words of a block.
static const uint8_t order[10][16] = {
    { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
    { 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3 },
    { 11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4 },
    { 7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8 },
    { 9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13 },
    { 2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9 },
    { 12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11 },
    { 13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10 },
    { 6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5 },
    { 10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0 },
};

static inline uint64_t rotate(uint64_t value, unsigned by)
{
    return value >> by | value << (64 - by);
}

static inline void mix(uint64_t *a, uint64_t *b, uint64_t *c, uint64_t *d,
                       uint64_t x, uint64_t y)
{
    *a += *b + x;
    *d = rotate(*d ^ *a, 32);
    *c += *d;
    *b = rotate(*b ^ *c, 24);
    *a += *b + y;
    *d = rotate(*d ^ *a, 16);
    *c += *d;
    *b = rotate(*b ^ *c, 63);
}

static void compress(cli_digest *d, const uint8_t *block, bool last)
{
    uint64_t v[16], m[16];
    memcpy(m, block, sizeof m); // little-endian, as everywhere in the format
    memcpy(v, d->state, sizeof d->state);
    memcpy(v + 8, origin, sizeof origin);
    v[12] ^= d->size;
    if (last) v[14] = ~v[14];
    for (int round = 0; round < ROUNDS; round++) {
        const uint8_t *const s = order[round % 10];
        mix(&v[0], &v[4], &v[8], &v[12], m[s[0]], m[s[1]]);
        mix(&v[1], &v[5], &v[9], &v[13], m[s[2]], m[s[3]]);
        mix(&v[2], &v[6], &v[10], &v[14], m[s[4]], m[s[5]]);
        mix(&v[3], &v[7], &v[11], &v[15], m[s[6]], m[s[7]]);
        mix(&v[0], &v[5], &v[10], &v[15], m[s[8]], m[s[9]]);
        mix(&v[1], &v[6], &v[11], &v[12], m[s[10]], m[s[11]]);
        mix(&v[2], &v[7], &v[8], &v[13], m[s[12]], m[s[13]]);
        mix(&v[3], &v[4], &v[9], &v[14], m[s[14]], m[s[15]]);
    }
    for (int i = 0; i < 8; i++)
        d->state[i] ^= v[i] ^ v[i + 8];
}

void cli_digest_begin(cli_digest *d)
{
    memset(d, 0, sizeof *d);
    memcpy(d->state, origin, sizeof origin);
    d->state[0] ^= 0x01010000 ^ CLI_DIGEST_BYTES; // no key, no tree
}

// Keeps the last block in d->block: it is hashed with a flag that marks the
// end.
void cli_digest_add(cli_digest *d, const void *bytes, size_t size)
{
    const uint8_t *p = bytes;
    while (size) {
        if (d->held == BLOCK) {
            d->size += BLOCK;
            compress(d, d->block, false);
            d->held = 0;
        }
        const size_t room = BLOCK - d->held;
        const size_t part = size < room ? size : room;
        memcpy(d->block + d->held, p, part);
        d->held += part;
        p += part;
        size -= part;
    }
}

void cli_digest_end(cli_digest *d, uint8_t digest[CLI_DIGEST_BYTES])
{
    d->size += d->held;
    memset(d->block + d->held, 0, BLOCK - d->held);
    compress(d, d->block, true);
    memcpy(digest, d->state, CLI_DIGEST_BYTES);
}
