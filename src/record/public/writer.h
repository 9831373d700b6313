/* ==== Writer ============================================================= */

#ifdef TRACESMITH_WRITER
/*
    Writes a trace of events whose times are known already: what an importer
    or a simulation makes. Nothing of a session is needed, and any number of
    writers may be open.

    Threads: each writer is used by one thread at a time.
*/
typedef struct ts_writer ts_writer;

typedef struct ts_writer_desc {
    // the trace. What is there is replaced by close, not before; until then it
    // grows in PATH.part
    const char *path TS__UNSET;
    // identity (a fixed one: the same calls give the same bytes)
    uint8_t session[16] TS__UNSET;
    uint64_t start_realtime_ns TS__UNSET; // Unix time of trace time 0 (unknown)
    uint32_t process TS__UNSET;      // identifier of the recorded one (unknown)
    bool compress TS__UNSET;         // zstd, needs TRACESMITH_ZSTD (false)
    uint64_t start_raw_ns TS__UNSET; // CLOCK_MONOTONIC_RAW at trace time 0 ...
    // and CLOCK_BOOTTIME, on the machine that the metadata `boot_id` names
    // (unknown)
    uint64_t start_boottime_ns TS__UNSET;
} ts_writer_desc;

// One value of an event besides its times.
typedef struct ts_writer_value {
    ts_column column;
    uint64_t value; // doubles as their bits
} ts_writer_value;

/*
    Begins a trace. *writer is NULL on failure. The first error of any later
    call is kept and returned by close; what comes after it is not written.

    Errors:  TS_ERR_USAGE no path, or one that is too long
             TS_ERR_IO    the file cannot be made
             TS_ERR_NOT_FILE something that is no file has its name
             TS_ERR_BUSY  another process is writing it
             TS_ERR_UNSUPPORTED `compress` without TRACESMITH_ZSTD
             TS_ERR_DISK_FULL, TS_ERR_MEMORY
*/
TS_API ts_result ts_writer_open(ts_writer **writer, const ts_writer_desc *desc);

// Dictionaries: equal entries give the same number. At most 65,535 bytes of a
// name, 64 of a build-id and 4,096 frames are kept. 0: no memory (an error).
TS_API uint32_t ts_writer_name(ts_writer *writer, const char *text,
                               size_t size);
TS_API uint32_t ts_writer_site(ts_writer *writer, const ts_site_entry *site);
TS_API uint32_t ts_writer_launch(ts_writer *writer,
                                 const ts_launch_entry *launch);
TS_API uint32_t ts_writer_module(ts_writer *writer,
                                 const ts_module_entry *module,
                                 const void *build_id, size_t build_id_size);
// frames: count elements, innermost first.
TS_API uint32_t ts_writer_stack(ts_writer *writer, const ts_frame_entry *frames,
                                uint32_t count);

// What a frame of a stack is called: lines, count elements, innermost first.
TS_API uint32_t ts_writer_symbol(ts_writer *writer, const ts_frame_entry *frame,
                                 const ts_line_entry *lines, uint32_t count);

// id 0 makes a new track, another one defines or redefines that one.
TS_API uint32_t ts_writer_track(ts_writer *writer, uint32_t id,
                                const ts_track_entry *track);

// A fact about a track, 0: about the session. value: as the type says, a
// double's bits, or a name.
TS_API void ts_writer_metadata(ts_writer *writer, uint32_t track,
                               const char *key, ts_value_type type,
                               uint64_t value);

// A row of the loss ledger. detail: a name or 0.
TS_API void ts_writer_loss(ts_writer *writer, uint32_t track, uint32_t cause,
                           uint32_t detail, uint64_t count, int64_t first_ns,
                           int64_t last_ns);

// The same of a stall, with the time that it took.
TS_API void ts_writer_stall(ts_writer *writer, uint32_t track, uint32_t cause,
                            uint32_t detail, uint64_t count, int64_t first_ns,
                            int64_t last_ns, uint64_t stall_ns);

/*
    Opens a finished trace to add names, symbols and metadata to it, in place:
    nothing that is there is changed. `names` and `symbols`: the highest
    numbers in use (ts_reader_entry). Until it is closed the trace is an
    unfinished one; abandoning it leaves the trace as it was.

    Errors:  TS_ERR_TRUNCATED the trace is not finished
             TS_ERR_BUSY      another process writes it
             TS_ERR_IO, TS_ERR_NOT_SBT, TS_ERR_MEMORY, TS_ERR_USAGE
*/
TS_API ts_result ts_writer_extend(ts_writer **writer, const char *path,
                                  uint32_t names, uint32_t symbols);

/*
    One event. Times may be negative and come in any order; equal ones stay
    in the order of the calls. Of two zones with the same start and end the
    inner one is given first. values: count others of the kind's columns
    (ts_event_columns), in any order; what is left out is 0. `duration_ns` of
    a kind without duration is ignored. An event that lies more than 2^61 ns
    from time 0, or whose duration is negative, is left out and counted in the
    ledger (TS_LOSS_BAD_RECORD).

    Errors, kept: TS_ERR_USAGE (unknown kind, a column it has not, track 0).
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
    Many events at once: the same as ts_writer_event_text for each, but many
    rows become chunks as they stand, which costs a tenth. So they should lie
    in the order in which they were recorded. Columns that the kind does not
    have are ignored.

    Errors, kept: TS_ERR_USAGE (unknown kind, a track 0).
*/
TS_API void ts_writer_rows(ts_writer *writer, const ts_rows *rows);

/*
    Keeps bytes in the trace once, whoever asks how often.
    hash: receives the XXH3-128 of the bytes, low half first; may be NULL.
    Errors, kept: TS_ERR_USAGE (size over 2^32 - 32).
*/
TS_API void ts_writer_blob(ts_writer *writer, const void *bytes, size_t size,
                           uint64_t hash[2]);

// A record of an operation or of code, as section 13 of the specification has
// it. Blobs that it names come first.
TS_API void ts_writer_capture(ts_writer *writer, const void *record,
                              size_t size);

// What the machine's other clocks showed at a moment of the trace; moments
// come in order. uncertainty_ns: how far apart they were read.
TS_API void ts_writer_clock(ts_writer *writer, int64_t time_ns,
                            uint64_t realtime_ns, uint64_t boottime_ns,
                            uint64_t uncertainty_ns);

/*
    Makes `time_ns` the zero of the trace, as its readers see it, and says its
    Unix time (0: unknown). For sources that tell neither at their beginning;
    the times of the other calls keep their meaning. The last call counts.
*/
TS_API void ts_writer_origin(ts_writer *writer, int64_t time_ns,
                             uint64_t realtime_ns);

// The first error so far.
TS_API ts_result ts_writer_error(const ts_writer *writer);

/*
    Completes the trace and gives it its name. After an error nothing is left
    of it, and what was at `path` stays. Frees the writer in any case.

    Errors:  the first since the open: TS_ERR_IO, TS_ERR_DISK_FULL,
             TS_ERR_MEMORY, TS_ERR_USAGE.
*/
TS_API ts_result ts_writer_close(ts_writer *writer);
// Removes what was written and frees the writer. NULL is allowed.
TS_API void ts_writer_abandon(ts_writer *writer);
#endif // TRACESMITH_WRITER

#endif // TRACESMITH_H
