/*
    ts_hip_snapshot_calls.h - calls of HIP as captures of CUDA want them; a part
    of ts_hip_snapshot.h, private to it

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    WHAT IT DOES
        Says which functions of HIP matter, and lays out what they are called
        with as those of CUDA's driver have it.

    CONTENTS                            search for "==== 2." to jump
        1. Which functions
        2. Arguments
*/
#if defined(TS__HIP_IMPLEMENTED) && !defined(TS_HIP_SNAPSHOT_CALLS_H)
#define TS_HIP_SNAPSHOT_CALLS_H

/* ==== 1. Which functions ================================================= */

enum { // kinds that only HIP has
    TS__HS_MODULE = 100,
    TS__HS_MODULE_FILE,
    TS__HS_MODULE_GONE,
    TS__HS_FUNCTION,
    TS__HS_COPY_ADDED, // node *, graph
    TS__HS_COPY_CHANGED,
    TS__HS_GRAPH_GONE,
    TS__HS_NODE_GONE
};

typedef enum ts__hs_how { // its arguments lie
    TS__HS_SAME,          // as CUDA's do
    TS__HS_LAUNCH,        // function, grid, block, arguments, LDS, stream
    TS__HS_ITEMS,         // as CUDA's, but the grid counts work items
    TS__HS_ROWS,          // one after another
    TS__HS_BOX,           // in hipMemcpy3DParms
    TS__HS_CONFIG,        // in hipLaunchConfig_t
    // Of nodes of graphs, behind two of them: as they lie, in a structure of
    // HIP's.
    TS__HS_NODE_LINE,
    TS__HS_NODE_BOX,
    TS__HS_NODE_KERNEL,
    TS__HS_NODE_SET,
    TS__HS_NODE_UNKNOWN
} ts__hs_how;

enum {                  // widths
    TS__HS_OF_HOST = 1, // of a launch: its function is the host's
    TS__HS_DEEP = 3     // of a set: a node does not say how deep it is
};

typedef struct ts__hs_rule {
    ts__cs_rule like;  // the name without hip and _spt
    uint8_t how, size; // of the arguments, in bytes
} ts__hs_rule;

// Source: hip/hip_runtime_api.h, hip/hip_ext.h.
static const ts__hs_rule ts__hs_rules[] = {
    { { "LaunchKernel", TS__CS_LAUNCH, TS__HS_OF_HOST, 40 },
      TS__HS_LAUNCH,
      56 },
    { { "ExtLaunchKernel", TS__CS_LAUNCH, TS__HS_OF_HOST, 40 },
      TS__HS_LAUNCH,
      56 },
    { { "LaunchCooperativeKernel", TS__CS_LAUNCH_TOGETHER, TS__HS_OF_HOST, 40 },
      TS__HS_LAUNCH,
      56 },
    { { "ModuleLaunchKernel", TS__CS_LAUNCH, 0, 40 }, TS__HS_SAME, 64 },
    { { "ModuleLaunchCooperativeKernel", TS__CS_LAUNCH_TOGETHER, 0, 40 },
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
    { { "Memset3DAsync", TS__CS_OTHER, TS__HS_DEEP, 64 }, TS__HS_SAME, 72 },
    { { "Memset*", TS__CS_OTHER, 0, 0 }, TS__HS_SAME, 0 },
    { { "StreamWriteValue*", TS__CS_OTHER, 0, 0 }, TS__HS_SAME, 0 },
    { { "StreamBatchMemOp*", TS__CS_OTHER, 0, 0 }, TS__HS_SAME, 0 },
    { { "Malloc", TS__CS_ALLOC, 0, 0 }, TS__HS_SAME, 16 },
    { { "ExtMallocWithFlags", TS__CS_ALLOC, 0, 0 }, TS__HS_SAME, 16 },
    { { "MallocAsync", TS__CS_ALLOC, 0, 0 }, TS__HS_SAME, 16 },
    { { "MallocFromPoolAsync", TS__CS_ALLOC, 0, 0 }, TS__HS_SAME, 16 },
    { { "MallocPitch", TS__CS_ALLOC_ROWS, 0, 0 }, TS__HS_SAME, 32 },
    { { "MemAllocPitch", TS__CS_ALLOC_ROWS, 0, 0 }, TS__HS_SAME, 32 },
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
    { { "GraphNodeSetEnabled", TS__CS_NODE_ON, 0, 0 }, TS__HS_SAME, 20 },
};
enum { TS__HS_RULES = sizeof ts__hs_rules / sizeof *ts__hs_rules };

typedef struct ts__hs_kept { // a function by its number
    const ts__hs_rule *rule; // NULL: it does not matter
    bool per_thread;         // its default stream is the thread's own
} ts__hs_kept;
static ts__hs_kept ts__hs_keep[TS__HIP_APIS];

// Whether calls of the function with that number matter for captures.
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

/* ==== 2. Arguments ======================================================= */

typedef struct ts__hs_arguments { // as CUDA's driver has them
    uint64_t words[9];
    ts__cuda_box box;
    union {
        ts__cuda_launch launch;
        ts__cuda_kernel_node kernel;
        ts__cuda_set_node set;
    } as;
} ts__hs_arguments;

// What is not known to lie there is zeros.
static void ts__hs_bytes(uint64_t *words, const char *from, size_t size)
{
    memset(words, 0, 9 * sizeof *words);
    memcpy(words, from, size < 72 ? size : 72);
}

// function 0, grid 8, block 20, arguments 32, LDS 40 (one of two types, the
// lower half of which is in the same place), stream 48
static void ts__hs_launch(uint64_t *words, const char *from)
{
    uint64_t shared = 0;
    ts__hs_bytes(words, from, 32);
    memcpy(&shared, from + 40, 4);
    words[4] = shared;
    memcpy(&words[5], from + 48, 8);
    memcpy(&words[6], from + 32, 8);
}

// False: its last groups are not full, which no other function can ask for.
static bool ts__hs_items(uint64_t *words)
{
    uint32_t dimensions[6];
    memcpy(dimensions, &words[1], sizeof dimensions);
    for (int i = 0; i < 3; i++) {
        const uint32_t block = dimensions[i + 3];
        if (!block || dimensions[i] % block) return false;
        dimensions[i] /= block;
    }
    memcpy(&words[1], dimensions, sizeof dimensions);
    return true;
}

// An end of a box: HIP's addresses tell by themselves whose they are.
static void ts__hs_end(ts__cuda_end *end, uint64_t address, uint64_t pitch)
{
    end->type = TS__CUDA_UNIFIED;
    end->device = address;
    end->pitch = pitch;
}

// destination 0, its pitch 8, source 16, its pitch 24, width 32, height 40,
// kind 48, stream 56
static void ts__hs_rows(ts__hs_arguments *a, const char *from)
{
    uint64_t given[6];
    memcpy(given, from, sizeof given);
    memset(&a->box, 0, sizeof a->box);
    ts__hs_end(&a->box.to, given[0], given[1]);
    ts__hs_end(&a->box.from, given[2], given[3]);
    a->box.width = given[4];
    a->box.height = given[5];
    a->box.depth = 1;
}

typedef struct ts__hs_corner { // of a hipMemcpy3DParms
    uint64_t array, x, y, z;
    uint64_t address, pitch, width, height;
} ts__hs_corner;

// at: NULL is none.
static void ts__hs_box(ts__hs_arguments *a, const void *at)
{
    struct {
        ts__hs_corner from, to;
        uint64_t width, height, depth;
    } given;
    memset(&a->box, 0, sizeof a->box);
    a->box.from.type = 3; // an array, until it is known that there is none
    if (!at) return;
    memcpy(&given, at, sizeof given);
    if (given.from.array || given.to.array) return;
    const ts__hs_corner *const ends[2] = { &given.from, &given.to };
    ts__cuda_end *const to[2] = { &a->box.from, &a->box.to };
    for (int i = 0; i < 2; i++) {
        ts__hs_end(to[i], ends[i]->address, ends[i]->pitch);
        to[i]->x = ends[i]->x;
        to[i]->y = ends[i]->y;
        to[i]->z = ends[i]->z;
        to[i]->height = ends[i]->height;
    }
    a->box.width = given.width;
    a->box.height = given.height;
    a->box.depth = given.depth;
}

// Of nodes of graphs. Source: hip/hip_runtime_api.h of HIP 5.2 to 6.2.
typedef struct ts__hs_kernel_node { // hipKernelNodeParams
    uint32_t block[3], unused;
    void **more;
    void *function;
    uint32_t grid[3], unused_too;
    void **arguments;
    uint32_t shared;
} ts__hs_kernel_node;

typedef struct ts__hs_set_node { // hipMemsetParams
    uint64_t to;
    uint32_t width;
    uint64_t rows, pitch;
    uint32_t value;
    uint64_t count;
} ts__hs_set_node;

static void ts__hs_kernel_of(ts__cuda_kernel_node *to, const void *given)
{
    ts__hs_kernel_node k;
    memset(to, 0, sizeof *to);
    if (!given) return;
    memcpy(&k, given, sizeof k);
    to->function = k.function;
    memcpy(to->grid, k.grid, sizeof to->grid);
    memcpy(to->block, k.block, sizeof to->block);
    to->shared = k.shared;
    to->arguments = k.arguments;
    to->more = k.more;
}

static void ts__hs_set_of(ts__cuda_set_node *to, const void *given)
{
    ts__hs_set_node s;
    memset(to, 0, sizeof *to);
    if (!given) return;
    memcpy(&s, given, sizeof s);
    to->to = s.to;
    to->pitch = s.pitch;
    to->value = s.value;
    to->width = s.width;
    to->count = s.count;
    to->rows = s.rows;
}

// hipLaunchConfig_t: as CUDA's, but its size of shared memory has eight bytes.
static void ts__hs_config(ts__hs_arguments *a, const char *from)
{
    const char *const at = ts__read_text(from, 0);
    ts__cuda_launch *const l = &a->as.launch;
    ts__hs_bytes(a->words, from, 24);
    memset(l, 0, sizeof *l);
    if (!at) return;
    memcpy(l, at, 24);
    l->shared = ts__read32(at, 24);
    l->stream = (void *)(uintptr_t)ts__read64(at, 32);
    l->attributes = (ts__cuda_attribute *)(uintptr_t)ts__read64(at, 40);
    l->attribute_count = ts__read32(at, 48);
    a->words[0] = (uintptr_t)l;
}

// What a node becomes: the third argument of CUDA's functions.
static void ts__hs_node(ts__hs_arguments *a, const ts__hs_rule *rule,
                        const char *from)
{
    const size_t at = rule->like.width; // of copies
    uint64_t line[3];
    ts__hs_bytes(a->words, from, rule->size < 24 ? rule->size : 24);
    switch ((ts__hs_how)rule->how) {
    case TS__HS_NODE_LINE:
        memcpy(line, from + at, sizeof line);
        memset(&a->box, 0, sizeof a->box);
        ts__hs_end(&a->box.to, line[0], 0);
        ts__hs_end(&a->box.from, line[1], 0);
        a->box.width = line[2];
        a->box.height = a->box.depth = 1;
        a->words[2] = (uintptr_t)&a->box;
        break;
    case TS__HS_NODE_BOX:
        ts__hs_box(a, ts__read_text(from, at));
        a->words[2] = (uintptr_t)&a->box;
        break;
    case TS__HS_NODE_KERNEL:
        ts__hs_kernel_of(&a->as.kernel, ts__read_text(from, 16));
        a->words[2] = (uintptr_t)&a->as.kernel;
        break;
    case TS__HS_NODE_SET:
        ts__hs_set_of(&a->as.set, ts__read_text(from, 16));
        a->words[2] = (uintptr_t)&a->as.set;
        break;
    default: a->words[1] = UINT64_MAX; // which one nobody knows
    }
}

// False: CUDA has nothing that is like it.
static bool ts__hs_translate(ts__hs_arguments *a, const ts__hs_rule *rule,
                             const char *from)
{
    const uintptr_t box = (uintptr_t)&a->box;
    switch ((ts__hs_how)rule->how) {
    case TS__HS_LAUNCH: ts__hs_launch(a->words, from); return true;
    case TS__HS_ITEMS:
        ts__hs_bytes(a->words, from, rule->size);
        return ts__hs_items(a->words);
    case TS__HS_ROWS:
        ts__hs_bytes(a->words, from, 0);
        ts__hs_rows(a, from);
        a->words[0] = box;
        if (rule->like.stream_at) memcpy(&a->words[1], from + 56, 8);
        return true;
    case TS__HS_BOX:
        ts__hs_bytes(a->words, from, rule->size);
        ts__hs_box(a, ts__read_text(from, 0));
        a->words[0] = box;
        return true;
    case TS__HS_CONFIG: ts__hs_config(a, from); return true;
    case TS__HS_NODE_LINE:
    case TS__HS_NODE_BOX:
    case TS__HS_NODE_KERNEL:
    case TS__HS_NODE_SET:
    case TS__HS_NODE_UNKNOWN: ts__hs_node(a, rule, from); return true;
    default: ts__hs_bytes(a->words, from, rule->size); return true;
    }
}

#endif // TS_HIP_SNAPSHOT_CALLS_H
