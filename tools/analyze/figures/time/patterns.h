/*
    patterns.h - repeated sequences of small kernels
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_TIME_PATTERNS_H
#define TS_TOOLS_ANALYZE_FIGURES_TIME_PATTERNS_H

#include "tools/analyze/figures/base/model.h"
#include "tools/analyze/figures/base/groups.h"

enum { PATTERNS_LEAST = 3, PATTERNS_LONGEST = 32 };

// A repeated sequence of tokens and its places.
typedef struct patterns_repeat {
    size_t length, count;
    // Index of its first place in patterns_repeats.places; `count` places,
    // sorted.
    size_t first;
} patterns_repeat;

typedef struct patterns_repeats {
    patterns_repeat *list;
    size_t count;
    size_t *places;
    // All three are private.
    size_t place_count, place_room, room;
} patterns_repeats;

/*
    Finds sequences of 2 to PATTERNS_LONGEST tokens that occur at least
    PATTERNS_LEAST times: the longest first, then the most frequent. A token
    belongs to at most one sequence. A sequence that is itself a repetition does
    not count: in "abababab" the sequence is "ab". breaks[i]: no sequence
    continues from token i - 1 to i. Time: linear in count for each of a few
    lengths. Returns false if memory runs out. Call patterns_repeats_close in
    any case.
*/
bool patterns_repeats_find(patterns_repeats *r, const uint32_t *tokens,
                           const bool *breaks, size_t count);
// Frees the repeats and the places at which they occur.
void patterns_repeats_close(patterns_repeats *r);

// A sequence of kernels that follow each other on a stream.
typedef struct patterns_pattern {
    size_t length, count;
    uint32_t *operations; // first operation of each occurrence
    uint32_t *names;      // groups of names of its kernels
    int64_t work_ns;      // run time of its kernels, all occurrences
    int64_t between_ns;   // idle time between its kernels
    // Time of the launch calls of all kernels but the first.
    int64_t calls_ns;
} patterns_pattern;

typedef struct patterns_result {
    // Sorted by time between and in calls, the most first.
    patterns_pattern *list;
    size_t count;
    // For operations in a pattern: next kernel on the stream; else
    // TS_NODE_NONE.
    uint32_t *next;
    uint64_t kernels, small; // all kernels of the trace; small ones
    uint64_t covered;        // small ones that patterns cover
} patterns_result;

// Finds the patterns of kernels that take less than small_ns each. Returns
// false if memory runs out. Call patterns_close in any case.
bool patterns_open(patterns_result *result, const ts_replay *replay,
                   const names_index *names, int64_t small_ns);
// Frees the patterns with their operations and names.
void patterns_close(patterns_result *result);

// Runs a model in which the kernels of each occurrence are fused into one.
// Returns false if memory runs out.
bool patterns_fuse(const patterns_result *result,
                   const patterns_pattern *pattern, ts_replay *model,
                   model_figures *figures);

#endif // TS_TOOLS_ANALYZE_FIGURES_TIME_PATTERNS_H
