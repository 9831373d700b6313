/* ---- Writer: state ------------------------------------------------------ */

#if defined(TRACESMITH_IMPLEMENTATION) && !defined(TRACESMITH_DISABLE) && \
    defined(TRACESMITH_WRITER) && !defined(TS__WRITER_IMPLEMENTED)
#define TS__WRITER_IMPLEMENTED

/*
    Events wait as rows of u64 cells, one list for each kind on each track,
    until there are enough for a chunk or the memory for all rows is used up.
    Then they go through the recorder's encoder and writer, whose state lies in
    private memory instead of a sidecar, as for a dump.
*/
#define TS__PUT_MEMORY  (64u << 20)         // for all rows
#define TS__PUT_EPOCH   (UINT64_C(1) << 62) // the tick of trace time 0
#define TS__PUT_FAR     (INT64_C(1) << 61)
#define TS__PUT_ENTRIES (256u << 10) // bytes of one dictionary held back
enum { TS__PUT_FEW = 64 };   // fewer rows are not worth a chunk of their own
enum { TS__PUT_MANY = 512 }; // rows that become a chunk without waiting

typedef struct ts__put_rows {
    uint64_t *cells; // `capacity` rows; a text's cell: offset << 32 | size
    uint8_t *text;
    uint32_t track, kind;
    uint32_t count, capacity;
    uint32_t text_used, text_capacity;
    uint64_t bad; // events left out
} ts__put_rows;

// Entries of one kind for the next chunk, which is built in this buffer.
typedef struct ts__put_list {
    uint8_t *bytes;
    size_t size, capacity;
    uint32_t count;
} ts__put_list;

typedef struct ts__put_known { // an entry by the hash of kind and contents
    uint64_t low, high;
    uint32_t id; // 0: free
} ts__put_known;

typedef struct ts__put_crew ts__put_crew;

struct ts_writer {
    ts__writer file;
    ts__encoder *encoder; // of the next chunk
    ts__put_crew *crew;   // NULL: no other thread encodes
    pid_t process;        // the only one that may write
    char path[TS__PATH_MAX], part_path[TS__PATH_MAX + 8];
    // Dictionaries.
    ts__put_known *known;
    uint32_t known_mask, known_count;
    uint32_t last_id[TS_CHUNK_BLOB + 1];
    ts__put_list lists[TS_CHUNK_SYMBOLS + 1]; // by kind of chunk
    uint64_t end; // extended: where the end chunk was; 0: not extended
    ts_chunk_header end_chunk;
    // Rows.
    uint8_t width[TS_EVENT_LIMIT]; // cells of a row, 0: no such kind
    uint8_t cell[TS_EVENT_LIMIT][TS_COLUMN_LIMIT]; // 255: none
    ts__put_rows *rows;
    uint32_t rows_count, rows_capacity, rows_last;
    uint32_t *table; // of positions in rows, + 1
    uint32_t table_mask;
    uint64_t memory;    // that rows take
    uint64_t start_raw; // CLOCK_MONOTONIC_RAW at trace time 0
    // One chunk's rows on their way to the encoder.
    const uint64_t *line[TS__BATCH_ROWS];
    const ts__put_rows *owner[TS__BATCH_ROWS];
    uint64_t key[TS__BATCH_ROWS];
    uint16_t order[2][TS__BATCH_ROWS];
};

// Keeps the first error. One of a chunk that waits is an earlier one than that
// of the call.
static void ts__put_failed(ts_writer *w, ts_result result);

// Whether this is a child made by fork, which has neither the workers nor a
// right to the file.
static bool ts__put_inherited(const ts_writer *w)
{
    return w->process != getpid();
}

// Ends the workers and frees their memory: from now on the caller does it all.
static void ts__put_alone(ts_writer *w);

// Like realloc, but takes the workers' memory where there is no other.
static void *ts__put_memory(ts_writer *w, void *old, size_t size)
{
    void *more = realloc(old, size);
    if (more || !w->crew) return more;
    ts__put_alone(w);
    return realloc(old, size);
}

// Grows an array to hold count elements and some more; false without memory.
static bool ts__put_room(ts_writer *w, void **array, uint32_t *capacity,
                         uint32_t count, size_t size)
{
    uint32_t next = *capacity ? *capacity : 4;
    if (count <= *capacity) return true;
    while (next < count)
        next *= 2;
    void *const more = ts__put_memory(w, *array, next * size);
    if (!more) return false;
    *array = more;
    *capacity = next;
    return true;
}
