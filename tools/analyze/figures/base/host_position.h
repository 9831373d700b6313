/*
    host_position.h - in what zone and call the host was at given times
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_BASE_HOST_POSITION_H
#define TS_TOOLS_ANALYZE_FIGURES_BASE_HOST_POSITION_H

#include "tools/cli/cli.h"

// A time of a thread about which is asked, on the axis of the replay.
typedef struct inside_span {
    uint32_t file, thread;
    int64_t from_ns, to_ns;
    size_t index;   // whatever the asker wants to know it by
    uint32_t other; // thread that is asked where nothing lay open on the
                    // first: see inside_others (0: none)
} inside_span;

// What lay open: a zone by its site, or an API call by its name.
typedef struct inside_frame {
    bool call;
    uint32_t id;
    int64_t end_ns;
} inside_frame;

// A part of a span during which the same lay open: `depth` frames, the
// outermost first. The parts of a span add up to it.
typedef void (*inside_part)(void *user, const inside_span *span,
                            int64_t from_ns, int64_t to_ns,
                            const inside_frame *frames, uint32_t depth);

/*
    Goes through zones and API calls of the threads asked for, and tells the
    parts of all spans, those of a thread and span in order of time.
    Sorts the spans. Those of no length are left out. Spans of one thread may
    overlap; each moment costs as much as spans hold it.
    False without memory.
*/
bool inside_parts(const ts_replay *replay, inside_span *spans, size_t count,
                  inside_part part, void *user);

// Of each call of a replay the thread that last handed work to its own one,
// as a training loop does to the thread that computes gradients; 0: none did.
// Free it. NULL: no memory.
uint32_t *inside_others(const ts_replay *replay);

// The innermost zone or call of frames; NULL: there is none.
const inside_frame *inside_zone(const inside_frame *frames, uint32_t depth);
const inside_frame *inside_call(const inside_frame *frames, uint32_t depth);

#endif // TS_TOOLS_ANALYZE_FIGURES_BASE_HOST_POSITION_H
