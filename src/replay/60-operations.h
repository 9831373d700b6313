/* ---- 9.18 Replay: memory, maps, sorting ---------------------------------- */

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

/* ---- 9.19 Replay: what is held ------------------------------------------- */

// What a replay keeps of an operation besides its node.
typedef struct ts__op {
    int64_t issue; // place in the order of the host, or TS__NO_TIME
    uint64_t correlation;
    uint32_t thread; // track
    uint32_t label;  // launch, name or copy type; of event kinds: ts__event_op
    uint32_t call;   // node
    uint8_t kind, skip;
    uint8_t memory; // of a copy: kinds of source and destination
} ts__op;

// What event records, waits and syncs have besides.
typedef struct ts__event_op {
    uint32_t op;
    uint32_t after; // a record: work before it that outlasts it in the record
    uint64_t id, record;
} ts__event_op;

/*
    Operations that wait for each other: a collective, or a send and its
    receive. Those of more than one member have a join, whose start is the
    latest of the members' starts and whose duration is what the transfer
    takes once all are there: the shortest of the recorded durations, that of
    the operation `cost`. The ends of the members depend on its end.
*/
typedef struct ts__meeting {
    uint32_t first, count; // of ts_replay.members
    uint32_t expected;     // ranks that take part; 0 unknown
    uint32_t join, cost;   // nodes; TS_NODE_NONE: of one member alone
    uint8_t kind;          // TS_EDGE_COLLECTIVE or TS_EDGE_P2P
} ts__meeting;

typedef struct ts__met { // in order of op
    uint32_t op, meeting;
} ts__met;

typedef struct ts__replay_lane {
    uint32_t file, track;
    uint32_t device;        // index of ts_replay.devices
    uint32_t device_track;  // 0 unknown
    uint32_t context_track; // the device's if there is none
    uint64_t device_number, number, flags;
    ts_track_type type;
    bool operations; // some lie here; else it is a thread that calls
    bool fifo;       // a stream
    bool selected;
} ts__replay_lane;

enum {
    TS__NODE_WAITS = 1,
    TS__NODE_SELECTED = 2,
    TS__NODE_ALONE = 4 // a call that launched no operation
};

// What a host call does besides launching, by its name.
typedef enum ts__call_class {
    TS__CALL_PLAIN,
    TS__CALL_SYNCS_STREAM,
    TS__CALL_SYNCS_EVENT,
    TS__CALL_SYNCS_DEVICE,
    TS__CALL_QUERIES, // polls an event or a stream, until it is done
    TS__CALL_COPIES,
    TS__CALL_COPIES_ASYNC,
    TS__CALL_FREES // waits for the device before it frees
} ts__call_class;

struct ts_replay {
    ts_reader *reader; // of the first file
    ts__rvec files;    // ts_replay_file
    ts_allocator allocator;
    ts_deps deps;
    uint32_t queue_depth, connections;
    bool no_inference;
    uint32_t op_count, call_count, join_first, node_count;
    ts__rvec ops;          // ts__op
    ts__rvec places;       // uint32_t, of each operation in its file
    ts__rvec call_names;   // uint32_t, of their file
    ts__rvec call_classes; // uint8_t: ts__call_class
    ts__rvec events;       // ts__event_op
    ts__rvec meetings;     // ts__meeting
    ts__rvec members;      // uint32_t: operations, by meeting
    ts__rvec met;          // ts__met
    ts__rvec joined;       // uint32_t: meetings, of join_first and those after
    ts__rvec queued;       // ts__queued, while the graph is built
    ts__rvec lanes;        // ts__replay_lane
    ts__rvec waiters;      // nodes that have an end of their own, ascending
    // Of each node: recorded time and duration, lane, flags.
    ts__rvec time, duration, lane, flags;
    ts__rvec offsets, targets, kinds; // edges
    ts__rvec start, gap;              // of each node, by the run
    ts__rvec changed;        // durations of nodes that the run used, if others
    struct ts__model *model; // by the first run that needs one
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
static ts_replay_file *ts__replay_file(const ts_replay *r, uint32_t file)
{
    return (ts_replay_file *)r->files.data + file;
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
static uint32_t ts__replay_file_of(const ts_replay *r, uint32_t node)
{
    return ts__replay_lane_at(r, ts__replay_lanes(r)[node])->file;
}
// A file and a number that means something in it alone.
static uint64_t ts__replay_key(uint32_t file, uint32_t number)
{
    return (uint64_t)file << 32 | number;
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

/* ---- 9.20 Replay: loading ------------------------------------------------ */

// An operation as it is loaded.
typedef struct ts__row {
    int64_t start, duration, issue;
    uint64_t correlation, id, record;
    uint32_t track; // its lane, once its file is loaded
    uint32_t thread, label, call;
    uint32_t place; // in its file
    uint8_t kind;   // 0: not to be used
    uint8_t memory;
} ts__row;

// An API call, or what stands in for one (name 0, no duration).
typedef struct ts__row_call {
    int64_t start, duration;
    uint64_t correlation;
    uint32_t track; // its lane, once its file is loaded
    uint32_t name;
    uint32_t rank; // after sorting; TS_NODE_NONE: not used
    uint8_t type;  // ts__call_class
    bool failed;   // its result is not 0
    bool alone;    // no operation has its correlation
} ts__row_call;

typedef struct ts__loader {
    ts_replay *replay;
    const ts_allocator *allocator;
    ts_reader *reader; // of the file being loaded
    uint32_t file;
    int64_t offset; // of its times
    size_t row_first, call_first;
    ts__rvec classes;    // of each of its names, in the order of their numbers
    ts__rvec colls;      // ts__coll: of rows that are collectives
    ts__rvec rows;       // ts__row, in file order
    ts__rvec chunk_row;  // of each chunk: its first row, or TS_NODE_NONE
    ts__rvec chunk_coll; // and the first of l->colls
    ts__rvec chunk_ok;   // of each chunk: decoded
    ts__rvec filter;     // bits of correlations that operations have
    uint64_t filter_mask;
    ts__rvec *thread_calls; // ts__row_call of each scanning thread
    bool *thread_failed;
    ts__rvec calls;
    ts__rsort sort;
    ts__rmap lanes; // file and track to lane
} ts__loader;

static ts__row *ts__loader_row(const ts__loader *l, size_t i)
{
    return (ts__row *)l->rows.data + i;
}
static ts__row_call *ts__loader_call(const ts__loader *l, size_t i)
{
    return (ts__row_call *)l->calls.data + i;
}

// Collectives and point-to-point operations have more columns.
typedef struct ts__coll {
    uint64_t communicator, sequence, size, ranks, peer;
} ts__coll;

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
static int64_t ts__row_issue(const ts__loader *l, const ts_columns *c,
                             uint32_t row)
{
    uint64_t ticks = ts__columns_get(c, TS_COLUMN_QUEUED, row);
    if (!ticks) ticks = ts__columns_get(c, TS_COLUMN_SUBMITTED, row);
    if (!ticks) return TS__NO_TIME;
    int64_t time = ts_reader_time_ns(l->reader, c->clock,
                                     c->start_ticks[row] - (ticks - 1));
    if (!ts__replay_time_ok(time)) return TS__NO_TIME;
    time += l->offset;
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

static ts__row ts__row_read(const ts__loader *l, const ts_columns *c,
                            uint32_t i)
{
    ts__row row = { 0 };
    row.start = c->start_ns[i];
    row.duration = c->duration_ns[i];
    if (!ts__replay_time_ok(row.start) || !ts__replay_time_ok(row.duration) ||
        row.duration < 0)
        return row;
    row.start += l->offset;
    if (!ts__replay_time_ok(row.start)) return row;
    row.kind = (uint8_t)c->kind;
    row.issue = ts__row_issue(l, c, i);
    row.correlation = ts__columns_get(c, TS_COLUMN_CORRELATION, i);
    row.id = ts__columns_get(c, TS_COLUMN_ID, i);
    row.record = ts__columns_get(c, TS_COLUMN_RECORD, i);
    row.track = c->tracks ? c->tracks[i] : c->track;
    row.thread = (uint32_t)ts__columns_get(c, TS_COLUMN_THREAD, i);
    row.memory = (uint8_t)ts__columns_get(c, TS_COLUMN_MEMORY, i);
    row.label = (uint32_t)ts__columns_get(c, ts__kind_label(c->kind), i);
    row.call = TS_NODE_NONE;
    return row;
}

static void ts__coll_read(const ts__loader *l, const ts_columns *c, uint32_t i,
                          ts__row *row)
{
    const uint64_t at = ((const uint32_t *)l->chunk_coll.data)[c->chunk] + i;
    ts__coll *const coll = (ts__coll *)l->colls.data + at;
    coll->communicator = ts__columns_get(c, TS_COLUMN_COMMUNICATOR, i);
    coll->sequence = ts__columns_get(c, TS_COLUMN_SEQUENCE, i);
    coll->size = ts__columns_get(c, TS_COLUMN_SIZE, i);
    coll->ranks = ts__columns_get(c, TS_COLUMN_RANKS, i);
    coll->peer = ts__columns_get(c, TS_COLUMN_PEER, i);
    row->id = at;
    row->record = 0;
}

// Threads fill in rows that belong to their chunk alone.
static void ts__loader_take_rows(const ts_columns *c, uint32_t thread,
                                 void *user)
{
    (void)thread;
    const ts__loader *const l = (const ts__loader *)user;
    const uint32_t first = ((const uint32_t *)l->chunk_row.data)[c->chunk];
    if (first == TS_NODE_NONE) return;
    for (uint32_t i = 0; i < c->count; i++) {
        ts__row *const row = ts__loader_row(l, l->row_first + first + i);
        *row = ts__row_read(l, c, i);
        if (c->kind == TS_EVENT_COLLECTIVE) ts__coll_read(l, c, i, row);
        row->place = first + i;
    }
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
    ts_reader *const reader = l->reader;
    const size_t chunks = ts_reader_chunk_count(reader);
    if (!ts__rvec_fill(l->allocator, &l->chunk_row, sizeof(uint32_t), chunks,
                       0xFF) ||
        !ts__rvec_fill(l->allocator, &l->chunk_coll, sizeof(uint32_t), chunks,
                       0) ||
        !ts__rvec_fill(l->allocator, &l->chunk_ok, sizeof(bool), chunks, 0))
        return TS_ERR_MEMORY;
    uint64_t count = 0, colls = l->colls.count;
    for (size_t i = 0; i < chunks; i++) {
        ts_chunk_info info;
        if (!ts_reader_chunk(reader, i, &info) || !ts__chunk_is_gpu(&info))
            continue;
        ((uint32_t *)l->chunk_row.data)[i] = (uint32_t)count;
        ((uint32_t *)l->chunk_coll.data)[i] = (uint32_t)colls;
        if (info.header.event == TS_EVENT_COLLECTIVE)
            colls += info.header.count;
        count += info.header.count;
        if (l->row_first + count >= TS__REPLAY_OPS_MAX)
            return TS_ERR_UNSUPPORTED;
    }
    count += l->row_first;
    if (!ts__rvec_reserve(l->allocator, &l->rows, sizeof(ts__row),
                          (size_t)count) ||
        !ts__rvec_reserve(l->allocator, &l->colls, sizeof(ts__coll),
                          (size_t)colls))
        return TS_ERR_MEMORY;
    l->colls.count = (size_t)colls;
    l->rows.count = (size_t)count;
    return TS_OK;
}

// Closes the gaps that damaged chunks and impossible times leave.
static void ts__loader_compact(ts__loader *l)
{
    size_t kept = l->row_first;
    for (size_t i = 0; i < l->chunk_row.count; i++) {
        const uint32_t first = ((const uint32_t *)l->chunk_row.data)[i];
        if (first == TS_NODE_NONE || !((const bool *)l->chunk_ok.data)[i])
            continue;
        ts_chunk_info info;
        if (!ts_reader_chunk(l->reader, i, &info)) continue;
        for (uint32_t k = 0; k < info.header.count; k++) {
            const ts__row row = *ts__loader_row(l, l->row_first + first + k);
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
    const ts_result scan =
        ts_reader_scan(l->reader, &filter, threads, ts__loader_take_rows, l);
    if (scan == TS_ERR_MEMORY) return scan;
    ts__loader_compact(l);
    return TS_OK;
}

/* ---- 9.21 Replay: host calls --------------------------------------------- */

static bool ts__text_has(ts_text text, const char *part)
{
    const size_t size = strlen(part);
    for (size_t i = 0; i + size <= text.size; i++)
        if (!memcmp(text.text + i, part, size)) return true;
    return false;
}

/*
    Functions that may hold up the host, in the words that all vendors use:
    cudaStreamSynchronize, hipEventQuery, cuMemcpyDtoH_v2, clFinish,
    zeCommandQueueSynchronize, aclrtSynchronizeDevice, ... What is
    asynchronous by its name does not free at once; copies that are may still
    hold up the host, if the memory is pageable.
*/
static ts__call_class ts__call_classify(ts_text name)
{
    if (ts__text_has(name, "Query") &&
        (ts__text_has(name, "Event") || ts__text_has(name, "Stream") ||
         ts__text_has(name, "Queue") || ts__text_has(name, "Fence")))
        return TS__CALL_QUERIES;
    if (ts__text_has(name, "clFinish")) return TS__CALL_SYNCS_STREAM;
    if (ts__text_has(name, "clWaitForEvents")) return TS__CALL_SYNCS_EVENT;
    if (ts__text_has(name, "Synchronize")) {
        if (ts__text_has(name, "Event")) return TS__CALL_SYNCS_EVENT;
        if (ts__text_has(name, "Stream") || ts__text_has(name, "Queue") ||
            ts__text_has(name, "Fence") || ts__text_has(name, "List"))
            return TS__CALL_SYNCS_STREAM;
        return TS__CALL_SYNCS_DEVICE;
    }
    if (ts__text_has(name, "Memcpy"))
        return ts__text_has(name, "Async") ? TS__CALL_COPIES_ASYNC
                                           : TS__CALL_COPIES;
    if (ts__text_has(name, "Free") && !ts__text_has(name, "Async") &&
        (ts__text_has(name, "cudaFree") || ts__text_has(name, "cuMemFree") ||
         ts__text_has(name, "hipFree") || ts__text_has(name, "MemFree")))
        return TS__CALL_FREES;
    return TS__CALL_PLAIN;
}

// Decides once for each name of the file, all in the order of their numbers.
static bool ts__loader_classify(ts__loader *l)
{
    const ts__table *const table = &l->reader->tables[TS_CHUNK_NAMES];
    if (!ts__rvec_fill(l->allocator, &l->classes, sizeof(uint8_t), table->count,
                       TS__CALL_PLAIN))
        return false;
    for (size_t i = 0; i < table->count; i++) {
        const ts_text name = { (const char *)table->items[i].body,
                               table->items[i].size };
        ((uint8_t *)l->classes.data)[i] = (uint8_t)ts__call_classify(name);
    }
    return true;
}

static uint8_t ts__loader_class(const ts__loader *l, uint32_t name)
{
    const ts__table *const table = &l->reader->tables[TS_CHUNK_NAMES];
    const ts__item *const item = ts__table_find(table, name);
    return item ? ((const uint8_t *)l->classes.data)[item - table->items] : 0;
}

static void ts__loader_take_calls(const ts_columns *c, uint32_t thread,
                                  void *user)
{
    ts__loader *const l = (ts__loader *)user;
    const uint64_t *const bits = (const uint64_t *)l->filter.data;
    for (uint32_t i = 0; i < c->count; i++) {
        const uint64_t correlation =
            ts__columns_get(c, TS_COLUMN_CORRELATION, i);
        const uint64_t bit = correlation & l->filter_mask;
        const uint32_t name = (uint32_t)ts__columns_get(c, TS_COLUMN_NAME, i);
        const uint8_t type = ts__loader_class(l, name);
        if (type == TS__CALL_PLAIN &&
            (!correlation || !(bits[bit >> 6] >> (bit & 63) & 1)))
            continue;
        if (!ts__replay_time_ok(c->start_ns[i]) ||
            !ts__replay_time_ok(c->start_ns[i] + l->offset) ||
            !ts__replay_time_ok(c->duration_ns[i]) || c->duration_ns[i] < 0)
            continue;
        ts__row_call *const call = (ts__row_call *)ts__rvec_push(
            l->allocator, &l->thread_calls[thread], sizeof *call);
        if (!call) {
            l->thread_failed[thread] = true;
            return;
        }
        call->start = c->start_ns[i] + l->offset;
        call->duration = c->duration_ns[i];
        call->correlation = correlation;
        call->track = c->tracks ? c->tracks[i] : c->track;
        call->name = name;
        call->rank = TS_NODE_NONE;
        call->type = type;
        call->failed = ts__columns_get(c, TS_COLUMN_RESULT, i) != 0;
        call->alone = true;
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
    while (bits < (l->rows.count - l->row_first) * 8)
        bits *= 2;
    if (!ts__rvec_fill(l->allocator, &l->filter, sizeof(uint64_t), bits / 64,
                       0))
        return false;
    l->filter_mask = bits - 1;
    uint64_t *const words = (uint64_t *)l->filter.data;
    for (size_t i = l->row_first; i < l->rows.count; i++) {
        const uint64_t bit = ts__loader_row(l, i)->correlation & l->filter_mask;
        words[bit >> 6] |= UINT64_C(1) << (bit & 63);
    }
    return true;
}

// The calls of all threads, appended to those of earlier files.
static ts_result ts__loader_gather(ts__loader *l, uint32_t threads)
{
    size_t count = l->calls.count;
    for (uint32_t i = 0; i < threads; i++) {
        if (l->thread_failed[i]) return TS_ERR_MEMORY;
        count += l->thread_calls[i].count;
    }
    if (count >= TS__REPLAY_OPS_MAX) return TS_ERR_UNSUPPORTED;
    uint32_t first = 0;
    if (!l->calls.count) { // the first need not be copied
        const ts__rvec none = { 0 };
        ts__rvec_close(l->allocator, &l->calls);
        l->calls = l->thread_calls[first];
        l->thread_calls[first++] = none;
    }
    if (!ts__rvec_reserve(l->allocator, &l->calls, sizeof(ts__row_call), count))
        return TS_ERR_MEMORY;
    for (uint32_t i = first; i < threads; i++) {
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
    if (!ts__loader_filter(l) || !ts__loader_classify(l)) return TS_ERR_MEMORY;
    ts__rvec vecs = { 0 }, failed = { 0 };
    ts_result result = TS_ERR_MEMORY;
    if (ts__rvec_fill(l->allocator, &vecs, sizeof(ts__rvec), threads, 0) &&
        ts__rvec_fill(l->allocator, &failed, sizeof(bool), threads, 0)) {
        l->thread_calls = (ts__rvec *)vecs.data;
        l->thread_failed = (bool *)failed.data;
        const ts_filter filter = { .kinds = TS_FILTER(API_CALL) };
        result = ts_reader_scan(l->reader, &filter, threads,
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
    TS__CALL_LANE, // the track while its file is being loaded
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
    case TS__CALL_LANE: return c->track;
    case TS__CALL_START: return ts__rsort_time(c->start);
    default: return c->correlation;
    }
}

// Orders the indices of calls from `first` on by every key up to `last`. Only
// calls that are alike in everything can change places.
static bool ts__loader_call_sort(ts__loader *l, size_t first, ts__call_key last)
{
    const size_t count = l->calls.count - first;
    if (!ts__rsort_open(l->allocator, &l->sort, count)) return false;
    for (size_t i = 0; i < count; i++)
        ts__rsort_index(&l->sort)[i] = (uint32_t)(first + i);
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

/*
    Adds what stands in for calls that the trace lacks. Rows are in the sorter
    in order of correlation: those of one, issued at one moment by one thread,
    were one call.
*/
static bool ts__loader_stand_in(ts__loader *l)
{
    const size_t rows = l->rows.count - l->row_first;
    ts__row_call last = { 0 };
    for (size_t i = 0; i < rows; i++) {
        ts__row *const row = ts__loader_row(l, ts__rsort_index(&l->sort)[i]);
        if (row->call != TS_NODE_NONE || row->issue == TS__NO_TIME ||
            !row->thread || ts__kind_syncs(row->kind))
            continue;
        if (!row->correlation || last.correlation != row->correlation ||
            last.start != row->issue || last.track != row->thread) {
            memset(&last, 0, sizeof last);
            last.start = row->issue;
            last.correlation = row->correlation;
            last.track = row->thread;
            ts__row_call *const to = (ts__row_call *)ts__rvec_push(
                l->allocator, &l->calls, sizeof *to);
            if (!to) return false;
            *to = last;
        }
        row->call = (uint32_t)(l->calls.count - 1);
    }
    return true;
}

// Merges operations and calls, both in order of correlation.
static bool ts__loader_match(ts__loader *l)
{
    if (!ts__loader_call_sort(l, l->call_first, TS__CALL_CORRELATION))
        return false;
    ts__rvec order = { 0 };
    const size_t calls = l->calls.count - l->call_first;
    const size_t rows = l->rows.count - l->row_first;
    if (!ts__rvec_reserve(l->allocator, &order, sizeof(uint32_t), calls))
        return false;
    uint32_t *const by = (uint32_t *)order.data;
    memcpy(by, ts__rsort_index(&l->sort), calls * sizeof *by);
    bool ok = ts__rsort_open(l->allocator, &l->sort, rows);
    for (size_t i = 0; ok && i < rows; i++) {
        const size_t row = l->row_first + i;
        ts__rsort_keys(&l->sort)[i] = ts__loader_row(l, row)->correlation;
        ts__rsort_index(&l->sort)[i] = (uint32_t)row;
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
        call->alone = false;
        row->issue = call->start;
        if (!row->thread) row->thread = call->track;
    }
    ts__rvec_close(l->allocator, &order);
    return ok && ts__loader_stand_in(l);
}

/*
    Whether b, the next call of its thread, polls on for what a polled for. If
    the results are known, a has failed: it was not done yet. Else the two are
    so close together that the program did nothing else in between.
*/
static bool ts__call_polls_on(const ts__row_call *a, const ts__row_call *b,
                              bool results)
{
    if (a->type != TS__CALL_QUERIES || b->type != TS__CALL_QUERIES ||
        !a->alone || !b->alone || a->name != b->name || a->track != b->track)
        return false;
    if (results) return a->failed;
    return b->start - (a->start + a->duration) <= 1000 + 4 * b->duration;
}

// Makes one call of those that poll in a row: it waits until the last is
// done. What never was done waited for nothing.
static bool ts__loader_polls(ts__loader *l)
{
    bool any = false, results = false;
    for (size_t i = l->call_first; i < l->calls.count; i++) {
        const ts__row_call *const call = ts__loader_call(l, i);
        const bool polls = call->alone && call->type == TS__CALL_QUERIES;
        any |= polls;
        results |= polls && call->failed;
    }
    if (!any) return true;
    // By thread and then start.
    if (!ts__loader_call_sort(l, l->call_first, TS__CALL_START)) return false;
    const size_t count = l->calls.count - l->call_first;
    for (size_t i = 0; i < count; i++)
        ts__rsort_keys(&l->sort)[i] =
            ts__loader_call(l, ts__rsort_index(&l->sort)[i])->track;
    ts__rsort_run(&l->sort, count);
    ts__row_call *last = NULL;
    for (size_t i = 0; i < count; i++) {
        ts__row_call *const call =
            ts__loader_call(l, ts__rsort_index(&l->sort)[i]);
        if (call->alone && call->type == TS__CALL_PLAIN) continue;
        if (last && ts__call_polls_on(last, call, results)) {
            call->duration += call->start - last->start;
            call->start = last->start;
            last->type = TS__CALL_PLAIN; // dropped
        }
        last = call;
    }
    for (size_t i = l->call_first; i < l->calls.count; i++) {
        ts__row_call *const call = ts__loader_call(l, i);
        if (call->alone && call->type == TS__CALL_QUERIES && call->failed)
            call->type = TS__CALL_PLAIN;
    }
    return true;
}

// Drops the calls that launched nothing and do not wait.
static void ts__loader_keep(ts__loader *l)
{
    uint32_t kept = (uint32_t)l->call_first;
    for (size_t i = l->call_first; i < l->calls.count; i++) {
        ts__row_call *const call = ts__loader_call(l, i);
        if (!call->alone || call->type != TS__CALL_PLAIN) call->rank = kept++;
    }
    for (size_t i = l->row_first; i < l->rows.count; i++) {
        ts__row *const row = ts__loader_row(l, i);
        if (row->call != TS_NODE_NONE)
            row->call = ts__loader_call(l, row->call)->rank;
    }
    for (size_t i = l->call_first; i < l->calls.count; i++) {
        const ts__row_call call = *ts__loader_call(l, i);
        if (call.rank != TS_NODE_NONE) *ts__loader_call(l, call.rank) = call;
    }
    l->calls.count = kept;
}

/* ---- 9.22 Replay: lanes and nodes ---------------------------------------- */

// The lane of a track of the file being loaded; TS_NODE_NONE without memory.
static uint32_t ts__loader_lane(ts__loader *l, uint32_t track)
{
    const uint64_t key = ts__replay_key(l->file, track);
    uint32_t index = ts__rmap_get(&l->lanes, key);
    if (index != TS_NODE_NONE) return index;
    ts_replay *const r = l->replay;
    ts__replay_lane *const lane =
        (ts__replay_lane *)ts__rvec_push(l->allocator, &r->lanes, sizeof *lane);
    if (!lane) return TS_NODE_NONE;
    memset(lane, 0, sizeof *lane);
    lane->file = l->file;
    lane->track = track;
    index = (uint32_t)(r->lanes.count - 1);
    lane->device = index; // until they are sorted
    return ts__rmap_put(l->allocator, &l->lanes, key, index) ? index
                                                             : TS_NODE_NONE;
}

// Who a track belongs to. Parents are hostile: they may go round in circles.
static void ts__replay_lane_describe(const ts_replay *r, ts__replay_lane *lane)
{
    const ts_reader *const reader = ts__replay_file(r, lane->file)->reader;
    ts_track track;
    lane->type = TS_TRACK_STREAM; // so are tracks that nothing defines
    if (ts_reader_track(reader, lane->track, &track)) {
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
            if (!ts_reader_track(reader, track.parent, &track)) break;
        }
    } else {
        lane->number = lane->track;
    }
    if (!lane->context_track) lane->context_track = lane->device_track;
    lane->fifo =
        lane->type != TS_TRACK_DEVICE && lane->type != TS_TRACK_CONTEXT;
}

// Threads first, then devices of each file; on one device by kind of track
// and number.
static int ts__replay_lane_compare(const void *left, const void *right)
{
    const ts__replay_lane *const a = (const ts__replay_lane *)left;
    const ts__replay_lane *const b = (const ts__replay_lane *)right;
    const uint64_t of_a[] = { a->operations,     a->file,
                              a->device_number,  a->device_track,
                              (uint64_t)a->type, a->number,
                              a->track };
    const uint64_t of_b[] = { b->operations,     b->file,
                              b->device_number,  b->device_track,
                              (uint64_t)b->type, b->number,
                              b->track };
    for (size_t i = 0; i < sizeof of_a / sizeof of_a[0]; i++)
        if (of_a[i] != of_b[i]) return of_a[i] < of_b[i] ? -1 : 1;
    return 0;
}

// Gives what was loaded of the file the lanes of its tracks.
static bool ts__loader_claim(ts__loader *l)
{
    uint32_t track = 0, lane = TS_NODE_NONE, thread = 0;
    for (size_t i = l->row_first; i < l->rows.count; i++) {
        ts__row *const row = ts__loader_row(l, i);
        if (lane == TS_NODE_NONE || row->track != track) {
            track = row->track;
            lane = ts__loader_lane(l, track);
            if (lane == TS_NODE_NONE) return false;
            ts__replay_lane_at(l->replay, lane)->operations = true;
        }
        row->track = lane;
        if (row->thread != thread &&
            ts__loader_lane(l, row->thread) == TS_NODE_NONE)
            return false;
        thread = row->thread;
    }
    lane = TS_NODE_NONE;
    for (size_t i = l->call_first; i < l->calls.count; i++) {
        ts__row_call *const call = ts__loader_call(l, i);
        if (lane == TS_NODE_NONE || call->track != track)
            lane = ts__loader_lane(l, track = call->track);
        if (lane == TS_NODE_NONE) return false;
        call->track = lane;
    }
    return true;
}

// Sorts the lanes and tells everything on them its new number.
static bool ts__loader_lanes(ts__loader *l)
{
    ts_replay *const r = l->replay;
    ts__rvec ranks = { 0 };
    if (!ts__rvec_reserve(l->allocator, &ranks, sizeof(uint32_t),
                          r->lanes.count))
        return false;
    uint32_t *const rank = (uint32_t *)ranks.data;
    for (size_t i = 0; i < r->lanes.count; i++)
        ts__replay_lane_describe(r, ts__replay_lane_at(r, i));
    if (r->lanes.count)
        qsort(r->lanes.data, r->lanes.count, sizeof(ts__replay_lane),
              ts__replay_lane_compare);
    for (size_t i = 0; i < r->lanes.count; i++)
        rank[ts__replay_lane_at(r, i)->device] = (uint32_t)i;
    for (size_t i = 0; i < l->rows.count; i++) {
        ts__row *const row = ts__loader_row(l, i);
        row->track = rank[row->track];
    }
    for (size_t i = 0; i < l->calls.count; i++) {
        ts__row_call *const call = ts__loader_call(l, i);
        call->track = rank[call->track];
    }
    ts__rvec_close(l->allocator, &ranks);
    return true;
}

// One result for each lane with operations and each device with such lanes.
static bool ts__replay_results(ts_replay *r)
{
    uint32_t device = TS_NODE_NONE, file = 0;
    for (size_t i = 0; i < r->lanes.count; i++) {
        ts__replay_lane *const lane = ts__replay_lane_at(r, i);
        lane->device = TS_NODE_NONE;
        if (!lane->operations) continue;
        ts_lane result = { 0 };
        result.file = lane->file;
        result.track = lane->track;
        result.device = lane->device_track;
        ts_lane *const own = (ts_lane *)ts__rvec_push(
            &r->allocator, &r->lane_results, sizeof *own);
        if (!own) return false;
        *own = result;
        if (r->device_results.count && device == lane->device_track &&
            file == lane->file) {
            lane->device = (uint32_t)r->device_results.count - 1;
            continue;
        }
        ts_lane *const shared = (ts_lane *)ts__rvec_push(
            &r->allocator, &r->device_results, sizeof *shared);
        if (!shared) return false;
        *shared = result;
        shared->track = device = lane->device_track;
        file = lane->file;
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
    const ts__op op = {
        row->issue, row->correlation, row->thread, row->label,
        row->call,  row->kind,        TS_SKIP_NOT, row->memory
    };
    ts__op *const to =
        (ts__op *)ts__rvec_push(l->allocator, &r->ops, sizeof *to);
    uint32_t *const place =
        (uint32_t *)ts__rvec_push(l->allocator, &r->places, sizeof *place);
    if (!to || !place) return false;
    *to = op;
    *place = row->place;
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
    bool waits = ts__kind_syncs(row->kind) || row->kind == TS_EVENT_EVENT_WAIT;
    if (row->kind == TS_EVENT_COLLECTIVE && row->record) {
        const uint32_t meeting = (uint32_t)row->record - 1;
        waits = ((ts__meeting *)r->meetings.data + meeting)->count > 1;
        ts__met *const met =
            (ts__met *)ts__rvec_push(l->allocator, &r->met, sizeof *met);
        if (!met) return false;
        met->op = r->op_count;
        met->meeting = meeting;
    }
    r->op_count++;
    return ts__node_push(r, row->start, row->duration, row->track,
                         waits ? TS__NODE_WAITS : 0);
}

static bool ts__loader_ops(ts__loader *l)
{
    ts_replay *const r = l->replay;
    const size_t count = l->rows.count;
    if (!ts__loader_order(l) ||
        !ts__rvec_reserve(l->allocator, &r->ops, sizeof(ts__op), count) ||
        !ts__rvec_reserve(l->allocator, &r->places, sizeof(uint32_t), count) ||
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
    if (!ts__loader_call_sort(l, 0, TS__CALL_START) ||
        !ts__rvec_reserve(l->allocator, &r->call_names, sizeof(uint32_t),
                          count) ||
        !ts__rvec_reserve(l->allocator, &r->call_classes, sizeof(uint8_t),
                          count))
        return false;
    for (size_t i = 0; i < count; i++) {
        ts__row_call *const call =
            ts__loader_call(l, ts__rsort_index(&l->sort)[i]);
        call->rank = r->node_count;
        ((uint32_t *)r->call_names.data)[i] = call->name;
        ((uint8_t *)r->call_classes.data)[i] = call->type;
        if (!ts__node_push(r, call->start, call->duration, call->track,
                           call->alone ? TS__NODE_ALONE : 0))
            return false;
    }
    r->call_names.count = r->call_classes.count = count;
    r->call_count = (uint32_t)count;
    for (size_t i = 0; i < r->op_count; i++) {
        ts__op *const op = ts__replay_op(r, i);
        if (op->call != TS_NODE_NONE)
            op->call = ts__loader_call(l, op->call)->rank;
    }
    return true;
}

/*
    Whether the host may wait for a copy inside the call. An asynchronous one
    returns at once from pinned memory, after staging from pageable memory,
    and only at the end of a copy into pageable memory.
*/
static bool ts__copy_holds(const ts_replay *r, const ts__op *op)
{
    enum { UNKNOWN_MEMORY, PAGEABLE, TO_DEVICE = 1, TO_HOST };
    const uint8_t type =
        ((const uint8_t *)r->call_classes.data)[op->call - r->op_count];
    if (type != TS__CALL_COPIES_ASYNC) return true;
    const uint8_t from = op->memory & 15, to = op->memory >> 4;
    const uint8_t host = op->label == TO_DEVICE ? from
                         : op->label == TO_HOST ? to
                                                : 255;
    return host == PAGEABLE || host == UNKNOWN_MEMORY;
}

// Whether the call that launched an operation returned only after its end,
// because it waited for it.
static bool ts__call_outlasts(const ts_replay *r, uint32_t op)
{
    const ts__op *const o = ts__replay_op(r, op);
    if (o->call == TS_NODE_NONE ||
        ts__replay_end(r, op) > ts__replay_end(r, o->call))
        return false;
    return ts__kind_syncs(o->kind) ||
           (o->kind == TS_EVENT_MEMCPY && ts__copy_holds(r, o));
}

// Calls that wait although no operation says so.
static bool ts__call_waits(const ts_replay *r, uint32_t call)
{
    const uint8_t type =
        ((const uint8_t *)r->call_classes.data)[call - r->op_count];
    return ts__replay_flags(r)[call] & TS__NODE_ALONE &&
           type != TS__CALL_PLAIN && type != TS__CALL_COPIES &&
           type != TS__CALL_COPIES_ASYNC;
}

// Adds the ends of all nodes that wait for others.
static bool ts__replay_ends(ts_replay *r)
{
    uint8_t *flags = ts__replay_flags(r);
    for (uint32_t i = 0; i < r->op_count; i++)
        if (ts__call_outlasts(r, i))
            flags[ts__replay_op(r, i)->call] |= TS__NODE_WAITS;
    for (uint32_t i = r->op_count; i < r->op_count + r->call_count; i++)
        if (ts__call_waits(r, i)) flags[i] |= TS__NODE_WAITS;
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
