// A program that uses HIP and knows nothing of TraceSmith. Does as it is told:
//   program plain|threads|fork|many COUNT|collective|busy|quit|kill
#include "tests/doubles/hip.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void twice(void **arguments)
{
    int *const values = *(int **)arguments[0];
    for (int i = 0; i < *(int *)arguments[1]; i++)
        values[i] *= 2;
}

static void nothing(void **arguments)
{
    (void)arguments;
}

static void all_reduce(void **arguments)
{
    (void)arguments;
}

static void helper(void **arguments)
{
    (void)arguments;
}

static int failures;

static void must(int result)
{
    failures += result != hipSuccess;
}

static const void *address_of(hip_kernel kernel)
{
    const void *address;
    memcpy(&address, &kernel, sizeof address);
    return address;
}

static void launch(hip_kernel kernel, unsigned grid, unsigned block,
                   void **arguments, hipStream_t stream)
{
    const dim3 blocks = { grid, 1, 1 }, threads = { block, 2, 1 };
    must(hipLaunchKernel(address_of(kernel), blocks, threads, arguments, 512,
                         stream));
}

// Two streams, an event between them, every kind of operation.
static void plain(void)
{
    enum { COUNT = 100 };
    int host[COUNT], count = COUNT, devices, device;
    void *memory;
    hipStream_t stream, other;
    hipEvent_t event;
    hipFunction_t function;
    must(hipGetDeviceCount(&devices));
    must(hipSetDevice(0));
    must(hipGetDevice(&device));
    must(hipMalloc(&memory, sizeof host));
    must(hipStreamCreate(&stream));
    must(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
    must(hipEventCreate(&event));
    for (int i = 0; i < COUNT; i++)
        host[i] = i;
    must(hipMemcpyAsync(memory, host, sizeof host, hipMemcpyHostToDevice,
                        stream));
    void *arguments[] = { &memory, &count };
    launch(twice, 13, 8, arguments, stream);
    must(hipEventRecord(event, stream));
    must(hipStreamWaitEvent(other, event, 0));
    must(hipModuleGetFunction(&function, NULL, "_Z5twicePii"));
    must(hipExtModuleLaunchKernel(function, 100, 1, 1, 8, 1, 1, 256, other,
                                  arguments, NULL, NULL, NULL, 0));
    must(hipStreamSynchronize(other));
    must(hipMemcpy(host, memory, sizeof host, hipMemcpyDeviceToHost));
    must(hipMemcpy2DAsync(host, 40, memory, 40, 40, 10, hipMemcpyDeviceToHost,
                          other));
    must(hipMemsetAsync(memory, 7, 64, NULL));
    must(hipEventSynchronize(event));
    must(hipDeviceSynchronize());
    must(hipSetDevice(1));
    launch(nothing, 4, 32, NULL, NULL);
    must(hipDeviceSynchronize());
    must(hipGetLastError());
    must(hipStreamDestroy(stream));
    must(hipStreamDestroy(other));
    must(hipFree(memory));
    printf("%d devices, %d %d\n", devices, host[1], host[99]);
}

static void many(int count)
{
    hipStream_t stream;
    must(hipStreamCreate(&stream));
    for (int i = 0; i < count; i++)
        launch(nothing, 1, 64, NULL, stream);
    must(hipStreamSynchronize(stream));
}

// As RCCL does it beside the kernels of a program, on a stream of its own.
static void collective(void)
{
    hipStream_t stream, second;
    must(hipStreamCreate(&stream));
    must(hipStreamCreate(&second));
    for (int i = 0; i < 5; i++) {
        launch(nothing, 1, 64, NULL, stream);
        launch(all_reduce, 1, 256, NULL, second);
        launch(helper, 1, 64, NULL, stream);
        must(hipStreamSynchronize(second));
    }
    must(hipDeviceSynchronize());
}

static void *thread(void *unused)
{
    many(25);
    return unused;
}

static void threads(void)
{
    pthread_t all[40];
    for (int i = 0; i < 40; i++)
        if (pthread_create(&all[i], NULL, thread, NULL) != 0) abort();
    for (int i = 0; i < 40; i++)
        pthread_join(all[i], NULL);
}

static void *launch_on(void *unused)
{
    for (;;)
        launch(nothing, 1, 1, NULL, NULL);
    return unused;
}

int main(int argc, char **argv)
{
    const char *const what = argc > 1 ? argv[1] : "plain";
    __hipRegisterFunction(NULL, address_of(twice), NULL, "_Z5twicePii");
    __hipRegisterFunction(NULL, address_of(nothing), NULL, "_Z7nothingv");
    __hipRegisterFunction(NULL, address_of(all_reduce), NULL,
                          "_Z40ncclDevKernel_AllReduce_Sum_bf16_RING_LL24nccl"
                          "DevKernelArgsStorageILm4096EE");
    __hipRegisterFunction(NULL, address_of(helper), NULL,
                          "_Z14my_nccl_helperv");
    must(hipSetDevice(0));
    if (!strcmp(what, "plain")) plain();
    if (!strcmp(what, "collective")) collective();
    if (!strcmp(what, "threads")) threads();
    if (!strcmp(what, "many")) many(argc > 2 ? atoi(argv[2]) : 10);
    if (!strcmp(what, "fork")) {
        many(3);
        fflush(stdout);
        const pid_t child = fork();
        if (!child) many(5); // the real one would not survive it
        if (!child) exit(0);
        waitpid(child, NULL, 0);
        many(4);
    }
    if (!strcmp(what, "busy")) { // it exits while others launch
        pthread_t other;
        many(10);
        if (pthread_create(&other, NULL, launch_on, NULL) != 0) abort();
    }
    if (!strcmp(what, "quit") || !strcmp(what, "kill")) {
        many(30);
        usleep(1500000); // it is fetched in the meantime
        if (*what == 'k') raise(SIGKILL);
        _exit(7);
    }
    if (failures) printf("%d calls failed\n", failures);
    return failures ? 3 : 0;
}
