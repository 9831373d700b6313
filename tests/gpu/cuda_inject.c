/*
    cuda_inject.c - the recorder alone, as the driver loads it

    Loaded by CUDA_INJECTION64_PATH; the trace is TS_GPU_TRACE. With -DDUMP it
    has CUPTI tell what is there already (cuptiActivityEnableAndDump), which the
    recorder does only for who comes late.
*/
#define TRACESMITH_IMPLEMENTATION
#define TRACESMITH_CUPTI_IMPLEMENTATION
#include "tracesmith.h"

#include "backends/ts_cupti.h"

int InitializeInjection(void);
int InitializeInjection(void)
{
    const ts_session_desc desc = { .path = getenv("TS_GPU_TRACE") };
    if (!desc.path || ts_session_start(&desc) != TS_OK) return 1;
#ifdef DUMP
    ts_backend_add(&ts_cupti_backend);
    return 1;
#else
    return ts_cupti_initialize();
#endif
}
