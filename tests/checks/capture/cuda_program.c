// A program that uses CUDA and knows nothing of TraceSmith: y = a x + y, some
// times, on two streams; the runtime is tests/doubles/libcudart.c. With CUDA13
// it launches as compilers of CUDA 13 make programs do.
#include <stdio.h>
#include <stdlib.h>

typedef struct dimensions {
    unsigned x, y, z;
} dimensions;
int cudaMalloc(void **pointer, size_t size);
int cudaFree(void *pointer);
int cudaMemcpyAsync(void *to, const void *from, size_t size, int kind,
                    void *stream);
#ifdef CUDA13
#define cudaLaunchKernel __cudaLaunchKernel
#endif
int cudaLaunchKernel(const void *function, dimensions grid, dimensions block,
                     void **arguments, size_t shared, void *stream);
int cudaGetLastError(void);
int cudaDeviceSynchronize(void);

enum { COUNT = 64, STEPS = 25 };

void saxpy(void **arguments, unsigned i);
void saxpy(void **arguments, unsigned i)
{
    const float *const x = *(float **)arguments[0];
    float *const y = *(float **)arguments[1];
    y[i] = 2 * x[i] + y[i];
}

int main(void)
{
    float host[COUNT], *x, *y;
    for (int i = 0; i < COUNT; i++)
        host[i] = (float)i;
    if (cudaMalloc((void **)&x, sizeof host) ||
        cudaMalloc((void **)&y, sizeof host))
        return 1;
    cudaMemcpyAsync(x, host, sizeof host, 1, NULL);
    cudaMemcpyAsync(y, host, sizeof host, 1, NULL);
    void *arguments[] = { &x, &y };
    const dimensions grid = { COUNT, 1, 1 }, block = { 128, 1, 1 };
    for (size_t step = 0; step < STEPS; step++) {
        cudaLaunchKernel((const void *)(size_t)saxpy, grid, block, arguments, 0,
                         (char *)NULL + step % 2);
        if (cudaGetLastError()) return 1;
    }
    cudaDeviceSynchronize();
    cudaMemcpyAsync(host, y, sizeof host, 2, NULL);
    printf("%g %g\n", (double)host[1], (double)host[COUNT - 1]);
    cudaFree(x);
    cudaFree(y);
    return 8;
}
