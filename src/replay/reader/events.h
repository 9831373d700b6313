/* ---- Reader: events ----------------------------------------------------- */

/*
    Layout of ts_columns.memory, each part with one u64 per row:

        start_ns | duration_ns | ticks | a | b | c | values ... | texts ...

    While times are decoded, start_ns holds the stack of zones, a the leads and
    then the ends, b and c the columns nest and tail.
*/
enum { TS__DECODE_BYTES_MAX = 1 << 30, TS__DECODE_FIXED = 6 };

_Static_assert(TS_COLUMN_LIMIT <= 64, "sets of columns are bits of 64");
#define TS__COLUMN_BIT(name) (UINT64_C(1) << (TS_COLUMN_##name))
static const uint64_t ts__columns_hidden =
    TS__COLUMN_BIT(START) | TS__COLUMN_BIT(DURATION) | TS__COLUMN_BIT(NEST) |
    TS__COLUMN_BIT(LEAD) | TS__COLUMN_BIT(TAIL) | TS__COLUMN_BIT(TEXT) |
    TS__COLUMN_BIT(TRACK);
static const uint64_t ts__columns_numbers = // these values are u32
    TS__COLUMN_BIT(SITE) | TS__COLUMN_BIT(NAME) | TS__COLUMN_BIT(POOL) |
    TS__COLUMN_BIT(CATEGORY) | TS__COLUMN_BIT(STACK) | TS__COLUMN_BIT(THREAD) |
    TS__COLUMN_BIT(LAUNCH) | TS__COLUMN_BIT(PEER);

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

// Computes the times of zones from those of the zones inside them (section 8.1
// of the format). `lead` receives the ends; `stack` has header->count elements.
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
        if (inside > depth) return "a zone encloses too many zones";
        depth -= inside;
        const uint64_t from = inside ? stack[depth] : end;
        const uint64_t start = from + (n ? 0 - a : a);
        end = (inside ? end : start) + tail[i];
        stack[depth++] = start;
        ticks[i] = start;
        lead[i] = end;
        outside |= (start - first > end - first) | (end - first > span);
    }
    return outside ? "a zone is outside the time range of its chunk" : NULL;
}

// Decodes the times of events other than zones. `durations` receives the ends.
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
    return outside ? "an event is outside the time range of its chunk" : NULL;
}

// Sets start_ns, duration_ns and the ticks; `at` is the memory.
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

// Checks that values fit u32: truncated, they would refer to something else.
static const char *ts__numbers_check(const uint64_t *values, uint32_t count)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < count; i++)
        all |= values[i];
    return all > UINT32_MAX ? "an identifier has more than 32 bits" : NULL;
}

// Decodes the visible columns to *at and advances it.
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

// Decodes a chunk of known events. Adds nothing to the list of damages.
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
    return ts__no_fault;
}

TS_API ts_result ts_reader_decode(ts_reader *reader, size_t chunk,
                                  ts_columns *columns)
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
