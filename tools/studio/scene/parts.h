/*
    parts.h - what the files of a scene share
*/
#ifndef TS_TOOLS_STUDIO_SCENE_PARTS_H
#define TS_TOOLS_STUDIO_SCENE_PARTS_H

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/cli/map.h"
#include "tools/cli/operations.h"
#include "tools/studio/scene/derived.h"
#include "tools/studio/scene/scene.h"

// Times beyond are cut, so that differences fit.
#define SCENE_FAR (INT64_C(1) << 61)

enum { FAN = 16, LEVELS = 7 }; // of the pyramid over a row: 16^7 boxes

// A chunk whose events have a row, in the order of the file.
typedef struct scene_chunk {
    int64_t first_ns, last_ns;
    uint32_t index; // in the reader
    uint32_t track; // or TS_TRACK_MIXED
    uint32_t count;
    uint8_t event;
} scene_chunk;

// The same in order of first_ns.
typedef struct scene_begin {
    int64_t first_ns;
    int64_t reach_ns; // largest last_ns up to here
    uint64_t before;  // events of the chunks before
    uint32_t chunk;   // place in scene.chunks
} scene_begin;

// Events of the chunks that end up to a time.
typedef struct scene_end {
    int64_t last_ns;
    uint64_t events;
} scene_end;

// A part of a picture.
typedef struct scene_cell {
    int64_t start_ns, end_ns;
    int64_t reach_ns; // largest end_ns up to here, in a level
    union {
        int64_t busy_ns;
        struct {
            float low, high; // of samples; NaN: none
        };
    };
    uint32_t label; // of what covers most; CLI_NONE: not known
    uint32_t count; // events that start here
} scene_cell;

typedef struct scene_level {
    scene_cell *cells;
    size_t count, room;
} scene_level;

enum { SCENE_LEVELS = 8 };

// A name as the trace has it, and behind its zero as it is read (size 0: it
// stays as it is).
typedef struct scene_reading {
    char *name;
    size_t name_size, shown_size;
} scene_reading;

typedef struct scene_readings {
    scene_read *read; // NULL: nothing reads names
    scene_reading *list;
    size_t count, room;
    cli_index index; // by hash of the name
} scene_readings;

// Labels of the cells of a chunk.
typedef struct scene_cell_labels {
    uint32_t labels[TS_LOD_CELLS];
} scene_cell_labels;

// Pictures of the events of a kind on a row: see pictures.c.
typedef struct scene_source {
    uint8_t event;
    bool shared;      // of chunks with operations of several streams
    bool built;       // levels are complete
    bool unsorted;    // chunks are not in order of time
    uint32_t *chunks; // places in scene.chunks
    size_t chunk_count, chunk_room;
    size_t next;     // of the chunks, for the lowest level
    int64_t most_ns; // of what the label of the last shared cell is of
    scene_level levels[SCENE_LEVELS]; // of chunks; the first: two cells each
    scene_level top;                  // from the top of the index
    scene_cell_labels *covered;       // of chunks whose stored ones do not do
    size_t covered_count, covered_room;
    uint32_t *covered_at; // by chunk: its place there; CLI_NONE: none
    size_t covered_at_room;
} scene_source;

typedef struct strip {
    scene_row pub;
    scene_source *sources; // of rows of part 0
    size_t source_count, source_room;
    scene_item *items; // in order of time; boxes do not overlap
    size_t count, room;
    int64_t *sums; // covered before every FAN-th item
    // By level, of each FAN of the level below: index of the longest box.
    uint32_t *longest[LEVELS];
    // Likewise the range of samples.
    double *lows[LEVELS], *highs[LEVELS];
    bool samples;
    int64_t cell_ns; // of samples that were thinned out: see derived.h; 0: none
} strip;

// Labels that were looked up last, by a hash. Kinds are not 0.
enum { RECENT = 512 };
typedef struct scene_recent {
    uint64_t key;
    uint32_t label;
} scene_recent;

// An edge, and where it comes from.
typedef struct scene_edge {
    uint32_t from;
    uint8_t kind; // as in ts_graph.kinds
} scene_edge;

// The edges of a graph by the node that they lead to.
typedef struct scene_incoming {
    uint32_t *first; // by node: its first edge; NULL: not made
    scene_edge *edges;
} scene_incoming;

// Items gathered by track and type, sorted and laid into rows. The fields are
// private to load.c; a gathering starts with its scene only.
typedef struct scene_bucket {
    scene_row_type type;
    uint32_t track;
    bool spans; // ends of items are ids, flags are phases, until paired
    scene_item *items;
    size_t count, room;
} scene_bucket;

typedef struct scene_gathering {
    scene *s;
    scene_bucket *buckets;
    size_t count, room;
    cli_map index;        // type and track to bucket
    ts_column into_flags; // of operations; 0: none
    bool failed;
} scene_gathering;

// A window that is being loaded.
typedef struct scene_job {
    bool active;
    int64_t from_ns, to_ns;
    size_t next, end; // in scene.begins
    scene_gathering gathering;
    ts_columns columns;
} scene_job;

// How many events are loaded as a whole, in a window, within a request, and
// decoded in a slice of work. See scene.h.
typedef struct scene_limits {
    uint64_t events, window, whole, at_once, slice;
    size_t cells;    // of pictures of streams that share chunks
    uint64_t flows;  // arrows that are counted
    uint64_t survey; // events that a question about an area decodes
} scene_limits;

typedef struct scene_name_sum {
    uint64_t count;
    int64_t total_ns;
    size_t listed; // + 1: of the last chunk that lists the label
} scene_name_sum;

// Which labels occur in which chunk: see names.c.
typedef struct scene_names {
    bool wanted, failed;
    size_t next;      // of scene.chunks
    uint32_t *labels; // of all chunks
    size_t label_count, label_room;
    size_t *first; // by chunk: its first in `labels`; one element more
    size_t first_room;
    scene_name_sum *sums; // by label
    size_t sum_count, sum_room;
    scene_gathering moments; // of frames and spans
    uint64_t moment_count;
    ts_columns columns;
} scene_names;

// Where the source of a stream is.
enum { SCENE_STREAMS = 2048 };
typedef struct scene_stream {
    uint32_t track; // 0: nothing is known
    uint8_t event;
    uint32_t row, source;
} scene_stream;

// Kinds of questions about areas, and how many askers of a kind, as several
// pages, can take turns.
enum { SCENE_SURVEYS = 4, SCENE_ASKERS = 4 };

struct scene {
    ts_reader *reader;
    scene_limits limits;
    strip *rows;
    size_t row_count, row_room;
    cli_map row_index; // type, track and part to row
    uint32_t version;
    // Chunks, once the index was read.
    bool table_read, table_wanted, table_failed;
    bool mixed;       // there are chunks with events of several tracks
    bool has_streams; // rows of streams were added for them
    scene_chunk *chunks;
    size_t chunk_count, chunk_room;
    size_t listed;       // chunks of the reader that were looked at
    size_t sourced;      // chunks that their rows know
    scene_begin *begins; // chunk_count elements each
    scene_end *ends;
    uint64_t events;     // of all chunks
    int64_t top_cell_ns; // the widest cell in the top of the index
    size_t row_built;    // rows whose pictures are made
    size_t source_built; // likewise of the next row
    ts_columns pictured; // a chunk without a picture, while one is made
    scene_job job;
    // While a row is drawn from pictures, by pixel.
    float pen_busy[SCENE_PIXELS], pen_most[SCENE_PIXELS];
    float pen_run[SCENE_PIXELS]; // of pen_label, the last that was drawn
    uint32_t pen_label[SCENE_PIXELS];
    uint8_t grey[SCENE_PIXELS]; // of the last view: see draw_mixed
    int64_t grey_from, grey_to;
    uint32_t grey_pixels;
    size_t grey_next;
    // Pictures of streams that share chunks.
    scene_stream streams[SCENE_STREAMS];
    size_t stream_next;               // of chunks
    int64_t stream_cell_ns;           // 0: not begun
    size_t stream_cells, stream_most; // of all; when they are joined
    uint64_t stream_slices;
    ts_track_pictures track_pictures;
    scene_names names;
    // See survey.h; those that were asked for last come first.
    struct survey *surveys[SCENE_SURVEYS][SCENE_ASKERS];
    scene_derived derived;
    scene_label *labels;
    size_t label_count, label_room;
    cli_map label_index; // kind and id to label
    scene_readings readings;
    scene_recent recent[RECENT];
    char track_name[512];
    size_t tracks_counted, processes; // how many of these are processes
    int64_t from_ns, to_ns;           // what is loaded
    bool loaded;
    int64_t refused_from, refused_to; // the last window without memory
    uint64_t *chunk_place; // by chunk: row number of its first operation
    size_t place_chunks;
    ts_columns columns; // the last decoded chunk, for details
    // The graph.
    ts_replay *replay, *model;
    ts_timeline *timeline;
    uint32_t *op_of_place; // by row number of an operation
    uint64_t place_count;
    uint32_t *op_labels; // by operation
    bool *on_path;       // by operation; NULL: not asked for
    scene_incoming incoming;
    ts_path path; // of the replay
    bool graph_tried;
    ts_result graph_result;
    scene_outcome unchanged; // of the model
};

// Returns a row, which is added if there is none; NULL without memory or with
// too many rows.
strip *scene_row_get(scene *s, scene_row_type type, uint32_t track,
                     uint32_t part);
// Returns the number of a row; CLI_NONE: there is none.
uint32_t scene_row_known(const scene *s, scene_row_type type, uint32_t track,
                         uint32_t part);
// Adds an item, which must not begin before the last one. False without memory.
bool scene_row_add(strip *r, const scene_item *item);
// Frees the items and the pyramid; the row stays, empty.
void scene_row_clear(strip *r);
// Makes sums and pyramid when all items are there. False without memory.
bool scene_row_finish(strip *r);
// Number of items that start before a time, known to be at least `least`.
size_t scene_row_before(const strip *r, int64_t time_ns, size_t least);
// Sum of what is covered before a time; `count` items start before it.
int64_t scene_row_covered(const strip *r, int64_t time_ns, size_t count);
// The longest of items [from, to), which is not empty.
size_t scene_row_longest(const strip *r, size_t from, size_t to);
// Finds the lowest and highest sample of items [from, to), which is not empty;
// NaN: none is known. After scene_row_finish.
void scene_row_range(const strip *r, size_t from, size_t to, double *low,
                     double *high);

// Returns the duration of an item in nanoseconds.
static inline int64_t scene_item_ns(const scene_item *item)
{
    return item->end_ns - item->start_ns;
}
// Cuts a time to +-SCENE_FAR, so that differences of two do not overflow.
static inline int64_t scene_near(int64_t ns)
{
    return ns < -SCENE_FAR ? -SCENE_FAR : ns > SCENE_FAR ? SCENE_FAR : ns;
}

// Adds durations; a sum that is too large for its type is the largest.
static inline void scene_add_ns(int64_t *sum, int64_t ns)
{
    if (__builtin_add_overflow(*sum, ns, sum)) *sum = INT64_MAX;
}

// Finds the device that a track belongs to; 0: none.
uint32_t scene_device_of(const scene *s, uint32_t track);
// The name of a type of copies.
const char *scene_copy_name(uint32_t type);
// The name of a label as the trace has it.
ts_text scene_label_raw(const scene *s, uint32_t label);
// A name as it is read, or itself. Lifetime: the scene's, or the name's.
ts_text scene_readable(scene *s, ts_text name);
// Frees the names that were read.
void scene_readings_close(scene *s);
// The label of a kind and the id that tells its events apart. CLI_NONE without
// memory.
uint32_t scene_label_of(scene *s, uint32_t kind, uint32_t id);
// The label of a row of columns.
uint32_t scene_label_row(scene *s, const ts_columns *c, uint32_t row);
// The kind of rows that events are on; 0: none.
scene_row_type scene_row_of_kind(ts_event_kind kind);

// Returns whether a sample has a value that can be drawn.
bool scene_sample(const ts_columns *c, uint32_t row, double *value);
// Adds the events of a chunk.
void scene_gather_columns(scene_gathering *l, const ts_columns *c);
// Adds an item in any order; without memory it sets `failed`.
void scene_gather(scene_gathering *l, scene_row_type type, uint32_t track,
                  const scene_item *item);
// Whether a row is the end of a span, which is no box of its own.
bool scene_ends_span(const ts_columns *c, uint32_t row);
// Calls `each` for what was gathered, sorted and with its intervals; it stays
// as it was gathered. False without memory.
bool scene_gather_each(const scene_gathering *l,
                       void (*each)(const scene_item *item, void *user),
                       void *user);
// Sorts the items of a bucket, and makes intervals of moments. False without
// memory.
bool scene_bucket_complete(const scene_gathering *l, scene_bucket *b);
// Finds the lane of the next item: the first that is free. What is beyond the
// last lane goes to it, cut short so that nothing overlaps. `ends` has room for
// one more lane than *count, up to SCENE_LANES.
uint32_t scene_lane_of(int64_t *ends, uint32_t *count, scene_item *item);
// Adds what was gathered to the rows. False without memory.
bool scene_gather_end(scene_gathering *l);
// Frees what was gathered.
void scene_gather_drop(scene_gathering *l);

// Reads the index and lists the chunks, unless that was done. False without
// memory.
bool scene_table(scene *s);
// Orders scene_begin by time, then by place.
int scene_begin_order(const void *left, const void *right);
// The first of scene.begins that may reach beyond a time.
size_t scene_chunks_reaching(const scene *s, int64_t from_ns);
// Reads on in the index. Returns whether it has been read.
bool scene_table_work(scene *s);
// Whether scene_work improves views.
bool scene_views_behind(const scene *s);
// Forgets what is loaded; the list of chunks stays, and is read on.
void scene_window_forget(scene *s);
// The same, and frees the list of chunks.
void scene_window_close(scene *s);

// Adds the rows that the top of the index has pictures of. False without
// memory.
bool scene_tops_find(scene *s);
// Adds the rows that there are chunks of. False without memory.
bool scene_sources_find(scene *s);
// Makes levels of pictures of some rows. Returns whether any changed.
bool scene_pictures_work(scene *s);
// Finds the pictures of a kind on a row, or adds an empty one. NULL without
// memory.
scene_source *scene_source_get(strip *r, uint8_t event, bool shared);
// Adds a cell, which does not start before the last one. False without memory.
bool scene_level_add(scene_level *level, const scene_cell *cell);
// Adds a cell to the one that stands for several; *most_ns: see
// scene_source.most_ns.
void scene_cell_join(scene_cell *to, const scene_cell *cell, bool samples,
                     int64_t *most_ns);
// Makes the levels above the lowest. False without memory.
bool scene_levels_build(scene_source *source, bool samples);
// The label of an id in a stored picture of a kind.
uint32_t scene_picture_label(scene *s, uint8_t event, uint32_t id);
// Takes some chunks with operations of several streams into the pictures of
// each. Returns whether views should be drawn again.
bool scene_streams_work(scene *s);
// Whether there are such chunks that were not taken.
bool scene_streams_behind(const scene *s);
// Forgets which were taken.
void scene_streams_close(scene *s);
// Counts the labels of some chunks. Returns whether all are counted.
bool scene_names_work(scene *s);
// Whether labels are wanted that were not counted.
bool scene_names_behind(const scene *s);
// Forgets the labels of chunks.
void scene_names_close(scene *s);
// As scene_area, with all there is. False if that is too much to count within a
// request, if some of it could not be read, or without memory; then there is
// nothing to free.
bool scene_area_at_once(scene *s, const uint32_t *rows, size_t row_count,
                        int64_t from_ns, int64_t to_ns, scene_area_sums *area);
// Forgets what areas hold.
void scene_surveys_close(scene *s);
// Draws a row from its pictures.
void scene_draw_pictures(scene *s, const strip *r, scene_view *v);
// Frees the pictures of a row.
void scene_sources_close(strip *r);

// The event of an operation, and the operation of an event (CLI_NONE: none).
scene_ref scene_ref_of_op(const scene *s, const ts_operation *op);
// Needs the graph: CLI_NONE also before that is loaded.
uint32_t scene_op_of_ref(const scene *s, scene_ref ref);
// Decodes the event of a ref, and returns its columns, or NULL.
const ts_columns *scene_decode(scene *s, scene_ref ref, uint32_t *row);
// Marks operations that are on the critical path, after a load.
void scene_path_mark(scene *s);
// Frees the edges; the next question for arrows makes them again.
void scene_incoming_close(scene_incoming *in);
// Numbers the operations by chunk, as a replay counts them. False without
// memory.
bool scene_places(scene *s);
// Frees replay, model, timeline and the samples of queues; the next question
// loads them again.
void scene_graph_close(scene *s);

#endif // TS_TOOLS_STUDIO_SCENE_PARTS_H
