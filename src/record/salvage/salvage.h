/* ---- Salvage ------------------------------------------------------------ */

#if defined(TRACESMITH_IMPLEMENTATION) && !defined(TRACESMITH_DISABLE) && \
    (defined(TRACESMITH_SALVAGE) || \
     defined(TRACESMITH_REPLAY_IMPLEMENTATION)) && \
    !defined(TS__SALVAGE_IMPLEMENTED)
#define TS__SALVAGE_IMPLEMENTED
TS__SMALL_BEGIN

typedef struct ts__rescue { // one trace being salvaged
    ts__writer writer;
    ts__encoder *encoder;
    ts__leftover found;
    uint8_t *map;
    uint64_t size;
    ts__block log[TS__BLOCKS_MAX];
    ts__ring *rings[TS__RINGS_MAX];
} ts__rescue;

// Whether the trace has its end chunk, so that there is nothing to do.
static bool ts__trace_finished(int fd, uint64_t size)
{
    ts_chunk_header end;
    if (size < 128 || !ts__file_read(fd, size - sizeof end, &end, sizeof end))
        return false;
    return end.magic == TS_CHUNK_MAGIC && end.kind == TS_CHUNK_END &&
           end.stored_size == 0 &&
           end.checksum ==
               ts__checksum(
                   "", 0,
                   ts__checksum(&end, offsetof(ts_chunk_header, checksum), 0));
}

// The sidecar is untrusted input: every number in it that is used as a position
// or a count is checked once, here.
static bool ts__rescue_state_fits(const ts__writer_state *state)
{
    return state->index_count <= TS__INDEX_ENTRIES &&
           state->offset >= sizeof(ts_file_header);
}

// Finds the log's blocks and cuts each where its entries become invalid.
static bool ts__rescue_log(ts__rescue *r)
{
    const ts__sidecar *const s = r->writer.sidecar;
    uint64_t before = sizeof *s; // blocks do not overlap
    for (uint32_t i = 0; i < s->block_count; i++) {
        ts__block *const block = &r->log[i];
        const uint64_t offset = s->blocks[i].offset;
        uint64_t used;
        if (offset < before + sizeof used || offset > r->size || offset % 8)
            return false;
        block->bytes = r->map + offset;
        block->used = &block->kept;
        memcpy(&used, block->bytes - sizeof used, sizeof used);
        if (used > r->size - offset || s->blocks[i].written > used ||
            s->blocks[i].written % 8)
            return false;
        before = offset + used;
        while (used - block->kept >= sizeof(ts__entry)) {
            ts__entry e;
            memcpy(&e, block->bytes + block->kept, sizeof e);
            const uint64_t size = ts__entry_room(e.size);
            if (e.size > TS__NAME_MAX || size > used - block->kept) break;
            block->kept += size;
        }
    }
    return true;
}

static bool ts__rescue_ring_fits(const ts__rescue *r, uint32_t i)
{
    const ts__sidecar *const s = r->writer.sidecar;
    const uint64_t offset = s->rings[i].offset, size = s->rings[i].size;
    const uint64_t before =
        i ? s->rings[i - 1].offset + s->rings[i - 1].size : sizeof *s;
    if (offset < before || offset > r->size || offset % 4096 ||
        size > r->size - offset || size < ts__ring_offset())
        return false;
    const ts__ring *const ring = (const ts__ring *)(void *)(r->map + offset);
    return ring->shift >= 4 && ring->shift <= 32 &&
           ring->mask == (UINT64_C(1) << ring->shift) - 1 &&
           ring->lap == UINT64_C(1) << (57 - ring->shift) &&
           size >= ts__ring_offset() + ((uint64_t)16 << ring->shift);
}

// A private copy of a sidecar that another user owns (for root): its owner
// could write to it or truncate it meanwhile. Progress is not stored in the
// original; a failed salvage begins again.
static void *ts__rescue_copy(int fd, uint64_t size)
{
    uint64_t done = 0;
    ssize_t n = 1;
    uint8_t *const copy = size <= UINT64_C(4) << 30
                              ? (uint8_t *)ts__pages_new((size_t)size)
                              : NULL;
    while (copy && n > 0 && done < size) {
        n = pread(fd, copy + done, (size_t)(size - done), (off_t)done);
        if (n > 0) done += (uint64_t)n;
    }
    return copy ? copy : MAP_FAILED;
}

static ts_result ts__rescue_map(ts__rescue *r, const ts_file_header *header)
{
    struct stat st;
    if (fstat(r->found.fd, &st) != 0) return TS_ERR_IO;
    r->size = (uint64_t)st.st_size;
    if (r->size < sizeof(ts__sidecar)) return TS_ERR_VERSION;
    void *const map = st.st_uid == geteuid()
                          ? mmap(NULL, (size_t)r->size, PROT_READ | PROT_WRITE,
                                 MAP_SHARED, r->found.fd, 0)
                          : ts__rescue_copy(r->found.fd, r->size);
    if (map == MAP_FAILED) return TS_ERR_MEMORY;
    r->map = (uint8_t *)map;
    ts__sidecar *const s = (ts__sidecar *)map;
    r->writer.sidecar = s;
    if (memcmp(s->head.magic, TS__SIDECAR_MAGIC, sizeof s->head.magic) != 0 ||
        s->head.layout != sizeof *s)
        return TS_ERR_VERSION;
    if (memcmp(s->head.header.session, header->session, 16) != 0)
        return TS_ERR_NOT_FOUND;
    if (s->block_count > TS__BLOCKS_MAX || s->ring_count > TS__RINGS_MAX ||
        s->step > 2 || !ts__rescue_log(r) ||
        !ts__rescue_state_fits(s->step == 1 ? &s->before : &s->state))
        return TS_ERR_CORRUPT;
    for (uint32_t i = 0; i < s->ring_count; i++) {
        if (!ts__rescue_ring_fits(r, i)) return TS_ERR_CORRUPT;
        r->rings[i] = (ts__ring *)(void *)(r->map + s->rings[i].offset);
        // A ring holds at most one lap below its head.
        if (r->rings[i]->head < r->rings[i]->mask + 1) return TS_ERR_CORRUPT;
    }
    return TS_OK;
}

// Undoes or completes the append that the process died in.
static ts_result ts__rescue_journal(ts__rescue *r, uint64_t trace_size)
{
    ts__sidecar *const s = r->writer.sidecar;
    if (s->step == 1) s->state = s->before;
    if (s->step == 2 && s->ring < s->ring_count) {
        r->rings[s->ring]->tail = s->tail;
        ts__rest(r->rings[s->ring])->kept = s->kept;
        ts__rest(r->rings[s->ring])->track = s->track;
    }
    s->step = 0;
    if (s->state.offset > trace_size) return TS_ERR_TRUNCATED;
    return ftruncate(r->writer.file.fd, (off_t)s->state.offset) == 0
               ? TS_OK
               : TS_ERR_IO;
}

// Adds a sample of the clocks, which gives a short trace its rate, if the
// machine has not been restarted since.
static void ts__rescue_clock(ts__rescue *r)
{
    const ts__sidecar *const s = r->writer.sidecar;
    const ts_clock_entry now = ts__clock_read();
    const uint64_t ns = now.raw_ns - s->clock[0].raw_ns;
    const uint64_t boot_ns = now.boottime_ns - s->clock[0].boottime_ns;
    const bool same_boot = s->clock[0].raw_ns && now.tick > s->clock[0].tick &&
                           ns <= boot_ns + 1000000000u && (int64_t)ns > 0;
    if (same_boot && s->head.tick_type == ts__c.tick_type)
        ts__writer_failed(&r->writer, ts__writer_clock(&r->writer, 0, &now));
}

static void ts__rescue_rings(ts__rescue *r)
{
    const ts__mover m = { &r->writer, r->log, true, false, true };
    ts__sidecar *const s = r->writer.sidecar;
    for (uint32_t i = 0; i < s->ring_count; i++) {
        ts__ring *const ring = r->rings[i];
        const uint64_t slots = ring->mask + 1;
        ts__ring view = *ring;
        view.slots = (ts__slot *)(void *)((uint8_t *)ring + ts__ring_offset());
        if (ring->head - ring->tail > slots) { // a flight recorder
            ring->tail = ring->head - slots;
            ts__rest(ring)->track = ts__snapshot_track(ring, ring->tail);
        }
        while (ring->tail < view.head &&
               ts__move_batch(&m, ring, &view, r->encoder, view.head))
            ;
        if (!s->head.overwrites || ts__rest(ring)->forgotten_reported) continue;
        ts__rest(ring)->forgotten_reported = 1;
        ts__loss_note(s, ts__rest(ring)->owner, TS_LOSS_OVERWRITTEN, 0,
                      ts__overwritten(ring, ts__rest(ring)->kept),
                      s->head.header.start_tick, r->encoder->now);
    }
}

static void ts__rescue_remove(const ts__rescue *r)
{
    char target[TS__PATH_MAX];
    const char *name;
    ts__unlink_open(r->found.path, r->found.fd);
    const int folder = ts__folder_open(r->found.link, &name);
    const ssize_t n =
        folder < 0 ? 0 : readlinkat(folder, name, target, sizeof target - 1);
    target[n > 0 ? n : 0] = 0;
    if (n > 0 && !strcmp(target, r->found.path)) unlinkat(folder, name, 0);
    if (folder >= 0) close(folder);
}

static ts_result ts__rescue_run(ts__rescue *r, const char *trace,
                                uint64_t *records)
{
    struct stat st;
    ts_file_header header;
    ts__writer *const w = &r->writer;
    w->path = trace;
    if (ts__file_open(&w->file, trace, O_RDWR, 0) < 0) return TS_ERR_IO;
    if (fstat(w->file.fd, &st) != 0) return TS_ERR_IO;
    if (!S_ISREG(st.st_mode)) return TS_ERR_NOT_FILE;
    // Lock it, so that nobody begins to write it again meanwhile.
    if (!ts__file_lock(w->file.fd) && (errno == EAGAIN || errno == EACCES))
        return TS_ERR_BUSY;
    if (fstat(w->file.fd, &st) != 0) return TS_ERR_IO;
    if (!ts__file_read(w->file.fd, 0, &header, sizeof header) ||
        memcmp(header.magic, TS_FILE_MAGIC, sizeof header.magic) != 0)
        return TS_ERR_NOT_SBT;
    const ts_result found =
        ts__leftover_find(&r->found, trace, w->file.fd, header.session, O_RDWR);
    if (ts__trace_finished(w->file.fd, (uint64_t)st.st_size)) {
        // The process may have died between the last chunk and the clean-up.
        if (found == TS_OK && ts__file_lock(r->found.fd)) ts__rescue_remove(r);
        return TS_OK;
    }
    if (found != TS_OK) return found;
    if (!ts__file_lock(r->found.fd)) return TS_ERR_BUSY;
    ts_result result = ts__rescue_map(r, &header);
    if (result == TS_OK && fstat(w->file.fd, &st) != 0) result = TS_ERR_IO;
    if (result == TS_OK) result = ts__rescue_journal(r, (uint64_t)st.st_size);
    if (result != TS_OK) return result;
    ts__sidecar *const s = w->sidecar;
    if (s->state.finished) { // by another salvage or a late stop
        ts__rescue_remove(r);
        return TS_OK;
    }
    r->encoder->base = s->head.header.start_tick;
    r->encoder->now = s->clock[s->clock[1].tick != 0].tick;
    w->final = true;
    ts__rescue_clock(r);
    if (!s->state.salvage_from) s->state.salvage_from = s->state.records + 1;
    ts__open_zones(r->encoder, r->rings, s->ring_count);
    if (w->error == TS_OK) ts__rescue_rings(r);
    if (w->error != TS_OK)
        return w->error; // everything is kept for another attempt
    const uint64_t saved = s->state.records - (s->state.salvage_from - 1);
    ts__writer_failed(w, ts__writer_note(w, 1, "salvaged.records", saved));
    ts__session_end(w, r->rings, s->ring_count, r->encoder, r->log);
    if (records) *records = saved;
    if (w->error == TS_OK) ts__rescue_remove(r);
    return w->error;
}

ts_result ts_salvage(const char *trace, uint64_t *records)
{
    if (records) *records = 0;
    if (!trace) return TS_ERR_USAGE;
    ts__caller old;
    if (!ts__api_enter(&old)) return TS_ERR_STATE;
    ts__platform_init();
    ts__rescue *const r = (ts__rescue *)ts__pages_new(sizeof *r);
    ts_result result = TS_ERR_MEMORY;
    if (r) {
        r->found.fd = r->writer.file.fd = -1;
        r->writer.scratch = (uint8_t *)ts__pages_new(TS__SCRATCH_BYTES);
        r->encoder = (ts__encoder *)ts__pages_new(sizeof *r->encoder);
        if (r->writer.scratch && r->encoder)
            result = ts__rescue_run(r, trace, records);
        if (r->map) munmap(r->map, (size_t)r->size);
        if (r->found.fd >= 0) close(r->found.fd);
        ts__file_close(&r->writer.file);
        if (r->writer.scratch) munmap(r->writer.scratch, TS__SCRATCH_BYTES);
        if (r->encoder) munmap(r->encoder, sizeof *r->encoder);
        munmap(r, sizeof *r);
    }
    ts__api_leave(&old);
    return result;
}

TS__SMALL_END

#endif // salvage
