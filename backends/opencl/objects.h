/*
    opencl/objects.h - the live objects of OpenCL, by handle

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    An entry lives as long as the process: drivers reuse few handles, so a
    new object takes the entry of the one that had its handle before.
    Lookups need no lock.
*/
#ifndef TS__OPENCL_OBJECTS_H
#define TS__OPENCL_OBJECTS_H

#include "tracesmith.h"
#include "abi.h"

#include <pthread.h>
#include <stdlib.h>

typedef enum ts__cl_kind {
    TS__CL_CONTEXT,
    TS__CL_QUEUE,
    TS__CL_MEMORY,
    TS__CL_SVM, // by address
    TS__CL_KERNEL,
    TS__CL_EVENT,
    TS__CL_SAMPLER, // its existence
    TS__CL_PROGRAM, // specialised programs
    TS__CL_BINARY,  // programs created from a binary with known source
    TS__CL_KINDS
} ts__cl_kind;

typedef struct ts__cl_entry {
    struct ts__cl_entry *next;
    ts__cl_handle handle;
    uint32_t kind;
    void *data; // for memory and events: protected by the bucket's lock
} ts__cl_entry;

typedef struct ts__cl_bracket { // a device's time between two ticks of clock 0
    uint64_t tick, host, half;
} ts__cl_bracket;

typedef struct ts__cl_device {
    struct ts__cl_device *next;
    ts__cl_handle handle;
    uint32_t track, clock;
    bool timer;             // clGetDeviceAndHostTimer works
    uint32_t hosts;         // bits: host clocks that the device's clock may be
    uint32_t probes;        // number of tests of that
    pthread_mutex_t lock;   // protects the fields below
    uint32_t session;       // the session that has a sample
    uint64_t sampled;       // time of the last sample, clock 0
    ts__cl_bracket bracket; // the closest since then
} ts__cl_device;

typedef struct ts__cl_context {
    uint32_t number, count;
    struct {
        const ts__cl_device *device;
        uint32_t track;
    } devices[16];
} ts__cl_context;

typedef struct ts__cl_queue {
    struct ts__cl_queue *next; // list of all queues
    ts__cl_handle handle;
    ts__cl_device *device;
    uint32_t track, number;
    bool in_order;
    bool timed;           // its commands have times
    bool forced;          // because TraceSmith enabled profiling
    uint64_t array[32];   // properties given by the program
    uint32_t array_count; // 0: none
    pthread_mutex_t lock; // protects the program's references:
    uint32_t refs;        // 0: released, or unknown
    // User events that its commands wait for; see ts__cl_gate.
    struct ts__cl_command *gates[4];
    uint32_t gated; // number of the queue that the gates belong to
    // For the thread that looks for complete commands:
    pthread_cond_t looked;
    bool looking;
    pthread_t looker; // the thread that looks, which owns:
    struct ts__cl_command *work, **work_end;
    struct ts__cl_command *fresh; // pushed by enqueuing threads
    uint32_t in_flight;           // commands in both lists
    pthread_mutex_t order_lock;   // for out-of-order queues, protects:
    uint32_t session;             // the session of the fields below
    uint64_t barrier;             // correlation of the last barrier, 0: none
    uint64_t *since;              // commands after that barrier
    uint32_t since_count, since_room;
    uint64_t since_gone; // number of commands removed from the list
    // Correlation reserved for the next barrier; 0: none yet.
    uint64_t next_barrier;
} ts__cl_queue;

typedef struct ts__cl_memory { // a buffer, sub-buffer, image or SVM
    struct ts__cl_memory *next;
    ts__cl_handle handle;
    uint32_t track; // track of its context; 0: its allocation was not recorded
    uint32_t mode;  // TS_ACCESS_... allowed to kernels
    // Element, row, plane: for images, in bytes.
    uint64_t address, size, element, row, plane;
    uint64_t gone; // time of the free
} ts__cl_memory;

typedef struct ts__cl_argument {
    uint64_t value; // a value of up to eight bytes
    uint8_t *bytes; // a larger value
    uint32_t size, local;
    uint32_t where; // address space, 0: unknown
    uint8_t mode;   // TS_ACCESS_..., 0: unknown
    bool pointer;   // SVM pointer
} ts__cl_argument;

typedef struct ts__cl_kernel {
    pthread_mutex_t lock;
    ts__cl_handle handle, program;
    char *name;
    uint32_t argument_count;
    ts__cl_argument *arguments;
    bool modes;                  // access modes of arguments were queried
    bool svm;                    // it reaches memory without arguments
    uint32_t capture, image;     // its code in the latest capture, for ...
    ts__cl_handle image_device;  // ... this device
    ts_reason image_reason;      // why the code is missing
    const ts__cl_device *device; // the device of `shape`
    uint32_t launch, shared, required[3];
    ts_gpu_launch_desc shape; // the latest launch, with its number
} ts__cl_kernel;

typedef struct ts__cl_probe { // host clocks around a call
    uint64_t before[3], after[3];
} ts__cl_probe;

typedef struct ts__cl_command {
    struct ts__cl_command *next;
    ts__cl_queue *queue; // NULL: a user event
    ts__cl_handle event;
    int32_t refs;
    uint32_t held;      // TraceSmith's reference: 1 held, 2 being released
    bool own;           // the program did not request the event
    bool done;          // complete, with times
    bool lost;          // reported as lost
    uint32_t set;       // for user events: the program has set it
    uint32_t session;   // the session in which it was enqueued
    uint32_t marked;    // an event_record was written for it
    uint64_t called[2]; // begin and end of the call, clock 0
    ts__cl_probe *probe;
    uint64_t *frees; // further addresses of an SVM free
    uint32_t free_count;
    ts_gpu_op op;
} ts__cl_command;

enum { TS__CL_BUCKETS = 8192, TS__CL_LOCKS = 64 };
enum { TS__CL_UNLOADED = 2 }; // value of `off`: the loader was unloaded

static struct {
    ts__cl_functions next;
    uint32_t off; // a child process after fork(), or the process ends
    uint64_t correlation, address;
    uint32_t numbers[TS__CL_KINDS], device_count;
    ts__cl_entry *buckets[TS__CL_BUCKETS];
    pthread_mutex_t locks[TS__CL_LOCKS];
    pthread_mutex_t define; // protects devices, contexts and the list of queues
    ts__cl_device *devices;
    ts__cl_queue *queues;
    ts__cl_memory *gone;  // freed but not yet reported
    uint32_t pending;     // commands that are not lost
    pthread_mutex_t lock; // for the thread that looks
    pthread_cond_t wake;
    pthread_t thread;
    uint32_t runs, asleep;
    uint32_t exclusive; // number of the thread that is to run; others end
    uint32_t closing;   // the session that is being stopped
    uint32_t refused;   // queues whose profiling could not be enabled
    uint64_t launches;  // successful launches of kernels
    uint32_t unset;     // user events that the program has yet to set
} ts__cl = { .define = PTHREAD_MUTEX_INITIALIZER,
             .lock = PTHREAD_MUTEX_INITIALIZER,
             .wake = PTHREAD_COND_INITIALIZER,
             // Above all addresses of a program: see ts__cl_memory_new.
             .address = UINT64_C(1) << 56 };

static size_t ts__cl_bucket(uint32_t kind, const void *handle)
{
    const uint64_t key = (uint64_t)(uintptr_t)handle + kind;
    return (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 51);
}

static pthread_mutex_t *ts__cl_lock_of(const ts__cl_entry *entry)
{
    return &ts__cl.locks[ts__cl_bucket(entry->kind, entry->handle) %
                         TS__CL_LOCKS];
}

static ts__cl_entry *ts__cl_look(ts__cl_entry *const *bucket, uint32_t kind,
                                 const void *handle)
{
    // acquire: pairs with the release in ts__cl_entry_make
    ts__cl_entry *e = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
    while (e && (e->handle != handle || e->kind != kind))
        e = e->next;
    return e;
}

static ts__cl_entry *ts__cl_entry_find(uint32_t kind, const void *handle)
{
    static __thread ts__cl_entry *latest[TS__CL_KINDS];
    ts__cl_entry *e = latest[kind];
    if (e && e->handle == handle) return e;
    e = ts__cl_look(&ts__cl.buckets[ts__cl_bucket(kind, handle)], kind, handle);
    if (e) latest[kind] = e;
    return e;
}

// Returns NULL if out of memory.
static ts__cl_entry *ts__cl_entry_make(uint32_t kind, ts__cl_handle handle)
{
    ts__cl_entry *const known = ts__cl_entry_find(kind, handle);
    if (known) return known;
    const size_t at = ts__cl_bucket(kind, handle);
    pthread_mutex_t *const lock = &ts__cl.locks[at % TS__CL_LOCKS];
    pthread_mutex_lock(lock);
    ts__cl_entry *e = ts__cl_look(&ts__cl.buckets[at], kind, handle);
    if (!e && (e = (ts__cl_entry *)calloc(1, sizeof *e)) != NULL) {
        e->handle = handle;
        e->kind = kind;
        e->next = ts__cl.buckets[at];
        __atomic_store_n(&ts__cl.buckets[at], e, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(lock);
    return e;
}

static void *ts__cl_find(uint32_t kind, const void *handle)
{
    const ts__cl_entry *const e = ts__cl_entry_find(kind, handle);
    // acquire: pairs with the release in ts__cl_set
    return e ? __atomic_load_n(&e->data, __ATOMIC_ACQUIRE) : NULL;
}

static void ts__cl_set(ts__cl_entry *entry, void *data)
{
    __atomic_store_n(&entry->data, data, __ATOMIC_RELEASE);
}

static uint32_t ts__cl_number(uint32_t kind)
{
    return __atomic_add_fetch(&ts__cl.numbers[kind], 1, __ATOMIC_RELAXED);
}

static uint64_t ts__cl_correlation(void)
{
    return __atomic_add_fetch(&ts__cl.correlation, 1, __ATOMIC_RELAXED);
}

// Calls made while a session stops do not belong to it; otherwise programs that
// continue meanwhile would keep it from completing.
static bool ts__cl_on(void)
{
    const uint32_t session = TS__LOAD(&ts__here.gate);
    return session && session != TS__LOAD(&ts__cl.closing) &&
           !TS__LOAD(&ts__cl.off);
}

#endif // TS__OPENCL_OBJECTS_H
