/*
    raw_cupti.c - CUPTI and a consumer that throws all of it away

    What no profiler can go below: kernels and calls of the runtime and driver
    are recorded into buffers of 8 MiB, which are freed unread. Loaded by
    CUDA_INJECTION64_PATH. RAW_CUPTI makes it less, to show what costs how much:
      kernels    kernels, copies and memsets only
      runtime    these, and an empty callback at each call of the runtime
      driver     likewise, at each call of the driver
      launches   likewise, at each launch of the driver
    Source: cupti_activity.h and cupti_callbacks.h of CUDA 13.0.
*/
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZE = 8 << 20 };

static void request(uint8_t **buffer, size_t *size, size_t *count)
{
    *buffer = aligned_alloc(4096, SIZE);
    *size = SIZE;
    *count = 0;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer,
                     size_t size, size_t valid)
{
    (void)context;
    (void)stream;
    (void)size;
    (void)valid;
    free(buffer);
}

// A program that nobody listens to would be measured.
static void give_up(const char *why)
{
    fprintf(stderr, "raw_cupti: %s\n", why);
    _exit(1);
}

static void empty(void *user, int domain, uint32_t id, const void *data)
{
    (void)user;
    (void)domain;
    (void)id;
    (void)data;
}

// Subscribes to the calls of a domain (1: driver, 2: runtime), or to those with
// `part` in their names.
static void subscribe(void *library, uint32_t domain, const char *part)
{
    void *subscriber;
    int (*begin)(void **, void (*)(void *, int, uint32_t, const void *),
                 void *);
    int (*enable)(uint32_t, void *, uint32_t, uint32_t);
    int (*name_of)(uint32_t, uint32_t, const char **);
    void *const symbols[] = { dlsym(library, "cuptiSubscribe"),
                              dlsym(library, "cuptiEnableCallback"),
                              dlsym(library, "cuptiGetCallbackName") };
    memcpy(&begin, &symbols[0], sizeof begin);
    memcpy(&enable, &symbols[1], sizeof enable);
    memcpy(&name_of, &symbols[2], sizeof name_of);
    if (!begin || !enable || !name_of || begin(&subscriber, empty, NULL) != 0)
        give_up("it does not call back");
    for (uint32_t id = 1; id < 1024; id++) {
        const char *name = NULL;
        if (name_of(domain, id, &name) == 0 && name && strstr(name, part))
            enable(1, subscriber, domain, id);
    }
}

int InitializeInjection(void);
int InitializeInjection(void)
{
    static const char *const names[] = { "libcupti.so.13", "libcupti.so.12",
                                         "libcupti.so" };
    static const uint32_t kinds[] = { 10, 1, 2, 5, 4 };
    const char *const how = getenv("RAW_CUPTI");
    void *library = NULL;
    for (int i = 0; i < 3 && !library; i++)
        library = dlopen(names[i], RTLD_NOW);
    if (!library) give_up("there is no libcupti.so");
    void *const symbols[] = { dlsym(library, "cuptiActivityRegisterCallbacks"),
                              dlsym(library, "cuptiActivityEnable") };
    int (*callbacks)(void (*)(uint8_t **, size_t *, size_t *),
                     void (*)(void *, uint32_t, uint8_t *, size_t, size_t));
    int (*enable)(uint32_t kind);
    memcpy(&callbacks, &symbols[0], sizeof callbacks);
    memcpy(&enable, &symbols[1], sizeof enable);
    if (!callbacks || !enable || callbacks(request, complete) != 0)
        give_up("it takes no buffers");
    if (enable(kinds[0]) != 0) give_up("it gives no kernels");
    for (int i = 1; i < (how ? 3 : 5); i++)
        enable(kinds[i]);
    if (how && !strcmp(how, "runtime")) subscribe(library, 2, "");
    if (how && !strcmp(how, "driver")) subscribe(library, 1, "");
    if (how && !strcmp(how, "launches")) subscribe(library, 1, "Launch");
    return 1;
}
