/*
    vdev/kernels.h - kernels, copies, memsets and host functions

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__VDEV_KERNELS_H
#define TS__VDEV_KERNELS_H

#include "tracesmith.h"
#include "../ts_vdev.h"
#include "calls.h"
#include "capture.h"
#include "machine.h"

#include <string.h>

ts_result ts_vdev_kernel_register(ts_vdev_kernel *kernel, ts_vdev *vdev,
                                  const ts_vdev_kernel_desc *desc)
{
    ts__vd_call call;
    if (kernel) *kernel = 0;
    if (!ts__vd_enter(&call, vdev, "vdevKernelRegister")) return call.result;
    if (!kernel || !desc || !desc->name || !desc->function ||
        desc->args_size > 4096 || desc->static_shared > vdev->desc.shared_bytes)
        return ts__vd_leave(&call, TS_ERR_USAGE);
    const uint32_t roles = desc->roles ? desc->role_count : 0;
    for (uint32_t i = 0; i < roles; i++)
        if (desc->args_size < sizeof(void *) ||
            desc->roles[i].offset > desc->args_size - sizeof(void *))
            return ts__vd_leave(&call, TS_ERR_USAGE);
    const size_t name_size = strlen(desc->name) + 1;
    const size_t roles_size = roles * sizeof *desc->roles;
    ts__vd_kernel *const k =
        ts__vd_add(vdev, TS__VD_KERNEL, sizeof *k + roles_size + name_size);
    if (!k) return ts__vd_leave(&call, TS_ERR_MEMORY);
    if (roles) memcpy(k->roles, desc->roles, roles_size);
    k->role_count = roles;
    k->name = (char *)&k->roles[roles];
    memcpy(k->name, desc->name, name_size);
    k->function = desc->function;
    k->args_size = desc->args_size;
    k->launched.name = k->name;
    k->launched.static_shared = desc->static_shared;
    *kernel = k->handle;
    return ts__vd_leave(&call, TS_OK);
}

// Fills the sizes of a block. Returns the number of blocks, 0: too many.
static uint64_t ts__vd_grid(ts_vdev_block *block,
                            const ts_vdev_launch_desc *desc)
{
    uint64_t blocks = 1;
    memset(block, 0, sizeof *block);
    for (int i = 0; i < 3; i++) {
        block->grid[i] = desc->grid[i] ? desc->grid[i] : 1;
        block->size[i] = desc->block[i] ? desc->block[i] : 1;
        blocks *= block->grid[i];
        if (blocks > UINT32_MAX) return 0;
    }
    return blocks;
}

// Returns the dictionary number of a launch configuration. Most launches repeat
// the last one.
static uint32_t ts__vd_launch_number(ts__vd_kernel *k,
                                     const ts_vdev_block *block)
{
    ts_gpu_launch_desc desc = k->launched;
    memcpy(desc.grid, block->grid, sizeof desc.grid);
    memcpy(desc.block, block->size, sizeof desc.block);
    desc.dynamic_shared = (uint32_t)block->shared_size - desc.static_shared;
    if (!k->launch || memcmp(&desc, &k->launched, sizeof desc))
        k->launch = ts_gpu_launch_define(&desc);
    k->launched = desc;
    return k->launch;
}

static void ts__vd_report_role(const ts_vdev *v, const ts_vdev_role *role,
                               const char *args, ts_gpu_access *access)
{
    uint64_t address;
    memcpy(&address, args + role->offset, sizeof address);
    access->mode = role->mode;
    access->address = address;
    access->size = role->size;
    if (!role->size) {
        const ts__vd_device *const d = ts__vd_owner(v, ts__vd_pointer(address));
        const size_t at = d ? ts__vd_range_at(d, address) : SIZE_MAX;
        if (at == SIZE_MAX ||
            address - d->ranges[at].begin >= d->ranges[at].size)
            return; // no size was declared
        access->mode |= TS_ACCESS_COARSE;
        access->address = d->ranges[at].begin;
        access->size = d->ranges[at].size;
    }
    ts_gpu_access_record(access);
}

// Records which memory a launch accesses.
static void ts__vd_report_accesses(const ts_vdev *v, const ts__vd_kernel *k,
                                   const ts_vdev_launch_desc *desc,
                                   const ts__vd_op *op)
{
    ts_gpu_access access;
    memset(&access, 0, sizeof access);
    access.track = op->report.track;
    access.correlation = op->report.correlation;
    for (uint32_t i = 0; i < k->role_count; i++)
        ts__vd_report_role(v, &k->roles[i], (const char *)op->args, &access);
    for (uint32_t i = 0; desc->accesses && i < desc->access_count; i++) {
        access.address = (uintptr_t)desc->accesses[i].ptr;
        access.size = desc->accesses[i].size;
        access.mode = desc->accesses[i].mode;
        ts_gpu_access_record(&access);
    }
}

ts_result ts_vdev_launch(ts_vdev *vdev, ts_vdev_stream stream,
                         ts_vdev_kernel kernel, const ts_vdev_launch_desc *desc)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevLaunchKernel")) return call.result;
    ts__vd_stream *const s = ts__vd_stream_room(&call, stream);
    ts__vd_kernel *const k = ts__vd_find(vdev, TS__VD_KERNEL, kernel);
    if (!s || !k || !desc || (k->args_size && !desc->args))
        return ts__vd_leave(&call, TS_ERR_USAGE);
    ts_vdev_block block;
    const uint64_t blocks = ts__vd_grid(&block, desc);
    block.shared_size = (size_t)k->launched.static_shared + desc->shared_bytes;
    if (!blocks || block.shared_size > vdev->desc.shared_bytes)
        return ts__vd_leave(&call, TS_ERR_USAGE);
    ts__vd_op *const op =
        ts__vd_stream_op(&call, TS_EVENT_KERNEL, s, k->args_size);
    if (!op) return ts__vd_leave(&call, TS_ERR_MEMORY);
    if (k->args_size) memcpy(op->args, desc->args, k->args_size);
    op->function = k->function;
    op->block = block;
    op->blocks = blocks;
    op->report.u.kernel.launch = ts__vd_launch_number(k, &block);
    if (call.origin.thread) ts__vd_report_accesses(vdev, k, desc, op);
    return ts__vd_leave(&call, ts__vd_submit_seen(&call, op, k, false));
}

// Returns the type of a copy in the numbering of the trace format.
static uint32_t ts__vd_memcpy_type(const ts__vd_device *to,
                                   const ts__vd_device *from)
{
    if (to && from) return to == from ? 3 : 5;
    if (to) return 1;
    return from ? 2 : 4;
}

static ts_result ts__vd_memcpy(ts__vd_call *call, uint64_t stream,
                               void *destination, const void *source,
                               uint64_t size, bool wait)
{
    ts_vdev *const v = call->v;
    ts__vd_stream *const s = ts__vd_stream_room(call, stream);
    ts__vd_device *to, *from;
    if (!s || !ts__vd_range_ok(v, destination, size, &to) ||
        !ts__vd_range_ok(v, source, size, &from))
        return TS_ERR_USAGE;
    ts__vd_op *const op = ts__vd_stream_op(call, TS_EVENT_MEMCPY, s, 0);
    if (!op) return TS_ERR_MEMORY;
    op->report.u.memcpy.type = ts__vd_memcpy_type(to, from);
    // Host memory is accessed in place, which real engines can do only with
    // pinned memory; so it is reported as pinned.
    op->report.u.memcpy.memory = (from ? 3u : 2u) | (to ? 3u : 2u) << 4;
    op->report.u.memcpy.size = size;
    op->report.u.memcpy.source = (uintptr_t)source;
    op->report.u.memcpy.destination = (uintptr_t)destination;
    if (to && from && to != from)
        op->report.u.memcpy.peer = to == s->device ? from->track : to->track;
    return ts__vd_submit_seen(call, op, NULL, wait);
}

ts_result ts_vdev_memcpy(ts_vdev *vdev, ts_vdev_stream stream,
                         void *destination, const void *source, uint64_t size)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevMemcpy")) return call.result;
    return ts__vd_leave(
        &call, ts__vd_memcpy(&call, stream, destination, source, size, true));
}

ts_result ts_vdev_memcpy_async(ts_vdev *vdev, ts_vdev_stream stream,
                               void *destination, const void *source,
                               uint64_t size)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevMemcpyAsync")) return call.result;
    return ts__vd_leave(
        &call, ts__vd_memcpy(&call, stream, destination, source, size, false));
}

ts_result ts_vdev_memset_async(ts_vdev *vdev, ts_vdev_stream stream,
                               void *destination, uint8_t value, uint64_t size)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevMemsetAsync")) return call.result;
    ts__vd_stream *const s = ts__vd_stream_room(&call, stream);
    ts__vd_device *owner;
    if (!s || !ts__vd_range_ok(vdev, destination, size, &owner) || !owner)
        return ts__vd_leave(&call, TS_ERR_USAGE);
    ts__vd_op *const op = ts__vd_stream_op(&call, TS_EVENT_MEMSET, s, 0);
    if (!op) return ts__vd_leave(&call, TS_ERR_MEMORY);
    op->report.u.memset.size = size;
    op->report.u.memset.destination = (uintptr_t)destination;
    op->report.u.memset.value = value;
    return ts__vd_leave(&call, ts__vd_submit_seen(&call, op, NULL, false));
}

ts_result ts_vdev_host_function(ts_vdev *vdev, ts_vdev_stream stream,
                                const char *name, void (*function)(void *user),
                                void *user)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevLaunchHostFunc")) return call.result;
    ts__vd_stream *const s = ts__vd_stream_room(&call, stream);
    if (!s || !function) return ts__vd_leave(&call, TS_ERR_USAGE);
    ts__vd_op *const op = ts__vd_stream_op(&call, TS_EVENT_HOST_FUNCTION, s, 0);
    if (!op) return ts__vd_leave(&call, TS_ERR_MEMORY);
    op->host_function = function;
    op->args = user;
    op->report.u.host_function.address = (uintptr_t)function;
    if (name) op->report.u.host_function.name = ts_name_define(name);
    return ts__vd_leave(&call, ts__vd_submit_seen(&call, op, NULL, false));
}

#endif // TS__VDEV_KERNELS_H
