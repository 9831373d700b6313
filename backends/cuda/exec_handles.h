/*
    cuda/exec_handles.h - tensor maps and textures in the arguments of
    kernels

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    The bytes of a tensor map are valid as they are if its memory lies at
    the recorded address; that the driver means the same by them is checked
    by creating the map again. Textures are created again and must get their
    recorded handles; where that fails, a handle that is a large number is
    replaced in the arguments.
*/
#ifndef TS__CUDA_EXEC_HANDLES_H
#define TS__CUDA_EXEC_HANDLES_H

#include "tracesmith_replay.h"
#include "../gpu/cuda_abi.h"
#include "exec_memory.h"

#include <stdlib.h>
#include <string.h>

// Returns whether recorded memory is at another address now.
static bool ts__cx_is_moved(const ts__cx *x, uint64_t address)
{
    for (size_t i = 0; i < x->other_count; i++)
        if (address - x->others[i].requested < x->others[i].size) return true;
    return false;
}

static int ts__cx_tensor_make(const ts__cx *x, const ts__cuda_tensor *t,
                              void *map)
{
    const ts__cx_calls *const c = &x->call;
    void *const address = (void *)(uintptr_t)t->address;
    if (t->kind == TS__CUDA_TILED)
        return !c->tiled ? TS__CUDA_NOT_SUPPORTED
                         : c->tiled(map, t->type, t->rank, address, t->dims,
                                    t->strides, t->box, t->steps, t->interleave,
                                    t->swizzle, t->promotion, t->fill);
    if (t->kind == TS__CUDA_COLUMNS)
        return !c->columns
                   ? TS__CUDA_NOT_SUPPORTED
                   : c->columns(map, t->type, t->rank, address, t->dims,
                                t->strides, t->lower, t->upper, t->channels,
                                t->pixels, t->steps, t->interleave, t->swizzle,
                                t->promotion, t->fill);
    return !c->wide ? TS__CUDA_NOT_SUPPORTED
                    : c->wide(map, t->type, t->rank, address, t->dims,
                              t->strides, t->lower[0], t->upper[0], t->channels,
                              t->pixels, t->steps, t->interleave, t->mode,
                              t->swizzle, t->promotion, t->fill);
}

// Checks a map. Bits that the driver does not write keep their values.
static ts_result ts__cx_tensor(ts__cx *x, const ts_attribute *a)
{
    ts__cuda_tensor t;
    _Alignas(128) uint64_t again[16];
    if (a->size < sizeof t) return TS_ERR_CORRUPT;
    memcpy(&t, a->bytes, sizeof t);
    if (t.kind > TS__CUDA_WIDE || t.rank > 5) return TS_ERR_CORRUPT;
    x->reason = TS_REASON_VA_UNAVAILABLE;
    if (ts__cx_is_moved(x, t.address)) return TS_ERR_UNSUPPORTED;
    if (!t.kind) return TS_OK;
    memcpy(again, t.bytes, sizeof again);
    x->reason = TS_REASON_DRIVER_MISMATCH;
    return ts__cx_tensor_make(x, &t, again) == TS__CUDA_OK &&
                   !memcmp(again, t.bytes, sizeof again)
               ? TS_OK
               : TS_ERR_UNSUPPORTED;
}

// Creates a texture over memory, if possible with its recorded handle. Drivers
// number their objects, so several are created until that number is assigned.
// The others are destroyed at once.
static int ts__cx_texture_make(const ts__cx *x, const ts__cuda_texture *t,
                               uint64_t *handle)
{
    uint64_t others[TS__CX_TEXTURE_TRIES];
    size_t count = 0;
    int error = 0;
    while (!error && count < TS__CX_TEXTURE_TRIES) {
        error = x->call.texture(&others[count], &t->resource, t->texture,
                                t->has_view ? t->view : NULL);
        if (error) break;
        if (others[count++] == t->handle) break;
    }
    if (!count) return error;
    *handle = others[--count];
    while (count)
        x->call.texture_gone(others[--count]);
    return 0;
}

static ts_result ts__cx_texture_find(ts__cx *x, const ts__cuda_texture *t,
                                     uint32_t device, uint64_t *handle)
{
    for (size_t i = 0; i < x->texture_count; i++) {
        const ts__cx_texture *const known = &x->textures[i];
        *handle = known->handle;
        if (known->device == device && !memcmp(&known->recorded, t, sizeof *t))
            return TS_OK;
    }
    if (x->texture_count == x->texture_capacity) {
        const size_t capacity = x->texture_capacity * 2 + 16;
        ts__cx_texture *const more =
            realloc(x->textures, capacity * sizeof *more);
        if (!more) return TS_ERR_MEMORY;
        x->textures = more;
        x->texture_capacity = capacity;
    }
    ts__cx_use(x, device);
    const int error = ts__cx_texture_make(x, t, handle);
    if (error) return ts__cx_result(x, error);
    x->textures[x->texture_count++] = (ts__cx_texture){ *t, *handle, device };
    return TS_OK;
}

// Replaces the recorded handle by ours in each parameter that equals it. A
// small number is not replaced, because it may be something else, such as a
// count.
static bool ts__cx_texture_replace(const ts_executor_launch *l, uint8_t *args,
                                   uint64_t recorded, uint64_t ours)
{
    uint32_t places = 0, replaced = 0;
    for (uint32_t at = 0; at + 8 <= l->args_size; at += 8)
        places += !memcmp((const uint8_t *)l->args + at, &recorded, 8);
    for (uint32_t i = 0; i < l->param_count; i++) {
        const ts_capture_param *const p = &l->params[i];
        if (p->size != 8 || p->offset % 8 || p->offset + 8 > l->args_size ||
            memcmp((const uint8_t *)l->args + p->offset, &recorded, 8))
            continue;
        memcpy(args + p->offset, &ours, 8);
        replaced++;
    }
    return recorded >> 20 && places && replaced == places;
}

// *args: a copy of the launch's arguments, made when it is first needed.
static ts_result ts__cx_texture_use(ts__cx *x, const ts_executor_launch *l,
                                    uint32_t device, const ts_attribute *a,
                                    uint8_t **args)
{
    ts__cuda_texture t;
    uint64_t handle = 0;
    if (a->size < sizeof t) return TS_ERR_CORRUPT;
    memcpy(&t, a->bytes, sizeof t);
    if (t.resource.type != TS__CUDA_LINEAR && t.resource.type != TS__CUDA_PITCH)
        return TS_ERR_CORRUPT;
    x->reason = TS_REASON_VA_UNAVAILABLE;
    if (ts__cx_is_moved(x, t.resource.address)) return TS_ERR_UNSUPPORTED;
    x->reason = TS_REASON_TEXTURE_BINDLESS;
    if (!x->call.texture || !x->call.texture_gone) return TS_ERR_UNSUPPORTED;
    const ts_result result = ts__cx_texture_find(x, &t, device, &handle);
    if (result != TS_OK || handle == t.handle) return result;
    if (!*args) {
        *args = malloc((size_t)l->args_size + 8);
        if (!*args) return TS_ERR_MEMORY;
        if (l->args_size) memcpy(*args, l->args, l->args_size);
    }
    x->reason = TS_REASON_TEXTURE_BINDLESS;
    return ts__cx_texture_replace(l, *args, t.handle, handle)
               ? TS_OK
               : TS_ERR_UNSUPPORTED;
}

#endif // TS__CUDA_EXEC_HANDLES_H
