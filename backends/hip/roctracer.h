/*
    hip/roctracer.h - the interface of roctracer

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: libroctracer64.so.
    Checked with:   a double (tests/doubles/roctracer.c); layouts compared
                    with the headers of 4.1 (ROCm 6.2) and of HIP 5.2.3 to
                    6.2.2. Not run on hardware.

    Operations come as records of 64 bytes in buffers of a pool, calls as
    callbacks with their arguments. What a record does not contain, as grid
    and block, is taken from the call.

    CONTENTS                            search for "==== 2." to jump
        1. Devices
        2. Activity records
        3. The library
*/
#ifndef TS__HIP_ROCTRACER_H
#define TS__HIP_ROCTRACER_H

#include "tracesmith.h"
#include "../gpu/records.h"
#include "calls.h"
#include "devices.h"
#include "operations.h"
#include "state.h"
#include "taker.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== 1. Devices ========================================================= */

#ifndef TS__HIP_NODES
#define TS__HIP_NODES "/sys/class/kfd/kfd/topology/nodes"
#endif

// Returns the value of a "KEY VALUE" line, 0 if there is none.
static uint64_t ts__kfd_value(const char *text, const char *key)
{
    const size_t size = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, key, size) && line[size] == ' ')
            return strtoull(line + size + 1, NULL, 10);
    }
    return 0;
}

static bool ts__kfd_read(char *text, size_t room, uint32_t node,
                         const char *file)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%u/%s", TS__HIP_NODES, node, file);
    FILE *const stream = fopen(path, "re");
    if (!stream) return false;
    const size_t size = fread(text, 1, room - 1, stream);
    text[size] = 0;
    fclose(stream);
    return size > 0;
}

static void ts__kfd_device(uint32_t node, const char *properties)
{
    char banks[1024] = "", name[32];
    const uint64_t version = ts__kfd_value(properties, "gfx_target_version");
    const uint64_t units = ts__kfd_value(properties, "simd_count");
    const uint64_t per_unit = ts__kfd_value(properties, "simd_per_cu");
    ts__kfd_read(banks, sizeof banks, node, "mem_banks/0/properties");
    snprintf(name, sizeof name, "gfx%u%x%x", (unsigned)(version / 10000),
             (unsigned)(version / 100 % 100), (unsigned)(version % 100));
    const ts__hip_facts facts = {
        .architecture = version ? name : NULL,
        .memory_bytes = ts__kfd_value(banks, "size_in_bytes"),
        .multiprocessors = (uint32_t)(units / (per_unit ? per_unit : 1)),
        .warp_size = (uint32_t)ts__kfd_value(properties, "wave_front_size"),
        .shared_bytes =
            (uint32_t)ts__kfd_value(properties, "lds_size_in_kb") * 1024,
        .clock_mhz =
            (uint32_t)ts__kfd_value(properties, "max_engine_clk_fcompute")
    };
    pthread_mutex_lock(&ts__hip.lock);
    ts__hip_device_add(node, &facts);
    pthread_mutex_unlock(&ts__hip.lock);
}

// Defines the devices that the kernel driver lists, in HIP's order. Devices
// that a container may not use cannot be read.
static void ts__kfd_devices(void)
{
    char properties[4096];
    for (uint32_t node = 0; node < TS__HIP_DEVICES; node++)
        if (ts__kfd_read(properties, sizeof properties, node, "properties") &&
            ts__kfd_value(properties, "simd_count"))
            ts__kfd_device(node, properties);
}

// Since 5.3 records identify devices by the kernel driver's node number, before
// by their index. If no nodes are listed, by the index.
static void ts__activity_devices(bool by_node)
{
    if (!ts__hip.device_count) ts__kfd_devices();
    ts__hip.indices = !by_node || !ts__hip.device_count;
}

/* ==== 2. Activity records ================================================ */

// activity_record_t.
// Source: ext/prof_protocol.h of roctracer.
enum {
    TS__ACTIVITY_DOMAIN = 0,
    TS__ACTIVITY_KIND = 4, // kind of a command, as in OpenCL
    TS__ACTIVITY_OP = 8,
    TS__ACTIVITY_CORRELATION = 16,
    TS__ACTIVITY_BEGIN = 24,
    TS__ACTIVITY_END = 32,
    TS__ACTIVITY_DEVICE = 40,
    TS__ACTIVITY_QUEUE = 48,
    TS__ACTIVITY_BYTES = 56, // bytes, or the name of a kernel
    TS__ACTIVITY_OPS = 2,    // domains
    TS__ACTIVITY_API = 3,
    TS__ACTIVITY_DISPATCH = 0, // operations
    TS__ACTIVITY_COPY = 1,
    TS__ACTIVITY_FILL = 0x1207 // a kind
};

static uint32_t ts__activity_copy_type(uint32_t kind)
{
    switch (kind) {
    case 0x11F3: // buffer, image, rectangle
    case 0x11F6:
    case 0x1201: return 2; // d2h
    case 0x11F4:
    case 0x11F7:
    case 0x1202: return 1; // h2d
    case 0x11F5:
    case 0x11F8:
    case 0x1203: return 3; // d2d
    default: return 0;
    }
}

static void ts__activity_copy(ts__hip_taker *t, const ts__hip_record *record,
                              const char *r)
{
    ts_gpu_op op;
    ts__hip_note note;
    if (!ts__hip_op_begin(t, &op, &note, record)) return;
    const uint32_t kind = ts__read32(r, TS__ACTIVITY_KIND);
    const uint64_t bytes = ts__read64(r, TS__ACTIVITY_BYTES);
    if (kind == TS__ACTIVITY_FILL) {
        ts__hip_fill_set(&op, &note, bytes);
    } else {
        ts__hip_fill_copy(&op, &note, bytes);
        const uint32_t type = ts__activity_copy_type(kind);
        if (type) op.u.memcpy.type = type;
    }
    ts__hip_op_end(&op);
}

// correlation: the record's, or the key under which the call is noted.
static void ts__activity_take(ts__hip_taker *t, const char *r,
                              uint64_t correlation)
{
    const ts__hip_record record = {
        .correlation = correlation,
        .start_ns = ts__read64(r, TS__ACTIVITY_BEGIN),
        .end_ns = ts__read64(r, TS__ACTIVITY_END),
        .queue = ts__read64(r, TS__ACTIVITY_QUEUE),
        .device = ts__hip_device_of(ts__read32(r, TS__ACTIVITY_DEVICE))
    };
    const uint32_t op = ts__read32(r, TS__ACTIVITY_OP);
    if (op == TS__ACTIVITY_DISPATCH) {
        ts__hip_kernel kernel;
        memset(&kernel, 0, sizeof kernel);
        kernel.name = ts__read_text(r, TS__ACTIVITY_BYTES);
        ts__hip_kernel_end(t, &record, &kernel);
    } else if (op == TS__ACTIVITY_COPY) {
        ts__activity_copy(t, &record, r);
    }
}

// Handles a single record.
static void ts__activity_take_one(const char *r, uint64_t correlation)
{
    ts__hip_taker *const t = ts__hip_taker_get();
    if (!t) {
        ts__hip_lose(TS__HIP_MEMORY, 1);
        return;
    }
    ts__activity_take(t, r, correlation);
    ts__hip_taken(t, ts__read64(r, TS__ACTIVITY_END));
}

// hip_api_data_t: correlation, phase, arguments.
static void ts__activity_call(uint32_t number, const char *data)
{
    enum { PHASE = 8, ARGUMENTS = 16, EXIT = 1 };
    if (!data || ts__hip.dead) return;
    if (ts__read32(data, PHASE) == EXIT)
        ts__hip_leave(number, 0);
    else if (ts__hip_listens())
        ts__hip_enter(number, ts__read64(data, 0), data + ARGUMENTS, true);
}

/* ==== 3. The library ===================================================== */

typedef struct ts__rt_properties { // roctracer_properties_t
    uint32_t mode;
    size_t buffer_size;
    void (*allocate)(char **, size_t, void *);
    void *allocate_argument;
    void (*take)(const char *, const char *, void *);
    void *take_argument;
} ts__rt_properties;

typedef struct ts__rt_library { // in the order of ts__rt_names
    int (*open_pool)(const ts__rt_properties *, void **);
    const char *(*op_string)(uint32_t, uint32_t, uint32_t);
    int (*enable_callback)(int, uint32_t,
                           void (*)(uint32_t, uint32_t, const void *, void *),
                           void *);
    int (*disable_callback)(int, uint32_t);
    int (*enable_activity)(int, void *);
    int (*disable_activity)(int);
    int (*flush)(void *);
    int (*next_record)(const char *, const char **);
    int (*get_timestamp)(uint64_t *);
} ts__rt_library;

static const char *const ts__rt_names[] = {
    "roctracer_open_pool_expl",
    "roctracer_op_string",
    "roctracer_enable_op_callback",
    "roctracer_disable_op_callback",
    "roctracer_enable_domain_activity_expl",
    "roctracer_disable_domain_activity",
    "roctracer_flush_activity_expl",
    "roctracer_next_record",
    "roctracer_get_timestamp",
    NULL
};

static struct {
    ts__rt_library call;
    void *pool;
} ts__rt;

static void ts__rt_on_call(uint32_t domain, uint32_t number, const void *data,
                           void *unused)
{
    (void)unused;
    if (domain == TS__ACTIVITY_API)
        ts__activity_call(number, (const char *)data);
}

static void ts__rt_on_records(const char *begin, const char *end, void *unused)
{
    (void)unused;
    if (!ts__hip_listens()) return;
    ts__hip_taker *const t = ts__hip_taker_get();
    for (const char *r = begin; r && r < end;) {
        if (!t)
            ts__hip_lose(TS__HIP_MEMORY, 1);
        else if (ts__read32(r, TS__ACTIVITY_DOMAIN) == TS__ACTIVITY_OPS)
            ts__activity_take(t, r, ts__read64(r, TS__ACTIVITY_CORRELATION));
        if (ts__rt.call.next_record(r, &r) != 0) break;
    }
    if (t) ts__hip_taken(t, UINT64_MAX);
}

// Registers the functions of HIP that are recorded. Names end at the first
// number without one. Returns the number of functions.
static uint32_t ts__hip_define_all(const char *(*name_of)(uint32_t))
{
    memset(ts__hip_apis, 0, sizeof ts__hip_apis);
    for (uint32_t i = 1; i < TS__HIP_APIS; i++) {
        const char *const name = name_of(i);
        if (!name || !*name || !strcmp(name, "unknown")) return i - 1;
        ts__hip_api_define(i, name);
    }
    return TS__HIP_APIS - 1;
}

static const char *ts__rt_name_of(uint32_t number)
{
    return ts__rt.call.op_string(TS__ACTIVITY_API, number, 0);
}

static bool ts__rt_open(char *why, size_t room)
{
    static const char *const names[] = { "libroctracer64.so.4",
                                         "libroctracer64.so", NULL };
    const ts__rt_properties properties = { .buffer_size = 1 << 20,
                                           .take = ts__rt_on_records };
    if (ts__rt.pool) return true;
    void *library = ts__library_present("libroctracer64.so");
    if (!library) library = ts__library_load(names);
    if (!library) return false;
    const char *const missing =
        ts__library_resolve(library, "", ts__rt_names, &ts__rt.call);
    if (missing)
        snprintf(why, room, "it has no %s", missing);
    else if (ts__rt.call.open_pool(&properties, &ts__rt.pool) != 0)
        snprintf(why, room, "it cannot create a pool");
    return !missing && ts__rt.pool;
}

static void ts__rt_callbacks(bool on)
{
    for (uint32_t i = 1; i < TS__HIP_APIS; i++) {
        if (!ts__hip_apis[i].requested) continue;
        if (on)
            ts__rt.call.enable_callback(TS__ACTIVITY_API, i, ts__rt_on_call,
                                        NULL);
        else
            ts__rt.call.disable_callback(TS__ACTIVITY_API, i);
    }
}

static bool ts__rt_start(char *why, size_t room)
{
    void *const runtime = ts__hip_runtime();
    if (!runtime) {
        snprintf(why, room, "the program has not loaded libamdhip64.so");
        return false;
    }
    if (!ts__rt_open(why, room)) return false;
    ts__activity_devices(dlsym(runtime, "hipRegisterTracerCallback") != NULL);
    ts__hip_define_all(ts__rt_name_of);
    if (ts__rt.call.enable_activity(TS__ACTIVITY_OPS, ts__rt.pool) != 0) {
        snprintf(why, room, "it does not report operations");
        return false;
    }
    ts__rt_callbacks(true);
    return true;
}

static void ts__rt_flush(void)
{
    ts__rt.call.flush(ts__rt.pool);
}

static void ts__rt_stop(void)
{
    ts__rt_callbacks(false);
    ts__rt_flush();
    ts__rt.call.disable_activity(TS__ACTIVITY_OPS);
}

static bool ts__rt_gone(void)
{
    return false;
}

static uint64_t ts__rt_now_ns(void)
{
    uint64_t now = 0;
    return ts__rt.call.get_timestamp(&now) == 0 && now ? now
                                                       : ts__hip_boottime_ns();
}

static const ts__hip_way ts__rt_way = { "roctracer", ts__rt_start,
                                        ts__rt_stop, ts__rt_flush,
                                        ts__rt_gone, ts__rt_now_ns,
                                        true };

#endif // TS__HIP_ROCTRACER_H
