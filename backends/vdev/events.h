/*
    vdev/events.h - events: recorded, waited for

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__VDEV_EVENTS_H
#define TS__VDEV_EVENTS_H

#include "tracesmith.h"
#include "../ts_vdev.h"
#include "calls.h"
#include "machine.h"

#include <stdlib.h>

ts_result ts_vdev_event_create(ts_vdev_event *event, ts_vdev *vdev)
{
    ts__vd_call call;
    if (event) *event = 0;
    if (!ts__vd_enter(&call, vdev, "vdevEventCreate")) return call.result;
    if (!event) return ts__vd_leave(&call, TS_ERR_USAGE);
    ts__vd_event *const e = ts__vd_add(vdev, TS__VD_EVENT, sizeof *e);
    if (!e) return ts__vd_leave(&call, TS_ERR_MEMORY);
    e->number = ++vdev->events;
    *event = e->handle;
    return ts__vd_leave(&call, TS_OK);
}

ts_result ts_vdev_event_destroy(ts_vdev *vdev, ts_vdev_event event)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevEventDestroy")) return call.result;
    ts__vd_event *const e = ts__vd_find(vdev, TS__VD_EVENT, event);
    if (!e) return ts__vd_leave(&call, TS_ERR_USAGE);
    ts__vd_remove(vdev, event);
    free(e);
    return ts__vd_leave(&call, TS_OK);
}

ts_result ts_vdev_event_record(ts_vdev *vdev, ts_vdev_event event,
                               ts_vdev_stream stream)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevEventRecord")) return call.result;
    ts__vd_stream *const s = ts__vd_stream_room(&call, stream);
    ts__vd_event *const e = ts__vd_find(vdev, TS__VD_EVENT, event);
    if (!s || !e) return ts__vd_leave(&call, TS_ERR_USAGE);
    ts__vd_op *const op = ts__vd_stream_op(&call, TS_EVENT_EVENT_RECORD, s, 0);
    if (!op) return ts__vd_leave(&call, TS_ERR_MEMORY);
    op->report.u.event.id = e->number;
    op->event = event;
    e->record = op;
    e->correlation = call.correlation;
    e->track = s->track;
    return ts__vd_leave(&call, ts__vd_submit(vdev, op));
}

ts_result ts_vdev_event_wait(ts_vdev *vdev, ts_vdev_event event,
                             ts_vdev_stream stream)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevStreamWaitEvent")) return call.result;
    ts__vd_stream *const s = ts__vd_stream_room(&call, stream);
    const ts__vd_event *const e = ts__vd_find(vdev, TS__VD_EVENT, event);
    if (!s || !e) return ts__vd_leave(&call, TS_ERR_USAGE);
    ts__vd_op *const op = ts__vd_stream_op(&call, TS_EVENT_EVENT_WAIT, s, 0);
    if (!op) return ts__vd_leave(&call, TS_ERR_MEMORY);
    op->report.u.event.id = e->number;
    op->report.u.event.record = e->correlation;
    ts__vd_op_after(op, e->record, false);
    return ts__vd_leave(&call, ts__vd_submit(vdev, op));
}

ts_result ts_vdev_event_synchronize(ts_vdev *vdev, ts_vdev_event event)
{
    ts__vd_call call;
    if (!ts__vd_enter(&call, vdev, "vdevEventSynchronize")) return call.result;
    const ts__vd_event *const e = ts__vd_find(vdev, TS__VD_EVENT, event);
    if (!e) return ts__vd_leave(&call, TS_ERR_USAGE);
    if (!e->correlation) return ts__vd_leave(&call, TS_OK); // not recorded yet
    return ts__vd_leave(&call, ts__vd_sync(&call, TS_EVENT_EVENT_SYNC, e->track,
                                           e->number, e->record));
}

ts_result ts_vdev_event_query(bool *done, ts_vdev *vdev, ts_vdev_event event)
{
    ts__vd_call call;
    if (done) *done = false;
    if (!ts__vd_enter(&call, vdev, "vdevEventQuery")) return call.result;
    const ts__vd_event *const e = ts__vd_find(vdev, TS__VD_EVENT, event);
    if (!e || !done) return ts__vd_leave(&call, TS_ERR_USAGE);
    *done = !e->record;
    return ts__vd_leave(&call, TS_OK);
}

#endif // TS__VDEV_EVENTS_H
