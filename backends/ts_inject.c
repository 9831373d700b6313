/*
    ts_inject.c - libtracesmith-inject.so: records programs that were not
    changed

    The recorder with every backend compiled in, behind the names that vendors'
    libraries look for. ts-record sets the variables that make them look here;
    docs/capture.md lists them. Loaded into somebody else's process: it must
    change neither what the program prints nor how it ends, so it says nothing
    but where TRACESMITH_LOG says so. In a program that gains privileges its
    variables are not read.
*/
#define TRACESMITH_IMPLEMENTATION
#define TRACESMITH_PICTURES
#define TRACESMITH_CUPTI_IMPLEMENTATION
#define TRACESMITH_HIP_IMPLEMENTATION
#define TRACESMITH_NVTX_IMPLEMENTATION
#define TRACESMITH_UNWIND_IMPLEMENTATION
#define TRACESMITH_UNWIND_OUTSIDE
#define TRACESMITH_OPENCL_IMPLEMENTATION
#define TS_API       extern // hidden: see -fvisibility in the Makefile
#define TS__INJECTED 1      // no session of the program's own
#include "tracesmith.h"

#include "backends/ts_filter.h"
#include "backends/ts_cupti.h"
#include "backends/ts_hip.h"
#include "backends/inject/control.h"
#include "backends/ts_nvtx.h"
#include "backends/ts_opencl.h"
#include "backends/ts_capture.h"
#include "backends/ts_stack.h"

#define ENTRY __attribute__((visibility("default")))

/* ==== 1. Session ========================================================= */

// The log file, open until the process ends, because a child may be unable to
// open it. A program may close it with descriptors that it does not know.
static ts__file log_file = { .fd = -1 };

// The folder of this user that ts-record also searches; "" if the process can
// reach ts-record's own folder.
static char spool[TS__PATH_MAX];

static void log_open(void)
{
    char own[TS__PATH_MAX + 8];
    const char *path = secure_getenv("TRACESMITH_LOG");
    snprintf(own, sizeof own, "%s/log", spool);
    if (*spool) path = own;
    if (path && *path)
        ts__file_open(&log_file, path, O_WRONLY | O_APPEND | O_CREAT, 0600);
}

// Writes one line with a single call, because processes share the file.
static void log_line(const char *what, const char *why)
{
    struct stat about;
    char line[4400];
    const int fd = log_file.fd;
    if (!ts__file_is(&log_file, fd) || fstat(fd, &about) != 0) return;
    snprintf(line, sizeof line, "%s %ld: %.4300s\n", what, (long)getpid(), why);
    const size_t size = strlen(line);
    // Writing beyond the process's file size limit would end the program
    // (SIGXFSZ).
    if (ts__file_may_grow((uint64_t)about.st_size + size) &&
        write(fd, line, size) < 0)
        ts__file_close(&log_file);
}

static uint64_t number_of(const char *variable)
{
    const char *const text = secure_getenv(variable);
    return text ? strtoull(text, NULL, 10) : 0;
}

// Returns the position of "%p" in a pattern; NULL: none.
static const char *number_place(const char *pattern)
{
    for (const char *p = pattern; *p; p++)
        if (*p == '%' && p[1]) {
            if (p[1] == 'p') return p;
            p++;
        }
    return NULL;
}

// Returns when this process began (Unix time), which exec does not change.
static uint64_t began_ns(void)
{
    ts__process_stat own = { .began = 0 };
    ts__process_read("/proc/self/stat", &own);
    const uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
    return ts__clock_ns(CLOCK_REALTIME) - ts__clock_ns(CLOCK_BOOTTIME) +
           own.began * (1000000000 / (hz ? hz : 100));
}

// Returns whether a trace exists that this process wrote before it called exec.
// A name that contains the process number counts as taken if any file has it.
static bool is_taken(const char *path, bool numbered)
{
    ts_file_header header = { .process = 0 };
    if (numbered) return access(path, F_OK) == 0;
    // O_NONBLOCK: opening a pipe without a writer would block.
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const bool read_it =
        fd >= 0 && read(fd, &header, sizeof header) == sizeof header;
    if (fd >= 0) close(fd);
    return read_it && header.process == (uint32_t)getpid() &&
           header.start_realtime_ns >= began_ns();
}

// A program that calls exec keeps its process number, and its next image must
// not replace the earlier trace. So "%p" becomes "%p-1", "%p-2", ..., and
// without it "run.sbt" becomes "run-1.sbt". Returns the pattern to record to,
// which still contains %p for children after fork().
static const char *unused_path(const char *pattern)
{
    static char path[TS__PATH_MAX];
    char own[TS__PATH_MAX];
    const char *const place = number_place(pattern);
    const size_t size = strlen(pattern);
    const bool sbt = size > 4 && !strcmp(pattern + size - 4, ".sbt");
    const size_t before =
        place ? (size_t)(place - pattern) + 2 : size - (sbt ? 4 : 0);
    for (int i = 0; i < 1000; i++) {
        char number[16] = "";
        if (i) snprintf(number, sizeof number, "-%d", i);
        if (snprintf(path, sizeof path, "%.*s%s%s", (int)before, pattern,
                     number, pattern + before) >= (int)sizeof path ||
            !ts__path_expand(own, path, 0))
            return pattern;
        if (!is_taken(own, place != NULL)) break;
    }
    return path;
}

static bool is_writable(const char *pattern)
{
    char path[TS__PATH_MAX], folder[TS__PATH_MAX];
    if (!ts__path_expand(path, pattern, 0)) return true;
    ts__directory_of(folder, path);
    return faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0;
}

// Returns the pattern to record to, from TRACESMITH_OUT. A process that changed
// its user or has other mounts may be unable to reach that folder. Then it uses
// one that it can reach, whose name only processes of ts-record know, followed
// by the user id.
static const char *spool_open(const char *out)
{
    static char pattern[TS__PATH_MAX + 8];
    struct stat about;
    const char *const name = secure_getenv("TRACESMITH_SPOOL");
    *spool = 0;
    if (!name || !*name || is_writable(out) ||
        snprintf(spool, sizeof spool, "%s-%u", name, (unsigned)geteuid()) >=
            (int)sizeof spool)
        return out;
    mkdir(spool, 0700);
    if (lstat(spool, &about) != 0 || !S_ISDIR(about.st_mode) ||
        about.st_uid != geteuid()) {
        *spool = 0;
        return out;
    }
    snprintf(pattern, sizeof pattern, "%s/%%p.sbt", spool);
    return pattern;
}

// Which operations are captured: TRACESMITH_CAPTURE.
static struct {
    bool requested;
    // TRACESMITH_CAPTURE_ON: captures begin when ts-record requests it.
    bool on_trigger;
    ts_capture_desc what;
    char room[8192]; // storage of the texts in `what`
} keep;

static void keep_begin(void)
{
    if (!keep.requested) return;
    if (keep.on_trigger)
        ts_capture_arm(&keep.what);
    else
        ts_capture_start(&keep.what);
}

/* ==== 2. Watch =========================================================== */

// A thread that begins to record after the delay, ends it at the limit of time
// or size, writes the contents of the rings when ts-record requests it, and
// publishes figures. It is started only if some of this is requested.
static struct {
    ts_inject_control *shared; // NULL: without ts-record
    ts_inject_process *mine;   // NULL: the table is full
    uint64_t begin_ns, end_ns; // CLOCK_MONOTONIC; 0: at once, never
    uint64_t size_limit;       // in bytes; 0: none
    uint32_t state;            // ts_inject_state
    uint32_t capture;          // number of triggers handled so far
} watch;

static bool control_open(void)
{
    const char *const path = secure_getenv("TRACESMITH_CONTROL");
    // Without the file the times are those of this process, and there are no
    // requests from ts-record.
    if (!path || !*path || *spool) return true;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat about;
    // Accessing a mapping beyond the end of its file raises SIGBUS.
    void *const map = fd < 0 || fstat(fd, &about) != 0 ||
                              about.st_size < (off_t)sizeof *watch.shared
                          ? MAP_FAILED
                          : mmap(NULL, sizeof *watch.shared,
                                 PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0) close(fd);
    if (map == MAP_FAILED) return false;
    watch.shared = (ts_inject_control *)map;
    return watch.shared->layout == sizeof *watch.shared;
}

// Takes an entry of the table for a process that begins.
static void control_enter(void)
{
    watch.mine = NULL;
    if (!watch.shared) return;
    watch.capture = TS__LOAD(&watch.shared->capture);
    const uint32_t at =
        __atomic_fetch_add(&watch.shared->count, 1, __ATOMIC_RELAXED);
    if (at >= TS_INJECT_PROCESSES) return;
    watch.mine = &watch.shared->processes[at];
    TS__STORE(&watch.mine->written, TS__LOAD(&watch.shared->write));
    TS__STORE(&watch.mine->process, (uint32_t)getpid());
}

static uint64_t all_bytes(uint64_t own)
{
    uint64_t sum = watch.mine ? 0 : own;
    if (!watch.shared) return own;
    for (uint32_t i = 0; i < TS_INJECT_PROCESSES; i++)
        sum += TS__LOAD(&watch.shared->processes[i].bytes);
    return sum;
}

static void give_kept(ts_inject_process *mine)
{
    bool waits = false;
    const ts_capture_figures kept = ts_capture_total(&waits);
    TS__STORE(&mine->kept, kept.whole + kept.hashes);
    TS__STORE(&mine->capturing, ts_capture_on() ? TS_INJECT_ON
                                : waits         ? TS_INJECT_FRAME
                                                : TS_INJECT_OFF);
}

static uint64_t give_figures(void)
{
    ts_stats stats;
    ts_inject_process *const mine = watch.mine;
    if (ts_session_stats(&stats) != TS_OK) return 0;
    if (!mine) return stats.file_bytes;
    TS__STORE(&mine->records, stats.records);
    TS__STORE(&mine->lost, stats.lost);
    TS__STORE(&mine->bytes, stats.file_bytes);
    TS__STORE(&mine->threads, stats.threads);
    if (keep.requested) give_kept(mine);
    // release: pairs with the acquire in tools/common/channel/channel.c
    __atomic_store_n(&mine->state, watch.state, __ATOMIC_RELEASE);
    return stats.file_bytes;
}

static void watch_end(const char *why)
{
    ts_metadata_text(0, "capture.ended", why);
    watch.state = TS_INJECT_ENDED;
    ts_session_stop();
    give_figures();
}

// Does what is due. Returns whether to continue, and the time until the next
// look.
static bool watch_look(uint64_t *next_ns)
{
    const uint64_t now = ts__clock_ns(CLOCK_MONOTONIC);
    const uint64_t live_ms =
        watch.shared ? TS__LOAD(&watch.shared->live_ms) : 0;
    if (watch.state == TS_INJECT_WAITS && now >= watch.begin_ns) {
        watch.state = TS_INJECT_RECORDS;
        ts_session_resume();
        keep_begin();
    }
    if (watch.end_ns && now >= watch.end_ns) {
        watch_end("duration");
        return false;
    }
    const uint64_t bytes =
        watch.size_limit || live_ms ? all_bytes(give_figures()) : 0;
    const bool full = watch.shared && TS__LOAD(&watch.shared->full);
    if (watch.size_limit && (full || bytes >= watch.size_limit)) {
        if (watch.shared) TS__STORE(&watch.shared->full, 1);
        watch_end("size limit");
        return false;
    }
    uint64_t next = watch.end_ns ? watch.end_ns : UINT64_MAX;
    if (watch.state == TS_INJECT_WAITS) next = watch.begin_ns;
    if (live_ms && now + live_ms * 1000000 < next)
        next = now + live_ms * 1000000;
    // Looks more often near the size limit, because data written until the next
    // look exceeds it.
    if (watch.size_limit && now + 10000000 < next) next = now + 10000000;
    *next_ns = next == UINT64_MAX ? UINT64_MAX : next - now;
    return true;
}

static void watch_obey(void)
{
    if (!watch.shared) return;
    const uint32_t capture = TS__LOAD(&watch.shared->capture);
    const uint32_t write = TS__LOAD(&watch.shared->write);
    // Two triggers since the last look cancel each other: a begin and an end.
    if ((capture - watch.capture) % 2) ts_capture_trigger();
    watch.capture = capture;
    if (!watch.mine || TS__LOAD(&watch.mine->written) == write) return;
    ts_session_snapshot(NULL);
    // release: the snapshot was written before this is visible
    __atomic_store_n(&watch.mine->written, write, __ATOMIC_RELEASE);
}

static void *watch_main(void *unused)
{
    static uint32_t never;
    uint32_t *const word = watch.shared ? &watch.shared->command : &never;
    uint64_t wait_ns = 0;
    while (watch_look(&wait_ns)) {
        const uint32_t command = __atomic_load_n(word, __ATOMIC_ACQUIRE);
        watch_obey();
        const struct timespec wait = { (time_t)(wait_ns / 1000000000),
                                       (long)(wait_ns % 1000000000) };
        // Not FUTEX_WAIT_PRIVATE, because ts-record wakes it from another
        // process.
        syscall(SYS_futex, word, FUTEX_WAIT, command,
                wait_ns == UINT64_MAX ? NULL : &wait, NULL, 0);
    }
    return unused;
}

static bool is_watched(void)
{
    return watch.shared || watch.begin_ns || watch.end_ns || watch.size_limit;
}

static void watch_start(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    uint64_t old;
    watch.state = TS_INJECT_RECORDS;
    if (watch.begin_ns > ts__clock_ns(CLOCK_MONOTONIC)) {
        watch.state = TS_INJECT_WAITS;
        ts_session_pause();
    } else {
        keep_begin();
    }
    if (!is_watched()) return;
    control_enter();
    give_figures();
    // The new thread inherits this mask and takes no signals.
    ts__signals_set(SIG_SETMASK, TS__SIGNALS_ALL, &old);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    const int error = pthread_create(&thread, &attributes, watch_main, NULL);
    pthread_attr_destroy(&attributes);
    ts__signals_set(SIG_SETMASK, old, NULL);
    if (error) {
        log_line("not recorded", "the thread for its times cannot be created");
        ts_session_stop();
    }
}

// Returns false if the process began after the end of the recording.
static bool watch_prepare(void)
{
    const uint64_t delay_ms = number_of("TRACESMITH_DELAY");
    const uint64_t duration_ms = number_of("TRACESMITH_DURATION");
    const uint64_t now = ts__clock_ns(CLOCK_MONOTONIC);
    const uint64_t start = watch.shared ? watch.shared->start_ns : now;
    watch.size_limit = number_of("TRACESMITH_SIZE_LIMIT");
    if (delay_ms) watch.begin_ns = start + delay_ms * 1000000;
    if (duration_ms) watch.end_ns = start + (delay_ms + duration_ms) * 1000000;
    return !(watch.end_ns && now >= watch.end_ns) &&
           !(watch.shared && TS__LOAD(&watch.shared->full));
}

/* ==== 3. Start =========================================================== */

// The pattern that was requested.
static char out_pattern[TS__PATH_MAX];

// Runs in a child before the session's own handler opens its trace. The system
// may have given the child the number of an earlier process whose trace exists.
static void child_path(void)
{
    ts__copy_text(ts__c.path_pattern, sizeof ts__c.path_pattern,
                  unused_path(spool_open(out_pattern)));
}

// Runs in a child that is to be recorded but may be unable to, because it has
// another root or user.
static void child_began(void)
{
    ts_stats stats;
    if (watch.state == TS_INJECT_ENDED) return;
    if (ts_session_stats(&stats) == TS_OK && !stats.recording)
        log_line("not recorded", "its trace cannot be created");
    else
        watch_start();
}

// Sets filter and capture options. Returns false, and logs it, if they are
// invalid.
static bool set_capture(void)
{
    ts_filter_desc desc = { .kinds = secure_getenv("TRACESMITH_KINDS") };
    desc.names = secure_getenv("TRACESMITH_FILTER");
    desc.stack_depth = (uint32_t)number_of("TRACESMITH_STACKS");
    if (ts_filter_set(&desc) == TS_OK) {
        ts_stack_launches(ts_filter_stack_depth());
        return true;
    }
    log_line("not recorded", "TRACESMITH_KINDS, _FILTER or _STACKS is invalid");
    return false;
}

static bool set_keep(void)
{
    const char *const text = secure_getenv("TRACESMITH_CAPTURE");
    const char *const on = secure_getenv("TRACESMITH_CAPTURE_ON");
    keep.requested = text && *text;
    keep.on_trigger = on && *on;
    if (!keep.requested || ts_capture_parse(&keep.what, keep.room,
                                            sizeof keep.room, text) == TS_OK)
        return true;
    log_line("not recorded", "TRACESMITH_CAPTURE is invalid");
    return false;
}

// Sets up the flight recorder, which keeps only the last moments in memory
// until a dump is requested.
static void set_flight(ts_session_desc *desc)
{
    static char path[4096];
    if (!number_of("TRACESMITH_FLIGHT")) return;
    const uint64_t ring = number_of("TRACESMITH_FLIGHT_MEMORY");
    const char *const slash = strrchr(desc->path, '/');
    const char *const name = slash ? slash + 1 : desc->path;
    desc->policy = TS_POLICY_OVERWRITE;
    desc->memory_bytes = 1u << 30;
    desc->ring_bytes = !ring                          ? TS_INJECT_FLIGHT
                       : ring < TS_INJECT_FLIGHT_MOST ? (uint32_t)ring
                                                      : TS_INJECT_FLIGHT_MOST;
    snprintf(path, sizeof path, "%.*ssnapshot-%s.%%n.sbt",
             (int)(name - desc->path), desc->path, name);
    desc->snapshot_path = path;
}

// Records in the trace which events were left out by options.
static void note_options(void)
{
    static const char *const requests[][2] = {
        { "TRACESMITH_KINDS", "capture.kinds" },
        { "TRACESMITH_FILTER", "capture.filter" },
        { "TRACESMITH_CAPTURE", "capture.operations" },
    };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        const char *const text = secure_getenv(requests[i][0]);
        if (text && *text) ts_metadata_text(0, requests[i][1], text);
    }
    if (ts_filter_stack_depth())
        ts_metadata_text(0, "capture.stacks",
                         ts_stack_problem() ? ts_stack_problem() : "on");
    if (watch.begin_ns)
        ts_metadata_int(0, "capture.delay_ms",
                        (int64_t)number_of("TRACESMITH_DELAY"));
}

// Passes names of streams on: NVTX reports the names, CUPTI knows the streams'
// contexts.
static void take_name(ts_nvtx_kind kind, uint64_t handle, const char *name)
{
    void *stream;
    memcpy(&stream, &handle, sizeof stream);
    if (kind == TS_NVTX_CU_STREAM || kind == TS_NVTX_CUDA_STREAM)
        ts_cupti_stream_name(stream, name);
}

// Starts the session once, whichever library calls first. Without
// TRACESMITH_OUT nothing is started, and each entry costs one call.
static void start_once(void)
{
    ts_session_desc desc;
    const char *const requested = secure_getenv("TRACESMITH_OUT");
    memset(&desc, 0, sizeof desc);
    if (!requested || !*requested) return;
    const char *const out = spool_open(requested);
    log_open();
    if (!set_capture() || !set_keep()) return;
    if (!control_open()) {
        log_line("not recorded",
                 "TRACESMITH_CONTROL belongs to another ts-record");
        return;
    }
    if (!watch_prepare()) return;
    uint32_t world;
    ts_inject_rank(secure_getenv, &desc.rank, &world);
    ts__c.desc.rank = desc.rank; // for %r in the pattern
    desc.path = unused_path(out);
    const bool follow = number_place(desc.path) != NULL;
    desc.fork = follow ? TS_FORK_FOLLOW : TS_FORK_QUIET;
    set_flight(&desc);
    ts_nvtx_named = take_name;
    ts_backend_add(&ts_nvtx_backend);
    // Handlers run in a child in the order in which they were registered.
    if (follow && ts__copy_text(out_pattern, sizeof out_pattern, requested))
        pthread_atfork(NULL, NULL, child_path);
    const ts_result result = ts_session_start(&desc);
    if (result != TS_OK) {
        log_line("not recorded", ts_result_text(result));
        return;
    }
    log_line("recorded", desc.path);
    note_options();
    // Registered now even if a delay postpones captures: child_began must run
    // after the captures' own fork handler, which releases their lock.
    if (keep.requested) ts__cap_hook(&ts__cap_now);
    watch_start();
    // Registered after the session's handler, which starts the child's session.
    if (follow) pthread_atfork(NULL, NULL, child_began);
}

static void start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_once);
}

// Finds a function in the library that the user had set in the variable that
// now names this library. Its path is in a variable TRACESMITH_CHAIN_... NULL:
// none.
static void *chained(const char *variable, const char *function)
{
    const char *const path = secure_getenv(variable);
    if (!path || !*path) return NULL;
    void *const library = dlopen(path, RTLD_LAZY);
    void *const found = library ? dlsym(library, function) : NULL;
    if (!found) log_line("not chained", path);
    return found;
}

/* ==== 4. CUDA ============================================================ */

// Called by libcuda within cuInit; see CUDA_INJECTION64_PATH.
ENTRY int InitializeInjection(void);
int InitializeInjection(void)
{
    int (*theirs)(void) = NULL;
    ts_cupti_desc desc;
    start();
    memset(&desc, 0, sizeof desc);
    desc.yield = secure_getenv("TRACESMITH_YIELD");
    if (desc.yield && *desc.yield) ts_cupti_configure(&desc);
    ts_cupti_initialize();
    *(void **)&theirs = chained("TRACESMITH_CHAIN_CUDA", "InitializeInjection");
    if (theirs && theirs != InitializeInjection) theirs();
    return 1;
}

/* ==== 5. NVTX ============================================================ */

// Called by each copy of NVTX; see NVTX_INJECTION64_PATH.
ENTRY int InitializeInjectionNvtx2(ts_nvtx_get_table get_table);
int InitializeInjectionNvtx2(ts_nvtx_get_table get_table)
{
    int (*theirs)(ts_nvtx_get_table) = NULL;
    start();
    *(void **)&theirs =
        chained("TRACESMITH_CHAIN_NVTX", "InitializeInjectionNvtx2");
    if (!theirs || theirs == InitializeInjectionNvtx2)
        return ts_nvtx_initialize(get_table);
    return ts_nvtx_initialize_both(get_table, theirs);
}

/* ==== 6. HIP ============================================================= */

// Called by rocprofiler-sdk; see ROCP_TOOL_LIBRARIES.
ENTRY void *rocprofiler_configure(uint32_t version, const char *runtime_version,
                                  uint32_t priority, void *client);
void *rocprofiler_configure(uint32_t version, const char *runtime_version,
                            uint32_t priority, void *client)
{
    start();
    return ts_hip_configure(version, runtime_version, priority, client);
}

// Called by runtimes of ROCm that do not know it; see HSA_TOOLS_LIB.
ENTRY bool OnLoad(void *table, uint64_t version, uint64_t failed_count,
                  const char *const *failed);
bool OnLoad(void *table, uint64_t version, uint64_t failed_count,
            const char *const *failed)
{
    (void)table;
    (void)version;
    (void)failed_count;
    (void)failed;
    start();
    ts_hip_on_load();
    return true;
}

/* ==== 7. OpenCL ========================================================== */

// Called by the loader; see OPENCL_LAYERS.
ENTRY int32_t clGetLayerInfo(uint32_t what, size_t room, void *value,
                             size_t *size);
int32_t clGetLayerInfo(uint32_t what, size_t room, void *value, size_t *size)
{
    return ts_opencl_layer_info(what, room, value, size);
}

ENTRY int32_t clInitLayer(uint32_t count, const void *const *target,
                          uint32_t *count_out, const void *const **table);
int32_t clInitLayer(uint32_t count, const void *const *target,
                    uint32_t *count_out, const void *const **table)
{
    ts_stats stats;
    start();
    const bool on = ts_session_stats(&stats) == TS_OK && stats.generation;
    return ts_opencl_layer_init(count, target, count_out, table, on);
}

// Khronos' loader since 2024 looks for these in place of clInitLayer.
ENTRY int32_t clInitLayerWithProperties(uint32_t count,
                                        const void *const *target,
                                        uint32_t *count_out,
                                        const void *const **table,
                                        const void *properties);
int32_t clInitLayerWithProperties(uint32_t count, const void *const *target,
                                  uint32_t *count_out,
                                  const void *const **table,
                                  const void *properties)
{
    (void)properties;
    return clInitLayer(count, target, count_out, table);
}

ENTRY int32_t clDeinitLayer(void);
int32_t clDeinitLayer(void)
{
    ts_opencl_layer_end();
    return 0;
}

/* ==== 8. NVTX extensions ================================================= */

// Called by each copy of an extension of NVTX; found by the same variable.
ENTRY int InitializeInjectionNvtxExtension(void *module_info);
int InitializeInjectionNvtxExtension(void *module_info)
{
    start();
    return ts_nvtx_extension(module_info);
}
