/* ==== Columns ============================================================ */

// Which chunks and events are wanted. All zeros is everything.
typedef struct ts_filter {
    uint64_t kinds TS__UNSET;         // bits 1 << kind (0: all)
    const uint32_t *tracks TS__UNSET; // track_count ids (NULL: all)
    size_t track_count TS__UNSET;
    // events that touch [from, to) (both 0: all)
    int64_t from_ns TS__UNSET, to_ns TS__UNSET;
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
    const uint64_t *start_ticks, *end_ticks;
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
