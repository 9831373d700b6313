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

// A chunk as it is now, which the digest counts; NULL: it cannot be read.
static const uint8_t *ts__ex_take(ts_execution *e, ts_execution_item *item,
                                  ts__ex_range *r, uint64_t k, size_t size)
{
    const uint8_t *const found = ts__ex_get(e, r, k * TS_CAPTURE_CHUNK, size);
    if (!found) return NULL;
    const XXH128_hash_t sum = XXH3_128bits(found, size);
    const uint64_t hash[2] = { sum.low64, sum.high64 };
    item->digest = XXH3_64bits_withSeed(hash, sizeof hash, item->digest);
    memcpy(&r->is[2 * k], hash, 16);
    r->known[k] |= TS__EX_ACTUAL;
    return found;
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
            const uint8_t *const found = ts__ex_take(e, item, r, k, size);
            if (!found) return TS_ERR_IO;
            if (!after) continue;
            memcpy(&r->was[2 * k], after + 16 * k, 16);
            r->known[k] |= TS__EX_RECORDED;
            ts__ex_compare(e, item, r, i, k, after + 16 * k, found, size);
        }
    }
    return TS_OK;
}
