/*
    profile.h - samples of a trace for the formats of profilers

    rows.c        the samples of the trace, and what they measure
    frames.c      the functions of their stacks
    folded.c      folded stacks
    speedscope.c  speedscope's JSON
    pprof.c       pprof's protobuf
*/
#ifndef TS_TOOLS_EXPORT_PROFILE_PROFILE_H
#define TS_TOOLS_EXPORT_PROFILE_PROFILE_H

#include "tools/export/export.h"
#include "tools/common/symbolize/symbolize.h"

typedef struct profile_row {
    int64_t time_ns;
    uint64_t bits; // of the weight
    uint32_t track, stack, type;
    uint64_t order; // of the trace
    bool is_double;
} profile_row;

typedef struct profile_type { // what samples measure
    ts_text name, unit;
    uint64_t count;
    double total;
    cli_unit measure;
} profile_type;

typedef struct profile_rows {
    profile_row *rows; // in order of time
    profile_type *types;
    size_t count, room, type_count, type_room;
    bool threads; // they are on more than one
} profile_rows;

// Reads the samples; the other events in the range are counted as left out.
ts_result profile_rows_read(profile_rows *p, ts_reader *reader,
                            const export_options *options,
                            export_counts *counts);
// Frees them.
void profile_rows_free(profile_rows *p);
// The weight of a row; one that is no number is 0.
double profile_weight_of(const profile_row *row);
// Returns the type that ts-analyze shows first: of those of time the one with
// the most time, else the last of those with the most samples.
size_t profile_rows_main(const profile_rows *p);
// Returns the name of the row's thread; it lives as long as the trace.
ts_text profile_thread(const ts_reader *reader, uint32_t track, cli_text *made);

// Calls take() for the functions of a stack; outer: the outermost first.
void profile_frames(const ts_reader *reader, uint32_t stack, bool outer,
                    void (*take)(void *user, const ts_frame_entry *frame,
                                 uint32_t at),
                    void *user);
// Appends a weight as JSON: a double has a point or an exponent.
void profile_put_weight(export_buffer *b, const profile_row *row);

#endif // TS_TOOLS_EXPORT_PROFILE_PROFILE_H
