/*
    search.h - binary searches

        size_t low = 0, high = count;
        while (low < high)
            cli_halve(&low, &high, items[cli_middle(low, high)].ns < ns);

    Then `low` is the first index whose item is not before what is looked for:
    `count` if all are. The items are in that order.
*/
#ifndef TS_CLI_SEARCH_H
#define TS_CLI_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

// The middle of the range [low, high), which is not empty.
static inline size_t cli_middle(size_t low, size_t high)
{
    return low + (high - low) / 2;
}

// Goes on in the half behind the middle if that is `before` what is looked for,
// else in the half that ends with it.
static inline void cli_halve(size_t *low, size_t *high, bool before)
{
    const size_t middle = cli_middle(*low, *high);
    if (before)
        *low = middle + 1;
    else
        *high = middle;
}

#endif
