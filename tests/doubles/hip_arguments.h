/*
    hip_arguments.h - the functions of HIP that the doubles have, by number, and
    their arguments as those who listen get them

    With VALUES as hip_api_data_t has them: behind a pointer to a pointer is
    what it points to.
*/
#ifndef DOUBLES_HIP_ARGUMENTS_H
#define DOUBLES_HIP_ARGUMENTS_H

#include "tests/doubles/hip.h"

#define FUNCTIONS(X) \
    X(hipGetDeviceCount) \
    X(hipSetDevice) \
    X(hipGetDevice) \
    X(hipGetLastError) \
    X(hipMalloc) \
    X(hipFree) \
    X(hipMemcpy) \
    X(hipMemcpyAsync) \
    X(hipMemcpy2DAsync) \
    X(hipMemsetAsync) \
    X(hipStreamCreate) \
    X(hipStreamCreateWithFlags) \
    X(hipStreamDestroy) \
    X(hipStreamSynchronize) \
    X(hipDeviceSynchronize) \
    X(hipEventCreate) \
    X(hipEventRecord) \
    X(hipEventSynchronize) \
    X(hipStreamWaitEvent) \
    X(hipLaunchKernel) \
    X(hipModuleGetFunction) \
    X(hipExtModuleLaunchKernel)

enum {
#define X(name) NUMBER_##name,
    FUNCTIONS(X)
#undef X
        NUMBERS
};

#ifdef VALUES
#define POINTED(type, name) \
    type *name; \
    type name##_value
#else
#define POINTED(type, name) type *name
#endif

typedef struct hipGetDeviceCount_arguments {
    int *count;
} hipGetDeviceCount_arguments;
typedef struct hipSetDevice_arguments {
    int device;
} hipSetDevice_arguments;
typedef struct hipGetDevice_arguments {
    int *device;
} hipGetDevice_arguments;
typedef struct hipMalloc_arguments {
    POINTED(void *, pointer);
    size_t size;
} hipMalloc_arguments;
typedef struct hipFree_arguments {
    void *pointer;
} hipFree_arguments;
typedef struct hipMemcpy_arguments {
    void *to;
    const void *from;
    size_t size;
    int kind;
} hipMemcpy_arguments;
typedef struct hipMemcpyAsync_arguments {
    void *to;
    const void *from;
    size_t size;
    int kind;
    hipStream_t stream;
} hipMemcpyAsync_arguments;
typedef struct hipMemsetAsync_arguments {
    void *to;
    int value;
    size_t size;
    hipStream_t stream;
} hipMemsetAsync_arguments;
typedef struct hipStreamCreate_arguments {
    POINTED(hipStream_t, stream);
} hipStreamCreate_arguments;
typedef struct hipStreamCreateWithFlags_arguments {
    POINTED(hipStream_t, stream);
    unsigned flags;
} hipStreamCreateWithFlags_arguments;
typedef struct hipStreamDestroy_arguments {
    hipStream_t stream;
} hipStreamDestroy_arguments;
typedef struct hipStreamSynchronize_arguments {
    hipStream_t stream;
} hipStreamSynchronize_arguments;
typedef struct hipEventCreate_arguments {
    hipEvent_t *event;
} hipEventCreate_arguments;
typedef struct hipEventRecord_arguments {
    hipEvent_t event;
    hipStream_t stream;
} hipEventRecord_arguments;
typedef struct hipEventSynchronize_arguments {
    hipEvent_t event;
} hipEventSynchronize_arguments;
typedef struct hipStreamWaitEvent_arguments {
    hipStream_t stream;
    hipEvent_t event;
    unsigned flags;
} hipStreamWaitEvent_arguments;
typedef struct hipLaunchKernel_arguments {
    const void *function;
    dim3 grid, block;
    POINTED(void *, arguments);
    size_t shared;
    hipStream_t stream;
} hipLaunchKernel_arguments;
typedef struct hipModuleGetFunction_arguments {
    hipFunction_t *function;
} hipModuleGetFunction_arguments;
typedef struct hipExtModuleLaunchKernel_arguments {
    hipFunction_t function;
    dim3 items, block;
    size_t shared;
    hipStream_t stream;
} hipExtModuleLaunchKernel_arguments;

#endif
