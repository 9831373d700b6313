/*
    hip/calls.h - the calls of HIP, whichever interface reports them

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Which functions of HIP matter, where their arguments lie, and what is
    noted on the calling thread.

    CONTENTS                            search for "==== 2." to jump
        1. Functions
        2. Arguments
        3. Calls
*/
#ifndef TS__HIP_CALLS_H
#define TS__HIP_CALLS_H

#include "tracesmith.h"
#include "../ts_filter.h"
#include "../gpu/records.h"
#include "devices.h"
#include "state.h"
#include "streams.h"
#include "taker.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ==== 1. Functions ======================================================= */

typedef enum ts__hip_role {
    TS__HIP_CALL, // any call, without operation
    TS__HIP_LAUNCH,
    TS__HIP_GRAPH,
    TS__HIP_COPY,
    TS__HIP_SET,
    TS__HIP_CAPTURE, // launches on the stream become nodes of a graph
    TS__HIP_CAPTURE_END,
    TS__HIP_CONFIGURE, // sets the configuration for hipLaunchByPtr
    TS__HIP_STREAM_SYNC,
    TS__HIP_DEVICE_SYNC,
    TS__HIP_EVENT_SYNC,
    TS__HIP_EVENT_RECORD,
    TS__HIP_EVENT_WAIT,
    TS__HIP_ALLOC,
    TS__HIP_FREE,
    TS__HIP_STREAM_CREATE,
    TS__HIP_STREAM_DESTROY,
    TS__HIP_SET_DEVICE, // not recorded
    TS__HIP_OWN         // a call made by captures, not by the program
} ts__hip_role;

/*
    The arguments, one letter each, in the order of the prototype:

        f function         g grid in groups    w grid in work items
        b block            z LDS, size_t       u LDS, unsigned
        s stream           e event             p graph
        d destination      r source            n size, size_t
        k kind of a copy   v value, int        c h value, 8 and 16 bits
        a pointer to the result                A the same, for a stream
        l flags, unsigned  y priority, int     i ignored, int
        P ignored, a pointer to pointers       x ignored, size_t
        m rows of a memset, size_t

    Arguments after the last letter are not read. unit: bytes of an element; for
    copies without k, their kind; for launches, whether the arguments are in a
    structure or were set by earlier calls.
    Source: hip/hip_runtime_api.h.
*/
enum { TS__HIP_CONFIG = 1, TS__HIP_BEFORE = 2 };

typedef struct ts__hip_function {
    const char *name, *shape;
    uint8_t role, unit, memory;
} ts__hip_function;

static const ts__hip_function ts__hip_functions[] = {
    { "hipLaunchKernel", "fgbPzs", TS__HIP_LAUNCH, 0, 0 },
    { "hipExtLaunchKernel", "fgbPzs", TS__HIP_LAUNCH, 0, 0 },
    { "hipLaunchCooperativeKernel", "fgbPus", TS__HIP_LAUNCH, 0, 0 },
    { "hipModuleLaunchKernel", "fgbus", TS__HIP_LAUNCH, 0, 0 },
    { "hipLaunchKernelExC", "", TS__HIP_LAUNCH, TS__HIP_CONFIG, 0 },
    { "hipDrvLaunchKernelEx", "", TS__HIP_LAUNCH, TS__HIP_CONFIG, 0 },
    { "hipModuleLaunchCooperativeKernel", "fgbus", TS__HIP_LAUNCH, 0, 0 },
    { "hipExtModuleLaunchKernel", "fwbzs", TS__HIP_LAUNCH, 0, 0 },
    { "hipHccModuleLaunchKernel", "fwbzs", TS__HIP_LAUNCH, 0, 0 },
    { "hipConfigureCall", "gbzs", TS__HIP_CONFIGURE, 0, 0 },
    { "hipLaunchByPtr", "f", TS__HIP_LAUNCH, TS__HIP_BEFORE, 0 },
    { "hipGraphLaunch", "ps", TS__HIP_GRAPH, 0, 0 },
    { "hipMemcpy", "drnk", TS__HIP_COPY, 0, 0 },
    { "hipMemcpyAsync", "drnks", TS__HIP_COPY, 0, 0 },
    { "hipMemcpyWithStream", "drnks", TS__HIP_COPY, 0, 0 },
    { "hipMemcpyHtoD", "drn", TS__HIP_COPY, 1, 0 },
    { "hipMemcpyDtoH", "drn", TS__HIP_COPY, 2, 0 },
    { "hipMemcpyDtoD", "drn", TS__HIP_COPY, 3, 0 },
    { "hipMemcpyHtoDAsync", "drns", TS__HIP_COPY, 1, 0 },
    { "hipMemcpyDtoHAsync", "drns", TS__HIP_COPY, 2, 0 },
    { "hipMemcpyDtoDAsync", "drns", TS__HIP_COPY, 3, 0 },
    { "hipMemcpyPeer", "dirin", TS__HIP_COPY, 3, 0 },
    { "hipMemcpyPeerAsync", "dirins", TS__HIP_COPY, 3, 0 },
    { "hipMemcpy3D", "f", TS__HIP_COPY, 4, 0 },
    { "hipMemcpy3DAsync", "fs", TS__HIP_COPY, 4, 0 },
    { "hipMemcpyToSymbol", "frnxk", TS__HIP_COPY, 0, 0 },
    { "hipMemcpyToSymbolAsync", "frnxks", TS__HIP_COPY, 0, 0 },
    { "hipMemcpyFromSymbol", "dfnxk", TS__HIP_COPY, 0, 0 },
    { "hipMemcpyFromSymbolAsync", "dfnxks", TS__HIP_COPY, 0, 0 },
    { "hipMemset", "dvn", TS__HIP_SET, 1, 0 },
    { "hipMemsetAsync", "dvns", TS__HIP_SET, 1, 0 },
    { "hipMemsetD8", "dcn", TS__HIP_SET, 1, 0 },
    { "hipMemsetD8Async", "dcns", TS__HIP_SET, 1, 0 },
    { "hipMemsetD16", "dhn", TS__HIP_SET, 2, 0 },
    { "hipMemsetD16Async", "dhns", TS__HIP_SET, 2, 0 },
    { "hipMemsetD32", "dvn", TS__HIP_SET, 4, 0 },
    { "hipMemsetD32Async", "dvns", TS__HIP_SET, 4, 0 },
    { "hipMemset2D", "dxvnm", TS__HIP_SET, 1, 0 },
    { "hipMemset2DAsync", "dxvnms", TS__HIP_SET, 1, 0 },
    { "hipMemset3D", "dxxxvnmx", TS__HIP_SET, 1, 0 }, // of one slice
    { "hipMemset3DAsync", "dxxxvnmxs", TS__HIP_SET, 1, 0 },
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
    { "hipStreamDestroy", "s", TS__HIP_STREAM_DESTROY, 0, 0 },
    { "hipSetDevice", "v", TS__HIP_SET_DEVICE, 0, 0 },
};

// Calls that programs make all the time and that use no device; not recorded.
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

enum { TS__HIP_STEPS = 6 };

typedef struct ts__hip_step {
    uint8_t from, to, size; // in bytes; to: offset in ts__hip_args
} ts__hip_step;

typedef struct ts__hip_plan { // how the arguments of a function are read
    ts__hip_step steps[TS__HIP_STEPS];
    uint8_t count, copy;
    bool has_stream, in_items;
} ts__hip_plan;

typedef struct ts__hip_api {       // a function by its number in an interface
    const ts__hip_function *known; // NULL: only its name is known
    uint32_t name;                 // 0: not recorded
    uint32_t requested;
    // Without and with the values that pointers point to.
    ts__hip_plan plain, valued;
} ts__hip_api;

enum { TS__HIP_APIS = 1024 };
static ts__hip_api ts__hip_apis[TS__HIP_APIS]; // for the interface in use

static const ts__hip_function *ts__hip_function_find(const char *name)
{
    const size_t count = sizeof ts__hip_functions / sizeof *ts__hip_functions;
    for (size_t i = 0; i < count; i++)
        if (!strcmp(ts__hip_functions[i].name, name))
            return &ts__hip_functions[i];
    return NULL;
}

/* ==== 2. Arguments ======================================================= */

typedef struct ts__hip_args {
    bool has_stream, in_items; // first, so that no letter has offset 0
    uint64_t stream, event, graph;
    uint64_t destination, source, size, value, rows;
    const void *result; // address where the call stores a pointer or stream
    uint64_t function;
    uint32_t grid[3], block[3], shared, copy, flags;
    int32_t priority;
} ts__hip_args;

static size_t ts__hip_letter_size(char letter)
{
    if (strchr("gwb", letter)) return 12;
    if (strchr("ukvliy", letter)) return 4;
    return letter == 'c' ? 1 : letter == 'h' ? 2 : 8;
}

// Returns the offset of an argument in ts__hip_args; 0: not stored.
static size_t ts__hip_letter_place(char letter)
{
    switch (letter) {
    case 'f': return offsetof(ts__hip_args, function);
    case 'w':
    case 'g': return offsetof(ts__hip_args, grid);
    case 'b': return offsetof(ts__hip_args, block);
    case 'z': // the low half of size_t
    case 'u': return offsetof(ts__hip_args, shared);
    case 's': return offsetof(ts__hip_args, stream);
    case 'e': return offsetof(ts__hip_args, event);
    case 'p': return offsetof(ts__hip_args, graph);
    case 'd': return offsetof(ts__hip_args, destination);
    case 'r': return offsetof(ts__hip_args, source);
    case 'n': return offsetof(ts__hip_args, size);
    case 'm': return offsetof(ts__hip_args, rows);
    case 'k': return offsetof(ts__hip_args, copy);
    case 'v':
    case 'c':
    case 'h': return offsetof(ts__hip_args, value);
    case 'a':
    case 'A': return offsetof(ts__hip_args, result);
    case 'l': return offsetof(ts__hip_args, flags);
    case 'y': return offsetof(ts__hip_args, priority);
    default: return 0;
    }
}

// Adds a step. A step that is adjacent to the previous one in both structures
// is merged with it.
static void ts__hip_plan_step(ts__hip_plan *plan, size_t from, size_t to,
                              size_t size)
{
    if (plan->count) {
        ts__hip_step *const last = &plan->steps[plan->count - 1];
        const size_t both = last->size + size;
        if (last->from + last->size == (uint8_t)from &&
            last->to + last->size == (uint8_t)to &&
            (both == 16 || both == 20 || both == 24 || both == 32)) {
            last->size = (uint8_t)both;
            return;
        }
    }
    // Cannot happen: no shape has that many.
    if (plan->count == TS__HIP_STEPS) return;
    ts__hip_step *const step = &plan->steps[plan->count++];
    step->from = (uint8_t)from;
    step->to = (uint8_t)to;
    step->size = (uint8_t)size;
}

// Computes how the arguments of a function are read. They are laid out as in a
// struct. with_values: a pointer to a pointer is followed by the value it
// points to, as in hip_api_data_t.
static void ts__hip_plan_make(ts__hip_plan *plan, const ts__hip_function *known,
                              bool with_values)
{
    memset(plan, 0, sizeof *plan);
    if (!known) return;
    size_t at = 0;
    for (const char *letter = known->shape; *letter; letter++) {
        const size_t size = ts__hip_letter_size(*letter);
        const size_t align = size == 12 ? 4 : size;
        const size_t to = ts__hip_letter_place(*letter);
        at = (at + align - 1) & ~(align - 1);
        if (to) ts__hip_plan_step(plan, at, to, *letter == 'z' ? 4 : size);
        plan->in_items |= *letter == 'w';
        at += size;
        if (with_values && strchr("aAP", *letter)) at += 8;
    }
    // Functions without a stream argument use the default stream.
    plan->has_stream = known->role != TS__HIP_CALL;
    if (known->role == TS__HIP_COPY) plan->copy = known->unit;
}

// Reads a launch whose first argument is a structure and whose second is the
// function: grid and block are first in hipLaunchConfig_t and
// HIP_LAUNCH_CONFIG, shared memory at 24, the stream at 32.
static inline void ts__hip_config_read(ts__hip_args *a, const void *arguments)
{
    const char *const config = ts__read_text(arguments, 0);
    if (!config) return;
    memcpy(a->grid, config, sizeof a->grid);
    memcpy(a->block, config + 12, sizeof a->block);
    a->shared = ts__read32(config, 24);
    a->stream = ts__read64(config, 32);
    a->function = ts__read64(arguments, 8);
    a->has_stream = true;
}

static inline void ts__hip_args_read(ts__hip_args *a,
                                     const ts__hip_function *known,
                                     const ts__hip_plan *plan,
                                     const void *arguments)
{
    static const ts__hip_args none;
    *a = none;
    a->copy = plan->copy;
    if (!known || !arguments) return;
    for (uint32_t i = 0; i < plan->count; i++) {
        char *const to = (char *)a + plan->steps[i].to;
        const char *const from = (const char *)arguments + plan->steps[i].from;
        // Constant sizes, so that memcpy is inlined.
        switch (plan->steps[i].size) {
        case 1: memcpy(to, from, 1); break;
        case 2: memcpy(to, from, 2); break;
        case 4: memcpy(to, from, 4); break;
        case 8: memcpy(to, from, 8); break;
        case 12: memcpy(to, from, 12); break;
        case 16: memcpy(to, from, 16); break;
        case 20: memcpy(to, from, 20); break;
        case 24: memcpy(to, from, 24); break;
        default: memcpy(to, from, 32); break;
        }
    }
    a->has_stream = plan->has_stream;
    a->in_items = plan->in_items;
    if (known->role == TS__HIP_LAUNCH && known->unit == TS__HIP_CONFIG)
        ts__hip_config_read(a, arguments);
    if (known->role == TS__HIP_SET)
        a->size *= known->unit * (a->rows ? a->rows : 1);
}

// Registers the function with this number. Returns whether its calls are
// recorded.
static bool ts__hip_api_define(uint32_t number, const char *name)
{
    if (number >= TS__HIP_APIS || !name || !*name) return false;
    ts__hip_api *const api = &ts__hip_apis[number];
    for (size_t i = 0; i < sizeof ts__hip_denied / sizeof *ts__hip_denied; i++)
        if (!strcmp(ts__hip_denied[i], name)) return false;
    api->known = ts__hip_function_find(name);
    const bool quiet = api->known && api->known->role == TS__HIP_SET_DEVICE;
    api->name = quiet ? 0 : ts_name_define(name);
    api->requested = 1;
    ts__hip_plan_make(&api->plain, api->known, false);
    ts__hip_plan_make(&api->valued, api->known, true);
    return true;
}

/* ==== 3. Calls =========================================================== */

// The data that the records of a call need. With its head it fills one cache
// line.
typedef struct ts__hip_note {
    uint64_t stream;
    uint64_t tick; // when the call began
    ts_gpu_origin origin;
    // copy: for launches, whether a stream was being captured.
    uint8_t role, copy;
    bool has_stream, in_items;
    union {
        struct {
            uint32_t grid[3], shared;
            uint16_t block[3]; // a group has at most 1024 threads
            uint16_t function; // hash of the function's address; never 0
        } launch;
        struct {
            uint64_t size, destination;
            uint64_t source; // for memsets: the value
        } move;
        uint64_t graph;
        uint64_t words[3];
    } u;
} ts__hip_note;
_Static_assert(sizeof(ts__hip_note) + sizeof(ts__note_head) == 64, "a line");

typedef struct ts__hip_call {
    const ts__hip_api *api;
    uint64_t start, correlation;
    ts__hip_args args;
    ts_gpu_origin origin;
    bool captures; // a stream is being captured into a graph
} ts__hip_call;

enum { TS__HIP_DEPTH = 4 }; // nested calls

typedef struct ts__hip_thread {
    uint32_t depth, session;
    uint32_t device; // set by hipSetDevice
    bool has_stream; // the stream was reported by a record of its own
    uint64_t stream;
    ts__hip_call calls[TS__HIP_DEPTH];
    ts__hip_args before;         // parts of a launch that earlier calls set
    void *data;                  // data of the interface
    struct ts__hip_taker *taker; // NULL: this thread has delivered no records
} ts__hip_thread;

static TS__TLS ts__hip_thread *ts__hip_me;
static pthread_key_t ts__hip_key;
static pthread_once_t ts__hip_key_once = PTHREAD_ONCE_INIT;

static void ts__hip_taker_free(struct ts__hip_taker *taker);

static void ts__hip_thread_end(void *thread)
{
    ts__hip_thread *const me = (ts__hip_thread *)thread;
    ts__hip_me = NULL;
    ts__hip_taker_free(me->taker);
    free(me->data);
    free(me);
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

// Copies of unknown kind count as kind 4, hipMemcpyDefault.
static inline uint32_t ts__hip_copy_kind(uint32_t kind)
{
    return kind < 5 ? kind : 4;
}

// Composes a note of whole words, because writing parts to memory and reading
// them as words would cost more than everything else. Little-endian, as AMD's
// hosts are; in the order of ts__hip_note.
static void ts__hip_note_words(uint64_t words[7], const ts__hip_call *call,
                               uint32_t role)
{
    const ts__hip_args *const a = &call->args;
    const ts_gpu_origin *const o = &call->origin;
    const uint32_t copy =
        role == TS__HIP_LAUNCH ? call->captures : ts__hip_copy_kind(a->copy);
    words[0] = a->stream;
    words[1] = call->start;
    words[2] = o->thread | (uint64_t)o->site << 32;
    words[3] = o->stack | (uint64_t)role << 32 | (uint64_t)copy << 40 |
               (uint64_t)a->has_stream << 48 | (uint64_t)a->in_items << 56;
    if (role == TS__HIP_LAUNCH) {
        words[4] = a->grid[0] | (uint64_t)a->grid[1] << 32;
        words[5] = a->grid[2] | (uint64_t)a->shared << 32;
        words[6] = (a->block[0] & 0xFFFF) |
                   (uint64_t)(a->block[1] & 0xFFFF) << 16 |
                   (uint64_t)(a->block[2] & 0xFFFF) << 32 |
                   (a->function >> 4 | 1) << 48;
    } else if (role == TS__HIP_GRAPH) {
        words[4] = a->graph;
        words[5] = words[6] = 0;
    } else {
        words[4] = a->size;
        words[5] = a->destination;
        words[6] = role == TS__HIP_SET ? a->value : a->source;
    }
}

static void ts__hip_note_put(const ts__hip_call *call)
{
    uint64_t words[sizeof(ts__hip_note) / 8];
    const uint32_t role =
        call->api->known ? call->api->known->role : (uint32_t)TS__HIP_CALL;
    const bool waits = role == TS__HIP_LAUNCH && ts__hip.way->operations &&
                       !call->captures && ts_filter_kernels();
    ts__hip_note_words(words, call, role);
    ts__notes_put(&ts__hip.notes, call->correlation, words,
                  sizeof(ts__hip_note), waits);
}

// Handles the beginning of a HIP function on this thread. arguments: may be
// NULL (unknown).
static void ts__hip_enter(uint32_t number, uint64_t correlation,
                          const void *arguments, bool with_values)
{
    ts__hip_thread *const me = ts__hip_thread_get();
    if (!me || number >= TS__HIP_APIS || !ts__hip_apis[number].requested)
        return;
    const uint32_t session = TS__LOAD(&ts__hip.session);
    // Left over from the last session.
    if (me->session != session) me->depth = 0;
    me->session = session;
    if (me->depth++ >= TS__HIP_DEPTH) return;
    ts__hip_call *const call = &me->calls[me->depth - 1];
    call->api = &ts__hip_apis[number];
    call->correlation = correlation;
    ts__hip_args_read(&call->args, call->api->known,
                      with_values ? &call->api->valued : &call->api->plain,
                      arguments);
    const ts__hip_function *const known = call->api->known;
    if (known && known->role == TS__HIP_CONFIGURE) me->before = call->args;
    if (known && known->role == TS__HIP_LAUNCH &&
        known->unit == TS__HIP_BEFORE) {
        me->before.function = call->args.function;
        call->args = me->before;
    }
    if (me->has_stream && !call->args.has_stream) {
        call->args.has_stream = true;
        call->args.stream = me->stream;
    }
    call->origin = ts_gpu_origin_here();
    call->captures = TS__LOAD(&ts__hip.captures) != 0;
    call->start = ts_tick_now();
    if (correlation) ts__hip_note_put(call);
}

// Sets the stream of this thread's launch, which is reported separately from
// its arguments.
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

// Returns the track of a call's operations: its stream on its device.
static uint32_t ts__hip_call_track(const ts__hip_call *call,
                                   const ts__hip_thread *me)
{
    ts__hip_place place = { .handle = call->args.stream,
                            .tick = call->start,
                            .device = me->device };
    place.device = ts__hip_stream_device(&place);
    ts__hip_device_track(place.device); // defines the track if necessary
    return ts__hip_stream_track(&place);
}

static void ts__hip_made_put(const ts__hip_call *call, uint32_t device)
{
    ts__hip_place place = { .tick = call->start, .device = device };
    if (call->args.result)
        memcpy(&place.handle, call->args.result, sizeof place.handle);
    if (!ts__hip_is_default(place.handle))
        ts__hip_stream_made(&place, call->args.flags, call->args.priority);
}

typedef struct ts__hip_recorded { // the last record of an event
    uint64_t correlation, track;
} ts__hip_recorded;

// A wait for an event waits for its latest record before the wait.
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

// Writes the operations that are known without device records: synchronization,
// events, memory.
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
    if (!op.kind || !ts_filter_kind(op.kind)) return;
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

// Returns whether the capture of a stream has ended. An invalidated capture has
// ended too, although it gives no graph.
static bool ts__hip_capture_ends(uint64_t result)
{
    enum { INVALIDATED = 901, UNJOINED = 904 }; // hipErrorStreamCapture...
    return !result || result == INVALIDATED || result == UNJOINED;
}

// Handles the return of the function that was entered last. result: 0 is
// success or unknown.
static void ts__hip_leave(uint32_t number, uint64_t result)
{
    const uint64_t end = ts_tick_now();
    ts__hip_thread *const me = ts__hip_me;
    if (!me || !me->depth || number >= TS__HIP_APIS ||
        !ts__hip_apis[number].requested)
        return;
    if (me->depth > TS__HIP_DEPTH) {
        me->depth--;
        return;
    }
    const ts__hip_call *const call = &me->calls[me->depth - 1];
    // Its beginning was not seen.
    if (call->api != &ts__hip_apis[number]) return;
    me->depth--;
    const ts__hip_function *const known = call->api->known;
    if (call->api->name && ts_filter_kind(TS_EVENT_API_CALL)) {
        const ts_api_call record = { .name = call->api->name,
                                     .stack = call->origin.stack,
                                     .start = call->start,
                                     .end = end,
                                     .correlation = call->correlation,
                                     .result = result };
        ts_api_call_record(&record);
    }
    if (result && call->correlation) // a failed launch has no kernel
        ts__notes_settle(&ts__hip.notes, call->correlation,
                         sizeof(ts__hip_note));
    if (known && known->role == TS__HIP_CAPTURE_END &&
        ts__hip_capture_ends(result) && TS__LOAD(&ts__hip.captures))
        __atomic_sub_fetch(&ts__hip.captures, 1, __ATOMIC_RELAXED);
    if (!known || result) return;
    if (known->role == TS__HIP_CAPTURE)
        __atomic_add_fetch(&ts__hip.captures, 1, __ATOMIC_RELAXED);
    if (known->role == TS__HIP_LAUNCH)
        __atomic_add_fetch(call->captures ? &ts__hip.captured
                                          : &ts__hip.launches,
                           1, __ATOMIC_RELAXED);
    if (known->role == TS__HIP_SET_DEVICE)
        me->device = call->args.value < TS__HIP_DEVICES
                         ? (uint32_t)call->args.value
                         : TS__HIP_DEVICES - 1;
    if (known->role == TS__HIP_STREAM_CREATE)
        ts__hip_made_put(call, me->device);
    else if (known->role == TS__HIP_STREAM_DESTROY)
        ts__hip_stream_destroyed(call->args.stream, call->start);
    else if (known->role >= TS__HIP_STREAM_SYNC)
        ts__hip_host_op(call, me, end);
}

#endif // TS__HIP_CALLS_H
