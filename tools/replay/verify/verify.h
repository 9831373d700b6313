/*
    verify.h - ts-replay --verify: two traces of one program compared

    load.c   the operations of both, by stream, their contents numbered
    diff.c   which operations of two sequences correspond
    match.c  what the differences are; timing of what corresponds
    collectives.c   which communicators correspond
    text.c, json.c   the reports
*/
#ifndef TS_TOOLS_REPLAY_VERIFY_VERIFY_H
#define TS_TOOLS_REPLAY_VERIFY_VERIFY_H

#include "tools/replay/replay.h"

#define VERIFY_NONE UINT32_MAX

typedef enum verify_what {
    VERIFY_CONTENT, // another operation, or other arguments, in its place
    VERIFY_ORDER,   // at another place of its stream
    VERIFY_MOVED,   // on another stream
    VERIFY_MISSING, // in A alone
    VERIFY_EXTRA,   // in B alone
    VERIFY_KINDS,
    VERIFY_SAME = VERIFY_KINDS // no difference
} verify_what;

typedef struct verify_op {
    int64_t start_ns, duration_ns;
    uint32_t content;    // equal for operations of equal arguments
    uint32_t name;       // equal for operations of equal kind and name
    uint32_t chunk, row; // where the rest of it is
    uint32_t stream;
    uint32_t communicator; // from 1 in order of the file; 0: none is known
    uint32_t partner;      // the operation that it corresponds to, VERIFY_NONE
    verify_what what;
} verify_op;

typedef struct verify_stream {
    ts_track track;           // type 0 if the trace does not define it
    uint64_t device, context; // numbers
    uint32_t first, count;    // of its operations
    uint32_t partner;         // stream of the other side, VERIFY_NONE
    bool by_number;           // and not by order of first use
    bool syncs; // the syncs of a stream, which start when the host gets there:
                // their order among its work is a matter of timing
} verify_stream;

typedef struct verify_side {
    const char *path;
    cli_trace trace;
    verify_op *ops; // by stream, each in its order
    uint32_t op_count;
    verify_stream *streams; // by device, context and number
    uint32_t stream_count;
    ts_columns columns; // of the chunk looked at last
    uint32_t columns_chunk;
    bool columns_good;
} verify_side;

typedef struct verify_difference {
    verify_what what;
    uint32_t a, b;   // operations, VERIFY_NONE
    int64_t time_ns; // after the start of its trace
} verify_difference;

typedef struct verify_spread {
    int64_t p50_ns, p95_ns, max_ns;
} verify_spread;

typedef struct verify_report {
    verify_side side[2];
    verify_difference *differences; // in order of time
    size_t count;
    uint64_t of[VERIFY_KINDS];
    uint64_t matched; // operations that correspond and are equal
    // Timing of these.
    uint64_t other_durations;
    int64_t work_ns[2];            // sum of their durations
    int64_t makespan_ns[2];        // of all operations
    verify_spread duration, start; // how far apart, start from the first
} verify_report;

// Contents that were seen, in both traces, and their numbers.
typedef struct verify_contents verify_contents;

bool verify_load(verify_side side[2]);
void verify_close(verify_side *side);
// Fills in the event of an operation; false if it cannot be read any more.
bool verify_event(verify_side *side, uint32_t op, ts_event *event);

/*
    Marks what of two sequences has no counterpart in a common subsequence
    that is nearly as long as possible: exactly so where they are much alike.
    Time grows with the sum of the counts, times the differences up to a
    bound. False without memory.
*/
bool verify_diff(const uint32_t *a, uint32_t a_count, const uint32_t *b,
                 uint32_t b_count, bool *only_a, bool *only_b);

// False without memory.
bool verify_match(verify_report *report);
// Once it is known which operations correspond: numbers the communicators of
// B as those of A. False without memory.
bool verify_communicators(verify_report *report);
// Whether an operation of A and its partner are on communicators that do not
// correspond.
bool verify_joins_others(const verify_report *report, uint32_t op);

/*
    What an operation is, for people and for comparison: the fields that
    verify_load compares, in its order. `key` is that of --json.
*/
enum { VERIFY_FIELDS = 16 };
typedef struct verify_field {
    const char *key;
    ts_text text; // a name, or that of `made`
    cli_text made;
    uint64_t number; // what `made` was made of, if `is_number`
    bool is_number;
} verify_field;
size_t verify_fields(verify_side *side, uint32_t op,
                     verify_field fields[VERIFY_FIELDS]);
// "content", "order", ...
const char *verify_name(verify_what what);
bool verify_is_same(const verify_report *report);
void verify_text(verify_report *report);
void verify_json(verify_report *report);

#endif // TS_TOOLS_REPLAY_VERIFY_VERIFY_H
