/*
    hip_device.h - the device of the double of libamdhip64.so, which is in a
    library beside it, libhipdevice.so: a part of amdhip64.c

    A code object is a shared object of the host, as cuda_double.h has it, with
    a note as compilers for AMD's devices write it.
*/

#define DEVICE_CALLS(X) \
    X(cuInit, (unsigned)) \
    X(cuDeviceGetCount, (int *)) \
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
    X(cuGraphLaunch, (void *, void *))

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
