/*
    session.c - a short session, whose libc may fail (fault.c)

    usage: session help|drop|overwrite|block|manual|compressed FOLDER

    Prints what each call returned, how many records were made while it
    recorded, what it says that became of them, and how many descriptors it
    left open. Always exits with 0: nothing that fails may harm the program.
*/
#define _GNU_SOURCE
#define TRACESMITH_IMPLEMENTATION
#include "tracesmith.h"

#include <dirent.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 400, NAMES = 60 };

static pthread_barrier_t barrier;
static bool recording;
static uint64_t made;

static void record(int count)
{
    char text[160];
    memset(text, 'x', sizeof text);
    for (int i = 0; i < count; i++) {
        TS_ZONE("work");
        TS_COUNTER("i", i);
        ts_message_sized(text, (size_t)(i % (int)sizeof text));
        TS_MARK("step");
    }
    if (recording)
        __atomic_fetch_add(&made, 4 * (uint64_t)count, __ATOMIC_RELAXED);
}

static void *worker(void *user)
{
    pthread_barrier_wait(&barrier);
    record(ROUNDS);
    return user;
}

// New names, as long as texts of programs are.
static void define_names(void)
{
    char name[300];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = 0;
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, 8, "%07d", i);
        name[7] = '.';
        ts_name_define(name);
    }
}

static int descriptors(void)
{
    int count = 0;
    DIR *const folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        count++;
    if (folder) closedir(folder);
    return count;
}

// fault.c's, if it is there.
static void print_faults(const char *what)
{
    void (*call)(void) = NULL;
    void *const found = dlsym(RTLD_DEFAULT, what);
    memcpy(&call, &found, sizeof call);
    if (call) call();
}

static ts_session_desc describe(const char *how)
{
    static char trace[300], snapshot[300];
    ts_session_desc desc = { .ring_bytes = 32768, .sidecar_dir = "." };
    desc.path = trace;
    desc.snapshot_path = snapshot;
    snprintf(trace, sizeof trace, "trace.sbt");
    snprintf(snapshot, sizeof snapshot, "snapshot.sbt");
    if (!strcmp(how, "manual")) desc.drain = TS_DRAIN_MANUAL;
#ifdef TRACESMITH_ZSTD
    if (!strcmp(how, "compressed")) desc.compress = 3;
#endif
    if (!strcmp(how, "drop")) desc.policy = TS_POLICY_DROP;
    if (!strcmp(how, "overwrite")) desc.policy = TS_POLICY_OVERWRITE;
    if (!strcmp(how, "block")) desc.policy = TS_POLICY_BLOCK;
    return desc;
}

typedef struct outcome {
    ts_result started, flushed, kept, snapped, stopped;
    ts_stats stats;
} outcome;

static void run(const ts_session_desc *desc, pthread_t workers[2], outcome *o)
{
    static const char blob[5000];
    o->started = ts_session_start(desc);
    recording = o->started == TS_OK;
    pthread_barrier_wait(&barrier);
    define_names();
    o->kept = ts_blob_put(blob, sizeof blob, NULL);
    o->flushed = ts_session_flush();
    record(10);
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i], NULL);
    o->snapped = ts_session_snapshot(NULL);
    record(10);
    o->stopped = ts_session_stop();
    ts_session_stats(&o->stats);
}

int main(int argc, char **argv)
{
    pthread_t workers[2];
    outcome o;
    memset(&o, 0, sizeof o);
    if (argc != 3 || chdir(argv[2])) return 2;
    const ts_session_desc desc = describe(argv[1]);
    const int before = descriptors();
    pthread_barrier_init(&barrier, NULL, 3);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&workers[i], NULL, worker, NULL)) return 2;
    print_faults("fault_begin");
    run(&desc, workers, &o);
    print_faults("fault_end");
    printf("start %d\nflush %d\nblob %d\nsnapshot %d\nstop %d\n", o.started,
           o.flushed, o.kept, o.snapped, o.stopped);
    printf("made %" PRIu64 "\nrecords %" PRIu64 "\nlost %" PRIu64 "\n", made,
           o.stats.records, o.stats.lost);
    printf("open %d\n", descriptors() - before);
    return 0;
}
