/*
    cuda_double.h - how tests drive the double of CUDA's driver

    A "cubin" is a shared object. A kernel of it is a function

        void NAME(const void *arguments, const double_grid *grid)

    which does the work of the whole grid, and its parameters are

        const uint32_t NAME_params[] = { offset, size, ..., UINT32_MAX };

    Memory of devices is the process's own. What was launched is over when the
    call returns, but for a kernel that hangs. PTX text becomes the cubin that
    DOUBLE_CUDA_JIT names, or code that does nothing.

    Variables of the environment:
      DOUBLE_CUDA_JIT      file: what the driver compiles text to
      DOUBLE_CUDA_ARENA    where its memory begins (7e9000000000)
      DOUBLE_CUDA_REFUSE   so many hints of an address are ignored
      DOUBLE_CUDA_HANG     name: this kernel does not end
      DOUBLE_CUDA_FAIL     name: this kernel touches what is not there
      DOUBLE_CUDA_WRONG    name: this kernel runs twice
      DOUBLE_CUDA_TELL     1: stderr has a line "ran NAME" for each kernel
      DOUBLE_CUDA_DEVICES  how many there are (1)
      DOUBLE_CUDA_MANAGED  0: devices do not share managed memory
      DOUBLE_CUDA_TEXTURES the first handle of a texture (1)
      DOUBLE_CUDA_TENSOR   1: its tensor maps look otherwise
      DOUBLE_CUDA_LOCK     1: in callbacks the driver holds its lock, so that
                           no other thread gets an answer; 2: nor the same
*/
#ifndef CUDA_DOUBLE_H
#define CUDA_DOUBLE_H

#include <stdint.h>
#include <string.h>

typedef struct double_grid {
    uint32_t grid[3], block[3], shared;
} double_grid;

typedef void (*double_kernel_function)(const void *arguments,
                                       const double_grid *grid);

// The address in a tensor map, where nobody would look for it.
static inline uint64_t double_tensor_address(const void *map)
{
    uint64_t hidden;
    memcpy(&hidden, (const char *)map + 24, sizeof hidden);
    return ~hidden;
}

#endif // CUDA_DOUBLE_H
