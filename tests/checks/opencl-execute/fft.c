// A Fourier transform, forward and back, on a queue without order: events say
// what comes before what. Each half of the threads is a launch with an offset.
#include "common.h"

enum { COUNT = 256, HALF = COUNT / 2 };

static const char source[] =
    "kernel void swap(global const float2 *from, global float2 *to,\n"
    "                 uint bits) {\n"
    "    uint i = get_global_id(0), j = 0;\n"
    "    for (uint b = 0; b < bits; b++) j |= (i >> b & 1) << (bits - 1 - b);\n"
    "    to[j] = from[i];\n"
    "}\n"
    "kernel void butterfly(global float2 *v, uint half_size, float sign) {\n"
    "    uint i = get_global_id(0), k = i % half_size;\n"
    "    uint a = i / half_size * 2 * half_size + k, b = a + half_size;\n"
    "    float angle = sign * M_PI_F * k / half_size;\n"
    "    float2 w = (float2)(cos(angle), sin(angle)), x = v[a], y = v[b];\n"
    "    y = (float2)(w.x * y.x - w.y * y.y, w.x * y.y + w.y * y.x);\n"
    "    v[a] = x + y;\n"
    "    v[b] = x - y;\n"
    "}\n";

static cl_kernel swap, butterfly;

// Behind `before`; *after is when all of it is done.
static void transform(cl_mem from, cl_mem to, float sign, cl_event before,
                      cl_event *after)
{
    const unsigned bits = 8;
    const size_t count = COUNT, half = HALF / 2;
    cl_event last, both[2];
    ARG(swap, 0, from);
    ARG(swap, 1, to);
    ARG(swap, 2, bits);
    need(clEnqueueNDRangeKernel(queue, swap, 1, NULL, &count, NULL, 1, &before,
                                &last),
         "swap");
    ARG(butterfly, 0, to);
    ARG(butterfly, 2, sign);
    for (unsigned size = 1; size < COUNT; size *= 2) {
        ARG(butterfly, 1, size);
        for (size_t i = 0; i < 2; i++) {
            const size_t offset = i * half;
            need(clEnqueueNDRangeKernel(queue, butterfly, 1, &offset, &half,
                                        NULL, 1, &last, &both[i]),
                 "butterfly");
        }
        clReleaseEvent(last);
        need(clEnqueueMarkerWithWaitList(queue, 2, both, &last), "marker");
        clReleaseEvent(both[0]);
        clReleaseEvent(both[1]);
    }
    *after = last;
}

int main(void)
{
    static float v[COUNT][2], back[COUNT][2];
    cl_event written, there, home;
    int right = 1;
    for (int i = 0; i < COUNT; i++)
        v[i][0] = (float)(i * i % 31);
    start(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, source, "");
    swap = kernel_of("swap");
    butterfly = kernel_of("butterfly");
    const cl_mem a = buffer_of(sizeof v, NULL), b = buffer_of(sizeof v, NULL);
    need(clEnqueueWriteBuffer(queue, a, CL_FALSE, 0, sizeof v, v, 0, NULL,
                              &written),
         "write");
    transform(a, b, 1, written, &there);
    transform(b, a, -1, there, &home);
    need(clEnqueueReadBuffer(queue, a, CL_TRUE, 0, sizeof back, back, 1, &home,
                             NULL),
         "read");
    for (int i = 0; i < COUNT; i++) {
        const float difference = back[i][0] / COUNT - v[i][0];
        right &= difference < 1e-3f && difference > -1e-3f;
    }
    clReleaseEvent(written);
    clReleaseEvent(there);
    clReleaseEvent(home);
    clReleaseKernel(swap);
    clReleaseKernel(butterfly);
    clReleaseMemObject(a);
    clReleaseMemObject(b);
    return finish("fft", right);
}
