// A kernel that adds one and says so, five times, each waited for; the result
// is read with a call that blocks, and waited for once more.
#include "common.h"

enum { COUNT = 5 };

static const char source[] = "kernel void count(global int *sum) {\n"
                             "    sum[0] += 1;\n"
                             "    printf(\"ran count\\n\");\n"
                             "}\n";

static void wait_for(cl_event event)
{
    need(clWaitForEvents(1, &event), "clWaitForEvents");
    clReleaseEvent(event);
}

int main(void)
{
    const size_t one = 1;
    const int start_at = 37;
    int sum = 0;
    cl_event done;
    start(0, source, "");
    const cl_kernel count = kernel_of("count");
    const cl_mem buffer = buffer_of(sizeof sum, &start_at);
    ARG(count, 0, buffer);
    for (int i = 0; i < COUNT; i++) {
        need(clEnqueueNDRangeKernel(queue, count, 1, NULL, &one, NULL, 0, NULL,
                                    &done),
             "count");
        wait_for(done);
    }
    need(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof sum, &sum, 0,
                             NULL, &done),
         "read");
    wait_for(done);
    clReleaseKernel(count);
    clReleaseMemObject(buffer);
    return finish("count", sum == start_at + COUNT);
}
