/*
    nvtx/ranges.h - ranges become zones and spans, marks become marks

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__NVTX_RANGES_H
#define TS__NVTX_RANGES_H

#include "tracesmith.h"
#include "../ts_filter.h"
#include "payload.h"
#include "state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Only zones have values; for other events the payload becomes a message.
static void ts__nv_payload_said(const ts__nv_domain *domain,
                                const ts__nv_attributes *a)
{
    char wide[TS__NV_TEXT], value[40] = "", line[TS__NV_TEXT + 64];
    const char *const name = ts__nv_name(a, wide, sizeof wide);
    switch (a->payload_type) {
    case TS__NV_EXT: ts__nv_extended(domain, a, name); return;
    case TS__NV_U64:
        snprintf(value, sizeof value, "%llu",
                 (unsigned long long)a->payload.u64);
        break;
    case TS__NV_I64:
        snprintf(value, sizeof value, "%lld", (long long)a->payload.i64);
        break;
    case TS__NV_F64:
        snprintf(value, sizeof value, "%.9g", a->payload.f64);
        break;
    case TS__NV_U32: snprintf(value, sizeof value, "%u", a->payload.u32); break;
    case TS__NV_I32: snprintf(value, sizeof value, "%d", a->payload.i32); break;
    case TS__NV_F32:
        snprintf(value, sizeof value, "%.9g", (double)a->payload.f32);
        break;
    default: return;
    }
    if (!ts_filter_kind(TS_EVENT_MESSAGE)) return;
    snprintf(line, sizeof line, "%.1000s: payload=%s", name, value);
    ts_message(line);
}

// Adds the payload to the zone that has just begun.
static void ts__nv_payload(const ts__nv_domain *domain,
                           const ts__nv_attributes *a)
{
    switch (a->payload_type) {
    case TS__NV_EXT: ts__nv_extended(domain, a, NULL); break;
    case TS__NV_U64: ts_zone_value_uint("payload", a->payload.u64); break;
    case TS__NV_I64: ts_zone_value_int("payload", a->payload.i64); break;
    case TS__NV_F64: ts_zone_value_double("payload", a->payload.f64); break;
    case TS__NV_U32: ts_zone_value_int("payload", a->payload.u32); break;
    case TS__NV_I32: ts_zone_value_int("payload", a->payload.i32); break;
    case TS__NV_F32:
        ts_zone_value_double("payload", (double)a->payload.f32);
        break;
    default: break;
    }
}

// Returns the attributes of a call without any. Attributes of an unknown
// version are read as far as they are known.
static ts__nv_attributes ts__nv_plain(const char *ascii)
{
    ts__nv_attributes a;
    memset(&a, 0, sizeof a);
    a.message_type = TS__NV_ASCII;
    a.message.ascii = ascii;
    return a;
}

static ts__nv_attributes ts__nv_wide(const wchar_t *unicode)
{
    ts__nv_attributes a;
    memset(&a, 0, sizeof a);
    a.message_type = TS__NV_UNICODE;
    a.message.unicode = unicode;
    return a;
}

static ts__nv_attributes ts__nv_known(const ts__nv_attributes *given)
{
    ts__nv_attributes a;
    if (given && given->size >= sizeof a) return *given;
    memset(&a, 0, sizeof a);
    if (given) memcpy(&a, given, given->size);
    return a;
}

// Returns how many ranges were open in this domain on this thread, as NVTX
// defines it.
static int ts__nv_push(const void *owner, ts_zone zone)
{
    ts__nv_thread *const me = ts__nv_thread_get();
    if (!me) return -1;
    if (me->count == me->capacity) {
        const uint32_t capacity = me->capacity ? 2 * me->capacity : 32;
        ts__nv_range *const more =
            (ts__nv_range *)realloc(me->ranges, capacity * sizeof *more);
        if (!more) return -1;
        me->ranges = more;
        me->capacity = capacity;
    }
    // Searches only the owner's last range, because programs may forget to pop.
    uint32_t at = me->count;
    while (at && me->ranges[at - 1].owner != owner)
        at--;
    ts__nv_range *const range = &me->ranges[me->count++];
    range->owner = owner;
    range->depth = at ? me->ranges[at - 1].depth + 1 : 0;
    range->zone = zone;
    return range->depth;
}

// Ends the innermost range of an owner; ranges of others may be open inside it.
static int ts__nv_pop(const void *owner)
{
    ts__nv_thread *const me = ts__nv_thread_get();
    uint32_t at = me ? me->count : 0;
    while (at && me->ranges[at - 1].owner != owner)
        at--;
    if (!at) return -2; // NVTX_NO_PUSH_POP_TRACKING
    const int depth = me->ranges[at - 1].depth;
    if (TS__LIKELY(at == me->count)) {
        ts_zone_end(&me->ranges[at - 1].zone);
    } else {
        ts_zone_end_outer(&me->ranges[at - 1].zone);
        memmove(&me->ranges[at - 1], &me->ranges[at],
                (me->count - at) * sizeof *me->ranges);
    }
    me->count--;
    return depth;
}

static bool ts__nv_is_innermost(const void *owner)
{
    const ts__nv_thread *const me = ts__nv_thread_get();
    const ts__nv_range *const range =
        me && me->count ? &me->ranges[me->count - 1] : NULL;
    return range && range->owner == owner && range->zone.code;
}

static int ts__nv_range_push(ts__nv_domain *domain, const ts__nv_attributes *a)
{
    const uint32_t site = ts__nv_site(domain, a, TS_EVENT_ZONE);
    const ts_zone zone = ts_zone_begin_site(site);
    const int depth = ts__nv_push(domain, zone);
    if (zone.code && ts_filter_kind(TS_EVENT_ZONE_ARG))
        ts__nv_payload(domain, a);
    return depth;
}

// The same without attributes but a text, which is the most frequent call.
static int ts__nv_range_push_text(ts__nv_domain *domain, const char *text)
{
    const char *const name = text && *text ? text : TS__NV_NO_NAME;
    const uint32_t site = ts__nv_requested(name, TS_EVENT_ZONE)
                              ? ts__nv_site_plain(domain, name)
                              : 0;
    return ts__nv_push(domain, ts_zone_begin_site(site));
}

// High bits of span ids, so that they differ from those that programs assign. A
// range that was filtered out at its start gets the second, and its end is
// ignored.
#define TS__NV_SPAN    (UINT64_C(0x4E56) << 48)
#define TS__NV_NO_SPAN (UINT64_C(0x4E57) << 48)

static uint64_t ts__nv_range_start(ts__nv_domain *domain,
                                   const ts__nv_attributes *a)
{
    ts__nv_thread_get();
    const uint32_t site = ts__nv_site(domain, a, TS_EVENT_SPAN);
    const uint64_t id = (site ? TS__NV_SPAN : TS__NV_NO_SPAN) |
                        __atomic_add_fetch(&ts__nv.ranges, 1, __ATOMIC_RELAXED);
    ts_span_start_site(id, site);
    if (site && a->payload_type) ts__nv_payload_said(domain, a);
    return id;
}

static void ts__nv_range_end(uint64_t id)
{
    if (id >> 48 == TS__NV_SPAN >> 48) ts_span_end(id);
}

// Returns whether the mark was requested by the filter.
static bool ts__nv_mark(ts__nv_domain *domain, const ts__nv_attributes *a)
{
    ts__nv_thread_get();
    const uint32_t site = ts__nv_site(domain, a, TS_EVENT_MARK);
    ts_mark_site(site);
    if (site && a->payload_type) ts__nv_payload_said(domain, a);
    return site != 0;
}

#endif // TS__NVTX_RANGES_H
