/* ---- 10.4 Bytes of the trace -------------------------------------------- */

static bool ts__map_keep(ts_reader *reader, void *address, size_t size,
                         bool mapped)
{
    ts__map *const map = ts__mem_get(&reader->allocator, sizeof *map);
    if (!map) return false;
    const ts__map made = { reader->maps, address, size, mapped };
    *map = made;
    reader->maps = map;
    return true;
}

// Maps at least `size` bytes. What lies behind the end of the file is mapped
// for later and not touched before the file has grown there.
static ts_result ts__map_file(ts_reader *reader, uint64_t size,
                              uint64_t reserve)
{
    if (reserve > SIZE_MAX / 2) return TS_ERR_MEMORY;
    if (!reader->maps || reader->maps->size < size) {
        const size_t length = (size_t)reserve;
        void *const address =
            mmap(NULL, length, PROT_READ, MAP_SHARED, reader->fd, 0);
        if (address == MAP_FAILED) return TS_ERR_IO;
        if (!ts__map_keep(reader, address, length, true)) {
            munmap(address, length);
            return TS_ERR_MEMORY;
        }
    }
    reader->bytes = reader->maps->address;
    reader->size = size;
    return TS_OK;
}

// A pipe cannot be mapped: its bytes are collected.
static ts_result ts__map_pipe(ts_reader *reader)
{
    uint8_t *bytes = NULL;
    size_t count = 0, capacity = 0;
    ts_result result = TS_OK;
    for (;;) {
        uint8_t *const more =
            ts__mem_more(&reader->allocator, bytes, &capacity, count, 1);
        if (!more) {
            result = TS_ERR_MEMORY;
            break;
        }
        bytes = more;
        const ssize_t got = read(reader->fd, bytes + count, capacity - count);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) result = TS_ERR_IO;
        if (got <= 0) break;
        count += (size_t)got;
    }
    if (result == TS_OK && !ts__map_keep(reader, bytes, capacity, false))
        result = TS_ERR_MEMORY;
    if (result != TS_OK) ts__mem_put(&reader->allocator, bytes, capacity);
    reader->bytes = bytes;
    reader->size = count;
    close(reader->fd);
    reader->fd = -1; // there is no more to come
    return result;
}

// Whether it is a pipe without a name, such as a shell's <(...), which has a
// writer. Others may have made one with a name, and nobody ever writes to it.
static bool ts__is_shell_pipe(int fd, const struct stat *file)
{
    struct statfs fs; // f_type: statfs(2)
    return S_ISFIFO(file->st_mode) && fstatfs(fd, &fs) == 0 &&
           fs.f_type == 0x50495045 /* PIPEFS_MAGIC */ &&
           fcntl(fd, F_SETFL, 0) == 0; // it may be waited for
}

static ts_result ts__map_path(ts_reader *reader)
{
    struct stat file;
    reader->fd =
        open(reader->path, O_RDONLY | (TS__OPEN_STRANGE & ~O_NOFOLLOW));
    if (reader->fd < 0 || fstat(reader->fd, &file) != 0) return TS_ERR_IO;
    if (ts__is_shell_pipe(reader->fd, &file)) return ts__map_pipe(reader);
    if (!S_ISREG(file.st_mode)) return TS_ERR_NOT_FILE;
    if (file.st_size == 0) return TS_ERR_TRUNCATED;
    return ts__map_file(reader, (uint64_t)file.st_size, (uint64_t)file.st_size);
}

/* ---- 10.5 Chunks -------------------------------------------------------- */

static const ts__fault ts__cut_short = { TS_ERR_TRUNCATED,
                                         "the file ends inside a chunk" };

// What a header may claim whatever the file holds.
static const char *ts__header_check(const ts_chunk_header *header)
{
    const uint32_t raw_max =
        header->kind == TS_CHUNK_BLOB ? UINT32_MAX - 15 : TS_CHUNK_BYTES_MAX;
    if (header->flags & TS_CHUNK_RESERVED || header->reserved)
        return "a reserved bit of the chunk is set";
    if (header->count > TS_CHUNK_COUNT_MAX || header->raw_size > raw_max)
        return "the chunk claims to be larger than any may be";
    if (!(header->flags & TS_CHUNK_ZSTD) &&
        header->stored_size != header->raw_size)
        return "the chunk's two sizes contradict each other";
    if (header->kind == TS_CHUNK_EVENTS &&
        header->last - header->first > INT64_MAX)
        return "the chunk ends before it begins";
    if (header->kind == TS_CHUNK_END && header->stored_size)
        return "the end chunk is not empty";
    return NULL;
}

// Reads the header at an offset and checks all but the checksum.
static ts__fault ts__in_chunk_check(const ts_reader *reader, uint64_t offset,
                                    ts__in_chunk *chunk)
{
    const uint64_t left = reader->size - offset;
    const ts_chunk_header *const header = &chunk->header;
    memset(chunk, 0, sizeof *chunk);
    chunk->offset = offset;
    if (left < sizeof *header) return ts__cut_short;
    memcpy(&chunk->header, reader->bytes + offset, sizeof *header);
    if (header->magic != TS_CHUNK_MAGIC)
        return ts__corrupt("no chunk begins here");
    if (reader->session_known && header->session != reader->session)
        return ts__corrupt("the chunk belongs to another session");
    const char *const text = ts__header_check(header);
    if (text) return ts__corrupt(text);
    return ts__in_chunk_bytes(header) > left ? ts__cut_short : ts__fine;
}

// Checks the checksum and the padding. The chunk lies inside the file.
static ts__fault ts__in_chunk_unseal(const ts_reader *reader,
                                     ts__in_chunk *chunk)
{
    const uint8_t *const bytes = reader->bytes + chunk->offset;
    const uint8_t *const payload = bytes + sizeof(ts_chunk_header);
    const size_t checked = offsetof(ts_chunk_header, checksum);
    const size_t size = chunk->header.stored_size;
    if (__atomic_load_n(&chunk->state, __ATOMIC_RELAXED) & TS__CHUNK_SEALED)
        return ts__fine;
    if (memcmp(bytes, &chunk->header, checked) != 0)
        return ts__corrupt("the index describes another chunk");
    const uint64_t seed = XXH3_64bits(bytes, checked);
    if (XXH3_64bits_withSeed(payload, size, seed) != ts__get64(bytes + checked))
        return ts__corrupt("the chunk's checksum is wrong");
    for (size_t i = size; i < ts__pad8(size); i++)
        if (payload[i]) return ts__corrupt("the chunk's padding is not zero");
    __atomic_or_fetch(&chunk->state, TS__CHUNK_SEALED, __ATOMIC_RELAXED);
    return ts__fine;
}

// Memory for the payload of a compressed chunk; grows as needed.
typedef struct ts__scratch {
    uint8_t *bytes;
    size_t size;
} ts__scratch;

#ifdef TRACESMITH_ZSTD
static bool ts__scratch_fit(const ts_allocator *allocator, ts__scratch *scratch,
                            size_t size)
{
    if (size <= scratch->size) return true;
    ts__mem_put(allocator, scratch->bytes, scratch->size);
    scratch->bytes = ts__mem_get(allocator, size);
    scratch->size = scratch->bytes ? size : 0;
    return scratch->bytes != NULL;
}

static ts__fault ts__in_chunk_inflate(const ts_reader *reader,
                                      const ts__in_chunk *chunk,
                                      ts__scratch *scratch)
{
    const ts_chunk_header *const header = &chunk->header;
    const uint8_t *const payload =
        reader->bytes + chunk->offset + sizeof *header;
    const size_t room = (size_t)ts__pad8(header->raw_size);
    const size_t work = ZSTD_estimateDCtxSize();
    if (ZSTD_getFrameContentSize(payload, header->stored_size) !=
        header->raw_size)
        return ts__corrupt("the compressed chunk has another size");
    if (header->raw_size > reader->desc.inflate_bytes) return ts__too_large;
    if (!ts__scratch_fit(&reader->allocator, scratch, room + work))
        return ts__no_memory;
    ZSTD_DCtx *const context = ZSTD_initStaticDCtx(scratch->bytes + room, work);
    if (!context) return ts__no_memory;
    const size_t got =
        ZSTD_decompressDCtx(context, scratch->bytes, header->raw_size, payload,
                            header->stored_size);
    return got == header->raw_size
               ? ts__fine
               : ts__corrupt("the chunk cannot be decompressed");
}

enum { TS__ZSTD_BLOCK = 128 << 10 }; // bytes that one gives, at most

// The first bytes of a compressed payload, whatever size all of it has: blocks
// are inflated one by one until there are enough. room: for one beyond `size`.
static bool ts__inflate_some(ZSTD_DCtx *context, uint8_t *to, size_t size,
                             const uint8_t *from, size_t left)
{
    size_t have = 0, next;
    if (ZSTD_isError(ZSTD_decompressBegin(context))) return false;
    while (have < size && (next = ZSTD_nextSrcSizeToDecompress(context))) {
        if (next > left) return false;
        const size_t got = ZSTD_decompressContinue(
            context, to + have, size + TS__ZSTD_BLOCK - have, from, next);
        if (ZSTD_isError(got)) return false;
        have += got;
        from += next;
        left -= next;
    }
    return have >= size;
}

static ts__fault ts__in_chunk_begin(const ts_reader *reader,
                                    const ts__in_chunk *chunk, uint8_t *bytes,
                                    size_t size)
{
    const ts_chunk_header *const header = &chunk->header;
    const uint8_t *const payload =
        reader->bytes + chunk->offset + sizeof *header;
    const size_t room = (size_t)ts__pad8(size + TS__ZSTD_BLOCK);
    const size_t work = ZSTD_estimateDCtxSize();
    ts__scratch scratch = { NULL, 0 };
    if (ZSTD_getFrameContentSize(payload, header->stored_size) !=
        header->raw_size)
        return ts__corrupt("the compressed chunk has another size");
    if (!ts__scratch_fit(&reader->allocator, &scratch, room + work))
        return ts__no_memory;
    ZSTD_DCtx *const context = ZSTD_initStaticDCtx(scratch.bytes + room, work);
    const bool ok = context && ts__inflate_some(context, scratch.bytes, size,
                                                payload, header->stored_size);
    if (ok) memcpy(bytes, scratch.bytes, size);
    ts__mem_put(&reader->allocator, scratch.bytes, scratch.size);
    return ok ? ts__fine : ts__corrupt("the chunk cannot be decompressed");
}
#endif

// Gives a chunk's raw_size bytes once its checksum was right.
static ts__fault ts__in_chunk_payload(const ts_reader *reader,
                                      ts__in_chunk *chunk, ts__scratch *scratch,
                                      const uint8_t **payload)
{
    const ts__fault fault = ts__in_chunk_unseal(reader, chunk);
    if (fault.result != TS_OK) return fault;
    *payload = reader->bytes + chunk->offset + sizeof(ts_chunk_header);
    if (!(chunk->header.flags & TS_CHUNK_ZSTD)) return ts__fine;
#ifdef TRACESMITH_ZSTD
    const ts__fault inflated = ts__in_chunk_inflate(reader, chunk, scratch);
    *payload = scratch->bytes;
    return inflated;
#else
    (void)scratch;
    const ts__fault unsupported = {
        TS_ERR_UNSUPPORTED, "the chunk is compressed and this build has no zstd"
    };
    return unsupported;
#endif
}

// Copies the first bytes of a payload that has so many, of a compressed one
// without inflating the others.
static ts__fault ts__in_chunk_first(const ts_reader *reader,
                                    ts__in_chunk *chunk, uint8_t *bytes,
                                    size_t size)
{
#ifdef TRACESMITH_ZSTD
    if (chunk->header.flags & TS_CHUNK_ZSTD) {
        const ts__fault fault = ts__in_chunk_unseal(reader, chunk);
        return fault.result == TS_OK
                   ? ts__in_chunk_begin(reader, chunk, bytes, size)
                   : fault;
    }
#endif
    ts__scratch none = { NULL, 0 };
    const uint8_t *payload = NULL;
    const ts__fault fault =
        ts__in_chunk_payload(reader, chunk, &none, &payload);
    if (fault.result == TS_OK) memcpy(bytes, payload, size);
    return fault;
}

static ts__in_chunk *ts__in_chunk_add(ts_reader *reader,
                                      const ts__in_chunk *chunk)
{
    ts__in_chunk *const chunks = ts__mem_more(
        &reader->allocator, reader->chunks, &reader->chunk_capacity,
        reader->chunk_count, sizeof *chunks);
    if (!chunks) return NULL;
    reader->chunks = chunks;
    chunks[reader->chunk_count] = *chunk;
    return &chunks[reader->chunk_count++];
}

/* ---- 10.6 Walking ------------------------------------------------------- */

/*
    Hops from header to header, checks the checksums of what it met in
    parallel, and takes the chunks up to the first that is not valid; there
    it searches on. How far it hops at once doubles from 1 after each damage,
    so that little work is done twice, and does not depend on threads.
*/
enum { TS__HOP_MAX = 4096 };

// For the chunks that were hopped to: they stand behind the table.
static void ts__walk_unseal(void *user, size_t item, uint32_t thread)
{
    const ts_reader *const reader = user;
    (void)thread;
    ts__in_chunk_unseal(reader, &reader->chunks[reader->chunk_count + item]);
}

// The next valid chunk behind an offset; the size of the file if none.
static uint64_t ts__walk_search(ts_reader *reader, uint64_t offset)
{
    ts__in_chunk chunk;
    for (offset += 8; offset + 8 <= reader->size; offset += 8) {
        if (ts__get32(reader->bytes + offset) != TS_CHUNK_MAGIC) continue;
        if (ts__in_chunk_check(reader, offset, &chunk).result != TS_OK)
            continue;
        if (chunk.header.sequence < reader->sequence) continue;
        // A hostile file could make us hash it once for every 64 bytes.
        if (chunk.header.stored_size > reader->search) break;
        reader->search -= chunk.header.stored_size;
        if (ts__in_chunk_unseal(reader, &chunk).result == TS_OK) return offset;
    }
    return reader->size;
}

// Appends up to `limit` chunks that look right; returns their count.
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

static bool ts__part_add(ts_reader *reader, const ts__in_chunk *chunk)
{
    ts__part *const parts =
        ts__mem_more(&reader->allocator, reader->parts, &reader->part_capacity,
                     reader->part_count, sizeof *parts);
    if (!parts) return false;
    const ts__part part = { chunk->offset, NULL, chunk->header.count };
    reader->parts = parts;
    parts[reader->part_count++] = part;
    return true;
}

// Takes a valid chunk: into the table, or as a part of the index.
static ts_result ts__walk_take(ts_reader *reader, const ts__in_chunk *chunk)
{
    const ts_chunk_header *const header = &chunk->header;
    const char *odd = NULL;
    if (header->sequence > reader->sequence && !reader->after_damage)
        odd = "chunks are missing before this one";
    if (reader->info.finished) odd = "the trace goes on after its end";
    reader->info.finished = false;
    if (odd && !ts__damage_note(reader, ts__corrupt(odd), chunk->offset, 0))
        return TS_ERR_MEMORY;
    if (header->kind == TS_CHUNK_INDEX && !ts__part_add(reader, chunk))
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

// Takes the hopped chunks that are valid. The end of the table, which follows,
// never overtakes them.
static ts_result ts__walk_batch(ts_reader *reader, size_t limit, bool *all)
{
    const size_t first = reader->chunk_count;
    size_t hopped = 0, taken = 0;
    ts_result result = ts__walk_hop(reader, limit, &hopped);
    reader->chunk_count = first;
    if (result != TS_OK) return result;
    ts__crew_run(reader->threads, hopped, ts__walk_unseal, reader);
    while (taken < hopped && result == TS_OK) {
        const ts__in_chunk chunk = reader->chunks[first + taken];
        if (!(chunk.state & TS__CHUNK_SEALED)) break;
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
        return ts__corrupt("the chunk stands at the wrong place");
    if (fault.result == TS_OK) fault = ts__in_chunk_unseal(reader, &chunk);
    return fault;
}

// Finds the next valid chunk and notes what lies before it. At the end of a
// live trace this is a chunk that is just being written.
static ts_result ts__walk_mend(ts_reader *reader)
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
        result = ts__walk_mend(reader);
        if (result == TS_ERR_TRUNCATED) return TS_OK;
        if (result != TS_OK) return result;
        limit = 1;
    }
    return TS_OK;
}

/* ---- 10.7 Index --------------------------------------------------------- */

// The end chunk, if the file has one where it belongs.
static bool ts__index_end(ts_reader *reader, ts__in_chunk *end)
{
    const uint64_t header_bytes = sizeof(ts_file_header);
    if (reader->size < header_bytes + sizeof(ts_chunk_header)) return false;
    const uint64_t offset = reader->size - sizeof(ts_chunk_header);
    return offset % 8 == 0 &&
           ts__in_chunk_check(reader, offset, end).result == TS_OK &&
           end->header.kind == TS_CHUNK_END &&
           ts__in_chunk_unseal(reader, end).result == TS_OK;
}

enum { TS__LOD_BYTES = TS_LOD_CELLS * 8 };

// Gets at the payload of a part of the index, uncompressed.
static ts__fault ts__part_open(ts_reader *reader, ts__in_chunk *chunk,
                               const uint8_t **payload)
{
    ts__scratch scratch = { NULL, 0 };
    const ts_chunk_header *const header = &chunk->header;
    ts__fault fault = ts__in_chunk_payload(reader, chunk, &scratch, payload);
    if (fault.result == TS_OK &&
        (header->raw_size < 16 ||
         (header->raw_size - 16) / sizeof *header < header->count))
        fault = ts__corrupt("the index is too short");
    if (fault.result == TS_OK && scratch.bytes) {
        uint8_t *const kept = ts__reader_keep(reader, header->raw_size);
        if (kept) memcpy(kept, *payload, header->raw_size);
        if (!kept) fault = ts__no_memory;
        *payload = kept;
    }
    ts__mem_put(&reader->allocator, scratch.bytes, scratch.size);
    return fault;
}

// The pictures of a part's chunks: one for each events chunk, in order.
static bool ts__part_pictures(const uint8_t *payload,
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

// Collects the parts from the last to the first. They must be valid and go
// strictly backwards.
static ts_result ts__index_parts(ts_reader *reader, uint64_t offset)
{
    ts__in_chunk chunk;
    const uint8_t *payload;
    uint64_t limit = reader->size;
    while (offset) {
        if (offset >= limit || offset % 8 != 0 ||
            offset < sizeof(ts_file_header))
            return TS_ERR_CORRUPT;
        if (ts__in_chunk_check(reader, offset, &chunk).result != TS_OK ||
            chunk.header.kind != TS_CHUNK_INDEX)
            return TS_ERR_CORRUPT;
        const ts__fault fault = ts__part_open(reader, &chunk, &payload);
        if (fault.result != TS_OK) return fault.result;
        if (!ts__part_pictures(payload, &chunk.header)) return TS_ERR_CORRUPT;
        if (!ts__part_add(reader, &chunk)) return TS_ERR_MEMORY;
        reader->parts[reader->part_count - 1].entries = payload + 16;
        limit = offset;
        offset = ts__get64(payload);
    }
    return reader->part_count ? TS_OK : TS_ERR_NOT_FOUND;
}

// Takes a part's entries, which must stand in the file without a gap.
static ts_result ts__index_take(ts_reader *reader, const ts__part *part)
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

// Steps over a chunk that must stand here: a part of the index, or the end.
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

// TS_ERR_CORRUPT and others: do not trust the index, walk.
static ts_result ts__index_read(ts_reader *reader)
{
    ts__in_chunk end;
    if (reader->desc.no_index || reader->header_damaged ||
        !ts__index_end(reader, &end))
        return TS_ERR_NOT_FOUND;
    ts_result result = ts__index_parts(reader, end.header.first);
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
    reader->parts_used = 0;
    reader->resume = sizeof(ts_file_header);
    reader->sequence = 0;
    reader->after_damage = false;
    reader->tail_damage = false;
    reader->search = 4 * reader->size + (UINT64_C(1) << 30);
}

// Fills the chunk table, by the index if that can be trusted.
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

// Gives the chunks that a part describes exactly their pictures.
static void ts__part_spread(ts_reader *reader, const uint8_t *payload,
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

// After a walk: the pictures of the parts of an index that it met.
static ts_result ts__index_pictures(ts_reader *reader)
{
    ts__in_chunk part;
    const uint8_t *payload;
    for (; reader->parts_used < reader->part_count; reader->parts_used++) {
        const uint64_t offset = reader->parts[reader->parts_used].offset;
        ts__in_chunk_check(reader, offset, &part);
        ts__fault fault = ts__part_open(reader, &part, &payload);
        if (fault.result == TS_OK && !ts__part_pictures(payload, &part.header))
            fault = ts__corrupt("the index has the wrong size");
        if (fault.result == TS_OK)
            ts__part_spread(reader, payload, part.header.count);
        else if (ts__in_chunk_report(reader, &part, fault) == TS_ERR_MEMORY)
            return TS_ERR_MEMORY;
    }
    return TS_OK;
}
