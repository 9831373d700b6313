/*
    ts_cuda_code.h - reads cubins, the code of CUDA's kernels

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: none.
    Checked with:   cubins of ptxas 13.0, nvcc 13.0 and NVRTC 12.4, November
                    2026; symbols also of AMD's code objects.

    WHAT IT DOES
        Finds symbols, sections and the parameters of kernels in the code that
        captures put into a trace (TS_CAPTURE_CUBIN). Names the attributes of
        launches that captures keep.

    WHAT IT DOES NOT DO
        It decodes no instructions, and opens no files. It trusts nothing in its
        input.

    CONTENTS                            search for "==== 2." to jump
        1. Launches
        2. Code
*/
#ifndef TS_CUDA_CODE_H
#define TS_CUDA_CODE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ==== 1. Launches ======================================================== */

enum {
    // bytes of dynamic shared memory that every function may use
    TS_CUDA_SHARED_DEFAULT = 48 << 10,
    // the function attribute that permits more (CUfunction_attribute)
    TS_CUDA_SHARED_ATTRIBUTE = 8,
    TS_CUDA_LAUNCH_COOPERATIVE = 2 // a CUlaunchAttributeID
};

// Launch attributes that can be set again as recorded.
#define TS_CUDA_LAUNCH_ATTRIBUTES \
    (1u << 1 | 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 8 | 1u << 9 | \
     1u << 10 | 1u << 11 | 1u << 14 | 1u << 16)
// Launch attributes that only let work begin earlier or record an event.
#define TS_CUDA_LAUNCH_ORDER (1u << 0 | 1u << 6 | 1u << 7 | 1u << 12)

/* ==== 2. Code ============================================================ */

// An open cubin. Every offset in it is checked before it is used.
typedef struct ts_cuda_code {
    const uint8_t *bytes;
    uint64_t size;
    const Elf64_Shdr *sections; // NULL: not a valid file
    uint32_t section_count;
    const Elf64_Sym *symbols;
    uint32_t symbol_count;
    const char *names; // names of symbols
    uint64_t names_size;
} ts_cuda_code;

static inline bool ts__cuda_inside(const ts_cuda_code *c, uint64_t at,
                                   uint64_t size)
{
    return at <= c->size && size <= c->size - at;
}

// Returns UINT64_MAX on overflow.
static inline uint64_t ts__cuda_end_of(uint64_t at, uint64_t size)
{
    uint64_t end;
    return __builtin_add_overflow(at, size, &end) ? UINT64_MAX : end;
}

/*
    The size in bytes of a cubin, by its header, which lies at `bytes`; 0: it is
    no ELF file. The file may be shorter than it says.
*/
static inline uint64_t ts_cuda_code_size(const void *bytes)
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

/*
    Opens a cubin of `size` bytes, at a multiple of 8: finds its sections and
    symbols. False: it is none, or has no symbols; then *c has no symbols.

    Lifetime: *c refers to the bytes, and there is nothing to close.
*/
static inline bool ts_cuda_code_open(ts_cuda_code *c, const void *bytes,
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

// Returns the name of a symbol by its number; "": none.
static inline const char *ts_cuda_code_symbol(const ts_cuda_code *c,
                                              uint64_t number)
{
    if (number >= c->symbol_count) return "";
    const uint32_t at = c->symbols[number].st_name;
    return at < c->names_size ? c->names + at : "";
}

// Returns whether it defines a symbol of this name and type (STT_...).
static inline bool ts_cuda_code_defines(const ts_cuda_code *c, const char *name,
                                        int type)
{
    for (uint32_t i = 0; i < c->symbol_count; i++)
        if (ELF64_ST_TYPE(c->symbols[i].st_info) == type &&
            c->symbols[i].st_shndx != SHN_UNDEF &&
            !strcmp(ts_cuda_code_symbol(c, i), name))
            return true;
    return false;
}

// Returns the name of a section by its number; "": none.
static inline const char *ts_cuda_code_section(const ts_cuda_code *c,
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

typedef struct ts__cuda_takes { // receives the parameters
    void (*each)(void *user, uint32_t offset, uint32_t size);
    void *user;
    uint32_t count, last; // number so far, and the position of the last one
    uint32_t end;         // end of the last one
    uint32_t expected;    // size of all, from the file; UINT32_MAX: unknown
} ts__cuda_takes;

// Reads a record of .nv.info: format, attribute, size, bytes. With format 4
// `size` bytes follow; with others the value takes the place of the size.
static inline void ts__cuda_parameter(ts__cuda_takes *t, const uint8_t *p,
                                      uint16_t size)
{
    enum { PARAMETER = 0x17, ALL = 0x19, LARGE = 0x45 };
    uint32_t flags;
    if (p[0] != 4 && p[1] == ALL) t->expected = size;
    if (p[0] != 4 || size != 12 || (p[1] != PARAMETER && p[1] != LARGE)) return;
    // Index, position and offset are the same in both layouts.
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
    Calls `each` for every parameter of a kernel: its offset and size in bytes.
    They stand in the section .nv.info.NAME: attribute 0x17 for each (index, u16
    position, u16 offset, flags with the size in the upper 14 bits), or 0x45 if
    there are more than 4 KiB of them (the same, with u16 size, u16 flags); 0x19
    has the size of all. False: the file does not describe them, or contradicts
    itself.

    Source: cubins of nvcc 13.0 and NVRTC 12.4; no document of the vendor's.
*/
static inline bool ts_cuda_code_parameters(
    const ts_cuda_code *c, const char *name,
    void (*each)(void *user, uint32_t offset, uint32_t size), void *user)
{
    static const char prefix[] = ".nv.info.";
    for (uint32_t i = 0; i < c->section_count; i++) {
        const char *const section = ts_cuda_code_section(c, i);
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

#endif // TS_CUDA_CODE_H
