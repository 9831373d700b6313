// A program that uses HIP and records it by itself, twice, from threads:
//   app FIRST.sbt SECOND.sbt
#define TRACESMITH_IMPLEMENTATION
#define TRACESMITH_HIP
#include "tracesmith.h"

#include "backends/ts_hip.h"
#include "tests/doubles/hip.h"

enum { THREADS = 8, LAUNCHES = 500 };

static void nothing(void **arguments)
{
    (void)arguments;
}

static int failures; // added to by threads

static void must(int failed)
{
    __atomic_add_fetch(&failures, failed, __ATOMIC_RELAXED);
}

static void launch(int count)
{
    const void *address;
    hipStream_t stream;
    void *memory;
    const dim3 one = { 1, 1, 1 };
    hip_kernel kernel = nothing;
    memcpy(&address, &kernel, sizeof address);
    int failed = hipStreamCreate(&stream) + hipMalloc(&memory, 64);
    for (int i = 0; i < count; i++) {
        TS_ZONE("step");
        failed += hipLaunchKernel(address, one, one, NULL, 0, stream);
    }
    failed += hipStreamSynchronize(stream) + hipFree(memory);
    failed += hipStreamDestroy(stream);
    must(failed);
}

static void *thread(void *unused)
{
    launch(LAUNCHES);
    return unused;
}

static void run(int threads)
{
    pthread_t all[THREADS];
    for (int i = 0; i < threads; i++)
        must(pthread_create(&all[i], NULL, thread, NULL) != 0);
    for (int i = 0; i < threads; i++) {
        if (i == threads / 2) ts_session_flush(); // as they launch
        pthread_join(all[i], NULL);
    }
}

int main(int argc, char **argv)
{
    const void *address;
    hip_kernel kernel = nothing;
    memcpy(&address, &kernel, sizeof address);
    if (argc < 3) return 2;
    ts_backend_add(&ts_hip_backend);
    __hipRegisterFunction(NULL, address, NULL, "_Z7nothingv");
    for (int i = 1; i < 3; i++) {
        const ts_session_desc desc = { .path = argv[i] };
        must(ts_session_start(&desc) != TS_OK);
        run(i == 1 ? THREADS : 2);
        launch(7);
        must(ts_session_stop() != TS_OK);
        run(2); // nobody listens
    }
    return failures != 0;
}
