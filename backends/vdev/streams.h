/*
    vdev/streams.h - streams: created, destroyed, waited for

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__VDEV_STREAMS_H
#define TS__VDEV_STREAMS_H

#include "tracesmith.h"
#include "../ts_vdev.h"
#include "calls.h"
#include "machine.h"

#include <pthread.h>

ts_result ts_vdev_stream_create(ts_vdev_stream *stream, ts_vdev *vdev,
                                const ts_vdev_stream_desc *desc)
{
    const ts_vdev_stream_desc zero = { 0 };
    ts__vd_call call;
    if (stream) *stream = 0;
    if (!desc) desc = &zero;
    if (!ts__vd_enter(&call, vdev, "vdevStreamCreate")) return call.result;
    if (!stream || desc->device >= vdev->desc.device_count ||
        desc->priority != (int16_t)desc->priority)
        return ts__vd_leave(&call, TS_ERR_USAGE);
    ts__vd_stream *const s =
        ts__vd_stream_add(vdev, desc->device, desc->priority,
                          desc->non_blocking ? TS_STREAM_NON_BLOCKING : 0);
    if (!s) return ts__vd_leave(&call, TS_ERR_MEMORY);
    s->number = ++vdev->streams;
    const ts_gpu_stream_desc track = { desc->name, s->device->context,
                                       s->number, s->priority, s->flags };
    s->track = ts_gpu_stream_define(&track);
    *stream = s->handle;
    return ts__vd_leave(&call, TS_OK);
}

ts_result ts_vdev_stream_destroy(ts_vdev *vdev, ts_vdev_stream stream)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevStreamDestroy")) return call.result;
    ts__vd_stream *const s = ts__vd_stream_find(vdev, stream);
    if (!s || s == s->device->legacy) return ts__vd_leave(&call, TS_ERR_USAGE);
    ts__vd_remove(vdev, stream);
    s->destroyed = true;
    if (!s->pending) ts__vd_stream_free(s);
    pthread_cond_broadcast(&vdev->room); // threads that wait for room give up
    return ts__vd_leave(&call, TS_OK);
}

ts_result ts_vdev_stream_default(ts_vdev_stream *stream, ts_vdev *vdev,
                                 uint32_t device)
{
    if (stream) *stream = 0;
    if (!stream || !vdev || device >= vdev->desc.device_count)
        return TS_ERR_USAGE;
    *stream = vdev->devices[device].legacy->handle;
    return TS_OK;
}

ts_result ts_vdev_stream_synchronize(ts_vdev *vdev, ts_vdev_stream stream)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevStreamSynchronize")) return call.result;
    ts__vd_stream *const s = ts__vd_stream_find(vdev, stream);
    if (!s) return ts__vd_leave(&call, TS_ERR_USAGE);
    const uint32_t track = ts__vd_stream_track(s);
    return ts__vd_leave(&call, ts__vd_sync(&call, TS_EVENT_STREAM_SYNC, track,
                                           s->number, s->last));
}

ts_result ts_vdev_stream_query(bool *done, ts_vdev *vdev, ts_vdev_stream stream)
{
    ts__vd_call call;
    if (done) *done = false;
    if (!ts__vd_enter(&call, vdev, "vdevStreamQuery")) return call.result;
    const ts__vd_stream *const s = ts__vd_stream_find(vdev, stream);
    if (!s || !done) return ts__vd_leave(&call, TS_ERR_USAGE);
    *done = !s->last;
    return ts__vd_leave(&call, TS_OK);
}

ts_result ts_vdev_device_synchronize(ts_vdev *vdev, uint32_t device)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevDeviceSynchronize")) return call.result;
    if (device >= vdev->desc.device_count)
        return ts__vd_leave(&call, TS_ERR_USAGE);
    return ts__vd_leave(&call, ts__vd_sync_device(&call, TS_EVENT_DEVICE_SYNC,
                                                  &vdev->devices[device]));
}

#endif // TS__VDEV_STREAMS_H
