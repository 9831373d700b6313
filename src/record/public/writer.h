/* ==== Writer ============================================================= */

#ifdef TRACESMITH_WRITER
/*
    Writes a trace of events whose times are already known, as an importer or a
    simulation needs. No session is needed, and any number of writers may be
    open.

    Threads: each writer is used by one thread at a time.
    Processes: a child made by fork may only close or abandon a writer that it
    inherits. Both free it there and leave the file to the parent; close returns
    TS_ERR_USAGE.
*/
typedef struct ts_writer ts_writer;

typedef struct ts_writer_desc {
    // the trace. An existing file is replaced by ts_writer_close, not before;
    // until then the trace grows in PATH.part
    const char *path TS__UNSET;
    // identity of the trace (a fixed one, so that equal calls give equal bytes)
    uint8_t session[16] TS__UNSET;
    uint64_t start_realtime_ns TS__UNSET; // Unix time of trace time 0 (unknown)
    uint32_t process TS__UNSET;           // identifier of the process (unknown)
    bool compress TS__UNSET;              // zstd, needs TRACESMITH_ZSTD (false)
    uint64_t start_raw_ns TS__UNSET; // CLOCK_MONOTONIC_RAW at trace time 0 ...
    // and CLOCK_BOOTTIME, on the machine that the metadata `boot_id` names
    // (unknown)
    uint64_t start_boottime_ns TS__UNSET;
    // that encode and compress chunks, the caller's included; at most 32. The
    // bytes of the trace do not depend on it. Each takes about 4 MB (1)
    uint32_t threads TS__UNSET;
} ts_writer_desc;

// One value of an event besides its times.
typedef struct ts_writer_value {
    ts_column column;
    uint64_t value; // doubles as their bits
} ts_writer_value;

/*
    Begins a trace. *writer is NULL on failure. The first error of any later
    call is kept and returned by close; what comes after it is not written. With
    several threads an error of the file may be found some calls later.

    Errors:  TS_ERR_USAGE no path, or one that is too long
             TS_ERR_IO    the file cannot be made
             TS_ERR_NOT_FILE `path` names a folder, a device or a pipe
             TS_ERR_BUSY  another process is writing it
             TS_ERR_UNSUPPORTED `compress` without TRACESMITH_ZSTD
             TS_ERR_DISK_FULL, TS_ERR_MEMORY
*/
TS_API ts_result ts_writer_open(ts_writer **writer, const ts_writer_desc *desc);

// Dictionaries: equal entries have the same number. Each function returns 0
// when there is no memory, which ts_writer_close reports.

// Returns the number of a text of `size` bytes, of which 65,535 are kept.
TS_API uint32_t ts_writer_name(ts_writer *writer, const char *text,
                               size_t size);
// Returns the number of a site; its texts are numbers of ts_writer_name.
TS_API uint32_t ts_writer_site(ts_writer *writer, const ts_site_entry *site);
// Returns the number of a kernel with its configuration.
TS_API uint32_t ts_writer_launch(ts_writer *writer,
                                 const ts_launch_entry *launch);
// Returns the number of a module. build_id: of which 64 bytes are kept; NULL:
// none.
TS_API uint32_t ts_writer_module(ts_writer *writer,
                                 const ts_module_entry *module,
                                 const void *build_id, size_t build_id_size);
// Returns the number of a stack. frames: `count` elements, innermost first, of
// which 4,096 are kept.
TS_API uint32_t ts_writer_stack(ts_writer *writer, const ts_frame_entry *frames,
                                uint32_t count);

// The symbol of a frame. lines: `count` elements, innermost first (inlined
// functions).
TS_API uint32_t ts_writer_symbol(ts_writer *writer, const ts_frame_entry *frame,
                                 const ts_line_entry *lines, uint32_t count);

// Defines a track and returns its id. id 0: a new one; otherwise the track with
// that id, which may be defined again.
TS_API uint32_t ts_writer_track(ts_writer *writer, uint32_t id,
                                const ts_track_entry *track);

// A fact about a track (0: about the session). value: by its type an integer,
// the bits of a double, or the number of a name.
TS_API void ts_writer_metadata(ts_writer *writer, uint32_t track,
                               const char *key, ts_value_type type,
                               uint64_t value);

// A row of the loss ledger. detail: a name or 0.
TS_API void ts_writer_loss(ts_writer *writer, uint32_t track, uint32_t cause,
                           uint32_t detail, uint64_t count, int64_t first_ns,
                           int64_t last_ns);

// The same for a stall, with the time that it took in nanoseconds.
TS_API void ts_writer_stall(ts_writer *writer, uint32_t track, uint32_t cause,
                            uint32_t detail, uint64_t count, int64_t first_ns,
                            int64_t last_ns, uint64_t stall_ns);

/*
    Opens a finished trace to add names, symbols and metadata in place; what it
    holds already is not changed. `names` and `symbols`: the highest numbers in
    use (ts_reader_entry). Until the writer is closed the trace is unfinished;
    ts_writer_abandon leaves it as it was.

    Errors:  TS_ERR_TRUNCATED the trace is not finished
             TS_ERR_BUSY      another process writes it
             TS_ERR_IO, TS_ERR_NOT_SBT, TS_ERR_MEMORY, TS_ERR_USAGE
*/
TS_API ts_result ts_writer_extend(ts_writer **writer, const char *path,
                                  uint32_t names, uint32_t symbols);

/*
    Writes one event. Times may be negative and come in any order; events of
    equal time keep the order of the calls. Of two zones with the same start and
    end, write the inner one first. values: `count` other columns of the kind
    (ts_event_columns), in any order; those left out are 0. `duration_ns` of
    a kind without duration is ignored. An event that lies more than 2^61 ns
    from time 0, or whose duration is negative, is left out and counted in the
    ledger (TS_LOSS_BAD_RECORD).

    Errors, kept: TS_ERR_USAGE (unknown kind, a column that the kind does not
    have, track 0).
*/
TS_API void ts_writer_event(ts_writer *writer, ts_event_kind kind,
                            uint32_t track, int64_t start_ns,
                            int64_t duration_ns, const ts_writer_value *values,
                            size_t count);
// The same with a text (message, zone_arg), of which 65,535 bytes are kept.
TS_API void ts_writer_event_text(ts_writer *writer, ts_event_kind kind,
                                 uint32_t track, int64_t start_ns,
                                 int64_t duration_ns,
                                 const ts_writer_value *values, size_t count,
                                 const char *text, size_t text_size);

// Events of one kind as columns of `count` values.
typedef struct ts_rows {
    ts_event_kind kind TS__UNSET;
    uint32_t count TS__UNSET;
    uint32_t track TS__UNSET;         // of all of them, unless
    const uint32_t *tracks TS__UNSET; // this says it for each (NULL)
    const int64_t *start_ns TS__UNSET, *duration_ns TS__UNSET;
    // by ts_column (NULL: zeros)
    const uint64_t *values[TS_COLUMN_LIMIT] TS__UNSET;
    const uint32_t *text_sizes TS__UNSET; // (NULL: no texts)
    const char *const *texts TS__UNSET;
} ts_rows;

/*
    Writes many events at once: the same as ts_writer_event_text for each, at a
    tenth of the cost, because many rows become chunks as they are. The rows
    should be in the order in which they were recorded. Columns that the kind
    does not have are ignored.

    Errors, kept: TS_ERR_USAGE (unknown kind, a track 0).
*/
TS_API void ts_writer_rows(ts_writer *writer, const ts_rows *rows);

/*
    Stores bytes in the trace; equal bytes are stored only once.
    hash: receives the XXH3-128 of the bytes, low half first; may be NULL.
    Errors, kept: TS_ERR_USAGE (size over 2^32 - 32).
*/
TS_API void ts_writer_blob(ts_writer *writer, const void *bytes, size_t size,
                           uint64_t hash[2]);

// Stores a capture record, laid out as section 13 of docs/sbt-format.md says.
// Store the blobs that it names first.
TS_API void ts_writer_capture(ts_writer *writer, const void *record,
                              size_t size);

// What the machine's other clocks showed at time_ns of the trace. Samples come
// in order of time. uncertainty_ns: the time that reading the clocks took.
TS_API void ts_writer_clock(ts_writer *writer, int64_t time_ns,
                            uint64_t realtime_ns, uint64_t boottime_ns,
                            uint64_t uncertainty_ns);

/*
    Makes `time_ns` the zero of the trace as readers see it, and gives its Unix
    time (0: unknown). For sources that give neither at their beginning; times
    passed to other calls keep their meaning. The last call counts.
*/
TS_API void ts_writer_origin(ts_writer *writer, int64_t time_ns,
                             uint64_t realtime_ns);

// The first error so far; TS_OK is final only from ts_writer_close.
TS_API ts_result ts_writer_error(const ts_writer *writer);

/*
    Completes the trace and moves it to `path`. After an error the trace is
    removed and an existing file at `path` is unchanged. Always frees the
    writer.

    Errors:  the first since the open: TS_ERR_IO, TS_ERR_DISK_FULL,
             TS_ERR_MEMORY, TS_ERR_USAGE (also in a child made by fork).
*/
TS_API ts_result ts_writer_close(ts_writer *writer);
// Removes what was written and frees the writer. NULL is allowed. A child made
// by fork removes nothing.
TS_API void ts_writer_abandon(ts_writer *writer);
#endif // TRACESMITH_WRITER

#endif // TRACESMITH_H
