/*
    cupti/engines.h - an engine for each vendor, and its buffers

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__CUPTI_ENGINES_H
#define TS__CUPTI_ENGINES_H

#include "tracesmith.h"
#include "../gpu/records.h"
#include "records.h"
#include "vendors.h"

// CUPTI requests a buffer on a thread of the program. So this takes no lock and
// allocates nothing: a bit of `free` is a buffer. If none is free, CUPTI gets
// one that is never read, because some versions (CUDA 12.9) crash without a
// buffer; its records are counted as lost.
static void ts__cu_request(ts__cu *u, uint8_t **buffer, size_t *size,
                           size_t *count)
{
    uint32_t free = TS__LOAD(&u->free);
    *count = 0; // 0: as many records as fit
    while (free & u->usable) {
        const uint32_t i = (uint32_t)__builtin_ctz(free & u->usable);
        // acquire: pairs with the release in ts__cu_decode
        if (!__atomic_compare_exchange_n(&u->free, &free, free & ~(1u << i),
                                         true, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        *buffer = ts__cu_buffer(u, i);
        *size = u->buffer_bytes;
        return;
    }
    *buffer = u->discard;
    *size = TS__CU_DISCARD;
    ts__worker_wake(&u->worker.wake);
}

static void ts__cu_complete(ts__cu *u, uint8_t *buffer, size_t valid)
{
    if (buffer == u->discard) {
        __atomic_fetch_add(&u->discarded, valid, __ATOMIC_RELAXED);
        return;
    }
    const size_t i = (size_t)(buffer - u->pool) / TS__CU_STRIDE;
    if (buffer < u->pool || i >= TS__CU_BUFFERS) return; // not one of the pool
    u->valid[i] = valid;
    // release: the buffer's contents; pairs with the acquire in
    // ts__cu_decode_all
    __atomic_fetch_or(&u->full, 1u << i, __ATOMIC_RELEASE);
    ts__worker_wake(&u->worker.wake);
}

// CUPTI's buffer callbacks have no user pointer, so each engine has its own
// functions.
#define TS__CU_ENGINE(vendor) \
    static ts__cu ts__##vendor; \
    static void ts__##vendor##_requested(uint8_t **buffer, size_t *size, \
                                         size_t *count) \
    { \
        ts__cu_request(&ts__##vendor, buffer, size, count); \
    } \
    static void ts__##vendor##_completed(void *context, uint32_t stream, \
                                         uint8_t *buffer, size_t size, \
                                         size_t valid) \
    { \
        (void)context; \
        (void)stream; \
        (void)size; \
        ts__cu_complete(&ts__##vendor, buffer, valid); \
    } \
    static ts__cu ts__##vendor = { .table = &ts__##vendor##_table, \
                                   .requested = ts__##vendor##_requested, \
                                   .completed = ts__##vendor##_completed, \
                                   .decode = PTHREAD_MUTEX_INITIALIZER }
TS__CU_ENGINE(cupti);
TS__CU_ENGINE(mcpti);

#endif // TS__CUPTI_ENGINES_H
