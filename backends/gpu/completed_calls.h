/*
    gpu/completed_calls.h - follows calls that are no operations

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    What a program allocates, maps, opens, creates and configures, by the
    arguments of calls that have returned.
*/
#ifndef TS__GPU_COMPLETED_CALLS_H
#define TS__GPU_COMPLETED_CALLS_H

#include "tracesmith.h"
#include "cuda_abi.h"
#include "driver.h"
#include "driver_requests.h"
#include "exclusive.h"
#include "functions.h"
#include "mapped_memory.h"
#include "memory.h"
#include "modules.h"
#include "operations.h"
#include "state.h"
#include "streams.h"
#include "tensor_maps.h"
#include "textures.h"
#include "waiting.h"

#include <pthread.h>
#include <string.h>

// Managed memory that is first attached to the host is declined: devices can
// use it only after it is attached to them.
static ts__cs_managed ts__cs_managed_of(const ts__cs_call *c)
{
    ts__cs_job job;
    job.what = TS__CS_ALLOCATION;
    job.context = c->context;
    job.address = ts__cs_pointed(c, 0);
    return ts__cs.vendor->managed &&
                   ts__cs_argument32(c, 16) == TS__CUDA_GLOBAL &&
                   ts__cs_is_safe(c->context) &&
                   ts__cs_request(&ts__cs.driver, &job, ts__cs_until())
               ? job.managed
               : TS__CS_MANAGED_ALONE;
}

static void ts__cs_allocated(const ts__cs_call *c)
{
    const ts__cs_kind kind = (ts__cs_kind)c->rule->kind;
    // These two calls pass the address by value; the other calls pass a pointer
    // to it, which is read.
    const bool there = kind == TS__CS_MAP || kind == TS__CS_REGISTER_HOST;
    // Mapped memory and memory of a pool outlive the context.
    const bool free_of =
        kind == TS__CS_MAP || (kind == TS__CS_ALLOC && c->rule->width);
    ts__cs_range range = { there ? ts__cs_argument(c, 0) : ts__cs_pointed(c, 0),
                           ts__cs_argument(c, 8),
                           free_of ? NULL : c->context,
                           c->device,
                           TS_REASON_NONE,
                           false,
                           false,
                           false };
    if (kind == TS__CS_ALLOC_ROWS)
        range.size = ts__cs_pointed(c, 8) * ts__cs_argument(c, 24);
    if (kind == TS__CS_ALLOC_MANAGED)
        ts__cs_range_manage(&range, ts__cs_managed_of(c));
    range.host = kind == TS__CS_ALLOC_HOST || kind == TS__CS_REGISTER_HOST;
    if (range.host) range.reason = TS_REASON_EXTERNAL_MEMORY;
    if (kind == TS__CS_MAP)
        ts__cs_mapped(range);
    else
        ts__cs_range_add(&range);
}

// Memory from another process or another API: only the driver knows its size.
static void ts__cs_opened(const ts__cs_call *c)
{
    const bool external = c->rule->kind == TS__CS_EXTERNAL;
    ts__cs_job job;
    job.what = TS__CS_ALLOCATION;
    job.context = c->context;
    job.address = ts__cs_pointed(c, 0);
    const uint64_t address = job.address;
    if (!ts__cs_is_safe(c->context) ||
        !ts__cs_request(&ts__cs.driver, &job, ts__cs_until())) {
        job.address = address;
        job.size = 1;
    }
    const ts__cs_range range = { job.address,
                                 job.size,
                                 c->context,
                                 c->device,
                                 external ? TS_REASON_EXTERNAL_MEMORY
                                          : TS_REASON_IPC,
                                 false,
                                 false,
                                 false };
    ts__cs_range_add(&range);
}

// A tensor map was made or its address was replaced. `was`: its bytes before.
static void ts__cs_tensor_made(const ts__cs_call *c, const uint64_t was[16])
{
    const void *const map = (const void *)(uintptr_t)ts__cs_argument(c, 0);
    const ts__cs_tensor *before;
    ts__cuda_tensor how;
    if (c->rule->kind == TS__CS_TENSOR && c->rule->width) {
        ts__cs_tensor_of(c->rule->width, c->arguments, &how);
    } else if (c->rule->kind == TS__CS_TENSOR) {
        memset(&how, 0, sizeof how);
    } else {
        before = ts__cs_tensor_find(&ts__cs.tensors, was);
        if (before)
            how = before->how;
        else
            memset(&how, 0, sizeof how);
        how.address = ts__cs_argument(c, 8);
    }
    memcpy(how.bytes, map, sizeof how.bytes);
    ts__cs_tensor_put(&ts__cs.tensors, &how);
}

// Finds the module of a function or of a library's kernel; the query may load
// the library. Runs on the thread that calls the driver.
static bool ts__cs_owner_answer(ts__cs_job *job)
{
    const ts__cs_calls *const call = &ts__cs.driver.call;
    job->module = NULL;
    return (!job->is_kernel && call->module &&
            call->module(&job->module, job->object) == 0) ||
           (call->library && call->library(&job->module, job->object) == 0);
}

// Runs on the thread that calls the driver.
static bool ts__cs_library_answer(ts__cs_job *job)
{
    const ts__cs_calls *const call = &ts__cs.driver.call;
    return call->library_module &&
           call->library_module(&job->module, job->object) == 0;
}

// Querying a library's variable loads the library, on this thread.
static void ts__cs_library_variable(const ts__cs_call *c)
{
    ts__cs_job job;
    job.what = TS__CS_OWN;
    job.own = ts__cs_library_answer;
    job.drop = NULL;
    job.context = c->context;
    job.object = (void *)(uintptr_t)ts__cs_argument(c, 16);
    if (ts__cs_is_safe(c->context) &&
        ts__cs_request(&ts__cs.driver, &job, ts__cs_until()))
        ts__cs_module_named(&ts__cs.code, job.module, &ts__cs_here_too);
}

// Handles of functions are reused only after their module is unloaded.
static void ts__cs_attribute_set(const ts__cs_call *c)
{
    const bool kernel = c->rule->kind == TS__CS_KERNEL_SET;
    ts__cs_job job;
    ts__cs_attribute given = {
        (void *)(uintptr_t)ts__cs_argument(c, kernel ? 8 : 0),
        (int32_t)ts__cs_argument32(c, kernel ? 0 : 8),
        (int32_t)ts__cs_argument32(c, kernel ? 4 : 12),
        kernel ? NULL : c->context, // a library belongs to no context
        NULL,
        0
    };
    if (ts__cs_attribute_again(&ts__cs.code, &given)) return;
    job.what = TS__CS_OWN;
    job.own = ts__cs_owner_answer;
    job.drop = NULL;
    job.context = c->context;
    job.object = given.function;
    job.is_kernel = kernel;
    if (ts__cs_is_safe(c->context) &&
        ts__cs_request(&ts__cs.driver, &job, ts__cs_until()))
        given.owner = job.module;
    ts__cs_attribute_add(&ts__cs.code, &given);
}

// Handles a successful call that is no operation.
static void ts__cs_call_completed(const ts__cs_call *c, const uint64_t map[16])
{
    const ts__cs_kind kind = (ts__cs_kind)c->rule->kind;
    pthread_mutex_lock(&ts__cs.memory_lock);
    ts__cs_variables_go(&ts__cs.code, &ts__cs.memory);
    if ((kind >= TS__CS_ALLOC && kind <= TS__CS_REGISTER_HOST) ||
        kind == TS__CS_MAP)
        ts__cs_allocated(c);
    else if (kind == TS__CS_OPENED || kind == TS__CS_EXTERNAL)
        ts__cs_opened(c);
    else if (kind == TS__CS_TEXTURE)
        ts__cs_texture_made(
            ts__cs_pointed(c, 0), c->context,
            (const void *)(uintptr_t)ts__cs_argument(c, 8),
            c->rule->width ? (const void *)(uintptr_t)ts__cs_argument(c, 16)
                           : NULL,
            c->rule->width ? (const void *)(uintptr_t)ts__cs_argument(c, 24)
                           : NULL);
    else if (kind == TS__CS_TEXTURE_GONE)
        ts__cs_texture_gone(ts__cs_argument(c, 0));
    else if (kind == TS__CS_RESERVE)
        ts__cs_reserved(ts__cs_pointed(c, 0));
    else if (kind == TS__CS_UNRESERVE)
        ts__cs_unreserved(ts__cs_argument(c, 0));
    else if (kind == TS__CS_TENSOR || kind == TS__CS_TENSOR_MOVED)
        ts__cs_tensor_made(c, map);
    pthread_mutex_unlock(&ts__cs.memory_lock);
    if (kind == TS__CS_STREAM) {
        const ts__cs_stream stream = {
            (void *)(uintptr_t)ts__cs_pointed(c, 0),
            c->context,
            c->rule->width ? (int32_t)ts__cs_argument32(c, 12) : 0,
            ts__cs_argument32(c, 8) & 1 ? TS_STREAM_NON_BLOCKING : 0,
            false,
            0
        };
        ts__cs_stream_add(&ts__cs.driver, &stream);
    } else if (kind == TS__CS_MODULE) {
        ts__cs_module_named(&ts__cs.code,
                            (void *)(uintptr_t)ts__cs_pointed(c, 0),
                            &ts__cs_here_too);
    } else if (kind == TS__CS_LIBRARY_VARIABLE) {
        ts__cs_library_variable(c);
    } else if (kind == TS__CS_FUNCTION_SET || kind == TS__CS_KERNEL_SET) {
        ts__cs_attribute_set(c);
    }
    if (ts__cs.vendor->graphs) ts__cs.vendor->graphs->completed(c);
}

#endif // TS__GPU_COMPLETED_CALLS_H
