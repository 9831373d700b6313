/*
    libhiprtc.c - a double of HIP's compiler at run time

    It compiles one source: the kernel that hashes, to libhash.so beside it
    (DOUBLE_HIP_HASH is another). It wants what the real one wants of its
    caller, and says how often it was asked.
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT(name, ...) \
    __attribute__((visibility("default"))) int name(__VA_ARGS__); \
    int name(__VA_ARGS__)

enum { INVALID = 3, OPTION = 5, COMPILATION = 6 };

typedef struct program {
    const char *text;
    char *code;
    size_t size;
} program;

EXPORT(double_hiprtc_compiled, void);
static int compiled;
int double_hiprtc_compiled(void)
{
    return compiled;
}

EXPORT(hiprtcCreateProgram, program **p, const char *text, const char *name,
       int count, const char **headers, const char **names)
{
    if (!p || !text || !name || count || headers || names) return INVALID;
    *p = calloc(1, sizeof **p);
    (*p)->text = text;
    return 0;
}

static void read_code(program *p)
{
    static char own_copy[PATH_MAX];
    Dl_info info;
    const char *path = getenv("DOUBLE_HIP_HASH");
    if (!path && dladdr(&compiled, &info)) {
        const char *const end = strrchr(info.dli_fname, '/');
        snprintf(own_copy, sizeof own_copy, "%.*s/libhash.so",
                 (int)(end - info.dli_fname), info.dli_fname);
        path = own_copy;
    }
    FILE *const file = path ? fopen(path, "rb") : NULL;
    if (!file) return;
    fseek(file, 0, SEEK_END);
    p->size = (size_t)ftell(file);
    rewind(file);
    p->code = malloc(p->size);
    if (fread(p->code, 1, p->size, file) != p->size) abort();
    fclose(file);
}

EXPORT(hiprtcCompileProgram, program *p, int count, const char **options)
{
    compiled++;
    if (count != 1 || strcmp(options[0], "--offload-arch=gfx942") != 0)
        return OPTION;
    if (!strstr(p->text, "TS_KERNEL void ts_hash_chunks(") ||
        strstr(p->text, "__kernel"))
        return COMPILATION;
    read_code(p);
    return p->code ? 0 : COMPILATION;
}

EXPORT(hiprtcGetCodeSize, program *p, size_t *size)
{
    *size = p->size;
    return p->code ? 0 : INVALID;
}

EXPORT(hiprtcGetCode, program *p, char *code)
{
    if (!p->code) return INVALID;
    memcpy(code, p->code, p->size);
    return 0;
}

EXPORT(hiprtcDestroyProgram, program **p)
{
    free((*p)->code);
    free(*p);
    *p = NULL;
    return 0;
}
