/*
    gpu/waiting.h - calls of the program wait while an operation is captured

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    A captured operation has the device to itself. Other calls wait until it
    is over, for a bounded time: the capturing thread may itself wait for
    one of them.
*/
#ifndef TS__GPU_WAITING_H
#define TS__GPU_WAITING_H

#include "../capture/memory.h"
#include "driver.h"
#include "records.h"
#include "state.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

static uint64_t ts__cs_until(void)
{
    const uint64_t ms = ts__cap_now.desc.drain_ms;
    return ts__clock_now_ns(CLOCK_MONOTONIC) +
           (ms ? ms : 10000) * UINT64_C(1000000);
}

// Waits until no capture is active, for a bounded time, because the capturing
// thread may wait for this one. The caller holds `exclusive_lock`.
static bool ts__cs_wait_while(const bool *busy, const uint32_t *count,
                              uint64_t until_ns)
{
    const struct timespec until = ts__cs_time(until_ns);
    bool in_time = true;
    while (in_time && ((busy && *busy) || (count && *count)))
        in_time = pthread_cond_timedwait(&ts__cs.exclusive_change,
                                         &ts__cs.exclusive_lock, &until) == 0;
    return in_time;
}

static void ts__cs_inside(void)
{
    pthread_mutex_lock(&ts__cs.exclusive_lock);
    if (!ts__cs_wait_while(&ts__cs.capturing, NULL, ts__cs_until()))
        ts__cs.disturbed = true;
    ts__cs.inside++;
    pthread_mutex_unlock(&ts__cs.exclusive_lock);
}

// Enters a call that a capture may wait for: the call does not wait for the
// capture.
static void ts__cs_inside_at_once(void)
{
    pthread_mutex_lock(&ts__cs.exclusive_lock);
    ts__cs.disturbed |= ts__cs.capturing;
    ts__cs.inside++;
    pthread_mutex_unlock(&ts__cs.exclusive_lock);
}

// Implements `disturbed` of ts_capture_vendor.
static bool ts__cs_is_disturbed(void *user)
{
    (void)user;
    pthread_mutex_lock(&ts__cs.exclusive_lock);
    const bool disturbed = ts__cs.disturbed;
    pthread_mutex_unlock(&ts__cs.exclusive_lock);
    return disturbed;
}

static void ts__cs_outside(void)
{
    pthread_mutex_lock(&ts__cs.exclusive_lock);
    if (ts__cs.inside) ts__cs.inside--;
    pthread_cond_broadcast(&ts__cs.exclusive_change);
    pthread_mutex_unlock(&ts__cs.exclusive_lock);
}

#endif // TS__GPU_WAITING_H
