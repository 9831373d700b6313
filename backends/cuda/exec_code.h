/*
    cuda/exec_code.h - contents of memory, modules and their variables

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__CUDA_EXEC_CODE_H
#define TS__CUDA_EXEC_CODE_H

#include "tracesmith_replay.h"
#include "../gpu/cuda_abi.h"
#include "exec_memory.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Returns false if the memory is not the executor's, but a module's, for
// example.
static bool ts__cx_device_find(ts__cx *x, uint64_t address, uint32_t *device)
{
    const ts__cx_span *const s = ts__cx_span_of(x, address);
    if (s && s->handle) {
        *device = s->device;
        return true;
    }
    for (size_t i = 0; i < x->other_count; i++) {
        if (address - x->others[i].address >= x->others[i].size) continue;
        *device = x->others[i].device;
        return true;
    }
    return false;
}

static uint32_t ts__cx_device_of(ts__cx *x, uint64_t address)
{
    uint32_t device = 0;
    ts__cx_device_find(x, address, &device);
    return device;
}

static ts_result ts__cx_write(void *state, uint64_t address, const void *bytes,
                              uint64_t size)
{
    ts__cx *const x = state;
    ts__cx_use(x, ts__cx_device_of(x, address));
    return ts__cx_result(x, x->call.write(address, bytes, size));
}

static ts_result ts__cx_read(void *state, void *bytes, uint64_t address,
                             uint64_t size)
{
    ts__cx *const x = state;
    ts__cx_use(x, ts__cx_device_of(x, address));
    return ts__cx_result(x, x->call.read(bytes, address, size));
}

static bool ts__cx_takes(const ts__cx *x, uint32_t form)
{
    if (x->is_hip) return form == TS_CAPTURE_AMD_OBJECT;
    return form == TS_CAPTURE_CUBIN || form == TS_CAPTURE_PTX ||
           form == TS_CAPTURE_FATBIN;
}

static ts_result ts__cx_too_many(ts__cx *x)
{
    x->reason = TS_REASON_TOO_MANY;
    return TS_ERR_UNSUPPORTED;
}

// Returns the end of the last section that has bytes in the file. The contents
// of vendor-specific section types are not checked.
static uint64_t ts__cx_sections_end(const uint8_t *bytes, uint64_t size)
{
    Elf64_Ehdr e;
    Elf64_Shdr s;
    uint64_t most = 0;
    memcpy(&e, bytes, sizeof e);
    for (uint64_t i = 0; i < e.e_shnum && e.e_shentsize == sizeof s; i++) {
        if (e.e_shoff + (i + 1) * sizeof s > size) return UINT64_MAX;
        memcpy(&s, bytes + e.e_shoff + i * sizeof s, sizeof s);
        const bool has = s.sh_type != SHT_NULL && s.sh_type != SHT_NOBITS &&
                         s.sh_type < SHT_LOOS;
        const uint64_t end = ts__cuda_end_of(s.sh_offset, s.sh_size);
        if (has && end > most) most = end;
    }
    return most;
}

// The driver takes the address of code but not its size, so the size that the
// code's own headers give must be within the code.
static bool ts__cx_whole(const ts_executor_code *code)
{
    const uint8_t *const bytes = code->bytes;
    if (code->size < 4 || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return code->form == TS_CAPTURE_PTX || code->form == TS_CAPTURE_FATBIN;
    if (code->size < sizeof(Elf64_Ehdr)) return false;
    return ts_cuda_code_size(bytes) - 1 < code->size &&
           ts__cx_sections_end(bytes, code->size) <= code->size;
}

static ts_result ts__cx_load_code(void *state, const ts_executor_code *code,
                                  uint64_t *module, char *why, size_t room)
{
    ts__cx *const x = state;
    x->reason = TS_REASON_NONE;
    if (!ts__cx_takes(x, code->form)) {
        snprintf(why, room, "its code is not for devices of this vendor");
        return TS_ERR_UNSUPPORTED;
    }
    if (!code->bytes) {
        snprintf(why, room, "the trace does not contain its code");
        return TS_ERR_NOT_FOUND;
    }
    if (!ts__cx_whole(code)) {
        snprintf(why, room, "its file is truncated");
        return TS_ERR_UNSUPPORTED;
    }
    if (x->module_count == TS__CX_MODULES) return ts__cx_too_many(x);
    ts__cx_module *const m = &x->modules[x->module_count];
    m->bytes = calloc(1, (size_t)code->size + 64);
    if (!m->bytes) return TS_ERR_MEMORY;
    memcpy(m->bytes, code->bytes, (size_t)code->size);
    m->size = code->size;
    ts__cx_use(x, 0);
    const int error = x->call.load(&m->loaded[0], m->bytes);
    if (!error) {
        *module = ++x->module_count;
        return TS_OK;
    }
    snprintf(why, room, "the driver cannot load it: %s",
             ts__cx_error(x, error));
    free(m->bytes);
    memset(m, 0, sizeof *m);
    return error == TS__CUDA_NO_MEMORY ? TS_ERR_MEMORY : TS_ERR_UNSUPPORTED;
}

static void *ts__cx_module_on(ts__cx *x, uint64_t module, uint32_t device)
{
    if (!module || module > x->module_count || device >= x->device_count)
        return NULL;
    ts__cx_module *const m = &x->modules[module - 1];
    ts__cx_use(x, device);
    if (!m->loaded[device] &&
        x->call.load(&m->loaded[device], m->bytes) != TS__CUDA_OK)
        m->loaded[device] = NULL;
    return m->loaded[device];
}

// offset: the number of the variable's symbol.
static ts_result ts__cx_global(void *state, uint64_t module, uint32_t device,
                               uint64_t offset, uint64_t size,
                               uint64_t *address)
{
    ts__cx *const x = state;
    void *const loaded = ts__cx_module_on(x, module, device);
    ts_cuda_code code;
    size_t has = 0;
    x->reason = TS_REASON_IMAGE_MISSING;
    if (!loaded || !ts_cuda_code_open(&code, x->modules[module - 1].bytes,
                                      x->modules[module - 1].size))
        return TS_ERR_NOT_FOUND;
    const int error = x->call.global(address, &has, loaded,
                                     ts_cuda_code_symbol(&code, offset));
    return error || has != size ? TS_ERR_NOT_FOUND : TS_OK;
}

#endif // TS__CUDA_EXEC_CODE_H
