/*
    rows.h - the rows of an export, and the lanes that each needs

    A row is what a viewer shows as one line: a thread, a stream, the
    allocations of a pool. Slices that do not nest are put on further lanes of
    the row, which formats show under the same name.
*/
#ifndef TS_TOOLS_EXPORT_ROWS_H
#define TS_TOOLS_EXPORT_ROWS_H

#include "tools/export/export.h"

typedef struct export_row {
    struct export_row *next; // in order of creation
    export_lane **lanes;     // at least one
    size_t count, capacity;
    export_lane plan;            // template of the row's lanes
    size_t *heap, heap_capacity; // lanes from SCAN_MAX on, by end time
    int64_t last_ns;             // of damage: time of the last instant
    // Frames.
    export_item frame;
    uint64_t frame_number;
    bool has_frame;
    // Pools.
    export_lane *counter;
    uint64_t live_bytes;
    // Spans.
    export_lane *free_lane;
} export_row;

typedef struct export_fast { // the row of a track, and its first lane
    export_row *row;         // NULL: not looked up yet
    export_lane *lane;
} export_fast;

typedef struct export_rows {
    ts_reader *reader;
    const export_format *format;
    void *self; // private to the format
    export_counts *counts;
    export_row *first, *last;
    export_row *process;  // for events without a row of their own
    export_map tracks;    // track -> row
    export_fast *fast;    // `tracks` for small numbers
    export_map contexts;  // device -> number of contexts
    export_map frames;    // thread and name -> row
    export_map pools;     // device and pool -> row
    export_map losses;    // track -> row
    export_map span_rows; // name -> row
    char **names;         // names created here, owned
    size_t name_count, name_capacity;
    export_row *frame_group, *memory_group, *span_group, *damage;
} export_rows;

void export_rows_open(export_rows *rows, const export_format *format,
                      const export_target *target, export_counts *counts);

// Returns the row of a track; creates one if the trace does not define the
// track.
export_row *export_rows_track(export_rows *rows, uint32_t track);

// Loads into the caches what the next slice on a track will need: in stages 0,
// 1, ..., some slices after each other, because each stage follows pointers
// that the one before it has loaded.
enum { EXPORT_STAGES = 3 };
void export_rows_prefetch(const export_rows *rows, uint32_t track,
                          uint32_t stage);

export_row *export_rows_frames(export_rows *rows, uint32_t thread,
                               ts_text name);
// Returns the row of a memory pool. track: of a GPU; 0: host memory of the
// process. pool: its name; 0: the only pool.
export_row *export_rows_pool(export_rows *rows, uint32_t track, uint32_t pool);
export_row *export_rows_losses(export_rows *rows, uint32_t track);
export_row *export_rows_damage(export_rows *rows);
// Returns a lane for spans with this name on which no span is open.
export_lane *export_rows_span(export_rows *rows, ts_text name);
void export_rows_span_free(export_lane *lane);

// Writes a slice with a known end on the first lane where it nests.
void export_rows_slice(export_rows *rows, export_row *row,
                       const export_item *item);
void export_rows_instant(export_rows *rows, export_row *row,
                         const export_item *item);
// Begins a slice with an unknown end.
void export_rows_begin(export_rows *rows, export_lane *lane,
                       const export_item *item);
// Ends the innermost slice of a lane.
void export_rows_end(export_rows *rows, export_lane *lane, int64_t end_ns);
void export_rows_sample(export_rows *rows, export_lane *lane, int64_t time_ns,
                        ts_value_type type, uint64_t bits);

// Ends all slices, those with an unknown end at end_ns, and closes the format.
void export_rows_finish(export_rows *rows, int64_t end_ns);
void export_rows_close(export_rows *rows);

#endif // TS_TOOLS_EXPORT_ROWS_H
