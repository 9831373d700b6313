/* ==== 10. Implementation ================================================= */

#if defined(TRACESMITH_REPLAY_IMPLEMENTATION) && \
    !defined(TS__REPLAY_IMPLEMENTED)
#define TS__REPLAY_IMPLEMENTED

#ifdef __cplusplus
#error "tracesmith_replay.h: the implementation is C11, compile it as C"
#endif

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "tracesmith.h" // ts_salvage, if the recorder's functions are here

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

        bytes (read)   --> index, or walk from chunk to chunk
                               |
                               v
        chunk table:  header, offset, "sealed" once its checksum was seen
            |                  |
            | at open          | when asked for, on any thread
            v                  v
        dictionaries,      ts_columns (one chunk decoded) --> cursor: a heap
        clocks, losses                                        of open chunks

    The rule for hostile bytes: every number from the file is compared with
    what is left before it is used, nothing is read from a chunk before its
    checksum was right, and what is checked is a copy that nobody changes.
*/

/* ---- 10.1 Memory, sorting, threads -------------------------------------- */

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
static const ts__fault ts__too_large = {
    TS_ERR_UNSUPPORTED, "the compressed chunk is larger than is inflated"
};

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

/* ---- 10.2 The reader's state -------------------------------------------- */

enum { TS__CHUNK_SEALED = 1, TS__CHUNK_REPORTED = 2 };

typedef struct ts__in_chunk {
    ts_chunk_header header;
    uint64_t offset;
    const uint8_t *lod; // its cells in an index part; NULL: none
    uint8_t state;      // TS__CHUNK_..., changed by any thread
} ts__in_chunk;

typedef struct ts__kept { // memory that goes with others
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

typedef struct ts__loss_seen {
    uint32_t track, clock;
    ts_loss_entry entry;
} ts__loss_seen;

typedef struct ts__part { // of the index
    uint64_t offset;
    const uint8_t *entries;
    uint32_t count;
} ts__part;

typedef struct ts__blob {
    uint64_t hash[2];
    size_t chunk;
    const uint8_t *bytes; // NULL: nobody has asked for it yet
    uint32_t age;         // of a copy, from 1; 0: it is none
} ts__blob;

// By kind of chunk; clock, metadata and loss are no tables.
enum { TS__TABLES = TS_CHUNK_SYMBOLS + 1 };

static bool ts__is_table(uint32_t kind)
{
    return (kind >= TS_CHUNK_NAMES && kind <= TS_CHUNK_STACKS) ||
           kind == TS_CHUNK_SYMBOLS;
}

typedef struct ts__image_place {
    uint32_t id, index;
} ts__image_place;

struct ts_reader {
    ts_allocator allocator;
    ts_reader_desc desc;
    uint32_t threads;
    char *path;
    size_t path_size;
    int fd;

    const uint8_t *bytes; // NULL: they are in a file
    uint64_t size;
    uint8_t *piped; // what a pipe gave
    size_t piped_size;
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
    uint32_t *symbols; // items of their table, by module and offset
    size_t symbol_count;
    ts__sample *samples;
    size_t sample_count, sample_capacity;
    ts__clocks *clocks;
    ts__fact *facts;
    size_t fact_count, fact_capacity;
    ts__loss_seen *lost;
    size_t lost_count, lost_capacity;
    ts_loss_row *losses;
    size_t loss_count, losses_size;

    pthread_mutex_t blob_lock; // of the list of blobs
    ts__blob *blobs;           // sorted by hash
    size_t blob_count, blob_capacity, blobs_listed;
    ts__kept *copies;           // of blobs
    uint32_t copies_age;        // from 1, grows when they are freed
    uint64_t captures_inflated; // bytes
    ts_capture *captures;       // likewise; in order of the file
    size_t capture_count, capture_capacity;
    ts_capture_image *images;
    size_t image_count, image_capacity, captures_listed;
    ts__image_place *image_places; // by id, of the first `images_sorted`
    size_t images_sorted;

    pthread_mutex_t lock; // of the damage list
    ts_damage *damages;
    size_t damage_count, damage_capacity;

    ts_info info;
};

// Memory that goes with others, all at once.
static void *ts__kept_add(const ts_allocator *allocator, ts__kept **all,
                          size_t size)
{
    const size_t total = sizeof(ts__kept) + size;
    ts__kept *const block = ts__mem_get(allocator, total);
    if (!block) return NULL;
    block->older = *all;
    block->size = total;
    *all = block;
    return block + 1;
}

static void ts__kept_free(const ts_allocator *allocator, ts__kept **all)
{
    while (*all) {
        ts__kept *const block = *all;
        *all = block->older;
        ts__mem_put(allocator, block, block->size);
    }
}

// Memory for as long as the reader lives.
static void *ts__reader_keep(ts_reader *reader, size_t size)
{
    return ts__kept_add(&reader->allocator, &reader->blocks, size);
}

/* ---- 10.3 Damage -------------------------------------------------------- */

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
    bool noted =
        __atomic_load_n(&chunk->state, __ATOMIC_RELAXED) & TS__CHUNK_REPORTED;
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
