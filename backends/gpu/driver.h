/*
    gpu/driver.h - what captures ask CUDA's driver; a part of
    gpu/capture.h, private to it

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    WHAT IT DOES
        Calls of the driver while the program is inside one of its own. Nobody
        promises that this works, so a thread of its own makes them, and who
        asks waits for an answer for a bounded time. A driver that does not
        answer, because it holds a lock over the callback, costs one such time:
        from then on operations are declined.

        A context that goes takes along what is kept of it; who asks about it
        is told at once that there is no answer.

    CONTENTS                            search for "==== 2." to jump
        1. What it keeps
        2. Questions                    gpu/driver_queries.h: on the
                                        thread of its own
        3. Asking
*/
#if (defined(TS__CUPTI_IMPLEMENTED) || defined(TS__HIP_IMPLEMENTED)) && \
    !defined(TS_CUDA_SNAPSHOT_DRIVER_H)
#define TS_CUDA_SNAPSHOT_DRIVER_H

/* ==== 1. What it keeps =================================================== */

#define TS__CS_CALLS(X) \
    X(context_set, "cuCtxSetCurrent", (void *)) \
    X(context_now, "cuCtxGetCurrent", (void **)) \
    X(context_id, "cuCtxGetId", (void *, uint64_t *)) \
    X(query, "cuStreamQuery", (void *)) \
    X(wait_all, "cuCtxSynchronize", (void)) \
    X(record_all, "cuCtxRecordEvent", (void *, void *)) \
    X(event, "cuEventCreate", (void **, unsigned)) \
    X(is_over, "cuEventQuery", (void *)) \
    X(stream, "cuStreamCreate", (void **, unsigned)) \
    X(to_host, "cuMemcpyDtoHAsync_v2", (void *, uint64_t, size_t, void *)) \
    X(range, "cuMemGetAddressRange_v2", (uint64_t *, size_t *, uint64_t)) \
    X(about, "cuPointerGetAttribute", (void *, int, uint64_t)) \
    X(device, "cuCtxGetDevice", (int *)) \
    X(can, "cuDeviceGetAttribute", (int *, int, int)) \
    X(module, "cuFuncGetModule", (void **, void *)) \
    X(kernel, "cuKernelGetFunction", (void **, void *)) \
    X(library, "cuKernelGetLibrary", (void **, void *)) \
    X(library_module, "cuLibraryGetModule", (void **, void *)) \
    X(parameter, "cuFuncGetParamInfo", (void *, size_t, size_t *, size_t *)) \
    X(name, "cuFuncGetName", (const char **, void *)) \
    X(is_recorded, "cuStreamIsCapturing", (void *, int *)) \
    X(mode, "cuThreadExchangeStreamCaptureMode", (int *)) \
    X(nodes, "cuGraphGetNodes", (void *, void **, size_t *)) \
    X(edges, "cuGraphGetEdges_v2", \
      (void *, void **, void **, void *, size_t *)) \
    X(edges_old, "cuGraphGetEdges", (void *, void **, void **, size_t *)) \
    X(node_type, "cuGraphNodeGetType", (void *, int *)) \
    X(node_kernel, "cuGraphKernelNodeGetParams_v2", \
      (void *, ts__cuda_kernel_node *)) \
    X(node_attribute, "cuGraphKernelNodeGetAttribute", (void *, int, void *)) \
    X(node_copy, "cuGraphMemcpyNodeGetParams", (void *, ts__cuda_box *)) \
    X(node_set, "cuGraphMemsetNodeGetParams", (void *, ts__cuda_set_node *)) \
    X(node_child, "cuGraphChildGraphNodeGetGraph", (void *, void **)) \
    X(global, "cuModuleGetGlobal_v2", \
      (uint64_t *, size_t *, void *, const char *)) \
    X(load, "cuModuleLoadData", (void **, const void *)) \
    X(function, "cuModuleGetFunction", (void **, void *, const char *)) \
    X(launch, "cuLaunchKernel", \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
       unsigned, void *, void **, void **)) \
    X(to_device, "cuMemcpyHtoDAsync_v2", \
      (uint64_t, const void *, size_t, void *))

enum { TS__CS_PARAMETERS = 1024 };

typedef enum ts__cs_what {
    TS__CS_TEST = 1,   // whether it answers at all
    TS__CS_DRAIN,      // wait until nothing runs, till `until_ns`
    TS__CS_READ,       // `size` bytes at `address`
    TS__CS_FUNCTION,   // module and parameters of `object`
    TS__CS_GLOBAL,     // where variable `name` of module `object` lies
    TS__CS_ALLOCATION, // which allocation `address` lies in
    TS__CS_STATUS,     // whether stream `object` is `recorded`
    TS__CS_QUIET,      // wait until stream `object` is idle, till `until_ns`
    TS__CS_OWN         // what `own` asks
} ts__cs_what;

// Managed memory, and whether anybody may look at it while others use it.
typedef enum ts__cs_managed {
    TS__CS_NOT_MANAGED,
    TS__CS_MANAGED_ALONE,
    TS__CS_MANAGED
} ts__cs_managed;

typedef struct ts__cs_job {
    ts__cs_what what;
    bool (*own)(struct ts__cs_job *job); // of a vendor
    void *context, *object;
    uint64_t address, size, until_ns;
    const char *name;
    bool ok;
    // Of a function.
    bool is_kernel; // `object` is a kernel of a library, and no function
    void *module;
    uint32_t parameter_count;
    uint32_t parameters[TS__CS_PARAMETERS][2]; // offset, size
    uint32_t memory_type;                      // of an allocation, 0: none
    void *owner;                               // its context
    int32_t device;                            // its number, -1: not told
    ts__cs_managed managed;                    // also of a variable
    const void *loader;                        // who loaded modules meanwhile
    const char *called;                        // of a function: its name
    bool recording;            // some stream may be recorded now
    bool recorded;             // a stream is, so that nobody can wait for it
    void *found;               // what `own` has to say
    void (*drop)(void *found); // of what nobody waits for; NULL: need not be
} ts__cs_job;

typedef struct ts__cs_stream {
    void *handle, *context;
    int32_t priority;
    uint32_t flags;   // TS_STREAM_...
    bool quiet;       // it was idle when its recording began
    uint32_t session; // in which somebody saw it
} ts__cs_stream;

typedef struct ts__cs_own { // in a context
    void *context, *stream; // stream NULL: this one is free
    uint64_t id;            // of the context: handles are used again
    void *event;
    uint32_t waited; // up to which of `left`
    // Of gpu/device_hash.h.
    bool tried;
    const char *wrong;
    void *function;
    uint64_t hashes; // where it leaves them
} ts__cs_own;

typedef struct ts__cs_calls {
#define TS__X(name, symbol, arguments) int(*name) arguments;
    TS__CS_CALLS(TS__X)
#undef TS__X
} ts__cs_calls;

typedef struct ts__cs_going { // a context that is being destroyed
    void *context;
    struct ts__cs_going *next;
} ts__cs_going;

typedef struct ts__cs_driver {
    ts__cs_calls call;
    pthread_mutex_t lock; // of all that follows
    pthread_cond_t wake, done;
    pthread_t thread;
    bool running, busy, leave, silent; // silent: it did not answer
    bool taken;          // somebody waits for `job`, or has not fetched it yet
    bool same;           // who asks does so on its own thread
    uint32_t per_thread; // a thread's own default stream is in use
    uint32_t left; // how often streams that nobody can ask may have got work:
                   // of before the session, or destroyed since
    uint32_t session;
    ts__cs_going *going;
    void *at; // the context that is being asked
    ts__cs_job job;
    ts__cs_own owns[16];
    size_t own_count;
    void (*made)(void *context, void *stream); // is told of it; NULL: nobody
    uint8_t *bounce;                           // what was read
    ts__cs_stream *streams;
    size_t stream_count, stream_capacity;
} ts__cs_driver;

static TS__TLS bool ts__cs_mine;     // this thread is the one of its own
static TS__TLS char ts__cs_here_too; // its address is the thread's

static uint64_t ts__cs_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct timespec ts__cs_time(uint64_t ns)
{
    struct timespec t;
    t.tv_sec = (time_t)(ns / 1000000000u);
    t.tv_nsec = (long)(ns % 1000000000u);
    return t;
}

#include "driver_queries.h" // 2

/* ==== 3. Asking ========================================================== */

static bool ts__cs_driver_ready(ts__cs_driver *d)
{
    if (!d->bounce)
        d->bounce = (uint8_t *)malloc(TS_CAPTURE_CHUNK + TS_CAPTURE_HIDDEN);
    return d->call.context_set && d->call.query && d->call.wait_all &&
           d->call.stream && d->call.to_host && d->bounce;
}

// CUDA's driver, which the program has loaded.
static inline bool ts__cs_driver_find(ts__cs_driver *d)
{
    void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!library) return false;
    ts__cs_calls call;
#define TS__X(name, symbol, arguments) \
    { \
        void *const found = dlsym(library, symbol); \
        memcpy(&call.name, &found, sizeof found); \
    }
    TS__CS_CALLS(TS__X)
#undef TS__X
    // The thread that asks may be within one of them.
    if (memcmp(&d->call, &call, sizeof call) != 0) d->call = call;
    return ts__cs_driver_ready(d);
}

static bool ts__cs_driver_start(ts__cs_driver *d)
{
    sigset_t all, old;
    if (d->running) return true;
    d->leave = d->busy = false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); // inherited: takes no signals
    d->running = pthread_create(&d->thread, NULL, ts__cs_work, d) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return d->running;
}

// What was kept is of another vendor, or of another copy of the library.
static void ts__cs_driver_anew(ts__cs_driver *d)
{
    pthread_mutex_lock(&d->lock);
    memset(d->owns, 0, sizeof d->owns);
    d->own_count = d->stream_count = 0;
    pthread_mutex_unlock(&d->lock);
}

// A session begins.
static void ts__cs_driver_begin(ts__cs_driver *d, uint32_t session, bool anew,
                                void (*made)(void *context, void *stream))
{
    if (anew) ts__cs_driver_anew(d);
    pthread_mutex_lock(&d->lock);
    d->per_thread = 0;
    d->same = false;
    d->left++;
    d->session = session;
    d->made = made;
    pthread_mutex_unlock(&d->lock);
}

static void ts__cs_driver_stop(ts__cs_driver *d)
{
    pthread_mutex_lock(&d->lock);
    const bool running = d->running, busy = d->busy;
    const pthread_t thread = d->thread; // a late call may start another one
    d->leave = true;
    pthread_cond_broadcast(&d->wake);
    pthread_mutex_unlock(&d->lock);
    if (running && !busy) pthread_join(thread, NULL);
    if (running && busy) pthread_detach(thread);
}

// Asks on this thread, which is as the program had it when this is over. What
// it calls is none of the program's.
static inline bool ts__cs_answer_here(ts__cs_driver *d, ts__cs_job *job)
{
    void *before = NULL;
    int relaxed = 2;
    bool ok = false;
    ts__cs_mine = true;
    if (d->call.context_now(&before) == 0) {
        if (d->call.mode) d->call.mode(&relaxed);
        ok = ts__cs_answer(d, job);
        if (d->call.mode) d->call.mode(&relaxed);
        d->call.context_set(before);
    }
    ts__cs_mine = false;
    return ok;
}

/*
    Where the driver answers no other thread while a call is under way, as one
    that holds a lock of the context: the thread of the call asks. Nothing is
    called that waits by itself.
*/
static inline bool ts__cs_ask_here(ts__cs_driver *d, ts__cs_job *job,
                                   uint64_t until_ns)
{
    const struct timespec until = ts__cs_time(until_ns);
    bool in_time = true;
    pthread_mutex_lock(&d->lock);
    while (d->taken && in_time)
        in_time = pthread_cond_timedwait(&d->done, &d->lock, &until) == 0;
    const bool mine = !d->taken && !ts__cs_is_leaving(d, job->context);
    if (mine) d->taken = true;
    if (mine) d->silent = false;
    if (mine) d->at = job->context;
    pthread_mutex_unlock(&d->lock);
    if (!mine) return false;
    job->until_ns = until_ns;
    job->ok = ts__cs_answer_here(d, job);
    pthread_mutex_lock(&d->lock);
    d->taken = false;
    pthread_cond_broadcast(&d->done);
    pthread_mutex_unlock(&d->lock);
    return job->ok;
}

/*
    Asks, and waits for at most so long. The answer is in *job. False: the
    driver says no, or nothing. While it says nothing nobody else is asked.
*/
static bool ts__cs_ask(ts__cs_driver *d, ts__cs_job *job, uint64_t until_ns)
{
    const struct timespec until = ts__cs_time(until_ns);
    bool in_time = true, ok = false;
    if (TS__LOAD(&d->same)) return ts__cs_ask_here(d, job, until_ns);
    pthread_mutex_lock(&d->lock);
    if (!d->busy) d->silent = false; // it came back
    while ((d->busy || d->taken) && in_time && !d->silent)
        in_time = pthread_cond_timedwait(&d->done, &d->lock, &until) == 0;
    if (!d->busy && !d->taken && !d->silent &&
        !ts__cs_is_leaving(d, job->context) && ts__cs_driver_start(d)) {
        job->until_ns = until_ns;
        job->ok = false;
        d->job = *job;
        d->at = job->context;
        d->busy = d->taken = true;
        pthread_cond_signal(&d->wake);
        // A little longer than the thread itself tries.
        const struct timespec end = ts__cs_time(until_ns + 200000000u);
        in_time = true;
        while (d->busy && in_time)
            in_time = pthread_cond_timedwait(&d->done, &d->lock, &end) == 0;
        if (d->busy) d->silent = true;
        if (!d->busy) *job = d->job;
        ok = !d->busy && job->ok;
        d->taken = false;
        pthread_cond_broadcast(&d->done);
    }
    pthread_mutex_unlock(&d->lock);
    return ok;
}

#endif // TS_CUDA_SNAPSHOT_DRIVER_H
