/*
    tracesmith_replay.h - read SBT traces and replay them

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    WHAT IT DOES
        Opens a trace (a file, memory, or one still being written), saves what
        a dead writer left behind, and gives its events: as columns, chunk by
        chunk, or one by one in order of time. Puts GPU operations back into
        their streams and replays them as a schedule.

    WHAT IT DOES NOT DO
        It knows no vendor, no output format and no tool. It never prints.

    USE
        #define TRACESMITH_REPLAY_IMPLEMENTATION // in one file
        #define TRACESMITH_IMPLEMENTATION
        #include "tracesmith_replay.h"

        ts_reader *reader;
        const ts_reader_desc desc = { .path = "trace.sbt" };
        if (ts_reader_open(&reader, &desc) != TS_OK) ...
        ts_cursor *cursor;
        ts_event event;
        ts_cursor_open(&cursor, reader, NULL);
        while (ts_cursor_next(cursor, &event))
            printf("%lld %s\n", (long long)event.start_ns,
                   ts_event_name(event.kind));
        ts_cursor_close(cursor);
        ts_reader_close(reader);

    CONTENTS                            search for "==== 4." to jump
        1. Options
        2. Reader                       open, session, damage, losses
        3. Dictionaries                 names, sites, tracks, launches
        4. Columns                      chunks as decoded arrays
        5. Cursor                       events in order of time
        6. Replay                       operations, dependencies, schedule
        7. Implementation               private
*/
#ifndef TRACESMITH_REPLAY_H
#define TRACESMITH_REPLAY_H

#if defined(TRACESMITH_REPLAY_IMPLEMENTATION) && !defined(_GNU_SOURCE) && \
    !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L // before the first system header
#endif
#include "tracesmith.h"

/* ==== 1. Options ========================================================= */

/*
    TRACESMITH_REPLAY_IMPLEMENTATION  in one C11 file: the functions. They
                              use those of tracesmith.h: give that file, or
                              another one, TRACESMITH_IMPLEMENTATION too
    TRACESMITH_ZSTD           compressed chunks can be read (needs -lzstd)
*/

/* ==== 2. Reader ========================================================== */

typedef struct ts_reader ts_reader;

// One resize() does it all: old_size 0 allocates, new_size 0 frees.
typedef struct ts_allocator {
    void *(*resize)(void *user, void *ptr, size_t old_size, size_t new_size);
    void *user;
} ts_allocator;

typedef struct ts_reader_desc {
    const char *path;       // the trace, unless `bytes` is set
    const void *bytes;      // a trace in memory; must outlive the reader
    size_t size;            // of bytes
    bool no_salvage;        // leave a left-over sidecar alone (false: move
                            // its records into the file, which is changed)
    bool no_index;          // walk even if there is an index (false)
    uint32_t threads;       // for walking and ts_scan (number of cores)
    ts_allocator allocator; // (malloc and free)
} ts_reader_desc;

// Where something is wrong with a file.
typedef struct ts_damage {
    ts_result result; // TS_ERR_CORRUPT, _TRUNCATED, _UNSUPPORTED (zstd)...
    uint64_t offset;  // in the file
    uint64_t size;    // bytes skipped
    const char *text; // what is wrong there, one clause; static
} ts_damage;

// Losses of one cause on one track, summed over the trace.
typedef struct ts_loss_row {
    uint32_t track, cause, detail; // detail: a name
    uint64_t count;
    int64_t first_ns, last_ns;
    uint64_t stall_ns;
} ts_loss_row;

typedef struct ts_info {
    uint8_t session[16];
    uint16_t major, minor;
    uint32_t process;
    uint64_t file_bytes;
    uint64_t start_realtime_ns;      // Unix time of trace time 0
    int64_t first_ns, last_ns;       // of all events; both 0 if there are none
    uint64_t counts[TS_EVENT_LIMIT]; // events by kind
    uint64_t stored_bytes[TS_EVENT_LIMIT];   // in the file, headers included
    uint64_t unknown_chunks, unknown_events; // of later versions, skipped
    uint64_t lost;                           // records, stalls not counted
    uint64_t salvaged;    // records that came from a left-over sidecar
    uint64_t chunk_count; // every kind
    uint32_t track_count, site_count, name_count, launch_count;
    bool finished;        // has its end chunk
    bool indexed;         // the index was there and valid
    bool live;            // still being written
    bool clock_estimated; // times rest on an assumed frequency
    bool salvage_failed;  // see `salvage`
    ts_result salvage;    // what ts_salvage said. TS_OK: done or not needed,
                          // _BUSY: live, _NOT_FOUND: nothing is left over,
                          // _STATE: left alone because of no_salvage
} ts_info;

/*
    Opens a trace. An unfinished one is salvaged first (see the desc), then
    read as far as it goes: damage never fails the open, only a file that is
    no SBT file does. *reader is NULL on failure. The file is mapped: while it
    is open it may grow, but must not be made shorter.

    Threads: a reader may be used by many threads at once, except for
             ts_reader_refresh and ts_reader_close.
    Errors:  TS_ERR_IO, TS_ERR_NOT_SBT, TS_ERR_VERSION (another major
             version), TS_ERR_TRUNCATED (not even a file header),
             TS_ERR_MEMORY, TS_ERR_USAGE.
*/
TS_API ts_result ts_reader_open(ts_reader **reader, const ts_reader_desc *desc);
TS_API void ts_reader_close(ts_reader *reader); // NULL is allowed

// Looks for what a live trace has got since; true if there is more. Views
// and cursors opened before stay valid but do not see it.
TS_API bool ts_reader_refresh(ts_reader *reader);

// Lifetime: until refresh or close, like everything a reader hands out.
TS_API const ts_info *ts_reader_info(const ts_reader *reader);

// What was found wrong so far, in the order of discovery. Decoding a chunk
// may add to it. Returns false past the end.
TS_API bool ts_reader_damage(const ts_reader *reader, size_t index,
                             ts_damage *damage);
TS_API size_t ts_reader_damage_count(const ts_reader *reader);

// Checks every chunk (checksum and contents) in parallel; TS_OK if all is
// well, else the first damage's result; the damage list holds them all.
TS_API ts_result ts_reader_verify(ts_reader *reader);

TS_API size_t ts_reader_loss_count(const ts_reader *reader);
TS_API bool ts_reader_loss(const ts_reader *reader, size_t index,
                           ts_loss_row *row);

// Trace time of a tick of a clock, and Unix time of a trace time.
TS_API int64_t ts_reader_time_ns(const ts_reader *reader, uint32_t clock,
                                 uint64_t tick);
TS_API uint64_t ts_reader_realtime_ns(const ts_reader *reader, int64_t time_ns);

/* ==== 3. Dictionaries ==================================================== */

/*
    A number that the trace does not define gives text "" and NULL pointers;
    tools print it as a number. Texts end with a zero byte here; embedded zero
    bytes and invalid UTF-8 are as in the file: `size` tells.
*/
typedef struct ts_text {
    const char *text;
    size_t size;
} ts_text;

TS_API ts_text ts_reader_name(const ts_reader *reader, uint32_t name);
TS_API const ts_site_entry *ts_reader_site(const ts_reader *reader,
                                           uint32_t site);
TS_API ts_text ts_reader_site_name(const ts_reader *reader, uint32_t site);
TS_API const ts_launch_entry *ts_reader_launch(const ts_reader *reader,
                                               uint32_t launch);
// frames: receives a pointer to count elements, innermost first.
TS_API uint32_t ts_reader_stack(const ts_reader *reader, uint32_t stack,
                                const ts_frame_entry **frames);
TS_API const ts_module_entry *ts_reader_module(const ts_reader *reader,
                                               uint32_t module);

// The bytes that identify a module's build; not a text.
TS_API ts_text ts_reader_build_id(const ts_reader *reader, uint32_t module);

typedef struct ts_track {
    uint32_t id;
    ts_track_type type;
    uint32_t parent; // id, 0 none
    ts_text name, unit;
    uint64_t number, flags;
} ts_track;

// By position (0 to info->track_count - 1, in order of id) and by id.
TS_API bool ts_reader_track_at(const ts_reader *reader, size_t index,
                               ts_track *track);
TS_API bool ts_reader_track(const ts_reader *reader, uint32_t id,
                            ts_track *track);

typedef struct ts_metadata {
    uint32_t track; // 0: the session
    ts_text key;
    ts_value_type type;
    int64_t number; // TS_VALUE_INT
    double real;    // TS_VALUE_DOUBLE
    ts_text text;   // TS_VALUE_TEXT
} ts_metadata;

TS_API size_t ts_reader_metadata_count(const ts_reader *reader);
TS_API bool ts_reader_metadata_at(const ts_reader *reader, size_t index,
                                  ts_metadata *metadata);
// The last value of a key; false if there is none.
TS_API bool ts_reader_metadata(const ts_reader *reader, uint32_t track,
                               const char *key, ts_metadata *metadata);

// A blob by its XXH3-128; *bytes is NULL if the trace does not hold it.
TS_API ts_result ts_reader_blob(ts_reader *reader, const uint64_t hash[2],
                                const void **bytes, size_t *size);

/* ==== 4. Columns ========================================================= */

// Which chunks and events are wanted. All zeros is everything.
typedef struct ts_filter {
    uint64_t kinds;         // bits 1 << kind (0: all)
    const uint32_t *tracks; // track_count ids (NULL: all)
    size_t track_count;
    int64_t from_ns, to_ns; // events that touch [from, to) (both 0: all)
} ts_filter;
#define TS_FILTER(kind) (UINT64_C(1) << (TS_EVENT_##kind))

/*
    One chunk of events, decoded: `count` rows of one kind.
    start_ns and duration_ns are always there. values[column] has the other
    columns as u64 (doubles as their bits); NULL means that all are zero.
    START, DURATION, NEST, LEAD, TAIL, TEXT and TRACK stay NULL there: the
    fields have them. ticks: the starts as recorded, in ticks of `clock`.
*/
typedef struct ts_columns {
    ts_event_kind kind;
    uint32_t count;
    uint32_t track; // of all rows, or TS_TRACK_MIXED
    uint32_t clock;
    const uint32_t *tracks; // of each row; NULL unless mixed
    const int64_t *start_ns, *duration_ns;
    const uint64_t *start_ticks;
    const uint64_t *values[TS_COLUMN_LIMIT];
    const uint32_t *text_sizes; // NULL: no texts
    const char *const *texts;   // not terminated
    size_t chunk;               // its index
    void *memory, *payload;     // private
    size_t memory_size, payload_size;
} ts_columns;

typedef struct ts_chunk_info {
    uint64_t offset;
    ts_chunk_header header;    // its checksum is 0 here
    int64_t first_ns, last_ns; // of events chunks
} ts_chunk_info;

// Every chunk of the file in file order, index and end chunk left out.
TS_API size_t ts_reader_chunk_count(const ts_reader *reader);
TS_API bool ts_reader_chunk(const ts_reader *reader, size_t index,
                            ts_chunk_info *info);

/*
    Decodes an events chunk: checks its checksum, then gives whole rows,
    whatever a filter says. Free with ts_columns_close; reusing `columns` of
    an earlier call (zeroed before the first) reuses its memory.

    Threads: any, each with its own columns.
    Errors:  TS_ERR_CORRUPT, TS_ERR_UNSUPPORTED (zstd, unknown kind),
             TS_ERR_MEMORY, TS_ERR_USAGE (no events chunk). Damage is also
             added to the reader's list, once.
*/
TS_API ts_result ts_reader_decode(ts_reader *reader, size_t chunk,
                                  ts_columns *columns);
TS_API void ts_columns_close(ts_reader *reader, ts_columns *columns);

/*
    Decodes every chunk that may hold events of the filter (NULL: all), in
    parallel on `threads` threads (0: the reader's), and calls
    call(columns, thread, user), 0 <= thread < threads, for each. Chunks come
    in no particular order; columns->chunk tells which. Rows are not filtered.
    Returns the first error of a chunk by file order; goes on after it.
*/
TS_API ts_result ts_reader_scan(ts_reader *reader, const ts_filter *filter,
                                uint32_t threads,
                                void (*call)(const ts_columns *columns,
                                             uint32_t thread, void *user),
                                void *user);

// A chunk's picture for drawing it small, from the index: TS_LOD_CELLS cells
// of [first_ns, last_ns]. False if the trace has no index or no such chunk.
typedef struct ts_lod_cell {
    uint32_t id;    // site, launch or name by kind; 0 unknown
    uint16_t busy;  // 65535: all of the cell
    uint16_t count; // events, saturating
    float min, max; // counters; NaN: no sample
} ts_lod_cell;
TS_API bool ts_reader_lod(const ts_reader *reader, size_t chunk,
                          ts_lod_cell cells[TS_LOD_CELLS]);

/* ==== 5. Cursor ========================================================== */

typedef struct ts_cursor ts_cursor;

typedef struct ts_event {
    ts_event_kind kind;
    uint32_t track;
    int64_t start_ns, duration_ns; // duration 0: a moment
    const ts_columns *columns;     // where the rest is ...
    uint32_t row;                  // ... until the next call of the cursor
} ts_event;

/*
    Yields the events of a filter (NULL: all) in order of start; at equal
    starts by track, longer first, kind, then order of recording, which for
    zones is reversed: a zone comes before those inside it. The order is the
    same on every machine. Damaged chunks are skipped and reported by
    ts_cursor_result after the loop.
    Memory: the decoded chunks that overlap the present moment.
*/
TS_API ts_result ts_cursor_open(ts_cursor **cursor, ts_reader *reader,
                                const ts_filter *filter);
TS_API bool ts_cursor_next(ts_cursor *cursor, ts_event *event);
TS_API ts_result ts_cursor_result(const ts_cursor *cursor);
TS_API void ts_cursor_close(ts_cursor *cursor); // NULL is allowed

// One value of an event; 0 if it has none. Texts are not terminated.
static inline uint64_t ts_event_value(const ts_event *event, ts_column column)
{
    const uint64_t *const values = event->columns->values[column];
    return values ? values[event->row] : 0;
}
static inline ts_text ts_event_text(const ts_event *event)
{
    ts_text text = { "", 0 };
    if (event->columns->text_sizes) {
        text.text = event->columns->texts[event->row];
        text.size = event->columns->text_sizes[event->row];
    }
    return text;
}
// What to call an event: a zone's or mark's site, a kernel, a function, else
// its kind. The text lives as long as the reader.
TS_API ts_text ts_event_label(const ts_reader *reader, const ts_event *event);

/* ==== 6. Replay ========================================================== */

#endif // TRACESMITH_REPLAY_H

/* ==== 7. Implementation ================================================== */

#if defined(TRACESMITH_REPLAY_IMPLEMENTATION) && \
    !defined(TS__REPLAY_IMPLEMENTED)
#define TS__REPLAY_IMPLEMENTED

#ifdef __cplusplus
#error "tracesmith_replay.h: the implementation is C11, compile it as C"
#endif
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tracesmith_replay.h: the implementation needs a little-endian machine"
#endif

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>
#ifdef TRACESMITH_ZSTD
#ifndef ZSTD_STATIC_LINKING_ONLY
#define ZSTD_STATIC_LINKING_ONLY // for contexts in our own memory
#endif
#include <zstd.h>
#endif

/*
    How a trace is read:

        bytes (mapped) --> index, or walk from chunk to chunk
                               |
                               v
        chunk table:  header, offset, "sealed" once its checksum was seen
            |                  |
            | at open          | when asked for, on any thread
            v                  v
        dictionaries,      ts_columns (one chunk decoded) --> cursor: a heap
        clocks, losses                                        of open chunks

    The rule for hostile bytes: every number from the file is compared with
    what is left before it is used, and nothing is read from a chunk before
    its checksum was right.
*/

/* ---- 7.1 Memory, sorting, threads --------------------------------------- */

__extension__ typedef __int128 ts__int128;
__extension__ typedef unsigned __int128 ts__uint128;

enum { TS__THREADS_MAX = 256 };

// What is wrong with something that was read; result TS_OK: nothing.
typedef struct ts__fault {
    ts_result result;
    const char *text; // static
} ts__fault;

static const ts__fault ts__fine = { TS_OK, "" };
static const ts__fault ts__no_memory = { TS_ERR_MEMORY, "out of memory" };

static ts__fault ts__corrupt(const char *text)
{
    const ts__fault fault = { TS_ERR_CORRUPT, text };
    return fault;
}

static void *ts__mem_default(void *user, void *ptr, size_t old_size,
                             size_t new_size)
{
    (void)user;
    (void)old_size;
    if (new_size) return realloc(ptr, new_size);
    free(ptr);
    return NULL;
}

static void *ts__mem_get(const ts_allocator *allocator, size_t size)
{
    return allocator->resize(allocator->user, NULL, 0, size);
}

static void ts__mem_put(const ts_allocator *allocator, void *ptr, size_t size)
{
    if (ptr) allocator->resize(allocator->user, ptr, size, 0);
}

// Makes room for one more item of an array; NULL leaves the array as it is.
static void *ts__mem_more(const ts_allocator *allocator, void *items,
                          size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity) return items;
    const size_t grown = *capacity ? *capacity * 2 : 16;
    void *const bigger = allocator->resize(allocator->user, items,
                                           *capacity * size, grown * size);
    if (bigger) *capacity = grown;
    return bigger;
}

static uint32_t ts__get32(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static inline uint64_t ts__get64(const uint8_t *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static uint64_t ts__pad8(uint64_t size)
{
    return (size + 7) & ~UINT64_C(7);
}

typedef int ts__order(const void *a, const void *b);

static int ts__order_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static void ts__swap(uint8_t *a, uint8_t *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const uint8_t kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

static void ts__sift(uint8_t *items, size_t at, size_t count, size_t size,
                     ts__order *order)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count) return;
        uint8_t *big = items + child * size;
        if (child + 1 < count && order(big, big + size) < 0) {
            child++;
            big += size;
        }
        if (order(items + at * size, big) >= 0) return;
        ts__swap(items + at * size, big, size);
        at = child;
    }
}

// Heapsort: no memory, no bad case. `order` must be total. Most arrays come
// sorted, which costs one pass.
static void ts__sort(void *items, size_t count, size_t size, ts__order *order)
{
    uint8_t *const base = items;
    size_t sorted = 1;
    while (sorted < count &&
           order(base + (sorted - 1) * size, base + sorted * size) <= 0)
        sorted++;
    if (sorted >= count) return;
    for (size_t i = count / 2; i-- > 0;)
        ts__sift(base, i, count, size, order);
    for (size_t i = count - 1; i > 0; i--) {
        ts__swap(base, base + i * size, size);
        ts__sift(base, 0, i, size, order);
    }
}

// Work split over threads: run(user, item, thread) for every item.
typedef struct ts__crew {
    void (*run)(void *user, size_t item, uint32_t thread);
    void *user;
    size_t count, next;
    uint32_t thread_count;
} ts__crew;

static void *ts__crew_work(void *argument)
{
    ts__crew *const crew = argument;
    const uint32_t thread =
        __atomic_fetch_add(&crew->thread_count, 1, __ATOMIC_RELAXED);
    for (;;) {
        const size_t item =
            __atomic_fetch_add(&crew->next, 1, __ATOMIC_RELAXED);
        if (item >= crew->count) return NULL;
        crew->run(crew->user, item, thread);
    }
}

// A thread that cannot be made leaves its share to the others.
static void ts__crew_run(uint32_t threads, size_t count,
                         void (*run)(void *, size_t, uint32_t), void *user)
{
    ts__crew crew = { run, user, count, 0, 0 };
    pthread_t others[TS__THREADS_MAX];
    uint32_t made = 0;
    if (threads > count) threads = (uint32_t)count;
    while (made + 1 < threads &&
           pthread_create(&others[made], NULL, ts__crew_work, &crew) == 0)
        made++;
    ts__crew_work(&crew);
    while (made > 0)
        pthread_join(others[--made], NULL);
}

/* ---- 7.2 The reader's state --------------------------------------------- */

enum { TS__CHUNK_SEALED = 1, TS__CHUNK_REPORTED = 2 };

typedef struct ts__in_chunk {
    ts_chunk_header header;
    uint64_t offset;
    const uint8_t *lod; // its cells in an index part; NULL: none
    uint8_t state;      // TS__CHUNK_..., changed by any thread
} ts__in_chunk;

typedef struct ts__map { // of the file; old ones live until close
    struct ts__map *older;
    void *address;
    size_t size;
    bool mapped; // else from the allocator
} ts__map;

typedef struct ts__kept { // memory that lives until close
    struct ts__kept *older;
    size_t size;
} ts__kept;

typedef struct ts__item { // an entry of a dictionary, copied and aligned
    uint32_t id, size;
    const uint8_t *body; // a zero byte follows it
} ts__item;

typedef struct ts__table {
    ts__item *items; // sorted by id, once finished
    size_t count, capacity;
    uint32_t *dense; // by id: position + 1, 0 none; NULL: ids are too sparse
    size_t dense_size;
} ts__table;

typedef struct ts__sample {
    uint32_t clock, order;
    uint64_t offset; // of its chunk
    bool backwards;  // and reported
    ts_clock_entry entry;
} ts__sample;

// A straight piece of a clock: ns = raw + (tick - start) * ns / ticks.
typedef struct ts__segment {
    uint64_t start;
    int64_t raw;
    uint64_t ticks, ns;
    // The same for 0 <= tick - start < span in three multiplications:
    uint64_t span, time, whole, rest, inverse;
} ts__segment;

typedef struct ts__clock {
    uint32_t id;
    uint32_t first, count; // segments
} ts__clock;

typedef struct ts__realtime { // a sample of clock 0
    int64_t raw;
    uint64_t realtime;
} ts__realtime;

typedef struct ts__clocks {   // immutable; a refresh makes a new set
    struct ts__clocks *older; // in use by a cursor when it was replaced
    size_t memory_size;
    ts__clock *clocks;
    ts__segment *segments;
    ts__realtime *realtimes;
    uint32_t clock_count, segment_count, realtime_count;
    uint32_t cursors; // that go by this set
    int64_t base;     // raw time of trace time 0
    bool estimated;
} ts__clocks;

typedef struct ts__fact { // metadata
    uint32_t track, order;
    ts_metadata_entry entry;
} ts__fact;

typedef struct ts__lost {
    uint32_t track, clock;
    ts_loss_entry entry;
} ts__lost;

typedef struct ts__part { // of the index
    uint64_t offset;
    const uint8_t *entries;
    uint32_t count;
} ts__part;

typedef struct ts__blob {
    uint64_t hash[2];
    size_t chunk;
    const uint8_t *bytes; // NULL: nobody has asked for it yet
} ts__blob;

enum { TS__TABLES = TS_CHUNK_STACKS + 1 };

struct ts_reader {
    ts_allocator allocator;
    ts_reader_desc desc;
    uint32_t threads;
    char *path;
    size_t path_size;
    int fd;

    const uint8_t *bytes;
    uint64_t size;
    ts__map *maps;
    ts__kept *blocks;

    ts_file_header header;
    bool header_damaged, session_known;
    uint32_t session; // as the chunks give it

    ts__in_chunk *chunks;
    size_t chunk_count, chunk_capacity;
    size_t loaded; // chunks whose dictionaries we have
    ts__part *parts;
    size_t part_count, part_capacity, parts_used;
    uint64_t resume;   // where a walk goes on
    uint64_t sequence; // of the next chunk
    uint64_t search;   // bytes that searches may still hash
    bool after_damage, tail_damage;

    ts__table tables[TS__TABLES];
    ts__sample *samples;
    size_t sample_count, sample_capacity;
    ts__clocks *clocks;
    ts__fact *facts;
    size_t fact_count, fact_capacity;
    ts__lost *lost;
    size_t lost_count, lost_capacity;
    ts_loss_row *losses;
    size_t loss_count, losses_size;

    pthread_mutex_t blob_lock; // of the list of blobs
    ts__blob *blobs;           // sorted by hash
    size_t blob_count, blob_capacity, blobs_listed;

    pthread_mutex_t lock; // of the damage list
    ts_damage *damages;
    size_t damage_count, damage_capacity;

    ts_info info;
};

// Memory for as long as the reader lives.
static void *ts__reader_keep(ts_reader *reader, size_t size)
{
    const size_t total = sizeof(ts__kept) + size;
    ts__kept *const block = ts__mem_get(&reader->allocator, total);
    if (!block) return NULL;
    block->older = reader->blocks;
    block->size = total;
    reader->blocks = block;
    return block + 1;
}

/* ---- 7.3 Damage --------------------------------------------------------- */

static bool ts__damage_add(ts_reader *reader, ts_damage damage)
{
    ts_damage *const damages = ts__mem_more(
        &reader->allocator, reader->damages, &reader->damage_capacity,
        reader->damage_count, sizeof *damages);
    if (!damages) return false;
    reader->damages = damages;
    damages[reader->damage_count++] = damage;
    return true;
}

static bool ts__damage_note(ts_reader *reader, ts__fault fault, uint64_t offset,
                            uint64_t size)
{
    const ts_damage damage = { fault.result, offset, size, fault.text };
    pthread_mutex_lock(&reader->lock);
    const bool added = ts__damage_add(reader, damage);
    pthread_mutex_unlock(&reader->lock);
    return added;
}

static uint64_t ts__in_chunk_bytes(const ts_chunk_header *header)
{
    return sizeof *header + ts__pad8(header->stored_size);
}

// Notes what is wrong with a chunk, once. A lack of memory is no damage.
static ts_result ts__in_chunk_report(ts_reader *reader, ts__in_chunk *chunk,
                                     ts__fault fault)
{
    if (fault.result == TS_OK || fault.result == TS_ERR_MEMORY)
        return fault.result;
    const ts_damage damage = { fault.result, chunk->offset,
                               ts__in_chunk_bytes(&chunk->header), fault.text };
    pthread_mutex_lock(&reader->lock);
    bool noted = chunk->state & TS__CHUNK_REPORTED;
    if (!noted) noted = ts__damage_add(reader, damage);
    if (noted)
        __atomic_or_fetch(&chunk->state, TS__CHUNK_REPORTED, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&reader->lock);
    return noted ? fault.result : TS_ERR_MEMORY;
}

TS_API size_t ts_reader_damage_count(const ts_reader *reader)
{
    pthread_mutex_t *const lock = (pthread_mutex_t *)&reader->lock;
    pthread_mutex_lock(lock);
    const size_t count = reader->damage_count;
    pthread_mutex_unlock(lock);
    return count;
}

TS_API bool ts_reader_damage(const ts_reader *reader, size_t index,
                             ts_damage *damage)
{
    pthread_mutex_t *const lock = (pthread_mutex_t *)&reader->lock;
    pthread_mutex_lock(lock);
    const bool there = index < reader->damage_count;
    if (there) *damage = reader->damages[index];
    pthread_mutex_unlock(lock);
    return there;
}

/* ---- 7.4 Bytes of the trace --------------------------------------------- */

static bool ts__map_keep(ts_reader *reader, void *address, size_t size,
                         bool mapped)
{
    ts__map *const map = ts__mem_get(&reader->allocator, sizeof *map);
    if (!map) return false;
    const ts__map made = { reader->maps, address, size, mapped };
    *map = made;
    reader->maps = map;
    return true;
}

// Maps at least `size` bytes. What lies behind the end of the file is mapped
// for later and not touched before the file has grown there.
static ts_result ts__map_file(ts_reader *reader, uint64_t size,
                              uint64_t reserve)
{
    if (reserve > SIZE_MAX / 2) return TS_ERR_MEMORY;
    if (!reader->maps || reader->maps->size < size) {
        const size_t length = (size_t)reserve;
        void *const address =
            mmap(NULL, length, PROT_READ, MAP_SHARED, reader->fd, 0);
        if (address == MAP_FAILED) return TS_ERR_IO;
        if (!ts__map_keep(reader, address, length, true)) {
            munmap(address, length);
            return TS_ERR_MEMORY;
        }
    }
    reader->bytes = reader->maps->address;
    reader->size = size;
    return TS_OK;
}

// A pipe cannot be mapped: its bytes are collected.
static ts_result ts__map_pipe(ts_reader *reader)
{
    uint8_t *bytes = NULL;
    size_t count = 0, capacity = 0;
    ts_result result = TS_OK;
    for (;;) {
        uint8_t *const more =
            ts__mem_more(&reader->allocator, bytes, &capacity, count, 1);
        if (!more) {
            result = TS_ERR_MEMORY;
            break;
        }
        bytes = more;
        const ssize_t got = read(reader->fd, bytes + count, capacity - count);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) result = TS_ERR_IO;
        if (got <= 0) break;
        count += (size_t)got;
    }
    if (result == TS_OK && !ts__map_keep(reader, bytes, capacity, false))
        result = TS_ERR_MEMORY;
    if (result != TS_OK) ts__mem_put(&reader->allocator, bytes, capacity);
    reader->bytes = bytes;
    reader->size = count;
    return result;
}

static ts_result ts__map_path(ts_reader *reader)
{
    struct stat file;
    reader->fd = open(reader->path, O_RDONLY | O_CLOEXEC);
    if (reader->fd < 0 || fstat(reader->fd, &file) != 0) return TS_ERR_IO;
    if (S_ISDIR(file.st_mode)) return TS_ERR_IO;
    if (!S_ISREG(file.st_mode)) return ts__map_pipe(reader);
    if (file.st_size == 0) return TS_ERR_TRUNCATED;
    return ts__map_file(reader, (uint64_t)file.st_size, (uint64_t)file.st_size);
}

/* ---- 7.5 Chunks --------------------------------------------------------- */

static const ts__fault ts__cut_short = { TS_ERR_TRUNCATED,
                                         "the file ends inside a chunk" };

// What a header may claim whatever the file holds.
static const char *ts__header_check(const ts_chunk_header *header)
{
    const uint32_t raw_max =
        header->kind == TS_CHUNK_BLOB ? UINT32_MAX - 15 : TS_CHUNK_BYTES_MAX;
    if (header->flags & TS_CHUNK_RESERVED || header->reserved)
        return "a reserved bit of the chunk is set";
    if (header->count > TS_CHUNK_COUNT_MAX || header->raw_size > raw_max)
        return "the chunk claims to be larger than any may be";
    if (!(header->flags & TS_CHUNK_ZSTD) &&
        header->stored_size != header->raw_size)
        return "the chunk's two sizes contradict each other";
    if (header->kind == TS_CHUNK_EVENTS &&
        header->last - header->first > INT64_MAX)
        return "the chunk ends before it begins";
    if (header->kind == TS_CHUNK_END && header->stored_size)
        return "the end chunk is not empty";
    return NULL;
}

// Reads the header at an offset and checks all but the checksum.
static ts__fault ts__in_chunk_check(const ts_reader *reader, uint64_t offset,
                                    ts__in_chunk *chunk)
{
    const uint64_t left = reader->size - offset;
    const ts_chunk_header *const header = &chunk->header;
    memset(chunk, 0, sizeof *chunk);
    chunk->offset = offset;
    if (left < sizeof *header) return ts__cut_short;
    memcpy(&chunk->header, reader->bytes + offset, sizeof *header);
    if (header->magic != TS_CHUNK_MAGIC)
        return ts__corrupt("no chunk begins here");
    if (reader->session_known && header->session != reader->session)
        return ts__corrupt("the chunk belongs to another session");
    const char *const text = ts__header_check(header);
    if (text) return ts__corrupt(text);
    return ts__in_chunk_bytes(header) > left ? ts__cut_short : ts__fine;
}

// Checks the checksum and the padding. The chunk lies inside the file.
static ts__fault ts__in_chunk_unseal(const ts_reader *reader,
                                     ts__in_chunk *chunk)
{
    const uint8_t *const bytes = reader->bytes + chunk->offset;
    const uint8_t *const payload = bytes + sizeof(ts_chunk_header);
    const size_t checked = offsetof(ts_chunk_header, checksum);
    const size_t size = chunk->header.stored_size;
    if (__atomic_load_n(&chunk->state, __ATOMIC_RELAXED) & TS__CHUNK_SEALED)
        return ts__fine;
    if (memcmp(bytes, &chunk->header, checked) != 0)
        return ts__corrupt("the index describes another chunk");
    const uint64_t seed = XXH3_64bits(bytes, checked);
    if (XXH3_64bits_withSeed(payload, size, seed) != ts__get64(bytes + checked))
        return ts__corrupt("the chunk's checksum is wrong");
    for (size_t i = size; i < ts__pad8(size); i++)
        if (payload[i]) return ts__corrupt("the chunk's padding is not zero");
    __atomic_or_fetch(&chunk->state, TS__CHUNK_SEALED, __ATOMIC_RELAXED);
    return ts__fine;
}

// Memory for the payload of a compressed chunk; grows as needed.
typedef struct ts__scratch {
    uint8_t *bytes;
    size_t size;
} ts__scratch;

#ifdef TRACESMITH_ZSTD
static bool ts__scratch_fit(const ts_allocator *allocator, ts__scratch *scratch,
                            size_t size)
{
    if (size <= scratch->size) return true;
    ts__mem_put(allocator, scratch->bytes, scratch->size);
    scratch->bytes = ts__mem_get(allocator, size);
    scratch->size = scratch->bytes ? size : 0;
    return scratch->bytes != NULL;
}

static ts__fault ts__in_chunk_inflate(const ts_reader *reader,
                                      const ts__in_chunk *chunk,
                                      ts__scratch *scratch)
{
    const ts_chunk_header *const header = &chunk->header;
    const uint8_t *const payload =
        reader->bytes + chunk->offset + sizeof *header;
    const size_t room = (size_t)ts__pad8(header->raw_size);
    const size_t work = ZSTD_estimateDCtxSize();
    if (ZSTD_getFrameContentSize(payload, header->stored_size) !=
        header->raw_size)
        return ts__corrupt("the compressed chunk has another size");
    if (!ts__scratch_fit(&reader->allocator, scratch, room + work))
        return ts__no_memory;
    ZSTD_DCtx *const context = ZSTD_initStaticDCtx(scratch->bytes + room, work);
    if (!context) return ts__no_memory;
    const size_t got =
        ZSTD_decompressDCtx(context, scratch->bytes, header->raw_size, payload,
                            header->stored_size);
    return got == header->raw_size
               ? ts__fine
               : ts__corrupt("the chunk cannot be decompressed");
}
#endif

// Gives a chunk's raw_size bytes once its checksum was right.
static ts__fault ts__in_chunk_payload(const ts_reader *reader,
                                      ts__in_chunk *chunk, ts__scratch *scratch,
                                      const uint8_t **payload)
{
    const ts__fault fault = ts__in_chunk_unseal(reader, chunk);
    if (fault.result != TS_OK) return fault;
    *payload = reader->bytes + chunk->offset + sizeof(ts_chunk_header);
    if (!(chunk->header.flags & TS_CHUNK_ZSTD)) return ts__fine;
#ifdef TRACESMITH_ZSTD
    const ts__fault inflated = ts__in_chunk_inflate(reader, chunk, scratch);
    *payload = scratch->bytes;
    return inflated;
#else
    (void)scratch;
    const ts__fault unsupported = {
        TS_ERR_UNSUPPORTED, "the chunk is compressed and this build has no zstd"
    };
    return unsupported;
#endif
}

static ts__in_chunk *ts__in_chunk_add(ts_reader *reader,
                                      const ts__in_chunk *chunk)
{
    ts__in_chunk *const chunks = ts__mem_more(
        &reader->allocator, reader->chunks, &reader->chunk_capacity,
        reader->chunk_count, sizeof *chunks);
    if (!chunks) return NULL;
    reader->chunks = chunks;
    chunks[reader->chunk_count] = *chunk;
    return &chunks[reader->chunk_count++];
}

/* ---- 7.6 Walking -------------------------------------------------------- */

/*
    Hops from header to header, checks the checksums of what it met in
    parallel, and takes the chunks up to the first that is not valid; there
    it searches on. How far it hops at once doubles from 1 after each damage,
    so that little work is done twice, and does not depend on threads.
*/
enum { TS__HOP_MAX = 4096 };

// For the chunks that were hopped to: they stand behind the table.
static void ts__walk_unseal(void *user, size_t item, uint32_t thread)
{
    const ts_reader *const reader = user;
    (void)thread;
    ts__in_chunk_unseal(reader, &reader->chunks[reader->chunk_count + item]);
}

// The next valid chunk behind an offset; the size of the file if none.
static uint64_t ts__walk_search(ts_reader *reader, uint64_t offset)
{
    ts__in_chunk chunk;
    for (offset += 8; offset + 8 <= reader->size; offset += 8) {
        if (ts__get32(reader->bytes + offset) != TS_CHUNK_MAGIC) continue;
        if (ts__in_chunk_check(reader, offset, &chunk).result != TS_OK)
            continue;
        if (chunk.header.sequence < reader->sequence) continue;
        // A hostile file could make us hash it once for every 64 bytes.
        if (chunk.header.stored_size > reader->search) break;
        reader->search -= chunk.header.stored_size;
        if (ts__in_chunk_unseal(reader, &chunk).result == TS_OK) return offset;
    }
    return reader->size;
}

// Appends up to `limit` chunks that look right; returns their count.
static ts_result ts__walk_hop(ts_reader *reader, size_t limit, size_t *hopped)
{
    uint64_t offset = reader->resume;
    ts__in_chunk chunk;
    *hopped = 0;
    while (*hopped < limit && offset < reader->size) {
        if (ts__in_chunk_check(reader, offset, &chunk).result != TS_OK) break;
        if (!ts__in_chunk_add(reader, &chunk)) return TS_ERR_MEMORY;
        offset += ts__in_chunk_bytes(&chunk.header);
        ++*hopped;
    }
    return TS_OK;
}

static bool ts__part_add(ts_reader *reader, const ts__in_chunk *chunk)
{
    ts__part *const parts =
        ts__mem_more(&reader->allocator, reader->parts, &reader->part_capacity,
                     reader->part_count, sizeof *parts);
    if (!parts) return false;
    const ts__part part = { chunk->offset, NULL, chunk->header.count };
    reader->parts = parts;
    parts[reader->part_count++] = part;
    return true;
}

// Takes a valid chunk: into the table, or as a part of the index.
static ts_result ts__walk_take(ts_reader *reader, const ts__in_chunk *chunk)
{
    const ts_chunk_header *const header = &chunk->header;
    const char *odd = NULL;
    if (header->sequence > reader->sequence && !reader->after_damage)
        odd = "chunks are missing before this one";
    if (reader->info.finished) odd = "the trace goes on after its end";
    reader->info.finished = false;
    if (odd && !ts__damage_note(reader, ts__corrupt(odd), chunk->offset, 0))
        return TS_ERR_MEMORY;
    if (header->kind == TS_CHUNK_INDEX && !ts__part_add(reader, chunk))
        return TS_ERR_MEMORY;
    reader->after_damage = false;
    reader->sequence = (uint64_t)header->sequence + 1;
    reader->resume = chunk->offset + ts__in_chunk_bytes(header);
    reader->info.chunk_count++;
    if (header->kind == TS_CHUNK_END) {
        if (reader->info.live) reader->info.salvage = TS_OK;
        reader->info.finished = true;
        reader->info.live = false;
    }
    if (header->kind != TS_CHUNK_INDEX && header->kind != TS_CHUNK_END)
        reader->chunks[reader->chunk_count++] = *chunk;
    return TS_OK;
}

// Takes the hopped chunks that are valid. The end of the table, which follows,
// never overtakes them.
static ts_result ts__walk_batch(ts_reader *reader, size_t limit, bool *all)
{
    const size_t first = reader->chunk_count;
    size_t hopped = 0, taken = 0;
    ts_result result = ts__walk_hop(reader, limit, &hopped);
    reader->chunk_count = first;
    if (result != TS_OK) return result;
    ts__crew_run(reader->threads, hopped, ts__walk_unseal, reader);
    while (taken < hopped && result == TS_OK) {
        const ts__in_chunk chunk = reader->chunks[first + taken];
        if (!(chunk.state & TS__CHUNK_SEALED)) break;
        if (chunk.header.sequence < reader->sequence) break;
        result = ts__walk_take(reader, &chunk);
        taken++;
    }
    *all = hopped > 0 && taken == hopped;
    return result;
}

static ts__fault ts__walk_fault(const ts_reader *reader)
{
    ts__in_chunk chunk;
    ts__fault fault = ts__in_chunk_check(reader, reader->resume, &chunk);
    if (fault.result == TS_OK && chunk.header.sequence < reader->sequence)
        return ts__corrupt("the chunk stands at the wrong place");
    if (fault.result == TS_OK) fault = ts__in_chunk_unseal(reader, &chunk);
    return fault;
}

// Finds the next valid chunk and notes what lies before it. At the end of a
// live trace this is a chunk that is just being written.
static ts_result ts__walk_mend(ts_reader *reader)
{
    const uint64_t offset = reader->resume;
    ts__fault fault = ts__walk_fault(reader);
    const uint64_t next = ts__walk_search(reader, offset);
    const bool tail = next == reader->size;
    if (tail && reader->info.live) return TS_ERR_TRUNCATED;
    if (!tail && fault.result == TS_ERR_TRUNCATED)
        fault = ts__corrupt("the chunk's size is wrong");
    if (!ts__damage_note(reader, fault, offset, next - offset))
        return TS_ERR_MEMORY;
    reader->after_damage = true;
    reader->tail_damage = tail;
    if (tail) return TS_ERR_TRUNCATED;
    reader->resume = next;
    return TS_OK;
}

// Walks from reader->resume to the end of the file.
static ts_result ts__walk_on(ts_reader *reader)
{
    size_t limit = 1;
    while (reader->resume < reader->size) {
        bool all;
        const uint64_t before = reader->resume;
        ts_result result = ts__walk_batch(reader, limit, &all);
        if (result != TS_OK) return result;
        limit = limit < TS__HOP_MAX ? limit * 2 : TS__HOP_MAX;
        if (all && reader->resume > before) continue;
        result = ts__walk_mend(reader);
        if (result == TS_ERR_TRUNCATED) return TS_OK;
        if (result != TS_OK) return result;
        limit = 1;
    }
    return TS_OK;
}

/* ---- 7.7 Index ---------------------------------------------------------- */

// The end chunk, if the file has one where it belongs.
static bool ts__index_end(ts_reader *reader, ts__in_chunk *end)
{
    const uint64_t header_bytes = sizeof(ts_file_header);
    if (reader->size < header_bytes + sizeof(ts_chunk_header)) return false;
    const uint64_t offset = reader->size - sizeof(ts_chunk_header);
    return offset % 8 == 0 &&
           ts__in_chunk_check(reader, offset, end).result == TS_OK &&
           end->header.kind == TS_CHUNK_END &&
           ts__in_chunk_unseal(reader, end).result == TS_OK;
}

enum { TS__LOD_BYTES = TS_LOD_CELLS * 8 };

// Gets at the payload of a part of the index, uncompressed.
static ts__fault ts__part_open(ts_reader *reader, ts__in_chunk *chunk,
                               const uint8_t **payload)
{
    ts__scratch scratch = { NULL, 0 };
    const ts_chunk_header *const header = &chunk->header;
    ts__fault fault = ts__in_chunk_payload(reader, chunk, &scratch, payload);
    if (fault.result == TS_OK &&
        (header->raw_size < 16 ||
         (header->raw_size - 16) / sizeof *header < header->count))
        fault = ts__corrupt("the index is too short");
    if (fault.result == TS_OK && scratch.bytes) {
        uint8_t *const kept = ts__reader_keep(reader, header->raw_size);
        if (kept) memcpy(kept, *payload, header->raw_size);
        if (!kept) fault = ts__no_memory;
        *payload = kept;
    }
    ts__mem_put(&reader->allocator, scratch.bytes, scratch.size);
    return fault;
}

// The pictures of a part's chunks: one for each events chunk, in order.
static bool ts__part_pictures(const uint8_t *payload,
                              const ts_chunk_header *header)
{
    uint64_t events = 0;
    for (uint32_t i = 0; i < header->count; i++) {
        const uint8_t *const entry = payload + 16 + (size_t)i * sizeof *header;
        events += entry[offsetof(ts_chunk_header, kind)] == TS_CHUNK_EVENTS;
    }
    return header->raw_size == 16 + (uint64_t)header->count * sizeof *header +
                                   events * TS__LOD_BYTES;
}

// Collects the parts from the last to the first. They must be valid and go
// strictly backwards.
static ts_result ts__index_parts(ts_reader *reader, uint64_t offset)
{
    ts__in_chunk chunk;
    const uint8_t *payload;
    uint64_t limit = reader->size;
    while (offset) {
        if (offset >= limit || offset % 8 != 0 ||
            offset < sizeof(ts_file_header))
            return TS_ERR_CORRUPT;
        if (ts__in_chunk_check(reader, offset, &chunk).result != TS_OK ||
            chunk.header.kind != TS_CHUNK_INDEX)
            return TS_ERR_CORRUPT;
        const ts__fault fault = ts__part_open(reader, &chunk, &payload);
        if (fault.result != TS_OK) return fault.result;
        if (!ts__part_pictures(payload, &chunk.header)) return TS_ERR_CORRUPT;
        if (!ts__part_add(reader, &chunk)) return TS_ERR_MEMORY;
        reader->parts[reader->part_count - 1].entries = payload + 16;
        limit = offset;
        offset = ts__get64(payload);
    }
    return reader->part_count ? TS_OK : TS_ERR_NOT_FOUND;
}

// Takes a part's entries, which must stand in the file without a gap.
static ts_result ts__index_take(ts_reader *reader, const ts__part *part)
{
    const uint8_t *lod =
        part->entries + (size_t)part->count * sizeof(ts_chunk_header);
    for (uint32_t i = 0; i < part->count; i++) {
        ts__in_chunk chunk = { .offset = reader->resume };
        ts_chunk_header *const header = &chunk.header;
        memcpy(header, part->entries + i * sizeof *header, sizeof *header);
        if (header->checksum != reader->resume ||
            header->magic != TS_CHUNK_MAGIC ||
            header->session != reader->session ||
            header->sequence != reader->sequence || ts__header_check(header))
            return TS_ERR_CORRUPT;
        reader->resume += ts__in_chunk_bytes(header);
        reader->sequence++;
        if (reader->resume > part->offset) return TS_ERR_CORRUPT;
        if (header->kind == TS_CHUNK_EVENTS) {
            chunk.lod = lod;
            lod += TS__LOD_BYTES;
        }
        if (!ts__in_chunk_add(reader, &chunk)) return TS_ERR_MEMORY;
    }
    return TS_OK;
}

// Steps over a chunk that must stand here: a part of the index, or the end.
static bool ts__index_step(ts_reader *reader, uint64_t offset)
{
    ts__in_chunk chunk;
    if (offset != reader->resume ||
        ts__in_chunk_check(reader, offset, &chunk).result != TS_OK ||
        chunk.header.sequence != reader->sequence)
        return false;
    reader->resume += ts__in_chunk_bytes(&chunk.header);
    reader->sequence++;
    return true;
}

// TS_ERR_CORRUPT and others: do not trust the index, walk.
static ts_result ts__index_read(ts_reader *reader)
{
    ts__in_chunk end;
    if (reader->desc.no_index || reader->header_damaged ||
        !ts__index_end(reader, &end))
        return TS_ERR_NOT_FOUND;
    ts_result result = ts__index_parts(reader, end.header.first);
    for (size_t i = reader->part_count; result == TS_OK && i-- > 0;) {
        result = ts__index_take(reader, &reader->parts[i]);
        if (result == TS_OK && !ts__index_step(reader, reader->parts[i].offset))
            result = TS_ERR_CORRUPT;
    }
    if (result == TS_OK && !ts__index_step(reader, end.offset))
        result = TS_ERR_CORRUPT;
    return result;
}

static void ts__walk_reset(ts_reader *reader)
{
    reader->chunk_count = 0;
    reader->part_count = 0;
    reader->parts_used = 0;
    reader->resume = sizeof(ts_file_header);
    reader->sequence = 0;
    reader->after_damage = false;
    reader->tail_damage = false;
    reader->search = 4 * reader->size + (UINT64_C(1) << 30);
}

// Fills the chunk table, by the index if that can be trusted.
static ts_result ts__index_or_walk(ts_reader *reader)
{
    ts__walk_reset(reader);
    const ts_result result = ts__index_read(reader);
    if (result == TS_ERR_MEMORY) return result;
    if (result == TS_OK) {
        reader->info.indexed = true;
        reader->info.finished = true;
        reader->info.chunk_count = reader->chunk_count + reader->part_count + 1;
        reader->parts_used = reader->part_count;
        return TS_OK;
    }
    ts__walk_reset(reader);
    return ts__walk_on(reader);
}

static int ts__order_offset(const void *a, const void *b)
{
    const ts__in_chunk *const x = a, *const y = b;
    return ts__order_u64(x->offset, y->offset);
}

// Gives the chunks that a part describes exactly their pictures.
static void ts__part_spread(ts_reader *reader, const uint8_t *payload,
                            uint32_t count)
{
    const uint8_t *const entries = payload + 16;
    const uint8_t *lod = entries + (size_t)count * sizeof(ts_chunk_header);
    for (uint32_t i = 0; i < count; i++) {
        ts__in_chunk wanted;
        memcpy(&wanted.header, entries + i * sizeof wanted.header,
               sizeof wanted.header);
        if (wanted.header.kind != TS_CHUNK_EVENTS) continue;
        wanted.offset = wanted.header.checksum;
        ts__in_chunk *const chunk =
            bsearch(&wanted, reader->chunks, reader->chunk_count, sizeof wanted,
                    ts__order_offset);
        if (chunk && memcmp(&chunk->header, &wanted.header,
                            offsetof(ts_chunk_header, checksum)) == 0)
            chunk->lod = lod;
        lod += TS__LOD_BYTES;
    }
}

// After a walk: the pictures of the parts of an index that it met.
static ts_result ts__index_pictures(ts_reader *reader)
{
    ts__in_chunk part;
    const uint8_t *payload;
    for (; reader->parts_used < reader->part_count; reader->parts_used++) {
        const uint64_t offset = reader->parts[reader->parts_used].offset;
        ts__in_chunk_check(reader, offset, &part);
        ts__fault fault = ts__part_open(reader, &part, &payload);
        if (fault.result == TS_OK && !ts__part_pictures(payload, &part.header))
            fault = ts__corrupt("the index has the wrong size");
        if (fault.result == TS_OK)
            ts__part_spread(reader, payload, part.header.count);
        else if (ts__in_chunk_report(reader, &part, fault) == TS_ERR_MEMORY)
            return TS_ERR_MEMORY;
    }
    return TS_OK;
}

/* ---- 7.8 Dictionaries --------------------------------------------------- */

// The smallest body of an entry, by kind of chunk.
static const uint8_t ts__entry_min[] = {
    [TS_CHUNK_SITES] = sizeof(ts_site_entry),
    [TS_CHUNK_TRACKS] = sizeof(ts_track_entry),
    [TS_CHUNK_LAUNCHES] = sizeof(ts_launch_entry),
    [TS_CHUNK_MODULES] = sizeof(ts_module_entry),
    [TS_CHUNK_CLOCK] = sizeof(ts_clock_entry),
    [TS_CHUNK_METADATA] = sizeof(ts_metadata_entry),
    [TS_CHUNK_LOSS] = sizeof(ts_loss_entry),
};

// Checks that a payload is `count` entries of a kind and nothing more.
static ts__fault ts__entries_check(const ts_chunk_header *header,
                                   const uint8_t *payload)
{
    uint32_t left = header->raw_size;
    for (uint32_t i = 0; i < header->count; i++) {
        if (left < 8) return ts__corrupt("an entry is missing");
        const uint32_t id = ts__get32(payload);
        const uint32_t size = ts__get32(payload + 4);
        if (size > left - 8) return ts__corrupt("an entry ends too late");
        if (size < ts__entry_min[header->kind])
            return ts__corrupt("an entry is too short");
        if (header->kind == TS_CHUNK_NAMES && size > UINT16_MAX)
            return ts__corrupt("a name is too long");
        if (header->kind == TS_CHUNK_STACKS && size % sizeof(ts_frame_entry))
            return ts__corrupt("a stack has half a frame");
        if (header->kind < TS__TABLES && !id)
            return ts__corrupt("an entry defines number 0");
        payload += 8 + size;
        left -= 8 + size;
    }
    return left ? ts__corrupt("bytes follow the last entry") : ts__fine;
}

static bool ts__table_add(ts_reader *reader, uint32_t kind, uint32_t id,
                          const uint8_t *body, uint32_t size)
{
    ts__table *const table = &reader->tables[kind];
    ts__item *const items =
        ts__mem_more(&reader->allocator, table->items, &table->capacity,
                     table->count, sizeof *items);
    if (!items) return false;
    const ts__item item = { id, size, body };
    table->items = items;
    items[table->count++] = item;
    return true;
}

// Copies the entries of a dictionary: aligned, with a zero byte behind each.
// The 8 bytes before an entry's body in the file make up for both.
static bool ts__load_table(ts_reader *reader, const ts_chunk_header *header,
                           const uint8_t *payload)
{
    uint8_t *copy = ts__reader_keep(reader, (size_t)header->raw_size + 8);
    if (!copy) return false;
    for (uint32_t i = 0; i < header->count; i++) {
        const uint32_t id = ts__get32(payload);
        const uint32_t size = ts__get32(payload + 4);
        memcpy(copy, payload + 8, size);
        copy[size] = 0;
        if (!ts__table_add(reader, header->kind, id, copy, size)) return false;
        copy += ts__pad8((uint64_t)size + 1);
        payload += 8 + size;
    }
    return true;
}

static bool ts__load_sample(ts_reader *reader, uint32_t id, uint64_t offset,
                            const uint8_t *body)
{
    ts__sample *const samples = ts__mem_more(
        &reader->allocator, reader->samples, &reader->sample_capacity,
        reader->sample_count, sizeof *samples);
    if (!samples) return false;
    reader->samples = samples;
    ts__sample *const sample = &samples[reader->sample_count];
    sample->clock = id;
    sample->order = (uint32_t)reader->sample_count++;
    sample->offset = offset;
    sample->backwards = false;
    memcpy(&sample->entry, body, sizeof sample->entry);
    return true;
}

static bool ts__load_fact(ts_reader *reader, uint32_t id, const uint8_t *body)
{
    ts__fact *const facts =
        ts__mem_more(&reader->allocator, reader->facts, &reader->fact_capacity,
                     reader->fact_count, sizeof *facts);
    if (!facts) return false;
    reader->facts = facts;
    ts__fact *const fact = &facts[reader->fact_count];
    fact->track = id;
    fact->order = (uint32_t)reader->fact_count++;
    memcpy(&fact->entry, body, sizeof fact->entry);
    return true;
}

static bool ts__load_loss(ts_reader *reader, uint32_t id, uint32_t clock,
                          const uint8_t *body)
{
    ts__lost *const lost =
        ts__mem_more(&reader->allocator, reader->lost, &reader->lost_capacity,
                     reader->lost_count, sizeof *lost);
    if (!lost) return false;
    reader->lost = lost;
    ts__lost *const entry = &lost[reader->lost_count++];
    entry->track = id;
    entry->clock = clock;
    memcpy(&entry->entry, body, sizeof entry->entry);
    return true;
}

static bool ts__load_entries(ts_reader *reader, const ts__in_chunk *chunk,
                             const uint8_t *payload)
{
    const ts_chunk_header *const header = &chunk->header;
    if (header->kind < TS__TABLES)
        return ts__load_table(reader, header, payload);
    for (uint32_t i = 0; i < header->count; i++) {
        const uint32_t id = ts__get32(payload);
        const uint8_t *const body = payload + 8;
        bool done = true;
        if (header->kind == TS_CHUNK_CLOCK)
            done = ts__load_sample(reader, id, chunk->offset, body);
        if (header->kind == TS_CHUNK_METADATA)
            done = ts__load_fact(reader, id, body);
        if (header->kind == TS_CHUNK_LOSS)
            done = ts__load_loss(reader, id, header->clock, body);
        if (!done) return false;
        payload += 8 + ts__get32(payload + 4);
    }
    return true;
}

static bool ts__in_chunk_has_entries(const ts_chunk_header *header)
{
    return header->kind >= TS_CHUNK_NAMES && header->kind <= TS_CHUNK_LOSS;
}

static ts_result ts__load_chunk(ts_reader *reader, ts__in_chunk *chunk)
{
    const uint8_t *payload;
    ts__scratch scratch = { NULL, 0 };
    ts__fault fault = ts__in_chunk_payload(reader, chunk, &scratch, &payload);
    if (fault.result == TS_OK)
        fault = ts__entries_check(&chunk->header, payload);
    if (fault.result == TS_OK && !ts__load_entries(reader, chunk, payload))
        fault = ts__no_memory;
    ts__mem_put(&reader->allocator, scratch.bytes, scratch.size);
    ts__in_chunk_report(reader, chunk, fault);
    return fault.result == TS_ERR_MEMORY ? TS_ERR_MEMORY : TS_OK;
}

// Loads the dictionaries of the chunks that are new in the table.
static ts_result ts__load_all(ts_reader *reader)
{
    for (; reader->loaded < reader->chunk_count; reader->loaded++) {
        ts__in_chunk *const chunk = &reader->chunks[reader->loaded];
        if (!ts__in_chunk_has_entries(&chunk->header)) continue;
        const ts_result result = ts__load_chunk(reader, chunk);
        if (result != TS_OK) return result;
    }
    return TS_OK;
}

// Merging is stable: definitions of one id stay in their order.
static void ts__table_merge(const ts__item *from, size_t low, size_t middle,
                            size_t high, ts__item *to)
{
    size_t a = low, b = middle;
    for (size_t i = low; i < high; i++) {
        const bool left = a < middle && (b >= high || from[a].id <= from[b].id);
        to[i] = left ? from[a++] : from[b++];
    }
}

static bool ts__table_sorted(const ts__table *table)
{
    for (size_t i = 1; i < table->count; i++)
        if (table->items[i - 1].id >= table->items[i].id) return false;
    return true;
}

// Sorts by id; of several definitions the last one stays.
static bool ts__table_sort(ts_reader *reader, ts__table *table)
{
    const size_t count = table->count, size = count * sizeof(ts__item);
    if (ts__table_sorted(table)) return true;
    ts__item *const other = ts__mem_get(&reader->allocator, size);
    if (!other) return false;
    ts__item *from = table->items, *to = other;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t low = 0; low < count; low += 2 * width) {
            const size_t middle = low + width < count ? low + width : count;
            const size_t high = middle + width < count ? middle + width : count;
            ts__table_merge(from, low, middle, high, to);
        }
        ts__item *const kept = from;
        from = to;
        to = kept;
    }
    size_t unique = 0;
    for (size_t i = 0; i < count; i++)
        if (i + 1 == count || from[i].id != from[i + 1].id)
            table->items[unique++] = from[i];
    table->count = unique;
    ts__mem_put(&reader->allocator, other, size);
    return true;
}

// An array by id, unless a hostile or odd trace has ids all over the place.
static bool ts__table_finish(ts_reader *reader, ts__table *table)
{
    if (!ts__table_sort(reader, table)) return false;
    ts__mem_put(&reader->allocator, table->dense,
                table->dense_size * sizeof *table->dense);
    table->dense = NULL;
    table->dense_size = 0;
    if (!table->count) return true;
    const size_t size = (size_t)table->items[table->count - 1].id + 1;
    if (size / 4 > table->count + 256) return true;
    table->dense = ts__mem_get(&reader->allocator, size * sizeof *table->dense);
    if (!table->dense) return false;
    table->dense_size = size;
    memset(table->dense, 0, size * sizeof *table->dense);
    for (size_t i = 0; i < table->count; i++)
        table->dense[table->items[i].id] = (uint32_t)i + 1;
    return true;
}

static const ts__item *ts__table_find(const ts__table *table, uint32_t id)
{
    if (table->dense) {
        const uint32_t at = id < table->dense_size ? table->dense[id] : 0;
        return at ? &table->items[at - 1] : NULL;
    }
    size_t low = 0, high = table->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (table->items[middle].id == id) return &table->items[middle];
        if (table->items[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static const void *ts__table_body(const ts_reader *reader, uint32_t kind,
                                  uint32_t id)
{
    const ts__item *const item = ts__table_find(&reader->tables[kind], id);
    return item ? item->body : NULL;
}

TS_API ts_text ts_reader_name(const ts_reader *reader, uint32_t name)
{
    const ts__item *const item =
        ts__table_find(&reader->tables[TS_CHUNK_NAMES], name);
    ts_text text = { "", 0 };
    if (!item) return text;
    text.text = (const char *)item->body;
    text.size = item->size;
    return text;
}

TS_API const ts_site_entry *ts_reader_site(const ts_reader *reader,
                                           uint32_t site)
{
    return ts__table_body(reader, TS_CHUNK_SITES, site);
}

TS_API ts_text ts_reader_site_name(const ts_reader *reader, uint32_t site)
{
    const ts_site_entry *const entry = ts_reader_site(reader, site);
    if (!entry) return ts_reader_name(reader, 0);
    const ts_text name = ts_reader_name(reader, entry->name);
    return name.size ? name : ts_reader_name(reader, entry->function);
}

TS_API const ts_launch_entry *ts_reader_launch(const ts_reader *reader,
                                               uint32_t launch)
{
    return ts__table_body(reader, TS_CHUNK_LAUNCHES, launch);
}

TS_API const ts_module_entry *ts_reader_module(const ts_reader *reader,
                                               uint32_t module)
{
    return ts__table_body(reader, TS_CHUNK_MODULES, module);
}

TS_API ts_text ts_reader_build_id(const ts_reader *reader, uint32_t module)
{
    const ts__item *const item =
        ts__table_find(&reader->tables[TS_CHUNK_MODULES], module);
    ts_text text = { "", 0 };
    if (!item) return text;
    const size_t size = item->size - sizeof(ts_module_entry);
    text.text = (const char *)item->body + sizeof(ts_module_entry);
    text.size = size < 64 ? size : 64;
    return text;
}

TS_API uint32_t ts_reader_stack(const ts_reader *reader, uint32_t stack,
                                const ts_frame_entry **frames)
{
    const ts__item *const item =
        ts__table_find(&reader->tables[TS_CHUNK_STACKS], stack);
    *frames = NULL;
    if (!item) return 0;
    *frames = (const ts_frame_entry *)(const void *)item->body;
    return item->size / (uint32_t)sizeof(ts_frame_entry);
}

static ts_track ts__track_make(const ts_reader *reader, const ts__item *item)
{
    ts_track_entry entry;
    memcpy(&entry, item->body, sizeof entry);
    const ts_track track = {
        .id = item->id,
        .type = (ts_track_type)entry.type,
        .parent = entry.parent,
        .name = ts_reader_name(reader, entry.name),
        .unit = ts_reader_name(reader, entry.unit),
        .number = entry.number,
        .flags = entry.flags,
    };
    return track;
}

TS_API bool ts_reader_track_at(const ts_reader *reader, size_t index,
                               ts_track *track)
{
    const ts__table *const table = &reader->tables[TS_CHUNK_TRACKS];
    if (index >= table->count) return false;
    *track = ts__track_make(reader, &table->items[index]);
    return true;
}

TS_API bool ts_reader_track(const ts_reader *reader, uint32_t id,
                            ts_track *track)
{
    const ts__item *const item =
        ts__table_find(&reader->tables[TS_CHUNK_TRACKS], id);
    if (!item) return false;
    *track = ts__track_make(reader, item);
    return true;
}

/* ---- 7.9 Metadata ------------------------------------------------------- */

static int ts__order_fact(const void *a, const void *b)
{
    const ts__fact *const x = a, *const y = b;
    if (x->track != y->track) return ts__order_u64(x->track, y->track);
    if (x->entry.key != y->entry.key)
        return ts__order_u64(x->entry.key, y->entry.key);
    return ts__order_u64(x->order, y->order);
}

// By track and key; of several values of a key the last one stays.
static void ts__facts_finish(ts_reader *reader)
{
    ts__fact *const facts = reader->facts;
    size_t unique = 0;
    ts__sort(facts, reader->fact_count, sizeof *facts, ts__order_fact);
    for (size_t i = 0; i < reader->fact_count; i++) {
        const bool last = i + 1 == reader->fact_count ||
                          facts[i].track != facts[i + 1].track ||
                          facts[i].entry.key != facts[i + 1].entry.key;
        if (last) facts[unique++] = facts[i];
    }
    reader->fact_count = unique;
    for (size_t i = 0; i < unique; i++)
        facts[i].order = (uint32_t)i;
}

TS_API size_t ts_reader_metadata_count(const ts_reader *reader)
{
    return reader->fact_count;
}

TS_API bool ts_reader_metadata_at(const ts_reader *reader, size_t index,
                                  ts_metadata *metadata)
{
    if (index >= reader->fact_count) return false;
    const ts__fact *const fact = &reader->facts[index];
    const uint64_t value = fact->entry.value;
    const ts_metadata made = {
        .track = fact->track,
        .key = ts_reader_name(reader, fact->entry.key),
        .type = (ts_value_type)fact->entry.type,
        .text = { "", 0 },
    };
    *metadata = made;
    if (made.type == TS_VALUE_INT) metadata->number = (int64_t)value;
    if (made.type == TS_VALUE_DOUBLE)
        memcpy(&metadata->real, &value, sizeof value);
    if (made.type == TS_VALUE_TEXT && value <= UINT32_MAX)
        metadata->text = ts_reader_name(reader, (uint32_t)value);
    return true;
}

TS_API bool ts_reader_metadata(const ts_reader *reader, uint32_t track,
                               const char *key, ts_metadata *metadata)
{
    const size_t size = strlen(key);
    bool found = false;
    ts_metadata one;
    for (size_t i = 0; ts_reader_metadata_at(reader, i, &one); i++) {
        if (one.track != track || one.key.size != size ||
            memcmp(one.key.text, key, size) != 0)
            continue;
        *metadata = one;
        found = true;
    }
    return found;
}

static uint64_t ts__fact_number(const ts_reader *reader, const char *key)
{
    ts_metadata fact;
    if (!ts_reader_metadata(reader, 0, key, &fact)) return 0;
    if (fact.type == TS_VALUE_INT && fact.number > 0)
        return (uint64_t)fact.number;
    if (fact.type == TS_VALUE_DOUBLE && fact.real >= 1 && fact.real < 1e18)
        return (uint64_t)fact.real;
    return 0;
}

/* ---- 7.10 Clocks -------------------------------------------------------- */

/*
    A clock is a chain of straight segments between its samples; before the
    first and behind the last the nearest segment goes on. All in integers:

        raw = segment.raw + floor(x * ns / ticks),  x = tick - segment.start

    For 0 <= x < span three multiplications do, without a division:
    with ns = whole * ticks + rest and inverse = floor(rest * 2^64 / ticks),
    e = (x * inverse) >> 64 is floor(x * rest / ticks) or one less, because
    x * rest / ticks - x * inverse / 2^64 < x / 2^64 < 1.

    Times are kept within +-2^62 ns, so that differences do not overflow.
*/
#define TS__TIME_MAX (INT64_C(1) << 62)

static ts__int128 ts__floor_div(ts__int128 a, uint64_t b)
{
    const ts__int128 quotient = a / (ts__int128)b;
    return quotient - (a % (ts__int128)b < 0);
}

// Exact for every tick, but slow.
static int64_t ts__segment_far(const ts__clocks *clocks,
                               const ts__segment *segment, uint64_t tick)
{
    const int64_t x = (int64_t)(tick - segment->start);
    const ts__int128 ns =
        ts__floor_div((ts__int128)x * (ts__int128)segment->ns, segment->ticks);
    const ts__int128 time =
        (ts__int128)segment->raw - (ts__int128)clocks->base + ns;
    if (time > TS__TIME_MAX) return TS__TIME_MAX;
    if (time < -TS__TIME_MAX) return -TS__TIME_MAX;
    return (int64_t)time;
}

static inline int64_t ts__segment_near(const ts__segment *segment, uint64_t x)
{
    const uint64_t e = (uint64_t)((ts__uint128)x * segment->inverse >> 64);
    const uint64_t left = x * segment->rest - e * segment->ticks;
    return (int64_t)(segment->time + x * segment->whole + e +
                     (left >= segment->ticks));
}

// The segment that a tick lies in or next to.
static const ts__segment *ts__segment_find(const ts__clocks *clocks,
                                           const ts__clock *clock,
                                           uint64_t tick)
{
    const ts__segment *const segments = clocks->segments + clock->first;
    uint32_t low = 0, high = clock->count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if ((int64_t)(tick - segments[middle].start) >= 0)
            low = middle;
        else
            high = middle;
    }
    return &segments[low];
}

static int ts__order_clock(const void *a, const void *b)
{
    const ts__clock *const x = a, *const y = b;
    return ts__order_u64(x->id, y->id);
}

// Clocks without a sample share the last one, which counts nanoseconds.
static const ts__clock *ts__clock_find(const ts__clocks *clocks, uint32_t id)
{
    const ts__clock wanted = { .id = id };
    const ts__clock *const found =
        bsearch(&wanted, clocks->clocks, clocks->clock_count - 1, sizeof wanted,
                ts__order_clock);
    return found ? found : &clocks->clocks[clocks->clock_count - 1];
}

static bool ts__clock_known(const ts__clocks *clocks, uint32_t id)
{
    return ts__clock_find(clocks, id) !=
           &clocks->clocks[clocks->clock_count - 1];
}

static int64_t ts__clock_time(const ts__clocks *clocks, uint32_t id,
                              uint64_t tick)
{
    const ts__clock *const clock = ts__clock_find(clocks, id);
    return ts__segment_far(clocks, ts__segment_find(clocks, clock, tick), tick);
}

// Prepares ts__segment_near, as far as its results cannot overflow.
static void ts__segment_finish(const ts__clocks *clocks, ts__segment *segment,
                               bool last)
{
    const ts__int128 time = (ts__int128)segment->raw - (ts__int128)clocks->base;
    segment->whole = segment->ns / segment->ticks;
    segment->rest = segment->ns % segment->ticks;
    segment->inverse =
        (uint64_t)(((ts__uint128)segment->rest << 64) / segment->ticks);
    segment->time = (uint64_t)time;
    segment->span = (uint64_t)(TS__TIME_MAX / 2) / (segment->whole + 1);
    if (!last && segment->span > segment->ticks) segment->span = segment->ticks;
    if (time > TS__TIME_MAX / 2 || time < -TS__TIME_MAX / 2) segment->span = 0;
}

// Times of `count` ticks of one clock, which may lie in several segments.
static void ts__clock_times(const ts__clocks *clocks, uint32_t id,
                            const uint64_t *ticks, uint32_t count,
                            int64_t *times)
{
    const ts__clock *const clock = ts__clock_find(clocks, id);
    ts__segment segment = { 0 };
    for (uint32_t i = 0; i < count; i++) {
        if (ticks[i] - segment.start >= segment.span) {
            segment = *ts__segment_find(clocks, clock, ticks[i]);
            if (ticks[i] - segment.start >= segment.span) {
                times[i] = ts__segment_far(clocks, &segment, ticks[i]);
                continue;
            }
        }
        times[i] = ts__segment_near(&segment, ticks[i] - segment.start);
    }
}

static int ts__order_sample(const void *a, const void *b)
{
    const ts__sample *const x = a, *const y = b;
    if (x->clock != y->clock) return ts__order_u64(x->clock, y->clock);
    return ts__order_u64(x->order, y->order);
}

// A clock with a single sample: by its type or its known frequency.
static void ts__clock_single(const ts_reader *reader, ts__clocks *clocks,
                             const ts_clock_entry *entry)
{
    const uint64_t hz = ts__fact_number(reader, "clock.hz");
    const bool counts_ns =
        entry->type == TS_CLOCK_MONOTONIC_RAW || entry->type == TS_CLOCK_OTHER;
    ts__segment segment = { .start = entry->tick,
                            .raw = (int64_t)entry->raw_ns };
    segment.ticks = hz && !counts_ns ? hz : 1;
    segment.ns = hz && !counts_ns ? 1000000000 : 1;
    if (!counts_ns) clocks->estimated = true;
    clocks->segments[clocks->segment_count++] = segment;
}

// Whether a sample can follow another one; `start` is the clock's first tick.
static bool ts__sample_follows(const ts_clock_entry *next,
                               const ts_clock_entry *last, uint64_t start)
{
    return (int64_t)(next->tick - last->tick) > 0 &&
           (int64_t)(next->raw_ns - last->raw_ns) >= 0 &&
           (int64_t)(next->tick - start) > 0;
}

static bool ts__sample_report(ts_reader *reader, ts__sample *sample)
{
    const ts__fault fault = ts__corrupt("a sample of a clock runs backwards");
    if (sample->backwards) return true;
    sample->backwards = true;
    return ts__damage_note(reader, fault, sample->offset, 0);
}

// Adds one clock: `count` samples in the order of the file.
static bool ts__clock_build(ts_reader *reader, ts__clocks *clocks,
                            ts__sample *samples, size_t count)
{
    ts__clock *const clock = &clocks->clocks[clocks->clock_count++];
    const ts_clock_entry *last = &samples[0].entry;
    const uint64_t start = last->tick;
    clock->id = samples[0].clock;
    clock->first = clocks->segment_count;
    for (size_t i = 1; i < count; i++) {
        const ts_clock_entry *const next = &samples[i].entry;
        const uint64_t ticks = next->tick - last->tick;
        const uint64_t ns = next->raw_ns - last->raw_ns;
        if (!ticks && !ns) continue;
        if (!ts__sample_follows(next, last, start)) {
            if (!ts__sample_report(reader, &samples[i])) return false;
            continue;
        }
        const ts__segment segment = { .start = last->tick,
                                      .raw = (int64_t)last->raw_ns,
                                      .ticks = ticks,
                                      .ns = ns };
        clocks->segments[clocks->segment_count++] = segment;
        last = next;
    }
    if (clocks->segment_count == clock->first)
        ts__clock_single(reader, clocks, last);
    clock->count = clocks->segment_count - clock->first;
    return true;
}

// The clock of all ticks whose clock has no sample. Clock 0 is among them
// when the trace has none at all: then the start is time 0.
static void ts__clock_unknown(const ts_reader *reader, ts__clocks *clocks)
{
    const bool no_zero = clocks->clock_count == 0 || clocks->clocks[0].id != 0;
    const uint64_t hz = no_zero ? ts__fact_number(reader, "clock.hz") : 0;
    const ts__segment segment = { .start =
                                      no_zero ? reader->header.start_tick : 0,
                                  .ticks = hz ? hz : 1,
                                  .ns = hz ? 1000000000 : 1 };
    ts__clock *const clock = &clocks->clocks[clocks->clock_count++];
    clock->id = UINT32_MAX;
    clock->first = clocks->segment_count;
    clock->count = 1;
    clocks->segments[clocks->segment_count++] = segment;
    if (no_zero) clocks->estimated = true;
}

// Room for as many clocks and segments as there are samples, and one more.
static ts__clocks *ts__clocks_make(ts_reader *reader)
{
    const size_t count = reader->sample_count + 1;
    const size_t size =
        sizeof(ts__clocks) + count * (sizeof(ts__segment) +
                                      sizeof(ts__realtime) + sizeof(ts__clock));
    ts__clocks *const clocks = ts__mem_get(&reader->allocator, size);
    if (!clocks) return NULL;
    memset(clocks, 0, size);
    clocks->memory_size = size;
    clocks->segments = (ts__segment *)(clocks + 1);
    clocks->realtimes = (ts__realtime *)(clocks->segments + count);
    clocks->clocks = (ts__clock *)(clocks->realtimes + count);
    return clocks;
}

static void ts__clocks_realtimes(const ts_reader *reader, ts__clocks *clocks)
{
    for (size_t i = 0; i < reader->sample_count; i++) {
        const ts__sample *const sample = &reader->samples[i];
        const ts__realtime point = { (int64_t)sample->entry.raw_ns,
                                     sample->entry.realtime_ns };
        const uint32_t count = clocks->realtime_count;
        if (sample->clock != 0) break;
        if (count && point.raw <= clocks->realtimes[count - 1].raw) continue;
        clocks->realtimes[clocks->realtime_count++] = point;
    }
}

// The header is damaged: the first sample of clock 0 was taken at the start.
static void ts__clocks_start(ts_reader *reader)
{
    for (size_t i = 0; i < reader->sample_count; i++) {
        const ts__sample *const sample = &reader->samples[i];
        if (sample->clock != 0) continue;
        reader->header.start_tick = sample->entry.tick;
        reader->header.start_realtime_ns = sample->entry.realtime_ns;
        return;
    }
}

// Every clock, from the samples, which are sorted by clock.
static bool ts__clocks_build(ts_reader *reader, ts__clocks *clocks)
{
    ts__sample *const samples = reader->samples;
    for (size_t i = 0, next; i < reader->sample_count; i = next) {
        next = i + 1;
        while (next < reader->sample_count &&
               samples[next].clock == samples[i].clock)
            next++;
        if (!ts__clock_build(reader, clocks, &samples[i], next - i))
            return false;
    }
    ts__clock_unknown(reader, clocks);
    ts__clocks_realtimes(reader, clocks);
    return true;
}

// Frees the sets that a newer one has replaced and no cursor goes by.
static void ts__clocks_sweep(ts_reader *reader)
{
    ts__clocks **link = &reader->clocks->older;
    while (*link) {
        ts__clocks *const clocks = *link;
        if (__atomic_load_n(&clocks->cursors, __ATOMIC_RELAXED)) {
            link = &clocks->older;
            continue;
        }
        *link = clocks->older;
        ts__mem_put(&reader->allocator, clocks, clocks->memory_size);
    }
}

// Makes the start of the trace time 0.
static void ts__clocks_base(const ts_reader *reader, ts__clocks *clocks)
{
    const uint64_t start = reader->header.start_tick;
    const ts__segment *const at =
        ts__segment_find(clocks, ts__clock_find(clocks, 0), start);
    const ts__int128 x = (int64_t)(start - at->start);
    clocks->base =
        (int64_t)(at->raw + ts__floor_div(x * (ts__int128)at->ns, at->ticks));
    for (uint32_t i = 0; i < clocks->clock_count; i++) {
        const ts__clock *const clock = &clocks->clocks[i];
        for (uint32_t j = 0; j < clock->count; j++)
            ts__segment_finish(clocks, &clocks->segments[clock->first + j],
                               j + 1 == clock->count);
    }
}

static ts_result ts__clocks_finish(ts_reader *reader)
{
    ts__sort(reader->samples, reader->sample_count, sizeof *reader->samples,
             ts__order_sample);
    if (reader->header_damaged) ts__clocks_start(reader);
    ts__clocks *const clocks = ts__clocks_make(reader);
    if (!clocks) return TS_ERR_MEMORY;
    if (!ts__clocks_build(reader, clocks)) {
        ts__mem_put(&reader->allocator, clocks, clocks->memory_size);
        return TS_ERR_MEMORY;
    }
    ts__clocks_base(reader, clocks);
    clocks->older = reader->clocks;
    reader->clocks = clocks;
    ts__clocks_sweep(reader);
    reader->info.clock_estimated = clocks->estimated;
    return TS_OK;
}

TS_API int64_t ts_reader_time_ns(const ts_reader *reader, uint32_t clock,
                                 uint64_t tick)
{
    return ts__clock_time(reader->clocks, clock, tick);
}

// Between two samples linearly, so that the clock's corrections are spread;
// outside by the distance to the nearest.
TS_API uint64_t ts_reader_realtime_ns(const ts_reader *reader, int64_t time_ns)
{
    const ts__clocks *const clocks = reader->clocks;
    const ts__int128 raw = (ts__int128)clocks->base + time_ns;
    const ts__realtime *const points = clocks->realtimes;
    if (!clocks->realtime_count)
        return reader->header.start_realtime_ns + (uint64_t)time_ns;
    uint32_t low = 0, high = clocks->realtime_count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (raw >= points[middle].raw)
            low = middle;
        else
            high = middle;
    }
    const ts__int128 x = raw - points[low].raw;
    if (x < 0 || low + 1 == clocks->realtime_count)
        return points[low].realtime + (uint64_t)x;
    const ts__int128 rise =
        (int64_t)(points[low + 1].realtime - points[low].realtime);
    return points[low].realtime +
           (uint64_t)ts__floor_div(x * rise, (uint64_t)points[low + 1].raw -
                                                 (uint64_t)points[low].raw);
}

/* ---- 7.11 Losses -------------------------------------------------------- */

static int ts__order_loss(const void *a, const void *b)
{
    const ts_loss_row *const x = a, *const y = b;
    if (x->track != y->track) return ts__order_u64(x->track, y->track);
    if (x->cause != y->cause) return ts__order_u64(x->cause, y->cause);
    if (x->detail != y->detail) return ts__order_u64(x->detail, y->detail);
    return 0;
}

static uint64_t ts__sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void ts__loss_merge(ts_loss_row *row, const ts_loss_row *more)
{
    row->count = ts__sum(row->count, more->count);
    row->stall_ns = ts__sum(row->stall_ns, more->stall_ns);
    if (more->first_ns < row->first_ns) row->first_ns = more->first_ns;
    if (more->last_ns > row->last_ns) row->last_ns = more->last_ns;
}

// Sums the ledger by track, cause and detail.
static ts_result ts__losses_finish(ts_reader *reader)
{
    const size_t size = reader->lost_count * sizeof(ts_loss_row);
    ts__mem_put(&reader->allocator, reader->losses, reader->losses_size);
    reader->losses = NULL;
    reader->losses_size = reader->loss_count = 0;
    if (!size) return TS_OK;
    ts_loss_row *const rows = ts__mem_get(&reader->allocator, size);
    if (!rows) return TS_ERR_MEMORY;
    reader->losses = rows;
    reader->losses_size = size;
    for (size_t i = 0; i < reader->lost_count; i++) {
        const ts__lost *const lost = &reader->lost[i];
        const ts_loss_entry *const entry = &lost->entry;
        const ts_loss_row row = {
            lost->track,
            entry->cause,
            entry->detail,
            entry->count,
            ts__clock_time(reader->clocks, lost->clock, entry->first),
            ts__clock_time(reader->clocks, lost->clock, entry->last),
            entry->stall_ns,
        };
        rows[i] = row;
    }
    ts__sort(rows, reader->lost_count, sizeof *rows, ts__order_loss);
    size_t count = 0;
    for (size_t i = 0; i < reader->lost_count; i++) {
        if (count && ts__order_loss(&rows[count - 1], &rows[i]) == 0)
            ts__loss_merge(&rows[count - 1], &rows[i]);
        else
            rows[count++] = rows[i];
    }
    reader->loss_count = count;
    return TS_OK;
}

TS_API size_t ts_reader_loss_count(const ts_reader *reader)
{
    return reader->loss_count;
}

TS_API bool ts_reader_loss(const ts_reader *reader, size_t index,
                           ts_loss_row *row)
{
    if (index >= reader->loss_count) return false;
    *row = reader->losses[index];
    return true;
}

/* ---- 7.12 Open, refresh, close ------------------------------------------ */

#define TS__X(name, value, text) | UINT64_C(1) << value
static const uint64_t ts__known_events = 0 TS_EVENTS(TS__X);
#undef TS__X

// Whether a chunk holds events that this version knows.
static bool ts__in_chunk_known(const ts_chunk_header *header)
{
    return header->kind == TS_CHUNK_EVENTS && header->event < 64 &&
           ts__known_events >> header->event & 1;
}

static bool ts__in_chunk_kind_known(uint8_t kind)
{
    return (kind >= TS_CHUNK_NAMES && kind <= TS_CHUNK_LOSS) ||
           kind == TS_CHUNK_EVENTS || kind == TS_CHUNK_BLOB;
}

static ts_chunk_info ts__in_chunk_describe(const ts__clocks *clocks,
                                           const ts__in_chunk *chunk)
{
    ts_chunk_info info = { chunk->offset, chunk->header, 0, 0 };
    const ts_chunk_header *const header = &chunk->header;
    info.header.checksum = 0; // the index has none
    if (header->kind != TS_CHUNK_EVENTS || !header->count) return info;
    info.first_ns = ts__clock_time(clocks, header->clock, header->first);
    info.last_ns = ts__clock_time(clocks, header->clock, header->last);
    return info;
}

// Modulo 2^64 every tick is near some sample; times of a chunk that lies half
// the circle away would jump.
static bool ts__in_chunk_timed(const ts__clocks *clocks,
                               const ts__in_chunk *chunk)
{
    const ts_chunk_info info = ts__in_chunk_describe(clocks, chunk);
    return info.first_ns <= info.last_ns;
}

static void ts__info_chunk(ts_reader *reader, const ts__in_chunk *chunk,
                           bool *any)
{
    ts_info *const info = &reader->info;
    const ts_chunk_header *const header = &chunk->header;
    if (!ts__in_chunk_kind_known(header->kind)) info->unknown_chunks++;
    if (header->kind != TS_CHUNK_EVENTS) return;
    if (!ts__clock_known(reader->clocks, header->clock))
        info->clock_estimated = true;
    if (!ts__in_chunk_known(header)) {
        info->unknown_events += header->count;
        return;
    }
    info->counts[header->event] += header->count;
    info->stored_bytes[header->event] += ts__in_chunk_bytes(header);
    if (!header->count || !ts__in_chunk_timed(reader->clocks, chunk)) return;
    const ts_chunk_info times = ts__in_chunk_describe(reader->clocks, chunk);
    if (!*any || times.first_ns < info->first_ns)
        info->first_ns = times.first_ns;
    if (!*any || times.last_ns > info->last_ns) info->last_ns = times.last_ns;
    *any = true;
}

static void ts__info_header(ts_reader *reader)
{
    ts_info *const info = &reader->info;
    memcpy(info->session, reader->header.session, sizeof info->session);
    info->major = reader->header.major;
    info->minor = reader->header.minor;
    info->process = reader->header.process;
    info->start_realtime_ns = reader->header.start_realtime_ns;
    info->file_bytes = reader->size;
    ts_track track;
    for (size_t i = 0; reader->header_damaged; i++) {
        if (!ts_reader_track_at(reader, i, &track)) break;
        if (track.type != TS_TRACK_PROCESS) continue;
        info->process = (uint32_t)track.number;
        break;
    }
}

static void ts__info_finish(ts_reader *reader)
{
    ts_info *const info = &reader->info;
    bool any = false;
    ts__info_header(reader);
    memset(info->counts, 0, sizeof info->counts);
    memset(info->stored_bytes, 0, sizeof info->stored_bytes);
    info->unknown_chunks = info->unknown_events = info->lost = 0;
    info->first_ns = info->last_ns = 0;
    for (size_t i = 0; i < reader->chunk_count; i++)
        ts__info_chunk(reader, &reader->chunks[i], &any);
    for (size_t i = 0; i < reader->loss_count; i++)
        if (reader->losses[i].cause < TS_LOSS_STALL_FIRST)
            info->lost = ts__sum(info->lost, reader->losses[i].count);
    const uint64_t told = ts__fact_number(reader, "salvaged.records");
    if (told > info->salvaged) info->salvaged = told;
    info->track_count = (uint32_t)reader->tables[TS_CHUNK_TRACKS].count;
    info->site_count = (uint32_t)reader->tables[TS_CHUNK_SITES].count;
    info->name_count = (uint32_t)reader->tables[TS_CHUNK_NAMES].count;
    info->launch_count = (uint32_t)reader->tables[TS_CHUNK_LAUNCHES].count;
}

// Everything that follows from the chunk table.
static ts_result ts__reader_finish(ts_reader *reader)
{
    ts_result result = ts__load_all(reader);
    for (uint32_t i = 0; result == TS_OK && i < TS__TABLES; i++)
        if (!ts__table_finish(reader, &reader->tables[i]))
            result = TS_ERR_MEMORY;
    if (result == TS_OK) ts__facts_finish(reader);
    if (result == TS_OK) result = ts__clocks_finish(reader);
    if (result == TS_OK) result = ts__losses_finish(reader);
    if (result == TS_OK) result = ts__index_pictures(reader);
    if (result == TS_OK) ts__info_finish(reader);
    return result;
}

enum { TS__SIDECAR_NONE, TS__SIDECAR_LEFT, TS__SIDECAR_LIVE };

// What a file is if it is the trace's sidecar. Its writer's lock belongs to
// the open file, so looking at it disturbs no lock, even one of this process.
static int ts__sidecar_state(const char *name)
{
    const int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return TS__SIDECAR_NONE;
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    const bool locked =
        fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(fd);
    return locked ? TS__SIDECAR_LIVE : TS__SIDECAR_LEFT;
}

static int ts__sidecar_in(const ts_reader *reader, const char *directory,
                          size_t directory_size)
{
    char name[4096];
    char session[2 * sizeof reader->header.session + 1];
    for (size_t i = 0; i < sizeof reader->header.session; i++)
        snprintf(session + 2 * i, 3, "%02x", reader->header.session[i]);
    const int size = snprintf(name, sizeof name, "%.*s/tracesmith-%s.ring",
                              (int)directory_size, directory, session);
    if (size < 0 || (size_t)size >= sizeof name) return TS__SIDECAR_NONE;
    return ts__sidecar_state(name);
}

// Looks for the sidecar in shared memory, beside the trace, and through the
// link that leads to any other place.
static int ts__sidecar_find(const ts_reader *reader)
{
    char link[4096];
    if (reader->fd < 0) return TS__SIDECAR_NONE;
    const char *const slash = strrchr(reader->path, '/');
    const size_t size = slash ? (size_t)(slash - reader->path) : 1;
    int state = ts__sidecar_in(reader, "/dev/shm", 8);
    if (state == TS__SIDECAR_NONE)
        state = ts__sidecar_in(reader, slash ? reader->path : ".", size);
    const int wrote = snprintf(link, sizeof link, "%s.ring", reader->path);
    if (state == TS__SIDECAR_NONE && wrote > 0 && (size_t)wrote < sizeof link)
        state = ts__sidecar_state(link);
    return state;
}

// Lets ts_salvage finish a trace whose writer is gone. Returns whether the
// file has changed.
static bool ts__reader_salvage(ts_reader *reader)
{
    static const ts_result untouched[] = {
        [TS__SIDECAR_NONE] = TS_ERR_NOT_FOUND,
        [TS__SIDECAR_LEFT] = TS_ERR_STATE,
        [TS__SIDECAR_LIVE] = TS_ERR_BUSY,
    };
    ts_info *const info = &reader->info;
    const int sidecar = ts__sidecar_find(reader);
    info->live = sidecar == TS__SIDECAR_LIVE;
    info->salvage = untouched[sidecar];
    if (sidecar != TS__SIDECAR_LEFT || reader->desc.no_salvage) return false;
#ifdef TRACESMITH_DISABLE
    info->salvage = TS_ERR_UNSUPPORTED;
#else
    info->salvage = ts_salvage(reader->path, &info->salvaged);
#endif
    info->live = info->salvage == TS_ERR_BUSY;
    info->salvage_failed = info->salvage != TS_OK &&
                           info->salvage != TS_ERR_BUSY &&
                           info->salvage != TS_ERR_NOT_FOUND;
    return info->salvage == TS_OK;
}

// Maps what the file has become; false if its size is the same. What has been
// read is never given up again.
static bool ts__reader_remap(ts_reader *reader)
{
    struct stat file;
    if (reader->fd < 0 || fstat(reader->fd, &file) != 0) return false;
    const uint64_t size = (uint64_t)file.st_size;
    if (size == reader->size || size < reader->resume) return false;
    return ts__map_file(reader, size, 2 * size) == TS_OK;
}

static ts_result ts__header_read(ts_reader *reader)
{
    ts_file_header *const header = &reader->header;
    const size_t checked = offsetof(ts_file_header, checksum);
    const size_t known = reader->size < 8 ? (size_t)reader->size : 8;
    if (memcmp(reader->bytes, TS_FILE_MAGIC, known) != 0) return TS_ERR_NOT_SBT;
    if (reader->size < sizeof *header) return TS_ERR_TRUNCATED;
    memcpy(header, reader->bytes, sizeof *header);
    if (XXH3_64bits(reader->bytes, checked) == header->checksum) {
        memcpy(&reader->session, header->session, sizeof reader->session);
        reader->session_known = true;
        return header->major == TS_FORMAT_MAJOR && !header->flags
                   ? TS_OK
                   : TS_ERR_VERSION;
    }
    memset(header, 0, sizeof *header);
    header->major = TS_FORMAT_MAJOR;
    reader->header_damaged = true;
    const ts__fault fault = ts__corrupt("the file header's checksum is wrong");
    return ts__damage_note(reader, fault, 0, sizeof *header) ? TS_OK
                                                             : TS_ERR_MEMORY;
}

// The header is damaged: the first valid chunk tells the session.
static void ts__header_guess(ts_reader *reader)
{
    ts__in_chunk chunk;
    ts__walk_reset(reader);
    uint64_t first = sizeof(ts_file_header);
    if (first >= reader->size) return;
    first = ts__walk_search(reader, first - 8);
    if (first >= reader->size) return;
    ts__in_chunk_check(reader, first, &chunk);
    reader->session = chunk.header.session;
    reader->session_known = true;
    memcpy(reader->header.session, &reader->session, sizeof reader->session);
}

static ts_result ts__reader_load(ts_reader *reader)
{
    ts__in_chunk end;
    ts_result result = TS_OK;
    if (reader->path) result = ts__map_path(reader);
    if (result == TS_OK)
        result = reader->size ? ts__header_read(reader) : TS_ERR_TRUNCATED;
    if (result != TS_OK) return result;
    if (reader->header_damaged) ts__header_guess(reader);
    if (!ts__index_end(reader, &end)) {
        ts__reader_salvage(reader);
        ts__reader_remap(reader); // the writer may just have finished
    }
    result = ts__index_or_walk(reader);
    return result == TS_OK ? ts__reader_finish(reader) : result;
}

static bool ts__reader_defaults(ts_reader *reader)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    reader->threads = reader->desc.threads;
    if (!reader->threads) reader->threads = cores > 0 ? (uint32_t)cores : 1;
    if (reader->threads > TS__THREADS_MAX) reader->threads = TS__THREADS_MAX;
    reader->fd = -1;
    if (reader->desc.bytes) {
        reader->bytes = reader->desc.bytes;
        reader->size = reader->desc.size;
        return true;
    }
    reader->path_size = strlen(reader->desc.path) + 1;
    reader->path = ts__mem_get(&reader->allocator, reader->path_size);
    if (reader->path)
        memcpy(reader->path, reader->desc.path, reader->path_size);
    return reader->path != NULL;
}

TS_API ts_result ts_reader_open(ts_reader **out, const ts_reader_desc *desc)
{
    if (out) *out = NULL;
    if (!out || !desc || (!desc->path && !desc->bytes)) return TS_ERR_USAGE;
    ts_allocator allocator = desc->allocator;
    if (!allocator.resize) allocator.resize = ts__mem_default;
    ts_reader *const reader = ts__mem_get(&allocator, sizeof *reader);
    if (!reader) return TS_ERR_MEMORY;
    memset(reader, 0, sizeof *reader);
    reader->allocator = allocator;
    reader->desc = *desc;
    pthread_mutex_init(&reader->lock, NULL);
    pthread_mutex_init(&reader->blob_lock, NULL);
    ts_result result = TS_ERR_MEMORY;
    if (ts__reader_defaults(reader)) result = ts__reader_load(reader);
    if (result == TS_OK)
        *out = reader;
    else
        ts_reader_close(reader);
    return result;
}

static void ts__reader_free_maps(ts_reader *reader)
{
    while (reader->maps) {
        ts__map *const map = reader->maps;
        reader->maps = map->older;
        if (map->mapped)
            munmap(map->address, map->size);
        else
            ts__mem_put(&reader->allocator, map->address, map->size);
        ts__mem_put(&reader->allocator, map, sizeof *map);
    }
}

static void ts__reader_free_tables(ts_reader *reader)
{
    const ts_allocator *const allocator = &reader->allocator;
    for (uint32_t i = 0; i < TS__TABLES; i++) {
        ts__table *const table = &reader->tables[i];
        ts__mem_put(allocator, table->items,
                    table->capacity * sizeof *table->items);
        ts__mem_put(allocator, table->dense,
                    table->dense_size * sizeof *table->dense);
    }
    while (reader->blocks) {
        ts__kept *const block = reader->blocks;
        reader->blocks = block->older;
        ts__mem_put(allocator, block, block->size);
    }
    while (reader->clocks) {
        ts__clocks *const clocks = reader->clocks;
        reader->clocks = clocks->older;
        ts__mem_put(allocator, clocks, clocks->memory_size);
    }
}

TS_API void ts_reader_close(ts_reader *reader)
{
    if (!reader) return;
    const ts_allocator allocator = reader->allocator;
    ts__reader_free_maps(reader);
    ts__reader_free_tables(reader);
    if (reader->fd >= 0) close(reader->fd);
    ts__mem_put(&allocator, reader->path, reader->path_size);
    ts__mem_put(&allocator, reader->chunks,
                reader->chunk_capacity * sizeof *reader->chunks);
    ts__mem_put(&allocator, reader->parts,
                reader->part_capacity * sizeof *reader->parts);
    ts__mem_put(&allocator, reader->samples,
                reader->sample_capacity * sizeof *reader->samples);
    ts__mem_put(&allocator, reader->facts,
                reader->fact_capacity * sizeof *reader->facts);
    ts__mem_put(&allocator, reader->lost,
                reader->lost_capacity * sizeof *reader->lost);
    ts__mem_put(&allocator, reader->losses, reader->losses_size);
    ts__mem_put(&allocator, reader->damages,
                reader->damage_capacity * sizeof *reader->damages);
    ts__mem_put(&allocator, reader->blobs,
                reader->blob_capacity * sizeof *reader->blobs);
    pthread_mutex_destroy(&reader->lock);
    pthread_mutex_destroy(&reader->blob_lock);
    ts__mem_put(&allocator, reader, sizeof *reader);
}

// The damage at the end of the file was perhaps only a chunk half written.
static void ts__refresh_tail(ts_reader *reader)
{
    if (!reader->tail_damage) return;
    size_t i = reader->damage_count;
    while (i > 0 && reader->damages[i - 1].offset != reader->resume)
        i--;
    if (!i) return;
    reader->damage_count--;
    memmove(&reader->damages[i - 1], &reader->damages[i],
            (reader->damage_count - (i - 1)) * sizeof *reader->damages);
    reader->tail_damage = reader->after_damage = false;
}

TS_API bool ts_reader_refresh(ts_reader *reader)
{
    if (reader->fd < 0 || reader->info.finished) return false;
    const bool lived = reader->info.live;
    bool more = ts__reader_remap(reader);
    // Nothing new may mean that the writer is gone. It may have written its
    // last words before we saw that.
    if (!more) {
        more = ts__reader_salvage(reader);
        if (ts__reader_remap(reader) || reader->info.live != lived) more = true;
    }
    if (!more && reader->loaded == reader->chunk_count) return false;
    ts__refresh_tail(reader);
    return ts__walk_on(reader) == TS_OK && ts__reader_finish(reader) == TS_OK;
}

TS_API const ts_info *ts_reader_info(const ts_reader *reader)
{
    return &reader->info;
}

TS_API size_t ts_reader_chunk_count(const ts_reader *reader)
{
    return reader->chunk_count;
}

TS_API bool ts_reader_chunk(const ts_reader *reader, size_t index,
                            ts_chunk_info *info)
{
    if (index >= reader->chunk_count) return false;
    *info = ts__in_chunk_describe(reader->clocks, &reader->chunks[index]);
    return true;
}

/* ---- 7.13 Columns ------------------------------------------------------- */

typedef struct ts__column {
    ts_column_header header;
    const uint8_t *data;
    bool present;
} ts__column;

typedef struct ts__columns { // of a chunk, found but not decoded
    ts__column column[TS_COLUMN_LIMIT];
    uint32_t count;
} ts__columns;

// Blocks of 64 values, each of its own width: checks that they fill `size`.
static const char *ts__pack_check(const uint8_t *data, uint32_t size,
                                  uint32_t count)
{
    const uint32_t blocks = count / 64 + (count % 64 != 0);
    uint64_t used = ts__pad8(blocks);
    if (used > size) return "a column is too short";
    for (uint32_t i = 0; i < blocks; i++) {
        const uint64_t values = i + 1 < blocks ? 64 : count - i * 64;
        if (data[i] > 64) return "a column has values of more than 64 bits";
        used += ts__pad8((values * data[i] + 7) / 8);
    }
    return used == size ? NULL : "a column has the wrong size";
}

static const char *ts__text_check(const uint8_t *data, uint32_t size,
                                  uint32_t count)
{
    uint64_t used = (uint64_t)count * 4;
    if (used > size) return "a column of texts is too short";
    for (uint32_t i = 0; i < count; i++)
        used += ts__get32(data + (size_t)i * 4);
    return ts__pad8(used) == size ? NULL : "a column of texts has another size";
}

static bool ts__transform_known(const ts_column_header *header)
{
    switch (header->transform) {
    case TS_TRANSFORM_NONE: return true;
    case TS_TRANSFORM_DELTA: return header->column != TS_COLUMN_TEXT;
    case TS_TRANSFORM_GAP: return header->column == TS_COLUMN_START;
    case TS_TRANSFORM_QUEUED: return header->column == TS_COLUMN_SUBMITTED;
    default: return false;
    }
}

static const char *ts__column_check(const ts__column *column, uint32_t count)
{
    const ts_column_header *const header = &column->header;
    const bool text = header->column == TS_COLUMN_TEXT;
    if (text != (header->encoding == TS_ENCODING_TEXT))
        return "a column has an encoding that it cannot have";
    if (!ts__transform_known(header) || (text && header->base))
        return "a column has an unknown transform";
    switch (header->encoding) {
    case TS_ENCODING_CONSTANT:
        return header->size ? "a constant column has data" : NULL;
    case TS_ENCODING_PACK:
        return ts__pack_check(column->data, header->size, count);
    case TS_ENCODING_TEXT:
        return ts__text_check(column->data, header->size, count);
    case TS_ENCODING_PLANES:
        if (header->width < 1 || header->width > 8)
            return "a column has values of more than 64 bits";
        if (ts__pad8((uint64_t)header->width * count) != header->size)
            return "a column has the wrong size";
        return NULL;
    default: return "a column has an unknown encoding";
    }
}

// Finds the columns in a payload. Afterwards their data can be read without
// further checks, and 8 bytes may be loaded at any value.
static const char *ts__columns_find(const uint8_t *payload, uint32_t size,
                                    uint32_t count, ts__columns *columns)
{
    memset(columns, 0, sizeof *columns);
    columns->count = count;
    if (size < 16) return "the chunk is too short for columns";
    const uint32_t column_count = ts__get32(payload);
    if (column_count > TS_COLUMNS_MAX || ts__get32(payload + 4))
        return "the chunk has more columns than any may have";
    uint64_t at = 8 + (uint64_t)column_count * sizeof(ts_column_header);
    if (at > size - 8) return "the chunk is too short for its columns";
    for (uint32_t i = 0; i < column_count; i++) {
        ts__column found = { .data = payload + at, .present = true };
        memcpy(&found.header, payload + 8 + i * sizeof found.header,
               sizeof found.header);
        if (found.header.size % 8 || found.header.size > size - 8 - at)
            return "a column ends behind its chunk";
        at += found.header.size;
        if (!found.header.column || found.header.column >= TS_COLUMN_LIMIT)
            continue;
        ts__column *const column = &columns->column[found.header.column];
        if (column->present) return "a column stands twice";
        *column = found;
        const char *const text = ts__column_check(column, count);
        if (text) return text;
    }
    if (at != size - 8 || ts__get64(payload + at))
        return "the chunk does not end where its columns do";
    return NULL;
}

// One of a row of values of `width` bits. Up to 57 bits and a shift of at
// most 7 fit into one load; what is beyond is in the next byte.
static inline __attribute__((always_inline)) uint64_t
ts__unpack_one(const uint8_t *data, uint32_t width, uint32_t index)
{
    const uint32_t bit = index * width;
    const uint8_t *const at = data + (bit >> 3);
    uint64_t value = ts__get64(at) >> (bit & 7);
    if (width > 57) value |= (uint64_t)at[8] << 1 << (63 - (bit & 7));
    return width ? value & UINT64_MAX >> (64 - width) : 0;
}

// Eight values fill whole bytes: with a constant width, each of the eight is
// at a constant place.
static inline __attribute__((always_inline)) void
ts__unpack(const uint8_t *data, uint32_t width, uint32_t count, uint64_t base,
           uint64_t *values)
{
    uint32_t i = 0;
    for (; i + 8 <= count; i += 8, data += width) {
#pragma GCC unroll 8
        for (uint32_t j = 0; j < 8; j++)
            values[i + j] = base + ts__unpack_one(data, width, j);
    }
    for (uint32_t j = 0; i < count; i++, j++)
        values[i] = base + ts__unpack_one(data, width, j);
}

// Most blocks are full and narrow: there count and width are constants to the
// compiler.
#define TS__WIDTHS(X) \
    X(0) \
    X(1) \
    X(2) \
    X(3) \
    X(4) \
    X(5) \
    X(6) \
    X(7) \
    X(8) \
    X(9) \
    X(10) \
    X(11) \
    X(12) \
    X(13) \
    X(14) \
    X(15) \
    X(16)
#define TS__X(n) \
    static void ts__unpack_##n(const uint8_t *data, uint64_t base, \
                               uint64_t *values) \
    { \
        ts__unpack(data, n, 64, base, values); \
    }
TS__WIDTHS(TS__X)
#undef TS__X

typedef void ts__unpacker(const uint8_t *data, uint64_t base, uint64_t *values);
static ts__unpacker *const ts__unpackers[] = {
#define TS__X(n) ts__unpack_##n,
    TS__WIDTHS(TS__X)
#undef TS__X
};
enum { TS__UNPACKERS = sizeof ts__unpackers / sizeof *ts__unpackers };

static void ts__unpack_block(const uint8_t *data, uint32_t width,
                             uint32_t count, uint64_t base, uint64_t *values)
{
    if (count == 64 && width < TS__UNPACKERS)
        ts__unpackers[width](data, base, values);
    else if (width <= 57)
        ts__unpack(data, width, count, base, values);
    else
        ts__unpack(data, width, count, base, values);
}

static void ts__unpack_column(const uint8_t *data, uint32_t count,
                              uint64_t base, uint64_t *values)
{
    const uint32_t blocks = count / 64 + (count % 64 != 0);
    const uint8_t *block = data + ts__pad8(blocks);
    for (uint32_t i = 0; i < blocks; i++) {
        const uint32_t rows = i + 1 < blocks ? 64 : count - i * 64;
        ts__unpack_block(block, data[i], rows, base, values);
        block += ts__pad8((rows * data[i] + 7) / 8);
        values += rows;
    }
}

static void ts__unplane_column(const uint8_t *data, uint32_t width,
                               uint32_t count, uint64_t base, uint64_t *values)
{
    memset(values, 0, count * sizeof *values);
    for (uint32_t p = 0; p < width; p++, data += count)
        for (uint32_t i = 0; i < count; i++)
            values[i] |= (uint64_t)data[i] << (8 * p);
    for (uint32_t i = 0; base && i < count; i++)
        values[i] += base;
}

static inline uint64_t ts__unzigzag(uint64_t stored)
{
    return (stored >> 1) ^ (0 - (stored & 1));
}

// Decodes a column that ts__columns_find has checked; zeros if it is absent.
// Transforms that want other columns are left to ts__gaps_decode and
// ts__submitted_decode.
static void ts__column_decode(const ts__column *column, uint32_t count,
                              uint64_t *values)
{
    const ts_column_header *const header = &column->header;
    const uint64_t base = header->transform ? 0 : header->base;
    if (header->encoding == TS_ENCODING_PACK)
        ts__unpack_column(column->data, count, base, values);
    else if (header->encoding == TS_ENCODING_PLANES)
        ts__unplane_column(column->data, header->width, count, base, values);
    else
        for (uint32_t i = 0; i < count; i++)
            values[i] = base;
    if (header->transform != TS_TRANSFORM_DELTA) return;
    uint64_t last = header->base;
    for (uint32_t i = 0; i < count; i++) {
        last += ts__unzigzag(values[i]);
        values[i] = last;
    }
}

// Starts that are stored as distances from the end before them.
static void ts__gaps_decode(const ts__column *column, uint32_t count,
                            const uint64_t *durations, uint64_t *starts)
{
    if (column->header.transform != TS_TRANSFORM_GAP) return;
    uint64_t end = column->header.base;
    for (uint32_t i = 0; i < count; i++) {
        starts[i] = end + ts__unzigzag(starts[i]);
        end = starts[i] + durations[i];
    }
}

// Submissions that are stored as distances from `queued`, NULL: all zero.
static void ts__submitted_decode(const ts__column *column, uint32_t count,
                                 const uint64_t *queued, uint64_t *values)
{
    if (column->header.transform != TS_TRANSFORM_QUEUED) return;
    for (uint32_t i = 0; i < count; i++)
        values[i] = (queued ? queued[i] : 0) - ts__unzigzag(values[i]);
}

/* ---- 7.14 Events -------------------------------------------------------- */

/*
    ts_columns.memory, one u64 for each row in each part:

        start_ns | duration_ns | ticks | a | b | c | values ... | texts ...

    While times are decoded, start_ns is the stack of zones, a the leads and
    then the ends, b and c are nest and tail.
*/
enum { TS__DECODE_BYTES_MAX = 1 << 30, TS__DECODE_FIXED = 6 };

#define TS__COLUMN_BIT(name) (UINT64_C(1) << (TS_COLUMN_##name))
static const uint64_t ts__columns_hidden =
    TS__COLUMN_BIT(START) | TS__COLUMN_BIT(DURATION) | TS__COLUMN_BIT(NEST) |
    TS__COLUMN_BIT(LEAD) | TS__COLUMN_BIT(TAIL) | TS__COLUMN_BIT(TEXT) |
    TS__COLUMN_BIT(TRACK);
static const uint64_t ts__columns_numbers = // values are u32
    TS__COLUMN_BIT(SITE) | TS__COLUMN_BIT(NAME) | TS__COLUMN_BIT(POOL) |
    TS__COLUMN_BIT(CATEGORY) | TS__COLUMN_BIT(STACK) | TS__COLUMN_BIT(THREAD) |
    TS__COLUMN_BIT(LAUNCH) | TS__COLUMN_BIT(PEER);

// Whether a column gets an array of its own in ts_columns.values.
static bool ts__column_shown(const ts__columns *found, uint32_t column)
{
    const ts__column *const one = &found->column[column];
    return one->present && !(ts__columns_hidden >> column & 1) &&
           (one->header.encoding != TS_ENCODING_CONSTANT || one->header.base ||
            one->header.transform);
}

static bool ts__columns_fit(const ts_reader *reader, ts_columns *columns,
                            uint64_t size)
{
    if (size <= columns->memory_size) return true;
    const ts_allocator *const allocator = &reader->allocator;
    ts__mem_put(allocator, columns->memory, columns->memory_size);
    columns->memory = ts__mem_get(allocator, (size_t)size);
    columns->memory_size = columns->memory ? (size_t)size : 0;
    return columns->memory != NULL;
}

// The zones' times from what is inside them (section 8.1 of the format).
// lead receives the ends; stack has room for header->count.
static const char *ts__zones_decode(const ts_chunk_header *header,
                                    const uint64_t *nest, uint64_t *lead,
                                    const uint64_t *tail, uint64_t *ticks,
                                    uint64_t *stack)
{
    const uint64_t first = header->first, span = header->last - first;
    uint64_t end = first, depth = 0;
    bool outside = false;
    for (uint32_t i = 0; i < header->count; i++) {
        const uint64_t n = nest[i], a = lead[i];
        const uint64_t inside = n > 1 ? n - 1 : 0;
        if (inside > depth) return "a zone lies around too many zones";
        depth -= inside;
        const uint64_t from = inside ? stack[depth] : end;
        const uint64_t start = from + (n ? 0 - a : a);
        end = (inside ? end : start) + tail[i];
        stack[depth++] = start;
        ticks[i] = start;
        lead[i] = end;
        outside |= (start - first > end - first) | (end - first > span);
    }
    return outside ? "a zone lies outside its chunk's time" : NULL;
}

// durations receives the ends.
static const char *ts__moments_decode(const ts_chunk_header *header,
                                      const uint64_t *ticks,
                                      uint64_t *durations)
{
    const uint64_t first = header->first, span = header->last - first;
    bool outside = false;
    for (uint32_t i = 0; i < header->count; i++) {
        const uint64_t from = ticks[i] - first;
        outside |= (from > span) | (durations[i] > span - from);
        durations[i] += ticks[i];
    }
    return outside ? "an event lies outside its chunk's time" : NULL;
}

// Fills start_ns, duration_ns and start_ticks; `at` is the memory.
static const char *ts__times_decode(const ts__clocks *clocks,
                                    const ts_chunk_header *header,
                                    const ts__columns *found, uint64_t *at,
                                    ts_columns *columns)
{
    const uint32_t count = header->count;
    uint64_t *const starts = at, *const durations = starts + count;
    uint64_t *const ticks = durations + count, *const a = ticks + count;
    uint64_t *const b = a + count, *const c = b + count;
    const char *text;
    if (header->event == TS_EVENT_ZONE) {
        ts__column_decode(&found->column[TS_COLUMN_LEAD], count, a);
        ts__column_decode(&found->column[TS_COLUMN_NEST], count, b);
        ts__column_decode(&found->column[TS_COLUMN_TAIL], count, c);
        text = ts__zones_decode(header, b, a, c, ticks, starts);
    } else {
        ts__column_decode(&found->column[TS_COLUMN_START], count, ticks);
        ts__column_decode(&found->column[TS_COLUMN_DURATION], count, a);
        ts__gaps_decode(&found->column[TS_COLUMN_START], count, a, ticks);
        text = ts__moments_decode(header, ticks, a);
    }
    if (text) return text;
    int64_t *const start_ns = (int64_t *)starts;
    int64_t *const duration_ns = (int64_t *)durations;
    ts__clock_times(clocks, header->clock, ticks, count, start_ns);
    ts__clock_times(clocks, header->clock, a, count, duration_ns);
    for (uint32_t i = 0; i < count; i++)
        duration_ns[i] -= start_ns[i];
    columns->start_ns = start_ns;
    columns->duration_ns = duration_ns;
    columns->start_ticks = ticks;
    return NULL;
}

// Values that must be u32: cut off, they would name something else.
static const char *ts__numbers_check(const uint64_t *values, uint32_t count)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < count; i++)
        all |= values[i];
    return all > UINT32_MAX ? "an identifier has more than 32 bits" : NULL;
}

// Decodes the columns that callers see to *at, which moves on.
static const char *ts__values_decode(const ts__columns *found, uint64_t **at,
                                     ts_columns *columns)
{
    const char *text = NULL;
    for (uint32_t i = 1; i < TS_COLUMN_LIMIT; i++) {
        if (!ts__column_shown(found, i)) continue;
        ts__column_decode(&found->column[i], found->count, *at);
        ts__submitted_decode(&found->column[i], found->count,
                             columns->values[TS_COLUMN_QUEUED], *at);
        if (!text && ts__columns_numbers >> i & 1)
            text = ts__numbers_check(*at, found->count);
        columns->values[i] = *at;
        *at += found->count;
    }
    return text;
}

static const char *ts__tracks_decode(const ts__columns *found, uint64_t **at,
                                     ts_columns *columns)
{
    uint64_t *const values = *at;
    uint32_t *const tracks = (uint32_t *)(values + found->count);
    ts__column_decode(&found->column[TS_COLUMN_TRACK], found->count, values);
    for (uint32_t i = 0; i < found->count; i++)
        tracks[i] = (uint32_t)values[i];
    columns->tracks = tracks;
    *at += 2 * (size_t)found->count;
    return ts__numbers_check(values, found->count);
}

static void ts__texts_decode(const ts__columns *found, uint64_t *at,
                             ts_columns *columns)
{
    const uint32_t count = found->count;
    const uint8_t *const data = found->column[TS_COLUMN_TEXT].data;
    const char **const texts = (const char **)(void *)at;
    uint32_t *const sizes = (uint32_t *)(void *)(at + count);
    const char *text = (const char *)data + (size_t)count * 4;
    for (uint32_t i = 0; i < count; i++) {
        sizes[i] = ts__get32(data + (size_t)i * 4);
        texts[i] = text;
        text += sizes[i];
    }
    columns->texts = texts;
    columns->text_sizes = sizes;
}

static uint64_t ts__decode_bytes(const ts_chunk_header *header,
                                 const ts__columns *found)
{
    uint64_t parts = TS__DECODE_FIXED;
    for (uint32_t i = 1; i < TS_COLUMN_LIMIT; i++)
        parts += ts__column_shown(found, i);
    if (header->track == TS_TRACK_MIXED) parts += 2;
    if (found->column[TS_COLUMN_TEXT].present) parts += 2;
    return parts * header->count * sizeof(uint64_t);
}

static ts__fault ts__decode_rows(const ts_reader *reader,
                                 const ts__clocks *clocks,
                                 const ts_chunk_header *header,
                                 const ts__columns *found, ts_columns *columns)
{
    const ts__fault too_much = { TS_ERR_UNSUPPORTED,
                                 "the chunk decodes to more than 1 GiB" };
    const uint64_t size = ts__decode_bytes(header, found);
    if (size > TS__DECODE_BYTES_MAX) return too_much;
    if (!ts__columns_fit(reader, columns, size ? size : 8))
        return ts__no_memory;
    uint64_t *at = columns->memory;
    const char *text = ts__times_decode(clocks, header, found, at, columns);
    at += TS__DECODE_FIXED * (size_t)header->count;
    if (!text) text = ts__values_decode(found, &at, columns);
    if (!text && header->track == TS_TRACK_MIXED)
        text = ts__tracks_decode(found, &at, columns);
    if (!text && found->column[TS_COLUMN_TEXT].present)
        ts__texts_decode(found, at, columns);
    return text ? ts__corrupt(text) : ts__fine;
}

// Empties the columns but keeps their memory.
static void ts__columns_reset(ts_columns *columns)
{
    const ts_columns kept = { .memory = columns->memory,
                              .memory_size = columns->memory_size,
                              .payload = columns->payload,
                              .payload_size = columns->payload_size };
    *columns = kept;
}

// Decodes a chunk of known events; reports nothing.
static ts__fault ts__decode(ts_reader *reader, const ts__clocks *clocks,
                            size_t index, ts_columns *columns)
{
    ts__in_chunk *const chunk = &reader->chunks[index];
    const ts_chunk_header *const header = &chunk->header;
    const uint8_t *payload;
    ts__columns found;
    ts__columns_reset(columns);
    ts__scratch scratch = { columns->payload, columns->payload_size };
    ts__fault fault = ts__in_chunk_payload(reader, chunk, &scratch, &payload);
    columns->payload = scratch.bytes;
    columns->payload_size = scratch.size;
    if (fault.result != TS_OK) return fault;
    if (!ts__in_chunk_timed(clocks, chunk))
        return ts__corrupt("the chunk's time is too far from its clock's");
    const char *const text =
        ts__columns_find(payload, header->raw_size, header->count, &found);
    if (text) return ts__corrupt(text);
    fault = ts__decode_rows(reader, clocks, header, &found, columns);
    if (fault.result != TS_OK) {
        ts__columns_reset(columns);
        return fault;
    }
    columns->kind = (ts_event_kind)header->event;
    columns->count = header->count;
    columns->track = header->track;
    columns->clock = header->clock;
    columns->chunk = index;
    return ts__fine;
}

TS_API ts_result ts_reader_decode(ts_reader *reader, size_t chunk,
                                  ts_columns *columns)
{
    if (chunk >= reader->chunk_count || !columns ||
        reader->chunks[chunk].header.kind != TS_CHUNK_EVENTS)
        return TS_ERR_USAGE;
    if (!ts__in_chunk_known(&reader->chunks[chunk].header)) {
        ts__columns_reset(columns);
        return TS_ERR_UNSUPPORTED;
    }
    const ts__fault fault = ts__decode(reader, reader->clocks, chunk, columns);
    return ts__in_chunk_report(reader, &reader->chunks[chunk], fault);
}

TS_API void ts_columns_close(ts_reader *reader, ts_columns *columns)
{
    if (!columns) return;
    ts__mem_put(&reader->allocator, columns->memory, columns->memory_size);
    ts__mem_put(&reader->allocator, columns->payload, columns->payload_size);
    memset(columns, 0, sizeof *columns);
}

/* ---- 7.15 Scan and verify ----------------------------------------------- */

static bool ts__filter_track(const ts_filter *filter, uint32_t track)
{
    if (!filter || !filter->tracks) return true;
    for (size_t i = 0; i < filter->track_count; i++)
        if (filter->tracks[i] == track) return true;
    return false;
}

static bool ts__filter_timed(const ts_filter *filter)
{
    return filter && (filter->from_ns || filter->to_ns);
}

// Whether a chunk may hold events of a filter.
static bool ts__in_chunk_wanted(const ts_reader *reader,
                                const ts_filter *filter,
                                const ts__in_chunk *chunk)
{
    const ts_chunk_header *const header = &chunk->header;
    if (!ts__in_chunk_known(header) || !header->count) return false;
    if (!filter) return true;
    if (filter->kinds && !(filter->kinds >> header->event & 1)) return false;
    if (header->track != TS_TRACK_MIXED &&
        !ts__filter_track(filter, header->track))
        return false;
    if (!ts__filter_timed(filter)) return true;
    const ts_chunk_info info = ts__in_chunk_describe(reader->clocks, chunk);
    return info.first_ns < filter->to_ns && info.last_ns >= filter->from_ns;
}

typedef struct ts__scan {
    ts_reader *reader;
    size_t *chunks;    // their indexes
    ts__fault *faults; // of each
    size_t count;
    ts_columns *columns; // of each thread
    uint32_t threads;
    void (*call)(const ts_columns *columns, uint32_t thread, void *user);
    void *user;
} ts__scan;

static void ts__scan_close(ts__scan *scan)
{
    const ts_allocator *const allocator = &scan->reader->allocator;
    const size_t room = scan->reader->chunk_count + 1;
    for (uint32_t i = 0; scan->columns && i < scan->threads; i++)
        ts_columns_close(scan->reader, &scan->columns[i]);
    ts__mem_put(allocator, scan->columns,
                scan->threads * sizeof *scan->columns);
    ts__mem_put(allocator, scan->chunks, room * sizeof *scan->chunks);
    ts__mem_put(allocator, scan->faults, room * sizeof *scan->faults);
}

static bool ts__scan_open(ts__scan *scan)
{
    const ts_allocator *const allocator = &scan->reader->allocator;
    const size_t room = scan->reader->chunk_count + 1;
    const size_t size = scan->threads * sizeof *scan->columns;
    scan->columns = ts__mem_get(allocator, size);
    scan->chunks = ts__mem_get(allocator, room * sizeof *scan->chunks);
    scan->faults = ts__mem_get(allocator, room * sizeof *scan->faults);
    if (scan->columns) memset(scan->columns, 0, size);
    return scan->columns && scan->chunks && scan->faults;
}

// Reports in the order of the file, whatever thread found it first.
static ts_result ts__scan_result(ts__scan *scan)
{
    ts_result first = TS_OK;
    for (size_t i = 0; i < scan->count; i++) {
        ts__in_chunk *const chunk = &scan->reader->chunks[scan->chunks[i]];
        const ts_result result =
            ts__in_chunk_report(scan->reader, chunk, scan->faults[i]);
        if (first == TS_OK) first = result;
    }
    return first;
}

static void ts__scan_chunk(void *user, size_t item, uint32_t thread)
{
    ts__scan *const scan = user;
    ts_columns *const columns = &scan->columns[thread];
    const ts__fault fault = ts__decode(scan->reader, scan->reader->clocks,
                                       scan->chunks[item], columns);
    scan->faults[item] = fault;
    if (fault.result == TS_OK) scan->call(columns, thread, scan->user);
}

TS_API ts_result ts_reader_scan(ts_reader *reader, const ts_filter *filter,
                                uint32_t threads,
                                void (*call)(const ts_columns *columns,
                                             uint32_t thread, void *user),
                                void *user)
{
    if (!threads) threads = reader->threads;
    if (threads > TS__THREADS_MAX) threads = TS__THREADS_MAX;
    ts__scan scan = {
        .reader = reader, .threads = threads, .call = call, .user = user
    };
    ts_result result = TS_ERR_MEMORY;
    if (ts__scan_open(&scan)) {
        for (size_t i = 0; i < reader->chunk_count; i++)
            if (ts__in_chunk_wanted(reader, filter, &reader->chunks[i]))
                scan.chunks[scan.count++] = i;
        ts__crew_run(threads, scan.count, ts__scan_chunk, &scan);
        result = ts__scan_result(&scan);
    }
    ts__scan_close(&scan);
    return result;
}

static ts__fault ts__blob_check(const ts_chunk_header *header,
                                const uint8_t *payload)
{
    if (header->raw_size < 16) return ts__corrupt("the blob has no hash");
    const XXH128_hash_t hash =
        XXH3_128bits(payload + 16, header->raw_size - 16);
    const bool same = hash.low64 == ts__get64(payload) &&
                      hash.high64 == ts__get64(payload + 8);
    return same ? ts__fine : ts__corrupt("the blob has another hash");
}

// Checks whatever this version can know about a chunk.
static void ts__verify_chunk(void *user, size_t item, uint32_t thread)
{
    ts__scan *const scan = user;
    ts_reader *const reader = scan->reader;
    ts__in_chunk *const chunk = &reader->chunks[scan->chunks[item]];
    ts_columns *const columns = &scan->columns[thread];
    ts__fault *const fault = &scan->faults[item];
    const uint8_t *payload = NULL;
    if (ts__in_chunk_known(&chunk->header)) {
        *fault =
            ts__decode(reader, reader->clocks, scan->chunks[item], columns);
        return;
    }
    ts__scratch scratch = { columns->payload, columns->payload_size };
    *fault = ts__in_chunk_unseal(reader, chunk);
    if (fault->result == TS_OK && ts__in_chunk_kind_known(chunk->header.kind))
        *fault = ts__in_chunk_payload(reader, chunk, &scratch, &payload);
    columns->payload = scratch.bytes;
    columns->payload_size = scratch.size;
    if (fault->result != TS_OK) return;
    if (ts__in_chunk_has_entries(&chunk->header))
        *fault = ts__entries_check(&chunk->header, payload);
    if (chunk->header.kind == TS_CHUNK_BLOB)
        *fault = ts__blob_check(&chunk->header, payload);
}

TS_API ts_result ts_reader_verify(ts_reader *reader)
{
    ts__scan scan = { .reader = reader, .threads = reader->threads };
    ts_result result = TS_ERR_MEMORY;
    ts_damage damage;
    if (ts__scan_open(&scan)) {
        for (; scan.count < reader->chunk_count; scan.count++)
            scan.chunks[scan.count] = scan.count;
        ts__crew_run(scan.threads, scan.count, ts__verify_chunk, &scan);
        result = ts__scan_result(&scan);
    }
    ts__scan_close(&scan);
    if (result == TS_ERR_MEMORY) return result;
    return ts_reader_damage(reader, 0, &damage) ? damage.result : result;
}

/* ---- 7.16 Blobs and pictures -------------------------------------------- */

static int ts__order_blob(const void *a, const void *b)
{
    const ts__blob *const x = a, *const y = b;
    if (x->hash[1] != y->hash[1]) return ts__order_u64(x->hash[1], y->hash[1]);
    if (x->hash[0] != y->hash[0]) return ts__order_u64(x->hash[0], y->hash[0]);
    return ts__order_u64(x->chunk, y->chunk);
}

// Adds a blob to the list. A compressed one has to be decompressed for that;
// of the others only the hash is read, and checked when they are asked for.
static ts_result ts__blob_add(ts_reader *reader, size_t index)
{
    ts__in_chunk *const chunk = &reader->chunks[index];
    const uint8_t *payload =
        reader->bytes + chunk->offset + sizeof chunk->header;
    ts__scratch scratch = { NULL, 0 };
    ts__fault fault = ts__fine;
    ts__blob *const blobs =
        ts__mem_more(&reader->allocator, reader->blobs, &reader->blob_capacity,
                     reader->blob_count, sizeof *blobs);
    if (!blobs) return TS_ERR_MEMORY;
    reader->blobs = blobs;
    if (chunk->header.flags & TS_CHUNK_ZSTD)
        fault = ts__in_chunk_payload(reader, chunk, &scratch, &payload);
    if (fault.result == TS_OK && chunk->header.raw_size >= 16) {
        ts__blob *const blob = &blobs[reader->blob_count++];
        blob->hash[0] = ts__get64(payload);
        blob->hash[1] = ts__get64(payload + 8);
        blob->chunk = index;
        blob->bytes = NULL;
    }
    ts__mem_put(&reader->allocator, scratch.bytes, scratch.size);
    return ts__in_chunk_report(reader, chunk, fault);
}

// Checks a blob and, if it is compressed, keeps it decompressed.
static ts_result ts__blob_open(ts_reader *reader, ts__blob *blob)
{
    ts__in_chunk *const chunk = &reader->chunks[blob->chunk];
    const uint8_t *payload;
    ts__scratch scratch = { NULL, 0 };
    ts__fault fault = ts__in_chunk_payload(reader, chunk, &scratch, &payload);
    if (fault.result == TS_OK) fault = ts__blob_check(&chunk->header, payload);
    if (fault.result == TS_OK && scratch.bytes) {
        uint8_t *const kept = ts__reader_keep(reader, chunk->header.raw_size);
        if (kept) memcpy(kept, payload, chunk->header.raw_size);
        if (!kept) fault = ts__no_memory;
        payload = kept;
    }
    ts__mem_put(&reader->allocator, scratch.bytes, scratch.size);
    if (fault.result == TS_OK) blob->bytes = payload + 16;
    return ts__in_chunk_report(reader, chunk, fault);
}

static ts_result ts__blobs_list(ts_reader *reader)
{
    const size_t before = reader->blob_count;
    for (; reader->blobs_listed < reader->chunk_count; reader->blobs_listed++) {
        const size_t index = reader->blobs_listed;
        if (reader->chunks[index].header.kind != TS_CHUNK_BLOB) continue;
        if (ts__blob_add(reader, index) == TS_ERR_MEMORY) return TS_ERR_MEMORY;
    }
    if (reader->blob_count > before)
        ts__sort(reader->blobs, reader->blob_count, sizeof *reader->blobs,
                 ts__order_blob);
    return TS_OK;
}

// The first blob of a hash that can be read.
static ts_result ts__blob_find(ts_reader *reader, const uint64_t hash[2],
                               ts__blob **found)
{
    size_t low = 0, high = reader->blob_count;
    ts_result result = TS_ERR_NOT_FOUND;
    const ts__blob wanted = { { hash[0], hash[1] }, 0, NULL };
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ts__order_blob(&reader->blobs[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < reader->blob_count; low++) {
        ts__blob *const blob = &reader->blobs[low];
        if (blob->hash[0] != hash[0] || blob->hash[1] != hash[1]) break;
        result = blob->bytes ? TS_OK : ts__blob_open(reader, blob);
        *found = blob;
        if (result == TS_OK || result == TS_ERR_MEMORY) break;
    }
    return result;
}

TS_API ts_result ts_reader_blob(ts_reader *reader, const uint64_t hash[2],
                                const void **bytes, size_t *size)
{
    ts__blob *blob = NULL;
    *bytes = NULL;
    *size = 0;
    pthread_mutex_lock(&reader->blob_lock);
    ts_result result = ts__blobs_list(reader);
    if (result == TS_OK) result = ts__blob_find(reader, hash, &blob);
    if (result == TS_OK) {
        *bytes = blob->bytes;
        *size = reader->chunks[blob->chunk].header.raw_size - 16;
    }
    pthread_mutex_unlock(&reader->blob_lock);
    return result;
}

static ts_lod_cell ts__lod_cell(const uint8_t *bytes, bool counter)
{
    ts_lod_cell cell = { 0 };
    if (counter) {
        memcpy(&cell.min, bytes, sizeof cell.min);
        memcpy(&cell.max, bytes + 4, sizeof cell.max);
        return cell;
    }
    cell.id = ts__get32(bytes);
    memcpy(&cell.busy, bytes + 4, sizeof cell.busy);
    memcpy(&cell.count, bytes + 6, sizeof cell.count);
    return cell;
}

TS_API bool ts_reader_lod(const ts_reader *reader, size_t chunk,
                          ts_lod_cell cells[TS_LOD_CELLS])
{
    if (chunk >= reader->chunk_count || !reader->chunks[chunk].lod)
        return false;
    const ts__in_chunk *const from = &reader->chunks[chunk];
    const bool counter = from->header.event == TS_EVENT_COUNTER &&
                         from->header.track != TS_TRACK_MIXED;
    for (size_t i = 0; i < TS_LOD_CELLS; i++)
        cells[i] = ts__lod_cell(from->lod + i * 8, counter);
    return true;
}

/* ---- 7.17 Cursor -------------------------------------------------------- */

/*
    Chunks wait in the order of their first event. When time reaches one, it
    is decoded, its rows are put in order and it becomes a run; a heap gives
    the run whose next event comes first.
*/
typedef struct ts__run {
    struct ts__run *next_free;
    ts_columns columns;
    uint32_t *rows; // in order; then as much room for sorting
    size_t room;
    uint32_t count, next;
} ts__run;

typedef struct ts__head { // the next event of a run
    int64_t start, duration;
    uint32_t track, row;
    ts__run *run;
} ts__head;

typedef struct ts__waiting {
    int64_t first;
    size_t chunk;
} ts__waiting;

struct ts_cursor {
    ts_reader *reader;
    ts__clocks *clocks; // those of the time of the open
    ts_filter filter;
    uint32_t *tracks; // of the filter, sorted
    ts__waiting *waiting;
    size_t waiting_count, waiting_room, waiting_next;
    ts__head *heads;
    size_t head_count, head_room;
    ts__run *runs;  // without events, to be used again
    ts__run *spent; // its last event is in the caller's hands
    ts_result result;
};

static int ts__order_waiting(const void *a, const void *b)
{
    const ts__waiting *const x = a, *const y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return ts__order_u64(x->chunk, y->chunk);
}

static int ts__order_track(const void *a, const void *b)
{
    const uint32_t *const x = a, *const y = b;
    return ts__order_u64(*x, *y);
}

static inline uint32_t ts__row_track(const ts_columns *columns, uint32_t row)
{
    return columns->tracks ? columns->tracks[row] : columns->track;
}

// The order of two rows of a chunk. A zone stands behind those inside it.
static inline bool ts__row_before(const ts_columns *columns, uint32_t a,
                                  uint32_t b)
{
    const int64_t start_a = columns->start_ns[a];
    const int64_t start_b = columns->start_ns[b];
    if (start_a != start_b) return start_a < start_b;
    const uint32_t track_a = ts__row_track(columns, a);
    const uint32_t track_b = ts__row_track(columns, b);
    if (track_a != track_b) return track_a < track_b;
    const int64_t duration_a = columns->duration_ns[a];
    const int64_t duration_b = columns->duration_ns[b];
    if (duration_a != duration_b) return duration_a > duration_b;
    return columns->kind == TS_EVENT_ZONE ? a > b : a < b;
}

// The same for the heads of two runs.
static bool ts__head_before(const ts__head *a, const ts__head *b)
{
    if (a->start != b->start) return a->start < b->start;
    if (a->track != b->track) return a->track < b->track;
    if (a->duration != b->duration) return a->duration > b->duration;
    const ts_columns *const x = &a->run->columns, *const y = &b->run->columns;
    if (x->kind != y->kind) return x->kind < y->kind;
    if (x->kind == TS_EVENT_ZONE) return x->chunk > y->chunk;
    return x->chunk < y->chunk;
}

static void ts__heap_down(ts_cursor *cursor)
{
    ts__head *const heads = cursor->heads;
    const ts__head moved = heads[0];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= cursor->head_count) break;
        if (child + 1 < cursor->head_count &&
            ts__head_before(&heads[child + 1], &heads[child]))
            child++;
        if (!ts__head_before(&heads[child], &moved)) break;
        heads[at] = heads[child];
        at = child;
    }
    heads[at] = moved;
}

static void ts__heap_add(ts_cursor *cursor, ts__head head)
{
    ts__head *const heads = cursor->heads;
    size_t at = cursor->head_count++;
    while (at > 0 && ts__head_before(&head, &heads[(at - 1) / 2])) {
        heads[at] = heads[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heads[at] = head;
}

static ts__head ts__run_head(ts__run *run)
{
    const ts_columns *const columns = &run->columns;
    const uint32_t row = run->rows[run->next++];
    const ts__head head = { columns->start_ns[row], columns->duration_ns[row],
                            ts__row_track(columns, row), row, run };
    return head;
}

static bool ts__cursor_row_wanted(const ts_cursor *cursor,
                                  const ts_columns *columns, uint32_t row)
{
    const ts_filter *const filter = &cursor->filter;
    if (columns->tracks && filter->tracks &&
        !bsearch(&columns->tracks[row], filter->tracks, filter->track_count,
                 sizeof *filter->tracks, ts__order_track))
        return false;
    if (!ts__filter_timed(filter)) return true;
    const int64_t start = columns->start_ns[row];
    const int64_t end = start + columns->duration_ns[row];
    if (start >= filter->to_ns) return false;
    return end > filter->from_ns || start >= filter->from_ns;
}

static void ts__rows_merge(const ts_columns *columns, const uint32_t *from,
                           size_t low, size_t middle, size_t high, uint32_t *to)
{
    size_t a = low, b = middle;
    for (size_t i = low; i < high; i++) {
        const bool right =
            a == middle ||
            (b < high && ts__row_before(columns, from[b], from[a]));
        to[i] = right ? from[b++] : from[a++];
    }
}

static bool ts__rows_sorted(const ts_columns *columns, const uint32_t *rows,
                            size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (ts__row_before(columns, rows[i], rows[i - 1])) return false;
    return true;
}

// Merges; `spare` is as large as `rows`.
static void ts__rows_sort(const ts_columns *columns, uint32_t *rows,
                          uint32_t *spare, size_t count)
{
    uint32_t *from = rows, *to = spare;
    if (ts__rows_sorted(columns, rows, count)) return;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t low = 0; low < count; low += 2 * width) {
            const size_t middle = low + width < count ? low + width : count;
            const size_t high = middle + width < count ? middle + width : count;
            ts__rows_merge(columns, from, low, middle, high, to);
        }
        uint32_t *const kept = from;
        from = to;
        to = kept;
    }
    if (from != rows) memcpy(rows, from, count * sizeof *rows);
}

enum { TS__DIGIT_BITS = 11, TS__DIGITS = 1 << TS__DIGIT_BITS };

// One pass of a radix sort by a digit of start_ns - least.
static void ts__rows_deal(const int64_t *start_ns, int64_t least,
                          uint32_t shift, const uint32_t *from, uint32_t *to,
                          size_t count)
{
    uint32_t places[TS__DIGITS + 1] = { 0 };
#define TS__DIGIT(row) \
    ((uint64_t)(start_ns[row] - least) >> shift & (TS__DIGITS - 1))
    for (size_t i = 0; i < count; i++)
        places[TS__DIGIT(from[i]) + 1]++;
    for (size_t i = 1; i < TS__DIGITS; i++)
        places[i] += places[i - 1];
    for (size_t i = 0; i < count; i++)
        to[places[TS__DIGIT(from[i])]++] = from[i];
#undef TS__DIGIT
}

// Sorts by start, which for most chunks takes two passes, then what is equal.
static void ts__rows_radix(const ts_columns *columns, uint32_t *rows,
                           uint32_t *spare, size_t count)
{
    const int64_t *const start_ns = columns->start_ns;
    int64_t least = INT64_MAX, most = INT64_MIN;
    uint32_t *from = rows, *to = spare;
    for (size_t i = 0; i < count; i++) {
        if (start_ns[rows[i]] < least) least = start_ns[rows[i]];
        if (start_ns[rows[i]] > most) most = start_ns[rows[i]];
    }
    const uint64_t range = (uint64_t)(most - least);
    for (uint32_t shift = 0; shift < 64 && range >> shift;
         shift += TS__DIGIT_BITS) {
        ts__rows_deal(start_ns, least, shift, from, to, count);
        uint32_t *const kept = from;
        from = to;
        to = kept;
    }
    if (from != rows) memcpy(rows, from, count * sizeof *rows);
    for (size_t i = 0, next; i < count; i = next) {
        next = i + 1;
        while (next < count && start_ns[rows[next]] == start_ns[rows[i]])
            next++;
        if (next - i > 1) ts__rows_sort(columns, rows + i, spare, next - i);
    }
}

// Sorts run->rows; there is as much room behind them.
static void ts__run_sort(ts__run *run)
{
    const ts_columns *const columns = &run->columns;
    if (ts__rows_sorted(columns, run->rows, run->count)) return;
    if (run->count < TS__DIGITS)
        ts__rows_sort(columns, run->rows, run->rows + run->count, run->count);
    else
        ts__rows_radix(columns, run->rows, run->rows + run->count, run->count);
}

static bool ts__run_rows(ts_cursor *cursor, ts__run *run)
{
    const ts_allocator *const allocator = &cursor->reader->allocator;
    const ts_columns *const columns = &run->columns;
    const size_t room = 2 * (size_t)columns->count;
    run->count = run->next = 0;
    if (room > run->room) {
        ts__mem_put(allocator, run->rows, run->room * sizeof *run->rows);
        run->rows = ts__mem_get(allocator, room * sizeof *run->rows);
        run->room = run->rows ? room : 0;
        if (!run->rows) return false;
    }
    for (uint32_t i = 0; i < columns->count; i++)
        if (ts__cursor_row_wanted(cursor, columns, i))
            run->rows[run->count++] = i;
    ts__run_sort(run);
    return true;
}

static ts__run *ts__run_get(ts_cursor *cursor)
{
    ts__run *run = cursor->runs;
    if (run) {
        cursor->runs = run->next_free;
        return run;
    }
    run = ts__mem_get(&cursor->reader->allocator, sizeof *run);
    if (run) memset(run, 0, sizeof *run);
    return run;
}

static void ts__run_put(ts_cursor *cursor, ts__run *run)
{
    run->next_free = cursor->runs;
    cursor->runs = run;
}

// Time has reached a chunk: makes it a run, unless it is damaged or nothing
// of it is wanted.
static ts_result ts__run_open(ts_cursor *cursor, size_t chunk)
{
    ts_reader *const reader = cursor->reader;
    ts__head *const heads =
        ts__mem_more(&reader->allocator, cursor->heads, &cursor->head_room,
                     cursor->head_count, sizeof *heads);
    if (!heads) return TS_ERR_MEMORY;
    cursor->heads = heads;
    ts__run *const run = ts__run_get(cursor);
    if (!run) return TS_ERR_MEMORY;
    const ts__fault fault =
        ts__decode(reader, cursor->clocks, chunk, &run->columns);
    ts_result result =
        ts__in_chunk_report(reader, &reader->chunks[chunk], fault);
    if (result == TS_OK && !ts__run_rows(cursor, run)) result = TS_ERR_MEMORY;
    if (result == TS_OK && run->count > 0)
        ts__heap_add(cursor, ts__run_head(run));
    else
        ts__run_put(cursor, run);
    return result;
}

// Opens every chunk whose events may come before the first of the heap.
static bool ts__cursor_reach(ts_cursor *cursor)
{
    while (cursor->waiting_next < cursor->waiting_count) {
        const ts__waiting *const next = &cursor->waiting[cursor->waiting_next];
        if (cursor->head_count && next->first > cursor->heads[0].start)
            return true;
        const ts_result result = ts__run_open(cursor, next->chunk);
        if (cursor->result == TS_OK) cursor->result = result;
        if (result == TS_ERR_MEMORY) return false;
        cursor->waiting_next++;
    }
    return true;
}

TS_API bool ts_cursor_next(ts_cursor *cursor, ts_event *event)
{
    if (cursor->spent) ts__run_put(cursor, cursor->spent);
    cursor->spent = NULL;
    if (!ts__cursor_reach(cursor) || !cursor->head_count) return false;
    const ts__head head = cursor->heads[0];
    ts__run *const run = head.run;
    event->kind = run->columns.kind;
    event->track = head.track;
    event->start_ns = head.start;
    event->duration_ns = head.duration;
    event->columns = &run->columns;
    event->row = head.row;
    if (run->next < run->count) {
        cursor->heads[0] = ts__run_head(run);
    } else {
        cursor->spent = run;
        cursor->heads[0] = cursor->heads[--cursor->head_count];
    }
    if (cursor->head_count) ts__heap_down(cursor);
    return true;
}

TS_API ts_result ts_cursor_result(const ts_cursor *cursor)
{
    return cursor->result;
}

// Copies the filter; its tracks get sorted.
static bool ts__cursor_filter(ts_cursor *cursor, const ts_filter *filter)
{
    if (!filter) return true;
    cursor->filter = *filter;
    if (!filter->tracks) return true;
    const size_t size = (filter->track_count + 1) * sizeof *filter->tracks;
    cursor->tracks = ts__mem_get(&cursor->reader->allocator, size);
    if (!cursor->tracks) return false;
    memcpy(cursor->tracks, filter->tracks,
           filter->track_count * sizeof *filter->tracks);
    ts__sort(cursor->tracks, filter->track_count, sizeof *filter->tracks,
             ts__order_track);
    cursor->filter.tracks = cursor->tracks;
    return true;
}

static bool ts__cursor_wait(ts_cursor *cursor)
{
    const ts_reader *const reader = cursor->reader;
    cursor->waiting_room = reader->chunk_count + 1;
    cursor->waiting = ts__mem_get(
        &reader->allocator, cursor->waiting_room * sizeof *cursor->waiting);
    if (!cursor->waiting) return false;
    for (size_t i = 0; i < reader->chunk_count; i++) {
        const ts__in_chunk *const chunk = &reader->chunks[i];
        if (!ts__in_chunk_wanted(reader, &cursor->filter, chunk)) continue;
        const ts__waiting one = {
            ts__in_chunk_describe(cursor->clocks, chunk).first_ns, i
        };
        cursor->waiting[cursor->waiting_count++] = one;
    }
    ts__sort(cursor->waiting, cursor->waiting_count, sizeof *cursor->waiting,
             ts__order_waiting);
    return true;
}

TS_API ts_result ts_cursor_open(ts_cursor **out, ts_reader *reader,
                                const ts_filter *filter)
{
    *out = NULL;
    ts_cursor *const cursor = ts__mem_get(&reader->allocator, sizeof *cursor);
    if (!cursor) return TS_ERR_MEMORY;
    memset(cursor, 0, sizeof *cursor);
    cursor->reader = reader;
    cursor->clocks = reader->clocks;
    __atomic_add_fetch(&cursor->clocks->cursors, 1, __ATOMIC_RELAXED);
    if (ts__cursor_filter(cursor, filter) && ts__cursor_wait(cursor)) {
        *out = cursor;
        return TS_OK;
    }
    ts_cursor_close(cursor);
    return TS_ERR_MEMORY;
}

static void ts__run_free(ts_cursor *cursor, ts__run *run)
{
    const ts_allocator *const allocator = &cursor->reader->allocator;
    if (!run) return;
    ts_columns_close(cursor->reader, &run->columns);
    ts__mem_put(allocator, run->rows, run->room * sizeof *run->rows);
    ts__mem_put(allocator, run, sizeof *run);
}

TS_API void ts_cursor_close(ts_cursor *cursor)
{
    if (!cursor) return;
    const ts_allocator *const allocator = &cursor->reader->allocator;
    __atomic_sub_fetch(&cursor->clocks->cursors, 1, __ATOMIC_RELAXED);
    for (size_t i = 0; i < cursor->head_count; i++)
        ts__run_free(cursor, cursor->heads[i].run);
    ts__run_free(cursor, cursor->spent);
    while (cursor->runs) {
        ts__run *const run = cursor->runs;
        cursor->runs = run->next_free;
        ts__run_free(cursor, run);
    }
    ts__mem_put(allocator, cursor->heads,
                cursor->head_room * sizeof *cursor->heads);
    ts__mem_put(allocator, cursor->waiting,
                cursor->waiting_room * sizeof *cursor->waiting);
    if (cursor->tracks)
        ts__mem_put(allocator, cursor->tracks,
                    (cursor->filter.track_count + 1) * sizeof *cursor->tracks);
    ts__mem_put(allocator, cursor, sizeof *cursor);
}

TS_API ts_text ts_event_label(const ts_reader *reader, const ts_event *event)
{
    ts_text text = { "", 0 };
    ts_track track;
    const ts_launch_entry *launch;
    const uint32_t site = (uint32_t)ts_event_value(event, TS_COLUMN_SITE);
    switch (event->kind) {
    case TS_EVENT_KERNEL:
        launch = ts_reader_launch(
            reader, (uint32_t)ts_event_value(event, TS_COLUMN_LAUNCH));
        if (launch) text = ts_reader_name(reader, launch->name);
        break;
    case TS_EVENT_ZONE_ARG:
    case TS_EVENT_API_CALL:
    case TS_EVENT_HOST_FUNCTION:
    case TS_EVENT_COLLECTIVE:
        text = ts_reader_name(reader,
                              (uint32_t)ts_event_value(event, TS_COLUMN_NAME));
        break;
    case TS_EVENT_COUNTER:
        if (ts_reader_track(reader, event->track, &track)) text = track.name;
        break;
    case TS_EVENT_ZONE:
    case TS_EVENT_ZONE_OPEN:
    case TS_EVENT_MARK:
    case TS_EVENT_FRAME:
    case TS_EVENT_SPAN: text = ts_reader_site_name(reader, site); break;
    default: break;
    }
    if (text.size) return text;
    text.text = ts_event_name(event->kind);
    text.size = strlen(text.text);
    return text;
}

#endif // TRACESMITH_REPLAY_IMPLEMENTATION
