/*
    hip_capture_fixture.h - tests of captures of HIP, on doubles of the runtime
                            and of rocprofiler-sdk
*/
#ifndef HIP_CAPTURE_FIXTURE_H
#define HIP_CAPTURE_FIXTURE_H

#define _GNU_SOURCE
#define TRACESMITH_HIP_IMPLEMENTATION
#define TRACESMITH_CUDA_EXEC_IMPLEMENTATION
#define EXECUTOR ts_hip_executor
#include "tests/record/record_fixture.h"

#include "backends/ts_cuda_exec.h"
#include "backends/ts_hip.h"
#include "tests/backends/capture/capture_fixture.h"
#include "tests/doubles/double_file.h"
#include "tests/doubles/hip.h"

#include <dlfcn.h>

enum { COUNT = 1024, BYTES = 4 * COUNT };

// The functions of HIP that a test calls: its CALLS(X) lists them as X(name).
#define X(name) static __typeof__(name) *call_##name;
CALLS(X)
#undef X

static const char *path;
static void *object, *module;
static hipFunction_t add;
static hipStream_t stream;
static uint32_t *numbers, *others;

static int start(void **user)
{
    void *const hip =
        dlopen(double_path("libamdhip64.so"), RTLD_LAZY | RTLD_GLOBAL);
    void *const sdk =
        dlopen(double_path("librocprofiler-sdk.so"), RTLD_LAZY | RTLD_GLOBAL);
    uint64_t size;
    object = double_read("libhsaco.so", &size);
    if (!hip || !sdk || !object) return -1;
#define X(name) \
    { \
        void *const symbol = dlsym(hip, #name); \
        if (!symbol) return -1; \
        memcpy(&call_##name, &symbol, sizeof symbol); \
    }
    CALLS(X)
#undef X
    return ts_backend_add(&ts_hip_backend) != TS_OK;
}

static int finish(void **user)
{
    free(object);
    return 0;
}

// A session with a capture. A busy machine may take long.
static void begin(void)
{
    static const ts_session_desc plain;
    const ts_capture_desc patient = { .drain_ms = 60000 };
    ok(ts_capture_arm(&patient)); // HIP's backend wants to know by then
    path = rt_start("hip_capture.sbt", plain);
    ok(call_hipSetDevice(0));
    ok(call_hipModuleLoadData(&module, object));
    ok(call_hipModuleGetFunction(&add, module, "add"));
    ok(call_hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    ok(call_hipMalloc((void **)&numbers, BYTES));
    ok(call_hipMalloc((void **)&others, BYTES));
    for (int i = 0; i < COUNT; i++)
        numbers[i] = others[i] = 10;
    ts_capture_trigger();
}

static void end(void)
{
    ts_capture_stop();
    ok(call_hipFree(numbers));
    ok(call_hipFree(others));
    ok(ts_session_stop());
    trace = rt_read(path);
}

#endif // HIP_CAPTURE_FIXTURE_H
