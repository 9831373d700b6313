/*
    nvtx/counters.h - counters, an extension of NVTX

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Checked with:   NVTX 3 of CUDA 13.0 (counters 0x0102), x86-64, November
                    2026.

    A sample becomes a sample of the counter "DOMAIN: NAME", a group a
    sample of each of its fields, "DOMAIN: NAME.field". Batches of samples
    have times of clocks of their own: they are counted as lost. Limits and
    scales are not kept, units are.
*/
#ifndef TS__NVTX_COUNTERS_H
#define TS__NVTX_COUNTERS_H

#include "tracesmith.h"
#include "../ts_filter.h"
#include "payload.h"
#include "payload_events.h"
#include "state.h"

#include <stdlib.h>
#include <string.h>

static uint64_t ts__nv_CounterRegister(void *domain,
                                       const ts__nv_counter_attributes *a)
{
    if (!a || a->size < sizeof *a) return 0;
    ts__nv_counter *const c = (ts__nv_counter *)calloc(1, sizeof *c);
    char *const name = ts__nv_copy(a->name ? a->name : "counter");
    if (!c || !name) {
        free(c);
        free(name);
        return 0;
    }
    c->domain = ts__nv_domain_of(domain);
    c->id = ts__np_number(a->id);
    c->schema = a->schema;
    c->name = name;
    for (const ts__nv_semantics *s = a->semantics; s; s = s->next) {
        // 5: NVTX_SEMANTIC_ID_COUNTERS_V1
        const ts__nv_counter_semantics *const own =
            (const ts__nv_counter_semantics *)(const void *)s;
        if (s->id == 5 && s->size >= sizeof *own && own->unit)
            c->unit = ts__nv_copy(own->unit);
    }
    ts__nv_counter **const list =
        &ts__np.counters[ts__np_bucket(c->domain, c->id)];
    c->next = __atomic_load_n(list, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(list, &c->next, c, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
    return c->id;
}

// Returns whether the counter's samples are requested, and prepares `out`.
static bool ts__np_sampled(ts__nv_out *out, void *domain, uint64_t id)
{
    const void *const of = ts__nv_domain_of(domain);
    // acquire: pairs with the release in ts__nv_CounterRegister
    ts__nv_counter *c = __atomic_load_n(&ts__np.counters[ts__np_bucket(of, id)],
                                        __ATOMIC_ACQUIRE);
    while (c && (c->domain != of || c->id != id))
        c = c->next;
    ts__np_begin(out, of, false);
    out->counter = c;
    return c && TS__LOAD(&ts__here.gate) && ts_filter_kind(TS_EVENT_COUNTER) &&
           ts_filter_text(c->name);
}

static void ts__nv_CounterSampleInt64(void *domain, uint64_t id, int64_t value)
{
    ts__nv_out out;
    if (ts__np_sampled(&out, domain, id)) ts__np_int(&out, value);
}
static void ts__nv_CounterSampleFloat64(void *domain, uint64_t id, double value)
{
    ts__nv_out out;
    if (ts__np_sampled(&out, domain, id)) ts__np_double(&out, value);
}
static void ts__nv_CounterSample(void *domain, uint64_t id, const void *value,
                                 size_t size)
{
    ts__nv_out out;
    if (!ts__np_sampled(&out, domain, id)) return;
    const ts__nv_data data = { out.counter->schema, size, value };
    ts__np_data(&out, &data);
}
static void ts__nv_CounterSampleNoValue(void *domain, uint64_t id,
                                        uint8_t reason)
{
    ts__nv_out out; // 0: the value is zero
    if (!reason && ts__np_sampled(&out, domain, id)) ts__np_int(&out, 0);
}
static void ts__nv_CounterBatchSubmit(void *domain, const void *batch)
{
    (void)domain;
    (void)batch;
    ts__np_lost("NVTX batches of samples");
}

#endif // TS__NVTX_COUNTERS_H
