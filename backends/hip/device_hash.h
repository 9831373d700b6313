/*
    hip/device_hash.h - the kernel that hashes, compiled by hiprtc

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: libhiprtc.so, found when memory of a device is first
                    hashed.
    Checked with:   a double of it (tests/doubles/), the header of HIP 5.2;
                    the source by clang 14 for gfx906, gfx90a and gfx1030.
                    November 2026. Not run on hardware.

    A code object is for one kind of device. So capture/hash.cl is compiled
    when it is needed, once for each kind, by the hiprtc in the folder of
    the runtime. The result is tested as on other devices
    (gpu/device_hash.h).
*/
#ifndef TS__HIP_DEVICE_HASH_H
#define TS__HIP_DEVICE_HASH_H

#include "../gpu/device_hash.h"
#include "../gpu/driver.h"
#include "capture_code.h"
#include "capture_driver.h"
#include "hash_text.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Source: hip/hiprtc.h.
typedef struct ts__hs_compiler {
    int (*create)(void **program, const char *text, const char *name, int count,
                  const char *const *headers, const char *const *names);
    int (*compile)(void *program, int count, const char *const *options);
    int (*size)(void *program, size_t *size);
    int (*code)(void *program, char *code);
    int (*destroy)(void **program);
} ts__hs_compiler;

// The last compiled kernel. Only the thread that calls HIP uses it.
static struct {
    char architecture[64];
    char *code;
    size_t size;
} ts__hs_hash;

// Opens hiprtc of the runtime's version from its folder, else any other.
static void *ts__hs_compiler_open(void)
{
    char name[4200];
    Dl_info info;
    void *runtime, *library = NULL;
    int version = 0, folder = 0;
    memcpy(&runtime, &ts__hs_call.device_set, sizeof runtime);
    if (ts__hs_call.version) ts__hs_call.version(&version);
    if (dladdr(runtime, &info) && strrchr(info.dli_fname, '/'))
        folder = (int)(strrchr(info.dli_fname, '/') + 1 - info.dli_fname);
    for (int i = 0; i < 4 && !library; i++) {
        const int used = snprintf(name, sizeof name, "%.*slibhiprtc.so",
                                  i < 2 ? folder : 0, info.dli_fname);
        if (i % 2 == 0 && used > 0 && (size_t)used < sizeof name - 16)
            snprintf(name + used, 16, ".%d", version / 10000000);
        library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

static bool ts__hs_compiler_find(ts__hs_compiler *c)
{
    void *const library = ts__hs_compiler_open();
    if (!library) return false;
    ts__hs_symbol(library, "hiprtcCreateProgram", &c->create);
    ts__hs_symbol(library, "hiprtcCompileProgram", &c->compile);
    ts__hs_symbol(library, "hiprtcGetCodeSize", &c->size);
    ts__hs_symbol(library, "hiprtcGetCode", &c->code);
    ts__hs_symbol(library, "hiprtcDestroyProgram", &c->destroy);
    return c->create && c->compile && c->size && c->code && c->destroy;
}

// Compiles the text; the result is in ts__hs_hash.
static bool ts__hs_compile(const ts__hs_compiler *c, const char *text,
                           const char *architecture)
{
    char option[96];
    const char *const options[] = { option };
    void *program = NULL;
    size_t size = 0;
    snprintf(option, sizeof option, "--offload-arch=%s", architecture);
    if (c->create(&program, text, "ts_hash.hip", 0, NULL, NULL) != 0)
        return false;
    char *const code = c->compile(program, 1, options) == 0 &&
                               c->size(program, &size) == 0 && size
                           ? (char *)malloc(size)
                           : NULL;
    const bool done = code && c->code(program, code) == 0;
    c->destroy(&program);
    free(done ? ts__hs_hash.code : code);
    if (!done) return false;
    ts__hs_hash.code = code;
    ts__hs_hash.size = size;
    snprintf(ts__hs_hash.architecture, sizeof ts__hs_hash.architecture, "%s",
             architecture);
    return true;
}

static bool ts__hs_hash_make(ts__cs_own *own, const char *architecture)
{
    const size_t parts = sizeof ts__hip_hash_text / sizeof *ts__hip_hash_text;
    ts__hs_compiler c;
    if (ts__hs_hash.code && !strcmp(ts__hs_hash.architecture, architecture))
        return true;
    own->wrong = "on the host: hiprtc was not found, or the type of the device "
                 "is unknown";
    if (!*architecture || !ts__hs_compiler_find(&c)) return false;
    own->wrong = "on the host: hiprtc cannot compile the kernel";
    char *const text = ts__cs_text_of(ts__hip_hash_text, parts);
    const bool done = text && ts__hs_compile(&c, text, architecture);
    free(text);
    if (done) own->wrong = NULL;
    return done;
}

// Implements `hash_code` of ts__cs_vendor.
static char *ts__hs_hash_code(ts__cs_own *own)
{
    const char *const architecture =
        ts__hs_architecture(ts__hs_device_of(own->context));
    if (!ts__hs_hash_make(own, architecture)) return NULL;
    char *const code = (char *)malloc(ts__hs_hash.size);
    if (code) memcpy(code, ts__hs_hash.code, ts__hs_hash.size);
    return code;
}

#endif // TS__HIP_DEVICE_HASH_H
