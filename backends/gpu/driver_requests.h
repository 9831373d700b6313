/*
    gpu/driver_requests.h - requests to CUDA's driver, from any thread, in
    bounded time

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    A driver that does not answer, because it holds a lock over the
    callback, costs one such time: after that, operations are declined.
*/
#ifndef TS__GPU_DRIVER_REQUESTS_H
#define TS__GPU_DRIVER_REQUESTS_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "driver.h"
#include "driver_queries.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool ts__cs_driver_ready(ts__cs_driver *d)
{
    if (!d->bounce)
        d->bounce = (uint8_t *)malloc(TS_CAPTURE_CHUNK + TS_CAPTURE_HIDDEN);
    return d->call.context_set && d->call.query && d->call.wait_all &&
           d->call.stream && d->call.to_host && d->bounce;
}

// Finds the CUDA driver that the program has loaded.
static inline bool ts__cs_driver_find(ts__cs_driver *d)
{
    void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!library) return false;
    ts__cs_calls call;
#define TS__X(name, symbol, arguments) \
    { \
        void *const found = dlsym(library, symbol); \
        memcpy(&call.name, &found, sizeof found); \
    }
    TS__CS_CALLS(TS__X)
#undef TS__X
    // Written only if it changes: the calling thread may be reading it.
    if (memcmp(&d->call, &call, sizeof call) != 0) d->call = call;
    return ts__cs_driver_ready(d);
}

static bool ts__cs_driver_start(ts__cs_driver *d)
{
    sigset_t all, old;
    if (d->running) return true;
    d->leave = d->busy = false;
    sigfillset(&all);
    // The new thread inherits this mask and takes no signals.
    pthread_sigmask(SIG_SETMASK, &all, &old);
    d->running = pthread_create(&d->thread, NULL, ts__cs_work, d) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return d->running;
}

// Drops the objects kept from another vendor or another copy of the library.
static void ts__cs_driver_anew(ts__cs_driver *d)
{
    pthread_mutex_lock(&d->lock);
    memset(d->owns, 0, sizeof d->owns);
    d->own_count = d->stream_count = 0;
    pthread_mutex_unlock(&d->lock);
}

// Called when a session begins.
static void ts__cs_driver_begin(ts__cs_driver *d, uint32_t session, bool anew,
                                void (*made)(void *context, void *stream))
{
    if (anew) ts__cs_driver_anew(d);
    pthread_mutex_lock(&d->lock);
    d->per_thread = 0;
    d->same = false;
    d->left++;
    d->session = session;
    d->made = made;
    pthread_mutex_unlock(&d->lock);
}

static void ts__cs_driver_stop(ts__cs_driver *d)
{
    pthread_mutex_lock(&d->lock);
    const bool running = d->running, busy = d->busy;
    // A copy, because a late call may start another thread.
    const pthread_t thread = d->thread;
    d->leave = true;
    pthread_cond_broadcast(&d->wake);
    pthread_mutex_unlock(&d->lock);
    if (running && !busy) pthread_join(thread, NULL);
    if (running && busy) pthread_detach(thread);
}

// Answers a request on the calling thread and restores its current context. The
// driver calls made here are not reported as the program's.
static inline bool ts__cs_answer_here(ts__cs_driver *d, ts__cs_job *job)
{
    void *before = NULL;
    int relaxed = 2;
    bool ok = false;
    ts__cs_mine = true;
    if (d->call.context_now(&before) == 0) {
        if (d->call.mode) d->call.mode(&relaxed);
        ok = ts__cs_answer(d, job);
        if (d->call.mode) d->call.mode(&relaxed);
        d->call.context_set(before);
    }
    ts__cs_mine = false;
    return ok;
}

// For drivers that do not answer other threads during a call because they hold
// a lock of the context: the calling thread makes the request itself. It never
// calls a driver function that blocks.
static inline bool ts__cs_request_here(ts__cs_driver *d, ts__cs_job *job,
                                       uint64_t until_ns)
{
    const struct timespec until = ts__cs_time(until_ns);
    bool in_time = true;
    pthread_mutex_lock(&d->lock);
    while (d->taken && in_time)
        in_time = pthread_cond_timedwait(&d->done, &d->lock, &until) == 0;
    const bool mine = !d->taken && !ts__cs_is_leaving(d, job->context);
    if (mine) d->taken = true;
    if (mine) d->silent = false;
    if (mine) d->at = job->context;
    pthread_mutex_unlock(&d->lock);
    if (!mine) return false;
    job->until_ns = until_ns;
    job->ok = ts__cs_answer_here(d, job);
    pthread_mutex_lock(&d->lock);
    d->taken = false;
    pthread_cond_broadcast(&d->done);
    pthread_mutex_unlock(&d->lock);
    return job->ok;
}

// Makes a request and waits for the answer in *job, at most until `until_ns`.
// Returns false if the driver refuses or does not answer. While a request is
// unanswered, no other is made.
static bool ts__cs_request(ts__cs_driver *d, ts__cs_job *job, uint64_t until_ns)
{
    const struct timespec until = ts__cs_time(until_ns);
    bool in_time = true, ok = false;
    if (TS__LOAD(&d->same)) return ts__cs_request_here(d, job, until_ns);
    pthread_mutex_lock(&d->lock);
    if (!d->busy) d->silent = false; // the late answer has arrived
    while ((d->busy || d->taken) && in_time && !d->silent)
        in_time = pthread_cond_timedwait(&d->done, &d->lock, &until) == 0;
    if (!d->busy && !d->taken && !d->silent &&
        !ts__cs_is_leaving(d, job->context) && ts__cs_driver_start(d)) {
        job->until_ns = until_ns;
        job->ok = false;
        d->job = *job;
        d->at = job->context;
        d->busy = d->taken = true;
        pthread_cond_signal(&d->wake);
        // Slightly longer than the timeout of the other thread.
        const struct timespec end = ts__cs_time(until_ns + 200000000u);
        in_time = true;
        while (d->busy && in_time)
            in_time = pthread_cond_timedwait(&d->done, &d->lock, &end) == 0;
        if (d->busy) d->silent = true;
        if (!d->busy) *job = d->job;
        ok = !d->busy && job->ok;
        d->taken = false;
        pthread_cond_broadcast(&d->done);
    }
    pthread_mutex_unlock(&d->lock);
    return ok;
}

#endif // TS__GPU_DRIVER_REQUESTS_H
