/*
    sort.h - sorting of long arrays

    An array that is in order already is only read: what comes out of a trace in
    order of time often is. Equal items may change places, as those of qsort.
*/
#ifndef TS_TOOLS_CLI_SORT_H
#define TS_TOOLS_CLI_SORT_H

#include <stddef.h>
#include <stdint.h>

// Compares two items, as for qsort.
typedef int (*cli_compare)(const void *left, const void *right);

// Sorts like qsort.
void cli_sort(void *items, size_t count, size_t size, cli_compare compare);

/*
    Sorts by a number of each item, by its bits; those with equal numbers by
    `compare`, which must agree with the numbers. Time: linear, unless most
    numbers are equal.
*/
void cli_sort_by(void *items, size_t count, size_t size,
                 uint64_t (*number)(const void *item), cli_compare compare);

// Sorts numbers, the smallest first.
void cli_sort_numbers(int64_t *numbers, size_t count);

// The number, for cli_sort_by, of a signed one.
static inline uint64_t cli_sort_signed(int64_t number)
{
    return (uint64_t)number ^ UINT64_C(1) << 63;
}

#endif // TS_TOOLS_CLI_SORT_H
