/*
    hip/code.h - reads code objects of AMD's devices

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Checked with:   files of tests/doubles/libhsaco.c,
                    tests/fuzz/hip_code.c. November 2026. Not with code of a
                    compiler for GPUs.

    Finds in a code object, an ELF file, what its note says of kernels:
    where each argument lies. Finds the code object of one device in a
    bundle for many. All of it is input: nothing in it is trusted.
    Compressed bundles: bundle.h.

    Source: LLVM's user guide for the AMDGPU backend, code object metadata;
    its documents of clang-offload-bundler; the specification of

    CONTENTS                            search for "==== 2." to jump
        1. MessagePack
        2. Kernels
        3. Bundles
*/
#ifndef TS__HIP_CODE_H
#define TS__HIP_CODE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ==== 1. MessagePack ===================================================== */

typedef struct ts__mp { // where reading goes on
    const uint8_t *at, *end;
} ts__mp;

typedef enum ts__mp_kind {
    TS__MP_OTHER, // is skipped and never looked into
    TS__MP_NUMBER,
    TS__MP_TEXT,
    TS__MP_LIST,
    TS__MP_MAP
} ts__mp_kind;

typedef struct ts__mp_item {
    ts__mp_kind kind;
    uint64_t value;   // a number, the size of a text, a count
    const char *text; // not terminated
} ts__mp_item;

// The next `size` bytes as a number, highest first. False: they are not there.
static inline bool ts__mp_number(ts__mp *p, uint32_t size, uint64_t *value)
{
    *value = 0;
    if ((uint64_t)(p->end - p->at) < size) return false;
    while (size--)
        *value = *value << 8 | *p->at++;
    return true;
}

static inline bool ts__mp_bytes(ts__mp *p, ts__mp_item *item, uint64_t size)
{
    if ((uint64_t)(p->end - p->at) < size) return false;
    item->text = (const char *)p->at;
    item->value = size;
    p->at += size;
    return true;
}

// What follows the first byte of an item from 0xC0 on.
static inline bool ts__mp_long(ts__mp *p, ts__mp_item *item, uint8_t head)
{
    uint64_t size = 0;
    if (head >= 0xE0 || head < 0xC4) return true; // below 0, nil, truth
    if (head <= 0xC9)                             // bytes, types of their own
        return ts__mp_number(p, 1u << (head - 0xC4) % 3, &size) &&
               ts__mp_bytes(p, item, size + (head > 0xC6));
    if (head <= 0xCB) return ts__mp_bytes(p, item, head == 0xCA ? 4 : 8);
    if (head <= 0xCF) {
        item->kind = TS__MP_NUMBER;
        return ts__mp_number(p, 1u << (head - 0xCC), &item->value);
    }
    if (head <= 0xD3) return ts__mp_bytes(p, item, 1u << (head - 0xD0));
    if (head <= 0xD8) return ts__mp_bytes(p, item, 1 + (1u << (head - 0xD4)));
    if (head <= 0xDB) {
        item->kind = TS__MP_TEXT;
        return ts__mp_number(p, 1u << (head - 0xD9), &size) &&
               ts__mp_bytes(p, item, size);
    }
    item->kind = head <= 0xDD ? TS__MP_LIST : TS__MP_MAP;
    return ts__mp_number(p, head & 1 ? 4 : 2, &item->value);
}

// An item; of a list or map what is in it comes next. False: it is cut short.
static inline bool ts__mp_next(ts__mp *p, ts__mp_item *item)
{
    if (p->at >= p->end) return false;
    const uint8_t head = *p->at++;
    memset(item, 0, sizeof *item);
    if (head >= 0xC0) return ts__mp_long(p, item, head);
    if (head < 0x80) {
        item->kind = TS__MP_NUMBER;
        item->value = head;
        return true;
    }
    if (head >= 0xA0) {
        item->kind = TS__MP_TEXT;
        return ts__mp_bytes(p, item, head & 0x1F);
    }
    item->kind = head < 0x90 ? TS__MP_MAP : TS__MP_LIST;
    item->value = head & 0x0F;
    return true;
}

// Goes behind an item and all that is in it. In time of what it passes.
static inline bool ts__mp_skip(ts__mp *p)
{
    ts__mp_item item;
    for (uint64_t left = 1; left; left--) {
        if (!ts__mp_next(p, &item)) return false;
        if (item.kind == TS__MP_LIST) left += item.value;
        if (item.kind == TS__MP_MAP) left += 2 * item.value;
    }
    return true;
}

static inline bool ts__mp_is(const ts__mp_item *item, const char *text)
{
    return item->kind == TS__MP_TEXT && item->value == strlen(text) &&
           !memcmp(item->text, text, (size_t)item->value);
}

// The value of a key of the map that begins at `p`.
static inline bool ts__mp_find(ts__mp p, const char *key, ts__mp *value)
{
    ts__mp_item item;
    if (!ts__mp_next(&p, &item) || item.kind != TS__MP_MAP) return false;
    for (uint64_t count = item.value; count; count--) {
        if (!ts__mp_next(&p, &item)) return false;
        if (ts__mp_is(&item, key)) {
            *value = p;
            return true;
        }
        // A key that is a list or a map is none that is needed.
        if (item.kind >= TS__MP_LIST || !ts__mp_skip(&p)) return false;
    }
    return false;
}

static inline bool ts__mp_find_item(ts__mp p, const char *key, ts__mp_kind kind,
                                    ts__mp_item *item)
{
    ts__mp value;
    return ts__mp_find(p, key, &value) && ts__mp_next(&value, item) &&
           item->kind == kind;
}

/* ==== 2. Kernels ========================================================= */

enum { TS__AMD_PARAMETERS = 1024, TS__AMD_ARGUMENTS = 1 << 16 };

typedef struct ts__amd_kernel {
    uint32_t count;
    uint32_t parameters[TS__AMD_PARAMETERS][2]; // offset, size
    bool pointers[TS__AMD_PARAMETERS];
} ts__amd_kernel;

static inline uint64_t ts__amd_aligned(uint64_t size)
{
    return (size + 3) & ~UINT64_C(3);
}

// The metadata in the notes of a segment.
static inline bool ts__amd_notes(const uint8_t *at, uint64_t left,
                                 ts__mp *metadata)
{
    enum { METADATA = 32 }; // NT_AMDGPU_METADATA
    Elf64_Nhdr n;
    while (left >= sizeof n) {
        memcpy(&n, at, sizeof n);
        const uint64_t name = ts__amd_aligned(n.n_namesz);
        const uint64_t size = ts__amd_aligned(n.n_descsz);
        at += sizeof n;
        left -= sizeof n;
        // The last one need not be filled up.
        if (name > left || n.n_descsz > left - name) return false;
        if (n.n_type == METADATA && n.n_namesz == 7 &&
            !memcmp(at, "AMDGPU", 7)) {
            metadata->at = at + name;
            metadata->end = at + name + n.n_descsz;
            return true;
        }
        if (size > left - name) return false;
        at += name + size;
        left -= name + size;
    }
    return false;
}

static inline bool ts__amd_metadata(const void *bytes, uint64_t size,
                                    ts__mp *metadata)
{
    const uint8_t *const from = (const uint8_t *)bytes;
    Elf64_Ehdr e;
    Elf64_Phdr s;
    if (size < sizeof e) return false;
    memcpy(&e, bytes, sizeof e);
    if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 ||
        e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phentsize != sizeof s ||
        e.e_phoff > size || e.e_phnum > (size - e.e_phoff) / sizeof s)
        return false;
    for (uint32_t i = 0; i < e.e_phnum; i++) {
        memcpy(&s, from + e.e_phoff + i * sizeof s, sizeof s);
        if (s.p_type == PT_NOTE && s.p_offset <= size &&
            s.p_filesz <= size - s.p_offset &&
            ts__amd_notes(from + s.p_offset, s.p_filesz, metadata))
            return true;
    }
    return false;
}

// The arguments that a program passes, not those that the runtime adds. False:
// it takes what is no bytes (images, queues), or the record makes no sense.
static inline bool ts__amd_argument(ts__amd_kernel *k, ts__mp argument)
{
    ts__mp_item kind, offset, size;
    if (!ts__mp_find_item(argument, ".value_kind", TS__MP_TEXT, &kind))
        return false;
    if (kind.value >= 7 && !memcmp(kind.text, "hidden_", 7)) return true;
    const bool pointer = ts__mp_is(&kind, "global_buffer");
    if (!pointer && !ts__mp_is(&kind, "by_value")) return false;
    if (!ts__mp_find_item(argument, ".offset", TS__MP_NUMBER, &offset) ||
        !ts__mp_find_item(argument, ".size", TS__MP_NUMBER, &size) ||
        offset.value > TS__AMD_ARGUMENTS || size.value > TS__AMD_ARGUMENTS ||
        k->count == TS__AMD_PARAMETERS)
        return false;
    k->parameters[k->count][0] = (uint32_t)offset.value;
    k->parameters[k->count][1] = (uint32_t)size.value;
    k->pointers[k->count++] = pointer && size.value == 8;
    return true;
}

// The kernel of that name in a list of them.
static inline bool ts__amd_kernel_at(ts__mp metadata, const char *name,
                                     ts__mp *kernel)
{
    ts__mp p;
    ts__mp_item list, item;
    if (!ts__mp_find(metadata, "amdhsa.kernels", &p) ||
        !ts__mp_next(&p, &list) || list.kind != TS__MP_LIST)
        return false;
    for (uint64_t i = 0; i < list.value; i++) {
        *kernel = p;
        if (ts__mp_find_item(p, ".name", TS__MP_TEXT, &item) &&
            ts__mp_is(&item, name))
            return true;
        if (!ts__mp_skip(&p)) return false;
    }
    return false;
}

static inline bool ts__amd_has_kernel(const void *bytes, uint64_t size,
                                      const char *name)
{
    ts__mp metadata, kernel;
    return ts__amd_metadata(bytes, size, &metadata) &&
           ts__amd_kernel_at(metadata, name, &kernel);
}

// How the arguments of a kernel lie. False: the code does not say.
static inline bool ts__amd_kernel_read(ts__amd_kernel *k, const void *bytes,
                                       uint64_t size, const char *name)
{
    ts__mp p, kernel;
    ts__mp_item list;
    k->count = 0;
    if (!ts__amd_metadata(bytes, size, &p) ||
        !ts__amd_kernel_at(p, name, &kernel))
        return false;
    if (!ts__mp_find(kernel, ".args", &p)) return true; // it has none
    if (!ts__mp_next(&p, &list) || list.kind != TS__MP_LIST) return false;
    for (uint64_t i = 0; i < list.value; i++)
        if (!ts__amd_argument(k, p) || !ts__mp_skip(&p)) return false;
    return true;
}

/* ==== 3. Bundles ========================================================= */

// Whether a name as hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack- is of a
// device of this architecture (gfx90a), with whatever features.
static inline bool ts__amd_target_is(const char *name, uint64_t size,
                                     const char *architecture)
{
    const size_t requested = strlen(architecture);
    uint64_t end = 0;
    while (end < size && name[end] != ':')
        end++;
    return size > 3 && !memcmp(name, "hip", 3) && requested &&
           end > requested && name[end - requested - 1] == '-' &&
           !memcmp(name + end - requested, architecture, requested);
}

/*
    The code object for an architecture in what a program holds, of at most
    `size` bytes: a bundle, or a code object itself. False: there is none, or
    more than one, of which the features of the device choose; or the bundle is
    compressed (hip/bundle.h).
*/
static inline bool ts__amd_code_pick(const void *bytes, uint64_t size,
                                     const char *architecture,
                                     const uint8_t **code, uint64_t *code_size)
{
    static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__";
    enum { MAGIC = sizeof magic - 1, ENTRY = 24 };
    const uint8_t *const from = (const uint8_t *)bytes;
    uint64_t count, entry[3], at = MAGIC + 8, found = 0;
    if (size >= SELFMAG && !memcmp(bytes, ELFMAG, SELFMAG)) {
        *code = from;
        *code_size = size;
        return true;
    }
    if (size < at || memcmp(bytes, magic, MAGIC) != 0) return false;
    memcpy(&count, from + MAGIC, sizeof count);
    for (; count; count--) {
        if (size - at < ENTRY) return false;
        memcpy(entry, from + at, ENTRY); // offset, size, size of the name
        at += ENTRY;
        if (entry[2] > size - at) return false;
        const bool ours =
            ts__amd_target_is((const char *)from + at, entry[2], architecture);
        at += entry[2];
        if (!ours || !entry[1]) continue;
        if (entry[0] > size || entry[1] > size - entry[0]) return false;
        *code = from + entry[0];
        *code_size = entry[1];
        found++;
    }
    return found == 1;
}

#endif // TS__HIP_CODE_H
