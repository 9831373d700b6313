/*
    hip.h - the part of HIP's interface that the doubles and their programs use

    Written from the documentation of HIP: prototypes that programs are
    compiled against, and what a runtime tells those who listen to it. The
    doubles do what is asked on the host, one operation after another, and
    make up times of a device: they show plumbing, not timing.
*/
#ifndef DOUBLES_HIP_H
#define DOUBLES_HIP_H

#include <stddef.h>
#include <stdint.h>

typedef struct dim3 {
    uint32_t x, y, z;
} dim3;
typedef struct hip_stream *hipStream_t;
typedef struct hip_event *hipEvent_t;
typedef struct hip_function *hipFunction_t;

enum {
    hipSuccess = 0,
    hipErrorInvalidValue = 1,
    hipErrorOutOfMemory = 2,
    hipErrorNoBinaryForGpu = 209,
    hipErrorNotFound = 500
};
enum { hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2 };
enum { hipStreamNonBlocking = 1 };

// Kernels of the doubles are functions of the host, called once a launch.
typedef void (*hip_kernel)(void **arguments);

int hipGetDeviceCount(int *count);
int hipSetDevice(int device);
int hipGetDevice(int *device);
int hipGetLastError(void);
int hipMalloc(void **pointer, size_t size);
int hipFree(void *pointer);
int hipMemcpy(void *to, const void *from, size_t size, int kind);
int hipMemcpyAsync(void *to, const void *from, size_t size, int kind,
                   hipStream_t stream);
int hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                     size_t from_pitch, size_t width, size_t height, int kind,
                     hipStream_t stream);
int hipMemsetAsync(void *to, int value, size_t size, hipStream_t stream);
int hipStreamCreate(hipStream_t *stream);
int hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags);
int hipStreamDestroy(hipStream_t stream);
int hipStreamSynchronize(hipStream_t stream);
int hipDeviceSynchronize(void);
int hipEventCreate(hipEvent_t *event);
int hipEventDestroy(hipEvent_t event);
int hipEventRecord(hipEvent_t event, hipStream_t stream);
int hipEventSynchronize(hipEvent_t event);
int hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags);
int hipLaunchKernel(const void *function, dim3 grid, dim3 block,
                    void **arguments, size_t shared, hipStream_t stream);
int hipModuleGetFunction(hipFunction_t *function, void *module,
                         const char *name);
int hipExtModuleLaunchKernel(hipFunction_t function, uint32_t grid_x,
                             uint32_t grid_y, uint32_t grid_z, uint32_t block_x,
                             uint32_t block_y, uint32_t block_z, size_t shared,
                             hipStream_t stream, void **arguments, void **extra,
                             hipEvent_t start, hipEvent_t stop, uint32_t flags);
int hipRuntimeGetVersion(int *version);
int hipMallocManaged(void **pointer, size_t size, unsigned flags);
int hipHostMalloc(void **pointer, size_t size, unsigned flags);
int hipHostFree(void *pointer);
int hipModuleLoadData(void **module, const void *image);
int hipModuleUnload(void *module);
int hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x,
                          unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared,
                          hipStream_t stream, void **arguments, void **extra);
int hipMemsetD32Async(void *to, int value, size_t count, hipStream_t stream);
int hipMemset2DAsync(void *to, size_t pitch, int value, size_t width,
                     size_t height, hipStream_t stream);
int hipStreamBeginCapture(hipStream_t stream, int mode);
int hipStreamEndCapture(hipStream_t stream, void **graph);
int hipGraphInstantiateWithFlags(void **ready, void *graph,
                                 unsigned long long flags);
int hipGraphLaunch(void *ready, hipStream_t stream);

int hipDeviceReset(void);
int hipDevicePrimaryCtxReset(int device);
int hipMemcpyPeerAsync(void *to, int to_device, const void *from,
                       int from_device, size_t size, hipStream_t stream);
int hipMemcpyToSymbol(const void *symbol, const void *from, size_t size,
                      size_t offset, int kind);
int hipMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size,
                           size_t offset, int kind, hipStream_t stream);
int hipMemcpyFromSymbol(void *to, const void *symbol, size_t size,
                        size_t offset, int kind);
int hipMemcpyFromSymbolAsync(void *to, const void *symbol, size_t size,
                             size_t offset, int kind, hipStream_t stream);
int hipConfigureCall(dim3 grid, dim3 block, size_t shared, hipStream_t stream);
int hipSetupArgument(const void *argument, size_t size, size_t offset);
int hipLaunchByPtr(const void *function);
// As of textures: handles are addresses in memory of HIP's own.
int hipCreateTextureObject(void **texture, const void *resource,
                           const void *how, const void *view);
int hipDestroyTextureObject(void *texture);

// Of graphs: hipKernelNodeParams, hipMemsetParams, hipMemcpy3DParms.
typedef struct hip_kernel_node {
    dim3 block;
    void **extra;
    void *function;
    dim3 grid;
    void **arguments;
    unsigned shared;
} hip_kernel_node;
typedef struct hip_set_node {
    void *to;
    unsigned width;
    size_t rows, pitch;
    unsigned value;
    size_t count;
} hip_set_node;
typedef struct hip_end { // hipPitchedPtr
    void *at;
    size_t pitch, width, height;
} hip_end;
typedef struct hip_size { // hipExtent
    size_t width, height, depth;
} hip_size;
typedef struct hip_box {
    void *from_array;
    size_t from_x, from_y, from_z;
    hip_end from;
    void *to_array;
    size_t to_x, to_y, to_z;
    hip_end to;
    size_t width, height, depth;
    int kind;
} hip_box;
int hipMalloc3D(hip_end *at, hip_size size);
int hipMemset3D(hip_end to, int value, hip_size size);
int hipMemcpy3DAsync(const hip_box *box, hipStream_t stream);
int hipGraphCreate(void **graph, unsigned flags);
int hipGraphDestroy(void *graph);
int hipGraphGetNodes(void *graph, void **nodes, size_t *count);
int hipGraphAddKernelNode(void **node, void *graph, void *const *after,
                          size_t count, const hip_kernel_node *kernel);
int hipGraphAddMemsetNode(void **node, void *graph, void *const *after,
                          size_t count, const hip_set_node *set);
int hipGraphAddMemcpyNode(void **node, void *graph, void *const *after,
                          size_t count, const hip_box *box);
int hipGraphAddMemcpyNode1D(void **node, void *graph, void *const *after,
                            size_t count, void *to, const void *from,
                            size_t size, int kind);
int hipGraphAddChildGraphNode(void **node, void *graph, void *const *after,
                              size_t count, void *child);
int hipGraphExecUpdate(void *ready, void *graph, void **node, int *result);
int hipGraphExecKernelNodeSetParams(void *ready, void *node,
                                    const hip_kernel_node *kernel);
int hipGraphExecMemsetNodeSetParams(void *ready, void *node,
                                    const hip_set_node *set);
int hipGraphExecMemcpyNodeSetParams1D(void *ready, void *node, void *to,
                                      const void *from, size_t size, int kind);
int hipGraphNodeSetEnabled(void *ready, void *node, unsigned on);
int hipGraphExecDestroy(void *ready);

// HIP_LAUNCH_CONFIG and hipLaunchConfig_t.
typedef struct hip_config {
    dim3 grid, block;
    unsigned shared;
    hipStream_t stream;
    void *attributes;
    unsigned count;
} hip_config;
typedef struct hip_config_host {
    dim3 grid, block;
    size_t shared;
    hipStream_t stream;
    void *attributes;
    unsigned count;
} hip_config_host;
int hipDrvLaunchKernelEx(const hip_config *config, hipFunction_t function,
                         void **arguments, void **extra);
int hipLaunchKernelExC(const hip_config_host *config, const void *function,
                       void **arguments);
int hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned grid_x,
                                     unsigned grid_y, unsigned grid_z,
                                     unsigned block_x, unsigned block_y,
                                     unsigned block_z, unsigned shared,
                                     hipStream_t stream, void **arguments);
int hipLaunchHostFunc(hipStream_t stream, void (*function)(void *), void *data);
const char *hipKernelNameRefByPtr(const void *function, hipStream_t stream);
int hipGetSymbolAddress(void **address, const void *symbol);

// What compilers call: code for devices, and names of its kernels and
// variables. module: NULL is a kernel that is the function itself.
void **__hipRegisterFatBinary(const void *wrapper);
void __hipRegisterFunction(void **module, const void *function, char *device,
                           const char *name);
void __hipRegisterVar(void **module, void *variable, char *device,
                      const char *name, int outside, size_t size, int constant,
                      int global);

/* ---- Between the doubles ------------------------------------------------ */

typedef enum double_kind { DOUBLE_KERNEL, DOUBLE_COPY, DOUBLE_SET } double_kind;

typedef struct double_op { // one that is finished
    double_kind kind;
    uint64_t correlation, start_ns, end_ns;
    int device;
    uint64_t queue;
    const char *name; // of a kernel
    uint32_t number;  // of a kernel, from 1
    uint32_t items[3], block[3];
    uint32_t shared;
    size_t size;
    int copy; // hipMemcpyKind
    const void *to, *from;
} double_op;

// Who listens. Functions are numbered as double_names has them, from 0.
typedef struct double_listener {
    // Phase 0: begins, 1: ends. Returns the correlation.
    uint64_t (*call)(uint32_t number, int phase, const void *arguments,
                     size_t size, int result, uint64_t correlation);
    void (*stream)(uint64_t stream, int phase);
    void (*op)(const double_op *op);
} double_listener;

extern const char *const double_names[];
// Whether HIP_DOUBLE, a list of words, has this one.
int double_does(const char *word);
void double_listen(const double_listener *listener);

#endif
