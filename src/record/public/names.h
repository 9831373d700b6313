/* ==== Names ============================================================== */

/*
    A place in the source. The macros make a static one; its text is copied at
    the first hit, so that a module may be unloaded later. Other code may fill
    one in (all but `code`) and use it with ts_zone_begin.
    Strings: NULL is none. Threads: any number may hit it at once.
*/
typedef struct ts_site {
    const char *name, *category, *function, *file;
    uint32_t line;
    uint32_t color; // 0x00RRGGBB, 0 none
    uint32_t code;  // private: 0 until the first hit
} ts_site;

typedef struct ts_counter { // a counter as the macros hold it
    const char *name;
    uint32_t code; // private: 0 until the first hit
} ts_counter;

/*
    Keep a text, or look it up: the same text always gives the same number.
    At most 65,535 bytes are kept. Costs a hash and one probe when known.

    Threads: any; signal handlers too. Allowed before a session starts.
    Errors:  0 when nothing can be kept any more; a record that is not made for
             want of it is counted, as dictionary_full.
*/
TS_API uint32_t ts_name_define(const char *text);
TS_API uint32_t ts_name_define_sized(const char *text, size_t size);

// A site whose name is made at run time; `base` gives the rest (may be NULL).
TS_API uint32_t ts_site_define(const char *name, const ts_site *base);

// Gives a counter its unit ("bytes", "%", NULL none) and behaviour.
// Returns the counter's track, 0 on failure. TS_COUNTER does not need it.
typedef enum ts_counter_flag {
    TS_COUNTER_RATE = 1,     // the value is per second
    TS_COUNTER_MONOTONIC = 2 // the value never falls
} ts_counter_flag;
TS_API uint32_t ts_counter_define(const char *name, const char *unit,
                                  uint32_t flags);

// Facts about the session (track 0) or a track, in ts-info and every export.
// Of the session that runs, or else of the next one: they end with it. Those
// about tracks last as long as the process.
TS_API void ts_metadata_int(uint32_t track, const char *key, int64_t value);
TS_API void ts_metadata_double(uint32_t track, const char *key, double value);
TS_API void ts_metadata_text(uint32_t track, const char *key,
                             const char *value);

// Names the calling thread from now on.
TS_API void ts_thread_name(const char *name);
// The calling thread's track; 0 when it cannot have one.
TS_API uint32_t ts_thread_track(void);

// A loaded file that stacks point into. build_id may be NULL.
TS_API uint32_t ts_module_define(const char *path, uint64_t address,
                                 uint64_t size, const void *build_id,
                                 size_t build_id_size);
// frames: count elements, innermost first. The same stack gives the same
// number. count is at most 256.
TS_API uint32_t ts_stack_define(const ts_frame_entry *frames, uint32_t count);
/*
    Private: the same of a stack in words of 32 bits, as it is kept. One whose
    highest bit is 0 is a frame, the low 31 bits of its offset; one whose
    highest bit is 1 says where that frame and those after it are. Until then
    they are in module 0, below 2 GiB. Writes to four words more.
*/
#define TS__STACK_WHERE(module, offset) \
    (1u << 31 | (uint32_t)(module) << 17 | (uint32_t)((offset) >> 31))
enum { TS__STACK_WORDS = 2 * 256 + 4 };
TS_API uint32_t ts__stack_get(uint32_t *words, uint32_t count);

/*
    Keeps bytes in the trace once, whoever asks how often. Written at once.
    hash: receives the XXH3-128 of the bytes, low half first; may be NULL.
    Errors: TS_ERR_STATE, TS_ERR_USAGE (size over 2^32 - 32), TS_ERR_IO,
            TS_ERR_DISK_FULL.
*/
TS_API ts_result ts_blob_put(const void *bytes, size_t size, uint64_t hash[2]);

// Whether the trace holds these bytes already: TS_OK or TS_ERR_NOT_FOUND.
// hash: receives their XXH3-128, also without a session; may be NULL. If bytes
// is NULL and size is not 0, *hash tells which bytes are asked for.
TS_API ts_result ts_blob_find(const void *bytes, size_t size, uint64_t hash[2]);

/*
    Keeps what it takes to run an operation again: a record as section 13 of
    the specification has it. Blobs that it names come first.

    Errors: as ts_blob_put.
*/
TS_API ts_result ts_capture_put(const void *record, size_t size);

// Whether the calling thread is inside a zone of this name. Slow: it looks
// through the dictionary.
TS_API bool ts_zone_inside(const char *name);

// Ticks of clock 0, what every time in the rings is measured in.
TS_API uint64_t ts_tick_now(void);

/*
    A clock of a device. Give samples before and after the operations that it
    times: at the moment when clock 0 showed host_tick, it showed tick. A
    host_tick of 0: the clock is CLOCK_MONOTONIC_RAW; one sample will do.
    A sample at which the clock, or the host, shows less than at the one before
    is left out; the metadata clock.N.backwards counts them.
    Returns the clock's number, 0 on failure.
*/
TS_API uint32_t ts_clock_define(const char *name);
TS_API void ts_clock_sample(uint32_t clock, uint64_t tick, uint64_t host_tick,
                            uint64_t uncertainty_ns);
