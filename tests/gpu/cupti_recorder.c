/*
    cupti_recorder.c - all that CUPTI tells a program's profiler, as it comes

    Loaded by CUDA_INJECTION64_PATH. Into the folder that TS_RECORDER names go
      calls     a line each:
                c TIME THREAD DOMAIN ID SITE CORRELATION CONTEXT NAME SYMBOL
                    a callback of a call; of a resource its node of a graph and
                    the node that this is a copy of follow ID (0: none)
                b BYTES           a buffer begins
                r KIND BYTES NAME a record in it (NAME of kernels and devices)
                n DOMAIN ID NAME  a function that there is
                x ...             what was said once
      buffers   the buffers, one behind the other, as CUPTI filled them
    so that a double can tell the same again (doubles/cupti_recorded.h). Both
    have a bound; what is left out is counted in the last line. Times are of
    CLOCK_MONOTONIC_RAW, those of records of CUPTI's clock: "x clock" has both.
    Source: cupti_callbacks.h and cupti_activity.h of CUDA 13.0.
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 1 << 20, MOST_LINES = 100000, MOST_BYTES = 12 << 20 };
enum { DRIVER = 1, RUNTIME = 2, RESOURCE = 3, STATE = 6 };
// Where records have names: CUpti_ActivityKernel5, CUpti_ActivityDevice3 and
// later.
enum { NODE_MADE = 13, NODE_CLONED = 20 }; // of resources
enum { KERNEL = 10, KERNEL_NAME = 104, DEVICE = 8, DEVICE_NAME = 136 };

static FILE *calls, *buffers;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t lines, bytes, left_lines, left_bytes;

#define CALLS(X) \
    X(cuptiGetVersion, (uint32_t *)) \
    X(cuptiGetTimestamp, (uint64_t *)) \
    X(cuptiSubscribe, \
      (void **, void (*)(void *, uint32_t, uint32_t, const void *), void *)) \
    X(cuptiGetGraphNodeId, (void *, uint64_t *)) \
    X(cuptiGetCallbackName, (uint32_t, uint32_t, const char **)) \
    X(cuptiEnableDomain, (uint32_t, void *, uint32_t)) \
    X(cuptiActivityRegisterCallbacks, \
      (void (*)(uint8_t **, size_t *, size_t *), \
       void (*)(void *, uint32_t, uint8_t *, size_t, size_t))) \
    X(cuptiActivityEnable, (uint32_t)) \
    X(cuptiActivityFlushAll, (uint32_t)) \
    X(cuptiActivityGetNextRecord, (uint8_t *, size_t, uint8_t **))
#define X(name, parameters) static int(*name) parameters;
CALLS(X)
#undef X

typedef struct call { // CUpti_CallbackData
    int32_t site;
    const char *name;
    const void *parameters;
    const int *result;
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *user;
    uint32_t correlation;
} call;

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((format(printf, 1, 2))) static void line(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    pthread_mutex_lock(&lock);
    if (lines++ < MOST_LINES)
        vfprintf(calls, format, list);
    else
        left_lines++;
    pthread_mutex_unlock(&lock);
    va_end(list);
}

typedef struct resource { // CUpti_ResourceData
    void *context, *handle;
    struct { // CUpti_GraphData, its beginning
        void *graph, *original_graph, *node, *original;
    } const *graph;
} resource;

static uint64_t node_id(void *node)
{
    uint64_t id = 0;
    return node && cuptiGetGraphNodeId(node, &id) == 0 ? id : 0;
}

static void on_resource(uint32_t id, const resource *r, long thread)
{
    const bool node = r && r->graph && (id == NODE_MADE || id == NODE_CLONED);
    line("c %" PRIu64 " %ld %d %u %" PRIu64 " %" PRIu64 "\n", now(), thread,
         RESOURCE, id, node ? node_id(r->graph->node) : 0,
         node && id == NODE_CLONED ? node_id(r->graph->original) : 0);
}

static void on_callback(void *user, uint32_t domain, uint32_t id,
                        const void *data)
{
    const long thread = syscall(SYS_gettid);
    const call *const c = data;
    (void)user;
    if (domain == DRIVER || domain == RUNTIME)
        line("c %" PRIu64 " %ld %u %u %d %u %u %s %s\n", now(), thread, domain,
             id, c->site, c->correlation, c->context_id, c->name,
             c->symbol ? c->symbol : "");
    else if (domain == RESOURCE)
        on_resource(id, data, thread);
    else
        line("c %" PRIu64 " %ld %u %u\n", now(), thread, domain, id);
}

static void request(uint8_t **buffer, size_t *size, size_t *count)
{
    *buffer = aligned_alloc(4096, SIZE);
    *size = SIZE;
    *count = 0;
}

static void keep(const uint8_t *buffer, size_t valid)
{
    pthread_mutex_lock(&lock);
    if (bytes + valid <= MOST_BYTES)
        bytes += fwrite(buffer, 1, valid, buffers);
    else
        left_bytes += valid;
    pthread_mutex_unlock(&lock);
}

static void complete(void *context, uint32_t stream, uint8_t *buffer,
                     size_t size, size_t valid)
{
    uint8_t *at = NULL, *before = NULL;
    uint32_t kind = 0;
    (void)context;
    (void)stream;
    (void)size;
    line("b %zu\n", valid);
    for (;;) {
        const bool more = cuptiActivityGetNextRecord(buffer, valid, &at) == 0;
        const size_t end = more ? (size_t)(at - buffer) : valid;
        const char *name = "";
        if (before && (kind == KERNEL || kind == DEVICE))
            memcpy(&name, before + (kind == KERNEL ? KERNEL_NAME : DEVICE_NAME),
                   sizeof name);
        if (!name) name = "";
        if (before)
            line("r %u %zu %s\n", kind, end - (size_t)(before - buffer), name);
        if (!more) break;
        memcpy(&kind, at, sizeof kind);
        before = at;
    }
    keep(buffer, valid);
    free(buffer);
}

static void done(void)
{
    cuptiActivityFlushAll(1);
    pthread_mutex_lock(&lock);
    fprintf(calls,
            "x %" PRIu64 " lines and %" PRIu64 " bytes of buffers are left "
            "out\n",
            left_lines, left_bytes);
    fclose(calls);
    fclose(buffers);
    calls = fopen("/dev/null", "w"); // somebody may still call
    buffers = calls;
    pthread_mutex_unlock(&lock);
}

static void names(uint32_t domain)
{
    for (uint32_t id = 1; id < 4096; id++) {
        const char *name = NULL;
        if (cuptiGetCallbackName(domain, id, &name) == 0 && name)
            line("n %u %u %s\n", domain, id, name);
    }
}

static FILE *file(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, "w");
}

static bool load(void)
{
    static const char *const files[] = { "libcupti.so.13", "libcupti.so.12",
                                         "libcupti.so" };
    void *library = NULL;
    for (int i = 0; i < 3 && !library; i++)
        library = dlopen(files[i], RTLD_NOW);
    if (!library) return false;
#define X(name, parameters) \
    { \
        void *const symbol = dlsym(library, #name); \
        memcpy(&name, &symbol, sizeof name); \
        if (!symbol) return false; \
    }
    CALLS(X)
#undef X
    return true;
}

int InitializeInjection(void);
int InitializeInjection(void)
{
    static const uint32_t kinds[] = {
        10, 1, 22, 2, 38, 36, 49, 50, 17, 8, 9, 37
    };
    static const uint32_t domains[] = { DRIVER, RUNTIME, RESOURCE, STATE };
    const char *const folder = getenv("TS_RECORDER");
    void *subscriber = NULL;
    uint32_t version = 0;
    uint64_t clock = 0;
    if (!folder || !load() || !(calls = file(folder, "calls")) ||
        !(buffers = file(folder, "buffers"))) {
        fprintf(stderr, "cupti_recorder: no folder, or no libcupti.so\n");
        return 1;
    }
    cuptiGetVersion(&version);
    line("x version %u\n", version);
    if (cuptiGetTimestamp(&clock) == 0)
        line("x clock %" PRIu64 " %" PRIu64 "\n", now(), clock);
    names(DRIVER);
    names(RUNTIME);
    line("x subscribe %d\n", cuptiSubscribe(&subscriber, on_callback, NULL));
    line("x buffers %d\n", cuptiActivityRegisterCallbacks(request, complete));
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++)
        line("x domain %u %d\n", domains[i],
             cuptiEnableDomain(1, subscriber, domains[i]));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        line("x kind %u %d\n", kinds[i], cuptiActivityEnable(kinds[i]));
    atexit(done);
    return 1;
}
