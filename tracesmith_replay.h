// Made by make from the sections in src/replay/: edit those.
/*
    tracesmith_replay.h - read SBT traces and replay them

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    WHAT IT DOES
        Opens a trace (a file, a block of memory, or a file that is still being
        written), salvages the records of a writer that died, and returns the
        events: as columns, chunk by chunk, or one by one in order of time.
        Builds the dependency graph of the GPU operations and replays it as a
        schedule.

    WHAT IT DOES NOT DO
        It knows no vendor, no output format and no tool. It never prints.

    USE
        #define TRACESMITH_REPLAY_IMPLEMENTATION // in one file
        #define TRACESMITH_IMPLEMENTATION
        #include "tracesmith_replay.h"

        ts_reader *reader;
        const ts_reader_desc desc = { .path = "trace.sbt" };
        if (ts_reader_open(&reader, &desc) != TS_OK) return 1;
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
        7. Models                       what-ifs, critical path, steps
        8. Timeline                     stream states, idle time, its causes
        9. Races                        unordered accesses, other legal orders
       10. Execution                    captured operations, running them again
       11. Implementation               private
*/
#ifndef TRACESMITH_REPLAY_H
#define TRACESMITH_REPLAY_H

#if defined(TRACESMITH_REPLAY_IMPLEMENTATION) && !defined(_GNU_SOURCE) && \
    !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L // before the first system header
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE // madvise
#endif
#endif
#include "tracesmith.h"

/* ==== 1. Options ========================================================= */
// src/replay/public/options.h

/*
    Define these before the header is included.

    TRACESMITH_REPLAY_IMPLEMENTATION  in exactly one C11 file: compiles the
                              functions of this header. They call functions of
                              tracesmith.h. Define TRACESMITH_IMPLEMENTATION in
                              the same file; if it is defined in another file,
                              define TRACESMITH_SALVAGE there as well.
    TRACESMITH_NO_THREADS     no threads and no locks: one thread at a time uses
                              a reader and what is made from it
    TRACESMITH_NO_FILES       no files and no sidecars: a trace is in memory or
                              is read through a function (ts_reader_desc.read).
                              With both, this header needs the C library alone,
                              and compiles for WebAssembly (wasm32-wasi)
    TRACESMITH_ZSTD           reads compressed chunks (link with -lzstd)
*/

/* ==== 2. Reader ========================================================== */
// src/replay/public/reader.h

// An open trace. Opaque.
typedef struct ts_reader ts_reader;

/*
    One function that allocates (old_size 0, ptr NULL), resizes and frees
    (new_size 0). It returns NULL on failure; the old block then stays valid.

    Threads: a reader and the objects that use it call it from many threads.
*/
typedef struct ts_allocator {
    void *(*resize)(void *user, void *ptr, size_t old_size, size_t new_size);
    void *user;
} ts_allocator;

// What to open and how. Set `path`, `bytes` or `read`; zero is the default of
// the rest.
typedef struct ts_reader_desc {
    const char *path TS__UNSET;  // the trace, unless `bytes` or `read` is set
    const void *bytes TS__UNSET; // a trace in memory; must outlive the reader
    uint64_t size TS__UNSET;     // of `bytes`, or of what `read` reads
    // do not salvage the sidecar of a dead writer (false: move its records into
    // the trace, which changes the file)
    bool no_salvage TS__UNSET;
    bool no_index TS__UNSET;    // ignore the index, walk all chunks (false)
    uint32_t threads TS__UNSET; // for walks and scans (number of cores)
    ts_allocator allocator TS__UNSET; // (malloc and free)
    // limit for the size of one decompressed chunk, and for the sum of all
    // decompressed capture chunks; a hostile file of a few bytes may claim
    // 4 GiB (1 GiB)
    uint64_t inflate_bytes TS__UNSET;
    // Copies at most `size` bytes of the trace at `offset` to `to`, for a trace
    // that is neither a file nor in memory. Returns how many it copied: fewer
    // make the reader ask for the rest, 0 says that the trace ends there, a
    // negative number that reading fails. Called on all threads of the reader.
    int64_t (*read)(void *user, uint64_t offset, void *to,
                    size_t size) TS__UNSET;
    // returns the present size of what `read` reads, at the open and at each
    // refresh (`size`: the trace does not grow)
    uint64_t (*length)(void *user) TS__UNSET;
    void *user TS__UNSET; // for `read` and `length`
} ts_reader_desc;

// A part of a file that cannot be read, and why.
typedef struct ts_damage {
    ts_result result; // TS_ERR_CORRUPT, _TRUNCATED, _UNSUPPORTED (zstd), _IO...
    uint64_t offset;  // in the file
    uint64_t size;    // bytes skipped
    const char *text; // the cause, one clause; static
} ts_damage;

// Losses of one cause on one track, summed over the trace.
typedef struct ts_loss_row {
    uint32_t track, cause, detail; // cause: ts_loss; detail: a name
    uint64_t count;                // records lost
    int64_t first_ns, last_ns;     // trace time of the first and the last loss
    uint64_t stall_ns;             // time that threads spent waiting instead
} ts_loss_row;

// What a reader knows about its trace. Times are trace times.
typedef struct ts_info {
    uint8_t session[16];   // identifier of the session
    uint16_t major, minor; // version of the format
    uint32_t process;      // process identifier of the recorded program
    uint64_t file_bytes;
    uint64_t start_realtime_ns;      // Unix time of trace time 0
    int64_t first_ns, last_ns;       // of all events; both 0 if there are none
    uint64_t counts[TS_EVENT_LIMIT]; // events by kind
    uint64_t stored_bytes[TS_EVENT_LIMIT];   // by kind, chunk headers included
    uint64_t unknown_chunks, unknown_events; // of later versions, skipped
    uint64_t lost;                           // records lost; stalls not counted
    uint64_t salvaged;    // records that came from the sidecar of a dead writer
    uint64_t chunk_count; // chunks of every kind
    uint32_t track_count, site_count, name_count, launch_count;
    bool finished;        // the trace has its end chunk
    bool indexed;         // the index exists and is valid
    bool live;            // the trace is still being written
    bool clock_estimated; // times rest on an assumed clock frequency
    bool salvage_failed;  // see `salvage`
    ts_result salvage;    // result of ts_salvage. TS_OK: done or not needed;
                          // _BUSY: the writer lives; _NOT_FOUND: there is no
                          // sidecar; _STATE: not tried because of no_salvage;
                          // _UNTRUSTED: the sidecar belongs to another user
} ts_info;

/*
    Opens a trace. An unfinished trace is salvaged first (see the desc). Then
    everything that is valid is read: damage is listed (ts_reader_damage) and
    never makes the open fail; only a file that is not an SBT file does.
    *reader is NULL on failure.

    The file is read as needed and never mapped. It may grow while it is open.
    Bytes that are cut off or changed meanwhile become damage
    (TS_ERR_TRUNCATED, TS_ERR_CORRUPT), never a crash.

    Threads: many threads may use one reader at once, except for
             ts_reader_refresh and ts_reader_close.
    Errors:  TS_ERR_IO        the file cannot be opened or read
             TS_ERR_NOT_FILE  a folder, a device or a named pipe; a pipe without
                              a name is read to its end
             TS_ERR_NOT_SBT   not an SBT file
             TS_ERR_VERSION   another major version of the format
             TS_ERR_TRUNCATED shorter than a file header
             TS_ERR_MEMORY
             TS_ERR_UNSUPPORTED `path` with TRACESMITH_NO_FILES
             TS_ERR_USAGE     an argument, or what to read, is missing
    Free:    ts_reader_close.
*/
TS_API ts_result ts_reader_open(ts_reader **reader, const ts_reader_desc *desc);

// Closes the reader and frees everything it returned. Close cursors, replays
// and other objects that use it first. NULL is allowed.
TS_API void ts_reader_close(ts_reader *reader);

/*
    Reads what was added to a live trace since the open or the last refresh.
    Returns true if there is something new. Open columns and cursors stay valid
    but do not show it.

    Threads: no other thread may use the reader during the call.
*/
TS_API bool ts_reader_refresh(ts_reader *reader);

// Returns the description of the trace, never NULL.
// Lifetime: until refresh or close, like everything that a reader returns.
TS_API const ts_info *ts_reader_info(const ts_reader *reader);

#ifndef TRACESMITH_NO_FILES
// A sidecar: the file in which a recorder keeps records that are not yet in
// its trace.
typedef struct ts_sidecar {
    char trace[4096];           // path of the trace
    uint32_t process;           // process identifier of the recorder
    uint64_t start_realtime_ns; // Unix time at which the session started
    uint64_t size;              // bytes of disk or memory that it occupies
} ts_sidecar;

/*
    Describes the sidecar at `path`. TS_OK means that its recorder is dead and
    that the next ts_reader_open of its trace will salvage the records.
    *sidecar holds whatever is known, after an error too.

    Threads: any. It does not disturb the recorder.
    Errors:  TS_ERR_NOT_FOUND its trace is gone: nothing will salvage it
             TS_ERR_BUSY      its recorder is alive
             TS_ERR_UNTRUSTED others than this user may own or change the file
             TS_ERR_VERSION   made by another version, or not a sidecar
             TS_ERR_IO        there is no such file
*/
TS_API ts_result ts_sidecar_look(const char *path, ts_sidecar *sidecar);

/*
    Removes the sidecar at `path` if its trace is gone; else it changes nothing.

    Threads: any.
    Errors:  TS_ERR_STATE its trace exists; others as for ts_sidecar_look.
*/
TS_API ts_result ts_sidecar_remove(const char *path);
#endif

/*
    Gets damage number `index`, 0 <= index < ts_reader_damage_count, in the
    order of discovery. False past the end. Decoding chunks, scans and blobs may
    add to the list.

    Threads: any.
*/
TS_API bool ts_reader_damage(const ts_reader *reader, size_t index,
                             ts_damage *damage);

// Returns the number of damages found so far. Threads: any.
TS_API size_t ts_reader_damage_count(const ts_reader *reader);

/*
    Checks every chunk, its checksum and its contents, on the reader's threads.
    Returns TS_OK if the trace has no damage, else the result of the first one
    in the list; ts_reader_damage lists them all.

    Errors: TS_ERR_MEMORY, and the results of damages.
*/
TS_API ts_result ts_reader_verify(ts_reader *reader);

// Returns the number of rows of the loss ledger: one for each track, cause and
// detail.
TS_API size_t ts_reader_loss_count(const ts_reader *reader);

// Gets row number `index` of the loss ledger. False past the end.
TS_API bool ts_reader_loss(const ts_reader *reader, size_t index,
                           ts_loss_row *row);

// Converts a tick of a clock of the trace to trace time. A clock without a
// sample counts nanoseconds.
TS_API int64_t ts_reader_time_ns(const ts_reader *reader, uint32_t clock,
                                 uint64_t tick);

// Converts trace time to Unix time, by linear interpolation between the samples
// of the host's clock.
TS_API uint64_t ts_reader_realtime_ns(const ts_reader *reader, int64_t time_ns);

// A sample of a clock: what it and the host's clocks showed at one moment.
typedef struct ts_clock_point {
    uint32_t clock;
    int64_t time_ns;      // trace time of the sample
    ts_clock_entry entry; // as recorded
} ts_clock_point;

// Gets sample number `index`, in order of clock, then tick. False past the end.
TS_API bool ts_reader_clock_at(const ts_reader *reader, size_t index,
                               ts_clock_point *point);

// Gets CLOCK_MONOTONIC_RAW and CLOCK_BOOTTIME at trace time 0, in nanoseconds,
// on the machine that the metadata `boot_id` identifies. False: not recorded.
TS_API bool ts_reader_boot(const ts_reader *reader, uint64_t *raw_ns,
                           uint64_t *boottime_ns);

/* ==== 3. Dictionaries ==================================================== */
// src/replay/public/dictionaries.h

/*
    Events refer to names, sites, tracks and so on by number. A number that the
    trace does not define yields an empty text or NULL; tools then print the
    number. What the functions return is valid until the reader is refreshed or
    closed, and any thread may call them.
*/

// A text with a zero behind it. It may contain zero bytes and invalid UTF-8,
// as the file does: `size` is the true size.
typedef struct ts_text {
    const char *text; // never NULL
    size_t size;
} ts_text;

// Returns a name; "" if the trace does not define it.
TS_API ts_text ts_reader_name(const ts_reader *reader, uint32_t name);

// Returns a site (a place in the source); NULL if it is not defined.
TS_API const ts_site_entry *ts_reader_site(const ts_reader *reader,
                                           uint32_t site);

// Returns the name of a site, or that of its function if it has none.
TS_API ts_text ts_reader_site_name(const ts_reader *reader, uint32_t site);

// Returns the launch configuration of a kernel; NULL if it is not defined.
TS_API const ts_launch_entry *ts_reader_launch(const ts_reader *reader,
                                               uint32_t launch);

// Gets the frames of a call stack, innermost first, and returns their number;
// 0 and *frames NULL if the stack is not defined.
TS_API uint32_t ts_reader_stack(const ts_reader *reader, uint32_t stack,
                                const ts_frame_entry **frames);

// Returns a module (an executable or library); NULL if it is not defined.
TS_API const ts_module_entry *ts_reader_module(const ts_reader *reader,
                                               uint32_t module);

// Returns the bytes of a module's build identifier, at most 64. They are not a
// text. Size 0: the trace has none.
TS_API ts_text ts_reader_build_id(const ts_reader *reader, uint32_t module);

/*
    Gets the source lines of a frame and returns their number. Functions that
    the compiler inlined come innermost first; the last line is in the function
    that was called. Returns 0, *lines NULL, if the trace has no symbol for it.
*/
TS_API uint32_t ts_reader_symbol(const ts_reader *reader,
                                 const ts_frame_entry *frame,
                                 const ts_line_entry **lines);

// Returns the number of entries of a dictionary: TS_CHUNK_NAMES, _SITES,
// _TRACKS, _LAUNCHES, _MODULES, _STACKS or _SYMBOLS; 0 for other kinds.
TS_API size_t ts_reader_entry_count(const ts_reader *reader,
                                    ts_chunk_kind dictionary);

// Returns the number (identifier) of entry `index` of a dictionary, in
// ascending order; 0 past the end.
TS_API uint32_t ts_reader_entry(const ts_reader *reader,
                                ts_chunk_kind dictionary, size_t index);

// A track: what events lie on, such as a thread, a device or a stream.
typedef struct ts_track {
    uint32_t id;
    ts_track_type type;
    uint32_t parent;        // id of the track that contains it; 0: none
    ts_text name, unit;     // unit: of a counter
    uint64_t number, flags; // as recorded; their meaning depends on the type
} ts_track;

// Gets track number `index`, 0 <= index < ts_info.track_count, in order of id.
// False past the end.
TS_API bool ts_reader_track_at(const ts_reader *reader, size_t index,
                               ts_track *track);

// Gets the track with an id. False if it is not defined.
TS_API bool ts_reader_track(const ts_reader *reader, uint32_t id,
                            ts_track *track);

// A key and its value, about the session or about one track.
typedef struct ts_metadata {
    uint32_t track; // 0: the session
    ts_text key;
    ts_value_type type;
    int64_t number; // TS_VALUE_INT
    double real;    // TS_VALUE_DOUBLE
    ts_text text;   // TS_VALUE_TEXT
} ts_metadata;

// Returns the number of pairs of track and key.
TS_API size_t ts_reader_metadata_count(const ts_reader *reader);

// Gets metadata number `index`, in order of track, then key. False past the
// end.
TS_API bool ts_reader_metadata_at(const ts_reader *reader, size_t index,
                                  ts_metadata *metadata);

// Gets the value of a key of a track (0: the session); the last one if the
// trace sets it several times. False if there is none.
TS_API bool ts_reader_metadata(const ts_reader *reader, uint32_t track,
                               const char *key, ts_metadata *metadata);

/*
    Gets the contents of the blob with an XXH3-128 hash. *bytes is NULL and
    *size 0 on failure. The whole blob is read and kept in memory: a program
    that reads many calls ts_reader_blobs_free now and then.

    Threads:  any.
    Errors:   TS_ERR_NOT_FOUND   the trace does not hold it
              TS_ERR_MEMORY
              TS_ERR_CORRUPT     its chunk is damaged
              TS_ERR_UNSUPPORTED compressed, without TRACESMITH_ZSTD or larger
                                 than ts_reader_desc.inflate_bytes
              The last two are also in the reader's list of damages.
    Lifetime: until ts_reader_blobs_free or ts_reader_close.
*/
TS_API ts_result ts_reader_blob(ts_reader *reader, const uint64_t hash[2],
                                const void **bytes, size_t *size);

// Frees the contents of all blobs that were read. Call it only while no
// ts_execution uses the reader and no thread uses such contents.
TS_API void ts_reader_blobs_free(ts_reader *reader);

// Gets the hash of blob number `index`, in order of hash. False past the end.
// Threads: any.
TS_API bool ts_reader_blob_at(ts_reader *reader, size_t index,
                              uint64_t hash[2]);

/* ==== 4. Columns ========================================================= */
// src/replay/public/columns.h

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

// Returns the number of chunks of every kind, without index and end chunks.
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

/* ==== 5. Cursor ========================================================== */
// src/replay/public/cursor.h

// Iterates over events in order of time. Opaque.
typedef struct ts_cursor ts_cursor;

typedef struct ts_event {
    ts_event_kind kind;
    uint32_t track;
    int64_t start_ns, duration_ns; // duration 0: a point in time
    const ts_columns *columns;     // the chunk that holds the other values, and
    uint32_t row; // the event's row in it; both until the next call
} ts_event;

/*
    Opens a cursor over the events that match a filter (NULL: all). The filter
    is copied. *cursor is NULL on failure.

    Events come in order of start. At equal starts the order is: track, longer
    events first, kind, order of recording; zones are recorded when they end, so
    for them the last is reversed: a zone comes before the zones inside it. The
    order is the same on every machine. Damaged chunks are skipped; check
    ts_cursor_result after the loop.

    Threads: one at a time for each cursor; a reader may have many cursors.
    Memory:  the decoded chunks that overlap the current time.
    Errors:  TS_ERR_MEMORY.
    Free:    ts_cursor_close, before the reader is closed.
*/
TS_API ts_result ts_cursor_open(ts_cursor **cursor, ts_reader *reader,
                                const ts_filter *filter);

// Gets the next event. False at the end, or without memory.
TS_API bool ts_cursor_next(ts_cursor *cursor, ts_event *event);

// Returns the first error of ts_cursor_next: TS_OK, TS_ERR_MEMORY, or the
// result of the first damaged chunk.
TS_API ts_result ts_cursor_result(const ts_cursor *cursor);

// Closes a cursor. Events that it returned become invalid. NULL is allowed.
TS_API void ts_cursor_close(ts_cursor *cursor);

// Returns the value of a column of an event; 0 if the event has none.
static inline uint64_t ts_event_value(const ts_event *event, ts_column column)
{
    const uint64_t *const values = event->columns->values[column];
    return values ? values[event->row] : 0;
}

// Returns the text of an event, without a terminating zero; size 0 if the event
// has none. Lifetime: until the next call of the cursor.
static inline ts_text ts_event_text(const ts_event *event)
{
    ts_text text = { "", 0 };
    if (event->columns->text_sizes) {
        text.text = event->columns->texts[event->row];
        text.size = event->columns->text_sizes[event->row];
    }
    return text;
}

// Returns a name for an event: that of its site, kernel, function or counter,
// or else of its kind. Lifetime: as long as the reader is open.
TS_API ts_text ts_event_label(const ts_reader *reader, const ts_event *event);

/* ==== 6. Replay ========================================================== */
// src/replay/public/replay.h

/*
    A replay is a graph of the GPU operations of a trace, of the host calls
    that launched them, and of what waited for what. The graph can be run again
    as a discrete-event simulation in integer nanoseconds. Traces of several
    processes, one file each, form one graph: tracks, correlations and events
    belong to their file; times are converted to the time axis of the first.

    A *node* is a point in time that depends on others. Nodes are numbered:
    first the operations in their total order (start, device, stream, place in
    the stream), then the host calls in order of time, then two kinds of helper
    nodes: the end of every node that waits for others, and joins, which stand
    for "all work of these streams so far". A node starts at the time that the
    latest edge into it allows, plus its *gap*: the recorded delay beyond its
    dependencies, which may be negative. With recorded durations every operation
    must run at its recorded nanosecond; any difference is a bug of the loader
    or of the graph, and is reported.

    Host calls in the graph are those that share the correlation of an
    operation, and those that may block the host according to their name.
    Consecutive calls that poll for the same thing count as one. An operation
    that has a thread and a queued time but no call gets a call of no duration
    as a stand-in. The order of operations on the host is the order of the
    starts of their calls, else of their queued times, else of their submitted
    times. If any operation has none of these, the starts of operations (for
    waits: their ends) order all of them.

    Dependencies that the record states:
    - Within a stream operations run first in, first out. Where they overlap in
      the record, the later one depends on the start of the earlier one, and
      the next one that does not overlap depends on the ends of both.
    - An event wait depends on the record that its column `record` names, else
      on the latest record of that event before the wait. If there is none, it
      waits for nothing.
    - An operation on a legacy default stream depends on everything issued
      before it to the blocking streams of its context, and everything issued
      to them after it depends on it. A stream whose work ever overlapped that
      of the default stream is not blocking.
    - Events of kind `dependency` are edges of their own.
    - Operations of one call are the nodes of a graph launch. Their times show
      their order; only its roots depend on the call and on what was on the
      launch stream before.
    - A launch depends on the start of the operation that was launched
      queue_depth launches before it on its stream.
    - A collective ends, on every rank that has a trace, after all of them have
      begun it. The same holds for a send and its receive. Their join begins
      when the last one arrives, and lasts as long as the shortest of them did.
    - A host synchronisation ends after what it waited for. A call ends after
      its synchronisation or copy if it outlasted that in the record. Each call
      of a thread comes after the one before it.

    Where none of these explains a start, edges are inferred from times, and
    flagged as inferred:
    - for an operation that begins later than usual, just after an operation on
      another stream of its device ended;
    - for calls that wait for a stream or an event that the record does not
      name;
    - for threads of a process that launch in alternation;
    - for an event wait of which the record has only the call: from the last
      work on another stream.

    A sync or legacy edge that the record contradicts (its target did not wait)
    is left out and counted. So is an edge that would close a cycle, unless
    `record` states it.
*/
#define TS_EDGES(X) \
    X(SELF, 0, "self") \
    X(HOST_ORDER, 1, "host_order") \
    X(LAUNCH, 2, "launch") \
    X(STREAM_ORDER, 3, "stream_order") \
    X(EVENT, 4, "event") \
    X(SYNC, 5, "sync") \
    X(LEGACY_DEFAULT, 6, "legacy_default") \
    X(GRAPH, 7, "graph") \
    X(COLLECTIVE, 8, "collective") \
    X(QUEUE, 9, "queue_full") \
    X(P2P, 10, "point_to_point") \
    X(USER, 11, "user")

// An edge of kind SELF ties a node to the helper node that is its end. It is
// never counted.
typedef enum ts_edge_kind {
#define TS__X(name, value, text) TS_EDGE_##name = value,
    TS_EDGES(TS__X)
#undef TS__X
} ts_edge_kind;
#define TS_EDGE_LIMIT 12

// Why an operation is not replayed. NOT means that it is.
#define TS_SKIPS(X) \
    X(NOT, 0, "not_skipped") \
    X(STREAM, 1, "other_stream") \
    X(DEVICE, 2, "other_device") \
    X(TIME, 3, "outside_time") \
    X(BAD_TIME, 4, "bad_time") \
    X(UNMET, 5, "unmet_dependency") \
    X(REMOVED, 6, "removed") \
    X(RANGE, 7, "outside_range") \
    X(ZONE, 8, "other_zone")

typedef enum ts_skip {
#define TS__X(name, value, text) TS_SKIP_##name = value,
    TS_SKIPS(TS__X)
#undef TS__X
} ts_skip;
#define TS_SKIP_LIMIT 9

// Returns the name of a ts_edge_kind, such as "host_order"; "unknown" for any
// other number. Static.
TS_API const char *ts_edge_name(uint32_t kind);

// Returns the name of a ts_skip, such as "other_stream"; "unknown" for any
// other number. Static.
TS_API const char *ts_skip_name(uint32_t skip);

// How a partial replay treats operations that are not selected.
typedef enum ts_deps {
    TS_DEPS_FROZEN = 0,  // they run at their recorded times
    TS_DEPS_CLOSURE = 1, // dependencies of selected ones are selected as well
    TS_DEPS_NONE = 2     // they do not exist
} ts_deps;

// A loaded graph with its selection and its last run. Opaque.
typedef struct ts_replay ts_replay;

// What to load and to select. All zeros loads and selects everything.
typedef struct ts_replay_desc {
    // select the operations on these stream_count tracks
    const uint32_t *streams TS__UNSET;
    size_t stream_count TS__UNSET;     // (0: all)
    const uint32_t *devices TS__UNSET; // likewise, device_count tracks
    size_t device_count TS__UNSET;     // (0: all)
    // select operations that touch [from, to) (both 0: all)
    int64_t from_ns TS__UNSET, to_ns TS__UNSET;
    ts_deps deps TS__UNSET;           // (TS_DEPS_FROZEN)
    uint32_t threads TS__UNSET;       // for loading (the reader's)
    ts_allocator allocator TS__UNSET; // (malloc and free)
    // more_count further traces, replayed with the first
    ts_reader *const *more TS__UNSET;
    size_t more_count TS__UNSET;
    // the file that each of `streams` belongs to (NULL: all to file 0)
    const uint32_t *stream_files TS__UNSET;
    const uint32_t *device_files TS__UNSET; // likewise for `devices`
    // Called for each operation that the fields above select, in their order.
    // Returns TS_SKIP_NOT to select it, else the reason to skip it (NULL: all)
    ts_skip (*choose)(const ts_replay *replay, size_t index,
                      void *user) TS__UNSET;
    void *choose_user TS__UNSET;
    // launches that a stream's queue holds before they begin; the call of the
    // next one blocks (1024)
    uint32_t queue_depth TS__UNSET;
    // hardware queues of a device, which its streams share (0: one for each
    // stream)
    uint32_t connections TS__UNSET;
    bool no_inference TS__UNSET; // use recorded edges only (false)
    // Load only what touches the window [load_from_ns, load_to_ns) and the
    // calls of these operations (both 0: everything). See below.
    int64_t load_from_ns TS__UNSET, load_to_ns TS__UNSET;
    // how long before the window such calls are looked for (0: from the
    // beginning of the trace)
    int64_t load_before_ns TS__UNSET;
    // load only collectives, to align the clocks of files: see
    // ts_replay_file_at. A trace without collectives is then no error (false)
    bool clocks_only TS__UNSET;
} ts_replay_desc;

/*
    A *window* of a long trace needs memory only for what it holds: only chunks
    whose time range touches it are decoded. Nothing outside of it exists:
    - an event wait whose record lies before the window misses it (it counts as
      missing_records, never as never_recorded);
    - the first operation of each stream has no predecessor;
    - what the host did before the window is not known;
    - the medians that inference rests on are those of the window.
    So begin it early enough. The calls of the window's operations are found
    however early they were made, unless load_before_ns limits that: as a stream
    holds at most queue_depth launches, no more than that many operations of
    each stream can lie between a call and its operation. Times of the window
    are those of the first file, before collectives align the clocks of further
    files. stats.loaded counts what touches the window; operations with
    impossible times touch no window.
*/

/*
    Loads the operations of a trace, builds the graph and selects. Afterwards
    the first half of ts_replay_result is set. desc may be NULL. *replay is NULL
    on failure. Damaged chunks are left out; the reader lists them.

    Threads:  loading uses desc.threads threads. A replay may be read by many
              threads at once; ts_replay_run, _path, _steps and _close need it
              alone.
    Memory:   about 220 bytes for each operation with its call while it loads,
              134 afterwards.
    Errors:   TS_ERR_NOT_FOUND   no GPU operation in the trace, or the window
              TS_ERR_USAGE       `to` before `from`, an empty window, a negative
                                 load_before_ns
              TS_ERR_UNSUPPORTED 2^31 operations or more, 65,536 files or more
              TS_ERR_MEMORY
    Lifetime: the readers must outlive the replay.
    Free:     ts_replay_close.
*/
TS_API ts_result ts_replay_open(ts_replay **replay, ts_reader *reader,
                                const ts_replay_desc *desc);

// Frees a replay and everything that it returned. NULL is allowed.
TS_API void ts_replay_close(ts_replay *replay);

/*
    A file of a replay. Files are numbered in the order given, `reader` is file
    0. All times are on the axis of file 0: offset_ns is added to the times of
    the file.

    Alignment: files of one boot of one machine (metadata `boot_id`) share its
    clock, which gives their offset exactly; those that share it with file 0 are
    aligned. The others are placed by the Unix time of their start, if file 0
    and they have it, and then shifted by the median difference between the ends
    of the `matched` collectives that they, or files of the same machine, have
    in common with aligned files. If no file is left that has any in common, the
    next file counts as aligned where it is. residual_ns is the median distance
    from the median: a measure of the error.
*/
typedef struct ts_replay_file {
    ts_reader *reader;
    int64_t offset_ns;
    bool realtime;       // it and file 0 have the Unix time of their start
    uint64_t matched;    // collectives that aligned it
    int64_t residual_ns; // see above
    uint32_t clock;      // first file that shares its clock; else itself
} ts_replay_file;

// Gets file number `index`. False past the end.
TS_API bool ts_replay_file_at(const ts_replay *replay, size_t index,
                              ts_replay_file *file);

// Returns the reader of a file; NULL if there is no such file.
TS_API ts_reader *ts_replay_reader(const ts_replay *replay, uint32_t file);

// A part is replayed as a process of its own. It is a file, or one of the
// traces that were merged into a file; metadata of such a trace's session are
// then metadata of its process track.
typedef struct ts_replay_part {
    uint32_t file;
    uint32_t process; // process track of the part; 0: it is the whole file
} ts_replay_part;

// Gets part number `index`, in the order of files. False past the end.
TS_API bool ts_replay_part_at(const ts_replay *replay, size_t index,
                              ts_replay_part *part);

// How to run. All zeros is exactly as recorded.
typedef struct ts_replay_run_desc {
    // the duration of every operation, in the order of ts_replay_operation, 0
    // or more (NULL: as recorded)
    const int64_t *durations_ns TS__UNSET;
    uint32_t mode TS__UNSET; // ts_replay_mode (TS_REPLAY_EXACT)
    // The following only apply to TS_REPLAY_MODEL:
    const struct ts_change *changes TS__UNSET; // change_count what-ifs
    size_t change_count TS__UNSET;
    // copy engines for each direction of a device (as many as were ever busy at
    // once in the record)
    uint32_t copy_engines TS__UNSET;
    // kernels of a device compete for its multiprocessors: one that finds no
    // room waits. So do collectives whose launch is known; they occupy their
    // share while they wait for other ranks, too (false: kernels overlap
    // freely, as recorded)
    bool share_compute TS__UNSET;
} ts_replay_run_desc;

/*
    Runs the selected operations (desc NULL: exactly as recorded). An operation
    that waits lasts until what it waits for is done, whatever its duration
    says. Operations in a cycle do not run: see ts_replay_cycle. A further run
    replaces the schedule of the one before.

    Errors: TS_ERR_NOT_FOUND nothing is selected
            TS_ERR_USAGE     a negative duration, an invalid change, or a change
                             without TS_REPLAY_MODEL
            TS_ERR_MEMORY
*/
TS_API ts_result ts_replay_run(ts_replay *replay,
                               const ts_replay_run_desc *desc);

typedef struct ts_replay_stats {
    // The graph and the selection.
    uint64_t loaded;     // operations in the trace, or in its window
    uint64_t operations; // selected; after a run those that ran
    uint64_t calls;      // host calls that launched them or may block
    uint64_t added;      // operations that TS_DEPS_CLOSURE added
    uint64_t skipped[TS_SKIP_LIMIT]; // operations not replayed, by reason
    uint64_t edges[TS_EDGE_LIMIT];   // between selected nodes, by kind
    uint64_t cut_edges;              // into the selection from outside
    uint64_t contradicted;           // edges left out: the record shows no wait
    uint64_t never_recorded;  // waits for an event that was never recorded
    uint64_t missing_records; // waits whose `record` the trace lacks, whose
                              // event is unknown, or whose event may have been
                              // recorded before the window
    uint64_t overlaps; // kernels that began before the end of their predecessor
                       // on the stream: programmatic dependent launches
    uint64_t inferred[TS_EDGE_LIMIT]; // of `edges`: inferred from times
    uint64_t rendezvous;         // collectives, and pairs of send and receive
    uint64_t rendezvous_partial; // of these: ranks are missing, so confidence
                                 // is low; one without any other rank counts
    uint64_t lost; // records that the loss ledger misses on what was selected
    // Time of threads that launch work, summed up, of which the dependencies
    // are not known: between two calls while another thread of the process
    // called (the thread may have waited for it), before the first call while
    // earlier work was in its queue, and in synchronisations with work that is
    // not recorded.
    int64_t unknown_host_ns;
    uint64_t shared_syncs; // waits for a device to which several threads had
                           // launched: their length depends on which was first
    int64_t recorded_start_ns, recorded_end_ns; // of the selection
    // The last run.
    int64_t start_ns, end_ns;         // of the schedule
    int64_t busy_from_ns, busy_to_ns; // first to last work on a device
    // distance of operations from their recorded start
    int64_t start_error_p50_ns, start_error_p95_ns, start_error_max_ns;
    uint64_t different;     // operations that start or end at another time
    uint64_t digest;        // XXH3 of identity, start and end in total order
    uint64_t unexplained;   // model: nodes that keep a recorded delay
    int64_t unexplained_ns; // difference of these delays from the model's
    uint64_t rendezvous_guessed; // matched by name and order, as their
                                 // communicator is not known, although their
                                 // members do not end together
} ts_replay_stats;

// Returns the figures of the graph and of the last run (0 before the first).
// Lifetime: until close; a run changes them.
TS_API const ts_replay_stats *ts_replay_result(const ts_replay *replay);

// Returns whether unknown_host_ns is more than 1/50 of the recorded time. Above
// that, what the model says of a run is often wrong (measured by
// tests/checks/truth.sh).
TS_API bool ts_replay_host_unknown(const ts_replay_stats *stats);

// An operation: what a device, or its stream, did for one request.
typedef struct ts_operation {
    ts_event_kind kind;
    uint32_t track, device, thread; // tracks; 0 unknown
    uint32_t call;                  // node that launched it, or TS_NODE_NONE
    uint32_t label;                 // private: see ts_operation_label
    uint64_t correlation;
    int64_t recorded_start_ns, recorded_end_ns;
    int64_t start_ns, end_ns; // in the last run; 0 if it did not run
    ts_skip skip;             // TS_SKIP_NOT: selected
    uint32_t file;
    uint32_t row;  // its number among the GPU operations of the file, counted
                   // chunk by chunk, damaged chunks included
    uint32_t part; // see ts_replay_part_at
} ts_operation;

// Gets operation number `index` in the total order of the record. There are
// stats.loaded of them, less those with an impossible time. False past the end.
TS_API bool ts_replay_operation(const ts_replay *replay, size_t index,
                                ts_operation *operation);

// Returns the name of a kernel, collective or host function, else of its kind.
// reader: that of the operation's file. Lifetime: as long as it is open.
TS_API ts_text ts_operation_label(const ts_reader *reader,
                                  const ts_operation *operation);

// What a stream, context or device did in the last run. Only tracks that have
// operations in the trace are listed.
typedef struct ts_lane {
    uint32_t track, device;            // tracks; device 0: unknown
    uint64_t operations;               // that ran
    int64_t start_ns, end_ns, busy_ns; // busy: union of its work
    uint32_t file;
} ts_lane;

// Returns the number of streams, and other tracks, that have operations.
TS_API size_t ts_replay_lane_count(const ts_replay *replay);

// Gets stream number `index`, in order of device, then stream. False past the
// end.
TS_API bool ts_replay_lane(const ts_replay *replay, size_t index,
                           ts_lane *lane);

// Returns the number of devices that have operations.
TS_API size_t ts_replay_device_count(const ts_replay *replay);

// Gets device number `index`. Its busy time is the union over its streams;
// divide it by busy_to_ns - busy_from_ns of the stats for the utilisation.
// False past the end.
TS_API bool ts_replay_device(const ts_replay *replay, size_t index,
                             ts_lane *device);

#define TS_NODE_NONE 0xFFFFFFFFu

// The graph in compressed rows: edges offsets[n] to offsets[n + 1] - 1 lead
// from node n to their `targets`.
typedef struct ts_graph {
    uint32_t node_count, operation_count, call_count, edge_count;
    const uint32_t *offsets; // node_count + 1
    const uint32_t *targets; // edge_count nodes
    const uint8_t *kinds;    // edge_count; TS_EDGE_KIND(kind) is a ts_edge_kind
} ts_graph;

// Flags of ts_graph.kinds.
enum {
    TS_EDGE_INFERRED = 64,   // inferred from times: no record states it
    TS_EDGE_FROM_START = 128 // from the node's start, not its end
};
#define TS_EDGE_KIND(kind) \
    ((uint8_t)(kind) & (uint8_t) ~(TS_EDGE_INFERRED | TS_EDGE_FROM_START))

// Returns the graph of all nodes, selected or not. Lifetime: until close.
TS_API ts_graph ts_replay_graph(const ts_replay *replay);

typedef enum ts_node_type {
    TS_NODE_OPERATION = 0,
    TS_NODE_CALL = 1,
    TS_NODE_END = 2, // of an operation or call that waits for others
    TS_NODE_JOIN = 3
} ts_node_type;

typedef struct ts_node {
    ts_node_type type;
    uint32_t owner; // TS_NODE_END: the node whose end it is; else itself
    uint32_t track; // stream or thread; 0: a join, or unknown
    uint32_t name;  // of the function of a call; 0 unknown
    int64_t recorded_ns, duration_ns;
    int64_t gap_ns; // delay beyond its dependencies; set by a run
    bool selected;
    uint32_t file;
    int64_t start_ns, end_ns; // in the last run; both 0 if it did not run
} ts_node;

// Gets node number `index`. False past the end.
TS_API bool ts_replay_node(const ts_replay *replay, size_t index,
                           ts_node *node);

/*
    Gets a cycle that kept operations from running in the last run: operations
    and calls that each wait for the one before, and the first for the last.
    Returns their number; 0: there is no cycle, everything ran.

    Lifetime: until the next run or close.
*/
TS_API size_t ts_replay_cycle(const ts_replay *replay, const uint32_t **nodes);

/* ==== 7. Models ========================================================== */
// src/replay/public/model.h

/*
    TS_REPLAY_MODEL replaces recorded delays by constants, so that a change
    moves what depends on it and nothing else:

    - Every edge belongs to a class: its kind, the kinds of its two ends, the
      device, and the function that was called. The delay of a class is the mean
      of its recorded delays on edges that were the last to be satisfied,
      without outliers. A class with fewer than eight such samples takes the
      delay of a coarser class. A kind without any sample takes a small
      constant, at most its shortest sample (`assumed`).
    - Delays on the host, between calls and within them, stay as recorded,
      except where a call waited for a device.
    - The usual delays of a class are the shortest interval that holds half of
      its samples, if it is no wider than delays of one cause are (20 us for
      launches and returns of syncs, 5 us on a device, or the least delay of the
      class if that is more); else the fullest interval of that width. A node
      is *unexplained* if its delay is further from that interval than three
      times its width, the widths above, and a microsecond for noise. It keeps
      its recorded delay and is counted. So a long wait for something that was
      not recorded is neither spread over all nodes nor taken for a property of
      the device.
    - Where operations of a stream overlap, the later one keeps its relative
      place within the earlier one.
    - A collective ends after its last member has arrived, plus the shortest
      recorded duration of its members.
    - A copy waits while all copy engines of its direction and device are busy.

    Delays are means, not medians, so that errors do not add up: the modelled
    delays of a class have the same sum as the recorded ones.
*/
typedef enum ts_replay_mode {
    TS_REPLAY_EXACT = 0, // every node keeps its own recorded delay
    TS_REPLAY_MODEL = 1  // nodes get the delay of their class
} ts_replay_mode;

// What the time of a run is spent on.
#define TS_COSTS(X) \
    X(HOST, 0, "host") \
    X(LAUNCH, 1, "launch") \
    X(COMPUTE, 2, "compute") \
    X(COPY, 3, "copy") \
    X(COMMUNICATION, 4, "communication") \
    X(SYNC, 5, "sync") \
    X(UNEXPLAINED, 6, "unexplained")
typedef enum ts_cost {
#define TS__X(name, value, text) TS_COST_##name = value,
    TS_COSTS(TS__X)
#undef TS__X
} ts_cost;
#define TS_COST_LIMIT 7

// Returns the name of a ts_cost, such as "host"; "unknown" for any other
// number. Static.
TS_API const char *ts_cost_name(uint32_t cost);

// A rational number; 0 over 0 stands for 1.
typedef struct ts_ratio {
    uint32_t num, den;
} ts_ratio;

/*
    What a change alters. Changes apply in the order given and add up. Each
    applies to the operations that `operations` selects, as far as it makes
    sense for them. Products are rounded half up.
*/
typedef enum ts_change_type {
    TS_CHANGE_SCALE = 1,    // multiplies durations by `factor`
    TS_CHANGE_REMOVE = 2,   // the operations take no time, nor do calls that
                            // launched nothing else; what waited for them waits
                            // for their dependencies
    TS_CHANGE_INSERT = 3,   // adds an operation of `ns` after each, whose call
                            // takes as long as that of the original
    TS_CHANGE_TRANSFER = 4, // for copies and collectives: duration T becomes
                            // a' + (T - a) * factor. a is the duration for no
                            // bytes, fitted by `sizes` (without: the shortest
                            // duration) of the same direction and device, or
                            // communicator; a' is `ns` if has_ns, else a
    TS_CHANGE_MOVE = 5,     // moves them to stream `track` of their file, in
                            // order of issue
    TS_CHANGE_FUSE = 6,     // an operation that follows another of them on its
                            // stream needs no launch
    TS_CHANGE_SERIALISE = 7, // one stream for each device, in order of issue;
                             // an operation waits for its dependencies, too
    TS_CHANGE_NO_LAUNCH = 8, // calls that launch take no time, and launches
                             // arrive at once
    TS_CHANGE_HOST = 9,      // multiplies the time of host work by `factor`;
                             // ignores `operations`
    TS_CHANGE_OVERLAP = 10,  // no kernel waits for a copy or a collective
    TS_CHANGE_CUT = 11,      // edges of the kinds in `edges` that begin or end
                             // at them delay nothing
    TS_CHANGE_SPARE = 12, // host work in `spans` takes no time, and a call that
                          // returns in one waits for nothing; ignores
                          // `operations`
    TS_CHANGE_BEGIN = 13  // nodes without a recorded cause, such as the first
                          // call of a thread, come `sooner_ns` of their part
                          // sooner; ignores `operations`
} ts_change_type;

// A span of a thread's recorded time, on the time axis of the replay.
typedef struct ts_host_span {
    uint32_t file TS__UNSET, thread TS__UNSET; // thread: a track
    int64_t start_ns TS__UNSET, end_ns TS__UNSET;
} ts_host_span;

// A change for ts_replay_run_desc: a what-if. Arrays must live until
// ts_replay_run returns.
typedef struct ts_change {
    ts_change_type type TS__UNSET;
    // one for each operation of ts_replay_operation (NULL: all of them)
    const bool *operations TS__UNSET;
    ts_ratio factor TS__UNSET; // (1)
    int64_t ns TS__UNSET;      // INSERT, TRANSFER
    bool has_ns TS__UNSET;     // TRANSFER
    // HOST: applies to `part` of ts_replay_part_at only (false: all parts)
    bool one_part TS__UNSET;
    uint32_t part TS__UNSET;
    uint32_t track TS__UNSET; // MOVE
    uint32_t edges TS__UNSET; // CUT: bits 1 << ts_edge_kind
    // SPARE: span_count spans in any order; they may overlap
    const ts_host_span *spans TS__UNSET;
    size_t span_count TS__UNSET;
    // BEGIN: one for each part of ts_replay_part_at (NULL: 0)
    const int64_t *sooner_ns TS__UNSET;
    // TRANSFER: bytes of each operation, 0 unknown (NULL: all unknown)
    const uint64_t *sizes TS__UNSET;
} ts_change;

// A class of delays, as a model uses it.
typedef struct ts_delay {
    uint32_t kind;     // ts_edge_kind
    uint32_t from, to; // kinds of operations; 0: the host, or several
    uint32_t device;   // track; 0: not on one device
    uint32_t name;     // of the function called; 0: none, or several
    uint32_t file;
    int64_t delay_ns;        // used in place of the recorded delays
    int64_t low_ns, high_ns; // samples outside stay as recorded
    uint64_t edges, samples; // samples: edges that were the last satisfied
    bool coarser; // too few samples: the delay is that of a coarser class
    bool assumed; // no sample: the delay is a constant
} ts_delay;

// Gets class number `index` of the model, after a run in TS_REPLAY_MODEL.
// False past the end.
TS_API bool ts_replay_delay(const ts_replay *replay, size_t index,
                            ts_delay *delay);

// A part of the critical path: a node that runs, or one that waits.
typedef struct ts_path_part {
    int64_t start_ns, end_ns;
    uint32_t node; // that runs, or that waits
    uint32_t edge; // if it waits: ts_edge_kind of the edge it waited for
    bool waits;
    ts_cost cost;
} ts_path_part;

/*
    The critical path of the last run: from the latest end back to the start of
    the schedule, always to what was satisfied last. Parts are in order of time
    and without gaps, so that their sum is the makespan (end_ns - start_ns of
    the stats). A wait is charged to the cost of its edge for as long as the
    class of the edge usually takes, in either mode; what is longer than the
    samples of the class explain is charged to UNEXPLAINED.
*/
typedef struct ts_path {
    const ts_path_part *parts; // count elements
    size_t count;
    int64_t cost_ns[TS_COST_LIMIT]; // sums of the parts
    ts_cost bound;                  // the largest of them
    int64_t assumed_ns; // model: delays for which the record has fewer than
                        // eight samples, or none
} ts_path;

/*
    Finds the critical path of the last run.

    Errors:   TS_ERR_STATE there was no run; TS_ERR_MEMORY.
    Lifetime: until the next run or close.
*/
TS_API ts_result ts_replay_path(ts_replay *replay, ts_path *path);

/*
    A step: one iteration of the program. Steps are zones called
    "ProfilerStep#N", else frames, of the first file that has any. An operation
    belongs to the step in which the host issued it. A step lasts from the end
    of the step before it (the first: from the start of the schedule) to the
    latest end of its operations, so that all steps together are the makespan.
    What comes before the first step or after the last counts to that step.
*/
typedef struct ts_step {
    ts_text name; // of the zone; frames: "frame"
    uint64_t number, operations;
    int64_t recorded_ns;            // its recorded duration, by the same rule
    int64_t start_ns, end_ns;       // in the last run
    int64_t cost_ns[TS_COST_LIMIT]; // of the critical path in it
} ts_step;

/*
    Gets the steps of the last run, in order of time: *count elements. A trace
    without steps has 0 of them and that is no error.

    Errors:   TS_ERR_STATE there was no run; TS_ERR_MEMORY.
    Lifetime: until the next run or close.
*/
TS_API ts_result ts_replay_steps(ts_replay *replay, const ts_step **steps,
                                 size_t *count);

// An operation that TS_CHANGE_INSERT added to the last run.
typedef struct ts_inserted {
    uint32_t after;  // operation that it follows
    uint32_t change; // index in ts_replay_run_desc.changes
    int64_t start_ns, end_ns;
} ts_inserted;

// Gets inserted operation number `index`, in order of `after`. False past the
// end.
TS_API bool ts_replay_inserted(const ts_replay *replay, size_t index,
                               ts_inserted *inserted);

/* ==== 8. Timeline ======================================================== */
// src/replay/public/timeline.h

/*
    A timeline shows what every stream and device did at which time, and why a
    device had nothing to do. Its times are those of the record or those of the
    last run. *Work* is kernels, copies, memsets and collectives. A device is
    *busy* while any of its work runs, and *idle* in the rest of its span, from
    the start of its first work to the end of its last: what it did before and
    after may lie outside of the record.

    From its first call to the end of the timeline a stream is in one state:
    RUNNING   an operation of its own runs, host functions included;
    WAITING   nothing runs, and it is in an event wait, or its next operation is
              issued but a dependency other than its call is not done;
    PENDING   nothing runs, an operation is issued, and nothing is known to
              delay it;
    IDLE      nothing runs, and every issued operation has begun;
    FINISHED  its last operation has ended.
    An operation whose call is unknown counts as issued when it begins.
*/
#define TS_STATES(X) \
    X(IDLE, 0, "idle") \
    X(PENDING, 1, "dispatch_pending") \
    X(RUNNING, 2, "running") \
    X(WAITING, 3, "waiting") \
    X(FINISHED, 4, "finished")

typedef enum ts_state {
#define TS__X(name, value, text) TS_STATE_##name = value,
    TS_STATES(TS__X)
#undef TS__X
} ts_state;
#define TS_STATE_LIMIT 5

/*
    Why a device is idle. A *gap* is a maximal interval without work. It ends
    when an operation X begins, and is charged as a whole to one cause. The
    search starts at X and follows, backwards, the edge that was satisfied last,
    through nodes that are not work (event waits, records, joins), to the
    *culprit*: a host call, or other work. Of edges satisfied at the same moment
    recorded ones come before inferred ones, then the higher ts_edge_kind, then
    the earlier source. Work of no duration does not count as work. An event
    wait of no duration was delayed by its event or its predecessor, not by its
    call.

    UNEXPLAINED     There is no culprit, or it was done long before X began:
                    longer than TS_TIMELINE_SLOW_NS and 8 times the median
                    launch latency of the device. A call is done at its end;
                    its delay must also exceed the time from the start of the
                    gap to the call.
    X's own call takes the place of work that was done before the call began, or
    that was done too long ago if the call was not.
    If the culprit is the call that launched X:
    LAUNCH_LATENCY  It began before the gap, or with it.
    HOST_SYNC       It began in the gap, and at least half of that delay its
                    thread was blocked in synchronisations that ended in the
                    gap: without them it would have been half as late.
    QUEUE_FULL      The same, blocked in launches that waited for room in a
                    queue. Such a launch counts as made when it had room.
    HOST_LATE       It began in the gap for other reasons. The same cause is
                    given if X waited for a host function of its stream.
    If the culprit is work:
    LAUNCH_LATENCY  It ran on X's own stream: the gap between two consecutive
                    operations is the time it takes to dispatch the second.
    COPY            It was a copy or a memset on another stream or device.
    COLLECTIVE      It was a collective on another stream or device.
    OTHER_STREAM    It was a kernel on another stream or device.
    If a late call was blocked in both ways, the longer one is the cause.
*/
#define TS_IDLES(X) \
    X(HOST_LATE, 0, "host_late") \
    X(LAUNCH_LATENCY, 1, "launch_latency") \
    X(OTHER_STREAM, 2, "other_stream") \
    X(COPY, 3, "copy") \
    X(COLLECTIVE, 4, "collective") \
    X(HOST_SYNC, 5, "host_sync") \
    X(QUEUE_FULL, 6, "queue_full") \
    X(UNEXPLAINED, 7, "unexplained")

typedef enum ts_idle {
#define TS__X(name, value, text) TS_IDLE_##name = value,
    TS_IDLES(TS__X)
#undef TS__X
} ts_idle;
#define TS_IDLE_LIMIT 8
enum { TS_TIMELINE_SLOW_NS = 20000 };

// Kinds of work, in order of precedence: see ts_timeline_figures.only_ns.
// COPY includes memsets.
#define TS_WORKS(X) \
    X(KERNEL, 0, "kernel") \
    X(COLLECTIVE, 1, "collective") \
    X(COPY, 2, "copy")

typedef enum ts_work {
#define TS__X(name, value, text) TS_WORK_##name = value,
    TS_WORKS(TS__X)
#undef TS__X
} ts_work;
#define TS_WORK_LIMIT 3

// Returns the name of a ts_state, such as "running"; "unknown" for any other
// number. Static.
TS_API const char *ts_state_name(uint32_t state);

// Returns the name of a ts_idle, such as "host_late"; "unknown" for any other
// number. Static.
TS_API const char *ts_idle_name(uint32_t idle);

// Returns the name of a ts_work, such as "kernel"; "unknown" for any other
// number. Static.
TS_API const char *ts_work_name(uint32_t work);

// What a timeline shows. All zeros is the whole record.
typedef struct ts_timeline_desc {
    bool replayed TS__UNSET; // times of the last run (false: of the record)
    // compute the figures of [from, to) (both 0: of everything)
    int64_t from_ns TS__UNSET, to_ns TS__UNSET;
    // for each file: the time since which its devices had no other work, if
    // that is before the selection; INT64_MAX: not known (NULL: the metadata
    // cut.begin_ns, which traces cut from a step have)
    const int64_t *begin_ns TS__UNSET;
    ts_allocator allocator TS__UNSET; // (malloc and free)
} ts_timeline_desc;

// The analysed times of a replay. Opaque; read-only once it is open.
typedef struct ts_timeline ts_timeline;

/*
    Analyses the selected operations of a replay, or, with `replayed`, those
    that ran (desc NULL: all defaults). Causes are found by the edges of the
    record, whatever a model changed. *timeline is NULL on failure.

    Threads:  any number of threads may read a timeline.
    Memory:   about 65 bytes for each operation.
    Errors:   TS_ERR_NOT_FOUND there is no such operation
              TS_ERR_STATE     `replayed`, but there was no run
              TS_ERR_USAGE     `to` is not after `from`
              TS_ERR_CORRUPT   sums do not add up: a bug of this library
              TS_ERR_MEMORY
    Lifetime: the replay must outlive it, and must not be run meanwhile.
    Free:     ts_timeline_close.
*/
TS_API ts_result ts_timeline_open(ts_timeline **timeline,
                                  const ts_replay *replay,
                                  const ts_timeline_desc *desc);

// Frees a timeline and everything that it returned. NULL is allowed.
TS_API void ts_timeline_close(ts_timeline *timeline);

// The figures of one device, or the sums and extremes over all devices. Only
// times within [from, to) count.
typedef struct ts_timeline_figures {
    uint32_t file, track;     // the device; track 0: unknown, or all devices
    uint64_t operations;      // of work
    int64_t start_ns, end_ns; // span; of all devices: from first to last
    int64_t busy_ns, idle_ns; // add up to the span
    // by ts_work: time during which work of that kind ran; kinds may overlap
    int64_t work_ns[TS_WORK_LIMIT];
    // by ts_work: time during which it ran and no kind before it in TS_WORKS
    // did; add up to busy_ns
    int64_t only_ns[TS_WORK_LIMIT];
    int64_t cause_ns[TS_IDLE_LIMIT]; // by ts_idle; add up to idle_ns
    uint64_t causes[TS_IDLE_LIMIT];  // gaps by ts_idle
    // Part of cause_ns of LAUNCH_LATENCY in which X was already in the queue of
    // its stream: the work before it on the stream ended the median launch
    // latency of the device, or later, after X's call had begun. In the rest
    // the launch of X was still on its way.
    int64_t dispatch_ns;
    // idle time charged by recorded edges alone, by inferred edges as well, and
    // to no cause; add up to idle_ns
    int64_t explicit_ns, inferred_ns, unexplained_ns;
    // launch latency: from a call to its operation, where the call was the last
    // dependency; percentiles are 0 in the figures of all devices
    uint64_t launches;
    int64_t launch_p50_ns, launch_p95_ns, launch_max_ns;
    // queue depth: operations issued but not begun. Its maximum, and its
    // integral over time from the first work on
    uint32_t queue_max;
    int64_t queue_ns; // divide by the span for the mean depth
} ts_timeline_figures;

// Returns the figures of all devices. Lifetime: until close.
TS_API const ts_timeline_figures *
ts_timeline_total(const ts_timeline *timeline);

// Returns the figures of a device, numbered as by ts_replay_device; NULL past
// the end. Lifetime: until close.
TS_API const ts_timeline_figures *
ts_timeline_device(const ts_timeline *timeline, size_t device);

// Gets how long exactly k operations of a device ran at once: (*times_ns)[k],
// 0 <= k < the number returned. 0 and NULL if there is no such device.
// Lifetime: until close.
TS_API size_t ts_timeline_concurrency(const ts_timeline *timeline,
                                      size_t device, const int64_t **times_ns);

// Returns the queue depth of a device at a time: operations that are issued but
// have not begun. 0 if there is no such device.
TS_API uint32_t ts_timeline_queue(const ts_timeline *timeline, size_t device,
                                  int64_t time_ns);

// Returns the maximum queue depth of a device in [from, to).
TS_API uint32_t ts_timeline_queue_most(const ts_timeline *timeline,
                                       size_t device, int64_t from_ns,
                                       int64_t to_ns);

// An interval in which a device was idle.
typedef struct ts_gap {
    int64_t start_ns, end_ns; // all of it, also beyond [from, to)
    uint32_t operation;       // that ended it
    uint32_t culprit;         // node that the operation waited for. HOST_SYNC,
                              // QUEUE_FULL: the call that blocked the thread
                              // longest. TS_NODE_NONE: unknown
    uint8_t edge;             // on the way from the operation to the culprit:
                              // ts_edge_kind of the first edge that is not
                              // stream order
    bool inferred;            // some edge on the way is inferred
    ts_idle cause;
} ts_gap;

// Gets gap number `index` of a device, of those that touch [from, to), in order
// of time. False past the end.
TS_API bool ts_timeline_gap(const ts_timeline *timeline, size_t device,
                            size_t index, ts_gap *gap);

// Returns the number of gaps of a device that touch [from, to); 0 if there is
// no such device.
TS_API size_t ts_timeline_gap_count(const ts_timeline *timeline, size_t device);

// Returns the node that a node waited for last, found as for a gap, and sets
// *edge and *inferred as in ts_gap. TS_NODE_NONE: it did not wait.
TS_API uint32_t ts_timeline_culprit(const ts_timeline *timeline, uint32_t node,
                                    uint8_t *edge, bool *inferred);

// An interval that a stream spends in one state.
typedef struct ts_state_span {
    ts_state state;
    int64_t start_ns, end_ns;
    uint32_t operation; // RUNNING: the first that runs; else the next one;
                        // TS_NODE_NONE: none
    uint32_t culprit;   // WAITING: node that it waits for, or TS_NODE_NONE
    uint8_t edge;       // WAITING: as in ts_gap
    bool inferred;      // likewise
} ts_state_span;

// An iterator over the state spans of a stream. It needs no close.
typedef struct ts_state_spans {
    const ts_timeline *timeline; // private, like all fields
    size_t at, end;
    int64_t now_ns, busy_ns, wait_ns;
    int64_t begin_ns, finish_ns, issue_ns; // of the next operation
    uint32_t next_op;
    uint8_t next_kind;
    uint32_t runs, waits;
    bool more, kept;
    ts_state_span next;
} ts_state_spans;

// Begins an iteration over the state spans of a stream, numbered as by
// ts_replay_lane. A stream without operations has none. Spans are not clipped
// to [from, to). Lifetime: the timeline must outlive it.
TS_API ts_state_spans ts_timeline_state_spans(const ts_timeline *timeline,
                                              size_t stream);

// Gets the next state span, in order of time, each beginning where the one
// before ends. False at the end.
TS_API bool ts_state_spans_next(ts_state_spans *spans, ts_state_span *span);

/*
    An overview computes the figures of a whole trace of any length in little
    memory: window after window (see ts_replay_desc), each loaded with a margin
    before and after it, several in parallel.

    These figures are exact for the whole trace: span, busy and idle time,
    work_ns, only_ns, operations and gaps. A gap belongs to the window in which
    it ends, with all of its time, even if it began several windows earlier. Its
    cause is found in that window. It is the same as in the graph of the whole
    trace if everything that it rests on lies in the window or its margin:
    medians of launch latencies and delays are those of the window, waits and
    calls before the margin are unknown, and the call of an operation is known
    if it was made at most one window earlier. The same holds for launches and
    queues.

    Windows are cut by the number of operations in the chunks, so that the
    figures do not depend on the number of threads.
*/
typedef struct ts_overview_desc {
    uint32_t window_operations TS__UNSET; // in a window, about (50,000)
    // in each margin, about (a tenth of window_operations)
    uint32_t margin_operations TS__UNSET;
    uint32_t gap_count TS__UNSET; // how many of the longest gaps to keep (100)
    uint32_t threads TS__UNSET;   // (the reader's)
    // as in ts_replay_desc
    uint32_t queue_depth TS__UNSET, connections TS__UNSET;
    bool no_inference TS__UNSET;
    ts_allocator allocator TS__UNSET; // used by all threads (malloc and free)
} ts_overview_desc;

// The figures of a whole trace. Opaque; read-only once it is open.
typedef struct ts_overview ts_overview;

/*
    Computes the overview of a trace (desc NULL: all defaults). *overview is
    NULL on failure.

    Threads:  any number of threads may read an overview.
    Memory:   about 350 bytes for each operation of a window and its margins
              on each thread, and 4 for each operation of the trace.
    Errors:   TS_ERR_NOT_FOUND there is no GPU operation
              TS_ERR_USAGE     an argument is NULL
              TS_ERR_CORRUPT   sums do not add up: a bug of this library
              TS_ERR_MEMORY
    Lifetime: the reader must outlive it.
    Free:     ts_overview_close.
*/
TS_API ts_result ts_overview_open(ts_overview **overview, ts_reader *reader,
                                  const ts_overview_desc *desc);

// Frees an overview and everything that it returned. NULL is allowed.
TS_API void ts_overview_close(ts_overview *overview);

// Returns the figures of all devices. Lifetime: until close.
TS_API const ts_timeline_figures *
ts_overview_total(const ts_overview *overview);

// Returns the figures of a device, numbered as by ts_replay_device of the whole
// trace; NULL past the end. launch_p50_ns and launch_p95_ns are capped at 4 s.
// Lifetime: until close.
TS_API const ts_timeline_figures *
ts_overview_device(const ts_overview *overview, size_t device);

// Gets gap number `index` of the longest gaps of all devices: longest first, of
// equal ones the earlier first. `operation`, and `culprit` if it is one, are
// numbered as by ts_replay_operation of the whole trace. False past the end.
TS_API bool ts_overview_gap(const ts_overview *overview, size_t index,
                            size_t *device, ts_gap *gap);

// One window of an overview and the figures of its graph.
typedef struct ts_overview_window {
    int64_t from_ns, to_ns; // the first window has no beginning, the last no
                            // end
    uint64_t operations;    // that begin in it, of any kind
    ts_replay_stats plan;   // of the graph, margins included
} ts_overview_window;

// Gets window number `index`, in order of time. False past the end.
TS_API bool ts_overview_window_at(const ts_overview *overview, size_t index,
                                  ts_overview_window *window);

/* ==== 9. Races =========================================================== */
// src/replay/public/races.h

/*
    Two operations race if they access the same memory, at least one of them
    writes it, and neither has to happen before the other: the graph has no path
    between them. Their times in the record do not matter.

    These order operations: streams, events, syncs, launches, the order of calls
    on a host thread, legacy default streams, graph launches, collectives, and
    dependencies stated by the trace. These do not: inferred edges, edges of a
    full queue, and a copy whose asynchronous call returned late in this run.
    Operations of one stream are in order, even where they overlap in the
    record.

    Accesses are known for copies and memsets (their ranges), device allocations
    and frees, operations that have events of kind `access`, host accesses that
    the trace reports, and the host's own allocations and frees (without a pool)
    where a copy or an access reaches into them. The source of a copy from
    pageable memory is read when the call is made. A free on a device or context
    waits for that device.

    For each operation the latest unordered one of each other stream is found,
    but not the ones before it on that stream: a fix that orders the latest one
    orders them, too. Such a pair is an *instance*. Instances with the same two
    launch sites (kind, name, zone, stack) form one *race*, which the first of
    them represents.
*/
#define TS_RACES(X) \
    X(WRITE_WRITE, 0, "write_write") \
    X(READ_WRITE, 1, "read_write") \
    X(USE_AFTER_FREE, 2, "use_after_free") \
    X(UNORDERED_FREE, 3, "unordered_free") \
    X(DOUBLE_FREE, 4, "double_free") \
    X(UNORDERED_ALLOC, 5, "unordered_alloc")

// WRITE_WRITE and READ_WRITE: two unordered accesses. UNORDERED_FREE: a free
// that may come before the use. UNORDERED_ALLOC: a use that may come before the
// allocation. USE_AFTER_FREE and DOUBLE_FREE are wrong in every order.
typedef enum ts_race_kind {
#define TS__X(name, value, text) TS_RACE_##name = value,
    TS_RACES(TS__X)
#undef TS__X
} ts_race_kind;
#define TS_RACE_LIMIT 6

// How to repair a race.
#define TS_RACE_FIXES(X) \
    X(EVENT_WAIT, 0, "event_wait") \
    X(HOST_SYNC, 1, "host_sync") \
    X(LAUNCH_LATER, 2, "launch_later") \
    X(FREE_LATER, 3, "free_later") \
    X(FREE_ONCE, 4, "free_once")

// EVENT_WAIT: record an event after the first operation and let the stream of
// the second wait for it. HOST_SYNC: let the host wait for the first before it
// does the second. LAUNCH_LATER: let the host launch the second after it did
// the first. FREE_LATER: free after the last use. FREE_ONCE: remove one free.
typedef enum ts_race_fix {
#define TS__X(name, value, text) TS_RACE_FIX_##name = value,
    TS_RACE_FIXES(TS__X)
#undef TS__X
} ts_race_fix;

// Returns the name of a ts_race_kind, such as "write_write"; "unknown" for any
// other number. Static.
TS_API const char *ts_race_name(uint32_t kind);

// Returns the name of a ts_race_fix, such as "event_wait"; "unknown" for any
// other number. Static.
TS_API const char *ts_race_fix_name(uint32_t fix);

// One of the two accesses of a race. Those that the host itself makes have the
// kind access, alloc or free.
typedef struct ts_race_side {
    ts_event_kind kind;
    uint32_t file;
    uint32_t operation;       // index of ts_replay_operation, or TS_NODE_NONE
    uint32_t track, thread;   // its track; the thread that launched or did it
    uint32_t site, stack;     // of the launch; 0 unknown
    int64_t start_ns, end_ns; // as recorded
    uint64_t address, size;   // of the accessed range
    uint32_t mode;            // TS_ACCESS_...
} ts_race_side;

typedef struct ts_race {
    ts_race_kind kind;
    ts_race_fix fix;
    ts_race_side first, second; // in order of launch, else of time
    uint64_t address, size;     // range that both access
    bool coarse; // every instance rests on a coarse access (a whole allocation)
    uint64_t instances;
} ts_race;

// How much the search covered, and what it found.
typedef struct ts_races_stats {
    // selected operations that may access memory: work, host functions,
    // allocations and frees
    uint64_t operations;
    uint64_t known;         // of these: their ranges are known
    uint64_t coarse;        // of the known: a range is a whole allocation
    uint64_t unplaced;      // of the known: neither stream nor thread is known
    uint64_t host;          // accesses, allocations and frees of the host
    uint64_t ranges;        // of all of these
    uint64_t bad_ranges;    // empty, or past the end of the address space
    uint64_t lost_accesses; // access events whose operation is not in the trace
    uint64_t unknown_frees; // of memory whose allocation is not in the trace
    uint64_t unknown_order; // pairs left out: the call of the later is unknown
    uint64_t cycle;         // operations left out: they wait in a cycle
    uint64_t capped;        // lists of unordered partners cut at 64
    uint64_t races;         // found; the first 100,000 are kept
    uint64_t instances;
} ts_races_stats;

// The races of a replay. Opaque.
typedef struct ts_races ts_races;

/*
    Searches for races among the selected operations of a replay. *races is NULL
    on failure. It is no failure if no access is known: see `known` and `host`
    of the stats.

    Threads:  many threads may read it, but ts_races_explore and ts_races_order
              need it alone.
    Memory:   about 150 bytes for each range and 40 for each node of the graph.
    Errors:   TS_ERR_UNSUPPORTED more than 65,536 streams and threads, or 2^30
                                 ranges
              TS_ERR_USAGE       an argument is NULL
              TS_ERR_MEMORY
    Lifetime: the replay must outlive it.
    Free:     ts_races_close.
*/
TS_API ts_result ts_races_open(ts_races **races, const ts_replay *replay);

// Frees the races and everything that they returned. NULL is allowed.
TS_API void ts_races_close(ts_races *races);

// Returns the figures of the search. Lifetime: until close.
TS_API const ts_races_stats *ts_races_result(const ts_races *races);

// Gets race number `index`, in the order of discovery. False past the end.
TS_API bool ts_races_at(const ts_races *races, size_t index, ts_race *race);

// Returns a name for a side: that of its kernel or function, else of its kind.
// Lifetime: as long as the reader is open.
TS_API ts_text ts_race_side_label(const ts_races *races,
                                  const ts_race_side *side);

/*
    An exploration runs the operations with known accesses again and again, in
    other orders that the graph allows, on a symbolic memory. An operation
    writes a hash of itself and of everything that it reads; a copy moves
    contents, a memset fills, a free destroys. After each order the memory, and
    what the host read, are compared with the recorded order.

    Order i of seed s equals order 0 of seed s + i, on every machine. Half of
    the orders reverse one racing pair, a quarter schedules streams by random
    priorities that change a few times, a quarter schedules operations by random
    priorities. Pairs that ts_races does not examine (unknown order, two host
    threads, allocations and frees among each other) keep their recorded order.

    Two orders are equivalent if all pairs that access the same memory come in
    the same order in both; `distinct` counts orders without an equivalent
    earlier one.
*/
typedef struct ts_explore_desc {
    // how many orders to try; the first that differs ends the exploration (1)
    uint64_t orders TS__UNSET;
    uint64_t seed TS__UNSET; // (0)
    // called with the number of orders done; false ends the exploration (NULL)
    bool (*progress)(void *user, uint64_t done) TS__UNSET;
    void *user TS__UNSET;
} ts_explore_desc;

typedef struct ts_exploration {
    uint64_t orders;     // that were run
    uint64_t distinct;   // of these, counted up to a million
    uint64_t operations; // steps of an order, with calls and host accesses
    bool differs;        // some order leaves other contents than recorded
    uint64_t seed;       // of the order that differs
    // The cause: with `first` right before `second` the memory is as recorded;
    // if just these two are swapped, it is not.
    ts_race_side first, second;
    uint64_t address, size; // the first range that differs
} ts_exploration;

/*
    Runs other legal orders (desc NULL: one order of seed 0) and reports the
    first that differs.

    Errors: TS_ERR_NOT_FOUND no access is known
            TS_ERR_USAGE     races or result is NULL
            TS_ERR_MEMORY
*/
TS_API ts_result ts_races_explore(ts_races *races, const ts_explore_desc *desc,
                                  ts_exploration *result);

/*
    The following functions are the parts of ts_races_explore, for programs that
    run orders themselves, for example on a device. The caller allocates a
    symbolic memory, aligned to 8 bytes. The steps of an order are numbered from
    0 in the recorded order; ts_exploration.operations is their number.

    Threads: one step of a memory at a time.
*/

// Returns the size of a symbolic memory in bytes.
TS_API size_t ts_races_memory_size(const ts_races *races);

// Initialises a symbolic memory before the first step of an order.
TS_API void ts_races_memory_clear(const ts_races *races, void *memory);

// Runs a step on a symbolic memory. Does nothing past the last step.
TS_API void ts_races_memory_step(const ts_races *races, void *memory,
                                 uint32_t step);

// Returns a digest of the contents of a symbolic memory and of what the host
// read.
TS_API uint64_t ts_races_memory_digest(const ts_races *races,
                                       const void *memory);

// Returns the stream or thread of a step, numbered from 0; 0 past the last
// step.
TS_API uint32_t ts_races_step_lane(const ts_races *races, uint32_t step);

/*
    Gets an order: that of *seed, or the recorded one (seed NULL). order
    receives all steps.

    Errors: TS_ERR_NOT_FOUND (no access is known), TS_ERR_MEMORY.
*/
TS_API ts_result ts_races_order(ts_races *races, const uint64_t *seed,
                                uint32_t *order);

/* ==== 10. Execution ====================================================== */
// src/replay/public/execute.h

/*
    Captured operations, and running them again (docs/execution.md). Counts and
    sizes of a capture are checked when it is read, so that they fit its record;
    addresses, hashes and names are whatever the file contains.
*/

// The encoded attributes of an operation: see ts_attribute_next.
typedef struct ts_attributes {
    const uint8_t *bytes;
    uint64_t size;
} ts_attributes;

// A decoded attribute.
typedef struct ts_attribute {
    uint32_t id, size; // TS_ATTRIBUTE_...; bytes
    const void *bytes; // aligned to 8
} ts_attribute;

// A captured operation. Lifetime: until the reader is closed.
typedef struct ts_capture {
    ts_capture_operation head;        // kind, stream, place in the trace ...
    const ts_capture_param *params;   // head.param_count
    const uint8_t *args;              // head.args_size
    const ts_capture_region *regions; // head.region_count
    ts_attributes attributes;
} ts_capture;

// Returns whether events of a kind change or read the contents of memory, so
// that they may be captured. Other kinds only order operations. They may share
// the correlation of a captured one: an event record made for a wait has the
// correlation of what is waited for.
TS_API bool ts_event_has_contents(uint32_t kind);

// Returns the file descriptor of the trace, so that a caller can examine the
// very file that is being read; -1 for a trace in memory or from a pipe. The
// reader closes it.
TS_API int ts_reader_file(const ts_reader *reader);

// Decodes the attribute at offset *at and moves *at behind it. Begin with 0.
// False at the end.
TS_API bool ts_attribute_next(const ts_attributes *attributes, uint64_t *at,
                              ts_attribute *found);

// Finds the first attribute with an id and at least `size` bytes. False: none.
TS_API bool ts_attribute_find(const ts_attributes *attributes, uint32_t id,
                              uint32_t size, ts_attribute *found);

// A node of a captured graph launch (TS_EVENT_GRAPH_LAUNCH).
typedef struct ts_capture_node {
    ts_capture_operation head; // parameters and regions are those of the launch
    uint32_t index;            // from 1
    uint32_t args_at;          // offset of its arguments in those of the launch
    const uint32_t *after;     // positions, from 0, of nodes that it waits for
    uint32_t after_count;      // elements of `after`
    ts_attributes attributes;
    uint64_t at; // private
} ts_capture_node;

// Gets the node after *node. Begin with a node of zeros. False at the end.
TS_API bool ts_capture_node_next(const ts_capture *capture,
                                 ts_capture_node *node);

// Gets captured operation number `index`, in the order of the file. False past
// the end. Damaged records are left out; the reader lists them. Threads: any.
TS_API bool ts_reader_capture(ts_reader *reader, size_t index,
                              ts_capture *capture);

// Returns the number of captured operations. Threads: any.
TS_API size_t ts_reader_capture_count(ts_reader *reader);

// Gets the code image with a number. False if the trace does not have it.
// Threads: any.
TS_API bool ts_reader_image(ts_reader *reader, uint32_t id,
                            ts_capture_image *image);

// Gets code image number `index`, in the order of the file. False past the end.
// Threads: any.
TS_API bool ts_reader_image_at(ts_reader *reader, size_t index,
                               ts_capture_image *image);

// Returns the name of a ts_reason, such as "VA_UNAVAILABLE"; "unknown" for any
// other number. Static.
TS_API const char *ts_reason_name(uint32_t reason);

// Returns a ts_reason as a clause for people, such as "it works with other
// processes"; "it" is the operation. Static.
TS_API const char *ts_reason_text(uint32_t reason);

// A range of device memory that operations use.
typedef struct ts_executor_range {
    uint64_t address, size; // as recorded
    uint32_t device;        // number, from 0
    const char *name;       // of the device, as recorded; NULL: not known
} ts_executor_range;

// Limit for the size of a compressed code image, as is
// ts_execution_desc.memory_bytes. Operations with larger code are declined.
enum { TS_EXECUTION_CODE_BYTES = 1 << 30 };

// Code that an executor loads.
typedef struct ts_executor_code {
    const char *path;    // of its file when it was recorded
    const char *options; // with which it was built
    const void *bytes;   // valid during the call; NULL: not in the trace
    uint64_t size;
    uint64_t hash[2]; // XXH3-128 of the bytes
    uint32_t form;    // ts_capture_form
} ts_executor_code;

// A kernel launch. Pointers are valid during the call.
typedef struct ts_executor_launch {
    uint64_t module, function; // module: of `load`; function: offset in it
    const char *name;
    const uint32_t *grid, *block; // 3 elements each
    // shared: bytes of dynamic shared memory; args_size: bytes
    uint32_t shared, args_size, param_count;
    const void *args;
    const ts_capture_param *params; // param_count; none for a graph's node
    ts_attributes attributes;
} ts_executor_launch;

typedef struct ts_executor_copy {
    uint64_t destination, source, size; // addresses of a device, unless
    bool to_host, from_host;            // this end is memory of the process
    ts_attributes attributes;
} ts_executor_copy;

// A memset.
typedef struct ts_executor_set {
    uint64_t destination, size;
    uint64_t value; // a byte, unless an attribute holds a pattern
    ts_attributes attributes;
} ts_executor_set;

/*
    An executor runs captured operations on the devices of one vendor. Backends
    implement it; addresses are those of the device. Functions return TS_OK or
    an error. Those with `why` may write one clause for people there, at most
    `room` bytes with its zero.

    Threads: one call at a time for each state.
*/
typedef struct ts_executor {
    const char *name; // as in captures: "vdev"
    bool host_memory; // device memory is memory of this process
    // Attributes that it supports, then a 0; NULL: none. An operation with any
    // other attribute is never run.
    const uint32_t *attributes;
    // Opens the devices. ranges: count ranges that may be allocated, in order
    // of device and address. TS_ERR_UNSUPPORTED: the vendor's library or a
    // device is missing.
    ts_result (*open)(void **state, uint32_t device_count,
                      const ts_executor_range *ranges, size_t count, char *why,
                      size_t room);
    void (*close)(void *state); // state NULL is allowed
    // Optional: returns the reason why the last call failed, unless its result
    // is MEMORY, BUSY or CORRUPT. TS_REASON_NONE: the result says enough.
    ts_reason (*reason)(void *state);
    // Allocates device memory, at *address if possible, and sets *address to
    // where it is. Another address is no failure.
    ts_result (*allocate)(void *state, uint32_t device, uint64_t *address,
                          uint64_t size);
    // Frees what `allocate` returned.
    ts_result (*release)(void *state, uint64_t address);
    // Copy between this process and device memory. Nothing runs meanwhile.
    ts_result (*write)(void *state, uint64_t address, const void *bytes,
                       uint64_t size);
    ts_result (*read)(void *state, void *bytes, uint64_t address,
                      uint64_t size);
    // Loads code. TS_ERR_NOT_FOUND: the code is not available;
    // TS_ERR_UNSUPPORTED: it is for another machine, or of a form that the
    // executor cannot load.
    ts_result (*load)(void *state, const ts_executor_code *code,
                      uint64_t *module, char *why, size_t room);
    // Gets the address of a global variable of a module on a device.
    ts_result (*global)(void *state, uint64_t module, uint32_t device,
                        uint64_t offset, uint64_t size, uint64_t *address);
    // Creates a stream.
    ts_result (*stream)(void *state, uint32_t device, uint64_t flags,
                        uint64_t *stream);
    // Submit an operation to a stream. The caller may change the arguments of a
    // launch when the call returns; host memory of a copy stays valid until the
    // next `wait`.
    ts_result (*launch)(void *state, uint64_t stream,
                        const ts_executor_launch *launch);
    ts_result (*copy)(void *state, uint64_t stream,
                      const ts_executor_copy *copy);
    ts_result (*set)(void *state, uint64_t stream, const ts_executor_set *set);
    // Waits until everything is done. TS_ERR_BUSY: the time is over.
    ts_result (*wait)(void *state, uint32_t timeout_ms);
    // Optional, if streams run concurrently: creates an event that completes
    // when everything submitted to the stream so far is done, and makes a
    // stream wait for an event.
    ts_result (*event)(void *state, uint64_t stream, uint64_t *event);
    ts_result (*event_wait)(void *state, uint64_t stream, uint64_t event);
    // Optional: records an event again; later waits are for the new record.
    // NULL: branches of captured graphs run one after another.
    ts_result (*event_again)(void *state, uint64_t stream, uint64_t event);
    // Optional: graphs. Operations submitted between graph_begin and graph_end
    // become a graph and do not run. The graph begins and ends on `stream`;
    // other streams join it by events. Arguments need to live during the call
    // only, host memory until the execution closes. graph_begin returns
    // TS_ERR_UNSUPPORTED if the device has no graphs. graph_launch returns
    // TS_ERR_BUSY while an earlier launch runs and the device takes no other;
    // the caller tries again until the time is over.
    ts_result (*graph_begin)(void *state, uint64_t stream);
    ts_result (*graph_end)(void *state, uint64_t stream, uint64_t *graph);
    ts_result (*graph_launch)(void *state, uint64_t stream, uint64_t graph);
    // Optional: sets *blank to whether the chunk (TS_CAPTURE_CHUNK bytes) at
    // `address` is still zero because nobody has written it; such memory is
    // neither written nor read. Returns for how many bytes from there on, of
    // one allocation, this holds: at least a chunk, or all that is left.
    // NULL: not known. Nothing runs meanwhile.
    uint64_t (*blank)(void *state, uint64_t address, uint64_t size,
                      bool *blank);
    // Optional: hashes device memory chunk by chunk as captures do, so that
    // only chunks that differ are read. Each chunk has more than 240 bytes.
    // Without it, after a failure, and where reading is faster, everything is
    // read.
    ts_result (*hash)(void *state, uint64_t address, uint64_t size,
                      uint64_t *hashes);
} ts_executor;

/*
    Polls, for executors whose devices have no wait with a timeout: calls
    ask(state) at growing intervals (5 us to 1 ms) until it returns something
    else than TS_ERR_BUSY or the time is over. Returns the last result. Calls it
    at least once.
*/
TS_API ts_result ts_executor_poll(ts_result (*ask)(void *state), void *state,
                                  uint32_t timeout_ms);

/*
    When a value counts as equal to the expected one. NaN equals NaN, an
    infinity equals only itself, and every value equals itself.
*/
typedef enum ts_compare {
    TS_COMPARE_EXACT = 0, // same bits
    TS_COMPARE_ULP = 1,   // at most `tolerance` representable values apart
    TS_COMPARE_RTOL = 2,  // at most `tolerance` times the expected value apart
} ts_compare;

// Element types by their numbers in the format: 1 i8, 2 u8, 3 i32, 4 u32,
// 5 i64, 6 u64, 7 f16, 8 f32, 9 f64, 10 bf16, 11 f8e4m3, 12 f8e5m2.
enum { TS_ELEMENT_F32 = 8, TS_ELEMENT_F64 = 9, TS_ELEMENT_LIMIT = 13 };

// Returns the name of an element type, such as "f32"; NULL: no such type.
TS_API const char *ts_element_name(uint64_t element);

// Returns the size of an element type in bytes; 0: no such type.
TS_API uint32_t ts_element_size(uint64_t element);

// Returns the value of an element as a double; integers are rounded to the
// nearest one. bytes: ts_element_size bytes, little-endian, of any alignment.
TS_API double ts_element_value(uint64_t element, const void *bytes);

// How to run captures. Only `executor` is required.
typedef struct ts_execution_desc {
    const ts_executor *executor TS__UNSET; // required
    // run a chain: each operation starts from the memory that those before it
    // left, in the order of their captures; one that runs again, or out of
    // order, takes nothing from the record (false: each starts from its
    // recorded memory)
    bool chain TS__UNSET;
    bool strict TS__UNSET;         // require recorded addresses (false)
    uint32_t timeout_ms TS__UNSET; // for one operation (10,000)
    uint32_t loops TS__UNSET;      // runs of each from the same contents (1)
    ts_compare compare TS__UNSET;  // (TS_COMPARE_EXACT)
    // element type for ULP and RTOL (TS_ELEMENT_F32)
    uint32_t element TS__UNSET;
    double tolerance TS__UNSET;
    // absolute tolerance: ULP accepts smaller differences as well; RTOL adds it
    // to the relative one (0)
    double absolute TS__UNSET;
    // chain: do not take from the record what was written by the host or by
    // operations that are not replayed (false: take it)
    bool no_patches TS__UNSET;
    ts_allocator allocator TS__UNSET; // (malloc and free)
    // limit for the memory of this process in use at a time; an operation that
    // needs more is declined. A hostile file of a few bytes may ask for any
    // size. Blank memory is not counted if the executor has `blank`.
    // Decompression uses memory of the reader, for one chunk, one code image or
    // two lists at a time (0: no limit)
    uint64_t memory_bytes TS__UNSET;
} ts_execution_desc;

typedef enum ts_outcome {
    TS_OUTCOME_NONE = 0, // not tried, or the process died
    TS_OUTCOME_EXECUTED = 1,
    TS_OUTCOME_SUBSTITUTED = 2, // not run; its recorded results were written
    TS_OUTCOME_DECLINED = 3     // not run, for a reason
} ts_outcome;

// The result of an operation. It has no pointers, so that it may lie in memory
// shared with a process that watches this one.
typedef struct ts_execution_item {
    uint32_t outcome, reason; // ts_outcome, ts_reason
    // 1: all addresses as recorded; 2: addresses rewritten; 0: not run
    uint32_t level;
    uint32_t running; // 1 between launch and end
    uint32_t runs; // completed runs of ts_execution_desc.loops before the last
    bool compared; // the record holds the expected results
    bool diverged; // the results differ from them
    bool unstable; // runs from the same contents gave different results
    bool bytes_known; // `expected` and `found` are set
    // the first difference: region, its recorded address and size, and the
    // offset of the byte in it
    uint32_t region;
    uint64_t address;
    uint64_t size;
    uint64_t offset;
    uint8_t expected[8], found[8]; // bytes from there on
    // compared chunks; those that differ; those that differ within tolerance
    uint64_t chunks, chunks_different, chunks_tolerated;
    // Chunks that a chain took from the record because the record shows that
    // the host, or an operation that is not replayed, changed them since the
    // last replayed operation. Unchanged chunks are never taken.
    uint64_t patched;
    uint64_t patched_different; // of these: held other bytes than recorded
    uint64_t patched_address;   // recorded address of the first of them
    uint64_t elements; // elements that differ in a chunk, if bytes_known
    double largest;    // largest difference of elements in a chunk, without NaN
    uint64_t digest;   // XXH3 of the contents of all regions afterwards
    uint64_t fault_address; // of TS_REASON_ESCAPE
    char why[240];          // details of the reason, in lines, or empty
} ts_execution_item;

// Captures that are prepared to run on an executor. Opaque.
typedef struct ts_execution ts_execution;

/*
    Prepares to run `count` captures, given by their numbers for
    ts_reader_capture, in the order of running. On failure *execution is NULL
    and `why` holds a clause, at most `room` bytes.

    Threads:  one at a time for each execution.
    Errors:   TS_ERR_USAGE (an argument is NULL, no such element type),
              TS_ERR_MEMORY, and those of the executor's `open`.
    Lifetime: the reader, `captures` and the executor must outlive it.
    Free:     ts_execution_close.
*/
TS_API ts_result ts_execution_open(ts_execution **execution, ts_reader *reader,
                                   const size_t *captures, size_t count,
                                   const ts_execution_desc *desc, char *why,
                                   size_t room);

// Frees an execution and its device memory. After a TIMEOUT device memory may
// stay allocated. NULL is allowed.
TS_API void ts_execution_close(ts_execution *execution);

/*
    Runs capture number `index` of the execution, and compares its results with
    the record. *item is updated as it runs, so that it shows what was in flight
    if the process dies. After TS_REASON_TIMEOUT the device is lost: all further
    operations are declined, and the process should end.
*/
TS_API void ts_execution_run(ts_execution *execution, size_t index,
                             ts_execution_item *item);

// One operation waits for another.
typedef struct ts_execution_edge {
    size_t before, after; // indices, before < after
} ts_execution_edge;

/*
    Finds for each of `count` operations the operations of other streams that it
    has to wait for, by the graph of a replay: without inferred edges, and with
    waits of calls for copies only where they are mandatory. operations: indices
    of ts_replay_operation, in order of submission. Edges hold positions in that
    array, in order of `after`.

    Errors: TS_ERR_USAGE an argument is NULL; TS_ERR_MEMORY.
    Free:   ts_execution_edges_free.
*/
TS_API ts_result ts_execution_edges(const ts_replay *replay,
                                    const uint32_t *operations, size_t count,
                                    ts_execution_edge **edges,
                                    size_t *edge_count);

// Frees the edges of ts_execution_edges; count: their number. NULL is allowed.
TS_API void ts_execution_edges_free(const ts_replay *replay,
                                    ts_execution_edge *edges, size_t count);

// Figures of a concurrent run. Updated as it runs, as items are.
typedef struct ts_execution_whole {
    uint64_t sequential_ns; // duration of the first, sequential run
    uint32_t completed;     // operations that it has completed so far
    uint32_t limit_ms;      // time limit for what runs now
    uint64_t ns;       // concurrent run: first submission to last completion
    uint64_t graph_ns; // one launch of the graph, mean of desc.loops
    uint64_t regions, regions_different; // compared at the end
    uint64_t patched; // chunks taken from the record, as in items
    uint32_t parts, streams, events; // events: created
} ts_execution_whole;

/*
    Runs all captures of the execution concurrently, as a chain.

    First all of them run one after another. This identifies operations that
    take too long or kill the process, and completes what a device does only
    once, such as building kernels. If an operation fails here, all are
    declined. Then the chain runs again with concurrent streams: operations are
    submitted in their order, and each begins when those with an edge to it have
    ended. This may take twice the time of the sequential run, plus the limit of
    one operation.

    edges: edge_count of them in order of `after`; edges within a stream are not
    needed. items: one for each capture.

    Contents that were written by something that is not replayed are put in
    place at a point where everything submitted has ended. At the end each
    region is compared with its last recorded contents; a difference is reported
    for the operation that wrote the region last. Memory that was freed and
    allocated again ends a *part*: the next part begins when it is done.

    graph: the submitted operations become one graph, which is launched once and
    compared, and then desc.loops more times to measure its time.

    Errors: TS_ERR_UNSUPPORTED the executor has no events, or no graphs, or a
                               graph would have more than one part
            TS_ERR_USAGE       an argument is NULL
            TS_ERR_MEMORY
            `why` holds a clause. Failures of an operation are in its item.
*/
TS_API ts_result ts_execution_run_concurrent(ts_execution *execution,
                                             const ts_execution_edge *edges,
                                             size_t edge_count, bool graph,
                                             ts_execution_item *items,
                                             ts_execution_whole *whole,
                                             char *why, size_t room);

#endif // TRACESMITH_REPLAY_H

/* ==== 11. Implementation ================================================= */
// src/replay/implementation.h

#if defined(TRACESMITH_REPLAY_IMPLEMENTATION) && \
    !defined(TS__REPLAY_IMPLEMENTED)
#define TS__REPLAY_IMPLEMENTED

#ifdef __cplusplus
#error "tracesmith_replay.h: the implementation is C11, compile it as C"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifndef TRACESMITH_NO_THREADS
#include <pthread.h>
#include <unistd.h> // sysconf
#endif
#ifndef TRACESMITH_NO_FILES
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>
#endif

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

/* ---- 11.1 Reader: memory, sorting, threads ------------------------------ */
// src/replay/reader/memory.h

__extension__ typedef __int128 ts__int128;
__extension__ typedef unsigned __int128 ts__uint128;

enum { TS__THREADS_MAX = 256 };

// The result of a check; TS_OK: no fault.
typedef struct ts__fault {
    ts_result result;
    const char *text; // static
} ts__fault;

static const ts__fault ts__no_fault = { TS_OK, "" };
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

// Makes room for one more item of an array. NULL without memory; the array is
// then unchanged.
static void *ts__mem_more(const ts_allocator *allocator, void *items,
                          size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity) return items;
    if (*capacity > SIZE_MAX / 2 / size) return NULL; // 32-bit systems
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

// Heapsort: needs no memory and has no bad case. `order` must be total. Most
// arrays are sorted already, which costs one pass.
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

#ifdef TRACESMITH_NO_THREADS
typedef struct ts__mutex {
    uint8_t unused;
} ts__mutex;

static void ts__mutex_open(ts__mutex *mutex)
{
    mutex->unused = 0;
}

static void ts__mutex_take(ts__mutex *mutex)
{
    (void)mutex;
}

static void ts__mutex_give(ts__mutex *mutex)
{
    (void)mutex;
}

static void ts__mutex_close(ts__mutex *mutex)
{
    (void)mutex;
}
#else
typedef struct ts__mutex {
    pthread_mutex_t lock;
} ts__mutex;

static void ts__mutex_open(ts__mutex *mutex)
{
    pthread_mutex_init(&mutex->lock, NULL);
}

static void ts__mutex_take(ts__mutex *mutex)
{
    pthread_mutex_lock(&mutex->lock);
}

static void ts__mutex_give(ts__mutex *mutex)
{
    pthread_mutex_unlock(&mutex->lock);
}

static void ts__mutex_close(ts__mutex *mutex)
{
    pthread_mutex_destroy(&mutex->lock);
}
#endif

// Returns how many threads to use: `wanted`, or one for each processor if that
// is 0, and at most `limit`.
static uint32_t ts__thread_count(uint32_t wanted, uint32_t limit)
{
#ifdef TRACESMITH_NO_THREADS
    (void)wanted;
    (void)limit;
    return 1;
#else
    const long cores = wanted ? (long)wanted : sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > (long)limit ? limit : (uint32_t)cores;
#endif
}

// Work divided among threads: run(user, item, thread) for every item.
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

// Runs the work. If a thread cannot be created, the others do its share.
static void ts__crew_run(uint32_t threads, size_t count,
                         void (*run)(void *, size_t, uint32_t), void *user)
{
    ts__crew crew = { run, user, count, 0, 0 };
    if (threads > count) threads = (uint32_t)count;
#ifdef TRACESMITH_NO_THREADS
    ts__crew_work(&crew);
#else
    pthread_t others[TS__THREADS_MAX];
    uint32_t made = 0;
    while (made + 1 < threads &&
           pthread_create(&others[made], NULL, ts__crew_work, &crew) == 0)
        made++;
    ts__crew_work(&crew);
    while (made > 0)
        pthread_join(others[--made], NULL);
#endif
}

/* ---- 11.2 Reader: state ------------------------------------------------- */
// src/replay/reader/state.h

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
    uint64_t resume;   // offset at which the next walk continues
    uint64_t sequence; // expected number of the next chunk
    uint64_t search;   // budget: bytes that searches may still hash
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

/* ---- 11.3 Reader: damage ------------------------------------------------ */
// src/replay/reader/damage.h

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
    ts__mutex_take(&reader->lock);
    const bool added = ts__damage_add(reader, damage);
    ts__mutex_give(&reader->lock);
    return added;
}

static uint64_t ts__in_chunk_bytes(const ts_chunk_header *header)
{
    return sizeof *header + ts__pad8(header->stored_size);
}

// Adds the fault of a chunk to the list of damages, once per chunk. Lack of
// memory is not damage. Returns the result of the fault.
static ts_result ts__in_chunk_report(ts_reader *reader, ts__in_chunk *chunk,
                                     ts__fault fault)
{
    if (fault.result == TS_OK || fault.result == TS_ERR_MEMORY)
        return fault.result;
    const ts_damage damage = { fault.result, chunk->offset,
                               ts__in_chunk_bytes(&chunk->header), fault.text };
    ts__mutex_take(&reader->lock);
    bool noted =
        __atomic_load_n(&chunk->state, __ATOMIC_RELAXED) & TS__CHUNK_REPORTED;
    if (!noted) noted = ts__damage_add(reader, damage);
    if (noted)
        __atomic_or_fetch(&chunk->state, TS__CHUNK_REPORTED, __ATOMIC_RELAXED);
    ts__mutex_give(&reader->lock);
    return noted ? fault.result : TS_ERR_MEMORY;
}

TS_API size_t ts_reader_damage_count(const ts_reader *reader)
{
    ts__mutex *const lock = (ts__mutex *)&reader->lock;
    ts__mutex_take(lock);
    const size_t count = reader->damage_count;
    ts__mutex_give(lock);
    return count;
}

TS_API bool ts_reader_damage(const ts_reader *reader, size_t index,
                             ts_damage *damage)
{
    ts__mutex *const lock = (ts__mutex *)&reader->lock;
    ts__mutex_take(lock);
    const bool there = index < reader->damage_count;
    if (there) *damage = reader->damages[index];
    ts__mutex_give(lock);
    return there;
}

/* ---- 11.4 Reader: bytes of the trace ------------------------------------ */
// src/replay/reader/bytes.h

static const ts__fault ts__truncated = { TS_ERR_TRUNCATED,
                                         "the file ends inside a chunk" };
static const ts__fault ts__unreadable = { TS_ERR_IO, "reading fails" };

/*
    A file is read into private memory and never mapped. Other processes may
    change or truncate it meanwhile; access to a truncated page of a mapping
    would kill this process. Checks apply to the private copy, which cannot
    change.
*/
static ts__fault ts__read_at(const ts_reader *reader, uint64_t offset, void *to,
                             size_t size)
{
    uint8_t *const bytes = to;
    if (reader->bytes) {
        memcpy(bytes, reader->bytes + offset, size);
        return ts__no_fault;
    }
    for (size_t have = 0; have < size;) {
        const int64_t got = reader->desc.read(reader->desc.user, offset + have,
                                              bytes + have, size - have);
        if (got < 0 || (uint64_t)got > size - have) return ts__unreadable;
        if (!got) return ts__truncated;
        have += (size_t)got;
    }
    return ts__no_fault;
}

// Updates the size of the trace. False if it is unchanged, or smaller than what
// was already read: chunks that were read are kept.
static bool ts__reader_grow(ts_reader *reader)
{
    if (reader->bytes || !reader->desc.length) return false;
    const uint64_t size = reader->desc.length(reader->desc.user);
    if (size == reader->size || size < reader->resume) return false;
    reader->size = size;
    return true;
}

/* ---- 11.5 Reader: files and sidecars ------------------------------------ */
// src/replay/reader/files.h

#ifndef TRACESMITH_NO_FILES

static int64_t ts__path_read(void *user, uint64_t offset, void *to, size_t size)
{
    const ts_reader *const reader = user;
    ssize_t got;
    do
        got = pread(reader->fd, to, size, (off_t)offset);
    while (got < 0 && errno == EINTR);
    return got;
}

static uint64_t ts__path_length(void *user)
{
    const ts_reader *const reader = user;
    struct stat file;
    return fstat(reader->fd, &file) == 0 ? (uint64_t)file.st_size
                                         : reader->size;
}

// Reads a pipe to its end and keeps the bytes, as they cannot be read twice.
static ts_result ts__pipe_read(ts_reader *reader)
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
    reader->bytes = reader->piped = bytes;
    reader->piped_size = capacity;
    reader->size = count;
    close(reader->fd);
    reader->fd = -1; // the pipe is at its end
    return result;
}

// Returns whether a file is a pipe without a name, such as a shell's <(...),
// which has a writer. A named pipe may never get one: reading would block.
static bool ts__is_shell_pipe(int fd, const struct stat *file)
{
    struct statfs fs; // f_type: statfs(2)
    return S_ISFIFO(file->st_mode) && fstatfs(fd, &fs) == 0 &&
           fs.f_type == 0x50495045 /* PIPEFS_MAGIC */ &&
           fcntl(fd, F_SETFL, 0) == 0; // blocking reads are safe
}

static ts_result ts__path_open(ts_reader *reader)
{
    struct stat file;
    reader->fd =
        open(reader->path, O_RDONLY | (TS__OPEN_STRANGE & ~O_NOFOLLOW));
    if (reader->fd < 0 || fstat(reader->fd, &file) != 0) return TS_ERR_IO;
    if (ts__is_shell_pipe(reader->fd, &file)) return ts__pipe_read(reader);
    if (!S_ISREG(file.st_mode)) return TS_ERR_NOT_FILE;
    if (file.st_size == 0) return TS_ERR_TRUNCATED;
    reader->desc.read = ts__path_read;
    reader->desc.length = ts__path_length;
    reader->desc.user = reader;
    reader->size = (uint64_t)file.st_size;
    return TS_OK;
}

static void ts__path_close(const ts_reader *reader)
{
    if (reader->fd >= 0) close(reader->fd);
}

// Returns whether the recorder of a sidecar lives, by its lock. Locks belong to
// the open file, so that the query disturbs no recorder, not even one in this
// process. take: take the lock to keep others out.
static bool ts__sidecar_locked(int fd, bool take)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    if (take) return fcntl(fd, F_OFD_SETLK, &lock) != 0;
    return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

// The state of a trace without an end: TS_ERR_BUSY if its writer lives,
// TS_ERR_STATE if the writer left a sidecar, else the result of
// ts__leftover_find.
static ts_result ts__leftover_state(const ts_reader *reader)
{
    ts__leftover found;
    if (reader->fd < 0) return TS_ERR_NOT_FOUND;
    const ts_result result = ts__leftover_find(
        &found, reader->path, reader->fd, reader->header.session, O_RDONLY);
    if (result != TS_OK) return result;
    const bool locked = ts__sidecar_locked(found.fd, false);
    close(found.fd);
    return locked ? TS_ERR_BUSY : TS_ERR_STATE;
}

static ts_result ts__sidecar_read(int fd, bool lock, ts_sidecar *sidecar)
{
    struct stat st;
    ts__sidecar_head head;
    if (!ts__sidecar_own(fd, geteuid())) return TS_ERR_UNTRUSTED;
    if (fstat(fd, &st) == 0) sidecar->size = (uint64_t)st.st_blocks * 512;
    const bool known = ts__sidecar_head_read(fd, &head);
    if (known) {
        memcpy(sidecar->trace, head.trace, sizeof sidecar->trace);
        sidecar->process = head.header.process;
        sidecar->start_realtime_ns = head.header.start_realtime_ns;
    }
    if (ts__sidecar_locked(fd, lock)) return TS_ERR_BUSY;
    if (!known) return TS_ERR_VERSION;
    return ts__sidecar_awaited(&head) ? TS_OK : TS_ERR_NOT_FOUND;
}

TS_API ts_result ts_sidecar_look(const char *path, ts_sidecar *sidecar)
{
    memset(sidecar, 0, sizeof *sidecar);
    const int fd = open(path, O_RDONLY | TS__OPEN_STRANGE);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? TS_ERR_IO
                                                   : TS_ERR_UNTRUSTED;
    const ts_result result = ts__sidecar_read(fd, false, sidecar);
    close(fd);
    return result;
}

TS_API ts_result ts_sidecar_remove(const char *path)
{
    ts_sidecar sidecar;
    const int fd = open(path, O_RDWR | TS__OPEN_STRANGE);
    if (fd < 0) return ts_sidecar_look(path, &sidecar);
    ts_result result = ts__sidecar_read(fd, true, &sidecar);
    if (result == TS_OK) result = TS_ERR_STATE;
    if (result == TS_ERR_NOT_FOUND)
        result = ts__unlink_open(path, fd) ? TS_OK : TS_ERR_IO;
    close(fd);
    return result;
}

#else

static ts_result ts__path_open(const ts_reader *reader)
{
    (void)reader;
    return TS_ERR_UNSUPPORTED;
}

static void ts__path_close(const ts_reader *reader)
{
    (void)reader;
}

static ts_result ts__leftover_state(const ts_reader *reader)
{
    (void)reader;
    return TS_ERR_NOT_FOUND;
}

#endif // TRACESMITH_NO_FILES

/* ---- 11.6 Reader: chunks ------------------------------------------------ */
// src/replay/reader/chunks.h

// Checks what can be checked of a header without the file. Returns the fault or
// NULL.
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

// Reads the header at an offset and checks everything but the checksum.
static ts__fault ts__in_chunk_check(const ts_reader *reader, uint64_t offset,
                                    ts__in_chunk *chunk)
{
    const uint64_t left = reader->size - offset;
    const ts_chunk_header *const header = &chunk->header;
    memset(chunk, 0, sizeof *chunk);
    chunk->offset = offset;
    if (left < sizeof *header) return ts__truncated;
    const ts__fault fault =
        ts__read_at(reader, offset, &chunk->header, sizeof *header);
    if (fault.result != TS_OK) return fault;
    if (header->magic != TS_CHUNK_MAGIC)
        return ts__corrupt("no chunk begins here");
    if (reader->session_known && header->session != reader->session)
        return ts__corrupt("the chunk belongs to another session");
    const char *const text = ts__header_check(header);
    if (text) return ts__corrupt(text);
    return ts__in_chunk_bytes(header) > left ? ts__truncated : ts__no_fault;
}

// A growing buffer for the payload of a chunk.
typedef struct ts__scratch {
    uint8_t *bytes;
    size_t size;
} ts__scratch;

// Grows a buffer to `size` bytes; keeps its contents. A blob may be larger than
// the memory of a 32-bit system.
static bool ts__scratch_fit(const ts_reader *reader, ts__scratch *scratch,
                            uint64_t size)
{
    const ts_allocator *const a = &reader->allocator;
    if (size <= scratch->size) return true;
    if (size > SIZE_MAX / 2) return false;
    uint8_t *const bytes =
        a->resize(a->user, scratch->bytes, scratch->size, (size_t)size);
    if (!bytes) return false;
    scratch->bytes = bytes;
    scratch->size = (size_t)size;
    return true;
}

// Compares a chunk's header with the bytes in the file, and checks its checksum
// and the padding after the payload.
static ts__fault ts__in_chunk_verify(const ts__in_chunk *chunk,
                                     const uint8_t *head, uint64_t hash,
                                     const uint8_t *padding)
{
    const size_t size = chunk->header.stored_size;
    const size_t checked = offsetof(ts_chunk_header, checksum);
    if (memcmp(head, &chunk->header, checked) != 0)
        return ts__corrupt("the index describes another chunk");
    if (hash != ts__get64(head + checked))
        return ts__corrupt("the chunk's checksum is wrong");
    for (size_t i = 0; i < ts__pad8(size) - size; i++)
        if (padding[i]) return ts__corrupt("the chunk's padding is not zero");
    return ts__no_fault;
}

static uint64_t ts__in_chunk_seed(const uint8_t *head)
{
    return XXH3_64bits(head, offsetof(ts_chunk_header, checksum));
}

// Verifies a chunk whose bytes are all in memory.
static ts__fault ts__in_chunk_verify_bytes(const ts__in_chunk *chunk,
                                           const uint8_t *bytes)
{
    const uint8_t *const payload = bytes + sizeof(ts_chunk_header);
    const size_t size = chunk->header.stored_size;
    return ts__in_chunk_verify(
        chunk, bytes,
        XXH3_64bits_withSeed(payload, size, ts__in_chunk_seed(bytes)),
        payload + size);
}

// Verifies a chunk of the file, block by block, as a sparse file may contain
// chunks of any size.
static ts__fault ts__in_chunk_verify_file(const ts_reader *reader,
                                          const ts__in_chunk *chunk)
{
    uint8_t head[sizeof(ts_chunk_header)], block[16 << 10], padding[8];
    uint64_t left = chunk->header.stored_size, at = chunk->offset;
    const size_t pad = (size_t)(ts__pad8(left) - left);
    XXH3_state_t state;
    ts__fault fault = ts__read_at(reader, at, head, sizeof head);
    if (fault.result != TS_OK) return fault;
    at += sizeof head;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset_withSeed(&state, ts__in_chunk_seed(head));
    while (left) {
        const size_t size = left < sizeof block ? (size_t)left : sizeof block;
        fault = ts__read_at(reader, at, block, size);
        if (fault.result != TS_OK) return fault;
        XXH3_64bits_update(&state, block, size);
        at += size;
        left -= size;
    }
    fault = ts__read_at(reader, at, padding, pad);
    if (fault.result != TS_OK) return fault;
    return ts__in_chunk_verify(chunk, head, XXH3_64bits_digest(&state),
                               padding);
}

// Verifies a chunk, inside of the file, unless that was done before.
static ts__fault ts__in_chunk_verify_once(const ts_reader *reader,
                                          ts__in_chunk *chunk)
{
    if (__atomic_load_n(&chunk->state, __ATOMIC_RELAXED) & TS__CHUNK_VERIFIED)
        return ts__no_fault;
    const ts__fault fault =
        reader->bytes
            ? ts__in_chunk_verify_bytes(chunk, reader->bytes + chunk->offset)
            : ts__in_chunk_verify_file(reader, chunk);
    if (fault.result == TS_OK)
        __atomic_or_fetch(&chunk->state, TS__CHUNK_VERIFIED, __ATOMIC_RELAXED);
    return fault;
}

// Gets a chunk's stored bytes if its checksum is right. The bytes of a file are
// read and checked each time, into the beginning of `scratch`.
static ts__fault ts__in_chunk_stored(const ts_reader *reader,
                                     ts__in_chunk *chunk, ts__scratch *scratch,
                                     const uint8_t **stored)
{
    const uint64_t size = ts__in_chunk_bytes(&chunk->header);
    if (reader->bytes) {
        *stored = reader->bytes + chunk->offset + sizeof chunk->header;
        return ts__in_chunk_verify_once(reader, chunk);
    }
    if (!ts__scratch_fit(reader, scratch, size)) return ts__no_memory;
    *stored = scratch->bytes + sizeof chunk->header;
    const ts__fault fault =
        ts__read_at(reader, chunk->offset, scratch->bytes, (size_t)size);
    return fault.result == TS_OK
               ? ts__in_chunk_verify_bytes(chunk, scratch->bytes)
               : fault;
}

#ifdef TRACESMITH_ZSTD
// Decompression: `scratch` holds the stored bytes, then the output, then the
// context of zstd.
typedef struct ts__inflation {
    const uint8_t *from;
    uint8_t *to;
    ZSTD_DCtx *context;
} ts__inflation;

static bool ts__inflation_open(const ts_reader *reader,
                               const ts__in_chunk *chunk, ts__scratch *scratch,
                               uint64_t room, ts__inflation *inflation)
{
    const size_t work = ZSTD_estimateDCtxSize();
    const uint64_t kept =
        reader->bytes ? 0 : ts__in_chunk_bytes(&chunk->header);
    room = ts__pad8(room);
    if (!ts__scratch_fit(reader, scratch, kept + room + work)) return false;
    uint8_t *const to = scratch->bytes + kept;
    inflation->from =
        (reader->bytes ? reader->bytes + chunk->offset : scratch->bytes) +
        sizeof chunk->header;
    inflation->to = to;
    inflation->context = ZSTD_initStaticDCtx(to + room, work);
    return inflation->context != NULL;
}

static ts__fault ts__in_chunk_inflate(const ts_reader *reader,
                                      ts__in_chunk *chunk, ts__scratch *scratch,
                                      const uint8_t **payload)
{
    const ts_chunk_header *const header = &chunk->header;
    ts__inflation i;
    const ts__fault fault =
        ts__in_chunk_stored(reader, chunk, scratch, payload);
    if (fault.result != TS_OK) return fault;
    if (ZSTD_getFrameContentSize(*payload, header->stored_size) !=
        header->raw_size)
        return ts__corrupt("the compressed chunk has another size");
    if (header->raw_size > reader->desc.inflate_bytes) return ts__too_large;
    if (!ts__inflation_open(reader, chunk, scratch, header->raw_size, &i))
        return ts__no_memory;
    *payload = i.to;
    const size_t got = ZSTD_decompressDCtx(i.context, i.to, header->raw_size,
                                           i.from, header->stored_size);
    return got == header->raw_size
               ? ts__no_fault
               : ts__corrupt("the chunk cannot be decompressed");
}

enum { TS__ZSTD_BLOCK = 128 << 10 }; // maximum output of a block

// Decompresses the first `size` bytes of a payload, block by block, whatever
// its whole size. `to` has room for one block more.
static bool ts__inflate_some(ZSTD_DCtx *context, uint8_t *to, size_t size,
                             const uint8_t *from, size_t left)
{
    size_t have = 0, next;
    if (ZSTD_isError(ZSTD_decompressBegin(context))) return false;
    while (have < size && (next = ZSTD_nextSrcSizeToDecompress(context))) {
        if (next > left) return false;
        const size_t got = ZSTD_decompressContinue(
            context, to + have, size + TS__ZSTD_BLOCK - have, from, next);
        if (ZSTD_isError(got)) return false;
        have += got;
        from += next;
        left -= next;
    }
    return have >= size;
}

static ts__fault ts__in_chunk_begin(const ts_reader *reader,
                                    ts__in_chunk *chunk, ts__scratch *scratch,
                                    size_t size, const uint8_t **payload)
{
    const ts_chunk_header *const header = &chunk->header;
    ts__inflation i;
    const ts__fault fault =
        ts__in_chunk_stored(reader, chunk, scratch, payload);
    if (fault.result != TS_OK) return fault;
    if (ZSTD_getFrameContentSize(*payload, header->stored_size) !=
        header->raw_size)
        return ts__corrupt("the compressed chunk has another size");
    if (!ts__inflation_open(reader, chunk, scratch, size + TS__ZSTD_BLOCK, &i))
        return ts__no_memory;
    *payload = i.to;
    return ts__inflate_some(i.context, i.to, size, i.from, header->stored_size)
               ? ts__no_fault
               : ts__corrupt("the chunk cannot be decompressed");
}
#endif

// Gets a chunk's raw_size bytes, decompressed, if its checksum is right.
static ts__fault ts__in_chunk_payload(const ts_reader *reader,
                                      ts__in_chunk *chunk, ts__scratch *scratch,
                                      const uint8_t **payload)
{
    if (!(chunk->header.flags & TS_CHUNK_ZSTD))
        return ts__in_chunk_stored(reader, chunk, scratch, payload);
#ifdef TRACESMITH_ZSTD
    return ts__in_chunk_inflate(reader, chunk, scratch, payload);
#else
    const ts__fault fault =
        ts__in_chunk_stored(reader, chunk, scratch, payload);
    const ts__fault unsupported = {
        TS_ERR_UNSUPPORTED, "the chunk is compressed and this build has no zstd"
    };
    return fault.result == TS_OK ? unsupported : fault;
#endif
}

// Copies the first bytes of a payload that has at least so many. The rest is
// neither decompressed nor read.
static ts__fault ts__in_chunk_first(const ts_reader *reader,
                                    ts__in_chunk *chunk, uint8_t *bytes,
                                    size_t size)
{
    const uint64_t offset = chunk->offset + sizeof chunk->header;
    ts__scratch scratch = { NULL, 0 };
    const uint8_t *payload = NULL;
    if (!(chunk->header.flags & TS_CHUNK_ZSTD))
        return ts__read_at(reader, offset, bytes, size);
#ifdef TRACESMITH_ZSTD
    const ts__fault fault =
        ts__in_chunk_begin(reader, chunk, &scratch, size, &payload);
#else
    const ts__fault fault =
        ts__in_chunk_payload(reader, chunk, &scratch, &payload);
#endif
    if (fault.result == TS_OK) memcpy(bytes, payload, size);
    ts__mem_put(&reader->allocator, scratch.bytes, scratch.size);
    return fault;
}

// Returns whether ts__in_chunk_payload puts a copy into its scratch.
static bool ts__in_chunk_copied(const ts_reader *reader,
                                const ts__in_chunk *chunk)
{
    return !reader->bytes || chunk->header.flags & TS_CHUNK_ZSTD;
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

/* ---- 11.7 Reader: walking from chunk to chunk --------------------------- */
// src/replay/reader/walk.h

/*
    A walk finds the chunks of a file without its index. It hops from header to
    header, verifies the checksums of the chunks found in parallel, and takes
    them up to the first invalid one. There it searches for the next valid
    chunk. The length of a hop starts at 1 after each damage and doubles, so
    that little work is repeated; it does not depend on the number of threads.
*/
enum { TS__HOP_MAX = 4096 };

// Verifies one of the chunks of the last hop, which lie behind the table.
static void ts__walk_verify(void *user, size_t item, uint32_t thread)
{
    const ts_reader *const reader = user;
    (void)thread;
    ts__in_chunk_verify_once(reader,
                             &reader->chunks[reader->chunk_count + item]);
}

// Returns the next offset at which a chunk may begin, from an offset that is a
// multiple of 8; the size of the file if there is none.
static uint64_t ts__walk_magic(const ts_reader *reader, uint64_t offset)
{
    uint8_t block[16 << 10];
    while (offset + 8 <= reader->size) {
        const uint64_t left = (reader->size - offset) & ~UINT64_C(7);
        const size_t size = left < sizeof block ? (size_t)left : sizeof block;
        if (ts__read_at(reader, offset, block, size).result != TS_OK) break;
        for (size_t i = 0; i < size; i += 8)
            if (ts__get32(block + i) == TS_CHUNK_MAGIC) return offset + i;
        offset += size;
    }
    return reader->size;
}

// Returns the offset of the next valid chunk behind an offset; the size of the
// file if there is none.
static uint64_t ts__walk_search(ts_reader *reader, uint64_t offset)
{
    ts__in_chunk chunk;
    for (;;) {
        offset = ts__walk_magic(reader, offset + 8);
        if (offset == reader->size) break;
        if (ts__in_chunk_check(reader, offset, &chunk).result != TS_OK)
            continue;
        if (chunk.header.sequence < reader->sequence) continue;
        // A budget, as a hostile file could have itself hashed once for every
        // 64 bytes.
        if (chunk.header.stored_size > reader->search) break;
        reader->search -= chunk.header.stored_size;
        if (ts__in_chunk_verify_once(reader, &chunk).result == TS_OK)
            return offset;
    }
    return reader->size;
}

// Appends up to `limit` chunks with plausible headers; *hopped: their number.
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

static bool ts__index_part_add(ts_reader *reader, const ts__in_chunk *chunk)
{
    ts__index_part *const parts =
        ts__mem_more(&reader->allocator, reader->parts, &reader->part_capacity,
                     reader->part_count, sizeof *parts);
    if (!parts) return false;
    const ts__index_part part = { chunk->offset, NULL, chunk->header.count };
    reader->parts = parts;
    parts[reader->part_count++] = part;
    return true;
}

// Takes a valid chunk into the table, or as a part of the index.
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
    if (header->kind == TS_CHUNK_INDEX && !ts__index_part_add(reader, chunk))
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

// Takes the valid chunks of a hop. The end of the table never overtakes the
// chunk that is read.
static ts_result ts__walk_batch(ts_reader *reader, size_t limit, bool *all)
{
    const size_t first = reader->chunk_count;
    size_t hopped = 0, taken = 0;
    ts_result result = ts__walk_hop(reader, limit, &hopped);
    reader->chunk_count = first;
    if (result != TS_OK) return result;
    ts__crew_run(reader->threads, hopped, ts__walk_verify, reader);
    while (taken < hopped && result == TS_OK) {
        const ts__in_chunk chunk = reader->chunks[first + taken];
        if (!(chunk.state & TS__CHUNK_VERIFIED)) break;
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
    if (fault.result == TS_OK) fault = ts__in_chunk_verify_once(reader, &chunk);
    return fault;
}

// Finds the next valid chunk and reports the damage before it. At the end of a
// live trace that may be a chunk which is just being written.
static ts_result ts__walk_skip_damage(ts_reader *reader)
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
        result = ts__walk_skip_damage(reader);
        if (result == TS_ERR_TRUNCATED) return TS_OK;
        if (result != TS_OK) return result;
        limit = 1;
    }
    return TS_OK;
}

/* ---- 11.8 Reader: index ------------------------------------------------- */
// src/replay/reader/index.h

// Finds the end chunk, if the file has one in its place.
static bool ts__index_end(ts_reader *reader, ts__in_chunk *end)
{
    const uint64_t header_bytes = sizeof(ts_file_header);
    if (reader->size < header_bytes + sizeof(ts_chunk_header)) return false;
    const uint64_t offset = reader->size - sizeof(ts_chunk_header);
    return offset % 8 == 0 &&
           ts__in_chunk_check(reader, offset, end).result == TS_OK &&
           end->header.kind == TS_CHUNK_END &&
           ts__in_chunk_verify_once(reader, end).result == TS_OK;
}

enum { TS__LOD_BYTES = TS_LOD_CELLS * 8 };

// Gets the decompressed payload of a part of the index. It lives as long as the
// reader.
static ts__fault ts__index_part_open(ts_reader *reader, ts__in_chunk *chunk,
                                     const uint8_t **payload)
{
    ts__scratch scratch = { NULL, 0 };
    const ts_chunk_header *const header = &chunk->header;
    ts__fault fault = ts__in_chunk_payload(reader, chunk, &scratch, payload);
    if (fault.result == TS_OK &&
        (header->raw_size < 16 ||
         (header->raw_size - 16) / sizeof *header < header->count))
        fault = ts__corrupt("the index is too short");
    if (fault.result == TS_OK && ts__in_chunk_copied(reader, chunk)) {
        uint8_t *const kept = ts__reader_keep(reader, header->raw_size);
        if (kept) memcpy(kept, *payload, header->raw_size);
        if (!kept) fault = ts__no_memory;
        *payload = kept;
    }
    ts__mem_put(&reader->allocator, scratch.bytes, scratch.size);
    return fault;
}

// Locates the pictures of a part: one for each of its events chunks, in order.
static bool ts__index_part_pictures(const uint8_t *payload,
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

// Collects the parts from the last to the first. They must be valid, and each
// must lie before the one that refers to it.
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
        const ts__fault fault = ts__index_part_open(reader, &chunk, &payload);
        if (fault.result != TS_OK) return fault.result;
        if (!ts__index_part_pictures(payload, &chunk.header))
            return TS_ERR_CORRUPT;
        if (!ts__index_part_add(reader, &chunk)) return TS_ERR_MEMORY;
        reader->parts[reader->part_count - 1].entries = payload + 16;
        limit = offset;
        offset = ts__get64(payload);
    }
    return reader->part_count ? TS_OK : TS_ERR_NOT_FOUND;
}

// Takes the entries of a part; their chunks must be contiguous in the file.
static ts_result ts__index_take(ts_reader *reader, const ts__index_part *part)
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

// Steps over the chunk that must be here: a part of the index, or the end.
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

// Reads the index. On any error but TS_ERR_MEMORY the caller walks instead.
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

// Fills the chunk table from the index if that is valid, else by a walk.
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

// Sets the pictures of the chunks that a part describes exactly.
static void ts__index_part_spread(ts_reader *reader, const uint8_t *payload,
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

// Takes the pictures from the index parts that a walk has found.
static ts_result ts__index_pictures(ts_reader *reader)
{
    ts__in_chunk part;
    const uint8_t *payload;
    for (; reader->parts_used < reader->part_count; reader->parts_used++) {
        const uint64_t offset = reader->parts[reader->parts_used].offset;
        ts__in_chunk_check(reader, offset, &part);
        ts__fault fault = ts__index_part_open(reader, &part, &payload);
        if (fault.result == TS_OK &&
            !ts__index_part_pictures(payload, &part.header))
            fault = ts__corrupt("the index has the wrong size");
        if (fault.result == TS_OK)
            ts__index_part_spread(reader, payload, part.header.count);
        else if (ts__in_chunk_report(reader, &part, fault) == TS_ERR_MEMORY)
            return TS_ERR_MEMORY;
    }
    return TS_OK;
}

/* ---- 11.9 Reader: dictionaries ------------------------------------------ */
// src/replay/reader/dictionaries.h

// The minimum size of an entry's body, by kind of chunk.
static const uint8_t ts__entry_min[] = {
    [TS_CHUNK_SITES] = sizeof(ts_site_entry),
    [TS_CHUNK_TRACKS] = sizeof(ts_track_entry),
    [TS_CHUNK_LAUNCHES] = sizeof(ts_launch_entry),
    [TS_CHUNK_MODULES] = sizeof(ts_module_entry),
    [TS_CHUNK_CLOCK] = sizeof(ts_clock_entry),
    [TS_CHUNK_METADATA] = sizeof(ts_metadata_entry),
    [TS_CHUNK_LOSS] = sizeof(ts_loss_entry),
    [TS_CHUNK_SYMBOLS] = sizeof(ts_symbol_entry),
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
        if (header->kind == TS_CHUNK_SYMBOLS && size % sizeof(ts_line_entry))
            return ts__corrupt("a symbol has half a line");
        if (ts__is_table(header->kind) && !id)
            return ts__corrupt("an entry defines number 0");
        payload += 8 + size;
        left -= 8 + size;
    }
    return left ? ts__corrupt("bytes follow the last entry") : ts__no_fault;
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

// Copies the entries of a dictionary, each aligned and followed by a zero byte.
// Padding and zero bytes fit into the space of the entries' 8-byte headers,
// which are not copied.
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

static bool ts__load_metadata(ts_reader *reader, uint32_t id,
                              const uint8_t *body)
{
    ts__metadata_row *const metadata = ts__mem_more(
        &reader->allocator, reader->metadata, &reader->metadata_capacity,
        reader->metadata_count, sizeof *metadata);
    if (!metadata) return false;
    reader->metadata = metadata;
    ts__metadata_row *const row = &metadata[reader->metadata_count];
    row->track = id;
    row->order = (uint32_t)reader->metadata_count++;
    memcpy(&row->entry, body, sizeof row->entry);
    return true;
}

static bool ts__load_loss(ts_reader *reader, uint32_t id, uint32_t clock,
                          const uint8_t *body)
{
    ts__loss_seen *const lost =
        ts__mem_more(&reader->allocator, reader->lost, &reader->lost_capacity,
                     reader->lost_count, sizeof *lost);
    if (!lost) return false;
    reader->lost = lost;
    ts__loss_seen *const entry = &lost[reader->lost_count++];
    entry->track = id;
    entry->clock = clock;
    memcpy(&entry->entry, body, sizeof entry->entry);
    return true;
}

static bool ts__load_entries(ts_reader *reader, const ts__in_chunk *chunk,
                             const uint8_t *payload)
{
    const ts_chunk_header *const header = &chunk->header;
    if (ts__is_table(header->kind))
        return ts__load_table(reader, header, payload);
    for (uint32_t i = 0; i < header->count; i++) {
        const uint32_t id = ts__get32(payload);
        const uint8_t *const body = payload + 8;
        bool done = true;
        if (header->kind == TS_CHUNK_CLOCK)
            done = ts__load_sample(reader, id, chunk->offset, body);
        if (header->kind == TS_CHUNK_METADATA)
            done = ts__load_metadata(reader, id, body);
        if (header->kind == TS_CHUNK_LOSS)
            done = ts__load_loss(reader, id, header->clock, body);
        if (!done) return false;
        payload += 8 + ts__get32(payload + 4);
    }
    return true;
}

static bool ts__in_chunk_has_entries(const ts_chunk_header *header)
{
    return header->kind >= TS_CHUNK_NAMES && header->kind <= TS_CHUNK_SYMBOLS;
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

// Loads the dictionaries of chunks that were added to the table.
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

// Merges stably, so that definitions of one id keep their order.
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

// Sorts by id; of several definitions the last one is kept.
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

// Builds an array by id, unless the ids of a hostile trace are too sparse.
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

typedef struct ts__symbol_key {
    ts_symbol_entry at;
    uint32_t item;
} ts__symbol_key;

static int ts__symbol_compare(const void *a, const void *b)
{
    const ts__symbol_key *const x = a, *const y = b;
    if (x->at.module != y->at.module)
        return x->at.module < y->at.module ? -1 : 1;
    if (x->at.offset != y->at.offset)
        return x->at.offset < y->at.offset ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

// Sorts symbols by module and offset; of several the last one is kept.
static bool ts__symbols_finish(ts_reader *reader)
{
    const ts__table *const table = &reader->tables[TS_CHUNK_SYMBOLS];
    const ts_allocator *const allocator = &reader->allocator;
    ts__mem_put(allocator, reader->symbols,
                reader->symbol_count * sizeof *reader->symbols);
    reader->symbols = NULL;
    reader->symbol_count = 0;
    if (!table->count) return true;
    const size_t size = table->count * sizeof(ts__symbol_key);
    ts__symbol_key *const keys = ts__mem_get(allocator, size);
    if (!keys) return false;
    for (size_t i = 0; i < table->count; i++) {
        memcpy(&keys[i].at, table->items[i].body, sizeof keys[i].at);
        keys[i].item = (uint32_t)i;
    }
    qsort(keys, table->count, sizeof *keys, ts__symbol_compare);
    size_t unique = 0;
    for (size_t i = 0; i < table->count; i++)
        if (i + 1 == table->count ||
            keys[i].at.module != keys[i + 1].at.module ||
            keys[i].at.offset != keys[i + 1].at.offset)
            keys[unique++] = keys[i];
    reader->symbols = ts__mem_get(allocator, unique * sizeof *reader->symbols);
    reader->symbol_count = reader->symbols ? unique : 0;
    for (size_t i = 0; i < reader->symbol_count; i++)
        reader->symbols[i] = keys[i].item;
    ts__mem_put(allocator, keys, size);
    return reader->symbols != NULL;
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

TS_API uint32_t ts_reader_symbol(const ts_reader *reader,
                                 const ts_frame_entry *frame,
                                 const ts_line_entry **lines)
{
    const ts__table *const table = &reader->tables[TS_CHUNK_SYMBOLS];
    size_t low = 0, high = reader->symbol_count;
    *lines = NULL;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const ts__item *const item = &table->items[reader->symbols[middle]];
        ts_symbol_entry at;
        memcpy(&at, item->body, sizeof at);
        if (at.module == frame->module && at.offset == frame->offset) {
            *lines =
                (const ts_line_entry *)(const void *)(item->body + sizeof at);
            return (item->size - (uint32_t)sizeof at) /
                   (uint32_t)sizeof **lines;
        }
        if (at.module < frame->module ||
            (at.module == frame->module && at.offset < frame->offset))
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

TS_API size_t ts_reader_entry_count(const ts_reader *reader,
                                    ts_chunk_kind dictionary)
{
    return ts__is_table((uint32_t)dictionary) ? reader->tables[dictionary].count
                                              : 0;
}

TS_API uint32_t ts_reader_entry(const ts_reader *reader,
                                ts_chunk_kind dictionary, size_t index)
{
    return index < ts_reader_entry_count(reader, dictionary)
               ? reader->tables[dictionary].items[index].id
               : 0;
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

/* ---- 11.10 Reader: metadata --------------------------------------------- */
// src/replay/reader/metadata.h

static int ts__order_metadata(const void *a, const void *b)
{
    const ts__metadata_row *const x = a, *const y = b;
    if (x->track != y->track) return ts__order_u64(x->track, y->track);
    if (x->entry.key != y->entry.key)
        return ts__order_u64(x->entry.key, y->entry.key);
    return ts__order_u64(x->order, y->order);
}

// Sorts by track and key; of several values of a key the last one is kept.
static void ts__metadata_finish(ts_reader *reader)
{
    ts__metadata_row *const metadata = reader->metadata;
    size_t unique = 0;
    ts__sort(metadata, reader->metadata_count, sizeof *metadata,
             ts__order_metadata);
    for (size_t i = 0; i < reader->metadata_count; i++) {
        const bool last = i + 1 == reader->metadata_count ||
                          metadata[i].track != metadata[i + 1].track ||
                          metadata[i].entry.key != metadata[i + 1].entry.key;
        if (last) metadata[unique++] = metadata[i];
    }
    reader->metadata_count = unique;
    for (size_t i = 0; i < unique; i++)
        metadata[i].order = (uint32_t)i;
}

TS_API size_t ts_reader_metadata_count(const ts_reader *reader)
{
    return reader->metadata_count;
}

TS_API bool ts_reader_metadata_at(const ts_reader *reader, size_t index,
                                  ts_metadata *metadata)
{
    if (index >= reader->metadata_count) return false;
    const ts__metadata_row *const row = &reader->metadata[index];
    const uint64_t value = row->entry.value;
    const ts_metadata made = {
        .track = row->track,
        .key = ts_reader_name(reader, row->entry.key),
        .type = (ts_value_type)row->entry.type,
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

static uint64_t ts__session_number(const ts_reader *reader, const char *key)
{
    ts_metadata found;
    if (!ts_reader_metadata(reader, 0, key, &found)) return 0;
    if (found.type == TS_VALUE_INT && found.number > 0)
        return (uint64_t)found.number;
    if (found.type == TS_VALUE_DOUBLE && found.real >= 1 && found.real < 1e18)
        return (uint64_t)found.real;
    return 0;
}

/* ---- 11.11 Reader: clocks ----------------------------------------------- */
// src/replay/reader/clocks.h

/*
    A clock is piecewise linear between its samples; the first and the last
    segment are extrapolated. Everything is computed in integers:

        raw = segment.raw + floor(x * ns / ticks),  x = tick - segment.start

    For 0 <= x < span three multiplications are enough, without a division:
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

// Converts any tick exactly, but slowly.
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

// Finds the segment that contains a tick, or the nearest one.
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

// Finds a clock. Clocks without a sample share the last one of the set, which
// counts nanoseconds.
static const ts__clock *ts__clock_find(const ts__clocks *clocks, uint32_t id)
{
    const ts__clock wanted = { .id = id };
    if (id < clocks->clock_count - 1 && clocks->clocks[id].id == id)
        return &clocks->clocks[id]; // the usual case
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
    const ts__segment *const segment =
        ts__segment_find(clocks, ts__clock_find(clocks, id), tick);
    if (tick - segment->start < segment->span)
        return ts__segment_near(segment, tick - segment->start);
    return ts__segment_far(clocks, segment, tick);
}

// Prepares a segment for ts__segment_near, as far as results cannot overflow.
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

// Converts `count` ticks of one clock, which may lie in several segments.
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

// Builds a clock with a single sample from its type or its known frequency.
static void ts__clock_single(const ts_reader *reader, ts__clocks *clocks,
                             const ts_clock_entry *entry)
{
    const uint64_t hz = ts__session_number(reader, "clock.hz");
    const bool counts_ns =
        entry->type == TS_CLOCK_MONOTONIC_RAW || entry->type == TS_CLOCK_OTHER;
    ts__segment segment = { .start = entry->tick,
                            .raw = (int64_t)entry->raw_ns };
    segment.ticks = hz && !counts_ns ? hz : 1;
    segment.ns = hz && !counts_ns ? 1000000000 : 1;
    if (!counts_ns) clocks->estimated = true;
    clocks->segments[clocks->segment_count++] = segment;
}

// Returns whether a sample may follow another; `start`: the first tick of the
// clock.
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

// Adds one clock with `count` samples, in the order of the file.
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

// Adds the clock that is used for every clock without a sample. If the trace
// has no samples at all, clock 0 is one of these: then the start is time 0.
static void ts__clock_unknown(const ts_reader *reader, ts__clocks *clocks)
{
    const bool no_zero = clocks->clock_count == 0 || clocks->clocks[0].id != 0;
    const uint64_t hz = no_zero ? ts__session_number(reader, "clock.hz") : 0;
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

// Allocates a set with room for one clock and segment per sample, and one more.
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

// With a damaged header the first sample of clock 0 counts as the start.
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

// Builds every clock from the samples, which are sorted by clock.
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

// Frees replaced sets that no cursor uses any more.
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

// Sets the base so that the start of the trace is time 0.
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

TS_API bool ts_reader_clock_at(const ts_reader *reader, size_t index,
                               ts_clock_point *point)
{
    if (index >= reader->sample_count) return false;
    const ts__sample *const sample = &reader->samples[index];
    point->clock = sample->clock;
    point->entry = sample->entry;
    point->time_ns =
        ts__clock_time(reader->clocks, sample->clock, sample->entry.tick);
    return true;
}

TS_API bool ts_reader_boot(const ts_reader *reader, uint64_t *raw_ns,
                           uint64_t *boottime_ns)
{
    for (size_t i = 0; i < reader->sample_count; i++) {
        const ts_clock_entry *const entry = &reader->samples[i].entry;
        const uint64_t time_ns = (uint64_t)ts__clock_time(
            reader->clocks, reader->samples[i].clock, entry->tick);
        if (reader->samples[i].clock || !entry->boottime_ns ||
            entry->type == TS_CLOCK_OTHER)
            continue;
        *raw_ns = entry->raw_ns - time_ns;
        *boottime_ns = entry->boottime_ns - time_ns;
        return true;
    }
    return false;
}

// Interpolates between two samples, so that corrections of the clock are spread
// evenly; outside it extrapolates from the nearest sample at the rate of 1.
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

/* ---- 11.12 Reader: losses ----------------------------------------------- */
// src/replay/reader/losses.h

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
        const ts__loss_seen *const lost = &reader->lost[i];
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

/* ---- 11.13 Reader: open, refresh, close --------------------------------- */
// src/replay/reader/open.h

_Static_assert(TS_EVENT_LIMIT <= 64, "sets of events are bits of 64");
#define TS__X(name, value, text) | UINT64_C(1) << value
static const uint64_t ts__known_events = 0 TS_EVENTS(TS__X);
#undef TS__X

// Returns whether a chunk holds events of a kind that this version knows.
static bool ts__in_chunk_known(const ts_chunk_header *header)
{
    return header->kind == TS_CHUNK_EVENTS && header->event < 64 &&
           ts__known_events >> header->event & 1;
}

static bool ts__in_chunk_kind_known(uint8_t kind)
{
    return (kind >= TS_CHUNK_NAMES && kind <= TS_CHUNK_SYMBOLS) ||
           kind == TS_CHUNK_EVENTS || kind == TS_CHUNK_BLOB ||
           kind == TS_CHUNK_CAPTURE;
}

static ts_chunk_info ts__in_chunk_describe(const ts__clocks *clocks,
                                           const ts__in_chunk *chunk)
{
    ts_chunk_info info = { chunk->offset, chunk->header, 0, 0 };
    const ts_chunk_header *const header = &chunk->header;
    info.header.checksum = 0; // an index entry has none
    if (header->kind != TS_CHUNK_EVENTS || !header->count) return info;
    info.first_ns = ts__clock_time(clocks, header->clock, header->first);
    info.last_ns = ts__clock_time(clocks, header->clock, header->last);
    return info;
}

// Returns whether the ticks of a chunk can be converted. Ticks are compared
// with samples modulo 2^64: in a chunk 2^63 ticks away from them the times
// would jump.
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
    const uint64_t recorded = ts__session_number(reader, "salvaged.records");
    if (recorded > info->salvaged) info->salvaged = recorded;
    info->track_count = (uint32_t)reader->tables[TS_CHUNK_TRACKS].count;
    info->site_count = (uint32_t)reader->tables[TS_CHUNK_SITES].count;
    info->name_count = (uint32_t)reader->tables[TS_CHUNK_NAMES].count;
    info->launch_count = (uint32_t)reader->tables[TS_CHUNK_LAUNCHES].count;
}

// Loads and derives everything that the chunk table leads to.
static ts_result ts__reader_finish(ts_reader *reader)
{
    ts_result result = ts__load_all(reader);
    for (uint32_t i = 0; result == TS_OK && i < TS__TABLES; i++)
        if (!ts__table_finish(reader, &reader->tables[i]))
            result = TS_ERR_MEMORY;
    if (result == TS_OK && !ts__symbols_finish(reader)) result = TS_ERR_MEMORY;
    if (result == TS_OK) ts__metadata_finish(reader);
    if (result == TS_OK) result = ts__clocks_finish(reader);
    if (result == TS_OK) result = ts__losses_finish(reader);
    if (result == TS_OK) result = ts__index_pictures(reader);
    if (result == TS_OK) ts__info_finish(reader);
    return result;
}

// Salvages a trace whose writer is gone. Returns whether the file has changed.
static bool ts__reader_salvage(ts_reader *reader)
{
    ts_info *const info = &reader->info;
    info->salvage = ts__leftover_state(reader);
    info->live = info->salvage == TS_ERR_BUSY;
    if (info->salvage == TS_ERR_STATE) {
        if (reader->desc.no_salvage) return false;
#ifdef TRACESMITH_DISABLE
        info->salvage = TS_ERR_UNSUPPORTED;
#else
        info->salvage = ts_salvage(reader->path, &info->salvaged);
#endif
    }
    info->live = info->salvage == TS_ERR_BUSY;
    info->salvage_failed = info->salvage != TS_OK &&
                           info->salvage != TS_ERR_BUSY &&
                           info->salvage != TS_ERR_NOT_FOUND;
    return info->salvage == TS_OK;
}

static ts_result ts__header_read(ts_reader *reader)
{
    ts_file_header *const header = &reader->header;
    const size_t checked = offsetof(ts_file_header, checksum);
    const size_t size =
        reader->size < sizeof *header ? (size_t)reader->size : sizeof *header;
    const ts__fault read = ts__read_at(reader, 0, header, size);
    if (read.result != TS_OK) return read.result;
    if (memcmp(header, TS_FILE_MAGIC, size < 8 ? size : 8) != 0)
        return TS_ERR_NOT_SBT;
    if (size < sizeof *header) return TS_ERR_TRUNCATED;
    if (XXH3_64bits(header, checked) == header->checksum) {
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

// With a damaged header the first valid chunk determines the session.
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
    if (reader->path) result = ts__path_open(reader);
    if (result == TS_OK)
        result = reader->size ? ts__header_read(reader) : TS_ERR_TRUNCATED;
    if (result != TS_OK) return result;
    if (reader->header_damaged) ts__header_guess(reader);
    if (!ts__index_end(reader, &end)) {
        ts__reader_salvage(reader);
        ts__reader_grow(reader); // the writer may just have finished
    }
    result = ts__index_or_walk(reader);
    return result == TS_OK ? ts__reader_finish(reader) : result;
}

static bool ts__reader_defaults(ts_reader *reader)
{
    reader->threads = ts__thread_count(reader->desc.threads, TS__THREADS_MAX);
    if (!reader->desc.inflate_bytes) reader->desc.inflate_bytes = 1 << 30;
    reader->fd = -1;
    reader->bytes = reader->desc.bytes;
    reader->size = reader->desc.size;
    if (reader->bytes) return true;
    if (reader->desc.read) {
        ts__reader_grow(reader);
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
    if (!out || !desc || (!desc->path && !desc->bytes && !desc->read))
        return TS_ERR_USAGE;
    ts_allocator allocator = desc->allocator;
    if (!allocator.resize) allocator.resize = ts__mem_default;
    ts_reader *const reader = ts__mem_get(&allocator, sizeof *reader);
    if (!reader) return TS_ERR_MEMORY;
    memset(reader, 0, sizeof *reader);
    reader->allocator = allocator;
    reader->desc = *desc;
    reader->copies_age = 1;
    ts__mutex_open(&reader->lock);
    ts__mutex_open(&reader->blob_lock);
    ts_result result = TS_ERR_MEMORY;
    if (ts__reader_defaults(reader)) result = ts__reader_load(reader);
    if (result == TS_OK)
        *out = reader;
    else
        ts_reader_close(reader);
    return result;
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
    ts__mem_put(allocator, reader->symbols,
                reader->symbol_count * sizeof *reader->symbols);
    ts__memory_blocks_free(allocator, &reader->blocks);
    ts__memory_blocks_free(allocator, &reader->copies);
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
    ts__mem_put(&reader->allocator, reader->piped, reader->piped_size);
    ts__reader_free_tables(reader);
    ts__path_close(reader);
    ts__mem_put(&allocator, reader->path, reader->path_size);
    ts__mem_put(&allocator, reader->chunks,
                reader->chunk_capacity * sizeof *reader->chunks);
    ts__mem_put(&allocator, reader->parts,
                reader->part_capacity * sizeof *reader->parts);
    ts__mem_put(&allocator, reader->samples,
                reader->sample_capacity * sizeof *reader->samples);
    ts__mem_put(&allocator, reader->metadata,
                reader->metadata_capacity * sizeof *reader->metadata);
    ts__mem_put(&allocator, reader->lost,
                reader->lost_capacity * sizeof *reader->lost);
    ts__mem_put(&allocator, reader->losses, reader->losses_size);
    ts__mem_put(&allocator, reader->damages,
                reader->damage_capacity * sizeof *reader->damages);
    ts__mem_put(&allocator, reader->blobs,
                reader->blob_capacity * sizeof *reader->blobs);
    ts__mem_put(&allocator, reader->captures,
                reader->capture_capacity * sizeof *reader->captures);
    ts__mem_put(&allocator, reader->image_places,
                reader->images_sorted * sizeof *reader->image_places);
    ts__mem_put(&allocator, reader->images,
                reader->image_capacity * sizeof *reader->images);
    ts__mutex_close(&reader->lock);
    ts__mutex_close(&reader->blob_lock);
    ts__mem_put(&allocator, reader, sizeof *reader);
}

// Removes the damage at the end of the file: it may have been a chunk that was
// only half written.
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
    if (reader->bytes || !reader->desc.length || reader->info.finished)
        return false;
    const bool lived = reader->info.live;
    bool more = ts__reader_grow(reader);
    // If there is nothing new, the writer may be gone. It may have written more
    // between the two checks, so check the size again.
    if (!more) {
        more = ts__reader_salvage(reader);
        if (ts__reader_grow(reader) || reader->info.live != lived) more = true;
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

/* ---- 11.14 Reader: columns ---------------------------------------------- */
// src/replay/reader/columns.h

typedef struct ts__column {
    ts_column_header header;
    const uint8_t *data;
    bool present;
} ts__column;

// The columns of a chunk: located, not decoded.
typedef struct ts__columns {
    ts__column column[TS_COLUMN_LIMIT];
    uint32_t count;
} ts__columns;

// Checks that the blocks of 64 values, each with its own width, fill `size`.
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
    case TS_TRANSFORM_ISSUED: return header->column == TS_COLUMN_QUEUED;
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

// Locates and checks the columns in a payload. Afterwards their data can be
// read without further checks, and 8 bytes may be loaded at any value.
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

// Gets one value of an array of `width`-bit values. A value of up to 57 bits,
// shifted by at most 7, fits into one 8-byte load; a wider one ends in the next
// byte.
static inline __attribute__((always_inline)) uint64_t
ts__unpack_one(const uint8_t *data, uint32_t width, uint32_t index)
{
    const uint32_t bit = index * width;
    const uint8_t *const at = data + (bit >> 3);
    uint64_t value = ts__get64(at) >> (bit & 7);
    if (width > 57) value |= (uint64_t)at[8] << 1 << (63 - (bit & 7));
    return width ? value & UINT64_MAX >> (64 - width) : 0;
}

// Decodes values in groups of eight. Eight values fill whole bytes, so that
// with a constant width each of them has a constant offset.
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

// Most blocks are full and narrow. For them count and width are compile-time
// constants.
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
// Transforms that need other columns are applied by ts__gaps_decode,
// ts__submitted_decode and ts__queued_decode.
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

// Decodes starts that are stored as distances from the previous end.
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

// Decodes `submitted` that is stored as distances from `queued` (NULL: zeros).
static void ts__submitted_decode(const ts__column *column, uint32_t count,
                                 const uint64_t *queued, uint64_t *values)
{
    if (column->header.transform != TS_TRANSFORM_QUEUED) return;
    for (uint32_t i = 0; i < count; i++)
        values[i] = (queued ? queued[i] : 0) - ts__unzigzag(values[i]);
}

// Decodes times of issue that are stored as distances from the previous one, as
// distances before the start of the event.
static void ts__queued_decode(const ts__column *column, uint32_t count,
                              const uint64_t *starts, uint64_t *values)
{
    if (column->header.transform != TS_TRANSFORM_ISSUED) return;
    uint64_t issued = column->header.base;
    for (uint32_t i = 0; i < count; i++) {
        issued += ts__unzigzag(values[i]);
        values[i] = starts[i] - issued;
    }
}

/* ---- 11.15 Reader: events ----------------------------------------------- */
// src/replay/reader/events.h

/*
    Layout of ts_columns.memory, each part with one u64 per row:

        start_ns | duration_ns | ticks | a | b | c | values ... | texts ...

    While times are decoded, start_ns holds the stack of zones, a the leads and
    then the ends, b and c the columns nest and tail.
*/
enum { TS__DECODE_BYTES_MAX = 1 << 30, TS__DECODE_FIXED = 6 };

_Static_assert(TS_COLUMN_LIMIT <= 64, "sets of columns are bits of 64");
#define TS__COLUMN_BIT(name) (UINT64_C(1) << (TS_COLUMN_##name))
static const uint64_t ts__columns_hidden =
    TS__COLUMN_BIT(START) | TS__COLUMN_BIT(DURATION) | TS__COLUMN_BIT(NEST) |
    TS__COLUMN_BIT(LEAD) | TS__COLUMN_BIT(TAIL) | TS__COLUMN_BIT(TEXT) |
    TS__COLUMN_BIT(TRACK);
static const uint64_t ts__columns_numbers = // these values are u32
    TS__COLUMN_BIT(SITE) | TS__COLUMN_BIT(NAME) | TS__COLUMN_BIT(POOL) |
    TS__COLUMN_BIT(CATEGORY) | TS__COLUMN_BIT(STACK) | TS__COLUMN_BIT(THREAD) |
    TS__COLUMN_BIT(LAUNCH) | TS__COLUMN_BIT(PEER);

// Returns whether a column gets an array in ts_columns.values.
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

// Computes the times of zones from those of the zones inside them (section 8.1
// of the format). `lead` receives the ends; `stack` has header->count elements.
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

// Decodes the times of events other than zones. `durations` receives the ends.
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

// Sets start_ns, duration_ns and the ticks; `at` is the memory.
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
    columns->end_ticks = a;
    return NULL;
}

// Checks that values fit u32: truncated, they would refer to something else.
static const char *ts__numbers_check(const uint64_t *values, uint32_t count)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < count; i++)
        all |= values[i];
    return all > UINT32_MAX ? "an identifier has more than 32 bits" : NULL;
}

// Decodes the visible columns to *at and advances it.
static const char *ts__values_decode(const ts__columns *found, uint64_t **at,
                                     ts_columns *columns)
{
    const char *text = NULL;
    for (uint32_t i = 1; i < TS_COLUMN_LIMIT; i++) {
        if (!ts__column_shown(found, i)) continue;
        ts__column_decode(&found->column[i], found->count, *at);
        ts__submitted_decode(&found->column[i], found->count,
                             columns->values[TS_COLUMN_QUEUED], *at);
        ts__queued_decode(&found->column[i], found->count, columns->start_ticks,
                          *at);
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
    return text ? ts__corrupt(text) : ts__no_fault;
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

// Decodes a chunk of known events. Adds nothing to the list of damages.
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
    return ts__no_fault;
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

/* ---- 11.16 Reader: scan and verify -------------------------------------- */
// src/replay/reader/scan.h

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

// Returns whether a chunk may hold events that match a filter.
static bool ts__in_chunk_matches(const ts_reader *reader,
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
    size_t *chunks;    // indices of the chunks to scan
    ts__fault *faults; // of each chunk
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

// Reports faults in the order of the file, whichever thread found them first.
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
    threads =
        ts__thread_count(threads ? threads : reader->threads, TS__THREADS_MAX);
    ts__scan scan = {
        .reader = reader, .threads = threads, .call = call, .user = user
    };
    ts_result result = TS_ERR_MEMORY;
    if (ts__scan_open(&scan)) {
        for (size_t i = 0; i < reader->chunk_count; i++)
            if (ts__in_chunk_matches(reader, filter, &reader->chunks[i]))
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
    return same ? ts__no_fault : ts__corrupt("the blob has another hash");
}

// Checks everything that this version knows about a chunk.
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
    *fault = ts__in_chunk_verify_once(reader, chunk);
    if (fault->result == TS_OK && ts__in_chunk_kind_known(chunk->header.kind))
        *fault = ts__in_chunk_payload(reader, chunk, &scratch, &payload);
    columns->payload = scratch.bytes;
    columns->payload_size = scratch.size;
    if (fault->result != TS_OK) return;
    if (ts__in_chunk_has_entries(&chunk->header))
        *fault = ts__entries_check(&chunk->header, payload);
    if (chunk->header.kind == TS_CHUNK_BLOB ||
        chunk->header.kind == TS_CHUNK_CAPTURE)
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

/* ---- 11.17 Reader: blobs and pictures ----------------------------------- */
// src/replay/reader/blobs.h

static int ts__order_blob(const void *a, const void *b)
{
    const ts__blob *const x = a, *const y = b;
    if (x->hash[1] != y->hash[1]) return ts__order_u64(x->hash[1], y->hash[1]);
    if (x->hash[0] != y->hash[0]) return ts__order_u64(x->hash[0], y->hash[0]);
    return ts__order_u64(x->chunk, y->chunk);
}

// Adds a blob to the list. Only its hash is read. The contents are read and
// checked on request, as a compressed blob may claim any size.
static ts_result ts__blob_add(ts_reader *reader, size_t index)
{
    ts__in_chunk *const chunk = &reader->chunks[index];
    uint8_t hash[16];
    if (chunk->header.raw_size < sizeof hash) return TS_OK;
    ts__blob *const blobs =
        ts__mem_more(&reader->allocator, reader->blobs, &reader->blob_capacity,
                     reader->blob_count, sizeof *blobs);
    if (!blobs) return TS_ERR_MEMORY;
    reader->blobs = blobs;
    const ts__fault fault =
        ts__in_chunk_first(reader, chunk, hash, sizeof hash);
    if (fault.result == TS_OK) {
        ts__blob *const blob = &blobs[reader->blob_count++];
        blob->hash[0] = ts__get64(hash);
        blob->hash[1] = ts__get64(hash + 8);
        blob->chunk = index;
        blob->bytes = NULL;
        blob->age = 0;
    }
    return ts__in_chunk_report(reader, chunk, fault);
}

/*
    Limits for a requested blob. It is read into the caller's `buffer`,
    where it is valid until the next use of that buffer; if `buffer` is NULL, it
    is kept until ts_reader_blobs_free.
*/
typedef struct ts__blob_limits {
    uint64_t least, most; // bytes
    uint64_t inflated;    // maximum bytes of a compressed one
    ts__scratch *buffer;
} ts__blob_limits;

// Reads and checks a blob, and gets its bytes.
static ts_result ts__blob_open(ts_reader *reader, ts__blob *blob,
                               const ts__blob_limits *limits,
                               const uint8_t **bytes)
{
    ts__in_chunk *const chunk = &reader->chunks[blob->chunk];
    const uint8_t *payload;
    ts__scratch own = { NULL, 0 };
    ts__scratch *const to = limits->buffer ? limits->buffer : &own;
    const bool copied = ts__in_chunk_copied(reader, chunk);
    ts__fault fault = ts__in_chunk_payload(reader, chunk, to, &payload);
    if (fault.result == TS_OK) fault = ts__blob_check(&chunk->header, payload);
    if (fault.result == TS_OK && copied && !limits->buffer) {
        uint8_t *const kept = ts__memory_block_add(
            &reader->allocator, &reader->copies, chunk->header.raw_size);
        blob->age = reader->copies_age;
        if (kept) memcpy(kept, payload, chunk->header.raw_size);
        if (!kept) fault = ts__no_memory;
        payload = kept;
    }
    ts__mem_put(&reader->allocator, own.bytes, own.size);
    if (fault.result == TS_OK) *bytes = payload + 16;
    if (fault.result == TS_OK && !(copied && limits->buffer))
        blob->bytes = *bytes;
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

// Gets the first readable blob with a hash whose size is within the limits.
static ts_result ts__blob_find(ts_reader *reader, const uint64_t hash[2],
                               const ts__blob_limits *limits,
                               const uint8_t **bytes, size_t *size)
{
    size_t low = 0, high = reader->blob_count;
    ts_result result = TS_ERR_NOT_FOUND;
    const ts__blob wanted = { .hash = { hash[0], hash[1] } };
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
        const ts_chunk_header *const header =
            &reader->chunks[blob->chunk].header;
        *size = header->raw_size - 16;
        if (*size < limits->least || *size > limits->most) continue;
        if (header->flags & TS_CHUNK_ZSTD && *size > limits->inflated) continue;
        if (blob->age && blob->age != reader->copies_age)
            blob->bytes = NULL; // the copy was freed
        *bytes = blob->bytes;
        result = *bytes ? TS_OK : ts__blob_open(reader, blob, limits, bytes);
        if (result == TS_OK || result == TS_ERR_MEMORY) break;
    }
    return result;
}

// *bytes is NULL unless the result is TS_OK. TS_ERR_NOT_FOUND with *size set:
// the blob exists, but its size is outside of the limits.
static ts_result ts__reader_blob(ts_reader *reader, const uint64_t hash[2],
                                 const ts__blob_limits *limits,
                                 const uint8_t **bytes, size_t *size)
{
    *bytes = NULL;
    *size = 0;
    ts__mutex_take(&reader->blob_lock);
    ts_result result = ts__blobs_list(reader);
    if (result == TS_OK)
        result = ts__blob_find(reader, hash, limits, bytes, size);
    ts__mutex_give(&reader->blob_lock);
    return result;
}

TS_API ts_result ts_reader_blob(ts_reader *reader, const uint64_t hash[2],
                                const void **bytes, size_t *size)
{
    static const ts__blob_limits any = { 0, UINT64_MAX, UINT64_MAX, NULL };
    const uint8_t *found;
    const ts_result result = ts__reader_blob(reader, hash, &any, &found, size);
    *bytes = found;
    if (result != TS_OK) *size = 0;
    return result;
}

TS_API void ts_reader_blobs_free(ts_reader *reader)
{
    ts__mutex_take(&reader->blob_lock);
    ts__memory_blocks_free(&reader->allocator, &reader->copies);
    reader->copies_age++;
    ts__mutex_give(&reader->blob_lock);
}

TS_API bool ts_reader_blob_at(ts_reader *reader, size_t index, uint64_t hash[2])
{
    ts__mutex_take(&reader->blob_lock);
    const bool there =
        ts__blobs_list(reader) == TS_OK && index < reader->blob_count;
    if (there) memcpy(hash, reader->blobs[index].hash, 16);
    ts__mutex_give(&reader->blob_lock);
    return there;
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

/* ---- 11.18 Reader: cursor ----------------------------------------------- */
// src/replay/reader/cursor.h

/*
    Chunks wait in the order of their first event. When the cursor reaches that
    time, the chunk is decoded, its rows are sorted, and it becomes a run. A
    heap yields the run whose next event comes first.
*/
typedef struct ts__run {
    struct ts__run *next_free;
    ts_columns columns;
    uint32_t *rows; // sorted; followed by as much scratch space
    size_t room;
    uint32_t count, next;
} ts__run;

// The next event of a run.
typedef struct ts__head {
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
    ts__clocks *clocks; // the current set when the cursor was opened
    ts_filter filter;
    uint32_t *tracks; // of the filter, sorted
    ts__waiting *waiting;
    size_t waiting_count, waiting_room, waiting_next;
    ts__head *heads;
    size_t head_count, head_room;
    ts__run *runs;  // finished, for reuse
    ts__run *spent; // finished, but the caller still uses its last event
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

// Returns whether row a of a chunk comes before row b. A chunk holds a zone
// behind the zones inside it.
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

// Returns whether the head of one run comes before that of another.
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

static bool ts__cursor_row_matches(const ts_cursor *cursor,
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

// Merge sort; `spare` is as large as `rows`.
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
static void ts__rows_radix_pass(const int64_t *start_ns, int64_t least,
                                uint32_t shift, const uint32_t *from,
                                uint32_t *to, size_t count)
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

// Sorts by start, which takes two passes for most chunks, then equal starts.
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
        ts__rows_radix_pass(start_ns, least, shift, from, to, count);
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

// Sorts run->rows, with as much scratch space behind them.
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
        if (ts__cursor_row_matches(cursor, columns, i))
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

// Makes a run of a chunk that the cursor has reached, unless it is damaged or
// no row matches the filter.
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

// Opens every chunk whose events may come before the first one of the heap.
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

// Copies the filter with its tracks sorted.
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
        if (!ts__in_chunk_matches(reader, &cursor->filter, chunk)) continue;
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

/* ---- 11.19 Graph: big blocks of memory ---------------------------------- */
// src/replay/graph/arena.h

#include <stdlib.h>
#include <string.h>

/*
    Loading and analysing a trace allocates dozens of blocks of many megabytes,
    most of them for a short time. malloc would return each to the system, which
    clears every page before it hands it out again: a third of the time for ten
    million operations. Therefore big blocks are carved out of regions that are
    kept until the arena is closed, and freed blocks are reused, whole or in
    parts. Regions use huge pages where the system has them. Small blocks come
    from malloc.

    Threads: any, under one lock; big blocks are few.
*/
#define TS__ARENA_LEAST  (UINT32_C(1) << 20) // minimum size of a big block
#define TS__ARENA_PIECE  (UINT32_C(1) << 14) // granularity of sizes
#define TS__ARENA_REGION (UINT32_C(1) << 24) // size of the first region
#define TS__ARENA_PAGE   (UINT32_C(1) << 21) // alignment of regions

// A part of a region, free or used.
typedef struct ts__extent {
    char *from;
    size_t size;
    bool used, first; // first: the first one of its region
} ts__extent;

typedef struct ts__arena {
    ts__mutex lock;
    uint32_t users;
    size_t size; // sum of all regions
    ts__extent *extents;
    size_t count, capacity;
} ts__arena;

static bool ts__extent_insert(ts__arena *arena, size_t at, ts__extent extent)
{
    if (arena->count == arena->capacity) {
        const size_t capacity = arena->capacity ? arena->capacity * 2 : 64;
        ts__extent *const more = (ts__extent *)realloc(
            arena->extents, capacity * sizeof *arena->extents);
        if (!more) return false;
        arena->extents = more;
        arena->capacity = capacity;
    }
    ts__extent *const to = arena->extents + at;
    memmove(to + 1, to, (arena->count++ - at) * sizeof *to);
    *to = extent;
    return true;
}

// Cuts an extent down to `size` bytes and frees the rest. Without memory for
// the new extent it stays unchanged.
static void ts__extent_split(ts__arena *arena, size_t at, size_t size)
{
    const ts__extent whole = arena->extents[at];
    const ts__extent rest = { whole.from + size, whole.size - size, false,
                              false };
    if (rest.size && ts__extent_insert(arena, at + 1, rest))
        arena->extents[at].size = size;
}

// Merges the next extent into this one, if both are free and adjacent.
static void ts__extent_join(ts__arena *arena, size_t at)
{
    if (at + 1 >= arena->count) return;
    ts__extent *const e = arena->extents + at;
    if (e[0].used || e[1].used || e[1].first) return;
    e[0].size += e[1].size;
    memmove(e + 1, e + 2, (--arena->count - at - 1) * sizeof *e);
}

static size_t ts__arena_pages(size_t size)
{
    return (size + TS__ARENA_PAGE - 1) & ~(size_t)(TS__ARENA_PAGE - 1);
}

// Adds a region of at least half the size of all regions so far, as regions of
// equal size would become too many. Memory that is not touched costs nothing.
static bool ts__arena_grow(ts__arena *arena, size_t size)
{
    size_t most = arena->size / 2;
    if (most < TS__ARENA_REGION) most = TS__ARENA_REGION;
    if (most < size) most = size;
    if (most > SIZE_MAX - TS__ARENA_PAGE) return false;
    most = ts__arena_pages(most);
    void *block = NULL;
    if (posix_memalign(&block, TS__ARENA_PAGE, most)) {
        // In a limited address space the needed size alone may still fit.
        most = ts__arena_pages(size);
        if (posix_memalign(&block, TS__ARENA_PAGE, most)) return false;
    }
    const ts__extent region = { (char *)block, most, false, true };
    if (!ts__extent_insert(arena, arena->count, region)) {
        free(block);
        return false;
    }
#ifdef MADV_HUGEPAGE
    madvise(block, most, MADV_HUGEPAGE);
#endif
    arena->size += most;
    return true;
}

static size_t ts__arena_round(size_t size)
{
    return (size + TS__ARENA_PIECE - 1) & ~(size_t)(TS__ARENA_PIECE - 1);
}

// Takes the first free extent that is large enough: memory in front is the most
// likely to have been touched before.
static void *ts__arena_take(ts__arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2) return NULL;
    size = ts__arena_round(size);
    size_t at = 0;
    while (at < arena->count &&
           (arena->extents[at].used || arena->extents[at].size < size))
        at++;
    if (at == arena->count && !ts__arena_grow(arena, size)) return NULL;
    ts__extent_split(arena, at, size);
    arena->extents[at].used = true;
    return arena->extents[at].from;
}

static size_t ts__arena_find(const ts__arena *arena, const void *block)
{
    size_t at = 0;
    while (arena->extents[at].from != block)
        at++;
    return at;
}

static void ts__arena_free(ts__arena *arena, const void *block)
{
    const size_t at = ts__arena_find(arena, block);
    arena->extents[at].used = false;
    ts__extent_join(arena, at);
    if (at && !arena->extents[at].first) ts__extent_join(arena, at - 1);
}

// Resizes a block in place. Returns whether it has `size` bytes now.
static bool ts__arena_stretch(ts__arena *arena, const void *block, size_t size)
{
    const size_t at = ts__arena_find(arena, block);
    ts__extent *const e = arena->extents + at;
    if (size > SIZE_MAX / 2) return false;
    size = ts__arena_round(size);
    if (e->size >= size) {
        ts__extent_split(arena, at, size);
        ts__extent_join(arena, at + 1);
        return true;
    }
    if (at + 1 == arena->count || e[1].used || e[1].first ||
        e->size + e[1].size < size)
        return false;
    e[1].from += size - e->size;
    e[1].size -= size - e->size;
    e->size = size;
    if (e[1].size) return true;
    memmove(e + 1, e + 2, (--arena->count - at - 1) * sizeof *e);
    return true;
}

static void *ts__arena_locked(ts__arena *arena, void *ptr, size_t old_size,
                              size_t new_size)
{
    const bool big = old_size >= TS__ARENA_LEAST;
    if (!new_size) {
        ts__arena_free(arena, ptr);
        return NULL;
    }
    if (big && new_size >= TS__ARENA_LEAST &&
        ts__arena_stretch(arena, ptr, new_size))
        return ptr;
    void *const block = new_size >= TS__ARENA_LEAST
                            ? ts__arena_take(arena, new_size)
                            : malloc(new_size);
    if (!block || !ptr) return block;
    memcpy(block, ptr, old_size < new_size ? old_size : new_size);
    if (big)
        ts__arena_free(arena, ptr);
    else
        free(ptr);
    return block;
}

// The resize() of ts_allocator for an arena; user NULL: plain malloc.
static void *ts__arena_resize(void *user, void *ptr, size_t old_size,
                              size_t new_size)
{
    ts__arena *const arena = (ts__arena *)user;
    if (!ptr) old_size = 0;
    if (!ptr && !new_size) return NULL;
    if (!arena || (old_size < TS__ARENA_LEAST && new_size < TS__ARENA_LEAST)) {
        if (new_size) return realloc(ptr, new_size);
        free(ptr);
        return NULL;
    }
    ts__mutex_take(&arena->lock);
    void *const block = ts__arena_locked(arena, ptr, old_size, new_size);
    ts__mutex_give(&arena->lock);
    return block;
}

/*
    Returns the allocator to use: the given one, or a new arena if none is
    given. An arena of another object is shared; it lives as long as any user of
    it.
*/
static ts_allocator ts__arena_open(const ts_allocator *given)
{
    ts_allocator a = *given;
    if (a.resize && a.resize != ts__arena_resize) return a;
    ts__arena *arena = a.resize ? (ts__arena *)a.user : NULL;
    a.resize = ts__arena_resize;
    if (arena) {
        ts__mutex_take(&arena->lock);
        arena->users++;
        ts__mutex_give(&arena->lock);
        return a;
    }
    a.user = arena = (ts__arena *)calloc(1, sizeof *arena);
    if (arena) {
        arena->users = 1;
        ts__mutex_open(&arena->lock);
    }
    return a;
}

static void ts__arena_close(const ts_allocator *a)
{
    ts__arena *const arena = (ts__arena *)a->user;
    if (a->resize != ts__arena_resize || !arena) return;
    ts__mutex_take(&arena->lock);
    const bool last = --arena->users == 0;
    ts__mutex_give(&arena->lock);
    if (!last) return;
    for (size_t i = 0; i < arena->count; i++)
        if (arena->extents[i].first) free(arena->extents[i].from);
    ts__mutex_close(&arena->lock);
    free(arena->extents);
    free(arena);
}

/* ---- 11.20 Graph: vectors, maps, sorting -------------------------------- */
// src/replay/graph/containers.h

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>
#include <stdlib.h>
#include <string.h>

// Recorded times lie within this limit and computed ones within four times of
// it, so that neither a sum nor a difference of two overflows.
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

// A growing array. Grows by doubling; a non-empty block has room for one
// element at least.
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

// Reserves room for `capacity` elements in all and keeps the present ones.
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

// Returns unused memory; on failure the array stays unchanged.
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

// Appends an uninitialised element; NULL without memory.
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

// A hash map: open addressing with linear probing. The value TS_NODE_NONE marks
// a free slot.
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
    // Fibonacci hashing: the high bits of the product are well mixed.
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
    A stable sort of indices by u64 keys, in linear time. Keys that are spread
    evenly go into buckets of equal width, which leaves little to sort within
    the buckets. Other keys are radix-sorted; digits that are equal in all keys
    are skipped. For several keys sort by the least significant one first.
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

// Frees everything but the resulting order.
static void ts__rsort_keep_order(const ts_allocator *a, ts__rsort *s)
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

// Returns the smallest shift that maps keys with a spread of `range` to no more
// values than there are buckets.
static int ts__rsort_shift(uint64_t range, size_t count)
{
    int shift = 0;
    while (range >> shift >= count / TS__RSORT_SHARE)
        shift++;
    return shift;
}

// Sorts by buckets, unless too many pairs of keys share a bucket, as these may
// need to be exchanged one by one. Returns whether it did.
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
        sorted &= most <= keys[i]; // of the keys so far
        if (keys[i] < least) least = keys[i];
        if (keys[i] > most) most = keys[i];
    }
    if (sorted ||
        (count >= 64 && ts__rsort_buckets(s, count, least, most - least)))
        return;
    ts__rsort_digits(s, count, differ);
}

/*
    Turns the sizes of `groups` groups, followed by a 0, into the ends of the
    groups. The caller then places the members from the last to the first, at
    --offsets[group], which turns the ends into the beginnings.
*/
static void ts__offsets_sum(uint32_t *offsets, size_t groups)
{
    uint32_t sum = 0;
    for (size_t i = 0; i <= groups; i++) {
        sum += offsets[i];
        offsets[i] = sum;
    }
}

/* ---- 11.21 Graph: state ------------------------------------------------- */
// src/replay/graph/state.h

// An operation; its times are those of its node.
typedef struct ts__op {
    int64_t issue; // when the host issued it, or TS__NO_TIME
    uint64_t correlation;
    uint32_t thread; // track
    uint32_t label;  // launch, name or copy type; event kinds: ts__event_op
    uint32_t call;   // node
    uint8_t kind, skip;
    uint8_t memory; // copies: kinds of memory of source and destination
} ts__op;

// Further fields of event records, waits and syncs.
typedef struct ts__event_op {
    uint32_t op;
    uint32_t after; // event record: earlier work that ended later
    uint64_t id, record;
} ts__event_op;

// Further fields of collectives.
typedef struct ts__coll_op {
    uint32_t op, launch; // launch: of its kernel; 0 unknown
    uint64_t communicator;
} ts__coll_op;

/*
    A rendezvous: operations that wait for each other, namely a collective, or a
    send and its receive. With more than one member it has a join. The join
    starts at the latest start of a member and lasts as long as the transfer
    takes once all have arrived: the shortest recorded duration, which is that
    of the member `cost`. The ends of the members depend on its end.
*/
typedef struct ts__rendezvous {
    uint32_t first, count; // in ts_replay.members
    uint32_t expected;     // number of ranks that take part; 0 unknown
    uint32_t join, cost;   // nodes; TS_NODE_NONE: there is only one member
    uint8_t kind;          // TS_EDGE_COLLECTIVE or TS_EDGE_P2P
    bool guessed;          // no communicator and no peers are known
} ts__rendezvous;

// The rendezvous of an operation. Sorted by op.
typedef struct ts__rendezvous_member {
    uint32_t op, rendezvous;
} ts__rendezvous_member;

/*
    A part: what shares correlations, events and a rank. A trace is one part,
    unless several traces were merged into it (metadata `merge.part`): then it
    has as many parts as if they were separate files.
*/
typedef struct ts__trace_part {
    uint32_t file, local; // local: number among the parts of the file
    uint32_t process;     // its first process track; 0: it is the whole file
} ts__trace_part;

// A track of a file that has operations or calls: a stream, thread, ...
typedef struct ts__replay_lane {
    uint32_t file, track;
    uint32_t part;          // until all are loaded: the first of the file
    uint32_t device;        // index of ts_replay.devices
    uint32_t device_track;  // 0 unknown
    uint32_t context_track; // the device if there is no context
    uint64_t device_number, number, flags;
    ts_track_type type;
    bool operations; // it has operations; else only calls
    bool fifo;       // it is a stream
    bool selected;
} ts__replay_lane;

// Flags of nodes.
enum {
    TS__NODE_WAITS = 1, // it has an end node of its own
    TS__NODE_SELECTED = 2,
    TS__NODE_CALL_ONLY = 4 // a call that launched no operation
};

// What a host call does besides launching, according to its name.
typedef enum ts__call_class {
    TS__CALL_PLAIN,
    TS__CALL_SYNCS_STREAM,
    TS__CALL_SYNCS_EVENT,
    TS__CALL_SYNCS_DEVICE,
    TS__CALL_QUERIES, // polls an event or a stream, until it is done
    TS__CALL_COPIES,
    TS__CALL_COPIES_ASYNC,
    TS__CALL_FREES,        // waits for the device before it frees
    TS__CALL_RECORDS,      // records an event that the trace does not name
    TS__CALL_WAITS,        // lets a stream wait for such an event
    TS__CALL_UNKNOWN = 255 // not classified yet
} ts__call_class;

struct ts_replay {
    ts_reader *reader;   // of the first file
    ts__rvec files;      // ts_replay_file
    ts__rvec parts;      // ts__trace_part, by file
    ts__rvec part_first; // uint32_t: first part of each file
    ts__rmap part_of;    // parts of process tracks, by file and track
    ts_allocator allocator;
    ts_deps deps;
    uint32_t queue_depth, connections;
    bool no_inference;
    bool clocks_only;
    // windowed: only what touches [load_from, load_to) is loaded, and its calls
    // from calls_from on
    bool windowed;
    int64_t load_from, load_to;
    int64_t calls_from;
    uint32_t op_count, call_count, join_first, node_count;
    ts__rvec ops;          // ts__op
    ts__rvec places;       // uint32_t: row number of each operation in its file
    ts__rvec call_names;   // uint32_t: names in their file
    ts__rvec call_classes; // uint8_t: ts__call_class
    ts__rvec events;       // ts__event_op
    ts__rvec collectives;  // ts__coll_op, by operation
    ts__rvec rendezvous;   // ts__rendezvous
    ts__rvec members;      // uint32_t: operations of each rendezvous
    ts__rvec member_rendezvous; // ts__rendezvous_member
    ts__rvec joined; // uint32_t: rendezvous of join_first, join_first + 1 ...
    ts__rvec queued; // ts__queued, while the graph is built
    ts__rvec deps_named;   // ts__named_dep, while the graph is built
    ts__rvec call_numbers; // uint64_t: correlations of calls, if needed
    ts__rvec lanes;        // ts__replay_lane
    ts__rvec waiters;      // nodes with an end node of their own, ascending
    ts__rvec ends;         // uint32_t: end node of each operation and call
    // for each node: recorded time and duration, lane, flags
    ts__rvec time, duration, lane, flags;
    ts__rvec offsets, targets, kinds; // edges
    ts__rvec start, gap;              // for each node, set by the run
    ts__rvec changed;        // durations that the run used, if not as recorded
    struct ts__model *model; // built by the first run that needs one
    ts__rvec lane_results, device_results; // ts_lane
    ts__rvec cycle;                        // nodes of a cycle
    ts_replay_stats stats;
};

// Typed access to the vectors above.
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
static ts__trace_part *ts__replay_part(const ts_replay *r, uint32_t part)
{
    return (ts__trace_part *)r->parts.data + part;
}
// Returns a map key for a number that is only unique within its file.
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
// Returns whether operations of a kind are work: they keep a device busy.
static bool ts__kind_works(uint8_t kind)
{
    return kind == TS_EVENT_KERNEL || kind == TS_EVENT_MEMCPY ||
           kind == TS_EVENT_MEMSET || kind == TS_EVENT_COLLECTIVE;
}
// Returns whether the host does the operation itself, not a stream.
static bool ts__kind_of_host(uint8_t kind, bool fifo)
{
    if (ts__kind_syncs(kind)) return true;
    return !fifo && (kind == TS_EVENT_GPU_ALLOC || kind == TS_EVENT_GPU_FREE);
}

/* ---- 11.22 Graph: operations -------------------------------------------- */
// src/replay/graph/operations.h

// The loaded times and places of an operation; its other columns are in a
// ts__op. The kind of that is 0 for a row that is not used; its label is an
// index of colls or events for a row that has such columns.
typedef struct ts__row {
    int64_t start, duration;
    uint32_t track; // replaced by its lane when its file is loaded
    uint32_t place; // row number in its file
} ts__row;

// Further columns of event records, waits and syncs.
typedef struct ts__row_event {
    uint64_t id, record;
} ts__row_event;

// An API call, or a stand-in for one (name 0, no duration).
typedef struct ts__row_call {
    int64_t start, duration;
    uint64_t correlation;
    uint32_t track; // replaced by its lane when its file is loaded
    uint32_t name;
    uint32_t rank;  // position after sorting; TS_NODE_NONE: not used
    uint8_t type;   // ts__call_class
    bool failed;    // its result is not 0
    bool call_only; // no operation has its correlation
    bool early;     // before the window: loaded only as it launched operations
} ts__row_call;

// The state of loading. l->file is the file being loaded.
typedef struct ts__loader {
    ts_replay *replay;
    const ts_allocator *allocator;
    ts_reader *reader; // of the file being loaded
    uint32_t file;
    int64_t offset; // to add to its times
    size_t row_first, call_first;
    ts__rvec referenced; // uint64_t: correlations that dependencies name
    bool deps_failed;
    ts__rvec classes;     // uint8_t by name: ts__call_class
    ts__rvec colls;       // ts__coll: of rows that are collectives
    ts__rvec jobs;        // ts__job of each part
    ts__rvec rows;        // ts__row, in file order
    ts__rvec ops;         // ts__op of each row
    ts__rvec events;      // ts__row_event: of rows that have it
    ts__rvec chunk_row;   // by chunk: its first row, or TS_NODE_NONE
    ts__rvec chunk_place; // by chunk: row number of that row in the file
    ts__rvec chunk_side;  // by chunk: its first index of l->colls or l->events
    ts__rvec chunk_rows;  // by chunk: how many of its rows are in the window
    ts__rvec chunk_ok;    // by chunk: it is decoded
    ts__rvec filter;      // bit map of the operations' correlations
    uint64_t filter_mask;
    bool load_record_calls, load_wait_calls; // no operations exist for these
    ts__rvec *thread_calls; // ts__row_call of each scanning thread
    bool *thread_failed;
    ts__rvec calls;
    ts__rsort sort;
    ts__rmap lanes; // from file and track to lane
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

// Further columns of collectives and point-to-point operations.
typedef struct ts__coll {
    uint64_t communicator, sequence, size, ranks, peer;
    uint32_t launch, name;
    uint32_t rendezvous; // number plus 1; 0: none
} ts__coll;

// Metadata of a part about the job that its process belongs to.
typedef struct ts__job {
    uint64_t rank;  // rank of the process plus 1; 0 unknown
    uint32_t ranks; // default for collectives without `ranks`; 0 unknown
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

// Returns when the host issued a row, by its own columns; else TS__NO_TIME.
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
    default: return TS_COLUMN_START; // a column without values
    }
}

// Reads a row. op->kind stays 0 if the row is not used.
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
    coll->rendezvous = 0;
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

/* ---- 11.23 Graph: windows ----------------------------------------------- */
// src/replay/graph/window.h

// Returns whether a row is in the window. Impossible times are in no window.
static bool ts__row_is_used(const ts__loader *l, const ts_columns *c,
                            uint32_t i)
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
        count += ts__row_is_used(l, c, i);
    ((uint32_t *)l->chunk_rows.data)[c->chunk] = count;
}

// Makes a filter for chunks of some kinds that touch the window from `from` on.
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

// Returns how many rows of a chunk are loaded.
static uint32_t ts__chunk_rows(const ts__loader *l, size_t chunk,
                               const ts_chunk_info *info)
{
    if (l->replay->clocks_only && info->header.event != TS_EVENT_COLLECTIVE)
        return 0;
    return l->replay->windowed ? ((const uint32_t *)l->chunk_rows.data)[chunk]
                               : info->header.count;
}

// Fills in the rows of a chunk. Each thread writes only rows of its own chunks.
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
        if (!ts__row_is_used(l, c, i)) continue;
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

// Assigns row numbers to every chunk, so that rows are in the order of the file
// for any number of decoding threads.
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

// Removes the rows of damaged chunks and those with impossible times.
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
    // A damaged chunk costs only its own rows; the reader lists it.
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

/* ---- 11.24 Graph: traces made of several -------------------------------- */
// src/replay/graph/parts.h

#define TS__PARTS_MAX 32767

static bool ts__parts_push(ts_replay *r, uint32_t file, size_t first)
{
    ts__trace_part *const part =
        (ts__trace_part *)ts__rvec_push(&r->allocator, &r->parts, sizeof *part);
    if (!part) return false;
    part->file = file;
    part->local = (uint32_t)(r->parts.count - 1 - first);
    part->process = 0;
    return true;
}

// Reads the parts of a file from the metadata of its process tracks. A number
// that is too high for the number of tracks is ignored.
static bool ts__parts_read(ts_replay *r, uint32_t file, size_t first)
{
    static const char key[] = "merge.part";
    const ts_reader *const reader = ts__replay_file(r, file)->reader;
    const uint32_t most = ts_reader_info(reader)->track_count;
    ts_metadata m;
    for (size_t i = 0; ts_reader_metadata_at(reader, i, &m); i++) {
        if (!m.track || m.type != TS_VALUE_INT || m.number < 0 ||
            m.number >= most || m.number >= TS__PARTS_MAX ||
            m.key.size != sizeof key - 1 ||
            memcmp(m.key.text, key, m.key.size) != 0)
            continue;
        const size_t part = first + (size_t)m.number;
        while (r->parts.count <= part)
            if (!ts__parts_push(r, file, first)) return false;
        ts__trace_part *const of = ts__replay_part(r, (uint32_t)part);
        if (!of->process) of->process = m.track;
        if (!ts__rmap_put(&r->allocator, &r->part_of,
                          ts__replay_key(file, m.track), (uint32_t)part))
            return false;
    }
    return true;
}

// Adds the parts of a file: one, unless several traces were merged into it.
static bool ts__parts_add(ts_replay *r, uint32_t file)
{
    const size_t first = r->parts.count;
    uint32_t *const at =
        (uint32_t *)ts__rvec_push(&r->allocator, &r->part_first, sizeof *at);
    if (!at) return false;
    *at = (uint32_t)first;
    return ts__parts_read(r, file, first) &&
           (r->parts.count > first || ts__parts_push(r, file, first));
}

// Returns the part that a track belongs to. The parents in a hostile file may
// form a cycle.
static uint32_t ts__parts_find(const ts_replay *r, uint32_t file,
                               uint32_t track)
{
    const ts_reader *const reader = ts__replay_file(r, file)->reader;
    const uint32_t first = ((const uint32_t *)r->part_first.data)[file];
    ts_track found = { 0 };
    found.parent = track;
    for (int depth = 0; depth < 16 && found.parent; depth++) {
        const uint32_t part =
            ts__rmap_get(&r->part_of, ts__replay_key(file, found.parent));
        if (part != TS_NODE_NONE) return part;
        if (!ts_reader_track(reader, found.parent, &found)) break;
    }
    return first;
}

/* ---- 11.25 Graph: dependencies that the source names -------------------- */
// src/replay/graph/dependencies.h

// A dependency between correlations of one file.
typedef struct ts__named_dep {
    uint64_t from, to;
    uint32_t file;
} ts__named_dep;

static int ts__dep_compare(const void *left, const void *right)
{
    const ts__named_dep *const a = (const ts__named_dep *)left;
    const ts__named_dep *const b = (const ts__named_dep *)right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->to != b->to) return a->to < b->to ? -1 : 1;
    return (a->from > b->from) - (a->from < b->from);
}

static void ts__loader_take_deps(const ts_columns *c, uint32_t thread,
                                 void *user)
{
    (void)thread; // the scan uses one thread
    ts__loader *const l = (ts__loader *)user;
    for (uint32_t i = 0; i < c->count; i++) {
        ts__named_dep *const dep = (ts__named_dep *)ts__rvec_push(
            l->allocator, &l->replay->deps_named, sizeof *dep);
        if (!dep) {
            l->deps_failed = true;
            return;
        }
        dep->from = ts__columns_get(c, TS_COLUMN_RECORD, i);
        dep->to = ts__columns_get(c, TS_COLUMN_CORRELATION, i);
        dep->file = l->file;
    }
}

static int ts__dep_compare_number(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

// Sorts the dependencies and removes duplicates. Returns their number.
static size_t ts__deps_once(ts__named_dep *deps, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!kept || ts__dep_compare(&deps[kept - 1], &deps[i]))
            deps[kept++] = deps[i];
    return kept;
}

// Loads the dependencies of a file, and the sorted correlations that they name:
// calls with such a correlation become nodes.
static ts_result ts__loader_deps(ts__loader *l)
{
    l->referenced.count = 0;
    if (!ts_reader_info(l->reader)->counts[TS_EVENT_DEPENDENCY]) return TS_OK;
    ts_replay *const r = l->replay;
    const size_t first = r->deps_named.count;
    const ts_filter filter = { .kinds = TS_FILTER(DEPENDENCY) };
    const ts_result scan =
        ts_reader_scan(l->reader, &filter, 1, ts__loader_take_deps, l);
    if (scan == TS_ERR_MEMORY || l->deps_failed) return TS_ERR_MEMORY;
    size_t count = r->deps_named.count - first;
    if (!count) return TS_OK;
    ts__named_dep *const deps = (ts__named_dep *)r->deps_named.data + first;
    qsort(deps, count, sizeof *deps, ts__dep_compare);
    count = ts__deps_once(deps, count);
    r->deps_named.count = first + count;
    if (!ts__rvec_reserve(l->allocator, &l->referenced, sizeof(uint64_t),
                          count * 2))
        return TS_ERR_MEMORY;
    uint64_t *const referenced = (uint64_t *)l->referenced.data;
    for (size_t i = 0; i < count; i++) {
        referenced[i * 2] = deps[i].from;
        referenced[i * 2 + 1] = deps[i].to;
    }
    l->referenced.count = count * 2;
    qsort(referenced, count * 2, sizeof *referenced, ts__dep_compare_number);
    return TS_OK;
}

static bool ts__loader_uses(const ts__loader *l, uint64_t correlation)
{
    return correlation && l->referenced.count &&
           bsearch(&correlation, l->referenced.data, l->referenced.count,
                   sizeof correlation, ts__dep_compare_number);
}

/* ---- 11.26 Graph: rows of host calls ------------------------------------ */
// src/replay/graph/call_rows.h

static bool ts__text_has(ts_text text, const char *part)
{
    const size_t size = strlen(part);
    const char *at = text.text;
    for (size_t left = text.size; left >= size;) {
        const char *const next =
            (const char *)memchr(at, part[0], left - size + 1);
        if (!next) return false;
        if (!memcmp(next, part, size)) return true;
        left -= (size_t)(next + 1 - at);
        at = next + 1;
    }
    return false;
}

/*
    Classifies functions that may block the host, by the words that all vendors
    use: cudaStreamSynchronize, hipEventQuery, cuMemcpyDtoH_v2, clFinish,
    zeCommandQueueSynchronize, aclrtSynchronizeDevice, ... A free with "async"
    in its name does not block; such a copy may, if the memory is pageable.
    OpenCL functions have an argument that says whether they block; recorders
    append it to the name.
*/
static ts__call_class ts__call_classify(ts_text name)
{
    if (ts__text_has(name, "clEnqueue"))
        return ts__text_has(name, "(blocking)") ? TS__CALL_COPIES
                                                : TS__CALL_COPIES_ASYNC;
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
    if (ts__text_has(name, "StreamWaitEvent")) return TS__CALL_WAITS;
    if (ts__text_has(name, "EventRecord")) return TS__CALL_RECORDS;
    if (ts__text_has(name, "Memcpy"))
        return ts__text_has(name, "Async") ? TS__CALL_COPIES_ASYNC
                                           : TS__CALL_COPIES;
    if (ts__text_has(name, "Free") && !ts__text_has(name, "Async") &&
        (ts__text_has(name, "cudaFree") || ts__text_has(name, "cuMemFree") ||
         ts__text_has(name, "hipFree") || ts__text_has(name, "MemFree")))
        return TS__CALL_FREES;
    return TS__CALL_PLAIN;
}

// Returns the class of a function, computed on first use, as most names of a
// trace belong to something else. Concurrent threads compute the same value.
static uint8_t ts__loader_class(const ts__loader *l, uint32_t name)
{
    const ts__table *const table = &l->reader->tables[TS_CHUNK_NAMES];
    const ts__item *const item = ts__table_find(table, name);
    if (!item) return TS__CALL_PLAIN;
    uint8_t *const known = (uint8_t *)l->classes.data + (item - table->items);
    uint8_t type = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (type != TS__CALL_UNKNOWN) return type;
    const ts_text text = { (const char *)item->body, item->size };
    type = (uint8_t)ts__call_classify(text);
    if ((type == TS__CALL_RECORDS && !l->load_record_calls) ||
        (type == TS__CALL_WAITS && !l->load_wait_calls))
        type = TS__CALL_PLAIN;
    __atomic_store_n(known, type, __ATOMIC_RELAXED);
    return type;
}

// Returns whether the names of a file contain a function with `part` in its
// name.
static bool ts__file_calls(const ts_reader *reader, const char *part)
{
    const ts__table *const table = &reader->tables[TS_CHUNK_NAMES];
    if (!ts_reader_info(reader)->counts[TS_EVENT_API_CALL]) return false;
    for (size_t i = 0; i < table->count; i++) {
        const ts_text name = { (const char *)table->items[i].body,
                               table->items[i].size };
        if (ts__text_has(name, part)) return true;
    }
    return false;
}

// Decides whether calls that record or wait for events are loaded: only if the
// file has no operations for that, and records only if something waits.
static void ts__loader_event_calls(ts__loader *l)
{
    const uint64_t *const counts = ts_reader_info(l->reader)->counts;
    l->load_wait_calls = !counts[TS_EVENT_EVENT_WAIT] &&
                         ts__file_calls(l->reader, "StreamWaitEvent");
    l->load_record_calls = !counts[TS_EVENT_EVENT_RECORD] &&
                           (l->load_wait_calls || counts[TS_EVENT_EVENT_WAIT]);
}

// Returns whether a call is loaded. A call that ended before the window is
// loaded only if it may have launched an operation of the window.
static bool ts__call_is_used(const ts__loader *l, int64_t start, int64_t end,
                             bool launches, bool *early)
{
    const ts_replay *const r = l->replay;
    *early = r->windowed && start < r->load_from && end <= r->load_from;
    return !r->windowed || (start < r->load_to &&
                            (!*early || (launches && start >= r->calls_from)));
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
        const bool launches = correlation && bits[bit >> 6] >> (bit & 63) & 1;
        if (type == TS__CALL_PLAIN && !launches) continue;
        if (!ts__replay_time_ok(c->start_ns[i]) ||
            !ts__replay_time_ok(c->start_ns[i] + l->offset) ||
            !ts__replay_time_ok(c->duration_ns[i]) || c->duration_ns[i] < 0)
            continue;
        const int64_t start = c->start_ns[i] + l->offset;
        bool early;
        if (!ts__call_is_used(l, start, start + c->duration_ns[i], launches,
                              &early))
            continue;
        ts__row_call *const call = (ts__row_call *)ts__rvec_push(
            l->allocator, &l->thread_calls[thread], sizeof *call);
        if (!call) {
            l->thread_failed[thread] = true;
            return;
        }
        call->start = start;
        call->duration = c->duration_ns[i];
        call->correlation = correlation;
        call->track = c->tracks ? c->tracks[i] : c->track;
        call->name = name;
        call->rank = TS_NODE_NONE;
        call->type = type;
        call->failed = ts__columns_get(c, TS_COLUMN_RESULT, i) != 0;
        call->call_only = true;
        call->early = early;
    }
}

/*
    Builds a bit map of the low bits of the operations' correlations, with eight
    bits or more per operation. As correlations count up, hardly any call passes
    that launched nothing; the merge in ts__loader_match finds these.
*/
static bool ts__loader_filter(ts__loader *l)
{
    size_t bits = 4096;
    while (bits < (l->rows.count - l->row_first + l->referenced.count) * 8)
        bits *= 2;
    if (!ts__rvec_fill(l->allocator, &l->filter, sizeof(uint64_t), bits / 64,
                       0))
        return false;
    l->filter_mask = bits - 1;
    uint64_t *const words = (uint64_t *)l->filter.data;
    for (size_t i = l->row_first; i < l->rows.count; i++) {
        const uint64_t bit = ts__loader_op(l, i)->correlation & l->filter_mask;
        words[bit >> 6] |= UINT64_C(1) << (bit & 63);
    }
    for (size_t i = 0; i < l->referenced.count; i++) {
        const uint64_t bit =
            ((const uint64_t *)l->referenced.data)[i] & l->filter_mask;
        words[bit >> 6] |= UINT64_C(1) << (bit & 63);
    }
    return true;
}

// Appends the calls of all scanning threads to those of earlier files.
static ts_result ts__loader_gather(ts__loader *l, uint32_t threads)
{
    size_t count = l->calls.count;
    for (uint32_t i = 0; i < threads; i++) {
        if (l->thread_failed[i]) return TS_ERR_MEMORY;
        count += l->thread_calls[i].count;
    }
    if (count >= TS__REPLAY_OPS_MAX) return TS_ERR_UNSUPPORTED;
    uint32_t first = 0;
    if (!l->calls.count) { // take over the first array without a copy
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
    ts__rvec_trim(l->allocator, &l->calls);
    return TS_OK;
}

// Reserves room for calls. Most operations have a call, and most relevant calls
// an operation. Unused memory is never touched.
static void ts__loader_call_room(ts__loader *l, uint32_t threads)
{
    uint64_t count = ts_reader_info(l->reader)->counts[TS_EVENT_API_CALL];
    const uint64_t rows = l->rows.count - l->row_first;
    if (count > rows + rows / 8) count = rows + rows / 8;
    for (uint32_t i = 0; i < threads; i++)
        if (!ts__rvec_reserve(l->allocator, &l->thread_calls[i],
                              sizeof(ts__row_call),
                              (size_t)(count / threads) + 1))
            l->thread_failed[i] = true;
}

static ts_result ts__loader_calls(ts__loader *l, uint32_t threads)
{
    ts__loader_event_calls(l);
    if (!ts__loader_filter(l) ||
        !ts__rvec_fill(l->allocator, &l->classes, sizeof(uint8_t),
                       l->reader->tables[TS_CHUNK_NAMES].count,
                       TS__CALL_UNKNOWN))
        return TS_ERR_MEMORY;
    ts__rvec vecs = { 0 }, failed = { 0 };
    ts_result result = TS_ERR_MEMORY;
    if (ts__rvec_fill(l->allocator, &vecs, sizeof(ts__rvec), threads, 0) &&
        ts__rvec_fill(l->allocator, &failed, sizeof(bool), threads, 0)) {
        l->thread_calls = (ts__rvec *)vecs.data;
        l->thread_failed = (bool *)failed.data;
        ts__loader_call_room(l, threads);
        const ts_filter filter =
            ts__loader_window(l, TS_FILTER(API_CALL), l->replay->calls_from);
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

/* ---- 11.27 Graph: host calls and their operations ----------------------- */
// src/replay/graph/calls.h

// The order of calls: by start, then by lane (by track while a file is loaded),
// then longer ones first, as they may contain others. Only calls that are equal
// in everything are left unordered.
static bool ts__call_before(const ts__row_call *a, const ts__row_call *b)
{
    if (a->start != b->start) return a->start < b->start;
    if (a->track != b->track) return a->track < b->track;
    if (a->duration != b->duration) return a->duration > b->duration;
    if (a->name != b->name) return a->name < b->name;
    if (a->correlation != b->correlation)
        return a->correlation < b->correlation;
    return a->failed < b->failed;
}

static void ts__loader_call_keys(ts__loader *l, size_t first, int key)
{
    const size_t count = l->calls.count - first;
    for (size_t i = 0; i < count; i++) {
        const ts__row_call *const c =
            ts__loader_call(l, ts__rsort_index(&l->sort)[i]);
        ts__rsort_keys(&l->sort)[i] = key == 0   ? c->failed
                                      : key == 1 ? c->correlation
                                      : key == 2 ? c->name
                                      : key == 3 ? ~(uint64_t)c->duration
                                      : key == 4 ? c->track
                                                 : ts__rsort_time(c->start);
    }
    ts__rsort_run(&l->sort, count);
}

// Puts the order of the calls from `first` on into the sorter. Long runs of
// equal starts, which are rare, cost five more sorts.
static bool ts__loader_call_sort(ts__loader *l, size_t first)
{
    const size_t count = l->calls.count - first;
    if (!ts__rsort_open(l->allocator, &l->sort, count)) return false;
    for (size_t i = 0; i < count; i++)
        ts__rsort_index(&l->sort)[i] = (uint32_t)(first + i);
    ts__loader_call_keys(l, first, 5);
    uint32_t *const index = ts__rsort_index(&l->sort);
    for (size_t i = 1, run = 1; i < count; i++) {
        const ts__row_call *const call = ts__loader_call(l, index[i]);
        run = ts__loader_call(l, index[i - 1])->start == call->start ? run + 1
                                                                     : 1;
        const uint32_t moved = index[i];
        size_t at = i;
        for (; run <= 32 && at > i + 1 - run &&
               ts__call_before(call, ts__loader_call(l, index[at - 1]));
             at--)
            index[at] = index[at - 1];
        index[at] = moved;
        if (run <= 32) continue;
        for (int key = 0; key < 6; key++)
            ts__loader_call_keys(l, first, key);
        return true;
    }
    return true;
}

// Sorts the calls of the file in place.
static bool ts__loader_call_arrange(ts__loader *l)
{
    const size_t count = l->calls.count - l->call_first;
    bool sorted = true;
    for (size_t i = 1; i < count; i++)
        sorted &= !ts__call_before(ts__loader_call(l, l->call_first + i),
                                   ts__loader_call(l, l->call_first + i - 1));
    if (sorted) return true;
    ts__rvec to = { 0 };
    if (!ts__loader_call_sort(l, l->call_first) ||
        !ts__rvec_reserve(l->allocator, &to, sizeof(ts__row_call), count))
        return false;
    ts__row_call *const list = (ts__row_call *)to.data;
    for (size_t i = 0; i < count; i++)
        list[i] = *ts__loader_call(l, ts__rsort_index(&l->sort)[i]);
    memcpy(ts__loader_call(l, l->call_first), list, count * sizeof *list);
    ts__rvec_close(l->allocator, &to);
    return true;
}

// Puts the order of the calls by correlation into the sorter; stable.
static bool ts__loader_call_numbers(ts__loader *l)
{
    const size_t count = l->calls.count - l->call_first;
    if (!ts__rsort_open(l->allocator, &l->sort, count)) return false;
    for (size_t i = 0; i < count; i++)
        ts__rsort_index(&l->sort)[i] = (uint32_t)(l->call_first + i);
    ts__loader_call_keys(l, l->call_first, 1);
    return true;
}

/*
    Chooses the call of a row among the calls first to end - 1, which share its
    correlation (long traces reuse numbers) and are in order of start: the
    latest that began before the row did, on the row's thread if one is near.
*/
static uint32_t ts__loader_choose(const ts__loader *l, const uint32_t *order,
                                  size_t first, size_t end, size_t row)
{
    const int64_t start = ts__loader_row(l, row)->start;
    const uint32_t thread = ts__loader_op(l, row)->thread;
    size_t low = first, high = end;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ts__loader_call(l, order[middle])->start <= start)
            low = middle + 1;
        else
            high = middle;
    }
    const size_t best = low > first ? low - 1 : first;
    for (size_t i = best, tries = 0; thread && tries < 16; tries++) {
        if (ts__loader_call(l, order[i])->track == thread) return order[i];
        if (i-- == first) break;
    }
    return order[best];
}

/*
    Adds stand-ins for calls that the trace lacks. The sorter holds the rows in
    order of correlation; rows of one correlation that one thread issued at the
    same time get one call.
*/
static bool ts__loader_stand_in(ts__loader *l)
{
    const size_t rows = l->rows.count - l->row_first;
    ts__row_call last = { 0 };
    for (size_t i = 0; i < rows; i++) {
        ts__op *const row = ts__loader_op(l, ts__rsort_index(&l->sort)[i]);
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

// Finds the call of each operation: merges both in order of correlation.
static bool ts__loader_match(ts__loader *l)
{
    if (!ts__loader_call_arrange(l) || !ts__loader_call_numbers(l))
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
        ts__rsort_keys(&l->sort)[i] = ts__loader_op(l, row)->correlation;
        ts__rsort_index(&l->sort)[i] = (uint32_t)row;
    }
    if (ok) ts__rsort_run(&l->sort, rows);
    size_t first = 0, end = 0;
    for (size_t i = 0; ok && i < rows; i++) {
        const uint32_t at = ts__rsort_index(&l->sort)[i];
        ts__op *const row = ts__loader_op(l, at);
        while (first < calls &&
               ts__loader_call(l, by[first])->correlation < row->correlation)
            first++;
        if (end < first) end = first;
        while (end < calls &&
               ts__loader_call(l, by[end])->correlation == row->correlation)
            end++;
        if (!row->correlation || first == end) continue;
        row->call = ts__loader_choose(l, by, first, end, at);
        ts__row_call *const call = ts__loader_call(l, row->call);
        call->call_only = false;
        row->issue = call->start;
        if (!row->thread) row->thread = call->track;
    }
    ts__rvec_close(l->allocator, &order);
    return ok && ts__loader_stand_in(l);
}

/*
    Returns whether call b, the next one of the thread, continues to poll for
    what call a polled for. If results are known, a returned "not ready". Else
    the two are so close that the program did nothing else in between.
*/
static bool ts__call_polls_on(const ts__row_call *a, const ts__row_call *b,
                              bool results)
{
    if (a->type != TS__CALL_QUERIES || b->type != TS__CALL_QUERIES ||
        !a->call_only || !b->call_only || a->name != b->name ||
        a->track != b->track)
        return false;
    if (results) return a->failed;
    return b->start - (a->start + a->duration) <= 1000 + 4 * b->duration;
}

// Merges consecutive polls into one call, which waits until the last one is
// done. Polling without success waited for nothing.
static bool ts__loader_polls(ts__loader *l)
{
    bool any = false, results = false;
    for (size_t i = l->call_first; i < l->calls.count; i++) {
        const ts__row_call *const call = ts__loader_call(l, i);
        const bool polls =
            call->call_only && !call->early && call->type == TS__CALL_QUERIES;
        any |= polls;
        results |= polls && call->failed;
    }
    if (!any) return true;
    // by thread, then by start
    if (!ts__loader_call_sort(l, l->call_first)) return false;
    const size_t count = l->calls.count - l->call_first;
    ts__loader_call_keys(l, l->call_first, 4);
    ts__row_call *last = NULL;
    for (size_t i = 0; i < count; i++) {
        ts__row_call *const call =
            ts__loader_call(l, ts__rsort_index(&l->sort)[i]);
        if (call->call_only && (call->early || call->type == TS__CALL_PLAIN))
            continue;
        if (last && ts__call_polls_on(last, call, results)) {
            call->duration += call->start - last->start;
            call->start = last->start;
            last->type = TS__CALL_PLAIN; // dropped
        }
        last = call;
    }
    for (size_t i = l->call_first; i < l->calls.count; i++) {
        ts__row_call *const call = ts__loader_call(l, i);
        if (call->call_only && call->type == TS__CALL_QUERIES && call->failed)
            call->type = TS__CALL_PLAIN;
    }
    return true;
}

// Drops calls that launched nothing, do not wait, and are not named by a
// dependency.
static void ts__loader_drop_calls(ts__loader *l)
{
    uint32_t kept = (uint32_t)l->call_first;
    for (size_t i = l->call_first; i < l->calls.count; i++) {
        ts__row_call *const call = ts__loader_call(l, i);
        if (!call->call_only ||
            (!call->early && (call->type != TS__CALL_PLAIN ||
                              ts__loader_uses(l, call->correlation))))
            call->rank = kept++;
    }
    for (size_t i = l->row_first; i < l->rows.count; i++) {
        ts__op *const row = ts__loader_op(l, i);
        if (row->call != TS_NODE_NONE)
            row->call = ts__loader_call(l, row->call)->rank;
    }
    for (size_t i = l->call_first; i < l->calls.count; i++) {
        const ts__row_call call = *ts__loader_call(l, i);
        if (call.rank != TS_NODE_NONE) *ts__loader_call(l, call.rank) = call;
    }
    l->calls.count = kept;
}

/* ---- 11.28 Graph: lanes and nodes --------------------------------------- */
// src/replay/graph/nodes.h

// Returns the lane of a track of the file being loaded; adds it if needed.
// TS_NODE_NONE without memory.
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
    lane->device = index; // until lanes are sorted
    return ts__rmap_put(l->allocator, &l->lanes, key, index) ? index
                                                             : TS_NODE_NONE;
}

// Finds the device and context of a track. The parents in a hostile file may
// form a cycle.
static void ts__replay_lane_describe(const ts_replay *r, ts__replay_lane *lane)
{
    const ts_reader *const reader = ts__replay_file(r, lane->file)->reader;
    ts_track track;
    lane->part = ts__parts_find(r, lane->file, lane->track);
    lane->type = TS_TRACK_STREAM; // also for undefined tracks
    if (ts_reader_track(reader, lane->track, &track)) {
        if (track.type) lane->type = track.type;
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

// Order of lanes: threads first, then devices of each part; on one device by
// type of track, then by number.
static int ts__replay_lane_compare(const void *left, const void *right)
{
    const ts__replay_lane *const a = (const ts__replay_lane *)left;
    const ts__replay_lane *const b = (const ts__replay_lane *)right;
    const uint64_t of_a[] = { a->operations,     a->part,
                              a->device_number,  a->device_track,
                              (uint64_t)a->type, a->number,
                              a->track };
    const uint64_t of_b[] = { b->operations,     b->part,
                              b->device_number,  b->device_track,
                              (uint64_t)b->type, b->number,
                              b->track };
    for (size_t i = 0; i < sizeof of_a / sizeof of_a[0]; i++)
        if (of_a[i] != of_b[i]) return of_a[i] < of_b[i] ? -1 : 1;
    return 0;
}

// Replaces the tracks of what was loaded of the file by lanes.
static bool ts__loader_assign_lanes(ts__loader *l)
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
        const uint32_t by = ts__loader_op(l, i)->thread;
        if (by != thread && ts__loader_lane(l, by) == TS_NODE_NONE)
            return false;
        thread = by;
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

// Sorts the lanes and updates the lane numbers of operations and calls.
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

// Adds a result for each lane with operations, and for each device with such
// lanes.
static bool ts__replay_results(ts_replay *r)
{
    uint32_t device = TS_NODE_NONE, part = 0;
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
            part == lane->part) {
            lane->device = (uint32_t)r->device_results.count - 1;
            continue;
        }
        ts_lane *const shared = (ts_lane *)ts__rvec_push(
            &r->allocator, &r->device_results, sizeof *shared);
        if (!shared) return false;
        *shared = result;
        shared->track = device = lane->device_track;
        part = lane->part;
        lane->device = (uint32_t)r->device_results.count - 1;
    }
    return true;
}

/*
    The order of rows. At equal starts on one stream the row that ends first
    comes first, then the one that was issued first, so that an event record of
    no duration comes before a kernel that starts at the same time. Then the
    order of the file counts.
*/
static bool ts__loader_before(const ts__loader *l, uint32_t a, uint32_t b)
{
    const ts__row *const x = ts__loader_row(l, a);
    const ts__row *const y = ts__loader_row(l, b);
    if (x->track != y->track) return x->track < y->track;
    if (x->duration != y->duration) return x->duration < y->duration;
    const int64_t issue = ts__loader_op(l, a)->issue;
    const int64_t other = ts__loader_op(l, b)->issue;
    if (issue != other) return issue < other;
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
            keys[i] = key == TS__ROW_ISSUE
                          ? ts__rsort_time(ts__loader_op(l, index[i])->issue)
                      : key == TS__ROW_DURATION ? (uint64_t)row->duration
                      : key == TS__ROW_LANE     ? row->track
                                                : ts__rsort_time(row->start);
        }
        ts__rsort_run(&l->sort, l->rows.count);
    }
}

// Puts the total order of the rows into the sorter; their tracks must be lanes.
// Long runs of equal starts, which are rare, cost three more sorts.
static bool ts__loader_order(ts__loader *l)
{
    const size_t count = l->rows.count;
    if (!ts__rsort_open(l->allocator, &l->sort, count)) return false;
    for (size_t i = 0; i < count; i++)
        ts__rsort_index(&l->sort)[i] = (uint32_t)i;
    ts__loader_row_sort(l, TS__ROW_START);
    uint32_t *const index = ts__rsort_index(&l->sort);
    const uint64_t *const starts = ts__rsort_keys(&l->sort);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && starts[end] == starts[first];)
            end++;
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

static bool ts__nodes_reserve(ts_replay *r, size_t count)
{
    const ts_allocator *const a = &r->allocator;
    return ts__rvec_reserve(a, &r->time, sizeof(int64_t), count) &&
           ts__rvec_reserve(a, &r->duration, sizeof(int64_t), count) &&
           ts__rvec_reserve(a, &r->lane, sizeof(uint32_t), count) &&
           ts__rvec_reserve(a, &r->flags, sizeof(uint8_t), count);
}

// Appends a node; the room is reserved.
static void ts__node_add(ts_replay *r, int64_t time, int64_t duration,
                         uint32_t lane, uint8_t flags)
{
    const uint32_t node = r->node_count++;
    ts__replay_time(r)[node] = time;
    ts__replay_duration(r)[node] = duration;
    ts__replay_lanes(r)[node] = lane;
    ts__replay_flags(r)[node] = flags;
}

static bool ts__node_push(ts_replay *r, int64_t time, int64_t duration,
                          uint32_t lane, uint8_t flags)
{
    const size_t count = r->node_count;
    if (count == r->flags.capacity &&
        !ts__nodes_reserve(r, count + count / 4 + 64))
        return false;
    ts__node_add(r, time, duration, lane, flags);
    return true;
}

// Adds the event columns of the next operation.
static bool ts__loader_add_event(ts__loader *l, ts__op *op)
{
    ts_replay *const r = l->replay;
    const ts__row_event *const from =
        (const ts__row_event *)l->events.data + op->label;
    ts__event_op *const event =
        (ts__event_op *)ts__rvec_push(l->allocator, &r->events, sizeof *event);
    if (!event) return false;
    op->label = (uint32_t)(r->events.count - 1);
    event->op = r->op_count;
    event->after = TS_NODE_NONE;
    event->id = from->id;
    event->record = from->record;
    return true;
}

// Adds the collective columns of the next operation. *waits: whether it waits
// for other members.
static bool ts__loader_add_coll(ts__loader *l, ts__op *op, bool *waits)
{
    ts_replay *const r = l->replay;
    const ts__coll *const coll = (const ts__coll *)l->colls.data + op->label;
    ts__coll_op *const to =
        (ts__coll_op *)ts__rvec_push(l->allocator, &r->collectives, sizeof *to);
    if (!to) return false;
    op->label = coll->name;
    to->op = r->op_count;
    to->launch = coll->launch;
    to->communicator = coll->communicator;
    if (!coll->rendezvous) return true;
    ts__rendezvous_member *const entry = (ts__rendezvous_member *)ts__rvec_push(
        l->allocator, &r->member_rendezvous, sizeof *entry);
    if (!entry) return false;
    entry->op = r->op_count;
    entry->rendezvous = coll->rendezvous - 1;
    *waits =
        ((ts__rendezvous *)r->rendezvous.data + entry->rendezvous)->count > 1;
    return true;
}

// Adds the node of the next operation, and its event or collective columns.
static bool ts__loader_add_op(ts__loader *l, const ts__row *row)
{
    ts_replay *const r = l->replay;
    ts__op *const op = ts__replay_op(r, r->op_count);
    bool waits = ts__kind_syncs(op->kind) || op->kind == TS_EVENT_EVENT_WAIT;
    if (ts__kind_has_event(op->kind) && !ts__loader_add_event(l, op))
        return false;
    if (op->kind == TS_EVENT_COLLECTIVE && !ts__loader_add_coll(l, op, &waits))
        return false;
    ((uint32_t *)r->places.data)[r->op_count++] = row->place;
    ts__node_add(r, row->start, row->duration, row->track,
                 waits ? TS__NODE_WAITS : 0);
    return true;
}

// Sorts the arrays of operations one after the other, so that only one of them
// exists twice at a time.
static bool ts__loader_ops(ts__loader *l)
{
    ts_replay *const r = l->replay;
    const size_t count = l->rows.count;
    if (!ts__loader_order(l)) return false;
    ts__rsort_keep_order(l->allocator, &l->sort);
    const uint32_t *const index = ts__rsort_index(&l->sort);
    if (!ts__rvec_reserve(l->allocator, &r->ops, sizeof(ts__op), count))
        return false;
    // Rows are in random order: prefetch the next ones.
    for (size_t i = 0; i < count; i++) {
        if (i + 8 < count) __builtin_prefetch(ts__loader_op(l, index[i + 8]));
        *ts__replay_op(r, i) = *ts__loader_op(l, index[i]);
    }
    r->ops.count = count;
    ts__rvec_close(l->allocator, &l->ops);
    // Waits need a second node for their end; add a share for joins.
    const size_t nodes = count + l->calls.count + l->events.count;
    if (!ts__rvec_reserve(l->allocator, &r->places, sizeof(uint32_t), count) ||
        !ts__rvec_reserve(l->allocator, &r->events, sizeof(ts__event_op),
                          l->events.count) ||
        !ts__nodes_reserve(r, nodes + nodes / 8))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (i + 8 < count) __builtin_prefetch(ts__loader_row(l, index[i + 8]));
        if (!ts__loader_add_op(l, ts__loader_row(l, index[i]))) return false;
    }
    r->places.count = count;
    ts__rvec_close(l->allocator, &l->rows);
    ts__rvec_close(l->allocator, &l->events);
    return true;
}

// Adds the calls in order of start and sets the calls of the operations.
static bool ts__loader_add_calls(ts__loader *l)
{
    ts_replay *const r = l->replay;
    const size_t count = l->calls.count;
    const bool named = r->deps_named.count != 0;
    if (!ts__loader_call_sort(l, 0) ||
        !ts__rvec_reserve(l->allocator, &r->call_names, sizeof(uint32_t),
                          count) ||
        !ts__rvec_reserve(l->allocator, &r->call_classes, sizeof(uint8_t),
                          count) ||
        (named && !ts__rvec_reserve(l->allocator, &r->call_numbers,
                                    sizeof(uint64_t), count)))
        return false;
    for (size_t i = 0; i < count; i++) {
        ts__row_call *const call =
            ts__loader_call(l, ts__rsort_index(&l->sort)[i]);
        call->rank = r->node_count;
        ((uint32_t *)r->call_names.data)[i] = call->name;
        ((uint8_t *)r->call_classes.data)[i] = call->type;
        if (named) ((uint64_t *)r->call_numbers.data)[i] = call->correlation;
        ts__node_add(r, call->start, call->duration, call->track,
                     call->call_only ? TS__NODE_CALL_ONLY : 0);
    }
    r->call_names.count = r->call_classes.count = count;
    r->call_count = (uint32_t)count;
    for (size_t i = 0; i < r->op_count; i++) {
        ts__op *const op = ts__replay_op(r, i);
        if (op->call != TS_NODE_NONE)
            op->call = ts__loader_call(l, op->call)->rank;
    }
    ts__rvec_close(l->allocator, &l->calls);
    ts__rsort_close(l->allocator, &l->sort);
    return true;
}

/*
    Returns whether the host may wait for a copy inside its call. The call of an
    asynchronous copy returns at once for pinned memory, after staging for a
    copy from pageable memory, and at the end of a copy into pageable memory.
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

// Returns whether the call that launched an operation waited for its end.
static bool ts__call_outlasts(const ts_replay *r, uint32_t op)
{
    const ts__op *const o = ts__replay_op(r, op);
    if (o->call == TS_NODE_NONE ||
        ts__replay_end(r, op) > ts__replay_end(r, o->call))
        return false;
    return ts__kind_syncs(o->kind) ||
           (o->kind == TS_EVENT_MEMCPY && ts__copy_holds(r, o));
}

// Returns whether a call waits although none of its operations shows that.
static bool ts__call_waits(const ts_replay *r, uint32_t call)
{
    const uint8_t type =
        ((const uint8_t *)r->call_classes.data)[call - r->op_count];
    return ts__replay_flags(r)[call] & TS__NODE_CALL_ONLY &&
           type != TS__CALL_PLAIN && type != TS__CALL_COPIES &&
           type != TS__CALL_COPIES_ASYNC && type != TS__CALL_RECORDS &&
           type != TS__CALL_WAITS;
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
    if (!ts__rvec_reserve(&r->allocator, &r->ends, sizeof(uint32_t), count))
        return false;
    uint32_t *const ends = (uint32_t *)r->ends.data;
    for (uint32_t i = 0; i < count; i++) {
        const bool waits = ts__replay_flags(r)[i] & TS__NODE_WAITS;
        ends[i] = waits ? r->node_count : i;
        if (!waits) continue;
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

// Returns the node that is the end of a node: the node itself, or its helper.
static uint32_t ts__replay_end_node(const ts_replay *r, uint32_t node)
{
    const uint32_t with_ends = r->op_count + r->call_count;
    return node < with_ends ? ((const uint32_t *)r->ends.data)[node] : node;
}

/* ---- 11.29 Graph: members of a collective ------------------------------- */
// src/replay/graph/rendezvous.h

/*
    Matches collectives and point-to-point pairs over all files and devices. A
    rank is a device of a file. Members are matched in stages: by communicator
    and sequence number, if recorded; then by communicator, name and size, in
    the order in which each rank began them, as long as all ranks are found;
    then by communicator and name only, as ranks may send different amounts.
*/
typedef struct ts__rendezvous_item {
    uint64_t key;
    uint32_t row, rank;
    uint32_t occurrence; // number of earlier items of the rank with this key
    bool matched;
} ts__rendezvous_item;

typedef enum ts__rendezvous_stage {
    TS__RENDEZVOUS_SEQUENCE,
    TS__RENDEZVOUS_SIZE,
    TS__RENDEZVOUS_NAME
} ts__rendezvous_stage;

static ts__coll *ts__loader_coll(const ts__loader *l, uint32_t row)
{
    return (ts__coll *)l->colls.data + ts__loader_op(l, row)->label;
}

static const ts__replay_lane *ts__rendezvous_lane(const ts__loader *l,
                                                  uint32_t row)
{
    return ts__replay_lane_at(l->replay, ts__loader_row(l, row)->track);
}

static ts_text ts__rendezvous_text(const ts__loader *l, uint32_t row)
{
    const uint32_t file = ts__rendezvous_lane(l, row)->file;
    return ts_reader_name(ts__replay_file(l->replay, file)->reader,
                          ts__loader_coll(l, row)->name);
}

static uint64_t ts__rendezvous_name(const ts__loader *l, uint32_t row)
{
    const ts_text name = ts__rendezvous_text(l, row);
    return XXH3_64bits(name.text, name.size);
}

static uint64_t ts__rendezvous_number(ts_reader *reader, uint32_t process,
                                      const char *key)
{
    ts_metadata found;
    if ((!ts_reader_metadata(reader, process, key, &found) &&
         !ts_reader_metadata(reader, 0, key, &found)) ||
        found.type != TS_VALUE_INT || found.number < 0 ||
        found.number >= UINT32_MAX)
        return UINT64_MAX;
    return (uint64_t)found.number;
}

/*
    Reads the jobs, once per part, as each query searches all metadata. A
    collective without a number of ranks includes all processes of the job,
    unless the job has groups of processes.
*/
static bool ts__rendezvous_jobs(ts__loader *l)
{
    const size_t count = l->replay->parts.count;
    if (!ts__rvec_fill(l->allocator, &l->jobs, sizeof(ts__job), count, 0))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const ts__trace_part *const part = ts__replay_part(l->replay, i);
        ts_reader *const reader =
            ts__replay_file(l->replay, part->file)->reader;
        ts__job *const job = (ts__job *)l->jobs.data + i;
        ts_metadata groups;
        job->rank = ts__rendezvous_number(reader, part->process, "rank") + 1;
        const uint64_t ranks =
            ts__rendezvous_number(reader, part->process, "world_size");
        if (ranks > 1 && ranks < UINT32_MAX &&
            !ts_reader_metadata(reader, part->process, "process_groups",
                                &groups) &&
            !ts_reader_metadata(reader, 0, "process_groups", &groups))
            job->ranks = (uint32_t)ranks;
    }
    return true;
}

static const ts__job *ts__rendezvous_job(const ts__loader *l, uint32_t row)
{
    return (const ts__job *)l->jobs.data + ts__rendezvous_lane(l, row)->part;
}

/*
    Gets sender and receiver of a point-to-point operation: the key of a pair
    contains the direction, which the name shows. Kernels that send and receive
    at the same time have none.
*/
static bool ts__rendezvous_pair(const ts__loader *l, uint32_t row,
                                uint64_t parts[2])
{
    const uint64_t peer = ts__loader_coll(l, row)->peer;
    const uint64_t own = peer ? ts__rendezvous_job(l, row)->rank : 0;
    if (!own) return false;
    const ts_text name = ts__rendezvous_text(l, row);
    const bool sends = ts__text_has(name, "Send") || ts__text_has(name, "send");
    const bool receives =
        ts__text_has(name, "Recv") || ts__text_has(name, "recv");
    const bool swap = sends == receives ? own > peer : receives;
    parts[0] = swap ? peer : own;
    parts[1] = swap ? own : peer;
    return true;
}

static uint64_t ts__rendezvous_key(const ts__loader *l, uint32_t row,
                                   ts__rendezvous_stage stage)
{
    const ts__coll *const coll = ts__loader_coll(l, row);
    uint64_t parts[6] = { (uint64_t)stage, coll->communicator, 0, 0, 0, 0 };
    if (stage == TS__RENDEZVOUS_SEQUENCE) parts[2] = coll->sequence;
    if (stage == TS__RENDEZVOUS_SIZE) parts[2] = coll->size;
    const bool pair = ts__rendezvous_pair(l, row, parts + 4);
    if (stage != TS__RENDEZVOUS_SEQUENCE && !pair)
        parts[3] = ts__rendezvous_name(l, row);
    return XXH3_64bits(parts, sizeof parts);
}

// Order of items: by key, then by occurrence, then by rank.
static int ts__rendezvous_compare(const void *left, const void *right)
{
    const ts__rendezvous_item *const a = (const ts__rendezvous_item *)left;
    const ts__rendezvous_item *const b = (const ts__rendezvous_item *)right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    if (a->occurrence != b->occurrence)
        return a->occurrence < b->occurrence ? -1 : 1;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

// Lists the collectives that are not matched yet, in order of rank and start.
static bool ts__rendezvous_gather(ts__loader *l, ts__rvec *items)
{
    for (size_t i = 0; i < l->rows.count; i++) {
        if (ts__loader_op(l, i)->kind != TS_EVENT_COLLECTIVE) continue;
        ts__rendezvous_item *const item = (ts__rendezvous_item *)ts__rvec_push(
            l->allocator, items, sizeof *item);
        if (!item) return false;
        memset(item, 0, sizeof *item);
        item->row = (uint32_t)i;
        item->rank = ts__rendezvous_lane(l, item->row)->device;
    }
    if (!ts__rsort_open(l->allocator, &l->sort, items->count)) return false;
    ts__rendezvous_item *const list = (ts__rendezvous_item *)items->data;
    for (uint32_t i = 0; i < items->count; i++)
        ts__rsort_index(&l->sort)[i] = i;
    for (int key = 0; key < 3; key++) {
        for (size_t i = 0; i < items->count; i++) {
            const ts__rendezvous_item *const item =
                &list[ts__rsort_index(&l->sort)[i]];
            const ts__row *const row = ts__loader_row(l, item->row);
            ts__rsort_keys(&l->sort)[i] =
                key == 0   ? ts__rsort_time(row->start + row->duration)
                : key == 1 ? ts__rsort_time(row->start)
                           : item->rank;
        }
        ts__rsort_run(&l->sort, items->count);
    }
    ts__rvec sorted = { 0 };
    if (!ts__rvec_reserve(l->allocator, &sorted, sizeof *list, items->count))
        return false;
    for (size_t i = 0; i < items->count; i++)
        ((ts__rendezvous_item *)sorted.data)[i] =
            list[ts__rsort_index(&l->sort)[i]];
    sorted.count = items->count;
    ts__rvec_close(l->allocator, items);
    *items = sorted;
    return true;
}

// Counts the ranks in the traces, for each communicator.
static bool ts__rendezvous_ranks(const ts__loader *l, const ts__rvec *items,
                                 ts__rmap *ranks)
{
    const ts__rendezvous_item *const list =
        (const ts__rendezvous_item *)items->data;
    ts__rmap last = { { 0 }, 0 }; // items are in order of rank
    bool ok = true;
    for (size_t i = 0; ok && i < items->count; i++) {
        const uint64_t key = ts__loader_coll(l, list[i].row)->communicator;
        if (ts__rmap_get(&last, key) == list[i].rank) continue;
        const uint32_t count = ts__rmap_get(ranks, key);
        ok = ts__rmap_put(l->allocator, &last, key, list[i].rank) &&
             ts__rmap_put(l->allocator, ranks, key,
                          count == TS_NODE_NONE ? 1 : count + 1);
    }
    ts__rvec_close(l->allocator, &last.entries);
    return ok;
}

// Adds items first to end - 1 as one rendezvous.
static bool ts__rendezvous_note(ts__loader *l, ts__rendezvous_item *list,
                                size_t first, size_t end)
{
    ts__rendezvous *const rendezvous = (ts__rendezvous *)ts__rvec_push(
        l->allocator, &l->replay->rendezvous, sizeof *rendezvous);
    if (!rendezvous) return false;
    memset(rendezvous, 0, sizeof *rendezvous);
    rendezvous->count = (uint32_t)(end - first);
    rendezvous->join = rendezvous->cost = TS_NODE_NONE;
    rendezvous->kind = TS_EDGE_COLLECTIVE;
    for (size_t i = first; i < end; i++) {
        const uint32_t row = list[i].row;
        uint64_t parts[2];
        ts__coll *const coll = ts__loader_coll(l, row);
        const uint64_t ranks =
            coll->ranks ? coll->ranks : ts__rendezvous_job(l, row)->ranks;
        if (ranks > rendezvous->expected && ranks < UINT32_MAX)
            rendezvous->expected = (uint32_t)ranks;
        if (ts__rendezvous_pair(l, row, parts)) rendezvous->kind = TS_EDGE_P2P;
        if (!coll->communicator) rendezvous->guessed = rendezvous->count > 1;
        coll->rendezvous = (uint32_t)l->replay->rendezvous.count;
        list[i].matched = true;
    }
    if (rendezvous->kind == TS_EDGE_P2P) {
        rendezvous->expected = 2;
        rendezvous->guessed = false;
    } else if (!rendezvous->expected && rendezvous->count == 1) {
        rendezvous->expected = 2; // or more
    }
    return true;
}

// Returns whether the items of a key and occurrence are complete.
static bool ts__rendezvous_complete(const ts__loader *l,
                                    const ts__rendezvous_item *list,
                                    size_t first, size_t end,
                                    const ts__rmap *ranks)
{
    const uint32_t row = list[first].row;
    const ts__coll *const coll = ts__loader_coll(l, row);
    uint64_t parts[2];
    if (ts__rendezvous_pair(l, row, parts)) return end - first == 2;
    return end - first >= ts__rmap_get(ranks, coll->communicator);
}

// Runs one stage: matches items of the same key and occurrence. Items without a
// sequence number are left to later stages, incomplete matches to the last one.
static bool ts__rendezvous_stage_run(ts__loader *l, ts__rvec *items,
                                     const ts__rmap *ranks,
                                     ts__rendezvous_stage stage)
{
    ts__rendezvous_item *const list = (ts__rendezvous_item *)items->data;
    ts__rvec open = { 0 };
    ts__rmap occurrences = { { 0 }, 0 };
    bool ok = true;
    for (size_t i = 0; ok && i < items->count; i++) {
        const uint32_t row = list[i].row;
        const ts__coll *const coll = ts__loader_coll(l, row);
        if (list[i].matched || (stage == TS__RENDEZVOUS_SEQUENCE &&
                                (!coll->communicator || !coll->sequence)))
            continue;
        ts__rendezvous_item item = list[i];
        item.key = ts__rendezvous_key(l, row, stage);
        const uint64_t of_rank =
            item.key ^ (uint64_t)item.rank * UINT64_C(0x9E3779B97F4A7C15);
        const uint32_t occurrence = ts__rmap_get(&occurrences, of_rank);
        item.occurrence = occurrence == TS_NODE_NONE ? 0 : occurrence;
        ts__rendezvous_item *const to = (ts__rendezvous_item *)ts__rvec_push(
            l->allocator, &open, sizeof *to);
        ok = to && ts__rmap_put(l->allocator, &occurrences, of_rank,
                                item.occurrence + 1);
        if (to) *to = item;
        if (to) to->matched = false;
    }
    ts__rendezvous_item *const sorted = (ts__rendezvous_item *)open.data;
    if (ok && open.count)
        qsort(sorted, open.count, sizeof *sorted, ts__rendezvous_compare);
    for (size_t first = 0, end; ok && first < open.count; first = end) {
        for (end = first + 1; end < open.count; end++)
            if (sorted[end].key != sorted[first].key ||
                sorted[end].occurrence != sorted[first].occurrence)
                break;
        if (stage != TS__RENDEZVOUS_SIZE ||
            ts__rendezvous_complete(l, sorted, first, end, ranks))
            ok = ts__rendezvous_note(l, sorted, first, end);
    }
    for (size_t i = 0; ok && i < items->count; i++)
        list[i].matched = ts__loader_coll(l, list[i].row)->rendezvous != 0;
    ts__rvec_close(l->allocator, &open);
    ts__rvec_close(l->allocator, &occurrences.entries);
    return ok;
}

/* ---- 11.30 Graph: clocks of several files ------------------------------- */
// src/replay/graph/file_clocks.h

// The difference between the ends of two members of a rendezvous.
typedef struct ts__rendezvous_gap {
    int64_t gap;
    uint32_t file;
} ts__rendezvous_gap;

static int ts__rendezvous_gap_compare(const void *left, const void *right)
{
    const ts__rendezvous_gap *const a = (const ts__rendezvous_gap *)left;
    const ts__rendezvous_gap *const b = (const ts__rendezvous_gap *)right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    return (a->gap > b->gap) - (a->gap < b->gap);
}

// Lists the rows of each rendezvous in one array.
static bool ts__rendezvous_list(ts__loader *l, ts__rvec *members)
{
    ts_replay *const r = l->replay;
    uint32_t sum = 0;
    for (size_t i = 0; i < r->rendezvous.count; i++) {
        ts__rendezvous *const rendezvous =
            (ts__rendezvous *)r->rendezvous.data + i;
        rendezvous->first = sum;
        sum += rendezvous->count;
        rendezvous->count = 0;
    }
    if (!ts__rvec_reserve(l->allocator, members, sizeof(uint32_t), sum))
        return false;
    for (size_t i = 0; i < l->rows.count; i++) {
        if (ts__loader_op(l, i)->kind != TS_EVENT_COLLECTIVE) continue;
        const uint32_t of = ts__loader_coll(l, (uint32_t)i)->rendezvous;
        if (!of) continue;
        ts__rendezvous *const rendezvous =
            (ts__rendezvous *)r->rendezvous.data + of - 1;
        ((uint32_t *)members->data)[rendezvous->first + rendezvous->count++] =
            (uint32_t)i;
    }
    return true;
}

// Returns the file whose clock the times of a lane use.
static uint32_t ts__rendezvous_clock(const ts__loader *l, uint32_t lane)
{
    const uint32_t file = ts__replay_lane_at(l->replay, lane)->file;
    return ts__replay_file(l->replay, file)->clock;
}

static uint32_t ts__rendezvous_file(const ts__loader *l, uint32_t row)
{
    return ts__rendezvous_clock(l, ts__loader_row(l, row)->track);
}

// Collects how much earlier members of files that are not aligned end than a
// member of an aligned file.
static bool ts__rendezvous_gaps(ts__loader *l, const ts__rvec *members,
                                const bool *known, const int64_t *shift,
                                ts__rvec *gaps)
{
    const ts_replay *const r = l->replay;
    const uint32_t *const rows = (const uint32_t *)members->data;
    for (size_t i = 0; i < r->rendezvous.count; i++) {
        const ts__rendezvous *const m =
            (const ts__rendezvous *)r->rendezvous.data + i;
        uint32_t of = 0;
        while (of < m->count &&
               !known[ts__rendezvous_file(l, rows[m->first + of])])
            of++;
        if (of == m->count) continue;
        const ts__row *const sure = ts__loader_row(l, rows[m->first + of]);
        const int64_t end = sure->start + sure->duration +
                            shift[ts__rendezvous_file(l, rows[m->first + of])];
        for (uint32_t k = 0; k < m->count; k++) {
            const uint32_t row = rows[m->first + k];
            const ts__row *const other = ts__loader_row(l, row);
            if (known[ts__rendezvous_file(l, row)]) continue;
            ts__rendezvous_gap *const gap = (ts__rendezvous_gap *)ts__rvec_push(
                l->allocator, gaps, sizeof *gap);
            if (!gap) return false;
            gap->gap = end - (other->start + other->duration);
            gap->file = ts__rendezvous_file(l, row);
        }
    }
    return true;
}

static int64_t ts__rendezvous_distance(int64_t a, int64_t b)
{
    const uint64_t distance =
        a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
    return distance > INT64_MAX ? INT64_MAX : (int64_t)distance;
}

// Computes the median shift of a file, and the median distance from it.
static void ts__rendezvous_median(ts_replay *r, ts__rendezvous_gap *gaps,
                                  size_t count, int64_t *shift)
{
    ts_replay_file *const file = ts__replay_file(r, gaps[0].file);
    const int64_t median = gaps[(count - 1) / 2].gap;
    // A shift out of the range of times means nothing; summed up from file to
    // file it would overflow.
    *shift = ts__replay_time_ok(median) ? median : 0;
    file->matched = count;
    for (size_t i = 0; i < count; i++)
        gaps[i].gap = ts__rendezvous_distance(gaps[i].gap, median);
    qsort(gaps, count, sizeof *gaps, ts__rendezvous_gap_compare);
    file->residual_ns = gaps[(count - 1) / 2].gap;
}

// Shifts all times of the files, except those that would leave the range.
static void ts__rendezvous_shift(ts__loader *l, int64_t *shift)
{
    ts_replay *const r = l->replay;
    for (size_t i = 0; i < l->rows.count; i++) {
        const uint32_t file = ts__rendezvous_file(l, (uint32_t)i);
        const int64_t issue = ts__loader_op(l, i)->issue;
        if (!ts__replay_time_ok(ts__loader_row(l, i)->start + shift[file]) ||
            (issue != TS__NO_TIME && !ts__replay_time_ok(issue + shift[file])))
            shift[file] = 0;
    }
    for (size_t i = 0; i < l->calls.count; i++) {
        const ts__row_call *const call = ts__loader_call(l, i);
        const uint32_t file = ts__rendezvous_clock(l, call->track);
        if (!ts__replay_time_ok(call->start + shift[file])) shift[file] = 0;
    }
    for (size_t i = 0; i < l->rows.count; i++) {
        ts__op *const op = ts__loader_op(l, i);
        const int64_t by = shift[ts__rendezvous_file(l, (uint32_t)i)];
        ts__loader_row(l, i)->start += by;
        if (op->issue != TS__NO_TIME) op->issue += by;
    }
    for (size_t i = 0; i < l->calls.count; i++) {
        ts__row_call *const call = ts__loader_call(l, i);
        call->start += shift[ts__rendezvous_clock(l, call->track)];
    }
    for (uint32_t i = 0; i < r->files.count; i++) {
        ts_replay_file *const file = ts__replay_file(r, i);
        file->offset_ns += shift[file->clock];
        file->matched = ts__replay_file(r, file->clock)->matched;
        file->residual_ns = ts__replay_file(r, file->clock)->residual_ns;
    }
}

// If no further file has anything in common with aligned files, counts the next
// file as aligned. False if there is none.
static bool ts__rendezvous_next(const ts_replay *r, bool *right)
{
    for (uint32_t i = 0; i < r->files.count; i++)
        if (!right[i] && ts__replay_file(r, i)->clock == i)
            return right[i] = true;
    return false;
}

/*
    Aligns the clocks of further files by the ends of collectives that they have
    in common with aligned files, beginning with the first file: a collective
    ends everywhere at about the same time.
*/
static bool ts__rendezvous_align(ts__loader *l)
{
    ts_replay *const r = l->replay;
    ts__rvec members = { 0 }, known = { 0 }, shifts = { 0 }, gaps = { 0 };
    bool ok =
        ts__rendezvous_list(l, &members) &&
        ts__rvec_fill(l->allocator, &known, sizeof(bool), r->files.count, 0) &&
        ts__rvec_fill(l->allocator, &shifts, sizeof(int64_t), r->files.count,
                      0);
    bool *const right = (bool *)known.data;
    int64_t *const shift = (int64_t *)shifts.data;
    if (ok) right[0] = true;
    while (ok) {
        gaps.count = 0;
        ok = ts__rendezvous_gaps(l, &members, right, shift, &gaps);
        if (!ok || (!gaps.count && !ts__rendezvous_next(r, right))) break;
        ts__rendezvous_gap *const list = (ts__rendezvous_gap *)gaps.data;
        if (gaps.count)
            qsort(list, gaps.count, sizeof *list, ts__rendezvous_gap_compare);
        for (size_t first = 0, end; first < gaps.count; first = end) {
            for (end = first + 1; end < gaps.count; end++)
                if (list[end].file != list[first].file) break;
            const uint32_t file = list[first].file;
            ts__rendezvous_median(r, list + first, end - first, &shift[file]);
            right[file] = true;
        }
    }
    if (ok) ts__rendezvous_shift(l, shift);
    ts__rvec_close(l->allocator, &members);
    ts__rvec_close(l->allocator, &known);
    ts__rvec_close(l->allocator, &shifts);
    ts__rvec_close(l->allocator, &gaps);
    return ok;
}

// Matches collectives and aligns clocks. Lanes must have their devices.
static bool ts__loader_rendezvous(ts__loader *l)
{
    ts__rvec items = { 0 };
    ts__rmap ranks = { { 0 }, 0 };
    bool ok = ts__rendezvous_gather(l, &items) &&
              ts__rendezvous_ranks(l, &items, &ranks) && ts__rendezvous_jobs(l);
    for (int stage = 0; ok && items.count && stage <= TS__RENDEZVOUS_NAME;
         stage++)
        ok = ts__rendezvous_stage_run(l, &items, &ranks,
                                      (ts__rendezvous_stage)stage);
    if (ok && items.count && l->replay->files.count > 1)
        ok = ts__rendezvous_align(l);
    ts__rvec_close(l->allocator, &items);
    ts__rvec_close(l->allocator, &ranks.entries);
    return ok;
}

/* ---- 11.31 Graph: full launch queues ------------------------------------ */
// src/replay/graph/launch_queue.h

/*
    A stream holds a limited number of launches that have not begun. Launch k of
    a stream waits, inside its call, until launch k - depth has begun. The edge
    leads to the start of the call if the record allows it (which saves a node),
    else to its end. A stream that ever held more launches has no such limit.
    Where no launch had to wait, only some get an edge, which represents the
    launches after it: the calls of a thread wait for each other anyway, and the
    true depth of a queue is not known exactly.
*/
enum { TS__QUEUE_PARTS = 64 };

typedef struct ts__queued {
    uint32_t from, call;
    bool end; // the end of the call waits, not its start
} ts__queued;

// The last launches of a stream, as many as its queue holds.
typedef struct ts__launch_queue {
    uint32_t first;       // number of its ring buffer
    uint32_t count, last; // launches so far; call of the last one
    bool holds_more;
} ts__launch_queue;

typedef struct ts__launch_held {
    int64_t start;
    uint32_t op;
} ts__launch_held;

// Returns whether an operation is a new launch on its stream.
static bool ts__queue_launches(const ts_replay *r, const ts__launch_queue *of,
                               uint32_t i)
{
    const ts__op *const op = ts__replay_op(r, i);
    return op->call != TS_NODE_NONE && op->call != of->last &&
           !ts__kind_syncs(op->kind) &&
           ts__replay_lane_at(r, ts__replay_lanes(r)[i])->fifo;
}

// Counts the launches of every stream. Returns how many streams have more than
// a queue holds: each of them gets a ring buffer.
static uint32_t ts__queue_count(const ts_replay *r, ts__launch_queue *queues)
{
    for (uint32_t i = 0; i < r->op_count; i++) {
        ts__launch_queue *const of = &queues[ts__replay_lanes(r)[i]];
        if (!ts__queue_launches(r, of, i)) continue;
        of->last = ts__replay_op(r, i)->call;
        of->count++;
    }
    uint32_t rings = 0;
    for (size_t i = 0; i < r->lanes.count; i++) {
        queues[i].first = TS_NODE_NONE;
        if (queues[i].count > r->queue_depth) queues[i].first = rings++;
        queues[i].count = 0;
        queues[i].last = TS_NODE_NONE;
    }
    return rings;
}

// Notes which launch had to begin before this one.
static bool ts__queue_note(ts_replay *r, ts__launch_queue *of,
                           const ts__launch_held *held, uint32_t op)
{
    const uint32_t call = ts__replay_op(r, op)->call;
    const int64_t start = ts__replay_time(r)[call];
    if (held->start > ts__replay_end(r, call)) of->holds_more = true;
    const bool end = held->start > start;
    if (!end && of->count % (r->queue_depth / TS__QUEUE_PARTS + 1)) return true;
    ts__queued *const queued =
        (ts__queued *)ts__rvec_push(&r->allocator, &r->queued, sizeof *queued);
    if (!queued) return false;
    queued->from = held->op;
    queued->call = call;
    queued->end = end;
    return true;
}

static bool ts__queue_walk(ts_replay *r, ts__launch_queue *queues,
                           ts__launch_held *rings)
{
    const uint32_t depth = r->queue_depth;
    for (uint32_t i = 0; i < r->op_count; i++) {
        ts__launch_queue *const of = &queues[ts__replay_lanes(r)[i]];
        if (of->first == TS_NODE_NONE || of->holds_more ||
            !ts__queue_launches(r, of, i))
            continue;
        ts__launch_held *const held =
            &rings[(size_t)of->first * depth + of->count % depth];
        if (of->count >= depth && !ts__queue_note(r, of, held, i)) return false;
        held->start = ts__replay_time(r)[i];
        held->op = i;
        of->last = ts__replay_op(r, i)->call;
        of->count++;
    }
    return true;
}

// Drops the notes of streams that turned out to hold more launches.
static void ts__queue_finish(ts_replay *r, const ts__launch_queue *queues)
{
    ts__queued *const all = (ts__queued *)r->queued.data;
    size_t kept = 0;
    for (size_t i = 0; i < r->queued.count; i++) {
        if (queues[ts__replay_lanes(r)[all[i].from]].holds_more) continue;
        if (all[i].end) ts__replay_flags(r)[all[i].call] |= TS__NODE_WAITS;
        all[kept++] = all[i];
    }
    r->queued.count = kept;
}

static bool ts__replay_queue(ts_replay *r)
{
    ts__rvec queues = { 0 }, rings = { 0 };
    const ts_allocator *const a = &r->allocator;
    if (!ts__rvec_fill(a, &queues, sizeof(ts__launch_queue), r->lanes.count,
                       0xFF))
        return false;
    ts__launch_queue *const of = (ts__launch_queue *)queues.data;
    for (size_t i = 0; i < r->lanes.count; i++) {
        of[i].count = 0;
        of[i].holds_more = false;
    }
    const uint32_t count = ts__queue_count(r, of);
    const bool ok =
        !count || (ts__rvec_reserve(a, &rings, sizeof(ts__launch_held),
                                    (size_t)count * r->queue_depth) &&
                   ts__queue_walk(r, of, (ts__launch_held *)rings.data));
    if (ok) ts__queue_finish(r, of);
    ts__rvec_close(a, &queues);
    ts__rvec_close(a, &rings);
    return ok;
}

/* ---- 11.32 Graph: loading ----------------------------------------------- */
// src/replay/graph/load.h

static void ts__loader_close(ts__loader *l)
{
    ts__rvec_close(l->allocator, &l->referenced);
    ts__rvec_close(l->allocator, &l->classes);
    ts__rvec_close(l->allocator, &l->rows);
    ts__rvec_close(l->allocator, &l->ops);
    ts__rvec_close(l->allocator, &l->events);
    ts__rvec_close(l->allocator, &l->colls);
    ts__rvec_close(l->allocator, &l->jobs);
    ts__rvec_close(l->allocator, &l->chunk_side);
    ts__rvec_close(l->allocator, &l->chunk_row);
    ts__rvec_close(l->allocator, &l->chunk_rows);
    ts__rvec_close(l->allocator, &l->chunk_place);
    ts__rvec_close(l->allocator, &l->chunk_ok);
    ts__rvec_close(l->allocator, &l->filter);
    ts__rvec_close(l->allocator, &l->calls);
    ts__rsort_close(l->allocator, &l->sort);
    ts__rvec_close(l->allocator, &l->lanes.entries);
}

// Returns the offset to add to the times of a file, from the Unix times of the
// starts. Starts centuries apart count as unknown.
static int64_t ts__replay_offset(const ts_replay *r, ts_replay_file *file)
{
    const uint64_t zero = ts_reader_info(r->reader)->start_realtime_ns;
    const uint64_t own = ts_reader_info(file->reader)->start_realtime_ns;
    const int64_t offset = (int64_t)(own - zero);
    if (!zero || !own || offset > TS__REPLAY_TIME_MAX / 2 ||
        offset < -TS__REPLAY_TIME_MAX / 2)
        return 0;
    file->realtime = true;
    return offset;
}

static bool ts__replay_boot(const ts_reader *reader, ts_text *boot,
                            uint64_t *raw_ns)
{
    uint64_t boottime_ns;
    ts_metadata m;
    if (!ts_reader_metadata(reader, 0, "boot_id", &m) ||
        m.type != TS_VALUE_TEXT || !m.text.size)
        return false;
    *boot = m.text;
    return ts_reader_boot(reader, raw_ns, &boottime_ns);
}

// Looks for an earlier file with the same machine clock, which gives the exact
// offset.
static void ts__replay_clock(const ts_replay *r, uint32_t file)
{
    ts_replay_file *const own = ts__replay_file(r, file);
    ts_text boot, other;
    uint64_t raw, other_raw;
    own->clock = file;
    if (!ts__replay_boot(own->reader, &boot, &raw)) return;
    for (uint32_t i = 0; i < file; i++) {
        const ts_replay_file *const first = ts__replay_file(r, i);
        if (first->clock != i ||
            !ts__replay_boot(first->reader, &other, &other_raw) ||
            other.size != boot.size ||
            memcmp(other.text, boot.text, boot.size) != 0)
            continue;
        const int64_t shift = (int64_t)(raw - other_raw);
        if (!ts__replay_time_ok(shift) ||
            !ts__replay_time_ok(first->offset_ns + shift))
            return;
        own->clock = i;
        own->offset_ns = first->offset_ns + shift;
        return;
    }
}

static ts_result ts__loader_file(ts__loader *l, uint32_t file, uint32_t threads)
{
    ts_replay_file *const f = ts__replay_file(l->replay, file);
    l->reader = f->reader;
    l->file = file;
    l->offset = f->offset_ns = ts__replay_offset(l->replay, f);
    ts__replay_clock(l->replay, file);
    l->offset = f->offset_ns;
    l->row_first = l->rows.count;
    l->call_first = l->calls.count;
    ts_result result = ts__loader_rows(l, threads);
    const bool all = !l->replay->clocks_only;
    if (result == TS_OK && all) result = ts__loader_deps(l);
    if (result == TS_OK && all) result = ts__loader_calls(l, threads);
    if (result != TS_OK) return result;
    if (!ts__loader_match(l) || !ts__loader_polls(l)) return TS_ERR_MEMORY;
    ts__loader_drop_calls(l);
    return ts__loader_assign_lanes(l) ? TS_OK : TS_ERR_MEMORY;
}

static ts_result ts__replay_load(ts_replay *r, uint32_t requested)
{
    const uint32_t threads = ts__thread_count(requested, 64);
    ts__loader l = { 0 };
    l.replay = r;
    l.allocator = &r->allocator;
    ts_result result = TS_OK;
    for (uint32_t i = 0; result == TS_OK && i < r->files.count; i++)
        result = ts__loader_file(&l, i, threads);
    if (result == TS_OK && !r->stats.loaded && !r->clocks_only)
        result = TS_ERR_NOT_FOUND;
    if (result == TS_OK && !(ts__loader_lanes(&l) && ts__replay_results(r) &&
                             ts__loader_rendezvous(&l) && ts__loader_ops(&l) &&
                             ts__loader_add_calls(&l) && ts__replay_queue(r) &&
                             ts__replay_ends(r)))
        result = TS_ERR_MEMORY;
    ts__loader_close(&l);
    return result;
}

/* ---- 11.33 Graph: edges under construction ------------------------------ */
// src/replay/graph/builder.h

// An edge between two nodes.
typedef struct ts__edge {
    uint32_t from, to;
    uint8_t kind;
} ts__edge;

// Flag of a kind of edge: the record states it by correlation, so that it is
// never left out.
enum { TS__EDGE_NAMED = 32 };

// Of a sequence of nodes: the last one, and the one with the latest end.
typedef struct ts__chain {
    uint32_t last, longest;
} ts__chain;

// The streams that a join covers: all of a device, all of a context, or the
// blocking ones of a context.
typedef enum ts__join_scope {
    TS__SCOPE_DEVICE,
    TS__SCOPE_CONTEXT,
    TS__SCOPE_BLOCKING
} ts__join_scope;

// The state of a stream or thread while edges are added in the order of issue.
typedef struct ts__lane_state {
    ts__chain host, order, issued;
    uint32_t step;     // out-of-order stream: its last ts__step
    uint32_t group[3]; // by ts__join_scope
    uint32_t next[3];  // by ts__join_scope: next dirty lane; TS_NODE_NONE: none
    bool dirty[3];     // by ts__join_scope: it has work since the last join
    uint32_t epoch;    // of the legacy operation it last waited for
    uint32_t graph;    // launch whose nodes came last, or TS_NODE_NONE
    ts__chain before;  // what it had before these nodes
    bool free;         // non-blocking: ignores the legacy default stream
    uint32_t used;     // thread: lane that it last issued to
    uint32_t recent;   // thread: its last operation there
    uint32_t noted[2]; // see ts__unnamed_note
    bool records;      // `noted` was set when the thread recorded an event
    bool waits_for_noted; // the next operation may wait for what is `noted`
} ts__lane_state;

// The state of a device or a context.
typedef struct ts__group {
    uint32_t join[3];  // by ts__join_scope: node at whose end all work was done
    uint32_t dirty[3]; // by ts__join_scope: first lane with work since then
    uint32_t legacy;   // last operation on its legacy default stream
    uint32_t epoch;    // number of such operations so far
    uint32_t worked[2]; // the last work, and the last on another stream
    int64_t latest;     // latest end of any work so far
    bool has_legacy;
} ts__group;

// A call that waits for something unknown, and its thread's last operation.
typedef struct ts__event_query {
    uint32_t call, recent;
} ts__event_query;

// An operation issued to an out-of-order stream: `join` stands for it and all
// before it; `before` is the previous step of the stream.
typedef struct ts__step {
    uint32_t join, op, before;
} ts__step;

// What is needed to build the edges.
typedef struct ts__builder {
    ts_replay *replay;
    const ts_allocator *allocator;
    ts__rvec edges, lanes, groups;
    ts__rmap group_of; // by part and track
    ts__rvec event_of; // ts__rmap of each file: event to its latest record
    ts__rvec named;    // uint32_t: records by correlation
    ts__rvec only;     // uint32_t of each part: a lane of its only device
    ts__rvec unnamed_records; // bool of each part: its records have no names
    ts__rvec event_queries; // ts__event_query: calls that wait for the unknown
    ts__rvec steps;         // ts__step
    ts__rvec hardware;      // uint32_t: last operation of each hardware queue
    ts__rsort sort;
    bool failed; // out of memory
} ts__builder;

static ts__lane_state *ts__builder_lane(const ts__builder *b, uint32_t lane)
{
    return (ts__lane_state *)b->lanes.data + lane;
}
static ts__group *ts__builder_group(const ts__builder *b, uint32_t group)
{
    return (ts__group *)b->groups.data + group;
}

static void ts__builder_edge(ts__builder *b, uint32_t from, uint32_t to,
                             uint32_t kind)
{
    ts__edge *const edge =
        (ts__edge *)ts__rvec_push(b->allocator, &b->edges, sizeof *edge);
    if (!edge) {
        b->failed = true;
        return;
    }
    edge->from =
        kind & TS_EDGE_FROM_START ? from : ts__replay_end_node(b->replay, from);
    edge->to = to;
    edge->kind = (uint8_t)kind;
}

// Adds edges from a chain to a node that starts no earlier than its last node.
static void ts__builder_after(ts__builder *b, const ts__chain *chain,
                              uint32_t node, ts_edge_kind kind)
{
    const ts_replay *const r = b->replay;
    const int64_t time = ts__replay_time(r)[node];
    if (chain->last == TS_NODE_NONE) return;
    const bool ended = ts__replay_end(r, chain->last) <= time;
    ts__builder_edge(b, chain->last, node,
                     (uint32_t)kind | (ended ? 0 : TS_EDGE_FROM_START));
    if (chain->longest != chain->last &&
        ts__replay_end(r, chain->longest) <= time)
        ts__builder_edge(b, chain->longest, node, kind);
}

static void ts__builder_extend(ts__builder *b, ts__chain *chain, uint32_t node)
{
    const ts_replay *const r = b->replay;
    chain->last = node;
    if (chain->longest == TS_NODE_NONE ||
        ts__replay_end(r, node) >= ts__replay_end(r, chain->longest))
        chain->longest = node;
}

// Returns the lane of the thread that performs an operation itself.
static uint32_t ts__builder_host_lane(const ts__builder *b, const ts__rmap *map,
                                      uint32_t node)
{
    const ts_replay *const r = b->replay;
    if (node >= r->op_count) return ts__replay_lanes(r)[node];
    const ts__op *const op = ts__replay_op(r, node);
    const bool fifo = ts__replay_lane_at(r, ts__replay_lanes(r)[node])->fifo;
    if (!op->thread || op->call != TS_NODE_NONE ||
        !ts__kind_of_host(op->kind, fifo))
        return TS_NODE_NONE;
    const uint32_t file = ts__replay_file_of(r, node);
    return ts__rmap_get(map, ts__replay_key(file, op->thread));
}

// Adds the order of each thread: its calls and operations of its own, merged in
// order of start.
static void ts__builder_hosts(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    ts__rmap map = { { 0 }, 0 };
    for (uint32_t i = 0; i < r->lanes.count; i++)
        if (!ts__rmap_put(b->allocator, &map,
                          ts__replay_key(ts__replay_lane_at(r, i)->file,
                                         ts__replay_lane_at(r, i)->track),
                          i))
            b->failed = true;
    const int64_t *const time = ts__replay_time(r);
    const uint32_t calls_end = r->op_count + r->call_count;
    uint32_t call = r->op_count, op = 0;
    while (!b->failed && (call < calls_end || op < r->op_count)) {
        const bool take_call =
            op == r->op_count || (call < calls_end && time[call] <= time[op]);
        const uint32_t node = take_call ? call++ : op++;
        const uint32_t lane = ts__builder_host_lane(b, &map, node);
        if (lane == TS_NODE_NONE) continue;
        ts__chain *const host = &ts__builder_lane(b, lane)->host;
        ts__builder_after(b, host, node, TS_EDGE_HOST_ORDER);
        ts__builder_extend(b, host, node);
    }
    ts__rvec_close(b->allocator, &map.entries);
}

// Adds an edge, unless the record shows that `to` (a helper, or the start of an
// operation) came before the end of `from`. Returns whether it did.
static bool ts__builder_wait(ts__builder *b, uint32_t from, uint32_t to,
                             ts_edge_kind kind)
{
    if (from == TS_NODE_NONE) return false;
    if (ts__replay_end(b->replay, from) > ts__replay_time(b->replay)[to]) {
        b->replay->stats.contradicted++;
        return false;
    }
    ts__builder_edge(b, from, to, kind);
    return true;
}

// Adds an edge from the last and one from the longest of a chain.
static void ts__builder_wait_chain(ts__builder *b, const ts__chain *chain,
                                   uint32_t to, ts_edge_kind kind)
{
    ts__builder_wait(b, chain->last, to, kind);
    if (chain->longest != chain->last)
        ts__builder_wait(b, chain->longest, to, kind);
}

/* ---- 11.34 Graph: joins and synchronisation ----------------------------- */
// src/replay/graph/sync_edges.h

/*
    A join under construction. A single source needs no node; the second source
    creates one. So all joins together have no more edges than there is work
    between them, however many streams there are.
*/
typedef struct ts__join {
    uint32_t node;  // TS_NODE_NONE: no source yet
    bool made;      // it has a node of its own
    int64_t before; // a source that ends later contradicts the record
    ts_edge_kind kind;
} ts__join;

static void ts__join_add(ts__builder *b, ts__join *join, uint32_t from)
{
    ts_replay *const r = b->replay;
    if (from == TS_NODE_NONE) return;
    const int64_t end = ts__replay_end(r, from);
    if (end > join->before) {
        r->stats.contradicted++;
        return;
    }
    if (join->node == TS_NODE_NONE) {
        join->node = from;
        return;
    }
    if (!join->made) {
        const uint32_t first = join->node;
        join->node = r->node_count;
        join->made = true;
        if (!ts__node_push(r, ts__replay_end(r, first), 0,
                           ts__replay_lanes(r)[first], 0)) {
            b->failed = true;
            return;
        }
        ts__builder_edge(b, first, join->node, join->kind);
    }
    int64_t *const time = &ts__replay_time(r)[join->node];
    if (end > *time) *time = end;
    ts__builder_edge(b, from, join->node, join->kind);
}

// Joins the last join of a scope and all work since then. Returns the node;
// TS_NODE_NONE: there is no work.
static uint32_t ts__builder_join(ts__builder *b, ts__group *group,
                                 ts__join_scope scope, int64_t before,
                                 ts_edge_kind kind)
{
    ts__join join = { TS_NODE_NONE, false, before, kind };
    ts__join_add(b, &join, group->join[scope]);
    for (uint32_t i = group->dirty[scope]; i != TS_NODE_NONE && !b->failed;) {
        ts__lane_state *const lane = ts__builder_lane(b, i);
        ts__join_add(b, &join, lane->issued.longest);
        if (lane->issued.last != lane->issued.longest)
            ts__join_add(b, &join, lane->issued.last);
        lane->dirty[scope] = false;
        i = lane->next[scope];
    }
    group->dirty[scope] = TS_NODE_NONE;
    group->join[scope] = join.node;
    return join.node;
}

static void ts__builder_dirty(ts__builder *b, uint32_t index,
                              ts__join_scope scope)
{
    ts__lane_state *const lane = ts__builder_lane(b, index);
    if (lane->dirty[scope]) return;
    ts__group *const group = ts__builder_group(b, lane->group[scope]);
    lane->dirty[scope] = true;
    lane->next[scope] = group->dirty[scope];
    group->dirty[scope] = index;
}

// Returns whether two operations are nodes of one graph launch: then only the
// graph orders them, not their streams.
static bool ts__builder_is_launched_with(const ts__builder *b, uint32_t op,
                                         uint32_t other)
{
    const ts_replay *const r = b->replay;
    return other != TS_NODE_NONE &&
           ts__replay_op(r, op)->call != TS_NODE_NONE &&
           ts__replay_op(r, op)->call == ts__replay_op(r, other)->call;
}

// Adds the edges between an operation and the legacy default stream.
static void ts__builder_legacy(ts__builder *b, uint32_t op,
                               const ts__replay_lane *lane,
                               ts__lane_state *state)
{
    ts__group *const group =
        ts__builder_group(b, state->group[TS__SCOPE_BLOCKING]);
    if (!group->has_legacy) return;
    const bool with = ts__builder_is_launched_with(b, op, group->legacy);
    if (lane->flags & TS_STREAM_LEGACY_DEFAULT && with) {
        group->legacy = op;
        group->epoch++;
    } else if (lane->flags & TS_STREAM_LEGACY_DEFAULT) {
        // The last legacy operation comes after everything of the last join.
        group->join[TS__SCOPE_BLOCKING] = TS_NODE_NONE;
        const uint32_t join = ts__builder_join(b, group, TS__SCOPE_BLOCKING,
                                               ts__replay_time(b->replay)[op],
                                               TS_EDGE_LEGACY_DEFAULT);
        ts__builder_wait(b, join, op, TS_EDGE_LEGACY_DEFAULT);
        group->legacy = op;
        group->epoch++;
    } else if (!state->free && !with) {
        if (state->epoch != group->epoch &&
            ts__builder_wait(b, group->legacy, op, TS_EDGE_LEGACY_DEFAULT))
            state->epoch = group->epoch;
    }
}

// Adds the edges of a sync that ended before the work of its stream. If threads
// share the stream, work of another thread may have been issued after the call
// of the sync: then the sync waited at least for the thread's own work.
static void ts__builder_sync_own(ts__builder *b, uint32_t op, uint32_t end,
                                 const ts__lane_state *state)
{
    const ts_replay *const r = b->replay;
    const uint32_t call = ts__replay_op(r, op)->call;
    const ts__lane_state *const host =
        call == TS_NODE_NONE ? NULL
                             : ts__builder_lane(b, ts__replay_lanes(r)[call]);
    if (host && host->used == ts__replay_lanes(r)[op] &&
        host->recent != TS_NODE_NONE &&
        ts__replay_end(r, host->recent) <= ts__replay_time(r)[end])
        ts__builder_edge(b, host->recent, end, TS_EDGE_SYNC);
    else
        ts__builder_wait_chain(b, &state->issued, end, TS_EDGE_SYNC);
}

// Adds the edges of a sync of an out-of-order stream. The last join may contain
// work that other threads issued at about the time of the sync, which did not
// wait for it. Then an older join is used, and later work that ended in time.
static void ts__builder_sync_any(ts__builder *b, uint32_t end,
                                 const ts__lane_state *state)
{
    enum { TRIES = 64 };
    ts_replay *const r = b->replay;
    const int64_t time = ts__replay_time(r)[end];
    uint32_t at = state->step;
    for (uint32_t i = 0; at != TS_NODE_NONE && i < TRIES; i++) {
        const ts__step *const step = (const ts__step *)b->steps.data + at;
        const bool all = ts__replay_end(r, step->join) <= time;
        const uint32_t from = all ? step->join : step->op;
        if (ts__replay_end(r, from) <= time)
            ts__builder_edge(b, from, end, TS_EDGE_SYNC);
        if (all) return;
        at = step->before;
    }
    if (state->step != TS_NODE_NONE) r->stats.contradicted++;
}

static void ts__builder_sync_stream(ts__builder *b, uint32_t op,
                                    const ts__replay_lane *lane,
                                    ts__lane_state *state)
{
    const ts_replay *const r = b->replay;
    const uint32_t end = ts__replay_end_node(r, op);
    const uint32_t longest = state->issued.longest;
    if (lane->flags & TS_STREAM_OUT_OF_ORDER)
        ts__builder_sync_any(b, end, state);
    else if (longest != TS_NODE_NONE &&
             ts__replay_end(r, longest) > ts__replay_time(r)[end])
        ts__builder_sync_own(b, op, end, state);
    else
        ts__builder_wait_chain(b, &state->issued, end, TS_EDGE_SYNC);
    if (!(lane->flags & TS_STREAM_LEGACY_DEFAULT)) return;
    ts__group *const group =
        ts__builder_group(b, state->group[TS__SCOPE_BLOCKING]);
    const uint32_t join =
        ts__builder_join(b, group, TS__SCOPE_BLOCKING,
                         ts__replay_time(b->replay)[end], TS_EDGE_SYNC);
    ts__builder_wait(b, join, end, TS_EDGE_SYNC);
}

static void ts__builder_sync_device(ts__builder *b, uint32_t op,
                                    const ts__replay_lane *lane,
                                    const ts__lane_state *state)
{
    const ts__join_scope scope =
        lane->type == TS_TRACK_CONTEXT ? TS__SCOPE_CONTEXT : TS__SCOPE_DEVICE;
    const uint32_t end = ts__replay_end_node(b->replay, op);
    const uint32_t join =
        ts__builder_join(b, ts__builder_group(b, state->group[scope]), scope,
                         ts__replay_time(b->replay)[end], TS_EDGE_SYNC);
    ts__builder_wait(b, join, end, TS_EDGE_SYNC);
}

// Returns the event record that a wait names by correlation; if several have
// that correlation, the one of the same event.
static uint32_t ts__builder_named(const ts__builder *b,
                                  const ts__event_op *wait)
{
    const ts_replay *const r = b->replay;
    const uint32_t *const named = (const uint32_t *)b->named.data;
    const uint32_t file = ts__replay_file_of(r, wait->op);
    size_t low = 0, high = b->named.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const uint32_t op = ts__replay_event(r, named[middle])->op;
        const uint32_t own = ts__replay_file_of(r, op);
        if (own != file ? own < file
                        : ts__replay_op(r, op)->correlation < wait->record)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t found = TS_NODE_NONE;
    for (size_t tries = 0; low < b->named.count && tries < 16; low++, tries++) {
        const ts__event_op *const event = ts__replay_event(r, named[low]);
        if (ts__replay_op(r, event->op)->correlation != wait->record ||
            ts__replay_file_of(r, event->op) != file)
            break;
        if (found == TS_NODE_NONE || event->id == wait->id) found = named[low];
        if (event->id == wait->id) break;
    }
    return found;
}

// Returns the events of an operation's file.
static ts__rmap *ts__builder_events(const ts__builder *b, uint32_t op)
{
    return (ts__rmap *)b->event_of.data + ts__replay_file_of(b->replay, op);
}

// Finds parts in which calls record events that the trace does not name.
static void ts__builder_find_unnamed(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    bool *const unnamed_records = (bool *)b->unnamed_records.data;
    for (uint32_t i = 0, last = TS_NODE_NONE; i < r->parts.count; i++) {
        const uint32_t file = ts__replay_part(r, i)->file;
        unnamed_records[i] =
            file == last ? unnamed_records[i - 1]
                         : ts__file_calls(ts__replay_file(r, file)->reader,
                                          "EventRecord");
        last = file;
    }
    for (uint32_t i = 0; i < r->events.count; i++) {
        const uint32_t op = ts__replay_event(r, i)->op;
        if (ts__replay_op(r, op)->kind == TS_EVENT_EVENT_RECORD)
            unnamed_records[ts__replay_part_of(r, op)] = false;
    }
}

static bool ts__builder_is_unnamed(const ts__builder *b, uint32_t op)
{
    return ((const bool *)
                b->unnamed_records.data)[ts__replay_part_of(b->replay, op)];
}

// Returns the lane to which the thread of a call last issued work, else a lane
// of the only device of its part, else TS_NODE_NONE.
static uint32_t ts__builder_used(const ts__builder *b, uint32_t call)
{
    const ts_replay *const r = b->replay;
    const uint32_t used = ts__builder_lane(b, ts__replay_lanes(r)[call])->used;
    if (used != TS_NODE_NONE) return used;
    return ((const uint32_t *)b->only.data)[ts__replay_part_of(r, call)];
}

/* ---- 11.35 Graph: events without a name --------------------------------- */
// src/replay/graph/unnamed_events.h

/*
    Waits for events whose record is not known. A program usually records an
    event on the stream to which it has just issued work, and lets another
    stream wait for it. So the wait is for the last work on another stream at
    the time of the thread's last call that recorded an event, or else at the
    time of the wait. If the waiting stream is unknown, it is the stream of the
    thread's next work. These edges are inferred, and left out where the record
    contradicts them.
*/
static void ts__unnamed_work(ts__builder *b, ts__group *device, uint32_t op)
{
    const uint32_t *const lanes = ts__replay_lanes(b->replay);
    const uint32_t last = device->worked[0];
    if (last != TS_NODE_NONE && lanes[last] != lanes[op])
        device->worked[1] = last;
    device->worked[0] = op;
}

static void ts__unnamed_edge(ts__builder *b, const uint32_t last[2],
                             uint32_t lane, uint32_t to)
{
    const ts_replay *const r = b->replay;
    if (r->no_inference || last[0] == TS_NODE_NONE) return;
    const uint32_t from = last[ts__replay_lanes(r)[last[0]] == lane];
    if (from != TS_NODE_NONE && ts__replay_lanes(r)[from] != lane &&
        ts__replay_end(r, from) <= ts__replay_time(r)[to])
        ts__builder_edge(b, from, to, TS_EDGE_EVENT | TS_EDGE_INFERRED);
}

// Notes the last work on the device that a call is for.
static void ts__unnamed_note(ts__builder *b, uint32_t call,
                             ts__lane_state *host)
{
    const uint32_t used = ts__builder_used(b, call);
    host->noted[0] = TS_NODE_NONE;
    if (used == TS_NODE_NONE) return;
    const ts__group *const device = ts__builder_group(
        b, ts__builder_lane(b, used)->group[TS__SCOPE_DEVICE]);
    memcpy(host->noted, device->worked, sizeof host->noted);
}

static void ts__unnamed_call(ts__builder *b, uint32_t call, uint8_t type)
{
    ts__lane_state *const host =
        ts__builder_lane(b, ts__replay_lanes(b->replay)[call]);
    host->waits_for_noted |= type == TS__CALL_WAITS;
    b->replay->stats.missing_records += type == TS__CALL_WAITS;
    if (type == TS__CALL_RECORDS || !host->records)
        ts__unnamed_note(b, call, host);
    host->records |= type == TS__CALL_RECORDS;
}

// Handles an event wait operation. Sources may record when the host issued the
// wait, not when it took effect: the next operation of the stream waits.
static void ts__unnamed_wait(ts__builder *b, uint32_t op)
{
    const ts_replay *const r = b->replay;
    ts__lane_state *const state = ts__builder_lane(b, ts__replay_lanes(r)[op]);
    const uint32_t call = ts__replay_op(r, op)->call;
    const uint32_t *last =
        ts__builder_group(b, state->group[TS__SCOPE_DEVICE])->worked;
    if (call != TS_NODE_NONE) {
        const ts__lane_state *const host =
            ts__builder_lane(b, ts__replay_lanes(r)[call]);
        if (host->records) last = host->noted;
    }
    memcpy(state->noted, last, sizeof state->noted);
    state->waits_for_noted = true;
}

static void ts__unnamed_next(ts__builder *b, ts__lane_state *waiter,
                             uint32_t lane, uint32_t op)
{
    if (waiter->waits_for_noted) ts__unnamed_edge(b, waiter->noted, lane, op);
    waiter->waits_for_noted = false;
}

static void ts__builder_wait_event(ts__builder *b, uint32_t op,
                                   ts_edge_kind kind)
{
    ts_replay *const r = b->replay;
    const ts__event_op *const wait =
        ts__replay_event(r, ts__replay_op(r, op)->label);
    const uint32_t end = ts__replay_end_node(r, op);
    uint32_t found;
    if (wait->record) {
        found = ts__builder_named(b, wait);
        r->stats.missing_records += found == TS_NODE_NONE;
    } else if (wait->id && !ts__builder_is_unnamed(b, op)) {
        found = ts__rmap_get(ts__builder_events(b, op), wait->id);
        r->stats.missing_records += found == TS_NODE_NONE && r->windowed;
        r->stats.never_recorded += found == TS_NODE_NONE && !r->windowed;
    } else { // its event may have been recorded: unknown
        found = TS_NODE_NONE;
        r->stats.missing_records++;
        if (kind == TS_EDGE_EVENT) ts__unnamed_wait(b, op);
    }
    if (found == TS_NODE_NONE) return;
    const ts__event_op *const record = ts__replay_event(r, found);
    ts__builder_edge(b, record->op, end,
                     (uint32_t)kind | (wait->record ? TS__EDGE_NAMED : 0));
    ts__builder_wait(b, record->after, end, kind);
}

// Handles an event record. If its time was taken on the host, earlier work may
// end after it; a wait for the event then waits for that work, too.
static void ts__builder_record(ts__builder *b, uint32_t op,
                               const ts__replay_lane *lane,
                               const ts__lane_state *state)
{
    ts_replay *const r = b->replay;
    const uint32_t index = ts__replay_op(r, op)->label;
    ts__event_op *const event = ts__replay_event(r, index);
    const uint32_t longest = state->issued.longest;
    if (longest != TS_NODE_NONE && !(lane->flags & TS_STREAM_OUT_OF_ORDER) &&
        ts__replay_end(r, longest) > ts__replay_end(r, op))
        event->after = longest;
    if (event->id && !ts__rmap_put(b->allocator, ts__builder_events(b, op),
                                   event->id, index))
        b->failed = true;
}

/* ---- 11.36 Graph: edges, one operation after another -------------------- */
// src/replay/graph/edges.h

// Notes a call that waits for something unknown; ts__builder_infer may find it.
static void ts__builder_query(ts__builder *b, uint32_t call)
{
    const uint32_t host = ts__replay_lanes(b->replay)[call];
    ts__event_query *const query = (ts__event_query *)ts__rvec_push(
        b->allocator, &b->event_queries, sizeof *query);
    if (!query) {
        b->failed = true;
        return;
    }
    query->call = call;
    query->recent = ts__builder_lane(b, host)->recent;
}

/*
    Adds the edges of a waiting call that has no operation in the trace. A call
    that frees memory waits for the whole device, or, if the record shows that
    it did not, for nothing.
*/
static void ts__builder_call(ts__builder *b, uint32_t call)
{
    const ts_replay *const r = b->replay;
    const uint8_t type =
        ((const uint8_t *)r->call_classes.data)[call - r->op_count];
    if (type == TS__CALL_RECORDS || type == TS__CALL_WAITS)
        ts__unnamed_call(b, call, type);
    if (!(ts__replay_flags(r)[call] & TS__NODE_WAITS)) return;
    const bool all = type == TS__CALL_SYNCS_DEVICE || type == TS__CALL_FREES;
    const uint32_t used = all ? ts__builder_used(b, call) : TS_NODE_NONE;
    if (used == TS_NODE_NONE) {
        if (type != TS__CALL_FREES) ts__builder_query(b, call);
        return;
    }
    const uint32_t end = ts__replay_end_node(r, call);
    const int64_t time = ts__replay_time(r)[end];
    ts__group *const group = ts__builder_group(
        b, ts__builder_lane(b, used)->group[TS__SCOPE_DEVICE]);
    if (type == TS__CALL_FREES && group->latest > time) return;
    const uint32_t join =
        ts__builder_join(b, group, TS__SCOPE_DEVICE, time, TS_EDGE_SYNC);
    ts__builder_wait(b, join, end, TS_EDGE_SYNC);
}

/*
    With a limited number of hardware queues per device, streams are assigned to
    them round robin by number. An operation cannot begin before the previous
    one of its queue.
*/
static void ts__builder_hardware_queue(ts__builder *b, uint32_t op,
                                       uint32_t lane)
{
    const ts_replay *const r = b->replay;
    const uint32_t count = r->connections;
    if (!count || ts__kind_syncs(ts__replay_op(r, op)->kind)) return;
    uint32_t place = 0; // number of the stream on its device
    const uint32_t device = ts__replay_lane_at(r, lane)->device;
    while (place < lane &&
           ts__replay_lane_at(r, lane - place - 1)->device == device)
        place++;
    uint32_t *const last =
        (uint32_t *)b->hardware.data + (size_t)device * count + place % count;
    if (*last != TS_NODE_NONE && ts__replay_lanes(r)[*last] != lane &&
        ts__replay_time(r)[*last] <= ts__replay_time(r)[op])
        ts__builder_edge(b, *last, op, TS_EDGE_QUEUE | TS_EDGE_FROM_START);
    *last = op;
}

static void ts__builder_step_add(ts__builder *b, uint32_t join, uint32_t op,
                                 ts__lane_state *state)
{
    ts__step *const step =
        (ts__step *)ts__rvec_push(b->allocator, &b->steps, sizeof *step);
    if (!step) {
        b->failed = true;
        return;
    }
    step->join = join;
    step->op = op;
    step->before = state->step;
    state->step = (uint32_t)b->steps.count - 1;
}

/*
    Adds an operation to those issued to a stream. For an in-order stream the
    last and the longest represent all of them, for an out-of-order stream a
    join of the earlier ones and this one.
*/
static void ts__builder_issued(ts__builder *b, uint32_t op,
                               const ts__replay_lane *lane,
                               ts__lane_state *state)
{
    const ts_replay *const r = b->replay;
    const bool any = lane->flags & TS_STREAM_OUT_OF_ORDER;
    uint32_t last = op;
    if (any && state->issued.last != TS_NODE_NONE) {
        ts__join join = { TS_NODE_NONE, false, INT64_MAX, TS_EDGE_SYNC };
        ts__join_add(b, &join, state->issued.last);
        ts__join_add(b, &join, op);
        last = join.node;
    }
    if (any) ts__builder_step_add(b, last, op, state);
    state->issued.last = last;
    if (any || state->issued.longest == TS_NODE_NONE ||
        ts__replay_end(r, op) >= ts__replay_end(r, state->issued.longest))
        state->issued.longest = last;
}

static void ts__builder_step(ts__builder *b, uint32_t op)
{
    const ts_replay *const r = b->replay;
    if (op >= r->op_count) {
        ts__builder_call(b, op);
        return;
    }
    const uint32_t index = ts__replay_lanes(r)[op];
    const ts__replay_lane *const lane = ts__replay_lane_at(r, index);
    ts__lane_state *const state = ts__builder_lane(b, index);
    const uint8_t kind = ts__replay_op(r, op)->kind;
    switch (kind) {
    case TS_EVENT_STREAM_SYNC:
        ts__builder_sync_stream(b, op, lane, state);
        return;
    case TS_EVENT_DEVICE_SYNC:
        ts__builder_sync_device(b, op, lane, state);
        return;
    case TS_EVENT_EVENT_SYNC:
        ts__builder_wait_event(b, op, TS_EDGE_SYNC);
        return;
    case TS_EVENT_EVENT_WAIT:
        ts__builder_wait_event(b, op, TS_EDGE_EVENT);
        break;
    case TS_EVENT_EVENT_RECORD: ts__builder_record(b, op, lane, state); break;
    default: break;
    }
    if (!lane->fifo) return;
    const uint32_t call = ts__replay_op(r, op)->call;
    if (call != TS_NODE_NONE) {
        ts__lane_state *const host =
            ts__builder_lane(b, ts__replay_lanes(r)[call]);
        host->used = index;
        host->recent = op;
        if (ts__kind_works(kind)) ts__unnamed_next(b, host, index, op);
    }
    ts__group *const device =
        ts__builder_group(b, state->group[TS__SCOPE_DEVICE]);
    if (ts__kind_works(kind)) {
        ts__unnamed_next(b, state, index, op);
        ts__unnamed_work(b, device, op);
    }
    if (ts__replay_end(r, op) > device->latest)
        device->latest = ts__replay_end(r, op);
    ts__builder_hardware_queue(b, op, index);
    ts__builder_legacy(b, op, lane, state);
    ts__builder_issued(b, op, lane, state);
    ts__builder_dirty(b, index, TS__SCOPE_DEVICE);
    ts__builder_dirty(b, index, TS__SCOPE_CONTEXT);
    if (!(lane->flags & TS_STREAM_LEGACY_DEFAULT) && !state->free)
        ts__builder_dirty(b, index, TS__SCOPE_BLOCKING);
}

/* ---- 11.37 Graph: the order in which edges are found -------------------- */
// src/replay/graph/edge_order.h

// Returns the group for a device or context of a part; adds it if needed.
static uint32_t ts__builder_group_of(ts__builder *b, uint32_t part,
                                     uint32_t track)
{
    const uint64_t key = ts__replay_key(part, track);
    const uint32_t known = ts__rmap_get(&b->group_of, key);
    if (known != TS_NODE_NONE) return known;
    ts__group *const group =
        (ts__group *)ts__rvec_push(b->allocator, &b->groups, sizeof *group);
    const uint32_t index = (uint32_t)b->groups.count - 1;
    if (!group || !ts__rmap_put(b->allocator, &b->group_of, key, index)) {
        b->failed = true;
        return TS_NODE_NONE;
    }
    memset(group, 0xFF, sizeof *group); // TS_NODE_NONE everywhere
    group->epoch = 0;
    group->latest = TS__NO_TIME;
    group->has_legacy = false;
    return index;
}

// Finds the device of parts that use only one.
static void ts__builder_only(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    uint32_t *const only = (uint32_t *)b->only.data;
    for (uint32_t i = (uint32_t)r->lanes.count; i-- > 0;) {
        const ts__replay_lane *const lane = ts__replay_lane_at(r, i);
        if (!lane->operations) continue;
        const uint32_t other = only[lane->part];
        if (other != TS_NODE_NONE - 1)
            only[lane->part] =
                other == TS_NODE_NONE ||
                        ts__replay_lane_at(r, other)->device == lane->device
                    ? i
                    : TS_NODE_NONE - 1; // several devices
    }
    for (size_t i = 0; i < r->parts.count; i++)
        if (only[i] == TS_NODE_NONE - 1) only[i] = TS_NODE_NONE;
}

static bool ts__builder_lanes(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    if (!ts__rvec_fill(b->allocator, &b->lanes, sizeof(ts__lane_state),
                       r->lanes.count, 0xFF) ||
        !ts__rvec_fill(b->allocator, &b->event_of, sizeof(ts__rmap),
                       r->files.count, 0) ||
        !ts__rvec_fill(b->allocator, &b->only, sizeof(uint32_t), r->parts.count,
                       0xFF) ||
        !ts__rvec_fill(b->allocator, &b->unnamed_records, sizeof(bool),
                       r->parts.count, 0) ||
        !ts__rvec_fill(b->allocator, &b->hardware, sizeof(uint32_t),
                       r->device_results.count * r->connections, 0xFF))
        return false;
    ts__builder_only(b);
    ts__builder_find_unnamed(b);
    for (uint32_t i = 0; i < r->lanes.count && !b->failed; i++) {
        const ts__replay_lane *const lane = ts__replay_lane_at(r, i);
        ts__lane_state *const state = ts__builder_lane(b, i);
        memset(state->dirty, 0, sizeof state->dirty);
        state->epoch = 0;
        state->free = lane->flags & TS_STREAM_NON_BLOCKING;
        state->records = state->waits_for_noted = false;
        state->group[TS__SCOPE_DEVICE] =
            ts__builder_group_of(b, lane->part, lane->device_track);
        state->group[TS__SCOPE_CONTEXT] = state->group[TS__SCOPE_BLOCKING] =
            ts__builder_group_of(b, lane->part, lane->context_track);
        if (!b->failed && lane->operations && lane->fifo &&
            lane->flags & TS_STREAM_LEGACY_DEFAULT)
            ts__builder_group(b, state->group[TS__SCOPE_BLOCKING])->has_legacy =
                true;
    }
    return !b->failed;
}

// Lists the work on legacy default streams by context, in order of start.
static bool ts__legacy_list(ts__builder *b, ts__rvec *first, ts__rvec *list)
{
    const ts_replay *const r = b->replay;
    const size_t groups = b->groups.count;
    if (!ts__rvec_fill(b->allocator, first, sizeof(uint32_t), groups + 1, 0))
        return false;
    uint32_t *const at = (uint32_t *)first->data;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < r->op_count; i++) {
            const uint32_t lane = ts__replay_lanes(r)[i];
            if (!(ts__replay_lane_at(r, lane)->flags &
                  TS_STREAM_LEGACY_DEFAULT) ||
                !ts__kind_works(ts__replay_op(r, i)->kind))
                continue;
            const uint32_t group =
                ts__builder_lane(b, lane)->group[TS__SCOPE_BLOCKING];
            if (pass == 0)
                at[group + 1]++;
            else
                ((uint32_t *)list->data)[at[group]++] = i;
        }
        for (size_t i = 1; pass == 0 && i <= groups; i++)
            at[i] += at[i - 1];
        if (pass == 0 &&
            !ts__rvec_reserve(b->allocator, list, sizeof(uint32_t), at[groups]))
            return false;
    }
    for (size_t i = groups; i > 0; i--)
        at[i] = at[i - 1];
    at[0] = 0;
    return true;
}

// Returns whether an operation overlaps work of its legacy default stream by
// more than the rounding of times. Only the last work that began before it and
// the next one are compared.
static bool ts__legacy_overlaps(const ts_replay *r, const uint32_t *legacy,
                                size_t count, uint32_t op)
{
    const int64_t start = ts__replay_time(r)[op], end = ts__replay_end(r, op);
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ts__replay_time(r)[legacy[middle]] <= start)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low ? low - 1 : low; i < count && i <= low; i++) {
        const int64_t from = ts__replay_time(r)[legacy[i]];
        const int64_t to = ts__replay_end(r, legacy[i]);
        const int64_t both =
            (to < end ? to : end) - (from > start ? from : start);
        int64_t rounded = to - from < end - start ? to - from : end - start;
        rounded = rounded / 2 < 1000 ? rounded / 2 : 1000;
        if (both > rounded) return true;
    }
    return false;
}

/*
    Finds non-blocking streams, which traces seldom identify: a stream whose
    work ever overlaps work of the legacy default stream of its context must be
    one.
*/
static bool ts__builder_non_blocking(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    bool any = false;
    for (size_t i = 0; i < b->groups.count; i++)
        any |= ts__builder_group(b, (uint32_t)i)->has_legacy;
    if (!any) return true;
    ts__rvec first = { 0 }, list = { 0 };
    const bool ok = ts__legacy_list(b, &first, &list);
    for (uint32_t i = 0; ok && i < r->op_count; i++) {
        const uint32_t lane = ts__replay_lanes(r)[i];
        ts__lane_state *const state = ts__builder_lane(b, lane);
        if (state->free || !ts__kind_works(ts__replay_op(r, i)->kind) ||
            ts__replay_lane_at(r, lane)->flags & TS_STREAM_LEGACY_DEFAULT)
            continue;
        const uint32_t *const at =
            (const uint32_t *)first.data + state->group[TS__SCOPE_BLOCKING];
        if (!ts__legacy_overlaps(r, (const uint32_t *)list.data + at[0],
                                 at[1] - at[0], i))
            continue;
        state->free = true;
        b->replay->stats.contradicted++;
    }
    ts__rvec_close(b->allocator, &first);
    ts__rvec_close(b->allocator, &list);
    return ok;
}

// Sorts event records by correlation, if any wait names one.
static bool ts__builder_name_records(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    bool any = false;
    for (size_t i = 0; i < r->events.count; i++)
        any |= ts__replay_event(r, i)->record != 0;
    if (!any) return true;
    if (!ts__rsort_open(b->allocator, &b->sort, r->events.count)) return false;
    size_t count = 0;
    for (uint32_t i = 0; i < r->events.count; i++) {
        const ts__op *const op = ts__replay_op(r, ts__replay_event(r, i)->op);
        if (op->kind != TS_EVENT_EVENT_RECORD || !op->correlation) continue;
        ts__rsort_keys(&b->sort)[count] = op->correlation;
        ts__rsort_index(&b->sort)[count++] = i;
    }
    ts__rsort_run(&b->sort, count);
    for (size_t i = 0; i < count; i++) {
        const uint32_t event = ts__rsort_index(&b->sort)[i];
        ts__rsort_keys(&b->sort)[i] =
            ts__replay_file_of(r, ts__replay_event(r, event)->op);
    }
    ts__rsort_run(&b->sort, count);
    if (!ts__rvec_reserve(b->allocator, &b->named, sizeof(uint32_t), count))
        return false;
    memcpy(b->named.data, ts__rsort_index(&b->sort), count * sizeof(uint32_t));
    b->named.count = count;
    return true;
}

/*
    Computes when the host issued each operation. As streams are first in, first
    out, an operation without a known time was issued no earlier than the one
    before it on its stream, and no later than the next one. If a whole stream
    has no known times, starts are used, for waits their ends. guessed: one flag
    for each operation.
*/
static void ts__builder_issues(const ts__builder *b, uint64_t *keys,
                               bool *guessed, int64_t *near)
{
    const ts_replay *const r = b->replay;
    for (size_t i = 0; i < r->lanes.count; i++)
        near[i] = TS__NO_TIME;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        const uint32_t lane = ts__replay_lanes(r)[i];
        int64_t issue = op->issue;
        const bool queues =
            ts__replay_lane_at(r, lane)->fifo && !ts__kind_syncs(op->kind);
        if (issue == TS__NO_TIME && queues) issue = near[lane];
        if (queues && issue > near[lane]) near[lane] = issue;
        guessed[i] = issue == TS__NO_TIME;
        keys[i] = ts__rsort_time(issue);
    }
    for (size_t i = 0; i < r->lanes.count; i++)
        near[i] = TS__REPLAY_SUM_MAX;
    for (uint32_t i = r->op_count; i-- > 0;) {
        const uint32_t lane = ts__replay_lanes(r)[i];
        const bool waits = ts__replay_flags(r)[i] & TS__NODE_WAITS;
        const bool queues = ts__replay_lane_at(r, lane)->fifo &&
                            !ts__kind_syncs(ts__replay_op(r, i)->kind);
        int64_t time = waits ? ts__replay_end(r, i) : ts__replay_time(r)[i];
        if (queues && near[lane] < time) time = near[lane];
        if (guessed[i]) keys[i] = ts__rsort_time(time);
        guessed[i] &= waits;
        const int64_t issue = ts__replay_op(r, i)->issue;
        if (queues && issue != TS__NO_TIME) near[lane] = issue;
    }
}

// Puts the order of issue into the sorter, of operations and of calls that wait
// although they launched nothing. At equal times waits with a guessed time come
// last.
static bool ts__builder_order(ts__builder *b, size_t *count)
{
    const ts_replay *const r = b->replay;
    ts__rvec guesses = { 0 }, near = { 0 }, issues = { 0 };
    size_t most = r->op_count;
    for (uint32_t i = 0; i < r->call_count; i++)
        most +=
            (ts__replay_flags(r)[r->op_count + i] & TS__NODE_CALL_ONLY) != 0;
    bool ok =
        ts__rsort_open(b->allocator, &b->sort, most) &&
        ts__rvec_reserve(b->allocator, &issues, sizeof(uint64_t),
                         r->op_count) &&
        ts__rvec_reserve(b->allocator, &guesses, sizeof(bool), r->op_count) &&
        ts__rvec_reserve(b->allocator, &near, sizeof(int64_t), r->lanes.count);
    uint32_t *const index = ts__rsort_index(&b->sort);
    uint64_t *const keys = ts__rsort_keys(&b->sort);
    uint64_t *const issue = (uint64_t *)issues.data;
    const bool *const guessed = (const bool *)guesses.data;
    size_t at = 0;
    if (ok)
        ts__builder_issues(b, issue, (bool *)guesses.data,
                           (int64_t *)near.data);
    for (int last = 0; ok && last < 2; last++) {
        for (uint32_t i = 0; i < r->op_count; i++) {
            if (guessed[i] != (last == 1)) continue;
            keys[at] = issue[i];
            index[at++] = i;
        }
        for (uint32_t i = 0; last && i < r->call_count; i++) {
            const uint32_t call = r->op_count + i;
            if (!(ts__replay_flags(r)[call] & TS__NODE_CALL_ONLY)) continue;
            keys[at] = ts__rsort_time(ts__replay_time(r)[call]);
            index[at++] = call;
        }
    }
    if (ok) ts__rsort_run(&b->sort, at);
    *count = at;
    ts__rvec_close(b->allocator, &issues);
    ts__rvec_close(b->allocator, &guesses);
    ts__rvec_close(b->allocator, &near);
    return ok;
}

/* ---- 11.38 Graph: collectives and point-to-point ------------------------ */
// src/replay/graph/collectives.h

// Lists the members of every rendezvous, in total order.
static bool ts__rendezvous_all(ts_replay *r)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < r->rendezvous.count; i++) {
        ts__rendezvous *const m = (ts__rendezvous *)r->rendezvous.data + i;
        m->first = sum;
        sum += m->count;
        m->count = 0;
    }
    if (!ts__rvec_reserve(&r->allocator, &r->members, sizeof(uint32_t), sum))
        return false;
    for (size_t i = 0; i < r->member_rendezvous.count; i++) {
        const ts__rendezvous_member *const entry =
            (const ts__rendezvous_member *)r->member_rendezvous.data + i;
        ts__rendezvous *const m =
            (ts__rendezvous *)r->rendezvous.data + entry->rendezvous;
        ((uint32_t *)r->members.data)[m->first + m->count++] = entry->op;
    }
    r->members.count = sum;
    return true;
}

// Returns the latest arrival, and sets m->cost to the member with the shortest
// duration. A member that ended before the latest arrival did not wait for it
// and cannot serve as a measure.
static int64_t ts__rendezvous_measure(const ts_replay *r, ts__rendezvous *m)
{
    const uint32_t *const members =
        (const uint32_t *)r->members.data + m->first;
    int64_t latest = ts__replay_time(r)[members[0]];
    for (uint32_t i = 1; i < m->count; i++) {
        const int64_t start = ts__replay_time(r)[members[i]];
        if (start > latest) latest = start;
    }
    const int64_t *const duration = ts__replay_duration(r);
    for (uint32_t i = 0; i < m->count; i++) {
        if (ts__replay_end(r, members[i]) < latest) continue;
        if (m->cost == TS_NODE_NONE || duration[members[i]] < duration[m->cost])
            m->cost = members[i];
    }
    return latest; // its own member ends no earlier, so that `cost` is set
}

// Returns whether a match by name and order is doubtful. Members of one
// collective end within the time that it takes once all have arrived.
static bool ts__rendezvous_doubted(const ts_replay *r, const ts__rendezvous *m)
{
    const uint32_t *const members =
        (const uint32_t *)r->members.data + m->first;
    int64_t first = ts__replay_end(r, members[0]), last = first;
    for (uint32_t i = 1; i < m->count; i++) {
        const int64_t end = ts__replay_end(r, members[i]);
        if (end < first) first = end;
        if (end > last) last = end;
    }
    return m->guessed && last - first > ts__replay_duration(r)[m->cost];
}

static void ts__builder_rendezvous(ts__builder *b, uint32_t index)
{
    ts_replay *const r = b->replay;
    ts__rendezvous *const m = (ts__rendezvous *)r->rendezvous.data + index;
    const int64_t latest = ts__rendezvous_measure(r, m);
    r->stats.rendezvous_guessed += ts__rendezvous_doubted(r, m);
    uint32_t *const joined =
        (uint32_t *)ts__rvec_push(b->allocator, &r->joined, sizeof *joined);
    if (joined) *joined = index;
    m->join = r->node_count;
    if (!joined || !ts__node_push(r, latest, ts__replay_duration(r)[m->cost],
                                  ts__replay_lanes(r)[m->cost], 0)) {
        b->failed = true;
        return;
    }
    for (uint32_t i = 0; i < m->count; i++) {
        const uint32_t op = ((const uint32_t *)r->members.data)[m->first + i];
        ts__builder_edge(b, op, m->join,
                         (uint32_t)m->kind | TS_EDGE_FROM_START);
        // It ended before the last arrived: a root that only sends, or a wrong
        // match.
        if (ts__replay_end(r, op) < latest)
            r->stats.contradicted++;
        else
            ts__builder_edge(b, m->join, ts__replay_end_node(r, op), m->kind);
    }
}

// Adds the joins of all rendezvous. They are the first joins.
static void ts__builder_rendezvous_all(ts__builder *b)
{
    ts_replay *const r = b->replay;
    if (!ts__rendezvous_all(r)) b->failed = true;
    for (uint32_t i = 0; i < r->rendezvous.count && !b->failed; i++) {
        const ts__rendezvous *const m =
            (const ts__rendezvous *)r->rendezvous.data + i;
        r->stats.rendezvous++;
        r->stats.rendezvous_partial += m->count < m->expected;
        if (m->count > 1) ts__builder_rendezvous(b, i);
    }
}

// Returns the operation whose duration a join has; TS_NODE_NONE: the join has
// no duration.
static inline uint32_t ts__replay_cost_of(const ts_replay *r, uint32_t join)
{
    const size_t at = (size_t)join - r->join_first;
    if (join < r->join_first || at >= r->joined.count) return TS_NODE_NONE;
    const uint32_t rendezvous = ((const uint32_t *)r->joined.data)[at];
    return ((const ts__rendezvous *)r->rendezvous.data + rendezvous)->cost;
}

// Returns the rendezvous of a collective; NULL: it has no other member.
static inline const ts__rendezvous *ts__replay_rendezvous(const ts_replay *r,
                                                          uint32_t op)
{
    const ts__rendezvous_member *const entries =
        (const ts__rendezvous_member *)r->member_rendezvous.data;
    size_t low = 0, high = r->member_rendezvous.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (entries[middle].op < op)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == r->member_rendezvous.count || entries[low].op != op) return NULL;
    return (const ts__rendezvous *)r->rendezvous.data + entries[low].rendezvous;
}

/* ---- 11.39 Graph: edges that the source names --------------------------- */
// src/replay/graph/named_edges.h

// A node and the correlation that refers to it.
typedef struct ts__numbered {
    uint64_t number;
    uint32_t file, node;
} ts__numbered;

static int ts__numbered_compare(const void *left, const void *right)
{
    const ts__numbered *const a = (const ts__numbered *)left;
    const ts__numbered *const b = (const ts__numbered *)right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->number != b->number) return a->number < b->number ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

static bool ts__user_numbers(ts__builder *b, ts__rvec *list)
{
    const ts_replay *const r = b->replay;
    const uint32_t end = r->op_count + r->call_count;
    if (!ts__rvec_reserve(b->allocator, list, sizeof(ts__numbered), end))
        return false;
    for (uint32_t i = 0; i < end; i++) {
        const uint64_t number =
            i < r->op_count
                ? ts__replay_op(r, i)->correlation
                : ((const uint64_t *)r->call_numbers.data)[i - r->op_count];
        if (!number) continue;
        ts__numbered *const one =
            (ts__numbered *)ts__rvec_push(b->allocator, list, sizeof *one);
        if (!one) return false;
        one->number = number;
        one->file = ts__replay_file_of(r, i);
        one->node = i;
    }
    if (list->count)
        qsort(list->data, list->count, sizeof(ts__numbered),
              ts__numbered_compare);
    return true;
}

static size_t ts__user_find(const ts__rvec *list, const ts__numbered *key)
{
    const ts__numbered *const all = (const ts__numbered *)list->data;
    size_t low = 0, high = list->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ts__numbered_compare(&all[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Finds the nodes of a correlation: its operations, or else its calls, which
// are sorted behind them.
static const ts__numbered *ts__user_nodes(const ts_replay *r,
                                          const ts__rvec *list, uint32_t file,
                                          uint64_t number, size_t *count)
{
    const ts__numbered *const all = (const ts__numbered *)list->data;
    ts__numbered key = { number, file, 0 };
    const size_t first = ts__user_find(list, &key);
    key.node = first < list->count && all[first].number == number &&
                       all[first].node < r->op_count
                   ? r->op_count
                   : UINT32_MAX;
    *count = ts__user_find(list, &key) - first;
    return all + first;
}

/*
    Adds an edge from the end of a node, unless the record shows that the target
    began before. If the source is a call, the target may begin while the call
    still runs: then the edge is from its start. If the target is a host wait,
    the edge leads to its end.
*/
static void ts__user_edge(ts__builder *b, uint32_t from, uint32_t to)
{
    ts_replay *const r = b->replay;
    const int64_t start = ts__replay_time(r)[to];
    const uint32_t end = ts__replay_end_node(r, to);
    if (from == to) return;
    if (end != to && ts__replay_end(r, from) <= ts__replay_end(r, to))
        ts__builder_edge(b, from, end, TS_EDGE_SYNC);
    else if (ts__replay_end(r, from) <= start)
        ts__builder_edge(b, from, to, TS_EDGE_USER);
    else if (from >= r->op_count && from < r->join_first &&
             ts__replay_time(r)[from] <= start)
        ts__builder_edge(b, from, to, TS_EDGE_USER | TS_EDGE_FROM_START);
    else
        r->stats.contradicted++;
}

// Adds a dependency of many nodes on many nodes, through a join, so that there
// are no more edges than nodes.
static void ts__user_dependency(ts__builder *b, const ts__numbered *from,
                                size_t from_count, const ts__numbered *to,
                                size_t to_count)
{
    ts_replay *const r = b->replay;
    if (from_count > 1 && to_count > 1) {
        int64_t before = ts__replay_time(r)[to[0].node];
        for (size_t i = 1; i < to_count; i++)
            if (ts__replay_time(r)[to[i].node] < before)
                before = ts__replay_time(r)[to[i].node];
        ts__join join = { TS_NODE_NONE, false, before, TS_EDGE_USER };
        for (size_t i = 0; i < from_count && !b->failed; i++)
            ts__join_add(b, &join, from[i].node);
        for (size_t i = 0; i < to_count && join.node != TS_NODE_NONE; i++)
            if (join.node != to[i].node)
                ts__builder_edge(b, join.node, to[i].node, TS_EDGE_USER);
        return;
    }
    for (size_t i = 0; i < from_count; i++)
        for (size_t k = 0; k < to_count; k++)
            ts__user_edge(b, from[i].node, to[k].node);
}

/*
    Correlations that more than a few nodes share get two joins: one of the
    sources of their nodes, and one of their nodes, which is extended from
    dependency to dependency. So the number of edges is at most the number of
    nodes plus that of dependencies.
*/
enum { TS__USER_FEW = 8 };

// The nodes of a correlation, and the join of their sources.
typedef struct ts__user_entry {
    const ts__numbered *to;
    size_t to_count;
    ts__join join;
} ts__user_entry;

typedef struct ts__user_many {
    const ts__numbered *from;
    size_t from_count, entry;
    int64_t before; // earliest start of the targets
} ts__user_many;

static int ts__user_compare(const void *left, const void *right)
{
    const ts__user_many *const a = (const ts__user_many *)left;
    const ts__user_many *const b = (const ts__user_many *)right;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    if (a->before != b->before) return a->before < b->before ? -1 : 1;
    return (a->entry > b->entry) - (a->entry < b->entry);
}

typedef struct ts__user_end {
    int64_t end;
    uint32_t node;
} ts__user_end;

static int ts__user_end_compare(const void *left, const void *right)
{
    const ts__user_end *const a = (const ts__user_end *)left;
    const ts__user_end *const b = (const ts__user_end *)right;
    if (a->end != b->end) return a->end < b->end ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

// Notes a dependency. Those with the same `to` must be consecutive.
static void ts__user_note(ts__builder *b, ts__rvec *entries, ts__rvec *many,
                          const ts__user_many *dep, const ts__numbered *to,
                          size_t to_count)
{
    const int64_t *const time = ts__replay_time(b->replay);
    ts__user_entry *entry = (ts__user_entry *)entries->data;
    if (!entries->count || entry[entries->count - 1].to != to) {
        entry = (ts__user_entry *)ts__rvec_push(b->allocator, entries,
                                                sizeof *entry);
        if (!entry) {
            b->failed = true;
            return;
        }
        const ts__join none = { TS_NODE_NONE, false, time[to[0].node],
                                TS_EDGE_USER };
        entry->to = to;
        entry->to_count = to_count;
        entry->join = none;
        for (size_t i = 1; i < to_count; i++)
            if (time[to[i].node] < entry->join.before)
                entry->join.before = time[to[i].node];
    } else {
        entry += entries->count - 1;
    }
    ts__user_many *const one =
        (ts__user_many *)ts__rvec_push(b->allocator, many, sizeof *one);
    if (!one) {
        b->failed = true;
        return;
    }
    *one = *dep;
    one->entry = entries->count - 1;
    one->before = entry->join.before;
}

// The nodes of a correlation as a source: a join of those that ended so far.
typedef struct ts__user_source {
    ts__rvec ends; // ts__user_end, sorted
    size_t done;
    ts__join join;
} ts__user_source;

static void ts__user_source_open(ts__builder *b, ts__user_source *source,
                                 const ts__user_many *dep)
{
    source->done = 0;
    source->join.node = TS_NODE_NONE;
    if (!ts__rvec_reserve(b->allocator, &source->ends, sizeof(ts__user_end),
                          dep->from_count)) {
        b->failed = true;
        return;
    }
    ts__user_end *const ends = (ts__user_end *)source->ends.data;
    for (size_t i = 0; i < dep->from_count; i++) {
        ends[i].node = dep->from[i].node;
        ends[i].end = ts__replay_end(b->replay, ends[i].node);
    }
    source->ends.count = dep->from_count;
    qsort(ends, dep->from_count, sizeof *ends, ts__user_end_compare);
}

static uint32_t ts__user_source_until(ts__builder *b, ts__user_source *source,
                                      int64_t before)
{
    const ts__user_end *const ends = (const ts__user_end *)source->ends.data;
    const size_t count = source->ends.count;
    if (source->done < count && ends[source->done].end <= before) {
        ts__join next = { TS_NODE_NONE, false, before, TS_EDGE_USER };
        ts__join_add(b, &next, source->join.node);
        while (source->done < count && ends[source->done].end <= before &&
               !b->failed)
            ts__join_add(b, &next, ends[source->done++].node);
        source->join = next;
    }
    b->replay->stats.contradicted += count - source->done;
    return source->join.node;
}

static void ts__user_many_edges(ts__builder *b, ts__user_entry *entry,
                                const ts__user_many *dep,
                                ts__user_source *source)
{
    if (dep->from_count <= TS__USER_FEW) {
        for (size_t i = 0; i < dep->from_count && !b->failed; i++)
            ts__join_add(b, &entry->join, dep->from[i].node);
        return;
    }
    const uint32_t node = ts__user_source_until(b, source, dep->before);
    if (node == TS_NODE_NONE) return;
    if (entry->to_count > TS__USER_FEW) {
        ts__join_add(b, &entry->join, node);
        return;
    }
    for (size_t i = 0; i < entry->to_count; i++)
        if (node != entry->to[i].node)
            ts__builder_edge(b, node, entry->to[i].node, TS_EDGE_USER);
}

static void ts__builder_many(ts__builder *b, const ts__rvec *entries,
                             const ts__rvec *many)
{
    ts__user_many *const deps = (ts__user_many *)many->data;
    ts__user_entry *const all = (ts__user_entry *)entries->data;
    ts__user_source source = { { 0 }, 0, { 0 } };
    if (many->count) qsort(deps, many->count, sizeof *deps, ts__user_compare);
    for (size_t i = 0; i < many->count && !b->failed; i++) {
        if (deps[i].from_count > TS__USER_FEW &&
            (!i || deps[i].from != deps[i - 1].from))
            ts__user_source_open(b, &source, &deps[i]);
        if (!b->failed)
            ts__user_many_edges(b, &all[deps[i].entry], &deps[i], &source);
    }
    for (size_t i = 0; i < entries->count && !b->failed; i++)
        for (size_t k = 0;
             k < all[i].to_count && all[i].join.node != TS_NODE_NONE; k++)
            if (all[i].join.node != all[i].to[k].node)
                ts__builder_edge(b, all[i].join.node, all[i].to[k].node,
                                 TS_EDGE_USER);
    ts__rvec_close(b->allocator, &source.ends);
}

static void ts__builder_users(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    ts__rvec list = { 0 }, entries = { 0 }, many = { 0 };
    if (r->deps_named.count && !ts__user_numbers(b, &list)) b->failed = true;
    for (size_t i = 0; i < r->deps_named.count && !b->failed; i++) {
        const ts__named_dep *const dep =
            (const ts__named_dep *)r->deps_named.data + i;
        size_t to_count;
        ts__user_many one = { 0 };
        one.from =
            ts__user_nodes(r, &list, dep->file, dep->from, &one.from_count);
        const ts__numbered *const to =
            ts__user_nodes(r, &list, dep->file, dep->to, &to_count);
        if (one.from_count <= TS__USER_FEW && to_count <= TS__USER_FEW)
            ts__user_dependency(b, one.from, one.from_count, to, to_count);
        else if (one.from_count && to_count && dep->from != dep->to)
            ts__user_note(b, &entries, &many, &one, to, to_count);
    }
    ts__builder_many(b, &entries, &many);
    ts__rvec_close(b->allocator, &list);
    ts__rvec_close(b->allocator, &entries);
    ts__rvec_close(b->allocator, &many);
}

/* ---- 11.40 Graph: launches of graphs ------------------------------------ */
// src/replay/graph/graph_launches.h

/*
    Operations that share a call are the nodes of one graph launch. Their
    streams mean little: nodes of one stream may overlap. A node depends on all
    nodes that ended before it began and on which no other node depends yet; if
    there is none, on the node that ended last. Across streams such an edge is
    inferred. Nodes without a dependency are roots: they come after the call,
    after earlier operations of the launch stream, and after the graph_launch
    operation, if there is one. That operation also identifies the launch
    stream. The next operation on the launch stream waits for all nodes.
*/
typedef struct ts__launched {
    uint32_t first, count; // in the list of nodes
    uint32_t launch;       // the graph_launch operation, or TS_NODE_NONE
    uint32_t lane;         // the launch stream
    uint32_t sinks, sink_count;
    ts__chain before; // earlier operations on that stream
    bool begun, left;
} ts__launched;

typedef struct ts__graphs {
    ts__rvec launched;       // ts__launched
    ts__rvec nodes;          // uint32_t, by launch, in total order
    ts__rvec sinks;          // uint32_t, by launch: nobody depends on them
    ts__rvec graph_of, root; // for each operation: uint32_t, bool
    ts__rvec open;           // a heap of ts__graph_end
} ts__graphs;

typedef struct ts__graph_end {
    int64_t end;
    uint32_t op;
} ts__graph_end;

static bool ts__graph_node_kind(uint8_t kind)
{
    return !ts__kind_syncs(kind) && kind != TS_EVENT_GRAPH_LAUNCH;
}

// Numbers the calls that launched graphs: of[call]; TS_NODE_NONE for others.
static bool ts__graphs_number(ts__builder *b, ts__graphs *g, uint32_t *of)
{
    const ts_replay *const r = b->replay;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        if (op->call == TS_NODE_NONE) continue;
        if (op->kind == TS_EVENT_GRAPH_LAUNCH)
            of[op->call - r->op_count] += 2; // a graph may have one node
        else if (ts__graph_node_kind(op->kind))
            of[op->call - r->op_count]++;
    }
    uint32_t sum = 0;
    for (uint32_t i = 0; i < r->call_count; i++) {
        const uint32_t count = of[i];
        of[i] = TS_NODE_NONE;
        if (count < 2) continue;
        ts__launched *const one = (ts__launched *)ts__rvec_push(
            b->allocator, &g->launched, sizeof *one);
        if (!one) return false;
        memset(one, 0, sizeof *one);
        of[i] = (uint32_t)g->launched.count - 1;
        one->first = sum;
        one->launch = one->lane = TS_NODE_NONE;
        one->before.last = one->before.longest = TS_NODE_NONE;
        sum += count;
    }
    return ts__rvec_reserve(b->allocator, &g->nodes, sizeof(uint32_t), sum) &&
           ts__rvec_reserve(b->allocator, &g->sinks, sizeof(uint32_t), sum);
}

static bool ts__graphs_list(ts__builder *b, ts__graphs *g, const uint32_t *of)
{
    const ts_replay *const r = b->replay;
    if (!ts__rvec_fill(b->allocator, &g->graph_of, sizeof(uint32_t),
                       r->op_count, 0xFF) ||
        !ts__rvec_fill(b->allocator, &g->root, sizeof(bool), r->op_count, 0))
        return false;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        const uint32_t graph = op->call == TS_NODE_NONE
                                   ? TS_NODE_NONE
                                   : of[op->call - r->op_count];
        if (graph == TS_NODE_NONE) continue;
        ts__launched *const one = (ts__launched *)g->launched.data + graph;
        if (op->kind == TS_EVENT_GRAPH_LAUNCH) {
            if (one->launch == TS_NODE_NONE) one->launch = i;
        } else if (ts__graph_node_kind(op->kind)) {
            ((uint32_t *)g->graph_of.data)[i] = graph;
            ((uint32_t *)g->nodes.data)[one->first + one->count++] = i;
        }
    }
    return true;
}

static bool ts__graph_end_before(const ts__graph_end *a, const ts__graph_end *b)
{
    return a->end != b->end ? a->end < b->end : a->op < b->op;
}

static bool ts__graph_open(ts__builder *b, ts__rvec *heap, ts__graph_end item)
{
    if (!ts__rvec_push(b->allocator, heap, sizeof item)) return false;
    ts__graph_end *const items = (ts__graph_end *)heap->data;
    size_t at = heap->count - 1;
    for (; at && ts__graph_end_before(&item, &items[(at - 1) / 2]);
         at = (at - 1) / 2)
        items[at] = items[(at - 1) / 2];
    items[at] = item;
    return true;
}

static uint32_t ts__graph_close(ts__rvec *heap)
{
    ts__graph_end *const items = (ts__graph_end *)heap->data;
    const uint32_t op = items[0].op;
    const ts__graph_end item = items[--heap->count];
    size_t at = 0;
    for (size_t next; (next = at * 2 + 1) < heap->count; at = next) {
        if (next + 1 < heap->count &&
            ts__graph_end_before(&items[next + 1], &items[next]))
            next++;
        if (!ts__graph_end_before(&items[next], &item)) break;
        items[at] = items[next];
    }
    items[at] = item;
    return op;
}

// Adds an edge between nodes of a launch. Operations that only order others may
// share the call of one of them: an event record that serves to wait for one
// kernel does not make the two a graph.
static void ts__graph_edge(ts__builder *b, uint32_t from, uint32_t to)
{
    const uint32_t *const lanes = ts__replay_lanes(b->replay);
    const uint32_t guess = lanes[from] == lanes[to] ? 0 : TS_EDGE_INFERRED;
    const bool order =
        !guess && ts__replay_op(b->replay, to)->kind == TS_EVENT_EVENT_RECORD;
    ts__builder_edge(b, from, to,
                     (order ? TS_EDGE_STREAM_ORDER : TS_EDGE_GRAPH) | guess);
}

// Adds the edges within one launch.
static void ts__graph_inside(ts__builder *b, ts__graphs *g, ts__launched *one)
{
    const ts_replay *const r = b->replay;
    const uint32_t *const nodes = (const uint32_t *)g->nodes.data + one->first;
    uint32_t latest = TS_NODE_NONE; // of those that another node depends on
    g->open.count = 0;
    for (uint32_t i = 0; i < one->count && !b->failed; i++) {
        const int64_t start = ts__replay_time(r)[nodes[i]];
        bool any = false;
        while (g->open.count &&
               ((const ts__graph_end *)g->open.data)->end <= start) {
            latest = ts__graph_close(&g->open);
            ts__graph_edge(b, latest, nodes[i]);
            any = true;
        }
        if (!any && latest != TS_NODE_NONE) ts__graph_edge(b, latest, nodes[i]);
        ((bool *)g->root.data)[nodes[i]] = latest == TS_NODE_NONE;
        const ts__graph_end end = { ts__replay_end(r, nodes[i]), nodes[i] };
        if (!ts__graph_open(b, &g->open, end)) b->failed = true;
    }
    one->sinks = (uint32_t)g->sinks.count;
    while (g->open.count && !b->failed)
        ((uint32_t *)g->sinks.data)[g->sinks.count++] =
            ts__graph_close(&g->open);
    one->sink_count = (uint32_t)g->sinks.count - one->sinks;
    const uint32_t at = one->launch != TS_NODE_NONE ? one->launch : nodes[0];
    one->lane = ts__replay_lanes(r)[at];
}

// Finds the launches and adds the edges among their nodes.
static void ts__graphs_find(ts__builder *b, ts__graphs *g)
{
    const ts_replay *const r = b->replay;
    ts__rvec of = { 0 };
    if (!ts__rvec_fill(b->allocator, &of, sizeof(uint32_t), r->call_count, 0) ||
        !ts__graphs_number(b, g, (uint32_t *)of.data) ||
        (g->launched.count &&
         !ts__graphs_list(b, g, (const uint32_t *)of.data)))
        b->failed = true;
    for (size_t i = 0; i < g->launched.count && !b->failed; i++) {
        ts__launched *const one = (ts__launched *)g->launched.data + i;
        if (one->count) ts__graph_inside(b, g, one);
    }
    ts__rvec_close(b->allocator, &of);
}

static void ts__graphs_close(ts__builder *b, ts__graphs *g)
{
    ts__rvec_close(b->allocator, &g->launched);
    ts__rvec_close(b->allocator, &g->nodes);
    ts__rvec_close(b->allocator, &g->sinks);
    ts__rvec_close(b->allocator, &g->graph_of);
    ts__rvec_close(b->allocator, &g->root);
    ts__rvec_close(b->allocator, &g->open);
}

static uint32_t ts__graph_of(const ts__graphs *g, uint32_t op)
{
    return g->graph_of.count ? ((const uint32_t *)g->graph_of.data)[op]
                             : TS_NODE_NONE;
}

static bool ts__graph_is_inner(const ts__graphs *g, uint32_t op)
{
    return ts__graph_of(g, op) != TS_NODE_NONE &&
           !((const bool *)g->root.data)[op];
}

// Updates a stream for a node of a launch on it.
static void ts__graph_place(ts__builder *b, ts__graphs *g, uint32_t op,
                            uint32_t lane)
{
    const uint32_t graph = ts__graph_of(g, op);
    const bool root = !ts__graph_is_inner(g, op);
    ts__launched *const one = (ts__launched *)g->launched.data + graph;
    ts__lane_state *const state = ts__builder_lane(b, lane);
    if (!one->begun) one->before = ts__builder_lane(b, one->lane)->order;
    one->begun = true;
    if (state->graph != graph) { // the first node on this stream
        state->graph = graph;
        state->before = state->order;
        ts__builder_after(b, &state->before, op, TS_EDGE_STREAM_ORDER);
    } else if (root) {
        ts__builder_after(b, &state->before, op, TS_EDGE_STREAM_ORDER);
    }
    if (root && one->launch != TS_NODE_NONE && one->launch < op)
        ts__builder_edge(b, one->launch, op,
                         TS_EDGE_GRAPH | TS_EDGE_FROM_START);
    else if (root && lane != one->lane)
        ts__builder_after(b, &one->before, op, TS_EDGE_GRAPH);
    ts__builder_extend(b, &state->order, op);
}

// Adds the edges of the first operation on a stream after nodes of a launch.
static void ts__graph_leave(ts__builder *b, ts__graphs *g, uint32_t op,
                            uint32_t lane)
{
    const ts_replay *const r = b->replay;
    ts__lane_state *const state = ts__builder_lane(b, lane);
    ts__launched *const one = (ts__launched *)g->launched.data + state->graph;
    state->graph = TS_NODE_NONE;
    if (lane != one->lane || one->left) return;
    one->left = true;
    for (uint32_t i = 0; i < one->sink_count; i++) {
        const uint32_t sink = ((const uint32_t *)g->sinks.data)[one->sinks + i];
        if (sink != state->order.last && sink != state->order.longest &&
            ts__replay_end(r, sink) <= ts__replay_time(r)[op])
            ts__builder_edge(b, sink, op, TS_EDGE_GRAPH);
    }
}

static bool ts__kind_computes(uint8_t kind)
{
    return kind == TS_EVENT_KERNEL || kind == TS_EVENT_COLLECTIVE;
}

static void ts__builder_streams(ts__builder *b, ts__graphs *g)
{
    ts_replay *const r = b->replay;
    for (uint32_t i = 0; i < r->op_count && !b->failed; i++) {
        const uint32_t lane = ts__replay_lanes(r)[i];
        const uint8_t kind = ts__replay_op(r, i)->kind;
        if (!ts__replay_lane_at(r, lane)->fifo || ts__kind_syncs(kind))
            continue;
        if (ts__graph_of(g, i) != TS_NODE_NONE) {
            ts__graph_place(b, g, i, lane);
            continue;
        }
        ts__lane_state *const state = ts__builder_lane(b, lane);
        // Operations of one call are in order on any stream.
        if (ts__replay_lane_at(r, lane)->flags & TS_STREAM_OUT_OF_ORDER) {
            const uint32_t before = state->order.last;
            if (before != TS_NODE_NONE &&
                ts__replay_op(r, i)->call != TS_NODE_NONE &&
                ts__replay_op(r, before)->call == ts__replay_op(r, i)->call)
                ts__builder_wait(b, before, i, TS_EDGE_STREAM_ORDER);
            ts__builder_extend(b, &state->order, i);
            continue;
        }
        if (state->graph != TS_NODE_NONE) ts__graph_leave(b, g, i, lane);
        const uint32_t last = state->order.last;
        if (last != TS_NODE_NONE && ts__kind_computes(kind) &&
            ts__kind_computes(ts__replay_op(r, last)->kind) &&
            ts__replay_end(r, last) > ts__replay_time(r)[i])
            r->stats.overlaps++;
        ts__builder_after(b, &state->order, i, TS_EDGE_STREAM_ORDER);
        ts__builder_extend(b, &state->order, i);
    }
}

static void ts__builder_launches(ts__builder *b, const ts__graphs *g)
{
    const ts_replay *const r = b->replay;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const uint32_t call = ts__replay_op(r, i)->call;
        if (call == TS_NODE_NONE) continue;
        if (!ts__graph_is_inner(g, i))
            ts__builder_edge(b, call, i, TS_EDGE_LAUNCH | TS_EDGE_FROM_START);
        if (ts__call_outlasts(r, i))
            ts__builder_edge(b, i, ts__replay_end_node(r, call), TS_EDGE_SYNC);
    }
    for (size_t i = 0; i < r->waiters.count; i++) {
        const uint32_t waiter = ((const uint32_t *)r->waiters.data)[i];
        ts__builder_edge(b, waiter, ts__replay_end_node(r, waiter),
                         TS_EDGE_SELF | TS_EDGE_FROM_START);
    }
    for (size_t i = 0; i < r->queued.count; i++) {
        const ts__queued *const q = (const ts__queued *)r->queued.data + i;
        ts__builder_edge(b, q->from,
                         q->end ? ts__replay_end_node(r, q->call) : q->call,
                         TS_EDGE_QUEUE | TS_EDGE_FROM_START);
    }
}

/* ---- 11.41 Graph: edges inferred from times ----------------------------- */
// src/replay/graph/inferred.h

/*
    Infers edges that are not recorded, flagged TS_EDGE_INFERRED, only where the
    record does not explain a start:

    - If an operation begins later than its launch and predecessors allow, given
      the usual delays of its device (medians of the trace) plus 2 us, it waited
      for the last operation on another stream of its device that ended before,
      at most 8 us earlier. Without a known launch nothing is inferred, as the
      host may have been late.
    - A call that waits for something that is not recorded returned because of
      the operation of its process that ended last before, at most 30 us
      earlier, preferably the last operation of its own thread. A call that
      returned at once comes after the last operation of its thread.

    Source: limits as in docs/replay.md; both delays are a few microseconds in
    all traces seen.
*/
#define TS__INFER_SLACK_NS  2000
#define TS__INFER_WINDOW_NS 8000
#define TS__INFER_RETURN_NS 30000
#define TS__INFER_STEPS     64 // maximum number of operations to look back

typedef struct ts__infer {
    ts__rvec ended;  // uint32_t: work, in order of end
    ts__rvec device; // uint32_t: work by device, in order of end
    ts__rvec first;  // uint32_t: first of each device in `device`
    ts__rvec bound;  // int64_t: when the edges allow each operation to start
    ts__rvec by;     // uint8_t: kind of the edge that was satisfied last
    ts__rvec delays; // int64_t: two medians for each device
} ts__infer;

static uint32_t ts__infer_device(const ts_replay *r, uint32_t op)
{
    return ts__replay_lane_at(r, ts__replay_lanes(r)[op])->device;
}

// Lists work in order of end, of each device and of all. Only called for traces
// that need inference, which most do not.
static bool ts__infer_ends(ts__builder *b, ts__infer *f)
{
    const ts_replay *const r = b->replay;
    const size_t devices = r->device_results.count;
    if (f->ended.data) return true;
    if (!ts__rsort_open(b->allocator, &b->sort, r->op_count) ||
        !ts__rvec_fill(b->allocator, &f->first, sizeof(uint32_t), devices + 1,
                       0))
        return false;
    size_t count = 0;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (!ts__kind_works(ts__replay_op(r, i)->kind)) continue;
        ts__rsort_keys(&b->sort)[count] = ts__rsort_time(ts__replay_end(r, i));
        ts__rsort_index(&b->sort)[count++] = i;
    }
    ts__rsort_run(&b->sort, count);
    if (!ts__rvec_reserve(b->allocator, &f->ended, sizeof(uint32_t), count) ||
        !ts__rvec_reserve(b->allocator, &f->device, sizeof(uint32_t), count))
        return false;
    f->ended.count = f->device.count = count;
    uint32_t *const first = (uint32_t *)f->first.data;
    for (size_t i = 0; i < count; i++) {
        const uint32_t op = ts__rsort_index(&b->sort)[i];
        ((uint32_t *)f->ended.data)[i] = op;
        first[ts__infer_device(r, op) + 1]++;
    }
    for (size_t i = 1; i <= devices; i++)
        first[i] += first[i - 1];
    for (size_t i = 0; i < count; i++) {
        const uint32_t op = ((const uint32_t *)f->ended.data)[i];
        ((uint32_t *)f->device.data)[first[ts__infer_device(r, op)]++] = op;
    }
    for (size_t i = devices; i > 0; i--)
        first[i] = first[i - 1];
    if (devices) first[0] = 0;
    return true;
}

static int64_t ts__infer_source(const ts_replay *r, const ts__edge *edge)
{
    return edge->kind & TS_EDGE_FROM_START ? ts__replay_time(r)[edge->from]
                                           : ts__replay_end(r, edge->from);
}

static size_t ts__infer_which(const ts__infer *f, const ts_replay *r,
                              uint32_t op)
{
    return (size_t)ts__infer_device(r, op) * 2 +
           (((const uint8_t *)f->by.data)[op] == TS_EDGE_LAUNCH);
}

// Finds the edge into each operation that was satisfied last.
static bool ts__infer_bounds(ts__builder *b, ts__infer *f)
{
    const ts_replay *const r = b->replay;
    if (!ts__rvec_reserve(b->allocator, &f->bound, sizeof(int64_t),
                          r->op_count) ||
        !ts__rvec_fill(b->allocator, &f->by, sizeof(uint8_t), r->op_count, 0))
        return false;
    int64_t *const bound = (int64_t *)f->bound.data;
    for (uint32_t i = 0; i < r->op_count; i++)
        bound[i] = TS__NO_TIME;
    for (size_t i = 0; i < b->edges.count; i++) {
        const ts__edge *const edge = (const ts__edge *)b->edges.data + i;
        if (edge->to >= r->op_count) continue;
        const int64_t at = ts__infer_source(r, edge);
        if (at < bound[edge->to]) continue;
        bound[edge->to] = at;
        ((uint8_t *)f->by.data)[edge->to] = TS_EDGE_KIND(edge->kind);
    }
    return true;
}

// Computes, for each device, the median delays of operations after the edge
// that was satisfied last: delays[2 * device + 1] if that was a launch, else
// delays[2 * device]. Tens of thousands of samples are as good as all.
static bool ts__infer_delays(ts__builder *b, ts__infer *f)
{
    const ts_replay *const r = b->replay;
    if (!ts__rvec_fill(b->allocator, &f->delays, sizeof(int64_t),
                       r->device_results.count * 2, 0))
        return false;
    size_t count = 0;
    const int64_t *const bound = (const int64_t *)f->bound.data;
    const uint32_t step = 1 + (r->op_count >> 16);
    for (uint32_t i = 0; i < r->op_count; i += step) {
        if (bound[i] == TS__NO_TIME || bound[i] > ts__replay_time(r)[i] ||
            !ts__kind_works(ts__replay_op(r, i)->kind))
            continue;
        const int64_t delay = ts__replay_time(r)[i] - bound[i];
        ts__rsort_keys(&b->sort)[count] = (uint64_t)delay;
        ts__rsort_index(&b->sort)[count++] = i;
    }
    ts__rsort_run(&b->sort, count);
    for (size_t i = 0; i < count; i++)
        ts__rsort_keys(&b->sort)[i] =
            ts__infer_which(f, r, ts__rsort_index(&b->sort)[i]);
    ts__rsort_run(&b->sort, count);
    const uint64_t *const keys = ts__rsort_keys(&b->sort);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && keys[end] == keys[first];)
            end++;
        const uint32_t op =
            ts__rsort_index(&b->sort)[first + (end - first - 1) / 2];
        ((int64_t *)f->delays.data)[keys[first]] =
            ts__replay_time(r)[op] - bound[op];
    }
    return true;
}

// Returns how many operations of a list in order of end had ended by a time.
static size_t ts__infer_ended_by(const ts_replay *r, const uint32_t *ops,
                                 size_t count, int64_t time)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ts__replay_end(r, ops[middle]) <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Returns when an operation could have begun according to the record.
static int64_t ts__infer_allowed(const ts_replay *r, const ts__infer *f,
                                 uint32_t op)
{
    const int64_t *const delays =
        (const int64_t *)f->delays.data + (size_t)ts__infer_device(r, op) * 2;
    const bool launched = ((const uint8_t *)f->by.data)[op] == TS_EDGE_LAUNCH;
    int64_t time = ((const int64_t *)f->bound.data)[op] + delays[launched];
    const uint32_t call = ts__replay_op(r, op)->call;
    if (call != TS_NODE_NONE && ts__replay_time(r)[call] + delays[1] > time)
        time = ts__replay_time(r)[call] + delays[1];
    return time;
}

static void ts__infer_operation(ts__builder *b, ts__infer *f, uint32_t op)
{
    const ts_replay *const r = b->replay;
    const int64_t start = ts__replay_time(r)[op];
    if (!ts__kind_works(ts__replay_op(r, op)->kind) ||
        ts__replay_op(r, op)->call == TS_NODE_NONE ||
        ((const int64_t *)f->bound.data)[op] == TS__NO_TIME ||
        start <= ts__infer_allowed(r, f, op) + TS__INFER_SLACK_NS)
        return;
    if (!ts__infer_ends(b, f)) {
        b->failed = true;
        return;
    }
    const uint32_t *const first =
        (const uint32_t *)f->first.data + ts__infer_device(r, op);
    const uint32_t *const ops = (const uint32_t *)f->device.data + first[0];
    size_t at = ts__infer_ended_by(r, ops, first[1] - first[0], start);
    for (int step = 0; at && step < TS__INFER_STEPS; step++) {
        const uint32_t from = ops[--at];
        if (ts__replay_end(r, from) < start - TS__INFER_WINDOW_NS) return;
        if (from == op || ts__replay_lanes(r)[from] == ts__replay_lanes(r)[op])
            continue;
        ts__builder_edge(b, from, op, TS_EDGE_EVENT | TS_EDGE_INFERRED);
        return;
    }
}

// Finds the operation that a call waited for: issued before the call, and ended
// just before it returned.
static uint32_t ts__infer_answer(const ts_replay *r, const ts__infer *f,
                                 const ts__event_query *query)
{
    const int64_t start = ts__replay_time(r)[query->call];
    const int64_t end = ts__replay_end(r, query->call);
    const int64_t soonest =
        start > end - TS__INFER_RETURN_NS ? start : end - TS__INFER_RETURN_NS;
    const uint32_t recent = query->recent;
    const int64_t done =
        recent == TS_NODE_NONE ? TS__NO_TIME : ts__replay_end(r, recent);
    if (done >= soonest && done <= end) return recent;
    const uint32_t part = ts__replay_part_of(r, query->call);
    const uint32_t *const ops = (const uint32_t *)f->ended.data;
    size_t at = ts__infer_ended_by(r, ops, f->ended.count, end);
    for (int step = 0; at && step < TS__INFER_STEPS; step++) {
        const uint32_t op = ops[--at];
        if (ts__replay_end(r, op) < soonest) break;
        if (ts__replay_part_of(r, op) == part &&
            ts__replay_op(r, op)->issue <= start)
            return op;
    }
    return done <= end ? recent : TS_NODE_NONE;
}

// Prepares the lists, unless there is nothing to infer: without calls no edge
// between operations is inferred.
static bool ts__infer_prepare(ts__builder *b, ts__infer *f)
{
    return (!b->replay->call_count ||
            (ts__infer_bounds(b, f) && ts__infer_delays(b, f))) &&
           (!b->event_queries.count || ts__infer_ends(b, f));
}

static void ts__builder_infer(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    if (r->no_inference) return;
    ts__infer f = { 0 };
    if (!ts__infer_prepare(b, &f)) b->failed = true;
    for (uint32_t i = 0; r->call_count && i < r->op_count && !b->failed; i++)
        ts__infer_operation(b, &f, i);
    for (size_t i = 0; i < b->event_queries.count && !b->failed; i++) {
        const ts__event_query *const query =
            (const ts__event_query *)b->event_queries.data + i;
        const uint32_t from = ts__infer_answer(r, &f, query);
        if (from != TS_NODE_NONE)
            ts__builder_edge(b, from, ts__replay_end_node(r, query->call),
                             TS_EDGE_SYNC | TS_EDGE_INFERRED);
    }
    ts__rsort_close(b->allocator, &b->sort);
    ts__rvec_close(b->allocator, &f.ended);
    ts__rvec_close(b->allocator, &f.device);
    ts__rvec_close(b->allocator, &f.first);
    ts__rvec_close(b->allocator, &f.bound);
    ts__rvec_close(b->allocator, &f.by);
    ts__rvec_close(b->allocator, &f.delays);
}

/* ---- 11.42 Graph: threads that wait for each other ---------------------- */
// src/replay/graph/threads.h

/*
    Infers that a thread waits for another one of its process, as a training
    loop waits for the thread that computes gradients; no call shows that. If
    all launches of a process come from one thread for a while, and then from
    another, at least eight each, the first call of the second run comes after
    the last call of the first run. That may be a call of any kind, as a thread
    that waited often queries something before it launches. Threads that launch
    at the same time show no such runs: see unknown_host_ns.
*/
#define TS__ALTERNATION_CALLS 8

// The runs of launches of a part.
typedef struct ts__alternation {
    uint32_t lane, first, last, count; // current run: thread and calls
    uint32_t before;       // last call of the previous run, if long enough
    uint32_t other, ahead; // another thread, and its first call since `last`
} ts__alternation;

static bool ts__alternation_launching(const ts__builder *b, ts__rvec *launches)
{
    const ts_replay *const r = b->replay;
    if (!ts__rvec_fill(b->allocator, launches, sizeof(bool), r->call_count, 0))
        return false;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const uint32_t call = ts__replay_op(r, i)->call;
        if (call != TS_NODE_NONE && ts__kind_works(ts__replay_op(r, i)->kind))
            ((bool *)launches->data)[call - r->op_count] = true;
    }
    return true;
}

// Adds the edge between two runs, now that the second one is long enough, too.
static void ts__alternation_found(ts__builder *b, const ts__alternation *runs,
                                  bool *ordered)
{
    const ts_replay *const r = b->replay;
    if (runs->before == TS_NODE_NONE ||
        ts__replay_end(r, runs->before) > ts__replay_time(r)[runs->first])
        return;
    ts__builder_edge(b, runs->before, runs->first,
                     TS_EDGE_HOST_ORDER | TS_EDGE_INFERRED);
    ordered[runs->first - r->op_count] = true;
}

static void ts__alternation_call(ts__builder *b, ts__alternation *runs,
                                 uint32_t call, bool *ordered)
{
    const uint32_t lane = ts__replay_lanes(b->replay)[call];
    if (lane != runs->lane) {
        runs->before =
            runs->count >= TS__ALTERNATION_CALLS ? runs->last : TS_NODE_NONE;
        runs->first = runs->other == lane ? runs->ahead : call;
        runs->lane = lane;
        runs->count = 0;
    }
    runs->last = call;
    runs->other = TS_NODE_NONE;
    if (++runs->count == TS__ALTERNATION_CALLS)
        ts__alternation_found(b, runs, ordered);
}

// Notes a call that launches nothing: it may be the first call of a run.
static void ts__alternation_ahead(const ts__builder *b, ts__alternation *runs,
                                  uint32_t call)
{
    const uint32_t lane = ts__replay_lanes(b->replay)[call];
    if (lane == runs->lane)
        runs->other = TS_NODE_NONE;
    else if (lane != runs->other) {
        runs->other = lane;
        runs->ahead = call;
    }
}

// The calls of a process so far: start of the first; thread, start and end of
// the last; last start or end of a call on any other thread.
typedef struct ts__process_calls {
    uint32_t lane; // UINT32_MAX: none
    int64_t first_ns, last_ns, last_end_ns, other_ns;
    int64_t queued_ns; // first work without a known call; INT64_MAX: none
} ts__process_calls;

// Finds work that was queued before the record began. Until the first call it
// is not known whether a thread waits for it.
static void ts__pauses_queued(const ts_replay *r, ts__process_calls *processes)
{
    for (uint32_t i = 0; i < r->parts.count; i++) {
        processes[i].lane = UINT32_MAX;
        processes[i].queued_ns = INT64_MAX;
    }
    for (uint32_t i = 0; i < r->op_count; i++) {
        int64_t *const first = &processes[ts__replay_part_of(r, i)].queued_ns;
        if (ts__replay_op(r, i)->call == TS_NODE_NONE &&
            ts__kind_works(ts__replay_op(r, i)->kind) &&
            ts__replay_time(r)[i] < *first)
            *first = ts__replay_time(r)[i];
    }
}

/*
    Adds up the time between two calls of a thread in which another thread of
    its process began or ended a call: the thread may have waited for the other
    one without an edge. Calls with an edge from an alternation are excluded.
    The time before the first call of a process is treated alike. Threads that
    launch nothing, such as one that polls for NCCL, delay no work.
    ended_ns: end of the last call of each thread; TS__NO_TIME: none yet.
*/
static void ts__pauses_add(ts__builder *b, const bool *ordered,
                           const bool *works, ts__process_calls *processes,
                           int64_t *ended_ns)
{
    const ts_replay *const r = b->replay;
    for (uint32_t i = 0; i < r->call_count; i++) {
        const uint32_t call = r->op_count + i;
        const uint32_t lane = ts__replay_lanes(r)[call];
        const int64_t start = ts__replay_time(r)[call];
        const int64_t end = ts__replay_end(r, call);
        ts__process_calls *const p = &processes[ts__replay_part_of(r, call)];
        if (p->lane == UINT32_MAX) {
            *p = (ts__process_calls){ lane,  start,       start,
                                      start, TS__NO_TIME, p->queued_ns };
            if (p->queued_ns < start)
                b->replay->stats.unknown_host_ns += start - p->queued_ns;
        }
        if (p->lane != lane)
            p->other_ns = p->last_end_ns > start ? p->last_ns : p->last_end_ns;
        const int64_t from =
            ended_ns[lane] == TS__NO_TIME ? p->first_ns : ended_ns[lane];
        if (works[lane] && !ordered[i] && start > from &&
            p->other_ns != TS__NO_TIME && p->other_ns >= from)
            b->replay->stats.unknown_host_ns += start - from;
        p->lane = lane;
        p->last_ns = start;
        p->last_end_ns = end;
        if (end > from || ended_ns[lane] == TS__NO_TIME) ended_ns[lane] = end;
    }
}

// Counts waits for a device to which several threads launch: what they wait for
// differs from run to run.
static void ts__builder_shared_syncs(ts__builder *b)
{
    // of each device: 0: no thread; else the lane of its thread plus 1
    const uint32_t several = UINT32_MAX;
    ts_replay *const r = b->replay;
    ts__rvec threads = { 0 };
    if (!ts__rvec_fill(b->allocator, &threads, sizeof(uint32_t), r->lanes.count,
                       0)) {
        b->failed = true;
        return;
    }
    uint32_t *const of = (uint32_t *)threads.data; // by device
    for (uint32_t i = 0; i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        const uint32_t device =
            ts__replay_lane_at(r, ts__replay_lanes(r)[i])->device;
        if (op->call == TS_NODE_NONE || device >= r->lanes.count) continue;
        const uint32_t thread = ts__replay_lanes(r)[op->call] + 1;
        if (op->kind == TS_EVENT_DEVICE_SYNC)
            r->stats.shared_syncs += of[device] == several;
        else if (ts__kind_works(op->kind))
            of[device] = !of[device] || of[device] == thread ? thread : several;
    }
    ts__rvec_close(b->allocator, &threads);
}

// Computes when the sources of each node were done, without the node's own
// start. TS__NO_TIME: the node has no sources.
static bool ts__unmet_latest(const ts__builder *b, ts__rvec *latest)
{
    const ts_replay *const r = b->replay;
    if (!ts__rvec_reserve(b->allocator, latest, sizeof(int64_t), r->node_count))
        return false;
    int64_t *const all = (int64_t *)latest->data;
    for (uint32_t i = 0; i < r->node_count; i++)
        all[i] = TS__NO_TIME;
    for (size_t i = 0; i < b->edges.count; i++) {
        const ts__edge *const edge = (const ts__edge *)b->edges.data + i;
        if (TS_EDGE_KIND(edge->kind) == TS_EDGE_SELF) continue;
        const int64_t at = ts__infer_source(r, edge);
        if (at > all[edge->to]) all[edge->to] = at;
    }
    return true;
}

/*
    Adds up the time of synchronisations that blocked without an edge that shows
    what they waited for: work that was queued before the record, or that the
    record lacks.
*/
static void ts__builder_unmet(ts__builder *b)
{
    ts_replay *const r = b->replay;
    ts__rvec latest = { 0 };
    if (!ts__unmet_latest(b, &latest)) {
        b->failed = true;
        return;
    }
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (!ts__kind_syncs(ts__replay_op(r, i)->kind)) continue;
        const uint32_t end = ts__replay_end_node(r, i);
        const int64_t start = ts__replay_time(r)[i];
        const int64_t ns = ts__replay_time(r)[end] - start;
        if (end != i && ns > TS__INFER_RETURN_NS &&
            ((const int64_t *)latest.data)[end] <= start)
            r->stats.unknown_host_ns += ns;
    }
    ts__rvec_close(b->allocator, &latest);
}

static void ts__builder_pauses(ts__builder *b, const ts__rvec *ordered,
                               const bool *launches)
{
    const ts_replay *const r = b->replay;
    ts__rvec processes = { 0 }, ended = { 0 }, works = { 0 };
    if (!ts__rvec_fill(b->allocator, &works, sizeof(bool), r->lanes.count, 0) ||
        !ts__rvec_fill(b->allocator, &processes, sizeof(ts__process_calls),
                       r->parts.count, 0xFF) ||
        !ts__rvec_fill(b->allocator, &ended, sizeof(int64_t), r->lanes.count,
                       0))
        b->failed = true;
    for (size_t i = 0; i < r->lanes.count && !b->failed; i++)
        ((int64_t *)ended.data)[i] = TS__NO_TIME;
    for (uint32_t i = 0; i < r->call_count && !b->failed; i++)
        if (launches[i])
            ((bool *)works.data)[ts__replay_lanes(r)[r->op_count + i]] = true;
    if (!b->failed) ts__pauses_queued(r, processes.data);
    if (!b->failed)
        ts__pauses_add(b, ordered->data, works.data, processes.data,
                       ended.data);
    ts__rvec_close(b->allocator, &works);
    ts__rvec_close(b->allocator, &processes);
    ts__rvec_close(b->allocator, &ended);
}

static void ts__builder_alternations(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    ts__rvec launches = { 0 }, alternations = { 0 }, ordered = { 0 };
    if (!ts__alternation_launching(b, &launches) ||
        !ts__rvec_fill(b->allocator, &ordered, sizeof(bool), r->call_count,
                       0) ||
        !ts__rvec_fill(b->allocator, &alternations, sizeof(ts__alternation),
                       r->parts.count, 0xFF))
        b->failed = true;
    for (uint32_t i = 0; i < r->parts.count && !b->failed; i++)
        ((ts__alternation *)alternations.data)[i].count = 0;
    for (uint32_t i = 0; i < r->call_count && !b->failed; i++) {
        const uint32_t call = r->op_count + i;
        ts__alternation *const runs =
            (ts__alternation *)alternations.data + ts__replay_part_of(r, call);
        if (((const bool *)launches.data)[i])
            ts__alternation_call(b, runs, call, ordered.data);
        else
            ts__alternation_ahead(b, runs, call);
    }
    if (!b->failed) ts__builder_pauses(b, &ordered, launches.data);
    if (!b->failed) ts__builder_shared_syncs(b);
    ts__rvec_close(b->allocator, &launches);
    ts__rvec_close(b->allocator, &alternations);
    ts__rvec_close(b->allocator, &ordered);
}

// Turns a list of edges between so many nodes into offsets, targets and kinds.
static bool ts__edges_pack(const ts_allocator *a, const ts__rvec *list,
                           size_t nodes, ts__rvec *offsets, ts__rvec *targets,
                           ts__rvec *kinds)
{
    const ts__edge *const edges = (const ts__edge *)list->data;
    const size_t count = list->count;
    if (!ts__rvec_fill(a, offsets, sizeof(uint32_t), nodes + 1, 0) ||
        !ts__rvec_reserve(a, targets, sizeof(uint32_t), count) ||
        !ts__rvec_reserve(a, kinds, sizeof(uint8_t), count))
        return false;
    uint32_t *const first = (uint32_t *)offsets->data;
    for (size_t i = 0; i < count; i++)
        first[edges[i].from]++;
    ts__offsets_sum(first, nodes);
    for (size_t i = count; i-- > 0;) {
        const uint32_t at = --first[edges[i].from];
        ((uint32_t *)targets->data)[at] = edges[i].to;
        ((uint8_t *)kinds->data)[at] = edges[i].kind;
    }
    targets->count = kinds->count = count;
    return true;
}

/* ---- 11.43 Graph: cycles of the record ---------------------------------- */
// src/replay/graph/cycles.h

/*
    Edges may form cycles, because clocks of host and device disagree, numbers
    are reused, or events are recorded after the wait that found them. Edges of
    a cycle are then left out: first inferred ones, then those that the record
    contradicts, then those between equal times that go against the total order.
    Only a cycle through a record that a wait names can remain. It is reported.
*/
typedef enum ts__doubt {
    TS__DOUBT_GUESS, // an inferred edge
    TS__DOUBT_LATER, // the source came later than the target
    TS__DOUBT_ORDER  // same time, but the source is behind in the total order
} ts__doubt;

// Sorts nodes topologically. missing[node] becomes the number of its sources
// that were not reached. Returns how many nodes are neither in a cycle nor
// behind one.
static uint32_t ts__topological_sort(const ts_replay *r, uint32_t *missing,
                                     uint32_t *queue)
{
    const uint32_t *const offsets = (const uint32_t *)r->offsets.data;
    const uint32_t *const targets = (const uint32_t *)r->targets.data;
    memset(missing, 0, r->node_count * sizeof *missing);
    for (uint32_t e = 0; e < offsets[r->node_count]; e++)
        missing[targets[e]]++;
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->node_count; i++)
        if (!missing[i]) queue[count++] = i;
    for (uint32_t done = 0; done < count; done++)
        for (uint32_t e = offsets[queue[done]]; e < offsets[queue[done] + 1];
             e++)
            if (!--missing[targets[e]]) queue[count++] = targets[e];
    return count;
}

// Returns the node that represents a node in the total order: the owner of an
// end.
static uint32_t ts__node_owner(const ts_replay *r, uint32_t node)
{
    const uint32_t first = r->op_count + r->call_count;
    if (node < first || node >= r->join_first) return node;
    return ((const uint32_t *)r->waiters.data)[node - first];
}

static bool ts__edge_is_doubtful(const ts_replay *r, uint32_t from, uint32_t to,
                                 uint8_t kind, ts__doubt doubt)
{
    if (doubt == TS__DOUBT_GUESS) return kind & TS_EDGE_INFERRED;
    if (kind & TS__EDGE_NAMED ||
        (kind & (uint8_t)~TS_EDGE_FROM_START) == TS_EDGE_SELF)
        return false;
    const int64_t time = kind & TS_EDGE_FROM_START ? ts__replay_time(r)[from]
                                                   : ts__replay_end(r, from);
    const int64_t then = ts__replay_time(r)[to];
    if (doubt == TS__DOUBT_LATER) return time > then;
    return time == then && ts__node_owner(r, from) >= ts__node_owner(r, to);
}

// Leaves out edges of one class of doubt between nodes that were not reached.
static void ts__cycles_drop_edges(ts_replay *r, const uint32_t *missing,
                                  ts__doubt doubt)
{
    uint32_t *const offsets = (uint32_t *)r->offsets.data;
    uint32_t *const targets = (uint32_t *)r->targets.data;
    uint8_t *const kinds = (uint8_t *)r->kinds.data;
    uint32_t kept = 0, first = 0;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const uint32_t end = offsets[i + 1];
        for (uint32_t e = first; e < end; e++) {
            if (missing[i] &&
                ts__edge_is_doubtful(r, i, targets[e], kinds[e], doubt)) {
                r->stats.contradicted += doubt != TS__DOUBT_GUESS;
                continue;
            }
            targets[kept] = targets[e];
            kinds[kept++] = kinds[e];
        }
        first = end;
        offsets[i + 1] = kept;
    }
    r->targets.count = r->kinds.count = kept;
}

/*
    Returns whether every edge goes forward in time, or at equal times in the
    total order of owners. (An edge from a node to its own end goes forward by
    definition.) Such a graph, as most are, has no cycle.
*/
static bool ts__edges_go_forward(const ts_replay *r)
{
    const uint32_t *const offsets = (const uint32_t *)r->offsets.data;
    const uint32_t *const targets = (const uint32_t *)r->targets.data;
    const uint8_t *const kinds = (const uint8_t *)r->kinds.data;
    const int64_t *const time = ts__replay_time(r);
    for (uint32_t i = 0; i < r->node_count; i++) {
        const int64_t end = ts__replay_end(r, i);
        const uint32_t owner = ts__node_owner(r, i);
        for (uint32_t e = offsets[i]; e < offsets[i + 1]; e++) {
            const int64_t at = kinds[e] & TS_EDGE_FROM_START ? time[i] : end;
            const int64_t then = time[targets[e]];
            if (at < then) continue;
            if (at > then) return false;
            const uint32_t other = ts__node_owner(r, targets[e]);
            if (owner > other || (owner == other && i >= targets[e]))
                return false;
        }
    }
    return true;
}

static bool ts__replay_drop_cycles(ts_replay *r)
{
    ts__rvec missing = { 0 }, queue = { 0 };
    const size_t size = sizeof(uint32_t);
    const bool plain = ts__edges_go_forward(r);
    const bool ok =
        plain ||
        (ts__rvec_reserve(&r->allocator, &missing, size, r->node_count) &&
         ts__rvec_reserve(&r->allocator, &queue, size, r->node_count));
    for (int doubt = plain ? TS__DOUBT_ORDER + 1 : TS__DOUBT_GUESS;
         ok && doubt <= TS__DOUBT_ORDER; doubt++) {
        if (ts__topological_sort(r, (uint32_t *)missing.data,
                                 (uint32_t *)queue.data) == r->node_count)
            break;
        ts__cycles_drop_edges(r, (const uint32_t *)missing.data,
                              (ts__doubt)doubt);
    }
    for (size_t e = 0; e < r->kinds.count; e++)
        ((uint8_t *)r->kinds.data)[e] &= (uint8_t)~TS__EDGE_NAMED;
    ts__rvec_close(&r->allocator, &missing);
    ts__rvec_close(&r->allocator, &queue);
    return ok;
}

static void ts__builder_close(ts__builder *b)
{
    ts__rvec_close(b->allocator, &b->edges);
    ts__rvec_close(b->allocator, &b->lanes);
    ts__rvec_close(b->allocator, &b->groups);
    ts__rvec_close(b->allocator, &b->group_of.entries);
    for (size_t i = 0; i < b->event_of.count; i++)
        ts__rvec_close(b->allocator,
                       &((ts__rmap *)b->event_of.data + i)->entries);
    ts__rvec_close(b->allocator, &b->event_of);
    ts__rvec_close(b->allocator, &b->only);
    ts__rvec_close(b->allocator, &b->unnamed_records);
    ts__rvec_close(b->allocator, &b->event_queries);
    ts__rvec_close(b->allocator, &b->steps);
    ts__rvec_close(b->allocator, &b->hardware);
    ts__rvec_close(b->allocator, &b->named);
    ts__rsort_close(b->allocator, &b->sort);
}

static bool ts__builder_edges(ts__builder *b)
{
    if (!ts__builder_lanes(b) || !ts__builder_name_records(b) ||
        !ts__builder_non_blocking(b))
        return false;
    ts__graphs graphs = { 0 };
    ts__builder_rendezvous_all(b);
    ts__builder_hosts(b);
    if (!b->failed) ts__graphs_find(b, &graphs);
    if (!b->failed) ts__builder_launches(b, &graphs);
    if (!b->failed) ts__builder_streams(b, &graphs);
    ts__graphs_close(b, &graphs);
    size_t count = 0;
    if (b->failed || !ts__builder_order(b, &count)) return false;
    for (size_t i = 0; i < count && !b->failed; i++)
        ts__builder_step(b, ts__rsort_index(&b->sort)[i]);
    if (!b->failed) ts__builder_users(b);
    if (!b->failed) ts__builder_alternations(b);
    if (!b->failed) ts__builder_infer(b);
    if (!b->failed) ts__builder_unmet(b);
    return !b->failed;
}

static ts_result ts__replay_build(ts_replay *r)
{
    ts__builder b = { 0 };
    b.replay = r;
    b.allocator = &r->allocator;
    ts_result result = TS_ERR_MEMORY;
    // Most nodes have one relevant edge, and most calls two.
    const size_t edges =
        (size_t)r->node_count + r->op_count / 4 + r->call_count;
    if (ts__rvec_reserve(b.allocator, &b.edges, sizeof(ts__edge), edges) &&
        ts__builder_edges(&b))
        result = b.edges.count >= UINT32_MAX || r->node_count >= UINT32_MAX
                     ? TS_ERR_UNSUPPORTED
                 : ts__edges_pack(&r->allocator, &b.edges, r->node_count,
                                  &r->offsets, &r->targets, &r->kinds)
                     ? TS_OK
                     : TS_ERR_MEMORY;
    ts__builder_close(&b);
    if (result == TS_OK && !ts__replay_drop_cycles(r)) result = TS_ERR_MEMORY;
    return result;
}

/* ---- 11.44 Graph: selection --------------------------------------------- */
// src/replay/graph/selection.h

static bool ts__list_has(const uint32_t *list, const uint32_t *files,
                         size_t count, uint32_t file, uint32_t track)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == track && (files ? files[i] : 0) == file) return true;
    return count == 0;
}

static ts_skip ts__replay_skip(const ts_replay *r, const ts_replay_desc *desc,
                               uint32_t op, const bool *device_chosen)
{
    const uint32_t index = ts__replay_lanes(r)[op];
    const ts__replay_lane *const lane = ts__replay_lane_at(r, index);
    if (!device_chosen[index]) return TS_SKIP_DEVICE;
    if (!lane->selected) return TS_SKIP_STREAM;
    if (!desc->from_ns && !desc->to_ns) return TS_SKIP_NOT;
    // A node of no duration touches [from, to) if it lies in it.
    const int64_t start = ts__replay_time(r)[op], end = ts__replay_end(r, op);
    const bool touches =
        start < desc->to_ns && (end > desc->from_ns || start >= desc->from_ns);
    return touches ? TS_SKIP_NOT : TS_SKIP_TIME;
}

static bool ts__replay_choose(ts_replay *r, const ts_replay_desc *desc)
{
    ts__rvec device_chosen = { 0 };
    if (!ts__rvec_fill(&r->allocator, &device_chosen, sizeof(bool),
                       r->lanes.count, 0))
        return false;
    bool *const chosen = (bool *)device_chosen.data;
    for (size_t i = 0; i < r->lanes.count; i++) {
        ts__replay_lane *const lane = ts__replay_lane_at(r, i);
        lane->selected =
            ts__list_has(desc->streams, desc->stream_files, desc->stream_count,
                         lane->file, lane->track);
        chosen[i] =
            ts__list_has(desc->devices, desc->device_files, desc->device_count,
                         lane->file, lane->device_track);
    }
    for (uint32_t i = 0; i < r->op_count; i++) {
        ts__op *const op = ts__replay_op(r, i);
        op->skip = (uint8_t)ts__replay_skip(r, desc, i, chosen);
        if (op->skip == TS_SKIP_NOT && desc->choose)
            op->skip = (uint8_t)desc->choose(r, i, desc->choose_user);
        if (op->skip == TS_SKIP_NOT)
            ts__replay_flags(r)[i] |= TS__NODE_SELECTED;
    }
    ts__rvec_close(&r->allocator, &device_chosen);
    return true;
}

static bool ts__replay_selected(const ts_replay *r, uint32_t node)
{
    return ts__replay_flags(r)[node] & TS__NODE_SELECTED;
}
static const uint32_t *ts__replay_offsets(const ts_replay *r)
{
    return (const uint32_t *)r->offsets.data;
}
static uint32_t ts__replay_target(const ts_replay *r, uint32_t edge)
{
    return ((const uint32_t *)r->targets.data)[edge];
}
static uint8_t ts__replay_kind(const ts_replay *r, uint32_t edge)
{
    return ((const uint8_t *)r->kinds.data)[edge];
}

// Selects calls that launched nothing: all of them, or those of threads with
// selected calls.
static bool ts__replay_select_alone(ts_replay *r, bool all)
{
    ts__rvec threads = { 0 };
    if (!ts__rvec_fill(&r->allocator, &threads, sizeof(bool), r->lanes.count,
                       all))
        return false;
    bool *const chosen = (bool *)threads.data;
    const uint32_t calls_end = r->op_count + r->call_count;
    for (uint32_t i = r->op_count; i < calls_end; i++)
        if (ts__replay_selected(r, i)) chosen[ts__replay_lanes(r)[i]] = true;
    for (uint32_t i = r->op_count; i < calls_end; i++)
        if (ts__replay_flags(r)[i] & TS__NODE_CALL_ONLY &&
            chosen[ts__replay_lanes(r)[i]])
            ts__replay_flags(r)[i] |= TS__NODE_SELECTED;
    ts__rvec_close(&r->allocator, &threads);
    return true;
}

// Selects the calls of the selected operations, and the ends of both.
static bool ts__replay_select_ends(ts_replay *r)
{
    bool all = true;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const uint32_t call = ts__replay_op(r, i)->call;
        if (ts__replay_selected(r, i) && call != TS_NODE_NONE)
            ts__replay_flags(r)[call] |= TS__NODE_SELECTED;
        all &= ts__replay_selected(r, i);
    }
    if (!ts__replay_select_alone(r, all)) return false;
    const uint32_t first = r->op_count + r->call_count;
    for (uint32_t i = 0; i < r->waiters.count; i++)
        if (ts__replay_selected(r, ((const uint32_t *)r->waiters.data)[i]))
            ts__replay_flags(r)[first + i] |= TS__NODE_SELECTED;
    return true;
}

// Selects joins that lead to selected nodes. Joins lead to later joins, to
// operations and to ends, so that one backward pass is enough.
static void ts__replay_select_joins(ts_replay *r)
{
    for (uint32_t i = r->node_count; i-- > r->join_first;) {
        const uint32_t end = ts__replay_offsets(r)[i + 1];
        for (uint32_t e = ts__replay_offsets(r)[i]; e < end; e++)
            if (ts__replay_selected(r, ts__replay_target(r, e)))
                ts__replay_flags(r)[i] |= TS__NODE_SELECTED;
    }
}

// With TS_DEPS_NONE, deselects joins without a selected source.
static bool ts__replay_prune_joins(ts_replay *r)
{
    ts__rvec live = { 0 };
    if (!ts__rvec_fill(&r->allocator, &live, sizeof(bool), r->node_count, 0))
        return false;
    bool *const has = (bool *)live.data;
    for (uint32_t i = 0; i < r->node_count; i++) {
        if (i >= r->join_first && !has[i])
            ts__replay_flags(r)[i] &= (uint8_t)~TS__NODE_SELECTED;
        if (!ts__replay_selected(r, i)) continue;
        const uint32_t end = ts__replay_offsets(r)[i + 1];
        for (uint32_t e = ts__replay_offsets(r)[i]; e < end; e++)
            has[ts__replay_target(r, e)] = true;
    }
    ts__rvec_close(&r->allocator, &live);
    return true;
}

// The reversed edges: sources[offsets[n]...] are the nodes that n depends on.
typedef struct ts__reverse {
    ts__rvec offsets, sources, todo;
} ts__reverse;

static void ts__reverse_close(ts_replay *r, ts__reverse *v)
{
    ts__rvec_close(&r->allocator, &v->offsets);
    ts__rvec_close(&r->allocator, &v->sources);
    ts__rvec_close(&r->allocator, &v->todo);
}

static bool ts__reverse_open(ts_replay *r, ts__reverse *v)
{
    const size_t count = r->targets.count;
    if (!ts__rvec_fill(&r->allocator, &v->offsets, sizeof(uint32_t),
                       (size_t)r->node_count + 1, 0) ||
        !ts__rvec_reserve(&r->allocator, &v->sources, sizeof(uint32_t), count))
        return false;
    uint32_t *const offsets = (uint32_t *)v->offsets.data;
    for (uint32_t e = 0; e < count; e++)
        offsets[ts__replay_target(r, e)]++;
    ts__offsets_sum(offsets, r->node_count);
    for (uint32_t i = 0; i < r->node_count; i++)
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++)
            ((uint32_t *)v->sources.data)[--offsets[ts__replay_target(r, e)]] =
                i;
    return true;
}

static bool ts__reverse_visit(ts_replay *r, ts__reverse *v, uint32_t node)
{
    uint8_t *const flags = &ts__replay_flags(r)[node];
    if (*flags & TS__NODE_SELECTED) return true;
    uint32_t *const to =
        (uint32_t *)ts__rvec_push(&r->allocator, &v->todo, sizeof *to);
    if (!to) return false;
    *to = node;
    *flags |= TS__NODE_SELECTED;
    if (node >= r->op_count) return true;
    ts__replay_op(r, node)->skip = TS_SKIP_NOT;
    r->stats.added++;
    return true;
}

// Selects everything that the selection depends on. Ends of selected nodes
// count as selected, so that what a wait waits for is included.
static bool ts__replay_close_over(ts_replay *r)
{
    ts__reverse v = { { 0 }, { 0 }, { 0 } };
    bool ok = ts__reverse_open(r, &v);
    for (uint32_t i = 0; ok && i < r->op_count; i++) {
        if (!ts__replay_selected(r, i)) continue;
        const uint64_t added = r->stats.added;
        ts__replay_flags(r)[i] &= (uint8_t)~TS__NODE_SELECTED;
        ok = ts__reverse_visit(r, &v, i);
        r->stats.added = added;
    }
    while (ok && v.todo.count) {
        const uint32_t node = ((const uint32_t *)v.todo.data)[--v.todo.count];
        const uint32_t *const offsets = (const uint32_t *)v.offsets.data;
        const uint32_t end = ts__replay_end_node(r, node);
        if (end != node) ok = ts__reverse_visit(r, &v, end);
        for (uint32_t e = offsets[node]; ok && e < offsets[node + 1]; e++)
            ok =
                ts__reverse_visit(r, &v, ((const uint32_t *)v.sources.data)[e]);
    }
    ts__reverse_close(r, &v);
    return ok;
}

static bool ts__replay_select(ts_replay *r, const ts_replay_desc *desc)
{
    if (!ts__replay_choose(r, desc)) return false;
    if (r->deps == TS_DEPS_CLOSURE) return ts__replay_close_over(r);
    if (!ts__replay_select_ends(r)) return false;
    ts__replay_select_joins(r);
    return r->deps != TS_DEPS_NONE || ts__replay_prune_joins(r);
}

/* ---- 11.45 Graph: what a node waited for -------------------------------- */
// src/replay/graph/waits.h

// Lists the source node of each edge.
static inline bool ts__replay_sources(const ts_replay *r, ts__rvec *sources)
{
    if (!ts__rvec_reserve(&r->allocator, sources, sizeof(uint32_t),
                          r->targets.count))
        return false;
    for (uint32_t i = 0; i < r->node_count; i++)
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++)
            ((uint32_t *)sources->data)[e] = i;
    sources->count = r->targets.count;
    return true;
}

/*
    Finds the binding edge of each node: the edge that was satisfied last in the
    record. binding[node] is the number of the edge, or TS_NODE_NONE. Of edges
    satisfied at the same time recorded ones come before inferred ones, then the
    order of ts_edge_kind decides, then that of the sources.
*/
static inline bool ts__replay_bindings(const ts_replay *r, ts__rvec *binding)
{
    ts__rvec latest = { 0 };
    if (!ts__rvec_fill(&r->allocator, binding, sizeof(uint32_t), r->node_count,
                       0xFF) ||
        !ts__rvec_reserve(&r->allocator, &latest, sizeof(int64_t),
                          r->node_count))
        return false;
    uint32_t *const bound = (uint32_t *)binding->data;
    int64_t *const time = (int64_t *)latest.data;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const int64_t start = ts__replay_time(r)[i];
        const int64_t end = ts__replay_end(r, i);
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++) {
            const uint8_t kind = ts__replay_kind(r, e);
            const uint32_t to = ts__replay_target(r, e);
            const int64_t at = kind & TS_EDGE_FROM_START ? start : end;
            const bool none = bound[to] == TS_NODE_NONE;
            const uint8_t rank = kind & (uint8_t)~TS_EDGE_FROM_START;
            const uint8_t other = none ? 0
                                       : ts__replay_kind(r, bound[to]) &
                                             (uint8_t)~TS_EDGE_FROM_START;
            if (!none && (at < time[to] || (at == time[to] && rank >= other)))
                continue;
            bound[to] = e;
            time[to] = at;
        }
    }
    ts__rvec_close(&r->allocator, &latest);
    return true;
}

/* ---- 11.46 Model: plan of a run ----------------------------------------- */
// src/replay/model/plan.h

static void ts__plan_edges(ts_replay *r)
{
    for (uint32_t i = 0; i < r->node_count; i++) {
        const bool inside = ts__replay_selected(r, i);
        const uint32_t end = ts__replay_offsets(r)[i + 1];
        for (uint32_t e = ts__replay_offsets(r)[i]; e < end; e++) {
            const uint8_t kind = TS_EDGE_KIND(ts__replay_kind(r, e));
            if (kind == TS_EDGE_SELF ||
                !ts__replay_selected(r, ts__replay_target(r, e)))
                continue;
            if (inside) {
                r->stats.edges[kind]++;
                r->stats.inferred[kind] +=
                    (ts__replay_kind(r, e) & TS_EDGE_INFERRED) != 0;
            } else {
                r->stats.cut_edges++;
            }
        }
    }
}

static void ts__plan_operations(ts_replay *r)
{
    ts_replay_stats *const s = &r->stats;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        if (op->skip != TS_SKIP_NOT) {
            s->skipped[op->skip]++;
            continue;
        }
        const int64_t start = ts__replay_time(r)[i];
        const int64_t end = ts__replay_end(r, i);
        if (!s->operations || start < s->recorded_start_ns)
            s->recorded_start_ns = start;
        if (!s->operations || end > s->recorded_end_ns)
            s->recorded_end_ns = end;
        s->operations++;
    }
    for (uint32_t i = 0; i < r->call_count; i++)
        s->calls += ts__replay_selected(r, r->op_count + i);
}

/*
    Returns the interval in which lost events may belong to the selection: from
    the last operation before it on its streams to the first one after it.
    Without such operations the interval has no bound, since the first or the
    last operations of all may be lost.
*/
static void ts__plan_window(const ts_replay *r, int64_t *from, int64_t *to)
{
    const ts_replay_stats *const s = &r->stats;
    *from = r->windowed ? r->load_from : INT64_MIN;
    *to = r->windowed ? r->load_to : INT64_MAX;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (ts__replay_selected(r, i) ||
            !ts__replay_lane_at(r, ts__replay_lanes(r)[i])->selected)
            continue;
        const int64_t start = ts__replay_time(r)[i], end = ts__replay_end(r, i);
        if (end <= s->recorded_start_ns && end > *from) *from = end;
        if (start >= s->recorded_end_ns && start < *to) *to = start;
    }
}

/*
    Whether a loss may affect the selection. A loss on a stream or device
    affects only that; a loss on a thread may affect any operation, since
    threads of the vendor's library report them.
*/
static bool ts__plan_touches(const ts_replay *r, uint32_t file,
                             const ts_loss_row *loss, int64_t from, int64_t to)
{
    if (loss->cause >= TS_LOSS_STALL_FIRST) return false;
    const ts_replay_file *const f = ts__replay_file(r, file);
    const int64_t first = ts__replay_add(loss->first_ns, f->offset_ns);
    const int64_t last = ts__replay_add(loss->last_ns, f->offset_ns);
    const bool timed = loss->first_ns || loss->last_ns;
    if (timed && (last < from || first > to)) return false;
    ts_track track;
    if (!ts_reader_track(f->reader, loss->track, &track) ||
        (track.type != TS_TRACK_STREAM && track.type != TS_TRACK_CONTEXT &&
         track.type != TS_TRACK_DEVICE))
        return true;
    for (size_t i = 0; i < r->lanes.count; i++) {
        const ts__replay_lane *const lane = ts__replay_lane_at(r, i);
        if (lane->selected && lane->file == file &&
            (lane->track == loss->track || lane->device_track == loss->track ||
             lane->context_track == loss->track))
            return true;
    }
    return false;
}

static void ts__plan_losses(ts_replay *r)
{
    ts_loss_row loss;
    int64_t from, to;
    ts__plan_window(r, &from, &to);
    for (uint32_t file = 0; file < r->files.count; file++)
        for (size_t i = 0;
             ts_reader_loss(ts__replay_file(r, file)->reader, i, &loss); i++)
            if (ts__plan_touches(r, file, &loss, from, to))
                r->stats.lost += loss.count;
}

static bool ts__replay_files(ts_replay *r, const ts_replay_desc *desc)
{
    const size_t count = 1 + desc->more_count;
    if (!ts__rvec_fill(&r->allocator, &r->files, sizeof(ts_replay_file), count,
                       0))
        return false;
    for (uint32_t i = 0; i < count; i++)
        ts__replay_file(r, i)->reader = i ? desc->more[i - 1] : r->reader;
    for (uint32_t i = 0; i < count; i++)
        if (!ts__parts_add(r, i)) return false;
    return true;
}

static bool ts__load_window_ok(const ts_replay_desc *desc)
{
    if (desc->load_before_ns < 0) return false;
    return (!desc->load_from_ns && !desc->load_to_ns) ||
           desc->load_from_ns < desc->load_to_ns;
}

// Clamps the window: no recorded time is beyond TS__REPLAY_TIME_MAX.
static void ts__load_window(ts_replay *r, const ts_replay_desc *desc)
{
    const int64_t most = TS__REPLAY_TIME_MAX + 1;
    const int64_t from = desc->load_from_ns, to = desc->load_to_ns;
    r->windowed = from || to;
    r->load_from = from < -most ? -most : from > most ? most : from;
    r->load_to = to < -most ? -most : to > most ? most : to;
    r->calls_from = -most;
    if (desc->load_before_ns && desc->load_before_ns < r->load_from + most)
        r->calls_from = r->load_from - desc->load_before_ns;
}

TS_API ts_result ts_replay_open(ts_replay **replay, ts_reader *reader,
                                const ts_replay_desc *desc)
{
    static const ts_replay_desc none = { 0 };
    if (!replay) return TS_ERR_USAGE;
    *replay = NULL;
    if (!desc) desc = &none;
    if (!reader || desc->to_ns < desc->from_ns || desc->deps > TS_DEPS_NONE ||
        !ts__load_window_ok(desc))
        return TS_ERR_USAGE;
    for (size_t i = 0; i < desc->more_count; i++)
        if (!desc->more[i]) return TS_ERR_USAGE;
    if (desc->more_count >= 65535) return TS_ERR_UNSUPPORTED;
    const ts_allocator allocator = ts__arena_open(&desc->allocator);
    ts_replay *const r = (ts_replay *)allocator.resize(allocator.user, NULL, 0,
                                                       sizeof(ts_replay));
    if (!r) {
        ts__arena_close(&allocator);
        return TS_ERR_MEMORY;
    }
    memset(r, 0, sizeof *r);
    r->reader = reader;
    r->allocator = allocator;
    r->deps = desc->deps;
    r->queue_depth = desc->queue_depth ? desc->queue_depth : 1024;
    r->connections = desc->connections;
    r->no_inference = desc->no_inference;
    r->clocks_only = desc->clocks_only;
    ts__load_window(r, desc);
    ts_result result = ts__replay_files(r, desc)
                           ? ts__replay_load(r, desc->threads)
                           : TS_ERR_MEMORY;
    if (result == TS_OK) result = ts__replay_build(r);
    if (result == TS_OK && !ts__replay_select(r, desc)) result = TS_ERR_MEMORY;
    if (result != TS_OK) {
        ts_replay_close(r);
        return result;
    }
    ts__plan_operations(r);
    ts__plan_edges(r);
    ts__plan_losses(r);
    *replay = r;
    return TS_OK;
}

static void ts__model_close(ts_replay *r);

TS_API void ts_replay_close(ts_replay *replay)
{
    if (!replay) return;
    const ts_allocator a = replay->allocator;
    ts__model_close(replay);
    ts__rvec *const vecs[] = { &replay->files,
                               &replay->ops,
                               &replay->call_names,
                               &replay->call_classes,
                               &replay->events,
                               &replay->places,
                               &replay->rendezvous,
                               &replay->members,
                               &replay->member_rendezvous,
                               &replay->collectives,
                               &replay->joined,
                               &replay->queued,
                               &replay->deps_named,
                               &replay->call_numbers,
                               &replay->lanes,
                               &replay->waiters,
                               &replay->time,
                               &replay->duration,
                               &replay->lane,
                               &replay->flags,
                               &replay->offsets,
                               &replay->targets,
                               &replay->kinds,
                               &replay->start,
                               &replay->gap,
                               &replay->changed,
                               &replay->lane_results,
                               &replay->device_results,
                               &replay->cycle,
                               &replay->ends,
                               &replay->parts,
                               &replay->part_of.entries,
                               &replay->part_first };
    for (size_t i = 0; i < sizeof vecs / sizeof vecs[0]; i++)
        ts__rvec_close(&a, vecs[i]);
    a.resize(a.user, replay, sizeof *replay, 0);
    ts__arena_close(&a);
}

/* ---- 11.47 Model: the run ----------------------------------------------- */
// src/replay/model/simulation.h

/*
    Without limits on resources, the start of a node depends on its edges alone
    and not on the order in which nodes are processed. So they are taken from a
    plain queue as they become ready: first in, first out stays close to the
    order in memory. With limits, nodes run in order of time: see
    ts__rrun_timed.
*/
typedef struct ts__rrun {
    ts_replay *replay;
    // The graph that runs: the replay's own or a changed one.
    const uint32_t *offsets, *targets;
    const uint8_t *kinds;
    const int64_t *delay;    // of each edge (NULL: none)
    const int64_t *duration; // of each node
    uint32_t *missing;       // of each node: edges that have not fired yet
    int64_t *start; // of each node: first its latest fired edge, then its start
    // Of each node: first its latest edge in the record, then its gap.
    int64_t *gap;
    const bool *removed; // operations that a change removed (NULL: none)
    uint64_t ran;
} ts__rrun;

// Added to `missing` of nodes that are not selected, so that they are never
// ready.
#define TS__RUN_NEVER (UINT32_C(1) << 31)

// Whether edges from `node` count: it fires them or, if it is not selected, its
// recorded time does.
static bool ts__rrun_counts(const ts_replay *r, uint32_t node)
{
    return ts__replay_selected(r, node) || r->deps != TS_DEPS_NONE;
}

static int64_t ts__rrun_source(const ts_replay *r, uint32_t node, uint8_t kind)
{
    return kind & TS_EDGE_FROM_START ? ts__replay_time(r)[node]
                                     : ts__replay_end(r, node);
}

// The delay of an edge that a change removed. No sum of times comes near it.
#define TS__EDGE_OFF (-TS__REPLAY_SUM_MAX)

// Returns when an edge lets its target start. A removed edge still fires, but
// has no time.
static int64_t ts__rrun_at(const ts__rrun *run, uint32_t e, int64_t source)
{
    if (!run->delay) return source;
    if (run->delay[e] == TS__EDGE_OFF) return TS__NO_TIME;
    return ts__replay_add(source, run->delay[e]);
}

// Counts the edges into every node. `gap` becomes the latest of all edges at
// their recorded times, `start` the latest of those that the run does not fire,
// which keep their recorded times.
static void ts__rrun_edges(ts__rrun *run)
{
    const ts_replay *const r = run->replay;
    for (uint32_t i = 0; i < r->node_count; i++) {
        if (!ts__rrun_counts(r, i)) continue;
        const bool fires = ts__replay_selected(r, i);
        const uint32_t end = run->offsets[i + 1];
        for (uint32_t e = run->offsets[i]; e < end; e++) {
            const uint32_t to = run->targets[e];
            const int64_t at =
                ts__rrun_at(run, e, ts__rrun_source(r, i, run->kinds[e]));
            if (at > run->gap[to]) run->gap[to] = at;
            if (fires)
                run->missing[to]++;
            else if (at > run->start[to])
                run->start[to] = at;
        }
    }
}

// Computes for every node the recorded time between its latest edge and its
// start.
static void ts__rrun_gaps(ts__rrun *run)
{
    const int64_t *const time = ts__replay_time(run->replay);
    for (uint32_t i = 0; i < run->replay->node_count; i++) {
        const int64_t at = run->gap[i];
        run->gap[i] = time[i] - (at == TS__NO_TIME ? 0 : at);
    }
}

// Stores the nodes that are ready at first in `queue`, and returns how many.
static uint32_t ts__rrun_begin(ts__rrun *run, uint32_t *queue)
{
    const ts_replay *const r = run->replay;
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->node_count; i++) {
        if (!ts__replay_selected(r, i))
            run->missing[i] |= TS__RUN_NEVER;
        else if (!run->missing[i])
            queue[count++] = i;
    }
    return count;
}

// Returns the start of a node all of whose edges have fired.
static int64_t ts__rrun_start(const ts__rrun *run, uint32_t node)
{
    const int64_t at = run->start[node];
    return ts__replay_add(at == TS__NO_TIME ? 0 : at, run->gap[node]);
}

// Runs a node, appends the nodes that become ready to `queue`, and returns its
// new count.
static uint32_t ts__rrun_fire(ts__rrun *run, uint32_t node, int64_t start,
                              uint32_t *queue, uint32_t count)
{
    const int64_t end = ts__replay_add(start, run->duration[node]);
    run->start[node] = start;
    run->ran++;
    const uint32_t last = run->offsets[node + 1];
    for (uint32_t e = run->offsets[node]; e < last; e++) {
        const uint32_t to = run->targets[e];
        const int64_t at = ts__rrun_at(
            run, e, run->kinds[e] & TS_EDGE_FROM_START ? start : end);
        if (at > run->start[to]) run->start[to] = at;
        if (--run->missing[to] == 0) queue[count++] = to;
    }
    return count;
}

// Runs the nodes as they become ready, without limits on resources.
static bool ts__rrun_loop(ts__rrun *run)
{
    const ts_allocator *const a = &run->replay->allocator;
    ts__rvec ready = { 0 };
    if (!ts__rvec_reserve(a, &ready, sizeof(uint32_t), run->replay->node_count))
        return false;
    uint32_t *const queue = (uint32_t *)ready.data;
    uint32_t count = ts__rrun_begin(run, queue);
    for (uint32_t i = 0; i < count; i++)
        count = ts__rrun_fire(run, queue[i], ts__rrun_start(run, queue[i]),
                              queue, count);
    ts__rvec_close(a, &ready);
    return true;
}

// Marks the nodes that did not run, and why.
static void ts__rrun_stuck(ts__rrun *run)
{
    ts_replay *const r = run->replay;
    r->stats.skipped[TS_SKIP_UNMET] = r->stats.skipped[TS_SKIP_REMOVED] = 0;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const bool stuck = ts__replay_selected(r, i) && run->missing[i];
        if (stuck || !ts__replay_selected(r, i)) run->start[i] = TS__NO_TIME;
        if (i >= r->op_count || !ts__replay_selected(r, i)) continue;
        const uint32_t end = ts__replay_end_node(r, i);
        const bool ends = !run->missing[i] && !run->missing[end];
        ts__replay_op(r, i)->skip = ends ? TS_SKIP_NOT : TS_SKIP_UNMET;
        r->stats.skipped[TS_SKIP_UNMET] += !ends;
        if (!ends || !run->removed || !run->removed[i]) continue;
        ts__replay_op(r, i)->skip = TS_SKIP_REMOVED;
        r->stats.skipped[TS_SKIP_REMOVED]++;
    }
}

/*
    Finds a cycle. Every stuck node waits for another stuck one, so following
    such edges backwards ends up in a cycle. `before` receives one stuck
    predecessor of each node.
*/
static bool ts__rrun_cycle(ts__rrun *run)
{
    ts_replay *const r = run->replay;
    ts__rvec before = { 0 };
    if (!ts__rvec_fill(&r->allocator, &before, sizeof(uint32_t), r->node_count,
                       0xFF))
        return false;
    uint32_t *const from = (uint32_t *)before.data;
    uint32_t node = TS_NODE_NONE;
    for (uint32_t i = 0; i < r->node_count; i++) {
        if (!ts__replay_selected(r, i) || !run->missing[i]) continue;
        if (node == TS_NODE_NONE) node = i;
        const uint32_t end = run->offsets[i + 1];
        for (uint32_t e = run->offsets[i]; e < end; e++)
            from[run->targets[e]] = i;
    }
    for (uint32_t i = 0; i < r->node_count; i++)
        node = from[node]; // now inside the cycle for certain
    const uint32_t first = node;
    const uint32_t ends_at = r->op_count + r->call_count;
    bool ok = true;
    do {
        uint32_t owner = node;
        if (node >= ends_at && node < r->join_first)
            owner = ((const uint32_t *)r->waiters.data)[node - ends_at];
        const uint32_t *const list = (const uint32_t *)r->cycle.data;
        const bool again = r->cycle.count && list[r->cycle.count - 1] == owner;
        if (owner < r->join_first && !again) {
            uint32_t *const to =
                (uint32_t *)ts__rvec_push(&r->allocator, &r->cycle, sizeof *to);
            if (to) *to = owner;
            ok = to != NULL;
        }
        node = from[node];
    } while (ok && node != first);
    ts__rvec_close(&r->allocator, &before);
    return ok;
}

static void ts__cycle_reverse(ts__rvec *cycle)
{
    uint32_t *const list = (uint32_t *)cycle->data;
    size_t count = cycle->count, least = 0;
    // The walk may have started between an operation and its end.
    if (count > 1 && list[0] == list[count - 1]) cycle->count = --count;
    for (size_t i = 1; i < count; i++)
        if (list[i] < list[least]) least = i;
    while (least--) {
        const uint32_t head = list[0];
        memmove(list, list + 1, (count - 1) * sizeof *list);
        list[count - 1] = head;
    }
}

/* ---- 11.48 Model: figures of a run -------------------------------------- */
// src/replay/model/figures.h

static int64_t ts__model_extra(const ts_replay *r, uint32_t op);

// Returns the end of an operation in the run, without what was inserted behind
// it.
static int64_t ts__op_end(const ts_replay *r, uint32_t op)
{
    const int64_t *const start = (const int64_t *)r->start.data;
    const uint32_t end = ts__replay_end_node(r, op);
    const int64_t extra = ts__model_extra(r, op);
    if (end != op) { // others may have waited for it without the inserted time
        const bool ended = start[end] != TS__NO_TIME;
        const int64_t without = ended ? start[end] - extra : start[op];
        return without > start[op] ? without : start[op];
    }
    const int64_t *const changed = (const int64_t *)r->changed.data;
    const int64_t duration =
        r->changed.count ? changed[op] : ts__replay_duration(r)[op];
    return ts__replay_add(start[op], duration - extra);
}

// Sorts the operations in the sorter's index by start, then lane: the total
// order of the schedule.
static bool ts__figures_sort(const ts_replay *r, ts__rsort *sort, size_t count)
{
    const int64_t *const start = (const int64_t *)r->start.data;
    if (!ts__rsort_open(&r->allocator, sort, r->op_count)) return false;
    for (size_t i = 0; i < count; i++)
        ts__rsort_keys(sort)[i] = ts__replay_lanes(r)[ts__rsort_index(sort)[i]];
    ts__rsort_run(sort, count);
    for (size_t i = 0; i < count; i++)
        ts__rsort_keys(sort)[i] =
            ts__rsort_time(start[ts__rsort_index(sort)[i]]);
    ts__rsort_run(sort, count);
    return true;
}

// Lists the operations that ran in total order. Recorded order is total order
// unless something moved.
static bool ts__figures_order(const ts_replay *r, ts__rsort *sort,
                              size_t *count)
{
    const int64_t *const start = (const int64_t *)r->start.data;
    const uint32_t *const lanes = ts__replay_lanes(r);
    if (!ts__rvec_reserve(&r->allocator, &sort->index[0], sizeof(uint32_t),
                          r->op_count))
        return false;
    bool sorted = true;
    uint32_t last = TS_NODE_NONE;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (ts__replay_op(r, i)->skip != TS_SKIP_NOT) continue;
        if (last != TS_NODE_NONE &&
            (start[last] > start[i] ||
             (start[last] == start[i] && lanes[last] > lanes[i])))
            sorted = false;
        ts__rsort_index(sort)[(*count)++] = last = i;
    }
    return sorted || ts__figures_sort(r, sort, *count);
}

// Identifies an operation independently of where it is in the file. Its 48
// bytes are hashed as they are in memory; traces are only read on little-endian
// machines.
typedef struct ts__identity {
    uint64_t place; // kind, lane type, file, device number: 8, 8, 16, 32 bits
    uint64_t stream, correlation, name;
    int64_t start, end;
} ts__identity;

static bool ts__figures_name(const ts_replay *r, ts__rmap *known,
                             ts__rvec *hashes, uint32_t index, uint64_t *hash)
{
    const ts__op *const op = ts__replay_op(r, index);
    const uint32_t file = ts__replay_file_of(r, index);
    const ts_reader *const reader = ts__replay_file(r, file)->reader;
    const bool launch = op->kind == TS_EVENT_KERNEL;
    *hash = op->kind == TS_EVENT_MEMCPY ? op->label : 0;
    if (!launch && op->kind != TS_EVENT_COLLECTIVE &&
        op->kind != TS_EVENT_HOST_FUNCTION)
        return true;
    const uint64_t key = ts__replay_key(file * 2 + launch, op->label);
    const uint32_t at = ts__rmap_get(known, key);
    if (at != TS_NODE_NONE) {
        *hash = ((const uint64_t *)hashes->data)[at];
        return true;
    }
    uint32_t name = op->label;
    if (launch) {
        const ts_launch_entry *const entry =
            ts_reader_launch(reader, op->label);
        name = entry ? entry->name : 0;
    }
    const ts_text text = ts_reader_name(reader, name);
    *hash = XXH3_64bits(text.text, text.size);
    uint64_t *const to =
        (uint64_t *)ts__rvec_push(&r->allocator, hashes, sizeof *to);
    if (to) *to = *hash;
    return to &&
           ts__rmap_put(&r->allocator, known, key, (uint32_t)hashes->count - 1);
}

static bool ts__figures_identity(const ts_replay *r, uint32_t index,
                                 ts__rmap *known, ts__rvec *hashes,
                                 ts__identity *id)
{
    const ts__op *const op = ts__replay_op(r, index);
    const ts__replay_lane *const lane =
        ts__replay_lane_at(r, ts__replay_lanes(r)[index]);
    id->place = op->kind | (uint64_t)lane->type << 8 |
                (uint64_t)lane->part << 16 | lane->device_number << 32;
    id->stream = lane->number;
    id->correlation = op->correlation;
    if (op->correlation >> 48 == ts__replay_part(r, lane->part)->local)
        // As in a trace of this process alone.
        id->correlation &= (UINT64_C(1) << 48) - 1;
    id->start = ((const int64_t *)r->start.data)[index];
    id->end = ts__op_end(r, index);
    return ts__figures_name(r, known, hashes, index, &id->name);
}

// Computes the digest of the schedule whose order is given by `index`.
static bool ts__figures_digest(ts_replay *r, const uint32_t *index,
                               size_t count)
{
    ts__rmap known = { { 0 }, 0 };
    ts__rvec hashes = { 0 };
    ts__identity block[64];
    size_t filled = 0;
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset(&state);
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        ok = ts__figures_identity(r, index[i], &known, &hashes,
                                  &block[filled++]);
        if (filled < 64 && i + 1 < count) continue;
        XXH3_64bits_update(&state, block, filled * sizeof block[0]);
        filled = 0;
    }
    r->stats.digest = XXH3_64bits_digest(&state);
    ts__rvec_close(&r->allocator, &known.entries);
    ts__rvec_close(&r->allocator, &hashes);
    return ok;
}

// Adds [start, end) to the figures of a lane. Must be called in order of start.
static void ts__lane_add(ts_lane *lane, int64_t *busy_until, int64_t start,
                         int64_t end, bool works)
{
    if (!lane->operations++ || start < lane->start_ns) lane->start_ns = start;
    if (lane->operations == 1 || end > lane->end_ns) lane->end_ns = end;
    if (!works) return;
    const int64_t from = start > *busy_until ? start : *busy_until;
    if (end > from) {
        lane->busy_ns += end - from;
        *busy_until = end;
    }
}

static void ts__lanes_reset(ts__rvec *lanes)
{
    for (size_t i = 0; i < lanes->count; i++) {
        ts_lane *const lane = (ts_lane *)lanes->data + i;
        lane->operations = 0;
        lane->start_ns = lane->end_ns = lane->busy_ns = 0;
    }
}

// Computes busy times. Lanes without operations (threads) come first in the
// list of lanes and have no result.
static bool ts__figures_busy(ts_replay *r, const uint32_t *index, size_t count)
{
    const size_t own = r->lane_results.count, all = r->device_results.count;
    ts__rvec until = { 0 };
    if (!ts__rvec_reserve(&r->allocator, &until, sizeof(int64_t), own + all))
        return false;
    int64_t *const busy_until = (int64_t *)until.data;
    for (size_t i = 0; i < own + all; i++)
        busy_until[i] = TS__NO_TIME;
    ts__lanes_reset(&r->lane_results);
    ts__lanes_reset(&r->device_results);
    ts_replay_stats *const s = &r->stats;
    const size_t threads = r->lanes.count - own;
    bool any = false;
    s->start_ns = s->end_ns = s->busy_from_ns = s->busy_to_ns = 0;
    for (size_t i = 0; i < count; i++) {
        const uint8_t kind = ts__replay_op(r, index[i])->kind;
        const uint32_t lane = ts__replay_lanes(r)[index[i]];
        const uint32_t device = ts__replay_lane_at(r, lane)->device;
        const int64_t start = ((const int64_t *)r->start.data)[index[i]];
        const int64_t end = ts__op_end(r, index[i]);
        const bool works = ts__kind_works(kind);
        ts__lane_add((ts_lane *)r->lane_results.data + (lane - threads),
                     &busy_until[lane - threads], start, end,
                     works || kind == TS_EVENT_HOST_FUNCTION);
        ts__lane_add((ts_lane *)r->device_results.data + device,
                     &busy_until[own + device], start, end, works);
        if (i == 0) s->start_ns = start;
        if (i == 0 || end > s->end_ns) s->end_ns = end;
        if (works && !any) s->busy_from_ns = start;
        if (works && (!any || end > s->busy_to_ns)) s->busy_to_ns = end;
        any |= works;
    }
    ts__rvec_close(&r->allocator, &until);
    return true;
}

// Returns the nearest-rank percentile of `count` sorted values.
static int64_t ts__percentile(const uint64_t *sorted, size_t count,
                              size_t percent)
{
    return (int64_t)sorted[(count * percent + 99) / 100 - 1];
}

static bool ts__figures_errors(ts_replay *r, ts__rsort *sort, size_t count)
{
    ts_replay_stats *const s = &r->stats;
    const int64_t *const start = (const int64_t *)r->start.data;
    s->start_error_p50_ns = s->start_error_p95_ns = s->start_error_max_ns = 0;
    s->different = s->skipped[TS_SKIP_UNMET];
    bool moved = false;
    for (size_t i = 0; i < count; i++) {
        const uint32_t op = ts__rsort_index(sort)[i];
        moved |= start[op] != ts__replay_time(r)[op];
        s->different += start[op] != ts__replay_time(r)[op] ||
                        ts__op_end(r, op) != ts__replay_end(r, op);
    }
    if (!moved) return true;
    if (!ts__rsort_open(&r->allocator, sort, r->op_count)) return false;
    for (size_t i = 0; i < count; i++) {
        const uint32_t op = ts__rsort_index(sort)[i];
        const int64_t error = start[op] - ts__replay_time(r)[op];
        ts__rsort_keys(sort)[i] = (uint64_t)(error < 0 ? -error : error);
    }
    ts__rsort_run(sort, count);
    const uint64_t *const sorted = ts__rsort_keys(sort);
    s->start_error_p50_ns = ts__percentile(sorted, count, 50);
    s->start_error_p95_ns = ts__percentile(sorted, count, 95);
    s->start_error_max_ns = ts__percentile(sorted, count, 100);
    return true;
}

static bool ts__figures(ts_replay *r)
{
    ts__rsort sort = { 0 };
    size_t count = 0;
    bool ok = ts__figures_order(r, &sort, &count);
    if (ok)
        ok = ts__figures_digest(r, ts__rsort_index(&sort), count) &&
             ts__figures_busy(r, ts__rsort_index(&sort), count);
    ok = ok && ts__figures_errors(r, &sort, count);
    r->stats.operations = count;
    ts__rsort_close(&r->allocator, &sort);
    return ok;
}

static bool ts__rrun_open(ts__rrun *run)
{
    ts_replay *const r = run->replay;
    const ts_allocator *const a = &r->allocator;
    const size_t count = r->node_count;
    ts__rvec missing = { 0 };
    if (!ts__rvec_reserve(a, &r->start, sizeof(int64_t), count) ||
        !ts__rvec_reserve(a, &r->gap, sizeof(int64_t), count) ||
        !ts__rvec_fill(a, &missing, sizeof(uint32_t), count, 0))
        return false;
    r->start.count = r->gap.count = count;
    run->start = (int64_t *)r->start.data;
    run->gap = (int64_t *)r->gap.data;
    run->missing = (uint32_t *)missing.data;
    for (size_t i = 0; i < count; i++)
        run->start[i] = run->gap[i] = TS__NO_TIME;
    r->cycle.count = 0;
    return true;
}

static void ts__rrun_close(ts__rrun *run)
{
    const ts_allocator *const a = &run->replay->allocator;
    const size_t count = run->replay->node_count ? run->replay->node_count : 1;
    if (run->missing)
        a->resize(a->user, run->missing, count * sizeof *run->missing, 0);
    run->missing = NULL;
}

// Sets the duration of each rendezvous to that of the member that determines
// its cost.
static void ts__rrun_rendezvous(const ts_replay *r)
{
    int64_t *const changed = (int64_t *)r->changed.data;
    for (size_t i = 0; i < r->joined.count; i++) {
        const uint32_t join = r->join_first + (uint32_t)i;
        changed[join] = changed[ts__replay_cost_of(r, join)];
    }
}

// Stores the durations of a run in ts_replay.changed, which stays empty if all
// are as recorded.
static bool ts__rrun_change(ts_replay *r, const int64_t *durations_ns)
{
    r->changed.count = 0;
    if (!durations_ns) return true;
    const size_t size = sizeof *durations_ns, count = r->node_count;
    if (!ts__rvec_reserve(&r->allocator, &r->changed, size, count))
        return false;
    int64_t *const changed = (int64_t *)r->changed.data;
    memcpy(changed, ts__replay_duration(r), count * size);
    for (size_t i = 0; i < r->op_count; i++)
        changed[i] = durations_ns[i] < TS__REPLAY_SUM_MAX ? durations_ns[i]
                                                          : TS__REPLAY_SUM_MAX;
    r->changed.count = count;
    ts__rrun_rendezvous(r);
    return true;
}

// Completes a run: determines which operations did not run and why, and
// computes the figures.
static bool ts__rrun_finish(ts__rrun *run)
{
    ts_replay *const r = run->replay;
    uint64_t selected = 0;
    for (uint32_t i = 0; i < r->node_count; i++)
        selected += ts__replay_selected(r, i);
    ts__rrun_stuck(run);
    if (run->ran < selected) {
        if (!ts__rrun_cycle(run)) return false;
        ts__cycle_reverse(&r->cycle);
    }
    return ts__figures(r);
}

static ts__rrun ts__rrun_of(ts_replay *r)
{
    const ts__rrun run = {
        .replay = r,
        .offsets = (const uint32_t *)r->offsets.data,
        .targets = (const uint32_t *)r->targets.data,
        .kinds = (const uint8_t *)r->kinds.data,
        .duration = r->changed.count ? (const int64_t *)r->changed.data
                                     : ts__replay_duration(r),
    };
    return run;
}

static bool ts__rrun_exact(ts_replay *r, const int64_t *durations_ns)
{
    if (!ts__rrun_change(r, durations_ns)) return false;
    ts__rrun run = ts__rrun_of(r);
    bool ok = ts__rrun_open(&run);
    if (ok) {
        ts__rrun_edges(&run);
        ts__rrun_gaps(&run);
        ok = ts__rrun_loop(&run) && ts__rrun_finish(&run);
    }
    ts__rrun_close(&run);
    return ok;
}

static ts_result ts__model_run(ts_replay *r, const ts_replay_run_desc *desc);
// Drops all that depends on the last run.
static void ts__model_forget(ts_replay *r);
TS_API ts_result ts_replay_run(ts_replay *replay,
                               const ts_replay_run_desc *desc)
{
    static const ts_replay_run_desc none = { 0 };
    if (!replay) return TS_ERR_USAGE;
    if (!desc) desc = &none;
    const int64_t *const durations_ns = desc->durations_ns;
    bool any = false;
    for (uint32_t i = 0; i < replay->op_count; i++) {
        any |= ts__replay_selected(replay, i);
        if (durations_ns && durations_ns[i] < 0) return TS_ERR_USAGE;
    }
    if (!any) return TS_ERR_NOT_FOUND;
    ts__model_forget(replay);
    replay->stats.unexplained = 0;
    replay->stats.unexplained_ns = 0;
    if (desc->mode == TS_REPLAY_MODEL) return ts__model_run(replay, desc);
    if (desc->mode != TS_REPLAY_EXACT || desc->change_count ||
        desc->copy_engines || desc->share_compute)
        return TS_ERR_USAGE;
    return ts__rrun_exact(replay, durations_ns) ? TS_OK : TS_ERR_MEMORY;
}

/* ---- 11.49 Model: access to operations, edges, figures ------------------ */
// src/replay/model/access.h

TS_API const char *ts_edge_name(uint32_t kind)
{
    switch (kind) {
#define TS__X(name, value, text) \
    case value: return text;
        TS_EDGES(TS__X)
#undef TS__X
    default: return "unknown";
    }
}

TS_API const char *ts_skip_name(uint32_t skip)
{
    switch (skip) {
#define TS__X(name, value, text) \
    case value: return text;
        TS_SKIPS(TS__X)
#undef TS__X
    default: return "unknown";
    }
}

TS_API const ts_replay_stats *ts_replay_result(const ts_replay *replay)
{
    return &replay->stats;
}

TS_API bool ts_replay_host_unknown(const ts_replay_stats *stats)
{
    return stats->unknown_host_ns >
           (stats->recorded_end_ns - stats->recorded_start_ns) / 50;
}

TS_API bool ts_replay_file_at(const ts_replay *replay, size_t index,
                              ts_replay_file *file)
{
    if (index >= replay->files.count) return false;
    *file = *ts__replay_file(replay, (uint32_t)index);
    return true;
}

TS_API ts_reader *ts_replay_reader(const ts_replay *replay, uint32_t file)
{
    return file < replay->files.count ? ts__replay_file(replay, file)->reader
                                      : NULL;
}

TS_API bool ts_replay_part_at(const ts_replay *replay, size_t index,
                              ts_replay_part *part)
{
    if (index >= replay->parts.count) return false;
    const ts__trace_part *const origin =
        ts__replay_part(replay, (uint32_t)index);
    part->file = origin->file;
    part->process = origin->process;
    return true;
}

TS_API bool ts_replay_operation(const ts_replay *replay, size_t index,
                                ts_operation *operation)
{
    if (index >= replay->op_count) return false;
    const uint32_t i = (uint32_t)index;
    const ts__op *const op = ts__replay_op(replay, i);
    const ts__replay_lane *const lane =
        ts__replay_lane_at(replay, ts__replay_lanes(replay)[i]);
    ts_operation o = { 0 };
    o.kind = (ts_event_kind)op->kind;
    o.track = lane->track;
    o.device = lane->device_track;
    o.thread = op->thread;
    o.call = op->call;
    o.label = op->label;
    o.correlation = op->correlation;
    o.recorded_start_ns = ts__replay_time(replay)[i];
    o.recorded_end_ns = ts__replay_end(replay, i);
    o.skip = (ts_skip)op->skip;
    o.row = ((const uint32_t *)replay->places.data)[i];
    o.file = lane->file;
    o.part = lane->part;
    if (replay->start.count && o.skip == TS_SKIP_NOT) {
        o.start_ns = ((const int64_t *)replay->start.data)[i];
        o.end_ns = ts__op_end(replay, i);
    }
    *operation = o;
    return true;
}

TS_API ts_text ts_operation_label(const ts_reader *reader,
                                  const ts_operation *operation)
{
    ts_text text = { NULL, 0 };
    if (operation->kind == TS_EVENT_KERNEL) {
        const ts_launch_entry *const launch =
            ts_reader_launch(reader, operation->label);
        if (launch) text = ts_reader_name(reader, launch->name);
    } else if (operation->kind == TS_EVENT_COLLECTIVE ||
               operation->kind == TS_EVENT_HOST_FUNCTION) {
        text = ts_reader_name(reader, operation->label);
    }
    if (!text.size) {
        text.text = ts_event_name(operation->kind);
        text.size = strlen(text.text);
    }
    return text;
}

TS_API size_t ts_replay_lane_count(const ts_replay *replay)
{
    return replay->lane_results.count;
}

TS_API bool ts_replay_lane(const ts_replay *replay, size_t index, ts_lane *lane)
{
    if (index >= replay->lane_results.count) return false;
    *lane = ((const ts_lane *)replay->lane_results.data)[index];
    return true;
}

TS_API size_t ts_replay_device_count(const ts_replay *replay)
{
    return replay->device_results.count;
}

TS_API bool ts_replay_device(const ts_replay *replay, size_t index,
                             ts_lane *device)
{
    if (index >= replay->device_results.count) return false;
    *device = ((const ts_lane *)replay->device_results.data)[index];
    return true;
}

TS_API ts_graph ts_replay_graph(const ts_replay *replay)
{
    ts_graph graph = { 0 };
    graph.node_count = replay->node_count;
    graph.operation_count = replay->op_count;
    graph.call_count = replay->call_count;
    graph.edge_count = (uint32_t)replay->targets.count;
    graph.offsets = (const uint32_t *)replay->offsets.data;
    graph.targets = (const uint32_t *)replay->targets.data;
    graph.kinds = (const uint8_t *)replay->kinds.data;
    return graph;
}

// Fills in when an operation or a call ran, if it did.
static void ts__node_times(const ts_replay *r, uint32_t i, ts_node *n)
{
    const int64_t *const start = (const int64_t *)r->start.data;
    const int64_t *const changed = (const int64_t *)r->changed.data;
    if (!r->start.count || !n->selected || start[i] == TS__NO_TIME) return;
    const uint32_t end = ts__replay_end_node(r, i);
    if (end != i && start[end] == TS__NO_TIME) return;
    n->start_ns = start[i];
    const int64_t duration =
        r->changed.count ? changed[i] : ts__replay_duration(r)[i];
    if (i < r->op_count)
        n->end_ns = ts__op_end(r, i);
    else if (end != i)
        n->end_ns = start[end];
    else
        n->end_ns = ts__replay_add(start[i], duration);
}

TS_API bool ts_replay_node(const ts_replay *replay, size_t index, ts_node *node)
{
    if (index >= replay->node_count) return false;
    const uint32_t i = (uint32_t)index;
    const uint32_t calls_end = replay->op_count + replay->call_count;
    ts_node n = { TS_NODE_OPERATION, i, 0, 0, 0, 0, 0, false, 0, 0, 0 };
    n.file = ts__replay_file_of(replay, i);
    n.track = ts__replay_lane_at(replay, ts__replay_lanes(replay)[i])->track;
    n.recorded_ns = ts__replay_time(replay)[i];
    n.duration_ns = ts__replay_duration(replay)[i];
    if (replay->gap.count) n.gap_ns = ((const int64_t *)replay->gap.data)[i];
    n.selected = ts__replay_selected(replay, i);
    if (i < calls_end) ts__node_times(replay, i, &n);
    if (i >= replay->join_first) {
        n.type = TS_NODE_JOIN;
        n.track = 0;
    } else if (i >= calls_end) {
        n.type = TS_NODE_END;
        n.owner = ((const uint32_t *)replay->waiters.data)[i - calls_end];
    } else if (i >= replay->op_count) {
        n.type = TS_NODE_CALL;
        n.name =
            ((const uint32_t *)replay->call_names.data)[i - replay->op_count];
    }
    *node = n;
    return true;
}

TS_API size_t ts_replay_cycle(const ts_replay *replay, const uint32_t **nodes)
{
    *nodes = (const uint32_t *)replay->cycle.data;
    return replay->cycle.count;
}

/* ---- 11.50 Model: classes of delays ------------------------------------- */
// src/replay/model/classes.h

// A class with fewer samples uses the delay of its coarser class.
#define TS__CLASS_SAMPLES 8
// Quartiles are computed from this many samples of a class, evenly spread.
#define TS__CLASS_SORTED 4096
// No device or driver delays work that long: it waited for something else.
#define TS__CLASS_MOST_NS 1000000
// Deviations up to this are no outliers: clock resolution, noise of one access.
#define TS__CLASS_NOISE_NS 1000

typedef struct ts__class {
    ts_delay pub;
    uint32_t parent; // coarser class; TS_NODE_NONE: none
    int64_t guard;   // delay assumed when searching the edge that holds a node
    int64_t least;   // shortest delay of all edges of the class
    int64_t sum;     // of the samples within [low_ns, high_ns]
    uint64_t kept;   // number of these samples
    uint64_t seen;   // samples seen so far while picking
    int64_t spread;  // width of the interval with most samples
    uint32_t of;     // class whose delay it uses: itself or a coarser one
    bool from_end;   // launches: the delay counts from the end of the call
    int64_t spread_from_start;
} ts__class;

typedef struct ts__model {
    ts__rvec classes; // ts__class
    // uint32_t of each edge; TS_NODE_NONE: `fixed` is the delay.
    ts__rvec edge_class;
    ts__rvec fixed; // int64_t of each edge: delay in addition to its class
    ts__rvec hold;  // ts__hold of each node
    // int64_t of each node: time that its class does not explain.
    ts__rvec residual;
    ts__rvec is_held; // bool of each node: an edge leads to it
    ts__rmap known;   // key of a class to its index
    uint64_t unexplained;
    int64_t unexplained_ns;
    bool calibrated;
    // Results of the last run.
    bool ran;
    ts__rvec offsets, targets, kinds, delay; // a changed graph
    ts__rvec gap;      // int64_t of each node: residuals that still apply
    ts__rvec held;     // node that freed the resource a node waited for
    ts__rvec parts;    // ts_path_part
    ts__rvec extra;    // int64_t of each operation: time that changes inserted
    ts__rvec inserted; // ts_inserted
    ts__rvec steps;    // ts_step
    ts__rvec step_zones;
    ts_path path;
    bool has_path, has_steps, looked_for_steps;
} ts__model;

// The edge that holds a node back: the one with the largest source time plus
// delay.
typedef struct ts__hold {
    int64_t at;
    uint32_t edge, class_of;
} ts__hold;

static ts__class *ts__model_class(const ts__model *m, size_t i)
{
    return (ts__class *)m->classes.data + i;
}
static uint32_t *ts__model_classes(const ts__model *m)
{
    return (uint32_t *)m->edge_class.data;
}
static int64_t *ts__model_fixed(const ts__model *m)
{
    return (int64_t *)m->fixed.data;
}
static ts__hold *ts__model_holds(const ts__model *m)
{
    return (ts__hold *)m->hold.data;
}

// Whether any edge leads to a node. If not, its residual is its start time.
static bool ts__model_is_held(const ts__model *m, uint32_t node)
{
    return ((const bool *)m->is_held.data)[node];
}

// Roles of nodes other than operations in a class. The end of an operation has
// the kind of its owner plus TS__AT_END.
enum { TS__AT_CALL = 1, TS__AT_CALL_END = 2, TS__AT_JOIN = 3, TS__AT_END = 32 };

static uint32_t ts__node_role(const ts_replay *r, uint32_t node)
{
    if (node < r->op_count) return ts__replay_op(r, node)->kind;
    if (node < r->op_count + r->call_count) return TS__AT_CALL;
    if (node >= r->join_first) return TS__AT_JOIN;
    const uint32_t owner = ts__node_owner(r, node);
    if (owner >= r->op_count) return TS__AT_CALL_END;
    return ts__replay_op(r, owner)->kind | (uint32_t)TS__AT_END;
}

// Returns the name of the API function of a call or its end; 0: none.
static uint32_t ts__node_name(const ts_replay *r, uint32_t node)
{
    const uint32_t owner = ts__node_owner(r, node);
    if (owner < r->op_count || owner >= r->op_count + r->call_count) return 0;
    return ((const uint32_t *)r->call_names.data)[owner - r->op_count];
}

// All that distinguishes classes. Hashed as raw bytes.
typedef struct ts__class_key {
    // part: direction of a copy, or hash of a graph.
    uint32_t kind, from, to, part;
    uint32_t device, name, file, level; // file: index of a ts_replay_part
} ts__class_key;

static ts__class_key ts__class_of_edge(const ts_replay *r, uint32_t from,
                                       uint32_t to, uint8_t kind)
{
    ts__class_key key = { 0 };
    key.kind = TS_EDGE_KIND(kind);
    key.from = ts__node_role(r, from);
    key.to = ts__node_role(r, to);
    if (to < r->op_count && key.to == TS_EVENT_MEMCPY)
        key.part = ts__replay_op(r, to)->label;
    const ts__replay_lane *const lane =
        ts__replay_lane_at(r, ts__replay_lanes(r)[to]);
    key.device = lane->device;
    key.file = lane->part;
    key.name = ts__node_name(r, to);
    if (!key.name && key.kind == TS_EDGE_LAUNCH)
        key.name = ts__node_name(r, from);
    return key;
}

// Maps a role to the role that stands for all whose delays have the same
// causes.
static uint32_t ts__class_family(uint32_t role)
{
    switch (role) {
    case TS_EVENT_EVENT_RECORD:
    case TS_EVENT_EVENT_WAIT: return TS_EVENT_EVENT_WAIT;
    case TS_EVENT_KERNEL:
    case TS_EVENT_MEMCPY:
    case TS_EVENT_MEMSET:
    case TS_EVENT_COLLECTIVE:
    case TS_EVENT_HOST_FUNCTION: return TS_EVENT_KERNEL;
    default: return role & TS__AT_END ? TS__AT_END : TS__AT_CALL;
    }
}

// Returns the key of the next coarser class, with fewer distinctions.
static ts__class_key ts__class_coarser(const ts__class_key *key)
{
    ts__class_key up = *key;
    up.level = key->level + 1;
    if (up.level == 1) up.from = up.name = up.part = 0;
    if (up.level == 2) {
        up.device = up.file = 0;
        up.to = ts__class_family(up.to);
    }
    return up;
}

// Returns the index of a class. A new one is added with its coarser classes.
// TS_NODE_NONE: out of memory.
static uint32_t ts__class_find(ts_replay *r, ts__model *m,
                               const ts__class_key *key)
{
    const uint64_t hash = XXH3_64bits(key, sizeof *key);
    const uint32_t at = ts__rmap_get(&m->known, hash);
    if (at != TS_NODE_NONE) return at;
    uint32_t parent = TS_NODE_NONE;
    if (key->level < 2) {
        const ts__class_key up = ts__class_coarser(key);
        parent = ts__class_find(r, m, &up);
        if (parent == TS_NODE_NONE) return TS_NODE_NONE;
    }
    ts__class *const c =
        (ts__class *)ts__rvec_push(&r->allocator, &m->classes, sizeof *c);
    if (!c) return TS_NODE_NONE;
    memset(c, 0, sizeof *c);
    c->parent = parent;
    c->least = INT64_MAX;
    c->pub.kind = key->kind;
    c->pub.from = (key->from & 31) >= TS_EVENT_GPU_FIRST ? key->from & 31 : 0;
    c->pub.to = (key->to & 31) >= TS_EVENT_GPU_FIRST ? key->to & 31 : 0;
    if (key->level < 2 && key->device < r->device_results.count)
        c->pub.device =
            ((const ts_lane *)r->device_results.data)[key->device].track;
    c->pub.name = key->name;
    c->pub.file = ts__replay_part(r, key->file)->file;
    const uint32_t index = (uint32_t)(m->classes.count - 1);
    if (!ts__rmap_put(&r->allocator, &m->known, hash, index))
        return TS_NODE_NONE;
    return index;
}

/* ---- 11.51 Model: calibration ------------------------------------------- */
// src/replay/model/calibration.h

typedef struct ts__calibration {
    ts_replay *replay;
    ts__model *model;
    ts__rvec latest; // int64_t of each node: its latest source among some edges
    // uint64_t of each call: identifies the graph that it launched.
    ts__rvec graphs;
    ts__rsort sort;
    bool failed;
} ts__calibration;

static bool ts__edge_is_host(uint8_t kind)
{
    const uint8_t k = TS_EDGE_KIND(kind);
    return k == TS_EDGE_HOST_ORDER || k == TS_EDGE_USER;
}

// Whether an edge leads to work that overlapped its predecessor on the stream.
// Such work keeps its offset from the start of the predecessor.
static bool ts__edge_overlaps(const ts_replay *r, uint32_t from, uint32_t to,
                              uint8_t kind)
{
    return kind & TS_EDGE_FROM_START &&
           TS_EDGE_KIND(kind) == TS_EDGE_STREAM_ORDER && to < r->op_count &&
           ts__kind_works(ts__replay_op(r, to)->kind) &&
           ts__kind_works(ts__replay_op(r, from)->kind);
}

typedef enum ts__edge_set {
    TS__EDGES_HOST,  // program order on the host
    TS__EDGES_OTHERS // all others except a node's edge to its own end
} ts__edge_set;

// Finds for each node the latest source among the edges of a set.
static void ts__calibrate_latest(ts__calibration *c, ts__edge_set set)
{
    const ts_replay *const r = c->replay;
    int64_t *const latest = (int64_t *)c->latest.data;
    for (uint32_t i = 0; i < r->node_count; i++)
        latest[i] = TS__NO_TIME;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const uint32_t end = ts__replay_offsets(r)[i + 1];
        for (uint32_t e = ts__replay_offsets(r)[i]; e < end; e++) {
            const uint8_t kind = ts__replay_kind(r, e);
            if (set == TS__EDGES_HOST ? !ts__edge_is_host(kind)
                                      : TS_EDGE_KIND(kind) == TS_EDGE_SELF)
                continue;
            const int64_t at = ts__rrun_source(r, i, kind);
            int64_t *const to = &latest[ts__replay_target(r, e)];
            if (at > *to) *to = at;
        }
    }
}

/*
    Whether an edge has a fixed delay rather than the delay of a class. Fixed
    delays are: time of the host (after the later of two calls; the edge from
    the earlier one only orders), the offset of an overlap, and the duration of
    calls that nothing blocked.
*/
static bool ts__calibrate_is_fixed(const ts__calibration *c, uint32_t from,
                                   uint32_t to, uint8_t kind, ts__edge_set set,
                                   int64_t *delay)
{
    const ts_replay *const r = c->replay;
    const int64_t at = ts__rrun_source(r, from, kind);
    const int64_t recorded = ts__replay_time(r)[to] - at;
    const int64_t latest = ((const int64_t *)c->latest.data)[to];
    *delay = 0;
    if (ts__edge_is_host(kind)) {
        if (set == TS__EDGES_HOST && at == latest) *delay = recorded;
        return true;
    }
    if (to >= r->join_first) return true;
    if (TS_EDGE_KIND(kind) == TS_EDGE_QUEUE &&
        ts__node_role(r, to) != TS__AT_CALL_END)
        return true; // the queue had room: the edge only orders
    if (TS_EDGE_KIND(kind) == TS_EDGE_SELF) {
        const bool blocked = latest > at;
        if (!blocked) *delay = recorded;
        return !blocked;
    }
    if (kind & TS_EDGE_FROM_START &&
        TS_EDGE_KIND(kind) == TS_EDGE_STREAM_ORDER) {
        if (ts__edge_overlaps(r, from, to, kind)) *delay = recorded;
        return true;
    }
    return false;
}

/*
    Identifies graphs by a sum over the nodes of a launch, since launches of one
    graph have the same nodes whatever the order in which these ran. Gaps
    between nodes are specific to a graph: a single mean over several graphs
    would give the right sum, but wrong times for as long as one graph is
    launched repeatedly.
*/
static void ts__calibrate_graphs(ts__calibration *c)
{
    const ts_replay *const r = c->replay;
    uint64_t *const graphs = (uint64_t *)c->graphs.data;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        const uint32_t node[2] = { op->kind, op->label };
        if (op->call != TS_NODE_NONE && ts__kind_works(op->kind))
            graphs[op->call - r->op_count] += XXH3_64bits(node, sizeof node);
    }
}

static uint32_t ts__calibrate_graph_of(const ts__calibration *c, uint32_t node)
{
    const ts_replay *const r = c->replay;
    if (node >= r->op_count) return 0;
    const uint32_t call = ts__replay_op(r, node)->call;
    if (call == TS_NODE_NONE) return 0;
    const uint64_t graph = ((uint64_t *)c->graphs.data)[call - r->op_count];
    return (uint32_t)(graph ^ graph >> 32);
}

static void ts__calibrate_edge(ts__calibration *c, uint32_t from, uint32_t e,
                               ts__edge_set set)
{
    const ts_replay *const r = c->replay;
    const uint8_t kind = ts__replay_kind(r, e);
    const uint32_t to = ts__replay_target(r, e);
    if (ts__edge_is_host(kind) != (set == TS__EDGES_HOST)) return;
    int64_t *const fixed = &ts__model_fixed(c->model)[e];
    uint32_t *const index = &ts__model_classes(c->model)[e];
    *index = TS_NODE_NONE;
    if (ts__calibrate_is_fixed(c, from, to, kind, set, fixed)) return;
    ts__class_key key = ts__class_of_edge(r, from, to, kind);
    if (key.kind == TS_EDGE_GRAPH) key.part = ts__calibrate_graph_of(c, to);
    *index = ts__class_find(c->replay, c->model, &key);
    if (*index == TS_NODE_NONE) c->failed = true;
}

// Gives every edge its class or its fixed delay.
static void ts__calibrate_edges(ts__calibration *c)
{
    const ts_replay *const r = c->replay;
    for (int set = TS__EDGES_HOST; set <= TS__EDGES_OTHERS; set++) {
        ts__calibrate_latest(c, (ts__edge_set)set);
        for (uint32_t i = 0; i < r->node_count && !c->failed; i++)
            for (uint32_t e = ts__replay_offsets(r)[i];
                 e < ts__replay_offsets(r)[i + 1]; e++)
                ts__calibrate_edge(c, i, e, (ts__edge_set)set);
    }
}

// Returns the recorded delay of an edge beyond its fixed part.
static int64_t ts__calibrate_sample(const ts__calibration *c, uint32_t from,
                                    uint32_t e)
{
    const ts_replay *const r = c->replay;
    return ts__replay_time(r)[ts__replay_target(r, e)] -
           ts__rrun_source(r, from, ts__replay_kind(r, e)) -
           ts__model_fixed(c->model)[e];
}

// Finds the edge that holds each node back, with the guards of the classes as
// delays. On a tie the launch edge is chosen, since the delay of the stream
// cannot be measured then.
static void ts__calibrate_holds(ts__calibration *c)
{
    const ts_replay *const r = c->replay;
    ts__hold *const holds = ts__model_holds(c->model);
    for (uint32_t i = 0; i < r->node_count; i++) {
        holds[i].at = TS__NO_TIME;
        holds[i].edge = TS_NODE_NONE;
    }
    for (uint32_t i = 0; i < r->node_count; i++) {
        const uint32_t end = ts__replay_offsets(r)[i + 1];
        for (uint32_t e = ts__replay_offsets(r)[i]; e < end; e++) {
            const uint8_t kind = ts__replay_kind(r, e);
            const uint32_t class_of = ts__model_classes(c->model)[e];
            int64_t at =
                ts__rrun_source(r, i, kind) + ts__model_fixed(c->model)[e];
            if (class_of != TS_NODE_NONE)
                at += ts__model_class(c->model, class_of)->guard;
            ts__hold *const hold = &holds[ts__replay_target(r, e)];
            if (at < hold->at || (at == hold->at && hold->at != TS__NO_TIME &&
                                  TS_EDGE_KIND(kind) != TS_EDGE_LAUNCH))
                continue;
            hold->at = at;
            hold->edge = e;
            hold->class_of = class_of;
        }
    }
}

typedef void (*ts__sample_call)(ts__calibration *c, uint32_t class_of,
                                int64_t sample);

typedef enum ts__sampled {
    TS__SAMPLE_ALL,
    TS__SAMPLE_LAUNCHES,
    TS__SAMPLE_OTHERS
} ts__sampled;

static bool ts__sample_is(ts__sampled which, uint32_t kind)
{
    return which == TS__SAMPLE_ALL ||
           (kind == TS_EDGE_LAUNCH) == (which == TS__SAMPLE_LAUNCHES);
}

// Calls `call` for the holding edge of each node, once for its class and once
// for each coarser class.
static void ts__calibrate_each(ts__calibration *c, ts__sampled which,
                               ts__sample_call call)
{
    const ts_replay *const r = c->replay;
    const int64_t *const time = ts__replay_time(r);
    for (uint32_t i = 0; i < r->node_count; i++) {
        const ts__hold *const hold = &ts__model_holds(c->model)[i];
        if (hold->edge == TS_NODE_NONE || hold->class_of == TS_NODE_NONE)
            continue;
        uint32_t k = hold->class_of;
        const ts__class *const class_of = ts__model_class(c->model, k);
        if (!ts__sample_is(which, class_of->pub.kind)) continue;
        const int64_t sample = time[i] - (hold->at - class_of->guard);
        if (sample > TS__CLASS_MOST_NS || sample < -TS__CLASS_MOST_NS) continue;
        for (; k != TS_NODE_NONE; k = ts__model_class(c->model, k)->parent)
            call(c, k, sample);
    }
}

static void ts__sample_count(ts__calibration *c, uint32_t class_of,
                             int64_t sample)
{
    (void)sample;
    ts__model_class(c->model, class_of)->pub.samples++;
}

// Adds every n-th sample of a class to the sorter; the class is the high part
// of the key.
static void ts__sample_pick(ts__calibration *c, uint32_t class_of,
                            int64_t sample)
{
    ts__class *const k = ts__model_class(c->model, class_of);
    const uint64_t stride = k->pub.samples / TS__CLASS_SORTED + 1;
    if (k->seen++ % stride) return;
    const int64_t edge = (INT64_C(1) << 39) - 1;
    if (sample > edge) sample = edge;
    if (sample < -edge) sample = -edge;
    ts__rvec *const keys = &c->sort.keys[0];
    uint64_t *const to =
        (uint64_t *)ts__rvec_push(&c->replay->allocator, keys, sizeof *to);
    if (!to)
        c->failed = true;
    else
        *to = (uint64_t)class_of << 40 | (uint64_t)(sample + edge + 1);
}

static void ts__sample_sum(ts__calibration *c, uint32_t class_of,
                           int64_t sample)
{
    ts__class *const k = ts__model_class(c->model, class_of);
    if (sample < k->pub.low_ns || sample > k->pub.high_ns) return;
    k->sum = ts__replay_add(k->sum, sample);
    k->kept++;
}

/* ---- 11.52 Model: fitting delays ---------------------------------------- */
// src/replay/model/fit.h

// Returns how far apart delays of one class may be. A wider spread is not a
// constant delay but an unrecorded influence.
static int64_t ts__edge_max_spread(uint32_t kind)
{
    switch (kind) {
    case TS_EDGE_STREAM_ORDER:
    case TS_EDGE_EVENT:
    case TS_EDGE_GRAPH:
    case TS_EDGE_LEGACY_DEFAULT: return 5000;
    default: return 20000;
    }
}

// Returns the first index of the shortest interval that holds `need` of the
// samples.
static size_t ts__class_shortest(const uint64_t *keys, size_t count,
                                 size_t need)
{
    size_t best = 0;
    for (size_t i = 1; i + need <= count; i++)
        if (keys[i + need - 1] - keys[i] < keys[best + need - 1] - keys[best])
            best = i;
    return best;
}

// Returns the first index of the interval of `wide` ns that holds the most
// samples; *need receives how many.
static size_t ts__class_densest(const uint64_t *keys, size_t count,
                                int64_t wide, size_t *need)
{
    size_t best = 0;
    *need = 0;
    for (size_t first = 0, end = 0; first < count; first++) {
        while (end < count && keys[end] - keys[first] <= (uint64_t)wide)
            end++;
        if (end - first <= *need) continue;
        *need = end - first;
        best = first;
    }
    return best;
}

/*
    Finds the range in which samples of a class are not outliers. It is based on
    the shortest interval with half of them or, if that is wider than delays of
    one cause can be, on the densest interval of the maximum width.
*/
static void ts__class_range(ts__class *k, const uint64_t *keys, size_t count)
{
    const int64_t zero = INT64_C(1) << 39;
    const uint64_t mask = (UINT64_C(1) << 40) - 1;
    size_t need = count / 2 + 1;
    size_t first = ts__class_shortest(keys, count, need);
    int64_t low = (int64_t)(keys[first] & mask) - zero;
    int64_t wide = ts__edge_max_spread(k->pub.kind);
    if (low > wide) wide = low;
    if ((int64_t)(keys[first + need - 1] - keys[first]) > wide)
        first = ts__class_densest(keys, count, wide, &need);
    low = (int64_t)(keys[first] & mask) - zero;
    const int64_t high = (int64_t)(keys[first + need - 1] & mask) - zero;
    k->spread = high - low;
    int64_t more = 3 * k->spread;
    if (more > wide) more = wide;
    k->pub.low_ns = low - more - TS__CLASS_NOISE_NS;
    k->pub.high_ns = high + more + TS__CLASS_NOISE_NS;
}

static void ts__calibrate_ranges(ts__calibration *c, size_t count)
{
    const uint64_t *const keys = ts__rsort_keys(&c->sort);
    for (size_t first = 0, end; first < count; first = end) {
        const uint64_t class_of = keys[first] >> 40;
        for (end = first; end < count && keys[end] >> 40 == class_of;)
            end++;
        ts__class_range(ts__model_class(c->model, (size_t)class_of),
                        keys + first, end - first);
    }
}

// Returns a typical delay of current devices, for kinds of edges without
// samples in the trace.
static int64_t ts__edge_assumed(uint32_t kind)
{
    switch (kind) {
    case TS_EDGE_LAUNCH: return 5000;
    case TS_EDGE_SYNC: return 5000;
    case TS_EDGE_SELF:
    case TS_EDGE_COLLECTIVE:
    case TS_EDGE_P2P: return 0;
    default: return 1000;
    }
}

static int64_t ts__mean(int64_t sum, int64_t count)
{
    const int64_t twice = 2 * sum + count; // rounds half up
    const int64_t q = twice / (2 * count);
    return twice % (2 * count) < 0 ? q - 1 : q;
}

// Sets the delay of each class. A coarser class precedes its finer classes.
static void ts__calibrate_delays(ts__calibration *c, ts__sampled which)
{
    ts__model *const m = c->model;
    for (uint32_t i = 0; i < m->classes.count; i++) {
        ts__class *const k = ts__model_class(m, i);
        const bool top = k->parent == TS_NODE_NONE;
        if (!ts__sample_is(which, k->pub.kind)) continue;
        k->pub.coarser = k->pub.assumed = false;
        k->of = i;
        if (k->kept && (top || k->kept >= TS__CLASS_SAMPLES)) {
            k->pub.delay_ns = ts__mean(k->sum, (int64_t)k->kept);
        } else if (top) {
            const int64_t assumed = ts__edge_assumed(k->pub.kind);
            k->pub.assumed = true;
            k->pub.delay_ns = k->least < assumed ? k->least : assumed;
            k->pub.low_ns = k->pub.delay_ns - TS__CLASS_NOISE_NS;
            k->pub.high_ns = k->pub.delay_ns + TS__CLASS_NOISE_NS;
        } else {
            const ts__class *const up = ts__model_class(m, k->parent);
            k->of = up->of;
            k->pub.coarser = true;
            k->pub.assumed = up->pub.assumed;
            k->pub.delay_ns = up->pub.delay_ns;
            k->pub.low_ns = up->pub.low_ns;
            k->pub.high_ns = up->pub.high_ns;
        }
    }
}

// Runs one round: collects the samples of the holding edges, finds their
// ranges, and averages.
static void ts__calibrate_fit(ts__calibration *c, ts__sampled which)
{
    ts__model *const m = c->model;
    for (uint32_t i = 0; i < m->classes.count; i++) {
        ts__class *const k = ts__model_class(m, i);
        if (!ts__sample_is(which, k->pub.kind)) continue;
        k->sum = 0;
        k->kept = k->seen = k->pub.samples = 0;
        k->pub.low_ns = k->pub.high_ns = k->spread = 0;
    }
    ts__calibrate_holds(c);
    ts__calibrate_each(c, which, ts__sample_count);
    c->sort.keys[0].count = 0;
    ts__calibrate_each(c, which, ts__sample_pick);
    const size_t count = c->sort.keys[0].count;
    if (c->failed || !ts__rsort_open(&c->replay->allocator, &c->sort, count)) {
        c->failed = true;
        return;
    }
    ts__rsort_run(&c->sort, count);
    ts__calibrate_ranges(c, count);
    ts__calibrate_each(c, which, ts__sample_sum);
    ts__calibrate_delays(c, which);
}

// Sets the guards to the delays found. With a factor other than 1, only
// launches get one: their delay times the factor.
static void ts__calibrate_guards(ts__calibration *c, uint32_t factor)
{
    for (uint32_t i = 0; i < c->model->classes.count; i++) {
        ts__class *const k = ts__model_class(c->model, i);
        if (factor == 1 || k->pub.kind == TS_EDGE_LAUNCH)
            k->guard = k->pub.delay_ns * (int64_t)factor;
    }
}

// Lets launch delays count from the end of their call or, if `decide` finds a
// smaller spread that way, from its start.
static void ts__calibrate_launches(ts__calibration *c, bool decide)
{
    const ts_replay *const r = c->replay;
    for (uint32_t i = r->op_count; i < r->op_count + r->call_count; i++) {
        if (ts__replay_flags(r)[i] & TS__NODE_WAITS) continue;
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++) {
            const uint32_t k = ts__model_classes(c->model)[e];
            if (k == TS_NODE_NONE ||
                TS_EDGE_KIND(ts__replay_kind(r, e)) != TS_EDGE_LAUNCH)
                continue;
            const ts__class *const class_of =
                ts__model_class(c->model, ts__model_class(c->model, k)->of);
            const bool from_end =
                !decide || class_of->spread < class_of->spread_from_start;
            ts__model_fixed(c->model)[e] =
                from_end ? ts__replay_duration(r)[i] : 0;
        }
    }
}

// Counts the edges of each class and finds their shortest delay.
static void ts__calibrate_least(ts__calibration *c)
{
    const ts_replay *const r = c->replay;
    for (uint32_t i = 0; i < r->node_count; i++) {
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++) {
            const int64_t sample = ts__calibrate_sample(c, i, e);
            uint32_t k = ts__model_classes(c->model)[e];
            for (; k != TS_NODE_NONE;
                 k = ts__model_class(c->model, k)->parent) {
                ts__class *const class_of = ts__model_class(c->model, k);
                class_of->pub.edges++;
                if (sample < class_of->least) class_of->least = sample;
            }
        }
    }
}

/*
    The record does not show which edge held a node back. The rounds start with
    cases beyond doubt: launches after all other predecessors had ended, then
    edges so late that no launch could have held the node back, even with twice
    the launch delay found. With the delays of these, three more rounds find the
    holding edges and delays again.
*/
static void ts__calibrate_rounds(ts__calibration *c)
{
    ts__model *const m = c->model;
    ts__calibrate_fit(c, TS__SAMPLE_LAUNCHES);
    for (uint32_t i = 0; i < m->classes.count; i++)
        ts__model_class(m, i)->spread_from_start =
            ts__model_class(m, i)->spread;
    if (c->failed) return;
    ts__calibrate_launches(c, false);
    ts__calibrate_fit(c, TS__SAMPLE_LAUNCHES);
    if (c->failed) return;
    ts__calibrate_launches(c, true);
    ts__calibrate_fit(c, TS__SAMPLE_LAUNCHES);
    ts__calibrate_least(c);
    ts__calibrate_guards(c, 2);
    if (!c->failed) ts__calibrate_fit(c, TS__SAMPLE_OTHERS);
    for (int round = 0; round < 3 && !c->failed; round++) {
        ts__calibrate_guards(c, 1);
        ts__calibrate_fit(c, TS__SAMPLE_ALL);
    }
    ts__calibrate_guards(c, 1);
}

// Computes for each node the time that the delay of its class does not explain.
static void ts__calibrate_residuals(ts__calibration *c)
{
    const ts_replay *const r = c->replay;
    ts__model *const m = c->model;
    int64_t *const residual = (int64_t *)m->residual.data;
    const int64_t *const time = ts__replay_time(r);
    ts__calibrate_holds(c);
    for (uint32_t i = 0; i < r->node_count; i++) {
        const ts__hold *const hold = &ts__model_holds(m)[i];
        residual[i] = time[i];
        if (hold->edge == TS_NODE_NONE) continue;
        ((bool *)m->is_held.data)[i] = true;
        const uint32_t k = ts__model_classes(m)[hold->edge];
        int64_t low = -TS__CLASS_NOISE_NS, high = TS__CLASS_NOISE_NS;
        residual[i] = time[i] - hold->at;
        if (k != TS_NODE_NONE) {
            const ts_delay *const d = &ts__model_class(m, k)->pub;
            low = d->low_ns - d->delay_ns;
            high = d->high_ns - d->delay_ns;
        }
        if (residual[i] >= low && residual[i] <= high) {
            residual[i] = 0;
            continue;
        }
        m->unexplained++;
        m->unexplained_ns = ts__replay_add(
            m->unexplained_ns, residual[i] < 0 ? -residual[i] : residual[i]);
    }
}

static bool ts__model_reserve(ts_replay *r, ts__model *m)
{
    const ts_allocator *const a = &r->allocator;
    const size_t edges = r->targets.count, nodes = r->node_count;
    return ts__rvec_fill(a, &m->edge_class, sizeof(uint32_t), edges, 0xFF) &&
           ts__rvec_fill(a, &m->fixed, sizeof(int64_t), edges, 0) &&
           ts__rvec_reserve(a, &m->hold, sizeof(ts__hold), nodes) &&
           ts__rvec_fill(a, &m->is_held, sizeof(bool), nodes, 0) &&
           ts__rvec_fill(a, &m->residual, sizeof(int64_t), nodes, 0);
}

static bool ts__model_calibrate(ts_replay *r, ts__model *m)
{
    ts__calibration c = { 0 };
    c.replay = r;
    c.model = m;
    c.failed = !ts__model_reserve(r, m) ||
               !ts__rvec_reserve(&r->allocator, &c.latest, sizeof(int64_t),
                                 r->node_count) ||
               !ts__rvec_fill(&r->allocator, &c.graphs, sizeof(uint64_t),
                              r->call_count, 0);
    if (!c.failed) ts__calibrate_graphs(&c);
    if (!c.failed) ts__calibrate_edges(&c);
    if (!c.failed) ts__calibrate_rounds(&c);
    if (!c.failed) ts__calibrate_residuals(&c);
    ts__rvec_close(&r->allocator, &c.latest);
    ts__rvec_close(&r->allocator, &c.graphs);
    ts__rsort_close(&r->allocator, &c.sort);
    ts__rvec_close(&r->allocator, &m->hold);
    m->calibrated = !c.failed;
    return m->calibrated;
}

/* ---- 11.53 Model: changes ----------------------------------------------- */
// src/replay/model/change.h

enum {
    TS__ALTER_REMOVED = 1,  // has no duration and no delays before it
    TS__ALTER_LAUNCHED = 2, // its launch has no latency
    TS__ALTER_FUSED = 4,    // needs no launch
    TS__ALTER_FREE = 8      // a blocking call that no longer waits
};

typedef struct ts__alter {
    ts_replay *replay;
    ts__model *model;
    const ts_replay_run_desc *desc;
    int64_t *duration; // of each node
    int64_t *delay;    // of each edge of the record
    uint8_t *flags;    // of each node
    ts_ratio *host;    // of each part: factor for time of the host
    uint32_t *lane_of; // of each operation; NULL: no operation moves
    ts__rvec flag_bytes, hosts, lanes_moved;
    ts__rvec edges; // ts__alter_edge: added by changes
    ts__rvec spans; // ts_host_span: sorted, disjoint
    ts__rvec cuts;  // uint16_t of each operation: bits of edge kinds
    ts__rsort sort;
} ts__alter;

typedef struct ts__alter_edge {
    uint32_t from, to;
    uint8_t kind;
    int64_t delay;
} ts__alter_edge;

static bool ts__change_selects(const ts_change *change, uint32_t op)
{
    return !change->operations || change->operations[op];
}

// Returns value * num / den rounded half up, also below zero, and clamped to
// the largest time.
static int64_t ts__ratio_of(ts_ratio ratio, int64_t value)
{
    if (!ratio.den || ratio.num == ratio.den) return value;
    const bool minus = value < 0;
    const uint64_t v = minus ? (uint64_t)-value : (uint64_t)value;
    // v is below 2^63 and num below 2^32, so the doubled product is below 2^96.
    const ts__uint128 product = (ts__uint128)v * ratio.num * 2;
    const ts__uint128 sum =
        (product + ratio.den - (minus ? 1 : 0)) / ((ts__uint128)ratio.den * 2);
    if (sum > (ts__uint128)TS__REPLAY_SUM_MAX)
        return minus ? -TS__REPLAY_SUM_MAX : TS__REPLAY_SUM_MAX;
    return minus ? -(int64_t)sum : (int64_t)sum;
}

// Returns value * num / den rounded half up, without overflow. num and den must
// not be negative.
static int64_t ts__share_of(int64_t value, int64_t num, int64_t den)
{
    // Both are shifted down together; 31 bits of the ratio are precise enough.
    while (num > INT32_MAX || den > INT32_MAX) {
        num /= 2;
        den = den > 1 ? den / 2 : 1;
    }
    const ts_ratio ratio = { (uint32_t)num, (uint32_t)den };
    return ts__ratio_of(ratio, value);
}

// Returns the delay that the class of an edge would give it.
static int64_t ts__alter_class_delay(const ts__alter *a, uint32_t from,
                                     uint32_t to, uint8_t kind)
{
    ts__class_key key = ts__class_of_edge(a->replay, from, to, kind);
    for (;;) {
        const uint32_t at =
            ts__rmap_get(&a->model->known, XXH3_64bits(&key, sizeof key));
        if (at != TS_NODE_NONE)
            return ts__model_class(a->model, at)->pub.delay_ns;
        if (key.level == 2) return ts__edge_assumed(TS_EDGE_KIND(kind));
        key = ts__class_coarser(&key);
    }
}

static bool ts__alter_edge_add(ts__alter *a, uint32_t from, uint32_t to,
                               uint32_t kind, int64_t delay)
{
    ts__alter_edge *const edge = (ts__alter_edge *)ts__rvec_push(
        &a->replay->allocator, &a->edges, sizeof *edge);
    if (!edge) return false;
    edge->from = from;
    edge->to = to;
    edge->kind = (uint8_t)kind;
    edge->delay = delay;
    return true;
}

/* Host time that a change saves. */

static int ts__span_compare(const void *left, const void *right)
{
    const ts_host_span *const a = (const ts_host_span *)left;
    const ts_host_span *const b = (const ts_host_span *)right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static bool ts__alter_spare(ts__alter *a, const ts_change *change)
{
    for (size_t i = 0; i < change->span_count; i++) {
        ts_host_span *const to = (ts_host_span *)ts__rvec_push(
            &a->replay->allocator, &a->spans, sizeof *to);
        if (!to) return false;
        *to = change->spans[i];
    }
    return true;
}

// Sorts the spans of all changes and merges those that touch.
static void ts__alter_spans_merge(ts__alter *a)
{
    ts_host_span *const all = (ts_host_span *)a->spans.data;
    size_t count = 0;
    if (!a->spans.count) return;
    qsort(all, a->spans.count, sizeof *all, ts__span_compare);
    for (size_t i = 1; i < a->spans.count; i++) {
        ts_host_span *const last = &all[count];
        if (all[i].file != last->file || all[i].thread != last->thread ||
            all[i].start_ns > last->end_ns)
            all[++count] = all[i];
        else if (all[i].end_ns > last->end_ns)
            last->end_ns = all[i].end_ns;
    }
    a->spans.count = count + 1;
}

// Returns the index of the first span of a thread that ends after `time`.
static size_t ts__alter_span_after(const ts__alter *a, uint32_t file,
                                   uint32_t thread, int64_t time)
{
    const ts_host_span *const all = (const ts_host_span *)a->spans.data;
    size_t low = 0, high = a->spans.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const ts_host_span *const s = &all[middle];
        if (s->file < file || (s->file == file && s->thread < thread) ||
            (s->file == file && s->thread == thread && s->end_ns <= time))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Returns how much of [from, to) a change saves on the thread of a node.
static int64_t ts__alter_spared(const ts__alter *a, uint32_t node, int64_t from,
                                int64_t to)
{
    if (!a->spans.count || to <= from) return 0;
    const ts_replay *const r = a->replay;
    const ts__replay_lane *const lane =
        ts__replay_lane_at(r, ts__replay_lanes(r)[node]);
    const ts_host_span *const all = (const ts_host_span *)a->spans.data;
    int64_t sum = 0;
    for (size_t i = ts__alter_span_after(a, lane->file, lane->track, from);
         i < a->spans.count; i++) {
        if (all[i].file != lane->file || all[i].thread != lane->track ||
            all[i].start_ns >= to)
            break;
        const int64_t first = all[i].start_ns > from ? all[i].start_ns : from;
        const int64_t last = all[i].end_ns < to ? all[i].end_ns : to;
        sum += last - first;
    }
    return sum;
}

// Shortens calls by the time saved in them. A blocking call that returned
// within a span no longer waits.
static void ts__alter_spare_calls(const ts__alter *a)
{
    const ts_replay *const r = a->replay;
    for (uint32_t i = r->op_count; i < r->op_count + r->call_count; i++) {
        const int64_t start = ts__replay_time(r)[i], end = ts__replay_end(r, i);
        const bool waits = ts__replay_flags(r)[i] & TS__NODE_WAITS;
        if (!waits)
            a->duration[i] -= ts__alter_spared(a, i, start, end);
        else if (ts__alter_spared(a, i, end - 1, end))
            a->flags[i] |= TS__ALTER_FREE;
        if (a->duration[i] < 0) a->duration[i] = 0;
    }
}

// Returns the duration of a blocking call that no longer waits: its recorded
// duration less the time saved.
static int64_t ts__alter_free(const ts__alter *a, uint32_t call)
{
    const ts_replay *const r = a->replay;
    const int64_t start = ts__replay_time(r)[call];
    const int64_t end = ts__replay_time(r)[ts__replay_end_node(r, call)];
    return end - start - ts__alter_spared(a, call, start, end);
}

/* Edges that a change removes. */

static bool ts__alter_cut(ts__alter *a, const ts_change *change)
{
    const ts_replay *const r = a->replay;
    if (!a->cuts.count && !ts__rvec_fill(&r->allocator, &a->cuts,
                                         sizeof(uint16_t), r->op_count, 0))
        return false;
    uint16_t *const cuts = (uint16_t *)a->cuts.data;
    for (uint32_t i = 0; i < r->op_count; i++)
        if (ts__change_selects(change, i)) cuts[i] |= (uint16_t)change->edges;
    return true;
}

static bool ts__alter_is_cut(const ts__alter *a, uint32_t from, uint32_t to,
                             uint32_t base)
{
    const ts_replay *const r = a->replay;
    if (!a->cuts.count || base == TS_EDGE_SELF) return false;
    const uint16_t *const cuts = (const uint16_t *)a->cuts.data;
    const uint32_t one = ts__node_owner(r, from);
    const uint32_t other = ts__node_owner(r, to);
    return (one < r->op_count && cuts[one] >> base & 1) ||
           (other < r->op_count && cuts[other] >> base & 1);
}

/* Durations. */

// Sets the duration of each member of a rendezvous to that of the rendezvous,
// since the time spent waiting for the others is not part of its own work.
static void ts__alter_rendezvous(const ts__alter *a)
{
    const ts_replay *const r = a->replay;
    for (size_t i = 0; i < r->joined.count; i++) {
        const uint32_t join = r->join_first + (uint32_t)i;
        const int64_t least = a->duration[ts__replay_cost_of(r, join)];
        for (uint32_t e = ts__replay_offsets(r)[join];
             e < ts__replay_offsets(r)[join + 1]; e++)
            a->duration[ts__node_owner(r, ts__replay_target(r, e))] = least;
    }
}

/* ---- 11.54 Model: changed times ----------------------------------------- */
// src/replay/model/change_times.h

typedef struct ts__alter_group { // of transfers between the same endpoints
    int64_t least, most;
    uint64_t small, large; // bytes of the smallest and of the largest transfer
    int64_t small_ns, large_ns; // the shortest durations of these sizes
} ts__alter_group;

static void ts__alter_group_add(ts__alter_group *g, int64_t ns, uint64_t size)
{
    if (ns < g->least) g->least = ns;
    if (ns > g->most) g->most = ns;
    if (size < g->small || (size == g->small && ns < g->small_ns)) {
        g->small = size;
        g->small_ns = ns;
    }
    if (size > g->large || (size == g->large && ns < g->large_ns)) {
        g->large = size;
        g->large_ns = ns;
    }
}

/*
    Estimates the duration of a transfer of no bytes by extrapolating from the
    smallest and the largest transfer. If sizes are unknown or all alike, it is
    the shortest duration. But if the durations hardly differ either, the
    latency cannot be told from the transfer and is taken as 0.
*/
static int64_t ts__alter_latency(const ts__alter_group *g)
{
    const uint64_t more = g->large - g->small;
    if (!g->small || more < g->small || more > INT64_MAX)
        return g->most / 2 >= g->least ? g->least : 0;
    if (g->large_ns <= g->small_ns) return g->small_ns;
    const int64_t moved = ts__share_of(g->large_ns - g->small_ns,
                                       (int64_t)g->small, (int64_t)more);
    return moved < g->small_ns ? g->small_ns - moved : 0;
}

// Returns a key: direction and device of a copy, or the communicator of a
// collective (its device if the communicator is unknown). Call it with
// ascending operations; `*coll` keeps the position in the list of collectives.
static uint64_t ts__alter_group_key(const ts_replay *r, uint32_t op,
                                    size_t *coll)
{
    const ts__op *const o = ts__replay_op(r, op);
    const ts__coll_op *const all = (const ts__coll_op *)r->collectives.data;
    uint64_t parts[3] = {
        o->kind, ts__replay_lane_at(r, ts__replay_lanes(r)[op])->device, 0
    };
    if (o->kind == TS_EVENT_MEMCPY) {
        parts[2] = o->label;
    } else {
        while (all[*coll].op < op)
            ++*coll;
        parts[2] = all[*coll].communicator;
        if (parts[2]) parts[1] = 0;
    }
    return XXH3_64bits(parts, sizeof parts);
}

static bool ts__alter_is_transfer(const ts_replay *r, const ts_change *change,
                                  uint32_t op)
{
    const uint8_t kind = ts__replay_op(r, op)->kind;
    return (kind == TS_EVENT_MEMCPY || kind == TS_EVENT_COLLECTIVE) &&
           ts__change_selects(change, op);
}

static int64_t ts__alter_transferred(const ts_change *change,
                                     const ts__alter_group *g, int64_t own)
{
    int64_t fixed = ts__alter_latency(g);
    if (change->has_ns && fixed == 0 && change->ns < own)
        fixed = change->ns < 0 ? 0 : change->ns;
    if (fixed > own) fixed = own;
    return ts__replay_add(change->has_ns ? change->ns : fixed,
                          ts__ratio_of(change->factor, own - fixed));
}

static bool ts__alter_transfer(ts__alter *a, const ts_change *change)
{
    const ts_replay *const r = a->replay;
    ts__rmap known = { { 0 }, 0 };
    ts__rvec groups = { 0 };
    bool ok = true;
    for (int pass = 0; ok && pass < 2; pass++) {
        size_t coll = 0;
        for (uint32_t i = 0; ok && i < r->op_count; i++) {
            if (!ts__alter_is_transfer(r, change, i)) continue;
            const uint64_t key = ts__alter_group_key(r, i, &coll);
            uint32_t at = ts__rmap_get(&known, key);
            int64_t *const own = &a->duration[i];
            const uint64_t size = change->sizes ? change->sizes[i] : 0;
            if (at == TS_NODE_NONE) {
                const ts__alter_group fresh = { *own, *own, size,
                                                size, *own, *own };
                ts__alter_group *const group = (ts__alter_group *)ts__rvec_push(
                    &r->allocator, &groups, sizeof *group);
                at = (uint32_t)groups.count - 1;
                ok = group && ts__rmap_put(&r->allocator, &known, key, at);
                if (group) *group = fresh;
                continue;
            }
            ts__alter_group *const g = (ts__alter_group *)groups.data + at;
            if (pass)
                *own = ts__alter_transferred(change, g, *own);
            else
                ts__alter_group_add(g, *own, size);
        }
    }
    ts__rvec_close(&r->allocator, &known.entries);
    ts__rvec_close(&r->allocator, &groups);
    return ok;
}

static void ts__alter_scale(const ts__alter *a, const ts_change *change)
{
    for (uint32_t i = 0; i < a->replay->op_count; i++)
        if (ts__change_selects(change, i))
            a->duration[i] = ts__ratio_of(change->factor, a->duration[i]);
}

// Sets the flags `of_calls` of each call whose operations all have a flag of
// `of_ops`.
static bool ts__alter_calls(ts__alter *a, uint8_t of_ops, uint8_t of_calls)
{
    const ts_replay *const r = a->replay;
    ts__rvec mixed = { 0 };
    if (!ts__rvec_fill(&r->allocator, &mixed, sizeof(bool), r->call_count, 0))
        return false;
    bool *const other = (bool *)mixed.data;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < r->op_count; i++) {
            const uint32_t call = ts__replay_op(r, i)->call;
            if (call == TS_NODE_NONE) continue;
            const bool has = a->flags[i] & of_ops;
            if (!pass)
                other[call - r->op_count] |= !has;
            else if (has && !other[call - r->op_count])
                a->flags[call] |= of_calls;
        }
    ts__rvec_close(&r->allocator, &mixed);
    return true;
}

static bool ts__alter_remove(ts__alter *a, const ts_change *change)
{
    for (uint32_t i = 0; i < a->replay->op_count; i++) {
        if (!ts__change_selects(change, i)) continue;
        a->flags[i] |= TS__ALTER_REMOVED;
        a->duration[i] = 0;
    }
    return ts__alter_calls(a, TS__ALTER_REMOVED, TS__ALTER_REMOVED);
}

static bool ts__alter_no_launch(ts__alter *a, const ts_change *change)
{
    const ts_replay *const r = a->replay;
    for (uint32_t i = 0; i < r->op_count; i++)
        if (ts__change_selects(change, i) &&
            !ts__kind_syncs(ts__replay_op(r, i)->kind))
            a->flags[i] |= TS__ALTER_LAUNCHED;
    return ts__alter_calls(a, TS__ALTER_LAUNCHED, TS__ALTER_LAUNCHED);
}

static bool ts__alter_can_follow(const ts_replay *r, uint32_t op)
{
    return ts__kind_works(ts__replay_op(r, op)->kind);
}

// Inserts an operation behind each selected one. It is modelled by extending
// the duration of the operation before it.
static bool ts__alter_insert(ts__alter *a, const ts_change *change,
                             uint32_t index)
{
    ts_replay *const r = a->replay;
    ts__model *const m = a->model;
    if (!ts__rvec_reserve(&r->allocator, &m->extra, sizeof(int64_t),
                          r->op_count))
        return false;
    int64_t *const extra = (int64_t *)m->extra.data;
    if (!m->extra.count) memset(extra, 0, r->op_count * sizeof *extra);
    m->extra.count = r->op_count;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (!ts__change_selects(change, i) || !ts__alter_can_follow(r, i) ||
            !ts__replay_selected(r, i))
            continue;
        ts_inserted *const to = (ts_inserted *)ts__rvec_push(
            &r->allocator, &m->inserted, sizeof *to);
        if (!to) return false;
        const int64_t gap =
            ts__alter_class_delay(a, i, i, TS_EDGE_STREAM_ORDER);
        to->after = i;
        to->change = index;
        // Relative to the end of the operation.
        to->start_ns = ts__replay_add(extra[i], gap);
        to->end_ns = extra[i] = ts__replay_add(to->start_ns, change->ns);
        const uint32_t call = ts__replay_op(r, i)->call;
        if (call != TS_NODE_NONE &&
            !(ts__replay_flags(r)[call] & TS__NODE_WAITS))
            a->duration[call] =
                ts__replay_add(a->duration[call], ts__replay_duration(r)[call]);
    }
    return true;
}

static void ts__alter_host(const ts__alter *a, const ts_change *change)
{
    for (uint32_t i = 0; i < a->replay->parts.count; i++) {
        if (change->one_part && change->part != i) continue;
        ts_ratio *const h = &a->host[i];
        // Changes of the same part rarely combine. If the product does not fit,
        // precision is dropped.
        uint64_t num = (uint64_t)h->num * change->factor.num;
        uint64_t den = (uint64_t)h->den * change->factor.den;
        if (!change->factor.den) continue;
        while (num > UINT32_MAX || den > UINT32_MAX) {
            num /= 2;
            den = den > 1 ? den / 2 : 1;
        }
        h->num = (uint32_t)num;
        h->den = (uint32_t)den;
    }
}

// Marks the second of two selected operations that follow each other on a
// stream as fused: it needs no launch of its own.
static bool ts__alter_fuse(ts__alter *a, const ts_change *change)
{
    const ts_replay *const r = a->replay;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (!ts__change_selects(change, i) || !ts__alter_can_follow(r, i))
            continue;
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++) {
            const uint32_t to = ts__replay_target(r, e);
            if (ts__replay_kind(r, e) == TS_EDGE_STREAM_ORDER &&
                to < r->op_count && ts__change_selects(change, to) &&
                ts__alter_can_follow(r, to))
                a->flags[to] |= TS__ALTER_FUSED;
        }
    }
    return ts__alter_calls(a, TS__ALTER_FUSED, TS__ALTER_REMOVED);
}

static bool ts__alter_times(ts__alter *a, const ts_change *change,
                            uint32_t index)
{
    switch (change->type) {
    case TS_CHANGE_SCALE: ts__alter_scale(a, change); return true;
    case TS_CHANGE_REMOVE: return ts__alter_remove(a, change);
    case TS_CHANGE_INSERT: return ts__alter_insert(a, change, index);
    case TS_CHANGE_TRANSFER: return ts__alter_transfer(a, change);
    case TS_CHANGE_FUSE: return ts__alter_fuse(a, change);
    case TS_CHANGE_NO_LAUNCH: return ts__alter_no_launch(a, change);
    case TS_CHANGE_HOST: ts__alter_host(a, change); return true;
    case TS_CHANGE_CUT: return ts__alter_cut(a, change);
    case TS_CHANGE_SPARE: return ts__alter_spare(a, change);
    default: return true;
    }
}

/* Delays. */

static int64_t ts__alter_host_time(const ts__alter *a, uint32_t node,
                                   int64_t time)
{
    return ts__ratio_of(a->host[ts__replay_part_of(a->replay, node)], time);
}

// Scales a part of an operation's duration as a change scaled the duration.
static int64_t ts__alter_share(const ts__alter *a, uint32_t op, int64_t part)
{
    const int64_t recorded = ts__replay_duration(a->replay)[op];
    const int64_t now = a->duration[op];
    if (now == recorded || !recorded) return part;
    return ts__share_of(part, now, recorded);
}

// Returns the delay of an edge in this run.
static int64_t ts__alter_delay(const ts__alter *a, uint32_t from, uint32_t e)
{
    const ts_replay *const r = a->replay;
    const uint8_t kind = ts__replay_kind(r, e);
    const uint32_t to = ts__replay_target(r, e), base = TS_EDGE_KIND(kind);
    const uint32_t class_of = ts__model_classes(a->model)[e];
    const int64_t fixed = ts__model_fixed(a->model)[e];
    const int64_t own = class_of == TS_NODE_NONE
                            ? 0
                            : ts__model_class(a->model, class_of)->pub.delay_ns;
    if (ts__alter_is_cut(a, from, to, base)) return TS__EDGE_OFF;
    if (ts__edge_is_host(kind)) {
        const int64_t at = ts__rrun_source(r, from, kind);
        return ts__alter_host_time(
            a, to, fixed - ts__alter_spared(a, to, at, at + fixed));
    }
    const uint8_t flags = a->flags[ts__node_owner(r, to)];
    if (flags & TS__ALTER_REMOVED) return 0;
    if (flags & TS__ALTER_FREE && ts__node_owner(r, to) != to)
        return base == TS_EDGE_SELF
                   ? ts__alter_host_time(a, to, ts__alter_free(a, from))
                   : TS__EDGE_OFF;
    if (base == TS_EDGE_SELF && from >= r->op_count)
        return ts__alter_host_time(a, to, ts__replay_add(fixed, own));
    if (base == TS_EDGE_SELF && class_of == TS_NODE_NONE &&
        ts__kind_works(ts__replay_op(r, from)->kind))
        return ts__alter_share(a, from, fixed); // it waited for no one
    if (flags & TS__ALTER_FUSED && base == TS_EDGE_LAUNCH) return TS__EDGE_OFF;
    if (flags & TS__ALTER_FUSED && kind == TS_EDGE_STREAM_ORDER) return 0;
    if (base == TS_EDGE_LAUNCH) {
        if (flags & TS__ALTER_LAUNCHED) return 0;
        return fixed ? ts__replay_add(a->duration[from], own) : own;
    }
    if (ts__edge_overlaps(r, from, to, kind))
        return ts__alter_share(a, from, fixed);
    return ts__replay_add(fixed, own);
}

static void ts__alter_calls_last(const ts__alter *a)
{
    const ts_replay *const r = a->replay;
    for (uint32_t i = r->op_count; i < r->op_count + r->call_count; i++) {
        a->duration[i] = a->flags[i] & (uint8_t)~TS__ALTER_FREE
                             ? 0
                             : ts__alter_host_time(a, i, a->duration[i]);
    }
}

/* Order. */

// Returns when the host issued an operation, which determines its place on a
// lane.
static int64_t ts__alter_issue(const ts_replay *r, uint32_t op)
{
    const int64_t issue = ts__replay_op(r, op)->issue;
    return issue == TS__NO_TIME ? ts__replay_time(r)[op] : issue;
}

static bool ts__alter_in_order(const ts_replay *r, uint32_t op)
{
    return ts__replay_lane_at(r, ts__replay_lanes(r)[op])->fifo &&
           !ts__kind_syncs(ts__replay_op(r, op)->kind);
}

// Removes the stream order edges of the operations that move.
static void ts__alter_unchain(const ts__alter *a)
{
    const ts_replay *const r = a->replay;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const uint32_t owner = ts__node_owner(r, i);
        for (uint32_t e = ts__replay_offsets(r)[i];
             owner < r->op_count && e < ts__replay_offsets(r)[i + 1]; e++) {
            const uint32_t to = ts__replay_target(r, e);
            if (TS_EDGE_KIND(ts__replay_kind(r, e)) == TS_EDGE_STREAM_ORDER &&
                (a->lane_of[owner] != ts__replay_lanes(r)[owner] ||
                 a->lane_of[to] != ts__replay_lanes(r)[to]))
                a->delay[e] = TS__EDGE_OFF;
        }
    }
}

/* ---- 11.55 Model: changed orders and lanes ------------------------------ */
// src/replay/model/change_order.h

typedef struct ts__alter_lane {
    uint32_t last; // last operation placed on the lane
    bool gap; // the operation after `last` in the record moved to another lane
    uint32_t of_kind[2]; // last copy and last collective
} ts__alter_lane;

static bool ts__alter_lanes_open(const ts_replay *r, ts__rvec *lanes)
{
    return ts__rvec_fill(&r->allocator, lanes, sizeof(ts__alter_lane),
                         r->lanes.count, 0xFF);
}

/*
    The sort key of a node in a changed order: by issue, then by time, then by
    an order that fits the edges. Neither issue nor time is earlier than that of
    any predecessor in the record. With the issue time alone, an operation could
    be queued behind one that waits for it.
*/
typedef struct ts__alter_place {
    int64_t issue, time;
    uint32_t missing, order;
} ts__alter_place;

// Initializes the places of all nodes, before edges are followed.
static void ts__alter_places_begin(const ts_replay *r, ts__alter_place *places,
                                   int64_t *latest)
{
    for (uint32_t i = 0; i < r->node_count; i++) {
        places[i].issue = places[i].time = TS__NO_TIME;
        places[i].missing = 0;
        places[i].order = i;
    }
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (!ts__alter_in_order(r, i)) continue;
        int64_t *const last = latest + ts__replay_lanes(r)[i];
        const int64_t issue = ts__alter_issue(r, i);
        if (issue > *last) *last = issue;
        places[i].issue = *last; // keeps the order within a lane
        places[i].time = ts__replay_time(r)[i];
    }
    for (uint32_t e = 0; e < ts__replay_offsets(r)[r->node_count]; e++)
        places[ts__replay_target(r, e)].missing++;
}

// Computes the places. `queue` has room for all nodes.
static void ts__alter_places_fill(const ts_replay *r, ts__alter_place *places,
                                  uint32_t *queue)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->node_count; i++)
        if (!places[i].missing) queue[count++] = i;
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t from = queue[k];
        places[from].order = k;
        for (uint32_t e = ts__replay_offsets(r)[from];
             e < ts__replay_offsets(r)[from + 1]; e++) {
            ts__alter_place *const to = &places[ts__replay_target(r, e)];
            if (places[from].issue > to->issue) to->issue = places[from].issue;
            if (places[from].time > to->time) to->time = places[from].time;
            if (!--to->missing) queue[count++] = ts__replay_target(r, e);
        }
    }
}

// Returns the place of an operation. A wait is placed where it ends. A
// collective is not, since later operations on the stream must not overtake it
// while it waits for others.
static const ts__alter_place *ts__alter_place_of(const ts_replay *r,
                                                 const ts__alter_place *places,
                                                 uint32_t op)
{
    return ts__kind_works(ts__replay_op(r, op)->kind)
               ? &places[op]
               : &places[ts__replay_end_node(r, op)];
}

// Sorts the operations by one component of their places.
static void ts__alter_sort_by(ts__alter *a, const ts__alter_place *places,
                              size_t count, int part)
{
    for (size_t k = 0; k < count; k++) {
        const ts__alter_place *const p =
            ts__alter_place_of(a->replay, places, ts__rsort_index(&a->sort)[k]);
        ts__rsort_keys(&a->sort)[k] = part == 0   ? p->order
                                      : part == 1 ? ts__rsort_time(p->time)
                                                  : ts__rsort_time(p->issue);
    }
    ts__rsort_run(&a->sort, count);
}

// Sorts the operations by place; the index of the sorter receives them.
static bool ts__alter_sort(ts__alter *a, size_t *count)
{
    const ts_replay *const r = a->replay;
    const ts_allocator *const memory = &r->allocator;
    ts__rvec latest = { 0 }, places = { 0 }, queue = { 0 };
    const bool ok =
        ts__rvec_fill(memory, &latest, sizeof(int64_t), r->lanes.count, 0x80) &&
        ts__rvec_reserve(memory, &places, sizeof(ts__alter_place),
                         r->node_count) &&
        ts__rvec_reserve(memory, &queue, sizeof(uint32_t), r->node_count) &&
        ts__rsort_open(memory, &a->sort, r->op_count);
    *count = 0;
    if (ok) {
        ts__alter_place *const all = (ts__alter_place *)places.data;
        ts__alter_places_begin(r, all, (int64_t *)latest.data);
        ts__alter_places_fill(r, all, (uint32_t *)queue.data);
        for (uint32_t i = 0; i < r->op_count; i++)
            if (ts__alter_in_order(r, i))
                ts__rsort_index(&a->sort)[(*count)++] = i;
        for (int part = 0; part < 3; part++)
            ts__alter_sort_by(a, all, *count, part);
    }
    ts__rvec_close(memory, &latest);
    ts__rvec_close(memory, &places);
    ts__rvec_close(memory, &queue);
    return ok;
}

static bool ts__alter_follow(ts__alter *a, uint32_t from, uint32_t to)
{
    return ts__alter_edge_add(
        a, ts__replay_end_node(a->replay, from), to, TS_EDGE_STREAM_ORDER,
        ts__alter_class_delay(a, from, to, TS_EDGE_STREAM_ORDER));
}

// Adds the stream order of every lane that an operation left or moved to. Moved
// operations are placed by issue.
static bool ts__alter_chain(ts__alter *a)
{
    const ts_replay *const r = a->replay;
    ts__rvec lanes = { 0 };
    size_t count = 0;
    bool ok = ts__alter_lanes_open(r, &lanes) && ts__alter_sort(a, &count);
    ts__alter_lane *const all = (ts__alter_lane *)lanes.data;
    for (size_t k = 0; ok && k < lanes.count; k++)
        all[k].gap = false;
    for (size_t k = 0; ok && k < count; k++) {
        const uint32_t i = ts__rsort_index(&a->sort)[k];
        const uint32_t old = ts__replay_lanes(r)[i];
        ts__alter_lane *const lane = &all[a->lane_of[i]];
        const uint32_t from = lane->last;
        if (from != TS_NODE_NONE &&
            (lane->gap || a->lane_of[i] != old ||
             a->lane_of[from] != ts__replay_lanes(r)[from]))
            ok = ts__alter_follow(a, from, i);
        lane->last = i;
        lane->gap = false;
        if (a->lane_of[i] != old) all[old].gap = true;
    }
    ts__rvec_close(&r->allocator, &lanes);
    return ok;
}

static uint32_t ts__alter_find_lane(const ts_replay *r, uint32_t file,
                                    uint32_t track)
{
    for (uint32_t i = 0; i < r->lanes.count; i++) {
        const ts__replay_lane *const lane = ts__replay_lane_at(r, i);
        if (lane->operations && lane->file == file && lane->track == track)
            return i;
    }
    return TS_NODE_NONE;
}

// Records the new lane of each operation that a change moves. Returns false if
// none moves.
static bool ts__alter_move(ts__alter *a, const ts_change *change)
{
    const ts_replay *const r = a->replay;
    bool any = false;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (!ts__change_selects(change, i) || !ts__alter_in_order(r, i))
            continue;
        const ts__replay_lane *const lane =
            ts__replay_lane_at(r, ts__replay_lanes(r)[i]);
        uint32_t to = a->lane_of[i];
        if (change->type == TS_CHANGE_SERIALISE) {
            while (to && ts__replay_lane_at(r, to - 1)->operations &&
                   ts__replay_lane_at(r, to - 1)->device == lane->device)
                to--; // the lanes of a device are adjacent
        } else {
            to = ts__alter_find_lane(r, lane->file, change->track);
        }
        if (to == TS_NODE_NONE || to == a->lane_of[i]) continue;
        a->lane_of[i] = to;
        any = true;
    }
    return any;
}

static bool ts__alter_moves(ts__alter *a)
{
    const ts_replay *const r = a->replay;
    const ts_replay_run_desc *const desc = a->desc;
    bool any = false;
    for (size_t i = 0; i < desc->change_count; i++) {
        const ts_change *const change = &desc->changes[i];
        if (change->type != TS_CHANGE_MOVE &&
            change->type != TS_CHANGE_SERIALISE)
            continue;
        if (!a->lane_of) {
            if (!ts__rvec_reserve(&r->allocator, &a->lanes_moved,
                                  sizeof(uint32_t), r->op_count))
                return false;
            a->lane_of = (uint32_t *)a->lanes_moved.data;
            memcpy(a->lane_of, ts__replay_lanes(r),
                   r->op_count * sizeof(uint32_t));
        }
        any |= ts__alter_move(a, change);
    }
    if (!any) return true;
    ts__alter_unchain(a);
    return ts__alter_chain(a);
}

/* Overlap. */

// Returns which kind of operation is hidden: 0 for a copy, 1 for a collective,
// 2 for none.
static uint32_t ts__alter_hidden(const ts_replay *r, uint32_t node)
{
    if (node >= r->op_count) return 2;
    const uint8_t kind = ts__replay_op(r, node)->kind;
    return kind == TS_EVENT_MEMCPY ? 0 : kind == TS_EVENT_COLLECTIVE ? 1 : 2;
}

// Makes what waits on a device for the end of a hidden operation wait for its
// start instead.
static bool ts__alter_hide(ts__alter *a, const ts_change *change, uint32_t node)
{
    const ts_replay *const r = a->replay;
    const uint32_t owner = ts__node_owner(r, node);
    const uint32_t hidden = ts__alter_hidden(r, owner);
    if (hidden == 2 || !ts__change_selects(change, owner)) return true;
    for (uint32_t e = ts__replay_offsets(r)[node];
         e < ts__replay_offsets(r)[node + 1]; e++) {
        const uint8_t kind = ts__replay_kind(r, e), base = TS_EDGE_KIND(kind);
        const uint32_t to = ts__replay_target(r, e);
        if (kind & TS_EDGE_FROM_START || ts__alter_hidden(r, to) == hidden ||
            (base != TS_EDGE_STREAM_ORDER && base != TS_EDGE_EVENT &&
             base != TS_EDGE_LEGACY_DEFAULT))
            continue;
        a->delay[e] = TS__EDGE_OFF;
        if (!ts__alter_edge_add(a, owner, to,
                                (uint32_t)kind | TS_EDGE_FROM_START, 0))
            return false;
    }
    return true;
}

// Overlaps the copies and collectives that a change selects. Those of one kind
// on a stream still follow each other.
static bool ts__alter_overlap(ts__alter *a, const ts_change *change)
{
    const ts_replay *const r = a->replay;
    ts__rvec lanes = { 0 };
    bool ok = ts__alter_lanes_open(r, &lanes);
    for (uint32_t i = 0; ok && i < r->op_count; i++) {
        const uint32_t hidden = ts__alter_hidden(r, i);
        ts__alter_lane *const lane =
            (ts__alter_lane *)lanes.data + ts__replay_lanes(r)[i];
        if (hidden < 2 && ts__change_selects(change, i)) {
            const uint32_t from = lane->of_kind[hidden];
            if (from != TS_NODE_NONE && from != lane->last)
                ok = ts__alter_follow(a, from, i);
            lane->of_kind[hidden] = i;
        }
        lane->last = i;
    }
    for (uint32_t i = 0; ok && i < r->join_first; i++)
        ok = ts__alter_hide(a, change, i);
    ts__rvec_close(&r->allocator, &lanes);
    return ok;
}

/* The graph of the run. */

static bool ts__alter_pack(ts__alter *a)
{
    const ts_replay *const r = a->replay;
    ts__model *const m = a->model;
    const ts_allocator *const memory = &r->allocator;
    const size_t nodes = r->node_count;
    const size_t count = r->targets.count + a->edges.count;
    ts__rvec delay = { 0 };
    if (count >= UINT32_MAX ||
        !ts__rvec_fill(memory, &m->offsets, sizeof(uint32_t), nodes + 1, 0) ||
        !ts__rvec_reserve(memory, &m->targets, sizeof(uint32_t), count) ||
        !ts__rvec_reserve(memory, &m->kinds, 1, count) ||
        !ts__rvec_reserve(memory, &delay, sizeof(int64_t), count))
        return false;
    uint32_t *const offsets = (uint32_t *)m->offsets.data;
    const ts__alter_edge *const more = (const ts__alter_edge *)a->edges.data;
    for (size_t i = 0; i < a->edges.count; i++)
        offsets[more[i].from]++;
    uint32_t sum = 0;
    for (uint32_t i = 0; i <= nodes; i++) {
        sum += offsets[i];
        // Each offset becomes the end of the node's added edges, as the loop
        // below counts down.
        offsets[i] = sum + (i < nodes ? ts__replay_offsets(r)[i + 1]
                                      : ts__replay_offsets(r)[i]);
    }
    uint32_t *const targets = (uint32_t *)m->targets.data;
    uint8_t *const kinds = (uint8_t *)m->kinds.data;
    int64_t *const delays = (int64_t *)delay.data;
    for (size_t i = a->edges.count; i-- > 0;) {
        const uint32_t at = --offsets[more[i].from];
        targets[at] = more[i].to;
        kinds[at] = more[i].kind;
        delays[at] = more[i].delay;
    }
    for (uint32_t i = 0; i < nodes; i++) {
        const uint32_t first = ts__replay_offsets(r)[i];
        const uint32_t own = ts__replay_offsets(r)[i + 1] - first;
        offsets[i] -= own;
        for (uint32_t k = 0; k < own; k++) {
            targets[offsets[i] + k] = ts__replay_target(r, first + k);
            kinds[offsets[i] + k] = ts__replay_kind(r, first + k);
            delays[offsets[i] + k] = a->delay[first + k];
        }
    }
    ts__rvec_close(memory, &m->delay);
    m->delay = delay;
    m->offsets.count = nodes + 1;
    m->targets.count = m->kinds.count = m->delay.count = count;
    return true;
}

/* ---- 11.56 Model: applying changes -------------------------------------- */
// src/replay/model/change_apply.h

static bool ts__alter_open(ts__alter *a)
{
    ts_replay *const r = a->replay;
    ts__model *const m = a->model;
    const ts_allocator *const memory = &r->allocator;
    m->extra.count = m->inserted.count = m->offsets.count = 0;
    if (!ts__rvec_reserve(memory, &r->changed, sizeof(int64_t),
                          r->node_count) ||
        !ts__rvec_reserve(memory, &m->delay, sizeof(int64_t),
                          r->targets.count) ||
        !ts__rvec_fill(memory, &a->flag_bytes, 1, r->node_count, 0) ||
        !ts__rvec_reserve(memory, &a->hosts, sizeof(ts_ratio), r->parts.count))
        return false;
    a->duration = (int64_t *)r->changed.data;
    a->delay = (int64_t *)m->delay.data;
    a->flags = (uint8_t *)a->flag_bytes.data;
    a->host = (ts_ratio *)a->hosts.data;
    const int64_t *const given = a->desc->durations_ns;
    memcpy(a->duration, ts__replay_duration(r),
           r->node_count * sizeof(int64_t));
    for (uint32_t i = 0; given && i < r->op_count; i++)
        a->duration[i] =
            given[i] < TS__REPLAY_SUM_MAX ? given[i] : TS__REPLAY_SUM_MAX;
    r->changed.count = r->node_count;
    for (size_t i = 0; i < r->parts.count; i++)
        a->host[i].num = a->host[i].den = 1;
    return true;
}

static void ts__alter_close(ts__alter *a)
{
    const ts_allocator *const memory = &a->replay->allocator;
    ts__rvec_close(memory, &a->flag_bytes);
    ts__rvec_close(memory, &a->hosts);
    ts__rvec_close(memory, &a->lanes_moved);
    ts__rvec_close(memory, &a->edges);
    ts__rvec_close(memory, &a->spans);
    ts__rvec_close(memory, &a->cuts);
    ts__rsort_close(memory, &a->sort);
}

// Returns the residual of a launch that came late because its call took long:
// it shrinks by the time that a change saves in the call.
static int64_t ts__alter_late_launch(const ts__alter *a, uint32_t op,
                                     int64_t gap)
{
    const ts_replay *const r = a->replay;
    const uint32_t call = ts__replay_op(r, op)->call;
    if (gap <= 0 || call == TS_NODE_NONE || call < r->op_count) return gap;
    const int64_t start = ts__replay_time(r)[call];
    const int64_t end = ts__replay_end(r, call);
    if (end > ts__replay_time(r)[op]) return gap;
    const int64_t spared = ts__alter_spared(a, call, start, end);
    return gap > spared ? gap - spared : 0;
}

// Copies the residuals; removed and fused operations keep none.
static bool ts__alter_gaps(ts__alter *a)
{
    const ts_replay *const r = a->replay;
    ts__model *const m = a->model;
    if (!ts__rvec_reserve(&r->allocator, &m->gap, sizeof(int64_t),
                          r->node_count))
        return false;
    int64_t *const gap = (int64_t *)m->gap.data;
    memcpy(gap, m->residual.data, r->node_count * sizeof *gap);
    for (uint32_t i = 0; i < r->node_count; i++) {
        const uint32_t owner = ts__node_owner(r, i);
        const uint8_t flags = a->flags[owner];
        if (!ts__model_is_held(m, i)) continue;
        if (flags & (TS__ALTER_REMOVED | TS__ALTER_FUSED))
            gap[i] = 0;
        else if (flags & TS__ALTER_FREE && owner != i)
            gap[i] = 0; // the delay came from a wait that the change removed
        else if (a->spans.count && i < r->op_count)
            gap[i] = ts__alter_late_launch(a, i, gap[i]);
    }
    return true;
}

// Applies all changes. The durations go to ts_replay.changed, the delays and
// the changed graph to the model.
static bool ts__alter_all(ts__alter *a)
{
    const ts_replay *const r = a->replay;
    const ts_replay_run_desc *const desc = a->desc;
    if (!ts__alter_open(a)) return false;
    ts__alter_rendezvous(a);
    for (size_t i = 0; i < desc->change_count; i++)
        if (!ts__alter_times(a, &desc->changes[i], (uint32_t)i)) return false;
    ts__alter_spans_merge(a);
    ts__alter_spare_calls(a);
    ts__alter_calls_last(a);
    const int64_t *const extra = (const int64_t *)a->model->extra.data;
    for (uint32_t i = 0; a->model->extra.count && i < r->op_count; i++)
        a->duration[i] = ts__replay_add(a->duration[i], extra[i]);
    ts__rrun_rendezvous(r);
    for (uint32_t i = 0; i < r->node_count; i++)
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++)
            a->delay[e] = ts__alter_delay(a, i, e);
    if (!ts__alter_gaps(a) || !ts__alter_moves(a)) return false;
    for (size_t i = 0; i < desc->change_count; i++)
        if (desc->changes[i].type == TS_CHANGE_OVERLAP &&
            !ts__alter_overlap(a, &desc->changes[i]))
            return false;
    return !a->edges.count || ts__alter_pack(a);
}

/* ---- 11.57 Model: limits on resources ----------------------------------- */
// src/replay/model/limits.h

/*
    Limits: copy engines and, if requested, multiprocessors. A node that needs a
    resource waits in the queue of the resource once its edges have fired. Nodes
    therefore have to run in order of (time, device, stream, position in the
    stream), with ends before starts.
*/

// A node that is ready to start, or that ends. Lanes are numbered by device and
// stream, nodes by their position in the stream, so `place` sorts as required.
typedef struct ts__ready {
    int64_t time;
    uint64_t place; // starts << 63 | lane << 32 | node
} ts__ready;
#define TS__READY_STARTS (UINT64_C(1) << 63)

static bool ts__ready_before(const ts__ready *a, const ts__ready *b)
{
    return a->time != b->time ? a->time < b->time : a->place < b->place;
}

static bool ts__ready_push(const ts_allocator *a, ts__rvec *heap,
                           ts__ready item)
{
    if (!ts__rvec_push(a, heap, sizeof item)) return false;
    ts__ready *const items = (ts__ready *)heap->data;
    size_t at = heap->count - 1;
    while (at && ts__ready_before(&item, &items[(at - 1) / 2])) {
        items[at] = items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    items[at] = item;
    return true;
}

static ts__ready ts__ready_pop(ts__rvec *heap)
{
    ts__ready *const items = (ts__ready *)heap->data;
    const ts__ready first = items[0], item = items[--heap->count];
    size_t at = 0;
    for (size_t next; (next = at * 2 + 1) < heap->count; at = next) {
        if (next + 1 < heap->count &&
            ts__ready_before(&items[next + 1], &items[next]))
            next++;
        if (!ts__ready_before(&items[next], &item)) break;
        items[at] = items[next];
    }
    items[at] = item;
    return first;
}

// The whole of a device in the units in which kernels occupy it.
#define TS__SHARE_ALL 65536

typedef struct ts__resource {
    int64_t room, all; // room: what is free. Engines, or units of TS__SHARE_ALL
    int64_t lanes;     // lanes that use it: if at most `all`, none ever waits
    // ts__ready with the priority as time and the arrival as place.
    ts__rvec waiting;
} ts__resource;

typedef struct ts__limits {
    ts_replay *replay;
    ts__rvec resources; // ts__resource
    ts__rvec of; // uint32_t of each operation: its resource; TS_NODE_NONE: none
    ts__rvec needs; // uint32_t of each operation: how much of the resource
    ts__rvec ready; // heap of ts__ready
    bool any;
} ts__limits;

static ts__resource *ts__limits_at(const ts__limits *l, uint32_t i)
{
    return (ts__resource *)l->resources.data + i;
}

// Whether an operation occupies a copy engine: copies between host and device
// and between devices do. A copy within a device uses its multiprocessors or
// memory.
static bool ts__limits_copies(const ts__op *op)
{
    return op->kind == TS_EVENT_MEMCPY &&
           (op->label == 1 || op->label == 2 || op->label == 5);
}

typedef struct ts__limits_device {
    uint64_t multiprocessors, threads, registers, shared;
} ts__limits_device;

static uint64_t ts__metadata_number(const ts_reader *reader, uint32_t track,
                                    const char *key, uint64_t otherwise)
{
    ts_metadata m;
    return ts_reader_metadata(reader, track, key, &m) &&
                   m.type == TS_VALUE_INT && m.number > 0
               ? (uint64_t)m.number
               : otherwise;
}

static ts__limits_device ts__limits_describe(const ts_replay *r,
                                             const ts__replay_lane *lane)
{
    const ts_reader *const reader = ts__replay_file(r, lane->file)->reader;
    const uint32_t track = lane->device_track;
    ts__limits_device d;
    d.multiprocessors =
        ts__metadata_number(reader, track, "multiprocessors", 0);
    d.threads = ts__metadata_number(reader, track,
                                    "max_threads_per_multiprocessor", 2048);
    d.registers =
        ts__metadata_number(reader, track, "regs_per_multiprocessor", 65536);
    d.shared = ts__metadata_number(reader, track,
                                   "shared_mem_per_multiprocessor", 65536);
    return d;
}

static uint64_t ts__limits_blocks(const ts_launch_entry *launch)
{
    const uint64_t x = launch->grid[0] ? launch->grid[0] : 1;
    const uint64_t y = launch->grid[1] ? launch->grid[1] : 1;
    const uint64_t z = launch->grid[2] ? launch->grid[2] : 1;
    return x > UINT32_MAX / y || x * y > UINT32_MAX / z ? UINT32_MAX
                                                        : x * y * z;
}

/*
    Returns the share of its device that a kernel occupies: its blocks divided
    by the number of blocks that fit at once, which threads, registers and
    shared memory limit.
    Source: CUDA C++ Programming Guide, "Multiprocessor level".
*/
static uint32_t ts__limits_share(const ts__limits_device *device,
                                 const ts_launch_entry *launch)
{
    if (!launch || !device->multiprocessors) return TS__SHARE_ALL;
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++)
        if (launch->block[i] && threads < 65536) threads *= launch->block[i];
    uint64_t fits = 32; // maximum number of blocks on a multiprocessor
    const uint64_t memory =
        (uint64_t)launch->static_shared + launch->dynamic_shared;
    const uint64_t registers = threads * launch->registers;
    if (device->threads / threads < fits) fits = device->threads / threads;
    if (registers && device->registers / registers < fits)
        fits = device->registers / registers;
    if (memory && device->shared / memory < fits)
        fits = device->shared / memory;
    const uint64_t room = (fits ? fits : 1) * device->multiprocessors;
    const uint64_t blocks = ts__limits_blocks(launch);
    if (blocks >= room) return TS__SHARE_ALL;
    const uint64_t part = (blocks * TS__SHARE_ALL + room - 1) / room;
    return part ? (uint32_t)part : 1;
}

static uint32_t ts__limits_add(ts__limits *l, int64_t all)
{
    ts__resource *const to = (ts__resource *)ts__rvec_push(
        &l->replay->allocator, &l->resources, sizeof *to);
    if (!to) return TS_NODE_NONE;
    memset(to, 0, sizeof *to);
    to->room = to->all = all;
    return (uint32_t)(l->resources.count - 1);
}

// Sets the number of engines of each kind to the highest number of copies that
// ran at once in the record.
static bool ts__limits_recorded(ts__limits *l)
{
    const ts_replay *const r = l->replay;
    for (uint32_t i = 0; i < l->resources.count; i++)
        ts__limits_at(l, i)->room = 0;
    l->ready.count = 0;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const uint32_t of = ((const uint32_t *)l->of.data)[i];
        if (of == TS_NODE_NONE) continue;
        while (l->ready.count && ((const ts__ready *)l->ready.data)->time <=
                                     ts__replay_time(r)[i])
            ts__limits_at(l, (uint32_t)ts__ready_pop(&l->ready).place)->room--;
        ts__resource *const resource = ts__limits_at(l, of);
        const ts__ready item = { ts__replay_end(r, i), of };
        if (!ts__ready_push(&r->allocator, &l->ready, item)) return false;
        if (++resource->room > resource->all) resource->all = resource->room;
    }
    l->ready.count = 0;
    for (uint32_t i = 0; i < l->resources.count; i++)
        ts__limits_at(l, i)->room = ts__limits_at(l, i)->all;
    return true;
}

static bool ts__limits_engines(ts__limits *l, uint32_t engines)
{
    const ts_replay *const r = l->replay;
    ts__rmap known = { { 0 }, 0 };
    bool ok = true;
    for (uint32_t i = 0; ok && i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        if (!ts__limits_copies(op)) continue;
        const uint32_t device =
            ts__replay_lane_at(r, ts__replay_lanes(r)[i])->device;
        const uint64_t key = (uint64_t)device << 3 | op->label;
        uint32_t of = ts__rmap_get(&known, key);
        if (of == TS_NODE_NONE) {
            of = ts__limits_add(l, engines ? engines : 1);
            ok = of != TS_NODE_NONE &&
                 ts__rmap_put(&r->allocator, &known, key, of);
        }
        ((uint32_t *)l->of.data)[i] = of;
        const uint64_t lane =
            UINT64_C(1) << 63 | key << 32 | ts__replay_lanes(r)[i];
        if (!ok || ts__rmap_get(&known, lane) != TS_NODE_NONE) continue;
        ok = ts__rmap_put(&r->allocator, &known, lane, of);
        ts__limits_at(l, of)->lanes++;
    }
    ts__rvec_close(&r->allocator, &known.entries);
    if (!ok || (!engines && !ts__limits_recorded(l))) return false;
    for (uint32_t i = 0; i < l->resources.count; i++)
        l->any |= ts__limits_at(l, i)->lanes > ts__limits_at(l, i)->all;
    return true;
}

// Returns the launch of a kernel, or of the kernel that performs a collective
// if known. Returns false for other operations and unknown collectives. Call it
// with ascending operations; `*coll` keeps the position in the list of
// collectives.
static bool ts__limits_launch(const ts_replay *r, uint32_t op, size_t *coll,
                              uint32_t *launch)
{
    const ts__op *const o = ts__replay_op(r, op);
    *launch = o->label;
    if (o->kind != TS_EVENT_COLLECTIVE) return o->kind == TS_EVENT_KERNEL;
    const ts__coll_op *const all = (const ts__coll_op *)r->collectives.data;
    *launch = all[(*coll)++].launch;
    return *launch != 0;
}

static bool ts__limits_compute(ts__limits *l)
{
    const ts_replay *const r = l->replay;
    ts__rvec of_device = { 0 }, described = { 0 };
    const size_t devices = r->device_results.count;
    bool ok = ts__rvec_fill(&r->allocator, &of_device, sizeof(uint32_t),
                            devices, 0xFF) &&
              ts__rvec_reserve(&r->allocator, &described,
                               sizeof(ts__limits_device), devices);
    uint32_t *const known = (uint32_t *)of_device.data;
    size_t coll = 0;
    for (uint32_t i = 0; ok && i < r->op_count; i++) {
        uint32_t launch;
        if (!ts__limits_launch(r, i, &coll, &launch)) continue;
        const ts__replay_lane *const lane =
            ts__replay_lane_at(r, ts__replay_lanes(r)[i]);
        uint32_t *const of = &known[lane->device];
        ts__limits_device *const device =
            (ts__limits_device *)described.data + lane->device;
        if (*of == TS_NODE_NONE) {
            *of = ts__limits_add(l, TS__SHARE_ALL);
            *device = ts__limits_describe(r, lane);
        }
        ok = *of != TS_NODE_NONE;
        ((uint32_t *)l->of.data)[i] = *of;
        ((uint32_t *)l->needs.data)[i] = ts__limits_share(
            device,
            ts_reader_launch(ts__replay_file(r, lane->file)->reader, launch));
        l->any = true;
    }
    ts__rvec_close(&r->allocator, &of_device);
    ts__rvec_close(&r->allocator, &described);
    return ok;
}

static void ts__limits_close(ts__limits *l)
{
    const ts_allocator *const a = &l->replay->allocator;
    for (uint32_t i = 0; i < l->resources.count; i++)
        ts__rvec_close(a, &ts__limits_at(l, i)->waiting);
    ts__rvec_close(a, &l->resources);
    ts__rvec_close(a, &l->of);
    ts__rvec_close(a, &l->needs);
    ts__rvec_close(a, &l->ready);
}

static bool ts__limits_open(ts__limits *l, ts_replay *r,
                            const ts_replay_run_desc *desc)
{
    const ts_allocator *const a = &r->allocator;
    memset(l, 0, sizeof *l);
    l->replay = r;
    if (!ts__rvec_fill(a, &l->of, sizeof(uint32_t), r->op_count, 0xFF) ||
        !ts__rvec_reserve(a, &l->needs, sizeof(uint32_t), r->op_count))
        return false;
    for (uint32_t i = 0; i < r->op_count; i++)
        ((uint32_t *)l->needs.data)[i] = 1;
    return ts__limits_engines(l, desc->copy_engines) &&
           (!desc->share_compute || ts__limits_compute(l));
}

typedef struct ts__timed { // a run in order of time
    ts__rrun *run;
    ts__limits *limits;
    uint32_t *queue; // nodes that have just become ready
    uint32_t *held;  // of each node: node that freed the resource it waited for
    uint32_t arrivals; // counts nodes that had to wait; each waits at most once
    bool failed;
} ts__timed;

static ts__ready ts__timed_item(const ts__timed *t, int64_t time, uint32_t node,
                                uint64_t starts)
{
    const uint64_t lane = ts__replay_lanes(t->run->replay)[node];
    const ts__ready item = { time, starts | lane << 32 | node };
    return item;
}

static void ts__timed_push(ts__timed *t, ts__ready item)
{
    if (!ts__ready_push(&t->run->replay->allocator, &t->limits->ready, item))
        t->failed = true;
}

// Returns the operation whose end is `node` if it occupies a resource; else
// TS_NODE_NONE.
static uint32_t ts__timed_holder(const ts__timed *t, uint32_t node)
{
    const ts_replay *const r = t->run->replay;
    if (node < r->op_count + r->call_count || node >= r->join_first)
        return TS_NODE_NONE;
    const uint32_t op = ts__node_owner(r, node);
    if (op >= r->op_count ||
        ((const uint32_t *)t->limits->of.data)[op] == TS_NODE_NONE)
        return TS_NODE_NONE;
    return op;
}

static void ts__timed_start(ts__timed *t, uint32_t node, int64_t time)
{
    ts__rrun *const run = t->run;
    const uint32_t count = ts__rrun_fire(run, node, time, t->queue, 0);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t next = t->queue[i];
        const int64_t at = ts__rrun_start(run, next);
        const bool frees = ts__timed_holder(t, next) != TS_NODE_NONE;
        ts__timed_push(
            t, ts__timed_item(t, at, next, frees ? 0 : TS__READY_STARTS));
    }
}

static void ts__timed_occupy(ts__timed *t, uint32_t node, int64_t time)
{
    const uint32_t of = ((const uint32_t *)t->limits->of.data)[node];
    const uint32_t needs = ((const uint32_t *)t->limits->needs.data)[node];
    ts__limits_at(t->limits, of)->room -= needs;
    // An operation that waits for others occupies the resource until all of
    // them are done.
    if (ts__replay_end_node(t->run->replay, node) == node) {
        const int64_t end = ts__replay_add(time, t->run->duration[node]);
        ts__timed_push(t, ts__timed_item(t, end, node, 0));
    }
    ts__timed_start(t, node, time);
}

// Returns the priority of a node: smaller numbers first, as the vendors define
// it. Arrival breaks ties.
static int64_t ts__timed_priority(const ts__timed *t, uint32_t node)
{
    const ts_replay *const r = t->run->replay;
    const uint64_t flags =
        ts__replay_lane_at(r, ts__replay_lanes(r)[node])->flags;
    return (int64_t)(flags >> 16 & 0xFFFF);
}

// Starts the first node in the queue of a resource; the node `after` made room
// for it.
static void ts__timed_next(ts__timed *t, ts__resource *resource, uint32_t after,
                           int64_t time)
{
    const uint32_t next = (uint32_t)ts__ready_pop(&resource->waiting).place;
    t->held[next] = after;
    ts__timed_occupy(t, next, time);
}

// Frees the resource of an operation that ended at the node `end`, and starts
// the nodes in the queue in order as far as there is room.
static void ts__timed_release(ts__timed *t, uint32_t op, uint32_t end,
                              int64_t time)
{
    const uint32_t of = ((const uint32_t *)t->limits->of.data)[op];
    const uint32_t *const needs = (const uint32_t *)t->limits->needs.data;
    ts__resource *const resource = ts__limits_at(t->limits, of);
    resource->room += needs[op];
    while (resource->waiting.count && !t->failed) {
        const ts__ready *const first = (ts__ready *)resource->waiting.data;
        if (needs[(uint32_t)first->place] > resource->room) return;
        ts__timed_next(t, resource, end, time);
    }
}

// Ends a node that occupies a resource, or the operation whose end it is.
static void ts__timed_end(ts__timed *t, uint32_t node, int64_t time)
{
    const uint32_t op = ts__timed_holder(t, node);
    if (op != TS_NODE_NONE) ts__timed_start(t, node, time);
    ts__timed_release(t, op == TS_NODE_NONE ? node : op, node, time);
}

/*
    Resolves a deadlock: the collectives that occupy a resource may all wait for
    others that find no room. In the record they made progress, so the first in
    the queue starts without room.
*/
static bool ts__timed_force(ts__timed *t, int64_t time)
{
    for (uint32_t i = 0; i < t->limits->resources.count; i++) {
        ts__resource *const resource = ts__limits_at(t->limits, i);
        if (!resource->waiting.count) continue;
        ts__timed_next(t, resource, TS_NODE_NONE, time);
        return true;
    }
    return false;
}

// Starts a node that is ready, or queues it if its resource has no room.
static void ts__timed_arrive(ts__timed *t, uint32_t node, int64_t time)
{
    const ts_replay *const r = t->run->replay;
    const uint32_t of = node < r->op_count
                            ? ((const uint32_t *)t->limits->of.data)[node]
                            : TS_NODE_NONE;
    if (of == TS_NODE_NONE) {
        ts__timed_start(t, node, time);
        return;
    }
    ts__resource *const resource = ts__limits_at(t->limits, of);
    const uint32_t needs = ((const uint32_t *)t->limits->needs.data)[node];
    if (!resource->waiting.count && needs <= resource->room) {
        ts__timed_occupy(t, node, time);
        return;
    }
    const ts__ready item = { ts__timed_priority(t, node),
                             (uint64_t)t->arrivals++ << 32 | node };
    if (!ts__ready_push(&r->allocator, &resource->waiting, item))
        t->failed = true;
}

// Runs the nodes in order of time, with limits on resources.
static bool ts__rrun_timed(ts__rrun *run, ts__limits *limits, uint32_t *held)
{
    const ts_allocator *const a = &run->replay->allocator;
    ts__rvec ready = { 0 };
    if (!ts__rvec_reserve(a, &ready, sizeof(uint32_t), run->replay->node_count))
        return false;
    ts__timed t = { run, limits, (uint32_t *)ready.data, held, 0, false };
    const uint32_t count = ts__rrun_begin(run, t.queue);
    for (uint32_t i = 0; i < count; i++)
        ts__timed_push(&t, ts__timed_item(&t, ts__rrun_start(run, t.queue[i]),
                                          t.queue[i], TS__READY_STARTS));
    int64_t now = 0;
    do {
        while (limits->ready.count && !t.failed) {
            const ts__ready item = ts__ready_pop(&limits->ready);
            const uint32_t node = (uint32_t)item.place;
            now = item.time;
            if (item.place & TS__READY_STARTS)
                ts__timed_arrive(&t, node, now);
            else
                ts__timed_end(&t, node, now);
        }
    } while (!t.failed && ts__timed_force(&t, now));
    ts__rvec_close(a, &ready);
    return !t.failed;
}

/* ---- 11.58 Model: critical path ----------------------------------------- */
// src/replay/model/path.h

typedef struct ts__bound { // the edge that held a node back
    int64_t at;
    uint32_t from, edge;
} ts__bound;

typedef struct ts__walk {
    ts_replay *replay;
    ts__model *model;
    ts__rrun run; // the graph of the run, its delays and durations
    ts__rvec bounds;
    bool modelled;
    int64_t until; // from here on, every ns belongs to a part
    bool failed;
} ts__walk;

// Returns the start of a node; nodes that were not selected have that of the
// record.
static int64_t ts__walk_start(const ts__walk *w, uint32_t node)
{
    const ts_replay *const r = w->replay;
    return ts__replay_selected(r, node) ? ((const int64_t *)r->start.data)[node]
                                        : ts__replay_time(r)[node];
}

static int64_t ts__walk_end(const ts__walk *w, uint32_t node)
{
    const int64_t start = ts__walk_start(w, node);
    if (!ts__replay_selected(w->replay, node))
        return ts__replay_add(start, ts__replay_duration(w->replay)[node]);
    if (start == TS__NO_TIME) return start;
    return ts__replay_add(start, w->run.duration[node]);
}

static int64_t ts__walk_source(const ts__walk *w, uint32_t node, uint8_t kind)
{
    return kind & TS_EDGE_FROM_START ? ts__walk_start(w, node)
                                     : ts__walk_end(w, node);
}

// Returns the delay of an edge. For a run as recorded, it is the usual delay of
// its class: work that ended just now holds back less than a launch a moment
// earlier.
static int64_t ts__walk_delay(const ts__walk *w, uint32_t e)
{
    if (w->run.delay) return w->run.delay[e];
    const uint32_t class_of = ts__model_classes(w->model)[e];
    return ts__model_fixed(w->model)[e] +
           (class_of == TS_NODE_NONE
                ? 0
                : ts__model_class(w->model, class_of)->pub.delay_ns);
}

static bool ts__walk_bounds(ts__walk *w)
{
    const ts_replay *const r = w->replay;
    if (!ts__rvec_fill(&r->allocator, &w->bounds, sizeof(ts__bound),
                       r->node_count, 0xFF))
        return false;
    ts__bound *const bounds = (ts__bound *)w->bounds.data;
    for (uint32_t i = 0; i < r->node_count; i++) {
        if (!ts__rrun_counts(r, i) || ts__walk_start(w, i) == TS__NO_TIME)
            continue;
        for (uint32_t e = w->run.offsets[i]; e < w->run.offsets[i + 1]; e++) {
            ts__bound *const bound = &bounds[w->run.targets[e]];
            int64_t at = ts__walk_source(w, i, w->run.kinds[e]);
            at = ts__replay_add(at, ts__walk_delay(w, e));
            // On a tie the launch edge is chosen, as in ts__calibrate_holds.
            const bool launches =
                !w->modelled && TS_EDGE_KIND(w->run.kinds[e]) == TS_EDGE_LAUNCH;
            if (bound->from != TS_NODE_NONE &&
                (at < bound->at || (at == bound->at && !launches)))
                continue;
            const ts__bound found = { at, i, e };
            *bound = found;
        }
    }
    return true;
}

// Returns the node to name in a part: for a join the member that determines its
// cost.
static uint32_t ts__walk_owner(const ts_replay *r, uint32_t node)
{
    const uint32_t cost = ts__replay_cost_of(r, node);
    return cost == TS_NODE_NONE ? ts__node_owner(r, node) : cost;
}

static ts_cost ts__cost_of_node(const ts_replay *r, uint32_t node)
{
    if (node >= r->join_first) return TS_COST_COMMUNICATION;
    if (node >= r->op_count) return TS_COST_HOST;
    switch (ts__replay_op(r, node)->kind) {
    case TS_EVENT_KERNEL: return TS_COST_COMPUTE;
    case TS_EVENT_MEMCPY:
    case TS_EVENT_MEMSET: return TS_COST_COPY;
    case TS_EVENT_COLLECTIVE: return TS_COST_COMMUNICATION;
    case TS_EVENT_GRAPH_LAUNCH: return TS_COST_LAUNCH;
    case TS_EVENT_EVENT_RECORD:
    case TS_EVENT_EVENT_WAIT:
    case TS_EVENT_STREAM_SYNC:
    case TS_EVENT_DEVICE_SYNC:
    case TS_EVENT_EVENT_SYNC: return TS_COST_SYNC;
    default: return TS_COST_HOST;
    }
}

// Returns the category of the time between the end of an edge's source and its
// target.
static ts_cost ts__cost_of_edge(const ts__walk *w, uint32_t from, uint32_t to,
                                uint8_t kind)
{
    const ts_replay *const r = w->replay;
    switch (TS_EDGE_KIND(kind)) {
    case TS_EDGE_HOST_ORDER:
    case TS_EDGE_USER: return TS_COST_HOST;
    case TS_EDGE_SELF: return ts__cost_of_node(r, from);
    case TS_EDGE_LAUNCH:
        return to < r->op_count && ts__kind_syncs(ts__replay_op(r, to)->kind)
                   ? TS_COST_HOST
                   : TS_COST_LAUNCH;
    case TS_EDGE_STREAM_ORDER:
        return kind & TS_EDGE_FROM_START ? ts__cost_of_node(r, from)
                                         : TS_COST_LAUNCH;
    case TS_EDGE_GRAPH:
    case TS_EDGE_QUEUE: return TS_COST_LAUNCH;
    case TS_EDGE_COLLECTIVE:
    case TS_EDGE_P2P: return TS_COST_COMMUNICATION;
    default: return TS_COST_SYNC;
    }
}

// Adds a part from `start` to the beginning of the last added part.
static void ts__walk_part(ts__walk *w, int64_t start, uint32_t node,
                          uint32_t edge, bool waits, ts_cost cost)
{
    const int64_t first = w->replay->stats.start_ns;
    if (start < first) start = first;
    if (start >= w->until) return;
    ts_path_part *const part = (ts_path_part *)ts__rvec_push(
        &w->replay->allocator, &w->model->parts, sizeof *part);
    if (!part) {
        w->failed = true;
        return;
    }
    const ts_path_part found = { start, w->until, node, edge, waits, cost };
    *part = found;
    w->model->path.cost_ns[cost] += w->until - start;
    w->until = start;
}

// Returns when a node would have begun if its wait, from `source` on, had taken
// the usual time. Nothing explains the time after that.
static int64_t ts__walk_usual_start(const ts__walk *w, uint32_t node,
                                    int64_t source)
{
    if (!ts__model_is_held(w->model, node)) return w->until;
    const int64_t more = ((const int64_t *)w->model->residual.data)[node];
    const int64_t usual = ts__walk_start(w, node) - (more > 0 ? more : 0);
    return usual > source ? usual : source;
}

// Returns the first time at which the record shows anything of the thread of a
// call. The time before that is no work of the call.
static int64_t ts__walk_thread_begin(const ts_replay *r, uint32_t call)
{
    const ts__replay_lane *const lane =
        ts__replay_lane_at(r, ts__replay_lanes(r)[call]);
    const ts_replay_file *const file = ts__replay_file(r, lane->file);
    int64_t first = ts__replay_time(r)[call] - file->offset_ns;
    ts_chunk_info chunk;
    for (size_t i = 0; ts_reader_chunk(file->reader, i, &chunk); i++) {
        const ts_chunk_header *const h = &chunk.header;
        const bool host = h->event == TS_EVENT_ZONE ||
                          h->event == TS_EVENT_ZONE_OPEN ||
                          h->event == TS_EVENT_API_CALL;
        // A chunk with several tracks may contain the thread, too.
        if (h->kind == TS_CHUNK_EVENTS && host &&
            (!h->track || h->track == lane->track) && chunk.first_ns < first)
            first = chunk.first_ns;
    }
    return first + file->offset_ns;
}

// Whether the delay of an edge rests on too few samples. In a changed graph,
// edges have no class.
static bool ts__walk_assumes(const ts__walk *w, uint32_t e)
{
    if (w->model->offsets.count) return false;
    const uint32_t class_of = ts__model_classes(w->model)[e];
    if (class_of == TS_NODE_NONE) return false;
    const uint32_t of = ts__model_class(w->model, class_of)->of;
    return ts__model_class(w->model, of)->kept < TS__CLASS_SAMPLES;
}

// Adds the parts between a node and what held it, and returns the latter;
// TS_NODE_NONE: nothing did.
static uint32_t ts__walk_back(ts__walk *w, uint32_t node, bool *from_start)
{
    const uint32_t *const held = (const uint32_t *)w->model->held.data;
    if (w->modelled && w->model->held.count && held[node] != TS_NODE_NONE) {
        *from_start = false;
        return held[node];
    }
    const ts__bound *const bound = (const ts__bound *)w->bounds.data + node;
    const uint32_t owner = ts__walk_owner(w->replay, node);
    if (bound->from == TS_NODE_NONE) {
        if (owner >= w->replay->op_count)
            ts__walk_part(w, ts__walk_thread_begin(w->replay, owner), owner,
                          TS_EDGE_SELF, true, TS_COST_HOST);
        ts__walk_part(w, INT64_MIN, owner, TS_EDGE_SELF, true,
                      TS_COST_UNEXPLAINED);
        return TS_NODE_NONE;
    }
    const uint8_t kind = w->run.kinds[bound->edge];
    *from_start = kind & TS_EDGE_FROM_START;
    const int64_t source = ts__walk_source(w, bound->from, kind);
    ts__walk_part(
        w, w->modelled ? bound->at : ts__walk_usual_start(w, node, source),
        owner, TS_EDGE_KIND(kind), true, TS_COST_UNEXPLAINED);
    if (w->modelled && w->until > source && ts__walk_assumes(w, bound->edge))
        w->model->path.assumed_ns += w->until - source;
    ts__walk_part(w, source, owner, TS_EDGE_KIND(kind), true,
                  ts__cost_of_edge(w, bound->from, node, kind));
    return bound->from;
}

// Returns the end that comes last; on a tie that of the first operation in
// order.
static uint32_t ts__walk_last(const ts__walk *w)
{
    const ts_replay *const r = w->replay;
    uint32_t last = TS_NODE_NONE;
    int64_t latest = 0;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (ts__replay_op(r, i)->skip != TS_SKIP_NOT) continue;
        const uint32_t end = ts__replay_end_node(r, i);
        const int64_t at = ts__walk_end(w, end);
        if (last != TS_NODE_NONE && at <= latest) continue;
        last = end;
        latest = at;
    }
    return last;
}

static void ts__walk_all(ts__walk *w)
{
    const ts_replay *const r = w->replay;
    uint32_t node = ts__walk_last(w);
    if (node == TS_NODE_NONE) return;
    w->until = r->stats.end_ns;
    bool from_start = false;
    // Every step goes to an earlier node, so there are at most node_count
    // steps, except where the record has cycles among nodes that are not
    // selected.
    uint32_t last = node;
    for (uint32_t i = 0; i < r->node_count && node != TS_NODE_NONE; i++) {
        if (w->until <= r->stats.start_ns) break;
        last = node;
        if (!from_start)
            ts__walk_part(w, ts__walk_start(w, node), ts__walk_owner(r, node),
                          TS_EDGE_SELF, false, ts__cost_of_node(r, node));
        node = ts__walk_back(w, node, &from_start);
    }
    ts__walk_part(w, r->stats.start_ns, ts__walk_owner(r, last), TS_EDGE_SELF,
                  true, TS_COST_UNEXPLAINED);
}

static void ts__walk_reverse(ts__rvec *parts)
{
    ts_path_part *const all = (ts_path_part *)parts->data;
    for (size_t i = 0, k = parts->count; i + 1 < k; i++) {
        const ts_path_part part = all[i];
        all[i] = all[--k];
        all[k] = part;
    }
}

static ts__model *ts__model_of(ts_replay *r)
{
    if (r->model) return r->model;
    ts__model *const m =
        (ts__model *)r->allocator.resize(r->allocator.user, NULL, 0, sizeof *m);
    if (m) memset(m, 0, sizeof *m);
    return r->model = m;
}

static void ts__model_close(ts_replay *r);
// Returns the calibrated model; NULL: out of memory.
static ts__model *ts__model_calibrated(ts_replay *r)
{
    ts__model *const m = ts__model_of(r);
    if (!m || m->calibrated || ts__model_calibrate(r, m)) return m;
    ts__model_close(r);
    return NULL;
}

// Returns the graph that the last run used.
static ts__rrun ts__model_graph(ts_replay *r)
{
    ts__rrun run = ts__rrun_of(r);
    const ts__model *const m = r->model;
    if (!m->ran) return run;
    run.delay = (const int64_t *)m->delay.data;
    if (!m->offsets.count) return run;
    run.offsets = (const uint32_t *)m->offsets.data;
    run.targets = (const uint32_t *)m->targets.data;
    run.kinds = (const uint8_t *)m->kinds.data;
    return run;
}

TS_API ts_result ts_replay_path(ts_replay *replay, ts_path *path)
{
    if (!replay || !path) return TS_ERR_USAGE;
    if (!replay->start.count) return TS_ERR_STATE;
    ts__model *const m = ts__model_calibrated(replay);
    if (!m) return TS_ERR_MEMORY;
    if (!m->has_path) {
        ts__walk w = { 0 };
        w.replay = replay;
        w.model = m;
        w.run = ts__model_graph(replay);
        w.modelled = m->ran;
        m->parts.count = 0;
        memset(&m->path, 0, sizeof m->path);
        w.failed = !ts__walk_bounds(&w);
        if (!w.failed) ts__walk_all(&w);
        ts__rvec_close(&replay->allocator, &w.bounds);
        if (w.failed) return TS_ERR_MEMORY;
        ts__walk_reverse(&m->parts);
        for (uint32_t i = 0; i < TS_COST_LIMIT; i++)
            if (m->path.cost_ns[i] > m->path.cost_ns[m->path.bound])
                m->path.bound = (ts_cost)i;
        m->has_path = true;
    }
    m->path.parts = (const ts_path_part *)m->parts.data;
    m->path.count = m->parts.count;
    *path = m->path;
    return TS_OK;
}

/* ---- 11.59 Model: steps ------------------------------------------------- */
// src/replay/model/steps.h

typedef struct ts__step_zone {
    int64_t start_ns;
    uint64_t number;
    ts_text name;
} ts__step_zone;

// Parses the number of a name like "ProfilerStep#12".
static bool ts__step_number(ts_text name, uint64_t *number)
{
    static const char begin[] = "ProfilerStep#";
    const size_t size = sizeof begin - 1;
    if (name.size <= size || memcmp(name.text, begin, size)) return false;
    *number = 0;
    for (size_t i = size; i < name.size; i++) {
        if (name.text[i] < '0' || name.text[i] > '9') return false;
        *number = *number * 10 + (uint64_t)(name.text[i] - '0');
    }
    return true;
}

static bool ts__steps_any_zone(const ts_reader *reader)
{
    const ts_info *const info = ts_reader_info(reader);
    uint64_t number;
    uint32_t found = 0;
    for (uint32_t i = 1; found < info->site_count; i++) {
        if (!ts_reader_site(reader, i)) {
            if (i > info->site_count) break;
            continue;
        }
        found++;
        if (ts__step_number(ts_reader_site_name(reader, i), &number))
            return true;
    }
    return false;
}

// Reads the steps of a file in order of start, one for each number.
static bool ts__steps_read(ts_replay *r, ts__model *m, uint32_t file)
{
    const ts_replay_file *const f = ts__replay_file(r, file);
    const bool zones = ts__steps_any_zone(f->reader);
    if (!zones && !ts_reader_info(f->reader)->counts[TS_EVENT_FRAME])
        return true;
    const ts_filter filter = { .kinds =
                                   zones ? TS_FILTER(ZONE) : TS_FILTER(FRAME) };
    ts_cursor *cursor;
    if (ts_cursor_open(&cursor, f->reader, &filter) != TS_OK) return false;
    ts_event event;
    bool ok = true;
    while (ok && ts_cursor_next(cursor, &event)) {
        ts__step_zone zone = { ts__replay_add(event.start_ns, f->offset_ns),
                               m->step_zones.count,
                               { "frame", 5 } };
        if (zones) {
            zone.name = ts_reader_site_name(
                f->reader, (uint32_t)ts_event_value(&event, TS_COLUMN_SITE));
            if (!ts__step_number(zone.name, &zone.number)) continue;
        }
        const size_t count = m->step_zones.count;
        const ts__step_zone *const all = m->step_zones.data;
        // The profiler marks each step on the host and on the device.
        if (count && all[count - 1].number == zone.number) continue;
        ts__step_zone *const to = (ts__step_zone *)ts__rvec_push(
            &r->allocator, &m->step_zones, sizeof *to);
        ok = to != NULL;
        if (ok) *to = zone;
    }
    ts_cursor_close(cursor);
    return ok;
}

// Returns the index of the step in which the host issued an operation.
static size_t ts__steps_find(const ts__model *m, int64_t issue)
{
    const ts__step_zone *const zones =
        (const ts__step_zone *)m->step_zones.data;
    size_t low = 0, high = m->step_zones.count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (zones[middle].start_ns <= issue)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void ts__steps_times(const ts_replay *r, ts__model *m)
{
    ts_step *const steps = (ts_step *)m->steps.data;
    const size_t count = m->steps.count;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        if (op->skip != TS_SKIP_NOT) continue;
        ts_step *const step = &steps[ts__steps_find(m, ts__alter_issue(r, i))];
        const int64_t end = ts__op_end(r, i), was = ts__replay_end(r, i);
        if (!step->operations++ || end > step->end_ns) step->end_ns = end;
        if (step->operations == 1 || was > step->recorded_ns)
            step->recorded_ns = was;
    }
    int64_t last = r->stats.start_ns, was = r->stats.recorded_start_ns;
    for (size_t i = 0; i < count; i++) {
        ts_step *const step = &steps[i];
        step->start_ns = last;
        if (!step->operations || step->end_ns < last) step->end_ns = last;
        const int64_t recorded = step->operations && step->recorded_ns > was
                                     ? step->recorded_ns
                                     : was;
        step->recorded_ns = recorded - was;
        last = step->end_ns;
        was = recorded;
    }
}

static void ts__steps_costs(const ts_path *path, ts_step *steps, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < path->count; i++) {
        int64_t from = path->parts[i].start_ns;
        const int64_t to = path->parts[i].end_ns;
        while (from < to && at < count) {
            const int64_t end = to < steps[at].end_ns ? to : steps[at].end_ns;
            if (end > from)
                steps[at].cost_ns[path->parts[i].cost] += end - from;
            if (end > from) from = end;
            if (from >= steps[at].end_ns) at++;
        }
    }
}

TS_API ts_result ts_replay_steps(ts_replay *replay, const ts_step **steps,
                                 size_t *count)
{
    ts_path path;
    if (!replay || !steps || !count) return TS_ERR_USAGE;
    *count = 0;
    *steps = NULL;
    if (!replay->start.count) return TS_ERR_STATE;
    ts__model *const m = ts__model_of(replay);
    if (!m) return TS_ERR_MEMORY;
    for (uint32_t i = 0; !m->looked_for_steps && i < replay->files.count; i++) {
        if (!ts__steps_read(replay, m, i)) return TS_ERR_MEMORY;
        if (m->step_zones.count) break;
    }
    m->looked_for_steps = true;
    // Without steps the path is not needed; it costs time and memory.
    if (!m->step_zones.count) return TS_OK;
    const ts_result result = ts_replay_path(replay, &path);
    if (result != TS_OK) return result;
    if (!m->has_steps) {
        const size_t zones = m->step_zones.count;
        if (!ts__rvec_fill(&replay->allocator, &m->steps, sizeof(ts_step),
                           zones, 0))
            return TS_ERR_MEMORY;
        for (size_t i = 0; i < zones; i++) {
            const ts__step_zone *const zone =
                (const ts__step_zone *)m->step_zones.data + i;
            ((ts_step *)m->steps.data)[i].name = zone->name;
            ((ts_step *)m->steps.data)[i].number = zone->number;
        }
        if (zones) ts__steps_times(replay, m);
        ts__steps_costs(&path, (ts_step *)m->steps.data, zones);
        m->has_steps = true;
    }
    *steps = (const ts_step *)m->steps.data;
    *count = m->steps.count;
    return TS_OK;
}

/* ---- 11.60 Model: the run of a model ------------------------------------ */
// src/replay/model/run.h

static void ts__model_forget(ts_replay *r)
{
    ts__model *const m = r->model;
    if (!m) return;
    m->ran = m->has_path = m->has_steps = false;
    m->held.count = m->extra.count = m->inserted.count = m->offsets.count = 0;
}

static void ts__model_close(ts_replay *r)
{
    ts__model *const m = r->model;
    if (!m) return;
    ts__rvec *const vecs[] = {
        &m->classes,  &m->edge_class, &m->fixed,         &m->hold,
        &m->residual, &m->is_held,    &m->known.entries, &m->offsets,
        &m->targets,  &m->kinds,      &m->delay,         &m->gap,
        &m->held,     &m->parts,      &m->extra,         &m->inserted,
        &m->steps,    &m->step_zones
    };
    for (size_t i = 0; i < sizeof vecs / sizeof vecs[0]; i++)
        ts__rvec_close(&r->allocator, vecs[i]);
    r->allocator.resize(r->allocator.user, m, sizeof *m, 0);
    r->model = NULL;
}

static bool ts__change_ok(const ts_replay *r, const ts_change *change)
{
    if (change->factor.num && !change->factor.den) return false;
    if ((change->type == TS_CHANGE_INSERT || change->has_ns) &&
        (change->ns < 0 || change->ns > TS__REPLAY_TIME_MAX))
        return false;
    if (change->one_part && change->part >= r->parts.count) return false;
    for (size_t i = 0; change->sooner_ns && i < r->parts.count; i++)
        if (change->sooner_ns[i] < 0 ||
            change->sooner_ns[i] > TS__REPLAY_TIME_MAX)
            return false;
    for (size_t i = 0; i < change->span_count; i++)
        if (change->spans[i].end_ns < change->spans[i].start_ns) return false;
    return change->type >= TS_CHANGE_SCALE && change->type <= TS_CHANGE_BEGIN;
}

static int64_t ts__model_extra(const ts_replay *r, uint32_t op)
{
    if (!r->model || !r->model->extra.count) return 0;
    return ((const int64_t *)r->model->extra.data)[op];
}

// Returns how much earlier than in the record a node without predecessors
// begins.
static int64_t ts__model_sooner(const ts_replay *r, uint32_t node,
                                const ts_replay_run_desc *desc)
{
    int64_t sum = 0;
    for (size_t i = 0; i < desc->change_count; i++) {
        const ts_change *const change = &desc->changes[i];
        if (change->type == TS_CHANGE_BEGIN && change->sooner_ns &&
            node < r->op_count + r->call_count)
            sum = ts__replay_add(
                sum, change->sooner_ns[ts__replay_part_of(r, node)]);
    }
    return sum;
}

// Sets the residuals of the run. A node without edges in the record starts when
// it did there, or later if a change or a selection made it wait for something.
static void ts__model_gaps(ts__rrun *run, const ts__model *m,
                           const ts_replay_run_desc *desc)
{
    const ts_replay *const r = run->replay;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const bool led_to = run->gap[i] != TS__NO_TIME;
        run->gap[i] = 0;
        if (ts__model_is_held(m, i) && led_to) {
            run->gap[i] = ((const int64_t *)m->gap.data)[i];
            continue;
        }
        const int64_t begin = ts__replay_add(ts__replay_time(r)[i],
                                             -ts__model_sooner(r, i, desc));
        if (run->start[i] < begin) run->start[i] = begin;
    }
}

// Keeps streams first in, first out: an operation that began sooner than usual
// in the record still starts after the end of its predecessor on the stream.
// The record itself satisfies this, so an unchanged run stays the same.
static void ts__model_keep_fifo(const ts__rrun *run, ts__model *m)
{
    const ts_replay *const r = run->replay;
    const int64_t *const gap = (const int64_t *)m->gap.data;
    int64_t *const delay = (int64_t *)m->delay.data;
    for (uint32_t e = 0; e < run->offsets[r->node_count]; e++) {
        const uint32_t to = run->targets[e];
        if (run->kinds[e] == TS_EDGE_STREAM_ORDER && gap[to] < 0 &&
            ts__model_is_held(m, to) && delay[e] != TS__EDGE_OFF &&
            delay[e] < -gap[to])
            delay[e] = -gap[to];
    }
}

static bool ts__model_loop(ts__rrun *run, const ts_replay_run_desc *desc)
{
    ts_replay *const r = run->replay;
    ts__limits limits;
    bool ok = ts__limits_open(&limits, r, desc);
    if (ok && !limits.any) {
        ok = ts__rrun_loop(run);
    } else if (ok) {
        ts__rvec *const held = &r->model->held;
        ok = ts__rvec_fill(&r->allocator, held, sizeof(uint32_t), r->node_count,
                           0xFF) &&
             ts__rrun_timed(run, &limits, (uint32_t *)held->data);
    }
    ts__limits_close(&limits);
    return ok;
}

// Makes the times of inserted operations absolute: they were relative to the
// end of the operation before.
static void ts__model_inserted(ts_replay *r)
{
    const ts__model *const m = r->model;
    ts_inserted *const all = (ts_inserted *)m->inserted.data;
    for (size_t i = 0; i < m->inserted.count; i++) {
        const int64_t after = ts__op_end(r, all[i].after);
        all[i].start_ns = ts__replay_add(after, all[i].start_ns);
        all[i].end_ns = ts__replay_add(after, all[i].end_ns);
    }
}

static bool ts__model_run_changed(ts_replay *r, const ts_replay_run_desc *desc)
{
    ts__alter alter = { 0 };
    alter.replay = r;
    alter.model = r->model;
    alter.desc = desc;
    bool ok = ts__alter_all(&alter);
    r->model->ran = ok;
    ts__rrun run = ts__model_graph(r);
    if (ok) ok = ts__rrun_open(&run);
    if (ok) {
        ts__model_keep_fifo(&run, r->model);
        ts__rrun_edges(&run);
        ts__model_gaps(&run, r->model, desc);
        ok = ts__model_loop(&run, desc);
    }
    ts__rvec removed = { 0 };
    ok = ok &&
         ts__rvec_reserve(&r->allocator, &removed, sizeof(bool), r->op_count);
    run.removed = (const bool *)removed.data;
    for (uint32_t i = 0; ok && i < r->op_count; i++)
        ((bool *)removed.data)[i] = alter.flags[i] & TS__ALTER_REMOVED;
    ok = ok && ts__rrun_finish(&run);
    if (ok) ts__model_inserted(r);
    ts__rvec_close(&r->allocator, &removed);
    ts__rrun_close(&run);
    ts__alter_close(&alter);
    return ok;
}

static ts_result ts__model_run(ts_replay *r, const ts_replay_run_desc *desc)
{
    for (size_t i = 0; i < desc->change_count; i++)
        if (!ts__change_ok(r, &desc->changes[i])) return TS_ERR_USAGE;
    const ts__model *const m = ts__model_calibrated(r);
    if (!m) return TS_ERR_MEMORY;
    r->stats.unexplained = m->unexplained;
    r->stats.unexplained_ns = m->unexplained_ns;
    return ts__model_run_changed(r, desc) ? TS_OK : TS_ERR_MEMORY;
}

TS_API bool ts_replay_delay(const ts_replay *replay, size_t index,
                            ts_delay *delay)
{
    const ts__model *const m = replay->model;
    if (!m || !m->calibrated || index >= m->classes.count) return false;
    *delay = ts__model_class(m, index)->pub;
    return true;
}

TS_API bool ts_replay_inserted(const ts_replay *replay, size_t index,
                               ts_inserted *inserted)
{
    const ts__model *const m = replay->model;
    if (!m || index >= m->inserted.count) return false;
    *inserted = ((const ts_inserted *)m->inserted.data)[index];
    return true;
}

TS_API const char *ts_cost_name(uint32_t cost)
{
    switch (cost) {
#define TS__X(name, value, text) \
    case value: return text;
        TS_COSTS(TS__X)
#undef TS__X
    default: return "unknown";
    }
}

/* ---- 11.61 Timeline: state ---------------------------------------------- */
// src/replay/timeline/state.h

typedef struct ts__tl_device {
    ts_timeline_figures figures;
    int64_t slow_ns;   // work that begins later than this had another cause
    int64_t launch_ns; // median launch latency; 0: unknown
    uint32_t first;    // index of its first operation in ts_timeline.by_device
    int64_t start_ns, end_ns; // span of its work; equal: it has none
    // Begin of its first work in the window of an overview; TS__NO_TIME: none.
    int64_t own_ns;
    size_t gap_first, gap_count;
    ts__rvec concurrency; // int64_t
} ts__tl_device;

// The edge into a node that was satisfied last: the node is bound by it.
typedef struct ts__tl_binding {
    int64_t at_ns;
    uint32_t source; // TS_NODE_NONE: no edge
    uint8_t kind;
} ts__tl_binding;

// The root cause of a node's wait: see ts_timeline_culprit.
typedef struct ts__tl_root {
    uint32_t culprit;
    uint8_t edge;
    bool inferred, known;
} ts__tl_root;

// An interval in which a thread was blocked. Blocks of one thread and sort do
// not overlap.
typedef struct ts__tl_block {
    int64_t start_ns, end_ns;
    uint32_t lane, node;
    bool inferred;
} ts__tl_block;

enum { TS__BLOCK_SYNC, TS__BLOCK_QUEUE, TS__BLOCKS };
// Flags in lane_kinds: something other than call and stream delayed the begin
// or the end.
enum { TS__TL_BEGIN_HELD = 64, TS__TL_END_HELD = 128 };
enum { TS__HELD_SYNC = 1, TS__HELD_QUEUE = 2, TS__HELD_GUESS = 4 };

struct ts_timeline {
    const ts_replay *replay;
    ts_allocator allocator;
    bool replayed;
    bool windowed;
    int64_t from_ns, to_ns;
    const int64_t *file_begin; // see ts_timeline_desc.begin_ns
    // In an overview: for each device the end of all work that began before
    // from_ns, or TS__NO_TIME.
    const int64_t *reach;
    ts__rvec begin, finish; // int64_t of each node, if replayed
    ts__rvec bindings;      // ts__tl_binding of each node but calls
    ts__rvec roots;         // ts__tl_root of each node but calls
    ts__rvec held;          // uint8_t of each waiter: TS__HELD_...
    ts__rvec order;         // uint32_t: operations in order of begin
    ts__rvec by_device;     // uint32_t: the same, sorted by device
    ts__rvec issues;        // int64_t, sorted for each device
    ts__rvec by_lane;       // uint32_t: the same, sorted by lane
    // int64_t, sorted within each lane. Equal to the issue time of the
    // operation in by_lane unless the record breaks the first in, first out
    // order.
    ts__rvec lane_issues;
    ts__rvec lane_kinds; // uint8_t of each in by_lane: kind and TS__TL_...
    // uint32_t: first index in by_lane of each lane, and the end.
    ts__rvec lane_first;
    ts__rvec devices;            // ts__tl_device
    ts__rvec gaps;               // ts_gap, by device
    ts__rvec blocks[TS__BLOCKS]; // ts__tl_block, by thread
    int64_t end_ns;              // end of the last operation
    ts_timeline_figures total;
};

static ts__tl_device *ts__tl_device_at(const ts_timeline *t, size_t i)
{
    return (ts__tl_device *)t->devices.data + i;
}
static const uint32_t *ts__tl_u32(const ts__rvec *v)
{
    return (const uint32_t *)v->data;
}
static const int64_t *ts__tl_i64(const ts__rvec *v)
{
    return (const int64_t *)v->data;
}

static int64_t ts__tl_begin(const ts_timeline *t, uint32_t node)
{
    return t->replayed ? ts__tl_i64(&t->begin)[node]
                       : ts__replay_time(t->replay)[node];
}
static int64_t ts__tl_finish(const ts_timeline *t, uint32_t node)
{
    return t->replayed ? ts__tl_i64(&t->finish)[node]
                       : ts__replay_end(t->replay, node);
}

static bool ts__tl_is_call(const ts_replay *r, uint32_t node)
{
    return node >= r->op_count && node < r->op_count + r->call_count;
}

// Returns when the host issued an operation, at most its begin.
static int64_t ts__tl_issue(const ts_timeline *t, uint32_t op)
{
    const ts_replay *const r = t->replay;
    const ts__op *const o = ts__replay_op(r, op);
    const int64_t begin = ts__tl_begin(t, op);
    int64_t issue = begin;
    if (o->call != TS_NODE_NONE)
        issue = ts__tl_begin(t, o->call);
    else if (o->issue != TS__NO_TIME)
        issue = begin - (ts__replay_time(r)[op] - o->issue);
    return issue < begin ? issue : begin;
}

// Fills in the times of the run; nodes that did not run keep those of the
// record.
static bool ts__tl_times(ts_timeline *t)
{
    const ts_replay *const r = t->replay;
    if (!t->replayed) return true;
    const size_t size = sizeof(int64_t);
    if (!ts__rvec_reserve(&t->allocator, &t->begin, size, r->node_count) ||
        !ts__rvec_reserve(&t->allocator, &t->finish, size, r->node_count))
        return false;
    int64_t *const begin = (int64_t *)t->begin.data;
    int64_t *const finish = (int64_t *)t->finish.data;
    const int64_t *const start = ts__tl_i64(&r->start);
    const int64_t *const duration = r->changed.count == r->node_count
                                        ? ts__tl_i64(&r->changed)
                                        : ts__replay_duration(r);
    const uint32_t calls_end = r->op_count + r->call_count;
    for (uint32_t i = 0; i < r->node_count; i++) {
        begin[i] = ts__replay_time(r)[i];
        finish[i] = ts__replay_end(r, i);
        if (start[i] == TS__NO_TIME) continue;
        begin[i] = start[i];
        const uint32_t end = i < calls_end ? ts__replay_end_node(r, i) : i;
        if (end != i && start[end] == TS__NO_TIME) continue;
        finish[i] = i < r->op_count ? ts__op_end(r, i)
                    : end != i      ? start[end]
                                    : ts__replay_add(start[i], duration[i]);
    }
    return true;
}

// Whether the timeline covers an operation.
static bool ts__tl_covers(const ts_timeline *t, uint32_t op)
{
    const ts_replay *const r = t->replay;
    const uint32_t lane = ts__replay_lanes(r)[op];
    if (!ts__replay_selected(r, op) ||
        ts__kind_of_host(ts__replay_op(r, op)->kind,
                         ts__replay_lane_at(r, lane)->fifo))
        return false;
    return !t->replayed || ts__replay_op(r, op)->skip == TS_SKIP_NOT;
}

// Sorts the operations by their begin in the run.
static bool ts__tl_reorder(ts_timeline *t)
{
    uint32_t *const order = (uint32_t *)t->order.data;
    const size_t count = t->order.count;
    ts__rsort sort = { 0 };
    const bool ok = ts__rsort_open(&t->allocator, &sort, count);
    for (size_t i = 0; ok && i < count; i++) {
        ts__rsort_keys(&sort)[i] = ts__rsort_time(ts__tl_begin(t, order[i]));
        ts__rsort_index(&sort)[i] = order[i];
    }
    if (ok) ts__rsort_run(&sort, count);
    if (ok && count)
        memcpy(order, ts__rsort_index(&sort), count * sizeof *order);
    ts__rsort_close(&t->allocator, &sort);
    return ok;
}

// Lists the operations in order of begin, then of the record, which is the
// order of their numbers.
static bool ts__tl_order(ts_timeline *t)
{
    const ts_replay *const r = t->replay;
    if (!ts__rvec_reserve(&t->allocator, &t->order, sizeof(uint32_t),
                          r->op_count))
        return false;
    uint32_t *const order = (uint32_t *)t->order.data;
    size_t count = 0;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (!ts__tl_covers(t, i)) continue;
        order[count++] = i;
        const int64_t finish = ts__tl_finish(t, i);
        if (count == 1 || finish > t->end_ns) t->end_ns = finish;
    }
    t->order.count = count;
    return !t->replayed || ts__tl_reorder(t);
}

/* ---- 11.62 Timeline: root causes of waits ------------------------------- */
// src/replay/timeline/waits.h

// Returns the index of a node when calls are left out; calls have no bonds
// here.
static uint32_t ts__tl_index(const ts_replay *r, uint32_t node)
{
    return node < r->op_count ? node : node - r->call_count;
}
static ts__tl_binding *ts__tl_binding_of(const ts_timeline *t, uint32_t node)
{
    return (ts__tl_binding *)t->bindings.data + ts__tl_index(t->replay, node);
}

// Whether an edge takes precedence over another one satisfied at the same time.
static bool ts__tl_prefers(uint8_t kind, uint8_t other)
{
    const uint8_t guess = kind & TS_EDGE_INFERRED;
    if (guess != (other & TS_EDGE_INFERRED)) return !guess;
    return TS_EDGE_KIND(kind) > TS_EDGE_KIND(other);
}

// Notes which calls were blocked by a wait or by a full queue.
static void ts__tl_hold(ts_timeline *t, uint32_t node, uint8_t kind)
{
    const ts_replay *const r = t->replay;
    const uint32_t first = r->op_count + r->call_count;
    const uint8_t edge = TS_EDGE_KIND(kind);
    if (node < first || node >= r->join_first ||
        (edge != TS_EDGE_SYNC && edge != TS_EDGE_QUEUE))
        return;
    ((uint8_t *)t->held.data)[node - first] |=
        edge == TS_EDGE_QUEUE     ? TS__HELD_QUEUE
        : kind & TS_EDGE_INFERRED ? TS__HELD_GUESS
                                  : TS__HELD_SYNC;
}

// Whether an operation is an event wait of zero duration. Its recorded time may
// be when the stream reached it or when its event completed.
static bool ts__tl_is_instant(const ts_timeline *t, uint32_t op)
{
    return op < t->replay->op_count &&
           ts__replay_op(t->replay, op)->kind == TS_EVENT_EVENT_WAIT &&
           ts__tl_begin(t, op) == ts__tl_finish(t, op);
}

// Binds such a wait to its event, unless the stream reached it later. The edge
// from its own begin was ignored before, since that time is ambiguous.
static void ts__tl_bind_instants(ts_timeline *t)
{
    const ts_replay *const r = t->replay;
    for (size_t i = 0; i < r->waiters.count; i++) {
        const uint32_t op = ts__tl_u32(&r->waiters)[i];
        if (!ts__tl_is_instant(t, op)) continue;
        const ts__tl_binding *const own = ts__tl_binding_of(t, op);
        ts__tl_binding *const end =
            ts__tl_binding_of(t, ts__replay_end_node(r, op));
        if (end->source != TS_NODE_NONE &&
            (own->source == TS_NODE_NONE || own->at_ns <= end->at_ns))
            continue;
        end->at_ns = ts__tl_begin(t, op);
        end->source = op;
        end->kind = TS_EDGE_SELF | TS_EDGE_FROM_START;
    }
}

// Finds for each node the edge that was satisfied last.
static bool ts__tl_bind(ts_timeline *t)
{
    const ts_replay *const r = t->replay;
    const ts_allocator *const a = &t->allocator;
    if (!ts__rvec_fill(a, &t->bindings, sizeof(ts__tl_binding),
                       r->node_count - r->call_count, 0xFF) ||
        !ts__rvec_fill(a, &t->held, sizeof(uint8_t), r->waiters.count, 0))
        return false;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const int64_t begin = ts__tl_begin(t, i), end = ts__tl_finish(t, i);
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++) {
            const uint32_t to = ts__replay_target(r, e);
            if (ts__tl_is_call(r, to)) continue;
            const uint8_t kind = ts__replay_kind(r, e);
            const int64_t at = kind & TS_EDGE_FROM_START ? begin : end;
            ts__tl_binding *const binding = ts__tl_binding_of(t, to);
            ts__tl_hold(t, to, kind);
            if (TS_EDGE_KIND(kind) == TS_EDGE_SELF && ts__tl_is_instant(t, i))
                continue;
            if (binding->source != TS_NODE_NONE &&
                (at < binding->at_ns || (at == binding->at_ns &&
                                         !ts__tl_prefers(kind, binding->kind))))
                continue;
            binding->at_ns = at;
            binding->source = i;
            binding->kind = kind;
        }
    }
    ts__tl_bind_instants(t);
    return true;
}

// Returns the kind of edge that a node is bound by; TS_EDGE_SELF if there is
// none.
static uint8_t ts__tl_bound_by(const ts_timeline *t, uint32_t node)
{
    const ts__tl_binding *const binding = ts__tl_binding_of(t, node);
    return binding->source == TS_NODE_NONE ? TS_EDGE_SELF
                                           : TS_EDGE_KIND(binding->kind);
}

// Whether a node can be a root cause: a host call, an operation of the host, or
// an operation that takes time on a stream.
static bool ts__tl_is_root(const ts_timeline *t, uint32_t node)
{
    const ts_replay *const r = t->replay;
    if (node >= r->op_count) return ts__tl_is_call(r, node);
    const uint8_t kind = ts__replay_op(r, node)->kind;
    const uint32_t lane = ts__replay_lanes(r)[node];
    if (ts__kind_works(kind) || kind == TS_EVENT_HOST_FUNCTION)
        return ts__tl_finish(t, node) > ts__tl_begin(t, node);
    return ts__kind_of_host(kind, ts__replay_lane_at(r, lane)->fifo);
}

// Returns the node that `node` was bound by, TS_NODE_NONE if there is none.
// *stops: it is a root cause (for an end node its owner is returned).
static uint32_t ts__tl_previous(const ts_timeline *t, uint32_t node,
                                bool *stops)
{
    const ts_replay *const r = t->replay;
    *stops = true;
    const uint32_t from = ts__tl_binding_of(t, node)->source;
    if (from == TS_NODE_NONE) return TS_NODE_NONE;
    const uint32_t owner = ts__node_owner(r, from);
    // At the end of a synchronisation, continue with what the synchronisation
    // waited for.
    const bool through = owner != from && owner < r->op_count &&
                         ts__kind_syncs(ts__replay_op(r, owner)->kind) &&
                         ts__tl_bound_by(t, from) != TS_EDGE_SELF;
    if (!through && ts__tl_is_root(t, owner)) return owner;
    *stops = false;
    return from;
}

static ts__tl_root *ts__tl_root_at(const ts_timeline *t, uint32_t node)
{
    return (ts__tl_root *)t->roots.data + ts__tl_index(t->replay, node);
}

// Returns the root of `node`, given the root of the node it was bound by.
static ts__tl_root ts__tl_root_from(const ts_timeline *t, uint32_t node,
                                    uint32_t back, bool stops)
{
    ts__tl_root root = { TS_NODE_NONE, TS_EDGE_SELF, false, true };
    if (back == TS_NODE_NONE) return root;
    const uint8_t kind = ts__tl_binding_of(t, node)->kind;
    const uint8_t edge = TS_EDGE_KIND(kind);
    root.culprit = back;
    root.edge = edge;
    if (!stops) {
        const ts__tl_root *const behind = ts__tl_root_at(t, back);
        root.culprit = behind->culprit;
        root.inferred = behind->inferred;
        if (edge == TS_EDGE_SELF || edge == TS_EDGE_STREAM_ORDER)
            root.edge = behind->edge;
    }
    root.inferred |= (kind & TS_EDGE_INFERRED) != 0;
    return root;
}

// Prefetches the node that binds an operation; it may be anywhere in memory.
static void ts__tl_prefetch(const ts_timeline *t, uint32_t op)
{
    const ts_replay *const r = t->replay;
    const uint32_t from = ts__tl_binding_of(t, op)->source;
    if (from >= r->op_count) return;
    __builtin_prefetch(ts__replay_op(r, from));
    __builtin_prefetch(&ts__replay_time(r)[from]);
    __builtin_prefetch(&ts__replay_duration(r)[from]);
}

/*
    Finds the root cause of every node. Each step is taken once, since a path
    that reaches an earlier one ends there. Cycles exist only in damaged
    records; a path ends where it closes one. What calls wait for is not
    followed.
*/
static bool ts__tl_find_roots(ts_timeline *t)
{
    const ts_replay *const r = t->replay;
    const ts_allocator *const a = &t->allocator;
    ts__rvec path = { 0 };
    if (!ts__rvec_fill(a, &t->roots, sizeof(ts__tl_root),
                       r->node_count - r->call_count, 0))
        return false;
    bool ok = true;
    for (uint32_t i = 0; ok && i < r->node_count; i++) {
        uint32_t node = i;
        if (ts__tl_is_call(r, i)) continue;
        if (i + 16 < r->op_count) ts__tl_prefetch(t, i + 16);
        bool stops = false;
        uint32_t back = ts__tl_previous(t, node, &stops);
        if (stops) { // most do
            *ts__tl_root_at(t, node) = ts__tl_root_from(t, node, back, true);
            continue;
        }
        for (path.count = 0; ok && !stops && !ts__tl_root_at(t, node)->known;) {
            uint32_t *const step =
                (uint32_t *)ts__rvec_push(a, &path, sizeof *step);
            ok = step != NULL;
            if (!ok) break;
            *step = node;
            ts__tl_root_at(t, node)->known = true;
            ts__tl_root_at(t, node)->culprit = TS_NODE_NONE;
            back = ts__tl_previous(t, node, &stops);
            if (!stops) node = back;
        }
        while (ok && path.count) {
            const uint32_t step = ts__tl_u32(&path)[--path.count];
            back = ts__tl_previous(t, step, &stops);
            *ts__tl_root_at(t, step) = ts__tl_root_from(t, step, back, stops);
        }
    }
    ts__rvec_close(a, &path);
    return ok;
}

/* ---- 11.63 Timeline: blocked threads ------------------------------------ */
// src/replay/timeline/threads.h

static bool ts__tl_block_add(ts_timeline *t, int sort, uint32_t node,
                             uint32_t lane, bool inferred)
{
    ts__tl_block *const block = (ts__tl_block *)ts__rvec_push(
        &t->allocator, &t->blocks[sort], sizeof *block);
    if (!block) return false;
    block->start_ns = ts__tl_begin(t, node);
    block->end_ns = ts__tl_finish(t, node);
    block->lane = lane;
    block->node = node;
    block->inferred = inferred;
    return true;
}

// Lists blocked calls and synchronisations. The calls come first, so that a
// call which also has a synchronisation event is named instead of that event.
static bool ts__tl_block_list(ts_timeline *t)
{
    const ts_replay *const r = t->replay;
    ts__rmap threads = { { 0 }, 0 };
    bool ok = true;
    for (size_t i = 0; ok && i < r->waiters.count; i++) {
        const uint32_t owner = ts__tl_u32(&r->waiters)[i];
        const uint8_t held = ((const uint8_t *)t->held.data)[i];
        if (!held || !ts__tl_is_call(r, owner)) continue;
        const uint32_t end = ts__replay_end_node(r, owner);
        const bool queue = ts__tl_bound_by(t, end) == TS_EDGE_QUEUE;
        // The queue did not hold it up.
        if (!queue && held == TS__HELD_QUEUE) continue;
        // A query, or a wait for something already completed, did not block.
        if (ts__tl_binding_of(t, end)->at_ns <= ts__tl_begin(t, owner))
            continue;
        ok = ts__tl_block_add(t, queue ? TS__BLOCK_QUEUE : TS__BLOCK_SYNC,
                              owner, ts__replay_lanes(r)[owner],
                              !queue && !(held & TS__HELD_SYNC));
    }
    for (uint32_t i = 0; ok && i < r->lanes.count; i++) {
        const ts__replay_lane *const lane = ts__replay_lane_at(r, i);
        ok = ts__rmap_put(&t->allocator, &threads,
                          ts__replay_key(lane->file, lane->track), i);
    }
    for (uint32_t i = 0; ok && i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        if (!ts__kind_syncs(op->kind) || !op->thread) continue;
        const uint32_t lane = ts__rmap_get(
            &threads, ts__replay_key(ts__replay_file_of(r, i), op->thread));
        if (lane != TS_NODE_NONE)
            ok = ts__tl_block_add(t, TS__BLOCK_SYNC, i, lane, false);
    }
    ts__rvec_close(&t->allocator, &threads.entries);
    return ok;
}

// Sorts blocks by thread and start, and merges overlapping ones.
static bool ts__tl_block_sort(ts_timeline *t, ts__rvec *blocks)
{
    const size_t count = blocks->count;
    if (!count) return true;
    const ts__tl_block *const from = (const ts__tl_block *)blocks->data;
    ts__rsort sort = { 0 };
    ts__rvec sorted = { 0 };
    const bool ok =
        ts__rsort_open(&t->allocator, &sort, count) &&
        ts__rvec_reserve(&t->allocator, &sorted, sizeof *from, count);
    for (int key = 0; ok && key < 2; key++) {
        for (size_t i = 0; i < count; i++) {
            if (!key) ts__rsort_index(&sort)[i] = (uint32_t)i;
            const ts__tl_block *const b = &from[ts__rsort_index(&sort)[i]];
            ts__rsort_keys(&sort)[i] =
                key ? b->lane : ts__rsort_time(b->start_ns);
        }
        ts__rsort_run(&sort, count);
    }
    ts__tl_block *const to = (ts__tl_block *)sorted.data;
    size_t kept = 0;
    for (size_t i = 0; ok && i < count; i++) {
        const ts__tl_block b = from[ts__rsort_index(&sort)[i]];
        ts__tl_block *const last = kept ? &to[kept - 1] : NULL;
        if (last && last->lane == b.lane && b.start_ns < last->end_ns) {
            last->inferred &= b.inferred;
            if (b.end_ns > last->end_ns) last->end_ns = b.end_ns;
            continue;
        }
        to[kept++] = b;
    }
    ts__rsort_close(&t->allocator, &sort);
    if (!ok) return false;
    ts__rvec_close(&t->allocator, blocks);
    *blocks = sorted;
    blocks->count = kept;
    return true;
}

static bool ts__tl_blocks(ts_timeline *t)
{
    return ts__tl_block_list(t) && ts__tl_block_sort(t, &t->blocks[0]) &&
           ts__tl_block_sort(t, &t->blocks[1]);
}

// Returns the index of the first block of a thread, or of a later thread, that
// ends at or after `time` (with `after`: later than `time`).
static size_t ts__tl_block_find(const ts__rvec *blocks, uint32_t lane,
                                int64_t time, bool after)
{
    const ts__tl_block *const list = (const ts__tl_block *)blocks->data;
    size_t low = 0, high = blocks->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const ts__tl_block *const b = &list[middle];
        const bool less =
            b->lane != lane ? b->lane < lane
                            : b->end_ns < time || (after && b->end_ns == time);
        if (less)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Returns how long a thread was blocked in blocks that end in [from, to].
// *longest receives the first of the longest such blocks, NULL if there is
// none.
static int64_t ts__tl_blocked(const ts_timeline *t, int sort, uint32_t lane,
                              int64_t from, int64_t to,
                              const ts__tl_block **longest)
{
    const ts__rvec *const blocks = &t->blocks[sort];
    const ts__tl_block *const list = (const ts__tl_block *)blocks->data;
    const size_t end = ts__tl_block_find(blocks, lane, to, true);
    int64_t sum = 0, most = -1;
    *longest = NULL;
    for (size_t i = ts__tl_block_find(blocks, lane, from, false); i < end;
         i++) {
        const int64_t length = list[i].end_ns - list[i].start_ns;
        sum = ts__replay_add(sum, length);
        if (length <= most) continue;
        most = length;
        *longest = &list[i];
    }
    return sum;
}

/* ---- 11.64 Timeline: lists by device and stream ------------------------- */
// src/replay/timeline/lists.h

// Whether a node waited for something other than its call and its predecessor
// on the stream.
static bool ts__tl_is_held(const ts_timeline *t, uint32_t node)
{
    const uint8_t edge = ts__tl_bound_by(t, node);
    return edge != TS_EDGE_SELF && edge != TS_EDGE_LAUNCH &&
           edge != TS_EDGE_STREAM_ORDER;
}

// Returns an entry of lane_kinds.
static uint8_t ts__tl_kind_of(const ts_timeline *t, uint32_t op)
{
    uint8_t kind = ts__replay_op(t->replay, op)->kind;
    const bool waits = kind == TS_EVENT_EVENT_WAIT;
    const uint32_t end = waits ? ts__replay_end_node(t->replay, op) : op;
    if (ts__tl_is_held(t, op)) kind |= TS__TL_BEGIN_HELD;
    if (end != op && ts__tl_is_held(t, end)) kind |= TS__TL_END_HELD;
    return kind;
}

// Replaces each count by the end offset of its group. Filling the groups from
// the back then leaves the start offsets.
static void ts__tl_sum_up(uint32_t *counts, size_t count)
{
    uint32_t sum = 0;
    for (size_t i = 0; i <= count; i++)
        counts[i] = sum += counts[i];
}

// Sorts the operations by device and by lane; the order within each is kept.
static bool ts__tl_split(ts_timeline *t, ts__rvec *device_first)
{
    const ts_replay *const r = t->replay;
    const ts_allocator *const a = &t->allocator;
    const size_t ops = t->order.count, devices = r->device_results.count;
    if (!ts__rvec_reserve(a, &t->by_device, sizeof(uint32_t), ops) ||
        !ts__rvec_reserve(a, &t->by_lane, sizeof(uint32_t), ops) ||
        !ts__rvec_reserve(a, &t->lane_issues, sizeof(int64_t), ops) ||
        !ts__rvec_reserve(a, &t->lane_kinds, sizeof(uint8_t), ops) ||
        !ts__rvec_fill(a, device_first, sizeof(uint32_t), devices + 1, 0) ||
        !ts__rvec_fill(a, &t->lane_first, sizeof(uint32_t), r->lanes.count + 1,
                       0))
        return false;
    uint32_t *const by_device = (uint32_t *)device_first->data;
    uint32_t *const by_lane = (uint32_t *)t->lane_first.data;
    for (size_t i = 0; i < ops; i++)
        by_lane[ts__replay_lanes(r)[ts__tl_u32(&t->order)[i]]]++;
    for (size_t i = 0; i < r->lanes.count; i++)
        if (by_lane[i])
            by_device[ts__replay_lane_at(r, i)->device] += by_lane[i];
    ts__tl_sum_up(by_device, devices);
    ts__tl_sum_up(by_lane, r->lanes.count);
    for (size_t i = ops; i-- > 0;) {
        const uint32_t op = ts__tl_u32(&t->order)[i];
        const uint32_t lane = ts__replay_lanes(r)[op];
        const uint32_t device = ts__replay_lane_at(r, lane)->device;
        const uint32_t at = --by_lane[lane];
        ((uint32_t *)t->by_lane.data)[at] = op;
        ((int64_t *)t->lane_issues.data)[at] = ts__tl_issue(t, op);
        ((uint8_t *)t->lane_kinds.data)[at] = ts__tl_kind_of(t, op);
        ((uint32_t *)t->by_device.data)[--by_device[device]] = op;
    }
    t->by_lane.count = t->lane_issues.count = t->by_device.count = ops;
    return true;
}

// Sorts times by insertion, since most are nearly in order already. If that
// takes more than 16 moves per time on average, a radix sort takes over.
static bool ts__tl_sort_times(const ts_timeline *t, ts__rsort *sort,
                              int64_t *times, size_t count)
{
    size_t moves = 16 * count;
    for (size_t i = 1; i < count; i++) {
        const int64_t time = times[i];
        size_t at = i;
        for (; at && times[at - 1] > time && moves; at--, moves--)
            times[at] = times[at - 1];
        times[at] = time;
    }
    if (moves) return true;
    if (!ts__rsort_open(&t->allocator, sort, count)) return false;
    for (size_t i = 0; i < count; i++) {
        ts__rsort_keys(sort)[i] = ts__rsort_time(times[i]);
        ts__rsort_index(sort)[i] = 0;
    }
    ts__rsort_run(sort, count);
    for (size_t i = 0; i < count; i++)
        times[i] = (int64_t)(ts__rsort_keys(sort)[i] ^ UINT64_C(1) << 63);
    return true;
}

// Streams are first in, first out. Where the recorded issue times contradict
// that, the issue times of the lane are sorted.
static bool ts__tl_sort_lanes(ts_timeline *t)
{
    ts__rsort sort = { 0 };
    bool ok = true;
    for (size_t i = 0; ok && i < t->replay->lanes.count; i++) {
        const uint32_t *const first = ts__tl_u32(&t->lane_first) + i;
        ok = ts__tl_sort_times(t, &sort,
                               (int64_t *)t->lane_issues.data + first[0],
                               first[1] - first[0]);
    }
    ts__rsort_close(&t->allocator, &sort);
    return ok;
}

static bool ts__tl_lists(ts_timeline *t)
{
    const size_t devices = t->replay->device_results.count;
    ts__rvec first = { 0 };
    const bool ok = ts__rvec_fill(&t->allocator, &t->devices,
                                  sizeof(ts__tl_device), devices + 1, 0) &&
                    ts__tl_split(t, &first) && ts__tl_sort_lanes(t) &&
                    ts__rvec_reserve(&t->allocator, &t->issues, sizeof(int64_t),
                                     t->order.count);
    for (size_t i = 0; ok && i <= devices; i++)
        ts__tl_device_at(t, i)->first = ts__tl_u32(&first)[i];
    t->devices.count = ok ? devices : 0;
    ts__rvec_close(&t->allocator, &first);
    return ok;
}

/* ---- 11.65 Timeline: busy, idle, concurrency ---------------------------- */
// src/replay/timeline/busy.h

static ts_work ts__tl_work(uint8_t kind)
{
    return kind == TS_EVENT_KERNEL       ? TS_WORK_KERNEL
           : kind == TS_EVENT_COLLECTIVE ? TS_WORK_COLLECTIVE
                                         : TS_WORK_COPY;
}

// Returns how much of [from, to) lies in the window.
static int64_t ts__tl_clip(const ts_timeline *t, int64_t from, int64_t to)
{
    if (t->windowed) {
        if (from < t->from_ns) from = t->from_ns;
        if (to > t->to_ns) to = t->to_ns;
    }
    return to > from ? to - from : 0;
}

// Whether a time lies in the window.
static bool ts__tl_inside(const ts_timeline *t, int64_t time)
{
    return !t->windowed || (time >= t->from_ns && time < t->to_ns);
}

// Returns how much of [from, to) counts in the window. An overview counts an
// interval as a whole in the window in which it ends, so that no other window
// counts it again.
static int64_t ts__tl_share(const ts_timeline *t, int64_t from, int64_t to)
{
    if (!t->reach) return ts__tl_clip(t, from, to);
    return to > from && ts__tl_inside(t, to) ? to - from : 0;
}

// Sweeps over the operations of one device in order of time.
typedef struct ts__tl_sweep {
    ts_timeline *timeline;
    ts__tl_device *device;
    int64_t now;
    uint32_t running[TS_WORK_LIMIT], all;
    ts__rvec ends; // heap of ts__ready whose `place` is a ts_work
} ts__tl_sweep;

// Adds the time from `now` to `to` to the figures of what is running.
static bool ts__tl_advance(ts__tl_sweep *s, int64_t to)
{
    ts_timeline *const t = s->timeline;
    const int64_t part = ts__tl_clip(t, s->now, to);
    s->now = to;
    ts__rvec *const levels = &s->device->concurrency;
    while (levels->count <= s->all) {
        int64_t *const level =
            (int64_t *)ts__rvec_push(&t->allocator, levels, sizeof *level);
        if (!level) return false;
        *level = 0;
    }
    ((int64_t *)levels->data)[s->all] += part;
    if (!s->all) return true;
    ts_timeline_figures *const f = &s->device->figures;
    f->busy_ns += part;
    bool first = true;
    for (int i = 0; i < TS_WORK_LIMIT; i++) {
        if (!s->running[i]) continue;
        f->work_ns[i] += part;
        if (first) f->only_ns[i] += part;
        first = false;
    }
    return true;
}

static bool ts__tl_advance_ends(ts__tl_sweep *s, int64_t until)
{
    while (s->ends.count && ((const ts__ready *)s->ends.data)->time <= until) {
        const ts__ready end = ts__ready_pop(&s->ends);
        if (!ts__tl_advance(s, end.time)) return false;
        s->running[end.place]--;
        s->all--;
    }
    return true;
}

// Adds the gap that ends when `op` begins.
static bool ts__tl_gap_add(ts__tl_sweep *s, uint32_t op, int64_t begin)
{
    ts_timeline *const t = s->timeline;
    const int64_t part = ts__tl_share(t, s->now, begin);
    s->device->figures.idle_ns += part;
    if (!part) return true;
    ts_gap *const gap =
        (ts_gap *)ts__rvec_push(&t->allocator, &t->gaps, sizeof *gap);
    if (!gap) return false;
    memset(gap, 0, sizeof *gap);
    gap->start_ns = s->now;
    gap->end_ns = begin;
    gap->operation = op;
    return true;
}

// Advances to the begin of an operation and adds the operation to what runs.
static bool ts__tl_sweep_op(ts__tl_sweep *s, uint32_t op)
{
    const ts_timeline *const t = s->timeline;
    const uint8_t kind = ts__replay_op(t->replay, op)->kind;
    const int64_t begin = ts__tl_begin(t, op), end = ts__tl_finish(t, op);
    if (end <= begin || !ts__tl_advance_ends(s, begin)) return end <= begin;
    if (!s->all && begin > s->now && !ts__tl_gap_add(s, op, begin))
        return false;
    if (!ts__tl_advance(s, begin)) return false;
    const ts_work work = ts__tl_work(kind);
    const ts__ready item = { end, (uint64_t)work };
    s->running[work]++;
    s->all++;
    return ts__ready_push(&t->allocator, &s->ends, item);
}

// Returns when the span of a device begins: with its first work, or when the
// cut or the selection begins, if that is earlier.
static int64_t ts__tl_span_start(const ts_timeline *t, const ts__tl_device *d,
                                 uint32_t file)
{
    const ts_replay_file *const f = ts__replay_file(t->replay, file);
    ts_metadata m;
    int64_t begin = INT64_MAX;
    if (t->file_begin)
        begin = t->file_begin[file];
    else if (ts_reader_metadata(f->reader, 0, "cut.begin_ns", &m) &&
             m.type == TS_VALUE_INT && ts__replay_time_ok((int64_t)m.number))
        begin = (int64_t)m.number;
    if (t->replayed || t->reach || begin == INT64_MAX) return d->start_ns;
    begin = ts__replay_add(begin, f->offset_ns);
    return begin < d->start_ns ? begin : d->start_ns;
}

static bool ts__tl_sweep_device(ts_timeline *t, size_t index)
{
    ts__tl_device *const d = ts__tl_device_at(t, index);
    ts_timeline_figures *const f = &d->figures;
    const ts_lane *const lane =
        (const ts_lane *)t->replay->device_results.data + index;
    int64_t start = d->start_ns, end = d->end_ns;
    if (start != end) start = ts__tl_span_start(t, d, lane->file);
    ts__tl_sweep s = { t, d, start, { 0 }, 0, { 0 } };
    if (t->reach && t->reach[index] != TS__NO_TIME) s.now = t->reach[index];
    f->file = lane->file;
    f->track = lane->track;
    d->gap_first = t->gaps.count;
    if (start == end) return true;
    bool ok = true;
    for (uint32_t i = d->first; ok && i < d[1].first; i++) {
        const uint32_t op = ts__tl_u32(&t->by_device)[i];
        if (!ts__kind_works(ts__replay_op(t->replay, op)->kind)) continue;
        const int64_t begin = ts__tl_begin(t, op);
        f->operations +=
            ts__tl_inside(t, begin) || (!t->reach && begin < t->from_ns &&
                                        ts__tl_finish(t, op) > t->from_ns);
        ok = ts__tl_sweep_op(&s, op);
    }
    ok = ok && ts__tl_advance_ends(&s, end);
    ts__rvec_close(&t->allocator, &s.ends);
    d->gap_count = t->gaps.count - d->gap_first;
    if (t->windowed && start < t->from_ns) start = t->from_ns;
    if (t->windowed && end > t->to_ns) end = t->to_ns;
    f->start_ns = start;
    f->end_ns = end > start ? end : start;
    return ok;
}

/* ---- 11.66 Timeline: queues and launches -------------------------------- */
// src/replay/timeline/queues.h

// Returns the value at index `place` of the sorted values without sorting them:
// a radix selection with digits of 11 bits, from the highest down.
static uint64_t ts__tl_select(const uint64_t *values, size_t count,
                              size_t place)
{
    uint64_t most = 0, prefix = 0, mask = 0;
    for (size_t i = 0; i < count; i++)
        most |= values[i];
    for (int shift = 55; shift >= 0; shift -= 11) {
        if (!(most >> shift)) continue;
        size_t counts[2048] = { 0 };
        for (size_t i = 0; i < count; i++)
            if ((values[i] & mask) == prefix)
                counts[values[i] >> shift & 2047]++;
        uint64_t digit = 0;
        while (place >= counts[digit])
            place -= counts[digit++];
        prefix |= digit << shift;
        mask |= UINT64_C(2047) << shift;
    }
    return prefix;
}

// Whether an operation waited for its launch. Without a call of its own the
// recorded enqueue time counts.
static bool ts__tl_by_launch(const ts_timeline *t, uint32_t op, int64_t issue)
{
    const ts__tl_binding *const binding = ts__tl_binding_of(t, op);
    if (binding->source != TS_NODE_NONE &&
        TS_EDGE_KIND(binding->kind) == TS_EDGE_LAUNCH)
        return true;
    const ts__op *const o = ts__replay_op(t->replay, op);
    return o->call == TS_NODE_NONE && o->issue != TS__NO_TIME &&
           (binding->source == TS_NODE_NONE || binding->at_ns <= issue);
}

// Whether an event record was synthesized for a wait: it then has the call of
// the operation that it follows, and was not launched itself.
static bool ts__tl_is_synthesized(const ts_timeline *t, uint32_t op)
{
    const ts_replay *const r = t->replay;
    const ts__op *const o = ts__replay_op(r, op);
    const uint32_t source = ts__tl_binding_of(t, op)->source;
    return o->kind == TS_EVENT_EVENT_RECORD && o->call != TS_NODE_NONE &&
           source < r->op_count && ts__replay_op(r, source)->call == o->call;
}

/*
    Walks over a device's operations once and computes the span of its work, the
    issue time of each operation, and the launch latencies. `latencies` receives
    those of all operations, followed by those of the window's operations, a
    subset; counts receives the size of both lists.
*/
static void ts__tl_scan_device(ts_timeline *t, ts__tl_device *d,
                               uint64_t *latencies, size_t counts[2])
{
    int64_t *const issues = (int64_t *)t->issues.data;
    uint64_t *const inside = latencies + (d[1].first - d->first);
    bool any = false;
    d->own_ns = TS__NO_TIME;
    for (uint32_t i = d->first; i < d[1].first; i++) {
        const uint32_t op = ts__tl_u32(&t->by_device)[i];
        const int64_t begin = ts__tl_begin(t, op), end = ts__tl_finish(t, op);
        const int64_t issue = issues[i] =
            ts__tl_is_synthesized(t, op) ? begin : ts__tl_issue(t, op);
        if (!ts__kind_works(ts__replay_op(t->replay, op)->kind)) continue;
        if (end > begin) {
            if (!any) d->start_ns = begin;
            if (!any || end > d->end_ns) d->end_ns = end;
            any = true;
            if (d->own_ns == TS__NO_TIME && ts__tl_inside(t, begin))
                d->own_ns = begin;
        }
        if (!ts__tl_by_launch(t, op, issue)) continue;
        latencies[counts[0]++] = (uint64_t)(begin - issue);
        if (t->windowed && ts__tl_inside(t, begin))
            inside[counts[1]++] = (uint64_t)(begin - issue);
    }
}

// Sums up the time that operations spent in queues within the span. It does not
// count time before the device's first work, which in an overview may lie in an
// earlier window.
static void ts__tl_queued(const ts_timeline *t, ts__tl_device *d, size_t device)
{
    const bool began = t->reach && t->reach[device] != TS__NO_TIME;
    const bool works = d->end_ns > d->start_ns;
    for (uint32_t i = d->first; (works || began) && i < d[1].first; i++) {
        const int64_t issue = ts__tl_i64(&t->issues)[i];
        const int64_t begin = ts__tl_begin(t, ts__tl_u32(&t->by_device)[i]);
        const int64_t from = began || issue > d->start_ns ? issue : d->start_ns;
        if (from < begin)
            d->figures.queue_ns = ts__replay_add(d->figures.queue_ns,
                                                 ts__tl_share(t, from, begin));
    }
}

// Computes the latency figures. Slow means over 8 times the median, and over
// TS_TIMELINE_SLOW_NS.
static void ts__tl_latency(const ts_timeline *t, ts__tl_device *d,
                           const uint64_t *latencies, const size_t counts[2])
{
    d->slow_ns = TS_TIMELINE_SLOW_NS;
    d->launch_ns = 0;
    if (counts[0]) {
        const uint64_t middle =
            ts__tl_select(latencies, counts[0], (counts[0] - 1) / 2);
        if (middle < (uint64_t)TS__REPLAY_TIME_MAX)
            d->launch_ns = (int64_t)middle;
        if (middle > TS_TIMELINE_SLOW_NS / 8)
            d->slow_ns = middle < (uint64_t)TS__REPLAY_TIME_MAX / 8
                             ? (int64_t)middle * 8
                             : TS__REPLAY_TIME_MAX;
    }
    const size_t count = counts[t->windowed];
    const uint64_t *const v =
        latencies + (t->windowed ? d[1].first - d->first : 0);
    ts_timeline_figures *const f = &d->figures;
    f->launches = count;
    if (!count) return;
    f->launch_p50_ns =
        (int64_t)ts__tl_select(v, count, (count * 50 + 99) / 100 - 1);
    f->launch_p95_ns =
        (int64_t)ts__tl_select(v, count, (count * 95 + 99) / 100 - 1);
    f->launch_max_ns = (int64_t)ts__tl_select(v, count, count - 1);
}

static bool ts__tl_launches(ts_timeline *t, size_t device)
{
    ts__tl_device *const d = ts__tl_device_at(t, device);
    ts__rvec values = { 0 };
    size_t counts[2] = { 0, 0 };
    const size_t ops = d[1].first - d->first;
    if (!ts__rvec_reserve(&t->allocator, &values, sizeof(uint64_t),
                          ops * (t->windowed ? 2 : 1)))
        return false;
    ts__tl_scan_device(t, d, (uint64_t *)values.data, counts);
    ts__tl_queued(t, d, device);
    ts__tl_latency(t, d, (const uint64_t *)values.data, counts);
    ts__rvec_close(&t->allocator, &values);
    return true;
}

// Returns how many operations are issued but have not begun. The issue times
// must be sorted.
static uint32_t ts__tl_depth(const ts_timeline *t, const ts__tl_device *d,
                             int64_t time_ns)
{
    uint32_t issued = d->first, begun = d->first, end = d[1].first;
    while (issued < end) {
        const uint32_t middle = issued + (end - issued) / 2;
        if (ts__tl_i64(&t->issues)[middle] <= time_ns)
            issued = middle + 1;
        else
            end = middle;
    }
    for (end = d[1].first; begun < end;) {
        const uint32_t middle = begun + (end - begun) / 2;
        const uint32_t op = ts__tl_u32(&t->by_device)[middle];
        if (ts__tl_begin(t, op) <= time_ns)
            begun = middle + 1;
        else
            end = middle;
    }
    return issued - begun;
}

// Finds the highest number of operations that were issued but had not begun.
static bool ts__tl_queue(ts_timeline *t, ts__tl_device *d)
{
    int64_t *const issues = (int64_t *)t->issues.data;
    const uint32_t *const ops = ts__tl_u32(&t->by_device);
    ts__rsort sort = { 0 };
    if (!ts__tl_sort_times(t, &sort, issues + d->first,
                           d[1].first - d->first)) {
        ts__rsort_close(&t->allocator, &sort);
        return false;
    }
    uint32_t issued = d->first;
    for (uint32_t begun = d->first; begun < d[1].first; begun++) {
        const int64_t begin = ts__tl_begin(t, ops[begun]);
        // An operation issued exactly when this one begins counts as issued
        // afterwards.
        for (; issued < d[1].first && issues[issued] < begin; issued++) {
            if (ts__tl_inside(t, issues[issued]) &&
                issued + 1 - begun > d->figures.queue_max)
                d->figures.queue_max = issued + 1 - begun;
        }
        if (issued <= begun) issued = begun + 1;
    }
    ts__rsort_close(&t->allocator, &sort);
    if (t->windowed) { // also count what was queued when the window began
        const uint32_t depth = ts__tl_depth(t, d, t->from_ns);
        if (depth > d->figures.queue_max) d->figures.queue_max = depth;
    }
    return true;
}

/* ---- 11.67 Timeline: the cause of a gap --------------------------------- */
// src/replay/timeline/causes.h

// Whether work that was ready at `ready` began so late that something else must
// have delayed it.
static bool ts__tl_is_slow(const ts__tl_device *d, const ts_gap *gap,
                           int64_t ready)
{
    return ready < gap->end_ns && gap->end_ns - ready > d->slow_ns;
}

// Returns the cause of a gap whose operation waited for its call.
static ts_idle ts__tl_cause_call(const ts_timeline *t, const ts__tl_device *d,
                                 ts_gap *gap)
{
    const ts_replay *const r = t->replay;
    const uint32_t call = gap->culprit;
    int64_t made = ts__tl_issue(t, gap->operation), done = made;
    if (call != TS_NODE_NONE) {
        const uint32_t end = ts__replay_end_node(r, call);
        made = ts__tl_begin(t, call);
        done = ts__tl_finish(t, call);
        if (end != call && ts__tl_bound_by(t, end) == TS_EDGE_QUEUE)
            made = done < gap->end_ns ? done : gap->end_ns;
    }
    const int64_t late = made - gap->start_ns;
    if (ts__tl_is_slow(d, gap, done) && gap->end_ns - done > late)
        return TS_IDLE_UNEXPLAINED;
    if (late <= 0) return TS_IDLE_LAUNCH_LATENCY;
    if (call == TS_NODE_NONE) return TS_IDLE_HOST_LATE;
    const ts__tl_block *longest[TS__BLOCKS];
    int64_t blocked[TS__BLOCKS];
    for (int i = 0; i < TS__BLOCKS; i++)
        blocked[i] = ts__tl_blocked(t, i, ts__replay_lanes(r)[call],
                                    gap->start_ns, made, &longest[i]);
    if (ts__replay_add(blocked[0], blocked[1]) < late - late / 2)
        return TS_IDLE_HOST_LATE;
    const int sort = blocked[TS__BLOCK_QUEUE] > blocked[TS__BLOCK_SYNC];
    gap->culprit = longest[sort]->node;
    gap->inferred |= longest[sort]->inferred;
    return sort == TS__BLOCK_QUEUE ? TS_IDLE_QUEUE_FULL : TS_IDLE_HOST_SYNC;
}

// Returns the cause of a gap whose operation waited for an operation.
static ts_idle ts__tl_cause_work(const ts_timeline *t, const ts__tl_device *d,
                                 ts_gap *gap)
{
    const ts_replay *const r = t->replay;
    const uint8_t kind = ts__replay_op(r, gap->culprit)->kind;
    const uint32_t call = ts__replay_op(r, gap->operation)->call;
    const int64_t done = ts__tl_finish(t, gap->culprit);
    const bool late = call != TS_NODE_NONE && ts__tl_begin(t, call) > done;
    if (!late && kind == TS_EVENT_HOST_FUNCTION) return TS_IDLE_HOST_LATE;
    if (!late && ts__kind_syncs(kind)) return TS_IDLE_HOST_SYNC;
    if (late || ts__tl_is_slow(d, gap, done)) {
        if (call == TS_NODE_NONE ||
            (!late && ts__tl_is_slow(d, gap, ts__tl_finish(t, call))))
            return TS_IDLE_UNEXPLAINED;
        gap->culprit = call; // it took as long, or began later
        gap->edge = TS_EDGE_LAUNCH;
        gap->inferred = false;
        return ts__tl_cause_call(t, d, gap);
    }
    if (ts__replay_lanes(r)[gap->culprit] ==
        ts__replay_lanes(r)[gap->operation])
        return TS_IDLE_LAUNCH_LATENCY;
    if (gap->edge == TS_EDGE_COLLECTIVE || gap->edge == TS_EDGE_P2P ||
        kind == TS_EVENT_COLLECTIVE)
        return TS_IDLE_COLLECTIVE;
    return kind == TS_EVENT_KERNEL ? TS_IDLE_OTHER_STREAM : TS_IDLE_COPY;
}

// Whether an operation was already in its queue, with its launch finished, when
// the previous work on its stream ended.
static bool ts__tl_was_queued(const ts_timeline *t, const ts__tl_device *d,
                              const ts_gap *gap)
{
    if (gap->culprit == TS_NODE_NONE || ts__tl_is_call(t->replay, gap->culprit))
        return false;
    return ts__replay_add(ts__tl_issue(t, gap->operation), d->launch_ns) <=
           ts__tl_finish(t, gap->culprit);
}

// Charges a gap to one cause, and its time to the figures of the device.
static void ts__tl_charge(const ts_timeline *t, ts__tl_device *d, ts_gap *gap)
{
    const ts_replay *const r = t->replay;
    const ts__tl_root *const root = ts__tl_root_at(t, gap->operation);
    ts_timeline_figures *const f = &d->figures;
    gap->culprit = root->culprit;
    gap->edge = root->edge;
    gap->inferred = root->inferred;
    if (ts__replay_op(r, gap->operation)->call == TS_NODE_NONE &&
        ts__tl_by_launch(t, gap->operation, ts__tl_issue(t, gap->operation))) {
        gap->culprit = TS_NODE_NONE;
        gap->edge = TS_EDGE_LAUNCH;
        gap->inferred = false;
        gap->cause = ts__tl_cause_call(t, d, gap);
    } else if (gap->culprit == TS_NODE_NONE) {
        gap->cause = TS_IDLE_UNEXPLAINED;
    } else if (ts__tl_is_call(r, gap->culprit)) {
        // With two launches, the later one arrives later.
        const uint32_t call = ts__replay_op(r, gap->operation)->call;
        if (call != TS_NODE_NONE &&
            ts__tl_begin(t, call) > ts__tl_begin(t, gap->culprit))
            gap->culprit = call;
        gap->cause = ts__tl_cause_call(t, d, gap);
    } else {
        gap->cause = ts__tl_cause_work(t, d, gap);
    }
    const int64_t part = ts__tl_share(t, gap->start_ns, gap->end_ns);
    f->cause_ns[gap->cause] += part;
    f->causes[gap->cause]++;
    if (gap->cause == TS_IDLE_LAUNCH_LATENCY && ts__tl_was_queued(t, d, gap))
        f->dispatch_ns += part;
    if (gap->cause == TS_IDLE_UNEXPLAINED)
        f->unexplained_ns += part;
    else if (gap->inferred)
        f->inferred_ns += part;
    else
        f->explicit_ns += part;
}

/* ---- 11.68 Timeline: open and close ------------------------------------- */
// src/replay/timeline/open.h

// Whether the busy and idle parts of a device add up to its span.
static bool ts__tl_adds_up(const ts_timeline_figures *f)
{
    int64_t idle = 0, busy = 0;
    for (int i = 0; i < TS_IDLE_LIMIT; i++)
        idle += f->cause_ns[i];
    for (int i = 0; i < TS_WORK_LIMIT; i++)
        busy += f->only_ns[i];
    return idle == f->idle_ns && busy == f->busy_ns &&
           busy + idle == f->end_ns - f->start_ns &&
           f->explicit_ns + f->inferred_ns + f->unexplained_ns == idle;
}

static void ts__tl_add(int64_t *to, int64_t value)
{
    *to = ts__replay_add(*to, value);
}

// Adds the figures of a device to those of all; *any: the span is set.
static void ts__tl_sum(ts_timeline_figures *all, const ts_timeline_figures *f,
                       bool *any)
{
    if (f->end_ns > f->start_ns) {
        if (!*any || f->start_ns < all->start_ns) all->start_ns = f->start_ns;
        if (!*any || f->end_ns > all->end_ns) all->end_ns = f->end_ns;
        *any = true;
    }
    all->operations += f->operations;
    ts__tl_add(&all->busy_ns, f->busy_ns);
    ts__tl_add(&all->idle_ns, f->idle_ns);
    for (int i = 0; i < TS_WORK_LIMIT; i++) {
        ts__tl_add(&all->work_ns[i], f->work_ns[i]);
        ts__tl_add(&all->only_ns[i], f->only_ns[i]);
    }
    for (int i = 0; i < TS_IDLE_LIMIT; i++) {
        ts__tl_add(&all->cause_ns[i], f->cause_ns[i]);
        all->causes[i] += f->causes[i];
    }
    ts__tl_add(&all->dispatch_ns, f->dispatch_ns);
    ts__tl_add(&all->explicit_ns, f->explicit_ns);
    ts__tl_add(&all->inferred_ns, f->inferred_ns);
    ts__tl_add(&all->unexplained_ns, f->unexplained_ns);
    all->launches += f->launches;
    if (f->launch_max_ns > all->launch_max_ns)
        all->launch_max_ns = f->launch_max_ns;
    if (f->queue_max > all->queue_max) all->queue_max = f->queue_max;
    ts__tl_add(&all->queue_ns, f->queue_ns);
}

static ts_result ts__tl_devices(ts_timeline *t)
{
    bool any = false;
    for (size_t i = 0; i < t->devices.count; i++) {
        ts__tl_device *const d = ts__tl_device_at(t, i);
        if (!ts__tl_launches(t, i) || !ts__tl_queue(t, d)) return TS_ERR_MEMORY;
    }
    // There are never more gaps than operations, and usually far fewer.
    if (!ts__rvec_reserve(&t->allocator, &t->gaps, sizeof(ts_gap),
                          t->order.count))
        return TS_ERR_MEMORY;
    for (size_t i = 0; i < t->devices.count; i++) {
        ts__tl_device *const d = ts__tl_device_at(t, i);
        if (!ts__tl_sweep_device(t, i)) return TS_ERR_MEMORY;
        for (size_t k = 0; k < d->gap_count; k++)
            ts__tl_charge(t, d, (ts_gap *)t->gaps.data + d->gap_first + k);
        if (!t->reach && !ts__tl_adds_up(&d->figures)) return TS_ERR_CORRUPT;
        ts__tl_sum(&t->total, &d->figures, &any);
    }
    ts__rvec_trim(&t->allocator, &t->gaps);
    return TS_OK;
}

// reach: one time for each device if an overview opens the timeline, else NULL.
static ts_result ts__timeline_open(ts_timeline **timeline,
                                   const ts_replay *replay,
                                   const ts_timeline_desc *desc,
                                   const int64_t *reach)
{
    static const ts_timeline_desc none = { 0 };
    if (!timeline) return TS_ERR_USAGE;
    *timeline = NULL;
    if (!desc) desc = &none;
    const bool windowed = desc->from_ns || desc->to_ns;
    if (!replay || (windowed && desc->to_ns <= desc->from_ns))
        return TS_ERR_USAGE;
    if (desc->replayed && !replay->start.count) return TS_ERR_STATE;
    // The memory that the replay needed while loading is free by now.
    const bool share =
        !desc->allocator.resize && replay->allocator.resize == ts__arena_resize;
    const ts_allocator allocator =
        ts__arena_open(share ? &replay->allocator : &desc->allocator);
    ts_timeline *const t = (ts_timeline *)allocator.resize(
        allocator.user, NULL, 0, sizeof(ts_timeline));
    if (!t) {
        ts__arena_close(&allocator);
        return TS_ERR_MEMORY;
    }
    memset(t, 0, sizeof *t);
    t->replay = replay;
    t->allocator = allocator;
    t->replayed = desc->replayed;
    t->windowed = windowed;
    t->from_ns = desc->from_ns;
    t->to_ns = desc->to_ns;
    t->file_begin = desc->begin_ns;
    t->reach = reach;
    ts_result result = TS_ERR_MEMORY;
    if (ts__tl_times(t) && ts__tl_order(t) && ts__tl_bind(t) &&
        ts__tl_find_roots(t) && ts__tl_blocks(t) && ts__tl_lists(t))
        result = t->order.count ? ts__tl_devices(t) : TS_ERR_NOT_FOUND;
    if (result != TS_OK) {
        ts_timeline_close(t);
        return result;
    }
    *timeline = t;
    return TS_OK;
}

TS_API ts_result ts_timeline_open(ts_timeline **timeline,
                                  const ts_replay *replay,
                                  const ts_timeline_desc *desc)
{
    return ts__timeline_open(timeline, replay, desc, NULL);
}

TS_API void ts_timeline_close(ts_timeline *timeline)
{
    if (!timeline) return;
    const ts_allocator a = timeline->allocator;
    for (size_t i = 0; i < timeline->devices.count; i++)
        ts__rvec_close(&a, &ts__tl_device_at(timeline, i)->concurrency);
    ts__rvec *const vecs[] = { &timeline->begin,       &timeline->finish,
                               &timeline->bindings,    &timeline->roots,
                               &timeline->held,        &timeline->order,
                               &timeline->by_device,   &timeline->issues,
                               &timeline->by_lane,     &timeline->lane_first,
                               &timeline->devices,     &timeline->gaps,
                               &timeline->blocks[0],   &timeline->blocks[1],
                               &timeline->lane_issues, &timeline->lane_kinds };
    for (size_t i = 0; i < sizeof vecs / sizeof vecs[0]; i++)
        ts__rvec_close(&a, vecs[i]);
    a.resize(a.user, timeline, sizeof *timeline, 0);
    ts__arena_close(&a);
}

/* ---- 11.69 Timeline: access to figures ---------------------------------- */
// src/replay/timeline/access.h

TS_API const char *ts_state_name(uint32_t state)
{
    switch (state) {
#define TS__X(name, value, text) \
    case value: return text;
        TS_STATES(TS__X)
#undef TS__X
    default: return "unknown";
    }
}

TS_API const char *ts_idle_name(uint32_t idle)
{
    switch (idle) {
#define TS__X(name, value, text) \
    case value: return text;
        TS_IDLES(TS__X)
#undef TS__X
    default: return "unknown";
    }
}

TS_API const char *ts_work_name(uint32_t work)
{
    switch (work) {
#define TS__X(name, value, text) \
    case value: return text;
        TS_WORKS(TS__X)
#undef TS__X
    default: return "unknown";
    }
}

TS_API const ts_timeline_figures *ts_timeline_total(const ts_timeline *timeline)
{
    return &timeline->total;
}

TS_API const ts_timeline_figures *
ts_timeline_device(const ts_timeline *timeline, size_t device)
{
    if (device >= timeline->devices.count) return NULL;
    return &ts__tl_device_at(timeline, device)->figures;
}

TS_API size_t ts_timeline_concurrency(const ts_timeline *timeline,
                                      size_t device, const int64_t **times_ns)
{
    *times_ns = NULL;
    if (device >= timeline->devices.count) return 0;
    const ts__rvec *const levels =
        &ts__tl_device_at(timeline, device)->concurrency;
    *times_ns = ts__tl_i64(levels);
    return levels->count;
}

TS_API uint32_t ts_timeline_queue(const ts_timeline *timeline, size_t device,
                                  int64_t time_ns)
{
    if (device >= timeline->devices.count) return 0;
    return ts__tl_depth(timeline, ts__tl_device_at(timeline, device), time_ns);
}

// The depth peaks when an operation is issued, or at the start of the interval.
TS_API uint32_t ts_timeline_queue_most(const ts_timeline *timeline,
                                       size_t device, int64_t from_ns,
                                       int64_t to_ns)
{
    if (device >= timeline->devices.count || to_ns <= from_ns) return 0;
    const ts__tl_device *const d = ts__tl_device_at(timeline, device);
    const int64_t *const issues = ts__tl_i64(&timeline->issues);
    uint32_t most = ts__tl_depth(timeline, d, from_ns);
    uint32_t at = d->first, end = d[1].first;
    while (at < end) {
        const uint32_t middle = at + (end - at) / 2;
        if (issues[middle] <= from_ns)
            at = middle + 1;
        else
            end = middle;
    }
    for (; at < d[1].first && issues[at] < to_ns; at++) {
        const uint32_t depth = ts__tl_depth(timeline, d, issues[at]);
        if (depth > most) most = depth;
    }
    return most;
}

TS_API size_t ts_timeline_gap_count(const ts_timeline *timeline, size_t device)
{
    if (device >= timeline->devices.count) return 0;
    return ts__tl_device_at(timeline, device)->gap_count;
}

TS_API bool ts_timeline_gap(const ts_timeline *timeline, size_t device,
                            size_t index, ts_gap *gap)
{
    if (index >= ts_timeline_gap_count(timeline, device)) return false;
    const size_t first = ts__tl_device_at(timeline, device)->gap_first;
    *gap = ((const ts_gap *)timeline->gaps.data)[first + index];
    return true;
}

TS_API uint32_t ts_timeline_culprit(const ts_timeline *timeline, uint32_t node,
                                    uint8_t *edge, bool *inferred)
{
    const ts_replay *const r = timeline->replay;
    const uint32_t calls_end = r->op_count + r->call_count;
    *edge = TS_EDGE_SELF;
    *inferred = false;
    if (node >= r->node_count) return TS_NODE_NONE;
    // Work waits before it begins; every other operation waits before it ends.
    const bool works =
        node < r->op_count && ts__kind_works(ts__replay_op(r, node)->kind);
    const uint32_t at =
        works || node >= calls_end ? node : ts__replay_end_node(r, node);
    if (ts__tl_is_call(r, at)) return TS_NODE_NONE; // calls have no root
    const ts__tl_root *const root = ts__tl_root_at(timeline, at);
    if (root->culprit == node) return TS_NODE_NONE; // it waited for nothing
    *edge = root->edge;
    *inferred = root->inferred;
    return root->culprit;
}

/* ---- 11.70 Timeline: states of a stream --------------------------------- */
// src/replay/timeline/stream_states.h

// The operations of a stream are scattered in memory, so upcoming ones are
// prefetched.
static void ts__state_spans_load(ts_state_spans *s)
{
    const ts_timeline *const t = s->timeline;
    const uint32_t *const ops = ts__tl_u32(&t->by_lane);
    if (s->at >= s->end) return;
    if (s->at + 8 < s->end) {
        const uint32_t ahead = ops[s->at + 8];
        __builtin_prefetch(&ts__replay_time(t->replay)[ahead]);
        __builtin_prefetch(&ts__replay_duration(t->replay)[ahead]);
    }
    s->next_op = ops[s->at];
    s->begin_ns = ts__tl_begin(t, s->next_op);
    s->finish_ns = ts__tl_finish(t, s->next_op);
    s->issue_ns = ts__tl_i64(&t->lane_issues)[s->at];
    s->next_kind = ((const uint8_t *)t->lane_kinds.data)[s->at];
}

TS_API ts_state_spans ts_timeline_state_spans(const ts_timeline *timeline,
                                              size_t stream)
{
    const ts_replay *const r = timeline->replay;
    ts_state_spans spans;
    memset(&spans, 0, sizeof spans);
    spans.timeline = timeline;
    if (stream >= r->lane_results.count) return spans;
    const uint32_t *const first =
        ts__tl_u32(&timeline->lane_first) +
        (r->lanes.count - r->lane_results.count + stream);
    if (first[0] == first[1]) return spans;
    spans.more = true;
    spans.at = first[0];
    spans.end = first[1];
    ts__state_spans_load(&spans);
    spans.now_ns = spans.issue_ns;
    spans.busy_ns = spans.wait_ns = spans.now_ns;
    spans.runs = spans.waits = TS_NODE_NONE;
    return spans;
}

// If a node waited beyond *until, extends *until and stores the root cause in
// `span`.
static void ts__state_spans_hold(const ts_timeline *t, uint32_t node,
                                 int64_t *until, ts_state_span *span)
{
    const int64_t at = ts__tl_binding_of(t, node)->at_ns;
    if (at <= *until) return;
    const ts__tl_root *const root = ts__tl_root_at(t, node);
    *until = at;
    span->culprit = root->culprit;
    span->edge = root->edge;
    span->inferred = root->inferred;
}

// Takes the next operation as begun.
static void ts__state_spans_begin(ts_state_spans *s)
{
    const uint8_t kind = s->next_kind & (TS__TL_BEGIN_HELD - 1);
    if ((ts__kind_works(kind) || kind == TS_EVENT_HOST_FUNCTION) &&
        s->finish_ns > s->busy_ns) {
        if (s->busy_ns <= s->now_ns) s->runs = s->next_op;
        s->busy_ns = s->finish_ns;
    }
    if (kind == TS_EVENT_EVENT_WAIT && s->finish_ns > s->wait_ns) {
        s->wait_ns = s->finish_ns;
        s->waits = ts__replay_end_node(s->timeline->replay, s->next_op);
    }
    s->at++;
    ts__state_spans_load(s);
}

// Finds the state before the next operation while nothing runs on the stream.
// Returns until when that state lasts.
static int64_t ts__state_spans_before(ts_state_spans *s, ts_state_span *span)
{
    const ts_timeline *const t = s->timeline;
    const uint32_t op = s->next_op;
    int64_t until = s->now_ns;
    span->state = TS_STATE_IDLE;
    // All operations issued before this one have begun, so the queue is empty.
    if (s->issue_ns > until) return s->issue_ns;
    if (s->next_kind & TS__TL_BEGIN_HELD)
        ts__state_spans_hold(t, op, &until, span);
    if (s->next_kind & TS__TL_END_HELD)
        ts__state_spans_hold(t, ts__replay_end_node(t->replay, op), &until,
                             span);
    span->state = until > s->now_ns ? TS_STATE_WAITING : TS_STATE_PENDING;
    return until > s->now_ns ? until : s->begin_ns;
}

// Produces one span, not yet merged with the next; it may be empty. Returns
// false at the end.
static bool ts__state_spans_step(ts_state_spans *s, ts_state_span *span)
{
    const ts_timeline *const t = s->timeline;
    const bool next = s->at < s->end;
    const int64_t begin = next ? s->begin_ns : t->end_ns;
    const ts_state_span none = {
        TS_STATE_FINISHED, s->now_ns, begin, next ? s->next_op : TS_NODE_NONE,
        TS_NODE_NONE,      0,         false
    };
    *span = none;
    if (next && begin <= s->now_ns) {
        ts__state_spans_begin(s);
        span->end_ns = s->now_ns;
        return true;
    }
    int64_t until = begin;
    if (s->busy_ns > s->now_ns) {
        span->state = TS_STATE_RUNNING;
        span->operation = s->runs;
        until = s->busy_ns;
    } else if (s->wait_ns > s->now_ns) {
        span->state = TS_STATE_WAITING;
        span->operation = ts__node_owner(t->replay, s->waits);
        until = s->wait_ns;
        const ts__tl_root *const root = ts__tl_root_at(t, s->waits);
        span->culprit = root->culprit;
        span->edge = root->edge;
        span->inferred = root->inferred;
    } else if (next) {
        until = ts__state_spans_before(s, span);
    } else if (s->now_ns >= begin) {
        return false;
    }
    if (next && until > begin) until = begin;
    span->end_ns = s->now_ns = until;
    return true;
}

TS_API bool ts_state_spans_next(ts_state_spans *spans, ts_state_span *span)
{
    if (!spans->more) return false;
    while (ts__state_spans_step(spans, span)) {
        if (span->start_ns == span->end_ns) continue;
        ts_state_span *const kept = &spans->next;
        const bool same =
            spans->kept && kept->state == span->state &&
            (span->state != TS_STATE_WAITING ||
             (kept->culprit == span->culprit && kept->edge == span->edge));
        if (same) {
            kept->end_ns = span->end_ns;
            // A merged span names the last pending operation, but the first
            // running one.
            if (span->state != TS_STATE_RUNNING)
                kept->operation = span->operation;
            continue;
        }
        const ts_state_span done = *kept;
        const bool any = spans->kept;
        *kept = *span;
        spans->kept = true;
        *span = done;
        if (any) return true;
    }
    *span = spans->next;
    spans->more = false;
    return spans->kept;
}

/* ---- 11.71 Timeline: windows -------------------------------------------- */
// src/replay/timeline/overview.h

// The figures of one device in one window.
typedef struct ts__overview_part {
    ts_timeline_figures figures;
    int64_t own_ns;     // see ts__tl_device
    ts__rvec latencies; // uint32_t, at most UINT32_MAX
} ts__overview_part;

typedef struct ts__overview_gap {
    ts_gap gap;
    uint32_t device;
} ts__overview_gap;

struct ts_overview {
    ts_reader *reader;
    ts_allocator allocator;
    ts_overview_desc desc;
    uint32_t threads, steps; // steps: borders from one window to the next
    size_t window_count, device_count;
    ts__rvec devices;     // uint32_t: tracks, in order of number
    ts__rmap device_of;   // track to device index; 0 is the unknown device
    ts__rvec borders;     // int64_t, of all parts of all windows
    ts__rvec windows;     // ts_overview_window
    ts__rvec failures;    // ts_result of each window
    ts__rvec reach;       // int64_t of each window and device
    ts__rvec counts;      // uint64_t of each window: its operations
    ts__rvec parts;       // ts__overview_part of each window and device
    ts__rvec gaps;        // ts__overview_gap
    ts__rvec window_gaps; // ts__rvec of each window
    ts__rvec figures;     // ts_timeline_figures of each device
    ts_timeline_figures total;
};

static int64_t ts__overview_border(const ts_overview *s, int64_t index)
{
    const int64_t count = (int64_t)s->borders.count;
    if (index <= 0) return -TS__REPLAY_TIME_MAX - 1;
    if (index >= count - 1) return TS__REPLAY_TIME_MAX + 1;
    return ts__tl_i64(&s->borders)[index];
}

static ts__overview_part *ts__overview_part_at(const ts_overview *s,
                                               size_t window, size_t device)
{
    return (ts__overview_part *)s->parts.data + window * s->device_count +
           device;
}

/* ---- Devices ---- */

static int ts__overview_compare_device(const void *left, const void *right)
{
    const ts_track *const a = (const ts_track *)left;
    const ts_track *const b = (const ts_track *)right;
    if (a->number != b->number) return a->number < b->number ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static bool ts__overview_tracks(ts_overview *s)
{
    const size_t count = ts_reader_info(s->reader)->track_count;
    ts__rvec list = { 0 };
    if (!ts__rvec_reserve(&s->allocator, &list, sizeof(ts_track), count + 1))
        return false;
    ts_track *const devices = (ts_track *)list.data;
    ts_track track;
    for (size_t i = 0; i < count; i++)
        if (ts_reader_track_at(s->reader, i, &track) &&
            track.type == TS_TRACK_DEVICE)
            devices[list.count++] = track;
    qsort(devices, list.count, sizeof *devices, ts__overview_compare_device);
    s->device_count = list.count + 1; // and one for operations without a device
    bool ok = ts__rvec_fill(&s->allocator, &s->devices, sizeof(uint32_t),
                            s->device_count, 0);
    for (size_t i = 0; ok && i < list.count; i++) {
        ((uint32_t *)s->devices.data)[i + 1] = devices[i].id;
        ok = ts__rmap_put(&s->allocator, &s->device_of, devices[i].id,
                          (uint32_t)i + 1);
    }
    ts__rvec_close(&s->allocator, &list);
    for (size_t i = 0; ok && i < count; i++) {
        if (!ts_reader_track_at(s->reader, i, &track) ||
            track.type == TS_TRACK_DEVICE)
            continue;
        const uint32_t id = track.id;
        for (int depth = 0; depth < 8 && track.type != TS_TRACK_DEVICE;)
            if (!ts_reader_track(s->reader, track.parent, &track))
                depth = 8;
            else
                depth++;
        if (track.type == TS_TRACK_DEVICE)
            ok = ts__rmap_put(&s->allocator, &s->device_of, id,
                              ts__rmap_get(&s->device_of, track.id));
    }
    return ok;
}

static uint32_t ts__overview_device_of(const ts_overview *s, uint32_t track)
{
    const uint32_t device = ts__rmap_get(&s->device_of, track);
    return device == TS_NODE_NONE ? 0 : device;
}

/* ---- Borders ---- */

// The begin or end of a chunk, and the density of its rows: rows per
// nanosecond, times 2^32.
typedef struct ts__overview_edge {
    int64_t time;
    uint64_t density;
    bool ends;
} ts__overview_edge;

static int ts__overview_compare_edge(const void *left, const void *right)
{
    const ts__overview_edge *const a = (const ts__overview_edge *)left;
    const ts__overview_edge *const b = (const ts__overview_edge *)right;
    return (a->time > b->time) - (a->time < b->time);
}

static bool ts__overview_edges(ts_overview *s, ts__rvec *edges, uint64_t *rows)
{
    ts_chunk_info info;
    for (size_t i = 0; ts_reader_chunk(s->reader, i, &info); i++) {
        if (!ts__chunk_is_gpu(&info) || !info.header.count ||
            !ts__replay_time_ok(info.first_ns) ||
            !ts__replay_time_ok(info.last_ns))
            continue;
        *rows += info.header.count;
        int64_t long_ns = info.last_ns - info.first_ns;
        if (long_ns < 1) long_ns = 1;
        const uint64_t density =
            ((uint64_t)info.header.count << 32) / (uint64_t)long_ns;
        for (int ends = 0; ends < 2; ends++) {
            ts__overview_edge *const edge = (ts__overview_edge *)ts__rvec_push(
                &s->allocator, edges, sizeof *edge);
            if (!edge) return false;
            edge->time = info.first_ns + (ends ? long_ns : 0);
            edge->density = density;
            edge->ends = ends;
        }
    }
    if (edges->count)
        qsort(edges->data, edges->count, sizeof(ts__overview_edge),
              ts__overview_compare_edge);
    return true;
}

// Walks along the time axis and sums up the rows. If `every` is not 0, adds a
// border each time that many rows have passed. Returns the total number of
// rows.
static uint64_t ts__overview_walk(ts_overview *s, const ts__rvec *edges,
                                  uint64_t every)
{
    const ts__overview_edge *const list =
        (const ts__overview_edge *)edges->data;
    uint64_t density = 0, passed = 0, noted = 1;
    for (size_t i = 0; i + 1 < edges->count; i++) {
        density +=
            list[i].ends ? (uint64_t)0 - list[i].density : list[i].density;
        const uint64_t time = (uint64_t)(list[i + 1].time - list[i].time);
        const uint64_t end = passed + density * time;
        while (every && density && every * noted <= end) {
            const uint64_t at = (every * noted++ - passed) / density;
            const int64_t border = list[i].time + (int64_t)at;
            int64_t *const to = (int64_t *)s->borders.data;
            if (s->borders.count < s->borders.capacity - 1 &&
                border > to[s->borders.count - 1])
                to[s->borders.count++] = border;
        }
        passed = end;
    }
    return passed;
}

// Cuts the trace into parts of roughly margin_operations each.
static ts_result ts__overview_cut(ts_overview *s)
{
    ts__rvec edges = { 0 };
    uint64_t rows = 0;
    ts_result result = TS_ERR_MEMORY;
    if (ts__overview_edges(s, &edges, &rows)) {
        const uint64_t parts = rows / s->desc.margin_operations + 1;
        result = !rows ? TS_ERR_NOT_FOUND : TS_OK;
        if (!ts__rvec_reserve(&s->allocator, &s->borders, sizeof(int64_t),
                              (size_t)parts + 3))
            result = TS_ERR_MEMORY;
        if (result == TS_OK) {
            ((int64_t *)s->borders.data)[0] = ts__overview_border(s, 0);
            s->borders.count = 1;
            const uint64_t all = ts__overview_walk(s, &edges, 0);
            ts__overview_walk(s, &edges, all / parts + 1);
            ((int64_t *)s->borders.data)[s->borders.count++] =
                TS__REPLAY_TIME_MAX + 1;
            s->window_count = (s->borders.count - 2) / s->steps + 1;
        }
    }
    ts__rvec_close(&s->allocator, &edges);
    return result;
}

/* ---- Work that extends into later windows ---- */

typedef struct ts__overview_scan {
    const ts_overview *overview;
    int64_t *reach;   // of each thread, window and device
    uint64_t *counts; // of each thread and window
} ts__overview_scan;

static size_t ts__overview_window_of(const ts_overview *s, int64_t time,
                                     size_t near)
{
    size_t low = 0, high = s->window_count;
    const int64_t steps = s->steps;
    if (time >= ts__overview_border(s, (int64_t)near * steps) &&
        time < ts__overview_border(s, ((int64_t)near + 1) * steps))
        return near;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (ts__overview_border(s, (int64_t)middle * steps) <= time)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void ts__overview_take(const ts_columns *c, uint32_t thread, void *user)
{
    const ts__overview_scan *const scan = (const ts__overview_scan *)user;
    const ts_overview *const s = scan->overview;
    uint64_t *const counts = scan->counts + thread * s->window_count;
    int64_t *const reach =
        scan->reach + (size_t)thread * s->window_count * s->device_count;
    size_t window = 0;
    uint32_t track = c->track, device = ts__overview_device_of(s, track);
    for (uint32_t i = 0; i < c->count; i++) {
        const int64_t start = c->start_ns[i], duration = c->duration_ns[i];
        if (!ts__replay_time_ok(start) || !ts__replay_time_ok(duration) ||
            duration < 0)
            continue;
        window = ts__overview_window_of(s, start, window);
        counts[window]++;
        if (!duration || !ts__kind_works((uint8_t)c->kind)) continue;
        if (c->tracks && c->tracks[i] != track) {
            track = c->tracks[i];
            device = ts__overview_device_of(s, track);
        }
        int64_t *const to = &reach[window * s->device_count + device];
        if (start + duration > *to) *to = start + duration;
    }
}

// Counts the operations that begin in each window, and finds for each device
// when the last work that began there ended.
static ts_result ts__overview_reach(ts_overview *s)
{
    const size_t cells = s->window_count * s->device_count;
    ts__rvec reach = { 0 }, counts = { 0 };
    ts_result result = TS_ERR_MEMORY;
    if (ts__rvec_reserve(&s->allocator, &reach, sizeof(int64_t),
                         cells * s->threads) &&
        ts__rvec_fill(&s->allocator, &counts, sizeof(uint64_t),
                      s->window_count * s->threads, 0)) {
        int64_t *const of = (int64_t *)reach.data;
        uint64_t *const count = (uint64_t *)counts.data;
        for (size_t i = 0; i < cells * s->threads; i++)
            of[i] = TS__NO_TIME;
        ts__overview_scan scan = { s, of, count };
        const ts_filter filter = { .kinds = ts__kinds_gpu() };
        result = ts_reader_scan(s->reader, &filter, s->threads,
                                ts__overview_take, &scan);
        if (result != TS_ERR_MEMORY) result = TS_OK;
        for (size_t t = 1; t < s->threads; t++) {
            for (size_t i = 0; i < cells; i++)
                if (of[t * cells + i] > of[i]) of[i] = of[t * cells + i];
            for (size_t i = 0; i < s->window_count; i++)
                count[i] += count[t * s->window_count + i];
        }
    }
    s->reach = reach;
    s->counts = counts;
    return result;
}

// Turns the reach of the work that began in each window into the reach of all
// work that began before it. The last row covers the whole trace.
static bool ts__overview_before(ts_overview *s)
{
    const size_t devices = s->device_count;
    ts__rvec before = { 0 };
    if (!ts__rvec_reserve(&s->allocator, &before, sizeof(int64_t),
                          (s->window_count + 1) * devices))
        return false;
    int64_t *const to = (int64_t *)before.data;
    const int64_t *const from = ts__tl_i64(&s->reach);
    for (size_t d = 0; d < devices; d++)
        to[d] = TS__NO_TIME;
    for (size_t i = 0; i < s->window_count * devices; i++)
        to[i + devices] = from[i] > to[i] ? from[i] : to[i];
    ts__rvec_close(&s->allocator, &s->reach);
    s->reach = before;
    return true;
}

/* ---- 11.72 Timeline: one window ----------------------------------------- */
// src/replay/timeline/overview_window.h

// The longest gaps are kept in a heap whose root is the shortest of them.
static bool ts__overview_gap_before(const ts__overview_gap *a,
                                    const ts__overview_gap *b)
{
    const int64_t of_a = a->gap.end_ns - a->gap.start_ns;
    const int64_t of_b = b->gap.end_ns - b->gap.start_ns;
    if (of_a != of_b) return of_a > of_b;
    if (a->gap.start_ns != b->gap.start_ns)
        return a->gap.start_ns < b->gap.start_ns;
    return a->device < b->device;
}

static int ts__overview_compare_gap(const void *left, const void *right)
{
    const ts__overview_gap *const a = (const ts__overview_gap *)left;
    const ts__overview_gap *const b = (const ts__overview_gap *)right;
    return ts__overview_gap_before(b, a) - ts__overview_gap_before(a, b);
}

static void ts__overview_gap_sink(ts__overview_gap *heap, size_t count,
                                  ts__overview_gap item)
{
    size_t at = 0;
    for (size_t next; (next = at * 2 + 1) < count; at = next) {
        if (next + 1 < count &&
            ts__overview_gap_before(&heap[next], &heap[next + 1]))
            next++;
        if (!ts__overview_gap_before(&item, &heap[next])) break;
        heap[at] = heap[next];
    }
    heap[at] = item;
}

static bool ts__overview_gap_keep(const ts_overview *s, ts__rvec *heap,
                                  ts__overview_gap item)
{
    ts__overview_gap *list = (ts__overview_gap *)heap->data;
    if (heap->count == s->desc.gap_count) {
        if (ts__overview_gap_before(&item, &list[0]))
            ts__overview_gap_sink(list, heap->count, item);
        return true;
    }
    if (!ts__rvec_push(&s->allocator, heap, sizeof item)) return false;
    list = (ts__overview_gap *)heap->data;
    size_t at = heap->count - 1;
    for (; at && ts__overview_gap_before(&list[(at - 1) / 2], &item);
         at = (at - 1) / 2)
        list[at] = list[(at - 1) / 2];
    list[at] = item;
    return true;
}

typedef struct ts__overview_view { // a window that is being analyzed
    ts_overview *overview;
    size_t window;
    ts_replay *replay;
    ts_timeline *timeline;
    // Operations of the trace before operation 0 of this window's replay.
    uint64_t before;
    uint32_t known; // first operation from which on none is missing
} ts__overview_view;

// Returns the number of a node in the whole trace; TS_NODE_NONE if it is not an
// operation.
static uint32_t ts__overview_number(const ts__overview_view *v, uint32_t node)
{
    if (node == TS_NODE_NONE || node >= v->replay->op_count ||
        node < v->known || v->before + node >= TS_NODE_NONE)
        return TS_NODE_NONE;
    return (uint32_t)(v->before + node);
}

// From load_from on, all operations are loaded, so their numbers in the trace
// follow from how many began before the window.
static void ts__overview_numbers(ts__overview_view *v)
{
    const ts_replay *const r = v->replay;
    const ts_overview_window *const all =
        (const ts_overview_window *)v->overview->windows.data;
    uint64_t begun = 0;
    uint32_t earlier = 0;
    for (size_t i = 0; i < v->window; i++)
        begun += all[i].operations;
    for (v->known = 0;
         v->known < r->op_count && ts__replay_time(r)[v->known] < r->load_from;)
        v->known++;
    for (earlier = v->known;
         earlier < r->op_count &&
         ts__replay_time(r)[earlier] < all[v->window].from_ns;)
        earlier++;
    // Modulo 2^64: ts__overview_number adds the node number.
    v->before = begun - earlier;
}

static bool ts__overview_latencies(const ts__overview_view *v,
                                   const ts__tl_device *d,
                                   ts__overview_part *part)
{
    const ts_timeline *const t = v->timeline;
    if (!ts__rvec_reserve(&v->overview->allocator, &part->latencies,
                          sizeof(uint32_t), (size_t)d->figures.launches))
        return false;
    uint32_t *const to = (uint32_t *)part->latencies.data;
    for (uint32_t i = d->first; i < d[1].first; i++) {
        const uint32_t op = ts__tl_u32(&t->by_device)[i];
        const int64_t begin = ts__tl_begin(t, op), issue = ts__tl_issue(t, op);
        if (!ts__kind_works(ts__replay_op(t->replay, op)->kind) ||
            !ts__tl_inside(t, begin) || !ts__tl_by_launch(t, op, issue))
            continue;
        to[part->latencies.count++] =
            begin - issue > UINT32_MAX ? UINT32_MAX : (uint32_t)(begin - issue);
    }
    return true;
}

static bool ts__overview_device_take(const ts__overview_view *v, size_t index)
{
    ts_overview *const s = v->overview;
    const ts_timeline *const t = v->timeline;
    const ts__tl_device *const d = ts__tl_device_at(t, index);
    const uint32_t device = ts__overview_device_of(s, d->figures.track);
    ts__overview_part *const part = ts__overview_part_at(s, v->window, device);
    part->figures = d->figures;
    part->own_ns = d->own_ns;
    ts__rvec *const kept = (ts__rvec *)s->window_gaps.data + v->window;
    for (size_t i = 0; i < d->gap_count; i++) {
        ts__overview_gap item = {
            ((const ts_gap *)t->gaps.data)[d->gap_first + i], device
        };
        item.gap.operation = ts__overview_number(v, item.gap.operation);
        item.gap.culprit = ts__overview_number(v, item.gap.culprit);
        if (!ts__overview_gap_keep(s, kept, item)) return false;
    }
    return ts__overview_latencies(v, d, part);
}

// Opens a replay of the window with a margin of one part on both sides.
static ts_result ts__overview_load(ts__overview_view *v)
{
    ts_overview *const s = v->overview;
    const int64_t first = (int64_t)v->window * s->steps;
    ts_replay_desc desc = { 0 };
    desc.threads = 1;
    desc.allocator = s->allocator;
    desc.queue_depth = s->desc.queue_depth;
    desc.connections = s->desc.connections;
    desc.no_inference = s->desc.no_inference;
    desc.load_from_ns = ts__overview_border(s, first - 1);
    desc.load_to_ns = ts__overview_border(s, first + s->steps + 1);
    desc.load_before_ns =
        desc.load_from_ns - ts__overview_border(s, first - 1 - s->steps);
    return ts_replay_open(&v->replay, s->reader, &desc);
}

static ts_result ts__overview_look(ts__overview_view *v)
{
    ts_overview *const s = v->overview;
    const int64_t first = (int64_t)v->window * s->steps;
    ts_result result = ts__overview_load(v);
    if (result != TS_OK) return result;
    const ts_replay *const r = v->replay;
    ts__rvec reach = { 0 };
    const size_t devices = r->device_results.count;
    if (!ts__rvec_reserve(&s->allocator, &reach, sizeof(int64_t), devices))
        return TS_ERR_MEMORY;
    for (size_t i = 0; i < devices; i++) {
        const uint32_t device = ts__overview_device_of(
            s, ((const ts_lane *)r->device_results.data)[i].track);
        ((int64_t *)reach.data)[i] =
            ts__tl_i64(&s->reach)[v->window * s->device_count + device];
    }
    ts_timeline_desc desc = { 0 };
    desc.from_ns = ts__overview_border(s, first);
    desc.to_ns = ts__overview_border(s, first + s->steps);
    desc.allocator = s->allocator;
    result =
        ts__timeline_open(&v->timeline, v->replay, &desc, ts__tl_i64(&reach));
    if (result == TS_OK) ts__overview_numbers(v);
    for (size_t i = 0; result == TS_OK && i < devices; i++)
        if (!ts__overview_device_take(v, i)) result = TS_ERR_MEMORY;
    ts__rvec_close(&s->allocator, &reach);
    return result;
}

static void ts__overview_window_run(void *user, size_t window, uint32_t thread)
{
    (void)thread;
    ts_overview *const s = (ts_overview *)user;
    ts_overview_window *const w =
        (ts_overview_window *)s->windows.data + window;
    ts__overview_view v = { s, window, NULL, NULL, 0, 0 };
    ts_result result = ts__overview_look(&v);
    if (v.replay) w->plan = v.replay->stats;
    ts_timeline_close(v.timeline);
    ts_replay_close(v.replay);
    // A window may be empty.
    if (result == TS_ERR_NOT_FOUND) result = TS_OK;
    ((ts_result *)s->failures.data)[window] = result;
}

/* ---- Merging all windows ---- */

// Returns the value at index `place` of the sorted latencies of a device.
static int64_t ts__overview_select(const ts_overview *s, size_t device,
                                   uint64_t place)
{
    uint32_t prefix = 0, mask = 0;
    for (int shift = 22; shift >= 0; shift -= 11) {
        uint64_t counts[2048] = { 0 };
        for (size_t w = 0; w < s->window_count; w++) {
            const ts__rvec *const list =
                &ts__overview_part_at(s, w, device)->latencies;
            for (size_t i = 0; i < list->count; i++) {
                const uint32_t value = ts__tl_u32(list)[i];
                if ((value & mask) == prefix) counts[value >> shift & 2047]++;
            }
        }
        uint32_t digit = 0;
        while (place >= counts[digit])
            place -= counts[digit++];
        prefix |= digit << shift;
        mask |= UINT32_C(2047) << shift;
    }
    return prefix;
}

static void ts__overview_add(ts_timeline_figures *to, ts__overview_part *part)
{
    ts_timeline_figures *const f = &part->figures;
    bool any = true; // the span is not computed from the parts
    f->start_ns = f->end_ns = 0;
    ts__tl_sum(to, f, &any);
}

// Sets a device's span: from the begin of its first work to the end of its
// last.
static void ts__overview_span(const ts_overview *s, size_t device,
                              ts_timeline_figures *to)
{
    for (size_t w = 0; w < s->window_count; w++) {
        const int64_t own_ns = ts__overview_part_at(s, w, device)->own_ns;
        if (own_ns == TS__NO_TIME) continue;
        to->start_ns = own_ns;
        to->end_ns =
            ts__tl_i64(&s->reach)[s->window_count * s->device_count + device];
        return;
    }
}

static bool ts__overview_merge_device(ts_overview *s, size_t device)
{
    ts_timeline_figures f = { 0 };
    for (size_t w = 0; w < s->window_count; w++)
        ts__overview_add(&f, ts__overview_part_at(s, w, device));
    ts__overview_span(s, device, &f);
    f.track = ts__tl_u32(&s->devices)[device];
    if (f.launches) {
        f.launch_p50_ns =
            ts__overview_select(s, device, (f.launches * 50 + 99) / 100 - 1);
        f.launch_p95_ns =
            ts__overview_select(s, device, (f.launches * 95 + 99) / 100 - 1);
    }
    ((ts_timeline_figures *)s->figures.data)[device] = f;
    return ts__tl_adds_up(&f);
}

static bool ts__overview_merge_gaps(ts_overview *s)
{
    bool ok = true;
    for (size_t w = 0; ok && w < s->window_count; w++) {
        const ts__rvec *const list = (ts__rvec *)s->window_gaps.data + w;
        for (size_t i = 0; ok && i < list->count; i++)
            ok = ts__overview_gap_keep(
                s, &s->gaps, ((const ts__overview_gap *)list->data)[i]);
    }
    if (s->gaps.count)
        qsort(s->gaps.data, s->gaps.count, sizeof(ts__overview_gap),
              ts__overview_compare_gap);
    return ok;
}

// Whether any window has operations of the device; others are left out.
static bool ts__overview_has(const ts_overview *s, size_t device)
{
    for (size_t w = 0; w < s->window_count; w++)
        if (ts__overview_part_at(s, w, device)->figures.queue_max ||
            ts__overview_part_at(s, w, device)->figures.operations)
            return true;
    return ts__tl_i64(&s->reach)[s->window_count * s->device_count + device] !=
           TS__NO_TIME;
}

static ts_result ts__overview_merge(ts_overview *s)
{
    ts_timeline_figures *const all = (ts_timeline_figures *)s->figures.data;
    ts__rvec numbers = { 0 };
    if (!ts__overview_merge_gaps(s) ||
        !ts__rvec_fill(&s->allocator, &numbers, sizeof(uint32_t),
                       s->device_count, 0))
        return TS_ERR_MEMORY;
    bool any = false, ok = true;
    size_t kept = 0;
    for (size_t i = 0; ok && i < s->device_count; i++) {
        ok = ts__overview_merge_device(s, i);
        if (!ts__overview_has(s, i)) continue;
        ts__tl_sum(&s->total, &all[i], &any);
        ((uint32_t *)numbers.data)[i] = (uint32_t)kept;
        all[kept++] = all[i];
    }
    s->figures.count = kept;
    for (size_t i = 0; i < s->gaps.count; i++) {
        ts__overview_gap *const gap = (ts__overview_gap *)s->gaps.data + i;
        gap->device = ts__tl_u32(&numbers)[gap->device];
    }
    ts__rvec_close(&s->allocator, &numbers);
    return !ok ? TS_ERR_CORRUPT : kept ? TS_OK : TS_ERR_NOT_FOUND;
}

static ts_result ts__overview_all(ts_overview *s)
{
    const ts_allocator *const a = &s->allocator;
    ts_result result = ts__overview_tracks(s) ? TS_OK : TS_ERR_MEMORY;
    if (result == TS_OK) result = ts__overview_cut(s);
    if (result == TS_OK) result = ts__overview_reach(s);
    if (result != TS_OK) return result;
    const size_t windows = s->window_count;
    if (!ts__overview_before(s) ||
        !ts__rvec_fill(a, &s->windows, sizeof(ts_overview_window), windows,
                       0) ||
        !ts__rvec_fill(a, &s->failures, sizeof(ts_result), windows, 0) ||
        !ts__rvec_fill(a, &s->window_gaps, sizeof(ts__rvec), windows, 0) ||
        !ts__rvec_fill(a, &s->parts, sizeof(ts__overview_part),
                       windows * s->device_count, 0) ||
        !ts__rvec_fill(a, &s->figures, sizeof(ts_timeline_figures),
                       s->device_count, 0))
        return TS_ERR_MEMORY;
    for (size_t i = 0; i < windows * s->device_count; i++)
        ((ts__overview_part *)s->parts.data)[i].own_ns = TS__NO_TIME;
    for (size_t i = 0; i < windows; i++) {
        ts_overview_window *const w = (ts_overview_window *)s->windows.data + i;
        w->from_ns = ts__overview_border(s, (int64_t)(i * s->steps));
        w->to_ns = ts__overview_border(s, (int64_t)((i + 1) * s->steps));
        w->operations = ((const uint64_t *)s->counts.data)[i];
    }
    ts__crew_run(s->threads, windows, ts__overview_window_run, s);
    for (size_t i = 0; i < windows; i++) {
        result = ((const ts_result *)s->failures.data)[i];
        if (result != TS_OK) return result;
    }
    return ts__overview_merge(s);
}

TS_API ts_result ts_overview_open(ts_overview **overview, ts_reader *reader,
                                  const ts_overview_desc *desc)
{
    static const ts_overview_desc none = { 0 };
    if (!overview) return TS_ERR_USAGE;
    *overview = NULL;
    if (!reader) return TS_ERR_USAGE;
    if (!desc) desc = &none;
    const ts_allocator allocator = ts__arena_open(&desc->allocator);
    ts_overview *const s = (ts_overview *)allocator.resize(
        allocator.user, NULL, 0, sizeof(ts_overview));
    if (!s) {
        ts__arena_close(&allocator);
        return TS_ERR_MEMORY;
    }
    memset(s, 0, sizeof *s);
    s->reader = reader;
    s->allocator = allocator;
    s->desc = *desc;
    ts_overview_desc *const d = &s->desc;
    if (!d->window_operations) d->window_operations = 50000;
    if (!d->margin_operations)
        d->margin_operations = (d->window_operations + 9) / 10;
    if (!d->gap_count) d->gap_count = 100;
    s->steps = (d->window_operations - 1) / d->margin_operations + 1;
    s->threads = d->threads ? d->threads : reader->threads;
    if (s->threads > TS__THREADS_MAX) s->threads = TS__THREADS_MAX;
    const ts_result result = ts__overview_all(s);
    if (result == TS_OK)
        *overview = s;
    else
        ts_overview_close(s);
    return result;
}

TS_API void ts_overview_close(ts_overview *overview)
{
    if (!overview) return;
    const ts_allocator a = overview->allocator;
    for (size_t i = 0; i < overview->parts.count; i++)
        ts__rvec_close(
            &a, &((ts__overview_part *)overview->parts.data)[i].latencies);
    for (size_t i = 0; i < overview->window_gaps.count; i++)
        ts__rvec_close(&a, (ts__rvec *)overview->window_gaps.data + i);
    ts__rvec *const vecs[] = {
        &overview->devices,  &overview->device_of.entries,
        &overview->borders,  &overview->windows,
        &overview->failures, &overview->reach,
        &overview->counts,   &overview->parts,
        &overview->gaps,     &overview->window_gaps,
        &overview->figures
    };
    for (size_t i = 0; i < sizeof vecs / sizeof vecs[0]; i++)
        ts__rvec_close(&a, vecs[i]);
    a.resize(a.user, overview, sizeof *overview, 0);
    ts__arena_close(&a);
}

TS_API const ts_timeline_figures *ts_overview_total(const ts_overview *overview)
{
    return &overview->total;
}

TS_API const ts_timeline_figures *
ts_overview_device(const ts_overview *overview, size_t device)
{
    if (device >= overview->figures.count) return NULL;
    return (const ts_timeline_figures *)overview->figures.data + device;
}

TS_API bool ts_overview_gap(const ts_overview *overview, size_t index,
                            size_t *device, ts_gap *gap)
{
    if (index >= overview->gaps.count) return false;
    const ts__overview_gap *const one =
        (const ts__overview_gap *)overview->gaps.data + index;
    *device = one->device;
    *gap = one->gap;
    return true;
}

TS_API bool ts_overview_window_at(const ts_overview *overview, size_t index,
                                  ts_overview_window *window)
{
    if (index >= overview->window_count) return false;
    *window = ((const ts_overview_window *)overview->windows.data)[index];
    return true;
}

/* ---- 11.73 Races: memory accesses --------------------------------------- */
// src/replay/races/access.h

// An actor accesses memory at one point of the order: an operation, the call
// that performs one, or the host itself.
typedef struct ts__actor {
    uint32_t op;   // TS_NODE_NONE: the host's own access
    uint32_t node; // node of the order that performs the access
    uint32_t next; // next actor of the same node; TS_NODE_NONE: none
    uint32_t file, track, thread, label, site, stack;
    uint32_t device; // device track; 0: the host or unknown
    int64_t start, end;
    uint64_t where; // hash of its launch site
    uint32_t chain, epoch;
    uint64_t fill; // value that a memset writes
    // A copy's or memset's own columns describe it, not an access event.
    bool own;
    uint8_t kind;
    bool host;      // on a thread rather than a stream
    bool placed;    // its call is known, so all that it waits for is known
    uint32_t spans; // index of its first span; its spans are adjacent
    uint32_t span_count;
} ts__actor;

enum { TS__COPY_STAGED = 1, TS__COPY_BACK = 2 }; // from, to pageable memory
// In addition to TS_ACCESS_...
enum { TS__SPAN_ALLOC = 16, TS__SPAN_FREE = 32 };

typedef struct ts__race_span {
    uint64_t first, last; // first and last address, both inclusive
    uint32_t actor;
    uint32_t low, high; // cells [low, high)
    uint32_t space;
    uint8_t mode;
} ts__race_span;

// A row of the trace that describes an access, before its operation is known.
typedef struct ts__access_row {
    uint64_t address, size, correlation;
    int64_t time;
    uint32_t file, track, site, stack;
    uint8_t kind, mode;
} ts__access_row;

typedef struct ts__race_pair { // indexes of actors
    uint32_t first, second;
    bool free; // other orders may swap them
} ts__race_pair;

struct ts_races {
    const ts_replay *replay;
    ts_allocator allocator;
    ts__rvec actors; // ts__actor
    ts__rvec spans;  // ts__race_span
    ts__rvec copies; // uint8_t, of each operation: TS__COPY_...
    ts__rvec heads;  // uint32_t of each node of the order: its first actor
    ts__rvec edges;  // ts__edge: edges in addition to those of the graph
    ts__rvec hosts;  // uint32_t of each node that is not in the graph: its lane
    ts__rvec rows;   // ts_race
    ts__rvec cells;  // uint64_t: first address of each cell
    ts__rvec cell_spaces;  // uint32_t: address space of each cell
    ts__rvec events;       // ts__race_event, in recorded order
    ts__rvec predecessors; // uint32_t: direct predecessors of each event
    ts__rvec pairs;        // ts__race_pair: races, used for exploring
    uint32_t cell_count;
    ts_races_stats stats;
};

static ts__actor *ts__races_actor(const ts_races *x, size_t i)
{
    return (ts__actor *)x->actors.data + i;
}
static ts__race_span *ts__races_span(const ts_races *x, size_t i)
{
    return (ts__race_span *)x->spans.data + i;
}

// Whether operations of this kind can access memory.
static bool ts__kind_accesses(uint8_t kind)
{
    return ts__kind_works(kind) || kind == TS_EVENT_HOST_FUNCTION ||
           kind == TS_EVENT_GPU_ALLOC || kind == TS_EVENT_GPU_FREE;
}

/*
    Matches rows of a file with operations of the replay by all properties that
    both have. Of several rows with equal properties, the first in the file is
    the first in the replay, whose total order ends with the order of the file.
*/
typedef struct ts__finder {
    // Hash of an operation to the first operation with this hash.
    ts__rmap first;
    ts__rvec next; // uint32_t of each operation: the next with the same hash
} ts__finder;

static uint64_t ts__finder_key(uint32_t file, uint32_t track, uint8_t kind,
                               int64_t start, int64_t duration,
                               uint64_t correlation)
{
    const uint64_t v[] = { (uint64_t)file << 32 | track, kind, (uint64_t)start,
                           (uint64_t)duration, correlation };
    return XXH3_64bits(v, sizeof v);
}

static bool ts__finder_open(const ts_races *x, ts__finder *f)
{
    const ts_replay *const r = x->replay;
    const ts_allocator *const a = &x->allocator;
    if (!ts__rvec_fill(a, &f->next, sizeof(uint32_t), r->op_count, 0xFF))
        return false;
    uint32_t *const next = (uint32_t *)f->next.data;
    for (uint32_t i = r->op_count; i-- > 0;) {
        const ts__op *const op = ts__replay_op(r, i);
        if (!ts__kind_accesses(op->kind)) continue;
        const ts__replay_lane *const lane =
            ts__replay_lane_at(r, ts__replay_lanes(r)[i]);
        const uint64_t key = ts__finder_key(
            lane->file, lane->track, op->kind, ts__replay_time(r)[i],
            ts__replay_duration(r)[i], op->correlation);
        next[i] = ts__rmap_get(&f->first, key);
        if (!ts__rmap_put(a, &f->first, key, i)) return false;
    }
    return true;
}

static void ts__finder_close(const ts_races *x, ts__finder *f)
{
    ts__rvec_close(&x->allocator, &f->first.entries);
    ts__rvec_close(&x->allocator, &f->next);
}

// Returns the operation of a row and takes it out; TS_NODE_NONE: the replay
// does not have it.
static uint32_t ts__finder_take(ts__finder *f, uint32_t file,
                                const ts_columns *c, uint32_t i, int64_t offset)
{
    const uint64_t key = ts__finder_key(
        file, c->tracks ? c->tracks[i] : c->track, (uint8_t)c->kind,
        c->start_ns[i] + offset, c->duration_ns[i],
        ts__columns_get(c, TS_COLUMN_CORRELATION, i));
    if (!f->first.used) return TS_NODE_NONE;
    ts__rmap_entry *const entry = ts__rmap_slot(&f->first, key);
    const uint32_t op = entry->value;
    if (op == TS_NODE_NONE) return op;
    const uint32_t next = ((const uint32_t *)f->next.data)[op];
    // Keep the last one: an entry without a value would end the probing.
    if (next != TS_NODE_NONE) entry->value = next;
    return op;
}

// Returns the address space of a track, which is that of its process.
static uint32_t ts__races_space(ts_races *x, ts__rmap *spaces, uint32_t file,
                                uint32_t track)
{
    ts_reader *const reader = ts__replay_file(x->replay, file)->reader;
    uint32_t process = 0;
    ts_track t;
    for (int depth = 0; depth < 8 && ts_reader_track(reader, track, &t);
         depth++) {
        if (t.type == TS_TRACK_PROCESS) {
            process = t.id;
            break;
        }
        track = t.parent;
    }
    const uint64_t key = ts__replay_key(file, process);
    const uint32_t known = ts__rmap_get(spaces, key);
    if (known != TS_NODE_NONE) return known;
    const uint32_t space = (uint32_t)spaces->used;
    return ts__rmap_put(&x->allocator, spaces, key, space) ? space
                                                           : TS_NODE_NONE;
}

typedef struct ts__gather { // collects the accesses of a trace
    ts_races *races;
    ts__finder finder;
    ts__rmap spaces, space_of; // address spaces of processes; of tracks
    ts__rvec accesses;         // ts__access_row: rows of access events
    ts__rvec hosts;            // ts__access_row: accesses of the host
    ts__rmap by_call;          // operations by file, track and correlation
    bool failed;
} ts__gather;

static uint32_t ts__gather_space(ts__gather *g, uint32_t file, uint32_t track)
{
    const uint64_t key = ts__replay_key(file, track);
    uint32_t space = ts__rmap_get(&g->space_of, key);
    if (space != TS_NODE_NONE) return space;
    space = ts__races_space(g->races, &g->spaces, file, track);
    if (space == TS_NODE_NONE ||
        !ts__rmap_put(&g->races->allocator, &g->space_of, key, space))
        g->failed = true;
    return space;
}

// Adds a span to an actor. All spans of an actor must be added before the next
// actor, so that they are adjacent.
static void ts__gather_span(ts__gather *g, uint32_t actor, uint64_t address,
                            uint64_t size, uint8_t mode)
{
    ts_races *const x = g->races;
    ts__actor *const who = ts__races_actor(x, actor);
    if (!size || address > UINT64_MAX - size) {
        x->stats.bad_ranges++;
        return;
    }
    ts__race_span *const span =
        (ts__race_span *)ts__rvec_push(&x->allocator, &x->spans, sizeof *span);
    if (!span) {
        g->failed = true;
        return;
    }
    memset(span, 0, sizeof *span);
    span->first = address;
    span->last = address + size - 1;
    span->actor = actor;
    span->mode = mode;
    span->space = ts__gather_space(g, who->file, who->track);
    if (!who->span_count++) who->spans = (uint32_t)x->spans.count - 1;
    x->stats.ranges++;
}

static uint32_t ts__gather_actor(ts__gather *g, const ts__actor *like)
{
    ts_races *const x = g->races;
    ts__actor *const to =
        (ts__actor *)ts__rvec_push(&x->allocator, &x->actors, sizeof *to);
    if (!to) {
        g->failed = true;
        return TS_NODE_NONE;
    }
    *to = *like;
    to->next = TS_NODE_NONE;
    const uint64_t v[] = { like->kind, (uint64_t)like->file << 32 | like->label,
                           (uint64_t)like->site << 32 | like->stack };
    to->where = XXH3_64bits(v, sizeof v);
    return (uint32_t)x->actors.count - 1;
}

// Describes an operation as an actor. node is TS_NODE_NONE if its place in the
// order is unknown.
static ts__actor ts__gather_operation(const ts__gather *g, uint32_t op)
{
    const ts_replay *const r = g->races->replay;
    const ts__op *const o = ts__replay_op(r, op);
    const ts__replay_lane *const lane =
        ts__replay_lane_at(r, ts__replay_lanes(r)[op]);
    ts__actor actor = { 0 };
    actor.op = op;
    actor.node = op;
    actor.file = lane->file;
    actor.track = lane->track;
    actor.device = lane->device_track;
    actor.thread = o->thread;
    actor.kind = o->kind;
    actor.label = o->label;
    actor.start = ts__replay_time(r)[op];
    actor.end = ts__replay_end(r, op);
    actor.placed = o->call != TS_NODE_NONE;
    if (lane->fifo) return actor;
    // The call performs it or, without a call, the thread itself.
    if (o->call != TS_NODE_NONE)
        actor.node = ts__replay_end_node(r, o->call);
    else if (!o->thread || !ts__kind_of_host(o->kind, false))
        actor.node = TS_NODE_NONE;
    actor.host = actor.placed = true;
    return actor;
}

/* ---- 11.74 Races: reading the rows -------------------------------------- */
// src/replay/races/rows.h

// Calls `take` for every chunk of some kinds, in the order of the files.
static ts_result ts__gather_scan(ts__gather *g, uint64_t kinds,
                                 void (*take)(ts__gather *g, uint32_t file,
                                              const ts_columns *c))
{
    const ts_replay *const r = g->races->replay;
    for (uint32_t file = 0; file < r->files.count; file++) {
        ts_reader *const reader = ts__replay_file(r, file)->reader;
        ts_columns columns = { 0 };
        ts_chunk_info info;
        for (size_t i = 0; ts_reader_chunk(reader, i, &info); i++) {
            const ts_chunk_header *const h = &info.header;
            if (h->kind != TS_CHUNK_EVENTS || h->event >= TS_EVENT_LIMIT ||
                !(kinds >> h->event & 1))
                continue;
            // Only a damaged chunk is lost, and the reader's list of faults has
            // it.
            const ts_result result = ts_reader_decode(reader, i, &columns);
            if (result == TS_ERR_MEMORY) g->failed = true;
            if (result == TS_OK && !g->failed) take(g, file, &columns);
        }
        ts_columns_close(reader, &columns);
    }
    return g->failed ? TS_ERR_MEMORY : TS_OK;
}

static bool ts__gather_time_ok(const ts_columns *c, uint32_t i)
{
    return ts__replay_time_ok(c->start_ns[i]) &&
           ts__replay_time_ok(c->duration_ns[i]) && c->duration_ns[i] >= 0;
}

static void ts__gather_add_row(ts__gather *g, ts__rvec *to, uint32_t file,
                               const ts_columns *c, uint32_t i, uint8_t mode)
{
    if (!ts__gather_time_ok(c, i)) return;
    ts__access_row *const row =
        (ts__access_row *)ts__rvec_push(&g->races->allocator, to, sizeof *row);
    if (!row) {
        g->failed = true;
        return;
    }
    row->address = ts__columns_get(c, TS_COLUMN_ADDRESS, i);
    row->size = ts__columns_get(c, TS_COLUMN_SIZE, i);
    row->correlation = ts__columns_get(c, TS_COLUMN_CORRELATION, i);
    row->time =
        c->start_ns[i] + ts__replay_file(g->races->replay, file)->offset_ns;
    row->file = file;
    row->track = c->tracks ? c->tracks[i] : c->track;
    row->site = (uint32_t)ts__columns_get(c, TS_COLUMN_SITE, i);
    row->stack = (uint32_t)ts__columns_get(c, TS_COLUMN_STACK, i);
    row->kind = (uint8_t)c->kind;
    row->mode = mode;
}

static void ts__gather_take_accesses(ts__gather *g, uint32_t file,
                                     const ts_columns *c)
{
    const uint64_t known = TS_ACCESS_READ | TS_ACCESS_WRITE | TS_ACCESS_COARSE;
    for (uint32_t i = 0; i < c->count; i++) {
        const uint8_t mode =
            (uint8_t)(ts__columns_get(c, TS_COLUMN_TYPE, i) & known);
        const bool host = !ts__columns_get(c, TS_COLUMN_CORRELATION, i);
        if (mode & (TS_ACCESS_READ | TS_ACCESS_WRITE))
            ts__gather_add_row(g, host ? &g->hosts : &g->accesses, file, c, i,
                               mode);
    }
}

static uint64_t ts__gather_call_key(uint32_t file, uint32_t track,
                                    uint64_t correlation)
{
    const uint64_t v[] = { (uint64_t)file << 32 | track, correlation };
    return XXH3_64bits(v, sizeof v);
}

// Maps correlations to operations. If several operations share one, as in a
// graph, their accesses cannot be attributed and are dropped.
static bool ts__gather_name_calls(ts__gather *g)
{
    const ts_replay *const r = g->races->replay;
    for (uint32_t i = 0; g->accesses.count && i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        if (!op->correlation || !ts__kind_accesses(op->kind)) continue;
        const ts__replay_lane *const lane =
            ts__replay_lane_at(r, ts__replay_lanes(r)[i]);
        const uint64_t key =
            ts__gather_call_key(lane->file, lane->track, op->correlation);
        const bool more = ts__rmap_get(&g->by_call, key) != TS_NODE_NONE;
        if (!ts__rmap_put(&g->races->allocator, &g->by_call, key,
                          more ? TS_NODE_NONE - 1 : i))
            return false;
    }
    return true;
}

// Finds the operations of all accesses and sorts the accesses by operation,
// then by the order of the file. `time` becomes the operation.
static bool ts__gather_match(ts__gather *g)
{
    ts_races *const x = g->races;
    if (!ts__gather_name_calls(g)) return false;
    ts__access_row *const accesses = (ts__access_row *)g->accesses.data;
    size_t kept = 0;
    for (size_t i = 0; i < g->accesses.count; i++) {
        ts__access_row row = accesses[i];
        const uint32_t op =
            ts__rmap_get(&g->by_call, ts__gather_call_key(row.file, row.track,
                                                          row.correlation));
        if (op >= TS_NODE_NONE - 1) {
            x->stats.lost_accesses++;
            continue;
        }
        row.time = op;
        accesses[kept++] = row;
    }
    g->accesses.count = kept;
    ts__rsort sort = { 0 };
    ts__rvec sorted = { 0 };
    bool ok =
        ts__rsort_open(&x->allocator, &sort, kept) &&
        ts__rvec_reserve(&x->allocator, &sorted, sizeof(ts__access_row), kept);
    for (size_t i = 0; ok && i < kept; i++) {
        ts__rsort_keys(&sort)[i] = (uint64_t)accesses[i].time;
        ts__rsort_index(&sort)[i] = (uint32_t)i;
    }
    if (ok) {
        ts__rsort_run(&sort, kept);
        for (size_t i = 0; i < kept; i++)
            ((ts__access_row *)sorted.data)[i] =
                accesses[ts__rsort_index(&sort)[i]];
        sorted.count = kept;
    }
    ts__rsort_close(&x->allocator, &sort);
    ts__rvec_close(&x->allocator, &g->accesses);
    g->accesses = sorted;
    return ok;
}

// Finds the accesses of an operation and returns their number.
static size_t ts__gather_rows_of(const ts__gather *g, uint32_t op,
                                 const ts__access_row **first)
{
    const ts__access_row *const accesses =
        (const ts__access_row *)g->accesses.data;
    size_t low = 0, high = g->accesses.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (accesses[middle].time < (int64_t)op)
            low = middle + 1;
        else
            high = middle;
    }
    size_t end = low;
    while (end < g->accesses.count && accesses[end].time == (int64_t)op)
        end++;
    *first = accesses + low;
    return end - low;
}

enum { TS__MEMORY_PAGEABLE = 1, TS__MEMORY_ARRAY = 5 };

// Adds the accesses of the two ends of a copy. Arrays have no addresses.
static void ts__gather_copy(ts__gather *g, const ts__actor *actor,
                            const ts_columns *c, uint32_t i)
{
    const ts_replay *const r = g->races->replay;
    const uint64_t size = ts__columns_get(c, TS_COLUMN_SIZE, i);
    const uint64_t memory = ts__columns_get(c, TS_COLUMN_MEMORY, i);
    const uint64_t from = ts__columns_get(c, TS_COLUMN_SOURCE, i);
    const uint64_t to = ts__columns_get(c, TS_COLUMN_ADDRESS, i);
    const bool reads = from && (memory & 15) != TS__MEMORY_ARRAY;
    const bool writes = to && (memory >> 4 & 15) != TS__MEMORY_ARRAY;
    const uint32_t call = ts__replay_op(r, actor->op)->call;
    const uint64_t type = ts__columns_get(c, TS_COLUMN_TYPE, i);
    const bool pageable = type == 1 && (memory & 15) == TS__MEMORY_PAGEABLE;
    const bool back = type == 2 && (memory >> 4 & 15) == TS__MEMORY_PAGEABLE;
    const bool staged = pageable && call != TS_NODE_NONE;
    ((uint8_t *)g->races->copies.data)[actor->op] =
        (uint8_t)((pageable ? TS__COPY_STAGED : 0) |
                  (back ? TS__COPY_BACK : 0));
    if (!reads && !writes) return;
    if (reads && staged) {
        ts__actor reader = *actor;
        reader.node = call; // at the start of the call: the copy comes after it
        reader.start = ts__replay_time(r)[call];
        reader.end = ts__replay_end(r, call);
        reader.host = true;
        const uint32_t who = ts__gather_actor(g, &reader);
        if (!g->failed) ts__gather_span(g, who, from, size, TS_ACCESS_READ);
    }
    if (g->failed || (staged && !writes)) return;
    const uint32_t who = ts__gather_actor(g, actor);
    if (g->failed) return;
    if (reads && !staged) ts__gather_span(g, who, from, size, TS_ACCESS_READ);
    if (writes) ts__gather_span(g, who, to, size, TS_ACCESS_WRITE);
}

static void ts__gather_own(ts__gather *g, const ts__actor *actor,
                           const ts_columns *c, uint32_t i)
{
    const uint64_t address = ts__columns_get(c, TS_COLUMN_ADDRESS, i);
    const uint64_t size = ts__columns_get(c, TS_COLUMN_SIZE, i);
    if (actor->kind == TS_EVENT_MEMCPY) {
        ts__gather_copy(g, actor, c, i);
        return;
    }
    if (!address || actor->kind == TS_EVENT_KERNEL) return;
    const bool frees = actor->kind == TS_EVENT_GPU_FREE;
    const bool allocates = actor->kind == TS_EVENT_GPU_ALLOC;
    if (!frees && !allocates && actor->kind != TS_EVENT_MEMSET) return;
    ts__actor own = *actor;
    own.fill = ts__columns_get(c, TS_COLUMN_VALUE, i);
    const uint32_t who = ts__gather_actor(g, &own);
    if (g->failed) return;
    // The size is set when the allocation of the freed address is known.
    ts__gather_span(g, who, address, frees ? 1 : size,
                    (uint8_t)(TS_ACCESS_WRITE | (frees       ? TS__SPAN_FREE
                                                 : allocates ? TS__SPAN_ALLOC
                                                             : 0)));
}

static void ts__gather_take_operations(ts__gather *g, uint32_t file,
                                       const ts_columns *c)
{
    ts_races *const x = g->races;
    const int64_t offset = ts__replay_file(x->replay, file)->offset_ns;
    for (uint32_t i = 0; i < c->count && !g->failed; i++) {
        if (!ts__gather_time_ok(c, i)) continue;
        const uint32_t op = ts__finder_take(&g->finder, file, c, i, offset);
        if (op == TS_NODE_NONE || ts__replay_op(x->replay, op)->skip) continue;
        ts__actor actor = ts__gather_operation(g, op);
        actor.site = (uint32_t)ts__columns_get(c, TS_COLUMN_SITE, i);
        actor.stack = (uint32_t)ts__columns_get(c, TS_COLUMN_STACK, i);
        const uint64_t ranges = x->stats.ranges;
        const size_t spans = x->spans.count;
        actor.own = true;
        ts__gather_own(g, &actor, c, i);
        actor.own = false;
        const ts__access_row *accesses;
        const size_t count = ts__gather_rows_of(g, op, &accesses);
        const uint32_t who = count ? ts__gather_actor(g, &actor) : 0;
        bool coarse = false;
        for (size_t k = 0; k < count && !g->failed; k++) {
            ts__gather_span(g, who, accesses[k].address, accesses[k].size,
                            accesses[k].mode);
            coarse |= (accesses[k].mode & TS_ACCESS_COARSE) != 0;
        }
        x->stats.known += x->stats.ranges != ranges;
        x->stats.coarse += coarse;
        if (actor.node != TS_NODE_NONE || x->spans.count == spans) continue;
        x->stats.unplaced++;
        for (size_t k = spans; k < x->spans.count; k++)
            ts__races_span(x, k)->mode = 0; // excluded from the check
    }
}

/* ---- 11.75 Races: host accesses ----------------------------------------- */
// src/replay/races/host.h

// Ranges of memory that GPU work accesses: disjoint and ascending.
typedef struct ts__gpu_range {
    uint64_t first, last;
    uint32_t space;
} ts__gpu_range;

static int ts__gpu_range_compare(const void *left, const void *right)
{
    const ts__gpu_range *const a = (const ts__gpu_range *)left;
    const ts__gpu_range *const b = (const ts__gpu_range *)right;
    if (a->space != b->space) return a->space < b->space ? -1 : 1;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return a->last < b->last ? -1 : a->last > b->last;
}

static bool ts__gather_gpu_ranges(ts__gather *g, ts__rvec *ranges)
{
    ts_races *const x = g->races;
    if (!ts__rvec_reserve(&x->allocator, ranges, sizeof(ts__gpu_range),
                          x->spans.count))
        return false;
    ts__gpu_range *const list = (ts__gpu_range *)ranges->data;
    for (size_t i = 0; i < x->spans.count; i++) {
        const ts__race_span *const s = ts__races_span(x, i);
        list[i].first = s->first;
        list[i].last = s->last;
        list[i].space = s->space;
    }
    if (x->spans.count)
        qsort(list, x->spans.count, sizeof *list, ts__gpu_range_compare);
    size_t kept = 0;
    for (size_t i = 0; i < x->spans.count; i++) {
        ts__gpu_range *const last = kept ? &list[kept - 1] : NULL;
        if (last && last->space == list[i].space &&
            list[i].first <= last->last) {
            if (list[i].last > last->last) last->last = list[i].last;
        } else {
            list[kept++] = list[i];
        }
    }
    ranges->count = kept;
    return true;
}

static bool ts__gpu_ranges_overlap(const ts__rvec *ranges, uint32_t space,
                                   uint64_t first, uint64_t last)
{
    const ts__gpu_range *const list = (const ts__gpu_range *)ranges->data;
    size_t low = 0, high = ranges->count;
    while (low < high) { // find the first range that ends at or after `first`
        const size_t middle = low + (high - low) / 2;
        if (list[middle].space < space ||
            (list[middle].space == space && list[middle].last < first))
            low = middle + 1;
        else
            high = middle;
    }
    return low < ranges->count && list[low].space == space &&
           list[low].first <= last;
}

static void ts__gather_take_heap(ts__gather *g, uint32_t file,
                                 const ts_columns *c)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (!ts__columns_get(c, TS_COLUMN_POOL, i) &&
            ts__columns_get(c, TS_COLUMN_ADDRESS, i))
            ts__gather_add_row(
                g, &g->hosts, file, c, i,
                (uint8_t)(TS_ACCESS_WRITE |
                          (c->kind == TS_EVENT_ALLOC ? TS__SPAN_ALLOC
                                                     : TS__SPAN_FREE)));
}

// Keeps only the host's allocations and frees of memory that GPU work accesses.
static bool ts__gather_prune(ts__gather *g)
{
    const ts_allocator *const a = &g->races->allocator;
    ts__rvec ranges = { 0 };
    ts__rmap kept_blocks = { { 0 }, 0 };
    bool ok = ts__gather_gpu_ranges(g, &ranges);
    ts__access_row *const accesses = (ts__access_row *)g->hosts.data;
    for (int frees = 0; ok && frees < 2; frees++) {
        size_t kept = 0;
        for (size_t i = 0; ok && i < g->hosts.count; i++) {
            const ts__access_row t = accesses[i];
            const uint32_t space = ts__gather_space(g, t.file, t.track);
            const uint64_t v[] = { space, t.address };
            const uint64_t key = XXH3_64bits(v, sizeof v);
            bool keep = true;
            if (t.mode & TS__SPAN_ALLOC && !frees) {
                keep = t.size && t.address <= UINT64_MAX - t.size &&
                       ts__gpu_ranges_overlap(&ranges, space, t.address,
                                              t.address + t.size - 1);
                if (keep) ok = ts__rmap_put(a, &kept_blocks, key, 0);
            } else if (t.mode & TS__SPAN_FREE && frees) {
                keep = ts__rmap_get(&kept_blocks, key) != TS_NODE_NONE;
            }
            if (keep) accesses[kept++] = t;
        }
        g->hosts.count = kept;
    }
    ts__rvec_close(a, &ranges);
    ts__rvec_close(a, &kept_blocks.entries);
    return ok && !g->failed;
}

// Makes a node for each access of the host, and its actor.
static void ts__gather_hosts(ts__gather *g)
{
    ts_races *const x = g->races;
    const ts__access_row *const accesses =
        (const ts__access_row *)g->hosts.data;
    for (size_t i = 0; i < g->hosts.count && !g->failed; i++) {
        const ts__access_row *const t = &accesses[i];
        ts__actor actor = { 0 };
        actor.op = TS_NODE_NONE;
        actor.node = x->replay->node_count + (uint32_t)i;
        actor.file = t->file;
        actor.track = actor.thread = t->track;
        actor.kind = t->kind;
        actor.site = t->site;
        actor.stack = t->stack;
        actor.start = actor.end = t->time;
        actor.host = actor.placed = true;
        const uint32_t who = ts__gather_actor(g, &actor);
        if (!g->failed)
            ts__gather_span(g, who, t->address,
                            t->mode & TS__SPAN_FREE ? 1 : t->size, t->mode);
        x->stats.host++;
    }
}

static ts_result ts__gather_run(ts__gather *g)
{
    ts_races *const x = g->races;
    const uint64_t own = TS_FILTER(MEMCPY) | TS_FILTER(MEMSET) |
                         TS_FILTER(GPU_ALLOC) | TS_FILTER(GPU_FREE);
    const uint64_t reported =
        TS_FILTER(KERNEL) | TS_FILTER(COLLECTIVE) | TS_FILTER(HOST_FUNCTION);
    for (uint32_t i = 0; i < x->replay->op_count; i++) {
        const ts__op *const op = ts__replay_op(x->replay, i);
        x->stats.operations += !op->skip && ts__kind_accesses(op->kind);
    }
    ts_result result =
        ts__gather_scan(g, TS_FILTER(ACCESS), ts__gather_take_accesses);
    if (!ts__rvec_fill(&x->allocator, &x->copies, 1, x->replay->op_count, 0))
        return TS_ERR_MEMORY;
    if (result == TS_OK &&
        !(ts__finder_open(x, &g->finder) && ts__gather_match(g)))
        return TS_ERR_MEMORY;
    if (result == TS_OK)
        result = ts__gather_scan(g, own | (g->accesses.count ? reported : 0),
                                 ts__gather_take_operations);
    if (result == TS_OK && x->spans.count)
        result = ts__gather_scan(g, TS_FILTER(ALLOC) | TS_FILTER(FREE),
                                 ts__gather_take_heap);
    if (result != TS_OK) return result;
    if (!ts__gather_prune(g)) return TS_ERR_MEMORY;
    if (g->hosts.count >= UINT32_MAX - x->replay->node_count)
        return TS_ERR_UNSUPPORTED;
    ts__gather_hosts(g);
    return g->failed ? TS_ERR_MEMORY : TS_OK;
}

static void ts__gather_close(ts__gather *g)
{
    const ts_allocator *const a = &g->races->allocator;
    ts__finder_close(g->races, &g->finder);
    ts__rvec_close(a, &g->spaces.entries);
    ts__rvec_close(a, &g->space_of.entries);
    ts__rvec_close(a, &g->by_call.entries);
    ts__rvec_close(a, &g->accesses);
    ts__rvec_close(a, &g->hosts);
}

/* ---- 11.76 Races: vector clocks ----------------------------------------- */
// src/replay/races/vector_clocks.h

/*
    A clock holds for each chain the *epoch* up to which its events happened
    before; 0: none did. Chains are streams and threads. There are thousands of
    them, and most clocks differ in few places from the clock that they derive
    from. So a clock is a tree of shared nodes: equal subtrees are one node, and
    joining stops where both sides are the same node.

                    level 1: 16 below, of 32 epochs each
                   /                 |
          level 0: 32 epochs      (NULL: all zero)
*/
typedef struct ts__vclock {
    uint32_t refs, level;
    union {
        struct ts__vclock *below[16];
        uint32_t epochs[32];
    } u;
} ts__vclock;

enum { TS__VCLOCK_SLAB = 256, TS__CHAINS_MAX = 65536 };

typedef struct ts__vclocks { // the pool of clock nodes
    const ts_allocator *allocator;
    ts__rvec slabs;   // ts__vclock *: arrays of TS__VCLOCK_SLAB nodes
    ts__vclock *free; // free nodes, linked by u.below[0]
    bool failed;
} ts__vclocks;

static ts__vclock *ts__vclock_new(ts__vclocks *c, uint32_t level)
{
    if (!c->free) {
        const ts_allocator *const a = c->allocator;
        ts__vclock **const slab =
            (ts__vclock **)ts__rvec_push(a, &c->slabs, sizeof *slab);
        if (!slab) return NULL;
        *slab = (ts__vclock *)a->resize(a->user, NULL, 0,
                                        TS__VCLOCK_SLAB * sizeof(ts__vclock));
        if (!*slab) {
            c->slabs.count--;
            return NULL;
        }
        for (size_t i = 0; i < TS__VCLOCK_SLAB; i++) {
            (*slab)[i].u.below[0] = c->free;
            c->free = &(*slab)[i];
        }
    }
    ts__vclock *const clock = c->free;
    c->free = clock->u.below[0];
    memset(clock, 0, sizeof *clock);
    clock->refs = 1;
    clock->level = level;
    return clock;
}

static ts__vclock *ts__vclock_ref(ts__vclock *clock)
{
    if (clock) clock->refs++;
    return clock;
}

static void ts__vclock_unref(ts__vclocks *c, ts__vclock *clock)
{
    if (!clock || --clock->refs) return;
    for (int i = 0; clock->level && i < 16; i++)
        ts__vclock_unref(c, clock->u.below[i]);
    clock->u.below[0] = c->free;
    c->free = clock;
}

static void ts__vclocks_close(ts__vclocks *c)
{
    for (size_t i = 0; i < c->slabs.count; i++)
        c->allocator->resize(c->allocator->user,
                             ((ts__vclock **)c->slabs.data)[i],
                             TS__VCLOCK_SLAB * sizeof(ts__vclock), 0);
    ts__rvec_close(c->allocator, &c->slabs);
    c->free = NULL;
}

static uint32_t ts__vclock_get(const ts__vclock *clock, uint32_t chain)
{
    if (!clock || chain >> (5 + 4 * clock->level)) return 0;
    while (clock && clock->level) {
        const uint32_t shift = 5 + 4 * (clock->level - 1);
        clock = clock->u.below[chain >> shift & 15];
    }
    return clock ? clock->u.epochs[chain & 31] : 0;
}

// Returns an unshared node with the same content. Takes over the reference.
static ts__vclock *ts__vclock_own(ts__vclocks *c, ts__vclock *clock)
{
    if (!clock || clock->refs == 1) return clock;
    ts__vclock *const own = ts__vclock_new(c, clock->level);
    if (!own) {
        c->failed = true;
        return clock;
    }
    own->u = clock->u;
    for (int i = 0; own->level && i < 16; i++)
        ts__vclock_ref(own->u.below[i]);
    clock->refs--;
    return own;
}

// Raises a clock to a root of a higher level. Takes over the reference.
static ts__vclock *ts__vclock_raise(ts__vclocks *c, ts__vclock *clock,
                                    uint32_t level)
{
    while (clock->level < level) {
        ts__vclock *const root = ts__vclock_new(c, clock->level + 1);
        if (!root) {
            c->failed = true;
            return clock;
        }
        root->u.below[0] = clock;
        clock = root;
    }
    return clock;
}

// Sets the epoch of a chain. Takes over the reference to `clock` (NULL: all
// zero) and returns a reference to the result.
static ts__vclock *ts__vclock_set(ts__vclocks *c, ts__vclock *clock,
                                  uint32_t chain, uint32_t epoch)
{
    uint32_t level = 0;
    while (chain >> (5 + 4 * level))
        level++;
    if (!clock) clock = ts__vclock_new(c, level);
    if (clock && clock->level < level)
        clock = ts__vclock_raise(c, clock, level);
    clock = ts__vclock_own(c, clock);
    ts__vclock *at = clock;
    while (at && at->level && !c->failed) {
        const uint32_t shift = 5 + 4 * (at->level - 1);
        ts__vclock **const below = &at->u.below[chain >> shift & 15];
        *below = *below ? ts__vclock_own(c, *below)
                        : ts__vclock_new(c, at->level - 1);
        at = *below;
    }
    if (!at) c->failed = true;
    if (!c->failed) at->u.epochs[chain & 31] = epoch;
    return clock;
}

// Returns the maximum of both clocks. Takes over the reference to `a`, not that
// to `b`.
static ts__vclock *ts__vclock_join(ts__vclocks *c, ts__vclock *a, ts__vclock *b)
{
    if (a == b || !b || c->failed) return a;
    if (!a) return ts__vclock_ref(b);
    if (a->level < b->level) a = ts__vclock_raise(c, a, b->level);
    a = ts__vclock_own(c, a);
    if (c->failed) return a;
    if (a->level > b->level) { // b only covers the first child
        ts__vclock *at = a;
        while (at->level > b->level + 1) {
            at->u.below[0] = at->u.below[0] ? ts__vclock_own(c, at->u.below[0])
                                            : ts__vclock_new(c, at->level - 1);
            at = at->u.below[0];
            if (!at) c->failed = true;
            if (c->failed) return a;
        }
        at->u.below[0] = ts__vclock_join(c, at->u.below[0], b);
    } else if (a->level) {
        for (int i = 0; i < 16; i++)
            a->u.below[i] = ts__vclock_join(c, a->u.below[i], b->u.below[i]);
    } else {
        for (int i = 0; i < 32; i++)
            if (b->u.epochs[i] > a->u.epochs[i])
                a->u.epochs[i] = b->u.epochs[i];
    }
    return a;
}

/* ---- 11.77 Races: order of host accesses -------------------------------- */
// src/replay/races/host_order.h

// One step of a thread: a node of the graph or an additional one.
typedef struct ts__host_step {
    uint32_t lane, node;
    int64_t time;
} ts__host_step;

static int64_t ts__races_time(const ts_races *x, uint32_t node)
{
    const uint32_t count = x->replay->node_count;
    if (node < count) return ts__replay_time(x->replay)[node];
    const uint32_t *const heads = (const uint32_t *)x->heads.data;
    return ts__races_actor(x, heads[node])->start;
}

// Returns the lane of a thread. Threads that launch nothing get new lanes.
static uint32_t ts__hosts_lane(ts_races *x, ts__rmap *lanes, uint32_t file,
                               uint32_t track)
{
    const uint64_t key = ts__replay_key(file, track);
    const uint32_t known = ts__rmap_get(lanes, key);
    if (known != TS_NODE_NONE) return known;
    const uint32_t lane = (uint32_t)lanes->used;
    return ts__rmap_put(&x->allocator, lanes, key, lane) ? lane : TS_NODE_NONE;
}

static bool ts__hosts_push(ts_races *x, ts__rvec *steps, uint32_t lane,
                           uint32_t node)
{
    ts__host_step *const step =
        (ts__host_step *)ts__rvec_push(&x->allocator, steps, sizeof *step);
    if (!step || lane == TS_NODE_NONE) return false;
    step->lane = lane;
    step->node = node;
    step->time = ts__races_time(x, node);
    return true;
}

// Lists all steps of the threads that have additional nodes.
static bool ts__hosts_steps(ts_races *x, ts__rvec *steps, uint32_t beyond)
{
    const ts_replay *const r = x->replay;
    ts__rmap lanes = { { 0 }, 0 };
    bool ok = true;
    for (uint32_t i = 0; ok && i < r->lanes.count; i++) {
        const ts__replay_lane *const lane = ts__replay_lane_at(r, i);
        const uint64_t key = ts__replay_key(lane->file, lane->track);
        ok = ts__rmap_put(&x->allocator, &lanes, key, i);
    }
    const uint32_t *const heads = (const uint32_t *)x->heads.data;
    // These come first, so that they precede calls at equal times.
    for (uint32_t i = 0; ok && i < beyond; i++) {
        const uint32_t node = r->node_count + i;
        const ts__actor *const actor = ts__races_actor(x, heads[node]);
        const uint32_t lane =
            ts__hosts_lane(x, &lanes, actor->file, actor->track);
        ((uint32_t *)x->hosts.data)[i] = lane;
        ok = ts__hosts_push(x, steps, lane, node);
    }
    const uint32_t calls_end = r->op_count + r->call_count;
    for (uint32_t i = 0; ok && i < calls_end; i++) {
        uint32_t lane = ts__replay_lanes(r)[i];
        if (i < r->op_count) {
            const ts__op *const op = ts__replay_op(r, i);
            const bool fifo = ts__replay_lane_at(r, lane)->fifo;
            if (!op->thread || op->call != TS_NODE_NONE ||
                !ts__kind_of_host(op->kind, fifo))
                continue;
            lane = ts__rmap_get(
                &lanes,
                ts__replay_key(ts__replay_lane_at(r, lane)->file, op->thread));
            if (lane == TS_NODE_NONE) continue;
        }
        ok = ts__hosts_push(x, steps, lane, i);
    }
    ts__rvec_close(&x->allocator, &lanes.entries);
    return ok;
}

static bool ts__races_edge(ts_races *x, uint32_t from, uint32_t to,
                           uint32_t kind)
{
    ts__edge *const edge =
        (ts__edge *)ts__rvec_push(&x->allocator, &x->edges, sizeof *edge);
    if (!edge) return false;
    edge->from = from;
    edge->to = to;
    edge->kind = (uint8_t)kind;
    return true;
}

// The state of a thread while its steps are processed in order.
typedef struct ts__host_place {
    uint32_t lane;
    // Last node of the graph, and the one with the latest end.
    uint32_t call, longest;
    uint32_t own; // last additional node
    bool fresh;   // `own` came after `call`
} ts__host_place;

// Orders an additional node among the calls before it: after the end of each,
// or between start and end of a call that has not returned.
static bool ts__hosts_order(ts_races *x, ts__host_place *p,
                            const ts__host_step *step)
{
    const ts_replay *const r = x->replay;
    bool ok = true;
    if (p->own != TS_NODE_NONE)
        ok = ts__races_edge(x, p->own, step->node, TS_EDGE_HOST_ORDER);
    const uint32_t before[] = { p->call, p->longest };
    for (int i = 0; ok && i < 2 && before[i] != TS_NODE_NONE; i++) {
        const uint32_t end = ts__replay_end_node(r, before[i]);
        const bool done = ts__replay_end(r, before[i]) <= step->time;
        ok = ts__races_edge(x, done ? end : before[i], step->node,
                            TS_EDGE_HOST_ORDER);
        if (ok && !done && end != before[i])
            ok = ts__races_edge(x, step->node, end, TS_EDGE_HOST_ORDER);
    }
    p->own = step->node;
    p->fresh = true;
    return ok;
}

static bool ts__hosts_step(ts_races *x, ts__host_place *p,
                           const ts__host_step *step)
{
    const ts_replay *const r = x->replay;
    if (p->lane != step->lane) {
        memset(p, 0xFF, sizeof *p);
        p->lane = step->lane;
        p->fresh = false;
    }
    if (step->node >= r->node_count) return ts__hosts_order(x, p, step);
    const uint32_t own = p->own;
    const bool fresh = p->fresh;
    p->call = step->node;
    p->fresh = false;
    if (p->longest == TS_NODE_NONE ||
        ts__replay_end(r, step->node) >= ts__replay_end(r, p->longest))
        p->longest = step->node;
    return !fresh || ts__races_edge(x, own, step->node, TS_EDGE_HOST_ORDER);
}

// Orders the accesses of the host among its calls.
static bool ts__races_place_hosts(ts_races *x)
{
    const ts_allocator *const a = &x->allocator;
    const uint32_t beyond = (uint32_t)x->stats.host;
    if (!ts__rvec_fill(a, &x->hosts, sizeof(uint32_t), beyond, 0xFF))
        return false;
    if (!beyond) return true;
    ts__rvec steps = { 0 };
    ts__rsort sort = { 0 };
    bool ok = ts__hosts_steps(x, &steps, beyond) &&
              ts__rsort_open(a, &sort, steps.count);
    const ts__host_step *const list = (const ts__host_step *)steps.data;
    for (size_t i = 0; ok && i < steps.count; i++) {
        ts__rsort_keys(&sort)[i] = ts__rsort_time(list[i].time);
        ts__rsort_index(&sort)[i] = (uint32_t)i;
    }
    if (ok) ts__rsort_run(&sort, steps.count);
    for (size_t i = 0; ok && i < steps.count; i++)
        ts__rsort_keys(&sort)[i] = list[ts__rsort_index(&sort)[i]].lane;
    if (ok) ts__rsort_run(&sort, steps.count);
    ts__host_place place;
    memset(&place, 0xFF, sizeof place);
    for (size_t i = 0; ok && i < steps.count; i++)
        ok = ts__hosts_step(x, &place, &list[ts__rsort_index(&sort)[i]]);
    ts__rsort_close(a, &sort);
    ts__rvec_close(a, &steps);
    return ok;
}

/* ---- 11.78 Races: happens-before order ---------------------------------- */
// src/replay/races/happens_before.h

typedef struct ts__hb_item {
    int64_t time;
    uint32_t node;
} ts__hb_item;

typedef struct ts__hb_chain {
    uint32_t epoch;  // epoch of its last event
    ts__vclock *out; // clock after its last event; only kept while exploring
} ts__hb_chain;

/*
    The happens-before order (hb): visits all nodes so that each comes after all
    that happens before it, with the clock of what happened before. Otherwise
    nodes come in recorded order. Only nodes that access memory have an epoch.
*/
typedef struct ts__hb {
    ts_races *races;
    const ts_allocator *allocator;
    ts__vclocks clocks;
    ts__rvec in;                      // ts__vclock * of each node
    ts__rvec missing;                 // uint32_t: predecessors not yet visited
    ts__rvec heap;                    // ts__hb_item
    ts__rvec offsets, targets, kinds; // edges in addition to those of the graph
    ts__rvec chains;                  // ts__hb_chain
    ts__rvec chain_of;                // uint32_t of each lane
    bool keep_out, too_many;
    // Called for each node with actors, after their chain and epoch are set.
    bool (*visit)(void *user, uint32_t node, const ts__vclock *in);
    void *user;
} ts__hb;

static bool ts__hb_less(const ts__hb_item *a, const ts__hb_item *b)
{
    return a->time != b->time ? a->time < b->time : a->node < b->node;
}

static void ts__hb_sift_up(ts__hb_item *heap, size_t at, ts__hb_item item)
{
    for (; at && ts__hb_less(&item, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = item;
}

// Removes the first item of the heap and returns its node.
static uint32_t ts__hb_take(ts__rvec *items)
{
    ts__hb_item *const heap = (ts__hb_item *)items->data;
    const uint32_t node = heap[0].node;
    const ts__hb_item item = heap[--items->count];
    const size_t count = items->count;
    size_t at = 0;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        child +=
            child + 1 < count && ts__hb_less(&heap[child + 1], &heap[child]);
        if (!ts__hb_less(&heap[child], &item)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = item;
    return node;
}

static bool ts__hb_push(ts__hb *o, uint32_t node)
{
    const ts_races *const x = o->races;
    const uint32_t head = ((const uint32_t *)x->heads.data)[node];
    ts__hb_item item = { ts__races_time(x, node), node };
    // A call performs its access when that was recorded, not when the call
    // returns.
    if (head != TS_NODE_NONE) item.time = ts__races_actor(x, head)->start;
    if (!ts__rvec_push(o->allocator, &o->heap, sizeof item)) return false;
    ts__hb_sift_up((ts__hb_item *)o->heap.data, o->heap.count - 1, item);
    return true;
}

// Whether a call waits until its copy is done: because this kind of call has
// to, not because it did in the record. copies: TS__COPY_... of each operation,
// or NULL.
static bool ts__order_copy_waits(const ts_replay *r, const uint8_t *copies,
                                 uint32_t op)
{
    if (copies && copies[op]) return copies[op] & TS__COPY_BACK;
    const uint32_t call = ts__replay_op(r, op)->call;
    const uint32_t name =
        ((const uint32_t *)r->call_names.data)[call - r->op_count];
    const ts_text text = ts_reader_name(
        ts__replay_file(r, ts__replay_file_of(r, call))->reader, name);
    if (ts__text_has(text, "clEnqueue")) return ts__text_has(text, "(blocking");
    return !ts__text_has(text, "Async");
}

// Whether an edge orders its target after what happened before its source;
// *whole: also after the access of the source itself.
static bool ts__order_keeps(const ts_replay *r, const uint8_t *copies,
                            uint32_t from, uint32_t to, uint8_t kind,
                            bool *whole)
{
    const uint8_t type = TS_EDGE_KIND(kind);
    // Streams and threads do one thing at a time, even where recorded times
    // overlap. The ranks of a collective only wait for each other to begin it.
    *whole = !(kind & TS_EDGE_FROM_START) ||
             (type != TS_EDGE_COLLECTIVE && type != TS_EDGE_P2P);
    if (kind & TS_EDGE_INFERRED || type == TS_EDGE_QUEUE) return false;
    if (type != TS_EDGE_SYNC || from >= r->op_count) return true;
    const ts__op *const op = ts__replay_op(r, from);
    if (op->kind != TS_EVENT_MEMCPY || op->call == TS_NODE_NONE ||
        ts__replay_end_node(r, op->call) != to)
        return true;
    return ts__order_copy_waits(r, copies, from);
}

static uint32_t ts__hb_lane(const ts__hb *o, uint32_t node)
{
    const ts_replay *const r = o->races->replay;
    if (node < r->node_count) return ts__replay_lanes(r)[node];
    return ((const uint32_t *)o->races->hosts.data)[node - r->node_count];
}

// Assigns a chain and an epoch to a node's actors. The chain is that of the
// stream or thread if its last event happened before, as it should; otherwise
// it is a new one.
static bool ts__hb_tick(ts__hb *o, uint32_t node, const ts__vclock *in)
{
    ts_races *const x = o->races;
    const uint32_t lane = ts__hb_lane(o, node);
    uint32_t *const chain_of = (uint32_t *)o->chain_of.data;
    uint32_t chain = chain_of[lane];
    ts__hb_chain *chains = (ts__hb_chain *)o->chains.data;
    if (chain == TS_NODE_NONE ||
        ts__vclock_get(in, chain) != chains[chain].epoch) {
        if (o->chains.count == TS__CHAINS_MAX) {
            o->too_many = true;
            return false;
        }
        ts__hb_chain *const made = (ts__hb_chain *)ts__rvec_push(
            o->allocator, &o->chains, sizeof *made);
        if (!made) return false;
        memset(made, 0, sizeof *made);
        chain_of[lane] = chain = (uint32_t)o->chains.count - 1;
        chains = (ts__hb_chain *)o->chains.data;
    }
    const uint32_t epoch = ++chains[chain].epoch;
    uint32_t i = ((const uint32_t *)x->heads.data)[node];
    for (; i != TS_NODE_NONE; i = ts__races_actor(x, i)->next) {
        ts__races_actor(x, i)->chain = chain;
        ts__races_actor(x, i)->epoch = epoch;
    }
    return true;
}

// Passes the clocks of a node on to the target of an edge, which becomes ready
// with its last edge.
static bool ts__hb_arrive(ts__hb *o, uint32_t from, uint32_t to, uint8_t kind,
                          ts__vclock *in, ts__vclock *out)
{
    bool whole;
    ts__vclock **const at = (ts__vclock **)o->in.data + to;
    if (ts__order_keeps(o->races->replay,
                        (const uint8_t *)o->races->copies.data, from, to, kind,
                        &whole))
        *at = ts__vclock_join(&o->clocks, *at, whole ? out : in);
    if (o->clocks.failed) return false;
    return --((uint32_t *)o->missing.data)[to] || ts__hb_push(o, to);
}

static bool ts__hb_leave(ts__hb *o, uint32_t node, ts__vclock *in,
                         ts__vclock *out)
{
    const ts_replay *const r = o->races->replay;
    bool ok = true;
    if (node < r->node_count)
        for (uint32_t e = ts__replay_offsets(r)[node];
             ok && e < ts__replay_offsets(r)[node + 1]; e++)
            ok = ts__hb_arrive(o, node, ts__replay_target(r, e),
                               ts__replay_kind(r, e), in, out);
    const uint32_t *const offsets = (const uint32_t *)o->offsets.data;
    for (uint32_t e = offsets[node]; ok && e < offsets[node + 1]; e++)
        ok = ts__hb_arrive(o, node, ((const uint32_t *)o->targets.data)[e],
                           ((const uint8_t *)o->kinds.data)[e], in, out);
    return ok;
}

// Visits a node: `in` is the clock before it, `out` the clock after it.
static bool ts__hb_step(ts__hb *o, uint32_t node)
{
    const ts_races *const x = o->races;
    ts__vclock *const in = ((ts__vclock **)o->in.data)[node];
    ((ts__vclock **)o->in.data)[node] = NULL;
    const uint32_t head = ((const uint32_t *)x->heads.data)[node];
    ts__vclock *out = ts__vclock_ref(in);
    bool ok = true;
    if (head != TS_NODE_NONE) {
        ok = ts__hb_tick(o, node, in) && o->visit(o->user, node, in);
        const ts__actor *const actor = ts__races_actor(x, head);
        if (ok)
            out = ts__vclock_set(&o->clocks, out, actor->chain, actor->epoch);
        if (ok && o->keep_out) {
            ts__hb_chain *const chain =
                (ts__hb_chain *)o->chains.data + actor->chain;
            ts__vclock_unref(&o->clocks, chain->out);
            chain->out = ts__vclock_ref(out);
        }
    }
    ok = ok && !o->clocks.failed && ts__hb_leave(o, node, in, out);
    ts__vclock_unref(&o->clocks, in);
    ts__vclock_unref(&o->clocks, out);
    return ok;
}

// Packs the additional edges by source, and counts the edges into each node.
static bool ts__hb_edges(ts__hb *o)
{
    const ts_races *const x = o->races;
    const ts_replay *const r = x->replay;
    const size_t nodes = x->heads.count;
    const ts__edge *const edges = (const ts__edge *)x->edges.data;
    if (!ts__rvec_fill(o->allocator, &o->missing, sizeof(uint32_t), nodes, 0))
        return false;
    uint32_t *const missing = (uint32_t *)o->missing.data;
    for (uint32_t e = 0; e < ts__replay_offsets(r)[r->node_count]; e++)
        missing[ts__replay_target(r, e)]++;
    for (size_t i = 0; i < x->edges.count; i++)
        missing[edges[i].to]++;
    return ts__edges_pack(o->allocator, &x->edges, nodes, &o->offsets,
                          &o->targets, &o->kinds);
}

static void ts__hb_close(ts__hb *o)
{
    const ts_allocator *const a = o->allocator;
    ts__vclocks_close(&o->clocks);
    ts__rvec_close(a, &o->in);
    ts__rvec_close(a, &o->missing);
    ts__rvec_close(a, &o->heap);
    ts__rvec_close(a, &o->offsets);
    ts__rvec_close(a, &o->targets);
    ts__rvec_close(a, &o->kinds);
    ts__rvec_close(a, &o->chains);
    ts__rvec_close(a, &o->chain_of);
}

// left: receives the number of nodes that wait in cycles.
static ts_result ts__hb_run(ts__hb *o, uint32_t *left)
{
    const ts_races *const x = o->races;
    const size_t nodes = x->heads.count;
    const size_t lanes = x->replay->lanes.count + x->hosts.count;
    o->allocator = o->clocks.allocator = &x->allocator;
    bool ok =
        ts__hb_edges(o) &&
        ts__rvec_fill(o->allocator, &o->in, sizeof(ts__vclock *), nodes, 0) &&
        ts__rvec_fill(o->allocator, &o->chain_of, sizeof(uint32_t), lanes,
                      0xFF);
    const uint32_t *const missing = (const uint32_t *)o->missing.data;
    uint32_t done = 0;
    for (uint32_t i = 0; ok && i < nodes; i++)
        if (!missing[i]) ok = ts__hb_push(o, i);
    for (; ok && o->heap.count; done++)
        ok = ts__hb_step(o, ts__hb_take(&o->heap));
    *left = (uint32_t)nodes - done;
    const bool too_many = o->too_many;
    ts__hb_close(o);
    return ok ? TS_OK : too_many ? TS_ERR_UNSUPPORTED : TS_ERR_MEMORY;
}

/* ---- 11.79 Races: shadow of memory -------------------------------------- */
// src/replay/races/shadow.h

/*
    The first and last addresses of all spans divide memory into cells. A tree
    over the cells remembers who accessed what. A range consists of at most two
    whole subtrees of each level, its *parts*. Each part has four lists: who
    wrote and who read the part as a whole (`own`) or something inside of it
    (`inner`).

        An access to P conflicts with the own lists of P and of its
        ancestors, and with the inner lists of P.

    So neither many small ranges in a big one nor the reverse cost more than
    their number. A list has one entry for each chain, the latest. A write
    removes the entries that are ordered before it, since whoever races with
    those races with the write, too.
*/
typedef struct ts__mark {
    uint32_t chain, epoch;
    uint32_t span;
} ts__mark;

typedef struct ts__marks { // sorted by chain
    ts__mark *data;
    uint32_t count, capacity;
} ts__marks;

typedef enum ts__subtree_list {
    TS__OWN_WRITES,
    TS__OWN_READS,
    TS__INNER_WRITES,
    TS__INNER_READS,
    TS__PART_LISTS
} ts__subtree_list;

typedef struct ts__subtree {
    ts__marks lists[TS__PART_LISTS];
} ts__subtree;

typedef struct ts__allocation { // an allocation, found by its address
    uint32_t span;              // the span that allocated it
    uint32_t freed;             // the span that freed it; TS_NODE_NONE: none
} ts__allocation;

typedef struct ts__shadow {
    ts_races *races;
    const ts_allocator *allocator;
    ts__hb order;
    uint32_t leaves;  // number of leaves, a power of two
    ts__rvec part_of; // uint32_t of each tree node: its part; 0: none
    ts__rvec parts;   // ts__subtree; index 0 is unused
    // Of each tree node: the span, counted from 1, that last allocated or freed
    // all of it (TS_NODE_NONE: not the same for all), and whether any of it is
    // freed.
    ts__rvec life, freed;
    ts__rmap blocks; // hash of address space and address to allocation
    ts__rvec block_list;
    // uint32_t of each actor: last actor checked against it, plus 1.
    ts__rvec seen;
    ts__rmap pairs; // hash of a pair of launch sites to row
    bool failed;
} ts__shadow;

static bool ts__span_frees(const ts__race_span *s)
{
    return s->mode & TS__SPAN_FREE;
}

// Numbers the cells and sets low and high of every span.
static bool ts__cells_number(ts_races *x)
{
    const ts_allocator *const a = &x->allocator;
    const size_t count = x->spans.count * 2;
    ts__rsort sort = { 0 };
    if (!ts__rsort_open(a, &sort, count) ||
        !ts__rvec_reserve(a, &x->cells, sizeof(uint64_t), count) ||
        !ts__rvec_reserve(a, &x->cell_spaces, sizeof(uint32_t), count)) {
        ts__rsort_close(a, &sort);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const ts__race_span *const s = ts__races_span(x, i / 2);
        ts__rsort_keys(&sort)[i] = i & 1 ? s->last + 1 : s->first;
        ts__rsort_index(&sort)[i] = (uint32_t)i;
    }
    ts__rsort_run(&sort, count);
    for (size_t i = 0; i < count; i++)
        ts__rsort_keys(&sort)[i] =
            ts__races_span(x, ts__rsort_index(&sort)[i] / 2)->space;
    ts__rsort_run(&sort, count);
    uint64_t before = 0;
    uint32_t cell = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t at = ts__rsort_index(&sort)[i];
        ts__race_span *const s = ts__races_span(x, at / 2);
        const uint64_t edge = at & 1 ? s->last + 1 : s->first;
        const bool first =
            !i || ts__rsort_keys(&sort)[i] != ts__rsort_keys(&sort)[i - 1];
        if (i && (first || edge != before)) cell++;
        before = edge;
        ((uint64_t *)x->cells.data)[cell] = edge;
        ((uint32_t *)x->cell_spaces.data)[cell] = s->space;
        *(at & 1 ? &s->high : &s->low) = cell;
    }
    x->cell_count = cell; // no cell begins at the last address
    x->cells.count = (size_t)cell + 1;
    ts__rsort_close(a, &sort);
    return true;
}

// Iterates over the parts of a range: while (ts__parts_next(&w)) w.node ...
typedef struct ts__parts_walk {
    uint32_t low, high, node;
} ts__parts_walk;

static bool ts__parts_next(ts__parts_walk *w)
{
    while (w->low < w->high) {
        if (w->low & 1) {
            w->node = w->low++;
            return true;
        }
        if (w->high & 1) {
            w->node = --w->high;
            return true;
        }
        w->low /= 2;
        w->high /= 2;
    }
    return false;
}

static ts__parts_walk ts__shadow_parts(const ts__shadow *s,
                                       const ts__race_span *span)
{
    const ts__parts_walk w = { span->low + s->leaves, span->high + s->leaves,
                               0 };
    return w;
}

static ts__subtree *ts__shadow_part(const ts__shadow *s, uint32_t node)
{
    const uint32_t part = ((const uint32_t *)s->part_of.data)[node];
    return part ? (ts__subtree *)s->parts.data + part : NULL;
}

static bool ts__shadow_open(ts__shadow *s)
{
    ts_races *const x = s->races;
    const ts_allocator *const a = s->allocator;
    s->leaves = 1;
    while (s->leaves < x->cell_count + 1)
        s->leaves *= 2;
    const size_t nodes = (size_t)s->leaves * 2;
    if (!ts__rvec_fill(a, &s->part_of, sizeof(uint32_t), nodes, 0) ||
        !ts__rvec_fill(a, &s->life, sizeof(uint32_t), nodes, 0) ||
        !ts__rvec_fill(a, &s->freed, sizeof(bool), nodes, 0) ||
        !ts__rvec_fill(a, &s->seen, sizeof(uint32_t), x->actors.count, 0))
        return false;
    uint32_t count = 1;
    for (size_t i = 0; i < x->spans.count; i++) {
        ts__parts_walk w = ts__shadow_parts(s, ts__races_span(x, i));
        while (ts__parts_next(&w)) {
            uint32_t *const part = (uint32_t *)s->part_of.data + w.node;
            if (!*part) *part = count++;
        }
    }
    return ts__rvec_fill(a, &s->parts, sizeof(ts__subtree), count, 0);
}

static void ts__shadow_close(ts__shadow *s)
{
    const ts_allocator *const a = s->allocator;
    for (size_t i = 0; i < s->parts.count; i++)
        for (int k = 0; k < TS__PART_LISTS; k++) {
            ts__marks *const m = &((ts__subtree *)s->parts.data + i)->lists[k];
            if (m->data)
                a->resize(a->user, m->data, m->capacity * sizeof *m->data, 0);
        }
    ts__rvec_close(a, &s->part_of);
    ts__rvec_close(a, &s->parts);
    ts__rvec_close(a, &s->life);
    ts__rvec_close(a, &s->freed);
    ts__rvec_close(a, &s->blocks.entries);
    ts__rvec_close(a, &s->block_list);
    ts__rvec_close(a, &s->seen);
    ts__rvec_close(a, &s->pairs.entries);
}

static bool ts__marks_put(ts__shadow *s, ts__marks *m, const ts__mark *mark)
{
    uint32_t low = 0, high = m->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (m->data[middle].chain < mark->chain)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < m->count && m->data[low].chain == mark->chain) {
        m->data[low] = *mark;
        return true;
    }
    if (m->count == m->capacity) {
        const uint32_t capacity = m->capacity ? m->capacity * 2 : 2;
        ts__mark *const data = (ts__mark *)s->allocator->resize(
            s->allocator->user, m->data, m->capacity * sizeof *data,
            capacity * sizeof *data);
        if (!data) return false;
        m->data = data;
        m->capacity = capacity;
    }
    memmove(m->data + low + 1, m->data + low,
            (m->count++ - low) * sizeof *m->data);
    m->data[low] = *mark;
    return true;
}

/* ---- 11.80 Races: reporting --------------------------------------------- */
// src/replay/races/report.h

enum { TS__RACES_KEPT = 100000, TS__RACES_OF_LIST = 64 };

static ts_race_side ts__race_side(const ts_races *x, const ts__race_span *span)
{
    const ts__actor *const actor = ts__races_actor(x, span->actor);
    ts_race_side side = { 0 };
    side.kind = (ts_event_kind)actor->kind;
    side.file = actor->file;
    side.operation = actor->op;
    side.track = actor->track;
    side.thread = actor->thread;
    side.site = actor->site;
    side.stack = actor->stack;
    side.start_ns = actor->start;
    side.end_ns = actor->end;
    side.address = span->first;
    side.size = span->last - span->first + 1;
    side.mode =
        span->mode & (TS_ACCESS_READ | TS_ACCESS_WRITE | TS_ACCESS_COARSE);
    return side;
}

static ts_race_fix ts__race_fix(const ts__actor *first, const ts__actor *second,
                                ts_race_kind kind)
{
    if (kind == TS_RACE_DOUBLE_FREE) return TS_RACE_FIX_FREE_ONCE;
    if (kind == TS_RACE_USE_AFTER_FREE) return TS_RACE_FIX_FREE_LATER;
    if (second->host) return TS_RACE_FIX_HOST_SYNC;
    return first->host ? TS_RACE_FIX_LAUNCH_LATER : TS_RACE_FIX_EVENT_WAIT;
}

// Whether the second of two operations was launched first. Their order in the
// program counts, not which of them happened to run first.
static bool ts__race_reversed(const ts_races *x, const ts__race_span *first,
                              const ts__race_span *second)
{
    const ts__actor *const a = ts__races_actor(x, first->actor);
    const ts__actor *const b = ts__races_actor(x, second->actor);
    if (a->host || b->host) return false;
    const int64_t of_a = ts__replay_op(x->replay, a->op)->issue;
    const int64_t of_b = ts__replay_op(x->replay, b->op)->issue;
    return of_a != TS__NO_TIME && of_b != TS__NO_TIME && of_b < of_a;
}

// Returns the row of a pair of launch sites. Data races of a pair share a row
// whichever of the two ran first.
static ts_race *ts__race_row(ts__shadow *s, const ts__race_span *first,
                             const ts__race_span *second, ts_race_kind kind)
{
    ts_races *const x = s->races;
    const uint64_t a = ts__races_actor(x, first->actor)->where;
    const uint64_t b = ts__races_actor(x, second->actor)->where;
    const uint64_t v[] = { a < b ? a : b, a < b ? b : a,
                           kind == TS_RACE_READ_WRITE ? TS_RACE_WRITE_WRITE
                                                      : kind };
    const uint64_t key = XXH3_64bits(v, sizeof v);
    const uint32_t known = ts__rmap_get(&s->pairs, key);
    if (known != TS_NODE_NONE)
        return known < TS__RACES_KEPT ? (ts_race *)x->rows.data + known : NULL;
    x->stats.races++;
    if (x->rows.count == TS__RACES_KEPT) {
        s->failed |=
            !ts__rmap_put(s->allocator, &s->pairs, key, TS__RACES_KEPT);
        return NULL;
    }
    ts_race *const row =
        (ts_race *)ts__rvec_push(s->allocator, &x->rows, sizeof *row);
    if (!row || !ts__rmap_put(s->allocator, &s->pairs, key,
                              (uint32_t)x->rows.count - 1)) {
        s->failed = true;
        return NULL;
    }
    if (ts__race_reversed(x, first, second)) {
        const ts__race_span *const earlier = second;
        second = first;
        first = earlier;
    }
    memset(row, 0, sizeof *row);
    row->kind = kind;
    row->fix = ts__race_fix(ts__races_actor(x, first->actor),
                            ts__races_actor(x, second->actor), kind);
    row->first = ts__race_side(x, first);
    row->second = ts__race_side(x, second);
    row->address = first->first > second->first ? first->first : second->first;
    row->size = (first->last < second->last ? first->last : second->last) -
                row->address + 1;
    row->coarse = true;
    return row;
}

static void ts__race_found(ts__shadow *s, const ts__race_span *first,
                           const ts__race_span *second, ts_race_kind kind)
{
    ts_races *const x = s->races;
    x->stats.instances++;
    ts_race *const row = ts__race_row(s, first, second, kind);
    if (row) {
        row->instances++;
        row->coarse &= ((first->mode | second->mode) & TS_ACCESS_COARSE) != 0;
    }
    if (x->pairs.count == TS__RACES_KEPT) return;
    ts__race_pair *const pair =
        (ts__race_pair *)ts__rvec_push(s->allocator, &x->pairs, sizeof *pair);
    if (!pair) {
        s->failed = true;
        return;
    }
    pair->first = first->actor;
    pair->second = second->actor;
    pair->free = kind != TS_RACE_USE_AFTER_FREE && kind != TS_RACE_DOUBLE_FREE;
}

/* ---- 11.81 Races: lifetimes of allocations ------------------------------ */
// src/replay/races/lifetimes.h

static void ts__lifetime_set(ts__shadow *s, uint32_t node, uint32_t span,
                             bool freed)
{
    ((uint32_t *)s->life.data)[node] = span;
    ((bool *)s->freed.data)[node] = freed;
}

// Sets the last allocation or free of a range. Spans count from 1 here; 0 is
// memory without a known one.
static void ts__lifetime_assign(ts__shadow *s, uint32_t node, uint32_t low,
                                uint32_t high, const ts__race_span *range,
                                uint32_t span, bool freed)
{
    uint32_t *const life = (uint32_t *)s->life.data;
    const bool *const gone = (const bool *)s->freed.data;
    if (range->high <= low || high <= range->low) return;
    if (range->low <= low && high <= range->high) {
        ts__lifetime_set(s, node, span, freed);
        return;
    }
    if (life[node] != TS_NODE_NONE) {
        ts__lifetime_set(s, node * 2, life[node], gone[node]);
        ts__lifetime_set(s, node * 2 + 1, life[node], gone[node]);
        life[node] = TS_NODE_NONE;
    }
    const uint32_t middle = low + (high - low) / 2;
    ts__lifetime_assign(s, node * 2, low, middle, range, span, freed);
    ts__lifetime_assign(s, node * 2 + 1, middle, high, range, span, freed);
    ((bool *)s->freed.data)[node] = gone[node * 2] || gone[node * 2 + 1];
}

// Returns the span, counted from 1, that freed the first freed part of a range;
// 0: none.
static uint32_t ts__lifetime_freed(const ts__shadow *s, uint32_t node,
                                   uint32_t low, uint32_t high,
                                   const ts__race_span *range)
{
    const uint32_t life = ((const uint32_t *)s->life.data)[node];
    if (range->high <= low || high <= range->low ||
        !((const bool *)s->freed.data)[node])
        return 0;
    if (life != TS_NODE_NONE) return life;
    const uint32_t middle = low + (high - low) / 2;
    const uint32_t left = ts__lifetime_freed(s, node * 2, low, middle, range);
    return left ? left
                : ts__lifetime_freed(s, node * 2 + 1, middle, high, range);
}

static uint64_t ts__block_key(const ts__race_span *span)
{
    const uint64_t v[] = { span->space, span->first };
    return XXH3_64bits(v, sizeof v);
}

static void ts__shadow_allocate(ts__shadow *s, uint32_t index)
{
    const ts__race_span *const span = ts__races_span(s->races, index);
    ts__allocation *const block = (ts__allocation *)ts__rvec_push(
        s->allocator, &s->block_list, sizeof *block);
    if (!block || !ts__rmap_put(s->allocator, &s->blocks, ts__block_key(span),
                                (uint32_t)s->block_list.count - 1)) {
        s->failed = true;
        return;
    }
    block->span = index;
    block->freed = TS_NODE_NONE;
    ts__lifetime_assign(s, 1, 0, s->leaves, span, index + 1, false);
}

// Sets the range of a free to that of its allocation. Returns false if there is
// none to free.
static bool ts__shadow_release(ts__shadow *s, uint32_t index)
{
    ts_races *const x = s->races;
    ts__race_span *const span = ts__races_span(x, index);
    const uint32_t at = ts__rmap_get(&s->blocks, ts__block_key(span));
    if (at == TS_NODE_NONE) {
        x->stats.unknown_frees++;
        span->mode = 0;
        return false;
    }
    ts__allocation *const block = (ts__allocation *)s->block_list.data + at;
    const ts__race_span *const whole = ts__races_span(x, block->span);
    span->last = whole->last;
    span->low = whole->low;
    span->high = whole->high;
    if (block->freed == TS_NODE_NONE) {
        block->freed = index;
        return true;
    }
    ts__race_found(s, ts__races_span(x, block->freed), span,
                   TS_RACE_DOUBLE_FREE);
    span->mode = 0;
    return false;
}

/* ---- 11.82 Races: detection --------------------------------------------- */
// src/replay/races/detect.h

typedef struct ts__check { // the access being checked
    ts__shadow *shadow;
    const ts__vclock *in;
    uint32_t node, span;
    // It follows a free of the same memory, with which it was checked.
    bool after_free;
} ts__check;

// Whether a call that frees device memory waits for an earlier operation of the
// device.
static bool ts__free_waits(const ts__actor *later, const ts__actor *earlier)
{
    return later->host && later->kind == TS_EVENT_GPU_FREE &&
           (!later->device || !earlier->device ||
            (later->device == earlier->device &&
             later->file == earlier->file)) &&
           !earlier->host && earlier->end <= later->end;
}

// Whether two unordered spans are a race, and of which kind.
static bool ts__check_kind(const ts__check *l, const ts__race_span *a,
                           const ts__race_span *b, ts_race_kind *kind)
{
    ts_races *const x = l->shadow->races;
    const ts__actor *const earlier = ts__races_actor(x, a->actor);
    const ts__actor *const later = ts__races_actor(x, b->actor);
    const uint8_t lives = TS__SPAN_ALLOC | TS__SPAN_FREE;
    // Races between threads of the host are not checked.
    if (earlier->host && later->host) return false;
    if (a->mode & lives && b->mode & lives) return false;
    if (b->mode & TS__SPAN_ALLOC && l->after_free) return false;
    if (ts__span_frees(b) && ts__free_waits(later, earlier)) return false;
    if (!later->placed) {
        x->stats.unknown_order++;
        return false;
    }
    const bool both = a->mode & b->mode & TS_ACCESS_WRITE;
    *kind = (a->mode | b->mode) & TS__SPAN_FREE    ? TS_RACE_UNORDERED_FREE
            : (a->mode | b->mode) & TS__SPAN_ALLOC ? TS_RACE_UNORDERED_ALLOC
            : both                                 ? TS_RACE_WRITE_WRITE
                                                   : TS_RACE_READ_WRITE;
    return true;
}

static void ts__check_conflict(const ts__check *l, const ts__mark *mark)
{
    ts__shadow *const s = l->shadow;
    const ts__race_span *const a = ts__races_span(s->races, mark->span);
    const ts__race_span *const b = ts__races_span(s->races, l->span);
    uint32_t *const seen = (uint32_t *)s->seen.data + a->actor;
    ts_race_kind kind;
    if (*seen == b->actor + 1) return;
    if (!ts__check_kind(l, a, b, &kind)) return;
    *seen = b->actor + 1;
    ts__race_found(s, a, b, kind);
}

// Checks the marks of a list that are not ordered before the current access.
// `prune` removes all others from the list.
static void ts__check_list(const ts__check *l, ts__marks *m, bool prune)
{
    ts_races *const x = l->shadow->races;
    uint32_t unordered = 0, kept = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        const ts__mark mark = m->data[i];
        const bool before = ts__vclock_get(l->in, mark.chain) >= mark.epoch;
        const uint32_t actor = ts__races_span(x, mark.span)->actor;
        const bool own = ts__races_actor(x, actor)->node == l->node;
        if (!before && !own && ++unordered > TS__RACES_OF_LIST) {
            x->stats.capped += unordered == TS__RACES_OF_LIST + 1;
            if (!prune) return;
        } else if (!before && !own) {
            ts__check_conflict(l, &mark);
        }
        if (prune && !before) m->data[kept++] = mark;
    }
    if (prune) m->count = kept;
}

// Checks a span against the lists of its parts and of their ancestors.
static void ts__check_tree(const ts__check *l, const ts__race_span *span)
{
    ts__shadow *const s = l->shadow;
    const bool writes = span->mode & TS_ACCESS_WRITE;
    ts__parts_walk w = ts__shadow_parts(s, span);
    while (ts__parts_next(&w)) {
        ts__subtree *const part = ts__shadow_part(s, w.node);
        for (int k = TS__OWN_WRITES; k < TS__PART_LISTS; k++)
            if (writes || k == TS__OWN_WRITES || k == TS__INNER_WRITES)
                ts__check_list(l, &part->lists[k], writes);
        for (uint32_t up = w.node / 2; up; up /= 2) {
            ts__subtree *const above = ts__shadow_part(s, up);
            if (!above) continue;
            ts__check_list(l, &above->lists[TS__OWN_WRITES], false);
            if (writes) ts__check_list(l, &above->lists[TS__OWN_READS], false);
        }
    }
}

// Leaves the mark of a span in its parts and in their ancestors.
static bool ts__shadow_mark(ts__shadow *s, uint32_t index)
{
    const ts__race_span *const span = ts__races_span(s->races, index);
    const ts__actor *const actor = ts__races_actor(s->races, span->actor);
    const bool writes = span->mode & TS_ACCESS_WRITE;
    const bool reads = span->mode & TS_ACCESS_READ && !writes;
    const ts__mark mark = { actor->chain, actor->epoch, index };
    bool ok = true;
    ts__parts_walk w = ts__shadow_parts(s, span);
    while (ok && (writes || reads) && ts__parts_next(&w)) {
        ts__marks *lists = ts__shadow_part(s, w.node)->lists;
        ok = ts__marks_put(s, &lists[writes ? TS__OWN_WRITES : TS__OWN_READS],
                           &mark);
        for (uint32_t up = w.node / 2; ok && up; up /= 2) {
            ts__subtree *const above = ts__shadow_part(s, up);
            if (!above) continue;
            lists = above->lists;
            ok = ts__marks_put(
                s, &lists[writes ? TS__INNER_WRITES : TS__INNER_READS], &mark);
        }
    }
    return ok;
}

// Checks one access: its lifetime first, then other accesses.
static void ts__check_span(ts__check *l)
{
    ts__shadow *const s = l->shadow;
    ts_races *const x = s->races;
    const ts__race_span *const span = ts__races_span(x, l->span);
    if (ts__span_frees(span) && !ts__shadow_release(s, l->span)) return;
    if (!(span->mode & (TS_ACCESS_READ | TS_ACCESS_WRITE))) return;
    const uint32_t gone = ts__lifetime_freed(s, 1, 0, s->leaves, span);
    l->after_free = gone != 0;
    if (gone && !(span->mode & (TS__SPAN_ALLOC | TS__SPAN_FREE))) {
        const ts__race_span *const by = ts__races_span(x, gone - 1);
        const ts__actor *const actor = ts__races_actor(x, by->actor);
        if (ts__vclock_get(l->in, actor->chain) >= actor->epoch)
            ts__race_found(s, by, span, TS_RACE_USE_AFTER_FREE);
    }
    ts__check_tree(l, span);
    if (span->mode & TS__SPAN_ALLOC) ts__shadow_allocate(s, l->span);
    if (ts__span_frees(span))
        ts__lifetime_assign(s, 1, 0, s->leaves, span, l->span + 1, true);
}

static bool ts__shadow_visit(void *user, uint32_t node, const ts__vclock *in)
{
    ts__shadow *const s = (ts__shadow *)user;
    ts_races *const x = s->races;
    ts__check check = { s, in, node, 0, false };
    const uint32_t head = ((const uint32_t *)x->heads.data)[node];
    // First check all actors of the node, then leave their marks: actors of one
    // node do not race with each other.
    for (int marks = 0; marks < 2; marks++)
        for (uint32_t i = head; i != TS_NODE_NONE;
             i = ts__races_actor(x, i)->next) {
            const ts__actor *const actor = ts__races_actor(x, i);
            for (uint32_t k = 0; k < actor->span_count && !s->failed; k++) {
                check.span = actor->spans + k;
                if (!marks)
                    ts__check_span(&check);
                else if (!ts__shadow_mark(s, check.span))
                    s->failed = true;
            }
        }
    return !s->failed;
}

/* ---- 11.83 Races: open and close ---------------------------------------- */
// src/replay/races/open.h

// Links the actors of each node. Actors without a node, or without memory, are
// left out.
static bool ts__races_link(ts_races *x)
{
    const size_t nodes = x->replay->node_count + (size_t)x->stats.host;
    if (!ts__rvec_fill(&x->allocator, &x->heads, sizeof(uint32_t), nodes, 0xFF))
        return false;
    uint32_t *const heads = (uint32_t *)x->heads.data;
    for (size_t i = x->actors.count; i-- > 0;) {
        ts__actor *const actor = ts__races_actor(x, i);
        if (actor->node == TS_NODE_NONE ||
            (!actor->span_count && actor->op != TS_NODE_NONE))
            continue;
        actor->next = heads[actor->node];
        heads[actor->node] = (uint32_t)i;
    }
    return true;
}

static ts_result ts__races_detect(ts_races *x)
{
    ts__shadow s = { 0 };
    s.races = x;
    s.allocator = &x->allocator;
    ts_result result = TS_ERR_MEMORY;
    if (ts__cells_number(x) && ts__shadow_open(&s)) {
        uint32_t left = 0;
        s.order.races = x;
        s.order.visit = ts__shadow_visit;
        s.order.user = &s;
        result = ts__hb_run(&s.order, &left);
        for (size_t i = 0; left && i < x->actors.count; i++)
            x->stats.cycle += ts__races_actor(x, i)->span_count &&
                              !ts__races_actor(x, i)->epoch &&
                              ts__races_actor(x, i)->node != TS_NODE_NONE;
    }
    ts__shadow_close(&s);
    return result;
}

TS_API ts_result ts_races_open(ts_races **races, const ts_replay *replay)
{
    if (!races) return TS_ERR_USAGE;
    *races = NULL;
    if (!replay) return TS_ERR_USAGE;
    const ts_allocator a = replay->allocator;
    ts_races *const x = (ts_races *)a.resize(a.user, NULL, 0, sizeof *x);
    if (!x) return TS_ERR_MEMORY;
    memset(x, 0, sizeof *x);
    x->replay = replay;
    x->allocator = a;
    ts__gather gather = { 0 };
    gather.races = x;
    ts_result result = ts__gather_run(&gather);
    ts__gather_close(&gather);
    if (result == TS_OK && x->spans.count >= UINT32_MAX / 4)
        result = TS_ERR_UNSUPPORTED;
    if (result == TS_OK && x->spans.count) {
        result = ts__races_link(x) && ts__races_place_hosts(x) ? TS_OK
                                                               : TS_ERR_MEMORY;
        if (result == TS_OK) result = ts__races_detect(x);
    }
    if (result != TS_OK) {
        ts_races_close(x);
        return result;
    }
    *races = x;
    return TS_OK;
}

TS_API void ts_races_close(ts_races *races)
{
    if (!races) return;
    const ts_allocator a = races->allocator;
    ts__rvec *const all[] = { &races->actors,       &races->spans,
                              &races->copies,       &races->heads,
                              &races->edges,        &races->hosts,
                              &races->rows,         &races->cells,
                              &races->cell_spaces,  &races->events,
                              &races->predecessors, &races->pairs };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ts__rvec_close(&a, all[i]);
    a.resize(a.user, races, sizeof *races, 0);
}

TS_API const ts_races_stats *ts_races_result(const ts_races *races)
{
    return &races->stats;
}

TS_API bool ts_races_at(const ts_races *races, size_t index, ts_race *race)
{
    if (index >= races->rows.count) return false;
    *race = ((const ts_race *)races->rows.data)[index];
    return true;
}

TS_API const char *ts_race_name(uint32_t kind)
{
    switch (kind) {
#define TS__X(name, value, text) \
    case value: return text;
        TS_RACES(TS__X)
#undef TS__X
    default: return "unknown";
    }
}

TS_API const char *ts_race_fix_name(uint32_t fix)
{
    switch (fix) {
#define TS__X(name, value, text) \
    case value: return text;
        TS_RACE_FIXES(TS__X)
#undef TS__X
    default: return "unknown";
    }
}

TS_API ts_text ts_race_side_label(const ts_races *races,
                                  const ts_race_side *side)
{
    ts_operation op;
    if (side->operation != TS_NODE_NONE &&
        ts_replay_operation(races->replay, side->operation, &op))
        return ts_operation_label(ts_replay_reader(races->replay, side->file),
                                  &op);
    ts_text text = { ts_event_name((uint32_t)side->kind), 0 };
    text.size = strlen(text.text);
    return text;
}

/* ---- 11.84 Races: events and their predecessors ------------------------- */
// src/replay/races/predecessors.h

// All memory accesses of one node of the order.
typedef struct ts__race_event {
    uint32_t head;   // first actor
    uint32_t before; // index of its first predecessor
    uint32_t before_count;
    uint32_t chain;
} ts__race_event;

static ts__race_event *ts__races_event(const ts_races *x, size_t i)
{
    return (ts__race_event *)x->events.data + i;
}

typedef struct ts__tracer { // derives predecessors from clocks
    ts_races *races;
    ts__hb order;
    ts__rmap event_of;             // chain and epoch to event
    uint32_t last_host, last_life; // events; last_life: last allocation or free
    bool failed;
} ts__tracer;

static void ts__tracer_before(ts__tracer *t, uint32_t event)
{
    ts_races *const x = t->races;
    uint32_t *const to =
        (uint32_t *)ts__rvec_push(&x->allocator, &x->predecessors, sizeof *to);
    if (!to || event == TS_NODE_NONE) {
        t->failed = true;
        return;
    }
    *to = event;
    ts__races_event(x, x->events.count - 1)->before_count++;
}

static void ts__tracer_epoch(ts__tracer *t, uint32_t chain, uint32_t epoch)
{
    ts__tracer_before(
        t, ts__rmap_get(&t->event_of, (uint64_t)chain << 32 | epoch));
}

// Adds what a clock has beyond another one, from chain `first` on.
static void ts__tracer_difference(ts__tracer *t, const ts__vclock *now,
                                  const ts__vclock *then, uint32_t first)
{
    if (!now || now == then) return;
    if (then && then->level > now->level) { // compare as far as `now` reaches
        ts__tracer_difference(t, now, then->u.below[0], first);
        return;
    }
    const bool same = then && then->level == now->level;
    if (!now->level) {
        for (uint32_t i = 0; i < 32; i++)
            if (now->u.epochs[i] > (same ? then->u.epochs[i] : 0))
                ts__tracer_epoch(t, first + i, now->u.epochs[i]);
        return;
    }
    const uint32_t width = (uint32_t)1 << (5 + 4 * (now->level - 1));
    for (uint32_t i = 0; i < 16; i++)
        ts__tracer_difference(t, now->u.below[i],
                              same ? then->u.below[i] : (i ? NULL : then),
                              first + i * width);
}

// Whether a free by a call must come after the last event of a chain.
static bool ts__tracer_frees(const ts_races *x, const ts__actor *actor,
                             uint32_t event)
{
    const uint32_t head = ts__races_event(x, event)->head;
    return ts__free_waits(actor, ts__races_actor(x, head));
}

// Keeps the recorded order of what is not checked for races.
static void ts__tracer_keep(ts__tracer *t, const ts__actor *actor)
{
    const ts__hb *const o = &t->order;
    const ts__hb_chain *const chains = (const ts__hb_chain *)o->chains.data;
    const bool frees = actor->host && actor->kind == TS_EVENT_GPU_FREE;
    for (uint32_t c = 0; c < o->chains.count && (frees || !actor->placed);
         c++) {
        const uint32_t epoch = chains[c].epoch - (c == actor->chain);
        if (!epoch) continue;
        const uint32_t event =
            ts__rmap_get(&t->event_of, (uint64_t)c << 32 | epoch);
        if (!actor->placed ||
            (event != TS_NODE_NONE && ts__tracer_frees(t->races, actor, event)))
            ts__tracer_before(t, event);
    }
    const uint32_t event = (uint32_t)t->races->events.count - 1;
    const ts__race_span *const first = ts__races_span(t->races, actor->spans);
    if (actor->span_count && first->mode & (TS__SPAN_ALLOC | TS__SPAN_FREE)) {
        if (t->last_life != TS_NODE_NONE) ts__tracer_before(t, t->last_life);
        t->last_life = event;
    }
    if (!actor->host) return;
    if (t->last_host != TS_NODE_NONE) ts__tracer_before(t, t->last_host);
    t->last_host = event;
}

static bool ts__tracer_visit(void *user, uint32_t node, const ts__vclock *in)
{
    ts__tracer *const t = (ts__tracer *)user;
    ts_races *const x = t->races;
    const uint32_t head = ((const uint32_t *)x->heads.data)[node];
    const ts__actor *const actor = ts__races_actor(x, head);
    ts__race_event *const event = (ts__race_event *)ts__rvec_push(
        &x->allocator, &x->events, sizeof *event);
    if (!event) return false;
    event->head = head;
    event->before = (uint32_t)x->predecessors.count;
    event->before_count = 0;
    event->chain = actor->chain;
    const ts__hb_chain *const chain =
        (const ts__hb_chain *)t->order.chains.data + actor->chain;
    if (actor->epoch > 1) ts__tracer_epoch(t, actor->chain, actor->epoch - 1);
    ts__tracer_difference(t, in, chain->out, 0);
    ts__tracer_keep(t, actor);
    const uint64_t key = (uint64_t)actor->chain << 32 | actor->epoch;
    return !t->failed && x->predecessors.count < UINT32_MAX &&
           ts__rmap_put(&x->allocator, &t->event_of, key,
                        (uint32_t)x->events.count - 1);
}

static ts_result ts__races_trace(ts_races *x)
{
    ts__tracer t = { 0 };
    uint32_t left;
    if (x->events.count) return TS_OK;
    t.races = x;
    t.last_host = t.last_life = TS_NODE_NONE;
    t.order.races = x;
    t.order.visit = ts__tracer_visit;
    t.order.user = &t;
    t.order.keep_out = true;
    const ts_result result = ts__hb_run(&t.order, &left);
    ts__rvec_close(&x->allocator, &t.event_of.entries);
    if (result != TS_OK) x->events.count = x->predecessors.count = 0;
    return result;
}

/* ---- 11.85 Races: symbolic memory --------------------------------------- */
// src/replay/races/symbolic.h

// The content of a cell: the bytes of the object `id` from `offset` on.
typedef struct ts__content {
    uint64_t id, offset;
} ts__content;

// Bit of an id: all its bytes are equal.
#define TS__CONTENT_FILL (UINT64_C(1) << 63)

typedef struct ts__trial {
    ts_races *races;
    const ts_allocator *allocator;
    ts__rvec cells, recorded; // ts__content: now; after the recorded order
    ts__rvec saw;             // uint64_t of each event: hash of what it read
    ts__rvec staged; // uint64_t of each actor: hash of what its call staged
    ts__rvec moved;  // ts__content: buffer for one copy
    ts__rvec found, tried; // uint32_t: orders of events
    ts__rvec missing, after, after_offsets;
    ts__rvec heap;       // ts__hb_item: events that may run next
    ts__rvec priorities; // int64_t of each chain
    ts__rvec pairs;      // ts__race_pair of events
    ts__rmap known;      // hashes of the outcomes of orders so far
    uint64_t random;
} ts__trial;

static ts__content *ts__trial_cells(const ts__trial *t)
{
    return (ts__content *)t->cells.data;
}

static uint64_t ts__trial_hash(uint64_t what, uint64_t a, uint64_t b)
{
    const uint64_t v[] = { what, a, b };
    return XXH3_64bits(v, sizeof v) & ~TS__CONTENT_FILL;
}

enum { // what a hash stands for
    TS__HASH_INITIAL = 1,
    TS__HASH_FRESH,
    TS__HASH_FREED,
    TS__HASH_FILL,
    TS__HASH_WORK,
    TS__HASH_PIECES,
    TS__HASH_STAGED
};

static void ts__trial_clear(ts__trial *t)
{
    const ts_races *const x = t->races;
    ts__content *const cells = ts__trial_cells(t);
    for (uint32_t i = 0; i < x->cell_count; i++) {
        const uint32_t space = ((const uint32_t *)x->cell_spaces.data)[i];
        cells[i].id = ts__trial_hash(TS__HASH_INITIAL, space, 0);
        cells[i].offset = ((const uint64_t *)x->cells.data)[i];
    }
    memset(t->saw.data, 0, t->saw.count * sizeof(uint64_t));
    // A copy may come before its call in this order, and must not read what
    // another order staged.
    memset(t->staged.data, 0, x->actors.count * sizeof(uint64_t));
}

// Returns a hash of the contents of a span.
static uint64_t ts__trial_read(const ts__trial *t, const ts__race_span *s)
{
    return XXH3_64bits(ts__trial_cells(t) + s->low,
                       (s->high - s->low) * sizeof(ts__content));
}

static void ts__trial_write(ts__trial *t, const ts__race_span *s, uint64_t id)
{
    const uint64_t *const first = (const uint64_t *)t->races->cells.data;
    ts__content *const cells = ts__trial_cells(t);
    for (uint32_t i = s->low; i < s->high; i++) {
        cells[i].id = id;
        cells[i].offset = id & TS__CONTENT_FILL ? 0 : first[i] - s->first;
    }
}

// Returns the content of `size` bytes at an address; *cell moves on to the cell
// that contains the first.
static ts__content ts__trial_piece(const ts__trial *t, uint32_t *cell,
                                   uint64_t address, uint64_t size)
{
    const uint64_t *const first = (const uint64_t *)t->races->cells.data;
    const ts__content *const cells = ts__trial_cells(t);
    while (first[*cell + 1] <= address)
        ++*cell;
    ts__content piece = cells[*cell];
    if (!(piece.id & TS__CONTENT_FILL)) piece.offset += address - first[*cell];
    uint64_t left = size;
    for (uint32_t i = *cell; first[i + 1] - address < left; i++) {
        left -= first[i + 1] - address;
        address = first[i + 1];
        const ts__content next = cells[i + 1];
        if (piece.id == next.id && piece.id & TS__CONTENT_FILL) continue;
        piece.id = ts__trial_hash(TS__HASH_PIECES,
                                  ts__trial_hash(left, piece.id, piece.offset),
                                  ts__trial_hash(left, next.id, next.offset));
        piece.offset = 0;
    }
    return piece;
}

// Copies through a buffer, since source and destination may overlap.
static void ts__trial_copy(ts__trial *t, const ts__race_span *from,
                           const ts__race_span *to)
{
    const uint64_t *const first = (const uint64_t *)t->races->cells.data;
    ts__content *const moved = (ts__content *)t->moved.data;
    uint32_t cell = from->low;
    for (uint32_t i = to->low; i < to->high; i++)
        moved[i - to->low] =
            ts__trial_piece(t, &cell, from->first + (first[i] - to->first),
                            first[i + 1] - first[i]);
    memcpy(ts__trial_cells(t) + to->low, moved,
           (to->high - to->low) * sizeof *moved);
}

// Runs an operation: it writes a hash of itself and all that it reads. A write
// to an unknown part of a range keeps some of the old content.
static void ts__trial_work(ts__trial *t, const ts__actor *actor, uint64_t *saw)
{
    const ts_races *const x = t->races;
    const uint8_t keeps = TS_ACCESS_READ | TS_ACCESS_COARSE;
    uint64_t inputs = 0;
    for (uint32_t i = 0; i < actor->span_count; i++) {
        const ts__race_span *const s = ts__races_span(x, actor->spans + i);
        if (s->mode & keeps)
            inputs = ts__trial_hash(i, inputs, ts__trial_read(t, s));
    }
    *saw = ts__trial_hash(actor->epoch, *saw, inputs);
    for (uint32_t i = 0; i < actor->span_count; i++) {
        const ts__race_span *const s = ts__races_span(x, actor->spans + i);
        if (!(s->mode & TS_ACCESS_WRITE)) continue;
        const uint64_t who = ts__trial_hash(
            i, (uint64_t)actor->chain << 32 | actor->epoch, actor->where);
        ts__trial_write(t, s, ts__trial_hash(TS__HASH_WORK, who, inputs));
    }
}

// Runs a copy, or one of the halves into which staging splits it: the call that
// reads pageable memory, and the write of what was staged.
static void ts__trial_memcpy(ts__trial *t, uint32_t index, uint64_t *saw)
{
    const ts__actor *const actor = ts__races_actor(t->races, index);
    const ts__race_span *const s = ts__races_span(t->races, actor->spans);
    uint64_t *const staged = (uint64_t *)t->staged.data;
    if (actor->span_count > 1) {
        ts__trial_copy(t, s, s + 1);
        *saw = ts__trial_hash(0, *saw, ts__trial_read(t, s + 1));
    } else if (s->mode == TS_ACCESS_READ) {
        staged[index] = ts__trial_read(t, s);
    } else {
        const bool by_call = index && (actor - 1)->op == actor->op;
        const uint64_t bytes = by_call ? staged[index - 1] : actor->where;
        ts__trial_write(t, s, ts__trial_hash(TS__HASH_STAGED, bytes, 0));
    }
}

static void ts__trial_act(ts__trial *t, uint32_t index, uint64_t *saw)
{
    const ts__actor *const actor = ts__races_actor(t->races, index);
    if (!actor->span_count) return;
    const ts__race_span *const s = ts__races_span(t->races, actor->spans);
    if (actor->own && actor->kind == TS_EVENT_MEMCPY)
        ts__trial_memcpy(t, index, saw);
    else if (s->mode & TS__SPAN_FREE)
        ts__trial_write(t, s, ts__trial_hash(TS__HASH_FREED, 0, 0));
    else if (s->mode & TS__SPAN_ALLOC)
        ts__trial_write(t, s, ts__trial_hash(TS__HASH_FRESH, 0, 0));
    else if (actor->own && actor->kind == TS_EVENT_MEMSET)
        ts__trial_write(t, s,
                        ts__trial_hash(TS__HASH_FILL, actor->fill, 0) |
                            TS__CONTENT_FILL);
    else
        ts__trial_work(t, actor, saw);
}

static void ts__trial_step(ts__trial *t, uint32_t event)
{
    const ts_races *const x = t->races;
    uint32_t actor = ts__races_event(x, event)->head;
    for (; actor != TS_NODE_NONE; actor = ts__races_actor(x, actor)->next)
        ts__trial_act(t, actor, (uint64_t *)t->saw.data + event);
}

// Returns a digest of the outcome: the memory and what the host read.
static uint64_t ts__trial_digest(const ts__trial *t)
{
    const ts_races *const x = t->races;
    const uint64_t *const saw = (const uint64_t *)t->saw.data;
    uint64_t host = 0;
    for (uint32_t i = 0; i < x->events.count; i++) {
        const ts__actor *const actor =
            ts__races_actor(x, ts__races_event(x, i)->head);
        if (actor->op == TS_NODE_NONE && saw[i])
            host = ts__trial_hash(i, host, saw[i]);
    }
    return ts__trial_hash(
        0, XXH3_64bits(t->cells.data, x->cell_count * sizeof(ts__content)),
        host);
}

// Runs an order and returns its digest. *class_of also covers what device work
// read, which only serves to tell orders apart.
static uint64_t ts__trial_run(ts__trial *t, const uint32_t *order,
                              uint64_t *class_of)
{
    const size_t events = t->races->events.count;
    ts__trial_clear(t);
    for (size_t i = 0; i < events; i++)
        ts__trial_step(t, order[i]);
    const uint64_t digest = ts__trial_digest(t);
    *class_of = ts__trial_hash(
        digest, XXH3_64bits(t->saw.data, events * sizeof(uint64_t)), 0);
    return digest;
}

/* ---- 11.86 Races: other orders ------------------------------------------ */
// src/replay/races/orders.h

static uint64_t ts__trial_random(ts__trial *t, uint64_t limit)
{
    uint64_t z = t->random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return (z ^ z >> 31) % limit;
}

typedef enum ts__trial_strategy {
    TS__STRATEGY_PAIR,    // as recorded, but with one pair reversed
    TS__STRATEGY_STREAMS, // by priorities of chains, which change at times
    TS__STRATEGY_ANY      // by random priorities of events
} ts__trial_strategy;

typedef struct ts__trial_plan {
    ts__trial_strategy strategy;
    uint32_t held, until; // events: `held` may not run before `until`
    uint64_t changes[3];  // steps after which a chain gets the lowest priority
} ts__trial_plan;

static ts__trial_plan ts__trial_choose(ts__trial *t, uint64_t seed)
{
    const size_t events = t->races->events.count;
    ts__trial_plan plan = {
        TS__STRATEGY_ANY, TS_NODE_NONE, TS_NODE_NONE, { 0 }
    };
    // Neighbouring seeds must not give similar random numbers.
    t->random = ts__trial_hash(seed, seed, seed);
    const uint64_t strategy = ts__trial_random(t, 4);
    if (strategy < 2 && t->pairs.count) {
        const ts__race_pair *const pair = (const ts__race_pair *)t->pairs.data +
                                          ts__trial_random(t, t->pairs.count);
        plan.strategy = TS__STRATEGY_PAIR;
        plan.held = pair->first;
        plan.until = pair->second;
    } else if (strategy < 3) {
        plan.strategy = TS__STRATEGY_STREAMS;
    }
    for (int i = 0; i < 3; i++)
        plan.changes[i] = ts__trial_random(t, events);
    int64_t *const priorities = (int64_t *)t->priorities.data;
    for (size_t i = 0; i < t->priorities.count; i++)
        priorities[i] = (int64_t)(ts__trial_random(t, UINT64_C(1) << 60));
    return plan;
}

static void ts__trial_push(ts__trial *t, const ts__trial_plan *plan,
                           uint32_t event)
{
    const uint32_t chain = ts__races_event(t->races, event)->chain;
    const int64_t priority =
        plan->strategy == TS__STRATEGY_PAIR ? (int64_t)event
        : plan->strategy == TS__STRATEGY_STREAMS
            ? ((const int64_t *)t->priorities.data)[chain]
            : (int64_t)ts__trial_random(t, UINT64_C(1) << 60);
    const ts__hb_item item = { priority, event };
    ts__hb_sift_up((ts__hb_item *)t->heap.data, t->heap.count++, item);
}

// Adds the events that may run once `event` has.
static void ts__trial_release(ts__trial *t, const ts__trial_plan *plan,
                              uint32_t event)
{
    const uint32_t *const offsets = (const uint32_t *)t->after_offsets.data;
    uint32_t *const missing = (uint32_t *)t->missing.data;
    for (uint32_t e = offsets[event]; e < offsets[event + 1]; e++) {
        const uint32_t to = ((const uint32_t *)t->after.data)[e];
        if (!--missing[to]) ts__trial_push(t, plan, to);
    }
}

// Computes a legal order from a seed.
static void ts__trial_order(ts__trial *t, uint64_t seed, uint32_t *order)
{
    const ts_races *const x = t->races;
    const uint32_t count = (uint32_t)x->events.count;
    ts__trial_plan plan = ts__trial_choose(t, seed);
    uint32_t *const missing = (uint32_t *)t->missing.data;
    bool held = false;
    t->heap.count = 0;
    for (uint32_t i = 0; i < count; i++)
        missing[i] = ts__races_event(x, i)->before_count;
    for (uint32_t i = 0; i < count; i++)
        if (!missing[i]) ts__trial_push(t, &plan, i);
    for (uint32_t n = 0; n < count;) {
        // The order that has to be kept may force the pair into recorded order.
        if (held && (plan.until == TS_NODE_NONE || !t->heap.count)) {
            held = false;
            plan.until = TS_NODE_NONE;
            ts__trial_push(t, &plan, plan.held);
        }
        const uint32_t event = ts__hb_take(&t->heap);
        if (event == plan.held && plan.until != TS_NODE_NONE) {
            held = true;
            continue;
        }
        order[n++] = event;
        if (event == plan.until) plan.until = TS_NODE_NONE;
        for (int i = 0; i < 3; i++)
            if (plan.changes[i] == n) // from here on it comes after all others
                ((int64_t *)
                     t->priorities.data)[ts__races_event(x, event)->chain] =
                    (INT64_C(1) << 60) + n;
        ts__trial_release(t, &plan, event);
    }
}

// Turns the predecessors of each event into successors.
static bool ts__trial_links(ts__trial *t)
{
    const ts_races *const x = t->races;
    const size_t count = x->events.count;
    if (!ts__rvec_fill(t->allocator, &t->after_offsets, sizeof(uint32_t),
                       count + 1, 0) ||
        !ts__rvec_fill(t->allocator, &t->after, sizeof(uint32_t),
                       x->predecessors.count, 0))
        return false;
    uint32_t *const offsets = (uint32_t *)t->after_offsets.data;
    const uint32_t *const predecessors = (const uint32_t *)x->predecessors.data;
    for (size_t i = 0; i < x->predecessors.count; i++)
        offsets[predecessors[i]]++;
    ts__offsets_sum(offsets, count);
    for (uint32_t i = 0; i < count; i++) {
        const ts__race_event *const event = ts__races_event(x, i);
        for (uint32_t k = 0; k < event->before_count; k++)
            ((uint32_t *)
                 t->after.data)[--offsets[predecessors[event->before + k]]] = i;
    }
    return true;
}

// Lists the races whose two events may be swapped, as pairs of events.
static bool ts__trial_pairs(ts__trial *t)
{
    const ts_races *const x = t->races;
    ts__rvec event_of = { 0 };
    bool ok = ts__rvec_fill(t->allocator, &event_of, sizeof(uint32_t),
                            x->actors.count, 0xFF);
    uint32_t *const of = (uint32_t *)event_of.data;
    for (uint32_t i = 0; ok && i < x->events.count; i++) {
        uint32_t actor = ts__races_event(x, i)->head;
        for (; actor != TS_NODE_NONE; actor = ts__races_actor(x, actor)->next)
            of[actor] = i;
    }
    for (size_t i = 0; ok && i < x->pairs.count; i++) {
        const ts__race_pair *const pair =
            (const ts__race_pair *)x->pairs.data + i;
        if (!pair->free) continue;
        ts__race_pair *const to =
            (ts__race_pair *)ts__rvec_push(t->allocator, &t->pairs, sizeof *to);
        ok = to != NULL;
        if (!ok) break;
        to->first = of[pair->first];
        to->second = of[pair->second];
        to->free = true;
    }
    ts__rvec_close(t->allocator, &event_of);
    return ok;
}

/* ---- 11.87 Races: reducing an order ------------------------------------- */
// src/replay/races/reduce_order.h

// Sets `tried` to the first k steps of the order found, followed by all others
// as recorded.
static void ts__trial_prefix(ts__trial *t, size_t k)
{
    const uint32_t *const found = (const uint32_t *)t->found.data;
    uint32_t *const tried = (uint32_t *)t->tried.data;
    const uint32_t count = (uint32_t)t->races->events.count;
    uint32_t *const taken = (uint32_t *)t->missing.data;
    memset(taken, 0, count * sizeof *taken);
    for (size_t i = 0; i < k; i++) {
        tried[i] = found[i];
        taken[found[i]] = 1;
    }
    size_t n = k;
    for (uint32_t i = 0; i < count; i++)
        if (!taken[i]) tried[n++] = i;
}

// Does the same, with step k of the order found moved forward by `places`.
// Returns how many places it could move at most.
static size_t ts__trial_forward(ts__trial *t, size_t k, size_t places)
{
    uint32_t *const tried = (uint32_t *)t->tried.data;
    ts__trial_prefix(t, k);
    const uint32_t event = ((const uint32_t *)t->found.data)[k];
    size_t at = k;
    while (tried[at] != event)
        at++;
    const size_t most = at - k;
    for (size_t i = 0; i < places; i++, at--)
        tried[at] = tried[at - 1];
    tried[at] = event;
    return most;
}

static bool ts__trial_same(ts__trial *t, uint64_t recorded)
{
    uint64_t class_of;
    return ts__trial_run(t, (const uint32_t *)t->tried.data, &class_of) ==
           recorded;
}

// Stores the first range of cells whose contents differ from the recorded
// outcome.
static void ts__trial_differs(const ts__trial *t, ts_exploration *result)
{
    const ts_races *const x = t->races;
    const ts__content *const a = (const ts__content *)t->recorded.data;
    const ts__content *const b = ts__trial_cells(t);
    const uint64_t *const first = (const uint64_t *)x->cells.data;
    const uint32_t *const space = (const uint32_t *)x->cell_spaces.data;
    uint32_t low = 0;
    while (low < x->cell_count && !memcmp(&a[low], &b[low], sizeof *a))
        low++;
    if (low == x->cell_count) return; // only the host read something different
    uint32_t high = low + 1;
    while (high < x->cell_count && memcmp(&a[high], &b[high], sizeof *a) &&
           space[high] == space[low])
        high++;
    result->address = first[low];
    result->size = first[high] - first[low];
}

static bool ts__trial_conflict(const ts_races *x, uint32_t a, uint32_t b,
                               ts_exploration *result)
{
    const ts__actor *const first = ts__races_actor(x, a);
    const ts__actor *const second = ts__races_actor(x, b);
    for (uint32_t i = 0; i < first->span_count; i++)
        for (uint32_t k = 0; k < second->span_count; k++) {
            const ts__race_span *const s = ts__races_span(x, first->spans + i);
            const ts__race_span *const u = ts__races_span(x, second->spans + k);
            if (!((s->mode | u->mode) & TS_ACCESS_WRITE) || s->high <= u->low ||
                u->high <= s->low)
                continue;
            result->first = ts__race_side(x, s);
            result->second = ts__race_side(x, u);
            return true;
        }
    return false;
}

static void ts__trial_sides(const ts_races *x, uint32_t first, uint32_t second,
                            ts_exploration *result)
{
    const uint32_t head = ts__races_event(x, second)->head;
    uint32_t a = ts__races_event(x, first)->head;
    for (; a != TS_NODE_NONE; a = ts__races_actor(x, a)->next)
        for (uint32_t b = head; b != TS_NODE_NONE;
             b = ts__races_actor(x, b)->next)
            if (ts__trial_conflict(x, a, b, result)) return;
}

/*
    Finds the two events that matter. From the recorded order to the order found
    leads a path of orders, each of which swaps two neighbours. At its beginning
    the memory is as recorded, at its end it is not. Bisection finds a swap that
    makes the difference.
*/
static void ts__trial_reduce(ts__trial *t, uint64_t recorded,
                             ts_exploration *result)
{
    size_t low = 0, high = t->races->events.count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        ts__trial_prefix(t, middle);
        if (ts__trial_same(t, recorded))
            low = middle;
        else
            high = middle;
    }
    const size_t k = low;
    low = 0;
    high = ts__trial_forward(t, k, 0);
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        ts__trial_forward(t, k, middle);
        if (ts__trial_same(t, recorded))
            low = middle;
        else
            high = middle;
    }
    const size_t at = k + ts__trial_forward(t, k, high) - high;
    const uint32_t *const tried = (const uint32_t *)t->tried.data;
    ts__trial_same(t, recorded);
    ts__trial_differs(t, result);
    ts__trial_sides(t->races, tried[at + 1], tried[at], result);
}

/* ---- 11.88 Races: exploring orders -------------------------------------- */
// src/replay/races/explore.h

// Returns the cells of the widest span, the most that a copy can move at once.
static size_t ts__trial_widest(const ts_races *x)
{
    uint32_t widest = 0;
    for (size_t i = 0; i < x->spans.count; i++) {
        const ts__race_span *const s = ts__races_span(x, i);
        if (s->high - s->low > widest) widest = s->high - s->low;
    }
    return widest;
}

static bool ts__trial_open(ts__trial *t)
{
    ts_races *const x = t->races;
    const ts_allocator *const a = t->allocator;
    const size_t events = x->events.count, content = sizeof(ts__content);
    uint32_t chains = 0;
    for (size_t i = 0; i < events; i++)
        if (ts__races_event(x, i)->chain >= chains)
            chains = ts__races_event(x, i)->chain + 1;
    return ts__rvec_fill(a, &t->cells, content, x->cell_count, 0) &&
           ts__rvec_fill(a, &t->recorded, content, x->cell_count, 0) &&
           ts__rvec_fill(a, &t->moved, content, ts__trial_widest(x), 0) &&
           ts__rvec_fill(a, &t->saw, sizeof(uint64_t), events, 0) &&
           ts__rvec_fill(a, &t->staged, sizeof(uint64_t), x->actors.count, 0) &&
           ts__rvec_fill(a, &t->found, sizeof(uint32_t), events, 0) &&
           ts__rvec_fill(a, &t->tried, sizeof(uint32_t), events, 0) &&
           ts__rvec_fill(a, &t->missing, sizeof(uint32_t), events, 0) &&
           ts__rvec_fill(a, &t->heap, sizeof(ts__hb_item), events, 0) &&
           ts__rvec_fill(a, &t->priorities, sizeof(int64_t), chains, 0) &&
           ts__trial_links(t) && ts__trial_pairs(t);
}

static void ts__trial_close(ts__trial *t)
{
    ts__rvec *const all[] = { &t->cells,      &t->recorded,      &t->saw,
                              &t->staged,     &t->moved,         &t->found,
                              &t->tried,      &t->missing,       &t->after,
                              &t->heap,       &t->after_offsets, &t->pairs,
                              &t->priorities, &t->known.entries };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ts__rvec_close(t->allocator, all[i]);
}

enum { TS__TRIALS_KNOWN = 1000000 };

// Counts an order whose outcome is new. Returns false if out of memory.
static bool ts__trial_note(ts__trial *t, uint64_t class_of,
                           ts_exploration *result)
{
    if (t->known.used >= TS__TRIALS_KNOWN ||
        ts__rmap_get(&t->known, class_of) != TS_NODE_NONE)
        return true;
    result->distinct++;
    return ts__rmap_put(t->allocator, &t->known, class_of, 0);
}

// Runs legal orders until the outcome of one differs from the recorded one.
static ts_result ts__trial_explore(ts__trial *t, const ts_explore_desc *desc,
                                   ts_exploration *result)
{
    const uint64_t orders = desc->orders ? desc->orders : 1;
    uint32_t *const found = (uint32_t *)t->found.data;
    uint64_t class_of;
    ts__trial_prefix(t, 0);
    const uint64_t recorded =
        ts__trial_run(t, (const uint32_t *)t->tried.data, &class_of);
    memcpy(t->recorded.data, t->cells.data,
           t->races->cell_count * sizeof(ts__content));
    for (uint64_t i = 0; i < orders; i++) {
        if (desc->progress && !desc->progress(desc->user, i)) break;
        ts__trial_order(t, desc->seed + i, found);
        const uint64_t outcome = ts__trial_run(t, found, &class_of);
        if (!ts__trial_note(t, class_of, result)) return TS_ERR_MEMORY;
        result->orders++;
        if (outcome == recorded) continue;
        result->differs = true;
        result->seed = desc->seed + i;
        ts__trial_reduce(t, recorded, result);
        break;
    }
    return TS_OK;
}

static ts_result ts__trial_begin(ts__trial *t, ts_races *races)
{
    t->races = races;
    t->allocator = &races->allocator;
    if (!races->stats.ranges) return TS_ERR_NOT_FOUND;
    const ts_result result = ts__races_trace(races);
    if (result != TS_OK) return result;
    if (!races->events.count) return TS_ERR_NOT_FOUND;
    return ts__trial_open(t) ? TS_OK : TS_ERR_MEMORY;
}

TS_API ts_result ts_races_explore(ts_races *races, const ts_explore_desc *desc,
                                  ts_exploration *result)
{
    static const ts_explore_desc none = { 0 };
    if (!races || !result) return TS_ERR_USAGE;
    memset(result, 0, sizeof *result);
    ts__trial t = { 0 };
    ts_result done = ts__trial_begin(&t, races);
    result->operations = races->events.count;
    if (done == TS_OK)
        done = ts__trial_explore(&t, desc ? desc : &none, result);
    ts__trial_close(&t);
    return done;
}

TS_API ts_result ts_races_order(ts_races *races, const uint64_t *seed,
                                uint32_t *order)
{
    ts__trial t = { 0 };
    const ts_result result = ts__trial_begin(&t, races);
    if (result == TS_OK && seed) ts__trial_order(&t, *seed, order);
    for (uint32_t i = 0; result == TS_OK && !seed && i < races->events.count;
         i++)
        order[i] = i;
    ts__trial_close(&t);
    return result;
}

// Makes a trial on memory of the caller, which holds the contents, what events
// read, what calls staged, and room for a copy.
static ts__trial ts__trial_on(const ts_races *races, void *memory)
{
    ts__trial t = { 0 };
    t.races = (ts_races *)(uintptr_t)races; // never modified through t
    t.allocator = &races->allocator;
    t.cells.data = memory;
    t.moved.data = (ts__content *)memory + races->cell_count;
    t.saw.data = (ts__content *)t.moved.data + ts__trial_widest(races);
    t.saw.count = races->events.count;
    t.staged.data = (uint64_t *)t.saw.data + races->events.count;
    return t;
}

TS_API size_t ts_races_memory_size(const ts_races *races)
{
    return (races->cell_count + ts__trial_widest(races)) * sizeof(ts__content) +
           (races->events.count + races->actors.count) * sizeof(uint64_t);
}

TS_API void ts_races_memory_clear(const ts_races *races, void *memory)
{
    ts__trial t = ts__trial_on(races, memory);
    ts__trial_clear(&t);
}

TS_API void ts_races_memory_step(const ts_races *races, void *memory,
                                 uint32_t step)
{
    ts__trial t = ts__trial_on(races, memory);
    if (step < races->events.count) ts__trial_step(&t, step);
}

TS_API uint64_t ts_races_memory_digest(const ts_races *races,
                                       const void *memory)
{
    const ts__trial t = ts__trial_on(races, (void *)(uintptr_t)memory);
    return ts__trial_digest(&t);
}

TS_API uint32_t ts_races_step_lane(const ts_races *races, uint32_t step)
{
    return step < races->events.count ? ts__races_event(races, step)->chain : 0;
}

/* ---- 11.89 Execution: captures ------------------------------------------ */
// src/replay/execute/captures.h

TS_API const char *ts_reason_name(uint32_t reason)
{
    static const char *const names[] = {
#define TS__X(name, value, text) text,
        TS_REASONS(TS__X)
#undef TS__X
    };
    return reason < TS_REASON_LIMIT ? names[reason] : "unknown";
}

TS_API const char *ts_reason_text(uint32_t reason)
{
    static const char *const texts[TS_REASON_LIMIT] = {
        [TS_REASON_VA_UNAVAILABLE] = "its memory cannot have its old address",
        [TS_REASON_IMAGE_MISSING] =
            "its code is neither in the trace nor on this machine",
        [TS_REASON_IMAGE_ARCH] =
            "its code is for another machine, or does not build",
        [TS_REASON_PARAM_LAYOUT_UNKNOWN] = "nobody knows how its arguments lie",
        [TS_REASON_UVM] = "managed or shared virtual memory",
        [TS_REASON_IPC] = "memory of another process",
        [TS_REASON_EXTERNAL_MEMORY] = "memory of another interface",
        [TS_REASON_MULTICAST] = "multicast memory",
        [TS_REASON_PEER] = "memory of a peer that is not there",
        [TS_REASON_COLLECTIVE] = "it works with other processes",
        [TS_REASON_HOST_CALLBACK] = "a function of the host",
        [TS_REASON_DEVICE_HEAP] = "it allocates on the device",
        [TS_REASON_CDP] = "it launches from the device",
        [TS_REASON_COND_GRAPH] = "a conditional node of a graph",
        [TS_REASON_DEVICE_UPDATABLE_NODE] =
            "a node of a graph that the device changes",
        [TS_REASON_TEXTURE_BINDLESS] = "texture handles in memory",
        [TS_REASON_STREAM_MEMOP] = "it waits for a value in memory",
        [TS_REASON_DRAIN_TIMEOUT] =
            "the device did not get idle in time when it was recorded",
        [TS_REASON_SNAPSHOT_BUDGET] =
            "its contents were left out for the budget",
        [TS_REASON_IN_CAPTURE] =
            "launched while a stream was recorded into a graph",
        [TS_REASON_ATTACHED_LATE] =
            "it uses what was made before anybody looked",
        [TS_REASON_ATTR_UNKNOWN] = "a launch attribute that nobody knows",
        [TS_REASON_DRIVER_MISMATCH] =
            "another driver than the one that captured",
        [TS_REASON_NOT_CAPTURED] = "it was not asked for when it was recorded",
        [TS_REASON_MEMORY_MISSING] =
            "contents that it needs are not in the trace",
        [TS_REASON_GLOBAL_MOVED] =
            "something points to a variable that lies elsewhere now",
        [TS_REASON_POINTER_DEAD] = "an argument pointed into freed memory",
        [TS_REASON_ESCAPE] =
            "it touched memory that was not captured, or ended its process",
        [TS_REASON_TIMEOUT] = "it did not end in time",
        [TS_REASON_DEVICE_FAILED] = "the device refused it, or failed before",
        [TS_REASON_BAD_CAPTURE] = "its record makes no sense",
        [TS_REASON_NO_MEMORY] = "out of memory",
        [TS_REASON_TOO_MANY] =
            "more kernels, streams or files of code than there is room for",
        [TS_REASON_OTHER_BACKEND] =
            "it is of another vendor than what is executed",
        [TS_REASON_ROW_MISSING] =
            "the trace lost the event that says when and where it ran",
    };
    const char *const text = reason < TS_REASON_LIMIT ? texts[reason] : NULL;
    return text ? text : "";
}

TS_API bool ts_event_has_contents(uint32_t kind)
{
    return kind == TS_EVENT_KERNEL || kind == TS_EVENT_MEMCPY ||
           kind == TS_EVENT_MEMSET || kind == TS_EVENT_HOST_FUNCTION ||
           kind == TS_EVENT_COLLECTIVE || kind == TS_EVENT_GRAPH_LAUNCH;
}

TS_API int ts_reader_file(const ts_reader *reader)
{
    return reader->path ? reader->fd : -1;
}

TS_API bool ts_attribute_next(const ts_attributes *all, uint64_t *at,
                              ts_attribute *found)
{
    ts_capture_attribute head;
    if (*at > all->size || all->size - *at < sizeof head) return false;
    memcpy(&head, all->bytes + *at, sizeof head);
    const uint64_t left = all->size - *at - sizeof head;
    const uint64_t whole = ((uint64_t)head.size + 7) & ~UINT64_C(7);
    if (whole > left) return false;
    found->id = head.id;
    found->size = head.size;
    found->bytes = all->bytes + *at + sizeof head;
    *at += sizeof head + whole;
    return true;
}

TS_API bool ts_attribute_find(const ts_attributes *all, uint32_t id,
                              uint32_t size, ts_attribute *found)
{
    uint64_t at = 0;
    while (ts_attribute_next(all, &at, found))
        if (found->id == id && found->size >= size) return true;
    return false;
}

static bool ts__capture_attributes_fit(const ts_attributes *all)
{
    ts_attribute one;
    uint64_t at = 0;
    while (ts_attribute_next(all, &at, &one))
        continue;
    return at == all->size;
}

TS_API bool ts_capture_node_next(const ts_capture *c, ts_capture_node *node)
{
    const uint64_t args = (uint64_t)node->args_at + node->head.args_size;
    ts_capture_node n = { .index = node->index + 1, .at = node->at };
    ts_attribute one, other;
    do
        if (!ts_attribute_next(&c->attributes, &n.at, &one)) return false;
    while (one.id != TS_ATTRIBUTE_NODE);
    if (c->head.kind != TS_EVENT_GRAPH_LAUNCH || one.size < sizeof n.head ||
        args > c->head.args_size || args > UINT32_MAX - 63)
        return false;
    memcpy(&n.head, one.bytes, sizeof n.head);
    n.after = (const void *)((const uint8_t *)one.bytes + sizeof n.head);
    n.after_count = (uint32_t)((one.size - sizeof n.head) / 4);
    n.args_at = (uint32_t)args;
    if (n.head.args_size)
        n.args_at = (n.args_at + TS_CAPTURE_NODE_ALIGNED - 1) &
                    ~(TS_CAPTURE_NODE_ALIGNED - 1);
    // The attributes of a node end where the next node begins.
    n.attributes.bytes = c->attributes.bytes + n.at;
    for (uint64_t end = n.at; ts_attribute_next(&c->attributes, &end, &other) &&
                              other.id != TS_ATTRIBUTE_NODE;)
        n.attributes.size = end - n.at;
    *node = n;
    return true;
}

static bool ts__capture_node_is_sound(const ts_capture *c,
                                      const ts_capture_node *node)
{
    const ts_capture_operation *const h = &node->head;
    if (h->kind && h->kind != TS_EVENT_KERNEL && h->kind != TS_EVENT_MEMCPY &&
        h->kind != TS_EVENT_MEMSET)
        return false;
    for (uint32_t i = 0; i < node->after_count; i++)
        if (node->after[i] >= node->index - 1) return false;
    return node->args_at <= c->head.args_size &&
           h->args_size <= c->head.args_size - node->args_at;
}

// Whether all attributes of a graph launch that are nodes are valid nodes.
static bool ts__capture_nodes_fit(const ts_capture *c)
{
    ts_capture_node node = { .index = 0 };
    ts_attribute one;
    uint32_t nodes = 0;
    for (uint64_t at = 0; ts_attribute_next(&c->attributes, &at, &one);)
        nodes += one.id == TS_ATTRIBUTE_NODE;
    while (ts_capture_node_next(c, &node))
        if (!ts__capture_node_is_sound(c, &node)) return false;
    return node.index == nodes;
}

static bool ts__capture_is_sound(const ts_capture *c)
{
    const ts_capture_operation *const h = &c->head;
    if (h->kind < TS_EVENT_GPU_FIRST || h->kind >= TS_EVENT_LIMIT ||
        h->state < TS_CAPTURE_WHOLE || h->state > TS_CAPTURE_DECLINED)
        return false;
    for (uint32_t i = 0; i < h->param_count; i++) {
        const ts_capture_param *const p = &c->params[i];
        if (p->offset > h->args_size || p->size > h->args_size - p->offset ||
            (p->type && p->size != 8))
            return false;
    }
    if (!ts__capture_attributes_fit(&c->attributes)) return false;
    if (h->kind == TS_EVENT_GRAPH_LAUNCH && !ts__capture_nodes_fit(c))
        return false;
    for (uint32_t i = 0; i < h->region_count; i++) {
        const ts_capture_region *const r = &c->regions[i];
        if (!r->address || r->size > UINT64_C(1) << 47 ||
            r->address > UINT64_MAX - r->size)
            return false;
    }
    return true;
}

// Finds the parts of a record. Returns false if they do not fit into it.
static bool ts__capture_parse(const uint8_t *bytes, size_t size, ts_capture *c)
{
    ts_capture_operation *const h = &c->head;
    if (size < sizeof *h) return false;
    memcpy(h, bytes, sizeof *h);
    uint64_t at = sizeof *h, left = size - at;
    const uint64_t params = (uint64_t)h->param_count * sizeof *c->params;
    const uint64_t args = ((uint64_t)h->args_size + 7) & ~UINT64_C(7);
    const uint64_t regions = (uint64_t)h->region_count * sizeof *c->regions;
    if (params > left || args > left - params || regions > left - params - args)
        return false;
    c->params = (const void *)(bytes + at);
    c->args = bytes + at + params;
    c->regions = (const void *)(bytes + at + params + args);
    c->attributes.bytes = bytes + at + params + args + regions;
    c->attributes.size = left - params - args - regions;
    return ts__capture_is_sound(c);
}

// The size of images before the field `form` was added.
enum { TS__IMAGE_LEAST = 40 };

static ts_result ts__capture_add(ts_reader *reader, const uint8_t *bytes,
                                 size_t size, ts__fault *fault)
{
    uint32_t type = 0;
    if (size >= sizeof type) memcpy(&type, bytes, sizeof type);
    if (type == TS_CAPTURE_IMAGE && size >= TS__IMAGE_LEAST) {
        ts_capture_image *const more = ts__mem_more(
            &reader->allocator, reader->images, &reader->image_capacity,
            reader->image_count, sizeof *more);
        if (!more) return TS_ERR_MEMORY;
        reader->images = more;
        memset(&more[reader->image_count], 0, sizeof *more);
        memcpy(&more[reader->image_count++], bytes,
               size < sizeof *more ? size : sizeof *more);
    } else if (type == TS_CAPTURE_OPERATION) {
        ts_capture *const more = ts__mem_more(
            &reader->allocator, reader->captures, &reader->capture_capacity,
            reader->capture_count, sizeof *more);
        if (!more) return TS_ERR_MEMORY;
        reader->captures = more;
        if (ts__capture_parse(bytes, size, &more[reader->capture_count]))
            reader->capture_count++;
        else
            *fault = ts__corrupt("the capture contradicts itself");
    } // skip types of later versions
    return TS_OK;
}

// Reads the record of a chunk. It is used in place unless it was decompressed
// or is not aligned.
static ts_result ts__capture_open(ts_reader *reader, size_t index)
{
    ts__in_chunk *const chunk = &reader->chunks[index];
    const uint8_t *payload = NULL;
    ts__scratch scratch = { NULL, 0 };
    const size_t size = chunk->header.raw_size;
    // The size that a small file may claim. A damaged chunk can claim any size
    // of itself, so it is bounded.
    const bool compressed = chunk->header.flags & TS_CHUNK_ZSTD;
    const bool fits = !compressed || size <= reader->desc.inflate_bytes -
                                                 reader->captures_inflated;
    ts__fault fault =
        fits ? ts__in_chunk_payload(reader, chunk, &scratch, &payload)
             : ts__too_large;
    if (fault.result == TS_OK) fault = ts__blob_check(&chunk->header, payload);
    ts_result result = TS_OK;
    if (fault.result == TS_OK && (scratch.bytes || (uintptr_t)payload % 8)) {
        uint8_t *const kept = ts__reader_keep(reader, size);
        if (kept) memcpy(kept, payload, size);
        if (!kept) fault = ts__no_memory;
        if (kept && compressed) reader->captures_inflated += size;
        payload = kept;
    }
    if (fault.result == TS_OK)
        result = ts__capture_add(reader, payload + 16, size - 16, &fault);
    ts__mem_put(&reader->allocator, scratch.bytes, scratch.size);
    if (result != TS_OK) return result;
    return ts__in_chunk_report(reader, chunk, fault);
}

static void ts__captures_list(ts_reader *reader)
{
    while (reader->captures_listed < reader->chunk_count) {
        const size_t index = reader->captures_listed;
        if (reader->chunks[index].header.kind == TS_CHUNK_CAPTURE &&
            ts__capture_open(reader, index) == TS_ERR_MEMORY)
            return;
        reader->captures_listed++;
    }
}

TS_API size_t ts_reader_capture_count(ts_reader *reader)
{
    ts__mutex_take(&reader->blob_lock);
    ts__captures_list(reader);
    const size_t count = reader->capture_count;
    ts__mutex_give(&reader->blob_lock);
    return count;
}

TS_API bool ts_reader_capture(ts_reader *reader, size_t index,
                              ts_capture *capture)
{
    ts__mutex_take(&reader->blob_lock);
    ts__captures_list(reader);
    const bool there = index < reader->capture_count;
    if (there) *capture = reader->captures[index];
    ts__mutex_give(&reader->blob_lock);
    return there;
}

TS_API bool ts_reader_image_at(ts_reader *reader, size_t index,
                               ts_capture_image *image)
{
    ts__mutex_take(&reader->blob_lock);
    ts__captures_list(reader);
    const bool there = index < reader->image_count;
    if (there) *image = reader->images[index];
    ts__mutex_give(&reader->blob_lock);
    return there;
}

static int ts__image_order(const void *left, const void *right)
{
    const ts__image_place *const a = left, *const b = right;
    if (a->id != b->id) return a->id < b->id ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

// Sorts the images by number again if images were added. Returns false if out
// of memory.
static bool ts__images_sort(ts_reader *reader)
{
    const size_t count = reader->image_count;
    if (reader->images_sorted == count) return true;
    ts__image_place *const made =
        ts__mem_get(&reader->allocator, count * sizeof *made);
    if (!made) return false;
    for (size_t i = 0; i < count; i++) {
        made[i].id = reader->images[i].id;
        made[i].index = (uint32_t)i;
    }
    ts__sort(made, count, sizeof *made, ts__image_order);
    ts__mem_put(&reader->allocator, reader->image_places,
                reader->images_sorted * sizeof *made);
    reader->image_places = made;
    reader->images_sorted = count;
    return true;
}

TS_API bool ts_reader_image(ts_reader *reader, uint32_t id,
                            ts_capture_image *image)
{
    ts__mutex_take(&reader->blob_lock);
    ts__captures_list(reader);
    size_t low = 0;
    size_t high = ts__images_sort(reader) ? reader->images_sorted : 0;
    while (low < high) { // find the first one with this number
        const size_t middle = low + (high - low) / 2;
        if (reader->image_places[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    const bool there =
        low < reader->images_sorted && reader->image_places[low].id == id;
    if (there) *image = reader->images[reader->image_places[low].index];
    ts__mutex_give(&reader->blob_lock);
    return there;
}

/* ---- 11.90 Execution: state --------------------------------------------- */
// src/replay/execute/state.h

// A range is an allocation of the record and its current memory. Each chunk has
// two hashes: of its current contents (`current`) and of the last recorded
// contents (`recorded`). A chunk that was written takes memory even if it is
// zero.
enum { TS__EX_ACTUAL = 1, TS__EX_RECORDED = 2, TS__EX_WRITTEN = 4 };
enum { TS__EX_TABLES = 33 }; // bytes of hash tables for each chunk
// Number of chunks that a device hashes in one request.
enum { TS__EX_DEVICE_HASHES = 1024 };

typedef struct ts__ex_range {
    uint64_t address, size, actual;
    uint32_t device, image;
    uint64_t offset; // within its module, of a global variable
    uint8_t *bytes;  // memory of the host; NULL: none
    uint64_t *current, *recorded;
    uint8_t *known;
    uint64_t cost; // bytes of memory of this process that it takes
    size_t op;     // the operation that owns it, for memory of the host
    // For concurrent operations: the part that used it last, and the operation
    // of that part (with its region) that changed it last or else used it
    // first.
    uint32_t batch, last_region;
    size_t last;
} ts__ex_range;

typedef struct ts__ex_module {
    uint32_t image;
    uint64_t module;
    ts_reason reason; // why it could not be loaded
    char why[240];
} ts__ex_module;

typedef struct ts__ex_stream {
    uint32_t track, device;
    uint64_t stream;
    // concurrent: the last part that used it, the last barrier.
    uint32_t batch, barrier;
} ts__ex_stream;

// A lane is a stream on which a branch of a graph runs. The stream on which the
// graph was launched (`owner`) is a lane of its own. Positions of nodes count
// from 1.
enum { TS__EX_LANES = 8 };
typedef struct ts__ex_lane {
    uint64_t owner, stream;
    uint32_t device;
    // Last node; node to wait for; last node that the owner waited for.
    uint32_t tail, needed, joined;
} ts__ex_lane;

typedef struct ts__ex_spare { // an event that nothing waits for any more
    uint64_t event;
    uint32_t device;
} ts__ex_spare;

// A list of hashes, decompressed from the trace. There are two, so that one
// list can be compared with another.
typedef struct ts__ex_listed {
    uint64_t hash[2];
    const uint8_t *bytes; // NULL: empty
    size_t size;
    ts__scratch scratch;
} ts__ex_listed;

struct ts_execution {
    ts_reader *reader;
    const size_t *captures;
    size_t count;
    ts_execution_desc desc;
    void *state;                        // of the executor
    bool lost;                          // the device does not respond
    uint32_t devices[64], device_count; // tracks, ascending
    ts__ex_range **ranges;              // in device memory
    size_t range_count, range_capacity;
    ts__ex_range **hosts; // in host memory, ordered by operation
    size_t host_count, host_capacity, host_at;
    uint32_t batch; // number of the concurrent part; 0: one operation at a time
    bool as_graph;
    uint64_t bytes;         // memory of this process in use
    uint64_t zeros[2];      // hash of a chunk of zeros
    uint64_t missing_bytes; // size of what did not fit; 0: nothing
    uint32_t held; // regions of the current operation whose ranges were found
    ts__ex_module *modules;
    size_t module_count, module_capacity;
    ts__ex_stream *streams;
    size_t stream_count, stream_capacity;
    ts__ex_lane *lanes;
    size_t lane_count, lane_capacity;
    ts__ex_spare *events;
    size_t event_count, event_capacity;
    uint8_t *scratch;
    ts__scratch contents; // decompressed contents, valid until the next use
    ts__ex_listed lists[2];
    uint32_t list_last; // index of the list requested last
    // The current operation.
    size_t op;
    uint64_t order; // highest order that the chain has reached
    bool late;      // in a chain: the operation is not beyond `order`
    ts_capture now;
    ts__ex_range **regions; // ranges of its regions
    size_t region_capacity;
    uint8_t *args;
    size_t args_capacity;
    // Hashes that the device made of the current range: see ts__ex_device_hash.
    uint64_t device_hashes[2 * TS__EX_DEVICE_HASHES];
    uint64_t device_hash_first, device_hash_end;
    bool device_hash_known, device_hash_wrong;
};

static uint64_t ts__ex_chunks(uint64_t size)
{
    return size / TS_CAPTURE_CHUNK + (size % TS_CAPTURE_CHUNK != 0);
}

static uint64_t ts__ex_chunk_size(uint64_t size, uint64_t chunk)
{
    const uint64_t left = size - chunk * TS_CAPTURE_CHUNK;
    return left < TS_CAPTURE_CHUNK ? left : TS_CAPTURE_CHUNK;
}

// Contents of memory that was never written. This array is never written
// either.
static uint8_t ts__ex_zeros[TS_CAPTURE_CHUNK];

static bool ts__ex_is_zeros(const ts_execution *e, const uint8_t *hash)
{
    return !memcmp(hash, e->zeros, sizeof e->zeros);
}

static void ts__ex_range_free(ts_execution *e, ts__ex_range *r)
{
    const ts_allocator *const a = &e->desc.allocator;
    const size_t chunks = (size_t)ts__ex_chunks(r->size);
    ts__mem_put(a, r->current, chunks * 16);
    ts__mem_put(a, r->recorded, chunks * 16);
    ts__mem_put(a, r->known, chunks);
    ts__mem_put(a, r->bytes, (size_t)r->size);
    ts__mem_put(a, r, sizeof *r);
}

static ts__ex_range *ts__ex_range_new(ts_execution *e,
                                      const ts_capture_region *region)
{
    const ts_allocator *const a = &e->desc.allocator;
    const uint64_t chunks = ts__ex_chunks(region->size);
    ts__ex_range *const r = ts__mem_get(a, sizeof *r);
    if (!r) return NULL;
    memset(r, 0, sizeof *r);
    r->address = region->address;
    r->size = region->size;
    r->device = region->device;
    r->image = region->image;
    r->offset = region->offset;
    if (!chunks) return r;
    // Tables for the claimed size are only allocated after the trace was found
    // to have a list of this length: see ts__ex_is_listed.
    r->current = ts__mem_get(a, (size_t)chunks * 16);
    r->recorded = ts__mem_get(a, (size_t)chunks * 16);
    r->known = ts__mem_get(a, (size_t)chunks);
    if (r->known) memset(r->known, 0, (size_t)chunks);
    if (r->current && r->recorded && r->known) return r;
    ts__ex_range_free(e, r);
    return NULL;
}

// Sets which of a chunk's hashes are known.
static void ts__ex_set_known(const ts__ex_range *r, uint64_t chunk,
                             uint8_t hashes)
{
    r->known[chunk] = (uint8_t)((r->known[chunk] & TS__EX_WRITTEN) | hashes);
}

// Returns the hashes of a list; NULL if the trace has none of the right length.
// They are valid until two other lists are requested.
static const uint8_t *ts__ex_list(ts_execution *e, const uint64_t list[2],
                                  uint64_t size)
{
    const uint64_t length = ts__ex_chunks(size) * 16;
    if (!list[0] && !list[1]) return NULL;
    for (uint32_t i = 0; i < 2; i++) {
        const ts__ex_listed *const known = &e->lists[i];
        if (!known->bytes || known->size != length ||
            memcmp(known->hash, list, sizeof known->hash) != 0)
            continue;
        e->list_last = i;
        return known->bytes;
    }
    ts__ex_listed *const next = &e->lists[!e->list_last];
    const ts__blob_limits limits = { length, length, length, &next->scratch };
    next->bytes = NULL;
    if (ts__reader_blob(e->reader, list, &limits, &next->bytes, &next->size) !=
        TS_OK)
        return NULL;
    memcpy(next->hash, list, sizeof next->hash);
    e->list_last = !e->list_last;
    return next->bytes;
}

// Returns the bytes of a chunk; NULL if the trace does not have them. Chunks of
// zeros need no bytes in the trace and always have the same address. kept: the
// bytes stay valid as long as the reader, otherwise until the next chunk is
// requested.
static const uint8_t *ts__ex_bytes(ts_execution *e, const uint8_t *hash,
                                   uint64_t size, bool kept)
{
    const ts__blob_limits limits = { size, size, size,
                                     kept ? NULL : &e->contents };
    uint64_t key[2];
    const uint8_t *bytes;
    size_t have;
    if (size == TS_CAPTURE_CHUNK && ts__ex_is_zeros(e, hash))
        return ts__ex_zeros;
    memcpy(key, hash, sizeof key);
    ts__reader_blob(e->reader, key, &limits, &bytes, &have);
    return bytes;
}

// Returns the index of a device track; 0 also if it is unknown.
static uint32_t ts__ex_device(const ts_execution *e, uint32_t track)
{
    for (uint32_t i = 0; i < e->device_count; i++)
        if (e->devices[i] == track) return i;
    return 0;
}

// Returns the device track of a stream's track; 0: unknown.
static uint32_t ts__ex_device_track(const ts_execution *e, uint32_t track)
{
    ts_track t = { .parent = track };
    for (int i = 0; i < 8 && t.type != TS_TRACK_DEVICE; i++)
        if (!ts_reader_track(e->reader, t.parent, &t)) return 0;
    return t.type == TS_TRACK_DEVICE ? t.id : 0;
}

static bool ts__ex_has_device(const ts_execution *e, uint32_t track)
{
    const uint32_t device = ts__ex_device(e, track);
    return device < e->device_count && e->devices[device] == track;
}

static ts_reason ts__ex_result_reason(ts_result result)
{
    switch (result) {
    case TS_OK: return TS_REASON_NONE;
    case TS_ERR_MEMORY: return TS_REASON_NO_MEMORY;
    case TS_ERR_BUSY: return TS_REASON_TIMEOUT;
    case TS_ERR_CORRUPT: return TS_REASON_BAD_CAPTURE;
    default: return TS_REASON_DEVICE_FAILED;
    }
}

// Returns why the executor failed. The executor may know a more precise reason
// than its result.
static ts_reason ts__ex_reason(const ts_execution *e, ts_result result)
{
    const ts_executor *const x = e->desc.executor;
    const ts_reason reason = ts__ex_result_reason(result);
    if (reason != TS_REASON_DEVICE_FAILED || !x->reason) return reason;
    const ts_reason own = x->reason(e->state);
    return own && own < TS_REASON_LIMIT ? own : reason;
}

/* ---- 11.91 Execution: code and memory ----------------------------------- */
// src/replay/execute/memory.h

// Finds the bytes of code, if the trace has them. Returns false if there is no
// room to decompress them.
static bool ts__ex_code_bytes(ts_execution *e, ts_executor_code *code,
                              ts__scratch *scratch, char *why, size_t room)
{
    const uint64_t own = e->desc.memory_bytes;
    const uint64_t most =
        own && own < TS_EXECUTION_CODE_BYTES ? own : TS_EXECUTION_CODE_BYTES;
    const ts__blob_limits limits = { 0, UINT64_MAX, most, scratch };
    const uint8_t *bytes;
    size_t size;
    const ts_result result =
        ts__reader_blob(e->reader, code->hash, &limits, &bytes, &size);
    code->bytes = bytes;
    if (bytes) code->size = size;
    if (result != TS_ERR_NOT_FOUND || size <= most)
        return result != TS_ERR_MEMORY;
    snprintf(why, room, "its code of %.1f MiB does not fit into %.1f MiB",
             (double)size / 1048576, (double)most / 1048576);
    return false;
}

static ts_reason ts__ex_load_from(ts_execution *e, uint32_t image,
                                  ts__ex_module *m, ts__scratch *scratch)
{
    ts_capture_image found;
    ts_executor_code code = { 0 };
    if (!ts_reader_image(e->reader, image, &found))
        return TS_REASON_IMAGE_MISSING;
    const ts_module_entry *const entry =
        ts_reader_module(e->reader, found.module);
    code.path = ts_reader_name(e->reader, entry ? entry->path : 0).text;
    code.options = ts_reader_name(e->reader, found.options).text;
    code.form = found.form;
    memcpy(code.hash, found.hash, sizeof code.hash);
    code.size = found.size;
    if (!ts__ex_code_bytes(e, &code, scratch, m->why, sizeof m->why))
        return TS_REASON_NO_MEMORY;
    const ts_result result = e->desc.executor->load(e->state, &code, &m->module,
                                                    m->why, sizeof m->why);
    const ts_reason reason = ts__ex_reason(e, result);
    if (reason != TS_REASON_DEVICE_FAILED) return reason;
    return result == TS_ERR_NOT_FOUND     ? TS_REASON_IMAGE_MISSING
           : result == TS_ERR_UNSUPPORTED ? TS_REASON_IMAGE_ARCH
                                          : reason;
}

static ts_reason ts__ex_load(ts_execution *e, uint32_t image, ts__ex_module *m)
{
    ts__scratch scratch = { NULL, 0 };
    const ts_reason reason = ts__ex_load_from(e, image, m, &scratch);
    ts__mem_put(&e->reader->allocator, scratch.bytes, scratch.size);
    return reason;
}

static ts__ex_module *ts__ex_module_find(ts_execution *e, uint32_t image)
{
    for (size_t i = 0; i < e->module_count; i++)
        if (e->modules[i].image == image) return &e->modules[i];
    ts__ex_module *const more =
        ts__mem_more(&e->desc.allocator, e->modules, &e->module_capacity,
                     e->module_count, sizeof *more);
    if (!more) return NULL;
    e->modules = more;
    ts__ex_module *const m = &more[e->module_count++];
    memset(m, 0, sizeof *m);
    m->image = image;
    m->reason = ts__ex_load(e, image, m);
    return m;
}

static bool ts__ex_in_process(const ts_execution *e, const ts__ex_range *r)
{
    return !r->image && (!r->device || e->desc.executor->host_memory);
}

/*
    Returns how much memory of this process a region takes. Chunks of zeros that
    were never written and are not written now take none except for the tables.
*/
static uint64_t ts__ex_cost(ts_execution *e, const ts__ex_range *r,
                            const ts_capture_region *region)
{
    const uint64_t chunks = ts__ex_chunks(region->size);
    uint64_t cost = region->size + chunks * TS__EX_TABLES;
    if (!region->device || !e->desc.executor->blank) return region->size;
    const uint8_t *const before = ts__ex_list(e, region->before, region->size);
    const uint8_t *const after = ts__ex_list(e, region->after, region->size);
    for (uint64_t k = 0; k < region->size / TS_CAPTURE_CHUNK; k++)
        if (!(r->known[k] & TS__EX_WRITTEN) &&
            (!before || ts__ex_is_zeros(e, before + 16 * k)) &&
            (!after || ts__ex_is_zeros(e, after + 16 * k)))
            cost -= TS_CAPTURE_CHUNK;
    return cost < region->size ? cost : region->size;
}

// Reserves the memory that a region needs beyond that of its range. Returns
// false if it exceeds the limit.
static bool ts__ex_reserve(ts_execution *e, ts__ex_range *r,
                           const ts_capture_region *region)
{
    const uint64_t most = e->desc.memory_bytes;
    if (!ts__ex_in_process(e, r)) return true;
    const uint64_t cost = ts__ex_cost(e, r, region);
    if (cost <= r->cost) return true;
    const uint64_t others = e->bytes - r->cost;
    if (most && (cost > most || others > most - cost)) {
        e->missing_bytes = cost;
        return false;
    }
    e->bytes = others + cost;
    r->cost = cost;
    return true;
}

// Gives a range its memory: on a device, in a module, or in this process.
static ts_reason ts__ex_place(ts_execution *e, ts__ex_range *r)
{
    const ts_executor *const x = e->desc.executor;
    if (r->image) {
        const ts__ex_module *const m = ts__ex_module_find(e, r->image);
        if (!m) return TS_REASON_NO_MEMORY;
        if (m->reason) return m->reason;
        return ts__ex_reason(e, x->global(e->state, m->module,
                                          ts__ex_device(e, r->device),
                                          r->offset, r->size, &r->actual));
    }
    if (!r->device) {
        r->bytes = ts__mem_get(&e->desc.allocator, (size_t)r->size);
        if (!r->bytes) return TS_REASON_NO_MEMORY;
        memset(r->bytes, 0, (size_t)r->size);
        r->actual = (uintptr_t)r->bytes;
        return TS_REASON_NONE;
    }
    if (!ts__ex_has_device(e, r->device)) return TS_REASON_TOO_MANY;
    r->actual = r->address;
    return ts__ex_reason(e, x->allocate(e->state, ts__ex_device(e, r->device),
                                        &r->actual, r->size));
}

static void ts__ex_drop(ts_execution *e, size_t index)
{
    ts__ex_range *const r = e->ranges[index];
    if (!r->image) e->desc.executor->release(e->state, r->actual);
    e->bytes -= r->cost;
    ts__ex_range_free(e, r);
    e->ranges[index] = e->ranges[--e->range_count];
}

// Frees the host memory of the finished operation, or of the finished part.
static void ts__ex_drop_hosts(ts_execution *e)
{
    while (e->host_count) {
        ts__ex_range *const r = e->hosts[--e->host_count];
        e->bytes -= r->cost;
        ts__ex_range_free(e, r);
    }
    e->host_at = 0;
}

// Frees the ranges that the current operation does not use; they can be
// restored from the record. Not in a chain. Returns false if there are none.
static bool ts__ex_drop_others(ts_execution *e)
{
    const size_t before = e->range_count;
    for (size_t i = e->desc.chain ? 0 : before; i--;) {
        uint32_t k = 0;
        while (k < e->held && e->regions[k] != e->ranges[i])
            k++;
        if (k == e->held) ts__ex_drop(e, i);
    }
    return e->range_count < before;
}

// Makes a range and gives it memory, if need be that of other operations.
static ts_reason ts__ex_make(ts_execution *e, const ts_capture_region *region,
                             ts__ex_range **found)
{
    *found = ts__ex_range_new(e, region);
    if (!*found) return TS_REASON_NO_MEMORY;
    ts__ex_range *const r = *found;
    ts_reason reason = TS_REASON_NO_MEMORY;
    if (ts__ex_reserve(e, r, region) ||
        (ts__ex_drop_others(e) && ts__ex_reserve(e, r, region)))
        reason = ts__ex_place(e, r);
    if (reason == TS_REASON_NO_MEMORY && ts__ex_drop_others(e) &&
        ts__ex_reserve(e, r, region))
        reason = ts__ex_place(e, r);
    if (reason == TS_REASON_NO_MEMORY) e->missing_bytes = region->size;
    if (reason) {
        e->bytes -= r->cost;
        ts__ex_range_free(e, r);
    }
    return reason;
}

// Finds or makes the host memory of the current operation, which no other uses.
static ts_reason ts__ex_find_host(ts_execution *e,
                                  const ts_capture_region *region,
                                  ts__ex_range **found)
{
    while (e->host_at < e->host_count && e->hosts[e->host_at]->op < e->op)
        e->host_at++;
    for (size_t i = e->host_at; i < e->host_count; i++) {
        ts__ex_range *const r = e->hosts[i];
        *found = r;
        if (r->op == e->op && r->address == region->address &&
            r->size == region->size)
            return TS_REASON_NONE;
    }
    ts__ex_range **const more =
        ts__mem_more(&e->desc.allocator, e->hosts, &e->host_capacity,
                     e->host_count, sizeof *more);
    if (!more) return TS_REASON_NO_MEMORY;
    e->hosts = more;
    const ts_reason reason = ts__ex_make(e, region, found);
    if (reason) return reason;
    (*found)->op = e->op;
    e->hosts[e->host_count++] = *found;
    return TS_REASON_NONE;
}

// The region would replace memory that is used by the same part.
#define TS__EX_OVERLAPS ((ts_reason)TS_REASON_LIMIT)

// Finds or makes the range of a region. Ranges that overlap it are dropped: the
// program freed them.
static ts_reason ts__ex_find(ts_execution *e, const ts_capture_region *region,
                             ts__ex_range **found)
{
    if (!region->device) return ts__ex_find_host(e, region, found);
    for (size_t i = 0; i < e->range_count;) {
        ts__ex_range *const r = e->ranges[i];
        const bool same =
            r->address == region->address && r->size == region->size &&
            r->device == region->device && r->image == region->image;
        *found = r;
        if (same && ts__ex_reserve(e, r, region)) return TS_REASON_NONE;
        // Without a chain, it is restored from the record like other dropped
        // ranges.
        if (same && e->desc.chain) return TS_REASON_NO_MEMORY;
        const bool overlaps = r->address - region->address < region->size ||
                              region->address - r->address < r->size;
        if (overlaps && e->batch && r->batch == e->batch)
            return TS__EX_OVERLAPS;
        if (overlaps)
            ts__ex_drop(e, i);
        else
            i++;
    }
    ts__ex_range **const more =
        ts__mem_more(&e->desc.allocator, e->ranges, &e->range_capacity,
                     e->range_count, sizeof *more);
    if (!more) return TS_REASON_NO_MEMORY;
    e->ranges = more;
    const ts_reason reason = ts__ex_make(e, region, found);
    if (!reason) e->ranges[e->range_count++] = *found;
    return reason;
}

/* ---- 11.92 Execution: contents ------------------------------------------ */
// src/replay/execute/contents.h

/*
    Whether a chunk has to be taken from the record: unless it already contains
    the right bytes. In a chain, only if the record shows that something else
    wrote it after the last replayed operation, and not if the current operation
    is earlier in the record than that one, since the recorded contents are then
    older than the current ones.
*/
static bool ts__ex_needs_recorded(const ts_execution *e, const ts__ex_range *r,
                                  uint64_t chunk, const uint8_t *hash)
{
    const uint8_t known = r->known[chunk];
    if (e->desc.chain && known & TS__EX_RECORDED)
        return !e->desc.no_patches && !e->late &&
               memcmp(&r->recorded[2 * chunk], hash, 16);
    return !(known & TS__EX_ACTUAL) || memcmp(&r->current[2 * chunk], hash, 16);
}

// Whether an operation reads the contents of a region. What a copy overwrites
// entirely is no input, and may be missing in the trace.
static bool ts__ex_is_input(const ts_capture_region *r)
{
    if (r->found != TS_CAPTURE_BY_COPY || r->device) return true;
    return r->access & TS_ACCESS_READ;
}

static bool ts__ex_have_all(ts_execution *e)
{
    for (uint32_t i = 0; i < e->now.head.region_count; i++) {
        const ts_capture_region *const region = &e->now.regions[i];
        const ts__ex_range *const r = e->regions[i];
        if (!ts__ex_is_input(region)) continue;
        const uint8_t *const list =
            ts__ex_list(e, region->before, region->size);
        if (!list && region->size) return false;
        for (uint64_t k = 0; k < ts__ex_chunks(r->size); k++)
            if (ts__ex_needs_recorded(e, r, k, list + 16 * k) &&
                !ts__ex_bytes(e, list + 16 * k, ts__ex_chunk_size(r->size, k),
                              false))
                return false;
    }
    return true;
}

// The end of a run of chunks that are all blank, or all not known to be.
typedef struct ts__ex_blank {
    uint64_t end;
    bool is;
} ts__ex_blank;

// Whether the executor knows that a chunk was never written and is zero.
static bool ts__ex_is_blank(const ts_execution *e, const ts__ex_range *r,
                            uint64_t chunk, ts__ex_blank *b)
{
    const ts_executor *const x = e->desc.executor;
    const uint64_t at = chunk * TS_CAPTURE_CHUNK;
    if (!x->blank || !r->device || r->image ||
        ts__ex_chunk_size(r->size, chunk) < TS_CAPTURE_CHUNK)
        return false;
    if (chunk >= b->end)
        b->end = chunk + ts__ex_chunks(x->blank(e->state, r->actual + at,
                                                r->size - at, &b->is));
    return b->is && chunk < b->end;
}

// Writes a chunk into its place, unless it is blank there and zero.
static ts_result ts__ex_put(ts_execution *e, const ts__ex_range *r,
                            uint64_t chunk, const uint8_t *bytes, uint64_t size,
                            ts__ex_blank *blank)
{
    const uint64_t offset = chunk * TS_CAPTURE_CHUNK;
    if (bytes == ts__ex_zeros && ts__ex_is_blank(e, r, chunk, blank))
        return TS_OK;
    if (r->device)
        return e->desc.executor->write(e->state, r->actual + offset, bytes,
                                       size);
    memcpy((void *)(uintptr_t)(r->actual + offset), bytes, (size_t)size);
    return TS_OK;
}

// Counts a chunk that a chain takes from the record.
static void ts__ex_note_patch(ts_execution_item *item, const ts__ex_range *r,
                              uint64_t chunk)
{
    const bool differs =
        r->known[chunk] & TS__EX_ACTUAL &&
        memcmp(&r->current[2 * chunk], &r->recorded[2 * chunk], 16);
    if (!item->patched++)
        item->patched_address = r->address + chunk * TS_CAPTURE_CHUNK;
    item->patched_different += differs;
}

// Puts the recorded inputs in place. Call only after ts__ex_have_all returned
// true.
static ts_result ts__ex_fill(ts_execution *e, ts_execution_item *item)
{
    for (uint32_t i = 0; i < e->now.head.region_count; i++) {
        const ts_capture_region *const region = &e->now.regions[i];
        ts__ex_range *const r = e->regions[i];
        if (!ts__ex_is_input(region)) continue;
        const uint8_t *const list =
            ts__ex_list(e, region->before, region->size);
        ts__ex_blank blank = { 0, false };
        for (uint64_t k = 0; list && k < ts__ex_chunks(r->size); k++) {
            const uint64_t size = ts__ex_chunk_size(r->size, k);
            if (!ts__ex_needs_recorded(e, r, k, list + 16 * k)) continue;
            const uint8_t *const bytes =
                ts__ex_bytes(e, list + 16 * k, size, false);
            if (!bytes) return TS_ERR_NOT_FOUND;
            const ts_result result = ts__ex_put(e, r, k, bytes, size, &blank);
            if (result != TS_OK) return result;
            if (r->known[k] & TS__EX_RECORDED && e->desc.chain)
                ts__ex_note_patch(item, r, k);
            memcpy(&r->current[2 * k], list + 16 * k, 16);
            memcpy(&r->recorded[2 * k], list + 16 * k, 16);
            ts__ex_set_known(r, k, TS__EX_ACTUAL | TS__EX_RECORDED);
        }
    }
    return TS_OK;
}

/* ---- 11.93 Execution: addresses ----------------------------------------- */
// src/replay/execute/addresses.h

// Whether a range is at another address than in the record. Memory of the host
// does not count: only copies refer to it, so it may be anywhere.
static bool ts__ex_has_moved(const ts__ex_range *r)
{
    return r->device && r->actual != r->address;
}

// Returns the moved range into which a value points, or at whose end it points.
// NULL if it points to none, or into a range that did not move.
static const ts__ex_range *ts__ex_moved(const ts_execution *e, uint64_t value)
{
    const ts__ex_range *before = NULL;
    for (uint32_t i = 0; i < e->now.head.region_count; i++) {
        const ts__ex_range *const r = e->regions[i];
        const bool moved = ts__ex_has_moved(r);
        if (value - r->address < r->size) return moved ? r : NULL;
        if (moved && value - r->address == r->size) before = r;
    }
    return before;
}

static bool ts__ex_is_pointer(const ts_capture *c, uint32_t offset)
{
    for (uint32_t i = 0; i < c->head.param_count; i++)
        if (c->params[i].offset == offset &&
            (c->params[i].type == TS_PARAM_POINTER ||
             c->params[i].type == TS_PARAM_OBJECT))
            return true;
    return false;
}

// Returns a moved range to which any eight bytes of recorded contents point;
// NULL: none.
static const ts__ex_range *ts__ex_scan(const ts_execution *e,
                                       const uint8_t *bytes, uint64_t size)
{
    for (uint64_t i = 0; i + 8 <= size; i++) {
        uint64_t value;
        memcpy(&value, bytes + i, sizeof value);
        const ts__ex_range *const r = ts__ex_moved(e, value);
        if (r) return r;
    }
    return NULL;
}

static const ts__ex_range *ts__ex_scan_memory(ts_execution *e)
{
    for (uint32_t i = 0; i < e->now.head.region_count; i++) {
        const ts_capture_region *const region = &e->now.regions[i];
        const uint8_t *const list =
            ts__ex_list(e, region->before, region->size);
        size_t kept = 0; // bytes of the previous chunk that a pointer may span
        for (uint64_t k = 0; list && k < ts__ex_chunks(region->size); k++) {
            const size_t size = (size_t)ts__ex_chunk_size(region->size, k);
            const uint8_t *const bytes =
                ts__ex_bytes(e, list + 16 * k, size, false);
            // Unknown contents may hold a pointer.
            if (!bytes) return e->regions[i];
            // Zeros after zeros contain no pointer.
            if (bytes == ts__ex_zeros && kept &&
                !memcmp(e->scratch, ts__ex_zeros, kept))
                continue;
            memcpy(e->scratch + kept, bytes, size);
            const ts__ex_range *const r =
                ts__ex_scan(e, e->scratch, kept + size);
            if (r) return r;
            const size_t all = kept + size;
            kept = all < 7 ? all : 7;
            memmove(e->scratch, e->scratch + all - kept, kept);
        }
    }
    return NULL;
}

static bool ts__ex_has_args(const ts_capture_operation *h)
{
    return h->kind == TS_EVENT_KERNEL || h->kind == TS_EVENT_GRAPH_LAUNCH;
}

/*
    Adapts arguments to memory that moved. They are rewritten only where the
    kernel declares a pointer, and only if nothing else in the arguments or in
    memory looks like a pointer to the moved range.
*/
static ts_reason ts__ex_rewrite(ts_execution *e, ts_execution_item *item)
{
    const ts_capture *const c = &e->now;
    bool moved = false, memory_moved = false;
    item->level = 1;
    for (uint32_t i = 0; i < c->head.region_count; i++) {
        const ts__ex_range *const r = e->regions[i];
        if (!ts__ex_has_moved(r)) continue;
        moved = true;
        memory_moved |= !r->image;
        // A copy node of a graph gives its address explicitly.
        if (c->regions[i].found == TS_CAPTURE_BY_COPY) item->level = 2;
    }
    if (!moved) return TS_REASON_NONE;
    if (memory_moved && e->desc.strict) return TS_REASON_VA_UNAVAILABLE;
    const ts__ex_range *r = ts__ex_scan_memory(e);
    for (uint32_t i = 0; !r && i + 8 <= c->head.args_size; i++) {
        uint64_t value;
        memcpy(&value, c->args + i, sizeof value);
        const ts__ex_range *const to = ts__ex_moved(e, value);
        if (!to) continue;
        // The end of this range may also be the beginning of an unknown one.
        const bool inside = value - to->address < to->size;
        if (!inside || !ts__ex_is_pointer(c, i)) r = to;
        value += to->actual - to->address;
        memcpy(e->args + i, &value, sizeof value);
        item->level = 2;
        i += 7;
    }
    if (!r) return TS_REASON_NONE;
    return r->image ? TS_REASON_GLOBAL_MOVED : TS_REASON_VA_UNAVAILABLE;
}

// Checks the memory of a copy or memset, which give their addresses explicitly.
static ts_reason ts__ex_ends(const ts_execution *e, ts_execution_item *item)
{
    item->level = 1;
    for (uint32_t i = 0; i < e->now.head.region_count; i++) {
        const ts__ex_range *const r = e->regions[i];
        if (!ts__ex_has_moved(r)) continue;
        item->level = 2;
        if (e->desc.strict && !r->image) return TS_REASON_VA_UNAVAILABLE;
    }
    return TS_REASON_NONE;
}

// The source or destination of a copy or memset: its bytes, as offsets from its
// address.
typedef struct ts__ex_end {
    uint64_t address, first, size;
    uint64_t actual; // the current address
    bool host, image;
} ts__ex_end;

// Determines how many bytes an end has. The size of an image is known to the
// executor only: 1 stands for it. Returns false if the geometry is invalid.
static bool ts__ex_measure(const ts_capture_node *n, bool is_source,
                           ts__ex_end *end)
{
    const ts_attributes *const all = &n->attributes;
    ts_attribute one;
    ts_capture_geometry g;
    end->first = 0;
    end->size = n->head.size;
    end->image = false;
    if (ts_attribute_find(all, TS_ATTRIBUTE_GEOMETRY, sizeof g, &one)) {
        memcpy(&g, one.bytes, sizeof g);
        const bool fits =
            is_source ? ts_capture_span(g.source_origin, g.region, g.source_row,
                                        g.source_slice, &end->first, &end->size)
                      : ts_capture_span(g.destination_origin, g.region,
                                        g.destination_row, g.destination_slice,
                                        &end->first, &end->size);
        if (!fits) return false;
    }
    ts_capture_copy_image image;
    for (uint64_t at = 0; ts_attribute_next(all, &at, &one);) {
        if (one.id != TS_ATTRIBUTE_COPY_IMAGE || one.size < sizeof image)
            continue;
        memcpy(&image, one.bytes, sizeof image);
        if (image.which == is_source) continue;
        end->first = 0;
        end->size = 1;
        end->image = true;
    }
    return true;
}

// Determines the current address of an end. Returns false if it is not in the
// regions of the operation. Images cannot be in memory of the host, since their
// size there is unknown.
static bool ts__ex_translate(const ts_execution *e, const ts_capture_node *n,
                             bool is_source, ts__ex_end *end)
{
    end->address = is_source ? n->head.source : n->head.destination;
    if (!ts__ex_measure(n, is_source, end)) return false;
    for (uint32_t i = 0; i < e->now.head.region_count; i++) {
        const ts__ex_range *const r = e->regions[i];
        const uint64_t offset = end->address + end->first - r->address;
        if (offset >= r->size || end->size > r->size - offset) continue;
        end->actual = r->actual + offset - end->first;
        end->host = !r->device;
        return !end->host || !end->image;
    }
    return false;
}

/* ---- 11.94 Execution: comparison ---------------------------------------- */
// src/replay/execute/compare.h

// The layout of elements of a type. Floats have exponent and mantissa bits.
typedef struct ts__element {
    const char *name;
    uint8_t size;
    bool is_unsigned;
    uint8_t exponent, mantissa;
    bool is_finite; // has no infinity: only a value of all ones is NaN
} ts__element;

static const ts__element *ts__element_of(uint64_t element)
{
    static const ts__element all[TS_ELEMENT_LIMIT] = {
        { .size = 0 },
        { .name = "i8", .size = 1 },
        { .name = "u8", .size = 1, .is_unsigned = true },
        { .name = "i32", .size = 4 },
        { .name = "u32", .size = 4, .is_unsigned = true },
        { .name = "i64", .size = 8 },
        { .name = "u64", .size = 8, .is_unsigned = true },
        { .name = "f16", .size = 2, .exponent = 5, .mantissa = 10 },
        { .name = "f32", .size = 4, .exponent = 8, .mantissa = 23 },
        { .name = "f64", .size = 8, .exponent = 11, .mantissa = 52 },
        { .name = "bf16", .size = 2, .exponent = 8, .mantissa = 7 },
        // Source: OCP 8-bit Floating Point Specification 1.0, section 5
        { .name = "f8e4m3",
          .size = 1,
          .exponent = 4,
          .mantissa = 3,
          .is_finite = true },
        { .name = "f8e5m2", .size = 1, .exponent = 5, .mantissa = 2 },
    };
    return &all[element < TS_ELEMENT_LIMIT ? element : 0];
}

TS_API const char *ts_element_name(uint64_t element)
{
    return ts__element_of(element)->name;
}

TS_API uint32_t ts_element_size(uint64_t element)
{
    return ts__element_of(element)->size;
}

// Returns the bytes of an element as an unsigned number.
static uint64_t ts__element_bits(const ts__element *t, const void *at)
{
    uint64_t bits = 0; // little-endian, as everything in the format
    memcpy(&bits, at, t->size);
    return bits;
}

static double ts__element_power(int exponent)
{
    const uint64_t bits = (uint64_t)(1023 + exponent) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

// Converts a float that is narrower than a double, which represents it exactly.
static double ts__element_real(const ts__element *t, uint64_t bits)
{
    const uint64_t ones = (UINT64_C(1) << t->exponent) - 1;
    const uint64_t mantissa = bits & ((UINT64_C(1) << t->mantissa) - 1);
    const uint64_t exponent = bits >> t->mantissa & ones;
    const int bias = (int)(ones >> 1) + t->mantissa;
    const bool minus = bits >> (t->exponent + t->mantissa) & 1;
    const uint64_t top = UINT64_C(1) << t->mantissa;
    double value = exponent ? (double)(top | mantissa) : (double)mantissa;
    value *= ts__element_power((exponent ? (int)exponent : 1) - bias);
    if (exponent == ones && (!t->is_finite || mantissa == top - 1)) {
        // The reader does without <math.h>.
        const uint64_t special =
            UINT64_C(0x7FF) << 52 | (uint64_t)(t->is_finite || mantissa != 0)
                                        << 51;
        memcpy(&value, &special, sizeof value);
    }
    return minus ? -value : value;
}

TS_API double ts_element_value(uint64_t element, const void *bytes)
{
    const ts__element *const t = ts__element_of(element);
    const uint64_t bits = ts__element_bits(t, bytes);
    if (t->size == 8 && t->exponent) {
        double value;
        memcpy(&value, bytes, sizeof value);
        return value;
    }
    if (t->exponent) return ts__element_real(t, bits);
    if (t->is_unsigned || !t->size) return (double)bits;
    const uint32_t above = 64 - 8u * t->size;
    return (double)((int64_t)(bits << above) >> above);
}

// Returns the position of a value among those of its type, where neighbours
// differ by 1. Both zeros of a float have the same position.
static uint64_t ts__element_place(const ts__element *t, const uint8_t *at)
{
    const uint64_t bits = ts__element_bits(t, at);
    const uint64_t sign = UINT64_C(1) << (8 * t->size - 1);
    const uint64_t middle = UINT64_C(1) << 63;
    if (t->is_unsigned) return bits;
    if (t->exponent)
        return bits & sign ? middle - (bits & ~sign) : middle + bits;
    return bits & sign ? middle - (sign - (bits & ~sign)) : middle + bits;
}

static uint64_t ts__element_steps(const ts__element *t, const uint8_t *a,
                                  const uint8_t *b)
{
    const uint64_t x = ts__element_place(t, a), y = ts__element_place(t, b);
    return x > y ? x - y : y - x;
}

// Returns how far two values differ: exact for integers as far as a double is;
// NaN if one of them is NaN.
static double ts__element_distance(uint32_t element, const uint8_t *a,
                                   const uint8_t *b)
{
    const ts__element *const t = ts__element_of(element);
    if (!t->exponent) return (double)ts__element_steps(t, a, b);
    const double x = ts_element_value(element, a);
    const double y = ts_element_value(element, b);
    return x > y ? x - y : x < y ? y - x : x + y == x + y ? 0 : x + y;
}

static bool ts__ex_is_finite(double value)
{
    return value - value == 0; // NaN otherwise
}

// Whether two values with different bytes are equal within the tolerance.
static bool ts__ex_near(const ts_execution_desc *d, const uint8_t *expected,
                        const uint8_t *found)
{
    const ts__element *const t = ts__element_of(d->element);
    const double a = ts_element_value(d->element, expected);
    const double b = ts_element_value(d->element, found);
    if (a != a || b != b) return a != a && b != b;
    // Infinities with different bytes have different signs.
    if (!ts__ex_is_finite(a) || !ts__ex_is_finite(b)) return false;
    const double distance = ts__element_distance(d->element, expected, found);
    if (d->compare == TS_COMPARE_RTOL)
        return distance <= d->absolute + d->tolerance * (a < 0 ? -a : a);
    return (double)ts__element_steps(t, expected, found) <= d->tolerance ||
           distance <= d->absolute;
}

// Compares two different contents of a chunk. Returns true if all differences
// are within the tolerance.
static bool ts__ex_chunk_differs(const ts_execution *e, ts_execution_item *item,
                                 const uint8_t *expected, const uint8_t *found,
                                 size_t size, size_t *first)
{
    const size_t width = ts_element_size(e->desc.element);
    bool passes = true, any = false;
    item->elements = 0;
    item->largest = 0;
    for (size_t i = 0; i < size; i += width) {
        const size_t bytes = size - i < width ? size - i : width;
        if (!memcmp(expected + i, found + i, bytes)) continue;
        if (bytes == width && e->desc.compare != TS_COMPARE_EXACT &&
            ts__ex_near(&e->desc, expected + i, found + i))
            continue;
        passes = false;
        item->elements++;
        if (!any) *first = i;
        any = true;
        if (bytes < width) continue;
        const double distance =
            ts__element_distance(e->desc.element, expected + i, found + i);
        if (distance > item->largest) item->largest = distance;
    }
    return passes;
}

static void ts__ex_note(ts_execution_item *item, const ts__ex_range *r,
                        uint32_t region, uint64_t offset,
                        const uint8_t *expected, const uint8_t *found,
                        size_t left)
{
    const size_t size = left < 8 ? left : 8;
    item->region = region;
    item->address = r->address;
    item->size = r->size;
    item->offset = offset;
    item->bytes_known = expected != NULL;
    if (expected) memcpy(item->expected, expected, size);
    memcpy(item->found, found, size);
}

// Compares one chunk that the operation wrote with the recorded hash. found:
// its bytes, unless it is the same.
static void ts__ex_compare(ts_execution *e, ts_execution_item *item,
                           const ts__ex_range *r, uint32_t region,
                           uint64_t chunk, const uint8_t *hash,
                           const uint8_t *found, size_t size)
{
    item->chunks++;
    if (!memcmp(&r->current[2 * chunk], hash, 16)) return;
    const uint8_t *const expected = ts__ex_bytes(e, hash, size, false);
    size_t first = 0;
    ts_execution_item tried = *item;
    if (expected &&
        ts__ex_chunk_differs(e, &tried, expected, found, size, &first)) {
        item->chunks_tolerated++;
        return;
    }
    item->chunks_different++;
    if (item->diverged) return;
    item->diverged = true;
    item->elements = tried.elements;
    item->largest = tried.largest;
    ts__ex_note(item, r, region, chunk * TS_CAPTURE_CHUNK + first,
                expected ? expected + first : NULL, found + first,
                size - first);
}

static const uint8_t *ts__ex_get(ts_execution *e, const ts__ex_range *r,
                                 uint64_t offset, uint64_t size)
{
    if (!r->device) return (const uint8_t *)(uintptr_t)(r->actual + offset);
    return e->desc.executor->read(e->state, e->scratch, r->actual + offset,
                                  size) == TS_OK
               ? e->scratch
               : NULL;
}

// Has the device hash a chunk and as many of those after it as fit.
static void ts__ex_request_hashes(ts_execution *e, const ts__ex_range *r,
                                  uint64_t first)
{
    const ts_executor *const x = e->desc.executor;
    uint64_t size = 0, end = first, one;
    while (end < ts__ex_chunks(r->size) && end - first < TS__EX_DEVICE_HASHES &&
           (one = ts__ex_chunk_size(r->size, end)) > 240) {
        size += one;
        end++;
    }
    e->device_hash_first = first;
    e->device_hash_end = end;
    e->device_hash_known =
        size && x->hash(e->state, r->actual + first * TS_CAPTURE_CHUNK, size,
                        e->device_hashes) == TS_OK;
}

// Returns the hash that the device computed of a chunk; NULL: none. Chunks of a
// range have to be requested in order from its first one. A device whose hash
// was once wrong is not asked again.
static const uint64_t *ts__ex_device_hash(ts_execution *e,
                                          const ts__ex_range *r, uint64_t chunk)
{
    if (!e->desc.executor->hash || !r->device || e->device_hash_wrong)
        return NULL;
    if (chunk >= e->device_hash_end) ts__ex_request_hashes(e, r, chunk);
    if (!e->device_hash_known || chunk >= e->device_hash_end) return NULL;
    return &e->device_hashes[2 * (chunk - e->device_hash_first)];
}

/*
    Hashes the current contents of a chunk and adds the hash to the digest.
    recorded: the recorded hash, NULL: none. *found receives the bytes; NULL if
    the device reports the recorded hash, or there is none to compare with.
*/
static ts_result ts__ex_hash_chunk(ts_execution *e, ts_execution_item *item,
                                   ts__ex_range *r, uint64_t k,
                                   ts__ex_blank *blank, const uint8_t *recorded,
                                   const uint8_t **found)
{
    const size_t size = (size_t)ts__ex_chunk_size(r->size, k);
    const bool zeros = ts__ex_is_blank(e, r, k, blank);
    const uint64_t *const device_hash =
        zeros ? NULL : ts__ex_device_hash(e, r, k);
    uint64_t hash[2] = { e->zeros[0], e->zeros[1] };
    const bool same =
        device_hash &&
        (!recorded || !memcmp(device_hash, recorded, sizeof hash));
    *found = zeros ? ts__ex_zeros : NULL;
    if (same) memcpy(hash, device_hash, sizeof hash);
    if (!zeros && !same) {
        *found = ts__ex_get(e, r, k * TS_CAPTURE_CHUNK, size);
        if (!*found) return TS_ERR_IO;
        const XXH128_hash_t sum = XXH3_128bits(*found, size);
        hash[0] = sum.low64;
        hash[1] = sum.high64;
        e->device_hash_wrong |=
            device_hash && memcmp(device_hash, hash, sizeof hash);
    }
    item->digest = XXH3_64bits_withSeed(hash, sizeof hash, item->digest);
    memcpy(&r->current[2 * k], hash, sizeof hash);
    r->known[k] |= TS__EX_ACTUAL;
    if (!zeros) r->known[k] |= TS__EX_WRITTEN;
    return TS_OK;
}

// Compares what the operation left with the record.
static ts_result ts__ex_check(ts_execution *e, ts_execution_item *item)
{
    // The same in a single and a merged trace.
    item->digest = e->now.head.order & UINT64_MAX >> 16;
    for (uint32_t i = 0; i < e->now.head.region_count; i++) {
        const ts_capture_region *const region = &e->now.regions[i];
        ts__ex_range *const r = e->regions[i];
        const uint8_t *const after =
            ts__ex_list(e, region->after, region->size);
        if (!region->device && !(region->access & TS_ACCESS_WRITE)) continue;
        ts__ex_blank blank = { 0, false };
        e->device_hash_end = 0; // those were of another range
        item->compared |= after != NULL;
        for (uint64_t k = 0; k < ts__ex_chunks(r->size); k++) {
            const size_t size = (size_t)ts__ex_chunk_size(r->size, k);
            const uint8_t *const hash_after = after ? after + 16 * k : NULL,
                                 *found;
            const ts_result result =
                ts__ex_hash_chunk(e, item, r, k, &blank, hash_after, &found);
            if (result != TS_OK) return result;
            if (!hash_after) continue;
            memcpy(&r->recorded[2 * k], hash_after, 16);
            r->known[k] |= TS__EX_RECORDED;
            ts__ex_compare(e, item, r, i, k, hash_after, found, size);
        }
    }
    return TS_OK;
}

/* ---- 11.95 Execution: submitting ---------------------------------------- */
// src/replay/execute/submit.h

// Finds or makes the stream of a track. Returns NULL if out of memory, or if
// the device cannot make one.
static ts__ex_stream *ts__ex_stream_find(ts_execution *e, uint32_t track)
{
    for (size_t i = 0; i < e->stream_count; i++)
        if (e->streams[i].track == track) return &e->streams[i];
    ts__ex_stream *const more =
        ts__mem_more(&e->desc.allocator, e->streams, &e->stream_capacity,
                     e->stream_count, sizeof *more);
    if (!more) return NULL;
    e->streams = more;
    ts_track t;
    ts__ex_stream made = { .track = track };
    uint64_t flags = 0;
    if (ts_reader_track(e->reader, track, &t)) flags = t.flags;
    made.device = ts__ex_device(e, ts__ex_device_track(e, track));
    // In a graph all edges are explicit, so streams have no legacy semantics.
    if (e->as_graph)
        flags = (flags & ~(uint64_t)TS_STREAM_LEGACY_DEFAULT) |
                TS_STREAM_NON_BLOCKING;
    if (e->desc.executor->stream(e->state, made.device, flags, &made.stream) !=
        TS_OK)
        return NULL;
    more[e->stream_count] = made;
    return &more[e->stream_count++];
}

static ts_result ts__ex_launch(ts_execution *e, uint64_t stream,
                               const ts_capture_node *n)
{
    const ts_capture_operation *const h = &n->head;
    const ts__ex_module *const m = ts__ex_module_find(e, h->image);
    if (!m || m->reason) return TS_ERR_NOT_FOUND;
    const ts_executor_launch launch = {
        .module = m->module,
        .function = h->function,
        .name = ts_reader_name(e->reader, h->name).text,
        .grid = h->grid,
        .block = h->block,
        .shared = h->shared,
        .args_size = h->args_size,
        .param_count = n->index ? 0 : h->param_count,
        .args = e->args + n->args_at,
        .params = n->index ? NULL : e->now.params,
        .attributes = n->attributes,
    };
    return e->desc.executor->launch(e->state, stream, &launch);
}

// Submits an operation or a node of a graph.
static ts_result ts__ex_submit_node(ts_execution *e, uint64_t stream,
                                    const ts_capture_node *n)
{
    const ts_capture_operation *const h = &n->head;
    const ts_executor *const x = e->desc.executor;
    if (!h->kind) return TS_OK; // an empty node, which only orders others
    if (h->kind == TS_EVENT_KERNEL) return ts__ex_launch(e, stream, n);
    // A map operation, for example, may move nothing.
    if (!h->size && !e->now.head.region_count) return TS_OK;
    ts__ex_end to, from;
    if (!ts__ex_translate(e, n, false, &to)) return TS_ERR_CORRUPT;
    if (h->kind == TS_EVENT_MEMSET) {
        const ts_executor_set set = { to.actual, h->size, h->value,
                                      n->attributes };
        return x->set(e->state, stream, &set);
    }
    if (!ts__ex_translate(e, n, true, &from)) return TS_ERR_CORRUPT;
    const ts_executor_copy copy = {
        .destination = to.actual,
        .source = from.actual,
        .size = h->size,
        .to_host = to.host,
        .from_host = from.host,
        .attributes = n->attributes,
    };
    return x->copy(e->state, stream, &copy);
}

/*
    Branches of a graph run concurrently, each on a stream. A node goes to the
    lane of a predecessor that no other node follows yet; otherwise to a lane
    without nodes of this launch; otherwise to the lane whose last node is the
    oldest. It waits by events for its predecessors on other lanes.
*/

typedef struct ts__ex_step { // a node of a graph
    uint32_t lane;
    uint32_t waiting; // number of lanes that still have to wait for its event
    uint64_t event;
} ts__ex_step;

typedef struct ts__ex_launched { // a launch of a graph in progress
    ts__ex_step *steps;
    uint32_t count;
    uint64_t owner; // the launch's own stream, which is lane `own`
    size_t own;
    uint64_t begin; // event before the first node
    bool has_begun; // `begin` is valid
} ts__ex_launched;

// Adds a lane to a launch, on the launch's own stream or on a new one. Returns
// NULL if out of memory, or if the device cannot make a stream.
static ts__ex_lane *ts__ex_lane_add(ts_execution *e, uint64_t owner,
                                    uint32_t device, bool own)
{
    ts__ex_lane *const more =
        ts__mem_more(&e->desc.allocator, e->lanes, &e->lane_capacity,
                     e->lane_count, sizeof *more);
    if (!more) return NULL;
    e->lanes = more;
    ts__ex_lane lane = { .owner = owner, .stream = owner, .device = device };
    if (!own &&
        e->desc.executor->stream(e->state, device, TS_STREAM_NON_BLOCKING,
                                 &lane.stream) != TS_OK)
        return NULL;
    more[e->lane_count] = lane;
    return &more[e->lane_count++];
}

// Returns the lane for a node that cannot continue the lane of a predecessor.
static size_t ts__ex_lane_free(ts_execution *e, const ts__ex_launched *l,
                               uint32_t device)
{
    size_t used = 0, oldest = SIZE_MAX;
    for (size_t i = 0; i < e->lane_count; i++) {
        const ts__ex_lane *const lane = &e->lanes[i];
        if (lane->owner != l->owner) continue;
        used += lane->tail != 0;
        if (lane->device != device) continue;
        if (oldest == SIZE_MAX || lane->tail < e->lanes[oldest].tail)
            oldest = i;
    }
    // Prefer an existing lane that has no node of this launch yet.
    const bool room = used < TS__EX_LANES || oldest == SIZE_MAX;
    if (oldest != SIZE_MAX && (!e->lanes[oldest].tail || !room)) return oldest;
    const ts__ex_lane *const made = ts__ex_lane_add(e, l->owner, device, false);
    return made ? (size_t)(made - e->lanes) : oldest;
}

// Returns the lane for a node; SIZE_MAX: none.
static size_t ts__ex_lane_of(ts_execution *e, const ts__ex_launched *l,
                             const ts_capture_node *n, uint32_t device)
{
    size_t found = SIZE_MAX;
    uint32_t latest = 0;
    for (uint32_t i = 0; i < n->after_count; i++) {
        const uint32_t before = n->after[i];
        const uint32_t lane = l->steps[before].lane;
        if (e->lanes[lane].tail != before + 1 || before + 1 <= latest ||
            e->lanes[lane].device != device)
            continue;
        latest = before + 1;
        found = lane;
    }
    return found != SIZE_MAX ? found : ts__ex_lane_free(e, l, device);
}

// Sets `needed` of each other lane to the last node there that this node waits
// for, counted from 1; 0: none.
static void ts__ex_find_predecessors(ts_execution *e, const ts__ex_launched *l,
                                     const ts_capture_node *n)
{
    for (size_t i = 0; i < e->lane_count; i++)
        e->lanes[i].needed = 0;
    for (uint32_t i = 0; i < n->after_count; i++) {
        const uint32_t before = n->after[i];
        ts__ex_lane *const lane = &e->lanes[l->steps[before].lane];
        if (l->steps[before].lane != l->steps[n->index - 1].lane &&
            before + 1 > lane->needed)
            lane->needed = before + 1;
    }
}

// Returns the device of a node; a node has a track if its device differs from
// the launch's.
static uint32_t ts__ex_node_device(const ts_execution *e,
                                   const ts_capture_node *n, uint32_t own)
{
    for (uint32_t i = 0; n->head.track && i < e->device_count; i++)
        if (e->devices[i] == n->head.track) return i;
    return own;
}

// Assigns a lane to each node, and counts how many wait for each.
static bool ts__ex_branch(ts_execution *e, ts__ex_launched *l, uint32_t device)
{
    ts_capture_node n = { .index = 0 };
    for (size_t i = 0; i < e->lane_count; i++)
        e->lanes[i].tail = 0;
    while (ts_capture_node_next(&e->now, &n)) {
        const size_t lane =
            ts__ex_lane_of(e, l, &n, ts__ex_node_device(e, &n, device));
        if (lane == SIZE_MAX) return false;
        l->steps[n.index - 1].lane = (uint32_t)lane;
        e->lanes[lane].tail = n.index;
        ts__ex_find_predecessors(e, l, &n);
        for (size_t i = 0; i < e->lane_count; i++)
            if (e->lanes[i].needed) l->steps[e->lanes[i].needed - 1].waiting++;
    }
    return true;
}

// Records an event after the current work of a lane. Spare events of the same
// device are reused.
static ts_result ts__ex_record_event(ts_execution *e, const ts__ex_lane *lane,
                                     uint64_t *event)
{
    const ts_executor *const x = e->desc.executor;
    for (size_t i = 0; i < e->event_count; i++) {
        if (e->events[i].device != lane->device) continue;
        *event = e->events[i].event;
        e->events[i] = e->events[--e->event_count];
        return x->event_again(e->state, lane->stream, *event);
    }
    *event = 0;
    return x->event(e->state, lane->stream, event);
}

// Makes an event spare after everything that waits for it has been submitted.
static void ts__ex_spare_event(ts_execution *e, uint32_t device, uint64_t event)
{
    ts__ex_spare *const more =
        ts__mem_more(&e->desc.allocator, e->events, &e->event_capacity,
                     e->event_count, sizeof *more);
    if (!more) return; // the event is not reused
    e->events = more;
    more[e->event_count++] = (ts__ex_spare){ event, device };
}

// Makes a lane wait for the predecessors of a node on other lanes.
static ts_result ts__ex_wait_nodes(ts_execution *e, ts__ex_launched *l,
                                   const ts_capture_node *n)
{
    const ts_executor *const x = e->desc.executor;
    const size_t own = l->steps[n->index - 1].lane;
    const ts__ex_lane *const lane = &e->lanes[own];
    ts_result result = TS_OK;
    ts__ex_find_predecessors(e, l, n);
    if (!n->after_count && own != l->own && !lane->tail)
        result = x->event_wait(e->state, lane->stream, l->begin);
    for (size_t i = 0; i < e->lane_count && result == TS_OK; i++) {
        if (!e->lanes[i].needed) continue;
        ts__ex_step *const step = &l->steps[e->lanes[i].needed - 1];
        result = x->event_wait(e->state, lane->stream, step->event);
        if (--step->waiting == 0)
            ts__ex_spare_event(e, e->lanes[i].device, step->event);
        if (own == l->own) e->lanes[i].joined = e->lanes[i].needed;
    }
    return result;
}

static ts_result ts__ex_submit_branches(ts_execution *e, ts__ex_launched *l)
{
    ts_capture_node n = { .index = 0 };
    ts_result result = TS_OK;
    for (size_t i = 0; i < e->lane_count; i++) {
        l->has_begun |= e->lanes[i].tail && i != l->own;
        e->lanes[i].tail = e->lanes[i].joined = 0;
    }
    // Recorded before all nodes: other lanes begin after this event.
    if (l->has_begun)
        result = ts__ex_record_event(e, &e->lanes[l->own], &l->begin);
    while (result == TS_OK && ts_capture_node_next(&e->now, &n)) {
        ts__ex_step *const step = &l->steps[n.index - 1];
        ts__ex_lane *const lane = &e->lanes[step->lane];
        result = ts__ex_wait_nodes(e, l, &n);
        if (result == TS_OK) result = ts__ex_submit_node(e, lane->stream, &n);
        lane->tail = n.index;
        if (result == TS_OK && step->waiting)
            result = ts__ex_record_event(e, lane, &step->event);
    }
    return result;
}

// Makes the launch's own stream wait for all of its lanes.
static ts_result ts__ex_join_branches(ts_execution *e, const ts__ex_launched *l)
{
    ts_result result = TS_OK;
    uint64_t event;
    for (size_t i = 0; i < e->lane_count && result == TS_OK; i++) {
        const ts__ex_lane *const lane = &e->lanes[i];
        if (i == l->own || !lane->tail || lane->joined == lane->tail) continue;
        result = ts__ex_record_event(e, lane, &event);
        if (result == TS_OK)
            result = e->desc.executor->event_wait(e->state, l->owner, event);
        if (result == TS_OK) ts__ex_spare_event(e, lane->device, event);
    }
    if (result == TS_OK && l->has_begun)
        ts__ex_spare_event(e, e->lanes[l->own].device, l->begin);
    return result;
}

// Submits the nodes of a graph launch with its branches on several streams.
static ts_result ts__ex_submit_graph(ts_execution *e, uint64_t stream,
                                     uint32_t device)
{
    const ts_allocator *const a = &e->desc.allocator;
    ts_capture_node n = { .index = 0 };
    ts__ex_launched l = { .owner = stream, .own = 0 };
    while (ts_capture_node_next(&e->now, &n))
        l.count = n.index;
    while (l.own < e->lane_count && e->lanes[l.own].stream != stream)
        l.own++;
    if (l.own == e->lane_count && !ts__ex_lane_add(e, stream, device, true))
        return TS_ERR_MEMORY;
    const size_t size = ((size_t)l.count + 1) * sizeof *l.steps;
    l.steps = ts__mem_get(a, size);
    if (!l.steps) return TS_ERR_MEMORY;
    memset(l.steps, 0, size);
    ts_result result = ts__ex_branch(e, &l, device) ? TS_OK : TS_ERR_MEMORY;
    if (result == TS_OK) result = ts__ex_submit_branches(e, &l);
    if (result == TS_OK) result = ts__ex_join_branches(e, &l);
    ts__mem_put(a, l.steps, size);
    return result;
}

static ts_result ts__ex_submit(ts_execution *e)
{
    const ts_capture *const c = &e->now;
    const ts__ex_stream *const own = ts__ex_stream_find(e, c->head.track);
    if (!own) return TS_ERR_IO;
    const uint64_t stream = own->stream;
    ts_capture_node node = { .index = 0 };
    ts_result result = TS_OK;
    if (c->head.kind != TS_EVENT_GRAPH_LAUNCH) {
        node.head = c->head;
        node.attributes = c->attributes;
        return ts__ex_submit_node(e, stream, &node);
    }
    if (e->desc.executor->event_again)
        return ts__ex_submit_graph(e, stream, own->device);
    // One after another: the list is in an order that all edges allow.
    while (result == TS_OK && ts_capture_node_next(c, &node))
        result = ts__ex_submit_node(e, stream, &node);
    return result;
}

/* ---- 11.96 Execution: operations ---------------------------------------- */
// src/replay/execute/operations.h

static uint64_t ts__ex_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

TS_API ts_result ts_executor_poll(ts_result (*poll)(void *state), void *state,
                                  uint32_t timeout_ms)
{
    const uint64_t until = ts__ex_now() + UINT64_C(1000000) * timeout_ms;
    struct timespec pause = { 0, 5000 };
    for (;;) {
        const ts_result result = poll(state);
        if (result != TS_ERR_BUSY || ts__ex_now() >= until) return result;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 1000000) pause.tv_nsec *= 2;
    }
}

// Whether a device region overlaps an earlier one, so that one would replace
// the other.
static bool ts__ex_overlaps(const ts_capture *c, uint32_t index)
{
    const ts_capture_region *const r = &c->regions[index];
    for (uint32_t i = 0; r->device && i < index; i++) {
        const ts_capture_region *const other = &c->regions[i];
        if (other->device && (r->address - other->address < other->size ||
                              other->address - r->address < r->size))
            return true;
    }
    return false;
}

// Whether the trace has the list of chunk hashes that a region refers to.
static bool ts__ex_is_listed(ts_execution *e, const ts_capture_region *r)
{
    return r->size &&
           ts__ex_list(e, r->before[0] ? r->before : r->after, r->size);
}

static bool ts__ex_is_device(const ts_execution *e, uint32_t track)
{
    ts_track t;
    return ts_reader_track(e->reader, track, &t) && t.type == TS_TRACK_DEVICE;
}

// Whether a record makes sense; only a crafted file has one that does not.
static bool ts__ex_is_valid(ts_execution *e)
{
    const ts_capture_operation *const h = &e->now.head;
    if (h->kind != TS_EVENT_KERNEL && h->kind != TS_EVENT_MEMCPY &&
        h->kind != TS_EVENT_MEMSET && h->kind != TS_EVENT_GRAPH_LAUNCH)
        return false;
    for (uint32_t i = 0; i < h->region_count; i++) {
        const ts_capture_region *const r = &e->now.regions[i];
        if (!ts__ex_is_listed(e, r)) return false;
        // A region without a device is memory of the host, which only copies
        // use.
        if (!r->device && (h->kind == TS_EVENT_KERNEL || r->image))
            return false;
        if (r->device && !ts__ex_is_device(e, r->device)) return false;
        if (ts__ex_overlaps(&e->now, i)) return false;
    }
    return true;
}

// Whether the executor supports all that the record contains of an operation.
static ts_reason ts__ex_is_known(ts_execution *e)
{
    const ts_executor *const x = e->desc.executor;
    const ts_text vendor = ts_reader_name(e->reader, e->now.head.vendor);
    ts_attribute one;
    if (vendor.size != strlen(x->name) ||
        memcmp(vendor.text, x->name, vendor.size))
        return TS_REASON_OTHER_BACKEND;
    for (uint64_t at = 0; ts_attribute_next(&e->now.attributes, &at, &one);) {
        const uint32_t *known = x->attributes;
        if (one.id == TS_ATTRIBUTE_NODE &&
            e->now.head.kind == TS_EVENT_GRAPH_LAUNCH)
            continue;
        while (known && *known && *known != one.id)
            known++;
        if (!known || !*known) return TS_REASON_ATTR_UNKNOWN;
    }
    for (uint32_t i = 0; i < e->now.head.param_count; i++)
        if (e->now.params[i].type > TS_PARAM_OBJECT)
            return TS_REASON_PARAM_LAYOUT_UNKNOWN;
    return TS_REASON_NONE;
}

// Loads the code of a kernel or of all kernels of a graph, and checks that the
// devices of the graph's nodes are open.
static ts_reason ts__ex_code(ts_execution *e, ts_execution_item *item)
{
    const ts_capture *const c = &e->now;
    const bool graph = c->head.kind == TS_EVENT_GRAPH_LAUNCH;
    ts_capture_node node = { .index = 0 };
    node.head = c->head;
    while (!graph || ts_capture_node_next(c, &node)) {
        if (graph && ts__ex_is_device(e, node.head.track) &&
            !ts__ex_has_device(e, node.head.track))
            return TS_REASON_TOO_MANY;
        if (node.head.kind == TS_EVENT_KERNEL) {
            const ts__ex_module *const m =
                ts__ex_module_find(e, node.head.image);
            if (!m) return TS_REASON_NO_MEMORY;
            if (m->reason) memcpy(item->why, m->why, sizeof item->why);
            if (m->reason) return m->reason;
        }
        if (!graph) break;
    }
    return TS_REASON_NONE;
}

static void ts__ex_explain_shortage(const ts_execution *e,
                                    ts_execution_item *item)
{
    const double mib = 1024 * 1024;
    const size_t at = (size_t)snprintf(
        item->why, sizeof item->why,
        "a buffer of %.1f MiB beside %.1f MiB in use does not fit",
        (double)e->missing_bytes / mib, (double)e->bytes / mib);
    if (e->desc.memory_bytes)
        snprintf(item->why + at, sizeof item->why - at, " into %.1f MiB",
                 (double)e->desc.memory_bytes / mib);
}

// Whether the hash tables of the regions fit into the memory limit. Otherwise a
// few bytes of a file could claim more than the machine has.
static bool ts__ex_has_room(ts_execution *e)
{
    const uint64_t most = e->desc.memory_bytes;
    for (uint32_t i = 0; most && i < e->now.head.region_count; i++) {
        const uint64_t size = e->now.regions[i].size;
        const uint64_t tables = ts__ex_chunks(size) * (TS__EX_TABLES + 32);
        if (tables <= most) continue;
        e->missing_bytes = size;
        return false;
    }
    return true;
}

// Prepares everything that an operation needs to run.
static ts_reason ts__ex_prepare(ts_execution *e, ts_execution_item *item)
{
    const ts_capture_operation *const h = &e->now.head;
    const ts_allocator *const a = &e->desc.allocator;
    e->missing_bytes = 0;
    if (!ts__ex_has_room(e)) {
        ts__ex_explain_shortage(e, item);
        return TS_REASON_NO_MEMORY;
    }
    if (!ts__ex_is_valid(e))
        return h->state == TS_CAPTURE_HASHES ? TS_REASON_SNAPSHOT_BUDGET
                                             : TS_REASON_BAD_CAPTURE;
    const ts_reason unknown = ts__ex_is_known(e);
    if (unknown) return unknown;
    while (h->region_count > e->region_capacity || !e->regions) {
        ts__ex_range **const more =
            ts__mem_more(a, e->regions, &e->region_capacity, e->region_capacity,
                         sizeof *more);
        if (!more) return TS_REASON_NO_MEMORY;
        e->regions = more;
    }
    while (h->args_size > e->args_capacity || !e->args) {
        uint8_t *const more =
            ts__mem_more(a, e->args, &e->args_capacity, e->args_capacity, 1);
        if (!more) return TS_REASON_NO_MEMORY;
        e->args = more;
    }
    if (h->args_size) memcpy(e->args, e->now.args, h->args_size);
    const ts_reason code = ts__ex_code(e, item);
    if (code) return code;
    for (uint32_t i = 0; i < h->region_count; i++) {
        e->held = i;
        const ts_reason reason =
            ts__ex_find(e, &e->now.regions[i], &e->regions[i]);
        if (reason && e->missing_bytes) ts__ex_explain_shortage(e, item);
        if (reason) return reason;
    }
    if (!ts__ex_have_all(e))
        return h->state == TS_CAPTURE_HASHES ? TS_REASON_SNAPSHOT_BUDGET
                                             : TS_REASON_MEMORY_MISSING;
    return ts__ex_has_args(h) ? ts__ex_rewrite(e, item) : ts__ex_ends(e, item);
}

// Forgets the hashes of an operation's regions after a failed run, or before a
// repeated one.
static void ts__ex_forget_hashes(ts_execution *e)
{
    for (uint32_t i = 0; i < e->now.head.region_count; i++) {
        const ts__ex_range *const r = e->regions[i];
        for (uint64_t k = 0; k < ts__ex_chunks(r->size); k++)
            ts__ex_set_known(r, k, 0);
    }
}

// Runs the operation once, from the recorded inputs or from what a chain left.
static ts_reason ts__ex_once(ts_execution *e, ts_execution_item *item)
{
    ts_result result = ts__ex_fill(e, item);
    if (result != TS_OK) return TS_REASON_DEVICE_FAILED;
    __atomic_store_n(&item->running, 1, __ATOMIC_RELEASE);
    const ts_reason refused = ts__ex_reason(e, ts__ex_submit(e));
    // Work submitted before the refusal runs anyway and uses memory of the
    // host.
    result = e->desc.executor->wait(e->state, e->desc.timeout_ms);
    if (result == TS_ERR_BUSY) e->lost = true;
    if (result != TS_ERR_BUSY)
        __atomic_store_n(&item->running, 0, __ATOMIC_RELEASE);
    if (result == TS_OK && !refused) result = ts__ex_check(e, item);
    const ts_reason reason =
        result == TS_OK ? refused : ts__ex_reason(e, result);
    if (reason && !e->lost) ts__ex_forget_hashes(e);
    return reason;
}

// Repeats the run from the same inputs. If results differ, the operation is not
// deterministic.
static ts_reason ts__ex_repeat(ts_execution *e, ts_execution_item *item)
{
    const uint64_t first = item->digest;
    ts_reason reason = TS_REASON_NONE;
    for (uint32_t i = 1; i < e->desc.loops && !reason; i++) {
        __atomic_store_n(&item->runs, i, __ATOMIC_RELEASE);
        ts_execution_item other = *item;
        other.chunks = other.chunks_different = other.chunks_tolerated = 0;
        ts__ex_forget_hashes(e);
        // Other threads watch the item, not its copy.
        __atomic_store_n(&item->running, 1, __ATOMIC_RELEASE);
        reason = ts__ex_once(e, &other);
        __atomic_store_n(&item->running, other.running, __ATOMIC_RELEASE);
        if (reason || other.digest == first) continue;
        item->unstable = true;
        if (item->diverged || !other.diverged) continue;
        *item = other; // report where it diverged, and by how much
        item->unstable = true;
        item->digest = first;
    }
    return reason;
}

static bool ts__ex_is_done(const ts_capture *c, ts_execution_item *item)
{
    if (c->head.kind == TS_EVENT_HOST_FUNCTION) {
        // The host performs it. Its results are part of the inputs of later
        // operations.
        item->outcome = TS_OUTCOME_SUBSTITUTED;
        item->reason = TS_REASON_HOST_CALLBACK;
    } else if (c->head.state == TS_CAPTURE_DECLINED) {
        item->outcome = TS_OUTCOME_DECLINED;
        item->reason = c->head.reason < TS_REASON_LIMIT && c->head.reason
                           ? c->head.reason
                           : TS_REASON_BAD_CAPTURE;
    }
    return item->outcome != TS_OUTCOME_NONE;
}

// Sets the outcome of an operation.
static void ts__ex_settle(const ts_execution *e, ts_execution_item *item,
                          ts_reason reason)
{
    // In a chain, the inputs of later operations contain the recorded results.
    const bool known = e->desc.chain && e->now.head.state == TS_CAPTURE_WHOLE;
    item->reason = reason;
    if (reason) item->level = 0;
    // release: a thread that reads the outcome also sees the rest of the item
    __atomic_store_n(&item->outcome,
                     !reason ? TS_OUTCOME_EXECUTED
                     : known && reason != TS_REASON_TIMEOUT
                         ? TS_OUTCOME_SUBSTITUTED
                         : TS_OUTCOME_DECLINED,
                     __ATOMIC_RELEASE);
}

// Advances the position of a chain in the record.
static void ts__ex_advance(ts_execution *e)
{
    const uint64_t order = e->now.head.order;
    e->late = e->desc.chain && order <= e->order;
    if (order > e->order) e->order = order;
}

TS_API void ts_execution_run(ts_execution *e, size_t index,
                             ts_execution_item *item)
{
    memset(item, 0, sizeof *item);
    ts_reason reason = TS_REASON_BAD_CAPTURE;
    if (index < e->count &&
        ts_reader_capture(e->reader, e->captures[index], &e->now)) {
        if (ts__ex_is_done(&e->now, item)) return;
        e->op = index;
        ts__ex_advance(e);
        reason = e->lost ? TS_REASON_DEVICE_FAILED : ts__ex_prepare(e, item);
        if (!reason) reason = ts__ex_once(e, item);
        if (!reason && e->desc.loops > 1) reason = ts__ex_repeat(e, item);
        if (!e->lost) ts__ex_drop_hosts(e);
    }
    ts__ex_settle(e, item, reason);
}

static int ts__ex_order_range(const void *left, const void *right)
{
    const ts_executor_range *const a = left, *const b = right;
    if (a->device != b->device) return a->device < b->device ? -1 : 1;
    if (a->address != b->address) return a->address < b->address ? -1 : 1;
    return (a->size > b->size) - (a->size < b->size);
}

static bool ts__ex_add_device(ts_execution *e, uint32_t track)
{
    uint32_t at = 0;
    while (at < e->device_count && e->devices[at] < track)
        at++;
    if (at < e->device_count && e->devices[at] == track) return true;
    if (e->device_count == 64) return false;
    memmove(&e->devices[at + 1], &e->devices[at],
            (e->device_count++ - at) * sizeof *e->devices);
    e->devices[at] = track;
    return true;
}

// Adds the devices of graph nodes. Returns false if there are too many.
static bool ts__ex_add_nodes(ts_execution *e, const ts_capture *c)
{
    ts_capture_node n = { .index = 0 };
    while (c->head.kind == TS_EVENT_GRAPH_LAUNCH && ts_capture_node_next(c, &n))
        if (ts__ex_is_device(e, n.head.track) &&
            !ts__ex_add_device(e, n.head.track))
            return false;
    return true;
}

static bool ts__ex_same_range(const ts_executor_range *a,
                              const ts_executor_range *b)
{
    return a->address == b->address && a->size == b->size &&
           a->device == b->device;
}

// Lists the memory ranges of all captures, without adjacent duplicates, and
// adds their devices.
static ts_result ts__ex_all_ranges(ts_execution *e, ts_executor_range **ranges,
                                   size_t *count, size_t *capacity)
{
    const ts_capture *const c = &e->now;
    for (size_t i = 0; i < e->count; i++) {
        if (!ts_reader_capture(e->reader, e->captures[i], &e->now)) continue;
        if (c->head.state == TS_CAPTURE_DECLINED || !ts__ex_has_room(e))
            continue;
        if (!ts__ex_add_nodes(e, c)) continue;
        for (uint32_t j = 0; j < c->head.region_count; j++) {
            const ts_capture_region *const r = &c->regions[j];
            if (!ts__ex_is_device(e, r->device) || !ts__ex_is_listed(e, r))
                continue;
            // Reported as TS_REASON_TOO_MANY later.
            if (!ts__ex_add_device(e, r->device)) continue;
            if (r->image) continue;
            ts_executor_range *const more = ts__mem_more(
                &e->desc.allocator, *ranges, capacity, *count, sizeof *more);
            if (!more) return TS_ERR_MEMORY;
            *ranges = more;
            const ts_executor_range one = { r->address, r->size, r->device,
                                            NULL };
            if (!*count || !ts__ex_same_range(&more[*count - 1], &one))
                more[(*count)++] = one;
        }
    }
    for (size_t i = 0; i < *count; i++) {
        ts_executor_range *const r = &(*ranges)[i];
        ts_track device;
        if (ts_reader_track(e->reader, r->device, &device))
            r->name = device.name.text;
        r->device = ts__ex_device(e, r->device);
    }
    if (*count) ts__sort(*ranges, *count, sizeof **ranges, ts__ex_order_range);
    return TS_OK;
}

static ts_result ts__ex_open(ts_execution *e, char *why, size_t room)
{
    ts_executor_range *ranges = NULL;
    size_t count = 0, capacity = 0;
    ts_result result = ts__ex_all_ranges(e, &ranges, &count, &capacity);
    e->scratch = ts__mem_get(&e->desc.allocator, TS_CAPTURE_CHUNK + 8);
    if (!e->scratch) result = TS_ERR_MEMORY;
    if (result == TS_OK)
        result = e->desc.executor->open(&e->state,
                                        e->device_count ? e->device_count : 1,
                                        ranges, count, why, room);
    ts__mem_put(&e->desc.allocator, ranges, capacity * sizeof *ranges);
    return result;
}

TS_API ts_result ts_execution_open(ts_execution **execution, ts_reader *reader,
                                   const size_t *captures, size_t count,
                                   const ts_execution_desc *desc, char *why,
                                   size_t room)
{
    if (!execution) return TS_ERR_USAGE;
    *execution = NULL;
    if (room) *why = 0;
    if (!reader || !desc || !desc->executor || (count && !captures) ||
        desc->element >= TS_ELEMENT_LIMIT)
        return TS_ERR_USAGE;
    ts_execution_desc d = *desc;
    if (!d.allocator.resize) d.allocator.resize = ts__mem_default;
    if (!d.timeout_ms) d.timeout_ms = 10000;
    if (!d.element) d.element = TS_ELEMENT_F32;
    ts_execution *const e = ts__mem_get(&d.allocator, sizeof *e);
    if (!e) return TS_ERR_MEMORY;
    memset(e, 0, sizeof *e);
    e->reader = reader;
    e->captures = captures;
    e->count = count;
    e->desc = d;
    const XXH128_hash_t zeros = XXH3_128bits(ts__ex_zeros, sizeof ts__ex_zeros);
    e->zeros[0] = zeros.low64;
    e->zeros[1] = zeros.high64;
    const ts_result result = ts__ex_open(e, why, room);
    if (result == TS_OK)
        *execution = e;
    else
        ts_execution_close(e);
    return result;
}

TS_API void ts_execution_close(ts_execution *e)
{
    if (!e) return;
    const ts_allocator a = e->desc.allocator;
    // Work that still runs uses all of it. Check once more whether it has
    // ended.
    if (e->lost && e->desc.executor->wait(e->state, 0) == TS_OK)
        e->lost = false;
    if (!e->lost) {
        ts__ex_drop_hosts(e);
        while (e->range_count)
            ts__ex_drop(e, e->range_count - 1);
    }
    if (e->state && !e->lost) e->desc.executor->close(e->state);
    ts__mem_put(&a, e->ranges, e->range_capacity * sizeof *e->ranges);
    ts__mem_put(&a, e->hosts, e->host_capacity * sizeof *e->hosts);
    ts__mem_put(&a, e->modules, e->module_capacity * sizeof *e->modules);
    ts__mem_put(&a, e->streams, e->stream_capacity * sizeof *e->streams);
    ts__mem_put(&a, e->lanes, e->lane_capacity * sizeof *e->lanes);
    ts__mem_put(&a, e->events, e->event_capacity * sizeof *e->events);
    ts__mem_put(&a, e->regions, e->region_capacity * sizeof *e->regions);
    ts__mem_put(&a, e->args, e->args_capacity);
    ts__mem_put(&a, e->scratch, e->scratch ? TS_CAPTURE_CHUNK + 8 : 0);
    ts__mem_put(&e->reader->allocator, e->contents.bytes, e->contents.size);
    for (int i = 0; i < 2; i++)
        ts__mem_put(&e->reader->allocator, e->lists[i].scratch.bytes,
                    e->lists[i].scratch.size);
    ts__mem_put(&a, e, sizeof *e);
}

/* ---- 11.97 Execution: plan of concurrent operations --------------------- */
// src/replay/execute/concurrent_plan.h

// Recorded contents of a chunk that no replayed operation produces, put in
// place before an operation. The contents that they replace are fetched first
// and compared as if they were final.
typedef struct ts__ex_patch {
    // Operation that needs it; the last one to write there before.
    size_t op, last;
    uint32_t last_region;
    bool expected; // the record has a hash of the replaced contents:
    uint64_t hash[2];
    ts__ex_range *range;
    uint64_t chunk, size;
    const uint8_t *bytes;
    uint8_t *found;
} ts__ex_patch;

typedef struct ts__ex_plan {
    ts_execution_item *items;
    const ts_execution_edge *edges;
    size_t edge_count, edge_at;
    ts__ex_patch *patches;
    size_t patch_count, patch_capacity, patch_at;
    uint8_t *marks;    // of each operation: TS__EX_... flags
    uint64_t *events;  // of operations with TS__EX_HAS_EVENT
    uint64_t barrier;  // event that everything submitted later waits for ...
    uint32_t barriers; // ... number of barriers so far; 0: none
    uint64_t origin;   // the stream on which a graph is built
    bool no_graphs;    // this device does not support graphs
    ts_execution_whole *whole;
} ts__ex_plan;

enum {
    TS__EX_WANTS_EVENT = 1, // others wait for it
    TS__EX_HAS_EVENT = 2,
    TS__EX_RUNS = 4
};

/* Planning: which operations run in a part, and from which contents. */

static bool ts__ex_plan_patch(ts_execution *e, ts__ex_plan *p, ts__ex_range *r,
                              uint64_t chunk, const uint8_t *bytes)
{
    const ts_allocator *const a = &e->desc.allocator;
    ts__ex_patch *const more = ts__mem_more(a, p->patches, &p->patch_capacity,
                                            p->patch_count, sizeof *more);
    if (!more) return false;
    p->patches = more;
    ts__ex_patch *const patch = &more[p->patch_count];
    const ts__ex_patch one = {
        .op = e->op,
        .last = r->last,
        .last_region = r->last_region,
        .expected = r->known[chunk] & TS__EX_RECORDED,
        .hash = { r->recorded[2 * chunk], r->recorded[2 * chunk + 1] },
        .range = r,
        .chunk = chunk,
        .size = ts__ex_chunk_size(r->size, chunk),
        .bytes = bytes,
    };
    *patch = one;
    if (one.expected) patch->found = ts__mem_get(a, (size_t)one.size);
    p->patch_count += !one.expected || patch->found;
    return !one.expected || patch->found;
}

static void ts__ex_patches_free(ts_execution *e, ts__ex_plan *p)
{
    for (size_t i = 0; i < p->patch_count; i++) {
        const ts__ex_patch *const patch = &p->patches[i];
        if (patch->found)
            ts__mem_put(&e->desc.allocator, patch->found, (size_t)patch->size);
    }
    p->patch_count = p->patch_at = 0;
}

// Prepares what a region must contain before the operation. The contents are
// put in place now, unless an earlier operation of this part uses the region.
static ts_reason ts__ex_plan_before(ts_execution *e, ts__ex_plan *p,
                                    const ts_capture_region *region,
                                    ts__ex_range *r, ts_execution_item *item)
{
    if (!ts__ex_is_input(region)) return TS_REASON_NONE;
    const uint8_t *const list = ts__ex_list(e, region->before, region->size);
    ts__ex_blank blank = { 0, false };
    for (uint64_t k = 0; list && k < ts__ex_chunks(r->size); k++) {
        const uint64_t size = ts__ex_chunk_size(r->size, k);
        const bool known = (r->known[k] & ~TS__EX_WRITTEN) != 0;
        if (!ts__ex_needs_recorded(e, r, k, list + 16 * k)) continue;
        // Patches are applied later, so their bytes must stay valid.
        const bool later = r->batch == e->batch;
        const uint8_t *const bytes =
            ts__ex_bytes(e, list + 16 * k, size, later);
        if (!bytes) return TS_REASON_MEMORY_MISSING;
        p->whole->patched += known || later;
        if (known || later) ts__ex_note_patch(item, r, k);
        if (later) {
            if (!ts__ex_plan_patch(e, p, r, k, bytes))
                return TS_REASON_NO_MEMORY;
        } else if (ts__ex_put(e, r, k, bytes, size, &blank) != TS_OK) {
            return TS_REASON_DEVICE_FAILED;
        }
        memcpy(&r->recorded[2 * k], list + 16 * k, 16);
        ts__ex_set_known(r, k, TS__EX_RECORDED);
    }
    return TS_REASON_NONE;
}

// Notes what a region contains after the operation, as far as the record shows
// it.
static void ts__ex_plan_after(ts_execution *e, const ts_capture_region *region,
                              uint32_t index, ts__ex_range *r)
{
    const bool changed = memcmp(region->before, region->after, 16);
    const bool writes = region->access & TS_ACCESS_WRITE;
    const uint8_t *const list = ts__ex_list(e, region->after, region->size);
    if (r->batch != e->batch || (writes && changed)) {
        r->last = e->op;
        r->last_region = index;
    }
    // Host memory that a copy only reads is no result.
    r->batch = region->device || writes ? e->batch : 0;
    if (!writes) return;
    for (uint64_t k = 0; k < ts__ex_chunks(r->size); k++) {
        if (list) memcpy(&r->recorded[2 * k], list + 16 * k, 16);
        ts__ex_set_known(r, k, list ? TS__EX_RECORDED : 0);
    }
}

// Plans one operation. Returns TS__EX_OVERLAPS if it belongs into the next
// part.
static ts_reason ts__ex_plan_one(ts_execution *e, ts__ex_plan *p,
                                 ts_execution_item *item)
{
    ts_reason reason = ts__ex_prepare(e, item);
    if (reason != TS__EX_OVERLAPS) ts__ex_advance(e);
    item->digest = e->now.head.order;
    for (uint32_t i = 0; !reason && i < e->now.head.region_count; i++)
        reason =
            ts__ex_plan_before(e, p, &e->now.regions[i], e->regions[i], item);
    for (uint32_t i = 0; !reason && i < e->now.head.region_count; i++)
        ts__ex_plan_after(e, &e->now.regions[i], i, e->regions[i]);
    return reason;
}

// Plans a part from one operation on. Returns the first operation of the next
// part.
static size_t ts__ex_plan_part(ts_execution *e, ts__ex_plan *p, size_t from)
{
    e->batch++;
    ts__ex_patches_free(e, p);
    for (e->op = from; e->op < e->count; e->op++) {
        ts_execution_item *const item = &p->items[e->op];
        memset(item, 0, sizeof *item);
        if (!ts_reader_capture(e->reader, e->captures[e->op], &e->now)) {
            ts__ex_settle(e, item, TS_REASON_BAD_CAPTURE);
            continue;
        }
        if (ts__ex_is_done(&e->now, item)) continue;
        const ts_reason reason = ts__ex_plan_one(e, p, item);
        if (reason == TS__EX_OVERLAPS) break;
        if (reason)
            ts__ex_settle(e, item, reason);
        else
            p->marks[e->op] |= TS__EX_RUNS;
    }
    return e->op;
}

/* Submitting. */

static ts_result ts__ex_event(ts_execution *e, ts__ex_plan *p, uint64_t stream,
                              uint64_t *event)
{
    p->whole->events++;
    return e->desc.executor->event(e->state, stream, event);
}

// Makes a stream wait for all others of this part.
static ts_result ts__ex_join_streams(ts_execution *e, ts__ex_plan *p,
                                     uint64_t stream)
{
    ts_result result = TS_OK;
    for (size_t i = 0; i < e->stream_count && result == TS_OK; i++) {
        const ts__ex_stream *const other = &e->streams[i];
        uint64_t event;
        if (other->batch != e->batch || other->stream == stream) continue;
        result = ts__ex_event(e, p, other->stream, &event);
        if (result == TS_OK)
            result = e->desc.executor->event_wait(e->state, stream, event);
    }
    return result;
}

// Makes everything submitted from now on wait for the current work of a stream.
static ts_result ts__ex_barrier(ts_execution *e, ts__ex_plan *p,
                                uint64_t stream)
{
    p->barriers++;
    return ts__ex_event(e, p, stream, &p->barrier);
}

// Applies the patches up to the current operation. This includes those of
// operations that cannot run after all, since later plans rely on them.
static ts_result ts__ex_patches(ts_execution *e, ts__ex_plan *p,
                                ts__ex_stream *own)
{
    const ts_executor *const x = e->desc.executor;
    if (p->patch_at == p->patch_count || p->patches[p->patch_at].op > e->op)
        return TS_OK;
    ts_result result = ts__ex_join_streams(e, p, own->stream);
    for (; result == TS_OK && p->patch_at < p->patch_count &&
           p->patches[p->patch_at].op <= e->op;
         p->patch_at++) {
        const ts__ex_patch *const patch = &p->patches[p->patch_at];
        const uint64_t place =
            patch->range->actual + patch->chunk * TS_CAPTURE_CHUNK;
        const ts_executor_copy fetch = { .destination = (uintptr_t)patch->found,
                                         .source = place,
                                         .size = patch->size,
                                         .to_host = true };
        const ts_executor_copy put = { .destination = place,
                                       .source = (uintptr_t)patch->bytes,
                                       .size = patch->size,
                                       .from_host = true };
        if (patch->found) result = x->copy(e->state, own->stream, &fetch);
        if (result == TS_OK) result = x->copy(e->state, own->stream, &put);
    }
    if (result == TS_OK) result = ts__ex_barrier(e, p, own->stream);
    own->barrier = p->barriers;
    return result;
}

// Makes the stream wait for the operations that have an edge to the current
// one.
static ts_result ts__ex_edges(ts_execution *e, ts__ex_plan *p, uint64_t stream)
{
    ts_result result = TS_OK;
    while (p->edge_at < p->edge_count && p->edges[p->edge_at].after < e->op)
        p->edge_at++;
    for (; result == TS_OK && p->edge_at < p->edge_count &&
           p->edges[p->edge_at].after == e->op;
         p->edge_at++) {
        const size_t before = p->edges[p->edge_at].before;
        if (p->marks[before] & TS__EX_HAS_EVENT)
            result = e->desc.executor->event_wait(e->state, stream,
                                                  p->events[before]);
    }
    return result;
}

static ts_result ts__ex_submit_one(ts_execution *e, ts__ex_plan *p)
{
    ts__ex_stream *const own = ts__ex_stream_find(e, e->now.head.track);
    ts_result result = own ? TS_OK : TS_ERR_IO;
    if (own && own->batch != e->batch) {
        own->batch = e->batch;
        own->barrier = 0;
        p->whole->streams++;
    }
    if (own && own->barrier != p->barriers)
        result =
            e->desc.executor->event_wait(e->state, own->stream, p->barrier);
    if (own) own->barrier = p->barriers;
    if (result == TS_OK) result = ts__ex_patches(e, p, own);
    if (result == TS_OK) result = ts__ex_edges(e, p, own->stream);
    if (result == TS_OK) result = ts__ex_submit(e);
    if (result != TS_OK || !(p->marks[e->op] & TS__EX_WANTS_EVENT))
        return result;
    p->marks[e->op] |= TS__EX_HAS_EVENT;
    return ts__ex_event(e, p, own->stream, &p->events[e->op]);
}

// Looks up the operation's memory again, all of which exists.
static bool ts__ex_resume(ts_execution *e, ts_execution_item *item)
{
    if (!ts_reader_capture(e->reader, e->captures[e->op], &e->now))
        return false;
    const ts_capture_operation *const h = &e->now.head;
    if (h->args_size) memcpy(e->args, e->now.args, h->args_size);
    for (uint32_t i = 0; i < h->region_count; i++)
        if (ts__ex_find(e, &e->now.regions[i], &e->regions[i])) return false;
    return !ts__ex_has_args(h) || !ts__ex_rewrite(e, item);
}

// Submits the operations of a part. After a failure, all later ones fail, too.
static ts_result ts__ex_submit_part(ts_execution *e, ts__ex_plan *p,
                                    size_t from, size_t to)
{
    ts_result result = TS_OK;
    e->host_at = 0;
    for (e->op = from; e->op < to; e->op++) {
        ts_execution_item *const item = &p->items[e->op];
        if (!(p->marks[e->op] & TS__EX_RUNS)) continue;
        if (result == TS_OK) {
            result = ts__ex_resume(e, item) ? ts__ex_submit_one(e, p)
                                            : TS_ERR_MEMORY;
            if (result == TS_OK)
                __atomic_store_n(&item->running, 1, __ATOMIC_RELEASE);
            else
                ts__ex_settle(e, item, ts__ex_reason(e, result));
        } else {
            ts__ex_settle(e, item, TS_REASON_DEVICE_FAILED);
        }
        if (result != TS_OK) p->marks[e->op] &= (uint8_t)~TS__EX_RUNS;
    }
    if (result == TS_OK && e->stream_count)
        result = ts__ex_patches(e, p, &e->streams[0]);
    return result;
}

/* Afterwards. */

static ts_result ts__ex_end_range(ts_execution *e, ts__ex_plan *p,
                                  ts__ex_range *r)
{
    ts_execution_item *const item = &p->items[r->last];
    const uint64_t different = item->chunks_different;
    bool compared = false;
    ts__ex_blank blank = { 0, false };
    e->device_hash_end = 0; // those were of another range
    for (uint64_t k = 0; k < ts__ex_chunks(r->size); k++) {
        const size_t size = (size_t)ts__ex_chunk_size(r->size, k);
        const bool recorded = r->known[k] & TS__EX_RECORDED;
        const uint8_t *const hash_after =
            recorded ? (const uint8_t *)&r->recorded[2 * k] : NULL;
        const uint8_t *found;
        const ts_result result =
            ts__ex_hash_chunk(e, item, r, k, &blank, hash_after, &found);
        if (result != TS_OK) return result;
        if (!recorded) continue;
        compared = true;
        ts__ex_compare(e, item, r, r->last_region, k, hash_after, found, size);
    }
    item->compared |= compared;
    p->whole->regions += compared;
    p->whole->regions_different += item->chunks_different != different;
    return TS_OK;
}

/* ---- 11.98 Execution: concurrent operations ----------------------------- */
// src/replay/execute/concurrent.h

// Compares the contents that a patch replaced with the record.
static void ts__ex_end_patch(ts_execution *e, ts__ex_plan *p,
                             const ts__ex_patch *patch)
{
    ts_execution_item *const item = &p->items[patch->last];
    const XXH128_hash_t sum = XXH3_128bits(patch->found, (size_t)patch->size);
    const uint64_t current[2] = { sum.low64, sum.high64 };
    if (!(p->marks[patch->last] & TS__EX_RUNS) ||
        !memcmp(current, patch->hash, sizeof current))
        return;
    p->items[patch->op].patched_different++;
    memcpy(&patch->range->current[2 * patch->chunk], current, sizeof current);
    ts__ex_compare(e, item, patch->range, patch->last_region, patch->chunk,
                   (const uint8_t *)patch->hash, patch->found,
                   (size_t)patch->size);
}

static int ts__ex_order_last(const void *left, const void *right)
{
    const ts__ex_range *const a = *(ts__ex_range *const *)left;
    const ts__ex_range *const b = *(ts__ex_range *const *)right;
    if (a->last != b->last) return a->last < b->last ? -1 : 1;
    return (a->last_region > b->last_region) -
           (a->last_region < b->last_region);
}

// Compares what a part left with the record, in the order of operations, on
// which the digest depends.
static ts_result ts__ex_end_part(ts_execution *e, ts__ex_plan *p)
{
    ts_result result = TS_OK;
    for (size_t i = 0; i < p->patch_count; i++)
        if (p->patches[i].found) ts__ex_end_patch(e, p, &p->patches[i]);
    if (e->range_count)
        ts__sort(e->ranges, e->range_count, sizeof *e->ranges,
                 ts__ex_order_last);
    for (size_t i = 0; i < e->range_count && result == TS_OK; i++)
        if (e->ranges[i]->batch == e->batch)
            result = ts__ex_end_range(e, p, e->ranges[i]);
    for (size_t i = 0; i < e->host_count && result == TS_OK; i++)
        if (e->hosts[i]->batch == e->batch)
            result = ts__ex_end_range(e, p, e->hosts[i]);
    return result;
}

static void ts__ex_settle_part(ts_execution *e, ts__ex_plan *p, size_t from,
                               size_t to, ts_result result)
{
    const ts_reason reason = ts__ex_reason(e, result);
    for (size_t i = from; i < to; i++) {
        ts_execution_item *const item = &p->items[i];
        if (!(p->marks[i] & TS__EX_RUNS)) continue;
        if (result != TS_ERR_BUSY)
            __atomic_store_n(&item->running, 0, __ATOMIC_RELEASE);
        item->level = item->level ? item->level : 1;
        ts_reader_capture(e->reader, e->captures[i], &e->now);
        ts__ex_settle(e, item, reason);
    }
}

/* Running all operations. */

// Computes how long `count` runs of all operations may take, and reports it to
// whoever watches the process.
static uint32_t ts__ex_limit(const ts_execution *e, ts_execution_whole *whole,
                             uint32_t count)
{
    const uint64_t once = e->desc.timeout_ms + whole->sequential_ns / 500000;
    const uint32_t ms =
        once < UINT32_MAX / count ? (uint32_t)once * count : UINT32_MAX;
    __atomic_store_n(&whole->limit_ms, ms, __ATOMIC_RELEASE);
    return ms;
}

static ts_result ts__ex_wait(ts_execution *e, uint32_t ms)
{
    const ts_result result = e->desc.executor->wait(e->state, ms);
    if (result == TS_ERR_BUSY) e->lost = true;
    return result;
}

// Declines all operations but the one that made the device fail.
static void ts__ex_decline_others(ts_execution *e, ts_execution_item *items,
                                  size_t except)
{
    for (size_t i = 0; i < e->count; i++) {
        if (i == except) continue;
        memset(&items[i], 0, sizeof items[i]);
        items[i].outcome = TS_OUTCOME_DECLINED;
        items[i].reason = TS_REASON_DEVICE_FAILED;
    }
}

/*
    Runs the operations one after another. Returns false if one of them made the
    device fail, in which case all others are declined. Otherwise the results
    are discarded, and only what the executor has loaded and cached is kept.
*/
static bool ts__ex_run_serially(ts_execution *e, ts_execution_item *items,
                                ts_execution_whole *whole)
{
    const uint32_t loops = e->desc.loops;
    e->desc.loops = 1;
    for (size_t i = 0; i < e->count; i++) {
        const uint64_t begin = ts__ex_now();
        ts_execution_run(e, i, &items[i]);
        whole->sequential_ns += ts__ex_now() - begin;
        __atomic_add_fetch(&whole->completed, 1, __ATOMIC_RELEASE);
        if (items[i].reason != TS_REASON_TIMEOUT &&
            items[i].reason != TS_REASON_ESCAPE)
            continue;
        ts__ex_decline_others(e, items, i);
        return false;
    }
    e->desc.loops = loops;
    while (e->range_count)
        ts__ex_drop(e, e->range_count - 1);
    memset(items, 0, e->count * sizeof *items);
    e->order = 0; // start over
    return true;
}

static ts_result ts__ex_run_part(ts_execution *e, ts__ex_plan *p, size_t from,
                                 size_t to)
{
    const uint64_t begin = ts__ex_now();
    p->barriers = 0;
    const ts_result submitted = ts__ex_submit_part(e, p, from, to);
    const ts_result waited = ts__ex_wait(e, ts__ex_limit(e, p->whole, 1));
    p->whole->ns += ts__ex_now() - begin;
    return waited != TS_OK ? waited : submitted;
}

static ts_result ts__ex_build_graph(ts_execution *e, ts__ex_plan *p, size_t to,
                                    uint64_t *graph)
{
    const ts_executor *const x = e->desc.executor;
    p->barriers = 0;
    ts_result result =
        x->stream(e->state, 0, TS_STREAM_NON_BLOCKING, &p->origin);
    if (result == TS_OK) result = x->graph_begin(e->state, p->origin);
    p->no_graphs = result == TS_ERR_UNSUPPORTED;
    if (result != TS_OK) return result;
    result = ts__ex_barrier(e, p, p->origin);
    if (result == TS_OK) result = ts__ex_submit_part(e, p, 0, to);
    if (result == TS_OK) result = ts__ex_join_streams(e, p, p->origin);
    // A graph that was begun has to be ended even after a failure.
    const ts_result ended = x->graph_end(e->state, p->origin, graph);
    return result != TS_OK ? result : ended;
}

/*
    Launches the graph once more. A device may refuse a graph that still runs.
    Then retry for as long as one launch may take, at short intervals, since the
    time of launches is measured. *left: number of launches that may still run.
*/
static ts_result ts__ex_launch_next(ts_execution *e, const ts__ex_plan *p,
                                    uint64_t graph, uint32_t once,
                                    uint32_t *left)
{
    const ts_executor *const x = e->desc.executor;
    const struct timespec pause = { 0, 20000 };
    const uint64_t until = ts__ex_now() + UINT64_C(1000000) * once;
    ts_result result = x->graph_launch(e->state, p->origin, graph);
    if (result == TS_ERR_BUSY) *left = 0;
    while (result == TS_ERR_BUSY && ts__ex_now() < until) {
        nanosleep(&pause, NULL);
        result = x->graph_launch(e->state, p->origin, graph);
    }
    e->lost = result == TS_ERR_BUSY;
    *left += result == TS_OK;
    return result;
}

static ts_result ts__ex_launch_graph(ts_execution *e, ts__ex_plan *p,
                                     uint64_t graph, uint32_t count)
{
    const uint32_t once = ts__ex_limit(e, p->whole, count) / count;
    uint32_t left = 0;
    ts_result result = TS_OK;
    for (uint32_t i = 0; i < count && result == TS_OK; i++)
        result = ts__ex_launch_next(e, p, graph, once, &left);
    if (e->lost) return result;
    // The launches before a failed one still use memory of the host.
    const ts_result waited = ts__ex_wait(e, once * (left ? left : 1));
    return waited != TS_OK ? waited : result;
}

// Runs the graph once for comparison, and then repeatedly to measure its time.
static ts_result ts__ex_run_graph(ts_execution *e, ts__ex_plan *p, size_t to)
{
    const uint32_t loops = e->desc.loops ? e->desc.loops : 1;
    uint64_t graph;
    ts_result result = ts__ex_build_graph(e, p, to, &graph);
    uint64_t begin = ts__ex_now();
    if (result == TS_OK) result = ts__ex_launch_graph(e, p, graph, 1);
    p->whole->ns = ts__ex_now() - begin;
    if (result == TS_OK) result = ts__ex_end_part(e, p);
    begin = ts__ex_now();
    if (result == TS_OK) result = ts__ex_launch_graph(e, p, graph, loops);
    if (result == TS_OK) p->whole->graph_ns = (ts__ex_now() - begin) / loops;
    return result;
}

// Declines the operations from `from` on, since the device does not respond.
static void ts__ex_give_up(ts_execution *e, ts__ex_plan *p, size_t from)
{
    for (size_t i = from; i < e->count; i++) {
        p->items[i].outcome = TS_OUTCOME_DECLINED;
        p->items[i].reason = TS_REASON_DEVICE_FAILED;
    }
}

// Plans, runs and compares the operations part by part.
static ts_result ts__ex_parts(ts_execution *e, ts__ex_plan *p, char *why,
                              size_t room)
{
    for (size_t from = 0, to; from < e->count; from = to) {
        to = ts__ex_plan_part(e, p, from);
        p->whole->parts++;
        if (e->as_graph && to < e->count) {
            snprintf(why, room,
                     "memory was freed and taken again before operation %zu "
                     "of them, so that they are more than one graph",
                     to);
            return TS_ERR_UNSUPPORTED;
        }
        ts_result result = e->as_graph ? ts__ex_run_graph(e, p, to)
                                       : ts__ex_run_part(e, p, from, to);
        if (p->no_graphs) {
            snprintf(why, room, "this device of %s has no graphs",
                     e->desc.executor->name);
            return TS_ERR_UNSUPPORTED;
        }
        if (result == TS_OK && !e->as_graph) result = ts__ex_end_part(e, p);
        ts__ex_settle_part(e, p, from, to, result);
        if (e->lost) {
            ts__ex_give_up(e, p, to);
            return TS_OK; // the items report it
        }
        ts__ex_drop_hosts(e);
    }
    return TS_OK;
}

TS_API ts_result ts_execution_run_concurrent(ts_execution *e,
                                             const ts_execution_edge *edges,
                                             size_t edge_count, bool graph,
                                             ts_execution_item *items,
                                             ts_execution_whole *whole,
                                             char *why, size_t room)
{
    if (!e || !items || !whole || (edge_count && !edges)) return TS_ERR_USAGE;
    const ts_executor *const x = e->desc.executor;
    memset(whole, 0, sizeof *whole);
    if (!x->event || (graph && !x->graph_begin)) {
        snprintf(why, room, "%s has no %s", x->name,
                 x->event ? "graphs" : "events");
        return TS_ERR_UNSUPPORTED;
    }
    const ts_allocator *const a = &e->desc.allocator;
    ts__ex_plan p = {
        .items = items, .edges = edges, .edge_count = edge_count, .whole = whole
    };
    p.marks = ts__mem_get(a, e->count + 1);
    p.events = ts__mem_get(a, (e->count + 1) * sizeof *p.events);
    ts_result result = p.marks && p.events ? TS_OK : TS_ERR_MEMORY;
    if (result == TS_OK) {
        memset(p.marks, 0, e->count + 1);
        memset(items, 0, e->count * sizeof *items);
        for (size_t i = 0; i < edge_count; i++)
            if (edges[i].before < e->count)
                p.marks[edges[i].before] |= TS__EX_WANTS_EVENT;
        e->desc.chain = true;
        e->as_graph = graph;
        if (ts__ex_run_serially(e, items, whole))
            result = ts__ex_parts(e, &p, why, room);
    }
    ts__mem_put(a, p.marks, e->count + 1);
    ts__mem_put(a, p.events, (e->count + 1) * sizeof *p.events);
    // A lost device may still write to them.
    if (!e->lost) ts__ex_patches_free(e, &p);
    ts__mem_put(a, p.patches, p.patch_capacity * sizeof *p.patches);
    return result;
}

/* ---- 11.99 Execution: dependencies between streams ---------------------- */
// src/replay/execute/streams.h

/*
    Visits the graph with a clock of what is complete before each node. The
    chains of the clocks are the streams of the selected operations. An
    operation has to wait for what its clock has beyond that of its predecessor
    on the stream.
*/
typedef struct ts__stream_order {
    const ts_replay *replay;
    const uint32_t *operations;
    size_t count;
    ts__vclocks clocks;
    ts__vclock **in;   // of each node not yet visited
    ts__vclock **at;   // of each selected operation
    uint32_t *missing; // of each node: predecessors not yet visited
    uint32_t *ready;   // nodes without missing predecessors
    // Of each node: its index in `operations`, else TS_NODE_NONE.
    uint32_t *place;
    uint32_t *chain_of; // of each lane
    uint32_t chains;
    size_t ready_count, done;
} ts__stream_order;

static void *ts__stream_order_fill(const ts__stream_order *a, size_t count,
                                   size_t size, int byte)
{
    void *const made = ts__mem_get(&a->replay->allocator, (count + 1) * size);
    if (made) memset(made, byte, (count + 1) * size);
    return made;
}

static bool ts__stream_order_open(ts__stream_order *a)
{
    const ts_replay *const r = a->replay;
    const size_t nodes = r->node_count;
    a->clocks.allocator = &r->allocator;
    a->in = ts__stream_order_fill(a, nodes, sizeof *a->in, 0);
    a->at = ts__stream_order_fill(a, a->count, sizeof *a->at, 0);
    a->missing = ts__stream_order_fill(a, nodes, sizeof *a->missing, 0);
    a->ready = ts__stream_order_fill(a, nodes, sizeof *a->ready, 0);
    a->place = ts__stream_order_fill(a, nodes, sizeof *a->place, 0xFF);
    a->chain_of =
        ts__stream_order_fill(a, r->lanes.count, sizeof *a->chain_of, 0xFF);
    if (!a->in || !a->at || !a->missing || !a->ready || !a->place ||
        !a->chain_of)
        return false;
    for (uint32_t e = 0; e < ts__replay_offsets(r)[nodes]; e++)
        a->missing[ts__replay_target(r, e)]++;
    for (uint32_t i = 0; i < nodes; i++)
        if (!a->missing[i]) a->ready[a->ready_count++] = i;
    for (size_t i = 0; i < a->count; i++) {
        if (a->operations[i] >= r->op_count) continue;
        a->place[a->operations[i]] = (uint32_t)i;
        uint32_t *const chain =
            &a->chain_of[ts__replay_lanes(r)[a->operations[i]]];
        if (*chain == TS_NODE_NONE) *chain = a->chains++;
    }
    return true;
}

static void ts__stream_order_close(ts__stream_order *a)
{
    const ts_allocator *const m = &a->replay->allocator;
    const size_t nodes = a->replay->node_count + (size_t)1;
    ts__vclocks_close(&a->clocks); // frees all clocks
    ts__mem_put(m, a->in, nodes * sizeof *a->in);
    ts__mem_put(m, a->at, (a->count + 1) * sizeof *a->at);
    ts__mem_put(m, a->missing, nodes * sizeof *a->missing);
    ts__mem_put(m, a->ready, nodes * sizeof *a->ready);
    ts__mem_put(m, a->place, nodes * sizeof *a->place);
    ts__mem_put(m, a->chain_of,
                (a->replay->lanes.count + 1) * sizeof *a->chain_of);
}

// Visits a node and passes its clock on to its successors.
static void ts__stream_order_step(ts__stream_order *a, uint32_t node)
{
    const ts_replay *const r = a->replay;
    ts__vclock *const in = a->in[node], *out = ts__vclock_ref(in);
    const uint32_t place = a->place[node];
    a->in[node] = NULL;
    if (place != TS_NODE_NONE) {
        a->at[place] = ts__vclock_ref(in);
        out = ts__vclock_set(&a->clocks, out,
                             a->chain_of[ts__replay_lanes(r)[node]], place + 1);
    }
    for (uint32_t e = ts__replay_offsets(r)[node];
         e < ts__replay_offsets(r)[node + 1] && !a->clocks.failed; e++) {
        const uint32_t to = ts__replay_target(r, e);
        const uint8_t kind = ts__replay_kind(r, e);
        bool whole;
        if (ts__order_keeps(r, NULL, node, to, kind, &whole))
            a->in[to] =
                ts__vclock_join(&a->clocks, a->in[to], whole ? out : in);
        if (!--a->missing[to]) a->ready[a->ready_count++] = to;
    }
    ts__vclock_unref(&a->clocks, in);
    ts__vclock_unref(&a->clocks, out);
    a->done++;
}

typedef struct ts__stream_order_list {
    ts_execution_edge *edges;
    size_t count, capacity;
} ts__stream_order_list;

static bool ts__stream_order_add(const ts__stream_order *a,
                                 ts__stream_order_list *list, size_t before,
                                 size_t after)
{
    ts_execution_edge *const more =
        ts__mem_more(&a->replay->allocator, list->edges, &list->capacity,
                     list->count, sizeof *more);
    if (!more) return false;
    const ts_execution_edge edge = { before, after };
    list->edges = more;
    more[list->count++] = edge;
    return true;
}

// Adds the edges to one operation. last: its predecessor on the stream.
static bool ts__stream_order_edges(const ts__stream_order *a,
                                   ts__stream_order_list *list, size_t index,
                                   size_t last)
{
    const uint32_t lane = ts__replay_lanes(a->replay)[a->operations[index]];
    const ts__vclock *const before = last < index ? a->at[last] : NULL;
    for (uint32_t c = 0; c < a->chains; c++) {
        const uint32_t epoch = ts__vclock_get(a->at[index], c);
        if (c == a->chain_of[lane] || !epoch || epoch > index ||
            epoch <= ts__vclock_get(before, c))
            continue;
        if (!ts__stream_order_add(a, list, epoch - 1, index)) return false;
    }
    // If nodes wait in a cycle, fall back to the order of the list.
    return a->done == a->replay->node_count || !index ||
           ts__stream_order_add(a, list, index - 1, index);
}

// Lists the edges of all selected operations.
static bool ts__stream_order_collect(const ts__stream_order *a,
                                     ts__stream_order_list *list)
{
    size_t *const last =
        ts__stream_order_fill(a, a->chains, sizeof *last, 0xFF);
    bool ok = last != NULL;
    for (size_t i = 0; ok && i < a->count; i++) {
        if (a->operations[i] >= a->replay->op_count) continue;
        const uint32_t chain =
            a->chain_of[ts__replay_lanes(a->replay)[a->operations[i]]];
        ok = ts__stream_order_edges(a, list, i, last[chain]);
        last[chain] = i;
    }
    ts__mem_put(&a->replay->allocator, last, (a->chains + 1) * sizeof *last);
    return ok;
}

TS_API ts_result ts_execution_edges(const ts_replay *replay,
                                    const uint32_t *operations, size_t count,
                                    ts_execution_edge **edges,
                                    size_t *edge_count)
{
    if (!replay || !edges || !edge_count || (count && !operations))
        return TS_ERR_USAGE;
    ts__stream_order a = { .replay = replay,
                           .operations = operations,
                           .count = count };
    ts__stream_order_list list = { 0 };
    bool ok = count < TS_NODE_NONE && ts__stream_order_open(&a);
    while (ok && a.ready_count && !a.clocks.failed)
        ts__stream_order_step(&a, a.ready[--a.ready_count]);
    ok = ok && !a.clocks.failed && ts__stream_order_collect(&a, &list);
    ts__stream_order_close(&a);
    *edges = NULL;
    *edge_count = 0;
    if (ok && list.count) {
        // ts_execution_edges_free relies on this size.
        *edges = ts__mem_get(&replay->allocator, list.count * sizeof **edges);
        ok = *edges != NULL;
        if (ok) memcpy(*edges, list.edges, list.count * sizeof **edges);
        if (ok) *edge_count = list.count;
    }
    ts__mem_put(&replay->allocator, list.edges,
                list.capacity * sizeof *list.edges);
    return ok ? TS_OK : TS_ERR_MEMORY;
}

TS_API void ts_execution_edges_free(const ts_replay *replay,
                                    ts_execution_edge *edges, size_t count)
{
    if (replay) ts__mem_put(&replay->allocator, edges, count * sizeof *edges);
}

#endif // TRACESMITH_REPLAY_IMPLEMENTATION
