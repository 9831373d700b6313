// The data of calls as HIP's own headers lay it out, filled with numbers that
// tell what they are; abi.c looks for them.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hip/hip_runtime_api.h>

#include <hip/amd_detail/hip_prof_str.h>

// What captures read of structures, and executions write.
static_assert(offsetof(hipMemcpy3DParms, srcArray) == 0 &&
                  offsetof(hipMemcpy3DParms, srcPos) == 8 &&
                  offsetof(hipMemcpy3DParms, srcPtr) == 32 &&
                  offsetof(hipMemcpy3DParms, dstArray) == 64 &&
                  offsetof(hipMemcpy3DParms, dstPos) == 72 &&
                  offsetof(hipMemcpy3DParms, dstPtr) == 96 &&
                  offsetof(hipMemcpy3DParms, extent) == 128 &&
                  offsetof(hipPitchedPtr, pitch) == 8 &&
                  offsetof(hipPitchedPtr, ysize) == 24,
              "ts__hs_corner");
static_assert(sizeof(hipMemAccessDesc) == 12 &&
                  offsetof(hipMemAccessDesc, flags) == 8 &&
                  hipMemAccessFlagsProtReadWrite == 3,
              "ts__cuda_access");
static_assert(hipErrorOutOfMemory == 2 && hipErrorNoDevice == 100 &&
                  hipErrorNotReady == 600 && hipErrorIllegalAddress == 700 &&
                  hipErrorLaunchTimeOut == 702 && hipErrorAssert == 710 &&
                  hipErrorLaunchFailure == 719,
              "results");
static_assert(hipMemcpyHostToDevice == 1 && hipMemcpyDeviceToHost == 2 &&
                  hipMemcpyDeviceToDevice == 3 && hipEventDisableTiming == 2 &&
                  hipStreamNonBlocking == 1 && hipStreamCaptureModeRelaxed == 2,
              "numbers");
#if HIP_VERSION >= 60000000
// Of before its members lie elsewhere: memory gets no address of its own then.
static_assert(offsetof(hipMemAllocationProp, type) == 0 &&
                  offsetof(hipMemAllocationProp, location) == 8 &&
                  sizeof(hipMemAllocationProp) <= 40 &&
                  hipMemAllocationTypePinned == 1 &&
                  hipMemLocationTypeDevice == 1,
              "ts__cuda_memory");
static_assert(hipMemoryTypeHost == 1 && hipMemoryTypeDevice == 2 &&
                  hipMemoryTypeManaged == 3,
              "ts__hs_about");
#else
static_assert(hipMemoryTypeHost == 0 && hipMemoryTypeDevice == 1 &&
                  hipMemoryTypeUnified == 3,
              "ts__hs_about");
#endif

extern "C" size_t abi_size()
{
    return sizeof(hip_api_data_t);
}

extern "C" int abi_functions()
{
    return HIP_API_ID_LAST;
}

// Grid 1, 2, 3; block 4, 5, 6; the rest as in abi.c.
extern "C" bool abi_fill(const char *name, void *data)
{
    hip_api_data_t &d = *static_cast<hip_api_data_t *>(data);
    const auto stream = reinterpret_cast<hipStream_t>(0x70);
    const auto event = reinterpret_cast<hipEvent_t>(0x80);
    const auto to = reinterpret_cast<void *>(0x90);
    const auto from = reinterpret_cast<void *>(0xA0);
    const auto graph = reinterpret_cast<hipGraphExec_t>(0xC0);
    const size_t size = 0xB0;
    memset(data, 0xFF, sizeof d);
#define IF(function) if (strcmp(name, #function) == 0)
    IF(hipLaunchKernel)
    {
        auto &a = d.args.hipLaunchKernel;
        a.numBlocks = { 1, 2, 3 };
        a.dimBlocks = { 4, 5, 6 };
        a.sharedMemBytes = 7;
        a.stream = stream;
        return true;
    }
    IF(hipLaunchCooperativeKernel)
    {
        auto &a = d.args.hipLaunchCooperativeKernel;
        a.gridDim = { 1, 2, 3 };
        a.blockDimX = { 4, 5, 6 };
        a.sharedMemBytes = 7;
        a.stream = stream;
        return true;
    }
    IF(hipModuleLaunchKernel)
    {
        auto &a = d.args.hipModuleLaunchKernel;
        a.gridDimX = 1, a.gridDimY = 2, a.gridDimZ = 3;
        a.blockDimX = 4, a.blockDimY = 5, a.blockDimZ = 6;
        a.sharedMemBytes = 7;
        a.stream = stream;
        return true;
    }
    IF(hipExtModuleLaunchKernel)
    {
        auto &a = d.args.hipExtModuleLaunchKernel;
        a.globalWorkSizeX = 1, a.globalWorkSizeY = 2, a.globalWorkSizeZ = 3;
        a.localWorkSizeX = 4, a.localWorkSizeY = 5, a.localWorkSizeZ = 6;
        a.sharedMemBytes = 7;
        a.hStream = stream;
        return true;
    }
    IF(hipMemcpyAsync)
    {
        d.args.hipMemcpyAsync = { to, from, size, hipMemcpyDeviceToHost,
                                  stream };
        return true;
    }
    IF(hipMemcpyDtoHAsync)
    {
        d.args.hipMemcpyDtoHAsync.dst = to;
        d.args.hipMemcpyDtoHAsync.src = from;
        d.args.hipMemcpyDtoHAsync.sizeBytes = size;
        d.args.hipMemcpyDtoHAsync.stream = stream;
        return true;
    }
    IF(hipMemcpyPeerAsync)
    {
        auto &a = d.args.hipMemcpyPeerAsync;
        a.dst = to, a.src = from, a.sizeBytes = size, a.stream = stream;
        return true;
    }
    IF(hipMemsetAsync)
    {
        d.args.hipMemsetAsync = { to, 9, size, stream };
        return true;
    }
    IF(hipMemsetD8Async)
    {
        auto &a = d.args.hipMemsetD8Async;
        a.dest = to, a.value = 9, a.count = size, a.stream = stream;
        return true;
    }
    IF(hipMemsetD16Async)
    {
        auto &a = d.args.hipMemsetD16Async;
        a.dest = to, a.value = 9, a.count = size / 2, a.stream = stream;
        return true;
    }
    IF(hipMemsetD32Async)
    {
        auto &a = d.args.hipMemsetD32Async;
        a.dst = to, a.value = 9, a.count = size / 4, a.stream = stream;
        return true;
    }
    IF(hipEventRecord)
    {
        d.args.hipEventRecord = { event, stream };
        return true;
    }
    IF(hipStreamWaitEvent)
    {
        d.args.hipStreamWaitEvent = { stream, event, 0 };
        return true;
    }
    IF(hipMallocAsync)
    {
        auto &a = d.args.hipMallocAsync;
        a.dev_ptr = static_cast<void **>(from);
        a.size = size, a.stream = stream;
        return true;
    }
    IF(hipStreamCreateWithPriority)
    {
        auto &a = d.args.hipStreamCreateWithPriority;
        a.stream = static_cast<hipStream_t *>(from);
        a.flags = 1, a.priority = -2;
        return true;
    }
    IF(hipMemcpy)
    {
        auto &a = d.args.hipMemcpy;
        a.dst = to, a.src = from, a.sizeBytes = size;
        a.kind = hipMemcpyDeviceToHost;
        return true;
    }
    IF(hipMemcpyWithStream)
    {
        auto &a = d.args.hipMemcpyWithStream;
        a.dst = to, a.src = from, a.sizeBytes = size;
        a.kind = hipMemcpyDeviceToHost;
        a.stream = stream;
        return true;
    }
    IF(hipMemcpyHtoD)
    {
        auto &a = d.args.hipMemcpyHtoD;
        a.dst = to, a.src = from, a.sizeBytes = size;
        return true;
    }
    IF(hipMemcpyDtoH)
    {
        auto &a = d.args.hipMemcpyDtoH;
        a.dst = to, a.src = from, a.sizeBytes = size;
        return true;
    }
    IF(hipMemcpyDtoD)
    {
        auto &a = d.args.hipMemcpyDtoD;
        a.dst = to, a.src = from, a.sizeBytes = size;
        return true;
    }
    IF(hipMemcpyPeer)
    {
        auto &a = d.args.hipMemcpyPeer;
        a.dst = to, a.src = from, a.sizeBytes = size;
        return true;
    }
    IF(hipMemcpyHtoDAsync)
    {
        auto &a = d.args.hipMemcpyHtoDAsync;
        a.dst = to, a.src = from, a.sizeBytes = size;
        a.stream = stream;
        return true;
    }
    IF(hipMemcpyDtoDAsync)
    {
        auto &a = d.args.hipMemcpyDtoDAsync;
        a.dst = to, a.src = from, a.sizeBytes = size;
        a.stream = stream;
        return true;
    }
    IF(hipMemset)
    {
        auto &a = d.args.hipMemset;
        a.dst = to, a.value = 9, a.sizeBytes = size;
        return true;
    }
    IF(hipMemsetD8)
    {
        auto &a = d.args.hipMemsetD8;
        a.dest = to, a.value = 9, a.count = size;
        return true;
    }
    IF(hipMemsetD16)
    {
        auto &a = d.args.hipMemsetD16;
        a.dest = to, a.value = 9, a.count = size / 2;
        return true;
    }
    IF(hipMemsetD32)
    {
        auto &a = d.args.hipMemsetD32;
        a.dest = to, a.value = 9, a.count = size / 4;
        return true;
    }
    IF(hipMemset2D)
    {
        auto &a = d.args.hipMemset2D;
        a.dst = to, a.value = 9, a.width = size / 2, a.height = 2;
        return true;
    }
    IF(hipMemset2DAsync)
    {
        auto &a = d.args.hipMemset2DAsync;
        a.dst = to, a.value = 9, a.width = size / 2, a.height = 2;
        a.stream = stream;
        return true;
    }
    IF(hipMalloc)
    {
        auto &a = d.args.hipMalloc;
        a.ptr = static_cast<void **>(from), a.size = size;
        return true;
    }
    IF(hipMallocManaged)
    {
        auto &a = d.args.hipMallocManaged;
        a.dev_ptr = static_cast<void **>(from), a.size = size;
        return true;
    }
    IF(hipHostMalloc)
    {
        auto &a = d.args.hipHostMalloc;
        a.ptr = static_cast<void **>(from), a.size = size;
        return true;
    }
    IF(hipExtMallocWithFlags)
    {
        auto &a = d.args.hipExtMallocWithFlags;
        a.ptr = static_cast<void **>(from), a.sizeBytes = size;
        return true;
    }
    IF(hipFree)
    {
        auto &a = d.args.hipFree;
        a.ptr = to;
        return true;
    }
    IF(hipHostFree)
    {
        auto &a = d.args.hipHostFree;
        a.ptr = to;
        return true;
    }
    IF(hipFreeAsync)
    {
        auto &a = d.args.hipFreeAsync;
        a.dev_ptr = to, a.stream = stream;
        return true;
    }
    IF(hipStreamSynchronize)
    {
        auto &a = d.args.hipStreamSynchronize;
        a.stream = stream;
        return true;
    }
    IF(hipStreamBeginCapture)
    {
        auto &a = d.args.hipStreamBeginCapture;
        a.stream = stream;
        return true;
    }
    IF(hipStreamEndCapture)
    {
        auto &a = d.args.hipStreamEndCapture;
        a.stream = stream;
        return true;
    }
    IF(hipStreamDestroy)
    {
        auto &a = d.args.hipStreamDestroy;
        a.stream = stream;
        return true;
    }
    IF(hipEventSynchronize)
    {
        auto &a = d.args.hipEventSynchronize;
        a.event = event;
        return true;
    }
    IF(hipGraphLaunch)
    {
        auto &a = d.args.hipGraphLaunch;
        a.graphExec = graph, a.stream = stream;
        return true;
    }
    IF(hipStreamCreate)
    {
        auto &a = d.args.hipStreamCreate;
        a.stream = static_cast<hipStream_t *>(from);
        return true;
    }
    IF(hipStreamCreateWithFlags)
    {
        auto &a = d.args.hipStreamCreateWithFlags;
        a.stream = static_cast<hipStream_t *>(from), a.flags = 1;
        return true;
    }
    IF(hipSetDevice)
    {
        auto &a = d.args.hipSetDevice;
        a.deviceId = 9;
        return true;
    }
    IF(hipExtLaunchKernel)
    {
        auto &a = d.args.hipExtLaunchKernel;
        a.numBlocks = { 1, 2, 3 };
        a.dimBlocks = { 4, 5, 6 };
        a.sharedMemBytes = 7;
        a.stream = stream;
        return true;
    }
    return false;
}
