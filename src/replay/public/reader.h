/* ==== Reader ============================================================= */

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
    // read at most 2 MB at the open, whatever the size of the trace: of a long
    // one the top of its index, which ts_reader_top returns, and the rest of
    // the index when something needs the chunks. Damage is listed when it is
    // met, not at the open (false)
    bool lazy TS__UNSET;
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
