/* ---- 7.4 Bytes of the trace --------------------------------------------- */

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
    return result;
}

static ts_result ts__map_path(ts_reader *reader)
{
    struct stat file;
    reader->fd = open(reader->path, O_RDONLY | O_CLOEXEC);
    if (reader->fd < 0 || fstat(reader->fd, &file) != 0) return TS_ERR_IO;
    if (S_ISDIR(file.st_mode)) return TS_ERR_IO;
    if (!S_ISREG(file.st_mode)) return ts__map_pipe(reader);
    if (file.st_size == 0) return TS_ERR_TRUNCATED;
    return ts__map_file(reader, (uint64_t)file.st_size, (uint64_t)file.st_size);
}

/* ---- 7.5 Chunks --------------------------------------------------------- */

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
