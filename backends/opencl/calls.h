/*
    opencl/calls.h - what every function of ours does first and last

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__OPENCL_CALLS_H
#define TS__OPENCL_CALLS_H

#include "tracesmith.h"
#include "../ts_filter.h"
#include "abi.h"
#include "capture_state.h"
#include "objects.h"

typedef struct ts__cl_call { // a call in progress
    uint32_t function;
    // missed: it enqueues a command that cannot be reported.
    bool on, blocking, missed;
    bool moves; // it may write memory that captures track
    bool gated; // it waits for something that the program has yet to do
    uint64_t start, correlation;
    ts_gpu_origin origin;
    ts__cl_queue *queue;
    ts__cl_command *command;  // NULL: no command to report
    struct ts__cl_seen *seen; // NULL: no capture
    uint32_t waits;
    const ts__cl_handle *list;
} ts__cl_call;

static void ts__cl_enter(ts__cl_call *call, uint32_t function)
{
    call->function = function;
    call->blocking = false;
    call->missed = false;
    call->moves = false;
    call->gated = false;
    call->queue = NULL;
    call->command = NULL;
    call->seen = NULL;
    call->on = ts__cl_on();
    if (!call->on) return;
    call->correlation = ts__cl_correlation();
    call->origin = ts_gpu_origin_here();
    call->start = ts_tick_now();
}

// Returns the name of a function; "(blocking)" is part of it, because the host
// then waits for the command.
static uint32_t ts__cl_function_name(const ts__cl_call *call)
{
    static uint32_t known[TS__CL_FUNCTIONS][2];
    static const char *const names[TS__CL_FUNCTIONS][2] = {
#define TS__X(place, type, name, params) { #name, #name " (blocking)" },
        TS__CL_HOOKED(TS__X)
#undef TS__X
    };
    return ts__name_once(&known[call->function][call->blocking],
                         names[call->function][call->blocking]);
}

static void ts__cl_leave(const ts__cl_call *call, int64_t result)
{
    if (!call->on || !ts_filter_kind(TS_EVENT_API_CALL)) return;
    ts_api_call record = { 0 };
    record.name = ts__cl_function_name(call);
    record.stack = call->origin.stack;
    record.start = call->start;
    record.end = ts_tick_now();
    record.correlation = call->correlation;
    record.result = (uint64_t)(result < 0 ? -result : result);
    ts_api_call_record(&record);
}

// Defines a function that creates an object; then: what is done with `made`.
#define TS__CL_MAKES(name, params, args, then) \
    static ts__cl_handle ts__cl_##name params \
    { \
        ts__cl_call call; \
        int32_t own = 0; \
        if (!error) error = &own; \
        ts__cl_enter(&call, TS__CL_##name); \
        ts__cl_handle const made = ts__cl.next.name args; \
        if (made && !TS__LOAD(&ts__cl.off)) then; \
        ts__cl_leave(&call, *error); \
        return made; \
    }

#endif // TS__OPENCL_CALLS_H
