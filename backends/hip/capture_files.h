/*
    hip/capture_files.h - loaded files that contain code for devices

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Finds the file of a function of the host, and the one of its fat
    binaries that has a kernel of a given name: by the section that
    compilers put them into, if one alone has it. Compressed ones are
    unpacked once, as long as their file is loaded.

    CONTENTS                            search for "==== 2." to jump
        1. A file
        2. Its bundles
        3. What was unloaded
*/
#ifndef TS__HIP_CAPTURE_FILES_H
#define TS__HIP_CAPTURE_FILES_H

#include "../gpu/cuda_abi.h"
#include "bundle.h"
#include "capture_code.h"
#include "code.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ==== 1. A file ========================================================== */

#define TS__HS_SELF "/proc/self/exe"

typedef struct ts__hs_file { // a loaded file that is also on disk
    uint64_t base;
    const uint8_t *bytes; // NULL: the file cannot be read
    uint64_t size;
    char path[256];
    uint64_t address; // the address to find
    // begin and end of its readable segments in the process; the file on disk
    // may have been replaced since
    uint64_t parts[16][2];
    uint32_t part_count;
} ts__hs_file;

static void ts__hs_file_of(ts__hs_file *f, const struct dl_phdr_info *info)
{
    const uint32_t most = sizeof f->parts / sizeof *f->parts;
    f->base = info->dlpi_addr;
    f->part_count = 0;
    for (int i = 0; i < info->dlpi_phnum && f->part_count < most; i++) {
        const ElfW(Phdr) *const p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_R)) continue;
        uint64_t *const part = f->parts[f->part_count++];
        part[0] = info->dlpi_addr + p->p_vaddr;
        part[1] = part[0] + p->p_memsz;
    }
}

// Returns how many bytes from this address are readable, 0: none.
static uint64_t ts__hs_file_left(const ts__hs_file *f, uint64_t address)
{
    for (uint32_t i = 0; i < f->part_count; i++)
        if (address >= f->parts[i][0] && address < f->parts[i][1])
            return f->parts[i][1] - address;
    return 0;
}

static int ts__hs_file_take(struct dl_phdr_info *info, size_t size, void *user)
{
    ts__hs_file *const f = (ts__hs_file *)user;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *const p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD ||
            f->address - info->dlpi_addr - p->p_vaddr >= p->p_memsz)
            continue;
        snprintf(f->path, sizeof f->path, "%s",
                 info->dlpi_name && *info->dlpi_name ? info->dlpi_name
                                                     : TS__HS_SELF);
        ts__hs_file_of(f, info);
        return 1;
    }
    return 0;
}

// Opens the file that contains an address. Returns false if it cannot be read.
static bool ts__hs_file_open(ts__hs_file *f, uint64_t address)
{
    struct stat about;
    memset(f, 0, sizeof *f);
    f->address = address;
    if (!dl_iterate_phdr(ts__hs_file_take, f)) return false;
    const int fd = open(f->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return false;
    void *bytes = MAP_FAILED;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
        about.st_size > (off_t)sizeof(Elf64_Ehdr))
        bytes =
            mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED) return false;
    f->bytes = (const uint8_t *)bytes;
    f->size = (uint64_t)about.st_size;
    return true;
}

static void ts__hs_file_close(ts__hs_file *f)
{
    if (f->bytes) munmap((void *)(uintptr_t)f->bytes, (size_t)f->size);
}

/* ==== 2. Its bundles ===================================================== */

// Returns the code that was taken from this bundle earlier.
static ts__hs_code *ts__hs_code_from(const void *from, uint32_t device)
{
    ts__hs_code *found = NULL;
    pthread_mutex_lock(&ts__hs.lock);
    for (size_t i = 0; i < ts__hs.code_count; i++) {
        ts__hs_code *const c = ts__hs.codes[i];
        if (c->from == from && c->device == device && !c->gone) found = c;
    }
    pthread_mutex_unlock(&ts__hs.lock);
    return found;
}

// Adds a bundle of a file, identified by its address.
static ts__hs_code *ts__hs_code_keep(const ts__hs_file *f, const void *from,
                                     uint64_t size, uint32_t device)
{
    ts__amd_packed packed;
    ts__hs_code about;
    memset(&about, 0, sizeof about);
    about.device = device;
    about.from = from;
    about.base = f->base;
    memcpy(about.head, from,
           size < sizeof about.head ? (size_t)size : sizeof about.head);
    // /proc/self/exe is replaced by the program's path.
    if (strcmp(f->path, TS__HS_SELF) != 0 ||
        readlink(TS__HS_SELF, about.path, sizeof about.path - 1) <= 0)
        snprintf(about.path, sizeof about.path, "%s", f->path);
    return ts__amd_packed_read(&packed, from, size)
               ? ts__hs_code_unpack(from, size, &about)
               : ts__hs_code_add(from, size, &about);
}

// Returns whether a bundle has a kernel, or a variable, of that name for a
// device. A compressed one is kept for the next search. *not_reported is set if
// this is unknown.
static bool ts__hs_bundle_has(const ts__hs_file *f, const void *from,
                              uint64_t size, const char *name, bool variable,
                              uint32_t device, bool *not_reported)
{
    ts__amd_packed packed;
    const uint8_t *code;
    uint64_t code_size;
    const ts__hs_code *c = ts__hs_code_from(from, device);
    const bool pack = ts__amd_packed_read(&packed, from, size);
    if (!c && pack) c = ts__hs_code_keep(f, from, size, device);
    if (c ? c->not_reported : pack) *not_reported = true;
    if (c)
        return c->bytes && ts__hs_code_has(c->bytes, c->size, name, variable);
    return ts__amd_code_pick(from, size, ts__hs_architecture(device), &code,
                             &code_size) &&
           ts__hs_code_has(code, code_size, name, variable);
}

// Returns the code with that kernel, or variable, among the fat binaries of a
// file; NULL: none, several, or the contents of some are unknown.
static ts__hs_code *ts__hs_file_search(const ts__hs_file *f, const char *name,
                                       bool variable, uint32_t device,
                                       bool *not_reported)
{
    const struct { // the wrappers that compilers put into the section
        uint32_t magic, version;
        const void *image;
        const void *unused;
    } * wrapper;
    enum { MAGIC = 0x48495046 };
    const void *found = NULL;
    uint64_t found_size = 0, matches = 0;
    ts_cuda_code elf;
    ts_cuda_code_open(&elf, f->bytes, f->size);
    for (uint32_t i = 0; i < elf.section_count; i++) {
        const Elf64_Shdr *const s = &elf.sections[i];
        if (strcmp(ts_cuda_code_section(&elf, i), ".hipFatBinSegment") != 0)
            continue;
        // Read from memory, where their addresses are relocated.
        for (uint64_t at = 0; at + sizeof *wrapper <= s->sh_size;
             at += sizeof *wrapper) {
            const uintptr_t where = (uintptr_t)(f->base + s->sh_addr + at);
            if (ts__hs_file_left(f, where) < sizeof *wrapper) continue;
            wrapper = (const void *)where;
            const uint64_t left =
                ts__hs_file_left(f, (uintptr_t)wrapper->image);
            if (wrapper->magic != MAGIC || !left ||
                !ts__hs_bundle_has(f, wrapper->image, left, name, variable,
                                   device, not_reported))
                continue;
            found = wrapper->image;
            found_size = left;
            matches++;
        }
    }
    if (matches != 1 || *not_reported) return NULL;
    ts__hs_code *const c = ts__hs_code_from(found, device);
    return c ? c : ts__hs_code_keep(f, found, found_size, device);
}

/* ==== 3. What was unloaded =============================================== */

// Returns whether the bundle at its address in a file is still the one that the
// code came from. The header of a compressed one contains a hash of its
// contents.
static bool ts__hs_is_same(const ts__hs_code *c, const ts__hs_file *f)
{
    const uint64_t left = ts__hs_file_left(f, (uintptr_t)c->from);
    ts__amd_packed packed;
    const uint8_t *code;
    uint64_t size;
    if (c->base != f->base || left < sizeof c->head ||
        memcmp(c->from, c->head, sizeof c->head) != 0)
        return false;
    if (ts__amd_packed_read(&packed, c->from, left)) return true;
    return c->bytes &&
           ts__amd_code_pick(c->from, left, ts__hs_architecture(c->device),
                             &code, &size) &&
           size >= c->size && !memcmp(code, c->bytes, (size_t)c->size);
}

// Holds the lock of dl_iterate_phdr, so that no file is unloaded while it is
// read.
static int ts__hs_retained_take(struct dl_phdr_info *info, size_t size,
                                void *user)
{
    ts__hs_file f;
    (void)size;
    (void)user;
    ts__hs_file_of(&f, info);
    for (size_t i = 0; i < ts__hs.code_count; i++) {
        ts__hs_code *const c = ts__hs.codes[i];
        if (c->from && !c->gone && ts__hs_is_same(c, &f)) c->present = true;
    }
    return 0;
}

static int ts__hs_unloads_take(struct dl_phdr_info *info, size_t size,
                               void *user)
{
    (void)size;
    *(unsigned long long *)user = info->dlpi_subs;
    return 1;
}

// After a file was unloaded, another one may be at its addresses, so functions
// are looked up again. Code is replaced only where other code is loaded now.
static void ts__hs_functions_check(void)
{
    unsigned long long unloads = 0;
    dl_iterate_phdr(ts__hs_unloads_take, &unloads);
    pthread_mutex_lock(&ts__hs.lock);
    const bool stale = unloads != ts__hs.unloads;
    for (size_t i = 0; stale && i < ts__hs.function_count; i++)
        if (ts__hs.functions[i]->of_host) ts__hs.functions[i]->handle = NULL;
    for (size_t i = 0; stale && i < ts__hs.code_count; i++)
        ts__hs.codes[i]->present = false;
    if (stale) dl_iterate_phdr(ts__hs_retained_take, NULL);
    for (size_t i = 0; stale && i < ts__hs.code_count; i++) {
        ts__hs_code *const c = ts__hs.codes[i];
        c->gone = c->from && !c->present;
    }
    ts__hs.unloads = unloads;
    pthread_mutex_unlock(&ts__hs.lock);
}

#endif // TS__HIP_CAPTURE_FILES_H
