/*
    cupti/calls.h - calls of the runtime and the driver

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    CUPTI calls back when a function begins and when it returns, on the
    calling thread. So the call is recorded at once, on clock 0.

    No activity records of calls are used, and no external correlation
    identifiers: with both a launch costs a push, a pop and two records in
    the vendor's buffers, on top of our own work to take the stack. They
    would come late, be lost in a crash, and contain no more.
*/
#ifndef TS__CUPTI_CALLS_H
#define TS__CUPTI_CALLS_H

#include "tracesmith.h"
#include "../ts_filter.h"
#include "../gpu/driver.h"
#include "../gpu/records.h"
#include "callback_data.h"
#include "capture.h"
#include "functions.h"
#include "origins.h"
#include "vendors.h"

#include <stdio.h>
#include <string.h>

static void ts__cu_call_begin(ts__cu *u, uint32_t domain, uint32_t id,
                              const ts__cu_call_data *data, uint32_t session)
{
    ts__cu_call *const c = &ts__cu_here;
    const bool within = c->engine == u && c->session == session &&
                        c->domain == TS__CU_RUNTIME && domain == TS__CU_DRIVER;
    const uint8_t rule = id < TS__CU_IDS ? u->rules[domain][id] : TS__CU_CALL;
    if (within) { // a driver call that the runtime's function makes
        if (data->correlation != c->correlation)
            ts__cu_origin_put(u, data->correlation, c, false);
        if (ts__cu_is_move(rule) && !ts__cu_is_move(c->rule))
            ts__cu_move_put(u, c->correlation, data->parameters, rule);
        return;
    }
    c->engine = u;
    c->session = session;
    c->domain = domain;
    c->id = id;
    c->correlation = data->correlation;
    c->node = 0;
    c->rule = rule;
    c->start = ts_tick_now();
    c->origin = ts_gpu_origin_here();
    if (TS__UNLIKELY(c->known != session)) {
        c->known = session;
        ts__cu_thread_note(u, c->origin.thread);
    }
    if (TS__UNLIKELY(!TS__LOAD(&u->first_correlation)))
        TS__STORE(&u->first_correlation, c->correlation);
    if (TS__UNLIKELY(ts__cu_is_move(rule)))
        ts__cu_move_put(u, c->correlation, data->parameters, rule);
    // A kernel that the filter excludes has no record to wait for.
    ts__cu_origin_put(u, c->correlation, c,
                      rule == TS__CU_LAUNCH && ts_filter_kernels());
}

static uint32_t ts__cu_function(ts__cu *u, uint32_t domain, uint32_t id,
                                const char *name)
{
    uint32_t code = id < TS__CU_IDS ? TS__CODE(&u->names[domain][id]) : 0;
    if (code || !name) return code;
    code = ts_name_define_sized(name, ts__cu_name_size(name));
    if (id < TS__CU_IDS)
        __atomic_store_n(&u->names[domain][id], code, __ATOMIC_RELEASE);
    return code;
}

static void ts__cu_call_end(ts__cu *u, uint32_t domain, uint32_t id,
                            const ts__cu_call_data *data, uint32_t session)
{
    ts__cu_call *const c = &ts__cu_here;
    if (c->engine != u || c->session != session || c->domain != domain ||
        c->id != id || c->correlation != data->correlation)
        return; // it began before the session, or is nested in another call
    c->engine = NULL;
    const int result = data->result ? *data->result : 0;
    const uint8_t rule = id < TS__CU_IDS ? u->rules[domain][id] : 0;
    if (rule == TS__CU_LAUNCH) {
        if (!result && c->node)
            __atomic_fetch_add(&u->into_graphs, 1, __ATOMIC_RELAXED);
        if (result || c->node)
            ts__notes_settle(&u->origins, c->correlation,
                             sizeof(ts__cu_origin));
        else
            __atomic_fetch_add(&u->launches, 1, __ATOMIC_RELAXED);
    }
    if (rule == TS__CU_WAITS && !result)
        __atomic_fetch_add(&u->device_waits, 1, __ATOMIC_RELAXED);
    if (!ts_filter_kind(TS_EVENT_API_CALL)) return;
    const ts_api_call call = {
        .name = ts__cu_function(u, domain, id, data->name),
        .stack = c->origin.stack,
        .start = c->start,
        .end = ts_tick_now(),
        .correlation = c->correlation,
        .result = (uint64_t)(uint32_t)result,
    };
    ts_api_call_record(&call);
}

typedef struct ts__cu_graph_data { // CUpti_GraphData, its first fields
    void *graph, *original_graph, *node, *original;
} ts__cu_graph_data;

typedef struct ts__cu_notice { // CUpti_StateData
    int32_t result;
    const char *text;
} ts__cu_notice;

// Instantiating a graph clones it: a clone's node has the creation stack of the
// original node.
static void ts__cu_node_made(ts__cu *u, const ts__cu_resource *resource,
                             bool cloned)
{
    const ts__cu_graph_data *const data =
        (const ts__cu_graph_data *)resource->more;
    uint64_t id = 0, original = 0;
    ts__cu_here.node = 1;
    const ts_gpu_origin origin =
        ts__cu_here.engine == u ? ts__cu_here.origin : ts_gpu_origin_here();
    if (!u->call.node_id || !data || !origin.stack ||
        u->call.node_id(data->node, &id) != 0)
        return;
    uint32_t stack = cloned ? 0 : origin.stack;
    if (cloned && u->call.node_id(data->original, &original) == 0)
        stack = ts__cu_node_stack(u, original);
    ts__cu_node *const n = stack ? ts__cu_node_at(u, id, true) : NULL;
    if (n) TS__STORE(&n->stack, stack);
}

static void ts__cu_noticed(ts__cu *u, uint32_t id, const ts__cu_notice *notice)
{
    char text[sizeof u->error];
    snprintf(text, sizeof text, "%s: %.200s (%d)", u->table->product,
             notice->text ? notice->text : "no text", notice->result);
    ts_message(text);
    if (id != TS__CU_FATAL_ERROR || TS__LOAD(&u->fatal)) return;
    memcpy(u->error, text, sizeof text);
    // CUPTI has failed, and none of its functions is called again. release: the
    // error text; pairs with the acquire in ts__cu_sum_up
    __atomic_store_n(&u->fatal, 1, __ATOMIC_RELEASE);
}

// Marks a call of TraceSmith's own by tick 0; it is not recorded.
static void ts__cu_own_put(ts__cu *u, uint32_t correlation)
{
    const ts__cu_origin own = { 0, 0, 0 };
    ts__notes_put(&u->origins, correlation, &own, sizeof own, false);
}

// Some driver functions are needed only by captures.
static void ts__cu_call_reported(ts__cu *u, uint32_t domain, uint32_t id,
                                 const ts__cu_call_data *call, uint32_t session)
{
    const bool kept = domain == TS__CU_DRIVER && id < TS__CU_IDS && u->keep[id];
    const bool only = kept && u->rules[domain][id] == TS__CU_QUIET;
    if (ts__cs_mine) {
        if (call->site == 0) ts__cu_own_put(u, call->correlation);
        return;
    }
    if (kept && call->site) ts__cu_keep_call(u, id, call);
    if (call->site == 0 && !only)
        ts__cu_call_begin(u, domain, id, call, session);
    else if (!only)
        ts__cu_call_end(u, domain, id, call, session);
    if (kept && !call->site) ts__cu_keep_call(u, id, call);
}

static void ts__cu_callback(void *user, uint32_t domain, uint32_t id,
                            const void *data)
{
    ts__cu *const u = (ts__cu *)user;
    // acquire: pairs with the release in ts__cu_open
    const uint32_t session = __atomic_load_n(&u->on, __ATOMIC_ACQUIRE);
    if (!session || !data || TS__LOAD(&u->standalone)) return;
    if (domain == TS__CU_RUNTIME || domain == TS__CU_DRIVER) {
        ts__cu_call_reported(u, domain, id, (const ts__cu_call_data *)data,
                             session);
    } else if (domain == TS__CU_RESOURCE) {
        if (u->keeps) ts__cu_keep_resource(id, (const ts__cu_resource *)data);
        if (id == TS__CU_MODULE_UNLOADED)
            __atomic_fetch_add(&u->epoch, 1, __ATOMIC_RELAXED);
        else if (id == TS__CU_NODE_CREATED || id == TS__CU_NODE_CLONED)
            ts__cu_node_made(u, (const ts__cu_resource *)data,
                             id == TS__CU_NODE_CLONED);
    } else if (domain == TS__CU_STATE) {
        ts__cu_noticed(u, id, (const ts__cu_notice *)data);
    }
}

#endif // TS__CUPTI_CALLS_H
