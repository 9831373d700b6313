// Three kernels, one after another, with a constant that whoever builds the
// program may change, and constants of the program; each has two dimensions,
// the second of one thread. And one on shared memory, where the device has it.
#include "common.h"

enum { COUNT = 4096 };

static const char source[] =
    "#ifndef FACTOR\n"
    "#define FACTOR 3\n"
    "#endif\n"
    "kernel void count(global int *v) { v[get_global_id(0)] =\n"
    "    get_global_id(0); }\n"
    "kernel void scale(global int *v) { v[get_global_id(0)] *= FACTOR; }\n"
    "constant int shifts[] = { 4, 5, 6 };\n"
    "kernel void shift(global int *v) { v[get_global_id(0)] +=\n"
    "    shifts[1] + get_work_dim(); }\n";

static void run(const char *name, cl_mem buffer, void *shared)
{
    const size_t count[2] = { COUNT, 1 };
    const cl_kernel kernel = kernel_of(name);
    if (shared)
        need(clSetKernelArgSVMPointer(kernel, 0, shared), "argument");
    else
        ARG(kernel, 0, buffer);
    need(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, count, NULL, 0, NULL,
                                NULL),
         name);
    clReleaseKernel(kernel);
}

int main(void)
{
    static int result[COUNT];
    int right = 1;
    start(0, source, "");
    const cl_mem buffer = buffer_of(sizeof result, NULL);
    run("count", buffer, NULL);
    run("scale", buffer, NULL);
    run("shift", buffer, NULL);
    need(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof result, result,
                             0, NULL, NULL),
         "read");
    for (int i = 0; i < COUNT; i++)
        right &= result[i] == 3 * i + 7;
    void *const shared = clSVMAlloc(context, 0, sizeof result, 0);
    if (shared) run("count", NULL, shared);
    need(clFinish(queue), "clFinish");
    if (shared) clSVMFree(context, shared);
    clReleaseMemObject(buffer);
    return finish("steps", right);
}
