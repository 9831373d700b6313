/*
    opencl/capture_kernels.h - captures code and launches

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Code is a program's source with the options of its build, its SPIR-V, or
    the binary for the device: where the source includes files, or there is
    none (a linked program, or one made from a binary). For a binary that
    the process itself got from a program with a source it is that source.
*/
#ifndef TS__OPENCL_CAPTURE_KERNELS_H
#define TS__OPENCL_CAPTURE_KERNELS_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "abi.h"
#include "calls.h"
#include "capture.h"
#include "capture_objects.h"
#include "capture_state.h"
#include "kernels.h"
#include "objects.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== 1. Captures: code ================================================== */

typedef struct ts__cl_program {
    uint32_t form;
    uint8_t *bytes; // the caller frees it
    size_t size;
    const char *options; // NULL: the options of the program's build
} ts__cl_program;

// The source that a binary was compiled from; never freed.
typedef struct ts__cl_source {
    struct ts__cl_source *next;
    uint64_t hash[2]; // hash of the binary
    ts__cl_program code;
} ts__cl_source;
// A lock-free stack, entries are never changed.
static ts__cl_source *ts__cl_sources;

// Returns text of a program with a terminating zero; NULL: none.
static uint8_t *ts__cl_program_text(ts__cl_handle program, uint32_t what,
                                    size_t *size)
{
    *size = 0;
    if (ts__cl.next.clGetProgramInfo(program, what, 0, NULL, size) || !*size)
        return NULL;
    uint8_t *const text = (uint8_t *)calloc(1, *size + 1);
    if (text && !ts__cl.next.clGetProgramInfo(program, what, *size, text, NULL))
        return text;
    free(text);
    return NULL;
}

// Returns whether the source includes other files, which would be needed too.
static bool ts__cl_includes(const uint8_t *text)
{
    for (const char *at = (const char *)text; (at = strchr(at, '#')) != NULL;) {
        at += 1 + strspn(at + 1, " \t\\\r\n");
        if (!strncmp(at, "include", 7)) return true;
    }
    return false;
}

// Gets the binary for one device.
static bool ts__cl_program_binary(ts__cl_handle program, ts__cl_handle device,
                                  ts__cl_program *p)
{
    size_t size = 0, at = 0;
    size_t sizes[64] = { 0 };
    ts__cl_handle devices[64] = { NULL };
    unsigned char *binaries[64] = { NULL };
    if (ts__cl.next.clGetProgramInfo(program, TS__CL_PROGRAM_DEVICES,
                                     sizeof devices, devices, &size) ||
        ts__cl.next.clGetProgramInfo(program, TS__CL_PROGRAM_BINARY_SIZES,
                                     sizeof sizes, sizes, NULL))
        return false;
    const size_t count = size / sizeof *devices;
    while (at < count && devices[at] != device)
        at++;
    if (at >= count || !sizes[at]) return false;
    p->form = TS_CAPTURE_DEVICE_BINARY;
    p->size = sizes[at];
    p->bytes = (uint8_t *)malloc(p->size);
    binaries[at] = p->bytes;
    return p->bytes && !ts__cl.next.clGetProgramInfo(
                           program, TS__CL_PROGRAM_BINARIES,
                           count * sizeof *binaries, binaries, NULL);
}

static bool ts__cl_program_source(ts__cl_handle program, ts__cl_program *p)
{
    const ts__cl_source *const from =
        (const ts__cl_source *)ts__cl_find(TS__CL_BINARY, program);
    if (!from || (p->bytes = (uint8_t *)malloc(from->code.size)) == NULL)
        return false;
    p->form = from->code.form;
    p->size = from->code.size;
    p->options = from->code.options;
    memcpy(p->bytes, from->code.bytes, p->size);
    return true;
}

static bool ts__cl_program_read(ts__cl_handle program, ts__cl_handle device,
                                ts__cl_program *p)
{
    size_t size = 0;
    memset(p, 0, sizeof *p);
    uint8_t *const text =
        ts__cl_program_text(program, TS__CL_PROGRAM_SOURCE, &size);
    if (text && *text && !ts__cl_includes(text)) {
        p->form = TS_CAPTURE_OPENCL_C;
        p->bytes = text;
        p->size = strlen((const char *)text);
        return true;
    }
    free(text);
    p->bytes = ts__cl_find(TS__CL_PROGRAM, program)
                   ? NULL
                   : ts__cl_program_text(program, TS__CL_PROGRAM_IL, &p->size);
    p->form = TS_CAPTURE_SPIRV;
    return p->bytes || ts__cl_program_source(program, p) ||
           ts__cl_program_binary(program, device, p);
}

static char *ts__cl_program_options(ts__cl_handle program, ts__cl_handle device)
{
    size_t size = 0;
    ts__cl.next.clGetProgramBuildInfo(
        program, device, TS__CL_PROGRAM_BUILD_OPTIONS, 0, NULL, &size);
    char *const text = (char *)calloc(1, size + 1);
    if (text && size)
        ts__cl.next.clGetProgramBuildInfo(
            program, device, TS__CL_PROGRAM_BUILD_OPTIONS, size, text, NULL);
    return text;
}

static const ts__cl_source *ts__cl_source_find(const void *bytes, size_t size)
{
    uint64_t hash[2];
    // acquire: pairs with the release in ts__cl_source_add
    const ts__cl_source *s = __atomic_load_n(&ts__cl_sources, __ATOMIC_ACQUIRE);
    if (!s || !bytes || !size) return NULL;
    ts_blob_find(bytes, size, hash);
    while (s && memcmp(s->hash, hash, sizeof hash) != 0)
        s = s->next;
    return s;
}

static void ts__cl_source_add(ts__cl_handle program, ts__cl_handle device,
                              const void *binary, size_t size)
{
    ts__cl_source *const s = (ts__cl_source *)calloc(1, sizeof *s);
    if (s && ts__cl_program_read(program, device, &s->code) &&
        s->code.form != TS_CAPTURE_DEVICE_BINARY &&
        (s->code.options = ts__cl_program_options(program, device)) != NULL) {
        ts_blob_find(binary, size, s->hash);
        s->next = __atomic_load_n(&ts__cl_sources, __ATOMIC_RELAXED);
        // release: pairs with the acquire in ts__cl_source_find
        while (!__atomic_compare_exchange_n(&ts__cl_sources, &s->next, s, false,
                                            __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            continue;
        return;
    }
    if (s) free(s->code.bytes);
    free(s);
}

// A program that reads a binary may create another program from it, which has
// no source; so the binary's source is remembered.
static int32_t ts__cl_clGetProgramInfo(ts__cl_handle program, uint32_t what,
                                       size_t room, void *value, size_t *size)
{
    const int32_t result =
        ts__cl.next.clGetProgramInfo(program, what, room, value, size);
    ts__cl_handle devices[64] = { NULL };
    size_t sizes[64] = { 0 }, used = 0;
    if (result != TS__CL_SUCCESS || what != TS__CL_PROGRAM_BINARIES || !value ||
        !ts__cl_on() ||
        ts__cl.next.clGetProgramInfo(program, TS__CL_PROGRAM_DEVICES,
                                     sizeof devices, devices, &used) ||
        ts__cl.next.clGetProgramInfo(program, TS__CL_PROGRAM_BINARY_SIZES,
                                     sizeof sizes, sizes, NULL))
        return result;
    unsigned char *const *const binaries = (unsigned char *const *)value;
    for (size_t i = 0; i < used / sizeof *devices && i < room / sizeof value;
         i++)
        if (binaries[i] && sizes[i] &&
            !ts__cl_source_find(binaries[i], sizes[i]))
            ts__cl_source_add(program, devices[i], binaries[i], sizes[i]);
    return result;
}

// A program was created. Its handle may have belonged to a destroyed one that
// was specialised, or whose binary came from a known source.
static void ts__cl_program_new(ts__cl_handle made)
{
    static const ts__cl_kind kinds[] = { TS__CL_PROGRAM, TS__CL_BINARY };
    for (int i = 0; i < 2; i++) {
        ts__cl_entry *const e = ts__cl_entry_find(kinds[i], made);
        if (e) ts__cl_set(e, NULL);
    }
}

static void ts__cl_binary_new(ts__cl_handle made, uint32_t count,
                              const size_t *sizes,
                              const unsigned char **binaries)
{
    const ts__cl_source *source = NULL;
    for (uint32_t i = 0; i < count && !source; i++)
        source = ts__cl_source_find(binaries[i], sizes[i]);
    ts__cl_program_new(made);
    ts__cl_entry *const e =
        source ? ts__cl_entry_make(TS__CL_BINARY, made) : NULL;
    if (e) ts__cl_set(e, (void *)(uintptr_t)source);
}

// Stores code in the trace and returns its number, 0: failed. Kernels of one
// program, and equal programs, share it.
static uint32_t ts__cl_code_put(const ts__cl_program *p, const char *options)
{
    ts__cl_code one = { { 0, 0 }, p->form, ts_name_define(options), 0 };
    static const char *const ends[] = { "", "cl", "spv", "bin" };
    char path[64];
    ts_blob_find(p->bytes, p->size, one.hash);
    for (size_t i = 0; i < ts__cl_cap.code_count; i++) {
        const ts__cl_code *const c = &ts__cl_cap.codes[i];
        if (!memcmp(c->hash, one.hash, sizeof one.hash) &&
            c->form == one.form && c->options == one.options)
            return c->image;
    }
    snprintf(path, sizeof path, "program-%zu.%s", ts__cl_cap.code_count + 1,
             ends[p->form]);
    ts_capture_code code;
    memset(&code, 0, sizeof code);
    code.vendor = ts__cl_vendor.name;
    code.path = path;
    code.bytes = p->bytes;
    code.size = p->size;
    code.form = p->form;
    code.options = options;
    one.image = ts_capture_image_add(&code);
    if (ts__cl_cap.code_count == ts__cl_cap.code_room) {
        const size_t room = ts__cl_cap.code_room * 2 + 16;
        ts__cl_code *const more =
            (ts__cl_code *)realloc(ts__cl_cap.codes, room * sizeof *more);
        if (!more) return one.image;
        ts__cl_cap.codes = more;
        ts__cl_cap.code_room = room;
    }
    if (one.image) ts__cl_cap.codes[ts__cl_cap.code_count++] = one;
    if (one.image && p->form == TS_CAPTURE_DEVICE_BINARY)
        ts_metadata_int(0, "opencl.device_binaries",
                        (int64_t)++ts__cl_cap.binaries);
    return one.image;
}

// Stores the code of a kernel once per capture and device.
static ts_reason ts__cl_kernel_code(ts__cl_kernel *k, ts__cl_handle device)
{
    ts__cl_program p;
    size_t variables = 0;
    if (k->capture == ts__cl_cap.memory.capture && k->image_device == device)
        return k->image ? TS_REASON_NONE : k->image_reason;
    k->capture = ts__cl_cap.memory.capture;
    k->image_device = device;
    k->image = 0;
    k->image_reason = TS_REASON_IMAGE_MISSING;
    // Variables of a program cannot be read by the host.
    ts__cl.next.clGetProgramBuildInfo(
        k->program, device, TS__CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE,
        sizeof variables, &variables, NULL);
    if (variables) k->image_reason = TS_REASON_MEMORY_MISSING;
    char *const options = ts__cl_program_options(k->program, device);
    if (ts__cl_program_read(k->program, device, &p) && options && !variables)
        k->image = ts__cl_code_put(&p, p.options ? p.options : options);
    free(p.bytes);
    free(options);
    return k->image ? TS_REASON_NONE : k->image_reason;
}

/* ==== 2. Captures: kernels =============================================== */

static bool ts__cl_seen_bytes(ts__cl_seen *seen, ts_capture_param_type type,
                              const void *bytes, uint32_t size)
{
    ts_capture_operation *const h = &seen->op.head;
    const uint32_t at = (h->args_size + 7) & ~7u;
    if ((uint64_t)at + size > seen->arg_room) {
        const size_t room = (size_t)at * 2 + size + 256;
        uint8_t *const more = (uint8_t *)realloc(seen->args, room);
        if (!more) return false;
        seen->args = more;
        seen->arg_room = room;
    }
    memset(seen->args + h->args_size, 0, at - h->args_size);
    memcpy(seen->args + at, bytes, size);
    ts_capture_param_add(&seen->op, at, size, type);
    h->args_size = at + size;
    return true;
}

static ts_reason ts__cl_seen_value(ts__cl_seen *seen,
                                   ts_capture_param_type type, uint64_t value)
{
    return ts__cl_seen_bytes(seen, type, &value, sizeof value)
               ? TS_REASON_NONE
               : TS_REASON_NO_MEMORY;
}

static ts_reason ts__cl_seen_sampler(ts__cl_seen *seen, ts__cl_handle handle,
                                     uint32_t number)
{
    ts_capture_sampler s = { number, 0, 0, 0 };
    ts__cl.next.clGetSamplerInfo(handle, TS__CL_SAMPLER_NORMALIZED_COORDS,
                                 sizeof s.normalized, &s.normalized, NULL);
    ts__cl.next.clGetSamplerInfo(handle, TS__CL_SAMPLER_ADDRESSING_MODE,
                                 sizeof s.addressing, &s.addressing, NULL);
    ts__cl.next.clGetSamplerInfo(handle, TS__CL_SAMPLER_FILTER_MODE,
                                 sizeof s.filter, &s.filter, NULL);
    ts_capture_attribute_add(&seen->op, TS_ATTRIBUTE_SAMPLER, &s, sizeof s);
    return ts__cl_seen_value(seen, TS_PARAM_SAMPLER, number);
}

static ts_reason ts__cl_seen_memory(ts__cl_call *call, ts__cl_handle handle)
{
    const ts__cl_object *o;
    const ts_reason reason = ts__cl_object_add(call, handle, &o);
    if (reason) return reason;
    if (!o->about.width)
        return ts__cl_seen_value(call->seen, TS_PARAM_POINTER, o->at);
    ts_capture_attribute_add(&call->seen->op, TS_ATTRIBUTE_IMAGE, &o->about,
                             sizeof o->about);
    return ts__cl_seen_value(call->seen, TS_PARAM_OBJECT, o->at);
}

// The compiler reports the kinds of arguments if the program was built with
// -cl-kernel-arg-info. Otherwise an argument is recognized by its value: 8
// bytes that are a known handle.
static ts_reason ts__cl_seen_argument(ts__cl_call *call,
                                      const ts__cl_argument *a,
                                      uint32_t *samplers)
{
    ts__cl_handle const handle = (ts__cl_handle)(uintptr_t)a->value;
    const bool memory = a->where == TS__CL_KERNEL_ARG_ADDRESS_GLOBAL ||
                        a->where == TS__CL_KERNEL_ARG_ADDRESS_CONSTANT;
    if (a->pointer) return TS_REASON_UVM;
    if (!a->size) return TS_REASON_ATTACHED_LATE;
    if (a->local && memory)
        return ts__cl_seen_value(call->seen, TS_PARAM_POINTER, 0);
    if (a->local)
        return ts__cl_seen_value(call->seen, TS_PARAM_LOCAL, a->local);
    if (a->size == sizeof a->value && a->value) {
        if (memory || ts__cl_find(TS__CL_MEMORY, handle))
            return ts__cl_seen_memory(call, handle);
        if (ts__cl_find(TS__CL_SAMPLER, handle))
            return ts__cl_seen_sampler(call->seen, handle, (*samplers)++);
    }
    if (memory) return ts__cl_seen_value(call->seen, TS_PARAM_POINTER, 0);
    if (a->size > sizeof a->value && !a->bytes) return TS_REASON_NO_MEMORY;
    return ts__cl_seen_bytes(call->seen, TS_PARAM_UNKNOWN,
                             a->bytes ? a->bytes : (const void *)&a->value,
                             a->size)
               ? TS_REASON_NONE
               : TS_REASON_NO_MEMORY;
}

static ts_reason ts__cl_seen_arguments(ts__cl_call *call,
                                       const ts__cl_kernel *k)
{
    ts_capture_op *const op = &call->seen->op;
    uint32_t samplers = 0;
    ts_reason reason = TS_REASON_NONE;
    if (k->svm) return TS_REASON_UVM;
    for (uint32_t i = 0; i < k->argument_count && !reason; i++)
        reason = ts__cl_seen_argument(call, &k->arguments[i], &samplers);
    op->args = call->seen->args;
    return reason;
}

// Grid sizes in work-items are always stored; dimensions that were not used are
// 0.
static void ts__cl_seen_range(ts__cl_seen *seen, uint32_t dimensions,
                              const size_t *offset, const size_t *global,
                              const size_t *local)
{
    uint64_t sizes[3] = { 0, 0, 0 }, offsets[3] = { 0, 0, 0 };
    uint32_t shown = 1; // number of dimensions with sizes and offsets
    for (uint32_t i = 0; i < 3; i++) {
        const bool used = i < dimensions;
        const uint64_t block = !local ? 0 : used ? local[i] : 1;
        const uint64_t items = used ? global[i] : 1;
        sizes[i] = used ? global[i] : 0;
        offsets[i] = used && offset ? offset[i] : 0;
        if (sizes[i] > 1 || offsets[i]) shown = i + 1;
        seen->op.head.block[i] = (uint32_t)block;
        seen->op.head.grid[i] =
            (uint32_t)(block ? (items + block - 1) / block : items);
    }
    ts_capture_attribute_add(&seen->op, TS_ATTRIBUTE_GLOBAL_SIZE, sizes,
                             sizeof sizes);
    if (offsets[0] | offsets[1] | offsets[2])
        ts_capture_attribute_add(&seen->op, TS_ATTRIBUTE_GLOBAL_OFFSET, offsets,
                                 sizeof offsets);
    if (shown != dimensions)
        ts_capture_attribute_add(&seen->op, TS_ATTRIBUTE_DIMENSIONS,
                                 &dimensions, sizeof dimensions);
}

// Marks all memory that a kernel's arguments reach, because an uncaptured
// kernel may write it.
static void ts__cl_kernel_touch(const ts__cl_kernel *k)
{
    for (uint32_t i = 0; k && i < k->argument_count; i++) {
        const ts__cl_argument *const a = &k->arguments[i];
        ts__cl_handle const handle = (ts__cl_handle)(uintptr_t)a->value;
        if (a->size == sizeof a->value && handle && !a->pointer)
            ts__cl_object_touch(handle);
    }
}

static void ts__cl_seen_kernel(ts__cl_call *call, ts__cl_handle kernel,
                               uint32_t dimensions, const size_t *offset,
                               const size_t *global, const size_t *local)
{
    ts__cl_seen *const seen = call->seen;
    if (!seen) return;
    ts__cl_kernel *const k = ts__cl_kernel_get(kernel);
    if (!ts__cl_seen_exclusive(call, k ? k->name : NULL)) return;
    if (!k || !k->name || !global || !dimensions || dimensions > 3 ||
        !ts__cl_seen_requested(call, k->name)) {
        ts__cl_kernel_touch(k);
        ts__cl_exclusive_pass(seen);
        return;
    }
    pthread_mutex_lock(&k->lock);
    if (!k->modes) ts__cl_kernel_modes(k);
    pthread_mutex_unlock(&k->lock);
    ts__cl_seen_range(seen, dimensions, offset, global, local);
    ts_reason reason = ts__cl_seen_arguments(call, k);
    if (!reason) reason = ts__cl_kernel_code(k, call->queue->device->handle);
    seen->op.head.image = reason ? 0 : k->image;
    for (uint32_t i = 0; i < k->argument_count; i++)
        seen->op.head.shared += k->arguments[i].local;
    if (reason) ts_capture_decline(&seen->op, reason);
    ts__cl_seen_begin(call);
}

#endif // TS__OPENCL_CAPTURE_KERNELS_H
