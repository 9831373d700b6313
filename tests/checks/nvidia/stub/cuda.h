/*
    cuda.h - names of types of CUDA's driver, for CUPTI's headers where CUDA's
             own are not there. Only pointers and enumerations: what has a size
             of its own is not compared with them.
*/
#ifndef STUB_CUDA_H
#define STUB_CUDA_H

#include <stddef.h>
#include <stdint.h>

typedef int CUdevice, CUresult, CUgraphNodeType, CUdevice_attribute;
typedef int CUstreamAttrID;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUstreamAttrValue_st CUstreamAttrValue;
typedef struct CUaccessPolicyWindow_st CUaccessPolicyWindow;
typedef struct CUuuid_st {
    char bytes[16];
} CUuuid;

#endif
