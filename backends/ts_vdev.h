/*
    ts_vdev.h - a virtual accelerator inside the process

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: none.
    Checked with:   Debian 12, x86-64, gcc 12 and clang 14, November 2026.

    WHAT IT DOES
        Devices with memory of their own, contexts, streams (blocking,
        non-blocking, with priorities, legacy default), events, copies, memsets,
        host functions and launches of registered C functions over a grid of
        blocks. Each device has threads that run them for real, so work of
        different streams truly overlaps. All of it is reported through
        ts_gpu_* as a hardware backend would: it is the model to copy when
        you bring an accelerator (docs/backends.md). The machine itself is in
        vdev/machine.h, which must lie in the folder of this file.

    WHAT IT DOES NOT DO
        It does not simulate a machine: a kernel takes the time that its C
        function takes on this processor. It does not follow fork: in the
        child every call gives TS_ERR_STATE. No graphs, no managed memory.

    USE
        #define TRACESMITH_VDEV_IMPLEMENTATION // in one C11 file
        #include "backends/ts_vdev.h"

        static void twice(const void *args, const ts_vdev_block *block)
        {
            float *const values = *(float *const *)args;
            values[block->index[0]] *= 2;
        }

        static ts_result run(ts_vdev *vdev, float *host)
        {
            const ts_vdev_kernel_desc desc = { .name = "twice",
                                               .function = twice,
                                               .args_size = sizeof(float *) };
            ts_vdev_kernel kernel;
            void *values;
            ts_vdev_kernel_register(&kernel, vdev, &desc);
            ts_vdev_malloc(&values, vdev, 0, 100 * sizeof(float));
            ts_vdev_memcpy_async(vdev, 0, values, host, 100 * sizeof(float));
            const ts_vdev_launch_desc launch = { .grid = { 100 },
                                                 .args = &values };
            ts_vdev_launch(vdev, 0, kernel, &launch);
            ts_vdev_memcpy_async(vdev, 0, host, values, 100 * sizeof(float));
            return ts_vdev_stream_synchronize(vdev, 0);
        }

    CONTENTS                            search for "==== 4." to jump
        1. Options
        2. Devices
        3. Memory
        4. Streams
        5. Events
        6. Kernels, copies, host functions
        7. Implementation               private
*/
// With -std=c11 POSIX functions are declared only on request.
#if defined(__STRICT_ANSI__) && !defined(_POSIX_C_SOURCE) && \
    !defined(_GNU_SOURCE) && !defined(_DEFAULT_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#ifndef TS_VDEV_H
#define TS_VDEV_H

#include "tracesmith.h"

/* ==== 1. Options ========================================================= */

/*
    TRACESMITH_VDEV_IMPLEMENTATION  in one C11 file: the functions
    TRACESMITH_VDEV                 the same, with TRACESMITH_IMPLEMENTATION

    They need the functions of tracesmith.h, even without a session. They record
    only during sessions, which may start and stop at any time.

    Threads: every function may be called from any thread at any time, except
             by kernels and host functions of the same vdev (TS_ERR_STATE).
    Errors:  every function returns TS_ERR_USAGE for a handle that is invalid,
             destroyed or of another kind, and for a NULL output. A call that
             fails has no effect.
*/

/* ==== 2. Devices ========================================================= */

typedef struct ts_vdev ts_vdev;

// Handles. Stream 0 is the legacy default stream of device 0.
typedef uint64_t ts_vdev_stream;
typedef uint64_t ts_vdev_event;
typedef uint64_t ts_vdev_kernel;

typedef struct ts_vdev_desc {
    uint32_t device_count TS__UNSET; // at most 64 (1)
    // threads per device that run kernels (2)
    uint32_t compute_units TS__UNSET;
    // threads per device that run copies and memsets (1)
    uint32_t copy_engines TS__UNSET;
    // operations that a stream holds; a call that adds another one waits (1024)
    uint32_t queue_ops TS__UNSET;
    uint64_t memory_bytes TS__UNSET; // per device (256 MiB)
    uint32_t shared_bytes TS__UNSET; // most shared memory of a block (65536)
    const char *name TS__UNSET;      // of the devices, copied ("vdev")
    // addresses at which the devices' memory begins; ts_vdev_malloc_at makes
    // its pages accessible (NULL: anywhere)
    const uint64_t *memory_at TS__UNSET;
} ts_vdev_desc;

/*
    Creates devices, each with one context, and starts their threads. *vdev is
    NULL on failure.

    desc: NULL is all zeros.
    Errors: TS_ERR_MEMORY, also when a thread cannot be started.
*/
TS_API ts_result ts_vdev_open(ts_vdev **vdev, const ts_vdev_desc *desc);

// Waits for all work, then frees everything. NULL is allowed.
// Threads: after every other call with this vdev has returned.
TS_API ts_result ts_vdev_close(ts_vdev *vdev);

// Waits for all work that was submitted to a device before the call.
TS_API ts_result ts_vdev_device_synchronize(ts_vdev *vdev, uint32_t device);

/* ==== 3. Memory ========================================================== */

/*
    Allocates memory of a device, aligned to 256 bytes and not initialised. Only
    kernels and copies should access it, but the host can. *ptr is NULL on
    failure; 0 bytes are refused.

    Errors: TS_ERR_MEMORY. Free: ts_vdev_free, or ts_vdev_close.
*/
TS_API ts_result ts_vdev_malloc(void **ptr, ts_vdev *vdev, uint32_t device,
                                uint64_t size);

// Allocates memory at an address, for replays. Errors: TS_ERR_MEMORY if it is
// in use or outside the device's memory.
TS_API ts_result ts_vdev_malloc_at(void *ptr, ts_vdev *vdev, uint32_t device,
                                   uint64_t size);

/*
    Declares that kernels use a variable of the program, as they use a device's
    own variables. Only captures (ts_capture.h) need this: they treat it as an
    input and output of every kernel of the same module.
*/
TS_API ts_result ts_vdev_global_register(ts_vdev *vdev, uint32_t device,
                                         void *ptr, uint64_t size);

// Frees memory after all work of the device is complete. NULL is allowed.
TS_API ts_result ts_vdev_free(ts_vdev *vdev, void *ptr);

// Returns the device whose memory contains ptr; -1: host memory.
TS_API int32_t ts_vdev_pointer_device(const ts_vdev *vdev, const void *ptr);

/* ==== 4. Streams ========================================================= */

/*
    A stream runs its operations one after another; streams run concurrently
    with each other, with two exceptions. An operation on a device's legacy
    default stream waits for the operations submitted before it to the device's
    blocking streams, and operations submitted to those after it wait for it.
*/
typedef struct ts_vdev_stream_desc {
    uint32_t device TS__UNSET; // (0)
    // not tied to the legacy default stream (false)
    bool non_blocking TS__UNSET;
    int32_t priority TS__UNSET; // smaller goes first, -32768 to 32767 (0)
    const char *name TS__UNSET; // copied ("stream NUMBER")
} ts_vdev_stream_desc;

// Creates a stream. desc: NULL is all zeros. Streams of all devices are
// numbered together, from 1.
TS_API ts_result ts_vdev_stream_create(ts_vdev_stream *stream, ts_vdev *vdev,
                                       const ts_vdev_stream_desc *desc);
// Destroys a stream. Returns at once; work in flight is completed. The legacy
// default stream cannot be destroyed.
TS_API ts_result ts_vdev_stream_destroy(ts_vdev *vdev, ts_vdev_stream stream);
// Gets the device's legacy default stream.
TS_API ts_result ts_vdev_stream_default(ts_vdev_stream *stream, ts_vdev *vdev,
                                        uint32_t device);
// Waits for the operations submitted to the stream before the call.
TS_API ts_result ts_vdev_stream_synchronize(ts_vdev *vdev,
                                            ts_vdev_stream stream);
// *done: whether ts_vdev_stream_synchronize would return at once.
TS_API ts_result ts_vdev_stream_query(bool *done, ts_vdev *vdev,
                                      ts_vdev_stream stream);

/* ==== 5. Events ========================================================== */

/*
    An event is reached when its most recent record is. A wait, on a stream of
    any device or on the host, waits for the record that is the most recent at
    the time of the call. A later record does not change that, and before the
    first record a wait has no effect.
*/

// Creates an event without a record.
TS_API ts_result ts_vdev_event_create(ts_vdev_event *event, ts_vdev *vdev);
// Destroys an event. Returns at once; waits in flight are not affected.
TS_API ts_result ts_vdev_event_destroy(ts_vdev *vdev, ts_vdev_event event);
// Submits a record to the stream: the event is reached when the operations
// submitted to the stream before it are complete.
TS_API ts_result ts_vdev_event_record(ts_vdev *vdev, ts_vdev_event event,
                                      ts_vdev_stream stream);
// Operations submitted to the stream after this call wait for the event; the
// host does not.
TS_API ts_result ts_vdev_event_wait(ts_vdev *vdev, ts_vdev_event event,
                                    ts_vdev_stream stream);
// Waits on the host until the event is reached.
TS_API ts_result ts_vdev_event_synchronize(ts_vdev *vdev, ts_vdev_event event);
// *done: whether ts_vdev_event_synchronize would return at once.
TS_API ts_result ts_vdev_event_query(bool *done, ts_vdev *vdev,
                                     ts_vdev_event event);

/* ==== 6. Kernels, copies, host functions ================================= */

// The block that a call of a kernel computes.
typedef struct ts_vdev_block {
    uint32_t index[3]; // below `grid`
    uint32_t grid[3];  // blocks
    uint32_t size[3];  // threads of a block: the kernel loops over them
    void *shared;      // undefined contents, aligned to 64 bytes
    size_t shared_size;
} ts_vdev_block;

// args: the copy of the argument block that was made at the launch.
typedef void (*ts_vdev_function)(const void *args, const ts_vdev_block *block);

// A pointer in the argument block and how a launch accesses its memory.
typedef struct ts_vdev_role {
    uint32_t offset TS__UNSET; // in the argument block
    uint32_t mode TS__UNSET;   // TS_ACCESS_READ, TS_ACCESS_WRITE or both
    // bytes from the pointer on (0: somewhere in the allocation that it points
    // into)
    uint64_t size TS__UNSET;
} ts_vdev_role;

typedef struct ts_vdev_kernel_desc {
    const char *name TS__UNSET; // copied
    // called concurrently for the blocks of a grid
    ts_vdev_function function TS__UNSET;
    size_t args_size TS__UNSET;          // of the argument block, up to 4096
    uint32_t static_shared TS__UNSET;    // bytes that each block needs
    uint32_t role_count TS__UNSET;       // of roles (0)
    const ts_vdev_role *roles TS__UNSET; // for the trace, copied (NULL: none)
} ts_vdev_kernel_desc;

// Registers a kernel, until the vdev is closed.
TS_API ts_result ts_vdev_kernel_register(ts_vdev_kernel *kernel, ts_vdev *vdev,
                                         const ts_vdev_kernel_desc *desc);

// Memory that a launch accesses, for the trace.
typedef struct ts_vdev_access {
    const void *ptr TS__UNSET;
    uint64_t size TS__UNSET;
    uint32_t mode TS__UNSET; // TS_ACCESS_READ, TS_ACCESS_WRITE or both
} ts_vdev_access;

typedef struct ts_vdev_launch_desc {
    uint32_t grid[3] TS__UNSET; // blocks, at most 2^32 - 1 in all (each 0 is 1)
    uint32_t block[3] TS__UNSET;     // threads of a block (each 0 is 1)
    const void *args TS__UNSET;      // args_size bytes, copied
    uint32_t shared_bytes TS__UNSET; // in addition to static_shared (0)
    uint32_t access_count TS__UNSET; // of accesses (0)
    // in addition to the kernel's roles (NULL: none)
    const ts_vdev_access *accesses TS__UNSET;
} ts_vdev_launch_desc;

// Submits a launch of a kernel to the stream. Errors: TS_ERR_USAGE when there
// are no args but the kernel has some, too many blocks or more shared memory
// than there is; TS_ERR_MEMORY.
TS_API ts_result ts_vdev_launch(ts_vdev *vdev, ts_vdev_stream stream,
                                ts_vdev_kernel kernel,
                                const ts_vdev_launch_desc *desc);

/*
    Copies `size` bytes between host and device, within a device, or between
    devices: the addresses say which. Returns when the copy is complete.

    Errors: TS_ERR_USAGE when a range is not inside one live allocation of
            device memory although it touches such memory, or is NULL.
*/
TS_API ts_result ts_vdev_memcpy(ts_vdev *vdev, ts_vdev_stream stream,
                                void *destination, const void *source,
                                uint64_t size);
// Submits such a copy and returns at once. Host memory is used in place, when
// the copy runs: do not change or free it until then. Errors: as for
// ts_vdev_memcpy.
TS_API ts_result ts_vdev_memcpy_async(ts_vdev *vdev, ts_vdev_stream stream,
                                      void *destination, const void *source,
                                      uint64_t size);
// Sets `size` bytes of device memory, on the stream. Errors: as ts_vdev_memcpy.
TS_API ts_result ts_vdev_memset_async(ts_vdev *vdev, ts_vdev_stream stream,
                                      void *destination, uint8_t value,
                                      uint64_t size);

// Calls function(user) on a thread of the device when the stream reaches it.
// name: for the trace, copied (NULL: none).
TS_API ts_result ts_vdev_host_function(ts_vdev *vdev, ts_vdev_stream stream,
                                       const char *name,
                                       void (*function)(void *user),
                                       void *user);

#endif // TS_VDEV_H

#if !defined(TS__VDEV_IMPLEMENTED) && \
    (defined(TRACESMITH_VDEV_IMPLEMENTATION) || \
     (defined(TRACESMITH_VDEV) && defined(TRACESMITH_IMPLEMENTATION)))
#define TS__VDEV_IMPLEMENTED
#if defined(__cplusplus) || __STDC_VERSION__ < 201112L
#error "ts_vdev.h: the implementation is C11; give it a .c file"
#endif
#include <signal.h>
#ifndef SIG_SETMASK
#error "ts_vdev.h: define _POSIX_C_SOURCE 200809L before any #include"
#endif
#include "vdev/events.h"
#include "vdev/kernels.h"
#include "vdev/memory.h"
#include "vdev/open.h"
#include "vdev/streams.h"
#include "vdev/untouched_pages.h"
#endif // implementation
