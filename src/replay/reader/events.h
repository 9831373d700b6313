/* ---- Reader: events ----------------------------------------------------- */

/*
    Layout of ts_columns.memory, each part with one u64 per row, if it is
    needed:

        stack of zones | start_ns | start_ticks | end_ticks | duration_ns |
        values ... | texts ...

    Times are decoded by tiles, so that what is between them stays in the
    processor's cache.
*/
enum { TS__DECODE_BYTES_MAX = 1 << 30, TS__TILE = 256 };

_Static_assert(TS_COLUMN_LIMIT <= 64, "sets of columns are bits of 64");
static const uint64_t ts__columns_hidden =
    TS_COLUMN_BIT(START) | TS_COLUMN_BIT(DURATION) | TS_COLUMN_BIT(NEST) |
    TS_COLUMN_BIT(LEAD) | TS_COLUMN_BIT(TAIL) | TS_COLUMN_BIT(TEXT) |
    TS_COLUMN_BIT(TRACK);
static const uint64_t ts__columns_numbers = // these values are u32
    TS_COLUMN_BIT(SITE) | TS_COLUMN_BIT(NAME) | TS_COLUMN_BIT(POOL) |
    TS_COLUMN_BIT(CATEGORY) | TS_COLUMN_BIT(STACK) | TS_COLUMN_BIT(THREAD) |
    TS_COLUMN_BIT(LAUNCH) | TS_COLUMN_BIT(PEER) | TS_COLUMN_BIT(UNIT);

// Returns whether a column gets an array in ts_columns.values.
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

// Which columns are decoded, those included that others are computed from.
static uint64_t ts__columns_needed(uint64_t wanted)
{
    if (wanted & TS_COLUMN_BIT(SUBMITTED)) wanted |= TS_COLUMN_BIT(QUEUED);
    if (wanted & TS_COLUMN_BIT(QUEUED)) wanted |= TS_COLUMN_BIT(START);
    return wanted;
}

// The decoding of the times of a chunk.
typedef struct ts__times {
    const ts__clocks *clocks;
    const ts_chunk_header *header;
    ts__column_cursor a, b, c; // nest, lead and tail, or start and duration
    uint64_t end, depth;       // of the last event
    bool outside;              // an event is not in the chunk's range
    // Results; NULL: not wanted.
    uint64_t *stack, *ticks, *ends;
    int64_t *start_ns, *duration_ns;
} ts__times;

// Computes the times of zones from those of the zones inside them (section 8.1
// of the format). False: a zone encloses too many zones.
static bool ts__zones_decode(ts__times *t, uint32_t count, uint64_t *ticks,
                             uint64_t *ends)
{
    uint64_t nest[TS__TILE], tail[TS__TILE];
    uint64_t *const stack = t->stack;
    uint64_t end = t->end, depth = t->depth;
    ts__column_next(&t->a, t->header->count, count, nest);
    ts__column_next(&t->b, t->header->count, count, ticks); // lead
    ts__column_next(&t->c, t->header->count, count, tail);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t some = nest[i] != 0, inside = nest[i] - some;
        if (inside > depth) return false;
        const uint64_t lead = (ticks[i] ^ (0 - some)) + some;
        // A branch: the stack's last store need not be waited for without one
        // inside, and programs repeat their nesting.
        uint64_t start = end + lead;
        if (inside) {
            depth -= inside;
            start = stack[depth] + lead;
            end += tail[i];
        } else {
            end = start + tail[i];
        }
        stack[depth++] = start;
        ticks[i] = start;
        ends[i] = end;
    }
    t->end = end;
    t->depth = depth;
    return true;
}

// Decodes the times of events other than zones.
static void ts__moments_decode(ts__times *t, uint32_t count, uint64_t *ticks,
                               uint64_t *ends)
{
    ts__column_next(&t->a, t->header->count, count, ticks);
    ts__column_next(&t->b, t->header->count, count, ends); // duration
    if (t->a.column->header.transform == TS_TRANSFORM_GAP)
        ts__gaps_decode(count, ends, ticks, &t->end);
    for (uint32_t i = 0; i < count; i++)
        ends[i] += ticks[i];
}

// Returns whether an event is not within the time range of its chunk, which is
// less than 2^63: then one of these differences has its highest bit set.
static inline __attribute__((always_inline)) bool
ts__outside_some(const ts_chunk_header *header, const uint64_t *ticks,
                 const uint64_t *ends, uint32_t count)
{
    const uint64_t first = header->first, span = header->last - first;
    uint64_t any = 0;
    for (; count >= 16; count -= 16, ticks += 16, ends += 16)
        for (uint32_t i = 0; i < 16; i++)
            any |= (ticks[i] - first) | (ends[i] - first) |
                   (span - (ends[i] - first)) | (ends[i] - ticks[i]);
    for (uint32_t i = 0; i < count; i++)
        any |= (ticks[i] - first) | (ends[i] - first) |
               (span - (ends[i] - first)) | (ends[i] - ticks[i]);
    return any >> 63;
}

static inline __attribute__((always_inline)) void
ts__subtract_some(int64_t *to, const int64_t *less, uint32_t count)
{
    for (; count >= 16; count -= 16, to += 16, less += 16) {
        int64_t made[16];
        for (uint32_t i = 0; i < 16; i++)
            made[i] = to[i] - less[i];
        memcpy(to, made, sizeof made);
    }
    for (uint32_t i = 0; i < count; i++)
        to[i] -= less[i];
}

#ifdef TS__AVX2
__attribute__((target("avx2"))) static bool
ts__outside_avx2(const ts_chunk_header *header, const uint64_t *ticks,
                 const uint64_t *ends, uint32_t count)
{
    return ts__outside_some(header, ticks, ends, count);
}

__attribute__((target("avx2"))) static void
ts__subtract_avx2(int64_t *to, const int64_t *less, uint32_t count)
{
    ts__subtract_some(to, less, count);
}
#endif

static bool ts__outside(const ts_chunk_header *header, const uint64_t *ticks,
                        const uint64_t *ends, uint32_t count)
{
#ifdef TS__AVX2
    if (ts__has_avx2()) return ts__outside_avx2(header, ticks, ends, count);
#endif
    return ts__outside_some(header, ticks, ends, count);
}

static void ts__subtract(int64_t *to, const int64_t *less, uint32_t count)
{
#ifdef TS__AVX2
    if (ts__has_avx2()) {
        ts__subtract_avx2(to, less, count);
        return;
    }
#endif
    ts__subtract_some(to, less, count);
}

static void ts__times_begin(ts__times *t, const ts__columns *found)
{
    const uint32_t count = t->header->count;
    const bool zones = t->header->event == TS_EVENT_ZONE;
    const ts__column *const column = found->column;
    const ts__column *const start = &column[TS_COLUMN_START];
    t->a = ts__column_begin(zones ? &column[TS_COLUMN_NEST] : start, count);
    t->b = ts__column_begin(
        &column[zones ? TS_COLUMN_LEAD : TS_COLUMN_DURATION], count);
    t->c = ts__column_begin(&column[TS_COLUMN_TAIL], count);
    t->end = zones ? t->header->first : start->header.base;
}

// Decodes rows of the times from `row` on.
static bool ts__tile_decode(ts__times *t, uint32_t row, uint32_t count)
{
    uint64_t tile_ticks[TS__TILE], tile_ends[TS__TILE];
    int64_t tile_start[TS__TILE];
    uint64_t *const ticks = t->ticks ? t->ticks + row : tile_ticks;
    uint64_t *const ends = t->ends ? t->ends + row : tile_ends;
    int64_t *const start = t->start_ns ? t->start_ns + row : tile_start;
    const uint32_t clock = t->header->clock;
    if (t->header->event != TS_EVENT_ZONE)
        ts__moments_decode(t, count, ticks, ends);
    else if (!ts__zones_decode(t, count, ticks, ends))
        return false;
    t->outside |= ts__outside(t->header, ticks, ends, count);
    ts__clock_times(t->clocks, clock, ticks, count, start);
    if (!t->duration_ns) return true;
    int64_t *const duration = t->duration_ns + row;
    ts__clock_times(t->clocks, clock, ends, count, duration);
    ts__subtract(duration, start, count);
    return true;
}

// Decodes times to *at and advances it.
static const char *ts__times_decode(ts__times *t, const ts__columns *found,
                                    uint64_t needed, uint64_t **at,
                                    ts_columns *columns)
{
    const uint32_t count = t->header->count;
    uint64_t *next = *at;
    ts__times_begin(t, found);
    if (t->header->event == TS_EVENT_ZONE) {
        t->stack = next;
        next += count;
    }
    if (needed & TS_COLUMN_BIT(START)) {
        t->start_ns = (int64_t *)next;
        t->ticks = next + count;
        t->ends = t->ticks + count;
        next = t->ends + count;
    }
    if (needed & TS_COLUMN_BIT(DURATION)) {
        t->duration_ns = (int64_t *)next;
        next += count;
    }
    for (uint32_t row = 0; row < count; row += TS__TILE)
        if (!ts__tile_decode(t, row,
                             count - row < TS__TILE ? count - row : TS__TILE))
            return "a zone encloses too many zones";
    columns->start_ns = t->start_ns;
    columns->duration_ns = t->duration_ns;
    columns->start_ticks = t->ticks;
    columns->end_ticks = t->ends;
    *at = next;
    if (!t->outside) return NULL;
    return t->header->event == TS_EVENT_ZONE
               ? "a zone is outside the time range of its chunk"
               : "an event is outside the time range of its chunk";
}

// Checks that values fit u32: truncated, they would refer to something else.
static const char *ts__numbers_check(const ts__column *column,
                                     const uint64_t *values, uint32_t count)
{
    const uint64_t base = column->header.base;
    const bool packed = column->header.encoding == TS_ENCODING_PACK &&
                        !column->header.transform && base <= INT32_MAX;
    const char *const text = "an identifier has more than 32 bits";
    uint64_t all = 0;
    // A block of values of 31 bits above a small base needs no look at them.
    for (uint32_t i = 0; i < count; i++)
        if (packed && i % 64 == 0 && column->data[i / 64] <= 31)
            i += 63;
        else
            all |= values[i];
    return all > UINT32_MAX ? text : NULL;
}

// Decodes the visible columns to *at and advances it.
static const char *ts__values_decode(const ts__columns *found, uint64_t needed,
                                     uint64_t **at, ts_columns *columns)
{
    const char *text = NULL;
    for (uint32_t i = 1; i < TS_COLUMN_LIMIT; i++) {
        if (!(needed >> i & 1) || !ts__column_shown(found, i)) continue;
        ts__column_decode(&found->column[i], found->count, *at);
        ts__submitted_decode(&found->column[i], found->count,
                             columns->values[TS_COLUMN_QUEUED], *at);
        ts__queued_decode(&found->column[i], found->count, columns->start_ticks,
                          *at);
        if (!text && ts__columns_numbers >> i & 1)
            text = ts__numbers_check(&found->column[i], *at, found->count);
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
    return ts__numbers_check(&found->column[TS_COLUMN_TRACK], values,
                             found->count);
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

#define TS__TIMES (TS_COLUMN_BIT(START) | TS_COLUMN_BIT(DURATION))

static uint64_t ts__decode_bytes(const ts_chunk_header *header,
                                 const ts__columns *found, uint64_t needed)
{
    uint64_t parts = 0;
    if (needed & TS__TIMES) parts += header->event == TS_EVENT_ZONE;
    if (needed & TS_COLUMN_BIT(START)) parts += 3;
    if (needed & TS_COLUMN_BIT(DURATION)) parts += 1;
    for (uint32_t i = 1; i < TS_COLUMN_LIMIT; i++)
        parts += needed >> i & 1 && ts__column_shown(found, i);
    if (needed & TS_COLUMN_BIT(TRACK) && header->track == TS_TRACK_MIXED)
        parts += 2;
    if (needed & TS_COLUMN_BIT(TEXT) && found->column[TS_COLUMN_TEXT].present)
        parts += 2;
    return parts * header->count * sizeof(uint64_t);
}

static ts__fault ts__decode_rows(const ts_reader *reader,
                                 const ts__clocks *clocks,
                                 const ts_chunk_header *header,
                                 const ts__columns *found, uint64_t needed,
                                 ts_columns *columns)
{
    const ts__fault too_much = { TS_ERR_UNSUPPORTED,
                                 "the chunk decodes to more than 1 GiB" };
    const uint64_t size = ts__decode_bytes(header, found, needed);
    ts__times times = { .clocks = clocks, .header = header };
    if (size > TS__DECODE_BYTES_MAX) return too_much;
    if (!ts__columns_fit(reader, columns, size ? size : 8))
        return ts__no_memory;
    uint64_t *at = columns->memory;
    const char *text = NULL;
    if (needed & TS__TIMES)
        text = ts__times_decode(&times, found, needed, &at, columns);
    if (!text) text = ts__values_decode(found, needed, &at, columns);
    if (!text && needed & TS_COLUMN_BIT(TRACK) &&
        header->track == TS_TRACK_MIXED)
        text = ts__tracks_decode(found, &at, columns);
    if (!text && needed & TS_COLUMN_BIT(TEXT) &&
        found->column[TS_COLUMN_TEXT].present)
        ts__texts_decode(found, at, columns);
    return text ? ts__corrupt(text) : ts__no_fault;
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

static void ts__columns_describe(const ts__in_chunk *chunk, size_t index,
                                 ts_columns *columns)
{
    columns->kind = (ts_event_kind)chunk->header.event;
    columns->count = chunk->header.count;
    columns->track = chunk->header.track;
    columns->clock = chunk->header.clock;
    columns->chunk = index;
}

// Gets the columns of a chunk of known events, located.
static ts__fault ts__columns_locate(ts_reader *reader, ts__in_chunk *chunk,
                                    ts_columns *columns, ts__columns *found)
{
    const ts_chunk_header *const header = &chunk->header;
    const uint8_t *payload;
    ts__scratch scratch = { columns->payload, columns->payload_size };
    const ts__fault fault =
        ts__in_chunk_payload(reader, chunk, &scratch, &payload);
    columns->payload = scratch.bytes;
    columns->payload_size = scratch.size;
    if (fault.result != TS_OK) return fault;
    const char *const text =
        ts__columns_find(payload, header->raw_size, header->count, found);
    return text ? ts__corrupt(text) : ts__no_fault;
}

// Decodes columns of a chunk of known events. Adds nothing to the list of
// damages.
static ts__fault ts__decode(ts_reader *reader, const ts__clocks *clocks,
                            size_t index, uint64_t wanted, ts_columns *columns)
{
    ts__in_chunk *const chunk = &reader->chunks[index];
    ts__columns found;
    ts__columns_reset(columns);
    ts__fault fault = wanted
                          ? ts__columns_locate(reader, chunk, columns, &found)
                          : ts__in_chunk_verify_once(reader, chunk);
    if (fault.result == TS_OK && !ts__in_chunk_timed(clocks, chunk))
        fault = ts__corrupt("the chunk's time is too far from its clock's");
    if (fault.result == TS_OK && wanted)
        fault = ts__decode_rows(reader, clocks, &chunk->header, &found,
                                ts__columns_needed(wanted), columns);
    if (fault.result != TS_OK)
        ts__columns_reset(columns);
    else
        ts__columns_describe(chunk, index, columns);
    return fault;
}

TS_API ts_result ts_reader_decode_columns(ts_reader *reader, size_t chunk,
                                          uint64_t wanted, ts_columns *columns)
{
    const ts_result index = ts_reader_index(reader);
    if (index != TS_OK) return index;
    if (chunk >= reader->chunk_count || !columns ||
        reader->chunks[chunk].header.kind != TS_CHUNK_EVENTS)
        return TS_ERR_USAGE;
    if (!ts__in_chunk_known(&reader->chunks[chunk].header)) {
        ts__columns_reset(columns);
        return TS_ERR_UNSUPPORTED;
    }
    const ts__fault fault =
        ts__decode(reader, reader->clocks, chunk, wanted, columns);
    return ts__in_chunk_report(reader, &reader->chunks[chunk], fault);
}

TS_API ts_result ts_reader_decode(ts_reader *reader, size_t chunk,
                                  ts_columns *columns)
{
    return ts_reader_decode_columns(reader, chunk, TS_COLUMNS_ALL, columns);
}

TS_API void ts_columns_close(ts_reader *reader, ts_columns *columns)
{
    if (!columns) return;
    ts__mem_put(&reader->allocator, columns->memory, columns->memory_size);
    ts__mem_put(&reader->allocator, columns->payload, columns->payload_size);
    memset(columns, 0, sizeof *columns);
}
