/*
    opencl/capture_copies.h - captures copies, fills and maps

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    An end of a copy is an address, or the begin of a box: the box, the
    images and the pattern of a fill are attributes.
*/
#ifndef TS__OPENCL_CAPTURE_COPIES_H
#define TS__OPENCL_CAPTURE_COPIES_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "abi.h"
#include "calls.h"
#include "capture.h"
#include "capture_objects.h"
#include "capture_state.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ==== 1. Captures: copies and fills ====================================== */

// Returns whether an end lies within its object; if not, the driver refuses the
// command.
static bool ts__cl_end_fits(const ts__cl_object *o, const ts__cl_end_of *e,
                            uint64_t size)
{
    uint64_t first = e->origin[0], all = size;
    if (o->about.width) {
        for (int i = 0; i < 3; i++) {
            const uint64_t limit = o->region[i] * (i ? 1 : o->element);
            if (e->origin[i] > limit || e->region[i] > limit - e->origin[i])
                return false;
        }
        return true;
    }
    if (e->region[0] &&
        !ts_capture_span(e->origin, e->region, e->row, e->slice, &first, &all))
        return false;
    return first <= o->at_size && all <= o->at_size - first;
}

// Completes the other end of a copy with an image, whose elements determine the
// pitches.
static void ts__cl_end_box(ts__cl_end_of *e, const ts__cl_end_of *other,
                           const ts__cl_object *image)
{
    if (!e->region[0]) {
        memcpy(e->region, other->region, sizeof e->region);
        memset(e->origin, 0, sizeof e->origin);
        e->base = e->address;
    }
    const bool lines =
        image && image->about.object_type == TS__CL_MEM_OBJECT_IMAGE1D_ARRAY;
    if (lines && e->slice) e->row = e->slice;
    if (!e->row) e->row = e->region[0];
    if (!e->slice) e->slice = e->row * e->region[1];
}

static void ts__cl_seen_image(ts__cl_seen *seen, const ts__cl_object *o,
                              bool destination)
{
    const ts_capture_copy_image end = { destination, 0, o->about.address };
    ts_capture_attribute_add(&seen->op, TS_ATTRIBUTE_IMAGE, &o->about,
                             sizeof o->about);
    ts_capture_attribute_add(&seen->op, TS_ATTRIBUTE_COPY_IMAGE, &end,
                             sizeof end);
}

// Adds the object that an end lies in. Returns false if the command cannot be
// captured.
static bool ts__cl_seen_object(ts__cl_call *call, const ts__cl_end_of *e,
                               const ts__cl_object **found)
{
    *found = NULL;
    if (!e->memory) return true;
    const ts_reason reason = ts__cl_object_add(call, e->memory, found);
    if (reason) ts_capture_decline(&call->seen->op, reason);
    return !reason;
}

static void ts__cl_seen_geometry(ts__cl_seen *seen, ts__cl_end_of *from,
                                 const ts__cl_object *a, ts__cl_end_of *to,
                                 const ts__cl_object *b)
{
    const bool image_a = a && a->about.width, image_b = b && b->about.width;
    if (!from->region[0] && !to->region[0]) return;
    if (!image_a) ts__cl_end_box(from, to, image_b ? b : NULL);
    if (!image_b) ts__cl_end_box(to, from, image_a ? a : NULL);
    ts_capture_geometry g;
    memcpy(g.source_origin, from->origin, sizeof g.source_origin);
    memcpy(g.destination_origin, to->origin, sizeof g.destination_origin);
    memcpy(g.region, to->region, sizeof g.region);
    g.source_row = from->row;
    g.source_slice = from->slice;
    g.destination_row = to->row;
    g.destination_slice = to->slice;
    ts_capture_attribute_add(&seen->op, TS_ATTRIBUTE_GEOMETRY, &g, sizeof g);
    if (image_a) ts__cl_seen_image(seen, a, false);
    if (image_b) ts__cl_seen_image(seen, b, true);
}

static uint64_t ts__cl_end_address(const ts__cl_end_of *e)
{
    return e->region[0] ? e->base : e->address;
}

static void ts__cl_seen_copy(ts__cl_call *call, ts__cl_end_of from,
                             ts__cl_end_of to, uint64_t size)
{
    ts__cl_seen *const seen = call->seen;
    const ts__cl_object *a, *b;
    if (!ts__cl_seen_exclusive(call, NULL)) return;
    ts_capture_operation *const h = &seen->op.head;
    const bool requested = ts__cl_seen_requested(call, NULL);
    if (requested && (from.svm || to.svm)) {
        ts_capture_decline(&seen->op, TS_REASON_UVM);
        ts__cl_seen_begin(call);
        return;
    }
    if (requested && (!ts__cl_seen_object(call, &from, &a) ||
                      !ts__cl_seen_object(call, &to, &b))) {
        ts__cl_seen_begin(call);
        return;
    }
    // The driver will refuse an invalid command.
    if (!requested || !size || !from.address || !to.address ||
        (a && !ts__cl_end_fits(a, &from, size)) ||
        (b && !ts__cl_end_fits(b, &to, size))) {
        ts__cl_object_touch(to.memory);
        ts__cl_exclusive_pass(seen);
        return;
    }
    ts__cl_seen_geometry(seen, &from, a, &to, b);
    h->source = ts__cl_end_address(&from);
    h->destination = ts__cl_end_address(&to);
    h->size = size;
    ts__cl_seen_begin(call);
}

static void ts__cl_seen_fill(ts__cl_call *call, ts__cl_end_of to, uint64_t size,
                             const void *pattern, size_t pattern_size)
{
    ts__cl_seen *const seen = call->seen;
    const ts__cl_object *o = NULL;
    if (!ts__cl_seen_exclusive(call, NULL)) return;
    ts_capture_operation *const h = &seen->op.head;
    const bool requested = ts__cl_seen_requested(call, NULL);
    if (requested && (to.svm || !ts__cl_seen_object(call, &to, &o))) {
        if (to.svm) ts_capture_decline(&seen->op, TS_REASON_UVM);
        ts__cl_seen_begin(call);
        return;
    }
    if (!requested || !o || !size || !pattern || !pattern_size ||
        pattern_size > 128 || !ts__cl_end_fits(o, &to, size)) {
        ts__cl_object_touch(to.memory);
        ts__cl_exclusive_pass(seen);
        return;
    }
    float depth[4] = { 0, 0, 0, 0 };
    // A depth image's color is a single number.
    if (o->about.order == TS__CL_DEPTH) {
        memcpy(depth, pattern, sizeof *depth);
        pattern = depth;
    }
    if (to.region[0]) {
        ts_capture_geometry g;
        memset(&g, 0, sizeof g);
        memcpy(g.destination_origin, to.origin, sizeof g.destination_origin);
        memcpy(g.region, to.region, sizeof g.region);
        ts_capture_attribute_add(&seen->op, TS_ATTRIBUTE_GEOMETRY, &g,
                                 sizeof g);
        ts__cl_seen_image(seen, o, true);
    }
    memcpy(&h->value, pattern, pattern_size < 8 ? pattern_size : 8);
    if (pattern_size > 1)
        ts_capture_attribute_add(&seen->op, TS_ATTRIBUTE_PATTERN, pattern,
                                 (uint32_t)pattern_size);
    h->destination = ts__cl_end_address(&to);
    h->size = size;
    ts__cl_seen_begin(call);
}

/* ==== 2. Captures: what the host maps ==================================== */

// Notes mapped memory: what the host writes there is transferred when it is
// unmapped. row, slice: pitches, for images.
static void ts__cl_seen_mapped(const ts__cl_call *call, ts__cl_end_of device,
                               const void *at, uint64_t flags, uint64_t size,
                               const size_t *row, const size_t *slice)
{
    if (!call->seen || !at || !device.memory) return;
    ts__cl_mapped one;
    memset(&one, 0, sizeof one);
    one.memory = device.memory;
    one.at = at;
    one.writes = flags & (TS__CL_MAP_WRITE | TS__CL_MAP_INVALIDATE);
    one.device = device;
    one.host.address = one.host.base = (uint64_t)(uintptr_t)at;
    one.host.row = row ? *row : 0;
    one.host.slice = slice ? *slice : 0;
    one.size = size;
    pthread_mutex_lock(&ts__cl_cap.lock);
    if (ts__cl_cap.mapped_count == ts__cl_cap.mapped_room) {
        const size_t room = ts__cl_cap.mapped_room * 2 + 16;
        ts__cl_mapped *const more =
            (ts__cl_mapped *)realloc(ts__cl_cap.mapped, room * sizeof *more);
        if (more) ts__cl_cap.mapped = more;
        if (more) ts__cl_cap.mapped_room = room;
    }
    if (ts__cl_cap.mapped_count < ts__cl_cap.mapped_room)
        ts__cl_cap.mapped[ts__cl_cap.mapped_count++] = one;
    pthread_mutex_unlock(&ts__cl_cap.lock);
}

// Removes the latest mapping of an object at an address. Returns false if the
// mapping was not seen.
static bool ts__cl_mapped_take(ts__cl_handle memory, const void *at,
                               ts__cl_mapped *found)
{
    bool known = false;
    pthread_mutex_lock(&ts__cl_cap.lock);
    for (size_t i = ts__cl_cap.mapped_count; i-- && !known;) {
        ts__cl_mapped *const m = &ts__cl_cap.mapped[i];
        known = m->memory == memory && m->at == at;
        if (!known) continue;
        *found = *m;
        memmove(m, m + 1, (--ts__cl_cap.mapped_count - i) * sizeof *m);
    }
    pthread_mutex_unlock(&ts__cl_cap.lock);
    return known;
}

// An unmap copies what the host may have written.
static void ts__cl_seen_unmap(ts__cl_call *call, ts__cl_handle memory,
                              const void *at)
{
    ts__cl_mapped m;
    if (!call->seen) return;
    const bool known = ts__cl_mapped_take(memory, at, &m);
    if (!known)
        ts__cl_seen_decline(call, TS_REASON_ATTACHED_LATE);
    else if (m.writes)
        ts__cl_seen_copy(call, m.host, m.device, m.size);
    else
        ts__cl_seen_nothing(call);
}

static void ts__cl_seen_migrate(ts__cl_call *call, uint32_t count,
                                const ts__cl_handle *memory, bool undefined)
{
    if (!call->seen) return;
    const bool lost = call->seen->exclusive && undefined && memory;
    for (uint32_t i = 0; lost && i < count; i++)
        ts__cl_object_touch(memory[i]);
    ts__cl_seen_nothing(call);
}

#endif // TS__OPENCL_CAPTURE_COPIES_H
