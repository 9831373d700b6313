// A program that uses CUDA and has a profiler of its own, as PyTorch has: it
// launches, asks for CUPTI, launches again and says what it was told of. With
// the name of a library, which is this file with -DPLUGIN, that is what asks,
// until it gets it. With "names" it looks functions up and calls by their
// addresses, as Triton and Proton do. The runtime is tests/doubles/libcudart.c,
// CUPTI its double.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct dimensions {
    unsigned x, y, z;
} dimensions;
int cudaLaunchKernel(const void *function, dimensions grid, dimensions block,
                     void **arguments, size_t shared, void *stream);
int cudaDeviceSynchronize(void);
int cuptiSubscribe(void **subscriber,
                   void (*hear)(void *, uint32_t, uint32_t, const void *),
                   void *user);
int ask(void **subscriber);
int cuptiUnsubscribe(void *subscriber);
int cuptiActivityRegisterCallbacks(void (*request)(uint8_t **, size_t *,
                                                   size_t *),
                                   void (*complete)(void *, uint32_t, uint8_t *,
                                                    size_t, size_t));
int cuptiActivityEnable(uint32_t kind);
int cuptiActivityFlushAll(uint32_t flags);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);

static void hear(void *user, uint32_t domain, uint32_t id, const void *data)
{
    (void)user;
    (void)domain;
    (void)id;
    (void)data;
}

int ask(void **subscriber)
{
    return cuptiSubscribe(subscriber, hear, NULL);
}

#ifndef PLUGIN
static int kernels;
// Looked up; NULL: called through the linker's tables.
static int (*call)(const void *, dimensions, dimensions, void **, size_t,
                   void *);
static int (*subscribe)(void **,
                        void (*)(void *, uint32_t, uint32_t, const void *),
                        void *);

// And a search that begins at this program finds what it does without us.
static bool look_up(void)
{
    void *const runtime = dlopen("libcudart.so", RTLD_NOW | RTLD_NOLOAD);
    void *const cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
    void *const next = dlsym(RTLD_NEXT, "cudaLaunchKernel");
    void *const found[] = {
        runtime ? dlsym(runtime, "cudaLaunchKernel") : NULL,
        cupti ? dlsym(cupti, "cuptiSubscribe") : NULL,
    };
    memcpy(&call, &found[0], sizeof call);
    memcpy(&subscribe, &found[1], sizeof subscribe);
    return next && call && subscribe;
}

void empty(void **arguments, unsigned i);
void empty(void **arguments, unsigned i)
{
    (void)arguments;
    (void)i;
}

static void launch(int count)
{
    const dimensions one = { 1, 1, 1 };
    for (int i = 0; i < count; i++)
        if (call)
            call((const void *)(size_t)empty, one, one, NULL, 0, NULL);
        else
            cudaLaunchKernel((const void *)(size_t)empty, one, one, NULL, 0,
                             NULL);
    cudaDeviceSynchronize();
}

static void give(uint8_t **buffer, size_t *size, size_t *count)
{
    *size = 1 << 20;
    *buffer = calloc(1, *size);
    *count = 0;
}

static void take(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                 size_t valid)
{
    void *record = NULL;
    uint32_t kind;
    (void)context;
    (void)stream;
    (void)size;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == 0) {
        memcpy(&kind, record, sizeof kind);
        kernels += kind == 10;
    }
    free(buffer);
}

static int ask_late(void **subscriber, const char *plugin)
{
    void *const library = dlopen(plugin, RTLD_NOW);
    void *const found = library ? dlsym(library, "ask") : NULL;
    int (*function)(void **) = NULL;
    int result = 999;
    memcpy(&function, &found, sizeof found);
    for (int i = 0; function && result && i < 600; i++) {
        if (i) usleep(50000);
        result = function(subscriber);
    }
    return result;
}

int main(int argc, char **argv)
{
    void *subscriber = NULL;
    launch(10);
    const bool by_name = argc > 1 && !strcmp(argv[1], "names");
    if (by_name && !look_up()) return 5;
    const int result = by_name    ? subscribe(&subscriber, hear, NULL)
                       : argc > 1 ? ask_late(&subscriber, argv[1])
                                  : ask(&subscriber);
    if (result == 0) {
        cuptiActivityRegisterCallbacks(give, take);
        cuptiActivityEnable(10);
    }
    launch(15);
    if (result == 0) {
        cuptiActivityFlushAll(1);
        cuptiUnsubscribe(subscriber);
    }
    printf(result ? "refused\n" : "%d kernels\n", kernels);
    return 4;
}
#endif
