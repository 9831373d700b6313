/*
    hip/rocprofiler.h - the interface of rocprofiler-sdk

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: librocprofiler-sdk.so.
    Checked with:   a double (tests/doubles/rocprofiler.c); layouts compared
                    with the headers of 1.0.0 (ROCm 7.0, August 2025) and
                    0.5.0 (ROCm 6.3). Not run on hardware.

    Requests the calls of HIP on the calling thread, code objects, and
    dispatches, copies and scratch memory in a buffer. Kinds and operations
    are requested by name, because their numbers differ between versions;
    records have their size.

    The library is not called from its own finalizer, which would wait for
    itself: a handler at exit, which runs before, fetches what is in its
    buffer.

    CONTENTS                            search for "==== 2." to jump
        1. The library
        2. Devices
        3. Kernels
        4. Calls of HIP
        5. Records
        6. Registration
*/
#ifndef TS__HIP_ROCPROFILER_H
#define TS__HIP_ROCPROFILER_H

#include "tracesmith.h"
#include "../ts_hip.h"
#include "../gpu/driver.h"
#include "../gpu/records.h"
#include "../gpu/state.h"
#include "calls.h"
#include "capture.h"
#include "capture_calls.h"
#include "devices.h"
#include "operations.h"
#include "state.h"
#include "streams.h"
#include "taker.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== 1. The library ===================================================== */

// The library's handles are structs of one uint64_t, passed like a uint64_t.
typedef struct ts__rp_record { // record of a callback, by value
    uint64_t words[8];
} ts__rp_record;
typedef void (*ts__rp_callback)(ts__rp_record, uint64_t *, void *);
typedef void (*ts__rp_buffer)(uint64_t, uint64_t, void **, size_t, void *,
                              uint64_t);
typedef int (*ts__rp_agents)(int, const void **, size_t, void *);
typedef int (*ts__rp_each)(int, int32_t, void *);

typedef struct ts__rp_library { // in the order of ts__rp_names
    int (*create_context)(uint64_t *);
    int (*start_context)(uint64_t);
    int (*stop_context)(uint64_t);
    int (*create_buffer)(uint64_t, size_t, size_t, int, ts__rp_buffer, void *,
                         uint64_t *);
    int (*flush_buffer)(uint64_t);
    int (*buffer_service)(uint64_t, int, const int32_t *, size_t, uint64_t);
    int (*callback_service)(uint64_t, int, const int32_t *, size_t,
                            ts__rp_callback, void *);
    int (*query_agents)(int, ts__rp_agents, size_t, void *);
    int (*buffer_kind_name)(int, const char **, uint64_t *);
    int (*callback_kind_name)(int, const char **, uint64_t *);
    int (*operation_name)(int, int32_t, const char **, uint64_t *);
    int (*each_operation)(int, ts__rp_each, void *);
    int (*create_thread)(uint64_t *);
    int (*assign_thread)(uint64_t, uint64_t);
    int (*get_timestamp)(uint64_t *);
    int (*force_configure)(void *(*)(uint32_t, const char *, uint32_t, void *));
} ts__rp_library;

static const char *const ts__rp_names[] = {
    "rocprofiler_create_context",
    "rocprofiler_start_context",
    "rocprofiler_stop_context",
    "rocprofiler_create_buffer",
    "rocprofiler_flush_buffer",
    "rocprofiler_configure_buffer_tracing_service",
    "rocprofiler_configure_callback_tracing_service",
    "rocprofiler_query_available_agents",
    "rocprofiler_query_buffer_tracing_kind_name",
    "rocprofiler_query_callback_tracing_kind_name",
    "rocprofiler_query_callback_tracing_kind_operation_name",
    "rocprofiler_iterate_callback_tracing_kind_operations",
    "?rocprofiler_create_callback_thread",
    "?rocprofiler_assign_callback_thread",
    "?rocprofiler_get_timestamp",
    "?rocprofiler_force_configure",
    NULL
};

typedef struct ts__rp_client { // rocprofiler_client_id_t
    size_t size;
    const char *name;
    uint32_t handle;
} ts__rp_client;

typedef struct ts__rp_result { // rocprofiler_tool_configure_result_t
    size_t size;
    int (*initialize)(void (*finalize)(ts__rp_client), void *);
    void (*finalize)(void *);
    void *data;
} ts__rp_result;

enum { TS__RP_KERNELS = 256, TS__RP_PAGES = 4096 };

typedef struct ts__rp_kernel {
    char *name; // NULL: not registered
    uint32_t registers, shared;
} ts__rp_kernel;

static struct {
    void *handle;
    ts__rp_library call;
    char why[160]; // why the library cannot be used
    uint32_t version;
    bool coming; // the library has called configure, and will call initialize
    bool ready;  // contexts are created
    bool running;
    bool no_copies; // the library refuses to report copies
    uint32_t ended; // the library's finalizer has run
    bool own_clock; // its times are not those of CLOCK_BOOTTIME
    uint64_t context, objects, buffer;
    int hip, code, stream, dispatch, copy, scratch; // kinds, 0: not supported
    ts__rp_kernel *pages[TS__RP_PAGES];             // kernels by id
} ts__rp;

static bool ts__rp_load(bool load)
{
    static const char *const names[] = { "librocprofiler-sdk.so.1",
                                         "librocprofiler-sdk.so.0",
                                         "librocprofiler-sdk.so", NULL };
    if (ts__rp.handle) return !ts__rp.why[0];
    ts__rp.handle = ts__library_present("librocprofiler-sdk.so");
    if (!ts__rp.handle && load) ts__rp.handle = ts__library_load(names);
    if (!ts__rp.handle) return false;
    const char *const missing =
        ts__library_resolve(ts__rp.handle, "", ts__rp_names, &ts__rp.call);
    if (missing)
        snprintf(ts__rp.why, sizeof ts__rp.why, "it has no %s", missing);
    return !missing;
}

// Returns the number of a kind by its name, 0: this version lacks it.
static int ts__rp_kind(int (*name_of)(int, const char **, uint64_t *),
                       const char *requested)
{
    for (int kind = 1; kind < 64; kind++) {
        const char *name = NULL;
        uint64_t size = 0;
        if (name_of(kind, &name, &size) != 0) break;
        if (name && !strcmp(name, requested)) return kind;
    }
    return 0;
}

static bool ts__rp_listens(void)
{
    return ts__hip_listens() &&
           !__atomic_load_n(&ts__rp.ended, __ATOMIC_RELAXED);
}

/* ==== 2. Devices ========================================================= */

// The fields of rocprofiler_agent_v0_t that are read.
enum {
    TS__RP_AGENT_ID = 8,
    TS__RP_AGENT_TYPE = 16, // 2: GPU
    TS__RP_AGENT_BANKS = 28,
    TS__RP_AGENT_LDS_KB = 52,
    TS__RP_AGENT_WAVE = 64,
    TS__RP_AGENT_UNITS = 72,
    TS__RP_AGENT_MHZ = 140,
    TS__RP_AGENT_BANK_LIST = 224,
    TS__RP_AGENT_NAME = 248,
    TS__RP_AGENT_PRODUCT = 264,
    TS__RP_AGENT_VISIBLE = 292, // bit 1: visible to HIP
    TS__RP_AGENT_SIZE = 296,
    TS__RP_BANK_SIZE = 24,
    TS__RP_BANK_BYTES = 16
};

static uint64_t ts__rp_memory(const void *agent)
{
    const uint32_t count = ts__read32(agent, TS__RP_AGENT_BANKS);
    const char *const banks = ts__read_text(agent, TS__RP_AGENT_BANK_LIST);
    uint64_t bytes = 0;
    for (uint32_t i = 0; banks && i < count && i < 64; i++)
        bytes += ts__read64(banks + i * TS__RP_BANK_SIZE, TS__RP_BANK_BYTES);
    return bytes;
}

// Defines the devices in HIP's order.
static int ts__rp_agents_take(int version, const void **agents, size_t count,
                              void *unused)
{
    (void)version;
    (void)unused;
    pthread_mutex_lock(&ts__hip.lock);
    for (size_t i = 0; i < count; i++) {
        const void *const agent = agents[i];
        const bool known = ts__read64(agent, 0) >= TS__RP_AGENT_SIZE;
        if (ts__read32(agent, TS__RP_AGENT_TYPE) != 2 ||
            (known && !(ts__read32(agent, TS__RP_AGENT_VISIBLE) & 2)))
            continue;
        const ts__hip_facts facts = {
            .name = ts__read_text(agent, TS__RP_AGENT_PRODUCT),
            .architecture = ts__read_text(agent, TS__RP_AGENT_NAME),
            .memory_bytes = ts__rp_memory(agent),
            .multiprocessors = ts__read32(agent, TS__RP_AGENT_UNITS),
            .warp_size = ts__read32(agent, TS__RP_AGENT_WAVE),
            .shared_bytes = ts__read32(agent, TS__RP_AGENT_LDS_KB) * 1024,
            .clock_mhz = ts__read32(agent, TS__RP_AGENT_MHZ)
        };
        ts__hip_device_add(ts__read64(agent, TS__RP_AGENT_ID), &facts);
    }
    pthread_mutex_unlock(&ts__hip.lock);
    return 0;
}

/* ==== 3. Kernels ========================================================= */

// Copies a name without the ".kd" suffix of kernel descriptors.
static char *ts__rp_name_copy(const char *name)
{
    size_t size = strlen(name);
    if (size > 3 && !memcmp(name + size - 3, ".kd", 3)) size -= 3;
    char *const copy = (char *)malloc(size + 1);
    if (copy) memcpy(copy, name, size);
    if (copy) copy[size] = 0;
    return copy;
}

// Adds a kernel. Kernels are kept until the process ends, because records may
// come after unloading.
static void ts__rp_kernel_add(const void *data)
{
    enum { ID = 8, NAME = 24, SHARED = 48, VECTOR = 60, ACCUMULATOR = 64 };
    const uint64_t id = ts__read64(data, ID);
    const char *const name = ts__read_text(data, NAME);
    if (ts__read64(data, 0) < ACCUMULATOR + 4 || !name ||
        id >= (uint64_t)TS__RP_PAGES * TS__RP_KERNELS)
        return;
    ts__rp_kernel **const page = &ts__rp.pages[id / TS__RP_KERNELS];
    char *const copy = ts__rp_name_copy(name);
    pthread_mutex_lock(&ts__hip.lock);
    if (!*page)
        __atomic_store_n(page,
                         (ts__rp_kernel *)calloc(TS__RP_KERNELS, sizeof **page),
                         __ATOMIC_RELEASE);
    ts__rp_kernel *const kernel = *page ? &(*page)[id % TS__RP_KERNELS] : NULL;
    if (kernel && !kernel->name) {
        kernel->registers =
            ts__read32(data, VECTOR) + ts__read32(data, ACCUMULATOR);
        kernel->shared = ts__read32(data, SHARED);
        // release: pairs with the acquire in ts__rp_kernel_find
        __atomic_store_n(&kernel->name, copy, __ATOMIC_RELEASE);
    } else {
        free(copy);
    }
    pthread_mutex_unlock(&ts__hip.lock);
}

static const ts__rp_kernel *ts__rp_kernel_find(uint64_t id)
{
    static const ts__rp_kernel unknown;
    if (id >= (uint64_t)TS__RP_PAGES * TS__RP_KERNELS) return &unknown;
    const ts__rp_kernel *const page =
        __atomic_load_n(&ts__rp.pages[id / TS__RP_KERNELS], __ATOMIC_ACQUIRE);
    if (!page) return &unknown;
    const ts__rp_kernel *const kernel = &page[id % TS__RP_KERNELS];
    return __atomic_load_n(&kernel->name, __ATOMIC_ACQUIRE) ? kernel : &unknown;
}

/* ==== 4. Calls of HIP ==================================================== */

typedef struct ts__rp_event { // the fields of a callback that are read
    uint64_t correlation;
    uint32_t kind, operation, phase; // phase: 1 enter, 2 exit
    const char *payload;
} ts__rp_event;

// rocprofiler_callback_tracing_record_t: context, thread, correlation (two
// words; three since 1.0), kind, operation, phase, payload. The position of the
// kind tells the layouts apart: requested kinds are greater than 4, and in the
// shorter layout the phase, at most 2, is at that place.
static ts__rp_event ts__rp_event_of(const ts__rp_record *record, int kind)
{
    const char *at = (const char *)record + 40;
    if (ts__read32(at, 0) != (uint32_t)kind) at -= 8;
    ts__rp_event e = { .correlation = record->words[2],
                       .kind = ts__read32(at, 0),
                       .operation = ts__read32(at, 4),
                       .phase = ts__read32(at, 8),
                       .payload = ts__read_text(at, 16) };
    if (e.kind != (uint32_t)kind) e.payload = NULL;
    return e;
}

// The result is at the end of the payload, whose size is its first word.
static uint64_t ts__rp_result_of(const char *payload)
{
    const uint64_t size = ts__read64(payload, 0);
    return size >= 24 && size < 65536 ? ts__read32(payload, size - 8) : 0;
}

static void ts__rp_on_call(ts__rp_record record, uint64_t *user, void *data)
{
    (void)user;
    (void)data;
    const ts__rp_event e = ts__rp_event_of(&record, ts__rp.hip);
    if (!e.payload || ts__hip.dead) return;
    const bool keeps = ts__cs_is_on();
    if (keeps && ts__cs_mine) { // a query of a capture
        if (e.phase == 1) ts__hs_own(e.correlation);
    } else if (e.phase == 1 && ts__rp_listens()) {
        if (keeps) ts__hs_enter(e.operation, e.correlation, e.payload + 8);
        ts__hip_enter(e.operation, e.correlation, e.payload + 8, false);
    } else if (e.phase == 2) {
        const uint64_t result = ts__rp_result_of(e.payload);
        ts__hip_leave(e.operation, result);
        if (keeps)
            ts__hs_leave(e.operation, e.correlation, e.payload + 8, result);
    }
}

// Sets the stream of the following calls on this thread.
static void ts__rp_on_stream(ts__rp_record record, uint64_t *user, void *data)
{
    enum { SET = 3, VALUE = 16 };
    (void)user;
    (void)data;
    const ts__rp_event e = ts__rp_event_of(&record, ts__rp.stream);
    if (!e.payload || e.operation != SET || !ts__rp_listens()) return;
    ts__hip_thread *const me = ts__hip_thread_get();
    if (!me || ts__read64(e.payload, 0) < VALUE + 8) return;
    me->has_stream = e.phase == 1;
    me->stream = ts__read64(e.payload, VALUE);
    if (me->has_stream) ts__hip_stream_is(me->stream);
}

static void ts__rp_on_code(ts__rp_record record, uint64_t *user, void *data)
{
    enum { KERNEL = 2 };
    (void)user;
    (void)data;
    const ts__rp_event e = ts__rp_event_of(&record, ts__rp.code);
    if (e.payload && e.operation == KERNEL && e.phase == 1 && !ts__hip.dead)
        ts__rp_kernel_add(e.payload);
}

/* ==== 5. Records ========================================================= */

static void ts__rp_dispatch(ts__hip_taker *t, const char *r)
{
    enum { CORRELATION = 16, START = 40, END = 48, INFO = 56 };
    enum { AGENT = 8, QUEUE = 16, KERNEL = 24, PRIVATE = 40, GROUP = 44 };
    enum { BLOCK = 48, GRID = 60, INFO_END = 72 };
    if (ts__read64(r, 0) < INFO + INFO_END) {
        ts__hip_lose(TS__HIP_TOO_SHORT, 1);
        return;
    }
    const char *const info = r + INFO;
    const ts__rp_kernel *const known =
        ts__rp_kernel_find(ts__read64(info, KERNEL));
    const ts__hip_record op = { .correlation = ts__read64(r, CORRELATION),
                                .start_ns = ts__read64(r, START),
                                .end_ns = ts__read64(r, END),
                                .queue = ts__read64(info, QUEUE),
                                .device = ts__hip_device_of(
                                    ts__read64(info, AGENT)) };
    const uint32_t shared = ts__read32(info, GROUP);
    ts__hip_kernel kernel = { .name = known->name,
                              .id = (uintptr_t)known,
                              .in_items = true,
                              .registers = known->registers,
                              .static_shared = known->shared,
                              .local = ts__read32(info, PRIVATE) };
    if (shared > known->shared) kernel.dynamic_shared = shared - known->shared;
    memcpy(kernel.block, info + BLOCK, sizeof kernel.block);
    memcpy(kernel.grid, info + GRID, sizeof kernel.grid);
    ts__hip_kernel_end(t, &op, &kernel);
}

static void ts__rp_copy(ts__hip_taker *t, const char *r)
{
    enum { OPERATION = 12, CORRELATION = 16, START = 40, END = 48 };
    enum { TO = 56, FROM = 64, BYTES = 72, TO_AT = 80, FROM_AT = 88 };
    static const uint8_t types[] = { 0, 4, 1, 2, 3 }; // h2h h2d d2h d2d
    const uint64_t size = ts__read64(r, 0);
    if (size < BYTES + 8) {
        ts__hip_lose(TS__HIP_TOO_SHORT, 1);
        return;
    }
    const uint32_t kind = ts__read32(r, OPERATION);
    const uint8_t type = kind < sizeof types ? types[kind] : 0;
    const uint64_t to = ts__read64(r, TO), from = ts__read64(r, FROM);
    const ts__hip_record record = { .correlation = ts__read64(r, CORRELATION),
                                    .start_ns = ts__read64(r, START),
                                    .end_ns = ts__read64(r, END),
                                    .device = ts__hip_device_of(
                                        type == 2 ? from : to) };
    ts_gpu_op op;
    ts__hip_note note;
    if (!ts__hip_op_begin(t, &op, &note, &record)) return;
    ts__hip_fill_copy(&op, &note, ts__read64(r, BYTES));
    op.u.memcpy.type = type;
    if (size >= FROM_AT + 8 && ts__read64(r, TO_AT)) {
        op.u.memcpy.destination = ts__read64(r, TO_AT);
        op.u.memcpy.source = ts__read64(r, FROM_AT);
    }
    if (type == 3 && to != from) {
        op.u.memcpy.type = 5;
        op.u.memcpy.peer = ts__hip.devices[ts__hip_device_of(from)].track;
    }
    ts__hip_op_end(&op);
}

// Offsets in records of scratch memory.
// Source: rocprofiler-sdk/buffer_tracing.h of 0.5.0 and 1.0.0.
typedef struct ts__rp_scratch_layout {
    uint16_t all; // size of the record in bytes
    uint16_t correlation, agent, queue, start, end;
    uint16_t bytes; // offset of the allocated size (0: not reported)
} ts__rp_scratch_layout;
static const ts__rp_scratch_layout ts__rp_scratch_layouts[] = {
    { 96, 16, 40, 48, 64, 72, 88 },
    { 72, 56, 16, 24, 40, 48, 0 },
};

// Records memory that a queue gets for register spills.
static void ts__rp_scratch(ts__hip_taker *t, const char *r)
{
    enum { OPERATION = 12, ALLOC = 1 };
    const ts__rp_scratch_layout *at = ts__rp_scratch_layouts;
    const uint64_t size = ts__read64(r, 0);
    if (size < at->all) at++;
    if (size < at->all) {
        ts__hip_lose(TS__HIP_TOO_SHORT, 1);
        return;
    }
    const ts__hip_record record = {
        .correlation = ts__read64(r, at->correlation),
        .start_ns = ts__read64(r, at->start),
        .end_ns = ts__read64(r, at->end),
        .queue = ts__read64(r, at->queue),
        .device = ts__hip_device_of(ts__read64(r, at->agent))
    };
    ts_gpu_op op;
    ts__hip_note note;
    if (!ts__hip_op_begin(t, &op, &note, &record)) return;
    const bool more = ts__read32(r, OPERATION) == ALLOC;
    op.kind = more ? TS_EVENT_GPU_ALLOC : TS_EVENT_GPU_FREE;
    const ts__hip_place place = { .handle = record.queue,
                                  .tick = UINT64_MAX,
                                  .device = record.device,
                                  .is_queue = true };
    op.track = ts__hip_recent_track(t, &place);
    memset(&op.u, 0, sizeof op.u);
    op.u.memory.pool = ts_name_define("scratch");
    op.u.memory.address = record.queue; // each queue has one
    if (more && at->bytes) op.u.memory.size = ts__read64(r, at->bytes);
    ts__hip_op_end(&op);
}

static void ts__rp_on_records(uint64_t context, uint64_t buffer, void **headers,
                              size_t count, void *data, uint64_t dropped)
{
    enum { TRACING = 1, KIND = 4, PAYLOAD = 8 };
    (void)context;
    (void)buffer;
    (void)data;
    if (!ts__hip_listens()) return;
    if (dropped) ts__hip_lose(TS__HIP_DROPPED, dropped);
    __atomic_add_fetch(&ts__hip.dropped, dropped, __ATOMIC_RELAXED);
    ts__hip_taker *const t = ts__hip_taker_get();
    if (!t) ts__hip_lose(TS__HIP_MEMORY, count);
    for (size_t i = 0; t && i < count; i++) {
        const char *const payload = ts__read_text(headers[i], PAYLOAD);
        if (!payload || ts__read32(headers[i], 0) != TRACING) continue;
        const int kind = (int)ts__read32(headers[i], KIND);
        if (kind == ts__rp.dispatch)
            ts__rp_dispatch(t, payload);
        else if (kind == ts__rp.copy)
            ts__rp_copy(t, payload);
        else if (kind == ts__rp.scratch)
            ts__rp_scratch(t, payload);
    }
    if (t && ts__rp_listens()) ts__hip_taken(t, UINT64_MAX);
}

/* ==== 6. Registration ==================================================== */

enum { TS__RP_BUFFER = 1 << 20, TS__RP_LOSSLESS = 2, TS__RP_LOCKED = 16 };

typedef struct ts__rp_list {
    int32_t operations[TS__HIP_APIS];
    size_t count;
} ts__rp_list;

static int ts__rp_operation(int kind, int32_t operation, void *list)
{
    ts__rp_list *const l = (ts__rp_list *)list;
    const char *name = NULL;
    uint64_t size = 0;
    if (operation < 0 ||
        ts__rp.call.operation_name(kind, operation, &name, &size) != 0)
        return 0;
    const bool recorded = ts__hip_api_define((uint32_t)operation, name);
    if (ts__hs_define((uint32_t)operation, name) || recorded)
        l->operations[l->count++] = operation;
    return 0;
}

static bool ts__rp_request_calls(void)
{
    ts__rp_list *const list = (ts__rp_list *)calloc(1, sizeof *list);
    if (!list) return false;
    memset(ts__hip_apis, 0, sizeof ts__hip_apis);
    const bool done =
        ts__rp.call.each_operation(ts__rp.hip, ts__rp_operation, list) == 0 &&
        list->count &&
        ts__rp.call.callback_service(ts__rp.context, ts__rp.hip,
                                     list->operations, list->count,
                                     ts__rp_on_call, NULL) == 0;
    free(list);
    return done;
}

static void ts__rp_find_kinds(void)
{
    const ts__rp_library *const call = &ts__rp.call;
    ts__rp.hip = ts__rp_kind(call->callback_kind_name, "HIP_RUNTIME_API");
    ts__rp.code = ts__rp_kind(call->callback_kind_name, "CODE_OBJECT");
    ts__rp.stream = ts__rp_kind(call->callback_kind_name, "HIP_STREAM");
    ts__rp.dispatch = ts__rp_kind(call->buffer_kind_name, "KERNEL_DISPATCH");
    ts__rp.copy = ts__rp_kind(call->buffer_kind_name, "MEMORY_COPY");
    ts__rp.scratch = ts__rp_kind(call->buffer_kind_name, "SCRATCH_MEMORY");
}

// Code objects are reported in a context that is always on, because code may be
// loaded before a session starts.
static const char *ts__rp_request(void)
{
    const ts__rp_library *const call = &ts__rp.call;
    uint64_t thread = 0;
    ts__rp_find_kinds();
    if (call->create_context(&ts__rp.context) != 0 ||
        call->create_context(&ts__rp.objects) != 0)
        return "it cannot create a context";
    if (!ts__rp.dispatch || !ts__rp.hip) return "it does not support HIP";
    if (call->create_buffer(ts__rp.context, TS__RP_BUFFER, TS__RP_BUFFER / 2,
                            TS__RP_LOSSLESS, ts__rp_on_records, NULL,
                            &ts__rp.buffer) != 0)
        return "it cannot create a buffer";
    if (call->create_thread && call->assign_thread &&
        call->create_thread(&thread) == 0)
        call->assign_thread(ts__rp.buffer, thread);
    if (!ts__rp.code ||
        call->callback_service(ts__rp.objects, ts__rp.code, NULL, 0,
                               ts__rp_on_code, NULL) != 0 ||
        call->start_context(ts__rp.objects) != 0)
        return "it does not report names of kernels";
    if (!ts__rp_request_calls()) return "it does not report HIP calls";
    if (call->buffer_service(ts__rp.context, ts__rp.dispatch, NULL, 0,
                             ts__rp.buffer) != 0)
        return "it does not report kernels";
    // The other services are optional; if one is refused, the trace lacks it.
    if (ts__rp.stream)
        call->callback_service(ts__rp.context, ts__rp.stream, NULL, 0,
                               ts__rp_on_stream, NULL);
    ts__rp.no_copies =
        ts__rp.copy && call->buffer_service(ts__rp.context, ts__rp.copy, NULL,
                                            0, ts__rp.buffer) != 0;
    if (ts__rp.no_copies) ts_metadata_text(0, "hip.missing", "copies");
    if (ts__rp.scratch)
        call->buffer_service(ts__rp.context, ts__rp.scratch, NULL, 0,
                             ts__rp.buffer);
    return NULL;
}

static bool ts__rp_run(void)
{
    if (!ts__rp.running)
        ts__rp.running = ts__rp.call.start_context(ts__rp.context) == 0;
    return ts__rp.running;
}

static void ts__rp_fetch(void)
{
    ts__rp.call.flush_buffer(ts__rp.buffer);
}

// Reports the failure in the session that waits for the library.
static void ts__rp_failed(void)
{
    char text[200];
    snprintf(text, sizeof text, "%s: %s", ts__hip.way->name, ts__rp.why);
    ts_metadata_text(0, "backend.hip", text);
}

// No function of HIP may be called here.
static int ts__rp_initialize(void (*finalize)(ts__rp_client), void *data)
{
    (void)finalize;
    (void)data;
    const char *const problem = ts__rp_request();
    ts__rp.coming = false;
    if (problem) {
        snprintf(ts__rp.why, sizeof ts__rp.why, "%s", problem);
        if (ts__hip_listens()) ts__rp_failed();
        return -1;
    }
    // Only devices that the library already reports; others are defined with
    // their first work.
    ts__rp.call.query_agents(1, ts__rp_agents_take, TS__RP_AGENT_SIZE, NULL);
    ts__rp.ready = true;
    if (ts__hip_listens() && !ts__rp_run()) {
        snprintf(ts__rp.why, sizeof ts__rp.why, "it could not be started");
        ts__rp_failed();
    }
    return 0;
}

// The library holds its lock, so none of its functions may be called.
static void ts__rp_finalize(void *data)
{
    (void)data;
    __atomic_store_n(&ts__rp.ended, 1, __ATOMIC_RELEASE);
}

static void *ts__rp_configure(uint32_t version, const char *runtime_version,
                              uint32_t priority, void *client)
{
    static ts__rp_result result;
    (void)runtime_version;
    (void)priority;
    // Once per process, because the library also finds this function by
    // searching all libraries.
    if (!client || ts__rp.version || !ts__rp_load(false)) return NULL;
    ((ts__rp_client *)client)->name = "tracesmith";
    ts__rp.version = version;
    ts__rp.coming = true;
    result.size = sizeof result;
    result.initialize = ts__rp_initialize;
    result.finalize = ts__rp_finalize;
    return &result;
}

static bool ts__rp_force(char *why, size_t room)
{
    if (!ts__rp_load(true)) {
        snprintf(why, room, "%s", ts__rp.handle ? ts__rp.why : "not there");
        return false;
    }
    if (!ts__rp.call.force_configure) {
        snprintf(why, room, "a program cannot request it");
        return false;
    }
    const int status = ts__rp.call.force_configure(ts__rp_configure);
    if (status != 0 && !ts__rp.ready && !ts__rp.coming)
        snprintf(why, room,
                 status == TS__RP_LOCKED
                     ? "HIP was used before it was requested"
                     : "it refused (status %d)",
                 status);
    return ts__rp.ready || ts__rp.coming;
}

static uint64_t ts__rp_now_ns(void)
{
    uint64_t now = 0;
    if (ts__rp.own_clock && ts__rp.call.get_timestamp(&now) == 0) return now;
    return ts__hip_boottime_ns();
}

// Its clock is CLOCK_BOOTTIME if both show the same time.
static void ts__rp_clock(void)
{
    uint64_t theirs = 0;
    const uint64_t ours = ts__hip_boottime_ns();
    if (!ts__rp.call.get_timestamp || ts__rp.call.get_timestamp(&theirs) != 0 ||
        !theirs)
        return;
    const int64_t standalone = (int64_t)(theirs - ours);
    ts__rp.own_clock = standalone > 50000000 || standalone < -50000000;
}

static bool ts__rp_start(char *why, size_t room)
{
    char text[32];
    if (ts__rp.ended) {
        snprintf(why, room, "it has ended");
        return false;
    }
    if (!ts__rp.version && ts__hip.loaded) {
        snprintf(why, room, "the runtime does not know it");
        return false;
    }
    if (!ts__rp.ready && !ts__rp.coming && !ts__rp.why[0] &&
        !ts__rp_force(why, room))
        return false;
    if (ts__rp.why[0] || (ts__rp.ready && !ts__rp_run())) {
        snprintf(why, room, "%s",
                 ts__rp.why[0] ? ts__rp.why : "it could not be started");
        return false;
    }
    ts__rp_clock();
    snprintf(text, sizeof text, "%u.%u.%u", ts__rp.version / 10000,
             ts__rp.version / 100 % 100, ts__rp.version % 100);
    ts_metadata_text(0, "hip.version", text);
    // Known since an earlier session, but each trace must contain it.
    if (ts__rp.no_copies) ts_metadata_text(0, "hip.missing", "copies");
    return true;
}

static void ts__rp_flush(void)
{
    if (ts__rp.running) ts__rp_fetch();
}

static void ts__rp_stop(void)
{
    if (!ts__rp.running) return;
    ts__rp_fetch();
    ts__rp.call.stop_context(ts__rp.context);
    ts__rp.running = false;
}

static bool ts__rp_gone(void)
{
    return __atomic_load_n(&ts__rp.ended, __ATOMIC_ACQUIRE) != 0;
}

static const ts__hip_way ts__rp_way = {
    "rocprofiler-sdk", ts__rp_start,  ts__rp_stop, ts__rp_flush,
    ts__rp_gone,       ts__rp_now_ns, true
};

void *ts_hip_configure(uint32_t version, const char *runtime_version,
                       uint32_t priority, void *client)
{
    void *const result =
        ts__rp_configure(version, runtime_version, priority, client);
    ts_backend_add(&ts_hip_backend);
    return result;
}

#endif // TS__HIP_ROCPROFILER_H
