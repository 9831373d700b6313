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
#include "tools/studio/scene/scene.h"

// Times beyond are cut, so that differences fit.
#define SCENE_FAR (INT64_C(1) << 61)

enum { FAN = 16, LEVELS = 7 }; // of the pyramid over a row: 16^7 boxes

// A chunk with events of one row, which may have a picture.
typedef struct scene_chunk {
    int64_t first_ns, last_ns;
    size_t index;
    uint8_t event;
} scene_chunk;

typedef struct strip {
    scene_row pub;
    scene_chunk *chunks; // of rows of part 0, in the order of the file
    size_t chunk_count, chunk_room;
    scene_item *items; // in order of time; boxes do not overlap
    size_t count, room;
    int64_t *sums; // covered before every FAN-th item
    // By level, of each FAN of the level below: index of the longest box.
    uint32_t *longest[LEVELS];
    // Likewise the range of samples.
    double *lows[LEVELS], *highs[LEVELS];
    bool samples;
} strip;

// Labels that were looked up last, by a hash. Kinds are not 0.
enum { RECENT = 512 };
typedef struct scene_recent {
    uint64_t key;
    uint32_t label;
} scene_recent;

struct scene {
    ts_reader *reader;
    strip *rows;
    size_t row_count, row_room;
    cli_map row_index;  // type, track and part to row
    scene_chunk *mixed; // with operations of several streams: no pictures
    size_t mixed_count, mixed_room;
    uint32_t version;
    scene_label *labels;
    size_t label_count, label_room;
    cli_map label_index; // kind and id to label
    scene_recent recent[RECENT];
    char track_name[320];
    int64_t from_ns, to_ns; // what is loaded
    bool loaded;
    int64_t refused_from, refused_to; // the last window that is too much
    uint64_t *chunk_place; // by chunk: row number of its first operation
    size_t chunk_count;
    ts_columns columns; // the last decoded chunk, for details
    // The graph.
    ts_replay *replay, *model;
    ts_timeline *timeline;
    uint32_t *op_of_place; // by row number of an operation
    uint64_t place_count;
    uint32_t *op_labels; // by operation
    bool *on_path;       // by operation; NULL: not asked for
    ts_path path;        // of the replay
    bool graph_tried;
    ts_result graph_result;
    scene_outcome unchanged; // of the model
};

// Returns a row, which is added if there is none; NULL without memory or with
// too many rows.
strip *scene_row_get(scene *s, scene_row_type type, uint32_t track,
                     uint32_t part);
bool scene_row_add(strip *r, const scene_item *item);
void scene_row_clear(strip *r);
// Makes sums and pyramid when all items are there. False without memory.
bool scene_row_finish(strip *r);
// Number of items that start before a time, known to be at least `least`.
size_t scene_row_before(const strip *r, int64_t time_ns, size_t least);
// Sum of what is covered before a time; `count` items start before it.
int64_t scene_row_covered(const strip *r, int64_t time_ns, size_t count);
// The longest of items [from, to), which is not empty.
size_t scene_row_longest(const strip *r, size_t from, size_t to);
void scene_row_range(const strip *r, size_t from, size_t to, double *low,
                     double *high);

static inline int64_t scene_item_ns(const scene_item *item)
{
    return item->end_ns - item->start_ns;
}
static inline int64_t scene_near(int64_t ns)
{
    return ns < -SCENE_FAR ? -SCENE_FAR : ns > SCENE_FAR ? SCENE_FAR : ns;
}

// The label of a kind and the id that tells its events apart. CLI_NONE without
// memory.
uint32_t scene_label_of(scene *s, uint32_t kind, uint32_t id);
// The label of a row of columns.
uint32_t scene_label_row(scene *s, const ts_columns *c, uint32_t row);
// The kind of rows that events are on; 0: none.
scene_row_type scene_row_of_kind(ts_event_kind kind);

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
    cli_map index; // type and track to bucket
    bool failed;
} scene_gathering;

void scene_gather(scene_gathering *l, scene_row_type type, uint32_t track,
                  const scene_item *item);
// Adds what was gathered to the rows. False without memory.
bool scene_gather_end(scene_gathering *l);
// Adds the rows that the trace has chunks for. False without memory.
bool scene_rows_find(scene *s);

// The event of an operation, and the operation of an event (CLI_NONE: none).
scene_ref scene_ref_of_op(const scene *s, const ts_operation *op);
uint32_t scene_op_of_ref(const scene *s, scene_ref ref);
// Decodes the event of a ref, and returns its columns, or NULL.
const ts_columns *scene_decode(scene *s, scene_ref ref, uint32_t *row);
// Marks operations that are on the critical path, after a load.
void scene_path_mark(scene *s);
void scene_graph_close(scene *s);

#endif // TS_TOOLS_STUDIO_SCENE_PARTS_H
