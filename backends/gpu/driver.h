/*
    gpu/driver.h - CUDA's driver: its functions, and requests to it

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: libcuda.so.1 and libamdhip64.so, as they are in the
                    process.

    The types of captures' requests to the driver, and the state of the
    thread that makes them. The driver may not work when it is called inside
    one of its own callbacks, so a thread of ours calls it
    (driver_queries.h), and a thread that needs an answer waits for a
    bounded time (driver_requests.h).

    While a context is being destroyed, `going` lists it, and no request
    enters it.
*/
#ifndef TS__GPU_DRIVER_H
#define TS__GPU_DRIVER_H

#include "tracesmith.h"
#include "cuda_abi.h"

#include <pthread.h>
#include <time.h>

#define TS__CS_CALLS(X) \
    X(context_set, "cuCtxSetCurrent", (void *)) \
    X(context_now, "cuCtxGetCurrent", (void **)) \
    X(context_id, "cuCtxGetId", (void *, uint64_t *)) \
    X(query, "cuStreamQuery", (void *)) \
    X(wait_all, "cuCtxSynchronize", (void)) \
    X(record_all, "cuCtxRecordEvent", (void *, void *)) \
    X(event, "cuEventCreate", (void **, unsigned)) \
    X(is_over, "cuEventQuery", (void *)) \
    X(stream, "cuStreamCreate", (void **, unsigned)) \
    X(to_host, "cuMemcpyDtoHAsync_v2", (void *, uint64_t, size_t, void *)) \
    X(range, "cuMemGetAddressRange_v2", (uint64_t *, size_t *, uint64_t)) \
    X(about, "cuPointerGetAttribute", (void *, int, uint64_t)) \
    X(device, "cuCtxGetDevice", (int *)) \
    X(can, "cuDeviceGetAttribute", (int *, int, int)) \
    X(module, "cuFuncGetModule", (void **, void *)) \
    X(kernel, "cuKernelGetFunction", (void **, void *)) \
    X(library, "cuKernelGetLibrary", (void **, void *)) \
    X(library_module, "cuLibraryGetModule", (void **, void *)) \
    X(parameter, "cuFuncGetParamInfo", (void *, size_t, size_t *, size_t *)) \
    X(name, "cuFuncGetName", (const char **, void *)) \
    X(is_recorded, "cuStreamIsCapturing", (void *, int *)) \
    X(mode, "cuThreadExchangeStreamCaptureMode", (int *)) \
    X(nodes, "cuGraphGetNodes", (void *, void **, size_t *)) \
    X(edges, "cuGraphGetEdges_v2", \
      (void *, void **, void **, void *, size_t *)) \
    X(edges_old, "cuGraphGetEdges", (void *, void **, void **, size_t *)) \
    X(node_type, "cuGraphNodeGetType", (void *, int *)) \
    X(node_kernel, "cuGraphKernelNodeGetParams_v2", \
      (void *, ts__cuda_kernel_node *)) \
    X(node_attribute, "cuGraphKernelNodeGetAttribute", (void *, int, void *)) \
    X(node_copy, "cuGraphMemcpyNodeGetParams", (void *, ts__cuda_box *)) \
    X(node_set, "cuGraphMemsetNodeGetParams", (void *, ts__cuda_set_node *)) \
    X(node_child, "cuGraphChildGraphNodeGetGraph", (void *, void **)) \
    X(global, "cuModuleGetGlobal_v2", \
      (uint64_t *, size_t *, void *, const char *)) \
    X(load, "cuModuleLoadData", (void **, const void *)) \
    X(function, "cuModuleGetFunction", (void **, void *, const char *)) \
    X(launch, "cuLaunchKernel", \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
       unsigned, void *, void **, void **)) \
    X(to_device, "cuMemcpyHtoDAsync_v2", \
      (uint64_t, const void *, size_t, void *))

enum { TS__CS_PARAMETERS = 1024 };

typedef enum ts__cs_what {
    TS__CS_TEST = 1,   // whether it answers at all
    TS__CS_DRAIN,      // wait until nothing runs, till `until_ns`
    TS__CS_READ,       // `size` bytes at `address`
    TS__CS_FUNCTION,   // module and parameters of `object`
    TS__CS_GLOBAL,     // where variable `name` of module `object` lies
    TS__CS_ALLOCATION, // which allocation `address` lies in
    TS__CS_STATUS,     // whether stream `object` is `recorded`
    TS__CS_QUIET,      // wait until stream `object` is idle, till `until_ns`
    TS__CS_OWN         // what `own` does
} ts__cs_what;

// Managed memory, and whether anybody may look at it while others use it.
typedef enum ts__cs_managed {
    TS__CS_NOT_MANAGED,
    TS__CS_MANAGED_ALONE,
    TS__CS_MANAGED
} ts__cs_managed;

typedef struct ts__cs_job {
    ts__cs_what what;
    bool (*own)(struct ts__cs_job *job); // of a vendor
    void *context, *object;
    uint64_t address, size, until_ns;
    const char *name;
    bool ok;
    // Of a function.
    bool is_kernel; // `object` is a kernel of a library, and no function
    void *module;
    uint32_t parameter_count;
    uint32_t parameters[TS__CS_PARAMETERS][2]; // offset, size
    uint32_t memory_type;                      // of an allocation, 0: none
    void *owner;                               // its context
    int32_t device;                            // its number, -1: unknown
    ts__cs_managed managed;                    // also of a variable
    const void *loader;                        // who loaded modules meanwhile
    const char *called;                        // of a function: its name
    bool recording;            // some stream may be recorded now
    bool recorded;             // a stream is, so that it cannot be waited for
    void *found;               // what `own` has to say
    void (*drop)(void *found); // of what nobody waits for; NULL: need not be
} ts__cs_job;

typedef struct ts__cs_stream {
    void *handle, *context;
    int32_t priority;
    uint32_t flags;   // TS_STREAM_...
    bool quiet;       // it was idle when its recording began
    uint32_t session; // in which somebody saw it
} ts__cs_stream;

typedef struct ts__cs_own { // in a context
    void *context, *stream; // stream NULL: this one is free
    uint64_t id;            // of the context: handles are used again
    void *event;
    uint32_t waited; // up to which of `left`
    // Of gpu/device_hash.h.
    bool tried;
    const char *wrong;
    void *function;
    uint64_t hashes; // where it leaves them
} ts__cs_own;

typedef struct ts__cs_calls {
#define TS__X(name, symbol, arguments) int(*name) arguments;
    TS__CS_CALLS(TS__X)
#undef TS__X
} ts__cs_calls;

typedef struct ts__cs_going { // a context that is being destroyed
    void *context;
    struct ts__cs_going *next;
} ts__cs_going;

typedef struct ts__cs_driver {
    ts__cs_calls call;
    pthread_mutex_t lock; // of all that follows
    pthread_cond_t wake, done;
    pthread_t thread;
    bool running, busy, leave, silent; // silent: it did not answer
    bool taken;          // a thread waits for `job`, or has not fetched it yet
    bool same;           // requests are made on the requesting thread
    uint32_t per_thread; // a thread's own default stream is in use
    uint32_t left; // how often streams that nobody can ask may have got work:
                   // of before the session, or destroyed since
    uint32_t session;
    ts__cs_going *going;
    void *at; // the context that is being asked
    ts__cs_job job;
    ts__cs_own owns[16];
    size_t own_count;
    void (*made)(void *context, void *stream); // called with it; NULL: nobody
    uint8_t *bounce;                           // what was read
    ts__cs_stream *streams;
    size_t stream_count, stream_capacity;
} ts__cs_driver;

static TS__TLS bool ts__cs_mine;     // this thread is the one of its own
static TS__TLS char ts__cs_here_too; // its address is the thread's

static struct timespec ts__cs_time(uint64_t ns)
{
    struct timespec t;
    t.tv_sec = (time_t)(ns / 1000000000u);
    t.tv_nsec = (long)(ns % 1000000000u);
    return t;
}

#endif // TS__GPU_DRIVER_H
