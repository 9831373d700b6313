// The executor of HIP: what CUDA's does, and what is its own.
#define TEST_HIP
#include "tests/backends/cuda/test_cuda_exec.c"
