// A program that brings TraceSmith along, and uses NVTX in two copies: its own
// and that of a library (this file too, with LIBRARY). No variable is set.
#define _GNU_SOURCE
#ifdef LIBRARY
#include <nvtx3/nvToolsExt.h>

void say(void);
void say(void)
{
    nvtxRangePushA("in the library");
    nvtxRangePop();
}
#elif defined(RECORDER)
#define TRACESMITH_IMPLEMENTATION
#define TRACESMITH_NVTX
#include "tracesmith.h"

#include "backends/ts_nvtx.h"

int record(const char *path);
int record(const char *path)
{
    const ts_session_desc desc = { .path = path };
    ts_backend_add(&ts_nvtx_backend);
    return ts_session_start(&desc) == TS_OK;
}
#else
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <stddef.h>

int record(const char *path);

int main(int argc, char **argv)
{
    static const nvtxCounterAttr_t counter = {
        .structSize = sizeof counter,
        .schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT64,
        .name = "own counter"
    };
    void (*say)(void) = NULL;
    if (argc != 3 || !record(argv[1])) return 2;
    nvtxRangePushA("own");
    nvtxRangePop();
    nvtxCounterSampleInt64(NULL, nvtxCounterRegister(NULL, &counter), 3);
    void *const library = dlopen(argv[2], RTLD_NOW);
    if (library) *(void **)&say = dlsym(library, "say");
    if (!say) return 3;
    say();
    return 0;
}
#endif
