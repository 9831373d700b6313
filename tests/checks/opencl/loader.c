/*
    loader.c - what Khronos' loader does since 2024, by itself

        loader DRIVER

    Loads a driver of OpenCL and the first layer of OPENCL_LAYERS, uses the
    table that the layer makes of the driver's, and ends and unloads the layer;
    all of that twice. Debian's loader knows neither
    clInitLayerWithProperties nor clDeinitLayer.
*/
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_icd.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILLS = 50, BYTES = 4096 };

static void fine(cl_int result, const char *what)
{
    if (result == CL_SUCCESS) return;
    printf("%s: %d\n", what, result);
    exit(2);
}

static void find(void *library, const char *name, void *function)
{
    void *const found = dlsym(library, name);
    if (!found) {
        printf("%s is missing\n", name);
        exit(2);
    }
    memcpy(function, &found, sizeof found);
}

static void use(const cl_icd_dispatch *cl, cl_platform_id platform)
{
    cl_device_id device;
    cl_int result;
    fine(cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL),
         "clGetDeviceIDs");
    const cl_context context =
        cl->clCreateContext(NULL, 1, &device, NULL, NULL, &result);
    fine(result, "clCreateContext");
    const cl_mem buffer =
        cl->clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &result);
    fine(result, "clCreateBuffer");
    const cl_command_queue queue =
        cl->clCreateCommandQueueWithProperties(context, device, NULL, &result);
    fine(result, "clCreateCommandQueueWithProperties");
    for (cl_uint i = 0; i < FILLS; i++)
        fine(cl->clEnqueueFillBuffer(queue, buffer, &i, sizeof i, 0, BYTES, 0,
                                     NULL, NULL),
             "clEnqueueFillBuffer");
    fine(cl->clFinish(queue), "clFinish");
    fine(cl->clReleaseMemObject(buffer), "clReleaseMemObject");
    fine(cl->clReleaseCommandQueue(queue), "clReleaseCommandQueue");
    fine(cl->clReleaseContext(context), "clReleaseContext");
}

// The driver's table with the layer's functions in it.
static cl_icd_dispatch table;

static void run(cl_platform_id platform, const char *path)
{
    cl_int (*init)(cl_uint, const cl_icd_dispatch *, cl_uint *,
                   const cl_icd_dispatch **, const cl_ulong *) = NULL;
    cl_int (*end)(void) = NULL;
    const cl_icd_dispatch *ours = NULL;
    cl_uint count = 0;
    memcpy(&table, *(cl_icd_dispatch **)(void *)platform, sizeof table);
    void *const layer = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (layer) {
        find(layer, "clInitLayerWithProperties", &init);
        find(layer, "clDeinitLayer", &end);
        const cl_uint room = sizeof table / sizeof(void *);
        fine(init(room, &table, &count, &ours, NULL), "init");
        if (count > room) count = room;
    }
    cl_icd_dispatch both = table;
    for (cl_uint i = 0; i < count; i++) {
        void *const *const from = (void *const *)(const void *)ours + i;
        if (*from) memcpy((void **)(void *)&both + i, from, sizeof *from);
    }
    use(&both, platform);
    if (layer) {
        fine(end(), "clDeinitLayer");
        dlclose(layer);
    }
    // As after the driver is gone.
    memset(&table, 0, sizeof table);
}

int main(int argc, char **argv)
{
    void *(*extension)(const char *);
    cl_int (*platforms)(cl_uint, cl_platform_id *, cl_uint *);
    cl_platform_id platform;
    char layers[4096] = "";
    if (getenv("OPENCL_LAYERS"))
        snprintf(layers, sizeof layers, "%s", getenv("OPENCL_LAYERS"));
    layers[strcspn(layers, ":")] = 0;
    void *const driver = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!driver) {
        puts("the driver cannot be loaded");
        return 2;
    }
    find(driver, "clGetExtensionFunctionAddress", &extension);
    void *const found = extension("clIcdGetPlatformIDsKHR");
    memcpy(&platforms, &found, sizeof found);
    fine(platforms(1, &platform, NULL), "clIcdGetPlatformIDsKHR");
    for (int i = 0; i < 2; i++)
        run(platform, *layers ? layers : NULL);
    puts("done");
    return 0;
}
