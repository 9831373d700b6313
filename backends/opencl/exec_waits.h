/*
    opencl/exec_waits.h - waiting for queues, and events between them

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__OPENCL_EXEC_WAITS_H
#define TS__OPENCL_EXEC_WAITS_H

#include "tracesmith_replay.h"
#include "exec_abi.h"
#include "exec_devices.h"
#include "exec_graph.h"
#include "exec_queues.h"
#include "exec_state.h"

// Drops the events of queues that are complete, which includes failed ones.
static ts_result ts__ox_poll(void *state)
{
    ts__ox *const x = state;
    ts__ox_queue *const queues = x->queues.items;
    for (size_t i = 0; i < x->queues.count; i++) {
        const int32_t status =
            queues[i].last ? ts__ox_status(x, queues[i].last) : 0;
        if (status > 0) return TS_ERR_BUSY;
        x->failed |= status < 0;
        if (queues[i].last) x->cl.clReleaseEvent(queues[i].last);
        queues[i].last = NULL;
    }
    return TS_OK;
}

// Polls, because clFinish has no timeout.
static ts_result ts__ox_wait(void *state, uint32_t timeout_ms)
{
    ts__ox *const x = state;
    x->reason = TS_REASON_NONE;
    if (ts_executor_poll(ts__ox_poll, x, timeout_ms) != TS_OK)
        return TS_ERR_BUSY;
    const bool failed = x->failed;
    x->failed = false;
    // Graphs may run again and need them.
    if (!x->graph_list.count) ts__ox_release_things(x);
    return ts__ox_fetch_all(x, failed);
}

static ts_result ts__ox_event(void *state, uint64_t stream, uint64_t *event)
{
    ts__ox *const x = state;
    ts__ox_queue *const q = ts__ox_queue_of(x, stream);
    ts__ox_handle made = NULL;
    x->reason = TS_REASON_NONE;
    if (!q) return TS_ERR_USAGE;
    if (x->graph) return ts__ox_graph_event(x, q, event);
    ts__ox_handle *const slot = ts__ox_add(&x->events, sizeof made);
    if (!slot) return TS_ERR_MEMORY;
    const int32_t error =
        x->cl.clEnqueueMarkerWithWaitList(q->queue, 0, NULL, &made);
    if (error) return ts__ox_result(error);
    *slot = made;
    *event = x->events.count;
    return ts__ox_result(x->cl.clFlush(q->queue));
}

static ts_result ts__ox_event_wait(void *state, uint64_t stream, uint64_t event)
{
    ts__ox *const x = state;
    ts__ox_queue *const q = ts__ox_queue_of(x, stream);
    const ts__ox_handle *const events = x->events.items;
    ts__ox_handle made = NULL;
    if (q && x->graph) return ts__ox_graph_wait(x, q, event);
    if (!q || !event || event > x->events.count) return TS_ERR_USAGE;
    // Not recorded yet, so there is nothing to wait for.
    if (!events[event - 1]) return TS_OK;
    const int32_t error = x->cl.clEnqueueBarrierWithWaitList(
        q->queue, 1, &events[event - 1], &made);
    return ts__ox_queued(x, q, error, made);
}

#endif // TS__OPENCL_EXEC_WAITS_H
