/*
    export.h - the interface between the walk over a trace and the formats

    The walk reads a trace once, in order of time:

        ts_cursor -> walk.c -> slices, instants, samples -> a format
                     links.c: which call launched which GPU operation

    A *lane* is a row of the output on which slices nest properly. A thread, a
    stream or any other *row* starts with one lane and gets more where slices
    overlap without nesting, or nest deeper than viewers allow. A format
    (perfetto.c, chrome.c) depends on lanes and items, not on SBT's events. To
    add one, write a file with an export_format, declare it at the end of this
    header and list it in request.c.

    Memory: the open slices, the live allocations (for the running counters),
    about 100 bytes for each GPU operation (for the arrows), a few blocks of
    output. Nothing grows with the number of other events.
*/
#ifndef TS_EXPORT_H
#define TS_EXPORT_H

#include "tools/cli/cli.h"
#include "tools/export/memory.h"
#include "tools/tracesmith_tools.h"

/* ==== 1. Items =========================================================== */

typedef enum export_arg_type {
    EXPORT_INT,
    EXPORT_UINT,
    EXPORT_DOUBLE,
    EXPORT_TEXT,
    EXPORT_ADDRESS, // a number shown in hexadecimal
    EXPORT_TRUE,
    EXPORT_TRIPLE // three u32, such as a grid's size
} export_arg_type;

// Arguments that the exporter names itself, unlike those of the program. At
// most 63.
#define EXPORT_ARGS(X) \
    X(CORRELATION, "correlation") \
    X(QUEUED_NS, "queued_ns") \
    X(SUBMITTED_NS, "submitted_ns") \
    X(BYTES, "bytes") \
    X(SOURCE, "source") \
    X(ADDRESS, "address") \
    X(GRAPH, "graph") \
    X(GRAPH_NODE, "graph_node") \
    X(ID, "id") \
    X(RECORD, "record") \
    X(COMMUNICATOR, "communicator") \
    X(SEQUENCE, "sequence") \
    X(RANKS, "ranks") \
    X(GRID, "grid") \
    X(BLOCK, "block") \
    X(CLUSTER, "cluster") \
    X(REGISTERS, "registers") \
    X(STATIC_SHARED_BYTES, "static_shared_bytes") \
    X(DYNAMIC_SHARED_BYTES, "dynamic_shared_bytes") \
    X(LOCAL_BYTES, "local_bytes") \
    X(COPY, "copy") \
    X(SOURCE_MEMORY, "source_memory") \
    X(DESTINATION_MEMORY, "destination_memory") \
    X(VALUE, "value") \
    X(ELEMENT, "element") \
    X(MEMORY, "memory") \
    X(POOL, "pool") \
    X(PEER, "peer") \
    X(THREAD, "thread") \
    X(ZONE, "zone") \
    X(CATEGORY, "category") \
    X(FRAME, "frame") \
    X(UNFINISHED, "unfinished") \
    X(RESULT, "result") \
    X(COUNT, "count") \
    X(CAUSE, "cause") \
    X(DETAIL, "detail") \
    X(STALL_NS, "stall_ns") \
    X(OFFSET, "offset") \
    X(WHAT, "what") \
    X(COLOR, "color") \
    X(WEIGHT, "weight") \
    X(UNIT, "unit")

typedef enum export_arg_name {
    EXPORT_ARG_OTHER, // see `name`
#define X(id, text) EXPORT_ARG_##id,
    EXPORT_ARGS(X)
#undef X
        EXPORT_ARG_LIMIT
} export_arg_name;

extern const ts_text export_arg_names[EXPORT_ARG_LIMIT];

struct export_arg;
void export_put_arg_name(export_buffer *buffer, const struct export_arg *arg);

typedef struct export_arg {
    ts_text name;    // lives as long as the trace
    uint8_t known;   // export_arg_name
    uint16_t repeat; // earlier arguments with this name: "text", "text 2", ...
    export_arg_type type;
    uint32_t next; // private to walk.c
    union {
        int64_t number;
        uint64_t uint;
        double real;
        ts_text text;
        uint32_t triple[3];
    } u;
} export_arg;

// Arguments that many items share, such as a kernel's configuration. A format
// can encode them once and reuse the result, by `id`.
typedef struct export_shared {
    uint32_t id; // 1, 2, ...
    uint32_t count;
    const export_arg *args; // known names without repeats; live until the end
    ts_text name;           // of a kernel; else empty
} export_shared;

/*
    Arrows go from the item whose `source` is a number to the items whose
    `target` is the same number; 0: no arrow. `fan_out` is the number of arrows
    that leave an item; the items where they arrive have `arrow` 0, 1, ...
    FLOW events are arrows too, with `flow` and `phase` instead.
*/
typedef struct export_arrows {
    uint64_t source, target;
    uint32_t fan_out, arrow;
    // The clocks disagree: the operation seems to begin before its launch,
    // which is at source_ns. An arrow to the beginning of the slice would
    // arrive before it left.
    bool is_late;
    bool has_late; // is_late holds for one of the arrows that leave here
    int64_t source_ns;
    uint64_t flow;
    ts_phase phase; // 0: no flow
} export_arrows;

// Returns the number of a flow's arrows: a hash with the highest bit set,
// because programs may choose any flow id. Source: Vigna's splitmix64.
static inline uint64_t export_flow_number(uint64_t flow)
{
    uint64_t x = flow + UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return (x ^ x >> 31) | UINT64_C(1) << 63;
}

// Returns the number of a launch's arrow. It is small, so most of its bytes are
// zero.
static inline uint64_t export_launch_number(uint64_t source, uint32_t arrow)
{
    return (source | (uint64_t)arrow << 32) & INT64_MAX;
}

#define EXPORT_OPEN_END INT64_MAX // the end of the slice is still unknown

typedef struct export_item {
    int64_t start_ns, end_ns;
    uint32_t site;    // has name, category, place, colour; 0: none
    bool name_kept;   // name lives as long as the trace
    bool name_shared; // of a kernel whose name is shared->name
    bool is_log;      // a message; name is its text
    bool is_sample;   // of a profile, at `stack`
    ts_text name;     // replaces the site's name if not empty
    ts_text category; // replaces the site's; lives as long as the trace
    uint32_t stack;
    uint32_t arg_count;
    const export_arg *args;      // valid during the call
    const export_shared *shared; // further arguments, after `args`; may be NULL
    export_arrows arrows;
} export_item;

/* ==== 2. Lanes =========================================================== */

// Appends a track's name. Devices get their number, because two of one model
// have the same name; unnamed tracks get their type and number.
void export_put_track_name(export_buffer *buffer, const ts_track *track);

typedef enum export_lane_kind {
    EXPORT_PROCESS,
    EXPORT_THREAD,
    EXPORT_DEVICE, // a heading for streams
    EXPORT_GROUP,  // a heading within a process
    EXPORT_ROW,    // a stream, frames, allocations, losses
    EXPORT_ASYNC,  // spans: slices whose end is unknown when they begin
    EXPORT_COUNTER
} export_lane_kind;

typedef struct export_open { // a slice that has begun
    int64_t start_ns, end_ns;
    uint64_t late_arrow; // arrow that arrives at its end; 0: none
    bool is_unfinished;  // it ends only because the trace ends
} export_open;

typedef struct export_lane {
    // Fields used for every event:
    void *state;            // private to the format
    export_open *open;      // innermost last
    size_t depth, capacity; // of `open`
    uint32_t id;            // 1, 2, ... in the order of their definition
    export_lane_kind kind;
    const struct export_lane *parent;
    const struct export_lane *first; // first lane of the row; NULL: this one
    ts_text name;
    ts_text unit;     // counters
    bool rate;        // counters: per second
    uint64_t process; // process id
    uint64_t number;  // thread id
    struct export_row *row;
    struct export_lane *next_free; // spans
} export_lane;

#define EXPORT_DEPTH_MAX 500 // trace processors stop at 512

static inline int64_t export_end_ns(const ts_event *event)
{
    const uint64_t end =
        (uint64_t)event->start_ns + (uint64_t)event->duration_ns;
    return (int64_t)end < event->start_ns ? event->start_ns : (int64_t)end;
}

/* ==== 3. Output ========================================================== */

typedef struct export_out export_out;

typedef enum export_packing {
    EXPORT_PLAIN,
    EXPORT_PACKETS, // blocks become deflated packets of a Perfetto trace
    EXPORT_GZIP     // blocks become one gzip file
} export_packing;

#define EXPORT_BLOCK_BYTES (256u << 10)

/*
    Opens an output (path "-": stdout) for writing. A regular file is created or
    replaced under its name only when export_out_close succeeds; a tool that
    fails or is interrupted leaves an existing file as it was. Returns NULL on
    failure; *error is what failed, with errno set.
*/
export_out *export_out_open(const ts_output *output, export_packing packing,
                            const char **error);

// Moves the contents of a block to the output; the block is empty afterwards.
// A thread of the output packs and writes them.
void export_out_block(export_out *out, export_buffer *block);
// Returns 0, or the errno of the first failure.
int export_out_error(export_out *out);
// Completes the file, or removes it if `keep` is false or anything failed.
// Returns as export_out_error.
int export_out_close(export_out *out, bool keep);

/* ---- pack.c ------------------------------------------------------ */

typedef struct export_packer export_packer;

// Whether this build can compress, that is, has zlib.
extern const bool export_packs;

// Creates a packer for blocks of packets or of a gzip file. NULL: no memory.
export_packer *export_packer_open(export_packing packing);
// Compresses a block to one zlib stream and appends it. False: no memory.
bool export_pack_packets(export_packer *packer, export_buffer *to,
                         const export_buffer *from);
// Compresses a block and appends the finished bytes of the gzip file; with the
// `last` block, all of them.
void export_pack_gzip(export_packer *packer, export_buffer *to,
                      const export_buffer *from, bool last);
void export_packer_close(export_packer *packer); // NULL is allowed

/* ==== 4. Formats ========================================================= */

typedef struct export_options {
    int64_t from_ns,
        to_ns;     // exports what overlaps [from, to); both 0: everything
    bool no_args;  // leave out arguments and source locations
    bool no_flows; // leave out arrows
    void (*progress)(void *user, int64_t now_ns); // may be NULL
    void *user;
} export_options;

typedef struct export_counts {
    uint64_t slices, instants, samples, arrows, lanes;
    uint64_t stack_samples;                   // of profiles
    uint64_t operations, calls, nodes, edges; // of a graph
    uint64_t left_out[TS_EVENT_LIMIT]; // by kind: the format has no place
} export_counts;

// What a format gets to write an export.
typedef struct export_target {
    ts_reader *reader;
    const export_options *options;
    export_out *out;
    int64_t shift_ns; // added to every time, so that none is negative
    int64_t first_ns, last_ns;
} export_target;

/*
    On each lane times never decrease, and a slice ends before the slice that
    encloses it. `slice` is called where a slice begins, `end` where it ends,
    innermost first.
*/
typedef struct export_format {
    const char *name;
    cli_kind kind;               // of files that it may replace
    const char *const *suffixes; // ends with NULL
    export_packing packing;      // how it is compressed, if requested
    bool of_samples;             // of profiles, and of nothing else
    bool of_operations;          // of the graph of GPU operations, likewise
    void *(*open)(const export_target *target);
    void (*lane)(void *self, export_lane *lane);
    void (*slice)(void *self, export_lane *lane, const export_item *item);
    void (*end)(void *self, export_lane *lane, const export_open *slice);
    void (*instant)(void *self, export_lane *lane, const export_item *item);
    // type: TS_VALUE_INT or TS_VALUE_DOUBLE; bits: the value as in the trace.
    void (*sample)(void *self, export_lane *lane, int64_t time_ns,
                   ts_value_type type, uint64_t bits);
    // Prefetches what the next slice needs, in stages 1 and 2: see
    // export_rows_prefetch. May be NULL.
    void (*prefetch)(const export_lane *lane, uint32_t stage);
    void (*free_lane)(void *self, export_lane *lane); // frees lane->state
    void (*close)(void *self); // writes the rest and frees everything
    // A format that is not made of lanes reads the trace itself: only this is
    // called. NULL: export_walk.
    ts_result (*walk)(ts_reader *reader, export_out *out,
                      const export_options *options, export_counts *counts);
} export_format;

extern const export_format export_perfetto, export_chrome, export_kineto,
    export_chakra, export_speedscope, export_pprof, export_folded;

/* ==== 5. Walk ============================================================ */

/*
    Exports the reader's trace. Damaged chunks are left out; the output and the
    result report them.
    Errors: those of ts_cursor_open, and the first damage in the walk.
*/
ts_result export_walk(ts_reader *reader, const export_format *format,
                      export_out *out, const export_options *options,
                      export_counts *counts);

// Return the name and the category of an item: its own, else its site's.
ts_text export_item_name(const ts_reader *reader, const export_item *item);
ts_text export_item_category(const ts_reader *reader, const export_item *item);

// Appends the name of a frame's function: "work", or "libx.so+0x1f20". at:
// which of its symbolize_depth functions; 0 is the innermost.
void export_put_frame(export_buffer *buffer, const ts_reader *reader,
                      const ts_frame_entry *frame, uint32_t at);

/* ==== 6. Feed ============================================================ */

// As ts_cursor_open and ts_cursor_close; the cursor is also closed if the
// export runs out of memory.
ts_result export_cursor_open(ts_cursor **cursor, ts_reader *reader,
                             const ts_filter *filter);
void export_cursor_close(ts_cursor *cursor);

/*
    A cursor over events that also yields zones still open at the end of the
    trace: with the trace's end as theirs, in order of their starts, before the
    events that they enclose, whatever the time range.
*/
typedef struct export_feed export_feed;

ts_result export_feed_open(export_feed **feed, ts_reader *reader,
                           const ts_filter *filter);
bool export_feed_next(export_feed *feed, ts_event *event);
ts_result export_feed_result(const export_feed *feed);
void export_feed_close(export_feed *feed); // NULL is allowed

/* ==== 7. Links =========================================================== */

/*
    Finds the API call or zone that launched a GPU operation: the API call with
    the same correlation id on the same thread, else the innermost zone that was
    open when the operation was queued.
*/
typedef struct export_links export_links;

// filter: the same as for the walk.
export_links *export_links_open(ts_reader *reader, const ts_filter *filter);
// Sets the arrows of an event. Call it for each event of the walk, in order.
void export_links_next(export_links *links, const ts_event *event,
                       export_arrows *arrows);
void export_links_close(export_links *links); // NULL is allowed

#endif // TS_EXPORT_H
