/* ---- Reader: state ------------------------------------------------------ */

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
