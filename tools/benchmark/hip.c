/*
    hip.c - launches on the first GPU of AMD

    Source: hip_runtime_api.h and hiprtc.h of HIP 6.
*/
#include "tools/benchmark/benchmark.h"
#include <dlfcn.h>

static struct {
    int (*hipInit)(unsigned flags);
    int (*hipDeviceGet)(int *device, int number);
    int (*hipDeviceGetName)(char *to, int size, int device);
    int (*hipModuleLoadData)(void **module, const void *image);
    int (*hipModuleGetFunction)(void **function, void *module,
                                const char *name);
    int (*hipModuleLaunchKernel)(void *function, unsigned grid_x,
                                 unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared,
                                 void *stream, void **args, void **extra);
    int (*hipDeviceSynchronize)(void);
    int (*hiprtcCreateProgram)(void **program, const char *text,
                               const char *name, int headers,
                               const char **header_texts,
                               const char **header_names);
    int (*hiprtcCompileProgram)(void *program, int count, const char **options);
    int (*hiprtcGetCodeSize)(void *program, size_t *size);
    int (*hiprtcGetCode)(void *program, char *to);
} hip;

static void *kernel;

static bool load(void)
{
    void *lib = dlopen("libamdhip64.so", RTLD_NOW | RTLD_GLOBAL);
    if (!lib) lib = dlopen("libamdhip64.so.6", RTLD_NOW | RTLD_GLOBAL);
    return lib &&
#define FIND(name) benchmark_find(lib, #name, &hip.name)
           FIND(hipInit) && FIND(hipDeviceGet) && FIND(hipDeviceGetName) &&
           FIND(hipModuleLoadData) && FIND(hipModuleGetFunction) &&
           FIND(hipModuleLaunchKernel) && FIND(hipDeviceSynchronize);
}

static bool load_compiler(void)
{
    void *const lib = dlopen("libhiprtc.so", RTLD_NOW | RTLD_LOCAL);
    return lib && FIND(hiprtcCreateProgram) && FIND(hiprtcCompileProgram) &&
           FIND(hiprtcGetCodeSize) && FIND(hiprtcGetCode);
#undef FIND
}

static char *compile(void)
{
    static const char text[] = "extern \"C\" __global__ void nothing() {}";
    void *program;
    size_t size;
    if (hip.hiprtcCreateProgram(&program, text, "nothing.hip", 0, NULL, NULL) ||
        hip.hiprtcCompileProgram(program, 0, NULL) ||
        hip.hiprtcGetCodeSize(program, &size))
        return NULL;
    char *const code = malloc(size);
    return code && !hip.hiprtcGetCode(program, code) ? code : NULL;
}

static bool open_hip(char *name, size_t size, const char **why)
{
    void *module;
    int device;
    *why = "AMD's runtime (libamdhip64.so) was not found";
    if (!load()) return false;
    *why = "AMD's runtime has no device";
    if (hip.hipInit(0) || hip.hipDeviceGet(&device, 0) ||
        hip.hipDeviceGetName(name, (int)size, device))
        return false;
    *why = "AMD's compiler (libhiprtc.so) was not found, or does not work";
    char *const code = load_compiler() ? compile() : NULL;
    return code && !hip.hipModuleLoadData(&module, code) &&
           !hip.hipModuleGetFunction(&kernel, module, "nothing");
}

static void launch_hip(void)
{
    benchmark_need(!hip.hipModuleLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL,
                                              NULL, NULL),
                   "hipModuleLaunchKernel");
}

static void finish_hip(void)
{
    benchmark_need(!hip.hipDeviceSynchronize(), "hipDeviceSynchronize");
}

const benchmark_device benchmark_hip = { .backend = "hip",
                                         .is_gpu = true,
                                         .open = open_hip,
                                         .launch = launch_hip,
                                         .finish = finish_hip };
