/*
    gpu/contexts.h - forgets what a context owns before it is destroyed

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    A context takes along its streams, memory, modules, textures and nodes
    of graphs, and handles and addresses are reused. So all of that is
    forgotten on the destroying thread, when no request is in the context
    and no capture is active.

    Tensor maps are kept: they are bytes of the program, of no context. So
    is memory of pools, or mapped.
*/
#ifndef TS__GPU_CONTEXTS_H
#define TS__GPU_CONTEXTS_H

#include "../ts_capture.h"
#include "driver.h"
#include "driver_queries.h"
#include "modules.h"
#include "state.h"
#include "waiting.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

// Forgets the streams and own objects of a context. The caller holds the lock.
static void ts__cs_context_forget(ts__cs_driver *d, const void *context)
{
    size_t kept = 0;
    for (size_t i = 0; i < d->stream_count; i++)
        if (d->streams[i].context != context)
            d->streams[kept++] = d->streams[i];
    d->stream_count = kept;
    for (size_t i = 0; i < d->own_count; i++)
        if (d->owns[i].stream && d->owns[i].context == context)
            memset(&d->owns[i], 0, sizeof d->owns[i]);
}

// From now on no request enters this context. Waits until the present request
// has left it, unless the driver did not answer that one in time.
static inline void ts__cs_going_begin(ts__cs_driver *d, ts__cs_going *going,
                                      uint64_t until_ns)
{
    const struct timespec until = ts__cs_time(until_ns);
    bool in_time = true;
    pthread_mutex_lock(&d->lock);
    going->next = d->going;
    d->going = going;
    while (in_time && (d->busy ? !d->silent : d->same && d->taken) &&
           (d->at == going->context || d->job.context == going->context))
        in_time = pthread_cond_timedwait(&d->done, &d->lock, &until) == 0;
    pthread_mutex_unlock(&d->lock);
}

static inline void ts__cs_going_end(ts__cs_driver *d, const ts__cs_going *going)
{
    pthread_mutex_lock(&d->lock);
    ts__cs_context_forget(d, going->context);
    ts__cs_going **link = &d->going;
    while (*link != going)
        link = &(*link)->next;
    *link = going->next;
    pthread_mutex_unlock(&d->lock);
}

// The caller holds `memory_lock`.
static inline void ts__cs_memory_left(const void *context)
{
    size_t kept = 0;
    for (size_t i = 0; i < ts__cs.range_count; i++) {
        const ts__cs_range r = ts__cs.ranges[i];
        if (r.context != context)
            ts__cs.ranges[kept++] = r;
        else if (!r.host)
            ts_capture_free(&ts__cs.memory, r.address);
    }
    ts__cs.range_count = kept;
    kept = 0;
    for (size_t i = 0; i < ts__cs.texture_count; i++)
        if (ts__cs.textures[i].context != context)
            ts__cs.textures[kept++] = ts__cs.textures[i];
    ts__cs.texture_count = kept;
}

// This thread begins to destroy a context.
static inline void ts__cs_context_left(void *context)
{
    ts__cs_going going = { context, NULL };
    if (!context || !ts__cs_is_on() || ts__cs_mine) return;
    const uint64_t until = ts__cs_until();
    ts__cs_going_begin(&ts__cs.driver, &going, until);
    pthread_mutex_lock(&ts__cs.exclusive_lock);
    ts__cs_wait_while(&ts__cs.capturing, NULL, until);
    pthread_mutex_unlock(&ts__cs.exclusive_lock);
    const ts__cs_graph_calls *const graphs = ts__cs.vendor->graphs;
    if (graphs && graphs->left) graphs->left(context);
    pthread_mutex_lock(&ts__cs.memory_lock);
    ts__cs_memory_left(context);
    ts__cs_modules_go(&ts__cs.code, NULL, context, false);
    ts__cs_variables_go(&ts__cs.code, &ts__cs.memory);
    ts__cs_attributes_go(&ts__cs.code, context, NULL, false);
    pthread_mutex_unlock(&ts__cs.memory_lock);
    ts__cs_going_end(&ts__cs.driver, &going);
}

static bool ts__cs_is_among(void *const *all, size_t count, const void *one)
{
    size_t at = 0;
    while (at < count && all[at] != one)
        at++;
    return at < count;
}

// Contexts that were destroyed between sessions were not seen, and a new one
// may have the same handle. Drops our objects in each context that cannot be
// verified to be the same. Runs on the thread that calls the driver.
static bool ts__cs_age(ts__cs_job *job)
{
    ts__cs_driver *const d = &ts__cs.driver;
    size_t known = 0, kept = 0;
    void *same[sizeof d->owns / sizeof *d->owns];
    for (size_t i = 0; i < d->own_count; i++) {
        const ts__cs_own own = ts__cs_own_at(d, i);
        if (!own.stream) continue;
        if (!own.id || ts__cs_id_of(d, own.context) != own.id) {
            // The context that now has this handle may already have loaded
            // modules.
            if (!own.id) continue;
            ts__cs_modules_go(&ts__cs.code, NULL, own.context, true);
            ts__cs_attributes_go(&ts__cs.code, own.context, NULL, true);
            continue;
        }
        if (d->made) d->made(own.context, own.stream);
        same[known++] = own.context;
    }
    pthread_mutex_lock(&d->lock);
    ts__cs_context_enter(d, job->context);
    for (size_t i = 0; i < d->own_count; i++)
        if (!ts__cs_is_among(same, known, d->owns[i].context))
            memset(&d->owns[i], 0, sizeof d->owns[i]);
    for (size_t i = 0; i < d->stream_count; i++)
        if (d->streams[i].session == d->session ||
            ts__cs_is_among(same, known, d->streams[i].context))
            d->streams[kept++] = d->streams[i];
    d->stream_count = kept;
    pthread_mutex_unlock(&d->lock);
    return true;
}

#endif // TS__GPU_CONTEXTS_H
