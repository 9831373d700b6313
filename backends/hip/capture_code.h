/*
    hip/capture_code.h - the code objects of the program

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Keeps a copy of the code object of each module that the program loads.
    Of compressed bundles the part for the device is kept, up to a bound on
    all of them.
*/
#ifndef TS__HIP_CAPTURE_CODE_H
#define TS__HIP_CAPTURE_CODE_H

#include "tracesmith.h"
#include "../gpu/cuda_abi.h"
#include "../gpu/modules.h"
#include "bundle.h"
#include "code.h"
#include "state.h"

#include <elf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { TS__HS_KEPT = 1 << 30 }; // limit on the bytes of all compressed bundles

typedef struct ts__hs_code {
    // Aligned to 8 bytes by malloc; NULL: the bundle has nothing for the
    // device, or it was not kept.
    uint8_t *bytes;
    uint64_t size;
    const void *from;               // bundle in a file, NULL: code of a module
    uint64_t base;                  // load address of that file
    void *module;                   // NULL: none, or unloaded
    uint32_t device, image, number; // image: number in the present capture
    uint8_t head[32];               // first bytes of the bundle
    bool gone;                      // the file was unloaded
    bool present;                   // found again by the search in progress
    bool not_reported;              // the contents are unknown
    char path[256];                 // path of the file
} ts__hs_code;

typedef struct ts__hs_function {
    const void *handle; // a function handle or the host function
    ts__hs_code *code;  // NULL: not found
    char *name;
    uint32_t device;
    bool of_host;
    bool not_reported; // the code may be in a bundle that could not be kept
} ts__hs_function;

// Nothing is removed during a session, because other threads may use it.
static struct {
    pthread_mutex_t lock;
    ts__hs_code **codes;
    size_t code_count, code_capacity;
    ts__hs_function **functions;
    size_t function_count, function_capacity;
    // Number of files unloaded when functions were last looked up.
    unsigned long long unloads;
    uint64_t kept; // bytes of compressed bundles kept
    uint32_t said; // the last session that reported the limit
} ts__hs = { .lock = PTHREAD_MUTEX_INITIALIZER };

// Returns the architecture of a device, "" if it is unknown.
static const char *ts__hs_architecture(uint32_t device)
{
    return device < TS__HIP_DEVICES ? ts__hip.devices[device].architecture : "";
}

// Adds code and takes ownership of its bytes, which are freed if memory is
// short; then returns NULL.
static ts__hs_code *ts__hs_code_put(const ts__hs_code *code)
{
    ts__hs_code *const c = (ts__hs_code *)malloc(sizeof *c);
    pthread_mutex_lock(&ts__hs.lock);
    ts__hs_code **const more =
        c ? (ts__hs_code **)ts__cs_more(ts__hs.codes, &ts__hs.code_capacity,
                                        ts__hs.code_count, sizeof *more)
          : NULL;
    if (more) {
        ts__hs.codes = more;
        *c = *code;
        more[ts__hs.code_count++] = c;
        c->number = (uint32_t)ts__hs.code_count;
    }
    pthread_mutex_unlock(&ts__hs.lock);
    if (more) return c;
    free(code->bytes);
    free(c);
    return NULL;
}

// Copies the code for the device out of an image. The size becomes 0 if there
// is none.
static void ts__hs_code_copy(ts__hs_code *c, const void *image, uint64_t size)
{
    const uint8_t *code;
    uint64_t code_size;
    if (!ts__amd_code_pick(image, size, ts__hs_architecture(c->device), &code,
                           &code_size) ||
        code_size < sizeof(Elf64_Ehdr))
        return;
    const uint64_t whole = ts_cuda_code_size(code);
    if (!whole || whole > code_size || whole > (uint64_t)1 << 32) return;
    c->size = whole;
    c->bytes = (uint8_t *)malloc((size_t)whole);
    if (c->bytes) memcpy(c->bytes, code, (size_t)whole);
}

// Adds the code for a device from an image of `size` bytes. about: the device
// and the other known fields.
static ts__hs_code *ts__hs_code_add(const void *image, uint64_t size,
                                    const ts__hs_code *about)
{
    uint64_t unpacked_size = 0;
    uint8_t *const unpacked = ts__amd_unpack(image, size, &unpacked_size);
    ts__hs_code c = *about;
    ts__hs_code_copy(&c, unpacked ? unpacked : image,
                     unpacked ? unpacked_size : size);
    free(unpacked);
    return c.bytes ? ts__hs_code_put(&c) : NULL;
}

// The same for a compressed bundle. It is unpacked once, whatever it contains;
// when the limit is exceeded, no more bundles are unpacked.
static ts__hs_code *ts__hs_code_unpack(const void *image, uint64_t size,
                                       const ts__hs_code *about)
{
    uint64_t unpacked_size = 0;
    ts__hs_code c = *about;
    uint8_t *const unpacked = TS__LOAD(&ts__hs.kept) < TS__HS_KEPT
                                  ? ts__amd_unpack(image, size, &unpacked_size)
                                  : NULL;
    if (unpacked) ts__hs_code_copy(&c, unpacked, unpacked_size);
    free(unpacked);
    pthread_mutex_lock(&ts__hs.lock);
    const bool fits = c.size <= TS__HS_KEPT - ts__hs.kept;
    TS__STORE(&ts__hs.kept, fits ? ts__hs.kept + c.size : TS__HS_KEPT);
    pthread_mutex_unlock(&ts__hs.lock);
    c.not_reported = !unpacked || !fits || (c.size && !c.bytes);
    if (!fits) free(c.bytes);
    if (!fits) c.bytes = NULL;
    return ts__hs_code_put(&c);
}

// A new capture has no images yet.
static void ts__hs_fresh(void)
{
    pthread_mutex_lock(&ts__hs.lock);
    for (size_t i = 0; i < ts__hs.code_count; i++)
        ts__hs.codes[i]->image = 0;
    pthread_mutex_unlock(&ts__hs.lock);
}

// Returns whether a symbol is a variable that the host can also access.
static bool ts__hs_is_variable(const ts_cuda_code *code, uint32_t number)
{
    const Elf64_Sym *const s = &code->symbols[number];
    return ELF64_ST_TYPE(s->st_info) == STT_OBJECT && s->st_size &&
           ELF64_ST_BIND(s->st_info) != STB_LOCAL &&
           s->st_shndx < code->section_count &&
           code->sections[s->st_shndx].sh_flags & SHF_WRITE;
}

// Returns whether code has a kernel, or a variable, of that name.
static bool ts__hs_code_has(const void *bytes, uint64_t size, const char *name,
                            bool variable)
{
    ts_cuda_code elf;
    if (!variable) return ts__amd_has_kernel(bytes, size, name);
    if (!ts_cuda_code_open(&elf, (const uint8_t *)bytes, size)) return false;
    for (uint32_t i = 0; i < elf.symbol_count; i++)
        if (ts__hs_is_variable(&elf, i) &&
            !strcmp(ts_cuda_code_symbol(&elf, i), name))
            return true;
    return false;
}

#endif // TS__HIP_CAPTURE_CODE_H
