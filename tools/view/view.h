/*
    view.h - what the modules of ts-view share

    labels.c, values.c  labels and values of events as text
    walk.c      events in order of time, with the depth of zones
    rows.c      a timeline as rows of cells; memory does not grow with events
    draw.c      rows to lines of a terminal
    timeline.c  what stands around the rows: header, axis, legend
    canvas.c    one line of styled characters
    events.c    --events
    stats.c     --stats
    states*.c   --states
*/
#ifndef TS_VIEW_H
#define TS_VIEW_H

#include "tools/cli/cli.h"

/* ==== 1. View ============================================================ */

#define VIEW_ALL_KINDS (UINT64_MAX >> (64 - TS_EVENT_LIMIT))

// Like cli_map_set and cli_grow; without memory they end the process.
void view_map_set(cli_map *map, uint64_t key, uint32_t value);
// cli_grow, but ends the process without memory.
void view_grow(void *array, size_t *room, size_t count, size_t size);
// Like realloc; without memory it ends the process. Size 0 frees.
void *view_resize(void *memory, size_t count, size_t size);

// The options and the trace.
typedef struct view {
    const cli_tool *tool;
    const char *path;
    cli_trace trace;
    int64_t from_ns, to_ns; // the shown range, [from, to)
    bool zoomed;            // the range is less than the trace
    uint64_t kinds;         // bits 1 << kind
    const char *track_list; // patterns of names, NULL: all
    uint64_t limit;         // of lines; its meaning depends on the mode
    bool limited;           // the limit was given by an option
    uint32_t depth;         // rows of nested zones (0: as many as fit)
    uint32_t width, height; // height 0: not limited
    bool color, unicode, json;
    cli_json out;         // of --json
    uint64_t listed;      // events so far
    ts_track *tracks;     // first those that the trace defines, then those
    size_t track_count;   // that it uses without a definition
    bool *track_selected; // by track_list
    bool *track_twin;     // threads whose name another one has, too:
    size_t twin_count;    // for the defined tracks only
    cli_map track_index;  // id to position in tracks
    struct view *more;    // further files of --states: more_count
    size_t more_count;
    int64_t rank; // valid if `ranked`: each file has another rank
    bool ranked;
    bool several; // processes in this trace: each gets a header
} view;

// Loads the tracks that the trace defines, anew after it has grown.
void view_tracks_load(view *v);
// The position of a track in v->tracks; adds a track without a definition.
uint32_t view_track_at(view *v, uint32_t id);
const ts_track *view_track_of(view *v, uint32_t id); // valid until the next
// Whether --track selects a track; an unknown number becomes a track first.
bool view_track_is_selected(view *v, uint32_t id);
void view_twins_find(view *v); // among v->tracks
// The name of a track of v->tracks; with the thread's number if another thread
// has the same name.
ts_text view_track_name(const view *v, const ts_track *track, cli_text *made);

/* ==== 2. Labels ========================================================== */

/*
    A key stands for the label of an event: kind << 32 | site, launch, name or
    type. Equal keys are equal labels; different keys may have the same text.
*/
uint64_t view_key(const ts_columns *columns, uint32_t row);
// The text of a key. made: buffer for a text that no dictionary contains.
ts_text view_key_text(const view *v, uint64_t key, cli_text *made);
uint32_t view_key_color(const view *v, uint64_t key); // 0x00RRGGBB, 0 none

// A named value of an event.
typedef struct view_value {
    const char *name;
    enum { VIEW_UINT, VIEW_INT, VIEW_REAL, VIEW_TEXT, VIEW_HEX, VIEW_NS } type;
    uint64_t number;
    int64_t signed_number;
    double real;
    ts_text text;
} view_value;
// Calls put() for each value of an event that its label does not contain.
void view_values(const view *v, const ts_event *event,
                 void (*put)(const view_value *value, void *user), void *user);

const char *view_copy_name(uint64_t type); // "h2d"

/* ==== 3. Walk ============================================================ */

// A zone that is open when another one begins. If the two cross, it ends before
// the other one. `tag` is the value that the callback returned for it.
typedef struct view_zone {
    int64_t start_ns, end_ns;
    uint32_t tag;
} view_zone;

// One event of a walk. `depth` is the number of zones around a zone; `around`
// lists them, the outermost first.
typedef struct view_item {
    const ts_columns *columns;
    uint32_t row;
    ts_event_kind kind;
    uint32_t track; // position in v->tracks
    int64_t start_ns, end_ns;
    const view_zone *around;
    uint32_t depth;
} view_item;

// May process a whole chunk; true if it did, and the walk leaves the chunk out.
typedef bool view_skip(size_t index, const ts_chunk_info *chunk, void *user);

/*
    Calls call() for every selected event in [from, to). Zones, calls and work
    come in order of their start, the outer zone first. Moments come in any
    order; the last counter sample before the range is among them. Damage is
    reported by the reader.

    skip, if not NULL, is called for each chunk first. Then events come in no
    order, and all zones have depth 0.
*/
void view_walk(view *v, uint64_t kinds, view_skip *skip,
               uint32_t (*call)(const view_item *item, void *user), void *user);

/*
    Frames and spans as intervals: a frame from one boundary of its name to
    the next on its thread, a span from its start to its end wherever that
    was; one without an end lasts to the end of the trace. Covers the whole
    trace, in order of end.
*/
typedef struct view_interval {
    ts_event_kind kind; // TS_EVENT_FRAME, TS_EVENT_SPAN
    uint64_t key;
    uint32_t track; // where it began
    int64_t start_ns, end_ns;
} view_interval;
// Whether an interval is of a selected track and overlaps the shown range.
bool view_interval_is_selected(const view *v, const view_interval *interval);
// Calls `call` for the frames and spans of the kinds, with both ends joined, in
// order of their ends; also for those that reach into the range from before.
void view_intervals(view *v, uint64_t kinds,
                    void (*call)(const view_interval *interval, void *user),
                    void *user);

/* ==== 4. Rows ============================================================ */

typedef enum view_row_type { // in the order in which they are shown
    VIEW_ROW_FRAMES,
    VIEW_ROW_SPANS,
    VIEW_ROW_ZONES,
    VIEW_ROW_WORK,    // GPU operations
    VIEW_ROW_CALLS,   // of a runtime's functions
    VIEW_ROW_MOMENTS, // marks and messages
    VIEW_ROW_SAMPLES, // of a profile
    VIEW_ROW_ALLOCS,
    VIEW_ROW_COUNTER,
    VIEW_ROW_LOSS
} view_row_type;

// The events of one cell of time: sums, and the event that covers the largest
// part of the cell; work takes precedence over waiting.
typedef struct view_cell {
    int64_t busy_ns, wait_ns;                  // sums
    uint64_t key;                              // of that event
    int64_t key_start_ns, key_part_ns, key_ns; // key_ns: its duration
    uint32_t count; // events that begin here; loss row: 1 if marked
    bool key_waits;
    bool sampled; // the next three are set
    float low, high, last;
    int64_t last_ns;
    char text[32]; // of a message
} view_cell;

typedef struct view_row {
    view_row_type type;
    uint32_t track; // position in v->tracks, CLI_NONE: the session
    uint32_t part;  // zones: depth; frames and spans: site
    uint64_t count;
    int64_t total_ns;      // busy time in the range
    int64_t until_ns[2];   // busy, waiting: end of the covered time
    double low, high, sum; // of samples in the range
    double before;         // the value before the range,
    int64_t before_ns;
    bool has_before; // if there is one
    bool sampled;
    view_cell *cells;
} view_row;

typedef struct view_rows {
    view *v;
    int64_t range_ns, cell_ns;
    uint32_t columns;
    view_row *rows; // in the order in which they are shown
    size_t count;
    cli_map index;
    uint32_t depth_limit;
    uint32_t *deepest; // levels of zones, for each track
    size_t deepest_count;
    ts_track_pictures pictures;
    bool coarse; // small chunks are drawn from their pictures
} view_rows;

/*
    Collects the view in `columns` cells of equal width; v->to_ns grows to a
    multiple of it. Memory: rows times columns, however many events there are.
    With more than VIEW_COARSE events the pictures in the index are used for
    chunks that are small in the view; they show outermost zones only. If the
    user gave a depth, all events are read.
*/
#ifndef VIEW_COARSE // a test has fewer events
#define VIEW_COARSE UINT64_C(32000000)
#endif
// Collects the rows of the shown range, of `columns` cells each. It extends
// v->to_ns to whole cells. Free with view_rows_free, also after a failure.
void view_rows_collect(view_rows *rows, view *v, uint32_t columns);
// Frees the rows; *rows is empty afterwards.
void view_rows_free(view_rows *rows);
// Positions of tracks in the order of their tree. Free with free().
uint32_t *view_track_order(const view *v);

/* ==== 5. Output ========================================================== */

typedef struct view_style {
    uint8_t fg, bg; // of 256 colours, 0: the terminal's own
    bool bold, dim;
} view_style;

typedef struct view_glyph {
    uint32_t code; // 0: the second half of a wide character
    view_style style;
} view_glyph;

typedef struct view_line {
    uint32_t width;
    bool unicode;
    view_glyph *glyphs;
} view_line;

// Fills a line with unstyled blanks.
void view_line_clear(view_line *line);
// Puts one character; beyond the width nothing happens. Control characters and,
// without Unicode, all but ASCII are replaced.
void view_put_code(view_line *line, uint32_t column, uint32_t code,
                   view_style style);
// Writes a text between columns `column` and `end`; a longer one is cut and
// ends with an ellipsis. Returns the column after it.
uint32_t view_put(view_line *line, uint32_t column, uint32_t end,
                  const char *text, size_t size, view_style style);
// Puts a string that ends with a zero byte, up to column `end`. Returns the
// next column.
uint32_t view_put_string(view_line *line, uint32_t column, uint32_t end,
                         const char *text, view_style style);
void view_line_write(const view_line *line, FILE *out); // without styles
// Prints a line without trailing blanks, and a line break.
void view_line_print(const view_line *line, FILE *out, bool color);

// Shortens a name to `columns`: leaves out, as far as necessary, arguments,
// then template arguments, then namespaces.
ts_text view_shorten(ts_text name, uint32_t columns, char buffer[256]);

void view_timeline(view *v); // draws it to stdout

// --events: the head, lists of events (of all chunks; or, of a live trace, from
// a chunk on), the end.
void view_events_begin(view *v);
// Lists events: all, or those of chunks from `first_chunk` on, for a trace that
// grows.
void view_events(view *v, size_t first_chunk);
// Ends the JSON of a listing; nothing to do for text.
void view_events_end(view *v);

void view_stats(view *v); // --stats
// --states. False, with a message, if there is nothing to show.
bool view_states_show(view *v);

#endif // TS_VIEW_H
