// Sums by groups in local memory, each group into a part of a buffer that is a
// buffer of its own, on two queues; then the sums of these.
#include "common.h"

enum { COUNT = 1 << 16, GROUP = 64, PARTS = 4 };

static const char source[] =
    "kernel void reduce(global const int *from, global int *to,\n"
    "                   local int *room) {\n"
    "    int l = get_local_id(0);\n"
    "    room[l] = from[get_global_id(0)];\n"
    "    for (int step = get_local_size(0) / 2; step > 0; step /= 2) {\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        if (l < step) room[l] += room[l + step];\n"
    "    }\n"
    "    if (!l) to[get_group_id(0)] = room[0];\n"
    "}\n";

static cl_kernel reduce;
static cl_command_queue other;

static void run(cl_command_queue on, cl_mem from, cl_mem to, size_t count,
                cl_event *event)
{
    const size_t group = GROUP;
    ARG(reduce, 0, from);
    ARG(reduce, 1, to);
    clSetKernelArg(reduce, 2, GROUP * sizeof(int), NULL);
    need(clEnqueueNDRangeKernel(on, reduce, 1, NULL, &count, &group, 0, NULL,
                                event),
         "reduce");
}

static cl_mem part(cl_mem whole, size_t index, size_t size)
{
    const cl_buffer_region region = { index * size, size };
    const cl_mem made = clCreateSubBuffer(
        whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    need(error, "clCreateSubBuffer");
    return made;
}

int main(void)
{
    static int numbers[COUNT];
    cl_event done;
    int sums[COUNT / GROUP / GROUP], sum = 0, want = 0;
    for (int i = 0; i < COUNT; i++)
        want += numbers[i] = i % 1000 - 300;
    start(0, source, "");
    reduce = kernel_of("reduce");
    other = clCreateCommandQueue(context, device, 0, &error);
    need(error, "clCreateCommandQueue");
    const cl_mem all = buffer_of(sizeof numbers, numbers);
    const cl_mem some = buffer_of(sizeof numbers / GROUP, NULL);
    const cl_mem few = buffer_of(sizeof sums, NULL);
    for (size_t i = 0; i < PARTS; i++) {
        const cl_mem from = part(all, i, sizeof numbers / PARTS);
        const cl_mem to = part(some, i, sizeof numbers / GROUP / PARTS);
        run(i % 2 ? other : queue, from, to, COUNT / PARTS,
            i == PARTS - 1 ? &done : NULL);
        need(clFlush(i % 2 ? other : queue), "clFlush");
        clReleaseMemObject(from);
        clReleaseMemObject(to);
    }
    need(clEnqueueBarrierWithWaitList(queue, 1, &done, NULL), "barrier");
    run(queue, some, few, COUNT / GROUP, NULL);
    need(clEnqueueReadBuffer(queue, few, CL_TRUE, 0, sizeof sums, sums, 0, NULL,
                             NULL),
         "read");
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        sum += sums[i];
    clReleaseEvent(done);
    clReleaseCommandQueue(other);
    clReleaseKernel(reduce);
    clReleaseMemObject(all);
    clReleaseMemObject(some);
    clReleaseMemObject(few);
    return finish("reduce", sum == want);
}
