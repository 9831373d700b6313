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

// One end of a copy or fill: an object, SVM, or the host's memory.
typedef struct ts__cl_end_of {
    uint64_t address; // of its first byte
    bool device, svm;
    ts__cl_handle memory; // an object
    uint64_t base;        // from where the origin counts
    // Of a box: bytes, rows, slices. In images rows and slices are its own.
    uint64_t origin[3], region[3], row, slice;
} ts__cl_end_of;

typedef struct ts__cl_object {   // memory that the command at work may reach
    ts__cl_handle handle;        // what is read: a buffer or an image
    uint64_t address, size;      // of all of that
    uint64_t at, at_size;        // where the object itself lies
    bool image, shared;          // shared: the host may write it at any time
    bool unread;                 // kernels may not read it
    uint64_t element, region[3]; // of an image: bytes; elements, rows, slices
    ts_capture_object about;     // of an image, also of one in a buffer
} ts__cl_object;

typedef struct ts__cl_mapped { // by the host
    ts__cl_handle memory;
    const void *at;
    bool writes;
    ts__cl_end_of device, host;
    uint64_t size;
} ts__cl_mapped;

// A command while something is kept.
typedef struct ts__cl_seen {
    bool exclusive,
        keeps;           // it has the devices to itself, and is being captured
    bool noted;          // it will stand in the trace, without contents
    ts__cl_handle event; // if nothing else has its event
    uint8_t *args;
    size_t arg_room;
    ts_capture_op op;
} ts__cl_seen;

typedef struct ts__cl_code { // that the trace has
    uint64_t hash[2];
    uint32_t form, options, image;
} ts__cl_code;

typedef struct ts__cl_dead { // memory that was freed
    struct ts__cl_dead *next;
    uint64_t address, size;
} ts__cl_dead;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t idle; // CLOCK_MONOTONIC
    bool busy;           // a command has the devices to itself
    uint32_t disturbed;  // somebody did not wait for it
    uint32_t late;       // waiting was in vain: do not, until it is idle once
    uint32_t inside; // commands being enqueued while no capture waits for them
    uint32_t extended; // the program may enqueue what nobody sees
    uint32_t passed;   // queues that wait for the program are not followed
    uint32_t opened;   // what one of them waited for was done
    ts__cl_mapped *mapped;
    size_t mapped_count, mapped_room;
    ts__cl_handle
        *events; // of commands that are not followed otherwise, new ones
    size_t event_count, event_room;
    ts__cl_dead *dead; // a stack, without the lock
    // Of the command that has the devices to itself:
    ts__cl_handle *followed; // `events` that were looked at
    size_t followed_count, followed_room;
    ts_capture_memory memory;
    ts__cl_object *objects;
    size_t object_count, object_room;
    ts__cl_handle app_queue, queue; // the program's; our own, NULL: none yet
    struct {                        // what was read last
        const ts__cl_object *of;    // NULL: it may have changed since
        uint64_t first, size, room;
        uint8_t *bytes;
    } shadow;
    ts__cl_code *codes;
    size_t code_count, code_room;
    uint64_t binaries; // of them, which run on such a device alone
} ts__cl_cap = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void ts__cl_capture_once(void)
{
    ts__cl_cond_init(&ts__cl_cap.idle);
}

// Called by the driver, on any thread.
static void ts__cl_capture_freed(uint64_t address, uint64_t size)
{
    ts__cl_dead *const d =
        ts_capture_on() ? (ts__cl_dead *)malloc(sizeof *d) : NULL;
    if (!d) return; // addresses are not used again
    d->address = address;
    d->size = size;
    d->next = __atomic_load_n(&ts__cl_cap.dead, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&ts__cl_cap.dead, &d->next, d, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
}

// Forgets what was freed. A part of a buffer is nothing by itself, unless it
// is all of it: then the buffer's contents are read once more. Of an image the
// driver may take more than there is to be kept.
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
