/*
    ts_opencl.h - what OpenCL runs

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: libOpenCL, the loader that every vendor shares: ocl-icd or
                    Khronos'.
    Checked with:   PoCL 3.1 (OpenCL 3.0), ocl-icd 2.3.1 of Debian 12, and
                    Khronos' loader of August 2026, x86-64, November 2026. No
                    GPU yet.

    WHAT IT DOES
        Every command of a queue becomes a GPU operation with the times of its
        event: kernels with their launch configuration, copies, fills, maps,
        migrations, host functions, markers and barriers (event_record). Wait
        lists, barriers and user events become dependencies, waits of the host
        syncs, and calls API calls that are tied to what they launched.
        Buffers, images and SVM are allocations; arguments of kernels that are
        memory are accesses. Queues are given CL_QUEUE_PROFILING_ENABLE, which
        the program does not see. Commands are kept to be run again where
        ts_capture.h was asked to (docs/execution.md).

    WHAT IT DOES NOT DO
        Nothing of extensions (command buffers, unified memory, OpenGL), and
        nothing of a program that calls a driver without the loader. OpenCL
        tells no addresses: each buffer gets some of its own, from 2^56 on.
        Copies of a part of an image or of a rectangle tell how many bytes,
        not which.

    USE
        #define TRACESMITH_IMPLEMENTATION // in one C11 file of a program
        #define TRACESMITH_OPENCL         // that links with -lOpenCL
        #include "tracesmith.h"

        #include "backends/ts_opencl.h"

    CONTENTS                            search for "==== 2." to jump
        1. Options
        2. Layer
        3. Backend
        4. Implementation               private; goes on in ts_opencl_*.h,
                                        which must lie beside this file
*/
#if defined(TRACESMITH_OPENCL_IMPLEMENTATION) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE // before the first system header
#endif
#ifndef TS_OPENCL_H
#define TS_OPENCL_H

#include "tracesmith.h"

/* ==== 1. Options ========================================================= */

/*
    TRACESMITH_OPENCL_IMPLEMENTATION  in one C11 file: the functions
    TRACESMITH_OPENCL                 the same, beside
                                      TRACESMITH_IMPLEMENTATION, and this
                                      program's calls of OpenCL, also those of
                                      its libraries, go through them
*/

/* ==== 2. Layer =========================================================== */

/*
    What a loader asks of a layer that OPENCL_LAYERS names: an injected library
    exports four functions that call these, and must not be unloaded.
    Source: cl_layer.h of OpenCL 3.0: clGetLayerInfo, clInitLayer; since 2024
    also clInitLayerWithProperties, which has one argument more, always NULL,
    and clDeinitLayer.
*/
TS_API int32_t ts_opencl_layer_info(uint32_t what, size_t room, void *value,
                                    size_t *size);
// listen: false: calls pass through as if there were no layer.
TS_API int32_t ts_opencl_layer_init(uint32_t count, const void *const *target,
                                    uint32_t *count_out,
                                    const void *const **table, bool listen);
// The loader is being unloaded, and its drivers with it. Another may come.
TS_API void ts_opencl_layer_end(void);

/* ==== 3. Backend ========================================================= */

// Adds itself as soon as the program uses OpenCL. It collects what is under
// way when a session is flushed, and waits for it when one stops, up to 2 s.
extern const ts_backend ts_opencl_backend;

#endif // TS_OPENCL_H

/* ==== 4. Implementation ================================================== */

#if !defined(TS__OPENCL_IMPLEMENTED) && !defined(TRACESMITH_DISABLE) && \
    (defined(TRACESMITH_OPENCL_IMPLEMENTATION) || \
     (defined(TRACESMITH_OPENCL) && defined(TRACESMITH_IMPLEMENTATION)))
#define TS__OPENCL_IMPLEMENTED

#if defined(__cplusplus) || __STDC_VERSION__ < 201112L
#error "ts_opencl.h: the implementation is C11; give it a .c file"
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ts_filter.h"
#include "ts_capture.h"

#include "opencl/abi.h"

#include "opencl/objects.h"

#include "opencl/devices.h"

#include "opencl/in_flight.h"

/* ---- 4.6 Calls ---------------------------------------------------------- */

typedef struct ts__cl_call { // a function at work
    uint32_t function;
    bool on, blocking, missed; // missed: a command that cannot be reported
    bool moves;                // it may write memory that captures know
    bool gated;                // it waits for what the program has yet to do
    uint64_t start, correlation;
    ts_gpu_origin origin;
    ts__cl_queue *queue;
    ts__cl_command *command;  // NULL: none to report
    struct ts__cl_seen *seen; // NULL: no operations are kept
    uint32_t waits;
    const ts__cl_handle *list;
} ts__cl_call;

static void ts__cl_enter(ts__cl_call *call, uint32_t function)
{
    call->function = function;
    call->blocking = false;
    call->missed = false;
    call->moves = false;
    call->gated = false;
    call->queue = NULL;
    call->command = NULL;
    call->seen = NULL;
    call->on = ts__cl_on();
    if (!call->on) return;
    call->correlation = ts__cl_correlation();
    call->origin = ts_gpu_origin_here();
    call->start = ts_tick_now();
}

// "(blocking)" is part of the name: the host waits for what it launches.
static uint32_t ts__cl_function_name(const ts__cl_call *call)
{
    static uint32_t known[TS__CL_FUNCTIONS][2];
    static const char *const names[TS__CL_FUNCTIONS][2] = {
#define TS__X(place, type, name, params) { #name, #name " (blocking)" },
        TS__CL_HOOKED(TS__X)
#undef TS__X
    };
    return ts__name_once(&known[call->function][call->blocking],
                         names[call->function][call->blocking]);
}

static void ts__cl_leave(const ts__cl_call *call, int64_t result)
{
    if (!call->on || !ts_filter_kind(TS_EVENT_API_CALL)) return;
    ts_api_call record = { 0 };
    record.name = ts__cl_function_name(call);
    record.stack = call->origin.stack;
    record.start = call->start;
    record.end = ts_tick_now();
    record.correlation = call->correlation;
    record.result = (uint64_t)(result < 0 ? -result : result);
    ts_api_call_record(&record);
}

// A function that makes something; then: what is done with `made`.
#define TS__CL_MAKES(name, params, args, then) \
    static ts__cl_handle ts__cl_##name params \
    { \
        ts__cl_call call; \
        int32_t own = 0; \
        if (!error) error = &own; \
        ts__cl_enter(&call, TS__CL_##name); \
        ts__cl_handle const made = ts__cl.next.name args; \
        if (made && !TS__LOAD(&ts__cl.off)) then; \
        ts__cl_leave(&call, *error); \
        return made; \
    }

/* ---- 4.7 Queues --------------------------------------------------------- */

static ts__cl_queue *ts__cl_queue_new(ts__cl_entry *entry)
{
    ts__cl_queue *const q = (ts__cl_queue *)calloc(1, sizeof *q);
    if (!q) return NULL;
    q->handle = entry->handle;
    q->work_end = &q->work;
    pthread_mutex_init(&q->lock, NULL);
    ts__cl_cond_init(&q->looked);
    pthread_mutex_init(&q->order_lock, NULL);
    pthread_mutex_lock(&ts__cl.define);
    q->next = ts__cl.queues;
    ts__cl.queues = q;
    pthread_mutex_unlock(&ts__cl.define);
    ts__cl_set(entry, q);
    return q;
}

static void ts__cl_exit(void);

// Before what the driver does at the end of the process: its own functions
// for that are there by now, so that this one comes before them.
static void ts__cl_queue_first(void)
{
    atexit(ts__cl_exit);
}

// A queue that a program made; forced: with profiling that it did not want.
static void ts__cl_queue_define(ts__cl_handle handle, ts__cl_handle context,
                                ts__cl_handle device, uint64_t properties,
                                bool forced)
{
    ts__cl_entry *const e =
        handle ? ts__cl_entry_make(TS__CL_QUEUE, handle) : NULL;
    ts__cl_queue *q = e ? (ts__cl_queue *)e->data : NULL;
    if (!e || (!q && !(q = ts__cl_queue_new(e)))) return;
    ts__cl_queue_reap(q, true); // of the queue that had the handle before
    pthread_mutex_lock(&q->lock);
    q->refs = 0;
    pthread_mutex_unlock(&q->lock);
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ts__cl_queue_first);
    char name[48];
    q->device = ts__cl_device_get(device);
    q->number = ts__cl_number(TS__CL_QUEUE);
    q->in_order = !(properties & TS__CL_QUEUE_OUT_OF_ORDER);
    q->timed = q->device && properties & TS__CL_QUEUE_PROFILING;
    q->forced = forced;
    q->array_count = 0;
    q->barrier = q->next_barrier = 0;
    q->since_count = 0;
    snprintf(name, sizeof name, "queue %u", q->number);
    const ts_gpu_stream_desc desc = {
        name, ts__cl_context_track(context, q->device), q->number, 0,
        TS_STREAM_NON_BLOCKING | (q->in_order ? 0 : TS_STREAM_OUT_OF_ORDER)
    };
    q->track = ts_gpu_stream_define(&desc);
    if (!q->timed) __atomic_add_fetch(&ts__cl.refused, 1, __ATOMIC_RELAXED);
}

// One that was made by other means.
static ts__cl_queue *ts__cl_queue_meet(ts__cl_handle handle)
{
    ts__cl_handle context = NULL, device = NULL;
    uint64_t properties = 0;
    if (ts__cl.next.clGetCommandQueueInfo(handle, TS__CL_QUEUE_CONTEXT,
                                          sizeof context, &context, NULL) ||
        ts__cl.next.clGetCommandQueueInfo(handle, TS__CL_QUEUE_DEVICE,
                                          sizeof device, &device, NULL) ||
        ts__cl.next.clGetCommandQueueInfo(handle, TS__CL_QUEUE_PROPERTIES,
                                          sizeof properties, &properties, NULL))
        return NULL;
    ts__cl_queue_define(handle, context, device, properties, false);
    return (ts__cl_queue *)ts__cl_find(TS__CL_QUEUE, handle);
}

static ts__cl_queue *ts__cl_queue_get(ts__cl_handle handle)
{
    ts__cl_queue *const q = (ts__cl_queue *)ts__cl_find(TS__CL_QUEUE, handle);
    return q || !handle ? q : ts__cl_queue_meet(handle);
}

// The program has made it, and holds it from now on.
static void ts__cl_queue_made(ts__cl_handle handle)
{
    ts__cl_queue *const q = (ts__cl_queue *)ts__cl_find(TS__CL_QUEUE, handle);
    if (!q) return;
    pthread_mutex_lock(&q->lock);
    q->refs = 1;
    pthread_mutex_unlock(&q->lock);
}

static ts__cl_handle ts__cl_clCreateCommandQueue(ts__cl_handle context,
                                                 ts__cl_handle device,
                                                 uint64_t properties,
                                                 int32_t *error)
{
    ts__cl_call call;
    int32_t own = 0, *const result = error ? error : &own;
    uint64_t with = properties | TS__CL_QUEUE_PROFILING;
    ts__cl_enter(&call, TS__CL_clCreateCommandQueue);
    ts__cl_handle queue =
        ts__cl.next.clCreateCommandQueue(context, device, with, result);
    if (!queue && with != properties) {
        with = properties;
        queue = ts__cl.next.clCreateCommandQueue(context, device, with, result);
    }
    if (queue && !TS__LOAD(&ts__cl.off)) {
        ts__cl_queue_define(queue, context, device, with, with != properties);
        ts__cl_queue_made(queue);
    }
    ts__cl_leave(&call, *result);
    return queue;
}

// The list with profiling in it. Returns how many elements, with the zero at
// the end, the program's has; 0: it has no room, or nothing is to change.
static uint32_t ts__cl_properties(const uint64_t *given, uint64_t *with,
                                  uint64_t *properties)
{
    uint32_t count = 0;
    bool found = false;
    *properties = 0;
    for (; given && given[count]; count += 2) {
        if (count + 5 > 32) return 0;
        with[count] = given[count];
        with[count + 1] = given[count + 1];
        if (given[count] != TS__CL_QUEUE_PROPERTIES) continue;
        found = true;
        *properties = given[count + 1];
        with[count + 1] |= TS__CL_QUEUE_PROFILING;
    }
    if (!found) {
        with[count] = TS__CL_QUEUE_PROPERTIES;
        with[count + 1] = TS__CL_QUEUE_PROFILING;
    }
    with[count + (found ? 0 : 2)] = 0;
    return *properties & TS__CL_QUEUE_ON_DEVICE ? 0 : count + 1;
}

static ts__cl_handle
ts__cl_clCreateCommandQueueWithProperties(ts__cl_handle context,
                                          ts__cl_handle device,
                                          const uint64_t *given, int32_t *error)
{
    ts__cl_call call;
    int32_t own = 0, *const result = error ? error : &own;
    uint64_t with[32], properties;
    const uint32_t count = ts__cl_properties(given, with, &properties);
    ts__cl_enter(&call, TS__CL_clCreateCommandQueueWithProperties);
    ts__cl_handle queue = NULL;
    if (count)
        queue = ts__cl.next.clCreateCommandQueueWithProperties(context, device,
                                                               with, result);
    const bool forced = queue && !(properties & TS__CL_QUEUE_PROFILING);
    if (!queue)
        queue = ts__cl.next.clCreateCommandQueueWithProperties(context, device,
                                                               given, result);
    if (queue && !TS__LOAD(&ts__cl.off) &&
        !(properties & TS__CL_QUEUE_ON_DEVICE)) {
        if (forced) properties |= TS__CL_QUEUE_PROFILING;
        ts__cl_queue_define(queue, context, device, properties, forced);
        ts__cl_queue_made(queue);
        ts__cl_queue *const q =
            (ts__cl_queue *)ts__cl_find(TS__CL_QUEUE, queue);
        if (q && forced && given) {
            memcpy(q->array, given, count * sizeof *given);
            q->array_count = count;
        }
    }
    ts__cl_leave(&call, *result);
    return queue;
}

// The program sees the properties that it asked for.
static int32_t ts__cl_clGetCommandQueueInfo(ts__cl_handle queue, uint32_t what,
                                            size_t room, void *value,
                                            size_t *size)
{
    const ts__cl_queue *const q =
        (const ts__cl_queue *)ts__cl_find(TS__CL_QUEUE, queue);
    if (q && q->forced && what == TS__CL_QUEUE_PROPERTIES_ARRAY) {
        const size_t has = q->array_count * sizeof *q->array;
        const int32_t result =
            ts__cl.next.clGetCommandQueueInfo(queue, what, 0, NULL, NULL);
        if (result != TS__CL_SUCCESS) return result;
        if (value && room < has) return TS__CL_INVALID_VALUE;
        if (value) memcpy(value, q->array, has);
        if (size) *size = has;
        return TS__CL_SUCCESS;
    }
    const int32_t result =
        ts__cl.next.clGetCommandQueueInfo(queue, what, room, value, size);
    if (result == TS__CL_SUCCESS && value && q && q->forced &&
        what == TS__CL_QUEUE_PROPERTIES) {
        uint64_t properties;
        memcpy(&properties, value, sizeof properties);
        properties &= ~(uint64_t)TS__CL_QUEUE_PROFILING;
        memcpy(value, &properties, sizeof properties);
    }
    return result;
}

// Of OpenCL 1.0: profiling stays on, and is the program's or ours from now on.
static int32_t ts__cl_clSetCommandQueueProperty(ts__cl_handle queue,
                                                uint64_t properties,
                                                uint32_t enable, uint64_t *old)
{
    ts__cl_queue *const q = (ts__cl_queue *)ts__cl_find(TS__CL_QUEUE, queue);
    const bool forced = q && q->forced;
    const bool ours = q && q->timed && properties & TS__CL_QUEUE_PROFILING;
    const int32_t result = ts__cl.next.clSetCommandQueueProperty(
        queue, properties, ours && !enable ? 1 : enable, old);
    if (result != TS__CL_SUCCESS) return result;
    if (ours) q->forced = !enable;
    if (old && forced) *old &= ~(uint64_t)TS__CL_QUEUE_PROFILING;
    return result;
}

// Counts what the program holds, so that nobody asks for what is gone.
static void ts__cl_queue_count(ts__cl_queue *q, bool more)
{
    pthread_mutex_lock(&q->lock);
    if (q->refs) q->refs += more ? 1 : -1u;
    pthread_mutex_unlock(&q->lock);
}

static int32_t ts__cl_clRetainCommandQueue(ts__cl_handle queue)
{
    ts__cl_queue *const q = (ts__cl_queue *)ts__cl_find(TS__CL_QUEUE, queue);
    const int32_t result = ts__cl.next.clRetainCommandQueue(queue);
    if (q && result == TS__CL_SUCCESS) ts__cl_queue_count(q, true);
    return result;
}

static int32_t ts__cl_clReleaseCommandQueue(ts__cl_handle queue)
{
    ts__cl_queue *const q = (ts__cl_queue *)ts__cl_find(TS__CL_QUEUE, queue);
    if (q) ts__cl_queue_count(q, false);
    // What is done must not keep alive what it used.
    if (q && !TS__LOAD(&ts__cl.off)) ts__cl_queue_reap(q, true);
    return ts__cl.next.clReleaseCommandQueue(queue);
}

/* ---- 4.8 Memory --------------------------------------------------------- */

static void ts__cl_memory_event(const ts__cl_call *call, const ts__cl_memory *m,
                                ts_event_kind kind, uint32_t memory)
{
    if (!call->on || !m->track || !ts_filter_kind(kind)) return;
    ts_gpu_op op;
    memset(&op, 0, sizeof op);
    op.kind = kind;
    op.track = m->track;
    op.queued = call->start;
    op.submitted = op.start = op.end = ts_tick_now();
    op.correlation = call->correlation;
    op.origin = call->origin;
    op.u.memory.address = m->address;
    op.u.memory.size = m->size;
    op.u.memory.memory = memory << 4;
    ts_gpu_op_record(&op);
}

static void ts__cl_capture_freed(uint64_t address, uint64_t size);

// Called by the driver when it frees memory, on any thread: the program has
// let go of it, and so have the commands that used it.
static void ts__cl_memory_freed(ts__cl_handle handle, void *user)
{
    ts__cl_memory *const m = (ts__cl_memory *)user;
    ts__cl_entry *const e = ts__cl_entry_find(TS__CL_MEMORY, handle);
    if (TS__LOAD(&ts__cl.off)) return;
    m->gone = ts_tick_now();
    ts__cl_capture_freed(m->address, m->size);
    if (e) {
        pthread_mutex_t *const lock = ts__cl_lock_of(e);
        pthread_mutex_lock(lock);
        if (e->data == m) ts__cl_set(e, NULL);
        pthread_mutex_unlock(lock);
    }
    if (!TS__LOAD(&ts__here.gate)) {
        free(m);
        return;
    }
    m->next = __atomic_load_n(&ts__cl.gone, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&ts__cl.gone, &m->next, m, false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {}
    ts__cl_call_thread();
}

// By value, as another thread may free it. False: not known.
static bool ts__cl_memory_get(uint32_t kind, const void *handle,
                              ts__cl_memory *copy)
{
    const ts__cl_entry *const e =
        handle ? ts__cl_entry_find(kind, handle) : NULL;
    if (!e) return false;
    pthread_mutex_t *const lock = ts__cl_lock_of(e);
    pthread_mutex_lock(lock);
    const ts__cl_memory *const m = (const ts__cl_memory *)e->data;
    if (m) *copy = *m;
    pthread_mutex_unlock(lock);
    return m != NULL;
}

/*
    Addresses, which OpenCL does not tell: a range for each buffer, never used
    twice, with a gap behind it. Sub-buffers lie where they do in theirs.
*/
static uint64_t ts__cl_address_new(uint64_t size)
{
    const uint64_t room = (size + 8191) & ~UINT64_C(4095);
    return __atomic_fetch_add(&ts__cl.address, room, __ATOMIC_RELAXED);
}

static void ts__cl_image_measure(ts__cl_memory *m)
{
    size_t element = 0, width = 0, height = 0;
    ts__cl.next.clGetImageInfo(m->handle, TS__CL_IMAGE_ELEMENT_SIZE,
                               sizeof element, &element, NULL);
    ts__cl.next.clGetImageInfo(m->handle, TS__CL_IMAGE_WIDTH, sizeof width,
                               &width, NULL);
    ts__cl.next.clGetImageInfo(m->handle, TS__CL_IMAGE_HEIGHT, sizeof height,
                               &height, NULL);
    m->element = element;
    m->row = element * width;
    m->plane = m->row * (height ? height : 1);
}

static uint32_t ts__cl_mode_of(uint64_t flags)
{
    if (flags & TS__CL_MEM_READ_ONLY) return TS_ACCESS_READ;
    if (flags & TS__CL_MEM_WRITE_ONLY) return TS_ACCESS_WRITE;
    return TS_ACCESS_READ | TS_ACCESS_WRITE;
}

static ts__cl_memory *ts__cl_memory_keep(uint32_t kind, ts__cl_handle handle)
{
    ts__cl_entry *const e = ts__cl_entry_make(kind, handle);
    ts__cl_memory *const m = e ? (ts__cl_memory *)calloc(1, sizeof *m) : NULL;
    if (!m) return NULL;
    m->handle = handle;
    return m;
}

static void ts__cl_memory_set(uint32_t kind, ts__cl_memory *m)
{
    ts__cl_entry *const e = ts__cl_entry_find(kind, m->handle);
    pthread_mutex_t *const lock = ts__cl_lock_of(e);
    pthread_mutex_lock(lock);
    // One that is there still belongs to its callback, or was never freed.
    ts__cl_set(e, m);
    pthread_mutex_unlock(lock);
}

// Whether it lies in memory of another object, where then its address is.
static bool ts__cl_memory_within(ts__cl_memory *m)
{
    ts__cl_handle whole = NULL;
    ts__cl_memory parent;
    size_t origin = 0;
    ts__cl.next.clGetMemObjectInfo(m->handle, TS__CL_MEM_ASSOCIATED_MEMOBJECT,
                                   sizeof whole, &whole, NULL);
    if (!whole || !ts__cl_memory_get(TS__CL_MEMORY, whole, &parent))
        return whole != NULL;
    ts__cl.next.clGetMemObjectInfo(m->handle, TS__CL_MEM_OFFSET, sizeof origin,
                                   &origin, NULL);
    m->address = parent.address + origin;
    return true;
}

// A buffer, a part of one, or an image was made.
static void ts__cl_memory_new(const ts__cl_call *call, ts__cl_handle handle,
                              ts__cl_handle context, bool image)
{
    ts__cl_memory *const m = ts__cl_memory_keep(TS__CL_MEMORY, handle);
    size_t size = 0;
    uint64_t flags = 0;
    if (!m) return;
    ts__cl.next.clGetMemObjectInfo(handle, TS__CL_MEM_SIZE, sizeof size, &size,
                                   NULL);
    ts__cl.next.clGetMemObjectInfo(handle, TS__CL_MEM_FLAGS, sizeof flags,
                                   &flags, NULL);
    m->size = size;
    m->mode = ts__cl_mode_of(flags);
    const bool within = ts__cl_memory_within(m);
    if (!m->address) m->address = ts__cl_address_new(m->size);
    if (image) ts__cl_image_measure(m);
    // No allocation of its own: the whole's is there, or was not recorded.
    if (!within && call->on) m->track = ts__cl_context_memory(context);
    ts__cl_memory_set(TS__CL_MEMORY, m);
    const uint32_t host = TS__CL_MEM_USE_HOST_PTR | TS__CL_MEM_ALLOC_HOST_PTR;
    ts__cl_memory_event(call, m, TS_EVENT_GPU_ALLOC, flags & host ? 2 : 3);
    if (ts__cl.next.clSetMemObjectDestructorCallback)
        ts__cl.next.clSetMemObjectDestructorCallback(handle,
                                                     ts__cl_memory_freed, m);
}

TS__CL_MAKES(clCreateBuffer,
             (ts__cl_handle context, uint64_t flags, size_t size, void *host,
              int32_t *error),
             (context, flags, size, host, error),
             ts__cl_memory_new(&call, made, context, false))
TS__CL_MAKES(clCreateBufferWithProperties,
             (ts__cl_handle context, const uint64_t *properties, uint64_t flags,
              size_t size, void *host, int32_t *error),
             (context, properties, flags, size, host, error),
             ts__cl_memory_new(&call, made, context, false))
TS__CL_MAKES(clCreateSubBuffer,
             (ts__cl_handle buffer, uint64_t flags, uint32_t type,
              const void *about, int32_t *error),
             (buffer, flags, type, about, error),
             ts__cl_memory_new(&call, made, NULL, false))
TS__CL_MAKES(clCreateImage,
             (ts__cl_handle context, uint64_t flags, const void *format,
              const void *desc, void *host, int32_t *error),
             (context, flags, format, desc, host, error),
             ts__cl_memory_new(&call, made, context, true))
TS__CL_MAKES(clCreateImageWithProperties,
             (ts__cl_handle context, const uint64_t *properties, uint64_t flags,
              const void *format, const void *desc, void *host, int32_t *error),
             (context, properties, flags, format, desc, host, error),
             ts__cl_memory_new(&call, made, context, true))
TS__CL_MAKES(clCreateImage2D,
             (ts__cl_handle context, uint64_t flags, const void *format,
              size_t width, size_t height, size_t pitch, void *host,
              int32_t *error),
             (context, flags, format, width, height, pitch, host, error),
             ts__cl_memory_new(&call, made, context, true))
TS__CL_MAKES(clCreateImage3D,
             (ts__cl_handle context, uint64_t flags, const void *format,
              size_t width, size_t height, size_t depth, size_t pitch,
              size_t slice, void *host, int32_t *error),
             (context, flags, format, width, height, depth, pitch, slice, host,
              error),
             ts__cl_memory_new(&call, made, context, true))
TS__CL_MAKES(clCreatePipe,
             (ts__cl_handle context, uint64_t flags, uint32_t packet_size,
              uint32_t packets, const intptr_t *properties, int32_t *error),
             (context, flags, packet_size, packets, properties, error),
             ts__cl_memory_new(&call, made, context, false))

static void *ts__cl_clSVMAlloc(ts__cl_handle context, uint64_t flags,
                               size_t size, uint32_t alignment)
{
    ts__cl_call call;
    ts__cl_enter(&call, TS__CL_clSVMAlloc);
    void *const made = ts__cl.next.clSVMAlloc(context, flags, size, alignment);
    ts__cl_memory *const m = made && !TS__LOAD(&ts__cl.off)
                                 ? ts__cl_memory_keep(TS__CL_SVM, made)
                                 : NULL;
    if (m) {
        m->size = size;
        m->mode = ts__cl_mode_of(flags);
        m->address = (uint64_t)(uintptr_t)made;
        if (call.on) m->track = ts__cl_context_memory(context);
        ts__cl_memory_set(TS__CL_SVM, m);
        ts__cl_memory_event(&call, m, TS_EVENT_GPU_ALLOC, 4);
    }
    ts__cl_leave(&call, made ? 0 : -1);
    return made;
}

// Takes it out of the table: its address may be used again.
static ts__cl_memory *ts__cl_svm_take(const void *memory)
{
    const ts__cl_entry *const e = ts__cl_entry_find(TS__CL_SVM, memory);
    if (!e) return NULL;
    pthread_mutex_t *const lock = ts__cl_lock_of(e);
    pthread_mutex_lock(lock);
    ts__cl_memory *const m = (ts__cl_memory *)e->data;
    __atomic_store_n(&((ts__cl_entry *)(uintptr_t)e)->data, NULL,
                     __ATOMIC_RELEASE);
    pthread_mutex_unlock(lock);
    return m;
}

static void ts__cl_clSVMFree(ts__cl_handle context, void *memory)
{
    ts__cl_call call;
    ts__cl_enter(&call, TS__CL_clSVMFree);
    ts__cl_memory *const m = memory ? ts__cl_svm_take(memory) : NULL;
    // Once the driver has it, another thread may be given the address.
    if (m) ts__cl_memory_event(&call, m, TS_EVENT_GPU_FREE, 4);
    ts__cl.next.clSVMFree(context, memory);
    free(m);
    ts__cl_leave(&call, 0);
}

#include "opencl/capture.h"

#include "opencl/commands.h"

#include "opencl/capture_copies.h"

#include "opencl/copies.h"

#include "opencl/kernels.h"

/* ---- 4.15 Backend ------------------------------------------------------- */

static ts_result ts__cl_start(char *why, size_t room)
{
    (void)why, (void)room;
    return TS_OK;
}

static void ts__cl_flush(void)
{
    if (!TS__LOAD(&ts__cl.off)) ts__cl_reap(true, TS__CL_PATIENCE_MS);
}

static void ts__cl_stop(void)
{
    if (TS__LOAD(&ts__cl.off)) return;
    TS__STORE(&ts__cl.closing, TS__LOAD(&ts__here.gate));
    ts__cl_thread_stop();
    ts__cl_collect();
    ts__cl_devices_tell();
    const uint64_t launches =
        __atomic_exchange_n(&ts__cl.launches, 0, __ATOMIC_RELAXED);
    if (launches) ts_metadata_int(0, "opencl.launches", (int64_t)launches);
    const uint32_t refused = TS__LOAD(&ts__cl.refused);
    if (refused) ts_metadata_int(0, "opencl.queues_without_times", refused);
}

const ts_backend ts_opencl_backend = { "opencl", ts__cl_start, ts__cl_flush,
                                       ts__cl_stop };

// A child made by fork has none of the driver's threads: OpenCL is of no use
// to it, and what it does is not recorded.
static void ts__cl_child(void)
{
    ts__cl.off = 1;
    ts__cl.runs = 0;
}

// Before the driver's own functions for the end of the process, which were
// there before this one.
static void ts__cl_exit(void)
{
    ts__cl_stop();
    TS__STORE(&ts__cl.off, 1);
}

static void ts__cl_listen(void)
{
    for (int i = 0; i < TS__CL_LOCKS; i++)
        pthread_mutex_init(&ts__cl.locks[i], NULL);
    ts__cl_capture_once();
    pthread_atfork(NULL, NULL, ts__cl_child);
    ts_backend_add(&ts_opencl_backend);
}

static void ts__cl_listen_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ts__cl_listen);
    if (TS__LOAD(&ts__cl.off) != TS__CL_UNLOADED) return;
    TS__STORE(&ts__cl.closing, 0);
    TS__STORE(&ts__cl.off, 0);
}

int32_t ts_opencl_layer_info(uint32_t what, size_t room, void *value,
                             size_t *size)
{
    static const char name[] = "TraceSmith";
    const uint32_t version = TS__CL_LAYER_API_VERSION_100;
    const void *from = NULL;
    size_t has = 0;
    if (what == TS__CL_LAYER_API_VERSION) from = &version, has = sizeof version;
    if (what == TS__CL_LAYER_NAME) from = name, has = sizeof name;
    if (!from || (value && room < has)) return TS__CL_INVALID_VALUE;
    if (value) memcpy(value, from, has);
    if (size) *size = has;
    return TS__CL_SUCCESS;
}

enum { TS__CL_TABLE = 256 }; // of functions, as loaders have them

// Reads the loader's table, and puts our functions into a copy of it.
int32_t ts_opencl_layer_init(uint32_t count, const void *const *target,
                             uint32_t *count_out, const void *const **table,
                             bool listen)
{
    static const void *ours[TS__CL_TABLE];
    if (!target || !count_out || !table) return TS__CL_INVALID_VALUE;
    if (count > TS__CL_TABLE) count = TS__CL_TABLE;
    memcpy(ours, target, count * sizeof *ours);
    *count_out = count;
    *table = ours;
    if (!listen) return TS__CL_SUCCESS;
#define TS__X(place, type, name, params) \
    if (place < count) \
        memcpy(&ts__cl.next.name, &target[place], sizeof(void *));
    TS__CL_HOOKED(TS__X)
    TS__CL_ASKED(TS__X)
#undef TS__X
#define TS__X(place, type, name, params) \
    if (place < count && target[place]) { \
        type(*const function) params = ts__cl_##name; \
        memcpy(&ours[place], &function, sizeof function); \
    }
    TS__CL_HOOKED(TS__X)
#undef TS__X
    ts__cl_listen_once();
    return TS__CL_SUCCESS;
}

// Commands that have not ended never will: their driver goes.
void ts_opencl_layer_end(void)
{
    if (TS__LOAD(&ts__cl.off)) return;
    ts__cl_stop();
    TS__STORE(&ts__cl.off, TS__CL_UNLOADED);
    ts__cl_hash_end();
    pthread_mutex_lock(&ts__cl_cap.lock);
    ts__cl_cap.event_count = ts__cl_cap.followed_count = 0;
    ts__cl_cap.mapped_count = 0;
    pthread_mutex_unlock(&ts__cl_cap.lock);
    for (ts__cl_queue *q = ts__cl.queues; q; q = q->next) {
        pthread_mutex_lock(&q->lock);
        q->refs = 0;
        pthread_mutex_unlock(&q->lock);
        if (!ts__cl_look_at(q, TS__CL_PATIENCE_MS)) continue;
        ts__cl_queue_take(q);
        while (q->work) {
            ts__cl_command *const c = q->work;
            q->work = c->next;
            __atomic_sub_fetch(&q->under_way, 1, __ATOMIC_RELAXED);
            if (!c->lost)
                __atomic_sub_fetch(&ts__cl.pending, 1, __ATOMIC_RELAXED);
            ts__cl_command_free(c);
        }
        q->work_end = &q->work;
        ts__cl_looked(q);
    }
}

/* ---- 4.16 A program with this inside ------------------------------------ */

#ifdef TRACESMITH_OPENCL
/*
    The loader's names, defined here: the program and its libraries call these,
    and these the loader's. By other names in C, as the program may include
    CL/cl.h, whose types are others. A program that gets the functions by
    dlsym from a handle of its own passes by; OPENCL_LAYERS helps there.
*/
#define TS__X(place, type, name, params) \
    extern __typeof__(ts__cl_##name) ts__cl_export_##name __asm__(#name) \
        __attribute__((alias("ts__cl_" #name), visibility("default")));
TS__CL_HOOKED(TS__X)
#undef TS__X

__attribute__((constructor(101))) static void ts__cl_claim(void)
{
    void *found;
#define TS__X(place, type, name, params) \
    found = dlsym(RTLD_NEXT, #name); \
    memcpy(&ts__cl.next.name, &found, sizeof found);
    TS__CL_HOOKED(TS__X)
    TS__CL_ASKED(TS__X)
#undef TS__X
    if (ts__cl.next.clCreateContext) ts__cl_listen_once();
}
#endif

#endif // implementation
