/*
    rows.h - the rows of an export, and the lanes that each needs

    A row is what a user takes for one line of the picture: a thread, a
    stream, the allocations of a pool. Where its slices do not nest they are
    put on further lanes, which formats show under the same name.
*/
#ifndef TS_TOOLS_EXPORT_ROWS_H
#define TS_TOOLS_EXPORT_ROWS_H

#include "tools/export/export.h"

typedef struct export_row {
    struct export_row *next; // in the order they were made
    export_lane plan;        // what every lane of the row is made from
    export_lane **lanes;     // at least one
    size_t count, capacity;
    size_t *heap, heap_capacity; // lanes from SCAN_MAX on, by when they end
    int64_t last_ns;             // damage: time of the last instant
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

typedef struct export_rows {
    ts_reader *reader;
    const export_format *format;
    void *self; // the format's
    export_counts *counts;
    export_row *first, *last;
    export_row *process;  // for what says nothing else
    export_map tracks;    // track -> row
    export_row **fast;    // the same for small numbers; NULL: not asked yet
    export_map contexts;  // device -> contexts it has
    export_map frames;    // thread and name -> row
    export_map pools;     // device and pool -> row
    export_map losses;    // track -> row
    export_map span_rows; // name -> row
    char **names;         // made here
    size_t name_count, name_capacity;
    export_row *frame_group, *memory_group, *span_group, *damage;
} export_rows;

void export_rows_open(export_rows *rows, const export_format *format,
                      const export_target *target, export_counts *counts);

// The row of a track of the trace; made up if the trace does not define it.
export_row *export_rows_track(export_rows *rows, uint32_t track);
export_row *export_rows_frames(export_rows *rows, uint32_t thread,
                               ts_text name);
// track: of a GPU, 0 for the process. pool: a name, 0 for the only one.
export_row *export_rows_pool(export_rows *rows, uint32_t track, uint32_t pool);
export_row *export_rows_losses(export_rows *rows, uint32_t track);
export_row *export_rows_damage(export_rows *rows);
// A lane for a span of this name on which nothing is open.
export_lane *export_rows_span(export_rows *rows, ts_text name);
void export_rows_span_free(export_lane *lane);

// Puts a slice with a known end on the first lane where it nests.
void export_rows_slice(export_rows *rows, export_row *row,
                       const export_item *item);
void export_rows_instant(export_rows *rows, export_row *row,
                         const export_item *item);
// A slice with an unknown end, and the end of the innermost one.
void export_rows_begin(export_rows *rows, export_lane *lane,
                       const export_item *item);
void export_rows_end(export_rows *rows, export_lane *lane, int64_t end_ns);
void export_rows_sample(export_rows *rows, export_lane *lane, int64_t time_ns,
                        ts_value_type type, uint64_t bits);

// Ends all slices, those with an unknown end at end_ns; closes the format.
void export_rows_finish(export_rows *rows, int64_t end_ns);
void export_rows_close(export_rows *rows);

#endif // TS_TOOLS_EXPORT_ROWS_H
