/* ---- Reader: chunks ----------------------------------------------------- */

// Checks what can be checked of a header without the file. Returns the fault or
// NULL.
static const char *ts__header_check(const ts_chunk_header *header)
{
    const uint32_t raw_max =
        header->kind == TS_CHUNK_BLOB ? UINT32_MAX - 15 : TS_CHUNK_BYTES_MAX;
    if (header->flags & TS_CHUNK_RESERVED || header->reserved)
        return "a reserved bit of the chunk is set";
    if (header->count > TS_CHUNK_COUNT_MAX || header->raw_size > raw_max)
        return "the size of the chunk exceeds the limit";
    if (!(header->flags & TS_CHUNK_ZSTD) &&
        header->stored_size != header->raw_size)
        return "the two sizes of the chunk are inconsistent";
    if (header->kind == TS_CHUNK_EVENTS &&
        header->last - header->first > INT64_MAX)
        return "the chunk ends before it begins";
    if (header->kind == TS_CHUNK_END && header->stored_size)
        return "the end chunk is not empty";
    return NULL;
}

// Reads the header at an offset and checks everything but the checksum.
static ts__fault ts__in_chunk_check(const ts_reader *reader, uint64_t offset,
                                    ts__in_chunk *chunk)
{
    const uint64_t left = reader->size - offset;
    const ts_chunk_header *const header = &chunk->header;
    memset(chunk, 0, sizeof *chunk);
    chunk->offset = offset;
    if (left < sizeof *header) return ts__truncated;
    const ts__fault fault =
        ts__read_at(reader, offset, &chunk->header, sizeof *header);
    if (fault.result != TS_OK) return fault;
    if (header->magic != TS_CHUNK_MAGIC)
        return ts__corrupt("no chunk begins at this offset");
    if (reader->session_known && header->session != reader->session)
        return ts__corrupt("the chunk belongs to another session");
    const char *const text = ts__header_check(header);
    if (text) return ts__corrupt(text);
    return ts__in_chunk_bytes(header) > left ? ts__truncated : ts__no_fault;
}

// A growing buffer for the payload of a chunk.
typedef struct ts__scratch {
    uint8_t *bytes;
    size_t size;
} ts__scratch;

// Grows a buffer to `size` bytes; keeps its contents. A blob may be larger than
// the memory of a 32-bit system.
static bool ts__scratch_fit(const ts_reader *reader, ts__scratch *scratch,
                            uint64_t size)
{
    const ts_allocator *const a = &reader->allocator;
    if (size <= scratch->size) return true;
    if (size > SIZE_MAX / 2) return false;
    uint8_t *const bytes =
        a->resize(a->user, scratch->bytes, scratch->size, (size_t)size);
    if (!bytes) return false;
    scratch->bytes = bytes;
    scratch->size = (size_t)size;
    return true;
}

// Compares a chunk's header with the bytes in the file, and checks its checksum
// and the padding after the payload.
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
    return ts__no_fault;
}

static uint64_t ts__in_chunk_seed(const uint8_t *head)
{
    return XXH3_64bits(head, offsetof(ts_chunk_header, checksum));
}

// Verifies a chunk whose bytes are all in memory.
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

// Verifies a chunk of the file, block by block, as a sparse file may contain
// chunks of any size.
static ts__fault ts__in_chunk_verify_file(const ts_reader *reader,
                                          const ts__in_chunk *chunk)
{
    uint8_t head[sizeof(ts_chunk_header)], block[16 << 10], padding[8];
    uint64_t left = chunk->header.stored_size, at = chunk->offset;
    const size_t pad = (size_t)(ts__pad8(left) - left);
    XXH3_state_t state;
    ts__fault fault = ts__read_at(reader, at, head, sizeof head);
    if (fault.result != TS_OK) return fault;
    at += sizeof head;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset_withSeed(&state, ts__in_chunk_seed(head));
    while (left) {
        const size_t size = left < sizeof block ? (size_t)left : sizeof block;
        fault = ts__read_at(reader, at, block, size);
        if (fault.result != TS_OK) return fault;
        XXH3_64bits_update(&state, block, size);
        at += size;
        left -= size;
    }
    fault = ts__read_at(reader, at, padding, pad);
    if (fault.result != TS_OK) return fault;
    return ts__in_chunk_verify(chunk, head, XXH3_64bits_digest(&state),
                               padding);
}

// Verifies a chunk, inside of the file, unless that was done before.
static ts__fault ts__in_chunk_verify_once(const ts_reader *reader,
                                          ts__in_chunk *chunk)
{
    if (__atomic_load_n(&chunk->state, __ATOMIC_RELAXED) & TS__CHUNK_VERIFIED)
        return ts__no_fault;
    const ts__fault fault =
        reader->bytes
            ? ts__in_chunk_verify_bytes(chunk, reader->bytes + chunk->offset)
            : ts__in_chunk_verify_file(reader, chunk);
    if (fault.result == TS_OK)
        __atomic_or_fetch(&chunk->state, TS__CHUNK_VERIFIED, __ATOMIC_RELAXED);
    return fault;
}

// Gets a chunk's stored bytes if its checksum is right. The bytes of a file are
// read and checked each time, into the beginning of `scratch`.
static ts__fault ts__in_chunk_stored(const ts_reader *reader,
                                     ts__in_chunk *chunk, ts__scratch *scratch,
                                     const uint8_t **stored)
{
    const uint64_t size = ts__in_chunk_bytes(&chunk->header);
    if (reader->bytes) {
        *stored = reader->bytes + chunk->offset + sizeof chunk->header;
        return ts__in_chunk_verify_once(reader, chunk);
    }
    if (!ts__scratch_fit(reader, scratch, size)) return ts__no_memory;
    *stored = scratch->bytes + sizeof chunk->header;
    const ts__fault fault =
        ts__read_at(reader, chunk->offset, scratch->bytes, (size_t)size);
    return fault.result == TS_OK
               ? ts__in_chunk_verify_bytes(chunk, scratch->bytes)
               : fault;
}

#ifdef TRACESMITH_ZSTD
// Decompression: `scratch` holds the stored bytes, then the output, then the
// context of zstd.
typedef struct ts__inflation {
    const uint8_t *from;
    uint8_t *to;
    ZSTD_DCtx *context;
} ts__inflation;

static bool ts__inflation_open(const ts_reader *reader,
                               const ts__in_chunk *chunk, ts__scratch *scratch,
                               uint64_t room, ts__inflation *inflation)
{
    const size_t work = ZSTD_estimateDCtxSize();
    const uint64_t kept =
        reader->bytes ? 0 : ts__in_chunk_bytes(&chunk->header);
    room = ts__pad8(room);
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
               ? ts__no_fault
               : ts__corrupt("the chunk cannot be decompressed");
}

enum { TS__ZSTD_BLOCK = 128 << 10 }; // maximum output of a block

// Decompresses the first `size` bytes of a payload, block by block, whatever
// its whole size. `to` has room for one block more.
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
               ? ts__no_fault
               : ts__corrupt("the chunk cannot be decompressed");
}
#endif

// Gets a chunk's raw_size bytes, decompressed, if its checksum is right.
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

// Copies the first bytes of a payload that has at least so many. The rest is
// neither decompressed nor read.
static ts__fault ts__in_chunk_first(const ts_reader *reader,
                                    ts__in_chunk *chunk, uint8_t *bytes,
                                    size_t size)
{
    const uint64_t offset = chunk->offset + sizeof chunk->header;
    ts__scratch scratch = { NULL, 0 };
    const uint8_t *payload = NULL;
    if (!(chunk->header.flags & TS_CHUNK_ZSTD))
        return ts__read_at(reader, offset, bytes, size);
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

// Returns whether ts__in_chunk_payload puts a copy into its scratch.
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
