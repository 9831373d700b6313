/*
    opencl/exec_programs.h - programs, and kernels of them

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__OPENCL_EXEC_PROGRAMS_H
#define TS__OPENCL_EXEC_PROGRAMS_H

#include "tracesmith_replay.h"
#include "exec_abi.h"
#include "exec_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Copies the beginning of the build log, at most three lines.
static void ts__ox_log(const ts__ox *x, ts__ox_handle program, char *why,
                       size_t room)
{
    size_t size = 0;
    char *log = NULL;
    snprintf(why, room, "the program cannot be built");
    x->cl.clGetProgramBuildInfo(program, x->devices[0],
                                TS__OX_PROGRAM_BUILD_LOG, 0, NULL, &size);
    if (size > 1 && size < 1 << 24) log = calloc(1, size + 1);
    if (log && x->cl.clGetProgramBuildInfo(program, x->devices[0],
                                           TS__OX_PROGRAM_BUILD_LOG, size, log,
                                           NULL) == 0) {
        size_t end = strspn(log, " \n");
        const char *const text = log + end;
        for (int lines = 0; lines < 3; lines++)
            end += strcspn(log + end, "\n") + (log[end] == '\n');
        log[end] = 0;
        if (*text)
            snprintf(why, room, "the program cannot be built:\n%s", text);
    }
    free(log);
}

// A binary is for one device; tries the devices in order.
static ts__ox_handle ts__ox_from_binary(const ts__ox *x,
                                        const ts_executor_code *code,
                                        int32_t *error)
{
    const unsigned char *const bytes = code->bytes;
    const size_t size = (size_t)code->size;
    for (uint32_t i = 0; i < x->device_count; i++) {
        int32_t status = 0;
        const unsigned char *binaries[1] = { bytes };
        const ts__ox_handle program = x->cl.clCreateProgramWithBinary(
            x->context, 1, &x->devices[i], &size, binaries, &status, error);
        if (program && !status) return program;
        if (program) x->cl.clReleaseProgram(program);
    }
    return NULL;
}

static ts__ox_handle
ts__ox_program(const ts__ox *x, const ts_executor_code *code, int32_t *error)
{
    const size_t size = (size_t)code->size;
    const char *text = code->bytes;
    switch (code->form) {
    case TS_CAPTURE_OPENCL_C:
        return x->cl.clCreateProgramWithSource(x->context, 1, &text, &size,
                                               error);
    case TS_CAPTURE_SPIRV:
        return x->cl.clCreateProgramWithIL
                   ? x->cl.clCreateProgramWithIL(x->context, code->bytes, size,
                                                 error)
                   : NULL;
    case TS_CAPTURE_DEVICE_BINARY: return ts__ox_from_binary(x, code, error);
    default: return NULL;
    }
}

static ts_result ts__ox_load(void *state, const ts_executor_code *code,
                             uint64_t *module, char *why, size_t room)
{
    ts__ox *const x = state;
    int32_t error = 0;
    x->reason = TS_REASON_NONE;
    snprintf(why, room, "the trace does not contain its code");
    if (!code->bytes || !code->size) return TS_ERR_NOT_FOUND;
    snprintf(why, room, "its code is not for a device of this machine");
    const ts__ox_handle program = ts__ox_program(x, code, &error);
    if (!program) return TS_ERR_UNSUPPORTED;
    error = x->cl.clBuildProgram(
        program, 0, NULL, code->options ? code->options : "", NULL, NULL);
    ts__ox_handle *const made =
        error ? NULL : ts__ox_add(&x->modules, sizeof *made);
    if (made) {
        *made = program;
        *module = x->modules.count;
        return TS_OK;
    }
    if (error) ts__ox_log(x, program, why, room);
    x->cl.clReleaseProgram(program);
    return error ? TS_ERR_UNSUPPORTED : TS_ERR_MEMORY;
}

// OpenCL variables have no addresses that a host can get, and captures contain
// none.
static ts_result ts__ox_global(void *state, uint64_t module, uint32_t device,
                               uint64_t offset, uint64_t size,
                               uint64_t *address)
{
    (void)module;
    (void)device;
    (void)offset;
    (void)size;
    (void)address;
    return ts__ox_fail(state, TS_REASON_BAD_CAPTURE);
}

static ts_result ts__ox_kernel_find(ts__ox *x, const ts_executor_launch *l,
                                    ts__ox_kernel **found)
{
    ts__ox_kernel *const all = x->kernels.items;
    const char *const name = l->name ? l->name : "";
    int32_t error = 0;
    for (size_t i = 0; i < x->kernels.count; i++) {
        *found = &all[i];
        if (all[i].module == l->module && !strcmp(all[i].name, name))
            return TS_OK;
    }
    if (!l->module || l->module > x->modules.count ||
        strlen(name) >= sizeof all->name)
        return ts__ox_fail(x, TS_REASON_IMAGE_MISSING);
    const ts__ox_handle kernel = x->cl.clCreateKernel(
        ((ts__ox_handle *)x->modules.items)[l->module - 1], name, &error);
    if (!kernel) return ts__ox_fail(x, TS_REASON_IMAGE_MISSING);
    *found = ts__ox_add(&x->kernels, sizeof **found);
    if (!*found) {
        x->cl.clReleaseKernel(kernel);
        return TS_ERR_MEMORY;
    }
    (*found)->module = l->module;
    (*found)->kernel = kernel;
    memcpy((*found)->name, name, strlen(name) + 1);
    return ts__ox_result(x->cl.clGetKernelInfo(kernel, TS__OX_KERNEL_NUM_ARGS,
                                               sizeof(*found)->arg_count,
                                               &(*found)->arg_count, NULL));
}

#endif // TS__OPENCL_EXEC_PROGRAMS_H
