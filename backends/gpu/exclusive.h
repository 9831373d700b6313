/*
    gpu/exclusive.h - the device for one operation alone

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Waits, for a bounded time, until no other call is inside the driver and
    the device is idle. Whether the driver answers at all inside a callback
    is tried once.
*/
#ifndef TS__GPU_EXCLUSIVE_H
#define TS__GPU_EXCLUSIVE_H

#include "tracesmith.h"
#include "contexts.h"
#include "driver.h"
#include "driver_requests.h"
#include "records.h"
#include "state.h"
#include "waiting.h"

#include <pthread.h>

static bool ts__cs_answers(void *context)
{
    ts__cs_driver *const d = &ts__cs.driver;
    ts__cs_job age, job;
    age.what = TS__CS_OWN;
    age.own = ts__cs_age;
    age.drop = NULL;
    job.what = TS__CS_TEST;
    age.context = job.context = context;
    const uint64_t most =
        ts__clock_now_ns(CLOCK_MONOTONIC) + UINT64_C(3000000000);
    const uint64_t until = ts__cs_until(), end = until < most ? until : most;
    return ts__cs_request(d, &age, end) && ts__cs_request(d, &job, end);
}

// Tests whether the driver answers: on the separate thread, else on the calling
// thread.
static void ts__cs_test(void *context)
{
    ts__cs_driver *const d = &ts__cs.driver;
    const ts__cs_calls before = d->call;
    const bool found = ts__cs.vendor->find(d);
    ts__cs.tested = true;
    if (before.query && before.query != d->call.query) ts__cs_driver_anew(d);
    bool safe = found && ts__cs_answers(context);
    if (found && !safe && d->call.context_now) {
        TS__STORE(&d->same, true);
        safe = ts__cs_answers(context);
        if (safe) ts_metadata_text(0, "capture.thread", "the program's");
    }
    ts__cs.unsafe = !safe;
    if (ts__cs.unsafe)
        ts_metadata_text(0, ts__cs.vendor->refusal,
                         "declined: the driver does not respond within a call");
}

// Returns whether the driver answers while a call is in flight. Tested once,
// because the result does not change.
static bool ts__cs_is_safe(void *context)
{
    pthread_mutex_lock(&ts__cs.testing);
    if (!ts__cs.tested) ts__cs_test(context);
    const bool safe = !ts__cs.unsafe;
    pthread_mutex_unlock(&ts__cs.testing);
    return safe;
}

static bool ts__cs_drained(void *context, bool *recording)
{
    ts__cs_job job;
    job.what = TS__CS_DRAIN;
    job.context = context;
    job.recording = TS__LOAD(&ts__cs.recording) != 0;
    job.recorded = false;
    const bool ok = ts__cs_request(
        &ts__cs.driver, &job,
        ts__cs.late ? ts__clock_now_ns(CLOCK_MONOTONIC) : ts__cs_until());
    *recording = job.recorded;
    return ok;
}

// Returns whether a stream that cannot be queried may be recorded: the driver
// is older than CUDA 10.1, or the stream is a thread's own default stream.
static bool ts__cs_may_spoil(bool *recording)
{
    const ts__cs_driver *const d = &ts__cs.driver;
    *recording =
        TS__LOAD(&ts__cs.recording) &&
        (!d->call.is_recorded || !d->call.mode || TS__LOAD(&d->per_thread));
    return *recording;
}

// Takes exclusive use of the device for this call. Returns false if the device
// did not become idle in time; then no operation waits again until it was idle
// once. Also returns false while a stream is recorded that a wait would
// invalidate.
static bool ts__cs_exclusive_begin(void *context, bool *recording)
{
    pthread_mutex_lock(&ts__cs.exclusive_lock);
    const uint64_t until =
        ts__cs.late ? ts__clock_now_ns(CLOCK_MONOTONIC) : ts__cs_until();
    const bool mine = ts__cs_wait_while(&ts__cs.capturing, NULL, until);
    ts__cs.disturbed = !mine;
    if (mine) ts__cs.capturing = true;
    const bool alone = mine && ts__cs_wait_while(NULL, &ts__cs.inside, until);
    *recording = false;
    if (mine && !alone) {
        ts__cs.capturing = false;
        pthread_cond_broadcast(&ts__cs.exclusive_change);
    }
    if (!alone) ts__cs.inside++;
    pthread_mutex_unlock(&ts__cs.exclusive_lock);
    if (!alone) return false;
    const bool drained = ts__cs_is_safe(context) &&
                         !ts__cs_may_spoil(recording) &&
                         ts__cs_drained(context, recording);
    pthread_mutex_lock(&ts__cs.exclusive_lock);
    if (drained || !*recording) ts__cs.late = !drained;
    if (!drained) {
        ts__cs.capturing = false;
        ts__cs.inside++; // the call runs concurrently with others
        pthread_cond_broadcast(&ts__cs.exclusive_change);
    }
    pthread_mutex_unlock(&ts__cs.exclusive_lock);
    return drained;
}

static void ts__cs_exclusive_end(void)
{
    pthread_mutex_lock(&ts__cs.exclusive_lock);
    ts__cs.capturing = false;
    pthread_cond_broadcast(&ts__cs.exclusive_change);
    pthread_mutex_unlock(&ts__cs.exclusive_lock);
}

#endif // TS__GPU_EXCLUSIVE_H
