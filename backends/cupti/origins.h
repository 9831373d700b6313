/*
    cupti/origins.h - who called: kept for the operations that a call starts

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Records of operations come later and have only the correlation of their
    call. So each call notes its thread, site, stack and begin under that
    correlation; nodes of graphs note the stack of their creation.
*/
#ifndef TS__CUPTI_ORIGINS_H
#define TS__CUPTI_ORIGINS_H

#include "tracesmith.h"
#include "../gpu/records.h"
#include "functions.h"
#include "vendors.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct ts__cu_call { // the call that the thread is in
    const ts__cu *engine;
    uint32_t session, domain, id, correlation;
    uint32_t known; // the session in which the thread's track was noted
    uint32_t node;  // a graph node that the call created; nothing is launched
    uint8_t rule;
    ts_gpu_origin origin;
    uint64_t start;
} ts__cu_call;
static TS__TLS ts__cu_call ts__cu_here;

// Notes the calling thread's track, because records of overhead contain only
// the system's thread id.
static void ts__cu_thread_note(ts__cu *u, uint32_t track)
{
    const uint32_t id = (uint32_t)syscall(SYS_gettid);
    for (uint32_t i = 0; i < TS__CU_THREADS; i++) {
        ts__cu_thread *const t = &u->memory->threads[(id + i) % TS__CU_THREADS];
        uint32_t seen = 0;
        // release: pairs with the acquire in ts__cu_thread_track
        if (__atomic_compare_exchange_n(&t->id, &seen, id, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
            seen == id) {
            __atomic_store_n(&t->track, track, __ATOMIC_RELEASE);
            return;
        }
    }
}

static uint32_t ts__cu_thread_track(ts__cu *u, uint32_t id)
{
    for (uint32_t i = 0; id && i < TS__CU_THREADS; i++) {
        ts__cu_thread *const t = &u->memory->threads[(id + i) % TS__CU_THREADS];
        const uint32_t seen = TS__LOAD(&t->id);
        if (seen == id) return __atomic_load_n(&t->track, __ATOMIC_ACQUIRE);
        if (!seen) break;
    }
    return 0;
}

// Notes the origin of a call. launch: a record of a kernel will follow. A
// driver call within a runtime function may have a correlation of its own,
// which the records of its operations may contain.
static inline void ts__cu_origin_put(ts__cu *u, uint32_t correlation,
                                     const ts__cu_call *call, bool launch)
{
    const uint32_t outer =
        correlation == call->correlation ? 0 : call->correlation;
    const ts__cu_origin o = { call->origin.thread | (uint64_t)call->origin.site
                                                        << 32,
                              call->origin.stack | (uint64_t)outer << 32,
                              call->start };
    ts__notes_put(&u->origins, correlation, &o, sizeof o, launch);
}

// Gets the origin of a record. reported: clears its wait, because the kernel
// was reported. *correlation becomes that of the program's call.
static inline bool ts__cu_origin_get(ts__cu *u, uint64_t *correlation,
                                     bool reported, ts_gpu_origin *origin,
                                     uint64_t *tick)
{
    ts__cu_origin o;
    const bool known =
        ts__notes_get(&u->origins, *correlation, &o, sizeof o, reported);
    if (TS__UNLIKELY(!known)) memset(&o, 0, sizeof o);
    const uint32_t outer = (uint32_t)(o.stack_outer >> 32);
    if (TS__UNLIKELY(outer)) {
        *correlation = outer;
        if (reported) ts__notes_settle(&u->origins, outer, sizeof o);
    }
    origin->thread = (uint32_t)o.thread_site;
    origin->site = (uint32_t)(o.thread_site >> 32);
    origin->stack = (uint32_t)o.stack_outer;
    *tick = o.tick;
    return known;
}

// Returns whether a record without an origin is of a query: CUPTI reports one
// that finds a stream or an event idle as a wait for it, and queries are not
// called back. Source: seen on an H200 with CUPTI 13.0.
static bool ts__cu_is_query(const ts__cu *u, uint32_t correlation)
{
    const uint32_t first = TS__LOAD(&u->first_correlation);
    return first && correlation >= first &&
           ts__notes_never(&u->origins, correlation, sizeof(ts__cu_origin));
}

static bool ts__cu_is_move(uint8_t rule)
{
    return rule >= TS__CU_MOVES && rule <= TS__CU_MOVES_3;
}

// Notes the addresses of a copy or memset: records do not contain them, but the
// arguments of calls do.
static __attribute__((noinline)) void ts__cu_move_put(ts__cu *u,
                                                      uint32_t correlation,
                                                      const void *arguments,
                                                      uint8_t rule)
{
    ts__cu_move m = { 0, 0 };
    if (!arguments || !u->table->arguments) return;
    m.to = ts__read64(arguments, 0);
    if (rule == TS__CU_MOVES) m.from = ts__read64(arguments, 8);
    if (rule == TS__CU_MOVES_3) m.from = ts__read64(arguments, 16);
    ts__notes_put(&u->moves, correlation, &m, sizeof m, false);
}

static ts__cu_move ts__cu_move_get(const ts__cu *u, uint64_t correlation)
{
    ts__cu_move m;
    if (!ts__notes_get(&u->moves, correlation, &m, sizeof m, false))
        memset(&m, 0, sizeof m);
    return m;
}

// Returns the entry of a graph node; if `make`, adds it. NULL: none. If the
// bucket is full, its oldest entry is replaced (ids of nodes increase). The
// destruction of a node does not free its entry, because records come later.
static ts__cu_node *ts__cu_node_at(ts__cu *u, uint64_t id, bool make)
{
    const uint64_t hash = id * 0x9E3779B97F4A7C15u >> 32;
    ts__cu_node *oldest = NULL;
    uint64_t least = UINT64_MAX;
    for (uint64_t i = 0; id && i < 64; i++) {
        ts__cu_node *const n = &u->memory->nodes[(hash + i) % TS__CU_NODES];
        uint64_t seen = TS__LOAD(&n->id);
        if (seen == id) return n;
        if (!seen && !make) return NULL;
        if (seen && seen < least) {
            least = seen;
            oldest = n;
        }
        if (seen) continue;
        if (__atomic_compare_exchange_n(&n->id, &seen, id, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
            seen == id)
            return n;
    }
    if (!make || !oldest) return NULL;
    TS__STORE(&oldest->stack, 0);
    TS__STORE(&oldest->id, id); // of two threads in a race the later one wins
    return oldest;
}

// Returns the stack at the node's creation; 0: none.
static uint32_t ts__cu_node_stack(ts__cu *u, uint64_t id)
{
    const ts__cu_node *const n = ts__cu_node_at(u, id, false);
    return n ? (uint32_t)TS__LOAD(&n->stack) : 0;
}

#endif // TS__CUPTI_ORIGINS_H
