/*
    hip/code.h - reads code objects of AMD's devices

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Checked with:   files of tests/doubles/libhsaco.c,
                    tests/fuzz/fuzz_hip_code.c. November 2026. Not with
                    code of a compiler for GPUs.

    Reads the layout of a kernel's arguments from the note of a code object,
    an ELF file. Finds the code object of one device in a bundle for many.
    All of it is input: nothing in it is trusted.
    Compressed bundles: bundle.h.

    Source: LLVM's user guide for the AMDGPU backend, code object metadata;
    its documents of clang-offload-bundler; the specification of MessagePack.

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

typedef struct ts__mp { // reading position
    const uint8_t *at, *end;
} ts__mp;

typedef enum ts__mp_kind {
    TS__MP_OTHER, // skipped, never read
    TS__MP_NUMBER,
    TS__MP_TEXT,
    TS__MP_LIST,
    TS__MP_MAP
} ts__mp_kind;

typedef struct ts__mp_item {
    ts__mp_kind kind;
    uint64_t value;   // a number, the length of a text, or a count
    const char *text; // not zero-terminated
} ts__mp_item;

// Reads `size` bytes as a big-endian number. Returns false if they are missing.
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

// Reads what follows the first byte of an item if that is 0xC0 or more.
static inline bool ts__mp_long(ts__mp *p, ts__mp_item *item, uint8_t head)
{
    uint64_t size = 0;
    // Negative integer, nil, boolean.
    if (head >= 0xE0 || head < 0xC4) return true;
    if (head <= 0xC9) // binary and extension types
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

// Reads an item; the elements of a list or map follow. Returns false if it is
// truncated.
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

// Skips an item and everything in it, in time proportional to its size.
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

// Finds the value of a key in the map that begins at `p`.
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
        // A key that is a list or map is not supported.
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

// Finds the metadata in the notes of a segment.
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
        // The last note may lack its padding.
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

// Adds an argument that the program passes, not one that the runtime adds.
// Returns false if it is not plain bytes (image, queue) or the record is
// invalid.
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

// Finds the kernel of that name in a list of kernels.
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

// Reads the layout of a kernel's arguments. Returns false if the code does not
// contain it.
static inline bool ts__amd_kernel_read(ts__amd_kernel *k, const void *bytes,
                                       uint64_t size, const char *name)
{
    ts__mp p, kernel;
    ts__mp_item list;
    k->count = 0;
    if (!ts__amd_metadata(bytes, size, &p) ||
        !ts__amd_kernel_at(p, name, &kernel))
        return false;
    // The kernel has no arguments.
    if (!ts__mp_find(kernel, ".args", &p)) return true;
    if (!ts__mp_next(&p, &list) || list.kind != TS__MP_LIST) return false;
    for (uint64_t i = 0; i < list.value; i++)
        if (!ts__amd_argument(k, p) || !ts__mp_skip(&p)) return false;
    return true;
}

/* ==== 3. Bundles ========================================================= */

// Returns whether a target such as
// hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack- is for this architecture
// (gfx90a), with any features.
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

// Finds the code object for an architecture in at most `size` bytes, which are
// a bundle or a code object. Returns false if there is none, if there are
// several that differ in the features of the device, or if the bundle is
// compressed (hip/bundle.h).
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
        memcpy(entry, from + at, ENTRY); // offset, size, length of the name
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
