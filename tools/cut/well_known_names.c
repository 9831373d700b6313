/*
    well_known_names.c - names that are kept when a trace is anonymised

    They are public and do not identify a program: functions of vendors'
    runtimes, metadata keys that tools use, units, kinds of collectives.
*/
#include "tools/cut/cut.h"

static bool is_in(ts_text text, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (cli_is_text(text, names[i])) return true;
    return false;
}
#define IS_IN(text, names) is_in(text, names, sizeof(names) / sizeof *(names))

// Runtime functions, without the prefix cuda or hip.
static const char *const runtime[] = {
    "DeviceSynchronize",
    "DeviceGetAttribute",
    "DeviceGetStreamPriorityRange",
    "EventCreate",
    "EventCreateWithFlags",
    "EventDestroy",
    "EventElapsedTime",
    "EventQuery",
    "EventRecord",
    "EventRecordWithFlags",
    "EventSynchronize",
    "ExtModuleLaunchKernel",
    "Free",
    "FreeArray",
    "FreeAsync",
    "FreeHost",
    "FuncGetAttributes",
    "FuncSetAttribute",
    "GetDevice",
    "GetDeviceCount",
    "GetDeviceProperties",
    "GetLastError",
    "GraphExecDestroy",
    "GraphInstantiate",
    "GraphLaunch",
    "HostAlloc",
    "HostFree",
    "HostMalloc",
    "HostRegister",
    "HostUnregister",
    "IpcGetMemHandle",
    "IpcOpenMemHandle",
    "LaunchCooperativeKernel",
    "LaunchHostFunc",
    "LaunchKernel",
    "LaunchKernelExC",
    "Malloc",
    "MallocArray",
    "MallocAsync",
    "MallocFromPoolAsync",
    "MallocHost",
    "MallocManaged",
    "MemGetInfo",
    "MemPrefetchAsync",
    "Memcpy",
    "Memcpy2D",
    "Memcpy2DAsync",
    "Memcpy3D",
    "Memcpy3DAsync",
    "MemcpyAsync",
    "MemcpyDtoD",
    "MemcpyDtoDAsync",
    "MemcpyDtoH",
    "MemcpyDtoHAsync",
    "MemcpyHtoD",
    "MemcpyHtoDAsync",
    "MemcpyPeer",
    "MemcpyPeerAsync",
    "MemcpyToSymbol",
    "MemcpyToSymbolAsync",
    "MemcpyWithStream",
    "Memset",
    "Memset2D",
    "Memset2DAsync",
    "MemsetAsync",
    "ModuleLaunchKernel",
    "OccupancyMaxActiveBlocksPerMultiprocessor",
    "OccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    "PeekAtLastError",
    "PointerGetAttributes",
    "SetDevice",
    "StreamAddCallback",
    "StreamBeginCapture",
    "StreamCreate",
    "StreamCreateWithFlags",
    "StreamCreateWithPriority",
    "StreamDestroy",
    "StreamEndCapture",
    "StreamGetCaptureInfo",
    "StreamIsCapturing",
    "StreamQuery",
    "StreamSynchronize",
    "StreamWaitEvent",
    "ThreadExchangeStreamCaptureMode",
};

// Driver functions, without the prefix cu.
static const char *const driver[] = {
    "CtxSynchronize",
    "EventCreate",
    "EventDestroy",
    "EventQuery",
    "EventRecord",
    "EventSynchronize",
    "GraphLaunch",
    "LaunchCooperativeKernel",
    "LaunchHostFunc",
    "LaunchKernel",
    "LaunchKernelEx",
    "MemAlloc",
    "MemAllocAsync",
    "MemAllocHost",
    "MemAllocManaged",
    "MemAllocPitch",
    "MemFree",
    "MemFreeAsync",
    "MemFreeHost",
    "MemHostAlloc",
    "MemHostRegister",
    "MemHostUnregister",
    "Memcpy",
    "MemcpyAsync",
    "MemcpyDtoD",
    "MemcpyDtoDAsync",
    "MemcpyDtoH",
    "MemcpyDtoHAsync",
    "MemcpyHtoD",
    "MemcpyHtoDAsync",
    "MemcpyPeer",
    "MemcpyPeerAsync",
    "MemsetD16",
    "MemsetD16Async",
    "MemsetD32",
    "MemsetD32Async",
    "MemsetD8",
    "MemsetD8Async",
    "ModuleLoad",
    "ModuleLoadData",
    "ModuleLoadDataEx",
    "ModuleUnload",
    "StreamCreate",
    "StreamCreateWithPriority",
    "StreamDestroy",
    "StreamQuery",
    "StreamSynchronize",
    "StreamWaitEvent",
    "StreamWaitValue32",
    "StreamWriteValue32",
};

// Returns the size of a name less its version suffix: "_v2", "_v11010_ptsz",
// "_ptds".
static size_t without_version(ts_text text)
{
    for (size_t i = 1; i + 1 < text.size; i++) {
        if (text.text[i] != '_') continue;
        const char next = text.text[i + 1];
        if (next == 'v' || next == 'p') {
            size_t k = i;
            while (k < text.size && strchr("_vptszd0123456789", text.text[k]))
                k++;
            if (k == text.size) return i;
        }
    }
    return text.size;
}

static bool is_function(ts_text text)
{
    ts_text name = { text.text, without_version(text) };
    static const char *const prefixes[] = { "cuda", "hip", "cu" };
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        const size_t size = strlen(prefixes[i]);
        if (name.size <= size || memcmp(name.text, prefixes[i], size)) continue;
        const ts_text rest = { name.text + size, name.size - size };
        if (i < 2 ? IS_IN(rest, runtime) : IS_IN(rest, driver)) return true;
    }
    return false;
}

// Metadata keys that tools look for, or whose values only describe a kind.
static const char *const keys[] = {
    "anonymised",
    "capture.filter",
    "capture.kinds",
    "compute_major",
    "compute_minor",
    "cut.added",
    "cut.begin_ns",
    "cut.clip",
    "cut.from_ns",
    "cut.kept",
    "cut.left_out",
    "cut.of",
    "cut.thinned",
    "cut.to_ns",
    "cut.what",
    "import.format",
    "import.rows",
    "max_threads_per_block",
    "max_threads_per_multiprocessor",
    "memory_bytes",
    "merge.collectives",
    "merge.files",
    "merge.found_by",
    "merge.offset_ns",
    "merge.part",
    "merge.residual_ns",
    "multiprocessors",
    "process_groups",
    "rank",
    "records",
    "regs_per_block",
    "regs_per_multiprocessor",
    "replay.makespan_ns",
    "replay.operations",
    "replay.recorded_makespan_ns",
    "salvaged.records",
    "shared_mem_per_block",
    "shared_mem_per_block_optin",
    "shared_mem_per_multiprocessor",
    "sort_index",
    "warp_size",
    "world_size",
};

static const char *const units[] = {
    "%",       "B",  "bytes", "count", "GB/s",  "Hz",    "KiB",
    "MB/s",    "ms", "ns",    "s",     "MHz",   "MiB",   "GiB",
    "threads", "us", "W",     "C",     "calls", "items", "events",
};

// Returns whether a name is that of a PyTorch step, ProfilerStep#N.
static bool is_step(ts_text text)
{
    static const char step[] = "ProfilerStep#";
    const size_t size = sizeof step - 1;
    if (text.size <= size || text.size > size + 12 ||
        memcmp(text.text, step, size))
        return false;
    for (size_t i = size; i < text.size; i++)
        if (text.text[i] < '0' || text.text[i] > '9') return false;
    return true;
}

static const char *const values[] = {
    "kineto", "nsys",        "rpd",         "chakra", "first",
    "given",  "collectives", "time_of_day", "clock",  "nothing",
};

bool cut_is_public(copy_role role, ts_text text)
{
    switch (role) {
    case COPY_API: return is_function(text);
    case COPY_KEY: return IS_IN(text, keys);
    case COPY_UNIT: return IS_IN(text, units);
    case COPY_VALUE: return IS_IN(text, values);
    case COPY_ZONE: return is_step(text) || is_function(text);
    default: return false;
    }
}

const char *cut_collective(ts_text text)
{
    static const char *const known[][2] = {
        { "AllReduce", "allreduce" },
        { "AllReduce", "all_reduce" },
        { "AllGather", "allgather" },
        { "AllGather", "all_gather" },
        { "ReduceScatter", "reducescatter" },
        { "ReduceScatter", "reduce_scatter" },
        { "AllToAll", "alltoall" },
        { "AllToAll", "all_to_all" },
        { "Broadcast", "broadcast" },
        { "SendRecv", "sendrecv" },
        { "Send", "send" },
        { "Recv", "recv" },
        { "Barrier", "barrier" },
        { "Gather", "gather" },
        { "Scatter", "scatter" },
        { "Reduce", "reduce" },
    };
    char lower[256];
    size_t size = 0;
    for (; size < text.size && size < sizeof lower - 1; size++) {
        const char c = text.text[size];
        lower[size] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c ? c : ' ');
    }
    lower[size] = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(lower, known[i][1])) return known[i][0];
    return NULL;
}
