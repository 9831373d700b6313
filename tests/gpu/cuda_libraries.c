/*
    cuda_libraries.c - what programs call instead of the driver, kept and run
                       again: the runtime, and cuBLAS

    Both found at run time, so that it builds anywhere.

    cuda_libraries runtime    memory, copies, sets and a kernel of the runtime
    cuda_libraries cublas     matrix products of floats, checked by the host
    Exit status 77: no GPU, or there is no such library.
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/cuda_kernels.h"

enum { NO_GPU = 77, COUNT = 1 << 16, SIDE = 192, TO_DEVICE = 1, TO_HOST = 2 };

static const char plain[] = PTX_BEGIN PTX_ADD;

typedef struct dimensions { // dim3
    unsigned x, y, z;
} dimensions;

#define RUNTIME(X) \
    X(cudaGetDeviceCount, (int *)) \
    X(cudaMalloc, (void **, size_t)) \
    X(cudaMemcpy, (void *, const void *, size_t, int)) \
    X(cudaMemcpyAsync, (void *, const void *, size_t, int, void *)) \
    X(cudaMemsetAsync, (void *, int, size_t, void *)) \
    X(cudaStreamCreate, (void **)) \
    X(cudaStreamSynchronize, (void *)) \
    X(cudaLibraryLoadData, (void **, const void *, void *, void **, unsigned, \
                            void *, void **, unsigned)) \
    X(cudaLibraryGetKernel, (void **, void *, const char *)) \
    X(cudaLaunchKernel, \
      (const void *, dimensions, dimensions, void **, size_t, void *))

#define CUBLAS(X) \
    X(cublasCreate_v2, (void **)) \
    X(cublasSetStream_v2, (void *, void *)) \
    X(cublasSgemm_v2, \
      (void *, int, int, int, int, int, const float *, const float *, int, \
       const float *, int, const float *, float *, int))

#define X(name, parameters) static int(*name) parameters;
RUNTIME(X)
CUBLAS(X)
#undef X

static void *open_any(const char *name)
{
    static const char *const versions[] = { ".13", ".12", "" };
    void *library = NULL;
    char path[64];
    for (int i = 0; i < 3 && !library; i++) {
        snprintf(path, sizeof path, "%s%s", name, versions[i]);
        library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    }
    if (library) return library;
    printf("%s is not there\n", name);
    exit(NO_GPU);
}

static void find(void *library, const char *name, void *to)
{
    void *const symbol = dlsym(library, name);
    memcpy(to, &symbol, sizeof symbol);
    if (symbol) return;
    printf("%s is not in this library\n", name);
    exit(NO_GPU);
}

static void need(int result, const char *what)
{
    if (!result) return;
    printf("%s: error %d\n", what, result);
    exit(1);
}
#define NEED(call) need(call, #call)

static void *stream;

static void start(void)
{
    void *const library = open_any("libcudart.so");
    int count = 0;
#define X(name, parameters) find(library, #name, &name);
    RUNTIME(X)
#undef X
    if (cudaGetDeviceCount(&count) || !count) {
        puts("no GPU: the runtime does not find one");
        exit(NO_GPU);
    }
    NEED(cudaStreamCreate(&stream));
}

static void runtime(void)
{
    static uint32_t host[COUNT];
    const dimensions grid = { COUNT / 256, 1, 1 }, block = { 256, 1, 1 };
    uint32_t value = 7, *numbers;
    void *library, *kernel, *arguments[] = { &numbers, &value };
    for (uint32_t i = 0; i < COUNT; i++)
        host[i] = i;
    NEED(cudaMalloc((void **)&numbers, sizeof host));
    NEED(cudaMemsetAsync(numbers, 0, sizeof host, stream));
    NEED(cudaMemcpyAsync(numbers, host, sizeof host, TO_DEVICE, stream));
    NEED(cudaLibraryLoadData(&library, plain, NULL, NULL, 0, NULL, NULL, 0));
    NEED(cudaLibraryGetKernel(&kernel, library, "add"));
    for (int i = 0; i < 5; i++)
        NEED(cudaLaunchKernel(kernel, grid, block, arguments, 0, stream));
    NEED(cudaStreamSynchronize(stream));
    NEED(cudaMemcpy(host, numbers, sizeof host, TO_HOST));
    for (uint32_t i = 0; i < COUNT; i++)
        if (host[i] != i + 35) {
            printf("runtime: element %u is %u\n", i, host[i]);
            exit(1);
        }
}

static void cublas(void)
{
    static float a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];
    const float one = 1, zero = 0;
    void *const library = open_any("libcublas.so");
    void *handle;
    float *there[3];
#define X(name, parameters) find(library, #name, &name);
    CUBLAS(X)
#undef X
    NEED(cublasCreate_v2(&handle));
    NEED(cublasSetStream_v2(handle, stream));
    for (int i = 0; i < SIDE * SIDE; i++) {
        a[i] = (float)(i % 7);
        b[i] = (float)(i % 5);
    }
    for (int i = 0; i < 3; i++)
        NEED(cudaMalloc((void **)&there[i], sizeof a));
    NEED(cudaMemcpy(there[0], a, sizeof a, TO_DEVICE));
    NEED(cudaMemcpy(there[1], b, sizeof b, TO_DEVICE));
    for (int i = 0; i < 3; i++)
        NEED(cublasSgemm_v2(handle, i & 1, 0, SIDE, SIDE, SIDE, &one, there[0],
                            SIDE, there[1], SIDE, &zero, there[2], SIDE));
    NEED(cudaStreamSynchronize(stream));
    NEED(cudaMemcpy(c, there[2], sizeof c, TO_HOST));
    for (int x = 0; x < SIDE; x++) { // whole numbers: no rounding
        float sum = 0;
        for (int k = 0; k < SIDE; k++)
            sum += a[k * SIDE + x] * b[k];
        if (fabsf(sum - c[x]) < 0.5f) continue;
        printf("cublas: element %d is %g, not %g\n", x, (double)c[x],
               (double)sum);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    const char *const part = argc == 2 ? argv[1] : "";
    start();
    if (!strcmp(part, "runtime"))
        runtime();
    else if (!strcmp(part, "cublas"))
        cublas();
    else
        return 2;
    puts("done");
    return 0;
}
