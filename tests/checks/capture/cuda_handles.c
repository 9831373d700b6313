/*
    cuda_handles.c - a kernel that reads by a tensor map and one that reads by a
    texture, of the double of CUDA's driver, which it is linked with
*/
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuModuleLoadData(void **module, const void *image);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamSynchronize(void *stream);
int cuMemAlloc_v2(uint64_t *address, size_t size);
int cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void *stream);
int cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, uint64_t address,
                           const uint64_t *dims, const uint64_t *strides,
                           const uint32_t *box, const uint32_t *steps,
                           int interleave, int swizzle, int promotion,
                           int fill);
int cuTexObjectCreate(uint64_t *texture, const void *resource, const void *how,
                      const void *view);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz,
                   unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void *stream, void **arguments, void **extra);

#define NEED(call) \
    do { \
        if (!(call)) continue; \
        fprintf(stderr, "%s\n", #call); \
        exit(1); \
    } while (0)

enum { COUNT = 1024 };

static void *module, *stream;
static uint64_t from, to;

static void launch(const char *name, void **arguments)
{
    void *kernel;
    NEED(cuModuleGetFunction(&kernel, module, name));
    NEED(cuLaunchKernel(kernel, 1, 1, 1, COUNT, 1, 1, 0, stream, arguments,
                        NULL));
    NEED(cuStreamSynchronize(stream));
}

int main(void)
{
    static const uint64_t dims[2] = { 64, 4 }, strides[1] = { 256 };
    static const uint32_t box[2] = { 16, 4 }, steps[2] = { 1, 1 };
    static const uint32_t how_read[26] = { 1, 1, 1, 0, 1 };
    _Alignas(128) uint64_t map[16];
    uint32_t value = 2;
    uint64_t texture;
    void *context;
    NEED(cuInit(0));
    NEED(cuDevicePrimaryCtxRetain(&context, 0));
    NEED(cuCtxSetCurrent(context));
    NEED(cuModuleLoadData(&module, ".version 8.0"));
    NEED(cuStreamCreate(&stream, 0));
    NEED(cuMemAlloc_v2(&from, 4 * COUNT));
    NEED(cuMemAlloc_v2(&to, 4 * COUNT));
    NEED(cuMemsetD32Async(from, 7, COUNT, stream));
    NEED(cuMemsetD32Async(to, 7, COUNT, stream));
    // Numbers of 32 bits without a sign.
    const uint64_t resource[18] = { 2, from, 3 | UINT64_C(1) << 32, 4 * COUNT };
    NEED(cuTensorMapEncodeTiled(map, 7, 2, from, dims, strides, box, steps, 0,
                                1, 2, 0));
    NEED(cuTexObjectCreate(&texture, resource, how_read, NULL));
    launch("mapped", (void *[]){ map, &value });
    launch("textured", (void *[]){ &texture, &to });
    return 0;
}
