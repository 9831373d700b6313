/*
    common.h - what the programs share: a device, a queue, a program

    They are as programs of OpenCL are, and know nothing of TraceSmith. Each
    checks its results and prints one line.
*/
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_int error;

static void need(cl_int result, const char *what)
{
    if (result == CL_SUCCESS) return;
    fprintf(stderr, "%s: error %d\n", what, (int)result);
    exit(1);
}

static void build(const char *options)
{
    char log[4096] = "";
    if (clBuildProgram(program, 1, &device, options, NULL, NULL) == 0) return;
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1,
                          log, NULL);
    fprintf(stderr, "the program does not build: %s\n", log);
    exit(1);
}

// source: NULL, if the program comes from elsewhere.
static void start(cl_command_queue_properties properties, const char *source,
                  const char *options)
{
    cl_platform_id platform;
    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL),
         "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    need(error, "clCreateContext");
    queue = clCreateCommandQueue(context, device, properties, &error);
    need(error, "clCreateCommandQueue");
    if (!source) return;
    program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    need(error, "clCreateProgramWithSource");
    build(options);
}

static inline cl_kernel kernel_of(const char *name)
{
    const cl_kernel kernel = clCreateKernel(program, name, &error);
    need(error, name);
    return kernel;
}

static inline cl_mem buffer_of(size_t size, const void *bytes)
{
    const cl_mem buffer =
        clCreateBuffer(context, bytes ? CL_MEM_COPY_HOST_PTR : 0, size,
                       bytes ? (void *)(size_t)bytes : NULL, &error);
    need(error, "clCreateBuffer");
    return buffer;
}

#define ARG(kernel, index, value) \
    need(clSetKernelArg(kernel, index, sizeof(value), &(value)), "argument")

// Says how it went, and ends everything.
static int finish(const char *name, int right)
{
    need(clFinish(queue), "clFinish");
    if (program) clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    printf("%s: %s\n", name, right ? "right" : "WRONG");
    return !right;
}
