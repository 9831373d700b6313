/*
    import.h - what the importers share

    One file of another tool becomes one SBT file:

        import_source -> a format (kineto.c, ...) -> import_job -> ts_writer

    The source is unpacked on the way (gzip, members of a tar). A format
    recognises its files by what they hold and knows nothing of the others; a
    further one is a file with an import_format and a line in
    formats.c. The job has what all of them need: tracks by the ids of
    the source, launches, correlation, operations that are held back until
    what they belong to is known, and counts of everything that is bad, has no
    place or had to be estimated.

    Times are nanoseconds of the source's clock, whatever its zero; the job
    makes the earliest one the zero of the trace. Ids of the source are
    int64_t; IMPORT_NONE stands for one that the source does not give.

    Memory: about 50 bytes for each GPU operation, 6 for each API call, 10 for
    each zone, and what the writer holds. When there is none left, the writer
    remembers it, and ts-import says so at the end: nothing here needs to be
    checked for it.
*/
#ifndef TS_IMPORT_H
#define TS_IMPORT_H

#include "tools/cli/cli.h"
#include "backends/gpu/collective.h"

#define IMPORT_NONE INT64_MIN

/* ==== 1. Source ========================================================== */

// A file or a member of a tar, unpacked.
typedef struct import_source import_source;

// For messages: "run.tar.gz: rank0.json". Its last part: "rank0.json".
const char *import_source_name(const import_source *source);
const char *import_source_base(const import_source *source);

// The file that it comes from: of an archive, the archive.
typedef struct import_file {
    uint64_t device, number; // st_dev, st_ino; both 0: unknown
} import_file;
import_file import_source_file(const import_source *source);

// The first bytes, 64 KiB or all; does not move the place of reading.
const uint8_t *import_source_head(import_source *source, size_t *size);

// The next bytes, as many as wanted except at the end. 0: the end.
size_t import_source_read(import_source *source, void *bytes, size_t size);
// Why reading ended early, or NULL: "the gzip data is damaged".
const char *import_source_error(const import_source *source);

// The unpacked bytes as a file, for libraries that want one: the file itself
// or a temporary one that goes with the source. NULL: says why on stderr.
// Not together with import_source_read.
const char *import_source_path(import_source *source);
void import_source_interrupted(void); // removes it: for signal handlers

// How far: packed bytes of the whole input, for the progress bar. total 0:
// unknown.
uint64_t import_source_done(const import_source *source);
uint64_t import_source_total(const import_source *source);

/*
    What the user named: a file, a tar, a folder of such ("-": stdin). Its
    sources come one after the other; each is gone with the next call. What
    cannot be read is said on stderr and counted.
*/
typedef struct import_input import_input;
import_input *import_input_open(const cli_tool *tool, const char *path);
import_source *import_input_next(import_input *input); // NULL: the end
// Frees it; returns how many failures there were.
size_t import_input_close(import_input *input);

/* ==== 2. Formats ========================================================= */

typedef struct import_job import_job;

typedef struct import_format {
    const char *name;    // "kineto", as --format wants it
    const char *title;   // "PyTorch profiler JSON (Kineto)"
    const char *missing; // the library that this build lacks, or NULL

    // Whether the source is of this format. By its bytes, never by its name;
    // without the missing library, by its head alone.
    bool (*recognise)(import_source *source);

    // Reads all. False: nothing came of it, said with import_fail; bad rows
    // are no reason for that.
    bool (*import)(import_job *job);
} import_format;

extern const import_format *const import_formats[]; // ends with NULL
void import_list_formats(const cli_tool *tool);     // on stderr, as a hint
// False, with the reason on stderr: there is no such format, or the list of
// ranks is none. Both may be NULL.
bool import_request_check(const cli_tool *tool, const char *format,
                          const char *rank);

/* ==== 3. Job ============================================================= */

enum { IMPORT_COUNTERS = 128 };

// Counts by a name: a cause, a category. In order of their first time.
typedef struct import_counter {
    char text[64]; // cut
    uint64_t count;
    int64_t first_ns, last_ns; // of those with a time; first > last: none
} import_counter;

typedef struct import_tally {
    size_t count;   // used; what does not fit goes into the last: "others"
    uint64_t total; // of all counts
    import_counter counters[IMPORT_COUNTERS];
} import_tally;

struct import_job {
    import_source *source;
    const import_format *format;
    ts_writer *writer;
    const cli_tool *tool;
    int64_t rank, world_size; // IMPORT_NONE: unknown. The format sets them
    bool has_unix_offset;     // the next line is known
    int64_t unix_offset_ns;   // Unix time less the source's clock
    uint64_t rows;            // of the source. The format counts them
    // What became of them.
    import_tally bad;       // lost: into the loss ledger and the metadata
    import_tally flawed;    // kept, with a flaw: into the metadata
    import_tally unowned;   // what SBT has no place for, by category
    import_tally estimated; // values that had to be guessed
    uint64_t events[TS_EVENT_LIMIT];
    int64_t first_ns, last_ns; // of all events; first > last: none yet
    bool is_cut;               // the source ended early: the format found out
    cli_text secret; // what metadata call the first token or password in them
    struct import_tables *tables; // private
};

/*
    The core's part: a job that writes to `path`, and its end, which writes
    what was held back, the counts and the metadata, unless `keep` is false or
    there was no memory or no space: then nothing is left at `path`.
*/
import_job *import_job_open(const cli_tool *tool, import_source *source,
                            const import_format *format, const char *path,
                            ts_result *result);
ts_result import_job_end(import_job *job, bool keep); // the job stays readable
void import_job_close(import_job *job);

// Every time should be near this one: those that are more than 18 years away
// are bad rows ("zero_time", "absurd_time"). (The first time that is given.)
// One beyond 2^62 ns itself is not taken.
void import_near(import_job *job, int64_t time_ns);

// "TOOL: FILE: message"; returns false.
__attribute__((format(printf, 2, 3))) bool import_fail(import_job *job,
                                                       const char *format, ...);
bool import_out_of_memory(import_job *job); // likewise
// To be called now and then while reading: how far the source is read, or
// what the format itself counts (total 0: unknown).
void import_progress(import_job *job);
void import_progress_of(import_job *job, uint64_t done, uint64_t total);

/*
    Counts a row that does not arrive: `cause` is a short name such as
    "broken_row", "reversed_time", "no_time", "unknown_stream". `time` is when,
    or IMPORT_NONE.
*/
void import_bad(import_job *job, const char *cause, int64_t time_ns);
// A row that arrives all the same: "duplicate_correlation", "bad_escape".
void import_flaw(import_job *job, const char *cause);
// What there is no place for, by the source's own category (any bytes).
void import_unowned(import_job *job, const char *category, size_t size);
void import_unowned_many(import_job *job, const char *category, size_t size,
                         uint64_t count);
// A guess: "event_record". Formats rarely need it; section 6 does it.
void import_estimate(import_job *job, const char *what);

/* ==== 4. Metadata, names ================================================= */

// What makes a number (of a name, a site, a track) is called on its own: the
// order of two in one list of arguments differs from compiler to compiler.

// Of a track, or of the session (0). Keys are snake_case.
void import_meta_text(import_job *job, uint32_t track, const char *key,
                      const char *text, size_t size);
void import_meta_int(import_job *job, uint32_t track, const char *key,
                     int64_t value);
void import_meta_double(import_job *job, uint32_t track, const char *key,
                        double value);

uint32_t import_name(import_job *job, const char *text, size_t size);
// A zone's site: its name and its category (number of a name or 0).
uint32_t import_site(import_job *job, uint32_t name, uint32_t category);
uint32_t import_colored_site(import_job *job, uint32_t name, uint32_t category,
                             uint32_t color); // 0x00RRGGBB, 0: none

/* ==== 5. Tracks ========================================================== */

/*
    The track of an id, made at its first use. `process` may be IMPORT_NONE.
    A stream without a context lies on its device, one with it on its context.
    Names and flags may come at any time; what is set last counts.
*/
uint32_t import_process(import_job *job, int64_t process);
uint32_t import_thread(import_job *job, int64_t process, int64_t thread);
uint32_t import_device(import_job *job, int64_t device);
uint32_t import_known_device(import_job *job, int64_t device); // 0: not yet
uint32_t import_context(import_job *job, int64_t device, int64_t context);
uint32_t import_stream(import_job *job, int64_t device, int64_t context,
                       int64_t stream);
// For rows that are no thread's: a track of type thread below `parent` by
// this name, such as "CUPTI overhead" or "annotations, stream 7".
uint32_t import_lane(import_job *job, uint32_t parent, const char *name,
                     size_t size);
uint32_t import_counter_track(import_job *job, uint32_t parent,
                              const char *name, size_t size, const char *unit);
void import_track_name(import_job *job, uint32_t track, const char *text,
                       size_t size);
// TS_STREAM_...
void import_track_flags(import_job *job, uint32_t track, uint64_t flags);

/* ==== 6. Events ========================================================== */

// An event that needs nothing else: zone, mark, counter, alloc, ... Counts it.
void import_event(import_job *job, ts_event_kind kind, uint32_t track,
                  int64_t start_ns, int64_t duration_ns,
                  const ts_writer_value *values, size_t count);
void import_event_text(import_job *job, ts_event_kind kind, uint32_t track,
                       int64_t start_ns, int64_t duration_ns,
                       const ts_writer_value *values, size_t count,
                       const char *text, size_t text_size);

// What is known of a collective; all 0: unknown.
typedef struct import_facts {
    uint64_t communicator, sequence, size; // size: of the larger buffer, bytes
    uint32_t name;                         // number of a ts_collective_kind's
    uint32_t type;                         // of its elements
    uint32_t ranks;                        // how many take part
    uint32_t peer; // of a Send or Recv: the other's rank + 1
} import_facts;

/*
    A zone of a thread. GPU operations launched in it get its site (if it is
    the innermost one then) and, if they are collectives, what `facts` knows
    and they do not. facts: NULL for a zone that is no collective. Returns the
    site, for the zone's arguments.
*/
uint32_t import_zone(import_job *job, uint32_t thread, int64_t start_ns,
                     int64_t duration_ns, uint32_t name, uint32_t category,
                     const import_facts *facts);
void import_zone_at(import_job *job, uint32_t thread, int64_t start_ns,
                    int64_t duration_ns, uint32_t site,
                    const import_facts *facts);
// An argument of a zone: of that track, start and site.
void import_zone_int(import_job *job, uint32_t thread, int64_t start_ns,
                     uint32_t site, uint32_t name, int64_t value);
void import_zone_double(import_job *job, uint32_t thread, int64_t start_ns,
                        uint32_t site, uint32_t name, double value);
void import_zone_text(import_job *job, uint32_t thread, int64_t start_ns,
                      uint32_t site, uint32_t name, const char *text,
                      size_t size);

// A call of a runtime or driver function. Correlation 0: none. The operations
// of that correlation are its own, whether they came before or will come; a
// second call of one correlation is written and counted as a flaw.
void import_api_call(import_job *job, uint32_t thread, int64_t start_ns,
                     int64_t duration_ns, uint32_t name, uint64_t correlation,
                     uint64_t result);

/*
    A GPU operation. It is held back until import_operations_end, which gives
    it the thread of its API call, finds the times of those that the source
    knows only as calls, and writes all in order of their starts. All zeros but
    kind, track and times is a complete operation.
*/
typedef struct import_operation {
    int64_t start_ns, duration_ns;
    int64_t queued_ns, submitted_ns; // 0: not recorded
    uint64_t correlation;            // 0: none
    uint64_t size, address, source;  // copies, sets, allocations
    uint64_t id;     // event; of a kernel: graph node; of a set: value
    uint64_t record; // of a wait: correlation of its record
    uint32_t track;  // stream, device or context
    uint32_t thread; // (that of the API call)
    uint32_t site;   // (that of the innermost zone at the API call)
    uint32_t launch, name;
    uint32_t graph, peer, pool;
    uint8_t kind;   // ts_event_kind
    uint8_t type;   // of a copy
    uint8_t memory; // kinds of memory, as the column
    /*
        The times above are those of the host call, because the source knows
        no others. A record then happens when what was issued before it on its
        stream has ended, or at the call if that is later; a wait begins by
        the same rule and ends when its record has happened, at the latest
        when the next operation on its stream began.
    */
    bool is_call_time;
} import_operation;
void import_gpu(import_job *job, const import_operation *operation);
// A collective: its kind is TS_EVENT_COLLECTIVE.
void import_gpu_collective(import_job *job, const import_operation *operation,
                           const import_facts *facts);
// A kernel; one of a communication library becomes a collective of which its
// name tells the kind and the type of elements.
void import_kernel(import_job *job, import_operation *operation,
                   const char *name, size_t size);
// A record that the source shows only by its waits, with the correlation of
// its API call. May be said several times; what import_gpu gave comes first.
void import_event_record(import_job *job, uint32_t stream, uint64_t id,
                         uint64_t correlation);
// A record whose call the source does not show either: it is taken to come
// just before the call of the wait with that correlation.
void import_event_record_before(import_job *job, uint32_t stream, uint64_t id,
                                uint64_t wait);

// Writes what was held back. The core calls it after import() was true.
void import_operations_end(import_job *job);

// The number of a launch configuration.
uint32_t import_launch(import_job *job, const ts_launch_entry *launch);

/* ==== 7. Collectives ===================================================== */

// A number for a communicator by its name or id, never 0; 0 in the trace
// means that the source does not tell.
uint64_t import_communicator(const char *name, size_t size);
// The size of ts_collective_element's; 0: unknown.
uint32_t import_element_bytes(uint32_t element);

#endif // TS_IMPORT_H
