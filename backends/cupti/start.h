/*
    cupti/start.h - what a session needs before its first record

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Memory, the library and its version, the subscription, the clock, the
    kinds of records.
*/
#ifndef TS__CUPTI_START_H
#define TS__CUPTI_START_H

#include "tracesmith.h"
#include "../ts_cupti.h"
#include "../ts_filter.h"
#include "../gpu/callbacks.h"
#include "../gpu/records.h"
#include "callback_data.h"
#include "calls.h"
#include "capture.h"
#include "engines.h"
#include "functions.h"
#include "other_profiler.h"
#include "records.h"
#include "vendors.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

// CUDA and CUPTI do not work in a child process: none of their functions is
// called again, and the parent's buffers are not touched.
static void ts__cu_forked(void)
{
    ts__cu *const engines[] = { &ts__cupti, &ts__mcpti };
    for (size_t i = 0; i < 2; i++) {
        ts__cu *const u = engines[i];
        if (!u->memory) continue;
        u->on = u->standalone = 0;
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
    atexit(ts__cu_at_exit); // runs before the session's own handler
    pthread_atfork(NULL, NULL, ts__cu_forked);
}

static void *ts__cu_pages(size_t size)
{
    void *const p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

// The memory is allocated at the first start and never freed, because CUPTI may
// write to it at any time. Only used pages of the buffers take memory.
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

// Resets the state for a session that is about to begin.
static void ts__cu_reset(ts__cu *u)
{
    const uint32_t count = ts__cu_desc.buffer_count;
    ts__cu_memory *const m = u->memory;
    // Discards buffers of the previous session that came late.
    const uint32_t late = __atomic_exchange_n(&u->full, 0, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < TS__CU_BUFFERS; i++)
        if (late >> i & 1) {
            memset(ts__cu_buffer(u, i), 0, u->valid[i]);
            u->free |= 1u << i;
        }
    u->usable = count == 32 ? UINT32_MAX : (1u << count) - 1;
    u->buffer_bytes = ts__cu_desc.buffer_bytes;
    // Touches the pages that CUPTI fills first.
    for (uint32_t i = 0; i < 2; i++)
        if ((u->free & u->usable) >> i & 1)
            memset(ts__cu_buffer(u, i), 0, u->buffer_bytes);
    memset(m->recorded, 0, sizeof m->recorded);
    memset(m->threads, 0, sizeof m->threads);
    memset(m->launches, 0, sizeof m->launches);
    for (uint32_t i = 0; i < TS__CU_STREAMS; i++)
        m->streams[i].loose = 0, m->streams[i].last_end = 0;
    u->loose_free = u->loose_used = 0;
    // The failed CUPTI has lost that state too.
    if (u->fatal) u->clock_given = false;
    u->first_correlation = u->fatal = u->judged = 0;
    u->launches = u->discarded = u->into_graphs = u->device_waits = 0;
    u->kernels = u->early = u->silent_ns = u->of_graphs = u->device_syncs = 0;
    u->refused = false;
    u->exiting = false;
    TS__STORE(&u->standalone, 0);
    u->yield = u->contended = u->heard = 0;
    u->loaded = 0;
    u->owner[0] = 0;
    u->lost.vendor = u->table->product;
    u->lost.texts = ts__cu_texts;
    ts__losses_begin(&u->lost);
}

// Returns the name of the first required function that is missing, or NULL.
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

// Finds the library and selects the fields of its version.
static bool ts__cu_library(ts__cu *u, char *why, size_t room)
{
    const ts__cu_table *const t = u->table;
    Dl_info about;
    void *const library = ts__cu_find(t);
    if (!library) {
        snprintf(why, room, "%s was not found", t->library);
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

// Returns whether a subscription failed because of another subscriber.
static bool ts__cu_taken(int result)
{
    return result == 39 || result == 12 || result == 2;
}

// cuptiSubscribe_v2 returns the name of the other subscriber. But since CUDA
// 13.2 its subscriber must use the _v2 functions everywhere, so it is used only
// if there is no cuptiSubscribe.
static int ts__cu_subscribe_by(ts__cu *u, char *other, size_t room)
{
    ts__cu_subscription how = { sizeof how, "tracesmith", other, room };
    void *second = NULL;
    int result = 999;
    if (u->call.subscribe) {
        result = u->call.subscribe(&u->subscriber, ts__cu_callback, u);
        if (!ts__cu_taken(result) || !u->call.subscribe2) return result;
        const int answer =
            u->call.subscribe2(&second, ts__cu_callback, u, &how);
        if (answer == 0 && u->call.unsubscribe) u->call.unsubscribe(second);
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
                          : "which does not report its name");
        snprintf(why, room,
                 "another profiler (%.60s) uses %s in this process, and only "
                 "one can: run without it to record the GPU",
                 u->owner, u->table->product);
    } else if (result == 999 || result == 15) {
        snprintf(why, room, "no driver responds to %s (%.60s)",
                 u->table->product, ts__cu_result(u, result));
    } else {
        snprintf(why, room, "%s fails: %.60s (%d)", u->table->product,
                 ts__cu_result(u, result), result);
    }
    return false;
}

// Chooses the clock that times the records. Our clock is set once per process,
// because setting it again would corrupt records in flight. Some versions
// report no kernel times with it.
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
    // Use the system's thread ids.
    if (u->call.thread_ids) u->call.thread_ids(1);
    if (u->call.attribute) {
        u->call.attribute(5, &size, &yes); // CUPTI zeroes the buffers
        size = 1;
        // One buffer at a time instead of one per thread, because the number of
        // buffers is bounded and that of threads is not.
        u->call.attribute(9, &size, &no);
    }
    // Turned off again after a session that had it on.
    if (u->call.latency && (ts__cu_desc.latency || u->latency))
        u->call.latency(ts__cu_desc.latency);
    u->latency = ts__cu_desc.latency;
}

static bool ts__cu_kind_requested(ts__cu_role role)
{
    static const uint8_t events[TS__CU_ROLES] = {
        [TS__CU_MEMCPY] = TS_EVENT_MEMCPY,
        [TS__CU_PEER] = TS_EVENT_MEMCPY,
        [TS__CU_MEMSET] = TS_EVENT_MEMSET,
    };
    if (events[role]) return ts_filter_kind((ts_event_kind)events[role]);
    if (role == TS__CU_KERNEL) return ts_filter_kernels();
    // The record of a whole graph replaces those of its kernels.
    if (role == TS__CU_GRAPH)
        return ts__cu_desc.whole_graphs &&
               (ts_filter_kernels() || ts_filter_kind(TS_EVENT_GRAPH_LAUNCH));
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

// Enables the kinds of records, devices first, so that their records come
// first. A late subscriber requests records of existing objects; while the
// driver initializes there are none, and it must not be queried. Refused kinds
// are reported; without kernels the session fails.
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
        if (!kind || !ts__cu_kind_requested((ts__cu_role)i)) continue;
        int result = 11;
        if (i >= TS__CU_DEVICE && u->call.enable_dump && !ts__cu_injecting)
            result = u->call.enable_dump(kind);
        if (result != 0) result = u->call.enable(kind);
        u->kinds_on[i] = result == 0;
        if (result == 0) continue;
        if (i == TS__CU_KERNEL) {
            snprintf(why, room, "%s cannot report kernels: %.60s (%d)",
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

static int (*ts__cu_context_of)(void *stream, void **context);

// Returns the context of a stream; NULL: unknown.
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
    if (!name || !TS__LOAD(&u->on) || TS__LOAD(&u->standalone) ||
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

#endif // TS__CUPTI_START_H
