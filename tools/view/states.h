/*
    states.h - what the modules of --states share

    view_states       replay, timeline, and time divided into cells
    view_states_draw  rows of devices and streams
    view_states_figures  what a device did, in a few lines
    view_states_gaps  the longest gaps in words
    view_states_json  all of it as JSON
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
    view_drawing d; // its rows have no cells, only their measures
} view_states;

// A gap of a device, to be sorted.
typedef struct view_gap {
    size_t device;
    ts_gap gap;
} view_gap;

// All gaps, the longest first; free() it.
view_gap *view_states_gaps(const view_states *s, size_t *count);

// The view of a file, for its tracks and names; how it is called: "rank 3",
// else "file 0".
view *view_states_file(const view_states *s, uint32_t file);
cli_text view_states_file_name(const view_states *s, uint32_t file);

// Adds what is within the cells of the drawing; all of it to *sum.
void view_states_device(const view_states *s, size_t device,
                        view_shares *cells);
void view_states_stream(const view_states *s, size_t stream, view_shares *cells,
                        view_shares *sum);

// Whether --tracks lets a track be shown.
bool view_states_wants(const view_states *s, const ts_lane *lane);

// Operations issued and not begun in the middle of a part of the range.
uint32_t view_states_queue(const view_states *s, size_t device, uint32_t part,
                           uint32_t parts);

void view_states_draw(view_states *s);
// Prints what is in the line, and clears it.
void view_states_print_line(view_states *s);
// Words from a column on, in as many lines as they take.
void view_states_print_words(view_states *s, uint32_t indent, const char *text);
uint32_t view_states_put_device(view_states *s, size_t device);
void view_states_print_device(view_states *s, size_t device);
void view_states_json(view_states *s);

// What to call a node: a kernel, a function and its thread.
void view_states_put_node(FILE *out, const view_states *s, uint32_t node,
                          bool where);
// Why there is this gap: a clause.
void view_states_put_gap(FILE *out, view_states *s, const ts_gap *gap);

// "host late", "launch latency", ...; a letter for each, and a colour.
const char *view_idle_text(ts_idle idle);
char view_idle_letter(ts_idle idle);
uint8_t view_idle_color(ts_idle idle);

#endif // TS_TOOLS_VIEW_STATES_H
