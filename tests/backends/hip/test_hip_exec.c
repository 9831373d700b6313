// The executor of HIP: the tests of CUDA's executor, and those of HIP alone.
#define TEST_HIP
#include "tests/backends/cuda/test_cuda_exec.c"
