/* ---- 12.11 Drain -------------------------------------------------------- */

/*
    Moves records out of a ring. `ring` has the positions, `view` the slots:
    the same ring in a session, a mapping of a dead process's in salvage.
*/
typedef struct ts__mover {
    ts__writer *writer;
    const ts__block *log; // of the dictionary
    bool dead;            // nobody writes to the rings any more
    bool compress;        // memory may be allocated, as zstd does
    bool salvage;         // what cannot be written stays in the ring
} ts__mover;

// From when to when the encoded records are; now, if a device's clock tells.
static void ts__encoder_span(const ts__encoder *e, uint64_t *first,
                             uint64_t *last)
{
    ts_chunk_header header;
    bool none = true;
    *first = *last = e->now;
    for (size_t at = 0; at < e->size; at += ts__chunk_bytes(&header)) {
        memcpy(&header, e->out + at, sizeof header);
        if (header.clock) continue;
        if (none || (int64_t)(header.first - *first) < 0) *first = header.first;
        if (none || (int64_t)(header.last - *last) > 0) *last = header.last;
        none = false;
    }
}

// Counts an encoded batch that could not be written.
static void ts__move_lost(const ts__writer *w, const ts__encoder *e,
                          uint32_t track, ts_result result)
{
    uint64_t first, last;
    if (!e->size) return;
    ts__encoder_span(e, &first, &last);
    ts__loss_note(w->sidecar, track,
                  result == TS_ERR_DISK_FULL ? TS_LOSS_DISK_FULL
                                             : TS_LOSS_WRITE_ERROR,
                  0, e->records, first, last);
}

// Writes one encoded batch. What cannot be written is counted, and the ring
// goes on: an app must not suffer from a full disk.
static void ts__move_commit(const ts__mover *m, ts__ring *ring, ts__encoder *e,
                            const ts__batch *batch)
{
    ts__writer *const w = m->writer;
    ts__lock_take(&w->lock);
    ts_result result = ts__writer_entries(w, m->log);
    if (result == TS_OK) result = ts__writer_prepare(w, e->chunks);
    ts__commit commit = ts__commit_begin(w);
    commit.ring = ring;
    commit.tail = batch->to;
    commit.kept = ts__rest(ring)->kept + e->records + batch->stale + batch->bad;
    commit.track = batch->next;
    if (result == TS_OK && e->size) result = ts__writer_chunks(w, e, &commit);
    ts__writer_failed(w, result);
    if (result != TS_OK && m->salvage) {
        ts__lock_give(&w->lock);
        return;
    }
    if (result != TS_OK || !e->size) {
        TS__STORE(&ts__rest(ring)->track, batch->next);
        __atomic_store_n(&ring->tail, batch->to, __ATOMIC_RELEASE);
    }
    if (result != TS_OK) ts__move_lost(w, e, batch->track, result);
    ts__lock_give(&w->lock);
}

// One batch; false if nothing could be moved.
static bool ts__move_batch(const ts__mover *m, ts__ring *ring,
                           const ts__ring *view, ts__encoder *e, uint64_t upto)
{
    ts__batch batch;
    ts__encoder_reset(e);
    batch.from = ring->tail;
    batch.track = ts__rest(ring)->track;
    ts__batch_scan(e, view, &batch, upto, m->dead);
    if (batch.to == batch.from) return false;
    ts__batch_encode(e, view, &batch);
    ts__move_commit(m, ring, e, &batch);
    const uint64_t now = e->now;
    ts__loss_note(m->writer->sidecar, batch.track, TS_LOSS_STALE, 0,
                  batch.stale, now, now);
    ts__loss_note(m->writer->sidecar, batch.track, TS_LOSS_BAD_RECORD, 0,
                  batch.bad, now, now);
    return m->writer->error == TS_OK || !m->salvage;
}

// own: an encoder that the caller has; NULL: one for each batch.
static void ts__ring_move(const ts__mover *m, ts__ring *ring, ts__encoder *own,
                          uint64_t upto)
{
    ts__ring_rest *const rest = ts__rest(ring);
    ts__lock_take(&rest->lock);
    bool moved = true;
    while (moved && ring->tail < upto) {
        ts__encoder *const e =
            own ? own : ts__encoder_take(m->writer->sidecar, m->compress);
        moved = ts__move_batch(m, ring, ring, e, upto);
        if (!own) ts__encoder_give(e);
    }
    ts__lock_give(&rest->lock);
}

// What a producer does for itself: it may be in a signal handler.
static void ts__ring_drain(ts__ring *ring, uint64_t upto, bool dead)
{
    const ts__mover m = { &ts__c.writer, ts__log, dead, false, false };
    ts__ring_move(&m, ring, NULL, upto);
}

// acquire: pairs with the release in ts__ring_new
static uint32_t ts__ring_count(void)
{
    return __atomic_load_n(&ts__c.ring_count, __ATOMIC_ACQUIRE);
}

// Four clocks as close to one moment as 8 tries get them.
static ts_clock_entry ts__clock_read(void)
{
    ts_clock_entry best;
    memset(&best, 0, sizeof best);
    best.type = ts__c.tick_type;
    best.uncertainty_ns = UINT64_MAX;
    for (int i = 0; i < 8; i++) {
        const uint64_t before = ts__clock_ns(CLOCK_MONOTONIC_RAW);
        const uint64_t tick = ts_tick_now();
        const uint64_t after = ts__clock_ns(CLOCK_MONOTONIC_RAW);
        if (after - before >= best.uncertainty_ns) continue;
        best.uncertainty_ns = after - before;
        best.tick = tick;
        best.raw_ns = before + (after - before) / 2;
#ifdef TRACESMITH_TICK
        best.raw_ns = tick; // nanoseconds already, of a time of their own
        best.realtime_ns = ts__clock_ns(CLOCK_REALTIME);
        best.boottime_ns = ts__clock_ns(CLOCK_BOOTTIME);
        break;
#endif
        best.realtime_ns = ts__clock_ns(CLOCK_REALTIME);
        best.boottime_ns = ts__clock_ns(CLOCK_BOOTTIME);
        const uint64_t late = ts__clock_ns(CLOCK_MONOTONIC_RAW) - best.raw_ns;
        best.realtime_ns -= late;
        best.boottime_ns -= late;
    }
    return best;
}

// Writer's lock held.
static void ts__clock_write(ts__writer *w)
{
    const ts_clock_entry sample = ts__clock_read();
    ts__sidecar *const sidecar = w->sidecar;
    sidecar->clock[sidecar->clock[0].raw_ns != 0] = sample;
    ts__writer_failed(w, ts__writer_clock(w, 0, &sample));
}

// Samples of devices' clocks for a snapshot; NULL: there are none. A program
// that gives none is smaller by this.
static ts_result (*ts__clocks_copy)(ts__writer *w);

// Samples are dense at first, so that a short trace has a rate, then one a
// second.
static void ts__clock_tend(ts__writer *w)
{
    ts__lock_take(&w->lock);
    const uint64_t now = ts__clock_ns(CLOCK_MONOTONIC_RAW);
    if (now >= ts__c.clock_next_ns) {
        ts__clock_write(w);
        if (ts__c.clock_step_ns < 1000000000u) ts__c.clock_step_ns *= 10;
        ts__c.clock_next_ns = now + ts__c.clock_step_ns;
    }
    ts__lock_give(&w->lock);
}

// Looks at every ring but a flight recorder's; all: empties them, else those
// that need it. Returns whether a ring fills quickly. The clock comes first: a
// file that is cut after these events still has its rate.
static bool ts__drain_round(bool all)
{
    ts__clock_tend(&ts__c.writer);
    if (ts__c.desc.policy == TS_POLICY_OVERWRITE) return false;
    bool busy = false;
    const ts__mover m = { &ts__c.writer, ts__log, false, true, false };
    const uint64_t now = ts__clock_ns(CLOCK_MONOTONIC);
    const uint64_t flush_ns = (uint64_t)ts__c.desc.flush_ms * 1000000u;
    for (uint32_t i = 0; i < ts__ring_count(); i++) {
        ts__ring *const ring = ts__c.rings[i];
        ts__ring_rest *const rest = ts__rest(ring);
        // acquire: what lies below head was reserved before
        const uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
        const uint64_t held = head - TS__LOAD(&ring->tail);
        // Small rings are left alone longer: small chunks cost space.
        const uint64_t slots = ts__ring_slots(ring);
        const bool full = held >= (slots > 8192 ? slots / 8 : slots / 2);
        if (!held) {
            TS__STORE(&rest->drained_ns, now);
            continue;
        }
        if (!all && !full && now - TS__LOAD(&rest->drained_ns) < flush_ns)
            continue;
        ts__ring_move(&m, ring, NULL, head);
        TS__STORE(&rest->drained_ns, now);
        busy |= full;
    }
    ts__futex_bump(&ts__c.drained);
    return busy;
}

// What the dictionary and the ledger got since.
static void ts__drain_misc(void)
{
    ts__writer *const w = &ts__c.writer;
    ts__lock_take(&w->lock);
    ts_result result = ts__writer_entries(w, ts__log);
    if (result == TS_OK) result = ts__writer_prepare(w, 1);
    if (result == TS_OK)
        result = ts__writer_losses(w, ts__c.rings, ts__ring_count());
    ts__writer_failed(w, result);
    ts__lock_give(&w->lock);
}

static void ts__header_seal(ts_file_header *header)
{
    header->checksum =
        ts__checksum(header, offsetof(ts_file_header, checksum), 0);
}

// Fills in %p %r %h %n %%. False if the result is too long.
static bool ts__path_expand(char *out, const char *pattern, uint32_t count)
{
    size_t used = 0;
    for (const char *p = pattern; *p; p++) {
        struct utsname host;
        char number[24];
        const char *part = p;
        size_t size = 1;
        const char what = *p == '%' ? p[1] : 0;
        if (what == 'p' || what == 'r' || what == 'n') {
            part = number;
            size = (size_t)snprintf(number, sizeof number, "%u",
                                    what == 'p'   ? (uint32_t)getpid()
                                    : what == 'r' ? ts__c.desc.rank
                                                  : count);
        } else if (what == 'h') {
            part = uname(&host) == 0 ? host.nodename : "localhost";
            size = strlen(part);
        } else if (what && what != '%') { // not ours: stays as it is
            size = 2;
        }
        if (what) p++;
        if (used + size >= TS__PATH_MAX) return false;
        memcpy(out + used, part, size);
        used += size;
    }
    out[used] = 0;
    return used > 0;
}

// The zones on the stacks of every ring. Taken before the last drain, which
// strikes out those that ended meanwhile.
static void ts__open_zones(ts__encoder *e, ts__ring *const *rings,
                           uint32_t ring_count)
{
    for (uint32_t i = 0; i < ring_count; i++) {
        const ts__ring *const ring = rings[i];
        if (TS__LOAD(&ts__rest(ring)->state) != TS__RING_OWNED) continue;
        const uint32_t depth = TS__LOAD(&ring->depth);
        for (uint32_t d = 0; d < depth && d < TS__OPEN_MAX &&
                             e->open_count < TS__OPEN_ZONES_MAX;
             d++) {
            const ts__open *const entry = &ring->open[d];
            const uint64_t code_depth = TS__LOAD(&entry->code_depth);
            // Another depth: zones further in have taken its place.
            if (code_depth >> 32 >= depth) continue;
            ts__open_zone *const zone = &e->open[e->open_count++];
            zone->start = TS__LOAD(&entry->start);
            zone->site = (uint32_t)code_depth;
            zone->track = TS__LOAD(&ts__rest(ring)->owner);
            zone->depth = (uint32_t)(code_depth >> 32);
        }
    }
}

/* ---- 12.12 Snapshot ----------------------------------------------------- */

/*
    What a ring holds now, as a ring of its own that nobody writes to. A
    flight recorder's producer goes on overwriting while we copy; what it may
    have touched is left out.
*/
static uint64_t ts__snapshot_copy(const ts__ring *ring, ts__ring *copy,
                                  ts__slot *slots)
{
    const uint64_t size = ts__ring_slots(ring);
    const uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
    const uint64_t start = ts__rest(ring)->start;
    uint64_t from = TS__LOAD(&ring->tail);
    memset(copy, 0, sizeof *copy);
    copy->mask = ring->mask;
    copy->shift = ring->shift;
    copy->slots = slots;
    for (uint64_t i = 0; i < size; i++) {
        slots[i].a = __atomic_load_n(&ring->slots[i].a, __ATOMIC_ACQUIRE);
        slots[i].b = TS__LOAD(&ring->slots[i].b);
    }
    // Reservations come before stores: with every processor past a barrier,
    // head bounds what the copy may have caught half-written.
    syscall(SYS_membarrier, 8 /* PRIVATE_EXPEDITED */, 0, 0);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    const uint64_t later = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
    if (later > start + size && from < later - size) from = later - size;
    copy->head = head;
    return from;
}

// Whose records begin at a position.
static uint32_t ts__snapshot_track(const ts__ring *ring, uint64_t position)
{
    const ts__ring_rest *const rest = ts__rest(ring);
    uint32_t track = 0;
    // acquire: pairs with the release in ts__ring_own
    const uint32_t n = __atomic_load_n(&rest->owner_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = n > 16 ? n - 16 : 0; i < n; i++)
        if (TS__LOAD(&rest->owners[i % 16].position) <= position)
            track = TS__LOAD(&rest->owners[i % 16].track);
    return track;
}

// Records that an overwriting ring has forgotten: reservations, less what
// was reserved beyond a first slot, less changes of owner, less those kept.
static uint64_t ts__overwritten(const ts__ring *ring, uint64_t kept)
{
    const ts__ring_rest *const rest = ts__rest(ring);
    const uint64_t made = TS__LOAD(&ring->head) - rest->start -
                          TS__LOAD(&ring->more) - TS__LOAD(&rest->owner_count);
    return (int64_t)(made - kept) > 0 ? made - kept : 0;
}

static ts_result ts__snapshot_names(ts__writer *w)
{
    if (w == &ts__c.writer) return ts__writer_entries(w, ts__log);
    ts__lock_take(&ts__c.names);
    const ts_result result = ts__writer_dictionary(w);
    ts__lock_give(&ts__c.names);
    return result;
}

static ts_result ts__snapshot_batch(ts__writer *w, ts__encoder *e,
                                    uint32_t track, ts_result result)
{
    if (!e->size) return result;
    if (result == TS_OK) result = ts__writer_encoded(w, e, 0);
    if (result != TS_OK) ts__move_lost(w, e, track, result);
    return result;
}

// After an error what is left is not tried, but counted: a flight recorder's
// trace has no other ledger.
static ts_result ts__snapshot_ring(ts__writer *w, ts__encoder *e,
                                   const ts__ring *ring, ts__slot *slots,
                                   ts_result result)
{
    ts__ring copy;
    ts__batch batch;
    uint64_t kept = 0, oldest = e->now;
    batch.from = ts__snapshot_copy(ring, &copy, slots);
    batch.track = ts__snapshot_track(ring, batch.from);
    // Names of what was copied come before their use.
    if (result == TS_OK) result = ts__snapshot_names(w);
    while (batch.from < copy.head) {
        ts__encoder_reset(e);
        ts__batch_scan(e, &copy, &batch, copy.head, true);
        ts__batch_encode(e, &copy, &batch);
        kept += e->records + batch.stale + batch.bad;
        uint64_t first, last;
        ts__encoder_span(e, &first, &last);
        if ((int64_t)(first - oldest) < 0) oldest = first;
        result = ts__snapshot_batch(w, e, batch.track, result);
        batch.track = batch.next;
        batch.from = batch.to;
    }
    if (ts__c.desc.policy == TS_POLICY_OVERWRITE)
        ts__loss_note(w->sidecar, TS__LOAD(&ts__rest(ring)->owner),
                      TS_LOSS_OVERWRITTEN, 0, ts__overwritten(ring, kept),
                      e->base, oldest);
    return result;
}

static ts_result ts__snapshot_rings(ts__writer *w, ts__encoder *e)
{
    ts_result result = ts__snapshot_names(w); // also if there is no ring
    for (uint32_t i = 0; i < ts__ring_count(); i++) {
        const ts__ring *const ring = ts__c.rings[i];
        const size_t bytes = (size_t)ts__ring_slots(ring) * sizeof(ts__slot);
        ts__slot *const slots = (ts__slot *)ts__pages_new(bytes);
        if (slots) {
            result = ts__snapshot_ring(w, e, ring, slots, result);
            munmap(slots, bytes);
            continue;
        }
        if (result == TS_OK) result = TS_ERR_MEMORY;
        ts__loss_note(w->sidecar, TS__LOAD(&ts__rest(ring)->owner),
                      TS_LOSS_MEMORY_BOUND, 0, ts__overwritten(ring, 0),
                      e->base, e->now);
    }
    return result;
}

// A writer with state of its own, for a file beside the session's trace.
static bool ts__writer_new(ts__writer *w)
{
    memset(w, 0, sizeof *w);
    w->file.fd = -1;
    w->sidecar = (ts__sidecar *)ts__pages_new(sizeof *w->sidecar);
    w->scratch = (uint8_t *)ts__pages_new(TS__SCRATCH_BYTES);
    return w->sidecar && w->scratch;
}

static void ts__writer_free(ts__writer *w)
{
    ts__file_close(&w->file);
    if (w->sidecar) munmap(w->sidecar, sizeof *w->sidecar);
    if (w->scratch) munmap(w->scratch, TS__SCRATCH_BYTES);
}

// The parts of a snapshot in their order, after the file was created.
static ts_result ts__snapshot_write(ts__writer *w)
{
    const ts__sidecar *const session = ts__c.writer.sidecar;
    const ts_clock_entry now = ts__clock_read();
    ts_result result = ts__writer_clock(w, 0, &session->clock[0]);
    if (result == TS_OK) result = ts__writer_clock(w, 0, &now);
    ts_result (*const copy)(ts__writer * w) = TS__LOAD(&ts__clocks_copy);
    if (result == TS_OK && copy) result = copy(w);
    ts__encoder *const e = ts__encoder_take(session, true);
    ts__open_zones(e, ts__c.rings, ts__ring_count());
    if (result == TS_OK) result = ts__snapshot_rings(w, e);
    if (result == TS_OK) result = ts__writer_open_zones(w, e);
    ts__encoder_give(e);
    if (result == TS_OK) result = ts__writer_losses(w, NULL, 0);
    w->final = true;
    const ts_result finished = ts__writer_finish(w);
    return result == TS_OK ? finished : result;
}

// pattern: see ts_session_desc.path. The slow path is entered.
static ts_result ts__snapshot(const char *pattern)
{
    ts__writer w;
    char path[TS__PATH_MAX];
    ts_result result = TS_ERR_MEMORY;
    if (!ts__path_expand(
            path, pattern,
            __atomic_add_fetch(&ts__c.snapshots, 1, __ATOMIC_RELAXED)))
        return TS_ERR_USAGE;
    if (ts__writer_new(&w)) {
        w.sidecar->head.header = ts__c.writer.sidecar->head.header;
        ts__random(w.sidecar->head.header.session);
        ts__header_seal(&w.sidecar->head.header);
        result = ts__writer_create(&w, path);
        if (result == TS_OK) result = ts__snapshot_write(&w);
    }
    ts__writer_free(&w);
    return result;
}

typedef struct ts__process_stat {
    char state;
    int parent, threads;      // parent 0: none
    unsigned long long began; // in ticks since boot
} ts__process_stat;

// What the kernel tells of a process. Source: proc(5), fields 3, 4, 20 and 22.
static bool ts__process_read(const char *path, ts__process_stat *stat)
{
    char text[1024];
    ts__text_read(path, text, sizeof text);
    const char *const at = strrchr(text, ')'); // of a name that may hold any
    return at && sscanf(at,
                        ") %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                        "%*s %*s %*s %*s %*s %d %*s %llu",
                        &stat->state, &stat->parent, &stat->threads,
                        &stat->began) == 4;
}

// The C library ends a process with its last thread, which must not be ours:
// that is so when main() left with pthread_exit and nobody else is there.
static bool ts__drain_alone(void)
{
    ts__process_stat own;
    return ts__process_read("/proc/self/stat", &own) && own.state == 'Z' &&
           own.threads == 2;
}

static void *ts__drain_main(void *unused)
{
    const uint64_t longest = 16000000u; // producers wake it: ts__ring_refresh
    uint64_t next_ns = 0, sleep_ns = 2000000u;
    (void)unused;
    prctl(PR_SET_NAME, "ts-drain");
    ts__inside = 1; // it never records
    while (!TS__LOAD(&ts__c.stopping)) {
        const uint32_t seen = __atomic_load_n(&ts__c.wake, __ATOMIC_ACQUIRE);
        const bool busy = ts__drain_round(false);
        const uint64_t now = ts__clock_ns(CLOCK_MONOTONIC);
        if (now >= next_ns) {
            ts__drain_misc();
            next_ns = now + (uint64_t)ts__c.desc.flush_ms * 1000000u;
            if (ts__drain_alone()) {
                ts__inside = 0;
                exit(0);
            }
        }
        if (__atomic_exchange_n(&ts__c.snapshot_wanted, 0, __ATOMIC_ACQUIRE))
            ts__snapshot(ts__c.snapshot_path);
        sleep_ns = busy ? 200000u : sleep_ns * 2;
        if (sleep_ns > longest) sleep_ns = longest;
        ts__futex_wait(&ts__c.wake, seen, sleep_ns);
    }
    return NULL;
}
