/*
    hip/capture_launches.h - the code and arguments of a launch, and calls
    that change them

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__HIP_CAPTURE_LAUNCHES_H
#define TS__HIP_CAPTURE_LAUNCHES_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "../gpu/memory.h"
#include "../gpu/modules.h"
#include "../gpu/operations.h"
#include "../gpu/state.h"
#include "../gpu/textures.h"
#include "capture_arguments.h"
#include "capture_calls.h"
#include "capture_code.h"
#include "capture_driver.h"
#include "capture_functions.h"
#include "capture_variables.h"
#include "code.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ==== 1. Launches ======================================================== */

// base: offset of these arguments in the operation's.
static void ts__hs_parameters(ts_capture_op *op, const ts__amd_kernel *k,
                              const uint8_t *args, uint32_t base)
{
    for (uint32_t i = 0; i < k->count; i++) {
        const uint32_t *const p = k->parameters[i];
        uint64_t value = 0;
        if (p[1] >= 8) {
            memcpy(&value, args + p[0], sizeof value);
            ts__cs_look_up(value);
        }
        const ts__cs_range *const range = ts__cs_range_of(value);
        ts_capture_param_add(op, base + p[0], p[1],
                             k->pointers[i] && range && !range->host
                                 ? TS_PARAM_POINTER
                                 : TS_PARAM_UNKNOWN);
    }
}

static ts__cs_layout ts__hs_layout(ts__amd_kernel *k)
{
    ts__cs_layout layout = { k->count, 0, k->parameters };
    for (uint32_t i = 0; i < k->count; i++)
        if (k->parameters[i][0] + k->parameters[i][1] > layout.size)
            layout.size = k->parameters[i][0] + k->parameters[i][1];
    return layout;
}

static void ts__hs_kernel(const ts__cs_call *c, ts_capture_op *op,
                          bool exclusive, void *function, void **each,
                          void **more, uint8_t **args)
{
    ts__amd_kernel k;
    (void)function;
    if (!exclusive) return;
    const ts__hs_function *const f = ts__hs_function_of(c);
    ts__hs_code *const code = f ? f->code : NULL;
    if (code) op->head.image = ts__hs_image(c, code);
    if (!op->head.image) {
        ts_capture_decline(op, TS_REASON_IMAGE_MISSING);
        return;
    }
    const bool reported =
        ts__amd_kernel_read(&k, code->bytes, code->size, f->name);
    const ts__cs_layout layout = ts__hs_layout(&k);
    if (!reported || !ts__cs_flatten(&layout, each, more, op, args))
        ts_capture_decline(op, TS_REASON_PARAM_LAYOUT_UNKNOWN);
    else
        ts__hs_parameters(op, &k, *args, 0);
    ts__cs_textures_used(op, *args, op->head.args_size, 0);
}

/* ==== 2. What calls change =============================================== */

static void ts__hs_module_gone(const void *module)
{
    const ts__hs_code *code = NULL;
    pthread_mutex_lock(&ts__hs.lock);
    for (size_t i = 0; module && i < ts__hs.code_count; i++)
        if (ts__hs.codes[i]->module == module) {
            code = ts__hs.codes[i];
            ts__hs.codes[i]->module = NULL;
        }
    for (size_t i = 0; i < ts__hs.function_count; i++)
        if (ts__hs.functions[i]->code && !ts__hs.functions[i]->of_host &&
            !ts__hs.functions[i]->code->module)
            ts__hs.functions[i]->handle = NULL;
    pthread_mutex_unlock(&ts__hs.lock);
    pthread_mutex_lock(&ts__cs.memory_lock);
    if (code) ts__hs_variables_go(code);
    pthread_mutex_unlock(&ts__cs.memory_lock);
}

static void ts__hs_module(const ts__cs_call *c, const void *image,
                          uint64_t size)
{
    void *const module = (void *)(uintptr_t)ts__cs_pointed(c, 0);
    ts__hs_code about;
    if (!module || !image) return;
    memset(&about, 0, sizeof about);
    about.device = ts__hs_device_of(c->context);
    about.module = module;
    ts__hs_module_gone(module); // an earlier module with the same handle
    ts__hs_code_add(image, size, &about);
}

static void ts__hs_module_file(const ts__cs_call *c)
{
    const char *const path = (const char *)(uintptr_t)ts__cs_argument(c, 8);
    struct stat about;
    const int fd = path ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    if (fd < 0) return;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
        void *const bytes =
            mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            ts__hs_module(c, bytes, (uint64_t)about.st_size);
            munmap(bytes, (size_t)about.st_size);
        }
    }
    close(fd);
}

static void ts__hs_function_got(const ts__cs_call *c)
{
    const void *const module = (const void *)(uintptr_t)ts__cs_argument(c, 8);
    const char *const name = (const char *)(uintptr_t)ts__cs_argument(c, 16);
    ts__hs_function f = { (const void *)(uintptr_t)ts__cs_pointed(c, 0),
                          NULL,
                          NULL,
                          0,
                          false,
                          false };
    if (!f.handle || !name) return;
    pthread_mutex_lock(&ts__hs.lock);
    for (size_t i = 0; module && i < ts__hs.code_count; i++)
        if (ts__hs.codes[i]->module == module) f.code = ts__hs.codes[i];
    pthread_mutex_unlock(&ts__hs.lock);
    ts__hs_function_put(&f, name);
}

// Handles a successful call that has no counterpart in CUDA's driver.
static void ts__hs_call_completed(const ts__cs_call *c)
{
    switch (c->rule->kind) {
    case TS__HS_MODULE: // the size is unknown
        ts__hs_module(c, (const void *)(uintptr_t)ts__cs_argument(c, 8),
                      UINT64_MAX / 2);
        break;
    case TS__HS_MODULE_FILE: ts__hs_module_file(c); break;
    case TS__HS_FUNCTION: ts__hs_function_got(c); break;
    case TS__HS_CONFIGURED:
        ts__hs_configured((const char *)c->arguments, TS__LOAD(&ts__cs.on));
        break;
    case TS__HS_ARGUMENT_SET:
        ts__hs_argument_set((const char *)c->arguments);
        break;
    default: break;
    }
}

#endif // TS__HIP_CAPTURE_LAUNCHES_H
