/*
    nvtx/state.h - what NVTX passes to a handler, and what is kept of it

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    CONTENTS                            search for "==== 2." to jump
        1. What NVTX passes
        2. What is kept
        3. Names, categories, values
*/
#ifndef TS__NVTX_STATE_H
#define TS__NVTX_STATE_H

#include "tracesmith.h"
#include "../ts_filter.h"
#include "../ts_nvtx.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ==== 1. What NVTX passes ================================================ */

// The parts of NVTX's interface that are used. tests/checks/capture/nvtx_abi.c
// compares them with NVIDIA's headers if these are installed.
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

enum { // values and bits in attributes
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
#define TS__NV_EXT ((int32_t)0xDFBD0009) // a ts__nv_data array

typedef struct ts__nv_lock_attributes { // nvtxSyncUserAttributes_v0
    uint16_t version, size;
    int32_t message_type;
    ts__nv_message message;
} ts__nv_lock_attributes;

/* ==== 2. What is kept ==================================================== */

// Everything is added to lists that never shrink: a handle remains valid even
// if a program uses it after destroying it.
typedef struct ts__nv_named { // a category, or an object named in section 3
    struct ts__nv_named *next;
    uint64_t kind, id;
    char *text;
} ts__nv_named;

typedef struct ts__nv_kept { // first fields of objects that are never freed
    struct ts__nv_kept *next;
    void *theirs; // the other handler's handle for it
} ts__nv_kept;

typedef struct ts__nv_domain {
    ts__nv_kept kept;
    char *name;
    ts__nv_named *categories;
    ts_site place; // of events without a category and a colour
} ts__nv_domain;

typedef struct ts__nv_string {
    ts__nv_kept kept;
    char *text;
} ts__nv_string;

typedef struct ts__nv_lock {
    ts__nv_kept kept;
    ts_site acquire, release;
} ts__nv_lock;

typedef struct ts__nv_range { // an open range
    const void *owner;        // domain or lock
    int depth;                // number of open ranges of this owner around it
    ts_zone zone;
} ts__nv_range;

// The site of a text without category and colour that a thread passed last.
// The text may change where it is, so it is compared, which takes less than to
// look it up.
enum { TS__NV_RECENT = 64, TS__NV_RECENT_TEXT = 44 };
typedef struct ts__nv_recent {
    const char *at;
    const ts__nv_domain *domain;
    uint32_t site; // 0: none
    char text[TS__NV_RECENT_TEXT];
} ts__nv_recent;

typedef struct ts__nv_thread {
    uint32_t count, capacity;
    uint32_t named; // value of ts__nv.named when it last looked for its name
    bool busy;      // `recent` changes
    ts__nv_range *ranges;
    ts__nv_recent recent[TS__NV_RECENT];
} ts__nv_thread;

// Names of objects, hashed. Limited, because programs may name millions of
// events.
enum { TS__NV_THINGS = 4096, TS__NV_NAMES_MOST = 1 << 20 };

static struct {
    ts__nv_domain common; // for calls without a domain
    ts__nv_kept *kept;    // linked, so that leak checkers find them
    ts__nv_named *things[TS__NV_THINGS]; // named objects, and names for threads
    uint32_t names, dropped;             // names of objects
    uint32_t named;                      // number of times a thread was named
    uint64_t ranges;                     // start/end ranges so far
    uint32_t copies;
    pthread_key_t key;
    pthread_once_t once;
} ts__nv = { .once = PTHREAD_ONCE_INIT };
static __thread ts__nv_thread *ts__nv_me;

// Kind of a thread in `things`; ts_nvtx_kind follows.
enum { TS__NV_OS_THREAD = 0 };

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

// Adds a name, which replaces earlier ones. Takes ownership of `text`.
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

// Renaming beyond the limit has no effect.
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

// Converts a wide text to UTF-8, truncated at `room`.
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

enum { TS__NV_TEXT = 1024 }; // bytes of UTF-8 for a wide text

static char *ts__nv_copy_wide(const wchar_t *wide)
{
    char text[TS__NV_TEXT];
    return ts__nv_copy(ts__nv_narrow(text, sizeof text, wide));
}

// A thread takes the name that another thread gave it at its next call.
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

/* ==== 3. Names, categories, values ======================================= */

// Returns the name of an event, which must not be empty: an empty one would be
// shown as a number. wide: buffer for a wide text.
#define TS__NV_NO_NAME "(no message)"
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
    return name && *name ? name : TS__NV_NO_NAME;
}

// Returns the id of a site with a category, a colour or both. Its category is
// the domain, NVTX's category, or both. Not inlined: it needs a large stack.
static __attribute__((noinline)) uint32_t
ts__nv_site_special(const ts__nv_domain *domain, const ts__nv_attributes *a,
                    const char *name)
{
    char both[256], number[24];
    ts_site base;
    memset(&base, 0, sizeof base);
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
    return ts_site_define(name, &base);
}

static __attribute__((noinline)) uint32_t
ts__nv_site_new(ts__nv_domain *domain, const char *text, ts__nv_recent *recent)
{
    const uint32_t site = ts__site_named(text, &domain->place);
    const size_t size = strlen(text) + 1;
    if (size > sizeof recent->text || ts__nv_me->busy) return site;
    ts__nv_me->busy = true; // a signal handler leaves it alone
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    recent->at = text;
    recent->domain = domain;
    recent->site = site;
    memcpy(recent->text, text, size);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    ts__nv_me->busy = false;
    return site;
}

static uint32_t ts__nv_site_plain(ts__nv_domain *domain, const char *text)
{
    ts__nv_thread *const me = ts__nv_me;
    if (!me || me->busy) return ts__site_named(text, &domain->place);
    const uint64_t both =
        ((uintptr_t)text ^ (uintptr_t)domain) * UINT64_C(0x9E3779B97F4A7C15);
    ts__nv_recent *const r = &me->recent[both >> 58];
    const uint32_t site = TS__LOAD(&r->site);
    // The second look: a signal handler may have put another one there.
    if (TS__LIKELY(site && r->at == text && r->domain == domain &&
                   !strcmp(r->text, text) && TS__LOAD(&r->site) == site))
        return site;
    return ts__nv_site_new(domain, text, r);
}

// Whether an event is recorded, as far as its name and kind decide that.
static bool ts__nv_requested(const char *name, ts_event_kind kind)
{
    if (!TS__LOAD(&ts__here.gate)) return false;
    if (kind != TS_EVENT_SPAN) ts_frame_hint(name);
    return ts_filter_kind(kind) && ts_filter_text(name);
}

// Returns the id of a site, 0 if the filter excludes it.
static uint32_t ts__nv_site(ts__nv_domain *domain, const ts__nv_attributes *a,
                            ts_event_kind kind)
{
    if (!TS__LOAD(&ts__here.gate)) return 0;
    char wide[TS__NV_TEXT];
    const char *const name = ts__nv_name(a, wide, sizeof wide);
    if (!ts__nv_requested(name, kind)) return 0;
    return a->category || a->color_type == TS__NV_COLOR_ARGB
               ? ts__nv_site_special(domain, a, name)
               : ts__nv_site_plain(domain, name);
}

static ts__nv_domain *ts__nv_domain_of(void *domain)
{
    return domain ? (ts__nv_domain *)domain : &ts__nv.common;
}

#endif // TS__NVTX_STATE_H
