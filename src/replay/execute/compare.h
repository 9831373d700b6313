/* ---- Execution: comparison ---------------------------------------------- */

// The layout of elements of a type. Floats have exponent and mantissa bits.
typedef struct ts__element {
    const char *name;
    uint8_t size;
    bool is_unsigned;
    uint8_t exponent, mantissa;
    bool is_finite; // has no infinity: only a value of all ones is NaN
} ts__element;

static const ts__element *ts__element_of(uint64_t element)
{
    static const ts__element all[TS_ELEMENT_LIMIT] = {
        { .size = 0 },
        { .name = "i8", .size = 1 },
        { .name = "u8", .size = 1, .is_unsigned = true },
        { .name = "i32", .size = 4 },
        { .name = "u32", .size = 4, .is_unsigned = true },
        { .name = "i64", .size = 8 },
        { .name = "u64", .size = 8, .is_unsigned = true },
        { .name = "f16", .size = 2, .exponent = 5, .mantissa = 10 },
        { .name = "f32", .size = 4, .exponent = 8, .mantissa = 23 },
        { .name = "f64", .size = 8, .exponent = 11, .mantissa = 52 },
        { .name = "bf16", .size = 2, .exponent = 8, .mantissa = 7 },
        // Source: OCP 8-bit Floating Point Specification 1.0, section 5
        { .name = "f8e4m3",
          .size = 1,
          .exponent = 4,
          .mantissa = 3,
          .is_finite = true },
        { .name = "f8e5m2", .size = 1, .exponent = 5, .mantissa = 2 },
    };
    return &all[element < TS_ELEMENT_LIMIT ? element : 0];
}

TS_API const char *ts_element_name(uint64_t element)
{
    return ts__element_of(element)->name;
}

TS_API uint32_t ts_element_size(uint64_t element)
{
    return ts__element_of(element)->size;
}

// Returns the bytes of an element as an unsigned number.
static uint64_t ts__element_bits(const ts__element *t, const void *at)
{
    uint64_t bits = 0; // little-endian, as everything in the format
    memcpy(&bits, at, t->size);
    return bits;
}

static double ts__element_power(int exponent)
{
    const uint64_t bits = (uint64_t)(1023 + exponent) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

// Converts a float that is narrower than a double, which represents it exactly.
static double ts__element_real(const ts__element *t, uint64_t bits)
{
    const uint64_t ones = (UINT64_C(1) << t->exponent) - 1;
    const uint64_t mantissa = bits & ((UINT64_C(1) << t->mantissa) - 1);
    const uint64_t exponent = bits >> t->mantissa & ones;
    const int bias = (int)(ones >> 1) + t->mantissa;
    const bool minus = bits >> (t->exponent + t->mantissa) & 1;
    const uint64_t top = UINT64_C(1) << t->mantissa;
    double value = exponent ? (double)(top | mantissa) : (double)mantissa;
    value *= ts__element_power((exponent ? (int)exponent : 1) - bias);
    if (exponent == ones && (!t->is_finite || mantissa == top - 1)) {
        // The reader does without <math.h>.
        const uint64_t special =
            UINT64_C(0x7FF) << 52 | (uint64_t)(t->is_finite || mantissa != 0)
                                        << 51;
        memcpy(&value, &special, sizeof value);
    }
    return minus ? -value : value;
}

TS_API double ts_element_value(uint64_t element, const void *bytes)
{
    const ts__element *const t = ts__element_of(element);
    const uint64_t bits = ts__element_bits(t, bytes);
    if (t->size == 8 && t->exponent) {
        double value;
        memcpy(&value, bytes, sizeof value);
        return value;
    }
    if (t->exponent) return ts__element_real(t, bits);
    if (t->is_unsigned || !t->size) return (double)bits;
    const uint32_t above = 64 - 8u * t->size;
    return (double)((int64_t)(bits << above) >> above);
}

// Returns the position of a value among those of its type, where neighbours
// differ by 1. Both zeros of a float have the same position.
static uint64_t ts__element_place(const ts__element *t, const uint8_t *at)
{
    const uint64_t bits = ts__element_bits(t, at);
    const uint64_t sign = UINT64_C(1) << (8 * t->size - 1);
    const uint64_t middle = UINT64_C(1) << 63;
    if (t->is_unsigned) return bits;
    if (t->exponent)
        return bits & sign ? middle - (bits & ~sign) : middle + bits;
    return bits & sign ? middle - (sign - (bits & ~sign)) : middle + bits;
}

static uint64_t ts__element_steps(const ts__element *t, const uint8_t *a,
                                  const uint8_t *b)
{
    const uint64_t x = ts__element_place(t, a), y = ts__element_place(t, b);
    return x > y ? x - y : y - x;
}

// Returns how far two values differ: exact for integers as far as a double is;
// NaN if one of them is NaN.
static double ts__element_distance(uint32_t element, const uint8_t *a,
                                   const uint8_t *b)
{
    const ts__element *const t = ts__element_of(element);
    if (!t->exponent) return (double)ts__element_steps(t, a, b);
    const double x = ts_element_value(element, a);
    const double y = ts_element_value(element, b);
    return x > y ? x - y : x < y ? y - x : x + y == x + y ? 0 : x + y;
}

static bool ts__ex_is_finite(double value)
{
    return value - value == 0; // NaN otherwise
}

// Whether two values with different bytes are equal within the tolerance.
static bool ts__ex_near(const ts_execution_desc *d, const uint8_t *expected,
                        const uint8_t *found)
{
    const ts__element *const t = ts__element_of(d->element);
    const double a = ts_element_value(d->element, expected);
    const double b = ts_element_value(d->element, found);
    if (a != a || b != b) return a != a && b != b;
    // Infinities with different bytes have different signs.
    if (!ts__ex_is_finite(a) || !ts__ex_is_finite(b)) return false;
    const double distance = ts__element_distance(d->element, expected, found);
    if (d->compare == TS_COMPARE_RTOL)
        return distance <= d->absolute + d->tolerance * (a < 0 ? -a : a);
    return (double)ts__element_steps(t, expected, found) <= d->tolerance ||
           distance <= d->absolute;
}

// Compares two different contents of a chunk. Returns true if all differences
// are within the tolerance.
static bool ts__ex_chunk_differs(const ts_execution *e, ts_execution_item *item,
                                 const uint8_t *expected, const uint8_t *found,
                                 size_t size, size_t *first)
{
    const size_t width = ts_element_size(e->desc.element);
    bool passes = true, any = false;
    item->elements = 0;
    item->largest = 0;
    for (size_t i = 0; i < size; i += width) {
        const size_t bytes = size - i < width ? size - i : width;
        if (!memcmp(expected + i, found + i, bytes)) continue;
        if (bytes == width && e->desc.compare != TS_COMPARE_EXACT &&
            ts__ex_near(&e->desc, expected + i, found + i))
            continue;
        passes = false;
        item->elements++;
        if (!any) *first = i;
        any = true;
        if (bytes < width) continue;
        const double distance =
            ts__element_distance(e->desc.element, expected + i, found + i);
        if (distance > item->largest) item->largest = distance;
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

// Compares one chunk that the operation wrote with the recorded hash. found:
// its bytes, unless it is the same.
static void ts__ex_compare(ts_execution *e, ts_execution_item *item,
                           const ts__ex_range *r, uint32_t region,
                           uint64_t chunk, const uint8_t *hash,
                           const uint8_t *found, size_t size)
{
    item->chunks++;
    if (!memcmp(&r->current[2 * chunk], hash, 16)) return;
    const uint8_t *const expected = ts__ex_bytes(e, hash, size, false);
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

// Has the device hash a chunk and as many of those after it as fit.
static void ts__ex_request_hashes(ts_execution *e, const ts__ex_range *r,
                                  uint64_t first)
{
    const ts_executor *const x = e->desc.executor;
    uint64_t size = 0, end = first, one;
    while (end < ts__ex_chunks(r->size) && end - first < TS__EX_DEVICE_HASHES &&
           (one = ts__ex_chunk_size(r->size, end)) > 240) {
        size += one;
        end++;
    }
    e->device_hash_first = first;
    e->device_hash_end = end;
    e->device_hash_known =
        size && x->hash(e->state, r->actual + first * TS_CAPTURE_CHUNK, size,
                        e->device_hashes) == TS_OK;
}

// Returns the hash that the device computed of a chunk; NULL: none. Chunks of a
// range have to be requested in order from its first one. A device whose hash
// was once wrong is not asked again.
static const uint64_t *ts__ex_device_hash(ts_execution *e,
                                          const ts__ex_range *r, uint64_t chunk)
{
    if (!e->desc.executor->hash || !r->device || e->device_hash_wrong)
        return NULL;
    if (chunk >= e->device_hash_end) ts__ex_request_hashes(e, r, chunk);
    if (!e->device_hash_known || chunk >= e->device_hash_end) return NULL;
    return &e->device_hashes[2 * (chunk - e->device_hash_first)];
}

/*
    Hashes the current contents of a chunk and adds the hash to the digest.
    recorded: the recorded hash, NULL: none. *found receives the bytes; NULL if
    the device reports the recorded hash, or there is none to compare with.
*/
static ts_result ts__ex_hash_chunk(ts_execution *e, ts_execution_item *item,
                                   ts__ex_range *r, uint64_t k,
                                   ts__ex_blank *blank, const uint8_t *recorded,
                                   const uint8_t **found)
{
    const size_t size = (size_t)ts__ex_chunk_size(r->size, k);
    const bool zeros = ts__ex_is_blank(e, r, k, blank);
    const uint64_t *const device_hash =
        zeros ? NULL : ts__ex_device_hash(e, r, k);
    uint64_t hash[2] = { e->zeros[0], e->zeros[1] };
    const bool same =
        device_hash &&
        (!recorded || !memcmp(device_hash, recorded, sizeof hash));
    *found = zeros ? ts__ex_zeros : NULL;
    if (same) memcpy(hash, device_hash, sizeof hash);
    if (!zeros && !same) {
        *found = ts__ex_get(e, r, k * TS_CAPTURE_CHUNK, size);
        if (!*found) return TS_ERR_IO;
        const XXH128_hash_t sum = XXH3_128bits(*found, size);
        hash[0] = sum.low64;
        hash[1] = sum.high64;
        e->device_hash_wrong |=
            device_hash && memcmp(device_hash, hash, sizeof hash);
    }
    item->digest = XXH3_64bits_withSeed(hash, sizeof hash, item->digest);
    memcpy(&r->current[2 * k], hash, sizeof hash);
    r->known[k] |= TS__EX_ACTUAL;
    if (!zeros) r->known[k] |= TS__EX_WRITTEN;
    return TS_OK;
}

// Compares what the operation left with the record.
static ts_result ts__ex_check(ts_execution *e, ts_execution_item *item)
{
    // The same in a single and a merged trace.
    item->digest = e->now.head.order & UINT64_MAX >> 16;
    for (uint32_t i = 0; i < e->now.head.region_count; i++) {
        const ts_capture_region *const region = &e->now.regions[i];
        ts__ex_range *const r = e->regions[i];
        const uint8_t *const after =
            ts__ex_list(e, region->after, region->size);
        if (!region->device && !(region->access & TS_ACCESS_WRITE)) continue;
        ts__ex_blank blank = { 0, false };
        e->device_hash_end = 0; // those were of another range
        item->compared |= after != NULL;
        for (uint64_t k = 0; k < ts__ex_chunks(r->size); k++) {
            const size_t size = (size_t)ts__ex_chunk_size(r->size, k);
            const uint8_t *const hash_after = after ? after + 16 * k : NULL,
                                 *found;
            const ts_result result =
                ts__ex_hash_chunk(e, item, r, k, &blank, hash_after, &found);
            if (result != TS_OK) return result;
            if (!hash_after) continue;
            memcpy(&r->recorded[2 * k], hash_after, 16);
            r->known[k] |= TS__EX_RECORDED;
            ts__ex_compare(e, item, r, i, k, hash_after, found, size);
        }
    }
    return TS_OK;
}
