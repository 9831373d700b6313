/* ---- 12.9 Encoder ------------------------------------------------------- */

/*
    Turns the records of a ring into chunks, in encoder->out, headers without
    session, sequence and checksum: the writer fills those in.
*/
typedef struct ts__batch {
    uint64_t from, to;    // positions
    uint32_t track;       // of its records
    uint32_t next;        // track of what follows
    uint32_t zones;       // rows in columns 0 to 2
    uint64_t events;      // bits of other kinds of events in it
    uint64_t stale, bad;  // records not taken
    uint64_t first, last; // of these
    bool sound;           // every slot from `from` to `to` was found good
} ts__batch;

static uint64_t ts__bits(uint64_t value) // needed to store it
{
    return value ? 64 - (uint64_t)__builtin_clzll(value) : 0;
}

static uint64_t ts__zigzag(uint64_t d)
{
    return d << 1 ^ (0 - (d >> 63));
}

// The tick of a record whose low 56 bits are known, within 2^55 of `near`:
// five months of a 3 GHz counter.
static uint64_t ts__tick_full(uint64_t near, uint64_t low)
{
    return near + (uint64_t)((int64_t)((low - near) << 8) >> 8);
}

static void ts__put_u64(uint8_t *p, uint64_t value)
{
    memcpy(p, &value, sizeof value);
}

typedef struct ts__bit_writer {
    uint8_t *out;
    uint64_t word; // of which `used` bits are taken
    uint32_t used;
} ts__bit_writer;

static inline void ts__bits_put(ts__bit_writer *w, uint64_t value,
                                uint32_t width)
{
    w->word |= value << w->used;
    w->used += width;
    if (w->used < 64) return;
    ts__put_u64(w->out, w->word);
    w->out += 8;
    w->used -= 64;
    w->word = w->used ? value >> (width - w->used) : 0;
}

// Packs count values, at most 64, less base; returns the end of what was
// written. Narrow ones four at a time: the chain through `word` is the cost.
static uint8_t *ts__pack_block(uint8_t *out, const uint64_t *v, uint64_t base,
                               size_t count, uint32_t width)
{
    ts__bit_writer w = { out, 0, 0 };
    size_t i = 0;
    if (!width) return out;
    for (; width <= 16 && i + 4 <= count; i += 4) {
        const uint64_t low = (v[i] - base) | (v[i + 1] - base) << width;
        const uint64_t high = (v[i + 2] - base) | (v[i + 3] - base) << width;
        ts__bits_put(&w, low | high << 2 * width, 4 * width);
    }
    for (; i < count; i++)
        ts__bits_put(&w, v[i] - base, width);
    if (w.used) {
        ts__put_u64(w.out, w.word);
        w.out += 8;
    }
    return w.out;
}

// The bits that any of count values less base needs. Several sums at once:
// one would wait for itself.
static uint64_t ts__any_bits(const uint64_t *v, uint64_t base, size_t count)
{
    uint64_t a = 0, b = 0, c = 0, d = 0;
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        a |= v[i] - base;
        b |= v[i + 1] - base;
        c |= v[i + 2] - base;
        d |= v[i + 3] - base;
    }
    for (; i < count; i++)
        a |= v[i] - base;
    return a | b | c | d;
}

typedef struct ts__range {
    uint64_t smallest, largest;
} ts__range;

static ts__range ts__range_of(const uint64_t *v, size_t count)
{
    ts__range a = { v[0], v[0] }, b = a;
    size_t i = count & 1;
    for (; i < count; i += 2) {
        if (v[i] < a.smallest) a.smallest = v[i];
        if (v[i] > a.largest) a.largest = v[i];
        if (v[i + 1] < b.smallest) b.smallest = v[i + 1];
        if (v[i + 1] > b.largest) b.largest = v[i + 1];
    }
    if (b.smallest < a.smallest) a.smallest = b.smallest;
    if (b.largest > a.largest) a.largest = b.largest;
    return a;
}

static uint8_t *ts__pack(uint8_t *out, const uint64_t *v, uint64_t base,
                         uint32_t count)
{
    const uint32_t blocks = (count + 63) / 64;
    uint8_t *const widths = out;
    memset(widths, 0, (blocks + 7u) & ~7u);
    out += (blocks + 7u) & ~7u;
    for (uint32_t i = 0; i < blocks; i++) {
        const uint32_t n = count - i * 64 < 64 ? count - i * 64 : 64;
        const uint64_t any = ts__any_bits(v + i * 64, base, n);
        widths[i] = (uint8_t)ts__bits(any);
        out = ts__pack_block(out, v + i * 64, base, n, widths[i]);
    }
    return out;
}

// A build without zstd leaves out what only compression needs.
static bool ts__compresses(const ts__encoder *e)
{
#ifdef TRACESMITH_ZSTD
    return e->compress != 0;
#else
    (void)e;
    return false;
#endif
}

// Byte planes suit the compressor better than packed bits.
static uint8_t *ts__planes(uint8_t *out, const uint64_t *v, uint64_t base,
                           uint32_t count, uint32_t width)
{
    for (uint32_t p = 0; p < width; p++)
        for (uint32_t i = 0; i < count; i++)
            *out++ = (uint8_t)((v[i] - base) >> 8 * p);
    while ((uintptr_t)out & 7)
        *out++ = 0;
    return out;
}

// Sum of the bits that packing needs, to compare two ways.
static uint64_t ts__pack_cost(const uint64_t *v, uint64_t base, uint32_t count)
{
    uint64_t cost = 0;
    for (uint32_t i = 0; i < count; i += 64)
        cost += ts__bits(
            ts__any_bits(v + i, base, count - i < 64 ? count - i : 64));
    return cost;
}

// The same for byte planes, where what counts is how much values differ: by
// how far they are from their mean.
static uint64_t ts__plane_cost(const uint64_t *v, uint64_t base, uint32_t count)
{
    uint64_t sum = 0, cost = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += v[i] - base;
    base += sum / count;
    for (uint32_t i = 0; i < count; i++)
        cost += ts__bits(ts__zigzag(v[i] - base));
    return cost;
}

/*
    One chunk under construction. Descriptors are written at once, data after
    the place of the last possible descriptor, and moved up at the end.
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

// Each plane has statistics of its own, so that the compressor should begin a
// block with it, unless that costs more than it gains.
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

// What is stored of a column under a transform (format, section 7). Rows of
// operations have their durations and `queued` in columns 1 and 3.
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

// Adds a column of count values; one of zeros is left out. `transforms` has
// the bits 1 << of those that may be used; the smallest result is.
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
    // Small values stay as they are: a base of zero packs as well.
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
// One frame, with a block for each plane that is worth it. 0: not possible.
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

// Closes the chunk: payload in place, compressed if that makes it smaller.
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

/* Pictures for drawing a chunk small: cells of the index (format, 10). */

typedef struct ts__picture {
    uint64_t first, width; // of the chunk; of a cell
    uint32_t cell;         // that was asked for last
    uint64_t busy[TS_LOD_CELLS], longest[TS_LOD_CELLS];
    uint32_t count[TS_LOD_CELLS], id[TS_LOD_CELLS];
} ts__picture;

TS__SMALL_BEGIN
static void ts__picture_begin(ts__picture *picture, uint64_t first,
                              uint64_t last)
{
    memset(picture, 0, sizeof *picture);
    picture->first = first;
    // Cells of whole ticks, and one at least, that reach beyond the last tick.
    picture->width = (last - first) / TS_LOD_CELLS + 1;
}

TS__SMALL_END

// Rows come nearly in order: mostly it is the same cell as before.
static uint32_t ts__picture_cell(ts__picture *picture, uint64_t tick)
{
    const uint64_t at = tick - picture->first;
    if (at - picture->cell * picture->width >= picture->width) {
        const uint64_t cell = at / picture->width;
        picture->cell = cell < TS_LOD_CELLS ? (uint32_t)cell : TS_LOD_CELLS - 1;
    }
    return picture->cell;
}

static void ts__picture_span(ts__picture *picture, uint64_t start, uint64_t end,
                             uint32_t id)
{
    const uint64_t width = picture->width;
    const uint32_t from = ts__picture_cell(picture, start);
    if (end - start >= picture->longest[from]) {
        picture->longest[from] = end - start;
        picture->id[from] = id;
    }
    const uint32_t to = ts__picture_cell(picture, end);
    for (uint32_t i = from; i <= to; i++) {
        const uint64_t cell = picture->first + i * width;
        const uint64_t a = start > cell ? start : cell;
        const uint64_t b = end < cell + width ? end : cell + width;
        if (b > a) picture->busy[i] += b - a;
    }
}

TS__SMALL_BEGIN
static void ts__picture_end(const ts__picture *picture,
                            uint64_t cells[TS_LOD_CELLS])
{
    const double width = (double)picture->width;
    for (uint32_t i = 0; i < TS_LOD_CELLS; i++) {
        const double share = (double)picture->busy[i] / width;
        const uint64_t busy = share >= 1 ? 65535 : (uint64_t)(share * 65535);
        const uint64_t count =
            picture->count[i] > 65535 ? 65535 : picture->count[i];
        cells[i] = picture->id[i] | busy << 32 | count << 48;
    }
}

TS__SMALL_END

// Counts rows by their start. A multiplication in doubles is fast enough for
// the hot kinds, and a picture needs no more than 53 bits.
static void ts__picture_count(ts__picture *picture, const uint64_t *start,
                              uint32_t count)
{
    const double scale = 1 / (double)picture->width;
    const double most = TS_LOD_CELLS - 1;
    for (uint32_t i = 0; i < count; i++) {
        double at = (double)(int64_t)(start[i] - picture->first) * scale;
        at = at < most ? at : most; // before it becomes an integer
        picture->count[at > 0 ? (uint32_t)at : 0]++;
    }
}

/* Zones: coded against what is inside them (format, 8.1). */

static void ts__encode_zones(ts__encoder *e, uint32_t track, uint32_t count)
{
    const uint64_t *const start = e->column[0];
    const uint64_t *const duration = e->column[1];
    uint64_t *const nest = e->column[3], *const lead = e->column[4];
    uint64_t *const tail = e->column[5];
    ts_chunk_header header;
    memset(&header, 0, sizeof header);
    header.track = track;
    header.count = count;
    header.event = TS_EVENT_ZONE;
    header.first = start[0];
    header.last = start[0] + duration[0];
    for (uint32_t i = 1; i < count; i++) {
        if (start[i] < header.first) header.first = start[i];
        if (start[i] + duration[i] > header.last)
            header.last = start[i] + duration[i];
    }
    uint64_t end = header.first;
    uint32_t top = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t s = start[i], t = start[i] + duration[i];
        uint32_t inside = 0;
        while (inside < top && e->root_start[top - inside - 1] >= s)
            inside++;
        if (s >= end) {
            nest[i] = 0;
            lead[i] = s - end;
            tail[i] = duration[i];
        } else if (inside && t >= end) {
            nest[i] = inside + 1;
            lead[i] = e->root_start[top - inside] - s;
            tail[i] = t - end;
            top -= inside;
        } else {
            nest[i] = 1;
            lead[i] = end - s;
            tail[i] = duration[i];
        }
        e->root_start[top] = s;
        e->root_end[top] = t;
        e->root_site[top++] = (uint32_t)e->column[2][i];
        end = t;
    }
    ts__picture picture;
    ts__picture_begin(&picture, header.first, header.last);
#ifdef TRACESMITH_WRITER // a session's zones are of one thread
    if (track == TS_TRACK_MIXED) top = 0;
#endif
    for (uint32_t i = 0; i < top; i++)
        ts__picture_span(&picture, e->root_start[i], e->root_end[i],
                         e->root_site[i]);
    ts__picture_count(&picture, start, count);
    ts__picture_end(&picture, e->lod[e->chunks]);
    ts__chunk chunk = ts__chunk_begin(e);
#ifdef TRACESMITH_WRITER
    if (track == TS_TRACK_MIXED)
        ts__chunk_column(e, &chunk, TS_COLUMN_TRACK, e->track, count, 0);
#endif
    ts__chunk_column(e, &chunk, TS_COLUMN_SITE, e->column[2], count, 0);
    ts__chunk_column(e, &chunk, TS_COLUMN_NEST, nest, count, 0);
    ts__chunk_column(e, &chunk, TS_COLUMN_LEAD, lead, count, 0);
    ts__chunk_column(e, &chunk, TS_COLUMN_TAIL, tail, count, 0);
    ts__chunk_end(e, &chunk, &header);
}

static int ts__column_index(const uint8_t *columns, uint32_t id)
{
    for (int i = 0; columns[i]; i++)
        if (columns[i] == id) return i;
    return -1;
}

TS__SMALL_BEGIN
static float ts__counter_float(uint64_t type, uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return type == TS_VALUE_DOUBLE ? (float)value : (float)(int64_t)bits;
}

static void ts__picture_counter(ts__encoder *e, const ts_chunk_header *header,
                                uint64_t cells[TS_LOD_CELLS])
{
    ts__picture picture;
    float low[TS_LOD_CELLS], high[TS_LOD_CELLS];
    const uint32_t nan_bits = 0x7FC00000u;
    ts__picture_begin(&picture, header->first, header->last);
    for (int i = 0; i < TS_LOD_CELLS; i++)
        memcpy(&low[i], &nan_bits, 4), memcpy(&high[i], &nan_bits, 4);
    for (uint32_t i = 0; i < header->count; i++) {
        const uint32_t cell = ts__picture_cell(&picture, e->column[0][i]);
        const float value = ts__counter_float(e->column[1][i], e->column[2][i]);
        if (!(low[cell] <= value)) low[cell] = value;
        if (!(high[cell] >= value)) high[cell] = value;
    }
    for (int i = 0; i < TS_LOD_CELLS; i++) {
        uint32_t a, b;
        memcpy(&a, &low[i], 4);
        memcpy(&b, &high[i], 4);
        cells[i] = a | (uint64_t)b << 32;
    }
}

static void ts__picture_rows(ts__encoder *e, const ts_chunk_header *header,
                             const uint8_t *columns)
{
    uint64_t *const cells = e->lod[e->chunks];
    const bool mixed = header->track == TS_TRACK_MIXED;
    if (header->event == TS_EVENT_COUNTER && !mixed) {
        ts__picture_counter(e, header, cells);
        return;
    }
    ts__picture picture;
    ts__picture_begin(&picture, header->first, header->last);
    ts__picture_count(&picture, e->column[0], header->count);
    if (columns[1] == TS_COLUMN_DURATION && !mixed) {
        int id = ts__column_index(columns, TS_COLUMN_LAUNCH);
        if (id < 0 && header->event == TS_EVENT_API_CALL)
            id = ts__column_index(columns, TS_COLUMN_NAME);
        uint64_t covered = header->first;
        for (uint32_t i = 0; i < header->count; i++) {
            const uint64_t end = e->column[0][i] + e->column[1][i];
            uint64_t start = e->column[0][i];
            if (start < covered) start = covered;
            if (end < start) continue;
            covered = end;
            ts__picture_span(&picture, start, end,
                             id < 0 ? 0 : (uint32_t)e->column[id][i]);
        }
    }
    ts__picture_end(&picture, cells);
}

// The rows in e->column, of one kind of event and one clock, as a chunk.
static void ts__encode_rows(ts__encoder *e, uint32_t event, uint32_t clock,
                            uint32_t count)
{
    const uint8_t *const columns = ts_event_columns(event);
    ts_chunk_header header;
    memset(&header, 0, sizeof header);
    header.event = (uint8_t)event;
    header.clock = clock;
    header.count = count;
    header.track = (uint32_t)e->track[0];
    const bool spans = columns[1] == TS_COLUMN_DURATION;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t start = e->column[0][i];
        const uint64_t end = start + (spans ? e->column[1][i] : 0);
        if (!i || (int64_t)(start - header.first) < 0) header.first = start;
        if (!i || (int64_t)(end - header.last) > 0) header.last = end;
        if (e->track[i] != header.track) header.track = TS_TRACK_MIXED;
    }
    ts__picture_rows(e, &header, columns);
    ts__chunk chunk = ts__chunk_begin(e);
    if (header.track == TS_TRACK_MIXED)
        ts__chunk_column(e, &chunk, TS_COLUMN_TRACK, e->track, count, 0);
    for (uint32_t i = 0; columns[i]; i++)
        if (columns[i] == TS_COLUMN_TEXT)
            ts__chunk_texts(e, &chunk, count);
        else
            ts__chunk_column(e, &chunk, columns[i], e->column[i], count,
                             ts__transforms(columns[i], spans));
    ts__chunk_end(e, &chunk, &header);
}

TS__SMALL_END

/* Reading records back from the slots. */

static bool ts__slot_ready(const ts__ring *ring, uint64_t position, uint64_t *a,
                           uint32_t more)
{
    const ts__slot *const slot = &ring->slots[position & ring->mask];
    // acquire: pairs with the release in ts__ring_publish
    *a = __atomic_load_n(&slot->a, __ATOMIC_ACQUIRE);
    return (*a & 0xFF) == (ts__ring_tag(ring, position) | more);
}

// By kind of record: tables, because a switch costs a jump for each record.
static uint32_t ts__record_slots(uint64_t b)
{
    static const uint8_t slots[TS__REC_KERNEL + 1] = { 1, 1, 1, 1, 2, 2,
                                                       1, 2, 1, 0, 1, 3 };
    const uint32_t kind = b & 63;
    if (kind == TS__REC_ROW) return (uint32_t)(b >> 16 & 0xFFFF);
    return kind <= TS__REC_KERNEL ? slots[kind] : 1;
}

// Which event a record is; 0: none that this version writes.
static uint32_t ts__record_event(uint64_t b)
{
    static const uint8_t events[TS__REC_KERNEL + 1] = { 0,
                                                        TS_EVENT_ZONE,
                                                        TS_EVENT_MARK,
                                                        TS_EVENT_COUNTER,
                                                        TS_EVENT_COUNTER,
                                                        TS_EVENT_COUNTER,
                                                        TS_EVENT_FREE,
                                                        TS_EVENT_ALLOC,
                                                        TS_EVENT_FRAME,
                                                        0,
                                                        0,
                                                        TS_EVENT_KERNEL };
    const uint32_t kind = b & 63;
    if (kind == TS__REC_ROW) return (uint32_t)(b >> 6 & 1023);
    return kind <= TS__REC_KERNEL ? events[kind] : 0;
}

// The payload of a record; false if a slot of it is missing or it is too
// long, which only a fault can cause.
static bool ts__record_payload(const ts__ring *ring, uint64_t position,
                               uint32_t slots, uint8_t *bytes)
{
    for (uint32_t i = 1; i < slots; i++) {
        uint64_t low, high;
        if (!ts__slot_ready(ring, position + i, &low, 1)) return false;
        high = TS__LOAD(&ring->slots[(position + i) & ring->mask].b);
        low >>= 8;
        memcpy(bytes, &low, 8);
        memcpy(bytes + 7, &high, 8);
        bytes += 15;
    }
    return true;
}

// Columns of a row besides its text.
static uint32_t ts__row_values(uint32_t event)
{
    uint32_t count = 0;
    const uint8_t *const ids = ts_event_columns(event);
    for (int i = 0; ids[i]; i++)
        count += ids[i] != TS_COLUMN_TEXT;
    return count;
}

// Bytes of text in a valid record.
static uint32_t ts__record_text(uint64_t b)
{
    if ((b & 63) != TS__REC_ROW) return 0;
    return (uint32_t)(b >> 32) - 8 - 8 * ts__row_values(ts__record_event(b));
}

TS__SMALL_BEGIN
static bool ts__record_valid(const ts__ring *ring, uint64_t position,
                             uint64_t b, uint64_t upto)
{
    const uint32_t slots = ts__record_slots(b);
    const uint32_t event = ts__record_event(b);
    if ((b & 63) == TS__REC_THREAD) return true;
    if (event && slots == 1 && (b & 63) != TS__REC_ROW) return true;
    if (!event || event >= TS_EVENT_LIMIT || !ts_event_columns(event) ||
        !slots || position + slots > upto)
        return false;
    if ((b & 63) == TS__REC_ROW) {
        const size_t columns = ts__row_values(event);
        const size_t size = b >> 32;
        if (size < 8 + 8 * columns || ts__slots_for(size) != slots ||
            size > 8 + 8 * columns + TS__TEXT_MAX)
            return false;
    }
    uint64_t a;
    for (uint32_t i = 1; i < slots; i++)
        if (!ts__slot_ready(ring, position + i, &a, 1)) return false;
    return true;
}
TS__SMALL_END

// A zone that is still on a zone stack was recorded after all.
static void ts__open_close(ts__encoder *e, uint64_t start, uint64_t site)
{
    for (uint32_t i = 0; i < e->open_count; i++)
        if (e->open[i].start == start && e->open[i].site == site)
            e->open[i].site = 0;
}

/*
    Looks at the records from batch->from on: takes zones into columns 0-2,
    notes what else there is, and stops at `upto`, at a change of thread, when
    the work space is full, or at a record under construction (`dead`: nobody
    constructs any more, it is skipped).
*/
static void ts__batch_scan(ts__encoder *e, const ts__ring *ring,
                           ts__batch *batch, uint64_t upto, bool dead)
{
    const uint64_t base = e->base;
    uint64_t position = batch->from;
    uint64_t texts = 0;
    uint32_t rows = 0;
    batch->zones = 0;
    batch->events = batch->stale = batch->bad = 0;
    batch->next = batch->track;
    while (position < upto && rows < TS__BATCH_ROWS &&
           position - batch->from < TS__BATCH_SLOTS &&
           texts < TS__BATCH_TEXT / 2) {
        uint64_t a;
        if (!ts__slot_ready(ring, position, &a, 0)) {
            if (!dead) break;
            position++;
            continue;
        }
        const uint64_t b = TS__LOAD(&ring->slots[position & ring->mask].b);
        if (TS__LIKELY((b & 63) == TS__REC_ZONE)) {
            const uint64_t start = ts__tick_full(e->now, a >> 8);
            position++;
            if (TS__UNLIKELY((int64_t)(start - base) < 0)) {
                batch->stale++;
                continue;
            }
            if (TS__UNLIKELY(e->open_count))
                ts__open_close(e, start, b >> 6 & (TS__CODE_LIMIT - 1));
            e->column[0][batch->zones] = start;
            e->column[1][batch->zones] = b >> 32;
            e->column[2][batch->zones++] = b >> 6 & (TS__CODE_LIMIT - 1);
            rows++;
            continue;
        }
        if (!ts__record_valid(ring, position, b, upto)) {
            // A handler died in the middle of a record that it interrupted.
            batch->bad++;
            position++;
            continue;
        }
        if ((b & 63) == TS__REC_THREAD) {
            batch->next = (uint32_t)(b >> 6);
            position++;
            if (rows) break;
            batch->track = batch->next;
            continue;
        }
        batch->events |= UINT64_C(1) << ts__record_event(b);
        texts += ts__record_text(b);
        position += ts__record_slots(b);
        rows++;
    }
    batch->to = position;
    batch->sound = !dead && !batch->bad;
}

// What ts__kernel_put put, as row `row`.
static void ts__kernel_read(ts__encoder *e, const ts__ring *ring,
                            uint64_t position, uint64_t a, uint64_t b,
                            uint32_t row, uint32_t *clock)
{
    const ts__slot *const one = &ring->slots[(position + 1) & ring->mask];
    const ts__slot *const two = &ring->slots[(position + 2) & ring->mask];
    const uint64_t place = TS__LOAD(&one->a) >> 8, times = TS__LOAD(&one->b);
    const uint64_t what = TS__LOAD(&two->a) >> 8;
    *clock = (uint32_t)(b >> 6) & 0x3FFFF;
    if (what & (TS__CODE_LIMIT - 1))
        e->track[row] = what & (TS__CODE_LIMIT - 1);
    e->column[0][row] = a >> 8 | (b >> 24 & 0xFF) << 56;
    e->column[1][row] = b >> 32;
    e->column[2][row] = TS__LOAD(&two->b);
    e->column[3][row] = (uint32_t)times;
    e->column[4][row] = times >> 32;
    e->column[5][row] = place >> 26;
    e->column[6][row] = place & (TS__CODE_LIMIT - 1);
    e->column[7][row] = 0; // stack
    e->column[8][row] = what >> 26;
    e->column[9][row] = 0; // graph
    e->column[10][row] = 0;
}

TS__SMALL_BEGIN
// A record's columns and text, as row `row`.
static void ts__record_read(ts__encoder *e, const ts__ring *ring,
                            uint64_t position, uint64_t a, uint64_t b,
                            uint32_t track, uint32_t row, uint32_t *clock)
{
    const uint32_t slots = ts__record_slots(b);
    const uint64_t code = b >> 6 & (TS__CODE_LIMIT - 1);
    uint8_t *const p = e->payload;
    uint64_t value = 0;
    const bool kernel = (b & 63) == TS__REC_KERNEL;
    if (slots > 1 && !kernel) ts__record_payload(ring, position, slots, p);
    e->track[row] = track;
    e->text_size[row] = 0;
    e->column[0][row] = ts__tick_full(e->now, a >> 8);
    *clock = 0;
    switch (b & 63) {
    case TS__REC_KERNEL:
        ts__kernel_read(e, ring, position, a, b, row, clock);
        break;
    case TS__REC_MARK:
    case TS__REC_FRAME: e->column[1][row] = code; break;
    case TS__REC_COUNTER:
        e->track[row] = code;
        e->column[1][row] = TS_VALUE_INT;
        e->column[2][row] = (uint64_t)(int64_t)(int32_t)(b >> 32);
        break;
    case TS__REC_COUNTER64:
    case TS__REC_COUNTERF:
        e->track[row] = code;
        e->column[1][row] =
            (b & 63) == TS__REC_COUNTERF ? TS_VALUE_DOUBLE : TS_VALUE_INT;
        memcpy(&e->column[2][row], p, 8);
        break;
    case TS__REC_FREE:
        e->column[1][row] = b >> 16;
        e->column[2][row] = 0;
        break;
    case TS__REC_ALLOC: {
        uint32_t pool_site[2];
        memcpy(&value, p, 7);
        memcpy(pool_site, p + 7, 8);
        e->column[1][row] = b >> 16;
        e->column[2][row] = value;
        e->column[3][row] = pool_site[0];
        e->column[4][row] = 0;
        e->column[5][row] = pool_site[1];
        e->column[6][row] = 0;
        break;
    }
    default: { // a row
        const uint8_t *const ids = ts_event_columns(ts__record_event(b));
        uint32_t n = 0, own_track;
        memcpy(&own_track, p, 4);
        memcpy(clock, p + 4, 4);
        if (own_track) e->track[row] = own_track;
        for (uint32_t i = 0; ids[i]; i++)
            if (ids[i] != TS_COLUMN_TEXT)
                memcpy(&e->column[i][row], p + 8 + 8 * n++, 8);
        const uint32_t text = (uint32_t)(b >> 32) - 8 - 8 * n;
        memcpy(e->text + e->text_used, p + 8 + 8 * n, text);
        e->text_used += text;
        e->text_size[row] = text;
    }
    }
}

// A clock that ran backwards must not make a chunk that readers refuse.
static void ts__durations_check(uint64_t *duration, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if ((int64_t)duration[i] < 0) duration[i] = 0;
}

// The rows of one kind and one clock of a batch as a chunk. Returns the next
// clock that has rows, 0 when there is none.
static uint32_t ts__batch_rows(ts__encoder *e, const ts__ring *ring,
                               const ts__batch *batch, uint32_t event,
                               uint32_t clock)
{
    uint32_t count = 0, next = 0;
    e->text_used = 0;
    for (uint64_t i = batch->from; i < batch->to;) {
        uint64_t a;
        const uint64_t b = TS__LOAD(&ring->slots[i & ring->mask].b);
        const uint64_t position = i;
        if (!ts__slot_ready(ring, i, &a, 0) ||
            (!batch->sound && !ts__record_valid(ring, i, b, batch->to))) {
            i++;
            continue;
        }
        i += ts__record_slots(b);
        if (ts__record_event(b) != event || (b & 63) == TS__REC_ZONE) continue;
        uint32_t own;
        const uint32_t texts = e->text_used;
        ts__record_read(e, ring, position, a, b, batch->track, count, &own);
        // At most 13 kinds of operations have one of at most 31 clocks:
        // TS__CHUNKS_PER_BATCH is enough, whatever a sidecar holds.
        if (event < TS_EVENT_GPU_FIRST || own >= TS__CLOCKS_MAX) own = 0;
        if (own == clock) {
            count++;
            continue;
        }
        e->text_used = texts;
        if (own > clock && (!next || own < next)) next = own;
    }
    if (count && ts_event_columns(event)[1] == TS_COLUMN_DURATION)
        ts__durations_check(e->column[1], count);
    if (count && event == TS_EVENT_ZONE)
        ts__encode_zones(e, batch->track, count);
    else if (count)
        ts__encode_rows(e, event, clock, count);
    return next;
}

static void ts__batch_encode(ts__encoder *e, const ts__ring *ring,
                             const ts__batch *batch)
{
    if (batch->zones) ts__encode_zones(e, batch->track, batch->zones);
    for (uint32_t event = 0; event < TS_EVENT_LIMIT; event++) {
        if (!(batch->events >> event & 1)) continue;
        uint32_t clock = 0;
        do
            clock = ts__batch_rows(e, ring, batch, event, clock);
        while (clock);
    }
}

// compress: only where memory may be allocated, which a producer may not.
static ts__encoder *ts__encoder_take(const ts__sidecar *sidecar, bool compress)
{
    for (;;) {
        for (uint32_t i = 0; i < TS__ENCODERS; i++) {
            uint32_t busy = TS__LOAD(&ts__c.encoders_busy);
            if (busy >> i & 1) continue;
            if (!__atomic_compare_exchange_n(
                    &ts__c.encoders_busy, &busy, busy | 1u << i, false,
                    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
                i--; // it changed under us: look again
                continue;
            }
            ts__encoder *const e = ts__c.encoders[i];
            ts__encoder_reset(e);
            e->base = sidecar->head.header.start_tick;
            e->now = ts_tick_now();
            e->open_count = 0;
            e->compress = compress ? ts__c.desc.compress : 0;
            return e;
        }
        const uint32_t seen = TS__LOAD(&ts__c.encoder_wake);
        if (TS__LOAD(&ts__c.encoders_busy) == (1u << TS__ENCODERS) - 1)
            ts__futex_wait(&ts__c.encoder_wake, seen, 1000000u);
    }
}

static void ts__encoder_give(const ts__encoder *e)
{
    for (uint32_t i = 0; i < TS__ENCODERS; i++)
        if (ts__c.encoders[i] == e)
            __atomic_fetch_and(&ts__c.encoders_busy, ~(1u << i),
                               __ATOMIC_RELEASE);
    ts__futex_bump(&ts__c.encoder_wake);
}
TS__SMALL_END
