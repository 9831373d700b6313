/* ---- Graph: vectors, maps, sorting -------------------------------------- */

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>
#include <stdlib.h>
#include <string.h>

// Recorded times lie within this limit and computed ones within four times of
// it, so that neither a sum nor a difference of two overflows.
#define TS__REPLAY_TIME_MAX (INT64_C(1) << 60)
#define TS__REPLAY_SUM_MAX  ((INT64_C(1) << 62) - 1)
#define TS__REPLAY_OPS_MAX  (UINT32_C(1) << 31)
#define TS__NO_TIME         INT64_MIN

static int64_t ts__replay_add(int64_t a, int64_t b)
{
    const int64_t sum = a + b;
    if (sum > TS__REPLAY_SUM_MAX) return TS__REPLAY_SUM_MAX;
    return sum < -TS__REPLAY_SUM_MAX ? -TS__REPLAY_SUM_MAX : sum;
}

// A growing array. Grows by doubling; a non-empty block has room for one
// element at least.
typedef struct ts__rvec {
    void *data;
    size_t count, capacity, size; // size: of an element
} ts__rvec;

static void ts__rvec_close(const ts_allocator *a, ts__rvec *v)
{
    if (v->data) a->resize(a->user, v->data, v->capacity * v->size, 0);
    v->data = NULL;
    v->count = v->capacity = 0;
}

// Reserves room for `capacity` elements in all and keeps the present ones.
static bool ts__rvec_reserve(const ts_allocator *a, ts__rvec *v, size_t size,
                             size_t capacity)
{
    v->size = size;
    if (!capacity) capacity = 1;
    if (capacity <= v->capacity) return true;
    if (capacity > SIZE_MAX / 2 / size) return false;
    void *const data =
        a->resize(a->user, v->data, v->capacity * size, capacity * size);
    if (!data) return false;
    v->data = data;
    v->capacity = capacity;
    return true;
}

// Returns unused memory; on failure the array stays unchanged.
static void ts__rvec_trim(const ts_allocator *a, ts__rvec *v)
{
    const size_t capacity = v->count ? v->count : 1;
    if (!v->data || capacity == v->capacity) return;
    void *const data =
        a->resize(a->user, v->data, v->capacity * v->size, capacity * v->size);
    if (!data) return;
    v->data = data;
    v->capacity = capacity;
}

// Appends an uninitialised element; NULL without memory.
static void *ts__rvec_push(const ts_allocator *a, ts__rvec *v, size_t size)
{
    if (v->count == v->capacity &&
        !ts__rvec_reserve(a, v, size, v->capacity ? v->capacity * 2 : 64))
        return NULL;
    return (char *)v->data + size * v->count++;
}

static bool ts__rvec_fill(const ts_allocator *a, ts__rvec *v, size_t size,
                          size_t count, int byte)
{
    if (!ts__rvec_reserve(a, v, size, count)) return false;
    memset(v->data, byte, size * count);
    v->count = count;
    return true;
}

// A hash map: open addressing with linear probing. The value TS_NODE_NONE marks
// a free slot.
typedef struct ts__rmap_entry {
    uint64_t key;
    uint32_t value;
} ts__rmap_entry;

typedef struct ts__rmap {
    ts__rvec entries;
    size_t used;
} ts__rmap;

static ts__rmap_entry *ts__rmap_slot(const ts__rmap *map, uint64_t key)
{
    ts__rmap_entry *const entries = (ts__rmap_entry *)map->entries.data;
    const size_t mask = map->entries.count - 1;
    // Fibonacci hashing: the high bits of the product are well mixed.
    size_t i = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 32) & mask;
    while (entries[i].value != TS_NODE_NONE && entries[i].key != key)
        i = (i + 1) & mask;
    return &entries[i];
}

static bool ts__rmap_grow(const ts_allocator *a, ts__rmap *map)
{
    const ts__rmap old = *map;
    const size_t count = old.entries.count ? old.entries.count * 2 : 64;
    ts__rmap bigger = { { 0 }, old.used };
    if (!ts__rvec_fill(a, &bigger.entries, sizeof(ts__rmap_entry), count, 0xFF))
        return false;
    const ts__rmap_entry *const entries =
        (const ts__rmap_entry *)old.entries.data;
    for (size_t i = 0; i < old.entries.count; i++)
        if (entries[i].value != TS_NODE_NONE)
            *ts__rmap_slot(&bigger, entries[i].key) = entries[i];
    ts__rvec_close(a, &map->entries);
    *map = bigger;
    return true;
}

static uint32_t ts__rmap_get(const ts__rmap *map, uint64_t key)
{
    return map->used ? ts__rmap_slot(map, key)->value : TS_NODE_NONE;
}

static bool ts__rmap_put(const ts_allocator *a, ts__rmap *map, uint64_t key,
                         uint32_t value)
{
    if (map->used * 2 >= map->entries.count && !ts__rmap_grow(a, map))
        return false;
    ts__rmap_entry *const slot = ts__rmap_slot(map, key);
    map->used += slot->value == TS_NODE_NONE;
    slot->key = key;
    slot->value = value;
    return true;
}

/*
    A stable sort of indices by u64 keys, in linear time. Keys that are spread
    evenly go into buckets of equal width, which leaves little to sort within
    the buckets. Other keys are radix-sorted; digits that are equal in all keys
    are skipped. For several keys sort by the least significant one first.
*/
typedef struct ts__rsort {
    ts__rvec keys[2], index[2];
    ts__rvec counts; // uint32_t of each bucket
} ts__rsort;
enum { TS__RSORT_SHARE = 2 }; // keys in a bucket, on average

static bool ts__rsort_open(const ts_allocator *a, ts__rsort *s, size_t count)
{
    for (int i = 0; i < 2; i++)
        if (!ts__rvec_reserve(a, &s->keys[i], sizeof(uint64_t), count) ||
            !ts__rvec_reserve(a, &s->index[i], sizeof(uint32_t), count))
            return false;
    return ts__rvec_reserve(a, &s->counts, sizeof(uint32_t),
                            count / TS__RSORT_SHARE + 2);
}

static void ts__rsort_close(const ts_allocator *a, ts__rsort *s)
{
    for (int i = 0; i < 2; i++) {
        ts__rvec_close(a, &s->keys[i]);
        ts__rvec_close(a, &s->index[i]);
    }
    ts__rvec_close(a, &s->counts);
}

// Frees everything but the resulting order.
static void ts__rsort_keep_order(const ts_allocator *a, ts__rsort *s)
{
    ts__rvec_close(a, &s->keys[0]);
    ts__rvec_close(a, &s->keys[1]);
    ts__rvec_close(a, &s->index[1]);
    ts__rvec_close(a, &s->counts);
}

static uint64_t *ts__rsort_keys(const ts__rsort *s)
{
    return (uint64_t *)s->keys[0].data;
}

static uint32_t *ts__rsort_index(const ts__rsort *s)
{
    return (uint32_t *)s->index[0].data;
}

static uint64_t ts__rsort_time(int64_t time)
{
    return (uint64_t)time ^ UINT64_C(1) << 63;
}

static void ts__rsort_swap(ts__rsort *s)
{
    const ts__rvec k = s->keys[0], x = s->index[0];
    s->keys[0] = s->keys[1];
    s->index[0] = s->index[1];
    s->keys[1] = k;
    s->index[1] = x;
}

static void ts__rsort_pass(ts__rsort *s, size_t count, int shift,
                           size_t *offset)
{
    const uint64_t *const keys = (const uint64_t *)s->keys[0].data;
    const uint32_t *const index = (const uint32_t *)s->index[0].data;
    uint64_t *const to_keys = (uint64_t *)s->keys[1].data;
    uint32_t *const to_index = (uint32_t *)s->index[1].data;
    for (size_t i = 0; i < count; i++) {
        const size_t at = offset[keys[i] >> shift & 255]++;
        to_keys[at] = keys[i];
        to_index[at] = index[i];
    }
    ts__rsort_swap(s);
}

// Returns the smallest shift that maps keys with a spread of `range` to no more
// values than there are buckets.
static int ts__rsort_shift(uint64_t range, size_t count)
{
    int shift = 0;
    while (range >> shift >= count / TS__RSORT_SHARE)
        shift++;
    return shift;
}

// Sorts by buckets, unless too many pairs of keys share a bucket, as these may
// need to be exchanged one by one. Returns whether it did.
static bool ts__rsort_buckets(ts__rsort *s, size_t count, uint64_t least,
                              uint64_t range)
{
    const uint64_t *const keys = ts__rsort_keys(s);
    uint32_t *const first = (uint32_t *)s->counts.data;
    const int shift = ts__rsort_shift(range, count);
    const size_t buckets = (size_t)(range >> shift) + 1;
    memset(first, 0, (buckets + 1) * sizeof *first);
    uint64_t pairs = 0;
    for (size_t i = 0; i < count; i++)
        pairs += first[((keys[i] - least) >> shift) + 1]++;
    if (pairs > 8 * (uint64_t)count) return false;
    for (size_t i = 1; i <= buckets; i++)
        first[i] += first[i - 1];
    uint64_t *const to = (uint64_t *)s->keys[1].data;
    uint32_t *const to_index = (uint32_t *)s->index[1].data;
    const uint32_t *const index = ts__rsort_index(s);
    for (size_t i = 0; i < count; i++) {
        const uint32_t at = first[(keys[i] - least) >> shift]++;
        to[at] = keys[i];
        to_index[at] = index[i];
    }
    for (size_t i = 1; i < count; i++) {
        const uint64_t key = to[i];
        if (to[i - 1] <= key) continue;
        const uint32_t moved = to_index[i];
        size_t at = i;
        for (; at && to[at - 1] > key; at--) {
            to[at] = to[at - 1];
            to_index[at] = to_index[at - 1];
        }
        to[at] = key;
        to_index[at] = moved;
    }
    ts__rsort_swap(s);
    return true;
}

static void ts__rsort_digits(ts__rsort *s, size_t count, uint64_t differ)
{
    for (int shift = 0; shift < 64; shift += 8) {
        if (!(differ >> shift & 255)) continue;
        size_t offset[256] = { 0 };
        const uint64_t *const now = ts__rsort_keys(s);
        for (size_t i = 0; i < count; i++)
            offset[now[i] >> shift & 255]++;
        size_t sum = 0;
        for (size_t i = 0; i < 256; i++) {
            const size_t here = offset[i];
            offset[i] = sum;
            sum += here;
        }
        ts__rsort_pass(s, count, shift, offset);
    }
}

static void ts__rsort_run(ts__rsort *s, size_t count)
{
    const uint64_t *const keys = ts__rsort_keys(s);
    uint64_t differ = 0, least = UINT64_MAX, most = 0;
    bool sorted = true;
    for (size_t i = 0; i < count; i++) {
        differ |= keys[i] ^ keys[0];
        sorted &= most <= keys[i]; // of the keys so far
        if (keys[i] < least) least = keys[i];
        if (keys[i] > most) most = keys[i];
    }
    if (sorted ||
        (count >= 64 && ts__rsort_buckets(s, count, least, most - least)))
        return;
    ts__rsort_digits(s, count, differ);
}

/*
    Turns the sizes of `groups` groups, followed by a 0, into the ends of the
    groups. The caller then places the members from the last to the first, at
    --offsets[group], which turns the ends into the beginnings.
*/
static void ts__offsets_sum(uint32_t *offsets, size_t groups)
{
    uint32_t sum = 0;
    for (size_t i = 0; i <= groups; i++) {
        sum += offsets[i];
        offsets[i] = sum;
    }
}
