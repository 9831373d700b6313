/*
    hip/capture_variables.h - images of code, and the variables in them

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Gives a capture the bytes of the code that it uses, once, and the device
    addresses of its variables: of a module by their names, of a file by the
    host's variables of the same names, by which HIP knows them. So the
    variable of a copy to or from a symbol is found, too.

    CONTENTS                            search for "==== 2." to jump
        1. Addresses
        2. Variables that go
        3. Images
        4. Symbols of the host
*/
#ifndef TS__HIP_CAPTURE_VARIABLES_H
#define TS__HIP_CAPTURE_VARIABLES_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "../gpu/cuda_abi.h"
#include "../gpu/driver.h"
#include "../gpu/driver_requests.h"
#include "../gpu/exclusive.h"
#include "../gpu/memory.h"
#include "../gpu/operations.h"
#include "../gpu/state.h"
#include "../gpu/waiting.h"
#include "capture_code.h"
#include "capture_driver.h"
#include "capture_files.h"
#include "capture_functions.h"

#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ==== 1. Addresses ======================================================= */

static bool ts__hs_query_symbol(ts__cs_job *job)
{
    return ts__hs_call.symbol &&
           ts__hs_call.symbol(&job->address, job->object) == 0;
}

// Returns the address of the host variable of the same name, by which HIP
// identifies the variable.
static uint64_t ts__hs_shadow(const ts_cuda_code *file, uint64_t base,
                              const char *name)
{
    for (uint32_t i = 0; i < file->symbol_count; i++)
        if (ELF64_ST_TYPE(file->symbols[i].st_info) == STT_OBJECT &&
            file->symbols[i].st_shndx != SHN_UNDEF &&
            !strcmp(ts_cuda_code_symbol(file, i), name))
            return base + file->symbols[i].st_value;
    return 0;
}

static void ts__hs_variables(const ts__cs_call *c, const ts__hs_code *code)
{
    ts_cuda_code elf, host;
    ts__hs_file file;
    ts__cs_job job;
    memset(&file, 0, sizeof file);
    memset(&host, 0, sizeof host);
    if (code->gone || !ts_cuda_code_open(&elf, code->bytes, code->size)) return;
    if (code->from && ts__hs_file_open(&file, (uintptr_t)code->from))
        ts_cuda_code_open(&host, file.bytes, file.size);
    for (uint32_t i = 0; i < elf.symbol_count; i++) {
        if (!ts__hs_is_variable(&elf, i)) continue;
        memset(&job, 0, sizeof job);
        job.what = code->from ? TS__CS_OWN : TS__CS_GLOBAL;
        job.own = ts__hs_query_symbol;
        job.context = c->context;
        job.name = ts_cuda_code_symbol(&elf, i);
        job.size = elf.symbols[i].st_size;
        job.object = code->module;
        if (code->from)
            job.object =
                (void *)(uintptr_t)ts__hs_shadow(&host, code->base, job.name);
        if (!job.object ||
            !ts__cs_request(&ts__cs.driver, &job, ts__cs.reads_until_ns))
            continue;
        // A variable of unloaded code.
        ts_capture_free(&ts__cs.memory, job.address);
        ts_capture_global(&ts__cs.memory, job.address, job.size, c->device,
                          code->image, i);
    }
    ts__hs_file_close(&file);
}

/* ==== 2. Variables that go =============================================== */

// Removes the variables of code whose addresses may be reused. The caller holds
// `memory_lock`.
static void ts__hs_variables_go(const ts__hs_code *code)
{
    for (size_t i = ts__cs.memory.count; code->image && i--;)
        if (ts__cs.memory.ranges[i].image == code->image)
            ts_capture_free(&ts__cs.memory, ts__cs.memory.ranges[i].address);
}

// Removes the variables of unloaded files. The caller holds `memory_lock`.
static void ts__hs_files_go(void)
{
    pthread_mutex_lock(&ts__hs.lock);
    for (size_t i = 0; i < ts__hs.code_count; i++) {
        ts__hs_code *const c = ts__hs.codes[i];
        if (!c->gone) continue;
        ts__hs_variables_go(c);
        c->image = 0;
    }
    pthread_mutex_unlock(&ts__hs.lock);
}

// After a device reset the addresses of its variables are queried again.
static void ts__hs_device_left(uint32_t device)
{
    pthread_mutex_lock(&ts__cs.memory_lock);
    pthread_mutex_lock(&ts__hs.lock);
    for (size_t i = 0; i < ts__hs.code_count; i++) {
        ts__hs_code *const c = ts__hs.codes[i];
        if (c->device != device) continue;
        ts__hs_variables_go(c);
        c->image = 0;
    }
    pthread_mutex_unlock(&ts__hs.lock);
    pthread_mutex_unlock(&ts__cs.memory_lock);
}

/* ==== 3. Images ========================================================== */

// Stores the code's bytes and adds its variables, once per capture.
static uint32_t ts__hs_image(const ts__cs_call *c, ts__hs_code *code)
{
    char name[300];
    ts_capture_code s;
    ts__hs_files_go();
    if (code->image) return code->image;
    snprintf(name, sizeof name,
             code->from ? "code object %u of %s" : "code object %u of HIP%s",
             code->number, code->path);
    memset(&s, 0, sizeof s);
    s.vendor = "hip";
    s.path = name;
    s.bytes = code->bytes;
    s.size = code->size;
    s.form = TS_CAPTURE_AMD_OBJECT;
    code->image = ts_capture_image_add(&s);
    if (code->image) ts__hs_variables(c, code);
    return code->image;
}

/* ==== 4. Symbols of the host ============================================= */

// Returns the device variable for a host variable, as if it were a host
// function.
static ts__hs_function *ts__hs_variable_of(const void *symbol, uint32_t device)
{
    ts_cuda_code host;
    ts__hs_file file;
    ts__hs_function f = { symbol, NULL, NULL, device, true, false };
    const char *name = NULL;
    memset(&host, 0, sizeof host);
    if (ts__hs_file_open(&file, (uintptr_t)symbol))
        ts_cuda_code_open(&host, file.bytes, file.size);
    for (uint32_t i = 0; i < host.symbol_count && !name; i++)
        if (ELF64_ST_TYPE(host.symbols[i].st_info) == STT_OBJECT &&
            host.symbols[i].st_value == (uintptr_t)symbol - file.base)
            name = ts_cuda_code_symbol(&host, i);
    if (name)
        f.code = ts__hs_file_search(&file, name, true, device, &f.not_reported);
    ts__hs_function *const known = name ? ts__hs_function_put(&f, name) : NULL;
    ts__hs_file_close(&file);
    return known;
}

// Returns the address, on a call's device, of the variable that the host
// identifies by a symbol, and adds it to the captures' memory. 0: not found.
static uint64_t ts__hs_symbol_at(const ts__cs_call *c, const void *symbol)
{
    const uint32_t device = ts__hs_device_of(c->context);
    ts__cs_job job;
    if (!ts_capture_on() || !ts__cs_is_safe(c->context)) return 0;
    ts__hs_functions_check();
    const ts__hs_function *v = ts__hs_function_find(symbol, true, device);
    if (!v) v = ts__hs_variable_of(symbol, device);
    if (!v || !v->code) return 0;
    pthread_mutex_lock(&ts__cs.memory_lock);
    ts__cs_fresh();
    ts__cs.reads_until_ns = ts__cs_until();
    ts__hs_image(c, v->code);
    pthread_mutex_unlock(&ts__cs.memory_lock);
    memset(&job, 0, sizeof job);
    job.what = TS__CS_OWN;
    job.own = ts__hs_query_symbol;
    job.context = c->context;
    memcpy(&job.object, &symbol, sizeof symbol);
    return ts__cs_request(&ts__cs.driver, &job, ts__cs_until()) ? job.address
                                                                : 0;
}

#endif // TS__HIP_CAPTURE_VARIABLES_H
