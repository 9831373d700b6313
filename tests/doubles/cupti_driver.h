/*
    cupti_driver.h - the driver's functions as the double of CUPTI numbers
    them: a part of libcupti.c
*/

// Functions of the driver that programs call themselves, from DRIVER_FIRST on.
enum { DRIVER_FIRST = 100 };
static const char *const driver_functions[] = { "LaunchKernel",
                                                "LaunchKernelEx",
                                                "LaunchCooperativeKernel",
                                                "GraphLaunch",
                                                "ModuleLoadData",
                                                "LibraryLoadData",
                                                "ModuleUnload",
                                                "LibraryUnload",
                                                "LibraryGetGlobal",
                                                "CtxCreate_v2",
                                                "CtxDestroy_v2",
                                                "DevicePrimaryCtxReset_v2",
                                                "DevicePrimaryCtxRelease_v2",
                                                "FuncSetAttribute",
                                                "KernelSetAttribute",
                                                "MemAlloc_v2",
                                                "MemAllocManaged",
                                                "MemFree_v2",
                                                "MemMap",
                                                "MemUnmap",
                                                "MemcpyHtoD_v2",
                                                "MemcpyDtoH_v2",
                                                "MemcpyDtoD_v2",
                                                "MemcpyHtoDAsync_v2",
                                                "MemcpyDtoHAsync_v2",
                                                "MemcpyDtoDAsync_v2",
                                                "MemcpyAsync",
                                                "MemcpyPeerAsync",
                                                "MemsetD8Async",
                                                "MemsetD16Async",
                                                "MemsetD32Async",
                                                "StreamCreate",
                                                "StreamCreateWithPriority",
                                                "StreamSynchronize",
                                                "StreamQuery",
                                                "CtxSynchronize",
                                                "CtxRecordEvent",
                                                "StreamWaitEvent",
                                                "EventRecord",
                                                "EventSynchronize",
                                                "EventQuery",
                                                "StreamBeginCapture_v2",
                                                "StreamEndCapture",
                                                "MemAllocHost_v2",
                                                "MemFreeHost",
                                                "MemAddressReserve",
                                                "MemAddressFree",
                                                "StreamDestroy_v2",
                                                "TexObjectCreate",
                                                "TexObjectDestroy",
                                                "SurfObjectCreate",
                                                "SurfObjectDestroy",
                                                "TensorMapEncodeTiled",
                                                "TensorMapEncodeIm2col",
                                                "TensorMapEncodeIm2colWide",
                                                "TensorMapReplaceAddress",
                                                "GraphInstantiateWithFlags",
                                                "GraphExecKernelNodeSetParams_"
                                                "v2",
                                                "GraphExecMemcpyNodeSetParams",
                                                "GraphExecMemsetNodeSetParams",
                                                "GraphExecChildGraphNode"
                                                "SetParams",
                                                "GraphExecNodeSetParams",
                                                "MemcpyBatchAsync",
                                                "MemcpyBatchAsync_v2",
                                                "Memcpy3DBatchAsync_v2",
                                                "GraphNodeSetEnabled",
                                                "GraphExecUpdate_v2",
                                                "GraphExecDestroy" };
enum { DRIVER_COUNT = sizeof driver_functions / sizeof *driver_functions };

static uint32_t driver_id(const char *name)
{
    for (uint32_t i = 0; i < DRIVER_COUNT; i++)
        if (!strcmp(driver_functions[i], name + sizeof DRIVER - 1))
            return DRIVER_FIRST + i;
    return 0;
}

API(GetCallbackName)(uint32_t domain, uint32_t id, const char **name)
{
    static char names[DRIVER_COUNT][64];
    const uint32_t own = id - DRIVER_FIRST;
    if (get("no_call_names")) return INVALID;
    if (getenv("DOUBLE_RECORDING")) {
        *name = domain < 3 && id < IDS ? recorded_names[domain][id] : NULL;
        return *name ? 0 : INVALID;
    }
    if (domain == 1 && own < DRIVER_COUNT) {
        snprintf(names[own], sizeof *names, DRIVER "%s", driver_functions[own]);
        *name = names[own];
        return 0;
    }
    if (id >= FUNCTIONS || (domain != 1 && domain != 2)) return INVALID;
    *name = functions[id];
    if (!id || (domain == 1) != (id == 2))
        *name = domain == 1 ? DRIVER "Init" : RUNTIME "GetDevice";
    return 0;
}

API(GetStreamIdEx)(void *context, void *stream, uint8_t each, uint32_t *id)
{
    const uint32_t number = (uint32_t)(uintptr_t)stream;
    *id = number && !each ? 13 + number : 7;
    return context ? 0 : INVALID;
}

static uint32_t context_device(const void *context);

API(GetDeviceId)(void *context, uint32_t *id)
{
    *id = context_device(context);
    return context ? 0 : INVALID;
}

static uint32_t context_number(const void *context);

API(GetContextId)(void *context, uint32_t *id)
{
    *id = getenv("DOUBLE_RECORDING") ? (uint32_t)(uintptr_t)context
                                     : context_number(context);
    return context ? 0 : INVALID;
}
