/*
    host_position.h - the zones and calls that were open on the host at given
    times
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_BASE_HOST_POSITION_H
#define TS_TOOLS_ANALYZE_FIGURES_BASE_HOST_POSITION_H

#include "tools/cli/cli.h"

// A time span of a thread to look up, on the axis of the replay.
typedef struct inside_span {
    uint32_t file, thread;
    int64_t from_ns, to_ns;
    size_t index; // identifies the span for the caller
    // Thread to look at where nothing was open on the first: see inside_others
    // (0: none).
    uint32_t other;
} inside_span;

// An open frame: a zone by its site, or an API call by its name.
typedef struct inside_frame {
    bool call;
    uint32_t id;
    int64_t end_ns;
} inside_frame;

// Receives a part of a span during which the same frames were open: `depth` of
// them, the outermost first. The parts of a span add up to the span.
typedef void (*inside_part)(void *user, const inside_span *span,
                            int64_t from_ns, int64_t to_ns,
                            const inside_frame *frames, uint32_t depth);

/*
    Reads the zones and API calls of the threads and reports the parts of all
    spans; the parts of one span are in order of time. Sorts the spans and skips
    empty ones. Spans of one thread may overlap; the cost of each moment grows
    with the number of spans that contain it. Returns false if memory runs out.
*/
bool inside_parts(const ts_replay *replay, inside_span *spans, size_t count,
                  inside_part part, void *user);

// Returns, for each call of a replay, the thread that last handed work to the
// thread of the call, as a training loop does to the thread that computes
// gradients; 0: none. The caller frees it. Returns NULL if memory runs out.
uint32_t *inside_others(const ts_replay *replay);

// Return the innermost zone or call of the frames; NULL if there is none.
const inside_frame *inside_zone(const inside_frame *frames, uint32_t depth);
// Returns the innermost call of a thread's frames, which are sorted from the
// outermost on; NULL: no call is open.
const inside_frame *inside_call(const inside_frame *frames, uint32_t depth);

#endif // TS_TOOLS_ANALYZE_FIGURES_BASE_HOST_POSITION_H
