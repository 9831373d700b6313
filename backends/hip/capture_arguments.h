/*
    hip/capture_arguments.h - arguments of HIP's functions, laid out as
    CUDA's driver has them

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    CONTENTS                            search for "==== 2." to jump
        1. Launches, copies and memsets
        2. Launches in three calls
        3. Nodes of graphs
        4. All functions
*/
#ifndef TS__HIP_CAPTURE_ARGUMENTS_H
#define TS__HIP_CAPTURE_ARGUMENTS_H

#include "tracesmith.h"
#include "../gpu/cuda_abi.h"
#include "../gpu/records.h"
#include "capture_calls.h"

#include <stdlib.h>
#include <string.h>

/* ==== 1. Launches, copies and memsets ==================================== */

typedef struct ts__hs_arguments { // in the layout of CUDA's driver
    uint64_t words[9];
    void *more[5]; // for launches
    size_t more_size;
    ts__cuda_box box;
    union {
        ts__cuda_launch launch;
        ts__cuda_kernel_node kernel;
        ts__cuda_set_node set;
    } as;
} ts__hs_arguments;

// Copies at most 72 bytes and zeroes the rest.
static void ts__hs_bytes(uint64_t *words, const char *from, size_t size)
{
    memset(words, 0, 9 * sizeof *words);
    memcpy(words, from, size < 72 ? size : 72);
}

// Offsets: function 0, grid 8, block 20, arguments 32, LDS 40 (size_t or
// unsigned; the lower half is at the same place), stream 48.
static void ts__hs_launch(uint64_t *words, const char *from)
{
    uint64_t shared = 0;
    ts__hs_bytes(words, from, 32);
    memcpy(&shared, from + 40, 4);
    words[4] = shared;
    memcpy(&words[5], from + 48, 8);
    memcpy(&words[6], from + 32, 8);
}

// Converts a grid of work items to groups. Returns false if the last groups are
// not full, which no CUDA function can express.
static bool ts__hs_items(uint64_t *words)
{
    uint32_t dimensions[6];
    memcpy(dimensions, &words[1], sizeof dimensions);
    for (int i = 0; i < 3; i++) {
        const uint32_t block = dimensions[i + 3];
        if (!block || dimensions[i] % block) return false;
        dimensions[i] /= block;
    }
    memcpy(&words[1], dimensions, sizeof dimensions);
    return true;
}

// Fills one end of a box. HIP's addresses determine whether they are on the
// device or the host.
static void ts__hs_end(ts__cuda_end *end, uint64_t address, uint64_t pitch)
{
    end->type = TS__CUDA_UNIFIED;
    end->device = address;
    end->pitch = pitch;
}

// Offsets: destination 0, its pitch 8, source 16, its pitch 24, width 32,
// height 40, kind 48, stream 56.
static void ts__hs_rows(ts__hs_arguments *a, const char *from)
{
    uint64_t given[6];
    memcpy(given, from, sizeof given);
    memset(&a->box, 0, sizeof a->box);
    ts__hs_end(&a->box.to, given[0], given[1]);
    ts__hs_end(&a->box.from, given[2], given[3]);
    a->box.width = given[4];
    a->box.height = given[5];
    a->box.depth = 1;
}

typedef struct ts__hs_corner { // an end of a hipMemcpy3DParms
    uint64_t array, x, y, z;
    uint64_t address, pitch, width, height;
} ts__hs_corner;

// at: may be NULL.
static void ts__hs_box(ts__hs_arguments *a, const void *at)
{
    struct {
        ts__hs_corner from, to;
        uint64_t width, height, depth;
    } given;
    memset(&a->box, 0, sizeof a->box);
    a->box.from.type = 3; // array, unless it turns out to be none
    if (!at) return;
    memcpy(&given, at, sizeof given);
    if (given.from.array || given.to.array) return;
    const ts__hs_corner *const ends[2] = { &given.from, &given.to };
    ts__cuda_end *const to[2] = { &a->box.from, &a->box.to };
    for (int i = 0; i < 2; i++) {
        ts__hs_end(to[i], ends[i]->address, ends[i]->pitch);
        to[i]->x = ends[i]->x;
        to[i]->y = ends[i]->y;
        to[i]->z = ends[i]->z;
        to[i]->height = ends[i]->height;
    }
    a->box.width = given.width;
    a->box.height = given.height;
    a->box.depth = given.depth;
}

// Offsets: hipPitchedPtr 0 (its pitch 8, rows of a slice 24), value 32, extent
// 40, stream 64. Returns false if the slices are not contiguous.
static bool ts__hs_cube(uint64_t *words, const char *from, size_t size)
{
    uint64_t given[9] = { 0 };
    memcpy(given, from, size);
    const uint64_t rows = given[6], slices = given[7];
    words[0] = given[0];
    words[1] = given[1];
    words[2] = given[4] & UINT32_MAX;
    words[3] = given[5];
    words[4] = rows * slices;
    words[5] = given[8];
    return slices == 1 || rows == given[3];
}

// Offsets: hipPitchedPtr * 0, extent 8. The pointer is valid when the call
// returns.
static void ts__hs_volume(uint64_t *words, const char *from)
{
    const char *const at = ts__read_text(from, 0);
    ts__hs_bytes(words, from, 8);
    if (at)
        words[1] =
            ts__read64(at, 8) * ts__read64(from, 16) * ts__read64(from, 24);
}

// hipLaunchConfig_t: like CUDA's, but the size of shared memory has 8 bytes.
static void ts__hs_config(ts__hs_arguments *a, const char *from)
{
    const char *const at = ts__read_text(from, 0);
    ts__cuda_launch *const l = &a->as.launch;
    ts__hs_bytes(a->words, from, 24);
    memset(l, 0, sizeof *l);
    if (!at) return;
    memcpy(l, at, 24);
    l->shared = ts__read32(at, 24);
    l->stream = (void *)(uintptr_t)ts__read64(at, 32);
    l->attributes = (ts__cuda_attribute *)(uintptr_t)ts__read64(at, 40);
    l->attribute_count = ts__read32(at, 48);
    a->words[0] = (uintptr_t)l;
}

/* ==== 2. Launches in three calls ========================================= */

// Parts of a launch that were set by earlier calls.
typedef struct ts__hs_before {
    struct ts__hs_before *outer;
    uint32_t session;
    char how[40]; // grid 0, block 12, LDS 24, stream 32
    size_t size;
    uint8_t args[4096];
} ts__hs_before;

static TS__TLS ts__hs_before *ts__hs_said; // stack of this thread, last first

// Drops the parts after the launch, or if a session began since.
static void ts__hs_before_drop(void)
{
    ts__hs_before *const b = ts__hs_said;
    if (b) ts__hs_said = b->outer;
    free(b);
}

static void ts__hs_configured(const char *arguments, uint32_t session)
{
    ts__hs_before *const b = (ts__hs_before *)calloc(1, sizeof *b);
    while (ts__hs_said && ts__hs_said->session != session)
        ts__hs_before_drop();
    if (!b) return;
    memcpy(b->how, arguments, sizeof b->how);
    b->session = session;
    b->outer = ts__hs_said;
    ts__hs_said = b;
}

// Offsets: source 0, size 8, offset 16.
static void ts__hs_argument_set(const char *arguments)
{
    ts__hs_before *const b = ts__hs_said;
    const void *const from = ts__read_text(arguments, 0);
    const uint64_t size = ts__read64(arguments, 8);
    const uint64_t at = ts__read64(arguments, 16);
    if (!b) return;
    const bool fits = size <= sizeof b->args && at <= sizeof b->args - size;
    if (fits && from) memcpy(b->args + at, from, (size_t)size);
    if (fits && at + size > b->size) b->size = (size_t)(at + size);
    // 0: the arguments are too large, so the launch is unknown.
    if (!fits) b->session = 0;
}

// Returns false if the earlier calls were not seen.
static bool ts__hs_by_pointer(ts__hs_arguments *a, const char *from,
                              uint32_t session)
{
    ts__hs_before *const b = ts__hs_said;
    memset(a->words, 0, sizeof a->words);
    a->words[0] = ts__read64(from, 0);
    if (!b || b->session != session) return false;
    memcpy(&a->words[1], b->how, 24);
    a->words[4] = ts__read32(b->how, 24);
    a->words[5] = ts__read64(b->how, 32);
    a->more_size = b->size;
    void *const more[5] = { (void *)1, b->args, (void *)2, &a->more_size,
                            (void *)3 };
    memcpy(a->more, more, sizeof more);
    a->words[7] = (uintptr_t)a->more;
    return true;
}

/* ==== 3. Nodes of graphs ================================================= */

// Parameters of graph nodes.
// Source: hip/hip_runtime_api.h of HIP 5.2 to 6.2.
typedef struct ts__hs_kernel_node { // hipKernelNodeParams
    uint32_t block[3], unused;
    void **more;
    void *function;
    uint32_t grid[3], unused_too;
    void **arguments;
    uint32_t shared;
} ts__hs_kernel_node;

typedef struct ts__hs_set_node { // hipMemsetParams
    uint64_t to;
    uint32_t width;
    uint64_t rows, pitch;
    uint32_t value;
    uint64_t count;
} ts__hs_set_node;

static void ts__hs_kernel_of(ts__cuda_kernel_node *to, const void *given)
{
    ts__hs_kernel_node k;
    memset(to, 0, sizeof *to);
    if (!given) return;
    memcpy(&k, given, sizeof k);
    to->function = k.function;
    memcpy(to->grid, k.grid, sizeof to->grid);
    memcpy(to->block, k.block, sizeof to->block);
    to->shared = k.shared;
    to->arguments = k.arguments;
    to->more = k.more;
}

static void ts__hs_set_of(ts__cuda_set_node *to, const void *given)
{
    ts__hs_set_node s;
    memset(to, 0, sizeof *to);
    if (!given) return;
    memcpy(&s, given, sizeof s);
    to->to = s.to;
    to->pitch = s.pitch;
    to->value = s.value;
    to->width = s.width;
    to->count = s.count;
    to->rows = s.rows;
}

// Translates a node's parameters to the third argument of CUDA's functions.
static void ts__hs_node(ts__hs_arguments *a, const ts__hs_rule *rule,
                        const char *from)
{
    const size_t at = rule->like.width; // for copies
    uint64_t line[3];
    ts__hs_bytes(a->words, from, rule->size < 24 ? rule->size : 24);
    switch ((ts__hs_how)rule->how) {
    case TS__HS_NODE_LINE:
        memcpy(line, from + at, sizeof line);
        memset(&a->box, 0, sizeof a->box);
        ts__hs_end(&a->box.to, line[0], 0);
        ts__hs_end(&a->box.from, line[1], 0);
        a->box.width = line[2];
        a->box.height = a->box.depth = 1;
        a->words[2] = (uintptr_t)&a->box;
        break;
    case TS__HS_NODE_BOX:
        ts__hs_box(a, ts__read_text(from, at));
        a->words[2] = (uintptr_t)&a->box;
        break;
    case TS__HS_NODE_KERNEL:
        ts__hs_kernel_of(&a->as.kernel, ts__read_text(from, 16));
        a->words[2] = (uintptr_t)&a->as.kernel;
        break;
    case TS__HS_NODE_SET:
        ts__hs_set_of(&a->as.set, ts__read_text(from, 16));
        a->words[2] = (uintptr_t)&a->as.set;
        break;
    default: a->words[1] = UINT64_MAX; // unknown node type
    }
}

/* ==== 4. All functions =================================================== */

// Translates arguments. Returns false if CUDA has no such function. The address
// of a symbol is not resolved yet.
static bool ts__hs_translate(ts__hs_arguments *a, const ts__hs_rule *rule,
                             const char *from, uint32_t session)
{
    const uintptr_t box = (uintptr_t)&a->box;
    switch ((ts__hs_how)rule->how) {
    case TS__HS_LAUNCH: ts__hs_launch(a->words, from); return true;
    case TS__HS_ITEMS:
        ts__hs_bytes(a->words, from, rule->size);
        return ts__hs_items(a->words);
    case TS__HS_ROWS:
        ts__hs_bytes(a->words, from, 0);
        ts__hs_rows(a, from);
        a->words[0] = box;
        if (rule->like.stream_at) memcpy(&a->words[1], from + 56, 8);
        return true;
    case TS__HS_BOX:
        ts__hs_bytes(a->words, from, rule->size);
        ts__hs_box(a, ts__read_text(from, 0));
        a->words[0] = box;
        return true;
    case TS__HS_CUBE: return ts__hs_cube(a->words, from, rule->size);
    case TS__HS_VOLUME: ts__hs_volume(a->words, from); return true;
    case TS__HS_CONFIG: ts__hs_config(a, from); return true;
    case TS__HS_BEFORE: return ts__hs_by_pointer(a, from, session);
    case TS__HS_NODE_LINE:
    case TS__HS_NODE_BOX:
    case TS__HS_NODE_KERNEL:
    case TS__HS_NODE_SET:
    case TS__HS_NODE_UNKNOWN: ts__hs_node(a, rule, from); return true;
    default: ts__hs_bytes(a->words, from, rule->size); return true;
    }
}

#endif // TS__HIP_CAPTURE_ARGUMENTS_H
