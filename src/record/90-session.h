/* ---- 12.13 Session ------------------------------------------------------ */

static bool ts__copy_text(char *out, size_t room, const char *text)
{
    const size_t size = text ? strlen(text) : 0;
    if (size >= room) return false;
    if (text) memmove(out, text, size);
    out[size] = 0;
    return true;
}

static ts_result ts__session_check(const ts_session_desc *d)
{
    if (!d || !d->path || !*d->path || d->ring_bytes > 64u << 20 ||
        (d->memory_bytes && d->memory_bytes < 128u << 10) ||
        (uint32_t)d->policy > TS_POLICY_BLOCK ||
        (uint32_t)d->drain > TS_DRAIN_MANUAL ||
        (uint32_t)d->fork > TS_FORK_FOLLOW || d->compress > 19 ||
        d->snapshot_signal < 0 || d->snapshot_signal >= NSIG)
        return TS_ERR_USAGE;
    if (d->policy == TS_POLICY_BLOCK && d->drain == TS_DRAIN_MANUAL)
        return TS_ERR_USAGE; // nobody would ever wake it
    if (d->fork == TS_FORK_FOLLOW && !strstr(d->path, "%p"))
        return TS_ERR_USAGE;
#ifndef TRACESMITH_ZSTD
    if (d->compress) return TS_ERR_UNSUPPORTED;
#endif
    return TS_OK;
}

// The only place that knows the defaults.
static void ts__session_defaults(ts_session_desc *d)
{
    uint32_t bytes = 16 * TS__RING_SLOTS_MIN;
    if (!d->memory_bytes) d->memory_bytes = 256u << 20;
    if (!d->ring_bytes)
        d->ring_bytes = d->policy == TS_POLICY_OVERWRITE ? 1u << 20 : 4u << 20;
    if (!d->flush_ms) d->flush_ms = 500;
    while (bytes < d->ring_bytes)
        bytes *= 2;
    d->ring_bytes = bytes;
}

// Keeps the texts of the desc. They may come from ts__c itself, in a fork
// child.
static bool ts__session_texts(const ts_session_desc *desc)
{
    if (!ts__copy_text(ts__c.path_pattern, TS__PATH_MAX, desc->path) ||
        !ts__copy_text(ts__c.sidecar_dir, TS__PATH_MAX, desc->sidecar_dir) ||
        !ts__copy_text(ts__c.app, sizeof ts__c.app, desc->app) ||
        !ts__path_expand(ts__c.path, ts__c.path_pattern, 0))
        return false;
    ts__c.desc.path = ts__c.path_pattern;
    ts__c.desc.sidecar_dir = ts__c.sidecar_dir;
    ts__c.desc.app = ts__c.app;
    if (!desc->snapshot_path)
        return snprintf(ts__c.snapshot_path, TS__PATH_MAX, "%s.%%n.sbt",
                        ts__c.path) < TS__PATH_MAX;
    ts__c.desc.snapshot_path = ts__c.snapshot_path;
    return ts__copy_text(ts__c.snapshot_path, TS__PATH_MAX,
                         desc->snapshot_path);
}

static bool ts__is_memory_dir(const char *dir)
{
    struct statfs fs; // f_type: statfs(2)
    return statfs(dir, &fs) == 0 &&
           ((uint64_t)fs.f_type == 0x01021994u /* TMPFS_MAGIC */ ||
            (uint64_t)fs.f_type == 0x858458f6u /* RAMFS_MAGIC */);
}

static ts_result ts__sidecar_open(const char *dir, const ts_file_header *header)
{
    if (!ts__sidecar_name(ts__c.sidecar_path, dir, header->session))
        return TS_ERR_USAGE;
    const int fd = ts__file_open(&ts__c.sidecar_file, ts__c.sidecar_path,
                                 O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0) return TS_ERR_IO;
    const size_t size = ts__page_round(sizeof(ts__sidecar));
    ts__sidecar *const sidecar =
        ts__file_lock(fd) ? (ts__sidecar *)ts__pages_map(fd, 0, size) : NULL;
    if (!sidecar) {
        const ts_result result = ts__disk_error(TS_ERR_MEMORY);
        ts__file_close(&ts__c.sidecar_file);
        unlink(ts__c.sidecar_path);
        return result;
    }
    sidecar->head.layout = sizeof *sidecar;
    sidecar->head.tick_type = ts__c.tick_type;
    sidecar->head.overwrites = ts__c.desc.policy == TS_POLICY_OVERWRITE;
    sidecar->head.header = *header;
    sidecar->size = size;
    sidecar->ring = TS__RINGS_MAX;
    memcpy(sidecar->head.magic, TS__SIDECAR_MAGIC, sizeof sidecar->head.magic);
    ts__path_whole(ts__c.sidecar_path);
    ts__c.writer.sidecar = sidecar;
    return TS_OK;
}

static ts_result ts__sidecar_create(const ts_file_header *header)
{
    char dir[TS__PATH_MAX];
    if (ts__c.sidecar_dir[0])
        return ts__sidecar_open(ts__c.sidecar_dir, header);
    if (ts__is_memory_dir("/dev/shm") &&
        ts__sidecar_open("/dev/shm", header) == TS_OK)
        return TS_OK;
    ts__directory_of(dir, ts__c.path);
    return ts__sidecar_open(dir, header);
}

// Makes the sidecar findable from the trace when it lies in a directory of
// the user's choice.
static void ts__sidecar_link(bool make)
{
    char link[TS__PATH_MAX], target[TS__PATH_MAX];
    if (!ts__c.sidecar_dir[0]) return;
    if (snprintf(link, sizeof link, "%s.ring", ts__c.path) >= (int)sizeof link)
        return;
    const ssize_t n = readlink(link, target, sizeof target - 1);
    if (n < 0 && errno == EINVAL) return; // no link: the user's
    target[n > 0 ? n : 0] = 0;
    if (!make && strcmp(target, ts__c.sidecar_path) != 0) return;
    unlink(link);
    if (make && symlink(ts__c.sidecar_path, link) != 0) return;
}

// The processor's name. Not from /proc/cpuinfo where that is slow: it may ask
// every core for its frequency.
static bool ts__cpu_model(char *out, size_t room)
{
#if defined(__x86_64__) || defined(__i386__)
    // Intel SDM volume 2, CPUID 80000002H to 80000004H.
    uint32_t words[13] = { 0 };
    // int or unsigned, as the compiler's header has it
    if ((unsigned)__get_cpuid_max(0x80000000u, NULL) < 0x80000004u)
        return false;
    for (uint32_t i = 0; i < 12; i += 4)
        __cpuid(0x80000002u + i / 4, words[i], words[i + 1], words[i + 2],
                words[i + 3]);
    const char *name = (const char *)words;
    name += strspn(name, " ");
#else
    char text[1024] = { 0 };
    static const char key[] = "model name\t: ";
    ts__text_read("/proc/cpuinfo", text, sizeof text);
    char *const line = strstr(text, key);
    const char *const name = line ? line + sizeof key - 1 : "unknown";
    if (line) line[sizeof key - 1 + strcspn(name, "\n")] = 0;
#endif
    return ts__copy_text(out, room, name);
}

static void ts__session_facts(void)
{
    struct utsname host;
    char text[256];
    ts__process_track();
    if (uname(&host) == 0) {
        ts_metadata_text(0, "host", host.nodename);
        snprintf(text, sizeof text, "%.60s %.60s %.60s", host.sysname,
                 host.release, host.machine);
        ts_metadata_text(0, "os", text);
    }
    char command[1024];
    const size_t size =
        ts__text_read("/proc/self/cmdline", command, sizeof command);
    for (size_t i = 0; i + 1 < size; i++) // arguments end with a zero each
        if (!command[i]) command[i] = ' ';
    if (size) ts_metadata_text(0, "command", command);
    if (ts__cpu_model(text, sizeof text)) ts_metadata_text(0, "cpu", text);
#ifdef __aarch64__
    uint64_t hz;
    __asm__("mrs %0, cntfrq_el0" : "=r"(hz));
    ts_metadata_int(0, "clock.hz", (int64_t)hz);
#endif
    if (ts__text_read("/proc/sys/kernel/random/boot_id", text, 37))
        ts_metadata_text(0, "boot_id", text);
    static const char *const policies[] = { "help", "drop", "overwrite",
                                            "block" };
    ts_metadata_text(0, "policy", policies[ts__c.desc.policy]);
    ts_metadata_text(0, "tracesmith", "0.1.0");
    if (ts__c.app[0]) ts_metadata_text(0, "app", ts__c.app);
    ts_metadata_int(0, "rank", ts__c.desc.rank);
}

// Work space that lives as long as the process.
static bool ts__session_memory(void)
{
    ts__writer *const w = &ts__c.writer;
    if (!w->scratch) w->scratch = (uint8_t *)ts__pages_new(TS__SCRATCH_BYTES);
    for (int i = 0; i < TS__ENCODERS; i++) {
        if (!ts__c.encoders[i])
            ts__c.encoders[i] =
                (ts__encoder *)ts__pages_new(sizeof(ts__encoder));
        if (!ts__c.encoders[i]) return false;
    }
    return w->scratch != NULL;
}

static void ts__fork_prepare(void);
static void ts__fork_parent(void);

static void ts__at_exit(void)
{
    ts_session_stop();
}

// Once in a process: what must hold from the first session on.
static bool ts__session_hooks(void)
{
    if (ts__c.hooks_ready) return true;
    ts__platform_init();
    madvise(&ts__here, sizeof ts__here, 18 /* MADV_WIPEONFORK */);
    // For snapshots: see ts__snapshot_copy. Absence costs nothing.
    syscall(SYS_membarrier, 16 /* REGISTER_PRIVATE_EXPEDITED */, 0, 0);
    if (pthread_key_create(&ts__c.key, ts__ring_detach) != 0 ||
        pthread_atfork(ts__fork_prepare, ts__fork_parent, ts__fork_child) != 0)
        return false;
    atexit(ts__at_exit);
    // Our code must outlive the session even if it is in a shared object
    // that the app closes.
    Dl_info info;
    if (dladdr((const void *)(uintptr_t)&ts_session_start, &info) &&
        info.dli_fname)
        dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    ts__c.hooks_ready = true;
    return true;
}

static void ts__snapshot_handler(int number)
{
    const int error = errno;
    (void)number;
    __atomic_store_n(&ts__c.snapshot_wanted, 1, __ATOMIC_RELEASE);
    ts__futex_bump(&ts__c.wake);
    errno = error;
}

static void ts__signal_take(void)
{
    struct sigaction action;
    if (!ts__c.desc.snapshot_signal) return;
    memset(&action, 0, sizeof action);
    action.sa_handler = ts__snapshot_handler;
    action.sa_flags = SA_RESTART;
    sigfillset(&action.sa_mask);
    sigaction(ts__c.desc.snapshot_signal, &action, &ts__c.old_action);
}

static void ts__signal_give(void)
{
    if (ts__c.desc.snapshot_signal)
        sigaction(ts__c.desc.snapshot_signal, &ts__c.old_action, NULL);
}

static void ts__header_make(ts_file_header *header)
{
    memset(header, 0, sizeof *header);
    memcpy(header->magic, TS_FILE_MAGIC, sizeof header->magic);
    header->major = TS_FORMAT_MAJOR;
    header->minor = TS_FORMAT_MINOR;
    ts__random(header->session);
    header->start_tick = ts_tick_now();
    header->start_realtime_ns = ts__clock_ns(CLOCK_REALTIME);
    header->process = (uint32_t)getpid();
    ts__header_seal(header);
}

// The session's log ends, and what was said of the session. Not as far as the
// sidecar counts: of a child that is its parent's, who goes on.
static void ts__names_close(void)
{
    for (uint32_t i = 0; i < TS__BLOCKS_MAX && ts__log[i].used; i++) {
        if (!ts__log[i].session)
            munmap(ts__log[i].used,
                   (size_t)ts__log[i].size + sizeof *ts__log[i].used);
        ts__log[i].used = NULL;
    }
    for (uint32_t i = 0; i < ts__c.block_count; i++)
        ts__c.blocks[i].past =
            __atomic_load_n(ts__c.blocks[i].used, __ATOMIC_ACQUIRE);
    ts__c.log = NULL;
    memset(ts__c.grow_failed, 0, sizeof ts__c.grow_failed);
    ts__c.names_shared = false;
}

// Undoes a start that failed, or cleans up after a stop.
static void ts__session_close(void)
{
    ts__writer *const w = &ts__c.writer;
    ts__file_close(&w->file);
    ts__sidecar_link(false);
    // Threads may still be in the middle of a record, and own their rings
    // until they notice: those stay mapped, without their memory.
    ts__lock_take(&ts__c.pool);
    for (uint32_t i = 0; i < ts__c.ring_count; i++) {
        ts__ring *const ring = ts__c.rings[i];
        const uintptr_t end = (uintptr_t)ring + ts__ring_bytes(ring->shift);
        // A page may be larger than what lies before the slots.
        const uintptr_t from = ts__page_round((uintptr_t)ring->slots);
        if (ts__rest(ring)->state == TS__RING_FREE)
            munmap(ring, end - (uintptr_t)ring);
        else if (from < end)
            // Memory of the process in place of the file's.
            mmap((void *)from, end - from, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
                 0);
    }
    ts__c.ring_count = 0;
    TS__STORE(&ts__c.free_count, 0);
    TS__STORE(&ts__c.ring_bytes, 0);
    ts__lock_give(&ts__c.pool);
    ts__lock_take(&ts__c.names);
    ts__names_close();
    ts__lock_give(&ts__c.names);
    // Nobody makes a ring or a block of the log any more.
    if (w->sidecar) {
        // One that cannot go must not be taken for a dead writer's.
        if (unlink(ts__c.sidecar_path) != 0)
            memset(w->sidecar->head.magic, 0, sizeof w->sidecar->head.magic);
        munmap(w->sidecar, sizeof *w->sidecar);
    }
    ts__file_close(&ts__c.sidecar_file);
    w->sidecar = NULL;
    ts__c.active = false;
}

// The trace's first chunks: clock, everything known so far.
static ts_result ts__session_begin(void)
{
    ts__writer *const w = &ts__c.writer;
    ts__c.clock_step_ns = 100000;
    ts__c.clock_next_ns = 0;
    ts__clock_tend(w);
    ts__lock_take(&ts__c.names);
    // acquire: a thread that the last session did not wait for may still add
    for (uint32_t i = 0; i < ts__c.block_count; i++)
        ts__c.blocks[i].told =
            __atomic_load_n(ts__c.blocks[i].used, __ATOMIC_ACQUIRE);
    if (w->error == TS_OK) w->error = ts__writer_dictionary(w);
    // Of the log, from here on.
    memset(w->sidecar->blocks, 0, sizeof w->sidecar->blocks);
    ts__c.names_shared = true;
    ts__lock_give(&ts__c.names);
    return w->error;
}

static bool ts__thread_start(void)
{
    uint64_t old;
    TS__STORE(&ts__c.stopping, 0);
    if (ts__c.desc.drain == TS_DRAIN_MANUAL) return true;
    // Inherited: it takes no signals.
    ts__signals_set(SIG_SETMASK, TS__SIGNALS_ALL, &old);
    const int error = pthread_create(&ts__c.thread, NULL, ts__drain_main, NULL);
    TS__STORE(&ts__c.thread_runs, error == 0);
    ts__signals_set(SIG_SETMASK, old, NULL);
    return error == 0;
}

// Which trace it is of, for whoever finds it without one.
static void ts__sidecar_tell(ts__sidecar_head *head)
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
    leaves a link to its folder in /dev/shm, by its number and when it began.
    Into the folder goes a link to the trace: ts-record puts what the program
    records itself and what it heard from outside on one time axis.
*/
static int ts__record_folders(void)
{
    char path[64];
    struct stat st;
    const unsigned user = (unsigned)geteuid();
    snprintf(path, sizeof path, "/dev/shm/tracesmith-record-%u", user);
    const int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || (fstat(fd, &st) == 0 && st.st_uid == user)) return fd;
    close(fd);
    return -1;
}

// The nearest ts-record among those that this process descends from is told.
static void ts__session_tell(const ts_file_header *header)
{
    char text[128]; // a path, then what the link is called
    uint64_t session[2];
    ts__process_stat stat;
    const int folders = ts__record_folders();
    if (folders < 0) return;
    memcpy(session, header->session, sizeof session);
    for (int process = getppid(); process > 0; process = stat.parent) {
        snprintf(text, sizeof text, "/proc/%d/stat", process);
        if (!ts__process_read(text, &stat)) break;
        snprintf(text, sizeof text, "%d.%llu/own-%u-%016llx%016llx.sbt",
                 process, stat.began, (unsigned)header->process,
                 (unsigned long long)session[0],
                 (unsigned long long)session[1]);
        if (symlinkat(ts__c.path, folders, text) == 0 || errno != ENOENT) break;
    }
    close(folders);
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
    if (result == TS_OK) ts__sidecar_tell(&w->sidecar->head);
    if (result == TS_OK) result = ts__session_begin();
    if (result == TS_OK) {
        ts__sidecar_link(true);
        ts__c.active = true;
        ts__c.start_tick = header.start_tick;
        ts__c.generation++;
        TS__STORE(&ts__c.threads, 0); // threads of a session before may count
        __atomic_store_n(&ts__here.session, ts__c.generation, __ATOMIC_SEQ_CST);
        if (!ts__thread_start()) result = TS_ERR_MEMORY;
    }
    if (result != TS_OK) {
        __atomic_store_n(&ts__here.session, 0, __ATOMIC_SEQ_CST);
        if (w->file.fd >= 0) unlink(ts__c.path);
        ts__session_close();
        return result;
    }
    if (!TS__INJECTED) ts__session_tell(&header);
    ts__signal_take();
    __atomic_store_n(&ts__here.gate, ts__c.generation, __ATOMIC_RELEASE);
    return TS_OK;
}

static ts_result ts__session_start_locked(const ts_session_desc *desc)
{
    if (ts__c.active) return TS_ERR_STATE;
    return ts__c.start_error = ts__session_open(desc);
}

// Backends are called without any lock: they record. `on`: it reports, and
// whoever turns it calls.
enum { TS__BACKENDS = 16 };
static struct {
    const ts_backend *of[TS__BACKENDS];
    struct {
        uint32_t on, busy; // busy: somebody calls it
    } state[TS__BACKENDS];
} ts__backends;
typedef enum ts__to_backends {
    TS__STOP = 0, // as `on` is to be
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

// Sessions may start and stop on several threads at once: one of them calls
// a backend at a time. Bounded, should that one never come back.
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
        // One of the two sees the other: a session that starts stores its
        // number and then looks here.
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
        // A thread may be between reservation and publication: it gets 20 ms.
        for (int wait = 0; wait <= 20 && ring->tail < head; wait++) {
            if (wait) usleep(1000);
            m.dead = wait == 20;
            ts__ring_move(&m, ring, e, head);
        }
    }
}

// Everything after the last event; shared with salvage.
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
    // A trace with an end has a whole ledger.
    if (ledger == TS_OK) ts__writer_failed(w, ts__writer_finish(w));
    ts__lock_give(&w->lock);
}

static void ts__stats_fill(ts_stats *stats);

// Whoever came through the gate before it closed finishes.
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
        // At exit the drain thread may be the one that stops.
        if (!pthread_equal(pthread_self(), ts__c.thread))
            pthread_join(ts__c.thread, NULL);
        TS__STORE(&ts__c.thread_runs, false);
    }
    ts__wait_outside();
    for (uint32_t i = 0; i < ts__ring_count(); i++)
        TS__STORE(&ts__c.rings[i]->limit, 0); // later ends take the slow path
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
        if (__atomic_exchange_n(&ts__c.snapshot_wanted, 0, __ATOMIC_ACQUIRE))
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

// Blobs that this session has written are dictionary entries. Without bytes it
// is the hash that is known.
static uint64_t ts__blob_key(uint64_t known[3], const void *bytes, size_t size)
{
    if (bytes || !size) {
        const XXH128_hash_t sum = XXH3_128bits(bytes, size);
        known[0] = sum.low64;
        known[1] = sum.high64;
    }
    known[2] = ts__c.generation;
    return ts__mix(known, 24, TS__ENTRY_BLOB) | 1;
}

static ts_result ts__blob_write(ts__writer *w, uint8_t *chunk, size_t whole)
{
    ts__lock_take(&w->lock);
    ts_result result = ts__writer_prepare(w, 1);
    ts__commit commit = ts__commit_begin(w);
    if (result == TS_OK)
        result = ts__writer_append(w, chunk, whole, NULL, &commit);
    ts__lock_give(&w->lock);
    return result;
}

// Room for a chunk, kept for the next one: new pages cost more than what they
// are for. Who finds it taken, or too small, gets some of its own; so does a
// child made by a fork meanwhile, for ever.
enum { TS__BLOB_ROOM = TS_CAPTURE_CHUNK + 4096 };
static struct {
    uint8_t *pages;
    bool taken;
} ts__blob_room;

static uint8_t *ts__blob_room_take(size_t size)
{
    // acquire: pairs with the release in ts__blob_room_give
    if (size > TS__BLOB_ROOM ||
        __atomic_exchange_n(&ts__blob_room.taken, true, __ATOMIC_ACQUIRE))
        return (uint8_t *)ts__pages_new(size);
    uint8_t *pages = __atomic_load_n(&ts__blob_room.pages, __ATOMIC_RELAXED);
    if (!pages) pages = (uint8_t *)ts__pages_new(TS__BLOB_ROOM);
    __atomic_store_n(&ts__blob_room.pages, pages, __ATOMIC_RELAXED);
    if (!pages) __atomic_store_n(&ts__blob_room.taken, false, __ATOMIC_RELEASE);
    return pages;
}

static void ts__blob_room_give(uint8_t *room, size_t size)
{
    if (!room) return;
    if (room != __atomic_load_n(&ts__blob_room.pages, __ATOMIC_RELAXED))
        munmap(room, size);
    else
        __atomic_store_n(&ts__blob_room.taken, false, __ATOMIC_RELEASE);
}

// A chunk of bytes behind their hash. Somebody else may write to them at the
// same time: what is hashed is the copy that is kept.
static uint8_t *ts__blob_chunk(uint32_t kind, const void *bytes, size_t size,
                               size_t *whole, uint64_t known[3], uint64_t *mix)
{
    *whole = (sizeof(ts_chunk_header) + 16 + size + 7) & ~(size_t)7;
    uint8_t *const chunk = ts__blob_room_take(*whole);
    if (!chunk) return NULL;
    uint8_t *p = ts__entries_begin(chunk, kind);
    if (size) memcpy(p + 16, bytes, size);
    *mix = ts__blob_key(known, p + 16, size);
    memcpy(p, known, 16);
    ts__entries_end(chunk, p + 16 + size, 1);
    return chunk;
}

static ts_result ts__blob_keep(ts__writer *w, uint32_t kind, const void *bytes,
                               size_t size, uint64_t hash[2])
{
    uint64_t known[3], mix = 0;
    size_t whole;
    if ((!bytes && size) || size > UINT32_MAX - 31u) return TS_ERR_USAGE;
    ts__caller old;
    if (!ts__api_enter(&old)) return TS_ERR_STATE;
    uint8_t *const chunk =
        ts__blob_chunk(kind, bytes, size, &whole, known, &mix);
    ts_result result = !chunk         ? TS_ERR_MEMORY
                       : ts__c.active ? TS_OK
                                      : TS_ERR_STATE;
    const bool blob = kind == TS_CHUNK_BLOB;
    if (chunk && hash) memcpy(hash, known, 16);
    if (result == TS_OK &&
        (!blob || !ts__entry_find(TS__ENTRY_BLOB, known, sizeof known, mix))) {
        result = ts__blob_write(w, chunk, whole);
        ts__lock_take(&ts__c.names);
        if (result == TS_OK && blob)
            ts__entry_add(TS__ENTRY_BLOB, 1, known, sizeof known, mix);
        ts__lock_give(&ts__c.names);
    }
    ts__blob_room_give(chunk, whole);
    ts__api_leave(&old);
    return result;
}

ts_result ts_blob_put(const void *bytes, size_t size, uint64_t hash[2])
{
    return ts__blob_keep(&ts__c.writer, TS_CHUNK_BLOB, bytes, size, hash);
}

ts_result ts_blob_find(const void *bytes, size_t size, uint64_t hash[2])
{
    uint64_t known[3] = { 0 };
    if (hash) memcpy(known, hash, 16);
    const uint64_t mix = ts__blob_key(known, bytes, size);
    if (hash) memcpy(hash, known, 16);
    return ts__entry_find(TS__ENTRY_BLOB, known, sizeof known, mix)
               ? TS_OK
               : TS_ERR_NOT_FOUND;
}

ts_result ts_capture_put(const void *record, size_t size)
{
    return ts__blob_keep(&ts__c.writer, TS_CHUNK_CAPTURE, record, size, NULL);
}

/* ---- 12.14 Clocks of devices -------------------------------------------- */

// Which moment on CLOCK_MONOTONIC_RAW a tick of clock 0 is, by two samples
// around now.
static uint64_t ts__tick_raw_ns(uint64_t tick)
{
    const ts_clock_entry now = ts__clock_read();
    const ts_clock_entry *const first = &ts__c.writer.sidecar->clock[0];
    const double rate = now.tick != first->tick
                            ? (double)(now.raw_ns - first->raw_ns) /
                                  (double)(now.tick - first->tick)
                            : 1;
    return now.raw_ns +
           (uint64_t)(int64_t)((double)(int64_t)(tick - now.tick) * rate);
}

// A device's clock: its first sample and the latest, for snapshots, whose
// operations it timed. Writer's lock held.
enum { TS__CLOCK_KEPT = 64 };
typedef struct ts__clock_kept {
    uint32_t name, named; // named: the session that has been told
    uint32_t generation, count, backwards;
    ts_clock_entry samples[TS__CLOCK_KEPT];
} ts__clock_kept;
static ts__clock_kept ts__clocks_kept[TS__CLOCKS_MAX];

static void ts__clock_fact(uint32_t clock, const char *what, uint32_t type,
                           uint64_t value)
{
    char key[32];
    snprintf(key, sizeof key, "clock.%u.%s", clock, what);
    ts__metadata_put(0, key, type, value);
}

// A clock lives as long as the process, what is said of a session does not.
static void ts__clock_tell(uint32_t clock)
{
    ts__clock_kept *const kept = &ts__clocks_kept[clock];
    const uint32_t session = TS__LOAD(&ts__here.session);
    // Before a session: that will have it.
    const uint32_t now = session ? session : ts__c.generation + 1;
    if (!kept->name ||
        __atomic_exchange_n(&kept->named, now, __ATOMIC_RELAXED) == now)
        return;
    ts__clock_fact(clock, "name", TS_VALUE_TEXT, kept->name);
}

uint32_t ts_clock_define(const char *name)
{
    const uint32_t clock =
        __atomic_add_fetch(&ts__c.clock_count, 1, __ATOMIC_RELAXED);
    if (clock >= TS__CLOCKS_MAX) return 0;
    ts__clocks_kept[clock].name = ts_name_define(name);
    ts__clock_tell(clock);
    return clock;
}

static ts_result ts__clocks_kept_copy(ts__writer *w)
{
    ts_result result = TS_OK;
    ts__lock_take(&ts__c.writer.lock);
    for (uint32_t clock = 1; clock < TS__CLOCKS_MAX; clock++) {
        const ts__clock_kept *const kept = &ts__clocks_kept[clock];
        if (kept->generation != ts__c.generation) continue;
        for (uint32_t i = 0; i < kept->count && result == TS_OK; i++)
            result = ts__writer_clock(w, clock, &kept->samples[i]);
    }
    ts__lock_give(&ts__c.writer.lock);
    return result;
}

static void ts__clock_keep(ts__clock_kept *kept, const ts_clock_entry *sample)
{
    if (kept->count == TS__CLOCK_KEPT) {
        kept->count--;
        memmove(&kept->samples[1], &kept->samples[2],
                (TS__CLOCK_KEPT - 2) * sizeof *sample);
    }
    kept->samples[kept->count++] = *sample;
    TS__STORE(&ts__clocks_copy, &ts__clocks_kept_copy);
}

// Readers take a step back for damage.
static bool ts__clock_follows(ts__clock_kept *kept, ts_clock_entry *next)
{
    if (kept->generation != ts__c.generation) {
        kept->generation = ts__c.generation;
        kept->count = kept->backwards = 0;
    }
    if (!kept->count) return true;
    const ts_clock_entry *const last = &kept->samples[kept->count - 1];
    // Our own rate is known to some nanoseconds: see ts__tick_raw_ns.
    const int64_t back = (int64_t)(last->raw_ns - next->raw_ns);
    if (back > 0 && back < 1000) next->raw_ns = last->raw_ns;
    if ((int64_t)(next->tick - last->tick) > 0 &&
        (int64_t)(next->raw_ns - last->raw_ns) >= 0)
        return true;
    kept->backwards++;
    return false;
}

void ts_clock_sample(uint32_t clock, uint64_t tick, uint64_t host_tick,
                     uint64_t uncertainty_ns)
{
    ts__writer *const w = &ts__c.writer;
    ts_clock_entry sample;
    memset(&sample, 0, sizeof sample);
    if (!clock || clock >= TS__CLOCKS_MAX) return;
    ts__clock_kept *const kept = &ts__clocks_kept[clock];
    uint32_t before = 0, backwards = 0;
    ts__caller old;
    ts__clock_tell(clock);
    if (!ts__api_enter(&old)) return;
    if (ts__c.active) {
        sample.type = TS_CLOCK_OTHER;
        sample.tick = tick;
        sample.raw_ns = host_tick ? ts__tick_raw_ns(host_tick) : tick;
        sample.uncertainty_ns = uncertainty_ns;
        ts__lock_take(&w->lock);
        if (kept->generation == ts__c.generation) before = kept->backwards;
        if (ts__clock_follows(kept, &sample)) {
            ts__clock_keep(kept, &sample);
            ts__writer_failed(w, ts__writer_clock(w, clock, &sample));
        }
        backwards = kept->backwards;
        ts__lock_give(&w->lock);
    }
    ts__api_leave(&old);
    if (backwards != before)
        ts__clock_fact(clock, "backwards", TS_VALUE_INT, backwards);
}

/* ---- 12.15 fork --------------------------------------------------------- */

// No lock may be held by a thread that the child does not have. Several
// threads may be in fork at once.
static void ts__fork_prepare(void)
{
    if (!ts__api_enter(&ts__fork.caller)) return;
    ts__fork.follow = ts__c.active && ts__c.desc.fork == TS_FORK_FOLLOW;
    ts__fork.process = getpid();
    ts__lock_take(&ts__c.names);
    ts__lock_take(&ts__c.pool);
    ts__inside = 1; // the program's own handlers may call
}

static void ts__fork_parent(void)
{
    if (!ts__fork.process) return;
    ts__fork.process = 0;
    ts__inside = 0;
    ts__lock_give(&ts__c.pool);
    ts__lock_give(&ts__c.names);
    ts__api_leave(&ts__fork.caller);
}

/*
    Of the parent's rings the child keeps its own thread's, as memory of its
    own: the fork may have come from a signal handler that interrupted a record,
    which goes on in both. Threads of the others it does not have.
*/
static void ts__fork_rings(void)
{
    ts__ring *next = ts__mine != &ts__none ? ts__mine : NULL, *own = NULL;
    for (ts__ring *ring = next; ring; ring = next) {
        ts__ring_rest *const rest = ts__rest(ring);
        next = rest->older;
        if (!next) {
            next = ts__before;
            ts__before = NULL;
        }
        if (!ts__own_memory(ring, ts__ring_offset(),
                            ts__ring_bytes(ring->shift)))
            continue; // the parent's, like the others
        rest->index = TS__RINGS_MAX;
        rest->older = own;
        own = ring;
    }
    if (own) ts__before = own;
    for (uint32_t i = 0; i < ts__c.ring_count; i++)
        if (ts__rest(ts__c.rings[i])->index == i)
            munmap(ts__c.rings[i], ts__ring_bytes(ts__c.rings[i]->shift));
}

// The child shares the parent's rings, trace and sidecar: it lets go of all
// of them, keeps the dictionary, and perhaps starts a session of its own.
static void ts__fork_child(void)
{
    if (!ts__fork.process) return;
    ts__fork.process = 0;
    ts__here.gate = ts__here.session = 0;
    ts__here.tick = ts__c.tick_type;
    ts__fork_rings();
    ts__mine = &ts__none;
    ts__track = 0;
    ts__inside = 0;
    pthread_setspecific(ts__c.key, NULL);
    if (ts__c.active) {
        // A mapping would keep the sidecar locked after the parent's death.
        ts__file_close(&ts__c.writer.file);
        ts__file_close(&ts__c.sidecar_file);
        if (ts__shelves_own) ts__shelves_own();
        ts__names_close();
        munmap(ts__c.writer.sidecar, sizeof *ts__c.writer.sidecar);
        ts__signal_give();
    }
    memset((void *)&ts__c, 0, offsetof(ts__core, blocks));
    ts__c.writer.lock.word = 0;
    ts__c.writer.file.fd = ts__c.sidecar_file.fd = -1;
    ts__c.writer.sidecar = NULL;
    memset(ts__backends.state, 0, sizeof ts__backends.state);
    if (ts__fork.follow) ts__session_start_locked(&ts__c.desc);
    ts__caller_restore(&ts__fork.caller);
}

TS__SMALL_END

#endif // !TRACESMITH_DISABLE
#endif // TRACESMITH_IMPLEMENTATION
