/*
    opencl/queues.h - queues that a program made, and the end of the process

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__OPENCL_QUEUES_H
#define TS__OPENCL_QUEUES_H

#include "tracesmith.h"
#include "abi.h"
#include "calls.h"
#include "devices.h"
#include "in_flight.h"
#include "objects.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ts__cl_queue *ts__cl_queue_new(ts__cl_entry *entry)
{
    ts__cl_queue *const q = (ts__cl_queue *)calloc(1, sizeof *q);
    if (!q) return NULL;
    q->handle = entry->handle;
    q->work_end = &q->work;
    pthread_mutex_init(&q->lock, NULL);
    ts__cl_cond_init(&q->looked);
    pthread_mutex_init(&q->order_lock, NULL);
    pthread_mutex_lock(&ts__cl.define);
    q->next = ts__cl.queues;
    ts__cl.queues = q;
    pthread_mutex_unlock(&ts__cl.define);
    ts__cl_set(entry, q);
    return q;
}

static void ts__cl_stop(void)
{
    if (TS__LOAD(&ts__cl.off)) return;
    TS__STORE(&ts__cl.closing, TS__LOAD(&ts__here.gate));
    ts__cl_thread_stop();
    ts__cl_collect();
    ts__cl_devices_report();
    const uint64_t launches =
        __atomic_exchange_n(&ts__cl.launches, 0, __ATOMIC_RELAXED);
    if (launches) ts_metadata_int(0, "opencl.launches", (int64_t)launches);
    const uint32_t refused = TS__LOAD(&ts__cl.refused);
    if (refused) ts_metadata_int(0, "opencl.queues_without_times", refused);
}

// Runs before the driver's exit handlers, which were registered earlier.
static void ts__cl_exit(void)
{
    ts__cl_stop();
    TS__STORE(&ts__cl.off, 1);
}

// Registers the exit handler when the driver's handlers exist already, so that
// it runs before them.
static void ts__cl_queue_first(void)
{
    atexit(ts__cl_exit);
}

// Adds a queue that the program created; forced: profiling was enabled by
// TraceSmith.
static void ts__cl_queue_define(ts__cl_handle handle, ts__cl_handle context,
                                ts__cl_handle device, uint64_t properties,
                                bool forced)
{
    ts__cl_entry *const e =
        handle ? ts__cl_entry_make(TS__CL_QUEUE, handle) : NULL;
    ts__cl_queue *q = e ? (ts__cl_queue *)e->data : NULL;
    if (!e || (!q && !(q = ts__cl_queue_new(e)))) return;
    ts__cl_queue_reap(q, true); // commands of an earlier queue with this handle
    pthread_mutex_lock(&q->lock);
    q->refs = 0;
    pthread_mutex_unlock(&q->lock);
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ts__cl_queue_first);
    char name[48];
    q->device = ts__cl_device_get(device);
    q->number = ts__cl_number(TS__CL_QUEUE);
    q->in_order = !(properties & TS__CL_QUEUE_OUT_OF_ORDER);
    q->timed = q->device && properties & TS__CL_QUEUE_PROFILING;
    q->forced = forced;
    q->array_count = 0;
    q->barrier = q->next_barrier = 0;
    q->since_count = 0;
    snprintf(name, sizeof name, "queue %u", q->number);
    const ts_gpu_stream_desc desc = {
        name, ts__cl_context_track(context, q->device), q->number, 0,
        TS_STREAM_NON_BLOCKING | (q->in_order ? 0 : TS_STREAM_OUT_OF_ORDER)
    };
    q->track = ts_gpu_stream_define(&desc);
    if (!q->timed) __atomic_add_fetch(&ts__cl.refused, 1, __ATOMIC_RELAXED);
}

// Adds a queue whose creation was not seen.
static ts__cl_queue *ts__cl_queue_learn(ts__cl_handle handle)
{
    ts__cl_handle context = NULL, device = NULL;
    uint64_t properties = 0;
    if (ts__cl.next.clGetCommandQueueInfo(handle, TS__CL_QUEUE_CONTEXT,
                                          sizeof context, &context, NULL) ||
        ts__cl.next.clGetCommandQueueInfo(handle, TS__CL_QUEUE_DEVICE,
                                          sizeof device, &device, NULL) ||
        ts__cl.next.clGetCommandQueueInfo(handle, TS__CL_QUEUE_PROPERTIES,
                                          sizeof properties, &properties, NULL))
        return NULL;
    ts__cl_queue_define(handle, context, device, properties, false);
    return (ts__cl_queue *)ts__cl_find(TS__CL_QUEUE, handle);
}

static ts__cl_queue *ts__cl_queue_get(ts__cl_handle handle)
{
    ts__cl_queue *const q = (ts__cl_queue *)ts__cl_find(TS__CL_QUEUE, handle);
    return q || !handle ? q : ts__cl_queue_learn(handle);
}

// The program has created the queue and holds a reference.
static void ts__cl_queue_made(ts__cl_handle handle)
{
    ts__cl_queue *const q = (ts__cl_queue *)ts__cl_find(TS__CL_QUEUE, handle);
    if (!q) return;
    pthread_mutex_lock(&q->lock);
    q->refs = 1;
    pthread_mutex_unlock(&q->lock);
}

static ts__cl_handle ts__cl_clCreateCommandQueue(ts__cl_handle context,
                                                 ts__cl_handle device,
                                                 uint64_t properties,
                                                 int32_t *error)
{
    ts__cl_call call;
    int32_t own = 0, *const result = error ? error : &own;
    uint64_t with = properties | TS__CL_QUEUE_PROFILING;
    ts__cl_enter(&call, TS__CL_clCreateCommandQueue);
    ts__cl_handle queue =
        ts__cl.next.clCreateCommandQueue(context, device, with, result);
    if (!queue && with != properties) {
        with = properties;
        queue = ts__cl.next.clCreateCommandQueue(context, device, with, result);
    }
    if (queue && !TS__LOAD(&ts__cl.off)) {
        ts__cl_queue_define(queue, context, device, with, with != properties);
        ts__cl_queue_made(queue);
    }
    ts__cl_leave(&call, *result);
    return queue;
}

// Copies the property list and adds profiling. Returns the number of elements
// of the program's list with the terminating 0; 0: too long, or nothing to
// change.
static uint32_t ts__cl_properties(const uint64_t *given, uint64_t *with,
                                  uint64_t *properties)
{
    uint32_t count = 0;
    bool found = false;
    *properties = 0;
    for (; given && given[count]; count += 2) {
        if (count + 5 > 32) return 0;
        with[count] = given[count];
        with[count + 1] = given[count + 1];
        if (given[count] != TS__CL_QUEUE_PROPERTIES) continue;
        found = true;
        *properties = given[count + 1];
        with[count + 1] |= TS__CL_QUEUE_PROFILING;
    }
    if (!found) {
        with[count] = TS__CL_QUEUE_PROPERTIES;
        with[count + 1] = TS__CL_QUEUE_PROFILING;
    }
    with[count + (found ? 0 : 2)] = 0;
    return *properties & TS__CL_QUEUE_ON_DEVICE ? 0 : count + 1;
}

static ts__cl_handle
ts__cl_clCreateCommandQueueWithProperties(ts__cl_handle context,
                                          ts__cl_handle device,
                                          const uint64_t *given, int32_t *error)
{
    ts__cl_call call;
    int32_t own = 0, *const result = error ? error : &own;
    uint64_t with[32], properties;
    const uint32_t count = ts__cl_properties(given, with, &properties);
    ts__cl_enter(&call, TS__CL_clCreateCommandQueueWithProperties);
    ts__cl_handle queue = NULL;
    if (count)
        queue = ts__cl.next.clCreateCommandQueueWithProperties(context, device,
                                                               with, result);
    const bool forced = queue && !(properties & TS__CL_QUEUE_PROFILING);
    if (!queue)
        queue = ts__cl.next.clCreateCommandQueueWithProperties(context, device,
                                                               given, result);
    if (queue && !TS__LOAD(&ts__cl.off) &&
        !(properties & TS__CL_QUEUE_ON_DEVICE)) {
        if (forced) properties |= TS__CL_QUEUE_PROFILING;
        ts__cl_queue_define(queue, context, device, properties, forced);
        ts__cl_queue_made(queue);
        ts__cl_queue *const q =
            (ts__cl_queue *)ts__cl_find(TS__CL_QUEUE, queue);
        if (q && forced && given) {
            memcpy(q->array, given, count * sizeof *given);
            q->array_count = count;
        }
    }
    ts__cl_leave(&call, *result);
    return queue;
}

// Returns the properties that the program requested.
static int32_t ts__cl_clGetCommandQueueInfo(ts__cl_handle queue, uint32_t what,
                                            size_t room, void *value,
                                            size_t *size)
{
    const ts__cl_queue *const q =
        (const ts__cl_queue *)ts__cl_find(TS__CL_QUEUE, queue);
    if (q && q->forced && what == TS__CL_QUEUE_PROPERTIES_ARRAY) {
        const size_t has = q->array_count * sizeof *q->array;
        const int32_t result =
            ts__cl.next.clGetCommandQueueInfo(queue, what, 0, NULL, NULL);
        if (result != TS__CL_SUCCESS) return result;
        if (value && room < has) return TS__CL_INVALID_VALUE;
        if (value) memcpy(value, q->array, has);
        if (size) *size = has;
        return TS__CL_SUCCESS;
    }
    const int32_t result =
        ts__cl.next.clGetCommandQueueInfo(queue, what, room, value, size);
    if (result == TS__CL_SUCCESS && value && q && q->forced &&
        what == TS__CL_QUEUE_PROPERTIES) {
        uint64_t properties;
        memcpy(&properties, value, sizeof properties);
        properties &= ~(uint64_t)TS__CL_QUEUE_PROFILING;
        memcpy(value, &properties, sizeof properties);
    }
    return result;
}

// OpenCL 1.0: profiling stays enabled; notes whether the program or TraceSmith
// wants it.
static int32_t ts__cl_clSetCommandQueueProperty(ts__cl_handle queue,
                                                uint64_t properties,
                                                uint32_t enable, uint64_t *old)
{
    ts__cl_queue *const q = (ts__cl_queue *)ts__cl_find(TS__CL_QUEUE, queue);
    const bool forced = q && q->forced;
    const bool ours = q && q->timed && properties & TS__CL_QUEUE_PROFILING;
    const int32_t result = ts__cl.next.clSetCommandQueueProperty(
        queue, properties, ours && !enable ? 1 : enable, old);
    if (result != TS__CL_SUCCESS) return result;
    if (ours) q->forced = !enable;
    if (old && forced) *old &= ~(uint64_t)TS__CL_QUEUE_PROFILING;
    return result;
}

// Counts the program's references, so that a released queue is not used.
static void ts__cl_queue_count(ts__cl_queue *q, bool more)
{
    pthread_mutex_lock(&q->lock);
    if (q->refs) q->refs += more ? 1 : -1u;
    pthread_mutex_unlock(&q->lock);
}

static int32_t ts__cl_clRetainCommandQueue(ts__cl_handle queue)
{
    ts__cl_queue *const q = (ts__cl_queue *)ts__cl_find(TS__CL_QUEUE, queue);
    const int32_t result = ts__cl.next.clRetainCommandQueue(queue);
    if (q && result == TS__CL_SUCCESS) ts__cl_queue_count(q, true);
    return result;
}

static int32_t ts__cl_clReleaseCommandQueue(ts__cl_handle queue)
{
    ts__cl_queue *const q = (ts__cl_queue *)ts__cl_find(TS__CL_QUEUE, queue);
    if (q) ts__cl_queue_count(q, false);
    // Complete commands must not keep objects alive.
    if (q && !TS__LOAD(&ts__cl.off)) ts__cl_queue_reap(q, true);
    return ts__cl.next.clReleaseCommandQueue(queue);
}

#endif // TS__OPENCL_QUEUES_H
