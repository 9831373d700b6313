/*
    ts_inject.c - libtracesmith-inject.so: programs that nobody annotated

    The recorder with every backend compiled in, behind the names that vendors'
    libraries look for. ts-record sets the variables that make them look here;
    docs/capture.md lists them. Loaded into somebody else's process: it must
    change neither what the program prints nor how it ends, so it says nothing
    but where TRACESMITH_LOG tells it to. In a program that gains privileges its
    variables are not read.
*/
#define TRACESMITH_IMPLEMENTATION
#define TRACESMITH_NVTX_IMPLEMENTATION
#define TS_API extern // hidden: see -fvisibility in the Makefile
#include "tracesmith.h"

#include "backends/ts_capture.h"
#include "backends/ts_nvtx.h"

#define ENTRY __attribute__((visibility("default")))

/* ==== 1. Session ========================================================= */

static int log_file = -1; // open for as long as the process: children of it
                          // may be where it cannot be opened

static void log_open(void)
{
    const char *const path = secure_getenv("TRACESMITH_LOG");
    if (path && *path)
        log_file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

// One line, written at once: processes share the file.
static void say(const char *what, const char *why)
{
    struct stat about;
    char line[4400];
    if (log_file < 0 || fstat(log_file, &about) != 0) return;
    snprintf(line, sizeof line, "%s %ld: %.4300s\n", what, (long)getpid(), why);
    const size_t size = strlen(line);
    // A write beyond the limit of the process would end the program.
    if (ts__file_may_grow((uint64_t)about.st_size + size) &&
        write(log_file, line, size) < 0)
        close(log_file), log_file = -1;
}

static uint32_t number_of(const char *variable)
{
    const char *const text = secure_getenv(variable);
    return text ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

/*
    A program that calls exec keeps its number: its next image must not replace
    the trace of the one before, so "%p" becomes "%p-1", "%p-2", ... Returns
    where to record, with %p in it still, for children made by fork.
*/
static const char *unused_path(const char *pattern)
{
    static char path[4096];
    const char *const at = strstr(pattern, "%p");
    if (!at) return pattern;
    const int before = (int)(at - pattern);
    for (int i = 0; i < 1000; i++) {
        char own[4096], number[16] = "";
        if (i) snprintf(number, sizeof number, "-%d", i);
        snprintf(own, sizeof own, "%.*s%ld%s%s", before, pattern,
                 (long)getpid(), number, at + 2);
        snprintf(path, sizeof path, "%.*s%%p%s%s", before, pattern, number,
                 at + 2);
        if (access(own, F_OK) != 0) break;
    }
    return path;
}

// A child that follows, and cannot: it may have another root or user.
static void child_began(void)
{
    ts_stats stats;
    if (ts_session_stats(&stats) == TS_OK && !stats.recording)
        say("not recorded", "its trace cannot be made");
}

// False, and said where, if what is to be captured makes no sense.
static bool set_capture(void)
{
    const ts_capture_desc desc = { .kinds = secure_getenv("TRACESMITH_KINDS"),
                                   .names = secure_getenv("TRACESMITH_FILTER"),
                                   .stack_depth =
                                       number_of("TRACESMITH_STACKS") };
    if (ts_capture_set(&desc) == TS_OK) return true;
    say("not recorded", "TRACESMITH_KINDS, _FILTER or _STACKS is wrong");
    return false;
}

// Whatever library comes in first: the session is started once. Without
// TRACESMITH_OUT nothing is, and each entry costs one call.
static void start_once(void)
{
    ts_session_desc desc;
    const char *const out = secure_getenv("TRACESMITH_OUT");
    memset(&desc, 0, sizeof desc);
    if (!out || !*out) return;
    log_open();
    if (!set_capture()) return;
    desc.path = unused_path(out);
    const bool follow = strstr(desc.path, "%p") != NULL;
    desc.fork = follow ? TS_FORK_FOLLOW : TS_FORK_QUIET;
    desc.rank = number_of("TRACESMITH_RANK");
    ts_backend_add(&ts_nvtx_backend);
    const ts_result result = ts_session_start(&desc);
    if (result != TS_OK)
        say("not recorded", ts_result_text(result));
    else
        say("recorded", desc.path);
    // After the session's own, which starts the child's.
    if (result == TS_OK && follow) pthread_atfork(NULL, NULL, child_began);
}

static void start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_once);
}

/*
    The function of that name in the library that the user had named where we
    are named now: its path is in a variable TRACESMITH_CHAIN_... NULL: none.
*/
static void *chained(const char *variable, const char *function)
{
    const char *const path = secure_getenv(variable);
    if (!path || !*path) return NULL;
    void *const library = dlopen(path, RTLD_LAZY);
    void *const found = library ? dlsym(library, function) : NULL;
    if (!found) say("not chained", path);
    return found;
}

/* ==== 2. CUDA ============================================================ */

// Called by libcuda within cuInit; see CUDA_INJECTION64_PATH.
ENTRY int InitializeInjection(void);
int InitializeInjection(void)
{
    int (*theirs)(void) = NULL;
    start();
    *(void **)&theirs = chained("TRACESMITH_CHAIN_CUDA", "InitializeInjection");
    if (theirs && theirs != InitializeInjection) theirs();
    return 1;
}

/* ==== 3. NVTX ============================================================ */

// Called by each copy of NVTX; see NVTX_INJECTION64_PATH.
ENTRY int InitializeInjectionNvtx2(ts_nvtx_get_table get_table);
int InitializeInjectionNvtx2(ts_nvtx_get_table get_table)
{
    start();
    return ts_nvtx_initialize(get_table);
}
