/*
    opencl/commands.h - what every enqueuing function does, and waits

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Every function that enqueues has one shape: ts__cl_begin notes the
    calling thread and gives the driver a place for the event, the driver is
    called, the command is described, and ts__cl_end keeps it and records
    the call.

    CONTENTS                            search for "==== 2." to jump
        1. Commands
        2. Host functions, markers, barriers
        3. What the host waits for
*/
#ifndef TS__OPENCL_COMMANDS_H
#define TS__OPENCL_COMMANDS_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "../ts_filter.h"
#include "abi.h"
#include "calls.h"
#include "capture.h"
#include "capture_state.h"
#include "capture_waits.h"
#include "devices.h"
#include "in_flight.h"
#include "objects.h"
#include "queues.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ==== 1. Commands ======================================================== */

// Called before the driver. Returns where the driver stores the event: the
// program's place, else TraceSmith's.
static ts__cl_handle *ts__cl_begin(ts__cl_call *call, uint32_t function,
                                   ts__cl_handle queue, ts__cl_handle *event,
                                   ts_event_kind kind)
{
    ts__cl_enter(call, function);
    call->moves = ts__cl_is_kept_kind(kind);
    if (!call->on) return event;
    call->queue = ts__cl_queue_get(queue);
    if (ts_capture_on() && call->queue) ts__cl_exclusive_begin(call, kind);
    if (!ts_filter_kind(kind)) return ts__cl_event_place(call, event);
    ts__cl_command *const c = call->queue && call->queue->timed
                                  ? (ts__cl_command *)calloc(1, sizeof *c)
                                  : NULL;
    call->missed = !c;
    if (!c) return ts__cl_event_place(call, event);
    c->refs = 1;
    c->session = TS__LOAD(&ts__here.gate);
    c->queue = call->queue;
    c->own = !event;
    c->op.kind = kind;
    c->op.track = call->queue->track;
    c->op.clock = call->queue->device->clock;
    c->op.correlation = call->correlation;
    c->op.origin = call->origin;
    call->command = c;
    const ts__cl_device *const d = call->queue->device;
    if (!d->timer && TS__LOAD(&d->probes) < TS__CL_PROBES)
        c->probe = (ts__cl_probe *)malloc(sizeof *c->probe);
    if (c->probe) ts__cl_probe_take(c->probe->before);
    c->called[0] = ts_tick_now();
    return event ? event : &c->event;
}

static void ts__cl_tie(uint32_t track, uint64_t number, uint64_t after)
{
    const ts_gpu_dependency dependency = { track, TS_DEPENDENCY_CONTROL, number,
                                           after };
    if (after) ts_gpu_dependency_record(&dependency);
}

static void ts__cl_depend(const ts__cl_command *c, uint64_t after)
{
    ts__cl_tie(c->op.track, c->op.correlation, after);
}

// Adds the dependencies of a wait list, except those that the order of the
// queue implies.
static void ts__cl_depend_list(const ts__cl_command *c, uint32_t waits,
                               const ts__cl_handle *list)
{
    for (uint32_t i = 0; list && i < waits; i++) {
        ts__cl_command *const other = ts__cl_command_of(list[i]);
        if (!other) continue;
        if (!c->queue->in_order || other->op.track != c->op.track)
            ts__cl_depend(c, other->op.correlation);
        ts__cl_command_free(other);
    }
}

#ifndef TS__CL_SINCE_MAX // tests use a smaller one
#define TS__CL_SINCE_MAX (1u << 16)
#endif

// Removes the first `count` commands. The caller holds the lock.
static void ts__cl_since_remove(ts__cl_queue *q, uint32_t count)
{
    q->since_gone += count;
    q->since_count -= count;
    if (q->since_count)
        memmove(q->since, q->since + count, q->since_count * sizeof *q->since);
}

// Makes the next barrier depend on half of the commands, and assigns its
// correlation now. The caller holds the lock.
static void ts__cl_since_spill(ts__cl_queue *q)
{
    if (!q->next_barrier) q->next_barrier = ts__cl_correlation();
    for (uint32_t i = 0; i < TS__CL_SINCE_MAX / 2; i++)
        ts__cl_tie(q->track, q->next_barrier, q->since[i]);
    ts__cl_since_remove(q, TS__CL_SINCE_MAX / 2);
}

// For out-of-order queues: a marker or barrier without a wait list waits for
// every command since the last barrier. A barrier then stands for all of them.
static void ts__cl_order(ts__cl_queue *q, const ts__cl_command *c,
                         bool waits_for_all, bool barrier)
{
    pthread_mutex_lock(&q->order_lock);
    if (q->session != c->session) { // forgets the commands of another session
        q->session = c->session;
        q->barrier = q->next_barrier = 0;
        ts__cl_since_remove(q, q->since_count);
    }
    if (q->barrier) ts__cl_depend(c, q->barrier);
    for (uint32_t i = 0; waits_for_all && i < q->since_count; i++)
        ts__cl_depend(c, q->since[i]);
    // Other threads may have enqueued commands meanwhile: a lower bound.
    if (waits_for_all && q->next_barrier)
        ts_loss_report(q->track, TS_LOSS_BACKEND,
                       "commands before a barrier are not recorded as its "
                       "dependencies",
                       TS__CL_SINCE_MAX / 2, c->called[0], c->called[1]);
    if (barrier) q->barrier = c->op.correlation;
    if (waits_for_all) ts__cl_since_remove(q, q->since_count);
    if (!barrier || !waits_for_all) {
        if (q->since_count == TS__CL_SINCE_MAX) ts__cl_since_spill(q);
        if (q->since_count == q->since_room) {
            const uint32_t room = q->since_room ? q->since_room * 2 : 256;
            uint64_t *const more =
                (uint64_t *)realloc(q->since, room * sizeof *more);
            if (more) q->since = more;
            if (more) q->since_room = room;
        }
        if (q->since_count < q->since_room)
            q->since[q->since_count++] = c->op.correlation;
    }
    pthread_mutex_unlock(&q->order_lock);
}

// The driver accepted the command.
static void ts__cl_keep(const ts__cl_call *call, ts__cl_handle *event,
                        uint32_t waits, const ts__cl_handle *list)
{
    ts__cl_command *const c = call->command;
    ts__cl_queue *const q = call->queue;
    const bool barrier =
        call->function == TS__CL_clEnqueueBarrierWithWaitList ||
        call->function == TS__CL_clEnqueueWaitForEvents ||
        call->function == TS__CL_clEnqueueBarrier;
    const bool marker = call->function == TS__CL_clEnqueueMarkerWithWaitList ||
                        call->function == TS__CL_clEnqueueMarker;
    if (waits) ts__cl_depend_list(c, waits, list);
    if (!q->in_order)
        ts__cl_order(q, c, !waits && (marker || barrier), barrier);
    if (!c->own) {
        c->event = *event;
        ts__cl.next.clRetainEvent(c->event);
        c->held = 1;
        ts__cl_command_publish(c->event, c);
    }
    ts__cl_queue_push(q, c);
}

// Called after the driver.
static int32_t ts__cl_end(ts__cl_call *call, int32_t result,
                          ts__cl_handle *event, uint32_t waits,
                          const ts__cl_handle *list)
{
    ts__cl_command *const c = call->command;
    const bool done = result == TS__CL_SUCCESS;
    // A capture that began during the driver's call did not wait for it.
    if (ts_capture_on() && call->moves && !call->seen)
        __atomic_store_n(&ts__cl_cap.disturbed, 1, __ATOMIC_RELEASE);
    if (c) {
        c->called[1] = ts_tick_now();
        if (c->probe) ts__cl_probe_take(c->probe->after);
    }
    if (call->seen && call->seen->keeps) ts__cl_seen_end(call, result, event);
    ts__cl_leave(call, result);
    if (call->on && done &&
        (call->function == TS__CL_clEnqueueNDRangeKernel ||
         call->function == TS__CL_clEnqueueTask))
        __atomic_fetch_add(&ts__cl.launches, 1, __ATOMIC_RELAXED);
    if (c && done)
        ts__cl_keep(call, event, waits, list);
    else
        ts__cl_command_free(c);
    if (call->missed && done)
        ts_loss_report(call->queue ? call->queue->track : 0, TS_LOSS_BACKEND,
                       call->queue && !call->queue->timed
                           ? "a queue does not report times"
                           : "out of memory for a command",
                       1, call->start, ts_tick_now());
    // The handle may have belonged to another command.
    if (!c && done && event && !TS__LOAD(&ts__cl.off))
        ts__cl_command_publish(*event, NULL);
    if (call->seen) ts__cl_exclusive_end(call, result, event);
    // Reported before the program can learn that it is complete.
    if (call->blocking && call->queue && done)
        ts__cl_queue_reap(call->queue, true);
    return result;
}

static void ts__cl_waits(ts__cl_call *call, ts__cl_handle queue, uint32_t waits,
                         const ts__cl_handle *list)
{
    call->waits = waits;
    call->list = list;
    call->gated = ts__cl_gate(queue, waits, list);
}

#define TS__CL_BEGIN(name, kind) \
    ts__cl_call call; \
    ts__cl_handle *const at = \
        ts__cl_begin(&call, TS__CL_##name, queue, event, kind); \
    ts__cl_waits(&call, queue, waits, list)
#define TS__CL_END(result) return ts__cl_end(&call, result, at, waits, list)

/* ==== 2. Host functions, markers, barriers =============================== */

static int32_t ts__cl_clEnqueueNativeKernel(ts__cl_handle queue,
                                            void (*function)(void *),
                                            void *args, size_t size,
                                            uint32_t count,
                                            const ts__cl_handle *memory,
                                            const void **places, TS__CL_QUEUED)
{
    TS__CL_BEGIN(clEnqueueNativeKernel, TS_EVENT_HOST_FUNCTION);
    if (call.command)
        memcpy(&call.command->op.u.host_function.address, &function,
               sizeof function);
    ts__cl_seen_decline(&call, TS_REASON_HOST_CALLBACK);
    TS__CL_END(ts__cl.next.clEnqueueNativeKernel(
        queue, function, args, size, count, memory, places, waits, list, at));
}

// Describes a marker or barrier; waits: number of events in its list, 0: all.
static void ts__cl_mark(ts__cl_call *call, uint32_t waits)
{
    ts__cl_command *const c = call->command;
    if (!c) return;
    if (!waits && !c->queue->in_order) {
        ts__cl_queue *const q = c->queue;
        pthread_mutex_lock(&q->order_lock);
        if (q->next_barrier && q->session == c->session) {
            c->op.correlation = call->correlation = q->next_barrier;
            q->next_barrier = 0;
        }
        pthread_mutex_unlock(&q->order_lock);
    }
    c->op.u.event.id = c->op.correlation;
    TS__STORE(&c->marked, 1);
}

static int32_t ts__cl_clEnqueueMarkerWithWaitList(ts__cl_handle queue,
                                                  TS__CL_QUEUED)
{
    TS__CL_BEGIN(clEnqueueMarkerWithWaitList, TS_EVENT_EVENT_RECORD);
    ts__cl_mark(&call, waits);
    TS__CL_END(ts__cl.next.clEnqueueMarkerWithWaitList(queue, waits, list, at));
}

static int32_t ts__cl_clEnqueueBarrierWithWaitList(ts__cl_handle queue,
                                                   TS__CL_QUEUED)
{
    TS__CL_BEGIN(clEnqueueBarrierWithWaitList, TS_EVENT_EVENT_RECORD);
    ts__cl_mark(&call, waits);
    TS__CL_END(
        ts__cl.next.clEnqueueBarrierWithWaitList(queue, waits, list, at));
}

static int32_t ts__cl_clEnqueueMarker(ts__cl_handle queue, ts__cl_handle *event)
{
    const uint32_t waits = 0;
    const ts__cl_handle *const list = NULL;
    TS__CL_BEGIN(clEnqueueMarker, TS_EVENT_EVENT_RECORD);
    // The program must pass a place for the event; the driver reports its
    // error.
    ts__cl_mark(&call, waits);
    TS__CL_END(ts__cl.next.clEnqueueMarker(queue, event ? at : NULL));
}

// This function returns no event, so a barrier with the same meaning is
// enqueued instead. Not without a list: then the call is an error, but a
// barrier would wait for all commands.
static int32_t ts__cl_clEnqueueWaitForEvents(ts__cl_handle queue, TS__CL_EVENTS)
{
    ts__cl_handle *const event = NULL;
    TS__CL_BEGIN(clEnqueueWaitForEvents, TS_EVENT_EVENT_RECORD);
    ts__cl_mark(&call, waits);
    int32_t result = TS__CL_INVALID_OPERATION;
    if (at && waits && list && ts__cl.next.clEnqueueBarrierWithWaitList)
        result =
            ts__cl.next.clEnqueueBarrierWithWaitList(queue, waits, list, at);
    if (result == TS__CL_SUCCESS) TS__CL_END(result);
    ts__cl_command_free(call.command);
    call.command = NULL;
    return ts__cl_end(&call,
                      ts__cl.next.clEnqueueWaitForEvents(queue, waits, list),
                      NULL, waits, list);
}

// This function returns no event either.
static int32_t ts__cl_clEnqueueBarrier(ts__cl_handle queue)
{
    ts__cl_handle *const event = NULL;
    const uint32_t waits = 0;
    const ts__cl_handle *const list = NULL;
    TS__CL_BEGIN(clEnqueueBarrier, TS_EVENT_EVENT_RECORD);
    ts__cl_mark(&call, waits);
    int32_t result = TS__CL_INVALID_OPERATION;
    if (at && ts__cl.next.clEnqueueBarrierWithWaitList)
        result = ts__cl.next.clEnqueueBarrierWithWaitList(queue, 0, NULL, at);
    if (result == TS__CL_SUCCESS) TS__CL_END(result);
    ts__cl_command_free(call.command);
    call.command = NULL;
    return ts__cl_end(&call, ts__cl.next.clEnqueueBarrier(queue), NULL, waits,
                      list);
}

/* ==== 3. What the host waits for ========================================= */

static void ts__cl_sync(const ts__cl_call *call, ts_event_kind kind,
                        uint32_t track, uint64_t id)
{
    if (!ts_filter_kind(kind)) return;
    ts_gpu_op op;
    memset(&op, 0, sizeof op);
    op.kind = kind;
    op.track = track;
    op.queued = op.submitted = op.start = call->start;
    op.end = ts_tick_now();
    op.correlation = call->correlation;
    op.origin = call->origin;
    op.u.event.id = id;
    ts_gpu_op_record(&op);
}

// For out-of-order queues: returns the number of commands so far. Later
// barriers need not name these once the host has waited for them.
static uint64_t ts__cl_since(ts__cl_queue *q)
{
    pthread_mutex_lock(&q->order_lock);
    const uint64_t end = q->since_gone + q->since_count;
    pthread_mutex_unlock(&q->order_lock);
    return end;
}

// Other threads may have enqueued more commands meanwhile.
static void ts__cl_since_drop(ts__cl_queue *q, uint64_t end)
{
    pthread_mutex_lock(&q->order_lock);
    const uint64_t left = end > q->since_gone ? end - q->since_gone : 0;
    ts__cl_since_remove(q, left < q->since_count ? (uint32_t)left
                                                 : q->since_count);
    pthread_mutex_unlock(&q->order_lock);
}

static int32_t ts__cl_clFinish(ts__cl_handle queue)
{
    ts__cl_call call;
    ts__cl_enter(&call, TS__CL_clFinish);
    ts__cl_queue *const q =
        call.on ? (ts__cl_queue *)ts__cl_find(TS__CL_QUEUE, queue) : NULL;
    const uint64_t before = q ? ts__cl_since(q) : 0;
    const int32_t result = ts__cl.next.clFinish(queue);
    if (q && result == TS__CL_SUCCESS) {
        ts__cl_since_drop(q, before);
        ts__cl_sync(&call, TS_EVENT_STREAM_SYNC, q->track, q->number);
        ts__cl_queue_reap(q, true);
    }
    ts__cl_leave(&call, result);
    return result;
}

// Waiting for a command is recorded as waiting for an event recorded after it.
static void ts__cl_waited(const ts__cl_call *call, ts__cl_command *c)
{
    if (!__atomic_exchange_n(&c->marked, 1, __ATOMIC_RELAXED) &&
        ts_filter_kind(TS_EVENT_EVENT_RECORD)) {
        ts_gpu_op op;
        memset(&op, 0, sizeof op);
        op.kind = TS_EVENT_EVENT_RECORD;
        op.track = c->op.track;
        op.clock = c->op.clock;
        op.queued = c->op.queued;
        op.start = op.end = c->op.end;
        op.correlation = c->op.correlation;
        op.origin = c->op.origin;
        op.u.event.id = c->op.correlation;
        ts_gpu_op_record(&op);
    }
    ts__cl_sync(call, TS_EVENT_EVENT_SYNC, c->op.track, c->op.correlation);
}

// Records a wait for the command that ends last; the others end before it.
static void ts__cl_waited_all(const ts__cl_call *call, uint32_t waits,
                              const ts__cl_handle *list)
{
    ts__cl_command *last = NULL;
    for (uint32_t i = 0; i < waits; i++) {
        ts__cl_command *const c = ts__cl_command_of(list[i]);
        if (!c) continue;
        if (c->queue) ts__cl_queue_reap(c->queue, true);
        // acquire: pairs with the release in ts__cl_command_report
        const bool done = __atomic_load_n(&c->done, __ATOMIC_ACQUIRE);
        const bool later = done && (!last || c->op.end > last->op.end);
        ts__cl_command *const earlier = later ? last : done ? c : NULL;
        if (earlier && (!earlier->queue->in_order ||
                        earlier->op.track != (later ? c : last)->op.track)) {
            const ts_gpu_dependency dependency = { earlier->op.track,
                                                   TS_DEPENDENCY_CONTROL,
                                                   call->correlation,
                                                   earlier->op.correlation };
            ts_gpu_dependency_record(&dependency);
        }
        ts__cl_command_free(later ? last : c);
        if (later) last = c;
    }
    if (last) ts__cl_waited(call, last);
    ts__cl_command_free(last);
}

static int32_t ts__cl_clWaitForEvents(TS__CL_EVENTS)
{
    ts__cl_call call;
    ts__cl_enter(&call, TS__CL_clWaitForEvents);
    const int32_t result = ts__cl.next.clWaitForEvents(waits, list);
    if (call.on && list && result == TS__CL_SUCCESS)
        ts__cl_waited_all(&call, waits, list);
    ts__cl_leave(&call, result);
    return result;
}

// A user event is set by a call of clSetUserEventStatus. Commands that wait for
// the event depend on that call, whose correlation is assigned now.
static ts__cl_handle ts__cl_clCreateUserEvent(ts__cl_handle context,
                                              int32_t *error)
{
    ts__cl_handle const made = ts__cl.next.clCreateUserEvent(context, error);
    if (!made || TS__LOAD(&ts__cl.off)) return made;
    ts__cl_command *const c = (ts__cl_command *)calloc(1, sizeof *c);
    if (c) c->op.correlation = ts__cl_correlation();
    if (c) __atomic_add_fetch(&ts__cl.unset, 1, __ATOMIC_RELAXED);
    ts__cl_command_publish(made, c);
    return made;
}

static int32_t ts__cl_clSetUserEventStatus(ts__cl_handle event, int32_t status)
{
    ts__cl_call call;
    ts__cl_command *const c =
        TS__LOAD(&ts__cl.off) ? NULL : ts__cl_command_of(event);
    const bool user = c && !c->queue;
    ts__cl_enter(&call, TS__CL_clSetUserEventStatus);
    if (user) call.correlation = c->op.correlation;
    ts__cl_gate_open(user ? c : NULL);
    const int32_t result = ts__cl.next.clSetUserEventStatus(event, status);
    TS__STORE(&ts__cl_cap.late, 0); // there may be work to wait for again
    ts__cl_leave(&call, result);
    ts__cl_command_free(c);
    return result;
}

static int32_t ts__cl_clReleaseEvent(ts__cl_handle event)
{
    ts__cl_gate_release(event);
    return ts__cl.next.clReleaseEvent(event);
}

// Hides TraceSmith's reference from the program.
static int32_t ts__cl_clGetEventInfo(ts__cl_handle event, uint32_t what,
                                     size_t room, void *value, size_t *size)
{
    ts__cl_command *const c =
        what == TS__CL_EVENT_REFERENCE_COUNT && value && !TS__LOAD(&ts__cl.off)
            ? ts__cl_command_of(event)
            : NULL;
    uint32_t before, after, count;
    int32_t result;
    do {
        while (c && __atomic_load_n(&c->held, __ATOMIC_SEQ_CST) == 2) {}
        before = c ? __atomic_load_n(&c->held, __ATOMIC_SEQ_CST) : 0;
        result = ts__cl.next.clGetEventInfo(event, what, room, value, size);
        after = c ? __atomic_load_n(&c->held, __ATOMIC_SEQ_CST) : 0;
    } while (before != after);
    if (before && result == TS__CL_SUCCESS) {
        memcpy(&count, value, sizeof count);
        count -= before;
        memcpy(value, &count, sizeof count);
    }
    ts__cl_command_free(c);
    return result;
}

// Returns an error if the program did not enable profiling itself.
static int32_t ts__cl_clGetEventProfilingInfo(ts__cl_handle event,
                                              uint32_t what, size_t room,
                                              void *value, size_t *size)
{
    ts__cl_handle queue = NULL;
    const ts__cl_queue *q = NULL;
    if (ts__cl.next.clGetEventInfo(event, TS__CL_EVENT_COMMAND_QUEUE,
                                   sizeof queue, &queue,
                                   NULL) == TS__CL_SUCCESS)
        q = (const ts__cl_queue *)ts__cl_find(TS__CL_QUEUE, queue);
    if (q && q->forced) return TS__CL_PROFILING_INFO_NOT_AVAILABLE;
    return ts__cl.next.clGetEventProfilingInfo(event, what, room, value, size);
}

#endif // TS__OPENCL_COMMANDS_H
