/*
    ts_vdev.h - a virtual accelerator inside the process

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: none.
    Checked with:   Debian 12, x86-64, gcc 12 and clang 14, November 2026.

    WHAT IT DOES
        Devices with memory of their own, contexts, streams (blocking,
        non-blocking, with priorities, legacy default), events, copies, sets,
        host functions and launches of registered C functions over a grid of
        blocks. Each device has threads that run them for real, so work of
        different streams truly overlaps. All of it is reported through
        ts_gpu_* as a hardware backend would: it is the model to copy when
        you bring an accelerator (docs/backends.md). The machine itself is in
        vdev/machine.h, which must lie beside this file.

    WHAT IT DOES NOT DO
        It does not simulate a machine: a kernel takes the time that its C
        function takes on this processor. It does not follow fork: in the
        child every call gives TS_ERR_STATE. No graphs, no managed memory.

    USE
        #define TRACESMITH_VDEV_IMPLEMENTATION // in one C11 file
        #include "backends/ts_vdev.h"

        static void twice(const void *args, const ts_vdev_block *block)
        {
            float *const values = *(float *const *)args;
            values[block->index[0]] *= 2;
        }

        static ts_result run(ts_vdev *vdev, float *host)
        {
            const ts_vdev_kernel_desc desc = { .name = "twice",
                                               .function = twice,
                                               .args_size = sizeof(float *) };
            ts_vdev_kernel kernel;
            void *values;
            ts_vdev_kernel_register(&kernel, vdev, &desc);
            ts_vdev_malloc(&values, vdev, 0, 100 * sizeof(float));
            ts_vdev_memcpy_async(vdev, 0, values, host, 100 * sizeof(float));
            const ts_vdev_launch_desc launch = { .grid = { 100 },
                                                 .args = &values };
            ts_vdev_launch(vdev, 0, kernel, &launch);
            ts_vdev_memcpy_async(vdev, 0, host, values, 100 * sizeof(float));
            return ts_vdev_stream_synchronize(vdev, 0);
        }

    CONTENTS                            search for "==== 4." to jump
        1. Options
        2. Devices
        3. Memory
        4. Streams
        5. Events
        6. Kernels, copies, host functions
        7. Implementation               private
*/
// A file compiled with -std=c11 gets POSIX only if it asks for it.
#if defined(__STRICT_ANSI__) && !defined(_POSIX_C_SOURCE) && \
    !defined(_GNU_SOURCE) && !defined(_DEFAULT_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#ifndef TS_VDEV_H
#define TS_VDEV_H

#include "tracesmith.h"

/* ==== 1. Options ========================================================= */

/*
    TRACESMITH_VDEV_IMPLEMENTATION  in one C11 file: the functions
    TRACESMITH_VDEV                 the same, beside TRACESMITH_IMPLEMENTATION

    They need those of tracesmith.h, whether or not a session runs. Without
    one they record nothing; one may start and stop at any time.

    Threads: every function may be called from any thread at any time, except
             by kernels and host functions of the same vdev (TS_ERR_STATE).
    Errors:  of every function: TS_ERR_USAGE for a handle that is not, or no
             longer, alive or of another kind, and for a NULL output. A call
             that fails has done nothing.
*/

/* ==== 2. Devices ========================================================= */

typedef struct ts_vdev ts_vdev;

// Handles. Stream 0 is the legacy default stream of device 0.
typedef uint64_t ts_vdev_stream;
typedef uint64_t ts_vdev_event;
typedef uint64_t ts_vdev_kernel;

typedef struct ts_vdev_desc {
    uint32_t device_count TS__UNSET; // at most 64 (1)
    // threads of a device that run kernels (2)
    uint32_t compute_units TS__UNSET;
    // threads of a device that copy and set (1)
    uint32_t copy_engines TS__UNSET;
    // a stream holds so many; a call that adds one more waits (1024)
    uint32_t queue_ops TS__UNSET;
    uint64_t memory_bytes TS__UNSET; // of a device (256 MiB)
    uint32_t shared_bytes TS__UNSET; // most shared memory of a block (65536)
    const char *name TS__UNSET;      // of the devices, copied ("vdev")
    // addresses at which the devices' memory begins, pages of which
    // ts_vdev_malloc_at makes usable (NULL: anywhere)
    const uint64_t *memory_at TS__UNSET;
} ts_vdev_desc;

/*
    Makes devices, each with one context, and starts their threads. *vdev is
    NULL on failure.

    desc: NULL is all zeros.
    Errors: TS_ERR_MEMORY, also when a thread cannot be started.
*/
TS_API ts_result ts_vdev_open(ts_vdev **vdev, const ts_vdev_desc *desc);

// Waits for all work, then frees everything. NULL is allowed.
// Threads: after every other call with this vdev has returned.
TS_API ts_result ts_vdev_close(ts_vdev *vdev);

// Waits for all work that was submitted to a device before the call.
TS_API ts_result ts_vdev_device_synchronize(ts_vdev *vdev, uint32_t device);

/* ==== 3. Memory ========================================================== */

/*
    Takes memory of a device, aligned to 256 bytes and not initialised. Only
    kernels and copies should touch it, but the host can. *ptr is NULL on
    failure; 0 bytes are refused.

    Errors: TS_ERR_MEMORY. Free: ts_vdev_free, or ts_vdev_close.
*/
TS_API ts_result ts_vdev_malloc(void **ptr, ts_vdev *vdev, uint32_t device,
                                uint64_t size);

// The same at an address, for replays. Errors: TS_ERR_MEMORY when it is taken
// or is not in the device's memory.
TS_API ts_result ts_vdev_malloc_at(void *ptr, ts_vdev *vdev, uint32_t device,
                                   uint64_t size);

/*
    Says that kernels use a variable of the program, as a device has variables
    of its own. Nothing needs it but captures (ts_capture.h), which take it to
    be an input and output of every kernel of the same module.
*/
TS_API ts_result ts_vdev_global_register(ts_vdev *vdev, uint32_t device,
                                         void *ptr, uint64_t size);

// Waits for all work of the device first. NULL is allowed.
TS_API ts_result ts_vdev_free(ts_vdev *vdev, void *ptr);

// The device in whose memory ptr lies, -1 if it is host memory.
TS_API int32_t ts_vdev_pointer_device(const ts_vdev *vdev, const void *ptr);

/* ==== 4. Streams ========================================================= */

/*
    A stream runs its operations one after another; streams run beside each
    other, with two exceptions. An operation on a device's legacy default
    stream waits for what was submitted before it to the device's blocking
    streams; and what is submitted to those after it waits for it.
*/
typedef struct ts_vdev_stream_desc {
    uint32_t device TS__UNSET; // (0)
    // not tied to the legacy default stream (false)
    bool non_blocking TS__UNSET;
    int32_t priority TS__UNSET; // smaller goes first, -32768 to 32767 (0)
    const char *name TS__UNSET; // copied ("stream NUMBER")
} ts_vdev_stream_desc;

// desc: NULL is all zeros. Streams are numbered from 1, over all devices.
TS_API ts_result ts_vdev_stream_create(ts_vdev_stream *stream, ts_vdev *vdev,
                                       const ts_vdev_stream_desc *desc);
// Returns at once; work that is under way is finished. The legacy default
// stream cannot be destroyed.
TS_API ts_result ts_vdev_stream_destroy(ts_vdev *vdev, ts_vdev_stream stream);
// The device's legacy default stream.
TS_API ts_result ts_vdev_stream_default(ts_vdev_stream *stream, ts_vdev *vdev,
                                        uint32_t device);
// Waits for what was submitted to the stream before the call.
TS_API ts_result ts_vdev_stream_synchronize(ts_vdev *vdev,
                                            ts_vdev_stream stream);
// done: whether a synchronize would return at once.
TS_API ts_result ts_vdev_stream_query(bool *done, ts_vdev *vdev,
                                      ts_vdev_stream stream);

/* ==== 5. Events ========================================================== */

/*
    An event is reached when its most recent record is. A wait, on a stream
    of any device or on the host, is for the record that is the most recent
    at the time of the call: a later record does not move it, and there is
    nothing to wait for before the first one.
*/
TS_API ts_result ts_vdev_event_create(ts_vdev_event *event, ts_vdev *vdev);
// Returns at once; waits that are under way stay right.
TS_API ts_result ts_vdev_event_destroy(ts_vdev *vdev, ts_vdev_event event);
TS_API ts_result ts_vdev_event_record(ts_vdev *vdev, ts_vdev_event event,
                                      ts_vdev_stream stream);
// What is submitted to the stream after this call waits; the host does not.
TS_API ts_result ts_vdev_event_wait(ts_vdev *vdev, ts_vdev_event event,
                                    ts_vdev_stream stream);
TS_API ts_result ts_vdev_event_synchronize(ts_vdev *vdev, ts_vdev_event event);
TS_API ts_result ts_vdev_event_query(bool *done, ts_vdev *vdev,
                                     ts_vdev_event event);

/* ==== 6. Kernels, copies, host functions ================================= */

// What a kernel is told about the block that it is to compute.
typedef struct ts_vdev_block {
    uint32_t index[3]; // below `grid`
    uint32_t grid[3];  // blocks
    uint32_t size[3];  // threads of a block: the kernel loops over them
    void *shared;      // undefined contents, aligned to 64 bytes
    size_t shared_size;
} ts_vdev_block;

// args: the copy of the argument block that was made at the launch.
typedef void (*ts_vdev_function)(const void *args, const ts_vdev_block *block);

// A pointer in the argument block and what a launch does behind it.
typedef struct ts_vdev_role {
    uint32_t offset TS__UNSET; // in the argument block
    uint32_t mode TS__UNSET;   // TS_ACCESS_READ, TS_ACCESS_WRITE or both
    // bytes from the pointer on (0: somewhere in the allocation that it points
    // into)
    uint64_t size TS__UNSET;
} ts_vdev_role;

typedef struct ts_vdev_kernel_desc {
    const char *name TS__UNSET; // copied
    // blocks of a grid call it side by side
    ts_vdev_function function TS__UNSET;
    size_t args_size TS__UNSET;          // of the argument block, up to 4096
    uint32_t static_shared TS__UNSET;    // bytes that each block needs
    uint32_t role_count TS__UNSET;       // of roles (0)
    const ts_vdev_role *roles TS__UNSET; // for the trace, copied (NULL: none)
} ts_vdev_kernel_desc;

// A kernel stays registered until the vdev is closed.
TS_API ts_result ts_vdev_kernel_register(ts_vdev_kernel *kernel, ts_vdev *vdev,
                                         const ts_vdev_kernel_desc *desc);

// What a launch touches, for the trace.
typedef struct ts_vdev_access {
    const void *ptr TS__UNSET;
    uint64_t size TS__UNSET;
    uint32_t mode TS__UNSET; // TS_ACCESS_READ, TS_ACCESS_WRITE or both
} ts_vdev_access;

typedef struct ts_vdev_launch_desc {
    uint32_t grid[3] TS__UNSET;      // blocks, 2^32 - 1 together (each 0 is 1)
    uint32_t block[3] TS__UNSET;     // threads of a block (each 0 is 1)
    const void *args TS__UNSET;      // args_size bytes, copied
    uint32_t shared_bytes TS__UNSET; // beside the kernel's static_shared (0)
    uint32_t access_count TS__UNSET; // of accesses (0)
    // beside the kernel's roles (NULL: none)
    const ts_vdev_access *accesses TS__UNSET;
} ts_vdev_launch_desc;

// Errors: TS_ERR_USAGE when there are no args but the kernel has some, too
// many blocks or more shared memory than there is; TS_ERR_MEMORY.
TS_API ts_result ts_vdev_launch(ts_vdev *vdev, ts_vdev_stream stream,
                                ts_vdev_kernel kernel,
                                const ts_vdev_launch_desc *desc);

/*
    Copies between host and device, within a device, or between devices: the
    addresses tell. Host memory is used in place, when the copy runs: leave it
    alone until then. The form without _async returns when the copy is done.

    Errors: TS_ERR_USAGE when a range is not inside one live allocation of
            device memory although it touches such memory, or is NULL.
*/
TS_API ts_result ts_vdev_memcpy(ts_vdev *vdev, ts_vdev_stream stream,
                                void *destination, const void *source,
                                uint64_t size);
TS_API ts_result ts_vdev_memcpy_async(ts_vdev *vdev, ts_vdev_stream stream,
                                      void *destination, const void *source,
                                      uint64_t size);
// Sets each byte. Errors: as above; destination must be device memory.
TS_API ts_result ts_vdev_memset_async(ts_vdev *vdev, ts_vdev_stream stream,
                                      void *destination, uint8_t value,
                                      uint64_t size);

// Calls function(user) on a thread of the device when the stream gets there.
// name: for the trace, copied (NULL: none).
TS_API ts_result ts_vdev_host_function(ts_vdev *vdev, ts_vdev_stream stream,
                                       const char *name,
                                       void (*function)(void *user),
                                       void *user);

#endif // TS_VDEV_H

/* ==== 7. Implementation ================================================== */

#if !defined(TS__VDEV_IMPLEMENTED) && \
    (defined(TRACESMITH_VDEV_IMPLEMENTATION) || \
     (defined(TRACESMITH_VDEV) && defined(TRACESMITH_IMPLEMENTATION)))
#define TS__VDEV_IMPLEMENTED

#if defined(__cplusplus) || __STDC_VERSION__ < 201112L
#error "ts_vdev.h: the implementation is C11; give it a .c file"
#endif
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifndef SIG_SETMASK
#error "ts_vdev.h: define _POSIX_C_SOURCE 200809L before any #include"
#endif
#include "ts_capture.h"
#include "vdev/machine.h"

/* ---- 7.1 Calls ---------------------------------------------------------- */

typedef struct ts__vd_call { // a public function at work
    ts_vdev *v;
    const char *name;
    uint64_t start, correlation;
    ts_gpu_origin origin;
    ts_result result;
    bool turn; // has the device to itself, to capture what it does
} ts__vd_call;

// Not where waiting would never end: on a device's own threads, and in a
// child made by fork, which has none of these threads.
static bool ts__vd_usable(const ts_vdev *v)
{
    return v != ts__vd_inside && v->process == getpid();
}

// Takes the lock; if not, false, and call->result says why.
static bool ts__vd_enter(ts__vd_call *call, ts_vdev *v, const char *name)
{
    static uint64_t correlation; // of the process: vdevs share it
    memset(call, 0, sizeof *call);
    if (!v) call->result = TS_ERR_USAGE;
    if (v && !ts__vd_usable(v)) call->result = TS_ERR_STATE;
    if (call->result != TS_OK) return false;
    call->v = v;
    call->name = name;
    call->start = ts_tick_now();
    call->correlation = __atomic_add_fetch(&correlation, 1, __ATOMIC_RELAXED);
    call->origin = ts_gpu_origin_here();
    pthread_mutex_lock(&v->lock);
    return true;
}

// Reports the call: `result` there is 0, or the ts_result without its sign.
static ts_result ts__vd_leave(const ts__vd_call *call, ts_result result)
{
    if (call->turn) {
        call->v->capturing = false;
        pthread_cond_broadcast(&call->v->idle);
    }
    pthread_mutex_unlock(&call->v->lock);
    if (!call->origin.thread) return result; // nothing is being recorded
    ts_api_call record = { 0 };
    record.name = ts_name_define(call->name);
    record.start = call->start;
    record.end = ts_tick_now();
    record.correlation = call->correlation;
    record.result = (uint64_t)(0 - (int64_t)result);
    ts_api_call_record(&record);
    return result;
}

static ts__vd_stream *ts__vd_stream_find(const ts_vdev *v, uint64_t stream)
{
    if (!stream) return v->devices[0].legacy;
    return ts__vd_find(v, TS__VD_STREAM, stream);
}

// A default stream's track appears with its first use.
static uint32_t ts__vd_stream_track(ts__vd_stream *stream)
{
    if (!stream->track) {
        ts_gpu_stream_desc desc = { 0 };
        desc.name = "default stream";
        desc.context = stream->device->context;
        desc.flags = stream->flags;
        stream->track = ts_gpu_stream_define(&desc);
    }
    return stream->track;
}

// An operation with room for edges and arguments; NULL: out of memory.
static ts__vd_op *ts__vd_op_new(const ts__vd_call *call, ts_event_kind kind,
                                uint32_t track, size_t edges, size_t args_size)
{
    const size_t end = sizeof(ts__vd_op) + edges * sizeof(ts__vd_edge);
    const size_t args = (end + 63) & ~(size_t)63;
    const size_t size = (args + args_size + 63) & ~(size_t)63;
    ts__vd_op *const op = aligned_alloc(64, size);
    if (!op) return NULL;
    memset(op, 0, end);
    op->args = (char *)op + args;
    op->blocks = 1;
    op->report.kind = kind;
    op->report.track = track;
    op->report.correlation = call->correlation;
    op->report.origin = call->origin;
    op->report.queued = call->start;
    op->report.submitted = op->report.start = ts_tick_now();
    return op;
}

static void ts__vd_turn(ts__vd_call *call);

// The stream, once it has room; the lock is free until then. NULL: no such
// stream. Look other handles up after this.
static ts__vd_stream *ts__vd_stream_room(ts__vd_call *call, uint64_t handle)
{
    ts_vdev *const v = call->v;
    if (v->capturing || ts_capture_on()) ts__vd_turn(call);
    ts__vd_stream *stream = ts__vd_stream_find(v, handle);
    while (stream && stream->pending >= v->desc.queue_ops) {
        pthread_cond_wait(&v->room, &v->lock);
        stream = ts__vd_stream_find(v, handle);
    }
    return stream;
}

// Makes a stream's next operation. It waits for what section 4 says.
static ts__vd_op *ts__vd_stream_op(const ts__vd_call *call, ts_event_kind kind,
                                   ts__vd_stream *stream, size_t args_size)
{
    const ts__vd_device *const device = stream->device;
    const bool legacy = stream == device->legacy;
    size_t edges = 3; // stream, default stream, event
    for (ts__vd_stream *s = device->streams; legacy && s; s = s->next)
        edges++;
    ts__vd_op *const op = ts__vd_op_new(call, kind, ts__vd_stream_track(stream),
                                        edges, args_size);
    if (!op) return NULL;
    op->stream = stream;
    ts__vd_op_after(op, stream->last, true);
    if (!legacy && !(stream->flags & TS_STREAM_NON_BLOCKING))
        ts__vd_op_after(op, device->legacy->last, true);
    for (ts__vd_stream *s = device->streams; legacy && s; s = s->next) {
        if (s != stream && !(s->flags & TS_STREAM_NON_BLOCKING))
            ts__vd_op_after(op, s->last, true);
    }
    stream->last = op;
    stream->pending++;
    call->v->pending++;
    return op;
}

// Hands a complete operation over (NULL: there was no memory for it). It may
// be freed as soon as the lock is.
static ts_result ts__vd_submit(ts_vdev *v, ts__vd_op *op)
{
    if (!op) return TS_ERR_MEMORY;
    if (!op->waits && !ts__vd_op_start(op)) ts__vd_op_finish(v, op);
    return TS_OK;
}

// The same, and returns when it is over. The lock is free meanwhile.
static ts_result ts__vd_submit_and_wait(ts_vdev *v, ts__vd_op *op)
{
    if (!op) return TS_ERR_MEMORY;
    ts__vd_waiter waiter = { .done = false };
    pthread_cond_init(&waiter.wake, NULL);
    op->waiter = &waiter;
    ts__vd_submit(v, op);
    while (!waiter.done)
        pthread_cond_wait(&waiter.wake, &v->lock);
    pthread_cond_destroy(&waiter.wake);
    return TS_OK;
}

// Waits for one operation (NULL: none), reported as a sync of a kind.
static ts_result ts__vd_sync(const ts__vd_call *call, ts_event_kind kind,
                             uint32_t track, uint64_t id, ts__vd_op *last)
{
    ts__vd_op *const sync = ts__vd_op_new(call, kind, track, 1, 0);
    if (!sync) return TS_ERR_MEMORY;
    sync->report.u.event.id = id;
    ts__vd_op_after(sync, last, false);
    return ts__vd_submit_and_wait(call->v, sync);
}

// Waits for all that a device has to do now. kind 0 is not reported.
static ts_result ts__vd_sync_device(const ts__vd_call *call, int kind,
                                    const ts__vd_device *device)
{
    size_t edges = 0;
    for (ts__vd_stream *s = device->streams; s; s = s->next)
        edges++;
    ts__vd_op *const sync =
        ts__vd_op_new(call, (ts_event_kind)kind, device->track, edges, 0);
    if (!sync) return TS_ERR_MEMORY;
    for (ts__vd_stream *s = device->streams; s; s = s->next)
        ts__vd_op_after(sync, s->last, false);
    return ts__vd_submit_and_wait(call->v, sync);
}

/* ---- 7.2 Memory --------------------------------------------------------- */

#include "vdev/memory.h"
#include "vdev/untouched_pages.h"

/* ---- 7.3 Streams -------------------------------------------------------- */

ts_result ts_vdev_stream_create(ts_vdev_stream *stream, ts_vdev *vdev,
                                const ts_vdev_stream_desc *desc)
{
    const ts_vdev_stream_desc zero = { 0 };
    ts__vd_call call;
    if (stream) *stream = 0;
    if (!desc) desc = &zero;
    if (!ts__vd_enter(&call, vdev, "vdevStreamCreate")) return call.result;
    if (!stream || desc->device >= vdev->desc.device_count ||
        desc->priority != (int16_t)desc->priority)
        return ts__vd_leave(&call, TS_ERR_USAGE);
    ts__vd_stream *const s =
        ts__vd_stream_add(vdev, desc->device, desc->priority,
                          desc->non_blocking ? TS_STREAM_NON_BLOCKING : 0);
    if (!s) return ts__vd_leave(&call, TS_ERR_MEMORY);
    s->number = ++vdev->streams;
    const ts_gpu_stream_desc track = { desc->name, s->device->context,
                                       s->number, s->priority, s->flags };
    s->track = ts_gpu_stream_define(&track);
    *stream = s->handle;
    return ts__vd_leave(&call, TS_OK);
}

ts_result ts_vdev_stream_destroy(ts_vdev *vdev, ts_vdev_stream stream)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevStreamDestroy")) return call.result;
    ts__vd_stream *const s = ts__vd_stream_find(vdev, stream);
    if (!s || s == s->device->legacy) return ts__vd_leave(&call, TS_ERR_USAGE);
    ts__vd_remove(vdev, stream);
    s->destroyed = true;
    if (!s->pending) ts__vd_stream_free(s);
    pthread_cond_broadcast(&vdev->room); // who waits for room gives up
    return ts__vd_leave(&call, TS_OK);
}

ts_result ts_vdev_stream_default(ts_vdev_stream *stream, ts_vdev *vdev,
                                 uint32_t device)
{
    if (stream) *stream = 0;
    if (!stream || !vdev || device >= vdev->desc.device_count)
        return TS_ERR_USAGE;
    *stream = vdev->devices[device].legacy->handle;
    return TS_OK;
}

ts_result ts_vdev_stream_synchronize(ts_vdev *vdev, ts_vdev_stream stream)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevStreamSynchronize")) return call.result;
    ts__vd_stream *const s = ts__vd_stream_find(vdev, stream);
    if (!s) return ts__vd_leave(&call, TS_ERR_USAGE);
    const uint32_t track = ts__vd_stream_track(s);
    return ts__vd_leave(&call, ts__vd_sync(&call, TS_EVENT_STREAM_SYNC, track,
                                           s->number, s->last));
}

ts_result ts_vdev_stream_query(bool *done, ts_vdev *vdev, ts_vdev_stream stream)
{
    ts__vd_call call;
    if (done) *done = false;
    if (!ts__vd_enter(&call, vdev, "vdevStreamQuery")) return call.result;
    const ts__vd_stream *const s = ts__vd_stream_find(vdev, stream);
    if (!s || !done) return ts__vd_leave(&call, TS_ERR_USAGE);
    *done = !s->last;
    return ts__vd_leave(&call, TS_OK);
}

ts_result ts_vdev_device_synchronize(ts_vdev *vdev, uint32_t device)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevDeviceSynchronize")) return call.result;
    if (device >= vdev->desc.device_count)
        return ts__vd_leave(&call, TS_ERR_USAGE);
    return ts__vd_leave(&call, ts__vd_sync_device(&call, TS_EVENT_DEVICE_SYNC,
                                                  &vdev->devices[device]));
}

/* ---- 7.4 Events --------------------------------------------------------- */

ts_result ts_vdev_event_create(ts_vdev_event *event, ts_vdev *vdev)
{
    ts__vd_call call;
    if (event) *event = 0;
    if (!ts__vd_enter(&call, vdev, "vdevEventCreate")) return call.result;
    if (!event) return ts__vd_leave(&call, TS_ERR_USAGE);
    ts__vd_event *const e = ts__vd_add(vdev, TS__VD_EVENT, sizeof *e);
    if (!e) return ts__vd_leave(&call, TS_ERR_MEMORY);
    e->number = ++vdev->events;
    *event = e->handle;
    return ts__vd_leave(&call, TS_OK);
}

ts_result ts_vdev_event_destroy(ts_vdev *vdev, ts_vdev_event event)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevEventDestroy")) return call.result;
    ts__vd_event *const e = ts__vd_find(vdev, TS__VD_EVENT, event);
    if (!e) return ts__vd_leave(&call, TS_ERR_USAGE);
    ts__vd_remove(vdev, event);
    free(e);
    return ts__vd_leave(&call, TS_OK);
}

ts_result ts_vdev_event_record(ts_vdev *vdev, ts_vdev_event event,
                               ts_vdev_stream stream)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevEventRecord")) return call.result;
    ts__vd_stream *const s = ts__vd_stream_room(&call, stream);
    ts__vd_event *const e = ts__vd_find(vdev, TS__VD_EVENT, event);
    if (!s || !e) return ts__vd_leave(&call, TS_ERR_USAGE);
    ts__vd_op *const op = ts__vd_stream_op(&call, TS_EVENT_EVENT_RECORD, s, 0);
    if (!op) return ts__vd_leave(&call, TS_ERR_MEMORY);
    op->report.u.event.id = e->number;
    op->event = event;
    e->record = op;
    e->correlation = call.correlation;
    e->track = s->track;
    return ts__vd_leave(&call, ts__vd_submit(vdev, op));
}

ts_result ts_vdev_event_wait(ts_vdev *vdev, ts_vdev_event event,
                             ts_vdev_stream stream)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevStreamWaitEvent")) return call.result;
    ts__vd_stream *const s = ts__vd_stream_room(&call, stream);
    const ts__vd_event *const e = ts__vd_find(vdev, TS__VD_EVENT, event);
    if (!s || !e) return ts__vd_leave(&call, TS_ERR_USAGE);
    ts__vd_op *const op = ts__vd_stream_op(&call, TS_EVENT_EVENT_WAIT, s, 0);
    if (!op) return ts__vd_leave(&call, TS_ERR_MEMORY);
    op->report.u.event.id = e->number;
    op->report.u.event.record = e->correlation;
    ts__vd_op_after(op, e->record, false);
    return ts__vd_leave(&call, ts__vd_submit(vdev, op));
}

ts_result ts_vdev_event_synchronize(ts_vdev *vdev, ts_vdev_event event)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevEventSynchronize")) return call.result;
    const ts__vd_event *const e = ts__vd_find(vdev, TS__VD_EVENT, event);
    if (!e) return ts__vd_leave(&call, TS_ERR_USAGE);
    if (!e->correlation) return ts__vd_leave(&call, TS_OK); // never recorded
    return ts__vd_leave(&call, ts__vd_sync(&call, TS_EVENT_EVENT_SYNC, e->track,
                                           e->number, e->record));
}

ts_result ts_vdev_event_query(bool *done, ts_vdev *vdev, ts_vdev_event event)
{
    ts__vd_call call;
    if (done) *done = false;
    if (!ts__vd_enter(&call, vdev, "vdevEventQuery")) return call.result;
    const ts__vd_event *const e = ts__vd_find(vdev, TS__VD_EVENT, event);
    if (!e || !done) return ts__vd_leave(&call, TS_ERR_USAGE);
    *done = !e->record;
    return ts__vd_leave(&call, TS_OK);
}

/* ---- 7.5 Captures ------------------------------------------------------- */

#include "vdev/capture.h"

/* ---- 7.6 Kernels, copies, host functions -------------------------------- */

ts_result ts_vdev_kernel_register(ts_vdev_kernel *kernel, ts_vdev *vdev,
                                  const ts_vdev_kernel_desc *desc)
{
    ts__vd_call call;
    if (kernel) *kernel = 0;
    if (!ts__vd_enter(&call, vdev, "vdevKernelRegister")) return call.result;
    if (!kernel || !desc || !desc->name || !desc->function ||
        desc->args_size > 4096 || desc->static_shared > vdev->desc.shared_bytes)
        return ts__vd_leave(&call, TS_ERR_USAGE);
    const uint32_t roles = desc->roles ? desc->role_count : 0;
    for (uint32_t i = 0; i < roles; i++)
        if (desc->args_size < sizeof(void *) ||
            desc->roles[i].offset > desc->args_size - sizeof(void *))
            return ts__vd_leave(&call, TS_ERR_USAGE);
    const size_t name_size = strlen(desc->name) + 1;
    const size_t roles_size = roles * sizeof *desc->roles;
    ts__vd_kernel *const k =
        ts__vd_add(vdev, TS__VD_KERNEL, sizeof *k + roles_size + name_size);
    if (!k) return ts__vd_leave(&call, TS_ERR_MEMORY);
    if (roles) memcpy(k->roles, desc->roles, roles_size);
    k->role_count = roles;
    k->name = (char *)&k->roles[roles];
    memcpy(k->name, desc->name, name_size);
    k->function = desc->function;
    k->args_size = desc->args_size;
    k->launched.name = k->name;
    k->launched.static_shared = desc->static_shared;
    *kernel = k->handle;
    return ts__vd_leave(&call, TS_OK);
}

// Fills in a block's sizes. Returns the number of blocks, 0: too many.
static uint64_t ts__vd_grid(ts_vdev_block *block,
                            const ts_vdev_launch_desc *desc)
{
    uint64_t blocks = 1;
    memset(block, 0, sizeof *block);
    for (int i = 0; i < 3; i++) {
        block->grid[i] = desc->grid[i] ? desc->grid[i] : 1;
        block->size[i] = desc->block[i] ? desc->block[i] : 1;
        blocks *= block->grid[i];
        if (blocks > UINT32_MAX) return 0;
    }
    return blocks;
}

// The number of a launch configuration; most launches repeat the last one.
static uint32_t ts__vd_launch_number(ts__vd_kernel *k,
                                     const ts_vdev_block *block)
{
    ts_gpu_launch_desc desc = k->launched;
    memcpy(desc.grid, block->grid, sizeof desc.grid);
    memcpy(desc.block, block->size, sizeof desc.block);
    desc.dynamic_shared = (uint32_t)block->shared_size - desc.static_shared;
    if (!k->launch || memcmp(&desc, &k->launched, sizeof desc))
        k->launch = ts_gpu_launch_define(&desc);
    k->launched = desc;
    return k->launch;
}

static void ts__vd_report_role(const ts_vdev *v, const ts_vdev_role *role,
                               const char *args, ts_gpu_access *access)
{
    uint64_t address;
    memcpy(&address, args + role->offset, sizeof address);
    access->mode = role->mode;
    access->address = address;
    access->size = role->size;
    if (!role->size) {
        const ts__vd_device *const d = ts__vd_owner(v, ts__vd_pointer(address));
        const size_t at = d ? ts__vd_range_at(d, address) : SIZE_MAX;
        if (at == SIZE_MAX ||
            address - d->ranges[at].begin >= d->ranges[at].size)
            return; // not known
        access->mode |= TS_ACCESS_COARSE;
        access->address = d->ranges[at].begin;
        access->size = d->ranges[at].size;
    }
    ts_gpu_access_record(access);
}

// Tells the trace what a launch touches.
static void ts__vd_report_accesses(const ts_vdev *v, const ts__vd_kernel *k,
                                   const ts_vdev_launch_desc *desc,
                                   const ts__vd_op *op)
{
    ts_gpu_access access;
    memset(&access, 0, sizeof access);
    access.track = op->report.track;
    access.correlation = op->report.correlation;
    for (uint32_t i = 0; i < k->role_count; i++)
        ts__vd_report_role(v, &k->roles[i], (const char *)op->args, &access);
    for (uint32_t i = 0; desc->accesses && i < desc->access_count; i++) {
        access.address = (uintptr_t)desc->accesses[i].ptr;
        access.size = desc->accesses[i].size;
        access.mode = desc->accesses[i].mode;
        ts_gpu_access_record(&access);
    }
}

ts_result ts_vdev_launch(ts_vdev *vdev, ts_vdev_stream stream,
                         ts_vdev_kernel kernel, const ts_vdev_launch_desc *desc)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevLaunchKernel")) return call.result;
    ts__vd_stream *const s = ts__vd_stream_room(&call, stream);
    ts__vd_kernel *const k = ts__vd_find(vdev, TS__VD_KERNEL, kernel);
    if (!s || !k || !desc || (k->args_size && !desc->args))
        return ts__vd_leave(&call, TS_ERR_USAGE);
    ts_vdev_block block;
    const uint64_t blocks = ts__vd_grid(&block, desc);
    block.shared_size = (size_t)k->launched.static_shared + desc->shared_bytes;
    if (!blocks || block.shared_size > vdev->desc.shared_bytes)
        return ts__vd_leave(&call, TS_ERR_USAGE);
    ts__vd_op *const op =
        ts__vd_stream_op(&call, TS_EVENT_KERNEL, s, k->args_size);
    if (!op) return ts__vd_leave(&call, TS_ERR_MEMORY);
    if (k->args_size) memcpy(op->args, desc->args, k->args_size);
    op->function = k->function;
    op->block = block;
    op->blocks = blocks;
    op->report.u.kernel.launch = ts__vd_launch_number(k, &block);
    if (call.origin.thread) ts__vd_report_accesses(vdev, k, desc, op);
    return ts__vd_leave(&call, ts__vd_submit_seen(&call, op, k, false));
}

// The type of a copy, as the format numbers them.
static uint32_t ts__vd_memcpy_type(const ts__vd_device *to,
                                   const ts__vd_device *from)
{
    if (to && from) return to == from ? 3 : 5;
    if (to) return 1;
    return from ? 2 : 4;
}

static ts_result ts__vd_memcpy(ts__vd_call *call, uint64_t stream,
                               void *destination, const void *source,
                               uint64_t size, bool wait)
{
    ts_vdev *const v = call->v;
    ts__vd_stream *const s = ts__vd_stream_room(call, stream);
    ts__vd_device *to, *from;
    if (!s || !ts__vd_range_ok(v, destination, size, &to) ||
        !ts__vd_range_ok(v, source, size, &from))
        return TS_ERR_USAGE;
    ts__vd_op *const op = ts__vd_stream_op(call, TS_EVENT_MEMCPY, s, 0);
    if (!op) return TS_ERR_MEMORY;
    op->report.u.memcpy.type = ts__vd_memcpy_type(to, from);
    // Host memory is used in place, which real engines do with pinned memory
    // only, so this is what it is called.
    op->report.u.memcpy.memory = (from ? 3u : 2u) | (to ? 3u : 2u) << 4;
    op->report.u.memcpy.size = size;
    op->report.u.memcpy.source = (uintptr_t)source;
    op->report.u.memcpy.destination = (uintptr_t)destination;
    if (to && from && to != from)
        op->report.u.memcpy.peer = to == s->device ? from->track : to->track;
    return ts__vd_submit_seen(call, op, NULL, wait);
}

ts_result ts_vdev_memcpy(ts_vdev *vdev, ts_vdev_stream stream,
                         void *destination, const void *source, uint64_t size)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevMemcpy")) return call.result;
    return ts__vd_leave(
        &call, ts__vd_memcpy(&call, stream, destination, source, size, true));
}

ts_result ts_vdev_memcpy_async(ts_vdev *vdev, ts_vdev_stream stream,
                               void *destination, const void *source,
                               uint64_t size)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevMemcpyAsync")) return call.result;
    return ts__vd_leave(
        &call, ts__vd_memcpy(&call, stream, destination, source, size, false));
}

ts_result ts_vdev_memset_async(ts_vdev *vdev, ts_vdev_stream stream,
                               void *destination, uint8_t value, uint64_t size)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevMemsetAsync")) return call.result;
    ts__vd_stream *const s = ts__vd_stream_room(&call, stream);
    ts__vd_device *owner;
    if (!s || !ts__vd_range_ok(vdev, destination, size, &owner) || !owner)
        return ts__vd_leave(&call, TS_ERR_USAGE);
    ts__vd_op *const op = ts__vd_stream_op(&call, TS_EVENT_MEMSET, s, 0);
    if (!op) return ts__vd_leave(&call, TS_ERR_MEMORY);
    op->report.u.memset.size = size;
    op->report.u.memset.destination = (uintptr_t)destination;
    op->report.u.memset.value = value;
    return ts__vd_leave(&call, ts__vd_submit_seen(&call, op, NULL, false));
}

ts_result ts_vdev_host_function(ts_vdev *vdev, ts_vdev_stream stream,
                                const char *name, void (*function)(void *user),
                                void *user)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevLaunchHostFunc")) return call.result;
    ts__vd_stream *const s = ts__vd_stream_room(&call, stream);
    if (!s || !function) return ts__vd_leave(&call, TS_ERR_USAGE);
    ts__vd_op *const op = ts__vd_stream_op(&call, TS_EVENT_HOST_FUNCTION, s, 0);
    if (!op) return ts__vd_leave(&call, TS_ERR_MEMORY);
    op->host_function = function;
    op->args = user;
    op->report.u.host_function.address = (uintptr_t)function;
    if (name) op->report.u.host_function.name = ts_name_define(name);
    return ts__vd_leave(&call, ts__vd_submit_seen(&call, op, NULL, false));
}

/* ---- 7.7 Open and close ------------------------------------------------- */

static void ts__vd_defaults(ts_vdev_desc *d)
{
    if (!d->device_count) d->device_count = 1;
    if (!d->compute_units) d->compute_units = 2;
    if (!d->copy_engines) d->copy_engines = 1;
    if (!d->queue_ops) d->queue_ops = 1024;
    if (!d->memory_bytes) d->memory_bytes = 256u << 20;
    if (!d->shared_bytes) d->shared_bytes = 65536;
    if (!d->name) d->name = "vdev";
}

// Tells the trace about a device before anything runs on it.
static void ts__vd_device_define(const ts_vdev *v, uint32_t index)
{
    ts__vd_device *const device = &v->devices[index];
    const ts_gpu_device_desc desc = { v->desc.name, index, 0 };
    device->track = ts_gpu_device_define(&desc);
    ts_metadata_text(device->track, "vendor", "TraceSmith");
    ts_metadata_int(device->track, "memory_bytes",
                    (int64_t)v->desc.memory_bytes);
    ts_metadata_int(device->track, "multiprocessors", v->desc.compute_units);
    ts_metadata_int(device->track, "copy_engines", v->desc.copy_engines);
    const ts_gpu_context_desc context = { NULL, device->track, index + 1 };
    device->context = ts_gpu_context_define(&context);
}

ts_result ts_vdev_open(ts_vdev **vdev, const ts_vdev_desc *desc)
{
    if (!vdev) return TS_ERR_USAGE;
    *vdev = NULL;
    ts_vdev_desc d = { 0 };
    if (desc) d = *desc;
    ts__vd_defaults(&d);
    if (d.device_count > 64 || d.compute_units > 1024 ||
        d.copy_engines > 1024 || d.memory_bytes > (uint64_t)1 << 46 ||
        d.shared_bytes > 1u << 30)
        return TS_ERR_USAGE;
    d.memory_bytes = (d.memory_bytes + 4095) & ~(uint64_t)4095;
    d.shared_bytes = (d.shared_bytes + 63) & ~63u;
    ts_vdev *const v = calloc(1, sizeof *v);
    if (!v) return TS_ERR_MEMORY;
    v->desc = d;
    v->process = getpid();
    const ts_result result = ts__vd_machine_open(v);
    if (result != TS_OK) {
        ts__vd_machine_close(v);
        return result;
    }
    for (uint32_t i = 0; i < d.device_count; i++)
        ts__vd_device_define(v, i);
    v->desc.name = NULL; // the caller's
    v->desc.memory_at = NULL;
    *vdev = v;
    return TS_OK;
}

ts_result ts_vdev_close(ts_vdev *vdev)
{
    if (!vdev) return TS_OK;
    if (!ts__vd_usable(vdev)) return TS_ERR_STATE;
    ts__vd_machine_close(vdev);
    return TS_OK;
}

#endif // implementation
