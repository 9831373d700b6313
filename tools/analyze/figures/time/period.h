/*
    period.h - the outermost loop in a sequence of tokens
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_TIME_PERIOD_H
#define TS_TOOLS_ANALYZE_FIGURES_TIME_PERIOD_H

#include "tools/cli/cli.h"

/*
    Iterations of a loop, found by an *anchor*: a few tokens in a row that occur
    once in each iteration. Iteration k is [starts[k], starts[k + 1]); the last
    one ends at starts[count].
*/
typedef struct period {
    size_t count;   // number of iterations; 0: no repetition
    size_t *starts; // count + 1 places in the sequence
    size_t length;  // median length of the iterations
    // Per mille of tokens shared with the median iteration; the median of all.
    uint32_t likeness;
} period;

enum { PERIOD_LEAST = 3 }; // minimum number of iterations

/*
    Finds the longest iterations that occur at least PERIOD_LEAST times, cover
    half of the sequence, have similar lengths (within a fifth) and share four
    fifths of their tokens. Tokens before and after the loop do not matter. Of
    the possible first tokens of an iteration, the one with the largest sum of
    `weights` is chosen, for example the pauses before tokens (NULL: the first
    possible one). The iterations are extended to both ends as far as they
    match.

    Tokens are below `token_limit`. Time: count * log(count). Returns false if
    memory runs out. Call period_close in any case.
*/
bool period_find(period *p, const uint32_t *tokens, const int64_t *weights,
                 size_t count, uint32_t token_limit);
// Frees the starts; *p has no period afterwards.
void period_close(period *p);

#endif // TS_TOOLS_ANALYZE_FIGURES_TIME_PERIOD_H
