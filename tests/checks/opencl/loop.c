// Launches a kernel every few milliseconds until a file is there; the sum that
// it makes is printed in the end.
//   loop FILE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const source =
    "kernel void add(global uint *x, uint n) { x[get_global_id(0)] += n; }";

static void need(cl_int error)
{
    if (error == CL_SUCCESS) return;
    fprintf(stderr, "OpenCL: %d\n", error);
    exit(1);
}

static cl_kernel build(cl_context context, cl_device_id device)
{
    cl_int error;
    const cl_program program = clCreateProgramWithSource(
        context, 1, (const char **)&source, NULL, &error);
    need(error);
    need(clBuildProgram(program, 1, &device, "-cl-mad-enable", NULL, NULL));
    const cl_kernel kernel = clCreateKernel(program, "add", &error);
    need(error);
    return kernel;
}

int main(int argc, char **argv)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int error;
    cl_uint values[256] = { 0 }, count = 0;
    const size_t size = sizeof values / sizeof *values;
    need(clGetPlatformIDs(1, &platform, NULL));
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    const cl_context context =
        clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    need(error);
    const cl_command_queue queue =
        clCreateCommandQueue(context, device, 0, &error);
    need(error);
    const cl_kernel kernel = build(context, device);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof values,
                                   values, &error);
    need(error);
    while (argc > 1 && access(argv[1], F_OK) != 0 && ++count < 10000) {
        need(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
        need(clSetKernelArg(kernel, 1, sizeof count, &count));
        need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0,
                                    NULL, NULL));
        need(clFinish(queue));
        usleep(5000);
    }
    need(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof values, values,
                             0, NULL, NULL));
    printf("%s\n", values[7] == count * (count + 1) / 2 ? "right" : "wrong");
    return 0;
}
