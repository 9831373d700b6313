/* ---- 10.81 Execution: memory -------------------------------------------- */

// An allocation of the record, and where it is now. Each chunk has two
// hashes: of what is there, and of what the record says was there last.
enum { TS__EX_ACTUAL = 1, TS__EX_RECORDED = 2 };

typedef struct ts__ex_range {
    uint64_t address, size, actual;
    uint32_t device, image;
    uint64_t offset; // of a global
    uint8_t *bytes;  // memory of the host
    uint64_t *is, *was;
    uint8_t *known;
    size_t op; // of memory of the host: whose it is
    // Where operations run together: see there.
    uint32_t batch, last_region;
    size_t last;
} ts__ex_range;

typedef struct ts__ex_module {
    uint32_t image;
    uint64_t module;
    ts_reason reason; // why it cannot be loaded
} ts__ex_module;

typedef struct ts__ex_stream {
    uint32_t track;
    uint64_t stream;
    uint32_t batch, barrier; // together: where it was used, what it waited for
} ts__ex_stream;

struct ts_execution {
    ts_reader *reader;
    const size_t *captures;
    size_t count;
    ts_execution_desc desc;
    void *state;                        // of the executor
    bool lost;                          // the device does not answer
    uint32_t devices[64], device_count; // tracks, in order
    ts__ex_range **ranges;              // of devices
    size_t range_count, range_capacity;
    ts__ex_range **hosts; // in order of their operations
    size_t host_count, host_capacity, host_at;
    uint32_t batch; // of operations that run together; 0: one by one
    bool as_graph;
    ts__ex_module *modules;
    size_t module_count, module_capacity;
    ts__ex_stream *streams;
    size_t stream_count, stream_capacity;
    uint8_t *scratch;
    // Of the operation under way.
    size_t op;
    ts_capture now;
    ts__ex_range **regions; // of its regions
    size_t region_capacity;
    uint8_t *args;
    size_t args_capacity;
};

static uint64_t ts__ex_chunks(uint64_t size)
{
    return size / TS_CAPTURE_CHUNK + (size % TS_CAPTURE_CHUNK != 0);
}

static uint64_t ts__ex_chunk_size(uint64_t size, uint64_t chunk)
{
    const uint64_t left = size - chunk * TS_CAPTURE_CHUNK;
    return left < TS_CAPTURE_CHUNK ? left : TS_CAPTURE_CHUNK;
}

static void ts__ex_range_free(ts_execution *e, ts__ex_range *r)
{
    const ts_allocator *const a = &e->desc.allocator;
    const size_t chunks = (size_t)ts__ex_chunks(r->size);
    ts__mem_put(a, r->is, chunks * 16);
    ts__mem_put(a, r->was, chunks * 16);
    ts__mem_put(a, r->known, chunks);
    ts__mem_put(a, r->bytes, (size_t)r->size);
    ts__mem_put(a, r, sizeof *r);
}

static ts__ex_range *ts__ex_range_new(ts_execution *e,
                                      const ts_capture_region *region)
{
    const ts_allocator *const a = &e->desc.allocator;
    const uint64_t chunks = ts__ex_chunks(region->size);
    ts__ex_range *const r = ts__mem_get(a, sizeof *r);
    if (!r) return NULL;
    memset(r, 0, sizeof *r);
    r->address = region->address;
    r->size = region->size;
    r->device = region->device;
    r->image = region->image;
    r->offset = region->offset;
    if (!chunks) return r;
    // Room for lists as long as the claimed size is taken only if the trace
    // has a list of this length: see ts__ex_list.
    r->is = ts__mem_get(a, (size_t)chunks * 16);
    r->was = ts__mem_get(a, (size_t)chunks * 16);
    r->known = ts__mem_get(a, (size_t)chunks);
    if (r->known) memset(r->known, 0, (size_t)chunks);
    if (r->is && r->was && r->known) return r;
    ts__ex_range_free(e, r);
    return NULL;
}

// The hashes of a list; NULL if the trace has none of the right length.
static const uint8_t *ts__ex_list(ts_execution *e, const uint64_t list[2],
                                  uint64_t size)
{
    const void *bytes;
    size_t have;
    if (!list[0] && !list[1]) return NULL;
    if (ts_reader_blob(e->reader, list, &bytes, &have) != TS_OK) return NULL;
    return have == ts__ex_chunks(size) * 16 ? bytes : NULL;
}

// A chunk's bytes; NULL if the trace does not have them.
static const uint8_t *ts__ex_bytes(ts_execution *e, const uint8_t *hash,
                                   uint64_t size)
{
    uint64_t key[2];
    const void *bytes;
    size_t have;
    memcpy(key, hash, sizeof key);
    if (ts_reader_blob(e->reader, key, &bytes, &have) != TS_OK) return NULL;
    return have == size ? bytes : NULL;
}

static uint32_t ts__ex_device(const ts_execution *e, uint32_t track)
{
    for (uint32_t i = 0; i < e->device_count; i++)
        if (e->devices[i] == track) return i;
    return 0;
}

static ts_reason ts__ex_result_reason(ts_result result)
{
    switch (result) {
    case TS_OK: return TS_REASON_NONE;
    case TS_ERR_MEMORY: return TS_REASON_NO_MEMORY;
    case TS_ERR_BUSY: return TS_REASON_TIMEOUT;
    case TS_ERR_CORRUPT: return TS_REASON_BAD_CAPTURE;
    default: return TS_REASON_DEVICE_FAILED;
    }
}

// Why the executor did not do something. It may know better than its result.
static ts_reason ts__ex_reason(const ts_execution *e, ts_result result)
{
    const ts_executor *const x = e->desc.executor;
    const ts_reason reason = ts__ex_result_reason(result);
    if (reason != TS_REASON_DEVICE_FAILED || !x->reason) return reason;
    const ts_reason own = x->reason(e->state);
    return own && own < TS_REASON_LIMIT ? own : reason;
}

static ts_reason ts__ex_load(ts_execution *e, uint32_t image, uint64_t *module)
{
    ts_capture_image found;
    ts_executor_code code = { 0 };
    char why[200];
    size_t size;
    if (!ts_reader_image(e->reader, image, &found))
        return TS_REASON_IMAGE_MISSING;
    const ts_module_entry *const entry =
        ts_reader_module(e->reader, found.module);
    code.path = ts_reader_name(e->reader, entry ? entry->path : 0).text;
    code.options = ts_reader_name(e->reader, found.options).text;
    code.form = found.form;
    memcpy(code.hash, found.hash, sizeof code.hash);
    code.size = found.size;
    if (ts_reader_blob(e->reader, found.hash, &code.bytes, &size) != TS_OK)
        code.bytes = NULL;
    if (code.bytes) code.size = size;
    const ts_result result =
        e->desc.executor->load(e->state, &code, module, why, sizeof why);
    const ts_reason reason = ts__ex_reason(e, result);
    if (reason != TS_REASON_DEVICE_FAILED) return reason;
    return result == TS_ERR_NOT_FOUND     ? TS_REASON_IMAGE_MISSING
           : result == TS_ERR_UNSUPPORTED ? TS_REASON_IMAGE_ARCH
                                          : reason;
}

static ts__ex_module *ts__ex_module_find(ts_execution *e, uint32_t image)
{
    for (size_t i = 0; i < e->module_count; i++)
        if (e->modules[i].image == image) return &e->modules[i];
    ts__ex_module *const more =
        ts__mem_more(&e->desc.allocator, e->modules, &e->module_capacity,
                     e->module_count, sizeof *more);
    if (!more) return NULL;
    e->modules = more;
    ts__ex_module *const m = &more[e->module_count++];
    m->image = image;
    m->reason = ts__ex_load(e, image, &m->module);
    return m;
}

// Where a range is to be: on a device, in a module, or in our own memory.
static ts_reason ts__ex_place(ts_execution *e, ts__ex_range *r)
{
    const ts_executor *const x = e->desc.executor;
    if (r->image) {
        const ts__ex_module *const m = ts__ex_module_find(e, r->image);
        if (!m) return TS_REASON_NO_MEMORY;
        if (m->reason) return m->reason;
        return ts__ex_reason(
            e, x->global(e->state, m->module, r->offset, r->size, &r->actual));
    }
    if (!r->device) {
        r->bytes = ts__mem_get(&e->desc.allocator, (size_t)r->size);
        if (!r->bytes) return TS_REASON_NO_MEMORY;
        memset(r->bytes, 0, (size_t)r->size);
        r->actual = (uintptr_t)r->bytes;
        return TS_REASON_NONE;
    }
    r->actual = r->address;
    return ts__ex_reason(e, x->allocate(e->state, ts__ex_device(e, r->device),
                                        &r->actual, r->size));
}

static void ts__ex_drop(ts_execution *e, size_t index)
{
    ts__ex_range *const r = e->ranges[index];
    if (!r->image) e->desc.executor->release(e->state, r->actual);
    ts__ex_range_free(e, r);
    e->ranges[index] = e->ranges[--e->range_count];
}

// Memory of the host goes with its operation, or with those it ran with.
static void ts__ex_drop_hosts(ts_execution *e)
{
    while (e->host_count)
        ts__ex_range_free(e, e->hosts[--e->host_count]);
    e->host_at = 0;
}

static ts_reason ts__ex_make(ts_execution *e, const ts_capture_region *region,
                             ts__ex_range **found)
{
    *found = ts__ex_range_new(e, region);
    if (!*found) return TS_REASON_NO_MEMORY;
    const ts_reason reason = ts__ex_place(e, *found);
    if (reason) ts__ex_range_free(e, *found);
    return reason;
}

// Memory of the host, which is an operation's own.
static ts_reason ts__ex_find_host(ts_execution *e,
                                  const ts_capture_region *region,
                                  ts__ex_range **found)
{
    while (e->host_at < e->host_count && e->hosts[e->host_at]->op < e->op)
        e->host_at++;
    for (size_t i = e->host_at; i < e->host_count; i++) {
        ts__ex_range *const r = e->hosts[i];
        *found = r;
        if (r->op == e->op && r->address == region->address &&
            r->size == region->size)
            return TS_REASON_NONE;
    }
    ts__ex_range **const more =
        ts__mem_more(&e->desc.allocator, e->hosts, &e->host_capacity,
                     e->host_count, sizeof *more);
    if (!more) return TS_REASON_NO_MEMORY;
    e->hosts = more;
    const ts_reason reason = ts__ex_make(e, region, found);
    if (reason) return reason;
    (*found)->op = e->op;
    e->hosts[e->host_count++] = *found;
    return TS_REASON_NONE;
}

// It would take the place of what runs together with it.
#define TS__EX_MEETS ((ts_reason)TS_REASON_LIMIT)

// The range of a region. One that lies there no more makes place for it: the
// program freed it.
static ts_reason ts__ex_find(ts_execution *e, const ts_capture_region *region,
                             ts__ex_range **found)
{
    if (!region->device) return ts__ex_find_host(e, region, found);
    for (size_t i = 0; i < e->range_count;) {
        ts__ex_range *const r = e->ranges[i];
        const bool same =
            r->address == region->address && r->size == region->size &&
            r->device == region->device && r->image == region->image;
        *found = r;
        if (same) return TS_REASON_NONE;
        const bool meets = r->address - region->address < region->size ||
                           region->address - r->address < r->size;
        if (meets && e->batch && r->batch == e->batch) return TS__EX_MEETS;
        if (meets)
            ts__ex_drop(e, i);
        else
            i++;
    }
    ts__ex_range **const more =
        ts__mem_more(&e->desc.allocator, e->ranges, &e->range_capacity,
                     e->range_count, sizeof *more);
    if (!more) return TS_REASON_NO_MEMORY;
    e->ranges = more;
    const ts_reason reason = ts__ex_make(e, region, found);
    if (!reason) e->ranges[e->range_count++] = *found;
    return reason;
}

/* ---- 10.82 Execution: contents ------------------------------------------ */

/*
    Whether a chunk has to come from the record. Not one that holds the right
    bytes already; nor, in a chain, one that has not been written since what
    was replayed last, whatever it holds now.
*/
static bool ts__ex_wanted(const ts_execution *e, const ts__ex_range *r,
                          uint64_t chunk, const uint8_t *hash)
{
    const uint8_t known = r->known[chunk];
    if (e->desc.chain && known & TS__EX_RECORDED)
        return !e->desc.no_patches && memcmp(&r->was[2 * chunk], hash, 16);
    return !(known & TS__EX_ACTUAL) || memcmp(&r->is[2 * chunk], hash, 16);
}

// Whether an operation reads what is in a region. What a copy overwrites as a
// whole is no input, and the trace need not have it.
static bool ts__ex_is_input(const ts_capture_region *r)
{
    if (r->found != TS_CAPTURE_BY_COPY || r->device) return true;
    return r->access & TS_ACCESS_READ;
}

static bool ts__ex_have_all(ts_execution *e)
{
    for (uint32_t i = 0; i < e->now.head.region_count; i++) {
        const ts_capture_region *const region = &e->now.regions[i];
        const ts__ex_range *const r = e->regions[i];
        if (!ts__ex_is_input(region)) continue;
        const uint8_t *const list =
            ts__ex_list(e, region->before, region->size);
        if (!list && region->size) return false;
        for (uint64_t k = 0; k < ts__ex_chunks(r->size); k++)
            if (ts__ex_wanted(e, r, k, list + 16 * k) &&
                !ts__ex_bytes(e, list + 16 * k, ts__ex_chunk_size(r->size, k)))
                return false;
    }
    return true;
}

static ts_result ts__ex_put(ts_execution *e, const ts__ex_range *r,
                            uint64_t offset, const uint8_t *bytes,
                            uint64_t size)
{
    if (r->device)
        return e->desc.executor->write(e->state, r->actual + offset, bytes,
                                       size);
    memcpy((void *)(uintptr_t)(r->actual + offset), bytes, (size_t)size);
    return TS_OK;
}

// Puts the recorded inputs in place; ts__ex_have_all said that they are there.
static ts_result ts__ex_fill(ts_execution *e, ts_execution_item *item)
{
    for (uint32_t i = 0; i < e->now.head.region_count; i++) {
        const ts_capture_region *const region = &e->now.regions[i];
        ts__ex_range *const r = e->regions[i];
        if (!ts__ex_is_input(region)) continue;
        const uint8_t *const list =
            ts__ex_list(e, region->before, region->size);
        for (uint64_t k = 0; list && k < ts__ex_chunks(r->size); k++) {
            const uint64_t size = ts__ex_chunk_size(r->size, k);
            if (!ts__ex_wanted(e, r, k, list + 16 * k)) continue;
            const uint8_t *const bytes = ts__ex_bytes(e, list + 16 * k, size);
            if (!bytes) return TS_ERR_NOT_FOUND;
            const ts_result result =
                ts__ex_put(e, r, k * TS_CAPTURE_CHUNK, bytes, size);
            if (result != TS_OK) return result;
            item->patched += r->known[k] & TS__EX_RECORDED && e->desc.chain;
            memcpy(&r->is[2 * k], list + 16 * k, 16);
            memcpy(&r->was[2 * k], list + 16 * k, 16);
            r->known[k] = TS__EX_ACTUAL | TS__EX_RECORDED;
        }
    }
    return TS_OK;
}

/* ---- 10.83 Execution: addresses ----------------------------------------- */

// The range that moved and into which a value points, or just behind which: a
// pointer to an end. NULL also if it points into one that did not move.
static const ts__ex_range *ts__ex_moved(const ts_execution *e, uint64_t value)
{
    const ts__ex_range *before = NULL;
    for (uint32_t i = 0; i < e->now.head.region_count; i++) {
        const ts__ex_range *const r = e->regions[i];
        const bool moved = r->actual != r->address;
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

// Whether eight bytes anywhere in recorded contents point to what moved.
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
        size_t kept = 0; // bytes of the chunk before that a pointer may need
        for (uint64_t k = 0; list && k < ts__ex_chunks(region->size); k++) {
            const size_t size = (size_t)ts__ex_chunk_size(region->size, k);
            const uint8_t *const bytes = ts__ex_bytes(e, list + 16 * k, size);
            if (!bytes) return e->regions[i]; // nobody knows
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

/*
    Memory that is not where it was. Arguments are rewritten only where the
    kernel itself says that they are pointers, and only if nothing else, in
    the arguments or in memory, looks like a pointer to what moved.
*/
static ts_reason ts__ex_rewrite(ts_execution *e, ts_execution_item *item)
{
    const ts_capture *const c = &e->now;
    bool moved = false, memory_moved = false;
    item->level = 1;
    for (uint32_t i = 0; i < c->head.region_count; i++) {
        const ts__ex_range *const r = e->regions[i];
        if (r->actual == r->address) continue;
        moved = true;
        memory_moved |= !r->image;
    }
    if (!moved) return TS_REASON_NONE;
    if (memory_moved && e->desc.strict) return TS_REASON_VA_UNAVAILABLE;
    const ts__ex_range *r = ts__ex_scan_memory(e);
    for (uint32_t i = 0; !r && i + 8 <= c->head.args_size; i++) {
        uint64_t value;
        memcpy(&value, c->args + i, sizeof value);
        const ts__ex_range *const to = ts__ex_moved(e, value);
        if (!to) continue;
        // An end of this may as well be the beginning of something unknown.
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

// Copies and sets name their addresses. The host's own memory may lie anywhere.
static ts_reason ts__ex_ends(const ts_execution *e, ts_execution_item *item)
{
    item->level = 1;
    for (uint32_t i = 0; i < e->now.head.region_count; i++) {
        const ts__ex_range *const r = e->regions[i];
        if (!r->device || r->actual == r->address) continue;
        item->level = 2;
        if (e->desc.strict && !r->image) return TS_REASON_VA_UNAVAILABLE;
    }
    return TS_REASON_NONE;
}

// An end of a copy or set: its bytes, as offsets from its address.
typedef struct ts__ex_end {
    uint64_t address, first, size;
    uint64_t actual; // where the address is now
    bool host, image;
} ts__ex_end;

// How many bytes an end has. Of an image only the executor knows it: one.
static bool ts__ex_measure(const ts_execution *e, bool is_source,
                           ts__ex_end *end)
{
    const ts_attributes *const all = &e->now.attributes;
    ts_attribute one;
    ts_capture_geometry g;
    end->first = 0;
    end->size = e->now.head.size;
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

// Where an end is now; false: not in the regions of the operation. The host has
// no images, of whose size nobody would know anything.
static bool ts__ex_translate(const ts_execution *e, bool is_source,
                             ts__ex_end *end)
{
    const ts_capture_operation *const h = &e->now.head;
    end->address = is_source ? h->source : h->destination;
    if (!ts__ex_measure(e, is_source, end)) return false;
    for (uint32_t i = 0; i < h->region_count; i++) {
        const ts__ex_range *const r = e->regions[i];
        const uint64_t offset = end->address + end->first - r->address;
        if (offset >= r->size || end->size > r->size - offset) continue;
        end->actual = r->actual + offset - end->first;
        end->host = !r->device;
        return !end->host || !end->image;
    }
    return false;
}

/* ---- 10.84 Execution: comparison ---------------------------------------- */

// A value of a type as a whole number in its order, and as a real one.
static int64_t ts__ex_ordered(const uint8_t *at, uint32_t element)
{
    int64_t value = 0;
    if (element == 9) {
        memcpy(&value, at, 8);
        return value < 0 ? INT64_MIN - value : value;
    }
    int32_t small;
    memcpy(&small, at, 4);
    return small < 0 ? (int64_t)INT32_MIN - small : small;
}

static double ts__ex_real(const uint8_t *at, uint32_t element)
{
    double value;
    float small;
    if (element == 9) {
        memcpy(&value, at, 8);
        return value;
    }
    memcpy(&small, at, 4);
    return (double)small;
}

static bool ts__ex_near(const ts_execution_desc *d, const uint8_t *expected,
                        const uint8_t *found, size_t size)
{
    if (!memcmp(expected, found, size)) return true;
    const double a = ts__ex_real(expected, d->element);
    const double b = ts__ex_real(found, d->element);
    const double apart = a > b ? a - b : b - a;
    // Numbers that are none are equal to none; so are infinite distances.
    if (d->compare == TS_COMPARE_RTOL)
        return apart <= d->tolerance * (a < 0 ? -a : a);
    if (d->compare != TS_COMPARE_ULP || a != a || b != b) return false;
    const int64_t x = ts__ex_ordered(expected, d->element);
    const int64_t y = ts__ex_ordered(found, d->element);
    const uint64_t steps =
        x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
    return (double)steps <= d->tolerance;
}

// Two contents of a chunk that are not the same. True if they pass for it.
static bool ts__ex_chunk_differs(const ts_execution *e, ts_execution_item *item,
                                 const uint8_t *expected, const uint8_t *found,
                                 size_t size, size_t *first)
{
    const size_t width = e->desc.element == 9 ? 8 : 4;
    bool passes = true, any = false;
    item->elements = 0;
    item->largest = 0;
    for (size_t i = 0; i < size; i += width) {
        const size_t bytes = size - i < width ? size - i : width;
        if (!memcmp(expected + i, found + i, bytes)) continue;
        if (bytes == width && e->desc.compare != TS_COMPARE_EXACT &&
            ts__ex_near(&e->desc, expected + i, found + i, width))
            continue;
        passes = false;
        item->elements++;
        if (!any) *first = i;
        any = true;
        if (bytes < width) continue;
        const double a = ts__ex_real(expected + i, e->desc.element);
        const double b = ts__ex_real(found + i, e->desc.element);
        const double apart = a > b ? a - b : b - a;
        if (apart > item->largest) item->largest = apart;
    }
    return passes;
}

static void ts__ex_note(ts_execution_item *item, const ts__ex_range *r,
                        uint32_t region, uint64_t offset,
                        const uint8_t *expected, const uint8_t *found,
                        size_t left)
{
    const size_t size = left < 8 ? left : 8;
    item->region = region;
    item->address = r->address;
    item->size = r->size;
    item->offset = offset;
    item->bytes_known = expected != NULL;
    if (expected) memcpy(item->expected, expected, size);
    memcpy(item->found, found, size);
}

// Compares one chunk that the operation left with what the record has.
static void ts__ex_compare(ts_execution *e, ts_execution_item *item,
                           const ts__ex_range *r, uint32_t region,
                           uint64_t chunk, const uint8_t *hash,
                           const uint8_t *found, size_t size)
{
    item->chunks++;
    if (!memcmp(&r->is[2 * chunk], hash, 16)) return;
    const uint8_t *const expected = ts__ex_bytes(e, hash, size);
    size_t first = 0;
    ts_execution_item tried = *item;
    if (expected &&
        ts__ex_chunk_differs(e, &tried, expected, found, size, &first)) {
        item->chunks_tolerated++;
        return;
    }
    item->chunks_different++;
    if (item->diverged) return;
    item->diverged = true;
    item->elements = tried.elements;
    item->largest = tried.largest;
    ts__ex_note(item, r, region, chunk * TS_CAPTURE_CHUNK + first,
                expected ? expected + first : NULL, found + first,
                size - first);
}

static const uint8_t *ts__ex_get(ts_execution *e, const ts__ex_range *r,
                                 uint64_t offset, uint64_t size)
{
    if (!r->device) return (const uint8_t *)(uintptr_t)(r->actual + offset);
    return e->desc.executor->read(e->state, e->scratch, r->actual + offset,
                                  size) == TS_OK
               ? e->scratch
               : NULL;
}

// Looks at what was left.
static ts_result ts__ex_look(ts_execution *e, ts_execution_item *item)
{
    item->digest = e->now.head.order & UINT64_MAX >> 16; // alone or merged
    for (uint32_t i = 0; i < e->now.head.region_count; i++) {
        const ts_capture_region *const region = &e->now.regions[i];
        ts__ex_range *const r = e->regions[i];
        const uint8_t *const after =
            ts__ex_list(e, region->after, region->size);
        if (!region->device && !(region->access & TS_ACCESS_WRITE)) continue;
        item->compared |= after != NULL;
        for (uint64_t k = 0; k < ts__ex_chunks(r->size); k++) {
            const size_t size = (size_t)ts__ex_chunk_size(r->size, k);
            const uint8_t *const found =
                ts__ex_get(e, r, k * TS_CAPTURE_CHUNK, size);
            if (!found) return TS_ERR_IO;
            const XXH128_hash_t sum = XXH3_128bits(found, size);
            const uint64_t hash[2] = { sum.low64, sum.high64 };
            item->digest =
                XXH3_64bits_withSeed(hash, sizeof hash, item->digest);
            memcpy(&r->is[2 * k], hash, 16);
            r->known[k] |= TS__EX_ACTUAL;
            if (!after) continue;
            memcpy(&r->was[2 * k], after + 16 * k, 16);
            r->known[k] |= TS__EX_RECORDED;
            ts__ex_compare(e, item, r, i, k, after + 16 * k, found, size);
        }
    }
    return TS_OK;
}

/* ---- 10.85 Execution: operations ---------------------------------------- */

// The stream of a track; NULL without memory, or if the device has none.
static ts__ex_stream *ts__ex_stream_find(ts_execution *e, uint32_t track)
{
    for (size_t i = 0; i < e->stream_count; i++)
        if (e->streams[i].track == track) return &e->streams[i];
    ts__ex_stream *const more =
        ts__mem_more(&e->desc.allocator, e->streams, &e->stream_capacity,
                     e->stream_count, sizeof *more);
    if (!more) return NULL;
    e->streams = more;
    ts_track t, above;
    ts__ex_stream made = { .track = track };
    uint64_t flags = 0;
    uint32_t device = 0;
    if (ts_reader_track(e->reader, track, &t)) {
        flags = t.flags;
        above = t;
        for (int i = 0; i < 8 && above.type != TS_TRACK_DEVICE; i++)
            if (!ts_reader_track(e->reader, above.parent, &above)) break;
        device = ts__ex_device(e, above.id);
    }
    // A graph has no legacy streams, and its edges are all said.
    if (e->as_graph)
        flags = (flags & ~(uint64_t)TS_STREAM_LEGACY_DEFAULT) |
                TS_STREAM_NON_BLOCKING;
    if (e->desc.executor->stream(e->state, device, flags, &made.stream) !=
        TS_OK)
        return NULL;
    more[e->stream_count] = made;
    return &more[e->stream_count++];
}

static ts_result ts__ex_launch(ts_execution *e, uint64_t stream)
{
    const ts_capture_operation *const h = &e->now.head;
    const ts__ex_module *const m = ts__ex_module_find(e, h->image);
    if (!m || m->reason) return TS_ERR_NOT_FOUND;
    const ts_executor_launch launch = {
        .module = m->module,
        .function = h->function,
        .name = ts_reader_name(e->reader, h->name).text,
        .grid = h->grid,
        .block = h->block,
        .shared = h->shared,
        .args_size = h->args_size,
        .param_count = h->param_count,
        .args = e->args,
        .params = e->now.params,
        .attributes = e->now.attributes,
    };
    return e->desc.executor->launch(e->state, stream, &launch);
}

static ts_result ts__ex_submit(ts_execution *e)
{
    const ts_capture_operation *const h = &e->now.head;
    const ts_executor *const x = e->desc.executor;
    const ts__ex_stream *const own = ts__ex_stream_find(e, h->track);
    if (!own) return TS_ERR_IO;
    const uint64_t stream = own->stream;
    if (h->kind == TS_EVENT_KERNEL) return ts__ex_launch(e, stream);
    // A map, say, that moves nothing.
    if (!h->size && !h->region_count) return TS_OK;
    ts__ex_end to, from;
    if (!ts__ex_translate(e, false, &to)) return TS_ERR_CORRUPT;
    if (h->kind == TS_EVENT_MEMSET) {
        const ts_executor_set set = { to.actual, h->size, h->value,
                                      e->now.attributes };
        return x->set(e->state, stream, &set);
    }
    if (!ts__ex_translate(e, true, &from)) return TS_ERR_CORRUPT;
    const ts_executor_copy copy = {
        .destination = to.actual,
        .source = from.actual,
        .size = h->size,
        .to_host = to.host,
        .from_host = from.host,
        .attributes = e->now.attributes,
    };
    return x->copy(e->state, stream, &copy);
}

// Whether a region of a device meets one before it: then one of them would
// take the other's place.
static bool ts__ex_meets(const ts_capture *c, uint32_t index)
{
    const ts_capture_region *const r = &c->regions[index];
    for (uint32_t i = 0; r->device && i < index; i++) {
        const ts_capture_region *const other = &c->regions[i];
        if (other->device && (r->address - other->address < other->size ||
                              other->address - r->address < r->size))
            return true;
    }
    return false;
}

// Not a record that only hostile bytes make.
static bool ts__ex_is_sane(ts_execution *e)
{
    const ts_capture_operation *const h = &e->now.head;
    if (h->kind != TS_EVENT_KERNEL && h->kind != TS_EVENT_MEMCPY &&
        h->kind != TS_EVENT_MEMSET)
        return false;
    for (uint32_t i = 0; i < h->region_count; i++) {
        const ts_capture_region *const r = &e->now.regions[i];
        const uint64_t *const list = r->before[0] ? r->before : r->after;
        if (!r->size || !ts__ex_list(e, list, r->size)) return false;
        // What belongs to no device is the host's own, which only copies use.
        if (!r->device && (h->kind == TS_EVENT_KERNEL || r->image))
            return false;
        if (ts__ex_meets(&e->now, i)) return false;
    }
    return true;
}

// Whether the executor heeds all that the record says of an operation.
static ts_reason ts__ex_is_known(ts_execution *e)
{
    const ts_executor *const x = e->desc.executor;
    const ts_text vendor = ts_reader_name(e->reader, e->now.head.vendor);
    ts_attribute one;
    if (vendor.size != strlen(x->name) ||
        memcmp(vendor.text, x->name, vendor.size))
        return TS_REASON_OTHER_BACKEND;
    for (uint64_t at = 0; ts_attribute_next(&e->now.attributes, &at, &one);) {
        const uint32_t *known = x->attributes;
        while (known && *known && *known != one.id)
            known++;
        if (!known || !*known) return TS_REASON_ATTR_UNKNOWN;
    }
    for (uint32_t i = 0; i < e->now.head.param_count; i++)
        if (e->now.params[i].type > TS_PARAM_OBJECT)
            return TS_REASON_PARAM_LAYOUT_UNKNOWN;
    return TS_REASON_NONE;
}

// Everything that must be there before an operation can run.
static ts_reason ts__ex_prepare(ts_execution *e, ts_execution_item *item)
{
    const ts_capture_operation *const h = &e->now.head;
    const ts_allocator *const a = &e->desc.allocator;
    if (!ts__ex_is_sane(e))
        return h->state == TS_CAPTURE_HASHES ? TS_REASON_SNAPSHOT_BUDGET
                                             : TS_REASON_BAD_CAPTURE;
    const ts_reason unknown = ts__ex_is_known(e);
    if (unknown) return unknown;
    while (h->region_count > e->region_capacity || !e->regions) {
        ts__ex_range **const more =
            ts__mem_more(a, e->regions, &e->region_capacity, e->region_capacity,
                         sizeof *more);
        if (!more) return TS_REASON_NO_MEMORY;
        e->regions = more;
    }
    while (h->args_size > e->args_capacity || !e->args) {
        uint8_t *const more =
            ts__mem_more(a, e->args, &e->args_capacity, e->args_capacity, 1);
        if (!more) return TS_REASON_NO_MEMORY;
        e->args = more;
    }
    if (h->args_size) memcpy(e->args, e->now.args, h->args_size);
    if (h->kind == TS_EVENT_KERNEL) {
        const ts__ex_module *const m = ts__ex_module_find(e, h->image);
        if (!m) return TS_REASON_NO_MEMORY;
        if (m->reason) return m->reason;
    }
    for (uint32_t i = 0; i < h->region_count; i++) {
        const ts_reason reason =
            ts__ex_find(e, &e->now.regions[i], &e->regions[i]);
        if (reason) return reason;
    }
    if (!ts__ex_have_all(e))
        return h->state == TS_CAPTURE_HASHES ? TS_REASON_SNAPSHOT_BUDGET
                                             : TS_REASON_MEMORY_MISSING;
    return h->kind == TS_EVENT_KERNEL ? ts__ex_rewrite(e, item)
                                      : ts__ex_ends(e, item);
}

// One run from the recorded inputs, or from what a chain left.
static ts_reason ts__ex_once(ts_execution *e, ts_execution_item *item)
{
    ts_result result = ts__ex_fill(e, item);
    if (result != TS_OK) return TS_REASON_DEVICE_FAILED;
    __atomic_store_n(&item->running, 1, __ATOMIC_RELEASE);
    result = ts__ex_submit(e);
    if (result == TS_OK)
        result = e->desc.executor->wait(e->state, e->desc.timeout_ms);
    if (result == TS_ERR_BUSY) e->lost = true;
    if (result != TS_ERR_BUSY)
        __atomic_store_n(&item->running, 0, __ATOMIC_RELEASE);
    if (result == TS_OK) result = ts__ex_look(e, item);
    return ts__ex_reason(e, result);
}

// What another run left is not known chunk by chunk.
static void ts__ex_unknow(ts_execution *e)
{
    for (uint32_t i = 0; i < e->now.head.region_count; i++) {
        const ts__ex_range *const r = e->regions[i];
        for (uint64_t k = 0; k < ts__ex_chunks(r->size); k++)
            r->known[k] = 0;
    }
}

// More runs from the same inputs: results that differ are not determined.
static ts_reason ts__ex_repeat(ts_execution *e, ts_execution_item *item)
{
    const uint64_t first = item->digest;
    ts_reason reason = TS_REASON_NONE;
    for (uint32_t i = 1; i < e->desc.loops && !reason; i++) {
        ts_execution_item other = *item;
        other.chunks = other.chunks_different = other.chunks_tolerated = 0;
        ts__ex_unknow(e);
        // What watches looks at the item itself.
        __atomic_store_n(&item->running, 1, __ATOMIC_RELEASE);
        reason = ts__ex_once(e, &other);
        __atomic_store_n(&item->running, other.running, __ATOMIC_RELEASE);
        if (reason || other.digest == first) continue;
        item->unstable = true;
        if (item->diverged || !other.diverged) continue;
        *item = other; // it shows where, and by how much
        item->unstable = true;
        item->digest = first;
    }
    return reason;
}

static bool ts__ex_is_done(const ts_capture *c, ts_execution_item *item)
{
    if (c->head.kind == TS_EVENT_HOST_FUNCTION) {
        // The host does it; what it left is in the inputs of what comes next.
        item->outcome = TS_OUTCOME_SUBSTITUTED;
        item->reason = TS_REASON_HOST_CALLBACK;
    } else if (c->head.state == TS_CAPTURE_DECLINED) {
        item->outcome = TS_OUTCOME_DECLINED;
        item->reason = c->head.reason < TS_REASON_LIMIT && c->head.reason
                           ? c->head.reason
                           : TS_REASON_BAD_CAPTURE;
    }
    return item->outcome != TS_OUTCOME_NONE;
}

// Says what came of an operation.
static void ts__ex_settle(const ts_execution *e, ts_execution_item *item,
                          ts_reason reason)
{
    // In a chain the inputs of what comes next hold its results.
    const bool known = e->desc.chain && e->now.head.state == TS_CAPTURE_WHOLE;
    item->reason = reason;
    if (reason) item->level = 0;
    // release: whoever sees the outcome sees all of the item
    __atomic_store_n(&item->outcome,
                     !reason ? TS_OUTCOME_EXECUTED
                     : known && reason != TS_REASON_TIMEOUT
                         ? TS_OUTCOME_SUBSTITUTED
                         : TS_OUTCOME_DECLINED,
                     __ATOMIC_RELEASE);
}

TS_API void ts_execution_run(ts_execution *e, size_t index,
                             ts_execution_item *item)
{
    memset(item, 0, sizeof *item);
    ts_reason reason = TS_REASON_BAD_CAPTURE;
    if (index < e->count &&
        ts_reader_capture(e->reader, e->captures[index], &e->now)) {
        if (ts__ex_is_done(&e->now, item)) return;
        e->op = index;
        reason = e->lost ? TS_REASON_DEVICE_FAILED : ts__ex_prepare(e, item);
        if (!reason) reason = ts__ex_once(e, item);
        if (!reason && e->desc.loops > 1) reason = ts__ex_repeat(e, item);
        if (!e->lost) ts__ex_drop_hosts(e);
    }
    ts__ex_settle(e, item, reason);
}

static int ts__ex_order_range(const void *left, const void *right)
{
    const ts_executor_range *const a = left, *const b = right;
    if (a->device != b->device) return a->device < b->device ? -1 : 1;
    if (a->address != b->address) return a->address < b->address ? -1 : 1;
    return (a->size > b->size) - (a->size < b->size);
}

static bool ts__ex_add_device(ts_execution *e, uint32_t track)
{
    uint32_t at = 0;
    while (at < e->device_count && e->devices[at] < track)
        at++;
    if (at < e->device_count && e->devices[at] == track) return true;
    if (e->device_count == 64) return false;
    memmove(&e->devices[at + 1], &e->devices[at],
            (e->device_count++ - at) * sizeof *e->devices);
    e->devices[at] = track;
    return true;
}

static bool ts__ex_same_range(const ts_executor_range *a,
                              const ts_executor_range *b)
{
    return a->address == b->address && a->size == b->size &&
           a->device == b->device;
}

// The memory of all captures, once each.
static ts_result ts__ex_all_ranges(ts_execution *e, ts_executor_range **ranges,
                                   size_t *count, size_t *capacity)
{
    ts_capture c;
    for (size_t i = 0; i < e->count; i++) {
        if (!ts_reader_capture(e->reader, e->captures[i], &c)) continue;
        for (uint32_t j = 0; j < c.head.region_count; j++) {
            const ts_capture_region *const r = &c.regions[j];
            if (!r->device || r->image) continue;
            if (!ts__ex_add_device(e, r->device)) return TS_ERR_UNSUPPORTED;
            ts_executor_range *const more = ts__mem_more(
                &e->desc.allocator, *ranges, capacity, *count, sizeof *more);
            if (!more) return TS_ERR_MEMORY;
            *ranges = more;
            const ts_executor_range one = { r->address, r->size, r->device,
                                            NULL };
            if (!*count || !ts__ex_same_range(&more[*count - 1], &one))
                more[(*count)++] = one;
        }
    }
    for (size_t i = 0; i < *count; i++) {
        ts_executor_range *const r = &(*ranges)[i];
        ts_track device;
        if (ts_reader_track(e->reader, r->device, &device))
            r->name = device.name.text;
        r->device = ts__ex_device(e, r->device);
    }
    if (*count) ts__sort(*ranges, *count, sizeof **ranges, ts__ex_order_range);
    return TS_OK;
}

static ts_result ts__ex_open(ts_execution *e, char *why, size_t room)
{
    ts_executor_range *ranges = NULL;
    size_t count = 0, capacity = 0;
    ts_result result = ts__ex_all_ranges(e, &ranges, &count, &capacity);
    e->scratch = ts__mem_get(&e->desc.allocator, TS_CAPTURE_CHUNK + 8);
    if (!e->scratch) result = TS_ERR_MEMORY;
    if (result == TS_OK)
        result = e->desc.executor->open(&e->state,
                                        e->device_count ? e->device_count : 1,
                                        ranges, count, why, room);
    ts__mem_put(&e->desc.allocator, ranges, capacity * sizeof *ranges);
    return result;
}

TS_API ts_result ts_execution_open(ts_execution **execution, ts_reader *reader,
                                   const size_t *captures, size_t count,
                                   const ts_execution_desc *desc, char *why,
                                   size_t room)
{
    if (!execution) return TS_ERR_USAGE;
    *execution = NULL;
    if (room) *why = 0;
    if (!reader || !desc || !desc->executor || (count && !captures))
        return TS_ERR_USAGE;
    ts_execution_desc d = *desc;
    if (!d.allocator.resize) d.allocator.resize = ts__mem_default;
    if (!d.timeout_ms) d.timeout_ms = 10000;
    if (!d.element) d.element = 8;
    ts_execution *const e = ts__mem_get(&d.allocator, sizeof *e);
    if (!e) return TS_ERR_MEMORY;
    memset(e, 0, sizeof *e);
    e->reader = reader;
    e->captures = captures;
    e->count = count;
    e->desc = d;
    const ts_result result = ts__ex_open(e, why, room);
    if (result == TS_OK)
        *execution = e;
    else
        ts_execution_close(e);
    return result;
}

TS_API void ts_execution_close(ts_execution *e)
{
    if (!e) return;
    const ts_allocator a = e->desc.allocator;
    // What still runs uses all of it; perhaps it came to an end after all.
    if (e->lost && e->desc.executor->wait(e->state, 0) == TS_OK)
        e->lost = false;
    if (!e->lost) {
        ts__ex_drop_hosts(e);
        while (e->range_count)
            ts__ex_drop(e, e->range_count - 1);
    }
    if (e->state && !e->lost) e->desc.executor->close(e->state);
    ts__mem_put(&a, e->ranges, e->range_capacity * sizeof *e->ranges);
    ts__mem_put(&a, e->hosts, e->host_capacity * sizeof *e->hosts);
    ts__mem_put(&a, e->modules, e->module_capacity * sizeof *e->modules);
    ts__mem_put(&a, e->streams, e->stream_capacity * sizeof *e->streams);
    ts__mem_put(&a, e->regions, e->region_capacity * sizeof *e->regions);
    ts__mem_put(&a, e->args, e->args_capacity);
    ts__mem_put(&a, e->scratch, e->scratch ? TS_CAPTURE_CHUNK + 8 : 0);
    ts__mem_put(&a, e, sizeof *e);
}
