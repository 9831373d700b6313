/* ---- Blobs and captures ------------------------------------------------- */

// The dictionary key of a blob: blobs that this session has written are
// dictionary entries. With bytes NULL, `known` has the hash already.
static uint64_t ts__blob_key(uint64_t known[3], const void *bytes, size_t size)
{
    if (bytes || !size) {
        const XXH128_hash_t sum = XXH3_128bits(bytes, size);
        known[0] = sum.low64;
        known[1] = sum.high64;
    }
    known[2] = ts__c.generation;
    return ts__mix(known, 24, TS__ENTRY_BLOB) | 1;
}

static ts_result ts__blob_write(ts__writer *w, uint8_t *chunk, size_t whole)
{
    ts__lock_take(&w->lock);
    ts_result result = ts__writer_prepare(w, 1);
    ts__commit commit = ts__commit_begin(w);
    if (result == TS_OK)
        result = ts__writer_append(w, chunk, whole, NULL, &commit);
    ts__lock_give(&w->lock);
    return result;
}

// A buffer for one chunk, reused because new pages would cost more than the
// rest. A caller who finds it taken or too small gets its own memory; in a
// child made by a fork while it is taken, this is so for ever.
enum { TS__BLOB_ROOM = TS_CAPTURE_CHUNK + 4096 };
static struct {
    uint8_t *pages;
    bool taken;
} ts__blob_room;

static uint8_t *ts__blob_room_take(size_t size)
{
    // acquire: pairs with the release in ts__blob_room_give
    if (size > TS__BLOB_ROOM ||
        __atomic_exchange_n(&ts__blob_room.taken, true, __ATOMIC_ACQUIRE))
        return (uint8_t *)ts__pages_new(size);
    uint8_t *pages = __atomic_load_n(&ts__blob_room.pages, __ATOMIC_RELAXED);
    if (!pages) pages = (uint8_t *)ts__pages_new(TS__BLOB_ROOM);
    __atomic_store_n(&ts__blob_room.pages, pages, __ATOMIC_RELAXED);
    if (!pages) __atomic_store_n(&ts__blob_room.taken, false, __ATOMIC_RELEASE);
    return pages;
}

static void ts__blob_room_give(uint8_t *room, size_t size)
{
    if (!room) return;
    if (room != __atomic_load_n(&ts__blob_room.pages, __ATOMIC_RELAXED))
        munmap(room, size);
    else
        __atomic_store_n(&ts__blob_room.taken, false, __ATOMIC_RELEASE);
}

// Makes a chunk of bytes, preceded by their hash. Another thread may write to
// them at the same time, so the copy is hashed.
static uint8_t *ts__blob_chunk(uint32_t kind, const void *bytes, size_t size,
                               size_t *whole, uint64_t known[3], uint64_t *mix)
{
    *whole = (sizeof(ts_chunk_header) + 16 + size + 7) & ~(size_t)7;
    uint8_t *const chunk = ts__blob_room_take(*whole);
    if (!chunk) return NULL;
    uint8_t *p = ts__entries_begin(chunk, kind);
    if (size) memcpy(p + 16, bytes, size);
    *mix = ts__blob_key(known, p + 16, size);
    memcpy(p, known, 16);
    ts__entries_end(chunk, p + 16 + size, 1);
    return chunk;
}

static ts_result ts__blob_keep(ts__writer *w, uint32_t kind, const void *bytes,
                               size_t size, uint64_t hash[2])
{
    uint64_t known[3], mix = 0;
    size_t whole;
    if ((!bytes && size) || size > UINT32_MAX - 31u) return TS_ERR_USAGE;
    ts__caller old;
    if (!ts__api_enter(&old)) return TS_ERR_STATE;
    uint8_t *const chunk =
        ts__blob_chunk(kind, bytes, size, &whole, known, &mix);
    ts_result result = !chunk         ? TS_ERR_MEMORY
                       : ts__c.active ? TS_OK
                                      : TS_ERR_STATE;
    const bool blob = kind == TS_CHUNK_BLOB;
    if (chunk && hash) memcpy(hash, known, 16);
    if (result == TS_OK &&
        (!blob || !ts__entry_find(TS__ENTRY_BLOB, known, sizeof known, mix))) {
        result = ts__blob_write(w, chunk, whole);
        ts__lock_take(&ts__c.names);
        if (result == TS_OK && blob)
            ts__entry_add(TS__ENTRY_BLOB, 1, known, sizeof known, mix);
        ts__lock_give(&ts__c.names);
    }
    ts__blob_room_give(chunk, whole);
    ts__api_leave(&old);
    return result;
}

ts_result ts_blob_put(const void *bytes, size_t size, uint64_t hash[2])
{
    return ts__blob_keep(&ts__c.writer, TS_CHUNK_BLOB, bytes, size, hash);
}

ts_result ts_blob_find(const void *bytes, size_t size, uint64_t hash[2])
{
    uint64_t known[3] = { 0 };
    if (hash) memcpy(known, hash, 16);
    const uint64_t mix = ts__blob_key(known, bytes, size);
    if (hash) memcpy(hash, known, 16);
    return ts__entry_find(TS__ENTRY_BLOB, known, sizeof known, mix)
               ? TS_OK
               : TS_ERR_NOT_FOUND;
}

ts_result ts_capture_put(const void *record, size_t size)
{
    return ts__blob_keep(&ts__c.writer, TS_CHUNK_CAPTURE, record, size, NULL);
}
