/*
    encode.c - the pages of a column: levels, values, dictionaries

    Source: apache/parquet-format, Encodings.md (PLAIN, RLE, RLE_DICTIONARY) and
    parquet.thrift (PageHeader, ColumnMetaData, Statistics).
*/
#include "tools/export/parquet/column.h"
#include "tools/export/parquet/thrift.h"
#include <math.h>
#ifdef TRACESMITH_ZSTD
#include <zstd.h>
const bool parquet_compresses = true;
#else
const bool parquet_compresses = false;
#endif

// Numbers of parquet.thrift.
enum { INT64 = 2, DOUBLE = 5, BYTE_ARRAY = 6 };
enum { PLAIN = 0, RLE = 3, RLE_DICTIONARY = 8 };
enum { UNCOMPRESSED = 0, ZSTD = 6 };
enum { DATA_PAGE = 0, DICTIONARY_PAGE = 2 };
enum { LEVEL = 1 };      // of zstd: levels above gain a few percent
enum { STATISTIC = 64 }; // longest text that is given as a minimum or maximum

/* ---- Runs of small numbers ----------------------------------------------- */

// Numbers of `size` bytes each, 1 or 4.
typedef struct small {
    const void *numbers;
    size_t size, count;
} small;

static uint32_t small_at(const small *s, size_t i)
{
    if (s->size == 1) return ((const uint8_t *)s->numbers)[i];
    return ((const uint32_t *)s->numbers)[i];
}

// Numbers of `width` bits each in groups of 8, the last filled up with zeros.
static void put_packed(parquet_bytes *to, const small *s, size_t from,
                       size_t end, unsigned width)
{
    const size_t groups = (end - from + 7) / 8;
    uint64_t bits = 0;
    unsigned held = 0;
    if (!groups) return;
    parquet_append_varint(to, groups << 1 | 1);
    if (!parquet_room(to, groups * width)) return;
    for (size_t i = from; i < from + groups * 8; i++) {
        bits |= (uint64_t)(i < end ? small_at(s, i) : 0) << held;
        for (held += width; held >= 8; held -= 8, bits >>= 8)
            to->data[to->size++] = (uint8_t)bits;
    }
}

// The hybrid of runs and packed groups. A run must follow whole groups.
static void put_runs(parquet_bytes *to, const small *s, unsigned width)
{
    size_t from = 0; // of what is not written yet
    for (size_t i = 0, end; i < s->count; i = end) {
        const uint32_t number = small_at(s, i);
        for (end = i + 1; end < s->count && small_at(s, end) == number;)
            end++;
        const size_t whole = i + (8 - (i - from) % 8) % 8;
        if (end < whole + 8) continue;
        put_packed(to, s, from, whole, width);
        parquet_append_varint(to, (end - whole) << 1);
        parquet_append_le(to, number, (width + 7) / 8);
        from = end;
    }
    put_packed(to, s, from, s->count, width);
}

static unsigned width_of(size_t distinct)
{
    unsigned width = 1;
    while (distinct > (size_t)1 << width)
        width++;
    return width;
}

/* ---- Statistics ---------------------------------------------------------- */

static void integer_statistics(parquet_encoder *e, const parquet_values *v)
{
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (uint32_t i = 0; i < v->count; i++) {
        if (v->u.integers[i] < low) low = v->u.integers[i];
        if (v->u.integers[i] > high) high = v->u.integers[i];
    }
    parquet_append_le(&e->minimum, (uint64_t)low, 8);
    parquet_append_le(&e->maximum, (uint64_t)high, 8);
}

static void put_real(parquet_bytes *to, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    parquet_append_le(to, bits, 8);
}

// As the format wants: none with a NaN, and zeros with the sign that includes
// the other one.
static void real_statistics(parquet_encoder *e, const parquet_values *v)
{
    double low = INFINITY, high = -INFINITY;
    for (uint32_t i = 0; i < v->count; i++) {
        const double real = v->u.reals[i];
        if (isnan(real)) return;
        if (real < low) low = real;
        if (real > high) high = real;
    }
    put_real(&e->minimum, low < 0 || low > 0 ? low : -0.0);
    put_real(&e->maximum, high < 0 || high > 0 ? high : 0.0);
}

static int text_order(const char *a, size_t a_size, const char *b,
                      size_t b_size)
{
    const size_t both = a_size < b_size ? a_size : b_size;
    const int order = both ? memcmp(a, b, both) : 0;
    return order ? order : (a_size > b_size) - (a_size < b_size);
}

static void text_statistics(parquet_encoder *e, const parquet_values *v)
{
    size_t size, low_size, high_size;
    const char *low = parquet_text(v, 0, &low_size);
    const char *high = parquet_text(v, 0, &high_size);
    for (size_t i = 1; i < v->text_count; i++) {
        const char *const text = parquet_text(v, i, &size);
        if (text_order(text, size, low, low_size) < 0)
            low = text, low_size = size;
        if (text_order(text, size, high, high_size) > 0)
            high = text, high_size = size;
    }
    if (low_size > STATISTIC || high_size > STATISTIC) return;
    parquet_append(&e->minimum, low, low_size);
    parquet_append(&e->maximum, high, high_size);
}

// Leaves both empty, which for numbers and with NULLs alone means none.
static bool find_statistics(parquet_encoder *e, const parquet_values *v)
{
    e->minimum.size = e->maximum.size = 0;
    if (!v->count) return false;
    switch (v->type) {
    case PARQUET_INTEGER: integer_statistics(e, v); break;
    case PARQUET_REAL: real_statistics(e, v); break;
    case PARQUET_TEXT: text_statistics(e, v); return true;
    }
    return e->maximum.size > 0;
}

static void put_statistics(parquet_encoder *e, thrift *t, int field,
                           const parquet_values *v, bool bounds)
{
    thrift_struct(t, field);
    thrift_i64(t, 3, v->rows - v->count);
    if (bounds) thrift_binary(t, 5, e->maximum.data, e->maximum.size);
    if (bounds) thrift_binary(t, 6, e->minimum.data, e->minimum.size);
    thrift_end(t);
}

/* ---- Pages --------------------------------------------------------------- */

// Compresses the page. False: no memory.
static bool pack_page(parquet_encoder *e)
{
    e->packed.size = 0;
    if (e->page.failed) return false;
#ifdef TRACESMITH_ZSTD
    if (e->compress) {
        const size_t most = ZSTD_compressBound(e->page.size);
        if (!parquet_room(&e->packed, most)) return false;
        e->packed.size =
            ZSTD_compressCCtx(e->zstd, e->packed.data, e->packed.room,
                              e->page.data, e->page.size, LEVEL);
        return !ZSTD_isError(e->packed.size);
    }
#endif
    parquet_append(&e->packed, e->page.data, e->page.size);
    return !e->packed.failed;
}

static thrift begin_header(parquet_encoder *e, int type)
{
    e->header.size = 0;
    thrift t = thrift_begin(&e->header);
    thrift_i32(&t, 1, type);
    thrift_i32(&t, 2, (int32_t)e->page.size);
    thrift_i32(&t, 3, (int32_t)e->packed.size);
    return t;
}

// Appends a page with its header. Returns its size before compression.
static int64_t put_page(parquet_encoder *e, parquet_bytes *out)
{
    parquet_append(out, e->header.data, e->header.size);
    parquet_append(out, e->packed.data, e->packed.size);
    return (int64_t)(e->header.size + e->page.size);
}

static int64_t put_dictionary(parquet_encoder *e, size_t count,
                              parquet_bytes *out)
{
    if (!pack_page(e)) return -1;
    thrift t = begin_header(e, DICTIONARY_PAGE);
    thrift_struct(&t, 7);
    thrift_i32(&t, 1, (int32_t)count);
    thrift_i32(&t, 2, PLAIN);
    thrift_end(&t);
    thrift_end(&t);
    return put_page(e, out);
}

static int64_t put_data(parquet_encoder *e, const parquet_values *v,
                        int encoding, bool bounds, parquet_bytes *out)
{
    if (!pack_page(e)) return -1;
    thrift t = begin_header(e, DATA_PAGE);
    thrift_struct(&t, 5);
    thrift_i32(&t, 1, (int32_t)v->rows);
    thrift_i32(&t, 2, encoding);
    thrift_i32(&t, 3, RLE);
    thrift_i32(&t, 4, RLE);
    put_statistics(e, &t, 5, v, bounds);
    thrift_end(&t);
    thrift_end(&t);
    return put_page(e, out);
}

/* ---- Values -------------------------------------------------------------- */

// The page begins with the definition levels: 1 where there is a value.
static void begin_data(parquet_encoder *e, const parquet_values *v)
{
    const small levels = { v->present, 1, v->rows };
    e->page.size = 0;
    parquet_append_le(&e->page, 0, 4);
    put_runs(&e->page, &levels, 1);
    if (e->page.failed) return;
    const size_t size = e->page.size - 4;
    for (size_t i = 0; i < 4; i++)
        e->page.data[i] = (uint8_t)(size >> 8 * i);
}

static void put_text(parquet_encoder *e, const parquet_values *v, size_t i)
{
    size_t size;
    const char *const text = parquet_text(v, i, &size);
    parquet_append_le(&e->page, size, 4);
    parquet_append(&e->page, text, size);
}

static void put_numbers(parquet_encoder *e, const void *numbers, size_t count)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    parquet_append(&e->page, numbers, 8 * count);
#else
    for (size_t i = 0; i < count; i++)
        parquet_append_le(&e->page, ((const uint64_t *)numbers)[i], 8);
#endif
}

static void put_plain(parquet_encoder *e, const parquet_values *v)
{
    if (v->type != PARQUET_TEXT) put_numbers(e, v->u.all, v->count);
    for (uint32_t i = 0; v->type == PARQUET_TEXT && i < v->count; i++)
        put_text(e, v, v->u.texts[i]);
}

static void put_indexes(parquet_encoder *e, const uint32_t *indexes,
                        uint32_t count, size_t distinct)
{
    const small s = { indexes, sizeof *indexes, count };
    const unsigned width = width_of(distinct);
    parquet_append_le(&e->page, width, 1);
    put_runs(&e->page, &s, width);
}

/* ---- Dictionaries -------------------------------------------------------- */

// Whether indexes into texts that are written once are shorter.
static bool texts_repeat(const parquet_values *v)
{
    uint64_t all = 0;
    size_t size;
    for (uint32_t i = 0; i < v->count; i++) {
        parquet_text(v, v->u.texts[i], &size);
        all += 4 + size;
    }
    const uint64_t once = 4 * v->text_count + v->bytes.size;
    return once + (uint64_t)v->count * width_of(v->text_count) / 8 < all;
}

// Lists the integers of a column, each once, and their indexes. Returns how
// many there are; 0: too many for a dictionary to be shorter.
static size_t list_integers(parquet_encoder *e, const parquet_values *v)
{
    enum { MOST = 1 << 15, SLOTS = 2 * MOST };
    uint32_t *const slots = e->indexes + PARQUET_GROUP_ROWS; // index + 1
    const size_t most = v->count / 4 < MOST ? v->count / 4 : MOST;
    size_t count = 0;
    memset(slots, 0, SLOTS * sizeof *slots);
    for (uint32_t i = 0; i < v->count; i++) {
        const int64_t number = v->u.integers[i];
        const uint64_t mixed =
            (uint64_t)number * UINT64_C(0x9E3779B97F4A7C15); // 2^64 / phi
        size_t at = mixed >> 48;
        while (slots[at] && e->distinct[slots[at] - 1] != number)
            at = (at + 1) % SLOTS;
        if (!slots[at] && count == most) return 0;
        if (!slots[at]) {
            e->distinct[count] = number;
            slots[at] = (uint32_t)++count;
        }
        e->indexes[i] = slots[at] - 1;
    }
    return count;
}

// Writes the dictionary page. Returns its size before compression, 0 if the
// column has none, -1 without memory; *distinct: its number of entries.
static int64_t begin_dictionary(parquet_encoder *e, const parquet_values *v,
                                size_t *distinct, parquet_bytes *out)
{
    *distinct = 0;
    e->page.size = 0;
    if (v->type == PARQUET_TEXT && v->count && texts_repeat(v)) {
        *distinct = v->text_count;
        for (size_t i = 0; i < *distinct; i++)
            put_text(e, v, i);
    } else if (v->type == PARQUET_INTEGER) {
        *distinct = list_integers(e, v);
        put_numbers(e, e->distinct, *distinct);
    }
    return *distinct ? put_dictionary(e, *distinct, out) : 0;
}

/* ---- The column ---------------------------------------------------------- */

// ColumnChunk. dictionary: the size of its page in the file, 0: none.
static void put_chunk(parquet_encoder *e, const parquet_values *v,
                      const char *name, int64_t offset, int64_t dictionary,
                      int64_t raw, int64_t size, bool bounds,
                      parquet_bytes *footer)
{
    static const int types[] = { INT64, DOUBLE, BYTE_ARRAY };
    thrift t = thrift_begin(footer);
    thrift_i64(&t, 2, offset);
    thrift_struct(&t, 3);
    thrift_i32(&t, 1, types[v->type]);
    thrift_list(&t, 2, THRIFT_I32, dictionary ? 3 : 2);
    thrift_number(&t, RLE);
    thrift_number(&t, PLAIN);
    if (dictionary) thrift_number(&t, RLE_DICTIONARY);
    thrift_list(&t, 3, THRIFT_BINARY, 1);
    thrift_bytes(&t, name, strlen(name));
    thrift_i32(&t, 4, e->compress ? ZSTD : UNCOMPRESSED);
    thrift_i64(&t, 5, v->rows);
    thrift_i64(&t, 6, raw);
    thrift_i64(&t, 7, size);
    thrift_i64(&t, 9, offset + dictionary);
    if (dictionary) thrift_i64(&t, 11, offset);
    put_statistics(e, &t, 12, v, bounds);
    thrift_end(&t);
    thrift_end(&t);
}

bool parquet_encode(parquet_encoder *e, const parquet_values *v,
                    const char *name, int64_t offset, parquet_bytes *out,
                    parquet_bytes *footer, int64_t *raw)
{
    const size_t from = out->size;
    size_t distinct;
    const int64_t first = begin_dictionary(e, v, &distinct, out);
    const size_t dictionary = out->size - from;
    if (first < 0) return false;
    const bool bounds = find_statistics(e, v);
    begin_data(e, v);
    if (!distinct)
        put_plain(e, v);
    else
        put_indexes(e, v->type == PARQUET_TEXT ? v->u.texts : e->indexes,
                    v->count, distinct);
    const int64_t second =
        put_data(e, v, distinct ? RLE_DICTIONARY : PLAIN, bounds, out);
    if (second < 0) return false;
    put_chunk(e, v, name, offset, (int64_t)dictionary, first + second,
              (int64_t)(out->size - from), bounds, footer);
    *raw += first + second;
    return !out->failed && !footer->failed && !e->header.failed &&
           !e->minimum.failed && !e->maximum.failed;
}

bool parquet_encoder_open(parquet_encoder *e, bool compress)
{
    enum { SLOTS = 1 << 16 };
    *e = (parquet_encoder){ .compress = compress && parquet_compresses };
    e->indexes = malloc((PARQUET_GROUP_ROWS + SLOTS) * sizeof *e->indexes);
    e->distinct = malloc(PARQUET_GROUP_ROWS / 4 * sizeof *e->distinct);
#ifdef TRACESMITH_ZSTD
    e->zstd = ZSTD_createCCtx();
    if (!e->zstd) return false;
#endif
    return e->indexes && e->distinct;
}

void parquet_encoder_close(parquet_encoder *e)
{
#ifdef TRACESMITH_ZSTD
    ZSTD_freeCCtx(e->zstd);
#endif
    parquet_bytes *const all[] = { &e->page, &e->packed, &e->header,
                                   &e->minimum, &e->maximum };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        parquet_bytes_close(all[i]);
    free(e->indexes);
    free(e->distinct);
}
