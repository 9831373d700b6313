/*
    opencl/launches.h - launches of kernels

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__OPENCL_LAUNCHES_H
#define TS__OPENCL_LAUNCHES_H

#include "tracesmith.h"
#include "../ts_filter.h"
#include "abi.h"
#include "calls.h"
#include "capture.h"
#include "capture_kernels.h"
#include "commands.h"
#include "in_flight.h"
#include "kernels.h"
#include "objects.h"

#include <string.h>

// A kernel that the filter excludes is enqueued unchanged.
static ts__cl_handle *ts__cl_begin_kernel(ts__cl_call *call, uint32_t function,
                                          ts__cl_handle queue,
                                          ts__cl_handle kernel,
                                          ts__cl_handle *event)
{
    ts__cl_handle *const at =
        ts__cl_begin(call, function, queue, event, TS_EVENT_KERNEL);
    if (!call->command && !call->missed) return at;
    const ts__cl_kernel *const k = ts__cl_kernel_get(kernel);
    const bool known = k && k->name;
    if (known && ts_filter_text(k->name)) return at;
    ts__cl_command_free(call->command);
    call->command = NULL;
    call->missed = !known;
    return ts__cl_event_place(call, event);
}

static void ts__cl_kernel_enqueued(ts__cl_call *call, ts__cl_handle kernel,
                                   uint32_t dimensions, const size_t *global,
                                   const size_t *local)
{
    ts__cl_command *const c = call->command;
    if (!c) return;
    ts__cl_kernel *const k = ts__cl_kernel_get(kernel);
    c->op.u.kernel.launch =
        ts__cl_launch(k, c->queue->device, dimensions, global, local);
    ts__cl_accesses(k, c);
}

static int32_t ts__cl_clEnqueueNDRangeKernel(ts__cl_handle queue,
                                             ts__cl_handle kernel,
                                             uint32_t dimensions,
                                             const size_t *offset,
                                             const size_t *global,
                                             const size_t *local, TS__CL_QUEUED)
{
    ts__cl_call call;
    ts__cl_handle *const at = ts__cl_begin_kernel(
        &call, TS__CL_clEnqueueNDRangeKernel, queue, kernel, event);
    ts__cl_waits(&call, queue, waits, list);
    ts__cl_seen_kernel(&call, kernel, dimensions, offset, global, local);
    const int32_t result = ts__cl.next.clEnqueueNDRangeKernel(
        queue, kernel, dimensions, offset, global, local, waits, list, at);
    if (result == TS__CL_SUCCESS)
        ts__cl_kernel_enqueued(&call, kernel, dimensions, global, local);
    TS__CL_END(result);
}

static int32_t ts__cl_clEnqueueTask(ts__cl_handle queue, ts__cl_handle kernel,
                                    TS__CL_QUEUED)
{
    static const size_t one = 1;
    ts__cl_call call;
    ts__cl_handle *const at =
        ts__cl_begin_kernel(&call, TS__CL_clEnqueueTask, queue, kernel, event);
    ts__cl_waits(&call, queue, waits, list);
    ts__cl_seen_kernel(&call, kernel, 1, NULL, &one, &one);
    const int32_t result =
        ts__cl.next.clEnqueueTask(queue, kernel, waits, list, at);
    if (result == TS__CL_SUCCESS)
        ts__cl_kernel_enqueued(&call, kernel, 1, &one, &one);
    TS__CL_END(result);
}

#endif // TS__OPENCL_LAUNCHES_H
