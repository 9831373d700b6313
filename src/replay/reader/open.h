/* ---- Reader: open, refresh, close --------------------------------------- */

_Static_assert(TS_EVENT_LIMIT <= 64, "sets of events are bits of 64");
#define TS__X(name, value, text) | UINT64_C(1) << value
static const uint64_t ts__known_events = 0 TS_EVENTS(TS__X);
#undef TS__X

// Returns whether a chunk holds events of a kind that this version knows.
static bool ts__in_chunk_known(const ts_chunk_header *header)
{
    return header->kind == TS_CHUNK_EVENTS && header->event < 64 &&
           ts__known_events >> header->event & 1;
}

static bool ts__in_chunk_kind_known(uint8_t kind)
{
    return (kind >= TS_CHUNK_NAMES && kind <= TS_CHUNK_SYMBOLS) ||
           kind == TS_CHUNK_EVENTS || kind == TS_CHUNK_BLOB ||
           kind == TS_CHUNK_CAPTURE || kind == TS_CHUNK_PICTURES ||
           kind == TS_CHUNK_TOP;
}

static ts_chunk_info ts__in_chunk_describe(const ts__clocks *clocks,
                                           const ts__in_chunk *chunk)
{
    ts_chunk_info info = { chunk->offset, chunk->header, 0, 0 };
    const ts_chunk_header *const header = &chunk->header;
    info.header.checksum = 0; // an index entry has none
    if (header->kind != TS_CHUNK_EVENTS || !header->count) return info;
    info.first_ns = ts__clock_time(clocks, header->clock, header->first);
    info.last_ns = ts__clock_time(clocks, header->clock, header->last);
    return info;
}

// Returns whether the ticks of a chunk can be converted. Ticks are compared
// with samples modulo 2^64: in a chunk 2^63 ticks away from them the times
// would jump.
static bool ts__in_chunk_timed(const ts__clocks *clocks,
                               const ts__in_chunk *chunk)
{
    const ts_chunk_info info = ts__in_chunk_describe(clocks, chunk);
    return info.first_ns <= info.last_ns;
}

static void ts__info_chunk(ts_reader *reader, const ts__in_chunk *chunk,
                           bool *any)
{
    ts_info *const info = &reader->info;
    const ts_chunk_header *const header = &chunk->header;
    if (!ts__in_chunk_kind_known(header->kind)) info->unknown_chunks++;
    if (header->kind != TS_CHUNK_EVENTS) return;
    if (!ts__clock_known(reader->clocks, header->clock))
        info->clock_estimated = true;
    if (!ts__in_chunk_known(header)) {
        info->unknown_events += header->count;
        return;
    }
    info->counts[header->event] += header->count;
    info->stored_bytes[header->event] += ts__in_chunk_bytes(header);
    if (!header->count || !ts__in_chunk_timed(reader->clocks, chunk)) return;
    const ts_chunk_info times = ts__in_chunk_describe(reader->clocks, chunk);
    if (!*any || times.first_ns < info->first_ns)
        info->first_ns = times.first_ns;
    if (!*any || times.last_ns > info->last_ns) info->last_ns = times.last_ns;
    *any = true;
}

// The same for all chunks of each kind, of which the top has the sums.
static void ts__info_top(ts_reader *reader, bool *any)
{
    ts_info *const info = &reader->info;
    for (uint32_t i = 0; i < reader->top.header.kinds; i++) {
        const ts_top_kind kind = ts__top_kind_at(reader, i);
        ts__in_chunk all = { .header = { .kind = TS_CHUNK_EVENTS,
                                         .event = (uint8_t)kind.event,
                                         .clock = kind.clock,
                                         .count = kind.count > 0,
                                         .first = kind.first,
                                         .last = kind.last } };
        if (kind.event > UINT8_MAX || !kind.count) continue;
        ts__info_chunk(reader, &all, any);
        if (!ts__in_chunk_known(&all.header)) {
            info->unknown_events += kind.count - all.header.count;
            continue;
        }
        info->counts[kind.event] += kind.count - all.header.count;
        info->stored_bytes[kind.event] +=
            kind.stored - ts__in_chunk_bytes(&all.header);
    }
}

static void ts__info_header(ts_reader *reader)
{
    ts_info *const info = &reader->info;
    memcpy(info->session, reader->header.session, sizeof info->session);
    info->major = reader->header.major;
    info->minor = reader->header.minor;
    info->process = reader->header.process;
    info->start_realtime_ns = reader->header.start_realtime_ns;
    info->file_bytes = reader->size;
    ts_track track;
    for (size_t i = 0; reader->header_damaged; i++) {
        if (!ts_reader_track_at(reader, i, &track)) break;
        if (track.type != TS_TRACK_PROCESS) continue;
        info->process = (uint32_t)track.number;
        break;
    }
}

static void ts__info_finish(ts_reader *reader)
{
    ts_info *const info = &reader->info;
    bool any = false;
    ts__info_header(reader);
    memset(info->counts, 0, sizeof info->counts);
    memset(info->stored_bytes, 0, sizeof info->stored_bytes);
    info->unknown_chunks = info->unknown_events = info->lost = 0;
    info->first_ns = info->last_ns = 0;
    for (size_t i = 0; i < reader->chunk_count; i++)
        ts__info_chunk(reader, &reader->chunks[i], &any);
    if (reader->top.used) ts__info_top(reader, &any);
    for (size_t i = 0; i < reader->loss_count; i++)
        if (reader->losses[i].cause < TS_LOSS_STALL_FIRST)
            info->lost = ts__sum(info->lost, reader->losses[i].count);
    const uint64_t recorded = ts__session_number(reader, "salvaged.records");
    if (recorded > info->salvaged) info->salvaged = recorded;
    info->track_count = (uint32_t)reader->tables[TS_CHUNK_TRACKS].count;
    info->site_count = (uint32_t)reader->tables[TS_CHUNK_SITES].count;
    info->name_count = (uint32_t)reader->tables[TS_CHUNK_NAMES].count;
    info->launch_count = (uint32_t)reader->tables[TS_CHUNK_LAUNCHES].count;
}

// Loads and derives everything that the chunk table leads to.
static ts_result ts__reader_finish(ts_reader *reader)
{
    ts_result result = ts__load_all(reader);
    for (uint32_t i = 0; result == TS_OK && i < TS__TABLES; i++)
        if (!ts__table_finish(reader, &reader->tables[i]))
            result = TS_ERR_MEMORY;
    if (result == TS_OK && !ts__symbols_finish(reader)) result = TS_ERR_MEMORY;
    if (result == TS_OK) ts__metadata_finish(reader);
    if (result == TS_OK) result = ts__clocks_finish(reader);
    if (result == TS_OK) result = ts__losses_finish(reader);
    if (result == TS_OK) result = ts__index_pictures(reader);
    if (result == TS_OK) ts__info_finish(reader);
    return result;
}

// Salvages a trace whose writer is gone. Returns whether the file has changed.
static bool ts__reader_salvage(ts_reader *reader)
{
    ts_info *const info = &reader->info;
    info->salvage = ts__leftover_state(reader);
    info->live = info->salvage == TS_ERR_BUSY;
    if (info->salvage == TS_ERR_STATE) {
        if (reader->desc.no_salvage) return false;
#ifdef TRACESMITH_DISABLE
        info->salvage = TS_ERR_UNSUPPORTED;
#else
        info->salvage = ts_salvage(reader->path, &info->salvaged);
#endif
    }
    info->live = info->salvage == TS_ERR_BUSY;
    info->salvage_failed = info->salvage != TS_OK &&
                           info->salvage != TS_ERR_BUSY &&
                           info->salvage != TS_ERR_NOT_FOUND;
    return info->salvage == TS_OK;
}

static ts_result ts__header_read(ts_reader *reader)
{
    ts_file_header *const header = &reader->header;
    const size_t checked = offsetof(ts_file_header, checksum);
    const size_t size =
        reader->size < sizeof *header ? (size_t)reader->size : sizeof *header;
    const ts__fault read = ts__read_at(reader, 0, header, size);
    if (read.result != TS_OK) return read.result;
    if (memcmp(header, TS_FILE_MAGIC, size < 8 ? size : 8) != 0)
        return TS_ERR_NOT_SBT;
    if (size < sizeof *header) return TS_ERR_TRUNCATED;
    if (XXH3_64bits(header, checked) == header->checksum) {
        memcpy(&reader->session, header->session, sizeof reader->session);
        reader->session_known = true;
        return header->major == TS_FORMAT_MAJOR && !header->flags
                   ? TS_OK
                   : TS_ERR_VERSION;
    }
    memset(header, 0, sizeof *header);
    header->major = TS_FORMAT_MAJOR;
    reader->header_damaged = true;
    const ts__fault fault = ts__corrupt("the file header's checksum is wrong");
    return ts__damage_note(reader, fault, 0, sizeof *header) ? TS_OK
                                                             : TS_ERR_MEMORY;
}

// With a damaged header the first valid chunk determines the session.
static void ts__header_guess(ts_reader *reader)
{
    ts__in_chunk chunk;
    ts__walk_reset(reader);
    uint64_t first = sizeof(ts_file_header);
    if (first >= reader->size) return;
    first = ts__walk_search(reader, first - 8);
    if (first >= reader->size) return;
    ts__in_chunk_check(reader, first, &chunk);
    reader->session = chunk.header.session;
    reader->session_known = true;
    memcpy(reader->header.session, &reader->session, sizeof reader->session);
}

static ts_result ts__reader_load(ts_reader *reader)
{
    ts__in_chunk end;
    ts_result result = TS_OK;
    if (reader->path) result = ts__path_open(reader);
    if (result == TS_OK)
        result = reader->size ? ts__header_read(reader) : TS_ERR_TRUNCATED;
    if (result != TS_OK) return result;
    if (reader->header_damaged) ts__header_guess(reader);
    if (!ts__index_end(reader, &end)) {
        ts__reader_salvage(reader);
        ts__reader_grow(reader); // the writer may just have finished
    }
    result = ts__top_read(reader);
    if (result == TS_OK)
        result = ts__top_dictionaries(reader, true);
    else if (result != TS_ERR_MEMORY)
        result = ts__index_or_walk(reader);
    return result == TS_OK ? ts__reader_finish(reader) : result;
}

static bool ts__reader_defaults(ts_reader *reader)
{
    reader->threads = ts__thread_count(reader->desc.threads, TS__THREADS_MAX);
    if (!reader->desc.inflate_bytes) reader->desc.inflate_bytes = 1 << 30;
    reader->fd = -1;
    reader->bytes = reader->desc.bytes;
    reader->size = reader->desc.size;
    if (reader->bytes) return true;
    if (reader->desc.read) {
        ts__reader_grow(reader);
        return true;
    }
    reader->path_size = strlen(reader->desc.path) + 1;
    reader->path = ts__mem_get(&reader->allocator, reader->path_size);
    if (reader->path)
        memcpy(reader->path, reader->desc.path, reader->path_size);
    return reader->path != NULL;
}

TS_API ts_result ts_reader_open(ts_reader **out, const ts_reader_desc *desc)
{
    if (out) *out = NULL;
    if (!out || !desc || (!desc->path && !desc->bytes && !desc->read))
        return TS_ERR_USAGE;
    ts_allocator allocator = desc->allocator;
    if (!allocator.resize) allocator.resize = ts__mem_default;
    ts_reader *const reader = ts__mem_get(&allocator, sizeof *reader);
    if (!reader) return TS_ERR_MEMORY;
    memset(reader, 0, sizeof *reader);
    reader->allocator = allocator;
    reader->desc = *desc;
    reader->copies_age = 1;
    ts__mutex_open(&reader->lock);
    ts__mutex_open(&reader->blob_lock);
    ts__mutex_open(&reader->table_lock);
    ts_result result = TS_ERR_MEMORY;
    if (ts__reader_defaults(reader)) result = ts__reader_load(reader);
    if (result == TS_OK)
        *out = reader;
    else
        ts_reader_close(reader);
    return result;
}

static void ts__reader_free_tables(ts_reader *reader)
{
    const ts_allocator *const allocator = &reader->allocator;
    for (uint32_t i = 0; i < TS__TABLES; i++) {
        ts__table *const table = &reader->tables[i];
        ts__mem_put(allocator, table->items,
                    table->capacity * sizeof *table->items);
        ts__mem_put(allocator, table->dense,
                    table->dense_size * sizeof *table->dense);
    }
    ts__mem_put(allocator, reader->symbols,
                reader->symbol_count * sizeof *reader->symbols);
    ts__memory_blocks_free(allocator, &reader->blocks);
    ts__memory_blocks_free(allocator, &reader->copies);
    while (reader->clocks) {
        ts__clocks *const clocks = reader->clocks;
        reader->clocks = clocks->older;
        ts__mem_put(allocator, clocks, clocks->memory_size);
    }
}

TS_API void ts_reader_close(ts_reader *reader)
{
    if (!reader) return;
    const ts_allocator allocator = reader->allocator;
    ts__mem_put(&reader->allocator, reader->piped, reader->piped_size);
    ts__reader_free_tables(reader);
    ts__path_close(reader);
    ts__mem_put(&allocator, reader->path, reader->path_size);
    ts__mem_put(&allocator, reader->chunks,
                reader->chunk_capacity * sizeof *reader->chunks);
    ts__mem_put(&allocator, reader->parts,
                reader->part_capacity * sizeof *reader->parts);
    ts__mem_put(&allocator, reader->samples,
                reader->sample_capacity * sizeof *reader->samples);
    ts__mem_put(&allocator, reader->metadata,
                reader->metadata_capacity * sizeof *reader->metadata);
    ts__mem_put(&allocator, reader->lost,
                reader->lost_capacity * sizeof *reader->lost);
    ts__mem_put(&allocator, reader->losses, reader->losses_size);
    ts__mem_put(&allocator, reader->damages,
                reader->damage_capacity * sizeof *reader->damages);
    ts__mem_put(&allocator, reader->blobs,
                reader->blob_capacity * sizeof *reader->blobs);
    ts__mem_put(&allocator, reader->captures,
                reader->capture_capacity * sizeof *reader->captures);
    ts__mem_put(&allocator, reader->image_places,
                reader->images_sorted * sizeof *reader->image_places);
    ts__mem_put(&allocator, reader->images,
                reader->image_capacity * sizeof *reader->images);
    ts__mutex_close(&reader->lock);
    ts__mutex_close(&reader->blob_lock);
    ts__mutex_close(&reader->table_lock);
    ts__mem_put(&allocator, reader, sizeof *reader);
}

// Removes the damage at the end of the file: it may have been a chunk that was
// only half written.
static void ts__refresh_tail(ts_reader *reader)
{
    if (!reader->tail_damage) return;
    size_t i = reader->damage_count;
    while (i > 0 && reader->damages[i - 1].offset != reader->resume)
        i--;
    if (!i) return;
    reader->damage_count--;
    memmove(&reader->damages[i - 1], &reader->damages[i],
            (reader->damage_count - (i - 1)) * sizeof *reader->damages);
    reader->tail_damage = reader->after_damage = false;
}

TS_API bool ts_reader_refresh(ts_reader *reader)
{
    if (reader->bytes || !reader->desc.length || reader->info.finished)
        return false;
    const bool lived = reader->info.live;
    bool more = ts__reader_grow(reader);
    // If there is nothing new, the writer may be gone. It may have written more
    // between the two checks, so check the size again.
    if (!more) {
        more = ts__reader_salvage(reader);
        if (ts__reader_grow(reader) || reader->info.live != lived) more = true;
    }
    if (!more && reader->loaded == reader->chunk_count) return false;
    ts__refresh_tail(reader);
    return ts__walk_on(reader) == TS_OK && ts__reader_finish(reader) == TS_OK;
}

TS_API const ts_info *ts_reader_info(const ts_reader *reader)
{
    return &reader->info;
}

TS_API size_t ts_reader_chunk_count(const ts_reader *reader)
{
    return ts_reader_index(reader) == TS_OK ? reader->chunk_count : 0;
}

TS_API bool ts_reader_chunk(const ts_reader *reader, size_t index,
                            ts_chunk_info *info)
{
    if (index >= ts_reader_chunk_count(reader)) return false;
    *info = ts__in_chunk_describe(reader->clocks, &reader->chunks[index]);
    return true;
}
