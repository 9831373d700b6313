/*
    ts_nvtx.h - what programs and libraries say through NVTX

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: none. NVTX is a header of NVIDIA's that programs compile
                    in; it looks for a handler, which this is.
    Checked with:   NVTX 3 of CUDA 13.0, x86-64, November 2026.

    WHAT IT DOES
        Ranges that are pushed and popped become zones, those that start and
        end anywhere spans, marks marks. Domains and categories are their
        categories, colours stay, payloads become values of the zone. Threads
        get their names; those of streams, devices and events are kept for
        the backends that know these. A lock that is waited for is a zone, a
        lock that is given back a mark.

    WHAT IT DOES NOT DO
        Payload schemas and counters have files of their own beside this. It
        keeps no resources. It never calls NVTX, so it cannot call itself.
        (Programs that nobody changed: docs/capture.md.)

    USE
        #define TRACESMITH_IMPLEMENTATION // in one C11 file of a program
        #define TRACESMITH_NVTX           // that uses NVTX
        #include "tracesmith.h"

        #include "backends/ts_nvtx.h"

    CONTENTS                            search for "==== 2." to jump
        1. Options
        2. Handler
        3. Names of other things
        4. Implementation               private
*/
#if defined(TRACESMITH_NVTX_IMPLEMENTATION) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE // before the first system header
#endif
#ifndef TS_NVTX_H
#define TS_NVTX_H

#include "tracesmith.h"

/* ==== 1. Options ========================================================= */

/*
    TRACESMITH_NVTX_IMPLEMENTATION  in one C11 file: the functions
    TRACESMITH_NVTX                 the same, beside TRACESMITH_IMPLEMENTATION,
                                    and this program's own NVTX finds them
                                    without an environment variable
*/

/* ==== 2. Handler ========================================================= */

/*
    What a copy of NVTX calls when it is used first; every shared object may
    have one. get_table: gives its tables by number. Returns 1: handled.
    Source: nvtxDetail/nvtxTypes.h and nvtxInit.h of NVTX 3.
    Threads: any, several at once.
*/
typedef const void *(*ts_nvtx_get_table)(uint32_t table);
TS_API int ts_nvtx_initialize(ts_nvtx_get_table get_table);

// The same where another handler wants to be called too: `other` is what NVTX
// would have called in it.
TS_API int ts_nvtx_initialize_both(ts_nvtx_get_table get_table,
                                   int (*other)(ts_nvtx_get_table));

// What a copy of one of NVTX's extensions calls when it is used first: payload
// schemas and counters are handled. module_info: an nvtxExtModuleInfo_t.
TS_API int ts_nvtx_extension(void *module_info);

// Says in the metadata how many copies of NVTX reported.
extern const ts_backend ts_nvtx_backend;

/* ==== 3. Names of other things =========================================== */

typedef enum ts_nvtx_kind {
    TS_NVTX_CU_DEVICE = 1, // driver API: the device's number
    TS_NVTX_CU_CONTEXT,    // the others by handle
    TS_NVTX_CU_STREAM,
    TS_NVTX_CU_EVENT,
    TS_NVTX_CUDA_DEVICE, // runtime API
    TS_NVTX_CUDA_STREAM,
    TS_NVTX_CUDA_EVENT,
    TS_NVTX_CL_DEVICE,
    TS_NVTX_CL_CONTEXT,
    TS_NVTX_CL_QUEUE,
    TS_NVTX_CL_MEMORY,
    TS_NVTX_CL_SAMPLER,
    TS_NVTX_CL_PROGRAM,
    TS_NVTX_CL_EVENT
} ts_nvtx_kind;

// Called with each name that the program gives, on its thread; the name stays
// for as long as the process. Set before the first copy of NVTX reports.
extern void (*ts_nvtx_named)(ts_nvtx_kind kind, uint64_t handle,
                             const char *name);

// The name that the program gave; NULL: none. Lifetime: the process.
TS_API const char *ts_nvtx_name_of(ts_nvtx_kind kind, uint64_t handle);

#endif // TS_NVTX_H

/* ==== 4. Implementation ================================================== */

#if !defined(TS__NVTX_IMPLEMENTED) && !defined(TRACESMITH_DISABLE) && \
    (defined(TRACESMITH_NVTX_IMPLEMENTATION) || \
     (defined(TRACESMITH_NVTX) && defined(TRACESMITH_IMPLEMENTATION)))
#define TS__NVTX_IMPLEMENTED

#include "ts_filter.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <wchar.h>

/* ---- 4.1 What NVTX passes ----------------------------------------------- */

// The parts of its interface that are used. tests/checks/capture/nvtx_abi.c
// compares them with NVIDIA's headers where these are installed.
typedef struct ts__nv_callbacks { // table 1
    size_t size;
    int (*module_table)(uint32_t module, void (****table)(void),
                        unsigned *size);
} ts__nv_callbacks;

typedef struct ts__nv_version { // table 3
    size_t size;
    uint32_t version, reserved;
    void (*set_handler_version)(uint32_t version);
} ts__nv_version;

typedef union ts__nv_message {
    const char *ascii;
    const wchar_t *unicode;
    const struct ts__nv_string *registered;
} ts__nv_message;

typedef struct ts__nv_attributes { // nvtxEventAttributes_v2
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color; // ARGB
    int32_t payload_type, reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
        uint32_t u32;
        int32_t i32;
        float f32;
    } payload;
    int32_t message_type;
    ts__nv_message message;
} ts__nv_attributes;

enum { // of attributes
    TS__NV_COLOR_ARGB = 1,
    TS__NV_U64 = 1,
    TS__NV_I64 = 2,
    TS__NV_F64 = 3,
    TS__NV_U32 = 4,
    TS__NV_I32 = 5,
    TS__NV_F32 = 6,
    TS__NV_ASCII = 1,
    TS__NV_UNICODE = 2,
    TS__NV_REGISTERED = 3
};
#define TS__NV_EXT ((int32_t)0xDFBD0009) // payload: schemas

typedef struct ts__nv_lock_attributes { // nvtxSyncUserAttributes_v0
    uint16_t version, size;
    int32_t message_type;
    ts__nv_message message;
} ts__nv_lock_attributes;

/* ---- 4.2 What is kept --------------------------------------------------- */

// All of it is added to lists that never shrink: a handle stays good whatever
// a program does with it after it has destroyed it.
typedef struct ts__nv_named { // a category, or a thing of section 3
    struct ts__nv_named *next;
    uint64_t kind, id;
    char *text;
} ts__nv_named;

typedef struct ts__nv_kept { // head of what is never freed
    struct ts__nv_kept *next;
    void *theirs; // what another handler gave for it
} ts__nv_kept;

typedef struct ts__nv_domain {
    ts__nv_kept kept;
    char *name;
    ts__nv_named *categories;
} ts__nv_domain;

typedef struct ts__nv_string {
    ts__nv_kept kept;
    char *text;
} ts__nv_string;

typedef struct ts__nv_lock {
    ts__nv_kept kept;
    ts_site acquire, release;
} ts__nv_lock;

typedef struct ts__nv_range { // an open one
    const void *owner;        // domain or lock
    int depth;                // ranges of this owner around it
    ts_zone zone;
} ts__nv_range;

typedef struct ts__nv_thread {
    uint32_t count, capacity;
    uint32_t named; // ts__nv.named when it looked for its name last
    ts__nv_range *ranges;
} ts__nv_thread;

// Names of things by hash. Programs may name millions of events.
enum { TS__NV_THINGS = 4096, TS__NV_NAMES_MOST = 1 << 20 };

static struct {
    ts__nv_domain common;                // calls without a domain
    ts__nv_kept *kept;                   // so that leak checkers find them
    ts__nv_named *things[TS__NV_THINGS]; // of section 3, threads to be named
    uint32_t names, dropped;             // of things
    uint32_t named;                      // how often a thread was named
    uint64_t ranges; // numbers given to ranges that start and end
    uint32_t copies;
    pthread_key_t key;
    pthread_once_t once;
} ts__nv = { .once = PTHREAD_ONCE_INIT };
static __thread ts__nv_thread *ts__nv_me;

enum { TS__NV_OS_THREAD = 0 }; // among things, before ts_nvtx_kind

static void ts__nv_thread_end(void *thread)
{
    free(((ts__nv_thread *)thread)->ranges);
    free(thread);
    ts__nv_me = NULL;
}

static void ts__nv_once(void)
{
    pthread_key_create(&ts__nv.key, ts__nv_thread_end);
}

static ts__nv_named *ts__nv_find(ts__nv_named *const *list, uint64_t kind,
                                 uint64_t id)
{
    // acquire: pairs with the release in ts__nv_add
    ts__nv_named *n = __atomic_load_n(list, __ATOMIC_ACQUIRE);
    while (n && (n->kind != kind || n->id != id))
        n = n->next;
    return n;
}

// The latest name counts; `text` is kept.
static void ts__nv_add(ts__nv_named **list, uint64_t kind, uint64_t id,
                       char *text)
{
    const ts__nv_named *const old = ts__nv_find(list, kind, id);
    ts__nv_named *const n = text && (!old || strcmp(old->text, text) != 0)
                                ? (ts__nv_named *)malloc(sizeof *n)
                                : NULL;
    if (!n) {
        free(text);
        return;
    }
    n->kind = kind;
    n->id = id;
    n->text = text;
    n->next = __atomic_load_n(list, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(list, &n->next, n, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
}

static void *ts__nv_keep(void *thing)
{
    ts__nv_kept *const kept = (ts__nv_kept *)thing;
    kept->next = __atomic_load_n(&ts__nv.kept, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&ts__nv.kept, &kept->next, kept, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
    return thing;
}

static ts__nv_named **ts__nv_things(uint64_t kind, uint64_t id)
{
    const uint64_t both = (id ^ kind << 58) * UINT64_C(0x9E3779B97F4A7C15);
    return &ts__nv.things[both >> 52];
}

void (*ts_nvtx_named)(ts_nvtx_kind kind, uint64_t handle, const char *name);

// What has been renamed a million times keeps its last name.
static void ts__nv_name_thing(uint64_t kind, uint64_t id, char *text)
{
    if (__atomic_add_fetch(&ts__nv.names, 1, __ATOMIC_RELAXED) >
        TS__NV_NAMES_MOST) {
        __atomic_add_fetch(&ts__nv.dropped, 1, __ATOMIC_RELAXED);
        free(text);
        return;
    }
    ts__nv_add(ts__nv_things(kind, id), kind, id, text);
    if (ts_nvtx_named && text) ts_nvtx_named((ts_nvtx_kind)kind, id, text);
}

const char *ts_nvtx_name_of(ts_nvtx_kind kind, uint64_t handle)
{
    const ts__nv_named *const n =
        ts__nv_find(ts__nv_things(kind, handle), kind, handle);
    return n ? n->text : NULL;
}

// UTF-8 of a wide text, cut where `room` ends.
static char *ts__nv_narrow(char *out, size_t room, const wchar_t *wide)
{
    size_t used = 0;
    for (; wide && *wide && used + 5 < room; wide++) {
        const uint32_t code = (uint32_t)*wide;
        const bool valid = code < 0xD800 || (code > 0xDFFF && code < 0x110000);
        const uint32_t c = valid ? code : 0xFFFD;
        const uint32_t more = c < 0x80      ? 0
                              : c < 0x800   ? 1
                              : c < 0x10000 ? 2
                                            : 3;
        static const uint8_t lead[4] = { 0, 0xC0, 0xE0, 0xF0 };
        out[used++] = (char)(lead[more] | c >> 6 * more);
        for (uint32_t i = more; i-- > 0;)
            out[used++] = (char)(0x80 | (c >> 6 * i & 0x3F));
    }
    out[used] = 0;
    return out;
}

static char *ts__nv_copy(const char *text)
{
    const size_t size = strlen(text ? text : "") + 1;
    char *const copy = (char *)malloc(size);
    if (copy) memcpy(copy, text ? text : "", size);
    return copy;
}

enum { TS__NV_TEXT = 1024 }; // of a wide text, in bytes of UTF-8

static char *ts__nv_copy_wide(const wchar_t *wide)
{
    char text[TS__NV_TEXT];
    return ts__nv_copy(ts__nv_narrow(text, sizeof text, wide));
}

// A thread takes the name that another one gave it when it calls next.
static ts__nv_thread *ts__nv_thread_get(void)
{
    if (!ts__nv_me) {
        pthread_once(&ts__nv.once, ts__nv_once);
        ts__nv_me = (ts__nv_thread *)calloc(1, sizeof *ts__nv_me);
        if (!ts__nv_me) return NULL;
        pthread_setspecific(ts__nv.key, ts__nv_me);
    }
    const uint32_t named = __atomic_load_n(&ts__nv.named, __ATOMIC_ACQUIRE);
    if (ts__nv_me->named != named) {
        ts__nv_me->named = named;
        const uint64_t own = (uint64_t)syscall(SYS_gettid);
        const ts__nv_named *const name = ts__nv_find(
            ts__nv_things(TS__NV_OS_THREAD, own), TS__NV_OS_THREAD, own);
        if (name) ts_thread_name(name->text);
    }
    return ts__nv_me;
}

/* ---- 4.3 Names, categories, values -------------------------------------- */

// Also of what says nothing: it would be shown by a number of ours. wide: room
// for a wide text.
static const char *ts__nv_name(const ts__nv_attributes *a, char *wide,
                               size_t room)
{
    const char *name = NULL;
    switch (a->message_type) {
    case TS__NV_ASCII: name = a->message.ascii; break;
    case TS__NV_UNICODE:
        name = ts__nv_narrow(wide, room, a->message.unicode);
        break;
    case TS__NV_REGISTERED:
        name = a->message.registered ? a->message.registered->text : NULL;
        break;
    default: break;
    }
    return name && *name ? name : "(no message)";
}

// A site's number, 0 if it is not wanted. Category: the domain, the category
// of NVTX, or both.
static uint32_t ts__nv_site(const ts__nv_domain *domain,
                            const ts__nv_attributes *a, ts_event_kind kind)
{
    if (!TS__LOAD(&ts__here.gate)) return 0;
    char wide[TS__NV_TEXT], both[256], number[24];
    ts_site base;
    memset(&base, 0, sizeof base);
    const char *const name = ts__nv_name(a, wide, sizeof wide);
    if (kind != TS_EVENT_SPAN) ts_frame_hint(name);
    if (!ts_filter_kind(kind)) return 0;
    base.category = domain->name;
    if (a->category) {
        const ts__nv_named *const n =
            ts__nv_find(&domain->categories, 0, a->category);
        snprintf(number, sizeof number, "%u", a->category);
        base.category = n ? n->text : number;
        if (domain->name) {
            snprintf(both, sizeof both, "%.120s: %.120s", domain->name,
                     base.category);
            base.category = both;
        }
    }
    if (a->color_type == TS__NV_COLOR_ARGB) base.color = a->color & 0xFFFFFF;
    return ts_filter_name(name, strlen(name)) ? ts_site_define(name, &base) : 0;
}

// In nvtx/payload.h. name: NULL for the zone that has just begun.
static void ts__nv_extended(const ts__nv_domain *domain,
                            const ts__nv_attributes *a, const char *name);

// What is no zone has no values: a message tells them.
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

// Of the zone that has just begun.
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

// What a call without attributes means. Attributes of a version that is not
// known are read as far as they go.
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
    memset(&a, 0, sizeof a);
    if (given)
        memcpy(&a, given, given->size < sizeof a ? given->size : sizeof a);
    return a;
}

static ts__nv_domain *ts__nv_domain_of(void *domain)
{
    return domain ? (ts__nv_domain *)domain : &ts__nv.common;
}

/* ---- 4.4 Ranges and marks ----------------------------------------------- */

// Returns how many were open in this domain on this thread, as NVTX wants it.
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
    // Programs that forget to pop: no loop over all that is open.
    uint32_t at = me->count;
    while (at && me->ranges[at - 1].owner != owner)
        at--;
    ts__nv_range *const range = &me->ranges[me->count++];
    range->owner = owner;
    range->depth = at ? me->ranges[at - 1].depth + 1 : 0;
    range->zone = zone;
    return range->depth;
}

// The innermost of an owner ends; ranges of others may be open inside it.
static int ts__nv_pop(const void *owner)
{
    ts__nv_thread *const me = ts__nv_thread_get();
    uint32_t at = me ? me->count : 0;
    while (at && me->ranges[at - 1].owner != owner)
        at--;
    if (!at) return -2; // NVTX_NO_PUSH_POP_TRACKING
    const int depth = me->ranges[at - 1].depth;
    if (at == me->count)
        ts_zone_end(&me->ranges[at - 1].zone);
    else
        ts_zone_end_outer(&me->ranges[at - 1].zone);
    memmove(&me->ranges[at - 1], &me->ranges[at],
            (me->count - at) * sizeof *me->ranges);
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

// Apart from the numbers that programs give spans themselves. What was left
// out when it began ends unseen.
#define TS__NV_SPAN    (UINT64_C(0x4E56) << 48)
#define TS__NV_NO_SPAN (UINT64_C(0x4E57) << 48)

static uint64_t ts__nv_range_start(const ts__nv_domain *domain,
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

// Whether it is wanted.
static bool ts__nv_mark(const ts__nv_domain *domain, const ts__nv_attributes *a)
{
    ts__nv_thread_get();
    const uint32_t site = ts__nv_site(domain, a, TS_EVENT_MARK);
    ts_mark_site(site);
    if (site && a->payload_type) ts__nv_payload_said(domain, a);
    return site != 0;
}

/* ---- 4.5 Callbacks: CORE and CORE2 -------------------------------------- */

static void ts__nv_MarkEx(const ts__nv_attributes *given)
{
    const ts__nv_attributes a = ts__nv_known(given);
    ts__nv_mark(&ts__nv.common, &a);
}
static void ts__nv_MarkA(const char *text)
{
    const ts__nv_attributes a = ts__nv_plain(text);
    ts__nv_mark(&ts__nv.common, &a);
}
static void ts__nv_MarkW(const wchar_t *text)
{
    const ts__nv_attributes a = ts__nv_wide(text);
    ts__nv_mark(&ts__nv.common, &a);
}
static uint64_t ts__nv_RangeStartEx(const ts__nv_attributes *given)
{
    const ts__nv_attributes a = ts__nv_known(given);
    return ts__nv_range_start(&ts__nv.common, &a);
}
static uint64_t ts__nv_RangeStartA(const char *text)
{
    const ts__nv_attributes a = ts__nv_plain(text);
    return ts__nv_range_start(&ts__nv.common, &a);
}
static uint64_t ts__nv_RangeStartW(const wchar_t *text)
{
    const ts__nv_attributes a = ts__nv_wide(text);
    return ts__nv_range_start(&ts__nv.common, &a);
}
static void ts__nv_RangeEnd(uint64_t id)
{
    ts__nv_range_end(id);
}
static int ts__nv_RangePushEx(const ts__nv_attributes *given)
{
    const ts__nv_attributes a = ts__nv_known(given);
    return ts__nv_range_push(&ts__nv.common, &a);
}
static int ts__nv_RangePushA(const char *text)
{
    const ts__nv_attributes a = ts__nv_plain(text);
    return ts__nv_range_push(&ts__nv.common, &a);
}
static int ts__nv_RangePushW(const wchar_t *text)
{
    const ts__nv_attributes a = ts__nv_wide(text);
    return ts__nv_range_push(&ts__nv.common, &a);
}
static int ts__nv_RangePop(void)
{
    return ts__nv_pop(&ts__nv.common);
}
static void ts__nv_NameCategoryA(uint32_t category, const char *name)
{
    ts__nv_add(&ts__nv.common.categories, 0, category, ts__nv_copy(name));
}
static void ts__nv_NameCategoryW(uint32_t category, const wchar_t *name)
{
    ts__nv_add(&ts__nv.common.categories, 0, category, ts__nv_copy_wide(name));
}
static void ts__nv_NameOsThreadA(uint32_t thread, const char *name)
{
    if (thread == (uint32_t)syscall(SYS_gettid)) ts_thread_name(name);
    ts__nv_name_thing(TS__NV_OS_THREAD, thread, ts__nv_copy(name));
    // release: pairs with the acquire in ts__nv_thread_get
    __atomic_add_fetch(&ts__nv.named, 1, __ATOMIC_RELEASE);
}
static void ts__nv_NameOsThreadW(uint32_t thread, const wchar_t *name)
{
    char text[TS__NV_TEXT];
    ts__nv_NameOsThreadA(thread, ts__nv_narrow(text, sizeof text, name));
}

static void ts__nv_DomainMarkEx(void *domain, const ts__nv_attributes *given)
{
    const ts__nv_attributes a = ts__nv_known(given);
    ts__nv_mark(ts__nv_domain_of(domain), &a);
}
static uint64_t ts__nv_DomainRangeStartEx(void *domain,
                                          const ts__nv_attributes *given)
{
    const ts__nv_attributes a = ts__nv_known(given);
    return ts__nv_range_start(ts__nv_domain_of(domain), &a);
}
static void ts__nv_DomainRangeEnd(void *domain, uint64_t id)
{
    (void)domain;
    ts__nv_range_end(id);
}
static int ts__nv_DomainRangePushEx(void *domain,
                                    const ts__nv_attributes *given)
{
    const ts__nv_attributes a = ts__nv_known(given);
    return ts__nv_range_push(ts__nv_domain_of(domain), &a);
}
static int ts__nv_DomainRangePop(void *domain)
{
    return ts__nv_pop(ts__nv_domain_of(domain));
}
// Resources are not kept; programs test the handle.
static void *ts__nv_DomainResourceCreate(void *domain, const void *attributes)
{
    (void)attributes;
    return ts__nv_domain_of(domain);
}
static void ts__nv_DomainResourceDestroy(void *resource)
{
    (void)resource;
}
static void ts__nv_DomainNameCategoryA(void *domain, uint32_t category,
                                       const char *name)
{
    ts__nv_add(&ts__nv_domain_of(domain)->categories, 0, category,
               ts__nv_copy(name));
}
static void ts__nv_DomainNameCategoryW(void *domain, uint32_t category,
                                       const wchar_t *name)
{
    ts__nv_add(&ts__nv_domain_of(domain)->categories, 0, category,
               ts__nv_copy_wide(name));
}
static void *ts__nv_string_new(char *text)
{
    ts__nv_string *const s = text ? (ts__nv_string *)malloc(sizeof *s) : NULL;
    if (s) *s = (ts__nv_string){ .text = text };
    if (!s) free(text);
    return s ? ts__nv_keep(s) : NULL;
}
static void *ts__nv_DomainRegisterStringA(void *domain, const char *text)
{
    (void)domain;
    return ts__nv_string_new(ts__nv_copy(text));
}
static void *ts__nv_DomainRegisterStringW(void *domain, const wchar_t *text)
{
    (void)domain;
    return ts__nv_string_new(ts__nv_copy_wide(text));
}
static void *ts__nv_domain_new(char *name)
{
    ts__nv_domain *const d =
        name ? (ts__nv_domain *)calloc(1, sizeof *d) : NULL;
    if (d) d->name = name;
    if (!d) free(name);
    return d ? ts__nv_keep(d) : NULL;
}
static void *ts__nv_DomainCreateA(const char *name)
{
    return ts__nv_domain_new(ts__nv_copy(name));
}
static void *ts__nv_DomainCreateW(const wchar_t *name)
{
    return ts__nv_domain_new(ts__nv_copy_wide(name));
}
static void ts__nv_DomainDestroy(void *domain)
{
    (void)domain; // ranges may still be open in it
}
static void ts__nv_Initialize(const void *reserved)
{
    (void)reserved;
}

/* ---- 4.6 Callbacks: locks ----------------------------------------------- */

static const char *ts__nv_lock_name(const ts__nv_lock_attributes *a)
{
    if (!a || a->size < sizeof *a) return NULL;
    if (a->message_type == TS__NV_ASCII) return a->message.ascii;
    if (a->message_type == TS__NV_REGISTERED && a->message.registered)
        return a->message.registered->text;
    return NULL;
}

static void *ts__nv_DomainSyncUserCreate(void *domain,
                                         const ts__nv_lock_attributes *a)
{
    const char *const given = ts__nv_lock_name(a);
    ts__nv_lock *const lock = (ts__nv_lock *)calloc(1, sizeof *lock);
    char *const name = ts__nv_copy(given ? given : "lock");
    if (!lock || !name) {
        free(lock);
        free(name);
        return NULL;
    }
    const char *const of = ts__nv_domain_of(domain)->name;
    lock->acquire.name = lock->release.name = name;
    lock->acquire.category = of ? of : "lock";
    lock->release.category = "release";
    return ts__nv_keep(lock);
}
static void ts__nv_DomainSyncUserDestroy(void *lock)
{
    (void)lock; // another thread may wait for it
}
static bool ts__nv_wants_lock(const ts__nv_lock *lock, ts_event_kind kind)
{
    const char *const name = lock->acquire.name;
    return ts_filter_kind(kind) && ts_filter_name(name, strlen(name));
}
static void ts__nv_DomainSyncUserAcquireStart(ts__nv_lock *lock)
{
    const ts_zone none = { 0, 0, 0 };
    if (lock)
        ts__nv_push(lock, ts__nv_wants_lock(lock, TS_EVENT_ZONE)
                              ? ts_zone_begin(&lock->acquire)
                              : none);
}
static void ts__nv_DomainSyncUserAcquireFailed(ts__nv_lock *lock)
{
    if (!lock) return;
    if (ts__nv_wants_lock(lock, TS_EVENT_ZONE)) ts_zone_value_int("failed", 1);
    ts__nv_pop(lock);
}
static void ts__nv_DomainSyncUserAcquireSuccess(ts__nv_lock *lock)
{
    if (lock) ts__nv_pop(lock);
}
static void ts__nv_DomainSyncUserReleasing(ts__nv_lock *lock)
{
    if (lock && ts__nv_wants_lock(lock, TS_EVENT_MARK)) ts_mark(&lock->release);
}

/* ---- 4.7 Callbacks: names of other things ------------------------------- */

// type: as NVTX passes it. Devices of CUDA are numbers, the others handles.
#define TS__NV_NAMES(X) \
    X(CuDevice, int, TS_NVTX_CU_DEVICE) \
    X(CuContext, void *, TS_NVTX_CU_CONTEXT) \
    X(CuStream, void *, TS_NVTX_CU_STREAM) \
    X(CuEvent, void *, TS_NVTX_CU_EVENT) \
    X(CudaDevice, int, TS_NVTX_CUDA_DEVICE) \
    X(CudaStream, void *, TS_NVTX_CUDA_STREAM) \
    X(CudaEvent, void *, TS_NVTX_CUDA_EVENT) \
    X(ClDevice, void *, TS_NVTX_CL_DEVICE) \
    X(ClContext, void *, TS_NVTX_CL_CONTEXT) \
    X(ClCommandQueue, void *, TS_NVTX_CL_QUEUE) \
    X(ClMemObject, void *, TS_NVTX_CL_MEMORY) \
    X(ClSampler, void *, TS_NVTX_CL_SAMPLER) \
    X(ClProgram, void *, TS_NVTX_CL_PROGRAM) \
    X(ClEvent, void *, TS_NVTX_CL_EVENT)

#define TS__X(what, type, kind) \
    static void ts__nv_Name##what##A(type thing, const char *name) \
    { \
        ts__nv_name_thing(kind, (uint64_t)(uintptr_t)thing, \
                          ts__nv_copy(name)); \
    } \
    static void ts__nv_Name##what##W(type thing, const wchar_t *name) \
    { \
        ts__nv_name_thing(kind, (uint64_t)(uintptr_t)thing, \
                          ts__nv_copy_wide(name)); \
    }
TS__NV_NAMES(TS__X)
#undef TS__X

/* ---- 4.8 Handing them over ---------------------------------------------- */

typedef void (*ts__nv_function)(void);

// By NvtxCallbackModule; functions in the order of NvtxCallbackId..., from 1.
#define TS__NV(name) (ts__nv_function) ts__nv_##name
#define TS__NV2(name) \
    (ts__nv_function) ts__nv_##name##A, (ts__nv_function)ts__nv_##name##W
static const ts__nv_function ts__nv_core[] = {
    TS__NV(MarkEx),       TS__NV2(Mark),    TS__NV(RangeStartEx),
    TS__NV2(RangeStart),  TS__NV(RangeEnd), TS__NV(RangePushEx),
    TS__NV2(RangePush),   TS__NV(RangePop), TS__NV2(NameCategory),
    TS__NV2(NameOsThread)
};
static const ts__nv_function ts__nv_cuda[] = { TS__NV2(NameCuDevice),
                                               TS__NV2(NameCuContext),
                                               TS__NV2(NameCuStream),
                                               TS__NV2(NameCuEvent) };
static const ts__nv_function ts__nv_opencl[] = {
    TS__NV2(NameClDevice),       TS__NV2(NameClContext),
    TS__NV2(NameClCommandQueue), TS__NV2(NameClMemObject),
    TS__NV2(NameClSampler),      TS__NV2(NameClProgram),
    TS__NV2(NameClEvent)
};
static const ts__nv_function ts__nv_cudart[] = { TS__NV2(NameCudaDevice),
                                                 TS__NV2(NameCudaStream),
                                                 TS__NV2(NameCudaEvent) };
static const ts__nv_function ts__nv_core2[] = {
    TS__NV(DomainMarkEx),          TS__NV(DomainRangeStartEx),
    TS__NV(DomainRangeEnd),        TS__NV(DomainRangePushEx),
    TS__NV(DomainRangePop),        TS__NV(DomainResourceCreate),
    TS__NV(DomainResourceDestroy), TS__NV2(DomainNameCategory),
    TS__NV2(DomainRegisterString), TS__NV2(DomainCreate),
    TS__NV(DomainDestroy),         TS__NV(Initialize)
};
static const ts__nv_function ts__nv_sync[] = {
    TS__NV(DomainSyncUserCreate),         TS__NV(DomainSyncUserDestroy),
    TS__NV(DomainSyncUserAcquireStart),   TS__NV(DomainSyncUserAcquireFailed),
    TS__NV(DomainSyncUserAcquireSuccess), TS__NV(DomainSyncUserReleasing)
};
static const struct {
    const ts__nv_function *functions;
    size_t count;
} ts__nv_modules[] = {
    { NULL, 0 },
    { ts__nv_core, sizeof ts__nv_core / sizeof *ts__nv_core },
    { ts__nv_cuda, sizeof ts__nv_cuda / sizeof *ts__nv_cuda },
    { ts__nv_opencl, sizeof ts__nv_opencl / sizeof *ts__nv_opencl },
    { ts__nv_cudart, sizeof ts__nv_cudart / sizeof *ts__nv_cudart },
    { ts__nv_core2, sizeof ts__nv_core2 / sizeof *ts__nv_core2 },
    { ts__nv_sync, sizeof ts__nv_sync / sizeof *ts__nv_sync }
};

// Where a module begins in the list of all functions, which has the names of
// things behind the others: nvtx/chain.h.
static const uint8_t ts__nv_places[] = { 0, 0, 36, 50, 44, 15, 30 };

#include "nvtx/payload.h"

#include "nvtx/counters.h"

// Fills the tables of a copy of NVTX with the handler's functions, or with
// those that call another one too.
static int ts__nv_begin(ts_nvtx_get_table get_table,
                        const ts__nv_function *both)
{
    const ts__nv_callbacks *const callbacks =
        get_table ? (const ts__nv_callbacks *)get_table(1) : NULL;
    const ts__nv_version *const version =
        get_table ? (const ts__nv_version *)get_table(3) : NULL;
    if (!callbacks || callbacks->size < sizeof *callbacks) return 0;
    for (uint32_t m = 1; m < sizeof ts__nv_modules / sizeof *ts__nv_modules;
         m++) {
        ts__nv_function **table = NULL;
        unsigned size = 0;
        if (!callbacks->module_table(m, &table, &size) || !table) continue;
        const ts__nv_function *const ours =
            both ? both + ts__nv_places[m] : ts__nv_modules[m].functions;
        for (uint32_t i = 0; i < ts__nv_modules[m].count; i++)
            if (i + 1 < size && table[i + 1]) *table[i + 1] = ours[i];
    }
    if (version && version->size >= sizeof *version &&
        version->set_handler_version)
        version->set_handler_version(3);
    __atomic_add_fetch(&ts__nv.copies, 1, __ATOMIC_RELAXED);
    return 1;
}

int ts_nvtx_initialize(ts_nvtx_get_table get_table)
{
    return ts__nv_begin(get_table, NULL);
}

#include "nvtx/chain.h"

static void ts__nv_stop(void)
{
    ts_metadata_int(0, "nvtx.copies",
                    __atomic_load_n(&ts__nv.copies, __ATOMIC_RELAXED));
    if (ts__nv.dropped)
        ts_metadata_int(0, "nvtx.names_dropped",
                        __atomic_load_n(&ts__nv.dropped, __ATOMIC_RELAXED));
}
const ts_backend ts_nvtx_backend = { "nvtx", NULL, NULL, ts__nv_stop };

#ifdef TRACESMITH_NVTX
// NVTX has weak variables of these names, for handlers that are linked in.
int (*InitializeInjectionNvtx2_fnptr)(ts_nvtx_get_table) = ts_nvtx_initialize;
int (*InitializeInjectionNvtxExtension_fnptr)(void *) = ts_nvtx_extension;
#endif

#endif // implementation
