/*
    opencl/session.h - the backend and the layer of ts_opencl.h

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__OPENCL_SESSION_H
#define TS__OPENCL_SESSION_H

#include "tracesmith.h"
#include "abi.h"
#include "capture.h"
#include "capture_kernels.h"
#include "capture_state.h"
#include "commands.h"
#include "copies.h"
#include "device_hash.h"
#include "in_flight.h"
#include "kernels.h"
#include "launches.h"
#include "memory.h"
#include "objects.h"
#include "programs.h"
#include "queues.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static ts_result ts__cl_start(char *why, size_t room)
{
    (void)why, (void)room;
    return TS_OK;
}

static void ts__cl_flush(void)
{
    if (!TS__LOAD(&ts__cl.off)) ts__cl_reap(true, TS__CL_PATIENCE_MS);
}

const ts_backend ts_opencl_backend = { "opencl", ts__cl_start, ts__cl_flush,
                                       ts__cl_stop };

// A child process after fork() has none of the driver's threads: it cannot use
// OpenCL and is not recorded.
static void ts__cl_child(void)
{
    ts__cl.off = 1;
    ts__cl.runs = 0;
}

static void ts__cl_listen(void)
{
    for (int i = 0; i < TS__CL_LOCKS; i++)
        pthread_mutex_init(&ts__cl.locks[i], NULL);
    ts__cl_capture_once();
    pthread_atfork(NULL, NULL, ts__cl_child);
    ts_backend_add(&ts_opencl_backend);
}

static void ts__cl_listen_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ts__cl_listen);
    if (TS__LOAD(&ts__cl.off) != TS__CL_UNLOADED) return;
    TS__STORE(&ts__cl.closing, 0);
    TS__STORE(&ts__cl.off, 0);
}

int32_t ts_opencl_layer_info(uint32_t what, size_t room, void *value,
                             size_t *size)
{
    static const char name[] = "TraceSmith";
    const uint32_t version = TS__CL_LAYER_API_VERSION_100;
    const void *from = NULL;
    size_t has = 0;
    if (what == TS__CL_LAYER_API_VERSION) from = &version, has = sizeof version;
    if (what == TS__CL_LAYER_NAME) from = name, has = sizeof name;
    if (!from || (value && room < has)) return TS__CL_INVALID_VALUE;
    if (value) memcpy(value, from, has);
    if (size) *size = has;
    return TS__CL_SUCCESS;
}

enum { TS__CL_TABLE = 256 }; // number of functions in the loader's table

// Reads the loader's table and copies it with our functions in place.
int32_t ts_opencl_layer_init(uint32_t count, const void *const *target,
                             uint32_t *count_out, const void *const **table,
                             bool listen)
{
    static const void *ours[TS__CL_TABLE];
    if (!target || !count_out || !table) return TS__CL_INVALID_VALUE;
    if (count > TS__CL_TABLE) count = TS__CL_TABLE;
    memcpy(ours, target, count * sizeof *ours);
    *count_out = count;
    *table = ours;
    if (!listen) return TS__CL_SUCCESS;
#define TS__X(place, type, name, params) \
    if (place < count) \
        memcpy(&ts__cl.next.name, &target[place], sizeof(void *));
    TS__CL_HOOKED(TS__X)
    TS__CL_QUERIED(TS__X)
#undef TS__X
#define TS__X(place, type, name, params) \
    if (place < count && target[place]) { \
        type(*const function) params = ts__cl_##name; \
        memcpy(&ours[place], &function, sizeof function); \
    }
    TS__CL_HOOKED(TS__X)
#undef TS__X
    ts__cl_listen_once();
    return TS__CL_SUCCESS;
}

// The driver is being unloaded, so unfinished commands never end.
void ts_opencl_layer_end(void)
{
    if (TS__LOAD(&ts__cl.off)) return;
    ts__cl_stop();
    TS__STORE(&ts__cl.off, TS__CL_UNLOADED);
    ts__cl_hash_end();
    pthread_mutex_lock(&ts__cl_cap.lock);
    ts__cl_cap.event_count = ts__cl_cap.followed_count = 0;
    ts__cl_cap.mapped_count = 0;
    pthread_mutex_unlock(&ts__cl_cap.lock);
    for (ts__cl_queue *q = ts__cl.queues; q; q = q->next) {
        pthread_mutex_lock(&q->lock);
        q->refs = 0;
        pthread_mutex_unlock(&q->lock);
        if (!ts__cl_look_at(q, TS__CL_PATIENCE_MS)) continue;
        ts__cl_queue_take(q);
        while (q->work) {
            ts__cl_command *const c = q->work;
            q->work = c->next;
            __atomic_sub_fetch(&q->in_flight, 1, __ATOMIC_RELAXED);
            if (!c->lost)
                __atomic_sub_fetch(&ts__cl.pending, 1, __ATOMIC_RELAXED);
            ts__cl_command_free(c);
        }
        q->work_end = &q->work;
        ts__cl_looked(q);
    }
}

#ifdef TRACESMITH_OPENCL
/*
    Defines the loader's function names, so that the program and its libraries
    call these, which call the loader's. They have other names in C, because the
    program may include CL/cl.h, which declares other types. A program that gets
    the functions by dlsym from a handle of its own is not seen; OPENCL_LAYERS
    works there.
*/
#define TS__X(place, type, name, params) \
    extern __typeof__(ts__cl_##name) ts__cl_export_##name __asm__(#name) \
        __attribute__((alias("ts__cl_" #name), visibility("default")));
TS__CL_HOOKED(TS__X)
#undef TS__X

__attribute__((constructor(101))) static void ts__cl_claim(void)
{
    void *found;
#define TS__X(place, type, name, params) \
    found = dlsym(RTLD_NEXT, #name); \
    memcpy(&ts__cl.next.name, &found, sizeof found);
    TS__CL_HOOKED(TS__X)
    TS__CL_QUERIED(TS__X)
#undef TS__X
    if (ts__cl.next.clCreateContext) ts__cl_listen_once();
}
#endif

#endif // TS__OPENCL_SESSION_H
