/*
    gpu/callbacks.h - around each call of the program

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Between the two callbacks of a call: decides what the call is and
    whether it is captured, takes the device for it and releases it. Begins
    and ends captures.
*/
#ifndef TS__GPU_CALLBACKS_H
#define TS__GPU_CALLBACKS_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "completed_calls.h"
#include "driver.h"
#include "driver_queries.h"
#include "driver_requests.h"
#include "exclusive.h"
#include "functions.h"
#include "mapped_memory.h"
#include "memory.h"
#include "modules.h"
#include "operations.h"
#include "state.h"
#include "streams.h"
#include "tensor_maps.h"
#include "waiting.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct ts__cs_here { // the capture state of the calling thread
    uint32_t depth, session;
    bool exclusive; // this thread has exclusive use of the device
    // the call is recorded into a graph and runs only when that is launched
    bool recorded;
    ts_capture_op *op;
    ts__cs_range goes; // the allocation that this call frees
    uint64_t map[16];  // the tensor map before its address is replaced
} ts__cs_here;
static TS__TLS ts__cs_here ts__cs_this;

static bool ts__cs_is_operation(ts__cs_kind kind)
{
    return kind && kind <= TS__CS_OTHER;
}

// Marks the memory that an operation may write although it is not captured.
static void ts__cs_unkept(const ts__cs_call *c)
{
    pthread_mutex_lock(&ts__cs.memory_lock);
    const ts__cs_kind kind = (ts__cs_kind)c->rule->kind;
    if (kind == TS__CS_COPY || kind == TS__CS_COPY_PEER)
        ts_capture_touch(&ts__cs.memory, ts__cs_argument(c, 0),
                         ts__cs_argument(c, kind == TS__CS_COPY ? 16 : 32));
    else if (kind == TS__CS_SET || kind == TS__CS_SET_ROWS)
        ts_capture_touch(&ts__cs.memory, ts__cs_argument(c, 0), 0);
    else if (kind != TS__CS_HOST_FUNCTION)
        ts__cs.touched = true;
    pthread_mutex_unlock(&ts__cs.memory_lock);
}

// Marks all memory as changed if it may have been written while it was read.
static void ts__cs_touch(void)
{
    for (size_t i = 0; ts__cs.touched && i < ts__cs.memory.count; i++)
        ts_capture_touch(&ts__cs.memory, ts__cs.memory.ranges[i].address, 0);
    for (size_t i = 0; ts__cs.managed && i < ts__cs.range_count; i++)
        if (ts__cs.ranges[i].managed)
            ts_capture_touch(&ts__cs.memory, ts__cs.ranges[i].address, 0);
    for (size_t i = 0; i < ts__cs.code.shared.count; i++)
        ts_capture_touch(&ts__cs.memory, ts__cs.code.shared.all[i], 0);
    ts__cs.touched = false;
}

static void ts__cs_begin(const ts__cs_call *c)
{
    ts__cs_here *const h = &ts__cs_this;
    ts_capture_op *const op = h->op;
    uint8_t *args = NULL;
    bool recording = false;
    const bool collective = ts__cs_needs_others(op);
    if (collective) ts__cs_inside_at_once();
    h->exclusive =
        !collective && ts__cs_exclusive_begin(c->context, &recording);
    pthread_mutex_lock(&ts__cs.memory_lock);
    ts__cs.context = c->context;
    ts__cs.device = c->device;
    ts__cs.reads_until_ns = ts__cs_until();
    ts__cs_fresh();
    ts__cs_variables_go(&ts__cs.code, &ts__cs.memory);
    if (!h->exclusive)
        ts_capture_decline(op, collective      ? TS_REASON_COLLECTIVE
                               : recording     ? TS_REASON_IN_CAPTURE
                               : ts__cs.unsafe ? TS_REASON_DEVICE_FAILED
                                               : TS_REASON_DRAIN_TIMEOUT);
    ts__cs_touch();
    ts__cs.call = c;
    ts__cs_describe(c, op, h->exclusive, &args);
    ts__cs.call = NULL;
    // Copies the arguments, so they may change afterwards.
    ts_capture_begin(&ts__cs.memory, op);
    free(args);
    ts__cs_judge(op);
    pthread_mutex_unlock(&ts__cs.memory_lock);
}

static void ts__cs_end(const ts__cs_call *c)
{
    ts__cs_here *const h = &ts__cs_this;
    bool recording = false;
    const bool done = h->exclusive && ts__cs_drained(c->context, &recording);
    pthread_mutex_lock(&ts__cs.memory_lock);
    if (c->result)
        ts_capture_decline(h->op, TS_REASON_DEVICE_FAILED);
    else if (h->exclusive && !done && h->op->head.state != TS_CAPTURE_DECLINED)
        ts_capture_decline(h->op, recording ? TS_REASON_IN_CAPTURE
                                            : TS_REASON_DRAIN_TIMEOUT);
    if (h->exclusive && !done && !recording &&
        !ts__cs_is_going(&ts__cs.driver, c->context))
        ts__cs.late = true;
    ts__cs.context = c->context;
    ts__cs.reads_until_ns = ts__cs_until();
    ts_capture_end(&ts__cs.memory, h->op);
    // A concurrent operation may have written memory after it was read.
    if (h->exclusive && ts__cs_is_disturbed(NULL)) ts__cs.touched = true;
    pthread_mutex_unlock(&ts__cs.memory_lock);
    if (h->exclusive)
        ts__cs_exclusive_end();
    else
        ts__cs_outside();
    free(h->op);
    h->op = NULL;
}

// Returns whether the call is being recorded into a graph. The driver is
// queried if some stream is being recorded, and once for each stream whose
// creation was not seen, because its recording may have begun earlier.
static bool ts__cs_is_recorded(const ts__cs_call *c)
{
    void *stream;
    ts__cs_job job;
    const bool recording = TS__LOAD(&ts__cs.recording) != 0;
    // The default stream is never recorded.
    if (!ts__cs_stream_here(c, &stream) || (uintptr_t)stream < 2) return false;
    const bool known = ts__cs_stream_is_known(&ts__cs.driver, stream);
    if (!recording && known) return false;
    job.what = TS__CS_STATUS;
    job.context = c->context;
    job.object = stream;
    if (!ts__cs_is_safe(c->context) ||
        !ts__cs_request(&ts__cs.driver, &job, ts__cs_until()))
        return false; // unknown: ts__cs_exclusive_begin declines the operation
    const ts__cs_stream seen = { stream, c->context, 0, 0, false, 0 };
    if (!known) ts__cs_stream_add(&ts__cs.driver, &seen);
    return job.recorded;
}

// The recording of a stream begins. Its work cannot be waited for until the
// recording ends, so wait for it now.
static void ts__cs_record(const ts__cs_call *c)
{
    void *const stream = (void *)(uintptr_t)ts__cs_argument(c, 0);
    ts__cs_job job;
    __atomic_fetch_add(&ts__cs.recording, 1, __ATOMIC_RELEASE);
    if (!ts_capture_on() || (uintptr_t)stream <= 2 ||
        !ts__cs_is_safe(c->context))
        return;
    job.what = TS__CS_QUIET;
    job.context = c->context;
    job.object = stream;
    const bool quiet = ts__cs_request(&ts__cs.driver, &job, ts__cs_until());
    const ts__cs_stream seen = { stream, c->context, 0, 0, false, 0 };
    if (!ts__cs_stream_is_known(&ts__cs.driver, stream))
        ts__cs_stream_add(&ts__cs.driver, &seen);
    ts__cs_stream_quiet(&ts__cs.driver, stream, quiet);
}

// The recording of a stream ends, unless the call returned that no stream is
// recorded or that another thread must end it.
static void ts__cs_recorded(const ts__cs_call *c)
{
    const bool goes_on = c->result == 1 || c->result == 400 ||
                         c->result == 401 || c->result == 908;
    const bool begins = c->rule->kind == TS__CS_RECORD;
    if (begins ? !c->result : goes_on) return;
    if (TS__LOAD(&ts__cs.recording))
        __atomic_fetch_sub(&ts__cs.recording, 1, __ATOMIC_RELEASE);
    ts__cs_stream_quiet(&ts__cs.driver,
                        (void *)(uintptr_t)ts__cs_argument(c, 0), false);
}

// Removes the allocation before the driver frees it, because another allocation
// may get the same address at once.
static void ts__cs_goes(const ts__cs_call *c)
{
    const uint64_t address = ts__cs_argument(c, 0);
    pthread_mutex_lock(&ts__cs.memory_lock);
    const ts__cs_range *r = ts__cs_range_of(address);
    memset(&ts__cs_this.goes, 0, sizeof ts__cs_this.goes);
    if (c->rule->kind == TS__CS_UNMAP) {
        ts__cs_unmapped(address, ts__cs_argument(c, 8));
    } else {
        if (r && r->address == address) ts__cs_this.goes = *r;
        ts__cs_range_remove(address);
    }
    pthread_mutex_unlock(&ts__cs.memory_lock);
}

// Restores the allocation: the driver did not free it.
static void ts__cs_free_failed(void)
{
    pthread_mutex_lock(&ts__cs.memory_lock);
    ts__cs_range_add(&ts__cs_this.goes);
    pthread_mutex_unlock(&ts__cs.memory_lock);
}

// Handles the beginning of a call.
static void ts__cs_enter(const ts__cs_call *c)
{
    ts__cs_here *const h = &ts__cs_this;
    const uint32_t session = TS__LOAD(&ts__cs.on);
    if (!session) return; // no session is active
    if (h->session != session) memset(h, 0, sizeof *h);
    h->session = session;
    if (h->depth++) return; // a call within another call
    const ts__cs_kind kind = (ts__cs_kind)c->rule->kind;
    const ts__cs_graph_calls *const graphs = ts__cs.vendor->graphs;
    const bool may_be = ts__cs_is_operation(kind) && ts_capture_on();
    h->recorded = may_be && ts__cs_is_recorded(c);
    if (may_be && !h->recorded) {
        h->op = (ts_capture_op *)calloc(1, sizeof *h->op);
        if (h->op && kind == TS__CS_GRAPH && graphs) graphs->named(c, h->op);
        if (h->op && ts__cs_name(c, h->op) && ts_capture_requested(h->op)) {
            ts__cs_begin(c);
            return;
        }
        free(h->op);
        h->op = NULL;
    }
    ts__cs_inside();
    // An object is forgotten before the driver destroys it, because its handle
    // may be reused.
    if (kind == TS__CS_FREE || kind == TS__CS_UNMAP) ts__cs_goes(c);
    if (kind == TS__CS_STREAM_GONE)
        ts__cs_stream_remove(&ts__cs.driver,
                             (void *)(uintptr_t)ts__cs_argument(c, 0));
    if (kind == TS__CS_TENSOR_MOVED && ts__cs_argument(c, 0))
        memcpy(h->map, (const void *)(uintptr_t)ts__cs_argument(c, 0),
               sizeof h->map);
    if (kind == TS__CS_GRAPH_GONE && graphs)
        graphs->gone(ts__cs_argument(c, 0));
    if (kind == TS__CS_MODULE_GONE)
        ts__cs_attributes_go(&ts__cs.code, NULL,
                             (void *)(uintptr_t)ts__cs_argument(c, 0), false);
    if (kind == TS__CS_RECORD) ts__cs_record(c);
}

static void ts__cs_leave(const ts__cs_call *c)
{
    ts__cs_here *const h = &ts__cs_this;
    if (h->session != TS__LOAD(&ts__cs.on) || !h->depth || --h->depth) return;
    const ts__cs_kind kind = (ts__cs_kind)c->rule->kind;
    if (h->op) {
        ts__cs_end(c);
        return;
    }
    if (kind == TS__CS_RECORD || kind == TS__CS_RECORDED) ts__cs_recorded(c);
    if (!c->result && ts__cs_is_operation(kind) && !h->recorded)
        ts__cs_unkept(c);
    if (!c->result && !ts__cs_is_operation(kind))
        ts__cs_call_completed(c, h->map);
    if (c->result && kind == TS__CS_FREE) ts__cs_free_failed();
    ts__cs_outside();
}

static void ts__cs_conditions(void)
{
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&ts__cs.exclusive_change, &steady);
    pthread_cond_init(&ts__cs.driver.wake, &steady);
    pthread_cond_init(&ts__cs.driver.done, &steady);
    pthread_condattr_destroy(&steady);
}

// Starts captures for a session. Modules are kept between sessions because they
// are reported only once. Returns false if the other vendor is already
// capturing.
static bool ts__cs_start(const ts__cs_vendor *vendor, uint32_t session)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (ts__cs_is_on() && ts__cs.vendor != vendor) {
        ts_metadata_text(0, vendor->refusal,
                         "declined: operations of another vendor are captured");
        return false;
    }
    pthread_once(&once, ts__cs_conditions);
    const bool anew = ts__cs.vendor && ts__cs.vendor != vendor;
    ts__cs.vendor = vendor;
    ts__cs.inside = ts__cs.recording = 0;
    ts__cs.capturing = ts__cs.late = ts__cs.tested = ts__cs.unsafe = false;
    ts__cs_driver_begin(&ts__cs.driver, session, anew, vendor->made);
    pthread_mutex_lock(&ts__cs.code.lock);
    ts__cs.code.session = session;
    pthread_mutex_unlock(&ts__cs.code.lock);
    if (vendor->graphs) vendor->graphs->forget();
    pthread_mutex_lock(
        &ts__cs.memory_lock); // an earlier call may still be in progress
    ts__cs.range_count = ts__cs.seam_count = ts__cs.texture_count = 0;
    ts__cs.managed = false;
    ts__cs_tensors_forget(&ts__cs.tensors);
    ts_capture_close(&ts__cs.memory);
    pthread_mutex_unlock(&ts__cs.memory_lock);
    // release: what was set above; pairs with the acquire in ts__cs_is_on
    __atomic_store_n(&ts__cs.on, session, __ATOMIC_RELEASE);
    return true;
}

// Ends captures. No further callback begins, but one may still be running.
static void ts__cs_stop(const ts__cs_vendor *vendor)
{
    if (!ts__cs_is_on() || ts__cs.vendor != vendor) return;
    TS__STORE(&ts__cs.on, 0);
    if (ts__cs.tensors.forgotten)
        ts_metadata_int(0, "capture.tensor_maps_forgotten",
                        (int64_t)ts__cs.tensors.forgotten);
    ts__cs_driver_stop(&ts__cs.driver);
}

static void ts__cs_forked(void)
{
    ts__cs.on = 0;
    ts__cs.driver.running = false;
}

#endif // TS__GPU_CALLBACKS_H
