/*
    nvtx/chain.h - another handler of NVTX behind this one

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    A copy of NVTX calls one handler. Where another tool is to be called
    too, it gets tables of ours in place of NVTX's, and each call goes to
    both: handles and numbers that the program gets are ours, and those of
    the other handler are kept with them.

    Payload schemas and counters go to this handler only: the other one
    would need its own number for each schema, also inside what programs
    pass.

    CONTENTS                            search for "==== 2." to jump
        1. Handles of the other handler
        2. Its functions
        3. Functions that call both
        4. Beginning
*/
#ifndef TS__NVTX_CHAIN_H
#define TS__NVTX_CHAIN_H

#include "tracesmith.h"
#include "../ts_nvtx.h"
#include "callbacks.h"
#include "ranges.h"
#include "state.h"
#include "tables.h"

#include <pthread.h>
#include <stdlib.h>

/* ==== 1. Handles of the other handler ==================================== */

typedef void *ts__nv_handle; // an object that begins with a ts__nv_kept

static void *ts__nv_their(const void *handle)
{
    return handle ? ((const ts__nv_kept *)handle)->theirs : NULL;
}

// Open start/end ranges, by our id. If more are open, the other handler does
// not get the ends of the rest.
enum { TS__NV_PAIRS = 1 << 16, TS__NV_PROBES = 64 };
typedef struct ts__nv_pair {
    uint64_t ours, theirs; // ids; ours 0: the entry is free
} ts__nv_pair;
static ts__nv_pair *ts__nv_pairs;

static uint64_t ts__nv_pair_put(uint64_t ours, uint64_t theirs)
{
    for (uint32_t i = 0; theirs && i < TS__NV_PROBES; i++) {
        ts__nv_pair *const p = &ts__nv_pairs[(ours + i) % TS__NV_PAIRS];
        uint64_t none = 0;
        if (!__atomic_compare_exchange_n(&p->ours, &none, ours, false,
                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        TS__STORE(&p->theirs, theirs);
        break;
    }
    return ours;
}

// Returns false if the other handler has no such range.
static bool ts__nv_pair_take(uint64_t ours, uint64_t *theirs)
{
    for (uint32_t i = 0; ours && i < TS__NV_PROBES; i++) {
        ts__nv_pair *const p = &ts__nv_pairs[(ours + i) % TS__NV_PAIRS];
        if (TS__LOAD(&p->ours) != ours) continue;
        *theirs = TS__LOAD(&p->theirs);
        // release: pairs with the acquire in ts__nv_pair_put
        __atomic_store_n(&p->ours, 0, __ATOMIC_RELEASE);
        return true;
    }
    return false;
}

typedef struct ts__nv_resource_attributes { // nvtxResourceAttributes_v0
    uint16_t version, size;
    int32_t type;
    uint64_t identifier;
    int32_t message_type;
    ts__nv_message message;
} ts__nv_resource_attributes;

// Room for a copy of a structure that contains a handle of ours.
typedef union ts__nv_room {
    ts__nv_attributes attributes;
    ts__nv_lock_attributes lock;
    ts__nv_resource_attributes resource;
} ts__nv_room;

// A registered string that the other handler does not know is passed as text.
static void ts__nv_message_theirs(int32_t *type, ts__nv_message *message)
{
    const struct ts__nv_string *const s = message->registered;
    if (*type != TS__NV_REGISTERED || !s) return;
    message->registered = (const struct ts__nv_string *)s->kept.theirs;
    if (message->registered) return;
    *type = TS__NV_ASCII;
    message->ascii = s->text;
}

static const ts__nv_attributes *ts__nv_event(const ts__nv_attributes *a,
                                             ts__nv_room *room)
{
    ts__nv_attributes *const copy = &room->attributes;
    if (!a || (a->size >= sizeof *a && a->message_type != TS__NV_REGISTERED &&
               a->payload_type != TS__NV_EXT))
        return a;
    const uint16_t size = a->size < sizeof *a ? a->size : sizeof *a;
    *copy = ts__nv_known(a);
    if (size == sizeof *a) copy->size = size;
    if (copy->payload_type == TS__NV_EXT) copy->payload_type = 0;
    ts__nv_message_theirs(&copy->message_type, &copy->message);
    return copy;
}

static const ts__nv_lock_attributes *
ts__nv_sync_event(const ts__nv_lock_attributes *a, ts__nv_room *room)
{
    if (!a || a->size < sizeof *a) return a;
    room->lock = *a;
    room->lock.size = sizeof *a;
    ts__nv_message_theirs(&room->lock.message_type, &room->lock.message);
    return &room->lock;
}

static const void *ts__nv_resource(const void *given, ts__nv_room *room)
{
    const ts__nv_resource_attributes *const a =
        (const ts__nv_resource_attributes *)given;
    if (!a || a->size < sizeof *a) return a;
    room->resource = *a;
    room->resource.size = sizeof *a;
    ts__nv_message_theirs(&room->resource.message_type,
                          &room->resource.message);
    return &room->resource;
}

/* ==== 2. Its functions =================================================== */

typedef int ts__nv_depth; // the depth of a range that begins

// Modules in the order of ts__nv_modules. X: result, name, parameters,
// arguments for our function, arguments for the other one. O: result, name and
// parameters of a function defined in section 3. Names are those of section
// 4.7.
#define TS__NV_A     ts__nv_event(a, &room)
#define TS__NV_D     ts__nv_their(d)
#define TS__NV_EVENT const ts__nv_attributes *
#define TS__NV_LIST_1(X, O) \
    X(void, MarkEx, (TS__NV_EVENT a), (a), (TS__NV_A)) \
    X(void, MarkA, (const char *a), (a), (a)) \
    X(void, MarkW, (const wchar_t *a), (a), (a)) \
    X(uint64_t, RangeStartEx, (TS__NV_EVENT a), (a), (TS__NV_A)) \
    X(uint64_t, RangeStartA, (const char *a), (a), (a)) \
    X(uint64_t, RangeStartW, (const wchar_t *a), (a), (a)) \
    O(void, RangeEnd, (uint64_t id)) \
    X(ts__nv_depth, RangePushEx, (TS__NV_EVENT a), (a), (TS__NV_A)) \
    X(ts__nv_depth, RangePushA, (const char *a), (a), (a)) \
    X(ts__nv_depth, RangePushW, (const wchar_t *a), (a), (a)) \
    X(int, RangePop, (void), (), ()) \
    X(void, NameCategoryA, (uint32_t a, const char *b), (a, b), (a, b)) \
    X(void, NameCategoryW, (uint32_t a, const wchar_t *b), (a, b), (a, b)) \
    X(void, NameOsThreadA, (uint32_t a, const char *b), (a, b), (a, b)) \
    X(void, NameOsThreadW, (uint32_t a, const wchar_t *b), (a, b), (a, b))
#define TS__NV_LIST_2(X, O) \
    X(void, DomainMarkEx, (void *d, TS__NV_EVENT a), (d, a), \
      (TS__NV_D, TS__NV_A)) \
    X(uint64_t, DomainRangeStartEx, (void *d, TS__NV_EVENT a), (d, a), \
      (TS__NV_D, TS__NV_A)) \
    O(void, DomainRangeEnd, (void *d, uint64_t id)) \
    X(ts__nv_depth, DomainRangePushEx, (void *d, TS__NV_EVENT a), (d, a), \
      (TS__NV_D, TS__NV_A)) \
    X(int, DomainRangePop, (void *d), (d), (TS__NV_D)) \
    O(void *, DomainResourceCreate, (void *d, const void *a)) \
    X(void, DomainResourceDestroy, (void *d), (d), (TS__NV_D)) \
    X(void, DomainNameCategoryA, (void *d, uint32_t a, const char *b), \
      (d, a, b), (TS__NV_D, a, b)) \
    X(void, DomainNameCategoryW, (void *d, uint32_t a, const wchar_t *b), \
      (d, a, b), (TS__NV_D, a, b)) \
    X(ts__nv_handle, DomainRegisterStringA, (void *d, const char *a), (d, a), \
      (TS__NV_D, a)) \
    X(ts__nv_handle, DomainRegisterStringW, (void *d, const wchar_t *a), \
      (d, a), (TS__NV_D, a)) \
    X(ts__nv_handle, DomainCreateA, (const char *a), (a), (a)) \
    X(ts__nv_handle, DomainCreateW, (const wchar_t *a), (a), (a)) \
    X(void, DomainDestroy, (void *d), (d), (TS__NV_D)) \
    X(void, Initialize, (const void *a), (a), (a))
#define TS__NV_LIST_3(X, O) \
    X(ts__nv_handle, DomainSyncUserCreate, \
      (void *d, const ts__nv_lock_attributes *a), (d, a), \
      (TS__NV_D, ts__nv_sync_event(a, &room))) \
    X(void, DomainSyncUserDestroy, (void *d), (d), (TS__NV_D)) \
    X(void, DomainSyncUserAcquireStart, (void *d), (d), (TS__NV_D)) \
    X(void, DomainSyncUserAcquireFailed, (void *d), (d), (TS__NV_D)) \
    X(void, DomainSyncUserAcquireSuccess, (void *d), (d), (TS__NV_D)) \
    X(void, DomainSyncUserReleasing, (void *d), (d), (TS__NV_D))

// Filled in the order of NVTX's ids.
static struct {
#define TS__O(result, name, parameters) result(*name) parameters;
#define TS__X(result, name, parameters, ours, theirs) \
    TS__O(result, name, parameters)
    TS__NV_LIST_1(TS__X, TS__O)
    TS__NV_LIST_2(TS__X, TS__O)
    TS__NV_LIST_3(TS__X, TS__O)
#undef TS__X
#define TS__X(what, type, kind) \
    void (*Name##what##A)(type, const char *); \
    void (*Name##what##W)(type, const wchar_t *);
    TS__NV_NAMES(TS__X)
#undef TS__X
#undef TS__O
} ts__nv_other;

/* ==== 3. Functions that call both ======================================== */

// acquire: pairs with the release in ts__nv_other_take
#define TS__NV_ALSO(assign, name, with) \
    do { \
        __typeof__(ts__nv_other.name) const also = \
            __atomic_load_n(&ts__nv_other.name, __ATOMIC_ACQUIRE); \
        if (also) assign also with; \
    } while (0)

// Variants by result type. The other handler is called outside our ranges, so
// that they do not include its time.
#define TS__NV_BOTH_void(name, ours, with) \
    ts__nv_##name ours; \
    TS__NV_ALSO(, name, with)
#define TS__NV_BOTH_int(name, ours, with) \
    const int depth = ts__nv_##name ours; \
    TS__NV_ALSO((void), name, with); \
    return depth
#define TS__NV_BOTH_ts__nv_depth(name, ours, with) \
    TS__NV_ALSO((void), name, with); \
    return ts__nv_##name ours
#define TS__NV_BOTH_uint64_t(name, ours, with) \
    uint64_t other = 0; \
    TS__NV_ALSO(other =, name, with); \
    return ts__nv_pair_put(ts__nv_##name ours, other)
#define TS__NV_BOTH_ts__nv_handle(name, ours, with) \
    ts__nv_kept *const own = (ts__nv_kept *)ts__nv_##name ours; \
    if (own) TS__NV_ALSO(own->theirs =, name, with); \
    return own

#define TS__X(result, name, parameters, ours, theirs) \
    static result ts__nv_both_##name parameters \
    { \
        ts__nv_room room; \
        (void)room; \
        TS__NV_BOTH_##result(name, ours, theirs); \
    }
#define TS__O(result, name, parameters)
TS__NV_LIST_1(TS__X, TS__O)
TS__NV_LIST_2(TS__X, TS__O)
TS__NV_LIST_3(TS__X, TS__O)
#undef TS__O
#undef TS__X
#define TS__X(what, type, kind) \
    static void ts__nv_both_Name##what##A(type thing, const char *name) \
    { \
        ts__nv_Name##what##A(thing, name); \
        TS__NV_ALSO(, Name##what##A, (thing, name)); \
    } \
    static void ts__nv_both_Name##what##W(type thing, const wchar_t *name) \
    { \
        ts__nv_Name##what##W(thing, name); \
        TS__NV_ALSO(, Name##what##W, (thing, name)); \
    }
TS__NV_NAMES(TS__X)
#undef TS__X

static void ts__nv_both_RangeEnd(uint64_t id)
{
    uint64_t other;
    ts__nv_RangeEnd(id);
    if (ts__nv_pair_take(id, &other)) TS__NV_ALSO(, RangeEnd, (other));
}
static void ts__nv_both_DomainRangeEnd(void *d, uint64_t id)
{
    uint64_t other;
    ts__nv_DomainRangeEnd(d, id);
    if (ts__nv_pair_take(id, &other))
        TS__NV_ALSO(, DomainRangeEnd, (TS__NV_D, other));
}
// Our handler keeps no resources and returns the domain.
static void *ts__nv_both_DomainResourceCreate(void *d, const void *a)
{
    ts__nv_room room;
    ts__nv_kept *const own = (ts__nv_kept *)calloc(1, sizeof *own);
    if (!own) return NULL;
    TS__NV_ALSO(own->theirs =, DomainResourceCreate,
                (TS__NV_D, ts__nv_resource(a, &room)));
    return ts__nv_keep(own);
}

/* ==== 4. Beginning ======================================================= */

#define TS__NV_TWO(name) (ts__nv_function) ts__nv_both_##name

#define TS__O(result, name, parameters)               TS__NV_TWO(name),
#define TS__X(result, name, parameters, ours, theirs) TS__NV_TWO(name),
// clang-format off
static const ts__nv_function ts__nv_both[] = {
    TS__NV_LIST_1(TS__X, TS__O)
    TS__NV_LIST_2(TS__X, TS__O)
    TS__NV_LIST_3(TS__X, TS__O)
#undef TS__X
#undef TS__O
#define TS__X(what, type, kind) \
    TS__NV_TWO(Name##what##A), TS__NV_TWO(Name##what##W),
    TS__NV_NAMES(TS__X)
#undef TS__X
};
// clang-format on
enum { TS__NV_BOTH = sizeof ts__nv_both / sizeof *ts__nv_both };
_Static_assert(sizeof ts__nv_other == sizeof ts__nv_both, "one list");

enum { TS__NV_SLOTS = 16 };
typedef struct ts__nv_tables { // tables that the other handler takes for NVTX's
    ts_nvtx_get_table get_table;
    ts__nv_function *of[7][TS__NV_SLOTS];
    ts__nv_function functions[TS__NV_BOTH];
} ts__nv_tables;
// Set while the other handler initializes.
static __thread ts__nv_tables *ts__nv_shown;

static int ts__nv_show_module(uint32_t module, ts__nv_function ***table,
                              unsigned *size)
{
    ts__nv_tables *const t = ts__nv_shown;
    if (!t || !module ||
        module >= sizeof ts__nv_modules / sizeof *ts__nv_modules)
        return 0;
    for (uint32_t i = 0; i < ts__nv_modules[module].count; i++)
        t->of[module][i + 1] = &t->functions[ts__nv_places[module] + i];
    *table = t->of[module];
    *size = (unsigned)ts__nv_modules[module].count + 1;
    return 1;
}

static const void *ts__nv_show(uint32_t number)
{
    static const ts__nv_callbacks callbacks = { sizeof callbacks,
                                                ts__nv_show_module };
    if (number == 1) return &callbacks;
    return ts__nv_shown ? ts__nv_shown->get_table(number) : NULL;
}

// Takes over the other handler's functions. It may be initialized once per copy
// of NVTX, with the same functions.
static void ts__nv_other_take(const ts__nv_tables *t)
{
    ts__nv_function *const to = (ts__nv_function *)&ts__nv_other;
    for (uint32_t i = 0; i < TS__NV_BOTH; i++)
        // release: pairs with the acquire in TS__NV_ALSO
        if (t->functions[i])
            __atomic_store_n(&to[i], t->functions[i], __ATOMIC_RELEASE);
}

static void ts__nv_pairs_make(void)
{
    ts__nv_pairs = (ts__nv_pair *)calloc(TS__NV_PAIRS, sizeof *ts__nv_pairs);
}

int ts_nvtx_initialize_both(ts_nvtx_get_table get_table,
                            int (*other)(ts_nvtx_get_table))
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    ts__nv_tables *const t = (ts__nv_tables *)calloc(1, sizeof *t);
    pthread_once(&once, ts__nv_pairs_make);
    if (!get_table || !other || !t || !ts__nv_pairs || ts__nv_shown) {
        // Nested in the other handler's own initialization, which needs only
        // one.
        free(t);
        return ts_nvtx_initialize(get_table);
    }
    t->get_table = get_table;
    ts__nv_shown = t;
    const bool handles = other(ts__nv_show) != 0;
    ts__nv_shown = NULL;
    if (handles) ts__nv_other_take(t);
    free(t);
    return ts__nv_begin(get_table, handles ? ts__nv_both : NULL);
}

#endif // TS__NVTX_CHAIN_H
