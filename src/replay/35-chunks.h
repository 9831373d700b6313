/* ---- 10.4 Bytes of the trace -------------------------------------------- */

/*
    A file is read into memory of our own and never mapped: whoever owns it
    may change it meanwhile, and cut it short, which kills a process that looks
    at a page which is gone. What was checked is a copy that nobody changes.
*/
static bool ts__read_at(const ts_reader *reader, uint64_t offset, void *to,
                        size_t size)
{
    uint8_t *const bytes = to;
    if (reader->bytes) {
        memcpy(bytes, reader->bytes + offset, size);
        return true;
    }
    for (size_t have = 0; have < size;) {
        const ssize_t got = pread(reader->fd, bytes + have, size - have,
                                  (off_t)(offset + have));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        have += (size_t)got;
    }
    return true;
}

// A pipe is read once: its bytes are collected.
static ts_result ts__pipe_read(ts_reader *reader)
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
    reader->bytes = reader->piped = bytes;
    reader->piped_size = capacity;
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

static ts_result ts__path_open(ts_reader *reader)
{
    struct stat file;
    reader->fd =
        open(reader->path, O_RDONLY | (TS__OPEN_STRANGE & ~O_NOFOLLOW));
    if (reader->fd < 0 || fstat(reader->fd, &file) != 0) return TS_ERR_IO;
    if (ts__is_shell_pipe(reader->fd, &file)) return ts__pipe_read(reader);
    if (!S_ISREG(file.st_mode)) return TS_ERR_NOT_FILE;
    if (file.st_size == 0) return TS_ERR_TRUNCATED;
    reader->size = (uint64_t)file.st_size;
    return TS_OK;
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
    if (!ts__read_at(reader, offset, &chunk->header, sizeof *header))
        return ts__cut_short;
    if (header->magic != TS_CHUNK_MAGIC)
        return ts__corrupt("no chunk begins here");
    if (reader->session_known && header->session != reader->session)
        return ts__corrupt("the chunk belongs to another session");
    const char *const text = ts__header_check(header);
    if (text) return ts__corrupt(text);
    return ts__in_chunk_bytes(header) > left ? ts__cut_short : ts__fine;
}

// Memory for the payload of a chunk; grows as needed.
typedef struct ts__scratch {
    uint8_t *bytes;
    size_t size;
} ts__scratch;

// What was in it stays.
static bool ts__scratch_fit(const ts_reader *reader, ts__scratch *scratch,
                            size_t size)
{
    const ts_allocator *const a = &reader->allocator;
    if (size <= scratch->size) return true;
    uint8_t *const bytes =
        a->resize(a->user, scratch->bytes, scratch->size, size);
    if (!bytes) return false;
    scratch->bytes = bytes;
    scratch->size = size;
    return true;
}

// Checks a chunk's header as it stands in the file, the checksum and the
// padding, which follows the payload.
static ts__fault ts__in_chunk_verify(const ts__in_chunk *chunk,
                                     const uint8_t *head, uint64_t hash,
                                     const uint8_t *padding)
{
    const size_t size = chunk->header.stored_size;
    const size_t checked = offsetof(ts_chunk_header, checksum);
    if (memcmp(head, &chunk->header, checked) != 0)
        return ts__corrupt("the index describes another chunk");
    if (hash != ts__get64(head + checked))
        return ts__corrupt("the chunk's checksum is wrong");
    for (size_t i = 0; i < ts__pad8(size) - size; i++)
        if (padding[i]) return ts__corrupt("the chunk's padding is not zero");
    return ts__fine;
}

static uint64_t ts__in_chunk_seed(const uint8_t *head)
{
    return XXH3_64bits(head, offsetof(ts_chunk_header, checksum));
}

// The same of a chunk whose bytes, all of them, lie in memory.
static ts__fault ts__in_chunk_verify_bytes(const ts__in_chunk *chunk,
                                           const uint8_t *bytes)
{
    const uint8_t *const payload = bytes + sizeof(ts_chunk_header);
    const size_t size = chunk->header.stored_size;
    return ts__in_chunk_verify(
        chunk, bytes,
        XXH3_64bits_withSeed(payload, size, ts__in_chunk_seed(bytes)),
        payload + size);
}

// The same of a chunk of the file, a block at a time: a file with holes may
// say that a chunk has any size.
static ts__fault ts__in_chunk_verify_file(const ts_reader *reader,
                                          const ts__in_chunk *chunk)
{
    uint8_t head[sizeof(ts_chunk_header)], block[16 << 10], padding[8];
    uint64_t left = chunk->header.stored_size, at = chunk->offset;
    const size_t pad = ts__pad8((size_t)left) - (size_t)left;
    XXH3_state_t state;
    if (!ts__read_at(reader, at, head, sizeof head)) return ts__cut_short;
    at += sizeof head;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset_withSeed(&state, ts__in_chunk_seed(head));
    while (left) {
        const size_t size = left < sizeof block ? (size_t)left : sizeof block;
        if (!ts__read_at(reader, at, block, size)) return ts__cut_short;
        XXH3_64bits_update(&state, block, size);
        at += size;
        left -= size;
    }
    if (!ts__read_at(reader, at, padding, pad)) return ts__cut_short;
    return ts__in_chunk_verify(chunk, head, XXH3_64bits_digest(&state),
                               padding);
}

// Checks all of a chunk that was not checked before. It lies inside the file.
static ts__fault ts__in_chunk_unseal(const ts_reader *reader,
                                     ts__in_chunk *chunk)
{
    if (__atomic_load_n(&chunk->state, __ATOMIC_RELAXED) & TS__CHUNK_SEALED)
        return ts__fine;
    const ts__fault fault =
        reader->bytes
            ? ts__in_chunk_verify_bytes(chunk, reader->bytes + chunk->offset)
            : ts__in_chunk_verify_file(reader, chunk);
    if (fault.result == TS_OK)
        __atomic_or_fetch(&chunk->state, TS__CHUNK_SEALED, __ATOMIC_RELAXED);
    return fault;
}

// Gives a chunk's stored bytes once its checksum was right. Those of a file
// are read, and checked, each time: they are the first ones of `scratch` then.
static ts__fault ts__in_chunk_stored(const ts_reader *reader,
                                     ts__in_chunk *chunk, ts__scratch *scratch,
                                     const uint8_t **stored)
{
    const size_t size = (size_t)ts__in_chunk_bytes(&chunk->header);
    if (reader->bytes) {
        *stored = reader->bytes + chunk->offset + sizeof chunk->header;
        return ts__in_chunk_unseal(reader, chunk);
    }
    if (!ts__scratch_fit(reader, scratch, size)) return ts__no_memory;
    *stored = scratch->bytes + sizeof chunk->header;
    return ts__read_at(reader, chunk->offset, scratch->bytes, size)
               ? ts__in_chunk_verify_bytes(chunk, scratch->bytes)
               : ts__cut_short;
}

#ifdef TRACESMITH_ZSTD
// Room of a size in `scratch`, behind what was stored, for what is inflated,
// and a context behind that.
typedef struct ts__inflation {
    const uint8_t *from;
    uint8_t *to;
    ZSTD_DCtx *context;
} ts__inflation;

static bool ts__inflation_open(const ts_reader *reader,
                               const ts__in_chunk *chunk, ts__scratch *scratch,
                               size_t room, ts__inflation *inflation)
{
    const size_t work = ZSTD_estimateDCtxSize();
    const size_t kept =
        reader->bytes ? 0 : (size_t)ts__in_chunk_bytes(&chunk->header);
    room = (size_t)ts__pad8(room);
    if (!ts__scratch_fit(reader, scratch, kept + room + work)) return false;
    uint8_t *const to = scratch->bytes + kept;
    inflation->from =
        (reader->bytes ? reader->bytes + chunk->offset : scratch->bytes) +
        sizeof chunk->header;
    inflation->to = to;
    inflation->context = ZSTD_initStaticDCtx(to + room, work);
    return inflation->context != NULL;
}

static ts__fault ts__in_chunk_inflate(const ts_reader *reader,
                                      ts__in_chunk *chunk, ts__scratch *scratch,
                                      const uint8_t **payload)
{
    const ts_chunk_header *const header = &chunk->header;
    ts__inflation i;
    const ts__fault fault =
        ts__in_chunk_stored(reader, chunk, scratch, payload);
    if (fault.result != TS_OK) return fault;
    if (ZSTD_getFrameContentSize(*payload, header->stored_size) !=
        header->raw_size)
        return ts__corrupt("the compressed chunk has another size");
    if (header->raw_size > reader->desc.inflate_bytes) return ts__too_large;
    if (!ts__inflation_open(reader, chunk, scratch, header->raw_size, &i))
        return ts__no_memory;
    *payload = i.to;
    const size_t got = ZSTD_decompressDCtx(i.context, i.to, header->raw_size,
                                           i.from, header->stored_size);
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
                                    ts__in_chunk *chunk, ts__scratch *scratch,
                                    size_t size, const uint8_t **payload)
{
    const ts_chunk_header *const header = &chunk->header;
    ts__inflation i;
    const ts__fault fault =
        ts__in_chunk_stored(reader, chunk, scratch, payload);
    if (fault.result != TS_OK) return fault;
    if (ZSTD_getFrameContentSize(*payload, header->stored_size) !=
        header->raw_size)
        return ts__corrupt("the compressed chunk has another size");
    if (!ts__inflation_open(reader, chunk, scratch, size + TS__ZSTD_BLOCK, &i))
        return ts__no_memory;
    *payload = i.to;
    return ts__inflate_some(i.context, i.to, size, i.from, header->stored_size)
               ? ts__fine
               : ts__corrupt("the chunk cannot be decompressed");
}
#endif

// Gives a chunk's raw_size bytes once its checksum was right.
static ts__fault ts__in_chunk_payload(const ts_reader *reader,
                                      ts__in_chunk *chunk, ts__scratch *scratch,
                                      const uint8_t **payload)
{
    if (!(chunk->header.flags & TS_CHUNK_ZSTD))
        return ts__in_chunk_stored(reader, chunk, scratch, payload);
#ifdef TRACESMITH_ZSTD
    return ts__in_chunk_inflate(reader, chunk, scratch, payload);
#else
    const ts__fault fault =
        ts__in_chunk_stored(reader, chunk, scratch, payload);
    const ts__fault unsupported = {
        TS_ERR_UNSUPPORTED, "the chunk is compressed and this build has no zstd"
    };
    return fault.result == TS_OK ? unsupported : fault;
#endif
}

// Copies the first bytes of a payload that has so many: of a compressed one
// without inflating the others, of another one without a look at them.
static ts__fault ts__in_chunk_first(const ts_reader *reader,
                                    ts__in_chunk *chunk, uint8_t *bytes,
                                    size_t size)
{
    const uint64_t offset = chunk->offset + sizeof chunk->header;
    ts__scratch scratch = { NULL, 0 };
    const uint8_t *payload = NULL;
    if (!(chunk->header.flags & TS_CHUNK_ZSTD))
        return ts__read_at(reader, offset, bytes, size) ? ts__fine
                                                        : ts__cut_short;
#ifdef TRACESMITH_ZSTD
    const ts__fault fault =
        ts__in_chunk_begin(reader, chunk, &scratch, size, &payload);
#else
    const ts__fault fault =
        ts__in_chunk_payload(reader, chunk, &scratch, &payload);
#endif
    if (fault.result == TS_OK) memcpy(bytes, payload, size);
    ts__mem_put(&reader->allocator, scratch.bytes, scratch.size);
    return fault;
}

// Whether what ts__in_chunk_payload gives is a copy in its scratch.
static bool ts__in_chunk_copied(const ts_reader *reader,
                                const ts__in_chunk *chunk)
{
    return !reader->bytes || chunk->header.flags & TS_CHUNK_ZSTD;
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

// Where the next word is that may begin a chunk, from an offset that is a
// multiple of 8; the size of the file if there is none.
static uint64_t ts__walk_magic(const ts_reader *reader, uint64_t offset)
{
    uint8_t block[16 << 10];
    while (offset + 8 <= reader->size) {
        const uint64_t left = (reader->size - offset) & ~UINT64_C(7);
        const size_t size = left < sizeof block ? (size_t)left : sizeof block;
        if (!ts__read_at(reader, offset, block, size)) break;
        for (size_t i = 0; i < size; i += 8)
            if (ts__get32(block + i) == TS_CHUNK_MAGIC) return offset + i;
        offset += size;
    }
    return reader->size;
}

// The next valid chunk behind an offset; the size of the file if none.
static uint64_t ts__walk_search(ts_reader *reader, uint64_t offset)
{
    ts__in_chunk chunk;
    for (;;) {
        offset = ts__walk_magic(reader, offset + 8);
        if (offset == reader->size) break;
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
    if (fault.result == TS_OK && ts__in_chunk_copied(reader, chunk)) {
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
