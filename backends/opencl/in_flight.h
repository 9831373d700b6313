/*
    opencl/in_flight.h - commands from their call until they are reported

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    A command is noted when the program enqueues it, and reported when its
    event says that it is complete. The call that waits for it looks before
    it returns, and a thread of ours every few milliseconds. Callbacks
    (clSetEventCallback) would run on the driver's threads: each costs an
    allocation and a wake-up, and may come after the program has stopped the
    session. One thread at a time looks at a queue, without a lock: a driver
    may call the program meanwhile, which calls us. Enqueuing never waits
    for that.
*/
#ifndef TS__OPENCL_IN_FLIGHT_H
#define TS__OPENCL_IN_FLIGHT_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "../ts_filter.h"
#include "abi.h"
#include "devices.h"
#include "objects.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ==== 1. Commands in flight ============================================== */

static void ts__cl_command_free(ts__cl_command *c)
{
    if (!c || __atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL)) return;
    free(c->probe);
    free(c->frees);
    free(c);
}

// Returns the command of an event of the program; the caller releases it with
// ts__cl_command_free. NULL: unknown.
static ts__cl_command *ts__cl_command_of(ts__cl_handle event)
{
    const ts__cl_entry *const e = ts__cl_entry_find(TS__CL_EVENT, event);
    if (!e) return NULL;
    pthread_mutex_t *const lock = ts__cl_lock_of(e);
    pthread_mutex_lock(lock);
    ts__cl_command *const c = (ts__cl_command *)e->data;
    if (c) __atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(lock);
    return c;
}

// Assigns an event to this command; NULL: to none.
static void ts__cl_command_publish(ts__cl_handle event, ts__cl_command *c)
{
    ts__cl_entry *const e = c ? ts__cl_entry_make(TS__CL_EVENT, event)
                              : ts__cl_entry_find(TS__CL_EVENT, event);
    if (!e) return;
    pthread_mutex_t *const lock = ts__cl_lock_of(e);
    if (c) __atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(lock);
    ts__cl_command *const old = (ts__cl_command *)e->data;
    ts__cl_set(e, c);
    pthread_mutex_unlock(lock);
    ts__cl_command_free(old);
}

static void ts__cl_lost(const ts__cl_command *c, const char *why)
{
    const uint64_t now = ts_tick_now();
    ts_loss_report(c->op.track, TS_LOSS_BACKEND, why, 1, c->called[0], now);
}

// Reads the times of a complete command. Queued and submit times that are
// inconsistent are dropped.
static bool ts__cl_command_times(ts__cl_command *c, int32_t status)
{
    uint64_t t[4] = { 0, 0, 0, 0 };
    char why[64];
    if (status < 0) {
        snprintf(why, sizeof why, "a command failed with %d", status);
        ts__cl_lost(c, why);
        return false;
    }
    for (uint32_t i = 0; i < 4; i++)
        if (ts__cl.next.clGetEventProfilingInfo(
                c->event, TS__CL_PROFILING_QUEUED + i, sizeof t[i], &t[i],
                NULL) != TS__CL_SUCCESS) {
            ts__cl_lost(c, "a command has no times");
            return false;
        }
    if (!t[2] || t[3] < t[2]) {
        ts__cl_lost(c, !t[2] ? "a command has times of 0"
                             : "a command ends before it starts");
        return false;
    }
    if (t[1] > t[2]) t[1] = 0;
    if (t[0] > (t[1] ? t[1] : t[2])) t[0] = 0;
    c->op.queued = t[0];
    c->op.submitted = t[1];
    c->op.start = t[2];
    c->op.end = t[3];
    return true;
}

// Releases TraceSmith's reference; see ts__cl_clGetEventInfo.
static void ts__cl_command_release(ts__cl_command *c)
{
    __atomic_store_n(&c->held, 2, __ATOMIC_SEQ_CST);
    ts__cl.next.clReleaseEvent(c->event);
    __atomic_store_n(&c->held, 0, __ATOMIC_SEQ_CST);
}

static void ts__cl_command_report(ts__cl_command *c, int32_t status)
{
    // A command noted after the end of its session does not belong to the next.
    const bool requested = !c->lost && c->session == TS__LOAD(&ts__here.gate);
    if (requested && ts__cl_command_times(c, status)) {
        ts__cl_device_learn(c->queue->device, c, c->op.queued);
        ts_gpu_op_record(&c->op);
        for (uint32_t i = 0; i < c->free_count; i++) {
            c->op.u.memory.address = c->frees[i];
            ts_gpu_op_record(&c->op);
        }
        // release: pairs with the acquire in ts__cl_waited
        __atomic_store_n(&c->done, true, __ATOMIC_RELEASE);
    }
}

// Frees commands that were removed from a queue's list.
static void ts__cl_commands_drop(ts__cl_command *first)
{
    while (first) {
        ts__cl_command *const c = first;
        first = c->next;
        ts__cl_command_release(c);
        __atomic_sub_fetch(&c->queue->in_flight, 1, __ATOMIC_RELAXED);
        if (!c->lost) __atomic_sub_fetch(&ts__cl.pending, 1, __ATOMIC_RELAXED);
        ts__cl_command_free(c);
    }
}

// Timed waits use CLOCK_MONOTONIC, which is never set.
static void ts__cl_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &steady);
    pthread_condattr_destroy(&steady);
}

// Reserves a queue for this thread until ts__cl_looked. Returns false within a
// driver call of the thread that looks, which reports everything complete. Also
// returns false if another thread takes longer than the timeout, as when it
// waits in the driver for something that this thread does.
static bool ts__cl_look_at(ts__cl_queue *q, uint32_t patience_ms)
{
    const struct timespec until = ts_capture_deadline(patience_ms);
    bool in_time = patience_ms != 0;
    pthread_mutex_lock(&q->lock);
    while (q->looking && in_time && !pthread_equal(q->looker, pthread_self()))
        in_time = pthread_cond_timedwait(&q->looked, &q->lock, &until) == 0;
    const bool ours = !q->looking;
    if (ours) q->looker = pthread_self();
    q->looking = true;
    pthread_mutex_unlock(&q->lock);
    return ours;
}

static void ts__cl_looked(ts__cl_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->looking = false;
    pthread_cond_broadcast(&q->looked);
    pthread_mutex_unlock(&q->lock);
}

// Takes over commands enqueued since, oldest first.
static void ts__cl_queue_take(ts__cl_queue *q)
{
    // acquire: pairs with the release in ts__cl_queue_push
    ts__cl_command *c = __atomic_exchange_n(&q->fresh, NULL, __ATOMIC_ACQUIRE);
    ts__cl_command *first = NULL, *const last = c;
    while (c) {
        ts__cl_command *const next = c->next;
        c->next = first;
        first = c;
        c = next;
    }
    if (!first) return;
    *q->work_end = first;
    q->work_end = &last->next;
}

// Reports complete commands; all: also those after an incomplete one.
static void ts__cl_queue_reap_in(ts__cl_queue *q, bool all, uint32_t patience)
{
    ts__cl_command *gone = NULL;
    if (!ts__cl_look_at(q, patience)) return;
    ts__cl_queue_take(q);
    for (ts__cl_command **at = &q->work; *at;) {
        ts__cl_command *const c = *at;
        int32_t status = 1;
        const int32_t result =
            ts__cl.next.clGetEventInfo(c->event, TS__CL_EVENT_EXECUTION_STATUS,
                                       sizeof status, &status, NULL);
        if (result == TS__CL_SUCCESS && status > 0) {
            if (q->in_order && !all) break;
            at = &c->next;
            continue;
        }
        *at = c->next;
        if (!c->next) q->work_end = at;
        ts__cl_command_report(c, result < 0 ? result : status);
        c->next = gone;
        gone = c;
    }
    ts__cl_looked(q);
    ts__cl_commands_drop(gone);
}

enum { TS__CL_PATIENCE_MS = 2000 };

// Reports all commands that are complete now before it returns.
static void ts__cl_queue_reap(ts__cl_queue *q, bool all)
{
    ts__cl_queue_reap_in(q, all, TS__CL_PATIENCE_MS);
}

static void ts__cl_memory_report(void)
{
    ts__cl_memory *m =
        __atomic_exchange_n(&ts__cl.gone, NULL, __ATOMIC_ACQUIRE);
    while (m) {
        ts__cl_memory *const next = m->next;
        ts_gpu_op op;
        memset(&op, 0, sizeof op);
        op.kind = TS_EVENT_GPU_FREE;
        op.track = m->track;
        op.start = op.end = m->gone;
        op.u.memory.address = m->address;
        if (m->track && ts_filter_kind(op.kind)) ts_gpu_op_record(&op);
        free(m);
        m = next;
    }
}

// patience: ms to wait for other threads that look; 0: their queues are
// skipped.
static void ts__cl_reap(bool all, uint32_t patience)
{
    pthread_mutex_lock(&ts__cl.define);
    ts__cl_queue *q = ts__cl.queues;
    pthread_mutex_unlock(&ts__cl.define);
    for (; q; q = q->next) // queues are never removed
        if (TS__LOAD(&q->in_flight)) ts__cl_queue_reap_in(q, all, patience);
    ts__cl_memory_report();
}

/* ==== 2. The thread that looks =========================================== */

enum { TS__CL_LOOK_NS = 5000000, TS__CL_LINGER = 20 };

static bool ts__cl_busy(void)
{
    return __atomic_load_n(&ts__cl.pending, __ATOMIC_SEQ_CST) ||
           __atomic_load_n(&ts__cl.gone, __ATOMIC_SEQ_CST);
}

// Sleeps for a while or, after some time without work, until there is work.
static void ts__cl_rest(uint32_t idle, uint32_t exclusive)
{
    struct timespec until;
    if (idle < TS__CL_LINGER) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += TS__CL_LOOK_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&ts__cl.wake, &ts__cl.lock, &until);
        return;
    }
    __atomic_store_n(&ts__cl.asleep, 1, __ATOMIC_SEQ_CST);
    while (ts__cl.exclusive == exclusive && !ts__cl_busy())
        pthread_cond_wait(&ts__cl.wake, &ts__cl.lock);
    // Otherwise the flag belongs to another thread.
    if (ts__cl.exclusive == exclusive)
        __atomic_store_n(&ts__cl.asleep, 0, __ATOMIC_SEQ_CST);
}

static void *ts__cl_thread(void *arg)
{
    const uint32_t exclusive = (uint32_t)(uintptr_t)arg;
    uint32_t idle = 0;
    ts_thread_name("OpenCL reports");
    pthread_mutex_lock(&ts__cl.lock);
    while (ts__cl.exclusive == exclusive) {
        ts__cl_rest(idle, exclusive);
        if (ts__cl.exclusive != exclusive) break;
        pthread_mutex_unlock(&ts__cl.lock);
        idle = ts__cl_busy() ? 0 : idle + 1;
        ts__cl_reap(false, 0);
        pthread_mutex_lock(&ts__cl.lock);
    }
    pthread_mutex_unlock(&ts__cl.lock);
    return NULL;
}

// Starts the thread, with all signals blocked. A thread that was requested to
// end, but has not yet, does so in any case.
static void ts__cl_thread_start(void)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    void *const exclusive = (void *)(uintptr_t)++ts__cl.exclusive;
    __atomic_store_n(&ts__cl.asleep, 0, __ATOMIC_SEQ_CST);
    const bool made =
        pthread_create(&ts__cl.thread, NULL, ts__cl_thread, exclusive) == 0;
    TS__STORE(&ts__cl.runs, made);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

// Wakes the thread for new work.
static void ts__cl_call_thread(void)
{
    // Both accesses are seq_cst: either the thread sees the work or this thread
    // sees that it sleeps.
    if (TS__LIKELY(TS__LOAD(&ts__cl.runs) &&
                   !__atomic_load_n(&ts__cl.asleep, __ATOMIC_SEQ_CST)))
        return;
    pthread_mutex_lock(&ts__cl.lock);
    if (!ts__cl.runs && ts__cl_on()) ts__cl_thread_start();
    pthread_cond_broadcast(&ts__cl.wake);
    pthread_mutex_unlock(&ts__cl.lock);
}

static void ts__cl_thread_stop(void)
{
    pthread_mutex_lock(&ts__cl.lock);
    const bool runs = ts__cl.runs;
    const pthread_t thread = ts__cl.thread;
    ts__cl.exclusive++;
    TS__STORE(&ts__cl.runs, 0);
    pthread_cond_broadcast(&ts__cl.wake);
    pthread_mutex_unlock(&ts__cl.lock);
    // Bounded, because a thread may hang in the driver.
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2;
    if (runs) pthread_timedjoin_np(thread, NULL, &until);
}

static void ts__cl_queue_push(ts__cl_queue *q, ts__cl_command *c)
{
    __atomic_add_fetch(&q->in_flight, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&ts__cl.pending, 1, __ATOMIC_SEQ_CST);
    c->next = __atomic_load_n(&q->fresh, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&q->fresh, &c->next, c, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
    ts__cl_call_thread();
}

// Waits for commands in flight, at most 2 s. Those left are counted as lost,
// even if they end in a later session.
static void ts__cl_collect(void)
{
    for (uint32_t waited = 0; waited < 2000; waited++) {
        ts__cl_reap(true, 0);
        if (!__atomic_load_n(&ts__cl.pending, __ATOMIC_SEQ_CST)) return;
        const struct timespec moment = { 0, 1000000 };
        nanosleep(&moment, NULL);
    }
    for (ts__cl_queue *q = ts__cl.queues; q; q = q->next) {
        if (!ts__cl_look_at(q, TS__CL_PATIENCE_MS)) continue;
        ts__cl_queue_take(q);
        for (ts__cl_command *c = q->work; c; c = c->next) {
            if (c->lost) continue;
            c->lost = true; // later stops do not wait for it
            ts__cl_lost(c, "a command had not ended");
            __atomic_sub_fetch(&ts__cl.pending, 1, __ATOMIC_RELAXED);
        }
        ts__cl_looked(q);
    }
}

#endif // TS__OPENCL_IN_FLIGHT_H
