/*
    stack/modules.h - modules of the process, by the addresses in them

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__STACK_MODULES_H
#define TS__STACK_MODULES_H

#include "tracesmith.h"
#include "machine.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

// Modules are added and never changed or removed. Two threads may add the same
// one twice, which only wastes an entry: both have the same number.
enum { TS__STACK_MODULES = 2048 };

typedef struct ts__stack_module {
    uint64_t start, end;  // address range
    const void *map;      // its link_map, or another pointer that identifies it
    const uint8_t *table; // PT_GNU_EH_FRAME, NULL: none
    const uint8_t *build; // its build-id if that is in its first page ...
    uint64_t build_begin; // ... and the first bytes of the build-id
    uint32_t number;      // returned by ts_module_define
    uint32_t ready;       // 1: all fields above are valid
    uint32_t permanent;   // it can never be unloaded
} ts__stack_module;

// Used from index 1; 0 means no module.
static ts__stack_module ts__stack_modules[TS__STACK_MODULES];
static uint32_t ts__stack_module_count;

typedef struct ts__stack_object { // the loader's answer for an address
    // bias: load address minus the addresses in the file.
    uint64_t start, end, bias;
    const void *map; // identifies it
    const char *name;
    const uint8_t *table;
} ts__stack_object;

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35) && !defined(TS__STACK_OLD)
// Finds the module of an address without a lock.
// Source: glibc manual, "Dynamic Linker Introspection".
static bool ts__stack_find(uint64_t pc, ts__stack_object *object)
{
    struct dl_find_object found;
    if (_dl_find_object((void *)(uintptr_t)pc, &found) != 0) return false;
    object->start = (uint64_t)(uintptr_t)found.dlfo_map_start;
    object->end = (uint64_t)(uintptr_t)found.dlfo_map_end;
    object->bias = found.dlfo_link_map->l_addr;
    object->map = found.dlfo_link_map;
    object->name = found.dlfo_link_map->l_name;
    object->table = (const uint8_t *)found.dlfo_eh_frame;
    return true;
}
#else
// For older C libraries: uses dl_iterate_phdr, which takes the loader's lock.
// That lock is recursive, and this code holds no other lock with it. Takes
// about a microsecond.
typedef struct ts__stack_search {
    uint64_t pc;
    ts__stack_object *object;
} ts__stack_search;

static int ts__stack_match(struct dl_phdr_info *info, size_t size, void *user)
{
    const ts__stack_search *const requested = (const ts__stack_search *)user;
    ts__stack_object *const o = requested->object;
    (void)size;
    memset(o, 0, sizeof *o);
    o->bias = info->dlpi_addr;
    o->map = info->dlpi_name;
    o->name = info->dlpi_name;
    o->start = UINT64_MAX;
    for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
        const uint64_t at = o->bias + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
            o->table = (const uint8_t *)(uintptr_t)at;
        if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
        const uint64_t end = at + info->dlpi_phdr[i].p_memsz;
        if (at < o->start) o->start = at & ~UINT64_C(4095);
        if (end > o->end) o->end = end;
    }
    return requested->pc >= o->start && requested->pc < o->end;
}

static bool ts__stack_find(uint64_t pc, ts__stack_object *object)
{
    ts__stack_search requested = { pc, object };
    return dl_iterate_phdr(ts__stack_match, &requested) != 0;
}
#endif

// Finds the build-id of a mapped ELF file and returns its size; 0: none.
static TS__STACK_PLAIN size_t ts__stack_build_id(const ts__stack_object *o,
                                                 const uint8_t **id)
{
    const ElfW(Ehdr) *const elf = (const ElfW(Ehdr) *)(uintptr_t)o->start;
    if (memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 ||
        elf->e_phentsize != sizeof(ElfW(Phdr)) ||
        elf->e_phoff + elf->e_phnum * sizeof(ElfW(Phdr)) > 4096)
        return 0;
    const ElfW(Phdr) *const heads =
        (const ElfW(Phdr) *)(uintptr_t)(o->start + elf->e_phoff);
    for (uint32_t i = 0; i < elf->e_phnum; i++) {
        if (heads[i].p_type != PT_NOTE) continue;
        const uint64_t at = o->bias + heads[i].p_vaddr;
        const uint64_t size = heads[i].p_memsz;
        if (at < o->start || at > o->end || size > o->end - at) continue;
        for (uint64_t p = 0; p + sizeof(ElfW(Nhdr)) <= size;) {
            ElfW(Nhdr) note;
            memcpy(&note, (const void *)(uintptr_t)(at + p), sizeof note);
            const uint64_t name = p + sizeof note;
            const uint64_t body = name + ((note.n_namesz + 3u) & ~3u);
            const uint64_t next = body + ((note.n_descsz + 3u) & ~3u);
            if (body < name || next < body || next > size) break;
            *id = (const uint8_t *)(uintptr_t)(at + body);
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
                !memcmp((const void *)(uintptr_t)(at + name), "GNU", 4))
                return note.n_descsz;
            p = next;
        }
    }
    return 0;
}

// Gets the path of the file mapped at an address from the kernel, because the
// loader's path may be relative to a former working directory.
static void ts__stack_mapped_path(uint64_t address, char *path, size_t room)
{
    char text[512];
    const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    uint64_t low = 0;
    size_t size = 0, column = 0;
    bool found = false, in_path = false, done = false;
    *path = 0;
    for (ssize_t got;
         file >= 0 && !done && (got = read(file, text, sizeof text)) > 0;)
        for (ssize_t i = 0; i < got && !done; i++) {
            const char c = text[i];
            if (c == '\n') {
                done = found; // more of the file was read than its line
                if (done) break;
                low = column = size = 0;
                in_path = false;
                continue;
            }
            // Of "low-high ..." only the low end is needed.
            if (!column++) low = 0;
            if (column <= 16 && !in_path && !found) {
                const char *const digits = "0123456789abcdef";
                const char *const digit = strchr(digits, c);
                if (digit && c)
                    low = low << 4 | (uint64_t)(digit - digits);
                else if (c == '-')
                    found = low == address, column = 17;
            }
            if (c == '/') in_path = true;
            if (found && in_path && size + 1 < room) path[size++] = c;
        }
    path[size] = 0;
    if (file >= 0) close(file);
    if (!found) *path = 0;
}

static void ts__stack_path(const ts__stack_object *o, char *path, size_t room)
{
    const char *const name = o->name;
    ssize_t size = 0;
    if (name && name[0] == '/') {
        snprintf(path, room, "%s", name);
        return;
    }
    if (!name || !*name) { // the program itself
        size = readlink("/proc/self/exe", path, room - 1);
        path[size > 0 ? size : 0] = 0;
        if (size > 0) return;
    }
    if (name && strncmp(name, "linux-", 6) == 0) {
        snprintf(path, room, "[vdso]");
        return;
    }
    ts__stack_mapped_path(o->start, path, room);
    if (!*path) snprintf(path, room, "%s", name ? name : "");
}

// Reads memory through the kernel, which reports an error for unmapped
// addresses. Not inlined, because it is rare.
static __attribute__((noinline)) bool ts__stack_probe(uint64_t address,
                                                      void *words, size_t size)
{
    const struct iovec to = { words, size };
    const struct iovec from = { (void *)(uintptr_t)address, size };
    const int error = errno;
    const ssize_t got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    errno = error;
    return got == (ssize_t)size;
}

// Returns whether a module is the object. If a frame of this thread is in the
// object, nobody can unload it, so its first page may be read directly.
// guessed: that is uncertain, so the page is read through the kernel.
static bool ts__stack_same(const ts__stack_module *m, const ts__stack_object *o,
                           bool guessed)
{
    uint64_t begin = 0;
    if (m->start != o->start || m->end != o->end || m->map != o->map ||
        m->table != o->table)
        return false;
    if (m->build && guessed)
        return ts__stack_probe((uint64_t)(uintptr_t)m->build, &begin,
                               sizeof begin) &&
               begin == m->build_begin;
    if (m->build) memcpy(&begin, m->build, sizeof begin);
    return begin == m->build_begin;
}

// Returns whether the module is still loaded.
static inline bool ts__stack_alive(uint32_t index, bool guessed)
{
    const ts__stack_module *const m = &ts__stack_modules[index];
    ts__stack_object object;
    return m->permanent || (ts__stack_find(m->start, &object) &&
                            ts__stack_same(m, &object, guessed));
}

// Returns the index of a module and adds it if it is new; 0: no room.
static uint32_t ts__stack_module_get(const ts__stack_object *o)
{
    char path[4096];
    uint32_t count = __atomic_load_n(&ts__stack_module_count, __ATOMIC_RELAXED);
    if (count > TS__STACK_MODULES - 1) count = TS__STACK_MODULES - 1;
    for (uint32_t i = 1; i <= count; i++)
        // acquire: pairs with the release below
        if (__atomic_load_n(&ts__stack_modules[i].ready, __ATOMIC_ACQUIRE) &&
            ts__stack_same(&ts__stack_modules[i], o, false))
            return i;
    if (count >= TS__STACK_MODULES - 1) return 0;
    const int error = errno;
    const uint8_t *id = NULL;
    ts__stack_path(o, path, sizeof path);
    const size_t id_size = ts__stack_build_id(o, &id);
    errno = error;
    const uint32_t number =
        ts_module_define(path, o->start, o->end - o->start, id, id_size);
    if (!number) return 0; // called inside the recorder; the entry stays free
    const uint32_t index =
        __atomic_add_fetch(&ts__stack_module_count, 1, __ATOMIC_RELAXED);
    if (index >= TS__STACK_MODULES) return 0;
    ts__stack_module *const m = &ts__stack_modules[index];
    m->start = o->start;
    m->end = o->end;
    m->map = o->map;
    m->table = o->table;
    m->number = number;
    // The program itself and the C library are permanent.
    m->permanent =
        !o->name || !*o->name ||
        (uint64_t)(uintptr_t)&_r_debug - o->start < o->end - o->start ||
        (uint64_t)(uintptr_t)&stdout - o->start < o->end - o->start;
    if (id_size >= 8 && (uint64_t)(uintptr_t)id - o->start < 4096 - 8) {
        m->build = id;
        memcpy(&m->build_begin, id, sizeof m->build_begin);
    }
    __atomic_store_n(&m->ready, 1, __ATOMIC_RELEASE);
    return index;
}

#endif // TS__STACK_MODULES_H
