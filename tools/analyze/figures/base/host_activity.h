/*
    host_activity.h - what a thread was in for most of a time
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_BASE_HOST_ACTIVITY_H
#define TS_TOOLS_ANALYZE_FIGURES_BASE_HOST_ACTIVITY_H

#include "tools/analyze/figures/base/host_position.h"
#include "tools/analyze/figures/base/groups.h"
#include "tools/analyze/job/sums.h"

// Of the zones and calls that were open for half of a span or more, the
// innermost of each: groups of names, TS_NODE_NONE: nothing. If no zone was,
// but for half of it something lay open, the zone that was open longest.
typedef struct hold {
    int64_t length_ns; // of the span: set it before
    uint32_t zone, call;
    int64_t zone_ns, call_ns; // how much of the span
} hold;

typedef struct hold_tally {
    const ts_replay *replay;
    names_index *names; // gets groups of zones and calls
    sums open;          // index of the span << 32 | group, `most` its depth;
                        // group TS_NODE_NONE: nothing was open
} hold_tally;

// The group of a frame; TS_NODE_NONE: no frame, or no memory (*failed).
uint32_t hold_group(hold_tally *t, uint32_t file, const inside_frame *frame,
                    bool *failed);
// A part of a span, as inside_part tells it. False without memory.
bool hold_note(hold_tally *t, const inside_span *span, int64_t ns,
               const inside_frame *frames, uint32_t depth);
// When all parts of all spans are noted, of `count` spans by their index.
void hold_choose(const hold_tally *t, hold *holds, size_t count);

// All of that: of `of` holds those whose index a span has. Sorts the spans.
bool hold_find(hold_tally *t, inside_span *spans, size_t count, hold *holds,
               size_t of);

#endif // TS_TOOLS_ANALYZE_FIGURES_BASE_HOST_ACTIVITY_H
