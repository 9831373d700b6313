/*
    opencl.c - devices of OpenCL, for --execute
*/
#define _GNU_SOURCE
#define TRACESMITH_OPENCL_EXEC_IMPLEMENTATION
#include "backends/ts_opencl_exec.h"
