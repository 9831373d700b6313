/*
    states.h - what the modules of --states share

    states.c          opens replay and timeline; divides time into cells
    states_draw.c     rows of devices and streams
    states_figures.c  a summary of each device in a few lines
    states_gaps.c     explains the longest gaps in words
    states_json.c     all of it as JSON
*/
#ifndef TS_TOOLS_VIEW_STATES_H
#define TS_TOOLS_VIEW_STATES_H

#include "tools/view/draw.h"

// Time spent in each state, or idle for each cause, within a cell.
typedef struct view_shares {
    int64_t busy_ns;                  // devices
    int64_t idle_ns[TS_IDLE_LIMIT];   // devices
    int64_t state_ns[TS_STATE_LIMIT]; // streams
} view_shares;

typedef struct view_states {
    view *v;
    ts_replay *replay;
    ts_timeline *timeline;
    view_drawing d; // its rows have sizes but no cells
} view_states;

// A gap and its device, for sorting.
typedef struct view_gap {
    size_t device;
    ts_gap gap;
} view_gap;

// Returns all gaps, the longest first. Free with free().
view_gap *view_states_gaps(const view_states *s, size_t *count);

// The view of a file, which has its tracks and names.
view *view_states_file(const view_states *s, uint32_t file);
// The name of a file in the output: "rank 3", else "file 0".
cli_text view_states_file_name(const view_states *s, uint32_t file);

// Add the states of a device or stream to the cells of the drawing; the whole
// range to *sum.
void view_states_device(const view_states *s, size_t device,
                        view_shares *cells);
// Adds how long a stream was in each state within the view's range to *sum, and
// to the cells of a line (NULL: none).
void view_states_stream(const view_states *s, size_t stream, view_shares *cells,
                        view_shares *sum);

// Whether --tracks selects a lane.
bool view_states_takes(const view_states *s, const ts_lane *lane);

// The queue depth: operations issued but not started, at the middle of part
// number `part` of the range.
uint32_t view_states_queue(const view_states *s, size_t device, uint32_t part,
                           uint32_t parts);

// Prints the states of all streams for people.
void view_states_draw(view_states *s);
// Prints the current line and clears it.
void view_states_print_line(view_states *s);
// Prints words wrapped to lines that start at column `indent`.
void view_states_print_words(view_states *s, uint32_t indent, const char *text);
// Puts the name of a device at the beginning of the line, with its file if
// there are several. Returns the next column.
uint32_t view_states_put_device(view_states *s, size_t device);
// Prints busy time and idle causes of a device, the largest first.
void view_states_print_device(view_states *s, size_t device);
// Prints the states as one JSON object.
void view_states_json(view_states *s);

// Prints the name of a node: a kernel; or a function with its thread.
void view_states_put_node(FILE *out, const view_states *s, uint32_t node,
                          bool where);
// Prints the cause of a gap as a clause.
void view_states_put_gap(FILE *out, view_states *s, const ts_gap *gap);

// Text ("host late", "launch latency", ...), letter and colour of a cause.
const char *view_idle_text(ts_idle idle);
// Returns the letter that stands for an idle cause in drawings.
char view_idle_letter(ts_idle idle);
// Returns the colour of an idle cause, a number of the terminal.
uint8_t view_idle_color(ts_idle idle);

#endif // TS_TOOLS_VIEW_STATES_H
