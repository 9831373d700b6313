/*
    patterns.h - sequences of small kernels that come again and again
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_TIME_PATTERNS_H
#define TS_TOOLS_ANALYZE_FIGURES_TIME_PATTERNS_H

#include "tools/analyze/figures/base/model.h"
#include "tools/analyze/figures/base/groups.h"

enum { PATTERNS_LEAST = 3, PATTERNS_LONGEST = 32 };

// A sequence of tokens and where it is.
typedef struct patterns_repeat {
    size_t length, count;
    size_t first; // of `count` places in patterns_repeats.places, in order
} patterns_repeat;

typedef struct patterns_repeats {
    patterns_repeat *list;
    size_t count;
    size_t *places;
    size_t place_count, place_room, room; // private, but for the last free
} patterns_repeats;

/*
    Finds what comes PATTERNS_LEAST times or more and is 2 to PATTERNS_LONGEST
    tokens long, the longest first, then the most frequent. No token is part
    of two. What is itself a repetition is none: of "abababab" that is "ab".
    breaks: nothing goes on from token i - 1 to i. Time: count, for each of a
    few lengths. False without memory. Close it in any case.
*/
bool patterns_repeats_find(patterns_repeats *r, const uint32_t *tokens,
                           const bool *breaks, size_t count);
void patterns_repeats_close(patterns_repeats *r);

// Kernels that follow each other on a stream.
typedef struct patterns_pattern {
    size_t length, count;
    uint32_t *operations; // the first of each time
    uint32_t *names;      // groups of its kernels
    int64_t work_ns;      // of the kernels, all times together
    int64_t between_ns;   // idle between them, within
    int64_t calls_ns;     // launch calls of all but the first
} patterns_pattern;

typedef struct patterns_result {
    patterns_pattern *list; // most time between and in calls first
    size_t count;
    uint32_t *next; // kernel after each operation on its stream, for those
                    // within a pattern, else TS_NODE_NONE
    uint64_t kernels, small; // in the trace; that are small
    uint64_t covered;        // small ones that patterns hold
} patterns_result;

// Of kernels that take less than small_ns each. False without memory. Close it
// in any case.
bool patterns_open(patterns_result *result, const ts_replay *replay,
                   const names_index *names, int64_t small_ns);
void patterns_close(patterns_result *result);

// Runs a model in which the kernels of a pattern are one. False without memory.
bool patterns_fuse(const patterns_result *result,
                   const patterns_pattern *pattern, ts_replay *model,
                   model_figures *figures);

#endif // TS_TOOLS_ANALYZE_FIGURES_TIME_PATTERNS_H
