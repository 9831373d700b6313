/* ==== Names ============================================================== */

/*
    A place in the source. The macros make a static one, whose strings are
    copied at the first hit, so that its module may be unloaded later. Other
    code may fill one in (all but `code`) and use it with ts_zone_begin. A NULL
    string is left out. Threads: any number may hit a site at once.
*/
typedef struct ts_site {
    const char *name, *category, *function, *file;
    uint32_t line;
    uint32_t color; // 0x00RRGGBB, 0 none
    uint32_t code;  // private: low half of a zone's record, 0 until the first
} ts_site;          // hit

typedef struct ts_counter { // a counter as the macros hold it
    const char *name;
    uint32_t code; // private: low half of a sample's record, 0 until the first
} ts_counter;      // hit

/*
    Returns the number of a text; the same text always has the same number. At
    most 65,535 bytes of it are kept. A known text costs a hash and one probe.

    Threads: any, and signal handlers. May be called before a session starts.
    Errors:  0 when the dictionary is full; records that need the number are
             then not made, and counted as dictionary_full.
*/
TS_API uint32_t ts_name_define(const char *text);
// The same for a text of `size` bytes, not terminated.
TS_API uint32_t ts_name_define_sized(const char *text, size_t size);

// The number of a site whose name is made at run time; `base` (may be NULL) has
// the other fields. Threads and errors: as ts_name_define.
TS_API uint32_t ts_site_define(const char *name, const ts_site *base);

typedef enum ts_counter_flag {
    TS_COUNTER_RATE = 1,     // the value is per second
    TS_COUNTER_MONOTONIC = 2 // the value never falls
} ts_counter_flag;
// Gives a counter its unit ("bytes", "%"; NULL: none) and flags. Returns the
// counter's track, 0 on failure. Optional: TS_COUNTER works without.
// Threads: any.
TS_API uint32_t ts_counter_define(const char *name, const char *unit,
                                  uint32_t flags);

/*
    Metadata: facts about the session (track 0) or about a track; ts-info and
    every export show them. A fact about the session belongs to the one that
    runs, or else to the next one, and ends with it. A fact about a track is in
    every later session of the process. key and text are copied. Threads: any.
*/

// States a fact that is a number.
TS_API void ts_metadata_int(uint32_t track, const char *key, int64_t value);
// States a fact that is a number in floating point.
TS_API void ts_metadata_double(uint32_t track, const char *key, double value);
// States a fact that is a text; NULL is ignored.
TS_API void ts_metadata_text(uint32_t track, const char *key,
                             const char *value);

// Names the calling thread from now on; the name is copied.
TS_API void ts_thread_name(const char *name);
// The calling thread's track; 0 when it cannot have one.
TS_API uint32_t ts_thread_track(void);

// A file mapped for execution, into which frames of stacks point. address,
// size: of its first mapping, in bytes. build_id may be NULL. Returns its
// number, 0 on failure. Threads: any.
TS_API uint32_t ts_module_define(const char *path, uint64_t address,
                                 uint64_t size, const void *build_id,
                                 size_t build_id_size);
// The number of a stack; the same stack always has the same number. frames:
// `count` elements, at most 256, innermost first. 0 on failure. Threads: any,
// and signal handlers.
TS_API uint32_t ts_stack_define(const ts_frame_entry *frames, uint32_t count);
/*
    Private: the number of a stack in its stored form, words of 32 bits. A word
    whose highest bit is 0 is a frame: the low 31 bits of its offset. A word
    whose highest bit is 1 comes before a frame and gives the module and the
    high bits of the offset of this frame and those after it; at first these
    are module 0 and 0. The function writes up to four words behind the last.
*/
#define TS__STACK_WHERE(module, offset) \
    (1u << 31 | (uint32_t)(module) << 17 | (uint32_t)((offset) >> 31))
enum { TS__STACK_WORDS = 2 * 256 + 4 };
TS_API uint32_t ts__stack_get(uint32_t *words, uint32_t count);

/*
    Stores bytes in the trace, at once; equal bytes are stored only once.
    hash: receives their XXH3-128, low half first; may be NULL.
    Threads: any.
    Errors: TS_ERR_STATE, TS_ERR_USAGE (size over 2^32 - 32), TS_ERR_IO,
            TS_ERR_DISK_FULL.
*/
TS_API ts_result ts_blob_put(const void *bytes, size_t size, uint64_t hash[2]);

// Whether the trace already holds these bytes: TS_OK or TS_ERR_NOT_FOUND. hash:
// receives their XXH3-128, also without a session; may be NULL. If bytes is
// NULL and size is not 0, the bytes with the hash *hash are looked for.
// Threads: any.
TS_API ts_result ts_blob_find(const void *bytes, size_t size, uint64_t hash[2]);

/*
    Stores a capture record: what is needed to run an operation again, laid out
    as section 13 of docs/sbt-format.md says. Store the blobs that it names
    first.

    Threads: any. Errors: as ts_blob_put.
*/
TS_API ts_result ts_capture_put(const void *record, size_t size);

// Whether the calling thread is inside a zone of this name. Slow: it searches
// the dictionary.
TS_API bool ts_zone_inside(const char *name);

// The present time in ticks of clock 0, in which records have their times.
// Threads: any, and signal handlers.
TS_API uint64_t ts_tick_now(void);

/*
    A clock of a device. Returns its number, 0 on failure. Its times are put on
    the trace's axis by samples. Threads: any.
*/
TS_API uint32_t ts_clock_define(const char *name);
/*
    A sample: the clock showed `tick` when clock 0 showed `host_tick`, with an
    error of at most uncertainty_ns. Give one before and one after the
    operations that the clock times. host_tick 0 means that the clock is
    CLOCK_MONOTONIC_RAW, for which one sample is enough. A sample in which
    either clock has gone backwards is left out and counted in the metadata
    clock.N.backwards. Threads: any.
*/
TS_API void ts_clock_sample(uint32_t clock, uint64_t tick, uint64_t host_tick,
                            uint64_t uncertainty_ns);
