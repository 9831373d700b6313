/*
    hip/capture_calls.h - which functions of HIP matter to captures

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Says which function of CUDA's driver each is like, and how its arguments
    differ.
*/
#ifndef TS__HIP_CAPTURE_CALLS_H
#define TS__HIP_CAPTURE_CALLS_H

#include "../gpu/functions.h"
#include "calls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { // kinds that CUDA does not have
    TS__HS_MODULE = 100,
    TS__HS_MODULE_FILE,
    TS__HS_MODULE_GONE,
    TS__HS_FUNCTION,
    TS__HS_COPY_ADDED, // node *, graph
    TS__HS_COPY_CHANGED,
    TS__HS_GRAPH_GONE,
    TS__HS_NODE_GONE,
    // A device is reset; width 1: the device is given by its number.
    TS__HS_DEVICE_GONE,
    TS__HS_CONFIGURED, // sets the configuration for hipLaunchByPtr
    TS__HS_ARGUMENT_SET
};

typedef enum ts__hs_how { // where a function's arguments are
    TS__HS_SAME,          // as in CUDA's function
    TS__HS_LAUNCH,        // function, grid, block, arguments, LDS, stream
    TS__HS_ITEMS,         // as in CUDA's, but the grid counts work items
    TS__HS_ROWS,          // one after another
    TS__HS_BOX,           // in hipMemcpy3DParms
    TS__HS_CUBE,          // in hipPitchedPtr, for a memset
    TS__HS_VOLUME,        // in hipPitchedPtr, for an allocation
    TS__HS_CONFIG,        // in hipLaunchConfig_t
    TS__HS_BEFORE,        // set by earlier calls
    TS__HS_TO_SYMBOL,     // a variable by its host symbol
    TS__HS_FROM_SYMBOL,
    // For nodes of graphs, after two handles: one after another, or in a
    // structure of HIP's.
    TS__HS_NODE_LINE,
    TS__HS_NODE_BOX,
    TS__HS_NODE_KERNEL,
    TS__HS_NODE_SET,
    TS__HS_NODE_UNKNOWN
} ts__hs_how;

// Width of a launch: the function is a host function.
enum { TS__HS_OF_HOST = 1 };

typedef struct ts__hs_rule {
    ts__cs_rule like;  // name without "hip" and "_spt"
    uint8_t how, size; // size: bytes of the arguments
} ts__hs_rule;

// Source: hip/hip_runtime_api.h, hip/hip_ext.h.
static const ts__hs_rule ts__hs_rules[] = {
    { { "LaunchKernel", TS__CS_LAUNCH, TS__HS_OF_HOST, 40 },
      TS__HS_LAUNCH,
      56 },
    { { "ExtLaunchKernel", TS__CS_LAUNCH, TS__HS_OF_HOST, 40 },
      TS__HS_LAUNCH,
      56 },
    { { "LaunchCooperativeKernel", TS__CS_LAUNCH_COOPERATIVE, TS__HS_OF_HOST,
        40 },
      TS__HS_LAUNCH,
      56 },
    { { "ModuleLaunchKernel", TS__CS_LAUNCH, 0, 40 }, TS__HS_SAME, 64 },
    { { "ModuleLaunchCooperativeKernel", TS__CS_LAUNCH_COOPERATIVE, 0, 40 },
      TS__HS_SAME,
      56 },
    { { "ExtModuleLaunchKernel", TS__CS_LAUNCH, 0, 40 }, TS__HS_ITEMS, 64 },
    { { "HccModuleLaunchKernel", TS__CS_LAUNCH, 0, 40 }, TS__HS_ITEMS, 64 },
    { { "LaunchHostFunc", TS__CS_HOST_FUNCTION, 0, 0 }, TS__HS_SAME, 24 },
    { { "StreamAddCallback", TS__CS_HOST_FUNCTION, 0, 0 }, TS__HS_SAME, 24 },
    { { "LaunchKernelExC", TS__CS_LAUNCH_HOW, TS__HS_OF_HOST, 0 },
      TS__HS_CONFIG,
      24 },
    { { "DrvLaunchKernelEx", TS__CS_LAUNCH_HOW, 0, 0 }, TS__HS_SAME, 32 },
    { { "LaunchByPtr", TS__CS_LAUNCH, TS__HS_OF_HOST, 40 }, TS__HS_BEFORE, 8 },
    { { "ConfigureCall", TS__HS_CONFIGURED, 0, 0 }, TS__HS_SAME, 40 },
    { { "SetupArgument", TS__HS_ARGUMENT_SET, 0, 0 }, TS__HS_SAME, 24 },
    { { "Launch*", TS__CS_OTHER, 0, 0 }, TS__HS_SAME, 0 },
    { { "DrvLaunch*", TS__CS_OTHER, 0, 0 }, TS__HS_SAME, 0 },
    { { "ExtLaunch*", TS__CS_OTHER, 0, 0 }, TS__HS_SAME, 0 },
    { { "ModuleLaunch*", TS__CS_OTHER, 0, 0 }, TS__HS_SAME, 0 },
    { { "GraphLaunch", TS__CS_GRAPH, 0, 8 }, TS__HS_SAME, 16 },
    { { "Memcpy", TS__CS_COPY, 0, 0 }, TS__HS_SAME, 24 },
    { { "MemcpyAsync", TS__CS_COPY, 0, 32 }, TS__HS_SAME, 40 },
    { { "MemcpyWithStream", TS__CS_COPY, 0, 32 }, TS__HS_SAME, 40 },
    { { "MemcpyHtoD", TS__CS_COPY, 0, 0 }, TS__HS_SAME, 24 },
    { { "MemcpyDtoH", TS__CS_COPY, 0, 0 }, TS__HS_SAME, 24 },
    { { "MemcpyDtoD", TS__CS_COPY, 0, 0 }, TS__HS_SAME, 24 },
    { { "MemcpyHtoDAsync", TS__CS_COPY, 0, 24 }, TS__HS_SAME, 32 },
    { { "MemcpyDtoHAsync", TS__CS_COPY, 0, 24 }, TS__HS_SAME, 32 },
    { { "MemcpyDtoDAsync", TS__CS_COPY, 0, 24 }, TS__HS_SAME, 32 },
    { { "MemcpyPeer", TS__CS_COPY_PEER, 0, 0 }, TS__HS_SAME, 40 },
    { { "MemcpyPeerAsync", TS__CS_COPY_PEER, 0, 40 }, TS__HS_SAME, 48 },
    { { "Memcpy2D", TS__CS_COPY_BOX, 0, 0 }, TS__HS_ROWS, 48 },
    { { "Memcpy2DAsync", TS__CS_COPY_BOX, 0, 8 }, TS__HS_ROWS, 64 },
    { { "Memcpy3D", TS__CS_COPY_BOX, 0, 0 }, TS__HS_BOX, 8 },
    { { "Memcpy3DAsync", TS__CS_COPY_BOX, 0, 8 }, TS__HS_BOX, 16 },
    { { "MemcpyToSymbol", TS__CS_COPY, 0, 0 }, TS__HS_TO_SYMBOL, 32 },
    { { "MemcpyToSymbolAsync", TS__CS_COPY, 0, 40 }, TS__HS_TO_SYMBOL, 48 },
    { { "MemcpyFromSymbol", TS__CS_COPY, 0, 0 }, TS__HS_FROM_SYMBOL, 32 },
    { { "MemcpyFromSymbolAsync", TS__CS_COPY, 0, 40 }, TS__HS_FROM_SYMBOL, 48 },
    { { "Memcpy*", TS__CS_OTHER, 0, 0 }, TS__HS_SAME, 0 },
    { { "DrvMemcpy*", TS__CS_OTHER, 0, 0 }, TS__HS_SAME, 0 },
    { { "Memset", TS__CS_SET, 1, 0 }, TS__HS_SAME, 24 },
    { { "MemsetAsync", TS__CS_SET, 1, 24 }, TS__HS_SAME, 32 },
    { { "MemsetD8", TS__CS_SET, 1, 0 }, TS__HS_SAME, 24 },
    { { "MemsetD8Async", TS__CS_SET, 1, 24 }, TS__HS_SAME, 32 },
    { { "MemsetD16", TS__CS_SET, 2, 0 }, TS__HS_SAME, 24 },
    { { "MemsetD16Async", TS__CS_SET, 2, 24 }, TS__HS_SAME, 32 },
    { { "MemsetD32", TS__CS_SET, 4, 0 }, TS__HS_SAME, 24 },
    { { "MemsetD32Async", TS__CS_SET, 4, 24 }, TS__HS_SAME, 32 },
    { { "Memset2D", TS__CS_SET_ROWS, 1, 0 }, TS__HS_SAME, 40 },
    { { "Memset2DAsync", TS__CS_SET_ROWS, 1, 40 }, TS__HS_SAME, 48 },
    { { "Memset3D", TS__CS_SET_ROWS, 1, 0 }, TS__HS_CUBE, 64 },
    { { "Memset3DAsync", TS__CS_SET_ROWS, 1, 40 }, TS__HS_CUBE, 72 },
    { { "MemsetD2D8", TS__CS_SET_ROWS, 1, 0 }, TS__HS_SAME, 40 },
    { { "MemsetD2D8Async", TS__CS_SET_ROWS, 1, 40 }, TS__HS_SAME, 48 },
    { { "MemsetD2D16", TS__CS_SET_ROWS, 2, 0 }, TS__HS_SAME, 40 },
    { { "MemsetD2D16Async", TS__CS_SET_ROWS, 2, 40 }, TS__HS_SAME, 48 },
    { { "MemsetD2D32", TS__CS_SET_ROWS, 4, 0 }, TS__HS_SAME, 40 },
    { { "MemsetD2D32Async", TS__CS_SET_ROWS, 4, 40 }, TS__HS_SAME, 48 },
    { { "Memset*", TS__CS_OTHER, 0, 0 }, TS__HS_SAME, 0 },
    { { "StreamWriteValue*", TS__CS_OTHER, 0, 0 }, TS__HS_SAME, 0 },
    { { "StreamBatchMemOp*", TS__CS_OTHER, 0, 0 }, TS__HS_SAME, 0 },
    { { "Malloc", TS__CS_ALLOC, 0, 0 }, TS__HS_SAME, 16 },
    { { "ExtMallocWithFlags", TS__CS_ALLOC, 0, 0 }, TS__HS_SAME, 16 },
    { { "MallocAsync", TS__CS_ALLOC, 0, 0 }, TS__HS_SAME, 16 },
    { { "MallocFromPoolAsync", TS__CS_ALLOC, 0, 0 }, TS__HS_SAME, 16 },
    { { "MallocPitch", TS__CS_ALLOC_ROWS, 0, 0 }, TS__HS_SAME, 32 },
    { { "MemAllocPitch", TS__CS_ALLOC_ROWS, 0, 0 }, TS__HS_SAME, 32 },
    { { "Malloc3D", TS__CS_ALLOC, 0, 0 }, TS__HS_VOLUME, 32 },
    { { "MallocManaged", TS__CS_ALLOC_MANAGED, 0, 0 }, TS__HS_SAME, 16 },
    { { "HostMalloc", TS__CS_ALLOC_HOST, 0, 0 }, TS__HS_SAME, 16 },
    { { "HostAlloc", TS__CS_ALLOC_HOST, 0, 0 }, TS__HS_SAME, 16 },
    { { "MallocHost", TS__CS_ALLOC_HOST, 0, 0 }, TS__HS_SAME, 16 },
    { { "MemAllocHost", TS__CS_ALLOC_HOST, 0, 0 }, TS__HS_SAME, 16 },
    { { "HostRegister", TS__CS_REGISTER_HOST, 0, 0 }, TS__HS_SAME, 16 },
    { { "IpcOpenMemHandle", TS__CS_OPENED, 0, 0 }, TS__HS_SAME, 8 },
    { { "ExternalMemoryGetMappedBuffer", TS__CS_EXTERNAL, 0, 0 },
      TS__HS_SAME,
      8 },
    { { "MemPoolImportPointer", TS__CS_OPENED, 0, 0 }, TS__HS_SAME, 8 },
    { { "GraphicsResourceGetMappedPointer", TS__CS_EXTERNAL, 0, 0 },
      TS__HS_SAME,
      8 },
    { { "Free", TS__CS_FREE, 0, 0 }, TS__HS_SAME, 8 },
    { { "FreeAsync", TS__CS_FREE, 0, 0 }, TS__HS_SAME, 8 },
    { { "FreeHost", TS__CS_FREE, 0, 0 }, TS__HS_SAME, 8 },
    { { "HostFree", TS__CS_FREE, 0, 0 }, TS__HS_SAME, 8 },
    { { "HostUnregister", TS__CS_FREE, 0, 0 }, TS__HS_SAME, 8 },
    { { "IpcCloseMemHandle", TS__CS_FREE, 0, 0 }, TS__HS_SAME, 8 },
    { { "MemAddressReserve", TS__CS_RESERVE, 0, 0 }, TS__HS_SAME, 16 },
    { { "MemAddressFree", TS__CS_UNRESERVE, 0, 0 }, TS__HS_SAME, 16 },
    { { "MemMap", TS__CS_MAP, 0, 0 }, TS__HS_SAME, 16 },
    { { "MemUnmap", TS__CS_UNMAP, 0, 0 }, TS__HS_SAME, 16 },
    { { "StreamCreate", TS__CS_STREAM, 0, 0 }, TS__HS_SAME, 8 },
    { { "StreamCreateWithFlags", TS__CS_STREAM, 0, 0 }, TS__HS_SAME, 12 },
    { { "StreamCreateWithPriority", TS__CS_STREAM, 1, 0 }, TS__HS_SAME, 16 },
    { { "ExtStreamCreateWithCUMask", TS__CS_STREAM, 0, 0 }, TS__HS_SAME, 8 },
    { { "StreamDestroy", TS__CS_STREAM_GONE, 0, 0 }, TS__HS_SAME, 8 },
    { { "StreamBeginCapture*", TS__CS_RECORD, 0, 0 }, TS__HS_SAME, 8 },
    { { "StreamEndCapture", TS__CS_RECORDED, 0, 0 }, TS__HS_SAME, 16 },
    { { "DeviceReset", TS__HS_DEVICE_GONE, 0, 0 }, TS__HS_SAME, 0 },
    { { "DevicePrimaryCtxReset", TS__HS_DEVICE_GONE, 1, 0 }, TS__HS_SAME, 4 },
    // Only handles are used, because HIP's descriptions differ from CUDA's.
    { { "CreateTextureObject", TS__CS_TEXTURE, 0, 0 }, TS__HS_SAME, 8 },
    { { "CreateSurfaceObject", TS__CS_TEXTURE, 0, 0 }, TS__HS_SAME, 8 },
    { { "TexObjectCreate", TS__CS_TEXTURE, 0, 0 }, TS__HS_SAME, 8 },
    { { "DestroyTextureObject", TS__CS_TEXTURE_GONE, 0, 0 }, TS__HS_SAME, 8 },
    { { "DestroySurfaceObject", TS__CS_TEXTURE_GONE, 0, 0 }, TS__HS_SAME, 8 },
    { { "TexObjectDestroy", TS__CS_TEXTURE_GONE, 0, 0 }, TS__HS_SAME, 8 },
    { { "ModuleLoad", TS__HS_MODULE_FILE, 0, 0 }, TS__HS_SAME, 16 },
    { { "ModuleLoadData*", TS__HS_MODULE, 0, 0 }, TS__HS_SAME, 16 },
    { { "ModuleLoadFatBinary", TS__HS_MODULE, 0, 0 }, TS__HS_SAME, 16 },
    { { "ModuleUnload", TS__HS_MODULE_GONE, 0, 0 }, TS__HS_SAME, 8 },
    { { "ModuleGetFunction", TS__HS_FUNCTION, 0, 0 }, TS__HS_SAME, 24 },
    { { "GraphAddMemcpyNode", TS__HS_COPY_ADDED, 32, 0 }, TS__HS_NODE_BOX, 40 },
    { { "GraphAddMemcpyNode1D", TS__HS_COPY_ADDED, 32, 0 },
      TS__HS_NODE_LINE,
      56 },
    { { "GraphMemcpyNodeSetParams", TS__HS_COPY_CHANGED, 8, 0 },
      TS__HS_NODE_BOX,
      16 },
    { { "GraphMemcpyNodeSetParams1D", TS__HS_COPY_CHANGED, 8, 0 },
      TS__HS_NODE_LINE,
      32 },
    { { "GraphMemcpyNodeSetParams*", TS__HS_NODE_GONE, 0, 0 }, TS__HS_SAME, 8 },
    { { "DrvGraphMemcpyNodeSetParams", TS__HS_NODE_GONE, 0, 0 },
      TS__HS_SAME,
      8 },
    { { "GraphNodeSetParams", TS__HS_NODE_GONE, 0, 0 }, TS__HS_SAME, 8 },
    { { "GraphDestroyNode", TS__HS_NODE_GONE, 0, 0 }, TS__HS_SAME, 8 },
    { { "GraphDestroy", TS__HS_GRAPH_GONE, 0, 0 }, TS__HS_SAME, 8 },
    { { "GraphInstantiate*", TS__CS_GRAPH_READY, 0, 0 }, TS__HS_SAME, 16 },
    { { "GraphExecUpdate", TS__CS_GRAPH_UPDATE, 0, 0 }, TS__HS_SAME, 16 },
    { { "GraphExecDestroy", TS__CS_GRAPH_GONE, 0, 0 }, TS__HS_SAME, 8 },
    { { "GraphExecKernelNodeSetParams", TS__CS_NODE_KERNEL, 1, 0 },
      TS__HS_NODE_KERNEL,
      24 },
    { { "GraphExecMemcpyNodeSetParams", TS__CS_NODE_COPY, 16, 0 },
      TS__HS_NODE_BOX,
      24 },
    { { "GraphExecMemcpyNodeSetParams1D", TS__CS_NODE_COPY, 16, 0 },
      TS__HS_NODE_LINE,
      40 },
    { { "GraphExecMemcpyNodeSetParams*", TS__CS_NODE_ON, 0, 0 },
      TS__HS_NODE_UNKNOWN,
      16 },
    { { "GraphExecMemsetNodeSetParams", TS__CS_NODE_SET, 0, 0 },
      TS__HS_NODE_SET,
      24 },
    { { "GraphExecChildGraphNodeSetParams", TS__CS_NODE_CHILD, 0, 0 },
      TS__HS_SAME,
      24 },
    { { "GraphExecNodeSetParams", TS__CS_NODE_ON, 0, 0 },
      TS__HS_NODE_UNKNOWN,
      16 },
    { { "DrvGraphExec*", TS__CS_NODE_ON, 0, 0 }, TS__HS_NODE_UNKNOWN, 16 },
    { { "GraphNodeSetEnabled", TS__CS_NODE_ON, 0, 0 }, TS__HS_SAME, 20 },
};
enum { TS__HS_RULES = sizeof ts__hs_rules / sizeof *ts__hs_rules };

typedef struct ts__hs_kept { // a function by its number
    const ts__hs_rule *rule; // NULL: ignored
    bool per_thread;         // the default stream is the thread's own
} ts__hs_kept;
static ts__hs_kept ts__hs_keep[TS__HIP_APIS];

// Registers the function with this number. Returns whether captures need its
// calls.
static bool ts__hs_define(uint32_t number, const char *name)
{
    ts__hs_kept kept = { NULL, false };
    size_t size = name ? strlen(name) : 0;
    if (number >= TS__HIP_APIS || size < 4 || strncmp(name, "hip", 3) != 0)
        return false;
    name += 3;
    size -= 3;
    kept.per_thread = size > 4 && !strcmp(name + size - 4, "_spt");
    if (kept.per_thread) size -= 4;
    for (size_t i = 0; i < TS__HS_RULES && !kept.rule; i++)
        if (ts__cs_rule_names(&ts__hs_rules[i].like, name, size))
            kept.rule = &ts__hs_rules[i];
    ts__hs_keep[number] = kept;
    return kept.rule != NULL;
}

#endif // TS__HIP_CAPTURE_CALLS_H
