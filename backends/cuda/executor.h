/*
    cuda/executor.h - waiting, graphs, and the two executors

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__CUDA_EXECUTOR_H
#define TS__CUDA_EXECUTOR_H

#include "tracesmith_replay.h"
#include "../gpu/cuda_abi.h"
#include "exec_code.h"
#include "exec_copies.h"
#include "exec_launch.h"
#include "exec_memory.h"

static ts_result ts__cx_poll(void *state)
{
    ts__cx *const x = state;
    for (size_t i = 0; i < x->stream_count; i++) {
        ts__cx_use(x, x->streams[i].device);
        const int error = x->call.query(x->streams[i].handle);
        if (error == TS__CUDA_NOT_READY) return TS_ERR_BUSY;
        if (error) return ts__cx_result(x, error);
    }
    x->reason = TS_REASON_NONE;
    return TS_OK;
}

// Polls until a timeout, because the driver's own wait has none.
static ts_result ts__cx_wait(void *state, uint32_t timeout_ms)
{
    ts__cx *const x = state;
    if (x->failed) return ts__cx_result(x, x->failed);
    return ts_executor_poll(ts__cx_poll, x, timeout_ms);
}

// Creates an event after the work that the stream has so far.
static ts_result ts__cx_event(void *state, uint64_t stream, uint64_t *event)
{
    ts__cx *const x = state;
    x->reason = TS_REASON_NONE;
    if (x->event_count == TS__CX_EVENTS) return ts__cx_too_many(x);
    void *const on = ts__cx_handle(x, ts__cx_stream_at(x, stream));
    void **const made = &x->events[x->event_count];
    int error = x->call.event(made, 2); // 2: without timing
    if (!error) *event = ++x->event_count;
    if (!error) error = x->call.event_record(*made, on);
    return ts__cx_result(x, error);
}

static ts_result ts__cx_event_again(void *state, uint64_t stream,
                                    uint64_t event)
{
    ts__cx *const x = state;
    if (!event || event > x->event_count) return TS_ERR_USAGE;
    void *const on = ts__cx_handle(x, ts__cx_stream_at(x, stream));
    return ts__cx_result(x, x->call.event_record(x->events[event - 1], on));
}

static ts_result ts__cx_event_wait(void *state, uint64_t stream, uint64_t event)
{
    ts__cx *const x = state;
    if (!event || event > x->event_count) return TS_ERR_USAGE;
    void *const on = ts__cx_handle(x, ts__cx_stream_at(x, stream));
    return ts__cx_result(x, x->call.event_wait(on, x->events[event - 1], 0));
}

static ts_result ts__cx_graph_begin(void *state, uint64_t stream)
{
    ts__cx *const x = state;
    x->reason = TS_REASON_NONE;
    if (!x->call.graph_begin || !x->call.graph_end || !x->call.graph_ready ||
        !x->call.graph_launch)
        return TS_ERR_UNSUPPORTED;
    const ts__cx_stream *const s = ts__cx_stream_at(x, stream);
    // 2: CU_STREAM_CAPTURE_MODE_RELAXED
    const int error = x->call.graph_begin(s->recorded, 2);
    x->graph = !error;
    return ts__cx_result(x, error);
}

static ts_result ts__cx_graph_end(void *state, uint64_t stream, uint64_t *graph)
{
    ts__cx *const x = state;
    const ts__cx_stream *const s = ts__cx_stream_at(x, stream);
    void *made = NULL, *ready = NULL;
    x->graph = false;
    int error = x->call.graph_end(s->recorded, &made);
    if (!error) error = x->call.graph_ready(&ready, made, 0);
    if (!error) *graph = (uintptr_t)ready;
    return ts__cx_result(x, error);
}

static ts_result ts__cx_graph_launch(void *state, uint64_t stream,
                                     uint64_t graph)
{
    ts__cx *const x = state;
    const ts__cx_stream *const s = ts__cx_stream_at(x, stream);
    return ts__cx_result(
        x, x->call.graph_launch((void *)(uintptr_t)graph, s->handle));
}

static const uint32_t ts__cx_cuda_heeds[] = {
    TS_ATTRIBUTE_GEOMETRY,    TS_ATTRIBUTE_PATTERN,
    TS_ATTRIBUTE_CUDA_LAUNCH, TS_ATTRIBUTE_FUNCTION,
    TS_ATTRIBUTE_COOPERATIVE, TS_ATTRIBUTE_TENSOR_MAP,
    TS_ATTRIBUTE_TEXTURE,     0
};
static const uint32_t ts__cx_hip_heeds[] = { TS_ATTRIBUTE_GEOMETRY,
                                             TS_ATTRIBUTE_PATTERN,
                                             TS_ATTRIBUTE_CUDA_LAUNCH,
                                             TS_ATTRIBUTE_COOPERATIVE, 0 };

#define TS__CX_EXECUTOR(vendor) \
    const ts_executor ts_##vendor##_executor = { \
        .name = #vendor, \
        .attributes = ts__cx_##vendor##_heeds, \
        .open = ts__cx_open_##vendor, \
        .close = ts__cx_close, \
        .reason = ts__cx_reason, \
        .allocate = ts__cx_allocate, \
        .release = ts__cx_release, \
        .write = ts__cx_write, \
        .read = ts__cx_read, \
        .load = ts__cx_load_code, \
        .global = ts__cx_global, \
        .stream = ts__cx_stream_make, \
        .launch = ts__cx_launch, \
        .copy = ts__cx_copy, \
        .set = ts__cx_set, \
        .wait = ts__cx_wait, \
        .event = ts__cx_event, \
        .event_wait = ts__cx_event_wait, \
        .event_again = ts__cx_event_again, \
        .graph_begin = ts__cx_graph_begin, \
        .graph_end = ts__cx_graph_end, \
        .graph_launch = ts__cx_graph_launch, \
    }
TS__CX_EXECUTOR(cuda);
TS__CX_EXECUTOR(hip);

#endif // TS__CUDA_EXECUTOR_H
