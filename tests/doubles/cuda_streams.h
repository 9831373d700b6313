/*
    cuda_streams.h - launches, copies and streams of the double of CUDA's
    driver: a part of libcuda.c
*/

/* ==== 5. Streams ========================================================= */

enum {
    STREAMS = 64,
    EVENTS = 256,
    NODES = 256,
    GRAPHS = 256,
    ATTRIBUTES = 17,
    DYNAMIC_SHARED = 8
};

typedef struct deed { // what a stream does
    const function *kernel;
    double_grid grid;
    _Alignas(16) uint8_t arguments[8 << 10];
    size_t arguments_size; // 0: each was given by itself
    uint32_t attributes[ATTRIBUTES][16];
    uint64_t to, from, size, width, value; // of copies and sets
    bool to_host, from_host;
} deed;

// From 3 on: 1 and 2 are the default ones. Numbers of those that were dropped
// are not used again before their context goes, because their work goes on.
static struct stream {
    uintptr_t context; // 0: there is none
    bool dropped;
} streams[16 * STREAMS];
static uint32_t stream_flags[STREAMS];
static uint64_t hung;          // bits of streams
static uint64_t hung_defaults; // bits of contexts, as long as one is to hang

static uintptr_t stream_context(uintptr_t handle)
{
    return __atomic_load_n(&streams[handle].context, __ATOMIC_ACQUIRE);
}

static bool is_stream(uintptr_t handle)
{
    return handle < 3 ||
           (handle < 16 * STREAMS && stream_context(handle) &&
            !__atomic_load_n(&streams[handle].dropped, __ATOMIC_RELAXED));
}

static void drop_streams(uintptr_t context)
{
    for (uintptr_t i = 3; i < 16 * STREAMS; i++) {
        if (stream_context(i) != context) continue;
        __atomic_fetch_and(&hung, ~(UINT64_C(1) << i % STREAMS),
                           __ATOMIC_SEQ_CST);
        __atomic_store_n(&streams[i].dropped, false, __ATOMIC_RELAXED);
        __atomic_store_n(&streams[i].context, 0, __ATOMIC_RELEASE);
    }
}

static bool is_default_busy(uintptr_t context)
{
    const uint64_t bits = __atomic_load_n(&hung_defaults, __ATOMIC_SEQ_CST);
    return bits >> (context - 1) & 1 && getenv("DOUBLE_CUDA_HANG");
}

// Streams of a context that have work.
static bool is_busy(uintptr_t context)
{
    const uint64_t busy = __atomic_load_n(&hung, __ATOMIC_SEQ_CST);
    if (is_default_busy(context)) return true;
    for (uintptr_t i = 3; i < 16 * STREAMS; i++)
        if (stream_context(i) == context && busy >> i % STREAMS & 1)
            return getenv("DOUBLE_CUDA_HANG") != NULL;
    return false;
}

static int fail_kernel(const char *name, uint32_t stream)
{
    if (is_named("DOUBLE_CUDA_HANG", name))
        __atomic_fetch_or(stream ? &hung : &hung_defaults,
                          UINT64_C(1)
                              << (stream ? stream % STREAMS : here() - 1),
                          __ATOMIC_SEQ_CST);
    if (is_named("DOUBLE_CUDA_FAIL", name)) broken = BAD_ADDRESS;
    return is_named("DOUBLE_CUDA_HANG", name) ||
           is_named("DOUBLE_CUDA_FAIL", name);
}

// Whether a kernel is given memory of a context that its own knows nothing of.
static bool goes_astray(const deed *d)
{
    const function *const f = d->kernel;
    const uint32_t *p = f->parameters;
    for (; f->module < LAZY && p && *p != UINT32_MAX; p += 2) {
        uint64_t value;
        if (p[1] != 8) continue;
        memcpy(&value, d->arguments + p[0], sizeof value);
        if (is_out_of_reach(modules[f->module - 1].context, value)) return true;
    }
    return false;
}

static void do_it(const deed *d, uint32_t stream)
{
    if (d->kernel) {
        if (goes_astray(d)) broken = BAD_ADDRESS;
        if (broken || fail_kernel(d->kernel->name, stream)) return;
        if (getenv("DOUBLE_CUDA_TELL"))
            fprintf(stderr, "ran %s\n", d->kernel->name);
        const int times = 1 + is_named("DOUBLE_CUDA_WRONG", d->kernel->name);
        for (int i = 0; d->kernel->body && i < times; i++)
            d->kernel->body(d->arguments, &d->grid);
    } else if (d->from) {
        memmove((void *)(uintptr_t)d->to, (const void *)(uintptr_t)d->from,
                d->size);
    } else {
        for (uint64_t i = 0; i + d->width <= d->size; i += d->width)
            memcpy((void *)(uintptr_t)(d->to + i), &d->value, d->width);
    }
}

static int read_launch(deed *d, void *object, const uint32_t *dims,
                       uint32_t shared, void **arguments, void **more);

#include "cuda_graphs.h"

/* ---- Launches ----------------------------------------------------------- */

static int read_launch(deed *d, void *object, const uint32_t *dims,
                       uint32_t shared, void **arguments, void **more)
{
    const uintptr_t number = (uintptr_t)object;
    if (number & LAZY && cuKernelGetFunction(&object, object)) return INVALID;
    const function *const f = function_of(object);
    memset(d, 0, sizeof *d);
    d->kernel = f;
    if (!f || !(dims[0] && dims[1] && dims[2] && dims[3] && dims[4] && dims[5]))
        return INVALID;
    if (shared > 48 << 10 && f->attributes[DYNAMIC_SHARED] < (int)shared)
        return INVALID;
    memcpy(d->grid.grid, dims, 24);
    d->grid.shared = shared;
    const void *block = NULL;
    size_t size = 0;
    for (; more && *more; more += 2) {
        if ((uintptr_t)*more == 1) block = more[1];
        if ((uintptr_t)*more == 2) memcpy(&size, more[1], sizeof size);
    }
    if (size > sizeof d->arguments) return INVALID;
    if (block) memcpy(d->arguments, block, size);
    d->arguments_size = size;
    for (uint32_t i = 0; f->parameters && f->parameters[2 * i] != UINT32_MAX;
         i++)
        if (arguments)
            memcpy(d->arguments + f->parameters[2 * i], arguments[i],
                   f->parameters[2 * i + 1]);
    return 0;
}

// The dry run's kernels are recorded by name, so none has to be found.
static const char *name_of(void *object)
{
    const uintptr_t number = (uintptr_t)object & ~(uintptr_t)LAZY;
    const function *const f = function_of((void *)number);
    return f ? f->name : "unknown";
}

// What is recorded gives no record.
static double_what kind_on(void *stream, double_what kind)
{
    return is_recorded(stream) ? DOUBLE_QUIET : kind;
}

typedef struct launch_parameters {
    void *function;
    uint32_t dims[6], shared;
    void *stream;
    void **arguments, **more;
} launch_parameters;

// A kernel of a library is that of its stream's context.
static int read_on(deed *d, void *stream, void *object, const uint32_t *dims,
                   uint32_t shared, void **arguments, void **more)
{
    const uintptr_t number = (uintptr_t)stream, before = current;
    if (number > 2 && is_stream(number)) current = stream_context(number);
    const int result = read_launch(d, object, dims, shared, arguments, more);
    current = before;
    return result;
}

static int launch_plain(const void *user)
{
    const launch_parameters *const p = user;
    deed d;
    const int result = read_on(&d, p->stream, p->function, p->dims, p->shared,
                               p->arguments, p->more);
    return result ? result : submit(&d, (uint32_t)(uintptr_t)p->stream);
}

DRIVER(cuLaunchKernel, void *object, unsigned gx, unsigned gy, unsigned gz,
       unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
       void **arguments, void **more)
{
    const launch_parameters p = { object,    { gx, gy, gz, bx, by, bz },
                                  shared,    stream,
                                  arguments, more };
    TRACED(kind_on(stream, DOUBLE_DRIVER_LAUNCH), cuLaunchKernel, launch_plain,
           ON(stream), .name = name_of(object), .grid = gx,
           .nodes = is_recorded(stream));
}

DRIVER(cuLaunchCooperativeKernel, void *object, unsigned gx, unsigned gy,
       unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
       void *stream, void **arguments)
{
    const launch_parameters p = { object,    { gx, gy, gz, bx, by, bz },
                                  shared,    stream,
                                  arguments, NULL };
    TRACED(kind_on(stream, DOUBLE_DRIVER_LAUNCH), cuLaunchCooperativeKernel,
           launch_plain, ON(stream), .name = name_of(object), .grid = gx,
           .nodes = is_recorded(stream));
}

typedef struct config { // CUlaunchConfig
    uint32_t dims[6], shared;
    void *stream;
    const struct {
        uint32_t id, pad, value[16];
    } * attributes;
    uint32_t count;
} config;

typedef struct launch_ex_parameters {
    const config *config;
    void *function;
    void **arguments, **more;
} launch_ex_parameters;

static int launch_ex(const void *user)
{
    const launch_ex_parameters *const p = user;
    const config *const c = p->config;
    deed d;
    const int result = read_on(&d, c->stream, p->function, c->dims, c->shared,
                               p->arguments, p->more);
    if (result) return result;
    for (uint32_t i = 0; i < c->count; i++) {
        const uint32_t id = c->attributes[i].id;
        if (id >= ATTRIBUTES) return INVALID;
        memcpy(d.attributes[id], c->attributes[i].value, 64);
    }
    return submit(&d, (uint32_t)(uintptr_t)c->stream);
}

DRIVER(cuLaunchKernelEx, const config *how, void *object, void **arguments,
       void **more)
{
    const launch_ex_parameters p = { how, object, arguments, more };
    TRACED(kind_on(how->stream, DOUBLE_DRIVER_LAUNCH), cuLaunchKernelEx,
           launch_ex, ON(how->stream), .name = name_of(object),
           .grid = how->dims[0], .nodes = is_recorded(how->stream));
}

/* ---- Copies and sets ---------------------------------------------------- */

typedef struct copy_parameters {
    uint64_t to, from;
    size_t size;
    void *stream;
    bool to_host, from_host; // the driver's own
} copy_parameters;

static int copy_now(const void *user)
{
    const copy_parameters *const p = user;
    const deed d = { .to = p->to, .from = p->from, .size = p->size };
    if (!p->to || !p->from) return INVALID;
    const int result = forbidden();
    if (result) return result;
    do_it(&d, 0);
    return 0;
}

static int copy(const void *user)
{
    const copy_parameters *const p = user;
    const deed d = { .to = p->to,
                     .from = p->from,
                     .size = p->size,
                     .to_host = p->to_host,
                     .from_host = p->from_host };
    if (!p->to || !p->from) return INVALID;
    // The host's memory may have to be waited for.
    const int result =
        (d.to_host || d.from_host) && !is_recorded(p->stream) ? forbidden() : 0;
    if (result) return result;
    return submit(&d, (uint32_t)(uintptr_t)p->stream);
}

#define COPY(name, to_type, from_type) \
    DRIVER(name, to_type to, from_type from, size_t size) \
    { \
        const copy_parameters p = { .to = (uint64_t)to, \
                                    .from = (uint64_t)from, \
                                    .size = size }; \
        TRACED(DOUBLE_COPY, name, copy_now, ON(0), .bytes = size); \
    }
#define COPY_ASYNC(name, to_type, from_type, to_host, from_host) \
    DRIVER(name, to_type to, from_type from, size_t size, void *stream) \
    { \
        const copy_parameters p = { (uint64_t)to, (uint64_t)from, size, \
                                    stream,       to_host,        from_host }; \
        TRACED(kind_on(stream, DOUBLE_COPY), name, copy, ON(stream), \
               .bytes = size); \
    }
COPY(cuMemcpyHtoD_v2, uint64_t, const void *)
COPY(cuMemcpyDtoH_v2, void *, uint64_t)
COPY(cuMemcpyDtoD_v2, uint64_t, uint64_t)
COPY_ASYNC(cuMemcpyHtoDAsync_v2, uint64_t, const void *, false, true)
COPY_ASYNC(cuMemcpyDtoHAsync_v2, void *, uint64_t, true, false)
COPY_ASYNC(cuMemcpyDtoDAsync_v2, uint64_t, uint64_t, false, false)
COPY_ASYNC(cuMemcpyAsync, uint64_t, uint64_t, false, false)

typedef struct peer_parameters {
    uint64_t to;
    void *to_context;
    uint64_t from;
    void *from_context;
    size_t size;
    void *stream;
} peer_parameters;

static int copy_peer(const void *user)
{
    const peer_parameters *const p = user;
    const deed d = { .to = p->to, .from = p->from, .size = p->size };
    if (!p->to || !p->from || !context_of((uintptr_t)p->to_context) ||
        !context_of((uintptr_t)p->from_context))
        return INVALID;
    return submit(&d, (uint32_t)(uintptr_t)p->stream);
}

DRIVER(cuMemcpyPeerAsync, uint64_t to, void *to_context, uint64_t from,
       void *from_context, size_t size, void *stream)
{
    const peer_parameters p = {
        to, to_context, from, from_context, size, stream
    };
    TRACED(kind_on(stream, DOUBLE_PEER_COPY), cuMemcpyPeerAsync, copy_peer,
           ON(stream), .bytes = size);
}

typedef struct set_parameters {
    uint64_t to;
    union {
        unsigned wide;
        unsigned short half;
        unsigned char byte;
    } value;
    size_t count;
    void *stream;
} set_parameters;

static int set_wide(const set_parameters *p, uint64_t width, uint64_t value)
{
    const deed d = {
        .to = p->to, .size = p->count * width, .width = width, .value = value
    };
    return p->to ? submit(&d, (uint32_t)(uintptr_t)p->stream) : INVALID;
}

static int set8(const void *user)
{
    const set_parameters *const p = user;
    return set_wide(p, 1, p->value.byte);
}

static int set16(const void *user)
{
    const set_parameters *const p = user;
    return set_wide(p, 2, p->value.half);
}

static int set32(const void *user)
{
    const set_parameters *const p = user;
    return set_wide(p, 4, p->value.wide);
}

#define SET_ASYNC(name, type, field, size, with) \
    DRIVER(name, uint64_t to, type value, size_t count, void *stream) \
    { \
        set_parameters p = { .to = to, .count = count, .stream = stream }; \
        p.value.field = value; \
        TRACED(kind_on(stream, DOUBLE_SET), name, with, ON(stream), \
               .bytes = count * size); \
    }
SET_ASYNC(cuMemsetD8Async, unsigned char, byte, 1, set8)
SET_ASYNC(cuMemsetD16Async, unsigned short, half, 2, set16)
SET_ASYNC(cuMemsetD32Async, unsigned, wide, 4, set32)

/* ---- Streams and events ------------------------------------------------- */

typedef struct stream_parameters {
    void **stream;
    unsigned flags;
    int priority;
} stream_parameters;

static int make_stream(const void *user)
{
    const stream_parameters *const p = user;
    if (is_nowhere()) return CONTEXT_GONE;
    for (uintptr_t i = 3; i < 16 * STREAMS; i++) {
        uintptr_t none = 0;
        if (!__atomic_compare_exchange_n(&streams[i].context, &none, here(),
                                         false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_RELAXED))
            continue;
        *p->stream = (void *)i;
        stream_flags[i % STREAMS] = p->flags;
        return 0;
    }
    return NO_MEMORY;
}

DRIVER(cuStreamCreate, void **stream, unsigned flags)
{
    const stream_parameters p = { stream, flags, 0 };
    TRACED(DOUBLE_QUIET, cuStreamCreate, make_stream, ON(0));
}

DRIVER(cuStreamCreateWithPriority, void **stream, unsigned flags, int priority)
{
    const stream_parameters p = { stream, flags, priority };
    TRACED(DOUBLE_QUIET, cuStreamCreateWithPriority, make_stream, ON(0));
}

static int drop_stream(const void *user)
{
    const uintptr_t handle = *(const uintptr_t *)user;
    if (handle < 3 || !is_stream(handle)) return 400;
    __atomic_store_n(&streams[handle].dropped, true, __ATOMIC_RELAXED);
    return 0;
}

DRIVER(cuStreamDestroy_v2, void *p)
{
    TRACED(DOUBLE_QUIET, cuStreamDestroy_v2, drop_stream, ON(0));
}

static int query_stream(const void *user)
{
    void *const stream = *(void *const *)user;
    if (broken) return broken;
    if (!is_stream((uintptr_t)stream)) return 400;
    recording *const r = recording_of(stream);
    recording *const other = recording_that_blocks(stream);
    if (r) r->broken = true;
    if (other) other->broken = true;
    const int result = r ? UNSUPPORTED : other ? IMPLICIT : forbidden();
    if (result) return result;
    const uintptr_t number = (uintptr_t)stream;
    if (!number) return is_default_busy(here()) ? NOT_READY : 0;
    const uint64_t busy = __atomic_load_n(&hung, __ATOMIC_SEQ_CST);
    return busy >> number % STREAMS & 1 ? NOT_READY : 0;
}

// CUPTI reports a query that finds its stream or event over as a wait for it
// (seen on an H200, CUPTI 13.0).
DRIVER(cuStreamQuery, void *p)
{
    wait_for_lock();
    TRACED(DOUBLE_STREAM_SYNC, cuStreamQuery, query_stream, ON(p));
}

static int wait_stream(const void *user)
{
    usleep(20); // until all that was launched is over
    while (query_stream(user) == NOT_READY)
        usleep(1000);
    return broken;
}

DRIVER(cuStreamSynchronize, void *p)
{
    TRACED(DOUBLE_STREAM_SYNC, cuStreamSynchronize, wait_stream, ON(p));
}

static int nothing(const void *user)
{
    return 0;
}

// Who waits for all of a context spoils what is recorded there, in any mode.
static bool spoils(uintptr_t context)
{
    bool any = false;
    for (size_t i = 0; i < 8; i++) {
        recording *const r = &recordings[i];
        if (!r->graph || stream_context(r->origin) != context) continue;
        any = r->broken = true;
    }
    return any;
}

// Until all work is over, as long as there is to be a kernel that hangs.
static int wait_context(const void *user)
{
    if (spoils(here())) return UNSUPPORTED;
    while (is_busy(here()))
        usleep(1000);
    return broken;
}

DRIVER(cuCtxSynchronize, void)
{
    const int p = 0;
    TRACED(DOUBLE_DEVICE_SYNC, cuCtxSynchronize, wait_context, ON(0));
}

DRIVER(cuStreamWaitEvent, void *stream, void *p, unsigned flags)
{
    if (!p || flags) return INVALID;
    join_event(stream, (uintptr_t)p);
    TRACED(DOUBLE_STREAM_WAIT, cuStreamWaitEvent, nothing, ON(stream));
}

DRIVER(cuEventCreate, void **event, unsigned flags)
{
    static uint32_t count;
    *event = (void *)(uintptr_t)++count;
    return flags < 8 ? 0 : INVALID;
}

DRIVER(cuEventDestroy_v2, void *p)
{
    return p ? 0 : INVALID;
}

DRIVER(cuEventRecord, void *p, void *stream)
{
    if (!p) return INVALID;
    record_event((uintptr_t)p, stream);
    TRACED(DOUBLE_EVENT_RECORD, cuEventRecord, nothing, ON(stream));
}

// An event of a context is over when all is that was in it.
static int record_context(const void *user)
{
    const uintptr_t *const p = user;
    if (!p[1] || !context_of(p[0])) return 400;
    if (spoils(p[0])) return UNSUPPORTED;
    events[p[1] % EVENTS].context = p[0];
    return 0;
}

DRIVER(cuCtxRecordEvent, void *context, void *event)
{
    void *const p[] = { context, event };
    wait_for_lock();
    TRACED(DOUBLE_EVENT_RECORD, cuCtxRecordEvent, record_context, ON(0));
}

static int query_event(const void *user)
{
    const uintptr_t p = *(const uintptr_t *)user;
    if (!p) return 400;
    const uintptr_t context = events[p % EVENTS].context; // 0: of a stream
    return context && is_busy(context) ? NOT_READY : broken;
}

DRIVER(cuEventQuery, void *p)
{
    wait_for_lock();
    TRACED(DOUBLE_EVENT_SYNC, cuEventQuery, query_event, ON(0));
}

DRIVER(cuEventSynchronize, void *p)
{
    if (!p) return INVALID;
    TRACED(DOUBLE_EVENT_SYNC, cuEventSynchronize, nothing, ON(0));
}
