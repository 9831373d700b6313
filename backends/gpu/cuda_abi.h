/*
    gpu/cuda_abi.h - structures and constants of CUDA's driver

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: libcuda.so.1, found at run time; libamdhip64.so, whose
                    functions of these names take the same arguments.
    Checked with:   the headers of CUDA 13.0
                    (tests/checks/capture/cuda_abi.c); cubins of ptxas 13.0.
                    November 2026. Not run on a GPU.
*/
#ifndef TS__GPU_CUDA_ABI_H
#define TS__GPU_CUDA_ABI_H

#include "../ts_cuda_code.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { // CUresult
    TS__CUDA_OK = 0,
    TS__CUDA_NO_MEMORY = 2,
    TS__CUDA_NO_DEVICE = 100,
    TS__CUDA_NOT_READY = 600,
    TS__CUDA_NOT_SUPPORTED = 801
};

enum {
    // Device attribute: host and device may use managed memory concurrently.
    TS__CUDA_CONCURRENT = 89,
    // Flag of managed memory that is not first attached to the host.
    TS__CUDA_GLOBAL = 1
};

enum { // identifiers of launch attributes
    TS__CUDA_WINDOW = 1,
    TS__CUDA_EARLY = 6, // programmatic dependent launch
    TS__CUDA_EARLY_EVENT = 7,
    TS__CUDA_LAUNCHED_EVENT = 12,
    TS__CUDA_UPDATABLE = 13
};

typedef struct ts__cuda_attribute { // CUlaunchAttribute
    uint32_t id, pad;
    union {
        uint8_t bytes[64];
        uint32_t number;
        uint64_t wide;
    } value;
} ts__cuda_attribute;

typedef struct ts__cuda_launch { // CUlaunchConfig
    uint32_t grid[3], block[3], shared;
    void *stream;
    ts__cuda_attribute *attributes;
    uint32_t attribute_count;
} ts__cuda_launch;

typedef struct ts__cuda_place { // CUmemLocation
    int32_t type, id;           // 1: a device
} ts__cuda_place;

typedef struct ts__cuda_memory { // CUmemAllocationProp
    int32_t type, handles;       // 1: pinned
    ts__cuda_place place;
    void *windows;
    uint8_t flags[16]; // CUDA has 8 bytes, HIP at most as many
} ts__cuda_memory;

typedef struct ts__cuda_access { // CUmemAccessDesc
    ts__cuda_place place;
    int32_t flags; // 3: read and write
} ts__cuda_access;

enum { TS__CUDA_HOST = 1, TS__CUDA_DEVICE = 2, TS__CUDA_UNIFIED = 4 };

typedef struct ts__cuda_end { // one end of a CUDA_MEMCPY3D
    size_t x, y, z, level;
    uint32_t type, pad;
    void *host;
    uint64_t device;
    void *array, *reserved;
    size_t pitch, height;
} ts__cuda_end;

typedef struct ts__cuda_box { // CUDA_MEMCPY3D
    ts__cuda_end from, to;
    size_t width, height, depth;
} ts__cuda_box;

enum { TS__CUDA_POINTER = 1, TS__CUDA_ARRAY = 2 }; // CUmemcpy3DOperandType

typedef struct ts__cuda_operand { // CUmemcpy3DOperand
    uint32_t type, pad;
    union {
        struct {
            uint64_t address;
            // In elements; 0: tightly packed, as the copied extent.
            size_t row, height;
            ts__cuda_place place;
        } pointer;
        struct {
            void *array;
            size_t origin[3];
        } array;
    } as;
} ts__cuda_operand;

typedef struct ts__cuda_batch { // CUDA_MEMCPY3D_BATCH_OP
    ts__cuda_operand from, to;
    size_t extent[3];
    uint32_t order, flags;
} ts__cuda_batch;

enum { // the driver's function that made a tensor map; 0: unknown
    TS__CUDA_TILED = 1,
    TS__CUDA_COLUMNS = 2, // im2col
    TS__CUDA_WIDE = 3     // im2col, wide mode
};

// A tensor map (CUtensorMap) and the parameters that made it, as captures store
// it in attribute 48. Parameters that the function does not take are 0.
typedef struct ts__cuda_tensor {
    uint64_t bytes[16];
    uint64_t address;
    uint32_t kind, type, rank, interleave, swizzle, promotion, fill, mode;
    uint64_t dims[5], strides[5];
    uint32_t box[5], steps[5];
    int32_t lower[5], upper[5];
    uint32_t channels, pixels;
} ts__cuda_tensor;

typedef struct ts__cuda_kernel_node { // CUDA_KERNEL_NODE_PARAMS_v2
    void *function;
    uint32_t grid[3], block[3], shared;
    void **arguments, **more;
    void *kernel, *context; // kernel: used if function is NULL
} ts__cuda_kernel_node;
// Size before CUDA 12, without the last two fields.
enum { TS__CUDA_KERNEL_NODE_OLD = 56 };

typedef struct ts__cuda_set_node { // CUDA_MEMSET_NODE_PARAMS
    uint64_t to;
    size_t pitch;
    uint32_t value, width;
    size_t count, rows;
} ts__cuda_set_node;

typedef struct ts__cuda_any_node { // CUgraphNodeParams
    int32_t type, reserved[3];
    union {
        ts__cuda_kernel_node kernel;
        struct {
            int32_t flags, reserved;
            void *context;
            ts__cuda_box box;
        } copy;
        ts__cuda_set_node set;
        void *graph;
        uint64_t room[29];
    } as;
    uint64_t more;
} ts__cuda_any_node;

enum { // CUgraphNodeType
    TS__CUDA_NODE_KERNEL = 0,
    TS__CUDA_NODE_COPY = 1,
    TS__CUDA_NODE_SET = 2,
    TS__CUDA_NODE_HOST = 3,
    TS__CUDA_NODE_CHILD = 4,
    TS__CUDA_NODE_EMPTY = 5,
    TS__CUDA_NODE_WAIT = 6,
    TS__CUDA_NODE_RECORD = 7,
    TS__CUDA_NODE_SIGNAL = 8,
    TS__CUDA_NODE_SEMAPHORE = 9,
    TS__CUDA_NODE_ALLOC = 10,
    TS__CUDA_NODE_FREE = 11,
    TS__CUDA_NODE_MEMOP = 12,
    TS__CUDA_NODE_CONDITIONAL = 13
};

enum { TS__CUDA_LINEAR = 2, TS__CUDA_PITCH = 3 }; // CUresourcetype

// A texture object over memory, as captures store it in attribute 49:
// CUDA_RESOURCE_DESC, CUDA_TEXTURE_DESC, CUDA_RESOURCE_VIEW_DESC.
typedef struct ts__cuda_texture {
    uint64_t handle;
    uint64_t has_view;
    struct {
        uint32_t type, pad;
        uint64_t address; // for linear and pitched memory
        uint8_t more[128];
    } resource;
    uint8_t texture[104];
    uint8_t view[112];
} ts__cuda_texture;

#endif // TS__GPU_CUDA_ABI_H
