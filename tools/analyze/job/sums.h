/*
    sums.h - times added up by key, and what is in the middle of many
*/
#ifndef TS_TOOLS_ANALYZE_JOB_SUMS_H
#define TS_TOOLS_ANALYZE_JOB_SUMS_H

#include "tools/cli/cli.h"

typedef struct sums_row {
    uint64_t key, count;
    int64_t ns, most_ns;
    size_t most;   // where the longest was; the first of equals
    uint64_t turn; // private: when the key was first seen
} sums_row;

// Starts from { 0 }.
typedef struct sums {
    sums_row *rows;
    size_t count;
    size_t room;   // private
    cli_map index; // private: key to row
} sums;

// False without memory.
bool sums_add(sums *s, uint64_t key, int64_t ns, size_t where);
// Another part of what was added before: it does not count as one more.
bool sums_extend(sums *s, uint64_t key, int64_t ns, size_t where);
// Where the row of a key is; NULL: there is none. Not after sums_sort.
const sums_row *sums_find(const sums *s, uint64_t key);
void sums_sort(sums *s); // the largest first; nothing is added after that
void sums_close(sums *s);

// The nearest rank, from 0: the least of so many sorted values that this share
// of them does not exceed. What all tools of the project take.
size_t sums_rank(size_t count, uint32_t per_mille);
// Of values, which it sorts: count of them; per mille 500 is the median (the
// lower one of two). 0 of none.
void sums_order(int64_t *values, size_t count);
int64_t sums_quantile(const int64_t *sorted, size_t count, uint32_t per_mille);
// The median distance from a value; `room` for count values.
int64_t sums_deviation(const int64_t *values, size_t count, int64_t from,
                       int64_t *room);

#endif // TS_TOOLS_ANALYZE_JOB_SUMS_H
