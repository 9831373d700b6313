/*
    kineto.h - JSON traces of the PyTorch profiler (Kineto)

        import_source -> json.c -> rows -> host.c, ... -> job
                         blocks, repair   flow    what each row means

    Two threads, one on either side of the flow; without a second one the
    flow is a function call.

    A row is an element of the array traceEvents, or an object that stands
    beside it in the file ("distributedInfo", each of "deviceProperties").
*/
#ifndef TS_TOOLS_IMPORT_KINETO_KINETO_H
#define TS_TOOLS_IMPORT_KINETO_KINETO_H

#include "tools/import/import.h"
#include "tools/import/map.h"

/* ==== 1. Rows ============================================================ */

typedef enum kineto_type {
    KINETO_NONE, // there is no such value
    KINETO_NULL,
    KINETO_FALSE,
    KINETO_TRUE,
    KINETO_NUMBER, // as it stands in the file
    KINETO_TEXT,
    KINETO_NESTED // an array or object, as JSON without blanks
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
    KINETO_FIELDS // how many
} kineto_field;

// What kind of row: of what it is an element.
typedef enum kineto_place {
    KINETO_EVENT,
    KINETO_DEVICE, // of deviceProperties
    KINETO_OBJECT, // an object beside traceEvents; its key is in row.key
    KINETO_SCALAR  // a value or array beside it: the only argument
} kineto_place;

enum { KINETO_ARGS = 64 }; // arguments of a row; others are counted

typedef struct kineto_arg {
    const char *key;
    size_t key_size;
    kineto_value value;
} kineto_arg;

// Texts and arguments live until the next row.
typedef struct kineto_row {
    kineto_place place;
    kineto_value fields[KINETO_FIELDS];
    kineto_arg *args; // arg_count
    size_t arg_count;
    const char *key; // of an object beside traceEvents
    size_t key_size;
} kineto_row;

// The argument of that key; type KINETO_NONE if there is none.
kineto_value kineto_find(const kineto_row *row, const char *key);
bool kineto_is(kineto_value value, const char *text); // a text, whatever case

// Numbers also stand as texts. False: the value is no such number.
bool kineto_int(kineto_value value, int64_t *number);
bool kineto_double(kineto_value value, double *number);
// Whether it is written as a number that need not be whole: 0.5, 1e-05, 2E3.
bool kineto_is_real(kineto_value value);
// Decimal text times 10^scale, exactly, rounded half up at its last digit.
bool kineto_decimal(const char *text, size_t size, int scale, int64_t *number);
// The numbers of a nested array such as [8,16,5]; returns how many.
size_t kineto_list(kineto_value value, int64_t *numbers, size_t count);

/* ==== 2. Parser ========================================================== */

typedef struct kineto kineto;
typedef struct kineto_pairs kineto_pairs;

// Reads the whole source and gives its rows to kineto_take, in order.
// False: it is no JSON at all, or out of memory.
bool kineto_parse(kineto *k);

// KINETO_FIELDS is "args", -1 none of the fields.
int kineto_field_of(const uint8_t *key, size_t size);

// A copy of a row that yajl may like better, at most twice as long + 8: what
// is no escape becomes a backslash, a word that is no number becomes null.
size_t kineto_mend(const uint8_t *row, size_t size, uint8_t *mended);

// Where parsing may go on, from `from` on; size: nowhere in this text. At
// most KINETO_LOOK bytes behind that place decide.
typedef size_t kineto_finder(const uint8_t *text, size_t from, size_t size);
enum { KINETO_LOOK = 64 };
size_t kineto_find_row(const uint8_t *text, size_t from, size_t size);
size_t kineto_find_events(const uint8_t *text, size_t from, size_t size);

/* ==== 3. Import ========================================================== */

// A name or label of a process or thread. Which processes are devices is
// known only at the end.
typedef struct kineto_label {
    int64_t pid, tid; // tid IMPORT_NONE: of the process
    char kind;        // 'n' name, 'l' labels, 's' sort index
    char text[256];   // cut
    size_t size;
    int64_t index;
} kineto_label;

typedef struct kineto_stream {
    int64_t device, context, stream;
    uint64_t flags; // priority
    uint32_t track;
} kineto_stream;

// How often an argument that has no place was there.
typedef struct kineto_unused {
    uint64_t hash, count;
    char text[64]; // "kernel: blocks per SM"
} kineto_unused;

// The number of a text among the writer's names.
typedef struct kineto_word {
    char text[48];
    uint32_t size, number;
} kineto_word;

// Nanoseconds from which on times can only be Unix times (2001).
#define KINETO_UNIX_FROM INT64_C(1000000000000000000)
// Digits that only Unix times in nanoseconds have.
enum { KINETO_NS_DIGITS = 18 };

enum { KINETO_UNUSED = 512, KINETO_WORDS = 256, KINETO_LABELS = 4096 };

struct kineto {
    import_job *job;
    const kineto_row *row;
    bool is_hip; // calls are named so: their default stream is number 0
    kineto_label *labels; // label_count
    size_t label_count;
    kineto_stream *streams; // stream_count
    size_t stream_count, stream_room;
    cli_map stream_of;                   // by track: index of a stream, from 1
    kineto_unused unused[KINETO_UNUSED]; // open addressing
    size_t unused_count;
    kineto_pairs *pairs;             // private to pairs.c
    kineto_word words[KINETO_WORDS]; // by hash; the last one seen
};

typedef struct kineto_time {
    int64_t start_ns, duration_ns;
} kineto_time;

// The row that the parser has found: k->row.
void kineto_take(kineto *k);

// What a row of phase X is, by its category; whether that is a zone.
void kineto_take_complete(kineto *k);
bool kineto_is_zone(const kineto *k);
// Nanoseconds of "ts" and, if wanted, "dur". False: counted as bad.
bool kineto_time_of(kineto *k, kineto_time *time, bool with_duration);
// Counts an argument that SBT has no place for.
void kineto_no_place(kineto *k, const char *key, size_t size);
// Counts those of a row that are not in the list, which ends with NULL.
void kineto_no_place_but(kineto *k, const char *const *known);
// The number of a text that comes often.
uint32_t kineto_number_of(kineto *k, const char *text, size_t size);
uint32_t kineto_category(kineto *k);
// The track of pid and tid: a thread, or a lane if one of them is a text.
uint32_t kineto_thread(kineto *k);
// The process of pid, 0 if it is a text.
uint32_t kineto_process(kineto *k);
// What the arguments of a row say about a collective; false: nothing.
bool kineto_facts(kineto *k, import_facts *facts);

void kineto_take_gpu(kineto *k, ts_event_kind kind);
void kineto_take_sync(kineto *k);
void kineto_take_record(kineto *k);
void kineto_take_call(kineto *k);
void kineto_take_zone(kineto *k);
void kineto_take_gpu_zone(kineto *k);
void kineto_take_span(kineto *k);
void kineto_take_overhead(kineto *k);
void kineto_take_instant(kineto *k);
void kineto_take_flow(kineto *k);
void kineto_take_counter(kineto *k);
void kineto_take_label(kineto *k);
void kineto_take_metadata(kineto *k);
void kineto_take_begin(kineto *k); // B, E
void kineto_take_end(kineto *k);
void kineto_take_span_begin(kineto *k); // b, e
void kineto_take_span_end(kineto *k);
// What never ended; frees all.
void kineto_pairs_end(kineto *k);
// Labels, default streams, counts of what has no place.
void kineto_end(kineto *k);

#endif // TS_TOOLS_IMPORT_KINETO_KINETO_H
