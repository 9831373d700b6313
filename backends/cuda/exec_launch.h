/*
    cuda/exec_launch.h - streams and launches

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__CUDA_EXEC_LAUNCH_H
#define TS__CUDA_EXEC_LAUNCH_H

#include "tracesmith_replay.h"
#include "../gpu/cuda_abi.h"
#include "exec_code.h"
#include "exec_handles.h"
#include "exec_memory.h"

#include <stdlib.h>
#include <string.h>

static ts_result ts__cx_stream_make(void *state, uint32_t device,
                                    uint64_t flags, uint64_t *stream)
{
    ts__cx *const x = state;
    const uint32_t priority = flags >> 16 & 0xFFFF;
    const bool legacy = flags & TS_STREAM_LEGACY_DEFAULT;
    x->reason = TS_REASON_NONE;
    if (x->stream_count == TS__CX_STREAMS) return ts__cx_too_many(x);
    ts__cx_stream *const s = &x->streams[x->stream_count];
    ts__cx_use(x, device);
    const int error =
        x->call.stream(&s->recorded, flags & TS_STREAM_NON_BLOCKING ? 1 : 0,
                       priority ? (int)priority - 32768 : 0);
    if (error) return ts__cx_result(x, error);
    s->handle = legacy ? NULL : s->recorded;
    s->device = device;
    *stream = ++x->stream_count;
    return TS_OK;
}

static ts__cx_stream *ts__cx_stream_at(ts__cx *x, uint64_t stream)
{
    ts__cx_stream *const s =
        &x->streams[stream && stream <= x->stream_count ? stream - 1 : 0];
    ts__cx_use(x, s->device);
    return s;
}

static void *ts__cx_handle(const ts__cx *x, const ts__cx_stream *s)
{
    return x->graph ? s->recorded : s->handle;
}

static void *ts__cx_function_find(ts__cx *x, const ts_executor_launch *l,
                                  uint32_t device)
{
    const char *const name = l->name ? l->name : "";
    for (size_t i = 0; i < x->function_count; i++) {
        const ts__cx_function *const f = &x->functions[i];
        if (f->module == l->module && f->device == device &&
            !strcmp(f->name, name))
            return f->function;
    }
    void *const module = ts__cx_module_on(x, l->module, device);
    void *function = NULL;
    if (!module || x->call.function(&function, module, name) != 0) return NULL;
    char *const copy = malloc(strlen(name) + 1);
    if (!copy || x->function_count == TS__CX_FUNCTIONS) {
        free(copy);
        return function;
    }
    ts__cx_function *const f = &x->functions[x->function_count++];
    f->module = l->module;
    f->device = device;
    f->function = function;
    f->name = strcpy(copy, name);
    return function;
}

typedef struct ts__cx_how { // the attributes of a launch
    ts__cuda_attribute attributes[16];
    uint32_t count;
    uint8_t *args; // arguments with replaced handles; NULL: as recorded
} ts__cx_how;

// Allows a function more dynamic shared memory than the default. The program
// did so too, perhaps before the recording began.
static ts_result ts__cx_allow_shared(ts__cx *x, const ts_executor_launch *l,
                                     void *function)
{
    ts_attribute a;
    int32_t pair[2];
    uint64_t at = 0;
    if (l->shared <= TS_CUDA_SHARED_DEFAULT || !x->call.attribute) return TS_OK;
    while (ts_attribute_next(&l->attributes, &at, &a)) {
        if (a.id != TS_ATTRIBUTE_FUNCTION || a.size < sizeof pair) continue;
        memcpy(pair, a.bytes, sizeof pair);
        if (pair[0] == TS_CUDA_SHARED_ATTRIBUTE) return TS_OK;
    }
    return ts__cx_result(
        x,
        x->call.attribute(function, TS_CUDA_SHARED_ATTRIBUTE, (int)l->shared));
}

// Attributes that let work begin early (programmatic launch) are left out:
// operations run one after another, which satisfies their dependencies.
static ts_result ts__cx_attributes(ts__cx *x, const ts_executor_launch *l,
                                   uint32_t device, void *function,
                                   ts__cx_how *how)
{
    ts_attribute a;
    uint64_t at = 0;
    how->count = 0;
    x->reason = TS_REASON_ATTR_UNKNOWN;
    while (ts_attribute_next(&l->attributes, &at, &a)) {
        int32_t pair[2] = { TS_CUDA_LAUNCH_COOPERATIVE, 1 };
        if (a.size >= 8) memcpy(pair, a.bytes, sizeof pair);
        if (a.id == TS_ATTRIBUTE_FUNCTION && a.size >= 8) {
            if (!x->call.attribute) return TS_ERR_UNSUPPORTED;
            const int error = x->call.attribute(function, pair[0], pair[1]);
            if (error) return ts__cx_result(x, error);
            x->reason = TS_REASON_ATTR_UNKNOWN;
            continue;
        }
        if (a.id == TS_ATTRIBUTE_TENSOR_MAP || a.id == TS_ATTRIBUTE_TEXTURE) {
            const ts_result result =
                a.id == TS_ATTRIBUTE_TEXTURE
                    ? ts__cx_texture_use(x, l, device, &a, &how->args)
                    : ts__cx_tensor(x, &a);
            if (result != TS_OK) return result;
            x->reason = TS_REASON_ATTR_UNKNOWN;
            continue;
        }
        const uint32_t id = (uint32_t)pair[0];
        const bool launch = a.id == TS_ATTRIBUTE_CUDA_LAUNCH && a.size >= 72;
        if (!launch && a.id != TS_ATTRIBUTE_COOPERATIVE) continue;
        if (launch && id < 32 && TS_CUDA_LAUNCH_ORDER >> id & 1) continue;
        if (id >= 32 || !(TS_CUDA_LAUNCH_ATTRIBUTES >> id & 1) ||
            how->count == 16)
            return TS_ERR_UNSUPPORTED;
        ts__cuda_attribute *const to = &how->attributes[how->count++];
        memset(to, 0, sizeof *to);
        to->id = id;
        to->value.number = 1;
        if (launch) memcpy(to->value.bytes, (const uint8_t *)a.bytes + 8, 64);
    }
    return ts__cx_allow_shared(x, l, function);
}

// Returns whether a launch is cooperative and has no other attribute.
static bool ts__cx_is_cooperative(const ts__cx_how *how)
{
    return how->count == 1 &&
           how->attributes[0].id == TS_CUDA_LAUNCH_COOPERATIVE &&
           how->attributes[0].value.number == 1;
}

// Uses the function that takes its arguments one by one, because versions of
// HIP without hipDrvLaunchKernelEx have no other.
static ts_result ts__cx_launch_cooperative(ts__cx *x, void *on, void *function,
                                           const ts_executor_launch *l,
                                           uint8_t *args)
{
    if (!x->call.launch_cooperative || (l->args_size && !l->param_count))
        return TS_ERR_UNSUPPORTED;
    void **const each = (void **)malloc((l->param_count + 1) * sizeof *each);
    if (!each) return TS_ERR_MEMORY;
    for (uint32_t i = 0; i < l->param_count; i++)
        each[i] = args + l->params[i].offset;
    const ts_result result = ts__cx_result(
        x, x->call.launch_cooperative(function, l->grid[0], l->grid[1],
                                      l->grid[2], l->block[0], l->block[1],
                                      l->block[2], l->shared, on, each));
    free(each);
    return result;
}

static ts_result ts__cx_launch_now(ts__cx *x, void *on, void *function,
                                   const ts_executor_launch *l, ts__cx_how how)
{
    size_t size = l->args_size;
    void *args = how.args; // the parameter is not const, but is only read
    if (!args) memcpy(&args, &l->args, sizeof args);
    void *more[] = { (void *)1, args, (void *)2, &size,
                     x->is_hip ? (void *)3 : NULL };
    if (!how.count)
        return ts__cx_result(
            x, x->call.launch(function, l->grid[0], l->grid[1], l->grid[2],
                              l->block[0], l->block[1], l->block[2], l->shared,
                              on, NULL, size ? more : NULL));
    ts__cuda_launch launch = { .shared = l->shared,
                               .stream = on,
                               .attributes = how.attributes,
                               .attribute_count = how.count };
    memcpy(launch.grid, l->grid, sizeof launch.grid);
    memcpy(launch.block, l->block, sizeof launch.block);
    if (!x->call.launch_how && ts__cx_is_cooperative(&how))
        return ts__cx_launch_cooperative(x, on, function, l, (uint8_t *)args);
    if (!x->call.launch_how) return TS_ERR_UNSUPPORTED;
    return ts__cx_result(
        x, x->call.launch_how(&launch, function, NULL, size ? more : NULL));
}

static ts_result ts__cx_launch(void *state, uint64_t stream,
                               const ts_executor_launch *l)
{
    ts__cx *const x = state;
    const ts__cx_stream *const s = ts__cx_stream_at(x, stream);
    void *const function = ts__cx_function_find(x, l, s->device);
    ts__cx_how how;
    x->reason = TS_REASON_IMAGE_MISSING;
    if (!function) return TS_ERR_NOT_FOUND;
    how.args = NULL;
    ts_result result = ts__cx_attributes(x, l, s->device, function, &how);
    if (result == TS_OK)
        result = ts__cx_launch_now(x, ts__cx_handle(x, s), function, l, how);
    free(how.args);
    return result;
}

#endif // TS__CUDA_EXEC_LAUNCH_H
