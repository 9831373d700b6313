/* ==== Reader ============================================================= */

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
