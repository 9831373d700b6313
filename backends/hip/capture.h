/*
    hip/capture.h - captures of HIP: calls in the form of CUDA's driver

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: libamdhip64.so, as it is in the process.
    Checked with:   a double of it (tests/doubles/), and of rocprofiler-sdk;
                    arguments as the headers of HIP 5.2 and 6.2 have them.
                    November 2026. Not run on hardware.

    Translates a function of HIP that begins or has returned to one of
    CUDA's driver, for ../gpu/. Most have the same arguments.

    It needs a report of each call before and after it runs, with arguments
    and results, which rocprofiler-sdk alone gives. With other interfaces
    nothing is captured, and the trace says so.
*/
#ifndef TS__HIP_CAPTURE_H
#define TS__HIP_CAPTURE_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "../capture/memory.h"
#include "../gpu/callbacks.h"
#include "../gpu/contexts.h"
#include "../gpu/device_hash.h"
#include "../gpu/driver.h"
#include "../gpu/driver_requests.h"
#include "../gpu/functions.h"
#include "../gpu/memory.h"
#include "../gpu/operations.h"
#include "../gpu/records.h"
#include "../gpu/state.h"
#include "../gpu/waiting.h"
#include "calls.h"
#include "capture_arguments.h"
#include "capture_calls.h"
#include "capture_code.h"
#include "capture_driver.h"
#include "capture_functions.h"
#include "capture_graph.h"
#include "capture_launches.h"
#include "capture_variables.h"
#include "device_hash.h"
#include "devices.h"
#include "state.h"
#include "streams.h"

#include <pthread.h>
#include <string.h>

// Written only if it changes: the calling thread may be reading it.
static bool ts__hs_find(ts__cs_driver *d)
{
    void *const library = ts__hip_runtime();
    ts__cs_calls call;
    if (!library) return false;
    memset(&call, 0, sizeof call);
    if (!ts__hs_call.device_set) {
        ts__hs_symbol(library, "hipPointerGetAttribute", &ts__hs_call.about);
        ts__hs_symbol(library, "hipGetSymbolAddress", &ts__hs_call.symbol);
        ts__hs_symbol(library, "hipKernelNameRefByPtr", &ts__hs_call.name);
        ts__hs_symbol(library, "hipRuntimeGetVersion", &ts__hs_call.version);
        ts__hs_symbol(library, "hipSetDevice", &ts__hs_call.device_set);
    }
    call.context_id = ts__hs_device_id;
    ts__hs_symbol(library, "hipStreamQuery", &call.query);
    ts__hs_symbol(library, "hipDeviceSynchronize", &call.wait_all);
    ts__hs_symbol(library, "hipStreamCreateWithFlags", &call.stream);
    ts__hs_symbol(library, "hipMemcpyDtoHAsync", &call.to_host);
    ts__hs_symbol(library, "hipMemGetAddressRange", &call.range);
    ts__hs_symbol(library, "hipModuleGetGlobal", &call.global);
    ts__hs_symbol(library, "hipModuleLoadData", &call.load);
    ts__hs_symbol(library, "hipModuleGetFunction", &call.function);
    ts__hs_symbol(library, "hipModuleLaunchKernel", &call.launch);
    ts__hs_symbol(library, "hipMemcpyHtoDAsync", &call.to_device);
    ts__hs_symbol(library, "hipStreamIsCapturing", &call.is_recorded);
    ts__hs_symbol(library, "hipThreadExchangeStreamCaptureMode", &call.mode);
    ts__hs_find_graphs(library, &call);
    if (ts__hs_call.about) call.about = ts__hs_about;
    if (ts__hs_call.device_set) call.context_set = ts__hs_device_set;
    if (memcmp(&d->call, &call, sizeof call) != 0) d->call = call;
    return ts__cs_driver_ready(d);
}

static const ts__cs_vendor ts__hs_vendor = {
    .memory = { .name = "hip",
                .view = ts__cs_view,
                .hash = ts__cs_hash,
                .disturbed = ts__cs_is_disturbed },
    .refusal = "capture.hip",
    .find = ts__hs_find,
    .fresh = ts__hs_fresh,
    .kernel = ts__hs_kernel,
    .graphs = &ts__hs_graphs,
    .hash_code = ts__hs_hash_code,
};

static uint32_t ts__hs_track(void *unused, void *context,
                             const ts__cs_stream *stream, bool per_thread)
{
    (void)unused;
    uint64_t handle = (uintptr_t)stream->handle;
    if (!handle && per_thread) handle = 2; // hipStreamPerThread
    ts__hip_place place = { .handle = handle,
                            .tick = ts_tick_now(),
                            .device = ts__hs_device_of(context) };
    place.device = ts__hip_stream_device(&place);
    ts__hip_device_track(place.device); // defines the track if necessary
    return ts__hip_stream_track(&place);
}

// Marks a call as TraceSmith's own, so that it and its operations are not
// recorded.
static void ts__hs_own(uint64_t correlation)
{
    uint64_t words[sizeof(ts__hip_note) / 8] = { 0 };
    words[3] = (uint64_t)TS__HIP_OWN << 32;
    ts__notes_put(&ts__hip.notes, correlation, words, sizeof words, false);
}

static void ts__hs_prepare(ts__cs_call *c, const ts__hs_kept *kept,
                           ts__hs_arguments *a, uint64_t correlation)
{
    const ts__hip_thread *const me = ts__hip_thread_get();
    const uint32_t device = me ? me->device : 0;
    memset(c, 0, sizeof *c);
    c->rule = &kept->rule->like;
    c->arguments = (const uint8_t *)a->words;
    c->context = ts__hs_context(device);
    c->correlation = (uint32_t)correlation;
    c->device = ts__hip_device_track(device);
    c->per_thread = kept->per_thread;
    c->track = ts__hs_track;
    if (kept->per_thread) TS__STORE(&ts__cs.driver.per_thread, 1);
}

// A device is reset. Everything on it is forgotten except code, whose handles
// are reported when they are reused.
static void ts__hs_device_goes(const ts__cs_call *c)
{
    void *const context =
        c->rule->width ? ts__hs_context(ts__cs_argument32(c, 0)) : c->context;
    ts__cs_context_left(context);
    ts__hs_device_left(ts__hs_device_of(context));
    pthread_mutex_lock(&ts__cs.driver.lock);
    ts__cs.driver.left++; // if the reset fails, the streams still have work
    pthread_mutex_unlock(&ts__cs.driver.lock);
}

// An object is forgotten before it is destroyed.
static void ts__hs_goes(const ts__cs_call *c)
{
    const uint64_t object = ts__cs_argument(c, 0);
    switch (c->rule->kind) {
    case TS__HS_MODULE_GONE:
        ts__hs_module_gone((const void *)(uintptr_t)object);
        break;
    case TS__HS_GRAPH_GONE: ts__hs_seen_gone(0, object, false); break;
    case TS__HS_NODE_GONE: ts__hs_seen_gone(object, 0, false); break;
    default: break;
    }
}

// The copy to or from a symbol that this thread is in.
typedef struct ts__hs_copied {
    uint64_t correlation, address;
} ts__hs_copied;
static TS__TLS ts__hs_copied ts__hs_copies;

// Replaces a copy to or from a symbol by a copy to or from its address. Returns
// false if the address is unknown.
static bool ts__hs_symbol_copy(const ts__cs_call *c, ts__hs_arguments *a,
                               const ts__hs_rule *rule, bool begins)
{
    const bool to = rule->how == TS__HS_TO_SYMBOL;
    ts__hs_copied *const copied = &ts__hs_copies;
    if (begins) {
        copied->correlation = c->correlation;
        copied->address =
            ts__hs_symbol_at(c, (const void *)(uintptr_t)a->words[to ? 0 : 1]);
    }
    if (!copied->address || copied->correlation != c->correlation) return false;
    a->words[to ? 0 : 1] = copied->address + a->words[3];
    return true;
}

// Translates a call to one of CUDA's driver. Returns false if captures ignore
// the call.
static bool ts__hs_call_of(ts__cs_call *c, ts__hs_arguments *a, uint32_t number,
                           uint64_t correlation, const char *arguments,
                           bool begins)
{
    static const ts__cs_rule other = { "", TS__CS_OTHER, 0, 0 };
    const ts__hs_kept *const kept = &ts__hs_keep[number % TS__HIP_APIS];
    const ts__hs_rule *const rule = kept->rule;
    if (!rule) return false;
    bool known = ts__hs_translate(a, rule, arguments, TS__LOAD(&ts__cs.on));
    ts__hs_prepare(c, kept, a, correlation);
    if (rule->how == TS__HS_TO_SYMBOL || rule->how == TS__HS_FROM_SYMBOL)
        known = ts__hs_symbol_copy(c, a, rule, begins);
    if (!known) c->rule = &other;
    return true;
}

static void ts__hs_enter(uint32_t number, uint64_t correlation,
                         const char *arguments)
{
    ts__hs_arguments a;
    ts__cs_call c;
    if (!ts__hs_call_of(&c, &a, number, correlation, arguments, true)) return;
    const uint8_t kind = c.rule->kind;
    if (kind >= TS__CS_LAUNCH && kind <= TS__CS_LAUNCH_COOPERATIVE &&
        ts_capture_on())
        c.symbol = ts__hs_name(&c);
    // The reset waits until no capture is active, and a capture waits for calls
    // that have entered; so it must not have entered yet.
    if (kind == TS__HS_DEVICE_GONE) ts__hs_device_goes(&c);
    ts__cs_enter(&c);
    if (kind >= TS__HS_MODULE) ts__hs_goes(&c);
}

static void ts__hs_leave(uint32_t number, uint64_t correlation,
                         const char *arguments, uint64_t result)
{
    ts__hs_arguments a;
    ts__cs_call c;
    if (!ts__hs_call_of(&c, &a, number, correlation, arguments, false)) return;
    const ts__hs_rule *const rule = ts__hs_keep[number % TS__HIP_APIS].rule;
    c.result = (int)result;
    ts__cs_leave(&c);
    if (!result) ts__hs_call_completed(&c);
    ts__hs_graph_returned(&c, rule, &a.box);
    if (rule->how == TS__HS_BEFORE) ts__hs_before_drop();
}

// Called when a session begins. can: the interface reports calls with arguments
// and results.
static void ts__hs_start(bool can, uint32_t session)
{
    if (!ts_capture_on() && !TS__LOAD(&ts__cap_now.armed)) return;
    if (can)
        ts__cs_start(&ts__hs_vendor, session);
    else
        ts_metadata_text(0, "capture.hip",
                         "declined: only rocprofiler-sdk reports enough about "
                         "calls");
}

static void ts__hs_stop(void)
{
    ts__cs_stop(&ts__hs_vendor);
}

#endif // TS__HIP_CAPTURE_H
