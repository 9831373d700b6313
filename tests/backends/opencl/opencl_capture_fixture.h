/*
    opencl_capture_fixture.h - a program of OpenCL whose commands are captured

    Tests of captures share it: three kernels, sessions with captures, memory.
*/
#ifndef OPENCL_CAPTURE_FIXTURE_H
#define OPENCL_CAPTURE_FIXTURE_H

#include "tests/backends/opencl/opencl_fixture.h"

#include "tests/backends/vdev/captures_fixture.h"

// PoCL, which is of C++ too, loses memory of binaries and of images in buffers.
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libpocl\nleak:libstdc++\n";
}

static const char *const kept_source =
    "__kernel void axpy(__global float *y, __global const float *x,\n"
    "                   float4 a, char b, __local float *part)\n"
    "{ size_t i = get_global_id(0); part[get_local_id(0)] = x[i];\n"
    "  y[i] += a.x * part[get_local_id(0)] + b + K; }\n"
    "__kernel void bump(__global int *to, int by)\n"
    "{ to[get_global_id(0)] += by + 10 * get_work_dim(); }\n"
    "__kernel void invert(read_only image2d_t in, write_only image2d_t out,\n"
    "                     sampler_t s)\n"
    "{ int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "  write_imageui(out, at, 255 - read_imageui(in, s, at)); }\n";
static const char *const kept_options = "-DK=2 -cl-kernel-arg-info";
static cl_program kept;

static int open_all(void **state)
{
    cl_int result;
    const char *text = kept_source;
    if (open_device(state)) return -1;
    kept = clCreateProgramWithSource(context, 1, &text, NULL, &result);
    fine(result);
    fine(clBuildProgram(kept, 1, &device, kept_options, NULL, NULL));
    return 0;
}

static int close_all(void **state)
{
    clReleaseProgram(kept);
    return close_device(state);
}

static cl_kernel kept_kernel(const char *name)
{
    cl_int result;
    const cl_kernel made = clCreateKernel(kept, name, &result);
    fine(result);
    return made;
}

RT_UNUSED static cl_mem memory_of(cl_mem_flags flags, size_t size, void *host)
{
    cl_int result;
    const cl_mem made = clCreateBuffer(context, flags, size, host, &result);
    fine(result);
    return made;
}

RT_UNUSED static const char *begin(const char *name, const char *what)
{
    char room[256];
    ts_capture_desc desc;
    const char *const path = rt_start(name, plain);
    assert_int_equal(ts_capture_parse(&desc, room, sizeof room, what), TS_OK);
    assert_int_equal(ts_capture_start(&desc), TS_OK);
    return path;
}

RT_UNUSED static ts_reader *end(const char *path)
{
    ts_capture_stop();
    assert_int_equal(ts_session_stop(), TS_OK);
    return ct_open(path);
}

RT_UNUSED static void bump_enqueue(cl_command_queue on, cl_mem to, cl_int by,
                                   size_t count, cl_uint waits,
                                   const cl_event *list)
{
    const cl_kernel bump = kept_kernel("bump");
    fine(clSetKernelArg(bump, 0, sizeof to, &to));
    fine(clSetKernelArg(bump, 1, sizeof by, &by));
    fine(clEnqueueNDRangeKernel(on, bump, 1, NULL, &count, NULL, waits, list,
                                NULL));
    clReleaseKernel(bump);
}

RT_UNUSED static cl_mem image_of(cl_mem_object_type type, size_t width,
                                 size_t height, size_t depth, cl_mem buffer)
{
    const cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT8 };
    cl_image_desc desc;
    cl_int result;
    memset(&desc, 0, sizeof desc);
    desc.image_type = type;
    desc.image_width = width;
    desc.image_height = type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? 0 : height;
    desc.image_depth = type == CL_MEM_OBJECT_IMAGE3D ? depth : 0;
    desc.image_array_size = type == CL_MEM_OBJECT_IMAGE1D_ARRAY   ? height
                            : type == CL_MEM_OBJECT_IMAGE2D_ARRAY ? depth
                                                                  : 0;
    desc.buffer = buffer;
    const cl_mem made = clCreateImage(context, CL_MEM_READ_WRITE, &format,
                                      &desc, NULL, &result);
    fine(result);
    return made;
}

#endif // OPENCL_CAPTURE_FIXTURE_H
