/*
    opencl/abi.h - the parts of OpenCL that ts_opencl.h uses

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Declared without the vendor's headers; tests/checks/opencl/abi.c
    compares them with Khronos' where that is installed.

    Source: CL/cl.h, CL/cl_icd.h and CL/cl_layer.h of OpenCL 3.0.
*/
#ifndef TS__OPENCL_ABI_H
#define TS__OPENCL_ABI_H

#include <stddef.h>
#include <stdint.h>

// Handles are pointers to objects of the driver.
typedef void *ts__cl_handle;
typedef void (*ts__cl_notify)(void);

enum {
    TS__CL_SUCCESS = 0,
    TS__CL_PROFILING_INFO_NOT_AVAILABLE = -7,
    TS__CL_INVALID_VALUE = -30,
    TS__CL_INVALID_OPERATION = -59,
    // Device info.
    TS__CL_DEVICE_TYPE = 0x1000,
    TS__CL_DEVICE_TYPE_CPU = 2, // a bit
    TS__CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
    TS__CL_DEVICE_MAX_CLOCK_FREQUENCY = 0x100C,
    TS__CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    TS__CL_DEVICE_NAME = 0x102B,
    TS__CL_DEVICE_VENDOR = 0x102C,
    TS__CL_DRIVER_VERSION = 0x102D,
    TS__CL_DEVICE_VERSION = 0x102F,
    TS__CL_DEVICE_HOST_UNIFIED_MEMORY = 0x1035,
    // Context and queue info.
    TS__CL_CONTEXT_DEVICES = 0x1081,
    TS__CL_QUEUE_CONTEXT = 0x1090,
    TS__CL_QUEUE_DEVICE = 0x1091,
    TS__CL_QUEUE_PROPERTIES = 0x1093,
    TS__CL_QUEUE_PROPERTIES_ARRAY = 0x1098,
    TS__CL_QUEUE_OUT_OF_ORDER = 1, // bits of its properties
    TS__CL_QUEUE_PROFILING = 2,
    TS__CL_QUEUE_ON_DEVICE = 4,
    // Memory info.
    TS__CL_MEM_WRITE_ONLY = 2,
    TS__CL_MEM_READ_ONLY = 4,
    TS__CL_MEM_USE_HOST_PTR = 8,
    TS__CL_MEM_ALLOC_HOST_PTR = 16,
    TS__CL_MEM_TYPE = 0x1100,
    TS__CL_MEM_FLAGS = 0x1101,
    TS__CL_MEM_SIZE = 0x1102,
    TS__CL_MEM_ASSOCIATED_MEMOBJECT = 0x1107,
    TS__CL_MEM_OFFSET = 0x1108,
    TS__CL_MEM_OBJECT_BUFFER = 0x10F0,
    TS__CL_MEM_OBJECT_IMAGE2D_ARRAY = 0x10F3,
    TS__CL_MEM_OBJECT_IMAGE1D_ARRAY = 0x10F5,
    TS__CL_MEM_OBJECT_PIPE = 0x10F7,
    TS__CL_DEPTH = 0x10BD, // order of channels
    TS__CL_IMAGE_FORMAT = 0x1110,
    TS__CL_IMAGE_ELEMENT_SIZE = 0x1111,
    TS__CL_IMAGE_ROW_PITCH = 0x1112,
    TS__CL_IMAGE_WIDTH = 0x1114,
    TS__CL_IMAGE_HEIGHT = 0x1115,
    TS__CL_IMAGE_DEPTH = 0x1116,
    TS__CL_IMAGE_ARRAY_SIZE = 0x1117,
    TS__CL_IMAGE_NUM_MIP_LEVELS = 0x1119,
    TS__CL_IMAGE_NUM_SAMPLES = 0x111A,
    TS__CL_MAP_READ = 1, // bits
    TS__CL_MAP_WRITE = 2,
    TS__CL_MAP_INVALIDATE = 4,
    TS__CL_MIGRATE_HOST = 1,
    TS__CL_MIGRATE_UNDEFINED = 2,
    // Sampler info.
    TS__CL_SAMPLER_NORMALIZED_COORDS = 0x1152,
    TS__CL_SAMPLER_ADDRESSING_MODE = 0x1153,
    TS__CL_SAMPLER_FILTER_MODE = 0x1154,
    // Program info.
    TS__CL_PROGRAM_DEVICES = 0x1163,
    TS__CL_PROGRAM_SOURCE = 0x1164,
    TS__CL_PROGRAM_BINARY_SIZES = 0x1165,
    TS__CL_PROGRAM_BINARIES = 0x1166,
    TS__CL_PROGRAM_IL = 0x1169,
    TS__CL_PROGRAM_BUILD_OPTIONS = 0x1182,
    TS__CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE = 0x1185,
    // Kernel info.
    TS__CL_KERNEL_FUNCTION_NAME = 0x1190,
    TS__CL_KERNEL_NUM_ARGS = 0x1191,
    TS__CL_KERNEL_PROGRAM = 0x1194,
    TS__CL_KERNEL_ARG_ADDRESS_QUALIFIER = 0x1196,
    TS__CL_KERNEL_ARG_ACCESS_QUALIFIER = 0x1197,
    TS__CL_KERNEL_ARG_TYPE_QUALIFIER = 0x1199,
    TS__CL_KERNEL_ARG_ADDRESS_GLOBAL = 0x119B,
    TS__CL_KERNEL_ARG_ADDRESS_CONSTANT = 0x119D,
    TS__CL_KERNEL_ARG_ACCESS_READ_ONLY = 0x11A0,
    TS__CL_KERNEL_ARG_ACCESS_WRITE_ONLY = 0x11A1,
    TS__CL_KERNEL_ARG_TYPE_CONST = 1, // bits
    TS__CL_KERNEL_ARG_TYPE_PIPE = 8,
    TS__CL_KERNEL_WORK_GROUP_SIZE = 0x11B0,
    TS__CL_KERNEL_COMPILE_WORK_GROUP_SIZE = 0x11B1,
    TS__CL_KERNEL_LOCAL_MEM_SIZE = 0x11B2,
    TS__CL_KERNEL_PRIVATE_MEM_SIZE = 0x11B4,
    // Event info.
    TS__CL_EVENT_COMMAND_QUEUE = 0x11D0,
    TS__CL_EVENT_COMMAND_TYPE = 0x11D1,
    TS__CL_EVENT_REFERENCE_COUNT = 0x11D2,
    TS__CL_EVENT_EXECUTION_STATUS = 0x11D3,
    TS__CL_PROFILING_QUEUED = 0x1280, // queued; submit, start and end follow
    TS__CL_COMMAND_USER = 0x1204,
    // Layer info.
    TS__CL_LAYER_API_VERSION = 0x4240,
    TS__CL_LAYER_NAME = 0x4241,
    TS__CL_LAYER_API_VERSION_100 = 100
};

// The functions that the layer replaces: position in the loader's table of
// functions (cl_icd_dispatch), result type, name, parameters.
#define TS__CL_EVENTS uint32_t waits, const ts__cl_handle *list
#define TS__CL_QUEUED TS__CL_EVENTS, ts__cl_handle *event
#define TS__CL_HOOKED(X) \
    X(4, ts__cl_handle, clCreateContext, \
      (const intptr_t *properties, uint32_t count, \
       const ts__cl_handle *devices, ts__cl_notify notify, void *user, \
       int32_t *error)) \
    X(5, ts__cl_handle, clCreateContextFromType, \
      (const intptr_t *properties, uint64_t type, ts__cl_notify notify, \
       void *user, int32_t *error)) \
    X(6, int32_t, clRetainContext, (ts__cl_handle context)) \
    X(7, int32_t, clReleaseContext, (ts__cl_handle context)) \
    X(9, ts__cl_handle, clCreateCommandQueue, \
      (ts__cl_handle context, ts__cl_handle device, uint64_t properties, \
       int32_t * error)) \
    X(10, int32_t, clRetainCommandQueue, (ts__cl_handle queue)) \
    X(11, int32_t, clReleaseCommandQueue, (ts__cl_handle queue)) \
    X(12, int32_t, clGetCommandQueueInfo, \
      (ts__cl_handle queue, uint32_t what, size_t room, void *value, \
       size_t *size)) \
    X(13, int32_t, clSetCommandQueueProperty, \
      (ts__cl_handle queue, uint64_t properties, uint32_t enable, \
       uint64_t * old)) \
    X(14, ts__cl_handle, clCreateBuffer, \
      (ts__cl_handle context, uint64_t flags, size_t size, void *host, \
       int32_t *error)) \
    X(15, ts__cl_handle, clCreateImage2D, \
      (ts__cl_handle context, uint64_t flags, const void *format, \
       size_t width, size_t height, size_t pitch, void *host, int32_t *error)) \
    X(16, ts__cl_handle, clCreateImage3D, \
      (ts__cl_handle context, uint64_t flags, const void *format, \
       size_t width, size_t height, size_t depth, size_t pitch, size_t slice, \
       void *host, int32_t *error)) \
    X(22, ts__cl_handle, clCreateSampler, \
      (ts__cl_handle context, uint32_t normalized, uint32_t addressing, \
       uint32_t filter, int32_t * error)) \
    X(26, ts__cl_handle, clCreateProgramWithSource, \
      (ts__cl_handle context, uint32_t count, const char **texts, \
       const size_t *sizes, int32_t *error)) \
    X(27, ts__cl_handle, clCreateProgramWithBinary, \
      (ts__cl_handle context, uint32_t count, const ts__cl_handle *devices, \
       const size_t *sizes, const unsigned char **binaries, int32_t *status, \
       int32_t *error)) \
    X(30, int32_t, clBuildProgram, \
      (ts__cl_handle program, uint32_t count, const ts__cl_handle *devices, \
       const char *options, ts__cl_notify notify, void *user)) \
    X(34, ts__cl_handle, clCreateKernel, \
      (ts__cl_handle program, const char *name, int32_t *error)) \
    X(35, int32_t, clCreateKernelsInProgram, \
      (ts__cl_handle program, uint32_t room, ts__cl_handle * kernels, \
       uint32_t * count)) \
    X(38, int32_t, clSetKernelArg, \
      (ts__cl_handle kernel, uint32_t index, size_t size, const void *value)) \
    X(41, int32_t, clWaitForEvents, (TS__CL_EVENTS)) \
    X(32, int32_t, clGetProgramInfo, \
      (ts__cl_handle program, uint32_t what, size_t room, void *value, \
       size_t *size)) \
    X(42, int32_t, clGetEventInfo, \
      (ts__cl_handle event, uint32_t what, size_t room, void *value, \
       size_t *size)) \
    X(45, int32_t, clGetEventProfilingInfo, \
      (ts__cl_handle event, uint32_t what, size_t room, void *value, \
       size_t *size)) \
    X(46, int32_t, clFlush, (ts__cl_handle queue)) \
    X(47, int32_t, clFinish, (ts__cl_handle queue)) \
    X(48, int32_t, clEnqueueReadBuffer, \
      (ts__cl_handle queue, ts__cl_handle buffer, uint32_t blocking, \
       size_t offset, size_t size, void *host, TS__CL_QUEUED)) \
    X(49, int32_t, clEnqueueWriteBuffer, \
      (ts__cl_handle queue, ts__cl_handle buffer, uint32_t blocking, \
       size_t offset, size_t size, const void *host, TS__CL_QUEUED)) \
    X(50, int32_t, clEnqueueCopyBuffer, \
      (ts__cl_handle queue, ts__cl_handle from, ts__cl_handle to, \
       size_t from_offset, size_t to_offset, size_t size, TS__CL_QUEUED)) \
    X(51, int32_t, clEnqueueReadImage, \
      (ts__cl_handle queue, ts__cl_handle image, uint32_t blocking, \
       const size_t *origin, const size_t *region, size_t pitch, size_t slice, \
       void *host, TS__CL_QUEUED)) \
    X(52, int32_t, clEnqueueWriteImage, \
      (ts__cl_handle queue, ts__cl_handle image, uint32_t blocking, \
       const size_t *origin, const size_t *region, size_t pitch, size_t slice, \
       const void *host, TS__CL_QUEUED)) \
    X(53, int32_t, clEnqueueCopyImage, \
      (ts__cl_handle queue, ts__cl_handle from, ts__cl_handle to, \
       const size_t *from_origin, const size_t *to_origin, \
       const size_t *region, TS__CL_QUEUED)) \
    X(54, int32_t, clEnqueueCopyImageToBuffer, \
      (ts__cl_handle queue, ts__cl_handle from, ts__cl_handle to, \
       const size_t *origin, const size_t *region, size_t offset, \
       TS__CL_QUEUED)) \
    X(55, int32_t, clEnqueueCopyBufferToImage, \
      (ts__cl_handle queue, ts__cl_handle from, ts__cl_handle to, \
       size_t offset, const size_t *origin, const size_t *region, \
       TS__CL_QUEUED)) \
    X(56, void *, clEnqueueMapBuffer, \
      (ts__cl_handle queue, ts__cl_handle buffer, uint32_t blocking, \
       uint64_t flags, size_t offset, size_t size, TS__CL_QUEUED, \
       int32_t * error)) \
    X(57, void *, clEnqueueMapImage, \
      (ts__cl_handle queue, ts__cl_handle image, uint32_t blocking, \
       uint64_t flags, const size_t *origin, const size_t *region, \
       size_t *pitch, size_t *slice, TS__CL_QUEUED, int32_t *error)) \
    X(58, int32_t, clEnqueueUnmapMemObject, \
      (ts__cl_handle queue, ts__cl_handle memory, void *mapped, \
       TS__CL_QUEUED)) \
    X(59, int32_t, clEnqueueNDRangeKernel, \
      (ts__cl_handle queue, ts__cl_handle kernel, uint32_t dimensions, \
       const size_t *offset, const size_t *global, const size_t *local, \
       TS__CL_QUEUED)) \
    X(60, int32_t, clEnqueueTask, \
      (ts__cl_handle queue, ts__cl_handle kernel, TS__CL_QUEUED)) \
    X(61, int32_t, clEnqueueNativeKernel, \
      (ts__cl_handle queue, void (*function)(void *), void *args, size_t size, \
       uint32_t count, const ts__cl_handle *memory, const void **places, \
       TS__CL_QUEUED)) \
    X(62, int32_t, clEnqueueMarker, \
      (ts__cl_handle queue, ts__cl_handle * event)) \
    X(63, int32_t, clEnqueueWaitForEvents, \
      (ts__cl_handle queue, TS__CL_EVENTS)) \
    X(64, int32_t, clEnqueueBarrier, (ts__cl_handle queue)) \
    X(65, void *, clGetExtensionFunctionAddress, (const char *name)) \
    X(82, ts__cl_handle, clCreateSubBuffer, \
      (ts__cl_handle buffer, uint64_t flags, uint32_t type, const void *about, \
       int32_t *error)) \
    X(44, int32_t, clReleaseEvent, (ts__cl_handle event)) \
    X(84, ts__cl_handle, clCreateUserEvent, \
      (ts__cl_handle context, int32_t * error)) \
    X(85, int32_t, clSetUserEventStatus, \
      (ts__cl_handle event, int32_t status)) \
    X(86, int32_t, clEnqueueReadBufferRect, \
      (ts__cl_handle queue, ts__cl_handle buffer, uint32_t blocking, \
       const size_t *origin, const size_t *host_origin, const size_t *region, \
       size_t pitch, size_t slice, size_t host_pitch, size_t host_slice, \
       void *host, TS__CL_QUEUED)) \
    X(87, int32_t, clEnqueueWriteBufferRect, \
      (ts__cl_handle queue, ts__cl_handle buffer, uint32_t blocking, \
       const size_t *origin, const size_t *host_origin, const size_t *region, \
       size_t pitch, size_t slice, size_t host_pitch, size_t host_slice, \
       const void *host, TS__CL_QUEUED)) \
    X(88, int32_t, clEnqueueCopyBufferRect, \
      (ts__cl_handle queue, ts__cl_handle from, ts__cl_handle to, \
       const size_t *from_origin, const size_t *to_origin, \
       const size_t *region, size_t from_pitch, size_t from_slice, \
       size_t to_pitch, size_t to_slice, TS__CL_QUEUED)) \
    X(96, ts__cl_handle, clCreateImage, \
      (ts__cl_handle context, uint64_t flags, const void *format, \
       const void *desc, void *host, int32_t *error)) \
    X(98, int32_t, clCompileProgram, \
      (ts__cl_handle program, uint32_t count, const ts__cl_handle *devices, \
       const char *options, uint32_t header_count, \
       const ts__cl_handle *headers, const char **names, ts__cl_notify notify, \
       void *user)) \
    X(99, ts__cl_handle, clLinkProgram, \
      (ts__cl_handle context, uint32_t count, const ts__cl_handle *devices, \
       const char *options, uint32_t program_count, \
       const ts__cl_handle *programs, ts__cl_notify notify, void *user, \
       int32_t *error)) \
    X(102, int32_t, clEnqueueFillBuffer, \
      (ts__cl_handle queue, ts__cl_handle buffer, const void *pattern, \
       size_t pattern_size, size_t offset, size_t size, TS__CL_QUEUED)) \
    X(103, int32_t, clEnqueueFillImage, \
      (ts__cl_handle queue, ts__cl_handle image, const void *color, \
       const size_t *origin, const size_t *region, TS__CL_QUEUED)) \
    X(104, int32_t, clEnqueueMigrateMemObjects, \
      (ts__cl_handle queue, uint32_t count, const ts__cl_handle *memory, \
       uint64_t flags, TS__CL_QUEUED)) \
    X(105, int32_t, clEnqueueMarkerWithWaitList, \
      (ts__cl_handle queue, TS__CL_QUEUED)) \
    X(106, int32_t, clEnqueueBarrierWithWaitList, \
      (ts__cl_handle queue, TS__CL_QUEUED)) \
    X(107, void *, clGetExtensionFunctionAddressForPlatform, \
      (ts__cl_handle platform, const char *name)) \
    X(123, ts__cl_handle, clCreateCommandQueueWithProperties, \
      (ts__cl_handle context, ts__cl_handle device, \
       const uint64_t *properties, int32_t *error)) \
    X(124, ts__cl_handle, clCreatePipe, \
      (ts__cl_handle context, uint64_t flags, uint32_t packet_size, \
       uint32_t packets, const intptr_t *properties, int32_t *error)) \
    X(126, void *, clSVMAlloc, \
      (ts__cl_handle context, uint64_t flags, size_t size, \
       uint32_t alignment)) \
    X(127, void, clSVMFree, (ts__cl_handle context, void *memory)) \
    X(128, int32_t, clEnqueueSVMFree, \
      (ts__cl_handle queue, uint32_t count, void **memory, \
       void (*function)(ts__cl_handle, uint32_t, void **, void *), void *user, \
       TS__CL_QUEUED)) \
    X(129, int32_t, clEnqueueSVMMemcpy, \
      (ts__cl_handle queue, uint32_t blocking, void *to, const void *from, \
       size_t size, TS__CL_QUEUED)) \
    X(130, int32_t, clEnqueueSVMMemFill, \
      (ts__cl_handle queue, void *memory, const void *pattern, \
       size_t pattern_size, size_t size, TS__CL_QUEUED)) \
    X(131, int32_t, clEnqueueSVMMap, \
      (ts__cl_handle queue, uint32_t blocking, uint64_t flags, void *memory, \
       size_t size, TS__CL_QUEUED)) \
    X(132, int32_t, clEnqueueSVMUnmap, \
      (ts__cl_handle queue, void *memory, TS__CL_QUEUED)) \
    X(133, ts__cl_handle, clCreateSamplerWithProperties, \
      (ts__cl_handle context, const uint64_t *properties, int32_t *error)) \
    X(134, int32_t, clSetKernelArgSVMPointer, \
      (ts__cl_handle kernel, uint32_t index, const void *value)) \
    X(135, int32_t, clSetKernelExecInfo, \
      (ts__cl_handle kernel, uint32_t what, size_t size, const void *value)) \
    X(137, ts__cl_handle, clCloneKernel, \
      (ts__cl_handle kernel, int32_t * error)) \
    X(138, ts__cl_handle, clCreateProgramWithIL, \
      (ts__cl_handle context, const void *bytes, size_t size, int32_t *error)) \
    X(139, int32_t, clEnqueueSVMMigrateMem, \
      (ts__cl_handle queue, uint32_t count, const void **memory, \
       const size_t *sizes, uint64_t flags, TS__CL_QUEUED)) \
    X(145, int32_t, clSetProgramSpecializationConstant, \
      (ts__cl_handle program, uint32_t id, size_t size, const void *value)) \
    X(146, ts__cl_handle, clCreateBufferWithProperties, \
      (ts__cl_handle context, const uint64_t *properties, uint64_t flags, \
       size_t size, void *host, int32_t *error)) \
    X(147, ts__cl_handle, clCreateImageWithProperties, \
      (ts__cl_handle context, const uint64_t *properties, uint64_t flags, \
       const void *format, const void *desc, void *host, int32_t *error))

// Functions that are only called.
#define TS__CL_QUERIED(X) \
    X(3, int32_t, clGetDeviceInfo, \
      (ts__cl_handle device, uint32_t what, size_t room, void *value, \
       size_t *size)) \
    X(8, int32_t, clGetContextInfo, \
      (ts__cl_handle context, uint32_t what, size_t room, void *value, \
       size_t *size)) \
    X(18, int32_t, clReleaseMemObject, (ts__cl_handle memory)) \
    X(20, int32_t, clGetMemObjectInfo, \
      (ts__cl_handle memory, uint32_t what, size_t room, void *value, \
       size_t *size)) \
    X(21, int32_t, clGetImageInfo, \
      (ts__cl_handle image, uint32_t what, size_t room, void *value, \
       size_t *size)) \
    X(25, int32_t, clGetSamplerInfo, \
      (ts__cl_handle sampler, uint32_t what, size_t room, void *value, \
       size_t *size)) \
    X(29, int32_t, clReleaseProgram, (ts__cl_handle program)) \
    X(33, int32_t, clGetProgramBuildInfo, \
      (ts__cl_handle program, ts__cl_handle device, uint32_t what, \
       size_t room, void *value, size_t *size)) \
    X(37, int32_t, clReleaseKernel, (ts__cl_handle kernel)) \
    X(39, int32_t, clGetKernelInfo, \
      (ts__cl_handle kernel, uint32_t what, size_t room, void *value, \
       size_t *size)) \
    X(40, int32_t, clGetKernelWorkGroupInfo, \
      (ts__cl_handle kernel, ts__cl_handle device, uint32_t what, size_t room, \
       void *value, size_t *size)) \
    X(43, int32_t, clRetainEvent, (ts__cl_handle event)) \
    X(83, int32_t, clSetMemObjectDestructorCallback, \
      (ts__cl_handle memory, void (*function)(ts__cl_handle, void *), \
       void *user)) \
    X(101, int32_t, clGetKernelArgInfo, \
      (ts__cl_handle kernel, uint32_t index, uint32_t what, size_t room, \
       void *value, size_t *size)) \
    X(140, int32_t, clGetDeviceAndHostTimer, \
      (ts__cl_handle device, uint64_t * device_time, uint64_t * host_time))

// Numbers of the replaced functions.
enum {
#define TS__X(place, type, name, params) TS__CL_##name,
    TS__CL_HOOKED(TS__X)
#undef TS__X
        TS__CL_FUNCTIONS
};

// The functions of the next layer or of the loader.
typedef struct ts__cl_functions {
#define TS__X(place, type, name, params) type(*name) params;
    TS__CL_HOOKED(TS__X)
    TS__CL_QUERIED(TS__X)
#undef TS__X
} ts__cl_functions;

#endif // TS__OPENCL_ABI_H
