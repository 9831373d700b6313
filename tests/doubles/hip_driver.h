/*
    hip_driver.h - memory, code and launches of the double of libamdhip64.so,
    done by its device: a part of amdhip64.c
*/

/* ---- Memory ------------------------------------------------------------- */

#define PLAIN(name, device_name, parameters, arguments) \
    EXPORT int name parameters; \
    int name parameters \
    { \
        return ON_DEVICE->device_name arguments; \
    }
PLAIN(hipInit, cuInit, (unsigned flags), (flags))
PLAIN(hipMemGetAllocationGranularity, cuMemGetAllocationGranularity,
      (size_t * size, const void *what, int how), (size, what, how))
PLAIN(hipMemAddressReserve, cuMemAddressReserve,
      (uint64_t * address, size_t size, size_t alignment, uint64_t wish,
       unsigned long long flags),
      (address, size, alignment, wish, flags))
PLAIN(hipMemAddressFree, cuMemAddressFree, (uint64_t address, size_t size),
      (address, size))
PLAIN(hipMemCreate, cuMemCreate,
      (uint64_t * handle, size_t size, const void *what,
       unsigned long long flags),
      (handle, size, what, flags))
PLAIN(hipMemRelease, cuMemRelease, (uint64_t handle), (handle))
PLAIN(hipMemSetAccess, cuMemSetAccess,
      (uint64_t address, size_t size, const int *how, size_t count),
      (address, size, how, count))
PLAIN(hipMemGetAddressRange, cuMemGetAddressRange_v2,
      (uint64_t * base, size_t *size, uint64_t address), (base, size, address))
PLAIN(hipPointerGetAttribute, cuPointerGetAttribute,
      (unsigned *value, int what, uint64_t address), (value, what, address))
PLAIN(hipModuleGetGlobal, cuModuleGetGlobal_v2,
      (uint64_t * address, size_t *size, void *module, const char *name),
      (address, size, module, name))

EXPORT int hipMemMap(uint64_t address, size_t size, size_t offset,
                     uint64_t handle, unsigned long long flags);
int hipMemMap(uint64_t address, size_t size, size_t offset, uint64_t handle,
              unsigned long long flags)
{
    BEGIN(hipMemMap, address, size, offset, handle, flags);
    return end(&c, ON_DEVICE->cuMemMap(address, size, offset, handle, flags));
}

EXPORT int hipMemUnmap(uint64_t address, size_t size);
int hipMemUnmap(uint64_t address, size_t size)
{
    BEGIN(hipMemUnmap, address, size);
    return end(&c, ON_DEVICE->cuMemUnmap(address, size));
}

EXPORT int hipMallocManaged(void **pointer, size_t size, unsigned flags)
{
    BEGIN(hipMallocManaged, pointer, size, flags);
    return end(&c, ON_DEVICE->cuMemAlloc_v2((uint64_t *)pointer, size));
}

// Memory of the host that the device may reach.
EXPORT int hipHostMalloc(void **pointer, size_t size, unsigned flags)
{
    BEGIN(hipHostMalloc, pointer, size, flags);
    *pointer = malloc(size);
    return end(&c, *pointer ? hipSuccess : hipErrorOutOfMemory);
}

EXPORT int hipHostFree(void *pointer)
{
    BEGIN(hipHostFree, pointer);
    free(pointer);
    return end(&c, hipSuccess);
}

/* ---- Copies and sets ---------------------------------------------------- */

static int copy_on(uint64_t to, uint64_t from, size_t size, int kind,
                   hipStream_t stream)
{
    double_op op = { .kind = DOUBLE_COPY, .size = size, .copy = kind };
    op.to = (const void *)(uintptr_t)to;
    op.from = (const void *)(uintptr_t)from;
    const int result =
        ON_DEVICE->cuMemcpyDtoDAsync_v2(to, from, size, device_stream(stream));
    if (!result) submit_on(&op, stream);
    return result;
}

#define COPY(name, to_type, from_type, kind) \
    EXPORT int name(to_type to, from_type from, size_t size); \
    int name(to_type to, from_type from, size_t size) \
    { \
        BEGIN(name, (uint64_t)to, (uint64_t)from, size, NULL); \
        return end(&c, \
                   copy_on((uint64_t)to, (uint64_t)from, size, kind, NULL)); \
    }
#define COPY_ASYNC(name, to_type, from_type, kind) \
    EXPORT int name(to_type to, from_type from, size_t size, \
                    hipStream_t stream); \
    int name(to_type to, from_type from, size_t size, hipStream_t stream) \
    { \
        BEGIN(name, (uint64_t)to, (uint64_t)from, size, stream); \
        return end(&c, \
                   copy_on((uint64_t)to, (uint64_t)from, size, kind, stream)); \
    }
COPY(hipMemcpyHtoD, uint64_t, const void *, 1)
COPY(hipMemcpyDtoH, void *, uint64_t, 2)
COPY_ASYNC(hipMemcpyHtoDAsync, uint64_t, const void *, 1)
COPY_ASYNC(hipMemcpyDtoHAsync, void *, uint64_t, 2)
COPY_ASYNC(hipMemcpyDtoDAsync, uint64_t, uint64_t, 3)

static void set_told(double_op *op, const void *to, size_t size)
{
    const double_op set = { .kind = DOUBLE_SET,
                            .size = size,
                            .to = to,
                            .name = "__amd_rocclr_fillBufferAligned",
                            .number = KERNELS + 1,
                            .items = { 256, 1, 1 },
                            .block = { 64, 1, 1 } };
    *op = set;
}

#define SET(name, device_name, type, width) \
    EXPORT int name(void *to, type value, size_t count, hipStream_t stream); \
    int name(void *to, type value, size_t count, hipStream_t stream) \
    { \
        BEGIN(name, to, value, count, stream); \
        double_op op; \
        set_told(&op, to, count *width); \
        const int result = \
            ON_DEVICE->device_name((uintptr_t)to, (unsigned_##width)value, \
                                   count, device_stream(stream)); \
        if (!result) submit_on(&op, stream); \
        return end(&c, result); \
    }
typedef unsigned char unsigned_1;
typedef unsigned short unsigned_2;
typedef unsigned unsigned_4;
SET(hipMemsetD8Async, cuMemsetD8Async, unsigned char, 1)
SET(hipMemsetD16Async, cuMemsetD16Async, unsigned short, 2)
SET(hipMemsetD32Async, cuMemsetD32Async, int, 4)

EXPORT int hipMemset2DAsync(void *to, size_t pitch, int value, size_t width,
                            size_t height, hipStream_t stream)
{
    BEGIN(hipMemset2DAsync, to, pitch, value, width, height, stream);
    double_op op;
    set_told(&op, to, width * height);
    for (size_t y = 0; y < height; y++)
        memset((char *)to + y * pitch, value, width);
    submit_on(&op, stream);
    return end(&c, hipSuccess);
}

/* ---- Streams -------------------------------------------------------- */

EXPORT int hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags,
                                       int priority);
int hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags,
                                int priority)
{
    BEGIN(hipStreamCreateWithPriority, .stream = stream, .flags = flags,
          .priority = priority);
    *stream = stream_new();
    return end(&c, hipSuccess);
}

EXPORT int hipStreamQuery(hipStream_t stream);
int hipStreamQuery(hipStream_t stream)
{
    return ON_DEVICE->cuStreamQuery(device_stream(stream));
}

EXPORT int hipEventCreateWithFlags(hipEvent_t *event, unsigned flags);
int hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
    return event_new(event, flags);
}

EXPORT int hipEventDestroy(hipEvent_t event)
{
    free(event);
    return hipSuccess;
}

EXPORT int hipStreamIsCapturing(hipStream_t stream, int *status);
int hipStreamIsCapturing(hipStream_t stream, int *status)
{
    return ON_DEVICE->cuStreamIsCapturing(device_stream(stream), status);
}

PLAIN(hipThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode,
      (int *mode), (mode))

EXPORT int hipStreamBeginCapture(hipStream_t stream, int mode)
{
    BEGIN(hipStreamBeginCapture, stream, mode);
    const int result =
        ON_DEVICE->cuStreamBeginCapture_v2(device_stream(stream), mode);
    recording += !result;
    return end(&c, result);
}

EXPORT int hipStreamEndCapture(hipStream_t stream, void **graph)
{
    BEGIN(hipStreamEndCapture, stream, graph);
    const int result =
        ON_DEVICE->cuStreamEndCapture(device_stream(stream), graph);
    recording -= !result;
    return end(&c, result);
}

EXPORT int hipLaunchHostFunc(hipStream_t stream, void (*function)(void *),
                             void *data)
{
    BEGIN(hipLaunchHostFunc, stream, function, data);
    function(data);
    return end(&c, hipSuccess);
}

/* ---- Code --------------------------------------------------------------- */

#define BUNDLE "__CLANG_OFFLOAD_BUNDLE__"

// What a file for many devices has for ours; others are code themselves.
static const void *code_of(const void *image)
{
    static const char ours[] = "hipv4-amdgcn-amd-amdhsa--gfx942";
    uint64_t count, entry[3];
    // Compressed, what is in it stays: a kernel's code is in there.
    if (!memcmp(image, "CCOB", 4))
        image = ts__amd_unpack(image, UINT64_MAX / 2, &count);
    if (!image) return NULL;
    const char *at = image;
    if (memcmp(image, BUNDLE, sizeof BUNDLE - 1) != 0) return image;
    at += sizeof BUNDLE - 1;
    memcpy(&count, at, sizeof count);
    at += sizeof count;
    while (count--) {
        memcpy(entry, at, sizeof entry); // offset, size, size of the name
        at += sizeof entry;
        if (entry[2] == sizeof ours - 1 && !memcmp(at, ours, sizeof ours - 1))
            return (const char *)image + entry[0];
        at += entry[2];
    }
    return NULL;
}

EXPORT int hipModuleLoadData(void **module, const void *image)
{
    BEGIN(hipModuleLoadData, module, image);
    const void *const code = code_of(image);
    return end(&c, code ? ON_DEVICE->cuModuleLoadData(module, code)
                        : hipErrorNoBinaryForGpu);
}

EXPORT int hipModuleUnload(void *module)
{
    BEGIN(hipModuleUnload, module);
    return end(&c, ON_DEVICE->cuModuleUnload(module));
}

static struct hip_function *function_new(const void *function, void *module,
                                         const char *name)
{
    if (hip.kernel_count == KERNELS) return NULL;
    struct hip_function *const k = &hip.kernels[hip.kernel_count];
    k->function = function;
    strncpy(k->name, name, sizeof k->name - 1);
    if (module && ON_DEVICE->cuModuleGetFunction(&k->object, module, name) != 0)
        return NULL;
    hip.kernel_count++;
    return k;
}

EXPORT void **__hipRegisterFatBinary(const void *wrapper)
{
    static void *modules[16];
    static uint32_t count;
    const struct {
        uint32_t magic, version;
        const void *image;
    } *const file = wrapper;
    const void *const code =
        file->magic == 0x48495046 ? code_of(file->image) : NULL;
    if (!code || count == 16 ||
        ON_DEVICE->cuModuleLoadData(&modules[count], code) != 0)
        return NULL;
    return &modules[count++];
}

EXPORT void __hipRegisterFunction(void **module, const void *function,
                                  char *name_of_device, const char *name)
{
    (void)name_of_device;
    function_new(function, module ? *module : NULL, name);
}

static struct {
    const void *variable;
    void *address;
} variables[16];

EXPORT void __hipRegisterVar(void **module, void *variable, char *of_device,
                             const char *name, int outside, size_t size,
                             int constant, int global)
{
    uint64_t address = 0;
    size_t has = 0;
    (void)of_device, (void)outside, (void)size, (void)constant, (void)global;
    ON_DEVICE->cuModuleGetGlobal_v2(&address, &has, *module, name);
    for (size_t i = 0; i < 16; i++) {
        if (variables[i].variable) continue;
        variables[i].variable = variable;
        variables[i].address = (void *)(uintptr_t)address;
        return;
    }
}

EXPORT int hipGetSymbolAddress(void **address, const void *symbol)
{
    for (size_t i = 0; i < 16; i++)
        if (variables[i].variable == symbol) *address = variables[i].address;
    return *address ? hipSuccess : hipErrorNotFound;
}

static struct hip_function *function_at(const void *function)
{
    for (uint32_t i = 0; i < hip.kernel_count; i++)
        if (hip.kernels[i].function == function) return &hip.kernels[i];
    return NULL;
}

EXPORT const char *hipKernelNameRefByPtr(const void *function,
                                         hipStream_t stream)
{
    (void)stream;
    const struct hip_function *const k = function_at(function);
    return k ? k->name : NULL;
}

EXPORT int hipModuleGetFunction(hipFunction_t *function, void *module,
                                const char *name)
{
    BEGIN(hipModuleGetFunction, function, module, name);
    *function = NULL;
    for (uint32_t i = 0; !module && i < hip.kernel_count; i++)
        if (!strcmp(hip.kernels[i].name, name)) *function = &hip.kernels[i];
    if (module) *function = function_new(NULL, module, name);
    return end(&c, *function ? hipSuccess : hipErrorNotFound);
}

/* ---- Launches ----------------------------------------------------------- */

typedef struct launch_how {
    dim3 groups, block;
    uint32_t shared;
    hipStream_t stream;
    void **arguments, **extra;
} launch_how;

// The real one wants the block of arguments in this order, and its end.
static bool take_extra(void **extra, void *more[5])
{
    for (uintptr_t i = 0; i < 3; i++)
        if ((uintptr_t)extra[2 * i] != i + 1) return false;
    memcpy(more, extra, 4 * sizeof *more);
    more[4] = NULL;
    return true;
}

static int run_function(const struct hip_function *k, const launch_how *how)
{
    void *more[5] = { NULL };
    hip_kernel kernel;
    if (k->object) {
        if (how->extra && !take_extra(how->extra, more))
            return hipErrorInvalidValue;
        return ON_DEVICE->cuLaunchKernel(
            k->object, how->groups.x, how->groups.y, how->groups.z,
            how->block.x, how->block.y, how->block.z, how->shared,
            device_stream(how->stream), how->arguments,
            how->extra ? more : NULL);
    }
    memcpy(&kernel, &k->function, sizeof kernel);
    kernel(how->arguments);
    return hipSuccess;
}

static int launch(const struct hip_function *k, const launch_how *how,
                  dim3 items)
{
    if (!k || double_does("fail")) return hipErrorInvalidValue;
    double_op op = { .kind = DOUBLE_KERNEL,
                     .name = k->name,
                     .number = (uint32_t)(k - hip.kernels) + 1,
                     .items = { items.x, items.y, items.z },
                     .block = { how->block.x, how->block.y, how->block.z },
                     .shared = how->shared };
    const int result = run_function(k, how);
    if (!result) submit_on(&op, how->stream);
    return result;
}

static dim3 items_of(dim3 grid, dim3 block)
{
    const dim3 items = { grid.x * block.x, grid.y * block.y, grid.z * block.z };
    return items;
}

EXPORT int hipLaunchKernel(const void *function, dim3 grid, dim3 block,
                           void **arguments, size_t shared, hipStream_t stream)
{
    BEGIN(hipLaunchKernel, .function = function, .grid = grid, .block = block,
          .arguments = arguments, .shared = shared, .stream = stream);
    const launch_how how = { grid,   block,     (uint32_t)shared,
                             stream, arguments, NULL };
    return end(&c, launch(function_at(function), &how, items_of(grid, block)));
}

EXPORT int hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x,
                                 unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared,
                                 hipStream_t stream, void **arguments,
                                 void **extra)
{
    const dim3 grid = { grid_x, grid_y, grid_z };
    const dim3 block = { block_x, block_y, block_z };
    BEGIN(hipModuleLaunchKernel, function, grid, block, shared, stream,
          arguments, extra);
    const launch_how how = { grid, block, shared, stream, arguments, extra };
    return end(&c, launch(function, &how, items_of(grid, block)));
}

typedef struct attribute {
    uint32_t id, pad, value[16];
} attribute;

// As new versions have it; attributes: only cooperation is known.
EXPORT int hipDrvLaunchKernelEx(const hip_config *config,
                                hipFunction_t function, void **arguments,
                                void **extra)
{
    BEGIN(hipDrvLaunchKernelEx, config, function, arguments, extra);
    const attribute *const first = config->attributes;
    if (config->count > 1 ||
        (config->count && (first->id != 2 || first->value[0] > 1)))
        return end(&c, hipErrorInvalidValue);
    const launch_how how = { config->grid,   config->block, config->shared,
                             config->stream, arguments,     extra };
    return end(&c,
               launch(function, &how, items_of(config->grid, config->block)));
}

EXPORT int hipLaunchKernelExC(const hip_config_host *config,
                              const void *function, void **arguments)
{
    BEGIN(hipLaunchKernelExC, config, function, arguments);
    const launch_how how = {
        config->grid,   config->block, (uint32_t)config->shared,
        config->stream, arguments,     NULL
    };
    return end(&c, launch(function_at(function), &how,
                          items_of(config->grid, config->block)));
}

EXPORT int hipModuleLaunchCooperativeKernel(hipFunction_t function,
                                            unsigned grid_x, unsigned grid_y,
                                            unsigned grid_z, unsigned block_x,
                                            unsigned block_y, unsigned block_z,
                                            unsigned shared, hipStream_t stream,
                                            void **arguments)
{
    const dim3 grid = { grid_x, grid_y, grid_z };
    const dim3 block = { block_x, block_y, block_z };
    BEGIN(hipModuleLaunchCooperativeKernel, function, grid, block, shared,
          stream, arguments);
    const launch_how how = { grid, block, shared, stream, arguments, NULL };
    return end(&c, launch(function, &how, items_of(grid, block)));
}

// Its grid counts work items.
EXPORT int hipExtModuleLaunchKernel(hipFunction_t function, uint32_t grid_x,
                                    uint32_t grid_y, uint32_t grid_z,
                                    uint32_t block_x, uint32_t block_y,
                                    uint32_t block_z, size_t shared,
                                    hipStream_t stream, void **arguments,
                                    void **extra, hipEvent_t start_event,
                                    hipEvent_t stop_event, uint32_t flags)
{
    (void)start_event, (void)stop_event, (void)flags;
    const dim3 items = { grid_x, grid_y, grid_z };
    const dim3 block = { block_x, block_y, block_z };
    const dim3 groups = { (grid_x + block_x - 1) / block_x,
                          (grid_y + block_y - 1) / block_y,
                          (grid_z + block_z - 1) / block_z };
    BEGIN(hipExtModuleLaunchKernel, function, items, block, shared, stream,
          arguments, extra);
    const launch_how how = { groups, block,     (uint32_t)shared,
                             stream, arguments, extra };
    return end(&c, launch(function, &how, items));
}

EXPORT int hipDrvGetErrorName(int error, const char **name);
int hipDrvGetErrorName(int error, const char **name)
{
    *name = error == 700 ? "hipErrorIllegalAddress" : "hipErrorOfTheDouble";
    return hipSuccess;
}
