/*
    faults.c - every call of libc that a recording session makes fails in turn

    usage: faults [--stride N] SESSION FAULT.so FOLDER

    Counts the calls of each function in a run of session.c, then runs it again
    for each of them, each errno and each way to fail. Each run must end by
    itself with 0, and say of every record it made what became of it; the trace
    must say the same, or ts_session_stop must have reported the error.
*/
#define _GNU_SOURCE
#include "tracesmith_replay.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HANGS_AFTER_S = 100, FUNCTIONS_MOST = 64 };

// Functions that fail together, and how.
typedef struct fault {
    const char *functions;
    int errors[4]; // ends with 0
    bool brief;    // EINTR and short transfers happen as well
} fault;

static const fault faults[] = {
    { "open", { EMFILE, EACCES }, true },
    { "close", { EIO }, true },
    { "read", { EIO }, true },
    { "pread", { EIO }, true },
    { "pwrite", { EIO, ENOSPC }, true },
    { "fstat", { EIO }, false },
    { "ftruncate", { EIO }, true },
    { "fallocate", { ENOSPC, EOPNOTSUPP, EIO }, true },
    { "posix_fallocate", { ENOSPC, EIO }, true },
    { "fstatat,stat", { EACCES }, false },
    { "statfs,fstatfs", { EIO }, false },
    { "readlink,realpath", { EACCES }, false },
    { "fcntl", { ENOLCK }, false },
    { "unlink,unlinkat", { EIO }, false },
    { "rename", { EIO }, false },
    { "symlink,symlinkat", { EIO }, false },
    { "mmap", { ENOMEM }, false },
    { "munmap", { ENOMEM }, false },
    { "mremap", { ENOMEM }, false },
    { "madvise", { EINVAL }, false },
    { "pthread_create", { EAGAIN }, false },
    { "pthread_key_create", { EAGAIN }, false },
    { "ZSTD_createCCtx", { ENOMEM }, false },
    { "ZSTD_compressStream2", { ENOMEM }, false },
    { "malloc,calloc,realloc", { ENOMEM }, false },
    // A disk that is full, one that is broken, no memory, no descriptor.
    { "pwrite,fallocate,posix_fallocate", { ENOSPC }, false },
    { "open,pwrite,pread,fallocate,posix_fallocate,ftruncate,unlink,fstat",
      { EIO },
      false },
    { "mmap,mremap,malloc,calloc,realloc", { ENOMEM }, false },
};

static const char *session, *library, *folder;
static uint64_t runs, failures;

// What a run of session.c said.
typedef struct said {
    int start, snapshot, stop, open, lines;
    uint64_t made, records, lost;
    struct {
        char name[32];
        unsigned calls;
    } functions[FUNCTIONS_MOST];
    int function_count;
} said;

typedef struct run {
    const char *how;
    char order[256]; // for FAULT
    int status;
    said said;
    bool failed;
} run;

__attribute__((format(printf, 2, 3))) static void fail(run *r,
                                                       const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("FAULT='%s' %s: ", r->order, r->how);
    vprintf(format, list);
    va_end(list);
    printf("\n");
    r->failed = true;
}

static void hear(said *s, const char *line)
{
    char what[32], name[32];
    int64_t value;
    unsigned calls;
    if (sscanf(line, "calls %31s %u", name, &calls) == 2 &&
        s->function_count < FUNCTIONS_MOST) {
        strcpy(s->functions[s->function_count].name, name);
        s->functions[s->function_count++].calls = calls;
        return;
    }
    if (sscanf(line, "%31s %" SCNd64, what, &value) != 2) return;
    s->lines++;
    if (!strcmp(what, "start")) s->start = (int)value;
    if (!strcmp(what, "snapshot")) s->snapshot = (int)value;
    if (!strcmp(what, "stop")) s->stop = (int)value;
    if (!strcmp(what, "open")) s->open = (int)value;
    if (!strcmp(what, "made")) s->made = (uint64_t)value;
    if (!strcmp(what, "records")) s->records = (uint64_t)value;
    if (!strcmp(what, "lost")) s->lost = (uint64_t)value;
}

static void become_session(const run *r, int out)
{
    dup2(out, 1);
    setenv("FAULT", r->order, 1);
    setenv("LD_PRELOAD", library, 1);
    alarm(HANGS_AFTER_S); // outlives exec
    execl(session, session, r->how, folder, NULL);
    _exit(3);
}

static void run_session(run *r)
{
    int pipes[2];
    char line[128];
    if (pipe(pipes)) abort();
    fflush(stdout);
    const pid_t child = fork();
    if (!child) become_session(r, pipes[1]);
    close(pipes[1]);
    FILE *const in = fdopen(pipes[0], "r");
    while (in && fgets(line, sizeof line, in))
        hear(&r->said, line);
    if (in) fclose(in);
    waitpid(child, &r->status, 0);
    runs++;
}

// Empties the folder. What a session leaves besides its traces is a leak.
static void clean(run *r, bool may_stay)
{
    char path[600];
    DIR *const d = opendir(folder);
    if (!d) abort();
    for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        const bool ours = !strcmp(e->d_name, "trace.sbt") ||
                          !strcmp(e->d_name, "snapshot.sbt");
        if (!ours && !may_stay) fail(r, "leaves %s", e->d_name);
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        unlink(path);
    }
    closedir(d);
}

static ts_reader *open_trace(const char *name)
{
    char path[600];
    ts_reader *reader = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const ts_reader_desc desc = { .path = path, .threads = 1 };
    ts_reader_open(&reader, &desc);
    return reader;
}

static bool whole(ts_reader *reader)
{
    return ts_reader_verify(reader) == TS_OK &&
           !ts_reader_damage_count(reader) && ts_reader_info(reader)->finished;
}

static uint64_t events_of(const ts_reader *reader)
{
    uint64_t sum = 0;
    for (int kind = 0; kind < TS_EVENT_LIMIT; kind++)
        sum += ts_reader_info(reader)->counts[kind];
    return sum;
}

static void check_trace(run *r)
{
    const said *const s = &r->said;
    ts_reader *const reader = open_trace("trace.sbt");
    if (!reader) {
        if (s->start == TS_OK && s->stop == TS_OK) fail(r, "no trace");
        return;
    }
    const uint64_t events = events_of(reader);
    const uint64_t lost = ts_reader_info(reader)->lost;
    if (s->start != TS_OK && events) fail(r, "events without a session");
    if (s->stop == TS_OK && !whole(reader)) fail(r, "damage, not reported");
    if (events > s->made) fail(r, "more events than were made");
    if (s->start == TS_OK && events != s->records)
        fail(r, "%" PRIu64 " events, said to be %" PRIu64, events, s->records);
    // Where the end could not be written, readers see that it is missing.
    if (s->start == TS_OK && events + lost != s->made &&
        (s->stop == TS_OK || ts_reader_info(reader)->finished))
        fail(r, "%" PRIu64 " events and %" PRIu64 " lost of %" PRIu64, events,
             lost, s->made);
    ts_reader_close(reader);
}

static void check_snapshot(run *r)
{
    if (r->said.snapshot != TS_OK) return;
    ts_reader *const reader = open_trace("snapshot.sbt");
    if (!reader) {
        fail(r, "no snapshot");
        return;
    }
    if (!whole(reader)) fail(r, "a damaged snapshot, not reported");
    if (events_of(reader) > r->said.made) fail(r, "a snapshot of too much");
    ts_reader_close(reader);
}

static void check_run(run *r)
{
    const said *const s = &r->said;
    if (WIFSIGNALED(r->status) && WTERMSIG(r->status) == SIGALRM)
        fail(r, "hangs");
    else if (r->status || s->lines != 9)
        fail(r, "wait status 0x%x, %d lines", r->status, s->lines);
    else {
        if (s->start != TS_OK && s->stop != s->start)
            fail(r, "start said %d, stop %d", s->start, s->stop);
        if (s->start == TS_OK && s->records + s->lost != s->made)
            fail(r, "%" PRIu64 " recorded and %" PRIu64 " lost of %" PRIu64,
                 s->records, s->lost, s->made);
        // Where fstat fails, a descriptor may be somebody else's by now.
        if (s->open && !strstr(r->order, "fstat"))
            fail(r, "%d descriptors stay open", s->open);
        check_trace(r);
        check_snapshot(r);
    }
    // A link that cannot be read may be somebody else's.
    clean(r, strstr(r->order, "unlink") || strstr(r->order, "readlink") ||
                 r->status);
    failures += r->failed;
}

static unsigned calls_of(const said *s, const char *functions)
{
    unsigned sum = 0;
    char list[256], *rest = NULL;
    snprintf(list, sizeof list, "%s", functions);
    for (char *name = strtok_r(list, ",", &rest); name;
         name = strtok_r(NULL, ",", &rest))
        for (int i = 0; i < s->function_count; i++)
            if (!strcmp(s->functions[i].name, name))
                sum += s->functions[i].calls;
    return sum;
}

static void try_one(const char *how, const char *functions, int error,
                    unsigned n, const char *mode)
{
    run r;
    memset(&r, 0, sizeof r);
    r.how = how;
    snprintf(r.order, sizeof r.order, "%s %d %u %s", functions, error, n, mode);
    run_session(&r);
    check_run(&r);
}

static void try_fault(const char *how, const fault *f, unsigned n)
{
    for (int i = 0; f->errors[i]; i++) {
        try_one(how, f->functions, f->errors[i], n, "once");
        try_one(how, f->functions, f->errors[i], n, "always");
    }
    if (!f->brief) return;
    try_one(how, f->functions, EINTR, n, "once");
    if (strstr(f->functions, "read") || strstr(f->functions, "write"))
        try_one(how, f->functions, 0, n, "short");
}

// A library that was not loaded counts nothing, and no call would fail.
static void check_counts(const run *first)
{
    static const char *const always[] = { "open", "pwrite", "mmap", "close",
                                          "malloc,calloc,realloc" };
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
        if (calls_of(&first->said, always[i])) continue;
        printf("%s: no call of %s was counted\n", first->how, always[i]);
        failures++;
    }
}

// The calls of one run; where threads decide, another may make a few more.
static void try_all(const char *how, unsigned stride)
{
    run first;
    memset(&first, 0, sizeof first);
    first.how = how;
    run_session(&first);
    check_run(&first);
    check_counts(&first);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const unsigned calls = calls_of(&first.said, faults[i].functions);
        printf("# %s: %u calls of %s\n", how, calls, faults[i].functions);
        for (unsigned n = 1; n <= calls; n += n < 6 ? 1 : stride)
            try_fault(how, &faults[i], n);
    }
}

int main(int argc, char **argv)
{
    unsigned stride = 1;
    if (argc == 6 && !strcmp(argv[1], "--stride"))
        stride = (unsigned)atoi(argv[2]);
    if (argc < 4 || !stride) return 2;
    session = argv[argc - 3];
    library = argv[argc - 2];
    folder = argv[argc - 1];
    try_all("manual", stride);
    try_all("help", stride);
    try_all("compressed", stride);
    try_all("overwrite", stride);
    try_all("block", stride * 4);
    try_all("drop", stride * 4);
    printf("%" PRIu64 " runs, %" PRIu64 " failed\n", runs, failures);
    return failures > 0;
}
