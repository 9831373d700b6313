/*
    opencl_fixture.h - a program with the OpenCL backend inside, on PoCL

    For tests of what its trace says: a context, two queues, two kernels.
*/
#ifndef OPENCL_FIXTURE_H
#define OPENCL_FIXTURE_H

#define TRACESMITH_OPENCL
#define TRACESMITH_OPENCL_IMPLEMENTATION
#define _GNU_SOURCE
#include <sys/syscall.h>
#include "tests/record/record_fixture.h"

#include "backends/ts_opencl.h"

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

static const ts_session_desc plain;
static cl_context context;
static cl_device_id device;
static cl_program program;
static cl_command_queue queue, any_order;

// `work` takes a while; __local of it and of the argument are 64 and 256.
static const char *const source =
    "__kernel void work(__global int *to, __global const int *from,\n"
    "                   __local int *part, int turns)\n"
    "{ __local int own[16]; int i = get_global_id(0);\n"
    "  own[get_local_id(0)] = from[i]; part[get_local_id(0)] = i;\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  for (int k = 0; k < turns; k++) to[i] += own[0] + part[0]; }\n"
    "__kernel void set(__global int *to) { to[get_global_id(0)] = 1; }\n";

static void fine(cl_int result)
{
    assert_int_equal(result, CL_SUCCESS);
}

static cl_command_queue queue_of(cl_command_queue_properties properties)
{
    cl_int result;
    const cl_queue_properties list[] = { CL_QUEUE_PROPERTIES, properties, 0 };
    const cl_command_queue made =
        clCreateCommandQueueWithProperties(context, device, list, &result);
    fine(result);
    return made;
}

static int open_device(void **state)
{
    cl_platform_id platform;
    cl_int result;
    fine(clGetPlatformIDs(1, &platform, NULL));
    fine(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &result);
    fine(result);
    const char *text = source;
    program = clCreateProgramWithSource(context, 1, &text, NULL, &result);
    fine(result);
    fine(
        clBuildProgram(program, 1, &device, "-cl-kernel-arg-info", NULL, NULL));
    queue = queue_of(0);
    any_order = queue_of(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    return 0;
}

static int close_device(void **state)
{
    clReleaseCommandQueue(queue);
    clReleaseCommandQueue(any_order);
    clReleaseProgram(program);
    clReleaseContext(context);
    return 0;
}

static cl_mem buffer_of(size_t size)
{
    cl_int result;
    const cl_mem made =
        clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &result);
    fine(result);
    return made;
}

static cl_kernel kernel_of(const char *name)
{
    cl_int result;
    const cl_kernel made = clCreateKernel(program, name, &result);
    fine(result);
    return made;
}

// Whether this thread has a lock.
RT_UNUSED static bool holds(const pthread_mutex_t *lock)
{
    return lock->__data.__owner == (int)syscall(SYS_gettid);
}

// Locks that this thread has in a call of the driver.
RT_UNUSED static int locks_held(void)
{
    int count = holds(&ts__cl_cap.lock) + holds(&ts__cl_hashing.lock);
    for (const ts__cl_queue *q = ts__cl.queues; q; q = q->next)
        count += holds(&q->lock);
    for (int i = 0; i < TS__CL_LOCKS; i++)
        count += holds(&ts__cl.locks[i]);
    return count;
}

RT_UNUSED static void set_enqueue(cl_command_queue on, cl_mem to, cl_uint waits,
                                  const cl_event *list, cl_event *event)
{
    const cl_kernel set = kernel_of("set");
    const size_t count = 16, group = 8;
    fine(clSetKernelArg(set, 0, sizeof to, &to));
    fine(clEnqueueNDRangeKernel(on, set, 1, NULL, &count, &group, waits, list,
                                event));
    clReleaseKernel(set);
}

RT_UNUSED static void work_enqueue(cl_command_queue on, cl_mem to, cl_mem from,
                                   cl_int turns)
{
    const cl_kernel work = kernel_of("work");
    const size_t count[2] = { 64, 2 }, group[2] = { 16, 1 };
    fine(clSetKernelArg(work, 0, sizeof to, &to));
    fine(clSetKernelArg(work, 1, sizeof from, &from));
    fine(clSetKernelArg(work, 2, 256, NULL));
    fine(clSetKernelArg(work, 3, sizeof turns, &turns));
    fine(
        clEnqueueNDRangeKernel(on, work, 2, NULL, count, group, 0, NULL, NULL));
    clReleaseKernel(work);
}

#endif // OPENCL_FIXTURE_H
