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
    X(hipExtModuleLaunchKernel) \
    X(hipModuleLoadData) \
    X(hipModuleUnload) \
    X(hipModuleLaunchKernel) \
    X(hipMemcpyHtoD) \
    X(hipMemcpyHtoDAsync) \
    X(hipMemcpyDtoH) \
    X(hipMemcpyDtoHAsync) \
    X(hipMemcpyDtoDAsync) \
    X(hipMemsetD8Async) \
    X(hipMemsetD16Async) \
    X(hipMemsetD32Async) \
    X(hipMemset2DAsync) \
    X(hipMallocManaged) \
    X(hipHostMalloc) \
    X(hipHostFree) \
    X(hipMemMap) \
    X(hipMemUnmap) \
    X(hipStreamCreateWithPriority) \
    X(hipStreamBeginCapture) \
    X(hipStreamEndCapture) \
    X(hipGraphLaunch) \
    X(hipLaunchHostFunc) \
    X(hipGraphDestroy) \
    X(hipGraphAddMemcpyNode) \
    X(hipGraphAddMemcpyNode1D) \
    X(hipGraphInstantiateWithFlags) \
    X(hipGraphExecUpdate) \
    X(hipGraphExecKernelNodeSetParams) \
    X(hipGraphExecMemsetNodeSetParams) \
    X(hipGraphExecMemcpyNodeSetParams1D) \
    X(hipGraphNodeSetEnabled) \
    X(hipGraphExecDestroy) \
    X(hipDrvLaunchKernelEx) \
    X(hipLaunchKernelExC) \
    X(hipModuleLaunchCooperativeKernel) \
    X(hipDeviceReset) \
    X(hipDevicePrimaryCtxReset) \
    X(hipMemcpyPeerAsync) \
    X(hipMemcpyToSymbol) \
    X(hipMemcpyToSymbolAsync) \
    X(hipMemcpyFromSymbol) \
    X(hipMemcpyFromSymbolAsync) \
    X(hipConfigureCall) \
    X(hipSetupArgument) \
    X(hipLaunchByPtr) \
    X(hipCreateTextureObject) \
    X(hipDestroyTextureObject) \
    X(hipMalloc3D) \
    X(hipMemset3D) \
    X(hipMemcpy3DAsync)

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
typedef struct hipMemcpy2DAsync_arguments {
    void *to;
    size_t to_pitch;
    const void *from;
    size_t from_pitch, width, height;
    int kind;
    hipStream_t stream;
} hipMemcpy2DAsync_arguments;
typedef struct hipModuleGetFunction_arguments {
    hipFunction_t *function;
    void *module;
    const char *name;
} hipModuleGetFunction_arguments;
typedef struct hipExtModuleLaunchKernel_arguments {
    hipFunction_t function;
    dim3 items, block;
    size_t shared;
    hipStream_t stream;
    void **arguments, **extra;
} hipExtModuleLaunchKernel_arguments;
typedef struct hipModuleLoadData_arguments {
    void **module;
    const void *image;
} hipModuleLoadData_arguments;
typedef struct hipModuleUnload_arguments {
    void *module;
} hipModuleUnload_arguments;
typedef struct hipModuleLaunchKernel_arguments {
    hipFunction_t function;
    dim3 grid, block;
    unsigned shared;
    hipStream_t stream;
    void **arguments, **extra;
} hipModuleLaunchKernel_arguments;
typedef struct copy_arguments {
    uint64_t to, from;
    size_t size;
    hipStream_t stream;
} copy_arguments;
typedef copy_arguments hipMemcpyHtoD_arguments, hipMemcpyHtoDAsync_arguments,
    hipMemcpyDtoH_arguments, hipMemcpyDtoHAsync_arguments,
    hipMemcpyDtoDAsync_arguments;
#define SET_ARGUMENTS(type, name) \
    typedef struct name##_arguments { \
        void *to; \
        type value; \
        size_t count; \
        hipStream_t stream; \
    } name##_arguments
SET_ARGUMENTS(unsigned char, hipMemsetD8Async);
SET_ARGUMENTS(unsigned short, hipMemsetD16Async);
SET_ARGUMENTS(int, hipMemsetD32Async);
typedef struct hipMemset2DAsync_arguments {
    void *to;
    size_t pitch;
    int value;
    size_t width, height;
    hipStream_t stream;
} hipMemset2DAsync_arguments;
typedef struct hipMallocManaged_arguments {
    void **pointer;
    size_t size;
    unsigned flags;
} hipMallocManaged_arguments;
typedef hipMallocManaged_arguments hipHostMalloc_arguments;
typedef hipFree_arguments hipHostFree_arguments;
typedef struct hipMemMap_arguments {
    uint64_t address;
    size_t size, offset;
    uint64_t handle;
    unsigned long long flags;
} hipMemMap_arguments;
typedef struct hipMemUnmap_arguments {
    uint64_t address;
    size_t size;
} hipMemUnmap_arguments;
typedef struct hipStreamCreateWithPriority_arguments {
    POINTED(hipStream_t, stream);
    unsigned flags;
    int priority;
} hipStreamCreateWithPriority_arguments;
typedef struct hipStreamBeginCapture_arguments {
    hipStream_t stream;
    int mode;
} hipStreamBeginCapture_arguments;
typedef struct hipStreamEndCapture_arguments {
    hipStream_t stream;
    void **graph;
} hipStreamEndCapture_arguments;
typedef struct hipGraphLaunch_arguments {
    void *graph;
    hipStream_t stream;
} hipGraphLaunch_arguments;
typedef struct hipGraphDestroy_arguments {
    void *graph;
} hipGraphDestroy_arguments, hipGraphExecDestroy_arguments;
typedef struct hipGraphAddMemcpyNode_arguments {
    void **node, *graph;
    void *const *after;
    size_t count;
    const hip_box *box;
} hipGraphAddMemcpyNode_arguments;
typedef struct hipGraphAddMemcpyNode1D_arguments {
    void **node, *graph;
    void *const *after;
    size_t count;
    void *to;
    const void *from;
    size_t size;
    int kind;
} hipGraphAddMemcpyNode1D_arguments;
typedef struct hipGraphInstantiateWithFlags_arguments {
    void **ready, *graph;
    unsigned long long flags;
} hipGraphInstantiateWithFlags_arguments;
typedef struct hipGraphExecUpdate_arguments {
    void *ready, *graph, **node;
    int *result;
} hipGraphExecUpdate_arguments;
typedef struct hipGraphExecKernelNodeSetParams_arguments {
    void *ready, *node;
    const void *what;
} hipGraphExecKernelNodeSetParams_arguments,
    hipGraphExecMemsetNodeSetParams_arguments;
typedef struct hipGraphExecMemcpyNodeSetParams1D_arguments {
    void *ready, *node, *to;
    const void *from;
    size_t size;
    int kind;
} hipGraphExecMemcpyNodeSetParams1D_arguments;
typedef struct hipGraphNodeSetEnabled_arguments {
    void *ready, *node;
    unsigned on;
} hipGraphNodeSetEnabled_arguments;
typedef struct hipDrvLaunchKernelEx_arguments {
    const hip_config *config;
    hipFunction_t function;
    void **arguments, **extra;
} hipDrvLaunchKernelEx_arguments;
typedef struct hipLaunchKernelExC_arguments {
    const hip_config_host *config;
    const void *function;
    void **arguments;
} hipLaunchKernelExC_arguments;
typedef struct hipModuleLaunchCooperativeKernel_arguments {
    hipFunction_t function;
    dim3 grid, block;
    unsigned shared;
    hipStream_t stream;
    void **arguments;
} hipModuleLaunchCooperativeKernel_arguments;
typedef struct hipLaunchHostFunc_arguments {
    hipStream_t stream;
    void (*function)(void *);
    void *data;
} hipLaunchHostFunc_arguments;

typedef hipSetDevice_arguments hipDevicePrimaryCtxReset_arguments;
typedef struct hipMemcpyPeerAsync_arguments {
    void *to;
    int to_device;
    const void *from;
    int from_device;
    size_t size;
    hipStream_t stream;
} hipMemcpyPeerAsync_arguments;
typedef struct symbol_arguments { // one of the two ends is the symbol
    const void *to, *from;
    size_t size, offset;
    int kind;
    hipStream_t stream;
} symbol_arguments;
typedef symbol_arguments hipMemcpyToSymbol_arguments,
    hipMemcpyToSymbolAsync_arguments, hipMemcpyFromSymbol_arguments,
    hipMemcpyFromSymbolAsync_arguments;
typedef struct hipConfigureCall_arguments {
    dim3 grid, block;
    size_t shared;
    hipStream_t stream;
} hipConfigureCall_arguments;
typedef struct hipSetupArgument_arguments {
    const void *argument;
    size_t size, offset;
} hipSetupArgument_arguments;
typedef struct hipLaunchByPtr_arguments {
    const void *function;
} hipLaunchByPtr_arguments;
typedef struct hipCreateTextureObject_arguments {
    void **texture;
    const void *resource, *how, *view;
} hipCreateTextureObject_arguments;
typedef struct hipDestroyTextureObject_arguments {
    void *texture;
} hipDestroyTextureObject_arguments;
typedef struct hipMalloc3D_arguments {
    hip_end *at;
    hip_size size;
} hipMalloc3D_arguments;
typedef struct hipMemset3D_arguments {
    hip_end to;
    int value;
    hip_size size;
} hipMemset3D_arguments;
typedef struct hipMemcpy3DAsync_arguments {
    const hip_box *box;
    hipStream_t stream;
} hipMemcpy3DAsync_arguments;

#endif
