/* ---- 10.13 Columns ------------------------------------------------------ */

typedef struct ts__column {
    ts_column_header header;
    const uint8_t *data;
    bool present;
} ts__column;

typedef struct ts__columns { // of a chunk, found but not decoded
    ts__column column[TS_COLUMN_LIMIT];
    uint32_t count;
} ts__columns;

// Blocks of 64 values, each of its own width: checks that they fill `size`.
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

// Finds the columns in a payload. Afterwards their data can be read without
// further checks, and 8 bytes may be loaded at any value.
static const char *ts__columns_find(const uint8_t *payload, uint32_t size,
                                    uint32_t count, ts__columns *columns)
{
    memset(columns, 0, sizeof *columns);
    columns->count = count;
    if (size < 16) return "the chunk is too short for columns";
    const uint32_t column_count = ts__get32(payload);
    if (column_count > TS_COLUMNS_MAX || ts__get32(payload + 4))
        return "the chunk has more columns than any may have";
    uint64_t at = 8 + (uint64_t)column_count * sizeof(ts_column_header);
    if (at > size - 8) return "the chunk is too short for its columns";
    for (uint32_t i = 0; i < column_count; i++) {
        ts__column found = { .data = payload + at, .present = true };
        memcpy(&found.header, payload + 8 + i * sizeof found.header,
               sizeof found.header);
        if (found.header.size % 8 || found.header.size > size - 8 - at)
            return "a column ends behind its chunk";
        at += found.header.size;
        if (!found.header.column || found.header.column >= TS_COLUMN_LIMIT)
            continue;
        ts__column *const column = &columns->column[found.header.column];
        if (column->present) return "a column stands twice";
        *column = found;
        const char *const text = ts__column_check(column, count);
        if (text) return text;
    }
    if (at != size - 8 || ts__get64(payload + at))
        return "the chunk does not end where its columns do";
    return NULL;
}

// One of a row of values of `width` bits. Up to 57 bits and a shift of at
// most 7 fit into one load; what is beyond is in the next byte.
static inline __attribute__((always_inline)) uint64_t
ts__unpack_one(const uint8_t *data, uint32_t width, uint32_t index)
{
    const uint32_t bit = index * width;
    const uint8_t *const at = data + (bit >> 3);
    uint64_t value = ts__get64(at) >> (bit & 7);
    if (width > 57) value |= (uint64_t)at[8] << 1 << (63 - (bit & 7));
    return width ? value & UINT64_MAX >> (64 - width) : 0;
}

// Eight values fill whole bytes: with a constant width, each of the eight is
// at a constant place.
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

// Most blocks are full and narrow: there count and width are constants to the
// compiler.
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

static void ts__unpack_column(const uint8_t *data, uint32_t count,
                              uint64_t base, uint64_t *values)
{
    const uint32_t blocks = count / 64 + (count % 64 != 0);
    const uint8_t *block = data + ts__pad8(blocks);
    for (uint32_t i = 0; i < blocks; i++) {
        const uint32_t rows = i + 1 < blocks ? 64 : count - i * 64;
        ts__unpack_block(block, data[i], rows, base, values);
        block += ts__pad8((rows * data[i] + 7) / 8);
        values += rows;
    }
}

static void ts__unplane_column(const uint8_t *data, uint32_t width,
                               uint32_t count, uint64_t base, uint64_t *values)
{
    memset(values, 0, count * sizeof *values);
    for (uint32_t p = 0; p < width; p++, data += count)
        for (uint32_t i = 0; i < count; i++)
            values[i] |= (uint64_t)data[i] << (8 * p);
    for (uint32_t i = 0; base && i < count; i++)
        values[i] += base;
}

static inline uint64_t ts__unzigzag(uint64_t stored)
{
    return (stored >> 1) ^ (0 - (stored & 1));
}

// Decodes a column that ts__columns_find has checked; zeros if it is absent.
// Transforms that want other columns are left to ts__gaps_decode,
// ts__submitted_decode and ts__queued_decode.
static void ts__column_decode(const ts__column *column, uint32_t count,
                              uint64_t *values)
{
    const ts_column_header *const header = &column->header;
    const uint64_t base = header->transform ? 0 : header->base;
    if (header->encoding == TS_ENCODING_PACK)
        ts__unpack_column(column->data, count, base, values);
    else if (header->encoding == TS_ENCODING_PLANES)
        ts__unplane_column(column->data, header->width, count, base, values);
    else
        for (uint32_t i = 0; i < count; i++)
            values[i] = base;
    if (header->transform != TS_TRANSFORM_DELTA) return;
    uint64_t last = header->base;
    for (uint32_t i = 0; i < count; i++) {
        last += ts__unzigzag(values[i]);
        values[i] = last;
    }
}

// Starts that are stored as distances from the end before them.
static void ts__gaps_decode(const ts__column *column, uint32_t count,
                            const uint64_t *durations, uint64_t *starts)
{
    if (column->header.transform != TS_TRANSFORM_GAP) return;
    uint64_t end = column->header.base;
    for (uint32_t i = 0; i < count; i++) {
        starts[i] = end + ts__unzigzag(starts[i]);
        end = starts[i] + durations[i];
    }
}

// Submissions that are stored as distances from `queued`, NULL: all zero.
static void ts__submitted_decode(const ts__column *column, uint32_t count,
                                 const uint64_t *queued, uint64_t *values)
{
    if (column->header.transform != TS_TRANSFORM_QUEUED) return;
    for (uint32_t i = 0; i < count; i++)
        values[i] = (queued ? queued[i] : 0) - ts__unzigzag(values[i]);
}

// Moments of issue that are stored as distances from the one before, as what
// they are before the start.
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

/* ---- 10.14 Events ------------------------------------------------------- */

/*
    ts_columns.memory, one u64 for each row in each part:

        start_ns | duration_ns | ticks | a | b | c | values ... | texts ...

    While times are decoded, start_ns is the stack of zones, a the leads and
    then the ends, b and c are nest and tail.
*/
enum { TS__DECODE_BYTES_MAX = 1 << 30, TS__DECODE_FIXED = 6 };

_Static_assert(TS_COLUMN_LIMIT <= 64, "sets of columns are bits of 64");
#define TS__COLUMN_BIT(name) (UINT64_C(1) << (TS_COLUMN_##name))
static const uint64_t ts__columns_hidden =
    TS__COLUMN_BIT(START) | TS__COLUMN_BIT(DURATION) | TS__COLUMN_BIT(NEST) |
    TS__COLUMN_BIT(LEAD) | TS__COLUMN_BIT(TAIL) | TS__COLUMN_BIT(TEXT) |
    TS__COLUMN_BIT(TRACK);
static const uint64_t ts__columns_numbers = // values are u32
    TS__COLUMN_BIT(SITE) | TS__COLUMN_BIT(NAME) | TS__COLUMN_BIT(POOL) |
    TS__COLUMN_BIT(CATEGORY) | TS__COLUMN_BIT(STACK) | TS__COLUMN_BIT(THREAD) |
    TS__COLUMN_BIT(LAUNCH) | TS__COLUMN_BIT(PEER);

// Whether a column gets an array of its own in ts_columns.values.
static bool ts__column_shown(const ts__columns *found, uint32_t column)
{
    const ts__column *const one = &found->column[column];
    return one->present && !(ts__columns_hidden >> column & 1) &&
           (one->header.encoding != TS_ENCODING_CONSTANT || one->header.base ||
            one->header.transform);
}

static bool ts__columns_fit(const ts_reader *reader, ts_columns *columns,
                            uint64_t size)
{
    if (size <= columns->memory_size) return true;
    const ts_allocator *const allocator = &reader->allocator;
    ts__mem_put(allocator, columns->memory, columns->memory_size);
    columns->memory = ts__mem_get(allocator, (size_t)size);
    columns->memory_size = columns->memory ? (size_t)size : 0;
    return columns->memory != NULL;
}

// The zones' times from what is inside them (section 8.1 of the format).
// lead receives the ends; stack has room for header->count.
static const char *ts__zones_decode(const ts_chunk_header *header,
                                    const uint64_t *nest, uint64_t *lead,
                                    const uint64_t *tail, uint64_t *ticks,
                                    uint64_t *stack)
{
    const uint64_t first = header->first, span = header->last - first;
    uint64_t end = first, depth = 0;
    bool outside = false;
    for (uint32_t i = 0; i < header->count; i++) {
        const uint64_t n = nest[i], a = lead[i];
        const uint64_t inside = n > 1 ? n - 1 : 0;
        if (inside > depth) return "a zone lies around too many zones";
        depth -= inside;
        const uint64_t from = inside ? stack[depth] : end;
        const uint64_t start = from + (n ? 0 - a : a);
        end = (inside ? end : start) + tail[i];
        stack[depth++] = start;
        ticks[i] = start;
        lead[i] = end;
        outside |= (start - first > end - first) | (end - first > span);
    }
    return outside ? "a zone lies outside its chunk's time" : NULL;
}

// durations receives the ends.
static const char *ts__moments_decode(const ts_chunk_header *header,
                                      const uint64_t *ticks,
                                      uint64_t *durations)
{
    const uint64_t first = header->first, span = header->last - first;
    bool outside = false;
    for (uint32_t i = 0; i < header->count; i++) {
        const uint64_t from = ticks[i] - first;
        outside |= (from > span) | (durations[i] > span - from);
        durations[i] += ticks[i];
    }
    return outside ? "an event lies outside its chunk's time" : NULL;
}

// Fills start_ns, duration_ns and the ticks; `at` is the memory.
static const char *ts__times_decode(const ts__clocks *clocks,
                                    const ts_chunk_header *header,
                                    const ts__columns *found, uint64_t *at,
                                    ts_columns *columns)
{
    const uint32_t count = header->count;
    uint64_t *const starts = at, *const durations = starts + count;
    uint64_t *const ticks = durations + count, *const a = ticks + count;
    uint64_t *const b = a + count, *const c = b + count;
    const char *text;
    if (header->event == TS_EVENT_ZONE) {
        ts__column_decode(&found->column[TS_COLUMN_LEAD], count, a);
        ts__column_decode(&found->column[TS_COLUMN_NEST], count, b);
        ts__column_decode(&found->column[TS_COLUMN_TAIL], count, c);
        text = ts__zones_decode(header, b, a, c, ticks, starts);
    } else {
        ts__column_decode(&found->column[TS_COLUMN_START], count, ticks);
        ts__column_decode(&found->column[TS_COLUMN_DURATION], count, a);
        ts__gaps_decode(&found->column[TS_COLUMN_START], count, a, ticks);
        text = ts__moments_decode(header, ticks, a);
    }
    if (text) return text;
    int64_t *const start_ns = (int64_t *)starts;
    int64_t *const duration_ns = (int64_t *)durations;
    ts__clock_times(clocks, header->clock, ticks, count, start_ns);
    ts__clock_times(clocks, header->clock, a, count, duration_ns);
    for (uint32_t i = 0; i < count; i++)
        duration_ns[i] -= start_ns[i];
    columns->start_ns = start_ns;
    columns->duration_ns = duration_ns;
    columns->start_ticks = ticks;
    columns->end_ticks = a;
    return NULL;
}

// Values that must be u32: cut off, they would name something else.
static const char *ts__numbers_check(const uint64_t *values, uint32_t count)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < count; i++)
        all |= values[i];
    return all > UINT32_MAX ? "an identifier has more than 32 bits" : NULL;
}

// Decodes the columns that callers see to *at, which moves on.
static const char *ts__values_decode(const ts__columns *found, uint64_t **at,
                                     ts_columns *columns)
{
    const char *text = NULL;
    for (uint32_t i = 1; i < TS_COLUMN_LIMIT; i++) {
        if (!ts__column_shown(found, i)) continue;
        ts__column_decode(&found->column[i], found->count, *at);
        ts__submitted_decode(&found->column[i], found->count,
                             columns->values[TS_COLUMN_QUEUED], *at);
        ts__queued_decode(&found->column[i], found->count, columns->start_ticks,
                          *at);
        if (!text && ts__columns_numbers >> i & 1)
            text = ts__numbers_check(*at, found->count);
        columns->values[i] = *at;
        *at += found->count;
    }
    return text;
}

static const char *ts__tracks_decode(const ts__columns *found, uint64_t **at,
                                     ts_columns *columns)
{
    uint64_t *const values = *at;
    uint32_t *const tracks = (uint32_t *)(values + found->count);
    ts__column_decode(&found->column[TS_COLUMN_TRACK], found->count, values);
    for (uint32_t i = 0; i < found->count; i++)
        tracks[i] = (uint32_t)values[i];
    columns->tracks = tracks;
    *at += 2 * (size_t)found->count;
    return ts__numbers_check(values, found->count);
}

static void ts__texts_decode(const ts__columns *found, uint64_t *at,
                             ts_columns *columns)
{
    const uint32_t count = found->count;
    const uint8_t *const data = found->column[TS_COLUMN_TEXT].data;
    const char **const texts = (const char **)(void *)at;
    uint32_t *const sizes = (uint32_t *)(void *)(at + count);
    const char *text = (const char *)data + (size_t)count * 4;
    for (uint32_t i = 0; i < count; i++) {
        sizes[i] = ts__get32(data + (size_t)i * 4);
        texts[i] = text;
        text += sizes[i];
    }
    columns->texts = texts;
    columns->text_sizes = sizes;
}

static uint64_t ts__decode_bytes(const ts_chunk_header *header,
                                 const ts__columns *found)
{
    uint64_t parts = TS__DECODE_FIXED;
    for (uint32_t i = 1; i < TS_COLUMN_LIMIT; i++)
        parts += ts__column_shown(found, i);
    if (header->track == TS_TRACK_MIXED) parts += 2;
    if (found->column[TS_COLUMN_TEXT].present) parts += 2;
    return parts * header->count * sizeof(uint64_t);
}

static ts__fault ts__decode_rows(const ts_reader *reader,
                                 const ts__clocks *clocks,
                                 const ts_chunk_header *header,
                                 const ts__columns *found, ts_columns *columns)
{
    const ts__fault too_much = { TS_ERR_UNSUPPORTED,
                                 "the chunk decodes to more than 1 GiB" };
    const uint64_t size = ts__decode_bytes(header, found);
    if (size > TS__DECODE_BYTES_MAX) return too_much;
    if (!ts__columns_fit(reader, columns, size ? size : 8))
        return ts__no_memory;
    uint64_t *at = columns->memory;
    const char *text = ts__times_decode(clocks, header, found, at, columns);
    at += TS__DECODE_FIXED * (size_t)header->count;
    if (!text) text = ts__values_decode(found, &at, columns);
    if (!text && header->track == TS_TRACK_MIXED)
        text = ts__tracks_decode(found, &at, columns);
    if (!text && found->column[TS_COLUMN_TEXT].present)
        ts__texts_decode(found, at, columns);
    return text ? ts__corrupt(text) : ts__fine;
}

// Empties the columns but keeps their memory.
static void ts__columns_reset(ts_columns *columns)
{
    const ts_columns kept = { .memory = columns->memory,
                              .memory_size = columns->memory_size,
                              .payload = columns->payload,
                              .payload_size = columns->payload_size };
    *columns = kept;
}

// Decodes a chunk of known events; reports nothing.
static ts__fault ts__decode(ts_reader *reader, const ts__clocks *clocks,
                            size_t index, ts_columns *columns)
{
    ts__in_chunk *const chunk = &reader->chunks[index];
    const ts_chunk_header *const header = &chunk->header;
    const uint8_t *payload;
    ts__columns found;
    ts__columns_reset(columns);
    ts__scratch scratch = { columns->payload, columns->payload_size };
    ts__fault fault = ts__in_chunk_payload(reader, chunk, &scratch, &payload);
    columns->payload = scratch.bytes;
    columns->payload_size = scratch.size;
    if (fault.result != TS_OK) return fault;
    if (!ts__in_chunk_timed(clocks, chunk))
        return ts__corrupt("the chunk's time is too far from its clock's");
    const char *const text =
        ts__columns_find(payload, header->raw_size, header->count, &found);
    if (text) return ts__corrupt(text);
    fault = ts__decode_rows(reader, clocks, header, &found, columns);
    if (fault.result != TS_OK) {
        ts__columns_reset(columns);
        return fault;
    }
    columns->kind = (ts_event_kind)header->event;
    columns->count = header->count;
    columns->track = header->track;
    columns->clock = header->clock;
    columns->chunk = index;
    return ts__fine;
}

TS_API ts_result ts_reader_decode(ts_reader *reader, size_t chunk,
                                  ts_columns *columns)
{
    if (chunk >= reader->chunk_count || !columns ||
        reader->chunks[chunk].header.kind != TS_CHUNK_EVENTS)
        return TS_ERR_USAGE;
    if (!ts__in_chunk_known(&reader->chunks[chunk].header)) {
        ts__columns_reset(columns);
        return TS_ERR_UNSUPPORTED;
    }
    const ts__fault fault = ts__decode(reader, reader->clocks, chunk, columns);
    return ts__in_chunk_report(reader, &reader->chunks[chunk], fault);
}

TS_API void ts_columns_close(ts_reader *reader, ts_columns *columns)
{
    if (!columns) return;
    ts__mem_put(&reader->allocator, columns->memory, columns->memory_size);
    ts__mem_put(&reader->allocator, columns->payload, columns->payload_size);
    memset(columns, 0, sizeof *columns);
}
