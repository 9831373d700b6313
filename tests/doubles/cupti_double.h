/*
    cupti_double.h - how tests drive the double of libcupti

    A device of its own time: an operation begins when it is asked for and its
    stream is free, and takes as long as it says. Records are made as CUPTI of
    the version that was set makes them, in their whole length; libcupti.c
    proves nothing about when the real one does what.
*/
#ifndef CUPTI_DOUBLE_H
#define CUPTI_DOUBLE_H

#include <stddef.h>
#include <stdint.h>

typedef enum double_what { // what a program does
    DOUBLE_LAUNCH,
    DOUBLE_DRIVER_LAUNCH, // cuLaunchKernel, not from the runtime
    DOUBLE_COPY,
    DOUBLE_PEER_COPY,
    DOUBLE_SET,
    DOUBLE_MALLOC,
    DOUBLE_MALLOC_HOST,
    DOUBLE_FREE,
    DOUBLE_EVENT_RECORD,
    DOUBLE_STREAM_WAIT,
    DOUBLE_EVENT_SYNC,
    DOUBLE_STREAM_SYNC,
    DOUBLE_DEVICE_SYNC,
    DOUBLE_GET_ERROR, // a function that only asks
    DOUBLE_CAPTURE,   // a launch that becomes node `event` of a graph
    DOUBLE_CLONE,     // cudaGraphInstantiate: node `event` becomes `bytes`
    DOUBLE_GRAPH,     // a launch of a graph with node `event`
    DOUBLE_POOL,
    DOUBLE_INNER_LAUNCH, // what compilers of CUDA 13 make of <<<>>>
    DOUBLE_COPY_ROWS,
    DOUBLE_TO_SYMBOL, // a copy whose arguments are no addresses
    DOUBLE_OVERHEAD,
    DOUBLE_UNLOAD,  // module `event` goes
    DOUBLE_FATAL,   // CUPTI ends itself
    DOUBLE_QUIET,   // a function of the driver without a record
    DOUBLE_MODULE,  // module `event` is loaded: `bytes` at `parameters`
    DOUBLE_CONTEXT, // `context` goes
    DOUBLE_WHATS
} double_what;

typedef struct double_op {
    double_what what;
    const char *name; // of a kernel ("kernel")
    uint32_t stream;  // (0: the default one, whose number is 7)
    uint32_t device;  // (0)
    uint64_t ns;      // how long it takes
    uint64_t bytes;
    uint32_t event;
    int result;      // of the call
    uint32_t grid;   // (1)
    uint64_t early;  // its kernel begins so long before the call
    uint64_t sync;   // number of this record of the event
    uint32_t repeat; // how often (1)
    uint32_t nodes;  // of a graph (1)
    // A function of the driver (NULL: one of the runtime, by `what`), with
    // the arguments that callbacks see, and what it does between them.
    const char *function;
    const void *parameters;
    int (*work)(void *user);
    void *user;
    void *context; // (the first device's, whose number is 1)
} double_op;

/*
    Functions of the double, to be found by dlsym. set: keys are
      version            cuptiGetVersion
      subscribe          result of cuptiSubscribe and cuptiSubscribe_v2
      enable_KIND        result of cuptiActivityEnable
      callbacks          result of cuptiActivityRegisterCallbacks
      flush              result of cuptiActivityFlushAll, which does nothing
      hang_flush         1: FlushAll does not return until it is 0
      hang_next          the same of GetNextRecord
      zero_times, reverse_times, far_times   of so many kernels to come
      lose_kernels       so many kernels give no record
      silent_calls       of so many functions nobody is called
      nested             1: calls of the driver within the runtime's have
                         numbers of their own; 2: so have their records
      reorder            1: records come in any order
      drop               what cuptiActivityGetNumDroppedRecords says next
      hold_buffers       1: buffers that are full are not given back
      bad_record         the next buffer ends in garbage
      wrong_layout       kernels are laid out by somebody else
      late_facts         devices and streams are told behind operations
      real_driver        0: as without a driver, 999 everywhere
      clock_step         the machine's time was set by so many ns
      no_time            1: cuptiGetTimestamp fails
      no_call_names      cuptiGetCallbackName fails
*/
typedef void (*double_set_function)(const char *key, uint64_t value);
typedef uint64_t (*double_get_function)(const char *key);
typedef int (*double_run_function)(const double_op *op); // its result
typedef void (*double_owner_function)(const char *name);

/* ---- Records, as the headers have them ---------------------------------- */

typedef struct double_kernel { // CUpti_ActivityKernel10
    uint32_t kind;
    uint8_t cache, shared_config;
    uint16_t registers;
    uint32_t partitioned[2];
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3], static_shared, dynamic_shared;
    uint32_t local, local_total, correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout_requested, carveout, pad;
    uint32_t shared_executed;
    uint64_t graph_node; // from here on CUDA 11.0
    uint32_t limit, graph;
    void *policy; // 11.2
    uint32_t channel, channel_type;
    uint32_t cluster[3], scheduling; // 11.8
    uint64_t local_total2;
    uint32_t most_clusters[2]; // 12.0
    uint8_t device_launched, pad2[7];
} double_kernel;

typedef struct double_copy { // CUpti_ActivityMemcpy6
    uint32_t kind;
    uint8_t type, from, to, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime, pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type;
    uint8_t device_launched, pad2[3];
    uint64_t count;
} double_copy;

typedef struct double_peer_copy { // CUpti_ActivityMemcpyPtoP4
    uint32_t kind;
    uint8_t type, from, to, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t from_device, from_context, to_device, to_context, correlation;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type, pad;
} double_peer_copy;

typedef struct double_memset { // CUpti_ActivityMemset4
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory;
    uint32_t pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type;
    uint8_t device_launched, pad2[3];
} double_memset;

typedef struct double_sync { // CUpti_ActivitySynchronization2
    uint32_t kind, type;
    uint64_t start, end;
    uint32_t correlation, context, stream, event;
    uint64_t sync; // 12.8
    uint32_t result, pad;
} double_sync;

typedef struct double_event { // CUpti_ActivityCudaEvent2
    uint32_t kind, correlation, context, stream, event, pad;
    uint32_t device, pad2; // 12.8
    void *reserved;
    uint64_t time, sync;
} double_event;

typedef struct double_memory { // CUpti_ActivityMemory4
    uint32_t kind, type, memory, correlation;
    uint64_t address, bytes, time, place;
    uint32_t process, device, context, stream;
    const char *name;
    uint32_t async, pad;
    uint32_t pool_type, pad2;
    uint64_t pool, threshold, pool_size;
    uint64_t pool_used;
    const char *source;
} double_memory;

typedef struct double_pool { // CUpti_ActivityMemoryPool3
    uint32_t kind, type, pool_type, correlation, process, device;
    size_t keep;
    uint64_t address, size, threshold, time, used;
    uint8_t managed, pad[7];
} double_pool;

typedef struct double_graph { // CUpti_ActivityGraphTrace2
    uint32_t kind, correlation;
    uint64_t start, end;
    uint32_t device, graph, context, stream;
    void *reserved;
    uint32_t end_device, end_context;
} double_graph;

typedef struct double_overhead { // CUpti_ActivityOverhead3
    uint32_t kind, type, object;
    uint32_t ids[3]; // of a thread: process, thread
    uint64_t start, end;
    uint32_t correlation, reserved;
    void *data;
} double_overhead;

typedef struct double_device { // CUpti_ActivityDevice5
    uint32_t kind, flags;
    uint64_t bandwidth, memory;
    uint32_t constant, l2, warp, clock, engines, processors, more[11];
    uint32_t grid[3];
    uint32_t major, minor, id, ecc;
    uint8_t uuid[16];
    const char *name;
    uint8_t visible, mig, reserved[6];
    uint32_t instances[2];
    uint8_t mig_uuid[16];
    uint32_t numa[2];
} double_device;

typedef struct double_context { // CUpti_ActivityContext3
    uint32_t kind, context, device;
    uint16_t api, null_stream;
    uint32_t parent;
    uint8_t green, pad;
    uint16_t processors;
    uint32_t cig, pad2;
} double_context;

typedef struct double_stream { // CUpti_ActivityStream
    uint32_t kind, context, stream, priority, flags, correlation;
} double_stream;

#endif // CUPTI_DOUBLE_H
