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
    TS__CS_TEST = 1,   // test whether the driver answers
    TS__CS_DRAIN,      // wait until no work is in flight or until `until_ns`
    TS__CS_READ,       // read `size` bytes at `address`
    TS__CS_FUNCTION,   // get the module and parameters of function `object`
    TS__CS_GLOBAL,     // get the address of variable `name` of module `object`
    TS__CS_ALLOCATION, // get the allocation that contains `address`
    TS__CS_STATUS,     // get whether stream `object` is `recorded`
    TS__CS_QUIET,      // wait until stream `object` is idle or until `until_ns`
    TS__CS_OWN         // call `own`
} ts__cs_what;

// Whether memory is managed, and whether the host may read it while a device is
// in use.
typedef enum ts__cs_managed {
    TS__CS_NOT_MANAGED,
    TS__CS_MANAGED_ALONE,
    TS__CS_MANAGED
} ts__cs_managed;

typedef struct ts__cs_job {
    ts__cs_what what;
    bool (*own)(struct ts__cs_job *job); // the vendor's query, for TS__CS_OWN
    void *context, *object;
    uint64_t address, size, until_ns;
    const char *name;
    bool ok;
    // For functions.
    bool is_kernel; // `object` is a kernel of a library, not a function
    void *module;
    uint32_t parameter_count;
    uint32_t parameters[TS__CS_PARAMETERS][2]; // offset, size
    uint32_t memory_type;                      // of the allocation; 0: none
    void *owner;                               // the context of the allocation
    int32_t device;                            // device number, -1: unknown
    ts__cs_managed managed;                    // also for variables
    const void *loader; // the thread whose module loads this query caused
    const char *called; // the function's name
    bool recording;     // some stream may be recorded now
    bool recorded;      // some stream is recorded, so it cannot be waited for
    void *found;        // the result of `own`
    // Frees `found` if nobody fetches it; NULL: not needed.
    void (*drop)(void *found);
} ts__cs_job;

typedef struct ts__cs_stream {
    void *handle, *context;
    int32_t priority;
    uint32_t flags;   // TS_STREAM_...
    bool quiet;       // the stream was idle when its recording began
    uint32_t session; // the session that added the stream
} ts__cs_stream;

typedef struct ts__cs_own { // TraceSmith's objects in a context
    void *context, *stream; // stream NULL: this entry is free
    uint64_t id;            // the context's id, because handles are reused
    void *event;
    uint32_t waited; // the value of `left` up to which work was waited for
    // Used by gpu/device_hash.h.
    bool tried;
    const char *wrong;
    void *function;
    uint64_t hashes; // device address of the hashes
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
    pthread_mutex_t lock; // protects all fields below
    pthread_cond_t wake, done;
    pthread_t thread;
    // silent: the driver did not answer in time
    bool running, busy, leave, silent;
    bool taken; // a thread waits for `job` or has not fetched its result
    bool same;  // requests are made on the requesting thread
    uint32_t per_thread; // threads use default streams of their own
    // Counts the times that streams which cannot be queried may have got work:
    // streams from before the session, or destroyed since.
    uint32_t left;
    uint32_t session;
    ts__cs_going *going;
    void *at; // the context that is being queried
    ts__cs_job job;
    ts__cs_own owns[16];
    size_t own_count;
    // Called for each stream that TraceSmith makes; may be NULL.
    void (*made)(void *context, void *stream);
    uint8_t *bounce; // buffer for bytes read from the device
    ts__cs_stream *streams;
    size_t stream_count, stream_capacity;
} ts__cs_driver;

static TS__TLS bool ts__cs_mine; // this thread is the one that calls the driver
// Its address identifies the calling thread.
static TS__TLS char ts__cs_here_too;

static struct timespec ts__cs_time(uint64_t ns)
{
    struct timespec t;
    t.tv_sec = (time_t)(ns / 1000000000u);
    t.tv_nsec = (long)(ns % 1000000000u);
    return t;
}

#endif // TS__GPU_DRIVER_H
