/*
    vdev/machine.h - runs what is submitted: in the place of a driver and a
    device

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Keeps submitted operations in order and runs them. It stamps each
    operation with the times of its start and end and passes it to
    ts_gpu_op_record when it is over. It checks no arguments and knows no
    rules of streams: the callers say what waits for what. A real
    accelerator has all of this already; read calls.h and kernels.h instead.

    CONTENTS                            search for "==== 2." to jump
        1. Objects
        2. Graph
        3. Engines
        4. Memory
        5. Open and close
*/
#ifndef TS__VDEV_MACHINE_H
#define TS__VDEV_MACHINE_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "../ts_vdev.h"
#include "../capture/memory.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ==== 1. Objects ========================================================= */

/*
    Submitted operations form a graph. Each operation counts the operations it
    waits for, and each of those has a list of edges to the operations that wait
    for it. An operation that waits for nothing any more goes to an engine of
    its device, or is complete at once (events, waits, syncs). When it is
    complete, the operations that waited for it are released.

        stream 1    copy -> kernel -> record -.
                                     .--------'
        stream 2    copy -> kernel --+-> wait -> kernel     (last)

    One lock per vdev protects all of it. Kernels, copies, host functions and
    their reports run without the lock.
*/
typedef struct ts__vd_edge {
    struct ts__vd_op *to; // the operation that waits, which contains this edge
    struct ts__vd_edge *next; // next edge of the operation waited for
    bool order;               // by stream order, not by an event
} ts__vd_edge;

typedef struct ts__vd_waiter { // a host thread that waits; on its stack
    pthread_cond_t wake;
    bool done;
} ts__vd_waiter;

typedef struct ts__vd_op {
    ts_gpu_op report;             // kind 0: not reported
    struct ts__vd_stream *stream; // NULL: a synchronization
    struct ts__vd_op *next;       // next in its engine's list
    ts__vd_edge *followers;
    ts__vd_waiter *waiter;
    // Number of edges, and of those by stream order.
    uint32_t waits, order_waits;
    uint32_t edge_count;
    uint64_t event; // the event that an event_record completes
    uint64_t blocks, taken, finished;
    ts_vdev_function function;
    void (*host_function)(void *user);
    ts_vdev_block block;
    void *args;
    ts__vd_edge edges[]; // followed by the arguments
} ts__vd_op;

// The ready operations, those with the highest priority first, and the threads
// that run them.
typedef struct ts__vd_engine {
    pthread_cond_t wake;
    ts__vd_op *first;
    uint32_t units;
} ts__vd_engine;

enum { TS__VD_COMPUTE, TS__VD_COPY, TS__VD_HOST, TS__VD_ENGINES };

typedef struct ts__vd_unit { // a thread of an engine
    struct ts_vdev *v;
    uint32_t device, number; // number: index within its engine
    int engine;
    void *shared;
    pthread_t thread;
} ts__vd_unit;

typedef struct ts__vd_range { // an allocation
    uint64_t begin, size;
} ts__vd_range;

typedef struct ts__vd_device {
    ts__vd_engine engines[TS__VD_ENGINES];
    uint64_t memory;      // address of its memory
    bool mapped, given;   // mapped: by mmap; given: at the requested address
    ts__vd_range *ranges; // sorted by address
    size_t range_count, range_room;
    struct ts__vd_stream *streams; // also those being destroyed
    struct ts__vd_stream *legacy;
    uint32_t track, context; // tracks
} ts__vd_device;

typedef struct ts__vd_stream {
    uint64_t handle;
    struct ts__vd_stream *next; // next stream of the device
    ts__vd_device *device;
    ts__vd_op *last; // last operation, NULL: idle
    uint32_t pending;
    uint32_t flags; // TS_STREAM_...
    int32_t priority;
    uint32_t track; // 0: not defined yet
    uint64_t number;
    bool destroyed; // its last operation frees it
} ts__vd_stream;

typedef struct ts__vd_event {
    uint64_t handle, number;
    ts__vd_op *record;    // NULL: reached or never recorded
    uint64_t correlation; // correlation of the most recent record
    uint32_t track;       // track of the record's stream, 0: never recorded
} ts__vd_event;

typedef struct ts__vd_kernel {
    uint64_t handle;
    ts_vdev_function function;
    size_t args_size;
    ts_gpu_launch_desc launched; // the last configuration ...
    uint32_t launch;             // ... and its number
    char *name;                  // stored after the roles
    uint32_t capture, image;     // image: its number in capture `capture`
    uint64_t offset;             // offset of the function in the image
    uint32_t role_count;
    ts_vdev_role roles[];
} ts__vd_kernel;

enum { TS__VD_STREAM = 1, TS__VD_EVENT, TS__VD_KERNEL };

typedef struct ts__vd_slot {
    uint64_t handle; // generation << 32 | type << 24 | slot
    void *object;    // NULL: the slot is free
    size_t next;     // next free slot
} ts__vd_slot;

typedef struct ts__vd_global { // a variable that kernels use
    uint64_t address, size;
    uint32_t device;
} ts__vd_global;

struct ts_vdev {
    pthread_mutex_t lock;
    pthread_cond_t idle; // signaled when nothing is pending or a capture ends
    pthread_cond_t room; // signaled when a full stream has room again
    ts_vdev_desc desc;
    pid_t process; // the process that opened it
    ts__vd_device *devices;
    ts__vd_unit *units;
    size_t unit_count;
    ts__vd_slot *slots;
    size_t slot_count, slot_free; // the free list ends with slot_count
    uint64_t streams, events;     // created so far
    uint64_t pending;             // operations on all streams
    bool closing;                 // the threads end when nothing is pending
    bool capturing;               // one call has exclusive use of the device
    bool late;                    // a drain timed out
    ts_capture_memory known_memory;
    ts__vd_global *globals;
    size_t global_count;
};

// The vdev whose kernel or host function this thread is running.
static _Thread_local const ts_vdev *ts__vd_inside;

static void *ts__vd_find(const ts_vdev *v, uint32_t type, uint64_t handle)
{
    const size_t slot = handle & 0xFFFFFF;
    if (slot >= v->slot_count || (handle >> 24 & 0xFF) != type) return NULL;
    return v->slots[slot].handle == handle ? v->slots[slot].object : NULL;
}

static bool ts__vd_slots_grow(ts_vdev *v)
{
    const size_t count = v->slot_count ? v->slot_count * 2 : 64;
    if (count > 1 << 24) return false;
    ts__vd_slot *const slots = realloc(v->slots, count * sizeof *slots);
    if (!slots) return false;
    for (size_t i = v->slot_count; i < count; i++) {
        const ts__vd_slot slot = { 0, NULL, i + 1 };
        slots[i] = slot;
    }
    v->slots = slots;
    v->slot_count = count;
    return true;
}

// Creates a zeroed object with a handle as its first field.
static void *ts__vd_add(ts_vdev *v, uint32_t type, size_t size)
{
    if (v->slot_free == v->slot_count && !ts__vd_slots_grow(v)) return NULL;
    uint64_t *const object = calloc(1, size);
    if (!object) return NULL;
    ts__vd_slot *const slot = &v->slots[v->slot_free];
    const uint64_t generation = (slot->handle >> 32) + 1;
    *object = generation << 32 | (uint64_t)type << 24 | v->slot_free;
    v->slot_free = slot->next;
    slot->handle = *object;
    slot->object = object;
    return object;
}

// Invalidates a handle. The caller still has to free the object.
static void ts__vd_remove(ts_vdev *v, uint64_t handle)
{
    const size_t slot = handle & 0xFFFFFF;
    v->slots[slot].object = NULL;
    v->slots[slot].next = v->slot_free;
    v->slot_free = slot;
}

/* ==== 2. Graph =========================================================== */

static ts__vd_engine *ts__vd_op_engine(const ts__vd_op *op)
{
    if (!op->stream) return NULL;
    ts__vd_engine *const engines = op->stream->device->engines;
    switch (op->report.kind) {
    case TS_EVENT_KERNEL: return &engines[TS__VD_COMPUTE];
    case TS_EVENT_MEMCPY:
    case TS_EVENT_MEMSET: return &engines[TS__VD_COPY];
    case TS_EVENT_HOST_FUNCTION: return &engines[TS__VD_HOST];
    default: return NULL;
    }
}

// Makes `op` wait for `before`; NULL: already complete.
static void ts__vd_op_after(ts__vd_op *op, ts__vd_op *before, bool order)
{
    if (!before) return;
    ts__vd_edge *const edge = &op->edges[op->edge_count++];
    edge->to = op;
    edge->order = order;
    edge->next = before->followers;
    before->followers = edge;
    op->waits++;
    op->order_waits += order;
}

// Inserted after those of the same priority, so that they alternate.
static void ts__vd_engine_put(ts__vd_engine *engine, ts__vd_op *op)
{
    ts__vd_op **at = &engine->first;
    while (*at && (*at)->stream->priority <= op->stream->priority)
        at = &(*at)->next;
    op->next = *at;
    *at = op;
}

// Starts an operation that waits for nothing any more. Returns true if an
// engine has it now.
static bool ts__vd_op_start(ts__vd_op *op)
{
    ts__vd_engine *const engine = ts__vd_op_engine(op);
    if (!engine) return false;
    ts__vd_engine_put(engine, op);
    if (op->blocks > 1)
        pthread_cond_broadcast(&engine->wake);
    else
        pthread_cond_signal(&engine->wake);
    return true;
}

static void ts__vd_stream_free(ts__vd_stream *stream)
{
    ts__vd_stream **at = &stream->device->streams;
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    free(stream);
}

static void ts__vd_wake_all(ts_vdev *v)
{
    for (uint32_t i = 0; i < v->desc.device_count; i++) {
        for (int j = 0; j < TS__VD_ENGINES; j++)
            pthread_cond_broadcast(&v->devices[i].engines[j].wake);
    }
}

// Removes all references to a complete operation and frees it.
static void ts__vd_op_free(ts_vdev *v, ts__vd_op *op)
{
    ts__vd_stream *const stream = op->stream;
    if (stream) {
        if (stream->last == op) stream->last = NULL;
        if (stream->pending-- == v->desc.queue_ops)
            pthread_cond_broadcast(&v->room);
        if (stream->destroyed && !stream->pending) ts__vd_stream_free(stream);
        if (!--v->pending) pthread_cond_broadcast(&v->idle);
        if (!v->pending && v->closing) ts__vd_wake_all(v);
    }
    ts__vd_event *const event = ts__vd_find(v, TS__VD_EVENT, op->event);
    if (event && event->record == op) event->record = NULL;
    if (op->waiter) {
        op->waiter->done = true;
        pthread_cond_signal(&op->waiter->wake);
    }
    free(op);
}

// Completes `op` and releases the operations that waited for it. Those that
// need no engine are complete then, too; `todo` lists them to avoid recursion.
static void ts__vd_op_finish(ts_vdev *v, ts__vd_op *op)
{
    op->next = NULL;
    for (ts__vd_op *todo = op; (op = todo) != NULL;) {
        todo = op->next;
        if (!ts__vd_op_engine(op)) {
            op->report.end = ts_tick_now();
            if (op->report.kind == TS_EVENT_EVENT_RECORD)
                op->report.start = op->report.end;
            if (op->report.kind) ts_gpu_op_record(&op->report);
        }
        for (ts__vd_edge *e = op->followers; e; e = e->next) {
            // A wait begins when its stream reaches it.
            if (e->order && !--e->to->order_waits)
                e->to->report.start = ts_tick_now();
            if (--e->to->waits || ts__vd_op_start(e->to)) continue;
            e->to->next = todo;
            todo = e->to;
        }
        ts__vd_op_free(v, op);
    }
}

/* ==== 3. Engines ========================================================= */

static void ts__vd_run_blocks(const ts__vd_op *op, uint64_t first,
                              uint64_t count, void *shared)
{
    ts_vdev_block block = op->block;
    block.shared = shared;
    for (uint64_t i = first; i < first + count; i++) {
        block.index[0] = (uint32_t)(i % block.grid[0]);
        block.index[1] = (uint32_t)(i / block.grid[0] % block.grid[1]);
        block.index[2] = (uint32_t)(i / block.grid[0] / block.grid[1]);
        op->function(op->args, &block);
    }
}

static void *ts__vd_pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static void ts__vd_run(const ts__vd_op *op, uint64_t first, uint64_t count,
                       void *shared)
{
    const ts_gpu_op *const r = &op->report;
    if (r->kind == TS_EVENT_KERNEL)
        ts__vd_run_blocks(op, first, count, shared);
    else if (r->kind == TS_EVENT_HOST_FUNCTION)
        op->host_function(op->args);
    else if (r->kind == TS_EVENT_MEMSET)
        memset(ts__vd_pointer(r->u.memset.destination), (int)r->u.memset.value,
               r->u.memset.size);
    else
        memmove(ts__vd_pointer(r->u.memcpy.destination),
                ts__vd_pointer(r->u.memcpy.source), r->u.memcpy.size);
}

// Takes some of the first operation's blocks. The shares get smaller towards
// the end of a grid, so that the threads finish at about the same time. An
// operation with blocks left is moved after those of the same priority: so
// kernels of several streams run concurrently even on one thread.
static uint64_t ts__vd_engine_take(ts__vd_engine *engine, ts__vd_op *op)
{
    const uint64_t left = op->blocks - op->taken;
    const uint64_t share = left / (8 * (uint64_t)engine->units);
    const uint64_t count = share ? share : 1;
    if (!op->taken) op->report.start = ts_tick_now();
    op->taken += count;
    engine->first = op->next;
    if (count < left) ts__vd_engine_put(engine, op);
    return count;
}

// Runs a share of an operation without holding the lock.
static void ts__vd_unit_step(const ts__vd_unit *unit, ts__vd_engine *engine)
{
    ts_vdev *const v = unit->v;
    ts__vd_op *const op = engine->first;
    const uint64_t first = op->taken;
    const uint64_t count = ts__vd_engine_take(engine, op);
    pthread_mutex_unlock(&v->lock);
    ts__vd_run(op, first, count, unit->shared);
    pthread_mutex_lock(&v->lock);
    op->finished += count;
    if (op->finished < op->blocks) return;
    pthread_mutex_unlock(&v->lock);
    // Recorded before a waiting thread can learn that the operation is
    // complete, so that this thread finds it in the trace.
    op->report.end = ts_tick_now();
    ts_gpu_op_record(&op->report);
    pthread_mutex_lock(&v->lock);
    ts__vd_op_finish(v, op);
}

static void *ts__vd_unit_main(void *arg)
{
    static const char *const names[] = { "compute", "copy", "host" };
    const ts__vd_unit *const unit = arg;
    ts_vdev *const v = unit->v;
    ts__vd_engine *const engine =
        &v->devices[unit->device].engines[unit->engine];
    char name[40];
    snprintf(name, sizeof name, "device %u %s %u", (unsigned)unit->device,
             names[unit->engine], (unsigned)unit->number);
    ts_thread_name(name);
    ts__vd_inside = v;
    pthread_mutex_lock(&v->lock);
    while (!v->closing || v->pending) {
        if (engine->first)
            ts__vd_unit_step(unit, engine);
        else
            pthread_cond_wait(&engine->wake, &v->lock);
    }
    pthread_mutex_unlock(&v->lock);
    return NULL;
}

/* ==== 4. Memory ========================================================== */

static ts__vd_device *ts__vd_owner(const ts_vdev *v, const void *ptr)
{
    for (uint32_t i = 0; i < v->desc.device_count; i++) {
        const uint64_t memory = v->devices[i].memory;
        if ((uintptr_t)ptr - memory < v->desc.memory_bytes)
            return &v->devices[i];
    }
    return NULL;
}

// Returns the index of the last allocation that begins at or before an address.
static size_t ts__vd_range_at(const ts__vd_device *device, uint64_t address)
{
    // SIZE_MAX: none
    return ts_capture_range_after(device->ranges, device->range_count,
                                  sizeof *device->ranges, address) -
           1;
}

// Returns whether an operation may access a range. *owner: the device, NULL:
// host memory.
static bool ts__vd_range_ok(const ts_vdev *v, const void *ptr, uint64_t size,
                            ts__vd_device **owner)
{
    *owner = ts__vd_owner(v, ptr);
    if (!*owner) return ptr != NULL;
    const uint64_t address = (uintptr_t)ptr;
    const size_t at = ts__vd_range_at(*owner, address);
    if (at == SIZE_MAX) return false;
    const ts__vd_range *const r = &(*owner)->ranges[at];
    const uint64_t offset = address - r->begin;
    return offset < r->size && size <= r->size - offset;
}

// Returns the first gap that is large enough, 0: none; *at: its index in the
// list.
static uint64_t ts__vd_gap_find(const ts_vdev *v, const ts__vd_device *device,
                                uint64_t size, size_t *at)
{
    uint64_t begin = device->memory;
    for (*at = 0; *at < device->range_count; ++*at) {
        const ts__vd_range *const r = &device->ranges[*at];
        if (r->begin - begin >= size) return begin;
        begin = (r->begin + r->size + 255) & ~(uint64_t)255;
    }
    const uint64_t left = device->memory + v->desc.memory_bytes - begin;
    return size <= left ? begin : 0;
}

/* ==== 5. Open and close ================================================== */

static ts__vd_stream *ts__vd_stream_add(ts_vdev *v, uint32_t device,
                                        int32_t priority, uint32_t flags)
{
    ts__vd_stream *const stream = ts__vd_add(v, TS__VD_STREAM, sizeof *stream);
    if (!stream) return NULL;
    stream->device = &v->devices[device];
    stream->flags = flags;
    stream->priority = priority;
    stream->next = stream->device->streams;
    stream->device->streams = stream;
    return stream;
}

// Device memory is placed at addresses that are probably free in this and other
// processes, because a replay needs the same ones. Thread sanitizers support
// only few address ranges.
#define TS__VD_ARENAS     UINT64_C(0x110000000000)
#define TS__VD_ARENAS_END UINT64_C(0x500000000000)
#if defined(__SANITIZE_THREAD__)
#define TS__VD_ANYWHERE 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TS__VD_ANYWHERE 1
#endif
#endif
#ifndef TS__VD_ANYWHERE
#define TS__VD_ANYWHERE 0
#endif

// Maps memory at an address, or returns NULL. POSIX has no names for Linux's
// flags.
static void *ts__vd_map(uint64_t address, uint64_t size, int protection)
{
    // MAP_ANONYMOUS, MAP_FIXED_NOREPLACE, MAP_NORESERVE
    const int flags = 0x20 | 0x100000 | 0x4000;
    void *const requested = ts__vd_pointer(address);
    void *const got =
        mmap(requested, size, protection, MAP_PRIVATE | flags, -1, 0);
    if (got == requested) return got;
    if (got != MAP_FAILED) munmap(got, size);
    return NULL;
}

static void ts__vd_memory_open(const ts_vdev *v, ts__vd_device *device,
                               uint64_t at)
{
    static uint64_t next = TS__VD_ARENAS;
    const uint64_t size = v->desc.memory_bytes;
    void *memory = NULL;
    device->given = at != 0;
    if (!at && !TS__VD_ANYWHERE) {
        const uint64_t room = (size + (4u << 20)) & ~(uint64_t)0x1FFFFF;
        const uint64_t hint = __atomic_fetch_add(&next, room, __ATOMIC_RELAXED);
        if (hint + size <= TS__VD_ARENAS_END)
            memory = ts__vd_map(hint, size, PROT_READ | PROT_WRITE);
    }
    if (at) memory = ts__vd_map(at, size, PROT_NONE);
    device->mapped = memory != NULL;
    if (!memory && !at) memory = aligned_alloc(4096, size);
    device->memory = (uintptr_t)memory;
}

static ts_result ts__vd_device_open(ts_vdev *v, uint32_t index)
{
    ts__vd_device *const device = &v->devices[index];
    ts__vd_memory_open(v, device,
                       v->desc.memory_at ? v->desc.memory_at[index] : 0);
    if (!device->memory) return TS_ERR_MEMORY;
    for (int i = 0; i < TS__VD_ENGINES; i++)
        pthread_cond_init(&device->engines[i].wake, NULL);
    device->engines[TS__VD_COMPUTE].units = v->desc.compute_units;
    device->engines[TS__VD_COPY].units = v->desc.copy_engines;
    device->engines[TS__VD_HOST].units = 1;
    device->legacy = ts__vd_stream_add(v, index, 0, TS_STREAM_LEGACY_DEFAULT);
    return device->legacy ? TS_OK : TS_ERR_MEMORY;
}

static ts_result ts__vd_unit_open(ts_vdev *v, uint32_t device, int engine,
                                  uint32_t number)
{
    ts__vd_unit *const unit = &v->units[v->unit_count];
    unit->v = v;
    unit->device = device;
    unit->number = number;
    unit->engine = engine;
    unit->shared = aligned_alloc(64, v->desc.shared_bytes);
    // These threads take none of the program's signals except those that faults
    // of a kernel raise.
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started =
        unit->shared &&
        !pthread_create(&unit->thread, NULL, ts__vd_unit_main, unit);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!started) free(unit->shared);
    v->unit_count += started;
    return started ? TS_OK : TS_ERR_MEMORY;
}

static ts_result ts__vd_machine_open(ts_vdev *v)
{
    const ts_vdev_desc *const d = &v->desc;
    pthread_mutex_init(&v->lock, NULL);
    pthread_cond_init(&v->room, NULL);
    pthread_condattr_t steady; // CLOCK_MONOTONIC, for waits with a timeout
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&v->idle, &steady);
    pthread_condattr_destroy(&steady);
    const size_t units = (size_t)d->compute_units + d->copy_engines + 1;
    v->devices = calloc(d->device_count, sizeof *v->devices);
    v->units = calloc(d->device_count * units, sizeof *v->units);
    ts_result result = v->devices && v->units ? TS_OK : TS_ERR_MEMORY;
    for (uint32_t i = 0; result == TS_OK && i < d->device_count; i++)
        result = ts__vd_device_open(v, i);
    // The threads are started last, because they use everything else.
    for (uint32_t i = 0; result == TS_OK && i < d->device_count; i++) {
        for (int j = 0; j < TS__VD_ENGINES; j++) {
            const uint32_t count = v->devices[i].engines[j].units;
            for (uint32_t k = 0; result == TS_OK && k < count; k++)
                result = ts__vd_unit_open(v, i, j, k);
        }
    }
    return result;
}

static void ts__vd_device_close(ts__vd_device *device, uint64_t size)
{
    if (!device->memory) return; // never opened
    for (int i = 0; i < TS__VD_ENGINES; i++)
        pthread_cond_destroy(&device->engines[i].wake);
    free(device->ranges);
    void *const memory = ts__vd_pointer(device->memory);
    if (device->mapped)
        munmap(memory, size);
    else
        free(memory);
}

// Also called after ts__vd_machine_open failed. Pending operations are
// completed first.
static void ts__vd_machine_close(ts_vdev *v)
{
    pthread_mutex_lock(&v->lock);
    v->closing = true;
    if (v->unit_count) ts__vd_wake_all(v);
    pthread_mutex_unlock(&v->lock);
    for (size_t i = 0; i < v->unit_count; i++) {
        pthread_join(v->units[i].thread, NULL);
        free(v->units[i].shared);
    }
    for (uint32_t i = 0; v->devices && i < v->desc.device_count; i++)
        ts__vd_device_close(&v->devices[i], v->desc.memory_bytes);
    for (size_t i = 0; i < v->slot_count; i++)
        free(v->slots[i].object);
    ts_capture_close(&v->known_memory);
    free(v->globals);
    free(v->slots);
    free(v->units);
    free(v->devices);
    pthread_cond_destroy(&v->idle);
    pthread_cond_destroy(&v->room);
    pthread_mutex_destroy(&v->lock);
    free(v);
}

#endif // TS__VDEV_MACHINE_H
