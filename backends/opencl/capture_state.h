/*
    opencl/capture_state.h - the state of captures of OpenCL

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__OPENCL_CAPTURE_STATE_H
#define TS__OPENCL_CAPTURE_STATE_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "abi.h"
#include "in_flight.h"

#include <pthread.h>
#include <stdlib.h>

// One end of a copy or fill: an object, SVM or host memory.
typedef struct ts__cl_end_of {
    uint64_t address; // address of its first byte
    bool device, svm;
    ts__cl_handle memory; // NULL: no object
    uint64_t base;        // the address to which the origin is relative
    // For boxes: bytes, rows, slices. For images the pitches are the image's.
    uint64_t origin[3], region[3], row, slice;
} ts__cl_end_of;

typedef struct ts__cl_object {   // memory that the present command may reach
    ts__cl_handle handle;        // the buffer or image to read
    uint64_t address, size;      // range of that buffer or image
    uint64_t at, at_size;        // range of the object within it
    bool image, shared;          // shared: the host may write it at any time
    bool unread;                 // kernels may not read it
    uint64_t element, region[3]; // for images: bytes; elements, rows, slices
    ts_capture_object about;     // for images, also those in a buffer
} ts__cl_object;

typedef struct ts__cl_mapped { // memory mapped by the host
    ts__cl_handle memory;
    const void *at;
    bool writes;
    ts__cl_end_of device, host;
    uint64_t size;
} ts__cl_mapped;

// A command during a capture.
typedef struct ts__cl_seen {
    bool exclusive,
        keeps;           // keeps: it is being captured
    bool noted;          // it is recorded without contents
    ts__cl_handle event; // set if the event has no other owner
    uint8_t *args;
    size_t arg_room;
    ts_capture_op op;
} ts__cl_seen;

typedef struct ts__cl_code { // code stored in the trace
    uint64_t hash[2];
    uint32_t form, options, image;
} ts__cl_code;

typedef struct ts__cl_dead { // freed memory
    struct ts__cl_dead *next;
    uint64_t address, size;
} ts__cl_dead;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t idle; // CLOCK_MONOTONIC
    bool busy;           // a command has exclusive use of the devices
    uint32_t disturbed;  // another command did not wait for it
    // A wait timed out: do not wait until the devices were idle once.
    uint32_t late;
    uint32_t inside; // commands being enqueued while no capture waits for them
    uint32_t extended; // the program may enqueue commands that are not seen
    uint32_t passed;   // queues that wait for the program are not waited for
    uint32_t opened; // the program has done what one of those queues waited for
    ts__cl_mapped *mapped;
    size_t mapped_count, mapped_room;
    ts__cl_handle
        *events; // events of other commands, added by enqueuing threads
    size_t event_count, event_room;
    ts__cl_dead *dead; // a lock-free stack
    // For the command that has exclusive use:
    ts__cl_handle *followed; // events taken over from `events`
    size_t followed_count, followed_room;
    ts_capture_memory memory;
    ts__cl_object *objects;
    size_t object_count, object_room;
    // The program's queue; TraceSmith's, NULL: none yet.
    ts__cl_handle app_queue, queue;
    struct {                     // the last bytes read
        const ts__cl_object *of; // NULL: they may have changed
        uint64_t first, size, room;
        uint8_t *bytes;
    } shadow;
    ts__cl_code *codes;
    size_t code_count, code_room;
    uint64_t binaries; // binaries, which run only on such a device
} ts__cl_cap = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void ts__cl_capture_once(void)
{
    ts__cl_cond_init(&ts__cl_cap.idle);
}

// Called by the driver on any thread.
static void ts__cl_capture_freed(uint64_t address, uint64_t size)
{
    ts__cl_dead *const d =
        ts_capture_on() ? (ts__cl_dead *)malloc(sizeof *d) : NULL;
    if (!d) return; // addresses are not reused, so nothing is lost
    d->address = address;
    d->size = size;
    d->next = __atomic_load_n(&ts__cl_cap.dead, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&ts__cl_cap.dead, &d->next, d, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
}

// Forgets freed memory. Freeing a sub-buffer has no effect unless it spans the
// whole buffer; then the buffer is read once more. A driver may use more memory
// for an image than is captured.
static void ts__cl_capture_bury(void)
{
    ts_capture_memory *const memory = &ts__cl_cap.memory;
    ts__cl_dead *d =
        __atomic_exchange_n(&ts__cl_cap.dead, NULL, __ATOMIC_ACQUIRE);
    while (d) {
        ts__cl_dead *const next = d->next;
        if (ts_capture_size(memory, d->address) <= d->size)
            ts_capture_free(memory, d->address);
        free(d);
        d = next;
    }
}

static void ts__cl_touch_all(void)
{
    ts_capture_memory *const memory = &ts__cl_cap.memory;
    for (size_t i = 0; i < memory->count; i++)
        ts_capture_touch(memory, memory->ranges[i].address, 0);
}

#endif // TS__OPENCL_CAPTURE_STATE_H
