/*
    cuda_streams.h - launches, copies, streams and graphs of the double of
    CUDA's driver: a part of libcuda.c
*/

/* ==== 4. Streams ========================================================= */

enum { STREAMS = 64, NODES = 256, GRAPHS = 64, DYNAMIC_SHARED = 8 };

typedef struct deed { // what a stream does
    const function *kernel;
    double_grid grid;
    _Alignas(16) uint8_t arguments[256];
    uint64_t to, from, size, width, value; // of copies and sets
    uint32_t kernel_is_none;
} deed;

static struct graph {
    deed *deeds;
    uint32_t count;
} graphs[GRAPHS];
static uint32_t graph_count, stream_count;
static uint64_t hung;             // bits of streams
static uint32_t capturing = 1000; // the stream that is recorded
static uint64_t joined;           // bits of streams that are recorded with it
#define NOBODY 1000u

static bool is_recorded(const void *stream)
{
    const uint32_t number = (uint32_t)(uintptr_t)stream;
    return capturing != NOBODY &&
           (capturing == number || joined >> number % STREAMS & 1);
}

static int fail_kernel(const char *name, uint32_t stream)
{
    if (is_named("DOUBLE_CUDA_HANG", name))
        __atomic_fetch_or(&hung, UINT64_C(1) << stream % STREAMS,
                          __ATOMIC_SEQ_CST);
    if (is_named("DOUBLE_CUDA_FAIL", name)) broken = BAD_ADDRESS;
    return is_named("DOUBLE_CUDA_HANG", name) ||
           is_named("DOUBLE_CUDA_FAIL", name);
}

static void do_it(const deed *d, uint32_t stream)
{
    if (d->kernel) {
        if (fail_kernel(d->kernel->name, stream)) return;
        if (d->kernel->body) d->kernel->body(d->arguments, &d->grid);
    } else if (d->from) {
        memmove((void *)(uintptr_t)d->to, (const void *)(uintptr_t)d->from,
                d->size);
    } else {
        for (uint64_t i = 0; i + d->width <= d->size; i += d->width)
            memcpy((void *)(uintptr_t)(d->to + i), &d->value, d->width);
    }
}

// At once, or as a node of the graph that this stream is recorded into.
static int submit(const deed *d, uint32_t stream)
{
    if (!is_recorded((void *)(uintptr_t)stream)) {
        do_it(d, stream);
        return 0; // what a kernel did is found out later
    }
    struct graph *const g = &graphs[graph_count];
    if (!g->deeds) g->deeds = calloc(NODES, sizeof *g->deeds);
    if (!g->deeds || g->count == NODES) return NO_MEMORY;
    g->deeds[g->count++] = *d;
    return 0;
}

/* ---- Launches ----------------------------------------------------------- */

static int launch(void *object, const uint32_t *dims, uint32_t shared,
                  void *stream, void **arguments, void **more)
{
    const uintptr_t number = (uintptr_t)object;
    if (number & LAZY && cuKernelGetFunction(&object, object)) return INVALID;
    const function *const f = function_of(object);
    deed d = { .kernel = f };
    if (!f || !(dims[0] && dims[1] && dims[2] && dims[3] && dims[4] && dims[5]))
        return INVALID;
    if (shared > 48 << 10 && f->attributes[DYNAMIC_SHARED] < (int)shared)
        return INVALID;
    memcpy(d.grid.grid, dims, 24);
    d.grid.shared = shared;
    const void *block = NULL;
    size_t size = 0;
    for (; more && *more; more += 2) {
        if ((uintptr_t)*more == 1) block = more[1];
        if ((uintptr_t)*more == 2) memcpy(&size, more[1], sizeof size);
    }
    if (size > sizeof d.arguments) return INVALID;
    if (block) memcpy(d.arguments, block, size);
    for (uint32_t i = 0; f->parameters && f->parameters[2 * i] != UINT32_MAX;
         i++)
        if (arguments)
            memcpy(d.arguments + f->parameters[2 * i], arguments[i],
                   f->parameters[2 * i + 1]);
    return submit(&d, (uint32_t)(uintptr_t)stream);
}

// The dry run's kernels are recorded by name, so none has to be found.
static const char *name_of(void *object)
{
    const uintptr_t number = (uintptr_t)object & ~(uintptr_t)LAZY;
    const function *const f = function_of((void *)number);
    return f ? f->name : "unknown";
}

static double_what launch_kind(void *stream)
{
    return is_recorded(stream) ? DOUBLE_QUIET : DOUBLE_DRIVER_LAUNCH;
}

typedef struct launch_parameters {
    void *function;
    uint32_t dims[6], shared;
    void *stream;
    void **arguments, **more;
} launch_parameters;

static int launch_plain(const void *user)
{
    const launch_parameters *const p = user;
    return launch(p->function, p->dims, p->shared, p->stream, p->arguments,
                  p->more);
}

DRIVER(cuLaunchKernel, void *object, unsigned gx, unsigned gy, unsigned gz,
       unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
       void **arguments, void **more)
{
    const launch_parameters p = { object,    { gx, gy, gz, bx, by, bz },
                                  shared,    stream,
                                  arguments, more };
    TRACED(launch_kind(stream), cuLaunchKernel, launch_plain, ON(stream),
           .name = name_of(object), .grid = gx, .nodes = is_recorded(stream));
}

DRIVER(cuLaunchCooperativeKernel, void *object, unsigned gx, unsigned gy,
       unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
       void *stream, void **arguments)
{
    const launch_parameters p = { object,    { gx, gy, gz, bx, by, bz },
                                  shared,    stream,
                                  arguments, NULL };
    TRACED(launch_kind(stream), cuLaunchCooperativeKernel, launch_plain,
           ON(stream), .name = name_of(object), .grid = gx,
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
    for (uint32_t i = 0; i < c->count; i++)
        if (c->attributes[i].id > 16) return INVALID;
    return launch(p->function, c->dims, c->shared, c->stream, p->arguments,
                  p->more);
}

DRIVER(cuLaunchKernelEx, const config *how, void *object, void **arguments,
       void **more)
{
    const launch_ex_parameters p = { how, object, arguments, more };
    TRACED(launch_kind(how->stream), cuLaunchKernelEx, launch_ex,
           ON(how->stream), .name = name_of(object), .grid = how->dims[0],
           .nodes = is_recorded(how->stream));
}

/* ---- Copies and sets ---------------------------------------------------- */

typedef struct copy_parameters {
    uint64_t to, from;
    size_t size;
    void *stream;
} copy_parameters;

static int copy_now(const void *user)
{
    const copy_parameters *const p = user;
    const deed d = { .to = p->to, .from = p->from, .size = p->size };
    if (!p->to || !p->from) return INVALID;
    do_it(&d, 0);
    return 0;
}

static int copy(const void *user)
{
    const copy_parameters *const p = user;
    const deed d = { .to = p->to, .from = p->from, .size = p->size };
    if (!p->to || !p->from) return INVALID;
    return submit(&d, (uint32_t)(uintptr_t)p->stream);
}

#define COPY(name, to_type, from_type) \
    DRIVER(name, to_type to, from_type from, size_t size) \
    { \
        const copy_parameters p = { (uint64_t)to, (uint64_t)from, size, \
                                    NULL }; \
        TRACED(DOUBLE_COPY, name, copy_now, ON(0), .bytes = size); \
    }
#define COPY_ASYNC(name, to_type, from_type) \
    DRIVER(name, to_type to, from_type from, size_t size, void *stream) \
    { \
        const copy_parameters p = { (uint64_t)to, (uint64_t)from, size, \
                                    stream }; \
        TRACED(DOUBLE_COPY, name, copy, ON(stream), .bytes = size); \
    }
COPY(cuMemcpyHtoD_v2, uint64_t, const void *)
COPY(cuMemcpyDtoH_v2, void *, uint64_t)
COPY(cuMemcpyDtoD_v2, uint64_t, uint64_t)
COPY_ASYNC(cuMemcpyHtoDAsync_v2, uint64_t, const void *)
COPY_ASYNC(cuMemcpyDtoHAsync_v2, void *, uint64_t)
COPY_ASYNC(cuMemcpyDtoDAsync_v2, uint64_t, uint64_t)
COPY_ASYNC(cuMemcpyAsync, uint64_t, uint64_t)

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
        TRACED(DOUBLE_SET, name, with, ON(stream), .bytes = count * size); \
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
    // 1 and 2 are the default ones.
    *p->stream = (void *)(uintptr_t)(3 + __atomic_fetch_add(&stream_count, 1,
                                                            __ATOMIC_RELAXED));
    return 0;
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

DRIVER(cuStreamDestroy_v2, void *stream)
{
    return stream ? 0 : INVALID;
}

DRIVER(cuStreamQuery, void *stream)
{
    wait_for_lock();
    if (broken) return broken;
    if (capturing != NOBODY) return 900;
    const uintptr_t number = (uintptr_t)stream;
    const uint64_t busy = __atomic_load_n(&hung, __ATOMIC_SEQ_CST);
    return busy >> number % STREAMS & 1 ? NOT_READY : 0;
}

static int wait_stream(const void *user)
{
    usleep(20); // until all that was launched is over
    while (cuStreamQuery(*(void *const *)user) == NOT_READY)
        usleep(1000);
    return broken;
}

DRIVER(cuStreamSynchronize, void *p)
{
    TRACED(DOUBLE_STREAM_SYNC, cuStreamSynchronize, wait_stream, ON(p));
}

static int nothing(const void *user)
{
    (void)user;
    return 0;
}

DRIVER(cuCtxSynchronize, void)
{
    const int p = 0;
    TRACED(DOUBLE_DEVICE_SYNC, cuCtxSynchronize, nothing, ON(0));
}

DRIVER(cuStreamWaitEvent, void *stream, void *p, unsigned flags)
{
    if (!p || flags) return INVALID;
    if (capturing != NOBODY)
        joined |= UINT64_C(1) << (uintptr_t)stream % STREAMS;
    TRACED(DOUBLE_STREAM_WAIT, cuStreamWaitEvent, nothing, ON(stream));
}

DRIVER(cuEventCreate, void **event, unsigned flags)
{
    static uint32_t events;
    *event = (void *)(uintptr_t)++events;
    return flags < 8 ? 0 : INVALID;
}

DRIVER(cuEventRecord, void *p, void *stream)
{
    if (!p) return INVALID;
    TRACED(DOUBLE_EVENT_RECORD, cuEventRecord, nothing, ON(stream));
}

DRIVER(cuEventSynchronize, void *p)
{
    if (!p) return INVALID;
    TRACED(DOUBLE_EVENT_SYNC, cuEventSynchronize, nothing, ON(0));
}

/* ---- Graphs ------------------------------------------------------------- */

typedef struct begin_parameters {
    void *stream;
    int mode;
} begin_parameters;

static int begin(const void *user)
{
    const begin_parameters *const p = user;
    if (capturing != NOBODY || graph_count == GRAPHS || !p->stream)
        return INVALID;
    graphs[graph_count].count = 0;
    joined = 0;
    capturing = (uint32_t)(uintptr_t)p->stream;
    return 0;
}

DRIVER(cuStreamBeginCapture_v2, void *stream, int mode)
{
    const begin_parameters p = { stream, mode };
    TRACED(DOUBLE_QUIET, cuStreamBeginCapture_v2, begin, ON(0));
}

typedef struct end_parameters {
    void *stream, **graph;
} end_parameters;

static int end(const void *user)
{
    const end_parameters *const p = user;
    if (capturing != (uint32_t)(uintptr_t)p->stream) return INVALID;
    capturing = NOBODY;
    *p->graph = (void *)(uintptr_t)++graph_count;
    return 0;
}

DRIVER(cuStreamEndCapture, void *stream, void **graph)
{
    const end_parameters p = { stream, graph };
    TRACED(DOUBLE_QUIET, cuStreamEndCapture, end, ON(0));
}

DRIVER(cuGraphInstantiateWithFlags, void **ready, void *graph,
       unsigned long long flags)
{
    *ready = graph;
    return graph && !flags ? 0 : INVALID;
}

typedef struct graph_parameters {
    void *ready, *stream;
} graph_parameters;

static int launch_graph(const void *user)
{
    const graph_parameters *const p = user;
    const uintptr_t number = (uintptr_t)p->ready;
    if (!number || number > graph_count) return INVALID;
    const struct graph *const g = &graphs[number - 1];
    for (uint32_t i = 0; i < g->count; i++)
        do_it(&g->deeds[i], (uint32_t)(uintptr_t)p->stream);
    return 0;
}

DRIVER(cuGraphLaunch, void *ready, void *stream)
{
    const graph_parameters p = { ready, stream };
    const uintptr_t number = (uintptr_t)ready;
    const uint32_t nodes =
        number && number <= graph_count ? graphs[number - 1].count : 0;
    TRACED(DOUBLE_GRAPH, cuGraphLaunch, launch_graph, ON(stream),
           .nodes = nodes);
}
