/*
    cuda/exec_copies.h - copies and memsets

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__CUDA_EXEC_COPIES_H
#define TS__CUDA_EXEC_COPIES_H

#include "tracesmith_replay.h"
#include "../gpu/cuda_abi.h"
#include "exec_code.h"
#include "exec_launch.h"
#include "exec_memory.h"

#include <string.h>

// Drivers reject rows that overlap and slices that are not a multiple of the
// row, or interpret them differently than recorded.
static bool ts__cx_end(ts__cuda_end *end, uint64_t address, bool host,
                       const uint64_t origin[3], const uint64_t region[3],
                       uint64_t row, uint64_t slice)
{
    const uint64_t wide = origin[0] + region[0], high = origin[1] + region[1];
    const bool one = region[2] == 1 && !origin[2]; // one slice
    if (high < region[1] || (row < wide && (high > 1 || !one))) return false;
    if (!one && (slice % row || slice / row < high)) return false;
    end->x = origin[0];
    end->y = origin[1];
    end->z = origin[2];
    end->type = host ? TS__CUDA_HOST : TS__CUDA_DEVICE;
    end->host = host ? (void *)(uintptr_t)address : NULL;
    end->device = host ? 0 : address;
    end->pitch = row < wide ? wide : row;
    end->height = one ? high : slice / row;
    return true;
}

static ts_result ts__cx_box(ts__cx *x, void *stream, const ts_executor_copy *c,
                            const ts_capture_geometry *g)
{
    ts__cuda_box box;
    memset(&box, 0, sizeof box);
    if (!x->call.box) return TS_ERR_UNSUPPORTED;
    if (!ts__cx_end(&box.from, c->source, c->from_host, g->source_origin,
                    g->region, g->source_row, g->source_slice) ||
        !ts__cx_end(&box.to, c->destination, c->to_host, g->destination_origin,
                    g->region, g->destination_row, g->destination_slice))
        return TS_ERR_CORRUPT;
    box.width = g->region[0];
    box.height = g->region[1];
    box.depth = g->region[2];
    return ts__cx_result(x, x->call.box(&box, stream));
}

// HIP's boxes are passed in structures that differ between its versions, but 2D
// copies in arguments. So a box is copied slice by slice.
static ts_result ts__cx_slices(ts__cx *x, void *stream,
                               const ts_executor_copy *c,
                               const ts_capture_geometry *g)
{
    const int how = c->from_host ? 1 : c->to_host ? 2 : 3; // hipMemcpyKind
    ts__cuda_end from, to;
    if (!x->call.rows) return TS_ERR_UNSUPPORTED;
    if (!g->region[0] || !g->region[1]) return TS_OK;
    if (!ts__cx_end(&from, c->source, false, g->source_origin, g->region,
                    g->source_row, g->source_slice) ||
        !ts__cx_end(&to, c->destination, false, g->destination_origin,
                    g->region, g->destination_row, g->destination_slice))
        return TS_ERR_CORRUPT;
    int error = TS__CUDA_OK;
    for (uint64_t z = 0; z < g->region[2] && !error; z++) {
        const uint64_t from_row = (from.z + z) * from.height + from.y;
        const uint64_t to_row = (to.z + z) * to.height + to.y;
        error =
            x->call.rows(to.device + to_row * to.pitch + to.x, to.pitch,
                         from.device + from_row * from.pitch + from.x,
                         from.pitch, g->region[0], g->region[1], how, stream);
    }
    return ts__cx_result(x, error);
}

// Returns whether the copy is from one device to another. Devices without peer
// access need a separate function for this.
static bool ts__cx_is_far(ts__cx *x, const ts_executor_copy *c,
                          uint32_t devices[2])
{
    return x->call.peer && ts__cx_device_find(x, c->destination, &devices[0]) &&
           ts__cx_device_find(x, c->source, &devices[1]) &&
           devices[0] != devices[1];
}

static ts_result ts__cx_copy(void *state, uint64_t stream,
                             const ts_executor_copy *c)
{
    ts__cx *const x = state;
    void *const on = ts__cx_handle(x, ts__cx_stream_at(x, stream));
    ts_attribute a;
    x->reason = TS_REASON_NONE;
    if (ts_attribute_find(&c->attributes, TS_ATTRIBUTE_GEOMETRY,
                          sizeof(ts_capture_geometry), &a)) {
        ts_capture_geometry geometry;
        memcpy(&geometry, a.bytes, sizeof geometry);
        return x->is_hip ? ts__cx_slices(x, on, c, &geometry)
                         : ts__cx_box(x, on, c, &geometry);
    }
    void *const to = (void *)(uintptr_t)c->destination;
    const void *const from = (const void *)(uintptr_t)c->source;
    uint32_t devices[2];
    if (c->to_host && c->from_host) return TS_ERR_UNSUPPORTED;
    if (!c->to_host && !c->from_host && ts__cx_is_far(x, c, devices))
        return ts__cx_result(
            x, x->call.peer(c->destination, x->contexts[devices[0]], c->source,
                            x->contexts[devices[1]], c->size, on));
    return ts__cx_result(
        x, c->to_host ? x->call.to_host(to, c->source, c->size, on)
           : c->from_host
               ? x->call.to_device(c->destination, from, c->size, on)
               : x->call.within(c->destination, c->source, c->size, on));
}

// Fills one row with a value of 1, 2 or 4 bytes.
static int ts__cx_fill_row(const ts__cx *x, uint64_t to, uint32_t value,
                           uint32_t width, uint64_t size, void *on)
{
    const ts__cx_calls *const c = &x->call;
    return width == 1   ? c->set8(to, (uint8_t)value, size, on)
           : width == 2 ? c->set16(to, (uint16_t)value, size / 2, on)
                        : c->set32(to, value, size / 4, on);
}

// Fills several rows, with a single call if the driver has one.
static int ts__cx_fill(const ts__cx *x, uint64_t to, uint32_t value,
                       uint32_t width, const ts_capture_geometry *g,
                       uint64_t size, void *on)
{
    const ts__cx_calls *const c = &x->call;
    const uint64_t row = g->destination_row, high = g->region[1];
    const uint64_t count = g->region[0] / width;
    if (!size) return TS__CUDA_OK;
    if (high < 2) return ts__cx_fill_row(x, to, value, width, size, on);
    if (width == 1 && c->set8_rows)
        return c->set8_rows(to, row, (uint8_t)value, count, high, on);
    if (width == 2 && c->set16_rows)
        return c->set16_rows(to, row, (uint16_t)value, count, high, on);
    if (width == 4 && c->set32_rows)
        return c->set32_rows(to, row, value, count, high, on);
    int error = TS__CUDA_OK;
    for (uint64_t y = 0; y < high && !error; y++)
        error =
            ts__cx_fill_row(x, to + y * row, value, width, g->region[0], on);
    return error;
}

static ts_result ts__cx_set(void *state, uint64_t stream,
                            const ts_executor_set *s)
{
    ts__cx *const x = state;
    void *const on = ts__cx_handle(x, ts__cx_stream_at(x, stream));
    ts_capture_geometry geometry;
    ts_attribute a;
    uint32_t value = (uint32_t)(s->value & 0xFF), width = 1;
    memset(&geometry, 0, sizeof geometry);
    x->reason = TS_REASON_NONE;
    if (ts_attribute_find(&s->attributes, TS_ATTRIBUTE_GEOMETRY,
                          sizeof geometry, &a)) {
        // The recorded size must be that of the rows.
        const uint64_t *const g = geometry.region;
        memcpy(&geometry, a.bytes, sizeof geometry);
        if (!g[1] || s->size / g[1] != g[0] || s->size % g[1] || g[2] != 1 ||
            (g[1] > 1 && geometry.destination_row < g[0]) ||
            geometry.destination_origin[0] || geometry.destination_origin[1] ||
            geometry.destination_origin[2])
            return TS_ERR_CORRUPT;
    }
    if (ts_attribute_find(&s->attributes, TS_ATTRIBUTE_PATTERN, 1, &a)) {
        if (a.size != 1 && a.size != 2 && a.size != 4)
            return TS_ERR_UNSUPPORTED;
        value = 0;
        width = a.size;
        memcpy(&value, a.bytes, a.size); // little-endian, as the devices are
    }
    return ts__cx_result(x, ts__cx_fill(x, s->destination, value, width,
                                        &geometry, s->size, on));
}

#endif // TS__CUDA_EXEC_COPIES_H
