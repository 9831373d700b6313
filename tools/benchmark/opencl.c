/*
    opencl.c - launches on the first device of OpenCL, preferably a GPU

    Source: OpenCL 1.2 specification, sections 4 and 5.
*/
#include "tools/benchmark/benchmark.h"
#include <dlfcn.h>

typedef void *handle;
enum { PLATFORMS = 16 };
#define GPU         UINT64_C(4)
#define ANY         UINT64_C(0xFFFFFFFF)
#define DEVICE_NAME 0x102Bu

static struct {
    int32_t (*clGetPlatformIDs)(uint32_t room, handle *to, uint32_t *count);
    int32_t (*clGetDeviceIDs)(handle platform, uint64_t type, uint32_t room,
                              handle *to, uint32_t *count);
    int32_t (*clGetDeviceInfo)(handle device, uint32_t what, size_t size,
                               void *to, size_t *got);
    handle (*clCreateContext)(const intptr_t *properties, uint32_t count,
                              const handle *devices, void *notify, void *user,
                              int32_t *error);
    handle (*clCreateCommandQueue)(handle context, handle device,
                                   uint64_t flags, int32_t *error);
    handle (*clCreateProgramWithSource)(handle context, uint32_t count,
                                        const char **texts, const size_t *sizes,
                                        int32_t *error);
    int32_t (*clBuildProgram)(handle program, uint32_t count,
                              const handle *devices, const char *options,
                              void *notify, void *user);
    handle (*clCreateKernel)(handle program, const char *name, int32_t *error);
    int32_t (*clEnqueueNDRangeKernel)(handle queue, handle kernel,
                                      uint32_t dimensions, const size_t *offset,
                                      const size_t *global, const size_t *local,
                                      uint32_t count, const handle *events,
                                      handle *event);
    int32_t (*clFinish)(handle queue);
} cl;

static handle queue, kernel;

static bool load(void)
{
    void *const lib = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_GLOBAL);
    return lib &&
#define FIND(name) benchmark_find(lib, #name, &cl.name)
           FIND(clGetPlatformIDs) && FIND(clGetDeviceIDs) &&
           FIND(clGetDeviceInfo) && FIND(clCreateContext) &&
           FIND(clCreateCommandQueue) && FIND(clCreateProgramWithSource) &&
           FIND(clBuildProgram) && FIND(clCreateKernel) &&
           FIND(clEnqueueNDRangeKernel) && FIND(clFinish);
#undef FIND
}

static handle find_device(uint64_t type)
{
    handle platforms[PLATFORMS] = { NULL }, device;
    uint32_t count = 0, found = 0;
    if (cl.clGetPlatformIDs(PLATFORMS, platforms, &count)) return NULL;
    for (uint32_t i = 0; i < count && i < PLATFORMS; i++)
        if (!cl.clGetDeviceIDs(platforms[i], type, 1, &device, &found) && found)
            return device;
    return NULL;
}

static bool open_opencl(char *name, size_t size, const char **why)
{
    const char *text = "kernel void nothing(void) {}";
    int32_t error = 0;
    *why = "libOpenCL.so.1 was not found";
    if (!load()) return false;
    handle device = find_device(GPU);
    if (!device) device = find_device(ANY);
    *why = "OpenCL has no device";
    if (!device) return false;
    cl.clGetDeviceInfo(device, DEVICE_NAME, size, name, NULL);
    name[size - 1] = 0;
    *why = "its compiler does not work";
    handle context = cl.clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    if (!context) return false;
    queue = cl.clCreateCommandQueue(context, device, 0, &error);
    handle program =
        cl.clCreateProgramWithSource(context, 1, &text, NULL, &error);
    if (!queue || !program ||
        cl.clBuildProgram(program, 1, &device, "", NULL, NULL))
        return false;
    kernel = cl.clCreateKernel(program, "nothing", &error);
    return kernel != NULL;
}

static void launch_opencl(void)
{
    const size_t one = 1;
    benchmark_need(!cl.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one,
                                              NULL, 0, NULL, NULL),
                   "clEnqueueNDRangeKernel");
}

static void finish_opencl(void)
{
    benchmark_need(!cl.clFinish(queue), "clFinish");
}

const benchmark_device benchmark_opencl = { .backend = "opencl",
                                            .open = open_opencl,
                                            .launch = launch_opencl,
                                            .finish = finish_opencl };
