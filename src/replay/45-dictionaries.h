/* ---- 7.8 Dictionaries --------------------------------------------------- */

// The smallest body of an entry, by kind of chunk.
static const uint8_t ts__entry_min[] = {
    [TS_CHUNK_SITES] = sizeof(ts_site_entry),
    [TS_CHUNK_TRACKS] = sizeof(ts_track_entry),
    [TS_CHUNK_LAUNCHES] = sizeof(ts_launch_entry),
    [TS_CHUNK_MODULES] = sizeof(ts_module_entry),
    [TS_CHUNK_CLOCK] = sizeof(ts_clock_entry),
    [TS_CHUNK_METADATA] = sizeof(ts_metadata_entry),
    [TS_CHUNK_LOSS] = sizeof(ts_loss_entry),
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
        if (header->kind < TS__TABLES && !id)
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
    ts__lost *const lost =
        ts__mem_more(&reader->allocator, reader->lost, &reader->lost_capacity,
                     reader->lost_count, sizeof *lost);
    if (!lost) return false;
    reader->lost = lost;
    ts__lost *const entry = &lost[reader->lost_count++];
    entry->track = id;
    entry->clock = clock;
    memcpy(&entry->entry, body, sizeof entry->entry);
    return true;
}

static bool ts__load_entries(ts_reader *reader, const ts__in_chunk *chunk,
                             const uint8_t *payload)
{
    const ts_chunk_header *const header = &chunk->header;
    if (header->kind < TS__TABLES)
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
    return header->kind >= TS_CHUNK_NAMES && header->kind <= TS_CHUNK_LOSS;
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

/* ---- 7.9 Metadata ------------------------------------------------------- */

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
