/* ---- 10.8 Dictionaries -------------------------------------------------- */

// The smallest body of an entry, by kind of chunk.
static const uint8_t ts__entry_min[] = {
    [TS_CHUNK_SITES] = sizeof(ts_site_entry),
    [TS_CHUNK_TRACKS] = sizeof(ts_track_entry),
    [TS_CHUNK_LAUNCHES] = sizeof(ts_launch_entry),
    [TS_CHUNK_MODULES] = sizeof(ts_module_entry),
    [TS_CHUNK_CLOCK] = sizeof(ts_clock_entry),
    [TS_CHUNK_METADATA] = sizeof(ts_metadata_entry),
    [TS_CHUNK_LOSS] = sizeof(ts_loss_entry),
    [TS_CHUNK_SYMBOLS] = sizeof(ts_symbol_entry),
};

// Checks that a payload is `count` entries of a kind and nothing more.
static ts__fault ts__entries_check(const ts_chunk_header *header,
                                   const uint8_t *payload)
{
    uint32_t left = header->raw_size;
    for (uint32_t i = 0; i < header->count; i++) {
        if (left < 8) return ts__corrupt("an entry is missing");
        const uint32_t id = ts__get32(payload);
        const uint32_t size = ts__get32(payload + 4);
        if (size > left - 8) return ts__corrupt("an entry ends too late");
        if (size < ts__entry_min[header->kind])
            return ts__corrupt("an entry is too short");
        if (header->kind == TS_CHUNK_NAMES && size > UINT16_MAX)
            return ts__corrupt("a name is too long");
        if (header->kind == TS_CHUNK_STACKS && size % sizeof(ts_frame_entry))
            return ts__corrupt("a stack has half a frame");
        if (header->kind == TS_CHUNK_SYMBOLS && size % sizeof(ts_line_entry))
            return ts__corrupt("a symbol has half a line");
        if (ts__is_table(header->kind) && !id)
            return ts__corrupt("an entry defines number 0");
        payload += 8 + size;
        left -= 8 + size;
    }
    return left ? ts__corrupt("bytes follow the last entry") : ts__fine;
}

static bool ts__table_add(ts_reader *reader, uint32_t kind, uint32_t id,
                          const uint8_t *body, uint32_t size)
{
    ts__table *const table = &reader->tables[kind];
    ts__item *const items =
        ts__mem_more(&reader->allocator, table->items, &table->capacity,
                     table->count, sizeof *items);
    if (!items) return false;
    const ts__item item = { id, size, body };
    table->items = items;
    items[table->count++] = item;
    return true;
}

// Copies the entries of a dictionary: aligned, with a zero byte behind each.
// The 8 bytes before an entry's body in the file make up for both.
static bool ts__load_table(ts_reader *reader, const ts_chunk_header *header,
                           const uint8_t *payload)
{
    uint8_t *copy = ts__reader_keep(reader, (size_t)header->raw_size + 8);
    if (!copy) return false;
    for (uint32_t i = 0; i < header->count; i++) {
        const uint32_t id = ts__get32(payload);
        const uint32_t size = ts__get32(payload + 4);
        memcpy(copy, payload + 8, size);
        copy[size] = 0;
        if (!ts__table_add(reader, header->kind, id, copy, size)) return false;
        copy += ts__pad8((uint64_t)size + 1);
        payload += 8 + size;
    }
    return true;
}

static bool ts__load_sample(ts_reader *reader, uint32_t id, uint64_t offset,
                            const uint8_t *body)
{
    ts__sample *const samples = ts__mem_more(
        &reader->allocator, reader->samples, &reader->sample_capacity,
        reader->sample_count, sizeof *samples);
    if (!samples) return false;
    reader->samples = samples;
    ts__sample *const sample = &samples[reader->sample_count];
    sample->clock = id;
    sample->order = (uint32_t)reader->sample_count++;
    sample->offset = offset;
    sample->backwards = false;
    memcpy(&sample->entry, body, sizeof sample->entry);
    return true;
}

static bool ts__load_fact(ts_reader *reader, uint32_t id, const uint8_t *body)
{
    ts__fact *const facts =
        ts__mem_more(&reader->allocator, reader->facts, &reader->fact_capacity,
                     reader->fact_count, sizeof *facts);
    if (!facts) return false;
    reader->facts = facts;
    ts__fact *const fact = &facts[reader->fact_count];
    fact->track = id;
    fact->order = (uint32_t)reader->fact_count++;
    memcpy(&fact->entry, body, sizeof fact->entry);
    return true;
}

static bool ts__load_loss(ts_reader *reader, uint32_t id, uint32_t clock,
                          const uint8_t *body)
{
    ts__loss_seen *const lost =
        ts__mem_more(&reader->allocator, reader->lost, &reader->lost_capacity,
                     reader->lost_count, sizeof *lost);
    if (!lost) return false;
    reader->lost = lost;
    ts__loss_seen *const entry = &lost[reader->lost_count++];
    entry->track = id;
    entry->clock = clock;
    memcpy(&entry->entry, body, sizeof entry->entry);
    return true;
}

static bool ts__load_entries(ts_reader *reader, const ts__in_chunk *chunk,
                             const uint8_t *payload)
{
    const ts_chunk_header *const header = &chunk->header;
    if (ts__is_table(header->kind))
        return ts__load_table(reader, header, payload);
    for (uint32_t i = 0; i < header->count; i++) {
        const uint32_t id = ts__get32(payload);
        const uint8_t *const body = payload + 8;
        bool done = true;
        if (header->kind == TS_CHUNK_CLOCK)
            done = ts__load_sample(reader, id, chunk->offset, body);
        if (header->kind == TS_CHUNK_METADATA)
            done = ts__load_fact(reader, id, body);
        if (header->kind == TS_CHUNK_LOSS)
            done = ts__load_loss(reader, id, header->clock, body);
        if (!done) return false;
        payload += 8 + ts__get32(payload + 4);
    }
    return true;
}

static bool ts__in_chunk_has_entries(const ts_chunk_header *header)
{
    return header->kind >= TS_CHUNK_NAMES && header->kind <= TS_CHUNK_SYMBOLS;
}

static ts_result ts__load_chunk(ts_reader *reader, ts__in_chunk *chunk)
{
    const uint8_t *payload;
    ts__scratch scratch = { NULL, 0 };
    ts__fault fault = ts__in_chunk_payload(reader, chunk, &scratch, &payload);
    if (fault.result == TS_OK)
        fault = ts__entries_check(&chunk->header, payload);
    if (fault.result == TS_OK && !ts__load_entries(reader, chunk, payload))
        fault = ts__no_memory;
    ts__mem_put(&reader->allocator, scratch.bytes, scratch.size);
    ts__in_chunk_report(reader, chunk, fault);
    return fault.result == TS_ERR_MEMORY ? TS_ERR_MEMORY : TS_OK;
}

// Loads the dictionaries of the chunks that are new in the table.
static ts_result ts__load_all(ts_reader *reader)
{
    for (; reader->loaded < reader->chunk_count; reader->loaded++) {
        ts__in_chunk *const chunk = &reader->chunks[reader->loaded];
        if (!ts__in_chunk_has_entries(&chunk->header)) continue;
        const ts_result result = ts__load_chunk(reader, chunk);
        if (result != TS_OK) return result;
    }
    return TS_OK;
}

// Merging is stable: definitions of one id stay in their order.
static void ts__table_merge(const ts__item *from, size_t low, size_t middle,
                            size_t high, ts__item *to)
{
    size_t a = low, b = middle;
    for (size_t i = low; i < high; i++) {
        const bool left = a < middle && (b >= high || from[a].id <= from[b].id);
        to[i] = left ? from[a++] : from[b++];
    }
}

static bool ts__table_sorted(const ts__table *table)
{
    for (size_t i = 1; i < table->count; i++)
        if (table->items[i - 1].id >= table->items[i].id) return false;
    return true;
}

// Sorts by id; of several definitions the last one stays.
static bool ts__table_sort(ts_reader *reader, ts__table *table)
{
    const size_t count = table->count, size = count * sizeof(ts__item);
    if (ts__table_sorted(table)) return true;
    ts__item *const other = ts__mem_get(&reader->allocator, size);
    if (!other) return false;
    ts__item *from = table->items, *to = other;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t low = 0; low < count; low += 2 * width) {
            const size_t middle = low + width < count ? low + width : count;
            const size_t high = middle + width < count ? middle + width : count;
            ts__table_merge(from, low, middle, high, to);
        }
        ts__item *const kept = from;
        from = to;
        to = kept;
    }
    size_t unique = 0;
    for (size_t i = 0; i < count; i++)
        if (i + 1 == count || from[i].id != from[i + 1].id)
            table->items[unique++] = from[i];
    table->count = unique;
    ts__mem_put(&reader->allocator, other, size);
    return true;
}

// An array by id, unless a hostile or odd trace has ids all over the place.
static bool ts__table_finish(ts_reader *reader, ts__table *table)
{
    if (!ts__table_sort(reader, table)) return false;
    ts__mem_put(&reader->allocator, table->dense,
                table->dense_size * sizeof *table->dense);
    table->dense = NULL;
    table->dense_size = 0;
    if (!table->count) return true;
    const size_t size = (size_t)table->items[table->count - 1].id + 1;
    if (size / 4 > table->count + 256) return true;
    table->dense = ts__mem_get(&reader->allocator, size * sizeof *table->dense);
    if (!table->dense) return false;
    table->dense_size = size;
    memset(table->dense, 0, size * sizeof *table->dense);
    for (size_t i = 0; i < table->count; i++)
        table->dense[table->items[i].id] = (uint32_t)i + 1;
    return true;
}

typedef struct ts__symbol_key {
    ts_symbol_entry at;
    uint32_t item;
} ts__symbol_key;

static int ts__symbol_compare(const void *a, const void *b)
{
    const ts__symbol_key *const x = a, *const y = b;
    if (x->at.module != y->at.module)
        return x->at.module < y->at.module ? -1 : 1;
    if (x->at.offset != y->at.offset)
        return x->at.offset < y->at.offset ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

// Orders symbols by place; of several the last one stays.
static bool ts__symbols_finish(ts_reader *reader)
{
    const ts__table *const table = &reader->tables[TS_CHUNK_SYMBOLS];
    const ts_allocator *const allocator = &reader->allocator;
    ts__mem_put(allocator, reader->symbols,
                reader->symbol_count * sizeof *reader->symbols);
    reader->symbols = NULL;
    reader->symbol_count = 0;
    if (!table->count) return true;
    const size_t size = table->count * sizeof(ts__symbol_key);
    ts__symbol_key *const keys = ts__mem_get(allocator, size);
    if (!keys) return false;
    for (size_t i = 0; i < table->count; i++) {
        memcpy(&keys[i].at, table->items[i].body, sizeof keys[i].at);
        keys[i].item = (uint32_t)i;
    }
    qsort(keys, table->count, sizeof *keys, ts__symbol_compare);
    size_t unique = 0;
    for (size_t i = 0; i < table->count; i++)
        if (i + 1 == table->count ||
            keys[i].at.module != keys[i + 1].at.module ||
            keys[i].at.offset != keys[i + 1].at.offset)
            keys[unique++] = keys[i];
    reader->symbols = ts__mem_get(allocator, unique * sizeof *reader->symbols);
    reader->symbol_count = reader->symbols ? unique : 0;
    for (size_t i = 0; i < reader->symbol_count; i++)
        reader->symbols[i] = keys[i].item;
    ts__mem_put(allocator, keys, size);
    return reader->symbols != NULL;
}

static const ts__item *ts__table_find(const ts__table *table, uint32_t id)
{
    if (table->dense) {
        const uint32_t at = id < table->dense_size ? table->dense[id] : 0;
        return at ? &table->items[at - 1] : NULL;
    }
    size_t low = 0, high = table->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (table->items[middle].id == id) return &table->items[middle];
        if (table->items[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static const void *ts__table_body(const ts_reader *reader, uint32_t kind,
                                  uint32_t id)
{
    const ts__item *const item = ts__table_find(&reader->tables[kind], id);
    return item ? item->body : NULL;
}

TS_API ts_text ts_reader_name(const ts_reader *reader, uint32_t name)
{
    const ts__item *const item =
        ts__table_find(&reader->tables[TS_CHUNK_NAMES], name);
    ts_text text = { "", 0 };
    if (!item) return text;
    text.text = (const char *)item->body;
    text.size = item->size;
    return text;
}

TS_API const ts_site_entry *ts_reader_site(const ts_reader *reader,
                                           uint32_t site)
{
    return ts__table_body(reader, TS_CHUNK_SITES, site);
}

TS_API ts_text ts_reader_site_name(const ts_reader *reader, uint32_t site)
{
    const ts_site_entry *const entry = ts_reader_site(reader, site);
    if (!entry) return ts_reader_name(reader, 0);
    const ts_text name = ts_reader_name(reader, entry->name);
    return name.size ? name : ts_reader_name(reader, entry->function);
}

TS_API const ts_launch_entry *ts_reader_launch(const ts_reader *reader,
                                               uint32_t launch)
{
    return ts__table_body(reader, TS_CHUNK_LAUNCHES, launch);
}

TS_API const ts_module_entry *ts_reader_module(const ts_reader *reader,
                                               uint32_t module)
{
    return ts__table_body(reader, TS_CHUNK_MODULES, module);
}

TS_API ts_text ts_reader_build_id(const ts_reader *reader, uint32_t module)
{
    const ts__item *const item =
        ts__table_find(&reader->tables[TS_CHUNK_MODULES], module);
    ts_text text = { "", 0 };
    if (!item) return text;
    const size_t size = item->size - sizeof(ts_module_entry);
    text.text = (const char *)item->body + sizeof(ts_module_entry);
    text.size = size < 64 ? size : 64;
    return text;
}

TS_API uint32_t ts_reader_stack(const ts_reader *reader, uint32_t stack,
                                const ts_frame_entry **frames)
{
    const ts__item *const item =
        ts__table_find(&reader->tables[TS_CHUNK_STACKS], stack);
    *frames = NULL;
    if (!item) return 0;
    *frames = (const ts_frame_entry *)(const void *)item->body;
    return item->size / (uint32_t)sizeof(ts_frame_entry);
}

TS_API uint32_t ts_reader_symbol(const ts_reader *reader,
                                 const ts_frame_entry *frame,
                                 const ts_line_entry **lines)
{
    const ts__table *const table = &reader->tables[TS_CHUNK_SYMBOLS];
    size_t low = 0, high = reader->symbol_count;
    *lines = NULL;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const ts__item *const item = &table->items[reader->symbols[middle]];
        ts_symbol_entry at;
        memcpy(&at, item->body, sizeof at);
        if (at.module == frame->module && at.offset == frame->offset) {
            *lines =
                (const ts_line_entry *)(const void *)(item->body + sizeof at);
            return (item->size - (uint32_t)sizeof at) /
                   (uint32_t)sizeof **lines;
        }
        if (at.module < frame->module ||
            (at.module == frame->module && at.offset < frame->offset))
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

TS_API size_t ts_reader_entry_count(const ts_reader *reader,
                                    ts_chunk_kind dictionary)
{
    return ts__is_table((uint32_t)dictionary) ? reader->tables[dictionary].count
                                              : 0;
}

TS_API uint32_t ts_reader_entry(const ts_reader *reader,
                                ts_chunk_kind dictionary, size_t index)
{
    return index < ts_reader_entry_count(reader, dictionary)
               ? reader->tables[dictionary].items[index].id
               : 0;
}

static ts_track ts__track_make(const ts_reader *reader, const ts__item *item)
{
    ts_track_entry entry;
    memcpy(&entry, item->body, sizeof entry);
    const ts_track track = {
        .id = item->id,
        .type = (ts_track_type)entry.type,
        .parent = entry.parent,
        .name = ts_reader_name(reader, entry.name),
        .unit = ts_reader_name(reader, entry.unit),
        .number = entry.number,
        .flags = entry.flags,
    };
    return track;
}

TS_API bool ts_reader_track_at(const ts_reader *reader, size_t index,
                               ts_track *track)
{
    const ts__table *const table = &reader->tables[TS_CHUNK_TRACKS];
    if (index >= table->count) return false;
    *track = ts__track_make(reader, &table->items[index]);
    return true;
}

TS_API bool ts_reader_track(const ts_reader *reader, uint32_t id,
                            ts_track *track)
{
    const ts__item *const item =
        ts__table_find(&reader->tables[TS_CHUNK_TRACKS], id);
    if (!item) return false;
    *track = ts__track_make(reader, item);
    return true;
}

/* ---- 10.9 Metadata ------------------------------------------------------ */

static int ts__order_fact(const void *a, const void *b)
{
    const ts__fact *const x = a, *const y = b;
    if (x->track != y->track) return ts__order_u64(x->track, y->track);
    if (x->entry.key != y->entry.key)
        return ts__order_u64(x->entry.key, y->entry.key);
    return ts__order_u64(x->order, y->order);
}

// By track and key; of several values of a key the last one stays.
static void ts__facts_finish(ts_reader *reader)
{
    ts__fact *const facts = reader->facts;
    size_t unique = 0;
    ts__sort(facts, reader->fact_count, sizeof *facts, ts__order_fact);
    for (size_t i = 0; i < reader->fact_count; i++) {
        const bool last = i + 1 == reader->fact_count ||
                          facts[i].track != facts[i + 1].track ||
                          facts[i].entry.key != facts[i + 1].entry.key;
        if (last) facts[unique++] = facts[i];
    }
    reader->fact_count = unique;
    for (size_t i = 0; i < unique; i++)
        facts[i].order = (uint32_t)i;
}

TS_API size_t ts_reader_metadata_count(const ts_reader *reader)
{
    return reader->fact_count;
}

TS_API bool ts_reader_metadata_at(const ts_reader *reader, size_t index,
                                  ts_metadata *metadata)
{
    if (index >= reader->fact_count) return false;
    const ts__fact *const fact = &reader->facts[index];
    const uint64_t value = fact->entry.value;
    const ts_metadata made = {
        .track = fact->track,
        .key = ts_reader_name(reader, fact->entry.key),
        .type = (ts_value_type)fact->entry.type,
        .text = { "", 0 },
    };
    *metadata = made;
    if (made.type == TS_VALUE_INT) metadata->number = (int64_t)value;
    if (made.type == TS_VALUE_DOUBLE)
        memcpy(&metadata->real, &value, sizeof value);
    if (made.type == TS_VALUE_TEXT && value <= UINT32_MAX)
        metadata->text = ts_reader_name(reader, (uint32_t)value);
    return true;
}

TS_API bool ts_reader_metadata(const ts_reader *reader, uint32_t track,
                               const char *key, ts_metadata *metadata)
{
    const size_t size = strlen(key);
    bool found = false;
    ts_metadata one;
    for (size_t i = 0; ts_reader_metadata_at(reader, i, &one); i++) {
        if (one.track != track || one.key.size != size ||
            memcmp(one.key.text, key, size) != 0)
            continue;
        *metadata = one;
        found = true;
    }
    return found;
}

static uint64_t ts__fact_number(const ts_reader *reader, const char *key)
{
    ts_metadata fact;
    if (!ts_reader_metadata(reader, 0, key, &fact)) return 0;
    if (fact.type == TS_VALUE_INT && fact.number > 0)
        return (uint64_t)fact.number;
    if (fact.type == TS_VALUE_DOUBLE && fact.real >= 1 && fact.real < 1e18)
        return (uint64_t)fact.real;
    return 0;
}

/* ---- 10.10 Clocks ------------------------------------------------------- */

/*
    A clock is a chain of straight segments between its samples; before the
    first and behind the last the nearest segment goes on. All in integers:

        raw = segment.raw + floor(x * ns / ticks),  x = tick - segment.start

    For 0 <= x < span three multiplications do, without a division:
    with ns = whole * ticks + rest and inverse = floor(rest * 2^64 / ticks),
    e = (x * inverse) >> 64 is floor(x * rest / ticks) or one less, because
    x * rest / ticks - x * inverse / 2^64 < x / 2^64 < 1.

    Times are kept within +-2^62 ns, so that differences do not overflow.
*/
#define TS__TIME_MAX (INT64_C(1) << 62)

static ts__int128 ts__floor_div(ts__int128 a, uint64_t b)
{
    const ts__int128 quotient = a / (ts__int128)b;
    return quotient - (a % (ts__int128)b < 0);
}

// Exact for every tick, but slow.
static int64_t ts__segment_far(const ts__clocks *clocks,
                               const ts__segment *segment, uint64_t tick)
{
    const int64_t x = (int64_t)(tick - segment->start);
    const ts__int128 ns =
        ts__floor_div((ts__int128)x * (ts__int128)segment->ns, segment->ticks);
    const ts__int128 time =
        (ts__int128)segment->raw - (ts__int128)clocks->base + ns;
    if (time > TS__TIME_MAX) return TS__TIME_MAX;
    if (time < -TS__TIME_MAX) return -TS__TIME_MAX;
    return (int64_t)time;
}

static inline int64_t ts__segment_near(const ts__segment *segment, uint64_t x)
{
    const uint64_t e = (uint64_t)((ts__uint128)x * segment->inverse >> 64);
    const uint64_t left = x * segment->rest - e * segment->ticks;
    return (int64_t)(segment->time + x * segment->whole + e +
                     (left >= segment->ticks));
}

// The segment that a tick lies in or next to.
static const ts__segment *ts__segment_find(const ts__clocks *clocks,
                                           const ts__clock *clock,
                                           uint64_t tick)
{
    const ts__segment *const segments = clocks->segments + clock->first;
    uint32_t low = 0, high = clock->count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if ((int64_t)(tick - segments[middle].start) >= 0)
            low = middle;
        else
            high = middle;
    }
    return &segments[low];
}

static int ts__order_clock(const void *a, const void *b)
{
    const ts__clock *const x = a, *const y = b;
    return ts__order_u64(x->id, y->id);
}

// Clocks without a sample share the last one, which counts nanoseconds.
static const ts__clock *ts__clock_find(const ts__clocks *clocks, uint32_t id)
{
    const ts__clock wanted = { .id = id };
    if (id < clocks->clock_count - 1 && clocks->clocks[id].id == id)
        return &clocks->clocks[id]; // as most often
    const ts__clock *const found =
        bsearch(&wanted, clocks->clocks, clocks->clock_count - 1, sizeof wanted,
                ts__order_clock);
    return found ? found : &clocks->clocks[clocks->clock_count - 1];
}

static bool ts__clock_known(const ts__clocks *clocks, uint32_t id)
{
    return ts__clock_find(clocks, id) !=
           &clocks->clocks[clocks->clock_count - 1];
}

static int64_t ts__clock_time(const ts__clocks *clocks, uint32_t id,
                              uint64_t tick)
{
    const ts__segment *const segment =
        ts__segment_find(clocks, ts__clock_find(clocks, id), tick);
    if (tick - segment->start < segment->span)
        return ts__segment_near(segment, tick - segment->start);
    return ts__segment_far(clocks, segment, tick);
}

// Prepares ts__segment_near, as far as its results cannot overflow.
static void ts__segment_finish(const ts__clocks *clocks, ts__segment *segment,
                               bool last)
{
    const ts__int128 time = (ts__int128)segment->raw - (ts__int128)clocks->base;
    segment->whole = segment->ns / segment->ticks;
    segment->rest = segment->ns % segment->ticks;
    segment->inverse =
        (uint64_t)(((ts__uint128)segment->rest << 64) / segment->ticks);
    segment->time = (uint64_t)time;
    segment->span = (uint64_t)(TS__TIME_MAX / 2) / (segment->whole + 1);
    if (!last && segment->span > segment->ticks) segment->span = segment->ticks;
    if (time > TS__TIME_MAX / 2 || time < -TS__TIME_MAX / 2) segment->span = 0;
}

// Times of `count` ticks of one clock, which may lie in several segments.
static void ts__clock_times(const ts__clocks *clocks, uint32_t id,
                            const uint64_t *ticks, uint32_t count,
                            int64_t *times)
{
    const ts__clock *const clock = ts__clock_find(clocks, id);
    ts__segment segment = { 0 };
    for (uint32_t i = 0; i < count; i++) {
        if (ticks[i] - segment.start >= segment.span) {
            segment = *ts__segment_find(clocks, clock, ticks[i]);
            if (ticks[i] - segment.start >= segment.span) {
                times[i] = ts__segment_far(clocks, &segment, ticks[i]);
                continue;
            }
        }
        times[i] = ts__segment_near(&segment, ticks[i] - segment.start);
    }
}

static int ts__order_sample(const void *a, const void *b)
{
    const ts__sample *const x = a, *const y = b;
    if (x->clock != y->clock) return ts__order_u64(x->clock, y->clock);
    return ts__order_u64(x->order, y->order);
}

// A clock with a single sample: by its type or its known frequency.
static void ts__clock_single(const ts_reader *reader, ts__clocks *clocks,
                             const ts_clock_entry *entry)
{
    const uint64_t hz = ts__fact_number(reader, "clock.hz");
    const bool counts_ns =
        entry->type == TS_CLOCK_MONOTONIC_RAW || entry->type == TS_CLOCK_OTHER;
    ts__segment segment = { .start = entry->tick,
                            .raw = (int64_t)entry->raw_ns };
    segment.ticks = hz && !counts_ns ? hz : 1;
    segment.ns = hz && !counts_ns ? 1000000000 : 1;
    if (!counts_ns) clocks->estimated = true;
    clocks->segments[clocks->segment_count++] = segment;
}

// Whether a sample can follow another one; `start` is the clock's first tick.
static bool ts__sample_follows(const ts_clock_entry *next,
                               const ts_clock_entry *last, uint64_t start)
{
    return (int64_t)(next->tick - last->tick) > 0 &&
           (int64_t)(next->raw_ns - last->raw_ns) >= 0 &&
           (int64_t)(next->tick - start) > 0;
}

static bool ts__sample_report(ts_reader *reader, ts__sample *sample)
{
    const ts__fault fault = ts__corrupt("a sample of a clock runs backwards");
    if (sample->backwards) return true;
    sample->backwards = true;
    return ts__damage_note(reader, fault, sample->offset, 0);
}

// Adds one clock: `count` samples in the order of the file.
static bool ts__clock_build(ts_reader *reader, ts__clocks *clocks,
                            ts__sample *samples, size_t count)
{
    ts__clock *const clock = &clocks->clocks[clocks->clock_count++];
    const ts_clock_entry *last = &samples[0].entry;
    const uint64_t start = last->tick;
    clock->id = samples[0].clock;
    clock->first = clocks->segment_count;
    for (size_t i = 1; i < count; i++) {
        const ts_clock_entry *const next = &samples[i].entry;
        const uint64_t ticks = next->tick - last->tick;
        const uint64_t ns = next->raw_ns - last->raw_ns;
        if (!ticks && !ns) continue;
        if (!ts__sample_follows(next, last, start)) {
            if (!ts__sample_report(reader, &samples[i])) return false;
            continue;
        }
        const ts__segment segment = { .start = last->tick,
                                      .raw = (int64_t)last->raw_ns,
                                      .ticks = ticks,
                                      .ns = ns };
        clocks->segments[clocks->segment_count++] = segment;
        last = next;
    }
    if (clocks->segment_count == clock->first)
        ts__clock_single(reader, clocks, last);
    clock->count = clocks->segment_count - clock->first;
    return true;
}

// The clock of all ticks whose clock has no sample. Clock 0 is among them
// when the trace has none at all: then the start is time 0.
static void ts__clock_unknown(const ts_reader *reader, ts__clocks *clocks)
{
    const bool no_zero = clocks->clock_count == 0 || clocks->clocks[0].id != 0;
    const uint64_t hz = no_zero ? ts__fact_number(reader, "clock.hz") : 0;
    const ts__segment segment = { .start =
                                      no_zero ? reader->header.start_tick : 0,
                                  .ticks = hz ? hz : 1,
                                  .ns = hz ? 1000000000 : 1 };
    ts__clock *const clock = &clocks->clocks[clocks->clock_count++];
    clock->id = UINT32_MAX;
    clock->first = clocks->segment_count;
    clock->count = 1;
    clocks->segments[clocks->segment_count++] = segment;
    if (no_zero) clocks->estimated = true;
}

// Room for as many clocks and segments as there are samples, and one more.
static ts__clocks *ts__clocks_make(ts_reader *reader)
{
    const size_t count = reader->sample_count + 1;
    const size_t size =
        sizeof(ts__clocks) + count * (sizeof(ts__segment) +
                                      sizeof(ts__realtime) + sizeof(ts__clock));
    ts__clocks *const clocks = ts__mem_get(&reader->allocator, size);
    if (!clocks) return NULL;
    memset(clocks, 0, size);
    clocks->memory_size = size;
    clocks->segments = (ts__segment *)(clocks + 1);
    clocks->realtimes = (ts__realtime *)(clocks->segments + count);
    clocks->clocks = (ts__clock *)(clocks->realtimes + count);
    return clocks;
}

static void ts__clocks_realtimes(const ts_reader *reader, ts__clocks *clocks)
{
    for (size_t i = 0; i < reader->sample_count; i++) {
        const ts__sample *const sample = &reader->samples[i];
        const ts__realtime point = { (int64_t)sample->entry.raw_ns,
                                     sample->entry.realtime_ns };
        const uint32_t count = clocks->realtime_count;
        if (sample->clock != 0) break;
        if (count && point.raw <= clocks->realtimes[count - 1].raw) continue;
        clocks->realtimes[clocks->realtime_count++] = point;
    }
}

// The header is damaged: the first sample of clock 0 was taken at the start.
static void ts__clocks_start(ts_reader *reader)
{
    for (size_t i = 0; i < reader->sample_count; i++) {
        const ts__sample *const sample = &reader->samples[i];
        if (sample->clock != 0) continue;
        reader->header.start_tick = sample->entry.tick;
        reader->header.start_realtime_ns = sample->entry.realtime_ns;
        return;
    }
}

// Every clock, from the samples, which are sorted by clock.
static bool ts__clocks_build(ts_reader *reader, ts__clocks *clocks)
{
    ts__sample *const samples = reader->samples;
    for (size_t i = 0, next; i < reader->sample_count; i = next) {
        next = i + 1;
        while (next < reader->sample_count &&
               samples[next].clock == samples[i].clock)
            next++;
        if (!ts__clock_build(reader, clocks, &samples[i], next - i))
            return false;
    }
    ts__clock_unknown(reader, clocks);
    ts__clocks_realtimes(reader, clocks);
    return true;
}

// Frees the sets that a newer one has replaced and no cursor goes by.
static void ts__clocks_sweep(ts_reader *reader)
{
    ts__clocks **link = &reader->clocks->older;
    while (*link) {
        ts__clocks *const clocks = *link;
        if (__atomic_load_n(&clocks->cursors, __ATOMIC_RELAXED)) {
            link = &clocks->older;
            continue;
        }
        *link = clocks->older;
        ts__mem_put(&reader->allocator, clocks, clocks->memory_size);
    }
}

// Makes the start of the trace time 0.
static void ts__clocks_base(const ts_reader *reader, ts__clocks *clocks)
{
    const uint64_t start = reader->header.start_tick;
    const ts__segment *const at =
        ts__segment_find(clocks, ts__clock_find(clocks, 0), start);
    const ts__int128 x = (int64_t)(start - at->start);
    clocks->base =
        (int64_t)(at->raw + ts__floor_div(x * (ts__int128)at->ns, at->ticks));
    for (uint32_t i = 0; i < clocks->clock_count; i++) {
        const ts__clock *const clock = &clocks->clocks[i];
        for (uint32_t j = 0; j < clock->count; j++)
            ts__segment_finish(clocks, &clocks->segments[clock->first + j],
                               j + 1 == clock->count);
    }
}

static ts_result ts__clocks_finish(ts_reader *reader)
{
    ts__sort(reader->samples, reader->sample_count, sizeof *reader->samples,
             ts__order_sample);
    if (reader->header_damaged) ts__clocks_start(reader);
    ts__clocks *const clocks = ts__clocks_make(reader);
    if (!clocks) return TS_ERR_MEMORY;
    if (!ts__clocks_build(reader, clocks)) {
        ts__mem_put(&reader->allocator, clocks, clocks->memory_size);
        return TS_ERR_MEMORY;
    }
    ts__clocks_base(reader, clocks);
    clocks->older = reader->clocks;
    reader->clocks = clocks;
    ts__clocks_sweep(reader);
    reader->info.clock_estimated = clocks->estimated;
    return TS_OK;
}

TS_API int64_t ts_reader_time_ns(const ts_reader *reader, uint32_t clock,
                                 uint64_t tick)
{
    return ts__clock_time(reader->clocks, clock, tick);
}

TS_API bool ts_reader_clock_at(const ts_reader *reader, size_t index,
                               ts_clock_point *point)
{
    if (index >= reader->sample_count) return false;
    const ts__sample *const sample = &reader->samples[index];
    point->clock = sample->clock;
    point->entry = sample->entry;
    point->time_ns =
        ts__clock_time(reader->clocks, sample->clock, sample->entry.tick);
    return true;
}

TS_API bool ts_reader_boot(const ts_reader *reader, uint64_t *raw_ns,
                           uint64_t *boottime_ns)
{
    for (size_t i = 0; i < reader->sample_count; i++) {
        const ts_clock_entry *const entry = &reader->samples[i].entry;
        const uint64_t time_ns = (uint64_t)ts__clock_time(
            reader->clocks, reader->samples[i].clock, entry->tick);
        if (reader->samples[i].clock || !entry->boottime_ns ||
            entry->type == TS_CLOCK_OTHER)
            continue;
        *raw_ns = entry->raw_ns - time_ns;
        *boottime_ns = entry->boottime_ns - time_ns;
        return true;
    }
    return false;
}

// Between two samples linearly, so that the clock's corrections are spread;
// outside by the distance to the nearest.
TS_API uint64_t ts_reader_realtime_ns(const ts_reader *reader, int64_t time_ns)
{
    const ts__clocks *const clocks = reader->clocks;
    const ts__int128 raw = (ts__int128)clocks->base + time_ns;
    const ts__realtime *const points = clocks->realtimes;
    if (!clocks->realtime_count)
        return reader->header.start_realtime_ns + (uint64_t)time_ns;
    uint32_t low = 0, high = clocks->realtime_count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (raw >= points[middle].raw)
            low = middle;
        else
            high = middle;
    }
    const ts__int128 x = raw - points[low].raw;
    if (x < 0 || low + 1 == clocks->realtime_count)
        return points[low].realtime + (uint64_t)x;
    const ts__int128 rise =
        (int64_t)(points[low + 1].realtime - points[low].realtime);
    return points[low].realtime +
           (uint64_t)ts__floor_div(x * rise, (uint64_t)points[low + 1].raw -
                                                 (uint64_t)points[low].raw);
}

/* ---- 10.11 Losses ------------------------------------------------------- */

static int ts__order_loss(const void *a, const void *b)
{
    const ts_loss_row *const x = a, *const y = b;
    if (x->track != y->track) return ts__order_u64(x->track, y->track);
    if (x->cause != y->cause) return ts__order_u64(x->cause, y->cause);
    if (x->detail != y->detail) return ts__order_u64(x->detail, y->detail);
    return 0;
}

static uint64_t ts__sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void ts__loss_merge(ts_loss_row *row, const ts_loss_row *more)
{
    row->count = ts__sum(row->count, more->count);
    row->stall_ns = ts__sum(row->stall_ns, more->stall_ns);
    if (more->first_ns < row->first_ns) row->first_ns = more->first_ns;
    if (more->last_ns > row->last_ns) row->last_ns = more->last_ns;
}

// Sums the ledger by track, cause and detail.
static ts_result ts__losses_finish(ts_reader *reader)
{
    const size_t size = reader->lost_count * sizeof(ts_loss_row);
    ts__mem_put(&reader->allocator, reader->losses, reader->losses_size);
    reader->losses = NULL;
    reader->losses_size = reader->loss_count = 0;
    if (!size) return TS_OK;
    ts_loss_row *const rows = ts__mem_get(&reader->allocator, size);
    if (!rows) return TS_ERR_MEMORY;
    reader->losses = rows;
    reader->losses_size = size;
    for (size_t i = 0; i < reader->lost_count; i++) {
        const ts__loss_seen *const lost = &reader->lost[i];
        const ts_loss_entry *const entry = &lost->entry;
        const ts_loss_row row = {
            lost->track,
            entry->cause,
            entry->detail,
            entry->count,
            ts__clock_time(reader->clocks, lost->clock, entry->first),
            ts__clock_time(reader->clocks, lost->clock, entry->last),
            entry->stall_ns,
        };
        rows[i] = row;
    }
    ts__sort(rows, reader->lost_count, sizeof *rows, ts__order_loss);
    size_t count = 0;
    for (size_t i = 0; i < reader->lost_count; i++) {
        if (count && ts__order_loss(&rows[count - 1], &rows[i]) == 0)
            ts__loss_merge(&rows[count - 1], &rows[i]);
        else
            rows[count++] = rows[i];
    }
    reader->loss_count = count;
    return TS_OK;
}

TS_API size_t ts_reader_loss_count(const ts_reader *reader)
{
    return reader->loss_count;
}

TS_API bool ts_reader_loss(const ts_reader *reader, size_t index,
                           ts_loss_row *row)
{
    if (index >= reader->loss_count) return false;
    *row = reader->losses[index];
    return true;
}
