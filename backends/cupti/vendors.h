/*
    cupti/vendors.h - the tables of vendors, their libraries, and the state

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    A vendor whose interface has CUPTI's shape is a table here: names,
    numbers of kinds, offsets of fields by version. No header of a vendor is
    included. A new vendor also needs an engine in engines.h, its place in
    ts__cu_forked (start.h), a backend in session.h, and a double in
    tests/doubles/.

    CONTENTS                            search for "==== 2." to jump
        1. Tables
        2. Library
        3. State
*/
#ifndef TS__CUPTI_VENDORS_H
#define TS__CUPTI_VENDORS_H

#include "tracesmith.h"
#include "../ts_cupti.h"
#include "../gpu/records.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ==== 1. Tables ========================================================== */

// The kinds of records, and their fields. Not every kind has all fields.
typedef enum ts__cu_role {
    TS__CU_NONE, // not requested
    TS__CU_KERNEL,
    TS__CU_MEMCPY,
    TS__CU_PEER, // copy between two devices
    TS__CU_MEMSET,
    TS__CU_SYNC,
    TS__CU_EVENT, // event record
    TS__CU_MEMORY,
    TS__CU_POOL,
    TS__CU_GRAPH, // launch of a whole graph
    TS__CU_OVERHEAD,
    TS__CU_DEVICE,
    TS__CU_CONTEXT,
    TS__CU_STREAM,
    TS__CU_ROLES
} ts__cu_role;

typedef enum ts__cu_field { // u32 unless noted otherwise
    TS__CU_START,           // u64
    TS__CU_END,             // u64
    TS__CU_ON_DEVICE,
    TS__CU_ON_CONTEXT,
    TS__CU_ON_STREAM,
    TS__CU_CORRELATION,
    TS__CU_NAME,  // char *
    TS__CU_GRID,  // u32[3]
    TS__CU_BLOCK, // u32[3]
    TS__CU_CLUSTER,
    TS__CU_REGISTERS, // u16
    TS__CU_STATIC_SHARED,
    TS__CU_DYNAMIC_SHARED,
    TS__CU_LOCAL,
    TS__CU_QUEUED,     // u64
    TS__CU_SUBMITTED,  // u64
    TS__CU_GRAPH_NODE, // u64
    TS__CU_GRAPH_ID,
    TS__CU_TYPE,      // u8, kind of a copy
    TS__CU_FROM_KIND, // u8
    TS__CU_TO_KIND,   // u8
    TS__CU_SIZE,      // u64
    TS__CU_VALUE,
    TS__CU_TO_DEVICE,
    TS__CU_EVENT_ID,
    TS__CU_EVENT_SYNC, // u64: identifies one event record and its waits
    TS__CU_ADDRESS,    // u64
    TS__CU_IN_POOL,    // u64
    TS__CU_MEMORY_KIND,
    TS__CU_THREAD,
    TS__CU_THREAD_KIND, // 2: TS__CU_THREAD is valid
    TS__CU_PRIORITY,
    TS__CU_FLAGS,
    TS__CU_NULL_STREAM, // u16
    TS__CU_MAJOR,       // compute capability
    TS__CU_MINOR,
    TS__CU_PROCESSORS,
    TS__CU_BANDWIDTH, // u64, KB/s
    TS__CU_CLOCK_KHZ,
    TS__CU_FIELDS
} ts__cu_field;

typedef enum ts__cu_clock {
    TS__CU_CLOCK_OURS,   // can take a function of ours that returns the time
    TS__CU_CLOCK_SAMPLED // has a function that returns its time
} ts__cu_clock;

typedef struct ts__cu_since { // a field that older versions lack
    uint32_t version;
    uint8_t role, field;
} ts__cu_since;

// Everything that the engine needs about a vendor. Offsets are those of the
// smallest version of a record that has the field, because vendors only append
// fields (0: the record has no such field). Wrong offsets would fill the trace
// with garbage, so the first records are checked; see ts__cu_plausible.
typedef struct ts__cu_table {
    const char *name;             // name of the backend
    const char *product;          // name of the product
    const char *prefix;           // prefix of its functions
    const char *library;          // begin of the library's file name
    const char *const *names;     // file names to pass to dlopen
    const char *runtime, *driver; // prefixes of the function names of both APIs
    bool arguments;               // callbacks pass arguments as CUDA's do
    uint32_t oldest;              // oldest version known to work
    ts__cu_clock clock;           // used if its function is available
    // Versions that report no kernel times with our clock: from, before.
    uint32_t clock_bad[2];
    // Versions without records of device synchronization, and in which
    // disabling kernel records may never return: from, before.
    uint32_t deaf[2];
    // Before this version, records of graph launches may have wrong ids from
    // the second session on.
    uint32_t graphs_bad;
    const ts__cu_since *since;   // ends with version 0
    uint8_t kinds[TS__CU_ROLES]; // the vendor's kind numbers, 0: none
    uint16_t at[TS__CU_ROLES][TS__CU_FIELDS];
} ts__cu_table;

/*
    Source: cupti_activity.h and cupti_activity_deprecated.h of CUDA 13.0, which
    keep the records of all versions from 11.0 on;
    tests/checks/capture/cupti_abi.c compares each number with them.
*/
#define TS__CU_MOVE /* of bytes, or of one value over bytes */ \
    [TS__CU_SIZE] = 8, [TS__CU_START] = 16, [TS__CU_END] = 24, \
    [TS__CU_ON_DEVICE] = 32, [TS__CU_ON_CONTEXT] = 36, [TS__CU_ON_STREAM] = 40

#define TS__CU_COPY \
    TS__CU_MOVE, [TS__CU_TYPE] = 4, [TS__CU_FROM_KIND] = 5, [TS__CU_TO_KIND] = 6

#define TS__CU_SET TS__CU_MOVE, [TS__CU_VALUE] = 4, [TS__CU_CORRELATION] = 44

#define TS__CU_WAIT \
    [TS__CU_TYPE] = 4, [TS__CU_START] = 8, [TS__CU_END] = 16, \
    [TS__CU_CORRELATION] = 24, [TS__CU_ON_CONTEXT] = 28, \
    [TS__CU_ON_STREAM] = 32, [TS__CU_EVENT_ID] = 36

#define TS__CU_KERNEL_4 /* as it was in CUDA 9.0 */ \
    [TS__CU_REGISTERS] = 6, [TS__CU_START] = 16, [TS__CU_END] = 24, \
    [TS__CU_ON_DEVICE] = 40, [TS__CU_ON_CONTEXT] = 44, \
    [TS__CU_ON_STREAM] = 48, [TS__CU_GRID] = 52, [TS__CU_BLOCK] = 64, \
    [TS__CU_STATIC_SHARED] = 76, [TS__CU_DYNAMIC_SHARED] = 80, \
    [TS__CU_LOCAL] = 84, [TS__CU_CORRELATION] = 92, [TS__CU_NAME] = 104, \
    [TS__CU_QUEUED] = 120, [TS__CU_SUBMITTED] = 128

static const ts__cu_since ts__cupti_since[] = {
    { 14, TS__CU_MEMCPY, TS__CU_GRAPH_ID }, // CUDA 11.1
    { 14, TS__CU_PEER, TS__CU_GRAPH_ID },
    { 14, TS__CU_MEMSET, TS__CU_GRAPH_ID },
    { 18, TS__CU_KERNEL, TS__CU_CLUSTER },   // 11.8
    { 26, TS__CU_SYNC, TS__CU_EVENT_SYNC },  // 12.8
    { 26, TS__CU_EVENT, TS__CU_EVENT_SYNC }, // 12.8
    { 0, 0, 0 }
};
static const char *const ts__cupti_names[] = { "libcupti.so.13",
                                               "libcupti.so.12",
                                               "libcupti.so.11.8",
                                               "libcupti.so.11.7",
                                               "libcupti.so.11.6",
                                               "libcupti.so.11.5",
                                               "libcupti.so.11.4",
                                               "libcupti.so.11.3",
                                               "libcupti.so.11.2",
                                               "libcupti.so.11.1",
                                               "libcupti.so.11.0",
                                               "libcupti.so",
                                               NULL };

static const ts__cu_table ts__cupti_table = {
    .name = "cupti",
    .product = "CUPTI",
    .prefix = "cupti",
    .library = "libcupti.so",
    .names = ts__cupti_names,
    .runtime = "cuda",
    .driver = "cu",
    .arguments = true,
    .oldest = 13, // CUDA 11.0
    .clock = TS__CU_CLOCK_OURS,
    // Source: release notes of CUPTI 13.0 to 13.1 Update 1.
    .clock_bad = { 24, 130100 }, // CUDA 12.6 to 13.0: times of kernels are 0
    .deaf = { 130000, 130001 },  // 13.0, before its Update 1
    .graphs_bad = 130101,        // 13.1 Update 1
    .since = ts__cupti_since,
    // CONCURRENT_KERNEL; KERNEL (3) would serialize kernels.
    .kinds = { [TS__CU_KERNEL] = 10,
               [TS__CU_MEMCPY] = 1,
               [TS__CU_PEER] = 22,
               [TS__CU_MEMSET] = 2,
               [TS__CU_SYNC] = 38,
               [TS__CU_EVENT] = 36,
               [TS__CU_MEMORY] = 49,
               [TS__CU_POOL] = 50,
               [TS__CU_GRAPH] = 51,
               [TS__CU_OVERHEAD] = 17,
               [TS__CU_DEVICE] = 8,
               [TS__CU_CONTEXT] = 9,
               [TS__CU_STREAM] = 37 },
    .at = {
        [TS__CU_KERNEL] = { TS__CU_KERNEL_4,
                            [TS__CU_GRAPH_NODE] = 144,
                            [TS__CU_GRAPH_ID] = 156,
                            [TS__CU_CLUSTER] = 176 },
        [TS__CU_MEMCPY] = { TS__CU_COPY,
                            [TS__CU_CORRELATION] = 44,
                            [TS__CU_GRAPH_NODE] = 64,
                            [TS__CU_GRAPH_ID] = 72 },
        [TS__CU_PEER] = { TS__CU_COPY,
                          [TS__CU_TO_DEVICE] = 52,
                          [TS__CU_CORRELATION] = 60,
                          [TS__CU_GRAPH_NODE] = 72,
                          [TS__CU_GRAPH_ID] = 80 },
        [TS__CU_MEMSET] = { TS__CU_SET,
                            [TS__CU_GRAPH_NODE] = 64,
                            [TS__CU_GRAPH_ID] = 72 },
        [TS__CU_SYNC] = { TS__CU_WAIT,
                          [TS__CU_EVENT_SYNC] = 40 },
        [TS__CU_EVENT] = { [TS__CU_CORRELATION] = 4,
                           [TS__CU_ON_CONTEXT] = 8,
                           [TS__CU_ON_STREAM] = 12,
                           [TS__CU_EVENT_ID] = 16,
                           [TS__CU_EVENT_SYNC] = 48 },
        [TS__CU_MEMORY] = { [TS__CU_TYPE] = 4,
                            [TS__CU_MEMORY_KIND] = 8,
                            [TS__CU_CORRELATION] = 12,
                            [TS__CU_ADDRESS] = 16,
                            [TS__CU_SIZE] = 24,
                            [TS__CU_START] = 32,
                            [TS__CU_ON_DEVICE] = 52,
                            [TS__CU_ON_CONTEXT] = 56,
                            [TS__CU_IN_POOL] = 88 },
        [TS__CU_POOL] = { [TS__CU_TYPE] = 4,
                          [TS__CU_MEMORY_KIND] = 8,
                          [TS__CU_ON_DEVICE] = 20,
                          [TS__CU_ADDRESS] = 32,
                          [TS__CU_SIZE] = 40,
                          [TS__CU_START] = 56 },
        [TS__CU_GRAPH] = { [TS__CU_CORRELATION] = 4,
                           [TS__CU_START] = 8,
                           [TS__CU_END] = 16,
                           [TS__CU_ON_DEVICE] = 24,
                           [TS__CU_GRAPH_ID] = 28,
                           [TS__CU_ON_CONTEXT] = 32,
                           [TS__CU_ON_STREAM] = 36 },
        [TS__CU_OVERHEAD] = { [TS__CU_TYPE] = 4,
                              [TS__CU_THREAD_KIND] = 8,
                              [TS__CU_THREAD] = 16,
                              [TS__CU_START] = 24,
                              [TS__CU_END] = 32 },
        [TS__CU_DEVICE] = { [TS__CU_BANDWIDTH] = 8,
                            [TS__CU_SIZE] = 16,
                            [TS__CU_CLOCK_KHZ] = 36,
                            [TS__CU_PROCESSORS] = 44,
                            [TS__CU_MAJOR] = 104,
                            [TS__CU_MINOR] = 108,
                            [TS__CU_ON_DEVICE] = 112,
                            [TS__CU_NAME] = 136 },
        [TS__CU_CONTEXT] = { [TS__CU_ON_CONTEXT] = 4,
                             [TS__CU_ON_DEVICE] = 8,
                             [TS__CU_NULL_STREAM] = 14 },
        [TS__CU_STREAM] = { [TS__CU_ON_CONTEXT] = 4,
                            [TS__CU_ON_STREAM] = 8,
                            [TS__CU_PRIORITY] = 12,
                            [TS__CU_FLAGS] = 16 },
    },
};

// MetaX: CUPTI of CUDA 9 under other names. Its headers were not available. The
// functions, kinds and records are those used by programs that were ported to
// it; no other fields are read.
static const ts__cu_since ts__mcpti_since[] = { { 0, 0, 0 } };
static const char *const ts__mcpti_names[] = { "libmcpti.so", NULL };

static const ts__cu_table ts__mcpti_table = {
    .name = "mcpti",
    .product = "MCPTI",
    .prefix = "mcpti",
    .library = "libmcpti.so",
    .names = ts__mcpti_names,
    .runtime = "mc",
    .driver = "mc",
    .oldest = 1,
    .clock = TS__CU_CLOCK_SAMPLED,
    .since = ts__mcpti_since,
    .kinds = { [TS__CU_KERNEL] = 10,
               [TS__CU_MEMCPY] = 1,
               [TS__CU_MEMSET] = 2,
               [TS__CU_SYNC] = 38 },
    .at = { [TS__CU_KERNEL] = { TS__CU_KERNEL_4 },
            [TS__CU_MEMCPY] = { TS__CU_COPY, [TS__CU_CORRELATION] = 44 },
            [TS__CU_MEMSET] = { TS__CU_SET },
            [TS__CU_SYNC] = { TS__CU_WAIT } },
};

/* ==== 2. Library ========================================================= */

// The library's functions, named by what follows the prefix. 0 is success.
typedef void (*ts__cu_requested)(uint8_t **buffer, size_t *size, size_t *count);
typedef void (*ts__cu_completed)(void *context, uint32_t stream,
                                 uint8_t *buffer, size_t size, size_t valid);
typedef void (*ts__cu_called)(void *user, uint32_t domain, uint32_t id,
                              const void *data);
typedef uint64_t (*ts__cu_clock_function)(void);
typedef struct ts__cu_subscription { // CUpti_SubscriberParams
    size_t size;
    const char *name;
    char *other;
    size_t other_size;
} ts__cu_subscription;

typedef struct ts__cu_calls { // in the order of ts__cu_call_names
    int (*version)(uint32_t *version);
    int (*result)(int result, const char **text);
    int (*time)(uint64_t *time);
    int (*subscribe)(void **subscriber, ts__cu_called, void *user);
    int (*subscribe2)(void **subscriber, ts__cu_called, void *user,
                      ts__cu_subscription *how);
    int (*unsubscribe)(void *subscriber);
    int (*call_name)(uint32_t domain, uint32_t id, const char **name);
    int (*call_on)(uint32_t on, void *subscriber, uint32_t domain, uint32_t id);
    int (*domain_on)(uint32_t on, void *subscriber, uint32_t domain);
    int (*thread_ids)(uint32_t type);
    int (*clock)(ts__cu_clock_function);
    int (*attribute)(uint32_t attribute, size_t *size, void *value);
    int (*callbacks)(ts__cu_requested, ts__cu_completed);
    int (*latency)(uint8_t on);
    int (*enable)(uint32_t kind);
    int (*enable_dump)(uint32_t kind);
    int (*disable)(uint32_t kind);
    int (*flush)(uint32_t flags);
    int (*next)(uint8_t *buffer, size_t valid, uint8_t **record);
    int (*dropped)(void *context, uint32_t stream, size_t *count);
    int (*node_id)(void *node, uint64_t *id);
    int (*context_id)(void *context, uint32_t *id);
    int (*device_id)(void *context, uint32_t *id);
    int (*stream_id)(void *context, void *stream, uint8_t per_thread,
                     uint32_t *id);
} ts__cu_calls;

static const char *const ts__cu_call_names[] = {
    "GetVersion",
    "?GetResultString",
    "?GetTimestamp",
    "?Subscribe",
    "?Subscribe_v2",
    "?Unsubscribe",
    "?GetCallbackName",
    "?EnableCallback",
    "?EnableDomain",
    "?SetThreadIdType",
    "?ActivityRegisterTimestampCallback",
    "?ActivitySetAttribute",
    "ActivityRegisterCallbacks",
    "?ActivityEnableLatencyTimestamps",
    "ActivityEnable",
    "?ActivityEnableAndDump",
    "ActivityDisable",
    "ActivityFlushAll",
    "ActivityGetNextRecord",
    "?ActivityGetNumDroppedRecords",
    "?GetGraphNodeId",
    "?GetContextId",
    "?GetDeviceId",
    "?GetStreamIdEx",
    NULL
};

// Looks where Python packages and toolkits install the library, relative to the
// runtime.
static void *ts__cu_next_to_runtime(const ts__cu_table *table)
{
    static const char *const places[] = { "/", "/../../cuda_cupti/lib/",
                                          "/../extras/CUPTI/lib64/", NULL };
    ts__mapped runtime;
    ts__mapped_find(&runtime, "libcudart.so");
    char *const slash = strrchr(runtime.path, '/');
    if (!slash || strcmp(table->runtime, "cuda") != 0) return NULL;
    *slash = 0;
    for (const char *const *place = places; *place; place++)
        for (const char *const *name = table->names; *name; name++) {
            char path[PATH_MAX + 64];
            snprintf(path, sizeof path, "%s%s%s", runtime.path, *place, *name);
            void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            if (library) return library;
        }
    return NULL;
}

static void *ts__cu_find(const ts__cu_table *table)
{
    void *library = ts__library_present(table->library);
    if (!library) library = ts__cu_next_to_runtime(table);
    return library ? library : ts__library_load(table->names);
}

/* ==== 3. State =========================================================== */

enum {
    TS__CU_BUFFERS = 32,
    TS__CU_STRIDE = 16 << 20,   // bytes from one buffer to the next
    TS__CU_DISCARD = 256 << 10, // bytes
    TS__CU_ORIGINS = 1 << 18,   // calls whose operations may still be reported
    // Copies and memsets whose operations may still be reported.
    TS__CU_MOVING = 1 << 16,
    // Recent graph nodes with the stack of their creation.
    TS__CU_NODES = 1 << 16,
    TS__CU_LAUNCHES = 1 << 12,
    TS__CU_STREAMS = 1 << 12,
    TS__CU_CONTEXTS = 1 << 10,
    TS__CU_DEVICES = 64,
    TS__CU_RECENT = 16, // streams found without a search
    TS__CU_LOOSE = 1 << 12,
    TS__CU_RECORDS = 1 << 12, // event records, hashed by their id
    TS__CU_IDS = 1024,        // function ids per domain
    TS__CU_THREADS = 1 << 10
};

// The origin of a call, by its correlation; kept until as many later calls were
// made. Written by the caller, read by the worker.
typedef struct ts__cu_origin { // words, as notes consist of words
    // outer: correlation of the runtime call that makes this call, 0: none.
    uint64_t thread_site, stack_outer;
    uint64_t tick; // when the call began
} ts__cu_origin;

// Addresses of a copy or memset, by its correlation; laid out like the
// arguments.
typedef struct ts__cu_move {
    uint64_t to, from;
} ts__cu_move;

typedef struct ts__cu_node {
    uint64_t id;
    uint32_t stack, unused;
} ts__cu_node;

typedef struct ts__cu_stream {
    uint64_t key; // context << 32 | number, 0: free
    uint32_t track;
    uint32_t flags, loose; // loose: head of its list + 1
    int32_t priority;
    uint64_t last_end; // end of the latest operation so far
    const char *name;  // name given by the program (NULL: none)
} ts__cu_stream;

typedef struct ts__cu_context {
    uint32_t id, known, device, track, null_stream;
} ts__cu_context;

typedef struct ts__cu_device {
    uint32_t known, track;
    char name[96];
    uint32_t major, minor, processors, clock_khz;
    uint64_t memory, bandwidth;
} ts__cu_device;

// An event record or event wait. CUPTI reports the time of the call; the
// position in the stream is known when a later operation is reported.
typedef struct ts__cu_loose {
    ts_event_kind kind;
    uint32_t next; // position + 1
    uint32_t correlation, event;
    uint64_t sync;
} ts__cu_loose;

typedef struct ts__cu_recorded {
    uint64_t key;
    uint32_t correlations[4]; // the last four, latest first
} ts__cu_recorded;

typedef struct ts__cu_thread { // a thread that made calls
    uint32_t id, track;
} ts__cu_thread;

typedef enum ts__cu_cause { // why records are missing
    TS__CU_UNTIMED,
    TS__CU_REVERSED,
    TS__CU_UNFINISHED,
    TS__CU_OUTSIDE,
    TS__CU_ORPHAN,
    TS__CU_DROPPED,
    TS__CU_EXHAUSTED,
    TS__CU_UNREPORTED,
    TS__CU_UNREADABLE,
    TS__CU_UNPLACED,
    TS__CU_CUT,
    TS__CU_FATAL,
    TS__CU_STANDALONE,
    TS__CU_DEAF,
    TS__CU_CAUSES
} ts__cu_cause;

static const char *const ts__cu_texts[TS__CU_CAUSES + 1] = {
    "operations without times",
    "operations that end before they start",
    "operations that were still running at the end",
    "operations with times outside of the session",
    "calls that launched operations; the operations are recorded",
    "records that the vendor dropped",
    "records (estimated): no buffer was free",
    "launches without a report of their kernel",
    "buffers that could not be read completely",
    "operations on streams beyond the maximum number of streams",
    "the end: the vendor's library did not respond in time",
    "everything from here on: the vendor's library stopped after an error",
    "operations of launches, copies and memsets: another profiler records them",
    "waits for a device, which this version does not report",
    NULL
};

// Allocated and zeroed at the first start; never freed.
typedef struct ts__cu_memory {
    ts__cu_node nodes[TS__CU_NODES];
    // epoch: number of module unloads, after which a name's address may hold
    // another name.
    ts__launch launches[TS__CU_LAUNCHES];
    ts__cu_stream streams[TS__CU_STREAMS];
    ts__cu_context contexts[TS__CU_CONTEXTS];
    ts__cu_device devices[TS__CU_DEVICES];
    ts__cu_loose loose[TS__CU_LOOSE];
    ts__cu_recorded recorded[TS__CU_RECORDS];
    ts__cu_thread threads[TS__CU_THREADS];
} ts__cu_memory;

typedef struct ts__cu {
    const ts__cu_table *const table;
    const ts__cu_requested requested;
    const ts__cu_completed completed;
    ts__cu_calls call;
    uint32_t version;
    uint8_t roles[64];
    uint16_t at[TS__CU_ROLES][TS__CU_FIELDS]; // offsets for this version
    char path[PATH_MAX];
    void *subscriber;
    ts__cu_memory *memory;
    uint32_t kinds_on[TS__CU_ROLES];
    // Calls.
    uint32_t on;         // number of the session while callbacks report, else 0
    uint32_t generation; // number of sessions so far
    uint32_t epoch;      // number of modules unloaded so far
    uint32_t first_correlation;
    uint32_t fatal;
    // Another profiler has CUPTI, and calls are recorded without it.
    uint32_t standalone;
    uint32_t yield;     // CUPTI is to be given up to another profiler
    uint32_t heard;     // a call was recorded without CUPTI
    uint32_t contended; // another profiler was refused, which was reported
    uint64_t loaded;    // number of loaded files at the last search
    char owner[64];     // the other profiler, if it was first
    ts__notes origins, moves; // ts__cu_origin, ts__cu_move
    uint64_t launches, into_graphs, device_waits;
    uint8_t rules[3][TS__CU_IDS];  // by domain
    uint8_t keep[TS__CU_IDS];      // for driver functions: ts__cs_rule_of
    bool keeps;                    // some entry of `keep` is set
    uint32_t names[3][TS__CU_IDS]; // dictionary codes of function names
    // Buffers.
    uint8_t *pool, *discard;
    uint32_t buffer_bytes;
    uint32_t free, full; // bits; the other buffers are with CUPTI
    uint32_t usable;     // bits of the buffers that CUPTI may get
    size_t valid[TS__CU_BUFFERS];
    uint64_t discarded; // bytes
    // The worker, and one that decodes if the worker hangs.
    ts__worker worker, rescue;
    bool exiting;
    pthread_mutex_t decode;
    // Decoding; the fields below are protected by `decode`.
    // own: keys of TraceSmith's streams, also of destroyed contexts, because
    // their records may still come.
    uint64_t own[256];
    uint32_t own_count;
    uint32_t stuck; // a call timed out while it waited for the decoder
    ts__follower time;
    uint32_t clocks[2]; // clock numbers in the trace: CUPTI's and ours
    bool clock_given;   // our clock was set, once per process
    bool latency;       // latency timestamps were requested
    uint32_t judged;    // number of kernel records checked for plausibility
    bool refused;       // they were not plausible
    uint32_t batch;     // buffers still to be decoded
    bool learned;       // the streams' records of this batch were read
    ts__cu_stream *recent[TS__CU_RECENT];
    uint64_t kernels, early, of_graphs, device_syncs;
    // Time since which launches have no kernels, 0: they have.
    uint64_t silent_ns;
    uint32_t patience_ms; // how long that is tolerated (10000)
    char error[256];      // the error with which CUPTI failed
    uint32_t loose_free, loose_used;
    ts__losses lost;
} ts__cu;

static ts_cupti_desc ts__cu_desc; // with the defaults filled in

static bool ts__cu_exiting; // exit() runs, so libraries may already be unloaded
// The driver is being initialized on this thread.
static TS__TLS bool ts__cu_injecting;
// Not 0: the parent process that used CUPTI, so this process cannot.
static pid_t ts__cu_forbidden;

static void ts__cu_fact_int(const ts__cu *u, const char *key, uint64_t value)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s", u->table->name, key);
    ts_metadata_int(0, name, (int64_t)value);
}

static void ts__cu_fact(const ts__cu *u, const char *key, const char *value)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s", u->table->name, key);
    ts_metadata_text(0, name, value);
}

#endif // TS__CUPTI_VENDORS_H
