/*
    cupti/capture.h - connects CUPTI's callbacks with captures

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Passes calls of the driver and modules to ../gpu/, and says on which
    track of the trace the operations of a stream lie.
*/
#ifndef TS__CUPTI_CAPTURE_H
#define TS__CUPTI_CAPTURE_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "../capture/memory.h"
#include "../gpu/callbacks.h"
#include "../gpu/contexts.h"
#include "../gpu/device_hash.h"
#include "../gpu/driver.h"
#include "../gpu/driver_requests.h"
#include "../gpu/functions.h"
#include "../gpu/graph_launch.h"
#include "../gpu/memory.h"
#include "../gpu/modules.h"
#include "../gpu/operations.h"
#include "../gpu/state.h"
#include "../gpu/waiting.h"
#include "callback_data.h"
#include "device_hash.h"
#include "engines.h"
#include "origins.h"
#include "records.h"
#include "vendors.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

// Gets CUPTI's ids of a stream's context, stream and device. Returns false if
// they are unknown.
static bool ts__cu_keep_ids(ts__cu *u, void *context, void *stream,
                            bool per_thread, uint32_t ids[3])
{
    const bool own = (!stream && per_thread) || (uintptr_t)stream == 2;
    // CU_STREAM_LEGACY and CU_STREAM_PER_THREAD name default streams.
    void *const handle = (uintptr_t)stream <= 2 ? NULL : stream;
    ids[0] = ids[1] = ids[2] = 0;
    return u->call.context_id && u->call.stream_id && u->call.device_id &&
           u->call.context_id(context, &ids[0]) == 0 &&
           u->call.stream_id(context, handle, !handle && own, &ids[1]) == 0 &&
           u->call.device_id(context, &ids[2]) == 0;
}

// A call of the program waits for buffers to be decoded, but for a bounded
// time: CUPTI's function that gets the next record may hang or wait for a lock
// that this thread holds. After one timeout no call waits until CUPTI has
// returned. Returns false on a timeout.
static bool ts__cu_decode_enter(ts__cu *u)
{
    struct timespec end;
    if (pthread_mutex_trylock(&u->decode) != 0) {
        if (TS__LOAD(&u->stuck)) return false;
        clock_gettime(CLOCK_REALTIME, &end);
        end.tv_sec += ts__cu_desc.stop_ms / 1000;
        end.tv_nsec += (long)(ts__cu_desc.stop_ms % 1000) * 1000000;
        if (end.tv_nsec >= 1000000000) end.tv_sec++, end.tv_nsec -= 1000000000;
        if (pthread_mutex_timedlock(&u->decode, &end) != 0) {
            TS__STORE(&u->stuck, 1);
            return false;
        }
    }
    TS__STORE(&u->stuck, 0);
    return true;
}

// Defines a stream's track with its properties, because the records that
// contain them may come later. 0: unknown for now.
static uint32_t ts__cu_keep_track(void *user, void *context,
                                  const ts__cs_stream *stream, bool per_thread)
{
    ts__cu *const u = (ts__cu *)user;
    uint32_t ids[3], track = 0;
    if (!ts__cu_keep_ids(u, context, stream->handle, per_thread, ids)) return 0;
    if (!ts__cu_decode_enter(u)) return 0;
    ts__cu_stream *const s =
        ts__cu_stream_at(u, ts__cu_stream_key(ids[0], ids[1]));
    if (s && !s->track) {
        s->flags |= stream->flags;
        if (stream->priority) s->priority = stream->priority;
    }
    const ts__cu_stream *const found =
        ts__cu_stream_of(u, ids[0], ids[1], ids[2]);
    if (found) track = found->track;
    pthread_mutex_unlock(&u->decode);
    return track;
}

static uint32_t ts__cu_keep_device(ts__cu *u, uint32_t id)
{
    uint32_t track;
    // A known track does not change, so it is read without waiting for the
    // decoder.
    if (id < TS__CU_DEVICES) {
        track = TS__LOAD(&u->memory->devices[id].track);
        if (track) return track;
    }
    if (!ts__cu_decode_enter(u)) return 0;
    track = ts__cu_device_track(u, id);
    pthread_mutex_unlock(&u->decode);
    return track;
}

static bool ts__cu_keep_device_id(const ts__cu *u, void *context, uint32_t *id)
{
    *id = 0;
    return u->call.device_id && u->call.device_id(context, id) == 0;
}

static void ts__cu_keep_device_of(void *user, void *context, uint32_t *track)
{
    ts__cu *const u = (ts__cu *)user;
    uint32_t id;
    if (ts__cu_keep_device_id(u, context, &id))
        *track = ts__cu_keep_device(u, id);
}

// Marks a stream of TraceSmith's: its copies and kernels are not reported.
static void ts__cu_keep_own(void *context, void *stream)
{
    enum { MOST = sizeof ts__cupti.own / sizeof *ts__cupti.own };
    ts__cu *const u = &ts__cupti;
    uint32_t ids[3];
    if (!ts__cu_keep_ids(u, context, stream, false, ids)) return;
    const uint32_t i = __atomic_fetch_add(&u->own_count, 1, __ATOMIC_RELAXED);
    // The oldest entries are of destroyed contexts.
    TS__STORE(&u->own[i % MOST], ts__cu_stream_key(ids[0], ids[1]));
}

static void ts__cu_keep_call(ts__cu *u, uint32_t id,
                             const ts__cu_call_data *data)
{
    const uint8_t keep = u->keep[id];
    const ts__cu_call *const here = &ts__cu_here;
    const bool within = here->engine == u && here->domain == TS__CU_RUNTIME;
    ts__cs_call call;
    uint32_t device;
    if (!data->parameters || !data->context) return;
    memset(&call, 0, sizeof call);
    call.rule = &ts__cs_rules[(keep & 127) - 1];
    call.per_thread = keep >> 7;
    call.arguments = (const uint8_t *)data->parameters;
    if (call.per_thread) TS__STORE(&ts__cs.driver.per_thread, 1);
    call.symbol = data->symbol;
    call.context = data->context;
    call.correlation = within ? here->correlation : data->correlation;
    call.user = u;
    call.track = ts__cu_keep_track;
    call.device_of = ts__cu_keep_device_of;
    if (!ts__cu_keep_device_id(u, data->context, &device)) device = 0;
    call.device = ts__cu_keep_device(u, device);
    if (data->site == 0) {
        ts__cs_enter(&call);
        return;
    }
    call.result = data->result ? *data->result : 0;
    ts__cs_leave(&call);
}

static void ts__cu_keep_resource(uint32_t id, const ts__cu_resource *data)
{
    const struct { // CUpti_ModuleResourceData
        uint32_t id;
        size_t size;
        const char *bytes;
    } *const module = data->more;
    if (id == TS__CU_CONTEXT_LEFT) ts__cs_context_left(data->context);
    if (!module || !ts__cs_is_on() || ts__cs_loads) return;
    if (id == TS__CU_MODULE_LOADED)
        ts__cs_module_loaded(&ts__cs.code, module->id, data->context,
                             module->bytes, module->size);
    if (id == TS__CU_MODULE_UNLOADED)
        ts__cs_modules_go(&ts__cs.code, &module->id, NULL, false);
}

static uint32_t ts__cu_keep_numbered(uint32_t number)
{
    return ts__cu_keep_device(&ts__cupti, number);
}

static void ts__cu_keep_fresh(void)
{
    ts__cs.code.captures++; // the new capture has no images yet
    ts__cs.code.shared.count = 0;
}

static const ts__cs_vendor ts__cu_keep_vendor = {
    .memory = { .name = "cuda",
                .view = ts__cs_view,
                .hidden = ts__cs_hidden,
                .hash = ts__cs_hash,
                .disturbed = ts__cs_is_disturbed },
    .refusal = "capture.cuda",
    .find = ts__cs_driver_find,
    .fresh = ts__cu_keep_fresh,
    .kernel = ts__cs_kernel,
    .graphs = &ts__cs_graphs,
    .made = ts__cu_keep_own,
    .hash_code = ts__cs_hash_code,
    .device = ts__cu_keep_numbered,
    .managed = true,
    .variable = ts__cs_variable_at,
};

// Operations are not reported without CUPTI, so captures end or do not begin.
static void ts__cu_keep_not(ts__cu *u)
{
    if (u != &ts__cupti) return;
    const bool kept = ts__cs_is_on() && ts__cs.vendor == &ts__cu_keep_vendor;
    ts__cs_stop(&ts__cu_keep_vendor);
    const bool requested = ts_capture_on() || TS__LOAD(&ts__cap_now.armed);
    const char *const said = kept ? "ended: another profiler took over CUPTI"
                                  : "declined: another profiler uses CUPTI";
    const uint64_t now = ts_tick_now();
    char text[96];
    if (kept || requested)
        ts_metadata_text(0, ts__cu_keep_vendor.refusal, said);
    snprintf(text, sizeof text, "captures of operations %s", said);
    if (requested) ts_loss_report(0, TS_LOSS_BACKEND, text, 1, now, now);
}

// Enables the callbacks that a capture needs, if one is active or may begin.
static void ts__cu_keep_functions(ts__cu *u)
{
    memset(u->keep, 0, sizeof u->keep);
    u->keeps = false;
    memset(u->own, 0, sizeof u->own);
    u->own_count = 0;
    const bool may_be = ts__cu_desc.operations || ts_capture_on() ||
                        TS__LOAD(&ts__cap_now.armed);
    if (u != &ts__cupti || !may_be) return;
    for (uint32_t id = 1; u->call.call_name && id < TS__CU_IDS; id++) {
        const char *name = NULL;
        if (u->call.call_name(TS__CU_DRIVER, id, &name) != 0 || !name) continue;
        const size_t size = strlen(name);
        const uint8_t rule = ts__cs_rule_of(name);
        const bool per_thread = size > 5 && !strncmp(name + size - 5, "_pt", 3);
        if (!rule) continue;
        u->keep[id] = (uint8_t)(rule | per_thread << 7);
        u->call.call_on(1, u->subscriber, TS__CU_DRIVER, id);
    }
    u->keeps = true;
    u->call.call_on(1, u->subscriber, TS__CU_RESOURCE, TS__CU_MODULE_LOADED);
    u->call.call_on(1, u->subscriber, TS__CU_RESOURCE, TS__CU_CONTEXT_LEFT);
    ts__cs_start(&ts__cu_keep_vendor, u->generation);
}

#endif // TS__CUPTI_CAPTURE_H
