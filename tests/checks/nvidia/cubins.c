/*
    cubins.c - parameters of kernels in cubins of NVIDIA's own compiler

    cubins LIBNVRTC ARCHITECTURE [large]: compiles kernels for it and compares
    what we read of their parameters with what their source says; large: with
    one that has more than 4 KiB of them. It needs no driver.
*/
#define _GNU_SOURCE
#include "backends/gpu/cuda_abi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static const char source[] =
    "struct Big { char bytes[5000]; };\n"
    "struct Mid { char bytes[4000]; };\n"
    "struct alignas(16) Wide { int x; };\n"
    "extern \"C\" __global__ void none() {}\n"
    "extern \"C\" __global__ void some(float *a, int b, char c, double d)\n"
    "{ a[b] = c + d; }\n"
    "extern \"C\" __global__ void mid(float *a, Mid m, int i)\n"
    "{ a[i] = m.bytes[i]; }\n"
    "extern \"C\" __global__ void wide(char c, Wide w, short s, int *p)\n"
    "{ *p = c + w.x + s; }\n"
    "#ifdef LARGE\n"
    "extern \"C\" __global__ void large(float *a, Big b, int c, short s)\n"
    "{ a[c] = b.bytes[c] + s; }\n"
    "#endif\n";

static const struct kernel {
    const char *name;
    uint32_t count, at[4][2]; // offset, size
} kernels[] = {
    { "none", 0, { { 0, 0 } } },
    { "some", 4, { { 0, 8 }, { 8, 4 }, { 12, 1 }, { 16, 8 } } },
    { "mid", 3, { { 0, 8 }, { 8, 4000 }, { 4008, 4 } } },
    { "wide", 4, { { 0, 1 }, { 16, 16 }, { 32, 2 }, { 40, 8 } } },
    { "large", 4, { { 0, 8 }, { 8, 5000 }, { 5008, 4 }, { 5012, 2 } } },
};

#define NVRTC(X) \
    X(nvrtcCreateProgram, (void **, const char *, const char *, int, \
                           const char *const *, const char *const *)) \
    X(nvrtcCompileProgram, (void *, int, const char *const *)) \
    X(nvrtcGetProgramLogSize, (void *, size_t *)) \
    X(nvrtcGetProgramLog, (void *, char *)) \
    X(nvrtcGetCUBINSize, (void *, size_t *)) \
    X(nvrtcGetCUBIN, (void *, char *))
#define X(name, parameters) static int(*name) parameters;
NVRTC(X)
#undef X

static bool load(const char *path)
{
    void *const library = dlopen(path, RTLD_NOW);
    if (!library) return false;
#define X(name, parameters) \
    { \
        void *const symbol = dlsym(library, #name); \
        memcpy(&name, &symbol, sizeof name); \
        if (!symbol) return false; \
    }
    NVRTC(X)
#undef X
    return true;
}

// Of the size that it has, for the caller to free; NULL: it says why not.
static void *compile(const char *architecture, bool large, size_t *size)
{
    char option[64], log[4096] = "";
    const char *const options[] = { option, "-DLARGE" };
    void *program = NULL, *cubin = NULL;
    snprintf(option, sizeof option, "--gpu-architecture=%s", architecture);
    if (nvrtcCreateProgram(&program, source, "kernels.cu", 0, NULL, NULL) != 0)
        return NULL;
    if (nvrtcCompileProgram(program, 1 + large, options) != 0) {
        nvrtcGetProgramLogSize(program, size);
        if (*size < sizeof log) nvrtcGetProgramLog(program, log);
        puts(log);
        return NULL;
    }
    if (nvrtcGetCUBINSize(program, size) == 0) cubin = malloc(*size);
    return cubin && nvrtcGetCUBIN(program, cubin) == 0 ? cubin : NULL;
}

static void take(void *user, uint32_t offset, uint32_t size)
{
    struct kernel *const k = user;
    uint32_t at = k->count++;
    if (at >= 4) return;
    for (; at && k->at[at - 1][0] > offset; at--)
        memcpy(k->at[at], k->at[at - 1], sizeof k->at[0]);
    k->at[at][0] = offset;
    k->at[at][1] = size;
}

static bool is_so(const ts_cuda_code *code, const struct kernel *k)
{
    struct kernel found = { k->name, 0, { { 0, 0 } } };
    const bool known = ts_cuda_code_parameters(code, k->name, take, &found);
    if (known && found.count == k->count &&
        !memcmp(found.at, k->at, sizeof k->at))
        return ts_cuda_code_defines(code, k->name, STT_FUNC);
    printf("%s: %s, %u parameters", k->name, known ? "told" : "not told",
           found.count);
    for (uint32_t i = 0; i < found.count && i < 4; i++)
        printf(" %u+%u", found.at[i][0], found.at[i][1]);
    putchar('\n');
    return false;
}

int main(int argc, char **argv)
{
    ts_cuda_code code;
    const bool large = argc == 4;
    size_t size = 0, wrong = 0;
    if (argc < 3 || !load(argv[1])) {
        printf("%s\n", dlerror());
        return 1;
    }
    void *const cubin = compile(argv[2], large, &size);
    if (!cubin || !ts_cuda_code_open(&code, cubin, size)) {
        printf("%s: no cubin\n", argv[2]);
        return 1;
    }
    for (size_t i = 0; i < 4 + (size_t)large; i++)
        wrong += !is_so(&code, &kernels[i]);
    printf("%s: %d kernels, %zu wrong\n", argv[2], 4 + large, wrong);
    free(cubin);
    return wrong != 0;
}
