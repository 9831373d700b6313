/*
    gpu/streams.h - the streams of the program, which captures must wait for

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__GPU_STREAMS_H
#define TS__GPU_STREAMS_H

#include "tracesmith.h"
#include "driver.h"

#include <pthread.h>
#include <stdlib.h>

static void ts__cs_stream_add(ts__cs_driver *d, const ts__cs_stream *stream)
{
    pthread_mutex_lock(&d->lock);
    if (d->stream_count == d->stream_capacity) {
        const size_t capacity = d->stream_capacity * 2 + 16;
        ts__cs_stream *const more =
            (ts__cs_stream *)realloc(d->streams, capacity * sizeof *more);
        if (more) {
            d->streams = more;
            d->stream_capacity = capacity;
        }
    }
    if (d->stream_count < d->stream_capacity) {
        d->streams[d->stream_count] = *stream;
        d->streams[d->stream_count++].session = d->session;
    }
    pthread_mutex_unlock(&d->lock);
}

static bool ts__cs_stream_is_known(ts__cs_driver *d, const void *handle)
{
    bool known = false;
    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < d->stream_count && !known; i++)
        known = d->streams[i].handle == handle;
    pthread_mutex_unlock(&d->lock);
    return known;
}

static void ts__cs_stream_quiet(ts__cs_driver *d, const void *handle,
                                bool quiet)
{
    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < d->stream_count; i++)
        if (d->streams[i].handle == handle) d->streams[i].quiet = quiet;
    pthread_mutex_unlock(&d->lock);
}

static void ts__cs_stream_remove(ts__cs_driver *d, const void *handle)
{
    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < d->stream_count; i++)
        if (d->streams[i].handle == handle)
            d->streams[i] = d->streams[--d->stream_count];
    d->left++; // a destroyed stream still finishes its work
    pthread_mutex_unlock(&d->lock);
}

// Returns the state of a stream. The default stream is recognized by its
// handle.
static ts__cs_stream ts__cs_stream_of(ts__cs_driver *d, void *handle,
                                      bool per_thread)
{
    ts__cs_stream found = { handle, NULL, 0, 0, false, 0 };
    const uintptr_t number = (uintptr_t)handle;
    if ((!number && !per_thread) || number == 1)
        found.flags = TS_STREAM_LEGACY_DEFAULT;
    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < d->stream_count; i++)
        if (d->streams[i].handle == handle && number > 2) found = d->streams[i];
    pthread_mutex_unlock(&d->lock);
    return found;
}

#endif // TS__GPU_STREAMS_H
