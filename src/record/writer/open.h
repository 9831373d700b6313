/* ---- Writer: blobs, open, close ----------------------------------------- */

static void ts__put_blob(ts_writer *w, uint32_t kind, const uint64_t key[2],
                         const void *bytes, size_t size)
{
    const size_t whole = (sizeof(ts_chunk_header) + 16 + size + 7) & ~(size_t)7;
    uint8_t *chunk = (uint8_t *)ts__pages_new(whole);
    if (!chunk && w->crew) {
        ts__put_alone(w);
        chunk = (uint8_t *)ts__pages_new(whole);
    }
    if (!chunk) {
        ts__put_failed(w, TS_ERR_MEMORY);
        return;
    }
    uint8_t *p = ts__entries_begin(chunk, kind);
    memcpy(p, key, 16);
    if (size) memcpy(p + 16, bytes, size);
    ts__entries_end(chunk, p + 16 + size, 1);
    ts__put_append(w, chunk, whole);
    munmap(chunk, whole);
}

void ts_writer_blob(ts_writer *w, const void *bytes, size_t size,
                    uint64_t hash[2])
{
    if ((!bytes && size) || size > UINT32_MAX - 31u) {
        ts__put_failed(w, TS_ERR_USAGE);
        return;
    }
    const XXH128_hash_t sum = XXH3_128bits(bytes, size);
    const uint64_t key[2] = { sum.low64, sum.high64 };
    if (hash) memcpy(hash, key, sizeof key);
    bool known;
    ts__put_find(w, TS_CHUNK_BLOB, XXH3_128bits_withSeed(key, 16, 17), &known);
    if (w->file.error == TS_OK && !known)
        ts__put_blob(w, TS_CHUNK_BLOB, key, bytes, size);
}

void ts_writer_capture(ts_writer *w, const void *record, size_t size)
{
    if (!record || !size || size > TS_CHUNK_BYTES_MAX - 16) {
        ts__put_failed(w, TS_ERR_USAGE);
        return;
    }
    const XXH128_hash_t sum = XXH3_128bits(record, size);
    const uint64_t key[2] = { sum.low64, sum.high64 };
    ts__put_entries(w); // before the record that refers to them
    if (w->file.error == TS_OK)
        ts__put_blob(w, TS_CHUNK_CAPTURE, key, record, size);
}

/* Open and close. */

static void ts__put_columns(ts_writer *w)
{
    memset(w->cell, 255, sizeof w->cell);
    for (uint32_t kind = 1; kind < TS_EVENT_LIMIT; kind++) {
        const uint8_t *const columns = ts_event_columns(kind);
        if (!columns) continue;
        for (uint8_t i = 0; columns[i]; i++) {
            w->cell[kind][columns[i]] = i;
            w->width[kind] = (uint8_t)(i + 1);
        }
    }
}

static void ts__put_header(ts_file_header *header, const ts_writer_desc *desc)
{
    static const uint8_t none[16] = { 0 };
    const XXH128_hash_t usual = XXH3_128bits("tracesmith", 10);
    const uint64_t session[2] = { usual.low64, usual.high64 };
    memcpy(header->magic, TS_FILE_MAGIC, sizeof header->magic);
    header->major = TS_FORMAT_MAJOR;
    header->minor = TS_FORMAT_MINOR;
    memcpy(header->session,
           memcmp(desc->session, none, 16) ? (const void *)desc->session
                                           : (const void *)session,
           16);
    header->start_tick = TS__PUT_EPOCH;
    header->start_realtime_ns = desc->start_realtime_ns;
    header->process = desc->process;
    ts__header_seal(header);
}

// Resolves the paths: a link is followed, so that its target is replaced.
static ts_result ts__put_paths(ts_writer *w, const char *path)
{
    struct stat st;
    char whole[PATH_MAX];
    if (stat(path, &st) == 0) {
        if (!S_ISREG(st.st_mode)) return TS_ERR_NOT_FILE;
        if (!realpath(path, whole)) return TS_ERR_IO;
        path = whole;
    }
    if (!ts__copy_text(w->path, sizeof w->path, path)) return TS_ERR_USAGE;
    snprintf(w->part_path, sizeof w->part_path, "%s.part", w->path);
    return TS_OK;
}

// A sample of the writer's only clock, which counts nanoseconds.
static ts_clock_entry ts__put_sample(const ts_writer *w, int64_t time_ns)
{
    ts_clock_entry sample;
    memset(&sample, 0, sizeof sample);
    sample.type =
        w->start_raw == TS__PUT_EPOCH ? TS_CLOCK_OTHER : TS_CLOCK_MONOTONIC_RAW;
    sample.tick = ts__put_tick(time_ns);
    sample.raw_ns = w->start_raw + (sample.tick - TS__PUT_EPOCH);
    return sample;
}

static ts_result ts__put_clock(ts_writer *w, const ts_writer_desc *desc)
{
    w->start_raw = desc->start_raw_ns ? desc->start_raw_ns : TS__PUT_EPOCH;
    ts_clock_entry sample = ts__put_sample(w, 0);
    sample.realtime_ns = desc->start_realtime_ns;
    sample.boottime_ns = desc->start_boottime_ns;
    return ts__writer_clock(&w->file, 0, &sample);
}

void ts_writer_clock(ts_writer *w, int64_t time_ns, uint64_t realtime_ns,
                     uint64_t boottime_ns, uint64_t uncertainty_ns)
{
    ts__put_wait(w, 0);
    if (w->file.error != TS_OK) return;
    ts_clock_entry sample = ts__put_sample(w, time_ns);
    sample.realtime_ns = realtime_ns;
    sample.boottime_ns = boottime_ns;
    sample.uncertainty_ns = uncertainty_ns;
    ts__put_failed(w, ts__writer_clock(&w->file, 0, &sample));
}

static void ts__put_free(ts_writer *w)
{
    ts__put_crew_close(w);
    for (uint32_t i = 0; i < w->rows_count; i++)
        ts__put_forget(w, &w->rows[i]);
    for (size_t i = 0; i < sizeof w->lists / sizeof *w->lists; i++)
        free(w->lists[i].bytes);
    free(w->rows);
    free(w->table);
    free(w->known);
    if (w->encoder) munmap(w->encoder, sizeof *w->encoder);
    if (w->file.scratch) munmap(w->file.scratch, TS__SCRATCH_BYTES);
    if (w->file.sidecar) munmap(w->file.sidecar, sizeof *w->file.sidecar);
    munmap(w, sizeof *w);
}

static ts_result ts__put_open(ts_writer *w, const ts_writer_desc *desc)
{
    ts_result result = ts__put_paths(w, desc->path);
    if (result != TS_OK) return result;
    w->encoder = (ts__encoder *)ts__pages_new(sizeof *w->encoder);
    w->file.scratch = (uint8_t *)ts__pages_new(TS__SCRATCH_BYTES);
    w->file.sidecar = (ts__sidecar *)ts__pages_new(sizeof *w->file.sidecar);
    if (!w->encoder || !w->file.scratch || !w->file.sidecar)
        return TS_ERR_MEMORY;
    w->encoder->compress = desc->compress ? 3 : 0;
    ts__put_columns(w);
    ts__put_header(&w->file.sidecar->head.header, desc);
    result = ts__writer_create(&w->file, w->part_path);
    if (result == TS_OK) result = ts__put_clock(w, desc);
    if (result == TS_OK) ts__put_crew_open(w, desc->threads);
    return result;
}

ts_result ts_writer_open(ts_writer **writer, const ts_writer_desc *desc)
{
    if (!writer) return TS_ERR_USAGE;
    *writer = NULL;
    if (!desc || !desc->path) return TS_ERR_USAGE;
#ifndef TRACESMITH_ZSTD
    if (desc->compress) return TS_ERR_UNSUPPORTED;
#endif
    ts_writer *const w = (ts_writer *)ts__pages_new(sizeof *w);
    if (!w) return TS_ERR_MEMORY;
    w->process = getpid();
    w->file.file.fd = -1;
    const ts_result result = ts__put_open(w, desc);
    if (result == TS_OK) {
        *writer = w;
    } else {
        // The file of another process is not ours to remove.
        if (w->part_path[0] && result != TS_ERR_BUSY) unlink(w->part_path);
        ts__file_close(&w->file.file);
        ts__put_free(w);
    }
    return result;
}

void ts_writer_origin(ts_writer *w, int64_t time_ns, uint64_t realtime_ns)
{
    ts_file_header *const header = &w->file.sidecar->head.header;
    if (w->file.error != TS_OK) return;
    header->start_tick = ts__put_tick(time_ns);
    header->start_realtime_ns = realtime_ns;
    ts__header_seal(header);
    ts__put_failed(w,
                   ts__file_write(w->file.file.fd, 0, header, sizeof *header));
}

ts_result ts_writer_error(const ts_writer *w)
{
    return w->file.error;
}

static void ts__put_bad(ts_writer *w)
{
    for (uint32_t i = 0; i < w->rows_count; i++) {
        const ts__put_rows *const rows = &w->rows[i];
        if (!rows->bad) continue;
        const char *const text = "time out of range";
        ts_writer_loss(w, rows->track, TS_LOSS_BAD_RECORD,
                       ts_writer_name(w, text, strlen(text)), rows->bad, 0, 0);
    }
}

// Restores the trace as it was before it was extended.
static void ts__put_restore(ts_writer *w)
{
    const uint64_t size = w->end + sizeof w->end_chunk;
    if (ftruncate(w->file.file.fd, (off_t)size) != 0) return;
    ts__file_write(w->file.file.fd, w->end, &w->end_chunk, sizeof w->end_chunk);
}

static ts_result ts__put_extend(ts_writer *w, const char *path)
{
    struct stat st;
    ts_chunk_header end;
    ts__writer_state *const state = &w->file.sidecar->state;
    ts_file_header *const header = &w->file.sidecar->head.header;
    if (!ts__copy_text(w->path, sizeof w->path, path)) return TS_ERR_USAGE;
    w->file.path = w->path;
    if (ts__file_open(&w->file.file, path, O_RDWR, 0) < 0) return TS_ERR_IO;
    const int fd = w->file.file.fd;
    if (!ts__file_lock(fd) && (errno == EAGAIN || errno == EACCES))
        return TS_ERR_BUSY;
    if (fstat(fd, &st) != 0) return TS_ERR_IO;
    const uint64_t size = (uint64_t)st.st_size;
    if (size < sizeof *header ||
        !ts__file_read(fd, 0, header, sizeof *header) ||
        memcmp(header->magic, TS_FILE_MAGIC, sizeof header->magic) != 0)
        return TS_ERR_NOT_SBT;
    if (size < sizeof *header + sizeof end ||
        !ts__file_read(fd, size - sizeof end, &end, sizeof end) ||
        end.magic != TS_CHUNK_MAGIC || end.kind != TS_CHUNK_END ||
        end.checksum !=
            ts__checksum(
                "", 0,
                ts__checksum(&end, offsetof(ts_chunk_header, checksum), 0)))
        return TS_ERR_TRUNCATED;
    w->end = size - sizeof end;
    w->end_chunk = end;
    state->offset = w->end;
    state->sequence = end.sequence;
    state->index_offset = end.first;
    return TS_OK;
}

ts_result ts_writer_extend(ts_writer **writer, const char *path, uint32_t names,
                           uint32_t symbols)
{
    if (!writer) return TS_ERR_USAGE;
    *writer = NULL;
    if (!path) return TS_ERR_USAGE;
    ts_writer *const w = (ts_writer *)ts__pages_new(sizeof *w);
    if (!w) return TS_ERR_MEMORY;
    w->process = getpid();
    w->file.file.fd = -1;
    w->last_id[TS_CHUNK_NAMES] = names;
    w->last_id[TS_CHUNK_SYMBOLS] = symbols;
    ts__put_columns(w);
    w->encoder = (ts__encoder *)ts__pages_new(sizeof *w->encoder);
    w->file.scratch = (uint8_t *)ts__pages_new(TS__SCRATCH_BYTES);
    w->file.sidecar = (ts__sidecar *)ts__pages_new(sizeof *w->file.sidecar);
    ts_result result = TS_ERR_MEMORY;
    if (w->encoder && w->file.scratch && w->file.sidecar)
        result = ts__put_extend(w, path);
    if (result == TS_OK) {
        *writer = w;
    } else {
        ts__file_close(&w->file.file);
        ts__put_free(w);
    }
    return result;
}

ts_result ts_writer_close(ts_writer *w)
{
    if (!w) return TS_ERR_USAGE;
    if (ts__put_inherited(w)) {
        ts_writer_abandon(w);
        return TS_ERR_USAGE;
    }
    for (uint32_t kind = 1; kind < TS_EVENT_LIMIT; kind++)
        ts__put_kind(w, kind);
    ts__put_bad(w);
    ts__put_entries(w);
    ts__put_alone(w); // what follows needs memory, too
    w->file.final = true;
    if (w->file.error == TS_OK) ts__put_failed(w, ts__writer_finish(&w->file));
    if (w->file.error == TS_OK && !w->end && rename(w->part_path, w->path) != 0)
        ts__put_failed(w, TS_ERR_IO);
    const ts_result result = w->file.error;
    if (result == TS_OK) {
        ts__file_close(&w->file.file);
        ts__put_free(w);
    } else {
        ts_writer_abandon(w);
    }
    return result;
}

void ts_writer_abandon(ts_writer *w)
{
    if (!w) return;
    const bool own = !ts__put_inherited(w);
    if (own && w->end)
        ts__put_restore(w);
    else if (own)
        unlink(w->part_path);
    ts__file_close(&w->file.file);
    ts__put_free(w);
}

#endif // TRACESMITH_WRITER

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif
