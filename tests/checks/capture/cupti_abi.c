/*
    cupti_abi.c - the layouts of CUPTI against NVIDIA's headers: those that the
                  backend's table says, and those that the double writes

    Needs the headers of CUDA 11.8 or later; what the double writes is compared
    with those of 13.0. With ALONE the headers are CUPTI's only, and
    tests/checks/nvidia/stub/cuda.h stands for CUDA's. Prints what differs.
*/
#define _GNU_SOURCE
#define TRACESMITH_IMPLEMENTATION
#define TRACESMITH_CUPTI_IMPLEMENTATION
#include "backends/ts_cupti.h"

#include "tests/doubles/cupti_double.h"
#ifdef ALONE
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_version.h>
#else
#include <cupti.h>
#endif

// Records that a version does not have are those of before.
#if CUPTI_API_VERSION < 19 // CUDA 12.0
#define CUpti_ActivityKernel9     CUpti_ActivityKernel8
#define CUpti_ActivityGraphTrace2 CUpti_ActivityGraphTrace
#define CUpti_ActivityOverhead3   CUpti_ActivityOverhead
#define CUpti_ActivityDevice5     CUpti_ActivityDevice4
#define CUpti_ActivityContext2    CUpti_ActivityContext
#endif
#if CUPTI_API_VERSION < 26 // 12.8
#define CUpti_ActivityKernel10         CUpti_ActivityKernel9
#define CUpti_ActivityMemcpy6          CUpti_ActivityMemcpy5
#define CUpti_ActivitySynchronization2 CUpti_ActivitySynchronization
#define CUpti_ActivityCudaEvent2       CUpti_ActivityCudaEvent
#define CUpti_ActivityMemory4          CUpti_ActivityMemory3
#define CUpti_ActivityMemoryPool3      CUpti_ActivityMemoryPool2
#define CUpti_ActivityContext3         CUpti_ActivityContext2
#endif

#if CUPTI_API_VERSION >= 130000
#define SAME(ours, theirs) \
    _Static_assert(sizeof(ours) == sizeof(theirs), #ours " is " #theirs)
SAME(double_kernel, CUpti_ActivityKernel10);
SAME(double_copy, CUpti_ActivityMemcpy6);
SAME(double_peer_copy, CUpti_ActivityMemcpyPtoP4);
SAME(double_memset, CUpti_ActivityMemset4);
SAME(double_sync, CUpti_ActivitySynchronization2);
SAME(double_event, CUpti_ActivityCudaEvent2);
SAME(double_memory, CUpti_ActivityMemory4);
SAME(double_pool, CUpti_ActivityMemoryPool3);
SAME(double_graph, CUpti_ActivityGraphTrace2);
SAME(double_overhead, CUpti_ActivityOverhead3);
SAME(double_device, CUpti_ActivityDevice5);
SAME(double_context, CUpti_ActivityContext3);
SAME(double_stream, CUpti_ActivityStream);
SAME(ts__cu_subscription, CUpti_SubscriberParams);
SAME(ts__cu_call_data, CUpti_CallbackData);
SAME(ts__cu_resource, CUpti_ResourceData);

#define AT(ours, field, theirs, member) \
    _Static_assert(offsetof(ours, field) == offsetof(theirs, member), #field)
AT(ts__cu_call_data, name, CUpti_CallbackData, functionName);
AT(ts__cu_call_data, result, CUpti_CallbackData, functionReturnValue);
AT(ts__cu_call_data, correlation, CUpti_CallbackData, correlationId);
AT(ts__cu_call_data, parameters, CUpti_CallbackData, functionParams);
AT(ts__cu_move, to, cudaMemcpy_v3020_params, dst);
AT(ts__cu_move, from, cudaMemcpy_v3020_params, src);
AT(ts__cu_move, to, cudaMemcpyAsync_v3020_params, dst);
AT(ts__cu_move, from, cudaMemcpyAsync_v3020_params, src);
AT(ts__cu_move, to, cudaMemset_v3020_params, devPtr);
AT(ts__cu_move, to, cudaMemsetAsync_v3020_params, devPtr);
AT(ts__cu_move, to, cuMemcpyAsync_params, dst);
AT(ts__cu_move, from, cuMemcpyAsync_params, src);
AT(ts__cu_resource, more, CUpti_ResourceData, resourceDescriptor);
AT(ts__cu_graph_data, node, CUpti_GraphData, node);
AT(ts__cu_graph_data, original, CUpti_GraphData, originalNode);
AT(ts__cu_notice, text, CUpti_StateData, notification.message);
AT(ts__cu_subscription, other, CUpti_SubscriberParams, oldSubscriberName);
AT(double_kernel, name, CUpti_ActivityKernel10, name);
AT(double_kernel, graph_node, CUpti_ActivityKernel10, graphNodeId);
AT(double_kernel, cluster, CUpti_ActivityKernel10, clusterX);
AT(double_copy, correlation, CUpti_ActivityMemcpy6, correlationId);
AT(double_peer_copy, to_device, CUpti_ActivityMemcpyPtoP4, dstDeviceId);
AT(double_memory, pool, CUpti_ActivityMemory4, memoryPoolConfig.address);
AT(double_device, name, CUpti_ActivityDevice5, name);
#endif

_Static_assert((int)TS__CU_DRIVER == (int)CUPTI_CB_DOMAIN_DRIVER_API, "");
_Static_assert((int)TS__CU_RUNTIME == (int)CUPTI_CB_DOMAIN_RUNTIME_API, "");
_Static_assert((int)TS__CU_RESOURCE == (int)CUPTI_CB_DOMAIN_RESOURCE, "");
#if CUPTI_API_VERSION >= 19
_Static_assert((int)TS__CU_STATE == (int)CUPTI_CB_DOMAIN_STATE, "");
_Static_assert(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER == 9, "");
#endif
_Static_assert(TS__CU_MODULE_UNLOADED ==
                   CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
               "");
_Static_assert((int)TS__CU_NODE_CREATED ==
                   (int)CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
               "");
_Static_assert((int)TS__CU_NODE_CLONED ==
                   (int)CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
               "");
_Static_assert(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER == 5, "");

static int checked, wrong;
static bool seen[TS__CU_ROLES][TS__CU_FIELDS];

static void check(ts__cu_role role, ts__cu_field field, size_t at, size_t size,
                  size_t expected_size, const char *what)
{
    checked++;
    seen[role][field] = true;
    if (ts__cupti_table.at[role][field] == at && size == expected_size) return;
    printf("%s: %u in the table, %zu in the header, %zu bytes\n", what,
           ts__cupti_table.at[role][field], at, size);
    wrong++;
}

static void kind(ts__cu_role role, unsigned number)
{
    checked++;
    if (ts__cupti_table.kinds[role] == number) return;
    printf("kind %u in the table, %u in the header\n",
           ts__cupti_table.kinds[role], number);
    wrong++;
}

#define FIELD(role, field, type, member, size) \
    check(TS__CU_##role, TS__CU_##field, \
          offsetof(CUpti_Activity##type, member), \
          sizeof(((CUpti_Activity##type *)0)->member), size, \
          #role " " #field " of " #type)

// Every version of a kernel's record that the header keeps, from 11.0 on.
#define KERNEL(type) \
    FIELD(KERNEL, REGISTERS, type, registersPerThread, 2); \
    FIELD(KERNEL, START, type, start, 8); \
    FIELD(KERNEL, END, type, end, 8); \
    FIELD(KERNEL, ON_DEVICE, type, deviceId, 4); \
    FIELD(KERNEL, ON_CONTEXT, type, contextId, 4); \
    FIELD(KERNEL, ON_STREAM, type, streamId, 4); \
    FIELD(KERNEL, GRID, type, gridX, 4); \
    FIELD(KERNEL, BLOCK, type, blockX, 4); \
    FIELD(KERNEL, STATIC_SHARED, type, staticSharedMemory, 4); \
    FIELD(KERNEL, DYNAMIC_SHARED, type, dynamicSharedMemory, 4); \
    FIELD(KERNEL, LOCAL, type, localMemoryPerThread, 4); \
    FIELD(KERNEL, CORRELATION, type, correlationId, 4); \
    FIELD(KERNEL, NAME, type, name, sizeof(char *)); \
    FIELD(KERNEL, QUEUED, type, queued, 8); \
    FIELD(KERNEL, SUBMITTED, type, submitted, 8); \
    FIELD(KERNEL, GRAPH_NODE, type, graphNodeId, 8); \
    FIELD(KERNEL, GRAPH_ID, type, graphId, 4)

#define COPY(role, type) \
    FIELD(role, TYPE, type, copyKind, 1); \
    FIELD(role, FROM_KIND, type, srcKind, 1); \
    FIELD(role, TO_KIND, type, dstKind, 1); \
    FIELD(role, SIZE, type, bytes, 8); \
    FIELD(role, START, type, start, 8); \
    FIELD(role, END, type, end, 8); \
    FIELD(role, ON_DEVICE, type, deviceId, 4); \
    FIELD(role, ON_CONTEXT, type, contextId, 4); \
    FIELD(role, ON_STREAM, type, streamId, 4); \
    FIELD(role, CORRELATION, type, correlationId, 4); \
    FIELD(role, GRAPH_NODE, type, graphNodeId, 8)

static void operations(void)
{
    KERNEL(Kernel5);
    KERNEL(Kernel6);
    KERNEL(Kernel7);
    KERNEL(Kernel8);
    KERNEL(Kernel9);
    KERNEL(Kernel10);
    FIELD(KERNEL, CLUSTER, Kernel8, clusterX, 4);
    FIELD(KERNEL, CLUSTER, Kernel10, clusterX, 4);
    COPY(MEMCPY, Memcpy3);
    COPY(MEMCPY, Memcpy4);
    COPY(MEMCPY, Memcpy6);
    FIELD(MEMCPY, GRAPH_ID, Memcpy4, graphId, 4);
    FIELD(MEMCPY, GRAPH_ID, Memcpy6, graphId, 4);
    COPY(PEER, MemcpyPtoP2);
    COPY(PEER, MemcpyPtoP4);
    FIELD(PEER, GRAPH_ID, MemcpyPtoP3, graphId, 4);
    FIELD(PEER, TO_DEVICE, MemcpyPtoP2, dstDeviceId, 4);
    FIELD(MEMSET, VALUE, Memset2, value, 4);
    FIELD(MEMSET, SIZE, Memset2, bytes, 8);
    FIELD(MEMSET, START, Memset2, start, 8);
    FIELD(MEMSET, END, Memset2, end, 8);
    FIELD(MEMSET, ON_DEVICE, Memset2, deviceId, 4);
    FIELD(MEMSET, ON_CONTEXT, Memset4, contextId, 4);
    FIELD(MEMSET, ON_STREAM, Memset4, streamId, 4);
    FIELD(MEMSET, CORRELATION, Memset4, correlationId, 4);
    FIELD(MEMSET, GRAPH_NODE, Memset2, graphNodeId, 8);
    FIELD(MEMSET, GRAPH_ID, Memset3, graphId, 4);
    FIELD(GRAPH, CORRELATION, GraphTrace, correlationId, 4);
    FIELD(GRAPH, START, GraphTrace, start, 8);
    FIELD(GRAPH, END, GraphTrace, end, 8);
    FIELD(GRAPH, ON_DEVICE, GraphTrace, deviceId, 4);
    FIELD(GRAPH, GRAPH_ID, GraphTrace, graphId, 4);
    FIELD(GRAPH, ON_CONTEXT, GraphTrace2, contextId, 4);
    FIELD(GRAPH, ON_STREAM, GraphTrace2, streamId, 4);
}

static void host(void)
{
    FIELD(SYNC, TYPE, Synchronization, type, 4);
    FIELD(SYNC, START, Synchronization, start, 8);
    FIELD(SYNC, END, Synchronization, end, 8);
    FIELD(SYNC, CORRELATION, Synchronization, correlationId, 4);
    FIELD(SYNC, ON_CONTEXT, Synchronization2, contextId, 4);
    FIELD(SYNC, ON_STREAM, Synchronization2, streamId, 4);
    FIELD(SYNC, EVENT_ID, Synchronization2, cudaEventId, 4);
#if CUPTI_API_VERSION >= 26
    FIELD(SYNC, EVENT_SYNC, Synchronization2, cudaEventSyncId, 8);
#endif
    FIELD(EVENT, CORRELATION, CudaEvent, correlationId, 4);
    FIELD(EVENT, ON_CONTEXT, CudaEvent, contextId, 4);
    FIELD(EVENT, ON_STREAM, CudaEvent2, streamId, 4);
    FIELD(EVENT, EVENT_ID, CudaEvent2, eventId, 4);
#if CUPTI_API_VERSION >= 26
    FIELD(EVENT, EVENT_SYNC, CudaEvent2, cudaEventSyncId, 8);
#endif
    FIELD(MEMORY, TYPE, Memory2, memoryOperationType, 4);
    FIELD(MEMORY, MEMORY_KIND, Memory2, memoryKind, 4);
    FIELD(MEMORY, CORRELATION, Memory2, correlationId, 4);
    FIELD(MEMORY, ADDRESS, Memory2, address, 8);
    FIELD(MEMORY, SIZE, Memory2, bytes, 8);
    FIELD(MEMORY, START, Memory2, timestamp, 8);
    FIELD(MEMORY, ON_DEVICE, Memory4, deviceId, 4);
    FIELD(MEMORY, ON_CONTEXT, Memory4, contextId, 4);
    FIELD(MEMORY, IN_POOL, Memory4, memoryPoolConfig.address, 8);
    FIELD(POOL, TYPE, MemoryPool, memoryPoolOperationType, 4);
    FIELD(POOL, MEMORY_KIND, MemoryPool, memoryPoolType, 4);
    FIELD(POOL, ON_DEVICE, MemoryPool, deviceId, 4);
    FIELD(POOL, ADDRESS, MemoryPool, address, 8);
    FIELD(POOL, SIZE, MemoryPool3, size, 8);
    FIELD(POOL, START, MemoryPool3, timestamp, 8);
    FIELD(OVERHEAD, TYPE, Overhead, overheadKind, 4);
    FIELD(OVERHEAD, THREAD_KIND, Overhead, objectKind, 4);
    FIELD(OVERHEAD, THREAD, Overhead3, objectId.pt.threadId, 4);
    FIELD(OVERHEAD, START, Overhead3, start, 8);
    FIELD(OVERHEAD, END, Overhead3, end, 8);
    FIELD(DEVICE, BANDWIDTH, Device2, globalMemoryBandwidth, 8);
    FIELD(DEVICE, SIZE, Device2, globalMemorySize, 8);
    FIELD(DEVICE, CLOCK_KHZ, Device2, coreClockRate, 4);
    FIELD(DEVICE, PROCESSORS, Device3, numMultiprocessors, 4);
    FIELD(DEVICE, MAJOR, Device3, computeCapabilityMajor, 4);
    FIELD(DEVICE, MINOR, Device4, computeCapabilityMinor, 4);
    FIELD(DEVICE, ON_DEVICE, Device5, id, 4);
    FIELD(DEVICE, NAME, Device2, name, sizeof(char *));
    FIELD(DEVICE, NAME, Device5, name, sizeof(char *));
    FIELD(CONTEXT, ON_CONTEXT, Context, contextId, 4);
    FIELD(CONTEXT, ON_DEVICE, Context2, deviceId, 4);
    FIELD(CONTEXT, NULL_STREAM, Context, nullStreamId, 2);
    FIELD(CONTEXT, NULL_STREAM, Context3, nullStreamId, 2);
    FIELD(STREAM, ON_CONTEXT, Stream, contextId, 4);
    FIELD(STREAM, ON_STREAM, Stream, streamId, 4);
    FIELD(STREAM, PRIORITY, Stream, priority, 4);
    FIELD(STREAM, FLAGS, Stream, flag, 4);
}

static void kinds(void)
{
    kind(TS__CU_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    kind(TS__CU_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
    kind(TS__CU_PEER, CUPTI_ACTIVITY_KIND_MEMCPY2);
    kind(TS__CU_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
    kind(TS__CU_SYNC, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    kind(TS__CU_EVENT, CUPTI_ACTIVITY_KIND_CUDA_EVENT);
    kind(TS__CU_MEMORY, CUPTI_ACTIVITY_KIND_MEMORY2);
    kind(TS__CU_POOL, CUPTI_ACTIVITY_KIND_MEMORY_POOL);
    kind(TS__CU_GRAPH, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    kind(TS__CU_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD);
    kind(TS__CU_DEVICE, CUPTI_ACTIVITY_KIND_DEVICE);
    kind(TS__CU_CONTEXT, CUPTI_ACTIVITY_KIND_CONTEXT);
    kind(TS__CU_STREAM, CUPTI_ACTIVITY_KIND_STREAM);
}

// Whether the records of this version have it.
static bool is_there(int role, int field)
{
    for (const ts__cu_since *s = ts__cupti_since; s->version; s++)
        if (s->role == role && s->field == field &&
            CUPTI_API_VERSION < s->version)
            return false;
    return ts__cupti_table.at[role][field] != 0;
}

int main(void)
{
    operations();
    host();
    kinds();
    for (int role = 0; role < TS__CU_ROLES; role++) // nothing is left out
        for (int field = 0; field < TS__CU_FIELDS; field++)
            if (is_there(role, field) && !seen[role][field]) {
                printf("role %d, field %d: not compared\n", role, field);
                wrong++;
            }
    printf("version %d: %d offsets and kinds compared, %d wrong\n",
           CUPTI_API_VERSION, checked, wrong);
    return wrong != 0;
}
