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
