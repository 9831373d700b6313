// The driver's structures as backends/gpu/cuda_abi.h and the captures read
// them, against its headers. Compiling it is the test.
#include <cupti.h>
#include <stddef.h>

#include "backends/gpu/cuda_abi.h"

#define SAME(a, b)              _Static_assert((a) == (b), #a " is " #b)
#define SIZE(ours, theirs)      SAME(sizeof(ours), sizeof(theirs))
#define AT(type, field, offset) SAME(offsetof(type, field), offset)

SIZE(ts__cuda_attribute, CUlaunchAttribute);
SAME(offsetof(ts__cuda_attribute, value), offsetof(CUlaunchAttribute, value));
SIZE(ts__cuda_launch, CUlaunchConfig);
SAME(offsetof(ts__cuda_launch, stream), offsetof(CUlaunchConfig, hStream));
SAME(offsetof(ts__cuda_launch, attributes), offsetof(CUlaunchConfig, attrs));
SAME(offsetof(ts__cuda_launch, attribute_count),
     offsetof(CUlaunchConfig, numAttrs));
SIZE(ts__cuda_access, CUmemAccessDesc);
SAME(offsetof(ts__cuda_memory, place), offsetof(CUmemAllocationProp, location));
_Static_assert(sizeof(ts__cuda_memory) >= sizeof(CUmemAllocationProp), "room");
SIZE(ts__cuda_box, CUDA_MEMCPY3D);
SAME(offsetof(ts__cuda_box, to), offsetof(CUDA_MEMCPY3D, dstXInBytes));
SAME(offsetof(ts__cuda_box, width), offsetof(CUDA_MEMCPY3D, WidthInBytes));
SAME(offsetof(ts__cuda_end, device), offsetof(CUDA_MEMCPY3D, srcDevice));
SAME(offsetof(ts__cuda_end, pitch), offsetof(CUDA_MEMCPY3D, srcPitch));
AT(CUDA_MEMCPY2D, srcDevice, 32);
AT(CUDA_MEMCPY2D, srcPitch, 48);
AT(CUDA_MEMCPY2D, dstXInBytes, 56);
AT(CUDA_MEMCPY2D, WidthInBytes, 112);

// Arguments as CUPTI hands them on.
AT(cuLaunchKernel_params, gridDimX, 8);
AT(cuLaunchKernel_params, blockDimX, 20);
AT(cuLaunchKernel_params, sharedMemBytes, 32);
AT(cuLaunchKernel_params, hStream, 40);
AT(cuLaunchKernel_params, kernelParams, 48);
AT(cuLaunchKernel_params, extra, 56);
AT(cuLaunchCooperativeKernel_params, hStream, 40);
AT(cuLaunchCooperativeKernel_params, kernelParams, 48);
AT(cuLaunchKernelEx_params, f, 8);
AT(cuLaunchKernelEx_params, kernelParams, 16);
AT(cuLaunchKernelEx_params, extra, 24);
AT(cuGraphLaunch_params, hStream, 8);
AT(cuMemcpyHtoDAsync_v2_params, ByteCount, 16);
AT(cuMemcpyHtoDAsync_v2_params, hStream, 24);
AT(cuMemcpyAsync_params, hStream, 24);
AT(cuMemcpyPeerAsync_params, srcDevice, 16);
AT(cuMemcpyPeerAsync_params, ByteCount, 32);
AT(cuMemcpyPeerAsync_params, hStream, 40);
AT(cuMemcpy2DAsync_v2_params, hStream, 8);
AT(cuMemcpy3DAsync_v2_params, hStream, 8);
AT(cuMemsetD32Async_params, ui, 8);
AT(cuMemsetD32Async_params, N, 16);
AT(cuMemsetD32Async_params, hStream, 24);
AT(cuMemsetD2D8Async_params, uc, 16);
AT(cuMemsetD2D8Async_params, Width, 24);
AT(cuMemsetD2D8Async_params, Height, 32);
AT(cuMemsetD2D8Async_params, hStream, 40);
AT(cuMemAlloc_v2_params, bytesize, 8);
AT(cuMemAllocAsync_params, bytesize, 8);
AT(cuMemAllocFromPoolAsync_params, bytesize, 8);
AT(cuMemAllocManaged_params, bytesize, 8);
AT(cuMemAllocManaged_params, flags, 16);
SAME(TS__CUDA_GLOBAL, CU_MEM_ATTACH_GLOBAL);
SAME(TS__CUDA_CONCURRENT, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
SAME(1, CU_POINTER_ATTRIBUTE_CONTEXT);
SAME(2, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(8, CU_POINTER_ATTRIBUTE_IS_MANAGED);
SAME(9, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
AT(cuMemAllocPitch_v2_params, pPitch, 8);
AT(cuMemAllocPitch_v2_params, Height, 24);
AT(cuMemHostAlloc_params, bytesize, 8);
AT(cuMemHostRegister_v2_params, bytesize, 8);
AT(cuMemMap_params, size, 8);
AT(cuStreamCreate_params, Flags, 8);
AT(cuStreamCreateWithPriority_params, priority, 12);
AT(cuFuncSetAttribute_params, attrib, 8);
AT(cuFuncSetAttribute_params, value, 12);
SAME(TS_CUDA_SHARED_ATTRIBUTE, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
AT(cuLibraryGetModule_params, pMod, 0);
AT(cuLibraryGetGlobal_params, library, 16);
AT(cuKernelSetAttribute_params, val, 4);
AT(cuKernelSetAttribute_params, kernel, 8);
// Tensor maps: ts__cs_tensor_call.
AT(cuTensorMapEncodeTiled_params, tensorMap, 0);
AT(cuTensorMapEncodeTiled_params, tensorDataType, 8);
AT(cuTensorMapEncodeTiled_params, globalAddress, 16);
AT(cuTensorMapEncodeTiled_params, globalStrides, 32);
AT(cuTensorMapEncodeTiled_params, boxDim, 40);
AT(cuTensorMapEncodeTiled_params, elementStrides, 48);
AT(cuTensorMapEncodeTiled_params, interleave, 56);
AT(cuTensorMapEncodeTiled_params, oobFill, 68);
AT(cuTensorMapEncodeIm2col_params, pixelBoxUpperCorner, 48);
AT(cuTensorMapEncodeIm2col_params, channelsPerPixel, 56);
AT(cuTensorMapEncodeIm2col_params, elementStrides, 64);
AT(cuTensorMapEncodeIm2col_params, interleave, 72);
AT(cuTensorMapEncodeIm2col_params, oobFill, 84);
AT(cuTensorMapEncodeIm2colWide_params, pixelBoxUpperCornerWidth, 44);
AT(cuTensorMapEncodeIm2colWide_params, channelsPerPixel, 48);
AT(cuTensorMapEncodeIm2colWide_params, elementStrides, 56);
AT(cuTensorMapEncodeIm2colWide_params, interleave, 64);
AT(cuTensorMapEncodeIm2colWide_params, mode, 68);
AT(cuTensorMapEncodeIm2colWide_params, oobFill, 80);
AT(cuTensorMapReplaceAddress_params, tensorMap, 0);
AT(cuTensorMapReplaceAddress_params, globalAddress, 8);
SAME(sizeof(((ts__cuda_tensor *)0)->bytes), sizeof(CUtensorMap));
SAME(sizeof(ts__cuda_tensor), 336);
SAME(sizeof(((ts__cuda_texture *)0)->resource), sizeof(CUDA_RESOURCE_DESC));
SAME(sizeof(((ts__cuda_texture *)0)->texture), sizeof(CUDA_TEXTURE_DESC));
SAME(sizeof(((ts__cuda_texture *)0)->view), sizeof(CUDA_RESOURCE_VIEW_DESC));
SAME(sizeof(ts__cuda_texture), 376);
AT(CUDA_RESOURCE_DESC, res.linear.devPtr, 8);
AT(CUDA_RESOURCE_DESC, res.pitch2D.devPtr, 8);
SAME(TS__CUDA_LINEAR, CU_RESOURCE_TYPE_LINEAR);
SAME(TS__CUDA_PITCH, CU_RESOURCE_TYPE_PITCH2D);
AT(cuTexObjectCreate_params, pResViewDesc, 24);
AT(cuSurfObjectCreate_params, pResDesc, 8);
AT(cuTexObjectDestroy_params, texObject, 0);
AT(cuMemUnmap_params, size, 8);

// Graphs.
SIZE(ts__cuda_kernel_node, CUDA_KERNEL_NODE_PARAMS_v2);
SAME(TS__CUDA_KERNEL_NODE_OLD, sizeof(CUDA_KERNEL_NODE_PARAMS_v1));
AT(CUDA_KERNEL_NODE_PARAMS_v2, gridDimX, 8);
AT(CUDA_KERNEL_NODE_PARAMS_v2, kernelParams, 40);
AT(CUDA_KERNEL_NODE_PARAMS_v2, kern, 56);
AT(CUDA_KERNEL_NODE_PARAMS_v2, ctx, 64);
SIZE(ts__cuda_set_node, CUDA_MEMSET_NODE_PARAMS);
AT(CUDA_MEMSET_NODE_PARAMS, elementSize, 20);
AT(CUDA_MEMSET_NODE_PARAMS, height, 32);
SAME(TS__CUDA_NODE_CHILD, CU_GRAPH_NODE_TYPE_GRAPH);
SAME(TS__CUDA_NODE_SIGNAL, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL);
SAME(TS__CUDA_NODE_FREE, CU_GRAPH_NODE_TYPE_MEM_FREE);
SAME(TS__CUDA_NODE_CONDITIONAL, CU_GRAPH_NODE_TYPE_CONDITIONAL);
SAME(sizeof(CUgraphEdgeData), 8);
AT(cuGraphInstantiateWithFlags_params, hGraph, 8);
AT(cuGraphInstantiateWithParams_params, hGraph, 8);
AT(cuGraphExecUpdate_v2_params, hGraph, 8);
AT(cuGraphExecKernelNodeSetParams_v2_params, nodeParams, 16);
AT(cuGraphExecMemcpyNodeSetParams_params, copyParams, 16);
AT(cuGraphExecMemsetNodeSetParams_params, memsetParams, 16);
AT(cuGraphNodeSetEnabled_params, isEnabled, 16);
AT(cuGraphExecChildGraphNodeSetParams_params, childGraph, 16);
AT(cuGraphExecNodeSetParams_params, nodeParams, 16);
SIZE(ts__cuda_any_node, CUgraphNodeParams);
AT(CUgraphNodeParams, kernel, 16);
AT(CUgraphNodeParams, memcpy.copyParams, 32);
AT(CUgraphNodeParams, memset, 16);
AT(CUgraphNodeParams, graph.graph, 16);
AT(CUDA_KERNEL_NODE_PARAMS_v3, kern, 56);
AT(cuGraphLaunch_params, hGraph, 0);

// Batches of copies: of CUDA 12.8, and of 13.0.
SIZE(ts__cuda_operand, CUmemcpy3DOperand);
SIZE(ts__cuda_batch, CUDA_MEMCPY3D_BATCH_OP);
AT(CUmemcpy3DOperand, op.ptr.ptr, 8);
AT(CUmemcpy3DOperand, op.ptr.layerHeight, 24);
AT(CUDA_MEMCPY3D_BATCH_OP, extent, 80);
SAME(TS__CUDA_POINTER, CU_MEMCPY_OPERAND_TYPE_POINTER);
AT(cuMemcpyBatchAsync_params, sizes, 16);
AT(cuMemcpyBatchAsync_params, count, 24);
AT(cuMemcpyBatchAsync_params, hStream, 64);
AT(cuMemcpyBatchAsync_v2_params, hStream, 56);
AT(cuMemcpy3DBatchAsync_params, opList, 8);
AT(cuMemcpy3DBatchAsync_params, hStream, 32);
AT(cuMemcpy3DBatchAsync_v2_params, hStream, 24);
