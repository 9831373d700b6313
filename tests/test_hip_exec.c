// The executor of HIP: what CUDA's does, and what is its own.
#define TEST_HIP
#include "tests/test_cuda_exec.c"
