/* ---- Session: what a start needs ---------------------------------------- */

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
        return TS_ERR_USAGE; // nothing would ever wake the producer
    if (d->fork == TS_FORK_FOLLOW && !strstr(d->path, "%p"))
        return TS_ERR_USAGE;
#ifndef TRACESMITH_ZSTD
    if (d->compress) return TS_ERR_UNSUPPORTED;
#endif
    return TS_OK;
}

// Fills in the defaults; no other place knows them.
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

// Copies the strings of the desc. In a child made by fork they may lie in ts__c
// itself.
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
           ((uint32_t)fs.f_type == 0x01021994u /* TMPFS_MAGIC */ ||
            (uint32_t)fs.f_type == 0x858458f6u /* RAMFS_MAGIC */);
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

// Makes or removes the link beside the trace to a sidecar in a folder that the
// user chose.
static void ts__sidecar_link(bool make)
{
    char link[TS__PATH_MAX], target[TS__PATH_MAX];
    if (!ts__c.sidecar_dir[0]) return;
    if (snprintf(link, sizeof link, "%s.ring", ts__c.path) >= (int)sizeof link)
        return;
    const ssize_t n = readlink(link, target, sizeof target - 1);
    if (n < 0 && errno == EINVAL) return; // a file of the user's, not our link
    target[n > 0 ? n : 0] = 0;
    if (!make && strcmp(target, ts__c.sidecar_path) != 0) return;
    unlink(link);
    if (make && symlink(ts__c.sidecar_path, link) != 0) return;
}

// The processor's name. On x86 not from /proc/cpuinfo, which is slow because it
// may query the frequency of every core.
static bool ts__cpu_model(char *out, size_t room)
{
#if defined(__x86_64__) || defined(__i386__)
    // Intel SDM volume 2, CPUID 80000002H to 80000004H.
    uint32_t words[13] = { 0 };
    // The compiler's header says int or unsigned.
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
    for (size_t i = 0; i + 1 < size; i++) // each argument ends with a zero
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

// Allocates the work space, which lives as long as the process.
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

// Sets up, once in a process, what every session needs.
static bool ts__session_hooks(void)
{
    if (ts__c.hooks_ready) return true;
    ts__platform_init();
    madvise(&ts__here, sizeof ts__here, 18 /* MADV_WIPEONFORK */);
    // For dumps, see ts__snapshot_copy; may fail on old kernels.
    syscall(SYS_membarrier, 16 /* REGISTER_PRIVATE_EXPEDITED */, 0, 0);
    if (pthread_key_create(&ts__c.key, ts__ring_detach) != 0 ||
        pthread_atfork(ts__fork_prepare, ts__fork_parent, ts__fork_child) != 0)
        return false;
    atexit(ts__at_exit);
    // Our code must remain loaded even if it is in a shared object that the
    // program closes.
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
    __atomic_store_n(&ts__c.snapshot_requested, 1, __ATOMIC_RELEASE);
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

// Ends the session's log and drops the facts about the session. The sidecar's
// own counts are left alone: in a child it is the parent's, who goes on
// recording.
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

// Undoes a failed start, or cleans up after a stop.
static void ts__session_close(void)
{
    ts__writer *const w = &ts__c.writer;
    ts__file_close(&w->file);
    ts__sidecar_link(false);
    // Threads may still be in the middle of a record and own their rings until
    // they notice: the rings remain mapped, on private memory.
    ts__lock_take(&ts__c.pool);
    for (uint32_t i = 0; i < ts__c.ring_count; i++) {
        ts__ring *const ring = ts__c.rings[i];
        const uintptr_t end = (uintptr_t)ring + ts__ring_bytes(ring->shift);
        // A page may be larger than the part before the slots.
        const uintptr_t from = ts__page_round((uintptr_t)ring->slots);
        if (ts__rest(ring)->state == TS__RING_FREE)
            munmap(ring, end - (uintptr_t)ring);
        else if (from < end)
            // Private memory replaces that of the file.
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
    // From here on nobody can add a ring or a block of the log.
    if (w->sidecar) {
        // One that cannot be removed must not look like a dead writer's.
        if (unlink(ts__c.sidecar_path) != 0)
            memset(w->sidecar->head.magic, 0, sizeof w->sidecar->head.magic);
        munmap(w->sidecar, sizeof *w->sidecar);
    }
    ts__file_close(&ts__c.sidecar_file);
    w->sidecar = NULL;
    ts__c.active = false;
}

// Writes the first chunks of the trace: the clock and the dictionary so far.
static ts_result ts__session_begin(void)
{
    ts__writer *const w = &ts__c.writer;
    ts__c.clock_step_ns = 100000;
    ts__c.clock_next_ns = 0;
    ts__clock_tend(w);
    ts__lock_take(&ts__c.names);
    // acquire: a thread of the last session may still be adding entries
    for (uint32_t i = 0; i < ts__c.block_count; i++)
        ts__c.blocks[i].reported =
            __atomic_load_n(ts__c.blocks[i].used, __ATOMIC_ACQUIRE);
    if (w->error == TS_OK) w->error = ts__writer_dictionary(w);
    // From here on these count blocks of the log.
    memset(w->sidecar->blocks, 0, sizeof w->sidecar->blocks);
    ts__c.names_shared = true;
    ts__lock_give(&ts__c.names);
    return w->error;
}
