// The executor of CUDA, compiled once for the tests that run a capture.
#define TRACESMITH_CUDA_EXEC_IMPLEMENTATION
#include "backends/ts_cuda_exec.h"
