/*
    opencl/programs.h - contexts, programs and samplers that a program makes

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__OPENCL_PROGRAMS_H
#define TS__OPENCL_PROGRAMS_H

#include "tracesmith.h"
#include "abi.h"
#include "calls.h"
#include "capture_kernels.h"
#include "device_hash.h"
#include "objects.h"

#include <pthread.h>

// A context was created, perhaps with a reused handle.
static void ts__cl_context_new(ts__cl_handle handle)
{
    ts__cl_held_new(handle);
    ts__cl_context *const c =
        (ts__cl_context *)ts__cl_find(TS__CL_CONTEXT, handle);
    if (!c) return;
    pthread_mutex_lock(&ts__cl.define);
    c->number = ts__cl_number(TS__CL_CONTEXT);
    c->count = 0;
    pthread_mutex_unlock(&ts__cl.define);
}

// Specialisation constants are not in the code that the program was created
// from.
static int32_t ts__cl_clSetProgramSpecializationConstant(ts__cl_handle program,
                                                         uint32_t id,
                                                         size_t size,
                                                         const void *value)
{
    const int32_t result = ts__cl.next.clSetProgramSpecializationConstant(
        program, id, size, value);
    ts__cl_entry *const e = result == TS__CL_SUCCESS && !TS__LOAD(&ts__cl.off)
                                ? ts__cl_entry_make(TS__CL_PROGRAM, program)
                                : NULL;
    if (e) ts__cl_set(e, e);
    return result;
}

// A sampler was created, or another object with a reused handle: then a
// kernel's argument is of that other kind.
static void ts__cl_sampler_new(ts__cl_handle made)
{
    ts__cl_entry *const e = ts__cl_entry_make(TS__CL_SAMPLER, made);
    if (e) ts__cl_set(e, e);
}

TS__CL_MAKES(clCreateContext,
             (const intptr_t *properties, uint32_t count,
              const ts__cl_handle *devices, ts__cl_notify notify, void *user,
              int32_t *error),
             (properties, count, devices, notify, user, error),
             ts__cl_context_new(made))
TS__CL_MAKES(clCreateContextFromType,
             (const intptr_t *properties, uint64_t type, ts__cl_notify notify,
              void *user, int32_t *error),
             (properties, type, notify, user, error), ts__cl_context_new(made))
TS__CL_MAKES(clCreateProgramWithSource,
             (ts__cl_handle context, uint32_t count, const char **texts,
              const size_t *sizes, int32_t *error),
             (context, count, texts, sizes, error), ts__cl_program_new(made))
TS__CL_MAKES(clCreateProgramWithBinary,
             (ts__cl_handle context, uint32_t count,
              const ts__cl_handle *devices, const size_t *sizes,
              const unsigned char **binaries, int32_t *status, int32_t *error),
             (context, count, devices, sizes, binaries, status, error),
             ts__cl_binary_new(made, count, sizes, binaries))
TS__CL_MAKES(clCreateProgramWithIL,
             (ts__cl_handle context, const void *bytes, size_t size,
              int32_t *error),
             (context, bytes, size, error), ts__cl_program_new(made))
TS__CL_MAKES(clLinkProgram,
             (ts__cl_handle context, uint32_t count,
              const ts__cl_handle *devices, const char *options,
              uint32_t program_count, const ts__cl_handle *programs,
              ts__cl_notify notify, void *user, int32_t *error),
             (context, count, devices, options, program_count, programs, notify,
              user, error),
             ts__cl_binary_new(made, 0, NULL, NULL))

TS__CL_MAKES(clCreateSampler,
             (ts__cl_handle context, uint32_t normalized, uint32_t addressing,
              uint32_t filter, int32_t *error),
             (context, normalized, addressing, filter, error),
             ts__cl_sampler_new(made))
TS__CL_MAKES(clCreateSamplerWithProperties,
             (ts__cl_handle context, const uint64_t *properties,
              int32_t *error),
             (context, properties, error), ts__cl_sampler_new(made))

// Defines functions of which only the call is recorded.
#define TS__CL_CALLS(name, params, args) \
    static int32_t ts__cl_##name params \
    { \
        ts__cl_call call; \
        ts__cl_enter(&call, TS__CL_##name); \
        const int32_t result = ts__cl.next.name args; \
        ts__cl_leave(&call, result); \
        return result; \
    }
TS__CL_CALLS(clBuildProgram,
             (ts__cl_handle program, uint32_t count,
              const ts__cl_handle *devices, const char *options,
              ts__cl_notify notify, void *user),
             (program, count, devices, options, notify, user))
TS__CL_CALLS(clCompileProgram,
             (ts__cl_handle program, uint32_t count,
              const ts__cl_handle *devices, const char *options,
              uint32_t header_count, const ts__cl_handle *headers,
              const char **names, ts__cl_notify notify, void *user),
             (program, count, devices, options, header_count, headers, names,
              notify, user))
TS__CL_CALLS(clFlush, (ts__cl_handle queue), (queue))

#endif // TS__OPENCL_PROGRAMS_H
