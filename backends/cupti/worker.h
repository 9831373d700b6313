/*
    cupti/worker.h - the thread that fetches and reads the vendor's buffers

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__CUPTI_WORKER_H
#define TS__CUPTI_WORKER_H

#include "tracesmith.h"
#include "../ts_filter.h"
#include "../gpu/records.h"
#include "capture.h"
#include "other_profiler.h"
#include "records.h"
#include "vendors.h"

#include <pthread.h>
#include <string.h>

#define TS__CU_SILENCE_SAID UINT64_MAX
static const char ts__cu_silent[] =
    "kernels were launched, but none was reported: this version, or another "
    "tool, withholds them";

static const char ts__cu_unheard[] =
    "no CUDA call was seen while another profiler was active: calls of a "
    "statically linked runtime cannot be recorded";

// Reports in the trace that many launches have had no kernel records for a long
// time. Done at once, because the process may not end regularly. The caller
// holds `decode`.
static void ts__cu_silence(ts__cu *u)
{
    enum { MANY = 100, PATIENCE_MS = 10000 };
    const uint64_t now = ts__clock_now_ns(CLOCK_MONOTONIC);
    const uint32_t ms = u->patience_ms ? u->patience_ms : PATIENCE_MS;
    if (u->silent_ns == TS__CU_SILENCE_SAID || u->refused ||
        TS__LOAD(&u->standalone) || !ts_filter_kernels())
        return;
    if (u->kernels || TS__LOAD(&u->launches) < MANY) {
        u->silent_ns = 0;
    } else if (!u->silent_ns) {
        u->silent_ns = now;
    } else if (now - u->silent_ns >= ms * UINT64_C(1000000)) {
        ts__cu_fact(u, "warning", ts__cu_silent);
        u->silent_ns = TS__CU_SILENCE_SAID;
    }
}

static void ts__cu_decode_all(ts__cu *u)
{
    pthread_mutex_lock(&u->decode);
    ts__cu_decode(u, __atomic_exchange_n(&u->full, 0, __ATOMIC_ACQUIRE));
    ts__cu_silence(u);
    const uint64_t unreported =
        __atomic_exchange_n(&u->origins.unreported, 0, __ATOMIC_RELAXED);
    if (unreported) ts__lose(&u->lost, TS__CU_UNREPORTED, 0, unreported);
    ts__losses_report(&u->lost);
    pthread_mutex_unlock(&u->decode);
}

// Flushes CUPTI's buffers. Returns false if CUPTI took so long that the session
// abandoned this worker.
static bool ts__cu_fetch(ts__cu *u, uint32_t flags)
{
    const bool ours = !TS__LOAD(&u->fatal) && !TS__LOAD(&u->standalone);
    size_t dropped = 0;
    if (ours) u->call.flush(flags);
    if (ts__worker_left(&u->worker)) return false;
    if (u->call.dropped && ours && !TS__LOAD(&u->fatal) &&
        u->call.dropped(NULL, 0, &dropped) == 0 && dropped)
        ts__lose(&u->lost, TS__CU_DROPPED, 0, dropped);
    if (ts__worker_left(&u->worker)) return false;
    ts__cu_decode_all(u);
    return true;
}

// Returns whether this version lacks records of device synchronization.
static bool ts__cu_is_deaf(const ts__cu *u)
{
    return u->version >= u->table->deaf[0] && u->version < u->table->deaf[1];
}

static void ts__cu_let_go(ts__cu *u)
{
    // After a fatal error CUPTI has already unsubscribed.
    const bool there = !TS__LOAD(&u->fatal);
    for (uint32_t i = 0; i < TS__CU_ROLES; i++)
        if (there && u->kinds_on[i] &&
            !(i == TS__CU_KERNEL && ts__cu_is_deaf(u)))
            u->call.disable(u->table->kinds[i]);
    memset(u->kinds_on, 0, sizeof u->kinds_on);
    if (there && u->subscriber && u->call.unsubscribe)
        u->call.unsubscribe(u->subscriber);
    u->subscriber = NULL;
}

static uint64_t ts__cu_realtime_ns(void)
{
    return ts__clock_now_ns(CLOCK_REALTIME);
}

// Gives CUPTI up to another profiler, with its default clock set again.
// Operations in flight are reported without an end.
static void ts__cu_yield(ts__cu *u)
{
    if (!ts__cu_fetch(u, 0) || !ts__cu_fetch(u, 1)) return;
    // A launch between these two steps has a call, but its kernel is lost.
    ts__ca_calls(u);
    ts__cu_go_standalone(u);
    ts__cu_let_go(u);
    ts__cu_keep_not(u);
    if (u->clock_given && u->call.clock) u->call.clock(ts__cu_realtime_ns);
    u->clock_given = false;
}

static void ts__cu_work_fetch(void *user)
{
    ts__cu *const u = (ts__cu *)user;
    ts__cu_fetch(u, 0);
    if (TS__LOAD(&u->yield) && !TS__LOAD(&u->standalone) &&
        !TS__LOAD(&u->fatal))
        ts__cu_yield(u);
    ts__cu_look(u);
}

static bool ts__cu_work_more(void *user)
{
    ts__cu *const u = (ts__cu *)user;
    if (!TS__LOAD(&u->full)) return false;
    ts__cu_decode_all(u);
    return true;
}

// Delivers complete records, then incomplete ones: an operation that still runs
// has no end. At exit nothing is undone, because libraries may be partly
// unloaded. If nobody waits any more, CUPTI is released, and no session begins
// before that.
static void ts__cu_work_finish(void *user)
{
    ts__cu *const u = (ts__cu *)user;
    const bool waited = !ts__worker_left(&u->worker) && ts__cu_fetch(u, 0) &&
                        ts__cu_fetch(u, 1);
    if (waited ? u->exiting : TS__LOAD(&ts__cu_exiting)) return;
    ts__cu_let_go(u);
    if (waited) ts__cu_fetch(u, 0);
}

static bool ts__cu_work_start(ts__cu *u)
{
    u->worker.fetch = ts__cu_work_fetch;
    u->worker.more = ts__cu_work_more;
    u->worker.finish = ts__cu_work_finish;
    u->worker.user = u;
    u->worker.period_ms = ts__cu_desc.flush_ms;
    u->worker.limit_ms = ts__cu_desc.stop_ms;
    return ts__worker_start(&u->worker);
}

#endif // TS__CUPTI_WORKER_H
