/* ---- 7.60 Replay: memory, maps, sorting --------------------------------- */

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Recorded times lie within, computed ones within four times that, so that
// neither a sum nor a difference of two can overflow.
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

static void *ts__replay_resize(void *user, void *ptr, size_t old_size,
                               size_t new_size)
{
    (void)user, (void)old_size;
    if (new_size) return realloc(ptr, new_size);
    free(ptr);
    return NULL;
}

// A block of count elements, one at least; grows by doubling.
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

// Room for `capacity` elements in all; keeps what there is.
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

// One more element, not filled in; NULL without memory.
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

// Open addressing with linear probing. A value of TS_NODE_NONE is no entry.
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
    // Fibonacci hashing: the high bits of the product are the mixed ones.
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
    A stable radix sort of indices by u64 keys, linear in their number. Passes
    over bytes that are equal in all keys are left out. For several keys sort
    by the least significant one first.
*/
typedef struct ts__rsort {
    ts__rvec keys[2], index[2];
} ts__rsort;

static bool ts__rsort_open(const ts_allocator *a, ts__rsort *s, size_t count)
{
    for (int i = 0; i < 2; i++)
        if (!ts__rvec_reserve(a, &s->keys[i], sizeof(uint64_t), count) ||
            !ts__rvec_reserve(a, &s->index[i], sizeof(uint32_t), count))
            return false;
    return true;
}

static void ts__rsort_close(const ts_allocator *a, ts__rsort *s)
{
    for (int i = 0; i < 2; i++) {
        ts__rvec_close(a, &s->keys[i]);
        ts__rvec_close(a, &s->index[i]);
    }
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
    const ts__rvec k = s->keys[0], x = s->index[0];
    s->keys[0] = s->keys[1];
    s->index[0] = s->index[1];
    s->keys[1] = k;
    s->index[1] = x;
}

static void ts__rsort_run(ts__rsort *s, size_t count)
{
    const uint64_t *const keys = ts__rsort_keys(s);
    uint64_t differ = 0;
    bool sorted = true;
    for (size_t i = 1; i < count; i++) {
        differ |= keys[i] ^ keys[0];
        sorted &= keys[i - 1] <= keys[i];
    }
    for (int shift = 0; !sorted && shift < 64; shift += 8) {
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

/* ---- 7.61 Replay: what is held ------------------------------------------ */

// What a replay keeps of an operation besides its node.
typedef struct ts__op {
    int64_t issue; // place in the order of the host, or TS__NO_TIME
    uint64_t correlation;
    uint32_t thread; // track
    uint32_t label;  // launch, name or copy type; of event kinds: ts__event_op
    uint32_t call;   // node
    uint8_t kind, skip;
} ts__op;

// What event records, waits and syncs have besides.
typedef struct ts__event_op {
    uint32_t op;
    uint32_t after; // a record: work before it that outlasts it in the record
    uint64_t id, record;
} ts__event_op;

typedef struct ts__replay_lane {
    uint32_t track;
    uint32_t device;        // index of ts_replay.devices
    uint32_t device_track;  // 0 unknown
    uint32_t context_track; // the device's if there is none
    uint64_t device_number, number, flags;
    ts_track_type type;
    bool operations; // some lie here; else it is a thread that calls
    bool fifo;       // a stream
    bool selected;
} ts__replay_lane;

enum { TS__NODE_WAITS = 1, TS__NODE_SELECTED = 2 };

struct ts_replay {
    ts_reader *reader;
    ts_allocator allocator;
    ts_deps deps;
    uint32_t op_count, call_count, join_first, node_count;
    ts__rvec ops;        // ts__op
    ts__rvec call_names; // uint32_t
    ts__rvec events;     // ts__event_op
    ts__rvec lanes;      // ts__replay_lane
    ts__rvec waiters;    // nodes that have an end of their own, ascending
    // Of each node: recorded time and duration, lane, flags.
    ts__rvec time, duration, lane, flags;
    ts__rvec offsets, targets, kinds; // edges
    ts__rvec start, gap;              // of each node, by the run
    ts__rvec changed; // durations that the run used in place of the recorded
    ts__rvec lane_results, device_results; // ts_lane
    ts__rvec circle;                       // nodes
    ts_replay_stats stats;
};

// Typed looks into the vectors above.
static ts__op *ts__replay_op(const ts_replay *r, size_t i)
{
    return (ts__op *)r->ops.data + i;
}
static ts__replay_lane *ts__replay_lane_at(const ts_replay *r, size_t i)
{
    return (ts__replay_lane *)r->lanes.data + i;
}
static ts__event_op *ts__replay_event(const ts_replay *r, size_t i)
{
    return (ts__event_op *)r->events.data + i;
}
static int64_t *ts__replay_time(const ts_replay *r)
{
    return (int64_t *)r->time.data;
}
static int64_t *ts__replay_duration(const ts_replay *r)
{
    return (int64_t *)r->duration.data;
}
static uint32_t *ts__replay_lanes(const ts_replay *r)
{
    return (uint32_t *)r->lane.data;
}
static uint8_t *ts__replay_flags(const ts_replay *r)
{
    return (uint8_t *)r->flags.data;
}
static int64_t ts__replay_end(const ts_replay *r, uint32_t node)
{
    return ts__replay_time(r)[node] + ts__replay_duration(r)[node];
}

static bool ts__kind_syncs(uint8_t kind)
{
    return kind == TS_EVENT_STREAM_SYNC || kind == TS_EVENT_DEVICE_SYNC ||
           kind == TS_EVENT_EVENT_SYNC;
}
static bool ts__kind_has_event(uint8_t kind)
{
    return kind == TS_EVENT_EVENT_RECORD || kind == TS_EVENT_EVENT_WAIT ||
           kind == TS_EVENT_EVENT_SYNC;
}
// Keeps a device busy.
static bool ts__kind_works(uint8_t kind)
{
    return kind == TS_EVENT_KERNEL || kind == TS_EVENT_MEMCPY ||
           kind == TS_EVENT_MEMSET || kind == TS_EVENT_COLLECTIVE;
}
// The host does it itself: no stream runs it.
static bool ts__kind_of_host(uint8_t kind, bool fifo)
{
    if (ts__kind_syncs(kind)) return true;
    return !fifo && (kind == TS_EVENT_GPU_ALLOC || kind == TS_EVENT_GPU_FREE);
}

/* ---- 7.62 Replay: loading ----------------------------------------------- */

// An operation as it is loaded.
typedef struct ts__row {
    int64_t start, duration, issue;
    uint64_t correlation, id, record;
    uint32_t track, thread, label, call;
    uint8_t kind; // 0: not to be used
} ts__row;

// An API call, or what stands in for one (name 0, no duration).
typedef struct ts__row_call {
    int64_t start, duration;
    uint64_t correlation;
    uint32_t track, name;
    uint32_t rank; // after sorting; TS_NODE_NONE: not used
} ts__row_call;

typedef struct ts__loader {
    ts_replay *replay;
    const ts_allocator *allocator;
    ts__rvec rows;      // ts__row, in file order
    ts__rvec chunk_row; // of each chunk: its first row, or TS_NODE_NONE
    ts__rvec chunk_ok;  // of each chunk: decoded
    ts__rvec filter;    // bits of correlations that operations have
    uint64_t filter_mask;
    ts__rvec *thread_calls; // ts__row_call of each scanning thread
    bool *thread_failed;
    ts__rvec calls;
    ts__rsort sort;
    ts__rmap lanes; // track to lane
} ts__loader;

static ts__row *ts__loader_row(const ts__loader *l, size_t i)
{
    return (ts__row *)l->rows.data + i;
}
static ts__row_call *ts__loader_call(const ts__loader *l, size_t i)
{
    return (ts__row_call *)l->calls.data + i;
}

static bool ts__replay_time_ok(int64_t time)
{
    return time >= -TS__REPLAY_TIME_MAX && time <= TS__REPLAY_TIME_MAX;
}

static uint64_t ts__columns_get(const ts_columns *c, ts_column column,
                                uint32_t row)
{
    return c->values[column] ? c->values[column][row] : 0;
}

// When the host asked for it, as far as its own columns tell.
static int64_t ts__row_issue(const ts_replay *r, const ts_columns *c,
                             uint32_t row)
{
    uint64_t ticks = ts__columns_get(c, TS_COLUMN_QUEUED, row);
    if (!ticks) ticks = ts__columns_get(c, TS_COLUMN_SUBMITTED, row);
    if (!ticks) return TS__NO_TIME;
    const int64_t time = ts_reader_time_ns(r->reader, c->clock,
                                           c->start_ticks[row] - (ticks - 1));
    return ts__replay_time_ok(time) ? time : TS__NO_TIME;
}

static ts_column ts__kind_label(ts_event_kind kind)
{
    switch (kind) {
    case TS_EVENT_KERNEL: return TS_COLUMN_LAUNCH;
    case TS_EVENT_MEMCPY: return TS_COLUMN_TYPE;
    case TS_EVENT_COLLECTIVE:
    case TS_EVENT_HOST_FUNCTION: return TS_COLUMN_NAME;
    default: return TS_COLUMN_START; // has no values
    }
}

static ts__row ts__row_read(const ts_replay *r, const ts_columns *c, uint32_t i)
{
    ts__row row = { 0 };
    row.start = c->start_ns[i];
    row.duration = c->duration_ns[i];
    if (!ts__replay_time_ok(row.start) || !ts__replay_time_ok(row.duration) ||
        row.duration < 0)
        return row;
    row.kind = (uint8_t)c->kind;
    row.issue = ts__row_issue(r, c, i);
    row.correlation = ts__columns_get(c, TS_COLUMN_CORRELATION, i);
    row.id = ts__columns_get(c, TS_COLUMN_ID, i);
    row.record = ts__columns_get(c, TS_COLUMN_RECORD, i);
    row.track = c->tracks ? c->tracks[i] : c->track;
    row.thread = (uint32_t)ts__columns_get(c, TS_COLUMN_THREAD, i);
    row.label = (uint32_t)ts__columns_get(c, ts__kind_label(c->kind), i);
    row.call = TS_NODE_NONE;
    return row;
}

// Threads fill in rows that belong to their chunk alone.
static void ts__loader_take_rows(const ts_columns *c, uint32_t thread,
                                 void *user)
{
    (void)thread;
    const ts__loader *const l = (const ts__loader *)user;
    const uint32_t first = ((const uint32_t *)l->chunk_row.data)[c->chunk];
    if (first == TS_NODE_NONE) return;
    for (uint32_t i = 0; i < c->count; i++)
        *ts__loader_row(l, first + i) = ts__row_read(l->replay, c, i);
    ((bool *)l->chunk_ok.data)[c->chunk] = true;
}

static bool ts__chunk_is_gpu(const ts_chunk_info *info)
{
    return info->header.kind == TS_CHUNK_EVENTS &&
           info->header.event >= TS_EVENT_GPU_FIRST &&
           info->header.event < TS_EVENT_LIMIT;
}

// Gives every chunk its place, so that the order of rows is that of the file
// however many threads decode.
static ts_result ts__loader_place(ts__loader *l)
{
    ts_reader *const reader = l->replay->reader;
    const size_t chunks = ts_reader_chunk_count(reader);
    if (!ts__rvec_fill(l->allocator, &l->chunk_row, sizeof(uint32_t), chunks,
                       0xFF) ||
        !ts__rvec_fill(l->allocator, &l->chunk_ok, sizeof(bool), chunks, 0))
        return TS_ERR_MEMORY;
    uint64_t count = 0;
    for (size_t i = 0; i < chunks; i++) {
        ts_chunk_info info;
        if (!ts_reader_chunk(reader, i, &info) || !ts__chunk_is_gpu(&info))
            continue;
        ((uint32_t *)l->chunk_row.data)[i] = (uint32_t)count;
        count += info.header.count;
        if (count >= TS__REPLAY_OPS_MAX) return TS_ERR_UNSUPPORTED;
    }
    if (!ts__rvec_reserve(l->allocator, &l->rows, sizeof(ts__row),
                          (size_t)count))
        return TS_ERR_MEMORY;
    l->rows.count = (size_t)count;
    return TS_OK;
}

// Closes the gaps that damaged chunks and impossible times leave.
static void ts__loader_compact(ts__loader *l)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->chunk_row.count; i++) {
        const uint32_t first = ((const uint32_t *)l->chunk_row.data)[i];
        if (first == TS_NODE_NONE || !((const bool *)l->chunk_ok.data)[i])
            continue;
        ts_chunk_info info;
        if (!ts_reader_chunk(l->replay->reader, i, &info)) continue;
        for (uint32_t k = 0; k < info.header.count; k++) {
            const ts__row row = *ts__loader_row(l, first + k);
            l->replay->stats.loaded++;
            if (row.kind)
                *ts__loader_row(l, kept++) = row;
            else
                l->replay->stats.skipped[TS_SKIP_BAD_TIME]++;
        }
    }
    l->rows.count = kept;
}

static ts_result ts__loader_rows(ts__loader *l, uint32_t threads)
{
    const ts_result result = ts__loader_place(l);
    if (result != TS_OK) return result;
    ts_filter filter = { 0 };
    for (uint32_t kind = TS_EVENT_GPU_FIRST; kind < TS_EVENT_LIMIT; kind++)
        filter.kinds |= UINT64_C(1) << kind;
    // A damaged chunk costs its own rows; the reader's list has it.
    const ts_result scan = ts_reader_scan(l->replay->reader, &filter, threads,
                                          ts__loader_take_rows, l);
    if (scan == TS_ERR_MEMORY) return scan;
    ts__loader_compact(l);
    return l->replay->stats.loaded ? TS_OK : TS_ERR_NOT_FOUND;
}

/* ---- 7.63 Replay: host calls -------------------------------------------- */

static void ts__loader_take_calls(const ts_columns *c, uint32_t thread,
                                  void *user)
{
    ts__loader *const l = (ts__loader *)user;
    const uint64_t *const bits = (const uint64_t *)l->filter.data;
    for (uint32_t i = 0; i < c->count; i++) {
        const uint64_t correlation =
            ts__columns_get(c, TS_COLUMN_CORRELATION, i);
        const uint64_t bit = correlation & l->filter_mask;
        if (!correlation || !(bits[bit >> 6] >> (bit & 63) & 1)) continue;
        if (!ts__replay_time_ok(c->start_ns[i]) ||
            !ts__replay_time_ok(c->duration_ns[i]) || c->duration_ns[i] < 0)
            continue;
        ts__row_call *const call = (ts__row_call *)ts__rvec_push(
            l->allocator, &l->thread_calls[thread], sizeof *call);
        if (!call) {
            l->thread_failed[thread] = true;
            return;
        }
        call->start = c->start_ns[i];
        call->duration = c->duration_ns[i];
        call->correlation = correlation;
        call->track = c->tracks ? c->tracks[i] : c->track;
        call->name = (uint32_t)ts__columns_get(c, TS_COLUMN_NAME, i);
        call->rank = TS_NODE_NONE;
    }
}

/*
    The low bits of the correlations that operations have, in a bit map of
    eight bits an operation or more. Correlations count up, so this lets hardly
    any call pass that launched nothing; the merge below finds the others.
*/
static bool ts__loader_filter(ts__loader *l)
{
    size_t bits = 4096;
    while (bits < l->rows.count * 8)
        bits *= 2;
    if (!ts__rvec_fill(l->allocator, &l->filter, sizeof(uint64_t), bits / 64,
                       0))
        return false;
    l->filter_mask = bits - 1;
    uint64_t *const words = (uint64_t *)l->filter.data;
    for (size_t i = 0; i < l->rows.count; i++) {
        const uint64_t bit = ts__loader_row(l, i)->correlation & l->filter_mask;
        words[bit >> 6] |= UINT64_C(1) << (bit & 63);
    }
    return true;
}

// The calls of all threads, appended to those of the first.
static ts_result ts__loader_gather(ts__loader *l, uint32_t threads)
{
    size_t count = 0;
    for (uint32_t i = 0; i < threads; i++) {
        if (l->thread_failed[i]) return TS_ERR_MEMORY;
        count += l->thread_calls[i].count;
    }
    if (count >= TS__REPLAY_OPS_MAX) return TS_ERR_UNSUPPORTED;
    const ts__rvec none = { 0 };
    l->calls = l->thread_calls[0];
    l->thread_calls[0] = none;
    if (!ts__rvec_reserve(l->allocator, &l->calls, sizeof(ts__row_call), count))
        return TS_ERR_MEMORY;
    for (uint32_t i = 1; i < threads; i++) {
        ts__rvec *const from = &l->thread_calls[i];
        if (from->count)
            memcpy(ts__loader_call(l, l->calls.count), from->data,
                   from->count * sizeof(ts__row_call));
        l->calls.count += from->count;
        ts__rvec_close(l->allocator, from);
    }
    return TS_OK;
}

static ts_result ts__loader_calls(ts__loader *l, uint32_t threads)
{
    if (!ts__loader_filter(l)) return TS_ERR_MEMORY;
    ts__rvec vecs = { 0 }, failed = { 0 };
    ts_result result = TS_ERR_MEMORY;
    if (ts__rvec_fill(l->allocator, &vecs, sizeof(ts__rvec), threads, 0) &&
        ts__rvec_fill(l->allocator, &failed, sizeof(bool), threads, 0)) {
        l->thread_calls = (ts__rvec *)vecs.data;
        l->thread_failed = (bool *)failed.data;
        const ts_filter filter = { .kinds = TS_FILTER(API_CALL) };
        result = ts_reader_scan(l->replay->reader, &filter, threads,
                                ts__loader_take_calls, l);
        if (result != TS_ERR_MEMORY) result = ts__loader_gather(l, threads);
        for (uint32_t i = 0; i < threads; i++)
            ts__rvec_close(l->allocator, &l->thread_calls[i]);
    }
    ts__rvec_close(l->allocator, &vecs);
    ts__rvec_close(l->allocator, &failed);
    ts__rvec_close(l->allocator, &l->filter);
    return result;
}

// The keys of a sort of calls, most significant last.
typedef enum ts__call_key {
    TS__CALL_NAME,
    TS__CALL_LONGER,
    TS__CALL_LANE, // the track while there are no lanes yet
    TS__CALL_START,
    TS__CALL_CORRELATION
} ts__call_key;

static uint64_t ts__loader_call_key(const ts__loader *l, uint32_t call,
                                    ts__call_key key)
{
    const ts__row_call *const c = ts__loader_call(l, call);
    switch (key) {
    case TS__CALL_NAME: return c->name;
    case TS__CALL_LONGER: return ~(uint64_t)c->duration;
    case TS__CALL_LANE:
        return l->lanes.used ? ts__rmap_get(&l->lanes, c->track) : c->track;
    case TS__CALL_START: return ts__rsort_time(c->start);
    default: return c->correlation;
    }
}

// Orders the indices of all calls by every key up to `last`. Only calls that
// are alike in everything can change places.
static bool ts__loader_call_sort(ts__loader *l, ts__call_key last)
{
    const size_t count = l->calls.count;
    if (!ts__rsort_open(l->allocator, &l->sort, count)) return false;
    for (size_t i = 0; i < count; i++)
        ts__rsort_index(&l->sort)[i] = (uint32_t)i;
    for (int key = TS__CALL_NAME; key <= (int)last; key++) {
        for (size_t i = 0; i < count; i++)
            ts__rsort_keys(&l->sort)[i] = ts__loader_call_key(
                l, ts__rsort_index(&l->sort)[i], (ts__call_key)key);
        ts__rsort_run(&l->sort, count);
    }
    return true;
}

/*
    Of the calls first to end - 1, which share the row's correlation and are
    in order of start: the latest that began before the row did, on the row's
    thread if one is near. Numbers are used again in long traces.
*/
static uint32_t ts__loader_choose(const ts__loader *l, const uint32_t *order,
                                  size_t first, size_t end, const ts__row *row)
{
    size_t low = first, high = end;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ts__loader_call(l, order[middle])->start <= row->start)
            low = middle + 1;
        else
            high = middle;
    }
    const size_t best = low > first ? low - 1 : first;
    for (size_t i = best, tries = 0; row->thread && tries < 16; tries++) {
        if (ts__loader_call(l, order[i])->track == row->thread) return order[i];
        if (i-- == first) break;
    }
    return order[best];
}

// Merges operations and calls, both in order of correlation.
static bool ts__loader_match(ts__loader *l)
{
    if (!ts__loader_call_sort(l, TS__CALL_CORRELATION)) return false;
    ts__rvec order = { 0 };
    const size_t calls = l->calls.count, rows = l->rows.count;
    if (!ts__rvec_reserve(l->allocator, &order, sizeof(uint32_t), calls))
        return false;
    uint32_t *const by = (uint32_t *)order.data;
    memcpy(by, ts__rsort_index(&l->sort), calls * sizeof *by);
    bool ok = ts__rsort_open(l->allocator, &l->sort, rows);
    for (size_t i = 0; ok && i < rows; i++) {
        ts__rsort_keys(&l->sort)[i] = ts__loader_row(l, i)->correlation;
        ts__rsort_index(&l->sort)[i] = (uint32_t)i;
    }
    if (ok) ts__rsort_run(&l->sort, rows);
    size_t first = 0, end = 0;
    for (size_t i = 0; ok && i < rows; i++) {
        ts__row *const row = ts__loader_row(l, ts__rsort_index(&l->sort)[i]);
        while (first < calls &&
               ts__loader_call(l, by[first])->correlation < row->correlation)
            first++;
        if (end < first) end = first;
        while (end < calls &&
               ts__loader_call(l, by[end])->correlation == row->correlation)
            end++;
        if (!row->correlation || first == end) continue;
        row->call = ts__loader_choose(l, by, first, end, row);
        ts__row_call *const call = ts__loader_call(l, row->call);
        call->rank = 0;
        row->issue = call->start;
        if (!row->thread) row->thread = call->track;
    }
    ts__rvec_close(l->allocator, &order);
    return ok;
}

// Drops the calls that launched nothing and adds what stands in for calls
// that the trace lacks.
static bool ts__loader_stand_in(ts__loader *l)
{
    uint32_t kept = 0;
    for (size_t i = 0; i < l->calls.count; i++)
        if (ts__loader_call(l, i)->rank != TS_NODE_NONE)
            ts__loader_call(l, i)->rank = kept++;
    for (size_t i = 0; i < l->rows.count; i++) {
        ts__row *const row = ts__loader_row(l, i);
        if (row->call != TS_NODE_NONE)
            row->call = ts__loader_call(l, row->call)->rank;
    }
    for (size_t i = 0; i < l->calls.count; i++) {
        const ts__row_call call = *ts__loader_call(l, i);
        if (call.rank != TS_NODE_NONE) *ts__loader_call(l, call.rank) = call;
    }
    l->calls.count = kept;
    for (size_t i = 0; i < l->rows.count; i++) {
        ts__row *const row = ts__loader_row(l, i);
        if (row->call != TS_NODE_NONE || row->issue == TS__NO_TIME ||
            !row->thread || ts__kind_syncs(row->kind))
            continue;
        const ts__row_call call = { row->issue,  0, row->correlation,
                                    row->thread, 0, 0 };
        ts__row_call *const to =
            (ts__row_call *)ts__rvec_push(l->allocator, &l->calls, sizeof *to);
        if (!to) return false;
        *to = call;
        row->call = (uint32_t)(l->calls.count - 1);
    }
    return true;
}

/* ---- 7.64 Replay: lanes and nodes --------------------------------------- */

static ts__replay_lane *ts__loader_lane(ts__loader *l, uint32_t track)
{
    uint32_t index = ts__rmap_get(&l->lanes, track);
    if (index != TS_NODE_NONE) return ts__replay_lane_at(l->replay, index);
    ts_replay *const r = l->replay;
    ts__replay_lane *const lane =
        (ts__replay_lane *)ts__rvec_push(l->allocator, &r->lanes, sizeof *lane);
    if (!lane) return NULL;
    memset(lane, 0, sizeof *lane);
    lane->track = track;
    index = (uint32_t)(r->lanes.count - 1);
    return ts__rmap_put(l->allocator, &l->lanes, track, index) ? lane : NULL;
}

// Who a track belongs to. Parents are hostile: they may go round in circles.
static void ts__replay_lane_describe(const ts_replay *r, ts__replay_lane *lane)
{
    ts_track track;
    lane->type = TS_TRACK_STREAM; // so are tracks that nothing defines
    if (ts_reader_track(r->reader, lane->track, &track)) {
        lane->type = track.type;
        lane->number = track.number;
        lane->flags = track.flags;
        for (int depth = 0; depth < 8; depth++) {
            if (track.type == TS_TRACK_CONTEXT && !lane->context_track)
                lane->context_track = track.id;
            if (track.type == TS_TRACK_DEVICE) {
                lane->device_track = track.id;
                lane->device_number = track.number;
                break;
            }
            if (!ts_reader_track(r->reader, track.parent, &track)) break;
        }
    } else {
        lane->number = lane->track;
    }
    if (!lane->context_track) lane->context_track = lane->device_track;
    lane->fifo =
        lane->type != TS_TRACK_DEVICE && lane->type != TS_TRACK_CONTEXT;
}

// Threads first, then devices; on one device by kind of track and number.
static int ts__replay_lane_compare(const void *left, const void *right)
{
    const ts__replay_lane *const a = (const ts__replay_lane *)left;
    const ts__replay_lane *const b = (const ts__replay_lane *)right;
    const uint64_t of_a[] = { a->operations,   a->device_number,
                              a->device_track, (uint64_t)a->type,
                              a->number,       a->track };
    const uint64_t of_b[] = { b->operations,   b->device_number,
                              b->device_track, (uint64_t)b->type,
                              b->number,       b->track };
    for (size_t i = 0; i < sizeof of_a / sizeof of_a[0]; i++)
        if (of_a[i] != of_b[i]) return of_a[i] < of_b[i] ? -1 : 1;
    return 0;
}

static bool ts__loader_lanes(ts__loader *l)
{
    ts_replay *const r = l->replay;
    uint32_t track = 0;
    bool any = false;
    for (size_t i = 0; i < l->rows.count; i++) {
        const ts__row *const row = ts__loader_row(l, i);
        if (!any || row->track != track) {
            ts__replay_lane *const lane = ts__loader_lane(l, row->track);
            if (!lane) return false;
            lane->operations = any = true;
            track = row->track;
        }
        if (row->thread && !ts__loader_lane(l, row->thread)) return false;
    }
    for (size_t i = 0; i < l->calls.count; i++)
        if (!ts__loader_lane(l, ts__loader_call(l, i)->track)) return false;
    for (size_t i = 0; i < r->lanes.count; i++)
        ts__replay_lane_describe(r, ts__replay_lane_at(r, i));
    if (r->lanes.count)
        qsort(r->lanes.data, r->lanes.count, sizeof(ts__replay_lane),
              ts__replay_lane_compare);
    for (size_t i = 0; i < r->lanes.count; i++)
        if (!ts__rmap_put(l->allocator, &l->lanes,
                          ts__replay_lane_at(r, i)->track, (uint32_t)i))
            return false;
    return true;
}

// One result for each lane with operations and each device with such lanes.
static bool ts__replay_results(ts_replay *r)
{
    uint32_t device = TS_NODE_NONE;
    for (size_t i = 0; i < r->lanes.count; i++) {
        ts__replay_lane *const lane = ts__replay_lane_at(r, i);
        lane->device = TS_NODE_NONE;
        if (!lane->operations) continue;
        const ts_lane result = { lane->track, lane->device_track, 0, 0, 0, 0 };
        ts_lane *const own = (ts_lane *)ts__rvec_push(
            &r->allocator, &r->lane_results, sizeof *own);
        if (!own) return false;
        *own = result;
        if (r->device_results.count && device == lane->device_track) {
            lane->device = (uint32_t)r->device_results.count - 1;
            continue;
        }
        ts_lane *const shared = (ts_lane *)ts__rvec_push(
            &r->allocator, &r->device_results, sizeof *shared);
        if (!shared) return false;
        *shared = result;
        shared->track = device = lane->device_track;
        lane->device = (uint32_t)r->device_results.count - 1;
    }
    return true;
}

/*
    Within a stream, at equal starts: what ends first, then what was issued
    first, so that a record of no duration comes before the kernel that starts
    at its moment. Then as in the file.
*/
static bool ts__loader_before(const ts__loader *l, uint32_t a, uint32_t b)
{
    const ts__row *const x = ts__loader_row(l, a);
    const ts__row *const y = ts__loader_row(l, b);
    if (x->duration != y->duration) return x->duration < y->duration;
    if (x->issue != y->issue) return x->issue < y->issue;
    return a < b;
}

static void ts__loader_order_run(ts__loader *l, uint32_t *index, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const uint32_t moved = index[i];
        size_t at = i;
        for (; at && ts__loader_before(l, moved, index[at - 1]); at--)
            index[at] = index[at - 1];
        index[at] = moved;
    }
}

typedef enum ts__row_key {
    TS__ROW_ISSUE,
    TS__ROW_DURATION,
    TS__ROW_LANE,
    TS__ROW_START
} ts__row_key;

static void ts__loader_row_sort(ts__loader *l, ts__row_key first)
{
    for (int key = (int)first; key <= TS__ROW_START; key++) {
        uint64_t *const keys = ts__rsort_keys(&l->sort);
        const uint32_t *const index = ts__rsort_index(&l->sort);
        for (size_t i = 0; i < l->rows.count; i++) {
            const ts__row *const row = ts__loader_row(l, index[i]);
            keys[i] = key == TS__ROW_ISSUE      ? ts__rsort_time(row->issue)
                      : key == TS__ROW_DURATION ? (uint64_t)row->duration
                      : key == TS__ROW_LANE     ? row->track
                                                : ts__rsort_time(row->start);
        }
        ts__rsort_run(&l->sort, l->rows.count);
    }
}

// Leaves the total order of the rows, whose tracks are lanes by now, in the
// sorter. Long runs of equal starts are rare: they cost two more sorts.
static bool ts__loader_order(ts__loader *l)
{
    const size_t count = l->rows.count;
    if (!ts__rsort_open(l->allocator, &l->sort, count)) return false;
    for (size_t i = 0; i < count; i++)
        ts__rsort_index(&l->sort)[i] = (uint32_t)i;
    ts__loader_row_sort(l, TS__ROW_LANE);
    uint32_t *const index = ts__rsort_index(&l->sort);
    for (size_t first = 0, end; first < count; first = end) {
        const ts__row *const row = ts__loader_row(l, index[first]);
        for (end = first + 1; end < count; end++) {
            const ts__row *const next = ts__loader_row(l, index[end]);
            if (next->start != row->start || next->track != row->track) break;
        }
        if (end - first > 32) {
            for (size_t i = 0; i < count; i++)
                ts__rsort_index(&l->sort)[i] = (uint32_t)i;
            ts__loader_row_sort(l, TS__ROW_ISSUE);
            return true;
        }
        ts__loader_order_run(l, index + first, end - first);
    }
    return true;
}

static bool ts__node_push(ts_replay *r, int64_t time, int64_t duration,
                          uint32_t lane, uint8_t flags)
{
    const ts_allocator *const a = &r->allocator;
    int64_t *const t = (int64_t *)ts__rvec_push(a, &r->time, sizeof *t);
    int64_t *const d = (int64_t *)ts__rvec_push(a, &r->duration, sizeof *d);
    uint32_t *const l = (uint32_t *)ts__rvec_push(a, &r->lane, sizeof *l);
    uint8_t *const f = (uint8_t *)ts__rvec_push(a, &r->flags, sizeof *f);
    if (!t || !d || !l || !f) return false;
    *t = time;
    *d = duration;
    *l = lane;
    *f = flags;
    r->node_count++;
    return true;
}

static bool ts__nodes_reserve(ts_replay *r, size_t count)
{
    const ts_allocator *const a = &r->allocator;
    return ts__rvec_reserve(a, &r->time, sizeof(int64_t), count) &&
           ts__rvec_reserve(a, &r->duration, sizeof(int64_t), count) &&
           ts__rvec_reserve(a, &r->lane, sizeof(uint32_t), count) &&
           ts__rvec_reserve(a, &r->flags, sizeof(uint8_t), count);
}

static bool ts__loader_add_op(ts__loader *l, const ts__row *row)
{
    ts_replay *const r = l->replay;
    const ts__op op = { row->issue, row->correlation, row->thread, row->label,
                        row->call,  row->kind,        TS_SKIP_NOT };
    ts__op *const to =
        (ts__op *)ts__rvec_push(l->allocator, &r->ops, sizeof *to);
    if (!to) return false;
    *to = op;
    if (ts__kind_has_event(row->kind)) {
        ts__event_op *const event = (ts__event_op *)ts__rvec_push(
            l->allocator, &r->events, sizeof *event);
        if (!event) return false;
        to->label = (uint32_t)(r->events.count - 1);
        event->op = r->op_count;
        event->after = TS_NODE_NONE;
        event->id = row->id;
        event->record = row->record;
    }
    const bool waits =
        ts__kind_syncs(row->kind) || row->kind == TS_EVENT_EVENT_WAIT;
    r->op_count++;
    return ts__node_push(r, row->start, row->duration, row->track,
                         waits ? TS__NODE_WAITS : 0);
}

static bool ts__loader_ops(ts__loader *l)
{
    for (size_t i = 0; i < l->rows.count; i++) {
        ts__row *const row = ts__loader_row(l, i);
        row->track = ts__rmap_get(&l->lanes, row->track);
    }
    ts_replay *const r = l->replay;
    const size_t count = l->rows.count;
    if (!ts__loader_order(l) ||
        !ts__rvec_reserve(l->allocator, &r->ops, sizeof(ts__op), count) ||
        !ts__nodes_reserve(r, count + l->calls.count))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!ts__loader_add_op(l,
                               ts__loader_row(l, ts__rsort_index(&l->sort)[i])))
            return false;
    ts__rvec_close(l->allocator, &l->rows);
    return true;
}

// Adds the calls in order of start and tells the operations their nodes.
static bool ts__loader_add_calls(ts__loader *l)
{
    ts_replay *const r = l->replay;
    const size_t count = l->calls.count;
    if (!ts__loader_call_sort(l, TS__CALL_START) ||
        !ts__rvec_reserve(l->allocator, &r->call_names, sizeof(uint32_t),
                          count))
        return false;
    for (size_t i = 0; i < count; i++) {
        ts__row_call *const call =
            ts__loader_call(l, ts__rsort_index(&l->sort)[i]);
        call->rank = r->node_count;
        ((uint32_t *)r->call_names.data)[i] = call->name;
        if (!ts__node_push(r, call->start, call->duration,
                           ts__rmap_get(&l->lanes, call->track), 0))
            return false;
    }
    r->call_names.count = count;
    r->call_count = (uint32_t)count;
    for (size_t i = 0; i < r->op_count; i++) {
        ts__op *const op = ts__replay_op(r, i);
        if (op->call != TS_NODE_NONE)
            op->call = ts__loader_call(l, op->call)->rank;
    }
    return true;
}

// Whether the call that launched an operation returned only after its end.
static bool ts__call_outlasts(const ts_replay *r, uint32_t op)
{
    const ts__op *const o = ts__replay_op(r, op);
    return o->call != TS_NODE_NONE &&
           (ts__kind_syncs(o->kind) || o->kind == TS_EVENT_MEMCPY) &&
           ts__replay_end(r, op) <= ts__replay_end(r, o->call);
}

// Adds the ends of all nodes that wait for others.
static bool ts__replay_ends(ts_replay *r)
{
    uint8_t *flags = ts__replay_flags(r);
    for (uint32_t i = 0; i < r->op_count; i++)
        if (ts__call_outlasts(r, i))
            flags[ts__replay_op(r, i)->call] |= TS__NODE_WAITS;
    const uint32_t count = r->node_count;
    for (uint32_t i = 0; i < count; i++) {
        if (!(ts__replay_flags(r)[i] & TS__NODE_WAITS)) continue;
        uint32_t *const waiter = (uint32_t *)ts__rvec_push(
            &r->allocator, &r->waiters, sizeof *waiter);
        if (!waiter) return false;
        *waiter = i;
        if (!ts__node_push(r, ts__replay_end(r, i), 0, ts__replay_lanes(r)[i],
                           0))
            return false;
    }
    r->join_first = r->node_count;
    return true;
}

// The node at whose end a node ends: itself, or the helper that is its end.
static uint32_t ts__replay_end_node(const ts_replay *r, uint32_t node)
{
    if (!(ts__replay_flags(r)[node] & TS__NODE_WAITS)) return node;
    const uint32_t *const waiters = (const uint32_t *)r->waiters.data;
    size_t low = 0, high = r->waiters.count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (waiters[middle] <= node)
            low = middle;
        else
            high = middle;
    }
    return r->op_count + r->call_count + (uint32_t)low;
}

static void ts__loader_close(ts__loader *l)
{
    ts__rvec_close(l->allocator, &l->rows);
    ts__rvec_close(l->allocator, &l->chunk_row);
    ts__rvec_close(l->allocator, &l->chunk_ok);
    ts__rvec_close(l->allocator, &l->filter);
    ts__rvec_close(l->allocator, &l->calls);
    ts__rsort_close(l->allocator, &l->sort);
    ts__rvec_close(l->allocator, &l->lanes.entries);
}

static uint32_t ts__replay_threads(uint32_t wanted)
{
    const long cores = wanted ? (long)wanted : sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > 64 ? 64 : (uint32_t)cores;
}

static ts_result ts__replay_load(ts_replay *r, uint32_t wanted)
{
    const uint32_t threads = ts__replay_threads(wanted);
    ts__loader l = { 0 };
    l.replay = r;
    l.allocator = &r->allocator;
    ts_result result = ts__loader_rows(&l, threads);
    if (result == TS_OK) result = ts__loader_calls(&l, threads);
    if (result == TS_OK && !(ts__loader_match(&l) && ts__loader_stand_in(&l) &&
                             ts__loader_lanes(&l) && ts__loader_ops(&l) &&
                             ts__loader_add_calls(&l) &&
                             ts__replay_results(r) && ts__replay_ends(r)))
        result = TS_ERR_MEMORY;
    ts__loader_close(&l);
    return result;
}

/* ---- 7.65 Replay: edges ------------------------------------------------- */

typedef struct ts__edge {
    uint32_t from, to;
    uint8_t kind;
} ts__edge;

enum { TS__EDGE_NAMED = 64 }; // by its correlation: never left out

// The last of a row of nodes and the one with the latest end.
typedef struct ts__chain {
    uint32_t last, longest;
} ts__chain;

// Streams with work since the last join: of all of a device, all of a
// context, the blocking ones of a context.
typedef enum ts__reach {
    TS__REACH_DEVICE,
    TS__REACH_CONTEXT,
    TS__REACH_BLOCKING
} ts__reach;

typedef struct ts__lane_state {
    ts__chain host, order, issued;
    uint32_t group[3]; // by scope
    uint32_t next[3];  // lane with work, by scope; TS_NODE_NONE: the last
    bool dirty[3];
    uint32_t epoch; // of the legacy operation it last waited for
} ts__lane_state;

typedef struct ts__group { // a device or a context
    uint32_t join[3];      // node at whose end all before it was done
    uint32_t dirty[3];     // first lane with work since
    uint32_t legacy;       // last operation on its legacy default stream
    uint32_t epoch;        // counts these
    bool has_legacy;
} ts__group;

typedef struct ts__builder {
    ts_replay *replay;
    const ts_allocator *allocator;
    ts__rvec edges, lanes, groups;
    ts__rmap group_of; // track
    ts__rmap event_of; // id of an event to its latest record
    ts__rvec named;    // uint32_t: records by correlation
    ts__rsort sort;
    bool failed; // out of memory
} ts__builder;

static ts__lane_state *ts__builder_lane(const ts__builder *b, uint32_t lane)
{
    return (ts__lane_state *)b->lanes.data + lane;
}
static ts__group *ts__builder_group(const ts__builder *b, uint32_t group)
{
    return (ts__group *)b->groups.data + group;
}

static void ts__builder_edge(ts__builder *b, uint32_t from, uint32_t to,
                             uint32_t kind)
{
    ts__edge *const edge =
        (ts__edge *)ts__rvec_push(b->allocator, &b->edges, sizeof *edge);
    if (!edge) {
        b->failed = true;
        return;
    }
    edge->from =
        kind & TS_EDGE_FROM_START ? from : ts__replay_end_node(b->replay, from);
    edge->to = to;
    edge->kind = (uint8_t)kind;
}

// Appends a node, which starts no earlier than the last, to a chain.
static void ts__builder_chain(ts__builder *b, ts__chain *chain, uint32_t node,
                              ts_edge_kind kind)
{
    const ts_replay *const r = b->replay;
    const int64_t time = ts__replay_time(r)[node];
    if (chain->last == TS_NODE_NONE) {
        chain->last = chain->longest = node;
        return;
    }
    const bool apart = ts__replay_end(r, chain->last) <= time;
    ts__builder_edge(b, chain->last, node,
                     (uint32_t)kind | (apart ? 0 : TS_EDGE_FROM_START));
    if (chain->longest != chain->last &&
        ts__replay_end(r, chain->longest) <= time)
        ts__builder_edge(b, chain->longest, node, kind);
    chain->last = node;
    if (ts__replay_end(r, node) >= ts__replay_end(r, chain->longest))
        chain->longest = node;
}

static void ts__builder_streams(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const uint32_t lane = ts__replay_lanes(r)[i];
        if (!ts__replay_lane_at(r, lane)->fifo ||
            ts__kind_syncs(ts__replay_op(r, i)->kind))
            continue;
        ts__builder_chain(b, &ts__builder_lane(b, lane)->order, i,
                          TS_EDGE_STREAM_ORDER);
    }
}

// Lane of the thread on which an operation is itself what the host does.
static uint32_t ts__builder_host_lane(const ts__builder *b, const ts__rmap *map,
                                      uint32_t node)
{
    const ts_replay *const r = b->replay;
    if (node >= r->op_count) return ts__replay_lanes(r)[node];
    const ts__op *const op = ts__replay_op(r, node);
    const bool fifo = ts__replay_lane_at(r, ts__replay_lanes(r)[node])->fifo;
    if (!op->thread || op->call != TS_NODE_NONE ||
        !ts__kind_of_host(op->kind, fifo))
        return TS_NODE_NONE;
    return ts__rmap_get(map, op->thread);
}

// Calls and the host's own operations, merged in order of start.
static void ts__builder_hosts(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    ts__rmap map = { { 0 }, 0 };
    for (uint32_t i = 0; i < r->lanes.count; i++)
        if (!ts__rmap_put(b->allocator, &map, ts__replay_lane_at(r, i)->track,
                          i))
            b->failed = true;
    const int64_t *const time = ts__replay_time(r);
    const uint32_t calls_end = r->op_count + r->call_count;
    uint32_t call = r->op_count, op = 0;
    while (!b->failed && (call < calls_end || op < r->op_count)) {
        const bool take_call =
            op == r->op_count || (call < calls_end && time[call] <= time[op]);
        const uint32_t node = take_call ? call++ : op++;
        const uint32_t lane = ts__builder_host_lane(b, &map, node);
        if (lane == TS_NODE_NONE) continue;
        ts__builder_chain(b, &ts__builder_lane(b, lane)->host, node,
                          TS_EDGE_HOST_ORDER);
    }
    ts__rvec_close(b->allocator, &map.entries);
}

static void ts__builder_launches(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const uint32_t call = ts__replay_op(r, i)->call;
        if (call == TS_NODE_NONE) continue;
        ts__builder_edge(b, call, i, TS_EDGE_LAUNCH | TS_EDGE_FROM_START);
        if (ts__call_outlasts(r, i))
            ts__builder_edge(b, i, ts__replay_end_node(r, call), TS_EDGE_SYNC);
    }
    for (size_t i = 0; i < r->waiters.count; i++) {
        const uint32_t waiter = ((const uint32_t *)r->waiters.data)[i];
        ts__builder_edge(b, waiter, ts__replay_end_node(r, waiter),
                         TS_EDGE_SELF | TS_EDGE_FROM_START);
    }
}

// From a graph launch to what shares its correlation and comes after it.
static void ts__builder_graphs(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    ts__rmap launches = { { 0 }, 0 };
    for (uint32_t i = 0; i < r->op_count && !b->failed; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        if (!op->correlation) continue;
        if (op->kind == TS_EVENT_GRAPH_LAUNCH) {
            b->failed =
                !ts__rmap_put(b->allocator, &launches, op->correlation, i);
            continue;
        }
        const uint32_t graph = ts__rmap_get(&launches, op->correlation);
        if (graph != TS_NODE_NONE)
            ts__builder_edge(b, graph, i, TS_EDGE_GRAPH | TS_EDGE_FROM_START);
    }
    ts__rvec_close(b->allocator, &launches.entries);
}

// Edge unless the record shows that `to`, a helper or an operation's start,
// came before the end of `from`.
static bool ts__builder_wait(ts__builder *b, uint32_t from, uint32_t to,
                             ts_edge_kind kind)
{
    if (from == TS_NODE_NONE) return false;
    if (ts__replay_end(b->replay, from) > ts__replay_time(b->replay)[to]) {
        b->replay->stats.contradicted++;
        return false;
    }
    ts__builder_edge(b, from, to, kind);
    return true;
}

// Both the last and the longest of a chain.
static void ts__builder_wait_chain(ts__builder *b, const ts__chain *chain,
                                   uint32_t to, ts_edge_kind kind)
{
    ts__builder_wait(b, chain->last, to, kind);
    if (chain->longest != chain->last)
        ts__builder_wait(b, chain->longest, to, kind);
}

/*
    A join under construction: the first source stands for itself, a second
    one makes a node. So the edges of all joins together are no more than the
    work between them, however many streams there are.
*/
typedef struct ts__join {
    uint32_t node;  // TS_NODE_NONE: no source yet
    bool made;      // a node of its own
    int64_t before; // sources that end later contradict the record
    ts_edge_kind kind;
} ts__join;

static void ts__join_add(ts__builder *b, ts__join *join, uint32_t from)
{
    ts_replay *const r = b->replay;
    if (from == TS_NODE_NONE) return;
    const int64_t end = ts__replay_end(r, from);
    if (end > join->before) {
        r->stats.contradicted++;
        return;
    }
    if (join->node == TS_NODE_NONE) {
        join->node = from;
        return;
    }
    if (!join->made) {
        const uint32_t first = join->node;
        join->node = r->node_count;
        join->made = true;
        if (!ts__node_push(r, ts__replay_end(r, first), 0,
                           ts__replay_lanes(r)[first], 0)) {
            b->failed = true;
            return;
        }
        ts__builder_edge(b, first, join->node, join->kind);
    }
    int64_t *const time = &ts__replay_time(r)[join->node];
    if (end > *time) *time = end;
    ts__builder_edge(b, from, join->node, join->kind);
}

// Joins what a scope did since its last join, and that; TS_NODE_NONE: none.
static uint32_t ts__builder_join(ts__builder *b, ts__group *group,
                                 ts__reach scope, int64_t before,
                                 ts_edge_kind kind)
{
    ts__join join = { TS_NODE_NONE, false, before, kind };
    ts__join_add(b, &join, group->join[scope]);
    for (uint32_t i = group->dirty[scope]; i != TS_NODE_NONE && !b->failed;) {
        ts__lane_state *const lane = ts__builder_lane(b, i);
        ts__join_add(b, &join, lane->issued.longest);
        if (lane->issued.last != lane->issued.longest)
            ts__join_add(b, &join, lane->issued.last);
        lane->dirty[scope] = false;
        i = lane->next[scope];
    }
    group->dirty[scope] = TS_NODE_NONE;
    group->join[scope] = join.node;
    return join.node;
}

static void ts__builder_dirty(ts__builder *b, uint32_t index, ts__reach scope)
{
    ts__lane_state *const lane = ts__builder_lane(b, index);
    if (lane->dirty[scope]) return;
    ts__group *const group = ts__builder_group(b, lane->group[scope]);
    lane->dirty[scope] = true;
    lane->next[scope] = group->dirty[scope];
    group->dirty[scope] = index;
}

// An operation on a stream, as the legacy default stream sees it.
static void ts__builder_legacy(ts__builder *b, uint32_t op,
                               const ts__replay_lane *lane,
                               ts__lane_state *state)
{
    ts__group *const group =
        ts__builder_group(b, state->group[TS__REACH_BLOCKING]);
    if (!group->has_legacy) return;
    if (lane->flags & TS_STREAM_LEGACY_DEFAULT) {
        // What came before the last join is before the last legacy operation.
        group->join[TS__REACH_BLOCKING] = TS_NODE_NONE;
        const uint32_t join = ts__builder_join(b, group, TS__REACH_BLOCKING,
                                               ts__replay_time(b->replay)[op],
                                               TS_EDGE_LEGACY_DEFAULT);
        ts__builder_wait(b, join, op, TS_EDGE_LEGACY_DEFAULT);
        group->legacy = op;
        group->epoch++;
    } else if (!(lane->flags & TS_STREAM_NON_BLOCKING)) {
        if (state->epoch != group->epoch &&
            ts__builder_wait(b, group->legacy, op, TS_EDGE_LEGACY_DEFAULT))
            state->epoch = group->epoch;
    }
}

static void ts__builder_sync_stream(ts__builder *b, uint32_t op,
                                    const ts__replay_lane *lane,
                                    ts__lane_state *state)
{
    const uint32_t end = ts__replay_end_node(b->replay, op);
    ts__builder_wait_chain(b, &state->issued, end, TS_EDGE_SYNC);
    if (!(lane->flags & TS_STREAM_LEGACY_DEFAULT)) return;
    ts__group *const group =
        ts__builder_group(b, state->group[TS__REACH_BLOCKING]);
    const uint32_t join =
        ts__builder_join(b, group, TS__REACH_BLOCKING,
                         ts__replay_time(b->replay)[end], TS_EDGE_SYNC);
    ts__builder_wait(b, join, end, TS_EDGE_SYNC);
}

static void ts__builder_sync_device(ts__builder *b, uint32_t op,
                                    const ts__replay_lane *lane,
                                    const ts__lane_state *state)
{
    const ts__reach scope =
        lane->type == TS_TRACK_CONTEXT ? TS__REACH_CONTEXT : TS__REACH_DEVICE;
    const uint32_t end = ts__replay_end_node(b->replay, op);
    const uint32_t join =
        ts__builder_join(b, ts__builder_group(b, state->group[scope]), scope,
                         ts__replay_time(b->replay)[end], TS_EDGE_SYNC);
    ts__builder_wait(b, join, end, TS_EDGE_SYNC);
}

// The record that a wait names by its correlation; the one of the same event
// if several have it.
static uint32_t ts__builder_named(const ts__builder *b,
                                  const ts__event_op *wait)
{
    const ts_replay *const r = b->replay;
    const uint32_t *const named = (const uint32_t *)b->named.data;
    size_t low = 0, high = b->named.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const uint32_t op = ts__replay_event(r, named[middle])->op;
        if (ts__replay_op(r, op)->correlation < wait->record)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t found = TS_NODE_NONE;
    for (size_t tries = 0; low < b->named.count && tries < 16; low++, tries++) {
        const ts__event_op *const event = ts__replay_event(r, named[low]);
        if (ts__replay_op(r, event->op)->correlation != wait->record) break;
        if (found == TS_NODE_NONE || event->id == wait->id) found = named[low];
        if (event->id == wait->id) break;
    }
    return found;
}

static void ts__builder_wait_event(ts__builder *b, uint32_t op,
                                   ts_edge_kind kind)
{
    ts_replay *const r = b->replay;
    const ts__event_op *const wait =
        ts__replay_event(r, ts__replay_op(r, op)->label);
    const uint32_t end = ts__replay_end_node(r, op);
    uint32_t found;
    if (wait->record) {
        found = ts__builder_named(b, wait);
        r->stats.missing_records += found == TS_NODE_NONE;
    } else {
        found = wait->id ? ts__rmap_get(&b->event_of, wait->id) : TS_NODE_NONE;
        r->stats.never_recorded += found == TS_NODE_NONE;
    }
    if (found == TS_NODE_NONE) return;
    const ts__event_op *const record = ts__replay_event(r, found);
    ts__builder_edge(b, record->op, end,
                     (uint32_t)kind | (wait->record ? TS__EDGE_NAMED : 0));
    ts__builder_wait(b, record->after, end, kind);
}

// Work that the record, taken on the host, outran: a wait for the record
// waits for that too.
static void ts__builder_record(ts__builder *b, uint32_t op,
                               const ts__lane_state *state)
{
    ts_replay *const r = b->replay;
    const uint32_t index = ts__replay_op(r, op)->label;
    ts__event_op *const event = ts__replay_event(r, index);
    const uint32_t longest = state->issued.longest;
    if (longest != TS_NODE_NONE &&
        ts__replay_end(r, longest) > ts__replay_end(r, op))
        event->after = longest;
    if (event->id &&
        !ts__rmap_put(b->allocator, &b->event_of, event->id, index))
        b->failed = true;
}

static void ts__builder_step(ts__builder *b, uint32_t op)
{
    const ts_replay *const r = b->replay;
    const uint32_t index = ts__replay_lanes(r)[op];
    const ts__replay_lane *const lane = ts__replay_lane_at(r, index);
    ts__lane_state *const state = ts__builder_lane(b, index);
    const uint8_t kind = ts__replay_op(r, op)->kind;
    switch (kind) {
    case TS_EVENT_STREAM_SYNC:
        ts__builder_sync_stream(b, op, lane, state);
        return;
    case TS_EVENT_DEVICE_SYNC:
        ts__builder_sync_device(b, op, lane, state);
        return;
    case TS_EVENT_EVENT_SYNC:
        ts__builder_wait_event(b, op, TS_EDGE_SYNC);
        return;
    case TS_EVENT_EVENT_WAIT:
        ts__builder_wait_event(b, op, TS_EDGE_EVENT);
        break;
    case TS_EVENT_EVENT_RECORD: ts__builder_record(b, op, state); break;
    default: break;
    }
    if (!lane->fifo) return;
    ts__builder_legacy(b, op, lane, state);
    state->issued.last = op;
    if (state->issued.longest == TS_NODE_NONE ||
        ts__replay_end(r, op) >= ts__replay_end(r, state->issued.longest))
        state->issued.longest = op;
    ts__builder_dirty(b, index, TS__REACH_DEVICE);
    ts__builder_dirty(b, index, TS__REACH_CONTEXT);
    if (!(lane->flags & (TS_STREAM_LEGACY_DEFAULT | TS_STREAM_NON_BLOCKING)))
        ts__builder_dirty(b, index, TS__REACH_BLOCKING);
}

static uint32_t ts__builder_group_of(ts__builder *b, uint32_t track)
{
    const uint32_t known = ts__rmap_get(&b->group_of, track);
    if (known != TS_NODE_NONE) return known;
    ts__group *const group =
        (ts__group *)ts__rvec_push(b->allocator, &b->groups, sizeof *group);
    const uint32_t index = (uint32_t)b->groups.count - 1;
    if (!group || !ts__rmap_put(b->allocator, &b->group_of, track, index)) {
        b->failed = true;
        return TS_NODE_NONE;
    }
    memset(group, 0xFF, sizeof *group); // TS_NODE_NONE everywhere
    group->epoch = 0;
    group->has_legacy = false;
    return index;
}

static bool ts__builder_lanes(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    if (!ts__rvec_fill(b->allocator, &b->lanes, sizeof(ts__lane_state),
                       r->lanes.count, 0xFF))
        return false;
    for (uint32_t i = 0; i < r->lanes.count && !b->failed; i++) {
        const ts__replay_lane *const lane = ts__replay_lane_at(r, i);
        ts__lane_state *const state = ts__builder_lane(b, i);
        memset(state->dirty, 0, sizeof state->dirty);
        state->epoch = 0;
        state->group[TS__REACH_DEVICE] =
            ts__builder_group_of(b, lane->device_track);
        state->group[TS__REACH_CONTEXT] = state->group[TS__REACH_BLOCKING] =
            ts__builder_group_of(b, lane->context_track);
        if (!b->failed && lane->operations && lane->fifo &&
            lane->flags & TS_STREAM_LEGACY_DEFAULT)
            ts__builder_group(b, state->group[TS__REACH_BLOCKING])->has_legacy =
                true;
    }
    return !b->failed;
}

// Records by correlation, if any wait names one.
static bool ts__builder_name_records(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    bool any = false;
    for (size_t i = 0; i < r->events.count; i++)
        any |= ts__replay_event(r, i)->record != 0;
    if (!any) return true;
    if (!ts__rsort_open(b->allocator, &b->sort, r->events.count)) return false;
    size_t count = 0;
    for (uint32_t i = 0; i < r->events.count; i++) {
        const ts__op *const op = ts__replay_op(r, ts__replay_event(r, i)->op);
        if (op->kind != TS_EVENT_EVENT_RECORD || !op->correlation) continue;
        ts__rsort_keys(&b->sort)[count] = op->correlation;
        ts__rsort_index(&b->sort)[count++] = i;
    }
    ts__rsort_run(&b->sort, count);
    if (!ts__rvec_reserve(b->allocator, &b->named, sizeof(uint32_t), count))
        return false;
    memcpy(b->named.data, ts__rsort_index(&b->sort), count * sizeof(uint32_t));
    b->named.count = count;
    return true;
}

// Leaves the operations in the order of the host in the sorter.
static bool ts__builder_order(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    if (!ts__rsort_open(b->allocator, &b->sort, r->op_count)) return false;
    bool known = true;
    for (uint32_t i = 0; i < r->op_count; i++)
        known &= ts__replay_op(r, i)->issue != TS__NO_TIME;
    size_t at = 0;
    for (int waits = 0; waits < 2; waits++)
        for (uint32_t i = 0; i < r->op_count; i++) {
            const bool waiter = ts__replay_flags(r)[i] & TS__NODE_WAITS;
            if (known ? waits : waiter != (waits == 1)) continue;
            const int64_t time = known    ? ts__replay_op(r, i)->issue
                                 : waiter ? ts__replay_end(r, i)
                                          : ts__replay_time(r)[i];
            ts__rsort_keys(&b->sort)[at] = ts__rsort_time(time);
            ts__rsort_index(&b->sort)[at++] = i;
        }
    ts__rsort_run(&b->sort, at);
    return true;
}

// Turns the list of edges into offsets, targets and kinds.
static bool ts__builder_pack(ts__builder *b)
{
    ts_replay *const r = b->replay;
    const ts__edge *const edges = (const ts__edge *)b->edges.data;
    const size_t count = b->edges.count, nodes = r->node_count;
    if (!ts__rvec_fill(b->allocator, &r->offsets, sizeof(uint32_t), nodes + 1,
                       0) ||
        !ts__rvec_reserve(b->allocator, &r->targets, sizeof(uint32_t), count) ||
        !ts__rvec_reserve(b->allocator, &r->kinds, sizeof(uint8_t), count))
        return false;
    uint32_t *const offsets = (uint32_t *)r->offsets.data;
    for (size_t i = 0; i < count; i++)
        offsets[edges[i].from]++;
    uint32_t sum = 0;
    for (size_t i = 0; i <= nodes; i++) {
        sum += offsets[i];
        offsets[i] = sum; // one too far: the loop below counts down
    }
    for (size_t i = count; i-- > 0;) {
        const uint32_t at = --offsets[edges[i].from];
        ((uint32_t *)r->targets.data)[at] = edges[i].to;
        ((uint8_t *)r->kinds.data)[at] = edges[i].kind;
    }
    r->targets.count = r->kinds.count = count;
    return true;
}

/* ---- 7.66 Replay: circles of the record --------------------------------- */

/*
    Clocks of host and device disagree, numbers are used twice, events are
    recorded after the wait that found them: edges may form circles. Where
    they do, those that the record contradicts are left out, then those
    between equal times that go against the total order. What remains can
    only be a circle through a record that a wait names, and is reported.
*/
typedef enum ts__doubt {
    TS__DOUBT_LATER, // the source came later than the target
    TS__DOUBT_ORDER  // at the same time, but behind it in the total order
} ts__doubt;

// Sorts nodes by their edges; leaves what is still missing of each node.
// Returns how many nodes are in no circle and behind none.
static uint32_t ts__settle_count(const ts_replay *r, uint32_t *missing,
                                 uint32_t *queue)
{
    const uint32_t *const offsets = (const uint32_t *)r->offsets.data;
    const uint32_t *const targets = (const uint32_t *)r->targets.data;
    memset(missing, 0, r->node_count * sizeof *missing);
    for (uint32_t e = 0; e < offsets[r->node_count]; e++)
        missing[targets[e]]++;
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->node_count; i++)
        if (!missing[i]) queue[count++] = i;
    for (uint32_t done = 0; done < count; done++)
        for (uint32_t e = offsets[queue[done]]; e < offsets[queue[done] + 1];
             e++)
            if (!--missing[targets[e]]) queue[count++] = targets[e];
    return count;
}

// The node that stands for a helper in the total order.
static uint32_t ts__settle_owner(const ts_replay *r, uint32_t node)
{
    const uint32_t first = r->op_count + r->call_count;
    if (node < first || node >= r->join_first) return node;
    return ((const uint32_t *)r->waiters.data)[node - first];
}

static bool ts__settle_doubts(const ts_replay *r, uint32_t from, uint32_t to,
                              uint8_t kind, ts__doubt doubt)
{
    if (kind & TS__EDGE_NAMED ||
        (kind & (uint8_t)~TS_EDGE_FROM_START) == TS_EDGE_SELF)
        return false;
    const int64_t time = kind & TS_EDGE_FROM_START ? ts__replay_time(r)[from]
                                                   : ts__replay_end(r, from);
    const int64_t then = ts__replay_time(r)[to];
    if (doubt == TS__DOUBT_LATER) return time > then;
    return time == then && ts__settle_owner(r, from) >= ts__settle_owner(r, to);
}

// Leaves out the doubtful edges between nodes that miss something.
static void ts__settle_drop(ts_replay *r, const uint32_t *missing,
                            ts__doubt doubt)
{
    uint32_t *const offsets = (uint32_t *)r->offsets.data;
    uint32_t *const targets = (uint32_t *)r->targets.data;
    uint8_t *const kinds = (uint8_t *)r->kinds.data;
    uint32_t kept = 0, first = 0;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const uint32_t end = offsets[i + 1];
        for (uint32_t e = first; e < end; e++) {
            if (missing[i] &&
                ts__settle_doubts(r, i, targets[e], kinds[e], doubt)) {
                r->stats.contradicted++;
                continue;
            }
            targets[kept] = targets[e];
            kinds[kept++] = kinds[e];
        }
        first = end;
        offsets[i + 1] = kept;
    }
    r->targets.count = r->kinds.count = kept;
}

static bool ts__replay_settle(ts_replay *r)
{
    ts__rvec missing = { 0 }, queue = { 0 };
    const size_t size = sizeof(uint32_t);
    const bool ok =
        ts__rvec_reserve(&r->allocator, &missing, size, r->node_count) &&
        ts__rvec_reserve(&r->allocator, &queue, size, r->node_count);
    for (int doubt = TS__DOUBT_LATER; ok && doubt <= TS__DOUBT_ORDER; doubt++) {
        if (ts__settle_count(r, (uint32_t *)missing.data,
                             (uint32_t *)queue.data) == r->node_count)
            break;
        ts__settle_drop(r, (const uint32_t *)missing.data, (ts__doubt)doubt);
    }
    for (size_t e = 0; e < r->kinds.count; e++)
        ((uint8_t *)r->kinds.data)[e] &= (uint8_t)~TS__EDGE_NAMED;
    ts__rvec_close(&r->allocator, &missing);
    ts__rvec_close(&r->allocator, &queue);
    return ok;
}

static void ts__builder_close(ts__builder *b)
{
    ts__rvec_close(b->allocator, &b->edges);
    ts__rvec_close(b->allocator, &b->lanes);
    ts__rvec_close(b->allocator, &b->groups);
    ts__rvec_close(b->allocator, &b->group_of.entries);
    ts__rvec_close(b->allocator, &b->event_of.entries);
    ts__rvec_close(b->allocator, &b->named);
    ts__rsort_close(b->allocator, &b->sort);
}

static bool ts__builder_edges(ts__builder *b)
{
    if (!ts__builder_lanes(b) || !ts__builder_name_records(b)) return false;
    ts__builder_hosts(b);
    ts__builder_launches(b);
    ts__builder_streams(b);
    ts__builder_graphs(b);
    if (b->failed || !ts__builder_order(b)) return false;
    for (uint32_t i = 0; i < b->replay->op_count && !b->failed; i++)
        ts__builder_step(b, ts__rsort_index(&b->sort)[i]);
    ts__rsort_close(b->allocator, &b->sort);
    return !b->failed;
}

static ts_result ts__replay_build(ts_replay *r)
{
    ts__builder b = { 0 };
    b.replay = r;
    b.allocator = &r->allocator;
    ts_result result = TS_ERR_MEMORY;
    if (ts__builder_edges(&b))
        result = b.edges.count >= UINT32_MAX || r->node_count >= UINT32_MAX
                     ? TS_ERR_UNSUPPORTED
                 : ts__builder_pack(&b) ? TS_OK
                                        : TS_ERR_MEMORY;
    ts__builder_close(&b);
    if (result == TS_OK && !ts__replay_settle(r)) result = TS_ERR_MEMORY;
    return result;
}

/* ---- 7.67 Replay: selection --------------------------------------------- */

static bool ts__list_has(const uint32_t *list, size_t count, uint32_t track)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == track) return true;
    return count == 0;
}

static ts_skip ts__replay_skip(const ts_replay *r, const ts_replay_desc *desc,
                               uint32_t op, const bool *device_chosen)
{
    const uint32_t index = ts__replay_lanes(r)[op];
    const ts__replay_lane *const lane = ts__replay_lane_at(r, index);
    if (!device_chosen[index]) return TS_SKIP_DEVICE;
    if (!lane->selected) return TS_SKIP_STREAM;
    if (!desc->from_ns && !desc->to_ns) return TS_SKIP_NOT;
    // A moment touches [from, to) if it lies in it.
    const int64_t start = ts__replay_time(r)[op], end = ts__replay_end(r, op);
    const bool touches =
        start < desc->to_ns && (end > desc->from_ns || start >= desc->from_ns);
    return touches ? TS_SKIP_NOT : TS_SKIP_TIME;
}

static bool ts__replay_choose(ts_replay *r, const ts_replay_desc *desc)
{
    ts__rvec device_chosen = { 0 };
    if (!ts__rvec_fill(&r->allocator, &device_chosen, sizeof(bool),
                       r->lanes.count, 0))
        return false;
    bool *const chosen = (bool *)device_chosen.data;
    for (size_t i = 0; i < r->lanes.count; i++) {
        ts__replay_lane *const lane = ts__replay_lane_at(r, i);
        lane->selected =
            ts__list_has(desc->streams, desc->stream_count, lane->track);
        chosen[i] =
            ts__list_has(desc->devices, desc->device_count, lane->device_track);
    }
    for (uint32_t i = 0; i < r->op_count; i++) {
        ts__op *const op = ts__replay_op(r, i);
        op->skip = (uint8_t)ts__replay_skip(r, desc, i, chosen);
        if (op->skip == TS_SKIP_NOT)
            ts__replay_flags(r)[i] |= TS__NODE_SELECTED;
    }
    ts__rvec_close(&r->allocator, &device_chosen);
    return true;
}

static bool ts__replay_selected(const ts_replay *r, uint32_t node)
{
    return ts__replay_flags(r)[node] & TS__NODE_SELECTED;
}
static const uint32_t *ts__replay_offsets(const ts_replay *r)
{
    return (const uint32_t *)r->offsets.data;
}
static uint32_t ts__replay_target(const ts_replay *r, uint32_t edge)
{
    return ((const uint32_t *)r->targets.data)[edge];
}
static uint8_t ts__replay_kind(const ts_replay *r, uint32_t edge)
{
    return ((const uint8_t *)r->kinds.data)[edge];
}

// The calls of the selected operations, and the ends of both.
static void ts__replay_select_ends(ts_replay *r)
{
    for (uint32_t i = 0; i < r->op_count; i++) {
        const uint32_t call = ts__replay_op(r, i)->call;
        if (ts__replay_selected(r, i) && call != TS_NODE_NONE)
            ts__replay_flags(r)[call] |= TS__NODE_SELECTED;
    }
    const uint32_t first = r->op_count + r->call_count;
    for (uint32_t i = 0; i < r->waiters.count; i++)
        if (ts__replay_selected(r, ((const uint32_t *)r->waiters.data)[i]))
            ts__replay_flags(r)[first + i] |= TS__NODE_SELECTED;
}

// Joins lead to later joins, to operations and to ends: going backwards,
// what a join leads to is known when its turn comes.
static void ts__replay_select_joins(ts_replay *r)
{
    for (uint32_t i = r->node_count; i-- > r->join_first;) {
        const uint32_t end = ts__replay_offsets(r)[i + 1];
        for (uint32_t e = ts__replay_offsets(r)[i]; e < end; e++)
            if (ts__replay_selected(r, ts__replay_target(r, e)))
                ts__replay_flags(r)[i] |= TS__NODE_SELECTED;
    }
}

// Where the rest of the world does not exist, a join of nothing is nothing.
static bool ts__replay_prune_joins(ts_replay *r)
{
    ts__rvec live = { 0 };
    if (!ts__rvec_fill(&r->allocator, &live, sizeof(bool), r->node_count, 0))
        return false;
    bool *const has = (bool *)live.data;
    for (uint32_t i = 0; i < r->node_count; i++) {
        if (i >= r->join_first && !has[i])
            ts__replay_flags(r)[i] &= (uint8_t)~TS__NODE_SELECTED;
        if (!ts__replay_selected(r, i)) continue;
        const uint32_t end = ts__replay_offsets(r)[i + 1];
        for (uint32_t e = ts__replay_offsets(r)[i]; e < end; e++)
            has[ts__replay_target(r, e)] = true;
    }
    ts__rvec_close(&r->allocator, &live);
    return true;
}

// All edges turned round: sources[offsets[n]...] are what n depends on.
typedef struct ts__reverse {
    ts__rvec offsets, sources, todo;
} ts__reverse;

static void ts__reverse_close(ts_replay *r, ts__reverse *v)
{
    ts__rvec_close(&r->allocator, &v->offsets);
    ts__rvec_close(&r->allocator, &v->sources);
    ts__rvec_close(&r->allocator, &v->todo);
}

static bool ts__reverse_open(ts_replay *r, ts__reverse *v)
{
    const size_t count = r->targets.count;
    if (!ts__rvec_fill(&r->allocator, &v->offsets, sizeof(uint32_t),
                       (size_t)r->node_count + 1, 0) ||
        !ts__rvec_reserve(&r->allocator, &v->sources, sizeof(uint32_t), count))
        return false;
    uint32_t *const offsets = (uint32_t *)v->offsets.data;
    for (uint32_t e = 0; e < count; e++)
        offsets[ts__replay_target(r, e)]++;
    uint32_t sum = 0;
    for (size_t i = 0; i <= r->node_count; i++) {
        sum += offsets[i];
        offsets[i] = sum; // one too far: the loop below counts down
    }
    for (uint32_t i = 0; i < r->node_count; i++)
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++)
            ((uint32_t *)v->sources.data)[--offsets[ts__replay_target(r, e)]] =
                i;
    return true;
}

static bool ts__reverse_visit(ts_replay *r, ts__reverse *v, uint32_t node)
{
    uint8_t *const flags = &ts__replay_flags(r)[node];
    if (*flags & TS__NODE_SELECTED) return true;
    uint32_t *const to =
        (uint32_t *)ts__rvec_push(&r->allocator, &v->todo, sizeof *to);
    if (!to) return false;
    *to = node;
    *flags |= TS__NODE_SELECTED;
    if (node >= r->op_count) return true;
    ts__replay_op(r, node)->skip = TS_SKIP_NOT;
    r->stats.added++;
    return true;
}

// Selects all that the selection depends on. The end of what is selected
// counts as selected, so what a wait waits for is among it.
static bool ts__replay_close_over(ts_replay *r)
{
    ts__reverse v = { { 0 }, { 0 }, { 0 } };
    bool ok = ts__reverse_open(r, &v);
    for (uint32_t i = 0; ok && i < r->op_count; i++) {
        if (!ts__replay_selected(r, i)) continue;
        const uint64_t added = r->stats.added;
        ts__replay_flags(r)[i] &= (uint8_t)~TS__NODE_SELECTED;
        ok = ts__reverse_visit(r, &v, i);
        r->stats.added = added;
    }
    while (ok && v.todo.count) {
        const uint32_t node = ((const uint32_t *)v.todo.data)[--v.todo.count];
        const uint32_t *const offsets = (const uint32_t *)v.offsets.data;
        const uint32_t end = ts__replay_end_node(r, node);
        if (end != node) ok = ts__reverse_visit(r, &v, end);
        for (uint32_t e = offsets[node]; ok && e < offsets[node + 1]; e++)
            ok =
                ts__reverse_visit(r, &v, ((const uint32_t *)v.sources.data)[e]);
    }
    ts__reverse_close(r, &v);
    return ok;
}

static bool ts__replay_select(ts_replay *r, const ts_replay_desc *desc)
{
    if (!ts__replay_choose(r, desc)) return false;
    if (r->deps == TS_DEPS_CLOSURE) return ts__replay_close_over(r);
    ts__replay_select_ends(r);
    ts__replay_select_joins(r);
    return r->deps != TS_DEPS_NONE || ts__replay_prune_joins(r);
}

/* ---- 7.68 Replay: the plan ---------------------------------------------- */

static void ts__plan_edges(ts_replay *r)
{
    for (uint32_t i = 0; i < r->node_count; i++) {
        const bool inside = ts__replay_selected(r, i);
        const uint32_t end = ts__replay_offsets(r)[i + 1];
        for (uint32_t e = ts__replay_offsets(r)[i]; e < end; e++) {
            const uint8_t kind =
                ts__replay_kind(r, e) & (uint8_t)~TS_EDGE_FROM_START;
            if (kind == TS_EDGE_SELF ||
                !ts__replay_selected(r, ts__replay_target(r, e)))
                continue;
            if (inside)
                r->stats.edges[kind]++;
            else
                r->stats.cut_edges++;
        }
    }
}

static void ts__plan_operations(ts_replay *r)
{
    ts_replay_stats *const s = &r->stats;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        if (op->skip != TS_SKIP_NOT) {
            s->skipped[op->skip]++;
            continue;
        }
        const int64_t start = ts__replay_time(r)[i];
        const int64_t end = ts__replay_end(r, i);
        if (!s->operations || start < s->recorded_start_ns)
            s->recorded_start_ns = start;
        if (!s->operations || end > s->recorded_end_ns)
            s->recorded_end_ns = end;
        s->operations++;
    }
    for (uint32_t i = 0; i < r->call_count; i++)
        s->calls += ts__replay_selected(r, r->op_count + i);
}

/*
    A loss of one stream or device touches only that. A loss of a thread may
    have hit any operation, since threads of the vendor's library report them.
*/
static bool ts__plan_touches(const ts_replay *r, const ts_loss_row *loss)
{
    const ts_replay_stats *const s = &r->stats;
    if (loss->cause >= TS_LOSS_STALL_FIRST) return false;
    const bool timed = loss->first_ns || loss->last_ns;
    if (timed && (loss->last_ns < s->recorded_start_ns ||
                  loss->first_ns > s->recorded_end_ns))
        return false;
    ts_track track;
    if (!ts_reader_track(r->reader, loss->track, &track) ||
        (track.type != TS_TRACK_STREAM && track.type != TS_TRACK_CONTEXT &&
         track.type != TS_TRACK_DEVICE))
        return true;
    for (size_t i = 0; i < r->lanes.count; i++) {
        const ts__replay_lane *const lane = ts__replay_lane_at(r, i);
        if (lane->selected &&
            (lane->track == loss->track || lane->device_track == loss->track ||
             lane->context_track == loss->track))
            return true;
    }
    return false;
}

static void ts__plan_losses(ts_replay *r)
{
    ts_loss_row loss;
    for (size_t i = 0; ts_reader_loss(r->reader, i, &loss); i++)
        if (ts__plan_touches(r, &loss)) r->stats.lost += loss.count;
}

TS_API ts_result ts_replay_open(ts_replay **replay, ts_reader *reader,
                                const ts_replay_desc *desc)
{
    static const ts_replay_desc none = { 0 };
    if (!replay) return TS_ERR_USAGE;
    *replay = NULL;
    if (!desc) desc = &none;
    if (!reader || desc->to_ns < desc->from_ns || desc->deps > TS_DEPS_NONE)
        return TS_ERR_USAGE;
    ts_allocator allocator = desc->allocator;
    if (!allocator.resize) allocator.resize = ts__replay_resize;
    ts_replay *const r = (ts_replay *)allocator.resize(allocator.user, NULL, 0,
                                                       sizeof(ts_replay));
    if (!r) return TS_ERR_MEMORY;
    memset(r, 0, sizeof *r);
    r->reader = reader;
    r->allocator = allocator;
    r->deps = desc->deps;
    ts_result result = ts__replay_load(r, desc->threads);
    if (result == TS_OK) result = ts__replay_build(r);
    if (result == TS_OK && !ts__replay_select(r, desc)) result = TS_ERR_MEMORY;
    if (result != TS_OK) {
        ts_replay_close(r);
        return result;
    }
    ts__plan_operations(r);
    ts__plan_edges(r);
    ts__plan_losses(r);
    *replay = r;
    return TS_OK;
}

TS_API void ts_replay_close(ts_replay *replay)
{
    if (!replay) return;
    const ts_allocator a = replay->allocator;
    ts__rvec *const vecs[] = { &replay->ops,
                               &replay->call_names,
                               &replay->events,
                               &replay->lanes,
                               &replay->waiters,
                               &replay->time,
                               &replay->duration,
                               &replay->lane,
                               &replay->flags,
                               &replay->offsets,
                               &replay->targets,
                               &replay->kinds,
                               &replay->start,
                               &replay->gap,
                               &replay->changed,
                               &replay->lane_results,
                               &replay->device_results,
                               &replay->circle };
    for (size_t i = 0; i < sizeof vecs / sizeof vecs[0]; i++)
        ts__rvec_close(&a, vecs[i]);
    a.resize(a.user, replay, sizeof *replay, 0);
}

/* ---- 7.69 Replay: the run ----------------------------------------------- */

// What is ready, in order of (time, device, stream, seq): lanes are numbered
// by device and stream, nodes by place in the stream.
typedef struct ts__ready {
    int64_t time;
    uint64_t place; // lane << 32 | node
} ts__ready;

static bool ts__ready_before(const ts__ready *a, const ts__ready *b)
{
    return a->time != b->time ? a->time < b->time : a->place < b->place;
}

static bool ts__ready_push(const ts_allocator *a, ts__rvec *heap,
                           ts__ready item)
{
    if (!ts__rvec_push(a, heap, sizeof item)) return false;
    ts__ready *const items = (ts__ready *)heap->data;
    size_t at = heap->count - 1;
    while (at && ts__ready_before(&item, &items[(at - 1) / 2])) {
        items[at] = items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    items[at] = item;
    return true;
}

static ts__ready ts__ready_pop(ts__rvec *heap)
{
    ts__ready *const items = (ts__ready *)heap->data;
    const ts__ready first = items[0], item = items[--heap->count];
    size_t at = 0;
    for (size_t next; (next = at * 2 + 1) < heap->count; at = next) {
        if (next + 1 < heap->count &&
            ts__ready_before(&items[next + 1], &items[next]))
            next++;
        if (!ts__ready_before(&items[next], &item)) break;
        items[at] = items[next];
    }
    items[at] = item;
    return first;
}

typedef struct ts__rrun {
    ts_replay *replay;
    int64_t *start, *gap; // start: until a node runs, the latest edge
    uint32_t *missing;    // edges into it that have not fired
    ts__rvec heap;
    uint64_t ran;
} ts__rrun;

static int64_t ts__rrun_duration(const ts__rrun *run, uint32_t node)
{
    const ts_replay *const r = run->replay;
    if (r->changed.count && node < r->op_count)
        return ((const int64_t *)r->changed.data)[node];
    return ts__replay_duration(r)[node];
}

// Whether an edge from `node` is heeded: fired by it, or by the record.
static bool ts__rrun_heeds(const ts_replay *r, uint32_t node)
{
    return ts__replay_selected(r, node) || r->deps != TS_DEPS_NONE;
}

static int64_t ts__rrun_source(const ts_replay *r, uint32_t node, uint8_t kind)
{
    return kind & TS_EDGE_FROM_START ? ts__replay_time(r)[node]
                                     : ts__replay_end(r, node);
}

// What the record shows of every node beyond its latest edge.
static void ts__rrun_gaps(ts__rrun *run)
{
    const ts_replay *const r = run->replay;
    for (uint32_t i = 0; i < r->node_count; i++)
        run->gap[i] = TS__NO_TIME;
    for (uint32_t i = 0; i < r->node_count; i++) {
        if (!ts__rrun_heeds(r, i)) continue;
        const bool fires = ts__replay_selected(r, i);
        const uint32_t end = ts__replay_offsets(r)[i + 1];
        for (uint32_t e = ts__replay_offsets(r)[i]; e < end; e++) {
            const uint32_t to = ts__replay_target(r, e);
            const int64_t at = ts__rrun_source(r, i, ts__replay_kind(r, e));
            if (at > run->gap[to]) run->gap[to] = at;
            if (fires)
                run->missing[to]++;
            else if (at > run->start[to])
                run->start[to] = at; // frozen: it is what it was
        }
    }
    for (uint32_t i = 0; i < r->node_count; i++)
        run->gap[i] = ts__replay_time(r)[i] -
                      (run->gap[i] == TS__NO_TIME ? 0 : run->gap[i]);
}

static bool ts__rrun_ready(ts__rrun *run, uint32_t node)
{
    const int64_t after =
        run->start[node] == TS__NO_TIME ? 0 : run->start[node];
    const uint64_t lane = ts__replay_lanes(run->replay)[node];
    const ts__ready item = { ts__replay_add(after, run->gap[node]),
                             lane << 32 | node };
    return ts__ready_push(&run->replay->allocator, &run->heap, item);
}

static bool ts__rrun_fire(ts__rrun *run, const ts__ready *item)
{
    const ts_replay *const r = run->replay;
    const uint32_t node = (uint32_t)item->place;
    const int64_t end_time =
        ts__replay_add(item->time, ts__rrun_duration(run, node));
    run->start[node] = item->time;
    run->ran++;
    const uint32_t end = ts__replay_offsets(r)[node + 1];
    for (uint32_t e = ts__replay_offsets(r)[node]; e < end; e++) {
        const uint32_t to = ts__replay_target(r, e);
        const int64_t at =
            ts__replay_kind(r, e) & TS_EDGE_FROM_START ? item->time : end_time;
        if (at > run->start[to]) run->start[to] = at;
        if (--run->missing[to] == 0 && ts__replay_selected(r, to) &&
            !ts__rrun_ready(run, to))
            return false;
    }
    return true;
}

static bool ts__rrun_loop(ts__rrun *run)
{
    const ts_replay *const r = run->replay;
    for (uint32_t i = 0; i < r->node_count; i++)
        if (ts__replay_selected(r, i) && !run->missing[i] &&
            !ts__rrun_ready(run, i))
            return false;
    while (run->heap.count) {
        const ts__ready item = ts__ready_pop(&run->heap);
        if (!ts__rrun_fire(run, &item)) return false;
    }
    return true;
}

// Marks what did not run.
static void ts__rrun_stuck(ts__rrun *run)
{
    ts_replay *const r = run->replay;
    r->stats.skipped[TS_SKIP_UNMET] = 0;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const bool stuck = ts__replay_selected(r, i) && run->missing[i];
        if (stuck || !ts__replay_selected(r, i)) run->start[i] = TS__NO_TIME;
        if (i >= r->op_count || !ts__replay_selected(r, i)) continue;
        const uint32_t end = ts__replay_end_node(r, i);
        const bool ends = !run->missing[i] && !run->missing[end];
        ts__replay_op(r, i)->skip = ends ? TS_SKIP_NOT : TS_SKIP_UNMET;
        r->stats.skipped[TS_SKIP_UNMET] += !ends;
    }
}

/*
    Every stuck node waits for another stuck one, so following any such edge
    backwards comes round. `before` is filled with one of each node's.
*/
static bool ts__rrun_circle(ts__rrun *run)
{
    ts_replay *const r = run->replay;
    ts__rvec before = { 0 };
    if (!ts__rvec_fill(&r->allocator, &before, sizeof(uint32_t), r->node_count,
                       0xFF))
        return false;
    uint32_t *const from = (uint32_t *)before.data;
    uint32_t node = TS_NODE_NONE;
    for (uint32_t i = 0; i < r->node_count; i++) {
        if (!ts__replay_selected(r, i) || !run->missing[i]) continue;
        if (node == TS_NODE_NONE) node = i;
        const uint32_t end = ts__replay_offsets(r)[i + 1];
        for (uint32_t e = ts__replay_offsets(r)[i]; e < end; e++)
            from[ts__replay_target(r, e)] = i;
    }
    for (uint32_t i = 0; i < r->node_count; i++)
        node = from[node]; // now surely inside the circle
    const uint32_t first = node;
    const uint32_t ends_at = r->op_count + r->call_count;
    bool ok = true;
    do {
        uint32_t owner = node;
        if (node >= ends_at && node < r->join_first)
            owner = ((const uint32_t *)r->waiters.data)[node - ends_at];
        const uint32_t *const list = (const uint32_t *)r->circle.data;
        const bool again =
            r->circle.count && list[r->circle.count - 1] == owner;
        if (owner < r->join_first && !again) {
            uint32_t *const to = (uint32_t *)ts__rvec_push(
                &r->allocator, &r->circle, sizeof *to);
            if (to) *to = owner;
            ok = to != NULL;
        }
        node = from[node];
    } while (ok && node != first);
    ts__rvec_close(&r->allocator, &before);
    return ok;
}

static void ts__circle_turn(ts__rvec *circle)
{
    uint32_t *const list = (uint32_t *)circle->data;
    size_t count = circle->count, least = 0;
    // The walk may have begun between the two halves of one node.
    if (count > 1 && list[0] == list[count - 1]) circle->count = --count;
    for (size_t i = 1; i < count; i++)
        if (list[i] < list[least]) least = i;
    while (least--) {
        const uint32_t head = list[0];
        memmove(list, list + 1, (count - 1) * sizeof *list);
        list[count - 1] = head;
    }
}

/* ---- 7.70 Replay: figures of the run ------------------------------------ */

static int64_t ts__op_end(const ts_replay *r, uint32_t op)
{
    const int64_t *const start = (const int64_t *)r->start.data;
    const uint32_t end = ts__replay_end_node(r, op);
    if (end != op) return start[end];
    const int64_t *const changed = (const int64_t *)r->changed.data;
    return ts__replay_add(
        start[op], r->changed.count ? changed[op] : ts__replay_duration(r)[op]);
}

// Puts the operations in the sorter's index into total order of the schedule.
static bool ts__figures_sort(const ts_replay *r, ts__rsort *sort, size_t count)
{
    const int64_t *const start = (const int64_t *)r->start.data;
    if (!ts__rsort_open(&r->allocator, sort, r->op_count)) return false;
    for (size_t i = 0; i < count; i++)
        ts__rsort_keys(sort)[i] = ts__replay_lanes(r)[ts__rsort_index(sort)[i]];
    ts__rsort_run(sort, count);
    for (size_t i = 0; i < count; i++)
        ts__rsort_keys(sort)[i] =
            ts__rsort_time(start[ts__rsort_index(sort)[i]]);
    ts__rsort_run(sort, count);
    return true;
}

// The operations that ran, in total order. That of the record is the same
// unless something moved.
static bool ts__figures_order(const ts_replay *r, ts__rsort *sort,
                              size_t *count)
{
    const int64_t *const start = (const int64_t *)r->start.data;
    const uint32_t *const lanes = ts__replay_lanes(r);
    if (!ts__rvec_reserve(&r->allocator, &sort->index[0], sizeof(uint32_t),
                          r->op_count))
        return false;
    bool sorted = true;
    uint32_t last = TS_NODE_NONE;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (ts__replay_op(r, i)->skip != TS_SKIP_NOT) continue;
        if (last != TS_NODE_NONE &&
            (start[last] > start[i] ||
             (start[last] == start[i] && lanes[last] > lanes[i])))
            sorted = false;
        ts__rsort_index(sort)[(*count)++] = last = i;
    }
    return sorted || ts__figures_sort(r, sort, *count);
}

// What an operation is, wherever it lies in the file. 48 bytes, hashed as
// they are on a little-endian machine, like everything in a trace.
typedef struct ts__identity {
    uint64_t place; // kind | lane type << 8 | device number << 32
    uint64_t stream, correlation, name;
    int64_t start, end;
} ts__identity;

static bool ts__figures_name(const ts_replay *r, ts__rmap *known,
                             ts__rvec *hashes, const ts__op *op, uint64_t *hash)
{
    const bool launch = op->kind == TS_EVENT_KERNEL;
    *hash = op->kind == TS_EVENT_MEMCPY ? op->label : 0;
    if (!launch && op->kind != TS_EVENT_COLLECTIVE &&
        op->kind != TS_EVENT_HOST_FUNCTION)
        return true;
    const uint64_t key = (uint64_t)launch << 32 | op->label;
    const uint32_t at = ts__rmap_get(known, key);
    if (at != TS_NODE_NONE) {
        *hash = ((const uint64_t *)hashes->data)[at];
        return true;
    }
    uint32_t name = op->label;
    if (launch) {
        const ts_launch_entry *const entry =
            ts_reader_launch(r->reader, op->label);
        name = entry ? entry->name : 0;
    }
    const ts_text text = ts_reader_name(r->reader, name);
    *hash = XXH3_64bits(text.text, text.size);
    uint64_t *const to =
        (uint64_t *)ts__rvec_push(&r->allocator, hashes, sizeof *to);
    if (to) *to = *hash;
    return to &&
           ts__rmap_put(&r->allocator, known, key, (uint32_t)hashes->count - 1);
}

static bool ts__figures_identity(const ts_replay *r, uint32_t index,
                                 ts__rmap *known, ts__rvec *hashes,
                                 ts__identity *id)
{
    const ts__op *const op = ts__replay_op(r, index);
    const ts__replay_lane *const lane =
        ts__replay_lane_at(r, ts__replay_lanes(r)[index]);
    id->place =
        op->kind | (uint64_t)lane->type << 8 | lane->device_number << 32;
    id->stream = lane->number;
    id->correlation = op->correlation;
    id->start = ((const int64_t *)r->start.data)[index];
    id->end = ts__op_end(r, index);
    return ts__figures_name(r, known, hashes, op, &id->name);
}

// The digest of a schedule whose order is in `index`.
static bool ts__figures_digest(ts_replay *r, const uint32_t *index,
                               size_t count)
{
    ts__rmap known = { { 0 }, 0 };
    ts__rvec hashes = { 0 };
    ts__identity block[64];
    size_t filled = 0;
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset(&state);
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        ok = ts__figures_identity(r, index[i], &known, &hashes,
                                  &block[filled++]);
        if (filled < 64 && i + 1 < count) continue;
        XXH3_64bits_update(&state, block, filled * sizeof block[0]);
        filled = 0;
    }
    r->stats.digest = XXH3_64bits_digest(&state);
    ts__rvec_close(&r->allocator, &known.entries);
    ts__rvec_close(&r->allocator, &hashes);
    return ok;
}

// Adds [start, end) to what a lane did; starts come in order.
static void ts__lane_add(ts_lane *lane, int64_t *busy_until, int64_t start,
                         int64_t end, bool works)
{
    if (!lane->operations++ || start < lane->start_ns) lane->start_ns = start;
    if (lane->operations == 1 || end > lane->end_ns) lane->end_ns = end;
    if (!works) return;
    const int64_t from = start > *busy_until ? start : *busy_until;
    if (end > from) {
        lane->busy_ns += end - from;
        *busy_until = end;
    }
}

static void ts__lanes_reset(ts__rvec *lanes)
{
    for (size_t i = 0; i < lanes->count; i++) {
        ts_lane *const lane = (ts_lane *)lanes->data + i;
        lane->operations = 0;
        lane->start_ns = lane->end_ns = lane->busy_ns = 0;
    }
}

// Busy times. Lanes without operations, the threads, come first and have no
// result.
static bool ts__figures_busy(ts_replay *r, const uint32_t *index, size_t count)
{
    const size_t own = r->lane_results.count, all = r->device_results.count;
    ts__rvec until = { 0 };
    if (!ts__rvec_reserve(&r->allocator, &until, sizeof(int64_t), own + all))
        return false;
    int64_t *const busy_until = (int64_t *)until.data;
    for (size_t i = 0; i < own + all; i++)
        busy_until[i] = TS__NO_TIME;
    ts__lanes_reset(&r->lane_results);
    ts__lanes_reset(&r->device_results);
    ts_replay_stats *const s = &r->stats;
    const size_t threads = r->lanes.count - own;
    bool any = false;
    s->start_ns = s->end_ns = s->busy_from_ns = s->busy_to_ns = 0;
    for (size_t i = 0; i < count; i++) {
        const uint8_t kind = ts__replay_op(r, index[i])->kind;
        const uint32_t lane = ts__replay_lanes(r)[index[i]];
        const uint32_t device = ts__replay_lane_at(r, lane)->device;
        const int64_t start = ((const int64_t *)r->start.data)[index[i]];
        const int64_t end = ts__op_end(r, index[i]);
        const bool works = ts__kind_works(kind);
        ts__lane_add((ts_lane *)r->lane_results.data + (lane - threads),
                     &busy_until[lane - threads], start, end,
                     works || kind == TS_EVENT_HOST_FUNCTION);
        ts__lane_add((ts_lane *)r->device_results.data + device,
                     &busy_until[own + device], start, end, works);
        if (i == 0) s->start_ns = start;
        if (i == 0 || end > s->end_ns) s->end_ns = end;
        if (works && !any) s->busy_from_ns = start;
        if (works && (!any || end > s->busy_to_ns)) s->busy_to_ns = end;
        any |= works;
    }
    ts__rvec_close(&r->allocator, &until);
    return true;
}

// Nearest-rank percentile of `count` sorted values.
static int64_t ts__percentile(const uint64_t *sorted, size_t count,
                              size_t percent)
{
    return (int64_t)sorted[(count * percent + 99) / 100 - 1];
}

static bool ts__figures_errors(ts_replay *r, ts__rsort *sort, size_t count)
{
    ts_replay_stats *const s = &r->stats;
    const int64_t *const start = (const int64_t *)r->start.data;
    s->start_error_p50_ns = s->start_error_p95_ns = s->start_error_max_ns = 0;
    s->different = s->skipped[TS_SKIP_UNMET];
    bool moved = false;
    for (size_t i = 0; i < count; i++) {
        const uint32_t op = ts__rsort_index(sort)[i];
        moved |= start[op] != ts__replay_time(r)[op];
        s->different += start[op] != ts__replay_time(r)[op] ||
                        ts__op_end(r, op) != ts__replay_end(r, op);
    }
    if (!moved) return true;
    if (!ts__rsort_open(&r->allocator, sort, r->op_count)) return false;
    for (size_t i = 0; i < count; i++) {
        const uint32_t op = ts__rsort_index(sort)[i];
        const int64_t error = start[op] - ts__replay_time(r)[op];
        ts__rsort_keys(sort)[i] = (uint64_t)(error < 0 ? -error : error);
    }
    ts__rsort_run(sort, count);
    const uint64_t *const sorted = ts__rsort_keys(sort);
    s->start_error_p50_ns = ts__percentile(sorted, count, 50);
    s->start_error_p95_ns = ts__percentile(sorted, count, 95);
    s->start_error_max_ns = ts__percentile(sorted, count, 100);
    return true;
}

static bool ts__figures(ts_replay *r)
{
    ts__rsort sort = { { { 0 }, { 0 } }, { { 0 }, { 0 } } };
    size_t count = 0;
    bool ok = ts__figures_order(r, &sort, &count);
    if (ok)
        ok = ts__figures_digest(r, ts__rsort_index(&sort), count) &&
             ts__figures_busy(r, ts__rsort_index(&sort), count);
    ok = ok && ts__figures_errors(r, &sort, count);
    r->stats.operations = count;
    ts__rsort_close(&r->allocator, &sort);
    return ok;
}

static bool ts__rrun_open(ts__rrun *run)
{
    ts_replay *const r = run->replay;
    const ts_allocator *const a = &r->allocator;
    ts__rvec missing = { 0 };
    if (!ts__rvec_fill(a, &r->start, sizeof(int64_t), r->node_count, 0) ||
        !ts__rvec_fill(a, &r->gap, sizeof(int64_t), r->node_count, 0) ||
        !ts__rvec_fill(a, &missing, sizeof(uint32_t), r->node_count, 0))
        return false;
    run->start = (int64_t *)r->start.data;
    run->gap = (int64_t *)r->gap.data;
    run->missing = (uint32_t *)missing.data;
    for (uint32_t i = 0; i < r->node_count; i++)
        run->start[i] = TS__NO_TIME;
    r->circle.count = 0;
    return true;
}

static bool ts__rrun_change(ts_replay *r, const int64_t *durations_ns)
{
    r->changed.count = 0;
    if (!durations_ns) return true;
    const size_t size = sizeof *durations_ns, count = r->op_count;
    if (!ts__rvec_reserve(&r->allocator, &r->changed, size, count))
        return false;
    int64_t *const changed = (int64_t *)r->changed.data;
    for (size_t i = 0; i < count; i++)
        changed[i] = durations_ns[i] < TS__REPLAY_SUM_MAX ? durations_ns[i]
                                                          : TS__REPLAY_SUM_MAX;
    r->changed.count = count;
    return true;
}

static bool ts__rrun_all(ts__rrun *run)
{
    ts_replay *const r = run->replay;
    ts__rrun_gaps(run);
    if (!ts__rrun_loop(run)) return false;
    uint64_t wanted = 0;
    for (uint32_t i = 0; i < r->node_count; i++)
        wanted += ts__replay_selected(r, i);
    ts__rrun_stuck(run);
    if (run->ran < wanted) {
        if (!ts__rrun_circle(run)) return false;
        ts__circle_turn(&r->circle);
    }
    return ts__figures(r);
}

TS_API ts_result ts_replay_run(ts_replay *replay,
                               const ts_replay_run_desc *desc)
{
    if (!replay) return TS_ERR_USAGE;
    const int64_t *const durations_ns = desc ? desc->durations_ns : NULL;
    bool any = false;
    for (uint32_t i = 0; i < replay->op_count; i++) {
        any |= ts__replay_selected(replay, i);
        if (durations_ns && durations_ns[i] < 0) return TS_ERR_USAGE;
    }
    if (!any) return TS_ERR_NOT_FOUND;
    ts__rrun run = { replay, NULL, NULL, NULL, { 0 }, 0 };
    const bool ok = ts__rrun_change(replay, durations_ns) &&
                    ts__rrun_open(&run) && ts__rrun_all(&run);
    if (run.missing)
        replay->allocator.resize(replay->allocator.user, run.missing,
                                 replay->node_count * sizeof *run.missing, 0);
    ts__rvec_close(&replay->allocator, &run.heap);
    return ok ? TS_OK : TS_ERR_MEMORY;
}

/* ---- 7.71 Replay: looking at it ----------------------------------------- */

TS_API const char *ts_edge_name(uint32_t kind)
{
    switch (kind) {
#define TS__X(name, value, text) \
    case value: return text;
        TS_EDGES(TS__X)
#undef TS__X
    default: return "unknown";
    }
}

TS_API const char *ts_skip_name(uint32_t skip)
{
    switch (skip) {
#define TS__X(name, value, text) \
    case value: return text;
        TS_SKIPS(TS__X)
#undef TS__X
    default: return "unknown";
    }
}

TS_API const ts_replay_stats *ts_replay_result(const ts_replay *replay)
{
    return &replay->stats;
}

TS_API bool ts_replay_operation(const ts_replay *replay, size_t index,
                                ts_operation *operation)
{
    if (index >= replay->op_count) return false;
    const uint32_t i = (uint32_t)index;
    const ts__op *const op = ts__replay_op(replay, i);
    const ts__replay_lane *const lane =
        ts__replay_lane_at(replay, ts__replay_lanes(replay)[i]);
    ts_operation o = { 0 };
    o.kind = (ts_event_kind)op->kind;
    o.track = lane->track;
    o.device = lane->device_track;
    o.thread = op->thread;
    o.call = op->call;
    o.label = op->label;
    o.correlation = op->correlation;
    o.recorded_start_ns = ts__replay_time(replay)[i];
    o.recorded_end_ns = ts__replay_end(replay, i);
    o.skip = (ts_skip)op->skip;
    if (replay->start.count && o.skip == TS_SKIP_NOT) {
        o.start_ns = ((const int64_t *)replay->start.data)[i];
        o.end_ns = ts__op_end(replay, i);
    }
    *operation = o;
    return true;
}

TS_API ts_text ts_operation_label(const ts_reader *reader,
                                  const ts_operation *operation)
{
    ts_text text = { NULL, 0 };
    if (operation->kind == TS_EVENT_KERNEL) {
        const ts_launch_entry *const launch =
            ts_reader_launch(reader, operation->label);
        if (launch) text = ts_reader_name(reader, launch->name);
    } else if (operation->kind == TS_EVENT_COLLECTIVE ||
               operation->kind == TS_EVENT_HOST_FUNCTION) {
        text = ts_reader_name(reader, operation->label);
    }
    if (!text.size) {
        text.text = ts_event_name(operation->kind);
        text.size = strlen(text.text);
    }
    return text;
}

TS_API size_t ts_replay_lane_count(const ts_replay *replay)
{
    return replay->lane_results.count;
}

TS_API bool ts_replay_lane(const ts_replay *replay, size_t index, ts_lane *lane)
{
    if (index >= replay->lane_results.count) return false;
    *lane = ((const ts_lane *)replay->lane_results.data)[index];
    return true;
}

TS_API size_t ts_replay_device_count(const ts_replay *replay)
{
    return replay->device_results.count;
}

TS_API bool ts_replay_device(const ts_replay *replay, size_t index,
                             ts_lane *device)
{
    if (index >= replay->device_results.count) return false;
    *device = ((const ts_lane *)replay->device_results.data)[index];
    return true;
}

TS_API ts_graph ts_replay_graph(const ts_replay *replay)
{
    ts_graph graph = { 0 };
    graph.node_count = replay->node_count;
    graph.operation_count = replay->op_count;
    graph.call_count = replay->call_count;
    graph.edge_count = (uint32_t)replay->targets.count;
    graph.offsets = (const uint32_t *)replay->offsets.data;
    graph.targets = (const uint32_t *)replay->targets.data;
    graph.kinds = (const uint8_t *)replay->kinds.data;
    return graph;
}

TS_API bool ts_replay_node(const ts_replay *replay, size_t index, ts_node *node)
{
    if (index >= replay->node_count) return false;
    const uint32_t i = (uint32_t)index;
    const uint32_t calls_end = replay->op_count + replay->call_count;
    ts_node n = { TS_NODE_OPERATION, i, 0, 0, 0, 0, 0, false };
    n.track = ts__replay_lane_at(replay, ts__replay_lanes(replay)[i])->track;
    n.recorded_ns = ts__replay_time(replay)[i];
    n.duration_ns = ts__replay_duration(replay)[i];
    if (replay->gap.count) n.gap_ns = ((const int64_t *)replay->gap.data)[i];
    n.selected = ts__replay_selected(replay, i);
    if (i >= replay->join_first) {
        n.type = TS_NODE_JOIN;
        n.track = 0;
    } else if (i >= calls_end) {
        n.type = TS_NODE_END;
        n.owner = ((const uint32_t *)replay->waiters.data)[i - calls_end];
    } else if (i >= replay->op_count) {
        n.type = TS_NODE_CALL;
        n.name =
            ((const uint32_t *)replay->call_names.data)[i - replay->op_count];
    }
    *node = n;
    return true;
}

TS_API size_t ts_replay_circle(const ts_replay *replay, const uint32_t **nodes)
{
    *nodes = (const uint32_t *)replay->circle.data;
    return replay->circle.count;
}
