/*
    cuda.c - devices of NVIDIA and AMD, for --execute
*/
#define TRACESMITH_CUDA_EXEC_IMPLEMENTATION
#include "backends/ts_cuda_exec.h"
