/*
    gpu/tensor_maps.h - the tensor maps that a program has made

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    A tensor map is 128 opaque bytes that contain an address. So the
    arguments by which each was made are remembered, and found again by its
    bytes. Beyond a bound those that were made or used longest ago are
    forgotten, and counted.
*/
#ifndef TS__GPU_TENSOR_MAPS_H
#define TS__GPU_TENSOR_MAPS_H

#include "cuda_abi.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ==== 1. Remembered maps ================================================= */

enum { TS__CS_TENSORS = 4096 }; // 1.5 MiB, allocated with the first map

typedef struct ts__cs_tensor {
    ts__cuda_tensor how;
    uint64_t seen; // order of the last operation that includes it
    uint16_t next; // next map with the same hash; positions start at 1, 0: none
    uint16_t older, newer; // list in the order of the last use
} ts__cs_tensor;

typedef struct ts__cs_tensors {
    // [0] is the list's head: its `newer` is the oldest map, its `older` the
    // latest.
    ts__cs_tensor *all;
    uint16_t *heads; // first map of each hash
    uint32_t count;
    uint64_t forgotten;
} ts__cs_tensors;

static uint32_t ts__cs_tensor_hash(const uint64_t bytes[16])
{
    uint64_t hash = 0;
    for (int i = 0; i < 16; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(hash >> 40) % TS__CS_TENSORS;
}

static void ts__cs_tensor_unlink(ts__cs_tensors *t, uint16_t at)
{
    ts__cs_tensor *const one = &t->all[at];
    t->all[one->older].newer = one->newer;
    t->all[one->newer].older = one->older;
}

static void ts__cs_tensor_latest(ts__cs_tensors *t, uint16_t at)
{
    ts__cs_tensor *const one = &t->all[at];
    one->older = t->all[0].older;
    one->newer = 0;
    t->all[one->older].newer = at;
    t->all[0].older = at;
}

static ts__cs_tensor *ts__cs_tensor_find(ts__cs_tensors *t,
                                         const uint64_t bytes[16])
{
    if (!t->count) return NULL;
    uint16_t at = t->heads[ts__cs_tensor_hash(bytes)];
    while (at && memcmp(t->all[at].how.bytes, bytes, 128))
        at = t->all[at].next;
    if (!at) return NULL;
    ts__cs_tensor_unlink(t, at);
    ts__cs_tensor_latest(t, at);
    return &t->all[at];
}

// Returns a free position; if all are used, that of the oldest map.
static uint16_t ts__cs_tensor_room(ts__cs_tensors *t)
{
    if (t->count < TS__CS_TENSORS) return (uint16_t)++t->count;
    const uint16_t at = t->all[0].newer;
    uint16_t *link = &t->heads[ts__cs_tensor_hash(t->all[at].how.bytes)];
    while (*link != at)
        link = &t->all[*link].next;
    *link = t->all[at].next;
    ts__cs_tensor_unlink(t, at);
    t->forgotten++;
    return at;
}

static void ts__cs_tensor_put(ts__cs_tensors *t, const ts__cuda_tensor *how)
{
    ts__cs_tensor *const known = ts__cs_tensor_find(t, how->bytes);
    if (known) known->how = *how;
    if (known) return;
    if (!t->all)
        t->all = (ts__cs_tensor *)calloc(TS__CS_TENSORS + 1, sizeof *t->all);
    if (!t->heads)
        t->heads = (uint16_t *)calloc(TS__CS_TENSORS, sizeof *t->heads);
    if (!t->all || !t->heads) {
        t->forgotten++;
        return;
    }
    const uint16_t at = ts__cs_tensor_room(t);
    uint16_t *const head = &t->heads[ts__cs_tensor_hash(how->bytes)];
    ts__cs_tensor *const one = &t->all[at];
    one->how = *how;
    one->seen = 0;
    one->next = *head;
    *head = at;
    ts__cs_tensor_latest(t, at);
}

// Forgets all maps when a session begins.
static void ts__cs_tensors_forget(ts__cs_tensors *t)
{
    free(t->all);
    free(t->heads);
    memset(t, 0, sizeof *t);
}

/* ==== 2. Their arguments ================================================= */

typedef struct ts__cs_tensor_call { // the first arguments of all four functions
    uint64_t *map;
    uint32_t type, rank;
    const void *address;
    const uint64_t *dims, *strides;
    union {
        struct {
            const uint32_t *box, *steps;
            uint32_t interleave, swizzle, promotion, fill;
        } tiled;
        struct {
            const int32_t *lower, *upper;
            uint32_t channels, pixels;
            const uint32_t *steps;
            uint32_t interleave, swizzle, promotion, fill;
        } columns;
        struct {
            int32_t lower, upper;
            uint32_t channels, pixels;
            const uint32_t *steps;
            uint32_t interleave, mode, swizzle, promotion, fill;
        } wide;
    } more;
} ts__cs_tensor_call;

static size_t ts__cs_tensor_call_size(uint32_t kind)
{
    const size_t start = offsetof(ts__cs_tensor_call, more);
    const ts__cs_tensor_call *const c = NULL;
    return kind == TS__CUDA_TILED     ? start + sizeof c->more.tiled
           : kind == TS__CUDA_COLUMNS ? start + sizeof c->more.columns
                                      : start + sizeof c->more.wide;
}

#define TS__CS_TENSOR_END(how, from) \
    ((how)->interleave = (from).interleave, (how)->swizzle = (from).swizzle, \
     (how)->promotion = (from).promotion, (how)->fill = (from).fill)

// Reads the arguments of a call that made a map. Each list is as long as the
// driver reads it.
static inline void ts__cs_tensor_of(uint32_t kind, const uint8_t *arguments,
                                    ts__cuda_tensor *how)
{
    ts__cs_tensor_call c;
    const uint32_t *steps;
    memset(how, 0, sizeof *how);
    memcpy(&c, arguments, ts__cs_tensor_call_size(kind));
    how->kind = kind;
    how->type = c.type;
    how->rank = c.rank > 5 ? 5 : c.rank;
    how->address = (uintptr_t)c.address;
    memcpy(how->bytes, c.map, sizeof how->bytes);
    const uint32_t corners = how->rank > 2 ? how->rank - 2 : 0;
    if (kind == TS__CUDA_TILED) {
        steps = c.more.tiled.steps;
        memcpy(how->box, c.more.tiled.box, 4 * (size_t)how->rank);
        TS__CS_TENSOR_END(how, c.more.tiled);
    } else if (kind == TS__CUDA_COLUMNS) {
        steps = c.more.columns.steps;
        memcpy(how->lower, c.more.columns.lower, 4 * (size_t)corners);
        memcpy(how->upper, c.more.columns.upper, 4 * (size_t)corners);
        how->channels = c.more.columns.channels;
        how->pixels = c.more.columns.pixels;
        TS__CS_TENSOR_END(how, c.more.columns);
    } else {
        steps = c.more.wide.steps;
        how->lower[0] = c.more.wide.lower;
        how->upper[0] = c.more.wide.upper;
        how->channels = c.more.wide.channels;
        how->pixels = c.more.wide.pixels;
        how->mode = c.more.wide.mode;
        TS__CS_TENSOR_END(how, c.more.wide);
    }
    memcpy(how->dims, c.dims, 8 * (size_t)how->rank);
    if (c.strides && how->rank)
        memcpy(how->strides, c.strides, 8 * (size_t)(how->rank - 1));
    memcpy(how->steps, steps, 4 * (size_t)how->rank);
}

#undef TS__CS_TENSOR_END

#endif // TS__GPU_TENSOR_MAPS_H
