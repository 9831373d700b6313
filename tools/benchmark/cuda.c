/*
    cuda.c - launches on the first GPU of NVIDIA

    Source: cuda.h of CUDA 12; PTX ISA 6.0.
*/
#include "tools/benchmark/benchmark.h"
#include <dlfcn.h>

static struct {
    int (*cuInit)(unsigned flags);
    int (*cuDeviceGet)(int *device, int number);
    int (*cuDeviceGetName)(char *to, int size, int device);
    int (*cuDevicePrimaryCtxRetain)(void **context, int device);
    int (*cuCtxSetCurrent)(void *context);
    int (*cuModuleLoadData)(void **module, const void *image);
    int (*cuModuleGetFunction)(void **function, void *module, const char *name);
    int (*cuLaunchKernel)(void *function, unsigned grid_x, unsigned grid_y,
                          unsigned grid_z, unsigned block_x, unsigned block_y,
                          unsigned block_z, unsigned shared, void *stream,
                          void **args, void **extra);
    int (*cuCtxSynchronize)(void);
} cu;

static void *kernel;

static bool load(void)
{
    void *const lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    return lib &&
#define FIND(name) benchmark_find(lib, #name, &cu.name)
           FIND(cuInit) && FIND(cuDeviceGet) && FIND(cuDeviceGetName) &&
           FIND(cuDevicePrimaryCtxRetain) && FIND(cuCtxSetCurrent) &&
           FIND(cuModuleLoadData) && FIND(cuModuleGetFunction) &&
           FIND(cuLaunchKernel) && FIND(cuCtxSynchronize);
#undef FIND
}

static bool open_cuda(char *name, size_t size, const char **why)
{
    static const char text[] = ".version 6.0\n.target sm_50\n"
                               ".address_size 64\n"
                               ".visible .entry nothing()\n{\n    ret;\n}\n";
    void *context, *module;
    int device;
    *why = "NVIDIA's driver (libcuda.so.1) was not found";
    if (!load()) return false;
    *why = "NVIDIA's driver has no device";
    if (cu.cuInit(0) || cu.cuDeviceGet(&device, 0) ||
        cu.cuDeviceGetName(name, (int)size, device))
        return false;
    *why = "its driver cannot load a kernel";
    return !cu.cuDevicePrimaryCtxRetain(&context, device) &&
           !cu.cuCtxSetCurrent(context) &&
           !cu.cuModuleLoadData(&module, text) &&
           !cu.cuModuleGetFunction(&kernel, module, "nothing");
}

static void launch_cuda(void)
{
    benchmark_need(
        !cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
        "cuLaunchKernel");
}

static void finish_cuda(void)
{
    benchmark_need(!cu.cuCtxSynchronize(), "cuCtxSynchronize");
}

const benchmark_device benchmark_cuda = { .backend = "cuda",
                                          .is_gpu = true,
                                          .open = open_cuda,
                                          .launch = launch_cuda,
                                          .finish = finish_cuda };
