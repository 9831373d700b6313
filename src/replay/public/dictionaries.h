/* ==== Dictionaries ======================================================= */

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
