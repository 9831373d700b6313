/*
    vdev/calls.h - what every public function of ts_vdev.h does first and
    last

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    A call is entered, submits operations to streams, and is left: then it
    is recorded.
*/
#ifndef TS__VDEV_CALLS_H
#define TS__VDEV_CALLS_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "../capture/memory.h"
#include "machine.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct ts__vd_call { // a call of a public function in progress
    ts_vdev *v;
    const char *name;
    uint64_t start, correlation;
    ts_gpu_origin origin;
    ts_result result;
    bool exclusive; // this call has exclusive use of the device for a capture
} ts__vd_call;

// Returns whether the calling thread may use the vdev. Its own threads may not,
// because they would wait forever, nor may a child process after fork(), which
// does not have these threads.
static bool ts__vd_usable(const ts_vdev *v)
{
    return v != ts__vd_inside && v->process == getpid();
}

// Takes the lock. Returns false with the reason in call->result.
static bool ts__vd_enter(ts__vd_call *call, ts_vdev *v, const char *name)
{
    static uint64_t correlation; // shared by all vdevs of the process
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

// Leaves and records the call. Its recorded result is 0 or the negated
// ts_result.
static ts_result ts__vd_leave(const ts__vd_call *call, ts_result result)
{
    if (call->exclusive) {
        call->v->capturing = false;
        pthread_cond_broadcast(&call->v->idle);
    }
    pthread_mutex_unlock(&call->v->lock);
    if (!call->origin.thread) return result; // no session is active
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

// The track of a default stream is defined at its first use.
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

// Allocates an operation with room for edges and arguments. Returns NULL if out
// of memory.
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

// Waits until no other call captures and, if a capture is on, until the device
// is idle: then this call has exclusive use. The wait is bounded, because
// operations in flight may wait for something that this thread has yet to do.
// After a timeout no call waits until the device was idle once.
static void ts__vd_exclusive_begin(ts__vd_call *call)
{
    ts_vdev *const v = call->v;
    const bool requested = ts_capture_on() && call->origin.thread;
    const struct timespec until =
        ts_capture_deadline(v->late ? 0 : ts__cap_now.desc.drain_ms);
    bool in_time = true;
    while (in_time && (v->capturing || (requested && v->pending)))
        in_time = pthread_cond_timedwait(&v->idle, &v->lock, &until) == 0;
    if (!requested || v->capturing) return;
    v->late = v->pending != 0;
    call->exclusive = v->capturing = !v->late;
}

// Waits until the stream has room, without holding the lock, and returns it.
// NULL: no such stream. Other handles must be looked up after this.
static ts__vd_stream *ts__vd_stream_room(ts__vd_call *call, uint64_t handle)
{
    ts_vdev *const v = call->v;
    if (v->capturing || ts_capture_on()) ts__vd_exclusive_begin(call);
    ts__vd_stream *stream = ts__vd_stream_find(v, handle);
    while (stream && stream->pending >= v->desc.queue_ops) {
        pthread_cond_wait(&v->room, &v->lock);
        stream = ts__vd_stream_find(v, handle);
    }
    return stream;
}

// Creates the next operation of a stream with the edges that the rules of
// streams require.
static ts__vd_op *ts__vd_stream_op(const ts__vd_call *call, ts_event_kind kind,
                                   ts__vd_stream *stream, size_t args_size)
{
    const ts__vd_device *const device = stream->device;
    const bool legacy = stream == device->legacy;
    size_t edges = 3; // previous operation, default stream, event
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

// Submits a complete operation (NULL: out of memory). It may be freed as soon
// as the lock is released.
static ts_result ts__vd_submit(ts_vdev *v, ts__vd_op *op)
{
    if (!op) return TS_ERR_MEMORY;
    if (!op->waits && !ts__vd_op_start(op)) ts__vd_op_finish(v, op);
    return TS_OK;
}

// Submits an operation and waits until it is complete, without holding the
// lock.
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

// Waits for one operation (NULL: none) and reports a synchronization.
static ts_result ts__vd_sync(const ts__vd_call *call, ts_event_kind kind,
                             uint32_t track, uint64_t id, ts__vd_op *last)
{
    ts__vd_op *const sync = ts__vd_op_new(call, kind, track, 1, 0);
    if (!sync) return TS_ERR_MEMORY;
    sync->report.u.event.id = id;
    ts__vd_op_after(sync, last, false);
    return ts__vd_submit_and_wait(call->v, sync);
}

// Waits for all operations that a device has now. kind 0: not reported.
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

#endif // TS__VDEV_CALLS_H
