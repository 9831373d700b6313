/*
    hip/streams.h - a track for each stream of HIP

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    HIP identifies streams by their addresses, and the address of a
    destroyed one may be reused. So a stream is an address from one moment
    to another, and operations are assigned by the times of their calls, as
    their records may come later.

    CONTENTS                            search for "==== 2." to jump
        1. The table
        2. Making and destroying
        3. Tracks
*/
#ifndef TS__HIP_STREAMS_H
#define TS__HIP_STREAMS_H

#include "tracesmith.h"
#include "state.h"

#include <pthread.h>
#include <stdio.h>

/* ==== 1. The table ======================================================= */

// The stream of an operation, as far as the operation identifies it.
typedef struct ts__hip_place {
    uint64_t handle;
    uint64_t tick; // begin of its call
    uint32_t device;
    bool is_queue;
} ts__hip_place;

enum { TS__HIP_TRIES = 64 };            // number of slots searched for a stream
#define TS__HIP_GIVEN_AWAY (UINT32_MAX) // the slot is being reused

// Handles that are no objects: null, legacy, per thread. Each device has its
// own default streams.
static bool ts__hip_is_default(uint64_t handle)
{
    return handle <= 2;
}

// Returns the first slot to search. It depends only on the handle for streams
// whose device is unknown when they are looked up.
static uint32_t ts__hip_stream_at(const ts__hip_place *p)
{
    const bool shared = p->is_queue || ts__hip_is_default(p->handle);
    const uint64_t hash = p->handle * 0x9E3779B97F4A7C15u >> 40;
    return (uint32_t)hash + (shared ? p->device * 61u : 0);
}

// Reads a field of a slot, before its number is read again. acquire: pairs with
// the releases in ts__hip_stream_put.
#define TS__HIP_HELD(slot, field) \
    __atomic_load_n(&(slot)->field, __ATOMIC_ACQUIRE)

static inline bool ts__hip_stream_fits(const ts__hip_stream *s,
                                       const ts__hip_place *p)
{
    return TS__HIP_HELD(s, handle) == p->handle &&
           TS__HIP_HELD(s, is_queue) == p->is_queue &&
           p->tick >= TS__HIP_HELD(s, born) &&
           p->tick <= TS__HIP_HELD(s, gone) &&
           (TS__HIP_HELD(s, device) == p->device || TS__HIP_HELD(s, made));
}

// Returns NULL if the stream has no slot. Threads: any. The slot may be
// reassigned meanwhile; then its number differs from *held.
static ts__hip_stream *ts__hip_stream_find(const ts__hip_place *p,
                                           uint32_t *held)
{
    const uint32_t at = ts__hip_stream_at(p);
    for (uint32_t i = 0; i < TS__HIP_TRIES; i++) {
        ts__hip_stream *const s = &ts__hip.stream[(at + i) % TS__HIP_STREAMS];
        const uint32_t number = TS__HIP_HELD(s, number);
        if (!number) return NULL;
        if (number == TS__HIP_GIVEN_AWAY) continue;
        if (ts__hip_stream_fits(s, p) && TS__LOAD(&s->number) == number) {
            *held = number;
            return s;
        }
    }
    return NULL;
}

// Returns the next free slot, else the one whose stream was destroyed first.
// NULL: all streams are alive. The caller holds the lock.
static ts__hip_stream *ts__hip_stream_room(uint32_t at)
{
    ts__hip_stream *oldest = NULL;
    uint64_t gone = UINT64_MAX;
    for (uint32_t i = 0; i < TS__HIP_TRIES; i++) {
        ts__hip_stream *const s = &ts__hip.stream[(at + i) % TS__HIP_STREAMS];
        if (!s->number) return s;
        if (s->gone < gone) {
            gone = s->gone;
            oldest = s;
        }
    }
    return oldest;
}

// born: 0 means after the earlier streams with this handle. The caller holds
// the lock.
static ts__hip_stream *ts__hip_stream_put(const ts__hip_place *p, uint64_t born)
{
    const uint32_t at = ts__hip_stream_at(p);
    const bool seen = born != 0;
    for (uint32_t i = 0; i < TS__HIP_TRIES && !seen; i++) {
        const ts__hip_stream *const s =
            &ts__hip.stream[(at + i) % TS__HIP_STREAMS];
        if (s->number && s->handle == p->handle && s->is_queue == p->is_queue &&
            s->gone < p->tick && s->gone >= born)
            born = s->gone + 1;
    }
    ts__hip_stream *const s = ts__hip_stream_room(at);
    if (!s) return NULL;
    // release: a thread that sees a new field sees that the number changed
    __atomic_store_n(&s->number, TS__HIP_GIVEN_AWAY, __ATOMIC_RELEASE);
    __atomic_store_n(&s->handle, p->handle, __ATOMIC_RELEASE);
    __atomic_store_n(&s->is_queue, p->is_queue, __ATOMIC_RELEASE);
    __atomic_store_n(&s->device, p->device, __ATOMIC_RELEASE);
    __atomic_store_n(&s->born, born, __ATOMIC_RELEASE);
    __atomic_store_n(&s->gone, UINT64_MAX, __ATOMIC_RELEASE);
    __atomic_store_n(&s->track, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&s->made, 0, __ATOMIC_RELEASE);
    s->flags = 0;
    s->priority = 0;
    __atomic_store_n(&s->number, ++ts__hip.stream_count, __ATOMIC_RELEASE);
    return s;
}

/* ==== 2. Making and destroying =========================================== */

// Ends the stream of that handle: calls from `tick` on belong to another one.
// The caller holds the lock.
static void ts__hip_stream_end(uint64_t handle, uint64_t tick)
{
    const ts__hip_place p = { .handle = handle };
    const uint32_t at = ts__hip_stream_at(&p);
    for (uint32_t i = 0; i < TS__HIP_TRIES; i++) {
        ts__hip_stream *const s = &ts__hip.stream[(at + i) % TS__HIP_STREAMS];
        if (!s->number) return;
        if (s->handle == handle && !s->is_queue && s->gone == UINT64_MAX)
            TS__STORE(&s->gone, tick - 1);
    }
}

static void ts__hip_stream_destroyed(uint64_t handle, uint64_t tick)
{
    if (ts__hip_is_default(handle)) return;
    pthread_mutex_lock(&ts__hip.lock);
    ts__hip_stream_end(handle, tick);
    pthread_mutex_unlock(&ts__hip.lock);
}

// p: its tick is that of the creating call.
static void ts__hip_stream_made(const ts__hip_place *p, uint32_t flags,
                                int32_t priority)
{
    pthread_mutex_lock(&ts__hip.lock);
    ts__hip_stream_end(p->handle, p->tick); // in case its end was not reported
    ts__hip_stream *const s = ts__hip_stream_put(p, p->tick);
    if (s) {
        s->flags = flags;
        s->priority = priority;
        TS__STORE(&s->made, 1);
    }
    pthread_mutex_unlock(&ts__hip.lock);
}

// Returns the device of a stream: p's if the creation was not seen.
static uint32_t ts__hip_stream_device(const ts__hip_place *p)
{
    uint32_t number;
    const ts__hip_stream *const s =
        ts__hip_is_default(p->handle) ? NULL : ts__hip_stream_find(p, &number);
    return s ? TS__LOAD(&s->device) : p->device;
}

/* ==== 3. Tracks ========================================================== */

// The caller holds the lock.
static uint32_t ts__hip_stream_define(const ts__hip_stream *s)
{
    char name[48];
    if (s->is_queue || !ts__hip_is_default(s->handle))
        snprintf(name, sizeof name, s->is_queue ? "queue %u" : "stream %u",
                 ++ts__hip.named[s->device][s->is_queue]);
    else
        snprintf(name, sizeof name, "%sdefault stream",
                 s->handle == 2 ? "per-thread " : "");
    ts_gpu_stream_desc desc = { .name = name,
                                .context = ts__hip.devices[s->device].track,
                                .number = s->handle,
                                .priority = s->priority };
    if (s->flags & 1) desc.flags = TS_STREAM_NON_BLOCKING;
    if (!s->is_queue && s->handle < 2) desc.flags = TS_STREAM_LEGACY_DEFAULT;
    if (s->is_queue) desc.flags = TS_STREAM_NON_BLOCKING;
    return ts_gpu_stream_define(&desc);
}

static uint32_t ts__hip_stream_define_at(const ts__hip_place *p,
                                         const ts__hip_stream **found,
                                         uint32_t *number)
{
    pthread_mutex_lock(&ts__hip.lock);
    ts__hip_stream *s = ts__hip_stream_find(p, number);
    if (!s) s = ts__hip_stream_put(p, 0);
    // release: pairs with the acquire of TS__HIP_HELD
    if (s && !s->track)
        __atomic_store_n(&s->track, ts__hip_stream_define(s), __ATOMIC_RELEASE);
    const uint32_t track = s ? s->track : ts__hip.devices[p->device].track;
    *number = s ? s->number : 0;
    pthread_mutex_unlock(&ts__hip.lock);
    if (!s) ts__hip_lose(TS__HIP_UNPLACED, 1);
    *found = s;
    return track;
}

// Returns the track of a stream, or of a queue if the stream is unknown. The
// device must be defined. *found: the slot; NULL: there are too many streams,
// and this one uses its device's track. *number: the slot's number while it
// belongs to the stream.
static uint32_t ts__hip_stream_of(const ts__hip_place *place,
                                  const ts__hip_stream **found,
                                  uint32_t *number)
{
    ts__hip_place p = *place;
    // Legacy and null are the same stream.
    if (p.handle == 1 && !p.is_queue) p.handle = 0;
    *found = ts__hip_stream_find(&p, number);
    const uint32_t track = *found ? TS__HIP_HELD(*found, track) : 0;
    if (track && TS__LOAD(&(*found)->number) == *number) return track;
    return ts__hip_stream_define_at(&p, found, number);
}

static uint32_t ts__hip_stream_track(const ts__hip_place *place)
{
    const ts__hip_stream *found;
    uint32_t number;
    return ts__hip_stream_of(place, &found, &number);
}

#endif // TS__HIP_STREAMS_H
