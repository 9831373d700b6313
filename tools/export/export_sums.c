/*
    export_sums.c - the checksums around deflated bytes

    Source: RFC 1950 (Adler-32), RFC 1952 (CRC-32).
*/
#include "tools/export/export.h"

/* ---- Adler-32 ----------------------------------------------------------- */

enum { WORD = 32, WORDS = 21 }; // a word's bytes; words until lanes are full

// Bytes of words in lanes of 16 bits: the compiler takes the machine's
// vectors, whatever their size.
typedef uint16_t word __attribute__((vector_size(WORD)));

// Sums of the bytes of WORDS words, and of those sums after each word, for the
// even and the odd bytes.
typedef struct lanes {
    word even, odd, even_sums, odd_sums;
} lanes;

static void add_words(lanes *l, const uint8_t *bytes)
{
    lanes sums = { 0 };
    for (uint32_t i = 0; i < WORDS; i++) {
        word w;
        memcpy(&w, bytes + WORD * i, WORD);
        sums.even_sums += sums.even;
        sums.odd_sums += sums.odd;
        sums.even += w & 0xFF;
        sums.odd += w >> 8;
    }
    *l = sums;
}

uint32_t export_adler32(const uint8_t *bytes, size_t size)
{
    uint32_t a = 1, b = 0;
    for (; size >= WORD * WORDS; size -= WORD * WORDS, bytes += WORD * WORDS) {
        // b counts a byte once for every one from it on.
        lanes l;
        add_words(&l, bytes);
        b += WORD * WORDS * a;
        for (uint32_t i = 0; i < WORD / 2; i++) {
            const uint32_t sums = (uint32_t)l.even_sums[i] + l.odd_sums[i];
            const uint32_t even = l.even[i], odd = l.odd[i];
            a += even + odd;
            b += WORD * sums + (WORD - 2 * i) * even + (WORD - 2 * i - 1) * odd;
        }
        a %= 65521;
        b %= 65521;
    }
    for (; size; size--) {
        a += *bytes++;
        b += a;
    }
    return b % 65521 << 16 | a % 65521;
}

/* ---- CRC-32 ------------------------------------------------------------- */

uint32_t export_crc32(uint32_t crc, const uint8_t *bytes, size_t size)
{
    static const uint32_t nibble[16] = {
        0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4,
        0x4DB26158, 0x5005713C, 0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C,
        0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C
    };
    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        crc = crc >> 4 ^ nibble[crc & 15];
        crc = crc >> 4 ^ nibble[crc & 15];
    }
    return ~crc;
}
