/*
    verify.h - ts-replay --verify: two traces of one program compared

    load.c   reads the operations of both by stream and numbers their contents
    diff.c   finds the operations of two sequences that correspond
    match.c  finds the differences, and compares times of matched operations
    collectives.c   finds the communicators that correspond
    text.c, json.c   the reports
*/
#ifndef TS_TOOLS_REPLAY_VERIFY_VERIFY_H
#define TS_TOOLS_REPLAY_VERIFY_VERIFY_H

#include "tools/replay/replay.h"

#define VERIFY_NONE UINT32_MAX

typedef enum verify_what {
    VERIFY_CONTENT, // another operation, or other arguments
    VERIFY_ORDER,   // same stream, another position
    VERIFY_MOVED,   // on another stream
    VERIFY_MISSING, // only in A
    VERIFY_EXTRA,   // only in B
    VERIFY_KINDS,
    VERIFY_SAME = VERIFY_KINDS // no difference
} verify_what;

typedef struct verify_op {
    int64_t start_ns, duration_ns;
    uint32_t content;    // equal for operations of equal arguments
    uint32_t name;       // equal for operations of equal kind and name
    uint32_t chunk, row; // where its event is stored
    uint32_t stream;
    uint32_t communicator; // from 1, in order of the file; 0: unknown
    uint32_t partner; // matching operation of the other side or VERIFY_NONE
    verify_what what;
} verify_op;

typedef struct verify_stream {
    ts_track track;           // type 0 if the trace does not define it
    uint64_t device, context; // numbers
    uint32_t first, count;    // range of its operations
    uint32_t partner;         // stream of the other side or VERIFY_NONE
    bool by_number;           // partner found by number, not by first use
    bool syncs; // holds only the syncs of a stream: they start when the host
                // calls, so their order among its work depends on timing
} verify_stream;

typedef struct verify_side {
    const char *path;
    cli_trace trace;
    verify_op *ops; // grouped by stream, in its order
    uint32_t op_count;
    verify_stream *streams; // sorted by device, context, number
    uint32_t stream_count;
    ts_columns columns; // of the chunk that was read last
    uint32_t columns_chunk;
    bool columns_good;
} verify_side;

typedef struct verify_difference {
    verify_what what;
    uint32_t a, b;   // operations or VERIFY_NONE
    int64_t time_ns; // from the start of its trace
} verify_difference;

typedef struct verify_spread {
    int64_t p50_ns, p95_ns, max_ns;
} verify_spread;

typedef struct verify_report {
    verify_side side[2];
    verify_difference *differences; // in order of time
    size_t count;
    uint64_t of[VERIFY_KINDS];
    uint64_t matched; // pairs of equal operations
    // Times of these.
    uint64_t other_durations;
    int64_t work_ns[2];            // sum of their durations
    int64_t makespan_ns[2];        // of all operations
    verify_spread duration, start; // differences; start: from the first one's
} verify_report;

// The distinct contents of both traces and their numbers.
typedef struct verify_contents verify_contents;

// Loads the operations of both sides, with equal numbers for equal names and
// contents. False without memory.
bool verify_load(verify_side side[2]);
// Frees the operations of a side; its trace stays open.
void verify_close(verify_side *side);
// Reads the event of an operation. False if it can no longer be read.
bool verify_event(verify_side *side, uint32_t op, ts_event *event);

/*
    Finds a common subsequence of two sequences and marks the elements that are
    not in it (only_a, only_b). It is the longest one if the sequences are
    similar, else nearly. Time: (a_count + b_count) * min(differences, a
    constant). False without memory.
*/
bool verify_diff(const uint32_t *a, uint32_t a_count, const uint32_t *b,
                 uint32_t b_count, bool *only_a, bool *only_b);

// Matches the operations of both sides and lists the differences. False without
// memory.
bool verify_match(verify_report *report);
// Renumbers the communicators of B like those of A; call it when the operations
// are matched. False without memory.
bool verify_communicators(verify_report *report);
// Whether an operation of A and its partner are on communicators that do not
// correspond.
bool verify_joins_others(const verify_report *report, uint32_t op);

/*
    A field of an operation: those that verify_load compares, in the same order.
    `key` is the key in --json.
*/
enum { VERIFY_FIELDS = 16 };
typedef struct verify_field {
    const char *key;
    ts_text text; // a name, or the text of `made`
    cli_text made;
    uint64_t number; // the value behind `made`, if `is_number`
    bool is_number;
} verify_field;
// Lists the fields of an operation that are compared, as text, for an operation
// that differs. Texts live until the next call. Returns their number; 0 if the
// event cannot be read.
size_t verify_fields(verify_side *side, uint32_t op,
                     verify_field fields[VERIFY_FIELDS]);
// "content", "order", ...
const char *verify_name(verify_what what);
// Whether both sides have the same operations: equal ones, and equally many.
bool verify_is_same(const verify_report *report);
// Prints the comparison for people.
void verify_text(verify_report *report);
// Prints the comparison as one JSON object.
void verify_json(verify_report *report);

#endif // TS_TOOLS_REPLAY_VERIFY_VERIFY_H
