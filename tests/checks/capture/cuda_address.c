// A program that takes the address of dlsym, which is then within it if it is
// built with -no-pie: all others have that of its table, too. It launches, and
// looks functions up in each way.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

typedef struct dimensions {
    unsigned x, y, z;
} dimensions;
int cudaLaunchKernel(const void *function, dimensions grid, dimensions block,
                     void **arguments, size_t shared, void *stream);
int cudaDeviceSynchronize(void);

static void *(*volatile look)(void *, const char *);

static void empty(void **arguments, unsigned i)
{
    (void)arguments;
    (void)i;
}

int main(void)
{
    const dimensions one = { 1, 1, 1 };
    look = dlsym;
    for (int i = 0; i < 25; i++)
        cudaLaunchKernel((const void *)(size_t)empty, one, one, NULL, 0, NULL);
    cudaDeviceSynchronize();
    void *const runtime = dlopen("libcudart.so", RTLD_NOW | RTLD_NOLOAD);
    puts(runtime && look(runtime, "cudaLaunchKernel") &&
                 dlsym(runtime, "cudaLaunchKernel") &&
                 look(RTLD_DEFAULT, "cudaLaunchKernel") &&
                 dlsym(RTLD_DEFAULT, "cudaLaunchKernel") &&
                 dlsym(RTLD_NEXT, "cudaLaunchKernel") &&
                 !dlsym(runtime, "cudaNothing")
             ? "found"
             : "not found");
    return 8;
}
