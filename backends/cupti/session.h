/*
    cupti/session.h - the backends of ts_cupti.h: a session begins and ends

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__CUPTI_SESSION_H
#define TS__CUPTI_SESSION_H

#include "tracesmith.h"
#include "../ts_cupti.h"
#include "../ts_filter.h"
#include "../gpu/callbacks.h"
#include "../gpu/records.h"
#include "capture.h"
#include "engines.h"
#include "other_profiler.h"
#include "records.h"
#include "start.h"
#include "vendors.h"
#include "worker.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

// Starts without CUPTI because another profiler has it.
static bool ts__cu_open_standalone(ts__cu *u, char *why, size_t room)
{
    if (u != ts__ca_engine || !ts__ca_calls(u)) return false;
    snprintf(why, room,
             "another profiler (%.60s) uses %s in this process: calls are "
             "recorded, but not the operations that they start",
             u->owner, u->table->product);
    __atomic_store_n(&u->on, ++u->generation, __ATOMIC_RELEASE);
    ts__cu_go_standalone(u);
    ts__cu_keep_not(u);
    if (ts__cu_work_start(u)) return true;
    snprintf(why, room, "its thread cannot be created");
    return false;
}

// The order matters: clock and buffers before the first record, calls before
// the first operation.
static bool ts__cu_open(ts__cu *u, char *why, size_t room)
{
    if (!ts__cu_subscribe(u, why, room))
        return u->owner[0] && ts__cu_open_standalone(u, why, room);
    ts__cu_attributes(u);
    ts__cu_clock_choose(u);
    ts__cu_clock_sample(u, true);
    if (u->call.callbacks(u->requested, u->completed) != 0) {
        snprintf(why, room, "%s does not accept buffers", u->table->product);
        return false;
    }
    // release: pairs with the acquire in ts__cu_callback
    __atomic_store_n(&u->on, ++u->generation, __ATOMIC_RELEASE);
    ts__cu_functions(u);
    if (!ts__cu_kinds(u, why, room)) return false;
    ts__cu_look(u);
    if (ts__cu_work_start(u)) return true;
    snprintf(why, room, "its thread cannot be created");
    return false;
}

static ts_result ts__cu_start(ts__cu *u, char *why, size_t room)
{
    if (ts__cu_forbidden == getpid() && u->memory) {
        snprintf(why, room,
                 "a child created by fork cannot use the GPU of its parent, "
                 "unless it calls exec");
        return TS_ERR_STATE;
    }
    if (ts__worker_hangs(&u->worker) || ts__worker_hangs(&u->rescue)) {
        snprintf(why, room, "%s has not returned from the previous session",
                 u->table->product);
        return TS_ERR_STATE;
    }
    if (!ts__cu_library(u, why, room)) return TS_ERR_NOT_FOUND;
    if (!ts__cu_memory_get(u)) {
        snprintf(why, room, "out of memory for its buffers");
        return TS_ERR_MEMORY;
    }
    ts__cu_reset(u);
    if (u == &ts__cupti) __atomic_store_n(&ts__ca_engine, u, __ATOMIC_RELEASE);
    if (!ts__cu_open(u, why, room)) {
        TS__STORE(&u->on, 0);
        ts__cu_let_go(u);
        return TS_ERR_UNSUPPORTED;
    }
    ts__cu_fact(u, "library", u->path);
    ts__cu_fact_int(u, "version", u->version);
    return TS_OK;
}

static void ts__cu_flush(ts__cu *u)
{
    if (ts__cu_forbidden != getpid()) ts__worker_flush(&u->worker);
}

// Reports the known faults of CUPTI's version that this session has met.
static void ts__cu_faults(ts__cu *u)
{
    const uint64_t waits = TS__LOAD(&u->device_waits);
    if (ts__cu_is_deaf(u) && waits > u->device_syncs &&
        ts_filter_kind(TS_EVENT_DEVICE_SYNC))
        ts__lose(&u->lost, TS__CU_DEAF, 0, waits - u->device_syncs);
    if (u->version < u->table->graphs_bad && u->generation > 1 && u->of_graphs)
        ts__cu_fact(u, "fault",
                    "before CUDA 13.1 Update 1, kernels of graphs may refer to "
                    "the wrong launch from the second session of a process on");
}

// Writes the summary at the end of a session. The caller holds `decode`.
static void ts__cu_sum_up(ts__cu *u)
{
    // Read once, because calls may continue.
    const uint64_t launches = TS__LOAD(&u->launches);
    ts__cu_loose_end(u);
    ts__lose(&u->lost, TS__CU_UNREPORTED, 0,
             launches ? ts__notes_waiting(&u->origins) : 0);
    if (TS__LOAD(&u->fatal)) ts__lose(&u->lost, TS__CU_FATAL, 0, 1);
    ts__cu_faults(u);
    ts__losses_report(&u->lost);
    ts__cu_fact_int(u, "launches", launches);
    ts__cu_fact_int(u, "kernels", u->kernels);
    if (TS__LOAD(&u->into_graphs))
        ts__cu_fact_int(u, "into_graphs", TS__LOAD(&u->into_graphs));
    if (u->early) ts__cu_fact_int(u, "kernels_before_launch", u->early);
    if (u->time.steps) ts__cu_fact_int(u, "clock_steps", u->time.steps);
    if (TS__LOAD(&u->standalone)) {
        if (!TS__LOAD(&u->heard)) ts__cu_fact(u, "warning", ts__cu_unheard);
        return;
    }
    if (launches && !u->kernels && ts_filter_kernels())
        ts__cu_fact(u, "warning", ts__cu_silent);
    else if (u->silent_ns == TS__CU_SILENCE_SAID)
        ts__cu_fact(u, "warning", "none"); // a kernel was reported after all
    const char *const other = ts__cu_other();
    char text[160];
    snprintf(text, sizeof text,
             "%s is in this process; it does not see GPU operations while "
             "TraceSmith records",
             other ? other : "");
    if (other) ts__cu_fact(u, "other", text);
    if (__atomic_load_n(&u->fatal, __ATOMIC_ACQUIRE))
        ts__cu_fact(u, "error", u->error);
}

// Decodes the buffers that CUPTI delivered before it hung. The function that
// gets the next record may hang as well.
static void ts__cu_rescue(void *user)
{
    ts__cu_decode_all((ts__cu *)user);
}

static bool ts__cu_rescued(ts__cu *u)
{
    u->rescue.fetch = u->rescue.finish = ts__cu_rescue;
    u->rescue.user = u;
    u->rescue.limit_ms = u->worker.limit_ms < 500 ? u->worker.limit_ms : 500;
    u->rescue.period_ms = u->rescue.limit_ms;
    return ts__worker_start(&u->rescue) && ts__worker_stop(&u->rescue);
}

static void ts__cu_stop(ts__cu *u)
{
    if (!TS__LOAD(&u->worker.number) || ts__cu_forbidden == getpid()) return;
    u->exiting = TS__LOAD(&ts__cu_exiting);
    const bool done = ts__worker_stop(&u->worker);
    TS__STORE(&u->on, 0);
    if (u == &ts__cupti) ts__cs_stop(&ts__cu_keep_vendor);
    if (!done) ts__lose(&u->lost, TS__CU_CUT, 0, 1);
    if (!done && !ts__cu_rescued(u)) {
        // The worker that hangs has the remaining records.
        ts__losses_report(&u->lost);
        return;
    }
    pthread_mutex_lock(&u->decode);
    ts__cu_decode(u, __atomic_exchange_n(&u->full, 0, __ATOMIC_ACQUIRE));
    if (!TS__LOAD(&u->standalone)) ts__cu_clock_sample(u, true);
    ts__cu_sum_up(u);
    pthread_mutex_unlock(&u->decode);
}

#define TS__CU_BACKEND(vendor) \
    static ts_result ts__##vendor##_start(char *why, size_t room) \
    { \
        return ts__cu_start(&ts__##vendor, why, room); \
    } \
    static void ts__##vendor##_flush(void) \
    { \
        ts__cu_flush(&ts__##vendor); \
    } \
    static void ts__##vendor##_stop(void) \
    { \
        ts__cu_stop(&ts__##vendor); \
    } \
    const ts_backend ts_##vendor##_backend = { #vendor, ts__##vendor##_start, \
                                               ts__##vendor##_flush, \
                                               ts__##vendor##_stop }
TS__CU_BACKEND(cupti);
TS__CU_BACKEND(mcpti);

int ts_cupti_initialize(void)
{
    ts__cu_injecting = true;
    ts_backend_add(&ts_cupti_backend);
    ts__cu_injecting = false;
    return 1;
}

#ifdef TRACESMITH_CUPTI
__attribute__((constructor)) static void ts__cupti_register(void)
{
    ts_backend_add(&ts_cupti_backend);
}
#endif

#endif // TS__CUPTI_SESSION_H
