/* ---- Execution: code and memory ----------------------------------------- */

// Finds the bytes of code, if the trace has them. Returns false if there is no
// room to decompress them.
static bool ts__ex_code_bytes(ts_execution *e, ts_executor_code *code,
                              ts__scratch *scratch, char *why, size_t room)
{
    const uint64_t own = e->desc.memory_bytes;
    const uint64_t most =
        own && own < TS_EXECUTION_CODE_BYTES ? own : TS_EXECUTION_CODE_BYTES;
    const ts__blob_limits limits = { 0, UINT64_MAX, most, scratch };
    const uint8_t *bytes;
    size_t size;
    const ts_result result =
        ts__reader_blob(e->reader, code->hash, &limits, &bytes, &size);
    code->bytes = bytes;
    if (bytes) code->size = size;
    if (result != TS_ERR_NOT_FOUND || size <= most)
        return result != TS_ERR_MEMORY;
    snprintf(why, room, "its code of %.1f MiB exceeds %.1f MiB",
             (double)size / 1048576, (double)most / 1048576);
    return false;
}

static ts_reason ts__ex_load_from(ts_execution *e, uint32_t image,
                                  ts__ex_module *m, ts__scratch *scratch)
{
    ts_capture_image found;
    ts_executor_code code = { 0 };
    if (!ts_reader_image(e->reader, image, &found))
        return TS_REASON_IMAGE_MISSING;
    const ts_module_entry *const entry =
        ts_reader_module(e->reader, found.module);
    code.path = ts_reader_name(e->reader, entry ? entry->path : 0).text;
    code.options = ts_reader_name(e->reader, found.options).text;
    code.form = found.form;
    memcpy(code.hash, found.hash, sizeof code.hash);
    code.size = found.size;
    if (!ts__ex_code_bytes(e, &code, scratch, m->why, sizeof m->why))
        return TS_REASON_NO_MEMORY;
    const ts_result result = e->desc.executor->load(e->state, &code, &m->module,
                                                    m->why, sizeof m->why);
    const ts_reason reason = ts__ex_reason(e, result);
    if (reason != TS_REASON_DEVICE_FAILED) return reason;
    return result == TS_ERR_NOT_FOUND     ? TS_REASON_IMAGE_MISSING
           : result == TS_ERR_UNSUPPORTED ? TS_REASON_IMAGE_ARCH
                                          : reason;
}

static ts_reason ts__ex_load(ts_execution *e, uint32_t image, ts__ex_module *m)
{
    ts__scratch scratch = { NULL, 0 };
    const ts_reason reason = ts__ex_load_from(e, image, m, &scratch);
    ts__mem_put(&e->reader->allocator, scratch.bytes, scratch.size);
    return reason;
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
    memset(m, 0, sizeof *m);
    m->image = image;
    m->reason = ts__ex_load(e, image, m);
    return m;
}

static bool ts__ex_in_process(const ts_execution *e, const ts__ex_range *r)
{
    return !r->image && (!r->device || e->desc.executor->host_memory);
}

/*
    Returns how much memory of this process a region takes. Chunks of zeros that
    were never written and are not written now take none except for the tables.
*/
static uint64_t ts__ex_cost(ts_execution *e, const ts__ex_range *r,
                            const ts_capture_region *region)
{
    const uint64_t chunks = ts__ex_chunks(region->size);
    uint64_t cost = region->size + chunks * TS__EX_TABLES;
    if (!region->device || !e->desc.executor->blank) return region->size;
    const uint8_t *const before = ts__ex_list(e, region->before, region->size);
    const uint8_t *const after = ts__ex_list(e, region->after, region->size);
    for (uint64_t k = 0; k < region->size / TS_CAPTURE_CHUNK; k++)
        if (!(r->known[k] & TS__EX_WRITTEN) &&
            (!before || ts__ex_is_zeros(e, before + 16 * k)) &&
            (!after || ts__ex_is_zeros(e, after + 16 * k)))
            cost -= TS_CAPTURE_CHUNK;
    return cost < region->size ? cost : region->size;
}

// Reserves the memory that a region needs beyond that of its range. Returns
// false if it exceeds the limit.
static bool ts__ex_reserve(ts_execution *e, ts__ex_range *r,
                           const ts_capture_region *region)
{
    const uint64_t most = e->desc.memory_bytes;
    if (!ts__ex_in_process(e, r)) return true;
    const uint64_t cost = ts__ex_cost(e, r, region);
    if (cost <= r->cost) return true;
    const uint64_t others = e->bytes - r->cost;
    if (most && (cost > most || others > most - cost)) {
        e->missing_bytes = cost;
        return false;
    }
    e->bytes = others + cost;
    r->cost = cost;
    return true;
}

// Gives a range its memory: on a device, in a module, or in this process.
static ts_reason ts__ex_place(ts_execution *e, ts__ex_range *r)
{
    const ts_executor *const x = e->desc.executor;
    if (r->image) {
        const ts__ex_module *const m = ts__ex_module_find(e, r->image);
        if (!m) return TS_REASON_NO_MEMORY;
        if (m->reason) return m->reason;
        return ts__ex_reason(e, x->global(e->state, m->module,
                                          ts__ex_device(e, r->device),
                                          r->offset, r->size, &r->actual));
    }
    if (!r->device) {
        r->bytes = ts__mem_get(&e->desc.allocator, (size_t)r->size);
        if (!r->bytes) return TS_REASON_NO_MEMORY;
        memset(r->bytes, 0, (size_t)r->size);
        r->actual = (uintptr_t)r->bytes;
        return TS_REASON_NONE;
    }
    if (!ts__ex_has_device(e, r->device)) return TS_REASON_TOO_MANY;
    r->actual = r->address;
    return ts__ex_reason(e, x->allocate(e->state, ts__ex_device(e, r->device),
                                        &r->actual, r->size));
}

static void ts__ex_drop(ts_execution *e, size_t index)
{
    ts__ex_range *const r = e->ranges[index];
    if (!r->image) e->desc.executor->release(e->state, r->actual);
    e->bytes -= r->cost;
    ts__ex_range_free(e, r);
    e->ranges[index] = e->ranges[--e->range_count];
}

// Frees the host memory of the finished operation, or of the finished part.
static void ts__ex_drop_hosts(ts_execution *e)
{
    while (e->host_count) {
        ts__ex_range *const r = e->hosts[--e->host_count];
        e->bytes -= r->cost;
        ts__ex_range_free(e, r);
    }
    e->host_at = 0;
}

// Frees the ranges that the current operation does not use; they can be
// restored from the record. Not in a chain. Returns false if there are none.
static bool ts__ex_drop_others(ts_execution *e)
{
    const size_t before = e->range_count;
    for (size_t i = e->desc.chain ? 0 : before; i--;) {
        uint32_t k = 0;
        while (k < e->held && e->regions[k] != e->ranges[i])
            k++;
        if (k == e->held) ts__ex_drop(e, i);
    }
    return e->range_count < before;
}

// Makes a range and gives it memory, if need be that of other operations.
static ts_reason ts__ex_make(ts_execution *e, const ts_capture_region *region,
                             ts__ex_range **found)
{
    *found = ts__ex_range_new(e, region);
    if (!*found) return TS_REASON_NO_MEMORY;
    ts__ex_range *const r = *found;
    ts_reason reason = TS_REASON_NO_MEMORY;
    if (ts__ex_reserve(e, r, region) ||
        (ts__ex_drop_others(e) && ts__ex_reserve(e, r, region)))
        reason = ts__ex_place(e, r);
    if (reason == TS_REASON_NO_MEMORY && ts__ex_drop_others(e) &&
        ts__ex_reserve(e, r, region))
        reason = ts__ex_place(e, r);
    if (reason == TS_REASON_NO_MEMORY) e->missing_bytes = region->size;
    if (reason) {
        e->bytes -= r->cost;
        ts__ex_range_free(e, r);
    }
    return reason;
}

// Finds or makes the host memory of the current operation, which no other uses.
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

// The region would replace memory that is used by the same part.
#define TS__EX_OVERLAPS ((ts_reason)TS_REASON_LIMIT)

// Finds or makes the range of a region. Ranges that overlap it are dropped: the
// program freed them.
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
        if (same && ts__ex_reserve(e, r, region)) return TS_REASON_NONE;
        // Without a chain, it is restored from the record like other dropped
        // ranges.
        if (same && e->desc.chain) return TS_REASON_NO_MEMORY;
        const bool overlaps = r->address - region->address < region->size ||
                              region->address - r->address < r->size;
        if (overlaps && e->batch && r->batch == e->batch)
            return TS__EX_OVERLAPS;
        if (overlaps)
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
