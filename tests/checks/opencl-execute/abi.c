/*
    abi.c - backends/opencl/exec_abi.h declares OpenCL as Khronos
    does

    Compiled, not run, where the headers of OpenCL are installed.
*/
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stddef.h>
#include <stdint.h>

#define TS__OPENCL_EXEC_IMPLEMENTED
#include "backends/opencl/exec_abi.h"

#define SAME(name) _Static_assert(TS__OX_##name == CL_##name, #name)
SAME(SUCCESS);
SAME(MEM_OBJECT_ALLOCATION_FAILURE);
SAME(OUT_OF_RESOURCES);
SAME(OUT_OF_HOST_MEMORY);
SAME(INVALID_BUFFER_SIZE);
SAME(DEVICE_TYPE);
SAME(DEVICE_TYPE_CPU);
SAME(DEVICE_GLOBAL_MEM_SIZE);
SAME(DEVICE_NAME);
SAME(DEVICE_HOST_UNIFIED_MEMORY);
SAME(DEVICE_EXTENSIONS_WITH_VERSION);
SAME(MEM_READ_WRITE);
SAME(MEM_WRITE_ONLY);
SAME(MEM_READ_ONLY);
SAME(BUFFER_CREATE_TYPE_REGION);
SAME(MEM_OBJECT_IMAGE2D);
SAME(MEM_OBJECT_IMAGE3D);
SAME(MEM_OBJECT_IMAGE2D_ARRAY);
SAME(MEM_OBJECT_IMAGE1D);
SAME(MEM_OBJECT_IMAGE1D_ARRAY);
SAME(MEM_OBJECT_IMAGE1D_BUFFER);
SAME(IMAGE_ELEMENT_SIZE);
SAME(PROGRAM_BUILD_LOG);
SAME(KERNEL_NUM_ARGS);
SAME(COMPLETE);
_Static_assert(TS__OX_DEVICE_TYPE_ALL == CL_DEVICE_TYPE_ALL, "devices");
_Static_assert(TS__OX_EVENT_EXECUTION_STATUS ==
                   CL_EVENT_COMMAND_EXECUTION_STATUS,
               "events");

#ifdef cl_khr_command_buffer
_Static_assert(TS__OX_COMMAND_BUFFER_CAPABILITIES ==
                   CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR,
               "capabilities");
_Static_assert(TS__OX_COMMAND_BUFFER_FLAGS == CL_COMMAND_BUFFER_FLAGS_KHR,
               "flags");
_Static_assert(TS__OX_COMMAND_BUFFER_SIMULTANEOUS_USE ==
                   CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR,
               "simultaneous use");
_Static_assert(TS__OX_CAPABILITY_SIMULTANEOUS_USE ==
                   CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR,
               "what a device can");
_Static_assert(sizeof(cl_sync_point_khr) == sizeof(uint32_t), "points");
#endif

#define SIZE(own, theirs) _Static_assert(sizeof(own) == sizeof(theirs), #own)
#define PLACE(own, a, theirs, b) \
    _Static_assert(offsetof(own, a) == offsetof(theirs, b), #b)
SIZE(ts__ox_format, cl_image_format);
SIZE(ts__ox_part, cl_buffer_region);
SIZE(ts__ox_desc, cl_image_desc);
SIZE(ts__ox_extension, cl_name_version);
PLACE(ts__ox_extension, name, cl_name_version, name);
PLACE(ts__ox_format, type, cl_image_format, image_channel_data_type);
PLACE(ts__ox_part, size, cl_buffer_region, size);
PLACE(ts__ox_desc, width, cl_image_desc, image_width);
PLACE(ts__ox_desc, height, cl_image_desc, image_height);
PLACE(ts__ox_desc, depth, cl_image_desc, image_depth);
PLACE(ts__ox_desc, array_size, cl_image_desc, image_array_size);
PLACE(ts__ox_desc, row_pitch, cl_image_desc, image_row_pitch);
PLACE(ts__ox_desc, slice_pitch, cl_image_desc, image_slice_pitch);
PLACE(ts__ox_desc, mip_levels, cl_image_desc, num_mip_levels);
PLACE(ts__ox_desc, samples, cl_image_desc, num_samples);
PLACE(ts__ox_desc, buffer, cl_image_desc, buffer);
