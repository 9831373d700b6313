/*
    capture/operations.h - what an operation can reach, and its record

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#include "../ts_capture.h" // all of it, in its order

#ifndef TS__CAPTURE_OPERATIONS_H
#define TS__CAPTURE_OPERATIONS_H

#include "tracesmith.h"
#include "../ts_filter.h"
#include "chunks.h"
#include "contents.h"
#include "memory.h"
#include "options.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static inline ts_capture_region *ts__cap_region(ts_capture_op *op,
                                                const ts__cap_range *range,
                                                ts_capture_found found,
                                                uint32_t from)
{
    for (uint32_t i = 0; i < op->head.region_count; i++) {
        ts_capture_region *const known = &op->regions[i];
        if (known->address == range->address && known->device == range->device)
            return known;
    }
    if (op->head.region_count == op->capacity) {
        const size_t capacity = op->capacity ? op->capacity * 2 : 8;
        ts_capture_region *const more =
            realloc(op->regions, capacity * sizeof *more);
        op->failed |= !more;
        if (!more) return NULL;
        op->regions = more;
        op->capacity = capacity;
    }
    ts_capture_region *const r = &op->regions[op->head.region_count++];
    memset(r, 0, sizeof *r);
    r->address = range->address;
    r->size = range->size;
    r->device = range->device;
    r->image = range->image;
    r->offset = range->offset;
    r->version = range->version;
    r->found = found;
    r->from = from;
    r->access = TS_ACCESS_READ | TS_ACCESS_WRITE | TS_ACCESS_COARSE;
    return r;
}

static inline void ts__cap_scan_at(const ts_capture_memory *memory,
                                   ts_capture_op *op, const uint8_t *bytes,
                                   size_t at, ts_capture_found found,
                                   uint32_t from)
{
    uint64_t value;
    memcpy(&value, bytes + at, sizeof value);
    if (value - memory->low >= memory->high - memory->low) return;
    ts__cap_range *const range = ts__cap_find(memory, value);
    // A range is added once per operation, however many pointers lead to it.
    if (!range || range->seen == op->head.order) return;
    range->seen = op->head.order;
    ts__cap_region(op, range, found,
                   found == TS_CAPTURE_BY_ARGUMENT ? (uint32_t)at : from);
}

// The most significant bytes that all live addresses share, at most three.
typedef struct ts__cap_top {
    // Each byte repeated eight times; mask 0: the addresses differ in that byte
    uint64_t bytes[3], mask[3];
} ts__cap_top;

static inline ts__cap_top ts__cap_top_of(const ts_capture_memory *memory)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t differs = memory->low ^ (memory->high - 1);
    ts__cap_top top;
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t shift = 56 - 8 * i;
        top.bytes[i] = (memory->low >> shift & 255) * ones;
        top.mask[i] = differs >> shift ? 0 : ~UINT64_C(0);
    }
    return top;
}

// Returns at which of eight byte offsets an address may begin: bit 8 * offset +
// 7 is set for each such offset.
static inline uint64_t ts__cap_candidates(const ts__cap_top *top,
                                          const uint8_t *bytes)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t other = 0;
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t value;
        memcpy(&value, bytes + 7 - i, sizeof value);
        other |= (value ^ top->bytes[i]) & top->mask[i];
    }
    // Sets the bit of each zero byte, and perhaps of others.
    return (other - ones) & ~other & (ones << 7);
}

TS__WEAK_API void ts_capture_reach(const ts_capture_memory *memory,
                                   ts_capture_op *op, uint64_t address,
                                   ts_capture_found found, uint32_t from)
{
    const ts__cap_range *const range = ts__cap_find(memory, address);
    if (range) ts__cap_region(op, range, found, from);
}

static inline void ts__cap_scan_hidden(const ts_capture_memory *memory,
                                       ts_capture_op *op, const uint8_t *bytes,
                                       size_t size, ts_capture_found found,
                                       uint32_t from)
{
    const ts_capture_vendor *const vendor = memory->vendor;
    for (size_t i = 0; vendor->hidden && i + TS_CAPTURE_HIDDEN <= size;
         i += TS_CAPTURE_ALIGNED)
        vendor->hidden(memory->user, op, bytes + i, found,
                       found == TS_CAPTURE_BY_ARGUMENT ? (uint32_t)i : from);
}

// Adds each allocation that some value in the bytes points into. Pointers are
// searched at every byte because packed structs do not align them. A value that
// only looks like a pointer costs space but does no harm.
static inline void ts__cap_scan(const ts_capture_memory *memory,
                                ts_capture_op *op, const uint8_t *bytes,
                                size_t size, ts_capture_found found,
                                uint32_t from)
{
    const ts__cap_top top = ts__cap_top_of(memory);
    size_t i = 0;
    for (; i + 15 <= size; i += 8) {
        uint64_t may = ts__cap_candidates(&top, bytes + i);
        for (; may; may &= may - 1)
            ts__cap_scan_at(memory, op, bytes,
                            i + (size_t)__builtin_ctzll(may) / 8, found, from);
    }
    for (; i + 8 <= size; i++)
        ts__cap_scan_at(memory, op, bytes, i, found, from);
    ts__cap_scan_hidden(memory, op, bytes, size, found, from);
}

static inline void ts__cap_follow(ts_capture_memory *memory, ts_capture_op *op)
{
    const ts_capture_desc *const d = &ts__cap_now.desc;
    // A pointer or a hidden tensor map may cross the border between two chunks.
    const uint64_t most =
        TS_CAPTURE_CHUNK +
        (memory->vendor->hidden ? TS_CAPTURE_HIDDEN - TS_CAPTURE_ALIGNED : 7);
    uint32_t from = 0;
    for (uint32_t depth = 0; depth < d->scan_depth; depth++) {
        const uint32_t to = op->head.region_count;
        for (; from < to; from++) {
            const ts_capture_region r = op->regions[from];
            if (r.size > d->scan_bytes || r.size < 8 || !memory->scratch)
                continue;
            for (uint64_t at = 0; at < r.size; at += TS_CAPTURE_CHUNK) {
                const uint64_t left = r.size - at;
                const uint64_t size = left < most ? left : most;
                const uint8_t *const bytes = memory->vendor->view(
                    memory->user, r.address + at, size, memory->scratch);
                if (bytes)
                    ts__cap_scan(memory, op, bytes, (size_t)size,
                                 TS_CAPTURE_BY_MEMORY, from);
            }
        }
    }
}

// Adds the memory that the parameters point to.
static inline void ts__cap_parameters(ts_capture_memory *memory,
                                      ts_capture_op *op)
{
    for (uint32_t i = 0; i < op->head.param_count; i++) {
        const ts_capture_param p = op->params[i];
        uint64_t value;
        if (p.type != TS_PARAM_POINTER && p.type != TS_PARAM_OBJECT) continue;
        memcpy(&value, op->copy + p.offset, sizeof value);
        const ts__cap_range *const range = ts__cap_find(memory, value);
        if (range)
            ts__cap_region(op, range, TS_CAPTURE_BY_ARGUMENT, p.offset);
        else if (ts__cap_is_freed(memory, value))
            ts_capture_decline(op, TS_REASON_POINTER_DEAD);
    }
}

// Reads the attribute at *at and advances *at past it; false: no more.
static inline bool ts__cap_attribute(const ts_capture_op *op, size_t *at,
                                     ts_capture_attribute *head,
                                     const uint8_t **bytes)
{
    if (*at >= op->attributes_size) return false;
    memcpy(head, op->attributes + *at, sizeof *head);
    *bytes = op->attributes + *at + sizeof *head;
    *at += sizeof *head + ((head->size + 7u) & ~(size_t)7);
    return true;
}

// Returns whether the operation or one of its nodes runs code of this image.
static inline bool ts__cap_uses(const ts_capture_op *op, uint32_t image)
{
    ts_capture_attribute head;
    ts_capture_operation node;
    const uint8_t *bytes;
    if (op->head.kind != TS_EVENT_GRAPH_LAUNCH) return op->head.image == image;
    for (size_t at = 0; ts__cap_attribute(op, &at, &head, &bytes);) {
        if (head.id != TS_ATTRIBUTE_NODE) continue;
        memcpy(&node, bytes, sizeof node);
        if (node.image == image) return true;
    }
    return false;
}

static inline void ts__cap_arguments(ts_capture_memory *memory,
                                     ts_capture_op *op)
{
    const bool search = !memory->vendor->by_parameters;
    if (search)
        ts__cap_scan(memory, op, op->copy, op->head.args_size,
                     TS_CAPTURE_BY_ARGUMENT, 0);
    ts__cap_parameters(memory, op);
    for (size_t i = 0; i < memory->count; i++)
        if (memory->ranges[i].image &&
            ts__cap_uses(op, memory->ranges[i].image))
            ts__cap_region(op, &memory->ranges[i], TS_CAPTURE_BY_GLOBAL, 0);
    if (search) ts__cap_follow(memory, op);
}

// Reads the geometry of the copy, or of the node whose attributes begin at
// `at`. Returns false if it has none.
static inline bool ts__cap_geometry(const ts_capture_op *op, size_t at,
                                    ts_capture_geometry *g)
{
    ts_capture_attribute head;
    const uint8_t *bytes;
    while (ts__cap_attribute(op, &at, &head, &bytes) &&
           head.id != TS_ATTRIBUTE_NODE) {
        if (head.id != TS_ATTRIBUTE_GEOMETRY || head.size != sizeof *g)
            continue;
        memcpy(g, bytes, sizeof *g);
        return true;
    }
    return false;
}

// Sets the extent of the host memory that one end of a copy covers: `size`
// bytes, or the span of a box. A write leaves the bytes between the rows of a
// box unchanged, so the span is read too.
static inline void ts__cap_host_end(ts_capture_op *op, size_t attributes,
                                    ts__cap_range *host, uint32_t *access)
{
    ts_capture_geometry g;
    uint64_t first = 0;
    const bool writes = *access == TS_ACCESS_WRITE;
    if (!ts__cap_geometry(op, attributes, &g)) return;
    if (!(writes ? ts_capture_span(g.destination_origin, g.region,
                                   g.destination_row, g.destination_slice,
                                   &first, &host->size)
                 : ts_capture_span(g.source_origin, g.region, g.source_row,
                                   g.source_slice, &first, &host->size)))
        ts_capture_decline(op, TS_REASON_BAD_CAPTURE);
    host->address += first;
    if (writes) *access |= TS_ACCESS_READ;
}

// Adds the memory at one end of a copy or memset: an allocation or host memory.
static inline void ts__cap_end(ts_capture_memory *memory, ts_capture_op *op,
                               uint64_t address, uint32_t access)
{
    const ts__cap_range *range = ts__cap_find(memory, address);
    ts__cap_range host;
    memset(&host, 0, sizeof host);
    host.address = address;
    host.size = op->head.size;
    if (!range && !address) return;
    if (!range) ts__cap_host_end(op, 0, &host, &access);
    ts_capture_region *const r =
        ts__cap_region(op, range ? range : &host, TS_CAPTURE_BY_COPY, 0);
    if (!r) return;
    r->access = r->before[0] == 1 ? r->access | access : access;
    r->before[0] = 1; // marks the region until its contents are hashed
}

// Adds host memory that nodes of a graph copy. Overlapping ranges become one
// region, because one node may read what another wrote.
static inline void ts__cap_host_region(ts_capture_op *op, ts__cap_range host,
                                       uint32_t access)
{
    for (uint32_t i = 0; i < op->head.region_count;) {
        const ts_capture_region r = op->regions[i];
        const uint64_t end = host.address + host.size;
        if (r.device || r.address >= end ||
            host.address >= r.address + r.size) {
            i++;
            continue;
        }
        access |= r.access;
        if (r.address < host.address) host.address = r.address;
        host.size = (r.address + r.size > end ? r.address + r.size : end) -
                    host.address;
        op->regions[i] = op->regions[--op->head.region_count];
        i = 0;
    }
    ts_capture_region *const r =
        ts__cap_region(op, &host, TS_CAPTURE_BY_COPY, 0);
    if (r) r->access = access;
}

static inline void ts__cap_node_end(ts_capture_memory *memory,
                                    ts_capture_op *op, size_t attributes,
                                    uint64_t address, uint64_t size,
                                    uint32_t access)
{
    const ts__cap_range *const range = ts__cap_find(memory, address);
    ts__cap_range host;
    memset(&host, 0, sizeof host);
    host.address = address;
    host.size = size;
    if (!address || !size) return;
    if (range) {
        ts__cap_region(op, range, TS_CAPTURE_BY_COPY, 0);
        return;
    }
    ts__cap_host_end(op, attributes, &host, &access);
    if (host.address + host.size > host.address)
        ts__cap_host_region(op, host, access);
}

// Adds the memory that the copy and memset nodes of a graph use.
static inline void ts__cap_nodes(ts_capture_memory *memory, ts_capture_op *op)
{
    ts_capture_attribute head;
    ts_capture_operation n;
    const uint8_t *bytes;
    for (size_t at = 0; ts__cap_attribute(op, &at, &head, &bytes);) {
        if (head.id != TS_ATTRIBUTE_NODE) continue;
        memcpy(&n, bytes, sizeof n);
        if (n.kind == TS_EVENT_MEMCPY)
            ts__cap_node_end(memory, op, at, n.source, n.size, TS_ACCESS_READ);
        if (n.kind == TS_EVENT_MEMCPY || n.kind == TS_EVENT_MEMSET)
            ts__cap_node_end(memory, op, at, n.destination, n.size,
                             TS_ACCESS_WRITE);
    }
}

// Writes to host memory are not tracked, so it is read every time.
static inline void ts__cap_host_contents(const ts_capture_region *r,
                                         uint64_t list[2], bool *kept)
{
    const uint64_t chunks = ts__cap_chunks(r->size);
    uint64_t *const hashes = calloc((size_t)chunks + 1, 16);
    list[0] = list[1] = 0;
    for (uint64_t i = 0; hashes && i < chunks; i++) {
        const uint64_t at = i * TS_CAPTURE_CHUNK, left = r->size - at;
        const uint64_t size = left < TS_CAPTURE_CHUNK ? left : TS_CAPTURE_CHUNK;
        *kept &= (ts__cap_keep((const void *)(uintptr_t)(r->address + at),
                               (size_t)size, &hashes[2 * i]) &
                  TS__CAP_KEPT) != 0;
    }
    if (!hashes || ts_blob_put(hashes, (size_t)chunks * 16, list) != TS_OK)
        *kept = false;
    free(hashes);
}

static inline void ts__cap_contents(ts_capture_memory *memory,
                                    ts_capture_op *op, bool before)
{
    for (uint32_t i = 0; i < op->head.region_count; i++) {
        ts_capture_region *const r = &op->regions[i];
        uint64_t *const list = before ? r->before : r->after;
        const bool copied = r->found == TS_CAPTURE_BY_COPY && !r->device;
        bool kept = true;
        list[0] = list[1] = 0;
        // Host memory that a copy only reads needs no contents afterwards, and
        // host memory that it only writes none before.
        if (copied &&
            !(r->access & (before ? TS_ACCESS_READ : TS_ACCESS_WRITE)))
            continue;
        ts__cap_range *const range = ts__cap_find(memory, r->address);
        if (copied)
            ts__cap_host_contents(r, list, &kept);
        else if (range && range->address == r->address &&
                 range->size == r->size)
            ts__cap_list(memory, range, list, &kept);
        if (before) op->all_kept &= kept;
    }
}

TS__WEAK_API void ts_capture_decline(ts_capture_op *op, ts_reason reason)
{
    op->head.state = TS_CAPTURE_DECLINED;
    op->head.reason = reason;
}

TS__WEAK_API void ts_capture_param_add(ts_capture_op *op, uint32_t offset,
                                       uint32_t size,
                                       ts_capture_param_type type)
{
    if (op->head.param_count == op->param_capacity) {
        const size_t capacity = op->param_capacity ? 2 * op->param_capacity : 8;
        ts_capture_param *const more =
            realloc(op->params, capacity * sizeof *more);
        op->failed |= !more;
        if (!more) return;
        op->params = more;
        op->param_capacity = capacity;
    }
    const ts_capture_param param = { offset, size, (uint32_t)type, 0 };
    op->params[op->head.param_count++] = param;
}

TS__WEAK_API void ts_capture_attribute_add(ts_capture_op *op, uint32_t id,
                                           const void *bytes, size_t size)
{
    const ts_capture_attribute head = { id, (uint32_t)size };
    const size_t all = sizeof head + ((size + 7) & ~(size_t)7);
    uint8_t *const more =
        size < 1 << 20 ? realloc(op->attributes, op->attributes_size + all)
                       : NULL;
    op->failed |= !more;
    if (!more) return;
    memset(more + op->attributes_size, 0, all);
    memcpy(more + op->attributes_size, &head, sizeof head);
    if (size) memcpy(more + op->attributes_size + sizeof head, bytes, size);
    op->attributes = more;
    op->attributes_size += all;
}

TS__WEAK_API void ts_capture_node_add(ts_capture_op *op,
                                      const ts_capture_operation *node,
                                      const uint32_t *after, uint32_t count)
{
    const size_t size = sizeof *node + count * sizeof *after;
    uint8_t *const bytes = malloc(size);
    op->failed |= !bytes;
    if (!bytes) return;
    memcpy(bytes, node, sizeof *node);
    if (count) memcpy(bytes + sizeof *node, after, count * sizeof *after);
    ts_capture_attribute_add(op, TS_ATTRIBUTE_NODE, bytes, size);
    free(bytes);
}

TS__WEAK_API void ts_capture_begin(ts_capture_memory *memory, ts_capture_op *op)
{
    ts_capture_operation *const h = &op->head;
    h->type = TS_CAPTURE_OPERATION;
    h->vendor = ts_name_define(memory->vendor->name);
    op->all_kept = true;
    op->copy = malloc((size_t)h->args_size + 8);
    op->failed |= !op->copy;
    op->unseen = op->failed || h->state == TS_CAPTURE_DECLINED;
    if (op->failed) ts_capture_decline(op, TS_REASON_NO_MEMORY);
    if (!op->copy) return;
    if (h->args_size) memcpy(op->copy, op->args, h->args_size);
    if (h->state == TS_CAPTURE_DECLINED) return;
    h->state = TS_CAPTURE_WHOLE;
    if (h->kind == TS_EVENT_GRAPH_LAUNCH) ts__cap_nodes(memory, op);
    if (h->kind == TS_EVENT_KERNEL || h->kind == TS_EVENT_GRAPH_LAUNCH)
        ts__cap_arguments(memory, op);
    if (h->kind == TS_EVENT_MEMCPY)
        ts__cap_end(memory, op, h->source, TS_ACCESS_READ);
    if (h->kind == TS_EVENT_MEMCPY || h->kind == TS_EVENT_MEMSET)
        ts__cap_end(memory, op, h->destination, TS_ACCESS_WRITE);
    if (h->state == TS_CAPTURE_WHOLE) ts__cap_contents(memory, op, true);
    if (h->state == TS_CAPTURE_WHOLE && !op->all_kept) {
        h->state = TS_CAPTURE_HASHES;
        h->reason = TS_REASON_SNAPSHOT_BUDGET;
    }
    if (op->failed) ts_capture_decline(op, TS_REASON_NO_MEMORY);
    op->unseen = op->failed;
}

static inline void ts__cap_write(const ts_capture_op *op)
{
    const ts_capture_operation *const h = &op->head;
    const size_t params = h->param_count * sizeof *op->params;
    const size_t args = (h->args_size + 7u) & ~(size_t)7;
    const size_t regions = h->region_count * sizeof *op->regions;
    const size_t attributes = op->attributes_size;
    const size_t size = sizeof *h + params + args + regions + attributes;
    uint8_t *const record = calloc(1, size);
    if (!record) return;
    uint8_t *p = record;
    memcpy(p, h, sizeof *h);
    p += sizeof *h;
    if (params) memcpy(p, op->params, params);
    p += params;
    if (args) memcpy(p, op->copy, h->args_size);
    p += args;
    if (regions) memcpy(p, op->regions, regions);
    p += regions;
    if (attributes) memcpy(p, op->attributes, attributes);
    ts_capture_put(record, size);
    free(record);
}

static inline void ts__cap_count(const ts_capture_operation *h)
{
    ts__cap_state *const s = &ts__cap_now;
    ts_capture_figures one;
    memset(&one, 0, sizeof one);
    one.whole = h->state == TS_CAPTURE_WHOLE;
    one.hashes = h->state == TS_CAPTURE_HASHES;
    one.declined = h->state == TS_CAPTURE_DECLINED;
    pthread_mutex_lock(&s->lock);
    ts__cap_add(&s->figures, &one);
    s->figures.reasons[h->reason]++;
    // The capture may have ended and reported its sums in the meantime.
    const bool late = !s->on && s->ended;
    if (late) ts__cap_add(&s->sums, &one);
    const ts_capture_figures sums = s->sums;
    const uint32_t ended = s->ended;
    pthread_mutex_unlock(&s->lock);
    if (late && TS__CAP_SESSION()) ts__cap_report(&sums, ended);
    ts__cap_change(ts__cap_do_operation);
}

static inline void ts__cap_put(ts_capture_op *op)
{
    free(op->copy);
    free(op->params);
    free(op->regions);
    free(op->attributes);
    op->copy = op->attributes = NULL;
    op->params = NULL;
    op->regions = NULL;
}

TS__WEAK_API void ts_capture_drop(ts_capture_op *op)
{
    // Only an operation that was begun has a copy.
    if (op->copy) ts__cap_change(ts__cap_do_drop);
    ts__cap_put(op);
}

TS__WEAK_API void ts_capture_end(ts_capture_memory *memory, ts_capture_op *op)
{
    const ts_capture_operation *const h = &op->head;
    // The operation may have written memory even if it was declined. If it was
    // declined before its memory was known, it may have written anywhere.
    for (size_t i = 0; op->unseen && i < memory->count; i++)
        ts_capture_touch(memory, memory->ranges[i].address, 0);
    for (uint32_t i = 0; i < h->region_count; i++) {
        const ts_capture_region *const r = &op->regions[i];
        if (!(r->access & TS_ACCESS_WRITE)) continue;
        const bool exact =
            r->found == TS_CAPTURE_BY_COPY && !op->attributes_size;
        ts_capture_touch(memory, exact ? h->destination : r->address,
                         exact ? h->size : 0);
    }
    if (op->copy) {
        if (h->state != TS_CAPTURE_DECLINED)
            ts__cap_contents(memory, op, false);
        if (h->state != TS_CAPTURE_DECLINED && memory->vendor->disturbed &&
            memory->vendor->disturbed(memory->user))
            ts_capture_decline(op, TS_REASON_DRAIN_TIMEOUT);
        ts__cap_count(h);
        ts__cap_write(op);
    }
    ts__cap_put(op);
}

TS__WEAK_API uint32_t ts_capture_image_add(const ts_capture_code *code)
{
    ts_capture_image image;
    memset(&image, 0, sizeof image);
    image.type = TS_CAPTURE_IMAGE;
    image.size = code->size;
    image.vendor = ts_name_define(code->vendor);
    image.form = code->form;
    image.options = code->options ? ts_name_define(code->options) : 0;
    image.module =
        ts_module_define(code->path, code->address, code->size, code->build_id,
                         (size_t)code->build_id_size);
    ts__cap_keep(code->bytes, (size_t)code->size, image.hash);
    pthread_mutex_lock(&ts__cap_now.lock);
    image.id = ++ts__cap_now.images;
    pthread_mutex_unlock(&ts__cap_now.lock);
    return ts_capture_put(&image, sizeof image) == TS_OK ? image.id : 0;
}

#endif // TS__CAPTURE_OPERATIONS_H
