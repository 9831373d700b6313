/* ---- Reader: state ------------------------------------------------------ */

// ts__in_chunk.state. VERIFIED: the checksum is verified. REPORTED: the chunk
// is in the list of damages.
enum { TS__CHUNK_VERIFIED = 1, TS__CHUNK_REPORTED = 2 };

// A chunk of the trace.
typedef struct ts__in_chunk {
    ts_chunk_header header;
    uint64_t offset;
    const uint8_t
        *lod;      // cells of its picture, in a part of the index; NULL: none
    uint8_t state; // bits TS__CHUNK_..., set by any thread
} ts__in_chunk;

// Header of a memory block in a list that is freed as a whole.
typedef struct ts__memory_block {
    struct ts__memory_block *older;
    size_t size;
} ts__memory_block;

// An entry of a dictionary: an aligned copy.
typedef struct ts__item {
    uint32_t id, size;
    const uint8_t *body; // followed by a zero byte
} ts__item;

// A dictionary.
typedef struct ts__table {
    ts__item *items; // sorted by id, once finished
    size_t count, capacity;
    uint32_t *dense; // by id: position + 1; 0: none. NULL: ids are too sparse
    size_t dense_size;
} ts__table;

// A sample of a clock.
typedef struct ts__sample {
    uint32_t clock, order; // order: position in the file
    uint64_t offset;       // of its chunk
    bool backwards;        // the clock ran backwards, which was reported
    ts_clock_entry entry;
} ts__sample;

// A linear segment of a clock: ns = raw + (tick - start) * ns / ticks.
typedef struct ts__segment {
    uint64_t start;
    int64_t raw;
    uint64_t ticks, ns;
    // for 0 <= tick - start < span: see ts__segment_near
    uint64_t span, time, whole, rest, inverse;
} ts__segment;

typedef struct ts__clock {
    uint32_t id;
    uint32_t first, count; // segments
} ts__clock;

// The Unix time at a sample of clock 0.
typedef struct ts__realtime {
    int64_t raw;
    uint64_t realtime;
} ts__realtime;

// The clocks of a trace. Immutable: a refresh builds a new set.
typedef struct ts__clocks {
    struct ts__clocks *older; // sets that cursors still used when replaced
    size_t memory_size;
    ts__clock *clocks;
    ts__segment *segments;
    ts__realtime *realtimes;
    uint32_t clock_count, segment_count, realtime_count;
    uint32_t cursors; // that use this set
    int64_t base;     // raw time of trace time 0
    bool estimated;   // a frequency was assumed
} ts__clocks;

// An entry of the metadata.
typedef struct ts__metadata_row {
    uint32_t track, order;
    ts_metadata_entry entry;
} ts__metadata_row;

// An entry of the loss ledger.
typedef struct ts__loss_seen {
    uint32_t track, clock;
    ts_loss_entry entry;
} ts__loss_seen;

// A part of the index.
typedef struct ts__index_part {
    uint64_t offset;
    const uint8_t *entries;
    uint32_t count;
} ts__index_part;

// The top of the index; the pointers are into its payload.
typedef struct ts__in_top {
    ts_top_header header;
    const uint8_t *kinds, *rows, *cells, *dictionary;
    uint64_t offset;
    bool used;          // the reader was opened with it alone
    uint8_t table_read; // the table of chunks was read since; atomic
} ts__in_top;

typedef struct ts__blob {
    uint64_t hash[2];
    size_t chunk;
    const uint8_t *bytes; // NULL: not read yet
    // `bytes` is a copy that is valid while this equals ts_reader.copies_age;
    // 0: it is not a copy
    uint32_t age;
} ts__blob;

// Tables are indexed by kind of chunk. Clocks, metadata and losses are kept in
// other ways.
enum { TS__TABLES = TS_CHUNK_SYMBOLS + 1 };

static bool ts__is_table(uint32_t kind)
{
    return (kind >= TS_CHUNK_NAMES && kind <= TS_CHUNK_STACKS) ||
           kind == TS_CHUNK_SYMBOLS;
}

// Index of a code image by its id.
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

    const uint8_t *bytes; // the trace in memory; NULL: it is in a file
    uint64_t size;
    uint8_t *piped; // the bytes of a pipe
    size_t piped_size;
    ts__memory_block *blocks; // freed with the reader

    ts_file_header header;
    bool header_damaged, session_known;
    uint32_t session; // the session number in chunk headers

    ts__in_chunk *chunks;
    size_t chunk_count, chunk_capacity;
    size_t loaded; // chunks whose dictionaries are loaded
    ts__index_part *parts;
    size_t part_count, part_capacity, parts_used;
    bool parts_begun;               // some were read, from the last on
    uint64_t part_next, part_limit; // the next one, which ends before this
    ts__in_top top;
    ts__mutex table_lock; // guards the reading of the table after the open
    uint64_t resume;      // offset at which the next walk continues
    uint64_t sequence;    // expected number of the next chunk
    uint64_t search;      // budget: bytes that searches may still hash
    bool after_damage, tail_damage;

    ts__table tables[TS__TABLES];
    uint32_t *symbols; // positions in their table, by module and offset
    size_t symbol_count;
    ts__sample *samples;
    size_t sample_count, sample_capacity;
    ts__clocks *clocks;
    ts__metadata_row *metadata;
    size_t metadata_count, metadata_capacity;
    ts__loss_seen *lost;
    size_t lost_count, lost_capacity;
    ts_loss_row *losses;
    size_t loss_count, losses_size;

    ts__mutex blob_lock; // guards blobs, captures and images
    ts__blob *blobs;     // sorted by hash
    size_t blob_count, blob_capacity, blobs_listed;
    ts__memory_block *copies;   // contents of blobs
    uint32_t copies_age;        // from 1, incremented when they are freed
    uint64_t captures_inflated; // bytes decompressed for captures
    ts_capture *captures;       // in the order of the file
    size_t capture_count, capture_capacity;
    ts_capture_image *images;
    size_t image_count, image_capacity, captures_listed;
    ts__image_place *image_places; // by id, of the first `images_sorted`
    size_t images_sorted;

    ts__mutex lock; // guards the list of damages
    ts_damage *damages;
    size_t damage_count, damage_capacity;

    ts_info info;
};

// Allocates a block of a list that is freed as a whole. NULL on failure.
static void *ts__memory_block_add(const ts_allocator *allocator,
                                  ts__memory_block **all, size_t size)
{
    const size_t total = sizeof(ts__memory_block) + size;
    ts__memory_block *const block = ts__mem_get(allocator, total);
    if (!block) return NULL;
    block->older = *all;
    block->size = total;
    *all = block;
    return block + 1;
}

static void ts__memory_blocks_free(const ts_allocator *allocator,
                                   ts__memory_block **all)
{
    while (*all) {
        ts__memory_block *const block = *all;
        *all = block->older;
        ts__mem_put(allocator, block, block->size);
    }
}

// Allocates memory that is freed with the reader.
static void *ts__reader_keep(ts_reader *reader, size_t size)
{
    return ts__memory_block_add(&reader->allocator, &reader->blocks, size);
}
