/* ---- Reader: dictionaries ----------------------------------------------- */

// The minimum size of an entry's body, by kind of chunk.
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
        if (size > left - 8)
            return ts__corrupt("an entry extends beyond its chunk");
        if (size < ts__entry_min[header->kind])
            return ts__corrupt("an entry is too short");
        if (header->kind == TS_CHUNK_NAMES && size > UINT16_MAX)
            return ts__corrupt("a name is too long");
        if (header->kind == TS_CHUNK_STACKS && size % sizeof(ts_frame_entry))
            return ts__corrupt("a stack has an incomplete frame");
        if (header->kind == TS_CHUNK_SYMBOLS && size % sizeof(ts_line_entry))
            return ts__corrupt("a symbol has an incomplete line");
        if (ts__is_table(header->kind) && !id)
            return ts__corrupt("an entry defines number 0");
        payload += 8 + size;
        left -= 8 + size;
    }
    return left ? ts__corrupt("bytes follow the last entry") : ts__no_fault;
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

// Copies the entries of a dictionary, each aligned and followed by a zero byte.
// Padding and zero bytes fit into the space of the entries' 8-byte headers,
// which are not copied.
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

static bool ts__load_metadata(ts_reader *reader, uint32_t id,
                              const uint8_t *body)
{
    ts__metadata_row *const metadata = ts__mem_more(
        &reader->allocator, reader->metadata, &reader->metadata_capacity,
        reader->metadata_count, sizeof *metadata);
    if (!metadata) return false;
    reader->metadata = metadata;
    ts__metadata_row *const row = &metadata[reader->metadata_count];
    row->track = id;
    row->order = (uint32_t)reader->metadata_count++;
    memcpy(&row->entry, body, sizeof row->entry);
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
            done = ts__load_metadata(reader, id, body);
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

// Loads the dictionaries of chunks that were added to the table.
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

// Merges stably, so that definitions of one id keep their order.
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

// Sorts by id; of several definitions the last one is kept.
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

// Builds an array by id, unless the ids of a hostile trace are too sparse.
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

// Sorts symbols by module and offset; of several the last one is kept.
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
    while (low < high)
        ts__halve(&low, &high, table->items[ts__middle(low, high)].id < id);
    return low < table->count && table->items[low].id == id ? &table->items[low]
                                                            : NULL;
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
        const ts__item *const item =
            &table->items[reader->symbols[ts__middle(low, high)]];
        ts_symbol_entry at;
        memcpy(&at, item->body, sizeof at);
        if (at.module == frame->module && at.offset == frame->offset) {
            *lines =
                (const ts_line_entry *)(const void *)(item->body + sizeof at);
            return (item->size - (uint32_t)sizeof at) /
                   (uint32_t)sizeof **lines;
        }
        ts__halve(&low, &high,
                  at.module < frame->module || (at.module == frame->module &&
                                                at.offset < frame->offset));
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
