/* ---- Session: start, stop, flush, backends ------------------------------ */

static bool ts__thread_start(void)
{
    uint64_t old;
    TS__STORE(&ts__c.stopping, 0);
    if (ts__c.desc.drain == TS_DRAIN_MANUAL) return true;
    // The thread inherits the mask: it takes no signals.
    ts__signals_set(SIG_SETMASK, TS__SIGNALS_ALL, &old);
    const int error = pthread_create(&ts__c.thread, NULL, ts__drain_main, NULL);
    TS__STORE(&ts__c.thread_runs, error == 0);
    ts__signals_set(SIG_SETMASK, old, NULL);
    return error == 0;
}

// Writes into the sidecar which trace it belongs to.
static void ts__sidecar_describe(ts__sidecar_head *head)
{
    ts__path_whole(ts__c.path);
    memcpy(head->trace, ts__c.path, sizeof head->trace);
    head->device = ts__c.writer.file.device;
    head->inode = ts__c.writer.file.inode;
}

#ifndef TS__INJECTED
#define TS__INJECTED 0 // 1: in the library of ts-record, which has that folder
#endif

/*
    Whether ts-record runs this process cannot be read from a variable, so that
    leaves a folder in /dev/shm, by its number and when it began, for links to
    traces: ts-record puts what the program records itself and what it heard
    from outside on one time axis. Only its owner can rename what is in
    /dev/shm, so what was looked at stays what it is.
*/
static bool ts__session_announce_to(unsigned user, const ts_file_header *header)
{
    char text[160];
    uint64_t session[2];
    ts__process_stat stat;
    struct stat st;
    memcpy(session, header->session, sizeof session);
    const int size =
        snprintf(text, sizeof text, "/dev/shm/tracesmith-record-%u", user);
    if (lstat(text, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != user)
        return false;
    // The nearest of those that this process descends from.
    for (int process = getppid(); process > 0; process = stat.parent) {
        snprintf(text + size, sizeof text - (size_t)size, "/proc/%d/stat",
                 process);
        if (!ts__process_read(text + size, &stat)) break;
        snprintf(text + size, sizeof text - (size_t)size,
                 "/%d.%llu/own-%u-%016llx%016llx.sbt", process, stat.began,
                 (unsigned)header->process, (unsigned long long)session[0],
                 (unsigned long long)session[1]);
        if (symlink(ts__c.path, text) == 0) return true;
    }
    return false;
}

static ts_result ts__session_open(const ts_session_desc *desc)
{
    ts_file_header header;
    ts__writer *const w = &ts__c.writer;
    ts_result result = ts__session_check(desc);
    if (result != TS_OK) return result;
    ts__c.desc = *desc;
    ts__session_defaults(&ts__c.desc);
    if (!ts__session_texts(desc)) return TS_ERR_USAGE;
    if (!ts__session_hooks() || !ts__session_memory()) return TS_ERR_MEMORY;
    w->file.fd = ts__c.sidecar_file.fd = -1;
    ts__session_facts();
    ts__header_make(&header);
    result = ts__sidecar_create(&header);
    if (result == TS_OK) result = ts__writer_create(w, ts__c.path);
    if (result == TS_OK) ts__sidecar_describe(&w->sidecar->head);
    if (result == TS_OK) result = ts__session_begin();
    if (result == TS_OK) {
        ts__sidecar_link(true);
        ts__c.active = true;
        ts__c.start_tick = header.start_tick;
        ts__c.generation++;
        TS__STORE(&ts__c.threads,
                  0); // threads of an earlier session may have counted
        __atomic_store_n(&ts__here.session, ts__c.generation, __ATOMIC_SEQ_CST);
        if (!ts__thread_start()) result = TS_ERR_MEMORY;
    }
    if (result != TS_OK) {
        __atomic_store_n(&ts__here.session, 0, __ATOMIC_SEQ_CST);
        if (w->file.fd >= 0) unlink(ts__c.path);
        ts__session_close();
        return result;
    }
    // The ts-record may be root's, and the process have changed its user since.
    if (!TS__INJECTED && !ts__session_announce_to((unsigned)geteuid(), &header))
        ts__session_announce_to(0, &header);
    ts__signal_take();
    __atomic_store_n(&ts__here.gate, ts__c.generation, __ATOMIC_RELEASE);
    return TS_OK;
}

static ts_result ts__session_start_locked(const ts_session_desc *desc)
{
    if (ts__c.active) return TS_ERR_STATE;
    return ts__c.start_error = ts__session_open(desc);
}

// Backends are called without any lock, because they record. `on`: the backend
// reports; the thread that changes it makes the call.
enum { TS__BACKENDS = 16 };
static struct {
    const ts_backend *of[TS__BACKENDS];
    struct {
        uint32_t on, busy; // busy: a thread is calling it
    } state[TS__BACKENDS];
} ts__backends;
typedef enum ts__to_backends {
    TS__STOP = 0, // values that `on` is to have
    TS__START = 1,
    TS__FLUSH
} ts__to_backends;

static void ts__backend_start(const ts_backend *backend, uint32_t *on)
{
    char key[64], why[192];
    memcpy(why, "on", sizeof "on");
    if (backend->start && backend->start(why, sizeof why) != TS_OK)
        __atomic_store_n(on, 0, __ATOMIC_RELEASE);
    snprintf(key, sizeof key, "backend.%.48s", backend->name);
    ts_metadata_text(0, key, why);
}

// Starts, stops or flushes a backend. Sessions may start and stop on several
// threads, of which one at a time calls the backend; the wait for it is
// bounded, in case that call never returns.
static void ts__backend_do(uint32_t i, const ts_backend *backend, uint32_t what)
{
    uint32_t *const on = &ts__backends.state[i].on;
    for (int wait = 0; wait < 2000; wait++) {
        if (!__atomic_exchange_n(&ts__backends.state[i].busy, 1,
                                 __ATOMIC_ACQUIRE))
            break;
        if (what == TS__FLUSH) return;
        usleep(1000);
    }
    if (what == TS__FLUSH) {
        if (TS__LOAD(on) && backend->flush) backend->flush();
    } else if (__atomic_exchange_n(on, what, __ATOMIC_ACQ_REL) != what) {
        if (what == TS__START)
            ts__backend_start(backend, on);
        else if (backend->stop)
            backend->stop();
    }
    // release: pairs with the acquire above
    __atomic_store_n(&ts__backends.state[i].busy, 0, __ATOMIC_RELEASE);
}

static __attribute__((noinline)) void ts__backends_do(uint32_t what)
{
    for (uint32_t i = 0; i < TS__BACKENDS; i++) {
        // See ts_backend_add.
        const ts_backend *const backend =
            __atomic_load_n(&ts__backends.of[i], __ATOMIC_SEQ_CST);
        if (backend) ts__backend_do(i, backend, what);
    }
}

ts_result ts_backend_add(const ts_backend *backend)
{
    if (!backend || !backend->name) return TS_ERR_USAGE;
    for (uint32_t i = 0; i < TS__BACKENDS; i++) {
        const ts_backend *old = NULL;
        // Either this call sees the starting session or that one sees the
        // backend: it stores its number before it reads this list.
        if (!__atomic_compare_exchange_n(&ts__backends.of[i], &old, backend,
                                         false, __ATOMIC_SEQ_CST,
                                         __ATOMIC_ACQUIRE) &&
            old != backend)
            continue;
        if (!old && __atomic_load_n(&ts__here.session, __ATOMIC_SEQ_CST))
            ts__backend_do(i, backend, TS__START);
        return TS_OK;
    }
    return TS_ERR_MEMORY;
}

ts_result ts_session_start(const ts_session_desc *desc)
{
    ts__caller old;
    if (!ts__api_enter(&old)) return TS_ERR_STATE;
    const ts_result result = ts__session_start_locked(desc);
    ts__api_leave(&old);
    if (result == TS_OK) ts__backends_do(TS__START);
    return result;
}

static void ts__session_drain_last(ts__encoder *e)
{
    ts__mover m = { &ts__c.writer, ts__log, false, true, false };
    for (uint32_t i = 0; i < ts__ring_count(); i++) {
        ts__ring *const ring = ts__c.rings[i];
        const uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
        // A thread may be between reserving and publishing: wait up to 20 ms.
        for (int wait = 0; wait <= 20 && ring->tail < head; wait++) {
            if (wait) usleep(1000);
            m.dead = wait == 20;
            ts__ring_move(&m, ring, e, head);
        }
    }
}

// Writes everything after the last event; used by salvage, too.
static void ts__session_end(ts__writer *w, ts__ring *const *rings,
                            uint32_t ring_count, ts__encoder *e,
                            const ts__block *log)
{
    w->final = true;
    ts__lock_take(&w->lock);
    ts__writer_failed(w, ts__writer_entries(w, log));
    ts__writer_failed(w, ts__writer_open_zones(w, e));
    ts__writer_failed(w, ts__writer_prepare(w, 2));
    ts_result ledger = ts__writer_losses(w, rings, ring_count);
    ts__writer_failed(w, ledger);
    if (ledger != TS_OK) ledger = ts__writer_losses(w, rings, ring_count);
    ts__writer_failed(
        w, ts__writer_note(w, 0, "records", w->sidecar->state.records));
    // An end chunk promises a complete ledger.
    if (ledger == TS_OK) ts__writer_failed(w, ts__writer_finish(w));
    ts__lock_give(&w->lock);
}

static void ts__stats_fill(ts_stats *stats);

// Waits until no thread that entered before the gate closed is inside.
static void ts__wait_outside(void)
{
    for (int i = 0; i < 10000; i++) {
        if (!__atomic_load_n(&ts__c.inside, __ATOMIC_SEQ_CST)) return;
        usleep(100);
    }
}

static ts_result ts__session_stop_locked(void)
{
    ts__writer *const w = &ts__c.writer;
    if (!ts__c.active) {
        const ts_result result = ts__c.start_error;
        ts__c.start_error = TS_OK;
        return result == TS_OK ? TS_ERR_STATE : result;
    }
    ts__signal_give();
    __atomic_store_n(&ts__here.gate, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&ts__here.session, 0, __ATOMIC_SEQ_CST);
    TS__STORE(&ts__c.stopping, 1);
    if (ts__c.thread_runs) {
        ts__futex_bump(&ts__c.wake);
        // At exit the drain thread itself may call this.
        if (!pthread_equal(pthread_self(), ts__c.thread))
            pthread_join(ts__c.thread, NULL);
        TS__STORE(&ts__c.thread_runs, false);
    }
    ts__wait_outside();
    for (uint32_t i = 0; i < ts__ring_count(); i++)
        TS__STORE(&ts__c.rings[i]->limit,
                  0); // zones that end later take the slow path
    ts__c.clock_next_ns = 0;
    ts__clock_tend(w);
    ts__encoder *const e = ts__encoder_take(w->sidecar, true);
    ts__open_zones(e, ts__c.rings, ts__ring_count());
    if (ts__c.desc.policy == TS_POLICY_OVERWRITE)
        ts__writer_failed(w, ts__snapshot_rings(w, e));
    else
        ts__session_drain_last(e);
    ts__session_end(w, ts__c.rings, ts__ring_count(), e, ts__log);
    ts__encoder_give(e);
    ts__stats_fill(&ts__c.last_stats);
    const ts_result result = w->error;
    ts__session_close();
    ts__c.last_stats.recording = false;
    return result;
}

ts_result ts_session_stop(void)
{
    ts__caller old;
    if (!ts__inside) ts__backends_do(TS__STOP);
    if (!ts__api_enter(&old)) return TS_ERR_STATE;
    const ts_result result = ts__session_stop_locked();
    ts__api_leave(&old);
    return result;
}

static ts_result ts__session_gate(bool open)
{
    ts__caller old;
    if (!ts__api_enter(&old)) return TS_ERR_STATE;
    const ts_result result = ts__c.active ? TS_OK : TS_ERR_STATE;
    if (result == TS_OK)
        __atomic_store_n(&ts__here.gate, open ? ts__c.generation : 0,
                         __ATOMIC_RELEASE);
    ts__api_leave(&old);
    return result;
}

ts_result ts_session_pause(void)
{
    return ts__session_gate(false);
}

ts_result ts_session_resume(void)
{
    return ts__session_gate(true);
}

ts_result ts_session_flush(void)
{
    ts__caller old;
    if (!ts__inside) ts__backends_do(TS__FLUSH);
    if (!ts__api_enter(&old)) return TS_ERR_STATE;
    ts_result result = TS_ERR_STATE;
    if (ts__c.active) {
        ts__drain_round(true);
        ts__drain_misc();
        if (__atomic_exchange_n(&ts__c.snapshot_requested, 0, __ATOMIC_ACQUIRE))
            ts__snapshot(ts__c.snapshot_path);
        result = ts__c.writer.error;
    }
    ts__api_leave(&old);
    return result;
}

ts_result ts_session_snapshot(const char *path)
{
    ts__caller old;
    if (!ts__inside) ts__backends_do(TS__FLUSH);
    if (!ts__api_enter(&old)) return TS_ERR_STATE;
    ts_result result = TS_ERR_STATE;
    if (ts__c.active) result = ts__snapshot(path ? path : ts__c.snapshot_path);
    ts__api_leave(&old);
    return result;
}

static void ts__stats_losses(ts_stats *stats, const ts__loss_total *totals,
                             uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t n = TS__LOAD(&totals[i].count);
        const uint32_t cause = TS__LOAD(&totals[i].cause);
        if (cause == TS_LOSS_HELPED) stats->helped += n;
        if (cause == TS_LOSS_BLOCKED) stats->blocked += n;
        if (cause >= TS_LOSS_STALL_FIRST)
            stats->stall_ns += TS__LOAD(&totals[i].stall_ns);
        if (cause < 16) {
            stats->lost += n;
            stats->lost_by[cause] += n;
        }
    }
}

static void ts__stats_fill(ts_stats *stats)
{
    const ts__sidecar *const sidecar = ts__c.writer.sidecar;
    memset(stats, 0, sizeof *stats);
    ts__lock_take(&ts__c.writer.lock);
    stats->records = sidecar->state.records;
    stats->file_bytes = sidecar->state.offset;
    ts__lock_give(&ts__c.writer.lock);
    stats->memory_bytes = TS__LOAD(&ts__c.ring_bytes);
    stats->rings = ts__ring_count();
    stats->threads = TS__LOAD(&ts__c.threads);
    stats->generation = ts__c.generation;
    stats->recording = TS__LOAD(&ts__here.gate) != 0;
    for (uint32_t i = 0; i < stats->rings; i++)
        ts__stats_losses(stats, ts__rest(ts__c.rings[i])->losses,
                         TS__LOSS_SLOTS);
    ts__stats_losses(stats, sidecar->losses, TS__GLOBAL_LOSSES);
}

ts_result ts_session_stats(ts_stats *stats)
{
    ts__caller old;
    if (!stats || !ts__api_enter(&old)) return TS_ERR_USAGE;
    if (ts__c.active)
        ts__stats_fill(stats);
    else
        *stats = ts__c.last_stats;
    ts__api_leave(&old);
    return TS_OK;
}
