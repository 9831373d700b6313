/* ---- Drain -------------------------------------------------------------- */

/*
    Moves records out of a ring. `ring` holds the positions and `view` the
    slots: both are the same ring in a session; in salvage `view` is a mapping
    of the dead process's ring.
*/
typedef struct ts__mover {
    ts__writer *writer;
    const ts__block *log; // of the dictionary
    bool dead;            // nobody writes to the rings now
    bool compress;        // memory may be allocated, as zstd does
    bool salvage;         // keep in the ring what cannot be written
} ts__mover;

// The time range of the encoded records; for those of a device's clock, now.
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

// Writes one encoded batch. What cannot be written is counted as lost and
// leaves the ring: the program must not suffer from a full disk.
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

// Moves one batch; false if nothing could be moved.
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

// own: the caller's encoder; NULL: take one for each batch.
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

// Drains a ring on its producer's thread, perhaps inside a signal handler.
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

// Reads the four clocks as closely together as 8 attempts allow.
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
        best.raw_ns = tick; // already nanoseconds, of another origin
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

// Copies samples of devices' clocks into a dump. Set once a device has a clock:
// a program without need not link it. NULL: there are none.
static ts_result (*ts__clocks_copy)(ts__writer *w);

// Samples the clocks: often at first, so that a short trace has a rate, then
// once a second.
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

// Drains the rings that need it, or `all`; not those of a flight recorder.
// Returns whether a ring fills quickly. The clock is sampled first, so that a
// file which is cut after these events has its rate.
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
        // acquire: everything below head has been reserved
        const uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
        const uint64_t held = head - TS__LOAD(&ring->tail);
        // Small rings are drained less often: small chunks cost space.
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

// Writes new entries of the dictionary and the ledger.
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
        } else if (what && what != '%') { // not one of ours: copy it
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

// Collects the zones on the stacks of all rings. Done before the last drain,
// which removes those that have ended meanwhile.
static void ts__open_zones(ts__encoder *e, ts__ring *const *rings,
                           uint32_t ring_count)
{
    for (uint32_t i = 0; i < ring_count; i++) {
        ts__ring *const ring = rings[i];
        if (TS__LOAD(&ts__rest(ring)->state) != TS__RING_OWNED) continue;
        // acquire: pairs with the release in ts__ring_deeper
        const uint32_t depth = __atomic_load_n(&ring->depth, __ATOMIC_ACQUIRE);
        for (uint32_t d = 0; d < depth && d < TS__OPEN_MAX &&
                             e->open_count < TS__OPEN_ZONES_MAX;
             d++) {
            const ts__open *const entry = ts__ring_open(ring, d);
            ts__open_zone *const zone = &e->open[e->open_count];
            // acquire: pairs with the releases in ts__zone_open
            zone->start = __atomic_load_n(&entry->start, __ATOMIC_ACQUIRE);
            zone->depth = __atomic_load_n(&entry->depth, __ATOMIC_ACQUIRE);
            zone->site = __atomic_load_n(&entry->code, __ATOMIC_ACQUIRE) >> 6;
            zone->track = TS__LOAD(&ts__rest(ring)->owner);
            // Another depth: a deeper zone has overwritten the entry, or is
            // about to. Another start: the zone has ended meanwhile.
            if (zone->depth < depth && zone->start == TS__LOAD(&entry->start))
                e->open_count++;
        }
    }
}
