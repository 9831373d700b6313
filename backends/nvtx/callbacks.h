/*
    nvtx/callbacks.h - the functions of CORE, CORE2, locks and names

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    CONTENTS                            search for "==== 2." to jump
        1. Callbacks: CORE and CORE2
        2. Callbacks: locks
        3. Callbacks: names of other things
*/
#ifndef TS__NVTX_CALLBACKS_H
#define TS__NVTX_CALLBACKS_H

#include "tracesmith.h"
#include "../ts_filter.h"
#include "../ts_nvtx.h"
#include "ranges.h"
#include "state.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ==== 1. Callbacks: CORE and CORE2 ======================================= */

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
    return ts__nv_range_push_text(&ts__nv.common, text);
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
// Resources are not recorded, but programs test the returned handle.
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
    if (d) d->place.category = name;
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
    (void)domain; // not freed, because ranges may still be open in it
}
static void ts__nv_Initialize(const void *reserved)
{
    (void)reserved;
}

/* ==== 2. Callbacks: locks ================================================ */

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
    (void)lock; // not freed, because another thread may wait for it
}
static bool ts__nv_lock_requested(const ts__nv_lock *lock, ts_event_kind kind)
{
    const char *const name = lock->acquire.name;
    return ts_filter_kind(kind) && ts_filter_text(name);
}
static void ts__nv_DomainSyncUserAcquireStart(ts__nv_lock *lock)
{
    const ts_zone none = { 0, 0, 0 };
    if (lock)
        ts__nv_push(lock, ts__nv_lock_requested(lock, TS_EVENT_ZONE)
                              ? ts_zone_begin(&lock->acquire)
                              : none);
}
static void ts__nv_DomainSyncUserAcquireFailed(ts__nv_lock *lock)
{
    if (!lock) return;
    if (ts__nv_lock_requested(lock, TS_EVENT_ZONE))
        ts_zone_value_int("failed", 1);
    ts__nv_pop(lock);
}
static void ts__nv_DomainSyncUserAcquireSuccess(ts__nv_lock *lock)
{
    if (lock) ts__nv_pop(lock);
}
static void ts__nv_DomainSyncUserReleasing(ts__nv_lock *lock)
{
    if (lock && ts__nv_lock_requested(lock, TS_EVENT_MARK))
        ts_mark(&lock->release);
}

/* ==== 3. Callbacks: names of other things ================================ */

// type: the type that NVTX passes. CUDA devices are numbers, all others
// handles.
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

#endif // TS__NVTX_CALLBACKS_H
