/*
    opencl/capture_waits.h - waits for queues, user events and other
    commands

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__OPENCL_CAPTURE_WAITS_H
#define TS__OPENCL_CAPTURE_WAITS_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "../capture/memory.h"
#include "abi.h"
#include "calls.h"
#include "capture_state.h"
#include "in_flight.h"
#include "objects.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int32_t ts__cl_status(ts__cl_handle event)
{
    int32_t status = 1;
    const int32_t result = ts__cl.next.clGetEventInfo(
        event, TS__CL_EVENT_EXECUTION_STATUS, sizeof status, &status, NULL);
    return result < 0 ? result : status;
}

// A command that waits for a user event begins only after the program sets the
// event, perhaps after the very call that is being captured. Such queues are
// not waited for until the event is set. Up to four user events of a queue are
// tracked.

// Returns whether a gate is closed. The gates of an earlier queue with this
// handle are open. The caller holds the queue's lock.
static bool ts__cl_gate_closed(const ts__cl_queue *q, int gate)
{
    return q->gated == q->number &&
           !__atomic_load_n(&q->gates[gate]->set, __ATOMIC_SEQ_CST);
}

static bool ts__cl_queue_gated(ts__cl_queue *q)
{
    ts__cl_command *over[4];
    uint32_t count = 0;
    bool gated = false;
    pthread_mutex_lock(&q->lock);
    for (int i = 0; i < 4; i++) {
        if (!q->gates[i]) continue;
        if (ts__cl_gate_closed(q, i)) {
            gated = true;
            continue;
        }
        over[count++] = q->gates[i];
        q->gates[i] = NULL;
    }
    pthread_mutex_unlock(&q->lock);
    while (count)
        ts__cl_command_free(over[--count]);
    return gated;
}

static void ts__cl_queue_gate(ts__cl_queue *q, ts__cl_command *user)
{
    int free = -1;
    ts__cl_queue_gated(q); // drops the gates that are open
    pthread_mutex_lock(&q->lock);
    q->gated = q->number;
    for (int i = 0; i < 4; i++) {
        if (q->gates[i] == user) break;
        if (!q->gates[i]) free = i;
        if (i < 3 || free < 0) continue;
        __atomic_add_fetch(&user->refs, 1, __ATOMIC_RELAXED);
        q->gates[free] = user;
    }
    pthread_mutex_unlock(&q->lock);
}

// Adds the gates of another queue whose command this one waits for.
static void ts__cl_queue_gate_as(ts__cl_queue *q, ts__cl_queue *other)
{
    ts__cl_command *gates[4];
    pthread_mutex_lock(&other->lock);
    for (int i = 0; i < 4; i++) {
        gates[i] = other->gates[i];
        if (gates[i]) __atomic_add_fetch(&gates[i]->refs, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&other->lock);
    for (int i = 0; i < 4; i++) {
        if (gates[i]) ts__cl_queue_gate(q, gates[i]);
        ts__cl_command_free(gates[i]);
    }
}

// Adds an event of a wait list as a gate. The driver is queried for events from
// before the recording.
static bool ts__cl_gate_one(ts__cl_queue *q, ts__cl_handle event)
{
    ts__cl_command *const c = ts__cl_command_of(event);
    bool gated = false;
    if (c && !c->queue) {
        gated = !__atomic_load_n(&c->set, __ATOMIC_SEQ_CST);
        if (gated) ts__cl_queue_gate(q, c);
    } else if (ts__cl_status(event) > 0) {
        ts__cl_handle handle = NULL;
        uint32_t type = 0;
        ts__cl.next.clGetEventInfo(event, TS__CL_EVENT_COMMAND_TYPE,
                                   sizeof type, &type, NULL);
        ts__cl.next.clGetEventInfo(event, TS__CL_EVENT_COMMAND_QUEUE,
                                   sizeof handle, &handle, NULL);
        ts__cl_queue *const other =
            handle ? (ts__cl_queue *)ts__cl_find(TS__CL_QUEUE, handle) : NULL;
        gated = type == TS__CL_COMMAND_USER ||
                (other && other->in_order && ts__cl_queue_gated(other));
        if (gated && other && other != q) ts__cl_queue_gate_as(q, other);
    }
    ts__cl_command_free(c);
    return gated;
}

// Called before a command is enqueued: returns whether its wait list delays it
// until the program acts. Also called without a session if there are user
// events.
static bool ts__cl_gate(ts__cl_handle queue, uint32_t waits,
                        const ts__cl_handle *list)
{
    bool gated = false;
    if (!waits || !list || TS__LOAD(&ts__cl.off) ||
        (!TS__LOAD(&ts__cl.unset) && !ts_capture_on()))
        return false;
    ts__cl_queue *const q = (ts__cl_queue *)ts__cl_find(TS__CL_QUEUE, queue);
    for (uint32_t i = 0; q && i < waits; i++)
        if (list[i]) gated |= ts__cl_gate_one(q, list[i]);
    return gated;
}

// A user event is about to be set.
static void ts__cl_gate_open(ts__cl_command *user)
{
    if (user && !__atomic_exchange_n(&user->set, 1, __ATOMIC_SEQ_CST))
        __atomic_sub_fetch(&ts__cl.unset, 1, __ATOMIC_RELAXED);
    // Sequentially consistent: either this thread sees that the queue was
    // passed over, or the other thread sees that the event is set.
    if (__atomic_load_n(&ts__cl_cap.passed, __ATOMIC_SEQ_CST))
        __atomic_store_n(&ts__cl_cap.opened, 1, __ATOMIC_SEQ_CST);
}

// An event is about to be released. A user event that is destroyed by that can
// no longer be set.
static void ts__cl_gate_release(ts__cl_handle event)
{
    uint32_t count = 0;
    if (!TS__LOAD(&ts__cl.unset) || TS__LOAD(&ts__cl.off)) return;
    ts__cl_command *const c = ts__cl_command_of(event);
    if (c && !c->queue && !__atomic_load_n(&c->set, __ATOMIC_SEQ_CST) &&
        ts__cl.next.clGetEventInfo(event, TS__CL_EVENT_REFERENCE_COUNT,
                                   sizeof count, &count,
                                   NULL) == TS__CL_SUCCESS &&
        count == 1)
        ts__cl_gate_open(c);
    ts__cl_command_free(c);
}

// Tracks a command that is not in the trace.
static void ts__cl_event_add(ts__cl_handle event)
{
    pthread_mutex_lock(&ts__cl_cap.lock);
    if (ts__cl_cap.event_count == ts__cl_cap.event_room) {
        const size_t room = ts__cl_cap.event_room * 2 + 64;
        ts__cl_handle *const more =
            (ts__cl_handle *)realloc(ts__cl_cap.events, room * sizeof *more);
        if (more) ts__cl_cap.events = more;
        if (more) ts__cl_cap.event_room = room;
    }
    const bool fits = ts__cl_cap.event_count < ts__cl_cap.event_room;
    if (fits) ts__cl_cap.events[ts__cl_cap.event_count++] = event;
    pthread_mutex_unlock(&ts__cl_cap.lock);
    if (fits) return;
    ts__cl.next.clReleaseEvent(event);
    __atomic_store_n(&ts__cl_cap.disturbed, 1, __ATOMIC_RELEASE);
}

// Retains a queue if the program holds it. Returns whether it did.
static bool ts__cl_queue_hold(ts__cl_queue *q)
{
    pthread_mutex_lock(&q->lock);
    // With the lock held, so that the program cannot release its last
    // reference.
    const bool held = q->refs && ts__cl.next.clRetainCommandQueue(q->handle) ==
                                     TS__CL_SUCCESS;
    pthread_mutex_unlock(&q->lock);
    return held;
}

// Enqueues a marker to wait for the earlier commands of a queue: those from
// before the session were not noted, and some of earlier sessions may not have
// ended.
static void ts__cl_queue_mark(ts__cl_queue *q)
{
    ts__cl_handle marker = NULL;
    if (!ts__cl_queue_hold(q)) return;
    if (ts__cl.next.clEnqueueMarkerWithWaitList(q->handle, 0, NULL, &marker) ==
        TS__CL_SUCCESS) {
        ts__cl.next.clFlush(q->handle); // see ts__cl_flush_all
        ts__cl_event_add(marker);
    }
    ts__cl.next.clReleaseCommandQueue(q->handle);
}

static void ts__cl_mark_all(void)
{
    bool passed = false;
    if (!ts__cl.next.clEnqueueMarkerWithWaitList) return;
    __atomic_store_n(&ts__cl_cap.passed, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&ts__cl.define);
    ts__cl_queue *q = ts__cl.queues;
    pthread_mutex_unlock(&ts__cl.define);
    for (; q; q = q->next) {
        const bool gated = ts__cl_queue_gated(q);
        passed |= gated;
        if (!gated) ts__cl_queue_mark(q);
    }
    if (!passed) __atomic_store_n(&ts__cl_cap.passed, 0, __ATOMIC_SEQ_CST);
}

// The program did what queues waited for, so their commands run now.
static void ts__cl_open_gates(void)
{
    if (!__atomic_exchange_n(&ts__cl_cap.opened, 0, __ATOMIC_SEQ_CST)) return;
    ts__cl_mark_all();
    ts__cl_touch_all();
}

// Takes over new events. Returns false if memory is short; they are taken over
// later.
static bool ts__cl_events_take(void)
{
    const size_t count = ts__cl_cap.followed_count + ts__cl_cap.event_count;
    if (count > ts__cl_cap.followed_room) {
        ts__cl_handle *const more = (ts__cl_handle *)realloc(
            ts__cl_cap.followed, (count + 64) * sizeof *more);
        if (!more) return false;
        ts__cl_cap.followed = more;
        ts__cl_cap.followed_room = count + 64;
    }
    if (ts__cl_cap.event_count)
        memcpy(ts__cl_cap.followed + ts__cl_cap.followed_count,
               ts__cl_cap.events,
               ts__cl_cap.event_count * sizeof *ts__cl_cap.events);
    ts__cl_cap.followed_count = count;
    ts__cl_cap.event_count = 0;
    return true;
}

// Releases events of complete commands and returns whether all are complete.
// Holds no lock, because the driver may call the program here.
static bool ts__cl_events_done(void)
{
    pthread_mutex_lock(&ts__cl_cap.lock);
    const bool all = ts__cl_events_take() && !ts__cl_cap.inside;
    pthread_mutex_unlock(&ts__cl_cap.lock);
    size_t kept = 0;
    for (size_t i = 0; i < ts__cl_cap.followed_count; i++) {
        ts__cl_handle const event = ts__cl_cap.followed[i];
        if (ts__cl_status(event) > 0)
            ts__cl_cap.followed[kept++] = event;
        else
            ts__cl.next.clReleaseEvent(event);
    }
    ts__cl_cap.followed_count = kept;
    return all && !kept;
}

// Flushes all queues, because drivers may start commands only then. A queue
// with an unfinished command exists even if the program has released it. Queues
// of commands that are not in the trace were flushed at once.
static void ts__cl_flush_all(void)
{
    pthread_mutex_lock(&ts__cl.define);
    ts__cl_queue *q = ts__cl.queues;
    pthread_mutex_unlock(&ts__cl.define);
    for (; q; q = q->next) {
        // Another thread looks at it; retried in the next round.
        if (!ts__cl_look_at(q, 0)) continue;
        ts__cl_queue_take(q);
        if (q->work && ts__cl_status(q->work->event) > 0)
            ts__cl.next.clFlush(q->handle);
        ts__cl_looked(q);
    }
}

static void ts__cl_moment(uint32_t exclusive)
{
    const struct timespec moment = { 0, exclusive < 20 ? 10000 : 200000 };
    nanosleep(&moment, NULL);
}

// Waits until no command runs on any device. Returns false on a timeout.
static bool ts__cl_drain(void)
{
    const struct timespec until = ts_capture_deadline(
        TS__LOAD(&ts__cl_cap.late) ? 0 : ts__cap_now.desc.drain_ms);
    for (uint32_t exclusive = 0;; exclusive++) {
        ts__cl_open_gates();
        ts__cl_reap(true, 0);
        const bool done = ts__cl_events_done();
        if (done && !__atomic_load_n(&ts__cl.pending, __ATOMIC_SEQ_CST)) break;
        if (ts_capture_late(&until)) {
            TS__STORE(&ts__cl_cap.late, 1);
            return false;
        }
        if (exclusive % 64 == 0) ts__cl_flush_all();
        ts__cl_moment(exclusive);
    }
    TS__STORE(&ts__cl_cap.late, 0);
    return true;
}

// Returns whether the call waits for something that the program has yet to do,
// most likely on this thread.
static bool ts__cl_gated(const ts__cl_call *call)
{
    return call->gated ||
           (call->queue->in_order && ts__cl_queue_gated(call->queue));
}

// Waits for the command itself, with a timeout.
static int32_t ts__cl_wait(ts__cl_handle queue, ts__cl_handle event)
{
    const struct timespec until =
        ts_capture_deadline(ts__cap_now.desc.drain_ms);
    int32_t status = ts__cl_status(event);
    if (status > 0) ts__cl.next.clFlush(queue);
    for (uint32_t exclusive = 0; status > 0 && !ts_capture_late(&until);
         exclusive++) {
        ts__cl_moment(exclusive);
        status = ts__cl_status(event);
    }
    return status;
}

#endif // TS__OPENCL_CAPTURE_WAITS_H
