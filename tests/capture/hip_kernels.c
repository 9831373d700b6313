// A program whose kernels run on the double of HIP, and that knows nothing of
// TraceSmith. Prints what it computed. hip_kernels WHAT, one of those below.
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
static void beside(void)
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

static void nothing_of(void *unused)
{
    (void)unused;
}

// What is declined, and why.
static void declined(void)
{
    void *managed, *pinned, *graph, *ready;
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
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {
        { "kernels", kernels },   { "modules", modules },   { "wrong", wrong },
        { "beside", beside },     { "declined", declined }, { "ways", ways },
        { "together", together }, { "apart", apart },
    };
    set_up();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (argc > 1 && !strcmp(argv[1], all[i].name)) all[i].run();
    finish();
    return 0;
}
