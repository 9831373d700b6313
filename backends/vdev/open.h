/*
    vdev/open.h - ts_vdev_open and ts_vdev_close

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__VDEV_OPEN_H
#define TS__VDEV_OPEN_H

#include "tracesmith.h"
#include "../ts_vdev.h"
#include "calls.h"
#include "machine.h"

#include <stdlib.h>
#include <unistd.h>

static void ts__vd_defaults(ts_vdev_desc *d)
{
    if (!d->device_count) d->device_count = 1;
    if (!d->compute_units) d->compute_units = 2;
    if (!d->copy_engines) d->copy_engines = 1;
    if (!d->queue_ops) d->queue_ops = 1024;
    if (!d->memory_bytes) d->memory_bytes = 256u << 20;
    if (!d->shared_bytes) d->shared_bytes = 65536;
    if (!d->name) d->name = "vdev";
}

// Defines a device in the trace before anything runs on it.
static void ts__vd_device_define(const ts_vdev *v, uint32_t index)
{
    ts__vd_device *const device = &v->devices[index];
    const ts_gpu_device_desc desc = { v->desc.name, index, 0 };
    device->track = ts_gpu_device_define(&desc);
    ts_metadata_text(device->track, "vendor", "TraceSmith");
    ts_metadata_int(device->track, "memory_bytes",
                    (int64_t)v->desc.memory_bytes);
    ts_metadata_int(device->track, "multiprocessors", v->desc.compute_units);
    ts_metadata_int(device->track, "copy_engines", v->desc.copy_engines);
    const ts_gpu_context_desc context = { NULL, device->track, index + 1 };
    device->context = ts_gpu_context_define(&context);
}

ts_result ts_vdev_open(ts_vdev **vdev, const ts_vdev_desc *desc)
{
    if (!vdev) return TS_ERR_USAGE;
    *vdev = NULL;
    ts_vdev_desc d = { 0 };
    if (desc) d = *desc;
    ts__vd_defaults(&d);
    if (d.device_count > 64 || d.compute_units > 1024 ||
        d.copy_engines > 1024 || d.memory_bytes > (uint64_t)1 << 46 ||
        d.shared_bytes > 1u << 30)
        return TS_ERR_USAGE;
    d.memory_bytes = (d.memory_bytes + 4095) & ~(uint64_t)4095;
    d.shared_bytes = (d.shared_bytes + 63) & ~63u;
    ts_vdev *const v = calloc(1, sizeof *v);
    if (!v) return TS_ERR_MEMORY;
    v->desc = d;
    v->process = getpid();
    const ts_result result = ts__vd_machine_open(v);
    if (result != TS_OK) {
        ts__vd_machine_close(v);
        return result;
    }
    for (uint32_t i = 0; i < d.device_count; i++)
        ts__vd_device_define(v, i);
    v->desc.name = NULL; // owned by the caller
    v->desc.memory_at = NULL;
    *vdev = v;
    return TS_OK;
}

ts_result ts_vdev_close(ts_vdev *vdev)
{
    if (!vdev) return TS_OK;
    if (!ts__vd_usable(vdev)) return TS_ERR_STATE;
    ts__vd_machine_close(vdev);
    return TS_OK;
}

#endif // TS__VDEV_OPEN_H
