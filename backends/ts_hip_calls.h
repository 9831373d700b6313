/*
    ts_hip_calls.h - the calls and operations of HIP, for ts_hip.h

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Private: included by the implementation of ts_hip.h.

    WHAT IT DOES
        What the four ways have in common: which functions of HIP matter and
        where their arguments lie, what is noted on the calling thread, and
        how an operation that a record tells of gets it back.

    CONTENTS                            search for "---- 2" to jump
        1. Functions
        2. Arguments
        3. Calls
        4. Operations
*/
#if defined(TS__HIP_IMPLEMENTED) && !defined(TS_HIP_CALLS_H)
#define TS_HIP_CALLS_H

/* ---- 1. Functions ------------------------------------------------------- */

typedef enum ts__hip_role {
    TS__HIP_CALL, // nothing more is known
    TS__HIP_LAUNCH,
    TS__HIP_GRAPH,
    TS__HIP_COPY,
    TS__HIP_SET,
    TS__HIP_CAPTURE, // launches become nodes of a graph
    TS__HIP_CAPTURE_END,
    TS__HIP_STREAM_SYNC,
    TS__HIP_DEVICE_SYNC,
    TS__HIP_EVENT_SYNC,
    TS__HIP_EVENT_RECORD,
    TS__HIP_EVENT_WAIT,
    TS__HIP_ALLOC,
    TS__HIP_FREE,
    TS__HIP_STREAM_CREATE,
    TS__HIP_SET_DEVICE // not recorded
} ts__hip_role;

/*
    Arguments, a letter each, in the order of the prototype:

        f function         g grid in groups    w grid in work items
        b block            z LDS, size_t       u LDS, unsigned
        s stream           e event             p graph
        d destination      r source            n size, size_t
        k kind of a copy   v value, int        c h value, 8 and 16 bits
        a where the result goes, a pointer     A the same, of a stream
        l flags, unsigned  y priority, int     i ignored, int
        P ignored, a pointer to pointers

    Only what comes before the last letter matters. unit: bytes of an element.
    Source: hip/hip_runtime_api.h.
*/
typedef struct ts__hip_function {
    const char *name, *shape;
    uint8_t role, unit, memory;
} ts__hip_function;

static const ts__hip_function ts__hip_functions[] = {
    { "hipLaunchKernel", "fgbPzs", TS__HIP_LAUNCH, 0, 0 },
    { "hipExtLaunchKernel", "fgbPzs", TS__HIP_LAUNCH, 0, 0 },
    { "hipLaunchCooperativeKernel", "fgbPus", TS__HIP_LAUNCH, 0, 0 },
    { "hipModuleLaunchKernel", "fgbus", TS__HIP_LAUNCH, 0, 0 },
    { "hipModuleLaunchCooperativeKernel", "fgbus", TS__HIP_LAUNCH, 0, 0 },
    { "hipExtModuleLaunchKernel", "fwbzs", TS__HIP_LAUNCH, 0, 0 },
    { "hipHccModuleLaunchKernel", "fwbzs", TS__HIP_LAUNCH, 0, 0 },
    { "hipGraphLaunch", "ps", TS__HIP_GRAPH, 0, 0 },
    { "hipMemcpy", "drnk", TS__HIP_COPY, 0, 0 },
    { "hipMemcpyAsync", "drnks", TS__HIP_COPY, 0, 0 },
    { "hipMemcpyWithStream", "drnks", TS__HIP_COPY, 0, 0 },
    { "hipMemcpyHtoD", "drn", TS__HIP_COPY, 0, 0 },
    { "hipMemcpyDtoH", "drn", TS__HIP_COPY, 0, 0 },
    { "hipMemcpyDtoD", "drn", TS__HIP_COPY, 0, 0 },
    { "hipMemcpyHtoDAsync", "drns", TS__HIP_COPY, 0, 0 },
    { "hipMemcpyDtoHAsync", "drns", TS__HIP_COPY, 0, 0 },
    { "hipMemcpyDtoDAsync", "drns", TS__HIP_COPY, 0, 0 },
    { "hipMemcpyPeer", "dirin", TS__HIP_COPY, 0, 0 },
    { "hipMemcpyPeerAsync", "dirins", TS__HIP_COPY, 0, 0 },
    { "hipMemset", "dvn", TS__HIP_SET, 1, 0 },
    { "hipMemsetAsync", "dvns", TS__HIP_SET, 1, 0 },
    { "hipMemsetD8", "dcn", TS__HIP_SET, 1, 0 },
    { "hipMemsetD8Async", "dcns", TS__HIP_SET, 1, 0 },
    { "hipMemsetD16", "dhn", TS__HIP_SET, 2, 0 },
    { "hipMemsetD16Async", "dhns", TS__HIP_SET, 2, 0 },
    { "hipMemsetD32", "dvn", TS__HIP_SET, 4, 0 },
    { "hipMemsetD32Async", "dvns", TS__HIP_SET, 4, 0 },
    { "hipStreamBeginCapture", "s", TS__HIP_CAPTURE, 0, 0 },
    { "hipStreamEndCapture", "s", TS__HIP_CAPTURE_END, 0, 0 },
    { "hipStreamSynchronize", "s", TS__HIP_STREAM_SYNC, 0, 0 },
    { "hipDeviceSynchronize", "", TS__HIP_DEVICE_SYNC, 0, 0 },
    { "hipCtxSynchronize", "", TS__HIP_DEVICE_SYNC, 0, 0 },
    { "hipEventSynchronize", "e", TS__HIP_EVENT_SYNC, 0, 0 },
    { "hipEventRecord", "es", TS__HIP_EVENT_RECORD, 0, 0 },
    { "hipEventRecordWithFlags", "es", TS__HIP_EVENT_RECORD, 0, 0 },
    { "hipStreamWaitEvent", "se", TS__HIP_EVENT_WAIT, 0, 0 },
    { "hipMalloc", "an", TS__HIP_ALLOC, 0, 3 },
    { "hipExtMallocWithFlags", "an", TS__HIP_ALLOC, 0, 3 },
    { "hipMallocAsync", "ans", TS__HIP_ALLOC, 0, 3 },
    { "hipMallocManaged", "an", TS__HIP_ALLOC, 0, 4 },
    { "hipHostMalloc", "an", TS__HIP_ALLOC, 0, 2 },
    { "hipFree", "d", TS__HIP_FREE, 0, 0 },
    { "hipFreeAsync", "ds", TS__HIP_FREE, 0, 0 },
    { "hipHostFree", "d", TS__HIP_FREE, 0, 0 },
    { "hipStreamCreate", "A", TS__HIP_STREAM_CREATE, 0, 0 },
    { "hipStreamCreateWithFlags", "Al", TS__HIP_STREAM_CREATE, 0, 0 },
    { "hipStreamCreateWithPriority", "Aly", TS__HIP_STREAM_CREATE, 0, 0 },
    { "hipSetDevice", "v", TS__HIP_SET_DEVICE, 0, 0 },
};

// Calls that programs make all the time and that ask nothing of a device.
static const char *const ts__hip_denied[] = {
    "__hipPopCallConfiguration",
    "__hipPushCallConfiguration",
    "hipApiName",
    "hipCtxGetCurrent",
    "hipCtxGetDevice",
    "hipCtxPopCurrent",
    "hipCtxPushCurrent",
    "hipCtxSetCurrent",
    "hipDeviceCanAccessPeer",
    "hipDeviceGet",
    "hipDeviceGetAttribute",
    "hipDeviceGetName",
    "hipDeviceGetStreamPriorityRange",
    "hipDevicePrimaryCtxGetState",
    "hipDriverGetVersion",
    "hipEventCreate",
    "hipEventCreateWithFlags",
    "hipEventDestroy",
    "hipEventElapsedTime",
    "hipEventQuery",
    "hipExtGetLastError",
    "hipFuncGetAttribute",
    "hipFuncGetAttributes",
    "hipFuncSetAttribute",
    "hipGetDevice",
    "hipGetDeviceCount",
    "hipGetDeviceProperties",
    "hipGetDevicePropertiesR0000",
    "hipGetDevicePropertiesR0600",
    "hipGetErrorName",
    "hipGetErrorString",
    "hipGetLastError",
    "hipGetStreamDeviceId",
    "hipKernelNameRef",
    "hipKernelNameRefByPtr",
    "hipMemGetInfo",
    "hipModuleGetFunction",
    "hipPeekAtLastError",
    "hipPointerGetAttribute",
    "hipPointerGetAttributes",
    "hipRuntimeGetVersion",
    "hipStreamGetCaptureInfo",
    "hipStreamGetCaptureInfo_v2",
    "hipStreamGetDevice",
    "hipStreamGetFlags",
    "hipStreamGetPriority",
    "hipStreamIsCapturing",
    "hipStreamQuery",
    "hipThreadExchangeStreamCaptureMode",
};

typedef struct ts__hip_api {       // a function by its number in an interface
    const ts__hip_function *known; // NULL: only its name is
    uint32_t name;                 // 0: not recorded
    uint32_t wanted;
} ts__hip_api;

enum { TS__HIP_APIS = 1024 };
static ts__hip_api ts__hip_apis[TS__HIP_APIS]; // of the way that is taken

static const ts__hip_function *ts__hip_function_find(const char *name)
{
    const size_t count = sizeof ts__hip_functions / sizeof *ts__hip_functions;
    for (size_t i = 0; i < count; i++)
        if (!strcmp(ts__hip_functions[i].name, name))
            return &ts__hip_functions[i];
    return NULL;
}

// Whether calls of the function with that number matter.
static bool ts__hip_api_define(uint32_t number, const char *name)
{
    if (number >= TS__HIP_APIS || !name || !*name) return false;
    ts__hip_api *const api = &ts__hip_apis[number];
    for (size_t i = 0; i < sizeof ts__hip_denied / sizeof *ts__hip_denied; i++)
        if (!strcmp(ts__hip_denied[i], name)) return false;
    api->known = ts__hip_function_find(name);
    const bool quiet = api->known && api->known->role == TS__HIP_SET_DEVICE;
    api->name = quiet ? 0 : ts_name_define(name);
    api->wanted = 1;
    return true;
}

/* ---- 2. Arguments ------------------------------------------------------- */

typedef struct ts__hip_args {
    uint64_t function, stream, event, graph;
    uint64_t destination, source, size, value;
    const void *result; // where an address or a stream will be
    uint32_t grid[3], block[3], shared, copy, flags;
    int32_t priority;
    bool has_stream, in_items;
} ts__hip_args;

static size_t ts__hip_letter_size(char letter)
{
    if (strchr("gwb", letter)) return 12;
    if (strchr("ukvliy", letter)) return 4;
    return letter == 'c' ? 1 : letter == 'h' ? 2 : 8;
}

static void ts__hip_take(ts__hip_args *a, char letter, const char *from)
{
    uint64_t whole = 0;
    const size_t size = ts__hip_letter_size(letter);
    if (size <= 8) memcpy(&whole, from, size);
    switch (letter) {
    case 'f': a->function = whole; break;
    case 'w': a->in_items = true; // fall through
    case 'g': memcpy(a->grid, from, sizeof a->grid); break;
    case 'b': memcpy(a->block, from, sizeof a->block); break;
    case 'z':
    case 'u': a->shared = (uint32_t)whole; break;
    case 's':
        a->stream = whole;
        a->has_stream = true;
        break;
    case 'e': a->event = whole; break;
    case 'p': a->graph = whole; break;
    case 'd': a->destination = whole; break;
    case 'r': a->source = whole; break;
    case 'n': a->size = whole; break;
    case 'k': a->copy = (uint32_t)whole; break;
    case 'v':
    case 'c':
    case 'h': a->value = whole; break;
    case 'a':
    case 'A': memcpy(&a->result, from, sizeof a->result); break;
    case 'l': a->flags = (uint32_t)whole; break;
    case 'y': memcpy(&a->priority, from, sizeof a->priority); break;
    default: break;
    }
}

/*
    Reads the arguments of a known function. They lie as in a struct;
    with_values: what a pointer to a pointer points to lies behind it, as in
    hip_api_data_t.
*/
static void ts__hip_args_read(ts__hip_args *a, const ts__hip_function *known,
                              const void *arguments, bool with_values)
{
    memset(a, 0, sizeof *a);
    if (!known || !arguments) return;
    size_t at = 0;
    for (const char *letter = known->shape; *letter; letter++) {
        const size_t size = ts__hip_letter_size(*letter);
        const size_t align = size == 12 ? 4 : size;
        at = (at + align - 1) & ~(align - 1);
        ts__hip_take(a, *letter, (const char *)arguments + at);
        at += size;
        if (with_values && strchr("aAP", *letter)) at += 8;
    }
    if (known->role == TS__HIP_SET) a->size *= known->unit;
    // Functions without a stream work on the default one.
    if (known->role != TS__HIP_CALL) a->has_stream = true;
}

/* ---- 3. Calls ----------------------------------------------------------- */

typedef struct ts__hip_note { // what is kept for the records of a call
    uint64_t stream, graph, size, destination, source, value;
    uint64_t start_ns; // of the call, CLOCK_BOOTTIME
    uint64_t correlation;
    uint32_t grid[3], block[3];
    uint32_t shared, copy;
    ts_gpu_origin origin;
    uint8_t role, has_stream, in_items, waits; // for a kernel's record
} ts__hip_note;

typedef struct ts__hip_call {
    const ts__hip_api *api;
    uint64_t start, correlation;
    ts__hip_args args;
    ts_gpu_origin origin;
} ts__hip_call;

enum { TS__HIP_DEPTH = 4 }; // calls within calls

typedef struct ts__hip_thread {
    uint32_t depth, session;
    uint32_t device; // hipSetDevice's
    bool has_stream; // told by itself
    uint64_t stream;
    ts__hip_call calls[TS__HIP_DEPTH];
    void *data; // of a way
} ts__hip_thread;

static __thread ts__hip_thread *ts__hip_me;
static pthread_key_t ts__hip_key;
static pthread_once_t ts__hip_key_once = PTHREAD_ONCE_INIT;

static void ts__hip_thread_end(void *thread)
{
    ts__hip_me = NULL;
    free(((ts__hip_thread *)thread)->data);
    free(thread);
}

static void ts__hip_key_make(void)
{
    pthread_key_create(&ts__hip_key, ts__hip_thread_end);
}

static ts__hip_thread *ts__hip_thread_get(void)
{
    if (!ts__hip_me) {
        pthread_once(&ts__hip_key_once, ts__hip_key_make);
        ts__hip_me = (ts__hip_thread *)calloc(1, sizeof *ts__hip_me);
        if (ts__hip_me) pthread_setspecific(ts__hip_key, ts__hip_me);
    }
    return ts__hip_me;
}

static void ts__hip_note_put(const ts__hip_call *call)
{
    const ts__hip_args *const a = &call->args;
    ts__hip_note n = { .stream = a->stream,
                       .graph = a->graph,
                       .size = a->size,
                       .destination = a->destination,
                       .source = a->source,
                       .value = a->value,
                       .start_ns = ts__hip_boottime_ns(),
                       .correlation = call->correlation,
                       .shared = a->shared,
                       .copy = a->copy,
                       .origin = call->origin,
                       .has_stream = a->has_stream,
                       .in_items = a->in_items };
    if (call->api->known) n.role = call->api->known->role;
    memcpy(n.grid, a->grid, sizeof n.grid);
    memcpy(n.block, a->block, sizeof n.block);
    n.waits = n.role == TS__HIP_LAUNCH && ts__hip.way->operations &&
              !TS__LOAD(&ts__hip.captures) && ts_capture_kind(TS_EVENT_KERNEL);
    ts__notes_put(&ts__hip.notes, call->correlation, &n, sizeof n, n.waits);
}

// A function of HIP begins on this thread. arguments: NULL is unknown.
static void ts__hip_enter(uint32_t number, uint64_t correlation,
                          const void *arguments, bool with_values)
{
    ts__hip_thread *const me = ts__hip_thread_get();
    if (!me || number >= TS__HIP_APIS || !ts__hip_apis[number].wanted) return;
    const uint32_t session = TS__LOAD(&ts__hip.session);
    if (me->session != session) me->depth = 0; // left with the last one
    me->session = session;
    if (me->depth++ >= TS__HIP_DEPTH) return;
    ts__hip_call *const call = &me->calls[me->depth - 1];
    call->api = &ts__hip_apis[number];
    call->correlation = correlation;
    ts__hip_args_read(&call->args, call->api->known, arguments, with_values);
    if (me->has_stream && !call->args.has_stream) {
        call->args.has_stream = true;
        call->args.stream = me->stream;
    }
    call->origin = ts_gpu_origin_here();
    if (correlation) ts__hip_note_put(call);
    call->start = ts_tick_now();
}

// The stream of what this thread launches, told outside of the arguments.
static void ts__hip_stream_is(uint64_t stream)
{
    ts__hip_thread *const me = ts__hip_me;
    if (!me || !me->depth || me->depth > TS__HIP_DEPTH) return;
    ts__hip_call *const call = &me->calls[me->depth - 1];
    if (call->args.has_stream) return;
    call->args.has_stream = true;
    call->args.stream = stream;
    if (call->correlation) ts__hip_note_put(call);
}

// Where the operations of a call lie: its stream, on its device.
static uint32_t ts__hip_call_track(const ts__hip_call *call,
                                   const ts__hip_thread *me)
{
    const uint32_t device =
        ts__hip_stream_device(call->args.stream, me->device);
    ts__hip_device_track(device); // it may not be defined yet
    return ts__hip_stream_track(device, call->args.stream, false);
}

static void ts__hip_made_put(const ts__hip_call *call, uint32_t device)
{
    uint64_t handle = 0;
    if (!call->args.result) return;
    memcpy(&handle, call->args.result, sizeof handle);
    const ts__hip_made made = { .device = device,
                                .flags = call->args.flags,
                                .priority = call->args.priority };
    if (handle)
        ts__notes_put(&ts__hip.streams, handle >> 4, &made, sizeof made, false);
}

typedef struct ts__hip_recorded { // an event
    uint64_t correlation, track;
} ts__hip_recorded;

// Who waits for an event waits for the record that was the last by then.
static void ts__hip_event_op(ts_gpu_op *op, uint64_t event)
{
    ts__hip_recorded recorded = { op->correlation, op->track };
    op->u.event.id = event;
    if (op->kind == TS_EVENT_EVENT_RECORD) {
        ts__notes_put(&ts__hip.events, event >> 4, &recorded, sizeof recorded,
                      false);
    } else if (ts__notes_get(&ts__hip.events, event >> 4, &recorded,
                             sizeof recorded, false)) {
        if (op->kind == TS_EVENT_EVENT_WAIT)
            op->u.event.record = recorded.correlation;
        else
            op->track = (uint32_t)recorded.track;
    }
}

// What the host itself knows: synchronisation, events, memory.
static void ts__hip_host_op(const ts__hip_call *call, ts__hip_thread *me,
                            uint64_t end)
{
    static const uint8_t kinds[] = {
        [TS__HIP_STREAM_SYNC] = TS_EVENT_STREAM_SYNC,
        [TS__HIP_DEVICE_SYNC] = TS_EVENT_DEVICE_SYNC,
        [TS__HIP_EVENT_SYNC] = TS_EVENT_EVENT_SYNC,
        [TS__HIP_EVENT_RECORD] = TS_EVENT_EVENT_RECORD,
        [TS__HIP_EVENT_WAIT] = TS_EVENT_EVENT_WAIT,
        [TS__HIP_ALLOC] = TS_EVENT_GPU_ALLOC,
        [TS__HIP_FREE] = TS_EVENT_GPU_FREE,
        [TS__HIP_SET_DEVICE] = 0
    };
    const ts__hip_args *const a = &call->args;
    ts_gpu_op op;
    memset(&op, 0, sizeof op);
    op.kind = (ts_event_kind)kinds[call->api->known->role];
    if (!op.kind || !ts_capture_kind(op.kind)) return;
    op.start = call->start;
    op.end = end;
    op.correlation = call->correlation;
    op.origin = call->origin;
    const bool of_device = op.kind == TS_EVENT_DEVICE_SYNC;
    op.track = of_device ? ts__hip_device_track(me->device)
                         : ts__hip_call_track(call, me);
    if (op.kind == TS_EVENT_GPU_ALLOC) {
        if (a->result) memcpy(&op.u.memory.address, a->result, 8);
        op.u.memory.size = a->size;
        op.u.memory.memory = (uint32_t)call->api->known->memory << 4;
        if (!op.u.memory.address) return;
    } else if (op.kind == TS_EVENT_GPU_FREE) {
        op.u.memory.address = a->destination;
        if (!op.u.memory.address) return;
    } else if (op.kind == TS_EVENT_STREAM_SYNC) {
        op.u.event.id = a->stream;
    } else if (!of_device) {
        ts__hip_event_op(&op, a->event);
    }
    ts_gpu_op_record(&op);
}

// A capture that was spoilt is over too, though there is no graph.
static bool ts__hip_capture_ends(uint64_t result)
{
    enum { INVALIDATED = 901, UNJOINED = 904 }; // hipErrorStreamCapture...
    return !result || result == INVALIDATED || result == UNJOINED;
}

// The function that was entered last returns. result: 0 is success, or
// unknown.
static void ts__hip_leave(uint32_t number, uint64_t result)
{
    const uint64_t end = ts_tick_now();
    ts__hip_thread *const me = ts__hip_me;
    if (!me || !me->depth || number >= TS__HIP_APIS ||
        !ts__hip_apis[number].wanted)
        return;
    if (me->depth > TS__HIP_DEPTH) {
        me->depth--;
        return;
    }
    const ts__hip_call *const call = &me->calls[me->depth - 1];
    if (call->api != &ts__hip_apis[number]) return; // its begin was not seen
    me->depth--;
    const ts__hip_function *const known = call->api->known;
    if (call->api->name && ts_capture_kind(TS_EVENT_API_CALL)) {
        const ts_api_call record = { .name = call->api->name,
                                     .stack = call->origin.stack,
                                     .start = call->start,
                                     .end = end,
                                     .correlation = call->correlation,
                                     .result = result };
        ts_api_call_record(&record);
    }
    if (result && call->correlation) // there will be no kernel
        ts__notes_settle(&ts__hip.notes, call->correlation,
                         sizeof(ts__hip_note));
    if (known && known->role == TS__HIP_CAPTURE_END &&
        ts__hip_capture_ends(result) && TS__LOAD(&ts__hip.captures))
        __atomic_sub_fetch(&ts__hip.captures, 1, __ATOMIC_RELAXED);
    if (!known || result) return;
    if (known->role == TS__HIP_CAPTURE)
        __atomic_add_fetch(&ts__hip.captures, 1, __ATOMIC_RELAXED);
    if (known->role == TS__HIP_LAUNCH)
        __atomic_add_fetch(&ts__hip.launches, 1, __ATOMIC_RELAXED);
    if (known->role == TS__HIP_SET_DEVICE)
        me->device = (uint32_t)call->args.value;
    if (known->role == TS__HIP_STREAM_CREATE)
        ts__hip_made_put(call, me->device);
    else if (known->role >= TS__HIP_STREAM_SYNC)
        ts__hip_host_op(call, me, end);
}

/* ---- 4. Operations ------------------------------------------------------ */

typedef struct ts__hip_kernel {
    const char *name;
    uint32_t grid[3], block[3]; // all 0: as the call says
    bool in_items;              // the grid counts work items
    uint32_t registers, static_shared, dynamic_shared, local;
} ts__hip_kernel;

typedef struct ts__hip_record { // an operation as a way tells of it
    uint64_t correlation, start_ns, end_ns, queue;
    uint32_t device;
} ts__hip_record;

// The common part. False: nothing is to be recorded.
static bool ts__hip_op_begin(ts_gpu_op *op, ts__hip_note *note, bool *noted,
                             const ts__hip_record *r)
{
    memset(op, 0, sizeof *op);
    *noted =
        ts__notes_get(&ts__hip.notes, r->correlation, note, sizeof *note, true);
    if (!r->start_ns || !r->end_ns || r->end_ns < r->start_ns) {
        ts__hip_lose(!r->start_ns || !r->end_ns ? TS__HIP_ZERO_TIMES
                                                : TS__HIP_REVERSED,
                     1);
        return false;
    }
    if (!*noted) {
        memset(note, 0, sizeof *note);
        __atomic_add_fetch(&ts__hip.without_launch, 1, __ATOMIC_RELAXED);
    } else if (r->start_ns < note->start_ns) {
        __atomic_add_fetch(&ts__hip.before_launch, 1, __ATOMIC_RELAXED);
    }
    op->clock = TS__LOAD(&ts__hip.time.clock);
    op->start = r->start_ns;
    op->end = r->end_ns;
    op->correlation = *noted ? note->correlation : r->correlation;
    op->origin = note->origin;
    op->track = note->has_stream
                    ? ts__hip_stream_track(r->device, note->stream, false)
                    : ts__hip_stream_track(r->device, r->queue, true);
    return true;
}

static void ts__hip_op_end(const ts_gpu_op *op)
{
    if (ts_capture_kind(op->kind)) ts_gpu_op_record(op);
}

// Groups of a grid that counts work items: the last one may not be full.
static uint32_t ts__hip_groups(uint32_t items, uint32_t block)
{
    return block ? items / block + (items % block != 0) : items;
}

static bool ts__hip_begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

// Copies and sets may be kernels of the runtime: they are what was asked for.
static bool ts__hip_is_internal(const char *name, const ts__hip_note *note)
{
    return (note->role == TS__HIP_SET || note->role == TS__HIP_COPY) &&
           ts__hip_begins(name, "__amd_rocclr_");
}

static void ts__hip_fill_copy(ts_gpu_op *op, const ts__hip_note *note,
                              uint64_t size)
{
    // hipMemcpyKind: 0 h2h, 1 h2d, 2 d2h, 3 d2d, 4 by the addresses
    static const uint8_t types[] = { 4, 1, 2, 3, 0 };
    op->kind = TS_EVENT_MEMCPY;
    op->u.memcpy.size = size;
    op->u.memcpy.source = note->source;
    op->u.memcpy.destination = note->destination;
    if (note->role == TS__HIP_COPY && note->copy < sizeof types)
        op->u.memcpy.type = types[note->copy];
}

static void ts__hip_fill_set(ts_gpu_op *op, const ts__hip_note *note,
                             uint64_t size)
{
    op->kind = TS_EVENT_MEMSET;
    op->u.memset.size = size;
    op->u.memset.destination = note->destination;
    op->u.memset.value = note->value;
}

static void ts__hip_kernel_end(const ts__hip_record *r,
                               const ts__hip_kernel *kernel)
{
    ts_gpu_op op;
    ts__hip_note note;
    bool noted;
    __atomic_add_fetch(&ts__hip.kernels, 1, __ATOMIC_RELAXED);
    if (!ts__hip_op_begin(&op, &note, &noted, r)) return;
    const char *const name = kernel->name ? kernel->name : "(unknown kernel)";
    if (ts__hip_is_internal(name, &note)) {
        __atomic_sub_fetch(&ts__hip.kernels, 1, __ATOMIC_RELAXED);
        if (note.role == TS__HIP_SET)
            ts__hip_fill_set(&op, &note, note.size);
        else
            ts__hip_fill_copy(&op, &note, note.size);
        ts__hip_op_end(&op);
        return;
    }
    if (!ts_capture_name(name, strlen(name))) return;
    const bool told = kernel->grid[0] != 0;
    const bool in_items = told ? kernel->in_items : note.in_items;
    ts_gpu_launch_desc launch = { .name = name,
                                  .registers = kernel->registers,
                                  .static_shared = kernel->static_shared,
                                  .dynamic_shared = told
                                                        ? kernel->dynamic_shared
                                                        : note.shared,
                                  .local = kernel->local };
    for (int i = 0; i < 3; i++) {
        launch.grid[i] = told ? kernel->grid[i] : note.grid[i];
        launch.block[i] = told ? kernel->block[i] : note.block[i];
        if (in_items)
            launch.grid[i] = ts__hip_groups(launch.grid[i], launch.block[i]);
    }
    op.kind = TS_EVENT_KERNEL;
    op.u.kernel.launch = ts_gpu_launch_define(&launch);
    op.u.kernel.graph = note.graph;
    ts__hip_op_end(&op);
}

#endif // TS_HIP_CALLS_H
