/* ==== Dictionaries ======================================================= */

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
