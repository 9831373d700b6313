/* ---- Reader: scan and verify -------------------------------------------- */

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

// Returns whether a chunk may hold events that match a filter.
static bool ts__in_chunk_matches(const ts_reader *reader,
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
    uint64_t wanted;   // bits of the columns to decode
    size_t *chunks;    // indices of the chunks to scan
    ts__fault *faults; // of each chunk
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

// Reports faults in the order of the file, whichever thread found them first.
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
    const ts__fault fault =
        ts__decode(scan->reader, scan->reader->clocks, scan->chunks[item],
                   scan->wanted, columns);
    scan->faults[item] = fault;
    if (fault.result == TS_OK) scan->call(columns, thread, scan->user);
}

// Adds the chunks of the list that may hold events of the filter.
static void ts__scan_choose(ts__scan *scan, const ts_scan_desc *desc)
{
    const ts_reader *const reader = scan->reader;
    const size_t all = reader->chunk_count;
    const size_t count = desc->chunks ? desc->chunk_count : all;
    for (size_t i = 0; i < count && scan->count < all; i++) {
        const size_t chunk = desc->chunks ? desc->chunks[i] : i;
        if (chunk < all &&
            ts__in_chunk_matches(reader, desc->filter, &reader->chunks[chunk]))
            scan->chunks[scan->count++] = chunk;
    }
}

TS_API ts_result ts_reader_scan_columns(ts_reader *reader,
                                        const ts_scan_desc *desc)
{
    const uint32_t threads = desc->threads ? desc->threads : reader->threads;
    ts__scan scan = { .reader = reader,
                      .wanted = desc->columns,
                      .threads = ts__thread_count(threads, TS__THREADS_MAX),
                      .call = desc->call,
                      .user = desc->user };
    ts_result result = TS_ERR_MEMORY;
    if (ts_reader_index(reader) == TS_OK && ts__scan_open(&scan)) {
        ts__scan_choose(&scan, desc);
        ts__crew_run(scan.threads, scan.count, ts__scan_chunk, &scan);
        result = ts__scan_result(&scan);
    }
    ts__scan_close(&scan);
    return result;
}

TS_API ts_result ts_reader_scan(ts_reader *reader, const ts_filter *filter,
                                uint32_t threads,
                                void (*call)(const ts_columns *columns,
                                             uint32_t thread, void *user),
                                void *user)
{
    const ts_scan_desc desc = { .filter = filter,
                                .columns = TS_COLUMNS_ALL,
                                .threads = threads,
                                .call = call,
                                .user = user };
    return ts_reader_scan_columns(reader, &desc);
}

static ts__fault ts__blob_check(const ts_chunk_header *header,
                                const uint8_t *payload)
{
    if (header->raw_size < 16) return ts__corrupt("the blob has no hash");
    const XXH128_hash_t hash =
        XXH3_128bits(payload + 16, header->raw_size - 16);
    const bool same = hash.low64 == ts__get64(payload) &&
                      hash.high64 == ts__get64(payload + 8);
    return same ? ts__no_fault : ts__corrupt("the blob has another hash");
}

// Checks everything that this version knows about a chunk.
static void ts__verify_chunk(void *user, size_t item, uint32_t thread)
{
    ts__scan *const scan = user;
    ts_reader *const reader = scan->reader;
    ts__in_chunk *const chunk = &reader->chunks[scan->chunks[item]];
    ts_columns *const columns = &scan->columns[thread];
    ts__fault *const fault = &scan->faults[item];
    const uint8_t *payload = NULL;
    if (ts__in_chunk_known(&chunk->header)) {
        *fault = ts__decode(reader, reader->clocks, scan->chunks[item],
                            TS_COLUMNS_ALL, columns);
        return;
    }
    ts__scratch scratch = { columns->payload, columns->payload_size };
    *fault = ts__in_chunk_verify_once(reader, chunk);
    if (fault->result == TS_OK && ts__in_chunk_kind_known(chunk->header.kind))
        *fault = ts__in_chunk_payload(reader, chunk, &scratch, &payload);
    columns->payload = scratch.bytes;
    columns->payload_size = scratch.size;
    if (fault->result != TS_OK) return;
    if (ts__in_chunk_has_entries(&chunk->header))
        *fault = ts__entries_check(&chunk->header, payload);
    if (chunk->header.kind == TS_CHUNK_BLOB ||
        chunk->header.kind == TS_CHUNK_CAPTURE)
        *fault = ts__blob_check(&chunk->header, payload);
}

TS_API ts_result ts_reader_verify(ts_reader *reader)
{
    ts__scan scan = { .reader = reader, .threads = reader->threads };
    ts_result result = TS_ERR_MEMORY;
    ts_damage damage;
    if (ts_reader_index(reader) == TS_OK && ts__scan_open(&scan)) {
        for (; scan.count < reader->chunk_count; scan.count++)
            scan.chunks[scan.count] = scan.count;
        ts__crew_run(scan.threads, scan.count, ts__verify_chunk, &scan);
        result = ts__scan_result(&scan);
    }
    ts__scan_close(&scan);
    if (result == TS_ERR_MEMORY) return result;
    return ts_reader_damage(reader, 0, &damage) ? damage.result : result;
}
