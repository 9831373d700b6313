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
        7. Timeline                     states, idle time and its causes
        8. Races                        unordered accesses, other orders
        9. Execution                    captures, running them again
        10. Implementation              private
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

/*
    TRACESMITH_REPLAY_IMPLEMENTATION  in one C11 file: the functions. They
                              use those of tracesmith.h: give that file, or
                              another one, TRACESMITH_IMPLEMENTATION too,
                              the other one with TRACESMITH_SALVAGE
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
    const char *path TS__UNSET;  // the trace, unless `bytes` is set
    const void *bytes TS__UNSET; // a trace in memory; must outlive the reader
    size_t size TS__UNSET;       // of bytes
    // leave a left-over sidecar alone (false: move its records into the file,
    // which is changed)
    bool no_salvage TS__UNSET;
    bool no_index TS__UNSET;    // walk even if there is an index (false)
    uint32_t threads TS__UNSET; // for walking and ts_scan (number of cores)
    ts_allocator allocator TS__UNSET; // (malloc and free)
    // a compressed chunk may have, at most, and all those of captures together;
    // a few bytes of a file may say that they are 4 GiB (1 GiB)
    uint64_t inflate_bytes TS__UNSET;
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
                          // _STATE: left alone because of no_salvage,
                          // _UNTRUSTED: what lies there is somebody else's
} ts_info;

/*
    Opens a trace. An unfinished one is salvaged first (see the desc), then
    read as far as it goes: damage never fails the open, only a file that is
    no SBT file does. *reader is NULL on failure. The file is read as needed,
    never mapped: while it is open it may grow, and what is cut off or changed
    meanwhile is damage (TS_ERR_TRUNCATED, TS_ERR_CORRUPT), never a crash.

    Threads: a reader may be used by many threads at once, except for
             ts_reader_refresh and ts_reader_close.
    Errors:  TS_ERR_IO, TS_ERR_NOT_FILE (of pipes, those without a name are
             read to their end), TS_ERR_NOT_SBT, TS_ERR_VERSION (another major
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

// A file in which a recorder keeps what is not in its trace yet.
typedef struct ts_sidecar {
    char trace[4096];           // its path
    uint32_t process;           // that recorded
    uint64_t start_realtime_ns; // when it began
    uint64_t size;              // bytes of disk or memory that it takes
} ts_sidecar;

/*
    What a sidecar is, by its path. TS_OK: its recorder is dead, and whoever
    opens its trace saves the records. What can be known is in *sidecar also
    after an error.

    Errors: TS_ERR_NOT_FOUND its trace is gone: nobody will ask for it
            TS_ERR_BUSY      its recorder lives
            TS_ERR_UNTRUSTED not a file of this user's alone
            TS_ERR_VERSION   made by another version, or no sidecar
            TS_ERR_IO        there is none
*/
TS_API ts_result ts_sidecar_look(const char *path, ts_sidecar *sidecar);
// Removes one whose trace is gone, and nothing else. Errors: TS_ERR_STATE if
// its trace is there, and as ts_sidecar_look.
TS_API ts_result ts_sidecar_remove(const char *path);

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

// A sample of a clock: what it showed at a moment of the trace, and what the
// host's clocks showed. In order of clock and tick; false past the end.
typedef struct ts_clock_point {
    uint32_t clock;
    int64_t time_ns;
    ts_clock_entry entry;
} ts_clock_point;
TS_API bool ts_reader_clock_at(const ts_reader *reader, size_t index,
                               ts_clock_point *point);
// CLOCK_MONOTONIC_RAW and CLOCK_BOOTTIME at trace time 0, on the machine that
// the metadata `boot_id` names; false: not known.
TS_API bool ts_reader_boot(const ts_reader *reader, uint64_t *raw_ns,
                           uint64_t *boottime_ns);

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

// What a frame is called: lines receives count elements, innermost first:
// functions that the compiler put into others, last the one that was called.
// 0: the trace does not say.
TS_API uint32_t ts_reader_symbol(const ts_reader *reader,
                                 const ts_frame_entry *frame,
                                 const ts_line_entry **lines);

// What a dictionary defines, in order of identifier: TS_CHUNK_NAMES, _SITES,
// _TRACKS, _LAUNCHES, _MODULES, _STACKS or _SYMBOLS. 0 past the end.
TS_API size_t ts_reader_entry_count(const ts_reader *reader,
                                    ts_chunk_kind dictionary);
TS_API uint32_t ts_reader_entry(const ts_reader *reader,
                                ts_chunk_kind dictionary, size_t index);

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

/*
    A blob by its XXH3-128. *bytes is NULL on failure. It is read whole, and
    kept: who reads many frees them in between.

    Errors:   TS_ERR_NOT_FOUND (the trace does not hold it), TS_ERR_MEMORY;
              TS_ERR_CORRUPT, and TS_ERR_UNSUPPORTED of one that is larger
              than ts_reader_desc.inflate_bytes: ts_reader_damage has it.
    Lifetime: until the reader is closed, or until ts_reader_blobs_free.
*/
TS_API ts_result ts_reader_blob(ts_reader *reader, const uint64_t hash[2],
                                const void **bytes, size_t *size);
// Frees what was read of blobs. No ts_execution of the reader is open.
TS_API void ts_reader_blobs_free(ts_reader *reader);
// The hash of each blob chunk, in order of hash; false past the end.
TS_API bool ts_reader_blob_at(ts_reader *reader, size_t index,
                              uint64_t hash[2]);

/* ==== 4. Columns ========================================================= */

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
