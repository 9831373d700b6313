/*
    hip/hook.h - the hook of HIP's runtime itself

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: libamdhip64.so.
    Checked with:   a double (tests/doubles/amdhip64.c) with either
                    generation of the hook; layouts compared with the
                    headers of HIP 5.2.3 to 6.2.2. Not run on hardware.

    Takes the place of roctracer in the runtime. There is one such place: a
    tool that takes it later replaces us. No other function of the runtime
    is called from here: it may be inside its own initialisation, where a
    call of HIP waits forever.

    CONTENTS                            search for "==== 2." to jump
        1. One function for all
        2. Callbacks
        3. The choice
*/
#ifndef TS__HIP_HOOK_H
#define TS__HIP_HOOK_H

#include "../gpu/records.h"
#include "calls.h"
#include "roctracer.h"
#include "state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const char *(*api_name)(uint32_t);
    // Since HIP 5.3.
    void (*register_tracer)(int (*)(int, uint32_t, void *));
    // Before HIP 5.3.
    void (*init_activity)(void *, void *, void *);
    bool (*enable_activity)(uint32_t, bool);
    int (*register_activity)(uint32_t, void *, void *);
    int (*remove_activity)(uint32_t);
    int (*register_api)(uint32_t, void *, void *);
    int (*remove_api)(uint32_t);
    size_t data_size;     // of hip_api_data_t, 0: unknown
    uint64_t correlation; // the last number that was assigned
    // From an operation's number to the correlation of its call.
    ts__notes numbers;
} ts__hook;

/* ==== 1. One function for all ============================================ */

/*
    The runtime calls this function to learn whether a call is reported, and
    passes room for

        hip_api_data_t | time | word | enter function | exit function

    The place of the functions depends on the size of the first part, which
    grew. It is known for the versions with these numbers of functions. For
    other versions calls are refused, and operations have no launch.
    Source: hip/amd_detail/hip_prof_str.h of HIP 5.5 to 6.2.
*/
static const struct {
    uint16_t functions, size;
} ts__hook_sizes[] = {
    { 359, 840 }, { 363, 840 }, { 378, 1520 }, { 379, 1520 }, { 399, 1520 }
};

static void ts__hook_enter(uint32_t number, char *data)
{
    const uint32_t phase = 0;
    memcpy(data + 8, &phase, sizeof phase);
    ts__activity_call(number, data);
}

static void ts__hook_exit(uint32_t number, char *data)
{
    (void)data;
    if (!ts__hip.dead) ts__hip_leave(number, 0);
}

static void ts__hook_prepare(char *data)
{
    void (*const functions[2])(uint32_t, char *) = { ts__hook_enter,
                                                     ts__hook_exit };
    const uint64_t number =
        __atomic_add_fetch(&ts__hook.correlation, 1, __ATOMIC_RELAXED);
    memcpy(data, &number, sizeof number);
    memcpy(data + ts__hook.data_size + 16, functions, sizeof functions);
}

// Returns 0 if the event is requested.
static int ts__hook_on_event(int domain, uint32_t op, void *data)
{
    if (!ts__hip_listens()) return -1;
    if (domain == TS__ACTIVITY_OPS) {
        if (op != TS__ACTIVITY_DISPATCH && op != TS__ACTIVITY_COPY) return -1;
        if (!data) return 0;
        ts__activity_take_one((const char *)data,
                              ts__read64(data, TS__ACTIVITY_CORRELATION));
        return 0;
    }
    if (domain != TS__ACTIVITY_API || !ts__hook.data_size ||
        op >= TS__HIP_APIS || !ts__hip_apis[op].requested)
        return -1;
    if (data) ts__hook_prepare((char *)data);
    return 0;
}

static void ts__hook_new_start(uint32_t functions)
{
    const size_t count = sizeof ts__hook_sizes / sizeof *ts__hook_sizes;
    ts__hook.data_size = 0;
    for (size_t i = 0; i < count; i++)
        if (ts__hook_sizes[i].functions == functions)
            ts__hook.data_size = ts__hook_sizes[i].size;
    if (!ts__hook.data_size)
        ts__hip.lack = "without calls: this version of HIP is unknown";
    ts__activity_devices(true);
    ts__hook.register_tracer(ts__hook_on_event);
}

/* ==== 2. Callbacks ======================================================= */

/*
    For a call, the activity callback returns the place for its data, the API
    callback is called at the begin and at the end, then the activity callback
    again with its argument. For an operation, its number is reported on the
    launching thread, and a record with that number comes later.
    Source: hip_prof_api.h of hipamd 5.2.3, roctracer 5.2.3.
*/
enum { TS__HOOK_DATA = 2048, TS__HOOK_DEPTH = 4 };
#define TS__HOOK_NUMBER (UINT64_C(1) << 63) // set in no correlation

typedef struct ts__hook_stack { // the calls of a thread
    uint32_t depth;
    _Alignas(16) char data[TS__HOOK_DEPTH][TS__HOOK_DATA];
} ts__hook_stack;

static void *ts__hook_on_activity(uint32_t number, void *record,
                                  const void *data, void *argument)
{
    (void)number;
    (void)record;
    (void)data;
    ts__hip_thread *const me = ts__hip_thread_get();
    if (me && !me->data) me->data = calloc(1, sizeof(ts__hook_stack));
    ts__hook_stack *const stack = me ? (ts__hook_stack *)me->data : NULL;
    if (!stack) return NULL;
    if (argument) { // the call has returned
        if (stack->depth) stack->depth--;
        return NULL;
    }
    if (stack->depth == TS__HOOK_DEPTH || !ts__hip_listens()) return NULL;
    char *const place = stack->data[stack->depth++];
    const uint64_t correlation =
        __atomic_add_fetch(&ts__hook.correlation, 1, __ATOMIC_RELAXED);
    memset(place, 0, 16);
    memcpy(place, &correlation, sizeof correlation);
    return place;
}

static void ts__hook_on_call(uint32_t domain, uint32_t number, const void *data,
                             void *unused)
{
    (void)domain;
    (void)unused;
    ts__activity_call(number, (const char *)data);
}

// The operation that this thread launches will be reported with this number.
static void ts__hook_on_number(uint64_t number)
{
    const ts__hip_thread *const me = ts__hip_me;
    if (!me || !me->depth || me->depth > TS__HIP_DEPTH) return;
    const uint64_t correlation = me->calls[me->depth - 1].correlation;
    ts__notes_put(&ts__hook.numbers, number + 1, &correlation,
                  sizeof correlation, false);
}

static void ts__hook_on_record(uint32_t op, void *record, void *unused)
{
    uint64_t correlation;
    (void)op;
    (void)unused;
    if (!record || !ts__hip_listens()) return;
    const uint64_t number = ts__read64(record, TS__ACTIVITY_CORRELATION);
    if (!ts__notes_get(&ts__hook.numbers, number + 1, &correlation,
                       sizeof correlation, false))
        correlation = number | TS__HOOK_NUMBER;
    ts__activity_take_one((const char *)record, correlation);
}

static void *ts__hook_address(void (*function)(void))
{
    void *address;
    memcpy(&address, &function, sizeof address);
    return address;
}
#define TS__HOOK_ADDRESS(function) ts__hook_address((void (*)(void))(function))

static void ts__hook_old_start(void)
{
    static int end;
    ts__activity_devices(false);
    ts__hook.init_activity(TS__HOOK_ADDRESS(ts__hook_on_number),
                           TS__HOOK_ADDRESS(ts__hook_on_record), NULL);
    for (uint32_t i = 1; i < TS__HIP_APIS; i++) {
        if (!ts__hip_apis[i].requested) continue;
        ts__hook.register_api(i, TS__HOOK_ADDRESS(ts__hook_on_call), NULL);
        ts__hook.register_activity(i, TS__HOOK_ADDRESS(ts__hook_on_activity),
                                   &end);
    }
    ts__hook.enable_activity(TS__ACTIVITY_DISPATCH, true);
    ts__hook.enable_activity(TS__ACTIVITY_COPY, true);
}

static void ts__hook_old_stop(void)
{
    ts__hook.enable_activity(TS__ACTIVITY_DISPATCH, false);
    ts__hook.enable_activity(TS__ACTIVITY_COPY, false);
    for (uint32_t i = 1; i < TS__HIP_APIS; i++) {
        if (!ts__hip_apis[i].requested) continue;
        ts__hook.remove_activity(i);
        ts__hook.remove_api(i);
    }
}

/* ==== 3. The choice ====================================================== */

static bool ts__hook_start(char *why, size_t room)
{
    static const char *const names[] = { "hipApiName",
                                         "?hipRegisterTracerCallback",
                                         "?hipInitActivityCallback",
                                         "?hipEnableActivityCallback",
                                         "?hipRegisterActivityCallback",
                                         "?hipRemoveActivityCallback",
                                         "?hipRegisterApiCallback",
                                         "?hipRemoveApiCallback",
                                         NULL };
    void *const runtime = ts__hip_runtime();
    if (!runtime) {
        snprintf(why, room, "the program has not loaded libamdhip64.so");
        return false;
    }
    const char *const missing =
        ts__library_resolve(runtime, "", names, &ts__hook);
    const bool old = ts__hook.init_activity && ts__hook.enable_activity &&
                     ts__hook.register_activity && ts__hook.remove_activity &&
                     ts__hook.register_api && ts__hook.remove_api;
    if (missing || (!ts__hook.register_tracer && !old)) {
        snprintf(why, room, "libamdhip64.so has none");
        return false;
    }
    const uint32_t functions = ts__hip_define_all(ts__hook.api_name);
    if (ts__hook.register_tracer) {
        ts__hook_new_start(functions);
        return true;
    }
    if (!ts__notes_open(&ts__hook.numbers, TS__HIP_NOTES, sizeof(uint64_t))) {
        snprintf(why, room, "out of memory");
        return false;
    }
    ts__hook_old_start();
    return true;
}

// Nothing to do, because records are delivered at once.
static void ts__hook_flush(void)
{
}

static void ts__hook_stop(void)
{
    if (ts__hook.register_tracer)
        ts__hook.register_tracer(NULL);
    else
        ts__hook_old_stop();
}

static const ts__hip_way ts__hook_way = { "hook",        ts__hook_start,
                                          ts__hook_stop, ts__hook_flush,
                                          ts__rt_gone,   ts__hip_boottime_ns,
                                          true };

#endif // TS__HIP_HOOK_H
