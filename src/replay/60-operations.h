/* ---- 10.18 Replay: memory, maps, sorting --------------------------------- */

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

// Gives back what is not used; if that cannot be, all stays as it is.
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
    A stable sort of indices by u64 keys, linear in their number: into many
    buckets of equal width, where the keys are spread so evenly that what is
    left to do in them is little, else by digits, of which those that are equal
    in all keys are left out. For several keys sort by the least significant
    one first.
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

// Keeps the order alone.
static void ts__rsort_shed(const ts_allocator *a, ts__rsort *s)
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

// The least shift with which keys that are `range` apart at most have no
// more values than there are buckets.
static int ts__rsort_shift(uint64_t range, size_t count)
{
    int shift = 0;
    while (range >> shift >= count / TS__RSORT_SHARE)
        shift++;
    return shift;
}

// Sorts by buckets, unless that would leave too much to do in them: pairs of
// keys in one bucket are what may have to change places.
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
        sorted &= most <= keys[i]; // of the ones before
        if (keys[i] < least) least = keys[i];
        if (keys[i] > most) most = keys[i];
    }
    if (sorted ||
        (count >= 64 && ts__rsort_buckets(s, count, least, most - least)))
        return;
    ts__rsort_digits(s, count, differ);
}

/*
    Of `groups` groups, how many each has, and a 0, become where each ends.
    Whoever then places the members from the last to the first, at
    --offsets[group], leaves where each begins.
*/
static void ts__offsets_sum(uint32_t *offsets, size_t groups)
{
    uint32_t sum = 0;
    for (size_t i = 0; i <= groups; i++) {
        sum += offsets[i];
        offsets[i] = sum;
    }
}

/* ---- 10.19 Replay: what is held ------------------------------------------ */

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

// What collectives have besides.
typedef struct ts__coll_op {
    uint32_t op, launch; // launch: of the kernel that does it; 0 not known
    uint64_t communicator;
} ts__coll_op;

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

/*
    A process, or several that one trace holds: what shares correlations,
    events and a rank. A trace is one part, unless it was made of several
    (metadata `merge.part`); then it is as many as if they were read apart.
*/
typedef struct ts__origin {
    uint32_t file, local; // its number among those of the file
    uint32_t process;     // the first process track of it; 0: the session
} ts__origin;

typedef struct ts__replay_lane {
    uint32_t file, track;
    uint32_t part;          // the file's first until all are loaded
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
    TS__CALL_FREES,        // waits for the device before it frees
    TS__CALL_RECORDS,      // an event, of which the source says no more
    TS__CALL_WAITS,        // makes a stream wait for one, likewise
    TS__CALL_UNKNOWN = 255 // not asked yet
} ts__call_class;

struct ts_replay {
    ts_reader *reader;   // of the first file
    ts__rvec files;      // ts_replay_file
    ts__rvec parts;      // ts__origin, by file
    ts__rvec part_first; // uint32_t: that of each file
    ts__rmap part_of;    // those of process tracks, by file and track
    ts_allocator allocator;
    ts_deps deps;
    uint32_t queue_depth, connections;
    bool no_inference;
    bool clocks_only;
    bool windowed;              // only what touches [load_from, load_to) is
    int64_t load_from, load_to; // loaded, and its calls no earlier than
    int64_t calls_from;         // this
    uint32_t op_count, call_count, join_first, node_count;
    ts__rvec ops;          // ts__op
    ts__rvec places;       // uint32_t, of each operation in its file
    ts__rvec call_names;   // uint32_t, of their file
    ts__rvec call_classes; // uint8_t: ts__call_class
    ts__rvec events;       // ts__event_op
    ts__rvec collectives;  // ts__coll_op, by operation
    ts__rvec meetings;     // ts__meeting
    ts__rvec members;      // uint32_t: operations, by meeting
    ts__rvec met;          // ts__met
    ts__rvec joined;       // uint32_t: meetings, of join_first and those after
    ts__rvec queued;       // ts__queued, while the graph is built
    ts__rvec deps_named;   // ts__named_dep, while the graph is built
    ts__rvec call_numbers; // uint64_t: correlations of calls, if any names one
    ts__rvec lanes;        // ts__replay_lane
    ts__rvec waiters;      // nodes that have an end of their own, ascending
    ts__rvec ends;         // uint32_t: where each operation and call ends
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
static uint32_t ts__replay_part_of(const ts_replay *r, uint32_t node)
{
    return ts__replay_lane_at(r, ts__replay_lanes(r)[node])->part;
}
static ts__origin *ts__replay_part(const ts_replay *r, uint32_t part)
{
    return (ts__origin *)r->parts.data + part;
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

/* ---- 10.20 Replay: loading ----------------------------------------------- */

// What is loaded of an operation besides its ts__op, whose kind is 0 if it is
// not to be used and whose label is a number of colls or of events, if it is
// one of those.
typedef struct ts__row {
    int64_t start, duration;
    uint32_t track; // its lane, once its file is loaded
    uint32_t place; // in its file
} ts__row;

// Event records, waits and syncs have more columns.
typedef struct ts__row_event {
    uint64_t id, record;
} ts__row_event;

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
    bool early;    // before the window: it is there for what it launched
} ts__row_call;

typedef struct ts__loader {
    ts_replay *replay;
    const ts_allocator *allocator;
    ts_reader *reader; // of the file being loaded
    uint32_t file;
    int64_t offset; // of its times
    size_t row_first, call_first;
    ts__rvec wanted; // uint64_t: correlations that dependencies name
    bool deps_failed;
    ts__rvec classes;     // of each of its names, in the order of their numbers
    ts__rvec colls;       // ts__coll: of rows that are collectives
    ts__rvec jobs;        // ts__job of each part
    ts__rvec rows;        // ts__row, in file order
    ts__rvec ops;         // ts__op of each row
    ts__rvec events;      // ts__row_event: of rows that have it
    ts__rvec chunk_row;   // of each chunk: its first row, or TS_NODE_NONE
    ts__rvec chunk_place; // its place in the file
    ts__rvec chunk_side;  // and the first of l->colls or l->events
    ts__rvec chunk_rows;  // how many of its rows are in the window
    ts__rvec chunk_ok;    // of each chunk: decoded
    ts__rvec filter;      // bits of correlations that operations have
    uint64_t filter_mask;
    bool blind_records, blind_waits; // the file has but the calls of these
    ts__rvec *thread_calls;          // ts__row_call of each scanning thread
    bool *thread_failed;
    ts__rvec calls;
    ts__rsort sort;
    ts__rmap lanes; // file and track to lane
} ts__loader;

static ts__row *ts__loader_row(const ts__loader *l, size_t i)
{
    return (ts__row *)l->rows.data + i;
}
static ts__op *ts__loader_op(const ts__loader *l, size_t i)
{
    return (ts__op *)l->ops.data + i;
}
static ts__row_call *ts__loader_call(const ts__loader *l, size_t i)
{
    return (ts__row_call *)l->calls.data + i;
}

// Collectives and point-to-point operations have more columns.
typedef struct ts__coll {
    uint64_t communicator, sequence, size, ranks, peer;
    uint32_t launch, name;
    uint32_t meeting; // its number plus 1; 0: none
} ts__coll;

// What a part says about the job of which its process is one.
typedef struct ts__job {
    uint64_t rank;  // the number of its process plus 1; 0 unknown
    uint32_t ranks; // where a collective does not say; 0 unknown
} ts__job;

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

// Leaves the kind 0 if it is not to be used.
static void ts__row_read(const ts__loader *l, const ts_columns *c, uint32_t i,
                         ts__row *row, ts__op *op)
{
    memset(op, 0, sizeof *op);
    row->start = c->start_ns[i];
    row->duration = c->duration_ns[i];
    row->track = c->tracks ? c->tracks[i] : c->track;
    if (!ts__replay_time_ok(row->start) || !ts__replay_time_ok(row->duration) ||
        row->duration < 0)
        return;
    row->start += l->offset;
    if (!ts__replay_time_ok(row->start)) return;
    op->kind = (uint8_t)c->kind;
    op->issue = ts__row_issue(l, c, i);
    op->correlation = ts__columns_get(c, TS_COLUMN_CORRELATION, i);
    op->thread = (uint32_t)ts__columns_get(c, TS_COLUMN_THREAD, i);
    op->memory = (uint8_t)ts__columns_get(c, TS_COLUMN_MEMORY, i);
    op->label = (uint32_t)ts__columns_get(c, ts__kind_label(c->kind), i);
    op->call = TS_NODE_NONE;
}

static void ts__coll_read(const ts__loader *l, const ts_columns *c, uint32_t i,
                          uint32_t at, ts__op *op)
{
    ts__coll *const coll = (ts__coll *)l->colls.data + at;
    coll->communicator = ts__columns_get(c, TS_COLUMN_COMMUNICATOR, i);
    coll->sequence = ts__columns_get(c, TS_COLUMN_SEQUENCE, i);
    coll->size = ts__columns_get(c, TS_COLUMN_SIZE, i);
    coll->ranks = ts__columns_get(c, TS_COLUMN_RANKS, i);
    coll->peer = ts__columns_get(c, TS_COLUMN_PEER, i);
    coll->launch = (uint32_t)ts__columns_get(c, TS_COLUMN_LAUNCH, i);
    coll->name = op->label;
    coll->meeting = 0;
    op->label = at;
}

static void ts__event_read(const ts__loader *l, const ts_columns *c, uint32_t i,
                           uint32_t at, ts__op *op)
{
    ts__row_event *const event = (ts__row_event *)l->events.data + at;
    event->id = ts__columns_get(c, TS_COLUMN_ID, i);
    event->record = ts__columns_get(c, TS_COLUMN_RECORD, i);
    op->label = at;
}

/* ---- Windows ---- */

// Whether a row is in the window. Impossible times are in none.
static bool ts__row_wanted(const ts__loader *l, const ts_columns *c, uint32_t i)
{
    const ts_replay *const r = l->replay;
    if (!r->windowed) return true;
    if (!ts__replay_time_ok(c->start_ns[i]) ||
        !ts__replay_time_ok(c->duration_ns[i]))
        return false;
    const int64_t start = c->start_ns[i] + l->offset;
    return start < r->load_to &&
           (start >= r->load_from || start + c->duration_ns[i] > r->load_from);
}

static void ts__loader_count_rows(const ts_columns *c, uint32_t thread,
                                  void *user)
{
    (void)thread;
    const ts__loader *const l = (const ts__loader *)user;
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->count; i++)
        count += ts__row_wanted(l, c, i);
    ((uint32_t *)l->chunk_rows.data)[c->chunk] = count;
}

// Chunks of these kinds that touch the window, which begins at `from`.
static ts_filter ts__loader_window(const ts__loader *l, uint64_t kinds,
                                   int64_t from)
{
    ts_filter filter = { 0 };
    filter.kinds = kinds;
    if (l->replay->windowed) {
        filter.from_ns = from - l->offset;
        filter.to_ns = l->replay->load_to - l->offset;
    }
    return filter;
}

static uint64_t ts__kinds_gpu(void)
{
    uint64_t kinds = 0;
    for (uint32_t kind = TS_EVENT_GPU_FIRST; kind < TS_EVENT_LIMIT; kind++)
        kinds |= UINT64_C(1) << kind;
    return kinds;
}

// How many rows of a chunk are to be loaded.
static uint32_t ts__chunk_rows(const ts__loader *l, size_t chunk,
                               const ts_chunk_info *info)
{
    if (l->replay->clocks_only && info->header.event != TS_EVENT_COLLECTIVE)
        return 0;
    return l->replay->windowed ? ((const uint32_t *)l->chunk_rows.data)[chunk]
                               : info->header.count;
}

// Threads fill in rows that belong to their chunk alone.
static void ts__loader_take_rows(const ts_columns *c, uint32_t thread,
                                 void *user)
{
    (void)thread;
    const ts__loader *const l = (const ts__loader *)user;
    const uint32_t first = ((const uint32_t *)l->chunk_row.data)[c->chunk];
    if (first == TS_NODE_NONE) return;
    const uint32_t place = ((const uint32_t *)l->chunk_place.data)[c->chunk];
    const uint32_t side = ((const uint32_t *)l->chunk_side.data)[c->chunk];
    uint32_t at = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        if (!ts__row_wanted(l, c, i)) continue;
        ts__row *const row = ts__loader_row(l, l->row_first + first + at);
        ts__op *const op = ts__loader_op(l, l->row_first + first + at);
        ts__row_read(l, c, i, row, op);
        row->place = place + i;
        if (c->kind == TS_EVENT_COLLECTIVE)
            ts__coll_read(l, c, i, side + at, op);
        else if (ts__kind_has_event((uint8_t)c->kind))
            ts__event_read(l, c, i, side + at, op);
        at++;
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
        !ts__rvec_fill(l->allocator, &l->chunk_place, sizeof(uint32_t), chunks,
                       0) ||
        !ts__rvec_fill(l->allocator, &l->chunk_side, sizeof(uint32_t), chunks,
                       0) ||
        !ts__rvec_fill(l->allocator, &l->chunk_ok, sizeof(bool), chunks, 0))
        return TS_ERR_MEMORY;
    uint64_t count = 0, place = 0, colls = l->colls.count;
    uint64_t events = l->events.count;
    for (size_t i = 0; i < chunks; i++) {
        ts_chunk_info info;
        if (!ts_reader_chunk(reader, i, &info) || !ts__chunk_is_gpu(&info))
            continue;
        const uint32_t rows = ts__chunk_rows(l, i, &info);
        if (rows) ((uint32_t *)l->chunk_row.data)[i] = (uint32_t)count;
        ((uint32_t *)l->chunk_place.data)[i] = (uint32_t)place;
        const bool is_event = ts__kind_has_event((uint8_t)info.header.event);
        ((uint32_t *)l->chunk_side.data)[i] =
            (uint32_t)(is_event ? events : colls);
        if (info.header.event == TS_EVENT_COLLECTIVE) colls += rows;
        if (is_event) events += rows;
        count += rows;
        place += info.header.count;
        if (l->row_first + count >= TS__REPLAY_OPS_MAX || place > UINT32_MAX)
            return TS_ERR_UNSUPPORTED;
    }
    count += l->row_first;
    if (!ts__rvec_reserve(l->allocator, &l->rows, sizeof(ts__row),
                          (size_t)count) ||
        !ts__rvec_reserve(l->allocator, &l->ops, sizeof(ts__op),
                          (size_t)count) ||
        !ts__rvec_reserve(l->allocator, &l->events, sizeof(ts__row_event),
                          (size_t)events) ||
        !ts__rvec_reserve(l->allocator, &l->colls, sizeof(ts__coll),
                          (size_t)colls))
        return TS_ERR_MEMORY;
    l->colls.count = (size_t)colls;
    l->events.count = (size_t)events;
    l->rows.count = l->ops.count = (size_t)count;
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
        const uint32_t rows = ts__chunk_rows(l, i, &info);
        for (uint32_t k = 0; k < rows; k++) {
            const size_t from = l->row_first + first + k;
            l->replay->stats.loaded++;
            if (!ts__loader_op(l, from)->kind) {
                l->replay->stats.skipped[TS_SKIP_BAD_TIME]++;
                continue;
            }
            if (kept++ == from) continue;
            *ts__loader_row(l, kept - 1) = *ts__loader_row(l, from);
            *ts__loader_op(l, kept - 1) = *ts__loader_op(l, from);
        }
    }
    l->rows.count = l->ops.count = kept;
}

static ts_result ts__loader_rows(ts__loader *l, uint32_t threads)
{
    const uint64_t kinds =
        l->replay->clocks_only ? TS_FILTER(COLLECTIVE) : ts__kinds_gpu();
    const ts_filter filter = ts__loader_window(l, kinds, l->replay->load_from);
    // A damaged chunk costs its own rows; the reader's list has it.
    ts_result scan = TS_OK;
    if (l->replay->windowed) {
        if (!ts__rvec_fill(l->allocator, &l->chunk_rows, sizeof(uint32_t),
                           ts_reader_chunk_count(l->reader), 0))
            return TS_ERR_MEMORY;
        scan = ts_reader_scan(l->reader, &filter, threads,
                              ts__loader_count_rows, l);
        if (scan == TS_ERR_MEMORY) return scan;
    }
    const ts_result result = ts__loader_place(l);
    if (result != TS_OK) return result;
    scan = ts_reader_scan(l->reader, &filter, threads, ts__loader_take_rows, l);
    if (scan == TS_ERR_MEMORY) return scan;
    ts__loader_compact(l);
    return TS_OK;
}
