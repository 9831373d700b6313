/*
    sbt_forge.h - write SBT traces by hand, right or wrong

    For tests of the reader. Written from docs/sbt-format.md alone: it shares
    neither code nor constants with the headers, so that one mistake cannot
    hide another. What it writes can be broken afterwards: change bytes and
    call forge_seal.

        forge f;
        forge_open(&f, 1000);
        forge_begin(&f, FORGE_NAMES);
        forge_entry(&f, 1, "work", 4);
        forge_end(&f);
        forge_finish(&f);
        ... f.bytes, f.size ...
        forge_close(&f);
*/
#ifndef SBT_FORGE_H
#define SBT_FORGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>
#ifdef TRACESMITH_ZSTD
#include <zstd.h>
#endif

enum {
    FORGE_NAMES = 1,
    FORGE_SITES = 2,
    FORGE_TRACKS = 3,
    FORGE_LAUNCHES = 4,
    FORGE_MODULES = 5,
    FORGE_STACKS = 6,
    FORGE_CLOCK = 7,
    FORGE_METADATA = 8,
    FORGE_LOSS = 9,
    FORGE_EVENTS = 16,
    FORGE_BLOB = 17,
    FORGE_CAPTURE = 18,
    FORGE_PICTURES = 19,
    FORGE_TOP = 31,
    FORGE_INDEX = 32,
    FORGE_END = 33
};
enum { FORGE_CONSTANT, FORGE_PACK, FORGE_PLANES, FORGE_TEXT };
enum { FORGE_PLAIN = 0, FORGE_DELTA = 1 };

typedef struct forge_bytes {
    uint8_t *bytes;
    size_t size, room;
} forge_bytes;

typedef struct forge_chunk { // what forge_end puts into the header
    uint8_t kind, event;
    uint16_t flags;
    uint32_t track, count, clock;
    uint64_t first, last;
} forge_chunk;

typedef struct forge {
    uint8_t *bytes; // the file so far
    size_t size;
    forge_bytes file, payload, columns;
    forge_chunk next;
    uint32_t column_count;
    uint8_t session[16];
    uint32_t sequence;
    size_t chunks[256]; // their offsets, for the index
    size_t chunk_count, indexed;
    size_t index; // offset of the last part of the index, 0 none
    size_t top;   // offset of the top, 0 none
} forge;

static inline void forge_add(forge_bytes *to, const void *bytes, size_t size)
{
    if (to->size + size > to->room) {
        to->room = 2 * (to->size + size) + 64;
        to->bytes = realloc(to->bytes, to->room);
        if (!to->bytes) abort();
    }
    if (size) memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
}

static inline void forge_number(forge_bytes *to, uint64_t value, size_t size)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    forge_add(to, bytes, size);
}

static inline void forge_pad(forge_bytes *to)
{
    while (to->size % 8)
        forge_number(to, 0, 1);
}

static inline void forge_set(uint8_t *at, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t forge_get(const uint8_t *at, size_t size)
{
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

static inline void forge_show(forge *f)
{
    f->bytes = f->file.bytes;
    f->size = f->file.size;
}

static inline void forge_seal_header(uint8_t *file)
{
    forge_set(file + 56, XXH3_64bits(file, 56), 8);
}

// Puts the right checksum into the chunk at an offset.
static inline void forge_seal(uint8_t *file, size_t offset)
{
    uint8_t *const chunk = file + offset;
    const size_t stored = (size_t)forge_get(chunk + 40, 4);
    const uint64_t seed = XXH3_64bits(chunk, 56);
    forge_set(chunk + 56, XXH3_64bits_withSeed(chunk + 64, stored, seed), 8);
}

static inline void forge_open(forge *f, uint64_t start_tick)
{
    memset(f, 0, sizeof *f);
    for (uint8_t i = 0; i < 16; i++)
        f->session[i] = (uint8_t)(0xA0 + i);
    forge_add(&f->file, "SBT1\r\n\x1a\n", 8);
    forge_number(&f->file, 1, 2);
    forge_number(&f->file, 0, 2);
    forge_number(&f->file, 0, 4);
    forge_add(&f->file, f->session, 16);
    forge_number(&f->file, start_tick, 8);
    forge_number(&f->file, UINT64_C(1700000000000000000), 8);
    forge_number(&f->file, 4242, 4);
    forge_number(&f->file, 0, 4);
    forge_number(&f->file, 0, 8);
    forge_seal_header(f->file.bytes);
    forge_show(f);
}

static inline void forge_close(forge *f)
{
    free(f->file.bytes);
    free(f->payload.bytes);
    free(f->columns.bytes);
    memset(f, 0, sizeof *f);
}

static inline void forge_begin(forge *f, uint8_t kind)
{
    const forge_chunk empty = { .kind = kind };
    f->next = empty;
    f->payload.size = f->columns.size = 0;
    f->column_count = 0;
}

// The payload becomes one zstd frame.
static inline void forge_compress(forge *f)
{
#ifdef TRACESMITH_ZSTD
    const size_t room = ZSTD_compressBound(f->payload.size);
    uint8_t *const packed = malloc(room);
    if (!packed) abort();
    const size_t size =
        ZSTD_compress(packed, room, f->payload.bytes, f->payload.size, 3);
    f->payload.size = 0;
    forge_add(&f->payload, packed, size);
    free(packed);
#else
    (void)f; // the check wasm compiles this without zstd
    abort();
#endif
}

// Writes the chunk. Returns its offset.
static inline size_t forge_end(forge *f)
{
    forge_bytes *const file = &f->file;
    const size_t offset = file->size, raw = f->payload.size;
    if (f->next.flags & 1) forge_compress(f);
    forge_number(file, 0x43544253, 4);
    forge_number(file, f->next.kind, 1);
    forge_number(file, f->next.event, 1);
    forge_number(file, f->next.flags, 2);
    forge_add(file, f->session, 4);
    forge_number(file, f->next.track, 4);
    forge_number(file, f->next.count, 4);
    forge_number(file, f->next.clock, 4);
    forge_number(file, f->next.first, 8);
    forge_number(file, f->next.last, 8);
    forge_number(file, f->payload.size, 4);
    forge_number(file, raw, 4);
    forge_number(file, f->sequence++, 4);
    forge_number(file, 0, 4);
    forge_number(file, 0, 8);
    forge_add(file, f->payload.bytes, f->payload.size);
    forge_pad(file);
    forge_seal(file->bytes, offset);
    forge_show(f);
    if (f->next.kind != FORGE_INDEX && f->next.kind != FORGE_END) {
        if (f->chunk_count == 256) abort();
        f->chunks[f->chunk_count++] = offset;
    }
    return offset;
}

static inline void forge_entry(forge *f, uint32_t id, const void *body,
                               size_t size)
{
    forge_number(&f->payload, id, 4);
    forge_number(&f->payload, size, 4);
    forge_add(&f->payload, body, size);
    f->next.count++;
}

static inline void forge_name(forge *f, uint32_t id, const char *text)
{
    forge_begin(f, FORGE_NAMES);
    forge_entry(f, id, text, strlen(text));
    forge_end(f);
}

// An entry whose body is numbers of 4 bytes (`small` of them), then of 8.
static inline void forge_numbers(forge *f, uint32_t id, size_t small,
                                 size_t count, const uint64_t *values)
{
    forge_bytes body = { NULL, 0, 0 };
    for (size_t i = 0; i < count; i++)
        forge_number(&body, values[i], i < small ? 4 : 8);
    forge_entry(f, id, body.bytes, body.size);
    free(body.bytes);
}

static inline void forge_sample(forge *f, uint32_t clock, uint8_t type,
                                uint64_t tick, uint64_t raw_ns,
                                uint64_t realtime_ns)
{
    const uint64_t values[] = { type, 0, tick, raw_ns, realtime_ns, 0, 0 };
    forge_begin(f, FORGE_CLOCK);
    forge_numbers(f, clock, 2, 7, values);
    forge_end(f);
}

static inline void forge_track(forge *f, uint32_t id, uint8_t type,
                               uint32_t parent, uint32_t name, uint32_t unit)
{
    const uint64_t values[] = { type, parent, name, unit, 100 + id, 0 };
    forge_begin(f, FORGE_TRACKS);
    forge_numbers(f, id, 4, 6, values);
    forge_end(f);
}

static inline size_t forge_blob(forge *f, const void *bytes, size_t size)
{
    const XXH128_hash_t hash = XXH3_128bits(bytes, size);
    forge_begin(f, FORGE_BLOB);
    forge_number(&f->payload, hash.low64, 8);
    forge_number(&f->payload, hash.high64, 8);
    forge_add(&f->payload, bytes, size);
    return forge_end(f);
}

// A part of the index over the chunks since the last one. The pictures hold
// 1000 + cell as their first number.
static inline size_t forge_index(forge *f)
{
    forge_begin(f, FORGE_INDEX);
    forge_number(&f->payload, f->index, 8);
    forge_number(&f->payload, 0, 8);
    for (size_t i = f->indexed; i < f->chunk_count; i++) {
        forge_add(&f->payload, f->file.bytes + f->chunks[i], 56);
        forge_number(&f->payload, f->chunks[i], 8);
        f->next.count++;
    }
    for (size_t i = f->indexed; i < f->chunk_count; i++) {
        if (f->file.bytes[f->chunks[i] + 4] != FORGE_EVENTS) continue;
        for (uint32_t cell = 0; cell < 16; cell++) {
            forge_number(&f->payload, 1000 + cell, 4);
            forge_number(&f->payload, 65535, 2);
            forge_number(&f->payload, cell, 2);
        }
    }
    f->index = forge_end(f);
    f->indexed = f->chunk_count; // parts list no parts
    return f->index;
}

// The events of a kind, all of clock 0, as the top sums them up.
static inline uint32_t forge_top_kinds(const forge *f, forge_bytes *to)
{
    uint32_t kinds = 0;
    for (uint64_t event = 0; event < 64; event++) {
        uint64_t count = 0, stored = 0, first = UINT64_MAX, last = 0;
        for (size_t i = 0; i < f->chunk_count; i++) {
            const uint8_t *const h = f->file.bytes + f->chunks[i];
            if (h[4] != FORGE_EVENTS || h[5] != event) continue;
            const uint64_t from = forge_get(h + 24, 8),
                           till = forge_get(h + 32, 8);
            count += forge_get(h + 16, 4);
            stored += 64 + (forge_get(h + 40, 4) + 7) / 8 * 8;
            if (from < first) first = from;
            if (till > last) last = till;
        }
        if (!count) continue;
        forge_number(to, event, 4);
        forge_number(to, 0, 4);
        forge_number(to, count, 8);
        forge_number(to, stored, 8);
        forge_number(to, first, 8);
        forge_number(to, last, 8);
        kinds++;
    }
    return kinds;
}

// The top: a picture of zones on track 2 and one of a counter on track 4, four
// cells of 10 ticks each. Cell i holds 100 + i as its first number.
static inline void forge_top(forge *f)
{
    forge_bytes kinds = { NULL, 0, 0 }, copies = { NULL, 0, 0 };
    const uint64_t rows[2][3] = { { 2, 1, 1000 }, { 4, 6, 1000 } };
    const uint32_t kind_count = forge_top_kinds(f, &kinds);
    for (size_t i = 0; i < f->chunk_count; i++) {
        const uint8_t *const h = f->file.bytes + f->chunks[i];
        const size_t stored = (size_t)(forge_get(h + 40, 4) + 7) / 8 * 8;
        if (h[4] >= 1 && h[4] <= 10) forge_add(&copies, h, 64 + stored);
    }
    forge_begin(f, FORGE_TOP);
    forge_number(&f->payload, 1, 4);
    forge_number(&f->payload, kind_count, 4);
    forge_number(&f->payload, 2, 4);
    forge_number(&f->payload, 4, 4);
    forge_number(&f->payload, copies.size, 8);
    forge_add(&f->payload, kinds.bytes, kinds.size);
    for (int i = 0; i < 2; i++) {
        forge_number(&f->payload, rows[i][0], 4);
        forge_number(&f->payload, 0, 4);
        forge_number(&f->payload, rows[i][1], 4);
        forge_number(&f->payload, 0, 4);
        forge_number(&f->payload, rows[i][2], 8);
        forge_number(&f->payload, 10, 8);
        forge_number(&f->payload, 7, 8);
    }
    for (uint32_t i = 0; i < 2 * 4; i++) {
        forge_number(&f->payload, 100 + i % 4, 4);
        forge_number(&f->payload, 65535, 4);
        forge_number(&f->payload, i % 4, 8);
    }
    forge_add(&f->payload, copies.bytes, copies.size);
    f->top = forge_end(f);
    free(kinds.bytes);
    free(copies.bytes);
}

static inline size_t forge_end_chunk(forge *f)
{
    forge_begin(f, FORGE_END);
    f->next.first = f->index;
    f->next.last = f->top;
    return forge_end(f);
}

static inline void forge_finish(forge *f)
{
    forge_index(f);
    forge_end_chunk(f);
}

#endif // SBT_FORGE_H
