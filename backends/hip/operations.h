/*
    hip/operations.h - operations of devices, whichever interface reports
    them

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Turns a reported operation into one of tracesmith.h: the note of its
    call is found by its correlation.

    CONTENTS                            search for "==== 2." to jump
        1. Threads that hand records over
        2. All operations
        3. Copies and memsets
        4. Kernels
*/
#ifndef TS__HIP_OPERATIONS_H
#define TS__HIP_OPERATIONS_H

#include "tracesmith.h"
#include "../ts_filter.h"
#include "../gpu/records.h"
#include "calls.h"
#include "state.h"
#include "streams.h"
#include "taker.h"

#include <stdlib.h>
#include <string.h>

/* ==== 1. Threads that hand records over ================================== */

// Returns NULL if out of memory.
static ts__hip_taker *ts__hip_taker_get(void)
{
    ts__hip_thread *const me = ts__hip_thread_get();
    if (me && !me->taker)
        me->taker = (ts__hip_taker *)calloc(1, sizeof *me->taker);
    return me ? me->taker : NULL;
}

static void ts__hip_count(uint64_t *all, uint64_t *own)
{
    if (*own) __atomic_add_fetch(all, *own, __ATOMIC_RELAXED);
    *own = 0;
}

// Counts delivered records. end_ns: end of the last one.
static void ts__hip_taken(ts__hip_taker *t, uint64_t end_ns)
{
    ts__hip_count(&ts__hip.kernels, &t->kernels);
    ts__hip_count(&ts__hip.ran, &t->ran);
    ts__hip_count(&ts__hip.without_launch, &t->without_launch);
    ts__hip_count(&ts__hip.before_launch, &t->before_launch);
    // Sampled only once a second, because records may come one by one.
    if (end_ns - TS__LOAD(&ts__hip.clock_ns) >= 1000000000u)
        ts__hip_clock_sample(false);
}

/* ==== 2. All operations ================================================== */

typedef struct ts__hip_record { // an operation as an interface reports it
    uint64_t correlation, start_ns, end_ns, queue;
    uint32_t device;
} ts__hip_record;

static inline uint32_t ts__hip_recent_track(ts__hip_taker *t,
                                            const ts__hip_place *p)
{
    const uint64_t at = p->handle >> 4 ^ p->handle >> 12 ^ p->device;
    ts__hip_recent *const r = &t->recent[at % TS__HIP_RECENT];
    if (TS__LIKELY(r->stream && ts__hip_stream_fits(r->stream, p) &&
                   TS__LOAD(&r->stream->number) == r->number))
        return r->track;
    r->track = ts__hip_stream_of(p, &r->stream, &r->number);
    return r->track;
}

// Counts operations that begin before their call. tick: begin of the call.
static void ts__hip_op_check(ts__hip_taker *t, const ts__hip_record *r,
                             uint64_t tick)
{
    enum { NEARLY = 2000 }; // ns, precision of the relation between both clocks
    ts__line line;
    if (ts__follow_line(&ts__hip.time, &line) &&
        TS__UNLIKELY(ts__line_before(&line, r->start_ns + NEARLY, tick)))
        t->before_launch++;
}

// Fills the common fields. Returns false if nothing is to be recorded.
static bool ts__hip_op_begin(ts__hip_taker *t, ts_gpu_op *op,
                             ts__hip_note *note, const ts__hip_record *r)
{
    const bool noted =
        ts__notes_get(&ts__hip.notes, r->correlation, note, sizeof *note, true);
    if (noted && TS__UNLIKELY(note->role == TS__HIP_OWN)) return false;
    if (TS__UNLIKELY(!r->start_ns || r->end_ns < r->start_ns)) {
        ts__hip_lose(!r->start_ns || !r->end_ns ? TS__HIP_ZERO_TIMES
                                                : TS__HIP_REVERSED,
                     1);
        return false;
    }
    if (TS__UNLIKELY(!noted)) {
        memset(note, 0, sizeof *note);
        t->without_launch++;
    } else {
        ts__hip_op_check(t, r, note->tick);
    }
    op->clock = TS__LOAD(&ts__hip.time.clock);
    op->start = r->start_ns;
    op->end = r->end_ns;
    op->queued = op->submitted = 0;
    op->correlation = r->correlation;
    op->origin = note->origin;
    const ts__hip_place place = { .handle = note->has_stream ? note->stream
                                                             : r->queue,
                                  .tick = noted ? note->tick : UINT64_MAX,
                                  .device = r->device,
                                  .is_queue = !note->has_stream };
    op->track = ts__hip_recent_track(t, &place);
    return true;
}

static void ts__hip_op_end(const ts_gpu_op *op)
{
    if (ts_filter_kind(op->kind)) ts_gpu_op_record(op);
}

/* ==== 3. Copies and memsets ============================================== */

// size: 0 means the size in the call.
static void ts__hip_fill_copy(ts_gpu_op *op, const ts__hip_note *note,
                              uint64_t size)
{
    // hipMemcpyKind: 0 h2h, 1 h2d, 2 d2h, 3 d2d, 4 default
    static const uint8_t types[] = { 4, 1, 2, 3, 0 };
    memset(&op->u, 0, sizeof op->u);
    op->kind = TS_EVENT_MEMCPY;
    op->u.memcpy.size = size;
    if (note->role != TS__HIP_COPY) return;
    if (!size) op->u.memcpy.size = note->u.move.size;
    op->u.memcpy.source = note->u.move.source;
    op->u.memcpy.destination = note->u.move.destination;
    op->u.memcpy.type = types[note->copy];
}

static void ts__hip_fill_set(ts_gpu_op *op, const ts__hip_note *note,
                             uint64_t size)
{
    memset(&op->u, 0, sizeof op->u);
    op->kind = TS_EVENT_MEMSET;
    op->u.memset.size = size;
    if (note->role != TS__HIP_SET) return;
    if (!size) op->u.memset.size = note->u.move.size;
    op->u.memset.destination = note->u.move.destination;
    op->u.memset.value = note->u.move.source;
}

/* ==== 4. Kernels ========================================================= */

typedef struct ts__hip_kernel {
    const char *name;
    uint64_t id;                // permanent id of the name; 0: none
    uint32_t grid[3], block[3]; // all 0: as in the call
    bool in_items;              // the grid counts work items
    uint32_t registers, static_shared, dynamic_shared, local;
} ts__hip_kernel;

// Returns a cheap hash that differs for most texts.
static uint64_t ts__hip_text_hint(const char *text)
{
    uint64_t words[3] = { 0, 0, 0 };
    const size_t size = strlen(text);
    if (size < 8) {
        memcpy(words, text, size);
    } else {
        memcpy(&words[0], text, 8);
        memcpy(&words[1], text + size / 2 - 4, 8);
        memcpy(&words[2], text + size - 8, 8);
    }
    return (words[0] ^ words[1] << 3 ^ words[2] << 7 ^ words[2] >> 57) + size;
}

// Converts work items to groups; the last group may not be full.
static uint32_t ts__hip_groups(uint32_t items, uint32_t block)
{
    return block ? items / block + (items % block != 0) : items;
}

// Takes from the call what the kernel's record lacks.
static void ts__hip_kernel_fill(ts__hip_kernel *k, const ts__hip_note *note)
{
    if (k->grid[0] || note->role != TS__HIP_LAUNCH) return;
    memcpy(k->grid, note->u.launch.grid, sizeof k->grid);
    for (int i = 0; i < 3; i++)
        k->block[i] = note->u.launch.block[i];
    k->dynamic_shared = note->u.launch.shared;
    k->in_items = note->in_items;
}

static uint32_t ts__hip_launch_define(const ts__hip_kernel *k)
{
    ts_gpu_launch_desc launch = { .name = k->name,
                                  .registers = k->registers,
                                  .static_shared = k->static_shared,
                                  .dynamic_shared = k->dynamic_shared,
                                  .local = k->local };
    for (int i = 0; i < 3; i++) {
        launch.block[i] = k->block[i];
        launch.grid[i] =
            k->in_items ? ts__hip_groups(k->grid[i], k->block[i]) : k->grid[i];
    }
    return ts_gpu_launch_define(&launch);
}

// The key is taken from the record, else from the call, else from the name's
// text.
static inline void ts__hip_launch_key(uint64_t key[8], const ts__hip_kernel *k,
                                      const ts__hip_note *note)
{
    key[0] = k->id;
    key[7] = 0;
    if (k->grid[0]) {
        key[1] = k->grid[0] | (uint64_t)k->grid[1] << 32;
        key[2] = k->grid[2] | (uint64_t)k->block[0] << 32;
        key[3] = k->block[1] | (uint64_t)k->block[2] << 32;
        key[4] = k->static_shared | (uint64_t)k->dynamic_shared << 32;
        key[5] = k->local | (uint64_t)k->registers << 32;
        key[6] = k->in_items;
    } else {
        key[1] = note->role == TS__HIP_LAUNCH ? 0 : ts__hip_text_hint(k->name);
        key[2] = key[3] = 0;
        key[4] = note->u.words[0];
        key[5] = note->u.words[1];
        key[6] = note->u.words[2];
        key[7] = (uint64_t)note->role << 1 | note->in_items;
    }
}

static __attribute__((noinline)) void
ts__hip_launch_learn(ts__hip_taker *t, uint64_t slot, const uint64_t key[8],
                     ts__hip_kernel *k, const ts__hip_note *note)
{
    ts__launch *const l = &t->launches[slot];
    ts__hip_kernel_fill(k, note);
    free(t->names[slot]);
    t->names[slot] = k->id ? NULL : strdup(k->name);
    memcpy(l->key, key, sizeof l->key);
    // Without a copy of its text it cannot be found again.
    l->epoch = k->id || t->names[slot] ? TS__LOAD(&ts__hip.session) : 0;
    ts__launch_read(l, k->name);
    l->launch = l->unrequested ? 0 : ts__hip_launch_define(k);
}

// Returns the dictionary entry of a kernel's name and configuration. roctracer
// keeps names in buffers that it reuses, so names without an id are compared by
// text.
static inline const ts__launch *
ts__hip_launch_of(ts__hip_taker *t, ts__hip_kernel *k, const ts__hip_note *note)
{
    uint64_t key[8];
    ts__hip_launch_key(key, k, note);
    const uint64_t slot = ts__launch_hash(key) % TS__HIP_LAUNCHES;
    const ts__launch *const l = &t->launches[slot];
    if (TS__UNLIKELY(!ts__launch_is(l, key, TS__LOAD(&ts__hip.session)) ||
                     (!k->id && strcmp(k->name, t->names[slot]) != 0)))
        ts__hip_launch_learn(t, slot, key, k, note);
    return l;
}

// Returns whether a kernel is one that the runtime runs for a copy or memset,
// which are recorded as what the program called.
static bool ts__hip_is_internal(const char *name, const ts__hip_note *note)
{
    static const char begins[] = "__amd_rocclr_";
    return (note->role == TS__HIP_SET || note->role == TS__HIP_COPY) &&
           !strncmp(name, begins, sizeof begins - 1);
}

static void ts__hip_internal_end(ts_gpu_op *op, const ts__hip_note *note)
{
    if (note->role == TS__HIP_SET)
        ts__hip_fill_set(op, note, 0);
    else
        ts__hip_fill_copy(op, note, 0);
    ts__hip_op_end(op);
}

// Completes and writes the kernel.
static void ts__hip_kernel_end(ts__hip_taker *t, const ts__hip_record *r,
                               ts__hip_kernel *kernel)
{
    ts_gpu_op op;
    ts__hip_note note;
    note.role = TS__HIP_CALL;
    const bool whole = ts__hip_op_begin(t, &op, &note, r);
    t->ran += note.role == TS__HIP_LAUNCH && note.copy;
    if (!whole) {
        t->kernels += note.role != TS__HIP_OWN;
        return;
    }
    if (!kernel->name) kernel->name = "(unknown kernel)";
    if (ts__hip_is_internal(kernel->name, &note)) {
        ts__hip_internal_end(&op, &note);
        return;
    }
    t->kernels++;
    const ts__launch *const l = ts__hip_launch_of(t, kernel, &note);
    if (l->unrequested) return;
    op.kind = TS_EVENT_KERNEL;
    op.u.kernel.launch = l->launch;
    op.u.kernel.graph_node = 0;
    op.u.kernel.graph = note.role == TS__HIP_GRAPH ? note.u.graph : 0;
    if (TS__UNLIKELY(l->collective)) ts__launch_collective(l, &op);
    ts__hip_op_end(&op);
}

#endif // TS__HIP_OPERATIONS_H
