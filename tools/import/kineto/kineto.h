/*
    kineto.h - JSON traces of the PyTorch profiler (Kineto)

        import_source -> json.c -> rows -> host.c, ... -> job
                         blocks, repair   flow    what each row means

    The parser and the importer run on two threads, with a queue (the flow)
    between them; if no second thread can be started, on one.

    A row is an element of the array traceEvents, or another object of the file
    ("distributedInfo", each element of "deviceProperties").
*/
#ifndef TS_TOOLS_IMPORT_KINETO_KINETO_H
#define TS_TOOLS_IMPORT_KINETO_KINETO_H

#include "tools/import/import.h"
#include "tools/import/map.h"
#include "tools/import/sbt0/sbt0.h"

/* ==== 1. Rows ============================================================ */

typedef enum kineto_type {
    KINETO_NONE, // no value
    KINETO_NULL,
    KINETO_FALSE,
    KINETO_TRUE,
    KINETO_NUMBER, // text of the file
    KINETO_TEXT,
    KINETO_NESTED // an array or object, as JSON text without whitespace
} kineto_type;

typedef struct kineto_value {
    kineto_type type;
    const char *text;
    size_t size;
} kineto_value;

typedef enum kineto_field {
    KINETO_PH,
    KINETO_CAT,
    KINETO_NAME,
    KINETO_PID,
    KINETO_TID,
    KINETO_TS,
    KINETO_DUR,
    KINETO_ID,
    KINETO_ID2,   // {"local": id} or {"global": id}
    KINETO_SCOPE, // of the id, instead of the category
    KINETO_FIELDS // number of fields
} kineto_field;

// Where in the file a row was found.
typedef enum kineto_place {
    KINETO_EVENT,
    KINETO_DEVICE, // an element of deviceProperties
    KINETO_OBJECT, // another object at the top; row.key has its key
    KINETO_SCALAR  // a value or array at the top: the row's only argument
} kineto_place;

enum {
    KINETO_ARGS = 64
}; // kept arguments of a row; further ones are only counted

typedef struct kineto_arg {
    const char *key;
    size_t key_size;
    kineto_value value;
} kineto_arg;

// Lifetime of texts and arguments: until the next row.
typedef struct kineto_row {
    kineto_place place;
    kineto_value fields[KINETO_FIELDS];
    kineto_arg *args; // arg_count
    size_t arg_count;
    const char *key; // of an object other than traceEvents
    size_t key_size;
} kineto_row;

// Returns the argument with this key; type KINETO_NONE if there is none.
kineto_value kineto_find(const kineto_row *row, const char *key);
bool kineto_is(kineto_value value,
               const char *text); // equal text, ignoring case

// Reads an integer from a number or from a text; false if the value is none.
bool kineto_int(kineto_value value, int64_t *number);
// Converts a number, or a text that is one. False if it is neither, or not
// finite.
bool kineto_double(kineto_value value, double *number);
// Returns whether a number is written with a fraction or an exponent: 0.5,
// 1e-05, 2E3.
bool kineto_is_real(kineto_value value);
// Converts a decimal text times 10^scale to an integer, exactly, rounding half
// up.
bool kineto_decimal(const char *text, size_t size, int scale, int64_t *number);
// Reads the numbers of a nested array such as [8,16,5]; returns their count.
size_t kineto_list(kineto_value value, int64_t *numbers, size_t count);

/* ==== 2. Parser ========================================================== */

typedef struct kineto kineto;
typedef struct kineto_pairs kineto_pairs;

// Reads the whole source and passes its rows to kineto_take, in order. False:
// the source is no JSON, or out of memory.
bool kineto_parse(kineto *k);

// Returns the field with this key; KINETO_FIELDS for "args", -1 for others.
int kineto_field_of(const uint8_t *key, size_t size);

// Copies a row that yajl rejected and repairs what it can: a backslash that
// starts no escape is escaped, a word that is no literal becomes null. The copy
// takes at most 2 * size + 8 bytes.
size_t kineto_mend(const uint8_t *row, size_t size, uint8_t *mended);

// Finds the first position, at `from` or later, where parsing can resume after
// damage; returns `size` if there is none. Looks at most KINETO_LOOK bytes past
// a position.
typedef size_t kineto_finder(const uint8_t *text, size_t from, size_t size);
enum { KINETO_LOOK = 64 };
// A finder of the next row of an array of events, or of the array's end.
size_t kineto_find_row(const uint8_t *text, size_t from, size_t size);
// A finder of the first row of "traceEvents": the place behind its bracket.
size_t kineto_find_events(const uint8_t *text, size_t from, size_t size);

/* ==== 3. Import ========================================================== */

// A name or label of a process or thread, kept until the end: only then is it
// known which processes stand for devices.
typedef struct kineto_label {
    int64_t pid, tid; // tid IMPORT_NONE: the label of a process
    char kind;        // 'n' name, 'l' labels, 's' sort index
    char text[256];   // truncated
    size_t size;
    int64_t index;
} kineto_label;

typedef struct kineto_stream {
    int64_t device, context, stream;
    uint64_t flags; // priority
    uint32_t track;
} kineto_stream;

// How often an argument that SBT has no place for occurred.
typedef struct kineto_unused {
    uint64_t hash, count;
    char text[64]; // "kernel: blocks per SM"
} kineto_unused;

// A text and its number among the writer's names.
typedef struct kineto_word {
    char text[48];
    uint32_t size, number;
} kineto_word;

// Larger times in nanoseconds are Unix times (after 2001).
#define KINETO_UNIX_FROM INT64_C(1000000000000000000)
// Only Unix times in nanoseconds have that many digits.
enum { KINETO_NS_DIGITS = 18 };

enum { KINETO_UNUSED = 512, KINETO_WORDS = 256, KINETO_LABELS = 4096 };

struct kineto {
    import_job *job;
    const kineto_row *row;
    bool is_hip; // calls have HIP's names, where stream 0 is the default stream
    kineto_label *labels; // label_count
    size_t label_count;
    kineto_stream *streams; // stream_count
    size_t stream_count, stream_room;
    cli_map stream_of; // by track: index into streams + 1
    sbt0 old;          // of TraceSmith 0.x; without a job: no such file
    cli_map npus;      // of Ascend: hash of a process to its device + 1
    kineto_unused unused[KINETO_UNUSED]; // open addressing
    size_t unused_count;
    kineto_pairs *pairs;             // private to pairs.c
    kineto_word words[KINETO_WORDS]; // a cache, by hash
};

typedef struct kineto_time {
    int64_t start_ns, duration_ns;
} kineto_time;

// Imports the row k->row.
void kineto_take(kineto *k);

// Imports a row of phase X by its category; kineto_is_zone returns whether it
// is a zone.
void kineto_take_complete(kineto *k);
// Whether the row's category is one whose rows become zones of their thread.
bool kineto_is_zone(const kineto *k);
// Reads "ts" and, if requested, "dur" in nanoseconds. False if they are missing
// or invalid; the row is counted as bad.
bool kineto_time_of(kineto *k, kineto_time *time, bool with_duration);
// Counts an argument that SBT has no place for.
void kineto_no_place(kineto *k, const char *key, size_t size);
// Counts the arguments of the row that are not in `known`, which ends with
// NULL.
void kineto_no_place_but(kineto *k, const char *const *known);
// Returns the number of a text, through a cache for frequent ones.
uint32_t kineto_number_of(kineto *k, const char *text, size_t size);
// Returns the number of the row's category among the writer's names; 0: none.
uint32_t kineto_category(kineto *k);
// Returns the track of the row's pid and tid: a thread, or a lane if one of
// them is a text.
uint32_t kineto_thread(kineto *k);
// Returns the track of the row's pid; 0 if it is a text.
uint32_t kineto_process(kineto *k);
// Reads what the row's arguments say about a collective; false: nothing.
bool kineto_facts(kineto *k, import_facts *facts);

// Imports a task of an Ascend NPU, or the call of one. False: it is neither.
bool kineto_take_ascend(kineto *k);
// Imports an event of TraceSmith 0.x. False: it is none.
bool kineto_take_sbt0(kineto *k);
// Imports a kernel, copy or memset. Without a known stream it is bad.
void kineto_take_gpu(kineto *k, ts_event_kind kind);
// Imports a synchronisation or an event wait, by its cuda_sync_kind.
void kineto_take_sync(kineto *k);
// Imports the record of an event.
void kineto_take_record(kineto *k);
// Imports a call of a runtime or driver function; without a name it is bad.
void kineto_take_call(kineto *k);
// Imports a zone of the row's thread, with its arguments.
void kineto_take_zone(kineto *k);
// Imports a zone on a device's timeline: onto a lane of its stream, below the
// device.
void kineto_take_gpu_zone(kineto *k);
// Imports a span of the profiler itself, onto a lane of its own.
void kineto_take_span(kineto *k);
// Imports time that the profiler took, onto the lane "profiler overhead", which
// rule profiler-overhead looks for.
void kineto_take_overhead(kineto *k);
// Imports an instant: an allocation if it is "[memory]", else a mark.
void kineto_take_instant(kineto *k);
// Imports a flow. Arrows from calls to their operations have no place: the
// correlation id says the same.
void kineto_take_flow(kineto *k);
// Imports a sample for each argument of the row, each a counter of its own.
void kineto_take_counter(kineto *k);
// Keeps the name, labels or sort index of a process or thread until kineto_end;
// more than KINETO_LABELS have no place.
void kineto_take_label(kineto *k);
// Imports a field outside of the events: device properties, objects, the base
// of times, and everything else as metadata.
void kineto_take_metadata(kineto *k);
void kineto_take_begin(kineto *k); // phases B, E
// Ends the innermost open row of its thread (phase E), which becomes a zone;
// without one the row is bad.
void kineto_take_end(kineto *k);
void kineto_take_span_begin(kineto *k); // phases b, e; S, F
// Ends the open span with the row's id and category (phases e, F).
void kineto_take_span_end(kineto *k);
// Imports an instant of a span (phases n, T, p) as a mark.
void kineto_take_span_step(kineto *k);
// Writes the zones that never ended, and frees k->pairs.
void kineto_pairs_end(kineto *k);
// Writes labels, default streams and the counts of unused arguments.
void kineto_end(kineto *k);

#endif // TS_TOOLS_IMPORT_KINETO_KINETO_H
