/*
    opencl/capture.h - a captured command has the devices to itself

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    A call that enqueues a command to be captured takes the devices, waits,
    for a bounded time, until nothing else runs, reads what the command can
    reach, lets it run and end, and reads again. Commands of other threads
    wait meanwhile, but not forever: one that goes on after its time
    declines the capture. Contents are read on a queue of our own.

    Memory becomes known when a command first uses it, under the address
    that the trace gave it, and its contents are read then. Objects that lie
    in a buffer (a sub-buffer, an image made from one) are that buffer.
*/
#ifndef TS__OPENCL_CAPTURE_H
#define TS__OPENCL_CAPTURE_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "../capture/memory.h"
#include "abi.h"
#include "calls.h"
#include "capture_contents.h"
#include "capture_state.h"
#include "capture_waits.h"
#include "device_hash.h"
#include "devices.h"
#include "objects.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const ts_capture_vendor ts__cl_vendor = { .name = "opencl",
                                                 .view = ts__cl_view,
                                                 .by_parameters = true,
                                                 .hash = ts__cl_hash };

// Initializes a new capture. The caller has exclusive use of the devices.
static void ts__cl_capture_begin(void)
{
    ts__cl_cap.memory.vendor = &ts__cl_vendor;
    ts__cl_cap.object_count = 0;
    if (ts_capture_fresh(&ts__cl_cap.memory)) {
        ts__cl_cap.code_count = 0;
        ts__cl_cap.binaries = 0;
        TS__STORE(&ts__cl_cap.late, 0);
        ts__cl_mark_all();
    }
    ts__cl_capture_bury();
    if (__atomic_exchange_n(&ts__cl_cap.disturbed, 0, __ATOMIC_ACQ_REL) ||
        TS__LOAD(&ts__cl_cap.extended))
        ts__cl_touch_all();
    ts__cl_open_gates();
}

static bool ts__cl_is_kept_kind(ts_event_kind kind)
{
    return kind == TS_EVENT_KERNEL || kind == TS_EVENT_MEMCPY ||
           kind == TS_EVENT_MEMSET || kind == TS_EVENT_HOST_FUNCTION;
}

// Called before a call enqueues: waits until no other command is being
// captured.
static void ts__cl_exclusive_begin(ts__cl_call *call, ts_event_kind kind)
{
    if (!ts__cl_is_kept_kind(kind)) return;
    ts__cl_seen *const seen = (ts__cl_seen *)calloc(1, sizeof *seen);
    if (!seen) {
        __atomic_store_n(&ts__cl_cap.disturbed, 1, __ATOMIC_RELEASE);
        return;
    }
    call->seen = seen;
    const struct timespec until =
        ts_capture_deadline(ts__cap_now.desc.drain_ms);
    bool in_time = true;
    pthread_mutex_lock(&ts__cl_cap.lock);
    while (ts__cl_cap.busy && in_time)
        in_time = pthread_cond_timedwait(&ts__cl_cap.idle, &ts__cl_cap.lock,
                                         &until) == 0;
    seen->exclusive = !ts__cl_cap.busy;
    if (seen->exclusive) {
        ts__cl_cap.busy = true;
    } else {
        ts__cl_cap.inside++;
        __atomic_store_n(&ts__cl_cap.disturbed, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&ts__cl_cap.lock);
    if (seen->exclusive) ts__cl_capture_begin();
}

// Ends exclusive use before the command is enqueued, because it is not
// captured.
static void ts__cl_exclusive_pass(ts__cl_seen *seen)
{
    if (!seen->exclusive) return;
    seen->exclusive = false;
    pthread_mutex_lock(&ts__cl_cap.lock);
    ts__cl_cap.busy = false;
    ts__cl_cap.inside++;
    pthread_cond_broadcast(&ts__cl_cap.idle);
    pthread_mutex_unlock(&ts__cl_cap.lock);
}

// Functions of extensions are called in the driver directly and are not seen.
static void ts__cl_extension(const void *function, const char *name)
{
    if (function && name && !strncmp(name, "clEnqueue", 9))
        TS__STORE(&ts__cl_cap.extended, 1);
}

static void *ts__cl_clGetExtensionFunctionAddress(const char *name)
{
    void *const found = ts__cl.next.clGetExtensionFunctionAddress(name);
    ts__cl_extension(found, name);
    return found;
}

static void *
ts__cl_clGetExtensionFunctionAddressForPlatform(ts__cl_handle platform,
                                                const char *name)
{
    void *const found =
        ts__cl.next.clGetExtensionFunctionAddressForPlatform(platform, name);
    ts__cl_extension(found, name);
    return found;
}

// Returns whether the command is to be captured, and then fills its head.
// Otherwise exclusive use ends after the memory that the command may write is
// marked as changed.
static bool ts__cl_seen_requested(ts__cl_call *call, const char *kernel)
{
    ts_capture_op *const op = &call->seen->op;
    if (!call->command) return false;
    op->head.kind = call->command->op.kind;
    op->head.track = call->command->op.track;
    op->head.correlation = call->command->op.correlation;
    op->name = kernel;
    if (kernel) op->head.name = ts_name_define(kernel);
    return ts_capture_requested(op);
}

// Returns whether the command has exclusive use of the devices. If not, it runs
// as it would without TraceSmith and is counted as declined.
static bool ts__cl_seen_exclusive(ts__cl_call *call, const char *kernel)
{
    ts__cl_seen *const seen = call->seen;
    if (!seen || seen->exclusive) return seen != NULL;
    seen->noted = ts__cl_seen_requested(call, kernel);
    if (seen->noted) ts_capture_decline(&seen->op, TS_REASON_DRAIN_TIMEOUT);
    return false;
}

// The command runs as it would without TraceSmith and may write anywhere.
static void ts__cl_seen_give_up(ts__cl_seen *seen)
{
    seen->noted = true;
    ts__cl_touch_all();
    ts__cl_exclusive_pass(seen);
}

// The command is described; captures the contents before it.
static void ts__cl_seen_begin(ts__cl_call *call)
{
    ts__cl_seen *const seen = call->seen;
    ts_capture_op *const op = &seen->op;
    ts__cl_cap.app_queue = call->queue->handle;
    if (op->head.state != TS_CAPTURE_DECLINED) {
        const bool gated = ts__cl_gated(call);
        if (gated) TS__STORE(&ts__cl_cap.late, 1);
        if (gated || !ts__cl_drain())
            ts_capture_decline(op, TS_REASON_DRAIN_TIMEOUT);
    }
    if (op->head.state == TS_CAPTURE_DECLINED) {
        ts__cl_seen_give_up(seen);
        return;
    }
    ts_capture_begin(&ts__cl_cap.memory, op);
    ts__cl_cap.shadow.of = NULL; // its contents may change from now on
    seen->keeps = true;
    ts__cl_command *const c = call->command;
    c->called[0] = ts_tick_now(); // the time at which the command is enqueued
    if (c->probe) ts__cl_probe_take(c->probe->before);
}

static void ts__cl_seen_decline(ts__cl_call *call, ts_reason reason)
{
    if (!call->seen) return;
    const bool requested = ts__cl_seen_requested(call, NULL);
    if (requested) ts_capture_decline(&call->seen->op, reason);
    if (call->seen->exclusive) ts__cl_seen_give_up(call->seen);
    call->seen->noted = requested;
}

// A command that moves no data, or none that a device uses.
static void ts__cl_seen_nothing(ts__cl_call *call)
{
    if (!call->seen) return;
    call->seen->noted = ts__cl_seen_requested(call, NULL);
    ts__cl_exclusive_pass(call->seen);
}

// Called after the driver has accepted or refused the command.
static void ts__cl_seen_end(ts__cl_call *call, int32_t result,
                            ts__cl_handle *event)
{
    ts__cl_seen *const seen = call->seen;
    ts_capture_op *const op = &seen->op;
    if (result == TS__CL_SUCCESS) {
        const int32_t status = ts__cl_wait(call->queue->handle, *event);
        const bool alone =
            !__atomic_load_n(&ts__cl_cap.disturbed, __ATOMIC_ACQUIRE) &&
            !__atomic_load_n(&ts__cl_cap.opened, __ATOMIC_SEQ_CST);
        if (status > 0) TS__STORE(&ts__cl_cap.late, 1);
        if (status > 0 || !alone)
            ts_capture_decline(op, TS_REASON_DRAIN_TIMEOUT);
        else if (status < 0)
            ts_capture_decline(op, TS_REASON_DEVICE_FAILED);
        ts_capture_end(&ts__cl_cap.memory, op);
    }
    ts__cl_reader_close();
}

// Returns where the driver stores the event of a command.
static ts__cl_handle *ts__cl_event_place(ts__cl_call *call,
                                         ts__cl_handle *event)
{
    if (event) return event;
    return call->command ? &call->command->event
           : call->seen  ? &call->seen->event
                         : NULL;
}

// Called at the very end of a call.
static void ts__cl_exclusive_end(ts__cl_call *call, int32_t result,
                                 ts__cl_handle *event)
{
    ts__cl_seen *const seen = call->seen;
    if (!call->command && result == TS__CL_SUCCESS && event && *event) {
        if (event != &seen->event) ts__cl.next.clRetainEvent(*event);
        ts__cl.next.clFlush(call->queue->handle); // see ts__cl_flush_all
        ts__cl_event_add(*event);
    }
    if (seen->noted && result == TS__CL_SUCCESS) {
        ts_capture_memory none;
        memset(&none, 0, sizeof none);
        none.vendor = &ts__cl_vendor;
        ts_capture_begin(&none, &seen->op);
        ts_capture_end(&none, &seen->op);
    }
    pthread_mutex_lock(&ts__cl_cap.lock);
    if (seen->exclusive)
        ts__cl_cap.busy = false;
    else
        ts__cl_cap.inside--;
    pthread_cond_broadcast(&ts__cl_cap.idle);
    pthread_mutex_unlock(&ts__cl_cap.lock);
    ts_capture_drop(&seen->op);
    free(seen->args);
    free(seen);
    call->seen = NULL;
}

#endif // TS__OPENCL_CAPTURE_H
