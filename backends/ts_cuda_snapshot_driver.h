/*
    ts_cuda_snapshot_driver.h - what captures ask CUDA's driver; a part of
    ts_cuda_snapshot.h, private to it

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
        2. Questions                    on the thread of its own
        3. Asking
*/
#if (defined(TS__CUPTI_IMPLEMENTED) || defined(TS__HIP_IMPLEMENTED)) && \
    !defined(TS_CUDA_SNAPSHOT_DRIVER_H)
#define TS_CUDA_SNAPSHOT_DRIVER_H

/* ==== 1. What it keeps =================================================== */

#define TS__CS_CALLS(X) \
    X(context_set, "cuCtxSetCurrent", (void *)) \
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
    // Of ts_cuda_hash.h.
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

/* ==== 2. Questions ======================================================= */

// Whether a context is being destroyed. Under the lock.
static bool ts__cs_is_leaving(const ts__cs_driver *d, const void *context)
{
    const ts__cs_going *g = d->going;
    while (g && g->context != context)
        g = g->next;
    return g != NULL;
}

static inline bool ts__cs_is_going(ts__cs_driver *d, const void *context)
{
    pthread_mutex_lock(&d->lock);
    const bool going = ts__cs_is_leaving(d, context);
    pthread_mutex_unlock(&d->lock);
    return going;
}

// From now on this context is asked. Under the lock.
static void ts__cs_turn_to(ts__cs_driver *d, void *context)
{
    d->at = context;
    if (d->going) pthread_cond_broadcast(&d->done); // it may be waited for
}

// The next stream from a position on; false: there is none.
static bool ts__cs_stream_next(ts__cs_driver *d, size_t *at, ts__cs_stream *s)
{
    pthread_mutex_lock(&d->lock);
    while (*at < d->stream_count &&
           ts__cs_is_leaving(d, d->streams[*at].context))
        ++*at;
    const bool there = *at < d->stream_count;
    if (there) *s = d->streams[(*at)++];
    ts__cs_turn_to(d, there ? s->context : d->job.context);
    pthread_mutex_unlock(&d->lock);
    return there;
}

// Whether who asked gave up meanwhile.
static inline bool ts__cs_is_silent(ts__cs_driver *d)
{
    pthread_mutex_lock(&d->lock);
    const bool silent = d->silent;
    pthread_mutex_unlock(&d->lock);
    return silent;
}

// A stream that is recorded must not be asked for more than this: anything
// else would end the recording. So must the default one, while streams that it
// waits for are.
static bool ts__cs_is_recorded_now(const ts__cs_driver *d, void *stream)
{
    int status = 0;
    return d->call.is_recorded &&
           (d->call.is_recorded(stream, &status) != 0 || status);
}

// Until a stream is idle, or an event over; false too if its context goes. No
// function that waits by itself is called: none has a bound.
static bool ts__cs_until_over(ts__cs_driver *d, int (*query)(void *),
                              void *what, uint64_t until_ns)
{
    struct timespec pause = { 0, 2000 };
    for (;;) {
        if (ts__cs_is_going(d, d->at)) return false;
        const int result = query(what);
        if (result != TS__CUDA_NOT_READY) return result == 0;
        if (ts__cs_now_ns() >= until_ns) return false;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 500000) pause.tv_nsec *= 2;
    }
}

static bool ts__cs_idle(ts__cs_driver *d, void *stream, uint64_t until_ns)
{
    return ts__cs_until_over(d, d->call.query, stream, until_ns);
}

static uint64_t ts__cs_id_of(const ts__cs_driver *d, void *context)
{
    uint64_t id = 0; // nobody knows: before CUDA 12
    if (d->call.context_id && d->call.context_id(context, &id) != 0) id = 0;
    return id;
}

// What we have in a context: a stream that waits for nobody, and nobody for
// it. NULL: it cannot be made.
static ts__cs_own *ts__cs_own_of(ts__cs_driver *d, void *context)
{
    const size_t most = sizeof d->owns / sizeof *d->owns;
    ts__cs_own *known = NULL, *room = NULL;
    ts__cs_own made = { .context = context };
    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < d->own_count && !known; i++) {
        ts__cs_own *const own = &d->owns[i];
        if (own->stream && own->context == context) known = own;
        if (!own->stream && !room) room = own;
    }
    if (!known && !room && d->own_count < most) room = &d->owns[d->own_count++];
    if (!known && room) room->stream = NULL;
    pthread_mutex_unlock(&d->lock);
    if (known || !room) return known;
    if (d->call.stream(&made.stream, 1) != 0) return NULL;
    made.id = ts__cs_id_of(d, context);
    pthread_mutex_lock(&d->lock);
    *room = made;
    pthread_mutex_unlock(&d->lock);
    if (d->made) d->made(context, made.stream);
    return room;
}

// A stream of our own, by position, whose context is asked next; NULL handle:
// there is none.
static ts__cs_own ts__cs_own_at(ts__cs_driver *d, size_t at)
{
    pthread_mutex_lock(&d->lock);
    ts__cs_own own = d->owns[at];
    if (ts__cs_is_leaving(d, own.context)) own.stream = NULL;
    ts__cs_turn_to(d, own.stream ? own.context : d->job.context);
    pthread_mutex_unlock(&d->lock);
    return own;
}

/*
    Until all that a context was given is over. Since CUDA 12.5 an event can
    tell; before, one function waits for it, and if that does not return, this
    thread hangs: who asks gives up in time all the same.
*/
static bool ts__cs_all_over(ts__cs_driver *d, ts__cs_own *own,
                            const ts__cs_job *job)
{
    const bool can = d->call.record_all && d->call.event && d->call.is_over;
    if (can && own && !own->event && d->call.event(&own->event, 2) != 0)
        own->event = NULL; // 2: without a time
    if (!can || !own || !own->event ||
        d->call.record_all(job->context, own->event) != 0)
        return d->call.wait_all() == 0;
    return ts__cs_until_over(d, d->call.is_over, own->event, job->until_ns);
}

// Waits for streams that nobody can ask; once, as long as there are no more.
static bool ts__cs_wait_left(ts__cs_driver *d, const ts__cs_job *job)
{
    ts__cs_own *const own = ts__cs_own_of(d, job->context);
    pthread_mutex_lock(&d->lock);
    const uint32_t left = d->left;
    pthread_mutex_unlock(&d->lock);
    if (own && own->waited == left && !TS__LOAD(&d->per_thread)) return true;
    if (!ts__cs_all_over(d, own, job)) return false;
    if (own) own->waited = left;
    return true;
}

// The default streams of the context, and of those in which we have something.
static bool ts__cs_drain_defaults(ts__cs_driver *d, ts__cs_job *job)
{
    bool idle = true;
    job->recorded = ts__cs_is_recorded_now(d, NULL);
    if (job->recorded || !ts__cs_idle(d, NULL, job->until_ns)) return false;
    for (size_t i = 0; i < d->own_count && idle; i++) {
        const ts__cs_own own = ts__cs_own_at(d, i);
        if (!own.stream || own.context == job->context) continue;
        if (d->call.context_set(own.context) != 0) continue;
        job->recorded = ts__cs_is_recorded_now(d, NULL);
        idle = !job->recorded && (ts__cs_idle(d, NULL, job->until_ns) ||
                                  ts__cs_is_going(d, own.context));
    }
    return d->call.context_set(job->context) == 0 && idle;
}

// Each stream is asked, with a bound. Only where threads have default streams
// of their own, or streams are gone, which nobody else can ask, everything is
// waited for.
static bool ts__cs_drain(ts__cs_driver *d, ts__cs_job *job)
{
    ts__cs_stream s = { NULL, NULL, 0, 0, false, 0 };
    bool recorded = false;
    size_t at = 0;
    if (!ts__cs_drain_defaults(d, job)) return false;
    while (ts__cs_stream_next(d, &at, &s)) {
        const bool now = ts__cs_is_recorded_now(d, s.handle);
        recorded |= now;
        job->recorded = now && !s.quiet;
        if (job->recorded) return false;
        if (!now && !ts__cs_idle(d, s.handle, job->until_ns) &&
            !ts__cs_is_going(d, s.context)) // its work goes with it
            return false;
    }
    if (ts__cs_is_going(d, job->context)) return false;
    if (!recorded) return ts__cs_wait_left(d, job);
    job->recorded = TS__LOAD(&d->per_thread) != 0;
    return !job->recorded;
}

static bool ts__cs_status(const ts__cs_driver *d, ts__cs_job *job)
{
    job->recorded = ts__cs_is_recorded_now(d, job->object);
    return d->call.is_recorded != NULL;
}

static bool ts__cs_read(ts__cs_driver *d, const ts__cs_job *job)
{
    const ts__cs_own *const own = ts__cs_own_of(d, job->context);
    return own &&
           d->call.to_host(d->bounce, job->address, (size_t)job->size,
                           own->stream) == 0 &&
           ts__cs_idle(d, own->stream, job->until_ns);
}

// A kernel of a library is no function, but has one in each context; who
// launches either does not say which it is.
static bool ts__cs_function(ts__cs_driver *d, ts__cs_job *job)
{
    void *function = job->object;
    size_t offset = 0, size = 0;
    job->module = NULL;
    job->loader = &ts__cs_here_too;
    job->called = NULL;
    job->parameter_count = 0;
    if (!d->call.module) return false;
    if (job->is_kernel || d->call.module(&job->module, function) != 0) {
        if (!d->call.kernel || d->call.kernel(&function, job->object) != 0 ||
            d->call.module(&job->module, function) != 0)
            return false;
    }
    if (!d->call.name || d->call.name(&job->called, function) != 0)
        job->called = NULL;
    if (!d->call.parameter) return false; // before CUDA 12.4
    while (job->parameter_count < TS__CS_PARAMETERS &&
           d->call.parameter(function, job->parameter_count, &offset, &size) ==
               0) {
        uint32_t *const p = job->parameters[job->parameter_count++];
        p[0] = (uint32_t)offset;
        p[1] = (uint32_t)size;
    }
    return job->parameter_count < TS__CS_PARAMETERS;
}

// Where a device cannot take turns with the host, the host must leave managed
// memory alone while the device is in use: by a read of ours, too.
static ts__cs_managed ts__cs_managed_at(ts__cs_driver *d, uint64_t address)
{
    uint32_t managed = 0;
    int device = 0, can = 0;
    if (!d->call.about || d->call.about(&managed, 8, address) != 0 || !managed)
        return TS__CS_NOT_MANAGED;
    return d->call.device && d->call.can && d->call.device(&device) == 0 &&
                   d->call.can(&can, TS__CUDA_CONCURRENT, device) == 0 && can
               ? TS__CS_MANAGED
               : TS__CS_MANAGED_ALONE;
}

static bool ts__cs_global(ts__cs_driver *d, ts__cs_job *job)
{
    size_t size = 0;
    if (!d->call.global ||
        d->call.global(&job->address, &size, job->object, job->name) != 0)
        return false;
    job->size = size;
    job->managed = ts__cs_managed_at(d, job->address);
    return true;
}

// Memory that was allocated before anybody looked, or by ways of its own.
static bool ts__cs_allocation(ts__cs_driver *d, ts__cs_job *job)
{
    uint64_t base = 0;
    size_t size = 0;
    void *owner = NULL;
    job->memory_type = 0;
    if (d->call.about && d->call.about(&job->memory_type, 2, job->address) != 0)
        job->memory_type = 0;
    job->owner = job->context;
    if (d->call.about && d->call.about(&owner, 1, job->address) == 0)
        job->owner = owner;
    if (!d->call.about || d->call.about(&job->device, 9, job->address) != 0)
        job->device = -1;
    job->managed = ts__cs_managed_at(d, job->address);
    if (job->managed) job->memory_type = TS__CUDA_DEVICE; // wherever it is now
    if (job->memory_type != TS__CUDA_DEVICE || !d->call.range ||
        d->call.range(&base, &size, job->address) != 0)
        return false;
    job->address = base;
    job->size = size;
    return true;
}

static bool ts__cs_answer(ts__cs_driver *d, ts__cs_job *job)
{
    if (d->call.context_set(job->context) != 0) return false;
    switch (job->what) {
    case TS__CS_TEST:
        return ts__cs_is_recorded_now(d, NULL) || d->call.query(NULL) != 1;
    case TS__CS_DRAIN: return ts__cs_drain(d, job);
    case TS__CS_READ: return ts__cs_read(d, job);
    case TS__CS_FUNCTION: return ts__cs_function(d, job);
    case TS__CS_GLOBAL: return ts__cs_global(d, job);
    case TS__CS_STATUS: return ts__cs_status(d, job);
    case TS__CS_QUIET: return ts__cs_idle(d, job->object, job->until_ns);
    case TS__CS_OWN: return job->own(job);
    default: return ts__cs_allocation(d, job);
    }
}

// Frees an answer that came too late. Under the lock.
static void ts__cs_unfetched(const ts__cs_driver *d)
{
    const ts__cs_job *const job = &d->job;
    if (d->silent && job->what == TS__CS_OWN && job->drop && job->found)
        job->drop(job->found);
}

static void *ts__cs_work(void *user)
{
    ts__cs_driver *const d = (ts__cs_driver *)user;
    int relaxed = 2; // what it asks may be asked while others record
    ts__cs_mine = true;
    pthread_setname_np(pthread_self(), "ts-snapshot");
    if (d->call.mode) d->call.mode(&relaxed);
    pthread_mutex_lock(&d->lock);
    for (;;) {
        while (!d->busy && !d->leave)
            pthread_cond_wait(&d->wake, &d->lock);
        if (d->leave) break;
        pthread_mutex_unlock(&d->lock);
        d->job.ok = ts__cs_answer(d, &d->job); // nobody else touches it
        pthread_mutex_lock(&d->lock);
        ts__cs_unfetched(d);
        d->busy = false;
        pthread_cond_broadcast(&d->done);
    }
    d->running = d->busy = false; // who asked at the last moment gets a no
    pthread_cond_broadcast(&d->done);
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

/* ==== 3. Asking ========================================================== */

static bool ts__cs_driver_ready(ts__cs_driver *d)
{
    if (!d->bounce)
        d->bounce = (uint8_t *)malloc(TS_CAPTURE_CHUNK + TS_SNAPSHOT_HIDDEN);
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

/*
    Asks, and waits for at most so long. The answer is in *job. False: the
    driver says no, or nothing. While it says nothing nobody else is asked.
*/
static bool ts__cs_ask(ts__cs_driver *d, ts__cs_job *job, uint64_t until_ns)
{
    const struct timespec until = ts__cs_time(until_ns);
    bool in_time = true, ok = false;
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
