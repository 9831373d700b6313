/*
    period.h - the outermost loop in a sequence
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_TIME_PERIOD_H
#define TS_TOOLS_ANALYZE_FIGURES_TIME_PERIOD_H

#include "tools/cli/cli.h"

/*
    What repeats, found by an *anchor*: a few tokens in a row that come once in
    each turn. Turn k is [starts[k], starts[k + 1]), the last one ends at
    starts[count].
*/
typedef struct period {
    size_t count;      // of turns; 0: nothing repeats
    size_t *starts;    // count + 1, places in the sequence
    size_t length;     // the median of the turns
    uint32_t likeness; // per mille of tokens that a turn shares with the
                       // middle one, in the median
} period;

enum { PERIOD_LEAST = 3 }; // turns

/*
    Finds the longest turns that come PERIOD_LEAST times or more, make up half
    of the sequence, are about as long as each other (within a fifth) and hold
    much the same (four fifths). What comes before and after does not matter.
    A turn begins where `weights` of its first token are largest in sum, which
    may be the pauses before the tokens (NULL: at the first chance). Turns are
    laid as far to both ends as they go.

    Tokens are below `token_limit`. Time: count * log(count).
    False without memory. Close it in any case.
*/
bool period_find(period *p, const uint32_t *tokens, const int64_t *weights,
                 size_t count, uint32_t token_limit);
void period_close(period *p);

#endif // TS_TOOLS_ANALYZE_FIGURES_TIME_PERIOD_H
