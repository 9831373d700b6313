/*
    cupti/records.h - turns the vendor's records into operations of the
    trace

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Reads one record after another by the offsets of the vendor's table.
    Only one thread at a time runs this: the worker, or the stopping thread
    when the worker hangs in the vendor's library.

    Records are not trusted: those without times, with times in the wrong
    order or outside of the session are counted and left out; kernels that
    start before their launch are counted.

    CONTENTS                            search for "==== 2." to jump
        1. Clocks
        2. Devices, contexts, streams
        3. Operations
        4. Events
        5. Memory, overhead
        6. Buffers
*/
#ifndef TS__CUPTI_RECORDS_H
#define TS__CUPTI_RECORDS_H

#include "tracesmith.h"
#include "../ts_filter.h"
#include "../gpu/records.h"
#include "origins.h"
#include "vendors.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

// Reads a field; 0 if the record does not have it.
static inline uint64_t ts__cu_maybe64(const uint8_t *record, uint32_t at)
{
    return at ? ts__read64(record, at) : 0;
}

static inline uint32_t ts__cu_maybe32(const uint8_t *record, uint32_t at)
{
    return at ? ts__read32(record, at) : 0;
}

/* ==== 1. Clocks ========================================================== */

static uint64_t ts__cu_now_ns(void)
{
    return ts__clock_now_ns(CLOCK_MONOTONIC_RAW);
}

// Returns the time of CUPTI's clock. 0: unknown, or CUPTI is not called because
// it has failed or hangs.
static uint64_t ts__cu_vendor_ns(void *user)
{
    ts__cu *const u = (ts__cu *)user;
    uint64_t now = 0;
    if (u->time.exact) return ts__cu_now_ns();
    if (!u->call.time || TS__LOAD(&u->fatal) || ts__worker_hangs(&u->worker))
        return 0;
    return u->call.time(&now) == 0 ? now : 0;
}

static void ts__cu_clock_sample(ts__cu *u, bool always)
{
    if (!ts__follow(&u->time, always)) return;
    for (uint32_t i = 0; i < TS__CU_STREAMS; i++)
        u->memory->streams[i].last_end = 0;
    u->clocks[u->time.exact] = u->time.clock;
}

/* ==== 2. Devices, contexts, streams ====================================== */

static ts__cu_context *ts__cu_context_at(ts__cu *u, uint32_t id)
{
    for (uint32_t i = 0; i < TS__CU_CONTEXTS; i++) {
        ts__cu_context *const c =
            &u->memory->contexts[(id + i) % TS__CU_CONTEXTS];
        if (c->known && c->id != id) continue;
        c->id = id;
        return c;
    }
    return NULL;
}

static ts__cu_stream *ts__cu_stream_at(ts__cu *u, uint64_t key)
{
    const uint64_t hash = key * 0x9E3779B97F4A7C15u >> 40;
    for (uint64_t i = 0; i < 64; i++) {
        ts__cu_stream *const s =
            &u->memory->streams[(hash + i) % TS__CU_STREAMS];
        if (s->key == key) return s;
        if (s->key) continue;
        s->key = key;
        return s;
    }
    return NULL;
}

// Adds 1, because 0 marks a free entry.
static uint64_t ts__cu_stream_key(uint32_t context, uint32_t stream)
{
    return ((uint64_t)context << 32 | stream) + 1;
}

// Stores the properties of devices, contexts and streams from a record.
static void ts__cu_learn(ts__cu *u, ts__cu_role role, const uint8_t *r)
{
    const uint16_t *const at = u->at[role];
    if (role == TS__CU_DEVICE) {
        const uint32_t id = ts__read32(r, at[TS__CU_ON_DEVICE]);
        if (id >= TS__CU_DEVICES) return;
        ts__cu_device *const d = &u->memory->devices[id];
        const char *name;
        memcpy(&name, r + at[TS__CU_NAME], sizeof name);
        snprintf(d->name, sizeof d->name, "%s", name ? name : "");
        d->major = ts__read32(r, at[TS__CU_MAJOR]);
        d->minor = ts__read32(r, at[TS__CU_MINOR]);
        d->processors = ts__read32(r, at[TS__CU_PROCESSORS]);
        d->clock_khz = ts__read32(r, at[TS__CU_CLOCK_KHZ]);
        d->memory = ts__read64(r, at[TS__CU_SIZE]);
        d->bandwidth = ts__read64(r, at[TS__CU_BANDWIDTH]);
        d->known = 1;
    } else if (role == TS__CU_CONTEXT) {
        ts__cu_context *const c =
            ts__cu_context_at(u, ts__read32(r, at[TS__CU_ON_CONTEXT]));
        if (!c) return;
        c->device = ts__read32(r, at[TS__CU_ON_DEVICE]);
        c->null_stream = ts__read16(r, at[TS__CU_NULL_STREAM]);
        c->known = 2; // known from its own record
    } else if (role == TS__CU_STREAM) {
        ts__cu_stream *const s = ts__cu_stream_at(
            u, ts__cu_stream_key(ts__read32(r, at[TS__CU_ON_CONTEXT]),
                                 ts__read32(r, at[TS__CU_ON_STREAM])));
        const uint32_t flags = ts__read32(r, at[TS__CU_FLAGS]) & 0xFFFF;
        if (!s) return;
        s->priority = (int32_t)ts__read32(r, at[TS__CU_PRIORITY]);
        s->flags = flags == 2   ? TS_STREAM_NON_BLOCKING
                   : flags == 3 ? TS_STREAM_LEGACY_DEFAULT
                                : 0;
    }
}

static uint32_t ts__cu_device_track(ts__cu *u, uint32_t id)
{
    if (id >= TS__CU_DEVICES) return 0;
    ts__cu_device *const d = &u->memory->devices[id];
    if (d->track) return d->track;
    if (!d->name[0])
        snprintf(d->name, sizeof d->name, "%s device %u", u->table->product,
                 id);
    const ts_gpu_device_desc desc = { .name = d->name, .index = id };
    TS__STORE(&d->track, ts_gpu_device_define(&desc));
    if (!d->known) return d->track;
    char text[32];
    snprintf(text, sizeof text, "%u.%u", d->major, d->minor);
    ts_metadata_text(d->track, "compute_capability", text);
    ts_metadata_int(d->track, "memory_bytes", (int64_t)d->memory);
    ts_metadata_int(d->track, "multiprocessors", d->processors);
    ts_metadata_int(d->track, "clock_khz", d->clock_khz);
    ts_metadata_int(d->track, "memory_bandwidth_bytes",
                    (int64_t)(d->bandwidth * 1000)); // bytes per second
    return d->track;
}

// device: used if the context's own record did not come.
static uint32_t ts__cu_context_track(ts__cu *u, uint32_t id, uint32_t device)
{
    ts__cu_context *const c = ts__cu_context_at(u, id);
    if (!c) return ts__cu_device_track(u, device);
    if (!c->known) {
        c->known = 1;
        c->device = device;
    }
    if (!c->track) {
        const ts_gpu_context_desc desc = {
            .device = ts__cu_device_track(u, c->device), .number = id
        };
        if (desc.device) c->track = ts_gpu_context_define(&desc);
    }
    return c->track;
}

static void ts__cu_learn_all(ts__cu *u);

static __attribute__((noinline)) void
ts__cu_stream_define(ts__cu *u, ts__cu_stream *s, uint32_t context,
                     uint32_t number, uint32_t device)
{
    // The stream's record may come after its first operation.
    ts__cu_learn_all(u);
    const uint32_t track = ts__cu_context_track(u, context, device);
    const ts__cu_context *const c = ts__cu_context_at(u, context);
    if (!track) return;
    if (c && c->known == 2 && c->null_stream == number)
        s->flags = TS_STREAM_LEGACY_DEFAULT;
    const ts_gpu_stream_desc desc = { .name = s->name,
                                      .context = track,
                                      .number = number,
                                      .priority = s->priority,
                                      .flags = s->flags };
    s->track = ts_gpu_stream_define(&desc);
}

// Returns NULL if there are too many streams; its records are counted as lost.
static __attribute__((noinline)) ts__cu_stream *
ts__cu_stream_find(ts__cu *u, uint32_t context, uint32_t number,
                   uint32_t device)
{
    ts__cu_stream *const s =
        ts__cu_stream_at(u, ts__cu_stream_key(context, number));
    if (s && !s->track) ts__cu_stream_define(u, s, context, number, device);
    if (s && s->track) {
        u->recent[number % TS__CU_RECENT] = s;
        return s;
    }
    ts__lose(&u->lost, TS__CU_UNPLACED, 0, 1);
    return NULL;
}

static inline ts__cu_stream *ts__cu_stream_of(ts__cu *u, uint32_t context,
                                              uint32_t number, uint32_t device)
{
    ts__cu_stream *const s = u->recent[number % TS__CU_RECENT];
    if (TS__LIKELY(s && s->key == ts__cu_stream_key(context, number))) return s;
    return ts__cu_stream_find(u, context, number, device);
}

/* ==== 3. Operations ====================================================== */

static void ts__cu_loose_place(ts__cu *u, ts__cu_stream *s,
                               uint32_t correlation);

// Reads the common fields of an operation with device times. Returns false if
// the record is counted as lost.
static bool ts__cu_timed(ts__cu *u, const uint8_t *r, const uint16_t *at,
                         uint32_t track, bool reported, ts_gpu_op *op)
{
    uint64_t tick;
    op->track = track;
    op->start = ts__read64(r, at[TS__CU_START]);
    op->clock = ts__follow_clock_of(&u->time, op->start);
    op->end = ts__read64(r, at[TS__CU_END]);
    op->correlation = ts__cu_maybe32(r, at[TS__CU_CORRELATION]);
    const bool known =
        ts__cu_origin_get(u, &op->correlation, reported, &op->origin, &tick);
    if (TS__UNLIKELY(!op->start || op->end < op->start)) {
        ts__lose(&u->lost,
                 !op->start ? TS__CU_UNTIMED
                 : !op->end ? TS__CU_UNFINISHED
                            : TS__CU_REVERSED,
                 track, 1);
        return false;
    }
    // More than an hour outside the session: the value is no time.
    if (TS__UNLIKELY(op->start + 3600000000000u < u->time.first.ns ||
                     op->end > u->time.last.ns + 3600000000000u)) {
        ts__lose(&u->lost, TS__CU_OUTSIDE, track, 1);
        return false;
    }
    if (TS__UNLIKELY(!known)) {
        // Operations from before the session have no call in it.
        const uint32_t first = TS__LOAD(&u->first_correlation);
        if (op->correlation && first && op->correlation >= first)
            ts__lose(&u->lost, TS__CU_ORPHAN, track, 1);
    } else if (TS__UNLIKELY(
                   ts__follow_before(&u->time, op->start + 2000, tick))) {
        u->early++; // 2 us: the precision of the relation between both clocks
    }
    return true;
}

static void ts__cu_stream_went(ts__cu *u, ts__cu_stream *s, const ts_gpu_op *op)
{
    if (TS__UNLIKELY(s->loose))
        ts__cu_loose_place(u, s, (uint32_t)op->correlation);
    if (op->end > s->last_end && op->clock == u->time.clock)
        s->last_end = op->end;
}

static __attribute__((noinline)) void
ts__cu_launch_define(ts__cu *u, const uint8_t *r, ts__launch *l)
{
    const uint16_t *const at = u->at[TS__CU_KERNEL];
    ts_gpu_launch_desc desc;
    memset(&desc, 0, sizeof desc);
    memcpy(&desc.name, r + at[TS__CU_NAME], sizeof desc.name);
    memcpy(desc.grid, r + at[TS__CU_GRID], sizeof desc.grid);
    memcpy(desc.block, r + at[TS__CU_BLOCK], sizeof desc.block);
    if (at[TS__CU_CLUSTER])
        memcpy(desc.cluster, r + at[TS__CU_CLUSTER], sizeof desc.cluster);
    desc.registers = ts__read16(r, at[TS__CU_REGISTERS]);
    desc.static_shared = ts__read32(r, at[TS__CU_STATIC_SHARED]);
    desc.dynamic_shared = ts__read32(r, at[TS__CU_DYNAMIC_SHARED]);
    desc.local = ts__read32(r, at[TS__CU_LOCAL]);
    ts__launch_read(l, desc.name ? desc.name : "");
    l->launch = ts_gpu_launch_define(&desc);
}

// Returns the dictionary entry of a kernel's name and configuration. The name
// is identified by its address; its text is read and hashed only when the entry
// is new.
static inline const ts__launch *ts__cu_launch_of(ts__cu *u, const uint8_t *r)
{
    const uint16_t *const at = u->at[TS__CU_KERNEL];
    const uint32_t grid = at[TS__CU_GRID], block = at[TS__CU_BLOCK];
    const uint32_t cluster = at[TS__CU_CLUSTER];
    // Composed in registers: writing the parts to memory and reading them as
    // words costs 4 ns.
    const uint64_t key[8] = {
        ts__read64(r, at[TS__CU_NAME]),
        ts__read64(r, grid),
        ts__read32(r, grid + 8) | (uint64_t)ts__read32(r, block) << 32,
        ts__read64(r, block + 4),
        ts__read32(r, at[TS__CU_STATIC_SHARED]) |
            (uint64_t)ts__read32(r, at[TS__CU_DYNAMIC_SHARED]) << 32,
        ts__read32(r, at[TS__CU_LOCAL]) |
            (uint64_t)ts__read16(r, at[TS__CU_REGISTERS]) << 32,
        cluster ? ts__read64(r, cluster) : 0,
        cluster ? ts__read32(r, cluster + 8) : 0,
    };
    ts__launch *const l =
        &u->memory->launches[ts__launch_hash(key) % TS__CU_LAUNCHES];
    const uint32_t epoch = TS__LOAD(&u->epoch) + 1;
    if (TS__LIKELY(ts__launch_is(l, key, epoch))) return l;
    memcpy(l->key, key, sizeof key);
    l->epoch = epoch;
    ts__cu_launch_define(u, r, l);
    return l;
}

// Returns whether the operation is on a stream of TraceSmith's, on which
// captures read and hash memory.
static bool ts__cu_is_own(const ts__cu *u, const uint8_t *r, const uint16_t *at)
{
    const uint32_t count = TS__LOAD(&u->own_count);
    if (TS__LIKELY(!count)) return false;
    const uint64_t key = ts__cu_stream_key(ts__read32(r, at[TS__CU_ON_CONTEXT]),
                                           ts__read32(r, at[TS__CU_ON_STREAM]));
    for (uint32_t i = 0; i < count && i < sizeof u->own / sizeof *u->own; i++)
        if (TS__LOAD(&u->own[i]) == key) return true;
    return false;
}

static void ts__cu_kernel(ts__cu *u, const uint8_t *r)
{
    const uint16_t *const at = u->at[TS__CU_KERNEL];
    if (ts__cu_is_own(u, r, at)) return;
    ts__cu_stream *const s =
        ts__cu_stream_of(u, ts__read32(r, at[TS__CU_ON_CONTEXT]),
                         ts__read32(r, at[TS__CU_ON_STREAM]),
                         ts__read32(r, at[TS__CU_ON_DEVICE]));
    ts_gpu_op op;
    op.kind = TS_EVENT_KERNEL;
    uint64_t tick;
    u->kernels++;
    if (TS__UNLIKELY(!s)) { // counted as lost; its launch no longer waits
        op.correlation = ts__read32(r, at[TS__CU_CORRELATION]);
        ts__cu_origin_get(u, &op.correlation, true, &op.origin, &tick);
        return;
    }
    if (!ts__cu_timed(u, r, at, s->track, true, &op)) return;
    const ts__launch *const l = ts__cu_launch_of(u, r);
    op.u.kernel.launch = l->launch;
    op.u.kernel.graph_node = ts__cu_maybe64(r, at[TS__CU_GRAPH_NODE]);
    op.u.kernel.graph =
        op.u.kernel.graph_node ? ts__cu_maybe32(r, at[TS__CU_GRAPH_ID]) : 0;
    op.queued = ts__read64(r, at[TS__CU_QUEUED]);
    op.submitted = ts__read64(r, at[TS__CU_SUBMITTED]);
    // Some records contain inconsistent times.
    if (op.queued > op.start) op.queued = 0;
    if (op.submitted > op.start || op.submitted < op.queued) op.submitted = 0;
    if (TS__UNLIKELY(op.u.kernel.graph_node)) {
        u->of_graphs++;
        const uint32_t made = ts__cu_node_stack(u, op.u.kernel.graph_node);
        if (made) op.origin.stack = made;
    }
    if (TS__UNLIKELY(l->collective)) ts__launch_collective(l, &op);
    ts__cu_stream_went(u, s, &op);
    if (!l->unrequested) ts_gpu_op_record(&op);
}

static uint32_t ts__cu_memory_kind(uint32_t kind)
{
    static const uint8_t ours[] = { 0, 1, 2, 3, 5, 4, 3, 4 };
    return kind < sizeof ours ? ours[kind] : 0;
}

// Reads the common fields of an operation on a stream. Returns NULL if the
// record is counted as lost.
static ts__cu_stream *ts__cu_op_begin(ts__cu *u, const uint8_t *r,
                                      ts__cu_role role, ts_event_kind kind,
                                      ts_gpu_op *op)
{
    const uint16_t *const at = u->at[role];
    ts__cu_stream *const s =
        ts__cu_stream_of(u, ts__read32(r, at[TS__CU_ON_CONTEXT]),
                         ts__read32(r, at[TS__CU_ON_STREAM]),
                         ts__read32(r, at[TS__CU_ON_DEVICE]));
    memset(op, 0, sizeof *op);
    op->kind = kind;
    return s && ts__cu_timed(u, r, at, s->track, false, op) ? s : NULL;
}

static void ts__cu_copy(ts__cu *u, ts__cu_role role, const uint8_t *r)
{
    // Indexed by CUpti_ActivityMemcpyKind; arrays are in device memory.
    static const uint8_t types[] = { 0, 1, 2, 1, 2, 3, 3, 3, 3, 4, 5 };
    const uint16_t *const at = u->at[role];
    ts_gpu_op op;
    if (ts__cu_is_own(u, r, at)) return;
    ts__cu_stream *const s = ts__cu_op_begin(u, r, role, TS_EVENT_MEMCPY, &op);
    if (!s) return;
    const uint8_t type = r[at[TS__CU_TYPE]];
    op.u.memcpy.type = type < sizeof types ? types[type] : 0;
    op.u.memcpy.size = ts__read64(r, at[TS__CU_SIZE]);
    op.u.memcpy.memory = ts__cu_memory_kind(r[at[TS__CU_FROM_KIND]]) |
                         ts__cu_memory_kind(r[at[TS__CU_TO_KIND]]) << 4;
    const ts__cu_move m = ts__cu_move_get(u, op.correlation);
    op.u.memcpy.destination = m.to;
    op.u.memcpy.source = m.from;
    if (role == TS__CU_PEER) {
        op.u.memcpy.type = 5;
        op.u.memcpy.peer =
            ts__cu_device_track(u, ts__read32(r, at[TS__CU_TO_DEVICE]));
    }
    ts__cu_stream_went(u, s, &op);
    if (ts_filter_kind(op.kind)) ts_gpu_op_record(&op);
}

static void ts__cu_set(ts__cu *u, const uint8_t *r)
{
    const uint16_t *const at = u->at[TS__CU_MEMSET];
    ts_gpu_op op;
    ts__cu_stream *const s =
        ts__cu_op_begin(u, r, TS__CU_MEMSET, TS_EVENT_MEMSET, &op);
    if (!s) return;
    op.u.memset.size = ts__read64(r, at[TS__CU_SIZE]);
    op.u.memset.value = ts__read32(r, at[TS__CU_VALUE]);
    op.u.memset.destination = ts__cu_move_get(u, op.correlation).to;
    ts__cu_stream_went(u, s, &op);
    ts_gpu_op_record(&op);
}

static void ts__cu_graph(ts__cu *u, const uint8_t *r)
{
    ts_gpu_op op;
    ts__cu_stream *const s =
        ts__cu_op_begin(u, r, TS__CU_GRAPH, TS_EVENT_GRAPH_LAUNCH, &op);
    if (!s) return;
    op.u.graph_launch.graph =
        ts__read32(r, u->at[TS__CU_GRAPH][TS__CU_GRAPH_ID]);
    ts__cu_stream_went(u, s, &op);
    ts_gpu_op_record(&op);
}

/* ==== 4. Events ========================================================== */

// Event records of one event are distinguished by their sync id, or without it
// by their correlations, which increase.
static ts__cu_recorded *ts__cu_recorded_at(ts__cu *u, uint32_t event,
                                           uint64_t sync)
{
    const bool exact = sync && (uint32_t)sync != UINT32_MAX;
    const uint64_t key = exact ? sync << 1 | 1 : ((uint64_t)event + 1) << 1;
    const uint64_t hash = key * 0x9E3779B97F4A7C15u >> 40;
    ts__cu_recorded *const e = &u->memory->recorded[hash % TS__CU_RECORDS];
    if (e->key == key) return e;
    memset(e, 0, sizeof *e); // replaces an older event
    e->key = key;
    return e;
}

static void ts__cu_recorded_put(ts__cu *u, uint32_t event, uint64_t sync,
                                uint32_t correlation)
{
    ts__cu_recorded *const e = ts__cu_recorded_at(u, event, sync);
    if (correlation < e->correlations[0]) return;
    memmove(e->correlations + 1, e->correlations, 3 * sizeof(uint32_t));
    e->correlations[0] = correlation;
}

// Returns the event record that a wait with this correlation waits for; 0:
// unknown.
static uint32_t ts__cu_recorded_before(ts__cu *u, uint32_t event, uint64_t sync,
                                       uint32_t correlation)
{
    const ts__cu_recorded *const e = ts__cu_recorded_at(u, event, sync);
    for (int i = 0; i < 4; i++)
        if (e->correlations[i] && e->correlations[i] < correlation)
            return e->correlations[i];
    return 0;
}

// Writes an event record or wait. The stream reached it when the operation
// before it ended, but not before the call.
static void ts__cu_loose_record(ts__cu *u, ts__cu_stream *s,
                                const ts__cu_loose *l)
{
    uint64_t tick;
    ts_gpu_op op;
    memset(&op, 0, sizeof op);
    op.kind = l->kind;
    op.track = s->track;
    op.clock = u->time.clock;
    op.correlation = l->correlation;
    const bool known =
        ts__cu_origin_get(u, &op.correlation, false, &op.origin, &tick);
    op.start = known ? ts__follow_ns(&u->time, tick) : s->last_end;
    if (op.start < s->last_end) op.start = s->last_end;
    if (!op.start) { // neither a call nor an operation gives it a time
        ts__lose(&u->lost, TS__CU_UNTIMED, s->track, 1);
        return;
    }
    op.end = op.start;
    op.u.event.id = l->event;
    if (l->kind == TS_EVENT_EVENT_WAIT)
        op.u.event.record =
            ts__cu_recorded_before(u, l->event, l->sync, l->correlation);
    if (ts_filter_kind(l->kind)) ts_gpu_op_record(&op);
}

// Writes those of a stream whose correlation is less than this one.
static void ts__cu_loose_place(ts__cu *u, ts__cu_stream *s,
                               uint32_t correlation)
{
    uint32_t *link = &s->loose;
    while (*link) {
        const uint32_t number = *link;
        ts__cu_loose *const l = &u->memory->loose[number - 1];
        if (l->correlation >= correlation) {
            link = &l->next;
            continue;
        }
        ts__cu_loose_record(u, s, l);
        *link = l->next;
        l->next = u->loose_free;
        u->loose_free = number;
    }
}

static void ts__cu_loose_keep(ts__cu *u, ts__cu_stream *s,
                              const ts__cu_loose *loose)
{
    uint32_t number = u->loose_free;
    if (!number && u->loose_used == TS__CU_LOOSE) {
        // The table is full, so it is written with what is known.
        ts__cu_loose_record(u, s, loose);
        return;
    }
    if (number)
        u->loose_free = u->memory->loose[number - 1].next;
    else
        number = ++u->loose_used;
    u->memory->loose[number - 1] = *loose;
    uint32_t *link = &s->loose; // sorted in the order of the calls
    while (*link &&
           u->memory->loose[*link - 1].correlation < loose->correlation)
        link = &u->memory->loose[*link - 1].next;
    u->memory->loose[number - 1].next = *link;
    *link = number;
}

static void ts__cu_loose_end(ts__cu *u)
{
    for (uint32_t i = 0; i < TS__CU_STREAMS; i++)
        if (u->memory->streams[i].loose)
            ts__cu_loose_place(u, &u->memory->streams[i], UINT32_MAX);
    u->loose_free = u->loose_used = 0;
}

static void ts__cu_event(ts__cu *u, const uint8_t *r)
{
    const uint16_t *const at = u->at[TS__CU_EVENT];
    ts__cu_stream *const s =
        ts__cu_stream_of(u, ts__read32(r, at[TS__CU_ON_CONTEXT]),
                         ts__read32(r, at[TS__CU_ON_STREAM]), 0);
    if (!s) return;
    uint64_t tick, correlation = ts__read32(r, at[TS__CU_CORRELATION]);
    ts_gpu_origin origin;
    const bool known =
        ts__cu_origin_get(u, &correlation, false, &origin, &tick);
    if (known && !tick) return; // of a capture
    const ts__cu_loose loose = {
        .kind = TS_EVENT_EVENT_RECORD,
        .correlation = (uint32_t)correlation,
        .event = ts__read32(r, at[TS__CU_EVENT_ID]),
        .sync = ts__cu_maybe64(r, at[TS__CU_EVENT_SYNC]),
    };
    ts__cu_recorded_put(u, loose.event, loose.sync, loose.correlation);
    ts__cu_loose_keep(u, s, &loose);
}

static void ts__cu_sync(ts__cu *u, const uint8_t *r)
{
    static const uint8_t kinds[] = { 0, TS_EVENT_EVENT_SYNC,
                                     TS_EVENT_EVENT_WAIT, TS_EVENT_STREAM_SYNC,
                                     TS_EVENT_DEVICE_SYNC };
    const uint16_t *const at = u->at[TS__CU_SYNC];
    const uint32_t type = ts__read32(r, at[TS__CU_TYPE]);
    const uint32_t context = ts__read32(r, at[TS__CU_ON_CONTEXT]);
    const uint32_t stream = ts__read32(r, at[TS__CU_ON_STREAM]);
    uint64_t tick;
    ts_gpu_op op;
    memset(&op, 0, sizeof op);
    if (type < 1 || type > 4) return;
    const uint32_t correlation = ts__read32(r, at[TS__CU_CORRELATION]);
    op.correlation = correlation;
    const bool known =
        ts__cu_origin_get(u, &op.correlation, false, &op.origin, &tick);
    const bool may_query = type == 1 || type == 3;
    // Waits of captures (tick 0) and queries are not the program's waits.
    if (known ? !tick : may_query && ts__cu_is_query(u, correlation)) return;
    op.kind = (ts_event_kind)kinds[type];
    u->device_syncs += op.kind == TS_EVENT_DEVICE_SYNC;
    ts__cu_stream *const s =
        stream != UINT32_MAX && op.kind != TS_EVENT_DEVICE_SYNC
            ? ts__cu_stream_of(u, context, stream, 0)
            : NULL;
    if (op.kind == TS_EVENT_EVENT_WAIT && s) {
        const ts__cu_loose loose = {
            .kind = op.kind,
            .correlation = (uint32_t)op.correlation,
            .event = ts__read32(r, at[TS__CU_EVENT_ID]),
            .sync = ts__cu_maybe64(r, at[TS__CU_EVENT_SYNC]),
        };
        ts__cu_loose_keep(u, s, &loose);
        return;
    }
    const uint32_t track = s ? s->track : ts__cu_context_track(u, context, 0);
    if (!track || !ts__cu_timed(u, r, at, track, false, &op)) return;
    op.u.event.id = op.kind == TS_EVENT_STREAM_SYNC
                        ? stream
                        : ts__read32(r, at[TS__CU_EVENT_ID]);
    if (ts_filter_kind(op.kind)) ts_gpu_op_record(&op);
}

/* ==== 5. Memory, overhead ================================================ */

static uint32_t ts__cu_any_context(const ts__cu *u)
{
    for (uint32_t i = 0; i < TS__CU_CONTEXTS; i++)
        if (u->memory->contexts[i].track) return u->memory->contexts[i].track;
    return 0;
}

static uint32_t ts__cu_pool_name(uint64_t address)
{
    char text[40];
    if (!address) return 0;
    snprintf(text, sizeof text, "pool %#llx", (unsigned long long)address);
    return ts_name_define(text);
}

static void ts__cu_memory_event(ts__cu *u, const uint8_t *r)
{
    const uint16_t *const at = u->at[TS__CU_MEMORY];
    const uint32_t type = ts__read32(r, at[TS__CU_TYPE]);
    const uint32_t context = ts__read32(r, at[TS__CU_ON_CONTEXT]);
    const uint32_t device = ts__read32(r, at[TS__CU_ON_DEVICE]);
    uint64_t tick;
    ts_gpu_op op;
    memset(&op, 0, sizeof op);
    if (type != 1 && type != 2) return;
    op.kind = type == 1 ? TS_EVENT_GPU_ALLOC : TS_EVENT_GPU_FREE;
    if (!ts_filter_kind(op.kind)) return;
    // Pinned host memory may belong to no device.
    op.track = context != UINT32_MAX && device < TS__CU_DEVICES
                   ? ts__cu_context_track(u, context, device)
                   : ts__cu_any_context(u);
    op.start = op.end = ts__read64(r, at[TS__CU_START]);
    op.clock = ts__follow_clock_of(&u->time, op.start);
    op.correlation = ts__read32(r, at[TS__CU_CORRELATION]);
    if (!op.track || !op.start) {
        ts__lose(&u->lost, op.track ? TS__CU_UNTIMED : TS__CU_UNPLACED,
                 op.track, 1);
        return;
    }
    ts__cu_origin_get(u, &op.correlation, false, &op.origin, &tick);
    op.u.memory.address = ts__read64(r, at[TS__CU_ADDRESS]);
    op.u.memory.size = ts__read64(r, at[TS__CU_SIZE]);
    op.u.memory.memory =
        ts__cu_memory_kind(ts__read32(r, at[TS__CU_MEMORY_KIND])) << 4;
    op.u.memory.pool = ts__cu_pool_name(ts__cu_maybe64(r, at[TS__CU_IN_POOL]));
    ts_gpu_op_record(&op);
}

// Records what was done to a memory pool as a fact of its device.
static void ts__cu_pool_event(ts__cu *u, const uint8_t *r)
{
    static const char *const done[] = { "?", "created", "destroyed",
                                        "trimmed" };
    const uint16_t *const at = u->at[TS__CU_POOL];
    const uint32_t type = ts__read32(r, at[TS__CU_TYPE]);
    const uint32_t track =
        ts__cu_device_track(u, ts__read32(r, at[TS__CU_ON_DEVICE]));
    char key[40], text[80];
    if (!track) return;
    snprintf(key, sizeof key, "pool %#llx",
             (unsigned long long)ts__read64(r, at[TS__CU_ADDRESS]));
    snprintf(text, sizeof text, "%s, %llu bytes", done[type < 4 ? type : 0],
             (unsigned long long)ts__read64(r, at[TS__CU_SIZE]));
    ts_metadata_text(track, key, text);
}

// Records time that the driver or CUPTI took from threads of the program, as a
// call that the program did not make.
static void ts__cu_overhead(ts__cu *u, const uint8_t *r)
{
    static const char *const names[] = { "buffer flush",
                                         "instrumentation",
                                         "resource",
                                         "module loading by the runtime",
                                         "lazy function loading",
                                         "command buffer full",
                                         "activity buffer request",
                                         "unified memory set-up" };
    const uint16_t *const at = u->at[TS__CU_OVERHEAD];
    const uint32_t type = ts__read32(r, at[TS__CU_TYPE]);
    const uint64_t start = ts__read64(r, at[TS__CU_START]);
    const uint64_t end = ts__read64(r, at[TS__CU_END]);
    char text[96];
    if (!start || end < start || !ts_filter_kind(TS_EVENT_API_CALL)) return;
    const uint32_t number = type >> 16;
    snprintf(text, sizeof text, "(overhead: %s)",
             type == 1                    ? "compiler of the driver"
             : number >= 1 && number <= 8 ? names[number - 1]
                                          : "other");
    const bool thread = ts__read32(r, at[TS__CU_THREAD_KIND]) == 2;
    const ts_api_call call = {
        .name = ts_name_define(text),
        .start = ts__follow_tick(&u->time, start),
        .end = ts__follow_tick(&u->time, end),
        .thread = thread
                      ? ts__cu_thread_track(u, ts__read32(r, at[TS__CU_THREAD]))
                      : 0,
    };
    ts_api_call_record(&call);
}

/* ==== 6. Buffers ========================================================= */

static inline ts__cu_role ts__cu_role_of(const ts__cu *u, const uint8_t *r)
{
    const uint32_t kind = ts__read32(r, 0);
    return kind < sizeof u->roles ? (ts__cu_role)u->roles[kind] : TS__CU_NONE;
}

static void ts__cu_take(ts__cu *u, const uint8_t *r)
{
    const ts__cu_role role = ts__cu_role_of(u, r);
    switch (role) {
    case TS__CU_KERNEL: ts__cu_kernel(u, r); break;
    case TS__CU_MEMCPY:
    case TS__CU_PEER: ts__cu_copy(u, role, r); break;
    case TS__CU_MEMSET: ts__cu_set(u, r); break;
    case TS__CU_SYNC: ts__cu_sync(u, r); break;
    case TS__CU_EVENT: ts__cu_event(u, r); break;
    case TS__CU_MEMORY: ts__cu_memory_event(u, r); break;
    case TS__CU_POOL: ts__cu_pool_event(u, r); break;
    case TS__CU_GRAPH: ts__cu_graph(u, r); break;
    case TS__CU_OVERHEAD: ts__cu_overhead(u, r); break;
    case TS__CU_DEVICE:
    case TS__CU_CONTEXT:
    case TS__CU_STREAM: ts__cu_learn(u, role, r); break;
    case TS__CU_NONE:
    case TS__CU_ROLES: break;
    }
}

static uint8_t *ts__cu_buffer(const ts__cu *u, uint32_t i)
{
    return u->pool + (size_t)i * TS__CU_STRIDE;
}

// Calls `take` for each record of a buffer. Returns true if it reached the end.
static inline bool ts__cu_walk(ts__cu *u, uint32_t i,
                               void (*take)(ts__cu *u, const uint8_t *record))
{
    uint8_t *record = NULL;
    int result;
    while ((result = u->call.next(ts__cu_buffer(u, i), u->valid[i], &record)) ==
               0 &&
           record)
        take(u, record);
    return result == 12; // CUPTI_ERROR_MAX_LIMIT_REACHED: no more records
}

static void ts__cu_learn_from(ts__cu *u, const uint8_t *r)
{
    ts__cu_learn(u, ts__cu_role_of(u, r), r);
}

static void ts__cu_learn_all(ts__cu *u)
{
    if (u->learned) return;
    u->learned = true;
    for (uint32_t i = 0; i < TS__CU_BUFFERS; i++)
        if (u->batch >> i & 1) ts__cu_walk(u, i, ts__cu_learn_from);
}

// Returns whether readable text is at an address.
static bool ts__cu_readable(uint64_t address)
{
    char text[64];
    struct iovec to = { text, 1 };
    for (size_t i = 0; i < sizeof text; i++) {
        struct iovec from = { (void *)(uintptr_t)(address + i), 1 };
        if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != 1)
            // The system does not allow the check.
            return errno == EPERM || errno == ENOSYS;
        if (!text[0]) return i > 0;
        if ((uint8_t)text[0] < 32) return false;
    }
    return true;
}

// Returns whether a kernel's record is plausible, which it is not if the table
// has wrong offsets. A record without times decides nothing.
static bool ts__cu_plausible(const ts__cu *u, const uint8_t *r)
{
    const uint16_t *const at = u->at[TS__CU_KERNEL];
    const uint64_t start = ts__read64(r, at[TS__CU_START]);
    const uint64_t end = ts__read64(r, at[TS__CU_END]);
    uint64_t threads = 1;
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t grid = ts__read32(r, at[TS__CU_GRID] + 4 * i);
        const uint32_t block = ts__read32(r, at[TS__CU_BLOCK] + 4 * i);
        if (!grid || grid > INT32_MAX || !block || block > 1024) return false;
        threads *= block;
    }
    if (threads > 1024 || ts__read32(r, at[TS__CU_ON_DEVICE]) >= TS__CU_DEVICES)
        return false;
    if (start && end >= start && end - start > 3600000000000u) return false;
    return ts__cu_readable(ts__read64(r, at[TS__CU_NAME]));
}

static void ts__cu_judge(ts__cu *u, const uint8_t *r)
{
    if (ts__cu_role_of(u, r) != TS__CU_KERNEL) return;
    if (u->judged++ < 16 && !ts__cu_plausible(u, r)) u->refused = true;
}

static void ts__cu_refuse(ts__cu *u)
{
    char why[256];
    snprintf(
        why, sizeof why,
        "%.120s %u: its records have an unexpected layout, so that its devices "
        "are not recorded (please report this version)",
        u->path, u->version);
    char key[64];
    snprintf(key, sizeof key, "backend.%s", u->table->name);
    ts_metadata_text(0, key, why);
    ts_loss_report(0, TS_LOSS_BACKEND, why, 1, u->lost.from, ts_tick_now());
}

// Decodes the buffers whose bits are set. Threads: holds `decode`.
static void ts__cu_decode(ts__cu *u, uint32_t buffers)
{
    const bool refused = u->refused;
    u->batch = buffers;
    u->learned = false;
    if (!TS__LOAD(&u->standalone)) ts__cu_clock_sample(u, false);
    for (uint32_t i = 0; i < TS__CU_BUFFERS && !u->judged; i++)
        if (buffers >> i & 1) ts__cu_walk(u, i, ts__cu_judge);
    if (u->refused && !refused) ts__cu_refuse(u);
    for (uint32_t i = 0; i < TS__CU_BUFFERS; i++) {
        if (!(buffers >> i & 1)) continue;
        if (!u->refused && !ts__cu_walk(u, i, ts__cu_take))
            ts__lose(&u->lost, TS__CU_UNREADABLE, 0, 1);
        u->batch &= ~(1u << i);
        memset(ts__cu_buffer(u, i), 0, u->valid[i]);
        u->valid[i] = 0;
        // release: pairs with the acquire in ts__cu_request
        __atomic_fetch_or(&u->free, 1u << i, __ATOMIC_RELEASE);
    }
    const uint64_t bytes =
        __atomic_exchange_n(&u->discarded, 0, __ATOMIC_RELAXED);
    if (bytes) ts__lose(&u->lost, TS__CU_EXHAUSTED, 0, bytes / 200 + 1);
}

#endif // TS__CUPTI_RECORDS_H
