/*
    libnvtx_other.c - a double of another tool that handles NVTX

    It writes a line for each call. Its handles are small numbers: one that it
    has not given is a wrong one. At the end the lines go to the file that
    OTHER_SAYS names.
*/
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

typedef struct attributes { // nvtxEventAttributes_v2
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
} attributes;

typedef struct lock_attributes { // nvtxSyncUserAttributes_v0
    uint16_t version, size;
    int32_t message_type;
    const void *message;
} lock_attributes;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char said[1 << 16];
static size_t used;
static uintptr_t given; // handles so far

static void print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&lock);
    const int size =
        vsnprintf(said + used, sizeof said - used, format, arguments);
    if (size > 0 && used + (size_t)size < sizeof said) used += (size_t)size;
    pthread_mutex_unlock(&lock);
    va_end(arguments);
}

// What has been said since the last time; from here on handles begin anew.
API const char *other_said(void);
API const char *other_said(void)
{
    static char copy[sizeof said];
    pthread_mutex_lock(&lock);
    memcpy(copy, said, used);
    copy[used] = 0;
    used = 0;
    __atomic_store_n(&given, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    return copy;
}

static uintptr_t handle_new(void)
{
    return __atomic_add_fetch(&given, 1, __ATOMIC_RELAXED);
}

// 0: the default domain.
static unsigned long of(uintptr_t handle)
{
    if (handle > __atomic_load_n(&given, __ATOMIC_RELAXED))
        print("a handle of somebody else's\n");
    return (unsigned long)handle;
}

// A text, or a registered one by its handle.
static const char *text_of(int32_t type, const void *message, char *room)
{
    if (type == 1) return message ? (const char *)message : "";
    if (type != 3) return "?";
    snprintf(room, 32, "string %lu", of((uintptr_t)message));
    return room;
}

static void mark_ex(const attributes *a)
{
    char room[32];
    print("mark %s, payload %d\n", text_of(a->message_type, a->message, room),
          (int)a->payload_type);
}
static void mark(const char *text)
{
    print("mark %s\n", text);
}
static uint64_t range_start(const char *text)
{
    const uint64_t id = handle_new();
    print("start %lu %s\n", (unsigned long)id, text);
    return id;
}
static void range_end(uint64_t id)
{
    print("end %lu\n", of((uintptr_t)id));
}
static int push(const char *text)
{
    print("push %s\n", text);
    return 77; // not how deep it is in truth
}
static int pop(void)
{
    print("pop\n");
    return 77;
}
static void domain_mark(uintptr_t domain, const attributes *a)
{
    char room[32];
    print("domain %lu mark %s\n", of(domain),
          text_of(a->message_type, a->message, room));
}
static uint64_t domain_start(uintptr_t domain, const attributes *a)
{
    char room[32];
    const uint64_t id = handle_new();
    print("domain %lu start %lu %s\n", of(domain), (unsigned long)id,
          text_of(a->message_type, a->message, room));
    return id;
}
static void domain_end(uintptr_t domain, uint64_t id)
{
    print("domain %lu end %lu\n", of(domain), of((uintptr_t)id));
}
static int domain_push(uintptr_t domain, const attributes *a)
{
    char room[32];
    print("domain %lu push %s\n", of(domain),
          text_of(a->message_type, a->message, room));
    return 0;
}
static int domain_pop(uintptr_t domain)
{
    print("domain %lu pop\n", of(domain));
    return 0;
}
static uintptr_t resource(uintptr_t domain, const void *a)
{
    print("domain %lu resource %s\n", of(domain), a ? "new" : "?");
    return handle_new();
}
static void resource_end(uintptr_t handle)
{
    print("resource %lu ends\n", of(handle));
}
static uintptr_t string(uintptr_t domain, const char *text)
{
    print("domain %lu string %s\n", of(domain), text);
    return handle_new();
}
static uintptr_t domain_new(const char *name)
{
    print("domain %s\n", name);
    return handle_new();
}
static uintptr_t lock_new(uintptr_t domain, const lock_attributes *a)
{
    char room[32];
    print("domain %lu lock %s\n", of(domain),
          text_of(a->message_type, a->message, room));
    return handle_new();
}
static void lock_start(uintptr_t handle)
{
    print("lock %lu wanted\n", of(handle));
}
static void lock_taken(uintptr_t handle)
{
    print("lock %lu taken\n", of(handle));
}
static void stream_name(void *stream, const char *name)
{
    print("stream %lu is %s\n", (unsigned long)(uintptr_t)stream, name);
}

typedef void (*function)(void);
#define F(name) (function) name

API int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t));
API int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t))
{
    static const struct {
        uint32_t module, slot;
        function is;
    } all[] = {
        { 1, 1, F(mark_ex) },      { 1, 2, F(mark) },
        { 1, 5, F(range_start) },  { 1, 7, F(range_end) },
        { 1, 9, F(push) },         { 1, 11, F(pop) },
        { 4, 3, F(stream_name) },  { 5, 1, F(domain_mark) },
        { 5, 2, F(domain_start) }, { 5, 3, F(domain_end) },
        { 5, 4, F(domain_push) },  { 5, 5, F(domain_pop) },
        { 5, 6, F(resource) },     { 5, 7, F(resource_end) },
        { 5, 10, F(string) },      { 5, 12, F(domain_new) },
        { 6, 1, F(lock_new) },     { 6, 3, F(lock_start) },
        { 6, 5, F(lock_taken) },
    };
    const struct {
        size_t size;
        int (*table)(uint32_t, function ***, unsigned *);
    } *const callbacks = get_table(1);
    if (!callbacks || getenv("OTHER_REFUSES")) return 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        function **table = NULL;
        unsigned size = 0;
        if (callbacks->table(all[i].module, &table, &size) &&
            all[i].slot < size && table[all[i].slot])
            *table[all[i].slot] = all[i].is;
    }
    return 1;
}

__attribute__((destructor)) static void write_it(void)
{
    const char *const path = getenv("OTHER_SAYS");
    FILE *const file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    fputs(other_said(), file);
    fclose(file);
}
