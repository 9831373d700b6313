/*
    gpu/textures.h - texture and surface objects

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Knows the live objects and the memory of textures, and finds their
    handles among the arguments of a kernel. A handle is a number, and may
    be small: a value that equals a handle counts as one. Memory is not
    searched for handles, because small numbers are everywhere. The contents
    of arrays are not kept.
*/
#ifndef TS__GPU_TEXTURES_H
#define TS__GPU_TEXTURES_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "../capture/memory.h"
#include "cuda_abi.h"
#include "memory.h"
#include "modules.h"
#include "state.h"

#include <string.h>

static ts__cs_texture *ts__cs_texture_of(uint64_t handle)
{
    const size_t after = ts_capture_range_after(
        ts__cs.textures, ts__cs.texture_count, sizeof *ts__cs.textures, handle);
    ts__cs_texture *const t = after ? &ts__cs.textures[after - 1] : NULL;
    return t && t->how.handle == handle ? t : NULL;
}

static void ts__cs_texture_gone(uint64_t handle)
{
    ts__cs_texture *const t = ts__cs_texture_of(handle);
    if (!t) return;
    const size_t behind =
        (size_t)(ts__cs.textures + --ts__cs.texture_count - t);
    memmove(t, t + 1, behind * sizeof *t);
}

// Adds an object with the descriptions that made it; a surface has only the
// first.
static void ts__cs_texture_made(uint64_t handle, void *context,
                                const void *resource, const void *texture,
                                const void *view)
{
    ts__cs_texture_gone(handle); // in case its end was not seen
    ts__cs_texture *const more =
        (ts__cs_texture *)ts__cs_more(ts__cs.textures, &ts__cs.texture_capacity,
                                      ts__cs.texture_count, sizeof *more);
    if (!more) return;
    ts__cs.textures = more;
    const size_t at = ts_capture_range_after(more, ts__cs.texture_count,
                                             sizeof *more, handle);
    memmove(&more[at + 1], &more[at],
            (ts__cs.texture_count++ - at) * sizeof *more);
    memset(&more[at], 0, sizeof *more);
    more[at].context = context;
    ts__cuda_texture *const t = &more[at].how;
    t->handle = handle;
    if (resource) memcpy(&t->resource, resource, sizeof t->resource);
    if (texture) memcpy(t->texture, texture, sizeof t->texture);
    if (view) memcpy(t->view, view, sizeof t->view);
    t->has_view = view != NULL;
}

// Adds the textures whose handles are among a kernel's arguments, at multiples
// of 8 bytes. base: offset of these arguments in the operation's.
static inline void ts__cs_textures_used(ts_capture_op *op, const uint8_t *args,
                                        uint32_t size, uint32_t base)
{
    for (uint32_t at = 0; at + 8 <= size; at += 8) {
        uint64_t value;
        bool known = false;
        memcpy(&value, args + at, sizeof value);
        const ts__cs_texture *const found = ts__cs_texture_of(value);
        const ts__cuda_texture *const t = found ? &found->how : NULL;
        for (uint32_t i = 0; t && i < at; i += 8)
            known |= !memcmp(args + i, args + at, 8);
        if (!t || known) continue;
        if (t->resource.type != TS__CUDA_LINEAR &&
            t->resource.type != TS__CUDA_PITCH) {
            ts_capture_decline(op, TS_REASON_TEXTURE_BINDLESS);
            return;
        }
        ts_capture_attribute_add(op, TS_ATTRIBUTE_TEXTURE, t, sizeof *t);
        ts__cs_look_up(t->resource.address);
        ts_capture_reach(&ts__cs.memory, op, t->resource.address,
                         TS_CAPTURE_BY_ARGUMENT, base + at);
    }
}

#endif // TS__GPU_TEXTURES_H
