// The product of two matrices, by tiles in local memory.
#include "common.h"

enum { N = 64, TILE = 8 };

static const char source[] =
    "kernel void multiply(global const float *a, global const float *b,\n"
    "                     global float *c, int n, local float *x,\n"
    "                     local float *y) {\n"
    "    int i = get_local_id(1), j = get_local_id(0);\n"
    "    int row = get_global_id(1), column = get_global_id(0);\n"
    "    float sum = 0;\n"
    "    for (int k = 0; k < n; k += TILE) {\n"
    "        x[i * TILE + j] = a[row * n + k + j];\n"
    "        y[i * TILE + j] = b[(k + i) * n + column];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        for (int l = 0; l < TILE; l++)\n"
    "            sum += x[i * TILE + l] * y[l * TILE + j];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    c[row * n + column] = sum;\n"
    "}\n";

int main(void)
{
    static float a[N * N], b[N * N], c[N * N];
    const size_t global[2] = { N, N }, local[2] = { TILE, TILE };
    const int n = N;
    int right = 1;
    for (int i = 0; i < N * N; i++) {
        a[i] = (float)(i % 7);
        b[i] = (float)(i % 5);
    }
    start(0, source, "-DTILE=8 -cl-std=CL1.2");
    const cl_kernel multiply = kernel_of("multiply");
    const cl_mem from_a = buffer_of(sizeof a, a),
                 from_b = buffer_of(sizeof b, 0);
    const cl_mem to = buffer_of(sizeof c, NULL);
    need(clEnqueueWriteBuffer(queue, from_b, CL_TRUE, 0, sizeof b, b, 0, NULL,
                              NULL),
         "write");
    ARG(multiply, 0, from_a);
    ARG(multiply, 1, from_b);
    ARG(multiply, 2, to);
    ARG(multiply, 3, n);
    clSetKernelArg(multiply, 4, TILE * TILE * sizeof(float), NULL);
    clSetKernelArg(multiply, 5, TILE * TILE * sizeof(float), NULL);
    need(clEnqueueNDRangeKernel(queue, multiply, 2, NULL, global, local, 0,
                                NULL, NULL),
         "multiply");
    need(clEnqueueReadBuffer(queue, to, CL_TRUE, 0, sizeof c, c, 0, NULL, NULL),
         "read");
    for (int i = 0; i < N * N; i++) {
        float sum = 0; // whole numbers: no order rounds
        for (int k = 0; k < N; k++)
            sum += a[i / N * N + k] * b[k * N + i % N];
        right &= sum == c[i];
    }
    clReleaseKernel(multiply);
    clReleaseMemObject(from_a);
    clReleaseMemObject(from_b);
    clReleaseMemObject(to);
    return finish("matmul", right);
}
