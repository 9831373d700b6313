// A program whose kernels run on the double of HIP, and that knows nothing of
// TraceSmith. Prints what it computed. kernels WHAT, one of those below.
#include "tests/doubles/hip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1024, BYTES = COUNT * 4 };

extern const char __hip_fatbin[];
extern const uint32_t __hip_fatbin_wrapper[];
uint32_t bias; // stands for the device's
static hipStream_t stream;
static uint32_t *numbers, host[COUNT];

static void must(int result)
{
    if (!result) return;
    fprintf(stderr, "HIP says %d\n", result);
    exit(1);
}

// Compilers make a function of the host for each kernel.
#define STUB(name) \
    static void name(void **arguments) \
    { \
        (void)arguments; \
        abort(); \
    } \
    static const void *name##_address(void) \
    { \
        const hip_kernel kernel = name; \
        const void *address; \
        memcpy(&address, &kernel, sizeof address); \
        return address; \
    }
STUB(add)
STUB(biased)
STUB(packed)
STUB(odd)

__attribute__((constructor)) static void enroll(void)
{
    static char name[] = "bias";
    void **const module = __hipRegisterFatBinary(__hip_fatbin_wrapper);
    __hipRegisterFunction(module, add_address(), NULL, "add");
    __hipRegisterFunction(module, biased_address(), NULL, "biased");
    __hipRegisterFunction(module, packed_address(), NULL, "packed");
    __hipRegisterFunction(module, odd_address(), NULL, "odd");
    __hipRegisterVar(module, &bias, name, name, 0, 4, 0, 0);
}

static void launch(const void *kernel, void **arguments)
{
    const dim3 grid = { 4, 1, 1 }, block = { 256, 1, 1 };
    must(hipLaunchKernel(kernel, grid, block, arguments, 0, stream));
}

static void add_to(void *to, uint32_t value)
{
    void *arguments[] = { &to, &value };
    launch(add_address(), arguments);
}

static void set_up(void)
{
    must(hipSetDevice(0));
    must(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    must(hipMalloc((void **)&numbers, BYTES));
    for (uint32_t i = 0; i < COUNT; i++)
        host[i] = i;
    must(hipMemcpyAsync(numbers, host, BYTES, hipMemcpyHostToDevice, stream));
}

static void finish(void)
{
    uint32_t sum = 0;
    must(hipMemcpy(host, numbers, BYTES, hipMemcpyDeviceToHost));
    for (uint32_t i = 0; i < COUNT; i++)
        sum = sum * 31 + host[i];
    printf("%u\n", sum);
}

// Kernels of the program, with a variable and a pointer in a packed struct.
static void kernels(void)
{
    uint32_t value = 7, *other;
    uint8_t box[13] = { 0 };
    must(hipMalloc((void **)&other, BYTES));
    add_to(numbers, 2);
    void *arguments[] = { &other, &numbers, &value };
    launch(biased_address(), arguments);
    memcpy(box + 1, &other, 8);
    memcpy(box + 9, &value, 4);
    void *pieces[] = { box };
    launch(packed_address(), pieces);
    must(hipMemcpy2DAsync(numbers, 64, other, 128, 32, 8, 3, stream));
    must(hipMemset2DAsync(other, 64, 5, 16, 4, stream));
    must(hipMemsetD32Async(numbers + 512, 0x01020304, 16, stream));
    add_to(other, 1);
    must(hipFree(other));
}

// Those of a module, whose arguments come one by one and as a block; one that
// finds numbers by pointers in memory.
static void modules(void)
{
    void *module, *list;
    hipFunction_t function, other;
    uint32_t count = 2;
    must(hipModuleLoadData(&module, __hip_fatbin));
    must(hipModuleGetFunction(&function, module, "add"));
    must(hipModuleGetFunction(&other, module, "through"));
    struct {
        void *numbers;
        uint32_t value;
    } block = { numbers, 3 };
    size_t size = 12;
    void *extra[] = { (void *)1, &block, (void *)2, &size, (void *)3 };
    void *arguments[] = { &block.numbers, &block.value };
    must(hipModuleLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, stream, NULL,
                               extra));
    must(hipModuleLaunchKernel(function, 2, 1, 1, 256, 1, 1, 0, stream,
                               arguments, NULL));
    must(hipExtModuleLaunchKernel(function, 512, 1, 1, 256, 1, 1, 0, stream,
                                  arguments, NULL, NULL, NULL, 0));
    uint32_t *const entries[] = { numbers + 9, numbers + 99 };
    must(hipMalloc(&list, sizeof entries));
    must(hipMemcpy(list, entries, sizeof entries, hipMemcpyHostToDevice));
    void *found[] = { &list, &count };
    must(
        hipModuleLaunchKernel(other, 1, 1, 1, 1, 1, 1, 0, stream, found, NULL));
    must(hipModuleUnload(module));
}

// A kernel that may not do what it did.
static void wrong(void)
{
    uint32_t value = 1;
    void *arguments[] = { &numbers, &value };
    add_to(numbers, 4);
    launch(odd_address(), arguments);
    add_to(numbers, 5);
}

// Two streams that wait for each other.
static void concurrent(void)
{
    hipStream_t first = stream, second;
    hipEvent_t event;
    uint32_t *other;
    must(hipMalloc((void **)&other, BYTES));
    must(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
    must(hipEventCreate(&event));
    add_to(numbers, 1);
    must(hipEventRecord(event, stream));
    must(hipStreamWaitEvent(second, event, 0));
    stream = second;
    must(hipMemsetAsync(other, 3, BYTES, second));
    add_to(other, 2);
    add_to(numbers, 2);
    stream = first;
    must(hipDeviceSynchronize());
}

// Kernels by the other functions that launch.
static void ways(void)
{
    void *module;
    hipFunction_t function;
    uint32_t value = 3;
    void *arguments[] = { &numbers, &value };
    const dim3 grid = { 4, 1, 1 }, block = { 256, 1, 1 };
    struct {
        uint32_t id, unused, value[16];
    } together = { 2, 0, { 1 } };
    const hip_config_host plain = { grid, block, 0, stream, NULL, 0 };
    const hip_config cooperative = { grid, block, 0, stream, &together, 1 };
    must(hipModuleLoadData(&module, __hip_fatbin));
    must(hipModuleGetFunction(&function, module, "add"));
    must(hipLaunchKernelExC(&plain, add_address(), arguments));
    must(hipDrvLaunchKernelEx(&cooperative, function, arguments, NULL));
    must(hipModuleLaunchCooperativeKernel(function, 4, 1, 1, 256, 1, 1, 0,
                                          stream, arguments));
    must(hipModuleUnload(module));
    add_to(numbers, 6);
}

static void together(void)
{
    void *module;
    hipFunction_t function;
    uint32_t value = 3;
    void *arguments[] = { &numbers, &value };
    must(hipModuleLoadData(&module, __hip_fatbin));
    must(hipModuleGetFunction(&function, module, "add"));
    must(hipModuleLaunchCooperativeKernel(function, 4, 1, 1, 256, 1, 1, 0,
                                          stream, arguments));
}

// It is said that it is not cooperative.
static void apart(void)
{
    void *module;
    hipFunction_t function;
    uint32_t value = 3;
    void *arguments[] = { &numbers, &value };
    const dim3 grid = { 4, 1, 1 }, block = { 256, 1, 1 };
    struct {
        uint32_t id, unused, value[16];
    } not_together = { 2, 0, { 0 } };
    const hip_config how = { grid, block, 0, stream, &not_together, 1 };
    must(hipModuleLoadData(&module, __hip_fatbin));
    must(hipModuleGetFunction(&function, module, "add"));
    must(hipDrvLaunchKernelEx(&how, function, arguments, NULL));
}

// A launch in three calls.
static void pieces(void)
{
    const dim3 grid = { 4, 1, 1 }, block = { 256, 1, 1 };
    uint32_t value = 9;
    must(hipConfigureCall(grid, block, 0, stream));
    must(hipSetupArgument(&numbers, 8, 0));
    must(hipSetupArgument(&value, 4, 8));
    must(hipLaunchByPtr(add_address()));
    add_to(numbers, 1);
}

// Copies to and from a variable, before and behind a kernel that reads it.
static void symbols(void)
{
    uint32_t value = 40, found = 0, half = 2;
    void *arguments[] = { &numbers, &numbers, &value };
    must(hipMemcpyToSymbol(&bias, &value, 4, 0, 1));
    launch(biased_address(), arguments);
    must(hipMemcpyToSymbolAsync(&bias, &half, 2, 2, 1, stream));
    launch(biased_address(), arguments);
    must(hipMemcpyFromSymbolAsync(numbers, &bias, 4, 0, 3, stream));
    void *graph, *ready;
    must(hipStreamBeginCapture(stream, 2));
    must(hipMemcpyToSymbolAsync(&bias, numbers + 1, 4, 0, 3, stream));
    must(hipStreamEndCapture(stream, &graph));
    must(hipGraphInstantiateWithFlags(&ready, graph, 0));
    must(hipGraphLaunch(ready, stream));
    must(hipMemcpyFromSymbol(&found, &bias, 4, 0, 2));
    printf("%u\n", found);
}

// Memory of rows and slices.
static void boxes(void)
{
    const hip_size size = { 40, 4, 3 }, slice = { 40, 2, 3 };
    hip_end at;
    must(hipMalloc3D(&at, size));
    must(hipMemset3D(at, 7, size));
    hip_box box = { .from = at,
                    .to = { numbers, 64, 64, 4 },
                    .width = 40,
                    .height = 4,
                    .depth = 3,
                    .kind = 3 };
    must(hipMemcpy3DAsync(&box, stream));
    must(hipMemset3D(at, 9, slice)); // its slices do not follow each other
    must(hipFree(at.at));
}

// All that a device had goes: another stream, memory and code come.
static void again(void)
{
    add_to(numbers, 1);
    must(hipDeviceReset());
    must(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    must(hipMalloc((void **)&numbers, BYTES));
    must(hipMemcpyAsync(numbers, host, BYTES, hipMemcpyHostToDevice, stream));
    add_to(numbers, 2);
    uint32_t value = 3;
    void *arguments[] = { &numbers, &numbers, &value };
    launch(biased_address(), arguments);
    must(hipDevicePrimaryCtxReset(0));
    must(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    must(hipMalloc((void **)&numbers, BYTES));
    must(hipMemcpyAsync(numbers, host, BYTES, hipMemcpyHostToDevice, stream));
    launch(biased_address(), arguments);
}

// Two devices, each with a stream, memory, code and its own variable.
static void devices(void)
{
    hipStream_t streams[2] = { stream, NULL };
    uint32_t *of[2] = { numbers, NULL };
    hipEvent_t event;
    must(hipSetDevice(1));
    must(hipStreamCreateWithFlags(&streams[1], hipStreamNonBlocking));
    must(hipMalloc((void **)&of[1], 2 << 20)); // beside no other device's
    must(hipMemcpyAsync(of[1], host, BYTES, hipMemcpyHostToDevice, streams[1]));
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t value = 100 * (i + 1);
        void *arguments[] = { &of[i], &of[i], &value };
        must(hipSetDevice((int)i));
        stream = streams[i];
        must(hipMemcpyToSymbol(&bias, &value, 4, 0, 1));
        launch(biased_address(), arguments);
    }
    must(hipEventCreate(&event));
    must(hipEventRecord(event, streams[1]));
    must(hipStreamWaitEvent(streams[0], event, 0));
    must(hipMemcpyPeerAsync(of[0], 0, of[1], 1, BYTES / 2, streams[0]));
    must(hipSetDevice(0));
    stream = streams[0];
    add_to(numbers, 5);
    // The variables are still two.
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t value = 1;
        void *arguments[] = { &of[i], &of[i], &value };
        must(hipSetDevice((int)i));
        stream = streams[i];
        launch(biased_address(), arguments);
    }
    must(hipMemcpyAsync(host, of[1], BYTES, hipMemcpyDeviceToHost, streams[1]));
    must(hipSetDevice(0));
    stream = streams[0];
    printf("%u\n", host[COUNT - 1]);
}

static void nothing_of(void *unused)
{
    (void)unused;
}

// What is declined, and why.
static void declined(void)
{
    void *managed, *pinned, *graph, *ready, *texture, *module;
    uint32_t none = 0;
    void *found[] = { &texture, &none };
    hipFunction_t through;
    must(hipMallocManaged(&managed, BYTES, 1));
    add_to(managed, 1); // UVM
    must(hipHostMalloc(&pinned, BYTES, 0));
    memset(pinned, 0, BYTES);
    add_to(pinned, 1);                                       // EXTERNAL_MEMORY
    must(hipMemcpyAsync(numbers, pinned, BYTES, 1, stream)); // whole
    must(hipLaunchHostFunc(stream, nothing_of, NULL));       // HOST_CALLBACK
    must(hipStreamBeginCapture(stream, 2));
    add_to(numbers, 1); // no operation before its graph is launched
    must(hipStreamEndCapture(stream, &graph));
    must(hipGraphInstantiateWithFlags(&ready, graph, 0));
    must(hipGraphLaunch(ready, stream)); // whole
    add_to(numbers, 1);                  // whole again
    must(hipHostFree(pinned));
    must(hipCreateTextureObject(&texture, &managed, &managed, NULL));
    must(hipModuleLoadData(&module, __hip_fatbin));
    must(hipModuleGetFunction(&through, module, "through"));
    must(hipModuleLaunchKernel(through, 1, 1, 1, 1, 1, 1, 0, stream, found,
                               NULL)); // TEXTURE_BINDLESS
    must(hipDestroyTextureObject(texture));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {
        { "kernels", kernels },   { "modules", modules },
        { "wrong", wrong },       { "beside", concurrent },
        { "declined", declined }, { "ways", ways },
        { "together", together }, { "apart", apart },
        { "pieces", pieces },     { "symbols", symbols },
        { "boxes", boxes },       { "again", again },
        { "devices", devices },
    };
    set_up();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (argc > 1 && !strcmp(argv[1], all[i].name)) all[i].run();
    finish();
    return 0;
}
