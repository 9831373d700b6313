/* ---- Reader: walking from chunk to chunk -------------------------------- */

/*
    A walk finds the chunks of a file without its index. It hops from header to
    header, verifies the checksums of the chunks found in parallel, and takes
    them up to the first invalid one. There it searches for the next valid
    chunk. The length of a hop starts at 1 after each damage and doubles, so
    that little work is repeated; it does not depend on the number of threads.
*/
enum { TS__HOP_MAX = 4096 };

// Verifies one of the chunks of the last hop, which lie behind the table.
static void ts__walk_verify(void *user, size_t item, uint32_t thread)
{
    const ts_reader *const reader = user;
    (void)thread;
    ts__in_chunk_verify_once(reader,
                             &reader->chunks[reader->chunk_count + item]);
}

// Returns the next offset at which a chunk may begin, from an offset that is a
// multiple of 8; the size of the file if there is none.
static uint64_t ts__walk_magic(const ts_reader *reader, uint64_t offset)
{
    uint8_t block[16 << 10];
    while (offset + 8 <= reader->size) {
        const uint64_t left = (reader->size - offset) & ~UINT64_C(7);
        const size_t size = left < sizeof block ? (size_t)left : sizeof block;
        if (ts__read_at(reader, offset, block, size).result != TS_OK) break;
        for (size_t i = 0; i < size; i += 8)
            if (ts__get32(block + i) == TS_CHUNK_MAGIC) return offset + i;
        offset += size;
    }
    return reader->size;
}

// Returns the offset of the next valid chunk behind an offset; the size of the
// file if there is none.
static uint64_t ts__walk_search(ts_reader *reader, uint64_t offset)
{
    ts__in_chunk chunk;
    for (;;) {
        offset = ts__walk_magic(reader, offset + 8);
        if (offset == reader->size) break;
        if (ts__in_chunk_check(reader, offset, &chunk).result != TS_OK)
            continue;
        if (chunk.header.sequence < reader->sequence) continue;
        // A budget, as a hostile file could have itself hashed once for every
        // 64 bytes.
        if (chunk.header.stored_size > reader->search) break;
        reader->search -= chunk.header.stored_size;
        if (ts__in_chunk_verify_once(reader, &chunk).result == TS_OK)
            return offset;
    }
    return reader->size;
}

// Appends up to `limit` chunks with plausible headers; *hopped: their number.
static ts_result ts__walk_hop(ts_reader *reader, size_t limit, size_t *hopped)
{
    uint64_t offset = reader->resume;
    ts__in_chunk chunk;
    *hopped = 0;
    while (*hopped < limit && offset < reader->size) {
        if (ts__in_chunk_check(reader, offset, &chunk).result != TS_OK) break;
        if (!ts__in_chunk_add(reader, &chunk)) return TS_ERR_MEMORY;
        offset += ts__in_chunk_bytes(&chunk.header);
        ++*hopped;
    }
    return TS_OK;
}

static bool ts__index_part_add(ts_reader *reader, const ts__in_chunk *chunk)
{
    ts__index_part *const parts =
        ts__mem_more(&reader->allocator, reader->parts, &reader->part_capacity,
                     reader->part_count, sizeof *parts);
    if (!parts) return false;
    const ts__index_part part = { chunk->offset, NULL, chunk->header.count };
    reader->parts = parts;
    parts[reader->part_count++] = part;
    return true;
}

// Takes a valid chunk into the table, or as a part of the index.
static ts_result ts__walk_take(ts_reader *reader, const ts__in_chunk *chunk)
{
    const ts_chunk_header *const header = &chunk->header;
    const char *odd = NULL;
    if (header->sequence > reader->sequence && !reader->after_damage)
        odd = "chunks are missing before this one";
    if (reader->info.finished) odd = "the trace continues after its end";
    reader->info.finished = false;
    if (odd && !ts__damage_note(reader, ts__corrupt(odd), chunk->offset, 0))
        return TS_ERR_MEMORY;
    if (header->kind == TS_CHUNK_INDEX && !ts__index_part_add(reader, chunk))
        return TS_ERR_MEMORY;
    reader->after_damage = false;
    reader->sequence = (uint64_t)header->sequence + 1;
    reader->resume = chunk->offset + ts__in_chunk_bytes(header);
    reader->info.chunk_count++;
    if (header->kind == TS_CHUNK_END) {
        if (reader->info.live) reader->info.salvage = TS_OK;
        reader->info.finished = true;
        reader->info.live = false;
    }
    if (header->kind != TS_CHUNK_INDEX && header->kind != TS_CHUNK_END)
        reader->chunks[reader->chunk_count++] = *chunk;
    return TS_OK;
}

// Takes the valid chunks of a hop. The end of the table never overtakes the
// chunk that is read.
static ts_result ts__walk_batch(ts_reader *reader, size_t limit, bool *all)
{
    const size_t first = reader->chunk_count;
    size_t hopped = 0, taken = 0;
    ts_result result = ts__walk_hop(reader, limit, &hopped);
    reader->chunk_count = first;
    if (result != TS_OK) return result;
    ts__crew_run(reader->threads, hopped, ts__walk_verify, reader);
    while (taken < hopped && result == TS_OK) {
        const ts__in_chunk chunk = reader->chunks[first + taken];
        if (!(chunk.state & TS__CHUNK_VERIFIED)) break;
        if (chunk.header.sequence < reader->sequence) break;
        result = ts__walk_take(reader, &chunk);
        taken++;
    }
    *all = hopped > 0 && taken == hopped;
    return result;
}

static ts__fault ts__walk_fault(const ts_reader *reader)
{
    ts__in_chunk chunk;
    ts__fault fault = ts__in_chunk_check(reader, reader->resume, &chunk);
    if (fault.result == TS_OK && chunk.header.sequence < reader->sequence)
        return ts__corrupt("the chunk is at the wrong offset");
    if (fault.result == TS_OK) fault = ts__in_chunk_verify_once(reader, &chunk);
    return fault;
}

// Finds the next valid chunk and reports the damage before it. At the end of a
// live trace that may be a chunk which is just being written.
static ts_result ts__walk_skip_damage(ts_reader *reader)
{
    const uint64_t offset = reader->resume;
    ts__fault fault = ts__walk_fault(reader);
    const uint64_t next = ts__walk_search(reader, offset);
    const bool tail = next == reader->size;
    if (tail && reader->info.live) return TS_ERR_TRUNCATED;
    if (!tail && fault.result == TS_ERR_TRUNCATED)
        fault = ts__corrupt("the chunk's size is wrong");
    if (!ts__damage_note(reader, fault, offset, next - offset))
        return TS_ERR_MEMORY;
    reader->after_damage = true;
    reader->tail_damage = tail;
    if (tail) return TS_ERR_TRUNCATED;
    reader->resume = next;
    return TS_OK;
}

// Walks from reader->resume to the end of the file.
static ts_result ts__walk_on(ts_reader *reader)
{
    size_t limit = 1;
    while (reader->resume < reader->size) {
        bool all;
        const uint64_t before = reader->resume;
        ts_result result = ts__walk_batch(reader, limit, &all);
        if (result != TS_OK) return result;
        limit = limit < TS__HOP_MAX ? limit * 2 : TS__HOP_MAX;
        if (all && reader->resume > before) continue;
        result = ts__walk_skip_damage(reader);
        if (result == TS_ERR_TRUNCATED) return TS_OK;
        if (result != TS_OK) return result;
        limit = 1;
    }
    return TS_OK;
}
