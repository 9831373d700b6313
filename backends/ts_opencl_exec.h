/*
    ts_opencl_exec.h - runs captured operations on devices of OpenCL

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: libOpenCL.so.1 (any loader, or a driver that is one),
                    loaded when it is used; OpenCL 1.2 and later.
    Checked with:   PoCL 3.1, ocl-icd 2.3.1; Debian 12, x86-64, gcc 12 and
                    clang 14, November 2026.

    WHAT IT DOES
        The executor of tracesmith_replay.h for OpenCL: chooses the device that
        has the recorded name, builds programs from source, intermediate
        language or binary with the recorded options, and launches kernels of
        them. OpenCL has no addresses. Captures number memory as if it had, and
        here a number finds its object again: all addresses are as recorded.
        TRACESMITH_OPENCL_DEVICE in the environment chooses another device, by
        a part of its name.

    WHAT IT DOES NOT DO
        It asks nobody: programs are code of whoever made the trace. Shared
        virtual memory and pipes are not run; captures decline them. Kernels
        that launch kernels do not work: captures do not tell them apart.

    USE
        #define TRACESMITH_OPENCL_EXEC_IMPLEMENTATION // in one C11 file
        #include "backends/ts_opencl_exec.h"

        static ts_result run_first(ts_reader *reader, ts_execution_item *item)
        {
            const ts_execution_desc desc = { .executor = &ts_opencl_executor };
            const size_t first = 0;
            char why[200];
            ts_execution *execution;
            const ts_result result = ts_execution_open(
                &execution, reader, &first, 1, &desc, why, sizeof why);
            if (result == TS_OK) ts_execution_run(execution, 0, item);
            ts_execution_close(execution);
            return result;
        }

    CONTENTS                            search for "==== 2." to jump
        1. Executor
        2. Implementation               private
*/
#ifndef TS_OPENCL_EXEC_H
#define TS_OPENCL_EXEC_H

#include "tracesmith_replay.h"

/* ==== 1. Executor ======================================================== */

#ifdef __cplusplus
extern "C"
#else
extern
#endif
    const ts_executor ts_opencl_executor;

#endif // TS_OPENCL_EXEC_H

/* ==== 2. Implementation ================================================== */

#if defined(TRACESMITH_OPENCL_EXEC_IMPLEMENTATION) && \
    !defined(TS__OPENCL_EXEC_IMPLEMENTED)
#define TS__OPENCL_EXEC_IMPLEMENTED
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ts_opencl_exec_abi.h"

enum { TS__OX_DEVICES = 64 };

typedef struct ts__ox_block { // memory, under its number
    uint64_t address, size;
    ts__ox_handle buffer;
} ts__ox_block;

typedef struct ts__ox_kernel {
    uint64_t module;
    ts__ox_handle kernel;
    uint32_t arg_count;
    char name[256];
} ts__ox_kernel;

typedef struct ts__ox_queue {
    ts__ox_handle queue, last; // last: event of the last command
    uint32_t points[8];        // what the next one of a graph waits for
    uint32_t point_count;
} ts__ox_queue;

typedef struct ts__ox_point { // an event in a graph
    uint32_t points[8], count;
} ts__ox_point;

typedef struct ts__ox_end {
    ts__ox_handle buffer; // NULL: the host's
    char *host;
    size_t offset;
    uint64_t left; // bytes of the buffer from there on
    size_t origin[3], row, slice;
} ts__ox_end;

typedef struct ts__ox_graph {
    ts__ox_handle graph;
    bool ran; // since bytes for the host were fetched
} ts__ox_graph;

typedef struct ts__ox_fetch { // bytes of a graph for the host
    size_t graph;             // in the list
    ts__ox_end end;
    size_t region[3];
    bool box;
} ts__ox_fetch;

// Something that is wanted as long as commands run.
typedef enum ts__ox_kind {
    TS__OX_MEMORY,
    TS__OX_SAMPLER,
    TS__OX_KERNEL
} ts__ox_kind;

typedef struct ts__ox_thing {
    ts__ox_handle handle;
    ts__ox_kind kind;
} ts__ox_thing;

// The kernel that hashes; see ts_opencl_exec_hash.h.
typedef struct ts__ox_hasher {
    ts__ox_handle queue, kernel, hashes;
    bool known, tells; // tells: it is there, and right
} ts__ox_hasher;

// Arrays that grow.
typedef struct ts__ox_list {
    void *items;
    size_t count, capacity;
} ts__ox_list;

typedef struct ts__ox {
    ts__ox_calls cl;
    void *library;
    ts__ox_handle context, devices[TS__OX_DEVICES];
    uint32_t device_count;
    uint64_t bytes, most; // of memory: in use, and of the smallest device
    ts__ox_handle platform;
    ts__ox_list blocks, kernels, queues, things;
    ts__ox_list modules, events; // ts__ox_handle
    ts_reason reason;            // why the last call failed, where it is known
    ts__ox_hasher hasher;
    // Graphs; see ts_opencl_exec_graph.h.
    ts__ox_graph_calls graphs;
    ts__ox_list graph_list, points, fetches;
    ts__ox_handle graph; // that is made, else NULL
    uint64_t staged;     // bytes of x->bytes that are in things
    bool failed;         // a command, since the last wait
    bool overlaps;       // it may run more than once at a time
    uint32_t point;      // of the last command ...
    ts__ox_handle event; // ... and its event, in a queue
} ts__ox;

// Room for one more at the end, zeroed; NULL: no memory.
static void *ts__ox_add(ts__ox_list *list, size_t size)
{
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity ? list->capacity * 2 : 16;
        void *const more = realloc(list->items, capacity * size);
        if (!more) return NULL;
        list->items = more;
        list->capacity = capacity;
    }
    void *const made = (char *)list->items + list->count++ * size;
    memset(made, 0, size);
    return made;
}

static ts_result ts__ox_result(int32_t error)
{
    switch (error) {
    case TS__OX_SUCCESS: return TS_OK;
    case TS__OX_MEM_OBJECT_ALLOCATION_FAILURE:
    case TS__OX_OUT_OF_RESOURCES:
    case TS__OX_OUT_OF_HOST_MEMORY:
    case TS__OX_INVALID_BUFFER_SIZE: return TS_ERR_MEMORY;
    default: return TS_ERR_IO;
    }
}

static ts_result ts__ox_fail(ts__ox *x, ts_reason reason)
{
    x->reason = reason;
    return TS_ERR_UNSUPPORTED;
}

static ts_reason ts__ox_reason(void *state)
{
    return state ? ((ts__ox *)state)->reason : TS_REASON_NONE;
}

/* ---- 2.1 Library and devices -------------------------------------------- */

#ifndef TS__OX_FIND // tests bring functions of their own
#define TS__OX_OPEN() dlopen("libOpenCL.so.1", RTLD_NOW)

#define TS__OX_FIND(library, name) dlsym(library, name)
#endif

static bool ts__ox_load_library(ts__ox *x, char *why, size_t room)
{
    const char *missing = NULL;
    x->library = TS__OX_OPEN();
    if (!x->library) {
        snprintf(why, room,
                 "there is no OpenCL on this machine: libOpenCL.so.1 cannot be "
                 "loaded (install a loader and a driver, such as "
                 "pocl-opencl-icd)");
        return false;
    }
    // Through a copy of the bytes: ISO C has no such cast.
#define TS__X(type, name, params) \
    void *const found_##name = TS__OX_FIND(x->library, #name); \
    memcpy(&x->cl.name, &found_##name, sizeof x->cl.name);
    TS__OX_CALLS(TS__X)
    TS__OX_LATER(TS__X)
#undef TS__X
#define TS__X(type, name, params) \
    if (!x->cl.name) missing = #name;
    TS__OX_CALLS(TS__X)
#undef TS__X
    if (missing)
        snprintf(why, room,
                 "the OpenCL of this machine is too old: it has "
                 "no %s",
                 missing);
    return !missing;
}

typedef struct ts__ox_device {
    ts__ox_handle platform, device;
    char name[128];
} ts__ox_device;

// All devices of all platforms, up to TS__OX_DEVICES.
static uint32_t ts__ox_all_devices(const ts__ox *x, ts__ox_device *all)
{
    ts__ox_handle platforms[16], devices[TS__OX_DEVICES];
    uint32_t platform_count = 0, count = 0, found = 0;
    if (x->cl.clGetPlatformIDs(16, platforms, &platform_count) != 0) return 0;
    if (platform_count > 16) platform_count = 16;
    for (uint32_t p = 0; p < platform_count; p++) {
        if (x->cl.clGetDeviceIDs(platforms[p], TS__OX_DEVICE_TYPE_ALL,
                                 TS__OX_DEVICES, devices, &found) != 0)
            continue;
        for (uint32_t i = 0; i < found && count < TS__OX_DEVICES; i++) {
            ts__ox_device *const d = &all[count++];
            memset(d, 0, sizeof *d);
            d->platform = platforms[p];
            d->device = devices[i];
            if (x->cl.clGetDeviceInfo(devices[i], TS__OX_DEVICE_NAME,
                                      sizeof d->name - 1, d->name, NULL) != 0)
                d->name[0] = 0;
        }
    }
    return count;
}

/*
    Which device stands for a recorded one: what the user says, else the one of
    the same name that is not taken yet, else one of that name, else the only
    one that there is. The count of all: none of them.
*/
static uint32_t ts__ox_choose(const ts__ox *x, const ts__ox_device *all,
                              uint32_t count, const char *recorded)
{
    const char *const wanted = getenv("TRACESMITH_OPENCL_DEVICE");
    uint32_t best = count;
    for (uint32_t i = 0; i < count; i++) {
        const bool fits = wanted && *wanted
                              ? strstr(all[i].name, wanted) != NULL
                              : recorded && !strcmp(all[i].name, recorded);
        bool taken = false;
        for (uint32_t k = 0; k < x->device_count; k++)
            taken = taken || x->devices[k] == all[i].device;
        if (fits && (best == count || !taken)) best = i;
        if (fits && !taken) break;
    }
    if (best == count && count == 1 && !(wanted && *wanted)) best = 0;
    return best;
}

static void ts__ox_say_devices(const ts__ox_device *all, uint32_t count,
                               const char *recorded, char *why, size_t room)
{
    const char *const wanted = getenv("TRACESMITH_OPENCL_DEVICE");
    int at = snprintf(why, room, "there is no OpenCL device '%s' here",
                      wanted && *wanted ? wanted
                      : recorded        ? recorded
                                        : "");
    for (uint32_t i = 0; i < count && at > 0 && (size_t)at < room; i++)
        at += snprintf(why + at, room - (size_t)at, "%s '%s'",
                       i ? "," : ", but", all[i].name);
    if (count && at > 0 && (size_t)at < room)
        snprintf(why + at, room - (size_t)at,
                 "; TRACESMITH_OPENCL_DEVICE=NAME chooses one");
}

static void ts__ox_bound(ts__ox *x, ts__ox_handle device)
{
    uint64_t size = 0;
    if (x->cl.clGetDeviceInfo(device, TS__OX_DEVICE_GLOBAL_MEM_SIZE,
                              sizeof size, &size, NULL) == 0 &&
        size && size < x->most)
        x->most = size;
}

// The devices of a replay, in the order in which the trace has them.
static bool ts__ox_devices(ts__ox *x, uint32_t device_count,
                           const ts_executor_range *ranges, size_t count,
                           char *why, size_t room)
{
    ts__ox_device all[TS__OX_DEVICES];
    const uint32_t there = ts__ox_all_devices(x, all);
    ts__ox_handle platform = NULL;
    x->most = UINT64_MAX;
    for (uint32_t i = 0; i < device_count; i++) {
        const char *recorded = NULL;
        for (size_t k = 0; k < count && !recorded; k++)
            if (ranges[k].device == i) recorded = ranges[k].name;
        const uint32_t at = ts__ox_choose(x, all, there, recorded);
        if (at == there) {
            ts__ox_say_devices(all, there, recorded, why, room);
            return false;
        }
        if (platform && platform != all[at].platform) {
            snprintf(why, room,
                     "its devices are of several platforms here, "
                     "which share no memory");
            return false;
        }
        platform = x->platform = all[at].platform;
        x->devices[x->device_count++] = all[at].device;
        ts__ox_bound(x, all[at].device);
    }
    return true;
}

static bool ts__ox_make_context(ts__ox *x, char *why, size_t room)
{
    ts__ox_handle devices[TS__OX_DEVICES];
    uint32_t count = 0;
    int32_t error = 0;
    for (uint32_t i = 0; i < x->device_count; i++) {
        uint32_t k = 0;
        while (k < count && devices[k] != x->devices[i])
            k++;
        if (k == count) devices[count++] = x->devices[i];
    }
    x->context =
        x->cl.clCreateContext(NULL, count, devices, NULL, NULL, &error);
    if (!x->context)
        snprintf(why, room, "OpenCL makes no context (error %d)", (int)error);
    return x->context != NULL;
}

static void ts__ox_release_thing(const ts__ox *x, const ts__ox_thing *thing)
{
    switch (thing->kind) {
    case TS__OX_MEMORY: x->cl.clReleaseMemObject(thing->handle); break;
    case TS__OX_SAMPLER: x->cl.clReleaseSampler(thing->handle); break;
    case TS__OX_KERNEL: x->cl.clReleaseKernel(thing->handle); break;
    }
}

static void ts__ox_release_things(ts__ox *x)
{
    const ts__ox_thing *const things = x->things.items;
    for (size_t i = x->things.count; i-- > 0;)
        ts__ox_release_thing(x, &things[i]);
    x->things.count = 0;
    x->bytes -= x->staged;
    x->staged = 0;
}

static void ts__ox_hash_close(const ts__ox *x);

static void ts__ox_release_all(ts__ox *x)
{
    const ts__ox_queue *const queues = x->queues.items;
    const ts__ox_kernel *const kernels = x->kernels.items;
    const ts__ox_block *const blocks = x->blocks.items;
    const ts__ox_handle *const modules = x->modules.items;
    const ts__ox_handle *const events = x->events.items;
    const ts__ox_graph *const graphs = x->graph_list.items;
    for (size_t i = 0; i < x->graph_list.count; i++)
        x->graphs.clReleaseCommandBufferKHR(graphs[i].graph);
    ts__ox_hash_close(x);
    ts__ox_release_things(x);
    for (size_t i = 0; i < x->events.count; i++)
        if (events[i]) x->cl.clReleaseEvent(events[i]);
    for (size_t i = 0; i < x->queues.count; i++) {
        if (queues[i].last) x->cl.clReleaseEvent(queues[i].last);
        x->cl.clReleaseCommandQueue(queues[i].queue);
    }
    for (size_t i = 0; i < x->kernels.count; i++)
        x->cl.clReleaseKernel(kernels[i].kernel);
    for (size_t i = 0; i < x->modules.count; i++)
        x->cl.clReleaseProgram(modules[i]);
    for (size_t i = 0; i < x->blocks.count; i++)
        x->cl.clReleaseMemObject(blocks[i].buffer);
    if (x->context) x->cl.clReleaseContext(x->context);
}

static void ts__ox_close(void *state)
{
    ts__ox *const x = state;
    if (!x) return;
    if (x->context) ts__ox_release_all(x);
    free(x->blocks.items);
    free(x->kernels.items);
    free(x->queues.items);
    free(x->things.items);
    free(x->modules.items);
    free(x->events.items);
    free(x->graph_list.items);
    free(x->points.items);
    free(x->fetches.items);
    free(x); // the library stays: drivers have threads and handlers
}

static ts_result ts__ox_open(void **state, uint32_t device_count,
                             const ts_executor_range *ranges, size_t count,
                             char *why, size_t room)
{
    *state = NULL;
    if (device_count > TS__OX_DEVICES) return TS_ERR_UNSUPPORTED;
    ts__ox *const x = calloc(1, sizeof *x);
    if (!x) return TS_ERR_MEMORY;
    if (ts__ox_load_library(x, why, room) &&
        ts__ox_devices(x, device_count, ranges, count, why, room) &&
        ts__ox_make_context(x, why, room)) {
        *state = x;
        return TS_OK;
    }
    ts__ox_close(x);
    return TS_ERR_UNSUPPORTED;
}

/* ---- 2.2 Memory --------------------------------------------------------- */

static ts__ox_block *ts__ox_find(const ts__ox *x, uint64_t address)
{
    ts__ox_block *const blocks = x->blocks.items;
    for (size_t i = 0; i < x->blocks.count; i++)
        if (address - blocks[i].address < blocks[i].size) return &blocks[i];
    return NULL;
}

static ts_result ts__ox_allocate(void *state, uint32_t device,
                                 uint64_t *address, uint64_t size)
{
    ts__ox *const x = state;
    int32_t error = 0;
    (void)device; // memory is the context's
    x->reason = TS_REASON_NONE;
    // Drivers on the host's memory give what is not there.
    if (size > x->most || x->bytes > x->most - size) return TS_ERR_MEMORY;
    const ts__ox_handle buffer = x->cl.clCreateBuffer(
        x->context, TS__OX_MEM_READ_WRITE, (size_t)size, NULL, &error);
    if (!buffer) return ts__ox_result(error);
    ts__ox_block *const made = ts__ox_add(&x->blocks, sizeof *made);
    if (!made) {
        x->cl.clReleaseMemObject(buffer);
        return TS_ERR_MEMORY;
    }
    made->address = *address;
    made->size = size;
    made->buffer = buffer;
    x->bytes += size;
    return TS_OK;
}

static ts_result ts__ox_release(void *state, uint64_t address)
{
    ts__ox *const x = state;
    ts__ox_block *const b = ts__ox_find(x, address);
    ts__ox_block *const blocks = x->blocks.items;
    x->reason = TS_REASON_NONE;
    if (!b || b->address != address) return TS_ERR_USAGE;
    x->cl.clReleaseMemObject(b->buffer);
    x->bytes -= b->size;
    *b = blocks[--x->blocks.count];
    return TS_OK;
}

// Another queue, the last one of the list.
static ts_result ts__ox_queue_make(ts__ox *x, uint32_t device)
{
    int32_t error = 0;
    const ts__ox_handle queue =
        x->cl.clCreateCommandQueue(x->context, x->devices[device], 0, &error);
    if (!queue) return ts__ox_result(error);
    ts__ox_queue *const made = ts__ox_add(&x->queues, sizeof *made);
    if (made)
        made->queue = queue;
    else
        x->cl.clReleaseCommandQueue(queue);
    return made ? TS_OK : TS_ERR_MEMORY;
}

// Any queue will do: nothing runs meanwhile.
static ts__ox_queue *ts__ox_any_queue(ts__ox *x)
{
    return x->queues.count || ts__ox_queue_make(x, 0) == TS_OK ? x->queues.items
                                                               : NULL;
}

static ts_result ts__ox_write(void *state, uint64_t address, const void *bytes,
                              uint64_t size)
{
    ts__ox *const x = state;
    const ts__ox_block *const b = ts__ox_find(x, address);
    const ts__ox_queue *const q = ts__ox_any_queue(x);
    x->reason = TS_REASON_NONE;
    if (!b || !q) return TS_ERR_IO;
    return ts__ox_result(x->cl.clEnqueueWriteBuffer(
        q->queue, b->buffer, 1, (size_t)(address - b->address), (size_t)size,
        bytes, 0, NULL, NULL));
}

static ts_result ts__ox_read(void *state, void *bytes, uint64_t address,
                             uint64_t size)
{
    ts__ox *const x = state;
    const ts__ox_block *const b = ts__ox_find(x, address);
    const ts__ox_queue *const q = ts__ox_any_queue(x);
    x->reason = TS_REASON_NONE;
    if (!b || !q) return TS_ERR_IO;
    return ts__ox_result(x->cl.clEnqueueReadBuffer(
        q->queue, b->buffer, 1, (size_t)(address - b->address), (size_t)size,
        bytes, 0, NULL, NULL));
}

// Takes care of an object until nothing runs any more. False: no memory.
static bool ts__ox_keep(ts__ox *x, ts__ox_handle handle, ts__ox_kind kind)
{
    const ts__ox_thing thing = { handle, kind };
    ts__ox_thing *const made = ts__ox_add(&x->things, sizeof *made);
    if (made)
        *made = thing;
    else
        ts__ox_release_thing(x, &thing);
    return made != NULL;
}

// The memory from an address on, as an object: the whole, or a part that
// reaches to its end.
static ts_result ts__ox_memory_at(ts__ox *x, uint64_t address,
                                  ts__ox_handle *memory)
{
    const ts__ox_block *const b = ts__ox_find(x, address);
    int32_t error = 0;
    if (!b) return ts__ox_fail(x, TS_REASON_MEMORY_MISSING);
    *memory = b->buffer;
    const ts__ox_part part = { (size_t)(address - b->address),
                               (size_t)(b->size - (address - b->address)) };
    if (!part.origin) return TS_OK;
    *memory = x->cl.clCreateSubBuffer(
        b->buffer, 0, TS__OX_BUFFER_CREATE_TYPE_REGION, &part, &error);
    if (!*memory) return ts__ox_result(error);
    return ts__ox_keep(x, *memory, TS__OX_MEMORY) ? TS_OK : TS_ERR_MEMORY;
}

/* ---- 2.3 Programs ------------------------------------------------------- */

// What the compiler says first: three lines at most.
static void ts__ox_log(const ts__ox *x, ts__ox_handle program, char *why,
                       size_t room)
{
    size_t size = 0;
    char *log = NULL;
    snprintf(why, room, "the program does not build");
    x->cl.clGetProgramBuildInfo(program, x->devices[0],
                                TS__OX_PROGRAM_BUILD_LOG, 0, NULL, &size);
    if (size > 1 && size < 1 << 24) log = calloc(1, size + 1);
    if (log && x->cl.clGetProgramBuildInfo(program, x->devices[0],
                                           TS__OX_PROGRAM_BUILD_LOG, size, log,
                                           NULL) == 0) {
        size_t end = strspn(log, " \n");
        const char *const text = log + end;
        for (int lines = 0; lines < 3; lines++)
            end += strcspn(log + end, "\n") + (log[end] == '\n');
        log[end] = 0;
        if (*text) snprintf(why, room, "the program does not build:\n%s", text);
    }
    free(log);
}

// A binary is one device's: the first that takes it.
static ts__ox_handle ts__ox_from_binary(const ts__ox *x,
                                        const ts_executor_code *code,
                                        int32_t *error)
{
    const unsigned char *const bytes = code->bytes;
    const size_t size = (size_t)code->size;
    for (uint32_t i = 0; i < x->device_count; i++) {
        int32_t status = 0;
        const unsigned char *binaries[1] = { bytes };
        const ts__ox_handle program = x->cl.clCreateProgramWithBinary(
            x->context, 1, &x->devices[i], &size, binaries, &status, error);
        if (program && !status) return program;
        if (program) x->cl.clReleaseProgram(program);
    }
    return NULL;
}

static ts__ox_handle
ts__ox_program(const ts__ox *x, const ts_executor_code *code, int32_t *error)
{
    const size_t size = (size_t)code->size;
    const char *text = code->bytes;
    switch (code->form) {
    case TS_CAPTURE_OPENCL_C:
        return x->cl.clCreateProgramWithSource(x->context, 1, &text, &size,
                                               error);
    case TS_CAPTURE_SPIRV:
        return x->cl.clCreateProgramWithIL
                   ? x->cl.clCreateProgramWithIL(x->context, code->bytes, size,
                                                 error)
                   : NULL;
    case TS_CAPTURE_DEVICE_BINARY: return ts__ox_from_binary(x, code, error);
    default: return NULL;
    }
}

static ts_result ts__ox_load(void *state, const ts_executor_code *code,
                             uint64_t *module, char *why, size_t room)
{
    ts__ox *const x = state;
    int32_t error = 0;
    x->reason = TS_REASON_NONE;
    snprintf(why, room, "the trace does not have it");
    if (!code->bytes || !code->size) return TS_ERR_NOT_FOUND;
    snprintf(why, room, "it is not for a device of this machine");
    const ts__ox_handle program = ts__ox_program(x, code, &error);
    if (!program) return TS_ERR_UNSUPPORTED;
    error = x->cl.clBuildProgram(
        program, 0, NULL, code->options ? code->options : "", NULL, NULL);
    ts__ox_handle *const made =
        error ? NULL : ts__ox_add(&x->modules, sizeof *made);
    if (made) {
        *made = program;
        *module = x->modules.count;
        return TS_OK;
    }
    if (error) ts__ox_log(x, program, why, room);
    x->cl.clReleaseProgram(program);
    return error ? TS_ERR_UNSUPPORTED : TS_ERR_MEMORY;
}

// OpenCL tells no addresses of variables; captures have none.
static ts_result ts__ox_global(void *state, uint64_t module, uint32_t device,
                               uint64_t offset, uint64_t size,
                               uint64_t *address)
{
    (void)module;
    (void)device;
    (void)offset;
    (void)size;
    (void)address;
    return ts__ox_fail(state, TS_REASON_BAD_CAPTURE);
}

static ts_result ts__ox_kernel_find(ts__ox *x, const ts_executor_launch *l,
                                    ts__ox_kernel **found)
{
    ts__ox_kernel *const all = x->kernels.items;
    const char *const name = l->name ? l->name : "";
    int32_t error = 0;
    for (size_t i = 0; i < x->kernels.count; i++) {
        *found = &all[i];
        if (all[i].module == l->module && !strcmp(all[i].name, name))
            return TS_OK;
    }
    if (!l->module || l->module > x->modules.count ||
        strlen(name) >= sizeof all->name)
        return ts__ox_fail(x, TS_REASON_IMAGE_MISSING);
    const ts__ox_handle kernel = x->cl.clCreateKernel(
        ((ts__ox_handle *)x->modules.items)[l->module - 1], name, &error);
    if (!kernel) return ts__ox_fail(x, TS_REASON_IMAGE_MISSING);
    *found = ts__ox_add(&x->kernels, sizeof **found);
    if (!*found) {
        x->cl.clReleaseKernel(kernel);
        return TS_ERR_MEMORY;
    }
    (*found)->module = l->module;
    (*found)->kernel = kernel;
    memcpy((*found)->name, name, strlen(name) + 1);
    return ts__ox_result(x->cl.clGetKernelInfo(kernel, TS__OX_KERNEL_NUM_ARGS,
                                               sizeof(*found)->arg_count,
                                               &(*found)->arg_count, NULL));
}

/* ---- 2.4 Streams -------------------------------------------------------- */

static ts_result ts__ox_stream(void *state, uint32_t device, uint64_t flags,
                               uint64_t *stream)
{
    ts__ox *const x = state;
    (void)flags;
    x->reason = TS_REASON_NONE;
    if (device >= x->device_count) return TS_ERR_USAGE;
    const ts_result result = ts__ox_queue_make(x, device);
    *stream = x->queues.count;
    return result;
}

static ts__ox_queue *ts__ox_queue_of(ts__ox *x, uint64_t stream)
{
    ts__ox_queue *const queues = x->queues.items;
    x->reason = TS_REASON_NONE;
    return stream && stream <= x->queues.count ? &queues[stream - 1] : NULL;
}

// Behind every command: its event is what is waited for.
static ts_result ts__ox_queued(ts__ox *x, ts__ox_queue *q, int32_t error,
                               ts__ox_handle event)
{
    if (error) return ts__ox_result(error);
    if (q->last) x->cl.clReleaseEvent(q->last);
    q->last = event;
    return ts__ox_result(x->cl.clFlush(q->queue));
}

// 1: it runs, 0: it is done, below: it failed.
static int32_t ts__ox_status(const ts__ox *x, ts__ox_handle event)
{
    int32_t status = 0;
    const int32_t error = x->cl.clGetEventInfo(
        event, TS__OX_EVENT_EXECUTION_STATUS, sizeof status, &status, NULL);
    return error < 0 ? error : status > TS__OX_COMPLETE ? 1 : status;
}

// The same of a command whose event is x->event.
static ts_result ts__ox_ran(ts__ox *x, ts__ox_queue *q, int32_t error)
{
    return ts__ox_queued(x, q, error, x->event);
}

#include "ts_opencl_exec_graph.h"

// Drops the events of queues that are done; one that failed is done as well.
static ts_result ts__ox_ask(void *state)
{
    ts__ox *const x = state;
    ts__ox_queue *const queues = x->queues.items;
    for (size_t i = 0; i < x->queues.count; i++) {
        const int32_t status =
            queues[i].last ? ts__ox_status(x, queues[i].last) : 0;
        if (status > 0) return TS_ERR_BUSY;
        x->failed |= status < 0;
        if (queues[i].last) x->cl.clReleaseEvent(queues[i].last);
        queues[i].last = NULL;
    }
    return TS_OK;
}

// Never clFinish, which has no end if a kernel has none.
static ts_result ts__ox_wait(void *state, uint32_t timeout_ms)
{
    ts__ox *const x = state;
    x->reason = TS_REASON_NONE;
    if (ts_executor_poll(ts__ox_ask, x, timeout_ms) != TS_OK)
        return TS_ERR_BUSY;
    const bool failed = x->failed;
    x->failed = false;
    if (!x->graph_list.count) ts__ox_release_things(x); // graphs run again
    return ts__ox_fetch_all(x, failed);
}

static ts_result ts__ox_event(void *state, uint64_t stream, uint64_t *event)
{
    ts__ox *const x = state;
    ts__ox_queue *const q = ts__ox_queue_of(x, stream);
    ts__ox_handle made = NULL;
    x->reason = TS_REASON_NONE;
    if (!q) return TS_ERR_USAGE;
    if (x->graph) return ts__ox_graph_event(x, q, event);
    ts__ox_handle *const slot = ts__ox_add(&x->events, sizeof made);
    if (!slot) return TS_ERR_MEMORY;
    const int32_t error =
        x->cl.clEnqueueMarkerWithWaitList(q->queue, 0, NULL, &made);
    if (error) return ts__ox_result(error);
    *slot = made;
    *event = x->events.count;
    return ts__ox_result(x->cl.clFlush(q->queue));
}

static ts_result ts__ox_event_wait(void *state, uint64_t stream, uint64_t event)
{
    ts__ox *const x = state;
    ts__ox_queue *const q = ts__ox_queue_of(x, stream);
    const ts__ox_handle *const events = x->events.items;
    ts__ox_handle made = NULL;
    if (q && x->graph) return ts__ox_graph_wait(x, q, event);
    if (!q || !event || event > x->events.count) return TS_ERR_USAGE;
    if (!events[event - 1]) return TS_OK; // never recorded: nothing to wait for
    const int32_t error = x->cl.clEnqueueBarrierWithWaitList(
        q->queue, 1, &events[event - 1], &made);
    return ts__ox_queued(x, q, error, made);
}

#include "ts_opencl_exec_commands.h"

#include "ts_opencl_exec_hash.h"

static const uint32_t ts__ox_attributes[] = {
    TS_ATTRIBUTE_GLOBAL_OFFSET, TS_ATTRIBUTE_GLOBAL_SIZE, TS_ATTRIBUTE_IMAGE,
    TS_ATTRIBUTE_SAMPLER,       TS_ATTRIBUTE_GEOMETRY,    TS_ATTRIBUTE_PATTERN,
    TS_ATTRIBUTE_COPY_IMAGE,    TS_ATTRIBUTE_DIMENSIONS,  0
};

const ts_executor ts_opencl_executor = {
    .name = "opencl",
    .attributes = ts__ox_attributes,
    .open = ts__ox_open,
    .close = ts__ox_close,
    .reason = ts__ox_reason,
    .allocate = ts__ox_allocate,
    .release = ts__ox_release,
    .write = ts__ox_write,
    .read = ts__ox_read,
    .load = ts__ox_load,
    .global = ts__ox_global,
    .stream = ts__ox_stream,
    .launch = ts__ox_launch,
    .copy = ts__ox_copy,
    .set = ts__ox_set,
    .wait = ts__ox_wait,
    .event = ts__ox_event,
    .event_wait = ts__ox_event_wait,
    .graph_begin = ts__ox_graph_begin,
    .graph_end = ts__ox_graph_end,
    .graph_launch = ts__ox_graph_launch,
    .hash = ts__ox_hash,
};

#endif // implementation
