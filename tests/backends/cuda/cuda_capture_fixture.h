/*
    cuda_capture_fixture.h - tests of captures of CUDA, on doubles of the driver
                             and of CUPTI
*/
#ifndef CUDA_CAPTURE_FIXTURE_H
#define CUDA_CAPTURE_FIXTURE_H

#include "tests/backends/cupti/cupti_fixture.h"

#include "backends/ts_capture.h"
#include "tests/backends/capture/capture_fixture.h"

enum { COUNT = 1024, BYTES = 4 * COUNT };

#define CALLS(X) \
    X(cuModuleLoadData, (void **, const void *)) \
    X(cuModuleGetFunction, (void **, void *, const char *)) \
    X(cuLibraryLoadData, (void **, const void *, void *, void **, unsigned, \
                          void *, void **, unsigned)) \
    X(cuLibraryGetKernel, (void **, void *, const char *)) \
    X(cuFuncSetAttribute, (void *, int, int)) \
    X(cuMemAlloc_v2, (uint64_t *, size_t)) \
    X(cuMemAllocManaged, (uint64_t *, size_t, unsigned)) \
    X(cuMemFree_v2, (uint64_t)) \
    X(cuMemAllocHost_v2, (uint64_t *, size_t)) \
    X(cuMemFreeHost, (uint64_t)) \
    X(cuMemAddressReserve, \
      (uint64_t *, size_t, size_t, uint64_t, unsigned long long)) \
    X(cuMemAddressFree, (uint64_t, size_t)) \
    X(cuMemCreate, (uint64_t *, size_t, const void *, unsigned long long)) \
    X(cuMemRelease, (uint64_t)) \
    X(cuMemMap, (uint64_t, size_t, size_t, uint64_t, unsigned long long)) \
    X(cuMemUnmap, (uint64_t, size_t)) \
    X(cuMemSetAccess, (uint64_t, size_t, const int *, size_t)) \
    X(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t)) \
    X(cuMemcpyDtoHAsync_v2, (void *, uint64_t, size_t, void *)) \
    X(cuMemsetD32Async, (uint64_t, unsigned, size_t, void *)) \
    X(cuLaunchKernel, \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
       unsigned, void *, void **, void **)) \
    X(cuLaunchKernelEx, (const void *, void *, void **, void **)) \
    X(cuStreamCreate, (void **, unsigned)) \
    X(cuStreamBeginCapture_v2, (void *, int)) \
    X(cuStreamEndCapture, (void *, void **)) \
    X(cuTensorMapEncodeTiled, \
      (void *, uint32_t, uint32_t, uint64_t, const uint64_t *, \
       const uint64_t *, const uint32_t *, const uint32_t *, uint32_t, \
       uint32_t, uint32_t, uint32_t)) \
    X(cuTensorMapEncodeIm2col, \
      (void *, uint32_t, uint32_t, uint64_t, const uint64_t *, \
       const uint64_t *, const int *, const int *, uint32_t, uint32_t, \
       const uint32_t *, uint32_t, uint32_t, uint32_t, uint32_t)) \
    X(cuTensorMapEncodeIm2colWide, \
      (void *, uint32_t, uint32_t, uint64_t, const uint64_t *, \
       const uint64_t *, int, int, uint32_t, uint32_t, const uint32_t *, \
       uint32_t, uint32_t, uint32_t, uint32_t, uint32_t)) \
    X(cuTensorMapReplaceAddress, (void *, uint64_t)) \
    X(cuStreamDestroy_v2, (void *)) \
    X(cuStreamQuery, (void *)) \
    X(cuStreamSynchronize, (void *)) \
    X(cuEventCreate, (void **, unsigned)) \
    X(cuEventRecord, (void *, void *)) \
    X(cuEventQuery, (void *)) \
    X(cuTexObjectCreate, \
      (uint64_t *, const void *, const void *, const void *)) \
    X(cuTexObjectDestroy, (uint64_t)) \
    X(cuSurfObjectCreate, (uint64_t *, const void *)) \
    X(cuSurfObjectDestroy, (uint64_t))

// Pointers to the functions of a list like CALLS, and their values.
#define CU_DECLARE(name, parameters) static int(*name) parameters;
#define CU_FIND(name, parameters) \
    { \
        void *const symbol = cu_symbol(RTLD_DEFAULT, #name); \
        memcpy(&name, &symbol, sizeof name); \
    }
CALLS(CU_DECLARE)

static const char *path;
static void *cubin, *module, *add, *stream;
static uint64_t numbers;

static int start(void **user)
{
    cu_load("libcupti.so");
    cu_set("version", 130001);
    void *const driver =
        dlopen(double_path("libcuda.so"), RTLD_NOW | RTLD_GLOBAL);
    uint64_t size;
    cubin = double_read("libcubin.so", &size);
    if (!driver || !cubin) return -1;
#define X(name, parameters) \
    { \
        void *const symbol = cu_symbol(driver, #name); \
        memcpy(&name, &symbol, sizeof name); \
    }
    CALLS(X)
#undef X
    ts_cupti_initialize();
    return 0;
}

static int finish(void **user)
{
    free(cubin);
    return 0;
}

// A session whose captures may begin at any time, with one that has begun.
RT_UNUSED static void begin_with(const ts_capture_desc *what)
{
    const ts_cupti_desc operations = { .operations = true };
    path = rt_path("capture.sbt");
    const ts_session_desc session = { .path = path };
    ok(ts_cupti_configure(&operations));
    ok(ts_session_start(&session));
    ok(cuModuleLoadData(&module, cubin));
    ok(cuModuleGetFunction(&add, module, "add"));
    ok(cuStreamCreate(&stream, 1));
    ok(cuMemAlloc_v2(&numbers, BYTES));
    ok(ts_capture_start(what));
}

// A busy machine may take long; tests of what must not be waited for set a
// bound of their own.
RT_UNUSED static void begin(void)
{
    const ts_capture_desc patient = { .drain_ms = 60000 };
    begin_with(&patient);
}

RT_UNUSED static void begin_hasty(void)
{
    const ts_capture_desc hasty = { .drain_ms = 300 };
    begin_with(&hasty);
}

static void end(void)
{
    ts_capture_stop();
    ok(cuMemFree_v2(numbers));
    trace = cu_end(path);
}

RT_UNUSED static int launch(void *function, uint64_t address, uint32_t value)
{
    void *arguments[] = { &address, &value };
    return cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, stream, arguments,
                          NULL);
}

// Its regions without variables of the code, of which sanitizers add some.
RT_UNUSED static int reached(const ts_capture *c)
{
    int count = 0;
    for (uint32_t i = 0; i < c->head.region_count; i++)
        count += c->regions[i].found != TS_CAPTURE_BY_GLOBAL;
    return count;
}

// The first number of what a region held.
RT_UNUSED static uint32_t first_of(const uint64_t list[2])
{
    const void *hashes, *bytes;
    size_t size;
    uint64_t hash[2];
    uint32_t value;
    ok(ts_reader_blob(trace.reader, list, &hashes, &size));
    memcpy(hash, hashes, sizeof hash);
    ok(ts_reader_blob(trace.reader, hash, &bytes, &size));
    memcpy(&value, bytes, sizeof value);
    return value;
}

#endif // CUDA_CAPTURE_FIXTURE_H
