/*
    libhipdevice.c - the device of the double of libamdhip64.so

    It is the one of CUDA's double, by another name: memory, code whose kernels
    run, streams and graphs (cuda_double.h). hip_device.h calls it.
*/
#define DOUBLE_OF_HIP // starts as HIP does
#include "libcuda.c"
