/*
    gpu/operations.h - describes an operation by the arguments of its call

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Reads the arguments of a function of the driver as CUPTI passes them on:
    structures of these arguments, in their order.

    CONTENTS                            search for "==== 2." to jump
        1. Calls
        2. Launches
        3. Copies and memsets
        4. All operations
*/
#ifndef TS__GPU_OPERATIONS_H
#define TS__GPU_OPERATIONS_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "collective.h"
#include "cuda_abi.h"
#include "driver.h"
#include "driver_requests.h"
#include "functions.h"
#include "memory.h"
#include "modules.h"
#include "state.h"
#include "streams.h"
#include "textures.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== 1. Calls =========================================================== */

// A call of a driver function that begins or has returned.
typedef struct ts__cs_call {
    const ts__cs_rule *rule;
    const uint8_t *arguments;
    const char *symbol; // the kernel's symbol
    void *context;
    uint64_t correlation;
    uint32_t device; // track
    bool per_thread; // its default stream is the thread's own
    int result;
    void *user; // passed to `device_of`
    uint32_t (*track)(void *user, void *context, const ts__cs_stream *stream,
                      bool per_thread);
    // Sets *track to the track of a context's device, 0: unknown for now.
    // Leaves it unchanged if the vendor does not know the context.
    void (*device_of)(void *user, void *context, uint32_t *track);
} ts__cs_call;

static uint64_t ts__cs_argument(const ts__cs_call *c, size_t at)
{
    uint64_t value;
    memcpy(&value, c->arguments + at, sizeof value);
    return value;
}

static uint32_t ts__cs_argument32(const ts__cs_call *c, size_t at)
{
    uint32_t value;
    memcpy(&value, c->arguments + at, sizeof value);
    return value;
}

// Returns the value that a pointer argument points to; 0 for NULL.
static uint64_t ts__cs_pointed(const ts__cs_call *c, size_t at)
{
    const void *const p = (const void *)(uintptr_t)ts__cs_argument(c, at);
    uint64_t value = 0;
    if (p) memcpy(&value, p, sizeof value);
    return value;
}

// Gets the stream of an operation. Returns false if only this thread can query
// it.
static bool ts__cs_stream_here(const ts__cs_call *c, void **stream)
{
    const ts__cs_kind kind = (ts__cs_kind)c->rule->kind;
    const uint8_t at = c->rule->stream_at;
    const ts__cuda_launch *const how =
        (const ts__cuda_launch *)(uintptr_t)ts__cs_argument(c, 0);
    *stream = NULL;
    if (kind == TS__CS_LAUNCH_HOW)
        *stream = how ? how->stream : NULL;
    else if (at || kind == TS__CS_HOST_FUNCTION)
        *stream = (void *)(uintptr_t)ts__cs_argument(c, at);
    return (uintptr_t)*stream != 2 && (*stream || !c->per_thread);
}

// Returns the context in which a call runs: that of its stream. The thread's
// current context may differ, and a library's kernel is a different function in
// each context.
static void *ts__cs_where(const ts__cs_call *c)
{
    void *stream = NULL;
    if (!ts__cs_stream_here(c, &stream)) return c->context;
    void *const context =
        ts__cs_stream_of(&ts__cs.driver, stream, c->per_thread).context;
    return context ? context : c->context;
}

// Returns whether a kernel waits for kernels on other devices: run alone it
// never ends.
static bool ts__cs_is_collective(const char *name)
{
    return name && ts_collective_is_kernel(name, strlen(name));
}

// Returns the same for an operation, which may be a graph with such a kernel.
static bool ts__cs_needs_others(const ts_capture_op *op)
{
    bool needs = ts__cs_is_collective(op->name);
    for (size_t i = 0; !needs && i < op->name_count; i++)
        needs = ts__cs_is_collective(op->names[i]);
    return needs;
}

static bool ts__cs_name(const ts__cs_call *c, ts_capture_op *op)
{
    switch ((ts__cs_kind)c->rule->kind) {
    case TS__CS_LAUNCH:
    case TS__CS_LAUNCH_HOW:
    case TS__CS_LAUNCH_COOPERATIVE:
        op->head.kind = TS_EVENT_KERNEL;
        op->name = c->symbol ? c->symbol : "";
        op->head.name = ts_name_define(op->name);
        return true;
    case TS__CS_COPY:
    case TS__CS_COPY_PEER:
    case TS__CS_COPY_ROWS:
    case TS__CS_COPY_BOX: op->head.kind = TS_EVENT_MEMCPY; return true;
    case TS__CS_SET:
    case TS__CS_SET_ROWS: op->head.kind = TS_EVENT_MEMSET; return true;
    case TS__CS_HOST_FUNCTION: op->head.kind = TS_EVENT_HOST_FUNCTION; break;
    case TS__CS_BATCH: // treated as a graph of copies
    case TS__CS_BATCH_BOX:
    case TS__CS_GRAPH: op->head.kind = TS_EVENT_GRAPH_LAUNCH; break;
    default: return false;
    }
    return true;
}

static void ts__cs_place(const ts__cs_call *c, ts_capture_op *op,
                         uint64_t handle)
{
    const ts__cs_stream stream = ts__cs_stream_of(
        &ts__cs.driver, (void *)(uintptr_t)handle, c->per_thread);
    if (handle == 2) TS__STORE(&ts__cs.driver.per_thread, 1);
    op->head.correlation = c->correlation;
    op->head.track =
        c->track(c->user, stream.context ? stream.context : c->context, &stream,
                 c->per_thread);
}

/* ==== 2. Launches ======================================================== */

// Returns the device of a module's code: that of its context. The nodes of one
// graph may run on several devices, so it may differ from the call's. 0:
// unknown.
static inline uint32_t ts__cs_device_of(const ts__cs_call *c,
                                        const ts__cs_module *m)
{
    uint32_t device = c->device;
    if (!m->context || m->context == c->context || !c->device_of) return device;
    pthread_mutex_lock(&ts__cs.code.lock);
    // Then its context may be gone too and cannot be queried.
    const bool gone = m->gone;
    pthread_mutex_unlock(&ts__cs.code.lock);
    if (gone) return 0;
    c->device_of(c->user, m->context, &device);
    return device;
}

static inline void ts__cs_globals(const ts__cs_call *c, ts__cs_module *m)
{
    ts__cs_job job;
    m->variables.count = 0; // those of an earlier capture
    if (m->gone) return;
    const uint32_t device = ts__cs_device_of(c, m);
    if (!device) return; // without a device they would be read as host memory
    for (uint32_t i = 0; i < m->code.symbol_count; i++) {
        if (!ts__cs_is_variable(&m->code, i)) continue;
        job.what = TS__CS_GLOBAL;
        job.context = device == c->device ? c->context : m->context;
        job.object = m->module;
        job.name = ts_cuda_code_symbol(&m->code, i);
        if (!ts__cs_request(&ts__cs.driver, &job, ts__cs.reads_until_ns))
            continue;
        // An unloaded module's variable.
        ts_capture_free(&ts__cs.memory, job.address);
        ts__cs_address_add(&m->variables, job.address);
        if (job.managed) ts__cs_address_add(&ts__cs.code.shared, job.address);
        ts_capture_global(&ts__cs.memory, job.address, job.size, device,
                          m->image, i);
    }
}

// Stores the module's bytes and adds its variables, once per capture.
static inline uint32_t ts__cs_image(const ts__cs_call *c, ts__cs_module *m)
{
    char name[48];
    ts_capture_code code;
    if (m->image && m->captures == ts__cs.code.captures) return m->image;
    snprintf(name, sizeof name, "module %u of CUDA", m->id);
    memset(&code, 0, sizeof code);
    code.vendor = "cuda";
    code.path = name;
    code.bytes = m->bytes;
    code.size = m->size;
    code.form = TS_CAPTURE_CUBIN;
    m->image = ts_capture_image_add(&code);
    m->captures = ts__cs.code.captures;
    if (m->image) ts__cs_globals(c, m);
    return m->image;
}

// Returns whether an address lies in a variable of the module.
static bool ts__cs_has_variable(const ts__cs_call *c, const ts__cs_module *m,
                                uint64_t address)
{
    ts__cs_job job;
    bool has = false;
    for (uint32_t i = 0; i < m->code.symbol_count && !has; i++) {
        if (!ts__cs_is_variable(&m->code, i)) continue;
        job.what = TS__CS_GLOBAL;
        job.context = m->context ? m->context : c->context;
        job.object = m->module;
        job.name = ts_cuda_code_symbol(&m->code, i);
        has = ts__cs_request(&ts__cs.driver, &job, ts__cs.reads_until_ns) &&
              address - job.address < job.size;
    }
    return has;
}

// A program may copy to a variable before a kernel uses it; see `variable` of
// ts__cs_vendor.
static inline bool ts__cs_variable_at(const ts__cs_call *c, uint64_t address)
{
    bool found = false;
    for (size_t i = 0; !found; i++) {
        ts__cs_module *const m = ts__cs_module_at(&ts__cs.code, i);
        if (!m) break;
        const bool known = m->image && m->captures == ts__cs.code.captures;
        found = m->module && !known && ts__cs_has_variable(c, m, address) &&
                ts__cs_image(c, m);
        ts__cs_module_done(&ts__cs.code, m);
    }
    return found;
}

// Adds the parameters of a kernel. An aligned value of 8 bytes that points into
// live memory counts as a pointer, because compilers align pointers. base:
// offset of these arguments in the operation's.
static inline void ts__cs_parameters(ts_capture_op *op,
                                     const ts__cs_layout *layout,
                                     const uint8_t *args, uint32_t base)
{
    for (uint32_t i = 0; i < layout->count; i++) {
        const uint32_t *const p = layout->parameters[i];
        uint64_t value = 0;
        if (p[1] == 8 && p[0] % 8 == 0) {
            memcpy(&value, args + p[0], sizeof value);
            ts__cs_look_up(value);
        }
        const ts__cs_range *const range = ts__cs_range_of(value);
        ts_capture_param_add(op, base + p[0], p[1],
                             range && !range->host ? TS_PARAM_POINTER
                                                   : TS_PARAM_UNKNOWN);
    }
}

// Concatenates the arguments in one buffer, which ts_capture_begin copies.
static bool ts__cs_flatten(const ts__cs_layout *layout, void **each,
                           void **more, ts_capture_op *op, uint8_t **args)
{
    uint32_t size = layout->size;
    const void *block = NULL;
    size_t given = 0; // size of the argument buffer; nothing after it is read
    for (; more && *more && (uintptr_t)*more != 3; more += 2) {
        if ((uintptr_t)*more == 1) block = more[1];
        if ((uintptr_t)*more != 2) continue;
        memcpy(&given, more[1], sizeof given);
        if (given > 1 << 16) return false;
        if (given > size) size = (uint32_t)given;
    }
    *args = (uint8_t *)calloc(1, (size_t)size + 8);
    if (!*args) return false;
    for (uint32_t i = 0; !block && each && i < layout->count; i++)
        memcpy(*args + layout->parameters[i][0], each[i],
               layout->parameters[i][1]);
    if (block) memcpy(*args, block, given);
    op->args = *args;
    op->head.args_size = size;
    return true;
}

// Stores the attributes of a launch as they are. An attribute that cannot be
// set again declines the operation.
static void ts__cs_how(const ts__cuda_launch *how, ts_capture_op *op)
{
    for (uint32_t i = 0; i < how->attribute_count && i < 64; i++) {
        const ts__cuda_attribute *const a = &how->attributes[i];
        const uint32_t known = TS_CUDA_LAUNCH_ATTRIBUTES | TS_CUDA_LAUNCH_ORDER;
        if (a->id == TS__CUDA_UPDATABLE)
            ts_capture_decline(op, TS_REASON_DEVICE_UPDATABLE_NODE);
        else if (a->id >= 32 || !(known >> a->id & 1))
            ts_capture_decline(op, TS_REASON_ATTR_UNKNOWN);
        else if (a->id)
            ts_capture_attribute_add(op, TS_ATTRIBUTE_CUDA_LAUNCH, a,
                                     sizeof *a);
    }
}

static inline void ts__cs_kernel(const ts__cs_call *c, ts_capture_op *op,
                                 bool exclusive, void *function, void **each,
                                 void **more, uint8_t **args)
{
    ts__cs_job job;
    ts__cs_layout layout;
    if (!exclusive) return;
    job.what = TS__CS_FUNCTION;
    job.context = ts__cs_where(c);
    job.object = function;
    job.is_kernel = false;
    job.module = NULL;
    const bool answered =
        ts__cs_request(&ts__cs.driver, &job, ts__cs.reads_until_ns);
    // A module that the query itself loaded contains this function.
    if (job.module) ts__cs_module_named(&ts__cs.code, job.module, job.loader);
    ts__cs_module *const m =
        ts__cs_module_of(&ts__cs.code, job.module, op->name);
    if (m) op->head.image = ts__cs_image(c, m);
    ts__cs_attributes_copy(&ts__cs.code, function, op);
    if (!op->head.image) {
        ts_capture_decline(op, TS_REASON_IMAGE_MISSING);
    } else if (!ts__cs_layout_find(&job, answered, m, op->name, &layout) ||
               !ts__cs_flatten(&layout, each, more, op, args)) {
        ts_capture_decline(op, TS_REASON_PARAM_LAYOUT_UNKNOWN);
    } else {
        ts__cs_parameters(op, &layout, *args, 0);
        ts__cs_textures_used(op, *args, op->head.args_size, 0);
    }
    ts__cs_module_done(&ts__cs.code, m);
}

static void ts__cs_launch(const ts__cs_call *c, ts_capture_op *op,
                          bool exclusive, uint8_t **args)
{
    void *const function = (void *)(uintptr_t)ts__cs_argument(c, 0);
    const bool cooperative = c->rule->kind == TS__CS_LAUNCH_COOPERATIVE;
    memcpy(op->head.grid, c->arguments + 8, sizeof op->head.grid);
    memcpy(op->head.block, c->arguments + 20, sizeof op->head.block);
    op->head.shared = ts__cs_argument32(c, 32);
    ts__cs_place(c, op, ts__cs_argument(c, 40));
    if (cooperative)
        ts_capture_attribute_add(op, TS_ATTRIBUTE_COOPERATIVE, "", 0);
    ts__cs.vendor->kernel(
        c, op, exclusive, function, (void **)(uintptr_t)ts__cs_argument(c, 48),
        cooperative ? NULL : (void **)(uintptr_t)ts__cs_argument(c, 56), args);
}

static void ts__cs_launch_how(const ts__cs_call *c, ts_capture_op *op,
                              bool exclusive, uint8_t **args)
{
    const ts__cuda_launch *const how =
        (const ts__cuda_launch *)(uintptr_t)ts__cs_argument(c, 0);
    if (!how) return;
    memcpy(op->head.grid, how->grid, sizeof how->grid);
    memcpy(op->head.block, how->block, sizeof how->block);
    op->head.shared = how->shared;
    ts__cs_place(c, op, (uintptr_t)how->stream);
    ts__cs.vendor->kernel(c, op, exclusive,
                          (void *)(uintptr_t)ts__cs_argument(c, 8),
                          (void **)(uintptr_t)ts__cs_argument(c, 16),
                          (void **)(uintptr_t)ts__cs_argument(c, 24), args);
    ts__cs_how(how, op);
}

/* ==== 3. Copies and memsets ============================================== */

// Checks an end of a copy that lies in no known allocation: it may be host
// memory, or device memory, which must not be read as host memory.
static void ts__cs_check_end(const ts__cs_call *c, ts_capture_op *op,
                             uint64_t address, bool exclusive)
{
    ts__cs_job job;
    if (!exclusive || !address || ts__cs_is_known(address)) return;
    ts__cs_look_up(address);
    if (ts__cs_is_known(address)) return;
    job.what = TS__CS_ALLOCATION;
    job.context = c->context;
    job.address = address;
    job.memory_type = UINT32_MAX; // the value if the driver does not answer
    ts__cs_request(&ts__cs.driver, &job, ts__cs.reads_until_ns);
    if (job.memory_type == UINT32_MAX)
        ts_capture_decline(op, TS_REASON_DRAIN_TIMEOUT);
    if (job.memory_type == TS__CUDA_DEVICE)
        ts_capture_decline(op, TS_REASON_ATTACHED_LATE);
}

static void ts__cs_copy(const ts__cs_call *c, ts_capture_op *op, bool exclusive)
{
    const bool peer = c->rule->kind == TS__CS_COPY_PEER;
    op->head.destination = ts__cs_argument(c, 0);
    op->head.source = ts__cs_argument(c, peer ? 16 : 8);
    op->head.size = ts__cs_argument(c, peer ? 32 : 16);
    ts__cs_check_end(c, op, op->head.source, exclusive);
    ts__cs_check_end(c, op, op->head.destination, exclusive);
}

typedef struct ts__cs_flat { // one end of a CUDA_MEMCPY2D
    size_t x, y;
    uint32_t type, pad;
    uint64_t host, device, array;
    size_t pitch;
} ts__cs_flat;

// Reads the addresses and geometry of a box. Returns false if it uses arrays.
static bool ts__cs_box_read(const ts__cuda_box *box, ts_capture_operation *head,
                            ts_capture_geometry *geometry)
{
    ts_capture_geometry g;
    const ts__cuda_end *const from = &box->from, *const to = &box->to;
    memset(&g, 0, sizeof g);
    if (from->type == 3 || to->type == 3 || from->level || to->level)
        return false;
    head->source =
        from->type == TS__CUDA_HOST ? (uintptr_t)from->host : from->device;
    head->destination =
        to->type == TS__CUDA_HOST ? (uintptr_t)to->host : to->device;
    const size_t origins[2][3] = { { from->x, from->y, from->z },
                                   { to->x, to->y, to->z } };
    for (int i = 0; i < 3; i++) {
        g.source_origin[i] = origins[0][i];
        g.destination_origin[i] = origins[1][i];
    }
    g.region[0] = box->width;
    g.region[1] = box->height;
    g.region[2] = box->depth;
    g.source_row = from->pitch ? from->pitch : box->width;
    g.destination_row = to->pitch ? to->pitch : box->width;
    g.source_slice = g.source_row * (from->height ? from->height : box->height);
    g.destination_slice =
        g.destination_row * (to->height ? to->height : box->height);
    head->size = box->width * box->height * box->depth;
    *geometry = g;
    return true;
}

static void ts__cs_box(const ts__cs_call *c, ts_capture_op *op, bool exclusive,
                       const ts__cuda_box *box)
{
    ts_capture_geometry g;
    if (!ts__cs_box_read(box, &op->head, &g)) {
        ts_capture_decline(op, TS_REASON_TEXTURE_BINDLESS);
        return;
    }
    ts_capture_attribute_add(op, TS_ATTRIBUTE_GEOMETRY, &g, sizeof g);
    ts__cs_check_end(c, op, op->head.source, exclusive);
    ts__cs_check_end(c, op, op->head.destination, exclusive);
}

static void ts__cs_rows(const ts__cs_call *c, ts_capture_op *op, bool exclusive)
{
    struct {
        ts__cs_flat from, to;
        size_t width, height;
    } flat;
    ts__cuda_box box;
    const void *const given = (const void *)(uintptr_t)ts__cs_argument(c, 0);
    if (!given) return;
    memcpy(&flat, given, sizeof flat);
    memset(&box, 0, sizeof box);
    const ts__cs_flat *const ends[2] = { &flat.from, &flat.to };
    ts__cuda_end *const to[2] = { &box.from, &box.to };
    for (int i = 0; i < 2; i++) {
        to[i]->x = ends[i]->x;
        to[i]->y = ends[i]->y;
        to[i]->type = ends[i]->type;
        to[i]->host = (void *)(uintptr_t)ends[i]->host;
        to[i]->device = ends[i]->device;
        to[i]->pitch = ends[i]->pitch;
    }
    box.width = flat.width;
    box.height = flat.height;
    box.depth = 1;
    ts__cs_box(c, op, exclusive, &box);
}

static void ts__cs_set(const ts__cs_call *c, ts_capture_op *op, bool exclusive)
{
    const bool rows = c->rule->kind == TS__CS_SET_ROWS;
    const uint32_t width = c->rule->width;
    const uint32_t value = ts__cs_argument32(c, rows ? 16 : 8);
    uint64_t count = ts__cs_argument(c, rows ? 24 : 16);
    op->head.destination = ts__cs_argument(c, 0);
    op->head.value = value & 0xFF;
    if (width > 1)
        ts_capture_attribute_add(op, TS_ATTRIBUTE_PATTERN, &value, width);
    if (rows) {
        ts_capture_geometry g;
        memset(&g, 0, sizeof g);
        g.region[0] = count * width;
        g.region[1] = ts__cs_argument(c, 32);
        g.region[2] = 1;
        g.destination_row = ts__cs_argument(c, 8);
        if (g.region[1] < 2) g.destination_row = g.region[0];
        g.destination_slice = g.destination_row * g.region[1];
        ts_capture_attribute_add(op, TS_ATTRIBUTE_GEOMETRY, &g, sizeof g);
        count *= g.region[1];
    }
    op->head.size = count * width;
    ts__cs_check_end(c, op, op->head.destination, exclusive);
}

/* ==== 4. All operations ================================================== */

// Describes an operation except for the contents of memory. *args: the caller
// frees it after the arguments are copied.
static void ts__cs_describe(const ts__cs_call *c, ts_capture_op *op,
                            bool exclusive, uint8_t **args)
{
    const ts__cs_kind kind = (ts__cs_kind)c->rule->kind;
    const uint8_t at = c->rule->stream_at;
    // Its stream is the first argument.
    const bool first = kind == TS__CS_HOST_FUNCTION;
    ts__cs_place(c, op, at || first ? ts__cs_argument(c, at) : 0);
    if (kind == TS__CS_LAUNCH || kind == TS__CS_LAUNCH_COOPERATIVE)
        ts__cs_launch(c, op, exclusive, args);
    else if (kind == TS__CS_LAUNCH_HOW)
        ts__cs_launch_how(c, op, exclusive, args);
    else if (kind == TS__CS_COPY || kind == TS__CS_COPY_PEER)
        ts__cs_copy(c, op, exclusive);
    else if (kind == TS__CS_COPY_ROWS)
        ts__cs_rows(c, op, exclusive);
    else if (kind == TS__CS_COPY_BOX && ts__cs_argument(c, 0))
        ts__cs_box(c, op, exclusive,
                   (const ts__cuda_box *)(uintptr_t)ts__cs_argument(c, 0));
    else if (kind == TS__CS_SET || kind == TS__CS_SET_ROWS)
        ts__cs_set(c, op, exclusive);
    else if (op->head.kind == TS_EVENT_GRAPH_LAUNCH && ts__cs.vendor->graphs)
        ts__cs.vendor->graphs->launch(c, op, exclusive, args);
    else
        ts_capture_decline(op, kind == TS__CS_HOST_FUNCTION
                                   ? TS_REASON_HOST_CALLBACK
                                   : TS_REASON_IN_CAPTURE);
}

// Declines an operation that may reach memory which cannot be restored.
static void ts__cs_judge(ts_capture_op *op)
{
    if (op->head.state == TS_CAPTURE_DECLINED) return;
    for (uint32_t i = 0; i < op->head.region_count; i++) {
        const ts__cs_range *const range =
            ts__cs_range_of(op->regions[i].address);
        // A copy may read host memory of any kind.
        const bool copied = range && range->host && !op->regions[i].device &&
                            (op->head.kind == TS_EVENT_MEMCPY ||
                             op->head.kind == TS_EVENT_GRAPH_LAUNCH);
        if (range && range->reason && !copied)
            ts_capture_decline(op, range->reason);
    }
    if ((op->head.kind != TS_EVENT_KERNEL &&
         op->head.kind != TS_EVENT_GRAPH_LAUNCH) ||
        !op->copy)
        return;
    // Host memory that devices access is not in the captures' memory, so the
    // arguments are searched for pointers to it.
    for (uint32_t at = 0; at + 8 <= op->head.args_size; at += 8) {
        uint64_t value;
        memcpy(&value, op->copy + at, sizeof value);
        const ts__cs_range *const range = ts__cs_range_of(value);
        if (range && range->host) ts_capture_decline(op, range->reason);
    }
}

#endif // TS__GPU_OPERATIONS_H
