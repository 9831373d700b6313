/*
    opencl_double.h - functions of OpenCL that check what they are given

    Handles must be alive and of the right kind, and nothing may be left at the
    end. What a driver would refuse is refused; what it could not know, such as
    the size of the host's memory, is left to the sanitizer.
*/
#ifndef TS_TESTS_OPENCL_DOUBLE_H
#define TS_TESTS_OPENCL_DOUBLE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static void *double_find(const char *name);
#define TS__OX_OPEN()              ((void *)"a library")
#define TS__OX_FIND(library, name) double_find(name)
#define TRACESMITH_OPENCL_EXEC_IMPLEMENTATION
#include "backends/ts_opencl_exec.h"

enum {
    MEMORY = 1,
    IMAGE,
    SAMPLER,
    PROGRAM,
    KERNEL,
    QUEUE,
    EVENT,
    CONTEXT,
    GRAPH
};
enum { BAD = -30, DOUBLE_MOST = 1 << 20 };

typedef struct object {
    struct object *next, *parent;
    int kind;
    uint32_t refs;
    size_t size, element, region[3];
    uint8_t *bytes;
    uint64_t args[4]; // of the kernel that hashes
    bool hashes;
} object;

static object *alive;
static size_t double_taken, double_alive;

static void check(bool ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static object *is(ts__ox_handle handle, int kind)
{
    const object *o = alive;
    while (o && o != handle)
        o = o->next;
    check(o != NULL, "a handle that is not alive");
    check(o->kind == kind || (kind == MEMORY && o->kind == IMAGE),
          "a handle of another kind");
    return handle;
}

static object *make(int kind, size_t size, object *parent, int32_t *error)
{
    *error = TS__OX_MEM_OBJECT_ALLOCATION_FAILURE;
    if (size > DOUBLE_MOST || double_taken + size > DOUBLE_MOST) return NULL;
    object *const o = calloc(1, sizeof *o);
    check(o != NULL, "no memory");
    o->kind = kind;
    o->refs = 1;
    o->size = size;
    o->next = alive;
    o->parent = parent;
    alive = o;
    double_alive++;
    *error = 0;
    if (parent) parent->refs++;
    if (size && !parent) o->bytes = calloc(1, size);
    if (!parent) double_taken += size;
    return o;
}

static int32_t drop(object *o)
{
    if (--o->refs) return 0;
    object **at = &alive;
    while (*at != o)
        at = &(*at)->next;
    *at = o->next;
    double_alive--;
    if (!o->parent) double_taken -= o->size;
    if (!o->parent) free(o->bytes);
    if (o->parent) drop(o->parent);
    free(o);
    return 0;
}

#define DOUBLE_RELEASE(name, kind) \
    static int32_t double_clRelease##name(ts__ox_handle handle) \
    { \
        return drop(is(handle, kind)); \
    }
DOUBLE_RELEASE(Context, CONTEXT)
DOUBLE_RELEASE(CommandQueue, QUEUE)
DOUBLE_RELEASE(MemObject, MEMORY)
DOUBLE_RELEASE(Sampler, SAMPLER)
DOUBLE_RELEASE(Program, PROGRAM)
DOUBLE_RELEASE(Kernel, KERNEL)
DOUBLE_RELEASE(Event, EVENT)

/* ---- Devices and programs ------------------------------------------------ */

static char double_device[] = "double";
static uint64_t double_overlaps; // whether a graph may run twice at once

static int32_t double_clGetPlatformIDs(uint32_t room, ts__ox_handle *platforms,
                                       uint32_t *count)
{
    check(room > 0, "no room");
    *platforms = double_device;
    *count = 1;
    return 0;
}

static int32_t double_clGetDeviceIDs(ts__ox_handle platform, uint64_t type,
                                     uint32_t room, ts__ox_handle *devices,
                                     uint32_t *count)
{
    return double_clGetPlatformIDs(room + (platform == NULL), devices, count);
}

static int32_t double_clGetDeviceInfo(ts__ox_handle device, uint32_t what,
                                      size_t room, void *value, size_t *size)
{
    const uint64_t gpu = 4, own = 0; // its memory is its own
    static const ts__ox_extension graphs = { 9 << 12, "cl_khr_command_buffer" };
    if (what == TS__OX_DEVICE_EXTENSIONS_WITH_VERSION) {
        if (size) *size = sizeof graphs;
        check(!value || room == sizeof graphs, "no room");
        if (value) memcpy(value, &graphs, sizeof graphs);
        return 0;
    }
    if (what == TS__OX_COMMAND_BUFFER_CAPABILITIES) {
        check(room == 8, "no room");
        memcpy(value, &double_overlaps, 8);
        return 0;
    }
    const void *const from = what == TS__OX_DEVICE_TYPE ? (const void *)&gpu
                             : what == TS__OX_DEVICE_HOST_UNIFIED_MEMORY
                                 ? (const void *)&own
                                 : double_device;
    const size_t has = what == TS__OX_DEVICE_TYPE                  ? 8
                       : what == TS__OX_DEVICE_HOST_UNIFIED_MEMORY ? 4
                                                                   : 7;
    check(device == double_device && room >= has, "no room");
    memcpy(value, from, has);
    return 0;
}

static ts__ox_handle double_clCreateContext(const intptr_t *properties,
                                            uint32_t count,
                                            const ts__ox_handle *devices,
                                            void (*notify)(void), void *user,
                                            int32_t *error)
{
    check(count == 1 && *devices == double_device, "no such device");
    return make(CONTEXT, 0, NULL, error);
}

static ts__ox_handle double_clCreateCommandQueue(ts__ox_handle context,
                                                 ts__ox_handle device,
                                                 uint64_t properties,
                                                 int32_t *error)
{
    check(device == double_device && !properties, "no such queue");
    return make(QUEUE, 0, is(context, CONTEXT), error);
}

static ts__ox_handle program_of(ts__ox_handle context, const void *bytes,
                                size_t size, int32_t *error)
{
    object *const o = make(PROGRAM, 0, is(context, CONTEXT), error);
    for (size_t i = 0; i < size; i++) // all of it is there
        o->element += ((const uint8_t *)bytes)[i];
    return o;
}

static ts__ox_handle double_clCreateProgramWithSource(ts__ox_handle context,
                                                      uint32_t count,
                                                      const char **texts,
                                                      const size_t *sizes,
                                                      int32_t *error)
{
    object *o = NULL;
    check(count == 1 || !sizes, "more texts than one");
    if (count == 1) return program_of(context, *texts, *sizes, error);
    for (uint32_t i = 0; i < count; i++) // all of them end
        o = strlen(texts[i]) && !o
                ? program_of(context, texts[i], strlen(texts[i]), error)
                : o;
    if (o) o->hashes = true;
    return o;
}

static ts__ox_handle double_clCreateProgramWithBinary(
    ts__ox_handle context, uint32_t count, const ts__ox_handle *devices,
    const size_t *sizes, const unsigned char **binaries, int32_t *status,
    int32_t *error)
{
    check(count == 1 && *devices == double_device, "no such device");
    object *const o = program_of(context, *binaries, *sizes, error);
    *status = o->element % 3 == 2 ? -42 : 0;
    return o;
}

static ts__ox_handle double_clCreateProgramWithIL(ts__ox_handle context,
                                                  const void *bytes,
                                                  size_t size, int32_t *error)
{
    return program_of(context, bytes, size, error);
}

static void *
double_clGetExtensionFunctionAddressForPlatform(ts__ox_handle platform,
                                                const char *name);

static int32_t double_clBuildProgram(ts__ox_handle program, uint32_t count,
                                     const ts__ox_handle *devices,
                                     const char *options, void (*notify)(void),
                                     void *user)
{
    const object *const p = is(program, PROGRAM);
    check(count == p->hashes && options, "no options");
    return !p->hashes && p->element % 4 == 3 ? -11 : 0;
}

static int32_t double_clGetProgramBuildInfo(ts__ox_handle program,
                                            ts__ox_handle device, uint32_t what,
                                            size_t room, void *value,
                                            size_t *size)
{
    static const char log[] = "it is wrong\nin several ways";
    check(is(program, PROGRAM) && device == double_device, "no such device");
    if (size) *size = sizeof log;
    if (value && room < sizeof log) return BAD;
    if (value) memcpy(value, log, sizeof log);
    return 0;
}

static ts__ox_handle double_clCreateKernel(ts__ox_handle program,
                                           const char *name, int32_t *error)
{
    object *const p = is(program, PROGRAM);
    *error = -46;
    if (!*name) return NULL;
    object *const o = make(KERNEL, 0, p, error);
    if (!o) return NULL;
    o->hashes = p->hashes;
    o->element = o->hashes ? 4 : strlen(name) % 4;
    return o;
}

static int32_t double_clGetKernelInfo(ts__ox_handle kernel, uint32_t what,
                                      size_t room, void *value, size_t *size)
{
    const uint32_t count = (uint32_t)is(kernel, KERNEL)->element;
    check(what == TS__OX_KERNEL_NUM_ARGS && room == sizeof count, "no count");
    memcpy(value, &count, sizeof count);
    return 0;
}

static int32_t double_clSetKernelArg(ts__ox_handle kernel, uint32_t index,
                                     size_t size, const void *value)
{
    object *const o = is(kernel, KERNEL);
    uint8_t sum = 0;
    check(index < o->element, "an argument that the kernel does not have");
    for (size_t i = 0; value && i < size; i++)
        sum ^= ((const uint8_t *)value)[i];
    if (o->hashes) {
        check(size == 8 && value, "an argument of another size");
        memcpy(&o->args[index], value, 8);
        return 0;
    }
    return !size || sum == 255 ? -51 : 0;
}

/* ---- Memory -------------------------------------------------------------- */

static ts__ox_handle double_clCreateBuffer(ts__ox_handle context,
                                           uint64_t flags, size_t size,
                                           void *host, int32_t *error)
{
    is(context, CONTEXT);
    check(flags == TS__OX_MEM_READ_WRITE && !host, "flags");
    *error = TS__OX_INVALID_BUFFER_SIZE;
    return size ? make(MEMORY, size, NULL, error) : NULL;
}

static ts__ox_handle double_clCreateSubBuffer(ts__ox_handle buffer,
                                              uint64_t flags, uint32_t type,
                                              const void *about, int32_t *error)
{
    object *const b = is(buffer, MEMORY);
    ts__ox_part part;
    memcpy(&part, about, sizeof part);
    check(!flags && type == TS__OX_BUFFER_CREATE_TYPE_REGION && !b->parent,
          "a part of a part");
    *error = -13;
    if (part.origin % 16 || part.origin >= b->size || !part.size ||
        part.size > b->size - part.origin)
        return NULL;
    object *const o = make(MEMORY, part.size, b, error);
    o->bytes = b->bytes + part.origin;
    return o;
}

static ts__ox_handle double_clCreateImage(ts__ox_handle context, uint64_t flags,
                                          const ts__ox_format *format,
                                          const ts__ox_desc *desc, void *host,
                                          int32_t *error)
{
    size_t region[3] = { desc->width, desc->height, desc->depth };
    check(!host && is(context, CONTEXT), "flags");
    if (desc->type == TS__OX_MEM_OBJECT_IMAGE1D_ARRAY)
        region[1] = desc->array_size;
    if (desc->type == TS__OX_MEM_OBJECT_IMAGE2D_ARRAY)
        region[2] = desc->array_size;
    object *const lies = desc->buffer ? is(desc->buffer, MEMORY) : NULL;
    const size_t element = (size_t)1 << format->type % 5;
    *error = -10;
    if (format->order % 4 == 3) return NULL;
    *error = -40;
    for (int i = 0; i < 3; i++) {
        if (!region[i]) region[i] = 1;
        if (region[i] > 512) return NULL;
    }
    const size_t size = region[0] * region[1] * region[2] * element;
    if (lies && size > lies->size) return NULL;
    object *const o = make(IMAGE, size, lies, error);
    if (!o) return NULL;
    if (lies) o->bytes = lies->bytes;
    o->element = element;
    memcpy(o->region, region, sizeof region);
    return o;
}

static int32_t double_clGetImageInfo(ts__ox_handle image, uint32_t what,
                                     size_t room, void *value, size_t *size)
{
    const object *const o = is(image, IMAGE);
    check(what == TS__OX_IMAGE_ELEMENT_SIZE && room == sizeof o->element,
          "no size");
    memcpy(value, &o->element, sizeof o->element);
    return 0;
}

static ts__ox_handle double_clCreateSampler(ts__ox_handle context,
                                            uint32_t normalized,
                                            uint32_t addressing,
                                            uint32_t filter, int32_t *error)
{
    *error = BAD;
    if (normalized + addressing + filter > 100) return NULL;
    return make(SAMPLER, 0, is(context, CONTEXT), error);
}

#include "tests/fuzz/opencl_double_commands.h"
#include "tests/fuzz/opencl_double_graphs.h"

static void *double_find(const char *wanted)
{
    void *found = NULL;
#define TS__X(type, name, params) \
    type(*const own_##name) params = double_##name; \
    if (!strcmp(wanted, #name)) memcpy(&found, &own_##name, sizeof found);
    TS__OX_CALLS(TS__X)
    TS__OX_LATER(TS__X)
#undef TS__X
    return found;
}

#endif // TS_TESTS_OPENCL_DOUBLE_H
