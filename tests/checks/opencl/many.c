/*
    many.c - launches a kernel many times, and then some that fail

        many LAUNCHES FAILURES [CACHE]

    What the driver compiled is kept in CACHE, and taken from there.
*/
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

static cl_int fine(cl_int result)
{
    if (result != CL_SUCCESS) exit(2);
    return result;
}

enum { CACHED = 1 << 20 };

static cl_program from_source(cl_context context, cl_device_id device,
                              const char *cache)
{
    const char *code = "kernel void count(global int *at)"
                       "{ at[get_global_id(0)] += 1; }";
    cl_int result;
    const cl_program program =
        clCreateProgramWithSource(context, 1, &code, NULL, &result);
    fine(result);
    fine(clBuildProgram(program, 1, &device, "", NULL, NULL));
    FILE *const file = cache ? fopen(cache, "wb") : NULL;
    if (!file) return program;
    static unsigned char room[CACHED];
    unsigned char *bytes = room;
    size_t size;
    fine(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size,
                          NULL));
    if (size > CACHED) exit(2);
    fine(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes,
                          NULL));
    if (fwrite(room, size, 1, file) != 1 || fclose(file)) exit(2);
    return program;
}

static cl_program program_of(cl_context context, cl_device_id device,
                             const char *cache)
{
    static unsigned char room[CACHED];
    const unsigned char *bytes = room;
    FILE *const file = cache ? fopen(cache, "rb") : NULL;
    if (!file) return from_source(context, device, cache);
    const size_t size = fread(room, 1, sizeof room, file);
    fclose(file);
    cl_int result;
    const cl_program program = clCreateProgramWithBinary(
        context, 1, &device, &size, &bytes, NULL, &result);
    fine(result);
    fine(clBuildProgram(program, 1, &device, "", NULL, NULL));
    return program;
}

int main(int argc, char **argv)
{
    const size_t items = 64, group = 64, too_many = 1 << 20;
    cl_platform_id platform;
    cl_device_id device;
    cl_int result;
    if (argc < 3) return 2;
    fine(clGetPlatformIDs(1, &platform, NULL));
    fine(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    const cl_context context =
        clCreateContext(NULL, 1, &device, NULL, NULL, &result);
    const cl_command_queue queue =
        clCreateCommandQueueWithProperties(context, device, NULL, &result);
    const cl_program program =
        program_of(context, device, argc > 3 ? argv[3] : NULL);
    const cl_kernel kernel = clCreateKernel(program, "count", &result);
    const cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE,
                                         items * sizeof(cl_int), NULL, &result);
    fine(result);
    fine(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    for (int i = atoi(argv[1]); i > 0; i--)
        fine(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0,
                                    NULL, NULL));
    for (int i = atoi(argv[2]); i > 0; i--)
        if (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &too_many, 0,
                                   NULL, NULL) == CL_SUCCESS)
            return 2;
    fine(clFinish(queue));
    puts("done");
    return 5;
}
