/*
    hip/devices.h - devices, by the numbers of the profiling library or the
    program

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__HIP_DEVICES_H
#define TS__HIP_DEVICES_H

#include "tracesmith.h"
#include "state.h"

#include <pthread.h>
#include <stdio.h>

typedef struct ts__hip_facts { // 0 or NULL: unknown
    const char *name, *architecture;
    uint64_t memory_bytes;
    uint32_t multiprocessors, warp_size, shared_bytes, clock_mhz;
} ts__hip_facts;

static void ts__hip_fact(uint32_t track, const char *key, uint64_t value)
{
    if (value) ts_metadata_int(track, key, (int64_t)value);
}

// Returns the index of a device and defines it if it is new. The caller holds
// the lock.
static uint32_t ts__hip_device_add(uint64_t id, const ts__hip_facts *facts)
{
    uint32_t i = 0;
    while (i < ts__hip.device_count && ts__hip.devices[i].id != id)
        i++;
    if (i < ts__hip.device_count || i == TS__HIP_DEVICES)
        return i < TS__HIP_DEVICES ? i : TS__HIP_DEVICES - 1;
    char name[32];
    snprintf(name, sizeof name, "GPU %u", i);
    const ts_gpu_device_desc desc = {
        .name = facts->name && *facts->name ? facts->name : name, .index = i
    };
    const uint32_t track = ts_gpu_device_define(&desc);
    ts_metadata_text(track, "vendor", "AMD");
    if (facts->architecture && *facts->architecture)
        ts_metadata_text(track, "architecture", facts->architecture);
    ts__hip_fact(track, "memory_bytes", facts->memory_bytes);
    ts__hip_fact(track, "multiprocessors", facts->multiprocessors);
    ts__hip_fact(track, "warp_size", facts->warp_size);
    ts__hip_fact(track, "shared_bytes", facts->shared_bytes);
    ts__hip_fact(track, "clock_mhz", facts->clock_mhz);
    ts__hip.devices[i].id = id;
    ts__hip.devices[i].track = track;
    snprintf(ts__hip.devices[i].architecture,
             sizeof ts__hip.devices[i].architecture, "%s",
             facts->architecture ? facts->architecture : "");
    __atomic_store_n(&ts__hip.device_count, i + 1, __ATOMIC_RELEASE);
    return i;
}

// Returns the track of the device with this index in the program.
static uint32_t ts__hip_device_track(uint32_t index)
{
    static const ts__hip_facts unknown;
    if (index >= TS__HIP_DEVICES) index = TS__HIP_DEVICES - 1;
    // acquire: pairs with the release in ts__hip_device_add
    if (index < __atomic_load_n(&ts__hip.device_count, __ATOMIC_ACQUIRE))
        return ts__hip.devices[index].track;
    pthread_mutex_lock(&ts__hip.lock);
    // Defined with an id that no device has.
    while (ts__hip.device_count <= index)
        ts__hip_device_add(UINT64_MAX - ts__hip.device_count, &unknown);
    const uint32_t track = ts__hip.devices[index].track;
    pthread_mutex_unlock(&ts__hip.lock);
    return track;
}

static inline uint32_t ts__hip_device_of(uint64_t id)
{
    static const ts__hip_facts unknown;
    // acquire: pairs with the release in ts__hip_device_add
    const uint32_t count =
        __atomic_load_n(&ts__hip.device_count, __ATOMIC_ACQUIRE);
    if (ts__hip.indices) {
        const uint32_t index = id < TS__HIP_DEVICES ? (uint32_t)id : 0;
        if (TS__UNLIKELY(index >= count)) ts__hip_device_track(index);
        return index;
    }
    for (uint32_t i = 0; i < count; i++)
        if (ts__hip.devices[i].id == id) return i;
    pthread_mutex_lock(&ts__hip.lock);
    const uint32_t i = ts__hip_device_add(id, &unknown);
    pthread_mutex_unlock(&ts__hip.lock);
    return i;
}

#endif // TS__HIP_DEVICES_H
