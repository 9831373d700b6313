/*
    gpu/driver_queries.h - what the thread that calls CUDA's driver does

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Answers one request after another: which work is in flight; what a
    context, a piece of memory or an attribute is; bytes of a device.
*/
#ifndef TS__GPU_DRIVER_QUERIES_H
#define TS__GPU_DRIVER_QUERIES_H

#include "tracesmith.h"
#include "cuda_abi.h"
#include "driver.h"
#include "records.h"

#include <pthread.h>
#include <time.h>

// Returns whether a context is being destroyed. The caller holds the lock.
static bool ts__cs_is_leaving(const ts__cs_driver *d, const void *context)
{
    const ts__cs_going *g = d->going;
    while (g && g->context != context)
        g = g->next;
    return g != NULL;
}

static inline bool ts__cs_is_going(ts__cs_driver *d, const void *context)
{
    pthread_mutex_lock(&d->lock);
    const bool going = ts__cs_is_leaving(d, context);
    pthread_mutex_unlock(&d->lock);
    return going;
}

// Marks a context as the one being queried. The caller holds the lock.
static void ts__cs_context_enter(ts__cs_driver *d, void *context)
{
    d->at = context;
    // A thread may wait for the change of context.
    if (d->going) pthread_cond_broadcast(&d->done);
}

// Gets the next stream at or after *at; false: no more.
static bool ts__cs_stream_next(ts__cs_driver *d, size_t *at, ts__cs_stream *s)
{
    pthread_mutex_lock(&d->lock);
    while (*at < d->stream_count &&
           ts__cs_is_leaving(d, d->streams[*at].context))
        ++*at;
    const bool there = *at < d->stream_count;
    if (there) *s = d->streams[(*at)++];
    ts__cs_context_enter(d, there ? s->context : d->job.context);
    pthread_mutex_unlock(&d->lock);
    return there;
}

// Returns whether the requesting thread has given up.
static inline bool ts__cs_is_silent(ts__cs_driver *d)
{
    pthread_mutex_lock(&d->lock);
    const bool silent = d->silent;
    pthread_mutex_unlock(&d->lock);
    return silent;
}

// Returns whether a stream is being recorded. This is the only query that a
// recorded stream allows: any other ends its recording. The same holds for the
// default stream while blocking streams are recorded.
static bool ts__cs_is_recorded_now(const ts__cs_driver *d, void *stream)
{
    int status = 0;
    return d->call.is_recorded &&
           (d->call.is_recorded(stream, &status) != 0 || status);
}

// Polls until a stream is idle or an event complete. Returns false on a timeout
// or if the context is being destroyed. The driver's own waiting functions are
// not called because they have no timeout.
static bool ts__cs_until_over(ts__cs_driver *d, int (*query)(void *),
                              void *what, uint64_t until_ns)
{
    struct timespec pause = { 0, 2000 };
    for (;;) {
        if (ts__cs_is_going(d, d->at)) return false;
        const int result = query(what);
        if (result != TS__CUDA_NOT_READY) return result == 0;
        if (ts__clock_now_ns(CLOCK_MONOTONIC) >= until_ns) return false;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 500000) pause.tv_nsec *= 2;
    }
}

static bool ts__cs_idle(ts__cs_driver *d, void *stream, uint64_t until_ns)
{
    return ts__cs_until_over(d, d->call.query, stream, until_ns);
}

static uint64_t ts__cs_id_of(const ts__cs_driver *d, void *context)
{
    uint64_t id = 0; // 0: drivers before CUDA 12 do not return an id
    if (d->call.context_id && d->call.context_id(context, &id) != 0) id = 0;
    return id;
}

// Returns TraceSmith's objects in a context: a stream without dependencies on
// the program's streams. NULL: the stream cannot be created.
static ts__cs_own *ts__cs_own_of(ts__cs_driver *d, void *context)
{
    const size_t most = sizeof d->owns / sizeof *d->owns;
    ts__cs_own *known = NULL, *room = NULL;
    ts__cs_own made = { .context = context };
    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < d->own_count && !known; i++) {
        ts__cs_own *const own = &d->owns[i];
        if (own->stream && own->context == context) known = own;
        if (!own->stream && !room) room = own;
    }
    if (!known && !room && d->own_count < most) room = &d->owns[d->own_count++];
    if (!known && room) room->stream = NULL;
    pthread_mutex_unlock(&d->lock);
    if (known || !room) return known;
    if (d->call.stream(&made.stream, 1) != 0) return NULL;
    made.id = ts__cs_id_of(d, context);
    pthread_mutex_lock(&d->lock);
    *room = made;
    pthread_mutex_unlock(&d->lock);
    if (d->made) d->made(context, made.stream);
    return room;
}

// Returns TraceSmith's stream at a position and makes its context the queried
// one. NULL handle: none.
static ts__cs_own ts__cs_own_at(ts__cs_driver *d, size_t at)
{
    pthread_mutex_lock(&d->lock);
    ts__cs_own own = d->owns[at];
    if (ts__cs_is_leaving(d, own.context)) own.stream = NULL;
    ts__cs_context_enter(d, own.stream ? own.context : d->job.context);
    pthread_mutex_unlock(&d->lock);
    return own;
}

// Waits until all work of a context is complete. Since CUDA 12.5 an event over
// the context can be polled. Older drivers only have a function that blocks: if
// it does not return, this thread hangs, but the requesting thread gives up in
// time. It is not called on a thread of the program, which must not hang.
static bool ts__cs_all_over(ts__cs_driver *d, ts__cs_own *own,
                            const ts__cs_job *job)
{
    const bool can = d->call.record_all && d->call.event && d->call.is_over;
    if (can && own && !own->event && d->call.event(&own->event, 2) != 0)
        own->event = NULL; // 2: without timing
    if (!can || !own || !own->event ||
        d->call.record_all(job->context, own->event) != 0)
        return !d->same && d->call.wait_all() == 0;
    return ts__cs_until_over(d, d->call.is_over, own->event, job->until_ns);
}

// Waits for streams that cannot be queried; done once until more such streams
// appear. Not done while any stream is recorded, because synchronizing a
// context ends each recording in it.
// Source: cuda.h, cuCtxRecordEvent.
static bool ts__cs_wait_left(ts__cs_driver *d, ts__cs_job *job, bool recorded)
{
    ts__cs_own *const own = ts__cs_own_of(d, job->context);
    pthread_mutex_lock(&d->lock);
    const uint32_t left = d->left;
    pthread_mutex_unlock(&d->lock);
    if (own && own->waited == left && !TS__LOAD(&d->per_thread)) return true;
    job->recorded = recorded;
    if (recorded || !ts__cs_all_over(d, own, job)) return false;
    if (own) own->waited = left;
    return true;
}

// Waits for the default streams of this context and of the contexts that have
// objects of TraceSmith's.
static bool ts__cs_drain_defaults(ts__cs_driver *d, ts__cs_job *job)
{
    bool idle = true;
    job->recorded = ts__cs_is_recorded_now(d, NULL);
    if (job->recorded || !ts__cs_idle(d, NULL, job->until_ns)) return false;
    for (size_t i = 0; i < d->own_count && idle; i++) {
        const ts__cs_own own = ts__cs_own_at(d, i);
        if (!own.stream || own.context == job->context) continue;
        if (d->call.context_set(own.context) != 0) continue;
        job->recorded = ts__cs_is_recorded_now(d, NULL);
        idle = !job->recorded && (ts__cs_idle(d, NULL, job->until_ns) ||
                                  ts__cs_is_going(d, own.context));
    }
    return d->call.context_set(job->context) == 0 && idle;
}

// Polls each stream until the timeout. A whole context is waited for only if
// threads have default streams of their own or streams were destroyed with work
// in flight.
static bool ts__cs_drain(ts__cs_driver *d, ts__cs_job *job)
{
    ts__cs_stream s = { NULL, NULL, 0, 0, false, 0 };
    bool recorded = job->recording;
    size_t at = 0;
    if (!ts__cs_drain_defaults(d, job)) return false;
    while (ts__cs_stream_next(d, &at, &s)) {
        const bool now = ts__cs_is_recorded_now(d, s.handle);
        recorded |= now;
        job->recorded = now && !s.quiet;
        if (job->recorded) return false;
        if (!now && !ts__cs_idle(d, s.handle, job->until_ns) &&
            // Its work is destroyed with the context.
            !ts__cs_is_going(d, s.context))
            return false;
    }
    if (ts__cs_is_going(d, job->context)) return false;
    return ts__cs_wait_left(d, job, recorded);
}

static bool ts__cs_status(const ts__cs_driver *d, ts__cs_job *job)
{
    job->recorded = ts__cs_is_recorded_now(d, job->object);
    return d->call.is_recorded != NULL;
}

static bool ts__cs_read(ts__cs_driver *d, const ts__cs_job *job)
{
    const ts__cs_own *const own = ts__cs_own_of(d, job->context);
    return own &&
           d->call.to_host(d->bounce, job->address, (size_t)job->size,
                           own->stream) == 0 &&
           ts__cs_idle(d, own->stream, job->until_ns);
}

// A library's kernel is not a function but has one in each context. The launch
// does not show which of the two a handle is.
static bool ts__cs_function(ts__cs_driver *d, ts__cs_job *job)
{
    void *function = job->object;
    size_t offset = 0, size = 0;
    job->module = NULL;
    job->loader = &ts__cs_here_too;
    job->called = NULL;
    job->parameter_count = 0;
    if (!d->call.module) return false;
    if (job->is_kernel || d->call.module(&job->module, function) != 0) {
        if (!d->call.kernel || d->call.kernel(&function, job->object) != 0 ||
            d->call.module(&job->module, function) != 0)
            return false;
    }
    if (!d->call.name || d->call.name(&job->called, function) != 0)
        job->called = NULL;
    if (!d->call.parameter) return false; // before CUDA 12.4
    while (job->parameter_count < TS__CS_PARAMETERS &&
           d->call.parameter(function, job->parameter_count, &offset, &size) ==
               0) {
        uint32_t *const p = job->parameters[job->parameter_count++];
        p[0] = (uint32_t)offset;
        p[1] = (uint32_t)size;
    }
    return job->parameter_count < TS__CS_PARAMETERS;
}

// Gets whether memory is managed. If a device and the host cannot use managed
// memory concurrently, the host, and so a capture, must not read it while the
// device is in use.
static ts__cs_managed ts__cs_managed_at(ts__cs_driver *d, uint64_t address)
{
    uint32_t managed = 0;
    int device = 0, can = 0;
    if (!d->call.about || d->call.about(&managed, 8, address) != 0 || !managed)
        return TS__CS_NOT_MANAGED;
    return d->call.device && d->call.can && d->call.device(&device) == 0 &&
                   d->call.can(&can, TS__CUDA_CONCURRENT, device) == 0 && can
               ? TS__CS_MANAGED
               : TS__CS_MANAGED_ALONE;
}

static bool ts__cs_global(ts__cs_driver *d, ts__cs_job *job)
{
    size_t size = 0;
    if (!d->call.global ||
        d->call.global(&job->address, &size, job->object, job->name) != 0)
        return false;
    job->size = size;
    job->managed = ts__cs_managed_at(d, job->address);
    return true;
}

// Finds an allocation that was not seen: made before the session or by a
// function that is not followed.
static bool ts__cs_allocation(ts__cs_driver *d, ts__cs_job *job)
{
    uint64_t base = 0;
    size_t size = 0;
    void *owner = NULL;
    job->memory_type = 0;
    if (d->call.about && d->call.about(&job->memory_type, 2, job->address) != 0)
        job->memory_type = 0;
    job->owner = job->context;
    if (d->call.about && d->call.about(&owner, 1, job->address) == 0)
        job->owner = owner;
    if (!d->call.about || d->call.about(&job->device, 9, job->address) != 0)
        job->device = -1;
    job->managed = ts__cs_managed_at(d, job->address);
    // Wherever its pages are now.
    if (job->managed) job->memory_type = TS__CUDA_DEVICE;
    if (job->memory_type != TS__CUDA_DEVICE || !d->call.range ||
        d->call.range(&base, &size, job->address) != 0)
        return false;
    job->address = base;
    job->size = size;
    return true;
}

static bool ts__cs_answer(ts__cs_driver *d, ts__cs_job *job)
{
    if (d->call.context_set(job->context) != 0) return false;
    switch (job->what) {
    case TS__CS_TEST:
        return ts__cs_is_recorded_now(d, NULL) || d->call.query(NULL) != 1;
    case TS__CS_DRAIN: return ts__cs_drain(d, job);
    case TS__CS_READ: return ts__cs_read(d, job);
    case TS__CS_FUNCTION: return ts__cs_function(d, job);
    case TS__CS_GLOBAL: return ts__cs_global(d, job);
    case TS__CS_STATUS: return ts__cs_status(d, job);
    case TS__CS_QUIET: return ts__cs_idle(d, job->object, job->until_ns);
    case TS__CS_OWN: return job->own(job);
    default: return ts__cs_allocation(d, job);
    }
}

// Frees a result that arrived after the timeout. The caller holds the lock.
static void ts__cs_unfetched(const ts__cs_driver *d)
{
    const ts__cs_job *const job = &d->job;
    if (d->silent && job->what == TS__CS_OWN && job->drop && job->found)
        job->drop(job->found);
}

static void *ts__cs_work(void *user)
{
    ts__cs_driver *const d = (ts__cs_driver *)user;
    // Relaxed mode: calls are permitted while streams are recorded.
    int relaxed = 2;
    ts__cs_mine = true;
    pthread_setname_np(pthread_self(), "ts-capture");
    if (d->call.mode) d->call.mode(&relaxed);
    pthread_mutex_lock(&d->lock);
    for (;;) {
        while (!d->busy && !d->leave)
            pthread_cond_wait(&d->wake, &d->lock);
        if (d->leave) break;
        pthread_mutex_unlock(&d->lock);
        // No other thread accesses the job meanwhile.
        d->job.ok = ts__cs_answer(d, &d->job);
        pthread_mutex_lock(&d->lock);
        ts__cs_unfetched(d);
        d->busy = false;
        pthread_cond_broadcast(&d->done);
    }
    d->running = d->busy = false; // a request that arrives now fails
    pthread_cond_broadcast(&d->done);
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

#endif // TS__GPU_DRIVER_QUERIES_H
