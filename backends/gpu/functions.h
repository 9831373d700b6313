/*
    gpu/functions.h - which functions of CUDA's driver matter to captures

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    One table: names of functions, their kinds, and the position of the
    stream among their arguments. Other functions are ignored.
*/
#ifndef TS__GPU_FUNCTIONS_H
#define TS__GPU_FUNCTIONS_H

#include "cuda_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum ts__cs_kind {
    TS__CS_NONE,
    // Operations.
    TS__CS_LAUNCH,
    TS__CS_LAUNCH_HOW,
    TS__CS_LAUNCH_COOPERATIVE, // cooperative
    TS__CS_GRAPH,
    TS__CS_COPY, // to, from, size
    TS__CS_COPY_PEER,
    TS__CS_COPY_ROWS,
    TS__CS_COPY_BOX,
    TS__CS_BATCH, // several copies
    TS__CS_BATCH_BOX,
    TS__CS_SET,
    TS__CS_SET_ROWS,
    TS__CS_HOST_FUNCTION,
    TS__CS_OTHER, // it is unknown what the operation writes
    // Calls that are no operations.
    TS__CS_ALLOC, // address *, size
    TS__CS_ALLOC_ROWS,
    TS__CS_ALLOC_MANAGED,
    TS__CS_ALLOC_HOST,
    TS__CS_REGISTER_HOST,
    TS__CS_OPENED, // address *, of another process
    TS__CS_EXTERNAL,
    TS__CS_FREE,
    TS__CS_RESERVE, // reserves addresses without memory
    TS__CS_UNRESERVE,
    TS__CS_MAP,
    TS__CS_UNMAP,
    TS__CS_STREAM,
    TS__CS_STREAM_GONE,
    TS__CS_RECORD,
    TS__CS_RECORDED,
    TS__CS_MODULE,
    TS__CS_LIBRARY_VARIABLE, // address *, size *, library
    TS__CS_MODULE_GONE,      // module or library
    TS__CS_FUNCTION_SET,
    TS__CS_KERNEL_SET,
    TS__CS_TENSOR, // width: kind of the tensor map, 0: unknown
    TS__CS_TENSOR_MOVED,
    TS__CS_TEXTURE, // texture; width 0: surface
    TS__CS_TEXTURE_GONE,
    TS__CS_GRAPH_READY, // executable graph *, graph
    TS__CS_GRAPH_UPDATE,
    TS__CS_GRAPH_GONE,
    TS__CS_NODE_KERNEL, // executable graph, node, parameters
    TS__CS_NODE_COPY,
    TS__CS_NODE_SET,
    TS__CS_NODE_ON,
    TS__CS_NODE_CHILD,
    TS__CS_NODE_ANY
} ts__cs_kind;

typedef struct ts__cs_rule {
    // Without "cu" and "_ptsz"; a trailing * matches any suffix.
    const char *name;
    // stream_at: byte offset among the arguments, 0: none
    uint8_t kind, width, stream_at;
} ts__cs_rule;

// Width of an allocation that belongs to no context.
enum { TS__CS_OF_NONE = 1 };

static const ts__cs_rule ts__cs_rules[] = {
    { "LaunchKernel", TS__CS_LAUNCH, 0, 40 },
    { "LaunchKernelEx", TS__CS_LAUNCH_HOW, 0, 0 },
    { "LaunchCooperativeKernel", TS__CS_LAUNCH_COOPERATIVE, 0, 40 },
    { "LaunchHostFunc*", TS__CS_HOST_FUNCTION, 0, 0 },
    { "Launch*", TS__CS_OTHER, 0, 0 },
    { "GraphLaunch", TS__CS_GRAPH, 0, 8 },
    { "Memcpy", TS__CS_COPY, 0, 0 },
    { "MemcpyAsync", TS__CS_COPY, 0, 24 },
    { "MemcpyHtoD_v2", TS__CS_COPY, 0, 0 },
    { "MemcpyDtoH_v2", TS__CS_COPY, 0, 0 },
    { "MemcpyDtoD_v2", TS__CS_COPY, 0, 0 },
    { "MemcpyHtoDAsync_v2", TS__CS_COPY, 0, 24 },
    { "MemcpyDtoHAsync_v2", TS__CS_COPY, 0, 24 },
    { "MemcpyDtoDAsync_v2", TS__CS_COPY, 0, 24 },
    { "MemcpyPeer", TS__CS_COPY_PEER, 0, 0 },
    { "MemcpyPeerAsync", TS__CS_COPY_PEER, 0, 40 },
    { "Memcpy2D_v2", TS__CS_COPY_ROWS, 0, 0 },
    { "Memcpy2DUnaligned_v2", TS__CS_COPY_ROWS, 0, 0 },
    { "Memcpy2DAsync_v2", TS__CS_COPY_ROWS, 0, 8 },
    { "Memcpy3D_v2", TS__CS_COPY_BOX, 0, 0 },
    { "Memcpy3DAsync_v2", TS__CS_COPY_BOX, 0, 8 },
    { "MemcpyBatchAsync", TS__CS_BATCH, 0, 64 },
    { "MemcpyBatchAsync_v2", TS__CS_BATCH, 0, 56 },
    { "Memcpy3DBatchAsync", TS__CS_BATCH_BOX, 0, 32 },
    { "Memcpy3DBatchAsync_v2", TS__CS_BATCH_BOX, 0, 24 },
    { "Memcpy*", TS__CS_OTHER, 0, 0 },
    { "MemsetD8_v2", TS__CS_SET, 1, 0 },
    { "MemsetD16_v2", TS__CS_SET, 2, 0 },
    { "MemsetD32_v2", TS__CS_SET, 4, 0 },
    { "MemsetD8Async", TS__CS_SET, 1, 24 },
    { "MemsetD16Async", TS__CS_SET, 2, 24 },
    { "MemsetD32Async", TS__CS_SET, 4, 24 },
    { "MemsetD2D8_v2", TS__CS_SET_ROWS, 1, 0 },
    { "MemsetD2D16_v2", TS__CS_SET_ROWS, 2, 0 },
    { "MemsetD2D32_v2", TS__CS_SET_ROWS, 4, 0 },
    { "MemsetD2D8Async", TS__CS_SET_ROWS, 1, 40 },
    { "MemsetD2D16Async", TS__CS_SET_ROWS, 2, 40 },
    { "MemsetD2D32Async", TS__CS_SET_ROWS, 4, 40 },
    { "Memset*", TS__CS_OTHER, 0, 0 },
    { "StreamWriteValue*", TS__CS_OTHER, 0, 0 },
    { "StreamBatchMemOp*", TS__CS_OTHER, 0, 0 },
    { "MemAlloc_v2", TS__CS_ALLOC, 0, 0 },
    { "MemAllocAsync", TS__CS_ALLOC, TS__CS_OF_NONE, 0 },
    { "MemAllocFromPoolAsync", TS__CS_ALLOC, TS__CS_OF_NONE, 0 },
    { "MemAllocPitch_v2", TS__CS_ALLOC_ROWS, 0, 0 },
    { "MemAllocManaged", TS__CS_ALLOC_MANAGED, 0, 0 },
    { "MemAllocHost_v2", TS__CS_ALLOC_HOST, 0, 0 },
    { "MemHostAlloc", TS__CS_ALLOC_HOST, 0, 0 },
    { "MemHostRegister_v2", TS__CS_REGISTER_HOST, 0, 0 },
    { "IpcOpenMemHandle*", TS__CS_OPENED, 0, 0 },
    { "ExternalMemoryGetMappedBuffer", TS__CS_EXTERNAL, 0, 0 },
    { "MemFree_v2", TS__CS_FREE, 0, 0 },
    { "MemFreeAsync", TS__CS_FREE, 0, 0 },
    { "MemFreeHost", TS__CS_FREE, 0, 0 },
    { "MemHostUnregister", TS__CS_FREE, 0, 0 },
    { "IpcCloseMemHandle", TS__CS_FREE, 0, 0 },
    { "MemAddressReserve", TS__CS_RESERVE, 0, 0 },
    { "MemAddressFree", TS__CS_UNRESERVE, 0, 0 },
    { "MemMap", TS__CS_MAP, 0, 0 },
    { "MemUnmap", TS__CS_UNMAP, 0, 0 },
    { "StreamCreate", TS__CS_STREAM, 0, 0 },
    { "StreamCreateWithPriority", TS__CS_STREAM, 1, 0 },
    { "StreamDestroy_v2", TS__CS_STREAM_GONE, 0, 0 },
    { "StreamBeginCapture*", TS__CS_RECORD, 0, 0 },
    { "StreamEndCapture", TS__CS_RECORDED, 0, 0 },
    { "ModuleLoad*", TS__CS_MODULE, 0, 0 },
    { "LibraryGetModule", TS__CS_MODULE, 0, 0 },
    { "LibraryGetGlobal", TS__CS_LIBRARY_VARIABLE, 0, 0 },
    { "ModuleUnload", TS__CS_MODULE_GONE, 0, 0 },
    { "LibraryUnload", TS__CS_MODULE_GONE, 0, 0 },
    { "FuncSetAttribute", TS__CS_FUNCTION_SET, 0, 0 },
    { "KernelSetAttribute", TS__CS_KERNEL_SET, 0, 0 },
    { "TensorMapEncodeTiled", TS__CS_TENSOR, TS__CUDA_TILED, 0 },
    { "TensorMapEncodeIm2col", TS__CS_TENSOR, TS__CUDA_COLUMNS, 0 },
    { "TensorMapEncodeIm2colWide", TS__CS_TENSOR, TS__CUDA_WIDE, 0 },
    { "TensorMapEncode*", TS__CS_TENSOR, 0, 0 },
    { "TensorMapReplaceAddress", TS__CS_TENSOR_MOVED, 0, 0 },
    { "TexObjectCreate", TS__CS_TEXTURE, 1, 0 },
    { "SurfObjectCreate", TS__CS_TEXTURE, 0, 0 },
    { "TexObjectDestroy", TS__CS_TEXTURE_GONE, 0, 0 },
    { "SurfObjectDestroy", TS__CS_TEXTURE_GONE, 0, 0 },
    { "GraphInstantiate*", TS__CS_GRAPH_READY, 0, 0 },
    { "GraphExecUpdate*", TS__CS_GRAPH_UPDATE, 0, 0 },
    { "GraphExecDestroy", TS__CS_GRAPH_GONE, 0, 0 },
    { "GraphExecKernelNodeSetParams", TS__CS_NODE_KERNEL, 0, 0 },
    { "GraphExecKernelNodeSetParams_v2", TS__CS_NODE_KERNEL, 1, 0 },
    { "GraphExecMemcpyNodeSetParams", TS__CS_NODE_COPY, 0, 0 },
    { "GraphExecMemsetNodeSetParams", TS__CS_NODE_SET, 0, 0 },
    { "GraphNodeSetEnabled", TS__CS_NODE_ON, 0, 0 },
    { "GraphExecChildGraphNodeSetParams", TS__CS_NODE_CHILD, 0, 0 },
    { "GraphExecNodeSetParams", TS__CS_NODE_ANY, 0, 0 },
};
enum { TS__CS_RULES = sizeof ts__cs_rules / sizeof *ts__cs_rules };

// Returns whether a rule names the function whose name has `size` bytes.
static inline bool ts__cs_rule_names(const ts__cs_rule *rule, const char *name,
                                     size_t size)
{
    const size_t own = strlen(rule->name);
    const bool any = rule->name[own - 1] == '*';
    return (any || own == size) && size >= own - any &&
           !strncmp(name, rule->name, own - any);
}

// Returns the index of a function's rule + 1; 0: the function is ignored. The
// variants for per-thread default streams (_ptsz) take the same arguments.
static inline uint8_t ts__cs_rule_of(const char *name)
{
    size_t size = strlen(name);
    if (size < 2 || name[0] != 'c' || name[1] != 'u') return 0;
    name += 2;
    size -= 2;
    if (size > 5 && !strncmp(name + size - 5, "_pt", 3)) size -= 5;
    for (size_t i = 0; i < TS__CS_RULES; i++)
        if (ts__cs_rule_names(&ts__cs_rules[i], name, size))
            return (uint8_t)(i + 1);
    return 0;
}

#endif // TS__GPU_FUNCTIONS_H
