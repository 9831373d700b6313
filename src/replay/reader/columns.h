/* ---- Reader: columns ---------------------------------------------------- */

typedef struct ts__column {
    ts_column_header header;
    const uint8_t *data;
    bool present;
} ts__column;

// The columns of a chunk: located, not decoded.
typedef struct ts__columns {
    ts__column column[TS_COLUMN_LIMIT];
    uint32_t count;
} ts__columns;

// Checks that the blocks of 64 values, each with its own width, fill `size`.
static const char *ts__pack_check(const uint8_t *data, uint32_t size,
                                  uint32_t count)
{
    const uint32_t blocks = count / 64 + (count % 64 != 0);
    uint64_t used = ts__pad8(blocks);
    if (used > size) return "a column is too short";
    for (uint32_t i = 0; i < blocks; i++) {
        const uint64_t values = i + 1 < blocks ? 64 : count - i * 64;
        if (data[i] > 64) return "a column has values of more than 64 bits";
        used += ts__pad8((values * data[i] + 7) / 8);
    }
    return used == size ? NULL : "a column has the wrong size";
}

static const char *ts__text_check(const uint8_t *data, uint32_t size,
                                  uint32_t count)
{
    uint64_t used = (uint64_t)count * 4;
    if (used > size) return "a column of texts is too short";
    for (uint32_t i = 0; i < count; i++)
        used += ts__get32(data + (size_t)i * 4);
    return ts__pad8(used) == size ? NULL : "a column of texts has another size";
}

static bool ts__transform_known(const ts_column_header *header)
{
    switch (header->transform) {
    case TS_TRANSFORM_NONE: return true;
    case TS_TRANSFORM_DELTA: return header->column != TS_COLUMN_TEXT;
    case TS_TRANSFORM_GAP: return header->column == TS_COLUMN_START;
    case TS_TRANSFORM_QUEUED: return header->column == TS_COLUMN_SUBMITTED;
    case TS_TRANSFORM_ISSUED: return header->column == TS_COLUMN_QUEUED;
    default: return false;
    }
}

static const char *ts__column_check(const ts__column *column, uint32_t count)
{
    const ts_column_header *const header = &column->header;
    const bool text = header->column == TS_COLUMN_TEXT;
    if (text != (header->encoding == TS_ENCODING_TEXT))
        return "a column has an encoding that it cannot have";
    if (!ts__transform_known(header) || (text && header->base))
        return "a column has an unknown transform";
    switch (header->encoding) {
    case TS_ENCODING_CONSTANT:
        return header->size ? "a constant column has data" : NULL;
    case TS_ENCODING_PACK:
        return ts__pack_check(column->data, header->size, count);
    case TS_ENCODING_TEXT:
        return ts__text_check(column->data, header->size, count);
    case TS_ENCODING_PLANES:
        if (header->width < 1 || header->width > 8)
            return "a column has values of more than 64 bits";
        if (ts__pad8((uint64_t)header->width * count) != header->size)
            return "a column has the wrong size";
        return NULL;
    default: return "a column has an unknown encoding";
    }
}

// Locates and checks the columns in a payload. Afterwards their data can be
// read without further checks, and 8 bytes may be loaded at any value.
static const char *ts__columns_find(const uint8_t *payload, uint32_t size,
                                    uint32_t count, ts__columns *columns)
{
    memset(columns, 0, sizeof *columns);
    columns->count = count;
    if (size < 16) return "the chunk is too short for columns";
    const uint32_t column_count = ts__get32(payload);
    if (column_count > TS_COLUMNS_MAX || ts__get32(payload + 4))
        return "the number of columns of the chunk exceeds the limit";
    uint64_t at = 8 + (uint64_t)column_count * sizeof(ts_column_header);
    if (at > size - 8) return "the chunk is too short for its columns";
    for (uint32_t i = 0; i < column_count; i++) {
        ts__column found = { .data = payload + at, .present = true };
        memcpy(&found.header, payload + 8 + i * sizeof found.header,
               sizeof found.header);
        if (found.header.size % 8 || found.header.size > size - 8 - at)
            return "a column extends beyond its chunk";
        at += found.header.size;
        if (!found.header.column || found.header.column >= TS_COLUMN_LIMIT)
            continue;
        ts__column *const column = &columns->column[found.header.column];
        if (column->present) return "a column occurs twice";
        *column = found;
        const char *const text = ts__column_check(column, count);
        if (text) return text;
    }
    if (at != size - 8 || ts__get64(payload + at))
        return "the chunk does not end with its columns";
    return NULL;
}

// Gets one value of an array of `width`-bit values. A value of up to 57 bits,
// shifted by at most 7, fits into one 8-byte load; a wider one ends in the next
// byte.
static inline __attribute__((always_inline)) uint64_t
ts__unpack_one(const uint8_t *data, uint32_t width, uint32_t index)
{
    const uint32_t bit = index * width;
    const uint8_t *const at = data + (bit >> 3);
    uint64_t value = ts__get64(at) >> (bit & 7);
    if (width > 57) value |= (uint64_t)at[8] << 1 << (63 - (bit & 7));
    return width ? value & UINT64_MAX >> (64 - width) : 0;
}

// Decodes values in groups of eight. Eight values fill whole bytes, so that
// with a constant width each of them has a constant offset.
static inline __attribute__((always_inline)) void
ts__unpack(const uint8_t *data, uint32_t width, uint32_t count, uint64_t base,
           uint64_t *values)
{
    uint32_t i = 0;
    for (; i + 8 <= count; i += 8, data += width) {
#pragma GCC unroll 8
        for (uint32_t j = 0; j < 8; j++)
            values[i + j] = base + ts__unpack_one(data, width, j);
    }
    for (uint32_t j = 0; i < count; i++, j++)
        values[i] = base + ts__unpack_one(data, width, j);
}

// Most blocks are full and narrow. For them count and width are compile-time
// constants.
#define TS__WIDTHS(X) \
    X(0) \
    X(1) \
    X(2) \
    X(3) \
    X(4) \
    X(5) \
    X(6) \
    X(7) \
    X(8) \
    X(9) \
    X(10) \
    X(11) \
    X(12) \
    X(13) \
    X(14) \
    X(15) \
    X(16)
#define TS__X(n) \
    static void ts__unpack_##n(const uint8_t *data, uint64_t base, \
                               uint64_t *values) \
    { \
        ts__unpack(data, n, 64, base, values); \
    }
TS__WIDTHS(TS__X)
#undef TS__X

typedef void ts__unpacker(const uint8_t *data, uint64_t base, uint64_t *values);
static ts__unpacker *const ts__unpackers[] = {
#define TS__X(n) ts__unpack_##n,
    TS__WIDTHS(TS__X)
#undef TS__X
};
enum { TS__UNPACKERS = sizeof ts__unpackers / sizeof *ts__unpackers };

static void ts__unpack_block(const uint8_t *data, uint32_t width,
                             uint32_t count, uint64_t base, uint64_t *values)
{
    if (count == 64 && width < TS__UNPACKERS)
        ts__unpackers[width](data, base, values);
    else if (width <= 57)
        ts__unpack(data, width, count, base, values);
    else
        ts__unpack(data, width, count, base, values);
}

static inline uint64_t ts__unzigzag(uint64_t stored)
{
    return (stored >> 1) ^ (0 - (stored & 1));
}

// Reads the values of a column in order, some at a time.
typedef struct ts__column_cursor {
    const ts__column *column;
    const uint8_t *block; // TS_ENCODING_PACK: the next block
    uint32_t row;         // the next one, a multiple of 64
    uint64_t last;        // TS_TRANSFORM_DELTA: the value before
} ts__column_cursor;

static ts__column_cursor ts__column_begin(const ts__column *column,
                                          uint32_t count)
{
    const uint32_t blocks = count / 64 + (count % 64 != 0);
    ts__column_cursor cursor = { .column = column,
                                 .last = column->header.base };
    if (column->header.encoding == TS_ENCODING_PACK)
        cursor.block = column->data + ts__pad8(blocks);
    return cursor;
}

#ifdef TS__AVX2
// A full block of values of 1 to 25 bits. Each half of a vector takes the bytes
// of four values from 16 bytes, of which it may need 13, and shifts each value
// to its place.
__attribute__((target("avx2"))) static void ts__unpack_avx2(const uint8_t *data,
                                                            uint32_t width,
                                                            uint64_t base,
                                                            uint64_t *values)
{
    const int half = 4 * (int)width & 7; // bits before the fifth value
    const __m256i bits = _mm256_add_epi32(
        _mm256_mullo_epi32(_mm256_set1_epi32((int)width),
                           _mm256_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3)),
        _mm256_setr_epi32(0, 0, 0, 0, half, half, half, half));
    const __m256i shifts = _mm256_and_si256(bits, _mm256_set1_epi32(7));
    const __m256i bytes =
        _mm256_add_epi32(_mm256_mullo_epi32(_mm256_srli_epi32(bits, 3),
                                            _mm256_set1_epi32(0x01010101)),
                         _mm256_set1_epi32(0x03020100));
    const __m256i mask = _mm256_set1_epi32((1 << width) - 1);
    const __m256i bases = ts__all_avx2(base);
    for (uint32_t i = 0; i < 64; i += 8, data += width) {
        const __m128i low =
            _mm_loadu_si128((const __m128i *)(const void *)data);
        const __m128i high =
            _mm_loadu_si128((const __m128i *)(const void *)(data + width / 2));
        const __m256i both = _mm256_shuffle_epi8(
            _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1),
            bytes);
        const __m256i eight =
            _mm256_and_si256(_mm256_srlv_epi32(both, shifts), mask);
        ts__store_avx2(
            values + i,
            _mm256_add_epi64(
                bases, _mm256_cvtepu32_epi64(_mm256_castsi256_si128(eight))));
        ts__store_avx2(
            values + i + 4,
            _mm256_add_epi64(bases, _mm256_cvtepu32_epi64(
                                        _mm256_extracti128_si256(eight, 1))));
    }
}
#endif

static void ts__unpack_some(ts__column_cursor *cursor, uint32_t count,
                            uint64_t base, uint64_t *values)
{
    const uint8_t *width = cursor->column->data + cursor->row / 64;
#ifdef TS__AVX2
    // The 8 bytes that follow a column may be read, but not 16.
    const uint8_t *const end =
        cursor->column->data + cursor->column->header.size;
    const bool avx2 = ts__has_avx2();
#endif
    for (uint32_t i = 0; i < count; i += 64, width++) {
        const uint32_t rows = count - i < 64 ? count - i : 64;
        const uint64_t size = ts__pad8((rows * *width + 7) / 8);
#ifdef TS__AVX2
        if (avx2 && rows == 64 && *width - 1u < 25 &&
            size + 16 <= (size_t)(end - cursor->block))
            ts__unpack_avx2(cursor->block, *width, base, values + i);
        else
#endif
            ts__unpack_block(cursor->block, *width, rows, base, values + i);
        cursor->block += size;
    }
}

// The bytes of all values lie in planes of `total` bytes, the lowest first.
static void ts__unplane_some(const ts__column_cursor *cursor, uint32_t total,
                             uint32_t count, uint64_t base, uint64_t *values)
{
    const uint8_t *data = cursor->column->data + cursor->row;
    for (uint32_t i = 0; i < count; i++)
        values[i] = data[i];
    for (uint32_t p = 1; p < cursor->column->header.width; p++) {
        data += total;
        for (uint32_t i = 0; i < count; i++)
            values[i] |= (uint64_t)data[i] << (8 * p);
    }
    for (uint32_t i = 0; base && i < count; i++)
        values[i] += base;
}

// Decodes the next `count` of `total` values of a column that ts__columns_find
// has checked; zeros if it is absent. All calls but the last take a multiple of
// 64. Transforms that need other columns are applied by ts__gaps_decode,
// ts__submitted_decode and ts__queued_decode.
static void ts__column_next(ts__column_cursor *cursor, uint32_t total,
                            uint32_t count, uint64_t *values)
{
    const ts_column_header *const header = &cursor->column->header;
    const uint64_t base = header->transform ? 0 : header->base;
    if (header->encoding == TS_ENCODING_PACK)
        ts__unpack_some(cursor, count, base, values);
    else if (header->encoding == TS_ENCODING_PLANES)
        ts__unplane_some(cursor, total, count, base, values);
    else
        for (uint32_t i = 0; i < count; i++)
            values[i] = base;
    cursor->row += count;
    if (header->transform != TS_TRANSFORM_DELTA) return;
    for (uint32_t i = 0; i < count; i++) {
        cursor->last += ts__unzigzag(values[i]);
        values[i] = cursor->last;
    }
}

// Decodes a whole column.
static void ts__column_decode(const ts__column *column, uint32_t count,
                              uint64_t *values)
{
    ts__column_cursor cursor = ts__column_begin(column, count);
    ts__column_next(&cursor, count, count, values);
}

// Decodes starts that are stored as distances from the previous end, which
// *end is at first.
static void ts__gaps_decode(uint32_t count, const uint64_t *durations,
                            uint64_t *starts, uint64_t *end)
{
    for (uint32_t i = 0; i < count; i++) {
        starts[i] = *end + ts__unzigzag(starts[i]);
        *end = starts[i] + durations[i];
    }
}

// Decodes `submitted` that is stored as distances from `queued` (NULL: zeros).
static void ts__submitted_decode(const ts__column *column, uint32_t count,
                                 const uint64_t *queued, uint64_t *values)
{
    if (column->header.transform != TS_TRANSFORM_QUEUED) return;
    for (uint32_t i = 0; i < count; i++)
        values[i] = (queued ? queued[i] : 0) - ts__unzigzag(values[i]);
}

// Decodes times of issue that are stored as distances from the previous one, as
// distances before the start of the event.
static void ts__queued_decode(const ts__column *column, uint32_t count,
                              const uint64_t *starts, uint64_t *values)
{
    if (column->header.transform != TS_TRANSFORM_ISSUED) return;
    uint64_t issued = column->header.base;
    for (uint32_t i = 0; i < count; i++) {
        issued += ts__unzigzag(values[i]);
        values[i] = starts[i] - issued;
    }
}
