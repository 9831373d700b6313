/*
    gpu/cuda_abi.h - CUDA's driver as it is called; a part of ts_cuda_exec.h and
    gpu/capture.h, private to them

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: libcuda.so.1, found at run time; libamdhip64.so, whose
                    functions of these names take the same arguments.
    Checked with:   the headers of CUDA 13.0 (tests/checks/capture/cuda_abi.c);
                    cubins of ptxas 13.0. November 2026. Not run on a GPU.

    CONTENTS                            search for "==== 2." to jump
        1. Layouts
        2. Code                         symbols and parameters of a cubin
*/
#ifndef TS__GPU_CUDA_ABI_H
#define TS__GPU_CUDA_ABI_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ==== 1. Layouts ========================================================= */

enum { // results
    TS__CUDA_OK = 0,
    TS__CUDA_NO_MEMORY = 2,
    TS__CUDA_NO_DEVICE = 100,
    TS__CUDA_NOT_READY = 600,
    TS__CUDA_NOT_SUPPORTED = 801
};

enum {
    TS__CUDA_SHARED = 48 << 10, // of a function that was allowed no more
    TS__CUDA_MOST_SHARED = 8,   // attribute of a function: what it is allowed
    TS__CUDA_CONCURRENT = 89,   // of a device: it shares managed memory
    TS__CUDA_GLOBAL = 1         // managed memory that is not of the host first
};

enum { // identifiers of launch attributes
    TS__CUDA_WINDOW = 1,
    TS__CUDA_COOPERATIVE = 2,
    TS__CUDA_EARLY = 6, // programmatic dependent launch
    TS__CUDA_EARLY_EVENT = 7,
    TS__CUDA_LAUNCHED_EVENT = 12,
    TS__CUDA_UPDATABLE = 13
};

// Launch attributes that can be given again as they were.
#define TS__CUDA_ATTRIBUTES \
    (1u << 1 | 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 8 | 1u << 9 | \
     1u << 10 | 1u << 11 | 1u << 14 | 1u << 16)
// Those that only let work begin earlier, or tell somebody of it.
#define TS__CUDA_ORDER (1u << 0 | 1u << 6 | 1u << 7 | 1u << 12)

typedef struct ts__cuda_attribute { // CUlaunchAttribute
    uint32_t id, pad;
    union {
        uint8_t bytes[64];
        uint32_t number;
        uint64_t wide;
    } value;
} ts__cuda_attribute;

typedef struct ts__cuda_launch { // CUlaunchConfig
    uint32_t grid[3], block[3], shared;
    void *stream;
    ts__cuda_attribute *attributes;
    uint32_t attribute_count;
} ts__cuda_launch;

typedef struct ts__cuda_place { // CUmemLocation
    int32_t type, id;           // 1: a device
} ts__cuda_place;

typedef struct ts__cuda_memory { // CUmemAllocationProp
    int32_t type, handles;       // 1: pinned
    ts__cuda_place place;
    void *windows;
    uint8_t flags[16]; // 8 of CUDA, of HIP as many or fewer
} ts__cuda_memory;

typedef struct ts__cuda_access { // CUmemAccessDesc
    ts__cuda_place place;
    int32_t flags; // 3: read and write
} ts__cuda_access;

enum { TS__CUDA_HOST = 1, TS__CUDA_DEVICE = 2, TS__CUDA_UNIFIED = 4 };

typedef struct ts__cuda_end { // one end of a CUDA_MEMCPY3D
    size_t x, y, z, level;
    uint32_t type, pad;
    void *host;
    uint64_t device;
    void *array, *reserved;
    size_t pitch, height;
} ts__cuda_end;

typedef struct ts__cuda_box { // CUDA_MEMCPY3D
    ts__cuda_end from, to;
    size_t width, height, depth;
} ts__cuda_box;

enum { TS__CUDA_POINTER = 1, TS__CUDA_ARRAY = 2 }; // operands of batches

typedef struct ts__cuda_operand { // CUmemcpy3DOperand
    uint32_t type, pad;
    union {
        struct {
            uint64_t address;
            size_t row, height; // 0: as what is copied has it
            ts__cuda_place place;
        } pointer;
        struct {
            void *array;
            size_t origin[3];
        } array;
    } as;
} ts__cuda_operand;

typedef struct ts__cuda_batch { // CUDA_MEMCPY3D_BATCH_OP
    ts__cuda_operand from, to;
    size_t extent[3];
    uint32_t order, flags;
} ts__cuda_batch;

enum { // how a tensor map was made; 0: nobody knows
    TS__CUDA_TILED = 1,
    TS__CUDA_COLUMNS = 2, // im2col
    TS__CUDA_WIDE = 3     // im2col of one dimension
};

// A tensor map (CUtensorMap) and what it was made of, as captures have it in
// their attribute 48. What the way in which it was made does not use is 0.
typedef struct ts__cuda_tensor {
    uint64_t bytes[16];
    uint64_t address;
    uint32_t kind, type, rank, interleave, swizzle, promotion, fill, mode;
    uint64_t dims[5], strides[5];
    uint32_t box[5], steps[5];
    int32_t lower[5], upper[5];
    uint32_t channels, pixels;
} ts__cuda_tensor;

typedef struct ts__cuda_kernel_node { // CUDA_KERNEL_NODE_PARAMS_v2
    void *function;
    uint32_t grid[3], block[3], shared;
    void **arguments, **more;
    void *kernel, *context; // kernel: where function is NULL
} ts__cuda_kernel_node;
enum { TS__CUDA_KERNEL_NODE_OLD = 56 }; // before CUDA 12: without the last two

typedef struct ts__cuda_set_node { // CUDA_MEMSET_NODE_PARAMS
    uint64_t to;
    size_t pitch;
    uint32_t value, width;
    size_t count, rows;
} ts__cuda_set_node;

typedef struct ts__cuda_any_node { // CUgraphNodeParams
    int32_t type, reserved[3];
    union {
        ts__cuda_kernel_node kernel;
        struct {
            int32_t flags, reserved;
            void *context;
            ts__cuda_box box;
        } copy;
        ts__cuda_set_node set;
        void *graph;
        uint64_t room[29];
    } as;
    uint64_t more;
} ts__cuda_any_node;

enum { // CUgraphNodeType
    TS__CUDA_NODE_KERNEL = 0,
    TS__CUDA_NODE_COPY = 1,
    TS__CUDA_NODE_SET = 2,
    TS__CUDA_NODE_HOST = 3,
    TS__CUDA_NODE_CHILD = 4,
    TS__CUDA_NODE_EMPTY = 5,
    TS__CUDA_NODE_WAIT = 6,
    TS__CUDA_NODE_RECORD = 7,
    TS__CUDA_NODE_SIGNAL = 8,
    TS__CUDA_NODE_SEMAPHORE = 9,
    TS__CUDA_NODE_ALLOC = 10,
    TS__CUDA_NODE_FREE = 11,
    TS__CUDA_NODE_MEMOP = 12,
    TS__CUDA_NODE_CONDITIONAL = 13
};

enum { TS__CUDA_LINEAR = 2, TS__CUDA_PITCH = 3 }; // types of resources

// A texture object of memory, as captures have it in their attribute 49:
// CUDA_RESOURCE_DESC, CUDA_TEXTURE_DESC, CUDA_RESOURCE_VIEW_DESC.
typedef struct ts__cuda_texture {
    uint64_t handle;
    uint64_t has_view;
    struct {
        uint32_t type, pad;
        uint64_t address; // of resources that are memory
        uint8_t more[128];
    } resource;
    uint8_t texture[104];
    uint8_t view[112];
} ts__cuda_texture;

/* ==== 2. Code ============================================================ */

// A cubin is an ELF file. All of it is input: nothing in it is believed.
typedef struct ts__cuda_code {
    const uint8_t *bytes;
    uint64_t size;
    const Elf64_Shdr *sections; // NULL: it is no such file
    uint32_t section_count;
    const Elf64_Sym *symbols;
    uint32_t symbol_count;
    const char *names; // of symbols
    uint64_t names_size;
} ts__cuda_code;

static inline bool ts__cuda_inside(const ts__cuda_code *c, uint64_t at,
                                   uint64_t size)
{
    return at <= c->size && size <= c->size - at;
}

// UINT64_MAX: further than there are addresses.
static inline uint64_t ts__cuda_end_of(uint64_t at, uint64_t size)
{
    uint64_t end;
    return __builtin_add_overflow(at, size, &end) ? UINT64_MAX : end;
}

// How long a file of which only the beginning is known says that it is.
static inline uint64_t ts__cuda_code_size(const void *bytes)
{
    Elf64_Ehdr e;
    memcpy(&e, bytes, sizeof e);
    if (memcmp(e.e_ident, ELFMAG, SELFMAG)) return 0;
    const uint64_t sections =
        ts__cuda_end_of(e.e_shoff, (uint64_t)e.e_shnum * e.e_shentsize);
    const uint64_t programs =
        ts__cuda_end_of(e.e_phoff, (uint64_t)e.e_phnum * e.e_phentsize);
    return sections > programs ? sections : programs;
}

// Finds sections and symbols of a file, which lies on a multiple of 8.
static inline bool ts__cuda_code_open(ts__cuda_code *c, const void *bytes,
                                      uint64_t size)
{
    const Elf64_Ehdr *const e = (const Elf64_Ehdr *)bytes;
    memset(c, 0, sizeof *c);
    c->bytes = (const uint8_t *)bytes;
    c->size = size;
    if (size < sizeof *e || memcmp(e->e_ident, ELFMAG, SELFMAG) ||
        e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_shoff % 8 ||
        e->e_shentsize != sizeof(Elf64_Shdr) ||
        !ts__cuda_inside(c, e->e_shoff,
                         (uint64_t)e->e_shnum * sizeof(Elf64_Shdr)))
        return false;
    c->sections = (const Elf64_Shdr *)(const void *)(c->bytes + e->e_shoff);
    c->section_count = e->e_shnum;
    for (uint32_t i = 0; i < c->section_count; i++) {
        const Elf64_Shdr *const s = &c->sections[i];
        if (s->sh_type != SHT_SYMTAB || s->sh_offset % 8 ||
            !ts__cuda_inside(c, s->sh_offset, s->sh_size) ||
            s->sh_link >= c->section_count)
            continue;
        const Elf64_Shdr *const text = &c->sections[s->sh_link];
        if (!ts__cuda_inside(c, text->sh_offset, text->sh_size) ||
            !text->sh_size || c->bytes[text->sh_offset + text->sh_size - 1])
            continue;
        c->symbols = (const Elf64_Sym *)(const void *)(c->bytes + s->sh_offset);
        c->symbol_count = (uint32_t)(s->sh_size / sizeof(Elf64_Sym));
        c->names = (const char *)c->bytes + text->sh_offset;
        c->names_size = text->sh_size;
    }
    return c->symbols != NULL;
}

// "" if there is none.
static inline const char *ts__cuda_symbol(const ts__cuda_code *c,
                                          uint64_t number)
{
    if (number >= c->symbol_count) return "";
    const uint32_t at = c->symbols[number].st_name;
    return at < c->names_size ? c->names + at : "";
}

static inline bool ts__cuda_defines(const ts__cuda_code *c, const char *name,
                                    int type)
{
    for (uint32_t i = 0; i < c->symbol_count; i++)
        if (ELF64_ST_TYPE(c->symbols[i].st_info) == type &&
            c->symbols[i].st_shndx != SHN_UNDEF &&
            !strcmp(ts__cuda_symbol(c, i), name))
            return true;
    return false;
}

static inline const char *ts__cuda_section_name(const ts__cuda_code *c,
                                                uint32_t section)
{
    const Elf64_Ehdr *const e = (const Elf64_Ehdr *)(const void *)c->bytes;
    if (section >= c->section_count || e->e_shstrndx >= c->section_count)
        return "";
    const Elf64_Shdr *const names = &c->sections[e->e_shstrndx];
    const uint64_t at = c->sections[section].sh_name;
    if (!ts__cuda_inside(c, names->sh_offset, names->sh_size) ||
        at >= names->sh_size || c->bytes[names->sh_offset + names->sh_size - 1])
        return "";
    return (const char *)c->bytes + names->sh_offset + at;
}

typedef struct ts__cuda_takes { // who receives the parameters
    void (*each)(void *user, uint32_t offset, uint32_t size);
    void *user;
    uint32_t count, last; // how many so far, and the last one's position
    uint32_t end;         // where the last one ends
    uint32_t expected; // all of them, as the file says; UINT32_MAX: it does not
} ts__cuda_takes;

// One record of .nv.info: a format (4: so many bytes follow, else the value is
// in place of their number), an attribute, that number, bytes.
static inline void ts__cuda_parameter(ts__cuda_takes *t, const uint8_t *p,
                                      uint16_t size)
{
    enum { PARAMETER = 0x17, ALL = 0x19, LARGE = 0x45 };
    uint32_t flags;
    if (p[0] != 4 && p[1] == ALL) t->expected = size;
    if (p[0] != 4 || size != 12 || (p[1] != PARAMETER && p[1] != LARGE)) return;
    // Number, position and offset are the same in both.
    const uint32_t position = (uint32_t)(p[8] | p[9] << 8);
    const uint32_t offset = (uint32_t)(p[10] | p[11] << 8);
    memcpy(&flags, p + 12, sizeof flags);
    const uint32_t bytes = p[1] == LARGE ? flags & 0xFFFF : flags >> 18;
    if (offset + bytes > t->end) t->end = offset + bytes;
    if (position > t->last) t->last = position;
    t->count++;
    t->each(t->user, offset, bytes);
}

/*
    Parameters of a kernel by its section .nv.info.NAME: attribute 0x17 for each
    (index, u16 position, u16 offset, flags with the size in the upper 14 bits),
    or 0x45 if there are more than 4 KiB of them (the same, with u16 size, u16
    flags); 0x19 has the size of all. Calls `each` for every one. False: the
    file does not tell, or tells of others than it has.

    Source: cubins of nvcc 13.0 and NVRTC 12.4; no document of the vendor's.
*/
static inline bool ts__cuda_parameters(const ts__cuda_code *c, const char *name,
                                       void (*each)(void *user, uint32_t offset,
                                                    uint32_t size),
                                       void *user)
{
    static const char prefix[] = ".nv.info.";
    for (uint32_t i = 0; i < c->section_count; i++) {
        const char *const section = ts__cuda_section_name(c, i);
        const Elf64_Shdr *const s = &c->sections[i];
        ts__cuda_takes takes = { each, user, 0, 0, 0, UINT32_MAX };
        if (strncmp(section, prefix, sizeof prefix - 1) != 0 ||
            strcmp(section + sizeof prefix - 1, name) != 0 ||
            !ts__cuda_inside(c, s->sh_offset, s->sh_size))
            continue;
        const uint8_t *p = c->bytes + s->sh_offset;
        uint64_t left = s->sh_size;
        while (left >= 4) {
            const uint16_t size = (uint16_t)(p[2] | p[3] << 8);
            const uint64_t all = p[0] == 4 ? 4 + (uint64_t)size : 4;
            if (all > left) return false;
            ts__cuda_parameter(&takes, p, size);
            p += all;
            left -= all;
        }
        const bool all = !takes.count || takes.count == takes.last + 1;
        return all &&
               (takes.expected == UINT32_MAX || takes.expected == takes.end);
    }
    return false;
}

#endif // TS__GPU_CUDA_ABI_H
