/*
    hip/session.h - chooses an interface; begins and ends sessions

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__HIP_SESSION_H
#define TS__HIP_SESSION_H

#include "tracesmith.h"
#include "../gpu/callbacks.h"
#include "../gpu/records.h"
#include "calls.h"
#include "capture.h"
#include "devices.h"
#include "hook.h"
#include "rocprofiler.h"
#include "roctracer.h"
#include "shim.h"
#include "state.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const ts__hip_way *const ts__hip_ways[] = { &ts__rp_way, &ts__rt_way,
                                                   &ts__hook_way,
                                                   &ts__shim_way };

// Selects the interface and writes to the trace which it is and why better ones
// were unavailable.
static bool ts__hip_choose(char *why, size_t room)
{
    char because[192] = "", reason[160];
    size_t used = 0;
    for (size_t i = 0; i < sizeof ts__hip_ways / sizeof *ts__hip_ways; i++) {
        ts__hip.way = ts__hip_ways[i];
        snprintf(reason, sizeof reason, "not there");
        if (ts__hip.way->start(reason, sizeof reason)) {
            ts_metadata_text(0, "hip.interface", ts__hip.way->name);
            if (used) ts_metadata_text(0, "hip.because", because);
            return true;
        }
        const int size =
            snprintf(because + used, sizeof because - used, "%s%s: %s",
                     used ? "; " : "", ts__hip.way->name, reason);
        if (size > 0 && used + (size_t)size < sizeof because)
            used += (size_t)size;
    }
    ts__hip.way = NULL;
    snprintf(why, room, "%s", because);
    return false;
}

static void ts__hip_work_fetch(void *unused)
{
    (void)unused;
    if (!ts__hip.way->gone()) ts__hip.way->flush();
}

static void ts__hip_work_finish(void *unused)
{
    (void)unused;
    if (ts__worker_left(&ts__hip.worker) || ts__hip.way->gone()) return;
    ts__hip.way->stop();
    ts__hip_clock_sample(true);
}

// Fetches often, because records that a library holds are lost with the
// process.
static bool ts__hip_work_start(void)
{
    ts__hip.worker.fetch = ts__hip_work_fetch;
    ts__hip.worker.finish = ts__hip_work_finish;
    ts__hip.worker.period_ms = 250;
    ts__hip.worker.limit_ms = 2000;
    return ts__worker_start(&ts__hip.worker);
}

// Runs before the libraries' own exit handlers; the session may end later.
static void ts__hip_at_exit(void)
{
    if (ts__hip_listens()) ts__worker_stop(&ts__hip.worker);
    ts__hip.left = 1;
}

static bool ts__hip_memory_get(void)
{
    return ts__notes_open(&ts__hip.notes, TS__HIP_NOTES,
                          sizeof(ts__hip_note)) &&
           ts__notes_open(&ts__hip.events, 4096, sizeof(ts__hip_recorded));
}

// Resets the state for a session that is about to begin.
static void ts__hip_reset(void)
{
    TS__STORE(&ts__hip.session, ts__hip.session + 1);
    ts__hip.launches = ts__hip.kernels = 0;
    ts__hip.without_launch = ts__hip.before_launch = ts__hip.dropped = 0;
    ts__hip.captured = ts__hip.ran = 0;
    ts__hip.captures = 0; // the end of a capture between sessions is not seen
    ts__hip.lack = NULL;
    ts__hip.lost.vendor = "HIP";
    ts__hip.lost.texts = ts__hip_texts;
    ts__losses_begin(&ts__hip.lost);
    ts__hip.time.name = "hip";
    ts__hip.time.now_ns = ts__hip_now_ns;
    if (!ts__hip.time.clock) ts__hip.time.clock = ts_clock_define("hip");
    ts__follow_begin(&ts__hip.time, ts__hip.time.clock, false);
}

static ts_result ts__hip_start(char *why, size_t room)
{
    if (ts__hip.dead || ts__hip.left) {
        snprintf(why, room,
                 ts__hip.dead ? "HIP cannot be used in a child created by fork"
                              : "the program is ending");
        return TS_ERR_STATE;
    }
    if (ts__worker_hangs(&ts__hip.worker)) {
        snprintf(why, room, "its library does not respond any more");
        return TS_ERR_STATE;
    }
    if (!ts__hip.handles++) {
        pthread_atfork(NULL, NULL, ts__hip_forked);
        pthread_atfork(NULL, NULL, ts__cs_forked);
    }
    if (!ts__hip_memory_get()) {
        snprintf(why, room, "out of memory");
        return TS_ERR_MEMORY;
    }
    ts__hip_reset();
    if (!ts__hip_choose(why, room)) return TS_ERR_NOT_FOUND;
    if (ts__hip.lack)
        snprintf(why, room, "on by its %s, %s", ts__hip.way->name,
                 ts__hip.lack);
    // Registered last, so that it runs before the handlers of libraries that
    // were just loaded.
    if (!ts__hip.exits++) atexit(ts__hip_at_exit);
    ts__hip_clock_sample(true);
    ts__hs_start(ts__hip.way == &ts__rp_way, ts__hip.session);
    // release: a thread that sees it on also sees what was prepared
    __atomic_store_n(&ts__hip.on, 1, __ATOMIC_RELEASE);
    if (ts__hip_work_start()) return TS_OK;
    TS__STORE(&ts__hip.on, 0);
    ts__hs_stop();
    ts__hip.way->stop();
    snprintf(why, room, "its thread cannot be created");
    return TS_ERR_UNSUPPORTED;
}

static void ts__hip_flush(void)
{
    if (!ts__hip_listens()) return;
    ts__worker_flush(&ts__hip.worker);
    ts__losses_report(&ts__hip.lost);
}

// Counts launches whose kernels were not reported. Those that the library
// reported as dropped are already counted.
static void ts__hip_unreported(void)
{
    const uint64_t waiting =
        ts__notes_waiting(&ts__hip.notes) + TS__LOAD(&ts__hip.notes.unreported);
    const uint64_t dropped = TS__LOAD(&ts__hip.dropped);
    if (ts__worker_hangs(&ts__hip.worker))
        ts__hip_lose(TS__HIP_TAIL, waiting ? waiting : 1);
    else if (waiting > dropped)
        ts__hip_lose(TS__HIP_UNREPORTED, waiting - dropped);
}

static void ts__hip_stop(void)
{
    if (!ts__hip_listens()) return;
    ts__worker_stop(&ts__hip.worker);
    ts__hip_unreported();
    TS__STORE(&ts__hip.on, 0);
    ts__hs_stop();
    // During a stream capture, launches on other streams run and have kernels.
    const uint64_t captured = TS__LOAD(&ts__hip.captured);
    const uint64_t ran =
        ts__hip.ran < captured ? TS__LOAD(&ts__hip.ran) : captured;
    ts_metadata_int(0, "hip.launches", (int64_t)(ts__hip.launches + ran));
    ts_metadata_int(0, "hip.kernels", (int64_t)ts__hip.kernels);
    ts__hip_fact(0, "hip.into_graphs", captured - ran);
    ts__hip_fact(0, "hip.without_launch", ts__hip.without_launch);
    ts__hip_fact(0, "hip.before_launch", ts__hip.before_launch);
    ts__losses_report(&ts__hip.lost);
}

void ts_hip_on_load(void)
{
    ts__hip.loaded = 1;
    ts_backend_add(&ts_hip_backend);
}

const ts_backend ts_hip_backend = { "hip", ts__hip_start, ts__hip_flush,
                                    ts__hip_stop };

#endif // TS__HIP_SESSION_H
