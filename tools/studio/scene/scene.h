/*
    scene.h - what a viewer asks of a trace

    A scene is an opened trace as rows of boxes and samples. It answers what a
    screen needs: a view of some rows, what is under the pointer, searches,
    statistics of an area, why a device was idle, the critical path, and what a
    change would do. It reads through a ts_reader and does no other input or
    output, so that it is also compiled to WebAssembly.

    Texts are those of the trace and may hold any bytes. Times are trace times
    in nanoseconds, within +-2^61.

    Threads: one at a time for each scene.
*/
#ifndef TS_TOOLS_STUDIO_SCENE_SCENE_H
#define TS_TOOLS_STUDIO_SCENE_SCENE_H

#include "tracesmith_replay.h"

typedef struct scene scene;

// A trace of so many events is loaded as a whole, 32 bytes for each. Of a
// longer one windows of fewer events are; wider ones are drawn from the
// pictures of the index.
enum { SCENE_EVENTS = 8 << 20, SCENE_WINDOW = 256 << 10 };
// What is loaded at once, within a request: a trace of so many events, or a
// window; how much scene_work decodes each time.
enum {
    SCENE_WHOLE = 1 << 20,
    SCENE_AT_ONCE = 16 << 10,
    SCENE_SLICE = 24 << 10,
    SCENE_SURVEY = 64 << 10 // for a question about an area
};
// Cells of pictures of streams that share chunks, 48 bytes each.
enum { SCENE_CELLS = 512 << 10 };
enum { SCENE_PIXELS = 8192, SCENE_ROWS = 65536, SCENE_LANES = 256 };
// Graphs of more operations are loaded on demand only.
enum { SCENE_GRAPH = 400000 };

// Opens a scene; the reader must outlive it. *s is NULL on failure.
// Errors: TS_ERR_MEMORY.
ts_result scene_open(scene **s, ts_reader *reader);
// Frees the scene; NULL is allowed. The reader stays open.
void scene_close(scene *s);

// Names that are read at most; others stay as they are in the trace.
enum { SCENE_READ_NAMES = 32768 };
// Returns a name that a compiler mangled as it was written, from malloc; NULL:
// it was not mangled.
typedef char *scene_read(const char *name);
// Shows names of C++ and Rust as `read` returns them: in labels, searches, sums
// and explanations.
void scene_read_names(scene *s, scene_read *read);
// The same for one name; labels that are there have it after scene_label_texts.
// False without memory, or if there are too many.
bool scene_name_read(scene *s, ts_text name, ts_text shown);
// Finds the texts of all labels anew.
void scene_label_texts(scene *s);

// Looks for what was added to a live trace. True: everything may have changed.
bool scene_refresh(scene *s);
// Does a few milliseconds of what views still lack: reads the index, makes
// pictures of it, loads a window. Returns whether a view may look better now.
bool scene_work(scene *s);
// Whether scene_work has something to do.
bool scene_is_behind(const scene *s);
// Returns the reader, which belongs to the caller of scene_open.
ts_reader *scene_reader(const scene *s);

/* ==== 1. Rows ============================================================ */

typedef enum scene_row_type { // in the order in which a track's rows are shown
    SCENE_FRAMES = 1,         // and, on track 0, spans
    SCENE_ZONES,
    SCENE_CALLS,
    SCENE_MARKS,
    SCENE_DEVICE, // busy, or idle by cause
    SCENE_WORK,   // operations of a stream
    SCENE_GHOST,  // the same in a what-if
    SCENE_COUNTER,
    SCENE_PATH, // critical path
    SCENE_ROW_LIMIT
} scene_row_type;

// What a counter is of: scene_row.part.
enum {
    SCENE_RECORDED = 0, // the program recorded it
    SCENE_QUEUE,        // of a stream: launched and not yet begun
    SCENE_OCCUPANCY,    // of a device, in percent
    SCENE_RATE = 8,     // + type of copies: bytes a second on a device
    SCENE_RATES = 6,
    SCENE_POOL = 16 // + number of a pool: bytes of memory
};

// A row of boxes that do not overlap, or of samples. Its number never changes.
typedef struct scene_row {
    scene_row_type type;
    uint32_t track;   // its id; 0: the whole trace
    uint32_t part;    // depth of nested zones, or lane
    uint64_t count;   // of boxes or samples loaded
    double low, high; // of samples
} scene_row;

// An event of the trace, or an interval that was computed.
typedef uint64_t scene_ref;
#define SCENE_REF_NONE UINT64_MAX
#define SCENE_REF_GAP  (UINT64_C(1) << 63) // device << 32 | gap
#define SCENE_REF_PART (UINT64_C(1) << 62) // part of the critical path
#define SCENE_REF_STEP (UINT64_C(1) << 61) // of a counter: row << 32 | sample

typedef struct scene_item {
    int64_t start_ns;
    union {
        int64_t end_ns; // start_ns: a moment
        double value;   // of a sample
    };
    scene_ref ref;
    uint32_t label;
    uint32_t flags;
} scene_item;

enum {
    SCENE_ON_PATH = 1, // an operation on the critical path
    SCENE_WAITS = 2,   // it waits, does no work
    SCENE_OPEN = 4,    // a zone that never ended: its process was killed
    SCENE_GUESS = 8    // a cause that was inferred from times
};

// A name of boxes.
typedef struct scene_label {
    ts_text text;
    uint32_t kind, id; // ts_event_kind or SCENE_KIND_..., and what it names
    uint8_t hue;       // by its text
    uint64_t count;
    int64_t total_ns;
} scene_label;

enum { SCENE_KIND_IDLE = 64, SCENE_KIND_BUSY, SCENE_KIND_COST };

// Loads what the rows of [from, to) hold. False: too much for that, rows are
// drawn from pictures.
// Errors are those of the reader: what is damaged is left out.
bool scene_load(scene *s, int64_t from_ns, int64_t to_ns);
// As scene_load, but false also if that takes longer than a frame may: then
// scene_work does it.
bool scene_window(scene *s, int64_t from_ns, int64_t to_ns);
// Returns the number of rows, which grows when a window is loaded.
size_t scene_row_count(const scene *s);
// NULL past the end. Lifetime: until the next load, path or what-if.
const scene_row *scene_row_at(const scene *s, size_t row);
// Returns the number of labels so far; labels are never removed.
size_t scene_label_count(const scene *s);
// Returns a label, valid until the next load; NULL: there is none.
const scene_label *scene_label_at(const scene *s, uint32_t label);
// Changes when rows were added.
uint32_t scene_rows_version(const scene *s);
// The name of a track, such as "stream 7 on GPU 0". Lifetime: until the next.
ts_text scene_track_name(scene *s, uint32_t track);
// The name of a row: of a counter, else of its track. Lifetime: until the next.
ts_text scene_row_name(scene *s, const scene_row *row);
// The unit of a counter that the program did not record.
const char *scene_counter_unit(uint32_t part);
// Asks for counters of a trace that is not loaded as a whole, which scene_work
// makes. True: they are made, or will never be.
bool scene_counters_want(scene *s);

/* ==== 2. Views =========================================================== */

typedef struct scene_view {
    int64_t from_ns, to_ns; // [from, to)
    uint32_t pixels;        // 1 to SCENE_PIXELS
    // Of a row of boxes, by pixel: share that is covered, at least 1 if
    // anything is; hue of what covers most of it.
    uint8_t *busy, *hue;
    // Of a row of samples, by pixel; NaN: none.
    float *low, *high;
    // Boxes of three pixels and more, and moments that stand alone: the caller
    // frees them.
    scene_item *boxes;
    size_t box_count, box_room;
    bool coarse; // drawn from pictures, which know outermost zones only; of a
                 // counter: from cells wider than a pixel
    bool behind; // scene_work will improve it, or add rows
} scene_view;

// Draws a row into arrays of `pixels` elements.
// Errors: TS_ERR_USAGE no such row, or a wrong view; TS_ERR_MEMORY.
ts_result scene_draw(scene *s, uint32_t row, scene_view *view);
// The box or sample at a time, or the nearest within `slack_ns`.
bool scene_pick(const scene *s, uint32_t row, int64_t time_ns, int64_t slack_ns,
                scene_item *item);
// The time of a pixel's left edge.
int64_t scene_pixel_ns(const scene_view *view, uint32_t pixel);

/* ==== 3. Events, search, statistics ====================================== */

// Calls put(name, value, user) for all that is known of an event; the name is a
// literal, the value is valid during the call. False: there is no such event.
typedef void scene_put(const char *name, ts_text value, void *user);
// Calls `put` for each fact of an event, in a fixed order: kind, track, then
// the values of its columns. False if the ref is of no event.
bool scene_event(scene *s, scene_ref ref, scene_put *put, void *user);

// Marks the labels that contain a text, ASCII letters of either case alike, and
// returns how many do. matches: scene_label_count elements.
size_t scene_search(const scene *s, ts_text text, bool *matches);
// Asks for the labels of a trace that is not loaded as a whole, which
// scene_work counts. True: they are known, or will never be.
bool scene_names_want(scene *s);
// Whether the labels of the whole trace are known.
bool scene_names_known(const scene *s);
// How often a label occurs, and for how long: in the whole trace if that is
// known, else in what is loaded.
void scene_names_sum(const scene *s, uint32_t label, uint64_t *count,
                     int64_t *total_ns);
// As scene_next, but also finds boxes that are not loaded, once labels are
// known, and loads their surroundings.
bool scene_seek(scene *s, const bool *matches, bool backwards, int64_t time_ns,
                uint32_t row, uint32_t *found, scene_item *item);
// Finds the next loaded box with such a label in order of time, then row.
bool scene_next(const scene *s, const bool *matches, bool backwards,
                int64_t time_ns, uint32_t row, uint32_t *found,
                scene_item *item);

// What figures of an area rest on. They are of all that the trace holds there,
// whatever is loaded; the same question goes on counting.
typedef struct scene_share {
    uint64_t counted, events; // of those that the area's chunks have
    bool behind;              // asked again, more is counted
} scene_share;

// Boxes of a label in an area. Times are clipped to it.
typedef struct scene_sum {
    uint32_t label;
    uint64_t count;
    int64_t total_ns, least_ns, most_ns;
    int64_t self_ns; // of zones: without those inside
    scene_ref longest;
} scene_sum;

typedef struct scene_area_sums {
    scene_share share;
    scene_sum *sums; // the largest first
    size_t kept;     // how many
    size_t count;    // and how many there are
    uint64_t boxes;  // of all
} scene_area_sums;

// Sums up rows of boxes in [from, to). A row counts what is on it, and the
// deepest one of a track what is deeper. The `most` largest sums are kept.
// Free: free(area->sums). Errors: TS_ERR_MEMORY.
ts_result scene_area(scene *s, const uint32_t *rows, size_t row_count,
                     int64_t from_ns, int64_t to_ns, size_t most,
                     scene_area_sums *area);

// What a flame graph is of.
typedef enum scene_flame_by {
    SCENE_FLAME_BOXES = 1, // boxes in boxes, by track
    SCENE_FLAME_ZONES,     // operations by the zone that launched them
    SCENE_FLAME_STACKS     // operations by the stack that launched them
} scene_flame_by;

typedef struct scene_flame_node {
    ts_text text;
    uint32_t parent; // a node before it; UINT32_MAX: none
    uint32_t id;     // private
    uint8_t hue;
    uint64_t count;
    int64_t total_ns;
} scene_flame_node;

enum { SCENE_MOST_FLAME = 50000 };

// A tree of where the time of an area went.
typedef struct scene_flame {
    scene_share share;
    scene_flame_node *nodes;
    size_t count;
    bool full; // there were more nodes: their time is in what they lie in, or
               // in one more node at the top, "others"
} scene_flame;

// Makes a tree of the tracks of rows in [from, to). Free: scene_flame_close.
// Texts are valid until the next tree. Errors: TS_ERR_MEMORY.
ts_result scene_flame_open(scene *s, scene_flame *tree, scene_flame_by by,
                           const uint32_t *rows, size_t row_count,
                           int64_t from_ns, int64_t to_ns);
// Frees a tree.
void scene_flame_close(scene_flame *tree);

// Boxes of about one duration.
typedef struct scene_bin {
    uint64_t count;
    int64_t total_ns;
    scene_item longest;
    uint32_t row; // of the longest
} scene_bin;

enum { SCENE_BINS = 496 }; // up to 2^62 ns

// Percentiles are exact below 2,048 ns, and else at most 0.1 % too small.
typedef struct scene_histogram {
    scene_share share;
    uint64_t count;
    int64_t total_ns, least_ns, p50_ns, p90_ns, p99_ns, most_ns;
    scene_bin bins[SCENE_BINS];
} scene_histogram;

// The shortest duration of a bin.
int64_t scene_bin_ns(uint32_t bin);
// Finds how long the boxes of a label are, of those that lie in [from, to), not
// clipped. Errors: TS_ERR_MEMORY.
ts_result scene_histogram_of(scene *s, scene_histogram *h, uint32_t label,
                             const uint32_t *rows, size_t row_count,
                             int64_t from_ns, int64_t to_ns);

/* ==== 4. The graph ======================================================= */

// Loads the graph, if it is not. Errors: those of ts_replay_open.
ts_result scene_graph(scene *s);
// Number of operations in the trace, loaded or not.
uint64_t scene_operations(const scene *s);
const ts_timeline *scene_timeline(const scene *s); // NULL: not loaded
// Gets when operation number `at` of a replay ran, and its event. False: there
// is none, or the graph is not loaded.
bool scene_operation(const scene *s, size_t at, int64_t *start_ns,
                     int64_t *end_ns, scene_ref *ref);
// Adds rows of the critical path. Errors: those of ts_replay_path.
ts_result scene_path(scene *s, ts_path *path);

// An end of an arrow.
typedef struct scene_flow_end {
    int64_t ns;
    scene_ref ref;
    uint32_t row, label;
} scene_flow_end;

enum { SCENE_FLOW_PATH_EDGE = 255 }; // the path says not which edge

// An arrow: `to` waited for `from`.
typedef struct scene_flow {
    scene_flow_end from, to;
    uint8_t edge;  // ts_edge_kind
    bool inferred; // no record says so: it follows from times
    bool last;     // of all that `to` waited for, this was satisfied last
} scene_flow;

typedef enum scene_flows_of {
    SCENE_FLOWS_EVENT = 1, // what an operation or call waited for, and what for
                           // it
    SCENE_FLOWS_AREA,      // what the operations of an area waited for
    SCENE_FLOWS_PATH       // the critical path, from box to box
} scene_flows_of;

typedef struct scene_flow_desc {
    scene_flows_of of;
    scene_ref ref;          // EVENT
    int64_t from_ns, to_ns; // AREA, PATH: [from, to)
    uint32_t pixels;        // of it
    const uint32_t *rows;   // AREA
    uint32_t row_count;
} scene_flow_desc;

// Of an event; that end at one pixel; that are counted.
enum {
    SCENE_MOST_FLOWS = 1000,
    SCENE_PIXEL_FLOWS = 4,
    SCENE_COUNTED_FLOWS = 100 * SCENE_MOST_FLOWS
};

typedef struct scene_flows {
    scene_flow *items; // those that are kept
    size_t count;
    uint64_t total; // how many there are
    bool more;      // counting ended at SCENE_COUNTED_FLOWS
} scene_flows;

/*
    Finds arrows between boxes that are loaded.

    Free: free(flows->items). Errors: those of scene_graph and scene_path.
*/
ts_result scene_flows_find(scene *s, const scene_flow_desc *desc,
                           scene_flows *flows);

// A sentence of an explanation, and what it speaks of.
typedef struct scene_reason {
    char text[512];
    int64_t start_ns, end_ns;
    scene_ref ref; // SCENE_REF_NONE: no event
    bool inferred; // no record says so: it follows from times
} scene_reason;

enum { SCENE_REASONS = 16 };
// Explains a gap of a device, or when an operation could begin. Returns the
// number of reasons; 0: nothing is known.
size_t scene_why(scene *s, scene_ref ref, scene_reason reasons[SCENE_REASONS]);

// A what-if.
typedef struct scene_change {
    ts_change_type type;
    ts_ratio factor;
    int64_t ns;
    const uint32_t *labels; // operations of these labels
    size_t label_count;
    const scene_ref *refs; // and these; neither: all
    size_t ref_count;
} scene_change;

typedef struct scene_outcome {
    int64_t recorded_ns, model_ns, changed_ns; // makespans
    ts_cost bound, bound_before;
    int64_t cost_ns[TS_COST_LIMIT], cost_before_ns[TS_COST_LIMIT];
    uint64_t operations, unmet;
} scene_outcome;

// Runs the model with changes and replaces the ghost rows; no changes remove
// them. Errors: those of ts_replay_run.
ts_result scene_whatif(scene *s, const scene_change *changes, size_t count,
                       scene_outcome *outcome);

#endif // TS_TOOLS_STUDIO_SCENE_SCENE_H
