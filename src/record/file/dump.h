/* ---- Dump of the flight recorder ---------------------------------------- */

/*
    Copies what a ring holds now into a private ring. The producer of a flight
    recorder goes on overwriting during the copy; records that it may have
    touched are left out.
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
    copy->lap = ring->lap;
    copy->slots = slots;
    for (uint64_t i = 0; i < size; i++) {
        slots[i].a = __atomic_load_n(&ring->slots[i].a, __ATOMIC_ACQUIRE);
        slots[i].b = TS__LOAD(&ring->slots[i].b);
    }
    // A producer reserves before it stores: once every processor has passed a
    // barrier, head bounds what the copy may have read half-written.
    syscall(SYS_membarrier, 8 /* PRIVATE_EXPEDITED */, 0, 0);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    const uint64_t later = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
    if (later > start + size && from < later - size) from = later - size;
    copy->head = head;
    return from;
}

// The track whose records begin at a position.
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

// The records that an overwriting ring has lost: reserved slots less those
// beyond a record's first, less changes of owner, less the records kept.
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

// After an error the remaining records are not written but counted as lost: a
// dump has no other ledger.
static ts_result ts__snapshot_ring(ts__writer *w, ts__encoder *e,
                                   const ts__ring *ring, ts__slot *slots,
                                   ts_result result)
{
    ts__ring copy;
    ts__batch batch;
    uint64_t kept = 0, oldest = e->now;
    batch.from = ts__snapshot_copy(ring, &copy, slots);
    batch.track = ts__snapshot_track(ring, batch.from);
    // Names come before the records that use them.
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
    ts_result result = ts__snapshot_names(w); // even if there is no ring
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

// Makes a writer with private state, for a file other than the session's trace.
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

// Writes the parts of a dump in their order; the file has been created.
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

// Writes a dump. pattern: see ts_session_desc.path. Called inside the slow
// path.
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

// The kernel's facts about a process. Source: proc(5), fields 3, 4, 20 and 22.
static bool ts__process_read(const char *path, ts__process_stat *stat)
{
    char text[1024];
    ts__text_read(path, text, sizeof text);
    const char *const at =
        strrchr(text, ')'); // ends the name, which may hold any bytes
    return at && sscanf(at,
                        ") %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                        "%*s %*s %*s %*s %*s %d %*s %llu",
                        &stat->state, &stat->parent, &stat->threads,
                        &stat->began) == 4;
}

// Whether the drain thread is the only one left: main() ended with pthread_exit
// and all others have ended. The process ends with its last thread, so it must
// not be this one.
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
        if (__atomic_exchange_n(&ts__c.snapshot_requested, 0, __ATOMIC_ACQUIRE))
            ts__snapshot(ts__c.snapshot_path);
        sleep_ns = busy ? 200000u : sleep_ns * 2;
        if (sleep_ns > longest) sleep_ns = longest;
        ts__futex_wait(&ts__c.wake, seen, sleep_ns);
    }
    return NULL;
}
