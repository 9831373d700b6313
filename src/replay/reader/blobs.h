/* ---- Reader: blobs and pictures ----------------------------------------- */

static int ts__order_blob(const void *a, const void *b)
{
    const ts__blob *const x = a, *const y = b;
    if (x->hash[1] != y->hash[1]) return ts__order_u64(x->hash[1], y->hash[1]);
    if (x->hash[0] != y->hash[0]) return ts__order_u64(x->hash[0], y->hash[0]);
    return ts__order_u64(x->chunk, y->chunk);
}

// Adds a blob to the list. Only its hash is read. The contents are read and
// checked on request, as a compressed blob may claim any size.
static ts_result ts__blob_add(ts_reader *reader, size_t index)
{
    ts__in_chunk *const chunk = &reader->chunks[index];
    uint8_t hash[16];
    if (chunk->header.raw_size < sizeof hash) return TS_OK;
    ts__blob *const blobs =
        ts__mem_more(&reader->allocator, reader->blobs, &reader->blob_capacity,
                     reader->blob_count, sizeof *blobs);
    if (!blobs) return TS_ERR_MEMORY;
    reader->blobs = blobs;
    const ts__fault fault =
        ts__in_chunk_first(reader, chunk, hash, sizeof hash);
    if (fault.result == TS_OK) {
        ts__blob *const blob = &blobs[reader->blob_count++];
        blob->hash[0] = ts__get64(hash);
        blob->hash[1] = ts__get64(hash + 8);
        blob->chunk = index;
        blob->bytes = NULL;
        blob->age = 0;
    }
    return ts__in_chunk_report(reader, chunk, fault);
}

/*
    Limits for a requested blob. It is read into the caller's `buffer`,
    where it is valid until the next use of that buffer; if `buffer` is NULL, it
    is kept until ts_reader_blobs_free.
*/
typedef struct ts__blob_limits {
    uint64_t least, most; // bytes
    uint64_t inflated;    // maximum bytes of a compressed one
    ts__scratch *buffer;
} ts__blob_limits;

// Reads and checks a blob, and gets its bytes.
static ts_result ts__blob_open(ts_reader *reader, ts__blob *blob,
                               const ts__blob_limits *limits,
                               const uint8_t **bytes)
{
    ts__in_chunk *const chunk = &reader->chunks[blob->chunk];
    const uint8_t *payload;
    ts__scratch own = { NULL, 0 };
    ts__scratch *const to = limits->buffer ? limits->buffer : &own;
    const bool copied = ts__in_chunk_copied(reader, chunk);
    ts__fault fault = ts__in_chunk_payload(reader, chunk, to, &payload);
    if (fault.result == TS_OK) fault = ts__blob_check(&chunk->header, payload);
    if (fault.result == TS_OK && copied && !limits->buffer) {
        uint8_t *const kept = ts__memory_block_add(
            &reader->allocator, &reader->copies, chunk->header.raw_size);
        blob->age = reader->copies_age;
        if (kept) memcpy(kept, payload, chunk->header.raw_size);
        if (!kept) fault = ts__no_memory;
        payload = kept;
    }
    ts__mem_put(&reader->allocator, own.bytes, own.size);
    if (fault.result == TS_OK) *bytes = payload + 16;
    if (fault.result == TS_OK && !(copied && limits->buffer))
        blob->bytes = *bytes;
    return ts__in_chunk_report(reader, chunk, fault);
}

static ts_result ts__blobs_list(ts_reader *reader)
{
    const size_t before = reader->blob_count;
    if (ts_reader_index(reader) != TS_OK) return TS_ERR_MEMORY;
    for (; reader->blobs_listed < reader->chunk_count; reader->blobs_listed++) {
        const size_t index = reader->blobs_listed;
        if (reader->chunks[index].header.kind != TS_CHUNK_BLOB) continue;
        if (ts__blob_add(reader, index) == TS_ERR_MEMORY) return TS_ERR_MEMORY;
    }
    if (reader->blob_count > before)
        ts__sort(reader->blobs, reader->blob_count, sizeof *reader->blobs,
                 ts__order_blob);
    return TS_OK;
}

// Gets the first readable blob with a hash whose size is within the limits.
static ts_result ts__blob_find(ts_reader *reader, const uint64_t hash[2],
                               const ts__blob_limits *limits,
                               const uint8_t **bytes, size_t *size)
{
    size_t low = 0, high = reader->blob_count;
    ts_result result = TS_ERR_NOT_FOUND;
    const ts__blob wanted = { .hash = { hash[0], hash[1] } };
    while (low < high)
        ts__halve(
            &low, &high,
            ts__order_blob(&reader->blobs[ts__middle(low, high)], &wanted) < 0);
    for (; low < reader->blob_count; low++) {
        ts__blob *const blob = &reader->blobs[low];
        if (blob->hash[0] != hash[0] || blob->hash[1] != hash[1]) break;
        const ts_chunk_header *const header =
            &reader->chunks[blob->chunk].header;
        *size = header->raw_size - 16;
        if (*size < limits->least || *size > limits->most) continue;
        if (header->flags & TS_CHUNK_ZSTD && *size > limits->inflated) continue;
        if (blob->age && blob->age != reader->copies_age)
            blob->bytes = NULL; // the copy was freed
        *bytes = blob->bytes;
        result = *bytes ? TS_OK : ts__blob_open(reader, blob, limits, bytes);
        if (result == TS_OK || result == TS_ERR_MEMORY) break;
    }
    return result;
}

// *bytes is NULL unless the result is TS_OK. TS_ERR_NOT_FOUND with *size set:
// the blob exists, but its size is outside of the limits.
static ts_result ts__reader_blob(ts_reader *reader, const uint64_t hash[2],
                                 const ts__blob_limits *limits,
                                 const uint8_t **bytes, size_t *size)
{
    *bytes = NULL;
    *size = 0;
    ts__mutex_take(&reader->blob_lock);
    ts_result result = ts__blobs_list(reader);
    if (result == TS_OK)
        result = ts__blob_find(reader, hash, limits, bytes, size);
    ts__mutex_give(&reader->blob_lock);
    return result;
}

TS_API ts_result ts_reader_blob(ts_reader *reader, const uint64_t hash[2],
                                const void **bytes, size_t *size)
{
    static const ts__blob_limits any = { 0, UINT64_MAX, UINT64_MAX, NULL };
    const uint8_t *found;
    const ts_result result = ts__reader_blob(reader, hash, &any, &found, size);
    *bytes = found;
    if (result != TS_OK) *size = 0;
    return result;
}

TS_API void ts_reader_blobs_free(ts_reader *reader)
{
    ts__mutex_take(&reader->blob_lock);
    ts__memory_blocks_free(&reader->allocator, &reader->copies);
    reader->copies_age++;
    ts__mutex_give(&reader->blob_lock);
}

TS_API bool ts_reader_blob_at(ts_reader *reader, size_t index, uint64_t hash[2])
{
    ts__mutex_take(&reader->blob_lock);
    const bool there =
        ts__blobs_list(reader) == TS_OK && index < reader->blob_count;
    if (there) memcpy(hash, reader->blobs[index].hash, 16);
    ts__mutex_give(&reader->blob_lock);
    return there;
}

static ts_lod_cell ts__lod_cell(const uint8_t *bytes, bool counter)
{
    ts_lod_cell cell = { 0 };
    if (counter) {
        memcpy(&cell.min, bytes, sizeof cell.min);
        memcpy(&cell.max, bytes + 4, sizeof cell.max);
        return cell;
    }
    cell.id = ts__get32(bytes);
    memcpy(&cell.busy, bytes + 4, sizeof cell.busy);
    memcpy(&cell.count, bytes + 6, sizeof cell.count);
    return cell;
}

TS_API bool ts_reader_lod(const ts_reader *reader, size_t chunk,
                          ts_lod_cell cells[TS_LOD_CELLS])
{
    if (chunk >= ts_reader_chunk_count(reader) || !reader->chunks[chunk].lod)
        return false;
    const ts__in_chunk *const from = &reader->chunks[chunk];
    const bool counter = from->header.event == TS_EVENT_COUNTER &&
                         from->header.track != TS_TRACK_MIXED;
    for (size_t i = 0; i < TS_LOD_CELLS; i++)
        cells[i] = ts__lod_cell(from->lod + i * 8, counter);
    return true;
}

// Checks a chunk of pictures of tracks.
static ts__fault ts__track_pictures_check(const ts_chunk_header *header,
                                          const uint8_t *payload)
{
    if (header->raw_size < 8) return ts__corrupt("the pictures are too short");
    const uint32_t count = ts__get32(payload), cells = ts__get32(payload + 4);
    if (count != header->count || !cells || cells > TS_LOD_CELLS ||
        TS_LOD_CELLS % cells)
        return ts__corrupt("the pictures have a wrong number of cells");
    if (header->raw_size != 8 + (uint64_t)count * 8 * (1 + cells))
        return ts__corrupt("the pictures have the wrong size");
    return ts__no_fault;
}

// Finds the pictures of a chunk: they are the next chunk, or there are none.
static ts__in_chunk *ts__track_pictures_find(ts_reader *reader, size_t chunk)
{
    if (chunk >= reader->chunk_count || chunk + 1 >= reader->chunk_count)
        return NULL;
    ts__in_chunk *const events = &reader->chunks[chunk], *const next =
                                                             events + 1;
    const ts_chunk_header *const a = &events->header, *const b = &next->header;
    const bool theirs =
        a->kind == TS_CHUNK_EVENTS && a->track == TS_TRACK_MIXED &&
        b->kind == TS_CHUNK_PICTURES && b->sequence == a->sequence + 1 &&
        b->event == a->event && b->clock == a->clock && b->first == a->first &&
        b->last == a->last;
    return theirs ? next : NULL;
}

TS_API ts_result ts_reader_track_pictures(ts_reader *reader, size_t chunk,
                                          ts_track_pictures *pictures)
{
    const ts_result result = ts_reader_index(reader);
    if (result != TS_OK) return result;
    ts__in_chunk *const found = ts__track_pictures_find(reader, chunk);
    ts__scratch scratch = { pictures->memory, pictures->memory_size };
    pictures->count = 0;
    if (!found) return TS_ERR_NOT_FOUND;
    ts__fault fault =
        ts__in_chunk_payload(reader, found, &scratch, &pictures->bytes);
    pictures->memory = scratch.bytes;
    pictures->memory_size = scratch.size;
    if (fault.result == TS_OK)
        fault = ts__track_pictures_check(&found->header, pictures->bytes);
    if (fault.result == TS_OK) {
        pictures->count = found->header.count;
        pictures->cell_count = ts__get32(pictures->bytes + 4);
    }
    return ts__in_chunk_report(reader, found, fault);
}

TS_API bool ts_track_picture(const ts_track_pictures *pictures, size_t index,
                             uint32_t *track, uint32_t *events,
                             ts_lod_cell cells[TS_LOD_CELLS])
{
    if (index >= pictures->count) return false;
    const uint8_t *const entry = pictures->bytes + 8 + index * 8;
    const uint8_t *const from = pictures->bytes + 8 +
                                (size_t)pictures->count * 8 +
                                index * pictures->cell_count * 8;
    *track = ts__get32(entry);
    *events = ts__get32(entry + 4);
    for (size_t i = 0; i < pictures->cell_count; i++)
        cells[i] = ts__lod_cell(from + i * 8, false);
    return true;
}

TS_API void ts_track_pictures_close(ts_reader *reader,
                                    ts_track_pictures *pictures)
{
    if (!pictures) return;
    ts__mem_put(&reader->allocator, pictures->memory, pictures->memory_size);
    memset(pictures, 0, sizeof *pictures);
}
