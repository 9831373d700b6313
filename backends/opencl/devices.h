/*
    opencl/devices.h - devices, their clocks and contexts

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__OPENCL_DEVICES_H
#define TS__OPENCL_DEVICES_H

#include "tracesmith.h"
#include "abi.h"
#include "objects.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
    Times of commands are nanoseconds of a clock of the device that OpenCL does
    not specify. If clGetDeviceAndHostTimer works, the clock is read with it.
    Otherwise the first commands decide: a command is queued during the call
    that enqueues it. If the queued times by one of the host's clocks are always
    within those calls, it is that clock, and the relation is exact. If none
    fits, each call is a pair of the queued time and the middle of the call,
    with half its length as the uncertainty.
*/
enum { TS__CL_PROBES = 16, TS__CL_HOSTS = 3 };
static const clockid_t ts__cl_hosts[TS__CL_HOSTS] = { CLOCK_MONOTONIC_RAW,
                                                      CLOCK_MONOTONIC,
                                                      CLOCK_REALTIME };
static const char *const ts__cl_host_names[TS__CL_HOSTS] = {
    "CLOCK_MONOTONIC_RAW", "CLOCK_MONOTONIC", "CLOCK_REALTIME"
};

static uint64_t ts__cl_host_now(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void ts__cl_probe_take(uint64_t *host)
{
    for (int i = 0; i < TS__CL_HOSTS; i++)
        host[i] = ts__cl_host_now(ts__cl_hosts[i]);
}

static int ts__cl_host_of(const ts__cl_device *d)
{
    int host = 0;
    while (host < TS__CL_HOSTS && !(d->hosts >> host & 1))
        host++;
    return host;
}

// Reads the device's present time; false if that is not possible.
static bool ts__cl_device_now(const ts__cl_device *d, uint64_t *tick)
{
    uint64_t host;
    if (d->timer)
        return ts__cl.next.clGetDeviceAndHostTimer(d->handle, tick, &host) ==
               TS__CL_SUCCESS;
    const int known = ts__cl_host_of(d);
    if (known == TS__CL_HOSTS || !d->probes) return false;
    *tick = ts__cl_host_now(ts__cl_hosts[known]);
    return true;
}

// Samples the clock. The caller holds the device's lock.
static void ts__cl_device_sample(ts__cl_device *d)
{
    ts__cl_bracket best = d->bracket;
    uint64_t tick;
    for (int i = 0; i < 5; i++) {
        const uint64_t before = ts_tick_now();
        if (!ts__cl_device_now(d, &tick)) break;
        const uint64_t half = (ts_tick_now() - before) / 2;
        if (i && half >= best.half) continue;
        best.tick = tick;
        best.host = before + half;
        best.half = half;
    }
    if (!best.tick) return;
    ts_clock_sample(d->clock, best.tick, best.host, best.half);
    memset(&d->bracket, 0, sizeof d->bracket);
    d->session = TS__LOAD(&ts__here.gate);
    d->sampled = ts__cl_host_now(CLOCK_MONOTONIC);
}

// Learns from a command that was queued at `queued` between two ticks of clock
// 0. 0: the driver does not report the time.
static void ts__cl_device_learn(ts__cl_device *d, const ts__cl_command *c,
                                uint64_t queued)
{
    pthread_mutex_lock(&d->lock);
    if (queued && c->probe && !d->timer) {
        for (int i = 0; i < TS__CL_HOSTS; i++)
            if (queued < c->probe->before[i] || queued > c->probe->after[i])
                d->hosts &= ~(1u << i);
        // Atomic, because it is read without the lock.
        TS__STORE(&d->probes, d->probes + 1);
    }
    const uint64_t half = (c->called[1] - c->called[0]) / 2;
    if (queued && (!d->bracket.tick || half < d->bracket.half)) {
        d->bracket.tick = queued;
        d->bracket.host = c->called[0] + half;
        d->bracket.half = half;
    }
    if (d->session != TS__LOAD(&ts__here.gate) ||
        ts__cl_host_now(CLOCK_MONOTONIC) - d->sampled > 1000000000u)
        ts__cl_device_sample(d);
    pthread_mutex_unlock(&d->lock);
}

static void ts__cl_device_text(const ts__cl_device *d, uint32_t what,
                               const char *key)
{
    char text[256] = "";
    if (ts__cl.next.clGetDeviceInfo(d->handle, what, sizeof text - 1, text,
                                    NULL) == TS__CL_SUCCESS)
        ts_metadata_text(d->track, key, text);
}

static void ts__cl_device_number(const ts__cl_device *d, uint32_t what,
                                 size_t size, const char *key)
{
    uint64_t value = 0; // little-endian: see tracesmith.h
    if (ts__cl.next.clGetDeviceInfo(d->handle, what, size, &value, NULL) ==
        TS__CL_SUCCESS)
        ts_metadata_int(d->track, key, (int64_t)value);
}

static void ts__cl_device_define(ts__cl_device *d)
{
    char name[256] = "";
    uint64_t tick, host;
    ts__cl.next.clGetDeviceInfo(d->handle, TS__CL_DEVICE_NAME, sizeof name - 1,
                                name, NULL);
    const ts_gpu_device_desc desc = { name, ts__cl.device_count++, 0 };
    d->track = ts_gpu_device_define(&desc);
    d->clock = ts_clock_define(name);
    ts__cl_device_text(d, TS__CL_DEVICE_VENDOR, "vendor");
    ts__cl_device_text(d, TS__CL_DEVICE_VERSION, "version");
    ts__cl_device_text(d, TS__CL_DRIVER_VERSION, "driver_version");
    ts__cl_device_number(d, TS__CL_DEVICE_GLOBAL_MEM_SIZE, 8, "memory_bytes");
    ts__cl_device_number(d, TS__CL_DEVICE_MAX_COMPUTE_UNITS, 4,
                         "multiprocessors");
    ts__cl_device_number(d, TS__CL_DEVICE_MAX_CLOCK_FREQUENCY, 4, "clock_mhz");
    d->timer = ts__cl.next.clGetDeviceAndHostTimer &&
               ts__cl.next.clGetDeviceAndHostTimer(d->handle, &tick, &host) ==
                   TS__CL_SUCCESS;
    d->hosts = (1u << TS__CL_HOSTS) - 1;
}

static ts__cl_device *ts__cl_device_get(ts__cl_handle handle)
{
    pthread_mutex_lock(&ts__cl.define);
    ts__cl_device *d = ts__cl.devices;
    while (d && d->handle != handle)
        d = d->next;
    if (!d && (d = (ts__cl_device *)calloc(1, sizeof *d)) != NULL) {
        d->handle = handle;
        pthread_mutex_init(&d->lock, NULL);
        ts__cl_device_define(d);
        d->next = ts__cl.devices;
        ts__cl.devices = d;
    }
    pthread_mutex_unlock(&ts__cl.define);
    return d;
}

// Reports which clock each device uses.
static void ts__cl_devices_report(void)
{
    pthread_mutex_lock(&ts__cl.define);
    for (ts__cl_device *d = ts__cl.devices; d; d = d->next) {
        pthread_mutex_lock(&d->lock);
        const int host = ts__cl_host_of(d);
        if (d->timer || d->probes)
            ts_metadata_text(d->track, "clock",
                             d->timer               ? "clGetDeviceAndHostTimer"
                             : host == TS__CL_HOSTS ? "its own"
                                                    : ts__cl_host_names[host]);
        if (d->session == TS__LOAD(&ts__here.gate)) ts__cl_device_sample(d);
        pthread_mutex_unlock(&d->lock);
    }
    pthread_mutex_unlock(&ts__cl.define);
}

// Returns the track of a device in a context.
static uint32_t ts__cl_context_track(ts__cl_handle handle,
                                     const ts__cl_device *d)
{
    ts__cl_entry *const e = ts__cl_entry_make(TS__CL_CONTEXT, handle);
    uint32_t track = 0;
    if (!e || !d) return 0;
    pthread_mutex_lock(&ts__cl.define);
    ts__cl_context *c = (ts__cl_context *)e->data;
    if (!c && (c = (ts__cl_context *)calloc(1, sizeof *c)) != NULL) {
        c->number = ts__cl_number(TS__CL_CONTEXT);
        ts__cl_set(e, c);
    }
    for (uint32_t i = 0; c && i < c->count; i++)
        if (c->devices[i].device == d) track = c->devices[i].track;
    if (c && !track) {
        const ts_gpu_context_desc desc = { NULL, d->track, c->number };
        track = ts_gpu_context_define(&desc);
        if (c->count < sizeof c->devices / sizeof *c->devices) {
            c->devices[c->count].device = d;
            c->devices[c->count++].track = track;
        }
    }
    pthread_mutex_unlock(&ts__cl.define);
    return track;
}

// Returns the track for memory of a context: that of its first device.
static uint32_t ts__cl_context_memory(ts__cl_handle context)
{
    const ts__cl_context *const c =
        (const ts__cl_context *)ts__cl_find(TS__CL_CONTEXT, context);
    pthread_mutex_lock(&ts__cl.define);
    const uint32_t track = c && c->count ? c->devices[0].track : 0;
    pthread_mutex_unlock(&ts__cl.define);
    if (track) return track;
    ts__cl_handle devices[64] = { NULL };
    ts__cl.next.clGetContextInfo(context, TS__CL_CONTEXT_DEVICES,
                                 sizeof devices, devices, NULL);
    return devices[0]
               ? ts__cl_context_track(context, ts__cl_device_get(devices[0]))
               : 0;
}

#endif // TS__OPENCL_DEVICES_H
