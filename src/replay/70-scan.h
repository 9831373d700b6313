/* ---- 7.15 Scan and verify ----------------------------------------------- */

static bool ts__filter_track(const ts_filter *filter, uint32_t track)
{
    if (!filter || !filter->tracks) return true;
    for (size_t i = 0; i < filter->track_count; i++)
        if (filter->tracks[i] == track) return true;
    return false;
}

static bool ts__filter_timed(const ts_filter *filter)
{
    return filter && (filter->from_ns || filter->to_ns);
}

// Whether a chunk may hold events of a filter.
static bool ts__in_chunk_wanted(const ts_reader *reader,
                                const ts_filter *filter,
                                const ts__in_chunk *chunk)
{
    const ts_chunk_header *const header = &chunk->header;
    if (!ts__in_chunk_known(header) || !header->count) return false;
    if (!filter) return true;
    if (filter->kinds && !(filter->kinds >> header->event & 1)) return false;
    if (header->track != TS_TRACK_MIXED &&
        !ts__filter_track(filter, header->track))
        return false;
    if (!ts__filter_timed(filter)) return true;
    const ts_chunk_info info = ts__in_chunk_describe(reader->clocks, chunk);
    return info.first_ns < filter->to_ns && info.last_ns >= filter->from_ns;
}

typedef struct ts__scan {
    ts_reader *reader;
    size_t *chunks;    // their indexes
    ts__fault *faults; // of each
    size_t count;
    ts_columns *columns; // of each thread
    uint32_t threads;
    void (*call)(const ts_columns *columns, uint32_t thread, void *user);
    void *user;
} ts__scan;

static void ts__scan_close(ts__scan *scan)
{
    const ts_allocator *const allocator = &scan->reader->allocator;
    const size_t room = scan->reader->chunk_count + 1;
    for (uint32_t i = 0; scan->columns && i < scan->threads; i++)
        ts_columns_close(scan->reader, &scan->columns[i]);
    ts__mem_put(allocator, scan->columns,
                scan->threads * sizeof *scan->columns);
    ts__mem_put(allocator, scan->chunks, room * sizeof *scan->chunks);
    ts__mem_put(allocator, scan->faults, room * sizeof *scan->faults);
}

static bool ts__scan_open(ts__scan *scan)
{
    const ts_allocator *const allocator = &scan->reader->allocator;
    const size_t room = scan->reader->chunk_count + 1;
    const size_t size = scan->threads * sizeof *scan->columns;
    scan->columns = ts__mem_get(allocator, size);
    scan->chunks = ts__mem_get(allocator, room * sizeof *scan->chunks);
    scan->faults = ts__mem_get(allocator, room * sizeof *scan->faults);
    if (scan->columns) memset(scan->columns, 0, size);
    return scan->columns && scan->chunks && scan->faults;
}

// Reports in the order of the file, whatever thread found it first.
static ts_result ts__scan_result(ts__scan *scan)
{
    ts_result first = TS_OK;
    for (size_t i = 0; i < scan->count; i++) {
        ts__in_chunk *const chunk = &scan->reader->chunks[scan->chunks[i]];
        const ts_result result =
            ts__in_chunk_report(scan->reader, chunk, scan->faults[i]);
        if (first == TS_OK) first = result;
    }
    return first;
}

static void ts__scan_chunk(void *user, size_t item, uint32_t thread)
{
    ts__scan *const scan = user;
    ts_columns *const columns = &scan->columns[thread];
    const ts__fault fault = ts__decode(scan->reader, scan->reader->clocks,
                                       scan->chunks[item], columns);
    scan->faults[item] = fault;
    if (fault.result == TS_OK) scan->call(columns, thread, scan->user);
}

TS_API ts_result ts_reader_scan(ts_reader *reader, const ts_filter *filter,
                                uint32_t threads,
                                void (*call)(const ts_columns *columns,
                                             uint32_t thread, void *user),
                                void *user)
{
    if (!threads) threads = reader->threads;
    if (threads > TS__THREADS_MAX) threads = TS__THREADS_MAX;
    ts__scan scan = {
        .reader = reader, .threads = threads, .call = call, .user = user
    };
    ts_result result = TS_ERR_MEMORY;
    if (ts__scan_open(&scan)) {
        for (size_t i = 0; i < reader->chunk_count; i++)
            if (ts__in_chunk_wanted(reader, filter, &reader->chunks[i]))
                scan.chunks[scan.count++] = i;
        ts__crew_run(threads, scan.count, ts__scan_chunk, &scan);
        result = ts__scan_result(&scan);
    }
    ts__scan_close(&scan);
    return result;
}

static ts__fault ts__blob_check(const ts_chunk_header *header,
                                const uint8_t *payload)
{
    if (header->raw_size < 16) return ts__corrupt("the blob has no hash");
    const XXH128_hash_t hash =
        XXH3_128bits(payload + 16, header->raw_size - 16);
    const bool same = hash.low64 == ts__get64(payload) &&
                      hash.high64 == ts__get64(payload + 8);
    return same ? ts__fine : ts__corrupt("the blob has another hash");
}

// Checks whatever this version can know about a chunk.
static void ts__verify_chunk(void *user, size_t item, uint32_t thread)
{
    ts__scan *const scan = user;
    ts_reader *const reader = scan->reader;
    ts__in_chunk *const chunk = &reader->chunks[scan->chunks[item]];
    ts_columns *const columns = &scan->columns[thread];
    ts__fault *const fault = &scan->faults[item];
    const uint8_t *payload = NULL;
    if (ts__in_chunk_known(&chunk->header)) {
        *fault =
            ts__decode(reader, reader->clocks, scan->chunks[item], columns);
        return;
    }
    ts__scratch scratch = { columns->payload, columns->payload_size };
    *fault = ts__in_chunk_unseal(reader, chunk);
    if (fault->result == TS_OK && ts__in_chunk_kind_known(chunk->header.kind))
        *fault = ts__in_chunk_payload(reader, chunk, &scratch, &payload);
    columns->payload = scratch.bytes;
    columns->payload_size = scratch.size;
    if (fault->result != TS_OK) return;
    if (ts__in_chunk_has_entries(&chunk->header))
        *fault = ts__entries_check(&chunk->header, payload);
    if (chunk->header.kind == TS_CHUNK_BLOB)
        *fault = ts__blob_check(&chunk->header, payload);
}

TS_API ts_result ts_reader_verify(ts_reader *reader)
{
    ts__scan scan = { .reader = reader, .threads = reader->threads };
    ts_result result = TS_ERR_MEMORY;
    ts_damage damage;
    if (ts__scan_open(&scan)) {
        for (; scan.count < reader->chunk_count; scan.count++)
            scan.chunks[scan.count] = scan.count;
        ts__crew_run(scan.threads, scan.count, ts__verify_chunk, &scan);
        result = ts__scan_result(&scan);
    }
    ts__scan_close(&scan);
    if (result == TS_ERR_MEMORY) return result;
    return ts_reader_damage(reader, 0, &damage) ? damage.result : result;
}

/* ---- 7.16 Blobs and pictures -------------------------------------------- */

static int ts__order_blob(const void *a, const void *b)
{
    const ts__blob *const x = a, *const y = b;
    if (x->hash[1] != y->hash[1]) return ts__order_u64(x->hash[1], y->hash[1]);
    if (x->hash[0] != y->hash[0]) return ts__order_u64(x->hash[0], y->hash[0]);
    return ts__order_u64(x->chunk, y->chunk);
}

// Adds a blob to the list. A compressed one has to be decompressed for that;
// of the others only the hash is read, and checked when they are asked for.
static ts_result ts__blob_add(ts_reader *reader, size_t index)
{
    ts__in_chunk *const chunk = &reader->chunks[index];
    const uint8_t *payload =
        reader->bytes + chunk->offset + sizeof chunk->header;
    ts__scratch scratch = { NULL, 0 };
    ts__fault fault = ts__fine;
    ts__blob *const blobs =
        ts__mem_more(&reader->allocator, reader->blobs, &reader->blob_capacity,
                     reader->blob_count, sizeof *blobs);
    if (!blobs) return TS_ERR_MEMORY;
    reader->blobs = blobs;
    if (chunk->header.flags & TS_CHUNK_ZSTD)
        fault = ts__in_chunk_payload(reader, chunk, &scratch, &payload);
    if (fault.result == TS_OK && chunk->header.raw_size >= 16) {
        ts__blob *const blob = &blobs[reader->blob_count++];
        blob->hash[0] = ts__get64(payload);
        blob->hash[1] = ts__get64(payload + 8);
        blob->chunk = index;
        blob->bytes = NULL;
    }
    ts__mem_put(&reader->allocator, scratch.bytes, scratch.size);
    return ts__in_chunk_report(reader, chunk, fault);
}

// Checks a blob and, if it is compressed, keeps it decompressed.
static ts_result ts__blob_open(ts_reader *reader, ts__blob *blob)
{
    ts__in_chunk *const chunk = &reader->chunks[blob->chunk];
    const uint8_t *payload;
    ts__scratch scratch = { NULL, 0 };
    ts__fault fault = ts__in_chunk_payload(reader, chunk, &scratch, &payload);
    if (fault.result == TS_OK) fault = ts__blob_check(&chunk->header, payload);
    if (fault.result == TS_OK && scratch.bytes) {
        uint8_t *const kept = ts__reader_keep(reader, chunk->header.raw_size);
        if (kept) memcpy(kept, payload, chunk->header.raw_size);
        if (!kept) fault = ts__no_memory;
        payload = kept;
    }
    ts__mem_put(&reader->allocator, scratch.bytes, scratch.size);
    if (fault.result == TS_OK) blob->bytes = payload + 16;
    return ts__in_chunk_report(reader, chunk, fault);
}

static ts_result ts__blobs_list(ts_reader *reader)
{
    const size_t before = reader->blob_count;
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

// The first blob of a hash that can be read.
static ts_result ts__blob_find(ts_reader *reader, const uint64_t hash[2],
                               ts__blob **found)
{
    size_t low = 0, high = reader->blob_count;
    ts_result result = TS_ERR_NOT_FOUND;
    const ts__blob wanted = { { hash[0], hash[1] }, 0, NULL };
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ts__order_blob(&reader->blobs[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < reader->blob_count; low++) {
        ts__blob *const blob = &reader->blobs[low];
        if (blob->hash[0] != hash[0] || blob->hash[1] != hash[1]) break;
        result = blob->bytes ? TS_OK : ts__blob_open(reader, blob);
        *found = blob;
        if (result == TS_OK || result == TS_ERR_MEMORY) break;
    }
    return result;
}

TS_API ts_result ts_reader_blob(ts_reader *reader, const uint64_t hash[2],
                                const void **bytes, size_t *size)
{
    ts__blob *blob = NULL;
    *bytes = NULL;
    *size = 0;
    pthread_mutex_lock(&reader->blob_lock);
    ts_result result = ts__blobs_list(reader);
    if (result == TS_OK) result = ts__blob_find(reader, hash, &blob);
    if (result == TS_OK) {
        *bytes = blob->bytes;
        *size = reader->chunks[blob->chunk].header.raw_size - 16;
    }
    pthread_mutex_unlock(&reader->blob_lock);
    return result;
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
    if (chunk >= reader->chunk_count || !reader->chunks[chunk].lod)
        return false;
    const ts__in_chunk *const from = &reader->chunks[chunk];
    const bool counter = from->header.event == TS_EVENT_COUNTER &&
                         from->header.track != TS_TRACK_MIXED;
    for (size_t i = 0; i < TS_LOD_CELLS; i++)
        cells[i] = ts__lod_cell(from->lod + i * 8, counter);
    return true;
}
