/*
    cuda_handles.h - tensor maps and textures of the double of CUDA's driver:
    a part of libcuda.c
*/

/* ==== 6. Tensor maps ===================================================== */

// What a driver of CUDA 13.0 refuses by its manual; elements have a byte here.
typedef struct tensor_how {
    uint64_t *map;
    uint32_t type, rank;
    const void *address;
    const uint64_t *dims, *strides;
} tensor_how;

static bool tensor_is_sane(const tensor_how *t, const uint32_t *steps,
                           const uint32_t ends[4])
{
    static const uint32_t most[4] = { 2, 6, 3, 1 };
    if (!t->map || (uintptr_t)t->map % 64 || t->type > 15 || !t->rank ||
        t->rank > 5 || !t->address || (uintptr_t)t->address % 16 || !t->dims ||
        (t->rank > 1 && !t->strides) || !steps)
        return false;
    for (uint32_t i = 0; i < t->rank; i++)
        if (!t->dims[i] || t->dims[i] > UINT64_C(1) << 32 || !steps[i] ||
            steps[i] > 8)
            return false;
    for (uint32_t i = 0; i + 1 < t->rank; i++)
        if (t->strides[i] % 16 || t->strides[i] >> 40) return false;
    for (int i = 0; i < 4; i++)
        if (ends[i] > most[i]) return false;
    return true;
}

// All that it is made of, in 128 bytes that only the double can read.
static void tensor_write(uint64_t *map, const void *address, uint64_t mix)
{
    for (uint64_t i = 0; i < 16; i++)
        map[i] = (mix + i) * UINT64_C(0xD6E8FEB86659FD93);
    map[3] = ~(uint64_t)(uintptr_t)address;
    if (getenv("DOUBLE_CUDA_TENSOR")) map[9] ^= 1;
}

static uint64_t tensor_mix(const tensor_how *t, const uint32_t *steps,
                           const uint32_t ends[4])
{
    uint64_t mix = t->type * 31 + t->rank;
    for (uint32_t i = 0; i < t->rank; i++)
        mix = mix * 131 + t->dims[i] * 7 + steps[i];
    for (uint32_t i = 0; i + 1 < t->rank; i++)
        mix = mix * 137 + t->strides[i];
    for (int i = 0; i < 4; i++)
        mix = mix * 11 + ends[i];
    return mix;
}

typedef struct tiled_parameters {
    tensor_how t;
    const uint32_t *box, *steps;
    uint32_t ends[4]; // interleave, swizzle, promotion, fill
} tiled_parameters;

static int tiled(const void *user)
{
    const tiled_parameters *const p = user;
    if (!tensor_is_sane(&p->t, p->steps, p->ends) || !p->box) return INVALID;
    uint64_t mix = tensor_mix(&p->t, p->steps, p->ends);
    for (uint32_t i = 0; i < p->t.rank; i++) {
        if (!p->box[i] || p->box[i] > 256) return INVALID;
        mix = mix * 139 + p->box[i];
    }
    if (!p->ends[0] && p->box[0] % 16) return INVALID;
    tensor_write(p->t.map, p->t.address, mix);
    return 0;
}

DRIVER(cuTensorMapEncodeTiled, uint64_t *map, uint32_t type, uint32_t rank,
       void *address, const uint64_t *dims, const uint64_t *strides,
       const uint32_t *box, const uint32_t *steps, uint32_t interleave,
       uint32_t swizzle, uint32_t promotion, uint32_t fill)
{
    const tiled_parameters p = { { map, type, rank, address, dims, strides },
                                 box,
                                 steps,
                                 { interleave, swizzle, promotion, fill } };
    TRACED(DOUBLE_QUIET, cuTensorMapEncodeTiled, tiled, ON(0));
}

typedef struct columns_parameters {
    tensor_how t;
    const int *lower, *upper;
    uint32_t channels, pixels;
    const uint32_t *steps;
    uint32_t ends[4];
} columns_parameters;

static int columns(const void *user)
{
    const columns_parameters *const p = user;
    if (!tensor_is_sane(&p->t, p->steps, p->ends) || p->t.rank < 3 ||
        !p->lower || !p->upper || p->channels > 256 || p->pixels > 1024)
        return INVALID;
    uint64_t mix = tensor_mix(&p->t, p->steps, p->ends) * 149 + p->channels;
    mix = mix * 151 + p->pixels;
    for (uint32_t i = 0; i + 2 < p->t.rank; i++)
        mix = mix * 157 + (uint32_t)(p->lower[i] * 19 + p->upper[i]);
    tensor_write(p->t.map, p->t.address, mix);
    return 0;
}

DRIVER(cuTensorMapEncodeIm2col, uint64_t *map, uint32_t type, uint32_t rank,
       void *address, const uint64_t *dims, const uint64_t *strides,
       const int *lower, const int *upper, uint32_t channels, uint32_t pixels,
       const uint32_t *steps, uint32_t interleave, uint32_t swizzle,
       uint32_t promotion, uint32_t fill)
{
    const columns_parameters p = { { map, type, rank, address, dims, strides },
                                   lower,
                                   upper,
                                   channels,
                                   pixels,
                                   steps,
                                   { interleave, swizzle, promotion, fill } };
    TRACED(DOUBLE_QUIET, cuTensorMapEncodeIm2col, columns, ON(0));
}

typedef struct wide_parameters {
    tensor_how t;
    int lower, upper;
    uint32_t channels, pixels;
    const uint32_t *steps;
    uint32_t interleave, mode, swizzle, promotion, fill;
} wide_parameters;

static int wide(const void *user)
{
    const wide_parameters *const p = user;
    const uint32_t ends[4] = { p->interleave, p->swizzle, p->promotion,
                               p->fill };
    if (!tensor_is_sane(&p->t, p->steps, ends) || p->t.rank < 3 || p->mode > 1)
        return INVALID;
    uint64_t mix = tensor_mix(&p->t, p->steps, ends) * 163 + p->channels;
    mix = mix * 167 + p->pixels;
    mix = mix * 173 + (uint32_t)(p->lower * 19 + p->upper) + p->mode;
    tensor_write(p->t.map, p->t.address, mix);
    return 0;
}

DRIVER(cuTensorMapEncodeIm2colWide, uint64_t *map, uint32_t type, uint32_t rank,
       void *address, const uint64_t *dims, const uint64_t *strides, int lower,
       int upper, uint32_t channels, uint32_t pixels, const uint32_t *steps,
       uint32_t interleave, uint32_t mode, uint32_t swizzle, uint32_t promotion,
       uint32_t fill)
{
    const wide_parameters p = { { map, type, rank, address, dims, strides },
                                lower,
                                upper,
                                channels,
                                pixels,
                                steps,
                                interleave,
                                mode,
                                swizzle,
                                promotion,
                                fill };
    TRACED(DOUBLE_QUIET, cuTensorMapEncodeIm2colWide, wide, ON(0));
}

typedef struct replace_parameters {
    uint64_t *map;
    void *address;
} replace_parameters;

static int replace(const void *user)
{
    const replace_parameters *const p = user;
    if (!p->map || (uintptr_t)p->map % 64 || !p->address ||
        (uintptr_t)p->address % 16)
        return INVALID;
    p->map[3] = ~(uint64_t)(uintptr_t)p->address;
    return 0;
}

DRIVER(cuTensorMapReplaceAddress, uint64_t *map, void *address)
{
    const replace_parameters p = { map, address };
    TRACED(DOUBLE_QUIET, cuTensorMapReplaceAddress, replace, ON(0));
}

/* ---- Textures and surfaces ---------------------------------------------- */

enum { TEXTURES = 1024 };

// By number: what it is of, 0: no object; and its context.
static uint64_t textures[TEXTURES];
static uintptr_t texture_contexts[TEXTURES];

static void drop_textures(uintptr_t context)
{
    for (size_t i = 0; i < TEXTURES; i++)
        if (texture_contexts[i] == context) textures[i] = 0;
}

typedef struct texture_parameters {
    uint64_t *handle;
    const uint64_t *resource; // 144 bytes
    const uint32_t *texture, *view;
} texture_parameters;

static uint64_t texture_base(void)
{
    const char *const base = getenv("DOUBLE_CUDA_TEXTURES");
    return base ? strtoull(base, NULL, 0) : 1;
}

// The first number that is free.
static int number_texture(uint64_t *handle, uint64_t of)
{
    for (uint64_t i = 0; i < TEXTURES; i++) {
        if (textures[i]) continue;
        textures[i] = of;
        texture_contexts[i] = here();
        *handle = texture_base() + i;
        return 0;
    }
    return NO_MEMORY;
}

// Of an array, or of memory, which is to lie well.
static int make_texture(const void *user)
{
    const texture_parameters *const p = user;
    if (!p->handle || !p->resource || !p->texture) return INVALID;
    const uint32_t type = (uint32_t)p->resource[0];
    const uint64_t of = p->resource[1];
    if (type > 3 || !of || (type > 1 && of % 512) || p->resource[17])
        return INVALID;
    if (type == 2 && !p->resource[3]) return INVALID; // its size
    return number_texture(p->handle, of);
}

DRIVER(cuTexObjectCreate, uint64_t *handle, const void *resource,
       const void *texture, const void *view)
{
    const texture_parameters p = { handle, resource, texture, view };
    TRACED(DOUBLE_QUIET, cuTexObjectCreate, make_texture, ON(0));
}

// Of an array, nothing else.
static int make_surface(const void *user)
{
    const texture_parameters *const p = user;
    if (!p->handle || !p->resource || (uint32_t)p->resource[0] ||
        !p->resource[1])
        return INVALID;
    return number_texture(p->handle, p->resource[1]);
}

DRIVER(cuSurfObjectCreate, uint64_t *handle, const void *resource)
{
    const texture_parameters p = { handle, resource, NULL, NULL };
    TRACED(DOUBLE_QUIET, cuSurfObjectCreate, make_surface, ON(0));
}

static int drop_texture(const void *user)
{
    const uint64_t at = *(const uint64_t *)user - texture_base();
    if (at >= TEXTURES || !textures[at]) return INVALID;
    textures[at] = 0;
    return 0;
}

DRIVER(cuTexObjectDestroy, uint64_t p)
{
    TRACED(DOUBLE_QUIET, cuTexObjectDestroy, drop_texture, ON(0));
}

DRIVER(cuSurfObjectDestroy, uint64_t p)
{
    TRACED(DOUBLE_QUIET, cuSurfObjectDestroy, drop_texture, ON(0));
}

// For kernels: where what a handle is of begins, 0: it is no object.
__attribute__((visibility("default"))) uint64_t double_texture(uint64_t handle);
uint64_t double_texture(uint64_t handle)
{
    const uint64_t at = handle - texture_base();
    return at < TEXTURES ? textures[at] : 0;
}
