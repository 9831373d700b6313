/*
    ts_cupti.h - what NVIDIA's CUPTI reports, and MetaX's MCPTI

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: libcupti.so of CUDA 11.0 to 13.x, found at run time;
                    libmcpti.so of MACA.
    Checked with:   doubles of both libraries (tests/doubles/); the layouts
                    against the headers of CUDA 11.8, 12.4 and 13.0, names of
                    functions and the start without a device against NVIDIA's
                    own libraries of these (tests/checks/nvidia.sh). November
                    2026. Not yet run on a GPU.

    WHAT IT DOES
        Kernels, copies, sets, synchronisation, events, allocations and graphs
        with the times of the device, each tied to the call, thread, zone and
        stack that launched it, and calls of the runtime and the driver.
        A vendor whose interface has CUPTI's shape is a table, in
        cupti/vendors.h.

    WHAT IT DOES NOT DO
        It reads no counters and takes no samples. It never calls
        cuptiFinalize. In a child made by fork it is silent, as CUDA is.
        (Programs that nobody changed: docs/capture.md.)

    USE
        #define TRACESMITH_IMPLEMENTATION // in one C11 file of a program
        #define TRACESMITH_CUPTI          // that uses CUDA
        #include "tracesmith.h"

        #include "backends/ts_cupti.h"

    CONTENTS                            search for "==== 2." to jump
        1. Options
        2. Capture
        3. Tables of vendors            cupti/vendors.h; private, as all
                                        that follows
        4. Calls                        cupti/calls.h
        5. Records                      cupti/records.h
        6. Another profiler             cupti/other_profiler.h
        7. Buffers and the worker
        8. Start and stop
*/
#if (defined(TRACESMITH_CUPTI_IMPLEMENTATION) || defined(TRACESMITH_CUPTI)) && \
    !defined(_GNU_SOURCE)
#define _GNU_SOURCE // before the first system header
#endif
#ifndef TS_CUPTI_H
#define TS_CUPTI_H

#include "tracesmith.h"

/* ==== 1. Options ========================================================= */

/*
    TRACESMITH_CUPTI_IMPLEMENTATION  in one C11 file: the functions
    TRACESMITH_CUPTI                 the same, beside
                                     TRACESMITH_IMPLEMENTATION; sessions of the
                                     program capture without a further call

    Which kinds, names and stacks: ts_filter.h.
*/
typedef struct ts_cupti_desc {
    // a graph_launch for each launch of a graph, and none of its kernels
    // (false: its kernels)
    bool whole_graphs TS__UNSET;
    // `queued` and `submitted` of kernels, which costs time at each launch
    // (false)
    bool latency TS__UNSET;
    // that the vendor fills, 64 KiB to 16 MiB (2 MiB)
    uint32_t buffer_bytes TS__UNSET;
    uint32_t buffer_count TS__UNSET; // of them, 2 to 32 (16)
    uint32_t flush_ms TS__UNSET; // what is complete is fetched so often (200)
    // a stop waits at most so long for the vendor (2000)
    uint32_t stop_ms TS__UNSET;
    // CUPTI is given up to whoever asks for it and has this in the name of the
    // profiler or its file, "all": to anybody (NULL: to nobody)
    const char *yield TS__UNSET;
    // sessions look after modules and memory from their start, so that
    // ts_capture_start may come later (false: only if it came before)
    bool operations TS__UNSET;
} ts_cupti_desc;

// From the next session on; NULL: all defaults.
// Threads: while no session runs. Errors: TS_ERR_USAGE (out of range).
TS_API ts_result ts_cupti_configure(const ts_cupti_desc *desc);

/* ==== 2. Capture ========================================================= */

/*
    For ts_backend_add. The session's metadata say `backend.cupti`: "on", or
    why not; `cupti.launches` and `cupti.kernels` say of how many launches the
    kernel was reported.

    Only one profiler can have CUPTI in a process: while another one has it,
    calls are recorded, and what they started is a loss; captures end.
    `backend.cupti` says who was first, `cupti.asked` who asked for it later.
*/
extern const ts_backend ts_cupti_backend;
extern const ts_backend ts_mcpti_backend;

// What the CUDA driver calls in a library that CUDA_INJECTION64_PATH names.
// Returns 1: handled.
TS_API int ts_cupti_initialize(void);

// A name of a stream of CUDA, by its handle, for its track: as NVTX gives it.
// If work of it was recorded before, the name is a fact of its track, `name`.
// Lifetime: `name` stays for as long as the process.
TS_API void ts_cupti_stream_name(void *stream, const char *name);

#endif // TS_CUPTI_H

#if !defined(TS__CUPTI_IMPLEMENTED) && !defined(TRACESMITH_DISABLE) && \
    (defined(TRACESMITH_CUPTI_IMPLEMENTATION) || \
     (defined(TRACESMITH_CUPTI) && defined(TRACESMITH_IMPLEMENTATION)))
#define TS__CUPTI_IMPLEMENTED

#if defined(__cplusplus) || __STDC_VERSION__ < 201112L
#error "ts_cupti.h: the implementation is C11; give it a .c file"
#endif
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#ifndef RTLD_NEXT
#error "ts_cupti.h: define _GNU_SOURCE before any #include"
#endif

#include "ts_filter.h"
#include "gpu/records.h"

#include "gpu/capture.h"

#include "cupti/vendors.h" // 3
#include "cupti/calls.h"   // 4
#include "cupti/records.h" // 5

#include "cupti/other_profiler.h" // 6

/* ==== 7. Buffers and the worker ========================================== */

/*
    The vendor wants a buffer, on a thread of the program. No lock, nothing
    allocated: a bit of a word. If none is left it gets one that nobody reads,
    because some versions (CUDA 12.9) crash without any, and its records are
    counted.
*/
static void ts__cu_request(ts__cu *u, uint8_t **buffer, size_t *size,
                           size_t *count)
{
    uint32_t free = TS__LOAD(&u->free);
    *count = 0; // as many as fit
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
    if (buffer < u->pool || i >= TS__CU_BUFFERS) return; // none of ours
    u->valid[i] = valid;
    // release: the buffer's contents; pairs with the acquire in
    // ts__cu_decode_all
    __atomic_fetch_or(&u->full, 1u << i, __ATOMIC_RELEASE);
    ts__worker_wake(&u->worker.wake);
}

// The vendor's interface says for which of the engines it calls by the
// function only.
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

#define TS__CU_SILENCE_SAID UINT64_MAX
static const char ts__cu_silent[] =
    "kernels were launched, but none was reported: this version, or another "
    "tool, keeps them";

static const char ts__cu_unheard[] =
    "beside the other profiler no call of CUDA was seen: those of a runtime "
    "that is linked statically cannot be";

// Of many launches no kernel has come for long: the trace says so now, as the
// end of this process may never come. Under `decode`.
static void ts__cu_silence(ts__cu *u)
{
    enum { MANY = 100, PATIENCE_MS = 10000 };
    const uint64_t now = ts__clock_now_ns(CLOCK_MONOTONIC);
    const uint32_t ms = u->patience_ms ? u->patience_ms : PATIENCE_MS;
    if (u->silent_ns == TS__CU_SILENCE_SAID || u->refused ||
        TS__LOAD(&u->apart) || !ts_filter_kind(TS_EVENT_KERNEL))
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

// False: the vendor took so long that nobody waits for this worker any more.
static bool ts__cu_fetch(ts__cu *u, uint32_t flags)
{
    const bool ours = !TS__LOAD(&u->fatal) && !TS__LOAD(&u->apart);
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

// Whether the version is one without records of waits for a device.
static bool ts__cu_is_deaf(const ts__cu *u)
{
    return u->version >= u->table->deaf[0] && u->version < u->table->deaf[1];
}

static void ts__cu_let_go(ts__cu *u)
{
    // After an error that it did not survive it has let go by itself.
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

// Another profiler gets it as we found it, with the clock that is its own.
// What still runs is told of without an end.
static void ts__cu_yield(ts__cu *u)
{
    if (!ts__cu_fetch(u, 0) || !ts__cu_fetch(u, 1)) return;
    // A launch between the two has a call, and is a loss: nobody reports it.
    ts__ca_calls(u);
    ts__cu_go_apart(u);
    ts__cu_let_go(u);
    ts__cu_keep_not(u);
    if (u->clock_given && u->call.clock) u->call.clock(ts__cu_realtime_ns);
    u->clock_given = false;
}

static void ts__cu_work_fetch(void *user)
{
    ts__cu *const u = (ts__cu *)user;
    ts__cu_fetch(u, 0);
    if (TS__LOAD(&u->yield) && !TS__LOAD(&u->apart) && !TS__LOAD(&u->fatal))
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

// What is complete, then what is not: an operation that still runs comes
// without an end. At exit the library may be half gone: nothing is undone. If
// nobody waits any more it lets go: no session begins before that.
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

/* ==== 8. Start and stop ================================================== */

ts_result ts_cupti_configure(const ts_cupti_desc *desc)
{
    ts_cupti_desc d;
    memset(&d, 0, sizeof d);
    if (desc) d = *desc;
    if (!d.buffer_bytes) d.buffer_bytes = 2 << 20;
    if (!d.buffer_count) d.buffer_count = 16;
    if (!d.flush_ms) d.flush_ms = 200;
    if (!d.stop_ms) d.stop_ms = 2000;
    if (d.buffer_bytes < 64 << 10 || d.buffer_bytes > 16 << 20 ||
        d.buffer_count < 2 || d.buffer_count > TS__CU_BUFFERS ||
        d.flush_ms > 60000 || d.stop_ms > 60000)
        return TS_ERR_USAGE;
    d.buffer_bytes = (d.buffer_bytes + 4095) & ~4095u;
    ts__cu_desc = d;
    return TS_OK;
}

static void ts__cu_at_exit(void)
{
    TS__STORE(&ts__cu_exiting, true);
}

// Neither CUDA nor its interfaces work in a child: nothing is called again,
// and the parent's buffers are left as they are.
static void ts__cu_forked(void)
{
    ts__cu *const engines[] = { &ts__cupti, &ts__mcpti };
    for (size_t i = 0; i < 2; i++) {
        ts__cu *const u = engines[i];
        if (!u->memory) continue;
        u->on = u->apart = 0;
        ts__worker_forked(&u->worker);
        u->subscriber = NULL;
        memset(u->kinds_on, 0, sizeof u->kinds_on);
        pthread_mutex_init(&u->decode, NULL);
        ts__cu_forbidden = getpid();
    }
    ts__cs_forked();
}

static void ts__cu_hooks(void)
{
    atexit(ts__cu_at_exit); // it runs before the session's own
    pthread_atfork(NULL, NULL, ts__cu_forked);
}

static void *ts__cu_pages(size_t size)
{
    void *const p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

// Memory of the first start stays, because the vendor may write to it at any
// time. Of the buffers only what is used takes any.
static bool ts__cu_memory_get(ts__cu *u)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ts__cu_hooks);
    if (!ts__cu_desc.buffer_bytes) ts_cupti_configure(NULL);
    if (!u->memory)
        u->memory = (ts__cu_memory *)ts__cu_pages(sizeof *u->memory);
    if (!u->pool) {
        u->pool =
            (uint8_t *)ts__cu_pages((size_t)TS__CU_STRIDE * TS__CU_BUFFERS);
        u->free = UINT32_MAX;
    }
    if (!u->discard) u->discard = (uint8_t *)ts__cu_pages(TS__CU_DISCARD);
    return u->memory && u->pool && u->discard &&
           ts__notes_open(&u->origins, TS__CU_ORIGINS, sizeof(ts__cu_origin)) &&
           ts__notes_open(&u->moves, TS__CU_MOVING, sizeof(ts__cu_move));
}

// The state of a session that is about to begin.
static void ts__cu_reset(ts__cu *u)
{
    const uint32_t count = ts__cu_desc.buffer_count;
    ts__cu_memory *const m = u->memory;
    // Late buffers of the session before are not of this one.
    const uint32_t late = __atomic_exchange_n(&u->full, 0, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < TS__CU_BUFFERS; i++)
        if (late >> i & 1) {
            memset(ts__cu_buffer(u, i), 0, u->valid[i]);
            u->free |= 1u << i;
        }
    u->usable = count == 32 ? UINT32_MAX : (1u << count) - 1;
    u->buffer_bytes = ts__cu_desc.buffer_bytes;
    // The pages that the vendor fills first.
    for (uint32_t i = 0; i < 2; i++)
        if ((u->free & u->usable) >> i & 1)
            memset(ts__cu_buffer(u, i), 0, u->buffer_bytes);
    memset(m->loose, 0, sizeof m->loose);
    memset(m->recorded, 0, sizeof m->recorded);
    memset(m->threads, 0, sizeof m->threads);
    memset(m->launches, 0, sizeof m->launches);
    for (uint32_t i = 0; i < TS__CU_STREAMS; i++)
        m->streams[i].loose = 0, m->streams[i].last_end = 0;
    u->loose_free = u->loose_used = 0;
    if (u->fatal) u->clock_given = false; // it has forgotten that too
    u->first_correlation = u->fatal = u->judged = 0;
    u->launches = u->discarded = u->into_graphs = u->device_waits = 0;
    u->kernels = u->early = u->silent_ns = u->of_graphs = u->device_syncs = 0;
    u->refused = false;
    u->exiting = false;
    TS__STORE(&u->apart, 0);
    u->yield = u->asked = u->heard = 0;
    u->loaded = 0;
    u->owner[0] = 0;
    u->lost.vendor = u->table->product;
    u->lost.texts = ts__cu_texts;
    ts__losses_begin(&u->lost);
}

// The name of the first function that is needed and not there; NULL: none.
static const char *ts__cu_load(ts__cu_calls *c, const ts__cu_table *table,
                               void *library)
{
    const char *const missing =
        ts__library_resolve(library, table->prefix, ts__cu_call_names, c);
    if (missing) return missing;
    if (!c->subscribe && !c->subscribe2) return "Subscribe";
    return !c->call_on && !c->domain_on ? "EnableCallback" : NULL;
}

static const char *ts__cu_result(const ts__cu *u, int result)
{
    const char *text = NULL;
    if (u->call.result && u->call.result(result, &text) == 0 && text)
        return text;
    return "no text";
}

// Finds the library. The fields of its version are those that are read.
static bool ts__cu_library(ts__cu *u, char *why, size_t room)
{
    const ts__cu_table *const t = u->table;
    Dl_info about;
    void *const library = ts__cu_find(t);
    if (!library) {
        snprintf(why, room, "%s is not there", t->library);
        return false;
    }
    const char *const lacks = ts__cu_load(&u->call, t, library);
    void *symbol;
    memcpy(&symbol, &u->call.version, sizeof symbol);
    if (symbol && dladdr(symbol, &about) && about.dli_fname)
        snprintf(u->path, sizeof u->path, "%s", about.dli_fname);
    if (lacks) {
        snprintf(why, room, "%.100s has no %s%s", u->path, t->prefix, lacks);
        return false;
    }
    if (u->call.version(&u->version) != 0) u->version = 0;
    if (u->version < t->oldest) {
        snprintf(why, room, "%.100s is too old: version %u, not %u or later",
                 u->path, u->version, t->oldest);
        return false;
    }
    memcpy(u->at, t->at, sizeof u->at);
    for (const ts__cu_since *s = t->since; s->version; s++)
        if (u->version < s->version) u->at[s->role][s->field] = 0;
    memset(u->roles, TS__CU_NONE, sizeof u->roles);
    for (uint32_t i = 1; i < TS__CU_ROLES; i++)
        if (t->kinds[i]) u->roles[t->kinds[i]] = (uint8_t)i;
    return true;
}

// Results of a subscription when there is another subscriber.
static bool ts__cu_taken(int result)
{
    return result == 39 || result == 12 || result == 2;
}

/*
    The second function tells who is there. But who subscribed by it has to
    call the second ones of all others too, since CUDA 13.2; so it is taken
    only where there is no first one.
*/
static int ts__cu_subscribe_by(ts__cu *u, char *other, size_t room)
{
    ts__cu_subscription how = { sizeof how, "tracesmith", other, room };
    void *asked = NULL;
    int result = 999;
    if (u->call.subscribe) {
        result = u->call.subscribe(&u->subscriber, ts__cu_callback, u);
        if (!ts__cu_taken(result) || !u->call.subscribe2) return result;
        const int answer = u->call.subscribe2(&asked, ts__cu_callback, u, &how);
        if (answer == 0 && u->call.unsubscribe) u->call.unsubscribe(asked);
    } else if (u->call.subscribe2) {
        result = u->call.subscribe2(&u->subscriber, ts__cu_callback, u, &how);
    }
    return result;
}

static bool ts__cu_subscribe(ts__cu *u, char *why, size_t room)
{
    char other[128] = "";
    const int result = ts__cu_subscribe_by(u, other, sizeof other - 1);
    if (result == 0) return true;
    u->subscriber = NULL;
    if (ts__cu_taken(result)) {
        const char *const guess = ts__cu_other();
        snprintf(u->owner, sizeof u->owner, "%.60s",
                 other[0] ? other
                 : guess  ? guess
                          : "which does not say its name");
        snprintf(why, room,
                 "another profiler (%.60s) has %s in this process, and only "
                 "one can: run without it to record the GPU",
                 u->owner, u->table->product);
    } else if (result == 999 || result == 15) {
        snprintf(why, room, "no driver answers %s (%.60s)", u->table->product,
                 ts__cu_result(u, result));
    } else {
        snprintf(why, room, "%s refuses: %.60s (%d)", u->table->product,
                 ts__cu_result(u, result), result);
    }
    return false;
}

/*
    Which clock times the records. Ours is told once in a process: a second
    time would spoil what is under way. Some versions give kernels no times
    with it.
*/
static void ts__cu_clock_choose(ts__cu *u)
{
    const ts__cu_table *const t = u->table;
    const bool bad =
        u->version >= t->clock_bad[0] && u->version < t->clock_bad[1];
    if (t->clock == TS__CU_CLOCK_OURS && !u->clock_given && !bad &&
        u->call.clock && u->call.clock(ts__cu_now_ns) == 0)
        u->clock_given = true;
    uint32_t *const known = &u->clocks[u->clock_given];
    if (!*known)
        *known = ts_clock_define(u->clock_given ? "CLOCK_MONOTONIC_RAW"
                                                : t->product);
    u->time.now_ns = ts__cu_vendor_ns;
    u->time.user = u;
    u->time.name = t->product;
    ts__follow_begin(&u->time, *known, u->clock_given);
    ts__cu_fact(u, "clock", u->clock_given ? "ours" : "the vendor's, sampled");
}

static void ts__cu_attributes(ts__cu *u)
{
    uint8_t yes = 1, no = 0;
    size_t size = 1;
    if (u->call.thread_ids) u->call.thread_ids(1); // those of the system
    if (u->call.attribute) {
        u->call.attribute(5, &size, &yes); // buffers come zeroed
        size = 1;
        // One buffer at a time, not one for each thread: their number has a
        // bound, that of threads has none.
        u->call.attribute(9, &size, &no);
    }
    // Off again after a session that had it.
    if (u->call.latency && (ts__cu_desc.latency || u->latency))
        u->call.latency(ts__cu_desc.latency);
    u->latency = ts__cu_desc.latency;
}

static bool ts__cu_kind_wanted(ts__cu_role role)
{
    static const uint8_t events[TS__CU_ROLES] = {
        [TS__CU_KERNEL] = TS_EVENT_KERNEL, [TS__CU_MEMCPY] = TS_EVENT_MEMCPY,
        [TS__CU_PEER] = TS_EVENT_MEMCPY,   [TS__CU_MEMSET] = TS_EVENT_MEMSET,
        [TS__CU_GRAPH] = TS_EVENT_KERNEL,
    };
    // A whole graph takes the place of its kernels.
    if (role == TS__CU_GRAPH && !ts__cu_desc.whole_graphs) return false;
    if (events[role])
        return ts_filter_kind((ts_event_kind)events[role]) ||
               (role == TS__CU_GRAPH && ts_filter_kind(TS_EVENT_GRAPH_LAUNCH));
    if (role == TS__CU_SYNC)
        return ts_filter_kind(TS_EVENT_STREAM_SYNC) ||
               ts_filter_kind(TS_EVENT_DEVICE_SYNC) ||
               ts_filter_kind(TS_EVENT_EVENT_SYNC) ||
               ts_filter_kind(TS_EVENT_EVENT_WAIT);
    if (role == TS__CU_EVENT)
        return ts_filter_kind(TS_EVENT_EVENT_RECORD) ||
               ts_filter_kind(TS_EVENT_EVENT_WAIT);
    if (role == TS__CU_MEMORY || role == TS__CU_POOL)
        return ts_filter_kind(TS_EVENT_GPU_ALLOC) ||
               ts_filter_kind(TS_EVENT_GPU_FREE);
    return true;
}

// Devices first, so that their records come first. What is there already is to
// be told again to who comes late; the driver that begins has nothing yet, and
// must not be asked. What is refused is said; without kernels all of it is.
static bool ts__cu_kinds(ts__cu *u, char *why, size_t room)
{
    static const char *const names[TS__CU_ROLES] = {
        "",         "kernels",         "copies",   "copies between devices",
        "sets",     "synchronisation", "events",   "memory",
        "pools",    "graphs",          "overhead", "devices",
        "contexts", "streams"
    };
    char missing[192] = "";
    for (uint32_t i = TS__CU_ROLES - 1; i > TS__CU_NONE; i--) {
        const uint32_t kind = u->table->kinds[i];
        if (!kind || !ts__cu_kind_wanted((ts__cu_role)i)) continue;
        int result = 11;
        if (i >= TS__CU_DEVICE && u->call.enable_dump && !ts__cu_injecting)
            result = u->call.enable_dump(kind);
        if (result != 0) result = u->call.enable(kind);
        u->kinds_on[i] = result == 0;
        if (result == 0) continue;
        if (i == TS__CU_KERNEL) {
            snprintf(why, room, "%s gives no kernels: %.60s (%d)",
                     u->table->product, ts__cu_result(u, result), result);
            return false;
        }
        const size_t size = strlen(missing);
        snprintf(missing + size, sizeof missing - size, "%s%s (%d)",
                 size ? ", " : "", names[i], result);
    }
    if (missing[0]) ts__cu_fact(u, "missing", missing);
    return true;
}

#include "cupti/capture.h"

static int (*ts__cu_context_of)(void *stream, void **context);

// The context that a stream belongs to; NULL: the driver does not tell.
static void *ts__cu_stream_context(void *stream)
{
    void *context = NULL;
    void *const driver =
        ts__cu_context_of ? NULL : ts__library_present("libcuda.so");
    void *const found = driver ? dlsym(driver, "cuStreamGetCtx") : NULL;
    if (found) memcpy(&ts__cu_context_of, &found, sizeof found);
    return ts__cu_context_of && ts__cu_context_of(stream, &context) == 0
               ? context
               : NULL;
}

void ts_cupti_stream_name(void *stream, const char *name)
{
    ts__cu *const u = &ts__cupti;
    uint32_t ids[3];
    if (!name || !TS__LOAD(&u->on) || TS__LOAD(&u->apart) ||
        ts__cu_forbidden == getpid())
        return;
    void *const context = ts__cu_stream_context(stream);
    if (!context || !ts__cu_keep_ids(u, context, stream, false, ids) ||
        !ts__cu_decode_enter(u))
        return;
    ts__cu_stream *const s =
        ts__cu_stream_at(u, ts__cu_stream_key(ids[0], ids[1]));
    if (s) s->name = name;
    if (s && s->track) ts_metadata_text(s->track, "name", name);
    pthread_mutex_unlock(&u->decode);
}

static void ts__cu_functions(ts__cu *u)
{
    static const uint32_t resources[] = { TS__CU_MODULE_UNLOADED,
                                          TS__CU_NODE_CREATED,
                                          TS__CU_NODE_CLONED };
    const bool each = u->call.call_on != NULL;
    memset(u->rules, TS__CU_CALL, sizeof u->rules);
    if (!each || !ts__cu_rules_set(u, TS__CU_RUNTIME, ts__cu_runtime_rules,
                                   u->table->runtime))
        u->call.domain_on(1, u->subscriber, TS__CU_RUNTIME);
    if (!each) return;
    ts__cu_rules_set(u, TS__CU_DRIVER, ts__cu_driver_rules, u->table->driver);
    for (size_t i = 0; i < 3; i++)
        u->call.call_on(1, u->subscriber, TS__CU_RESOURCE, resources[i]);
    for (uint32_t id = 1; id <= 3; id++)
        u->call.call_on(1, u->subscriber, TS__CU_STATE, id);
    ts__cu_keep_functions(u);
}

// Another profiler was first: what can be had without CUPTI.
static bool ts__cu_open_apart(ts__cu *u, char *why, size_t room)
{
    if (u != ts__ca_engine || !ts__ca_calls(u)) return false;
    snprintf(why, room,
             "another profiler (%.60s) has %s in this process: calls are "
             "recorded, not what they start",
             u->owner, u->table->product);
    __atomic_store_n(&u->on, ++u->generation, __ATOMIC_RELEASE);
    ts__cu_go_apart(u);
    ts__cu_keep_not(u);
    if (ts__cu_work_start(u)) return true;
    snprintf(why, room, "there is no thread for it");
    return false;
}

// In this order: the clock and the buffers before the first record, who
// calls before the first operation.
static bool ts__cu_open(ts__cu *u, char *why, size_t room)
{
    if (!ts__cu_subscribe(u, why, room))
        return u->owner[0] && ts__cu_open_apart(u, why, room);
    ts__cu_attributes(u);
    ts__cu_clock_choose(u);
    ts__cu_clock_sample(u, true);
    if (u->call.callbacks(u->requested, u->completed) != 0) {
        snprintf(why, room, "%s takes no buffers", u->table->product);
        return false;
    }
    // release: pairs with the acquire in ts__cu_callback
    __atomic_store_n(&u->on, ++u->generation, __ATOMIC_RELEASE);
    ts__cu_functions(u);
    if (!ts__cu_kinds(u, why, room)) return false;
    ts__cu_look(u);
    if (ts__cu_work_start(u)) return true;
    snprintf(why, room, "there is no thread for it");
    return false;
}

static ts_result ts__cu_start(ts__cu *u, char *why, size_t room)
{
    if (ts__cu_forbidden == getpid() && u->memory) {
        snprintf(why, room,
                 "a child made by fork cannot use the GPU of its "
                 "parent; one that calls exec can");
        return TS_ERR_STATE;
    }
    if (ts__worker_hangs(&u->worker) || ts__worker_hangs(&u->rescue)) {
        snprintf(why, room, "%s has not come back from the session before",
                 u->table->product);
        return TS_ERR_STATE;
    }
    if (!ts__cu_library(u, why, room)) return TS_ERR_NOT_FOUND;
    if (!ts__cu_memory_get(u)) {
        snprintf(why, room, "there is no memory for its buffers");
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

// Faults of the vendor's version that this session met.
static void ts__cu_faults(ts__cu *u)
{
    const uint64_t waits = TS__LOAD(&u->device_waits);
    if (ts__cu_is_deaf(u) && waits > u->device_syncs &&
        ts_filter_kind(TS_EVENT_DEVICE_SYNC))
        ts__lose(&u->lost, TS__CU_DEAF, 0, waits - u->device_syncs);
    if (u->version < u->table->graphs_bad && u->generation > 1 && u->of_graphs)
        ts__cu_fact(u, "fault",
                    "before CUDA 13.1 Update 1 kernels of graphs may name the "
                    "wrong launch from the second session of a process on");
}

// What the trace should say at the end. Under `decode`.
static void ts__cu_sum_up(ts__cu *u)
{
    const uint64_t launches = TS__LOAD(&u->launches); // calls may go on
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
    if (TS__LOAD(&u->apart)) {
        if (!TS__LOAD(&u->heard)) ts__cu_fact(u, "warning", ts__cu_unheard);
        return;
    }
    if (launches && !u->kernels && ts_filter_kind(TS_EVENT_KERNEL))
        ts__cu_fact(u, "warning", ts__cu_silent);
    else if (u->silent_ns == TS__CU_SILENCE_SAID)
        ts__cu_fact(u, "warning", "none"); // one came after all
    const char *const other = ts__cu_other();
    char text[160];
    snprintf(text, sizeof text,
             "%s is in this process; while TraceSmith records it sees no work "
             "of the GPU",
             other ? other : "");
    if (other) ts__cu_fact(u, "other", text);
    if (__atomic_load_n(&u->fatal, __ATOMIC_ACQUIRE))
        ts__cu_fact(u, "error", u->error);
}

// What the vendor gave before it hung. To go from record to record is its
// business too, and may hang as well.
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
        ts__losses_report(&u->lost); // the rest is with whom it hangs
        return;
    }
    pthread_mutex_lock(&u->decode);
    ts__cu_decode(u, __atomic_exchange_n(&u->full, 0, __ATOMIC_ACQUIRE));
    if (!TS__LOAD(&u->apart)) ts__cu_clock_sample(u, true);
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

#endif // TS__CUPTI_IMPLEMENTED
