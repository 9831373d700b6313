/* ---- 10.15 Scan and verify ---------------------------------------------- */

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
    if (chunk->header.kind == TS_CHUNK_BLOB ||
        chunk->header.kind == TS_CHUNK_CAPTURE)
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

/* ---- 10.16 Blobs and pictures ------------------------------------------- */

static int ts__order_blob(const void *a, const void *b)
{
    const ts__blob *const x = a, *const y = b;
    if (x->hash[1] != y->hash[1]) return ts__order_u64(x->hash[1], y->hash[1]);
    if (x->hash[0] != y->hash[0]) return ts__order_u64(x->hash[0], y->hash[0]);
    return ts__order_u64(x->chunk, y->chunk);
}

// Adds a blob to the list. Only its hash is read, and checked when somebody
// asks for it: a compressed one may say that it has any size.
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
    What is asked for: a blob of a size. A compressed one has to fit. It is
    read into `lent`, where it is until something else is put there, or, if
    that is NULL, stays until ts_reader_blobs_free.
*/
typedef struct ts__blob_wish {
    uint64_t least, most; // bytes
    uint64_t inflated;    // those of a compressed one, at most
    ts__scratch *lent;
} ts__blob_wish;

// Checks a blob and gives its bytes.
static ts_result ts__blob_open(ts_reader *reader, ts__blob *blob,
                               const ts__blob_wish *wish, const uint8_t **bytes)
{
    ts__in_chunk *const chunk = &reader->chunks[blob->chunk];
    const uint8_t *payload;
    ts__scratch own = { NULL, 0 };
    ts__scratch *const to = wish->lent ? wish->lent : &own;
    const bool copied = ts__in_chunk_copied(reader, chunk);
    ts__fault fault = ts__in_chunk_payload(reader, chunk, to, &payload);
    if (fault.result == TS_OK) fault = ts__blob_check(&chunk->header, payload);
    if (fault.result == TS_OK && copied && !wish->lent) {
        uint8_t *const kept = ts__kept_add(&reader->allocator, &reader->copies,
                                           chunk->header.raw_size);
        blob->age = reader->copies_age;
        if (kept) memcpy(kept, payload, chunk->header.raw_size);
        if (!kept) fault = ts__no_memory;
        payload = kept;
    }
    ts__mem_put(&reader->allocator, own.bytes, own.size);
    if (fault.result == TS_OK) *bytes = payload + 16;
    if (fault.result == TS_OK && !(copied && wish->lent)) blob->bytes = *bytes;
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

// The first blob of a hash that can be read and has a size that is wanted.
static ts_result ts__blob_find(ts_reader *reader, const uint64_t hash[2],
                               const ts__blob_wish *wish, const uint8_t **bytes,
                               size_t *size)
{
    size_t low = 0, high = reader->blob_count;
    ts_result result = TS_ERR_NOT_FOUND;
    const ts__blob wanted = { .hash = { hash[0], hash[1] } };
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
        const ts_chunk_header *const header =
            &reader->chunks[blob->chunk].header;
        *size = header->raw_size - 16;
        if (*size < wish->least || *size > wish->most) continue;
        if (header->flags & TS_CHUNK_ZSTD && *size > wish->inflated) continue;
        if (blob->age && blob->age != reader->copies_age)
            blob->bytes = NULL; // it was freed
        *bytes = blob->bytes;
        result = *bytes ? TS_OK : ts__blob_open(reader, blob, wish, bytes);
        if (result == TS_OK || result == TS_ERR_MEMORY) break;
    }
    return result;
}

// The bytes are NULL unless the result is TS_OK. TS_ERR_NOT_FOUND with a size:
// it is there, and has another size than is wanted.
static ts_result ts__reader_blob(ts_reader *reader, const uint64_t hash[2],
                                 const ts__blob_wish *wish,
                                 const uint8_t **bytes, size_t *size)
{
    *bytes = NULL;
    *size = 0;
    pthread_mutex_lock(&reader->blob_lock);
    ts_result result = ts__blobs_list(reader);
    if (result == TS_OK)
        result = ts__blob_find(reader, hash, wish, bytes, size);
    pthread_mutex_unlock(&reader->blob_lock);
    return result;
}

TS_API ts_result ts_reader_blob(ts_reader *reader, const uint64_t hash[2],
                                const void **bytes, size_t *size)
{
    static const ts__blob_wish any = { 0, UINT64_MAX, UINT64_MAX, NULL };
    const uint8_t *found;
    const ts_result result = ts__reader_blob(reader, hash, &any, &found, size);
    *bytes = found;
    if (result != TS_OK) *size = 0;
    return result;
}

TS_API void ts_reader_blobs_free(ts_reader *reader)
{
    pthread_mutex_lock(&reader->blob_lock);
    ts__kept_free(&reader->allocator, &reader->copies);
    reader->copies_age++;
    pthread_mutex_unlock(&reader->blob_lock);
}

TS_API bool ts_reader_blob_at(ts_reader *reader, size_t index, uint64_t hash[2])
{
    pthread_mutex_lock(&reader->blob_lock);
    const bool there =
        ts__blobs_list(reader) == TS_OK && index < reader->blob_count;
    if (there) memcpy(hash, reader->blobs[index].hash, 16);
    pthread_mutex_unlock(&reader->blob_lock);
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
    if (chunk >= reader->chunk_count || !reader->chunks[chunk].lod)
        return false;
    const ts__in_chunk *const from = &reader->chunks[chunk];
    const bool counter = from->header.event == TS_EVENT_COUNTER &&
                         from->header.track != TS_TRACK_MIXED;
    for (size_t i = 0; i < TS_LOD_CELLS; i++)
        cells[i] = ts__lod_cell(from->lod + i * 8, counter);
    return true;
}

/* ---- 10.17 Cursor ------------------------------------------------------- */

/*
    Chunks wait in the order of their first event. When time reaches one, it
    is decoded, its rows are put in order and it becomes a run; a heap gives
    the run whose next event comes first.
*/
typedef struct ts__run {
    struct ts__run *next_free;
    ts_columns columns;
    uint32_t *rows; // in order; then as much room for sorting
    size_t room;
    uint32_t count, next;
} ts__run;

typedef struct ts__head { // the next event of a run
    int64_t start, duration;
    uint32_t track, row;
    ts__run *run;
} ts__head;

typedef struct ts__waiting {
    int64_t first;
    size_t chunk;
} ts__waiting;

struct ts_cursor {
    ts_reader *reader;
    ts__clocks *clocks; // those of the time of the open
    ts_filter filter;
    uint32_t *tracks; // of the filter, sorted
    ts__waiting *waiting;
    size_t waiting_count, waiting_room, waiting_next;
    ts__head *heads;
    size_t head_count, head_room;
    ts__run *runs;  // without events, to be used again
    ts__run *spent; // its last event is in the caller's hands
    ts_result result;
};

static int ts__order_waiting(const void *a, const void *b)
{
    const ts__waiting *const x = a, *const y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return ts__order_u64(x->chunk, y->chunk);
}

static int ts__order_track(const void *a, const void *b)
{
    const uint32_t *const x = a, *const y = b;
    return ts__order_u64(*x, *y);
}

static inline uint32_t ts__row_track(const ts_columns *columns, uint32_t row)
{
    return columns->tracks ? columns->tracks[row] : columns->track;
}

// The order of two rows of a chunk. A zone stands behind those inside it.
static inline bool ts__row_before(const ts_columns *columns, uint32_t a,
                                  uint32_t b)
{
    const int64_t start_a = columns->start_ns[a];
    const int64_t start_b = columns->start_ns[b];
    if (start_a != start_b) return start_a < start_b;
    const uint32_t track_a = ts__row_track(columns, a);
    const uint32_t track_b = ts__row_track(columns, b);
    if (track_a != track_b) return track_a < track_b;
    const int64_t duration_a = columns->duration_ns[a];
    const int64_t duration_b = columns->duration_ns[b];
    if (duration_a != duration_b) return duration_a > duration_b;
    return columns->kind == TS_EVENT_ZONE ? a > b : a < b;
}

// The same for the heads of two runs.
static bool ts__head_before(const ts__head *a, const ts__head *b)
{
    if (a->start != b->start) return a->start < b->start;
    if (a->track != b->track) return a->track < b->track;
    if (a->duration != b->duration) return a->duration > b->duration;
    const ts_columns *const x = &a->run->columns, *const y = &b->run->columns;
    if (x->kind != y->kind) return x->kind < y->kind;
    if (x->kind == TS_EVENT_ZONE) return x->chunk > y->chunk;
    return x->chunk < y->chunk;
}

static void ts__heap_down(ts_cursor *cursor)
{
    ts__head *const heads = cursor->heads;
    const ts__head moved = heads[0];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= cursor->head_count) break;
        if (child + 1 < cursor->head_count &&
            ts__head_before(&heads[child + 1], &heads[child]))
            child++;
        if (!ts__head_before(&heads[child], &moved)) break;
        heads[at] = heads[child];
        at = child;
    }
    heads[at] = moved;
}

static void ts__heap_add(ts_cursor *cursor, ts__head head)
{
    ts__head *const heads = cursor->heads;
    size_t at = cursor->head_count++;
    while (at > 0 && ts__head_before(&head, &heads[(at - 1) / 2])) {
        heads[at] = heads[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heads[at] = head;
}

static ts__head ts__run_head(ts__run *run)
{
    const ts_columns *const columns = &run->columns;
    const uint32_t row = run->rows[run->next++];
    const ts__head head = { columns->start_ns[row], columns->duration_ns[row],
                            ts__row_track(columns, row), row, run };
    return head;
}

static bool ts__cursor_row_wanted(const ts_cursor *cursor,
                                  const ts_columns *columns, uint32_t row)
{
    const ts_filter *const filter = &cursor->filter;
    if (columns->tracks && filter->tracks &&
        !bsearch(&columns->tracks[row], filter->tracks, filter->track_count,
                 sizeof *filter->tracks, ts__order_track))
        return false;
    if (!ts__filter_timed(filter)) return true;
    const int64_t start = columns->start_ns[row];
    const int64_t end = start + columns->duration_ns[row];
    if (start >= filter->to_ns) return false;
    return end > filter->from_ns || start >= filter->from_ns;
}

static void ts__rows_merge(const ts_columns *columns, const uint32_t *from,
                           size_t low, size_t middle, size_t high, uint32_t *to)
{
    size_t a = low, b = middle;
    for (size_t i = low; i < high; i++) {
        const bool right =
            a == middle ||
            (b < high && ts__row_before(columns, from[b], from[a]));
        to[i] = right ? from[b++] : from[a++];
    }
}

static bool ts__rows_sorted(const ts_columns *columns, const uint32_t *rows,
                            size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (ts__row_before(columns, rows[i], rows[i - 1])) return false;
    return true;
}

// Merges; `spare` is as large as `rows`.
static void ts__rows_sort(const ts_columns *columns, uint32_t *rows,
                          uint32_t *spare, size_t count)
{
    uint32_t *from = rows, *to = spare;
    if (ts__rows_sorted(columns, rows, count)) return;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t low = 0; low < count; low += 2 * width) {
            const size_t middle = low + width < count ? low + width : count;
            const size_t high = middle + width < count ? middle + width : count;
            ts__rows_merge(columns, from, low, middle, high, to);
        }
        uint32_t *const kept = from;
        from = to;
        to = kept;
    }
    if (from != rows) memcpy(rows, from, count * sizeof *rows);
}

enum { TS__DIGIT_BITS = 11, TS__DIGITS = 1 << TS__DIGIT_BITS };

// One pass of a radix sort by a digit of start_ns - least.
static void ts__rows_deal(const int64_t *start_ns, int64_t least,
                          uint32_t shift, const uint32_t *from, uint32_t *to,
                          size_t count)
{
    uint32_t places[TS__DIGITS + 1] = { 0 };
#define TS__DIGIT(row) \
    ((uint64_t)(start_ns[row] - least) >> shift & (TS__DIGITS - 1))
    for (size_t i = 0; i < count; i++)
        places[TS__DIGIT(from[i]) + 1]++;
    for (size_t i = 1; i < TS__DIGITS; i++)
        places[i] += places[i - 1];
    for (size_t i = 0; i < count; i++)
        to[places[TS__DIGIT(from[i])]++] = from[i];
#undef TS__DIGIT
}

// Sorts by start, which for most chunks takes two passes, then what is equal.
static void ts__rows_radix(const ts_columns *columns, uint32_t *rows,
                           uint32_t *spare, size_t count)
{
    const int64_t *const start_ns = columns->start_ns;
    int64_t least = INT64_MAX, most = INT64_MIN;
    uint32_t *from = rows, *to = spare;
    for (size_t i = 0; i < count; i++) {
        if (start_ns[rows[i]] < least) least = start_ns[rows[i]];
        if (start_ns[rows[i]] > most) most = start_ns[rows[i]];
    }
    const uint64_t range = (uint64_t)(most - least);
    for (uint32_t shift = 0; shift < 64 && range >> shift;
         shift += TS__DIGIT_BITS) {
        ts__rows_deal(start_ns, least, shift, from, to, count);
        uint32_t *const kept = from;
        from = to;
        to = kept;
    }
    if (from != rows) memcpy(rows, from, count * sizeof *rows);
    for (size_t i = 0, next; i < count; i = next) {
        next = i + 1;
        while (next < count && start_ns[rows[next]] == start_ns[rows[i]])
            next++;
        if (next - i > 1) ts__rows_sort(columns, rows + i, spare, next - i);
    }
}

// Sorts run->rows; there is as much room behind them.
static void ts__run_sort(ts__run *run)
{
    const ts_columns *const columns = &run->columns;
    if (ts__rows_sorted(columns, run->rows, run->count)) return;
    if (run->count < TS__DIGITS)
        ts__rows_sort(columns, run->rows, run->rows + run->count, run->count);
    else
        ts__rows_radix(columns, run->rows, run->rows + run->count, run->count);
}

static bool ts__run_rows(ts_cursor *cursor, ts__run *run)
{
    const ts_allocator *const allocator = &cursor->reader->allocator;
    const ts_columns *const columns = &run->columns;
    const size_t room = 2 * (size_t)columns->count;
    run->count = run->next = 0;
    if (room > run->room) {
        ts__mem_put(allocator, run->rows, run->room * sizeof *run->rows);
        run->rows = ts__mem_get(allocator, room * sizeof *run->rows);
        run->room = run->rows ? room : 0;
        if (!run->rows) return false;
    }
    for (uint32_t i = 0; i < columns->count; i++)
        if (ts__cursor_row_wanted(cursor, columns, i))
            run->rows[run->count++] = i;
    ts__run_sort(run);
    return true;
}

static ts__run *ts__run_get(ts_cursor *cursor)
{
    ts__run *run = cursor->runs;
    if (run) {
        cursor->runs = run->next_free;
        return run;
    }
    run = ts__mem_get(&cursor->reader->allocator, sizeof *run);
    if (run) memset(run, 0, sizeof *run);
    return run;
}

static void ts__run_put(ts_cursor *cursor, ts__run *run)
{
    run->next_free = cursor->runs;
    cursor->runs = run;
}

// Time has reached a chunk: makes it a run, unless it is damaged or nothing
// of it is wanted.
static ts_result ts__run_open(ts_cursor *cursor, size_t chunk)
{
    ts_reader *const reader = cursor->reader;
    ts__head *const heads =
        ts__mem_more(&reader->allocator, cursor->heads, &cursor->head_room,
                     cursor->head_count, sizeof *heads);
    if (!heads) return TS_ERR_MEMORY;
    cursor->heads = heads;
    ts__run *const run = ts__run_get(cursor);
    if (!run) return TS_ERR_MEMORY;
    const ts__fault fault =
        ts__decode(reader, cursor->clocks, chunk, &run->columns);
    ts_result result =
        ts__in_chunk_report(reader, &reader->chunks[chunk], fault);
    if (result == TS_OK && !ts__run_rows(cursor, run)) result = TS_ERR_MEMORY;
    if (result == TS_OK && run->count > 0)
        ts__heap_add(cursor, ts__run_head(run));
    else
        ts__run_put(cursor, run);
    return result;
}

// Opens every chunk whose events may come before the first of the heap.
static bool ts__cursor_reach(ts_cursor *cursor)
{
    while (cursor->waiting_next < cursor->waiting_count) {
        const ts__waiting *const next = &cursor->waiting[cursor->waiting_next];
        if (cursor->head_count && next->first > cursor->heads[0].start)
            return true;
        const ts_result result = ts__run_open(cursor, next->chunk);
        if (cursor->result == TS_OK) cursor->result = result;
        if (result == TS_ERR_MEMORY) return false;
        cursor->waiting_next++;
    }
    return true;
}

TS_API bool ts_cursor_next(ts_cursor *cursor, ts_event *event)
{
    if (cursor->spent) ts__run_put(cursor, cursor->spent);
    cursor->spent = NULL;
    if (!ts__cursor_reach(cursor) || !cursor->head_count) return false;
    const ts__head head = cursor->heads[0];
    ts__run *const run = head.run;
    event->kind = run->columns.kind;
    event->track = head.track;
    event->start_ns = head.start;
    event->duration_ns = head.duration;
    event->columns = &run->columns;
    event->row = head.row;
    if (run->next < run->count) {
        cursor->heads[0] = ts__run_head(run);
    } else {
        cursor->spent = run;
        cursor->heads[0] = cursor->heads[--cursor->head_count];
    }
    if (cursor->head_count) ts__heap_down(cursor);
    return true;
}

TS_API ts_result ts_cursor_result(const ts_cursor *cursor)
{
    return cursor->result;
}

// Copies the filter; its tracks get sorted.
static bool ts__cursor_filter(ts_cursor *cursor, const ts_filter *filter)
{
    if (!filter) return true;
    cursor->filter = *filter;
    if (!filter->tracks) return true;
    const size_t size = (filter->track_count + 1) * sizeof *filter->tracks;
    cursor->tracks = ts__mem_get(&cursor->reader->allocator, size);
    if (!cursor->tracks) return false;
    memcpy(cursor->tracks, filter->tracks,
           filter->track_count * sizeof *filter->tracks);
    ts__sort(cursor->tracks, filter->track_count, sizeof *filter->tracks,
             ts__order_track);
    cursor->filter.tracks = cursor->tracks;
    return true;
}

static bool ts__cursor_wait(ts_cursor *cursor)
{
    const ts_reader *const reader = cursor->reader;
    cursor->waiting_room = reader->chunk_count + 1;
    cursor->waiting = ts__mem_get(
        &reader->allocator, cursor->waiting_room * sizeof *cursor->waiting);
    if (!cursor->waiting) return false;
    for (size_t i = 0; i < reader->chunk_count; i++) {
        const ts__in_chunk *const chunk = &reader->chunks[i];
        if (!ts__in_chunk_wanted(reader, &cursor->filter, chunk)) continue;
        const ts__waiting one = {
            ts__in_chunk_describe(cursor->clocks, chunk).first_ns, i
        };
        cursor->waiting[cursor->waiting_count++] = one;
    }
    ts__sort(cursor->waiting, cursor->waiting_count, sizeof *cursor->waiting,
             ts__order_waiting);
    return true;
}

TS_API ts_result ts_cursor_open(ts_cursor **out, ts_reader *reader,
                                const ts_filter *filter)
{
    *out = NULL;
    ts_cursor *const cursor = ts__mem_get(&reader->allocator, sizeof *cursor);
    if (!cursor) return TS_ERR_MEMORY;
    memset(cursor, 0, sizeof *cursor);
    cursor->reader = reader;
    cursor->clocks = reader->clocks;
    __atomic_add_fetch(&cursor->clocks->cursors, 1, __ATOMIC_RELAXED);
    if (ts__cursor_filter(cursor, filter) && ts__cursor_wait(cursor)) {
        *out = cursor;
        return TS_OK;
    }
    ts_cursor_close(cursor);
    return TS_ERR_MEMORY;
}

static void ts__run_free(ts_cursor *cursor, ts__run *run)
{
    const ts_allocator *const allocator = &cursor->reader->allocator;
    if (!run) return;
    ts_columns_close(cursor->reader, &run->columns);
    ts__mem_put(allocator, run->rows, run->room * sizeof *run->rows);
    ts__mem_put(allocator, run, sizeof *run);
}

TS_API void ts_cursor_close(ts_cursor *cursor)
{
    if (!cursor) return;
    const ts_allocator *const allocator = &cursor->reader->allocator;
    __atomic_sub_fetch(&cursor->clocks->cursors, 1, __ATOMIC_RELAXED);
    for (size_t i = 0; i < cursor->head_count; i++)
        ts__run_free(cursor, cursor->heads[i].run);
    ts__run_free(cursor, cursor->spent);
    while (cursor->runs) {
        ts__run *const run = cursor->runs;
        cursor->runs = run->next_free;
        ts__run_free(cursor, run);
    }
    ts__mem_put(allocator, cursor->heads,
                cursor->head_room * sizeof *cursor->heads);
    ts__mem_put(allocator, cursor->waiting,
                cursor->waiting_room * sizeof *cursor->waiting);
    if (cursor->tracks)
        ts__mem_put(allocator, cursor->tracks,
                    (cursor->filter.track_count + 1) * sizeof *cursor->tracks);
    ts__mem_put(allocator, cursor, sizeof *cursor);
}

TS_API ts_text ts_event_label(const ts_reader *reader, const ts_event *event)
{
    ts_text text = { "", 0 };
    ts_track track;
    const ts_launch_entry *launch;
    const uint32_t site = (uint32_t)ts_event_value(event, TS_COLUMN_SITE);
    switch (event->kind) {
    case TS_EVENT_KERNEL:
        launch = ts_reader_launch(
            reader, (uint32_t)ts_event_value(event, TS_COLUMN_LAUNCH));
        if (launch) text = ts_reader_name(reader, launch->name);
        break;
    case TS_EVENT_ZONE_ARG:
    case TS_EVENT_API_CALL:
    case TS_EVENT_HOST_FUNCTION:
    case TS_EVENT_COLLECTIVE:
        text = ts_reader_name(reader,
                              (uint32_t)ts_event_value(event, TS_COLUMN_NAME));
        break;
    case TS_EVENT_COUNTER:
        if (ts_reader_track(reader, event->track, &track)) text = track.name;
        break;
    case TS_EVENT_ZONE:
    case TS_EVENT_ZONE_OPEN:
    case TS_EVENT_MARK:
    case TS_EVENT_FRAME:
    case TS_EVENT_SPAN: text = ts_reader_site_name(reader, site); break;
    default: break;
    }
    if (text.size) return text;
    text.text = ts_event_name(event->kind);
    text.size = strlen(text.text);
    return text;
}
