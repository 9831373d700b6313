/* ---- Execution: contents ------------------------------------------------ */

/*
    Whether a chunk has to be taken from the record: unless it already contains
    the right bytes. In a chain, only if the record shows that something else
    wrote it after the last replayed operation, and not if the current operation
    is earlier in the record than that one, since the recorded contents are then
    older than the current ones.
*/
static bool ts__ex_needs_recorded(const ts_execution *e, const ts__ex_range *r,
                                  uint64_t chunk, const uint8_t *hash)
{
    const uint8_t known = r->known[chunk];
    if (e->desc.chain && known & TS__EX_RECORDED)
        return !e->desc.no_patches && !e->late &&
               memcmp(&r->recorded[2 * chunk], hash, 16);
    return !(known & TS__EX_ACTUAL) || memcmp(&r->current[2 * chunk], hash, 16);
}

// Whether an operation reads the contents of a region. What a copy overwrites
// entirely is no input, and may be missing in the trace.
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
            if (ts__ex_needs_recorded(e, r, k, list + 16 * k) &&
                !ts__ex_bytes(e, list + 16 * k, ts__ex_chunk_size(r->size, k),
                              false))
                return false;
    }
    return true;
}

// The end of a run of chunks that are all blank, or all not known to be.
typedef struct ts__ex_blank {
    uint64_t end;
    bool is;
} ts__ex_blank;

// Whether the executor knows that a chunk was never written and is zero.
static bool ts__ex_is_blank(const ts_execution *e, const ts__ex_range *r,
                            uint64_t chunk, ts__ex_blank *b)
{
    const ts_executor *const x = e->desc.executor;
    const uint64_t at = chunk * TS_CAPTURE_CHUNK;
    if (!x->blank || !r->device || r->image ||
        ts__ex_chunk_size(r->size, chunk) < TS_CAPTURE_CHUNK)
        return false;
    if (chunk >= b->end)
        b->end = chunk + ts__ex_chunks(x->blank(e->state, r->actual + at,
                                                r->size - at, &b->is));
    return b->is && chunk < b->end;
}

// Writes a chunk into its place, unless it is blank there and zero.
static ts_result ts__ex_put(ts_execution *e, const ts__ex_range *r,
                            uint64_t chunk, const uint8_t *bytes, uint64_t size,
                            ts__ex_blank *blank)
{
    const uint64_t offset = chunk * TS_CAPTURE_CHUNK;
    if (bytes == ts__ex_zeros && ts__ex_is_blank(e, r, chunk, blank))
        return TS_OK;
    if (r->device)
        return e->desc.executor->write(e->state, r->actual + offset, bytes,
                                       size);
    memcpy((void *)(uintptr_t)(r->actual + offset), bytes, (size_t)size);
    return TS_OK;
}

// Counts a chunk that a chain takes from the record.
static void ts__ex_note_patch(ts_execution_item *item, const ts__ex_range *r,
                              uint64_t chunk)
{
    const bool differs =
        r->known[chunk] & TS__EX_ACTUAL &&
        memcmp(&r->current[2 * chunk], &r->recorded[2 * chunk], 16);
    if (!item->patched++)
        item->patched_address = r->address + chunk * TS_CAPTURE_CHUNK;
    item->patched_different += differs;
}

// Puts the recorded inputs in place. Call only after ts__ex_have_all returned
// true.
static ts_result ts__ex_fill(ts_execution *e, ts_execution_item *item)
{
    for (uint32_t i = 0; i < e->now.head.region_count; i++) {
        const ts_capture_region *const region = &e->now.regions[i];
        ts__ex_range *const r = e->regions[i];
        if (!ts__ex_is_input(region)) continue;
        const uint8_t *const list =
            ts__ex_list(e, region->before, region->size);
        ts__ex_blank blank = { 0, false };
        for (uint64_t k = 0; list && k < ts__ex_chunks(r->size); k++) {
            const uint64_t size = ts__ex_chunk_size(r->size, k);
            if (!ts__ex_needs_recorded(e, r, k, list + 16 * k)) continue;
            const uint8_t *const bytes =
                ts__ex_bytes(e, list + 16 * k, size, false);
            if (!bytes) return TS_ERR_NOT_FOUND;
            const ts_result result = ts__ex_put(e, r, k, bytes, size, &blank);
            if (result != TS_OK) return result;
            if (r->known[k] & TS__EX_RECORDED && e->desc.chain)
                ts__ex_note_patch(item, r, k);
            memcpy(&r->current[2 * k], list + 16 * k, 16);
            memcpy(&r->recorded[2 * k], list + 16 * k, 16);
            ts__ex_set_known(r, k, TS__EX_ACTUAL | TS__EX_RECORDED);
        }
    }
    return TS_OK;
}
