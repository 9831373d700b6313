/* ---- Encoder: one chunk ------------------------------------------------- */

/*
    One chunk under construction. Descriptors are written in place; the data go
    behind the space for all possible descriptors and are moved up at the end.
*/
typedef struct ts__chunk {
    uint8_t *start; // its header
    uint8_t *payload;
    uint8_t *data, *data_start;
    uint32_t columns;
#ifdef TRACESMITH_ZSTD
    uint32_t cut_count;
    uint32_t cuts[8 * (TS__COLUMNS_PER_EVENT + 2)]; // ends of planes, in data
#endif
} ts__chunk;

TS__SMALL_BEGIN
static ts__chunk ts__chunk_begin(ts__encoder *e)
{
    ts__chunk chunk;
    chunk.start = e->out + e->size;
    chunk.payload =
        ts__compresses(e) ? e->raw : chunk.start + sizeof(ts_chunk_header);
    chunk.columns = 0;
#ifdef TRACESMITH_ZSTD
    chunk.cut_count = 0;
#endif
    chunk.data_start = chunk.payload + 8 + 16 * (TS__COLUMNS_PER_EVENT + 2);
    chunk.data = chunk.data_start;
    return chunk;
}

static void ts__chunk_describe(ts__chunk *chunk, const ts_column_header *column)
{
    memcpy(chunk->payload + 8 + 16 * chunk->columns++, column, sizeof *column);
}

// Planes differ in their statistics, so the compressor should begin a new block
// with each, unless that costs more than it saves.
static void ts__chunk_cut(ts__chunk *chunk, const uint8_t *planes,
                          uint32_t count, uint32_t width)
{
#ifdef TRACESMITH_ZSTD
    const uint32_t at = (uint32_t)(planes - chunk->data_start);
    for (uint32_t i = 1; i <= width && count >= 1024; i++)
        chunk->cuts[chunk->cut_count++] = at + i * count;
#else
    (void)chunk, (void)planes, (void)count, (void)width;
#endif
}

// The stored values of a column under a transform (docs/sbt-format.md, section
// 7). Rows of operations have durations in column 1 and `queued` in column 3.
static void ts__transform(const ts__encoder *e, uint32_t transform,
                          const uint64_t *v, uint32_t count, uint64_t *stored)
{
    stored[0] = 0;
    if (transform == TS_TRANSFORM_DELTA)
        for (uint32_t i = 1; i < count; i++)
            stored[i] = ts__zigzag(v[i] - v[i - 1]);
    if (transform == TS_TRANSFORM_GAP)
        for (uint32_t i = 1; i < count; i++)
            stored[i] = ts__zigzag(v[i] - v[i - 1] - e->column[1][i - 1]);
    if (transform == TS_TRANSFORM_QUEUED)
        for (uint32_t i = 0; i < count; i++)
            stored[i] = ts__zigzag(e->column[3][i] - v[i]);
    if (transform == TS_TRANSFORM_ISSUED)
        for (uint32_t i = 1; i < count; i++)
            stored[i] = ts__zigzag((e->column[0][i] - v[i]) -
                                   (e->column[0][i - 1] - v[i - 1]));
}

// Adds a column of `count` values; a column of zeros is left out. `transforms`:
// bits 1 << ts_transform of those to try; the smallest result is taken.
static void ts__chunk_column(ts__encoder *e, ts__chunk *chunk, uint32_t id,
                             const uint64_t *v, uint32_t count,
                             uint32_t transforms)
{
    ts_column_header column;
    memset(&column, 0, sizeof column);
    column.column = (uint8_t)id;
    const ts__range range = ts__range_of(v, count);
    column.base = range.smallest;
    if (range.smallest == range.largest) {
        if (v[0]) ts__chunk_describe(chunk, &column);
        return;
    }
    // For small values a base of zero packs as well.
    if (ts__bits(range.smallest) * 2 < ts__bits(range.largest)) column.base = 0;
    uint64_t base = column.base, bits = ts__bits(range.largest - base);
    uint64_t (*const cost_of)(const uint64_t *, uint64_t, uint32_t) =
        ts__compresses(e) ? ts__plane_cost : ts__pack_cost;
    uint64_t least = transforms ? cost_of(v, base, count) : 0;
    for (uint8_t t = TS_TRANSFORM_DELTA; transforms >> t; t++) {
        if (!(transforms >> t & 1)) continue;
        ts__transform(e, t, v, count, e->stored);
        const uint64_t cost = cost_of(e->stored, 0, count);
        if (cost >= least) continue;
        least = cost;
        column.transform = t;
    }
    if (column.transform) {
        ts__transform(e, column.transform, v, count, e->stored);
        column.base = column.transform == TS_TRANSFORM_QUEUED ? 0
                      : column.transform == TS_TRANSFORM_ISSUED
                          ? e->column[0][0] - v[0]
                          : v[0];
        v = e->stored;
        base = 0;
        bits = ts__bits(ts__any_bits(v, 0, count));
    }
    uint8_t *const begin = chunk->data;
    if (!bits) {
        column.encoding = TS_ENCODING_CONSTANT;
    } else if (ts__compresses(e)) {
        column.encoding = TS_ENCODING_PLANES;
        column.width = (uint8_t)((bits + 7) / 8);
        chunk->data = ts__planes(begin, v, base, count, column.width);
        ts__chunk_cut(chunk, begin, count, column.width);
    } else {
        column.encoding = TS_ENCODING_PACK;
        chunk->data = ts__pack(begin, v, base, count);
    }
    column.size = (uint32_t)(chunk->data - begin);
    ts__chunk_describe(chunk, &column);
}

// The transforms worth trying for a column of a kind of event.
static uint32_t ts__transforms(uint32_t column, bool spans)
{
    uint32_t bits = 1u << TS_TRANSFORM_DELTA;
    if (column == TS_COLUMN_START && spans) bits |= 1u << TS_TRANSFORM_GAP;
    if (column == TS_COLUMN_SUBMITTED) bits |= 1u << TS_TRANSFORM_QUEUED;
    if (column == TS_COLUMN_QUEUED) bits |= 1u << TS_TRANSFORM_ISSUED;
    return bits;
}

static void ts__chunk_texts(const ts__encoder *e, ts__chunk *chunk,
                            uint32_t count)
{
    if (!e->text_used) return;
    ts_column_header column;
    memset(&column, 0, sizeof column);
    column.column = TS_COLUMN_TEXT;
    column.encoding = TS_ENCODING_TEXT;
    uint8_t *p = chunk->data;
    memcpy(p, e->text_size, count * sizeof *e->text_size);
    p += count * sizeof *e->text_size;
    memcpy(p, e->text, e->text_used);
    p += e->text_used;
    while ((size_t)(p - chunk->data) & 7)
        *p++ = 0;
    column.size = (uint32_t)(p - chunk->data);
    chunk->data = p;
    ts__chunk_describe(chunk, &column);
}

#ifdef TRACESMITH_ZSTD
// Compresses to one frame, with a block for each plane that is worth it.
// Returns the size, 0 on failure.
static size_t ts__chunk_pack(const ts__encoder *e, const ts__chunk *chunk,
                             void *to, size_t room, size_t raw)
{
    ZSTD_CCtx *const zstd = ZSTD_createCCtx();
    ZSTD_outBuffer out = { to, room, 0 };
    ZSTD_inBuffer in = { e->raw, 0, 0 };
    size_t left = zstd ? 0 : 1;
    if (zstd) {
        ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, (int)e->compress);
        ZSTD_CCtx_setPledgedSrcSize(zstd, raw);
    }
    for (uint32_t i = 0; zstd && !left && i <= chunk->cut_count; i++) {
        const bool last = i == chunk->cut_count;
        in.size = last ? raw : 8 + 16 * chunk->columns + chunk->cuts[i];
        left = ZSTD_compressStream2(zstd, &out, &in,
                                    last ? ZSTD_e_end : ZSTD_e_flush);
    }
    ZSTD_freeCCtx(zstd);
    return left ? 0 : out.pos; // an error, or no room
}
#endif

// Completes the chunk: moves the payload into place, compressed if that makes
// it smaller.
static void ts__chunk_end(ts__encoder *e, ts__chunk *chunk,
                          ts_chunk_header *header)
{
    const uint32_t head[2] = { chunk->columns, 0 };
    memcpy(chunk->payload, head, sizeof head);
    uint8_t *const data = chunk->payload + 8 + 16 * chunk->columns;
    const size_t size = (size_t)(chunk->data - chunk->data_start);
    memmove(data, chunk->data_start, size);
    memset(data + size, 0, 8);
    const size_t raw = (size_t)(data - chunk->payload) + size + 8;
    uint8_t *const payload = chunk->start + sizeof *header;
    size_t stored = raw;
    header->magic = TS_CHUNK_MAGIC;
    header->kind = TS_CHUNK_EVENTS;
    header->raw_size = (uint32_t)raw;
#ifdef TRACESMITH_ZSTD
    if (e->compress) {
        const size_t room = TS__BATCH_BYTES - (size_t)(payload - e->out);
        stored = ts__chunk_pack(e, chunk, payload, room, raw);
        if (!stored || stored >= raw)
            stored = raw;
        else
            header->flags = TS_CHUNK_ZSTD;
    }
#endif
    if (ts__compresses(e) && !header->flags) memcpy(payload, e->raw, raw);
    header->stored_size = (uint32_t)stored;
    memcpy(chunk->start, header, sizeof *header);
    while (stored & 7)
        payload[stored++] = 0;
    e->size += sizeof *header + stored;
    e->records += header->count;
    e->chunks++;
}

static void ts__encoder_reset(ts__encoder *e)
{
    e->size = 0;
    e->chunks = 0;
    e->records = 0;
}

TS__SMALL_END
