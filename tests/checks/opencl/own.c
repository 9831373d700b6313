/*
    own.c - sets memory by OpenCL, within zones of its own session

        own TRACE

    With -DTRACESMITH_OPENCL its own session hears of OpenCL as well.
*/
#define CL_TARGET_OPENCL_VERSION 300
#define TRACESMITH_IMPLEMENTATION
#include "tracesmith.h"
#ifdef TRACESMITH_OPENCL
#include "backends/ts_opencl.h"
#endif
#include <CL/cl.h>

enum { FILLS = 20, BYTES = 1 << 20 };

static void fine(cl_int result)
{
    if (result != CL_SUCCESS) exit(2);
}

int main(int argc, char **argv)
{
    const ts_session_desc desc = { .path = argc > 1 ? argv[1] : "own.sbt" };
    cl_platform_id platform;
    cl_device_id device;
    cl_int result;
    if (ts_session_start(&desc) != TS_OK) return 9;
    fine(clGetPlatformIDs(1, &platform, NULL));
    fine(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    const cl_context context =
        clCreateContext(NULL, 1, &device, NULL, NULL, &result);
    fine(result);
    const cl_command_queue queue =
        clCreateCommandQueueWithProperties(context, device, NULL, &result);
    fine(result);
    const cl_mem buffer =
        clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &result);
    fine(result);
    for (int i = 0; i < FILLS; i++) {
        TS_ZONE("fill");
        fine(clEnqueueFillBuffer(queue, buffer, &i, sizeof i, 0, BYTES, 0, NULL,
                                 NULL));
    }
    {
        TS_ZONE("wait");
        fine(clFinish(queue));
    }
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    puts("filled");
    return ts_session_stop() == TS_OK ? 4 : 9;
}
