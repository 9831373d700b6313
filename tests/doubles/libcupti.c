/*
    libcupti.c - a double of CUPTI, for machines without a GPU

    The functions that a program may call, and none beside them but those of
    cupti_double.h. With DOUBLE_PREFIX mcpti it is MetaX's library; with
    DOUBLE_OLD it has what CUDA 11.0 had. Names of variables in the
    environment are DOUBLE_ and a key of double_set.
*/
#define _GNU_SOURCE
#include "cupti_double.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef DOUBLE_PREFIX
#define DOUBLE_PREFIX cupti
#define RUNTIME       "cuda" // functions begin so
#define DRIVER        "cu"
#endif
#ifdef DOUBLE_OLD
#define DOUBLE_VERSION 13
#elif !defined(DOUBLE_VERSION)
#define DOUBLE_VERSION 130001
#endif
#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)
#define API(name) \
    __attribute__((visibility("default"))) int JOIN(DOUBLE_PREFIX, name)
#define DOUBLE_API __attribute__((visibility("default")))

enum { UNKNOWN = 999, LIMIT = 12, INVALID = 1, KINDS = 64, IDS = 1024 };

/* ==== 1. What it keeps =================================================== */

typedef void (*called)(void *user, uint32_t domain, uint32_t id,
                       const void *data);

static struct {
    char key[32];
    uint64_t value;
} settings[64];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void (*request)(uint8_t **, size_t *, size_t *);
static void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t);
static uint64_t (*timestamp)(void);
static called callback;
static void *callback_user;
static char subscriber;
static uint8_t ids_on[8][IDS], kinds_on[KINDS];
static uint32_t correlation;
static uint64_t stream_free[16];
static uint8_t streams_known[16], devices_known[8];
static const char *owner = "";
static size_t recorded_sizes[KINDS]; // of a recording, see cupti_recorded.h
static const char *recorded_names[3][IDS];
static bool second;        // subscribed by the second function
static uint64_t counts[8]; // of what it was told to do, see double_get
enum {
    FLUSHES,
    FORCED,
    FINALIZED,
    UNSUBSCRIBED,
    CLOCKS,
    REQUESTS,
    RECORDS,
    DUMPS
};

typedef struct pending { // a record that is not in a buffer yet
    struct pending *next;
    uint64_t end;
    size_t size, end_at; // where the record has its end
    uint8_t bytes[256];
} pending;
static pending *first_pending, **last_pending = &first_pending;

static struct {
    uint8_t *at;
    size_t size, used;
} buffer;

static const char *const keys[] = {
    "version",      "subscribe",     "enable_10",
    "enable_49",    "enable_38",     "callbacks",
    "flush",        "hang_flush",    "hang_next",
    "zero_times",   "reverse_times", "far_times",
    "lose_kernels", "silent_calls",  "nested",
    "reorder",      "drop",          "hold_buffers",
    "bad_record",   "wrong_layout",  "late_facts",
    "real_driver",  "no_call_names", "latency",
    "clock_step",   "no_time",       NULL
};

// Somebody may call while another one lets go.
static bool is_on(const uint8_t *flag)
{
    return __atomic_load_n(flag, __ATOMIC_RELAXED) != 0;
}

static void switch_to(uint8_t *flag, bool on)
{
    __atomic_store_n(flag, on, __ATOMIC_RELAXED);
}

// All of them are there before anybody asks: threads only read the list.
__attribute__((constructor)) static void settings_read(void)
{
    for (size_t i = 0; keys[i]; i++) {
        char name[64];
        snprintf(settings[i].key, sizeof settings[i].key, "%s", keys[i]);
        snprintf(name, sizeof name, "DOUBLE_%s", keys[i]);
        const char *const value = getenv(name);
        settings[i].value = value ? strtoull(value, NULL, 0) : 0;
        if (!value && !strcmp(keys[i], "version"))
            settings[i].value = DOUBLE_VERSION;
        if (!value && !strcmp(keys[i], "real_driver")) settings[i].value = 1;
    }
}

static uint64_t *setting(const char *key)
{
    static uint64_t none;
    for (size_t i = 0; keys[i]; i++)
        if (!strcmp(settings[i].key, key)) return &settings[i].value;
    return &none;
}

static uint64_t get(const char *key)
{
    return __atomic_load_n(setting(key), __ATOMIC_ACQUIRE);
}

// Whether one more of so many is to be; counts down.
static bool one_more(const char *key)
{
    uint64_t *const left = setting(key);
    if (!*left) return false;
    --*left;
    return true;
}

static void deliver(bool forced);

// What has ended has times of before; what streams do goes on.
static void clock_is_set(uint64_t step)
{
    if (request) deliver(false);
    for (size_t i = 0; i < 16; i++)
        stream_free[i] += step;
}

DOUBLE_API void double_set(const char *key, uint64_t value)
{
    pthread_mutex_lock(&lock);
    if (!strcmp(key, "clock_step")) clock_is_set(value - get(key));
    __atomic_store_n(setting(key), value, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

DOUBLE_API uint64_t double_get(const char *key)
{
    static const char *const names[] = { "flushes",      "forced",
                                         "finalized",    "unsubscribed",
                                         "clocks_given", "requests",
                                         "records",      "dumps" };
    for (size_t i = 0; i <= DUMPS; i++)
        if (!strcmp(key, names[i]))
            return __atomic_load_n(&counts[i], __ATOMIC_RELAXED);
    if (!strcmp(key, "subscribed"))
        return __atomic_load_n(&callback, __ATOMIC_ACQUIRE) != NULL;
    return get(key);
}

DOUBLE_API void double_owner(const char *name)
{
    owner = name;
}

static void count(uint32_t what)
{
    __atomic_fetch_add(&counts[what], 1, __ATOMIC_RELAXED);
}

static uint64_t now(void)
{
    struct timespec t;
    uint64_t (*const function)(void) =
        __atomic_load_n(&timestamp, __ATOMIC_ACQUIRE);
    if (function) return function();
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec +
           get("clock_step");
}

#include "cupti_buffer.h"

/* ==== 3. The library ===================================================== */

#define ALIVE() \
    if (!get("real_driver")) return UNKNOWN

API(GetVersion)(uint32_t *version)
{
    *version = (uint32_t)get("version");
    return 0;
}

API(GetResultString)(int result, const char **text)
{
    *text = result == UNKNOWN ? "CUPTI_ERROR_UNKNOWN" : "an error";
    return 0;
}

API(GetTimestamp)(uint64_t *time)
{
    if (get("no_time")) return UNKNOWN;
    *time = now();
    return 0;
}

API(Subscribe)(void **handle, called function, void *user)
{
    ALIVE();
    const int result = (int)get("subscribe");
    if (result) return result;
    if (__atomic_load_n(&callback, __ATOMIC_ACQUIRE)) return LIMIT;
    *handle = &subscriber;
    __atomic_store_n(&callback_user, user, __ATOMIC_RELAXED);
    __atomic_store_n(&callback, function, __ATOMIC_RELEASE);
    return 0;
}

API(Unsubscribe)(void *handle)
{
    count(UNSUBSCRIBED);
    if (handle != &subscriber) return INVALID;
    __atomic_store_n(&callback, NULL, __ATOMIC_RELEASE);
    second = false;
    for (size_t i = 0; i < sizeof ids_on; i++)
        switch_to(&ids_on[0][0] + i, false);
    return 0;
}

#ifndef DOUBLE_OLD
API(Subscribe_v2)
(void **handle, called function, void *user, void *how)
{
    struct {
        size_t size;
        const char *name;
        char *other;
        size_t other_size;
    } p;
    memcpy(&p, how, sizeof p);
    if (p.size != sizeof p || !p.name) return INVALID;
    const int result = JOIN(DOUBLE_PREFIX, Subscribe)(handle, function, user);
    if (result == 39 && p.other) snprintf(p.other, p.other_size, "%s", owner);
    second = result == 0;
    return result;
}

API(ActivityRegisterTimestampCallback)(uint64_t (*function)(void))
{
    ALIVE();
    count(CLOCKS);
    __atomic_store_n(&timestamp, function, __ATOMIC_RELEASE);
    return 0;
}
#endif

// Of the real ones what the double calls; in the order of double_what.
static const char *const functions[] = { "",
                                         RUNTIME "LaunchKernel_v7000",
                                         DRIVER "LaunchKernel",
                                         RUNTIME "MemcpyAsync_ptsz_v7000",
                                         RUNTIME "MemcpyPeerAsync_v4000",
                                         RUNTIME "MemsetAsync_v3020",
                                         RUNTIME "Malloc_v3020",
                                         RUNTIME "MallocHost_v3020",
                                         RUNTIME "Free_v3020",
                                         RUNTIME "EventRecord_v3020",
                                         RUNTIME "StreamWaitEvent_v3020",
                                         RUNTIME "EventSynchronize_v3020",
                                         RUNTIME "StreamSynchronize_v3020",
                                         RUNTIME "DeviceSynchronize_v3020",
                                         RUNTIME "GetLastError_v3020",
                                         RUNTIME "LaunchKernel_ptsz_v7000",
                                         RUNTIME "GraphInstantiate_v12000",
                                         RUNTIME "GraphLaunch_v10000",
                                         RUNTIME "MemPoolCreate_v11020",
                                         "__" RUNTIME "LaunchKernel_v13000",
                                         RUNTIME "Memcpy2DAsync_ptsz_v7000",
                                         RUNTIME "MemcpyToSymbolAsync_v3020" };
enum { FUNCTIONS = sizeof functions / sizeof *functions };

#include "cupti_driver.h"

API(EnableCallback)(uint32_t on, void *handle, uint32_t domain, uint32_t id)
{
    if (handle != &subscriber || domain >= 8) return INVALID;
    if (id < IDS) switch_to(&ids_on[domain][id], on != 0);
    return 0;
}

API(EnableDomain)(uint32_t on, void *handle, uint32_t domain)
{
    if (handle != &subscriber || domain >= 8) return INVALID;
    memset(ids_on[domain], (int)on, IDS);
    return 0;
}

API(SetThreadIdType)(uint32_t type)
{
    return type == 1 ? 0 : INVALID;
}

API(ActivitySetAttribute)(uint32_t attribute, size_t *size, void *value)
{
    return (attribute == 5 || attribute == 9) && *size == 1 && value ? 0
                                                                     : INVALID;
}

API(ActivityRegisterCallbacks)
(void (*requested)(uint8_t **, size_t *, size_t *),
 void (*completed)(void *, uint32_t, uint8_t *, size_t, size_t))
{
    const int result = (int)get("callbacks");
    if (result) return result;
    request = requested;
    complete = completed;
    return 0;
}

API(ActivityEnableLatencyTimestamps)(uint8_t on)
{
    double_set("latency", on);
    return 0;
}

API(ActivityEnable)(uint32_t kind)
{
    ALIVE();
    if (second && get("version") >= 130200) return 14; // not its kind
    char key[32];
    snprintf(key, sizeof key, "enable_%u", kind);
    const int result = (int)get(key);
    if (result || kind >= KINDS) return result ? result : 21;
    if (!size_of(kind)) return 21;
    switch_to(&kinds_on[kind], true);
    return 0;
}

#ifndef DOUBLE_OLD
// What it knows is told again, with the next operation.
API(ActivityEnableAndDump)(uint32_t kind)
{
    const int result = JOIN(DOUBLE_PREFIX, ActivityEnable)(kind);
    count(DUMPS);
    pthread_mutex_lock(&lock);
    if (kind == 8) memset(devices_known, 0, sizeof devices_known);
    if (kind == 37) memset(streams_known, 0, sizeof streams_known);
    pthread_mutex_unlock(&lock);
    return result;
}
#endif

API(ActivityDisable)(uint32_t kind)
{
    while (kind == 10 && get("version") == 130000)
        usleep(1000); // as that version may
    if (kind < KINDS) switch_to(&kinds_on[kind], false);
    return 0;
}

API(ActivityFlushAll)(uint32_t flags)
{
    count(flags & 1 ? FORCED : FLUSHES);
    while (get("hang_flush"))
        usleep(1000);
    const int result = (int)get("flush");
    if (result) return result;
    pthread_mutex_lock(&lock);
    if (request) {
        deliver(flags & 1);
        give_back();
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

API(ActivityGetNextRecord)(uint8_t *bytes, size_t valid, uint8_t **at)
{
    size_t next = 0;
    uint32_t kind;
    while (get("hang_next"))
        usleep(1000);
    if (*at) {
        memcpy(&kind, *at, 4);
        next = (size_t)(*at - bytes) + size_of(kind);
    }
    if (next >= valid) return LIMIT;
    memcpy(&kind, bytes + next, 4);
    if (!size_of(kind) || next + size_of(kind) > valid) return 21;
    *at = bytes + next;
    return 0;
}

API(ActivityGetNumDroppedRecords)(void *context, uint32_t stream, size_t *n)
{
    uint64_t *const value = setting("drop");
    *n = (size_t)__atomic_exchange_n(value, 0, __ATOMIC_RELAXED);
    return 0;
}

API(GetGraphNodeId)(void *node, uint64_t *id)
{
    *id = (uint64_t)(uintptr_t)node;
    return 0;
}

API(Finalize)(void)
{
    count(FINALIZED);
    callback = NULL;
    timestamp = NULL;
    memset(kinds_on, 0, sizeof kinds_on);
    return 0;
}

#include "cupti_run.h"

#include "cupti_recorded.h"
