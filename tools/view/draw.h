/*
    draw.h - what draw.c and timeline.c share
*/
#ifndef TS_TOOLS_VIEW_DRAW_H
#define TS_TOOLS_VIEW_DRAW_H

#include "tools/view/view.h"

typedef struct view_glyphs {
    uint32_t open[3], line[3], close[3]; // bars: host, device, waiting
    uint32_t levels[9], edge, moment, mark, grid, rule, tick, block, half;
} view_glyphs;

extern const view_glyphs view_glyphs_unicode, view_glyphs_ascii;

typedef struct view_drawing {
    view *v;
    view_rows rows;
    view_line line;
    const view_glyphs *set;
    uint32_t gutter, side;             // widths of the left and right margin
    int64_t step_ns;                   // time between ticks
    int64_t base_ns;                   // time that the tick labels count from
    uint32_t printed;                  // lines printed so far
    bool partly, waits, moments, lost; // what the legend explains
} view_drawing;

extern const view_style view_plain, view_strong, view_faint, view_alarm;

// Draws the plot of a row into d->line.
void view_draw_row(view_drawing *d, const view_row *row);
// The label of a row: "marks", "calls", ...; "" if it is labelled with the name
// of its track.
const char *view_part_name(view_row_type type);
// Print the header (file, range, what is shown), and the time axis with its
// ticks.
void view_header_print(view_drawing *d);
// Prints the axis of times below the rows, and chooses its step.
void view_axis_print(view_drawing *d);
// Prints header, axis, rows and legend.
void view_timeline_print(view_drawing *d);

#endif // TS_TOOLS_VIEW_DRAW_H
