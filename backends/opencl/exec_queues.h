/*
    opencl/exec_queues.h - queues: a stream of the trace is one

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__OPENCL_EXEC_QUEUES_H
#define TS__OPENCL_EXEC_QUEUES_H

#include "tracesmith_replay.h"
#include "exec_abi.h"
#include "exec_memory.h"
#include "exec_state.h"

static ts_result ts__ox_stream(void *state, uint32_t device, uint64_t flags,
                               uint64_t *stream)
{
    ts__ox *const x = state;
    (void)flags;
    x->reason = TS_REASON_NONE;
    if (device >= x->device_count) return TS_ERR_USAGE;
    const ts_result result = ts__ox_queue_make(x, device);
    *stream = x->queues.count;
    return result;
}

static ts__ox_queue *ts__ox_queue_of(ts__ox *x, uint64_t stream)
{
    ts__ox_queue *const queues = x->queues.items;
    x->reason = TS_REASON_NONE;
    return stream && stream <= x->queues.count ? &queues[stream - 1] : NULL;
}

// Called after each command: its event is waited for later.
static ts_result ts__ox_queued(ts__ox *x, ts__ox_queue *q, int32_t error,
                               ts__ox_handle event)
{
    if (error) return ts__ox_result(error);
    if (q->last) x->cl.clReleaseEvent(q->last);
    q->last = event;
    return ts__ox_result(x->cl.clFlush(q->queue));
}

// Returns 1: it runs, 0: complete, negative: failed.
static int32_t ts__ox_status(const ts__ox *x, ts__ox_handle event)
{
    int32_t status = 0;
    const int32_t error = x->cl.clGetEventInfo(
        event, TS__OX_EVENT_EXECUTION_STATUS, sizeof status, &status, NULL);
    return error < 0 ? error : status > TS__OX_COMPLETE ? 1 : status;
}

// The same for a command whose event is x->event.
static ts_result ts__ox_ran(ts__ox *x, ts__ox_queue *q, int32_t error)
{
    return ts__ox_queued(x, q, error, x->event);
}

#endif // TS__OPENCL_EXEC_QUEUES_H
