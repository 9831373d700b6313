/* ==== Columns ============================================================ */

// Selects chunks and events. All zeros selects everything.
typedef struct ts_filter {
    uint64_t kinds TS__UNSET;         // bits 1 << kind (0: all)
    const uint32_t *tracks TS__UNSET; // track_count ids (NULL: all)
    size_t track_count TS__UNSET;
    // events that touch [from, to) (both 0: all)
    int64_t from_ns TS__UNSET, to_ns TS__UNSET;
} ts_filter;

// The bit of a kind for ts_filter.kinds: TS_FILTER(KERNEL).
#define TS_FILTER(kind) (UINT64_C(1) << (TS_EVENT_##kind))

/*
    A decoded chunk: `count` events of one kind, one array for each column.
    Zero it before its first use. start_ns and duration_ns are always set.
    values[column] holds any other column as u64 (a double by its bits); NULL
    means that every value is 0. values[] of START, DURATION, NEST, LEAD, TAIL,
    TEXT and TRACK is always NULL, as other fields hold what they mean.
*/
typedef struct ts_columns {
    ts_event_kind kind;
    uint32_t count;
    uint32_t track;                          // of all rows, or TS_TRACK_MIXED
    uint32_t clock;                          // that the ticks belong to
    const uint32_t *tracks;                  // of each row; NULL unless mixed
    const int64_t *start_ns, *duration_ns;   // trace time
    const uint64_t *start_ticks, *end_ticks; // as recorded
    const uint64_t *values[TS_COLUMN_LIMIT];
    const uint32_t *text_sizes; // NULL: the events have no texts
    const char *const *texts;   // not terminated
    size_t chunk;               // index of the chunk
    void *memory, *payload;     // private
    size_t memory_size, payload_size;
} ts_columns;

typedef struct ts_chunk_info {
    uint64_t offset;           // in the file
    ts_chunk_header header;    // its checksum is 0 here
    int64_t first_ns, last_ns; // of the events of an events chunk
} ts_chunk_info;

/*
    Reads the index, which the other functions with chunks and events need, if
    the reader was opened with `lazy` and has not read it yet. They call it
    themselves.

    Threads: any.
    Errors:  TS_ERR_MEMORY.
*/
TS_API ts_result ts_reader_index(const ts_reader *reader);

/*
    The same a little at a time, for a program that must not wait: reads at most
    `most` further parts of the index (0: one), each of up to 1,024 chunks.

    Threads: any.
    Errors:  TS_ERR_BUSY   call it again: more is left
             TS_ERR_MEMORY
*/
TS_API ts_result ts_reader_index_parts(const ts_reader *reader, uint32_t most);

// Returns the number of chunks of every kind, without index and end chunks; 0
// if ts_reader_index fails.
TS_API size_t ts_reader_chunk_count(const ts_reader *reader);

// Describes chunk number `index`, in the order of the file. False past the end.
TS_API bool ts_reader_chunk(const ts_reader *reader, size_t index,
                            ts_chunk_info *info);

/*
    Checks the checksum of an events chunk and decodes all of its rows. An
    already used `columns` keeps its memory for the new rows.

    Threads: any, each with its own columns.
    Errors:  TS_ERR_CORRUPT
             TS_ERR_UNSUPPORTED compressed, without TRACESMITH_ZSTD or larger
                                than inflate_bytes; a kind of a later version
             TS_ERR_MEMORY
             TS_ERR_USAGE       there is no such events chunk
             Damage is also added to the reader's list, once for each chunk.
    Free:    ts_columns_close.
*/
TS_API ts_result ts_reader_decode(ts_reader *reader, size_t chunk,
                                  ts_columns *columns);

// The bit of a column in a set: TS_COLUMN_BIT(SITE).
#define TS_COLUMN_BIT(column) (UINT64_C(1) << (TS_COLUMN_##column))
#define TS_COLUMNS_ALL        UINT64_MAX

/*
    As ts_reader_decode, but decodes only the columns of a set: bits of START
    (start_ns and the ticks), DURATION, TRACK (tracks), TEXT (texts) and of
    values[]. The other members stay NULL. An empty set checks the chunk's
    checksum and decompresses nothing: `count` is what its header says.
*/
TS_API ts_result ts_reader_decode_columns(ts_reader *reader, size_t chunk,
                                          uint64_t wanted, ts_columns *columns);

// Frees the memory of `columns` and zeroes it. NULL is allowed.
TS_API void ts_columns_close(ts_reader *reader, ts_columns *columns);

/*
    Decodes every chunk that may hold events of the filter (NULL: all) and
    calls call(columns, thread, user) for each. Chunks come in no particular
    order: see columns->chunk. Rows are not filtered. A damaged chunk does not
    end the scan.

    threads: how many decode in parallel (0: as many as the reader has).
    Threads: `call` runs on several threads at once, 0 <= thread < threads;
             `columns` is valid during the call.
    Errors:  TS_ERR_MEMORY, or the result of the damaged chunk that comes first
             in the file.
*/
TS_API ts_result ts_reader_scan(ts_reader *reader, const ts_filter *filter,
                                uint32_t threads,
                                void (*call)(const ts_columns *columns,
                                             uint32_t thread, void *user),
                                void *user);

typedef struct ts_scan_desc {
    const ts_filter *filter;        // as for ts_reader_scan (NULL: all)
    const size_t *chunks TS__UNSET; // of these, each once (NULL: of all)
    size_t chunk_count TS__UNSET;   // how many of `chunks`
    uint64_t columns;               // as for ts_reader_decode_columns
    uint32_t threads TS__UNSET;     // (0: as many as the reader has)
    void (*call)(const ts_columns *columns, uint32_t thread, void *user);
    void *user;
} ts_scan_desc;

// As ts_reader_scan, with some columns of some chunks.
TS_API ts_result ts_reader_scan_columns(ts_reader *reader,
                                        const ts_scan_desc *desc);

// One cell of a chunk's picture, which serves to draw the chunk at low zoom.
typedef struct ts_lod_cell {
    uint32_t id;    // site, launch or name, by kind of event; 0 unknown
    uint16_t busy;  // share of the cell that is covered; 65535: all of it
    uint16_t count; // events, saturating
    float min, max; // counters; NaN: no sample
} ts_lod_cell;

// Gets a chunk's picture from the index: TS_LOD_CELLS cells of equal width that
// cover [first_ns, last_ns]. False without an index or such a chunk.
TS_API bool ts_reader_lod(const ts_reader *reader, size_t chunk,
                          ts_lod_cell cells[TS_LOD_CELLS]);

/*
    Pictures of the tracks of a chunk with several. Zero it before its first
    use; an already used one keeps its memory.
*/
typedef struct ts_track_pictures {
    uint32_t count;       // tracks
    uint32_t cell_count;  // cells of each: 1, 2, 4, 8 or 16
    const uint8_t *bytes; // private
    void *memory;
    size_t memory_size;
} ts_track_pictures;

/*
    Reads the pictures of the tracks of an events chunk whose track is
    TS_TRACK_MIXED. Cells are of equal width and cover [first_ns, last_ns] of
    the chunk. Those of long chunks with few tracks are stored.

    Threads: any, each with its own pictures.
    Errors:  TS_ERR_NOT_FOUND  there are none
             TS_ERR_MEMORY, and the results of damage, which is also added to
             the reader's list
    Free:    ts_track_pictures_close.
*/
TS_API ts_result ts_reader_track_pictures(ts_reader *reader, size_t chunk,
                                          ts_track_pictures *pictures);

// Gets picture number `index`: the track, how many events it has in the chunk,
// and its first cell_count cells. False past the end.
TS_API bool ts_track_picture(const ts_track_pictures *pictures, size_t index,
                             uint32_t *track, uint32_t *events,
                             ts_lod_cell cells[TS_LOD_CELLS]);

// Frees the memory of `pictures` and zeroes it. NULL is allowed.
TS_API void ts_track_pictures_close(ts_reader *reader,
                                    ts_track_pictures *pictures);

// A picture of all events of one kind on one track, from the top of the index.
typedef struct ts_top_track {
    uint32_t track; // or TS_TRACK_MIXED: in chunks with several tracks
    ts_event_kind kind;
    uint64_t count;    // events
    size_t cell_count; // cells of equal width in ticks
} ts_top_track;

typedef struct ts_picture_cell {
    int64_t start_ns, end_ns;
    uint64_t count; // events that start there
    float min, max; // of a counter; NaN: no sample
    uint32_t id;    // as in ts_lod_cell, of what is there most; 0 unknown
    uint16_t busy;  // share of the cell that is covered; 65535: all of it
} ts_picture_cell;

// Returns the number of pictures in the top of the index; 0 unless the reader
// was opened with `lazy` and the trace has a top, which long ones have. Then
// pictures of chunks (ts_reader_lod) serve the same purpose.
TS_API size_t ts_reader_top_count(const ts_reader *reader);

// Gets picture number `index` of the top. False past the end.
TS_API bool ts_reader_top(const ts_reader *reader, size_t index,
                          ts_top_track *track);

// Gets a cell of picture number `index`. `id` and `busy` are 0 in a picture of
// several tracks. False past the end.
TS_API bool ts_reader_top_cell(const ts_reader *reader, size_t index,
                               size_t cell_index, ts_picture_cell *cell);
