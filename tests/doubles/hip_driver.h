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
      (uint64_t * address, size_t size, size_t alignment, uint64_t hint,
       unsigned long long flags),
      (address, size, alignment, hint, flags))
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

EXPORT int hipMemcpyPeerAsync(void *to, int to_device, const void *from,
                              int from_device, size_t size, hipStream_t stream)
{
    BEGIN(hipMemcpyPeerAsync, to, to_device, from, from_device, size, stream);
    return end(&c, copy_on((uintptr_t)to, (uintptr_t)from, size, 3, stream));
}

// As the host's function says: to a symbol, or from one.
static int copy_symbol(const symbol_arguments *a, bool to)
{
    void *address;
    const int result = hipGetSymbolAddress(&address, to ? a->to : a->from);
    const uint64_t at = (uintptr_t)address + a->offset;
    if (result) return result;
    return copy_on(to ? at : (uintptr_t)a->to, to ? (uintptr_t)a->from : at,
                   a->size, a->kind, a->stream);
}
#define COPY_SYMBOL(name, to, from, is_to) \
    EXPORT int name(to, from, size_t size, size_t offset, int kind) \
    { \
        BEGIN(name, a_to, a_from, size, offset, kind, NULL); \
        return end(&c, copy_symbol(&a, is_to)); \
    } \
    EXPORT int name##Async(to, from, size_t size, size_t offset, int kind, \
                           hipStream_t stream) \
    { \
        BEGIN(name##Async, a_to, a_from, size, offset, kind, stream); \
        return end(&c, copy_symbol(&a, is_to)); \
    }
COPY_SYMBOL(hipMemcpyToSymbol, const void *a_to, const void *a_from, true)
COPY_SYMBOL(hipMemcpyFromSymbol, void *a_to, const void *a_from, false)

static uint8_t *end_at(const hip_end *e, size_t x, size_t y, size_t z)
{
    return (uint8_t *)e->at + (z * e->height + y) * e->pitch + x;
}

EXPORT int hipMemcpy3DAsync(const hip_box *box, hipStream_t stream)
{
    BEGIN(hipMemcpy3DAsync, box, stream);
    for (size_t z = 0; z < box->depth; z++)
        for (size_t y = 0; y < box->height; y++)
            memcpy(end_at(&box->to, box->to_x, box->to_y + y, box->to_z + z),
                   end_at(&box->from, box->from_x, box->from_y + y,
                          box->from_z + z),
                   box->width);
    double_op op = { .kind = DOUBLE_COPY, .copy = box->kind };
    op.size = box->width * box->height * box->depth;
    submit_on(&op, stream);
    return end(&c, hipSuccess);
}

EXPORT int hipMalloc3D(hip_end *at, hip_size size)
{
    BEGIN(hipMalloc3D, at, size);
    at->pitch = (size.width + 63) & ~(size_t)63;
    at->width = size.width;
    at->height = size.height;
    return end(&c,
               ON_DEVICE->cuMemAlloc_v2((uint64_t *)&at->at,
                                        at->pitch * size.height * size.depth));
}

static void memset_of(double_op *op, const void *to, size_t size)
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
        memset_of(&op, to, count *width); \
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
    memset_of(&op, to, width * height);
    for (size_t y = 0; y < height; y++)
        memset((char *)to + y * pitch, value, width);
    submit_on(&op, stream);
    return end(&c, hipSuccess);
}

EXPORT int hipMemset3D(hip_end to, int value, hip_size size)
{
    BEGIN(hipMemset3D, to, value, size);
    double_op op;
    memset_of(&op, to.at, size.width * size.height * size.depth);
    for (size_t z = 0; z < size.depth; z++)
        for (size_t y = 0; y < size.height; y++)
            memset(end_at(&to, 0, y, z), value, size.width);
    submit_on(&op, NULL);
    return end(&c, hipSuccess);
}

// What describes it lies in memory that the runtime has for itself.
EXPORT int hipCreateTextureObject(void **texture, const void *resource,
                                  const void *how, const void *view)
{
    BEGIN(hipCreateTextureObject, texture, resource, how, view);
    *texture = calloc(1, 64);
    return end(&c, *texture ? hipSuccess : hipErrorOutOfMemory);
}

EXPORT int hipDestroyTextureObject(void *texture)
{
    BEGIN(hipDestroyTextureObject, texture);
    free(texture);
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

// Code of a file is loaded on a device when it is first used there.
struct module {
    const void *code;
    void *on[DEVICES];
};

static struct module modules[MODULES];
static uint32_t module_count;

static struct {
    const void *variable;
    const char *name;
    struct module *module;
} variables[SYMBOLS];

static void forget_modules(int device)
{
    for (uint32_t i = 0; i < module_count; i++)
        modules[i].on[device] = NULL;
}

static void *module_here(struct module *m)
{
    void **const on = &m->on[current_device];
    if (!*on && ON_DEVICE->cuModuleLoadData(on, m->code) != 0) *on = NULL;
    return *on;
}

// Its object on the present device.
static void *object_of(const struct hip_function *k)
{
    void *object = k->object;
    if (k->module && ON_DEVICE->cuModuleGetFunction(
                         &object, module_here(k->module), k->name) != 0)
        return NULL;
    return object;
}

static struct hip_function *function_new(const void *function, void *object,
                                         struct module *module,
                                         const char *name)
{
    if (hip.kernel_count == KERNELS) return NULL;
    struct hip_function *const k = &hip.kernels[hip.kernel_count++];
    k->function = function;
    k->object = object;
    k->module = module;
    strncpy(k->name, name, sizeof k->name - 1);
    return k;
}

EXPORT void **__hipRegisterFatBinary(const void *wrapper)
{
    const struct {
        uint32_t magic, version;
        const void *image;
    } *const file = wrapper;
    const void *const code =
        file->magic == 0x48495046 ? code_of(file->image) : NULL;
    if (!code || module_count == MODULES) return NULL;
    modules[module_count].code = code;
    return (void **)&modules[module_count++];
}

EXPORT void __hipRegisterFunction(void **module, const void *function,
                                  char *name_of_device, const char *name)
{
    function_new(function, NULL, (struct module *)module, name);
}

EXPORT void __hipRegisterVar(void **module, void *variable, char *of_device,
                             const char *name, int outside, size_t size,
                             int constant, int global)
{
    for (size_t i = 0; i < SYMBOLS; i++) {
        if (variables[i].variable) continue;
        variables[i].variable = variable;
        variables[i].name = name;
        variables[i].module = (struct module *)module;
        return;
    }
}

EXPORT int hipGetSymbolAddress(void **address, const void *symbol)
{
    uint64_t found = 0;
    size_t size;
    for (size_t i = 0; i < SYMBOLS; i++)
        if (variables[i].variable == symbol && variables[i].module)
            ON_DEVICE->cuModuleGetGlobal_v2(&found, &size,
                                            module_here(variables[i].module),
                                            variables[i].name);
    *address = (void *)(uintptr_t)found;
    return found ? hipSuccess : hipErrorNotFound;
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
    void *object = NULL;
    if (module && ON_DEVICE->cuModuleGetFunction(&object, module, name) == 0)
        *function = function_new(NULL, object, NULL, name);
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
    void *const object = object_of(k);
    if (k->module && !object) return hipErrorNotFound;
    if (object) {
        if (how->extra && !take_extra(how->extra, more))
            return hipErrorInvalidValue;
        return ON_DEVICE->cuLaunchKernel(
            object, how->groups.x, how->groups.y, how->groups.z, how->block.x,
            how->block.y, how->block.z, how->shared, device_stream(how->stream),
            how->arguments, how->extra ? more : NULL);
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

// What is said of a launch before it, on this thread.
static __thread struct {
    launch_how how;
    uint8_t block[256];
    size_t size;
    bool there;
} said;

EXPORT int hipConfigureCall(dim3 grid, dim3 block, size_t shared,
                            hipStream_t stream)
{
    BEGIN(hipConfigureCall, grid, block, shared, stream);
    const launch_how how = {
        grid, block, (uint32_t)shared, stream, NULL, NULL
    };
    said.how = how;
    said.size = 0;
    said.there = true;
    return end(&c, hipSuccess);
}

EXPORT int hipSetupArgument(const void *argument, size_t size, size_t offset)
{
    BEGIN(hipSetupArgument, argument, size, offset);
    if (!said.there || offset + size > sizeof said.block)
        return end(&c, hipErrorInvalidValue);
    memcpy(said.block + offset, argument, size);
    if (offset + size > said.size) said.size = offset + size;
    return end(&c, hipSuccess);
}

EXPORT int hipLaunchByPtr(const void *function)
{
    BEGIN(hipLaunchByPtr, function);
    void *extra[] = { (void *)1, said.block, (void *)2, &said.size, (void *)3 };
    if (!said.there) return end(&c, hipErrorInvalidValue);
    said.there = false;
    said.how.extra = extra;
    return end(&c, launch(function_at(function), &said.how,
                          items_of(said.how.groups, said.how.block)));
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
