/*
    import.h - the interface between importers, their input and the trace

    One file of another tool becomes one SBT file:

        import_source -> a format (kineto.c, ...) -> import_job -> ts_writer

    The source is unpacked while it is read (gzip, members of a tar). A format
    recognises its files by their content and does not depend on other formats;
    to add one, write a file with an import_format and list it in formats.c.
    The job does what all formats need: it maps ids of the source to tracks,
    stores launch configurations, links operations to calls by correlation id,
    holds operations back until their call is known, and counts all rows that
    are bad, have no place in SBT or were estimated.

    Times are nanoseconds of the source's clock, with any zero; the job makes
    the earliest time the zero of the trace. Ids of the source are int64_t;
    IMPORT_NONE is an id that the source does not give.

    Memory: about 50 bytes for each GPU operation, 6 for each API call, 10 for
    each zone, and the writer's buffers. The writer remembers when an allocation
    failed, and ts-import reports it at the end: callers need not check for it.
*/
#ifndef TS_IMPORT_H
#define TS_IMPORT_H

#include "tools/cli/cli.h"
#include "backends/gpu/collective.h"

#define IMPORT_NONE INT64_MIN

/* ==== 1. Source ========================================================== */

// The unpacked bytes of a file or of a member of a tar.
typedef struct import_source import_source;

// The full name for messages, such as "run.tar.gz: rank0.json", and its last
// part, "rank0.json".
const char *import_source_name(const import_source *source);
// Returns the last part of that name: "rank0.json".
const char *import_source_base(const import_source *source);

// Identifies the file that a source is read from; for a member, the archive.
typedef struct import_file {
    uint64_t device, number; // st_dev, st_ino; both 0: unknown
} import_file;
// Returns which file a source is read from. Members of a tar have that of the
// archive; stdin has zeros.
import_file import_source_file(const import_source *source);

// Returns the first 64 KiB, or all bytes of a shorter source, without consuming
// them.
const uint8_t *import_source_head(import_source *source, size_t *size);

// Returns whether bytes contain a word, which is not empty.
bool import_has(const uint8_t *bytes, size_t size, const char *word);

// Reads the next `size` bytes, fewer only at the end; returns 0 at the end.
size_t import_source_read(import_source *source, void *bytes, size_t size);
// Returns why reading ended early, such as "the gzip data is damaged", or NULL.
const char *import_source_error(const import_source *source);

// Returns the path of a file with the unpacked bytes, for libraries that need a
// path: the file itself, or a temporary file that is removed with the source.
// NULL on failure, with the reason on stderr. Do not mix it with
// import_source_read.
const char *import_source_path(import_source *source);
void import_source_interrupted(void); // removes that file; for signal handlers
void import_report_interrupted(void); // the folder of nsys/report.c, likewise

// For the progress bar: how many packed bytes of the whole input are read, and
// how many there are (0: unknown).
uint64_t import_source_done(const import_source *source);
// Returns the bytes of the whole input, packed; 0: unknown, as for stdin.
uint64_t import_source_total(const import_source *source);

/*
    The input that the user named: a file, a tar, or a folder of these ("-":
    stdin). Its sources are returned one after the other; each is valid until
    the next call. Files that cannot be read are reported on stderr and counted.
*/
typedef struct import_input import_input;
// Opens the input and lists its files in the order of their names. NULL, with
// the reason on stderr, if there is nothing to read.
import_input *import_input_open(const cli_tool *tool, const char *path);
// Opens the other files of the folder that a source is a file of, those that
// are `wanted` by their names: for formats with several files. NULL: there are
// none, or the source is a member of an archive.
typedef bool import_wanted(void *user, const char *name);
import_input *import_input_open_beside(const import_source *source,
                                       import_wanted *wanted, void *user);
import_source *import_input_next(import_input *input); // NULL at the end
// Frees the input; returns how many files could not be read.
size_t import_input_close(import_input *input);

/* ==== 2. Formats ========================================================= */

typedef struct import_job import_job;

typedef struct import_format {
    const char *name;    // "kineto": the value of --format
    const char *title;   // "PyTorch profiler JSON (Kineto)"
    const char *missing; // the library that this build lacks, or NULL

    // Returns whether the source has this format. Looks at its bytes, never at
    // its name; if a library is missing, only at import_source_head.
    bool (*recognise)(import_source *source);

    // Reads the whole source. False if nothing could be imported, after a call
    // of import_fail; bad rows alone are no failure.
    bool (*import)(import_job *job);
} import_format;

extern const import_format *const import_formats[]; // ends with NULL
void import_list_formats(const cli_tool *tool);     // prints a hint on stderr
// Returns what a file is that no format recognises, and what to do, by its
// first bytes; NULL: unknown.
const char *import_name_unknown(const uint8_t *bytes, size_t size);
// Returns false, with the reason on stderr, if there is no such format or the
// list of ranks is invalid. Both may be NULL.
bool import_request_check(const cli_tool *tool, const char *format,
                          const char *rank);

/* ==== 3. Job ============================================================= */

enum { IMPORT_COUNTERS = 128 };

// How often one cause or category occurred. A tally keeps its counters in order
// of first use.
typedef struct import_counter {
    char text[64]; // truncated
    uint64_t count;
    int64_t first_ns, last_ns; // of occurrences with a time; first > last: none
} import_counter;

typedef struct import_tally {
    size_t count;   // used; the last one, "others", takes the overflow
    uint64_t total; // of all counts
    import_counter counters[IMPORT_COUNTERS];
} import_tally;

struct import_job {
    import_source *source;
    const import_format *format;
    ts_writer *writer;
    const cli_tool *tool;
    int64_t rank, world_size; // set by the format; IMPORT_NONE: unknown
    bool has_unix_offset;     // unix_offset_ns is known
    int64_t unix_offset_ns;   // Unix time minus the source's clock
    uint64_t rows;            // of the source; counted by the format
    // What became of the rows:
    import_tally bad;       // lost: written to the loss ledger and the metadata
    import_tally flawed;    // kept with a flaw: written to the metadata
    import_tally unowned;   // no place in SBT, by category
    import_tally estimated; // values that had to be guessed
    uint64_t events[TS_EVENT_LIMIT];
    int64_t first_ns, last_ns; // of all events; first > last: no event yet
    bool is_cut;               // set by the format: the source ended early
    bool lacks_files;   // by the format, beside is_cut: other files are missing
    import_file *parts; // other files that were read for it; part_count
    size_t part_count, part_room;
    struct import_executions *executions; // to join with, or NULL; the core's
    cli_text secret; // metadata key of the first token or password found
    struct import_tables *tables; // private
};

/*
    For the core, not for formats. import_job_open creates a job that writes to
    `path`. import_job_end writes the operations that were held back, the counts
    and the metadata. If `keep` is false, or memory or disk space ran out, it
    removes the file at `path`.
*/
import_job *import_job_open(const cli_tool *tool, import_source *source,
                            const import_format *format, const char *path,
                            ts_result *result);
ts_result import_job_end(import_job *job, bool keep); // the job stays readable
// Frees the job; a trace that import_job_end did not complete is discarded.
void import_job_close(import_job *job);

// Notes that another source was read for this job, too: it does not become a
// trace of its own.
void import_job_part(import_job *job, const import_source *source);

// Sets the reference time (default: the first time of the source): rows whose
// time is more than 18 years from it are bad ("zero_time", "absurd_time"). A
// time beyond 2^62 ns is ignored.
void import_near(import_job *job, int64_t time_ns);

// Prints "TOOL: FILE: message" on stderr; returns false.
__attribute__((format(printf, 2, 3))) bool import_fail(import_job *job,
                                                       const char *format, ...);
bool import_out_of_memory(import_job *job); // the same, for memory
// Formats call one of these regularly while they read: import_progress shows
// how far the source is read; the other one a count of the format's own (total
// 0: unknown).
void import_progress(import_job *job);
// Shows a count of the format's own: `done` of `total` of any unit.
void import_progress_of(import_job *job, uint64_t done, uint64_t total);

/*
    Counts a row that is lost. `cause` is a short name such as "broken_row",
    "reversed_time", "no_time", "unknown_stream"; `time_ns` is the row's time or
    IMPORT_NONE.
*/
void import_bad(import_job *job, const char *cause, int64_t time_ns);
// Counts `count` rows of unknown times at once; count > 0.
void import_bad_many(import_job *job, const char *cause, uint64_t count);
// Counts a row that is kept in spite of a flaw: "duplicate_correlation",
// "bad_escape".
void import_flaw(import_job *job, const char *cause);
// Counts a row that SBT has no place for, by the source's category (any bytes).
void import_unowned(import_job *job, const char *category, size_t size);
// Counts `count` rows of a category at once; count > 0.
void import_unowned_many(import_job *job, const char *category, size_t size,
                         uint64_t count);
// Counts an estimated value, such as "event_record". The functions of section 6
// call it; formats rarely need to.
void import_estimate(import_job *job, const char *what);

/* ==== 4. Metadata, names ================================================= */

// Never call two functions that create numbers (of names, sites, tracks) in one
// argument list: compilers evaluate arguments in different orders, so that the
// numbers in the trace would differ.

// Adds metadata to a track, or to the session (track 0). Keys are snake_case.
void import_meta_text(import_job *job, uint32_t track, const char *key,
                      const char *text, size_t size);
// The same for an integer.
void import_meta_int(import_job *job, uint32_t track, const char *key,
                     int64_t value);
// The same for a number; NaN and infinity are stored as they are.
void import_meta_double(import_job *job, uint32_t track, const char *key,
                        double value);

// Returns the number of a text, which gets one at its first use; the same text
// has the same number. 0 only if memory runs out.
uint32_t import_name(import_job *job, const char *text, size_t size);
// Returns the site of zones with this name and category (numbers of names;
// category 0: none).
uint32_t import_site(import_job *job, uint32_t name, uint32_t category);
uint32_t import_colored_site(import_job *job, uint32_t name, uint32_t category,
                             uint32_t color); // 0x00RRGGBB, 0: none

/* ==== 5. Tracks ========================================================== */

/*
    Each returns the track of an id and creates it at first use. `process` may
    be IMPORT_NONE. The parent of a stream is its context, or its device if it
    has none. Names and flags may be set at any time; the last value counts.
*/
uint32_t import_process(import_job *job, int64_t process);
// A thread below its process; IMPORT_NONE: a thread of no process.
uint32_t import_thread(import_job *job, int64_t process, int64_t thread);
// A device. All contexts and streams with that number are below it.
uint32_t import_device(import_job *job, int64_t device);
uint32_t import_known_device(import_job *job, int64_t device); // 0: none so far
// A context below its device, which is created, too.
uint32_t import_context(import_job *job, int64_t device, int64_t context);
// A stream; context IMPORT_NONE: directly below its device.
uint32_t import_stream(import_job *job, int64_t device, int64_t context,
                       int64_t stream);
// For rows that belong to no thread: returns a track of type thread below
// `parent` with this name, such as "CUPTI overhead" or "annotations, stream 7".
uint32_t import_lane(import_job *job, uint32_t parent, const char *name,
                     size_t size);
// A counter below `parent`. unit: as in "bytes", NULL: none. Equal names with
// other units are other counters.
uint32_t import_counter_track(import_job *job, uint32_t parent,
                              const char *name, size_t size, const char *unit);
// Names a track. An equal name writes nothing.
void import_track_name(import_job *job, uint32_t track, const char *text,
                       size_t size);
// TS_STREAM_...
void import_track_flags(import_job *job, uint32_t track, uint64_t flags);

/* ==== 6. Events ========================================================== */

// Writes and counts an event that needs no other treatment: zone, mark,
// counter, alloc, ...
void import_event(import_job *job, ts_event_kind kind, uint32_t track,
                  int64_t start_ns, int64_t duration_ns,
                  const ts_writer_value *values, size_t count);
// The same with a text of any bytes, such as a message.
void import_event_text(import_job *job, ts_event_kind kind, uint32_t track,
                       int64_t start_ns, int64_t duration_ns,
                       const ts_writer_value *values, size_t count,
                       const char *text, size_t text_size);

// What the source says of a collective; 0: unknown.
typedef struct import_facts {
    uint64_t communicator, sequence, size; // size: bytes of the larger buffer
    uint32_t name;  // number of the name of a ts_collective_kind
    uint32_t type;  // ts_collective_element
    uint32_t ranks; // number of members
    uint32_t peer;  // of a Send or Recv: rank of the other member + 1
} import_facts;

/*
    Adds a zone of a thread and returns its site, which the zone's arguments
    need. GPU operations that are launched while it is the innermost zone get
    its site; collectives among them also get the fields of `facts` that they
    lack. facts: NULL if the zone is no collective.
*/
uint32_t import_zone(import_job *job, uint32_t thread, int64_t start_ns,
                     int64_t duration_ns, uint32_t name, uint32_t category,
                     const import_facts *facts);
// The same for a site that is known already. Of zones with equal start and
// duration the outermost comes first.
void import_zone_at(import_job *job, uint32_t thread, int64_t start_ns,
                    int64_t duration_ns, uint32_t site,
                    const import_facts *facts);
// Adds an argument to the zone with this track, start and site.
void import_zone_int(import_job *job, uint32_t thread, int64_t start_ns,
                     uint32_t site, uint32_t name, int64_t value);
// The same for a number.
void import_zone_double(import_job *job, uint32_t thread, int64_t start_ns,
                        uint32_t site, uint32_t name, double value);
// The same for a text of any bytes.
void import_zone_text(import_job *job, uint32_t thread, int64_t start_ns,
                      uint32_t site, uint32_t name, const char *text,
                      size_t size);

// Adds a call of a runtime or driver function. Correlation 0: none. The
// operations with that correlation id belong to the call, in whatever order
// they are added. A second call with the same id is written and counted as a
// flaw.
void import_api_call(import_job *job, uint32_t thread, int64_t start_ns,
                     int64_t duration_ns, uint32_t name, uint64_t correlation,
                     uint64_t result);

/*
    A GPU operation. The job holds it back until import_operations_end, which
    sets the thread of its API call, estimates the times of operations whose
    source has only call times, and writes all in order of their starts. Kind,
    track and times are required; everything else may be 0.
*/
typedef struct import_operation {
    int64_t start_ns, duration_ns;
    int64_t queued_ns, submitted_ns; // 0: not recorded
    uint64_t correlation;            // 0: none
    uint64_t size, address, source;  // copies, memsets, allocations
    uint64_t id;     // event; of a kernel: graph node; of a memset: value
    uint64_t record; // of a wait: correlation id of its record
    uint32_t track;  // stream, device or context
    uint32_t thread; // 0: that of the API call
    uint32_t site;   // 0: that of the innermost zone at the API call
    uint32_t launch, name;
    uint32_t graph, peer, pool, stack;
    uint8_t kind;   // ts_event_kind
    uint8_t type;   // of a copy
    uint8_t memory; // kinds of memory, as in the column
    /*
        The times above are those of the host call, because the source has no
        others; the real ones are estimated. A record completes when all
        operations issued before it on its stream have ended, but not before
        its call. A wait begins by the same rule and ends when its record
        completes, at the latest when the next operation on its stream begins.
    */
    bool is_call_time;
} import_operation;
// Adds an operation, in any order. One whose times are absurd is counted as bad
// (see import_near); queued and submitted times that are, become unknown.
void import_gpu(import_job *job, const import_operation *operation);
// Adds a collective; operation->kind must be TS_EVENT_COLLECTIVE.
void import_gpu_collective(import_job *job, const import_operation *operation,
                           const import_facts *facts);
// Adds a kernel. A kernel of a communication library becomes a collective,
// whose kind and element type are taken from `name`. The name is not stored
// here: operation->launch is a number of import_launch, which has it.
void import_kernel(import_job *job, import_operation *operation,
                   const char *name, size_t size);
// Adds an event record of which the source has only the waits and the
// correlation id of its API call. Repeated calls are allowed; a record added as
// an operation takes precedence.
void import_event_record(import_job *job, uint32_t stream, uint64_t id,
                         uint64_t correlation);
// Adds a record of which the source has no call either: it is placed just
// before the call of the wait with this correlation id.
void import_event_record_before(import_job *job, uint32_t stream, uint64_t id,
                                uint64_t wait);

// Writes the operations that were held back. The core calls it after import()
// returned true.
void import_operations_end(import_job *job);

// Returns the number of a launch configuration.
uint32_t import_launch(import_job *job, const ts_launch_entry *launch);

/* ==== 7. Collectives ===================================================== */

// Returns a number for a communicator by its name or id. Never 0, which means
// in a trace that the communicator is unknown.
uint64_t import_communicator(const char *name, size_t size);
// Returns the size of a ts_collective_element in bytes; 0: unknown.
uint32_t import_element_bytes(uint32_t element);

#endif // TS_IMPORT_H
