/*
    nvtx/payload_events.h - marks and ranges that are a payload alone

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Events with times of a clock of the program's own are counted as lost.
*/
#ifndef TS__NVTX_PAYLOAD_EVENTS_H
#define TS__NVTX_PAYLOAD_EVENTS_H

#include "tracesmith.h"
#include "../ts_filter.h"
#include "payload.h"
#include "ranges.h"
#include "state.h"

// Names an event that has payloads but no attributes: by an entry with the
// name, else by the schema.
static ts__nv_attributes ts__np_named(ts__nv_out *out, void *domain,
                                      const ts__nv_data *data, size_t count)
{
    ts__np_begin(out, ts__nv_domain_of(domain), false);
    ts__np_all(out, data, count);
    const ts__nv_schema *const s =
        data && count ? ts__np_schema(out->domain, data->schema) : NULL;
    return ts__nv_plain(*out->message  ? out->message
                        : s && s->name ? s->name
                                       : "payload");
}

static void ts__nv_MarkPayload(void *domain, const ts__nv_data *data,
                               size_t count)
{
    ts__nv_out out;
    const ts__nv_attributes a = ts__np_named(&out, domain, data, count);
    if (ts__nv_mark(ts__nv_domain_of(domain), &a))
        ts__np_report(&out, a.message.ascii);
}
static int ts__nv_RangePushPayload(void *domain, const ts__nv_data *data,
                                   size_t count)
{
    ts__nv_out out;
    ts__nv_attributes a = ts__np_named(&out, domain, data, count);
    a.payload_type = TS__NV_EXT;
    a.payload.u64 = (uint64_t)(uintptr_t)data;
    a.reserved = (int32_t)count;
    return ts__nv_range_push(ts__nv_domain_of(domain), &a);
}
static int ts__nv_RangePopPayload(void *domain, const ts__nv_data *data,
                                  size_t count)
{
    ts__nv_out out;
    ts__np_begin(&out, ts__nv_domain_of(domain), true);
    if (ts_filter_kind(TS_EVENT_ZONE_ARG) && ts__nv_is_innermost(out.domain))
        ts__np_all(&out, data, count);
    return ts__nv_pop(out.domain);
}
static uint64_t ts__nv_RangeStartPayload(void *domain, const ts__nv_data *data,
                                         size_t count)
{
    ts__nv_out out;
    const ts__nv_attributes a = ts__np_named(&out, domain, data, count);
    const uint64_t id = ts__nv_range_start(ts__nv_domain_of(domain), &a);
    if (id >> 48 == TS__NV_SPAN >> 48) ts__np_report(&out, a.message.ascii);
    return id;
}
static void ts__nv_RangeEndPayload(void *domain, uint64_t id,
                                   const ts__nv_data *data, size_t count)
{
    ts__nv_out out;
    const ts__nv_attributes a = ts__np_named(&out, domain, data, count);
    if (id >> 48 == TS__NV_SPAN >> 48) ts__np_report(&out, a.message.ascii);
    ts__nv_range_end(id);
}
static uint8_t ts__nv_DomainIsEnabled(void *domain)
{
    (void)domain;
    return 1;
}
static int64_t ts__nv_TimestampGet(void)
{
    return (int64_t)ts_tick_now();
}
static uint64_t ts__nv_TimeDomainRegister(void *domain, const void *attributes)
{
    (void)domain;
    (void)attributes;
    return ts__np_number(0);
}
static uint64_t ts__nv_ScopeRegister(void *domain, const void *attributes)
{
    (void)domain;
    (void)attributes;
    return ts__np_number(0);
}
// Counts events with times of the program's own clock as lost.
static void ts__np_lost(const char *detail)
{
    const uint64_t now = ts_tick_now();
    if (TS__LOAD(&ts__here.gate))
        ts_loss_report(0, TS_LOSS_BACKEND, detail, 1, now, now);
}
static void ts__nv_EventSubmit(void *domain, const ts__nv_data *data,
                               size_t count)
{
    (void)domain;
    (void)data;
    (void)count;
    ts__np_lost("NVTX events with times of their own");
}
static void ts__nv_EventBatchSubmit(void *domain, const void *batch)
{
    (void)domain;
    (void)batch;
    ts__np_lost("NVTX batches of events");
}

#endif // TS__NVTX_PAYLOAD_EVENTS_H
