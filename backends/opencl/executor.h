/*
    opencl/executor.h - the executor of ts_opencl_exec.h

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__OPENCL_EXECUTOR_H
#define TS__OPENCL_EXECUTOR_H

#include "tracesmith_replay.h"
#include "exec_commands.h"
#include "exec_devices.h"
#include "exec_graph.h"
#include "exec_hash.h"
#include "exec_memory.h"
#include "exec_programs.h"
#include "exec_queues.h"
#include "exec_state.h"
#include "exec_waits.h"

static const uint32_t ts__ox_attributes[] = {
    TS_ATTRIBUTE_GLOBAL_OFFSET, TS_ATTRIBUTE_GLOBAL_SIZE, TS_ATTRIBUTE_IMAGE,
    TS_ATTRIBUTE_SAMPLER,       TS_ATTRIBUTE_GEOMETRY,    TS_ATTRIBUTE_PATTERN,
    TS_ATTRIBUTE_COPY_IMAGE,    TS_ATTRIBUTE_DIMENSIONS,  0
};

const ts_executor ts_opencl_executor = {
    .name = "opencl",
    .attributes = ts__ox_attributes,
    .open = ts__ox_open,
    .close = ts__ox_close,
    .reason = ts__ox_reason,
    .allocate = ts__ox_allocate,
    .release = ts__ox_release,
    .write = ts__ox_write,
    .read = ts__ox_read,
    .load = ts__ox_load,
    .global = ts__ox_global,
    .stream = ts__ox_stream,
    .launch = ts__ox_launch,
    .copy = ts__ox_copy,
    .set = ts__ox_set,
    .wait = ts__ox_wait,
    .event = ts__ox_event,
    .event_wait = ts__ox_event_wait,
    .graph_begin = ts__ox_graph_begin,
    .graph_end = ts__ox_graph_end,
    .graph_launch = ts__ox_graph_launch,
    .hash = ts__ox_hash,
};

#endif // TS__OPENCL_EXECUTOR_H
