/*
    ts_hip.h - what AMD's accelerators did, through HIP

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: librocprofiler-sdk.so, else libroctracer64.so, else
                    libamdhip64.so itself; found at run time.
    Checked with:   doubles of these (tests/doubles), November 2026. Layouts
                    compared with the headers of rocprofiler-sdk 1.0.0,
                    roctracer 4.1 and HIP 5.2.3 to 6.2.2. Not run on hardware.

    WHAT IT DOES
        Kernels with name, grid, block, registers and memory, copies, sets,
        synchronisation, events, allocations and the calls of HIP, each tied
        to the thread, zone and stack that asked for it. It takes the best of
        four interfaces that is there, and the trace says which and why:

        rocprofiler-sdk  everything; ROCm 6.2 and later
        roctracer        the same without registers and scratch
        hook             what the runtime tells by itself when neither library
                         is there: both generations of it
        shim             the calls alone, without times of the device

        With rocprofiler-sdk operations can be kept to be run again
        (ts_capture.h), if that is asked for before the session starts.

    WHAT IT DOES NOT DO
        No counters, no sampling, no HSA calls; a program that uses HSA
        without HIP shows its kernels only. A child made by fork is not
        followed: HIP does not survive fork.

    USE
        #define TRACESMITH_IMPLEMENTATION // in one C11 file of a program
        #define TRACESMITH_HIP            // that uses HIP
        #include "tracesmith.h"

        #include "backends/ts_hip.h"

        static ts_result start(const ts_session_desc *desc)
        {
            ts_backend_add(&ts_hip_backend); // before HIP is used first
            return ts_session_start(desc);
        }

    CONTENTS                            search for "==== 2." to jump
        1. Options
        2. Backend
        3. Implementation               private, and the ways in
                                        hip/streams.h, hip/calls.h,
                                        hip/operations.h,
                                        hip/rocprofiler.h,
                                        hip/roctracer.h, hip/hook.h,
                                        hip/shim.h; captures:
                                        hip/capture.h
*/
#if (defined(TRACESMITH_HIP_IMPLEMENTATION) || defined(TRACESMITH_HIP)) && \
    !defined(_GNU_SOURCE)
#define _GNU_SOURCE // before the first system header
#endif
#ifndef TS_HIP_H
#define TS_HIP_H

#include "tracesmith.h"

/* ==== 1. Options ========================================================= */

/*
    TRACESMITH_HIP_IMPLEMENTATION  in one C11 file: the functions
    TRACESMITH_HIP                 the same, beside TRACESMITH_IMPLEMENTATION

    What is captured of it: backends/ts_filter.h.
*/

/* ==== 2. Backend ========================================================= */

// Its start looks for the ways; TS_ERR_NOT_FOUND, and why, if none is.
extern const ts_backend ts_hip_backend;

/*
    What rocprofiler-sdk calls in every library that has a function
    rocprofiler_configure; a library that has one calls this in it. Returns
    what that one is to return. Adds the backend.
    Source: rocprofiler-sdk/registration.h.
*/
TS_API void *ts_hip_configure(uint32_t version, const char *runtime_version,
                              uint32_t priority, void *client);

/*
    What a runtime of ROCm that knows no rocprofiler-sdk calls in libraries
    that HSA_TOOLS_LIB names: a library that has a function OnLoad calls this
    in it, and returns true. Adds the backend.
    Source: hsa-runtime, Runtime::LoadTools.
*/
TS_API void ts_hip_on_load(void);

#endif // TS_HIP_H

/* ==== 3. Implementation ================================================== */

#if !defined(TS__HIP_IMPLEMENTED) && !defined(TRACESMITH_DISABLE) && \
    (defined(TRACESMITH_HIP_IMPLEMENTATION) || \
     (defined(TRACESMITH_HIP) && defined(TRACESMITH_IMPLEMENTATION)))
#define TS__HIP_IMPLEMENTED

#if defined(__cplusplus) || __STDC_VERSION__ < 201112L
#error "ts_hip.h: the implementation is C11; give it a .c file"
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ts_filter.h"
#include "gpu/records.h"

/* ---- 3.1 State ---------------------------------------------------------- */

typedef struct ts__hip_way { // one of the interfaces
    const char *name;
    // Begins to report. False: `why` says what is not there.
    bool (*start)(char *why, size_t room);
    void (*stop)(void);       // hands over what is complete, and ends
    void (*flush)(void);      // hands over what is complete
    bool (*gone)(void);       // the library has ended: it may not be called
    uint64_t (*now_ns)(void); // the clock of its times
    bool operations;          // it tells of them, not of calls alone
} ts__hip_way;

typedef enum ts__hip_cause {
    TS__HIP_ZERO_TIMES,
    TS__HIP_REVERSED,
    TS__HIP_DROPPED,
    TS__HIP_TOO_SHORT,
    TS__HIP_TAIL,
    TS__HIP_UNREPORTED,
    TS__HIP_MEMORY,
    TS__HIP_UNPLACED
} ts__hip_cause;

enum { TS__HIP_DEVICES = 64, TS__HIP_STREAMS = 4096, TS__HIP_NOTES = 1 << 15 };

typedef struct ts__hip_device {
    uint64_t id; // as the way knows it
    uint32_t track;
    char architecture[28]; // "": not known
} ts__hip_device;

typedef struct ts__hip_stream { // or a queue of the hardware
    uint32_t number;            // of its own in a process; 0: the slot is free
    uint32_t track;             // 0: nothing lay on it yet
    uint64_t handle;
    uint64_t born, gone; // ticks of the calls that are of it, gone: the end
    uint32_t device, flags;
    int32_t priority;
    uint32_t is_queue;
    uint32_t made; // its making was seen: it is of this device
} ts__hip_stream;

static struct {
    const ts__hip_way *way;
    uint32_t on;       // a session listens
    uint32_t dead;     // this is a child made by fork
    uint32_t handles;  // fork is heard of
    uint32_t exits;    // a handler at exit is registered
    uint32_t left;     // it has run
    uint32_t session;  // counts them
    uint32_t indices;  // the way knows devices by their indices
    const char *lack;  // of what is on, NULL: nothing
    uint32_t loaded;   // a runtime called that has no rocprofiler-sdk
    uint32_t captures; // of streams into graphs, that go on
    uint64_t launches, kernels, without_launch, before_launch, dropped;
    uint64_t captured, ran; // launches during captures, and kernels of them
    ts__notes notes;        // by correlation
    ts__notes events;       // by handle: where it was recorded last
    ts__worker worker;      // the library is called by
    uint64_t clock_ns;      // when it was sampled last, CLOCK_BOOTTIME
    pthread_mutex_t clock_lock;
    ts__follower time;
    ts__losses lost;
    pthread_mutex_t lock;                // of what follows
    uint32_t device_count, stream_count; // of streams: so far
    uint32_t named[TS__HIP_DEVICES][2];  // streams, queues with a number
    ts__hip_device devices[TS__HIP_DEVICES];
    ts__hip_stream stream[TS__HIP_STREAMS];
} ts__hip = { .clock_lock = PTHREAD_MUTEX_INITIALIZER,
              .lock = PTHREAD_MUTEX_INITIALIZER };

static const char *const ts__hip_texts[] = {
    "operations without times",
    "operations that end before they start",
    "dropped by the profiling library",
    "records of an unknown size",
    "not handed over in time at the end",
    "launches without a report of their kernel",
    "records for which there was no memory",
    "operations on streams beyond the number that is kept: on the device",
    NULL
};

static bool ts__hip_listens(void)
{
    return TS__LOAD(&ts__hip.on) && !TS__LOAD(&ts__hip.dead);
}

static void ts__hip_lose(ts__hip_cause cause, uint64_t count)
{
    ts__lose(&ts__hip.lost, cause, 0, count);
}

// The child has none of the threads and may not touch the device.
static void ts__hip_forked(void)
{
    ts__hip.dead = 1;
    ts__worker_forked(&ts__hip.worker);
}

/* ---- 3.2 Library and clock ---------------------------------------------- */

// HIP's own, which the program uses already.
static void *ts__hip_runtime(void)
{
    return ts__library_present("libamdhip64.so");
}

static uint64_t ts__hip_boottime_ns(void)
{
    return ts__clock_now_ns(CLOCK_BOOTTIME);
}

static uint64_t ts__hip_now_ns(void *unused)
{
    (void)unused;
    return ts__hip.way->gone() ? 0 : ts__hip.way->now_ns();
}

// Once a second, as records come, on any thread.
static void ts__hip_clock_sample(bool always)
{
    const uint64_t now = ts__hip_boottime_ns();
    if ((!always && now - TS__LOAD(&ts__hip.clock_ns) < 1000000000u) ||
        pthread_mutex_trylock(&ts__hip.clock_lock) != 0)
        return;
    TS__STORE(&ts__hip.clock_ns, now);
    ts__follow(&ts__hip.time, true);
    pthread_mutex_unlock(&ts__hip.clock_lock);
}

/* ---- 3.3 Devices and streams -------------------------------------------- */

typedef struct ts__hip_facts { // 0, NULL: unknown
    const char *name, *architecture;
    uint64_t memory_bytes;
    uint32_t multiprocessors, warp_size, shared_bytes, clock_mhz;
} ts__hip_facts;

static void ts__hip_fact(uint32_t track, const char *key, uint64_t value)
{
    if (value) ts_metadata_int(track, key, (int64_t)value);
}

// The index of a device, which is defined if it is new. With the lock.
static uint32_t ts__hip_device_add(uint64_t id, const ts__hip_facts *facts)
{
    uint32_t i = 0;
    while (i < ts__hip.device_count && ts__hip.devices[i].id != id)
        i++;
    if (i < ts__hip.device_count || i == TS__HIP_DEVICES)
        return i < TS__HIP_DEVICES ? i : TS__HIP_DEVICES - 1;
    char name[32];
    snprintf(name, sizeof name, "GPU %u", i);
    const ts_gpu_device_desc desc = {
        .name = facts->name && *facts->name ? facts->name : name, .index = i
    };
    const uint32_t track = ts_gpu_device_define(&desc);
    ts_metadata_text(track, "vendor", "AMD");
    if (facts->architecture && *facts->architecture)
        ts_metadata_text(track, "architecture", facts->architecture);
    ts__hip_fact(track, "memory_bytes", facts->memory_bytes);
    ts__hip_fact(track, "multiprocessors", facts->multiprocessors);
    ts__hip_fact(track, "warp_size", facts->warp_size);
    ts__hip_fact(track, "shared_bytes", facts->shared_bytes);
    ts__hip_fact(track, "clock_mhz", facts->clock_mhz);
    ts__hip.devices[i].id = id;
    ts__hip.devices[i].track = track;
    snprintf(ts__hip.devices[i].architecture,
             sizeof ts__hip.devices[i].architecture, "%s",
             facts->architecture ? facts->architecture : "");
    __atomic_store_n(&ts__hip.device_count, i + 1, __ATOMIC_RELEASE);
    return i;
}

// The track of the device that a program knows by its index.
static uint32_t ts__hip_device_track(uint32_t index)
{
    static const ts__hip_facts unknown;
    if (index >= TS__HIP_DEVICES) index = TS__HIP_DEVICES - 1;
    // acquire: pairs with the release in ts__hip_device_add
    if (index < __atomic_load_n(&ts__hip.device_count, __ATOMIC_ACQUIRE))
        return ts__hip.devices[index].track;
    pthread_mutex_lock(&ts__hip.lock);
    while (ts__hip.device_count <= index) // by an id that no device has
        ts__hip_device_add(UINT64_MAX - ts__hip.device_count, &unknown);
    const uint32_t track = ts__hip.devices[index].track;
    pthread_mutex_unlock(&ts__hip.lock);
    return track;
}

static inline uint32_t ts__hip_device_of(uint64_t id)
{
    static const ts__hip_facts unknown;
    // acquire: pairs with the release in ts__hip_device_add
    const uint32_t count =
        __atomic_load_n(&ts__hip.device_count, __ATOMIC_ACQUIRE);
    if (ts__hip.indices) {
        const uint32_t index = id < TS__HIP_DEVICES ? (uint32_t)id : 0;
        if (TS__UNLIKELY(index >= count)) ts__hip_device_track(index);
        return index;
    }
    for (uint32_t i = 0; i < count; i++)
        if (ts__hip.devices[i].id == id) return i;
    pthread_mutex_lock(&ts__hip.lock);
    const uint32_t i = ts__hip_device_add(id, &unknown);
    pthread_mutex_unlock(&ts__hip.lock);
    return i;
}

#include "hip/streams.h"

#include "hip/calls.h"

#include "hip/operations.h"

#include "hip/capture.h"

#include "hip/rocprofiler.h"
#include "hip/roctracer.h"

#include "hip/hook.h"
#include "hip/shim.h"

/* ---- 3.4 The choice ----------------------------------------------------- */

static const ts__hip_way *const ts__hip_ways[] = { &ts__rp_way, &ts__rt_way,
                                                   &ts__hook_way,
                                                   &ts__shim_way };

// Says in the trace which way it is, and what was not there of better ones.
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

// What a library holds dies with the process: it is fetched often.
static bool ts__hip_work_start(void)
{
    ts__hip.worker.fetch = ts__hip_work_fetch;
    ts__hip.worker.finish = ts__hip_work_finish;
    ts__hip.worker.period_ms = 250;
    ts__hip.worker.limit_ms = 2000;
    return ts__worker_start(&ts__hip.worker);
}

// Libraries end after this; the session that listens may end later still.
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

// The state of a session that is about to begin.
static void ts__hip_reset(void)
{
    TS__STORE(&ts__hip.session, ts__hip.session + 1);
    ts__hip.launches = ts__hip.kernels = 0;
    ts__hip.without_launch = ts__hip.before_launch = ts__hip.dropped = 0;
    ts__hip.captured = ts__hip.ran = 0;
    ts__hip.captures = 0; // the end of one between sessions is not heard of
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
                 ts__hip.dead ? "HIP cannot be used in a child made by fork"
                              : "the program is ending");
        return TS_ERR_STATE;
    }
    if (ts__worker_hangs(&ts__hip.worker)) {
        snprintf(why, room, "its library does not answer any more");
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
    // Before handlers that what was loaded just now has registered.
    if (!ts__hip.exits++) atexit(ts__hip_at_exit);
    ts__hip_clock_sample(true);
    ts__hs_start(ts__hip.way == &ts__rp_way, ts__hip.session);
    // release: what was prepared is seen by those who see that it is on
    __atomic_store_n(&ts__hip.on, 1, __ATOMIC_RELEASE);
    if (ts__hip_work_start()) return TS_OK;
    TS__STORE(&ts__hip.on, 0);
    ts__hs_stop();
    ts__hip.way->stop();
    snprintf(why, room, "there is no thread for it");
    return TS_ERR_UNSUPPORTED;
}

static void ts__hip_flush(void)
{
    if (!ts__hip_listens()) return;
    ts__worker_flush(&ts__hip.worker);
    ts__losses_report(&ts__hip.lost);
}

// Launches that wait at the end; what the library says that it dropped is
// counted already.
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
    // During a capture some may be launched on a stream that is not captured:
    // those have kernels.
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

#endif // implementation
