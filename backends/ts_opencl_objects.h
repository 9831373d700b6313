/*
    ts_opencl_objects.h - what is alive in OpenCL, and commands under way

    Part of ts_opencl.h, which includes it.

    Objects are found by their handle. An entry stays for as long as the
    process and its handle: drivers use few handles again and again, so a new
    object takes the place of the one that had its handle before. Lookups
    need no lock.

    A command is noted when the program enqueues it, and reported when its
    event says that it is done. Who looks: the call that waits for it, before
    it returns, and a thread of our own every few milliseconds. Callbacks
    (clSetEventCallback) would do it on the driver's threads: each costs an
    allocation and a wake-up, and comes after the program may already have
    stopped the session. One looks at a queue at a time, under no lock: a driver
    may call the program meanwhile, which calls us. Who enqueues waits for none
    of them.
*/
#ifdef TS__OPENCL_IMPLEMENTED // included by ts_opencl.h alone

/* ---- 4.2 Objects -------------------------------------------------------- */

typedef enum ts__cl_kind {
    TS__CL_CONTEXT,
    TS__CL_QUEUE,
    TS__CL_MEMORY,
    TS__CL_SVM, // by its address
    TS__CL_KERNEL,
    TS__CL_EVENT,
    TS__CL_SAMPLER, // that there is one
    TS__CL_PROGRAM, // that was specialised
    TS__CL_KINDS
} ts__cl_kind;

typedef struct ts__cl_entry {
    struct ts__cl_entry *next;
    ts__cl_handle handle;
    uint32_t kind;
    void *data; // of memory and events: under the lock of the bucket
} ts__cl_entry;

typedef struct ts__cl_bracket { // a device's tick between two of clock 0
    uint64_t tick, host, half;
} ts__cl_bracket;

typedef struct ts__cl_device {
    struct ts__cl_device *next;
    ts__cl_handle handle;
    uint32_t track, clock;
    bool timer;             // clGetDeviceAndHostTimer works
    uint32_t hosts;         // bits: host clocks that its clock may be
    uint32_t probes;        // how often that was looked at
    pthread_mutex_t lock;   // of what follows
    uint32_t session;       // that has a sample
    uint64_t sampled;       // when, by clock 0
    ts__cl_bracket bracket; // the closest since then
} ts__cl_device;

typedef struct ts__cl_context {
    uint32_t number, count;
    struct {
        const ts__cl_device *device;
        uint32_t track;
    } devices[16];
} ts__cl_context;

typedef struct ts__cl_queue {
    struct ts__cl_queue *next; // of all
    ts__cl_handle handle;
    ts__cl_device *device;
    uint32_t track, number;
    bool in_order;
    bool timed;           // commands have times
    bool forced;          // because we asked for them
    uint64_t array[32];   // properties as the program gave them
    uint32_t array_count; // 0: none
    pthread_mutex_t lock; // of what the program holds:
    uint32_t refs;        // 0: it let go of it, or nobody knows
    // User events that what it has waits for; see ts__cl_gate.
    struct ts__cl_command *gates[4];
    uint32_t gated; // the number of the queue that they are of
    // of who looks for what is done:
    pthread_cond_t looked;
    bool looking;
    pthread_t looker; // whose is then:
    struct ts__cl_command *work, **work_end;
    struct ts__cl_command *fresh; // pushed by those who enqueue
    uint32_t under_way;           // commands of both lists
    pthread_mutex_t order_lock;   // if it is out of order:
    uint32_t session;             // of which what follows is
    uint64_t barrier;             // the last one's correlation, 0 none
    uint64_t *since;              // commands after it
    uint32_t since_count, since_room;
    uint64_t since_gone;   // how many were there that are not any more
    uint64_t next_barrier; // its correlation, given out already; 0: not yet
} ts__cl_queue;

typedef struct ts__cl_memory { // a buffer, sub-buffer, image or SVM
    struct ts__cl_memory *next;
    ts__cl_handle handle;
    uint32_t track; // of its context; 0: its allocation was not recorded
    uint32_t mode;  // TS_ACCESS_... that kernels may have
    uint64_t address, size, element, row, plane; // of an image, in bytes
    uint64_t gone;                               // when
} ts__cl_memory;

typedef struct ts__cl_argument {
    uint64_t value; // of one of up to eight bytes
    uint8_t *bytes; // of a larger one
    uint32_t size, local;
    uint32_t where; // its address space, 0 not known
    uint8_t mode;   // TS_ACCESS_..., 0 not known
    bool pointer;   // SVM
} ts__cl_argument;

typedef struct ts__cl_kernel {
    pthread_mutex_t lock;
    ts__cl_handle handle, program;
    char *name;
    uint32_t argument_count;
    ts__cl_argument *arguments;
    bool modes;                  // of arguments have been asked for
    bool svm;                    // it reaches more than its arguments
    uint32_t capture, image;     // its code in the latest capture, for ...
    ts__cl_handle image_device;  // ... this device
    ts_reason image_reason;      // why it is not there
    const ts__cl_device *device; // of `shape`
    uint32_t launch, shared, required[3];
    ts_gpu_launch_desc shape; // of the latest launch, with that number
} ts__cl_kernel;

typedef struct ts__cl_probe { // host clocks around a call
    uint64_t before[3], after[3];
} ts__cl_probe;

typedef struct ts__cl_command {
    struct ts__cl_command *next;
    ts__cl_queue *queue; // NULL: a user event
    ts__cl_handle event;
    int32_t refs;
    uint32_t held;      // our reference: 1 there, 2 being given back
    bool own;           // the program did not ask for the event
    bool done;          // with times
    bool lost;          // has been said to be
    uint32_t set;       // a user event: the program did
    uint32_t session;   // in which it was enqueued
    uint32_t marked;    // there is an event_record of it
    uint64_t called[2]; // around the call, clock 0
    ts__cl_probe *probe;
    uint64_t *frees; // further addresses of an SVM free
    uint32_t free_count;
    ts_gpu_op op;
} ts__cl_command;

enum { TS__CL_BUCKETS = 8192, TS__CL_LOCKS = 64 };
enum { TS__CL_UNLOADED = 2 }; // the loader is gone: why it is off

static struct {
    ts__cl_functions next;
    uint32_t off; // a child made by fork, or the process ends
    uint64_t correlation, address;
    uint32_t numbers[TS__CL_KINDS], device_count;
    ts__cl_entry *buckets[TS__CL_BUCKETS];
    pthread_mutex_t locks[TS__CL_LOCKS];
    pthread_mutex_t define; // devices, contexts, the list of queues
    ts__cl_device *devices;
    ts__cl_queue *queues;
    ts__cl_memory *gone;  // freed, not reported yet
    uint32_t pending;     // commands that are not lost
    pthread_mutex_t lock; // of the thread that looks
    pthread_cond_t wake;
    pthread_t thread;
    uint32_t runs, asleep;
    uint32_t turn;    // of the thread that is to run; others end
    uint32_t closing; // the session that is being stopped
    uint32_t refused; // queues that could not be timed
    uint32_t unset;   // user events that the program has yet to set
} ts__cl = { .define = PTHREAD_MUTEX_INITIALIZER,
             .lock = PTHREAD_MUTEX_INITIALIZER,
             .wake = PTHREAD_COND_INITIALIZER,
             // Above every address of a program: see ts__cl_memory_new.
             .address = UINT64_C(1) << 56 };

static size_t ts__cl_bucket(uint32_t kind, const void *handle)
{
    const uint64_t key = (uint64_t)(uintptr_t)handle + kind;
    return (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 51);
}

static pthread_mutex_t *ts__cl_lock_of(const ts__cl_entry *entry)
{
    return &ts__cl.locks[ts__cl_bucket(entry->kind, entry->handle) %
                         TS__CL_LOCKS];
}

static ts__cl_entry *ts__cl_look(ts__cl_entry *const *bucket, uint32_t kind,
                                 const void *handle)
{
    // acquire: pairs with the release in ts__cl_entry_make
    ts__cl_entry *e = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
    while (e && (e->handle != handle || e->kind != kind))
        e = e->next;
    return e;
}

static ts__cl_entry *ts__cl_entry_find(uint32_t kind, const void *handle)
{
    static __thread ts__cl_entry *latest[TS__CL_KINDS];
    ts__cl_entry *e = latest[kind];
    if (e && e->handle == handle) return e;
    e = ts__cl_look(&ts__cl.buckets[ts__cl_bucket(kind, handle)], kind, handle);
    if (e) latest[kind] = e;
    return e;
}

// NULL: out of memory.
static ts__cl_entry *ts__cl_entry_make(uint32_t kind, ts__cl_handle handle)
{
    ts__cl_entry *const known = ts__cl_entry_find(kind, handle);
    if (known) return known;
    const size_t at = ts__cl_bucket(kind, handle);
    pthread_mutex_t *const lock = &ts__cl.locks[at % TS__CL_LOCKS];
    pthread_mutex_lock(lock);
    ts__cl_entry *e = ts__cl_look(&ts__cl.buckets[at], kind, handle);
    if (!e && (e = (ts__cl_entry *)calloc(1, sizeof *e)) != NULL) {
        e->handle = handle;
        e->kind = kind;
        e->next = ts__cl.buckets[at];
        __atomic_store_n(&ts__cl.buckets[at], e, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(lock);
    return e;
}

static void *ts__cl_find(uint32_t kind, const void *handle)
{
    const ts__cl_entry *const e = ts__cl_entry_find(kind, handle);
    // acquire: pairs with the release in ts__cl_set
    return e ? __atomic_load_n(&e->data, __ATOMIC_ACQUIRE) : NULL;
}

static void ts__cl_set(ts__cl_entry *entry, void *data)
{
    __atomic_store_n(&entry->data, data, __ATOMIC_RELEASE);
}

static uint32_t ts__cl_number(uint32_t kind)
{
    return __atomic_add_fetch(&ts__cl.numbers[kind], 1, __ATOMIC_RELAXED);
}

static uint64_t ts__cl_correlation(void)
{
    return __atomic_add_fetch(&ts__cl.correlation, 1, __ATOMIC_RELAXED);
}

// What is asked for while a session stops is not of it: else programs that
// go on meanwhile would keep it from ever having all.
static bool ts__cl_on(void)
{
    const uint32_t session = TS__LOAD(&ts__here.gate);
    return session && session != TS__LOAD(&ts__cl.closing) &&
           !TS__LOAD(&ts__cl.off);
}

/* ---- 4.3 Devices and their clocks --------------------------------------- */

/*
    Times of commands are nanoseconds of a clock of the device. What that is
    nobody says. Where clGetDeviceAndHostTimer works, it is read. Else the
    first commands tell: the moment at which a command was queued lies within
    the call that enqueued it, so if it does by one of the host's clocks, time
    after time, then that is the clock, and the relation is exact. If it is
    none of them, each call is a pair: the moment in the device's time, the
    middle of the call in the host's, and half its length the uncertainty.
*/
enum { TS__CL_PROBES = 16, TS__CL_HOSTS = 3 };
static const clockid_t ts__cl_hosts[TS__CL_HOSTS] = { CLOCK_MONOTONIC_RAW,
                                                      CLOCK_MONOTONIC,
                                                      CLOCK_REALTIME };
static const char *const ts__cl_host_names[TS__CL_HOSTS] = {
    "CLOCK_MONOTONIC_RAW", "CLOCK_MONOTONIC", "CLOCK_REALTIME"
};

static uint64_t ts__cl_host_now(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void ts__cl_probe_take(uint64_t *host)
{
    for (int i = 0; i < TS__CL_HOSTS; i++)
        host[i] = ts__cl_host_now(ts__cl_hosts[i]);
}

static int ts__cl_host_of(const ts__cl_device *d)
{
    int host = 0;
    while (host < TS__CL_HOSTS && !(d->hosts >> host & 1))
        host++;
    return host;
}

// The device's time now; false if it cannot be read.
static bool ts__cl_device_now(const ts__cl_device *d, uint64_t *tick)
{
    uint64_t host;
    if (d->timer)
        return ts__cl.next.clGetDeviceAndHostTimer(d->handle, tick, &host) ==
               TS__CL_SUCCESS;
    const int known = ts__cl_host_of(d);
    if (known == TS__CL_HOSTS || !d->probes) return false;
    *tick = ts__cl_host_now(ts__cl_hosts[known]);
    return true;
}

// Under the device's lock.
static void ts__cl_device_sample(ts__cl_device *d)
{
    ts__cl_bracket best = d->bracket;
    uint64_t tick;
    for (int i = 0; i < 5; i++) {
        const uint64_t before = ts_tick_now();
        if (!ts__cl_device_now(d, &tick)) break;
        const uint64_t half = (ts_tick_now() - before) / 2;
        if (i && half >= best.half) continue;
        best.tick = tick;
        best.host = before + half;
        best.half = half;
    }
    if (!best.tick) return;
    ts_clock_sample(d->clock, best.tick, best.host, best.half);
    memset(&d->bracket, 0, sizeof d->bracket);
    d->session = TS__LOAD(&ts__here.gate);
    d->sampled = ts__cl_host_now(CLOCK_MONOTONIC);
}

// A command was queued at `queued`, between two ticks of clock 0; 0: the
// driver does not say.
static void ts__cl_device_learn(ts__cl_device *d, const ts__cl_command *c,
                                uint64_t queued)
{
    pthread_mutex_lock(&d->lock);
    if (queued && c->probe && !d->timer) {
        for (int i = 0; i < TS__CL_HOSTS; i++)
            if (queued < c->probe->before[i] || queued > c->probe->after[i])
                d->hosts &= ~(1u << i);
        TS__STORE(&d->probes, d->probes + 1); // read without the lock
    }
    const uint64_t half = (c->called[1] - c->called[0]) / 2;
    if (queued && (!d->bracket.tick || half < d->bracket.half)) {
        d->bracket.tick = queued;
        d->bracket.host = c->called[0] + half;
        d->bracket.half = half;
    }
    if (d->session != TS__LOAD(&ts__here.gate) ||
        ts__cl_host_now(CLOCK_MONOTONIC) - d->sampled > 1000000000u)
        ts__cl_device_sample(d);
    pthread_mutex_unlock(&d->lock);
}

static void ts__cl_device_text(const ts__cl_device *d, uint32_t what,
                               const char *key)
{
    char text[256] = "";
    if (ts__cl.next.clGetDeviceInfo(d->handle, what, sizeof text - 1, text,
                                    NULL) == TS__CL_SUCCESS)
        ts_metadata_text(d->track, key, text);
}

static void ts__cl_device_number(const ts__cl_device *d, uint32_t what,
                                 size_t size, const char *key)
{
    uint64_t value = 0; // little-endian: see tracesmith.h
    if (ts__cl.next.clGetDeviceInfo(d->handle, what, size, &value, NULL) ==
        TS__CL_SUCCESS)
        ts_metadata_int(d->track, key, (int64_t)value);
}

static void ts__cl_device_define(ts__cl_device *d)
{
    char name[256] = "";
    uint64_t tick, host;
    ts__cl.next.clGetDeviceInfo(d->handle, TS__CL_DEVICE_NAME, sizeof name - 1,
                                name, NULL);
    const ts_gpu_device_desc desc = { name, ts__cl.device_count++, 0 };
    d->track = ts_gpu_device_define(&desc);
    d->clock = ts_clock_define(name);
    ts__cl_device_text(d, TS__CL_DEVICE_VENDOR, "vendor");
    ts__cl_device_text(d, TS__CL_DEVICE_VERSION, "version");
    ts__cl_device_text(d, TS__CL_DRIVER_VERSION, "driver_version");
    ts__cl_device_number(d, TS__CL_DEVICE_GLOBAL_MEM_SIZE, 8, "memory_bytes");
    ts__cl_device_number(d, TS__CL_DEVICE_MAX_COMPUTE_UNITS, 4,
                         "multiprocessors");
    ts__cl_device_number(d, TS__CL_DEVICE_MAX_CLOCK_FREQUENCY, 4, "clock_mhz");
    d->timer = ts__cl.next.clGetDeviceAndHostTimer &&
               ts__cl.next.clGetDeviceAndHostTimer(d->handle, &tick, &host) ==
                   TS__CL_SUCCESS;
    d->hosts = (1u << TS__CL_HOSTS) - 1;
}

static ts__cl_device *ts__cl_device_get(ts__cl_handle handle)
{
    pthread_mutex_lock(&ts__cl.define);
    ts__cl_device *d = ts__cl.devices;
    while (d && d->handle != handle)
        d = d->next;
    if (!d && (d = (ts__cl_device *)calloc(1, sizeof *d)) != NULL) {
        d->handle = handle;
        pthread_mutex_init(&d->lock, NULL);
        ts__cl_device_define(d);
        d->next = ts__cl.devices;
        ts__cl.devices = d;
    }
    pthread_mutex_unlock(&ts__cl.define);
    return d;
}

// What the clock of each device turned out to be.
static void ts__cl_devices_tell(void)
{
    pthread_mutex_lock(&ts__cl.define);
    for (ts__cl_device *d = ts__cl.devices; d; d = d->next) {
        pthread_mutex_lock(&d->lock);
        const int host = ts__cl_host_of(d);
        if (d->timer || d->probes)
            ts_metadata_text(d->track, "clock",
                             d->timer               ? "clGetDeviceAndHostTimer"
                             : host == TS__CL_HOSTS ? "its own"
                                                    : ts__cl_host_names[host]);
        if (d->session == TS__LOAD(&ts__here.gate)) ts__cl_device_sample(d);
        pthread_mutex_unlock(&d->lock);
    }
    pthread_mutex_unlock(&ts__cl.define);
}

// The track of a device in a context.
static uint32_t ts__cl_context_track(ts__cl_handle handle,
                                     const ts__cl_device *d)
{
    ts__cl_entry *const e = ts__cl_entry_make(TS__CL_CONTEXT, handle);
    uint32_t track = 0;
    if (!e || !d) return 0;
    pthread_mutex_lock(&ts__cl.define);
    ts__cl_context *c = (ts__cl_context *)e->data;
    if (!c && (c = (ts__cl_context *)calloc(1, sizeof *c)) != NULL) {
        c->number = ts__cl_number(TS__CL_CONTEXT);
        ts__cl_set(e, c);
    }
    for (uint32_t i = 0; c && i < c->count; i++)
        if (c->devices[i].device == d) track = c->devices[i].track;
    if (c && !track) {
        const ts_gpu_context_desc desc = { NULL, d->track, c->number };
        track = ts_gpu_context_define(&desc);
        if (c->count < sizeof c->devices / sizeof *c->devices) {
            c->devices[c->count].device = d;
            c->devices[c->count++].track = track;
        }
    }
    pthread_mutex_unlock(&ts__cl.define);
    return track;
}

// The track on which memory of a context is reported: its first device's.
static uint32_t ts__cl_context_memory(ts__cl_handle context)
{
    const ts__cl_context *const c =
        (const ts__cl_context *)ts__cl_find(TS__CL_CONTEXT, context);
    pthread_mutex_lock(&ts__cl.define);
    const uint32_t track = c && c->count ? c->devices[0].track : 0;
    pthread_mutex_unlock(&ts__cl.define);
    if (track) return track;
    ts__cl_handle devices[64] = { NULL };
    ts__cl.next.clGetContextInfo(context, TS__CL_CONTEXT_DEVICES,
                                 sizeof devices, devices, NULL);
    return devices[0]
               ? ts__cl_context_track(context, ts__cl_device_get(devices[0]))
               : 0;
}

/* ---- 4.4 Commands under way --------------------------------------------- */

static void ts__cl_command_free(ts__cl_command *c)
{
    if (!c || __atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL)) return;
    free(c->probe);
    free(c->frees);
    free(c);
}

// The command of an event of the program; free it. NULL: not known.
static ts__cl_command *ts__cl_command_of(ts__cl_handle event)
{
    const ts__cl_entry *const e = ts__cl_entry_find(TS__CL_EVENT, event);
    if (!e) return NULL;
    pthread_mutex_t *const lock = ts__cl_lock_of(e);
    pthread_mutex_lock(lock);
    ts__cl_command *const c = (ts__cl_command *)e->data;
    if (c) __atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(lock);
    return c;
}

// An event is of this command from now on; NULL: of none that is known.
static void ts__cl_command_publish(ts__cl_handle event, ts__cl_command *c)
{
    ts__cl_entry *const e = c ? ts__cl_entry_make(TS__CL_EVENT, event)
                              : ts__cl_entry_find(TS__CL_EVENT, event);
    if (!e) return;
    pthread_mutex_t *const lock = ts__cl_lock_of(e);
    if (c) __atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(lock);
    ts__cl_command *const old = (ts__cl_command *)e->data;
    ts__cl_set(e, c);
    pthread_mutex_unlock(lock);
    ts__cl_command_free(old);
}

static void ts__cl_lost(const ts__cl_command *c, const char *why)
{
    const uint64_t now = ts_tick_now();
    ts_loss_report(c->op.track, TS_LOSS_BACKEND, why, 1, c->called[0], now);
}

// Times of a command that has ended. Of those before its start what makes no
// sense is left out.
static bool ts__cl_command_times(ts__cl_command *c, int32_t status)
{
    uint64_t t[4] = { 0, 0, 0, 0 };
    char why[64];
    if (status < 0) {
        snprintf(why, sizeof why, "a command failed with %d", status);
        ts__cl_lost(c, why);
        return false;
    }
    for (uint32_t i = 0; i < 4; i++)
        if (ts__cl.next.clGetEventProfilingInfo(
                c->event, TS__CL_PROFILING_QUEUED + i, sizeof t[i], &t[i],
                NULL) != TS__CL_SUCCESS) {
            ts__cl_lost(c, "a command has no times");
            return false;
        }
    if (!t[2] || t[3] < t[2]) {
        ts__cl_lost(c, !t[2] ? "a command has times of 0"
                             : "a command ends before it starts");
        return false;
    }
    if (t[1] > t[2]) t[1] = 0;
    if (t[0] > (t[1] ? t[1] : t[2])) t[0] = 0;
    c->op.queued = t[0];
    c->op.submitted = t[1];
    c->op.start = t[2];
    c->op.end = t[3];
    return true;
}

// Lets go of our reference; see ts__cl_clGetEventInfo.
static void ts__cl_command_release(ts__cl_command *c)
{
    __atomic_store_n(&c->held, 2, __ATOMIC_SEQ_CST);
    ts__cl.next.clReleaseEvent(c->event);
    __atomic_store_n(&c->held, 0, __ATOMIC_SEQ_CST);
}

static void ts__cl_command_report(ts__cl_command *c, int32_t status)
{
    // One that was noted too late for its session is no part of the next.
    const bool wanted = !c->lost && c->session == TS__LOAD(&ts__here.gate);
    if (wanted && ts__cl_command_times(c, status)) {
        ts__cl_device_learn(c->queue->device, c, c->op.queued);
        ts_gpu_op_record(&c->op);
        for (uint32_t i = 0; i < c->free_count; i++) {
            c->op.u.memory.address = c->frees[i];
            ts_gpu_op_record(&c->op);
        }
        // release: pairs with the acquire in ts__cl_waited
        __atomic_store_n(&c->done, true, __ATOMIC_RELEASE);
    }
}

// Lets go of commands that are not on a queue's list any more.
static void ts__cl_commands_drop(ts__cl_command *first)
{
    while (first) {
        ts__cl_command *const c = first;
        first = c->next;
        ts__cl_command_release(c);
        __atomic_sub_fetch(&c->queue->under_way, 1, __ATOMIC_RELAXED);
        if (!c->lost) __atomic_sub_fetch(&ts__cl.pending, 1, __ATOMIC_RELAXED);
        ts__cl_command_free(c);
    }
}

// A wait with a bound needs a clock that goes on steadily.
static void ts__cl_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &steady);
    pthread_condattr_destroy(&steady);
}

/*
    Whether this thread may look at a queue, and until ts__cl_looked nobody
    else. Not within the driver's call of one who looks: it reports all that is
    done. Nor if another takes longer than that, as when it waits in the driver
    for what this thread does.
*/
static bool ts__cl_look_at(ts__cl_queue *q, uint32_t patience_ms)
{
    const struct timespec until = ts_snapshot_deadline(patience_ms);
    bool in_time = patience_ms != 0;
    pthread_mutex_lock(&q->lock);
    while (q->looking && in_time && !pthread_equal(q->looker, pthread_self()))
        in_time = pthread_cond_timedwait(&q->looked, &q->lock, &until) == 0;
    const bool ours = !q->looking;
    if (ours) q->looker = pthread_self();
    q->looking = true;
    pthread_mutex_unlock(&q->lock);
    return ours;
}

static void ts__cl_looked(ts__cl_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->looking = false;
    pthread_cond_broadcast(&q->looked);
    pthread_mutex_unlock(&q->lock);
}

// Takes over what was enqueued since, the oldest first.
static void ts__cl_queue_take(ts__cl_queue *q)
{
    // acquire: pairs with the release in ts__cl_queue_push
    ts__cl_command *c = __atomic_exchange_n(&q->fresh, NULL, __ATOMIC_ACQUIRE);
    ts__cl_command *first = NULL, *const last = c;
    while (c) {
        ts__cl_command *const next = c->next;
        c->next = first;
        first = c;
        c = next;
    }
    if (!first) return;
    *q->work_end = first;
    q->work_end = &last->next;
}

// Reports what is done; all: also what is behind something that is not.
static void ts__cl_queue_reap_in(ts__cl_queue *q, bool all, uint32_t patience)
{
    ts__cl_command *gone = NULL;
    if (!ts__cl_look_at(q, patience)) return;
    ts__cl_queue_take(q);
    for (ts__cl_command **at = &q->work; *at;) {
        ts__cl_command *const c = *at;
        int32_t status = 1;
        const int32_t result =
            ts__cl.next.clGetEventInfo(c->event, TS__CL_EVENT_EXECUTION_STATUS,
                                       sizeof status, &status, NULL);
        if (result == TS__CL_SUCCESS && status > 0) {
            if (q->in_order && !all) break;
            at = &c->next;
            continue;
        }
        *at = c->next;
        if (!c->next) q->work_end = at;
        ts__cl_command_report(c, result < 0 ? result : status);
        c->next = gone;
        gone = c;
    }
    ts__cl_looked(q);
    ts__cl_commands_drop(gone);
}

enum { TS__CL_PATIENCE_MS = 2000 };

// What is done now has been reported when this returns.
static void ts__cl_queue_reap(ts__cl_queue *q, bool all)
{
    ts__cl_queue_reap_in(q, all, TS__CL_PATIENCE_MS);
}

static void ts__cl_memory_report(void)
{
    ts__cl_memory *m =
        __atomic_exchange_n(&ts__cl.gone, NULL, __ATOMIC_ACQUIRE);
    while (m) {
        ts__cl_memory *const next = m->next;
        ts_gpu_op op;
        memset(&op, 0, sizeof op);
        op.kind = TS_EVENT_GPU_FREE;
        op.track = m->track;
        op.start = op.end = m->gone;
        op.u.memory.address = m->address;
        if (m->track && ts_capture_kind(op.kind)) ts_gpu_op_record(&op);
        free(m);
        m = next;
    }
}

// patience: for others that look, in ms; 0: what they look at is left to them.
static void ts__cl_reap(bool all, uint32_t patience)
{
    pthread_mutex_lock(&ts__cl.define);
    ts__cl_queue *q = ts__cl.queues;
    pthread_mutex_unlock(&ts__cl.define);
    for (; q; q = q->next) // none is ever removed
        if (TS__LOAD(&q->under_way)) ts__cl_queue_reap_in(q, all, patience);
    ts__cl_memory_report();
}

/* ---- 4.5 The thread that looks ------------------------------------------ */

enum { TS__CL_LOOK_NS = 5000000, TS__CL_LINGER = 20 };

static bool ts__cl_busy(void)
{
    return __atomic_load_n(&ts__cl.pending, __ATOMIC_SEQ_CST) ||
           __atomic_load_n(&ts__cl.gone, __ATOMIC_SEQ_CST);
}

// Waits for a while, or, after some time without work, for work.
static void ts__cl_rest(uint32_t idle, uint32_t turn)
{
    struct timespec until;
    if (idle < TS__CL_LINGER) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += TS__CL_LOOK_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&ts__cl.wake, &ts__cl.lock, &until);
        return;
    }
    __atomic_store_n(&ts__cl.asleep, 1, __ATOMIC_SEQ_CST);
    while (ts__cl.turn == turn && !ts__cl_busy())
        pthread_cond_wait(&ts__cl.wake, &ts__cl.lock);
    // Else it is another thread's.
    if (ts__cl.turn == turn)
        __atomic_store_n(&ts__cl.asleep, 0, __ATOMIC_SEQ_CST);
}

static void *ts__cl_thread(void *arg)
{
    const uint32_t turn = (uint32_t)(uintptr_t)arg;
    uint32_t idle = 0;
    ts_thread_name("OpenCL reports");
    pthread_mutex_lock(&ts__cl.lock);
    while (ts__cl.turn == turn) {
        ts__cl_rest(idle, turn);
        if (ts__cl.turn != turn) break;
        pthread_mutex_unlock(&ts__cl.lock);
        idle = ts__cl_busy() ? 0 : idle + 1;
        ts__cl_reap(false, 0);
        pthread_mutex_lock(&ts__cl.lock);
    }
    pthread_mutex_unlock(&ts__cl.lock);
    return NULL;
}

// It takes no signals of the program. One that was told to end, and has not
// yet, does so whether or not this one runs.
static void ts__cl_thread_start(void)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    void *const turn = (void *)(uintptr_t)++ts__cl.turn;
    __atomic_store_n(&ts__cl.asleep, 0, __ATOMIC_SEQ_CST);
    const bool made =
        pthread_create(&ts__cl.thread, NULL, ts__cl_thread, turn) == 0;
    TS__STORE(&ts__cl.runs, made);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

// There is work for the thread.
static void ts__cl_call_thread(void)
{
    // Either it sees the work, or we see that it sleeps: both are seq_cst.
    if (TS__LIKELY(TS__LOAD(&ts__cl.runs) &&
                   !__atomic_load_n(&ts__cl.asleep, __ATOMIC_SEQ_CST)))
        return;
    pthread_mutex_lock(&ts__cl.lock);
    if (!ts__cl.runs && ts__cl_on()) ts__cl_thread_start();
    pthread_cond_broadcast(&ts__cl.wake);
    pthread_mutex_unlock(&ts__cl.lock);
}

static void ts__cl_thread_stop(void)
{
    pthread_mutex_lock(&ts__cl.lock);
    const bool runs = ts__cl.runs;
    const pthread_t thread = ts__cl.thread;
    ts__cl.turn++;
    TS__STORE(&ts__cl.runs, 0);
    pthread_cond_broadcast(&ts__cl.wake);
    pthread_mutex_unlock(&ts__cl.lock);
    // One that is stuck in the driver must not hold up the end.
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2;
    if (runs) pthread_timedjoin_np(thread, NULL, &until);
}

static void ts__cl_queue_push(ts__cl_queue *q, ts__cl_command *c)
{
    __atomic_add_fetch(&q->under_way, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&ts__cl.pending, 1, __ATOMIC_SEQ_CST);
    c->next = __atomic_load_n(&q->fresh, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&q->fresh, &c->next, c, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
    ts__cl_call_thread();
}

// What is under way is waited for, 2 s at most; then it is lost, whether or
// not it ends in a later session.
static void ts__cl_collect(void)
{
    for (uint32_t waited = 0; waited < 2000; waited++) {
        ts__cl_reap(true, 0);
        if (!__atomic_load_n(&ts__cl.pending, __ATOMIC_SEQ_CST)) return;
        const struct timespec moment = { 0, 1000000 };
        nanosleep(&moment, NULL);
    }
    for (ts__cl_queue *q = ts__cl.queues; q; q = q->next) {
        if (!ts__cl_look_at(q, TS__CL_PATIENCE_MS)) continue;
        ts__cl_queue_take(q);
        for (ts__cl_command *c = q->work; c; c = c->next) {
            if (c->lost) continue;
            c->lost = true; // no later stop waits for it
            ts__cl_lost(c, "a command had not ended");
            __atomic_sub_fetch(&ts__cl.pending, 1, __ATOMIC_RELAXED);
        }
        ts__cl_looked(q);
    }
}

#endif // TS__OPENCL_IMPLEMENTED
