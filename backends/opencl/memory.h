/*
    opencl/memory.h - buffers, images and SVM

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__OPENCL_MEMORY_H
#define TS__OPENCL_MEMORY_H

#include "tracesmith.h"
#include "../ts_filter.h"
#include "abi.h"
#include "calls.h"
#include "capture_state.h"
#include "devices.h"
#include "in_flight.h"
#include "objects.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void ts__cl_memory_event(const ts__cl_call *call, const ts__cl_memory *m,
                                ts_event_kind kind, uint32_t memory)
{
    if (!call->on || !m->track || !ts_filter_kind(kind)) return;
    ts_gpu_op op;
    memset(&op, 0, sizeof op);
    op.kind = kind;
    op.track = m->track;
    op.queued = call->start;
    op.submitted = op.start = op.end = ts_tick_now();
    op.correlation = call->correlation;
    op.origin = call->origin;
    op.u.memory.address = m->address;
    op.u.memory.size = m->size;
    op.u.memory.memory = memory << 4;
    ts_gpu_op_record(&op);
}

// Called by the driver on any thread when it frees memory: the program and the
// commands that used it have released it.
static void ts__cl_memory_freed(ts__cl_handle handle, void *user)
{
    ts__cl_memory *const m = (ts__cl_memory *)user;
    ts__cl_entry *const e = ts__cl_entry_find(TS__CL_MEMORY, handle);
    if (TS__LOAD(&ts__cl.off)) return;
    m->gone = ts_tick_now();
    ts__cl_capture_freed(m->address, m->size);
    if (e) {
        pthread_mutex_t *const lock = ts__cl_lock_of(e);
        pthread_mutex_lock(lock);
        if (e->data == m) ts__cl_set(e, NULL);
        pthread_mutex_unlock(lock);
    }
    if (!TS__LOAD(&ts__here.gate)) {
        free(m);
        return;
    }
    m->next = __atomic_load_n(&ts__cl.gone, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&ts__cl.gone, &m->next, m, false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {}
    ts__cl_call_thread();
}

// Copies the entry, because another thread may free it. Returns false if it is
// unknown.
static bool ts__cl_memory_get(uint32_t kind, const void *handle,
                              ts__cl_memory *copy)
{
    const ts__cl_entry *const e =
        handle ? ts__cl_entry_find(kind, handle) : NULL;
    if (!e) return false;
    pthread_mutex_t *const lock = ts__cl_lock_of(e);
    pthread_mutex_lock(lock);
    const ts__cl_memory *const m = (const ts__cl_memory *)e->data;
    if (m) *copy = *m;
    pthread_mutex_unlock(lock);
    return m != NULL;
}

// Returns an address for a buffer, because OpenCL has none: a range that is
// never reused, with a gap after it. Sub-buffers are at their offset in the
// buffer.
static uint64_t ts__cl_address_new(uint64_t size)
{
    const uint64_t room = (size + 8191) & ~UINT64_C(4095);
    return __atomic_fetch_add(&ts__cl.address, room, __ATOMIC_RELAXED);
}

static void ts__cl_image_measure(ts__cl_memory *m)
{
    size_t element = 0, width = 0, height = 0;
    ts__cl.next.clGetImageInfo(m->handle, TS__CL_IMAGE_ELEMENT_SIZE,
                               sizeof element, &element, NULL);
    ts__cl.next.clGetImageInfo(m->handle, TS__CL_IMAGE_WIDTH, sizeof width,
                               &width, NULL);
    ts__cl.next.clGetImageInfo(m->handle, TS__CL_IMAGE_HEIGHT, sizeof height,
                               &height, NULL);
    m->element = element;
    m->row = element * width;
    m->plane = m->row * (height ? height : 1);
}

static uint32_t ts__cl_mode_of(uint64_t flags)
{
    if (flags & TS__CL_MEM_READ_ONLY) return TS_ACCESS_READ;
    if (flags & TS__CL_MEM_WRITE_ONLY) return TS_ACCESS_WRITE;
    return TS_ACCESS_READ | TS_ACCESS_WRITE;
}

static ts__cl_memory *ts__cl_memory_keep(uint32_t kind, ts__cl_handle handle)
{
    ts__cl_entry *const e = ts__cl_entry_make(kind, handle);
    ts__cl_memory *const m = e ? (ts__cl_memory *)calloc(1, sizeof *m) : NULL;
    if (!m) return NULL;
    m->handle = handle;
    return m;
}

static void ts__cl_memory_set(uint32_t kind, ts__cl_memory *m)
{
    ts__cl_entry *const e = ts__cl_entry_find(kind, m->handle);
    pthread_mutex_t *const lock = ts__cl_lock_of(e);
    pthread_mutex_lock(lock);
    // An existing entry still belongs to its callback, or was never freed.
    ts__cl_set(e, m);
    pthread_mutex_unlock(lock);
}

// Returns whether the object lies in another object, and then sets its address.
static bool ts__cl_memory_within(ts__cl_memory *m)
{
    ts__cl_handle whole = NULL;
    ts__cl_memory parent;
    size_t origin = 0;
    ts__cl.next.clGetMemObjectInfo(m->handle, TS__CL_MEM_ASSOCIATED_MEMOBJECT,
                                   sizeof whole, &whole, NULL);
    if (!whole || !ts__cl_memory_get(TS__CL_MEMORY, whole, &parent))
        return whole != NULL;
    ts__cl.next.clGetMemObjectInfo(m->handle, TS__CL_MEM_OFFSET, sizeof origin,
                                   &origin, NULL);
    m->address = parent.address + origin;
    return true;
}

// A buffer, sub-buffer or image was created.
static void ts__cl_memory_new(const ts__cl_call *call, ts__cl_handle handle,
                              ts__cl_handle context, bool image)
{
    ts__cl_memory *const m = ts__cl_memory_keep(TS__CL_MEMORY, handle);
    size_t size = 0;
    uint64_t flags = 0;
    if (!m) return;
    ts__cl.next.clGetMemObjectInfo(handle, TS__CL_MEM_SIZE, sizeof size, &size,
                                   NULL);
    ts__cl.next.clGetMemObjectInfo(handle, TS__CL_MEM_FLAGS, sizeof flags,
                                   &flags, NULL);
    m->size = size;
    m->mode = ts__cl_mode_of(flags);
    const bool within = ts__cl_memory_within(m);
    if (!m->address) m->address = ts__cl_address_new(m->size);
    if (image) ts__cl_image_measure(m);
    // A part has no allocation of its own: that of the whole is recorded or
    // not.
    if (!within && call->on) m->track = ts__cl_context_memory(context);
    ts__cl_memory_set(TS__CL_MEMORY, m);
    const uint32_t host = TS__CL_MEM_USE_HOST_PTR | TS__CL_MEM_ALLOC_HOST_PTR;
    ts__cl_memory_event(call, m, TS_EVENT_GPU_ALLOC, flags & host ? 2 : 3);
    if (ts__cl.next.clSetMemObjectDestructorCallback)
        ts__cl.next.clSetMemObjectDestructorCallback(handle,
                                                     ts__cl_memory_freed, m);
}

TS__CL_MAKES(clCreateBuffer,
             (ts__cl_handle context, uint64_t flags, size_t size, void *host,
              int32_t *error),
             (context, flags, size, host, error),
             ts__cl_memory_new(&call, made, context, false))
TS__CL_MAKES(clCreateBufferWithProperties,
             (ts__cl_handle context, const uint64_t *properties, uint64_t flags,
              size_t size, void *host, int32_t *error),
             (context, properties, flags, size, host, error),
             ts__cl_memory_new(&call, made, context, false))
TS__CL_MAKES(clCreateSubBuffer,
             (ts__cl_handle buffer, uint64_t flags, uint32_t type,
              const void *about, int32_t *error),
             (buffer, flags, type, about, error),
             ts__cl_memory_new(&call, made, NULL, false))
TS__CL_MAKES(clCreateImage,
             (ts__cl_handle context, uint64_t flags, const void *format,
              const void *desc, void *host, int32_t *error),
             (context, flags, format, desc, host, error),
             ts__cl_memory_new(&call, made, context, true))
TS__CL_MAKES(clCreateImageWithProperties,
             (ts__cl_handle context, const uint64_t *properties, uint64_t flags,
              const void *format, const void *desc, void *host, int32_t *error),
             (context, properties, flags, format, desc, host, error),
             ts__cl_memory_new(&call, made, context, true))
TS__CL_MAKES(clCreateImage2D,
             (ts__cl_handle context, uint64_t flags, const void *format,
              size_t width, size_t height, size_t pitch, void *host,
              int32_t *error),
             (context, flags, format, width, height, pitch, host, error),
             ts__cl_memory_new(&call, made, context, true))
TS__CL_MAKES(clCreateImage3D,
             (ts__cl_handle context, uint64_t flags, const void *format,
              size_t width, size_t height, size_t depth, size_t pitch,
              size_t slice, void *host, int32_t *error),
             (context, flags, format, width, height, depth, pitch, slice, host,
              error),
             ts__cl_memory_new(&call, made, context, true))
TS__CL_MAKES(clCreatePipe,
             (ts__cl_handle context, uint64_t flags, uint32_t packet_size,
              uint32_t packets, const intptr_t *properties, int32_t *error),
             (context, flags, packet_size, packets, properties, error),
             ts__cl_memory_new(&call, made, context, false))

static void *ts__cl_clSVMAlloc(ts__cl_handle context, uint64_t flags,
                               size_t size, uint32_t alignment)
{
    ts__cl_call call;
    ts__cl_enter(&call, TS__CL_clSVMAlloc);
    void *const made = ts__cl.next.clSVMAlloc(context, flags, size, alignment);
    ts__cl_memory *const m = made && !TS__LOAD(&ts__cl.off)
                                 ? ts__cl_memory_keep(TS__CL_SVM, made)
                                 : NULL;
    if (m) {
        m->size = size;
        m->mode = ts__cl_mode_of(flags);
        m->address = (uint64_t)(uintptr_t)made;
        if (call.on) m->track = ts__cl_context_memory(context);
        ts__cl_memory_set(TS__CL_SVM, m);
        ts__cl_memory_event(&call, m, TS_EVENT_GPU_ALLOC, 4);
    }
    ts__cl_leave(&call, made ? 0 : -1);
    return made;
}

// Removes the entry, because its address may be reused.
static ts__cl_memory *ts__cl_svm_take(const void *memory)
{
    const ts__cl_entry *const e = ts__cl_entry_find(TS__CL_SVM, memory);
    if (!e) return NULL;
    pthread_mutex_t *const lock = ts__cl_lock_of(e);
    pthread_mutex_lock(lock);
    ts__cl_memory *const m = (ts__cl_memory *)e->data;
    __atomic_store_n(&((ts__cl_entry *)(uintptr_t)e)->data, NULL,
                     __ATOMIC_RELEASE);
    pthread_mutex_unlock(lock);
    return m;
}

static void ts__cl_clSVMFree(ts__cl_handle context, void *memory)
{
    ts__cl_call call;
    ts__cl_enter(&call, TS__CL_clSVMFree);
    ts__cl_memory *const m = memory ? ts__cl_svm_take(memory) : NULL;
    // Recorded before the driver frees it, because another thread may get the
    // address at once.
    if (m) ts__cl_memory_event(&call, m, TS_EVENT_GPU_FREE, 4);
    ts__cl.next.clSVMFree(context, memory);
    free(m);
    ts__cl_leave(&call, 0);
}

#endif // TS__OPENCL_MEMORY_H
