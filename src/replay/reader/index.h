/* ---- Reader: index ------------------------------------------------------ */

// Finds the end chunk, if the file has one in its place.
static bool ts__index_end(ts_reader *reader, ts__in_chunk *end)
{
    const uint64_t header_bytes = sizeof(ts_file_header);
    if (reader->size < header_bytes + sizeof(ts_chunk_header)) return false;
    const uint64_t offset = reader->size - sizeof(ts_chunk_header);
    return offset % 8 == 0 &&
           ts__in_chunk_check(reader, offset, end).result == TS_OK &&
           end->header.kind == TS_CHUNK_END &&
           ts__in_chunk_verify_once(reader, end).result == TS_OK;
}

enum { TS__LOD_BYTES = TS_LOD_CELLS * 8 };

// Gets the decompressed payload of a chunk. It lives as long as the reader.
static ts__fault ts__payload_keep(ts_reader *reader, ts__in_chunk *chunk,
                                  const uint8_t **payload)
{
    ts__scratch scratch = { NULL, 0 };
    const ts_chunk_header *const header = &chunk->header;
    ts__fault fault = ts__in_chunk_payload(reader, chunk, &scratch, payload);
    if (fault.result == TS_OK && ts__in_chunk_copied(reader, chunk)) {
        uint8_t *const kept = ts__reader_keep(reader, header->raw_size);
        if (kept) memcpy(kept, *payload, header->raw_size);
        if (!kept) fault = ts__no_memory;
        *payload = kept;
    }
    ts__mem_put(&reader->allocator, scratch.bytes, scratch.size);
    return fault;
}

static ts__fault ts__index_part_open(ts_reader *reader, ts__in_chunk *chunk,
                                     const uint8_t **payload)
{
    const ts_chunk_header *const header = &chunk->header;
    const ts__fault fault = ts__payload_keep(reader, chunk, payload);
    if (fault.result == TS_OK &&
        (header->raw_size < 16 ||
         (header->raw_size - 16) / sizeof *header < header->count))
        return ts__corrupt("the index is too short");
    return fault;
}

// Locates the pictures of a part: one for each of its events chunks, in order.
static bool ts__index_part_pictures(const uint8_t *payload,
                                    const ts_chunk_header *header)
{
    uint64_t events = 0;
    for (uint32_t i = 0; i < header->count; i++) {
        const uint8_t *const entry = payload + 16 + (size_t)i * sizeof *header;
        events += entry[offsetof(ts_chunk_header, kind)] == TS_CHUNK_EVENTS;
    }
    return header->raw_size == 16 + (uint64_t)header->count * sizeof *header +
                                   events * TS__LOD_BYTES;
}

// Collects at most `most` parts more, from the last to the first. They must be
// valid, and each must lie before the one that refers to it.
static ts_result ts__index_parts(ts_reader *reader, uint32_t most)
{
    ts__in_chunk chunk;
    const uint8_t *payload;
    for (uint32_t i = 0; i < most && reader->part_next; i++) {
        const uint64_t offset = reader->part_next;
        if (offset >= reader->part_limit || offset % 8 != 0 ||
            offset < sizeof(ts_file_header))
            return TS_ERR_CORRUPT;
        if (ts__in_chunk_check(reader, offset, &chunk).result != TS_OK ||
            chunk.header.kind != TS_CHUNK_INDEX)
            return TS_ERR_CORRUPT;
        const ts__fault fault = ts__index_part_open(reader, &chunk, &payload);
        if (fault.result != TS_OK) return fault.result;
        if (!ts__index_part_pictures(payload, &chunk.header))
            return TS_ERR_CORRUPT;
        if (!ts__index_part_add(reader, &chunk)) return TS_ERR_MEMORY;
        reader->parts[reader->part_count - 1].entries = payload + 16;
        reader->part_limit = offset;
        reader->part_next = ts__get64(payload);
    }
    if (reader->part_next) return TS_ERR_BUSY;
    return reader->part_count ? TS_OK : TS_ERR_NOT_FOUND;
}

// Begins with the last part, unless some parts are there already.
static void ts__index_parts_begin(ts_reader *reader, const ts__in_chunk *end)
{
    if (reader->parts_begun) return;
    reader->parts_begun = true;
    reader->part_next = end->header.first;
    reader->part_limit = reader->size;
}

// Takes the entries of a part; their chunks must be contiguous in the file.
static ts_result ts__index_take(ts_reader *reader, const ts__index_part *part)
{
    const uint8_t *lod =
        part->entries + (size_t)part->count * sizeof(ts_chunk_header);
    for (uint32_t i = 0; i < part->count; i++) {
        ts__in_chunk chunk = { .offset = reader->resume };
        ts_chunk_header *const header = &chunk.header;
        memcpy(header, part->entries + i * sizeof *header, sizeof *header);
        if (header->checksum != reader->resume ||
            header->magic != TS_CHUNK_MAGIC ||
            header->session != reader->session ||
            header->sequence != reader->sequence || ts__header_check(header))
            return TS_ERR_CORRUPT;
        reader->resume += ts__in_chunk_bytes(header);
        reader->sequence++;
        if (reader->resume > part->offset) return TS_ERR_CORRUPT;
        if (header->kind == TS_CHUNK_EVENTS) {
            chunk.lod = lod;
            lod += TS__LOD_BYTES;
        }
        if (!ts__in_chunk_add(reader, &chunk)) return TS_ERR_MEMORY;
    }
    return TS_OK;
}

// Steps over the chunk that must be here: a part of the index, or the end.
static bool ts__index_step(ts_reader *reader, uint64_t offset)
{
    ts__in_chunk chunk;
    if (offset != reader->resume ||
        ts__in_chunk_check(reader, offset, &chunk).result != TS_OK ||
        chunk.header.sequence != reader->sequence)
        return false;
    reader->resume += ts__in_chunk_bytes(&chunk.header);
    reader->sequence++;
    return true;
}

// Reads the index. On any error but TS_ERR_MEMORY the caller walks instead.
static ts_result ts__index_read(ts_reader *reader)
{
    ts__in_chunk end;
    if (reader->desc.no_index || reader->header_damaged ||
        !ts__index_end(reader, &end))
        return TS_ERR_NOT_FOUND;
    ts__index_parts_begin(reader, &end);
    ts_result result = ts__index_parts(reader, UINT32_MAX);
    for (size_t i = reader->part_count; result == TS_OK && i-- > 0;) {
        result = ts__index_take(reader, &reader->parts[i]);
        if (result == TS_OK && !ts__index_step(reader, reader->parts[i].offset))
            result = TS_ERR_CORRUPT;
    }
    if (result == TS_OK && !ts__index_step(reader, end.offset))
        result = TS_ERR_CORRUPT;
    return result;
}

static void ts__walk_reset(ts_reader *reader)
{
    reader->chunk_count = 0;
    reader->part_count = 0;
    reader->parts_begun = false;
    reader->parts_used = 0;
    reader->resume = sizeof(ts_file_header);
    reader->sequence = 0;
    reader->after_damage = false;
    reader->tail_damage = false;
    reader->search = 4 * reader->size + (UINT64_C(1) << 30);
}

// Fills the chunk table from the index if that is valid, else by a walk.
static ts_result ts__index_or_walk(ts_reader *reader)
{
    ts__walk_reset(reader);
    const ts_result result = ts__index_read(reader);
    if (result == TS_ERR_MEMORY) return result;
    if (result == TS_OK) {
        reader->info.indexed = true;
        reader->info.finished = true;
        reader->info.chunk_count = reader->chunk_count + reader->part_count + 1;
        reader->parts_used = reader->part_count;
        return TS_OK;
    }
    ts__walk_reset(reader);
    return ts__walk_on(reader);
}

static int ts__order_offset(const void *a, const void *b)
{
    const ts__in_chunk *const x = a, *const y = b;
    return ts__order_u64(x->offset, y->offset);
}

// Sets the pictures of the chunks that a part describes exactly.
static void ts__index_part_spread(ts_reader *reader, const uint8_t *payload,
                                  uint32_t count)
{
    const uint8_t *const entries = payload + 16;
    const uint8_t *lod = entries + (size_t)count * sizeof(ts_chunk_header);
    for (uint32_t i = 0; i < count; i++) {
        ts__in_chunk wanted;
        memcpy(&wanted.header, entries + i * sizeof wanted.header,
               sizeof wanted.header);
        if (wanted.header.kind != TS_CHUNK_EVENTS) continue;
        wanted.offset = wanted.header.checksum;
        ts__in_chunk *const chunk =
            bsearch(&wanted, reader->chunks, reader->chunk_count, sizeof wanted,
                    ts__order_offset);
        if (chunk && memcmp(&chunk->header, &wanted.header,
                            offsetof(ts_chunk_header, checksum)) == 0)
            chunk->lod = lod;
        lod += TS__LOD_BYTES;
    }
}

// Takes the pictures from the index parts that a walk has found.
static ts_result ts__index_pictures(ts_reader *reader)
{
    ts__in_chunk part;
    const uint8_t *payload;
    for (; reader->parts_used < reader->part_count; reader->parts_used++) {
        const uint64_t offset = reader->parts[reader->parts_used].offset;
        ts__in_chunk_check(reader, offset, &part);
        ts__fault fault = ts__index_part_open(reader, &part, &payload);
        if (fault.result == TS_OK &&
            !ts__index_part_pictures(payload, &part.header))
            fault = ts__corrupt("the index has the wrong size");
        if (fault.result == TS_OK)
            ts__index_part_spread(reader, payload, part.header.count);
        else if (ts__in_chunk_report(reader, &part, fault) == TS_ERR_MEMORY)
            return TS_ERR_MEMORY;
    }
    return TS_OK;
}

// Reads the index or walks, after an open with the top alone. Dictionaries are
// loaded already.
static ts_result ts__table_read(ts_reader *reader)
{
    const bool begun = reader->parts_begun;
    const size_t parts = reader->part_count;
    ts__walk_reset(reader);
    reader->parts_begun = begun;
    reader->part_count = parts;
    ts_result result = ts__index_read(reader);
    if (result == TS_ERR_MEMORY) return result;
    if (result == TS_OK) {
        reader->parts_used = reader->part_count;
    } else {
        ts__walk_reset(reader);
        reader->info.chunk_count = 0;
        result = ts__walk_on(reader);
    }
    if (result == TS_OK) result = ts__index_pictures(reader);
    if (result == TS_OK) reader->loaded = reader->chunk_count;
    if (result != TS_OK) reader->chunk_count = 0;
    return result;
}

// Reads at most `most` parts more, but one at least; TS_ERR_BUSY if more are
// left. The table is made of them when all are there, or cannot be read.
static ts_result ts__table_advance(ts_reader *reader, uint32_t most)
{
    ts__in_chunk end;
    if (!most) most = 1; // else it would never end
    if (most != UINT32_MAX && ts__index_end(reader, &end)) {
        ts__index_parts_begin(reader, &end);
        const ts_result result = ts__index_parts(reader, most);
        if (result == TS_ERR_BUSY || result == TS_ERR_MEMORY) return result;
    }
    const ts_result result = ts__table_read(reader);
    if (result == TS_OK) // release: pairs with the acquire in ts__index_advance
        __atomic_store_n(&reader->top.table_read, 1, __ATOMIC_RELEASE);
    return result;
}

static ts_result ts__index_advance(const ts_reader *user, uint32_t most)
{
    ts_reader *const reader = (ts_reader *)(uintptr_t)user;
    ts_result result = TS_OK;
    // acquire: pairs with the release in ts__table_advance
    if (!reader->top.used ||
        __atomic_load_n(&reader->top.table_read, __ATOMIC_ACQUIRE))
        return TS_OK;
    ts__mutex_take(&reader->table_lock);
    if (!__atomic_load_n(&reader->top.table_read, __ATOMIC_RELAXED))
        result = ts__table_advance(reader, most);
    ts__mutex_give(&reader->table_lock);
    return result;
}

TS_API ts_result ts_reader_index(const ts_reader *reader)
{
    return ts__index_advance(reader, UINT32_MAX);
}

TS_API ts_result ts_reader_index_parts(const ts_reader *reader, uint32_t most)
{
    return ts__index_advance(reader, most);
}
