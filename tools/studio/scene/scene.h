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
enum { SCENE_EVENTS = 8 << 20, SCENE_WINDOW = 2 << 20 };
enum { SCENE_PIXELS = 8192, SCENE_ROWS = 65536, SCENE_LANES = 256 };
// Graphs of more operations are loaded on demand only.
enum { SCENE_GRAPH = 400000 };

// Opens a scene; the reader must outlive it. *s is NULL on failure.
// Errors: TS_ERR_MEMORY.
ts_result scene_open(scene **s, ts_reader *reader);
void scene_close(scene *s);
// Looks for what was added to a live trace. True: everything may have changed.
bool scene_refresh(scene *s);
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
size_t scene_row_count(const scene *s);
// NULL past the end. Lifetime: until the next load, path or what-if.
const scene_row *scene_row_at(const scene *s, size_t row);
size_t scene_label_count(const scene *s);
const scene_label *scene_label_at(const scene *s, uint32_t label);
// Changes when rows were added.
uint32_t scene_rows_version(const scene *s);
// The name of a track, such as "stream 7 on GPU 0". Lifetime: until the next.
ts_text scene_track_name(scene *s, uint32_t track);

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
    bool coarse; // drawn from pictures, which know outermost zones only
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
bool scene_event(scene *s, scene_ref ref, scene_put *put, void *user);

// Marks the labels that contain a text, ASCII letters of either case alike, and
// returns how many do. matches: scene_label_count elements.
size_t scene_search(const scene *s, ts_text text, bool *matches);
// Finds the next box with such a label in order of time, then row.
bool scene_next(const scene *s, const bool *matches, bool backwards,
                int64_t time_ns, uint32_t row, uint32_t *found,
                scene_item *item);

// Boxes of a label in an area. Times are clipped to it.
typedef struct scene_sum {
    uint32_t label;
    uint64_t count;
    int64_t total_ns, least_ns, most_ns;
    int64_t self_ns; // of zones: without those inside
    scene_ref longest;
} scene_sum;

// Sums up rows of boxes in [from, to), the largest first.
// Free: free(*sums). Errors: TS_ERR_MEMORY.
ts_result scene_area(scene *s, const uint32_t *rows, size_t row_count,
                     int64_t from_ns, int64_t to_ns, scene_sum **sums,
                     size_t *count);

/* ==== 4. The graph ======================================================= */

// Loads the graph, if it is not. Errors: those of ts_replay_open.
ts_result scene_graph(scene *s);
// Number of operations in the trace, loaded or not.
uint64_t scene_operations(const scene *s);
const ts_timeline *scene_timeline(const scene *s); // NULL: not loaded
// Adds rows of the critical path. Errors: those of ts_replay_path.
ts_result scene_path(scene *s, ts_path *path);

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
