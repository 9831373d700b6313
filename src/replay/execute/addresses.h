/* ---- Execution: addresses ----------------------------------------------- */

// Whether a range is at another address than in the record. Memory of the host
// does not count: only copies refer to it, so it may be anywhere.
static bool ts__ex_has_moved(const ts__ex_range *r)
{
    return r->device && r->actual != r->address;
}

// Returns the moved range into which a value points, or at whose end it points.
// NULL if it points to none, or into a range that did not move.
static const ts__ex_range *ts__ex_moved(const ts_execution *e, uint64_t value)
{
    const ts__ex_range *before = NULL;
    for (uint32_t i = 0; i < e->now.head.region_count; i++) {
        const ts__ex_range *const r = e->regions[i];
        const bool moved = ts__ex_has_moved(r);
        if (value - r->address < r->size) return moved ? r : NULL;
        if (moved && value - r->address == r->size) before = r;
    }
    return before;
}

static bool ts__ex_is_pointer(const ts_capture *c, uint32_t offset)
{
    for (uint32_t i = 0; i < c->head.param_count; i++)
        if (c->params[i].offset == offset &&
            (c->params[i].type == TS_PARAM_POINTER ||
             c->params[i].type == TS_PARAM_OBJECT))
            return true;
    return false;
}

// Returns a moved range to which any eight bytes of recorded contents point;
// NULL: none.
static const ts__ex_range *ts__ex_scan(const ts_execution *e,
                                       const uint8_t *bytes, uint64_t size)
{
    for (uint64_t i = 0; i + 8 <= size; i++) {
        uint64_t value;
        memcpy(&value, bytes + i, sizeof value);
        const ts__ex_range *const r = ts__ex_moved(e, value);
        if (r) return r;
    }
    return NULL;
}

static const ts__ex_range *ts__ex_scan_memory(ts_execution *e)
{
    for (uint32_t i = 0; i < e->now.head.region_count; i++) {
        const ts_capture_region *const region = &e->now.regions[i];
        const uint8_t *const list =
            ts__ex_list(e, region->before, region->size);
        size_t kept = 0; // bytes of the previous chunk that a pointer may span
        for (uint64_t k = 0; list && k < ts__ex_chunks(region->size); k++) {
            const size_t size = (size_t)ts__ex_chunk_size(region->size, k);
            const uint8_t *const bytes =
                ts__ex_bytes(e, list + 16 * k, size, false);
            // Unknown contents may hold a pointer.
            if (!bytes) return e->regions[i];
            // Zeros after zeros contain no pointer.
            if (bytes == ts__ex_zeros && kept &&
                !memcmp(e->scratch, ts__ex_zeros, kept))
                continue;
            memcpy(e->scratch + kept, bytes, size);
            const ts__ex_range *const r =
                ts__ex_scan(e, e->scratch, kept + size);
            if (r) return r;
            const size_t all = kept + size;
            kept = all < 7 ? all : 7;
            memmove(e->scratch, e->scratch + all - kept, kept);
        }
    }
    return NULL;
}

static bool ts__ex_has_args(const ts_capture_operation *h)
{
    return h->kind == TS_EVENT_KERNEL || h->kind == TS_EVENT_GRAPH_LAUNCH;
}

/*
    Adapts arguments to memory that moved. They are rewritten only where the
    kernel declares a pointer, and only if nothing else in the arguments or in
    memory looks like a pointer to the moved range.
*/
static ts_reason ts__ex_rewrite(ts_execution *e, ts_execution_item *item)
{
    const ts_capture *const c = &e->now;
    bool moved = false, memory_moved = false;
    item->level = 1;
    for (uint32_t i = 0; i < c->head.region_count; i++) {
        const ts__ex_range *const r = e->regions[i];
        if (!ts__ex_has_moved(r)) continue;
        moved = true;
        memory_moved |= !r->image;
        // A copy node of a graph gives its address explicitly.
        if (c->regions[i].found == TS_CAPTURE_BY_COPY) item->level = 2;
    }
    if (!moved) return TS_REASON_NONE;
    if (memory_moved && e->desc.strict) return TS_REASON_VA_UNAVAILABLE;
    const ts__ex_range *r = ts__ex_scan_memory(e);
    for (uint32_t i = 0; !r && i + 8 <= c->head.args_size; i++) {
        uint64_t value;
        memcpy(&value, c->args + i, sizeof value);
        const ts__ex_range *const to = ts__ex_moved(e, value);
        if (!to) continue;
        // The end of this range may also be the beginning of an unknown one.
        const bool inside = value - to->address < to->size;
        if (!inside || !ts__ex_is_pointer(c, i)) r = to;
        value += to->actual - to->address;
        memcpy(e->args + i, &value, sizeof value);
        item->level = 2;
        i += 7;
    }
    if (!r) return TS_REASON_NONE;
    return r->image ? TS_REASON_GLOBAL_MOVED : TS_REASON_VA_UNAVAILABLE;
}

// Checks the memory of a copy or memset, which give their addresses explicitly.
static ts_reason ts__ex_ends(const ts_execution *e, ts_execution_item *item)
{
    item->level = 1;
    for (uint32_t i = 0; i < e->now.head.region_count; i++) {
        const ts__ex_range *const r = e->regions[i];
        if (!ts__ex_has_moved(r)) continue;
        item->level = 2;
        if (e->desc.strict && !r->image) return TS_REASON_VA_UNAVAILABLE;
    }
    return TS_REASON_NONE;
}

// The source or destination of a copy or memset: its bytes, as offsets from its
// address.
typedef struct ts__ex_end {
    uint64_t address, first, size;
    uint64_t actual; // the current address
    bool host, image;
} ts__ex_end;

// Determines how many bytes an end has. The size of an image is known to the
// executor only: 1 stands for it. Returns false if the geometry is invalid.
static bool ts__ex_measure(const ts_capture_node *n, bool is_source,
                           ts__ex_end *end)
{
    const ts_attributes *const all = &n->attributes;
    ts_attribute one;
    ts_capture_geometry g;
    end->first = 0;
    end->size = n->head.size;
    end->image = false;
    if (ts_attribute_find(all, TS_ATTRIBUTE_GEOMETRY, sizeof g, &one)) {
        memcpy(&g, one.bytes, sizeof g);
        const bool fits =
            is_source ? ts_capture_span(g.source_origin, g.region, g.source_row,
                                        g.source_slice, &end->first, &end->size)
                      : ts_capture_span(g.destination_origin, g.region,
                                        g.destination_row, g.destination_slice,
                                        &end->first, &end->size);
        if (!fits) return false;
    }
    ts_capture_copy_image image;
    for (uint64_t at = 0; ts_attribute_next(all, &at, &one);) {
        if (one.id != TS_ATTRIBUTE_COPY_IMAGE || one.size < sizeof image)
            continue;
        memcpy(&image, one.bytes, sizeof image);
        if (image.which == is_source) continue;
        end->first = 0;
        end->size = 1;
        end->image = true;
    }
    return true;
}

// Determines the current address of an end. Returns false if it is not in the
// regions of the operation. Images cannot be in memory of the host, since their
// size there is unknown.
static bool ts__ex_translate(const ts_execution *e, const ts_capture_node *n,
                             bool is_source, ts__ex_end *end)
{
    end->address = is_source ? n->head.source : n->head.destination;
    if (!ts__ex_measure(n, is_source, end)) return false;
    for (uint32_t i = 0; i < e->now.head.region_count; i++) {
        const ts__ex_range *const r = e->regions[i];
        const uint64_t offset = end->address + end->first - r->address;
        if (offset >= r->size || end->size > r->size - offset) continue;
        end->actual = r->actual + offset - end->first;
        end->host = !r->device;
        return !end->host || !end->image;
    }
    return false;
}
