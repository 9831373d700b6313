/*
    hip_device.h - the device of the double of libamdhip64.so, which is in a
    library beside it, libhipdevice.so: a part of amdhip64.c

    A code object is a shared object of the host, as cuda_double.h has it, with
    a note as compilers for AMD's devices write it.
*/

#define DEVICE_CALLS(X) \
    X(cuInit, (unsigned)) \
    X(cuDeviceGetCount, (int *)) \
    X(cuDevicePrimaryCtxRetain, (void **, int)) \
    X(cuDevicePrimaryCtxReset_v2, (int)) \
    X(cuCtxSetCurrent, (void *)) \
    X(cuMemAlloc_v2, (uint64_t *, size_t)) \
    X(cuMemFree_v2, (uint64_t)) \
    X(cuMemGetAddressRange_v2, (uint64_t *, size_t *, uint64_t)) \
    X(cuPointerGetAttribute, (unsigned *, int, uint64_t)) \
    X(cuMemGetAllocationGranularity, (size_t *, const void *, int)) \
    X(cuMemAddressReserve, \
      (uint64_t *, size_t, size_t, uint64_t, unsigned long long)) \
    X(cuMemAddressFree, (uint64_t, size_t)) \
    X(cuMemCreate, (uint64_t *, size_t, const void *, unsigned long long)) \
    X(cuMemRelease, (uint64_t)) \
    X(cuMemMap, (uint64_t, size_t, size_t, uint64_t, unsigned long long)) \
    X(cuMemUnmap, (uint64_t, size_t)) \
    X(cuMemSetAccess, (uint64_t, size_t, const int *, size_t)) \
    X(cuModuleLoadData, (void **, const void *)) \
    X(cuModuleUnload, (void *)) \
    X(cuModuleGetFunction, (void **, void *, const char *)) \
    X(cuModuleGetGlobal_v2, (uint64_t *, size_t *, void *, const char *)) \
    X(cuLaunchKernel, \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
       unsigned, void *, void **, void **)) \
    X(cuMemcpyDtoDAsync_v2, (uint64_t, uint64_t, size_t, void *)) \
    X(cuMemsetD8Async, (uint64_t, unsigned char, size_t, void *)) \
    X(cuMemsetD16Async, (uint64_t, unsigned short, size_t, void *)) \
    X(cuMemsetD32Async, (uint64_t, unsigned, size_t, void *)) \
    X(cuStreamCreate, (void **, unsigned)) \
    X(cuStreamQuery, (void *)) \
    X(cuStreamIsCapturing, (void *, int *)) \
    X(cuThreadExchangeStreamCaptureMode, (int *)) \
    X(cuStreamWaitEvent, (void *, void *, unsigned)) \
    X(cuEventCreate, (void **, unsigned)) \
    X(cuEventRecord, (void *, void *)) \
    X(cuStreamBeginCapture_v2, (void *, int)) \
    X(cuStreamEndCapture, (void *, void **)) \
    X(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long)) \
    X(cuGraphLaunch, (void *, void *)) \
    X(cuStreamGetCaptureInfo_v2, \
      (void *, int *, uint64_t *, void **, void *const **, size_t *)) \
    X(cuGraphCreate, (void **, unsigned)) \
    X(cuGraphDestroy, (void *)) \
    X(cuGraphAddKernelNode_v2, \
      (void **, void *, void *const *, size_t, const device_kernel *)) \
    X(cuGraphAddMemcpyNode, \
      (void **, void *, void *const *, size_t, const device_box *, void *)) \
    X(cuGraphAddMemsetNode, \
      (void **, void *, void *const *, size_t, const device_set *, void *)) \
    X(cuGraphAddChildGraphNode, \
      (void **, void *, void *const *, size_t, void *)) \
    X(cuGraphGetNodes, (void *, void **, size_t *)) \
    X(cuGraphGetEdges_v2, (void *, void **, void **, void *, size_t *)) \
    X(cuGraphNodeGetType, (void *, int *)) \
    X(cuGraphKernelNodeGetParams_v2, (void *, device_kernel *)) \
    X(cuGraphKernelNodeGetAttribute, (void *, int, void *)) \
    X(cuGraphKernelNodeSetAttribute, (void *, int, const void *)) \
    X(cuGraphMemsetNodeGetParams, (void *, device_set *)) \
    X(cuGraphChildGraphNodeGetGraph, (void *, void **)) \
    X(cuGraphExecKernelNodeSetParams_v2, \
      (void *, void *, const device_kernel *)) \
    X(cuGraphExecMemcpyNodeSetParams, \
      (void *, void *, const device_box *, void *)) \
    X(cuGraphExecMemsetNodeSetParams, \
      (void *, void *, const device_set *, void *)) \
    X(cuGraphNodeSetEnabled, (void *, void *, unsigned)) \
    X(cuGraphExecUpdate_v2, (void *, void *, void *)) \
    X(cuGraphExecDestroy, (void *))

// Nodes of graphs, as the device has them.
typedef struct device_kernel {
    void *function;
    uint32_t grid[3], block[3], shared;
    void **arguments, **more;
    void *unused[2];
} device_kernel;
typedef struct device_set {
    uint64_t to;
    size_t pitch;
    uint32_t value, width;
    size_t count, rows;
} device_set;
typedef struct device_end {
    size_t x, y, z, level;
    uint32_t type, pad;
    void *host;
    uint64_t device;
    void *array, *reserved;
    size_t pitch, height;
} device_end;
typedef struct device_box {
    device_end from, to;
    size_t width, height, depth;
} device_box;

static struct {
#define X(name, parameters) int(*name) parameters;
    DEVICE_CALLS(X)
#undef X
} device_calls;

static void find_device(void)
{
    static const char name[] = "libhipdevice.so";
    char path[4200] = "";
    Dl_info info;
    if (dladdr(double_names, &info) && strlen(info.dli_fname) < 4096)
        strcpy(path, info.dli_fname);
    char *const slash = strrchr(path, '/');
    strcpy(slash ? slash + 1 : path, name);
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "amdhip64: %s\n", dlerror());
        abort();
    }
#define X(name, parameters) \
    *(void **)&device_calls.name = dlsym(library, #name);
    DEVICE_CALLS(X)
#undef X
}

static pthread_once_t device_once = PTHREAD_ONCE_INIT;
#define ON_DEVICE (pthread_once(&device_once, find_device), &device_calls)

static uint32_t recording; // streams, into graphs

// The stream of the device that does a stream's work.
static void *device_stream(hipStream_t stream)
{
    return stream ? stream->object : NULL;
}

// Told of, unless it becomes a node of a graph.
static void submit_on(double_op *op, hipStream_t stream)
{
    if (!recording) submit(op, stream);
}
