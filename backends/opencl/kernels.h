/*
    opencl/kernels.h - kernels and their arguments

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__OPENCL_KERNELS_H
#define TS__OPENCL_KERNELS_H

#include "tracesmith.h"
#include "../ts_filter.h"
#include "abi.h"
#include "calls.h"
#include "memory.h"
#include "objects.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// Returns the kernel's name; the caller frees it. Names made of templates have
// no maximum length.
static char *ts__cl_kernel_name(ts__cl_handle handle)
{
    size_t size = 0;
    ts__cl.next.clGetKernelInfo(handle, TS__CL_KERNEL_FUNCTION_NAME, 0, NULL,
                                &size);
    char *const name = size ? (char *)calloc(1, size + 1) : NULL;
    if (name && ts__cl.next.clGetKernelInfo(handle, TS__CL_KERNEL_FUNCTION_NAME,
                                            size, name, NULL) == TS__CL_SUCCESS)
        return name;
    free(name);
    return strdup("kernel");
}

// Queries a kernel that is new or has a reused handle.
static ts__cl_kernel *ts__cl_kernel_define(ts__cl_handle handle)
{
    uint32_t count = 0;
    ts__cl_entry *const e = ts__cl_entry_make(TS__CL_KERNEL, handle);
    ts__cl_kernel *k = e ? (ts__cl_kernel *)e->data : NULL;
    if (e && !k && (k = (ts__cl_kernel *)calloc(1, sizeof *k)) != NULL)
        pthread_mutex_init(&k->lock, NULL);
    if (!k) return NULL;
    ts__cl.next.clGetKernelInfo(handle, TS__CL_KERNEL_NUM_ARGS, sizeof count,
                                &count, NULL);
    ts__cl.next.clGetKernelInfo(handle, TS__CL_KERNEL_PROGRAM,
                                sizeof k->program, &k->program, NULL);
    pthread_mutex_lock(&k->lock);
    free(k->name);
    for (uint32_t i = 0; i < k->argument_count; i++)
        free(k->arguments[i].bytes);
    free(k->arguments);
    k->handle = handle;
    k->svm = false;
    k->capture = 0;
    k->name = ts__cl_kernel_name(handle);
    k->arguments =
        (ts__cl_argument *)calloc(count ? count : 1, sizeof *k->arguments);
    k->argument_count = k->arguments ? count : 0;
    k->modes = false;
    k->device = NULL;
    pthread_mutex_unlock(&k->lock);
    ts__cl_set(e, k);
    return k;
}

static ts__cl_kernel *ts__cl_kernel_get(ts__cl_handle handle)
{
    ts__cl_kernel *const k =
        (ts__cl_kernel *)ts__cl_find(TS__CL_KERNEL, handle);
    return k || !handle ? k : ts__cl_kernel_define(handle);
}

TS__CL_MAKES(clCreateKernel,
             (ts__cl_handle program, const char *name, int32_t *error),
             (program, name, error), (void)ts__cl_kernel_define(made))

static int32_t ts__cl_clCreateKernelsInProgram(ts__cl_handle program,
                                               uint32_t room,
                                               ts__cl_handle *kernels,
                                               uint32_t *count)
{
    ts__cl_call call;
    uint32_t own = 0;
    if (!count) count = &own;
    ts__cl_enter(&call, TS__CL_clCreateKernelsInProgram);
    const int32_t result =
        ts__cl.next.clCreateKernelsInProgram(program, room, kernels, count);
    for (uint32_t i = 0; result == TS__CL_SUCCESS && kernels && i < *count &&
                         i < room && !TS__LOAD(&ts__cl.off);
         i++)
        ts__cl_kernel_define(kernels[i]);
    ts__cl_leave(&call, result);
    return result;
}

static void ts__cl_arguments_copy(ts__cl_kernel *to, const ts__cl_kernel *from)
{
    to->svm = from->svm;
    for (uint32_t i = 0; i < to->argument_count; i++) {
        ts__cl_argument *const a = &to->arguments[i];
        const uint8_t *const bytes = from->arguments[i].bytes;
        *a = from->arguments[i];
        a->bytes = bytes ? (uint8_t *)malloc(a->size) : NULL;
        if (a->bytes) memcpy(a->bytes, bytes, a->size);
    }
}

static ts__cl_handle ts__cl_clCloneKernel(ts__cl_handle kernel, int32_t *error)
{
    ts__cl_handle const made = ts__cl.next.clCloneKernel(kernel, error);
    const ts__cl_kernel *const from =
        (const ts__cl_kernel *)ts__cl_find(TS__CL_KERNEL, kernel);
    ts__cl_kernel *const to =
        made && !TS__LOAD(&ts__cl.off) ? ts__cl_kernel_define(made) : NULL;
    if (from && to && from->argument_count == to->argument_count)
        ts__cl_arguments_copy(to, from);
    return made;
}

// Argument values are stored when they are set and examined when the kernel is
// enqueued. OpenCL requires that a program sets those of one kernel on one
// thread at a time. The calls are not recorded, because there are many and they
// do nothing on a device.
static ts__cl_argument *ts__cl_argument_of(ts__cl_handle kernel, uint32_t index)
{
    if (TS__LOAD(&ts__cl.off)) return NULL;
    const ts__cl_kernel *const k = ts__cl_kernel_get(kernel);
    return k && index < k->argument_count ? &k->arguments[index] : NULL;
}

static int32_t ts__cl_clSetKernelArg(ts__cl_handle kernel, uint32_t index,
                                     size_t size, const void *value)
{
    const int32_t result =
        ts__cl.next.clSetKernelArg(kernel, index, size, value);
    ts__cl_argument *const a =
        result == TS__CL_SUCCESS ? ts__cl_argument_of(kernel, index) : NULL;
    if (!a) return result;
    const bool fits = size <= sizeof a->value;
    if (fits || size != a->size) {
        free(a->bytes);
        a->bytes = value && !fits ? (uint8_t *)malloc(size) : NULL;
    }
    a->size = (uint32_t)size;
    a->local = value ? 0 : (uint32_t)size;
    a->value = 0;
    a->pointer = false;
    if (value && fits) memcpy(&a->value, value, size);
    if (value && a->bytes) memcpy(a->bytes, value, size);
    return result;
}

static int32_t ts__cl_clSetKernelArgSVMPointer(ts__cl_handle kernel,
                                               uint32_t index,
                                               const void *value)
{
    const int32_t result =
        ts__cl.next.clSetKernelArgSVMPointer(kernel, index, value);
    ts__cl_argument *const a =
        result == TS__CL_SUCCESS ? ts__cl_argument_of(kernel, index) : NULL;
    if (!a) return result;
    free(a->bytes);
    a->bytes = NULL;
    a->size = sizeof value;
    a->local = 0;
    a->value = (uint64_t)(uintptr_t)value;
    a->pointer = true;
    return result;
}

// Memory that a kernel reaches without arguments.
static int32_t ts__cl_clSetKernelExecInfo(ts__cl_handle kernel, uint32_t what,
                                          size_t size, const void *value)
{
    const int32_t result =
        ts__cl.next.clSetKernelExecInfo(kernel, what, size, value);
    ts__cl_kernel *const k = result == TS__CL_SUCCESS && !TS__LOAD(&ts__cl.off)
                                 ? ts__cl_kernel_get(kernel)
                                 : NULL;
    if (k) k->svm = true;
    return result;
}

// Determines how a kernel accesses its arguments: as declared, if the program
// was built with -cl-kernel-arg-info, else as its buffers allow.
static void ts__cl_kernel_modes(ts__cl_kernel *k)
{
    k->modes = true;
    for (uint32_t i = 0; i < k->argument_count; i++) {
        uint32_t where = 0, how = 0;
        uint64_t type = 0;
        k->arguments[i].mode = 0;
        k->arguments[i].where = 0;
        if (ts__cl.next.clGetKernelArgInfo(k->handle, i,
                                           TS__CL_KERNEL_ARG_ADDRESS_QUALIFIER,
                                           sizeof where, &where, NULL) ||
            ts__cl.next.clGetKernelArgInfo(k->handle, i,
                                           TS__CL_KERNEL_ARG_ACCESS_QUALIFIER,
                                           sizeof how, &how, NULL) ||
            ts__cl.next.clGetKernelArgInfo(k->handle, i,
                                           TS__CL_KERNEL_ARG_TYPE_QUALIFIER,
                                           sizeof type, &type, NULL))
            return;
        // A pipe is memory of unknown layout.
        k->arguments[i].where = type & TS__CL_KERNEL_ARG_TYPE_PIPE
                                    ? TS__CL_KERNEL_ARG_ADDRESS_GLOBAL
                                    : where;
        if (where == TS__CL_KERNEL_ARG_ADDRESS_CONSTANT ||
            how == TS__CL_KERNEL_ARG_ACCESS_READ_ONLY ||
            type & TS__CL_KERNEL_ARG_TYPE_CONST)
            k->arguments[i].mode = TS_ACCESS_READ;
        if (how == TS__CL_KERNEL_ARG_ACCESS_WRITE_ONLY)
            k->arguments[i].mode = TS_ACCESS_WRITE;
    }
}

// Queries a kernel's resources on a device, at its first launch there.
static void ts__cl_kernel_measure(ts__cl_kernel *k, const ts__cl_device *d)
{
    uint64_t shared = 0, local = 0;
    size_t required[3] = { 0, 0, 0 };
    k->device = d;
    k->launch = 0;
    memset(&k->shape, 0, sizeof k->shape);
    k->shape.name = k->name ? k->name : "kernel";
    ts__cl.next.clGetKernelWorkGroupInfo(k->handle, d->handle,
                                         TS__CL_KERNEL_LOCAL_MEM_SIZE,
                                         sizeof shared, &shared, NULL);
    ts__cl.next.clGetKernelWorkGroupInfo(k->handle, d->handle,
                                         TS__CL_KERNEL_PRIVATE_MEM_SIZE,
                                         sizeof local, &local, NULL);
    ts__cl.next.clGetKernelWorkGroupInfo(k->handle, d->handle,
                                         TS__CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                         sizeof required, required, NULL);
    // The driver includes the local memory of the present arguments.
    for (uint32_t i = 0; i < k->argument_count; i++)
        if (shared >= k->arguments[i].local) shared -= k->arguments[i].local;
    k->shape.static_shared = (uint32_t)shared;
    k->shape.local = (uint32_t)local;
    for (int i = 0; i < 3; i++)
        k->required[i] = (uint32_t)required[i];
    if (!k->modes) ts__cl_kernel_modes(k);
}

// Returns the dictionary number of a launch. OpenCL counts work-items; the
// groups are as many as cover them. If the driver chooses the size of a group,
// it is unknown: then the block is 0 and the grid is in work-items.
static uint32_t ts__cl_launch(ts__cl_kernel *k, const ts__cl_device *d,
                              uint32_t dimensions, const size_t *global,
                              const size_t *local)
{
    pthread_mutex_lock(&k->lock);
    if (k->device != d) ts__cl_kernel_measure(k, d);
    ts_gpu_launch_desc shape = k->shape;
    const bool known = local || k->required[0];
    for (uint32_t i = 0; i < 3; i++) {
        const bool used = i < dimensions;
        const size_t items = used && global ? global[i] : 1;
        const size_t group = !used ? 1 : local ? local[i] : k->required[i];
        shape.block[i] = known ? (uint32_t)group : 0;
        shape.grid[i] =
            (uint32_t)(known && group ? (items + group - 1) / group : items);
    }
    shape.dynamic_shared = 0;
    for (uint32_t i = 0; i < k->argument_count; i++)
        shape.dynamic_shared += k->arguments[i].local;
    if (!k->launch || memcmp(&shape, &k->shape, sizeof shape) != 0)
        k->launch = ts_gpu_launch_define(&shape);
    k->shape = shape;
    const uint32_t launch = k->launch;
    pthread_mutex_unlock(&k->lock);
    return launch;
}

static void ts__cl_accesses(const ts__cl_kernel *k, const ts__cl_command *c)
{
    if (!ts_filter_kind(TS_EVENT_ACCESS)) return;
    for (uint32_t i = 0; i < k->argument_count; i++) {
        const ts__cl_argument *const a = &k->arguments[i];
        ts__cl_memory m;
        const void *const handle = (const void *)(uintptr_t)a->value;
        if (!a->value || a->size != sizeof a->value ||
            !ts__cl_memory_get(a->pointer ? TS__CL_SVM : TS__CL_MEMORY, handle,
                               &m))
            continue;
        const ts_gpu_access access = { c->op.track,
                                       (a->mode ? a->mode : m.mode) |
                                           TS_ACCESS_COARSE,
                                       c->op.correlation, m.address, m.size };
        ts_gpu_access_record(&access);
    }
}

#endif // TS__OPENCL_KERNELS_H
