/*
    opencl/exec_abi.h - the parts of OpenCL that ts_opencl_exec.h uses

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Declared without the vendor's headers;
    tests/checks/opencl-execute/abi.c compares them with Khronos'
    where that is installed.

    Source: CL/cl.h and CL/cl_ext.h of OpenCL 3.0.
*/
#ifndef TS__OPENCL_EXEC_ABI_H
#define TS__OPENCL_EXEC_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef void *ts__ox_handle; // any object of the driver

enum {
    TS__OX_SUCCESS = 0,
    TS__OX_MEM_OBJECT_ALLOCATION_FAILURE = -4,
    TS__OX_OUT_OF_RESOURCES = -5,
    TS__OX_OUT_OF_HOST_MEMORY = -6,
    TS__OX_INVALID_BUFFER_SIZE = -61,
    TS__OX_DEVICE_TYPE = 0x1000,
    TS__OX_DEVICE_TYPE_CPU = 2,
    TS__OX_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    TS__OX_DEVICE_NAME = 0x102B,
    TS__OX_DEVICE_HOST_UNIFIED_MEMORY = 0x1035,
    TS__OX_DEVICE_EXTENSIONS_WITH_VERSION = 0x1060,
    TS__OX_COMMAND_BUFFER_CAPABILITIES = 0x12A9,
    TS__OX_COMMAND_BUFFER_FLAGS = 0x1293,
    TS__OX_COMMAND_BUFFER_SIMULTANEOUS_USE = 1,
    TS__OX_CAPABILITY_SIMULTANEOUS_USE = 4,
    TS__OX_MEM_READ_WRITE = 1,
    TS__OX_MEM_WRITE_ONLY = 2,
    TS__OX_MEM_READ_ONLY = 4,
    TS__OX_BUFFER_CREATE_TYPE_REGION = 0x1220,
    TS__OX_MEM_OBJECT_IMAGE2D = 0x10F1,
    TS__OX_MEM_OBJECT_IMAGE3D = 0x10F2,
    TS__OX_MEM_OBJECT_IMAGE2D_ARRAY = 0x10F3,
    TS__OX_MEM_OBJECT_IMAGE1D = 0x10F4,
    TS__OX_MEM_OBJECT_IMAGE1D_ARRAY = 0x10F5,
    TS__OX_MEM_OBJECT_IMAGE1D_BUFFER = 0x10F6,
    TS__OX_IMAGE_ELEMENT_SIZE = 0x1111,
    TS__OX_PROGRAM_BUILD_LOG = 0x1183,
    TS__OX_KERNEL_NUM_ARGS = 0x1191,
    TS__OX_EVENT_EXECUTION_STATUS = 0x11D3,
    TS__OX_COMPLETE = 0
};
#define TS__OX_DEVICE_TYPE_ALL UINT64_C(0xFFFFFFFF)

typedef struct ts__ox_format {
    uint32_t order, type;
} ts__ox_format;

typedef struct ts__ox_desc { // cl_image_desc
    uint32_t type;
    size_t width, height, depth, array_size, row_pitch, slice_pitch;
    uint32_t mip_levels, samples;
    ts__ox_handle buffer;
} ts__ox_desc;

typedef struct ts__ox_extension { // cl_name_version
    uint32_t version;
    char name[64];
} ts__ox_extension;

typedef struct ts__ox_part { // cl_buffer_region
    size_t origin, size;
} ts__ox_part;

#define TS__OX_QUEUED \
    uint32_t waits, const ts__ox_handle *list, ts__ox_handle *event

// Result type, name, parameters.
#define TS__OX_CALLS(X) \
    X(int32_t, clGetPlatformIDs, \
      (uint32_t room, ts__ox_handle * platforms, uint32_t * count)) \
    X(int32_t, clGetDeviceIDs, \
      (ts__ox_handle platform, uint64_t type, uint32_t room, \
       ts__ox_handle * devices, uint32_t * count)) \
    X(int32_t, clGetDeviceInfo, \
      (ts__ox_handle device, uint32_t what, size_t room, void *value, \
       size_t *size)) \
    X(ts__ox_handle, clCreateContext, \
      (const intptr_t *properties, uint32_t count, \
       const ts__ox_handle *devices, void (*notify)(void), void *user, \
       int32_t *error)) \
    X(int32_t, clReleaseContext, (ts__ox_handle context)) \
    X(ts__ox_handle, clCreateCommandQueue, \
      (ts__ox_handle context, ts__ox_handle device, uint64_t properties, \
       int32_t * error)) \
    X(int32_t, clReleaseCommandQueue, (ts__ox_handle queue)) \
    X(int32_t, clFlush, (ts__ox_handle queue)) \
    X(ts__ox_handle, clCreateBuffer, \
      (ts__ox_handle context, uint64_t flags, size_t size, void *host, \
       int32_t *error)) \
    X(ts__ox_handle, clCreateSubBuffer, \
      (ts__ox_handle buffer, uint64_t flags, uint32_t type, const void *about, \
       int32_t *error)) \
    X(ts__ox_handle, clCreateImage, \
      (ts__ox_handle context, uint64_t flags, const ts__ox_format *format, \
       const ts__ox_desc *desc, void *host, int32_t *error)) \
    X(int32_t, clGetImageInfo, \
      (ts__ox_handle image, uint32_t what, size_t room, void *value, \
       size_t *size)) \
    X(int32_t, clReleaseMemObject, (ts__ox_handle memory)) \
    X(ts__ox_handle, clCreateSampler, \
      (ts__ox_handle context, uint32_t normalized, uint32_t addressing, \
       uint32_t filter, int32_t * error)) \
    X(int32_t, clReleaseSampler, (ts__ox_handle sampler)) \
    X(ts__ox_handle, clCreateProgramWithSource, \
      (ts__ox_handle context, uint32_t count, const char **texts, \
       const size_t *sizes, int32_t *error)) \
    X(ts__ox_handle, clCreateProgramWithBinary, \
      (ts__ox_handle context, uint32_t count, const ts__ox_handle *devices, \
       const size_t *sizes, const unsigned char **binaries, int32_t *status, \
       int32_t *error)) \
    X(int32_t, clBuildProgram, \
      (ts__ox_handle program, uint32_t count, const ts__ox_handle *devices, \
       const char *options, void (*notify)(void), void *user)) \
    X(int32_t, clGetProgramBuildInfo, \
      (ts__ox_handle program, ts__ox_handle device, uint32_t what, \
       size_t room, void *value, size_t *size)) \
    X(int32_t, clReleaseProgram, (ts__ox_handle program)) \
    X(ts__ox_handle, clCreateKernel, \
      (ts__ox_handle program, const char *name, int32_t *error)) \
    X(int32_t, clGetKernelInfo, \
      (ts__ox_handle kernel, uint32_t what, size_t room, void *value, \
       size_t *size)) \
    X(int32_t, clSetKernelArg, \
      (ts__ox_handle kernel, uint32_t index, size_t size, const void *value)) \
    X(int32_t, clReleaseKernel, (ts__ox_handle kernel)) \
    X(int32_t, clEnqueueNDRangeKernel, \
      (ts__ox_handle queue, ts__ox_handle kernel, uint32_t dimensions, \
       const size_t *offset, const size_t *global, const size_t *local, \
       TS__OX_QUEUED)) \
    X(int32_t, clEnqueueReadBuffer, \
      (ts__ox_handle queue, ts__ox_handle buffer, uint32_t blocking, \
       size_t offset, size_t size, void *host, TS__OX_QUEUED)) \
    X(int32_t, clEnqueueWriteBuffer, \
      (ts__ox_handle queue, ts__ox_handle buffer, uint32_t blocking, \
       size_t offset, size_t size, const void *host, TS__OX_QUEUED)) \
    X(int32_t, clEnqueueCopyBuffer, \
      (ts__ox_handle queue, ts__ox_handle from, ts__ox_handle to, \
       size_t from_offset, size_t to_offset, size_t size, TS__OX_QUEUED)) \
    X(int32_t, clEnqueueReadBufferRect, \
      (ts__ox_handle queue, ts__ox_handle buffer, uint32_t blocking, \
       const size_t *origin, const size_t *host_origin, const size_t *region, \
       size_t row, size_t slice, size_t host_row, size_t host_slice, \
       void *host, TS__OX_QUEUED)) \
    X(int32_t, clEnqueueWriteBufferRect, \
      (ts__ox_handle queue, ts__ox_handle buffer, uint32_t blocking, \
       const size_t *origin, const size_t *host_origin, const size_t *region, \
       size_t row, size_t slice, size_t host_row, size_t host_slice, \
       const void *host, TS__OX_QUEUED)) \
    X(int32_t, clEnqueueCopyBufferRect, \
      (ts__ox_handle queue, ts__ox_handle from, ts__ox_handle to, \
       const size_t *from_origin, const size_t *to_origin, \
       const size_t *region, size_t from_row, size_t from_slice, \
       size_t to_row, size_t to_slice, TS__OX_QUEUED)) \
    X(int32_t, clEnqueueFillBuffer, \
      (ts__ox_handle queue, ts__ox_handle buffer, const void *pattern, \
       size_t pattern_size, size_t offset, size_t size, TS__OX_QUEUED)) \
    X(int32_t, clEnqueueFillImage, \
      (ts__ox_handle queue, ts__ox_handle image, const void *color, \
       const size_t *origin, const size_t *region, TS__OX_QUEUED)) \
    X(int32_t, clEnqueueCopyBufferToImage, \
      (ts__ox_handle queue, ts__ox_handle from, ts__ox_handle to, \
       size_t offset, const size_t *origin, const size_t *region, \
       TS__OX_QUEUED)) \
    X(int32_t, clEnqueueCopyImageToBuffer, \
      (ts__ox_handle queue, ts__ox_handle from, ts__ox_handle to, \
       const size_t *origin, const size_t *region, size_t offset, \
       TS__OX_QUEUED)) \
    X(int32_t, clEnqueueMarkerWithWaitList, \
      (ts__ox_handle queue, TS__OX_QUEUED)) \
    X(int32_t, clEnqueueBarrierWithWaitList, \
      (ts__ox_handle queue, TS__OX_QUEUED)) \
    X(int32_t, clGetEventInfo, \
      (ts__ox_handle event, uint32_t what, size_t room, void *value, \
       size_t *size)) \
    X(int32_t, clReleaseEvent, (ts__ox_handle event))

// Functions that older libraries lack.
#define TS__OX_LATER(X) \
    X(ts__ox_handle, clCreateProgramWithIL, \
      (ts__ox_handle context, const void *bytes, size_t size, int32_t *error)) \
    X(void *, clGetExtensionFunctionAddressForPlatform, \
      (ts__ox_handle platform, const char *name))

// Functions of cl_khr_command_buffer.
#define TS__OX_NOTED \
    uint32_t waits, const uint32_t *list, uint32_t *point, \
        ts__ox_handle *command
#define TS__OX_GRAPH_CALLS(X) \
    X(ts__ox_handle, clCreateCommandBufferKHR, \
      (uint32_t count, const ts__ox_handle *queues, \
       const uint64_t *properties, int32_t *error)) \
    X(int32_t, clFinalizeCommandBufferKHR, (ts__ox_handle graph)) \
    X(int32_t, clReleaseCommandBufferKHR, (ts__ox_handle graph)) \
    X(int32_t, clEnqueueCommandBufferKHR, \
      (uint32_t count, ts__ox_handle * queues, ts__ox_handle graph, \
       TS__OX_QUEUED)) \
    X(int32_t, clCommandBarrierWithWaitListKHR, \
      (ts__ox_handle graph, ts__ox_handle queue, TS__OX_NOTED)) \
    X(int32_t, clCommandNDRangeKernelKHR, \
      (ts__ox_handle graph, ts__ox_handle queue, const uint64_t *properties, \
       ts__ox_handle kernel, uint32_t dimensions, const size_t *offset, \
       const size_t *global, const size_t *local, TS__OX_NOTED)) \
    X(int32_t, clCommandCopyBufferKHR, \
      (ts__ox_handle graph, ts__ox_handle queue, ts__ox_handle from, \
       ts__ox_handle to, size_t from_offset, size_t to_offset, size_t size, \
       TS__OX_NOTED)) \
    X(int32_t, clCommandCopyBufferRectKHR, \
      (ts__ox_handle graph, ts__ox_handle queue, ts__ox_handle from, \
       ts__ox_handle to, const size_t *from_origin, const size_t *to_origin, \
       const size_t *region, size_t from_row, size_t from_slice, \
       size_t to_row, size_t to_slice, TS__OX_NOTED)) \
    X(int32_t, clCommandCopyBufferToImageKHR, \
      (ts__ox_handle graph, ts__ox_handle queue, ts__ox_handle from, \
       ts__ox_handle to, size_t offset, const size_t *origin, \
       const size_t *region, TS__OX_NOTED)) \
    X(int32_t, clCommandCopyImageToBufferKHR, \
      (ts__ox_handle graph, ts__ox_handle queue, ts__ox_handle from, \
       ts__ox_handle to, const size_t *origin, const size_t *region, \
       size_t offset, TS__OX_NOTED)) \
    X(int32_t, clCommandFillBufferKHR, \
      (ts__ox_handle graph, ts__ox_handle queue, ts__ox_handle buffer, \
       const void *pattern, size_t pattern_size, size_t offset, size_t size, \
       TS__OX_NOTED)) \
    X(int32_t, clCommandFillImageKHR, \
      (ts__ox_handle graph, ts__ox_handle queue, ts__ox_handle image, \
       const void *color, const size_t *origin, const size_t *region, \
       TS__OX_NOTED))

typedef struct ts__ox_graph_calls {
#define TS__X(type, name, params) type(*name) params;
    TS__OX_GRAPH_CALLS(TS__X)
#undef TS__X
} ts__ox_graph_calls;

typedef struct ts__ox_calls {
#define TS__X(type, name, params) type(*name) params;
    TS__OX_CALLS(TS__X)
    TS__OX_LATER(TS__X)
#undef TS__X
} ts__ox_calls;

#endif // TS__OPENCL_EXEC_ABI_H
