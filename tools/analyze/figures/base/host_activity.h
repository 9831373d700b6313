/*
    host_activity.h - the zone and call in which a thread spent most of a span
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_BASE_HOST_ACTIVITY_H
#define TS_TOOLS_ANALYZE_FIGURES_BASE_HOST_ACTIVITY_H

#include "tools/analyze/figures/base/host_position.h"
#include "tools/analyze/figures/base/groups.h"
#include "tools/analyze/job/sums.h"

// The innermost zone and the innermost call that were open for at least half of
// a span, as groups of names; TS_NODE_NONE: none. If no zone was open that
// long, but some frame was open for half of the span, `zone` is the one that
// was open longest.
typedef struct hold {
    int64_t length_ns; // duration of the span; set it before hold_choose
    uint32_t zone, call;
    int64_t zone_ns, call_ns; // time open during the span
} hold;

typedef struct hold_tally {
    const ts_replay *replay;
    names_index *names; // receives groups of zones and calls
    // Key: index of the span << 32 | group; `most`: depth; group TS_NODE_NONE:
    // nothing was open.
    sums open;
} hold_tally;

// Returns the group of a frame; TS_NODE_NONE if there is no frame or memory
// runs out (*failed).
uint32_t hold_group(hold_tally *t, uint32_t file, const inside_frame *frame,
                    bool *failed);
// Records a part of a span, as inside_part reports it. Returns false if memory
// runs out.
bool hold_note(hold_tally *t, const inside_span *span, int64_t ns,
               const inside_frame *frames, uint32_t depth);
// Chooses the zones and calls of `count` spans, by index. Call it after all
// parts are recorded.
void hold_choose(const hold_tally *t, hold *holds, size_t count);

// Does all of these steps for the spans and fills holds[index of the span];
// `of` is the number of holds. Sorts the spans. Returns false if memory runs
// out.
bool hold_find(hold_tally *t, inside_span *spans, size_t count, hold *holds,
               size_t of);

#endif // TS_TOOLS_ANALYZE_FIGURES_BASE_HOST_ACTIVITY_H
